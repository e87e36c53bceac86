"""The storage contract on a real PostgreSQL server, its roles, views and failures."""

import json
import multiprocessing
from collections.abc import Iterator
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

from ledger import errors, tables, tables_postgres
from ledger.model import NewEvent, new_event_id
from ledger.store import Clock, Log, now_us
from ledger.store_postgres import PostgresStore, fault
from ledger.store_sqlite import SqliteStore

psycopg = pytest.importorskip("psycopg")

APP = "learnings_app"
NUMBERS = count(1)


def named(url: str, database: str) -> str:
    """Return the URL of another database on the same server."""
    return make_url(url).set(database=database).render_as_string(hide_password=False)


def as_app(url: str) -> str:
    """Return the URL with the program's own role."""
    return make_url(url).set(username=APP).render_as_string(hide_password=False)


SHAPE = """SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (
    SELECT conname || conrelid::regclass::text AS x FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT tgname || tgenabled::text FROM pg_trigger
    UNION ALL SELECT proname || prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT relname || coalesce(relacl::text, '') FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT setconfig::text FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT version_num FROM alembic_version UNION ALL SELECT ledger_id FROM meta
) AS parts"""


class Databases:
    """Databases with an empty log, copied from one template, and used again unless a test changed their shape."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._free: list[str] = []
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {APP} LOGIN")
            connection.execute("CREATE DATABASE ledger_template TEMPLATE template0 ENCODING 'UTF8'")
        url = named(server, "ledger_template")
        PostgresStore.create(url, app_role=APP).close()
        self._shape = self._look(url)

    def _look(self, url: str) -> Any:
        with psycopg.connect(url) as connection:
            return connection.execute(SHAPE).fetchone()

    def take(self) -> str:
        """Return the URL of a database that nobody uses."""
        if self._free:
            return self._free.pop()
        name = f"ledger_{next(NUMBERS)}"
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE ledger_template")
        return named(self.server, name)

    def give_back(self, url: str) -> None:
        """Empty the log, as only a superuser can, and keep the database when it is otherwise as it was made."""
        if self._look(url) == self._shape:
            with psycopg.connect(url) as connection:
                connection.execute("SET session_replication_role = replica; DELETE FROM payload; DELETE FROM event")
            self._free.append(url)


@pytest.fixture(scope="session")
def databases(postgres: str) -> Databases:
    """Return the databases of the session's server."""
    return Databases(postgres)


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


CHECKED = """SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE contype = 'c' AND connamespace = 'public'::regnamespace"""


def tamper(url: str, statement: str, *values: Any) -> None:
    """Run one statement as a superuser whose triggers sleep, and without the CHECKs where they refuse it."""
    with psycopg.connect(url) as owner:
        owner.execute("SET session_replication_role = replica")
        change = statement.format(*["%s"] * len(values))
        try:
            with owner.transaction():
                owner.execute(change, values)
        except psycopg.errors.CheckViolation:
            for table, name in owner.execute(CHECKED).fetchall():
                owner.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
            owner.execute(change, values)


def place_of(databases: Databases, url: str, stranger: str) -> Place:
    """Return a database as a place, with another role's URL for the stranger."""
    return Place(
        partial(open_url, stranger), partial(execute, stranger), partial(tamper, url), partial(databases.give_back, url)
    )


@pytest.fixture(scope="module")
def new_place(databases: Databases) -> NewPlace:
    """Return a function that takes a database with an empty log."""

    def make() -> Place:
        url = databases.take()
        return place_of(databases, url, url)

    return make


@pytest.fixture
def url(databases: Databases) -> Iterator[str]:
    """Return the URL of a database with an empty log."""
    taken = databases.take()
    yield taken
    databases.give_back(taken)


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

FORGED = "CREATE OR REPLACE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
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


# -- views ----------


def event(kind: str, stream: str, data: dict[str, Any], **body: Any) -> NewEvent:
    """Return an event of any kind."""
    return NewEvent(kind, stream, data, body, new_event_id())


def history() -> list[list[NewEvent]]:
    """Return appends that supersede, retract, undo, redo, undo again, propose, set and erase."""
    old, other = recorded("old"), recorded("other")
    new = recorded("new")
    new = new._replace(
        kind="learning.superseded",
        data={**new.data, "supersedes": [old.stream]},
        body={**new.body, "reason": "it moved", "tags": ["a", "b"]},
    )
    idea = recorded("idea")._replace(kind="learning.proposed")
    idea = idea._replace(data={**idea.data, "supersedes": []})

    def undo(stream: str, *seqs: int) -> NewEvent:
        return event("event.undone", stream, {"targets": list(seqs)}, reason=f"undo {seqs}")

    return [
        [old, other],  # 1, 2
        [new],  # 3
        [event("learning.retracted", other.stream, {}, reason="wrong")],  # 4
        [undo(other.stream, 4)],  # 5
        [undo(other.stream, 5)],  # 6: the retraction holds again
        [undo(new.stream, 3)],  # 7: the old one is current again
        [idea, event("learning.quarantined", idea.stream, {"rules": ["r"]}, reason="odd")],  # 8, 9
        [event("setting.changed", "setting:x", {"name": "x", "scope": "ledger"}, value="1")],  # 10
        [undo(idea.stream, 9, 8)],  # 11: two targets of one stream
        [recorded("secret")],  # 12
        [event("payload.erased", "ledger", {"targets": [12, 4], "blocked": [], "reason": "secret"})],  # 13
    ]


@pytest.fixture
def twins(path: str, url: str) -> Iterator[tuple[SqliteStore, Any]]:
    """Return the same log twice: in a file with projections, and a connection to PostgreSQL."""
    local = SqliteStore(path, HAND, create=True)
    log = PostgresStore(url, HAND, clock=lambda: 1_796_000_000_000_000)
    for drafts in history():
        append(local, *drafts)
        append(log, *drafts)
    log.close()
    with psycopg.connect(url) as connection:
        yield local, connection
    local.close()


SAME = {
    "learning": "seq, id, title, problem, solution, category, confidence, project, observed_at, trust, actor_kind,"
    " channel, batch, erased_by",
    "audit_log": "seq, kind, stream, actor_kind, actor_id, channel, trust, batch, title, reason, undone_by, erased_by,"
    " event_id, data",
    "undone": "target_seq, target_kind, stream, undo_seq, actor_kind, channel, reason, holds",
}
"""Columns that a view on PostgreSQL shares with its namesake on SQLite, time apart."""


@pytest.mark.parametrize("view", SAME)
def test_a_view_shows_what_its_namesake_on_sqlite_shows(twins: tuple[SqliteStore, Any], view: str) -> None:
    """The fold of undo and erasure in SQL agrees with the projector, row by row."""
    local, connection = twins
    statement = f"SELECT DISTINCT {SAME[view]} FROM {view}"
    if view == "undone":
        local_statement = f"{statement} WHERE to_seq IS NULL"
        statement = f"{statement} WHERE holds"
    else:
        local_statement = statement

    shown = connection.execute(statement).fetchall()

    expected = local.connection().execute(local_statement).fetchall()
    assert sorted(shown, key=repr) == sorted(expected, key=repr)
    assert len(shown) > 1


def test_undone_lists_undos_that_hold_no_more(twins: tuple[SqliteStore, Any]) -> None:
    """The undo of event 4 was itself undone: both rows stand there, one of them in force."""
    rows = twins[1].execute("SELECT target_seq, undo_seq, holds FROM undone ORDER BY undo_seq, target_seq").fetchall()

    assert rows == [(4, 5, False), (5, 6, True), (3, 7, True), (8, 11, True), (9, 11, True)]


def test_timeline_names_every_event_of_a_learning(twins: tuple[SqliteStore, Any]) -> None:
    """Undos count to what they touch, through undos of undos; the superseded one is named by its successor."""
    local, connection = twins
    touched = local.connection().execute("SELECT id, seq FROM touch WHERE id LIKE 'lrn%' ORDER BY seq, id").fetchall()

    rows = connection.execute("SELECT id, from_seq, because, undone_by, reason FROM timeline ORDER BY 2, 1").fetchall()

    assert [row[:2] for row in rows] == touched
    old = touched[0][0]
    assert [row[1:4] for row in rows if row[0] == old] == [
        (1, "learning.recorded", None),
        (3, "learning.superseded", 7),
        (7, "event.undone", None),
    ]
    assert [row[4] for row in rows if row[0] == old] == [None, "it moved", "undo (3,)"]


def test_erased_texts_are_null_in_every_view(twins: tuple[SqliteStore, Any]) -> None:
    """Event 12 was erased with its texts, event 4 with its reason; the rows stay."""
    connection = twins[1]

    learning = connection.execute(
        "SELECT title, problem, solution, project, tags, category, erased_by FROM learning WHERE seq = 12"
    ).fetchall()
    audit = connection.execute("SELECT seq, title, reason, erased_by FROM audit_log WHERE seq IN (4, 12)").fetchall()
    timeline = connection.execute("SELECT title, reason FROM timeline WHERE from_seq = 12").fetchall()

    assert learning == [(None, None, None, None, None, "env", 13)]
    assert sorted(audit) == [(4, None, None, 13), (12, None, None, 13)]
    assert timeline == [(None, None)]


def test_tags_are_a_json_list(twins: tuple[SqliteStore, Any]) -> None:
    """`tags` can be cast to JSON and taken apart."""
    rows = twins[1].execute("SELECT t FROM learning, jsonb_array_elements_text(tags::jsonb) AS t ORDER BY t").fetchall()

    assert rows == [("a",), ("b",)]


# -- time, forks, guards ----------


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
    name = f"ledger_{next(NUMBERS)}"
    with psycopg.connect(databases.server, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
        )

    with pytest.raises(errors.Refused, match="SQL_ASCII"):
        PostgresStore.create(named(databases.server, name))


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
