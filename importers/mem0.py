"""Read the memories of mem0: the list its `get_all` gives, or the history it keeps.

A history has every text a memory ever had: they come in as a chain, the newest
current. A memory that was deleted stays out. Users, agents and actors are not
kept. Facts: mem0ai 2.2.1, `history.db` (table `history`) and `{"results": […]}`.
"""

import os
import re
import sqlite3
from typing import Any

from importers import files, foreign_sqlite, json_rows
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

KIND = "mem-zero"
"""Kinds of sources are letters and hyphens."""
TABLE = "history"
JSON_BYTES = 128 << 20

_READ = ("memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted")
_KNOWN_COLUMNS = frozenset((*_READ, "id", "actor_id", "role"))
_KNOWN = frozenset((
    "id", "memory", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "app_id", "actor_id", "role",
    "attributed_to", "expiration_date", "metadata", "categories", "score", "event", "immutable", "owner",
    "organization", "type", "name", "structured_attributes", "internal_metadata", "deleted_at", "input",
))  # fmt: skip
_SHAPE = re.compile(rb'"memory"\s*:\s*"')
_BEGINS = re.compile(
    rb'\s*(?:\[\s*\{|\{(?:\s*"(?:count|next|previous)"\s*:[^,\[{]*,)*\s*"(?:results|memories)"\s*:\s*\[)'
)


def sniff(head: bytes, path: str) -> bool:
    """Return whether a file that begins with these bytes is a list of memories."""
    plain = head.removeprefix(b"\xef\xbb\xbf")
    is_theirs = b'"content_hash"' not in plain and b'"narrative"' not in plain
    return _BEGINS.match(plain) is not None and _SHAPE.search(plain) is not None and is_theirs


def places(where: Where) -> list[str]:
    """Return the history of this user, when there is one."""
    folder = where.environ.get("MEM0_DIR") or os.path.join(where.home, ".mem0")
    path = os.path.join(folder, "history.db")
    return [path] if os.path.isfile(path) else []


def holds(connection: sqlite3.Connection) -> bool:
    """Return whether a database is a history of this kind."""
    return {"memory_id", "old_memory", "new_memory", "event"} <= set(foreign_sqlite.columns(connection, TABLE))


class _Memories(Collected):
    """Memories of one file."""

    def take(self, row: dict[str, Any], line: int | None) -> None:
        """Add a memory of a list.

        Raises:
            Unreadable: it says nothing.
        """
        self.unknown |= row.keys() - _KNOWN
        if row.get("deleted_at") is not None or row.get("event") == "DELETE":
            self.leave_out("deleted memories")
            return
        text = told(row, "memory")
        if not text:
            raise Unreadable("it says nothing")
        metadata = row.get("metadata") if isinstance(row.get("metadata"), dict) else {}
        assert isinstance(metadata, dict)
        categories = [one for one in _list(row.get("categories")) if isinstance(one, str)]
        at = time_of(None, told(row, "updated_at") or told(row, "created_at"))
        locator = self.locator(row.get("id"), text)
        if any(SENSITIVE & words_of(one) for one in categories):
            self.held.add(locator)
        self.text(locator, text, at, line, project_named(metadata.get("project")), categories)

    def locator(self, name: Any, text: str) -> str:
        """Return what finds a text of a memory again, the same in a list and in a history."""
        return f"{KIND}:{name_in_locator(name) or 'unnamed'}#{digest(text)}"

    def text(
        self, locator: str, text: str, at: str | None, line: int | None, project: str | None, tags: list[str]
    ) -> None:
        """Add a text."""
        category = (categorised("", text)[0], "ambiguous")
        self.add_text(locator, text, category, project or EVERYWHERE, line=line, at=at, tags=tags)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def read(path: str, project: str | None = None) -> list[Parsed]:
    """Return what a list of memories says.

    Raises:
        Unread: nothing of it can be taken.
    """
    return parse(files.read_bytes(path, JSON_BYTES), path, project)


def parse(raw: bytes, path: str, project: str | None = None) -> list[Parsed]:
    """Return what the bytes of a list say; see `read`."""
    found = _Memories(KIND, path, project)
    json_rows.read(raw, found, {"": found.take, "results": found.take, "memories": found.take})
    if not found.drafts and found.bad:
        raise found.nothing("memory")
    found.say("a-list", None, "a list has what one call gave, and no history; nothing is missed that it lacks")
    return [found.parsed(is_complete=False, rank=0.0)]


def database(connection: sqlite3.Connection, path: str, project: str | None = None) -> list[Parsed]:
    """Return what a history says.

    Raises:
        Unread: it is damaged.
    """
    found = _Memories(KIND, path, project)
    names = foreign_sqlite.columns(connection, TABLE)
    found.unknown |= set(names) - _KNOWN_COLUMNS
    if not foreign_sqlite.is_sound(connection, TABLE):
        raise foreign_sqlite.damaged()
    by_id: dict[str, list[dict[str, Any]]] = {}
    is_complete = True
    total = 0
    try:
        for row in foreign_sqlite.rows(connection, TABLE, [name for name in names if name in _READ]):
            total += 1
            try:
                if row is None or sum(len(one) for one in row.values() if isinstance(one, (str, bytes))) > LINE_BYTES:
                    raise Unreadable(f"it is longer than {LINE_BYTES:,} bytes")
                check(row)
                name = name_in_locator(row.get("memory_id"))
                if name is None:
                    raise Unreadable("it names no memory")
                by_id.setdefault(name, []).append(row)
            except Unreadable as error:
                found.refuse(None, str(error), "a step of the history")
    except (sqlite3.Error, UnicodeError):
        found.say("damaged-rows", None, "it is damaged; the rest was left out")
        is_complete = False
    if total == foreign_sqlite.ROWS_MAX:
        found.say("too-many", None, f"more than {total:,} steps of the history; the rest was left out")
        is_complete = False
    for name, rows in by_id.items():
        _chain(found, name, rows)
    found.leave_out("messages", foreign_sqlite.count(connection, "messages"))
    return [found.parsed(is_complete=is_complete, rank=float("-inf"))]


def _chain(found: _Memories, name: str, rows: list[dict[str, Any]]) -> None:
    """Add every text that a memory had, each in the place of the one before; nothing of one that was deleted."""
    rows.sort(key=lambda row: told(row, "updated_at") or told(row, "created_at"))
    last = rows[-1]
    if told(last, "event").upper() == "DELETE" or last.get("is_deleted") == 1:
        found.leave_out("deleted memories")
        return
    before: str | None = None
    said: set[str] = set()
    texts = [(told(row, "new_memory"), row) for row in rows if told(row, "new_memory")]
    if not texts:
        found.refuse(None, "its history has no text")
        return
    final = texts[-1][0]
    for text, row in texts:
        locator = found.locator(name, text)
        # A text that comes back is said once, where it stands now.
        if locator in said or (text == final and row is not texts[-1][1]):
            continue
        said.add(locator)
        at = time_of(None, told(row, "updated_at") or told(row, "created_at"))
        found.text(locator, text, at, None, None, [])
        if before is not None:
            found.replaced[locator] = (before,)
        before = locator


IMPORTER = Importer(
    KIND, sniff, read, names=(".json", ".db"), holds=holds, database=database, merged=best_said, places=places
)
