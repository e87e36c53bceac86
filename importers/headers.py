"""Read the YAML header of a note, whatever was done to it.

Strict first, then line by line, then no header: never an exception, and the
body survives them all (8 % of real memory headers break a YAML reader). Every
value stays the text it was, so `1.10` and `no` mean themselves. Aliases,
anchors, tags, depth and size are refused while events are read, before
anything is built. What a header claims about identity, trust or time beyond
`modified` is not believed.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from ledger.model import Diagnostic

HEADER_CHARS = 64_000
_BLOCK_MARKS = frozenset({">", ">-", ">+", "|", "|-", "|+"})
DEPTH_MAX = 16
KEYS_MAX = 200

# fmt: off
KNOWN = frozenset({
    "description", "metadata", "modified", "name", "node_type", "originsessionid", "tags", "title", "type",
})
RESERVED = frozenset({
    "actor", "actor_id", "actor_kind", "batch", "channel", "confidence", "created", "created_at", "date",
    "event_id", "id", "pinned", "project", "recorded_at", "seq", "state", "superseded_by", "supersedes",
    "trust", "updated", "updated_at",
})
# fmt: on
"""`KNOWN` are keys by which a header without an end is known as one: without any, its lines are the note's own words.
`RESERVED` are keys that would forge what only the ledger or the place of a file may say."""

Value = str | list[str]

_TEXTS = frozenset({"description", "name", "type"})
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_END = re.compile(r"^(?:-{3,}|\.{3})[ \t]*$", re.MULTILINE)
_START = re.compile(r"\s*^-{3,}[ \t]*\n", re.MULTILINE)
_KEY = re.compile(r"^([ \t]*)([\"']?)([A-Za-z_][\w .-]{0,60}?)\2[ \t]*:(?:[ \t]+(.*))?$")
_KEY_LINE = re.compile(r"^[ \t]*[\"']?[A-Za-z_][\w .-]{0,60}?[\"']?[ \t]*:(?:[ \t]|$)", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.*)$")
_BEYOND = re.compile(r"[-+]?(?:\.(?:nan|inf)|0x[0-9a-f]{15,}|[0-9]{17,})\Z", re.IGNORECASE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Header(NamedTuple):
    """A note cut in two; `fields` are lower-case keys, those below `metadata:` included.

    `raw` is the header's text ('' without one), `body` the rest as it stands,
    `body_line` the line it begins on.
    """

    fields: dict[str, Value]
    raw: str
    body: str
    body_line: int
    diagnostics: list[Diagnostic]

    def text(self, key: str) -> str:
        """Return a field's text on one line, '' when it is absent or a list."""
        value = self.fields.get(key, "")
        return " ".join(value.split()) if isinstance(value, str) else ""

    def texts(self, key: str) -> list[str]:
        """Return a field as a list; a text is split at commas."""
        value = self.fields.get(key, [])
        parts = value.strip("[]").split(",") if isinstance(value, str) else value
        return [" ".join(part.strip().strip("\"'").split()) for part in parts if part.strip()]


class Refused(ValueError):
    """A header that the strict reader does not build."""


def parse(text: str, file: str) -> Header:
    """Return the header and the body of a note; `file` is for the diagnostics."""
    start = _START.match(text) if text.lstrip()[:3] == "---" else None
    if start is None:
        return Header({}, "", text, 1, [])
    first = text.count("\n", 0, start.end()) + 1
    end = _END.search(text, start.end())
    raw = text[start.end() : end.start() if end else len(text)]
    if end is not None and not raw.strip():
        return Header({}, raw, text[end.end() + 1 :], text.count("\n", 0, end.end()) + 2, [])
    if not _KEY_LINE.search(raw):
        return Header({}, "", text, 1, [])
    diagnostics: list[Diagnostic] = []
    fields = None
    if end is None:
        diagnostics.append(Diagnostic(file, first - 1, "header-open", "the header is never closed; read line by line"))
    elif len(raw) > HEADER_CHARS:
        message = f"the header is larger than {HEADER_CHARS:,} characters; its beginning was read line by line"
        diagnostics.append(Diagnostic(file, first - 1, "header-large", message))
    else:
        fields = _strict(raw, file, first, diagnostics)
    if fields is None:
        kept = _header_part(raw, is_open=end is None)
        end, raw = (end if len(kept) == len(raw) else None), kept
        fields = _tolerant(raw)
        if end is None and not fields.keys() & (KNOWN | RESERVED):
            return Header({}, "", text, 1, [])
    body_at = end.end() + 1 if end is not None else start.end() + len(raw)
    fields = _believed(fields, raw, file, first, diagnostics)
    return Header(fields, raw, text[body_at:], text.count("\n", 0, body_at) + 1, diagnostics)


def _header_part(raw: str, is_open: bool) -> str:
    """Return as much of a broken header as can be one: what follows is the note's own words, and none may be lost.

    It ends where a paragraph begins after a blank line; one that is never
    closed (`is_open`) already at its first line that is no header's.
    """
    at, was_blank = 0, False
    for line in _LINE.findall(raw):
        if not line.strip():
            was_blank = True
        elif line[0] in " \t#" or _KEY.match(line.rstrip("\n")) or _ITEM.match(line.rstrip("\n")):
            if is_open and was_blank:
                break
            was_blank = False
        elif was_blank or is_open:
            break
        at += len(line)
    return raw[:at]


# -- strict -----------------------------------------------------------------------------------------------------------


class _Texts(YAMLHandler):
    """python-frontmatter's YAML, built of texts only and within bounds."""

    def load(self, fm: str, **kwargs: object) -> Any:
        """Return the header as dicts, lists and texts.

        Raises:
            Refused, yaml.YAMLError: it is not plain YAML within the bounds.
        """
        return _tree(yaml.parse(fm, Loader=_LOADER))


_HANDLER = _Texts()


def _strict(raw: str, file: str, line: int, diagnostics: list[Diagnostic]) -> dict[str, Value] | None:
    """Return the fields of a header that is plain YAML, else None and a diagnostic that says why."""
    try:
        loaded, _ = frontmatter.parse(f"---\n{raw}\n---\n", handler=_HANDLER)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = line + mark.line - 1 if mark is not None else line
        why = str(error) if isinstance(error, Refused) else "not YAML"
        diagnostics.append(Diagnostic(file, max(line, at), "header-broken", f"{why}; the header was read line by line"))
        return None
    return _flat(loaded)


def _tree(events: Iterable[Any]) -> Any:
    """Return what YAML events describe, without recursion.

    Raises:
        Refused: an alias, an anchor, a tag, a repeated or composed key, or too much of anything.
    """
    root: list[Any] = []
    stack: list[Any] = [root]
    keys: list[str | None] = [None]
    count = 0
    for event in events:
        kind = type(event)
        if kind is yaml.AliasEvent or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise Refused("aliases, anchors and tags are not read")
        if kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
            stack.pop()
            keys.pop()
            continue
        if kind is yaml.ScalarEvent:
            value: Any = event.value
        elif kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
            value = {} if kind is yaml.MappingStartEvent else []
        else:
            continue
        count += 1
        if len(stack) > DEPTH_MAX or count > 4 * KEYS_MAX:
            raise Refused(f"more than {DEPTH_MAX} levels or {KEYS_MAX} keys")
        _put(stack[-1], keys, value)
        if kind is not yaml.ScalarEvent:
            stack.append(value)
            keys.append(None)
    return root[0] if root else None


def _put(parent: Any, keys: list[str | None], value: Any) -> None:
    """Add a value to its parent: as an item, as a key, or as the value of the key before it."""
    if isinstance(parent, list):
        parent.append(value)
    elif keys[-1] is not None:
        parent[keys[-1]] = value
        keys[-1] = None
    elif not isinstance(value, str):
        raise Refused("a key that is no text")
    elif value in parent:
        raise Refused("a key stands there twice")
    else:
        keys[-1] = value


def _flat(loaded: dict[str, Any]) -> dict[str, Value]:
    """Return the texts and lists of texts of a header and of its `metadata:`, lower-case keys, the outer first."""
    fields: dict[str, Value] = {}
    inner = loaded.get("metadata")
    for part in (loaded, inner if isinstance(inner, dict) else {}):
        for key, value in part.items():
            if isinstance(value, str):
                fields.setdefault(key.lower(), value)
            elif isinstance(value, list):
                fields.setdefault(key.lower(), [item for item in value if isinstance(item, str)])
    return fields


# -- tolerant ---------------------------------------------------------------------------------------------------------


def _tolerant(raw: str) -> dict[str, Value]:
    """Return the fields of a header by its lines: `key: value`, indentation ignored, the first of a name wins.

    A line that is neither a key nor an item goes on with the text before it.
    """
    fields: dict[str, Value] = {}
    items: list[str] | None = None
    last = ""
    for line in raw.split("\n")[: 4 * KEYS_MAX]:
        item = _ITEM.match(line)
        if item is not None:
            if items is not None:
                items.append(_unquoted(item[1]))
            continue
        match = _KEY.match(line)
        if match is None:
            before = fields.get(last)
            if line.strip() and not line.startswith("#") and isinstance(before, str):
                fields[last] = f"{before} {line.strip()}".lstrip()
            continue
        key, value = match[3].lower(), _unquoted(match[4] or "")
        items, last = None, ""
        if key in fields or len(fields) >= KEYS_MAX:
            continue
        if value:
            fields[key], last = "" if value in _BLOCK_MARKS else value, key
        elif key != "metadata":
            fields[key] = items = []
    return {key: value for key, value in fields.items() if value}


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


# -- what is believed -------------------------------------------------------------------------------------------------


def _believed(
    fields: dict[str, Value], raw: str, file: str, first: int, diagnostics: list[Diagnostic]
) -> dict[str, Value]:
    """Return the fields without those that forge something, `modified` as time text or absent."""
    kept = {}
    for key, value in fields.items():
        if key.replace("-", "_") in RESERVED:
            line = _line_of(key, raw, first)
            diagnostics.append(
                Diagnostic(file, line, "header-reserved", "a key that only the ledger sets; it was ignored")
            )
        elif key in _TEXTS and not isinstance(value, str):
            message = f"`{key}` is a list, not text; it was ignored"
            diagnostics.append(Diagnostic(file, _line_of(key, raw, first), "header-type", message))
        else:
            kept[key] = value
            if isinstance(value, str) and _BEYOND.match(value):
                message = f"`{key}` is no finite number within ±2^53; it was kept as text"
                diagnostics.append(Diagnostic(file, _line_of(key, raw, first), "header-number", message))
    modified = kept.pop("modified", None)
    if modified is not None:
        time = observed(modified) if isinstance(modified, str) else None
        if time is None:
            line = _line_of("modified", raw, first)
            diagnostics.append(Diagnostic(file, line, "header-time", "`modified` is no time; it was ignored"))
        else:
            kept["modified"] = time
    return kept


def _line_of(key: str, raw: str, first: int) -> int:
    for number, line in enumerate(raw.split("\n")):
        match = _KEY.match(line)
        if match is not None and match[3].lower() == key:
            return first + number
    return first


def observed(claimed: str) -> str | None:
    """Return a claimed time as `2026-11-30T02:47:56.123456Z`, None when it is none; without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(claimed.strip())
        if len(claimed) == 24 and claimed[4:20:3] == "--T::." and claimed[23] == "Z":
            return claimed[:23] + "000Z"  # as clients write it; printing a date costs more than reading it
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
