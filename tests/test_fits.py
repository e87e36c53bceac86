"""The quick check of events says yes only where the whole validator does."""

import copy
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ledger import fits
from ledger.model import schema_path

EVENTS = sorted(os.listdir(schema_path("events")))
SCHEMAS = [name for name in EVENTS if name.endswith(".json")]
EXAMPLES = {
    r"^src_[a-z2-7]{26}$": "src_" + "a" * 26,
    r"^lrn_[a-z2-7]{26}$": "lrn_" + "a" * 26,
    r"^[0-9a-f]{64}$": "0f" * 32,
    r"^[0-9a-f]{32}$": "0f" * 16,
}
"""A text for each pattern that a shorter guess does not fit."""

GUESSES = ("a", "a-b", "a_b", "aa", "abc.d", "2026-11-30T02:47:56Z", "00" * 32, "a" * 36)
NUMBERS = (-1, 0, 1, 2**60, True, 1.0, 1.5)
WRONG: tuple[Any, ...] = (None, "", "x" * 20_000, "x\n", *NUMBERS, [], ["a", "a"], [1], {}, {"a": 1})


def loaded(name: str) -> dict[str, Any]:
    """Return one schema."""
    with open(schema_path("events", name), encoding="utf-8") as file:
        schema: dict[str, Any] = json.load(file)
    return schema


def example(schema: dict[str, Any]) -> Any:
    """Return a value with everything a schema allows, that fits it."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: example(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [example(schema["items"])]
    if schema["type"] == "integer":
        return max(schema["minimum"], 1)
    valid = Draft202012Validator(schema).is_valid
    return next(text for text in (EXAMPLES.get(schema.get("pattern", "")), *GUESSES) if text and valid(text))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, (*path, key))


def variants(whole: Any) -> Iterator[Any]:
    """Yield a value with one part replaced, removed or added, for every part."""
    for *before, last in (path for path in places(whole) if path):
        for wrong in WRONG:
            changed = copy.deepcopy(whole)
            inside(changed, before)[last] = wrong
            yield changed
        changed = copy.deepcopy(whole)
        del inside(changed, before)[last]
        yield changed
    for path in [path for path in places(whole) if isinstance(inside(whole, path), dict)]:
        changed = copy.deepcopy(whole)
        inside(changed, path)["more"] = 1
        yield changed


def inside(value: Any, path: Any) -> Any:
    """Return what lies at a path."""
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_of_an_event_is_understood_whole(name: str) -> None:
    """A keyword that the quick check does not know would send every event of that kind the slow way."""
    schema = loaded(name)

    assert fits.compiled(schema)(example(schema))


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_fits_quickly_is_valid(name: str) -> None:
    """Of every value one change away from a valid one, none is let through that the validator refuses."""
    schema = loaded(name)
    check, validator = fits.compiled(schema), Draft202012Validator(schema)
    tried = list(variants(example(schema)))

    passed = [value for value in tried if check(value)]

    assert [value for value in passed if not validator.is_valid(value)] == []
    assert len(passed) < len(tried)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date"},
        {"type": "number"},
        {"anyOf": [{"type": "string"}]},
        {"type": "object", "additionalProperties": True, "required": [], "properties": {}},
    ],
)
def test_another_keyword_is_left_to_the_whole_validator(schema: dict[str, Any]) -> None:
    """What is not understood here is never said to fit."""
    values: tuple[Any, ...] = ("2026-11-30", 1, {})

    assert not any(fits.compiled(schema)(value) for value in values)
