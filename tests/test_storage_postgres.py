"""The storage contract on a real PostgreSQL server, its roles, views and failures."""

import json
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count
from typing import Any

import pytest
from sqlalchemy import make_url
from storage_contract import *  # noqa: F403
from storage_contract import (
    ATTACKS,
    HAND,
    NewPlace,
    Place,
    StrangerRefused,
    append,
    assert_refused,
    copy_of_the_last,
    erasure,
    next_but,
    recorded,
    stored,
)

from ledger import errors, fold, project, tables, tables_postgres
from ledger.model import Actor, NewEvent, new_event_id
from ledger.store import Clock, Log, now_us, time_text
from ledger.store_postgres import PostgresStore, fault
from ledger.store_sqlite import SqliteStore

psycopg = pytest.importorskip("psycopg")

APP = "learnings_app"
NUMBERS = count(1)


def named(url: str, database: str, user: str | None = None) -> str:
    """Return the URL of another database, or another user, on the same server."""
    parsed = make_url(url).set(database=database)
    return (parsed.set(username=user) if user else parsed).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def template(postgres: str) -> str:
    """Make the database that all others are copies of, with a role that may only append; return the server's URL."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {APP} LOGIN")
        connection.execute("CREATE DATABASE ledger_template TEMPLATE template0 ENCODING 'UTF8'")
    PostgresStore.create(named(postgres, "ledger_template"), app_role=APP).close()
    return postgres


@pytest.fixture(scope="session")
def new_url(template: str) -> Callable[[], str]:
    """Return a function that makes a database with an empty log and returns its URL."""

    def make() -> str:
        name = f"ledger_{next(NUMBERS)}"
        with psycopg.connect(template, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE ledger_template")
        return named(template, name)

    return make


def open_url(url: str, clock: Clock) -> Log:
    """Open the log of a database."""
    return PostgresStore(url, HAND, clock=clock)


def execute(url: str, statement: str) -> None:
    """Run one statement as the role of the URL would in psql."""
    with psycopg.connect(url) as stranger:
        try:
            stranger.execute(statement)
            stranger.commit()
        except psycopg.Error as error:
            stranger.rollback()
            raise StrangerRefused(str(error)) from None


CHECKED = "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace"


def tamper(url: str, statement: str, *values: Any) -> None:
    """Run one statement as a superuser whose triggers sleep, without the CHECKs."""
    with psycopg.connect(url) as owner:
        for table, name in owner.execute(CHECKED).fetchall():
            owner.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        owner.execute("SET session_replication_role = replica")
        owner.execute(statement.format(*["%s"] * len(values)), values)


@pytest.fixture(scope="module")
def new_place(new_url: Callable[[], str]) -> NewPlace:
    """Return a function that makes a database with an empty log."""

    def make() -> Place:
        url = new_url()
        return Place(partial(open_url, url), partial(execute, url), partial(tamper, url))

    return make


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """Return the URL of a database with an empty log."""
    return new_url()


# -- what only PostgreSQL knows ----------

POSTGRES_ATTACKS = {
    "truncate the events": "TRUNCATE event",
    "truncate the payloads": "TRUNCATE payload",
    "truncate what the ledger is": "TRUNCATE meta",
    "truncate everything": "TRUNCATE event, payload, meta CASCADE",
    "merge an update": "MERGE INTO event AS e USING event AS s ON e.seq = s.seq WHEN MATCHED THEN UPDATE SET trust = 0",
    "merge a deletion": "MERGE INTO payload AS p USING event AS s ON p.seq = s.seq WHEN MATCHED THEN DELETE",
    "merge an insert": "MERGE INTO meta AS m USING meta AS s ON m.one <> s.one WHEN NOT MATCHED THEN"
    " INSERT (one, ledger_id, format, dedup_key) VALUES (2, s.ledger_id, s.format, s.dedup_key)",
    "text for a number": next_but(version="'one'"),
    "data that is no JSON": next_but(data="'{a'"),
    "data that is no object": next_but(data="'[1]'"),
    "change through the view": "UPDATE audit_log SET kind = 'x.y'",
    "erase for a table that only looks like the log": "CREATE TEMP TABLE event AS SELECT 4::bigint AS seq,"
    " 'payload.erased'::text AS kind, '{\"targets\": [2]}'::text AS data;"
    " UPDATE payload SET body = NULL, salt = NULL, erased_by = 4 WHERE seq = 2",
}


@pytest.mark.parametrize("attack", POSTGRES_ATTACKS)
def test_postgres_refuses(settled: tuple[Log, Place], attack: str) -> None:
    """TRUNCATE and MERGE are refused like the rest, to the owner of the tables too."""
    assert_refused(settled, POSTGRES_ATTACKS[attack])


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff\xfe", b'{"a":"\\u0000"}'])
def test_a_payload_that_would_break_the_views_is_refused(url: str, body: bytes) -> None:
    """One payload that is no JSON object would make every view fail for good."""
    log = PostgresStore(url)
    append(log, recorded(), recorded(), recorded())
    log.close()
    with psycopg.connect(url) as stranger:
        stranger.execute(next_but())

        with pytest.raises(psycopg.Error):
            stranger.execute("INSERT INTO payload (seq, body, salt) VALUES (4, %s, %s)", (body, b"s" * 32))


# -- the program's role ----------

FORBIDDEN = (
    "UPDATE event SET kind = 'x.y.z'",
    "UPDATE payload SET seq = 9 WHERE seq = 3",
    "UPDATE payload SET body = NULL, salt = NULL, erased_by = 3 WHERE seq = 2",
    "DELETE FROM event",
    "DELETE FROM payload",
    "DELETE FROM meta",
    "INSERT INTO meta (one, ledger_id, format, dedup_key) SELECT 2, ledger_id, format, dedup_key FROM meta",
    "UPDATE alembic_version SET version_num = '9999_x'",
    "TRUNCATE event",
    "TRUNCATE payload",
    "TRUNCATE meta",
    "DROP TABLE event CASCADE",
    "DROP VIEW audit_log",
    "DROP TRIGGER event_update_refused ON event",
    "DROP FUNCTION ledger_refuse() CASCADE",
    "ALTER TABLE event DISABLE TRIGGER ALL",
    "ALTER TABLE event DISABLE TRIGGER event_update_refused",
    "ALTER TABLE payload DROP CONSTRAINT payload_whole",
    "ALTER TABLE event ADD COLUMN x text",
    "CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "CREATE TRIGGER x BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION ledger_refuse('x')",
    "CREATE TABLE public.x (y int)",
    "SET session_replication_role = replica",
    "GRANT UPDATE ON event TO CURRENT_USER",
    POSTGRES_ATTACKS["erase for a table that only looks like the log"],
    copy_of_the_last() + " ON CONFLICT (seq) DO UPDATE SET trust = 0",
)


@pytest.fixture(scope="module")
def settled_app(new_url: Callable[[], str]) -> Iterator[tuple[Log, Place]]:
    """Return a log of three events that the program's own role wrote, and that role as the stranger."""
    url = named(new_url(), "", None) if False else new_url()
    app = named(url, str(make_url(url).database), APP)
    log = PostgresStore(app, HAND)
    append(log, recorded("one"), recorded("two"), recorded("three"))
    yield log, Place(partial(open_url, app), partial(execute, app), partial(tamper, url))
    log.close()


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_role_of_the_program_can_only_append(settled_app: tuple[Log, Place], statement: str) -> None:
    """What a stolen password of the program reaches: nothing that is written, no trigger, no table."""
    assert_refused(settled_app, statement)


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_role_of_the_program_is_refused_what_others_are(settled_app: tuple[Log, Place], attack: str) -> None:
    """Privileges come on top of the triggers, not in their place."""
    assert_refused(settled_app, ATTACKS[attack])


def test_the_role_of_the_program_appends_erases_and_verifies(url: str) -> None:
    """What is granted is enough for all that a store does."""
    log = PostgresStore(named(url, str(make_url(url).database), APP))
    append(log, recorded("kept"), recorded("secret"))

    append(log, erasure(2))

    assert log.find_problems()[:2] == (3, 1)
    assert log.find_problems()[3] == []
    log.close()


def test_the_role_of_the_program_reads_the_views(url: str) -> None:
    """A person may look with the program's role."""
    app = named(url, str(make_url(url).database), APP)

    with psycopg.connect(app) as connection:
        counts = [connection.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables_postgres.VIEW_NAMES]

    assert counts == [(0,)] * 4
