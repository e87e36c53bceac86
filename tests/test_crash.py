"""Processes killed with -9 at every step and at any instant: what was acknowledged stands, nothing else is left."""

import os
import random
import select
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from children import Act, Child, Say, done, end, fork, heard, kill
from dump import dump
from rows import append, copied, opened, recorded, verified

from importers.plan import plan, vanished
from ledger import ingest
from ledger.errors import NotCurrent
from ledger.ledger import Ledger
from ledger.model import TRUST_NOTES, Draft, Reading, Source, new_event_id
from ledger.reader import open_reader
from ledger.store_sqlite import SqliteStore

KILLED = -int(signal.SIGKILL)

# -- killed at every step ----------


class Dying:
    """The standard driver, in a process that kills itself before its nth statement from a moment on.

    Each connection spills its pages to the file as soon as it may, so that a
    kill before the commit leaves what one in the middle of a commit leaves: a
    file half written, and the journal that takes it back.
    """

    def __init__(self, at: int) -> None:
        self.left: int | None = at

    def __getattr__(self, name: str) -> object:
        return getattr(sqlite3, name)

    def connect(self, *arguments: Any, **named: Any) -> sqlite3.Connection:
        """Return a connection that counts its statements."""
        connection = sqlite3.connect(*arguments, factory=Spilling, **named)
        connection.execute("PRAGMA cache_size = 1")
        connection.set_trace_callback(self._count)
        return connection

    def _count(self, statement: str) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Spilling(sqlite3.Connection):
    """A connection that may write pages before it commits."""

    def execute(self, statement: str, *binds: Any) -> sqlite3.Cursor:
        """Run a statement; one that would keep pages back is turned round."""
        return super().execute("PRAGMA cache_spill = 1" if "cache_spill" in statement else statement, *binds)


def steps(act: Callable[[Dying], Any]) -> Iterator[tuple[int, int]]:
    """Run `act` in children that die before statement 0, 1, 2 … of it, up to the one that lives.

    Yields:
        The number of the statement, and how that child ended.
    """
    for step in range(10_000):
        status = done(lambda _, at=step: act(Dying(at))).status  # type: ignore[misc]
        yield step, status
        if status != KILLED:
            assert status == 0
            return


def test_making_a_ledger_can_be_killed_anywhere(tmp_path: Path) -> None:
    """A ledger that was half made is made by whoever comes next; no half of one is ever taken for a ledger."""
    count = 0
    for step, _ in steps(lambda driver: SqliteStore(str(tmp_path / "next" / "ledger.db"), sqlite=driver, create=True)):
        path = str(tmp_path / "next" / "ledger.db")
        store = SqliteStore(path, create=True)
        assert append(store).seq == 1
        store.close()
        assert verified(path).ok
        os.rename(tmp_path / "next", tmp_path / str(step))
        count = step

    assert count > 40


def test_an_append_can_be_killed_anywhere(path: str) -> None:
    """Before the commit nothing of it is there, after it all of it; the next reader and the next writer just work."""
    store = SqliteStore(path, create=True)
    append(store)
    store.close()
    expected = 1

    for step, status in steps(lambda driver: append(SqliteStore(path, sqlite=driver), 1)):
        with open_reader(path) as reader:
            seq = reader.head().seq
            assert len(reader.list_learnings(limit=50).rows) == min(seq, 50)
        assert seq in (expected, expected + 1)
        assert status == KILLED or seq == expected + 1
        assert verified(path).ok, step
        expected = seq

    assert expected == 2


def test_a_rebuild_can_be_killed_anywhere(path: str) -> None:
    """Projections are the old ones or the new ones, and both are the same."""
    store = SqliteStore(path, create=True)
    store.append(lambda _: [recorded(number) for number in range(3)])
    before = dump(store.connection())
    store.close()

    for step, _ in steps(lambda driver: SqliteStore(path, sqlite=driver).rebuild()):
        with opened(path) as connection:
            assert dump(connection) == before, step

    assert verified(path).ok


# -- killed at any instant ----------

WRITERS = 4


def draft(number: str) -> Draft:
    """Return a draft whose words no other number has, so that no time goes into its neighbours."""
    return Draft(number, number[::-1], "env", "demo")


@pytest.fixture
def warm(path: str) -> str:
    """Return a ledger of one event, after everything a writer imports and compiles was used once."""
    with Ledger.init(path) as ledger:
        ledger.record(draft("first"))
        assert ledger.verify().ok
    return path


def writer(path: str) -> Act:
    """Return an act that records without end and says the id of each event once it was acknowledged."""

    def act(say: Say) -> None:
        with Ledger.open(path, wait_s=60.0) as ledger:
            while True:
                event_id = new_event_id()
                ledger.record(draft(event_id), event_id=event_id)
                say(event_id)

    return act


class Crowd:
    """Some writers at once, of which one after another is killed and replaced."""

    def __init__(self, path: str, draw: random.Random) -> None:
        self.path, self.draw = path, draw
        self.acknowledged: list[str] = []
        self.heard: dict[Child, bytes] = {}
        for _ in range(WRITERS):
            self.add()

    def add(self) -> None:
        """Start one more writer."""
        self.heard[fork(writer(self.path))] = b""

    def listen(self, timeout_s: float) -> None:
        """Hear those who speak first, or nobody within that time."""
        ready, _, _ = select.select([child.pipe for child in self.heard], [], [], timeout_s)
        for child in self.heard:
            if child.pipe in ready:
                self.heard[child] += heard(child)

    def kill_one(self) -> None:
        """Kill a writer that has acknowledged something, at a random instant of what it does next."""
        while not (speakers := [child for child, said in self.heard.items() if said]):
            self.listen(60.0)
        until = time.monotonic() + self.draw.uniform(0.0, 0.02)
        while (left := until - time.monotonic()) > 0:
            self.listen(left)
        self.bury(self.draw.choice(speakers))

    def bury(self, child: Child) -> None:
        """Kill a writer and keep what it had acknowledged."""
        kill(child)
        ended = end(child, self.heard.pop(child))
        assert ended.status == KILLED, ended
        self.acknowledged += ended.said


@pytest.mark.parametrize("kills", [200, pytest.param(2_000, marks=pytest.mark.soak)])
def test_what_was_acknowledged_survives_any_number_of_kills(
    warm: str, kills: int, record_testsuite_property: Callable[[str, object], None]
) -> None:
    """Every acknowledged event is there, once; a killed writer leaves at most one that it had not acknowledged yet.

    After every kill a reader opens the file at once, whatever journal lies beside it.
    """
    seed = int.from_bytes(os.urandom(4), "big")
    record_testsuite_property(f"seed_{kills}_kills", seed)
    crowd = Crowd(warm, random.Random(seed))
    seen = 1
    for _ in range(kills):
        crowd.kill_one()
        with open_reader(warm) as reader:
            head = reader.head().seq
        assert head >= seen
        seen = head
        crowd.add()
    for child in list(crowd.heard):
        crowd.bury(child)

    with opened(warm) as connection:
        stored = [row[0] for row in connection.execute("SELECT event_id FROM event ORDER BY seq").fetchall()]
    verdict = verified(warm)
    record_testsuite_property(f"acknowledged_{kills}_kills", len(crowd.acknowledged))
    assert len(crowd.acknowledged) >= kills
    assert not set(crowd.acknowledged) - set(stored)
    assert len(stored) == len(set(stored))
    assert len(stored) - 1 - len(crowd.acknowledged) <= kills + WRITERS
    assert verdict.ok, verdict.problems


APPENDS, TOGETHER = 50, 20


def test_twenty_writers_lose_nothing_and_fork_nothing(
    warm: str, record_testsuite_property: Callable[[str, object], None]
) -> None:
    """20 processes x 50 appends, of which every 25th replaces the one learning that all of them replace."""
    with open_reader(warm) as reader:
        root = reader.list_learnings().rows[0].id
    gate, opening = os.pipe()

    def act(say: Say) -> None:
        os.close(opening)
        with Ledger.open(warm, wait_s=120.0) as ledger:
            os.read(gate, 1)
            for number in range(APPENDS):
                event_id = new_event_id()
                begun = time.perf_counter()
                if number % 25:
                    ledger.record(draft(event_id), event_id=event_id)
                else:
                    replace(ledger, root, event_id)
                say(f"{event_id} {time.perf_counter() - begun:.6f}")

    children = [fork(act) for _ in range(TOGETHER)]
    os.close(opening)
    ends = [end(child) for child in children]

    os.close(gate)
    said = [line.split() for ended in ends for line in ended.said]
    record_testsuite_property("worst_append_s", max(float(seconds) for _, seconds in said))
    assert [ended.status for ended in ends] == [0] * TOGETHER
    with opened(warm) as connection:
        stored = {row[0] for row in connection.execute("SELECT event_id FROM event WHERE seq > 1").fetchall()}
        forks = connection.execute("SELECT old_id FROM forks").fetchall()
        heads = connection.execute(
            "SELECT count(*) FROM current_learnings WHERE problem LIKE '%that all replace%'"
        ).fetchone()[0]
    assert stored == {event_id for event_id, _ in said}
    assert len(said) == len(stored) == TOGETHER * APPENDS
    assert forks == []
    assert heads == 1
    assert verified(warm).ok


def replace(ledger: Ledger, root: str, event_id: str) -> None:
    """Supersede whatever stands for `root` now, until no other writer was faster."""
    while True:
        try:
            ledger.supersede(
                ledger.reader.heads(root), "the learning that all replace", f"by {event_id}", "newer", event_id=event_id
            )
            return
        except NotCurrent:
            continue


# -- imports ----------

NOTES = 1_100


CURRENT = "SELECT count(*), count(DISTINCT problem) FROM current_learnings"


def reading() -> Reading:
    """Return notes enough for three transactions."""
    drafts = [
        Draft(
            f"note {number} about the build", f"run step {number}", "workflow", "demo",
            source=Source("memory-note", f"/notes/{number}.md", f"/notes/{number}.md", 1),
        )
        for number in range(NOTES)
    ]  # fmt: skip
    whole = frozenset(one.source.locator for one in drafts if one.source is not None)
    return Reading("memory-notes", TRUST_NOTES, ("/notes",), drafts, whole, ("/notes",), (), [])


def test_an_import_killed_anywhere_is_completed_by_the_next(warm: str, tmp_path: Path) -> None:
    """What was in stays, nothing comes twice, and each transaction is there whole or not at all."""
    draw = random.Random(0)
    given = reading()

    def run(path: str, driver: object, say: Say) -> None:
        with Ledger.open(path, sqlite=driver) as ledger:
            ingest.run(ledger, given, plan, vanished, progress=lambda done, _: say(str(done)))

    counting = Dying(10**9)
    with Ledger.open(copied(warm, str(tmp_path / "whole" / "ledger.db")), sqlite=counting) as ledger:
        ingest.run(ledger, given, plan, vanished)
    assert counting.left is not None
    statements = 10**9 - counting.left

    for number in range(6):
        path = copied(warm, str(tmp_path / str(number) / "ledger.db"))
        at = draw.randrange(number * statements // 6, (number + 1) * statements // 6)
        ended = done(lambda say, path=path, at=at: run(path, Dying(at), say))  # type: ignore[misc]
        with opened(path) as connection:
            before = connection.execute(CURRENT).fetchone()[0] - 1
        assert verified(path).ok
        with Ledger.open(path) as ledger:
            last = ingest.run(ledger, given, plan, vanished)
            assert ledger.verify().ok
        with opened(path) as connection:
            after = connection.execute(CURRENT).fetchone()

        assert ended.status == KILLED
        assert before in (0, NOTES, *range(497, NOTES, 498), *range(497, NOTES, 497))
        assert before >= int((ended.said or ["0"])[-1])
        assert last.recorded == NOTES - before
        assert last.diagnostics == []
        assert after == (NOTES + 1, NOTES + 1)
