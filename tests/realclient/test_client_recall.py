"""What the model reads of the ledger in the real client: seen in the requests that it sends."""

import json

import pytest

from ledger.ledger import Ledger
from realclient.client import Home
from realclient.known import CACHE, CLOSING, FRAME, GATE, OKAY, OPENED, OPENING, PINNED, STARTING, holding, since, teach
from realclient.stub import Reply

pytestmark = pytest.mark.realclient


def test_a_prompt_brings_its_learning_inside_the_frame(ready: Home) -> None:
    """The words of the answer stand in the request, after the hook's label and before the end of the frame."""
    request = ready.recalled(GATE.prompt, GATE.mark)

    said = since(request, GATE.prompt)
    framed = said[said.index(OPENING) : said.index(CLOSING, said.index(OPENING))]
    assert f"then: {GATE.solution}" in framed
    assert said.count(GATE.mark) == 1
    assert CACHE.mark not in request.text


def test_a_session_starts_with_what_is_pinned(ready: Home) -> None:
    """The first request has it, whatever the prompt is about."""
    request = ready.ask(OKAY)

    framed = request.spoken[request.spoken.index(STARTING) :]
    assert PINNED.solution in framed[: framed.index(CLOSING)]
    assert request.text.count(FRAME) == 1


def test_what_was_superseded_is_not_shown(ready: Home) -> None:
    """Its successor is, in its place."""
    with Ledger.open(str(ready.ledger)) as ledger:
        old = ledger.reader.query(GATE.problem).hits[0]
        ledger.supersede(old.id, GATE.problem, "ask for a second gate with zephyr.lanes", "the quota is gone")

    request = ready.recalled(GATE.prompt, "zephyr.lanes")

    assert "zephyr.lanes" in since(request, GATE.prompt)
    assert GATE.mark not in request.text


def test_a_prompt_that_concerns_nothing_brings_nothing(ready: Home) -> None:
    """Neither a frame nor a line of the client's that a hook ran."""
    with ready.served() as session:
        first = session.say("hello")
        second = session.say(OKAY)

    assert [hook.event for hook in second.hooks if hook.event != "Stop"] == ["UserPromptSubmit"]
    assert since(second.request, OKAY).strip() == OKAY
    assert "UserPromptSubmit" not in first.request.spoken + second.request.spoken


def test_what_was_shown_once_is_not_shown_again(ready: Home) -> None:
    """The same question a second time in a session finds it in the conversation already."""
    with ready.served() as session:
        session.shown(GATE.prompt, GATE.mark)
        session.shown(CACHE.prompt, CACHE.mark)
        again = session.say(GATE.prompt + " once more")

    assert again.request.spoken.count(GATE.mark) == 1
    assert again.request.spoken.count(CACHE.mark) == 1


def test_a_prompt_with_a_secret_brings_nothing_and_leaves_nothing(ready: Home) -> None:
    """No byte of it is in the ledger's folder, though the rest of the prompt would have been answered."""
    secret = "gh" + "p_" + "Zk4" * 12
    prompt = f"{GATE.prompt} the token is {secret}"

    request = ready.ask(prompt)

    assert "UserPromptSubmit" not in request.spoken
    assert GATE.mark not in request.text
    assert holding(ready.ledger.parent, secret) == []
    assert holding(ready.ledger.parent, secret[8:30]) == []
    assert holding(ready.ledger.parent, GATE.mark) != []


def test_robots_are_shown_nothing_unless_it_is_set(ready_for_people: Home) -> None:
    """`claude -p` gets nothing, at the start and on a prompt; with the setting it does."""
    home = ready_for_people

    without = home.ask(GATE.prompt)
    home.learnings("config", "set", "robots", "on")
    home.stub.requests.clear()
    served = home.recalled(GATE.prompt, GATE.mark)

    assert FRAME not in without.text
    assert "hook additional context" not in without.spoken
    assert "UserPromptSubmit" not in without.spoken
    assert GATE.mark in since(served, GATE.prompt)


def test_switching_off_is_heard_at_once(ready: Home) -> None:
    """A session that runs is shown nothing from the next prompt on, and something again when it is taken back."""
    with ready.served() as session:
        session.say("hello")
        ready.learnings("off")
        off = session.say(GATE.prompt)
        ready.learnings("on")
        on = session.shown(CACHE.prompt, CACHE.mark)

    assert GATE.mark not in off.request.text
    assert CACHE.mark in since(on.request, CACHE.prompt)


def test_a_home_without_a_ledger_is_left_alone(home: Home) -> None:
    """Set up and nothing recorded: the prompt passes, and no file is made."""
    home.learnings("setup", "claude-code")

    request = home.ask(GATE.prompt)

    assert FRAME not in request.text
    assert not home.ledger.exists()


def test_the_plugins_folder_brings_the_same(home: Home, plugin: str) -> None:
    """Start, prompt and tools, without a setup."""
    teach(home)

    request = home.recalled(GATE.prompt, GATE.mark, "--plugin-dir", plugin)

    assert PINNED.solution in request.spoken[request.spoken.index(STARTING) :]
    assert GATE.mark in since(request, GATE.prompt)
    assert "mcp__plugin_learnings_ledger__query_learnings" in request.tools
    assert "__recall" not in request.text


def test_a_subagent_is_shown_what_a_session_starts_with(ready: Home) -> None:
    """The prompt's hook does not run for it; its own first request has the block, once."""
    given = {
        "description": "look around",
        "prompt": "report what is in this folder",
        "subagent_type": "general-purpose",
    }
    ready.stub.say(Reply("", (("Agent", given),)))

    with ready.served() as session:
        session.say("let somebody look around")
    request = next(one for one in ready.stub.requests if given["prompt"] in one.messages[0])

    assert f"SubagentStart {OPENED}" in request.spoken
    assert request.spoken.count(PINNED.solution) == 1


def test_compaction_brings_back_what_had_been_shown(ready: Home) -> None:
    """The conversation is replaced by a summary in which the learning is not; the next request has it again, framed."""
    with ready.served() as session:
        session.shown(GATE.prompt, GATE.mark)
        for prompt in ("hello", "and hello again"):
            session.say(prompt)
        ready.stub.say(Reply("<summary>they greeted each other</summary>"))
        session.compact()
        after = session.say(OKAY)

    assert "they greeted each other" in after.request.spoken
    assert after.request.spoken.count(GATE.solution) == 1
    assert f"SessionStart {OPENED}" in after.request.spoken


def test_what_the_model_superseded_is_not_shown_after_it(ready: Home) -> None:
    """Shown, found wrong and superseded in one session: from then on every session is shown the successor."""
    first = {"problem": "the kestrel probe reports KP3301", "solution": "restart kestreld", "category": "bug-fix"}
    prompt = "the kestrel probe reports KP3301, what do we do about it?"
    with ready.served() as session:
        ready.stub.say(Reply("", (("mcp__learnings__record_learning", first),)))
        made = session.say("note that").last.results[-1]
        old = json.loads(made["content"] if isinstance(made["content"], str) else made["content"][0]["text"])["id"]
    before = ready.recalled(prompt, "restart kestreld")
    better = {**first, "old": [old], "solution": "renew kestrel.crt", "reason": "a restart did not help"}
    with ready.served() as session:
        ready.stub.say(Reply("", (("mcp__learnings__supersede_learning", better),)))
        done = session.say("that did not help").last.results[-1]
    after = ready.recalled(prompt, "renew kestrel.crt")

    assert "restart kestreld" in since(before, prompt)
    assert not done.get("is_error"), done
    assert "renew kestrel.crt" in since(after, prompt)
    assert "restart kestreld" not in after.text
