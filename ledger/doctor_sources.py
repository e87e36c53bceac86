"""Look at what brings sources in while nobody asks for it: the watcher, and sessions that could not be taken."""

from collections.abc import Iterator

from ledger.doctor_check import Around, Check, broken, fine, listed, many, remark
from ledger.sole import holder
from ledger.sweeps import Sweeps

TRIES = 3
"""Failures of one session from which on something is wrong that does not pass by itself."""


def checks(around: Around) -> Iterator[Check]:
    """Yield whether a watcher runs, and which sessions wait to be tried again."""
    watched = holder(around.file + ".watching")
    yield fine("watch", f"{watched} keeps it in step" if watched else "no watcher runs (`learnings watch`)")
    yield _sessions(around)


def _sessions(around: Around) -> Check:
    failed = list(Sweeps(around.file))
    lost = [one for one in failed if one.is_lost]
    waiting = [one for one in failed if not one.is_lost]
    told = listed(f"{around.shown(one.path)} ({one.why}, failed {one.tries} times)" for one in waiting)
    if lost:
        paths = listed(around.shown(one.path) for one in lost)
        return broken("sessions-taken", f"{many(len(lost), 'transcript')} went before it could be taken: {paths}")
    if any(one.tries >= TRIES for one in waiting):
        return broken("sessions-taken", f"{many(len(waiting), 'session')} could not be taken: {told}; all are kept")
    if waiting:
        return remark("sessions-taken", f"{many(len(waiting), 'session')} failed and will be tried again: {told}")
    return fine("sessions-taken", "no session that failed waits")
