"""Events to append, and hands on a file that the product would never lay on it."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from ledger.audit import audit
from ledger.model import Draft, Event, NewEvent, learning_id, new_event_id
from ledger.results import Verdict
from ledger.store_sqlite import SqliteStore
from ledger.view import content


def recorded(number: int, event_id: str | None = None, solution: str | None = None) -> NewEvent:
    """Return a learning to append; its texts name `number`."""
    own_id = event_id or new_event_id()
    draft = Draft(f"problem {number} of the pooler", solution or f"use port {number}", "env", "demo", f"title {number}")
    data, body = content(draft, own_id, "learning.recorded", (), None)
    return NewEvent("learning.recorded", learning_id(own_id), data, body, own_id)


def append(store: SqliteStore, number: int = 1) -> Event:
    """Append one learning."""
    return store.append(lambda _: [recorded(number)])[0]


def verified(path: str) -> Verdict:
    """Open a file anew and return what `verify` finds."""
    store = SqliteStore(path)
    try:
        return audit(store)
    finally:
        store.close()


def codes(verdict: Verdict) -> set[tuple[str, int | None]]:
    """Return code and seq of every problem."""
    return {(problem.code, problem.seq) for problem in verdict.problems}


def copied(path: str, to: str) -> str:
    """Copy a closed ledger with its anchor; return where it went."""
    os.makedirs(os.path.dirname(to), mode=0o700, exist_ok=True)
    for suffix in ("", ".anchor"):
        if os.path.exists(path + suffix):
            shutil.copyfile(path + suffix, to + suffix)
            os.chmod(to + suffix, 0o600)
    return to


class Wal:
    """The standard driver, said to be one that may write in WAL mode."""

    sqlite_version_info = (99, 0, 0)

    def __getattr__(self, name: str) -> object:
        return getattr(sqlite3, name)


@contextmanager
def opened(path: str) -> Iterator[sqlite3.Connection]:
    """Open a file as any SQL shell would, and commit each statement."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def tampering(path: str) -> Iterator[sqlite3.Connection]:
    """Open a file without its triggers and CHECKs; the triggers come back as they were, with the changes, in one go."""
    with opened(path) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, statement in triggers:
            connection.execute(statement)
        connection.execute("COMMIT")
