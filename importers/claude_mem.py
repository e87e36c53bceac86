"""Read the observations of claude-mem: its database, its exports, and what its server answered.

The database is the source: an export is what one search found (at most 100
matches, none older than 90 days), so nothing is missed that an export lacks.
An observation's title and subtitle become the problem, its narrative and facts
the solution; kinds are free text, each mode and user adds some. Columns were
renamed and added over 52 schema versions: what is there is read, what is not
known is counted. Nothing it claims about state, trust or actors is believed.
Prompts, summaries, sessions and tool output are no learnings and stay out.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from importers import files, foreign_sqlite, json_parts
from importers.export import LINE_BYTES, Unreadable, check
from importers.files import Unread
from importers.headers import observed
from importers.json_parts import Broken, Part, Scanner
from importers.projects import folder_name
from importers.subjects import categorised
from ledger.model import EVERYWHERE, PROJECT_CHARS, TAG_CHARS, TAGS_MAX, Diagnostic, Draft, Source, derived_title

KIND = "claude-mem"
TABLE = "observations"

JSON_BYTES = 128 << 20
"""Largest export that is read; one of 50,000 observations has about 75 MB."""

ANSWER_BYTES = 32 << 20
"""Longest text of a server's answer that is read as JSON."""

VERSION_MAX = 52
"""Newest schema version this program was made for (claude-mem 13.25.3)."""

WRAPS_MAX = 4
"""Levels of answers within answers that are opened."""

FACTS_MAX = 200
SHOWN = 100
"""Remarks of one kind on one file that are made one by one."""

_ASKED = re.compile(r"[\w.:@+-]{1,200}\Z")
_SENSITIVE = frozenset(("sensitive", "secret", "private", "confidential"))
_SURE = {"bugfix": "bug-fix", "bug_fix": "bug-fix", "decision": "practice"}
_LIKELY = {
    "change": "pattern", "feature": "pattern", "refactor": "pattern", "security_alert": "practice",
    "security_note": "practice",
}  # fmt: skip
_DISCOVERED = {"gotcha": "bug-fix", "problem-solution": "bug-fix", "how-it-works": "pattern", "pattern": "pattern"}

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
_TOLD = frozenset(("exportedAt", "exportedAtEpoch", "query", "totalObservations"))


class Parsed(NamedTuple):
    """What one file says.

    `whole` are the locators of every observation that was read, `held` of
    those that its own kind calls sensitive. `is_complete` tells that nothing
    is missing: never of an export. `rank` orders files that say different
    things of one observation, the best first; None when nothing tells.
    """

    drafts: list[Draft]
    whole: frozenset[str]
    held: frozenset[str]
    diagnostics: list[Diagnostic]
    is_complete: bool
    rank: float | None


def sniff(head: bytes, path: str) -> bool:
    """Return whether a file of that name that begins with these bytes is for this importer to judge."""
    if foreign_sqlite.sniff(head):
        return True
    if path.lower().endswith(".jsonl"):
        return False
    try:
        return json_parts.plain_utf8(head[: len(head) // 2 * 2]).lstrip()[:1] in (b"{", b"[")
    except Unreadable:
        return False


def read(path: str, project: str | None = None) -> Parsed:
    """Return what a database, an export or an answer says.

    Raises:
        Unread: nothing of it can be taken; its code and message say why.
    """
    if foreign_sqlite.sniff(files.read_head(path, 16)):
        return database(path, project)
    return parse(files.read_bytes(path, JSON_BYTES), path, project)


def merged(all_parsed: Iterable[Parsed]) -> list[Draft]:
    """Return the drafts of several files: where two say different things of one observation, the best ranked says it.

    A database outranks every export, a later export an earlier one.
    """
    drafts: list[Draft] = []
    said: set[str] = set()
    ordered = sorted(all_parsed, key=lambda one: one.rank if one.rank is not None else 0.0)
    for parsed in ordered:
        drafts += [
            draft
            for draft in parsed.drafts
            if parsed.rank is None or draft.source is None or draft.source.locator not in said
        ]
        if parsed.rank is not None:
            said |= parsed.whole
    return drafts


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
        self.file = _File(path, project)

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
        return self.file.parsed(is_complete, float("-inf"))

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
        try:
            if sum(len(one) for one in row.values() if isinstance(one, (str, bytes))) > LINE_BYTES:
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
        self.file = _File(path, project)
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
        written = _time(self.told.get("exportedAtEpoch"), self.told.get("exportedAt"))
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
                self.file.named = _project(row["project"].value())
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
            self.why = "an index of titles only; ask its get_observations for whole rows and import those"


def _is_text(row: Any) -> bool:
    return isinstance(row, dict) and row.get("type") == "text" and isinstance(row.get("text"), str) and len(row) <= 4


def _is_block(row: dict[str, Part]) -> bool:
    return row["type"].raw == b'"text"' and len(row) <= 4


# -- one observation --------------------------------------------------------------------------------------------------


class _File:
    """Observations of one file, and what is to be said of it."""

    def __init__(self, path: str, project: str | None) -> None:
        self.path, self.project = path, project
        self.named: str | None = None
        """The project of rows that name none; without it the folder's name is."""
        self.drafts: list[Draft] = []
        self.whole: set[str] = set()
        self.held: set[str] = set()
        self.diagnostics: list[Diagnostic] = []
        self.bad = 0
        self._made: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def parsed(self, is_complete: bool, rank: float | None) -> Parsed:
        for code, made in self._made.items():
            if made > SHOWN:
                at = self._last[code]
                one = self.diagnostics[at]
                self.diagnostics[at] = one._replace(message=f"{one.message} (so {made - SHOWN:,} more)")
        unnamed = self.named or folder_name(self.path.rpartition("/")[0] or "/")
        drafts = [draft if draft.project else draft._replace(project=unnamed) for draft in self.drafts]
        return Parsed(drafts, frozenset(self.whole), frozenset(self.held), self.diagnostics, is_complete, rank)

    def say(self, code: str, line: int | None, message: str) -> None:
        """Make a remark; of many alike the last one tells how many there were."""
        self._made[code] = self._made.get(code, 0) + 1
        if self._made[code] <= SHOWN:
            self._last[code] = len(self.diagnostics)
            self.diagnostics.append(Diagnostic(self.path, line, code, message))

    def refuse(self, line: int | None, reason: str) -> None:
        self.bad += 1
        self.say("observation", line, f"an observation was left out: {reason}")

    def say_left_out(self, found: dict[str, int]) -> None:
        counts = ", ".join(f"{words} {number:,}" for words, number in found.items() if number)
        if counts:
            self.say("no-learnings", None, f"what is no learning was left out: {counts}")

    def take(self, row: dict[str, Any], line: int | None) -> None:
        """Add what an observation says.

        Raises:
            Unreadable: it says nothing.
        """
        told = {key: self._text(row, key, line) for key in ("title", "subtitle", "narrative", "text")}
        facts, concepts = (self._texts(row, key, line) for key in ("facts", "concepts"))
        body = told["narrative"] or told["text"]
        parts = [part for part in (body, "\n".join(f"- {fact}" for fact in facts)) if part]
        title = told["title"] or (derived_title("\n".join(parts)) if parts else "")
        problem = "\n".join(part for part in (title, told["subtitle"]) if part)
        if not problem:
            raise Unreadable("it says nothing")
        kind = " ".join(self._text(row, "type", line).lower().split())
        locator = self._locator(row, problem, line)
        category, confidence = _category(kind, concepts, f"{problem}\n{body}")
        if _SENSITIVE & set(re.split(r"[^a-z]+", kind)):
            self.held.add(locator)
        self.whole.add(locator)
        self.drafts.append(Draft(
            problem, "\n\n".join(parts) or problem, category, self._place(row), told["title"] or None,
            _tags(kind, concepts), _time(row.get("created_at_epoch"), row.get("created_at")), confidence,
            Source(KIND, locator, self.path, line),
        ))  # fmt: skip

    def _place(self, row: dict[str, Any]) -> str:
        """Return the project: the one its project was merged into, else its own; '' when it names none."""
        return self.project or _project(row.get("merged_into_project")) or _project(row.get("project")) or ""

    def _locator(self, row: dict[str, Any], problem: str, line: int | None) -> str:
        """Return what finds an observation again: session, time and id, the same in a database and its exports.

        Without a session it is one of this file; without an id its title tells it.
        """
        session = row.get("memory_session_id") or row.get("sdk_session_id")
        named = session if isinstance(session, str) and _ASKED.match(session) else None
        if named is None and isinstance(session, str):
            named = f"long-{_digest(session)}"
        where = named if named is not None else self.path
        at = _time(row.get("created_at_epoch"), row.get("created_at")) or "undated"
        return f"{KIND}:{where}#{at}/{self._id(row, line) or f'titled-{_digest(problem)}'}"

    def _id(self, row: dict[str, Any], line: int | None) -> str | None:
        number = row.get("id")
        if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 19:
            number = int(number)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 63:
            return str(number)
        if "id" in row:
            self.say("observation-id", line, "its id is no number from 0 to 2^63; its title tells it from others")
        return None

    def _text(self, row: dict[str, Any], key: str, line: int | None) -> str:
        """Return a text of a row, '' when it has none; another type is left out with a remark."""
        value = row.get(key)
        if value is None or isinstance(value, str):
            return (value or "").strip()
        self.say("observation-field", line, f"its {key} is no text; it was left out")
        return ""

    def _texts(self, row: dict[str, Any], key: str, line: int | None) -> list[str]:
        """Return the texts of a list, which may itself be a text of JSON; a plain text is a list of one."""
        value = row.get(key)
        if isinstance(value, str):
            try:
                value = json_parts.value(value.encode("utf-8")) if value.lstrip()[:1] == "[" else value
            except Unreadable:
                self.say("observation-field", line, f"its {key} are no list in JSON; they were left out")
                return []
        found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        texts = [" ".join(one.split()) if key == "concepts" else one.strip() for one in found if isinstance(one, str)]
        is_odd = value is not None and not isinstance(value, (str, list))
        if is_odd or len(texts) < len(found) or len(texts) > FACTS_MAX:
            message = f"not all of its {key} are texts, or they are more than {FACTS_MAX}; those were left out"
            self.say("observation-field", line, message)
        return [one for one in texts if one][:FACTS_MAX]


def _category(kind: str, concepts: list[str], text: str) -> tuple[str, str]:
    """Return category and confidence; kinds that say little leave it to concepts, then to words."""
    kind = kind.replace("-", "_").replace(" ", "_")
    if kind in _SURE:
        return _SURE[kind], "sure"
    if kind in _LIKELY:
        return _LIKELY[kind], "ambiguous"
    if kind == "discovery":
        for concept, category in _DISCOVERED.items():
            if concept in concepts:
                return category, "sure"
    return categorised("", text)


def _tags(kind: str, concepts: list[str]) -> tuple[str, ...]:
    """Return kind and concepts as tags; what is too long for one, or cannot be printed, is left out."""
    found = (tag for tag in (kind, *concepts) if len(tag) <= TAG_CHARS and tag.isprintable() and tag)
    return tuple(dict.fromkeys(found))[:TAGS_MAX]


def _project(value: Any) -> str | None:
    """Return a project's name; None for what is none, and for every project at once, which nobody said."""
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return name if 0 < len(name) <= PROJECT_CHARS and name != EVERYWHERE and name.isprintable() else None


def _time(epoch: Any, written: Any) -> str | None:
    """Return a time told in seconds, milliseconds or microseconds since 1970, or as ISO text; None when it is none."""
    if isinstance(epoch, (int, float)) and not isinstance(epoch, bool) and 0 < epoch < 1e17:
        seconds = epoch if epoch < 1e11 else epoch / 1e3 if epoch < 1e14 else epoch / 1e6
        try:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        except (ValueError, OverflowError, OSError):
            pass
    return observed(written) if isinstance(written, str) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
