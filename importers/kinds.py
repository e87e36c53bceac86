"""What an importer is: a line of the registry's table.

An importer of files says by the first bytes of a file whether it is its own
(`sniff`), and reads it (`read`). One of folders also says what a folder holds
for it (`below`). `places` are where its files usually are. Nothing else of it
is known to the registry.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ledger.model import NO_PAST, TRUST_FILES, Diagnostic, Draft, Mark, Past, SessionText, Source


class Parsed(NamedTuple):
    """What one file says.

    `whole` are the locators of everything that was read, `held` of what the
    file itself calls sensitive. `is_complete` tells that nothing is missing,
    so that what is not in `whole` has gone: never of a sample, nor of a file
    of which a part could not be read. `rank` orders files of one kind that
    say different things of one place, the best first; None when nothing
    tells. `trust` is that of the drafts where it is not their importer's; `past`
    what the file tells of its rows' past. For the others see `Reading`.
    """

    drafts: Sequence[Draft]
    whole: frozenset[str]
    held: frozenset[str]
    diagnostics: list[Diagnostic]
    is_complete: bool
    rank: float | None = None
    trust: int | None = None
    sessions: Mapping[str, str] = {}
    summaries: tuple[SessionText, ...] = ()
    around: Mapping[str, str] = {}
    past: Past = NO_PAST


class Where(NamedTuple):
    """What usual places hang on: the user's home, the folder worked in, and the environment; all passed in."""

    home: str
    cwd: str | None = None
    environ: Mapping[str, str] = {}


def no_places(where: Where) -> list[str]:
    """Return no place: for a kind that stands where somebody put it."""
    return []


def no_database(connection: sqlite3.Connection) -> bool:
    """Return that a database is none of a kind without one."""
    return False


def all_drafts(parsed: Iterable[Parsed]) -> Sequence[Draft]:
    """Return the drafts of several files, in their order."""
    parsed = list(parsed)
    if len(parsed) == 1:
        return parsed[0].drafts
    return [draft for one in parsed for draft in one.drafts]


def best_said(all_parsed: Iterable[Parsed]) -> Sequence[Draft]:
    """Return the drafts of several files: where two say different things of one place, the best ranked says it.

    A database outranks every export, a later export an earlier one.
    """
    all_parsed = list(all_parsed)
    if len(all_parsed) == 1:
        return all_parsed[0].drafts
    drafts: list[Draft] = []
    said: set[str] = set()
    for parsed in sorted(all_parsed, key=lambda one: one.rank if one.rank is not None else 0.0):
        drafts += [
            draft
            for draft in parsed.drafts
            if parsed.rank is None or draft.source is None or draft.source.locator not in said
        ]
        if parsed.rank is not None:
            said |= parsed.whole
    return drafts


class Importer(NamedTuple):
    """One source of learnings.

    Attributes:
        kind: its name, which readings, batches and sources carry.
        sniff: given the first 4,096 bytes of a file and its real path, whether the file is this kind's.
        read: given the real path and the project that the caller named (None:
            the file tells), what it says, one `Parsed` for each trust; raises
            `files.Unread` when nothing of it can be taken.
        trust: of its drafts, unless a `Parsed` says another.
        names: ends of file names that are looked at when a folder is walked.
        holds: given a read-only copy of a SQLite database, whether it is this
            kind's. Such files are never asked by `sniff`.
        database: reads that copy, as `read` reads a file.
        merged: puts the drafts of several files of this kind together.
        below: what of this kind a named folder holds, as paths for `read`. The
            folder itself: all of it is this kind's, and no note of it is read by others.
        places: where this kind usually is; only what exists.
        by_place: what it reads is worth more than a repository's files only where own notes would be.
        is_markdown: whether `sniff` is asked of `.md` files too, before they are taken for memory notes.
    """

    kind: str
    sniff: Callable[[bytes, str], bool]
    read: Callable[[str, str | None], Sequence[Parsed]]
    trust: int = TRUST_FILES
    names: tuple[str, ...] = ()
    holds: Callable[[sqlite3.Connection], bool] = no_database
    database: Callable[[sqlite3.Connection, str, str | None], Sequence[Parsed]] | None = None
    merged: Callable[[Iterable[Parsed]], Sequence[Draft]] = all_drafts
    below: Callable[[str], Iterable[str]] | None = None
    places: Callable[[Where], list[str]] = no_places
    by_place: bool = False
    is_markdown: bool = False


class Gathered:
    """What goes into one reading: of one importer at one trust."""

    def __init__(self) -> None:
        self.drafts: Sequence[Draft] = []
        self.whole: set[str] = set()
        self.paths: list[str] = []
        self.roots: list[str] = []
        self.unread: list[str] = []
        self.diagnostics: list[Diagnostic] = []
        self.read: list[str] = []
        self.held: set[str] = set()
        self.sessions: dict[str, str] = {}
        self.summaries: list[SessionText] = []
        self.around: dict[str, str] = {}
        self.replaced: dict[str, tuple[str, ...]] = {}
        self.fates: dict[str, str] = {}
        self.origins: dict[str, tuple[Source, ...]] = {}
        self.marks: dict[str, Mark] = {}
        self.passed: dict[str, int] = {}

    def passes(self, path: str, items: int) -> None:
        """Pass over a source of which nothing has changed: what stands there stays."""
        self.read.append(path)
        self.unread.append(path)
        self.passed[path] = items

    def add(self, drafts: Sequence[Draft]) -> None:
        """Add drafts behind those that are there."""
        if not self.drafts and not isinstance(drafts, list):
            self.drafts = drafts  # packed, and they stay so
            return
        own = self.drafts if isinstance(self.drafts, list) else list(self.drafts)
        own.extend(drafts)
        self.drafts = own

    def take(self, parsed: Parsed) -> None:
        """Add what a file says, but for its drafts, which are put together with those of others."""
        self.whole |= parsed.whole
        self.held |= parsed.held
        self.diagnostics += parsed.diagnostics
        self.replaced.update(parsed.past.replaced)
        self.fates.update(parsed.past.fates)
        self.origins.update(parsed.past.origins)
        self.sessions.update(parsed.sessions)
        self.summaries += parsed.summaries
        self.around.update(parsed.around)
