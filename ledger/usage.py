"""Count what the ledger is used for: prompts and what became of them, searches, saves; people and robots apart.

Prompts and searches are counted in `sessions.db`, saves and judgements in the
log. A save whose server told nobody its session counts for people.
Lean path: stdlib only.
"""

from typing import Any

from ledger import sql
from ledger.exposures import Exposures
from ledger.reader import Reader
from ledger.sessions import MACHINE, OFF, PROMPT, SEARCH, SHOWN, SILENT, Caller, Sessions, moment

WINDOWS = (7, 30)
"""Days that are looked back."""

SESSIONS_MAX = 20
"""Most sessions that are listed, the last ones first."""

COUNTED = {
    PROMPT: "prompts", SHOWN: "shown", SILENT: "silent", MACHINE: "machine", OFF: "off", SEARCH: "searches",
}  # fmt: skip
"""The words of `sessions.db` and the keys they are told under."""

Counts = dict[str, Any]


def usage(reader: Reader, now: float) -> dict[str, Any]:
    """Return {windows: [{days, people, robots, entrypoints}], sessions}.

    `people` and `robots` are counts over a window, `entrypoints` those of each
    entrypoint, `sessions` those of the last sessions over the longest window.
    """
    kept = Sessions(reader.path)
    actors = kept.actors()
    windows = [_window(reader, kept, actors, now, days) for days in WINDOWS]
    return {"windows": windows, "sessions": _sessions(kept, now - WINDOWS[-1] * 86_400)}


def _window(reader: Reader, kept: Sessions, actors: dict[str, Caller], now: float, days: int) -> dict[str, Any]:
    since = now - days * 86_400
    people, robots = _none(), _none()
    entrypoints: dict[tuple[str, bool], Counts] = {}

    def of(who: Caller) -> tuple[Counts, Counts]:
        told = entrypoints.setdefault((who.entrypoint, who.attended), _none())
        return (robots if who.is_robot else people), told

    callers = {}
    for one in kept.listed(since):
        callers[one["session"]] = Caller(one["session"], None, one["entrypoint"], bool(one["attended"]))
        for told in of(callers[one["session"]]):
            told["sessions"] += 1
    for one in kept.uses(since):
        for told in of(Caller(one["session"], None, one["entrypoint"], bool(one["attended"]))):
            told[COUNTED[one["what"]]] += one["many"]
    after = reader.seq_at(moment(since))
    for channel, actor, count in reader.rows(sql.SAVES, {"after": after}):
        for told in of(actors.get(actor, Caller(""))):
            told["saves"][channel] = told["saves"].get(channel, 0) + count
    for session in _judged_wrong(reader, after):
        for told in of(callers.get(session, Caller(""))):
            told["wrong"] += 1
    rows = [
        {"entrypoint": name or None, "attended": attended, **told}
        for (name, attended), told in sorted(entrypoints.items())
    ]
    return {"days": days, "people": people, "robots": robots, "entrypoints": rows}


def _judged_wrong(reader: Reader, after: int) -> list[str]:
    """Return the session of each exposure that was judged wrong, '' where nobody remembers it."""
    from ledger.errors import LedgerError

    sessions = []
    with Exposures(reader.path, reader.meta()["ledger_id"]) as kept:
        for (name,) in reader.rows(sql.JUDGED_WRONG, {"after": after}):
            try:
                sessions.append(kept.find(name).session)
            except LedgerError:
                sessions.append("")
    return sessions


def _sessions(kept: Sessions, since: float) -> list[dict[str, Any]]:
    """Return the last sessions with what each did."""
    counts: dict[str, dict[str, int]] = {}
    for one in kept.uses(since):
        counts.setdefault(one["session"], {})[COUNTED[one["what"]]] = one["many"]
    return [
        {**one, "entrypoint": one["entrypoint"] or None, "attended": bool(one["attended"]),
         **dict.fromkeys(COUNTED.values(), 0), **counts.get(one["session"], {})}
        for one in kept.listed(since, SESSIONS_MAX)
    ]  # fmt: skip


def _none() -> Counts:
    return {"sessions": 0, **dict.fromkeys(COUNTED.values(), 0), "wrong": 0, "saves": {}}
