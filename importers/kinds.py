"""What an importer is: a line of the registry's table.

An importer of files says by the first bytes of a file whether it is its own
(`sniff`), and reads it (`read`). One of folders also says what a folder holds
for it (`below`). `places` are where its files usually are. Nothing else of it
is known to the registry.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ledger.model import TRUST_FILES, Diagnostic, Draft, SessionText


class Parsed(NamedTuple):
    """What one file says.

    `whole` are the locators of everything that was read, `held` of what the
    file itself calls sensitive. `is_complete` tells that nothing is missing,
    so that what is not in `whole` has gone: never of a sample, nor of a file
    of which a part could not be read. `rank` orders files of one kind that
    say different things of one place, the best first; None when nothing
    tells. `trust` is that of the drafts where it is not their importer's.
    `sessions`, `summaries` and `around`: see `Reading`.
    """

    drafts: list[Draft]
    whole: frozenset[str]
    held: frozenset[str]
    diagnostics: list[Diagnostic]
    is_complete: bool
    rank: float | None = None
    trust: int | None = None
    sessions: Mapping[str, str] = {}
    summaries: tuple[SessionText, ...] = ()
    around: Mapping[str, str] = {}


class Where(NamedTuple):
    """What usual places hang on: the user's home, the folder worked in, and the environment; all passed in."""

    home: str
    cwd: str | None = None
    environ: Mapping[str, str] = {}


def no_places(where: Where) -> list[str]:
    """Return no place: for a kind that stands where somebody put it."""
    return []


def all_drafts(parsed: Iterable[Parsed]) -> list[Draft]:
    """Return the drafts of several files, in their order."""
    return [draft for one in parsed for draft in one.drafts]


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
        merged: puts the drafts of several files of this kind together.
        below: what of this kind a named folder holds, as paths for `read`. The
            folder itself: all of it is this kind's, and no note of it is read by others.
        places: where this kind usually is; only what exists.
        by_place: what it reads is worth more than a repository's files only where own notes would be.
    """

    kind: str
    sniff: Callable[[bytes, str], bool]
    read: Callable[[str, str | None], Sequence[Parsed]]
    trust: int = TRUST_FILES
    names: tuple[str, ...] = ()
    merged: Callable[[Iterable[Parsed]], list[Draft]] = all_drafts
    below: Callable[[str], Iterable[str]] | None = None
    places: Callable[[Where], list[str]] = no_places
    by_place: bool = False


class Gathered:
    """What goes into one reading: of one importer at one trust."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
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
