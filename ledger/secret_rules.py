"""The rules that find secrets, from `schema/secrets.v1.json`: read once, arranged by where they are looked for.

A rule is data: a kind, literal hints, a pattern that is compiled where a hint
occurs, and the name of the judgment (`secret_judge.py`) that its value must
pass. A file that is missing or wrong raises, so that nothing is stored.
Lean path: stdlib only.
"""

import json
import re
from typing import Any, NamedTuple

from ledger.model import schema_path

FILE = "secrets.v1.json"


class Rule(NamedTuple):
    """One rule; `order` is the place of its kind in the file, the more specific first.

    With a `reach`, values are looked for so many characters after a match; without
    a `value` pattern they are words of a sentence. `after` names what the command
    line before must hold. `is_whole` tokens have one length.
    """

    order: int
    kind: str
    hints: tuple[str, ...]
    source: str
    flags: int
    check: str
    reach: int
    value: str | None
    after: tuple[str, ...]
    is_whole: bool


Hinted = tuple[tuple[str, tuple[Rule, ...], bool], ...]
"""Rules by hint, so that each hint is looked for once in a text; True for hints of several words."""


class Rules(NamedTuple):
    """The rule file, arranged by where its hints are looked for."""

    version: int
    starts: Hinted
    shapes: Hinted
    short: Hinted
    contexts: Hinted
    foreign: Hinted
    commands: Hinted
    published: dict[int, frozenset[str]]
    words: dict[str, frozenset[str]]
    strong: tuple[str, ...]
    innocent: tuple[str, ...]
    pairs: str
    patterns: dict[str, str]
    compiled: dict[str, re.Pattern[str]]
    shapes_of: dict[tuple[str, int], re.Pattern[str]]
    begun: dict[tuple[str, str], bool]


_rules: Rules | None = None


def loaded() -> Rules:
    """Return the rules; the file is read once in a process.

    Raises:
        OSError, ValueError, KeyError: the rule file is missing or wrong; store nothing.
    """
    global _rules
    if _rules is None:
        with open(schema_path(FILE), encoding="utf-8") as file:
            _rules = arranged(json.load(file))
    return _rules


def version() -> int:
    """Return the version of the rules; better rules can scan again what older ones let pass."""
    return loaded().version


def pattern(name: str) -> re.Pattern[str]:
    """Return a named pattern of the rule file."""
    rules = _rules or loaded()
    found = rules.compiled.get(name)
    if found is None:
        found = rules.compiled[name] = re.compile(rules.patterns[name])
    return found


def shape(rule: Rule) -> re.Pattern[str]:
    """Return what a rule matches, made on first use; Python itself keeps 512 patterns, fewer than there are rules."""
    shapes = (_rules or loaded()).shapes_of
    found = shapes.get((rule.source, rule.flags))
    if found is None:
        found = shapes[rule.source, rule.flags] = re.compile(rule.source, rule.flags)
    return found


def begins(rule: Rule, hint: str) -> bool:
    """Tell whether all that a rule matches begins with a hint; False when that cannot be read off its pattern."""
    begun = (_rules or loaded()).begun
    found = begun.get((rule.source, hint))
    if found is None:
        found = begun[rule.source, hint] = _begins(rule.source, hint)
    return found


def _begins(source: str, hint: str) -> bool:
    try:
        from re import _parser  # type: ignore[attr-defined]

        items = list(_parser.parse(source))
        while items and _width(*items[0]) == 0:
            items.pop(0)
        return [("LITERAL", ord(letter)) for letter in hint] == [(str(op), value) for op, value in items[: len(hint)]]
    except (ImportError, AttributeError, TypeError, ValueError, re.error):
        return False


def _width(op: Any, value: Any) -> int:
    """Return the most room that an item takes, -1 when it is not looked for."""
    if str(op) in ("AT", "ASSERT", "ASSERT_NOT"):
        return 0
    if str(op) == "SUBPATTERN":
        return int(value[3].getwidth()[1])
    return max(int(branch.getwidth()[1]) for branch in value[1]) if str(op) == "BRANCH" else -1


def arranged(data: dict[str, Any]) -> Rules:
    """Return the content of a rule file, ready for use."""
    contexts = _by_hint([_rule(data, row, row["pattern"], re.IGNORECASE) for row in data["contexts"]])
    words = data["words"]
    return Rules(
        version=data["version"],
        starts=_by_hint([_rule(data, row, _prefixed(row)) for row in data["prefixes"]]),
        shapes=_by_hint([_rule(data, row, row["pattern"]) for row in data["shapes"] if not row.get("short")]),
        short=_by_hint([_rule(data, row, row["pattern"]) for row in data["shapes"] if row.get("short")]),
        contexts=tuple(row for row in contexts if row[0].isascii()),
        foreign=tuple(row for row in contexts if not row[0].isascii()),
        commands=_by_hint([_rule(data, row, row["pattern"]) for row in data["commands"]]),
        published=_by_length(data["published"]),
        words={name: frozenset(words[name]) for name in ("placeholder", "state", "code", "common")},
        strong=tuple(words["strong"]),
        innocent=tuple(words["innocent"]),
        pairs="".join(data["pairs"]),
        patterns={name: _filled(data, text) for name, text in data["patterns"].items()},
        compiled={},
        shapes_of={},
        begun={},
    )


def _prefixed(row: dict[str, Any]) -> str:
    starts = "|".join(re.escape(start) for start in sorted(row["starts"], key=len, reverse=True))
    return f"(?&START)(?:{starts})(?P<v>{row['body']})"


def _filled(data: dict[str, Any], source: str) -> str:
    if "(?&" not in source:
        return source
    for name, text in data["macros"].items():
        source = source.replace(f"(?&{name})", text)
    return source


def _rule(data: dict[str, Any], row: dict[str, Any], source: str, flags: int = 0) -> Rule:
    return Rule(
        order=data["order"].index(row["kind"]),
        kind=row["kind"],
        hints=tuple(row.get("hints") or row["starts"]),
        source=_filled(data, source),
        flags=flags,
        check=row.get("check", "token"),
        reach=row.get("within", 0),
        value=row.get("value"),
        after=tuple(row.get("after", ())),
        is_whole="(?!" in row.get("body", ""),
    )


def _by_hint(ruled: list[Rule]) -> Hinted:
    table: dict[str, list[Rule]] = {}
    for rule in ruled:
        for hint in rule.hints:
            table.setdefault(hint, []).append(rule)
    return tuple((hint, tuple(group), _is_phrase(hint)) for hint, group in table.items())


def _is_phrase(hint: str) -> bool:
    """Say whether a hint spans words; an option of a command (` -p`) is one word."""
    return any(map(str.isspace, hint)) and not (hint[:2] in (" -", " /") and hint[2:].strip())


def _by_length(rows: list[dict[str, Any]]) -> dict[int, frozenset[str]]:
    """Return digests of published keys by the length of the key, so that few candidates need one."""
    return {row["length"]: frozenset(one["sha256"] for one in rows if one["length"] == row["length"]) for row in rows}
