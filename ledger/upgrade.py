"""Bring a ledger file, or a log on PostgreSQL, to the schema that this program writes.

Nothing else migrates: a file is never changed by opening it. A file is backed
up first, and only a backup whose chain verifies counts. Alembic is imported
inside the functions, because it costs half a second.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import StaticPool

from ledger import place, sql, sql_log
from ledger.errors import Damaged, NewerSchema, OlderSchema, RolledBack
from ledger.model import Head, schema_path
from ledger.place import WriteLock
from ledger.store import check_chain
from ledger.store_sqlite import SqliteStore, behind, driver, faults, quoted, stream

Progress = Callable[[str], None]


class Upgraded(NamedTuple):
    """What an upgrade did, or would do; `steps` is empty and `backup` None when there was nothing to migrate.

    `rebuilt` says that an older program's projections were made anew, which alone takes no backup: the log stays.
    """

    from_revision: str
    to_revision: str
    backup: str | None
    steps: tuple[str, ...]
    rebuilt: bool = False


def upgrade(
    path: str,
    dry_run: bool = False,
    progress: Progress | None = None,
    *,
    scripts: str | None = None,
    wait_s: float = 10.0,
) -> Upgraded:
    """Migrate a ledger file, one transaction a revision, after a verified backup; then rebuild what is outdated.

    Killed at any moment, it leaves the file at one of the revisions on the
    way; running it again does the rest.

    Args:
        path: the ledger file.
        dry_run: say what would be done, and write nothing.
        progress: called with a sentence when the backup stands, before each revision, and before a rebuild.
        scripts: folder of the migrations; the installed ones when None.
        wait_s: longest wait for the lock.

    Raises:
        NotALedger, NewerSchema, UnsafePlace, Locked, NoSpace …: as their names say.
        RolledBack, Damaged: the log is behind its anchor, or does not verify; nothing was changed.
    """
    path = os.path.abspath(path)
    told = progress or (lambda sentence: None)
    _recognise(path)
    if dry_run:
        with faults(path), _opened(path) as raw:
            planned = Upgraded(*_plan(raw, path, scripts))
            return planned._replace(rebuilt=bool(planned.steps) or _is_stale(raw))
    with faults(path), WriteLock(path, wait_s), _opened(path) as raw:
        start, end, _, steps = _plan(raw, path, scripts)
        backup = None
        if steps:
            backup = _back_up(raw, path, start)
            told(f"the backup {backup} is made and verified")
            with _engine(raw).connect() as connection:
                for revision in steps:
                    told(f"migrating to {revision}")
                    migrate(connection, revision, scripts)
        stale = _is_stale(raw)
    if stale:
        told("rebuilding the projections")
        _rebuild(path, wait_s)
    _erase_again(path, wait_s, told)
    return Upgraded(start, end, backup, steps, stale)


def migrate(connection: Connection, revision: str, scripts: str | None = None) -> None:
    """Run the migrations up to `revision`, each in a transaction; `connection` is in none."""
    from alembic import command

    config = _config(scripts)
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    connection.rollback()  # what Alembic read after its last commit


def pending(current: str, where: str, scripts: str | None = None) -> tuple[str, ...]:
    """Return the revisions that a log at `current` ('' for none) still needs, in order.

    Raises:
        NewerSchema: this program does not know `current`.
    """
    from alembic.script import ScriptDirectory

    known = [script.revision for script in ScriptDirectory.from_config(_config(scripts)).walk_revisions()]
    known.reverse()
    if current and current not in known:
        raise NewerSchema(where, f"schema {current}", f"schema {known[-1]}")
    return tuple(known[known.index(current) + 1 if current else 0 :])


def _config(scripts: str | None) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", (scripts or schema_path("migrations")).replace("%", "%%"))
    return config


# -- one file ----------------------------------------------------------------------------------------------------------


def _recognise(path: str) -> None:
    """Let the store refuse what is no ledger, unsafe or newer; an older schema is what we are here for."""
    try:
        SqliteStore(path).close()
    except OlderSchema:
        return


@contextmanager
def _opened(path: str, parameters: str = "mode=rw") -> Iterator[sqlite3.Connection]:
    raw: sqlite3.Connection = driver().connect(f"file:{quoted(path)}?{parameters}", uri=True, isolation_level=None)
    try:
        raw.execute("PRAGMA synchronous = FULL")
        yield raw
    finally:
        raw.close()


def _plan(raw: sqlite3.Connection, path: str, scripts: str | None) -> tuple[str, str, None, tuple[str, ...]]:
    """Return where the file is, where it goes, no backup yet, and the revisions between."""
    marks = raw.execute(sql_log.REVISIONS).fetchall()
    if len(marks) != 1 or not marks[0][0]:
        raise Damaged(
            f"{path} bears {len(marks)} marks of a migration instead of one; nothing was changed",
            "look with `learnings verify`, and restore a backup",
        )
    current = str(marks[0][0])
    steps = pending(current, path, scripts)
    return current, steps[-1] if steps else current, None, steps


def _back_up(raw: sqlite3.Connection, path: str, revision: str) -> str:
    """Copy the file, verify the copy, give it its name; return that.

    What bears the name of a backup is whole: until it verifies it is called
    `.backup.partial`, and the next run starts that one anew. The lock is held,
    so nobody else makes one.
    """
    partial = f"{path}.backup.partial"
    if os.path.lexists(partial):
        os.unlink(partial)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with _opened(partial) as copy:
        raw.backup(copy)
    with _opened(partial, "mode=ro&immutable=1") as copy:
        _verify(copy, path)
    name = f"{path}.backup-{revision}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    os.replace(partial, name)
    _sync(name)
    return name


def _verify(copy: sqlite3.Connection, path: str) -> None:
    """Refuse a log that is damaged or behind its anchor: a backup of it would prove nothing."""
    anchor = place.read_anchor(path)
    ledger_id = copy.execute(sql_log.META).fetchone()[0]
    problems = check_chain(stream(copy), ledger_id)[3]
    if problems:
        raise Damaged(
            f"the log of {path} has {len(problems)} problems, the first: {problems[0].message}; nothing was changed",
            "see all of them with `learnings verify`, and restore a backup",
        )
    message = behind(anchor, _head(copy), ledger_id, lambda seq: _hash_at(copy, seq))
    if message:
        raise RolledBack(
            f"{message}; nothing was changed",
            "find the newer file, or accept this one with `learnings verify --accept-head`",
        )


def _head(raw: sqlite3.Connection) -> Head:
    row = raw.execute(sql_log.HEAD).fetchone()
    return Head(row[0], row[1]) if row else Head(0, b"")


def _hash_at(raw: sqlite3.Connection, seq: int) -> bytes | None:
    row = raw.execute(sql_log.HASH_AT, {"seq": seq}).fetchone()
    return None if row is None else bytes(row[0])


def _sync(name: str) -> None:
    """Wait until the backup and its name are on the disk."""
    for place_of, flags in ((name, os.O_RDWR), (os.path.dirname(name), os.O_RDONLY)):
        fd = os.open(place_of, flags)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _engine(raw: sqlite3.Connection) -> Engine:
    engine = create_engine("sqlite+pysqlite://", creator=lambda: raw, poolclass=StaticPool, module=driver())
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def _is_stale(raw: sqlite3.Connection) -> bool:
    if raw.execute(sql_log.HAS_PROJECTION).fetchone() is None:
        return True
    return tuple(raw.execute(sql_log.PROJECTION).fetchone() or ()) != (sql.PROJECTION_VERSION, _head(raw).seq)


def _rebuild(path: str, wait_s: float) -> None:
    store = SqliteStore(path, wait_s=wait_s)
    try:
        store.rebuild()
    finally:
        store.close()


def _erase_again(path: str, wait_s: float, told: Progress) -> None:
    """Erase what an older copy brought back, and finish an erasure that was left."""
    store = SqliteStore(path, wait_s=wait_s)
    try:
        store.finish_erasing()
        for remark in store.remarks:
            told(remark)
    finally:
        store.close()
