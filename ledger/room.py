"""Make room in the queue: what waits too long or takes too much is given up, the oldest first, and counted.

Nothing new is refused because old things wait. Evidence is given up by age, by
size and by number of files; what needs no model, and where a transcript is, by
size and number only. What somebody has taken is left to them. A line of
`given-up` in the queue's folder says when a file went and how many records were
in it; it outlives `sessions.db`, and its older half goes from `GIVEN_BYTES` on.
Lean path: stdlib only.
"""

import json
import os
import stat
import time
from collections.abc import Iterable
from typing import NamedTuple

from ledger import place

try:
    import fcntl
except ImportError:  # Windows: whoever renames or deletes first has it
    fcntl = None  # type: ignore[assignment]

GIVEN_UP = "given-up"

EVIDENCE_DAYS = 60
"""Age of a file at which evidence is given up. The client itself deletes transcripts after 30 days unless told."""

LANE_BYTES = 33_554_432
"""Bytes that each kind may take: a month of 70 long answers a day."""

FILES_MAX, POINTERS_MAX = 2_000, 4_000
"""Files of each kind, and transcripts that are pointed to: one small file each."""

STALE_S = 3_600
"""Age at which a file that was being made is taken for one that a kill left behind."""

GIVEN_BYTES = 65_536
DAYS = 30
"""How far back `given_up` looks."""

POINTER = "at-"
"""What the name of a file that points to a transcript begins with."""


class GivenUp(NamedTuple):
    """Records that were given up to make room, and when last (seconds since 1970)."""

    records: int
    last: float | None


class _File(NamedTuple):
    at: float
    path: str
    size: int


def make_room(folder: str, lane: str, now: float, *, points: bool = False) -> int:
    """Bring a lane's files down to their bounds; return how many records were given up."""
    found, stale = _files(folder, lane, now, points=points)
    for path in stale:
        _forget(path)
    most = POINTERS_MAX if points else FILES_MAX
    is_aged = lane == "later" and not points
    size, number, given = sum(one.size for one in found), len(found), 0
    for one in found:
        is_old = is_aged and now - one.at > EVIDENCE_DAYS * 86_400
        if not is_old and number < most and size < LANE_BYTES:
            break
        gone = _given_up(one.path)
        if gone is not None:
            size, number = size - one.size, number - 1
            given += gone
            _noted(folder, lane, now, gone)
    return given


def _files(folder: str, lane: str, now: float, *, points: bool) -> tuple[list[_File], list[str]]:
    """Return a lane's files that nobody has taken, the oldest first, and what a killed hook left half made."""
    found, stale = [], []
    with os.scandir(folder) as listing:
        for entry in listing:
            if entry.name.endswith(".jsonl"):
                if f".{lane}." not in entry.name or entry.name.startswith(POINTER) != points:
                    continue
            elif not entry.name.endswith(".new"):
                continue
            try:
                told = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if not stat.S_ISREG(told.st_mode):
                continue
            if entry.name.endswith(".jsonl"):
                found.append(_File(told.st_mtime, entry.path, told.st_size))
            elif now - told.st_mtime > STALE_S:
                stale.append(entry.path)
    return sorted(found), stale


def _given_up(path: str) -> int | None:
    """Remove one file that nobody holds and return how many records were in it; None when somebody does."""
    try:
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        own, found = os.fstat(fd), os.stat(path)
        if (own.st_dev, own.st_ino) != (found.st_dev, found.st_ino):
            return None
        with os.fdopen(os.dup(fd), "rb") as file:
            lines = [line for line in file.read().split(b"\n") if line]
        os.unlink(path)
    except OSError:
        return None
    finally:
        os.close(fd)
    return sum(map(_matters, lines))


def _matters(line: bytes) -> bool:
    """Tell whether something is lost with a record: not where a transcript was that is there no more."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    path = record.get("transcript") if isinstance(record, dict) else None
    return not isinstance(path, str) or os.path.exists(path)


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # the next one tries again


# -- the count ---------------------------------------------------------------------------------------------------------


def _noted(folder: str, lane: str, now: float, records: int) -> None:
    """Leave a line for `doctor` and `stats`; where that cannot be, the work goes on."""
    if not records:
        return
    path = os.path.join(folder, GIVEN_UP)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(path, flags, 0o600)
        try:
            place.write_all(fd, f"{now:.0f} {lane} {records}\n".encode("ascii"))
            size = os.fstat(fd).st_size
        finally:
            os.close(fd)
        if size > GIVEN_BYTES:
            _halve(path)
    except OSError:
        return


def _halve(path: str) -> None:
    lines = _lines(path)
    temporary = f"{path}.{os.getpid()}.new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in lines[len(lines) // 2 :])
    os.replace(temporary, path)


def _lines(path: str) -> list[str]:
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            return file.read(2 * GIVEN_BYTES).decode("ascii", "replace").splitlines()
    except OSError:
        return []


def given_up(folder: str, now: float | None = None, days: int = DAYS) -> GivenUp:
    """Return what was given up in the last days; a line that cannot be read counts for nothing."""
    since = (time.time() if now is None else now) - days * 86_400
    rows = [row for line in _lines(os.path.join(folder, GIVEN_UP)) if (row := _row(line.split())) is not None]
    late = [(at, records) for at, records in rows if at >= since]
    return GivenUp(sum(records for _, records in late), max((at for at, _ in late), default=None))


def _row(words: Iterable[str]) -> tuple[float, int] | None:
    try:
        at, _, records = words
        return float(at), int(records)
    except ValueError:
        return None
