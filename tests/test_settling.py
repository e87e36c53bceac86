"""What hooks hand over is in the ledger soon, because the client's server sees to it."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hooked import environment, payload, ran, repository
from talk import talking

from ledger import handover
from ledger.ledger import Ledger
from ledger.reader import open_reader
from ledger.sessions import Sessions
from mcp_server.settling import Settling

SAID = "The pooler of billing listens on port 6543."
PERSON = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty ledger in a home of its own, where a person's session runs."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDECODE", "1")
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "data" / "ledger.db"
    Ledger.init(str(path)).close()
    return path


@pytest.fixture
def wrote(tmp_path: Path, file: Path) -> dict[str, Any]:
    """Return the client's event for a note that a tool has written."""
    folder = repository(tmp_path)
    note = tmp_path / ".claude" / "projects" / "-demo" / "memory" / "pooler.md"
    note.parent.mkdir(parents=True)
    note.write_text(SAID)
    (note.parent.parent / "s1.jsonl").write_text(f'{{"type":"user","cwd":"{folder}"}}\n')
    return payload(folder, tool_name="Write", tool_input={"file_path": str(note)})


def until(true: Callable[[], object]) -> object:
    """Wait for what another process does, by looking."""
    deadline = time.monotonic() + 20
    found = true()
    while not found and time.monotonic() < deadline:
        found = true()
    return found


def known(file: Path) -> list[tuple[str, str | None]]:
    """Return trust and project of what the ledger knows."""
    with open_reader(str(file)) as reader:
        rows = reader.list_learnings().rows
        return [(str(reader.show(row.id)["trust"]), row.project) for row in rows]


def test_a_note_that_a_tool_wrote_is_in_the_ledger_while_the_session_runs(file: Path, wrote: dict[str, Any]) -> None:
    """Hook, queue, server: agent-written, in the project that the folder belongs to; a summary as well."""
    env = {**environment(file), "HOME": str(file.parent.parent)}
    with talking(file, "legacy", cwd=Path(wrote["cwd"])) as talk:
        talk.tools()
        ran("tool", wrote, env)
        ran("compact", {**wrote, "compact_summary": "We moved the nightly job."}, env)

        assert until(lambda: known(file) == [("2", "demo")])
        with open_reader(str(file)) as reader:
            assert until(lambda: reader.summary("demo"))
        assert until(lambda: handover.waiting(str(file)) == [])


def test_a_ledger_that_cannot_be_written_is_left_to_rest(
    file: Path, wrote: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits goes on waiting, and `doctor` is told."""
    handover.noted(str(file), wrote)
    heard: list[bool] = []
    settling = Settling(str(file), PERSON, lambda: heard.append(True))
    with sqlite3.connect(file) as older:
        version = older.execute("PRAGMA user_version").fetchone()[0]
        older.execute("PRAGMA user_version = 999")

    first = settling.settle()
    older.execute(f"PRAGMA user_version = {version}")
    older.close()
    second = settling.settle()

    assert (first, second, heard) == (False, True, [True])
    (fired,) = Sessions(str(file)).fired(time.time())
    assert (fired["event"], fired["fault"], fired["succeeded"]) == ("settle", "NewerSchema", 1)
    assert known(file) == [("2", "demo")]


def test_nothing_is_loaded_for_an_empty_queue_and_nothing_done_when_off(file: Path, wrote: dict[str, Any]) -> None:
    """`LEARNINGS_OFF=1` leaves what waits to another session."""
    heard: list[bool] = []
    assert Settling(str(file), PERSON, lambda: heard.append(True)).settle()
    handover.noted(str(file), wrote)

    assert Settling(str(file), {**PERSON, "LEARNINGS_OFF": "1"}, lambda: heard.append(True)).settle()

    assert (heard, len(handover.waiting(str(file)))) == ([], 1)
    assert Sessions(str(file)).fired(time.time()) == []
