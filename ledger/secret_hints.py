"""Which hints of the rules that find secrets may stand in a text, without looking for each of them.

Looking for 700 hints in a text took most of the time of a scan. A hint has a run of letters, which lies within a run
of letters of the text, and most of those come again: what a run may be part of is found once and remembered. Whether
the hint itself is there is for whoever tries its rules.
Lean path: stdlib only.
"""

import re
from typing import NamedTuple

from ledger.secret_rules import Hinted, Rule, Rules
from ledger.secret_view import beyond

STARTS, SHAPES, SHORT, NAMES = range(4)
"""What a hint is of: the beginning of a token, a shape of a long word or of any text, a telling name."""

RUNS_MAX, RUN_CHARS = 30_000, 24
"""Runs that are remembered, in each of two generations, and the longest of them: few longer ones come again."""

_LETTERS = bytes(code if code < 128 and chr(code).isalpha() else 32 for code in range(256))
"""Makes a blank of every byte that is no letter of ASCII."""

Signs = tuple[int, ...]


class Tried(NamedTuple):
    """A hint, and the rules that are worth trying where it occurs."""

    table: int
    hint: str
    rules: tuple[Rule, ...]


class Memory:
    """The hints of a set of rules, and what is known of runs of letters; `clean` are short texts without a secret.

    The sign of a hint is its longest run of letters.
    """

    def __init__(self, rules: Rules) -> None:
        self.clean: dict[str, None] = {}
        self.tried: list[Tried] = []
        self._always: list[int] = []
        self._of_sign: dict[str, list[int]] = {}
        for table, rows in enumerate((rules.starts, rules.shapes, rules.short, rules.contexts)):
            self._add(table, rows)
        self._first_short = len(rules.starts) + len(rules.shapes)
        self._hints = list(self._of_sign.values())
        self._by_start: dict[str, list[tuple[str, int]]] = {}
        for number, sign in enumerate(self._of_sign):
            self._by_start.setdefault(sign[:3], []).append((sign, number))
        self._short = [one for start, ones in self._by_start.items() if len(start) < 3 for one in ones]
        self._starts = frozenset(tuple(start) for start in self._by_start)
        self._foreign = [(beyond(hint.casefold())[:1], Tried(NAMES, hint, ruled)) for hint, ruled, _ in rules.foreign]
        self._letters = frozenset(letter for letter, _ in self._foreign)
        self._latest: dict[str, Signs] = {}
        self._older: dict[str, Signs] = {}

    def _add(self, table: int, rows: Hinted) -> None:
        for hint, rules, _ in rows:
            sign = _sign(hint)
            of_it = self._of_sign.setdefault(sign, []) if len(sign.strip()) > 1 else self._always
            of_it.append(len(self.tried))
            self.tried.append(Tried(table, hint, rules))

    def among(self, text: str) -> tuple[list[Tried], list[Tried]]:
        """Return the hints that may stand in a text, in the order of the rules: those of long words, and the others."""
        runs = set(text.encode("ascii", "replace").translate(_LETTERS).decode().split())
        found = [*self._always]
        for sign in self._signs(runs):
            found += self._hints[sign]
        found.sort()
        in_words = [self.tried[number] for number in found if number < self._first_short]
        in_text = [self.tried[number] for number in found[len(in_words) :]]
        letters = self._letters.intersection(beyond(text).casefold())
        foreign = [tried for letter, tried in self._foreign if letter in letters] if letters else []
        return in_words, in_text + foreign

    def _signs(self, runs: set[str]) -> set[int]:
        """Return the numbers of the signs within runs; those that are not known are looked through together."""
        latest, older = self._latest, self._older
        new = runs.difference(latest)
        found = set(map(latest.__getitem__, runs - new))
        if new:
            told = {run: older[run] for run in new & older.keys()}
            told |= self._read(new.difference(told))
            found.update(told.values())
            latest.update([one for one in told.items() if len(one[0]) <= RUN_CHARS])
            if len(latest) >= RUNS_MAX:
                self._latest, self._older = {}, latest
        return set().union(*found)

    def _read(self, runs: set[str]) -> dict[str, Signs]:
        """Return for each run the signs in it."""
        told: dict[str, Signs] = dict.fromkeys(runs, ())
        joined = " ".join(["", *runs, ""])
        low = joined.lower()
        likely = [*self._short]
        for start in self._starts.intersection(zip(low, low[1:], low[2:], strict=False)):
            likely += self._by_start["".join(start)]
        for sign, number in likely:
            at = low.find(sign)
            while at >= 0:
                end = low.index(" ", at + 1)
                told[joined[low.rfind(" ", 0, at + 1) + 1 : end]] += (number,)
                at = low.find(sign, end)
        return told


def _sign(hint: str) -> str:
    """Return the longest run of letters of a hint, with a blank at each end where something else stands beside it."""
    low = hint.lower()
    found = max(re.finditer("[a-z]+", low), key=lambda run: run.end() - run.start(), default=None)
    if found is None:
        return ""
    return " " * (found.start() > 0) + found[0] + " " * (found.end() < len(low))
