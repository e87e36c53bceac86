"""Rules are looked for where a hint may stand: none that stands in a text is passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_texts import FIRST, FIRST_KEPT, texts

from ledger import redact, secret_hints, secret_rules
from ledger.secret_hints import NAMES, SHAPES, SHORT, STARTS, Memory

RULES = secret_rules.loaded()
TABLES = {STARTS: RULES.starts, SHAPES: RULES.shapes, SHORT: RULES.short, NAMES: RULES.contexts}
HINTS = [hint for table in TABLES.values() for hint, *_ in table] + [hint for hint, *_ in RULES.foreign]
PIECES = st.one_of(
    st.sampled_from(HINTS),
    st.sampled_from(HINTS).map(str.upper),
    st.sampled_from(HINTS).map(lambda hint: hint[: len(hint) // 2 + 1]),
    st.text(alphabet="aks4_-. \n\u00a0é—", max_size=6),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)
MEMORY = Memory(RULES)
MEMORY._left = 0
"""One for all texts, as in an import: what it knows of runs comes from those before."""


def standing(text: str) -> list[tuple[int, str]]:
    """Return the hints that stand in a text, each with its table, in the order of the rules."""
    folded = text.lower()
    found = [
        (table, hint)
        for table, rows in TABLES.items()
        for hint, *_ in rows
        if hint in (folded if table == NAMES else text)
    ]
    return found + [(NAMES, hint) for hint, *_ in RULES.foreign if hint in folded]


def named(memory: Memory, text: str) -> list[str]:
    """Return the hints that are named and stand in a text."""
    in_words, in_text = memory.among(text)
    return [one.hint for one in (*in_words, *in_text) if (one.table, one.hint) in standing(text)]


@given(TEXTS)
def test_a_hint_that_stands_in_a_text_is_named(text: str) -> None:
    """In the order of the rules, whatever stands beside it and whatever was looked through before."""
    in_words, in_text = MEMORY.among(text)
    told = [(one.table, one.hint) for one in (*in_words, *in_text)]

    there = standing(text)

    assert [one for one in told if one in set(there)] == there
    assert {one.table for one in in_words} <= {STARTS, SHAPES}


def test_most_hints_are_not_named() -> None:
    """A sentence leaves a handful of 700: those without two letters, and those whose letters stand in it."""
    in_words, in_text = MEMORY.among("the build is slow when the cache is cold, so we warm it first")

    assert len(in_words) + len(in_text) < 60


def test_runs_are_forgotten_and_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two generations the older goes, and before there are enough texts none is kept; the answers stay."""
    monkeypatch.setattr(secret_hints, "RUNS_MAX", 3)
    monkeypatch.setattr(secret_hints, "TEXTS_FEW", 4)
    memory = Memory(RULES)
    given_texts = ["my password here", "nothing at all of it", "token", "my password here", "x" * 99 + "token"] * 3

    assert [named(memory, text) for text in given_texts] == [named(MEMORY, text) for text in given_texts]


def test_a_shape_that_begins_with_its_hint_is_found_as_before() -> None:
    """Looked for at the hint alone, in texts of all sorts; and it is told of some rules and not of others."""
    given_texts = [one.text for one in (*texts(FIRST, 1, "begin"), *texts(FIRST_KEPT, 1, "begin"))]
    told = set()

    for hint, rule in (
        (hint, rule) for table in (RULES.short, RULES.shapes) for hint, rules, _ in table for rule in rules
    ):
        told.add(secret_rules.begins(rule, hint))
        for text in (one for one in given_texts if hint in one):
            found = [match.span() for match in redact._matches(rule, hint, text, 0, len(text))]
            assert found == [match.span() for match in secret_rules.shape(rule).finditer(text)]

    assert told == {True, False}


@pytest.mark.parametrize(
    ("source", "begins"),
    [
        ("(?:(?<=a)|(?<=bc))://x", True),
        (r"(?<!\w)\b://", True),
        ("(?:(?<=a)|b)://", False),
        ("(?:(?<=a)(?!b))://", True),
        ("a://|://b", False),
        (":+//", False),
        ("(://", False),
    ],
)
def test_what_a_pattern_begins_with_is_read_off_it(source: str, begins: bool) -> None:
    """Looking round takes no room; what cannot be read is looked for everywhere."""
    assert secret_rules._begins(source, "://") is begins
