"""Imports converge: shuffled, ended in the middle, repeated, they bring the ledger to one state, and then add nothing.

Sources of four kinds say partly the same: two memory folders, a database of
claude-mem, its export, and an export of another ledger.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from foreign import database, export, observation, put

from importers.plan import plan, vanished
from importers.registry import scan_paths
from ledger import checkpoints, ingest, standing_places
from ledger import export as exporting
from ledger.ledger import Ledger
from ledger.model import Draft

NOTE = "---\nname: {name}\ndescription: about {name}\ntype: feedback\n---\n\n{rule}\n\n**Why:** {why}\n"
SHARED = [("the pooler refuses", "use port 6543"), ("lint is slow", "use ruff"), ("the queue drops", "split messages")]


class Killed(BaseException):
    """The import ended here; what was committed stays."""


class Sources:
    """A folder of sources, as they are at first and after somebody has worked on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = [folder / "one" / "memory", folder / "two" / "memory"]
        for number, notes in enumerate(self.notes):
            notes.mkdir(parents=True)
            for name in range(6):
                self.note(number, name, f"do {name % 4} of them in folder {number * (name % 2)}")
        self.database = folder / "claude-mem.db"
        self.connection = database(self.database)
        for number in range(1, 9):
            put(self.connection, observation(number, f"Observation {number % 6}"))
        self.export = folder / "export.json"
        self.export.write_text(json.dumps(export(*(observation(n, f"Observation {n % 6}") for n in (3, 4, 20)))))
        self.ledger = folder / "other.jsonl"
        self.paths = [*self.notes, self.database, self.export, self.ledger]
        with Ledger.init(str(folder / "other" / "ledger.db")) as other:
            for problem, solution in SHARED:
                other.record(Draft(problem, solution, "env", "demo"))
            lines = exporting.jsonl(other.reader, ("current",), "2026-11-30T00:00:00Z")
            exporting.write(str(self.ledger), lines)

    def note(self, number: int, name: int, rule: str) -> None:
        """Write a note."""
        text = NOTE.format(name=f"note {name}", rule=rule, why=f"reason {name % 3}")
        (self.notes[number] / f"note_{name}.md").write_text(text)

    def work_on(self) -> None:
        """Edit a note, add one, rename one, delete one, and add an observation."""
        self.note(0, 1, "do something else entirely")
        self.note(1, 9, "do what nobody did before")
        (self.notes[0] / "note_2.md").rename(self.notes[0] / "renamed.md")
        (self.notes[1] / "note_3.md").unlink()
        put(self.connection, observation(30, "Observation thirty"))


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sources]:
    """Return the sources; transactions are small, so that an import has many."""
    monkeypatch.setattr(ingest, "BATCH_EVENTS", 6)
    monkeypatch.setattr(ingest, "PORTION", 3)
    monkeypatch.setattr(standing_places, "MANY", 1)
    monkeypatch.setattr(checkpoints, "RACY_S", -3_600)
    made = Sources(tmp_path / "sources")
    yield made
    made.connection.close()


def bring(ledger: Ledger, paths: list[Path], ends_after: int | None = None) -> None:
    """Import these paths, with checkpoints as a scan has them; end it after so many transactions."""
    done = 0

    def progress(*_: int) -> None:
        nonlocal done
        done += 1
        if done == ends_after:
            raise Killed

    seen = ingest.seen_by(ledger)
    for reading in scan_paths(map(str, paths), "demo", seen=seen):
        ingest.run(ledger, reading, plan, vanished, progress=progress, seen=seen)
    seen.save()


def state(ledger: Ledger) -> list[tuple[str, str, str, int]]:
    """Return what is current, without ids and times."""
    statement = (
        "SELECT l.problem, l.solution, l.project, l.trust FROM learning AS l JOIN learning_state AS s"
        " ON s.learning_id = l.id AND s.to_seq IS NULL AND s.state = 'current'"
    )
    return sorted(map(tuple, ledger.store.connection().execute(statement).fetchall()))


def waiting(ledger: Ledger) -> int:
    """Return how many learnings wait for somebody."""
    statement = "SELECT count(*) FROM learning_state WHERE to_seq IS NULL AND state IN ('candidate', 'quarantined')"
    return int(ledger.store.connection().execute(statement).fetchone()[0])


@pytest.mark.parametrize("seed", range(8))
def test_shuffled_interrupted_and_repeated_imports_converge(sources: Sources, tmp_path: Path, seed: int) -> None:
    """To what one undisturbed import of everything makes, at each of two times; three more imports add nothing."""
    chance = random.Random(seed)
    with Ledger.init(str(tmp_path / "data" / "ledger.db")) as ledger:
        for time in ("first", "later"):
            for _ in range(6):
                paths = chance.sample(sources.paths, chance.randrange(1, len(sources.paths) + 1))
                try:
                    bring(ledger, paths, chance.randrange(1, 12))
                except Killed:
                    continue
            for path in chance.sample(sources.paths, len(sources.paths)):
                bring(ledger, [path])
            with Ledger.init(str(tmp_path / time / "ledger.db")) as undisturbed:
                bring(undisturbed, sources.paths)
                assert (state(ledger), waiting(ledger)) == (state(undisturbed), waiting(undisturbed))
            head = ledger.store.head()
            for _ in range(3):
                bring(ledger, chance.sample(sources.paths, len(sources.paths)))
            assert ledger.store.head() == head
            assert ledger.verify().ok
            if time == "first":
                sources.work_on()
