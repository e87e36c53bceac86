"""What the ledger is used for: prompts, searches, saves and judgements; people and robots apart."""

import time
from functools import partial

from ledger.exposures import Exposure, Exposures, time_text
from ledger.ledger import Ledger
from ledger.model import Draft, agent
from ledger.sessions import PROMPT, SEARCH, SHOWN, SILENT, Caller, Sessions
from ledger.usage import usage

DAY = 86_400.0


def test_people_and_robots_are_counted_apart(ledger: Ledger) -> None:
    """Prompts, what became of them, and searches, of 7 and of 30 days."""
    now = time.time()
    kept = Sessions(ledger.path)
    person, robot = Caller("p", "demo", "cli"), Caller("r", "demo", "sdk-cli", attended=False)
    kept.ran("prompt", person, 1, now - 20 * DAY, (PROMPT, SHOWN))
    kept.ran("prompt", person, 1, now, (PROMPT, SILENT))
    kept.count(person, now, SEARCH)
    kept.ran("prompt", robot, 1, now, (PROMPT, SILENT))

    seven, thirty = usage(ledger.reader, now)["windows"]

    week, month = seven["people"], thirty["people"]
    assert [week[key] for key in ("sessions", "prompts", "shown", "silent", "searches")] == [1, 1, 0, 1, 1]
    assert [month[key] for key in ("sessions", "prompts", "shown", "silent", "searches")] == [1, 2, 1, 1, 1]
    assert thirty["robots"]["prompts"] == 1
    assert [one["entrypoint"] for one in seven["entrypoints"]] == ["cli", "sdk-cli"]


def test_saves_are_counted_by_channel_and_belong_to_their_session(path: str) -> None:
    """What a server wrote for a robot is a robot's save; a person's command and an unknown server are people's."""
    now = time.time()
    with Ledger.init(path) as ledger:
        ledger.record(Draft("a kettle whistles", "lift the lid", "practice", "demo"))
    with Ledger.open(path, agent("mcp-robot")) as ledger:
        ledger.record(Draft("a stove smokes", "open the flue", "practice", "demo"))
    Sessions(path).count(Caller("r", "demo", "sdk-cli"), now, actor="mcp-robot")

    with Ledger.open(path) as ledger:
        week = usage(ledger.reader, now)["windows"][0]

    assert (week["people"]["saves"], week["robots"]["saves"]) == ({"cli": 1}, {"mcp": 1})


def showed(name: str, learning: str, now: float, _: frozenset[str]) -> Exposure:
    """Return an exposure that showed one learning."""
    return Exposure(name, time_text(now), "r", None, "hook", "demo", [], None, [learning], [], {}, {}, 1, "")


def test_what_was_judged_wrong_is_counted_where_it_was_shown(ledger: Ledger) -> None:
    """The exposure tells the session, the session who sat there; right ones and undone verdicts do not count."""
    now = time.time()
    learning = ledger.record(Draft("a kettle whistles", "lift the lid", "practice", "demo")).id
    Sessions(ledger.path).ran("prompt", Caller("r", "demo", "sdk-cli"), 1, now, (PROMPT, SHOWN))
    names = [f"exp_{letter * 25}" for letter in "abc"]
    with Exposures(ledger.path, ledger.store.ledger_id) as kept:
        for name in names:
            kept.add(partial(showed, name, learning, now), "r", now)
    ledger.judge(names[0], "wrong", learning=learning)
    ledger.judge(names[1], "right", learning=learning)
    ledger.undo(ledger.judge(names[2], "wrong", learning=learning).seq)

    week = usage(ledger.reader, now)["windows"][0]

    assert (week["people"]["wrong"], week["robots"]["wrong"]) == (0, 1)


def test_the_last_sessions_are_listed_with_what_each_did(ledger: Ledger) -> None:
    """Per session: where, how it was started, and its counts."""
    now = time.time()
    kept = Sessions(ledger.path)
    kept.ran("session-start", Caller("a", "demo", "cli", source="startup"), 1, now - 5)
    kept.ran("prompt", Caller("b", "other", "cli"), 1, now, (PROMPT, SHOWN))

    last, first = usage(ledger.reader, now)["sessions"]

    assert (last["session"], last["project"], last["prompts"], last["shown"]) == ("b", "other", 1, 1)
    assert (first["session"], first["source"], first["prompts"]) == ("a", "startup", 0)
