"""The log and its projections in one SQLite file.

One append: lock file → `BEGIN IMMEDIATE` → same file, head not behind its
anchor → decide → insert → project → commit (`synchronous=FULL`) → anchor →
unlock → acknowledge. (Longer than most files: the checks of one append stand
together, in the order in which they must happen.)
"""

import json
import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from ledger import chain, disk, erasures, place, project, purge, sql, sql_log, tables
from ledger.errors import (
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
    Replaced,
    RolledBack,
    SameIdOtherContent,
    UnsafePlace,
)
from ledger.home import uri_to_read
from ledger.model import Actor, Event, Head, NewEvent, new_event_id, person
from ledger.place import Anchor, WriteLock
from ledger.results import Problem
from ledger.store import CHUNK, ENVELOPE, Clock, Decide, Log, Moment, check_chain, now_us, stray_payloads

WAL_SAFE = (3, 51, 3)
"""First SQLite without the WAL-reset bug, which can lose committed transactions when two connections
checkpoint and write at once (3.7.0 to 3.51.2)."""

WAL_BACKPORTS = ((3, 44, 6), (3, 50, 7))
"""Older lines that got the fix; every later patch of those lines has it too."""

PRAGMAS = ("synchronous = FULL", "cache_spill = OFF", "recursive_triggers = ON")
"""Of every writing connection: durable commits; no exclusive lock before the commit, or readers would wait for a
whole rebuild; REPLACE fires the delete triggers too."""

FIXED = ("writable_schema", "journal_mode", "synchronous", "recursive_triggers", "ignore_check_constraints")
"""Pragmas that are set before the authorizer is, and never again; SQLite passes their names on as they were typed."""

_INSERT_EVENT = project.insert_text(tables.EventRow)
_INSERT_PAYLOAD = project.insert_text(tables.PayloadRow)

BUSY_MS = 5_000
"""Wait of a writer's statement for a reader's lock; writers queue at the lock file instead."""


def driver() -> Any:
    """Return the SQLite driver that writes: `pysqlite3` when installed (extra `sqlite`), else the standard one."""
    try:
        import pysqlite3.dbapi2 as fresh  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return sqlite3
    return fresh


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Tell whether a SQLite of this version may write in WAL mode."""
    return version >= WAL_SAFE or any(version[:2] == fixed[:2] and version >= fixed for fixed in WAL_BACKPORTS)


class SqliteStore(Log):
    """An open ledger file, for writing; not for use across a fork."""

    def __init__(
        self,
        path: str,
        actor: Actor | None = None,
        *,
        wait_s: float = 10.0,
        clock: Clock = now_us,
        sqlite: Any = None,
        create: bool = False,
    ) -> None:
        """Open the file, or make it when `create` and it is missing or empty.

        Raises:
            NotALedger, NewerSchema, OlderSchema, UnsafePlace, ReadOnly, Locked: as their names say.
        """
        self._named = os.path.abspath(path)
        self.path = os.path.realpath(path) if os.path.islink(path) and os.path.exists(path) else self._named
        self.actor = actor or person()
        self.remarks: list[str] = []
        self.created = False
        self._wait_s, self._clock, self._sqlite = wait_s, clock, sqlite or driver()
        self._threads = threading.RLock()
        self._rebuilding = self._erasing_again = False
        self._checked_list: object = None
        self.purge_wait_ms = purge.RETRY_MS
        self._pid = os.getpid()
        if create and self._may_be_unmade():
            self._create()
        if not os.path.exists(self.path):
            raise NotALedger(f"there is no ledger at {self.path}", "make one with `learnings init`")
        place.check_modes(self.path)
        self._engine = self._connect()
        try:
            self._recognise()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the file and its sidecars stay as they are."""
        self._engine.dispose()

    # -- opening ----------

    def _connect(self) -> Engine:
        # One connection, kept: StaticPool hands it to every transaction.
        def open_file() -> Any:
            return self._sqlite.connect(uri_to_read(self.path), uri=True, isolation_level=None, check_same_thread=False)

        engine = create_engine(
            "sqlite+pysqlite://", creator=open_file, poolclass=StaticPool, module=self._sqlite, hide_parameters=True
        )
        event.listen(engine, "connect", self._prepare)
        event.listen(engine, "begin", _begin)
        return engine

    def _prepare(self, connection: Any, record: Any) -> None:
        for pragma in (
            f"busy_timeout = {BUSY_MS}",
            "synchronous = FULL",
            "cache_spill = OFF",
            "recursive_triggers = ON",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.set_authorizer(self._authorize)
        self._driver: sqlite3.Connection = connection
        self._identity = place.identity(self._named)

    def _authorize(self, action: int, one: str | None, two: str | None, database: str | None, by: str | None) -> int:
        """Refuse what would undo the triggers on our own connection; a rebuild may drop projections only."""
        if action in _DROPS:
            table = two if action in (self._sqlite.SQLITE_DROP_TRIGGER, self._sqlite.SQLITE_DROP_INDEX) else one
            if table in ("event", "payload", "meta", "alembic_version"):
                return int(self._sqlite.SQLITE_DENY)
            return int(self._sqlite.SQLITE_OK if self._rebuilding else self._sqlite.SQLITE_DENY)
        if action == self._sqlite.SQLITE_ALTER_TABLE:
            return int(self._sqlite.SQLITE_DENY)
        if action == self._sqlite.SQLITE_PRAGMA and two is not None and str(one).lower() in FIXED:
            return int(self._sqlite.SQLITE_DENY)
        return int(self._sqlite.SQLITE_OK)

    def _may_be_unmade(self) -> bool:
        """Tell whether there is no ledger yet, or a journal that may take back a half-made one."""
        path = self.path
        return not os.path.exists(path) or os.path.getsize(path) == 0 or os.path.exists(path + "-journal")

    def _create(self) -> None:
        """Make the file, its log and its empty projections, under the lock and in one transaction.

        What a killed maker left is empty once its journal is rolled back, so the next one makes it.
        """
        folder = disk.synced(self.path)
        if folder:
            raise UnsafePlace(
                f"{folder} is kept in step with other machines, which replaces a ledger whole by another one's; "
                "nothing was written",
                "name a place of this machine with --file or LEARNINGS_FILE; `learnings backup` and `export` go there",
            )
        place.make_folder(self.path)
        place.make_file(self.path)
        place.check_modes(self.path)
        with faults(self.path), WriteLock(self.path, self._wait_s):
            raw = self._sqlite.connect(self.path, isolation_level=None)
            try:
                raw.execute("PRAGMA synchronous = FULL")
                raw.execute("BEGIN IMMEDIATE")
                if raw.execute(sql_log.HAS_TABLES).fetchone():
                    return
                raw.execute(f"PRAGMA application_id = {tables.APPLICATION_ID}")
                raw.execute(f"PRAGMA user_version = {tables.SCHEMA_VERSION}")
                create_log(raw)
                project.create(raw)
                raw.execute("COMMIT")
                self.created = True
                if wal_is_safe(self._sqlite.sqlite_version_info) and not disk.network(self.path):
                    raw.execute("PRAGMA journal_mode = WAL").fetchall()
            finally:
                raw.close()

    def _recognise(self) -> None:
        """Check that the file is a ledger of this schema; learn its id and key."""
        with faults(self.path), self._engine.connect() as connection:
            raw = _raw(connection)
            application, version, mode = (
                raw.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version", "journal_mode")
            )
            connection.rollback()
            if application != tables.APPLICATION_ID:
                raise NotALedger(f"{self.path} is not a ledger; nothing was written", "name another file with --file")
            if mode == "wal" and not wal_is_safe(self._sqlite.sqlite_version_info):
                raise ReadOnly(
                    f"{self.path} is in WAL mode and SQLite {self._sqlite.sqlite_version} can lose commits there; "
                    "nothing was written",
                    "install the extra: pip install 'learning-ledger[sqlite]'",
                )
            if version > tables.SCHEMA_VERSION:
                raise NewerSchema(self.path, f"schema {version}", f"schema {tables.SCHEMA_VERSION}")
            if version < tables.SCHEMA_VERSION:
                raise OlderSchema(str(version), str(tables.SCHEMA_VERSION))
            row = raw.execute(sql_log.META).fetchone() if raw.execute(sql_log.HAS_LOG).fetchone()[0] == 3 else None
            if row is None:
                raise NotALedger(f"{self.path} has no meta row; nothing was written", "restore a backup")
            self.ledger_id, self.dedup_key = row[0], bytes(row[2])

    # -- transactions ----------

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        """One transaction on the one connection; a writing one takes SQLite's write lock at once."""
        if os.getpid() != self._pid:
            raise FileFault("a ledger was used across a fork; nothing was written", "open it in the new process")
        with faults(self.path), self._threads, self._engine.connect() as opened:
            connection = opened.execution_options(ledger_write=write)
            with connection.begin():
                yield connection

    def append(self, decide: Decide) -> list[Event]:
        """Append what `decide` returns, in one durable transaction with its projections.

        Returns:
            The events as stored; those of the first time when this was a retry.

        Raises:
            Locked, Replaced, RolledBack, NoSpace, ReadOnly, Conflict …: nothing was written.
        """
        return self._write(lambda moment, last_time: self._append(moment, last_time, decide))

    def _append(self, moment: Moment, last_time: str, decide: Decide) -> list[Event]:
        assert moment.raw is not None
        self._refresh(moment)
        drafts = list(decide(moment))
        erases = any(draft.kind == "payload.erased" for draft in drafts)
        if erases:  # said before the commit, so that whoever writes after a kill finishes it
            moment.raw.execute("PRAGMA secure_delete = ON").fetchall()
            erasures.keep_pending(self.path)
        events, new = self._insert(moment, last_time, drafts, self._clock())
        if new:
            project.Projector(moment.raw, self.dedup_key).apply(events)
            if erases and moment.raw.execute(sql_log.COUNTED).fetchone() is not None:
                project.refresh_counts(moment.raw)  # the words of what is gone are counted no more
        return events

    def _write(self, act: Callable[[Moment, str], list[Event]], accept: bool = False) -> list[Event]:
        """Run `act` as `_written` does; whatever fails in a file that is elsewhere by then fails for that reason."""
        try:
            return self._written(act, accept)
        except FileFault as error:
            if isinstance(error, Replaced) or not self._is_elsewhere():
                raise
            raise Replaced(
                f"{self._named} is no longer the file that was opened; what was being written is not acknowledged",
                "close this program, look for the file that was moved, and say it again there or here",
            ) from None

    def _written(self, act: Callable[[Moment, str], list[Event]], accept: bool) -> list[Event]:
        """Run `act` under the lock, with the checks before it and the anchor after it."""
        if not (accept or self._erasing_again):
            self.erase_again()
        with faults(self.path), self._threads, WriteLock(self.path, self._wait_s):
            if place.identity(self._named) != self._identity:
                raise Replaced(
                    f"{self._named} is no longer the file that was opened; nothing was written",
                    "close this program and open the ledger again",
                )
            anchor = place.read_anchor(self.path)
            with self._transaction(write=True) as connection:
                head, last_time = self._head(connection)
                if not accept:
                    self._check_anchor(connection, anchor, head)
                events = act(Moment(head, connection, _raw(connection)), last_time)
            self._check_place(head, events)
            last = Head(events[-1].seq, events[-1].hash) if events and events[-1].seq > head.seq else head
            if anchor is None and head.seq:
                self.remarks.append(f"the anchor of {self.path} was missing; it was written anew at event {last.seq}")
            if anchor is None or anchor.seq != last.seq or accept:
                self._write_anchor(last)
            if accept:
                self._forget_beyond(last.seq)
            if erasures.pending(self.path) is not None:
                self._purge()
            return events

    def _is_elsewhere(self) -> bool:
        """Tell whether the path leads to another file than the one that was opened, or to none."""
        try:
            return place.identity(self._named) != self._identity
        except Replaced:
            return True

    def _check_place(self, head: Head, events: Sequence[Event]) -> None:
        """Acknowledge nothing that stands in a file which the path no longer leads to, nor move the anchor.

        SQLite looks only before it begins to write, and in WAL mode never.
        """
        if not self._is_elsewhere():
            return
        new = [event.seq for event in events if event.seq > head.seq]
        became = f"event {new[0]} may stand in the old one alone" if new else "nothing was written"
        raise Replaced(
            f"{self._named} is no longer the file that was opened; {became}",
            "close this program, look for the file that was moved, and say it again there or here",
        )

    # -- erasing ----------

    def unerased(self) -> list[int]:
        """Return the events that were erased and have their text again, because an older copy lies there."""
        seqs = erasures.listed(self.path, self.ledger_id)
        if not seqs:
            return []
        with self._transaction(write=False) as connection:
            rows = _raw(connection).execute(sql.UNERASED, {"seqs": json.dumps(seqs)}).fetchall()
        return [row[0] for row in rows]

    def erase_again(self) -> list[int]:
        """Erase what an older copy brought back, before anything else is written or read; return the seqs.

        Raises:
            RolledBack: the copy is behind its anchor, which a person has to accept first.
        """
        stamp = erasures.stamp(self.path)
        if stamp is None or stamp == self._checked_list:
            return []
        found = self.unerased()
        if found:
            data = {"targets": found, "blocked": [], "reason": "restored"}
            draft = NewEvent("payload.erased", "ledger", data, {}, new_event_id())
            self._erasing_again = True
            try:
                self._write(lambda moment, last_time: self._append(moment, last_time, lambda _: [draft]))
            finally:
                self._erasing_again = False
            told = ", ".join(map(str, found[:5])) + (" …" if len(found) > 5 else "")
            self.remarks.append(
                f"an older copy held texts that had been erased; they were erased again (events {told})"
            )
        self._checked_list = erasures.stamp(self.path)
        return found

    def finish_erasing(self, wait_ms: int = purge.WAIT_MS) -> bool:
        """Erase again what came back, and finish what is pending; True when nothing is left to do."""
        self.erase_again()
        if erasures.pending(self.path) is None:
            return True
        with faults(self.path), self._threads, WriteLock(self.path, self._wait_s):
            self.purge_wait_ms, before = wait_ms, self.purge_wait_ms
            try:
                return self._purge()
            finally:
                self.purge_wait_ms = before

    def _purge(self) -> bool:
        """Take the last bytes of what was erased out of the file; what cannot be done now is done later.

        The erasure stands by now, so that a fault here is a remark.
        """
        address, done = f"file:{quoted(self.path)}?mode=rw", False
        why = "another program is reading the file"
        try:
            done = purge.purge(self._sqlite, address, self.path, self.ledger_id, self.purge_wait_ms)
        except (self._sqlite.Error, OSError, LedgerError) as error:
            found = error if isinstance(error, LedgerError) else fault(error, self.path)
            why = why if isinstance(found, Locked) else found.code
        if not done:
            self.remarks.append(
                f"what was erased is gone from every answer, and its bytes are still in the file ({why}); "
                "the next write tries again, or `learnings erase --again`"
            )
        return done

    def _forget_beyond(self, seq: int) -> None:
        """Take from the list of what was erased the events that this file never had: their seqs will be others'."""
        listed = erasures.listed(self.path, self.ledger_id)
        if listed:
            # The newest event is `head.accepted` itself; an event of its seq was lost with the tail.
            erasures.keep_list(self.path, self.ledger_id, [one for one in listed if one < seq])

    def _write_anchor(self, head: Head) -> None:
        """Write the anchor; the append stands without it, so a fault here is a remark."""
        try:
            place.write_anchor(self.path, Anchor(self.ledger_id, head.seq, head.hash.hex()))
        except FileFault as error:
            self.remarks.append(f"event {head.seq} is stored, its anchor is not: {error.message}")

    # What every append asks goes past SQLAlchemy, which takes 0.1 ms for each of these.

    def _head(self, connection: Connection) -> tuple[Head, str]:
        return self._head_of(_raw(connection).execute(sql_log.HEAD).fetchone())

    def _stored(self, connection: Connection, ids: list[str]) -> list[Event]:
        rows = _raw(connection).execute(sql_log.EVENTS_BY_ID_LIST, {"event_ids": json.dumps(ids)}).fetchall()
        return [Event._make(row) for row in rows]

    def _put(self, connection: Connection, events: Sequence[Event]) -> None:
        raw = _raw(connection)
        raw.executemany(_INSERT_EVENT, [event[: len(ENVELOPE)] for event in events])
        raw.executemany(_INSERT_PAYLOAD, [(event.seq, event.body, event.salt, event.erased_by) for event in events])

    def _check_anchor(self, connection: Connection, anchor: Anchor | None, head: Head) -> None:
        message = behind(anchor, head, self.ledger_id, lambda seq: self._hash_at(connection, seq))
        if message:
            raise RolledBack(
                f"{message}; nothing was written",
                "find the newer file, or accept this one with `learnings verify --accept-head`",
            )

    def _hash_at(self, connection: Connection, seq: int) -> bytes | None:
        row = _raw(connection).execute(sql_log.HASH_AT, {"seq": seq}).fetchone()
        return None if row is None else bytes(row[0])

    def accept_head(self, event_id: str) -> list[Event]:
        """Append `head.accepted`, so that a log behind its anchor can be written again.

        Raises:
            Refused: the log is not behind its anchor.
        """

        def act(moment: Moment, last_time: str) -> list[Event]:
            anchor = place.read_anchor(self.path)
            if anchor is None or not behind(
                anchor, moment.head, self.ledger_id, lambda seq: self._hash_at(moment.connection, seq)
            ):
                if known := self._stored(moment.connection, [event_id]):
                    return self._retried(known)
                raise Refused("the log is not behind its anchor; nothing was written", "there is nothing to accept")
            data = {"anchor_seq": max(anchor.seq, 1), "anchor_hash": anchor.hash}
            return self._append(moment, last_time, lambda _: [NewEvent("head.accepted", "ledger", data, {}, event_id)])

        accepted = self._write(act, accept=True)
        self.erase_again()  # what an older copy brought back goes before anybody reads it
        return accepted

    @staticmethod
    def _retried(known: list[Event]) -> list[Event]:
        """Return the `head.accepted` of the first time."""
        if known[0].kind != "head.accepted":
            raise SameIdOtherContent(known[0].event_id)
        return known

    # -- projections ----------

    def _refresh(self, moment: Moment) -> None:
        """Rebuild first when another version made the projections, or they are not at the head."""
        assert moment.raw is not None
        row = moment.raw.execute(sql_log.PROJECTION).fetchone() if _has_projection(moment.raw) else None
        if row is None or tuple(row) != (sql.PROJECTION_VERSION, moment.head.seq):
            self._rebuild(moment)
            self.remarks.append("the projections were rebuilt from the log first")

    def catch_up(self) -> None:
        """Rebuild the projections if another version made them; else do nothing."""

        def act(moment: Moment, last_time: str) -> list[Event]:
            self._refresh(moment)
            return []

        self._write(act)

    def rebuild(self) -> int:
        """Drop and replay every projection in one transaction; return the seq they reach.

        Raises:
            Damaged: the log does not verify; the projections stay as they were.
        """

        def act(moment: Moment, last_time: str) -> list[Event]:
            self._rebuild(moment)
            return []

        self._write(act)
        return self.head().seq

    def _rebuild(self, moment: Moment) -> None:
        assert moment.raw is not None
        raw = moment.raw
        problems = check_chain(stream(raw), self.ledger_id)[3]
        if problems:
            raise Damaged(
                f"the log has {len(problems)} problems, the first: {problems[0].message}; nothing was rebuilt",
                "see all of them with `learnings verify`, and restore a backup",
            )
        self._rebuilding = True
        try:
            project.rebuild(raw, lambda: stream(raw), self.dedup_key)
            project.refresh_counts(raw)
        finally:
            self._rebuilding = False

    def refresh_counts(self) -> None:
        """Count words anew when the index grew by a tenth; skipped when somebody else is writing.

        An append stands by now, so that a fault here is a remark.
        """
        try:
            with self._transaction(write=False) as connection:
                old = project.counts_are_old(_raw(connection))
            if old:
                with (
                    faults(self.path),
                    self._threads,
                    WriteLock(self.path, 0.0),
                    self._transaction(write=True) as connection,
                ):
                    project.refresh_counts(_raw(connection))
        except Locked:
            return
        except LedgerError as error:
            self.remarks.append(f"words were not counted anew ({error.code}); look with `learnings verify`")

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events after seq `after`, a thousand at a time; no lock is held between the thousands."""
        while True:
            with self._transaction(write=False) as connection:
                rows = _rows(_raw(connection), after)
            yield from map(Event._make, rows)
            if len(rows) < CHUNK:
                return
            after = rows[-1][0]

    def reading(self) -> sqlite3.Connection:
        """Return a fresh connection that leaves the file alone and may hold temporary tables; the caller closes it."""
        with faults(self.path):
            with self._transaction(write=False) as connection:
                self._hash_at(connection, 0)  # what a killed writer left is rolled back by now: read-only can open it
            uri = uri_to_read(self.path).replace("mode=rw", "mode=ro")
            raw: sqlite3.Connection = self._sqlite.connect(uri, uri=True, isolation_level=None)
            raw.execute(f"PRAGMA busy_timeout = {BUSY_MS}").fetchall()
            return raw

    def index_is_whole(self) -> bool:
        """Tell whether the words index fits its content; nothing stays written."""
        with (
            faults(self.path),
            self._threads,
            WriteLock(self.path, self._wait_s),
            self._transaction(write=True) as connection,
        ):
            try:
                for statement in sql_log.CHECK_INDEXES:
                    _raw(connection).execute(statement)
            except self._sqlite.DatabaseError as error:
                if not str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_CORRUPT"):
                    raise
                return False
            return True

    def connection(self) -> sqlite3.Connection:
        """Return the driver's connection, for reading between appends.

        Not through the engine, which rolls back what it gets back: with another thread's append in it.
        """
        with self._threads:
            return self._driver

    def find_problems(self) -> tuple[int, int, Head, list[Problem]]:
        """Verify chain, commitments, erasures and the anchor; see `audit` for schema and projections."""
        anchor = place.read_anchor(self.path)
        if erasures.pending(self.path) is not None:
            self.remarks.append(
                "an erasure is not finished: its bytes are still in the file; run `learnings erase --again`"
            )
        events, erased, head, problems = check_chain(self.events(), self.ledger_id)
        with self._transaction(write=False) as connection:
            if problems:  # an erasure between two reads looks like a fault: look again, in one snapshot
                events, erased, head, problems = check_chain(stream(_raw(connection)), self.ledger_id)
            problems += stray_payloads(connection)
            seqs = erasures.listed(self.path, self.ledger_id)
            if seqs:
                back = _raw(connection).execute(sql.UNERASED, {"seqs": json.dumps(seqs)}).fetchall()
                named = {problem.seq for problem in problems if problem.code == "not_erased"}
                problems += [
                    Problem("unerased", seq, f"event {seq} was erased and has its text again")
                    for (seq,) in back
                    if seq not in named
                ]
            message = behind(anchor, head, self.ledger_id, lambda seq: self._hash_at(connection, seq))
        if message:
            problems.append(Problem("rolled_back", anchor.seq if anchor else None, message))
        elif anchor is None and events:
            self.remarks.append(
                "there is no anchor beside the file, so a lost tail would not show; the next write makes one"
            )
        return events, erased, head, problems


_DROPS = frozenset(
    (
        sqlite3.SQLITE_DROP_TRIGGER,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_DROP_VIEW,
        sqlite3.SQLITE_DROP_VTABLE,
    )
)


def quoted(path: str) -> str:
    """Return a path as part of a `file:` address."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("ledger_write") else "BEGIN")


def _raw(connection: Connection) -> sqlite3.Connection:
    raw = connection.connection.driver_connection
    assert raw is not None
    return raw  # type: ignore[no-any-return]


def stream(raw: sqlite3.Connection) -> Iterator[Event]:
    """Yield the whole log within one transaction, a thousand rows at a time."""
    after = 0
    while True:
        rows = _rows(raw, after)
        yield from map(Event._make, rows)
        if len(rows) < CHUNK:
            return
        after = rows[-1][0]


def _rows(raw: sqlite3.Connection, after: int) -> list[tuple[Any, ...]]:
    """Return the next thousand events; a damaged text, no UTF-8 any more, comes so that `chain` sees its bytes."""
    binds = {"after": after, "limit": CHUNK}
    try:
        return raw.execute(sql_log.EVENTS_LEFT, binds).fetchall()
    except raw.OperationalError as error:
        if not _is_undecodable(error):
            raise
    raw.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
    try:
        return raw.execute(sql_log.EVENTS_LEFT, binds).fetchall()
    finally:
        raw.text_factory = str


def _is_undecodable(error: object) -> bool:
    return "decode to utf-8" in str(error).lower()


def _has_projection(raw: sqlite3.Connection) -> bool:
    return bool(raw.execute(sql_log.HAS_PROJECTION).fetchone())


def create_log(raw: sqlite3.Connection) -> None:
    """Make the log's tables and triggers, its one meta row, and the mark of its migration."""
    for statement in project.create_statements(tables.LOG_ROWS):
        raw.execute(statement)
    for statement in tables.LOG_TRIGGERS:
        raw.execute(statement)
    meta = insert(tables.MetaRow).compile(dialect=project._DIALECT)
    values = {"one": 1, "ledger_id": str(uuid.uuid4()), "format": chain.FORMAT, "dedup_key": os.urandom(32)}
    raw.execute(str(meta), [values[name] for name in meta.positiontup or ()])
    raw.execute(tables.ALEMBIC_VERSION)
    raw.execute("INSERT INTO alembic_version (version_num) VALUES (?)", (tables.SCHEMA_REVISION,))


def behind(anchor: Anchor | None, head: Head, ledger_id: str, hash_at: Callable[[int], bytes | None]) -> str:
    """Return a sentence when a log is behind its anchor or has another past, '' when it is not.

    The caller read the anchor before the head; a log ahead of its anchor is normal.
    """
    if anchor is None:
        return ""
    if anchor.ledger_id != ledger_id:
        return f"the anchor belongs to another ledger ({anchor.ledger_id})"
    if head.seq < anchor.seq:
        return f"the log was rolled back: it ends at event {head.seq} and its anchor saw event {anchor.seq}"
    found = hash_at(anchor.seq) if anchor.seq else None
    if found is not None and found.hex() != anchor.hash:
        return f"the log has another past: event {anchor.seq} is not the one its anchor saw"
    return ""


@contextmanager
def faults(path: str) -> Iterator[None]:
    """Turn errors of the driver, of SQLAlchemy and of the system into ours; the transaction is gone by then."""
    try:
        yield
    except LedgerError:
        raise
    except DBAPIError as error:
        raise fault(error.orig, path) from None
    except (sqlite3.Error, driver().Error) as error:
        raise fault(error, path) from None
    except OSError as error:
        raise place.os_fault(error, path) from None
    except json.JSONDecodeError:
        raise Damaged(
            f"{path} is damaged; nothing was written", "look with `learnings verify` and restore a backup"
        ) from None


def _is_full(path: str) -> bool:
    """Tell whether a disk has no room for the file of shared memory that WAL mode makes: a part of it is 32 KiB."""
    try:
        found = os.statvfs(os.path.dirname(path))
    except (AttributeError, OSError):
        return False
    return found.f_bavail * found.f_frsize < 65_536


def fault(error: Any, path: str) -> LedgerError:
    """Return the error of ours for one of SQLite's; the transaction was rolled back."""
    name = getattr(error, "sqlite_errorname", "") or ""
    words = str(error).lower()
    if "learnings are append-only" in words:
        return Refused("the database refused to change the log; nothing was written", "supersede or undo instead")
    if (
        name.startswith("SQLITE_FULL")
        or "disk is full" in words
        or (name.startswith("SQLITE_IOERR") and _is_full(path))
    ):
        return NoSpace(f"no space left for {path}; nothing was written", "free some space and try again")
    if name == "SQLITE_READONLY_DBMOVED":
        return Replaced(
            f"{path} is no longer the file that was opened; nothing was written",
            "close this program and open the ledger again",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_CANTOPEN")):
        return ReadOnly(f"{path} cannot be written; nothing was written", "look at the modes of file and folder")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Locked(f"{path} is busy; nothing was written", "try again when the other program has ended")
    if name == "SQLITE_NOTADB":
        return NotALedger(f"{path} is not a ledger; nothing was written", "name another file with --file")
    if name.startswith("SQLITE_CORRUPT") or _is_undecodable(error):
        return Damaged(f"{path} is damaged; nothing was written", "look with `learnings verify` and restore a backup")
    return FileFault(f"{path}: SQLite says {name or 'error'}; nothing was written", "look with `learnings verify`")
