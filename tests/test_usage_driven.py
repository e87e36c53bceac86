"""What `stats` counts, held against a day of real hooks, servers and commands: of people and of robots."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Shell
from hooked import PROMPT, environment, payload, ran, repository
from talk import talking

from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.reader import open_reader
from ledger.sessions import Sessions
from ledger.usage import usage

DAY = 86_400.0
ROBOT = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
PERSON = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
NOTICE = "<task-notification>\n<status>completed</status>\n</task-notification>"


def until(true: Callable[[], object]) -> None:
    """Wait for what another process does, by looking."""
    deadline = time.monotonic() + 20
    while not true() and time.monotonic() < deadline:
        pass
    assert true()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a home whose ledger has one learning that the prompt asks for, written by a person's command."""
    made = Shell(tmp_path)
    with Ledger.init(str(made.file)) as ledger:
        text = "pgcat refuses connections from the docker network with PGX4711"
        ledger.record(Draft(text, "use port 6543 of pgcat", "env", "demo"))
        for number in range(30):
            ledger.record(Draft(f"kettle {number} whistles on stove {number}", f"lift {number}", "practice", "demo"))
    return made


@pytest.fixture
def day(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let a person and a robot work, each with hooks and a server of their own, and return what `stats` says."""
    folder = repository(tmp_path)
    for name, env in (("person", PERSON), ("robot", ROBOT)):
        hooks = environment(shell.file, **env)
        given = payload(folder, session_id=name)
        ran("session-start", {**given, "source": "startup"}, hooks)
        for prompt in (PROMPT, "ok, go ahead", NOTICE):
            ran("prompt", {**given, "prompt": prompt, "prompt_id": prompt[:5]}, hooks)
        for key, value in {**env, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": name}.items():
            monkeypatch.setenv(key, value)
        with talking(shell.file, "legacy", cwd=folder) as talk:
            for _ in range(2):
                talk.document("query_learnings", query="pgcat port")
            talk.document("record_learning", problem=f"the {name} sees quokka 7", solution=f"clear cache of {name} 7")
            before = _prompts(shell, name)
            arguments = {"prompt": "and what now?", "session_id": name, "cwd": str(folder), "prompt_id": "p4"}
            assert not talk.call("recall", {**arguments, "transcript_path": ""}).is_error
            until(lambda name=name, before=before: _prompts(shell, name) == before + 1)
    shown = json.loads(shell.run("exposures", "person", "--json").out)["exposures"]
    (one,) = [row for row in shown if row["shown"] and row["keywords"]]
    assert shell.run("wrong", one["id"]).code == 0
    found = json.loads(shell.run("stats", "--json").out)["use"]
    assert isinstance(found, dict)
    return found


def _prompts(shell: Shell, session: str) -> int:
    uses = Sessions(str(shell.file)).uses(0)
    return sum(one["many"] for one in uses if (one["session"], one["what"]) == (session, "prompt"))


PEOPLE = {
    "sessions": 1, "prompts": 4, "shown": 1, "silent": 2, "machine": 1, "off": 0, "searches": 2, "wrong": 1,
    "saves": {"cli": 31, "mcp": 1},
}  # fmt: skip
ROBOTS = {
    "sessions": 1, "prompts": 4, "shown": 0, "silent": 0, "machine": 0, "off": 4, "searches": 2, "wrong": 0,
    "saves": {"mcp": 1},
}  # fmt: skip


def test_every_count_of_stats_is_what_hooks_servers_and_commands_did(day: dict[str, Any], shell: Shell) -> None:
    """Prompts and what became of each, searches, saves by channel, judged wrong: people, robots, entrypoints, sessions.

    Ten days later they are in the window of 30 days and no more in that of 7.
    """
    for window in day["windows"]:
        assert (window["people"], window["robots"]) == (PEOPLE, ROBOTS)
    entrypoints = {one["entrypoint"]: one for one in day["windows"][0]["entrypoints"]}
    assert (entrypoints["cli"]["attended"], entrypoints["sdk-cli"]["attended"]) == (True, False)
    assert {**PEOPLE, "saves": {"mcp": 1}}.items() <= entrypoints["cli"].items()
    assert ROBOTS.items() <= entrypoints["sdk-cli"].items()
    sessions = {one["session"]: one for one in day["sessions"]}
    counts = {key: value for key, value in PEOPLE.items() if key not in ("sessions", "saves")}
    assert {**counts, "saves": {"mcp": 1}, "entrypoint": "cli", "project": "demo"}.items() <= sessions["person"].items()
    assert {"off": 4, "wrong": 0, "saves": {"mcp": 1}, "attended": False}.items() <= sessions["robot"].items()

    with open_reader(str(shell.file)) as reader:
        week, month = usage(reader, time.time() + 10 * DAY)["windows"]

    nothing = dict.fromkeys(PEOPLE, 0) | {"saves": {}}
    assert (week["people"], week["robots"]) == (nothing, nothing)
    assert (month["people"], month["robots"]) == (PEOPLE, ROBOTS)
