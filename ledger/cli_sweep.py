"""`learnings scan --idle 30m`: take the sessions that have come to rest, whether a hook handed them over or not.

A session that ends as it should is handed over by its hook; one whose terminal was closed, whose
machine went down or that is still open says nothing. So rest counts: a transcript that nobody has written to for that
long is taken. What cannot be taken is tried again later (`sweeps`).
"""

import os
import time
from typing import TYPE_CHECKING, Any

from ledger import cli_text, handover
from ledger.cli_call import Call, Result
from ledger.cli_import import lines_of, opened, said_aside, said_when_interrupted
from ledger.cli_progress import bar
from ledger.cli_sources import (
    FAILED,
    TRANSCRIPT,
    Chosen,
    Pass,
    bring,
    handed_over,
    narrowed,
    off_paths,
    released,
    told,
    usual,
    without,
)
from ledger.errors import BadInput
from ledger.model import plain
from ledger.sole import sole
from ledger.sweeps import Sweeps

if TYPE_CHECKING:
    from ledger.ingest import Imported
    from ledger.ledger import Ledger
    from ledger.model import Reading

WORDS = (("failed", "failed and tried again later"), ("waiting", "wait after a fault"), ("resting", "not at rest yet"))
"""What else is counted, and how it is said."""

LOCK = ".sweeping"
CLOCK = time.time


def sweep(call: Call) -> Result:
    """Take the sessions that have rested for long enough, and what hooks left of them."""
    chosen = Chosen(tuple(call.given.only), tuple(call.given.exclude), call.given.since)
    now = CLOCK()
    with opened(call) as ledger, sole(ledger.path + LOCK, "being swept", "wait until that process has ended"):
        return _Sweep(call, ledger, chosen, now).result()


class _Sweep:
    """One sweep of a ledger's sessions."""

    def __init__(self, call: Call, ledger: "Ledger", chosen: Chosen, now: float) -> None:
        self._call, self._ledger, self._chosen, self._now = call, ledger, chosen, now
        self._sweeps = Sweeps(ledger.path)
        self._handed = handed_over(handover.waiting(ledger.path, handover.LATER))
        self._resting = self._waiting = 0
        self._off: set[str] = set()
        self._known: set[str] = set()

    def result(self) -> Result:
        """Do it, and say what came of it."""
        from ledger import pairs

        due, is_dry, before = self._due(), bool(self._call.given.dry_run), self._ledger.store.head().seq
        with said_when_interrupted(self._call, self._ledger):
            done, rows = self._brought(due)
        taken = [path for path in due if os.path.realpath(path) not in self._off]
        document: dict[str, Any] = told(done) | {"sources": rows, "near": pairs.brought(self._ledger.reader, before)}
        failed = {one: code for one in taken if (code := _fault(document, one)) is not None}
        if not is_dry:
            for path in taken:
                self._noted(path, failed.get(path))
            released(self._ledger, {os.path.realpath(path) for path in taken if path not in failed}, is_ended=False)
            self._sweeps.save(self._now)
        retries = [plain(one) for one in self._sweeps]
        fresh = [one for one in taken if one not in failed and os.path.realpath(one) not in self._known]
        document["swept"] = {
            "taken": len(fresh), "failed": len(failed), "resting": self._resting, "waiting": self._waiting,
            "retries": retries,
        }  # fmt: skip
        said_aside(self._call, document)
        return Result(document, lambda: [self._line(document), *lines_of(self._call, document)], _status(failed))

    # -- which -------------------------------------------------------------------------------------------------------

    def _due(self) -> list[str]:
        """Return the transcripts to take now; count those not at rest yet, and those that wait after a fault."""
        found = []
        for path in dict.fromkeys([*self._transcripts(), *self._handed]):
            try:
                now = os.stat(path)
            except OSError:
                continue
            is_ended = path in self._handed and self._handed[path]
            if self._now - now.st_mtime < self._call.given.idle and not is_ended:
                self._resting += 1
            elif not self._sweeps.is_due(path, now.st_mtime_ns, self._now):
                self._waiting += 1
            else:
                found.append(path)
        for one in list(self._sweeps):
            if not os.path.exists(one.path):
                self._sweeps.gone(one.path, self._now)
        return found

    def _transcripts(self) -> list[str]:
        """Return every transcript of the usual places."""
        from importers.registry import table

        importer = next((one for one in table() if one.kind == TRANSCRIPT), None)
        if importer is None or importer.below is None:
            return []
        places = [place for place in usual(self._call) if place.kind == TRANSCRIPT and self._chosen.takes(place)]
        return [path for place in places for path in (importer.below(place.path) or [place.path])]

    # -- taking ------------------------------------------------------------------------------------------------------

    def _brought(self, paths: list[str]) -> "tuple[list[Imported], list[dict[str, Any]]]":
        from importers.registry import Place

        given = self._call.given
        how = Pass(self._fit, None, given.again, given.dry_run, bar, self._call.remark)
        places: list[Place] = [Place(TRANSCRIPT, path) for path in paths]
        return bring(self._ledger, places, how)

    def _fit(self, reading: "Reading") -> "Reading":
        """Leave out what is of no interest now, and projects that are off: those are asked for again."""
        off = off_paths(self._ledger, reading)
        self._off |= off
        self._known |= reading.passed.keys()
        return without(narrowed(reading, self._chosen), off)

    def _noted(self, path: str, why: str | None) -> None:
        """Remember what became of a session."""
        if why is not None:
            self._sweeps.failed(path, why, _changed_ns(path), self._now)
            return
        self._sweeps.taken(path)

    def _line(self, document: dict[str, Any]) -> str:
        swept = document["swept"]
        parts = [f"{cli_text.counted(swept['taken'], 'session')} taken"]
        parts += [f"{swept[name]} {words}" for name, words in WORDS if swept[name]]
        return ", ".join(parts)


def _fault(document: dict[str, Any], path: str) -> str | None:
    """Return why a transcript could not be taken at all; None when it was."""
    from importers.files import REFUSALS, shown

    for one in document.get("diagnostics", []):
        if one["file"] == shown(path) and one["line"] is None and one["code"] in (*REFUSALS, FAILED):
            return str(one["code"])
    return None


def _changed_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _status(failed: dict[str, str]) -> int:
    return BadInput.exit_code if failed else 0
