"""What the client's hooks hand over, each event through the script as the client runs it."""

import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from hooked import environment, payload, ran, repository, setting

from ledger import handover, hook, redact, setup_clients
from ledger.ledger import Ledger
from ledger.sessions import Sessions

SAID = "The pooler of billing listens on port 6543."
ROBOTS = (
    {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"},
    {"CLAUDE_CODE_SESSION_ATTENDED": "0"},
)


@pytest.fixture
def given(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Return what the client sends at each event, in a repository whose name is the project."""
    folder = repository(tmp_path)
    note = tmp_path / ".claude" / "projects" / "-demo" / "memory" / "pooler.md"
    note.parent.mkdir(parents=True)
    note.write_text(SAID)
    transcript = note.parent.parent / "s1.jsonl"
    transcript.write_text('{"type":"user"}\n')
    more: dict[str, dict[str, Any]] = {
        "tool-failed": {
            "tool_name": "Bash",
            "tool_input": {"command": f"echo >> {note}; false"},
            "error": "Exit code 1",
            "duration_ms": 40,
        },
        "tool": {"tool_name": "Write", "tool_input": {"file_path": str(note), "content": SAID}, "tool_response": {}},
        "compact": {"trigger": "auto", "compact_summary": SAID},
        "stop": {"stop_hook_active": False, "last_assistant_message": SAID},
        "end": {"reason": "other"},
        "precompact": {"trigger": "manual", "custom_instructions": None},
    }
    return {event: payload(folder, transcript_path=str(transcript), **fields) for event, fields in more.items()}


KEPT = {
    "tool-failed": ("soon", "note"),
    "tool": ("soon", "note"),
    "compact": ("soon", "summary"),
    "stop": ("later", "evidence"),
    "end": ("later", "transcript"),
    "precompact": ("later", "transcript"),
}
NOTES = ("tool", "tool-failed")
EACH = pytest.mark.parametrize("event", sorted(KEPT))


def queued(ledger: Ledger) -> list[tuple[str, dict[str, Any]]]:
    """Return the records that wait, with their lanes."""
    return [
        (one.lane, json.loads(line))
        for one in handover.waiting(ledger.path)
        for line in Path(one.path).read_text().splitlines()
    ]


def test_every_event_that_something_is_kept_of_is_known() -> None:
    """And is one that setup registers."""
    assert sorted(KEPT) == sorted(hook.CAPTURES)
    assert sorted(KEPT) == sorted(setup_clients.COMMAND_HOOKS[event] for event in setup_clients.CAPTURES)


@EACH
def test_what_a_person_s_session_says_waits_and_nothing_is_printed(
    ledger: Ledger, given: dict[str, dict[str, Any]], event: str
) -> None:
    """One record in its lane, and a line for `doctor` that the hook fired."""
    done = ran(event, given[event], environment(Path(ledger.path)))

    ((lane, record),) = queued(ledger)
    assert done == (0, "", "")
    assert (lane, record["kind"]) == KEPT[event]
    assert record.get("feeds", True) is True
    (fired,) = Sessions(ledger.path).fired(time.time())
    assert (fired["event"], fired["entrypoint"], fired["succeeded"], fired["failed"]) == (event, "cli", 1, 0)


@EACH
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_robot_feeds_nothing_unless_the_setting_says_so(
    ledger: Ledger, given: dict[str, dict[str, Any]], event: str, robot: dict[str, str]
) -> None:
    """Only that a tool wrote a note is remembered, so that it does not pass for a person's edit."""
    env = environment(Path(ledger.path), **robot)
    ran(event, given[event], env)
    before = queued(ledger)

    setting(ledger.path, "robots", "on")
    ran(event, given[event], env)

    assert [record["feeds"] for _, record in before] == ([False] if event in NOTES else [])
    ((_, last),) = queued(ledger)[len(before) :]
    assert last.get("feeds", True) is True


@EACH
def test_what_is_switched_off_keeps_nothing(ledger: Ledger, given: dict[str, dict[str, Any]], event: str) -> None:
    """A session by its environment, then a project by the setting; of a note, only that a tool wrote it."""
    env = environment(Path(ledger.path))
    ran(event, given[event], {**env, "LEARNINGS_OFF": "1"})
    assert [record["feeds"] for _, record in queued(ledger)] == ([False] if event in NOTES else [])
    assert not os.path.exists(os.path.join(os.path.dirname(ledger.path), "sessions.db"))
    setting(ledger.path, "off", '["demo"]')

    done = ran(event, given[event], env)

    assert done == (0, "", "")
    assert [record["feeds"] for _, record in queued(ledger)] == ([False, False] if event in NOTES else [])


@EACH
def test_no_text_waits_while_a_ledger_cannot_say_what_is_switched_off(
    ledger: Ledger, given: dict[str, dict[str, Any]], event: str
) -> None:
    """Locked, with recall resting as well: where it stands is kept, and came soon."""
    setting(ledger.path, "off", '["demo"]')
    Sessions(ledger.path).tripped(hook.LEDGER, time.time())
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")

    done = ran(event, given[event], environment(Path(ledger.path)))

    other.close()
    assert done == (0, "", "")
    ((_, record),) = queued(ledger)
    assert record["kind"] == ("note" if event in NOTES else "transcript")
    assert SAID not in str(record)


@EACH
def test_nothing_waits_that_could_not_be_masked(
    ledger: Ledger, given: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    """The rules of secrets cannot be run: nothing reaches the disk, and `doctor` is told."""

    def broken(text: str) -> redact.Scrubbed:
        raise RuntimeError(text)

    monkeypatch.setattr(redact, "scrub", broken)

    said = hook.run(event, given[event], {"CLAUDE_CODE_ENTRYPOINT": "cli"}, ledger.path, os.path.basename)

    assert (said, queued(ledger)) == ("", [])
    (fired,) = Sessions(ledger.path).fired(time.time())
    assert (fired["succeeded"], fired["failed"]) == (0, 1)


@EACH
def test_a_disk_that_refuses_is_noted_and_breaks_nothing(
    ledger: Ledger, given: dict[str, dict[str, Any]], event: str
) -> None:
    """A file stands where the queue should be."""
    Path(handover.folder_beside(ledger.path)).write_text("")

    done = ran(event, given[event], environment(Path(ledger.path)))

    assert done == (0, "", "")
    (fired,) = Sessions(ledger.path).fired(time.time())
    assert (fired["fault"], fired["succeeded"], fired["failed"]) == ("NotKept", 0, 1)
    assert Sessions(ledger.path).breakers() == []


@pytest.mark.parametrize("wrote", [{"file_path": "/src/demo/main.py"}, None, {"file_path": 7}, {"file_path": "/no.md"}])
def test_a_tool_that_wrote_no_note_leaves_nothing(
    ledger: Ledger, given: dict[str, dict[str, Any]], wrote: dict[str, Any] | None
) -> None:
    """Most files that an agent writes are code."""
    done = ran("tool", {**given["tool"], "tool_input": wrote}, environment(Path(ledger.path)))

    assert done == (0, "", "")
    assert queued(ledger) == []
