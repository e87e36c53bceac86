"""Sessions beside each other, and how they end: no process of ours outlives its client."""

import os
import signal

import pytest

from realclient.client import Home, gone
from realclient.known import CACHE, GATE, since

pytestmark = pytest.mark.realclient


def test_two_sessions_at_once_are_each_shown_their_own(ready: Home) -> None:
    """What one was shown is not missing in the other, and each has a server of its own."""
    with ready.served() as one, ready.served() as other:
        one.say("hello from one")
        other.say("hello from the other")
        first, second = one.shown(GATE.prompt, GATE.mark), other.shown(CACHE.prompt, CACHE.mark)
        crossed = other.shown(GATE.prompt, GATE.mark)
        servers = ready.servers()

    assert GATE.mark in since(first.request, GATE.prompt)
    assert CACHE.mark in since(second.request, CACHE.prompt)
    assert CACHE.mark not in first.request.text
    assert GATE.mark in since(crossed.request, GATE.prompt)
    assert len(servers) == 2
    assert first.request.session != second.request.session


def test_a_session_that_ends_leaves_no_process(ready: Home) -> None:
    """The client closes, and our server is gone."""
    before = ready.ours()
    with ready.served() as session:
        session.say(GATE.prompt)
        during = list(ready.ours())

    assert before == {}
    assert len(during) == 1
    assert gone(during) == []
    assert ready.ours() == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_a_client_that_is_killed_leaves_no_process(ready: Home, number: signal.Signals) -> None:
    """Whatever it was killed with; the ledger is whole afterwards."""
    with ready.served() as session:
        session.say(GATE.prompt)
        during = list(ready.ours())
        os.kill(session.process.pid, number)
        session.process.wait(20)
        left = gone(during)

    assert len(during) == 1
    assert left == []
    assert ready.ours() == {}
    assert ready.learnings("verify")["ok"] is True


def test_a_client_that_is_killed_at_its_start_leaves_no_process(ready: Home) -> None:
    """The server is importing and has said nothing yet when its client goes."""
    with ready.talk() as session:
        while not (during := ready.servers()):
            assert session.process.poll() is None
        os.kill(session.process.pid, signal.SIGKILL)
        session.process.wait(20)
        left = gone(during)

    assert left == []
    assert ready.ours() == {}
