"""Databases for tests on a real PostgreSQL server: made from a template, attacked, given back."""

from functools import partial
from itertools import count
from typing import Any

import pytest
from sqlalchemy import make_url
from storage_contract import HAND, Place, StrangerRefused

from ledger.store import Clock, Log
from ledger.store_postgres import PostgresStore

psycopg = pytest.importorskip("psycopg")

APP = "learnings_app"
NUMBERS = count(1)
FORGED = "CREATE OR REPLACE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"


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
        return self.make("TEMPLATE ledger_template")

    def make(self, options: str) -> str:
        """Return the URL of a new database."""
        name = f"ledger_{next(NUMBERS)}"
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {options}")
        return named(self.server, name)

    def give_back(self, url: str) -> None:
        """Empty the log, as only a superuser can, and keep the database when it is otherwise as it was made."""
        if self._look(url) == self._shape:
            with psycopg.connect(url) as connection:
                connection.execute("SET session_replication_role = replica; DELETE FROM payload; DELETE FROM event")
            self._free.append(url)


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
