"""Read off a pattern which words every text must hold that it matches, so that it need not be tried on others.

`r"\\b(?:delete|erase)\\b[^.]{0,30}\\bnotes?"` needs one of {delete, erase} and {note}. What cannot be read is left out:
a pattern with nothing to need is tried on every text. Python's own parser reads the pattern; where it is missing or
another one, nothing is needed.
Pure and lean: stdlib only.
"""

import re
from collections.abc import Iterable
from typing import Any

WORD_MIN = 3
"""Fewest characters of what a text must hold; shorter ones are in every text."""

WORDS_MAX = 96
"""Most words of which a text must hold one."""

NO_ROOM = ("AT", "ASSERT", "ASSERT_NOT")
"""What stands between two letters and takes no room."""

Group = frozenset[str]
"""Words of which one must occur."""


def ways(source: str) -> tuple[tuple[Group, ...], ...]:
    """Return the ways in which a text can match a pattern: of one of them it holds a word of each group."""
    try:
        from re import _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(source)
        if parsed.state.flags & re.IGNORECASE:
            return ((),)
        return tuple(tuple(dict.fromkeys(_Reading().groups(items))) for items in _branches(list(parsed)))
    except (ImportError, AttributeError, TypeError, ValueError, re.error):
        return ((),)


def _branches(items: list[Any]) -> list[Any]:
    """Return the branches of a whole pattern, which the parser may have taken a common beginning from."""
    if (
        items
        and str(items[-1][0]) == "BRANCH"
        and all(str(op) in ("AT", "ASSERT", "ASSERT_NOT") for op, _ in items[:-1])
    ):
        return [one for branch in items[-1][1][1] for one in _branches(list(branch))]
    return [items]


class _Reading:
    """One sequence of a pattern being read: `ends` are the texts that end at this place, as far as they are certain."""

    def __init__(self) -> None:
        self.found: list[Group] = []
        self.ends: set[str] = {""}

    def groups(self, items: Iterable[Any]) -> list[Group]:
        """Return what a sequence needs."""
        for op, value in items:
            self._read(str(op), value)
        self._close()
        return self.found

    def _read(self, op: str, value: Any) -> None:
        if op in NO_ROOM:
            return
        told = _finite(op, value)
        if told is not None:
            if len(self.ends) * len(told) > WORDS_MAX:
                self._close()
            if len(told) <= WORDS_MAX:
                self.ends = {end + one for end in self.ends for one in told}
            return
        self._close()
        if op == "SUBPATTERN" and not value[1]:
            self.found += _Reading().groups(value[3])
        elif op == "ATOMIC_GROUP":
            self.found += _Reading().groups(value)
        elif op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
            self.found += _Reading().groups(value[2])
        elif op == "BRANCH":
            self.found += _any_of(value[1])

    def _close(self) -> None:
        """End the texts read so far: what follows is not certain to stand beside them."""
        if all(len(end) >= WORD_MIN for end in self.ends):
            self.found.append(frozenset(self.ends))
        self.ends = {""}


def _any_of(branches: list[Any]) -> list[Group]:
    """Return the one group of several branches: the best of each; none when one of them needs nothing."""
    joined: set[str] = set()
    for branch in branches:
        needed = _Reading().groups(branch)
        if not needed:
            return []
        joined |= max(needed, key=lambda group: (min(map(len, group)), -len(group)))
    return [frozenset(joined)] if len(joined) <= WORDS_MAX else []


def _finite(op: str, value: Any) -> set[str] | None:
    """Return all texts that an item matches, None when they are too many or cannot be told."""
    if op == "LITERAL":
        return {chr(value)}
    if op == "IN":
        kinds = {str(kind) for kind, _ in value}
        return {chr(letter) for _, letter in value} if kinds == {"LITERAL"} and len(value) <= 8 else None
    if op == "SUBPATTERN":
        return _all_of(value[3]) if not value[1] else None
    if op == "BRANCH":
        told: set[str] = set()
        for branch in value[1]:
            texts = _all_of(branch)
            if texts is None:
                return None
            told |= texts
        return told if len(told) <= WORDS_MAX else None
    if op in ("MAX_REPEAT", "MIN_REPEAT") and value[1] == 1:
        texts = _all_of(value[2])
        return texts if texts is None or value[0] == 1 else texts | {""}
    return None


def _all_of(items: Iterable[Any]) -> set[str] | None:
    told = {""}
    for op, value in items:
        if str(op) in NO_ROOM:
            continue
        texts = _finite(str(op), value)
        if texts is None or len(told) * len(texts) > WORDS_MAX:
            return None
        told = {end + one for end in told for one in texts}
    return told
