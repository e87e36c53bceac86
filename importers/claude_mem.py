"""Read the observations of claude-mem: its database, its exports, and what its server answered.

The database is the source: an export is what one search found (at most 100
matches, none older than 90 days), so nothing is missed that an export lacks.
Columns were renamed and added over 52 schema versions: what is there is read,
what is not known is counted. Prompts, summaries, sessions and tool output are no learnings and stay out.
"""

import os
import re
import sqlite3
from datetime import datetime
from typing import Any

from importers import files, foreign_sqlite, json_parts
from importers.collected import project_named, time_of
from importers.export import LINE_BYTES, Unreadable, check
from importers.files import Unread
from importers.json_parts import Broken, Part, Scanner
from importers.kinds import Importer, Parsed, Where, best_said
from importers.observations import KIND, File

__all__ = ["KIND", "Parsed", "database", "merged", "parse", "read", "sniff"]

TABLE = "observations"

JSON_BYTES = 128 << 20
"""Largest export that is read; one of 50,000 observations has about 75 MB."""

ANSWER_BYTES = 32 << 20
"""Longest text of a server's answer that is read as JSON."""

VERSION_MAX = 52
"""Newest schema version this program was made for (claude-mem 13.25.3)."""

WRAPS_MAX = 4
"""Levels of answers within answers that are opened."""


_READ = (
    "id", "memory_session_id", "sdk_session_id", "project", "merged_into_project", "type", "title", "subtitle",
    "narrative", "facts", "text", "concepts", "created_at", "created_at_epoch",
)  # fmt: skip
_KNOWN = frozenset((
    *_READ, "agent_id", "agent_type", "content_hash", "discovery_tokens", "files_modified", "files_read",
    "generated_by_model", "metadata", "origin_device_id", "origin_local_id", "prompt_number", "relevance_count",
    "sync_rev", "synced_at",
))  # fmt: skip
_BODIES = frozenset(("title", "narrative", "facts", "text"))
_LEFT_OUT = {
    "session_summaries": "session summaries", "summaries": "session summaries", "user_prompts": "prompts",
    "prompts": "prompts", "sdk_sessions": "sessions", "sessions": "sessions", "pending_messages": "pending messages",
    "tool_uses": "tool calls", "directives": "directives",
}  # fmt: skip
TITLES_ONLY = "an index of titles only; ask its get_observations for whole rows and import those"
_INDEX = re.compile(rb"\AFound \d+ |^\|[ \t]*#[SP]?\d+[ \t]*\|", re.MULTILINE)
"""What its search and its timeline print."""

_TOLD = frozenset(("exportedAt", "exportedAtEpoch", "query", "totalObservations"))


def sniff(head: bytes, path: str) -> bool:
    """Return whether a file of that name that begins with these bytes is for this importer to judge."""
    if foreign_sqlite.sniff(head) or path.lower().endswith(".json"):
        return True
    if path.lower().endswith(".jsonl"):
        return False
    is_wide = head[:2] in json_parts.UTF16
    return head.decode("utf-16" if is_wide else "utf-8-sig", "ignore").lstrip()[:1] in ("{", "[")


def read(path: str, project: str | None = None) -> Parsed:
    """Return what a database, an export or an answer says.

    Raises:
        Unread: nothing of it can be taken; its code and message say why.
    """
    if foreign_sqlite.sniff(files.read_head(path, 16)):
        return database(path, project)
    return parse(files.read_bytes(path, JSON_BYTES), path, project)


def places(where: Where) -> list[str]:
    """Return the database of this user, when there is one."""
    folder = where.environ.get("CLAUDE_MEM_DATA_DIR") or os.path.join(where.home, ".claude-mem")
    path = os.path.join(folder, "claude-mem.db")
    return [path] if os.path.isfile(path) else []


merged = best_said


# -- databases --------------------------------------------------------------------------------------------------------


def database(path: str, project: str | None = None) -> Parsed:
    """Return what a database says, read from a copy of it.

    Raises:
        Unread: it cannot be copied or read, or holds no observations.
    """
    with foreign_sqlite.snapshot(path) as connection:
        try:
            return _Database(connection, path, project).parsed()
        except (sqlite3.Error, UnicodeError, MemoryError, OverflowError):
            raise foreign_sqlite.damaged() from None


class _Database:
    """A copy of a database on its way to drafts."""

    def __init__(self, connection: sqlite3.Connection, path: str, project: str | None) -> None:
        self.connection, self.path = connection, path
        self.file = File(path, project)

    def parsed(self) -> Parsed:
        version = self._version()
        names = foreign_sqlite.columns(self.connection, TABLE)
        if not _BODIES & set(names):
            seen = f" (schema version {version})" if version is not None else ""
            message = f"it holds no observations of claude-mem that this program can read{seen}; the file was skipped"
            raise Unread("no-observations", message)
        self._say_what_is_unknown(version, len(set(names) - _KNOWN))
        if not foreign_sqlite.is_sound(self.connection, TABLE):
            raise foreign_sqlite.damaged()
        is_complete = self._read([name for name in names if name in _READ])
        self._say_what_is_left_out()
        return self.file.parsed(is_complete=is_complete, rank=float("-inf"))

    def _version(self) -> int | None:
        """Return the newest schema version it went through, None when it does not say."""
        if "version" not in foreign_sqlite.columns(self.connection, "schema_versions"):
            return None
        row = self.connection.execute("SELECT max(version) FROM schema_versions").fetchone()
        return row[0] if isinstance(row[0], int) else None

    def _read(self, names: list[str]) -> bool:
        """Read every observation; return whether all could be read."""
        total = 0
        try:
            for row in foreign_sqlite.rows(self.connection, TABLE, names):
                total += 1
                if row is None:
                    self.file.about = ""
                    self.file.refuse(None, f"it is longer than {foreign_sqlite.ROW_BYTES:,} bytes")
                else:
                    self._take(row)
        except (sqlite3.Error, UnicodeError):
            message = f"it is damaged after {total:,} observations; the rest was left out"
            self.file.say("damaged-rows", None, message)
            return False
        if total == foreign_sqlite.ROWS_MAX:
            self.file.say("too-many", None, f"more than {total:,} observations; the rest was left out")
            return False
        return not self.file.bad

    def _take(self, row: dict[str, Any]) -> None:
        self.file.about = f"observation {row['id']}" if isinstance(row.get("id"), int) else ""
        try:
            if sum([len(one) for one in row.values() if isinstance(one, (str, bytes))]) > LINE_BYTES:
                raise Unreadable(f"it is longer than {LINE_BYTES:,} bytes")
            check(row)
            self.file.take(row, None)
        except Unreadable as error:
            self.file.refuse(None, str(error))

    def _say_what_is_unknown(self, version: int | None, unknown: int) -> None:
        if version is not None and version > VERSION_MAX:
            message = (
                f"its schema version is {version}, newer than {VERSION_MAX}, the newest that this program knows; "
                "what it knows was read"
            )
            self.file.say("newer-version", None, message)
        if unknown:
            self.file.say("unknown-columns", None, f"columns that this program does not know were left out: {unknown}")

    def _say_what_is_left_out(self) -> None:
        found: dict[str, int] = {}
        for table, words in _LEFT_OUT.items():
            found[words] = found.get(words, 0) + foreign_sqlite.count(self.connection, table)
        self.file.say_left_out(found)


# -- exports and answers ----------------------------------------------------------------------------------------------


def parse(raw: bytes, path: str, project: str | None = None) -> Parsed:
    """Return what an export says: an object with `observations`, a list of rows, rows line by line, or an answer.

    Args:
        raw: the file as it is.
        path: its real path, for sources, locators and diagnostics.
        project: the project of rows that name none; None lets the folder name it.

    Raises:
        Unread: nothing of it can be taken.
    """
    document = _Document(path, project)
    try:
        document.read(json_parts.plain_utf8(raw))
    except Unreadable as error:
        raise Unread("not-text", f"{error}; the file was skipped") from None
    except Broken as error:
        document.file.bad += 1
        document.file.say("broken", error.line, f"{error}; the rest of the file was left out")
    return document.parsed()


class _Document:
    """A JSON document on its way to drafts."""

    def __init__(self, path: str, project: str | None) -> None:
        self.file = File(path, project)
        self.told: dict[str, Any] = {}
        self.left_out: dict[str, int] = {}
        self.unknown: set[str] = set()
        self.is_known = False
        self.why = ""

    def parsed(self) -> Parsed:
        file = self.file
        if not file.drafts and (file.bad or not self.is_known):
            first = file.diagnostics[0] if file.diagnostics else None
            why = self.why or (first.message.partition(";")[0] if first else "")
            about = f"no observations of claude-mem in it{f' ({why})' if why else ''}; the file was skipped"
            raise Unread("no-observations", about)
        if self.told:
            file.say("a-search", None, "an export is what one search found, not a backup; import the database itself")
            file.say_left_out(self.left_out)
            if self.unknown:
                message = f"keys that this program does not know were left out: {len(self.unknown)}"
                file.say("unknown-columns", None, message)
        written = time_of(self.told.get("exportedAtEpoch"), self.told.get("exportedAt"))
        rank = -datetime.fromisoformat(written).timestamp() if written is not None else None
        return file.parsed(is_complete=False, rank=rank)

    def read(self, raw: bytes, line: int = 1, depth: int = 0) -> None:
        """Read every value of a document: the export writes one, a list of rows may stand line by line."""
        scanner = Scanner(raw, line)
        while first := scanner.peek():
            if first == b"[":
                self.is_known = True
                for part in scanner.items():
                    self._read_item(part, depth)
            elif first == b"{":
                self._read_object(scanner.part(), depth)
            elif depth == 0 and _INDEX.search(raw[scanner.at : scanner.at + 4_096]):
                self.why = TITLES_ONLY
                return
            else:
                part = scanner.part()
                self.file.refuse(part.line, "it is no object")
        if not raw.strip():
            self.why = "it is empty"

    def _read_object(self, part: Part, depth: int) -> None:
        """Read an object that is an export, an answer or one observation."""
        scanner = Scanner(part.raw, part.line)
        row: dict[str, Part] = {}
        for key in scanner.members():
            if key == "observations" and scanner.peek() == b"[":
                self.is_known = True
                for item in scanner.items():
                    self._read_item(item, depth)
            elif key in _LEFT_OUT and scanner.peek() == b"[":
                self.left_out[_LEFT_OUT[key]] = sum(1 for _ in scanner.items())
            else:
                row[key] = scanner.part()
        if "observations" in row:
            raise Broken("its observations are no list", row["observations"].line)
        if _BODIES & row.keys() and "content" not in row and row.get("type") is not None and not _is_block(row):
            self._read_item(part, depth)
        elif self.is_known:
            self._note_export(row)
        else:
            self._open(row, depth)

    def _note_export(self, row: dict[str, Part]) -> None:
        for key in _TOLD & row.keys():
            try:
                self.told[key] = row[key].value()
            except Unreadable:
                self.told[key] = None
        if "project" in row and self.file.project is None:
            try:
                self.file.named = project_named(row["project"].value())
            except Unreadable:
                self.file.named = None

    def _open(self, row: dict[str, Part], depth: int) -> None:
        """Open an answer of the server: its text blocks, or the object that it wraps."""
        if depth == WRAPS_MAX:
            self.why = "answers nest in answers too deep"
            return
        if "isError" in row and row["isError"].raw == b"true":
            self.why = "it is the answer to a call that failed, an error"
            return
        for key in ("structuredContent", "result"):
            if key in row and row[key].raw[:1] in (b"{", b"["):
                self.read(row[key].raw, row[key].line, depth + 1)
                return
        if "content" in row and row["content"].raw[:1] == b"[":
            for block in Scanner(row["content"].raw, row["content"].line).items():
                self._read_block(block, depth + 1)
            return
        self.why = "no `observations` and no answer of its server: this shape is not known"

    def _read_item(self, part: Part, depth: int) -> None:
        """Read an element of a list: an observation, or a block of an answer."""
        try:
            row = part.value()
            if _is_text(row):
                self._read_block(part, depth + 1)
                return
            if not isinstance(row, dict):
                raise Unreadable("it is no object")
            self.unknown |= row.keys() - _KNOWN
            self.file.take(row, part.line)
        except Unreadable as error:
            self.file.refuse(part.line, str(error))

    def _read_block(self, part: Part, depth: int) -> None:
        """Read a text block of an answer, which holds JSON or the lines of an index."""
        try:
            block = part.value(ANSWER_BYTES)
        except Unreadable as error:
            self.file.refuse(part.line, str(error))
            return
        text = block["text"].strip() if _is_text(block) else ""
        if text[:1] in ("{", "[") and depth <= WRAPS_MAX:
            inner = _Document(self.file.path, self.file.project)
            inner.file = self.file
            try:
                # Its lines are not lines of the file: all of it stands on the line of the block.
                inner.read(text.replace("\n", " ").encode("utf-8"), part.line, depth)
            finally:
                self.is_known = self.is_known or inner.is_known
                self.unknown |= inner.unknown
                self.why = inner.why
        elif text:
            self.why = TITLES_ONLY


def _is_text(row: Any) -> bool:
    return isinstance(row, dict) and row.get("type") == "text" and isinstance(row.get("text"), str) and len(row) <= 4


def _is_block(row: dict[str, Part]) -> bool:
    return row["type"].raw == b'"text"' and len(row) <= 4


IMPORTER = Importer(
    KIND,
    sniff,
    lambda path, project: [read(path, project)],
    names=(".json", ".db", ".sqlite", ".sqlite3"),
    merged=merged,
    holds=lambda connection: True,  # last of the table: what is wrong with a database it says itself
    database=lambda connection, path, project: [_Database(connection, path, project).parsed()],
    places=places,
)
