"""Bring in what transcripts of sessions say: statements of people, what mended a failure, the client's summaries.

The words of a line never change, so that a place that is known is passed over,
whatever became of what it said. A later statement takes the place of an earlier
one that it contradicts, here or among what stands; an earlier one that comes
late, after what replaced it, brings nothing. What is switched off feeds nothing.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ledger import chain, handover, ingest, private, query, sql, sql_log
from ledger.checkpoints import Checkpoints
from ledger.errors import BadInput, SameIdOtherContent
from ledger.home import machine_of
from ledger.ingest import Imported, Plan, Progress, Vanished
from ledger.ledger import Ledger
from ledger.model import TRUST_AGENT, Change, Draft, Found, Known, Reading, Scan, SessionText, hook
from ledger.settings import is_off

KIND = "transcript"

STRONGEST = 10
"""How many of what was inferred an import shows; the rest is asked for."""

PATHS_MAX = 50
"""Files that a batch names; of more their folders."""


class Standing(Protocol):
    """Statements that stand, and which of them a text contradicts: `importers.contrary.Standing`."""

    def add(self, name: str, text: str) -> None:
        """Hear of another statement."""

    def against(self, text: str) -> list[str]:
        """Return the names of those that it contradicts."""


class _Stood(NamedTuple):
    """A statement of the ledger's that stands."""

    text: str
    at: str | None
    project: str


def run(
    ledger: Ledger,
    reading: Reading,
    plan: Plan,
    vanished: Vanished,
    contrary: Callable[[], Standing],
    *,
    again: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    seen: Checkpoints | None = None,
) -> Imported:
    """Append what a reading of transcripts says; one of any other importer is `ingest.run`'s.

    Raises:
        GuardFailed, Locked, NoSpace …: what was appended before stays, the next import does the rest.
    """
    if reading.importer != KIND:
        return ingest.run(ledger, reading, plan, vanished, again=again, dry_run=dry_run, progress=progress, seen=seen)
    fed, left_out = _fed(ledger, reading)
    folders = sorted({os.path.dirname(path) for path in fed.paths})
    fed = fed._replace(paths=fed.paths if len(fed.paths) <= PATHS_MAX else tuple(folders[:PATHS_MAX]))
    rounds = _rounds(fed.drafts, contrary) if fed.trust == TRUST_AGENT else [fed.drafts]
    done: list[Imported] = []
    batch = None
    for drafts in rounds:
        part = fed._replace(
            drafts=drafts, diagnostics=[] if done else fed.diagnostics, passed={} if done else fed.passed
        )
        acts = _Acts(ledger, plan, contrary, dry_run=dry_run)
        done.append(
            ingest.run(ledger, part, acts.plan, vanished, again=again, dry_run=dry_run, progress=progress, batch=batch)
        )
        batch = done[-1].batch
    if seen is not None and not dry_run:  # a bad line stays as it is, so that what is said of it is said once
        seen.settle(fed.marks, ledger.store.head().seq)
    told = _summed(done)
    summaries = 0 if dry_run else _summarise(ledger, fed.summaries)
    remarks = [*dict.fromkeys(told.remarks), *left_out]
    if summaries:
        remarks.append(f"{summaries} summaries of sessions were kept; they are never recalled on a prompt")
    return told._replace(remarks=remarks, remedies=_strongest(fed, told.made))


def _fed(ledger: Ledger, reading: Reading) -> tuple[Reading, list[str]]:
    """Return a reading without what is of projects that are switched off, and a remark on how much that was."""
    held, machine = ledger.reader.rows(sql.SETTINGS, {}), machine_of(ledger.path)
    projects = {draft.project for draft in reading.drafts} | {one.project for one in reading.summaries}
    off = {name for name in projects if is_off(held, machine, name)}
    markers = ledger.private_markers
    own = [draft for draft in reading.drafts if not markers or _is_open(draft, reading, markers)]
    drafts = [draft for draft in own if draft.project not in off]
    summaries = tuple(one for one in reading.summaries if one.project not in off)
    many = len(own) - len(drafts)
    told = [f"{many} of projects that are switched off were left out"] if many else []
    return reading._replace(drafts=drafts, summaries=summaries), told


def _is_open(draft: Draft, reading: Reading, markers: Mapping[str, str]) -> bool:
    """Tell whether no private region goes around what a draft says."""
    turn = reading.around.get(draft.source.locator) if draft.source is not None else None
    return turn is None or draft.solution in private.without(turn, markers)


def _rounds(drafts: Sequence[Draft], contrary: Callable[[], Standing]) -> list[list[Draft]]:
    """Return drafts in rounds, each in the order of time, so that none contradicts or repeats another of its round."""
    said: dict[str, Standing] = {}
    at: dict[str, int] = {}
    same: dict[tuple[str, str], int] = {}
    rounds: list[list[Draft]] = [[]]
    for number, draft in enumerate(sorted(drafts, key=lambda one: one.observed_at or "")):
        standing = said.setdefault(draft.project, contrary())
        words = (draft.project, query.subject(draft.solution))
        place = 1 + max((at[name] for name in standing.against(draft.solution)), default=same.get(words, -1))
        standing.add(str(number), draft.solution)
        at[str(number)] = place
        same.setdefault(words, place)
        if place == len(rounds):
            rounds.append([])
        rounds[place].append(draft)
    return rounds


class _Acts:
    """What a plan of transcripts does beyond the rules of identity that every import keeps."""

    def __init__(self, ledger: Ledger, plan: Plan, contrary: Callable[[], Standing], *, dry_run: bool) -> None:
        self._ledger, self._plan, self._contrary, self._dry_run = ledger, plan, contrary, dry_run

    def plan(self, scan: Scan, known: Known, again: bool) -> list[Change]:
        """Return the changes: nothing for places that are known, and a supersede for what contradicts what stands."""
        fresh = scan.found if again else [one for one in scan.found if one.locator_key not in known.by_locator]
        changes = self._plan(scan._replace(found=fresh), known, again)
        if known.trust != TRUST_AGENT:
            return changes
        stands = _Stands(self._stood({one.draft.project for one in fresh}), self._contrary)
        decided = [self._decided(change, known, stands) for change in changes]
        return [change for change in decided if change is not None]

    def _stood(self, projects: Iterable[str]) -> dict[str, _Stood]:
        rows = self._ledger.store.connection().execute(
            sql_log.STATEMENTS, {"projects": json.dumps(sorted(projects))}
        ).fetchall()  # fmt: skip
        return {name: _Stood(text, at, project) for name, text, at, project in rows}

    def _decided(self, change: Change, known: Known, stands: "_Stands") -> Change | None:
        """Return a change as it is, as a supersede of what it contradicts, or None when something later stands."""
        found = change.found
        if found is None or found.findings or change.act not in ("record", "add_source"):
            return change
        if change.act == "add_source" and not _is_replaced(change, known, found):
            return change
        same = stands.same(found.draft) if change.act == "record" else None
        if same is not None:
            return Change("add_source", found, (same,))
        when = found.draft.observed_at
        dated = {name: at for name, at in stands.against(found.draft).items() if when is not None and at is not None}
        if any(at > (when or "") for at in dated.values()):
            return None if change.act == "record" else change
        olds = stands.take(dated)
        return Change("supersede", found, olds) if olds else change


class _Stands:
    """The statements that stand while one plan is made, by what they say and by what they contradict."""

    def __init__(self, stood: Mapping[str, _Stood], contrary: Callable[[], Standing]) -> None:
        self._stood = stood
        self._standing: dict[str, Standing] = {}
        self._same: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        for name, one in stood.items():
            self._standing.setdefault(one.project, contrary()).add(name, one.text)
            self._same.setdefault((one.project, query.subject(one.text)), name)

    def same(self, draft: Draft) -> str | None:
        """Return what says the same, but for case, quotes, closing punctuation and white space."""
        return self._same.get((draft.project, query.subject(draft.solution)))

    def against(self, draft: Draft) -> dict[str, str | None]:
        """Return what a draft contradicts, with the times at which it was said."""
        standing = self._standing.get(draft.project)
        return {name: self._stood[name].at for name in standing.against(draft.solution)} if standing is not None else {}

    def take(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those that nothing of this plan has replaced yet, and take them."""
        olds = tuple(name for name in names if name not in self._taken)
        self._taken.update(olds)
        return olds


def _is_replaced(change: Change, known: Known, found: Found) -> bool:
    """Tell whether a known text, said once more, is one that something else has taken the place of."""
    same = known.by_content.get(found.content_key, [])
    return any(one.id in change.ids and one.state == "superseded" for one in same)


def _summarise(ledger: Ledger, summaries: Sequence[SessionText]) -> int:
    """Keep the newest summary of each session, once; return how many were new. What cannot be kept costs itself."""
    kept = 0
    for one in summaries:
        own_id = _event_id(ledger, one)
        text = handover.spoken(one.text)
        try:
            if ledger.store.connection().execute(
                sql_log.SUMMARY_EVER, {"session": one.session, "text": text.strip()}
            ).fetchone():  # fmt: skip
                continue
            before = ledger.store.head().seq
            with ledger.acting(hook()):
                ledger.summarise(one.session, one.project, text, covers_to=one.at, event_id=own_id)
            kept += ledger.store.head().seq > before
        except (BadInput, SameIdOtherContent):  # the second: rules of masking have changed since it was kept
            continue
    return kept


def _event_id(ledger: Ledger, one: SessionText) -> str:
    """Return the id of the event that keeps a summary: the same each time, so that what was undone stays undone."""
    key = chain.locator_key(ledger.store.dedup_key, f"summary:{one.session}:{one.at}").hex()
    return f"{key[:8]}-{key[8:12]}-7{key[13:16]}-8{key[17:20]}-{key[20:32]}"


def _strongest(reading: Reading, made: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the strongest of what was inferred anew: what most sessions show, then what took the fewest changes."""
    if not reading.sessions:
        return []
    first: dict[str, Draft] = {}
    sessions: dict[str, set[str]] = {}
    for draft in reading.drafts:
        place = draft.source.locator if draft.source is not None else ""
        name = made.get(place)
        if name is not None:
            first.setdefault(name, draft)
            sessions.setdefault(name, set()).add(reading.sessions.get(place, ""))
    order = sorted(first, key=lambda name: (-len(sessions[name]), first[name].solution.count("; then "), name))
    return [
        {"id": name, "problem": first[name].problem, "solution": first[name].solution, "sessions": len(sessions[name])}
        for name in order[:STRONGEST]
    ]


def _summed(done: Sequence[Imported]) -> Imported:
    """Return one answer for several rounds of one batch."""
    total = done[0]
    for one in done[1:]:
        told = {name: getattr(total, name) + getattr(one, name) for name in _COUNTED}
        batch = total.batch if total.batch is not None else one.batch
        total = total._replace(**told, batch=batch, made={**total.made, **one.made})
    return total


_COUNTED = tuple(name for name in Imported._fields if name not in ("batch", "remedies", "made"))
