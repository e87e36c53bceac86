"""Edit JSON as text: put a part in or take one out, and leave every other byte as it is.

Settings are written by people: to parse and dump them would reorder nothing but
reformat all of it. Every text given here has been parsed before, so nothing is
checked twice. Taking out what was put in last gives the text there was.
"""

import json
import re
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()


class Part(NamedTuple):
    """A member of an object or an item of an array: where it begins, where its value begins and ends.

    `key` is None for items.
    """

    key: str | None
    start: int
    value: int
    end: int


class Style(NamedTuple):
    """How a text is laid out: its line ends, one step of indentation, what follows `:` and `,` within a line."""

    newline: str
    step: str
    is_inline: bool
    space: str


def parts(text: str, at: int) -> list[Part]:
    """Return the parts of the object or array that begins at `at`, in their order."""
    close = "}" if text[at] == "{" else "]"
    found = []
    at = _past_space(text, at + 1)
    while text[at] != close:
        start, key = at, None
        if close == "}":
            key, at = _DECODER.raw_decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)
        end = end_of(text, at)
        found.append(Part(key, start, at, end))
        at = _past_space(text, end)
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return found


def end_of(text: str, at: int) -> int:
    """Return where the value that begins at `at` ends."""
    return _DECODER.raw_decode(text, at)[1]


def root(text: str) -> int:
    """Return where the one value of a text begins."""
    return _past_space(text, 0)


def find(text: str, path: tuple[str, ...]) -> int | None:
    """Return where the value at a path of keys begins, or None; of a key that repeats the last one counts."""
    at = root(text)
    for key in path:
        held = [part.value for part in parts(text, at) if part.key == key] if text[at] == "{" else []
        if not held:
            return None
        at = held[-1]
    return at


def style_of(text: str) -> Style:
    """Return the style of a text from the first part of its object; an empty one is given two spaces."""
    newline = "\r\n" if "\r\n" in text else "\n"
    at = root(text)
    first = next(iter(parts(text, at)), None)
    if first is None:
        return Style(newline, "  ", is_inline=False, space=" ")
    gap = text[at + 1 : first.start]
    if "\n" in gap:
        return Style(newline, gap.rpartition("\n")[2] or "  ", is_inline=False, space=" ")
    return Style(newline, "", is_inline=True, space=" " if text[first.value - 1] == " " else "")


def put(text: str, at: int, key: str | None, value: Any, style: Style) -> str:
    """Return the text with one more part at the end of the object or array that begins at `at`."""
    label = "" if key is None else json.dumps(key, ensure_ascii=False) + ":" + (style.space if style.is_inline else " ")
    found = parts(text, at)
    if found:
        before, line = text[at + 1 : found[0].start], ""
        if "\n" in before:
            line = style.newline + before.rpartition("\n")[2]
        end = found[-1].end
        return text[:end] + "," + (line or style.space) + label + _dumped(value, line, style) + text[end:]
    if style.is_inline:
        return text[: at + 1] + label + _dumped(value, "", style) + text[end_of(text, at) - 1 :]
    outer = style.newline + _indent(text, at)
    body = label + _dumped(value, outer + style.step, style)
    return text[: at + 1] + outer + style.step + body + outer + text[end_of(text, at) - 1 :]


def take(text: str, at: int, index: int) -> str:
    """Return the text without one part of the object or array that begins at `at`."""
    found = parts(text, at)
    if len(found) == 1:
        return text[: at + 1] + text[end_of(text, at) - 1 :]
    if index == len(found) - 1:
        return text[: found[-2].end] + text[found[-1].end :]
    return text[: found[index].start] + text[found[index + 1].start :]


def replace(text: str, part: Part, value: Any, style: Style) -> str:
    """Return the text with another value of one part."""
    line = "" if style.is_inline else style.newline + _indent(text, part.start)
    return text[: part.value] + _dumped(value, line, style) + text[part.end :]


def _dumped(value: Any, line: str, style: Style) -> str:
    """Return a value as JSON, over several lines when it stands on one of its own: `line` is what begins that one."""
    if "\n" not in line:
        return json.dumps(value, ensure_ascii=False, separators=("," + style.space, ":" + style.space))
    return json.dumps(value, ensure_ascii=False, indent=style.step or "  ").replace("\n", line)


def _indent(text: str, at: int) -> str:
    """Return the white space that the line of `at` begins with."""
    start = text.rfind("\n", 0, at) + 1
    found = re.match(r"[ \t]*", text[start:at])
    return found.group() if found else ""


def _past_space(text: str, at: int) -> int:
    while text[at : at + 1] in tuple(" \t\r\n"):
        at += 1
    return at
