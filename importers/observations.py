"""Make a learning of an observation of claude-mem: a row of its database, or an object of an export.

Title and subtitle become the problem, narrative and facts the solution; before
there were titles a text was all there was. Kinds are free text: each mode and
each user adds some. What is wrong with one field is left out with a remark,
not the observation. Nothing it claims about state, trust or actors is believed.
"""

import hashlib
import os
import re
from datetime import UTC, datetime
from typing import Any

from importers import json_parts
from importers.export import Unreadable
from importers.headers import observed
from importers.kinds import Parsed
from importers.projects import folder_name
from importers.subjects import categorised
from ledger.model import EVERYWHERE, PROJECT_CHARS, TAG_CHARS, TAGS_MAX, Diagnostic, Draft, Source, derived_title

KIND = "claude-mem"

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


class File:
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

    def parsed(self, *, is_complete: bool, rank: float | None) -> Parsed:
        """Return what the file says."""
        for code, made in self._made.items():
            if made > SHOWN:
                at = self._last[code]
                one = self.diagnostics[at]
                self.diagnostics[at] = one._replace(message=f"{one.message} (so {made - SHOWN:,} more)")
        unnamed = self.named or folder_name(os.path.dirname(self.path))
        drafts = [draft if draft.project else draft._replace(project=unnamed) for draft in self.drafts]
        return Parsed(drafts, frozenset(self.whole), frozenset(self.held), self.diagnostics, is_complete, rank)

    def say(self, code: str, line: int | None, message: str) -> None:
        """Make a remark; of many alike the last one tells how many there were."""
        self._made[code] = self._made.get(code, 0) + 1
        if self._made[code] <= SHOWN:
            self._last[code] = len(self.diagnostics)
            self.diagnostics.append(Diagnostic(self.path, line, code, message))

    def refuse(self, line: int | None, reason: str) -> None:
        """Say that an observation was left out."""
        self.bad += 1
        self.say("observation", line, f"an observation was left out: {reason}")

    def say_left_out(self, found: dict[str, int]) -> None:
        """Say how much of what is no learning was left out, by its words."""
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
            _tags(kind, concepts), time_of(row.get("created_at_epoch"), row.get("created_at")), confidence,
            Source(KIND, locator, self.path, line),
        ))  # fmt: skip

    def _place(self, row: dict[str, Any]) -> str:
        """Return the project: the one its project was merged into, else its own; '' when it names none."""
        return (
            self.project or project_of_row(row.get("merged_into_project")) or project_of_row(row.get("project")) or ""
        )

    def _locator(self, row: dict[str, Any], problem: str, line: int | None) -> str:
        """Return what finds an observation again: session, time and id, the same in a database and its exports.

        Without a session it is one of this file; without an id its title tells it.
        """
        session = row.get("memory_session_id") or row.get("sdk_session_id")
        named = session if isinstance(session, str) and _ASKED.match(session) else None
        if named is None and isinstance(session, str):
            named = f"long-{_digest(session)}"
        where = named if named is not None else self.path
        at = time_of(row.get("created_at_epoch"), row.get("created_at")) or "undated"
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


def project_of_row(value: Any) -> str | None:
    """Return a project's name; None for what is none, and for every project at once, which nobody said."""
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return name if 0 < len(name) <= PROJECT_CHARS and name != EVERYWHERE and name.isprintable() else None


def time_of(epoch: Any, written: Any) -> str | None:
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
