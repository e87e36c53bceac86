"""What is collected of one file on its way to `Parsed`: drafts, links, and remarks of which many are alike.

What is wrong with one row costs that row, with a remark; of many alike the
last one made tells how many there were. Shared by the importers of other tools' rows.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from importers import markdown
from importers.files import Unread
from importers.headers import observed
from importers.kinds import Parsed
from importers.packed import MANY, Packed, packed
from ledger.model import (
    EVERYWHERE,
    PROJECT_CHARS,
    TAG_CHARS,
    TAGS_MAX,
    Diagnostic,
    Draft,
    Past,
    Source,
    derived_title,
)

SHOWN = 100
"""Remarks of one kind on one file that are made one by one."""

PART_CHARS = 12_000
"""Longest solution of one learning; longer texts are cut at blank lines. Leaves room below the ledger's cap of
16,000 for what redaction may add."""

PARTS_MAX = 40
"""Most learnings that one row becomes."""

SENSITIVE = frozenset(("sensitive", "secret", "private", "confidential", "quarantined"))
"""Words by which a row itself says that it should not be spread."""

_PLAIN = re.compile(r"[\w.:@+-]{1,200}\Z")


class Collected:
    """What one file says, row by row.

    `path` is its real path, `project` the one the caller named for all of it.
    """

    def __init__(self, kind: str, path: str, project: str | None) -> None:
        self.kind, self.path, self.project = kind, path, project
        self.drafts: list[Draft] | Packed = []
        self.whole: set[str] = set()
        self.held: set[str] = set()
        self.replaced: dict[str, tuple[str, ...]] = {}
        self.fates: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []
        self.left_out: dict[str, int] = {}
        self.unknown: set[str] = set()
        self.bad = 0
        self._made: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def parsed(self, *, is_complete: bool, rank: float | None = None) -> Parsed:
        """Return what the file says; what was left out of it by its kind is said now."""
        self.say_left_out(self.left_out)
        if self.unknown:
            message = f"keys or columns that this program does not know were left out: {len(self.unknown)}"
            self.say("unknown-columns", None, message)
        self.count_alike()
        past = Past(self.replaced, self.fates)
        whole, held = frozenset(self.whole), frozenset(self.held)
        return Parsed(self.drafts, whole, held, self.diagnostics, is_complete and not self.bad, rank, past=past)

    def count_alike(self) -> None:
        """Let the last remark of many alike tell how many more there were."""
        for code, made in self._made.items():
            if made > SHOWN:
                at = self._last[code]
                one = self.diagnostics[at]
                self.diagnostics[at] = one._replace(message=f"{one.message} (so {made - SHOWN:,} more)")
        self._made.clear()

    def say(self, code: str, line: int | None, message: str) -> None:
        """Make a remark; of many alike the last one tells how many there were."""
        self._made[code] = self._made.get(code, 0) + 1
        if self._made[code] <= SHOWN:
            self._last[code] = len(self.diagnostics)
            self.diagnostics.append(Diagnostic(self.path, line, code, message))

    def refuse(self, line: int | None, reason: str, what: str = "a memory", code: str = "row") -> None:
        """Say that a row was left out."""
        self.bad += 1
        self.say(code, line, f"{what} was left out: {reason}")

    def nothing(self, what: str) -> Unread:
        """Return the refusal of a file of which no row can be taken: with why the first of them cannot."""
        first = next(iter(self.diagnostics), None)
        line = f"line {first.line}: " if first is not None and first.line is not None else ""
        why = f" ({line}{first.message.partition(';')[0]})" if first is not None else ""
        return Unread("no-rows", f"no {what} in it can be taken{why}; the file was skipped")

    def leave_out(self, words: str, number: int = 1) -> None:
        """Count what is no learning."""
        self.left_out[words] = self.left_out.get(words, 0) + number

    def say_left_out(self, found: dict[str, int]) -> None:
        """Say how much of what is no learning was left out, by its words."""
        counts = ", ".join(f"{words} {number:,}" for words, number in found.items() if number)
        if counts:
            self.say("no-learnings", None, f"what is no learning was left out: {counts}")

    def add(
        self,
        locator: str,
        problem: str,
        solution: str,
        category: tuple[str, str],
        project: str,
        *,
        line: int | None = None,
        title: str | None = None,
        tags: Iterable[str] = (),
        at: str | None = None,
    ) -> None:
        """Add a learning; a solution too long for one becomes several of the same place."""
        self.whole.add(locator)
        source = Source(self.kind, locator, self.path, line)
        pieces = markdown.parts(solution, PART_CHARS)
        if len(pieces) > PARTS_MAX:
            self.refuse(line, f"it is longer than {PARTS_MAX * PART_CHARS:,} characters")
            return
        for number, piece in enumerate(pieces, 1):
            about = f"{problem} ({number}/{len(pieces)})" if len(pieces) > 1 else problem
            self.keep(Draft(
                about, piece, category[0], self.project or project, title, tags_of(tags), at, category[1], source,
            ))  # fmt: skip

    def keep(self, draft: Draft) -> None:
        """Add a draft; many of them are packed."""
        self.drafts.append(draft)
        if len(self.drafts) == MANY:
            self.drafts = packed(self.drafts)

    def add_text(self, locator: str, text: str, category: tuple[str, str], project: str, **more: Any) -> None:
        """Add a learning that is one text: what it begins with is its problem."""
        self.add(locator, derived_title(text), text, category, project, **more)


def told(row: dict[str, Any], key: str) -> str:
    """Return a text of a row, '' when it has none."""
    value = row.get(key)
    return value.strip() if isinstance(value, str) else ""


def words_of(text: str) -> frozenset[str]:
    """Return the plain words of a kind or a tag."""
    return frozenset(re.split(r"[^a-z]+", text.lower()))


def tags_of(found: Iterable[str]) -> tuple[str, ...]:
    """Return those that can be tags: what is too long for one, or cannot be printed, is left out."""
    clean = (" ".join(tag.split()) for tag in found)
    return tuple(dict.fromkeys(tag for tag in clean if tag and len(tag) <= TAG_CHARS and tag.isprintable()))[:TAGS_MAX]


def project_named(value: Any) -> str | None:
    """Return a project's name; None for what is none, and for every project at once, which nobody said."""
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return name if 0 < len(name) <= PROJECT_CHARS and name != EVERYWHERE and name.isprintable() else None


def time_of(epoch: Any, written: Any) -> str | None:
    """Return a time told in seconds, milliseconds or microseconds since 1970, or as ISO text; None when it is none."""
    if isinstance(epoch, (int, float)) and not isinstance(epoch, bool) and 0 < epoch < 1e17:
        seconds = epoch if epoch < 1e11 else epoch / 1e3 if epoch < 1e14 else epoch / 1e6
        try:
            told = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
            return told.isoformat(timespec="microseconds") + "Z"  # a third of what strftime takes
        except (ValueError, OverflowError, OSError):
            pass
    return observed(written) if isinstance(written, str) else None


def digest(text: str) -> str:
    """Return a short name of a text, for locators of rows without an id; of a text that stands in the source anyway."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def name_in_locator(value: Any) -> str | None:
    """Return an id as a locator may carry it: as it is, or shortened when it is long or odd; None when it is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        return None
    text = str(value)
    return text if _PLAIN.match(text) else f"long-{digest(text)}"
