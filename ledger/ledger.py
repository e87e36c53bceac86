"""The commands that change a ledger.

One method a command; the command line and the MCP server call the same ones.
A command is decided under the write lock, against the newest state, and goes
down as one append. Trust comes from the channel that opened the ledger, never
from an argument. (Longer than most files: the commands share one small
vocabulary of checks, and splitting them would hide that; what a retry means stands in `intent`.)
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from ledger import chain, door, fold, own_copy, place, screen, sql, sql_log
from ledger.answer import Conflict as Contradiction
from ledger.answer import Near
from ledger.echo import Learned
from ledger.errors import (
    BadArgument,
    Conflict,
    NotAllowed,
    NotFound,
    NotUndoable,
    StaleProjection,
    TooLong,
    Unerased,
)
from ledger.fold import Act
from ledger.heard import heard
from ledger.home import machine_of
from ledger.intent import Again, DryRun, answer_retry, id_for, imagined
from ledger.model import (
    ALIAS_CHARS,
    ALIASES_MAX,
    PROJECT_CHARS,
    REASON_CHARS,
    SUPERSEDE_MAX,
    TRUST_INFERRED,
    VERDICTS,
    Actor,
    Draft,
    Event,
    NewEvent,
    learning_id,
    person,
)
from ledger.reader import Reader, open_reader
from ledger.results import Changed, Judged, Loaded, Recorded, Summarised, Superseded, Undone, Verdict
from ledger.settings import check_setting, private_markers
from ledger.store import Clock, Moment, now_us
from ledger.store_sqlite import SqliteStore
from ledger.view import View, acts_of, agreement, content, derived_id, in_same_words


class Ledger:
    """An open ledger, acting for one actor through one channel."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.path = store.path
        self._reader: Reader | None = None
        self.files: Sequence[str] = ()
        """Files that the agent's client loads: what is replaced or taken back is looked for in them too."""
        self.opening: Callable[[str], Reader] = open_reader
        """Opens what commands compare with: for a client that may see some projects only, a fenced reader."""

    @classmethod
    def init(cls, path: str, actor: Actor | None = None, *, clock: Clock = now_us) -> "Ledger":
        """Make the file when it is missing, and open it; opening an existing one changes nothing."""
        return cls.open(path, actor, create=True, clock=clock)

    @classmethod
    def open(
        cls,
        path: str,
        actor: Actor | None = None,
        *,
        create: bool = False,
        wait_s: float = 10.0,
        clock: Clock = now_us,
        sqlite: Any = None,
    ) -> "Ledger":
        """Open a ledger for writing; `wait_s` bounds the wait for other writers.

        Raises:
            NotALedger, NewerSchema, OlderSchema, UnsafePlace, ReadOnly, Locked: nothing was opened.
        """
        return cls(SqliteStore(path, actor or person(), wait_s=wait_s, clock=clock, sqlite=sqlite, create=create))

    def close(self) -> None:
        """Close every connection."""
        if self._reader is not None:
            self._reader.close()
        self.store.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def acting(self, actor: Actor) -> Iterator[None]:
        """Let another actor act for a while: an importer, on behalf of whoever started it."""
        before = self.store.actor
        self.store.actor = actor
        try:
            yield
        finally:
            self.store.actor = before

    @property
    def actor(self) -> Actor:
        """Who acts, and with which trust."""
        return self.store.actor

    @property
    def reader(self) -> Reader:
        """The read path over the same file, on its own connection; an older program's projections are rebuilt first."""
        if self._reader is None:
            try:
                self._reader = self.opening(self.path)
            except (StaleProjection, Unerased):
                self.store.catch_up()
                self._reader = self.opening(self.path)
        return self._reader

    @property
    def private_markers(self) -> dict[str, str]:
        """What begins and what ends a private region here, beside `<private>`; read anew each time."""
        return private_markers(self.reader.rows(sql.SETTINGS, {}), machine_of(self.path))

    # -- recording ----------

    def record(self, draft: Draft, *, event_id: str | None = None, dry_run: bool = False) -> Recorded:
        """Record a learning.

        A text that is there already is answered, not written again: on a higher
        channel it supersedes the lower row, a person's accepts a candidate, and
        what a second session infers is agreement. One that a more trusted channel took back becomes a candidate.

        Raises:
            BadInput, GuardFailed: the draft cannot be stored; nothing was written.
        """
        passed = door.draft(draft, self.private_markers)
        near, conflicts = self._neighbours(passed.draft)
        found: list[Recorded] = []

        def decide(view: View) -> None:
            same = self._same_text(view, passed.draft) or self._same_words(view, passed.draft, near)
            if same is not None and self._agrees_anew(view, same):
                view.add(agreement(passed.draft, same, own_id, self.actor), self.actor)
                return
            if same is not None and self._answers(view, same):
                row = view.row(same)
                found.append(self._recorded(same, row["seq"], view, passed, near, conflicts, duplicate=True))
                return
            if same is not None and fold.state(view.flags(same)) == "candidate":
                data = {"supersedes": self._suggested(view, same, still_current=True)}
                view.add(NewEvent("proposal.accepted", same, data, {}, own_id), self.actor)
                return
            olds = [same] if same is not None else []
            why = "the same text from a higher channel" if olds else None
            held[:] = [] if olds else self._taken_back(view, passed.draft)
            if held and self._is_settled(view, held[0]):
                found.append(
                    self._recorded(held[0], view.version(held[0]), view, passed, near, conflicts, duplicate=True)
                )
                return
            self._add_draft(view, passed, olds, own_id, why, propose=bool(held))

        held: list[str] = []
        own_id = id_for(event_id)
        events, view = self._commit(decide, self._intent(passed.draft, own_id), event_id, dry_run)
        if found:
            return found[0]
        done = self._recorded(events[0].stream, events[0].seq, view, passed, near, conflicts, events=events)
        if events[0].kind == "source.added":
            done.remarks.append("another session said the same, so it is served unasked from now on")
        if held and done.state == "candidate":
            done.remarks.append(
                f"a more trusted channel took this text back ({held[0]}), so it is a candidate until a person runs "
                f"`learnings accept {done.id}`"
            )
        return done

    def record_all(self, drafts: Sequence[tuple[str, Draft, Sequence[str]]]) -> list[str]:
        """Record many drafts in one append, each as (event id, draft, ids it supersedes); return the new ids.

        For what is made by the thousand: nothing is compared with what is there,
        and one draft that cannot be stored refuses all.

        Raises:
            BadInput, GuardFailed, NotCurrent: nothing was written.
        """
        markers = self.private_markers
        passed = [(own_id, door.draft(draft, markers), list(olds)) for own_id, draft, olds in drafts]

        def decide(moment: Moment) -> Sequence[NewEvent]:
            view = View(moment)
            for own_id, one, olds in passed:
                self._add_draft(view, one, olds, own_id, "one of many" if olds else None)
            return view.drafts

        self.store.append(decide)
        return [learning_id(own_id) for own_id, _, _ in passed]

    def propose(
        self,
        draft: Draft,
        supersedes: Sequence[str] = (),
        reason: str | None = None,
        *,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Recorded:
        """Record a candidate, which is served to nobody before a person accepts it; `supersedes` is a suggestion."""
        passed = door.draft(draft, self.private_markers)
        near, conflicts = self._neighbours(passed.draft)
        why = self._reason(reason, required=False)
        own_id = id_for(event_id)

        def decide(view: View) -> None:
            for old in supersedes:
                view.row(old)
            self._add_draft(view, passed, list(supersedes), own_id, why, propose=True)

        events, view = self._commit(decide, self._intent(passed.draft, own_id, supersedes), event_id, dry_run)
        return self._recorded(events[0].stream, events[0].seq, view, passed, near, conflicts, events=events)

    def supersede(
        self,
        old: Sequence[str] | str,
        problem: str,
        solution: str,
        reason: str,
        *,
        category: str | None = None,
        project: str | None = None,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        observed_at: str | None = None,
        expected: int | None = None,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Superseded:
        """Put a new learning in the place of one or several current ones.

        Category, project and tags are those of the first old one unless given.
        When the channel's trust is below that of an old one, the new learning
        becomes a candidate that suggests the replacement.

        Args:
            expected: the version (seq of the last touching event) that the caller saw of the first old one.

        Raises:
            NotCurrent: an old one is not current; the message names its live heads.
            Conflict: the first old one was touched since `expected`.
        """
        olds = list(dict.fromkeys([old] if isinstance(old, str) else old))
        if not 1 <= len(olds) <= SUPERSEDE_MAX:
            raise BadArgument(f"name 1 to {SUPERSEDE_MAX} learnings to supersede; nothing was written")
        first = self._first_row(olds)
        if first["erased_by"] is not None and (project is None or tags is None):
            project, tags = project or "*", tags if tags is not None else ()
        passed = door.draft(
            Draft(
                problem,
                solution,
                category or first["category"],
                project or first["project"],
                title,
                tuple(tags if tags is not None else json.loads(first["tags"])),
                observed_at,
            ),
            self.private_markers,
        )
        why = self._reason(reason)
        near, conflicts = self._neighbours(passed.draft, set(olds))
        own_id = id_for(event_id)
        lower: list[str] = []
        answered: list[Recorded] = []

        def decide(view: View) -> None:
            if expected is not None and view.version(olds[0]) != expected:
                raise Conflict(olds[0], expected, view.version(olds[0]))
            for name in olds:
                view.row(name)
            lower[:] = [name for name in olds if view.trust(name) > self.actor.trust]
            before = self._proposed_before(view, passed.draft) if lower else None
            if before is not None:
                answered.append(
                    self._recorded(before, view.version(before), view, passed, near, conflicts, duplicate=True)
                )
                return
            self._add_draft(view, passed, olds, own_id, why, propose=bool(lower))

        events, view = self._commit(decide, self._intent(passed.draft, own_id, olds), event_id, dry_run)
        one = (
            answered[0]
            if answered
            else self._recorded(events[0].stream, events[0].seq, view, passed, near, conflicts, events=events)
        )
        one.remarks.extend(self._what_is_left(view, one, lower))
        loaded = self._still_loaded(olds, [passed.draft.solution]) if one.supersedes else []
        return Superseded(
            one.id, one.seq, one.supersedes, one.state, loaded, near, conflicts, one.redacted, one.remarks
        )

    def _what_is_left(self, view: View, one: Recorded, lower: Sequence[str]) -> Iterator[str]:
        """Yield what a person has yet to do after a supersede: accept it, pin it."""
        if lower and one.state == "candidate":
            yield (
                f"{lower[0]} came from a more trusted channel, so this is a candidate until a person runs "
                f"`learnings accept {one.id}`"
            )
        pinned = [name for name in one.supersedes if view.flags(name).pinned]
        if pinned:
            yield f"{pinned[0]} was pinned; pin the new one with `learnings pin {one.id}`"

    # -- sessions ----------

    def summarise(
        self,
        session: str,
        project: str,
        text: str,
        *,
        covers_from: str | None = None,
        covers_to: str | None = None,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Summarised:
        """Keep what a session was about, for the next one of its project; it is never recalled on a prompt.

        Recalled text is left out of it; one that the screen flags, or of which nothing is left, is not kept.

        Raises:
            BadInput, GuardFailed: it cannot be stored; nothing was written.
        """
        passed = door.summary(session, project, text, covers_from, covers_to, self.private_markers)
        own, echoes = heard(self.reader).without(passed.body["text"], self.reader.projects(passed.body["project"]))
        body = passed.body | {"text": own}
        told = Summarised(None, None, body["project"], own, bool(0), echoes, list(passed.kinds), list(passed.remarks))
        if passed.findings or not own.strip():
            why = passed.findings[0].reason if passed.findings else "it holds recalled text only"
            return told._replace(remarks=[*told.remarks, f"the summary was not kept: {why}"])
        own_id = id_for(event_id)
        name = derived_id(own_id)
        same: list[tuple[str, int]] = []

        def decide(view: View) -> None:
            binds = {key: body[key] for key in ("session", "project", "text")}
            same[:] = view.raw.execute(sql_log.SUMMARY_OF, binds).fetchall()
            if not same:
                view.add(intent, self.actor)

        intent = NewEvent("session.summarised", f"summary:{name}", {}, body, own_id)
        events, _ = self._commit(decide, intent, event_id, dry_run)
        if same and not events:
            return told._replace(id=same[0][0], seq=same[0][1], duplicate=True)
        return told._replace(id=name, seq=events[0].seq)

    # -- one learning's state ----------

    def retract(self, name: str, reason: str, *, event_id: str | None = None, dry_run: bool = False) -> Changed:
        """Take a learning back without a successor.

        Raises:
            NotCurrent: it is not current. NotAllowed: a more trusted channel, or another session, recorded it.
        """
        why = self._reason(reason)

        def allow(view: View) -> None:
            self._may_withdraw(view, name, f"learnings retract {name} --reason …")

        return self._change(name, "learning.retracted", {}, {"reason": why}, event_id, dry_run, allow)

    def accept(
        self,
        name: str,
        supersedes: Sequence[str] | None = None,
        reason: str | None = None,
        *,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Changed:
        """Make a candidate current, in the place of those it suggested unless `supersedes` names others.

        Raises:
            NotAllowed: only a person accepts. NotCurrent: one to be replaced is not current any more.
        """
        self._needs_person(f"learnings accept {name}")
        why = self._reason(reason, required=False)
        data: dict[str, Any] = {} if supersedes is None else {"supersedes": list(supersedes)}

        def allow(view: View) -> None:
            data.setdefault("supersedes", self._suggested(view, name))

        return self._change(name, "proposal.accepted", data, _why(why), event_id, dry_run, allow)

    def reject(
        self, name: str, reason: str | None = None, *, event_id: str | None = None, dry_run: bool = False
    ) -> Changed:
        """Turn a candidate down; it stays for forensics."""
        why = self._reason(reason, required=False)

        def allow(view: View) -> None:
            self._may_withdraw(view, name, f"learnings reject {name}")

        return self._change(name, "proposal.rejected", {}, _why(why), event_id, dry_run, allow)

    def quarantine(self, name: str, reason: str, *, event_id: str | None = None, dry_run: bool = False) -> Changed:
        """Withhold a learning until a person releases it; what it superseded stays superseded."""
        why = self._reason(reason)

        def allow(view: View) -> None:
            self._may_withdraw(view, name, f"learnings quarantine {name} --reason …")

        return self._change(name, "learning.quarantined", {"rules": []}, {"reason": why}, event_id, dry_run, allow)

    def release(
        self, name: str, reason: str | None = None, *, event_id: str | None = None, dry_run: bool = False
    ) -> Changed:
        """Let a withheld learning be what it would be otherwise; only a person does."""
        self._needs_person(f"learnings release {name}")
        why = self._reason(reason, required=False)
        return self._change(name, "quarantine.released", {}, _why(why), event_id, dry_run)

    def pin(self, name: str, *, event_id: str | None = None, dry_run: bool = False) -> Changed:
        """Bring a learning at the start of each session of its project."""
        self._needs_person(f"learnings pin {name}")
        return self._change(name, "learning.pinned", {}, {}, event_id, dry_run)

    def unpin(self, name: str, *, event_id: str | None = None, dry_run: bool = False) -> Changed:
        """Take a pin away."""
        self._needs_person(f"learnings unpin {name}")
        return self._change(name, "learning.unpinned", {}, {}, event_id, dry_run)

    def alias(self, name: str, words: Sequence[str], *, event_id: str | None = None, dry_run: bool = False) -> Changed:
        """Let a learning be found by these words too, in the place of those it had before; none takes them away.

        Raises:
            TooLong, BadInput: the words cannot be stored. NotAllowed: an agent asked; they are written offline.
        """
        if self.actor.channel == "mcp":
            self._needs_person(f"learnings alias {name} …")
        if len(words) > ALIASES_MAX:
            raise TooLong("aliases", len(words), ALIASES_MAX)
        markers = self.private_markers
        passed = [door.text("alias", " ".join(word.split()), ALIAS_CHARS, markers=markers) for word in words]
        clean = list(dict.fromkeys(word for word, _ in passed))
        done = self._change(name, "aliases.derived", {}, {"words": clean}, event_id, dry_run)
        masked = sorted({kind for _, kinds in passed for kind in kinds})
        return done._replace(remarks=[*done.remarks, f"masked in the words: {', '.join(masked)}"]) if masked else done

    def judge(
        self,
        exposure: str,
        verdict: str,
        *,
        learning: str | None = None,
        shown: Sequence[str] = (),
        keywords: Sequence[str] = (),
        project: str | None = None,
        reason: str | None = None,
        instead: Draft | None = None,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Judged:
        """Say whether what was shown for a prompt was right; the newest verdict on one thing holds.

        Args:
            learning: the one of `shown` that is meant; None means all that was shown.
            keywords: what the prompt was about, for making a case of it: never the prompt itself.
            instead: supersede `learning` by this draft in the same append; one undo of that batch takes both back.

        Raises:
            BadArgument: an unknown verdict, or nothing that `instead` could replace. NotAllowed: only a person judges.
        """
        self._needs_person(f"learnings wrong {exposure}")
        if verdict not in VERDICTS:
            raise BadArgument("unknown verdict; nothing was written", "use one of: " + ", ".join(VERDICTS))
        if instead is not None and learning is None:
            raise BadArgument("no learning is named that could be replaced; nothing was written", "name one by its id")
        passed = door.draft(instead, self.private_markers) if instead is not None else None
        data = {"verdict": verdict} if learning is None else {"verdict": verdict, "learning": learning}
        body: dict[str, Any] = {"keywords": _keywords(keywords), "shown": list(shown)}
        if project is not None:
            body["project"] = door.text("project", project, PROJECT_CHARS)[0]
        why = self._reason(reason, required=False)
        own_id = id_for(event_id)
        intent = NewEvent("exposure.judged", f"exposure:{exposure}", data, body | _why(why), own_id)

        def decide(view: View) -> None:
            if learning is not None:
                view.row(learning)
            view.add(intent, self.actor)
            if passed is not None and learning is not None:
                self._add_draft(view, passed, [learning], derived_id(own_id), why or "judged wrong where it was shown")
                view.drafts[:] = [draft._replace(batch=view.head.seq + 1) for draft in view.drafts]

        events, view = self._commit(decide, intent, event_id, dry_run)
        if passed is None or learning is None:
            return Judged(exposure, events[0].seq, verdict, learning, None, None, [], [], [])
        new, remarks = events[1].stream, _screened(passed, "current")
        if view.flags(learning).pinned:
            remarks.append(f"{learning} was pinned; pin the new one with `learnings pin {new}`")
        loaded, kinds = self._still_loaded([learning]), list(passed.kinds)
        return Judged(exposure, events[0].seq, verdict, learning, new, events[0].batch, loaded, kinds, remarks)

    def _change(
        self,
        name: str,
        kind: str,
        data: dict[str, Any],
        body: dict[str, Any],
        event_id: str | None,
        dry_run: bool,
        allow: Callable[[View], None] = lambda view: None,
    ) -> Changed:
        """Append one event about one learning."""
        own_id = id_for(event_id)

        def decide(view: View) -> None:
            view.row(name)
            allow(view)
            view.add(intent, self.actor)

        intent = NewEvent(kind, name, data, body, own_id)
        events, view = self._commit(decide, intent, event_id, dry_run)
        state = fold.state(view.flags(name))
        remarks = self._revival(view, name, state)
        if kind == "quarantine.released" and state == "candidate":
            remarks.append(f"it is a candidate still; make it current with `learnings accept {name}`")
        gone = kind in ("learning.retracted", "learning.quarantined")
        return Changed(name, events[0].seq, state, self._still_loaded([name]) if gone else [], remarks)

    def _revival(self, view: View, name: str, state: str) -> list[str]:
        """Say how to bring back what a withheld or retracted learning had replaced."""
        if state not in ("retracted", "quarantined"):
            return []
        row = view.raw.execute(sql_log.REPLACED_BY, {"id": name}).fetchone()
        if row is None:
            return []
        return [f"what it replaced stays superseded; `learnings undo {row[0]}` brings that back"]

    # -- undo ----------

    def undo(
        self,
        seq: int,
        reason: str | None = None,
        *,
        cascade: bool = False,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Undone:
        """Take an event back, as from now; undoing an undo redoes.

        Raises:
            NotUndoable: it is undone already, or of a kind that nothing takes back.
            BuiltUpon: a later event builds upon it; `cascade` takes that along.
            NotAllowed: a more trusted channel, or another session, wrote it.
        """
        return self._undo(lambda view: [view.undoable(seq)], reason, cascade, event_id, dry_run, seq)

    def undo_batch(
        self,
        batch: int,
        reason: str | None = None,
        *,
        cascade: bool = False,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Undone:
        """Take a whole import back, or a verdict with its correction, by the seq of its first event.

        Raises:
            NotFound: no such batch. NotUndoable: nothing of it is left to take back.
        """

        def targets(view: View) -> list[Act]:
            acts = acts_of(view.raw.execute(sql_log.BATCH, (batch,)).fetchall())
            if not acts:
                raise NotFound(f"there is no batch {batch}", "imports are in the view `imports`")
            undone = {row[0] for row in view.raw.execute(sql_log.BATCH_UNDONE, (batch,)).fetchall()}
            left = [act for act in reversed(acts) if act.kind not in fold.LASTING and act.seq not in undone]
            if not left:
                raise NotUndoable(f"nothing of batch {batch} is left to undo; nothing was written")
            return left

        return self._undo(targets, reason, cascade, event_id, dry_run, batch)

    def undo_all(
        self, find: Callable[[View], list[Act]], *, event_id: str | None = None, dry_run: bool = False
    ) -> Undone:
        """Take back, in one undo, the events that a command of another module finds under the lock."""
        return self._undo(find, None, cascade=False, event_id=event_id, dry_run=dry_run, asked=None)

    def _undo(
        self,
        find: Callable[[View], list[Act]],
        reason: str | None,
        cascade: bool,
        event_id: str | None,
        dry_run: bool,
        asked: int | None,
    ) -> Undone:
        why = self._reason(reason, required=False)
        own_id = id_for(event_id)

        def decide(view: View) -> None:
            targets = view.with_dependants(find(view), cascade)
            self._may_undo(view, targets)
            seqs = [act.seq for act in targets]
            view.drafts.append(NewEvent("event.undone", targets[0].stream, {"targets": seqs}, _why(why), own_id))

        intent = NewEvent("event.undone", "", {"targets": [asked]}, _why(why), own_id)  # None: whatever was found
        events, view = self._commit(decide, intent, event_id, dry_run)
        return self._undone(view, events[0])

    def _undone(self, view: View, event: Event) -> Undone:
        targets = json.loads(event.data)["targets"]
        acts = acts_of([view.raw.execute(sql_log.ACT, (seq,)).fetchone() for seq in targets])
        redone = [seq for act in acts if act.kind == "event.undone" for seq in act.data["targets"]]
        streams = list(dict.fromkeys(act.stream for act in acts))
        remarks = [f"redo with `learnings undo {event.seq}`"]
        return Undone(event.seq, targets, redone, streams, remarks)

    # -- settings, upkeep ----------

    def set(
        self,
        name: str,
        value: str | None,
        *,
        machine: bool = False,
        event_id: str | None = None,
        dry_run: bool = False,
    ) -> Changed:
        """Give a setting a value, or none; `machine` keeps it to this machine.

        Raises:
            BadArgument: no such setting, or not a value of it.
        """
        self._needs_person(f"learnings config set {name} …")
        clean = None if value is None else door.text("value", check_setting(name, value), 10_000, required=False)[0]
        data: dict[str, Any] = {"name": name, "scope": "machine" if machine else "ledger"}
        stream = f"setting:{name}"
        if machine:
            data["machine"] = place.machine_id(self.path, is_dry=dry_run)
            stream += f"@{data['machine']}"
        own_id = id_for(event_id)
        body = {} if clean is None else {"value": clean}
        draft = NewEvent("setting.changed", stream, data, body, own_id)
        events, _ = self._commit(lambda view: view.add(draft, self.actor), draft, event_id, dry_run)
        return Changed(stream, events[0].seq, "set" if clean is not None else "unset", [], [])

    def accept_head(self, *, event_id: str | None = None) -> Changed:
        """Let a log that is behind its anchor be written again; only a person does.

        Raises:
            Refused: the log is not behind its anchor.
        """
        self._needs_person("learnings verify --accept-head")
        event = self.store.accept_head(id_for(event_id))[0]
        remarks = ["what the anchor saw beyond this file is lost", *self.store.remarks]
        self.store.remarks.clear()
        return Changed(event.stream, event.seq, "accepted", [], remarks)

    def verify(self) -> Verdict:
        """Check the log, its anchor, the schema and every projection; changes nothing."""
        from ledger.audit import audit

        return audit(self.store)

    def rebuild(self) -> int:
        """Drop and replay every projection; return the seq they reach."""
        return self.store.rebuild()

    def event(self, seq: int) -> Event:
        """Return one event of the log."""
        return self.store.event(seq)

    # -- shared ----------

    def _commit(
        self, decide: Callable[[View], None], intent: NewEvent, given: str | None, dry_run: bool
    ) -> tuple[list[Event], View]:
        """Append what `decide` adds to a view; for an id that is in the log already, answer the first time.

        Raises:
            SameIdOtherContent: the id was used for something else.
        """
        views: list[View] = []

        def under_lock(moment: Moment) -> Sequence[NewEvent]:
            view = View(moment)
            views[:] = [view]
            if given is not None:
                answer_retry(view, intent)
            decide(view)
            if dry_run:
                raise DryRun(view.drafts, view.head)
            return view.drafts

        try:
            events = self.store.append(under_lock)
        except Again as retry:
            return retry.events, View(views[0].moment)
        except DryRun as plan:
            return imagined(plan, self.actor), views[0]
        self.store.refresh_counts()
        return events, views[0]

    @staticmethod
    def _intent(draft: Draft, own_id: str, olds: Sequence[str] | None = None) -> NewEvent:
        """Return the event that a draft would be, for comparing a retry with the first time; `olds` if it names any."""
        kind = "learning.recorded" if olds is None else "learning.superseded"
        return NewEvent(kind, learning_id(own_id), *content(draft, own_id, kind, olds or (), None), own_id)

    def _add_draft(
        self,
        view: View,
        passed: door.Passed,
        olds: list[str],
        own_id: str,
        reason: str | None,
        *,
        propose: bool = False,
    ) -> None:
        """Add the events of a draft: recorded, superseded or proposed, and quarantined when the screen says so."""
        draft, findings = passed.draft, passed.findings
        held = bool(findings) and self.actor.kind != "person"
        kind = "learning.proposed" if propose or held else "learning.superseded" if olds else "learning.recorded"
        stream = learning_id(own_id)
        view.add(NewEvent(kind, stream, *content(draft, own_id, kind, olds, reason), own_id), self.actor)
        if held:
            data, body = screen.withheld(findings)
            view.add(NewEvent("learning.quarantined", stream, data, body, derived_id(own_id)), self.actor)

    def _recorded(
        self,
        name: str,
        seq: int,
        view: View,
        passed: door.Passed,
        near: list[Near],
        conflicts: list[Contradiction],
        *,
        events: Sequence[Event] = (),
        duplicate: bool = False,
    ) -> Recorded:
        state = fold.state(view.flags(name))
        remarks = list(self.store.remarks)
        self.store.remarks.clear()
        remarks += _screened(passed, state)
        if duplicate:
            remarks.append("this text was there already; nothing was written")
        supersedes = [
            old for event in events if event.kind in fold.REPLACING for old in json.loads(event.data)["supersedes"]
        ]
        others = [one for one in near if one.id != name]
        return Recorded(name, seq, state, others, conflicts, duplicate, supersedes, list(passed.kinds), remarks)

    def _neighbours(self, draft: Draft, but: Iterable[str] = ()) -> tuple[list[Near], list[Contradiction]]:
        """Return near-duplicates and contradictions among current learnings, without those named."""
        left_out = set(but)
        near = self.reader.near(draft.problem, draft.solution, draft.title or "", draft.project)
        conflicts = self.reader.conflicts(draft.problem, draft.solution, draft.title or "", draft.project)
        return [one for one in near if one.id not in left_out], [one for one in conflicts if one.id not in left_out]

    def _same_text(self, view: View, draft: Draft) -> str | None:
        """Return the newest learning of the same text: a current one first, else one that waits or is withheld."""
        key = chain.content_key(self.store.dedup_key, draft.problem, draft.solution, draft.project)
        newest: dict[str, str] = {}
        for (name,) in view.raw.execute(sql_log.SAME_CONTENT, (key,)).fetchall():
            newest.setdefault(fold.state(view.flags(name)), name)
        for state in ("current", "candidate") if self.actor.kind == "person" else ("current", "quarantined"):
            if state in newest:
                return newest[state]
        merged = self._merged_into(view, newest.get("superseded"))
        if merged is not None:
            return merged
        waiting = newest.get("candidate")
        return waiting if waiting is not None and view.trust(waiting) >= self.actor.trust else None

    @staticmethod
    def _merged_into(view: View, name: str | None) -> str | None:
        """Return the live learning that a person let stand for this text, None when there is none."""
        if name is None or view.raw.execute(sql_log.MERGED_INTO, (name,)).fetchone() is None:
            return None
        return next(iter(view.heads(name)), None)

    def _same_words(self, view: View, draft: Draft, near: Sequence[Near]) -> str | None:
        """Return what was inferred before in the same words; only what is inferred now is compared like that."""
        if self.actor.trust > TRUST_INFERRED:
            return None
        for one in near:
            row = view.row(one.id)
            if row["trust"] == TRUST_INFERRED and row["project"] == draft.project and in_same_words(row, draft):
                return one.id if fold.state(view.flags(one.id)) == "current" else None
        return None

    def _agrees_anew(self, view: View, same: str) -> bool:
        """Tell whether this is another session that infers what one session inferred."""
        flags = view.flags(same)
        told = flags.sessions and self.actor.id is not None and self.actor.id not in flags.sessions
        return bool(told) and fold.state(flags) == "current" and self.actor.trust == view.trust(same) == TRUST_INFERRED

    def _taken_back(self, view: View, draft: Draft) -> list[str]:
        """Return the newest learning of this text when a more trusted channel took it back or replaced it."""
        key = chain.content_key(self.store.dedup_key, draft.problem, draft.solution, draft.project)
        rows = view.raw.execute(sql_log.SAME_CONTENT, (key,)).fetchall()
        return [name for (name,) in rows[:1] if view.withdrawn(name) > self.actor.trust]

    def _is_settled(self, view: View, name: str) -> bool:
        """Tell whether a more trusted channel turned this down as a candidate: it does not come up again."""
        return fold.state(view.flags(name)) == "rejected"

    def _proposed_before(self, view: View, draft: Draft) -> str | None:
        """Return the newest learning of this text when it waits as a candidate, or was turned down by a person."""
        key = chain.content_key(self.store.dedup_key, draft.problem, draft.solution, draft.project)
        for (name,) in view.raw.execute(sql_log.SAME_CONTENT, (key,)).fetchall()[:1]:
            waits = fold.state(view.flags(name)) == "candidate" and view.trust(name) >= self.actor.trust
            if waits or (self._is_settled(view, name) and view.withdrawn(name) > self.actor.trust):
                return str(name)
        return None

    def _answers(self, view: View, same: str) -> bool:
        """Tell whether one of the same text is answer enough: withheld, waiting, or as trusted as this channel."""
        state = fold.state(view.flags(same))
        if state == "candidate":
            return self.actor.kind != "person"
        return state == "quarantined" or (state == "current" and view.trust(same) >= self.actor.trust)

    def _suggested(self, view: View, name: str, *, still_current: bool = False) -> list[str]:
        row = view.raw.execute(sql_log.CREATING_DATA, (name,)).fetchone()
        found = json.loads(row[0]).get("supersedes", ()) if row is not None else ()
        return [old for old in found if not still_current or fold.state(view.flags(old)) == "current"]

    def _first_row(self, olds: list[str]) -> dict[str, Any]:
        row = self.store.connection().execute(sql_log.LEARNING, (olds[0],)).fetchone()
        if row is None:
            raise NotFound(f"there is no learning {olds[0]}", "look with `learnings list` or `learnings query`")
        return dict(zip(sql_log.LEARNING_COLUMNS, row, strict=True))

    def _reason(self, reason: str | None, *, required: bool = True) -> str | None:
        if reason is None and not required:
            return None
        markers = self.private_markers if reason else None
        return door.text("reason", reason or "", REASON_CHARS, required=required, markers=markers)[0] or None

    def _needs_person(self, command: str) -> None:
        if self.actor.kind != "person":
            raise NotAllowed("only a person does this; nothing was written", f"a person can run `{command}`")

    def _may_take_back(self, view: View, seq: int, command: str) -> None:
        """Refuse unless this channel may take back what event `seq` did."""
        act = view.act(seq)
        hint = f"a person can run `{command}`"
        if act.trust > self.actor.trust:
            raise NotAllowed(f"event {seq} came from a more trusted channel; nothing was written", hint)
        if self.actor.channel == "mcp":
            mine = (act.channel, act.actor_id, act.trust) == ("mcp", self.actor.id, self.actor.trust)
            if not mine:
                raise NotAllowed(f"event {seq} was not written by this session; nothing was written", hint)

    def _may_withdraw(self, view: View, name: str, command: str) -> None:
        """Refuse unless this channel may take a learning from those who are served it."""
        self._may_take_back(view, view.row(name)["seq"], command)
        if view.trust(name) > self.actor.trust:
            raise NotAllowed(f"a person accepted {name}; nothing was written", f"a person can run `{command}`")

    def _may_undo(self, view: View, targets: list[Act]) -> None:
        command = (
            f"learnings undo {targets[-1].seq}"
            if len(targets) == 1
            else (f"learnings undo {targets[-1].seq} --cascade")
        )
        for act in targets:
            self._may_take_back(view, act.seq, command)
            if act.kind in ("learning.quarantined", "proposal.rejected") and self.actor.kind not in (
                "person",
                "importer",
            ):
                self._needs_person(command)

    commit, add_draft, needs_person = _commit, _add_draft, _needs_person
    """For commands that stand in modules of their own: `review`, `trust`."""

    def _still_loaded(self, names: Sequence[str], but: Sequence[str] = ()) -> list[Loaded]:
        """Return the lines of files that still say what these learnings say, and not what is true instead."""
        found: dict[Loaded, None] = {}
        connection = self.store.connection()
        for name in names:
            row = connection.execute(sql_log.LEARNING, (name,)).fetchone()
            texts = dict(zip(sql_log.LEARNING_COLUMNS, row, strict=True)) if row is not None else {}
            if texts.get("solution") is None:
                continue
            for path, line in connection.execute(sql_log.STANDING_FILES, (name,)).fetchall():
                at = place.line_of(path, (texts["solution"], texts["problem"]), line)
                if at is not None and not any(place.line_of(path, (text,), at) == at for text in but):
                    found[Loaded(path, at)] = None
            learned = Learned(name, texts["title"], texts["problem"], texts["solution"], texts["project"])
            for one in own_copy.standing(learned, self.files, but):
                found[Loaded(one.file, one.line)] = None
        return list(found)


KEYWORD_CHARS, KEYWORDS_MAX = 100, 50
"""Caps of the keywords that a verdict keeps."""


def _screened(passed: door.Passed, state: str) -> list[str]:
    """Say what the screen found in a draft, and whether it is served all the same."""
    verb = "kept" if state == "current" else "withheld"
    return [f"{verb}: {one.reason} (rule {one.rule})" for one in passed.findings[:1]]


def _keywords(words: Sequence[str]) -> list[str]:
    """Return keywords as they may be stored; one that holds a secret is left out."""
    passed = [door.text("keyword", word[:KEYWORD_CHARS], KEYWORD_CHARS, required=False) for word in words]
    return list(dict.fromkeys(clean for clean, kinds in passed if clean and not kinds))[:KEYWORDS_MAX]


def _why(reason: str | None) -> dict[str, Any]:
    return {} if reason is None else {"reason": reason}
