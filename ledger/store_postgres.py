"""The log on PostgreSQL, for teams: no projections, one queue of writers by an advisory lock.

One append: advisory lock → head and the server's clock → decide → insert →
commit. Every machine's own file follows this log and answers the reads. The
driver comes with the extra `postgres` and is imported when a store is opened.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool, Pool, QueuePool

from ledger import chain, sql_log, tables, tables_postgres
from ledger.errors import (
    BadArgument,
    Damaged,
    FileFault,
    LedgerError,
    Locked,
    NewerSchema,
    NoSpace,
    NotALedger,
    OlderSchema,
    ReadOnly,
    Refused,
)
from ledger.model import Actor, Event, Head, person
from ledger.results import Problem
from ledger.store import CHUNK, Clock, Decide, Log, Moment, check_chain, read_events, stray_payloads

LOCK_KEY = tables.APPLICATION_ID
"""Key of the advisory lock; these locks are per database, and a database holds one ledger."""

CONNECT_S = 10
"""Wait for a server that does not answer, unless the URL says `connect_timeout`."""


class PostgresStore(Log):
    """An open log on a PostgreSQL server, with whatever rights the URL's role has."""

    def __init__(
        self, url: str, actor: Actor | None = None, *, wait_s: float = 10.0, clock: Clock | None = None
    ) -> None:
        """Connect to a log that `create` made.

        Args:
            url: `postgresql://USER@HOST/DATABASE`.
            actor: who appends; a person when None.
            wait_s: longest wait for the append lock.
            clock: a source of time; the server's clock, read under the lock, when None.

        Raises:
            BadArgument, NotALedger, NewerSchema, OlderSchema, FileFault: as their names say.
        """
        self.actor = actor or person()
        self._wait_s, self._clock, self._pid = wait_s, clock, os.getpid()
        self._engine, self._where = _connect(url, QueuePool)
        try:
            self._recognise()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(
        cls,
        url: str,
        actor: Actor | None = None,
        *,
        app_role: str | None = None,
        wait_s: float = 10.0,
        clock: Clock | None = None,
    ) -> "PostgresStore":
        """Migrate the database, as the owner of its tables; make the ledger's identity when it has none.

        Args:
            url: of a role that may create tables in the schema `public`.
            app_role: an existing role that gets what appending needs, and no more.
            actor, wait_s, clock: as when opening.
        """
        from ledger.upgrade import migrate, pending

        engine, where = _connect(url, NullPool)
        try:
            with _faults(where), engine.connect() as connection:
                connection.execution_options(isolation_level="READ COMMITTED")
                connection.execute(text(sql_log.LIMITS), {"wait": _wait(wait_s)})
                connection.execute(text(sql_log.MIGRATION_LOCK), {"key": LOCK_KEY})
                _check_encoding(connection, where)
                current = _revision(connection) if engine.dialect.has_table(connection, "alembic_version") else ""
                connection.commit()  # the lock is the session's and stays
                for revision in pending(current, where):
                    migrate(connection, revision)
                _found(connection, app_role)
        finally:
            engine.dispose()
        return cls(url, actor, wait_s=wait_s, clock=clock)

    def close(self) -> None:
        """Close the connections of this process."""
        self._engine.dispose()

    def _recognise(self) -> None:
        """Check that the database holds a ledger of this schema; learn its id and key."""
        with self._transaction(write=False) as connection:
            revision = _revision(connection)
            found = int(revision.partition("_")[0])
            if found > tables.SCHEMA_VERSION:
                raise NewerSchema(self._where, f"schema {revision}", f"schema {tables.SCHEMA_REVISION}")
            if found < tables.SCHEMA_VERSION:
                raise OlderSchema(revision, tables.SCHEMA_REVISION)
            row = connection.execute(text(sql_log.META)).fetchone()
            if row is None:
                raise NotALedger(f"{self._where} has no meta row; nothing was written", "create the ledger again")
            self.ledger_id, self.dedup_key = row[0], bytes(row[2])

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        """One transaction: a reading one sees one state throughout, a writing one all that came before its lock."""
        if os.getpid() != self._pid:
            self._engine.dispose(close=False)  # the parent's sockets, not ours
            self._pid = os.getpid()
        level = "READ COMMITTED" if write else "REPEATABLE READ"
        with _faults(self._where), self._engine.connect() as connection:
            connection.execution_options(isolation_level=level, postgresql_readonly=not write)
            yield connection
            try:
                connection.commit()
            except DBAPIError as error:
                if not _is_lost(error.orig):
                    raise
                raise FileFault(
                    f"the connection to {self._where} was lost at the commit; whether it was stored is not known",
                    "append again with the same event ids: a retry answers the first seq",
                ) from None

    def append(self, decide: Decide) -> list[Event]:
        """Append what `decide` returns, in one transaction.

        Returns:
            The events as stored; those of the first time when this was a retry.

        Raises:
            Locked, NoSpace, ReadOnly, Conflict …: nothing was written.
            FileFault: the server cannot be reached; the message says whether anything may have been written.
        """
        with self._transaction(write=True) as connection:
            connection.execute(text(sql_log.LIMITS), {"wait": _wait(self._wait_s)})
            connection.execute(text(sql_log.APPEND_LOCK), {"key": LOCK_KEY})
            head, last_time = self._head(connection)
            moment = Moment(head, connection, None)
            drafts = list(decide(moment))
            us = self._clock() if self._clock else connection.execute(text(sql_log.CLOCK)).scalar_one()
            return self._insert(moment, last_time, drafts, us)[0]

    def find_problems(self) -> tuple[int, int, Head, list[Problem]]:
        """Verify chain, commitments and erasures, all of one state, and that the triggers stand as they were made."""
        with self._transaction(write=False) as connection:
            events, erased, head, problems = check_chain(_stream(connection), self.ledger_id)
            return events, erased, head, problems + stray_payloads(connection) + _missing(connection)


def _stream(connection: Connection) -> Iterator[Event]:
    """Yield the whole log within one transaction, a thousand rows at a time."""
    after = 0
    while events := read_events(connection, after, CHUNK):
        yield from events
        after = events[-1].seq


def _missing(connection: Connection) -> list[Problem]:
    """Name every trigger and trigger function that is gone, disabled or another one than was made."""
    enabled = {row[0] for row in connection.execute(text(sql_log.TRIGGERS)).fetchall() if row[1]}
    bodies = {row[0]: row[1] for row in connection.execute(text(sql_log.FUNCTIONS)).fetchall()}
    names = [definition.split()[2] for definition in tables_postgres.TRIGGERS if definition not in enabled]
    names += [name for name, body in tables_postgres.FUNCTIONS.items() if bodies.get(name) != body]
    return [Problem("schema", None, f"{name} is gone, disabled or changed") for name in names]


# -- connecting --------------------------------------------------------------------------------------------------------


def _connect(url: str, pool: type[Pool]) -> tuple[Engine, str]:
    """Return an engine, and how to call the place in a message: without user and password."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = URL.create("unreadable")
    if parsed.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise BadArgument("this is not the URL of a PostgreSQL database", "write postgresql://USER@HOST/DATABASE")
    where = f"postgresql://{parsed.host or ''}{f':{parsed.port}' if parsed.port else ''}/{parsed.database or ''}"
    arguments: dict[str, Any] = {"client_encoding": "utf8", "connect_timeout": CONNECT_S, **parsed.query}
    try:
        address = parsed.set(drivername="postgresql+psycopg", query={})
        engine = create_engine(address, poolclass=pool, connect_args=arguments, hide_parameters=True)
    except ImportError:
        raise BadArgument(
            "PostgreSQL needs a driver that is not installed", "install it: pip install 'learning-ledger[postgres]'"
        ) from None
    event.listen(engine, "connect", _prepare)
    return engine, where


def _prepare(connection: Any, record: Any) -> None:
    """Look for tables in `public` alone, whatever the role's own setting."""
    connection.execute("SET search_path TO public")
    connection.commit()


def _wait(wait_s: float) -> str:
    """Return a wait as PostgreSQL reads it; its 0 would mean for ever."""
    return f"{max(1, round(wait_s * 1000))}ms"


def _revision(connection: Connection) -> str:
    return str(connection.execute(text(sql_log.REVISION)).scalar_one())


def _check_encoding(connection: Connection, where: str) -> None:
    encoding = connection.execute(text(sql_log.ENCODING)).scalar_one()
    if encoding != "UTF8":
        raise Refused(
            f"{where} is encoded in {encoding} and could not show every text; nothing was written",
            "create the database with ENCODING 'UTF8'",
        )


def _found(connection: Connection, app_role: str | None) -> None:
    """Write the one meta row when it is missing, and give the program's role its rights."""
    with connection.begin():
        if connection.execute(text(sql_log.META)).fetchone() is None:
            identity = {"one": 1, "ledger_id": str(uuid.uuid4()), "format": chain.FORMAT, "dedup_key": os.urandom(32)}
            connection.execute(insert(tables.MetaRow), identity)
        for statement in tables_postgres.grants(app_role) if app_role else ():
            connection.execute(text(statement.replace(":", "\\:")))


# -- errors ------------------------------------------------------------------------------------------------------------


@contextmanager
def _faults(where: str) -> Iterator[None]:
    """Turn the driver's errors into ours, whose sentences hold neither text nor password; the transaction is gone."""
    try:
        yield
    except DBAPIError as error:
        raise fault(error.orig, where) from None


def _is_lost(error: Any) -> bool:
    state = getattr(error, "sqlstate", None) or "08000"
    return state.startswith(("08", "57P"))


_BY_STATE: dict[str, tuple[type[LedgerError], str, str]] = {
    "23": (Refused, "the database refused to change the log of {}", "supersede or undo instead"),
    "25006": (ReadOnly, "{} takes no writes now", "connect to the primary server"),
    "42501": (ReadOnly, "this role may not write to {}", "use the role that was granted to append"),
    "42P01": (NotALedger, "{} holds no ledger", "create one there first"),
    "53100": (NoSpace, "no space left for {}", "free some space on the server and try again"),
    "55P03": (Locked, "{} is locked by another writer", "try again when that one has ended"),
    "57014": (Locked, "{} took too long", "try again"),
    "40": (Locked, "{} is busy", "try again"),
    "XX": (Damaged, "{} is damaged", "look with `learnings verify` and restore a backup"),
}
"""Error class, sentence and hint by SQLSTATE, or by its first two characters."""


def fault(error: Any, where: str) -> LedgerError:
    """Return the error of ours for one of PostgreSQL's; the transaction was rolled back."""
    state = str(getattr(error, "sqlstate", ""))
    if _is_lost(error):
        hint = "look at the server, the name of the database, and the password"
        return FileFault(f"{where} cannot be reached; nothing was written", hint)
    found = _BY_STATE.get(state) or _BY_STATE.get(state[:2])
    if found is None:
        return FileFault(f"{where}: PostgreSQL says {state}; nothing was written", "look with `learnings verify`")
    kind, sentence, hint = found
    return kind(f"{sentence.format(where)}; nothing was written", hint)
