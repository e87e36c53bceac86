"""Export, then import into an empty ledger: the same learnings, in the same states, with the same lineage."""

import random
from pathlib import Path
from typing import Any

import pytest
from dump import dump
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_histories import World

from importers.plan import plan, vanished
from importers.registry import scan_paths
from ledger import export, ingest
from ledger.audit import audit
from ledger.ledger import Ledger
from ledger.model import STATES

ACTS = ("record", "record", "supersede", "supersede", "retract", "propose", "accept", "reject", "quarantine", "release",
        "undo", "redo", "source")  # fmt: skip


def exported(ledger: Ledger, path: Path, states: tuple[str, ...] = STATES) -> list[dict[str, Any]]:
    """Write an export; return its learnings."""
    export.write(str(path), export.jsonl(ledger.reader, states, "2026-11-30T00:00:00.000000Z"))
    return list(export.learnings(ledger.reader, states))


def imported(ledger: Ledger, path: Path) -> ingest.Imported:
    """Import a file as the command does."""
    (reading,) = scan_paths([str(path)])
    return ingest.run(ledger, reading, plan, vanished)


def told(rows: list[dict[str, Any]], names: dict[str, str]) -> list[tuple[Any, ...]]:
    """Return what has to survive of learnings, under names that both ledgers share."""
    same = ("title", "problem", "solution", "category", "project", "tags", "state", "confidence")
    return sorted(
        (
            names[row["id"]],
            *(str(row[key]) for key in same),
            row["observed_at"] or row["recorded_at"],
            sorted(names[old] for old in row["supersedes"] if old in names),
            sorted(names[new] for new in row["superseded_by"] if new in names),
        )
        for row in rows
    )


def original(row: dict[str, Any]) -> str:
    """Return the id that a learning had where it was exported."""
    (place,) = {one["locator"] for one in row["sources"] if one["kind"] == "export"}
    return str(place).rpartition(":")[2]


def compared(first: Ledger, second: Ledger, folder: Path) -> None:
    """Carry everything over and compare; a second import adds nothing, and a rebuild gives what is live."""
    before = exported(first, folder / "export.jsonl")
    imported(second, folder / "export.jsonl")
    after = exported(second, folder / "again.jsonl")

    names = {row["id"]: original(row) for row in after}
    assert told(after, names) == told(before, {row["id"]: row["id"] for row in before})
    head = second.store.head()
    imported(second, folder / "export.jsonl")
    assert second.store.head() == head
    live = dump(second.store.connection())
    second.rebuild()
    assert dump(second.store.connection()) == live
    assert audit(second.store).ok


def carried(folder: Path, seed: int, length: int) -> None:
    """Play a random history of every act that changes a state, and carry it over."""
    draw = random.Random(seed)
    world = World(folder / "first.db")
    for _ in range(length):
        world.act(draw.choice(ACTS), draw.randrange)
    with Ledger.init(str(folder / "second.db")) as second:
        compared(world.ledger, second, folder)
    world.ledger.close()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), length=st.integers(1, 40))
def test_every_history_comes_back_from_its_export(
    tmp_path_factory: pytest.TempPathFactory, seed: int, length: int
) -> None:
    """States, links and dates of random histories."""
    carried(tmp_path_factory.mktemp("trip"), seed, length)


@pytest.mark.soak
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), length=st.integers(20, 120))
def test_long_histories_come_back_from_their_exports(
    tmp_path_factory: pytest.TempPathFactory, seed: int, length: int
) -> None:
    """The same of more and longer ones."""
    carried(tmp_path_factory.mktemp("trip"), seed, length)
