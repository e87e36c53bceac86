"""The project's own labelled cases: what they promise of themselves, and that nothing got worse."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).parent.parent / "evals"
sys.path.insert(0, str(HOME))

import baseline  # noqa: E402

WORD = re.compile(r"[^\W_]+(?:[._:/\\+-]+[^\W_]+)*")


def rows(name: str, file: str) -> list[dict[str, Any]]:
    """Return the rows of one file of a set."""
    return [json.loads(line) for line in (HOME / name / file).read_text("utf-8").splitlines()]


def four_in_a_row(text: str) -> set[tuple[str, ...]]:
    """Return every four words that stand together; a name with dots or dashes is one word."""
    words = WORD.findall(text.lower())
    return {tuple(words[at : at + 4]) for at in range(len(words) - 3)}


def shared(name: str) -> Iterator[str]:
    """Yield the id of every prompt that repeats four words of what it wants."""
    learnings = {row["key"]: row for row in rows(name, "learnings.jsonl")}
    for case in rows(name, "queries.jsonl"):
        asked = four_in_a_row(case["prompt"]) | four_in_a_row(case["previous_turn"] or "")
        for key in case["relevant"]:
            if asked & (four_in_a_row(learnings[key]["problem"]) | four_in_a_row(learnings[key]["solution"])):
                yield case["id"]


@pytest.mark.parametrize("name", baseline.SETS)
def test_a_set_is_large_and_mixed(name: str) -> None:
    """Over 120 learnings and 180 prompts, 40 of them long, a third and more of them quiet."""
    cases = rows(name, "queries.jsonl")

    assert len(rows(name, "learnings.jsonl")) >= 120
    assert len(cases) >= 180
    assert sum(len(case["prompt"]) >= 300 for case in cases) >= 40
    assert sum(not case["relevant"] for case in cases) >= len(cases) / 3


@pytest.mark.parametrize("name", baseline.SETS)
def test_no_prompt_repeats_four_words_of_what_it_wants(name: str) -> None:
    """Who wrote the prompts saw an outline of the situation and never the learning."""
    assert list(shared(name)) == []


@pytest.mark.parametrize("name", baseline.SETS)
def test_nothing_is_found_or_silenced_worse_than_before(name: str) -> None:
    """The figures of `evals/baseline.json`, less what two or three prompts weigh; counts of mistakes may not grow."""
    assert baseline.losses(name, baseline.measured(name)) == []
