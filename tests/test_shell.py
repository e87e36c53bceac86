"""What a shell command wrote into notes is agent-written: through the hook as the client runs it, and the queue."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hooked import environment, payload, ran, repository

from importers.plan import plan, vanished
from importers.registry import read_note, scan_paths
from ledger import capture, handover, ingest, shell
from ledger.capture import Notes
from ledger.ledger import Ledger
from ledger.sessions import Sessions

OLD, NEW = "The pooler of billing listens on port 6543.", "The pooler of billing listens on port 7000."


class Around:
    """A session of a person in a repository, with a note that a tool wrote a day ago."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.home = Path(ledger.path).parent
        self.folder = repository(self.home)
        self.memory = self.home / ".claude" / "projects" / "-demo" / "memory"
        self.memory.mkdir(parents=True)
        (self.memory.parent / "s1.jsonl").write_text(f'{{"type":"user","cwd":"{self.folder}"}}\n')
        self.note = self.memory / "pooler.md"
        self.note.write_text(OLD)
        handover.noted(ledger.path, self.event(tool_name="Write", tool_input={"file_path": str(self.note)}))
        self.settle()

    def event(self, **more: Any) -> dict[str, Any]:
        """Return the client's JSON of an event in the repository."""
        given = payload(self.folder, transcript_path=str(self.memory.parent / "s1.jsonl"))
        return {**given, "hook_event_name": "PostToolUse", **more}

    def bash(self, command: str, cwd: Path | None = None, **env: str) -> None:
        """Run a command in a shell as the client does, and then its hook."""
        begun = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command], cwd=cwd or self.folder, env={"PATH": os.defpath, "HOME": str(self.home)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        told = self.event(
            tool_name="Bash", tool_input={"command": command}, cwd=str(cwd or self.folder),
            duration_ms=round(1_000 * (time.monotonic() - begun)), tool_response={"stdout": done.stdout},
        )  # fmt: skip
        word = "tool-failed" if done.returncode else "tool"
        assert ran(word, told, environment(Path(self.ledger.path), **env)) == (0, "", "")

    def settle(self) -> capture.Settled:
        """Do what hooks left to be done, as the server does."""
        notes = Notes(lambda path: read_note(path, str(self.home)), plan, vanished)
        return capture.settle(self.ledger, notes, str(self.home), os.path.basename)

    def scan(self) -> dict[str, int]:
        """Scan the memory folder and return solution and trust of what is current."""
        for reading in scan_paths([str(self.memory)], None, None, str(self.home)):
            for part in capture.by_hand(self.ledger, reading):
                ingest.run(self.ledger, part, plan, vanished)
        rows = [self.ledger.reader.show(row.id) for row in self.ledger.reader.list_learnings(limit=50).rows]
        return {one["solution"]: one["trust"] for one in rows}


@pytest.fixture
def around(ledger: Ledger) -> Around:
    """Return the session."""
    return Around(ledger)


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/6543/7000/ {note}",
        "sed -i s/6543/7000/ {note}; false",
        "printf '%s' '" + NEW + "' > ~/.claude/projects/-demo/memory/pooler.md",
        "cd {memory} && sed -i s/6543/7000/ *.md",
        "cd $HOME/.claude && sed -i s/6543/7000/ projects/*/memory/*.md",
        "sed s/6543/7000/ {note} > new.txt && touch -d '2 years ago' new.txt && mv new.txt {note}",
    ],
)
def test_what_a_shell_command_wrote_into_a_note_comes_in_at_once_as_agent_written(around: Around, command: str) -> None:
    """In place, by redirection, by a pattern, by a file that is older; when the command failed as well."""
    around.bash(command.format(note=around.note, memory=around.memory))

    told = around.settle()

    assert [one.superseded for one in told.imported] == [1]
    assert around.scan() == {NEW: 2}


def test_a_command_in_the_memory_folder_itself_needs_no_name(around: Around) -> None:
    """An earlier call went there."""
    around.bash("sed -i s/6543/7000/ pooler.md", cwd=around.memory)

    around.settle()

    assert around.scan() == {NEW: 2}


@pytest.mark.parametrize("command", ["cat {note}", "grep -r pooler {memory}", "ls"])
def test_a_command_that_only_reads_leaves_a_person_s_edit_theirs(around: Around, command: str) -> None:
    """What changed before it began is not its."""
    around.note.write_text(NEW)
    old = time.time() - 600
    os.utime(around.note, (old, old))
    given = around.event(
        tool_name="Bash", tool_input={"command": command.format(note=around.note, memory=around.memory)}, duration_ms=5
    )

    assert shell.wrote(given, str(around.home), time.time() + 300) == []
    assert around.scan() == {NEW: 3}


def test_a_robot_s_command_feeds_nothing_and_is_no_person_s_edit(around: Around) -> None:
    """As with any tool."""
    around.bash(f"sed -i s/6543/7000/ {around.note}", CLAUDE_CODE_ENTRYPOINT="sdk-cli")

    assert around.settle().imported == []
    assert around.scan() == {NEW: 2}


@pytest.mark.parametrize("command", ["ls -l", "make test"])
def test_a_command_that_names_no_memory_leaves_no_trace_at_all(around: Around, command: str) -> None:
    """Not even that the hook fired: nothing was loaded that could say so."""
    around.bash(command)

    assert handover.waiting(around.ledger.path) == []
    assert [one["event"] for one in Sessions(around.ledger.path).fired(time.time())] == []


@pytest.mark.parametrize(
    "given",
    [
        {"tool_input": None}, {"tool_input": {"command": 7}}, {"tool_input": {}}, {},
        {"tool_input": {"command": "cat memory/\0.md"}, "cwd": "relative"},
        {"tool_input": {"command": "ls memory/a.md " * 9_000}, "cwd": "/\0", "duration_ms": "long"},
        {"tool_input": {"command": "ls memory"}, "cwd": "/src", "duration_ms": True},
        {"tool_input": {"command": "ls memory"}, "cwd": 7, "duration_ms": float("inf")},
    ],
)  # fmt: skip
def test_whatever_a_client_sends_a_command_without_a_note_wrote_none(tmp_path: Path, given: dict[str, Any]) -> None:
    """Broken fields name nothing."""
    assert shell.wrote({"tool_name": "Bash", **given}, str(tmp_path), time.time()) == []


def test_the_client_s_folder_may_be_elsewhere(around: Around, tmp_path: Path) -> None:
    """It is told by its environment; what is settled is what the ledger knows as a place of notes."""
    note = tmp_path / "config" / "projects" / "-demo" / "memory" / "a.md"
    note.parent.mkdir(parents=True)
    note.write_text(NEW)

    around.bash("python3 -c pass memory", CLAUDE_CONFIG_DIR=str(tmp_path / "config"))

    (one,) = handover.waiting(around.ledger.path)
    assert str(note) in [record["path"] for record in _records(one.path)]


def test_links_are_not_followed(around: Around) -> None:
    """A link in a memory folder is no note."""
    (around.home / "elsewhere.md").write_text(NEW)
    (around.memory / "linked.md").symlink_to(around.home / "elsewhere.md")

    around.bash(f"ls {around.memory}")

    found = [record["path"] for one in handover.waiting(around.ledger.path) for record in _records(one.path)]
    assert not [path for path in found if path.endswith("linked.md")]


def _records(path: str) -> list[dict[str, Any]]:
    return [record for line in Path(path).read_bytes().splitlines() if (record := handover.record(line))]


def test_an_answer_of_megabytes_does_not_hide_what_a_command_wrote(around: Around) -> None:
    """The client's JSON is cut then, inside an object of an object."""
    around.note.write_text(NEW)
    told = around.event(
        tool_name="Bash", tool_input={"command": f"sed -i s/6543/7000/ {around.note}"}, duration_ms=5,
        tool_response={"stdout": "x" * 3_000_000, "stderr": ""},
    )  # fmt: skip

    assert ran("tool", told, environment(Path(around.ledger.path))) == (0, "", "")

    around.settle()
    assert around.scan() == {NEW: 2}
