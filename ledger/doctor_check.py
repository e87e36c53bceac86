"""What a check of `doctor` is, and what all of them are told."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

DAY_S = 86_400


class Check(NamedTuple):
    """One check: `id` is a stable word, `message` a line for a person.

    What is not `ok` is broken. A remark is ok, and worth reading all the same.
    """

    id: str
    ok: bool
    message: str
    is_remark: bool = False


class Around(NamedTuple):
    """What is looked at: a ledger file, and the surroundings of the process that looks.

    `file` and `folder` (the working folder) are absolute; `env` is the
    process's environment, `now` in seconds since 1970.
    """

    file: str
    home: str
    env: Mapping[str, str]
    platform: str
    folder: str
    now: float

    def shown(self, path: str) -> str:
        """Return a path as people write it, the home folder as `~`."""
        inside = path.startswith(self.home + os.sep)
        return "~" + path[len(self.home) :] if inside and len(self.home) > 1 else path


def fine(name: str, message: str) -> Check:
    """Return a check in which all is as it should be."""
    return Check(name, ok=True, message=message)


def remark(name: str, message: str) -> Check:
    """Return a check that is ok, with something to know."""
    return Check(name, ok=True, message=message, is_remark=True)


def broken(name: str, message: str) -> Check:
    """Return a check that found a fault: what happened; what became of the data; what to do."""
    return Check(name, ok=False, message=message)


def listed(texts: Iterable[str], most: int = 5) -> str:
    """Return texts in one line, each once; what is beyond `most` is counted."""
    found = list(dict.fromkeys(texts))
    more = [f"{len(found) - most} more"] if len(found) > most else []
    return ", ".join([*found[:most], *more])


def many(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ago(seconds: float) -> str:
    """Return how long ago something was, in its largest unit."""
    for size, unit in ((DAY_S, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return many(int(seconds // size), unit) + " ago"
    return "just now"


def seconds_of(moment: str) -> float:
    """Return a time like 2026-11-30T02:47:56Z, with or without a fraction, in seconds since 1970; 0.0 for others."""
    from datetime import UTC, datetime

    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return 0.0
