"""The state under the write lock, as one command sees it.

A command adds its events one by one; each is judged against the state after
those before it. Undo is judged here too: what builds upon a target is found by
replaying what would stay alive.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ledger import fold, project, query, sql_log
from ledger.errors import BuiltUpon, LedgerError, NotCurrent, NotFound, NotUndoable, Refused
from ledger.fold import Act, Fault, Flags
from ledger.model import Actor, Draft, NewEvent, Source, learning_id
from ledger.store import Moment


class View:
    """The state under the write lock, as one command sees it; flags move on with each event it adds."""

    def __init__(self, moment: Moment) -> None:
        assert moment.raw is not None
        self.moment = moment
        self.head = moment.head
        self.raw: sqlite3.Connection = moment.raw
        self.drafts: list[NewEvent] = []
        self._flags: dict[str, Flags] = {}

    def flags(self, name: str) -> Flags:
        """Return what live events say of a learning, the command's own included."""
        if name not in self._flags:
            self._flags[name] = fold.fold(name, project.touching(self.raw, (name,)))
        return self._flags[name]

    def trust(self, name: str) -> int:
        """Return how trusted a learning is that may be replaced or taken back; see `fold.trust`."""
        return fold.trust(name, project.touching(self.raw, (name,)))

    def withdrawn(self, name: str) -> int:
        """Return the trust of whoever took a learning back or replaced it, -1 when nobody did."""
        acts = project.touching(self.raw, (name,))
        live = fold.alive(acts)
        found = [act.trust for act in acts if act.seq in live and fold.withdraws(act, name)]
        if fold.state(self.flags(name)) == "undone":
            found += [act.trust for act in acts if act.seq in live and act.kind == "event.undone"]
        return max(found, default=-1)

    def version(self, name: str) -> int:
        """Return the seq of the last event that touches a learning, 0 when there is none."""
        return self.raw.execute(sql_log.LAST_TOUCH, (name,)).fetchone()[0] or 0

    def row(self, name: str) -> dict[str, Any]:
        """Return a learning's immutable row.

        Raises:
            NotFound: there is no such learning.
        """
        row = self.raw.execute(sql_log.LEARNING, (name,)).fetchone()
        if row is None:
            raise NotFound(f"there is no learning {name}", "look with `learnings list` or `learnings query`")
        return dict(zip(sql_log.LEARNING_COLUMNS, row, strict=True))

    def heads(self, name: str) -> list[str]:
        """Return the live heads of a learning's chain."""
        return [row[0] for row in self.raw.execute(sql_log.HEADS, {"id": name}).fetchall()]

    def add(self, draft: NewEvent, actor: Actor) -> None:
        """Add an event to the command's append, if it is legal after those before it.

        Raises:
            NotCurrent, Refused: it is not; nothing was written.
        """
        act = Act(0, draft.kind, draft.stream, draft.data, actor.kind, actor.trust, actor.channel, actor.id)
        new = draft.stream if draft.kind in fold.CREATING else None
        names = fold.names(act)
        for name in names:
            if name == new:
                self._flags[name] = fold.BLANK
            else:
                self.flags(name)
        fault = fold.legal(act, {name: self._flags[name] for name in names})
        if fault is not None:
            raise self._error(draft, fault)
        for name in names:
            self._flags[name] = fold.step(self._flags[name], act, name)
        self.drafts.append(draft)

    def _error(self, draft: NewEvent, fault: Fault) -> LedgerError:
        """Return the error for an event without ground."""
        found = fold.state(self.flags(fault.id))
        if fault.rule != "not_current":
            words = fault.rule.replace("_", " ")
            return Refused(f"{fault.id} is {found} ({words}); nothing was written", "look with `learnings show`")
        heads = [head for head in self.heads(fault.id) if head != fault.id]
        hint = (
            f"its live head is {' and '.join(heads)}: name that instead"
            if heads
            else (f"see `learnings history {fault.id}`; an undo of the event that made it so brings it back")
        )
        return NotCurrent(f"{fault.id} is {found}, not current; nothing was written", hint)

    def act(self, seq: int) -> Act:
        """Return one event as the fold sees it.

        Raises:
            NotFound: the log does not reach that far.
        """
        row = self.raw.execute(sql_log.ACT, (seq,)).fetchone()
        if row is None:
            raise NotFound(f"there is no event {seq}", "look at `learnings history ID` or the view audit_log")
        return acts_of([row])[0]

    def batch(self, seq: int) -> int | None:
        """Return the import that an event belongs to, None when it is of none."""
        row = self.raw.execute(sql_log.BATCH_OF, (seq,)).fetchone()
        return None if row is None else row[0]

    def undoable(self, seq: int) -> Act:
        """Return one event that an undo may name.

        Raises:
            NotFound, NotUndoable: there is none such.
        """
        act = self.act(seq)
        if act.kind in fold.LASTING:
            raise NotUndoable(f"event {seq} is {act.kind}, which nothing takes back; nothing was written")
        return act

    def touched(self, seqs: Iterable[int]) -> list[str]:
        """Return every id that one of these events touches."""
        found: dict[str, None] = {}
        for seq in seqs:
            found.update(dict.fromkeys(row[0] for row in self.raw.execute(sql_log.TOUCHED_BY, (seq,)).fetchall()))
        return list(found)

    def with_dependants(self, targets: list[Act], cascade: bool) -> list[Act]:
        """Return the targets, newest first, with what builds upon them when `cascade`.

        Raises:
            BuiltUpon, NotUndoable: naming the first event that stands in the way.
        """
        while True:
            targets.sort(key=lambda act: act.seq, reverse=True)
            seqs = {act.seq for act in targets}
            ids = self.touched(seqs)
            before = project.touching(self.raw, ids)
            undo = Act(self.head.seq + 1, "event.undone", targets[0].stream, {"targets": sorted(seqs, reverse=True)})
            found = fold.faults([*before, undo], ids)
            if not found:
                return targets
            revived = fold.alive([*before, undo]) - fold.alive(before) - {undo.seq}
            for blocker, fault in found if cascade else found[:1]:
                self._refuse(blocker, fault, before, revived, undo.seq)
            if not cascade:
                blocker = found[0][0]
                raise BuiltUpon(
                    f"event {blocker.seq} ({blocker.kind}) builds upon {', '.join(map(str, sorted(seqs)[:5]))}; "
                    "nothing was written",
                    f"undo {blocker.seq} first, or take it along with --cascade",
                )
            targets = [*targets, *(blocker for blocker, _ in found)]

    def _refuse(self, blocker: Act, fault: Fault, before: list[Act], revived: set[int], undo_seq: int) -> None:
        """Raise when what stands in the way cannot be taken along: an undo, or what this very undo brings back."""
        if blocker.seq == undo_seq:
            by = self.raw.execute(sql_log.UNDONE_BY, (int(fault.id),)).fetchone()
            hint = f"redo it with `learnings undo {by[0]}`" if by else ""
            raise NotUndoable(f"event {fault.id} is undone already; nothing was written", hint)
        if blocker.kind == "event.undone" or blocker.seq in revived:
            raise self._lost_ground(blocker, fault, before, revived)

    def _lost_ground(self, blocker: Act, fault: Fault, before: list[Act], revived: set[int]) -> BuiltUpon:
        """Say why a redo cannot be: the ground of what it would bring back has gone."""
        live = fold.alive(before)
        causes = [
            act for act in before if act.seq in live and act.seq not in revived and fault.id in self.touched((act.seq,))
        ]
        message = f"event {blocker.seq} ({blocker.kind}) has lost its ground ({fault.id}: {fault.rule})"
        if not causes:
            return BuiltUpon(f"{message}; nothing was written", "look at `learnings history`")
        verb = "redo" if causes[-1].kind == "event.undone" else "undo"
        seq = causes[-1].seq
        return BuiltUpon(f"{message}; nothing was written", f"{verb} event {seq} first: `learnings undo {seq}`")


def acts_of(rows: Iterable[Any]) -> list[Act]:
    """Return rows of `sql_log.ACT` as the fold sees them."""
    return [Act(seq, kind, stream, json.loads(data), *by) for seq, kind, stream, data, *by in rows]


def content(
    draft: Draft, own_id: str, kind: str, olds: Sequence[str], reason: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return data and body of an event that creates a learning."""
    data: dict[str, Any] = {"category": draft.category, "confidence": draft.confidence}
    body: dict[str, Any] = {
        "title": draft.title,
        "problem": draft.problem,
        "solution": draft.solution,
        "project": draft.project,
        "tags": list(draft.tags),
    }
    if draft.observed_at is not None:
        body["observed_at"] = draft.observed_at
    if draft.source is not None:
        data["source"] = source_id(own_id)
        body["source"] = {key: value for key, value in draft.source._asdict().items() if value is not None}
    if kind != "learning.recorded":
        data["supersedes"] = list(olds)
        if reason is not None:
            body["reason"] = reason
    return data, body


def source_id(event_id: str) -> str:
    """Return the opaque id of the source that an event brings."""
    return "src_" + learning_id(f"source {event_id}")[4:]


def derived_id(event_id: str) -> str:
    """Return the id of the second event of a command, the same on every retry."""
    tail = learning_id(f"second {event_id}").encode().hex()
    return f"{event_id[:8]}-{event_id[9:13]}-7{tail[1:4]}-8{tail[5:8]}-{tail[8:20]}"


def agreement(draft: Draft, name: str, own_id: str, actor: Actor) -> NewEvent:
    """Return the event by which another session says what `name` says: one more place where it can be read."""
    source = draft.source or Source("session", f"session:{actor.id}")
    place = {key: value for key, value in source._asdict().items() if value is not None}
    return NewEvent("source.added", name, {"source": source_id(own_id)}, {"source": place}, own_id)


def in_same_words(row: Mapping[str, Any], said: Mapping[str, Any] | Draft) -> bool:
    """Tell whether two learnings say the same but for case, quotes, closing punctuation and white space."""
    other = said._asdict() if isinstance(said, Draft) else said
    return all(query.subject(row[name]) == query.subject(other[name]) for name in ("problem", "solution"))
