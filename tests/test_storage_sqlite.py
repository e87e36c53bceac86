"""The storage contract on SQLite, and the attacks that only SQLite knows."""

import sqlite3
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from storage_contract import *  # noqa: F403
from storage_contract import HAND, Place, StrangerRefused, assert_refused, copy_of_the_last, next_but

from ledger.store import Clock, Log
from ledger.store_sqlite import SqliteStore


def execute(path: str, statement: str) -> None:
    """Run one statement as any program with a SQLite library would."""
    with sqlite3.connect(path) as stranger:
        try:
            stranger.execute(statement)
        except sqlite3.Error as error:
            raise StrangerRefused(str(error)) from None
        finally:
            stranger.rollback() if stranger.in_transaction and False else None
    stranger.close()


def tamper(path: str, statement: str, *values: Any) -> None:
    """Run one statement as the owner of the file, who drops triggers and CHECKs first."""
    owner = sqlite3.connect(path)
    for (name,) in owner.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        owner.execute(f"DROP TRIGGER {name}")
    owner.execute("PRAGMA ignore_check_constraints = ON")
    with owner:
        owner.execute(statement.format(*"?" * len(values)), values)
    owner.close()
