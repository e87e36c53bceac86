"""Look for the bytes of a text in files: a ledger's own, its copies, and what its learnings were read from.

Nothing is changed here, no link is followed, and a file is read once, a piece at a time.
"""

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from ledger import erasures, exposures, handover, mend, needles, place, sessions, turns
from ledger.errors import FileFault
from ledger.needles import Needles

PIECE = 1_048_576
"""Bytes of a file that are looked at together."""

TEXT_BYTES = 8_388_608
"""Size up to which a file is also read as text, white space and case not counting."""

PREFIXES = ("learnings-why-", "learnings-import-", "learnings-mcp-")
"""How the temporary folders of this program begin that hold a ledger's texts."""

NOTES_MAX, TRANSCRIPTS_MAX = 2_000, 500
"""Most notes of one folder, and most transcripts beside one, the newest first."""

OURS, BACKUP, EXPORT, SOURCE, TRANSCRIPT = "ledger", "backup", "export", "source", "transcript"
MENDED, TEMPORARY = "mended", "temporary"
"""What a file is to the ledger. Only the first kind is cleaned; all others are somebody's."""


class File(NamedTuple):
    """A file that may hold a text, and what it is to the ledger."""

    path: str
    kind: str


def own(ledger: str) -> list[File]:
    """Return the files that belong to a ledger and are there: database, sidecars, exposures, sessions, turns, queue."""
    paths = [ledger, *(ledger + end for end in place.BESIDE), *(ledger + end + ".new" for end in place.BESIDE)]
    for base in (exposures.path_beside(ledger), sessions.path_beside(ledger), turns.path_beside(ledger)):
        paths += [base, base + "-journal", base + exposures.ASIDE, base + exposures.ASIDE + "-journal"]
    folder = handover.folder_beside(ledger)
    if os.path.isdir(folder):
        paths += [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [File(path, OURS) for path in dict.fromkeys(paths) if _is_regular(path)]


def others(ledger: str, sources: Iterable[str], files: Iterable[str]) -> list[File]:
    """Return the files of other people that may hold what this ledger held.

    Args:
        sources: files and folders that learnings were read from.
        files: more that a client loads.
    """
    found = [File(copy.path, copy.kind) for copy in erasures.copies(ledger)]
    found += [File(done.kept, MENDED) for done in mend.made(ledger)]
    found += [File(path, TEMPORARY) for path in temporary()]
    listed = list(dict.fromkeys([*sources, *files]))
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in listed]
    found += [File(path, SOURCE) for path in listed]
    for folder in dict.fromkeys(folders):
        if os.path.basename(folder) == "memory" or folder in listed:
            found += [File(path, SOURCE) for path in _newest(folder, ".md", NOTES_MAX)]
        if os.path.basename(folder) == "memory":
            found += [File(path, TRANSCRIPT) for path in _newest(os.path.dirname(folder), ".jsonl", TRANSCRIPTS_MAX)]
    found += [File(path, TRANSCRIPT) for path in transcripts(ledger)]
    seen: dict[str, File] = {}
    for one in found:
        seen.setdefault(os.path.realpath(one.path), one)
    return [one for one in seen.values() if _is_regular(one.path)]


def temporary() -> Iterator[str]:
    """Yield the files in temporary folders of this program, which a killed run leaves behind."""
    place_of = tempfile.gettempdir()
    with suppress(OSError):
        for folder in sorted(os.listdir(place_of)):
            if folder.startswith(PREFIXES):
                with suppress(OSError):
                    yield from (
                        os.path.join(place_of, folder, name) for name in os.listdir(os.path.join(place_of, folder))
                    )


def transcripts(ledger: str) -> Iterator[str]:
    """Yield the transcripts that records of the queue name, and those whose turns are kept."""
    with suppress(FileFault):
        yield from turns.Turns(ledger).transcripts()
    for waiting in handover.waiting(ledger):
        for line in (place.bounded(waiting.path, handover.FILE_BYTES * 2) or "").splitlines():
            try:
                path = json.loads(line).get("transcript")
            except (ValueError, AttributeError):
                continue
            if isinstance(path, str):
                yield path


def _newest(folder: str, end: str, most: int) -> list[str]:
    try:
        with os.scandir(folder) as listing:
            found = [(entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in listing]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True) if path.lower().endswith(end)][:most]


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


# -- looking ---------------------------------------------------------------------------------------------------------


class Look:
    """Whether files hold what has to go, in any spelling that `needles.written` knows."""

    def __init__(self, wanted: Needles, probes: Iterable[str]) -> None:
        texts = list(probes)
        self._wanted = wanted
        self._lines = [told for text in texts if len(told := needles.plain(text)) >= needles.PROBE_MIN]
        # A short text is found in any database by chance: it counts as a word of a text only.
        self._bytes = sorted(
            {one for text in texts if len(text) >= needles.SAME_CHARS for one in needles.written(text)}
        )
        self._overlap = max((len(one) for one in self._bytes), default=1) - 1

    def finds(self, path: str) -> bool:
        """Tell whether a regular file holds it; one that cannot be read holds nothing that is known."""
        try:
            fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            return False
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return False
            first = b""
            last = b""
            try:
                while piece := file.read(PIECE):
                    if len(first) < TEXT_BYTES:
                        first += piece
                    last += piece
                    if any(one in last for one in self._bytes):
                        return True
                    last = last[-self._overlap :] if self._overlap else b""
            except OSError:
                return False
        return len(first) < TEXT_BYTES and self._says(first)

    def _says(self, data: bytes) -> bool:
        """Tell whether a text says it, white space and case not counting."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return False
        if "\0" in text:
            return False
        told = needles.plain(text)
        return any(line in told for line in self._lines) or needles.is_copy(self._wanted, told)
