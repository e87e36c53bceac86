"""Tell which of many short texts occur in a longer one, without looking for each of them.

Rules are tried where one of their hints occurs. Looking for 660 hints in a text of 600 characters, one after the
other, took 0.2 ms, and most texts hold a handful. A hint without white space lies within one word of the text, so
what a word holds is found once and remembered: most words come again. The answers are those of `hint in text`.
Pure and lean: stdlib only.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ledger import needed

WORDS_MAX = 10_000
"""Words that are remembered, in each of two generations; a word of more than `WORD_CHARS` is not: few come again."""

WORD_CHARS = 24
TEXTS_FEW = 100
"""Texts after which it is read off the patterns what they need."""

HINTS_FEW = 16
"""Hints up to which each is looked for by itself."""


class Remembered:
    """Answers by word, made when first asked for; the oldest half is forgotten when there are too many."""

    def __init__(self, make: Callable[[str], tuple[Any, ...]]) -> None:
        self._make = make
        self.latest: dict[str, tuple[Any, ...]] = {}
        self._older: dict[str, tuple[Any, ...]] = {}

    def __call__(self, word: str) -> tuple[Any, ...]:
        """Return the answer for a word that is not among `latest`."""
        found = self._older.get(word)
        if found is None:
            found = self._make(word)
            if len(word) > WORD_CHARS:
                return found
        self.latest[word] = found
        if len(self.latest) >= WORDS_MAX:
            self._older = self.latest.copy()
            self.latest.clear()
        return found


class Hints:
    """Hints, by their number, and what is known of words."""

    def __init__(self, hints: Sequence[str]) -> None:
        self._hints = hints
        self._by_start: dict[str, list[tuple[str, int]]] = {}
        self._short: list[tuple[str, int]] = []
        self._spans = frozenset(at for at, hint in enumerate(hints) if hint.split() != [hint])
        self._blank = [at for at, hint in enumerate(hints) if not hint.split()]
        self._of_three: dict[str, list[int]] = {}
        for at, hint in enumerate(hints):
            part = max(hint.split(), key=len, default="")
            if len(part) > 3:
                self._by_start.setdefault(part[:4], []).append((part, at))
            elif len(part) == 3:
                self._of_three.setdefault(part, []).append(at)
            elif part:
                self._short.append((part, at))
        self._known = Remembered(self._within)

    def among(self, text: str, words: Iterable[str] | None = None) -> list[int]:
        """Return the numbers of the hints that occur in a text; `words` are those of the text, where they are at hand.

        In no order.
        """
        found = self.parts(set(text.split()) if words is None else words)
        found.update(self._blank)
        return [at for at in found if at not in self._spans or self._hints[at] in text]

    def parts(self, words: Iterable[str]) -> set[int]:
        """Return the numbers of the hints of which the longest word lies within one of these words."""
        latest, new = self._known.latest, self._known
        found: set[int] = set()
        for word in words:
            known = latest.get(word)
            if known is None:
                known = new(word)
            if known:
                found.update(known)
        return found

    def _within(self, word: str) -> tuple[int, ...]:
        """Return the numbers of the hints of which the longest part lies within a word."""
        found = [number for part, number in self._short if part in word]
        by_start, of_three = self._by_start, self._of_three
        for at in range(len(word) - 2):
            three = word[at : at + 3]
            if three in of_three:
                found += of_three[three]
            started = by_start.get(word[at : at + 4])
            if started is not None:
                found += [number for part, number in started if word.startswith(part, at)]
        return tuple(found)


class Ruled:
    """Which of many patterns may match a text: those of which a hint occurs in it, and of all they need one word each.

    What patterns need is read off them when so many texts have come that it pays: that takes half a second.
    """

    def __init__(self, hinted: Sequence[tuple[str, int]], sources: Sequence[str]) -> None:
        """Take hints, each with the number of its pattern, and the patterns."""
        self._hinted, self._rules, self._sources = hinted, [rule for _, rule in hinted], sources
        self._hints = Hints([hint for hint, _ in hinted])
        self._words = Hints(())
        self._needs: list[tuple[tuple[frozenset[int], ...], ...]] | None = None
        self._left = TEXTS_FEW

    def among(self, text: str) -> list[int]:
        """Return the numbers of the patterns that are worth trying, ascending."""
        self._left -= 1
        if not self._left:
            self._read_needs()
        if len(self._rules) < HINTS_FEW:
            return sorted({rule for hint, rule in self._hinted if hint in text})
        words = set(text.split())
        rules = sorted({self._rules[at] for at in self._hints.among(text, words)})
        needs = self._needs
        if needs is None or not rules:
            return rules
        there = self._words.parts(words)
        return [rule for rule in rules if any(_is_open(way, there) for way in needs[rule])]

    def _read_needs(self) -> None:
        read = [needed.ways(source) for source in self._sources]
        words = sorted({word for ways in read for way in ways for group in way for word in group})
        number = {word: at for at, word in enumerate(words)}
        self._words = Hints(words)
        self._needs = [
            tuple(tuple(frozenset(map(number.__getitem__, group)) for group in way) for way in ways) for ways in read
        ]


def _is_open(way: tuple[frozenset[int], ...], there: set[int]) -> bool:
    return not any(group.isdisjoint(there) for group in way)


_made: dict[int, tuple[Any, Any]] = {}


def made_of(table: Any, make: Callable[[Any], Any]) -> Any:
    """Return what `make` makes of a table that lives as long as the process, made once."""
    found = _made.get(id(table))
    if found is None or found[0] is not table:
        found = _made[id(table)] = (table, make(table))
    return found[1]
