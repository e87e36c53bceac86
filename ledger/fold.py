"""What events mean: which are legal, what each does to a learning, and what undo takes back.

Pure. One set of rules serves append, undo, redo, rebuild, verify and the
tests' model, because two sets would drift apart. A learning's state is a fold
of *flags* over its live events (a single last-event-wins value made a released
candidate current). An event is live unless a live `event.undone` names it.

A kind of event is added by a schema file, a case in `STEPS` (and `GROUNDS`,
where it needs ground) and a new `sql.PROJECTION_VERSION`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class Act(NamedTuple):
    """An event as the fold sees it; `data` is the parsed envelope data."""

    seq: int
    kind: str
    stream: str
    data: dict[str, Any]
    actor_kind: str = "person"
    trust: int = 4
    channel: str = "cli"
    actor_id: str | None = None


class Flags(NamedTuple):
    """What live events say of one learning.

    `replaced_by` holds (new id, seq of the event that replaced it); `sources`
    the ids of the places where it stands; `reviewed` is True when a person
    accepted or released it, `trusted` when one granted it trust. `sessions` are
    those that inferred it, of what was inferred. `aliases` is the seq of the event whose words find it
    too, 0 when there is none. `settled` holds (one id, other id, seq) of each
    pair that a person looked at and called different, this learning being one of the two.
    """

    created: bool = False
    candidate: bool = False
    rejected: bool = False
    quarantined: bool = False
    retracted: bool = False
    pinned: bool = False
    reviewed: bool = False
    trusted: bool = False
    sessions: frozenset[str] = frozenset()
    replaced_by: frozenset[tuple[str, int]] = frozenset()
    sources: frozenset[str] = frozenset()
    aliases: int = 0
    settled: frozenset[tuple[str, str, int]] = frozenset()


BLANK = Flags()

CREATING = ("learning.recorded", "learning.superseded", "learning.proposed")
"""Kinds whose stream is a learning that did not exist before."""

MERGED = "learning.merged"
"""One current learning stands for another that says the same: no refusal of that text."""

REPLACING = ("learning.superseded", "proposal.accepted", MERGED)
"""Kinds that put their learning in the place of those in `data.supersedes`."""

LASTING = ("payload.erased", "head.accepted", "batch.started")
"""Kinds that no undo can take back."""


AGREED = 2
"""Independent sessions that say the same, from which on what was inferred is served unasked."""

BY_PATH = "path"
"""Trust granted to what a place says now; the place may say something else, which is then not trusted."""

BY_REVIEW = "review"
"""Trust granted to one text that a person looked at, and stands by."""

NAMED = ("lrn_", "setting:", "exposure:", "summary:")
"""How the streams begin whose state projections keep."""


class Fault(NamedTuple):
    """Why an event is not legal: a word for the rule, and the id it fails on."""

    rule: str
    id: str


def state(flags: Flags) -> str:
    """Return the one word for `flags`, by precedence."""
    if not flags.created:
        return "undone"
    if flags.rejected:
        return "rejected"
    if flags.quarantined:
        return "quarantined"
    if flags.candidate:
        return "candidate"
    if flags.replaced_by:
        return "superseded"
    return "retracted" if flags.retracted else "current"


# -- step: what one live event does to one learning it names ----------


def _created(flags: Flags, act: Act) -> Flags:
    source = act.data.get("source")
    sessions = frozenset([act.actor_id] if act.trust == 0 and act.actor_id else ())
    return flags._replace(
        created=True, sessions=sessions, sources=flags.sources | {source} if source else flags.sources
    )


def _sourced(flags: Flags, act: Act) -> Flags:
    told = flags._replace(sources=flags.sources | {act.data["source"]})
    if act.actor_id is None or act.trust > 0 or not flags.sessions:
        return told
    return told._replace(sessions=flags.sessions | {act.actor_id})


def _proposed(flags: Flags, act: Act) -> Flags:
    return _created(flags, act)._replace(candidate=True)


def _accepted(flags: Flags, act: Act) -> Flags:
    return flags._replace(candidate=False, reviewed=flags.reviewed or act.actor_kind == "person")


def _released(flags: Flags, act: Act) -> Flags:
    return flags._replace(quarantined=False, reviewed=flags.reviewed or act.actor_kind == "person")


def _pair(act: Act) -> tuple[str, str, int]:
    """Return the pair that an event settles: its ids, sorted, and its seq."""
    one, other = sorted((act.stream, act.data["other"]))
    return one, other, act.seq


STEPS: dict[str, Callable[[Flags, Act], Flags]] = {
    "learning.recorded": _created,
    "learning.superseded": _created,
    "learning.proposed": _proposed,
    MERGED: lambda flags, act: flags,
    "learning.retracted": lambda flags, act: flags._replace(retracted=True),
    "pair.settled": lambda flags, act: flags._replace(settled=flags.settled | {_pair(act)}),
    "proposal.accepted": _accepted,
    "proposal.rejected": lambda flags, act: flags._replace(rejected=True),
    "learning.quarantined": lambda flags, act: flags._replace(quarantined=True),
    "quarantine.released": _released,
    "source.added": _sourced,
    "source.removed": lambda flags, act: flags._replace(sources=flags.sources - {act.data["source"]}),
    "learning.pinned": lambda flags, act: flags._replace(pinned=True),
    "learning.unpinned": lambda flags, act: flags._replace(pinned=False),
    "trust.granted": lambda flags, act: flags._replace(trusted=True),
    "aliases.derived": lambda flags, act: flags._replace(aliases=act.seq),
    "exposure.judged": lambda flags, act: flags,
    "session.summarised": lambda flags, act: flags,
    "event.undone": lambda flags, act: flags,
    "payload.erased": lambda flags, act: flags,
    "setting.changed": lambda flags, act: flags,
    "head.accepted": lambda flags, act: flags,
    "batch.started": lambda flags, act: flags,
}
"""Every kind this program knows, with its effect on the learning whose stream it is on."""


def step(flags: Flags, act: Act, learning_id: str) -> Flags:
    """Return the flags of `learning_id` after the live event `act`, which names it."""
    if act.stream == learning_id or (act.kind == "pair.settled" and act.data["other"] == learning_id):
        return STEPS[act.kind](flags, act)
    if act.kind in REPLACING and learning_id in act.data["supersedes"]:
        return flags._replace(replaced_by=flags.replaced_by | {(act.stream, act.seq)})
    return flags


# -- legal: on what ground an event stands ----------


def _is(*states: str) -> Callable[[Flags, Act], str | None]:
    word = "not_" + "_or_".join(states)
    return lambda flags, act: None if state(flags) in states else word


def _new(flags: Flags, act: Act) -> str | None:
    return "exists" if flags.created else None


def _pinnable(flags: Flags, act: Act) -> str | None:
    if state(flags) != "current":
        return "not_current"
    return "pinned" if flags.pinned else None


def _trustable(flags: Flags, act: Act) -> str | None:
    if state(flags) != "current":
        return "not_current"
    return "trusted" if flags.trusted else None


def _rejectable(flags: Flags, act: Act) -> str | None:
    return None if flags.created and flags.candidate and not flags.rejected else "not_candidate"


def _quarantinable(flags: Flags, act: Act) -> str | None:
    return "not_served" if not flags.created or flags.rejected or flags.quarantined else None


GROUNDS: dict[str, Callable[[Flags, Act], str | None]] = {
    "learning.recorded": _new,
    "learning.superseded": _new,
    "learning.proposed": _new,
    "learning.retracted": _is("current"),
    MERGED: _is("current"),
    "proposal.accepted": _is("candidate"),
    "proposal.rejected": _rejectable,
    "learning.quarantined": _quarantinable,
    "quarantine.released": lambda flags, act: None if flags.created and flags.quarantined else "not_quarantined",
    "source.added": lambda flags, act: "stands" if act.data["source"] in flags.sources else None,
    "source.removed": lambda flags, act: None if act.data["source"] in flags.sources else "does_not_stand",
    "learning.pinned": _pinnable,
    "learning.unpinned": lambda flags, act: None if flags.created and flags.pinned else "not_pinned",
    "trust.granted": _trustable,
    "pair.settled": lambda flags, act: "is_the_other" if act.data["other"] == act.stream else None,
}
"""What must hold for the learning whose stream an event is on; kinds that are absent are always legal."""


def legal(act: Act, flags: Mapping[str, Flags]) -> Fault | None:
    """Return why `act` may not follow, None when it may.

    Only ids in `flags` are looked at: an undo replays a part of the log, and
    what it does not touch stands as it stood. `event.undone` is judged by
    `faults`.
    """
    ground = GROUNDS.get(act.kind)
    if ground is not None and act.stream in flags:
        rule = ground(flags[act.stream], act)
        if rule is not None:
            return Fault(rule, act.stream)
    if act.kind in REPLACING:
        for old in act.data["supersedes"]:
            if old == act.stream or (old in flags and state(flags[old]) != "current"):
                return Fault("not_current", old)
    return None


# -- undo ----------


def names(act: Act) -> tuple[str, ...]:
    """Return the ids that an event other than an undo names: learnings, the setting it changes, what it judges."""
    if act.kind == "event.undone" or act.kind not in STEPS or not act.stream.startswith(NAMED):
        return ()
    if act.kind == "exposure.judged":
        return (act.stream, act.data["learning"]) if "learning" in act.data else (act.stream,)
    if act.kind == "pair.settled":
        return act.stream, act.data["other"]
    return (act.stream, *act.data.get("supersedes", ()))


def alive(acts: Iterable[Act]) -> set[int]:
    """Return the seqs that count, given every event and undo that may bear on them; any order."""
    live: set[int] = set()
    undone: set[int] = set()
    for act in sorted(acts, key=lambda act: act.seq, reverse=True):
        if act.seq not in undone:
            live.add(act.seq)
            if act.kind == "event.undone":
                undone.update(act.data["targets"])
    return live


def fold(learning_id: str, acts: Iterable[Act]) -> Flags:
    """Return the flags of a learning from all events that touch it, in seq order, undone ones included."""
    known = list(acts)
    live = alive(known)
    flags = BLANK
    for act in known:
        if act.seq in live:
            flags = step(flags, act, learning_id)
    return flags


def trust(learning_id: str, acts: Iterable[Act]) -> int:
    """Return the highest trust among the live events that brought a learning: its creation and its acceptance.

    What a person accepted, a person stands by: a less trusted channel neither
    replaces it nor takes it back, although the row keeps the trust it came with.
    A place whose text was trusted as a whole may still say something else.
    """
    known = list(acts)
    live = alive(known)
    return max((act.trust for act in known if act.seq in live and _brings(act, learning_id)), default=0)


def _brings(act: Act, learning_id: str) -> bool:
    if act.kind == "trust.granted" and act.data["by"] == BY_PATH:
        return False
    return act.stream == learning_id and act.kind in (*CREATING, "proposal.accepted", "trust.granted")


def withdraws(act: Act, learning_id: str) -> bool:
    """Tell whether an event takes a learning from those who are served it: retracted, rejected or replaced.

    One that was merged is served still, in the words of the other.
    """
    if act.kind in ("learning.retracted", "proposal.rejected"):
        return act.stream == learning_id
    return act.kind in REPLACING and act.kind != MERGED and learning_id in act.data["supersedes"]


def faults(acts: list[Act], ids: Iterable[str]) -> list[tuple[Act, Fault]]:
    """Replay what is alive among `acts`; return every event without ground, in seq order, and why.

    An event without ground has no effect in the replay, so what is returned
    after the first is what would lose its ground if those before it went.

    Args:
        acts: every event that touches one of `ids`, in seq order, ending with
            the undo that is being considered.
        ids: the learnings whose state that undo may change.
    """
    live = alive(acts)
    flags = dict.fromkeys(ids, BLANK)
    undone: set[int] = set()
    found: list[tuple[Act, Fault]] = []
    for act in acts:
        if act.seq not in live:
            continue
        if act.kind == "event.undone":
            twice = undone.intersection(act.data["targets"])
            if twice:
                found.append((act, Fault("undone", str(min(twice)))))
            undone.update(act.data["targets"])
            continue
        fault = legal(act, flags)
        if fault is not None:
            found.append((act, fault))
            continue
        for name in names(act):
            if name in flags:
                flags[name] = step(flags[name], act, name)
    return found


def judgements(acts: Iterable[Act]) -> dict[str, int]:
    """Return the seq of the verdict that holds for each learning of an exposure; '' stands for the whole of it."""
    known = list(acts)
    live = alive(known)
    return {act.data.get("learning", ""): act.seq for act in known if act.kind == "exposure.judged" and act.seq in live}


def summary_seq(acts: Iterable[Act]) -> int | None:
    """Return the seq of the live event that summarised a session, None once it is undone."""
    known = list(acts)
    live = alive(known)
    return max((act.seq for act in known if act.kind == "session.summarised" and act.seq in live), default=None)


def setting_seq(acts: Iterable[Act]) -> int | None:
    """Return the seq of the live event that says a setting's value, None when none is left."""
    known = list(acts)
    live = alive(known)
    return max((act.seq for act in known if act.kind == "setting.changed" and act.seq in live), default=None)
