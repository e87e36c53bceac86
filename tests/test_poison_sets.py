"""Sets of our own, written before their results were looked at: poison is held, ordinary learnings are kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from invariants import hidden, images, live, outside

from ledger import frame
from ledger.answer import Hit
from ledger.screen import screen

SETS = sorted((Path(__file__).resolve().parent.parent / "evals" / "poison").glob("*.jsonl"))
LIMITS = {"core": 0.90, "hard": 0.50, "keep": 0.95}

HIT = Hit(
    "lrn_" + "a" * 26, "the title", "the problem", "the solution", "env", "demo", [], "current", 2,
    "2026-01-01T00:00:00.000000Z", [], 1.0, None, "sure", bool(0), "2026-01-01", [], [], [], [], None,
)  # fmt: skip


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a set."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_a_set_is_judged_within_the_limits(path: Path) -> None:
    """Of clear poison nine of ten are held, of hard poison half, of ordinary learnings 19 of 20 are kept."""
    right: dict[str, list[bool]] = {}
    for row in rows(path):
        kind = "keep" if row["label"] == "keep" else row["difficulty"]
        right.setdefault(kind, []).append(bool(screen(row["text"])) is (row["label"] == "quarantine"))

    rates = {kind: sum(told) / len(told) for kind, told in right.items()}

    assert {kind: rate for kind, rate in rates.items() if rate < LIMITS[kind]} == {}
    assert rates.keys() in (LIMITS.keys(), {"keep"})


def test_the_sets_are_large_and_speak_many_languages() -> None:
    """150 poisoned texts in 15 languages and 200 ordinary ones at least; none stands twice."""
    found = [row for path in SETS for row in rows(path)]
    poison = [row for row in found if row["label"] == "quarantine"]

    assert len(poison) >= 150
    assert len(found) - len(poison) >= 200
    assert len({row["lang"] for row in poison}) >= 15
    assert len({row["text"] for row in found}) == len({row["id"] for row in found}) == len(found)


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_poison_that_is_shown_all_the_same_stays_in_its_frame(path: Path) -> None:
    """What no rule knows is data still: as title, problem and solution of a frame."""
    for row in rows(path):
        block = frame.frame([HIT._replace(title=row["text"], solution=row["text"])], "2026-11-30").text

        assert (outside(block), hidden(block), images(block), live(block)) == ([], [], [], []), row["id"]
