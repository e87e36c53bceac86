"""Keep the block that the next session of a folder begins with, so that its hook need not load the read path.

A start block takes 0.1 s, most of it imports; an interpreter starts in 0.01 s.
So whoever has made or can make one keeps it in `sessions.db`: the hook that
answered a start, and the server after a prompt or a write. It holds only for
the ledger's head, the day, the branch and the client's own files it was made for; anything
else, and the block is made anew. It is text of learnings, already redacted and framed:
`Sessions.forget_ready` is for whoever erases.
Lean path: stdlib only, and `typing` only where a block is made.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time

from ledger import unsaid
from ledger.home import head_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ledger.hook import Asked
    from ledger.reader import Reader

EXPOSURES_FILE, EXPOSURES_SCHEMA = "exposures.db", 1
ADD_EXPOSURE = (
    "INSERT INTO exposure (id, at, ledger_id, session, prompt_id, channel, project, keywords, silence, shown, held,"
    " parts, versions, head_seq, head_hash, rules, anew) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""What `exposures.py` says too, whose imports cost more than a start may take; a test holds them together."""

LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
LEVELS_MAX = 64

APART = "\x1e"
"""Stands between what tells project and branch and what tells the client's own files."""

UUID_LETTERS, UUID_CHARS, SHORT_CHARS = "0123456789abcdef-", 36, 12
"""What the client names sessions with, and a length below which a name is no secret to any rule."""


def given(asked: Asked) -> str | None:
    """Return the block that was kept for this folder, '' when it shows nothing; None when none holds any more.

    It gets a name of its own and is remembered as shown to this session. A
    caller that is shown nothing is told apart by the settings, which may be of the project.
    """
    row = asked.kept.ready(asked.text("cwd"))
    if row is None or asked.peeked is None or not _is_plain(asked.who.session):
        return None
    stamp, head, day, project, text, exposure = row
    place, _, files = stamp.partition(APART)
    if head != head_of(asked.peeked) or day != _at(asked.now)[:10] or place != stamp_of(asked.text("cwd")):
        return None
    if not _are_the_same(files):
        return None
    asked.who.project = project
    if not asked.is_served():
        return ""
    told = json.loads(exposure)
    name = "exp_" + "".join(LETTERS[byte & 31] for byte in os.urandom(25))
    text = text.replace(told[0], name)
    told[0], told[1], told[3] = name, _at(asked.now), asked.who.session
    return text if _remembered(asked.path, told) else None


def _is_plain(session: str) -> bool:
    """Tell whether a session has a name in which no secret can be: what finds them costs more than a start may take."""
    return 0 < len(session) <= SHORT_CHARS or (0 < len(session) <= UUID_CHARS and not session.strip(UUID_LETTERS))


def _remembered(path: str, row: list[Any]) -> bool:
    """Remember a block as shown; False when the file is busy, missing or of another form."""
    place = os.path.join(os.path.dirname(os.path.abspath(path)), EXPOSURES_FILE)
    try:
        os.close(os.open(place, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)))
        file = sqlite3.connect(place, timeout=0, isolation_level=None)
        try:
            if file.execute("PRAGMA user_version").fetchone() != (EXPOSURES_SCHEMA,):
                return False
            file.execute("PRAGMA synchronous = OFF").fetchall()
            unsaid.noting(row[0])
            file.execute(ADD_EXPOSURE, row)
        finally:
            file.close()
    except (sqlite3.Error, OSError, ValueError):
        return False
    return True


def make(asked: Asked, reader: Reader) -> bool:
    """Make the block for a folder and keep it; tell whether it was kept.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    from ledger.exposure import Exposure, row_of
    from ledger.exposures import Exposures
    from ledger.recall import Recall
    from ledger.settings import EXPOSURE_DAYS

    class Caught(Exposures):
        """Exposures that remember nothing: what was to be remembered is kept with the block."""

        row: tuple[Any, ...] = ()

        def add(
            self, make: Callable[[frozenset[str]], Exposure], session: str | None, now: float, days: int = EXPOSURE_DAYS
        ) -> bool:
            self.row = row_of(make(frozenset()), self._ledger_id)
            return True

    class Making(Recall):
        """Recall that leaves no trace."""

        def __init__(self) -> None:
            super().__init__(reader, "hook", clock=lambda: asked.now)
            self._exposures = self.caught = Caught(reader.path, reader.meta()["ledger_id"])

    cwd = asked.text("cwd")
    stamp, project = stamp_of(cwd) + APART + files_of(asked), asked.who.project
    making = Making()
    try:
        head = reader.head()
        text = making.session_start(project, branch_of(cwd), "", loaded=asked.repeated).text
        if reader.head() != head:
            return False  # somebody wrote meanwhile
    finally:
        making.close()
    end, day = f"{head.seq}:{head.hash.hex()}", _at(asked.now)[:10]
    return asked.kept.keep_ready(cwd, (stamp, end, day, project, text, json.dumps(making.caught.row)), asked.now)


def head_of(peeked: Any) -> str:
    """Return the end of the log in one word."""
    return f"{peeked.seq}:{peeked.hash.hex()}"


def _at(now: float) -> str:
    """Return seconds since 1970 as the log and the exposures write times."""
    us = int(now * 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(us // 1_000_000)) + f".{us % 1_000_000:06d}Z"


# -- the client's own files --------------------------------------------------------------------------------------------


def files_of(asked: Asked) -> str:
    """Return what tells the files that a client loads in a folder, for `given` to compare; '' when not known."""
    loaded = asked.at_hand()
    watched = loaded.watched(asked.text("cwd"), os.path.expanduser("~")) if loaded is not None else []
    return json.dumps({path: _seen(path) for path in watched}) if watched else ""


def _are_the_same(files: str) -> bool:
    return not files or all(_seen(path) == seen for path, seen in json.loads(files).items())


def _seen(path: str) -> str:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return ""
    return f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"


# -- the folder ------------------------------------------------------------------------------------------------------


def git_folder(folder: str) -> str | None:
    """Return the folder that holds `HEAD` of the work tree around a path, None outside every one."""
    here = os.path.realpath(folder) if folder else ""
    for _ in range(LEVELS_MAX if here else 0):
        dot_git = os.path.join(here, ".git")
        if os.path.lexists(dot_git):
            if os.path.isdir(dot_git):
                return dot_git
            pointed = head_text(dot_git).partition("\n")[0].removeprefix("gitdir:").strip()
            return os.path.normpath(os.path.join(here, pointed))
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return None


def branch_of(folder: str) -> str | None:
    """Return the branch that is checked out in a folder, by reading `.git/HEAD`; None when no branch is."""
    place = git_folder(folder)
    head = head_text(os.path.join(place, "HEAD")).strip() if place is not None else ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None


def stamp_of(folder: str) -> str:
    """Return what project and branch of a folder are told by: another text as soon as either may be another."""
    place = git_folder(folder)
    if place is None:
        return ""
    common = head_text(os.path.join(place, "commondir")).strip()
    config = os.path.join(os.path.normpath(os.path.join(place, common)) if common else place, "config")
    try:
        found = os.stat(config)
        told = f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"
    except (OSError, ValueError):
        told = ""
    return f"{place}\n{told}\n{head_text(os.path.join(place, 'HEAD'))}"
