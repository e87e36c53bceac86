"""Remember which sessions could not be taken, so that none is given up in silence: `<ledger>.swept`.

What was taken is known by other means (`checkpoints`); here stands what failed: why, how often,
and when it is tried again, later each time. A session leaves the list when it was taken. One whose transcript
went away before that stays on it for a while as lost, and `doctor` says so.
"""

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from ledger import place, redact

ENDING = ".swept"

FIRST_S, MOST_S = 300, 86_400
"""When a session that failed is tried again: after five minutes, twice as long each time, at least once a day."""

LOST_S = 30 * 86_400
"""How long it is told that the transcript of a session that failed has gone."""

STATE_BYTES = 8_388_608
GONE = "gone"
"""Why a session is lost: its transcript is there no more."""


class Retry(NamedTuple):
    """A session that failed: where, why in one word, how often, and when last and next (seconds since 1970).

    `changed_ns` is what its transcript was: another one is tried at once.
    """

    path: str
    why: str
    tries: int
    at: float
    next_at: float
    changed_ns: int

    @property
    def is_lost(self) -> bool:
        """Whether there is nothing to try any more."""
        return self.why == GONE


class Sweeps:
    """The sessions of one ledger that failed. A file that is broken holds none: then all are tried again."""

    def __init__(self, ledger: str) -> None:
        self._path = ledger + ENDING
        self._known = {one.path: one for one in _read(self._path)}
        self._before = dict(self._known)

    def __iter__(self) -> Iterator[Retry]:
        """Yield what failed, that first which is due first."""
        return iter(sorted(self._known.values(), key=lambda one: (one.next_at, one.path)))

    def is_due(self, path: str, changed_ns: int, now: float) -> bool:
        """Tell whether a session may be tried: it never failed, has changed since, or has waited long enough."""
        one = self._known.get(path)
        return one is None or one.changed_ns != changed_ns or one.next_at <= now

    def failed(self, path: str, why: str, changed_ns: int, now: float) -> None:
        """Remember that a session could not be taken; one whose path holds a secret is remembered without it."""
        before = self._known.get(path)
        tries = before.tries + 1 if before is not None else 1
        again = min(FIRST_S * 2 ** min(tries - 1, 20), MOST_S)
        if not redact.scrub(path).kinds:
            self._known[path] = Retry(path, why, tries, now, now + again, changed_ns)

    def gone(self, path: str, now: float) -> None:
        """Remember that the transcript of a session that failed is there no more."""
        one = self._known[path]
        if not one.is_lost:
            self._known[path] = one._replace(why=GONE, at=now, next_at=now + LOST_S)

    def taken(self, path: str) -> None:
        """Forget a session that was taken after all."""
        self._known.pop(path, None)

    def save(self, now: float) -> None:
        """Write what failed, without what was lost long ago.

        Raises:
            FileFault: it cannot be written; what stood there stands.
        """
        for one in list(self._known.values()):
            if one.is_lost and one.next_at <= now:
                del self._known[one.path]
        if self._known != self._before:
            place.replace(self._path, json.dumps([list(one) for one in self._known.values()]).encode("ascii"))
            self._before = dict(self._known)


def _read(path: str) -> list[Retry]:
    try:
        found: Any = json.loads(place.bounded(path, STATE_BYTES) or "[]")
        return [_retry(*one) for one in found]
    except (ValueError, TypeError, OverflowError, RecursionError):
        return []


def _retry(path: Any, why: Any, tries: Any, at: Any, next_at: Any, changed_ns: Any) -> Retry:
    return Retry(os.fspath(str(path)), str(why), int(tries), float(at), float(next_at), int(changed_ns))
