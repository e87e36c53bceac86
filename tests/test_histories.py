# ruff: noqa: D102 - the acts of a history are named for the commands they carry out
"""Properties over random histories of every kind of event.

One history is a list of acts drawn by hypothesis; each act goes through the
same door as a command (or, for kinds whose command comes with a later issue,
through `View.add`), and acts that the rules refuse are part of the history too.
"""

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from dump import dump, now
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import fold, project, sql_log
from ledger.errors import LedgerError
from ledger.ledger import Ledger
from ledger.model import VERDICTS, Draft, Event, NewEvent, learning_id, new_event_id
from ledger.store import Moment
from ledger.store_sqlite import create_log
from ledger.view import View, content, source_id

Draw = Callable[[int], int]


class World:
    """A ledger under a random history."""

    def __init__(self, path: Path) -> None:
        self.ledger = Ledger.init(str(path))
        self.number = 0

    @property
    def raw(self) -> sqlite3.Connection:
        return self.ledger.store.connection()

    def ids(self) -> list[str]:
        return [row[0] for row in self.raw.execute("SELECT id FROM learning ORDER BY seq").fetchall()]

    def some(self, draw: Draw, count: int = 1) -> list[str]:
        """Return up to `count` of the newest learnings: old ones are rarely in a state that lets an act happen."""
        known = self.ids()[-4:]
        return list(dict.fromkeys(known[draw(len(known))] for _ in range(count))) if known else []

    def draft(self, draw: Draw) -> Draft:
        self.number += 1
        same = draw(6) == 0
        return Draft(f"problem {1 if same else self.number} about pooler", f"solution {self.number % 7}", "env", "demo")

    def append(self, *events: NewEvent) -> list[Event]:
        """Append events through the legality check, as commands of later issues will."""

        def decide(moment: Moment) -> Sequence[NewEvent]:
            view = View(moment)
            for event in events:
                view.add(event, self.ledger.actor)
            return view.drafts

        return self.ledger.store.append(decide)

    def act(self, name: str, draw: Draw) -> None:
        """Carry out one act; one that the rules refuse leaves the ledger as it was."""
        before = self.ledger.store.head()
        try:
            getattr(self, f"do_{name}")(draw)
        except LedgerError:
            assert self.ledger.store.head() == before

    def do_record(self, draw: Draw) -> None:
        self.ledger.record(self.draft(draw))

    def do_supersede(self, draw: Draw) -> None:
        if olds := self.some(draw, 1 + draw(3)):
            draft = self.draft(draw)
            self.ledger.supersede(olds, draft.problem, draft.solution, "newer")

    def do_retract(self, draw: Draw) -> None:
        for name in self.some(draw):
            self.ledger.retract(name, "wrong")

    def do_propose(self, draw: Draw) -> None:
        self.ledger.propose(self.draft(draw), self.some(draw, draw(3)))

    def do_accept(self, draw: Draw) -> None:
        for name in self.some(draw):
            self.ledger.accept(name, None if draw(2) else [])

    def do_reject(self, draw: Draw) -> None:
        for name in self.some(draw):
            self.ledger.reject(name)

    def do_quarantine(self, draw: Draw) -> None:
        for name in self.some(draw):
            self.ledger.quarantine(name, "looks odd")

    def do_release(self, draw: Draw) -> None:
        for name in self.some(draw):
            self.ledger.release(name)

    def do_pin(self, draw: Draw) -> None:
        for name in self.some(draw):
            pinned = self.raw.execute(
                "SELECT pinned FROM learning_state WHERE learning_id = ? AND to_seq IS NULL", (name,)
            ).fetchone()[0]
            (self.ledger.unpin if pinned else self.ledger.pin)(name)

    def do_alias(self, draw: Draw) -> None:
        for name in self.some(draw):
            self.ledger.alias(name, [f"word {draw(5)}" for _ in range(draw(3))])

    def do_judge(self, draw: Draw) -> None:
        one = self.some(draw) if draw(2) else []
        verdict = VERDICTS[draw(3)]
        self.ledger.judge(
            f"exp_{draw(3)}", verdict, learning=one[0] if one else None, keywords=[f"word{draw(4)}"], project="demo"
        )

    def do_summarise(self, draw: Draw) -> None:
        self.ledger.summarise(f"session {draw(2)}", "demo", f"we did {draw(5)} things")

    def do_merge(self, draw: Draw) -> None:
        for other in self.some(draw)[:1]:
            for name in self.some(draw):
                self.append(NewEvent("learning.merged", name, {"supersedes": [other]}, {}, new_event_id()))

    def do_settle(self, draw: Draw) -> None:
        for other in self.some(draw):
            for name in self.some(draw):
                if name != other:
                    self.append(NewEvent("pair.settled", name, {"other": other}, {}, new_event_id()))

    def do_trust(self, draw: Draw) -> None:
        for name in self.some(draw):
            by = ("path", "review")[draw(2)]
            self.append(NewEvent("trust.granted", name, {"by": by}, {"path": "/repo"}, new_event_id()))

    def do_set(self, draw: Draw) -> None:
        value = json.dumps({f"old-{draw(3)}": "new"})
        self.ledger.set("project_aliases", value if draw(3) else None, machine=bool(draw(2)))

    def do_source(self, draw: Draw) -> None:
        for name in self.some(draw):
            own = new_event_id()
            place = {"kind": "memory-note", "locator": f"note:/{draw(4)}.md", "path": f"/{draw(4)}.md"}
            self.append(NewEvent("source.added", name, {"source": source_id(own)}, {"source": place}, own))

    def do_unsource(self, draw: Draw) -> None:
        for name in self.some(draw):
            rows = self.raw.execute("SELECT source_id FROM source WHERE learning_id = ?", (name,)).fetchall()
            if rows:
                self.append(NewEvent("source.removed", name, {"source": rows[draw(len(rows))][0]}, {}, new_event_id()))

    def do_batch(self, draw: Draw) -> None:
        batch = self.ledger.store.head().seq + 1
        events = [NewEvent("batch.started", "ledger", {"importer": "memory-notes"}, {"paths": ["/m"]}, new_event_id())]
        for _ in range(1 + draw(3)):
            own = new_event_id()
            data, body = content(self.draft(draw)._replace(title="t"), own, "learning.recorded", (), None)
            events.append(NewEvent("learning.recorded", learning_id(own), data, body, own))
        self.append(*(event._replace(batch=batch) for event in events))

    def do_undo(self, draw: Draw) -> None:
        head = self.ledger.store.head().seq
        if head:
            self.ledger.undo(1 + draw(head), cascade=draw(3) == 0)

    def do_redo(self, draw: Draw) -> None:
        seqs = [row[0] for row in self.raw.execute("SELECT seq FROM event WHERE kind = 'event.undone'").fetchall()]
        if seqs:
            self.ledger.undo(seqs[draw(len(seqs))], cascade=draw(4) == 0)

    def do_unbatch(self, draw: Draw) -> None:
        seqs = [row[0] for row in self.raw.execute("SELECT seq FROM event WHERE kind = 'batch.started'").fetchall()]
        if seqs:
            self.ledger.undo_batch(seqs[draw(len(seqs))], cascade=bool(draw(2)))

    def do_erase(self, draw: Draw) -> None:
        head = self.ledger.store.head().seq
        if head and draw(3) == 0:
            data = {"targets": [1 + draw(head)], "blocked": [], "reason": "secret"}
            self.append(NewEvent("payload.erased", "ledger", data, {}, new_event_id()))

    def do_accept_head(self, draw: Draw) -> None:
        data = {"anchor_seq": 1 + draw(5), "anchor_hash": "ab" * 32}
        self.append(NewEvent("head.accepted", "ledger", data, {}, new_event_id()))


ACTS = tuple(name[3:] for name in dir(World) if name.startswith("do_"))
WEIGHTS = {"source": 3, "unsource": 4, "record": 4, "supersede": 4, "undo": 5, "redo": 3, "propose": 2, "accept": 2}
WEIGHTS["pin"] = 2
NAMES = [name for name in ACTS for _ in range(WEIGHTS.get(name, 1))]

histories = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 2**32)), min_size=5, max_size=40)


def play(path: Path, history: list[tuple[str, int]]) -> World:
    """Return a world in which a history has happened."""
    world = World(path)
    for name, seed in history:
        world.act(name, random.Random(seed).randrange)
    return world


def replayed(events: list[Event], meta: tuple[str, int, bytes], *steps: int) -> sqlite3.Connection:
    """Return a late follower: the log copied as it is now, projected up to each step in turn."""
    follower = sqlite3.connect(":memory:", isolation_level=None)
    create_log(follower)
    follower.execute("DROP TRIGGER meta_update_refused")
    follower.execute("UPDATE meta SET ledger_id = ?, format = ?, dedup_key = ?", meta)
    project.create(follower)
    marks = ", ".join("?" for _ in range(16))
    for event in events:
        follower.execute(f"INSERT INTO event VALUES ({marks})", event[:16])
        follower.execute(
            "INSERT INTO payload (seq, body, salt, erased_by) VALUES (?, ?, ?, ?)", (event.seq, *event[16:])
        )
    projector, done = project.Projector(follower, meta[2]), 0
    for step in steps:
        projector.apply(events[done:step])
        done = step
    return follower


def check(world: World, draw: Draw) -> None:
    """Assert what must hold after any history."""
    raw = world.raw
    events = list(world.ledger.store.events())
    live = dump(raw)
    meta = raw.execute(sql_log.META).fetchone()
    middle = draw(len(events) + 1)

    assert dump(replayed(events, meta, middle, len(events))) == live
    assert raw.execute("SELECT count(*) FROM forks").fetchone()[0] == 0
    one_each = raw.execute("SELECT learning_id FROM learning_state WHERE to_seq IS NULL").fetchall()
    assert sorted(name for (name,) in one_each) == sorted(world.ids())
    assert as_of(raw, middle) == now_states(replayed(events[:middle], meta, middle))
    assert world.ledger.verify().problems == []
    world.ledger.rebuild()
    assert dump(world.raw) == live


def as_of(raw: sqlite3.Connection, seq: int) -> list[tuple[str, str, int]]:
    """Return the states at a seq, by the periods as they are kept."""
    return raw.execute(
        "SELECT learning_id, state, pinned FROM learning_state"
        " WHERE from_seq <= ? AND (to_seq IS NULL OR to_seq > ?) ORDER BY learning_id",
        (seq, seq),
    ).fetchall()


def now_states(raw: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Return the states that hold now."""
    return raw.execute(
        "SELECT learning_id, state, pinned FROM learning_state WHERE to_seq IS NULL ORDER BY learning_id"
    ).fetchall()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(history=histories, seed=st.integers(0, 2**32))
def test_any_history_rebuilds_follows_and_verifies(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int]], seed: int
) -> None:
    """Rebuild = live = late follower, as-of = replay to that seq, one open period each, no fork, nothing to report."""
    world = play(tmp_path_factory.mktemp("history") / "ledger.db", history)

    check(world, random.Random(seed).randrange)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(history=histories, seed=st.integers(0, 2**32))
def test_undoing_an_undo_is_as_if_nothing_had_been(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int]], seed: int
) -> None:
    """For any event that can be undone, with what builds upon it or without: undo of undo restores what held."""
    world = play(tmp_path_factory.mktemp("undo") / "ledger.db", history)
    draw = random.Random(seed).randrange
    head = world.ledger.store.head().seq
    for seq in {1 + draw(head) for _ in range(6)} if head else ():
        before = now(world.raw)
        try:
            undone = world.ledger.undo(seq, cascade=True)
        except LedgerError:
            continue
        world.ledger.undo(undone.seq)

        assert now(world.raw) == before


@pytest.mark.soak
@settings(max_examples=1_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    history=st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 2**32)), max_size=120), seed=st.integers(0, 99)
)
def test_long_histories_rebuild_follow_and_verify(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int]], seed: int
) -> None:
    """The same over a thousand longer histories, drawn anew on each run."""
    world = play(tmp_path_factory.mktemp("soak") / "ledger.db", history)

    check(world, random.Random(seed).randrange)


def test_the_alphabet_of_histories_holds_every_kind(tmp_path: Path) -> None:
    """A kind that no act of the histories can make would escape every property above."""
    world = World(tmp_path / "ledger.db")
    rng = random.Random(7)
    for _ in range(700):
        world.act(rng.choice(NAMES), rng.randrange)

    kinds = {row[0] for row in world.raw.execute("SELECT DISTINCT kind FROM event").fetchall()}

    assert kinds == set(fold.STEPS)
