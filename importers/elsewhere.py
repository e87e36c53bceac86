"""Say of databases that keep nothing of their own, or nothing in a documented form, what to name instead.

They are indexes and states of tools whose files are read: to call them damaged,
or unknown, would send people looking for what is not wrong.
"""

import sqlite3
from collections.abc import Callable
from typing import NoReturn

from importers import foreign_sqlite
from importers.files import Unread
from importers.kinds import Importer, Parsed

STATES = (
    ("quipu", "doc", {"rel", "superseded_by"}, "it is the state of quipu; import the folder `memory` beside it"),
    ("basic-memory", "entity", {"permalink", "file_path"}, "it is the index of basic-memory; import its notes"),
    (
        "cursor-rules",
        "ItemTable",
        {"key", "value"},
        "Cursor keeps its memories in no documented form; import the rules in `.cursor/rules`",
    ),
)
"""Kind, a table with columns by which such a database is known, and what to do instead."""


def _importer(kind: str, table: str, wanted: set[str], advice: str) -> Importer:
    def refuse(*given: object) -> NoReturn:
        raise Unread("no-rows", f"{advice}; the file was skipped")

    def holds(connection: sqlite3.Connection) -> bool:
        return wanted <= set(foreign_sqlite.columns(connection, table))

    read: Callable[[str, str | None], list[Parsed]] = refuse
    return Importer(kind, lambda head, path: False, read, holds=holds, database=refuse)


IMPORTERS = tuple(_importer(*one) for one in STATES)
