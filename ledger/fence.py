"""Read a ledger as somebody who may see some of its projects only."""

import sqlite3
from collections.abc import Sequence

from ledger import sql_fence
from ledger.model import EVERYWHERE
from ledger.reader import Reader, fault, open_reader


def open_fenced(path: str, projects: Sequence[str], busy_ms: int = 2_000) -> Reader:
    """Open the ledger for reading these projects, by every name that they have, and what holds everywhere.

    No project means all of them.

    Raises:
        LedgerError: what `open_reader` refuses.
    """
    reader = open_reader(path, busy_ms)
    if not projects:
        return reader
    try:
        _raise(reader, within(reader, projects))
    except BaseException:
        reader.close()
        raise
    return reader


def within(reader: Reader, projects: Sequence[str]) -> set[str]:
    """Return every name of these projects, and the one for what holds everywhere."""
    return {name for project in projects for name in reader.projects(project)} | {EVERYWHERE}


def _raise(reader: Reader, names: set[str]) -> None:
    connection = reader.connection
    try:
        connection.execute("PRAGMA temp_store = MEMORY").fetchall()
        connection.execute("PRAGMA query_only = 0").fetchall()
        for statement in sql_fence.statements(names):
            connection.execute(statement).fetchall()
        connection.execute("PRAGMA query_only = 1").fetchall()
    except sqlite3.Error as error:
        raise fault(error, reader.path) from error
