"""Bring the ledger up to what an importer read: guards, identity, batches.

Importers read and plan, both pure; this module shows them what the ledger
knows and appends what they decide, at most 500 events a transaction, all with
one `batch`. Killed midway, what is in stays and the next scan does the rest.
Longer than 500 lines: guards and events of one import have no other user.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ledger import chain, door, screen, sql_log
from ledger.arriving import EXPORT, Guards, placed, without_own
from ledger.checkpoints import Checkpoints
from ledger.errors import LedgerError, Refused
from ledger.knowledge import Knowledge, among
from ledger.ledger import Ledger
from ledger.model import (
    TRUST_NOTES,
    Actor,
    Change,
    Diagnostic,
    Draft,
    Found,
    Known,
    Mark,
    NewEvent,
    Reading,
    Scan,
    Source,
    edited,
    importer,
    learning_id,
    new_event_id,
    plain,
)
from ledger.standing_places import Arrivals, Places
from ledger.store import Moment
from ledger.view import View, content, derived_id, source_id

PORTION = 2_000
"""Drafts of places that the ledger does not know which are guarded, planned and recorded at once: what all of them hold
need not be in memory together."""

BATCH_EVENTS = 500
"""Most events of one transaction: readers wait 43 to 64 ms (p95) for such a commit, 2,000 bring no more speed."""

KINDS = {"memory-notes": "memory-note"}
"""Kind of the sources an importer reads, where it is not the importer's name; for it only those can be gone."""

TRIES = 20
"""Plans made anew because somebody else appended meanwhile, before giving up."""

WAITS = screen.Finding("exported-withheld", "low", "It waited for a person's release where it was exported.")
"""Why a draft is withheld that another ledger withheld."""

FATES = {
    "retracted": "it was retracted where it was exported",
    "undone": "it was undone where it was exported",
    "rejected": "it was rejected where it was exported",
}
OUTDATED = "its source says that something else replaced it"
"""Reasons of what its source itself took back."""

GONE = "it is no longer at any place it was read from"
TURNED_DOWN = "its place says something else now"

Plan = Callable[[Scan, Known, bool], list[Change]]
Vanished = Callable[
    [Iterable[tuple[bytes, str | None]], frozenset[bytes], Iterable[str], Iterable[str]], frozenset[bytes]
]
Progress = Callable[[int, int], None]


class Imported(NamedTuple):
    """Answer of an import; `batch` is the seq to undo it by, None when nothing had to be written.

    `unchanged` counts what was there already, `skipped` what could not be
    stored (each with a diagnostic), `restored` the retractions of an earlier
    import that were taken back because their text is there again, `masked` the
    drafts in which a secret was masked. `remedies` are the strongest of what
    was inferred anew, as {id, problem, solution, sessions}; `made` leads from
    places to the learnings that were made of them, and is no part of an answer.
    """

    batch: int | None
    recorded: int
    superseded: int
    retracted: int
    unchanged: int
    proposed: int
    quarantined: int
    skipped: int
    sources_added: int
    sources_removed: int
    restored: int
    masked: int
    diagnostics: list[Diagnostic]
    remarks: list[str]
    remedies: Sequence[dict[str, Any]] = ()
    made: Mapping[str, str] = {}


def together(done: Sequence[Imported]) -> dict[str, Any]:
    """Return one answer for the readings of one command: counts added up, lists joined.

    `batch` is the first one that was made, `batches` are all of them.
    """
    documents = [plain(one._replace(made={})) for one in done]
    for one in documents:
        del one["made"]
    batches = [one.pop("batch") for one in documents]
    total: dict[str, Any] = {"batch": next((batch for batch in batches if batch is not None), None)}
    for document in documents:
        for key, value in document.items():
            total[key] = total[key] + value if key in total else value
    return total | {"batches": list(dict.fromkeys(batch for batch in batches if batch is not None))}


class Stale(Exception):
    """The log moved on since the plan was made."""


def run(
    ledger: Ledger,
    reading: Reading,
    plan: Plan,
    vanished: Vanished,
    *,
    again: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    batch: int | None = None,
    seen: Checkpoints | None = None,
) -> Imported:
    """Append what `plan` decides about a reading; answer what was done.

    Args:
        batch: the seq of a batch that this goes on with, instead of one of its own.
        again: also what a person took back, and places blocked by an erasure.
        dry_run: decide and count, write nothing.
        progress: called with changes done and changes in all, after each transaction.
        seen: where it is remembered of which sources nothing is left to do; the caller saves it.

    Raises:
        GuardFailed, Locked, NoSpace …: what was appended before stays, the next scan does the rest.
    """
    one = _Import(ledger, reading, plan, vanished, again, seen, divides=not dry_run)
    one.batch = batch
    done = one.run(dry_run, progress)
    if seen is not None and not dry_run:
        seen.settle(one.settled(), one.head)
        one.settle_places()
    return done


def seen_by(ledger: Ledger) -> Checkpoints:
    """Return the checkpoints of an open ledger."""
    store = ledger.store
    return Checkpoints(ledger.path, store.ledger_id, store.dedup_key, store.connection())


def found(ledger: Ledger, reading: Reading) -> list[Found]:
    """Return what a reading says, scrubbed and with the keys that an import would give it; writes nothing."""
    return _Import(ledger, reading, lambda scan, known, again: [], lambda *_: frozenset(), again=False).found


class _Fresh:
    """Those drafts of a sequence that are of new places, a portion at a time."""

    def __init__(self, drafts: Sequence[Draft], is_new: bytes) -> None:
        self._drafts, self._is_new = drafts, is_new

    def __len__(self) -> int:
        return self._is_new.count(1)

    def portions(self) -> Iterator[list[Draft]]:
        """Yield the drafts, in lists of at most `PORTION`."""
        portion: list[Draft] = []
        for draft, is_new in zip(self._drafts if self._is_new else (), self._is_new, strict=True):
            if is_new:
                portion.append(draft)
            if len(portion) == PORTION:
                yield portion
                portion = []
        if portion:
            yield portion


class _Import:
    """One import under way."""

    def __init__(
        self,
        ledger: Ledger,
        reading: Reading,
        plan: Plan,
        vanished: Vanished,
        again: bool,
        seen: Checkpoints | None = None,
        *,
        divides: bool = False,
    ) -> None:
        self.ledger, self.reading, self.plan, self.vanished, self.again = ledger, reading, plan, vanished, again
        self.key = ledger.store.dedup_key
        self.actor = importer(reading.trust) if reading.trust <= TRUST_NOTES else edited()
        drafts = placed(ledger, reading.drafts) if reading.project is None else reading.drafts
        others = without_own(ledger, drafts) if reading.importer == EXPORT else drafts
        self.own = len(drafts) - len(others)
        self.places = Places(reading, self.key, seen)
        left = self.places.to_look_at(others, again=again)
        self.known = len(others) - len(left)
        self.guards = Guards(ledger, reading)
        self.guards.said.update(dict.fromkeys(self.places.sources(), False))
        self.diagnostics: list[Diagnostic] = []
        self.skipped = self.recorded = self.done = 0
        self.apart: set[bytes] = set()
        """The keys of new places that were recorded in portions, and say nothing that bears upon others."""
        self.fresh = _Fresh(left, b"")
        is_told_apart = reading.trust <= TRUST_NOTES and not reading.sessions and not any(reading.past)
        if divides and is_told_apart and not again and len(left) > PORTION:
            left, self.fresh = self._divided(left)
        self.found = self.guards.passed(left)
        self.head = 0
        self.batch: int | None = None
        self.blocked: list[Found] = []
        self.is_settled = True
        self.made: dict[bytes, str] = {}
        self.spots: dict[tuple[bytes, bytes], tuple[str, int]] = {}
        """Each learning this import made, and the seq of its event, by the spot of its text."""
        self.counts = dict.fromkeys((*ACTS.values(), "quarantined"), 0)
        self.back: dict[str, set[str]] = {"undo": set(), "add_source": set()}

    # -- guards ----------

    def _divided(self, drafts: Sequence[Draft]) -> "tuple[list[Draft], _Fresh]":
        """Return the drafts of places that are known, blocked or said twice, and those of new places."""
        connection = self.ledger.store.connection()
        keys = [chain.locator_key(self.key, one.source.locator if one.source else "") for one in drafts]
        known = {bytes(key) for (key,) in among(connection, sql_log.PLACES_AMONG, set(keys))}
        known |= Knowledge(connection, self.reading.trust).blocked() | {chain.locator_key(self.key, "")}
        once = Counter(keys)
        is_new = bytes(key not in known and once[key] == 1 for key in keys)
        return [one for one, new in zip(drafts, is_new, strict=True) if not new], _Fresh(drafts, is_new)

    # -- what is done ----------

    def run(self, dry_run: bool, progress: Progress | None) -> Imported:
        if dry_run:
            self.head, changes = self._planned()
            for change in changes:
                self._count(change)
        else:
            self._record_new_places(progress)
            self._bring(self._planned, progress)
        return self._answer()

    def _record_new_places(self, progress: Progress | None) -> None:
        """Record what bears upon nothing else, in portions; the rest of the new places is for the plan of the whole.

        A text that the ledger knows may have moved here, and one that a known place
        says too may be an edit of what stood there: both wait.
        """
        taken = {one.content_key for one in self.found}
        for portion in self.fresh.portions():
            found = self.guards.passed(portion)
            rows = among(self.ledger.store.connection(), sql_log.CONTENTS_AMONG, {one.content_key for one in found})
            known = taken.union(bytes(key) for key, _, batch in rows if batch is None or batch != self.batch)
            apart = [one for one in found if one.content_key not in known]
            self.found += (one for one in found if one.content_key in known)
            self.apart.update(one.locator_key for one in apart)
            self.recorded += len(apart)
            self._bring(partial(self._planned_apart, apart), progress)
            self.made.clear()
            self.spots.clear()

    def _planned_apart(self, found: list[Found]) -> tuple[int, list[Change]]:
        """Return a head and what is to be done at it for new places that bear upon nothing else."""
        head = self.ledger.store.head().seq
        scan = Scan(found, frozenset(), frozenset())
        connection = self.ledger.store.connection()
        known = Knowledge(connection, self.reading.trust).of(scan, blocked=frozenset())
        return head, self.plan(scan, known, self.again)

    def _bring(self, planned: Callable[[], tuple[int, list[Change]]], progress: Progress | None) -> None:
        """Append what a plan decides; plan anew when somebody else appended meanwhile."""
        for _ in range(TRIES):
            self.head, changes = planned()
            try:
                while changes:
                    self.head, step = self._append(self.head, changes)
                    self.done, changes = self.done + step, changes[step:]
                    if progress is not None:
                        progress(self.done, max(self.done + len(changes), len(self.fresh)))
                return
            except Stale:
                continue
        raise Refused("the ledger is being written all the time; what is in stays", "run the import again")

    def settled(self) -> dict[str, Mark]:
        """Return what the files were of which nothing is left to do, nor to say, after this import."""
        told = {one.file for one in self._told()}
        return {
            path: mark
            for path, mark in self.reading.marks.items()
            if path not in told and not self.guards.said.get(path, mark.items)
        }

    def settle_places(self) -> None:
        """Remember the places of which nothing is left to do, nor to say, after this import."""
        if not self.is_settled:
            return
        unsettled = self.guards.unsettled.union(one.locator_key for one in self.blocked)
        connection = self.ledger.store.connection()
        self.places.settle(Arrivals(connection, self.found, self.spots, self.apart, unsettled), self.head)

    def _planned(self) -> tuple[int, list[Change]]:
        """Return a head and what is to be done at it."""
        store = self.ledger.store
        head = store.head().seq
        unfit = self.guards.unfit  # what stands at a place whose text cannot be stored has not gone: it was not read
        read = self.reading.whole - self.places.locators - {place.locator for place in unfit}
        whole = frozenset(chain.locator_key(self.key, locator) for locator in read) - self.apart
        unread = (*self.reading.unread, *(place.path for place in unfit if place.path is not None))
        passed = self.places.passed()
        there = whole.union(passed, self.apart, (one.locator_key for one in self.found))
        connection = store.connection()
        kind = {"kind": KINDS.get(self.reading.importer, self.reading.importer)}
        rows = connection.execute(sql_log.STANDING, kind)
        standing = [row for row in rows if row[1] not in passed and row[1] not in self.apart]
        stood = [(bytes(key), path) for _, key, path in standing]
        gone = self.vanished(stood, there, self.reading.roots, unread)
        scan = Scan(self.found, whole, gone)
        known = Knowledge(connection, self.reading.trust).of(
            scan, {name for name, key, _ in standing if bytes(key) in gone}, passed
        )
        self.blocked = [] if self.again else [one for one in self.found if one.locator_key in known.blocked]
        return head, self.plan(scan, known, self.again)

    def _append(self, head: int, changes: Sequence[Change]) -> tuple[int, int]:
        """Append as many changes of one actor as fit one transaction; return the new head and how many they were."""
        taken = 0
        actor = self._who(changes[0])

        def decide(moment: Moment) -> Sequence[NewEvent]:
            nonlocal taken
            if moment.head.seq != head:
                raise Stale
            view = View(moment)
            taken = 0
            if self.batch is None:
                data, body = {"importer": self.reading.importer}, {"paths": self._paths()}
                view.drafts.append(NewEvent("batch.started", "ledger", data, body, new_event_id(), 1, head + 1))
            joined = False
            for change in changes:
                if (len(view.drafts) >= BATCH_EVENTS - 2 or self._who(change) != actor) and not joined:
                    break
                taken += 1
                joined = change.joined
                self._add(view, change, self.batch or head + 1)
            return view.drafts if len(view.drafts) > (self.batch is None) else []

        with self.ledger.acting(actor):
            events = self.ledger.store.append(decide)
        if events and self.batch is None:
            self.batch = events[0].seq
        return (events[-1].seq if events else head), taken

    def _who(self, change: Change) -> Actor:
        """Return who a change is by: the importer, told apart by session where what is found was inferred from one."""
        source = change.found.draft.source if change.found is not None else None
        session = self.reading.sessions.get(source.locator) if source is not None else None
        if session is None:
            return self.actor
        return self.actor._replace(id=chain.locator_key(self.key, f"session:{session}").hex()[:32])

    def _paths(self) -> list[str]:
        """Return the paths asked for, as they may be stored."""
        return [door.text("path", path, 4_096)[0] for path in self.reading.paths]

    # -- one change ----------

    def _add(self, view: View, change: Change, batch: int) -> None:
        """Add the events of one change; one that is not legal any more costs only itself."""
        before = len(view.drafts)
        try:
            for draft in self._drafts(view, change):
                if draft.kind == "event.undone":
                    view.drafts.append(draft._replace(batch=batch))
                else:
                    view.add(draft._replace(batch=batch), self._who(change))
        except LedgerError as error:
            del view.drafts[before:]
            self.skipped += 1
            self.diagnostics.append(Diagnostic(self._where(change), None, _code_of(error), error.message))
            if change.found is not None:
                self.guards.unsettled.add(change.found.locator_key)
            else:
                self.is_settled = False  # it may bear upon any place
            return
        self._count(change)

    def _drafts(self, view: View, change: Change) -> list[NewEvent]:
        """Return the events of one change."""
        own_id = new_event_id()
        if change.act in ("record", "supersede", "propose"):
            assert change.found is not None
            return self._content(change, change.found, own_id, view.head.seq + len(view.drafts) + 1)
        if change.found is not None and change.act != "add_source" and not change.ids:
            return self._after(change.act, change.found)
        if change.act == "undo":
            assert change.seq is not None
            act = view.undoable(change.seq)
            return [NewEvent("event.undone", act.stream, {"targets": [change.seq]}, {}, own_id)]
        if change.act == "add_source":
            assert change.found is not None
            source = change.found.draft.source
            assert source is not None
            name = change.ids[0] if change.ids else self.made[change.found.content_key]
            place = {key: value for key, value in source._asdict().items() if value is not None}
            return [NewEvent("source.added", name, {"source": source_id(own_id)}, {"source": place}, own_id)]
        if change.act == "remove_source":
            return [NewEvent("source.removed", change.ids[0], {"source": change.source_id}, {}, own_id)]
        kind, reason = {
            "retract": ("learning.retracted", GONE),
            "reject": ("proposal.rejected", TURNED_DOWN),
        }[change.act]
        if change.found is not None:
            reason = FATES.get(change.found.fate, OUTDATED)
        return [NewEvent(kind, name, {}, {"reason": reason}, new_event_id()) for name in change.ids]

    def _after(self, act: str, found: Found) -> list[NewEvent]:
        """Return what becomes at once of a learning that this import made; none when it could not be made."""
        if found.spot not in self.spots:
            return []
        name, seq = self.spots[found.spot]
        if act == "take_back":
            return [NewEvent("event.undone", name, {"targets": [seq]}, {}, new_event_id())]
        if act == "withhold":
            return [NewEvent("learning.quarantined", name, *screen.withheld([WAITS]), new_event_id())]
        kind = {"retract": "learning.retracted", "reject": "proposal.rejected"}[act]
        return [NewEvent(kind, name, {}, {"reason": FATES.get(found.fate, OUTDATED)}, new_event_id())]

    def _content(self, change: Change, found: Found, own_id: str, seq: int) -> list[NewEvent]:
        """Return the events that make a learning: held back when the screen found something."""
        held = bool(found.findings) or (found.fate == "quarantined" and not change.joined)
        kind = {"record": "learning.recorded", "supersede": "learning.superseded", "propose": "learning.proposed"}[
            change.act
        ]
        if held:
            kind = "learning.proposed"
        stream = learning_id(own_id)
        olds = (*change.ids, *(self.spots[spot][0] for spot in change.olds if spot in self.spots))
        reason = ("the note says this now" if not found.replaces else OUTDATED) if olds else None
        if not olds and kind == "learning.superseded":
            kind = "learning.recorded"
        data, body = content(found.draft, own_id, kind, olds, reason)
        self.made[found.content_key] = stream
        self.spots[found.spot] = stream, seq
        drafts = [NewEvent(kind, stream, data, body, own_id)]
        drafts += [self._origin(stream, place) for place in found.origins]
        if held:
            why = [screen.Finding(*one) for one in found.findings] or [WAITS]
            data, body = screen.withheld(why)
            drafts.append(NewEvent("learning.quarantined", stream, data, body, derived_id(own_id)))
        return drafts

    @staticmethod
    def _origin(name: str, place: Source) -> NewEvent:
        own_id = new_event_id()
        body = {"source": {"kind": place.kind, "locator": place.locator}}
        return NewEvent("source.added", name, {"source": source_id(own_id)}, body, own_id)

    def _where(self, change: Change) -> str:
        if change.found is not None and change.found.draft.source is not None:
            return change.found.draft.source.path or change.found.draft.source.locator
        return " ".join(change.ids)

    def _count(self, change: Change) -> None:
        if change.found is not None and change.found.findings and change.act in MAKES:
            self.counts["quarantined"] += 1
        else:
            self.counts[ACTS[change.act]] += 1
        if change.act in self.back:
            self.back[change.act].update(change.ids)

    def _answer(self) -> Imported:
        counts = self.counts
        written = counts["recorded"] + counts["superseded"] + counts["proposed"] + counts["quarantined"]
        unchanged = (
            self.own
            + self.known
            + sum(self.reading.passed.values())
            + len(self.found)
            + self.recorded
            - written
            - counts["sources_added"]
            - counts["restored"]
            + len(self.back["undo"] & self.back["add_source"])  # one text that is back, and counted as both
        )
        remarks = list(self.ledger.store.remarks)
        self.ledger.store.remarks.clear()
        if self.batch is not None:
            self.ledger.store.refresh_counts()
            remarks.append(f"undo with `learnings undo --batch {self.batch}`")
        places = [(one.draft.source, self.made.get(one.content_key)) for one in self.found]
        made = {place.locator: name for place, name in places if place is not None and name is not None}
        return Imported(
            self.batch, counts["recorded"], counts["superseded"], counts["retracted"],
            max(0, unchanged - len(self.blocked)), counts["proposed"], counts["quarantined"],
            self.skipped + self.guards.skipped + len(self.blocked), counts["sources_added"],
            counts["sources_removed"], counts["restored"], self.guards.masked, self._told(), remarks, (), made,
        )  # fmt: skip

    def _told(self) -> list[Diagnostic]:
        """Return every remark there is to make."""
        return [*self.reading.diagnostics, *self.guards.diagnostics, *self.diagnostics, *self._skips()]

    def _skips(self) -> Iterable[Diagnostic]:
        for one in self.blocked:
            assert one.draft.source is not None
            path, line = one.draft.source.path or one.draft.source.locator, one.draft.source.line
            message = (
                "what stood there was erased, so it was skipped; once it says that no more, import it with --again"
            )
            yield Diagnostic(path, line, "erased-place", message)


MAKES = {"record": "learning.recorded", "supersede": "learning.superseded", "propose": "learning.proposed"}
"""The kind of event that each act makes of a draft which the screen lets pass."""

ACTS = {
    "record": "recorded",
    "supersede": "superseded",
    "propose": "proposed",
    "retract": "retracted",
    "add_source": "sources_added",
    "remove_source": "sources_removed",
    "reject": "rejected",
    "undo": "restored",
    "take_back": "taken_back",
    "withhold": "quarantined",
}
"""What each act of a plan is counted as."""


def _code_of(error: LedgerError) -> str:
    return "not-legal" if isinstance(error, Refused) else "refused"
