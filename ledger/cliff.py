"""What the client loads of an index, and which entries lie past the cliff.

Measured with 2.1.332: 200 lines or 25,000 UTF-16 units of the text without its header
and its block comments, trimmed, cut at a line's end. Characters, not bytes: a file of 38,437
bytes was loaded whole. One long line hides all that comes after it.
Pure and lean.
"""

import re
from typing import NamedTuple

LINES, UNITS = 200, 25_000
"""Lines and UTF-16 units that are loaded at most."""

ENTRY_CHARS = 120
"""Characters of an entry that a report names it by."""

_patterns: dict[str, re.Pattern[str]] = {}


class Entry(NamedTuple):
    """A line of an index that the client does not load; `line` counts from 1 in the file."""

    line: int
    text: str


class Cliff(NamedTuple):
    """How an index stands to what is loaded of it.

    `lines` and `units` are those of the text that counts; `first_cut` is the
    line of the file from which on nothing is loaded, None when all is; `limit`
    the word for which limit cut it, '' for none; `cut` every entry past it.
    """

    lines: int
    units: int
    first_cut: int | None
    limit: str
    cut: list[Entry]


def cliff(text: str) -> Cliff:
    """Return which entries of an index lie past what the client loads; any line ends, any text."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    counted = _counted(lines)
    total = sum(_units(line) for _, line in counted) + max(0, len(counted) - 1)
    units, first, limit = 0, None, ""
    for number, (at, line) in enumerate(counted):
        units += _units(line)
        if number >= LINES or units > UNITS:
            first, limit = at, "lines" if number >= LINES else "units"
            break
        units += 1
    kept = {at for at, _ in counted}
    cut = [
        Entry(at, lines[at - 1].strip()[:ENTRY_CHARS])
        for at in range(first or len(lines) + 1, len(lines) + 1)
        if at in kept and lines[at - 1].strip() and not lines[at - 1].lstrip().startswith("#")
    ]
    return Cliff(len(counted), total, first, limit, cut)


def _counted(lines: list[str]) -> list[tuple[int, str]]:
    """Return the lines that count, each with its number: none of the header, of comments, or blank at either end."""
    start = 0
    if lines and lines[0].rstrip() == "---":
        ends = [number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")]
        start = ends[0] + 1 if ends else 0
    if "comment" not in _patterns:
        _patterns["comment"] = re.compile(r"^[ \t]*<!--.*?-->[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
    text = "\n".join(lines[start:])
    gone: set[int] = set()
    for found in _patterns["comment"].finditer(text):
        first = text.count("\n", 0, found.start())
        gone.update(range(first, first + max(1, found.group().count("\n"))))
    kept = [(start + at + 1, line) for at, line in enumerate(lines[start:]) if at not in gone]
    while kept and not kept[0][1].strip():
        kept.pop(0)
    while kept and not kept[-1][1].strip():
        kept.pop()
    if kept:
        kept[-1] = (kept[-1][0], kept[-1][1].rstrip())
    return kept


def _units(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-16-le", "surrogatepass")) // 2
