"""The log: append, read, check. What both backends share.

An append is one transaction. What to append is decided *inside* it, by a
function that sees the head and everything before it, because a decision taken
on an older head could fork the chain of a learning. `store_sqlite` adds the
file, its lock and anchor, and the projections; `store_postgres` holds the log
alone.
"""

import json
import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from sqlalchemy import Connection, bindparam, insert, text

from ledger import chain, fits, sql_log
from ledger.errors import BadInput, BadText, NotFound, SameIdOtherContent
from ledger.fold import CREATING
from ledger.model import Actor, Event, Head, NewEvent, schema_path
from ledger.results import Problem
from ledger.tables import EventRow, PayloadRow, table_of

Clock = Callable[[], int]
"""A source of time: microseconds since 1970, UTC."""

CHUNK = 1_000
"""Events fetched at once when the log is read through; 1,000 of 2 KB are 2 MB."""


class Moment(NamedTuple):
    """What a deciding function sees: the head, and the connection that holds the transaction.

    `raw` is the driver's SQLite connection, None on PostgreSQL.
    """

    head: Head
    connection: Connection
    raw: sqlite3.Connection | None


_BY_ID = text(sql_log.EVENTS_BY_ID).bindparams(bindparam("event_ids", expanding=True))
_HEAD, _EVENT, _VERSION, _ERASE = map(text, (sql_log.HEAD, sql_log.EVENT, sql_log.VERSION, sql_log.ERASE))
_INSERTS = (insert(EventRow), insert(PayloadRow))
# Made once: an append of one event took 0.1 ms longer when it made them.

ENVELOPE = tuple(column.name for column in table_of(EventRow).columns)
"""Columns of the envelope, in the order of `Event`."""

Decide = Callable[[Moment], Sequence[NewEvent]]


def now_us() -> int:
    """Return the system's time."""
    return time.time_ns() // 1_000


def time_text(us: int) -> str:
    """Return microseconds since 1970 as the log writes them: `2026-11-30T02:47:56.123456Z`."""
    seconds, rest = divmod(us, 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:06d}Z"


_validators: dict[str, tuple[fits.Check, Draft202012Validator]] = {}


def validate(kind: str, version: int, data: dict[str, Any], body: dict[str, Any]) -> None:
    """Check an event against `schema/events/<kind>.v<version>.json`; the compiled validator is kept.

    Raises:
        BadInput: it does not fit; the message names the field, never its value.
    """
    name = f"{kind}.v{version}"
    if name not in _validators:
        with open(schema_path("events", f"{name}.json"), encoding="utf-8") as file:
            schema = json.load(file)
        _validators[name] = fits.compiled(schema), Draft202012Validator(schema)
    fits_quickly, validator = _validators[name]
    event = {"data": data, "body": body}
    error = None if fits_quickly(event) else next(validator.iter_errors(event), None)
    if error is not None:
        field = ".".join(str(part) for part in error.absolute_path) or "event"
        raise BadInput(f"{kind}: {field} does not fit ({error.validator}); nothing was written", "correct that field")


def seal(
    head: Head, last_time: str, versions: dict[str, int], drafts: Sequence[NewEvent], actor: Actor, us: int
) -> list[Event]:
    """Return `drafts` as the events that follow `head`, hashed and salted.

    Args:
        head: where the log ends.
        last_time: `recorded_at` of the head, '' when the log is empty; time never decreases.
        versions: the last version of each stream that occurs, updated here.
        us: the clock, read under the lock.
    """
    events = []
    previous, seq = head.hash, head.seq
    for draft in drafts:
        seq += 1
        recorded_at = time_text(us)
        data_map = draft.data
        if recorded_at < last_time:
            recorded_at, data_map = last_time, {**draft.data, "clock_raw_us": us}
        version = versions[draft.stream] = versions[draft.stream] + 1
        data, body = _encoded(draft.kind, data_map), _encoded(draft.kind, draft.body)
        salt = os.urandom(32)
        commitment = chain.commitment(salt, body)
        envelope = (seq, draft.event_id, draft.stream, version, draft.kind, draft.schema_version, recorded_at)
        by = (actor.kind, actor.id, actor.channel, actor.trust, draft.batch, data.decode("utf-8"))
        hashed = chain.link(previous, chain.envelope(*envelope, *by), commitment)
        events.append(Event(*envelope, *by, commitment, previous, hashed, body, salt, None))
        previous = hashed
    return events


def _encoded(kind: str, value: dict[str, Any]) -> bytes:
    """Return canonical bytes; what cannot be represented becomes an error of ours."""
    try:
        return chain.canonical(value)
    except chain.NotCanonical as fault:
        raise BadText(kind, str(fault)) from None


class Log(ABC):
    """An append-only log of events; see the subclasses for where it lives."""

    ledger_id: str
    dedup_key: bytes
    actor: Actor

    @abstractmethod
    def _transaction(self, *, write: bool) -> AbstractContextManager[Connection]:
        """Open one transaction; a writing one keeps other writers out from its beginning."""

    @abstractmethod
    def append(self, decide: Decide) -> list[Event]:
        """Append what `decide` returns in one durable transaction; answer the events as stored."""

    @abstractmethod
    def find_problems(self) -> tuple[int, int, Head, list[Problem]]:
        """Verify the whole log: events seen, payloads erased, head, problems."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections; what is stored stays."""

    def head(self) -> Head:
        """Return the end of the log; seq 0 and the genesis hash when it is empty."""
        with self._transaction(write=False) as connection:
            return self._head(connection)[0]

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events after seq `after`, in order, a thousand at a time."""
        while True:
            with self._transaction(write=False) as connection:
                found = read_events(connection, after)
            yield from found
            if len(found) < CHUNK:
                return
            after = found[-1].seq

    def event(self, seq: int) -> Event:
        """Return one event.

        Raises:
            NotFound: the log does not reach that far.
        """
        with self._transaction(write=False) as connection:
            row = connection.execute(_EVENT, {"seq": seq}).fetchone()
        if row is None:
            raise NotFound(f"there is no event {seq}", "look at `learnings history` or the view audit_log")
        return _event(row)

    def _head(self, connection: Connection) -> tuple[Head, str]:
        """Return the head and its time ('' when the log is empty)."""
        return self._head_of(connection.execute(_HEAD).fetchone())

    def _head_of(self, row: Any) -> tuple[Head, str]:
        if row is None:
            return Head(0, chain.genesis(self.ledger_id)), ""
        return Head(row[0], bytes(row[1])), row[2]

    def _insert(self, moment: Moment, last_time: str, drafts: Sequence[NewEvent], us: int) -> tuple[list[Event], bool]:
        """Write `drafts` in the open transaction; return their events, and whether they were new.

        A retry (all ids are in the log already, with the same content) answers
        the events of the first time and writes nothing.
        """
        known = self._known(moment.connection, drafts)
        if known is not None:
            return known, False
        for draft in drafts:
            validate(draft.kind, draft.schema_version, draft.data, draft.body)
        versions = {draft.stream: 0 for draft in drafts}
        for stream in {draft.stream for draft in drafts if draft.kind not in CREATING}:
            versions[stream] = moment.connection.execute(_VERSION, {"stream": stream}).scalar_one()
        events = seal(moment.head, last_time, versions, drafts, self.actor, us)
        if not events:
            return [], False
        self._put(moment.connection, events)
        return self._erase(moment.connection, events), True

    def _known(self, connection: Connection, drafts: Sequence[NewEvent]) -> list[Event] | None:
        """Return the events of an earlier append of `drafts`, None when none of their ids is in the log."""
        ids = [draft.event_id for draft in drafts]
        found = self._stored(connection, ids) if ids else []
        if not found:
            return None
        if len(found) != len(drafts):
            raise SameIdOtherContent(found[0].event_id)
        for draft, event in zip(drafts, found, strict=True):
            if not same_content(draft, event):
                raise SameIdOtherContent(draft.event_id)
        return found

    def _put(self, connection: Connection, events: Sequence[Event]) -> None:
        """Insert sealed events."""
        rows = [event._asdict() for event in events]
        connection.execute(_INSERTS[0], [{key: row[key] for key in ENVELOPE} for row in rows])
        payloads = [{key: row[key] for key in ("seq", "body", "salt", "erased_by")} for row in rows]
        connection.execute(_INSERTS[1], payloads)

    def _stored(self, connection: Connection, ids: list[str]) -> list[Event]:
        """Return the events that bear one of these ids."""
        return [_event(row) for row in connection.execute(_BY_ID, {"event_ids": ids}).fetchall()]

    def _erase(self, connection: Connection, events: list[Event]) -> list[Event]:
        """Destroy the payloads that an erasure among `events` names, as its trigger allows."""
        for event in events:
            if event.kind == "payload.erased":
                for target in json.loads(event.data)["targets"]:
                    connection.execute(_ERASE, {"seq": target, "by": event.seq})
        return events


def same_content(draft: NewEvent, event: Event) -> bool:
    """Tell whether a stored event is an earlier try of `draft`; an erased body counts as the same."""
    stored = json.loads(event.data)
    stored.pop("clock_raw_us", None)
    data = {key: value for key, value in draft.data.items() if key != "clock_raw_us"}
    body = event.body is None or bytes(event.body) == _encoded(draft.kind, draft.body)
    return (draft.kind, draft.schema_version, draft.stream, data) == (
        event.kind,
        event.schema_version,
        event.stream,
        stored,
    ) and body


def _event(row: Any) -> Event:
    """Return a row of the log as an event; PostgreSQL gives memory views for bytes."""
    return Event._make(bytes(value) if isinstance(value, (memoryview, bytearray)) else value for value in row)


def read_events(connection: Connection, after: int, limit: int = CHUNK) -> list[Event]:
    """Return up to `limit` events after a seq; an event without its payload comes with None for body and salt."""
    rows = connection.execute(text(sql_log.EVENTS_LEFT), {"after": after, "limit": limit}).fetchall()
    return [_event(row) for row in rows]


def stray_payloads(connection: Connection) -> list[Problem]:
    """Name the payloads whose event is gone; of a lost tail they are all that shows without an anchor."""
    rows = connection.execute(text(sql_log.STRAY_PAYLOADS)).fetchall()
    return [Problem("stray", row[0], f"event {row[0]} is gone and its payload is there") for row in rows]


def check_chain(events: Iterable[Event], ledger_id: str) -> tuple[int, int, Head, list[Problem]]:
    """Verify hashes, order, commitments and erasures of a whole log.

    Returns:
        Events seen, payloads erased, the head, and every problem found, in seq
        order. Checking goes on after a fault, with the hash as stored, so that
        one flipped bit is one finding.
    """
    previous, expected, erased = chain.genesis(ledger_id), 0, 0
    last_time = ""
    problems: list[Problem] = []
    missing: dict[int, int | None] = {}
    erasures: dict[int, set[int]] = {}
    for event in events:
        expected += 1
        if event.seq != expected:
            problems.append(Problem("gap", event.seq, f"event {expected} is missing before {event.seq}"))
            expected = event.seq
        problems += [
            Problem(fault, event.seq, f"event {event.seq}: its {fault} does not fit its content")
            for fault in chain.faults(event, previous)
        ]
        if event.recorded_at < last_time:
            problems.append(Problem("time", event.seq, f"event {event.seq} is earlier than the one before it"))
        if (event.body is None) != (event.salt is None):
            problems.append(Problem("payload", event.seq, f"event {event.seq} has half of its payload"))
        if event.body is None or event.salt is None:
            missing[event.seq] = event.erased_by
            erased += 1
        elif event.erased_by is not None:
            problems.append(Problem("erased_by", event.seq, f"event {event.seq} claims an erasure and has its text"))
        if event.kind == "payload.erased":
            erasures[event.seq] = _targets(event)
        previous, last_time = event.hash, event.recorded_at
    for seq, by in missing.items():
        if by is None or seq not in erasures.get(by, ()):
            problems.append(Problem("payload", seq, f"the payload of event {seq} is gone and no event erased it"))
    for by, targets in erasures.items():
        problems += [
            Problem("not_erased", seq, f"event {by} erased the payload of {seq}, which is still there")
            for seq in sorted(targets - missing.keys())
        ]
    problems.sort(key=lambda problem: problem.seq or 0)
    return expected, erased, Head(expected, previous), problems


def _targets(event: Event) -> set[int]:
    """Return what an erasure names; nothing when its data is damaged, which its hash shows."""
    try:
        return {int(target) for target in json.loads(event.data)["targets"]}
    except (ValueError, KeyError, TypeError):
        return set()
