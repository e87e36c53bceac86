"""A shell command of the agent that writes a note, in the real client: what it wrote is no person's edit."""

import time
from pathlib import Path

import pytest

from ledger.sessions import Sessions
from realclient.client import Home
from realclient.stub import Reply

pytestmark = pytest.mark.realclient

WRITE = "echo 'The pooler of billing listens on port 7000.' > notes/memory/pooler.md"
"""A redirection: 2.1.332 does not hold it against `if` of a hook (`Bash(*memory*)` does not fire), so there is none."""


def ran(home: Home, command: str) -> dict[str, int]:
    """Let the model run a command, and return how often each hook of ours did its work."""
    home.stub.say(Reply("", (("Bash", {"command": command, "description": "work"}),)))
    done = home.claude("-p", "--allowedTools", "Bash", "--", "do it")
    assert done.returncode == 0, done.stdout + done.stderr
    return {one["event"]: one["succeeded"] for one in Sessions(str(home.ledger)).fired(time.time())}


@pytest.mark.parametrize(("end", "event"), [("", "tool"), ("; exit 3", "tool-failed")])
def test_a_note_that_a_shell_command_wrote_is_remembered_as_agent_written(ready: Home, end: str, event: str) -> None:
    """Whether the command ends well or not: the client has an event for each. The folder was imported before."""
    note = ready.project / "notes" / "memory" / "pooler.md"
    note.parent.mkdir(parents=True)
    note.write_text("The pooler of billing listens on port 6543.")
    ready.learnings("import", str(note.parent))

    fired = ran(ready, WRITE + end)

    ready.learnings("import", str(note.parent))
    assert fired[event] == 1
    assert len(Path(f"{ready.ledger}.written").read_text().splitlines()) == 1
    (found,) = ready.learnings("query", "pooler of billing port")["hits"]
    assert ("7000" in found["solution"], found["trust"]) == (True, 1)  # a file, as when it was imported


def test_a_shell_command_that_names_no_memory_costs_only_the_start_of_the_hook(ready: Home) -> None:
    """Nothing of ours counts it, and the run goes on."""
    assert not {"tool", "tool-failed"} & set(ran(ready, "echo hello"))
