"""Look whether hooks fire and learnings are written, held against the sessions that ran.

Two witnesses of a session: `sessions.db`, which only knows those in which
something of ours ran, and the client's transcripts, which are there whatever
became of us. People and robots are kept apart throughout: the hooks of a
scheduler's sessions may work for weeks while those of a person do not.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ledger import setup_clients as clients
from ledger.begin import QUIET_DAYS, QUIET_SESSIONS
from ledger.doctor_check import DAY_S, Around, Check, ago, broken, fine, listed, many, remark, seconds_of
from ledger.doctor_client import WORDS, Told
from ledger.home import head_text
from ledger.sessions import PROMPT, ROBOTS, SCAN, SETTLE, SHOWN, Sessions

LOOK_BACK_DAYS, WEEK_DAYS = 30, 7
"""Days of sessions that are looked at, as far as `sessions.db` goes back, and for use."""

MISSED = 3
"""From how many sessions of people without a hook on it is broken; one or two may have been switched off."""

NEVER_DAYS = 2
"""Days since the set-up from which on a single session without any hook is enough."""

SLACK_S = 60
"""By how much the clocks of a transcript and of a hook may differ."""

TRANSCRIPTS_MAX, HEAD_BYTES = 400, 64_000
"""Most transcripts that are looked into, the newest ones, and how much of each."""

_patterns: dict[str, re.Pattern[str]] = {}


class Ran(NamedTuple):
    """One session: when it began and did something last, and whether nobody sat at it."""

    session: str
    began: float
    last: float
    is_robot: bool
    subagents: tuple[float, ...] = ()


class Log(NamedTuple):
    """What use is held against: learnings by channel (last time, how many), and when the log began, in seconds.

    Before that no hook could leave a trace.
    """

    saved: list[tuple[str, str, int]]
    serves_robots: bool
    began: float


# -- witnesses -------------------------------------------------------------------------------------------------------


def sessions(around: Around, kept: Sessions) -> list[Ran]:
    """Return the sessions of the last days from both witnesses, the last one first.

    Where both know one, ours knows whether somebody sat at it, and the transcript when it ran.
    """
    since = around.now - LOOK_BACK_DAYS * DAY_S
    found = {one.session: one for one in _transcripts(around, since)}
    for row in kept.listed(since, 10_000):
        is_robot = row["entrypoint"] in ROBOTS or not row["attended"]
        began, last = seconds_of(row["started_at"]), seconds_of(row["last_at"])
        known = found.get(row["session"], Ran(row["session"], began, last, is_robot))
        found[row["session"]] = known._replace(
            began=min(known.began, began), last=max(known.last, last), is_robot=is_robot
        )
    return sorted(found.values(), key=lambda one: (-one.last, one.session))


def _transcripts(around: Around, since: float) -> Iterator[Ran]:
    """Yield the sessions that left a transcript."""
    places = clients.places("claude-code", around.home, around.env, around.platform)
    top = os.path.join(os.path.dirname(places["hooks"]), "projects")
    files = [
        (entry.stat().st_mtime, entry.path)
        for folder in _entries(top)
        if folder.is_dir()
        for entry in _entries(folder.path)
        if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False) and entry.stat().st_mtime >= since
    ]
    for last, path in sorted(files, reverse=True)[:TRANSCRIPTS_MAX]:
        head = head_text(path, HEAD_BYTES)
        began = seconds_of(_first("timestamp", head)) or last
        agents = _entries(os.path.join(path.removesuffix(".jsonl"), "subagents"))
        times = tuple(entry.stat().st_mtime for entry in agents if entry.name.endswith(".jsonl"))
        is_robot = _first("entrypoint", head) in ROBOTS
        yield Ran(os.path.basename(path).removesuffix(".jsonl"), min(began, last), last, is_robot, times)


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return []


def _first(name: str, text: str) -> str:
    """Return the first text of a name in JSON lines, '' when there is none; quotes inside a text are escaped there."""
    if name not in _patterns:
        _patterns[name] = re.compile(rf'(?<!\\)"{name}":\s?"([^"\\]*)"')
    found = _patterns[name].search(text)
    return found[1] if found else ""


# -- judge -----------------------------------------------------------------------------------------------------------


def checks(around: Around, found: Told, kept: Sessions, log: Log | None) -> Iterator[Check]:
    """Yield what is to be said of use; `log` is None when there is none that can be read."""
    ran = sessions(around, kept)
    if found.ours and not os.path.lexists(around.file):
        yield _without_ledger(around, found, ran)
    elif found.ours:
        since = max(found.since or 0.0, log.began if log is not None else 0.0)
        yield _fired(around, found._replace(since=since), kept.fired(around.now), ran)
    yield _use(around, found, kept, ran, serves_robots=log is not None and log.serves_robots)
    if log is not None:
        yield _written(around, log.saved, ran)
    yield _breakers(kept)


def _without_ledger(around: Around, found: Told, ran: list[Ran]) -> Check:
    """Say what sessions had of hooks that had no ledger to look into, and so leave no trace either."""
    since = found.since or 0.0
    days = int((around.now - since) // DAY_S)
    missed = sum(not one.is_robot and one.began > since + SLACK_S for one in ran)
    if not missed:
        return remark("fired", "not fired yet, and no session ran since the set-up: begin one")
    told = f"{many(missed, 'session')} of people ran since the set-up and there is no ledger, without which hooks show "
    told += "nothing and leave no trace"
    if missed >= MISSED and days >= QUIET_DAYS:
        return broken(
            "fired",
            f"never fired visibly in {many(days, 'day')}: {told}; nothing was ever recorded; see whether the agent has "
            "the tools (`server`, `permission`), or record a first learning with `learnings record`",
        )
    return remark("fired", told)


def _fired(around: Around, found: Told, rows: list[dict[str, Any]], ran: list[Ran]) -> Check:
    """Hold the last success of each event to the sessions that ran since."""
    people = [one for one in ran if not one.is_robot]
    told: list[str] = []
    doubts: list[str] = []
    silent: list[str] = []
    known = {SETTLE, SCAN, *(WORDS[event] for event in found.events)}
    silent += [
        _fault(around, row)
        for row in rows
        if row["event"] in known and (row["failed_at"] or "") > (row["succeeded_at"] or "")
    ]
    for event in found.events:
        own = [row for row in rows if row["event"] == WORDS[event]]
        told += [_success(around, row) for row in own if row["succeeded_at"]]
        last = max((row["succeeded_at"] or "" for row in own if row["entrypoint"] not in ROBOTS), default="")
        missed = _missed(event, people, max(found.since or 0.0, seconds_of(last)))
        if not missed:
            continue
        line = _unfired(around, WORDS[event], last, missed, found.since)
        never = not last and around.now - (found.since or around.now) > NEVER_DAYS * DAY_S
        (silent if len(missed) >= MISSED or never else doubts).append(line)
    if silent:
        return broken(
            "fired",
            f"{'; '.join(silent)}; nothing was shown or kept then, the ledger is untouched; end running sessions, "
            "mend what else is broken here and begin a new one",
        )
    if doubts:
        return remark("fired", f"{'; '.join(doubts)}; it may have been switched off there")
    if not told:
        return remark("fired", "not fired yet, and no session ran since the set-up: begin one")
    return fine("fired", f"last: {listed(told, 8)}")


def _missed(event: str, people: Iterable[Ran], since: float) -> list[float]:
    """Return when a hook should have fired since its last success, each session once.

    A session need not write a note, be compacted or have ended: of these, silence says nothing.
    """
    if event in clients.CAPTURES and event != "Stop":
        return []
    if WORDS[event] == "subagent-start":
        times = [[at for at in one.subagents if at > since + SLACK_S] for one in people]
        return [min(found) for found in times if found]
    return [one.began for one in people if one.began > since + SLACK_S]


def _success(around: Around, row: dict[str, Any]) -> str:
    return f"{row['event']} {ago(around.now - seconds_of(row['succeeded_at']))} ({row['entrypoint'] or 'unnamed'})"


def _fault(around: Around, row: dict[str, Any]) -> str:
    when = ago(around.now - seconds_of(row["failed_at"]))
    return f"{row['event']} failed last with {row['fault']} {when} ({row['entrypoint'] or 'unnamed'})"


def _unfired(around: Around, word: str, last: str, missed: list[float], since: float | None) -> str:
    """Say that an event did not fire."""
    ran = many(len(missed), "session") + " of people ran"
    if last:
        return f"{word} fired last for a person {ago(around.now - seconds_of(last))} and {ran} since"
    days = int((around.now - (since or min(missed))) // DAY_S)
    return f"{word} never fired for a person" + (f" in {many(days, 'day')}" if days else "") + f" though {ran}"


def _use(around: Around, found: Told, kept: Sessions, ran: list[Ran], serves_robots: bool) -> Check:
    """Count a week, people and robots apart."""
    since = around.now - WEEK_DAYS * DAY_S
    week = [one for one in ran if one.last >= since]
    robots = sum(one.is_robot for one in week)
    people = len(week) - robots
    uses = [one for one in kept.uses(since) if one["entrypoint"] not in ROBOTS and one["attended"]]
    counts = {what: sum(one["many"] for one in uses if one["what"] == what) for what in (PROMPT, SHOWN)}
    apart = f"{many(robots, 'session')} of robots" if robots else "none of robots"
    if not week:
        return remark("use", f"no session in {WEEK_DAYS} days")
    if not people and found.ours and not serves_robots:
        return broken(
            "use",
            f"nobody used it for {WEEK_DAYS} days: {apart} alone, which are shown nothing and count for no use; "
            "if you worked in that time, the hooks do not reach your sessions; if robots are to be shown learnings, "
            "run `learnings config set robots on`",
        )
    if people and not counts[PROMPT] and robots:
        apart += ", which count for no use"
    prompts = many(counts[PROMPT], "prompt")
    return fine(
        "use",
        f"{WEEK_DAYS} days: {many(people, 'session')} of people with {prompts} counted, {counts[SHOWN]} of them "
        f"shown something; {apart}",
    )


def _written(around: Around, saved: list[tuple[str, str, int]], ran: list[Ran]) -> Check:
    """Tell the last learning of each channel, and whether that is long ago for the sessions there were."""
    if not saved:
        return remark("written", "no learning is recorded yet")
    told = listed(f"{channel} {ago(around.now - seconds_of(at))} ({count:,})" for channel, at, count in saved)
    last = max(seconds_of(at) for _, at, _ in saved)
    days = int((around.now - last) // DAY_S)
    since = sum(not one.is_robot and one.last > last for one in ran)
    if days >= QUIET_DAYS and since >= QUIET_SESSIONS:
        return broken(
            "written",
            f"no learning written for {many(days, 'day')} though {many(since, 'session')} of people ran; what "
            f"was written stands (last: {told}); look whether the agent may use the tools (`permission`)",
        )
    return fine("written", f"last learning by channel: {told}")


def _breakers(kept: Sessions) -> Check:
    held = [f"{one['name']} since {one['tripped_at']} ({many(one['faults'], 'fault')})" for one in kept.breakers()]
    if held:
        return broken(
            "breaker",
            f"did not answer in time: {listed(held)}; prompts go on without it, and it is tried again by "
            "itself; if it stays, end the process that holds the ledger",
        )
    return fine("breaker", "nothing hangs")
