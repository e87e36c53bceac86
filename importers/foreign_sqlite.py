"""Read another program's SQLite file without touching it: from a private copy, never in its place.

SQLite writes beside a database it only reads (a shared-memory file, a
recovery, a checkpoint), and a rollback journal that a stranger laid beside one
can name files to be deleted. So the file and its write-ahead log are copied
from checked descriptors into a folder of ours, which is emptied as soon as
SQLite has opened the copy; a journal is never replayed. What the schema says is
not believed: only ordinary tables are read, and none of its functions run.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from importers import files
from importers.files import Unread

MAGIC = b"SQLite format 3\0"
FILE_BYTES = 2 << 30
"""Largest database that is copied; 50,000 observations take about 0.15 GB."""

LOG_BYTES = 512 << 20
"""Largest write-ahead log that is copied; its writer keeps it near 4 MB."""

ROW_BYTES = 32 << 20
"""Largest text or row that SQLite may build."""

ROWS_MAX = 1_000_000
"""Most rows read of one table."""

TRIES = 10
"""Copies made of a file that changes meanwhile, before giving up."""

_JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_LOG_HEAD = 32
_BLOCK = 1 << 20
_DAMAGE = ("Tree", "***", "On ", "Page", "Main", "Freelist", "malformed")


class _Mark(NamedTuple):
    """What tells that a database did not change: while its log is not begun anew, the log has every change."""

    log_head: bytes
    size: int
    written_ns: int
    changed_ns: int


def sniff(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a SQLite database."""
    return head.startswith(MAGIC)


@contextmanager
def snapshot(path: str) -> Iterator[sqlite3.Connection]:
    """Open a consistent copy of a database that may be in use; it can only be read.

    Raises:
        Unread: it is no regular file, too large, damaged, in the middle of a
            transaction, changes all the time, or there is no room for a copy.
    """
    try:
        with TemporaryDirectory(prefix="learnings-import-", ignore_cleanup_errors=True) as folder:
            copied = os.path.join(folder, "copy.db")
            _copy(path, copied)
            with closing(_opened(copied)) as connection:
                if os.name == "posix":  # an open file needs no name: nothing of the copy outlives a kill
                    for name in os.listdir(folder):
                        os.unlink(os.path.join(folder, name))
                yield connection
    except OSError as error:
        raise Unread("snapshot", f"no copy of it could be made ({error.strerror}); the file was skipped") from None


def _copy(path: str, to: str) -> None:
    """Copy a database and its log as they were at one moment."""
    for _ in range(TRIES):
        before = _mark(path)
        _copy_file(path, to, FILE_BYTES)
        has_log = _copy_file(path + "-wal", to + "-wal", LOG_BYTES, may_miss=True)
        after = _mark(path)
        if before == after or (has_log and before.log_head == after.log_head != b""):
            return
    raise Unread("busy", "it changed all the time while it was read; the file was skipped, import it again later")


def _mark(path: str) -> _Mark:
    """Return what tells whether a database changed; a transaction under way in its rollback journal is a refusal."""
    if _head(path + "-journal", len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC:
        message = "a transaction on it is under way or was broken off; the file was skipped, open it with its program"
        raise Unread("busy", message)
    found = os.stat(path, follow_symlinks=False)
    return _Mark(_head(path + "-wal", _LOG_HEAD), found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _head(path: str, size: int) -> bytes:
    """Return the first bytes of a file beside a database, none when there is no such file."""
    try:
        return files.read_head(path, size)
    except Unread as error:
        if error.code == "not-found":
            return b""
        raise Unread(error.code, f"{os.path.basename(path)[-8:]} beside it: {error.message}") from None


def _copy_file(path: str, to: str, cap: int, may_miss: bool = False) -> bool:
    """Copy at most what a file held when it was opened; return whether there is one."""
    try:
        reading = files.open_regular(path)
    except Unread as error:
        if may_miss and error.code == "not-found":
            with suppress(FileNotFoundError):
                os.unlink(to)  # of an earlier try
            return False
        raise
    with os.fdopen(reading, "rb") as source, open(to, "wb") as target:
        left = os.fstat(source.fileno()).st_size
        if left > cap:
            raise Unread("too-large", f"it is larger than {cap:,} bytes; the file was skipped")
        while left > 0 and (block := source.read(min(_BLOCK, left))):
            target.write(block)
            left -= len(block)
    return True


def _opened(copied: str) -> sqlite3.Connection:
    """Open a copy; raise `Unread` when it is no database, or one that another SQLite must read."""
    connection = sqlite3.connect(copied, isolation_level=None)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, ROW_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000)
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        for pragma in (
            "locking_mode = EXCLUSIVE", "trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY",
            "mmap_size = 0", "query_only = ON",
        ):  # fmt: skip
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except (sqlite3.Error, UnicodeError, MemoryError):
        connection.close()
        raise damaged() from None
    return connection


def damaged() -> Unread:
    """Return the refusal of a database that SQLite cannot read."""
    return Unread("damaged", "it is damaged, encrypted or no SQLite database; the file was skipped")


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the stored columns of an ordinary table, [] when there is none of that name.

    A view, a virtual table and a generated column would run what a stranger wrote.
    """
    row = connection.execute(
        "SELECT sql, rootpage FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", (table,)
    ).fetchone()
    is_plain = row is not None and isinstance(row[0], str) and isinstance(row[1], int) and row[1] > 0
    if not is_plain or "VIRTUAL" in row[0][:40].upper().split():
        return []
    found = connection.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", (table,))
    return [name for (name,) in found.fetchall()]


def is_sound(connection: sqlite3.Connection, table: str) -> bool:
    """Return whether the pages of a table hang together; rows that break their own rules do not matter."""
    found = connection.execute(f"PRAGMA quick_check({_quoted(table)})").fetchall()
    return not any(line.startswith(_DAMAGE) for (text,) in found for line in str(text).splitlines())


def rows(connection: sqlite3.Connection, table: str, names: list[str]) -> Iterator[dict[str, Any] | None]:
    """Yield the rows of a table as stored, in the order of their pages, at most `ROWS_MAX` of them.

    A row with a value beyond `ROW_BYTES` is None, and costs its neighbours nothing where rows have numbers.

    Raises:
        sqlite3.Error: a page cannot be read, or a value is too large in a table whose rows have no numbers.
    """
    wanted, place = ", ".join(_quoted(name) for name in names), _quoted(table)
    number = _number(connection, table)
    if number is None:
        for row in connection.execute(f"SELECT {wanted} FROM {place} LIMIT {ROWS_MAX}"):
            yield dict(zip(names, row, strict=True))
        return
    select = f"SELECT {number}, {wanted} FROM {place} WHERE {number} > ? ORDER BY {number} LIMIT ?"
    at, left = float("-inf"), ROWS_MAX
    while left > 0:
        try:
            for row in connection.execute(select, (at, left)):
                at, left = row[0], left - 1
                yield dict(zip(names, row[1:], strict=True))
            return
        except sqlite3.DataError:
            at = connection.execute(f"SELECT min({number}) FROM {place} WHERE {number} > ?", (at,)).fetchone()[0]
            left -= 1
            yield None


def _number(connection: sqlite3.Connection, table: str) -> str | None:
    """Return the name of a table's row numbers that no column of its own hides; None when its rows have none."""
    found = connection.execute("SELECT lower(name) FROM pragma_table_xinfo(?)", (table,)).fetchall()
    own = {name for (name,) in found}
    for name in ("rowid", "_rowid_", "oid"):
        if name not in own:
            try:
                connection.execute(f"SELECT {name} FROM {_quoted(table)} LIMIT 0").fetchall()
            except sqlite3.OperationalError:
                return None
            return name
    return None


def count(connection: sqlite3.Connection, table: str) -> int:
    """Return how many rows an ordinary table holds, 0 when there is none or it cannot be read."""
    try:
        if not columns(connection, table):
            return 0
        return int(connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0])
    except (sqlite3.Error, UnicodeError):
        return 0


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
