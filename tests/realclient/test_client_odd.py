"""Sessions that others would not begin: both ways of setting up at once, another project, a prompt of a megabyte."""

from pathlib import Path

import pytest

from ledger.ledger import Ledger
from ledger.model import Draft
from realclient.client import Home
from realclient.known import CACHE, FRAME, GATE, PINNED, since

pytestmark = pytest.mark.realclient

PROMPT_CHARS = 1_000_000


def test_setup_and_plugin_together_recall_once(ready: Home, plugin: str) -> None:
    """What a session starts with, and what a prompt brings, though every hook runs twice."""
    for words in (("marketplace", "add", str(Path(plugin).parent)), ("install", "learnings@learning-ledger")):
        done = ready.claude("plugin", *words)
        assert done.returncode == 0, done.stdout + done.stderr

    with ready.served() as session:
        session.shown(GATE.prompt, GATE.mark)
        session.shown(CACHE.prompt, CACHE.mark)
        spoken = session.say("hello").request.spoken

    assert [spoken.count(one.mark) for one in (PINNED, GATE, CACHE)] == [1, 1, 1]


def test_a_session_of_another_project_is_shown_what_is_of_that(ready: Home) -> None:
    """And nothing of the one beside it, neither at its start nor on a prompt in its words."""
    other = ready.project.parent / "kiosk"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (other / ".git" / "config").write_text("[core]\n")
    with Ledger.open(str(ready.ledger)) as ledger:
        ledger.record(Draft("the kiosk printer answers KP9911", "set kiosk.baud to 9600", "env", "kiosk"))

    with ready.served(cwd=other) as session:
        own = session.shown("why does the kiosk printer answer KP9911?", "kiosk.baud")
        beside = session.say(GATE.prompt)

    assert PINNED.mark not in own.request.spoken
    assert GATE.mark not in since(beside.request, GATE.prompt)


def test_a_prompt_of_a_megabyte_is_answered_like_any_other(ready: Home) -> None:
    """Its subject stands at its beginning; the rest is padding."""
    filler = "lorem ipsum dolor sit amet "
    prompt = f"{GATE.prompt}\n{filler * (PROMPT_CHARS // len(filler))}"

    with ready.served() as session:
        session.shown(CACHE.prompt, CACHE.mark)
        turn = session.shown(prompt, GATE.mark)

    assert turn.wait_s < 5
    assert GATE.solution in since(turn.request, filler)


def test_a_session_that_is_off_is_shown_nothing_and_leaves_nothing(ready: Home) -> None:
    """`LEARNINGS_OFF=1` in the environment of the client: no frame, no line, no file beside the ledger."""
    before = sorted(path.name for path in ready.ledger.parent.iterdir())
    ready.env["LEARNINGS_OFF"] = "1"

    with ready.talk() as session:
        turns = [session.say(GATE.prompt) for _ in range(2)]

    assert not any(FRAME in turn.request.text or "UserPromptSubmit" in turn.request.spoken for turn in turns)
    assert sorted(path.name for path in ready.ledger.parent.iterdir()) == before
