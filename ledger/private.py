"""Leave out what somebody marked as private: `<private>…</private>`, and regions between markers of one's own.

A region that is never closed goes on to the end: what was meant to stay out
stays out. Tags may have attributes, blanks and capitals, and stand in each
other. A tag alone between backticks is a mention of it.
Lean path, without `typing`.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_TAG = r"(?i)(?:<|&lt;)[ \t]{0,8}(?P<end>/?)[ \t]{0,8}private(?=[\s/>&])[^<>]{0,200}?(?P<own>/?)(?:>|&gt;)"


def without(text: str, markers: Mapping[str, str] | None = None) -> str:
    """Return a text without its private regions, a blank in the place of each; `markers` lead from begin to end."""
    if "private" in text.lower():
        text = _without_tags(text)
    for begin, end in sorted((markers or {}).items()):
        text = _without_marked(text, begin, end)
    return text


def _without_tags(text: str) -> str:
    parts: list[str] = []
    last = depth = 0
    for tag in re.compile(_TAG).finditer(text):
        if text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
            continue
        if not depth:
            parts.append(text[last : tag.start()])
        if tag["end"]:
            depth = max(0, depth - 1)
        elif not tag["own"]:
            depth += 1
        last = tag.end()
    if not depth:
        parts.append(text[last:])
    return " ".join(parts) if len(parts) > 1 or depth else text


def _without_marked(text: str, begin: str, end: str) -> str:
    """Return a text without what stands from `begin` to `end`, in whatever case; regions may stand in each other."""
    found = re.split(re.escape(begin), text, flags=re.IGNORECASE)
    if len(found) == 1:
        return text
    closing = re.compile(re.escape(end), re.IGNORECASE)
    parts, depth = [found[0]], 0
    for piece in found[1:]:
        depth += 1
        at = 0
        while depth and (match := closing.search(piece, at)):
            depth -= 1
            at = match.end()
        if not depth:
            parts.append(piece[at:])
    return " ".join(parts)
