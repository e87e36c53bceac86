"""Look at what is served again with the rules of today, and propose what to withhold.

Better rules find what older ones let through. Nothing is withheld unasked: the
answer is a list, and `withhold` does what it proposes, in one batch that one undo
takes back. What a person said, accepted or released is listed and stays served:
a rule is no reason to take a person's word away.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ledger import fold, screen, sql
from ledger.ledger import Ledger
from ledger.model import TRUST_NOTES, NewEvent, new_event_id
from ledger.view import View

WITHHELD_MAX = 500
"""Learnings that one call withholds; the rest is for the next call."""

PAGE = 200
"""Learnings that are read at a time."""


class Flagged(NamedTuple):
    """A current learning that the rules speak against; `withholds` says whether it would be, or was, withheld."""

    id: str
    title: str | None
    project: str | None
    trust: int
    rules: list[str]
    severity: str
    reason: str
    withholds: bool


class Rescreened(NamedTuple):
    """Answer of a second look; `seq` and `batch` are None when nothing was written."""

    rules_version: int
    looked_at: int
    flagged: list[Flagged]
    withheld: int
    truncated: bool
    seq: int | None
    batch: int | None
    remarks: list[str]


def rescreen(ledger: Ledger, *, withhold: bool = False, dry_run: bool = False) -> Rescreened:
    """Screen every current learning again; quarantine those of low trust that are flagged when `withhold` is set.

    Screening happens before the ledger is locked; what changed since is judged
    again under the lock.

    Raises:
        NotAllowed: somebody else than a person asks.
        OSError, ValueError, KeyError, re.error: the rules cannot be read; nothing was written.
    """
    ledger.needs_person("learnings review --rescreen")
    looked_at, found = 0, []
    for name, title, problem, solution, project, tags, trust, is_reviewed in _current(ledger):
        looked_at += 1
        findings = screen.screen("\n\n".join((title or "", problem, solution, tags, project or "")))
        if findings:
            can = trust <= TRUST_NOTES and not is_reviewed
            found.append((Flagged(name, title, project, trust, *_told(findings), withholds=can), findings))
    proposed = [(flagged.id, findings) for flagged, findings in found if flagged.withholds]
    flagged = [one for one, _ in sorted(found, key=lambda pair: (not pair[0].withholds, pair[0].id))]
    remarks = _remarks(flagged, withhold)
    answer = Rescreened(
        screen.RULES_VERSION, looked_at, flagged, 0, truncated=False, seq=None, batch=None, remarks=remarks
    )
    if not (withhold and proposed):
        return answer
    return _withheld(ledger, answer, proposed[:WITHHELD_MAX], len(proposed) > WITHHELD_MAX, dry_run)


def _current(ledger: Ledger) -> Iterator[tuple[str, str | None, str, str, str | None, str, int, bool]]:
    """Yield what is current, page by page, in the order of the log."""
    after = 0
    while rows := ledger.reader.rows(sql.CURRENT_TEXTS, {"after": after, "many": PAGE}):
        for seq, name, title, problem, solution, project, tags, trust, is_reviewed in rows:
            after = seq
            yield name, title, problem, solution, project, tags or "", trust, bool(is_reviewed)


def _told(findings: Sequence[screen.Finding]) -> tuple[list[str], str, str]:
    data, body = screen.withheld(findings)
    return data["rules"], data["severity"], body["reason"]


def _withheld(
    ledger: Ledger,
    answer: Rescreened,
    proposed: Sequence[tuple[str, tuple[screen.Finding, ...]]],
    is_more: bool,
    dry_run: bool,
) -> Rescreened:
    """Quarantine what is still current and of low trust, as one batch."""

    def decide(view: View) -> None:
        for name, findings in proposed:
            if _may_be_withheld(view, name):
                view.add(_quarantine(name, findings), ledger.actor)
        view.drafts[:] = [draft._replace(batch=view.head.seq + 1) for draft in view.drafts]

    events, _ = ledger.commit(decide, _quarantine(*proposed[0]), None, dry_run)
    if not events:
        return answer
    first = events[0].seq
    return answer._replace(withheld=len(events), truncated=is_more, seq=first, batch=first)


def _may_be_withheld(view: View, name: str) -> bool:
    flags = view.flags(name)
    is_stood_by = flags.reviewed or flags.pinned or view.trust(name) > TRUST_NOTES
    return fold.state(flags) == "current" and not is_stood_by


def _quarantine(name: str, findings: Sequence[screen.Finding]) -> NewEvent:
    return NewEvent("learning.quarantined", name, *screen.withheld(findings), new_event_id())


def _remarks(flagged: Sequence[Flagged], withhold: bool) -> list[str]:
    waiting = sum(one.withholds for one in flagged)
    kept = len(flagged) - waiting
    said = []
    if waiting and not withhold:
        said.append(f"{waiting} would be withheld; nothing was written: do it with `learnings review --rescreen --yes`")
    if kept:
        said.append(
            f"{kept} stay served: a person or an interactive session said or accepted them;"
            " withhold one with `learnings quarantine ID --reason …`"
        )
    return said
