"""Count what the ledger is used for: prompts and what became of them, searches, saves; people and robots apart.

Prompts and searches are counted in `sessions.db`, saves and judgements in the
log. A save whose server told nobody its session counts for people.
Lean path: stdlib only.
"""

from typing import Any

from ledger import handover, room, sql
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
    """Return {windows: [{days, people, robots, entrypoints, given_up}], sessions, waiting}.

    `people` and `robots` are counts over a window, `entrypoints` those of each
    entrypoint, `sessions` those of the last sessions over the longest window;
    `given_up` counts records of the queue that went to make room, `waiting` its files by lane.
    """
    kept = Sessions(reader.path)
    actors = kept.actors()
    windows = [_window(reader, kept, actors, now, days) for days in WINDOWS]
    files = [one.lane for one in handover.waiting(reader.path)]
    return {
        "windows": windows,
        "sessions": _sessions(reader, kept, actors, now - WINDOWS[-1] * 86_400),
        "waiting": {lane: files.count(lane) for lane in (handover.SOON, handover.LATER)},
    }


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
    given = room.given_up(handover.folder_beside(reader.path), now, days).records
    return {"days": days, "people": people, "robots": robots, "entrypoints": rows, "given_up": given}


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


def _sessions(reader: Reader, kept: Sessions, actors: dict[str, Caller], since: float) -> list[dict[str, Any]]:
    """Return the last sessions with what each did."""
    rows = {
        one["session"]: {
            **one, "entrypoint": one["entrypoint"] or None, "attended": bool(one["attended"]),
            **dict.fromkeys(COUNTED.values(), 0), "wrong": 0, "saves": {},
        }
        for one in kept.listed(since, SESSIONS_MAX)
    }  # fmt: skip
    for one in kept.uses(since):
        if one["session"] in rows:
            rows[one["session"]][COUNTED[one["what"]]] = one["many"]
    after = reader.seq_at(moment(since))
    for channel, actor, count in reader.rows(sql.SAVES, {"after": after}):
        session = actors[actor].session if actor in actors else None
        if session in rows:
            saves = rows[session]["saves"]
            saves[channel] = saves.get(channel, 0) + count
    for session in _judged_wrong(reader, after):
        if session in rows:
            rows[session]["wrong"] += 1
    return list(rows.values())


def _none() -> Counts:
    return {"sessions": 0, **dict.fromkeys(COUNTED.values(), 0), "wrong": 0, "saves": {}}
