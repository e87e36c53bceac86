"""Tell whether a person's later statement takes the place of an earlier one: the same subject, and another value.

Three rules, each from the words alone. What one says beyond the other may be
an exception ("in the api package"), so anything else that differs is a doubt, and then both stay.
- Exchange: one puts something in the place of what the other wants to be used, and nothing else differs.
- Value: they say the same but for a number, a version, a path or a flag.
- Turn: they say the same, one that it is so and the other that it is not.
Pure; any two texts may be compared.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ledger import query

_MARKED = """
    always never ever please remember keep mind record forget note future going forward onwards actually anymore longer
    instead rather again stop prefer preferred listens listen listening runs run running lives sits stands moved moves
    located default immer niemals merk merke künftig bitte läuft liegt statt désormais toujours jamais maintenant
    souviens tourne écoute siempre nunca jamás recuerda ahora adelante escucha sempre lembra lembre agora roda ricorda
    ascolta nooit altijd onthoud voortaan vanaf draait luistert всегда никогда запомни впредь момента слушает вместо
    repo repository project codebase code dont doesnt use using uses used run call
"""
"""Words that make a statement, and say nothing of what it is about."""

_MARKERS = frozenset(_MARKED.split())

_NEGATIVE = re.compile(
    r"\b(?:never|not|don't|do not|no longer|stop|avoid|nie(?:mals)?|nicht|kein\w*|jamais|pas|plus|nunca|jamás|não"
    r"|mai|non"
    r"|nooit|niet|geen|никогда|не)\b|不|别|禁止|ない|やめて",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"(?i)\b(?:use|using|uses|prefer|with|run|call|nimm|nutze?n?|verwenden?|benutzen?|mit|utilisez?|utilise"
    r"|utilisons|prends"
    r"|avec|usa|usamos|usar|utiliza|usiamo|utilizza|prefiere|prefira|con|com|gebruiken?|neem|используй\w*|используем"
    r"|бери)"
    r"\s+(?!not\b|no\b)(?P<what>\S+(?:\s+\S+)?)"
    r"|(?:改?用|使用)\s*(?P<cjk>[A-Za-z][A-Za-z0-9_.+-]*)|(?P<wo>[A-Za-z][A-Za-z0-9_.+-]*)\s*を?使(?:って|う|い)"
)
_SHUNS = re.compile(
    r"(?i)(?:\b(?:instead of|rather than|over|and not(?: with)?|not with|no longer use|(?:never|don't|do not|stop"
    r"|avoid)"
    r" (?:us(?:e|ing) |run(?:ning)? |call(?:ing)? )|statt|anstatt|anstelle von|und nicht|nicht|kein(?:e|en)?"
    r"|nie(?:mals)?"
    r"|au lieu d[e']|plutôt qu[e']|et pas|en vez de|en lugar de|y no|em vez de|ao invés de|e não|invece (?:di|che)"
    r"|al posto di|e non|in plaats van|en niet|вместо|а не)\s*|,\s*(?:not|never|pas|no|não|non|niet"
    r"|не)\s+)(?P<what>\S+)"
    r"|\s(?:not|nicht|pas|niet)\s+(?!(?:us|run|call|to|be|an?|the|in|on)\b)(?P<bare>[\w.+/-]+)(?=\s*(?:\Z|[.,!;]))"
    r"|(?:不要用|不用|别用|而不是)\s*(?P<cjk>[A-Za-z][A-Za-z0-9_.+-]*)|(?P<wo>[A-Za-z][A-Za-z0-9_.+-]*)(?:ではなく"
    r"|じゃなく|の代わりに)"
)
_ASCII = re.compile(r"[a-z0-9@/_.+-]+")


class _Read(NamedTuple):
    wants: frozenset[str]
    shuns: frozenset[str]
    rest: frozenset[str]
    values: dict[str, frozenset[str]]
    is_negative: bool


class Standing:
    """Statements of one project that stand, by name; looked up by their words."""

    def __init__(self, statements: Iterable[tuple[str, str]] = ()) -> None:
        self._read: dict[str, _Read] = {}
        self._by_word: dict[str, set[str]] = {}
        for name, text in statements:
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        """Hear of another statement."""
        read = self._read[name] = _read(text)
        for word in read.wants | read.shuns | read.rest:
            self._by_word.setdefault(word, set()).add(name)

    def against(self, text: str) -> list[str]:
        """Return the names of those that a statement takes the place of, or that would take its place."""
        read = _read(text)
        near = {name for word in read.wants | read.shuns | read.rest for name in self._by_word.get(word, ())}
        return sorted(name for name in near if _differ(read, self._read[name]))


def is_contrary(one: str, other: str) -> bool:
    """Tell whether two statements cannot both hold."""
    return _differ(_read(one), _read(other))


def _read(text: str) -> _Read:
    text = text.replace("’", "'")
    wants = _named(_WANTS, text)
    shuns = _named(_SHUNS, text)
    values = query.values(text)
    told = frozenset(_plain(word) for word in query.telling(text)) - _MARKERS
    pieces = {piece for kind in values.values() for value in kind for piece in re.findall(r"\w+", value.lower())}
    rest = told - wants - shuns - pieces
    affirmed = {kind: found - shuns for kind, found in values.items()}
    return _Read(wants - shuns, shuns, rest, affirmed, _NEGATIVE.search(_SHUNS.sub(" ", text)) is not None)


def _named(pattern: re.Pattern[str], text: str) -> frozenset[str]:
    found = set()
    for match in pattern.finditer(text):
        for what in filter(None, match.groupdict().values()):
            first = what.split()[0].strip("`'\".,;:!?()。，").lower()
            name = (_ASCII.match(first) or [first])[0]
            if name and not query.is_filler(name):
                found.add(name)
    return frozenset(found)


def _plain(word: str) -> str:
    return word[:-1] if word.isascii() and len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _differ(one: _Read, other: _Read) -> bool:
    crossed = (one.wants & other.shuns) | (one.shuns & other.wants)
    if crossed and not one.wants & other.wants:
        return one.rest == other.rest  # "in the web package" may be an exception
    about = one.rest | one.wants
    if about != other.rest | other.wants or len(about) < 2 - bool(one.wants):
        return False
    is_valued = _valued(one.values, other.values)
    return is_valued if one.is_negative == other.is_negative else not is_valued


def _valued(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Tell whether each has a value of a kind that the other has not."""
    return any(one[kind] - other[kind] and other[kind] - one[kind] for kind in one.keys() & other.keys())
