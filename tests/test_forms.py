"""Forms of sentences are tried on fewer sentences, and on none too few."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_hints import PATTERNS

from importers import forms, remedies, statements
from importers.forms import Forms, parted

SOURCES = statements._FORMS._sources
WHOLE = {name: re.compile(source, re.IGNORECASE) for name, source in SOURCES.items()}


def sentences() -> list[str]:
    """Return the lines of the labelled sessions, as they stand there and as forms are looked for in them."""
    folder = Path(__file__).parent.parent / "evals" / "transcripts"
    lines = [line for path in sorted(folder.glob("*.txt")) for line in path.read_text("utf-8").splitlines()]
    return list(dict.fromkeys(text for line in lines[::5] for text in (line, line.lower(), line.partition(": ")[2])))


def test_a_sentence_has_the_forms_that_it_has_when_all_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every form on sentences of all sorts in ten languages."""
    monkeypatch.setattr(forms, "TEXTS_FEW", 0)
    by_words = Forms(SOURCES)
    counted = 0

    for text in sentences():
        had = {name for name in SOURCES if by_words.has(name, text)}
        assert had == {name for name, whole in WHOLE.items() if whole.search(text)}, text
        counted += len(had)

    assert counted > 500


def test_few_texts_are_not_worth_reading_off_what_forms_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then all is tried, and the answers are the same."""
    monkeypatch.setattr(forms, "TEXTS_FEW", 2)
    one = Forms({"asks": r"\bwhy\b|\?\s*\Z"})

    answers = [
        (one.has("asks", text), one._parts is None) for text in ("why so", "so", "why so", "so?", "so", "почему?")
    ]

    assert answers == [(True, True), (False, True), (True, False), (True, False), (False, False), (True, False)]


@given(PATTERNS, st.text(alphabet="abcdefgh 12", max_size=24))
def test_the_parts_of_a_pattern_match_where_it_does(source: str, text: str) -> None:
    """Branches, and those of a group that a branch begins with."""
    assert any(re.search(part, text) for part in parted(source)) == (re.search(source, text) is not None)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        (r"a|b[|)(]\|c|(?:d|e)?f", ["a", r"b[|)(]\|c", "(?:d|e)?f"]),
        (r"\b(?:a|(?:b|c)d) e\b", [r"\b(?:a) e\b", r"\b(?:(?:b|c)d) e\b"]),
        (r"\A(?:a|b){2}[]|]", [r"\A(?:a|b){2}[]|]"]),
    ],
)
def test_a_pattern_is_parted_where_no_bracket_is_open(source: str, parts: list[str]) -> None:
    """Classes and escapes hold no brackets; a group that is repeated stays whole."""
    assert parted(source) == parts


def test_a_bracket_that_is_not_closed_is_a_fault() -> None:
    """Such a pattern could not be made either."""
    with pytest.raises(ValueError, match="not closed"):
        parted("(?:a|b")


def test_no_form_holds_a_letter_that_is_ascii_in_another_case() -> None:
    """So that a branch that needs one cannot match a text of ASCII: long s, the signs of Kelvin, i with and without."""
    assert not any(letter in source for letter in "\u017f\u212a\u0130\u0131" for source in SOURCES.values())


@given(
    st.lists(st.sampled_from([*remedies._NAMING, "Errors", "EXPECTED", "\u017f", "a b", " ", "re", "-"]), max_size=5)
)
def test_a_line_names_an_error_when_the_pattern_says_so(words: list[str]) -> None:
    """The search for words passes over no line."""
    line = "".join(words)

    assert remedies._is_named(line) == (remedies._NAMED.search(line) is not None)
