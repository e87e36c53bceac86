"""What a compaction does to recall in the real client: its order of events, its summary, and what comes back."""

import json
import time

import pytest

from ledger.ledger import Ledger
from realclient.client import Home, Missing
from realclient.known import CLOSING, GATE, OKAY, OPENED, since
from realclient.lacking import lacking
from realclient.stub import Reply

pytestmark = pytest.mark.realclient

SUMMARY = Reply("<analysis>the draft of it</analysis>\n<summary>We measured the petrel bus.</summary>")
KEPT = "We measured the petrel bus."
EARLIER = "summary of an earlier session"
FULL_TOKENS = 985_000
"""So much read that the client compacts by itself before the next prompt (2.1.332; its window is a million)."""


def watched(home: Home, *events: str) -> None:
    """Have the client write down what it tells the hooks of these events, beside ours and after them."""
    held = json.loads(home.settings.read_text("utf-8"))
    for event in events:
        noting = {"type": "command", "command": f"{{ cat; echo; }} >> '{home.folder}/events'"}
        held["hooks"].setdefault(event, []).append({"hooks": [noting]})
    home.settings.write_text(json.dumps(held))


def seen(home: Home) -> list[dict[str, str]]:
    """Return what was written down, in order."""
    lines = (home.folder / "events").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def summarised(home: Home) -> list[str]:
    """Wait until the server has kept a summary, and return all of them."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with Ledger.open(str(home.ledger)) as ledger:
            found = ledger.reader.rows("SELECT text FROM session_summary WHERE to_seq IS NULL ORDER BY event_seq", {})
        if found:
            return [text for (text,) in found]
    return []


@pytest.mark.parametrize("trigger", ["manual", "auto"])
def test_a_summary_is_handed_over_after_the_session_was_started_again(ready: Home, trigger: str) -> None:
    """The order that we rely on: the start block cannot hold the summary, which the client puts there itself."""
    watched(ready, "PreCompact", "SessionStart", "PostCompact")
    with ready.served() as session:
        session.shown(GATE.prompt, GATE.mark)
        session.say("hello")
        ready.stub.say(*([Reply("Read.", read_tokens=FULL_TOKENS)] if trigger == "auto" else []), SUMMARY)
        if trigger == "auto":
            session.say("read all of it")
        else:
            session.compact()
        after = session.say(OKAY)

    events = [(one["hook_event_name"], one.get("trigger") or one.get("source")) for one in seen(ready)]
    assert events[1:] == [("PreCompact", trigger), ("SessionStart", "compact"), ("PostCompact", trigger)]
    assert after.request.spoken.count(KEPT) == 1
    assert EARLIER not in after.request.spoken
    assert after.request.spoken.count(GATE.solution) == 1


def test_a_summary_is_kept_without_its_draft(ready: Home) -> None:
    """The hook is told the model's whole answer; what the client leaves out of its context is left out here."""
    with ready.served() as session:
        session.say("hello")
        ready.stub.say(SUMMARY)
        session.compact()
        kept = summarised(ready)

    assert kept == [KEPT]


def test_a_second_compaction_brings_the_summary_of_the_first_under_its_name(ready: Home) -> None:
    """The client's own newer one stands in the same request; the older one says what it is."""
    with ready.served() as session:
        session.shown(GATE.prompt, GATE.mark)
        ready.stub.say(SUMMARY)
        session.compact()
        session.say("and on")
        kept = summarised(ready)
        ready.stub.say(Reply("<summary>We greeted the bus.</summary>"))
        session.compact()
        after = session.say(OKAY)

    assert kept == [KEPT]
    assert "We greeted the bus." in after.request.spoken
    assert after.request.spoken.count(KEPT) == 1
    assert "from an earlier compaction" in after.request.spoken
    assert after.request.spoken.count(GATE.solution) == 1


def test_what_was_superseded_since_does_not_come_back_with_a_compaction(ready: Home) -> None:
    """It had been shown in the session; afterwards the block is without it."""
    with ready.served() as session:
        before = session.shown(GATE.prompt, GATE.mark)
        with Ledger.open(str(ready.ledger)) as ledger:
            old = ledger.reader.query(GATE.problem).hits[0]
            ledger.supersede(old.id, GATE.problem, "ask for a second gate with zephyr.lanes", "the quota is gone")
        session.say("hello")
        session.say("hello again")
        ready.stub.say(SUMMARY)
        session.compact()
        after = session.say(OKAY)

    assert GATE.mark in since(before.request, GATE.prompt)
    assert f"SessionStart {OPENED}" in after.request.spoken
    assert GATE.mark not in after.request.spoken


def test_a_session_that_is_taken_up_again_is_shown_what_it_knew(ready: Home) -> None:
    """`--continue` in a new process: the block comes with the first prompt."""
    ready.recalled(GATE.prompt, GATE.mark)
    ready.stub.requests.clear()

    again = ready.ask(OKAY, "--continue")

    block = again.spoken[again.spoken.rindex(f"SessionStart {OPENED}") :]
    assert GATE.solution in block[: block.index(CLOSING)]


def test_a_cleared_session_begins_with_the_summary_of_the_one_before(ready_for_people: Home) -> None:
    """Compacted and cleared at once by a person: the summary is there in time, in a frame of its own."""
    home = ready_for_people
    home.stub.say(Reply("Hello to you."), SUMMARY)
    try:
        made = home.terminal()
    except Missing as error:
        lacking(error)
    with made as terminal:
        terminal.until_served()
        terminal.type("hello")
        terminal.until("Hello to you.")
        terminal.type("/compact")
        home.stub.first(lambda request: not home.stub.turns)
        terminal.until("Compacted", 60)
        terminal.type("/clear")
        terminal.without("Compacted")
        home.stub.requests.clear()
        terminal.type(OKAY)
        request = home.stub.with_text(OKAY)
        terminal.until("Done.")

    block = request.spoken[request.spoken.index(f"SessionStart {OPENED}") :]
    assert EARLIER in block[: block.index(CLOSING)]
    assert KEPT in block[: block.index(CLOSING)]
