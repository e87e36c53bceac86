"""Rules are tried on fewer texts, and on none too few: what is passed over could not have matched."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import hints, needed, screen
from ledger.hints import Ruled

LETTERS = st.text(alphabet="abc .\n\u3000é", max_size=30)


@given(st.lists(st.text(alphabet="abc .\n", max_size=6), max_size=8, unique=True), st.lists(LETTERS, max_size=6))
def test_the_hints_of_a_text_are_those_that_occur_in_it(given_hints: list[str], texts: list[str]) -> None:
    """Short ones, blank ones, ones of several words; in texts whose words were seen before and in others."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hints, "HINTS_FEW", 0)
        patched.setattr(hints, "TEXTS_FEW", 3)
        finder = Ruled([(hint, at) for at, hint in enumerate(given_hints)], [""] * len(given_hints))

        for text in texts:
            assert finder.among(text) == [at for at, hint in enumerate(given_hints) if hint in text]


def test_words_are_forgotten_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two generations the older goes; a long word is never kept."""
    monkeypatch.setattr(hints, "WORDS_MAX", 2)
    asked: list[str] = []
    known = hints.Remembered(lambda word: (asked.append(word), (len(word),))[1])

    found = [known(word) for word in ("a", "bb", "a", "ccc", "x" * 99, "x" * 99)]

    assert found == [(1,), (2,), (1,), (3,), (99,), (99,)]
    assert asked == ["a", "bb", "ccc", "x" * 99, "x" * 99]


def test_a_pattern_tells_what_it_needs() -> None:
    """Ends and common beginnings of words, optional parts, and one way for each branch of the whole."""
    (way,) = needed.ways(r"\b(?:delete|drop)s?\b[^.]{0,30}\b(?:all )?notes?")

    assert way[0] == {"delete", "deletes", "drop", "drops"}
    assert way[1] == {"all note", "all notes", "note", "notes"}
    assert needed.ways(r"\bone\b.*two|\bthree\d+four") == (
        (frozenset({"one"}), frozenset({"two"})),
        (frozenset({"three"}), frozenset({"four"})),
    )


@pytest.mark.parametrize("source", ["a", "[a-z]+", "(?i)word", "(?i:word)", "(?:word)?", "word|", "(?:word|.)", "wor["])
def test_what_cannot_be_told_needs_nothing(source: str) -> None:
    """Such a pattern is tried on every text."""
    assert () in needed.ways(source)


ATOMS = st.sampled_from(("ab", "cde", "f", "[gh]", "[a-z]", ".", r"\w", r"\b", " ", "(?=a)", r"\d{2}"))
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=4).map(lambda ones: f"(?:{'|'.join(ones)})"),
        st.tuples(inner, st.sampled_from(("?", "*", "+", "{2,3}", "+?"))).map(lambda two: f"(?:{two[0]}){two[1]}"),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
    ),
    max_leaves=8,
)


def holds(source: str, text: str) -> bool:
    """Tell whether a text has what a pattern needs, in one of its ways."""
    return any(all(any(word in text for word in group) for group in way) for way in needed.ways(source))


@given(PATTERNS, st.text(alphabet="abcdefgh 12", max_size=24))
def test_a_text_that_a_pattern_matches_has_what_it_needs(source: str, text: str) -> None:
    """For patterns of any form; most of these texts match some of them."""
    assert re.search(source, text) is None or holds(source, text)


def test_what_the_rules_of_the_screen_match_has_what_they_need() -> None:
    """Every rule on every text of the sets of attacks, as the screen reads it."""
    folder = Path(__file__).parent.parent / "evals" / "poison"
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    texts = [text for line in lines for text in json.loads(line).values() if isinstance(text, str) and len(text) > 40]
    rules = {shape.source: needed.ways(shape.source) for _, shape in screen.loaded().shapes[False]}
    matched = 0

    for text in texts[::5]:
        view = screen.bare(next(iter(screen._views(text))))
        for source in (one for one in rules if re.search(one, view)):
            matched += 1
            assert holds(source, view), (source, view)

    assert matched > 100


def test_a_pattern_is_tried_where_all_that_it_needs_occurs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before enough texts have come its hint is enough."""
    monkeypatch.setattr(hints, "TEXTS_FEW", 2)
    monkeypatch.setattr(hints, "HINTS_FEW", 0)
    ruled = Ruled([("note", 0), ("memo", 0), ("user", 1)], [r"delete\W+(?:note|memo)", r"user\d"])

    assert ruled.among("a note for a user") == [0, 1]
    assert ruled.among("a note for a user") == [1]
    assert ruled.among("delete a note") == [0]
    assert ruled.among("delete a user") == [1]
    assert ruled.among("delete all") == []
