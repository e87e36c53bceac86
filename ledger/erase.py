"""Erase texts for ever, for privacy: one event, every copy that is surely one, and the bytes of both.

Only a person at the command line does this, and nothing takes it back. Order
matters: what is disposable and may hold the words (exposures, queue, digests of
notes) is cleaned first, while it is known what to look for; then the event and
the emptied payloads commit together; then the store takes the bytes out of the
file (`purge`). Killed before the commit, the texts stand; after it, whoever writes
next finishes.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ledger import erasures, fold, needles, place, project, purge, residue, sql_log, turns_drop
from ledger.capture import Written
from ledger.errors import BadArgument, LedgerError, NotAllowed, NotFound, Refused
from ledger.exposures import Exposures
from ledger.handover import forget
from ledger.intent import id_for
from ledger.ledger import Ledger
from ledger.model import NewEvent
from ledger.needles import Needles
from ledger.place import os_fault
from ledger.store import CHUNK
from ledger.store_sqlite import faults
from ledger.view import View

REASONS = ("secret", "personal", "legal")
NAMED_MAX = 100
"""Most events and learnings that one command names, and most texts of it that a person gives."""

ROTATE = "erasing is not revoking: whoever saw the secret has it, so change it wherever it is valid"
MASK = "[REDACTED]"


class Named(NamedTuple):
    """An event that goes, or may have to: its seq, its kind and the stream it is on; never its text."""

    seq: int
    kind: str
    stream: str


class Still(NamedTuple):
    """A file that still holds what was erased, and what it is: a backup, an export, a source, a transcript …"""

    path: str
    kind: str


class Erased(NamedTuple):
    """Answer of `erase`.

    `erased` are the seqs whose texts are gone, `events` the same with kind and
    stream, `learnings` the ids of learnings without a text now. `maybe` shares a
    sentence with what went and was left alone. `blocked` counts the places that
    rescans skip. `pending` says that the file's bytes are not all gone yet.
    `instead` is a learning's text without what a person named, None where there is none.
    """

    seq: int | None
    erased: list[int]
    learnings: list[str]
    events: list[Named]
    maybe: list[Named]
    still_in: list[Still]
    blocked: int
    pending: bool
    instead: dict[str, Any] | None
    remarks: list[str]


def erase(
    ledger: Ledger,
    named: Sequence[int | str],
    reason: str,
    given: Sequence[str] = (),
    *,
    files: Iterable[str] = (),
    event_id: str | None = None,
    dry_run: bool = False,
) -> Erased:
    """Destroy the texts of events and learnings, with every copy of them in the log.

    Erasing again what is erased already finishes what was not done, and looks
    again where it still stands.

    Args:
        named: seqs of events, and whole ids of learnings.
        given: texts that must go wherever they stand; never a part of any answer.
        files: files that a client loads, which are looked through too.

    Raises:
        NotAllowed: not a person at the command line. BadArgument, NotFound: nothing that could be erased is named.
        Refused: nothing there has a text. Locked: somebody holds the exposures or the queue; nothing was erased.
    """
    _check(ledger, named, reason, given)
    own_id = id_for(event_id)
    plans: list[Plan] = []

    def decide(view: View) -> None:
        plan = planned(view, named, reason, given)
        plans[:] = [plan]
        if not plan.events:
            return
        if not dry_run:
            clean(ledger, plan)
        data = {"targets": [one.seq for one in plan.events], "blocked": plan.blocked, "reason": reason}
        view.add(NewEvent("payload.erased", "ledger", data, {}, own_id), ledger.actor)

    intent = NewEvent("payload.erased", "ledger", {"reason": reason}, {}, own_id)
    ledger.store.purge_wait_ms = purge.WAIT_MS
    try:
        events, _ = ledger._commit(decide, intent, event_id, dry_run)
    finally:
        ledger.store.purge_wait_ms = purge.RETRY_MS
    plan = plans[0] if plans else None
    if plan is not None and not plan.events and not plan.already and not events:
        found = turns_drop.forget(ledger.path, lambda text: needles.is_copy(plan.wanted, text), dry_run=dry_run)
        if found:
            return _only_turns(ledger, plan, found, files, dry_run)
    if plan is None or (not plan.events and not events):
        return _known(ledger, plan, events[0].seq if events else None, files)
    return _answer(ledger, plan, events[0].seq, files, reason, dry_run)


def again(ledger: Ledger) -> Erased:
    """Erase what an older copy brought back, and finish what was not done to the last byte."""
    found = ledger.store.erase_again()
    ledger.store.finish_erasing()
    seq = ledger.store.head().seq if found else None
    gone = [Named(seq, "", "") for seq in found]
    remarks, pending = _told(ledger), erasures.pending(ledger.path) is not None
    return Erased(seq, found, [], gone, [], [], 0, pending, None, remarks)


def _check(ledger: Ledger, named: Sequence[int | str], reason: str, given: Sequence[str]) -> None:
    if (ledger.actor.kind, ledger.actor.channel) != ("person", "cli"):
        raise NotAllowed(
            "only a person at the command line erases; nothing was erased",
            "a person can run `learnings erase ID --reason secret`",
        )
    if reason not in REASONS:
        raise BadArgument("unknown reason; nothing was erased", "use one of: " + ", ".join(REASONS))
    if not named and not given:
        raise BadArgument("nothing is named that could be erased; nothing was erased", "name events or learnings")
    if len(named) > NAMED_MAX or len(given) > NAMED_MAX:
        raise BadArgument(f"name at most {NAMED_MAX}; nothing was erased", "run the command several times")
    if any(len(needles.plain(text)) < needles.GIVEN_CHARS for text in given):
        raise BadArgument(
            f"a text to look for has at least {needles.GIVEN_CHARS} characters; nothing was erased",
            "name the events by their seq instead",
        )


# -- what goes -------------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What an erasure takes: the events, with their bodies as long as they are there."""

    events: list[Named]
    bodies: list[dict[str, Any]]
    maybe: list[Named]
    already: list[int]
    wanted: Needles
    lost: frozenset[str]
    blocked: list[str]
    unblocked: list[str]
    paths: list[str]
    probes: list[str]
    instead: dict[str, Any] | None


def planned(view: View, named: Sequence[int | str], reason: str, given: Sequence[str]) -> Plan:
    """Return what would go, decided under the lock: what was named, what belongs to it, and every copy.

    Raises:
        NotFound: something that was named is not there. Refused: it has no text.
    """
    first = _belonging(view, named)
    left = {seq: body for seq in sorted(first) if (body := _body(view, seq)) not in (None, {})}
    already = [seq for seq in sorted(first) if _body(view, seq) is None]
    if first and not left and not already:
        raise Refused("what was named has no text that could be erased; nothing was erased", "see `learnings history`")
    bodies = [body for body in left.values() if body is not None]
    wanted = needles.needles(bodies, given, by_token=reason == "secret")
    lost = frozenset(_lost(view, bodies, left))
    copies, maybe = _copies(view, wanted, lost, set(first))
    belonging = _belonging(view, sorted(copies))
    more = {seq: body for seq in sorted(belonging - first) if (body := _body(view, seq)) not in (None, {})}
    gone = {seq: body for seq, body in sorted((left | more).items()) if body is not None}
    events = [_named(view, seq) for seq in gone]
    kept = [one for one in maybe if one.seq not in gone]
    blocked, unblocked, paths = _places(view, list(gone), wanted, list(gone.values()))
    look = needles.probes(list(gone.values()), wanted, given)
    lost |= _lost(view, list(more.values()), gone) if more else frozenset()
    instead = _instead(view, events, gone, given) if len(named) == 1 else None
    return Plan(events, list(gone.values()), kept, already, wanted, lost, blocked, unblocked, paths, look, instead)


def _belonging(view: View, named: Iterable[int | str]) -> set[int]:
    """Return the events that carry text of what was named: of a learning all that is said on it and of it."""
    found: set[int] = set()
    for one in named:
        name = one
        if isinstance(one, int):
            act = view.act(one)
            found.add(one)
            name = act.stream if act.kind in fold.CREATING else ""
        elif one.startswith("lrn_"):
            view.row(one)
        acts = project.touching(view.raw, (str(name),)) if name else []
        if name and not acts:
            raise NotFound(f"there is no learning {name}; nothing was erased", "look with `learnings list`")
        found.update(act.seq for act in acts if name in (act.stream, act.data.get("learning"), act.data.get("other")))
    return found


def _body(view: View, seq: int) -> dict[str, Any] | None:
    row = view.raw.execute(sql_log.PAYLOAD_BODY, (seq,)).fetchone()
    body: dict[str, Any] | None = json.loads(row[0]) if row is not None and row[0] is not None else None
    return body


def _named(view: View, seq: int) -> Named:
    act = view.act(seq)
    return Named(seq, act.kind, act.stream)


def _copies(view: View, wanted: Needles, lost: frozenset[str], but: set[int]) -> tuple[set[int], list[Named]]:
    """Return the events that hold a copy, and those that only share a sentence; every payload is looked at."""
    copies: set[int] = set()
    maybe: list[Named] = []
    after = 0
    while True:
        rows = view.raw.execute(sql_log.PAYLOADS_LEFT, {"after": after, "limit": CHUNK}).fetchall()
        for seq, kind, stream, _, body in rows:
            after = seq
            if seq in but or body == b"{}":
                continue
            told = json.loads(body)
            if needles.is_copied(wanted, told) or _was_asked(kind, told, lost):
                copies.add(seq)
            elif needles.may_be_copied(wanted, told):
                maybe.append(Named(seq, kind, stream))
        if len(rows) < CHUNK:
            return copies, maybe


def _was_asked(kind: str, body: dict[str, Any], lost: frozenset[str]) -> bool:
    """Tell whether a verdict keeps keywords that nothing else but what goes would explain."""
    return kind == "exposure.judged" and any(needles.words(word) & lost for word in body.get("keywords", ()))


def _lost(view: View, bodies: Iterable[dict[str, Any]], gone: Iterable[int]) -> set[str]:
    """Return the words that no learning holds any more once these are gone."""
    rows = set(gone)
    found: set[str] = set()
    for word in {word for body in bodies for text in needles.texts_in(body) for word in needles.words(text)}:
        quoted = '"' + word.replace('"', '""') + '"'
        holding = view.raw.execute(sql_log.WORD_ROWS, {"match": quoted, "most": len(rows) + 1}).fetchall()
        if all(row[0] in rows for row in holding):
            found.add(word)
    return found


def _places(
    view: View, seqs: list[int], wanted: Needles, bodies: list[dict[str, Any]]
) -> tuple[list[str], list[str], list[str]]:
    """Return the keys of places to skip, the paths of places whose name gives the text away, and every path.

    A key is a HMAC with the ledger's own key: of a name that holds a short number
    of the text, all numbers could be tried.
    """
    rows = view.raw.execute(sql_log.SOURCES_OF, {"seqs": json.dumps(seqs)}).fetchall()
    texts = [
        text
        for body in bodies
        for key, value in body.items()
        if key not in ("source", "observed_at")  # when it was said is no part of what was said
        for text in needles.texts_in(value)
    ]
    held = {word for text in texts for word in needles.words(text)}
    numbers = {word for word in held if any(letter.isdigit() for letter in word) and len(word) >= needles.GIVEN_CHARS}
    blocked: dict[str, None] = {}
    unblocked: dict[str, None] = {}
    paths: dict[str, None] = {}
    for locator, key, path in rows:
        if path is not None:
            paths[path] = None
        if needles.is_copy(wanted._replace(whole=frozenset(), same=frozenset()), locator) or (
            needles.words(locator) & numbers
        ):
            unblocked[path or "?"] = None
        else:
            blocked[bytes(key).hex()] = None
    return sorted(blocked), list(unblocked), list(paths)


def _instead(
    view: View, events: list[Named], gone: dict[int, dict[str, Any]], given: Sequence[str]
) -> dict[str, Any] | None:
    """Return a learning's text without what a person named, for recording it again; None when that leaves nothing."""
    created = [one for one in events if one.kind in fold.CREATING]
    if not given or len(created) != 1 or fold.state(view.flags(created[0].stream)) != "current":
        return None
    body = gone[created[0].seq]
    texts = {name: _masked(body[name], given) for name in ("problem", "solution")}
    if any(text is None for text in texts.values()) or all(body[name] == text for name, text in texts.items()):
        return None
    row = view.row(created[0].stream)
    return {**texts, "category": row["category"], "project": row["project"]}


def _masked(text: str, given: Sequence[str]) -> str | None:
    """Return a text with what a person named masked; None when some of it is left, or nothing but the mask."""
    for one in given:
        at = text.casefold().find(one.casefold())
        while at >= 0:
            text = text[:at] + MASK + text[at + len(one) :]
            at = text.casefold().find(one.casefold(), at + len(MASK))
    named = needles.needles((), given)
    rest = text.replace(MASK, "").strip(" .,;:'\"")
    return None if needles.is_copy(named, text) or not rest else text


# -- what may hold it beside the log ---------------------------------------------------------------------------------


def clean(ledger: Ledger, plan: Plan) -> None:
    """Take the words out of what lies beside the ledger and is disposable.

    Raises:
        Locked, FileFault: something cannot be cleaned; nothing was erased.
    """
    _forget_keywords(ledger, plan)
    forget(ledger.path, lambda record: _says(plan.wanted, record))
    turns_drop.forget(ledger.path, lambda text: needles.is_copy(plan.wanted, text))
    for end, is_gone in ((Written(ledger).path, lambda line: True), (ledger.path + ".edits", _edits_gone(plan))):
        _without_lines(end, is_gone)


def _forget_keywords(ledger: Ledger, plan: Plan) -> None:
    def is_gone(keyword: str) -> bool:
        return bool(needles.words(keyword) & plan.lost) or needles.is_copy(plan.wanted, keyword)

    with Exposures(ledger.path, ledger.store.ledger_id) as exposures:
        exposures.forget_words(is_gone)


def _says(wanted: Needles, record: dict[str, Any]) -> bool:
    return any(needles.is_copy(wanted, text) for text in needles.texts_in(record))


def _edits_gone(plan: Plan) -> Callable[[str], bool]:
    """Tell which notes of mended files go: a digest of a file that held a short secret could be tried out."""
    seqs, paths = {one.seq for one in plan.events}, set(plan.paths)

    def is_gone(line: str) -> bool:
        try:
            found = json.loads(line)
            return found["seq"] in seqs or found["file"] in paths
        except (ValueError, KeyError, TypeError):
            return True

    return is_gone


def _without_lines(path: str, is_gone: Callable[[str], bool]) -> None:
    """Take lines out of a small file; one without any left is removed."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise os_fault(error, path) from None
    kept = [line for line in lines if not is_gone(line)]
    if not kept:
        with suppress(FileNotFoundError):
            os.unlink(path)
    elif len(kept) < len(lines):
        place.replace(path, "".join(kept).encode())


# -- the answer ------------------------------------------------------------------------------------------------------


def _answer(ledger: Ledger, plan: Plan, seq: int, files: Iterable[str], reason: str, dry_run: bool) -> Erased:
    if not dry_run:
        with suppress(LedgerError):  # what a prompt left there while this went on
            _forget_keywords(ledger, plan)
    remarks = _told(ledger)
    still = _still(ledger, plan, files, remarks, with_own=not dry_run)
    if reason == "secret" and not dry_run:
        remarks.append(ROTATE)
    if plan.unblocked:
        remarks.append(
            f"the name of a place in {', '.join(plan.unblocked)} holds the text itself, so it cannot be kept out by "
            "its key: correct that file, or the next scan brings the text back"
        )
    if plan.maybe:
        seqs = ", ".join(str(one.seq) for one in plan.maybe[:10]) + (" …" if len(plan.maybe) > 10 else "")
        verb = "are" if dry_run else "were"
        remarks.append(
            f"these share a sentence or their matter with it and {verb} left alone: events {seqs}; "
            "name them as well if they have to go"
        )
    learnings = [one.stream for one in plan.events if one.kind in fold.CREATING]
    pending = not dry_run and erasures.pending(ledger.path) is not None
    seqs_gone = [one.seq for one in plan.events]
    return Erased(
        seq, seqs_gone, learnings, plan.events, plan.maybe, still, len(plan.blocked), pending, plan.instead, remarks
    )


def _only_turns(ledger: Ledger, plan: Plan, found: int, files: Iterable[str], dry_run: bool) -> Erased:
    """Answer for a text that no event holds, and turns of past sessions did."""
    remarks = _told(ledger)
    still = _still(ledger, plan, files, remarks, with_own=not dry_run)
    done = "would be" if dry_run else "are"
    remarks.append(
        f"the log does not hold it; {found:,} turns of the session index {'do' if dry_run else 'did'}, and {done} gone"
    )
    return Erased(None, [], [], [], [], still, 0, pending=False, instead=None, remarks=remarks)


def _known(ledger: Ledger, plan: Plan | None, seq: int | None, files: Iterable[str]) -> Erased:
    """Answer for what is erased already: finish it; the texts are gone, so that nothing can be looked for."""
    ledger.store.finish_erasing()
    already = plan.already if plan is not None else []
    if seq is None and already:
        seq = ledger.store.event(already[0]).erased_by
    if seq is None:
        raise NotFound("nothing holds the text that was given; nothing was erased", "name events or learnings")
    if not already:
        already = json.loads(ledger.store.event(seq).data)["targets"]
    events = [ledger.store.event(one) for one in already]
    gone = [Named(one.seq, one.kind, one.stream) for one in events]
    remarks = [*_told(ledger), f"this was erased before, by event {seq}; nothing was written"]
    still = _still(ledger, plan, files, remarks, with_own=True) if plan is not None and plan.probes else []
    learnings = [one.stream for one in gone if one.kind in fold.CREATING]
    pending = erasures.pending(ledger.path) is not None
    return Erased(seq, already, learnings, gone, [], still, 0, pending, None, remarks)


def _still(ledger: Ledger, plan: Plan, files: Iterable[str], remarks: list[str], *, with_own: bool) -> list[Still]:
    """Return every file that still holds what went; the erasure stands, so what cannot be looked at is a remark."""
    look = residue.Look(plan.wanted, plan.probes)
    sources = list(plan.paths)
    try:
        with faults(ledger.path):
            sources += [row[0] for row in ledger.store.connection().execute(sql_log.ALL_PATHS).fetchall()]
    except LedgerError as error:
        remarks.append(f"files that other learnings came from were not looked at ({error.code}); erase it again then")
    found = [one for one in residue.others(ledger.path, sources, files) if look.finds(one.path)]
    ours = [one for one in residue.own(ledger.path) if look.finds(one.path)] if with_own else []
    if ours:
        with suppress(LedgerError):  # then they are named, which is the safe side
            look = residue.Look(plan.wanted, _unexplained(ledger, plan.probes))
            ours = [one for one in ours if look.finds(one.path)]
    return [Still(one.path, one.kind) for one in (*ours, *found)]


def _unexplained(ledger: Ledger, probes: Iterable[str]) -> list[str]:
    """Return the probes that no text explains which was left on purpose: the ledger's own file holds that one."""
    left = {probe: needles.plain(probe) for probe in probes}
    with faults(ledger.path):
        for row in ledger.store.connection().execute(sql_log.PAYLOADS_LEFT, {"after": 0, "limit": -1}):
            told = "\n".join(map(needles.plain, needles.texts_in(json.loads(row[4]))))
            left = {probe: text for probe, text in left.items() if text not in told}
    return list(left)


def _told(ledger: Ledger) -> list[str]:
    remarks = list(ledger.store.remarks)
    ledger.store.remarks.clear()
    return remarks
