"""Tell which of many short texts occur in a longer one, without looking for each of them.

Rules are tried where one of their hints occurs. Looking for 660 hints in a text of 600 characters, one after the
other, took 0.2 ms, and most texts hold a handful. The longest word of a hint lies within one word of the text, so
what a word holds is found once and remembered: most words come again. A word here is letters alone, as bytes: paths,
numbers and commits are new in each text, and their letters are not. The answers are those of `hint in text`.
Pure and lean: stdlib only.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
"""Fewest bytes of a word that is looked for within other words."""

_Word = TypeVar("_Word", str, bytes)
_Group = dict[bytes, tuple[str, ...]]
_Groups = list[tuple[frozenset[bytes], _Group]]
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
        self._answers: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def __call__(self, word: _Word) -> tuple[Any, ...]:
        """Return the answer for a word that is not among `latest`."""
        found = self._older.get(word)
        if found is None:
            found = self._make(word)
            if len(word) > WORD_CHARS:
                return found
            found = self._answers.setdefault(found, found)  # many words have the same
        self.latest[word] = found
        if len(self.latest) >= WORDS_MAX:
            self._older = self.latest.copy()
            self.latest.clear()
            self._answers.clear()
        return found


class Hints:
    """Texts that are looked for in longer ones, and what is known of words."""

    def __init__(self, hints: Iterable[str]) -> None:
        self._part = {hint: _part_of(hint) for hint in hints}
        self._starting: dict[bytes, list[bytes]] = {}
        for part in dict.fromkeys(self._part.values()):
            if part and part[:1] != b" ":
                self._starting.setdefault(part[:PART_MIN], []).append(part)
        self._whole = {part.strip(): part for part in self._part.values() if part[:1] == b" "}
        self._known = Remembered(self.within)

    def parts(self, text: str) -> set[bytes]:
        """Return the parts of hints that occur in a text, and the empty one of those that must be looked for."""
        latest, new = self._known.latest, self._known
        found = {b""}
        for word in words_of(text):
            known = latest.get(word)
            if known is None:
                known = new(word)
            if known:
                found.update(known)
        return found

    def by_part(self, hints: Iterable[str]) -> _Group:
        """Return some of the hints by their parts."""
        found: dict[bytes, tuple[str, ...]] = {}
        for hint in sorted(hints):
            found[self._part[hint]] = (*found.get(self._part[hint], ()), hint)
        return found

    def within(self, word: bytes) -> tuple[bytes, ...]:
        """Return the parts of hints that a word holds."""
        found = [self._whole[word]] if word in self._whole else []
        for at in range(len(word) - PART_MIN + 1):
            likely = self._starting.get(word[at : at + PART_MIN], ())
            found += [part for part in likely if word.startswith(part, at)]
        return tuple(found)


def _part_of(hint: str) -> bytes:
    """Return what tells that a hint may occur: the longest of its words, with blanks around if it is whole in it."""
    first, *others = hint.encode("utf-8", "surrogatepass").translate(_LETTERS).split(b" ")
    parts = [b" %b " % word for word in others[:-1] if word]
    parts += [word for word in (first, *others[-1:]) if len(word) >= PART_MIN]
    return max(parts, key=lambda part: len(part.strip()), default=b"")


class Ruled:
    """Which of many patterns may match a text: those of which a hint occurs in it, and of all they need one word each.

    What patterns need is read off them when so many texts have come that it pays: that takes half a second.
    """

    def __init__(self, hinted: Sequence[tuple[str, int]], sources: Sequence[str]) -> None:
        """Take hints, each with the number of its pattern, and the patterns."""
        self._hinted, self._sources = hinted, sources
        self._seen: Counter[bytes] = Counter()
        self._read([((),) for _ in sources])
        self._left = TEXTS_FEW

    def among(self, text: str) -> list[int]:
        """Return the numbers of the patterns that are worth trying, ascending."""
        if len(self._hinted) < HINTS_FEW:
            return sorted({rule for hint, rule in self._hinted if hint in text})
        if self._left:
            self._seen.update(words_of(text))
            self._left -= 1
            if not self._left:
                self._read([needed.ways(source) for source in self._sources])
        parts = self._hints.parts(text)
        held = [ways for part in parts if part in self._by_part for word, ways in self._by_part[part] if word in text]
        ways = [self._ways[number] for number in set().union(*held)]
        return sorted({rule for rule, others in ways if _is_open(others, text, parts)})

    def _read(self, needs: list[tuple[tuple[frozenset[str], ...], ...]]) -> None:
        """Arrange what patterns need: each way by the parts of that group which was seen least."""
        words = {word for ways in needs for way in ways for group in way for word in group}
        self._hints = Hints([*(hint for hint, _ in self._hinted), *words])
        seen = Counter({b"": TEXTS_FEW})
        for seen_word, times in self._seen.items():
            seen.update(dict.fromkeys(self._hints.within(seen_word), times))
        self._ways: list[tuple[int, _Groups]] = []
        by_word: dict[str, list[int]] = {}
        hints_of: list[list[str]] = [[] for _ in needs]
        for hint, rule in self._hinted:
            hints_of[rule].append(hint)
        for rule, (ways, hints) in enumerate(zip(needs, hints_of, strict=True)):
            for way in ways:
                groups = sorted(
                    map(self._hints.by_part, (*way, hints)), key=lambda group: sum(seen[part] for part in group)
                )
                for word in (word for words in groups[0].values() for word in words):
                    by_word.setdefault(word, []).append(len(self._ways))
                self._ways.append((rule, [(frozenset(group), group) for group in groups[1:]]))
        self._by_part = {
            part: [(word, by_word[word]) for word in words] for part, words in self._hints.by_part(by_word).items()
        }


def _is_open(groups: _Groups, text: str, parts: set[bytes]) -> bool:
    """Tell whether a text with these parts holds a word of each group."""
    for told, _ in groups:
        if told.isdisjoint(parts):
            return False
    return all(any(word in text for part in told & parts for word in group[part]) for told, group in groups)


_made: dict[int, tuple[Any, Any]] = {}


def made_of(table: Any, make: Callable[[Any], Any]) -> Any:
    """Return what `make` makes of a table that lives as long as the process, made once."""
    found = _made.get(id(table))
    if found is None or found[0] is not table:
        found = _made[id(table)] = (table, make(table))
    return found[1]
