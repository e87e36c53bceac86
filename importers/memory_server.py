"""Read the knowledge graph of the reference MCP memory server: JSON lines of entities and relations, or its answer.

What is observed of an entity is a learning each; an entity is one place, so that
an observation that was reworded is an edit. Relations are no learnings. Facts:
`@modelcontextprotocol/server-memory`, `memory.jsonl` (`memory.json` before), lines of `type` entity or relation.
"""

import os
import re
from typing import Any

from importers import files, json_parts, json_rows
from importers.collected import Collected, name_in_locator, tags_of, told
from importers.export import FILE_BYTES, LINE_BYTES, Unreadable, strict
from importers.files import Unread
from importers.kinds import Importer, Parsed, Where
from importers.projects import project_of
from importers.subjects import categorised
from ledger.model import EVERYWHERE

KIND = "memory-server"

OBSERVATIONS_MAX = 5_000
"""Most observations of one entity that are read."""

_KNOWN = frozenset(("type", "name", "entityType", "observations", "from", "to", "relationType"))
_LINE = re.compile(rb'\s*\{[^{}]{0,400}?"type"\s*:\s*"(?:entity|relation)"')
_GRAPH = re.compile(rb'\s*\{\s*"(?:entities|relations)"\s*:\s*\[')


def sniff(head: bytes, path: str) -> bool:
    """Return whether a file that begins with these bytes is a graph of this server."""
    plain = head.removeprefix(b"\xef\xbb\xbf")
    first = plain.lstrip().partition(b"\n")[0]
    is_line = _LINE.match(first) is not None and (b'"entityType"' in first or b'"relationType"' in first)
    return is_line or _GRAPH.match(plain) is not None


def places(where: Where) -> list[str]:
    """Return the file that the server's own variable names; without one it lies inside its package."""
    named = where.environ.get("MEMORY_FILE_PATH", "")
    path = os.path.join(where.home, named[2:]) if named.startswith("~/") else named
    return [path] if os.path.isabs(path) and os.path.isfile(path) else []


class _Graph(Collected):
    """A graph on its way to drafts."""

    def __init__(self, path: str, project: str | None) -> None:
        super().__init__(KIND, path, project)
        self.place = project or project_of(path) or EVERYWHERE

    def line(self, row: dict[str, Any], line: int) -> None:
        """Add what a line says.

        Raises:
            Unreadable: it is neither an entity nor a relation.
        """
        if row.get("type") == "relation":
            self.relation(row, line)
        elif row.get("type") == "entity":
            self.entity(row, line)
        else:
            raise Unreadable("it is neither an entity nor a relation")

    def relation(self, row: dict[str, Any], line: int) -> None:
        """Count a relation."""
        self.leave_out("relations")

    def entity(self, row: dict[str, Any], line: int) -> None:
        """Add what was observed of an entity.

        Raises:
            Unreadable: it has no name, or its observations are no texts.
        """
        self.unknown |= row.keys() - _KNOWN
        name, kind = told(row, "name"), told(row, "entityType")
        found = row.get("observations")
        if not name or not isinstance(found, list):
            raise Unreadable("it has no name, or no list of observations")
        texts = [one.strip() for one in found if isinstance(one, str) and one.strip()]
        if len(texts) < len(found) or len(texts) > OBSERVATIONS_MAX:
            message = f"not all of its observations are texts, or they are more than {OBSERVATIONS_MAX:,}"
            self.refuse(line, message, "a part of an entity")
        locator = f"{KIND}:{self.path}#{name_in_locator(name)}"
        self.whole.add(locator)
        if not texts:
            self.leave_out("entities without observations")
        about = f"{name} ({kind})" if kind and kind.lower() != name.lower() else name
        for text in texts[:OBSERVATIONS_MAX]:
            category = categorised("", f"{kind} {text}")
            self.add(locator, about, text, category, self.place, line=line, tags=tags_of((kind,)))


def read(path: str, project: str | None = None) -> list[Parsed]:
    """Return what a graph says.

    Raises:
        Unread: nothing of it can be taken.
    """
    head = files.read_head(path, 4_096)
    if _GRAPH.match(head.removeprefix(b"\xef\xbb\xbf")):
        return parse(files.read_bytes(path, FILE_BYTES), path, project)
    return [_lines(path, project, files.lines(path, LINE_BYTES, FILE_BYTES))]


def parse(raw: bytes, path: str, project: str | None = None) -> list[Parsed]:
    """Return what the bytes of a graph say; see `read`."""
    if _GRAPH.match(raw.removeprefix(b"\xef\xbb\xbf")):
        found = _Graph(path, project)
        json_rows.read(raw, found, {"entities": found.entity, "relations": found.relation})
        return [_answer(found)]
    try:
        plain = json_parts.plain_utf8(raw)
    except Unreadable as error:
        raise Unread("not-text", f"{error}; the file was skipped") from None
    return [_lines(path, project, plain.split(b"\n"))]


def _lines(path: str, project: str | None, lines: Any) -> Parsed:
    found = _Graph(path, project)
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.line(strict(line.strip()), number)
            except Unreadable as error:
                found.refuse(number, str(error), "a line")
    return _answer(found)


def _answer(found: _Graph) -> Parsed:
    if not found.drafts and found.bad:
        raise found.nothing("entity")
    return found.parsed(is_complete=True)


IMPORTER = Importer(KIND, sniff, read, names=(".jsonl", ".json"), places=places)
