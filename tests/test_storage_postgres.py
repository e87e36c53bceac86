"""The storage contract on a real PostgreSQL server, the attacks that only PostgreSQL knows, and its roles."""

from collections.abc import Iterator

import pytest
from postgres_place import FORGED, Databases, as_app, place_of, psycopg
from storage_contract import *  # noqa: F403
from storage_contract import (
    ATTACKS,
    NewPlace,
    Place,
    append,
    assert_refused,
    copy_of_the_last,
    erasure,
    next_but,
    recorded,
)

from ledger import tables_postgres
from ledger.store import Log, now_us
from ledger.store_postgres import PostgresStore


@pytest.fixture(scope="module")
def new_place(databases: Databases) -> NewPlace:
    """Return a function that takes a database with an empty log."""

    def make() -> Place:
        url = databases.take()
        return place_of(databases, url, url)

    return make


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
    FORGED.format("ledger_refuse"),
    "CREATE TRIGGER x BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION ledger_refuse('x')",
    "CREATE TABLE public.x (y int)",
    "SET session_replication_role = replica",
    POSTGRES_ATTACKS["erase for a table that only looks like the log"],
    copy_of_the_last() + " ON CONFLICT (seq) DO UPDATE SET trust = 0",
)


@pytest.fixture(scope="module")
def settled_app(databases: Databases) -> Iterator[tuple[Log, Place]]:
    """Return a log of three events that the program's own role wrote, and that role as the stranger."""
    url = databases.take()
    place = place_of(databases, url, as_app(url))
    log = place.open(now_us)
    append(log, recorded("one"), recorded("two"), recorded("three"))
    yield log, place
    log.close()
    place.release()


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
    log = PostgresStore(as_app(url))
    append(log, recorded("kept"), recorded("secret"))

    append(log, erasure(2))

    assert log.find_problems()[:2] == (3, 1)
    assert log.find_problems()[3] == []
    log.close()


def test_the_role_of_the_program_reads_the_views(url: str) -> None:
    """A person may look with the program's role."""
    with psycopg.connect(as_app(url)) as connection:
        counts = [connection.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables_postgres.VIEW_NAMES]

    assert counts == [(0,)] * 4
