"""What a person decides about what waits: accept, reject, release, merge, edit.

Each decision is one append, and one undo takes it back. What is decided stays
decided: a place that says the same again is known, whatever became of it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ledger import door, fold, review, sql_log
from ledger.errors import BadArgument, LedgerError, Refused
from ledger.ledger import Ledger
from ledger.model import EVERYWHERE, REASON_CHARS, TRUST_NOTES, Draft, NewEvent, learning_id, new_event_id
from ledger.view import View

DONE = {
    "accept": "accepted", "reject": "rejected", "release": "released", "merge": "merged", "edit": "edited",
    "different": "settled",
}  # fmt: skip
"""Every decision, and what is said of it once it is made."""


class Decided(NamedTuple):
    """Answer of a decision: `id` is the learning it leaves (a new one after an edit); `batch` takes all of it back."""

    id: str
    seq: int
    batch: int | None
    act: str
    state: str
    supersedes: list[str]
    remarks: list[str]


def accept(ledger: Ledger, name: str, reason: str | None = None, *, dry_run: bool = False) -> Decided:
    """Let an item be served: release it, make it current, or stand by what was inferred; only a person does.

    What it suggests to replace and what is current still, it replaces.
    """

    def decide(view: View) -> list[NewEvent]:
        flags, events = view.flags(name), []
        if flags.quarantined:
            events.append(NewEvent("quarantine.released", name, {}, {}, new_event_id()))
        if flags.candidate:
            olds = _replaceable(view, name)
            events.append(NewEvent("proposal.accepted", name, {"supersedes": olds}, why, new_event_id()))
        elif fold.state(flags) == "current" and not flags.trusted and view.row(name)["trust"] < TRUST_NOTES:
            events.append(NewEvent("trust.granted", name, {"by": fold.BY_REVIEW}, why, new_event_id()))
        return events

    why = _why(reason)
    return _decided(ledger, name, "accept", decide, dry_run)


def reject(ledger: Ledger, name: str, reason: str | None = None, *, dry_run: bool = False) -> Decided:
    """Turn an item down: a candidate is rejected, what was served or withheld is retracted; only a person does."""

    def decide(view: View) -> list[NewEvent]:
        flags = view.flags(name)
        if flags.candidate and not flags.rejected:
            return [NewEvent("proposal.rejected", name, {}, why, new_event_id())]
        if not _waits(view, name):
            return []
        released = [NewEvent("quarantine.released", name, {}, {}, new_event_id())] if flags.quarantined else []
        back = {"reason": why.get("reason", "turned down in a review")}
        return [*released, NewEvent("learning.retracted", name, {}, back, new_event_id())]

    why = _why(reason)
    return _decided(ledger, name, "reject", decide, dry_run)


def release(ledger: Ledger, name: str, reason: str | None = None, *, dry_run: bool = False) -> Decided:
    """Say that an item is no attack: it is again what it would be without the quarantine; only a person does."""

    def decide(view: View) -> list[NewEvent]:
        released = NewEvent("quarantine.released", name, {}, why, new_event_id())
        return [released] if view.flags(name).quarantined else []

    why = _why(reason)
    done = _decided(ledger, name, "release", decide, dry_run)
    if done.state == "candidate":
        done.remarks.append(f"it waits still: `learnings review accept {name}` makes it current")
    return done


def merge(
    ledger: Ledger, name: str, other: str | None = None, reason: str | None = None, *, dry_run: bool = False
) -> Decided:
    """Let an item take the place of another learning: the one named, else what it contradicts, or is like, most.

    Of two current ones the first stays as it is, and stands for the other.

    Raises:
        BadArgument: there is none, so that one has to be named. Refused: it is withheld, and has to be released first.
    """
    item = review.item(ledger.reader, name)
    if other is not None and item.state == "current" and item.kind != "inferred":
        return merge_pair(ledger, name, other, reason, dry_run=dry_run)
    likest = [*item.suggests, *(one.id for one in item.conflicts), *(one.id for one in item.near)]
    old = other or next(iter(likest), None)
    if old is None or old == name:
        raise BadArgument(
            "nothing is like it; nothing was written", f"name what it replaces: learnings review merge {name} ID"
        )
    if item.state == "quarantined":
        raise Refused("it is withheld; nothing was written", f"release it first: `learnings review release {name}`")
    if item.state == "current":
        done = edit(ledger, name, also=[old], reason=reason or "merged in a review", dry_run=dry_run)
        return done._replace(act=DONE["merge"])

    def decide(view: View) -> list[NewEvent]:
        olds = list(dict.fromkeys([old, *_replaceable(view, name)]))
        is_candidate = fold.state(view.flags(name)) == "candidate"
        accepted = NewEvent("proposal.accepted", name, {"supersedes": olds}, why, new_event_id())
        return [accepted] if is_candidate else []

    why = _why(reason)
    return _decided(ledger, name, "merge", decide, dry_run)


def merge_pair(ledger: Ledger, stays: str, other: str, reason: str | None = None, *, dry_run: bool = False) -> Decided:
    """Let one current learning stand for another that says the same; trust, text and id of the one that stays stay.

    The other keeps its places, so that a rescan knows them; they are shown with those of the one that stays.

    Raises:
        NotAllowed: not a person. NotCurrent: one of them is not current. BadArgument: they are of two projects.
    """
    pinned: list[str] = []

    def decide(view: View) -> list[NewEvent]:
        _check_pair(view, stays, other)
        pinned[:] = [other] if view.flags(other).pinned else []
        return [NewEvent(fold.MERGED, stays, {"supersedes": [other]}, why, new_event_id())]

    why = _why(reason)
    done = _decided(ledger, stays, "merge", decide, dry_run)
    done.remarks.extend(f"{one} was pinned; pin the other with `learnings pin {stays}`" for one in pinned)
    return done


def different(ledger: Ledger, name: str, other: str, reason: str | None = None, *, dry_run: bool = False) -> Decided:
    """Say that two learnings are neither duplicates nor contradict each other; they are not asked about again.

    Raises:
        NotAllowed: not a person. Refused: that was said before. BadArgument: one learning is named twice.
    """

    def decide(view: View) -> list[NewEvent]:
        _check_pair(view, name, other)
        if any(other in pair[:2] for pair in view.flags(name).settled):
            hint = "see the view `pairs`; `learnings undo SEQ` takes it back"
            raise Refused(f"{name} and {other} were called different before; nothing was written", hint)
        return [NewEvent("pair.settled", name, {"other": other}, why, new_event_id())]

    why = _why(reason)
    return _decided(ledger, name, "different", decide, dry_run)


def _check_pair(view: View, name: str, other: str) -> None:
    if name == other:
        raise BadArgument("one learning is no pair; nothing was written", "name two")
    projects = {view.row(one)["project"] for one in (name, other)}
    if len(projects - {EVERYWHERE, None}) > 1:
        raise BadArgument("they are of two projects; nothing was written", "a pair is of one project, or everywhere")


def edit(
    ledger: Ledger,
    name: str,
    problem: str | None = None,
    solution: str | None = None,
    *,
    title: str | None = None,
    also: Sequence[str] = (),
    reason: str | None = None,
    dry_run: bool = False,
) -> Decided:
    """Put a person's words in the place of an item, and of what it would have replaced; what is None stays as it was.

    Raises:
        BadInput, GuardFailed: the words cannot be stored; nothing was written.
    """
    ledger.needs_person(f"learnings review edit {name}")
    old = ledger.reader.show(name)
    said = Draft(
        problem or old["problem"], solution or old["solution"], old["category"], old["project"] or "*",
        title or (old["title"] if problem is None else None), tuple(old["tags"]),
    )  # fmt: skip
    passed, own_id = door.draft(said), new_event_id()
    new, why = learning_id(own_id), _why(reason).get("reason", "put in these words in a review")

    def decide(view: View) -> None:
        if not _waits(view, name):
            raise _settled(view, name)
        flags = view.flags(name)
        if flags.candidate:
            olds = list(dict.fromkeys([*_replaceable(view, name), *also]))
            view.add(NewEvent("proposal.rejected", name, {}, {"reason": why}, new_event_id()), ledger.actor)
        else:
            if flags.quarantined:
                view.add(NewEvent("quarantine.released", name, {}, {}, new_event_id()), ledger.actor)
            olds = list(dict.fromkeys([name, *also]))
        ledger.add_draft(view, passed, olds, own_id, why if olds else None)
        replaced.extend(olds)
        _together(view)

    replaced: list[str] = []
    intent = NewEvent("learning.recorded", new, {}, {}, own_id)
    events, view = ledger.commit(decide, intent, None, dry_run)
    remarks = [f"masked in the text: {', '.join(sorted(set(passed.kinds)))}"] if passed.kinds else []
    return Decided(new, events[0].seq, events[0].batch, "edited", fold.state(view.flags(new)), replaced, remarks)


def _decided(
    ledger: Ledger, name: str, act: str, decide: Callable[[View], Iterable[NewEvent]], dry_run: bool
) -> Decided:
    """Append a decision about an item.

    Raises:
        NotAllowed: not a person. Refused: the item does not wait, or not for that.
    """
    ledger.needs_person(f"learnings review {act} {name}")

    def under_lock(view: View) -> None:
        view.row(name)
        events = list(decide(view))
        if not events:
            raise _settled(view, name)
        for event in events:
            view.add(event, ledger.actor)
        _together(view)

    intent = NewEvent("proposal.accepted", name, {}, {}, new_event_id())
    events, view = ledger.commit(under_lock, intent, None, dry_run)
    olds = [old for event in events if event.kind in fold.REPLACING for old in json.loads(event.data)["supersedes"]]
    return Decided(name, events[0].seq, events[0].batch, DONE[act], fold.state(view.flags(name)), olds, [])


def _together(view: View) -> None:
    """Let one undo take all events of a decision back, when there are several."""
    if len(view.drafts) > 1:
        view.drafts[:] = [draft._replace(batch=view.head.seq + 1) for draft in view.drafts]


def _waits(view: View, name: str) -> bool:
    """Tell whether there is anything to decide about a learning."""
    flags = view.flags(name)
    state = fold.state(flags)
    return state in ("candidate", "quarantined") or (state == "current" and view.row(name)["trust"] < TRUST_NOTES)


def _settled(view: View, name: str) -> LedgerError:
    state = fold.state(view.flags(name))
    hint = f"see `learnings history {name}`; `learnings undo SEQ` takes a decision back"
    return Refused(f"{name} is {state}, and does not wait for that; nothing was written", hint)


def _replaceable(view: View, name: str) -> list[str]:
    """Return what an item suggests to replace, as far as that is current still."""
    row = view.raw.execute(sql_log.CREATING_DATA, (name,)).fetchone()
    olds = json.loads(row[0]).get("supersedes", ()) if row is not None else ()
    return [old for old in olds if fold.state(view.flags(old)) == "current"]


def _why(reason: str | None) -> dict[str, str]:
    return {} if reason is None else {"reason": door.text("reason", reason, REASON_CHARS)[0]}
