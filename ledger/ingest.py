"""Bring the ledger up to what an importer read: guards, identity, batches.

Importers read and plan, both pure; this module shows them what the ledger
knows and appends what they decide, at most 500 events a transaction, all with
one `batch`. Killed midway, what is in stays and the next scan does the rest.
Longer than 500 lines: guards, knowledge and events of one import have no other user.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ledger import chain, door, fold, heard, project, query, screen, sql_log
from ledger.checkpoints import Checkpoints
from ledger.errors import BadInput, LedgerError, Refused
from ledger.fold import Act
from ledger.ledger import Ledger
from ledger.model import (
    LOCATOR_CHARS,
    NO_PAST,
    TRUST_NOTES,
    Actor,
    Change,
    Diagnostic,
    Draft,
    Found,
    Known,
    KnownLearning,
    Mark,
    NewEvent,
    Past,
    Reading,
    Scan,
    Source,
    edited,
    importer,
    learning_id,
    new_event_id,
    plain,
)
from ledger.store import Moment
from ledger.view import View, content, derived_id, source_id

BATCH_EVENTS = 500
"""Most events of one transaction: readers wait 43 to 64 ms (p95) for such a commit, 2,000 bring no more speed."""

KINDS = {"memory-notes": "memory-note"}
"""Kind of the sources an importer reads, where it is not the importer's name; for it only those can be gone."""

SENSITIVE = screen.Finding("called-sensitive", "low", "Its source calls it sensitive.")
"""Why a draft is withheld whose source says that it is about what should not be spread."""

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


def ready(
    key: bytes,
    drafts: Iterable[Draft],
    markers: Mapping[str, str] | None = None,
    held: frozenset[str] = frozenset(),
    past: Past = NO_PAST,
) -> tuple[list[Found], list[tuple[Draft, Diagnostic]]]:
    """Return the drafts that may be stored, scrubbed and with their keys, and those that may not, each with a reason.

    Args:
        held: locators of drafts to withhold, whatever the screen finds.

    Raises:
        GuardFailed: the redactor or the screen could not run; nothing is stored.
    """
    found, refused = [], []
    for draft in drafts:
        assert draft.source is not None
        try:
            passed = door.draft(draft, markers)
        except BadInput as error:
            where = draft.source.path or draft.source.locator
            message = error.message.replace("; nothing was written", "; it was left out")
            refused.append((draft, Diagnostic(where, draft.source.line, _code(error), message)))
            continue
        clean = passed.draft
        assert clean.source is not None
        own = (SENSITIVE,) if draft.source.locator in held else ()
        fate = past.fates.get(draft.source.locator, "")
        found.append(
            Found(
                clean,
                chain.locator_key(key, clean.source.locator),
                chain.content_key(key, clean.problem, clean.solution, clean.project),
                (*passed.findings, *own),
                passed.kinds,
                tuple(chain.locator_key(key, old) for old in past.replaced.get(draft.source.locator, ())),
                fate,
                _origins(past.origins.get(draft.source.locator, ())),
            )
        )
    return found, refused


def _origins(told: Iterable[Source]) -> tuple[Source, ...]:
    """Return those of the places told that may be stored, scrubbed."""
    kept = []
    for place in told:
        try:
            kept.append(place._replace(locator=door.text("locator", place.locator, LOCATOR_CHARS)[0]))
        except BadInput:
            continue
    return tuple(kept)


def _code(error: BadInput) -> str:
    words = [letter if letter.islower() else f"-{letter.lower()}" for letter in error.code]
    return "".join(words).lstrip("-")


def placed(ledger: Ledger, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """Return drafts with the projects that their places have already; for a reading of which no caller named one.

    Otherwise a folder that was imported with `--project` and is scanned
    without it would move all its learnings to another project.
    """
    rows = ledger.store.connection().execute(sql_log.PROJECTS_AT).fetchall()
    places = {locator: name for name, locator in rows}
    return [
        draft._replace(project=places.get(draft.source.locator, draft.project)) if draft.source else draft
        for draft in drafts
    ]


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
    one = _Import(ledger, reading, plan, vanished, again)
    one.batch = batch
    done = one.run(dry_run, progress)
    if seen is not None and not dry_run:
        seen.settle(one.settled(), one.head)
    return done


def seen_by(ledger: Ledger) -> Checkpoints:
    """Return the checkpoints of an open ledger."""
    store = ledger.store
    return Checkpoints(ledger.path, store.ledger_id, store.dedup_key, store.connection())


def found(ledger: Ledger, reading: Reading) -> list[Found]:
    """Return what a reading says, scrubbed and with the keys that an import would give it; writes nothing."""
    return _Import(ledger, reading, lambda scan, known, again: [], lambda *_: frozenset(), again=False).found


def _without_own(ledger: Ledger, drafts: Sequence[Draft]) -> list[Draft]:
    """Return drafts without what an export of this very ledger says of learnings that are here.

    Whatever became of them since, it tells nothing new. One that is not here
    was recorded in a newer copy of the ledger, or in one that went its own way.
    """
    own = f"export:{ledger.store.ledger_id}:"
    named = {
        draft.source.locator.removeprefix(own)
        for draft in drafts
        if draft.source and draft.source.locator.startswith(own)
    }
    rows = ledger.store.connection().execute(sql_log.KNOWN_AMONG, (json.dumps(sorted(named)),)) if named else []
    here = {own + row[0] for row in rows}
    return [draft for draft in drafts if not (draft.source and draft.source.locator in here)]


class _Import:
    """One import under way."""

    def __init__(self, ledger: Ledger, reading: Reading, plan: Plan, vanished: Vanished, again: bool) -> None:
        self.ledger, self.reading, self.plan, self.vanished, self.again = ledger, reading, plan, vanished, again
        self.key = ledger.store.dedup_key
        self.actor = importer(reading.trust) if reading.trust <= TRUST_NOTES else edited()
        drafts = placed(ledger, reading.drafts) if reading.project is None else reading.drafts
        others = _without_own(ledger, drafts)
        self.own = len(drafts) - len(others)
        self.found, refused = ready(self.key, others, self.ledger.private_markers, reading.held, reading.past)
        self.diagnostics = [*reading.diagnostics, *(remark for _, remark in refused)]
        # What stands at a place whose text cannot be stored has not gone: the place counts as not read.
        unfit = [draft.source for draft, remark in refused if remark.code != "echoed"]
        places = [place for place in unfit if place is not None]
        self.whole = reading.whole - {place.locator for place in places}
        self.unread = (*reading.unread, *(place.path for place in places if place.path is not None))
        self.skipped = len(refused)
        self._recognise_mended()
        if reading.trust <= TRUST_NOTES:
            self._leave_out_echoes()
        self.head = 0
        self.batch: int | None = None
        self.blocked: list[Found] = []
        self.made: dict[bytes, str] = {}
        self.spots: dict[tuple[bytes, bytes], tuple[str, int]] = {}
        """Each learning this import made, and the seq of its event, by the spot of its text."""
        self.counts = dict.fromkeys((*ACTS.values(), "quarantined"), 0)
        self.back: dict[str, set[str]] = {"undo": set(), "add_source": set()}

    def _recognise_mended(self) -> None:
        """Take what a place says since it was mended for what it is: the learning that replaced what stood there.

        The note gives those words another problem, so that the content key alone would make a second learning of them.
        """
        connection = self.ledger.store.connection()
        for number, one in enumerate(self.found):
            if connection.execute(sql_log.SAME_CONTENT, (one.content_key,)).fetchone() is not None:
                continue
            said = " ".join(one.draft.solution.split())
            for problem, solution, key in connection.execute(sql_log.HEADS_AT, {"key": one.locator_key}).fetchall():
                if " ".join(solution.split()) == said:
                    draft = one.draft._replace(problem=problem, solution=solution)
                    self.found[number] = one._replace(draft=draft, content_key=bytes(key))

    def _leave_out_echoes(self) -> None:
        """Leave out what only says again what was shown; a person's own edit is never weighed.

        A text that the ledger knows is the plan's to decide, and so is the edit
        of a place where the learning itself stands.
        """
        shown = heard.heard(self.ledger.reader)
        if not shown:
            return
        says: dict[bytes, set[bytes]] = {}
        for one in self.found:
            says.setdefault(one.locator_key, set()).add(one.content_key)
        projects = {name: self.ledger.reader.projects(name) for name in {one.draft.project for one in self.found}}
        kept = []
        for one in self.found:
            echoed = shown.echo(_said(one.draft), projects[one.draft.project])
            if echoed is None or self._is_settled(one, echoed.id, says[one.locator_key]):
                kept.append(one)
                continue
            place = one.draft.source
            assert place is not None
            message = f"it only says what was shown of {echoed.id} (an echo of it); it was left out"
            self.diagnostics.append(Diagnostic(place.path or place.locator, place.line, "echo", message))
            self.skipped += 1
        self.found = kept

    def _is_settled(self, one: Found, echoed: str, says: set[bytes]) -> bool:
        """Tell whether a text is known, or an edit of the very place where what it echoes stands."""
        connection = self.ledger.store.connection()
        if connection.execute(sql_log.SAME_CONTENT, (one.content_key,)).fetchone() is not None:
            return True
        stands = connection.execute(sql_log.STANDS_AT, (echoed, one.locator_key)).fetchone()
        return stands is not None and bytes(stands[0]) not in says

    def run(self, dry_run: bool, progress: Progress | None) -> Imported:
        done = 0
        changes: list[Change] = []
        for _ in range(TRIES):
            head, changes = self._planned()
            self.head = head
            if dry_run:
                for change in changes:
                    self._count(change)
                break
            try:
                while changes:
                    head, step = self._append(head, changes)
                    self.head = head
                    done, changes = done + step, changes[step:]
                    if progress is not None:
                        progress(done, done + len(changes))
                break
            except Stale:
                continue
        else:
            raise Refused("the ledger is being written all the time; what is in stays", "run the import again")
        return self._answer()

    def settled(self) -> dict[str, Mark]:
        """Return what the files were of which nothing is left to do, nor to say, after this import."""
        told = {one.file for one in self.diagnostics}
        said = {one.draft.source.path for one in self.found if one.draft.source is not None and not one.redacted}
        masked = {one.draft.source.path for one in self.found if one.draft.source is not None and one.redacted}
        return {
            path: mark
            for path, mark in self.reading.marks.items()
            if path not in told and path not in masked and (path in said or not mark.items)
        }

    def _planned(self) -> tuple[int, list[Change]]:
        """Return a head and what is to be done at it."""
        store = self.ledger.store
        head = store.head().seq
        whole = frozenset(chain.locator_key(self.key, locator) for locator in self.whole)
        read = whole | {one.locator_key for one in self.found}
        connection = store.connection()
        kind = {"kind": KINDS.get(self.reading.importer, self.reading.importer)}
        standing = connection.execute(sql_log.STANDING, kind).fetchall()
        gone = self.vanished([(bytes(key), path) for _, key, path in standing], read, self.reading.roots, self.unread)
        scan = Scan(self.found, whole, gone)
        known = Knowledge(connection, self.reading.trust).of(
            scan, {name for name, key, _ in standing if bytes(key) in gone}
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
            + sum(self.reading.passed.values())
            + len(self.found)
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
        masked = sum(bool(one.redacted) for one in self.found)
        places = [(one.draft.source, self.made.get(one.content_key)) for one in self.found]
        made = {place.locator: name for place, name in places if place is not None and name is not None}
        return Imported(
            self.batch, counts["recorded"], counts["superseded"], counts["retracted"],
            max(0, unchanged - len(self.blocked)), counts["proposed"], counts["quarantined"],
            self.skipped + len(self.blocked), counts["sources_added"],
            counts["sources_removed"], counts["restored"], masked, [*self.diagnostics, *self._skips()], remarks, (),
            made,
        )  # fmt: skip

    def _skips(self) -> Iterable[Diagnostic]:
        for one in self.blocked:
            assert one.draft.source is not None
            path, line = one.draft.source.path or one.draft.source.locator, one.draft.source.line
            message = (
                "what stood there was erased, so it was skipped; once it says that no more, import it with --again"
            )
            yield Diagnostic(path, line, "erased-place", message)


def _said(draft: Draft) -> str:
    """Return what a draft says; a problem that only names the notes it stands in says nothing."""
    own = query.telling(draft.problem) - query.telling(draft.project) - {"notes", "general"}
    return f"{draft.problem}\n{draft.solution}" if own else draft.solution


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


class Knowledge:
    """What the ledger holds of the places and texts of a scan, as `plan` needs it."""

    def __init__(self, connection: Any, trust: int) -> None:
        self._connection = connection
        self._trust = trust
        self._made: dict[str, KnownLearning] = {}

    def of(self, scan: Scan, leaving: set[str]) -> Known:
        """Return everything known about a scan; `leaving` are learnings with a source that has gone."""
        locators = sorted({one.locator_key for one in scan.found} | scan.whole | scan.gone)
        texts = sorted({one.content_key for one in scan.found})
        by_locator = {key: self._learnings(sql_log.AT_LOCATOR, key) for key in locators}
        by_content = {key: self._learnings(sql_log.SAME_CONTENT, key) for key in texts}
        under = sorted((self._learning(name) for name in leaving), key=lambda one: -one.seq)
        return Known(
            {key: ones for key, ones in by_locator.items() if ones},
            {key: ones for key, ones in by_content.items() if ones},
            under,
            self._blocked(),
            self._trust,
        )

    def _learnings(self, statement: str, key: bytes) -> list[KnownLearning]:
        return [self._learning(row[0]) for row in self._connection.execute(statement, (key,)).fetchall()]

    def _blocked(self) -> frozenset[bytes]:
        """Return the locator keys that erasures block, until a person has the place read again."""
        rows = self._connection.execute(sql_log.BLOCKED).fetchall()
        since = {bytes.fromhex(key): seq for seq, data in rows for key in json.loads(data)}
        return frozenset(key for key, seq in since.items() if self._added(key) < seq)

    def _added(self, key: bytes) -> int:
        return self._connection.execute(sql_log.ADDED_LAST, (key,)).fetchone()[0] or 0

    def _learning(self, name: str) -> KnownLearning:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> KnownLearning:
        connection = self._connection
        row = dict(zip(sql_log.LEARNING_COLUMNS, connection.execute(sql_log.LEARNING, (name,)).fetchone(), strict=True))
        acts = project.touching(connection, (name,))
        live = fold.alive(acts)
        state = fold.state(fold.fold(name, acts))
        stands: dict[bytes, str] = {}
        stood, undone, key_of = set(), set(), {}
        for source, key, event_seq, to_seq in connection.execute(sql_log.ALL_SOURCES, (name,)).fetchall():
            if key is None:
                continue
            key_of[source] = bytes(key)
            stood.add(bytes(key))
            if to_seq is None:
                stands[bytes(key)] = source
            if event_seq not in live:
                undone.add(bytes(key))
        removed_in_vain = {
            key_of.get(act.data["source"]) for act in acts if act.kind == "source.removed" and act.seq not in live
        }
        refusal = _own_refusal(acts, live)
        return KnownLearning(
            name,
            row["seq"],
            acts[-1].seq,
            state,
            max(row["trust"], fold.trust(name, acts)),
            bytes(row["content_key"]) if row["content_key"] is not None else None,
            stands,
            frozenset(stood),
            refusal.seq if refusal is not None and refusal.trust <= self._trust else None,
            self._heads(name, acts, live, state),
            frozenset(undone),
            frozenset(key for key in removed_in_vain if key in stands),
            "\n".join((row["problem"] or "", row["solution"] or "")),
            refusal is not None and refusal.trust > self._trust,
            _is_restored(acts, live),
            tuple((old, bytes(key)) for old, key in connection.execute(sql_log.MERGED_PLACES, (name,)).fetchall()),
        )

    def _heads(self, name: str, acts: list[Act], live: set[int], state: str) -> tuple[tuple[str, int], ...]:
        """Return the live heads of a chain with their trust; see `KnownLearning`."""
        heads = self._live_heads(name)
        if not heads and state not in ("current", "superseded"):
            creating = next((act for act in acts if act.stream == name and act.kind in fold.CREATING), None)
            for old in creating.data.get("supersedes", ()) if creating else ():
                heads.update(self._live_heads(old))
        return tuple(sorted(heads.items()))

    def _live_heads(self, name: str) -> dict[str, int]:
        found = {}
        for (head,) in self._connection.execute(sql_log.HEADS, {"id": name}).fetchall():
            found[head] = fold.trust(head, project.touching(self._connection, (head,)))
        return found


def _is_restored(acts: list[Act], live: set[int]) -> bool:
    """Tell whether somebody undid an importer's retraction."""
    return any(act.kind == "learning.retracted" and act.channel == "import" and act.seq not in live for act in acts)


def _own_refusal(acts: list[Act], live: set[int]) -> Act | None:
    """Return an importer's live retract or reject; None when there is none or a person made it."""
    kinds = ("learning.retracted", "proposal.rejected")
    found = [act for act in acts if act.kind in kinds and act.seq in live]
    return found[-1] if found and found[-1].channel == "import" else None
