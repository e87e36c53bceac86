"""Read the memories of mcp-memory-service: its SQLite store with lineage, or its JSON export.

The store is the source: an export has no lineage and no deletions, so nothing
is missed that an export lacks. A memory that another one replaced comes in with
the link; what was deleted there stays out. Of `metadata` nothing is kept: it
holds the queries that people asked. Facts: schema up to migration 19 (12.4.0), exporter 5.0.1.
"""

import os
import re
import sqlite3
import sys
from datetime import datetime
from typing import Any

from importers import files, foreign_sqlite, json_parts, json_rows
from importers.collected import (
    SENSITIVE,
    Collected,
    digest,
    name_in_locator,
    project_named,
    time_of,
    told,
    words_of,
)
from importers.export import LINE_BYTES, Unreadable, check
from importers.kinds import Importer, Parsed, Where, best_said
from importers.subjects import categorised
from ledger.model import EVERYWHERE

KIND = "mcp-memory-service"
TABLE = "memories"

JSON_BYTES = 128 << 20
MIGRATION_MAX = 19
"""Newest migration this program was made for (12.4.0)."""

EXPORTER_MAX = 5
"""Newest major version of the exporter that this program was made for."""

_READ = (
    "content_hash", "content", "tags", "memory_type", "metadata", "created_at", "created_at_iso", "deleted_at",
    "superseded_by",
)  # fmt: skip
_KNOWN = frozenset((
    *_READ, "id", "updated_at", "updated_at_iso", "store", "parent_id", "version", "confidence", "last_accessed",
    "embedding_pending", "export_source", "embedding", "agent_id", "conversation_id", "similarity_score",
    "quality_score",
))  # fmt: skip
_LEFT_OUT = {"beliefs": "beliefs", "memory_graph": "links of the graph"}
_RAW = {"conversation_turn": "turns of conversations", "session": "sessions", "tool_outcome": "outcomes of tools"}
"""Types that are raw records of sessions, no learnings."""

_SURE = {
    "decision": "practice", "approach": "practice", "best_practice": "practice", "user_correction": "practice",
    "tool_choice": "tool-pref", "configuration": "env", "reference": "env", "learning": "pattern",
    "insight": "pattern", "pattern": "pattern", "design_pattern": "pattern", "code_smell": "pattern",
    "workflow": "workflow", "error": "bug-fix", "bug": "bug-fix", "failure": "bug-fix", "exception": "bug-fix",
    "timeout": "bug-fix", "mistake": "bug-fix", "gotcha": "bug-fix", "recurring_issue": "bug-fix",
}  # fmt: skip
_LIKELY = {
    "architecture": "pattern", "anti_pattern": "practice", "preference_signal": "tool-pref", "planning": "workflow",
    "ceremony": "workflow", "milestone": "workflow",
}  # fmt: skip
_EXPORT = re.compile(rb'"(?:export_metadata|exporter_version)"\s*:|"memories"\s*:\s*\[')
_HASH = re.compile(rb'"content_hash"\s*:|"memories"\s*:\s*\[\s*\]|"exporter_version"\s*:')


def sniff(head: bytes, path: str) -> bool:
    """Return whether a file that begins with these bytes is an export, or an answer of the server."""
    plain = head.decode("utf-16", "ignore").encode() if head[:2] in json_parts.UTF16 else head
    return plain.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and bool(_EXPORT.search(plain) and _HASH.search(plain))


def places(where: Where) -> list[str]:
    """Return the store of this user, when there is one."""
    named = where.environ.get("MCP_MEMORY_SQLITE_PATH") or where.environ.get("MCP_MEMORY_SQLITEVEC_PATH")
    data = ("Library", "Application Support") if sys.platform == "darwin" else (".local", "share")
    base = where.environ.get("MCP_MEMORY_BASE_DIR") or os.path.join(where.home, *data, "mcp-memory")
    path = named or os.path.join(base, "sqlite_vec.db")
    return [path] if os.path.isfile(path) else []


def holds(connection: sqlite3.Connection) -> bool:
    """Return whether a database is a store of this kind."""
    return {"content_hash", "content", "memory_type"} <= set(foreign_sqlite.columns(connection, TABLE))


class _Memories(Collected):
    """Memories of one store or export."""

    def __init__(self, path: str, project: str | None) -> None:
        super().__init__(KIND, path, project)
        self.after: dict[str, str] = {}
        """Locator of what replaced a memory, by the memory's own."""
        self.deleted = 0

    def take(self, row: dict[str, Any], line: int | None) -> None:
        """Add a memory.

        Raises:
            Unreadable: it says nothing.
        """
        self.unknown |= row.keys() - _KNOWN
        if row.get("deleted_at") is not None:
            self.deleted += 1
            return
        content = told(row, "content")
        if not content:
            raise Unreadable("it says nothing")
        kind = " ".join(told(row, "memory_type").lower().split())
        if kind in _RAW:
            self.leave_out(_RAW[kind])
            return
        locator = _locator(name_in_locator(row.get("content_hash")) or f"text-{digest(content)}")
        metadata = _metadata(row)
        tags = _tags(row.get("tags"))
        project = next((project_named(tag.partition(":")[2]) for tag in tags if tag.startswith("project:")), None)
        project = project or project_named(metadata.get("project")) or EVERYWHERE
        if any(SENSITIVE & words_of(word) for word in (kind, *tags)):
            self.held.add(locator)
        new = name_in_locator(told(row, "superseded_by") or told(metadata, "superseded_by"))
        if new is not None:
            self.after[locator] = _locator(new)
        more: dict[str, Any] = {"line": line, "at": time_of(row.get("created_at"), row.get("created_at_iso"))}
        kept = [kind, *(tag for tag in tags if not tag.startswith("project:"))]
        mistake = _mistake(content)
        if mistake is not None:
            self.add(locator, *mistake, ("bug-fix", "sure"), project, tags=kept, **more)
            return
        self.add_text(locator, content, _category(kind, content), project, tags=kept, **more)

    def linked(self, *, is_complete: bool, rank: float | None = None) -> Parsed:
        """Return what the file says, with what replaced what; what something that is not there replaced is outdated."""
        if self.deleted:
            self.leave_out("deleted memories", self.deleted)
        olds: dict[str, list[str]] = {}
        for old, new in self.after.items():
            if new in self.whole and new != old:
                olds.setdefault(new, []).append(old)
            elif old in self.whole:
                self.fates[old] = "superseded"
        self.replaced = {new: tuple(ones) for new, ones in olds.items()}
        return self.parsed(is_complete=is_complete, rank=rank)


def database(connection: sqlite3.Connection, path: str, project: str | None = None) -> list[Parsed]:
    """Return what a store says.

    Raises:
        Unread: it is damaged.
    """
    found = _Memories(path, project)
    names = foreign_sqlite.columns(connection, TABLE)
    found.unknown |= set(names) - _KNOWN
    if not foreign_sqlite.is_sound(connection, TABLE):
        raise foreign_sqlite.damaged()
    _say_version(connection, found)
    is_complete = _read_rows(connection, found, [name for name in names if name in _READ])
    for table, words in _LEFT_OUT.items():
        found.leave_out(words, foreign_sqlite.count(connection, table))
    return [found.linked(is_complete=is_complete, rank=float("-inf"))]


def _read_rows(connection: sqlite3.Connection, found: _Memories, names: list[str]) -> bool:
    """Read every memory; return whether all could be read."""
    total = 0
    try:
        for row in foreign_sqlite.rows(connection, TABLE, names):
            total += 1
            try:
                if row is None or sum(len(one) for one in row.values() if isinstance(one, (str, bytes))) > LINE_BYTES:
                    raise Unreadable(f"it is longer than {LINE_BYTES:,} bytes")
                check(row)
                found.take(row, None)
            except Unreadable as error:
                name = name_in_locator((row or {}).get("content_hash"))
                found.refuse(None, str(error), f"the memory {name[:12]}" if name else "a memory")
    except (sqlite3.Error, UnicodeError):
        found.say("damaged-rows", None, f"it is damaged after {total:,} memories; the rest was left out")
        return False
    if total == foreign_sqlite.ROWS_MAX:
        found.say("too-many", None, f"more than {total:,} memories; the rest was left out")
        return False
    return True


def _say_version(connection: sqlite3.Connection, found: _Memories) -> None:
    """Say when the store went through more migrations than this program knows."""
    if "version" not in foreign_sqlite.columns(connection, "migration_registry"):
        return
    (newest,) = connection.execute("SELECT max(version) FROM migration_registry").fetchone()
    if isinstance(newest, int) and newest > MIGRATION_MAX:
        message = (
            f"its newest migration is {newest}, newer than {MIGRATION_MAX}, the newest that this program knows; "
            "what it knows was read"
        )
        found.say("newer-version", None, message)


def read(path: str, project: str | None = None) -> list[Parsed]:
    """Return what an export says.

    Raises:
        Unread: nothing of it can be taken.
    """
    return parse(files.read_bytes(path, JSON_BYTES), path, project)


def parse(raw: bytes, path: str, project: str | None = None) -> list[Parsed]:
    """Return what the bytes of an export say; see `read`."""
    found = _Memories(path, project)
    head = json_rows.read(raw, found, {"memories": found.take}, ("export_metadata",)).get("export_metadata")
    head = head if isinstance(head, dict) else {}
    version = told(head, "exporter_version")
    major = version.partition(".")[0]
    if major.isascii() and major.isdigit() and len(major) < 9 and int(major) > EXPORTER_MAX:
        message = f"its exporter is {version[:20]}, newer than {EXPORTER_MAX}; what this program knows was read"
        found.say("newer-version", None, message)
    if head:
        found.say("no-lineage", None, "an export has neither lineage nor deletions; import the database itself")
    if not found.drafts and found.bad:
        raise found.nothing("memory")
    written = time_of(None, told(head, "export_timestamp"))
    rank = -datetime.fromisoformat(written).timestamp() if written is not None else 0.0
    return [found.linked(is_complete=False, rank=rank)]


def _mistake(content: str) -> tuple[str, str] | None:
    """Return problem and solution of a note on a mistake, None for any other text."""
    pattern, has_context, rest = content.removeprefix("Pattern: ").partition("\nContext: ")
    context, has_wrong, rest = rest.partition("\nWrong: ")
    wrong, has_right, right = rest.partition("\nRight: ")
    is_one = content.startswith("Pattern: ") and has_context and has_wrong and has_right
    if not (is_one and pattern.strip() and right.strip()):
        return None
    problem = "\n".join(part.strip() for part in (pattern, context) if part.strip())
    return problem, f"{right.strip()}\n\nNot: {wrong.strip()}" if wrong.strip() else right.strip()


def _locator(name: str) -> str:
    """Return what finds a memory again: its hash, the same in a store and its exports."""
    return f"{KIND}:{name}"


def _metadata(row: dict[str, Any]) -> dict[str, Any]:
    """Return what `metadata` says, which a store keeps as a text of JSON; {} when it says nothing."""
    value = row.get("metadata")
    if isinstance(value, str):
        try:
            value = json_parts.value(value.encode("utf-8"))
        except (Unreadable, UnicodeError):
            value = None
    return value if isinstance(value, dict) else {}


def _tags(value: Any) -> list[str]:
    """Return tags, which a store keeps with commas between them."""
    found = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [" ".join(one.split()) for one in found if isinstance(one, str) and one.strip()]


def _category(kind: str, content: str) -> tuple[str, str]:
    kind = kind.replace("-", "_").replace(" ", "_")
    if kind in _SURE:
        return _SURE[kind], "sure"
    if kind in _LIKELY:
        return _LIKELY[kind], "ambiguous"
    return categorised("", content)[0], "ambiguous"


IMPORTER = Importer(
    KIND,
    sniff,
    read,
    names=(".json", ".db", ".sqlite", ".sqlite3"),
    holds=holds,
    database=database,
    merged=best_said,
    places=places,
)
