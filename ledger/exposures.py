"""Remember what was shown, in a file of its own beside the ledger: `exposures.db`.

Not part of the log: it may be deleted at any time, rows go after 90 days (the
setting `exposure_days`), and a prompt hardly waits for it. When another process
holds it, or it cannot be used, what was shown is simply not remembered; one that
is damaged is set aside, and another is begun. It holds keywords, never a prompt,
and rows are scrubbed again when the rules that find secrets grow.
Lean path: stdlib only.
"""

import os
import sqlite3
import stat
from collections.abc import Callable
from typing import Any

from ledger import unsaid
from ledger.errors import AmbiguousId, FileFault, Locked, NotFound
from ledger.exposure import (
    COLUMNS,
    Exposure,
    Garbled,
    bindable,
    clean,
    dumped,
    exposure_of,
    ids_of,
    name_of,
    row_of,
    rules,
    texts_of,
    time_text,
)
from ledger.settings import EXPOSURE_DAYS

FILE, ASIDE = "exposures.db", ".damaged"
SCHEMA = 1

READ_WAIT_MS, ADD_WAIT_MS, ASKED_WAIT_MS = 10, 50, 2_000
"""Most that a prompt waits for another process before it reads and before it adds, and that a person waits.

An addition holds the file for about 1 ms.
"""

RESCRUB_ROWS = 200
"""Most rows that are scrubbed again by one write; the next ones do the rest."""

TABLES = (
    """CREATE TABLE exposure (id TEXT NOT NULL PRIMARY KEY, at TEXT NOT NULL, ledger_id TEXT NOT NULL,
  session TEXT NOT NULL, prompt_id TEXT, channel TEXT NOT NULL, project TEXT, keywords TEXT NOT NULL, silence TEXT,
  shown TEXT NOT NULL, held TEXT NOT NULL, parts TEXT NOT NULL, versions TEXT NOT NULL, head_seq INTEGER NOT NULL,
  head_hash TEXT NOT NULL, rules INTEGER NOT NULL, anew INTEGER NOT NULL) STRICT""",
    "CREATE INDEX exposure_session ON exposure (ledger_id, session, at)",
    "CREATE INDEX exposure_project ON exposure (ledger_id, project, at)",
    "CREATE INDEX exposure_at ON exposure (at)",
    "CREATE INDEX exposure_rules ON exposure (rules)",
)
ADD = f"INSERT INTO exposure ({COLUMNS}) VALUES ({', '.join('?' * 17)})"
FORGET = "DELETE FROM exposure WHERE id = :id"
PRUNE = "DELETE FROM exposure WHERE at < :before"
OLD_RULES = "SELECT id, keywords FROM exposure WHERE rules < :rules ORDER BY rules, id LIMIT :many"
"""In the order of the index on `rules`: every addition asks, and rows are long."""

ALL_WORDS = "SELECT id, keywords FROM exposure ORDER BY id"
WITHOUT = "UPDATE exposure SET keywords = :keywords WHERE id = :id"
SCRUBBED = "UPDATE exposure SET keywords = :keywords, rules = :rules WHERE id = :id"
SINCE_ANEW = """SELECT id, shown FROM exposure WHERE ledger_id = :ledger AND session = :session
  AND rowid >= coalesce((SELECT rowid FROM exposure WHERE ledger_id = :ledger AND session = :session AND anew = 1
    ORDER BY at DESC, id DESC LIMIT 1), 0)
ORDER BY at, id"""
"""Since then in the order in which rows came: a clock that was set back meanwhile brings nothing twice."""

NEWEST = f"""SELECT {COLUMNS} FROM exposure
WHERE ledger_id = :ledger AND (:session IS NULL OR session = :session) AND (:spoke = 0 OR shown <> '[]')
ORDER BY rowid DESC LIMIT :many"""
"""The last that came, whatever its clock said."""

BY_PREFIX = f"""SELECT {COLUMNS} FROM exposure
WHERE ledger_id = :ledger AND substr(id, 1, :size) = :prefix ORDER BY id LIMIT 6"""
OF_SESSION = f"""SELECT {COLUMNS} FROM exposure
WHERE ledger_id = :ledger AND session = :session AND shown <> '[]' ORDER BY at DESC, id DESC LIMIT :many"""
OF_PROJECT = f"""SELECT {COLUMNS} FROM exposure
WHERE ledger_id = :ledger AND project = :project AND shown <> '[]' ORDER BY at DESC, id DESC LIMIT :many"""


def path_beside(ledger: str) -> str:
    """Return where the exposures of a ledger file are."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), FILE)


class Exposures:
    """The file beside one ledger; whoever remembers never fails, whoever asks is told what is wrong.

    `remarks` says what became of a damaged file that a question met.
    """

    def __init__(self, ledger: str, ledger_id: str) -> None:
        self.path = path_beside(ledger)
        self.remarks: list[str] = []
        self._ledger_id = ledger_id
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._seen: tuple[tuple[Any, ...], frozenset[str]] = ((), frozenset())
        self._unforgotten: set[str] = set()

    def __enter__(self) -> "Exposures":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._seen = (), frozenset()

    # -- remembering, for the prompt's path --------------------------------------------------------------------------

    def add(
        self, make: Callable[[frozenset[str]], Exposure], session: str | None, now: float, days: int = EXPOSURE_DAYS
    ) -> bool:
        """Remember one exposure and forget those older than `days`; False when the file is busy or cannot be used.

        `make` is given what the session was shown up to this moment, by whatever
        process, and nobody adds to it before its answer is kept.
        """
        for _ in range(2):
            try:
                self._add(make, session, now, days)
                return True
            except (sqlite3.Error, OSError, FileFault, Garbled) as error:
                self.close()
                if not _is_damage(error) or not self._set_aside():
                    return False
        return False

    def _add(self, make: Callable[[frozenset[str]], Exposure], session: str | None, now: float, days: int) -> None:
        connection = self._open(ADD_WAIT_MS, make=True)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for exposure in self._unforgotten:
                connection.execute(FORGET, {"id": exposure})
            one = make(self._shown(connection, session) if session is not None else frozenset())
            unsaid.noting(one.id)
            connection.execute(ADD, row_of(one, self._ledger_id))
            connection.execute(PRUNE, {"before": time_text(now - 86_400 * days)})
            self._rescrub(connection, RESCRUB_ROWS)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._unforgotten.clear()
        self._forget_aside(now - 86_400 * days)

    def forget(self, exposure: str) -> bool:
        """Forget that something was shown, for nobody saw it.

        False when it was not there, or the file is busy or cannot be used: then
        it is passed over here, and forgotten with what is remembered next.
        """
        try:
            return self._open(ADD_WAIT_MS).execute(FORGET, {"id": exposure}).rowcount > 0
        except (sqlite3.Error, OSError, FileFault, Garbled):
            self._unforgotten.add(exposure)
            self._seen = (), frozenset()
            return False

    def shown(self, session: str) -> frozenset[str]:
        """Return the ids that a session was shown since it began anew; none when the file cannot be read now."""
        try:
            return self._shown(self._open(READ_WAIT_MS), session)
        except (sqlite3.Error, OSError, FileFault, Garbled):
            return frozenset()

    def _shown(self, connection: sqlite3.Connection, session: str) -> frozenset[str]:
        """Return what a session was shown; not read again while nobody, nor this connection, has written."""
        mark = (session, connection.total_changes, *connection.execute("PRAGMA data_version").fetchone())
        if self._seen[0] != mark:
            self._seen = mark, self._read_shown(connection, session)
        return self._seen[1]

    def _read_shown(self, connection: sqlite3.Connection, session: str) -> frozenset[str]:
        rows = connection.execute(SINCE_ANEW, {"ledger": self._ledger_id, "session": name_of(session)}).fetchall()
        return frozenset(name for one, shown in rows if one not in self._unforgotten for name in ids_of(shown))

    def recent(self, project: str, many: int) -> list[Exposure]:
        """Return the last exposures of a project that showed something; none when the file cannot be read now."""
        return self._last(OF_PROJECT, {"project": name_of(project), "many": many})

    def of_session(self, session: str, many: int) -> list[Exposure]:
        """Return the last exposures of a session that showed something; none when the file cannot be read now."""
        return self._last(OF_SESSION, {"session": name_of(session), "many": many})

    def _last(self, statement: str, binds: dict[str, Any]) -> list[Exposure]:
        try:
            rows = self._open(READ_WAIT_MS).execute(statement, {"ledger": self._ledger_id, **binds}).fetchall()
            return [exposure_of(row) for row in rows]
        except (sqlite3.Error, OSError, FileFault, Garbled):
            return []

    def forget_words(self, is_gone: Callable[[str], bool]) -> int:
        """Take keywords out of every exposure, to the last byte; return from how many.

        Raises:
            Locked, FileFault: another process holds the file, or it cannot be written; nothing was changed.
        """
        if not os.path.lexists(self.path):
            return 0
        try:
            connection, count = self._open(ASKED_WAIT_MS), 0
            connection.execute("BEGIN IMMEDIATE")
            for name, words in connection.execute(ALL_WORDS).fetchall():
                listed = texts_of(words)
                kept = [word for word in listed if not is_gone(word)]
                if len(kept) < len(listed):
                    connection.execute(WITHOUT, {"id": name, "keywords": dumped(kept)})
                    count += 1
            connection.execute("COMMIT")
            if count:
                connection.execute("VACUUM")
        except (sqlite3.Error, OSError, Garbled) as error:
            self.close()  # which rolls back
            raise self._fault(error) from None
        return count

    # -- asking ------------------------------------------------------------------------------------------------------

    def newest(self, many: int, session: str | None = None, spoke: bool = False) -> list[Exposure]:
        """Return the newest exposures, last one first; `spoke` leaves out those that showed nothing.

        Raises:
            Locked: another process holds the file. FileFault: it cannot be read.
        """
        name = None if session is None else name_of(session)
        return self._asked(NEWEST, {"ledger": self._ledger_id, "session": name, "spoke": int(spoke), "many": many})

    def find(self, prefix: str) -> Exposure:
        """Return the one exposure whose id begins so.

        Raises:
            NotFound, AmbiguousId: none, or several. Locked, FileFault: the file cannot be read.
        """
        prefix = bindable(prefix)
        found = self._asked(BY_PREFIX, {"ledger": self._ledger_id, "prefix": prefix, "size": len(prefix)})
        if not found:
            raise NotFound(f"there is no exposure {prefix[:40]}", "see `learnings exposures`; old ones go")
        if len(found) > 1:
            raise AmbiguousId(prefix[:40], [one.id for one in found], "exposures")
        return found[0]

    def lost(self) -> str | None:
        """Say that a damaged file was set aside; None when there is none."""
        try:
            since = os.lstat(self.path + ASIDE).st_mtime
        except OSError:
            return None
        before = time_text(since)[:19].replace("T", " ")
        return f"what was shown before {before} cannot be read: {self.path}{ASIDE}; it may be deleted"

    def _asked(self, statement: str, binds: dict[str, Any]) -> list[Exposure]:
        for _ in range(2):
            if not os.path.exists(self.path):
                break
            try:
                connection = self._open(ASKED_WAIT_MS)
                self._rescrub_if_writable(connection)
                return [exposure_of(row) for row in connection.execute(statement, binds).fetchall()]
            except (sqlite3.Error, OSError, Garbled) as error:
                self.close()
                if not _is_damage(error) or not self._set_aside():
                    raise self._fault(error) from None
                self.remarks = [told for told in (self.lost(),) if told is not None]
        return []

    def _fault(self, error: Exception) -> FileFault:
        """Return the error of ours for whoever asks."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return Locked(f"{self.path} is locked by another process", "try again when it has finished")
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        return FileFault(
            f"{self.path} cannot be read ({name})", "it may be deleted: it holds nothing that the log needs"
        )

    # -- the file ----------------------------------------------------------------------------------------------------

    def _open(self, wait_ms: int, make: bool = False) -> sqlite3.Connection:
        """Open the file, made with mode 0600 when it is missing and wanted; read-only where it allows no more.

        Raises:
            OSError, sqlite3.Error: it cannot be opened. FileFault: it is none of this program's.
            Garbled: it is damaged.
        """
        if self._connection is not None and self._is_same():
            self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}").fetchall()
            return self._connection
        self.close()
        if make and not os.path.lexists(self.path):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        found = os.lstat(self.path)
        if not stat.S_ISREG(found.st_mode):
            raise FileFault(f"{self.path} is no regular file", "move it away: nothing is remembered while it is there")
        self._identity = found.st_dev, found.st_ino
        quoted = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        connection = sqlite3.connect(
            f"file:{quoted}?mode=rw", uri=True, timeout=wait_ms / 1_000, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA synchronous = OFF").fetchall()
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            self._recognise(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _recognise(self, connection: sqlite3.Connection) -> None:
        """Make the table in an empty file; hold another one to what this program reads."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            raise FileFault(f"{self.path} was written by a newer program", "it may be deleted, or use that program")
        if version < SCHEMA:
            _create(connection)
        try:
            connection.execute(f"SELECT {COLUMNS} FROM exposure LIMIT 0").fetchall()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR:
                raise Garbled("its table") from None
            raise

    def _is_same(self) -> bool:
        """Tell whether the open file is still the one of that name: it may be deleted at any time."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def _set_aside(self) -> bool:
        """Give a damaged file another name, unless somebody did already; False when that cannot be."""
        if not self._is_same():
            return True
        try:
            if os.path.lexists(self.path + "-journal"):
                os.replace(self.path + "-journal", f"{self.path}{ASIDE}-journal")
            os.utime(self.path)
            os.replace(self.path, self.path + ASIDE)
        except OSError:
            return False
        return True

    def _forget_aside(self, before: float) -> None:
        """Remove what was set aside so long ago that its rows would be forgotten too."""
        try:
            if os.lstat(self.path + ASIDE).st_mtime < before:
                os.unlink(self.path + ASIDE)
        except OSError:
            return

    def _rescrub(self, connection: sqlite3.Connection, many: int) -> None:
        """Scrub keywords that were kept under older rules."""
        now = rules()
        for name, words in connection.execute(OLD_RULES, {"rules": now, "many": many}).fetchall():
            kept = dumped(clean(texts_of(words)))
            connection.execute(SCRUBBED, {"id": name, "keywords": kept, "rules": now})

    def _rescrub_if_writable(self, connection: sqlite3.Connection) -> None:
        """The same for whoever reads; from a file that cannot be written, what is read is scrubbed alone."""
        try:
            self._rescrub(connection, -1)
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_READONLY:
                raise


def _create(connection: sqlite3.Connection) -> None:
    """Make the table, unless another process just did.

    Raises:
        Garbled: there are tables of somebody else.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version < SCHEMA:
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() != (0,):
                raise Garbled("its tables")
            for statement in (*TABLES, f"PRAGMA user_version = {SCHEMA}"):
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_damage(error: Exception) -> bool:
    """Tell whether it is the file's content that is wrong, and not that somebody holds it or it cannot be written."""
    if isinstance(error, sqlite3.DatabaseError):
        code = getattr(error, "sqlite_errorcode", None)
        undecodable = code is None and isinstance(error, sqlite3.OperationalError)
        return undecodable or (code is not None and code & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT))
    return isinstance(error, Garbled)
