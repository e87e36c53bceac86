"""Tell which of many short texts occur in a longer one, without looking for each of them.

Rules are tried where one of their hints occurs. Looking for 660 hints in a text of 600 characters, one after the
other, took 0.2 ms, and most texts hold a handful. The longest word of a hint lies within one word of the text, so
what a word holds is found once and remembered: most words come again. A word here is letters alone, as bytes: paths,
numbers and commits are new in each text, and their letters are not. The answers are those of `hint in text`.
Pure and lean: stdlib only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ledger import needed

WORDS_MAX = 10_000
"""Words that are remembered, in each of two generations; a word of more than `WORD_CHARS` is not: few come again."""

WORD_CHARS = 24
TEXTS_FEW = 100
"""Texts after which it is read off the patterns what they need."""

HINTS_FEW = 16
"""Hints up to which each is looked for by itself."""

PART_MIN = 3
"""Fewest bytes of a word that is worth looking up; the hint is looked for by itself when all its words are shorter."""

_Word = TypeVar("_Word", str, bytes)
_LETTERS = bytes(code if code > 127 or chr(code).isalpha() else 32 for code in range(256))


def words_of(text: str) -> set[bytes]:
    """Return the words of a text in UTF-8, each once: what stands between ASCII characters that are no letters."""
    return set(text.encode("utf-8", "surrogatepass").translate(_LETTERS).split())


class Remembered(Generic[_Word]):
    """Answers by word, made when first asked for; the oldest half is forgotten when there are too many."""

    def __init__(self, make: Callable[[_Word], tuple[Any, ...]]) -> None:
        self._make: Callable[[_Word], tuple[Any, ...]] = make
        self.latest: dict[_Word, tuple[Any, ...]] = {}
        self._older: dict[_Word, tuple[Any, ...]] = {}

    def __call__(self, word: _Word) -> tuple[Any, ...]:
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
    """Texts that are looked for, by their number, and what is known of words."""

    def __init__(self, hints: Sequence[str]) -> None:
        self._hints = hints
        self._parts: dict[bytes, list[int]] = {}
        whole = set()
        for at, hint in enumerate(hints):
            part = max(words_of(hint), key=len, default=b"")
            self._parts.setdefault(part if len(part) >= PART_MIN else b"", []).append(at)
            if part == hint.encode("utf-8", "surrogatepass") and len(part) >= PART_MIN:
                whole.add(at)
        self._certain = frozenset(whole)
        self._anywhere = frozenset(self._parts.pop(b"", ()))
        self._starting: dict[bytes, list[bytes]] = {}
        for part in self._parts:
            self._starting.setdefault(part[:PART_MIN], []).append(part)
        self._known = Remembered(self._within)

    def near(self, text: str) -> set[int]:
        """Return the numbers of all hints that may occur in a text: a word of it holds their longest word."""
        latest, new = self._known.latest, self._known
        found = set(self._anywhere)
        for word in words_of(text):
            known = latest.get(word)
            if known is None:
                known = new(word)
            if known:
                found.update(known)
        return found

    def of(self, near: Iterable[int], text: str) -> Iterator[int]:
        """Yield those of the numbers, which are near a text, that occur in it."""
        certain, hints = self._certain, self._hints
        for at in near:
            if at in certain or hints[at] in text:
                yield at

    def among(self, text: str) -> list[int]:
        """Return the numbers of the hints that occur in a text, in no order."""
        return list(self.of(self.near(text), text))

    def _within(self, word: bytes) -> tuple[int, ...]:
        """Return the numbers of the hints of which the longest word lies within a word."""
        found: list[int] = []
        for at in range(len(word) - PART_MIN + 1):
            for part in self._starting.get(word[at : at + PART_MIN], ()):
                if word.startswith(part, at):
                    found += self._parts[part]
        return tuple(found)


class Ruled:
    """Which of many patterns may match a text: those of which a hint occurs in it, and of all they need one word each.

    What patterns need is read off them when so many texts have come that it pays: that takes half a second.
    """

    def __init__(self, hinted: Sequence[tuple[str, int]], sources: Sequence[str]) -> None:
        """Take hints, each with the number of its pattern, and the patterns."""
        self._hinted, self._rules, self._sources = hinted, [rule for _, rule in hinted], sources
        self._hints = Hints([hint for hint, _ in hinted])
        self._numbers = frozenset(range(len(hinted)))
        self._needs: list[tuple[tuple[frozenset[int], ...], ...]] | None = None
        self._left = TEXTS_FEW

    def among(self, text: str) -> list[int]:
        """Return the numbers of the patterns that are worth trying, ascending."""
        self._left -= 1
        if not self._left:
            self._read_needs()
        if len(self._rules) < HINTS_FEW:
            return sorted({rule for hint, rule in self._hinted if hint in text})
        near = self._hints.near(text)
        rules = sorted({self._rules[at] for at in self._hints.of(self._numbers & near, text)})
        needs = self._needs
        if needs is None:
            return rules
        return [rule for rule in rules if any(self._is_open(way, near, text) for way in needs[rule])]

    def _is_open(self, way: tuple[frozenset[int], ...], near: set[int], text: str) -> bool:
        """Tell whether a text holds a word of each group."""
        if any(group.isdisjoint(near) for group in way):
            return False
        return all(any(True for _ in self._hints.of(group & near, text)) for group in way)

    def _read_needs(self) -> None:
        read = [needed.ways(source) for source in self._sources]
        words = sorted({word for ways in read for way in ways for group in way for word in group})
        number = {word: at for at, word in enumerate(words, len(self._hinted))}
        self._hints = Hints([*(hint for hint, _ in self._hinted), *words])
        self._needs = [
            tuple(tuple(frozenset(map(number.__getitem__, group)) for group in way) for way in ways) for ways in read
        ]


_made: dict[int, tuple[Any, Any]] = {}


def made_of(table: Any, make: Callable[[Any], Any]) -> Any:
    """Return what `make` makes of a table that lives as long as the process, made once."""
    found = _made.get(id(table))
    if found is None or found[0] is not table:
        found = _made[id(table)] = (table, make(table))
    return found[1]
