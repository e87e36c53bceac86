"""The rules of the screen, as they are read from `schema/screen.v1.json`.

Words are compared without accents. A rule is a *concept*, words of several
lists that meet in one sentence, or a *shape*, a pattern; `screen` and
`concepts` try them. The file is read on first use.
Lean path: stdlib only.
"""

import json
import re
import unicodedata
from typing import Any, NamedTuple

from ledger import hints, orders
from ledger.model import schema_path

_MARKS = "[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]"
"""Accents and vowel points: an order is understood without them, so words are compared without them."""

_AS_IT_IS = frozenset(("hidden", "zero_width", "hidden_run", "selectors", "flag", "tags", "bidi", "right_to_left"))
"""Patterns about characters, which accents may be part of; the others read text without accents."""


class Finding(NamedTuple):
    """Why a text is quarantined; `reason` is a fixed sentence that never quotes the text."""

    rule: str
    severity: str
    reason: str


class Concept(NamedTuple):
    """A rule that wants one word of each list in one sentence; a `wide` one also in two that follow each other."""

    finding: Finding
    lists: frozenset[str]
    act: str | None
    pattern: str | None
    wide: bool


class Shape(NamedTuple):
    """A rule that is a pattern, tried where one of its hints occurs."""

    finding: Finding
    source: str
    negatable: bool
    quotable: bool


class Rules(NamedTuple):
    """The rule file, arranged for reading; the words of a list stand in `starts` by their first three letters.

    `shapes` are those tried on folded text and those tried on the text itself, each with every hint of it.
    """

    version: int
    concepts: tuple[Concept, ...]
    shapes: tuple[tuple[tuple[str, Shape], ...], tuple[tuple[str, Shape], ...]]
    invisible: dict[str, Finding]
    patterns: dict[str, str]
    starts: dict[str, tuple[tuple[str, str], ...]]
    anywhere: tuple[tuple[str, str], ...]
    ordered: tuple[Shape, ...]
    order: tuple[Finding, ...]


_rules: Rules | None = None


def pattern(name: str) -> re.Pattern[str]:
    """Return a named pattern of the rule file."""
    patterns = loaded().patterns
    compiled: dict[str, re.Pattern[str]] = hints.made_of(patterns, lambda _: {})
    found = compiled.get(name)
    if found is None:
        found = compiled[name] = re.compile(patterns[name])
    return found


def _unaccented(patterns: dict[str, str]) -> dict[str, str]:
    return {name: text if name in _AS_IT_IS else bare(text) for name, text in patterns.items()}


def loaded() -> Rules:
    """Return the rules; the file is read once in a process."""
    global _rules
    if _rules is None:
        with open(schema_path("screen.v1.json"), encoding="utf-8") as file:
            _rules = _arranged(json.load(file))
    return _rules


def _arranged(data: dict[str, Any]) -> Rules:
    starts: dict[str, list[tuple[str, str]]] = {}
    anywhere: list[tuple[str, str]] = []
    caseless = re.compile(data["patterns"]["caseless"])
    for name, words in data["words"].items():
        for word in dict.fromkeys(map(bare, words)):
            if caseless.match(word):
                anywhere.append((word, name))
            else:
                starts.setdefault(word[:3], []).append((word, name))
    return Rules(
        version=data["version"],
        concepts=tuple(
            Concept(
                _finding(row),
                frozenset(row["all"]),
                row["all"][row.get("act", 0)] if row.get("negatable", True) else None,
                row.get("pattern"),
                row.get("wide", False),
            )
            for row in data["concepts"]
        ),
        shapes=(_hinted(data["shapes"], raw=False), _hinted(data["shapes"], raw=True)),
        invisible={row["rule"]: _finding(row) for row in data["invisible"]},
        patterns=_unaccented(data["patterns"]),
        starts={start: tuple(words) for start, words in starts.items()},
        anywhere=tuple(anywhere),
        ordered=tuple(Shape(_finding(row), "", row["negatable"], quotable=False) for row in orders.rows()),
        order=tuple(_finding(row) for part in ("invisible", "concepts", "shapes") for row in data[part])
        + tuple(map(_finding, orders.rows())),
    )


def _hinted(rows: list[dict[str, Any]], *, raw: bool) -> tuple[tuple[str, Shape], ...]:
    chosen = [row for row in rows if row.get("raw", False) is raw]
    return tuple((hint, shape) for row in chosen for shape in (_shape(row),) for hint in row["hints"])


def _shape(row: dict[str, Any]) -> Shape:
    source = row["pattern"] if row.get("raw") else bare(row["pattern"])
    return Shape(_finding(row), source, row.get("negatable", False), row.get("mention", False))


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(row["rule"], row["severity"], row["reason"])


def bare(text: str) -> str:
    """Return the text without accents and vowel points; letters of other scripts stay whole."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", re.sub(_MARKS, "", unicodedata.normalize("NFD", text)))
