"""Read what quipu adds to Claude Code's memory notes: dated facts, and marks of what replaced what.

Its notes are the client's own, so `note_scan.py` reads them as such; this
module tells which of them quipu makes itself (they restate others), reads the
notes of facts, each line of whose history is a learning that the next one
replaces, and the marks of its state database, without which every note counts
as live. Facts: `brainyboon/quipu` at 5e4cfb2, state in `.memory-state/memory.db` beside `memory/`.
"""

import os
import re
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from importers import foreign_sqlite
from importers.files import Unread
from importers.headers import observed
from importers.headers import parse as parse_header
from importers.markdown import plain
from importers.subjects import categorised
from ledger.model import Diagnostic, Draft, Source

MARKS_MAX = 100_000
FACTS_MAX = 500
"""Most values of one fact that are read."""

_MADE = ("USER.md", "USER.pinned.md", "REVIEW.md")
_SKIPPED = ("README.md", "AGENTS.md", "CLAUDE.md")
_KINDS = {"claim": "claims", "review": "reviews", "injection": "injections", "turn": "turns", "audit": "audit rows"}
_HISTORY = re.compile(r"(?im)^History, newest first:[ \t]*$")
_VALUE = re.compile(r"(?m)^[-*][ \t]+(\d{4}-\d{2}-\d{2}):[ \t]+(\S.*)$")


class Facts(NamedTuple):
    """What the note of a fact says: a learning for each value it had, and which each of them replaced, by locator."""

    drafts: list[Draft]
    whole: frozenset[str]
    replaced: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...] = ()


class Marks(NamedTuple):
    """What the state database says: paths of notes that another note replaced, and remarks."""

    replaced: dict[str, str]
    diagnostics: list[Diagnostic]


def state_of(folder: str) -> str | None:
    """Return the state database of a memory folder, None when quipu does not keep one there."""
    path = os.path.join(os.path.dirname(folder), ".memory-state", "memory.db")
    return path if os.path.basename(folder) == "memory" and os.path.isfile(path) else None


def is_made(path: str, folder: str) -> bool:
    """Return whether a note of a folder with such a state is one that quipu composes of others, or put away."""
    name = os.path.basename(path)
    inside = os.path.relpath(path, folder).split(os.sep)[:-1]
    is_composed = name in (*_MADE, *_SKIPPED) or name.startswith("user_demoted_")
    return is_composed or "_index" in inside or "archive" in inside


def facts(text: str, path: str, project: str) -> Facts | None:
    """Return what a note says when it is one of a fact with its history, None when it is none."""
    if "History, newest first" not in text:
        return None
    header = parse_header(text, path)
    found = _HISTORY.search(header.body)
    entity, attribute = header.text("entity"), header.text("attribute")
    if found is None or header.text("type").lower() != "fact" or not entity:
        return None
    values = list(_VALUE.finditer(header.body, found.end()))
    if not values:
        return None
    cut = []
    if len(values) > FACTS_MAX:
        line = header.body_line + header.body.count("\n", 0, values[FACTS_MAX].start())
        cut = [Diagnostic(path, line, "too-many", f"more than {FACTS_MAX} values of a fact; the older were left out")]
    subject = " ".join(plain(f"{entity} {attribute}").split())
    drafts: list[Draft] = []
    replaced: dict[str, tuple[str, ...]] = {}
    newer: str | None = None
    seen: dict[str, int] = {}
    for value in values[:FACTS_MAX]:
        day, words = value[1], value[2].strip()
        seen[day] = seen.get(day, 0) + 1
        locator = f"memory-note:{path}#{day}" + (f"/{seen[day]}" if seen[day] > 1 else "")
        line = header.body_line + header.body.count("\n", 0, value.start())
        category = categorised("reference", f"{subject} {words}")
        drafts.append(Draft(
            subject, f"{words} (since {day})", category[0], project, f"{subject}: {words}"[:120], ("fact",),
            observed(day), category[1], Source("memory-note", locator, path, line),
        ))  # fmt: skip
        if newer is not None:
            replaced[newer] = (locator,)
        newer = locator
    drafts.reverse()
    whole = frozenset((f"memory-note:{path}#", *(draft.source.locator for draft in drafts if draft.source)))
    return Facts(drafts, whole, replaced, tuple(cut))


def marks(state: str, folder: str) -> Marks:
    """Return what the state database of a folder says of its notes; a database that cannot be read says nothing."""
    try:
        with foreign_sqlite.snapshot(state) as connection:
            return _marks(connection, state, folder)
    except Unread as error:
        message = f"{error.message.partition(';')[0]}; which notes quipu replaced is not known, all count as live"
        return Marks({}, [Diagnostic(state, None, "quipu-state", message)])
    except (sqlite3.Error, UnicodeError, MemoryError, OverflowError):
        message = "it is damaged; which notes quipu replaced is not known, all count as live"
        return Marks({}, [Diagnostic(state, None, "quipu-state", message)])


def _marks(connection: sqlite3.Connection, state: str, folder: str) -> Marks:
    names = foreign_sqlite.columns(connection, "doc")
    if not {"rel", "superseded_by"} <= set(names):
        raise Unread("no-rows", "it holds no documents of quipu; the file was skipped")
    replaced: dict[str, str] = {}
    stale = 0
    wanted: list[str] = [name for name in ("rel", "superseded_by", "stale_note") if name in names]
    unread = 0
    for number, row in enumerate(foreign_sqlite.rows(connection, "doc", wanted)):
        if row is None or number >= MARKS_MAX:  # too large to be read, or too many
            unread += 1
            continue
        old, new = (_inside(folder, row[key]) for key in ("rel", "superseded_by"))
        if old is not None and new is not None and old != new:
            replaced[old] = new
        stale += bool(row.get("stale_note"))
    counts = {words: foreign_sqlite.count(connection, table) for table, words in _KINDS.items()}
    told = [f"{words} {number:,}" for words, number in counts.items() if number]
    if stale:
        told.append(f"marks of stale notes {stale:,}")
    message = f"what is no learning was left out: {', '.join(told)}"
    found = [Diagnostic(state, None, "no-learnings", message)] if told else []
    if unread:
        message = f"{unread:,} of its documents are too large or too many to be read; their notes count as live"
        found.append(Diagnostic(state, None, "quipu-state", message))
    return Marks(replaced, found)


def _inside(folder: str, rel: object) -> str | None:
    """Return the path of a note by what a row calls it, None for what is none inside the folder."""
    if not isinstance(rel, str) or not rel or "\0" in rel:
        return None
    path = os.path.normpath(os.path.join(folder, rel))
    return path if path.startswith(os.path.join(folder, "")) else None


def links(replaced: dict[str, str], drafts: Iterable[Draft]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return which places of notes replace which, and the fates of those whose replacement is not there.

    Args:
        replaced: path of a note, and of the one that replaced it.
        drafts: what the notes say.
    """
    at: dict[str, dict[str, None]] = {}
    for draft in drafts:
        if draft.source is not None and draft.source.path is not None:
            at.setdefault(draft.source.path, {})[draft.source.locator] = None
    news: dict[str, list[str]] = {}
    fates: dict[str, str] = {}
    for old, new in replaced.items():
        olds = list(at.get(old, ()))
        if new in at:
            news.setdefault(next(iter(at[new])), []).extend(olds)
        else:
            fates.update(dict.fromkeys(olds, "superseded"))
    return {new: tuple(olds) for new, olds in news.items()}, fates
