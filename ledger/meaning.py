"""Turn a text into one vector, with a table of token vectors and nothing else.

A text is the weighted sum of its tokens' vectors: no model runs. The table,
`ledger_schema/tokens.sqlite`, is read by key; without it, or with one of
another version, there are no vectors and search goes by words alone.

A vector is held as one whole number with a lane of 32 bits for each dimension,
so that adding a token is one addition of numbers (0.1 µs) and not 256.
Lean path: stdlib only, patterns compiled on first use.
"""

import json
import re
import sqlite3
from array import array
from collections.abc import Collection, Iterable, Iterator
from math import dist, sqrt
from operator import itemgetter
from typing import Any, NamedTuple

from ledger import sql
from ledger.model import schema_path

VERSION = "1"
"""Version of the token table that the numbers of the gate were fitted with."""

DIMS = 256
WEIGHT_MAX = 32_767
"""Greatest weight of a token; a row of another form is damage."""

LENGTH = 420.0
"""Length of a vector: a value is 26 on average; the few beyond 127, in texts of one or two words, are cut."""

MIDDLE = 128
"""What is added to every value, so that all are 0 to 255: Python holds these numbers once, and a vector is 2 KiB."""

WORDS_MAX, PIECES_MAX = 480, 16
"""Words of one text that are summed, and pieces of one word: as many of the heaviest, 7,680, still fit in a lane."""

WEIGHT_STEP = 16
"""Weights of the table are 545 to 32,767; a lane holds 8,200 of the heaviest in sixteenths, and 516 as they are."""

SCALE_MIN = 64
"""Least scale that is rounded for all lanes at once: the length of a vector is then true to a hundredth."""

KNOWN_CHARS = 4
"""Shortest word that tells whether a text is in the language of the table: `de`, `la`, `der` are rows as well."""

KNOWN_WHOLLY = 0.6
"""Share of known words from which a text counts as wholly known: nine in ten English prompts of two sets have more."""

TOKEN_CHARS = 24
"""Longest name in the table."""

ASKED_MAX = 2_000
"""Pieces that the file is asked for, 25 µs each, before the names of all are read, in 30 ms."""

KNOWN_MAX = 3_000
"""Words kept at hand, in each of two generations: about 1 KiB each."""

KNOWN_MAX_OFTEN = 12_000
"""The same once the names of all tokens are read: an import of 20,000 different words takes half as long."""

_LANE = 4
_ONES = int.from_bytes(b"\1\0\0\0" * DIMS, "little")
_SIGNED = _ONES << 7
_CENTRE = _ONES << 31
_NOWHERE = (0,) * DIMS
_POINT = 22
_MIDDLES = _ONES * (2 * MIDDLE + 1 << _POINT - 1)
_BEYOND = _ONES * (3 << _POINT + 8)
_FLIP = bytes((value + 128) & 255 for value in range(256))
_ORIGIN = (MIDDLE,) * DIMS
_CUT = bytes((*range(256), *(255,) * 384, *(0,) * 384)).replace(b"\0", b"\1")
_FLOATS = tuple(map(float, range(256)))
_BIT = bytes(49 if value >= 128 else 48 for value in range(256))

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_SOURCES = {
    "word": rf"[{_CJK}]|[^\W{_CJK}]+(?:[.+#/:-]+[^\W{_CJK}]+)*(?:\+\+|#)?",
    "ascii": r"\w+(?:[.+#/:-]+\w+)*(?:\+\+|#)?",
    "chunk": r"[\W_]+",
    "part": r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+",
}
_patterns: dict[str, re.Pattern[str]] = {}


class Vector(NamedTuple):
    """A text's direction: its values, each with `MIDDLE` added, and the square of its length."""

    values: tuple[int, ...]
    square: float


class TokenTable:
    """The token table, opened read-only; words that were summed are kept at hand."""

    def __init__(self, path: str) -> None:
        quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        uri = f"file:{quoted}?mode=ro&immutable=1"
        self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        self._words: dict[str, int] = {}
        self._older: dict[str, int] = {}
        self._tokens: dict[str, int | None] = {}
        self._names: frozenset[str] | None = None
        self._asked = 0
        self._is_damaged = False
        self.version = str(dict(self._connection.execute(sql.PIECE_META)).get("version", ""))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def vector(self, text: str) -> Vector | None:
        """Return the direction of a text; None when the table knows nothing of it. About 20 µs for 30 words."""
        return self._known_direction(self._total(words_of(text)))

    def vectors(self, problem: str, rest: str) -> tuple[Vector | None, Vector | None]:
        """Return the directions of a problem and of a whole text, of which the problem is the beginning."""
        words = words_of(problem)
        about = self._total(words)
        whole = about + self._total(words_of(rest)[: WORDS_MAX - len(words)])
        return self._known_direction(about), self._known_direction(whole)

    def _total(self, words: list[str]) -> int:
        """Return the sum of words, as lanes."""
        total, known = 0, self._words
        for word in words:
            found = known.get(word)
            total += self._older_or_new(word) if found is None else found
        return total

    def _known_direction(self, total: int) -> Vector | None:
        return _direction(total) if total and not self._is_damaged else None

    def _older_or_new(self, word: str) -> int:
        """Return the sum of a word that is not among the latest; what is asked for again stays at hand."""
        found = self._older.pop(word, None)
        if found is None:
            found = self._sum(word)
        self._words[word] = found
        if len(self._words) >= (KNOWN_MAX if self._names is None else KNOWN_MAX_OFTEN):
            self._older = self._words.copy()
            self._words.clear()
        return found

    def _row(self, statement: str, binds: dict[str, str]) -> tuple[Any, ...] | None:
        """Return one row; once one proves damaged there are no vectors any more, and this process does without."""
        try:
            found: tuple[Any, ...] | None = self._connection.execute(statement, binds).fetchone()
        except sqlite3.DatabaseError:
            self._damaged()
            found = None
        return found

    def _damaged(self) -> None:
        self._is_damaged = True
        if _shared == [self]:
            use(None)

    def known(self, text: str) -> float:
        """Return the share of a text, by letters, that is made of words with a row of their own, 0 to 1.

        The table is English. Words of other languages are sums of pieces, alike
        because of their language and not of their subject. Short words and names
        with digits tell nothing; a text without any other is half known.
        """
        telling = [
            word for word in words_of(text) if not word.isascii() or (len(word) >= KNOWN_CHARS and word.isalpha())
        ]
        every = sum(max(len(word), 2) for word in telling)
        plain = [word.lower() for word in telling if word.isascii()]
        rows = self._with_row(plain)
        whole = sum(len(word) for word in plain if word in rows)
        return min(1.0, whole / every / KNOWN_WHOLLY) if every else 0.5

    def _with_row(self, names: list[str]) -> Collection[str]:
        """Return those of the names that have a row, and maybe others."""
        if self._names is not None:
            return self._names
        try:
            found = self._connection.execute(sql.PIECES_AMONG, {"names": json.dumps(names)})
            return frozenset(name for (name,) in found)
        except sqlite3.DatabaseError:
            self._damaged()
            return ()

    def _sum(self, word: str) -> int:
        """Return the sum of the first pieces of one word."""
        return sum(lanes for _, lanes in zip(range(PIECES_MAX), self._pieces_of(word), strict=False))

    def _pieces_of(self, word: str) -> Iterator[int]:
        """Yield the lanes of a word: its own if it has a row, else those of its parts, else those of their pieces."""
        if word.isascii() and word.isalpha() and (word.islower() or word.istitle()):
            yield from self._pieces(word.lower())
            return
        whole = self._token(word.lower())
        if whole is not None:
            yield whole
            return
        for chunk in filter(None, _pattern("chunk").split(word)):
            whole = self._token(chunk.lower())
            if whole is not None:
                yield whole
                continue
            for part in _pattern("part").findall(chunk):
                yield from self._pieces(part.lower())

    def _pieces(self, part: str) -> Iterator[int]:
        """Yield the lanes of the longest pieces that cover `part`; what none fits is passed over."""
        whole = self._tokens.get(part)
        if whole is not None and len(part) <= TOKEN_CHARS:
            yield whole
            return
        start, mark = 0, ""
        while start < len(part):
            names = [mark + part[start:end] for end in range(min(len(part), start + TOKEN_CHARS), start, -1)]
            name = self._longest(names)
            if name is not None:
                yield self._token(name) or 0
            start += len(name) - len(mark) if name is not None else 1
            mark = "##"

    def _longest(self, names: list[str]) -> str | None:
        """Return the first of these names, longest first, that has a row, None when none has.

        Asked of the file one by one, and of the names in memory (4 MB) once it was asked often: an import.
        """
        known = self._names
        if known is None:
            if self._tokens.get(names[0]) is not None:
                return names[0]
            self._asked += 1
            if self._asked > ASKED_MAX:
                self._names = known = self._every_name()
        if known is not None:
            for name in names:
                if name in known:
                    return name
            return None
        row = self._row(sql.LONGEST_PIECE, {"names": json.dumps(names)})
        return row[0] if row is not None else None

    def _every_name(self) -> frozenset[str]:
        """Return the names of all tokens; none when the file proves damaged."""
        try:
            return frozenset(name for (name,) in self._connection.execute(sql.PIECE_NAMES))
        except sqlite3.DatabaseError:
            self._damaged()
            return frozenset()

    def _token(self, token: str) -> int | None:
        """Return a token's weighted vector as lanes, None when it has no row."""
        if token in self._tokens:
            return self._tokens[token]
        if self._names is not None and token not in self._names:
            return None
        row = self._row(sql.PIECE, {"token": token})
        if row is not None and not _is_piece(*row):
            self._damaged()
            row = None
        if len(self._tokens) >= KNOWN_MAX:
            self._tokens.clear()
        found = self._tokens[token] = _lanes(row[0]) * (row[1] // WEIGHT_STEP) if row is not None else None
        return found


def open_table() -> TokenTable | None:
    """Return the token table that ships with the package; None when it is missing, broken or of another version."""
    try:
        table = TokenTable(schema_path("tokens.sqlite"))
    except (FileNotFoundError, sqlite3.Error):
        return None
    if table.version != VERSION:
        table.close()
        return None
    return table


_shared: list[TokenTable | None] = []


def shared() -> TokenTable | None:
    """Return the one table of this process, opened when first asked for."""
    if not _shared:
        _shared.append(open_table())
    return _shared[0]


def use(table: TokenTable | None) -> None:
    """Make this the table of the process; None searches by words alone, as ablations and tests do."""
    _shared[:] = [table]


def words_of(text: str) -> list[str]:
    """Return the first words of a text, without accents; a Chinese, Japanese or Korean character is a word."""
    if text.isascii():  # compiling the other pattern takes 4 ms
        return _pattern("ascii").findall(text)[:WORDS_MAX]
    import unicodedata

    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    text = unicodedata.normalize("NFC", plain)
    return _pattern("word").findall(text)[:WORDS_MAX]


def packed(vector: Vector) -> bytes:
    """Return a vector as it is stored, 256 bytes."""
    return bytes(vector.values)


def unpacked(values: bytes) -> Vector:
    """Return a stored vector; 4 µs."""
    found = tuple(values)
    return Vector(found, dist(found, _ORIGIN) ** 2)


def quick(values: bytes) -> Vector:
    """Return a stored vector for many comparisons: its numbers are floats, which take 1.4 µs and not 2.5; 5 µs."""
    found = itemgetter(*values)(_FLOATS)
    return Vector(found, dist(found, _ORIGIN) ** 2)


def sign(vector: Vector) -> int:
    """Return which values are not negative, as one number of 256 bits; not of a quick one."""
    return int(bytes(vector.values).translate(_BIT)[::-1], 2)


def cosine(one: Vector, other: Vector) -> float:
    """Return how alike two directions are, -1 to 1; 2 to 3 µs, because their distance is computed in C and tells it."""
    both = 2.0 * sqrt(one.square * other.square)
    return (one.square + other.square - dist(one.values, other.values) ** 2) / both if both else 0.0


def _is_piece(vector: Any, weight: Any) -> bool:
    """Tell whether a row of the table is of its form."""
    return type(vector) is bytes and len(vector) == DIMS and type(weight) is int and 0 < weight <= WEIGHT_MAX


def _lanes(values: bytes) -> int:
    """Return int8 values as a sum of lanes."""
    spread = bytearray(DIMS * _LANE)
    spread[::_LANE] = values.translate(_FLIP)
    return int.from_bytes(spread, "little") - _SIGNED


def _direction(total: int) -> Vector:
    """Return the direction of a sum of lanes, scaled to fill a byte; 10 µs.

    All lanes are scaled at once, as one number with its point after the bit
    `_POINT`, so that the scale itself may be rounded: no direction depends on it.
    """
    sums = array("i", (total + _CENTRE ^ _CENTRE).to_bytes(DIMS * _LANE, "little"))
    size = dist(sums, _NOWHERE) or 1.0
    scale = round(LENGTH * (1 << _POINT) / size)
    scaled = total * scale + _MIDDLES
    if scale < SCALE_MIN or scaled < 0 or scaled & _BEYOND:
        found = _cut(sums, LENGTH / size)
    else:
        found = tuple((scaled >> _POINT - 16).to_bytes(DIMS * _LANE, "little")[2::_LANE])
    return Vector(found, dist(found, _ORIGIN) ** 2)


def _cut(sums: Iterable[int], scale: float) -> tuple[int, ...]:
    """Return the values of a sum that one number cannot hold: a few are beyond those of a byte, in most long texts."""
    return tuple(map(_CUT.__getitem__, map(int, map((MIDDLE + 0.5).__add__, map(scale.__mul__, sums)))))


def _pattern(name: str) -> re.Pattern[str]:
    found = _patterns.get(name)
    if found is None:
        found = _patterns[name] = re.compile(_SOURCES[name])
    return found
