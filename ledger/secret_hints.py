"""Which hints of the rules that find secrets may stand in a text, without looking for each of them.

Looking for 700 hints in a text took most of the time of a scan. A hint has a run of letters, which lies within a run
of letters of the text, and most of those come again: what a run may be part of is found once and remembered. Whether
the hint itself is there is for whoever tries its rules.
Lean path: stdlib only.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.secret_rules import Rule, Rules
from ledger.secret_view import beyond

STARTS, SHAPES, SHORT, NAMES = range(4)
"""What a hint is of: the beginning of a token, a shape of a long word or of any text, a telling name."""

RUNS_MAX, RUN_CHARS = 30_000, 24
"""Runs that are remembered, in each of two generations, and the longest of them: few longer ones come again."""

TEXTS_FEW = 8
"""Texts after which signs are made: that takes as long as they do without, and a hook has fewer."""

_LETTERS = bytes(code if code < 128 and chr(code).isalpha() else 32 for code in range(256))
"""Makes a blank of every byte that is no letter of ASCII."""

Numbers = tuple[int, ...]


class Tried(NamedTuple):
    """A hint, and the rules that are worth trying where it occurs."""

    table: int
    hint: str
    rules: tuple[Rule, ...]


class Memory:
    """The hints of a set of rules; `clean` are short texts without a secret.

    What is known of runs of letters is made when so many texts have come that it pays.
    """

    def __init__(self, rules: Rules) -> None:
        self.clean: dict[str, None] = {}
        tables = enumerate((rules.starts, rules.shapes, rules.short, rules.contexts))
        self._tried = [Tried(table, hint, ruled) for table, rows in tables for hint, ruled, _ in rows]
        self._foreign = [(beyond(hint.casefold())[:1], Tried(NAMES, hint, ruled)) for hint, ruled, _ in rules.foreign]
        self._letters = frozenset(letter for letter, _ in self._foreign)
        self._left = TEXTS_FEW
        self._signs: _Signs | None = None

    def among(self, text: str) -> tuple[list[Tried], list[Tried]]:
        """Return the hints that may stand in a text, in the order of the rules: those of long words, and the others."""
        likely = self._likely(text)
        in_words = [one for one in likely if one.table <= SHAPES]
        letters = self._letters.intersection(beyond(text).casefold())
        foreign = [one for letter, one in self._foreign if letter in letters] if letters else []
        return in_words, likely[len(in_words) :] + foreign

    def _likely(self, text: str) -> list[Tried]:
        if self._left > 0:
            self._left -= 1
            low = text.lower()
            return [one for one in self._tried if one.hint in (low if one.table == NAMES else text)]
        if self._signs is None:
            self._signs = _Signs([one.hint for one in self._tried])
        return list(map(self._tried.__getitem__, self._signs.hints(text)))


class _Signs:
    """What tells that a hint may stand in a text: its longest run of letters, within a run of letters of the text."""

    def __init__(self, hints: Sequence[str]) -> None:
        of_sign: dict[str, list[int]] = {}
        self._always: list[int] = []
        for number, hint in enumerate(hints):
            sign = _sign(hint)
            (of_sign.setdefault(sign, []) if len(sign.strip()) > 1 else self._always).append(number)
        self._hints = list(of_sign.values())
        self._by_start: dict[str, list[tuple[str, int]]] = {}
        for number, sign in enumerate(of_sign):
            self._by_start.setdefault(sign[:3], []).append((sign, number))
        self._short = [one for start, ones in self._by_start.items() if len(start) < 3 for one in ones]
        self._starts = frozenset(tuple(start) for start in self._by_start)
        self._latest: dict[str, Numbers] = {}
        self._older: dict[str, Numbers] = {}

    def hints(self, text: str) -> list[int]:
        """Return the numbers of the hints that may stand in a text, ascending."""
        found = [*self._always]
        for sign in self._among(set(_runs(text))):
            found += self._hints[sign]
        return sorted(found)

    def _among(self, runs: set[str]) -> set[int]:
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

    def _read(self, runs: set[str]) -> dict[str, Numbers]:
        """Return for each run the signs in it."""
        told: dict[str, Numbers] = dict.fromkeys(runs, ())
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


def _runs(text: str) -> list[str]:
    return text.encode("ascii", "replace").translate(_LETTERS).decode().split()


def _sign(hint: str) -> str:
    """Return the longest run of letters of a hint, with a blank at each end where something else stands beside it."""
    low = hint.lower()
    run = max(_runs(low), key=len, default="")
    return " " * (not low.startswith(run)) + run + " " * (not low.endswith(run))
