"""Cut Markdown into the pieces that hold one learning each: sections, list items, prose.

Line by line, in one pass, without a tree: what a note means is decided by its
headings and its list items. Fenced code stays whole and is never taken for a
heading or an item. Block comments of HTML are left out, as the client does.
Lines are counted from 1.
"""

import re
from textwrap import dedent
from typing import NamedTuple

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
_ITEM = re.compile(r"^ {0,3}[-*+][ \t]+(\S.*)$")
_ORDERED = re.compile(r"^ {0,3}\d{1,9}[.)][ \t]+\S")
_RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}[ \t]*)$")
_HEADING_CHARS = 120


class Line(NamedTuple):
    """One line of a text; `code` when it belongs to fenced code, its fences included."""

    number: int
    text: str
    code: bool


class Section(NamedTuple):
    """The lines below a heading, without it; `path` are the headings above them, outermost first, () before the first.

    `line` is the heading's line, or the first line of the text.
    """

    path: tuple[str, ...]
    line: int
    lines: list[Line]

    @property
    def text(self) -> str:
        """Return the section's text without blank lines at its ends."""
        return "\n".join(line.text for line in self.lines).strip("\n").rstrip()


class Block(NamedTuple):
    """A list item with all that belongs to it, or the prose between lists; `text` has no item mark.

    `numbers` are the lines that it is made of.
    """

    is_item: bool
    line: int
    text: str
    numbers: tuple[int, ...] = ()


def lines(text: str, first: int = 1) -> list[Line]:
    """Return the lines of a text that count, numbered from `first`; comments of HTML are left out.

    A comment that is never closed is none: the rest of the note would go with it.
    """
    found: list[Line] = []
    fence = ""
    all_lines = text.split("\n")
    closes = max((number for number, line in enumerate(all_lines, first) if "-->" in line), default=-1)
    in_comment = False
    for number, whole in enumerate(all_lines, first):
        line = whole
        if in_comment:
            _, mark, line = line.partition("-->")
            in_comment = not mark
            if not line.strip():
                continue
        if fence:
            found.append(Line(number, line, code=True))
            closing = line.strip()
            if closing.startswith(fence) and not closing.strip(fence[0]):
                fence = ""
            continue
        opening = _FENCE.match(line)
        if opening is not None:
            fence = opening[1]
        elif line.lstrip().startswith("<!--") and number <= closes:
            _, mark, line = line.partition("-->")
            in_comment = not mark
            if not line.strip():
                continue
        found.append(Line(number, line, opening is not None and _ITEM.match(line) is None))
    return found


def heading(line: Line) -> tuple[int, str] | None:
    """Return level and words of a heading, None for any other line."""
    match = None if line.code or "#" not in line.text[:4] else _HEADING.match(line.text)
    return (len(match[1]), plain(match[2])[:_HEADING_CHARS]) if match is not None else None


def sections(found: list[Line], deepest: int = 6) -> list[Section]:
    """Cut lines at their headings down to level `deepest`; deeper headings stay in the text."""
    made = [Section((), found[0].number if found else 1, [])]
    path: list[tuple[int, str]] = []
    for line in found:
        mark = heading(line)
        if mark is None or mark[0] > deepest:
            made[-1].lines.append(line)
            continue
        path = [*(one for one in path if one[0] < mark[0]), mark]
        made.append(Section(tuple(words for _, words in path), line.number, []))
    return made


def blocks(found: list[Line]) -> list[Block]:
    """Return list items and the prose between them, in order.

    Nested items, indented lines and code stay with their item. A numbered list
    is a procedure, its steps mean nothing alone: it is prose.
    """
    made: list[Block] = []
    at = 0
    while at < len(found):
        begin = at
        if _is_item(found[at]):
            at = _item_end(found, at)
            made.append(_item(found[begin:at]))
        else:
            while at < len(found) and not _is_item(found[at]):
                at += 1
            made += _prose(found[begin:at])
    return made


def _is_item(line: Line) -> bool:
    return not line.code and _ITEM.match(line.text) is not None and _RULE.match(line.text) is None


def _indent(text: str) -> int:
    wide = text.expandtabs(4)
    return len(wide) - len(wide.lstrip(" "))


def _item_end(found: list[Line], begin: int) -> int:
    """Return the index after the last line that belongs to the item at `begin`."""
    within = _indent(found[begin].text) + 2
    at = begin + 1
    while at < len(found):
        after = at
        while after < len(found) and not found[after].text.strip():
            after += 1
        if after == len(found):
            return at
        line, before = found[after], found[at - 1]
        in_code = line.code and (before.code or (after == at and _FENCE.match(before.text) is not None))
        if not (in_code or _indent(line.text) >= within or (after == at and _is_lazy(line))):
            return at
        at = after + 1
    return at


def _is_lazy(line: Line) -> bool:
    """Return whether a line right below an item continues its paragraph without being indented."""
    starts = (_ITEM, _ORDERED, _RULE)
    return not line.code and heading(line) is None and not any(mark.match(line.text) for mark in starts)


def _item(found: list[Line]) -> Block:
    match = _ITEM.match(found[0].text)
    head = match[1] if match is not None else found[0].text
    rest = dedent("\n".join(line.text for line in found[1:])).rstrip()
    numbers = tuple(line.number for line in found)
    return Block(is_item=True, line=found[0].number, text=f"{head}\n{rest}" if rest else head.rstrip(), numbers=numbers)


def _prose(found: list[Line]) -> list[Block]:
    """Return lines as one block of prose, none when they say nothing."""
    kept = [line for line in found if line.code or not _RULE.match(line.text)]
    first = next((at for at, line in enumerate(kept) if line.text.strip()), None)
    if first is None:
        return []
    text = "\n".join(line.text for line in kept[first:]).rstrip()
    numbers = tuple(line.number for line in kept[first : first + text.count("\n") + 1])
    return [Block(is_item=False, line=kept[first].number, text=text, numbers=numbers)]


def plain(text: str) -> str:
    """Return one line without marks of emphasis and links; code marks stay."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", text).split())


def parts(text: str, most: int) -> list[str]:
    """Cut a text into pieces of at most `most` characters, at blank lines where it has them, else at lines or words."""
    found = [text.strip("\n")]
    for mark in ("\n\n", "\n", " ", ""):
        if all(len(piece) <= most for piece in found):
            break
        found = [part for piece in found for part in ([piece] if len(piece) <= most else _joined(piece, mark, most))]
    return [piece for piece in found if piece.strip()]


def _joined(text: str, mark: str, most: int) -> list[str]:
    """Cut a text at every `mark` and join neighbours again as long as they fit."""
    if not mark:
        return [text[at : at + most] for at in range(0, len(text), most)]
    found: list[str] = []
    for piece in text.split(mark):
        if found and len(found[-1]) + len(mark) + len(piece) <= most:
            found[-1] += mark + piece
        else:
            found.append(piece)
    return found
