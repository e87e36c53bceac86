"""Read the JSONL export of a ledger back, as drafts.

Pure over text; line by line, each bad line costs only itself. JSON is read
strictly: no repeated keys, no NaN, no half surrogate pairs, bounded depth and
numbers. Only current learnings come in, at the trust of other tools' files:
what a file claims about trust, state and time is not believed.
"""

import json
from collections.abc import Iterable
from typing import Any

from importers import files
from importers.headers import observed
from importers.kinds import Importer, Parsed
from ledger.model import CATEGORIES, CONFIDENCES, PROJECT_CHARS, TAG_CHARS, TAGS_MAX, Diagnostic, Draft, Source

KIND = "export"
FORMAT = "learning-ledger-export"
VERSION = 1

LINE_BYTES = 1 << 20
FILE_BYTES = 512 << 20
DEPTH_MAX = 64
DIGITS_MAX = 20


class Unreadable(ValueError):
    """A line that is no strict JSON, or not what an export holds; the message never quotes it."""


def sniff(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is an export."""
    return FORMAT.encode("ascii") in head.partition(b"\n")[0]


def read(path: str, project: str | None = None) -> list[Parsed]:
    """Return what an export says; each line names its own project.

    Raises:
        Unread: it is not a regular file, or larger than any export.
    """
    return [parse(files.lines(path, LINE_BYTES, FILE_BYTES), path)]


def parse(lines: Iterable[bytes], path: str) -> Parsed:
    """Return the drafts of an export.

    Args:
        lines: its lines, each at most `LINE_BYTES` + 1 long, the first the header.
        path: its real path, for sources and diagnostics.
    """
    found = Parsed([], frozenset(), frozenset(), [], is_complete=True)
    places: set[str] = set()
    bad = others = 0
    ledger_id = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            if ledger_id is None:
                ledger_id = _ledger_id(strict(line))
                continue
            row = strict(line)
            locator = f"{KIND}:{ledger_id}:{_text(row, 'id')}"
            places.add(locator)
            if row.get("state") == "current":
                found.drafts.append(_draft(row, Source(KIND, locator, path, number)))
            else:
                others += 1
        except Unreadable as error:
            bad += 1
            if ledger_id is None:
                found.diagnostics.append(Diagnostic(path, number, "export-header", f"{error}; the file was skipped"))
                break
            found.diagnostics.append(Diagnostic(path, number, "export-line", f"{error}; the line was skipped"))
    if others:
        message = f"{others:,} learnings that were not current when it was written were left out"
        found.diagnostics.append(Diagnostic(path, None, "export-not-current", message))
    return found._replace(whole=frozenset(places), is_complete=not bad and ledger_id is not None)


def _ledger_id(row: dict[str, Any]) -> str:
    if row.get("format") != FORMAT:
        raise Unreadable("it is no export of a ledger")
    if row.get("version") != VERSION:
        raise Unreadable(f"this program reads version {VERSION} of the export; install a newer learning-ledger")
    return _text(row, "ledger_id")


def _draft(row: dict[str, Any], source: Source) -> Draft:
    """Return what a line says as a draft; what is wrong with an optional field is left out, not the line."""
    tags = row.get("tags")
    category, confidence, claimed = row.get("category"), row.get("confidence"), row.get("observed_at")
    if category not in CATEGORIES:
        raise Unreadable("its category is none of the six")
    return Draft(
        problem=_text(row, "problem"),
        solution=_text(row, "solution"),
        category=category,
        project=_text(row, "project")[:PROJECT_CHARS],
        title=row["title"] if isinstance(row.get("title"), str) and row["title"].strip() else None,
        tags=tuple(tag[:TAG_CHARS] for tag in tags if isinstance(tag, str))[:TAGS_MAX]
        if isinstance(tags, list)
        else (),
        observed_at=observed(claimed) if isinstance(claimed, str) else None,
        confidence=confidence if confidence in CONFIDENCES else "ambiguous",
        source=source,
    )


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Unreadable(f"its {key} is missing or no text")
    return value


# -- strict JSON ------------------------------------------------------------------------------------------------------


def strict(line: bytes) -> dict[str, Any]:
    """Return the JSON object of one line.

    Raises:
        Unreadable: it is too long, not UTF-8, no object, or JSON that readers disagree about.
    """
    if len(line) > LINE_BYTES:
        raise Unreadable(f"it is longer than {LINE_BYTES:,} bytes")
    try:
        value = _DECODER.decode(line.decode("utf-8").removeprefix("\ufeff"))
    except Unreadable:
        raise
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise Unreadable("it is no JSON") from None
    if not isinstance(value, dict):
        raise Unreadable("it is no JSON object")
    check(value)
    return value


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; raise `Unreadable` when a key stands in it twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Unreadable("a duplicate key stands in it")
    return made


def refuse(word: str) -> Any:
    """Raise `Unreadable` for NaN and the infinities, which JSON does not know."""
    raise Unreadable("NaN or an infinity stands in it, which is no JSON number")


def _integer(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise Unreadable(f"a number in it has more than {DIGITS_MAX} digits")
    return int(digits)


def check(value: Any) -> None:
    """Raise `Unreadable` for half surrogate pairs, U+0000 and depth, without recursion."""
    todo = [(value, 0)]
    while todo:
        item, depth = todo.pop()
        if isinstance(item, str):
            if "\0" in item or (not item.isascii() and any("\ud800" <= letter <= "\udfff" for letter in item)):
                raise Unreadable("it holds U+0000 or half of a surrogate pair")
        elif isinstance(item, (dict, list)):
            if depth == DEPTH_MAX:
                raise Unreadable(f"it is more than {DEPTH_MAX} levels deep")
            todo += [(one, depth + 1) for one in (*item, *item.values())] if isinstance(item, dict) else []
            todo += [(one, depth + 1) for one in item] if isinstance(item, list) else []


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=refuse, parse_int=_integer)


IMPORTER = Importer(KIND, lambda head, path: sniff(head), read)
