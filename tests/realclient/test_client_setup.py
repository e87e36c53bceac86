"""Setup and plugin as the client takes them, and what is left of both when they are taken out."""

import json
from pathlib import Path

import pytest

from ledger.setup_files import BACKUP
from realclient.client import PROJECT, Home
from realclient.known import FRAME, GATE, PINNED, STARTING, since, teach

pytestmark = pytest.mark.realclient

SETTINGS = """{
    "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "true"}]}]},
  "permissions":{"allow":["Bash(ls:*)"], "deny":  []} ,
\t"cleanupPeriodDays" : 20
}"""
"""A person's own settings, in a form that no program writes."""

STATE = '{"mcpServers": {"mine": {"command": "true"}},\n   "theme":"dark"}\n'


def below(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_what_setup_wrote_is_what_the_client_reads(ready: Home) -> None:
    """The client lists our server as connected, from the file of the user."""
    done = ready.claude("mcp", "list")

    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("learnings:")]
    assert "Connected" in line


def test_uninstalling_gives_every_byte_back(home: Home) -> None:
    """Settings with hooks, permissions and servers of somebody else's are what they were, and nothing lies beside."""
    home.settings.write_text(SETTINGS)
    home.state.write_text(STATE)
    before = below(home.folder)

    home.learnings("setup", "claude-code", "--allow-tools")
    during = below(home.folder)
    home.learnings("setup", "claude-code", "--uninstall")

    assert during != before
    assert below(home.folder) == before


def test_uninstalling_after_sessions_leaves_the_clients_own_changes(home: Home) -> None:
    """The settings are byte for byte what they were; in the file that the client writes to, only ours is gone.

    That one is not what it was, so that its backup stays, for the person to compare.
    """
    home.settings.write_text(SETTINGS)
    home.state.write_text(STATE)
    teach(home)
    home.learnings("setup", "claude-code", "--allow-tools")
    served = home.recalled(GATE.prompt, GATE.mark)
    home.stub.requests.clear()

    home.learnings("setup", "claude-code", "--uninstall")
    state = json.loads(home.state.read_text("utf-8"))
    after = home.ask(GATE.prompt)

    assert GATE.mark in served.spoken
    assert home.settings.read_text("utf-8") == SETTINGS
    assert state["mcpServers"] == {"mine": {"command": "true"}}
    assert len(state) > 2
    assert FRAME not in after.text
    assert not any("learnings" in name for name in after.tools)
    assert [name for name in below(home.folder) if name.endswith(BACKUP)] == [".claude.json" + BACKUP]


def test_the_plugin_is_one_that_the_clients_directory_would_take(home: Home, plugin: str) -> None:
    """By the client's own check."""
    done = home.claude("plugin", "validate", "--profile", "directory", plugin)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_is_installed_from_this_folder_as_a_marketplace(home: Home, plugin: str) -> None:
    """Added, installed, served from, and taken out again, without a question."""
    teach(home)
    market = str(Path(plugin).parent)
    for words in (("marketplace", "add", market), ("install", "learnings@learning-ledger")):
        done = home.claude("plugin", *words)
        assert done.returncode == 0, done.stdout + done.stderr

    served = home.recalled(GATE.prompt, GATE.mark)
    removed = home.claude("plugin", "uninstall", "learnings@learning-ledger")
    home.stub.requests.clear()
    after = home.ask(GATE.prompt)

    assert PINNED.solution in served.spoken[served.spoken.index(STARTING) :]
    assert GATE.mark in since(served, GATE.prompt)
    assert removed.returncode == 0, removed.stderr
    assert FRAME not in after.text
    assert home.ledger.exists()


def test_a_folder_inside_the_project_is_the_same_project(ready: Home) -> None:
    """The project is told by the repository, not by the folder that a session begins in."""
    inside = ready.project / "services" / "gate"
    inside.mkdir(parents=True)

    with ready.served(cwd=inside) as session:
        turn = session.shown(GATE.prompt, GATE.mark)

    assert GATE.mark in since(turn.request, GATE.prompt)
    assert f"· {PROJECT} ·" in since(turn.request, GATE.prompt)
