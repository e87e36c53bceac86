"""Remember what was shown, in a file of its own beside the ledger: `exposures.db`.

Not part of the log: it may be deleted at any time, rows go after 90 days (the
setting `exposure_days`), and a prompt never waits for it. When another process
holds it, or it cannot be used, what was shown is simply not remembered. It holds
keywords, never a prompt, and rows are scrubbed again when the rules that find
secrets grow.
Lean path: stdlib only.
"""

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger import redact
from ledger.errors import AmbiguousId, FileFault, NotFound
from ledger.settings import EXPOSURE_DAYS

FILE = "exposures.db"
SCHEMA = 1
KEYWORDS_MAX, KEYWORD_CHARS = 40, 60
NAME_CHARS = 300
"""Characters that are kept of the name of a session, a prompt or a project."""

RESCRUB_ROWS = 200
"""Most rows that are scrubbed again by one write; the next ones do the rest."""

TABLES = (
    """CREATE TABLE exposure (id TEXT NOT NULL PRIMARY KEY, at TEXT NOT NULL, ledger_id TEXT NOT NULL,
  session TEXT NOT NULL, prompt_id TEXT, channel TEXT NOT NULL, project TEXT, keywords TEXT NOT NULL, silence TEXT,
  shown TEXT NOT NULL, held TEXT NOT NULL, parts TEXT NOT NULL, versions TEXT NOT NULL, head_seq INTEGER NOT NULL,
  head_hash TEXT NOT NULL, rules INTEGER NOT NULL, anew INTEGER NOT NULL) STRICT""",
    "CREATE INDEX exposure_session ON exposure (ledger_id, session, at)",
    "CREATE INDEX exposure_at ON exposure (at)",
    "CREATE INDEX exposure_rules ON exposure (rules)",
)
COLUMNS = (
    "id, at, ledger_id, session, prompt_id, channel, project, keywords, silence, shown, held, parts, versions,"
    " head_seq, head_hash, rules, anew"
)
ADD = f"INSERT INTO exposure ({COLUMNS}) VALUES ({', '.join('?' * 17)})"
PRUNE = "DELETE FROM exposure WHERE at < :before"
OLD_RULES = "SELECT id, keywords FROM exposure WHERE rules < :rules ORDER BY id LIMIT :many"
SCRUBBED = "UPDATE exposure SET keywords = :keywords, rules = :rules WHERE id = :id"
SINCE_ANEW = """SELECT shown FROM exposure WHERE ledger_id = :ledger AND session = :session
  AND at >= coalesce((SELECT max(at) FROM exposure WHERE ledger_id = :ledger AND session = :session AND anew = 1), '')
ORDER BY at, id"""
NEWEST = f"""SELECT {COLUMNS} FROM exposure
WHERE ledger_id = :ledger AND (:session IS NULL OR session = :session) AND (:spoke = 0 OR shown <> '[]')
ORDER BY at DESC, id DESC LIMIT :many"""
BY_PREFIX = f"""SELECT {COLUMNS} FROM exposure
WHERE ledger_id = :ledger AND substr(id, 1, :size) = :prefix ORDER BY id LIMIT 6"""
OF_PROJECT = f"""SELECT {COLUMNS} FROM exposure
WHERE ledger_id = :ledger AND project = :project AND shown <> '[]' ORDER BY at DESC, id DESC LIMIT :many"""


class Exposure(NamedTuple):
    """What one prompt was shown, and why not more.

    `held` is a list of {id, reason}; `parts` the numbers behind each id;
    `silence` the word that says why nothing was shown, None when something was;
    `anew` begins the session's memory of what it was shown from here.
    """

    id: str
    at: str
    session: str
    prompt_id: str | None
    channel: str
    project: str | None
    keywords: list[str]
    silence: str | None
    shown: list[str]
    held: list[dict[str, str]]
    parts: dict[str, dict[str, Any]]
    versions: dict[str, Any]
    head_seq: int
    head_hash: str
    anew: bool = False


def path_beside(ledger: str) -> str:
    """Return where the exposures of a ledger file are."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), FILE)


def plain(text: str) -> str:
    """Return a name as it is kept: bounded, half characters replaced, since SQLite cannot be given them."""
    return text[:NAME_CHARS].encode("utf-8", "replace").decode()


def new_id() -> str:
    """Return a fresh id: 125 random bits."""
    number = int.from_bytes(os.urandom(16), "big")
    return "exp_" + "".join("abcdefghijklmnopqrstuvwxyz234567"[number >> 5 * at & 31] for at in range(25))


def time_text(now: float) -> str:
    """Return seconds since 1970 as the log writes times."""
    us = int(now * 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(us // 1_000_000)) + f".{us % 1_000_000:06d}Z"


class Exposures:
    """The file beside one ledger; whoever remembers never waits and never fails, whoever asks is told what is wrong."""

    def __init__(self, ledger: str, ledger_id: str) -> None:
        self.path = path_beside(ledger)
        self._ledger_id = ledger_id
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> "Exposures":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- remembering, for the prompt's path --------------------------------------------------------------------------

    def add(self, one: Exposure, now: float, days: int = EXPOSURE_DAYS) -> bool:
        """Remember one exposure and forget those older than `days`; False when the file is busy or cannot be used."""
        try:
            connection = self._open(make=True)
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(ADD, self._row(one))
                connection.execute(PRUNE, {"before": time_text(now - 86_400 * days)})
                self._rescrub(connection, RESCRUB_ROWS)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError, FileFault):
            self.close()
            return False
        return True

    def shown(self, session: str) -> frozenset[str]:
        """Return the ids that a session was shown since it began anew; none when the file is busy."""
        try:
            if not os.path.exists(self.path):
                return frozenset()
            binds = {"ledger": self._ledger_id, "session": plain(session)}
            rows = self._open().execute(SINCE_ANEW, binds).fetchall()
        except (sqlite3.Error, OSError, FileFault):
            return frozenset()
        return frozenset(name for (shown,) in rows for name in json.loads(shown))

    def recent(self, project: str, many: int) -> list[Exposure]:
        """Return the last exposures of a project that showed something; none when the file is busy."""
        try:
            if not os.path.exists(self.path):
                return []
            binds = {"ledger": self._ledger_id, "project": plain(project), "many": many}
            return [_exposure(row) for row in self._open().execute(OF_PROJECT, binds).fetchall()]
        except (sqlite3.Error, OSError, FileFault):
            return []

    # -- asking ------------------------------------------------------------------------------------------------------

    def newest(self, many: int, session: str | None = None, spoke: bool = False) -> list[Exposure]:
        """Return the newest exposures, last one first; `spoke` leaves out those that showed nothing.

        Raises:
            FileFault: the file cannot be read.
        """
        name = None if session is None else plain(session)
        binds = {"ledger": self._ledger_id, "session": name, "spoke": int(spoke), "many": many}
        return [_exposure(row) for row in self._asked(NEWEST, binds)]

    def find(self, prefix: str) -> Exposure:
        """Return the one exposure whose id begins so.

        Raises:
            NotFound, AmbiguousId: none, or several. FileFault: the file cannot be read.
        """
        prefix = plain(prefix)
        found = self._asked(BY_PREFIX, {"ledger": self._ledger_id, "prefix": prefix, "size": len(prefix)})
        if not found:
            raise NotFound(f"there is no exposure {prefix[:40]}", "see `learnings exposures`; old ones go")
        if len(found) > 1:
            raise AmbiguousId(prefix[:40], [row[0] for row in found])
        return _exposure(found[0])

    def _asked(self, statement: str, binds: dict[str, Any]) -> list[tuple[Any, ...]]:
        if not os.path.exists(self.path):
            return []
        try:
            connection = self._open()
            connection.execute("PRAGMA busy_timeout = 2000").fetchall()
            self._rescrub(connection, -1)
            return connection.execute(statement, binds).fetchall()
        except (sqlite3.Error, OSError) as error:
            name = getattr(error, "sqlite_errorname", type(error).__name__)
            hint = "it may be deleted: it holds nothing that the log needs"
            raise FileFault(f"{self.path} cannot be read ({name})", hint) from None

    # -- the file ----------------------------------------------------------------------------------------------------

    def _open(self, make: bool = False) -> sqlite3.Connection:
        """Open the file, made with mode 0600 when it is missing and wanted; one of another form begins anew."""
        if self._connection is not None:
            return self._connection
        flags = os.O_RDWR | (os.O_CREAT if make else 0) | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(self.path, flags, 0o600))
        connection = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = OFF").fetchall()
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA:
                raise FileFault(f"{self.path} was written by a newer program")
            if version < SCHEMA:
                connection.execute("BEGIN IMMEDIATE")
                for statement in ("DROP TABLE IF EXISTS exposure", *TABLES, f"PRAGMA user_version = {SCHEMA}"):
                    connection.execute(statement)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _row(self, one: Exposure) -> tuple[Any, ...]:
        lists = (one.shown, one.held, one.parts, one.versions)
        prompt_id, project = (None if name is None else plain(name) for name in (one.prompt_id, one.project))
        return (
            *(one.id, one.at, self._ledger_id, plain(one.session), prompt_id, one.channel, project),
            *(_dumped(clean(one.keywords)), one.silence, *map(_dumped, lists), one.head_seq, one.head_hash),
            *(redact.RULES_VERSION, int(one.anew)),
        )

    def _rescrub(self, connection: sqlite3.Connection, many: int) -> None:
        """Scrub keywords that were kept under older rules."""
        rules = redact.RULES_VERSION
        for name, words in connection.execute(OLD_RULES, {"rules": rules, "many": many}).fetchall():
            kept = _dumped(clean(json.loads(words)))
            connection.execute(SCRUBBED, {"id": name, "keywords": kept, "rules": rules})


def clean(words: Sequence[str]) -> list[str]:
    """Return keywords as they may be kept: few, short, and none in which a secret was found."""
    kept = [plain(word[:KEYWORD_CHARS]) for word in words[:KEYWORDS_MAX]]
    if not redact.scrub(" ".join(kept)).kinds:
        return kept
    return [word for word in kept if not redact.scrub(word).kinds and not redact.scrub(f"password={word}").kinds]


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _exposure(row: Sequence[Any]) -> Exposure:
    name, at, _, session, prompt_id, channel, project, keywords, silence = row[:9]
    shown, held, parts, versions = map(json.loads, row[9:13])
    return Exposure(
        name, at, session, prompt_id, channel, project, json.loads(keywords), silence, shown, held, parts, versions,
        row[13], row[14], bool(row[16]),
    )  # fmt: skip
