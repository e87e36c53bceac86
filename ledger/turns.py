"""Search what was said in past sessions: the turns of transcripts, in a file of its own beside the ledger: `turns.db`.

Not part of the log: it may be deleted at any time and be made again from the
transcripts that are still there. Nothing of it is ever recalled: only who asks
is answered. Every text in it was scrubbed of secrets and private regions, and
cut, before it was written (`turns_add.py`). Reading changes nothing.
Lean: stdlib only; no hook loads it.
"""

import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ledger import query
from ledger.errors import FileFault, Locked

FILE, ASIDE = "turns.db", ".damaged"
SCHEMA = 1

WAIT_S = 5.0
"""Longest wait for another process that writes the file; one that fills it holds it for a fifth of a second."""

WHO = ("person", "agent", "tool", "client", "summary", "robot")
"""Who speaks in a turn, as the importer of transcripts tells them apart."""

LIMIT_MAX = 200

TABLES = (
    """CREATE TABLE source (id INTEGER NOT NULL PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL,
  next_at INTEGER NOT NULL, next_line INTEGER NOT NULL, back_at INTEGER NOT NULL, back_line INTEGER NOT NULL,
  head TEXT NOT NULL, tail TEXT NOT NULL, read_at TEXT NOT NULL) STRICT""",
    """CREATE TABLE turn (id INTEGER NOT NULL PRIMARY KEY, uuid TEXT NOT NULL, source INTEGER NOT NULL,
  line INTEGER NOT NULL, session TEXT NOT NULL, project TEXT, at TEXT, who TEXT NOT NULL, is_aside INTEGER NOT NULL,
  is_error INTEGER NOT NULL, is_cut INTEGER NOT NULL, text TEXT NOT NULL, rules INTEGER NOT NULL,
  UNIQUE (uuid, source)) STRICT""",
    "CREATE INDEX turn_place ON turn (source, line)",
    "CREATE INDEX turn_at ON turn (at)",
    "CREATE INDEX turn_rules ON turn (rules)",
    "CREATE VIRTUAL TABLE turn_fts USING fts5(words, content = '', tokenize = 'porter unicode61 remove_diacritics 2')",
    "CREATE TABLE gone (uuid TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID",
    "CREATE TABLE kept (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
)
"""`source`: transcripts, and how far each was read. `turn_fts` keeps no text of its own. `gone`: turns that were erased
and are not read again. `kept`: since when turns are kept at all (`since`)."""

_TOLD = """t.session, t.uuid, t.at, t.who, t.text, s.path, t.line, t.project, t.is_aside, t.is_error, t.is_cut,
  t.source, t.id"""
_FROM = "FROM turn AS t JOIN source AS s ON s.id = t.source"
_SEEN = "(:projects IS NULL OR t.project IN (SELECT value FROM json_each(:projects)))"
_NEAR = f"t.source = :source AND t.session = :session AND {_SEEN}"
SEARCH = f"""SELECT {_TOLD} FROM turn_fts AS f CROSS JOIN turn AS t ON t.id = f.rowid
JOIN source AS s ON s.id = t.source
WHERE f.words MATCH :match AND {_SEEN} AND (:since IS NULL OR t.at >= :since)
  AND (:who IS NULL OR t.who IN (SELECT value FROM json_each(:who)))
ORDER BY f.rank, t.at DESC, t.id LIMIT :many"""
ONE = f"SELECT {_TOLD} {_FROM} WHERE t.uuid = :uuid AND {_SEEN} ORDER BY t.id"
BEFORE = f"SELECT {_TOLD} {_FROM} WHERE {_NEAR} AND t.line < :line ORDER BY t.line DESC, t.id DESC LIMIT :many"
AFTER = f"SELECT {_TOLD} {_FROM} WHERE {_NEAR} AND t.line > :line ORDER BY t.line, t.id LIMIT :many"
PATHS = "SELECT path FROM source ORDER BY path"
COUNTED = "SELECT count(*), coalesce(sum(length(text)), 0), min(at), max(at) FROM turn"
SHAPE = f"SELECT {_TOLD} {_FROM} LIMIT 0"


class Spoken(NamedTuple):
    """A turn as the reader of a transcript gives it, before it is scrubbed; `who` is one of `WHO`."""

    who: str
    text: str
    uuid: str
    session: str
    cwd: str | None
    at: str | None
    line: int
    is_aside: bool
    is_error: bool


class Said(NamedTuple):
    """A turn as it is kept: who said what, when, and where it stands in which transcript.

    `is_aside` tells that a subagent speaks, `is_error` that a tool failed, `is_cut` that the text is not whole.
    """

    session: str
    uuid: str
    at: str | None
    who: str
    text: str
    file: str
    line: int
    project: str | None
    is_aside: bool
    is_error: bool
    is_cut: bool


class Found(NamedTuple):
    """What a search found, best first; `is_loose` says that no turn holds every word, so that these hold some."""

    turns: list[Said]
    truncated: bool
    is_loose: bool


class Around(NamedTuple):
    """A turn with those that stand around it in its session, in the order in which they were said."""

    before: list[Said]
    turn: Said
    after: list[Said]


class Counted(NamedTuple):
    """How much is kept: turns, characters of text, the first and last time, and transcripts."""

    turns: int
    chars: int
    first: str | None
    last: str | None
    files: int


def path_beside(ledger: str) -> str:
    """Return where the turns of a ledger file are."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), FILE)


class Turns:
    """The file beside one ledger, for asking; a file that is not there holds nothing."""

    def __init__(self, ledger: str) -> None:
        self.path = path_beside(ledger)

    def search(
        self,
        text: str,
        projects: Iterable[str] | None = None,
        who: Sequence[str] = (),
        since: str | None = None,
        limit: int = 20,
    ) -> Found:
        """Return the turns that hold every word of a text, or where none does, those that hold some.

        Args:
            projects: names of the projects that may be seen; None means all, and turns of no project.
            since: the earliest time.

        Raises:
            Locked, FileFault: the file cannot be read now.
        """
        asked = query.build(text)
        terms = asked.terms or asked.filler
        binds = {**_seen(projects), "who": json.dumps(list(who)) if who else None, "since": since, "many": limit + 1}
        rows = self._matching(" AND ".join(query.match([term]) for term in terms), binds)
        is_loose = not rows and len(terms) > 1
        if is_loose:
            rows = self._matching(query.match(terms), binds)
        return Found([_said(row) for row in rows[:limit]], len(rows) > limit, is_loose and bool(rows))

    def _matching(self, match: str, binds: dict[str, Any]) -> list[tuple[Any, ...]]:
        return self._rows(SEARCH, {**binds, "match": match}) if match else []

    def around(
        self, uuid: str, before: int = 3, after: int = 3, projects: Iterable[str] | None = None
    ) -> Around | None:
        """Return a turn and its neighbours; None when it is not kept, or of a project that may not be seen.

        Raises:
            Locked, FileFault: the file cannot be read now.
        """
        seen = _seen(projects)
        rows = self._rows(ONE, {"uuid": uuid, **seen})
        if not rows:
            return None
        turn = _said(rows[0])
        binds = {"source": rows[0][11], "line": turn.line, "session": turn.session, **seen}
        earlier = self._rows(BEFORE, {**binds, "many": before})
        later = self._rows(AFTER, {**binds, "many": after})
        return Around([_said(row) for row in reversed(earlier)], turn, [_said(row) for row in later])

    def transcripts(self) -> list[str]:
        """Return the transcripts that were read.

        Raises:
            Locked, FileFault: the file cannot be read now.
        """
        return [path for (path,) in self._rows(PATHS, {})]

    def counted(self) -> Counted:
        """Return how much is kept.

        Raises:
            Locked, FileFault: the file cannot be read now.
        """
        rows = self._rows(COUNTED, {})
        turns, chars, first, last = rows[0] if rows else (0, 0, None, None)
        return Counted(turns, chars, first, last, len(self.transcripts()))

    def fault(self) -> str | None:
        """Return what is wrong with the file as the name of an error, None when it can be read or is not there."""
        try:
            self._read(SHAPE, {})
        except (sqlite3.Error, OSError, FileFault) as error:
            return getattr(error, "sqlite_errorname", type(error).__name__)
        return None

    def _rows(self, statement: str, binds: dict[str, Any]) -> list[tuple[Any, ...]]:
        try:
            return self._read(statement, binds)
        except (sqlite3.Error, OSError) as error:
            raise fault(self.path, error) from None

    def _read(self, statement: str, binds: dict[str, Any]) -> list[tuple[Any, ...]]:
        if not os.path.lexists(self.path):
            return []
        # Where it may be written, so that what a killed import left half done goes; nothing else is changed.
        connection = opened(self.path, "rw" if os.access(self.path, os.W_OK) else "ro")
        try:
            connection.execute("PRAGMA query_only = 1").fetchall()
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                return []  # another process is making it
            return connection.execute(statement, binds).fetchall()
        finally:
            connection.close()


def opened(path: str, mode: str) -> sqlite3.Connection:
    """Open the file in a mode of SQLite: `ro`, `rw`.

    Raises:
        OSError, sqlite3.Error: it cannot be opened. FileFault: it is none of this program's.
    """
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise FileFault(f"{path} is no regular file", "move it away; the next import makes another")
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{quoted}?mode={mode}", uri=True, timeout=WAIT_S, isolation_level=None)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            raise FileFault(f"{path} was written by a newer program", "it may be deleted, or use that program")
    except BaseException:
        connection.close()
        raise
    return connection


def fault(path: str, error: Exception) -> FileFault:
    """Return the error of ours for one of SQLite or of the operating system; its text is left out."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Locked(f"{path} is locked by another process", "try again when it has finished")
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return FileFault(
        f"the session index {path} cannot be used ({name}); the ledger is whole",
        "`learnings said --rebuild` sets it aside and reads the transcripts anew",
    )


def _seen(projects: Iterable[str] | None) -> dict[str, str | None]:
    return {"projects": None if projects is None else json.dumps(sorted(projects))}


def _said(row: tuple[Any, ...]) -> Said:
    return Said._make((*row[:8], bool(row[8]), bool(row[9]), bool(row[10])))
