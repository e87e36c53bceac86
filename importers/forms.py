"""Which forms a sentence has, tried only where words stand that a form needs.

A form is a pattern of many branches, most of them of other languages and other words. To try them all on each
sentence took a third of an import. What a branch needs is read off it once enough sentences have come that it pays.
"""

import re
from collections.abc import Mapping

from ledger import needed
from ledger.hints import Hints

TEXTS_FEW = 2_000
"""Texts after which it is read off the forms what they need: that takes a quarter of a second, as long as they did."""

TEXTS_KEPT = 8
"""Texts of which is remembered what may be in them: a sentence is looked at in a few ways, one after the other."""

_MARK = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)
_BEFORE = re.compile(r"(?:\\[Ab])?\(\?:")


class Forms:
    """Forms by name."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._wholes: dict[str, re.Pattern[str]] = {}
        self._left = TEXTS_FEW
        self._parts: _Parts | None = None

    def has(self, name: str, text: str) -> bool:
        """Tell whether a text has a form."""
        if self._parts is None:
            self._left -= 1
            if self._left < 0:
                self._parts = _Parts(self._sources)
        # Letters that are not ASCII may be others in another case.
        elif text.isascii():
            return self._parts.has(name, text)
        if name not in self._wholes:
            self._wholes[name] = re.compile(self._sources[name], re.IGNORECASE)
        return self._wholes[name].search(text) is not None


class _Parts:
    """The branches of forms, and by word those that a text of ASCII with this word may match."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        of_word: dict[str, list[int]] = {}
        self._branches: list[str | re.Pattern[str]] = []
        self._always: dict[str, list[int]] = {}
        self._of_form: dict[str, frozenset[int]] = {}
        for name, source in sources.items():
            self._always[name] = []
            first = len(self._branches)
            for part in parted(source):
                (way, *others) = needed.ways(part)
                way = () if others else way
                for word in min(way, key=_how_common, default=()):
                    of_word.setdefault(word.lower(), []).append(len(self._branches))
                if not way and not _is_foreign(part):
                    self._always[name].append(len(self._branches))
                self._branches.append(part)
            self._of_form[name] = frozenset(range(first, len(self._branches))).difference(self._always[name])
        self._hints = Hints(of_word)
        self._by_part = {
            part: {at for word in words for at in of_word[word]} for part, words in self._hints.by_part(of_word).items()
        }
        self._texts: dict[str, set[int]] = {}

    def has(self, name: str, text: str) -> bool:
        likely = self._texts.get(text)
        if likely is None:
            if len(self._texts) >= TEXTS_KEPT:
                self._texts.clear()
            likely = self._texts[text] = self._likely(text)
        return any(self._is_in(at, text) for at in (*(likely & self._of_form[name]), *self._always[name]))

    def _likely(self, text: str) -> set[int]:
        parts = self._hints.parts(text.lower())
        return set().union(*(self._by_part[part] for part in parts if part in self._by_part))

    def _is_in(self, at: int, text: str) -> bool:
        branch = self._branches[at]
        if isinstance(branch, str):
            branch = self._branches[at] = re.compile(branch, re.IGNORECASE)
        return branch.search(text) is not None


def _is_foreign(source: str) -> bool:
    """Tell whether all that a pattern matches holds a certain letter that is not ASCII."""
    try:
        from re import _parser  # type: ignore[attr-defined]

        return any(str(op) == "LITERAL" and value > 127 for op, value in _parser.parse(source))
    except (ImportError, AttributeError, TypeError, ValueError):
        return False


def _how_common(group: needed.Group) -> tuple[int, int]:
    return -min(map(len, group)), len(group)


def parted(source: str) -> list[str]:
    """Return patterns of which one matches where this one does: its branches, and those of a group they begin with."""
    found = []
    for part in _split(source):
        before = _BEFORE.match(part)
        end = _closing(part, before.end()) if before else 0
        if before and part[end + 1 : end + 2] not in ("?", "*", "+", "{"):
            inner = _split(part[before.end() : end])
            found += [f"{before[0]}{one}{part[end:]}" for one in inner]
        else:
            found.append(part)
    return found


def _split(source: str) -> list[str]:
    """Return the branches of a pattern, split where no bracket is open."""
    parts, depth, last = [], 0, 0
    for mark in _MARK.finditer(source):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if mark[0] == "|" and not depth:
            parts.append(source[last : mark.start()])
            last = mark.end()
    return [*parts, source[last:]]


def _closing(source: str, at: int) -> int:
    """Return where the bracket closes that was opened before a place."""
    depth = 1
    for mark in _MARK.finditer(source, at):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if not depth:
            return mark.start()
    raise ValueError("a bracket is not closed")
