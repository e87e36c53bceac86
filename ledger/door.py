"""The one door in front of every sink: caps, encoding, redaction, screening.

Nothing a caller gives reaches a row, an index, a log, an error or a temporary
file before it passed here. When the redactor cannot run, nothing passes.
Lean and pure.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from ledger import echo, private, redact, screen
from ledger.errors import BadArgument, BadText, Echoed, EmptyText, GuardFailed, TooLong, UnknownCategory
from ledger.model import (
    CATEGORIES,
    CONFIDENCES,
    EVERYWHERE,
    LOCATOR_CHARS,
    PROBLEM_CHARS,
    PROJECT_CHARS,
    SOLUTION_CHARS,
    SUMMARY_CHARS,
    TAG_CHARS,
    TAGS_MAX,
    Draft,
    Source,
    derived_title,
    shortened,
)

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Escape sequences of a terminal, whole: colours, titles, links, clipboard writes."""

_CONTROLS = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_OWN_WORDS = ("title", "problem", "solution")
"""Fields from which recalled text is cut: what the ledger showed it has already."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z\Z")


class Passed(NamedTuple):
    """A draft as it may be stored; `kinds` of secrets that were masked, `findings` of the screen, both as words."""

    draft: Draft
    kinds: tuple[str, ...]
    findings: tuple[screen.Finding, ...]


def text(
    field: str, value: str, cap: int, *, required: bool = True, markers: Mapping[str, str] | None = None
) -> tuple[str, tuple[str, ...]]:
    """Return a text as it may be stored, and the kinds of secrets that were masked in it.

    Line ends become LF, terminal sequences and control characters go, blanks
    at both ends go, and what is marked as private goes (`markers`: beside `<private>`).

    Raises:
        EmptyText, TooLong, BadText: it cannot be stored; the value is not quoted.
        GuardFailed: the redactor could not run.
    """
    if not isinstance(value, str):
        raise BadArgument(f"{field} is not a text; nothing was written")
    if len(value) > 4 * cap:
        raise TooLong(field, len(value), cap)
    if "\0" in value:
        raise BadText(field, "U+0000")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadText(field, "half of a surrogate pair")
    plain = value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value
    if not plain.isprintable():
        plain = _CONTROLS.sub("", _TERMINAL.sub("", plain))
    clean, kinds = redact.guarded(field, private.without(plain, markers).strip())
    if required and not any(map(_is_visible, clean)):
        raise EmptyText(field)
    if len(clean) > cap:
        raise TooLong(field, len(clean), cap)
    return clean, kinds


class Summary(NamedTuple):
    """A summary as it may be stored: the body of its event; `findings` of the screen mean that it is not kept."""

    body: dict[str, str]
    kinds: tuple[str, ...]
    findings: tuple[screen.Finding, ...]
    remarks: tuple[str, ...]


def summary(
    session: str,
    project: str,
    given: str,
    covers_from: str | None,
    covers_to: str | None,
    markers: Mapping[str, str] | None = None,
) -> Summary:
    """Return a session's summary as it may be stored, without pieces of frames, cut to its cap.

    Raises:
        BadInput: a field cannot be stored. GuardFailed: redaction or screening could not run.
    """
    given = private.without(given, markers)  # before the cut, which may take the end of a region
    if len(given) > 3 * SUMMARY_CHARS:  # cut at a line first, so that no half of a secret is left
        given = given[: 3 * SUMMARY_CHARS].rpartition("\n")[0] or given[: 3 * SUMMARY_CHARS].rpartition(" ")[0]
    clean, kinds = text("summary", echo.cut(given), 4 * SUMMARY_CHARS, required=False)
    remarks = () if len(clean) <= SUMMARY_CHARS else (f"cut to {SUMMARY_CHARS:,} characters",)
    body = {
        "session": text("session", session, PROJECT_CHARS)[0],
        "project": text("project", project, PROJECT_CHARS)[0],
        "text": clean if len(clean) <= SUMMARY_CHARS else clean[: SUMMARY_CHARS - 1] + "…",
    }
    for name, value in (("covers_from", covers_from), ("covers_to", covers_to)):
        if value is not None and not _TIME.match(value):
            raise BadArgument(f"{name} is not a time like 2026-11-30T02:47:56Z; nothing was written")
        body |= {} if value is None else {name: value}
    return Summary(body, kinds, _findings(clean), remarks)


def _findings(clean: str) -> tuple[screen.Finding, ...]:
    try:
        return screen.screen(clean)
    except Exception as error:  # noqa: BLE001 - whatever failed, nothing may be stored
        raise GuardFailed(f"the screen failed ({type(error).__name__})") from None


def _is_visible(letter: str) -> bool:
    """Tell whether a character is neither white space nor a format character, which nobody sees."""
    return not letter.isspace() and unicodedata.category(letter) != "Cf"


def draft(given: Draft, markers: Mapping[str, str] | None = None) -> Passed:
    """Return a draft as it may be stored, without pieces of what was recalled.

    Raises:
        BadInput: a field cannot be stored. Echoed: nothing is left of one.
        GuardFailed: redaction or screening could not run.
    """
    kinds: list[str] = []

    def passed(field: str, value: str, cap: int, *, required: bool = True) -> str:
        own = echo.cut(value) if isinstance(value, str) and field in _OWN_WORDS else value
        if required and own is not value and not own.strip():
            raise Echoed(field)
        clean, found = text(field, own, cap, required=required, markers=markers)
        kinds.extend(found)
        return clean

    problem = passed("problem", given.problem, PROBLEM_CHARS)
    solution = passed("solution", given.solution, SOLUTION_CHARS)
    # A long title is shortened, not refused: it is a label, and derived ones are cut the same way.
    title = passed("title", given.title or "", PROBLEM_CHARS, required=False)
    label = shortened(title) if title else derived_title(problem)
    title = title if label == title else label  # an import holds many, each once
    project = passed("project", given.project or EVERYWHERE, PROJECT_CHARS)
    if given.category not in CATEGORIES:
        raise UnknownCategory(CATEGORIES)
    if given.confidence not in CONFIDENCES:
        raise BadArgument("confidence is neither sure nor ambiguous; nothing was written")
    if len(given.tags) > TAGS_MAX:
        raise TooLong("the learning", len(given.tags), TAGS_MAX, "tags")
    tags = tuple(dict.fromkeys(passed("tag", " ".join(tag.split()), TAG_CHARS) for tag in given.tags))
    if given.observed_at is not None and not _TIME.match(given.observed_at):
        raise BadArgument("observed_at is not a time like 2026-11-30T02:47:56Z; nothing was written")
    source = given.source
    if source is not None:
        path = passed("path", source.path, LOCATOR_CHARS) if source.path is not None else None
        own = Source(source.kind, passed("locator", source.locator, LOCATOR_CHARS), path, source.line)
        source = source if own == source else own
    tags = given.tags if tags == given.tags else tags
    clean = Draft(problem, solution, given.category, project, title, tags, given.observed_at, given.confidence, source)
    clean = given if clean == given else clean
    findings = _findings("\n\n".join((title, problem, solution, " ".join(tags), project)))
    return Passed(clean, tuple(kinds), findings)
