"""Make a learning of an observation of claude-mem: a row of its database, or an object of an export.

Title and subtitle become the problem, narrative and facts the solution; before
there were titles a text was all there was. Kinds are free text: each mode and
each user adds some. What is wrong with one field is left out with a remark,
not the observation. Nothing it claims about state, trust or actors is believed.
"""

import os
import re
from typing import Any

from importers import json_parts
from importers.collected import (
    SENSITIVE,
    Collected,
    digest,
    project_named,
    tags_of,
    time_of,
    words_of,
)
from importers.export import Unreadable
from importers.kinds import Parsed
from importers.packed import packed
from importers.projects import folder_name
from importers.subjects import categorised
from ledger.model import Draft, Source, derived_title

KIND = "claude-mem"

FACTS_MAX = 200
_ASKED = re.compile(r"[\w.:@+-]{1,200}\Z")
_SURE = {"bugfix": "bug-fix", "bug_fix": "bug-fix", "decision": "practice"}
_LIKELY = {
    "change": "pattern", "feature": "pattern", "refactor": "pattern", "security_alert": "practice",
    "security_note": "practice",
}  # fmt: skip
_DISCOVERED = {"gotcha": "bug-fix", "problem-solution": "bug-fix", "how-it-works": "pattern", "pattern": "pattern"}


class File(Collected):
    """Observations of one file, and what is to be said of it."""

    def __init__(self, path: str, project: str | None) -> None:
        super().__init__(KIND, path, project)
        self.about = ""
        """The row that is read, of a file without lines, as a remark names it."""
        self.named: str | None = None
        """The project of rows that name none; without it the folder's name is."""
        self._is_unnamed = False

    def parsed(self, *, is_complete: bool, rank: float | None = None) -> Parsed:
        """Return what the file says."""
        unnamed = self.named or folder_name(os.path.dirname(self.path))
        if self._is_unnamed:
            named = (draft if draft.project else draft._replace(project=unnamed) for draft in self.drafts)
            self.drafts = packed(list(named))
        return super().parsed(is_complete=is_complete, rank=rank)

    def refuse(self, line: int | None, reason: str, what: str = "an observation", code: str = "observation") -> None:
        """Say that an observation was left out."""
        super().refuse(line, reason, self.about or what, code)

    def say(self, code: str, line: int | None, message: str) -> None:
        """Make a remark; where there are no lines, on the row that is read."""
        is_named = not self.about or message.startswith(self.about) or not code.startswith("observation")
        super().say(code, line, message if is_named else f"{self.about}: {message}")

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
        at = time_of(row.get("created_at_epoch"), row.get("created_at"))
        locator = self._locator(row, at, problem, line)
        category, confidence = _category(kind, concepts, f"{problem}\n{body}")
        if SENSITIVE & words_of(kind):
            self.held.add(locator)
        self.whole.add(locator)
        place = self._place(row)
        self._is_unnamed = self._is_unnamed or not place
        self.keep(Draft(
            problem, "\n\n".join(parts) or problem, category, place, told["title"] or None,
            tags_of((kind, *concepts)), at, confidence,
            Source(KIND, locator, self.path, line),
        ))  # fmt: skip

    def _place(self, row: dict[str, Any]) -> str:
        """Return the project: the one its project was merged into, else its own; '' when it names none."""
        return self.project or project_named(row.get("merged_into_project")) or project_named(row.get("project")) or ""

    def _locator(self, row: dict[str, Any], at: str | None, problem: str, line: int | None) -> str:
        """Return what finds an observation again: session, time and id, the same in a database and its exports.

        Without a session it is one of this file; without an id its title tells it.
        """
        session = row.get("memory_session_id") or row.get("sdk_session_id")
        named = session if isinstance(session, str) and _ASKED.match(session) else None
        if named is None and isinstance(session, str):
            named = f"long-{digest(session)}"
        where = named if named is not None else self.path
        return f"{KIND}:{where}#{at or 'undated'}/{self._id(row, line) or f'titled-{digest(problem)}'}"

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
