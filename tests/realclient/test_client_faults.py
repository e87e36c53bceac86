"""Whatever is wrong with the server, the ledger or a hook: the prompt goes through, in time and without a word of ours.

The limit of a second is for what the client says it waited for our hooks. Its own
work until the request is let take as long as a busy machine needs, for which the
same turn without the fault comes first. Where the ledger can still be read, recall goes on.
"""

import pytest

from realclient import faults
from realclient.client import Home, Turn
from realclient.faults import Fault
from realclient.known import CACHE, CLOSING, FRAME, GATE, OPENING, QUEUE, since

pytestmark = pytest.mark.realclient

LIMIT_S = 1.0
"""Longest that a fault may hold a prompt up."""

BUSY_S = 5.0
"""What else may come to a turn's time beside that, with other tests on the same cores."""

AT_ONCE_MS = 400
"""Longest that a hook takes that waits for nothing: less than its time-out, and than a server's limit with a busy file.
Unhurried it is under 20 ms."""


def passed(turn: Turn, before_s: float, prompt: str) -> str:
    """Hold a turn to the limit and to a good end; return what its request has of the prompt and after it."""
    assert turn.result["subtype"] == "success"
    assert turn.result["result"] == "Done."
    assert held_s(turn) < LIMIT_S
    assert turn.wait_s < before_s + LIMIT_S + BUSY_S
    return since(turn.request, prompt)


def held_s(turn: Turn) -> float:
    """Return the longest that a hook of the prompt held it up."""
    return max((hook.ms / 1_000 for hook in turn.hooks if hook.event == "UserPromptSubmit"), default=0.0)


def is_silent(said: str) -> bool:
    """Tell whether no hook of ours says anything to the model: no frame, no line about a hook, no traceback.

    That a server connected meanwhile, with its instructions, the client may tell in the same place.
    """
    return not any(word in said for word in (FRAME, "UserPromptSubmit", "SessionStart", "Traceback"))


def is_whole(said: str, mark: str) -> bool:
    """Tell whether a learning is there, once, between the beginning and the end of its frame."""
    return said.count(mark) == 1 and said.index(OPENING) < said.index(mark) < said.index(CLOSING)


@pytest.mark.parametrize(
    "fault", [faults.killed, faults.stopped, faults.locked, faults.corrupt, faults.missing], ids=lambda f: f.__name__
)
def test_a_fault_in_the_middle_of_a_session_is_silence(ready: Home, fault: Fault) -> None:
    """The prompt that meets it and the one after that go through; what had been recalled before stays."""
    with ready.served() as session:
        session.say("hello")
        before = session.shown(GATE.prompt, GATE.mark)
        with fault(ready):
            met = session.say(CACHE.prompt)
            after = session.say(QUEUE.prompt)

    assert is_whole(since(before.request, GATE.prompt), GATE.mark)
    is_readable = fault is faults.locked and ready.is_wal()
    said = passed(met, before.wait_s, CACHE.prompt)
    assert is_silent(said) or (is_readable and is_whole(said, CACHE.mark))
    said = passed(after, before.wait_s, QUEUE.prompt)
    may_be_back = is_readable or fault is faults.killed  # the client starts a server anew that has gone
    assert is_silent(said) or (may_be_back and is_whole(said, QUEUE.mark))


@pytest.mark.parametrize("fault", [faults.written, faults.read_only], ids=lambda f: f.__name__)
def test_what_can_still_be_read_is_recalled(ready: Home, fault: Fault) -> None:
    """A writer that takes its time, and a folder in which nothing can be noted, take nothing away."""
    with ready.served() as session:
        session.say("hello")
        before = session.shown(GATE.prompt, GATE.mark)
        with fault(ready):
            met = session.shown(CACHE.prompt, CACHE.mark)
            after = session.shown(QUEUE.prompt, QUEUE.mark)

    assert is_whole(passed(met, before.wait_s, CACHE.prompt), CACHE.mark)
    assert is_whole(passed(after, before.wait_s, QUEUE.prompt), QUEUE.mark)


def test_only_the_first_prompt_waits_for_a_locked_ledger(ready: Home) -> None:
    """The breaker answers the next ones at once; a write-ahead log shuts no reader out in the first place."""
    with ready.served() as session:
        session.say("hello")
        with faults.locked(ready):
            session.say(GATE.prompt)
            second = session.say(CACHE.prompt)
            third = session.say(QUEUE.prompt)

    assert ready.is_wal() or second.hooks[0].told["stdout"] == third.hooks[0].told["stdout"] == "{}"
    assert min(second.hooks[0].ms, third.hooks[0].ms) < AT_ONCE_MS


def test_a_killed_server_is_started_again_by_the_client(ready: Home) -> None:
    """Recall comes back within the session, with a new process."""
    with ready.served() as session:
        session.say("hello")
        (old,) = ready.servers()
        with faults.killed(ready):
            session.say(GATE.prompt)
        back = session.shown(CACHE.prompt, CACHE.mark)
        (new,) = ready.servers()

    assert is_whole(since(back.request, CACHE.prompt), CACHE.mark)
    assert new != old


def test_a_ledger_that_comes_back_is_recalled_from_again(ready: Home) -> None:
    """Its folder was elsewhere for one prompt."""
    with ready.served() as session:
        session.say("hello")
        with faults.missing(ready):
            session.say(GATE.prompt)
        back = session.shown(CACHE.prompt, CACHE.mark)

    assert is_whole(since(back.request, CACHE.prompt), CACHE.mark)


@pytest.fixture
def usual_s(ready: Home) -> float:
    """Return how long a session takes here from its start to its first request, nothing being wrong."""
    with ready.talk() as session:
        first = session.say("hello")
    return first.request.at - session.begun_at


@pytest.mark.parametrize(
    "fault",
    [faults.locked, faults.corrupt, faults.missing, faults.unreadable, faults.interpreter_gone],
    ids=lambda f: f.__name__,
)
def test_a_fault_at_the_start_of_a_session_is_silence(ready: Home, usual_s: float, fault: Fault) -> None:
    """The first request comes in time and nothing of ours is in it, nor in the second."""
    with fault(ready), ready.talk() as session:
        first = session.say(GATE.prompt)
        second = session.say(CACHE.prompt)

    assert held_s(first) < LIMIT_S
    assert first.request.at - session.begun_at < 2 * usual_s + LIMIT_S  # a busy machine takes longer for either
    assert first.result["result"] == "Done."
    said = passed(second, 0.1, CACHE.prompt)
    if fault is faults.locked and ready.is_wal():
        assert is_silent(said) or is_whole(said, CACHE.mark)  # silent on a machine that is too busy to answer in time
    else:
        assert is_silent(said)
        assert FRAME not in second.request.text
        assert "hook additional context" not in second.request.spoken


def test_a_start_hook_that_times_out_takes_nothing_from_the_prompt(ready: Home, usual_s: float) -> None:
    """Its interpreter hangs, the client ends it after its two seconds, and the prompt brings its learning."""
    with faults.hook_hangs(ready), ready.talk() as session:
        first = session.say("hello")
        second = session.shown(GATE.prompt, GATE.mark)

    assert [hook.told["outcome"] for hook in first.hooks if hook.event == "SessionStart"] == ["cancelled"]
    assert held_s(first) < LIMIT_S
    assert first.request.at - session.begun_at < 2 * usual_s + LIMIT_S  # a busy machine takes longer for either
    assert "SessionStart" not in second.request.spoken
