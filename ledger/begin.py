"""What a session begins with besides the start block: the newest summary, what it had been shown before, and a remark.

Lean path: stdlib only; what a start block needs is imported where it is needed.
"""

from __future__ import annotations

import os
import sqlite3
import time

from ledger import sql
from ledger.home import uri_to_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ledger.answer import Hit
    from ledger.echo import Learned
    from ledger.hook import Asked
    from ledger.reader import Reader
    from ledger.sessions import Sessions

SHOWN_MAX = 12
"""Most learnings that are shown again after a compaction, the last ones shown first."""

SUMMARY_UNITS = 3_000
"""UTF-16 units of a summary and its frame: with a start block it is no more than a prompt may be shown."""

EXPOSURES_MAX = 40
"""Exposures of a session that are looked at for them."""

WAIT_DAYS = 60
"""Days after which what waits for a person is not asked about any more; what changes waits anew."""

QUIET_DAYS, QUIET_SESSIONS = 7, 10
"""From how many days without a new event, and how many sessions of people since, a person is told."""


def summed(reader: Reader, asked: Asked) -> str:
    """Return the newest summary of a project's sessions as a block, '' when there is none of the last 48 hours.

    One of this very session is of an earlier compaction, and is called so: the
    client hands over the newest only after this, and puts it into the context itself.
    """
    from ledger import summed

    project = asked.who.project
    found = summed.newest(reader, project, asked.now, asked.project_of) if project is not None else None
    if found is None:
        return ""
    from ledger.frame import aside

    whose = f"of an earlier session of {project}"
    if found.session == asked.who.session:
        whose = f"of this session of {project}, from an earlier compaction"
    return aside(f"summary {whose} · made by the client · {found.at[:16]}Z", found.text, SUMMARY_UNITS)


def again(
    reader: Reader, session: str, project: str | None, now: float,
    loaded: Callable[[Sequence[Learned]], frozenset[str]],
) -> str | None:  # fmt: skip
    """Return the block of what a session had been shown, and remember that it was; None when it was shown nothing.

    What is not current any more stays away, and so does what the client has
    loaded by now, as `loaded` tells. Everything may be shown anew from here on.
    """
    from ledger.exposure import Exposure, new_id, time_text
    from ledger.exposures import Exposures
    from ledger.frame import frame
    from ledger.recall import START_UNITS, days_kept, learned

    with Exposures(reader.path, reader.meta()["ledger_id"]) as kept:
        before = kept.of_session(session, EXPOSURES_MAX)
        hits = _current(reader, list(dict.fromkeys(name for one in before for name in one.shown))[:SHOWN_MAX])
        told = loaded([learned(hit) for hit in hits])
        hits = [hit for hit in hits if hit.id not in told]
        if not hits:
            return None
        name, at, head = new_id(), time_text(now), reader.head()
        framed = frame(hits, at[:10], f"why: learnings why {name}", START_UNITS)
        held = [{"id": hit.id, "reason": "budget"} for hit in hits if hit.id not in framed.ids]
        one = Exposure(
            name, at, session, None, "hook", project, [], None if framed.ids else "budget", framed.ids,
            held, {}, {}, head.seq, head.hash.hex(), anew=True,
        )  # fmt: skip
        is_kept = kept.add(lambda _: one, session, now, days_kept(reader))
    return framed.text if is_kept else frame(hits, at[:10], "", START_UNITS).text


def _current(reader: Reader, ids: Sequence[str]) -> list[Hit]:
    """Return those that are current and trusted enough to be served unasked, in their order."""
    from ledger.answer import BODIES_MAX
    from ledger.errors import NotFound
    from ledger.model import TRUST_NOTES

    found: list[Hit] = []
    for at in range(0, len(ids), BODIES_MAX):
        try:
            found += reader.get(ids[at : at + BODIES_MAX])
        except NotFound:
            continue  # the exposures of another ledger that stood here
    return [hit for hit in found if hit.state == "current" and hit.trust >= TRUST_NOTES]


def remark(kept: Sessions, last_event_s: float | None, now: float, waits: int = 0) -> str:
    """Return one line for the person when something is broken or waits, at most once a day each; else ''.

    `last_event_s` is when the log grew last, in seconds since 1970, None when it is
    empty; `waits` how many items wait for a review.
    """
    for held in kept.breakers():
        if kept.is_news("broken:" + held["name"], now):
            word = {"recall": "the recall server", "ledger": "the ledger file"}.get(held["name"], held["name"])
            return (
                f"learnings: {word} did not answer in time ({held['tripped_at'][:16]}Z); "
                "prompts go on without it, see `learnings doctor`"
            )
    days = 0 if last_event_s is None else int((now - last_event_s) // 86_400)
    if days >= QUIET_DAYS and last_event_s is not None:
        sessions = kept.ran_since(last_event_s)
        if sessions >= QUIET_SESSIONS and kept.is_news("quiet", now):
            return f"learnings: no learning written for {days} days though {sessions} sessions ran"
    if waits and kept.is_news("review", now):
        return f"learnings: {waits} {'item waits' if waits == 1 else 'items wait'} for you, see `learnings review`"
    return ""


def waits(path: str, now: float) -> int:
    """Return how many items of a ledger wait for a person; 0 when the file cannot say."""
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now - WAIT_DAYS * 86_400))
    try:
        file = sqlite3.connect(uri_to_read(os.path.abspath(path)), uri=True, timeout=0, isolation_level=None)
        try:
            file.execute("PRAGMA query_only = 1").fetchall()
            return int(file.execute(sql.WAITING_COUNT, {"since": since}).fetchone()[0])
        finally:
            file.close()
    except (sqlite3.Error, ValueError):
        return 0
