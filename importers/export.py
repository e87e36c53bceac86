"""Read the JSONL export of a ledger back, as drafts.

Pure over text; line by line, each bad line costs only itself. JSON is read
strictly: no repeated keys, no NaN, no half surrogate pairs, bounded depth and
numbers. All learnings come in at the trust of other tools' files, in the state
and the lineage that the export tells; what a file claims about trust is not
believed, and its states and links only bear on what it brings itself (`lineage.py`).
"""

import json
from collections.abc import Iterable
from typing import Any

from importers import files
from importers.headers import observed
from importers.kinds import Importer, Parsed
from ledger.model import (
    CATEGORIES,
    CONFIDENCES,
    LOCATOR_CHARS,
    PROJECT_CHARS,
    STATES,
    TAG_CHARS,
    TAGS_MAX,
    Diagnostic,
    Draft,
    Past,
    Source,
)

KIND = "export"
FORMAT = "learning-ledger-export"
VERSION = 1

LINE_BYTES = 1 << 20
FILE_BYTES = 512 << 20
DEPTH_MAX = 64
DIGITS_MAX = 20

LINKS_MAX = 50
"""Most learnings that one may replace."""

ORIGIN = "origin:"
ORIGINS_MAX = 20
"""Places of one learning that are told on; each is an event."""


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
    """Return the learnings of an export, with what became of them.

    Args:
        lines: its lines, each at most `LINE_BYTES` + 1 long, the first the header.
        path: its real path, for sources and diagnostics.
    """
    return _Export(path).parsed(lines)


class _Export:
    """An export on its way to drafts."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.ledger_id: str | None = None
        self.drafts: list[Draft] = []
        self.places: set[str] = set()
        self.diagnostics: list[Diagnostic] = []
        self.replaced: dict[str, dict[str, None]] = {}
        self.fates: dict[str, str] = {}
        self.origins: dict[str, tuple[Source, ...]] = {}

    def parsed(self, lines: Iterable[bytes]) -> Parsed:
        bad = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                self._read(line, number)
            except Unreadable as error:
                bad += 1
                if self.ledger_id is None:
                    self._say(number, "export-header", f"{error}; the file was skipped")
                    break
                self._say(number, "export-line", f"{error}; the line was skipped")
        past = Past({new: tuple(olds) for new, olds in self.replaced.items()}, self.fates, self.origins)
        is_complete = not bad and self.ledger_id is not None
        return Parsed(self.drafts, frozenset(self.places), frozenset(), self.diagnostics, is_complete, past=past)

    def _say(self, line: int | None, code: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(self.path, line, code, message))

    def _read(self, line: bytes, number: int) -> None:
        """Read one line: the header, or a learning."""
        row = strict(line)
        if self.ledger_id is None:
            self.ledger_id = _ledger_id(row)
            return
        locator = self._locator(_text(row, "id"))
        self.places.add(locator)
        if row.get("state") not in STATES:
            raise Unreadable("its state is none that a learning can have")
        self.drafts.append(_draft(row, Source(KIND, locator, self.path, number)))
        self.fates[locator] = row["state"]
        for old in _texts(row, "supersedes"):
            self.replaced.setdefault(locator, {})[self._locator(old)] = None
        for new in _texts(row, "superseded_by"):
            self.replaced.setdefault(self._locator(new), {})[locator] = None
        self.origins[locator] = _origins(row)

    def _locator(self, name: str) -> str:
        return f"{KIND}:{self.ledger_id}:{name}"


def _texts(row: dict[str, Any], key: str) -> list[str]:
    """Return the texts of a list, at most as many as one event may name; what is no list has none."""
    found = row.get(key)
    return [one for one in found if isinstance(one, str) and one][:LINKS_MAX] if isinstance(found, list) else []


def _origins(row: dict[str, Any]) -> tuple[Source, ...]:
    """Return where the ledger that wrote this had read a learning; it is told as a text, and no path is followed."""
    found = row.get("sources")
    places = [one.get("locator") for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    told = [one.removeprefix(ORIGIN) for one in places if isinstance(one, str) and one.strip()]
    kept = [f"{ORIGIN}{one}" for one in dict.fromkeys(told) if len(one) <= LOCATOR_CHARS - len(ORIGIN)]
    return tuple(Source("origin", one) for one in kept[:ORIGINS_MAX])


def _ledger_id(row: dict[str, Any]) -> str:
    if row.get("format") != FORMAT:
        raise Unreadable("it is no export of a ledger")
    if row.get("version") != VERSION:
        raise Unreadable(f"this program reads version {VERSION} of the export; install a newer learning-ledger")
    return _text(row, "ledger_id")


def _draft(row: dict[str, Any], source: Source) -> Draft:
    """Return what a line says as a draft; what is wrong with an optional field is left out, not the line."""
    tags = row.get("tags")
    category, confidence = row.get("category"), row.get("confidence")
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
        observed_at=_observed(row),
        confidence=confidence if confidence in CONFIDENCES else "ambiguous",
        source=source,
    )


def _observed(row: dict[str, Any]) -> str | None:
    """Return since when a learning is known: as it was observed, else as that ledger recorded it."""
    told = [row.get(key) for key in ("observed_at", "recorded_at")]
    return next((at for one in told if isinstance(one, str) and (at := observed(one)) is not None), None)


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
    """Raise `Unreadable` for half surrogate pairs, U+0000 and depth, level by level."""
    depth, level = 0, [value]
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                if "\0" in item or not (item.isascii() or _is_whole(item)):
                    raise Unreadable("it holds U+0000 or half of a surrogate pair")
            elif isinstance(item, (dict, list)):
                if depth == DEPTH_MAX:
                    raise Unreadable(f"it is more than {DEPTH_MAX} levels deep")
                below += item
                below += item.values() if isinstance(item, dict) else ()
        depth, level = depth + 1, below


def _is_whole(text: str) -> bool:
    """Tell whether a text has no half of a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


_DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=refuse, parse_int=_integer)


IMPORTER = Importer(KIND, lambda head, path: sniff(head), read)
