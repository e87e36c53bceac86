"""The newest summary of a project's sessions: kept in the ledger, or on its way there.

The client makes a summary, starts the session again, and only then hands the
summary over (2.1.332: PreCompact, SessionStart, PostCompact). So the one of
this very compaction is never here in time, and need not be: the client puts it
into the context itself. What another session has just handed over is read from the queue, for the
server comes to it only every two seconds.
Lean path: stdlib only.
"""

from __future__ import annotations

from typing import NamedTuple

from ledger import door, handover, place
from ledger.errors import LedgerError
from ledger.model import SUMMARY_HOURS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ledger.reader import Reader

QUEUE_FILES_MAX = 20
"""Files of the queue that are looked into, the last written first."""


class Summed(NamedTuple):
    """When a summary was made, of which session, and what it says."""

    at: str
    session: str
    text: str


def newest(reader: Reader, project: str, now: float, project_of: Callable[[str], str | None]) -> Summed | None:
    """Return the newest summary of the last 48 hours, None when there is none; `project_of` tells that of a folder."""
    from ledger.exposure import time_text

    kept = reader.summary(project, now=now)
    found = [Summed(kept.recorded_at, kept.session, kept.text)] if kept is not None else []
    names = reader.projects(project)
    for at, session, folder, text in _waiting(reader.path):
        if now - at <= SUMMARY_HOURS * 3_600 and project_of(folder) in names:
            passed = _passed(session, project, text)
            found += [Summed(time_text(at), session, passed)] if passed else []
    return max(found, default=None)


def _waiting(ledger: str) -> Iterator[tuple[float, str, str, str]]:
    """Yield time, session, folder and text of the summaries that wait in the queue."""
    for one in handover.waiting(ledger, handover.SOON)[-QUEUE_FILES_MAX:]:
        for line in (place.bounded(one.path, handover.FILE_BYTES) or "").splitlines():
            record = handover.record(line.encode())
            if record is None or record.get("kind") != "summary":
                continue
            at = record.get("at")
            session, folder, text = (str(record.get(name) or "") for name in ("session_id", "cwd", "text"))
            if isinstance(at, int | float) and session and folder and text:
                yield at, session, folder, text


def _passed(session: str, project: str, text: str) -> str:
    """Return a text as it would be kept, '' when it would not be."""
    try:
        passed = door.summary(session, project, text, None, None)
    except LedgerError:
        return ""
    return "" if passed.findings else str(passed.body["text"])
