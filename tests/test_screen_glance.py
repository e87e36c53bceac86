"""What spares the screen most of its work spares it nothing that could be found."""

import itertools
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import concepts, hints, orders, screen
from ledger.screen_rules import bare, loaded, pattern

WORDS = [word for ones in loaded().starts.values() for word, _ in ones] + [word for word, _ in loaded().anywhere]
SEPARATORS = st.sampled_from((" ", " ", " ", ". ", "; ", "\n", "\n\n", "\n- ", ", ", "/", "-", " , ", "。", "  "))
ENTRIES = st.sampled_from(WORDS) | st.sampled_from(("the", "file", "https://a.example.net/x", "x" * 390, "é", "n"))
POISON = [
    text
    for path in sorted((Path(__file__).parent.parent / "evals" / "poison").glob("*.jsonl"))
    for line in path.read_text("utf-8").splitlines()
    for text in json.loads(line).values()
    if isinstance(text, str) and len(text) > 40
]


def written(alphabet: str) -> st.SearchStrategy[str]:
    """Return texts of these letters."""
    return st.lists(st.sampled_from(alphabet), max_size=60).map("".join)


def joined(pieces: list[tuple[str, str]]) -> str:
    """Return entries and what parts them as one text."""
    return "".join(itertools.chain.from_iterable(pieces))


TEXTS = st.lists(st.tuples(ENTRIES, SEPARATORS), max_size=14).map(joined)


@given(written("ab ._-*"))
def test_gaps_within_words_are_looked_for_where_their_sign_stands(text: str) -> None:
    """A text with letters set apart, and words further apart, has one pair of letters like that."""
    assert screen._shows("spaced_words", text) or pattern("spaced_words").search(text) is None


@given(written("aA0+/-_= ").map(lambda text: text * 3))
def test_base64_is_looked_for_where_its_sign_stands(text: str) -> None:
    """Long enough a run of its letters."""
    assert screen._shows("base64", text) or pattern("base64").search(text) is None


@given(st.lists(st.sampled_from(("ab", "0f", "0x1f", "\\x41", " ", ":", ", ", "g", "\n")), max_size=40).map("".join))
def test_hexadecimal_is_looked_for_where_a_sign_stands(text: str) -> None:
    """Pairs with blanks or colons between, a prefix, or a long run."""
    signs = screen._shows("base64", text) or "0x" in text or "\\x" in text or screen._shows("pairs", text)

    assert signs or pattern("hex").search(text) is None


@given(written("aB.0é \t\n\n\r\u3000"))
def test_paragraphs_are_those_between_broken_sentences(text: str) -> None:
    """As the pattern of the rule file splits them, read from its beginning to its end."""
    assert screen._paragraphs(text) == pattern("broken").split(text)


@given(TEXTS)
def test_the_entries_of_a_sentence_are_those_that_stand_in_it(text: str) -> None:
    """Each where a word begins; entries of fewer than three letters count nowhere."""
    words = concepts._words(bare(text.lower()))
    listed = {one for ones in loaded().starts.values() for one in ones if len(one[0]) >= concepts.ENTRY_MIN}

    found = set(concepts._entries(hints.made_of(loaded(), concepts._arranged), words))

    assert found == {(" " + entry, name) for entry, name in listed if " " + entry in words}


@given(TEXTS)
def test_a_text_that_is_passed_over_has_no_rule_s_words_in_one_sentence(text: str) -> None:
    """The rules that fire are the same when every text is read sentence by sentence."""
    view = bare(text.lower())
    found = set(concepts.meeting(loaded(), view))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(concepts, "_standing", lambda index, text: None)

        assert set(concepts.meeting(loaded(), view)) == found


def test_attacks_are_passed_over_by_nothing() -> None:
    """The same for the sets of attacks, joined by twos as well."""
    texts = [*POISON[::3], *(f"{one} {other}" for one, other in zip(POISON[::7], POISON[3::7], strict=False))]
    views = [bare(text.lower()) for text in texts]
    found = [set(concepts.meeting(loaded(), view)) for view in views]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(concepts, "_standing", lambda index, text: None)

        assert [set(concepts.meeting(loaded(), view)) for view in views] == found
    assert sum(map(bool, found)) > 100


@given(
    st.lists(
        st.sampled_from((*POISON[:40], "\n", "\n\n", " \n\t\n", "?!", "a-b", "~/.x", "…", "\x1c", "'s")), max_size=5
    )
)
def test_a_text_is_read_in_stretches_as_it_is_read_whole(pieces: list[str]) -> None:
    """There is one letter for each token, and sentences end and clauses part at the same ones."""
    text = "".join(pieces).lower()
    tokens = list(orders._tokens(text))

    code = orders._read(orders._loaded(), text)

    assert len(code) == len(tokens) + 1
    for letter, token in zip(code[1:], tokens, strict=True):
        assert (letter == ";", letter == ",") == (token.lastgroup == "end", token.lastgroup == "mark")


def test_orders_of_the_rule_file_need_what_their_patterns_have() -> None:
    """No pattern of an order matches a text of which the letters lack one of its steps."""
    rules = orders._loaded()
    matched = 0
    for text in POISON[::2]:
        code = orders._read(rules, text.lower())
        there = 0
        for letter in set(code):
            there |= rules.bits.get(letter, 0)
        for order in rules.orders:
            if all(re.search(source, code) for source in order.patterns):
                matched += 1
                assert there & order.needs == order.needs
    assert matched > 100
