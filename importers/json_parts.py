"""Cut a JSON document into its parts without reading it as a whole: a bad part costs only itself.

The scanner walks over bytes and tells where each value begins and ends, and on
which line; what a part says is decoded strictly, one part at a time. Depth and
size are bounded, nothing recurses, and a cut document gives the parts before
the cut.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from importers.export import DEPTH_MAX, DIGITS_MAX, LINE_BYTES, Unreadable, check, refuse, unique

TOO_DEEP = f"it nests more than {DEPTH_MAX} levels"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}"]', re.DOTALL)
_WORD = re.compile(rb'[^\s\[\]{},:"]++')
_CLOSES = {b"[": b"]", b"{": b"}"}


class Broken(ValueError):
    """A document whose structure ends or breaks; `line` counts from 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


class Part:
    """One value of a document: where it stands, and what it says."""

    __slots__ = ("line", "raw", "too_deep")

    def __init__(self, raw: bytes, line: int, too_deep: bool) -> None:
        self.raw, self.line, self.too_deep = raw, line, too_deep

    def value(self, cap: int = LINE_BYTES) -> Any:
        """Return what it says.

        Raises:
            Unreadable: it is too long or too deep, not UTF-8, or JSON that readers disagree about.
        """
        if len(self.raw) > cap:
            raise Unreadable(f"it is longer than {cap:,} bytes")
        if self.too_deep:
            raise Unreadable(TOO_DEEP)
        return value(self.raw)


def value(raw: bytes) -> Any:
    """Return the value of one JSON text; a whole number of more than 20 digits counts as None.

    Raises:
        Unreadable: it is not UTF-8, or JSON that readers disagree about.
    """
    try:
        found = _DECODER.decode(raw.decode("utf-8"))
    except Unreadable:
        raise
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise Unreadable("it is no JSON") from None
    check(found)
    return found


def plain_utf8(raw: bytes) -> bytes:
    """Return a document without a byte order mark; UTF-16 that says so becomes UTF-8.

    Raises:
        Unreadable: it is UTF-16 that cannot be decoded.
    """
    if raw[:2] not in UTF16:
        return raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-16").encode("utf-8")
    except UnicodeError:
        raise Unreadable("it is not UTF-16") from None


class Scanner:
    """A place in a document; `at` moves over what was taken."""

    def __init__(self, raw: bytes, line: int = 1) -> None:
        self.raw = raw
        self.at = 0
        self._counted, self._line = 0, line

    def peek(self) -> bytes:
        """Return the first byte of what comes next, blanks left out; empty at the end."""
        found = _BLANKS.match(self.raw, self.at)
        self.at = found.end() if found else self.at
        return self.raw[self.at : self.at + 1]

    def line(self) -> int:
        """Return the line of the place."""
        self._line += self.raw.count(b"\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def part(self) -> Part:
        """Take the value that comes next.

        Raises:
            Broken: there is none, or it does not end.
        """
        first = self.peek()
        line, begin = self.line(), self.at
        if first in _CLOSES:
            too_deep = self._skip_nested()
        else:
            self._skip_flat(first)
            too_deep = False
        return Part(self.raw[begin : self.at], line, too_deep)

    def items(self) -> Iterator[Part]:
        """Take the elements of the list that comes next, one by one.

        Raises:
            Broken: the list does not end, or something else than a comma stands between two.
        """
        self._take(b"[")
        while self.peek() != b"]":
            yield self.part()
            self._end_of_one(b"]")
        self.at += 1

    def members(self) -> Iterator[str]:
        """Yield the keys of the object that comes next; whoever asks takes each value before the next key.

        Raises:
            Broken: the object does not end, a key is none, or a key stands in it twice.
        """
        self._take(b"{")
        seen = set()
        while self.peek() != b"}":
            key = self._key()
            if key in seen:
                raise Broken("a duplicate key stands in it", self.line())
            seen.add(key)
            self._take(b":")
            yield key
            self._end_of_one(b"}")
        self.at += 1

    def _end_of_one(self, closes: bytes) -> None:
        """Go behind the comma after an element; none stands before the mark that closes."""
        is_more = self.peek() == b","
        self.at += is_more
        if is_more == (self.peek() == closes):
            raise self._broken()

    def _key(self) -> str:
        found = _STRING.match(self.raw, self.at)
        if found is None:
            raise self._broken()
        try:
            key = value(found[0])
        except Unreadable as error:
            raise Broken(f"a key cannot be read: {error}", self.line()) from None
        self.at = found.end()
        return str(key)

    def _take(self, mark: bytes) -> None:
        if self.peek() != mark:
            raise self._broken()
        self.at += 1

    def _skip_flat(self, first: bytes) -> None:
        found = (_STRING if first == b'"' else _WORD).match(self.raw, self.at)
        if found is None:
            raise self._broken()
        self.at = found.end()

    def _skip_nested(self) -> bool:
        """Go behind the list or object that comes next; return whether it nests too deep."""
        open_marks: list[bytes] = []
        too_deep = False
        for found in _MARK.finditer(self.raw, self.at):
            mark = found[0]
            if mark in _CLOSES:
                open_marks.append(_CLOSES[mark])
                too_deep = too_deep or len(open_marks) > DEPTH_MAX
            elif mark == b'"' or (len(mark) == 1 and mark != open_marks.pop()):
                self.at = found.start()
                raise self._broken()
            if not open_marks:
                self.at = found.end()
                return too_deep
        self.at = len(self.raw)
        raise self._broken(TOO_DEEP if too_deep else None)

    def _broken(self, reason: str | None = None) -> Broken:
        ends = not self.peek() or (_STRING.match(self.raw, self.at) is None and self.peek() == b'"')
        return Broken(reason or ("it ends in the middle" if ends else "it is no JSON"), self.line())


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= DIGITS_MAX else None


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=refuse, parse_int=_integer)
