"""What every store of the log keeps; `test_storage_sqlite` and `test_storage_postgres` run all of it.

A backend brings the fixture `new_place`, which makes an empty log and says how
to open it, how a stranger reaches it with plain SQL, and how somebody who owns
it walks past its guards.

Longer than other files, because it is one list that two modules import whole.
"""

import json
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from ledger import chain
from ledger.errors import BadInput, BadText, Conflict, LedgerError, NotFound, SameIdOtherContent
from ledger.model import Actor, Event, NewEvent, learning_id, new_event_id
from ledger.store import Clock, Log, Moment, now_us, time_text

HAND = Actor("person", "cli", 4, "session-1")


class StrangerRefused(Exception):
    """The database refused a statement that came from outside."""


class Place(NamedTuple):
    """One log, wherever it is stored.

    `open` opens it anew; `execute` runs one statement as another program would
    and raises `StrangerRefused`; `tamper` takes guards away first, and takes
    values for `{}` marks; `release` ends its use.
    """

    open: Callable[[Clock], Log]
    execute: Callable[[str], None]
    tamper: Callable[..., None]
    release: Callable[[], None]


NewPlace = Callable[[], Place]


@pytest.fixture
def place(new_place: NewPlace) -> Iterator[Place]:
    """Return a place with an empty log."""
    made = new_place()
    yield made
    made.release()


@pytest.fixture
def log(place: Place, clock: Clock) -> Iterator[Log]:
    """Return the open log of `place`."""
    opened = place.open(clock)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def settled(new_place: NewPlace) -> Iterator[tuple[Log, Place]]:
    """Return a log of three events and its place, for acts that leave no trace."""
    place = new_place()
    opened = place.open(now_us)
    opened.append(lambda moment: [recorded(text) for text in ("one", "two", "three")])
    yield opened, place
    opened.close()
    place.release()


def recorded(text: str = "a", event_id: str | None = None, **changes: Any) -> NewEvent:
    """Return a `learning.recorded` that the schema takes."""
    event_id = event_id or new_event_id()
    body = {"title": f"title of {text}", "problem": text, "solution": f"do {text}", "project": "*", "tags": []}
    data = {"category": "env", "confidence": "sure"}
    return NewEvent("learning.recorded", learning_id(event_id), data, body, event_id)._replace(**changes)


def erasure(*targets: int) -> NewEvent:
    """Return a `payload.erased` of these seqs."""
    data = {"targets": list(targets), "blocked": [], "reason": "secret"}
    return NewEvent("payload.erased", "ledger", data, {}, new_event_id())


def append(log: Log, *drafts: NewEvent) -> list[Event]:
    """Append without looking at the head."""
    events: list[Event] = log.append(lambda moment: drafts)
    return events


def stored(log: Log) -> tuple[Any, ...]:
    """Return everything a log holds."""
    return (log.ledger_id, log.dedup_key, *log.events())


# -- order, time, chain ----------


def test_seq_counts_from_one_without_a_gap(log: Log) -> None:
    """Whatever the size of an append, seqs follow each other."""
    events = [*append(log, recorded()), *append(log, recorded(), recorded()), *append(log, recorded())]

    assert [event.seq for event in events] == [1, 2, 3, 4]
    assert list(log.events()) == events


def test_an_empty_log_ends_at_the_genesis_hash(log: Log) -> None:
    """The first event follows a hash made of the ledger's id, so logs cannot be swapped."""
    head = log.head()

    assert head == (0, chain.genesis(log.ledger_id))
    assert list(log.events()) == []


def test_an_empty_append_writes_nothing(log: Log) -> None:
    """A decision may be to do nothing."""
    assert append(log) == []
    assert log.head().seq == 0


def test_the_head_is_the_last_event(log: Log) -> None:
    """Seq and hash of the head are those of the event appended last."""
    events = append(log, recorded(), recorded())

    assert log.head() == (2, events[-1].hash)


def test_events_are_stored_as_they_were_answered(log: Log, place: Place, clock: Clock) -> None:
    """What `append` answers is what another connection reads, envelope and payload, byte for byte."""
    draft = recorded('körper 日本 \U0001f600 \u2028 \\ " % :name', batch=None)
    answered = append(log, draft)[0]

    other = place.open(clock)
    read = other.event(1)
    other.close()

    assert read == answered
    assert json.loads(read.body or b"") == draft.body
    assert (read.kind, read.stream, read.version, read.actor_kind, read.actor_id) == (
        "learning.recorded",
        draft.stream,
        1,
        "person",
        "session-1",
    )


def test_versions_count_within_their_stream(log: Log) -> None:
    """A stream's events are numbered from 1, in one append or over several."""
    first, other = recorded("first"), recorded("other")
    pinned = [NewEvent("learning.pinned", first.stream, {}, {}, new_event_id()) for _ in range(3)]

    append(log, first, other, pinned[0])
    append(log, *pinned[1:])

    assert [(event.stream == first.stream, event.version) for event in log.events()] == [
        (True, 1),
        (False, 1),
        (True, 2),
        (True, 3),
        (True, 4),
    ]


def test_the_chain_of_what_was_appended_verifies(log: Log) -> None:
    """Hashes, commitments and order hold, and the counts are right."""
    append(log, *(recorded(str(number)) for number in range(20)))

    events, erased, head, problems = log.find_problems()

    assert (events, erased, problems) == (20, 0, [])
    assert head == log.head()


def test_events_come_in_order_beyond_one_fetch(log: Log) -> None:
    """A log is read in thousands; the border between two loses and repeats nothing."""
    append(log, *(recorded(str(number)) for number in range(1_001)))

    assert [event.seq for event in log.events()] == list(range(1, 1_002))
    assert [event.seq for event in log.events(after=999)] == [1_000, 1_001]
    assert log.find_problems()[::3] == (1_001, [])


def test_time_never_decreases_and_a_clock_set_back_is_flagged(log: Log, clock: Any) -> None:
    """The event keeps the time before it, and its data says what the clock showed."""
    before = append(log, recorded())[0]
    clock.advance(-3_600)
    clamped = append(log, recorded(), recorded())
    clock.advance(3_601)
    after = append(log, recorded())[0]

    assert [event.recorded_at for event in clamped] == [before.recorded_at] * 2
    assert {json.loads(event.data)["clock_raw_us"] for event in clamped} == {clock.us - 3_601_000_000}
    assert after.recorded_at == time_text(clock.us)
    assert "clock_raw_us" not in json.loads(after.data)
    assert log.find_problems()[3] == []


def test_an_event_beyond_the_end_is_not_found(log: Log) -> None:
    """There is no event 1 in an empty log."""
    with pytest.raises(NotFound, match="no event 1"):
        log.event(1)


# -- deciding under the lock ----------


def test_a_decision_sees_the_head_that_its_events_follow(log: Log) -> None:
    """The head handed to `decide` is what the first event is chained to."""
    append(log, recorded())
    seen: list[Moment] = []

    event = log.append(lambda moment: [seen.append(moment) or recorded()])[0]  # type: ignore[func-returns-value]

    assert seen[0].head == (1, event.prev_hash)
    assert event.seq == 2


def test_a_decision_on_an_older_head_leaves_nothing(log: Log) -> None:
    """Whoever finds the head moved raises `Conflict`, and the log is as before."""
    append(log, recorded(), recorded())
    before = stored(log)

    def decide(moment: Moment) -> list[NewEvent]:
        if moment.head.seq != 1:
            raise Conflict("lrn_x", 1, moment.head.seq)
        return [recorded()]

    with pytest.raises(Conflict, match="last changed by event 2, not 1; nothing was written"):
        log.append(decide)

    assert stored(log) == before


def test_an_append_that_fails_midway_leaves_nothing(log: Log) -> None:
    """The first event is legal and written, the second breaks a CHECK: neither stays, and no seq is lost."""
    append(log, recorded())
    before = stored(log)

    with pytest.raises(LedgerError, match="nothing was written"):
        append(log, recorded(), recorded(stream="lrn_" + "x" * 97))

    assert stored(log) == before
    assert append(log, recorded())[0].seq == 2


@pytest.mark.parametrize(
    ("draft", "error"),
    [
        (recorded(data={"category": "gossip", "confidence": "sure"}), BadInput),
        (recorded(data={"category": "env"}), BadInput),
        (recorded(body={"title": "t"}), BadInput),
        (recorded("a\0b"), BadText),
        (recorded("a\ud800b"), BadText),
    ],
)
def test_what_does_not_fit_its_schema_is_refused(log: Log, draft: NewEvent, error: type[LedgerError]) -> None:
    """A wrong event, and text that cannot be stored, take their whole append down without being quoted."""
    with pytest.raises(error) as caught:
        append(log, recorded(), draft)

    assert "gossip" not in str(caught.value)
    assert log.head().seq == 0


# -- retries ----------


def test_a_retry_answers_the_first_time(log: Log) -> None:
    """Same ids, same content: the events of the first append, and nothing written."""
    drafts = [recorded("one"), recorded("two")]
    first = append(log, *drafts)
    append(log, recorded())

    assert append(log, *drafts) == first
    assert log.head().seq == 3


def test_a_retry_is_one_although_the_clock_was_set_back(log: Log, clock: Any) -> None:
    """The flag that the log itself adds to `data` does not make the content another one."""
    append(log, recorded())
    clock.advance(-60)
    draft = recorded()
    first = append(log, draft)

    assert append(log, draft) == first


def test_a_retry_after_the_erasure_answers_without_the_text(log: Log) -> None:
    """An erased payload cannot be compared, and is not brought back."""
    draft = recorded("secret")
    append(log, draft)
    append(log, erasure(1))

    again = append(log, draft)[0]

    assert (again.seq, again.body, again.erased_by) == (1, None, 2)
    assert log.head().seq == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"data": {"category": "bug-fix", "confidence": "sure"}},
        {"stream": "lrn_" + "a" * 26},
        {"kind": "learning.proposed"},
        {"body": {"title": "t", "problem": "other", "solution": "s", "project": "*", "tags": []}},
    ],
)
def test_an_id_used_for_something_else_is_refused(log: Log, changes: dict[str, Any]) -> None:
    """An event id stands for one content: data, stream, kind and body."""
    draft = recorded()
    append(log, draft)
    before = stored(log)

    with pytest.raises(SameIdOtherContent, match=draft.event_id):
        append(log, draft._replace(**changes))

    assert stored(log) == before


def test_ids_of_one_append_are_known_all_or_none(log: Log) -> None:
    """A retry repeats the whole append; half of it together with something new is an error."""
    known = recorded()
    append(log, known)
    before = stored(log)

    with pytest.raises(SameIdOtherContent):
        append(log, known, recorded())

    assert stored(log) == before


# -- many writers ----------

WRITERS, APPENDS = 4, 25


def write(place: Place, ready: Any) -> None:
    """Append one by one through a store of this thread's or process's own."""
    opened = place.open(now_us)
    ready.wait(30)
    for number in range(APPENDS):
        append(opened, recorded(f"{id(opened)} {number}"))
    opened.close()


def assert_one_line(log: Log) -> None:
    """Check that every append of every writer is there, in one chain without gap or fork."""
    events, _, head, problems = log.find_problems()
    assert (events, head.seq, problems) == (WRITERS * APPENDS, WRITERS * APPENDS, [])
    assert len({event.prev_hash for event in log.events()}) == WRITERS * APPENDS
    assert len({event.event_id for event in log.events()}) == WRITERS * APPENDS


def test_processes_that_write_at_once_make_one_chain(place: Place) -> None:
    """Four processes of 25 appends: nobody fails, nothing is lost, no two events follow the same one."""
    fork = multiprocessing.get_context("fork")
    ready = fork.Barrier(WRITERS)
    writers = [fork.Process(target=write, args=(place, ready)) for _ in range(WRITERS)]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    opened = place.open(now_us)
    assert_one_line(opened)
    opened.close()


def test_threads_that_share_a_store_make_one_chain(log: Log) -> None:
    """One store may be used by several threads; each decision still sees the head it is written on."""
    unlike: list[Event] = []
    finished: list[int] = []

    def run() -> None:
        for _ in range(APPENDS):
            heads: list[bytes] = []
            event = log.append(lambda moment: [heads.append(moment.head.hash) or recorded()])[0]  # type: ignore[func-returns-value]  # noqa: B023
            if event.prev_hash != heads[-1]:
                unlike.append(event)
        finished.append(1)

    threads = [threading.Thread(target=run) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert (len(finished), unlike) == (WRITERS, [])
    assert_one_line(log)


# -- append-only ----------


def copy_of_the_last(**changes: str) -> str:
    """Return an INSERT of event 3 with other expressions for some columns."""
    columns = Event._fields[:16]
    expressions = ", ".join(changes.get(name, name) for name in columns)
    return f"INSERT INTO event ({', '.join(columns)}) SELECT {expressions} FROM event WHERE seq = 3"


NEXT = {
    "seq": "4",
    "event_id": "'00000000-0000-7000-8000-000000000000'",
    "stream": "'lrn_aaaaaaaaaaaaaaaaaaaaaaaaaa'",
    "prev_hash": "hash",
    "hash": "commitment",
}
"""Changes that make the copy a legal next event, as far as the database can tell."""


def next_but(**changes: str) -> str:
    """Return the legal next event with one thing wrong."""
    return copy_of_the_last(**{**NEXT, **changes})


ATTACKS = {
    "change an event": "UPDATE event SET kind = 'learning.retracted' WHERE seq = 2",
    "change an event into itself": "UPDATE event SET kind = kind",
    "move an event": "UPDATE event SET seq = 9 WHERE seq = 3",
    "remove an event": "DELETE FROM event WHERE seq = 3",
    "remove all events": "DELETE FROM event",
    "insert an event over itself": copy_of_the_last(),
    "insert over a seq": next_but(seq="3"),
    "insert over an event id": next_but(event_id="event_id"),
    "insert over a predecessor": next_but(prev_hash="prev_hash"),
    "insert over a stream's version": next_but(stream="stream"),
    "leave a gap": next_but(seq="5"),
    "insert before the first": next_but(seq="0"),
    "upsert an event": copy_of_the_last() + " ON CONFLICT (seq) DO UPDATE SET kind = 'learning.retracted'",
    "upsert by event id": next_but(event_id="event_id") + " ON CONFLICT (event_id) DO UPDATE SET trust = 0",
    "insert and ignore the conflict": copy_of_the_last() + " ON CONFLICT DO NOTHING",
    "an unknown channel": next_but(channel="'web'"),
    "an unknown kind of actor": next_but(actor_kind="'robot'"),
    "trust beyond the scale": next_but(trust="5"),
    "an empty actor id": next_but(actor_id="''"),
    "a line feed in the envelope": next_but(stream="'lrn_a\nb'"),
    "a short id": next_but(event_id="'short'"),
    "a time of another form": next_but(recorded_at="'2026-11-30'"),
    "a short hash": next_but(hash="substr(hash, 1, 31)"),
    "no data": next_but(data="''"),
    "no kind": next_but(kind="NULL"),
    "a batch of later": next_but(batch="5"),
    "version nought": next_but(version="0"),
    "change a payload": "UPDATE payload SET body = salt WHERE seq = 2",
    "change a payload into itself": "UPDATE payload SET body = body",
    "remove a payload": "DELETE FROM payload WHERE seq = 3",
    "insert over a payload": "INSERT INTO payload (seq, body, salt) SELECT 2, body, salt FROM payload WHERE seq = 3",
    "insert a payload without its event": "INSERT INTO payload (seq, body, salt) SELECT 4, body, salt FROM payload"
    " WHERE seq = 3",
    "upsert a payload": "INSERT INTO payload (seq, body, salt) SELECT 2, body, salt FROM payload WHERE seq = 3"
    " ON CONFLICT (seq) DO UPDATE SET body = excluded.body, salt = excluded.salt",
    "erase without an event": "UPDATE payload SET body = NULL, salt = NULL, erased_by = 4 WHERE seq = 2",
    "erase by an event of another kind": "UPDATE payload SET body = NULL, salt = NULL, erased_by = 3 WHERE seq = 2",
    "erase by nobody": "UPDATE payload SET body = NULL, salt = NULL WHERE seq = 2",
    "claim an erasure": "UPDATE payload SET erased_by = 3 WHERE seq = 2",
    "empty the text alone": "UPDATE payload SET body = NULL, erased_by = 3 WHERE seq = 2",
    "change what the ledger is": "UPDATE meta SET ledger_id = upper(ledger_id)",
    "remove what the ledger is": "DELETE FROM meta",
    "say a second time what the ledger is": "INSERT INTO meta (one, ledger_id, format, dedup_key)"
    " SELECT 2, ledger_id, format, dedup_key FROM meta",
    "upsert what the ledger is": "INSERT INTO meta (one, ledger_id, format, dedup_key)"
    " SELECT one, upper(ledger_id), format, dedup_key FROM meta WHERE one = 1"
    " ON CONFLICT (one) DO UPDATE SET ledger_id = excluded.ledger_id",
}


def assert_refused(settled: tuple[Log, Place], statement: str) -> None:
    """Check that a stranger's statement is refused and leaves everything as it was."""
    log, place = settled
    before = stored(log)

    with pytest.raises(StrangerRefused):
        place.execute(statement)

    assert stored(log) == before


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_database_refuses(settled: tuple[Log, Place], attack: str) -> None:
    """Another program, with all rights to the tables, changes nothing that was written."""
    assert_refused(settled, ATTACKS[attack])


def test_the_next_event_is_what_may_be_inserted(log: Log, place: Place) -> None:
    """The attacks fail for what is wrong with them: without it the same statement passes."""
    append(log, recorded(), recorded(), recorded())

    place.execute(next_but())
    place.execute("INSERT INTO payload (seq, body, salt) SELECT 4, body, salt FROM payload WHERE seq = 3")

    assert log.head().seq == 4
    assert {problem.seq for problem in log.find_problems()[3]} == {4}


# -- erasure ----------


def test_an_erasure_destroys_the_text_it_names_and_keeps_the_chain(log: Log) -> None:
    """Text and salt are gone, the envelope stands, and the log verifies with one payload erased."""
    kept = append(log, recorded("kept"), recorded("secret"))[0]

    append(log, erasure(2))

    gone = log.event(2)
    assert (gone.body, gone.salt, gone.erased_by) == (None, None, 3)
    assert log.event(1) == kept
    assert log.find_problems()[:2] == (3, 1)
    assert log.find_problems()[3] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE payload SET body = NULL, salt = NULL, erased_by = 3 WHERE seq = 1",
        "UPDATE payload SET body = NULL, salt = NULL, erased_by = 3",
        "UPDATE payload SET erased_by = 1 WHERE seq = 2",
        "UPDATE payload SET erased_by = NULL WHERE seq = 2",
        "UPDATE payload SET body = hash, salt = hash, erased_by = NULL FROM event AS e WHERE payload.seq = 2",
    ],
)
def test_an_erasure_opens_nothing_but_what_it_names(log: Log, place: Place, statement: str) -> None:
    """Neighbours of the erased payload stay, and nothing is written into its place."""
    append(log, recorded("kept"), recorded("secret"))
    append(log, erasure(2))
    before = stored(log)

    with pytest.raises(StrangerRefused):
        place.execute(statement)

    assert stored(log) == before


# -- evidence ----------


@pytest.mark.parametrize("column", Event._fields)
def test_a_flipped_bit_is_found_in_every_column(log: Log, place: Place, column: str) -> None:
    """Who walks past the guards and changes one bit of one column is shown, with the seq."""
    append(log, *(recorded(str(number), batch=1) for number in range(3)))
    value = getattr(log.event(2), column)
    table = "event" if column in Event._fields[:16] else "payload"

    place.tamper(f"UPDATE {table} SET {column} = {{}} WHERE seq = 2", flipped(column, value))

    problems = log.find_problems()[3]
    assert any("event 2" in problem.message for problem in problems), problems
    if column != "seq":
        assert 2 in [problem.seq for problem in problems]


def flipped(column: str, value: Any) -> Any:
    """Return `value` with one bit turned; the one column that was NULL gets a value."""
    if column == "seq":
        return value + 64
    if value is None:
        return 1
    if isinstance(value, int):
        return value ^ 2
    if isinstance(value, str):
        return value[:-1] + chr(ord(value[-1]) ^ 1)
    return bytes([*value[:-1], value[-1] ^ 1])


@pytest.mark.parametrize(
    ("statement", "code", "seq"),
    [
        ("DELETE FROM event WHERE seq = 2", "gap", 3),
        ("DELETE FROM event WHERE seq = 3", None, 3),
        ("DELETE FROM payload WHERE seq = 2", "payload", 2),
        ("UPDATE payload SET body = NULL, salt = NULL WHERE seq = 2", "payload", 2),
        ("UPDATE payload SET body = NULL, salt = NULL, erased_by = 3 WHERE seq = 2", "payload", 2),
        ("UPDATE meta SET ledger_id = '00000000-0000-4000-8000-000000000000'", "prev_hash", 1),
    ],
)
def test_what_is_taken_out_is_found(place: Place, clock: Clock, statement: str, code: str | None, seq: int) -> None:
    """A missing event, a missing text without an erasure, and another ledger's identity are each named.

    A lost last event is `rolled_back` beside an anchor and a stray payload without one.
    """
    opened = place.open(clock)
    append(opened, recorded(), recorded(), recorded())
    opened.close()

    place.tamper(statement)

    reopened = place.open(clock)
    problems = reopened.find_problems()[3]
    reopened.close()
    assert (code, seq) in [(code and problem.code, problem.seq) for problem in problems]


def test_an_erasure_whose_targets_cannot_be_read_is_found(log: Log, place: Place) -> None:
    """Damaged data is one finding; what it erased is another, because no event names it now."""
    append(log, recorded("secret"))
    append(log, erasure(1))

    place.tamper("UPDATE event SET data = {} WHERE seq = 2", "{damaged")

    assert [(problem.code, problem.seq) for problem in log.find_problems()[3]] == [("payload", 1), ("hash", 2)]


def test_a_text_that_outlives_its_erasure_is_found(log: Log, place: Place) -> None:
    """An erasure that destroyed nothing is named: the text it promised to be gone is there."""
    kept = append(log, recorded("secret"))[0]
    append(log, erasure(1))

    place.tamper("UPDATE payload SET body = {}, salt = {}, erased_by = NULL WHERE seq = 1", kept.body, kept.salt)

    assert [(problem.code, problem.seq) for problem in log.find_problems()[3]] == [("not_erased", 1)]
