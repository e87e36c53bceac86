"""The file of past turns, for whoever writes it: opened, made, set aside when it is damaged, scrubbed again.

The words index keeps no text of its own, so that what leaves it has to be told again as it was taken in.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ledger import place, query, redact, turns
from ledger.exposure import rules

OLD_RULES = "SELECT id, text FROM turn WHERE rules < :rules ORDER BY rules, id LIMIT :many"
SCRUBBED = "UPDATE turn SET text = :text, rules = :rules WHERE id = :id"
ADD_WORDS = "INSERT INTO turn_fts (rowid, words) VALUES (?, ?)"
DROP_WORDS = "INSERT INTO turn_fts (turn_fts, rowid, words) VALUES ('delete', ?, ?)"
DROP = "DELETE FROM turn WHERE id = ?"


def writable(path: str, remarks: list[str]) -> sqlite3.Connection:
    """Open the file for writing, made with mode 0600 when it is missing; a damaged one is set aside and said.

    Raises:
        Locked, FileFault: it cannot be written.
    """
    for is_last in (False, True):
        try:
            if not os.path.lexists(path):
                place.make_folder(path)
                place.make_file(path)
            connection = turns.opened(path, "rw")
            try:
                connection.execute("PRAGMA synchronous = OFF").fetchall()
                connection.execute("PRAGMA temp_store = MEMORY").fetchall()
                _recognise(connection)
            except BaseException:
                connection.close()
                raise
            return connection
        except (sqlite3.Error, OSError) as error:
            if is_last or not _is_damage(error):
                raise turns.fault(path, error) from None
            set_aside(path)
            remarks.append(f"the session index was damaged; it is set aside as {path}{turns.ASIDE}, and another begun")
    raise AssertionError  # pragma: no cover - the second turn returns or raises


def _recognise(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < turns.SCHEMA:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] < turns.SCHEMA:
            for statement in (*turns.TABLES, f"PRAGMA user_version = {turns.SCHEMA}"):
                connection.execute(statement)
        connection.execute("COMMIT")
    connection.execute(turns.SHAPE).fetchall()


def _is_damage(error: Exception) -> bool:
    """Tell whether the file's content is wrong, and not that somebody holds it or it cannot be written."""
    code = getattr(error, "sqlite_errorcode", 0)
    damage = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)
    return isinstance(error, sqlite3.DatabaseError) and isinstance(code, int) and code & 0xFF in damage


def set_aside(path: str) -> None:
    """Give a file that cannot be used another name, in the place of the last one set aside.

    Raises:
        FileFault: it cannot be renamed.
    """
    try:
        for end in ("-journal", ""):
            if os.path.lexists(path + end):
                os.replace(path + end, path + turns.ASIDE + end)
    except OSError as error:
        raise place.os_fault(error, path) from None


def rescrub(connection: sqlite3.Connection, most: int) -> None:
    """Scrub turns again that older rules have seen; those without a secret only get the rules' number.

    Raises:
        GuardFailed: the redactor cannot run.
    """
    found = connection.execute(OLD_RULES, {"rules": rules(), "many": most}).fetchall()
    is_changed = False
    with writing(connection):
        for row, text in found:
            clean = redact.guarded("a turn", text).text
            if clean != text:
                is_changed = True
                connection.execute(DROP_WORDS, (row, query.indexed(text)))
                connection.execute(ADD_WORDS, (row, query.indexed(clean)))
            connection.execute(SCRUBBED, {"id": row, "text": clean, "rules": rules()})
        if is_changed:  # words that were deleted stay in the index until it is merged
            connection.execute("INSERT INTO turn_fts (turn_fts) VALUES ('optimize')")
    if is_changed:
        connection.execute("VACUUM")


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Run statements in one transaction, all of them or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def drop(connection: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Take turns out of the table and of the words index, inside the caller's transaction."""
    told = list(rows)
    connection.executemany(DROP_WORDS, [(row, query.indexed(text)) for row, text in told])
    connection.executemany(DROP, [(row,) for row, _ in told])
