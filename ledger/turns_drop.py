"""Take turns out of the session index: by age, by size, for privacy, or all of them to read the transcripts anew.

What goes here goes to the last byte: the words index is made anew and the file
is written anew. What was pruned is not read again; what was erased is not even
when everything is read anew, since its transcript may still hold it.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ledger import query, turns
from ledger.turns_add import UNREAD
from ledger.turns_file import ADD_WORDS, DROP, set_aside, writable

CHUNK = 2_000
"""Turns that are looked at together."""

ALL = "SELECT id, uuid, text FROM turn WHERE id > :after ORDER BY id LIMIT :many"
OLDER = """SELECT t.id, length(t.text) FROM turn AS t JOIN source AS s ON s.id = t.source
WHERE coalesce(t.at, s.read_at) < :before ORDER BY t.id"""
NEWEST = """SELECT t.id, length(t.text), coalesce(t.at, s.read_at) FROM turn AS t JOIN source AS s ON s.id = t.source
ORDER BY coalesce(t.at, s.read_at) DESC, t.id DESC"""
KEEP_SINCE = """INSERT INTO kept (name, value) VALUES ('since', :since)
ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)"""
GONE = "INSERT INTO gone (uuid) VALUES (?) ON CONFLICT (uuid) DO NOTHING"
NO_WORDS = "INSERT INTO turn_fts (turn_fts) VALUES ('delete-all')"
ANEW = (
    NO_WORDS, "DELETE FROM turn", "DELETE FROM kept WHERE name = 'since'", UNREAD,
)  # fmt: skip


class Pruned(NamedTuple):
    """Turns and characters that went, or would go."""

    turns: int
    chars: int


def prune(ledger: str, before: str | None = None, keep_chars: int | None = None, *, dry_run: bool = False) -> Pruned:
    """Take out the turns that are older than a time, and the oldest until the texts of all have so many characters.

    Raises:
        Locked, FileFault: the file cannot be written; nothing was changed.
    """
    path = turns.path_beside(ledger)
    if not os.path.lexists(path):
        return Pruned(0, 0)
    with _writing(path) as connection:
        gone, since = _old(connection, before, keep_chars)
        if dry_run or not gone:
            return Pruned(len(gone), sum(gone.values()))
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(DROP, [(row,) for row in gone])
        connection.execute(KEEP_SINCE, {"since": since})
        _finish(connection)
    return Pruned(len(gone), sum(gone.values()))


def _old(connection: sqlite3.Connection, before: str | None, keep_chars: int | None) -> tuple[dict[int, int], str]:
    """Return the turns that go with their sizes, and the time before which nothing is kept from now on."""
    gone: dict[int, int] = {}
    since = before or ""
    if before is not None:
        gone.update(connection.execute(OLDER, {"before": before}).fetchall())
    if keep_chars is not None:
        kept, last = 0, ""
        for row, size, at in connection.execute(NEWEST):
            kept += size
            if kept > keep_chars:
                gone[row] = size
                last = max(last, at)
        since = max(since, last)
    return gone, since


def forget(ledger: str, is_gone: Callable[[str], bool], *, dry_run: bool = False) -> int:
    """Take out the turns whose text has to go, for ever; return how many.

    Raises:
        Locked, FileFault: the file cannot be written; nothing was changed.
    """
    path = turns.path_beside(ledger)
    if not os.path.lexists(path):
        return 0
    with _writing(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        found = [(row, uuid) for row, uuid, text in _each(connection) if is_gone(text)]
        if not found or dry_run:
            return len(found)
        connection.executemany(DROP, [(row,) for row, _ in found])
        connection.executemany(GONE, [(uuid,) for _, uuid in found])
        _finish(connection)
    return len(found)


def begin_anew(ledger: str) -> list[str]:
    """Empty the file, or set it aside when it cannot be used; return the transcripts that it was read from.

    Raises:
        Locked, FileFault: the file cannot be written.
    """
    path = turns.path_beside(ledger)
    known = turns.Turns(ledger)
    if not os.path.lexists(path):
        return []
    if known.fault() is not None:
        set_aside(path)
        return []
    paths = known.transcripts()
    with _writing(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in ANEW:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("VACUUM")
    return paths


@contextmanager
def _writing(path: str) -> Iterator[sqlite3.Connection]:
    """Open the file for taking something out.

    Raises:
        Locked, FileFault: it cannot be written; nothing was changed.
    """
    try:
        connection = writable(path, [])
        try:
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            connection.execute("PRAGMA synchronous = FULL").fetchall()
            yield connection
        finally:
            connection.close()  # which rolls back what was not committed
    except sqlite3.Error as error:
        raise turns.fault(path, error) from None


def _each(connection: sqlite3.Connection) -> Iterator[tuple[int, str, str]]:
    after = 0
    while rows := connection.execute(ALL, {"after": after, "many": CHUNK}).fetchall():
        yield from rows
        after = rows[-1][0]


def _finish(connection: sqlite3.Connection) -> None:
    """Make the words index anew from what is left, commit, and write every page anew.

    Words that were only deleted from such an index stay in its pages until they happen to be merged.
    """
    connection.execute(NO_WORDS)
    for row, _, text in _each(connection):
        connection.execute(ADD_WORDS, (row, query.indexed(text)))
    connection.execute("COMMIT")
    connection.execute("VACUUM")
