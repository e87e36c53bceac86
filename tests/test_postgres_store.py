"""The store on PostgreSQL beyond the contract: time, forks, guards, and what goes wrong."""

import json
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from postgres_place import APP, FORGED, Databases, as_app, execute, named, psycopg, tamper
from sqlalchemy import make_url
from storage_contract import (
    HAND,
    append,
    erasure,
    recorded,
    stored,
)

from ledger import errors, tables
from ledger.model import NewEvent
from ledger.store_postgres import PostgresStore, fault


def test_time_is_the_servers(url: str) -> None:
    """Without a clock of its own a store asks the server, whose clock all writers share."""
    log = PostgresStore(url)
    with psycopg.connect(url) as connection:
        sql = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
        before = connection.execute(sql).fetchone()
        recorded_at = append(log, recorded())[0].recorded_at
        after = connection.execute(sql).fetchone()
    log.close()

    assert before[0] <= recorded_at <= after[0]


def test_a_reader_sees_one_state_throughout(url: str) -> None:
    """An erasure in the middle of a check would otherwise look like a text that outlived it."""
    log, other = PostgresStore(url), PostgresStore(url)
    append(log, recorded())

    with log._transaction(write=False) as connection:
        before = log._head(connection)
        append(other, erasure(1))
        after = log._head(connection)

    assert before == after
    assert log.head().seq == 2
    log.close()
    other.close()


def test_a_store_may_be_used_on_both_sides_of_a_fork(url: str) -> None:
    """The child lets go of its parent's sockets and connects anew; both write on."""
    log = PostgresStore(url)
    append(log, recorded())
    fork = multiprocessing.get_context("fork")

    def child() -> None:
        for _ in range(5):
            append(log, recorded())

    process = fork.Process(target=child)
    process.start()
    for _ in range(5):
        append(log, recorded())
    process.join(30)

    assert process.exitcode == 0
    assert log.find_problems()[0] == 11
    assert log.find_problems()[3] == []
    log.close()


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("ALTER TABLE event DISABLE TRIGGER event_delete_refused", "event_delete_refused"),
        ("DROP TRIGGER payload_truncate_refused ON payload", "payload_truncate_refused"),
        ("ALTER TABLE meta DISABLE TRIGGER ALL", "meta_insert_refused"),
        (FORGED.format("ledger_payload_update"), "ledger_payload_update"),
    ],
)
def test_a_guard_that_was_taken_away_is_named(url: str, statement: str, name: str) -> None:
    """The owner can disable, drop and replace what refuses changes; `find_problems` says so."""
    execute(url, statement)

    log = PostgresStore(url)
    problems = log.find_problems()[3]
    log.close()

    assert f"{name} is gone, disabled or changed" in [problem.message for problem in problems]


def test_a_commit_is_durable_where_the_role_would_not_wait(url: str) -> None:
    """A role that has `synchronous_commit` off still waits for the disk when it appends."""
    execute(url, f"ALTER DATABASE {make_url(url).database} SET synchronous_commit = off")
    log = PostgresStore(url)
    seen: list[str] = []

    log.append(lambda moment: seen.append(setting(moment.connection, "synchronous_commit")) or [recorded()])  # type: ignore[func-returns-value]

    assert seen == ["on"]
    log.close()


def setting(connection: Any, name: str) -> str:
    """Return what a setting is on this connection."""
    return str(connection.exec_driver_sql(f"SHOW {name}").scalar_one())


# -- what goes wrong ----------


def test_a_second_creation_changes_nothing(url: str) -> None:
    """`create` on a log that is there opens it; its identity stays."""
    log = PostgresStore(url, HAND)
    append(log, recorded())
    before = stored(log)
    log.close()

    again = PostgresStore.create(url)

    assert stored(again) == before
    again.close()


def test_two_creations_at_once_make_one_ledger(databases: Databases) -> None:
    """The second waits for the first, and opens what that one made."""
    url = databases.make("TEMPLATE template0 ENCODING 'UTF8'")
    execute(url, f"ALTER DATABASE {make_url(url).database} SET default_transaction_isolation = 'serializable'")

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(PostgresStore.create, [url] * 2))

    assert made[0].ledger_id == made[1].ledger_id
    for log in made:
        log.close()


@pytest.mark.parametrize("marks", ["", ":5433", "@"])
def test_a_url_that_cannot_be_read_is_refused_without_being_quoted(marks: str) -> None:
    """The password in a mistyped URL does not get into the message."""
    secret = "hunter" + "2"

    with pytest.raises(errors.BadArgument, match="URL of a PostgreSQL database") as caught:
        PostgresStore(f"mysql{marks}://me:{secret}@host/x")

    assert secret not in str(caught.value)


def test_a_server_that_is_not_there_is_named_without_password() -> None:
    """Place, database and what to look at; never user or password."""
    secret = "hunter" + "2"

    with pytest.raises(errors.FileFault) as caught:
        PostgresStore(f"postgresql://somebody:{secret}@127.0.0.1:1/team?connect_timeout=2")

    assert caught.value.message == "postgresql://127.0.0.1:1/team cannot be reached; nothing was written"
    assert secret not in repr(caught.value.__cause__) + repr(caught.value)


def test_a_database_that_is_not_there_is_named(databases: Databases) -> None:
    """The driver does not tell a missing database from a missing server, so the hint names both."""
    with pytest.raises(errors.FileFault, match=r"/nowhere cannot be reached.*name of the database"):
        PostgresStore(named(databases.server, "nowhere"))


def test_a_database_without_a_ledger_is_named(databases: Databases) -> None:
    """The server's own database holds none."""
    with pytest.raises(errors.NotALedger, match="holds no ledger"):
        PostgresStore(named(databases.server, "postgres"))


def test_a_log_without_its_identity_is_refused_and_created_again(url: str) -> None:
    """Killed between migration and identity, `create` runs again; until then nobody opens the log."""
    tamper(url, "DELETE FROM meta")

    with pytest.raises(errors.NotALedger, match="no meta row"):
        PostgresStore(url)
    again = PostgresStore.create(url)

    assert len(again.dedup_key) == 32
    again.close()


@pytest.mark.parametrize(
    ("revision", "error"), [("0009_later", errors.NewerSchema), ("0000_before", errors.OlderSchema)]
)
def test_another_schema_is_refused_with_both_names(url: str, revision: str, error: type[errors.LedgerError]) -> None:
    """A program writes its own schema only."""
    execute(url, f"UPDATE alembic_version SET version_num = '{revision}'")

    with pytest.raises(error) as caught:
        PostgresStore(url)

    assert revision in str(caught.value)
    assert tables.SCHEMA_REVISION in str(caught.value)


def test_a_newer_log_is_not_migrated(url: str) -> None:
    """`create` with an older program leaves a newer log alone."""
    execute(url, "UPDATE alembic_version SET version_num = '0009_later'")

    with pytest.raises(errors.NewerSchema, match="0009_later"):
        PostgresStore.create(url)


def test_a_database_of_another_encoding_is_refused(databases: Databases) -> None:
    """Texts are UTF-8, and views show them in the database's encoding."""
    url = databases.make("TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")

    with pytest.raises(errors.Refused, match="SQL_ASCII"):
        PostgresStore.create(url)


def test_a_writer_that_waits_too_long_says_so(url: str) -> None:
    """The append lock is held by somebody else for longer than the wait."""
    holder, late = PostgresStore(url), PostgresStore(url, wait_s=0.05)

    def decide(moment: Any) -> list[NewEvent]:
        with pytest.raises(errors.Locked, match="locked by another writer; nothing was written"):
            append(late, recorded())
        return [recorded("held")]

    holder.append(decide)

    assert [json.loads(one.body or b"")["problem"] for one in late.events()] == ["held"]
    holder.close()
    late.close()


def kill(url: str, connection: Any) -> None:
    """End the server's side of a connection."""
    pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def test_a_connection_lost_before_the_commit_wrote_nothing(url: str) -> None:
    """The next append connects anew."""
    log = PostgresStore(url)

    with pytest.raises(errors.FileFault, match="cannot be reached; nothing was written"):
        log.append(lambda moment: [kill(url, moment.connection) or recorded()])  # type: ignore[func-returns-value]

    assert append(log, recorded())[0].seq == 1
    log.close()


def test_a_connection_lost_at_the_commit_says_that_it_does_not_know(url: str) -> None:
    """Whether the server committed cannot be told, so the message tells how to find out: by a retry."""
    log = PostgresStore(url)

    with (
        pytest.raises(errors.FileFault, match=r"lost at the commit; whether it was stored is not known.*retry"),
        log._transaction(write=True) as connection,
    ):
        kill(url, connection)

    assert append(log, recorded())[0].seq == 1
    log.close()


def test_what_the_server_refuses_at_the_commit_is_refused(url: str) -> None:
    """A check that waits until the end of the transaction is an answer, not a lost connection."""
    execute(
        url,
        "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION ledger_refuse('too late')",
    )
    log = PostgresStore(url)

    with pytest.raises(errors.Refused, match="nothing was written"):
        append(log, recorded())

    assert log.head().seq == 0
    log.close()


def test_a_driver_that_is_not_installed_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra brings it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(errors.BadArgument, match=r"learning-ledger\[postgres\]"):
        PostgresStore(url)


def test_a_role_that_may_not_write_is_told_so(url: str) -> None:
    """Reading with the program's role is granted, creating is not."""
    execute(url, f"REVOKE INSERT ON event FROM {APP}")
    log = PostgresStore(as_app(url))

    with pytest.raises(errors.ReadOnly, match="may not write"):
        append(log, recorded())

    log.close()


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("23001", errors.Refused),
        ("25006", errors.ReadOnly),
        ("40001", errors.Locked),
        ("40P01", errors.Locked),
        ("53100", errors.NoSpace),
        ("57014", errors.Locked),
        ("57P01", errors.FileFault),
        ("08006", errors.FileFault),
        (None, errors.FileFault),
        ("XX001", errors.Damaged),
        ("22P02", errors.FileFault),
    ],
)
def test_every_answer_of_the_server_becomes_one_of_ours(state: str | None, error: type[errors.LedgerError]) -> None:
    """The class is the one a caller can act on, and the sentence says what became of the data."""

    class Answer(Exception):
        sqlstate = state

    found = fault(Answer("text of a learning"), "postgresql://host/team")

    assert type(found) is error
    assert "nothing was written" in found.message
    assert "text of a learning" not in str(found)
