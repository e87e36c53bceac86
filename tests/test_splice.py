"""Editing JSON as text changes what is meant and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import splice

KEYS = st.text(max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
LAYOUTS = st.sampled_from(((None, (", ", ": ")), (None, (",", ":")), (2, None), (4, None), ("\t", None)))


def text_of(document: Any, layout: Any, newline: str = "\n") -> str:
    """Return a document as somebody might have written it."""
    indent, separators = layout
    return json.dumps(document, indent=indent, separators=separators, ensure_ascii=False).replace("\n", newline)


@given(st.dictionaries(KEYS, VALUES, max_size=4), LAYOUTS, st.sampled_from(("\n", "\r\n")), VALUES)
def test_what_is_put_in_and_taken_out_leaves_the_text_as_it_was(
    document: dict[str, Any], layout: Any, newline: str, value: Any
) -> None:
    """To the byte, in every layout; in between the text says exactly one thing more."""
    text = text_of(document, layout, newline)

    put = splice.put(text, splice.root(text), "new key", value, splice.style_of(text))
    took = splice.take(put, splice.root(put), len(splice.parts(put, splice.root(put))) - 1)

    assert json.loads(put) == {**document, "new key": value}
    assert took == text


@given(st.lists(VALUES, min_size=1, max_size=4), LAYOUTS, st.data())
def test_any_item_can_be_taken_out(items: list[Any], layout: Any, data: st.DataObject) -> None:
    """First, last or between: the others stay, in their order."""
    text = text_of({"a": items}, layout)
    index = data.draw(st.integers(0, len(items) - 1))
    at = splice.find(text, ("a",))
    assert at is not None

    took = splice.take(text, at, index)

    assert json.loads(took) == {"a": items[:index] + items[index + 1 :]}


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), LAYOUTS, VALUES)
def test_a_value_can_be_replaced(document: dict[str, Any], layout: Any, value: Any) -> None:
    """The key and all others stay."""
    text = text_of(document, layout)
    part = splice.parts(text, splice.root(text))[0]

    changed = splice.replace(text, part, value, splice.style_of(text))

    assert json.loads(changed) == {**document, part.key: value}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', '{"a": 1, "b": [1]}'),
        ('{"a":1}', '{"a":1,"b":[1]}'),
        ("{}", '{\n  "b": [\n    1\n  ]\n}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"b": [\n\t\t1\n\t]\n}\n'),
        ('{\r\n   "a": 1\r\n}', '{\r\n   "a": 1,\r\n   "b": [\r\n      1\r\n   ]\r\n}'),
        ('{\n\n  "a": 1\n}', '{\n\n  "a": 1,\n  "b": [\n    1\n  ]\n}'),
    ],
)
def test_a_part_is_written_as_its_neighbours_are(text: str, expected: str) -> None:
    """Indentation, line ends and spaces are taken from the text."""
    found = splice.put(text, splice.root(text), "b", [1], splice.style_of(text))

    assert found == expected


def test_of_a_key_that_repeats_the_last_one_counts() -> None:
    """As it does for whoever parses the text."""
    text = '{"a": {"b": 1}, "a": {"b": 2}}'

    at = splice.find(text, ("a", "b"))

    assert at is not None
    assert text[at] == "2"
    assert splice.find(text, ("a", "b", "c")) is None
    assert splice.find(text, ("x",)) is None
