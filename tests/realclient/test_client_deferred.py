"""Tools of which the model reads only the name: whether they are found, and whether they run."""

import json
from typing import Any

import pytest

from ledger.ledger import Ledger
from realclient import bare_server
from realclient.client import Home
from realclient.stub import Reply

pytestmark = pytest.mark.realclient

RECORD = "mcp__learnings__record_learning"
GIVEN = {"problem": "the kestrel probe reports KP3301", "solution": "renew kestrel.crt", "category": "bug-fix"}


@pytest.fixture
def deferred(ready: Home) -> Home:
    """Return a HOME whose client defers every tool of ours."""
    state = json.loads(ready.state.read_text("utf-8"))
    entry = state["mcpServers"]["learnings"]
    entry["args"] = ["-P", bare_server.__file__, entry["command"], *entry["args"]]
    ready.state.write_text(json.dumps(state))
    return ready


def recorded(home: Home) -> list[str]:
    """Return the answers that the ledger knows to the problem."""
    with Ledger.open(str(home.ledger)) as ledger:
        return [hit.solution for hit in ledger.reader.query(GIVEN["problem"]).hits if "kestrel" in hit.solution]


def asked(home: Home, *calls: tuple[str, dict[str, Any]]) -> None:
    """Let the model make these calls, one a turn."""
    home.stub.say(*(Reply("", (call,)) for call in calls))
    with home.served() as session:
        session.say("note that")


def test_a_deferred_tool_is_named_found_and_called(deferred: Home) -> None:
    """The name is in the first request and nothing else of it; after a search the description is, and the call runs."""
    asked(deferred, ("ToolSearch", {"query": f"select:{RECORD}"}), (RECORD, GIVEN))

    first, *_, last = deferred.stub.requests
    assert f"\n{RECORD}\n" in first.spoken
    assert RECORD not in first.tools
    assert RECORD in last.tools
    assert not last.results[-1].get("is_error"), last.results
    assert recorded(deferred) == [GIVEN["solution"]]


def test_a_deferred_tool_that_is_called_at_once_runs_as_well(deferred: Home) -> None:
    """A model that knows the arguments from the server's instructions needs no search."""
    asked(deferred, (RECORD, GIVEN))

    assert RECORD not in deferred.stub.requests[0].tools
    assert not deferred.stub.requests[-1].results[-1].get("is_error"), deferred.stub.requests[-1].results
    assert recorded(deferred) == [GIVEN["solution"]]


def test_the_real_server_s_tools_for_every_day_are_not_deferred(ready: Home) -> None:
    """Why none of this is needed for three of them: they ask to be always loaded."""
    with ready.served() as session:
        request = session.say("hello").request

    assert RECORD in request.tools
    assert f"\n{RECORD}\n" not in request.spoken
