"""The plugin's folder is what the source gives, and says what the package says."""

import json
import re
import struct
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ledger import cli
from ledger import setup_clients as clients
from mcp_server.recall_tool import LIMIT_S

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "plugin"


def read(name: str) -> Any:
    """Return a JSON file of the repository."""
    return json.loads((ROOT / name).read_text("utf-8"))


def test_the_derived_files_are_what_the_source_gives() -> None:
    """Hooks, server and icon come from the definitions that setup uses too."""
    script = ROOT / ".ci/plugin.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_prompts_hook_calls_the_server_of_the_plugin() -> None:
    """A hook calls a plugin's server as `plugin:<plugin>:<server>`; any other name is not connected."""
    (group,) = read("plugin/hooks/hooks.json")["hooks"]["UserPromptSubmit"]
    (server,) = read("plugin/.mcp.json")["mcpServers"]

    hook = group["hooks"][0]

    assert hook["server"] == f"plugin:{read('plugin/.claude-plugin/plugin.json')['name']}:{server}"
    assert set(hook["input"]) == {"prompt", "session_id", "transcript_path", "cwd", "prompt_id"}


def test_every_timeout_is_in_seconds() -> None:
    """Five thousand would be an hour and a half in which a prompt waits for a server that hangs."""
    program = clients.Program("/p", "/ledger/hook_main.py")
    for groups in (
        read("plugin/hooks/hooks.json")["hooks"].values(),
        [[g] for g in clients.setup_hooks(program).values()],
    ):
        waits = [hook["timeout"] for held in groups for group in held for hook in group["hooks"]]

        assert len(waits) == len(clients.COMMAND_HOOKS) + 1
        assert all(0 < wait <= 2 for wait in waits)
        assert waits[-1] == 0.5 > LIMIT_S  # a prompt's: our server answers before


def test_the_server_starts_with_a_command_of_the_package() -> None:
    """What `pip install` puts on the PATH, with a command that there is."""
    (server,) = read("plugin/.mcp.json")["mcpServers"].values()
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert server["command"] in package["scripts"]
    assert server["args"][0] in cli.COMMANDS


def test_versions_names_and_licence_agree() -> None:
    """Manifest, marketplace and package."""
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    manifest = read("plugin/.claude-plugin/plugin.json")
    market = read(".claude-plugin/marketplace.json")

    assert manifest["version"] == package["version"]
    assert manifest["license"] == package["license"]
    assert (PLUGIN / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert [one["name"] for one in market["plugins"]] == [manifest["name"]] == [clients.PLUGIN]
    assert (ROOT / market["plugins"][0]["source"]).resolve() == PLUGIN
    assert market["name"] == package["name"]


def test_nothing_of_the_plugin_touches_the_network_or_the_clients_plugin_folders() -> None:
    """No host is declared because none is needed; the ledger stays when the plugin goes."""
    manifest = read("plugin/.claude-plugin/plugin.json")

    assert manifest["network"] == {"hosts": []}
    for path in PLUGIN.rglob("*"):
        if path.suffix in (".json", ".md"):
            assert "CLAUDE_PLUGIN_DATA" not in path.read_text("utf-8")


def test_the_icon_is_a_square_of_512_pixels() -> None:
    """The directory of plugins takes 512 to 2048."""
    data = (PLUGIN / "icon.png").read_bytes()

    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (512, 512)


PAGES = sorted([*(PLUGIN / "commands").glob("*.md"), *(PLUGIN / "skills").glob("*/SKILL.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_command_of_the_plugin_names_commands_that_there_are(page: Path) -> None:
    """And has a description, without which the client shows its first line."""
    text = page.read_text("utf-8")

    assert re.match(r"---\n(name: \w+\n)?description: \S.*\n", text)
    assert set(re.findall(r"learnings ([a-z]+)", text.partition("\n---\n")[0])) <= set(cli.COMMANDS)
    assert set(re.findall(r"`learnings ([a-z]+)", text)) <= set(cli.COMMANDS)


def test_no_command_has_the_name_of_a_skill() -> None:
    """The client would show one of the two."""
    commands = {path.stem for path in (PLUGIN / "commands").glob("*.md")}
    skills = {path.parent.name for path in (PLUGIN / "skills").glob("*/SKILL.md")}

    assert commands == {"status", "why", "wrong", "undo"}
    assert skills == {"learnings"}


def test_the_skill_names_tools_that_there_are() -> None:
    """A tool that was renamed would be asked for in vain."""
    text = (PLUGIN / "skills/learnings/SKILL.md").read_text("utf-8")
    tools = {read(str(path.relative_to(ROOT)))["name"] for path in (ROOT / "schema/tools").glob("*.json")}

    named = set(re.findall(r"`(\w+_learnings?|undo)`", text))

    assert named == {"query_learnings", "record_learning", "supersede_learning", "retract_learning", "undo"}
    assert named <= tools
