"""The storage contract on SQLite, and the attacks that only SQLite knows."""

import sqlite3
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from storage_contract import *  # noqa: F403
from storage_contract import HAND, NewPlace, Place, StrangerRefused, assert_refused, copy_of_the_last, next_but

from ledger.store import Clock, Log
from ledger.store_sqlite import SqliteStore


def open_file(path: str, clock: Clock) -> Log:
    """Open the log in a file."""
    return SqliteStore(path, HAND, clock=clock)


def execute(path: str, statement: str) -> None:
    """Run one statement as any program with a SQLite library would."""
    with closing(sqlite3.connect(path)) as stranger:
        try:
            with stranger:
                stranger.execute(statement)
        except sqlite3.Error as error:
            raise StrangerRefused(str(error)) from None


def tamper(path: str, statement: str, *values: Any) -> None:
    """Run one statement as the owner of the file, who drops triggers and CHECKs first."""
    with closing(sqlite3.connect(path)) as owner:
        for (name,) in owner.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            owner.execute(f"DROP TRIGGER {name}")
        owner.execute("PRAGMA ignore_check_constraints = ON")
        with owner:
            owner.execute(statement.format(*"?" * len(values)), values)


@pytest.fixture(scope="module")
def new_place(tmp_path_factory: pytest.TempPathFactory) -> NewPlace:
    """Return a function that makes a file with an empty log."""

    def make() -> Place:
        path = str(tmp_path_factory.mktemp("data") / "ledger.db")
        SqliteStore(path, create=True).close()
        return Place(partial(open_file, path), partial(execute, path), partial(tamper, path), lambda: None)

    return make


REPLACED = next_but(event_id="event_id").replace("INSERT", "INSERT OR REPLACE")
PAYLOAD = "INTO payload (seq, body, salt) SELECT {}, body, salt FROM payload WHERE seq = 3"
META = "INTO meta (one, ledger_id, format, dedup_key) SELECT {}, upper(ledger_id), format, dedup_key FROM meta"
LEARNING = (
    "INTO learning SELECT 2, {}, 'forged', problem, solution, category, confidence, project, tags, observed_at,"
    " recorded_at, trust, actor_kind, channel, batch, content_key, erased_by FROM learning WHERE seq = 2"
)

SQLITE_ATTACKS = {
    "replace an event": copy_of_the_last().replace("INSERT", "INSERT OR REPLACE"),
    "replace by event id": REPLACED,
    "replace by predecessor": next_but(prev_hash="prev_hash").replace("INSERT", "REPLACE"),
    "replace by stream and version": next_but(stream="stream").replace("INSERT", "REPLACE"),
    "ignore the conflict": copy_of_the_last().replace("INSERT", "INSERT OR IGNORE"),
    "fail at the conflict": copy_of_the_last().replace("INSERT", "INSERT OR FAIL"),
    "replace by rowid": "INSERT OR REPLACE INTO event (rowid, event_id, stream, version, kind, schema_version,"
    " recorded_at, actor_kind, channel, trust, data, commitment, prev_hash, hash) SELECT 2, event_id, stream, version,"
    " kind, schema_version, recorded_at, actor_kind, channel, trust, data, commitment, prev_hash, hash"
    " FROM event WHERE seq = 2",
    "update and replace": "UPDATE OR REPLACE event SET seq = 2 WHERE seq = 3",
    "update and ignore": "UPDATE OR IGNORE event SET trust = 0",
    "text for a number": next_but(version="'one'"),
    "text for a hash": next_but(hash="'" + "a" * 32 + "'"),
    "bytes for text": next_but(data="x'7b7d'"),
    "a fraction for a number": next_but(trust="1.5"),
    "replace a payload": "REPLACE " + PAYLOAD.format(2),
    "ignore a payload's conflict": "INSERT OR IGNORE " + PAYLOAD.format(2),
    "a payload beyond the log": "REPLACE " + PAYLOAD.format(9),
    "update and replace a payload": "UPDATE OR REPLACE payload SET seq = 2 WHERE seq = 3",
    "text for a payload": "UPDATE OR IGNORE payload SET body = 'text' WHERE seq = 2",
    "replace what the ledger is": "REPLACE " + META.format(1),
    "ignore what the ledger is": "INSERT OR IGNORE " + META.format(1),
    "add to what the ledger is": "REPLACE " + META.format(2),
    "change a learning": "UPDATE learning SET solution = 'forged' WHERE seq = 2",
    "change a learning into itself": "UPDATE learning SET solution = solution",
    "empty a learning that stands": "UPDATE learning SET title = NULL, problem = NULL, solution = NULL, project = NULL,"
    " tags = NULL, observed_at = NULL, content_key = NULL, erased_by = 3 WHERE seq = 2",
    "remove a learning": "DELETE FROM learning WHERE seq = 2",
    "replace a learning": "REPLACE " + LEARNING.format("id"),
    "replace a learning under another id": "REPLACE " + LEARNING.format("'lrn_' || substr(id, 5, 25) || 'a'"),
    "ignore a learning's conflict": "INSERT OR IGNORE " + LEARNING.format("id"),
    "upsert a learning": "INSERT " + LEARNING.format("id") + " ON CONFLICT (seq) DO UPDATE SET title = 'forged'",
}


@pytest.mark.parametrize("attack", SQLITE_ATTACKS)
def test_sqlite_refuses(settled: tuple[Log, Place], attack: str) -> None:
    """REPLACE fires no trigger for DELETE, and types are what a column says: both are closed doors."""
    assert_refused(settled, SQLITE_ATTACKS[attack])
