"""What a person may decide, ranked by what it would change; `decide` is what they do about it.

Three kinds of learning wait: candidates, which would take the place of
something more trusted; what the screen withheld; and what was inferred, until
a second session says it too. Nothing a person said waits, nothing an agent or a
note said does unless it contradicts a more trusted channel or looks like an
attack. Nothing is ever accepted by waiting: after `WAIT_DAYS` an item is not
asked about any more, and stays what it is, served to nobody.

Below all that stand a few pairs of current learnings that say the same: nothing
waits for those, both are served, and they count as nothing that waits.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ledger import fold, pairs, place, query, screen, sql
from ledger.answer import Conflict, Near
from ledger.begin import WAIT_DAYS
from ledger.errors import LedgerError
from ledger.exposures import Exposures
from ledger.model import TRUST_INFERRED, plain
from ledger.reader import Reader

ITEMS = 10
"""Items that are shown at a time."""

RANKED_MAX = 200
"""Most items that are weighed against each other, the newest ones."""

COMPARED_MAX = 40
"""Items, best first, for which contradictions are looked up: some milliseconds each."""

PAIRS = 3
"""Pairs that are shown at a time, below what waits: nobody goes through hundreds of them."""

PROMPTS, SHARED_WORDS, ASKED_MAX = 500, 2, 4
"""Newest prompts that are looked at, the keywords one must share with an item to ask for it, and how many count."""

REPLACES, CONTRADICTS, TOLD_TWICE, LOOKS_HOSTILE = 3.0, 2.0, 1.0, -2.0
"""What an item's place in the list hangs on, beside how often it was asked for: set by hand, so that what keeps a
prompt without its answer, or two truths side by side, is decided before what only lies there."""

PLACES_SHOWN = 3


class Item(NamedTuple):
    """One item: what it says, why it waits, and where it was read; `asked` counts the prompts it might have answered.

    `suggests` are the learnings that it would replace, `heard` how many places or sessions say it. `kind` is
    candidate, quarantined or inferred, or merge: then `id` is the one of two that would stay, `other` the other.
    """

    id: str
    title: str | None
    problem: str
    solution: str
    category: str
    project: str | None
    state: str
    reason: str
    source: str
    trust: int
    recorded_at: str
    asked: int
    heard: int
    suggests: list[str]
    conflicts: list[Conflict]
    near: list[Near]
    kind: str
    other: dict[str, Any] | None = None


class Waiting(NamedTuple):
    """Answer of `review`: the items, how many wait in all, how many pairs say the same, and what else to know."""

    items: list[Item]
    waiting: int
    truncated: bool
    remarks: list[str]
    pairs: int


class Place(NamedTuple):
    """A place whose content a person trusts: since when, how many learnings, of those current, and how many are not."""

    path: str
    since: str
    granted: int
    current: int
    changed: int


# -- what waits -------------------------------------------------------------------------------------------------------


def waiting(
    reader: Reader, now: float, *, project: str | None = None, many: int = ITEMS, every: bool = False
) -> Waiting:
    """Return what waits, what matters most first.

    Args:
        now: seconds since 1970.
        project: only what holds there; None is everywhere.
        every: also what is not asked about any more.
    """
    places = None if project is None else set(reader.projects(project))
    with reader.snapshot():
        rows = reader.rows(sql.WAITING, {"since": "" if every else _since(now)})
        prompts = _prompts(reader)
        found = [_item(reader, row[1], prompts) for row in rows[:RANKED_MAX]]
        if places is not None:
            found = [one for one in found if one.project in places]
        found.sort(key=lambda one: (-_weight(one), one.id))
        compared = [_compared(reader, one) for one in found[:COMPARED_MAX]]
        ranked = sorted(compared, key=lambda one: -_weight(one)) + found[COMPARED_MAX:]
        total = len(rows) if places is None else len(found)
        same = pairs.found(reader, places, frozenset(row[1] for row in rows))
        room = max(0, many - len(ranked)) if every else min(PAIRS, max(0, many - len(ranked)))
        items = [*ranked[:many], *(_pair(reader, one) for one in same[:room])]
        return Waiting(items, total, total > many or len(same) > room, _remarks(reader), len(same))


def count(reader: Reader, now: float) -> int:
    """Return how many items wait."""
    return int(reader.rows(sql.WAITING_COUNT, {"since": _since(now)})[0][0])


def _since(now: float) -> str:
    from ledger.exposure import time_text

    return time_text(now - WAIT_DAYS * 86_400)


def _prompts(reader: Reader) -> list[frozenset[str]]:
    """Return the keywords of the newest prompts; none when what was shown cannot be read."""
    try:
        with Exposures(reader.path, reader.meta()["ledger_id"]) as kept:
            return [frozenset(word.lower() for word in one.keywords) for one in kept.newest(PROMPTS)]
    except LedgerError:
        return []


def _item(reader: Reader, name: str, prompts: Sequence[frozenset[str]]) -> Item:
    """Return one item, not yet compared with what is current."""
    told = reader.show(name)
    causes = reader.rows(sql.WHY_WAITING, {"id": name})
    suggests = [
        old for kind, data, _ in causes if kind in fold.CREATING for old in json.loads(data).get("supersedes", ())
    ]
    words = query.telling(" ".join((told["title"] or "", told["problem"], told["solution"], *told["tags"])))
    asked = sum(len(words & prompt) >= SHARED_WORDS for prompt in prompts)
    standing = _standing(told)
    return Item(
        name, told["title"], told["problem"], told["solution"], told["category"], told["project"], told["state"],
        _reason(reader, told, causes, suggests), _source(told, standing), told["trust"], told["recorded_at"],
        asked, max(1, len(standing)), suggests, [], [], _kind(told),
    )  # fmt: skip


def _kind(told: Mapping[str, Any]) -> str:
    """Return the kind of item that a learning is, 'current' for one that does not wait."""
    if told["state"] != "current":
        return str(told["state"])
    return "inferred" if told["trust"] == TRUST_INFERRED else "current"


def _pair(reader: Reader, pair: pairs.Pair) -> Item:
    """Return a pair as an item: the one that would stay, and the other."""
    stays, other = (reader.show(one.id) for one in pair)
    if pair.stays.trust > pair.other.trust or pair.stays.stood_by > pair.other.stood_by:
        why = "it is the more trusted one"
    else:
        why = "more places say it" if pair.stays.sources > pair.other.sources else "it is the newer one"
    keys = ("id", "title", "problem", "solution", "project", "trust", "recorded_at")
    told = {key: other[key] for key in keys} | {"source": _source(other, _standing(other))}
    return Item(
        stays["id"], stays["title"], stays["problem"], stays["solution"], stays["category"], stays["project"],
        stays["state"], f"{other['id'][:12]}… says the same; this one would stay: {why}",
        _source(stays, _standing(stays)), stays["trust"], stays["recorded_at"], 0, max(1, len(_standing(stays))),
        [other["id"]], [], [], "merge", told,
    )  # fmt: skip


def _standing(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [source for source in told["sources"] if source["stands"]]


def item(reader: Reader, name: str) -> Item:
    """Return one learning as an item, whether it waits or not."""
    return _compared(reader, _item(reader, name, _prompts(reader)))


def _compared(reader: Reader, one: Item) -> Item:
    given = (one.problem, one.solution, one.title or "", one.project or "*")
    return one._replace(
        conflicts=[other for other in reader.conflicts(*given) if other.id != one.id],
        near=[other for other in reader.near(*given) if other.id != one.id],
    )


def _weight(one: Item) -> float:
    weight = float(min(one.asked, ASKED_MAX))
    weight += REPLACES if one.suggests else 0.0
    weight += CONTRADICTS if one.conflicts else 0.0
    weight += TOLD_TWICE if one.heard > 1 else 0.0
    return weight + (LOOKS_HOSTILE if one.state == "quarantined" else 0.0)


def _reason(reader: Reader, told: Mapping[str, Any], causes: Sequence[Sequence[Any]], suggests: Sequence[str]) -> str:
    """Say why an item waits, in words for a person."""
    if told["state"] == "quarantined":
        return _why_withheld(told, causes)
    if told["state"] == "current":
        return "inferred in one session; nobody has said it"
    if suggests:
        named = {
            name: title for name, title, *_ in reader.rows(sql.NAMED, {"ids": json.dumps(suggests)} | {"at": sql.NOW})
        }
        olds = ", ".join(f"{name[:12]}… {named.get(name)!r}" for name in suggests[:PLACES_SHOWN])
        higher = "" if told["actor_kind"] == "person" else ", which came from a more trusted channel"
        return f"it would replace {olds}{higher}"
    said = next((reason for kind, _, reason in causes if kind in fold.CREATING and reason), None)
    return said or "it was proposed, or a more trusted channel took its text back before"


def _why_withheld(told: Mapping[str, Any], causes: Sequence[Sequence[Any]]) -> str:
    """Say what the screen found: the rules it named then, in the words of today's rules where there are any."""
    kept = [(json.loads(data), reason) for kind, data, reason in causes if kind == "learning.quarantined"]
    rules = [rule for data, _ in kept[-1:] for rule in data.get("rules", ())]
    texts = (told["title"] or "", told["problem"], told["solution"], " ".join(told["tags"]), told["project"] or "")
    found = screen.screen("\n".join(texts))
    words = next((one.reason for one in found if not rules or one.rule in rules), None)
    words = words or (kept[-1][1] if kept else None) or "it was withheld"
    return f"{words} ({', '.join(rules)})" if rules else words


def _source(told: Mapping[str, Any], standing: Sequence[Mapping[str, Any]]) -> str:
    """Say where an item was read: files and lines, else who told it through which channel."""
    places = [
        f"{source['path']}:{source['line']}" if source["line"] is not None else str(source["path"])
        for source in standing
        if source["path"] is not None
    ]
    return ", ".join(places[:PLACES_SHOWN]) if places else f"{told['actor_kind']} ({told['channel']})"


def _remarks(reader: Reader) -> list[str]:
    told = [
        f"{one.changed} of what stands at {one.path} changed, or is new, since you trusted it: "
        f"read it, then `learnings trust {one.path}`"
        for one in places(reader)
        if one.changed
    ]
    untrusted = int(reader.rows(sql.UNTRUSTED, {})[0][0])
    if untrusted:
        told.append(
            f"{untrusted} from files of repositories or exports are served only when asked for: `learnings trust PATH`"
        )
    return told


def shown(reader: Reader, name: str) -> dict[str, Any]:
    """Return one item with all that bears on it: events, and whether its files still say it."""
    found = item(reader, name)
    sources = []
    for source in reader.show(name)["sources"]:
        at = place.line_of(source["path"], (found.solution,), source["line"]) if source["path"] else None
        sources.append({**source, "says_it_at": at})
    return {**plain(found), "sources": sources, "events": plain(reader.history(name))}


# -- what is trusted --------------------------------------------------------------------------------------------------


def places(reader: Reader) -> list[Place]:
    """Return every place that is trusted, by its path."""
    changed = dict(reader.rows(sql.CHANGED_SINCE, {}))
    rows = reader.rows(sql.TRUSTED_PATHS, {})
    return [Place(path, since, many, current, changed.get(path, 0)) for path, many, current, since in rows]


def lines(found: Sequence[Place]) -> list[tuple[str, str]]:
    """Return a line for every trusted place: its path, and how it stands."""
    told = []
    for one in found:
        changed = f", {one.changed} changed or new since: read them, then trust it again" if one.changed else ""
        told.append((one.path, f"{one.current} of {one.granted} current{changed}"))
    return told


# -- what an agent is asked -------------------------------------------------------------------------------------------


def to_confirm(reader: Reader, project: str | None, now: float) -> Item | None:
    """Return the one inferred learning that an agent may ask its user about, None when there is none.

    Only what is served when it is asked for: candidates and what was withheld are shown to nobody but a person.
    """
    rows = [row for row in reader.rows(sql.WAITING, {"since": _since(now)}) if row[2] == "current"]
    prompts = _prompts(reader) if rows else []
    found = [_item(reader, row[1], prompts) for row in rows[:RANKED_MAX]]
    names = None if project is None else set(reader.projects(project))
    fits = [one for one in found if names is None or one.project in names]
    return min(fits, key=lambda one: (-_weight(one), one.id), default=None)
