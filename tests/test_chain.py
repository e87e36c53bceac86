"""Bytes and hashes: canonical JSON against an RFC 8785 implementation, the chain against known answers."""

import hashlib
import hmac
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ledger import chain
from ledger.model import Event

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"))
KEYS = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
WHOLE = st.integers(-chain.GREATEST_INTEGER, chain.GREATEST_INTEGER)
VALUES = st.recursive(
    st.none() | st.booleans() | WHOLE | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_canonical_bytes_are_those_of_rfc_8785(value: dict[str, Any]) -> None:
    """Within the profile the standard encoder and a full implementation agree byte for byte."""
    assert chain.canonical(value) == rfc8785.dumps(value)


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_canonical_bytes_read_back_as_what_was_written(value: dict[str, Any]) -> None:
    """Nothing is lost, so the bytes may be stored in the place of the value."""
    assert json.loads(chain.canonical(value)) == value


@pytest.mark.parametrize(
    "text",
    ['"\\/\b\f\n\r\t', "\x01\x1f\x7f\x80", "\u2028\u2029", "\ue000\uffff", "\U0001f600\U0010ffff", "e\u0301\u00e9"],
)
def test_characters_with_rules_of_their_own_agree(text: str) -> None:
    """Escapes, controls, line separators, private use, astral planes; and nothing is normalised."""
    assert chain.canonical({"a": text}) == rfc8785.dumps({"a": text})


def test_a_tuple_is_a_list() -> None:
    """Records hold tuples; their bytes are those of a list."""
    assert chain.canonical({"tags": ("a", "b")}) == b'{"tags":["a","b"]}'


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"a": 1.0}, "a float"),
        ({"a": float("nan")}, "a float"),
        ({"a": [{"b": 2**53}]}, "an integer beyond"),
        ({"a": -(2**53)}, "an integer beyond"),
        ({"a": "x\0"}, "U\\+0000"),
        ({"a": ["\ud800"]}, "half of a surrogate pair"),
        ({"A": 1}, "a foreign key"),
        ({"a\n": 1}, "a foreign key"),
        ({"a": {"b c": 1}}, "a foreign key"),
        ({"": 1}, "a foreign key"),
        ({1: 1}, "a foreign key"),
        ({"a": b"bytes"}, "a bytes"),
        ({"a": {1, 2}}, "a set"),
    ],
)
def test_what_lies_outside_the_profile_is_refused(value: Any, fault: str) -> None:
    """Floats, large integers, foreign keys, U+0000, half surrogates and other types never reach the log."""
    with pytest.raises(chain.NotCanonical, match=fault):
        chain.canonical(value)


# -- hashes ----------

ENVELOPE = (1, "id", "lrn_x", 1, "learning.recorded", 1, "time", "person", None, "cli", 4, None, '{"a":"\n"}')
LINES = b"1\nid\nlrn_x\n1\nlearning.recorded\n1\ntime\nperson\n\ncli\n4\n\n" + b'{"a":"\n"}'


def event(**changes: Any) -> Event:
    """Return a stored event that is in order, but for `changes`."""
    salt, body = b"s" * 32, b'{"title":"t"}'
    commitment = hashlib.sha256(b"\x02" + salt + body).digest()
    previous = chain.genesis("ledger")
    link = hashlib.sha256(b"\x01" + previous + hashlib.sha256(LINES).digest() + commitment).digest()
    return Event(*ENVELOPE, commitment, previous, link, body, salt, None)._replace(**changes)


def test_hashes_are_what_the_documentation_says() -> None:
    """Anybody can check a log with SHA-256 alone: tags 0, 1, 2 keep the three uses apart."""
    assert chain.genesis("ledger") == hashlib.sha256(b"\x00ledger\n1").digest()
    assert chain.envelope(*ENVELOPE) == LINES
    assert chain.faults(event(), chain.genesis("ledger")) == []


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({"prev_hash": b"p" * 32}, ["prev_hash", "hash"]),
        ({"body": b"{}"}, ["commitment"]),
        ({"salt": b"t" * 32}, ["commitment"]),
        ({"commitment": b"c" * 32}, ["commitment", "hash"]),
        ({"hash": b"h" * 32}, ["hash"]),
        ({"trust": 0}, ["hash"]),
        ({"actor_id": "x"}, ["hash"]),
        ({"batch": 1}, ["hash"]),
        ({"body": None, "salt": None, "erased_by": 9}, []),
    ],
)
def test_faults_name_what_does_not_fit(changes: dict[str, Any], faults: list[str]) -> None:
    """Each part is compared with what it was made of; an erased payload has nothing to compare."""
    assert chain.faults(event(**changes), chain.genesis("ledger")) == faults


def test_an_event_after_another_one_is_a_fault() -> None:
    """The chain is to the event before, not only within the event."""
    assert chain.faults(event(), b"q" * 32) == ["prev_hash"]


NULLABLE = st.none() | st.text(st.characters(exclude_characters="\n", codec="utf-8"), min_size=1)
LINE = st.text(st.characters(exclude_characters="\n", codec="utf-8"))
ENVELOPES = st.tuples(
    st.integers(1), LINE, LINE, st.integers(1), LINE, st.integers(1), LINE, LINE, NULLABLE, LINE, st.integers(0, 4)
)


@given(ENVELOPES, ENVELOPES, st.none() | st.integers(1), TEXTS, TEXTS)
def test_two_envelopes_never_share_bytes(
    one: tuple[Any, ...], other: tuple[Any, ...], batch: int | None, data: str, more: str
) -> None:
    """With no line feed outside `data` and no empty text for NULL, fields cannot run into each other."""
    first, second = (*one, batch, data), (*other, batch, more)

    assert (chain.envelope(*first) == chain.envelope(*second)) == (first == second)


# -- keys for lookups ----------


def test_lookup_keys_are_hmacs_kept_apart_by_purpose() -> None:
    """The same text as content and as place gives two keys, and neither is a bare digest."""
    key = b"k" * 32

    assert chain.keyed(key, "content", "x") == hmac.digest(key, b"content\nx", "sha256")
    assert chain.keyed(key, "content", "x") != chain.keyed(key, "locator", "x")
    assert chain.locator_key(key, "x") == chain.keyed(key, "locator", "x")
    assert chain.locator_key(b"l" * 32, "x") != chain.locator_key(key, "x")


def test_content_is_the_same_whatever_its_white_space() -> None:
    """Runs of blanks and line ends count as one; letters, case and the border between fields count."""
    key = b"k" * 32
    same = chain.content_key(key, "a b", "c", "*")

    assert chain.content_key(key, " a\r\n\tb ", "c\n", "*") == same
    assert chain.content_key(key, "A b", "c", "*") != same
    assert chain.content_key(key, "a", "b c", "*") != same
    assert chain.content_key(key, "a b", "c", "demo") != same


def test_a_place_that_is_no_unicode_has_a_key() -> None:
    """File names may hold bytes that are no UTF-8; Python keeps them as half surrogates."""
    assert len(chain.locator_key(b"k" * 32, "caf\udce9.md")) == 32
