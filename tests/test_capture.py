"""Capture without a model: notes as tools write them, what a person changed by hand, and summaries."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from importers.plan import plan, vanished
from importers.registry import read_note, scan_paths
from ledger import capture, handover, ingest
from ledger.capture import Notes, Written
from ledger.ingest import Imported
from ledger.ledger import Ledger

POOLER = "The pooler of billing listens on port 6543."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home folder with a memory folder of one project, told by a transcript."""
    (tmp_path / "src" / "demo").mkdir(parents=True)
    folder = tmp_path / ".claude" / "projects" / "-src-demo"
    (folder / "memory").mkdir(parents=True)
    (folder / "s-1.jsonl").write_text(f'{{"type":"user","cwd":"{tmp_path}/src/demo"}}\n')
    return tmp_path


@pytest.fixture
def memory(home: Path) -> Path:
    """Return the memory folder."""
    return home / ".claude" / "projects" / "-src-demo" / "memory"


@pytest.fixture
def notes(home: Path) -> Notes:
    """Return how notes are read."""
    return Notes(lambda path: read_note(path, str(home)), plan, vanished)


Tool = Callable[..., Imported | None]
Scan = Callable[[], list[Imported]]


@pytest.fixture
def tool(ledger: Ledger, notes: Notes, home: Path, memory: Path) -> Tool:
    """Return a tool that writes a note, the client's hook for it, and a server that settles what the hook left."""

    def write(name: str, text: str, *, tool: str = "Write", feeds: bool = True) -> Imported | None:
        path = memory / name
        path.write_text(text)
        handover.noted(ledger.path, used(path, tool), feeds=feeds)
        done = capture.settle(ledger, notes, str(home), os.path.basename).imported
        return done[0] if done else None

    return write


@pytest.fixture
def scan(ledger: Ledger, home: Path, memory: Path) -> Scan:
    """Return a scan of the memory folder, as the command makes it."""

    def run() -> list[Imported]:
        readings = scan_paths([str(memory)], None, None, str(home))
        parts = [part for reading in readings for part in capture.by_hand(ledger, reading)]
        return [ingest.run(ledger, part, plan, vanished) for part in parts]

    return run


def used(path: Path, tool: str = "Write") -> dict[str, Any]:
    """Return the client's event for a tool that wrote a file."""
    return {"session_id": "s-1", "tool_name": tool, "tool_input": {"file_path": str(path)}, "cwd": "/src/demo"}


def current(ledger: Ledger) -> dict[str, int]:
    """Return solution and trust of every current learning."""
    rows = ledger.reader.list_learnings(limit=50).rows
    shown = [ledger.reader.show(row.id) for row in rows]
    return {one["solution"]: one["trust"] for one in shown}


@pytest.mark.parametrize("name", ["Write", "Edit", "MultiEdit"])
def test_a_note_that_a_tool_writes_comes_in_at_once(ledger: Ledger, tool: Tool, name: str) -> None:
    """As agent-written, in the project that the folder belongs to."""
    done = tool("pooler.md", POOLER, tool=name)

    assert done is not None
    assert done.recorded == 1
    assert current(ledger) == {POOLER: 2}
    assert ledger.reader.list_learnings().rows[0].project == "demo"


def test_a_note_that_a_tool_edits_supersedes(ledger: Ledger, tool: Tool) -> None:
    """And the same text again adds nothing."""
    tool("pooler.md", POOLER)

    done = tool("pooler.md", "The pooler of billing listens on port 7000.", tool="Edit")
    again = tool("pooler.md", "The pooler of billing listens on port 7000.", tool="Edit")

    assert done is not None
    assert again is not None
    assert (done.superseded, again.batch) == (1, None)
    assert current(ledger) == {"The pooler of billing listens on port 7000.": 2}


def test_an_index_is_read_with_the_notes_it_links_to(ledger: Ledger, tool: Tool) -> None:
    """Its index lines are no learnings, and the other notes are neither read nor missed."""
    tool("pooler.md", POOLER)

    done = tool(
        "MEMORY.md", "# Memory\n\n- [[pooler]] port\n- [Pooler](pooler.md) port\n\n- `make dev` needs Node 22\n"
    )

    assert done is not None
    assert (done.recorded, done.retracted, done.diagnostics) == (1, 0, [])
    assert set(current(ledger)) == {POOLER, "`make dev` needs Node 22"}


@pytest.mark.parametrize("name", ["README.md", "memory/a.py", "memory.md", "docs/memory/a.md"])
def test_what_is_no_note_is_left_alone(ledger: Ledger, notes: Notes, home: Path, tmp_path: Path, name: str) -> None:
    """A page of the project, and whatever else a tool wrote, in a folder called `memory` even."""
    path = tmp_path / "src" / "demo" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(POOLER)
    handover.noted(ledger.path, used(path))

    told = capture.settle(ledger, notes, str(home), os.path.basename)

    assert told.imported == []
    assert ledger.store.head().seq == 0
    assert not os.path.exists(Written(ledger).path)


def test_a_note_is_told_by_where_it_lies_below_the_client_s_folder(tmp_path: Path) -> None:
    """Not by the name of a home, nor by a link out of a memory folder; a memory folder may be a link itself."""
    home = tmp_path / "memory"
    projects = home / ".claude" / "projects"
    for folder in (projects / "-a" / "memory" / "deeper", projects / "-b", tmp_path / "vault", tmp_path / "src"):
        folder.mkdir(parents=True)
    (projects / "-b" / "memory").symlink_to(tmp_path / "vault")
    (projects / "-a" / "memory" / "out").symlink_to(tmp_path / "src")

    def is_note(*parts: str) -> bool:
        return capture.is_note(str(projects.joinpath(*parts)), str(home))

    assert is_note("-a", "memory", "deeper", "n.md")
    assert is_note("-b", "memory", "n.md")
    assert not is_note("..", "CLAUDE.md")
    assert not is_note("-a", "memory", "out", "n.md")
    assert not is_note("-a", "memory", "..", "n.md")


def test_a_note_below_a_folder_that_was_imported_counts(
    ledger: Ledger, notes: Notes, home: Path, tmp_path: Path
) -> None:
    """A memory folder that was moved elsewhere is known by its import."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a.md").write_text("Use ruff, never flake8.")
    for reading in scan_paths([str(folder)], None, None, str(home)):
        ingest.run(ledger, reading, plan, vanished)
    (folder / "b.md").write_text(POOLER)

    handover.noted(ledger.path, used(folder / "b.md"))

    (done,) = capture.settle(ledger, notes, str(home), os.path.basename).imported

    assert done.recorded == 1


def test_a_change_that_no_tool_made_is_a_person_s(ledger: Ledger, tool: Tool, scan: Scan, memory: Path) -> None:
    """It supersedes with the trust of a person's words, and the agent does not take that back."""
    tool("pooler.md", POOLER)
    (memory / "pooler.md").write_text("The pooler of billing listens on port 7000.")

    done = scan()
    again = scan()
    agent = tool("pooler.md", "The pooler of billing listens on port 8000.")

    assert [one.superseded for one in done] == [1, 0]
    assert [one.batch for one in again] == [None, None]
    assert current(ledger) == {"The pooler of billing listens on port 7000.": 3}
    assert agent is not None
    assert (agent.proposed, agent.superseded) == (1, 0)


def test_only_what_a_person_changed_is_theirs(ledger: Ledger, tool: Tool, scan: Scan, memory: Path) -> None:
    """The other items of the same file, and the other files, stay agent-written."""
    tool("lint.md", "Use ruff, never flake8.")
    tool("MEMORY.md", "# Notes\n\n- `make dev` needs Node 22\n")
    with (memory / "MEMORY.md").open("a") as file:
        file.write("- the gateway listens on 9000\n")

    scan()

    assert current(ledger) == {
        "Use ruff, never flake8.": 2, "`make dev` needs Node 22": 2, "the gateway listens on 9000": 3,
    }  # fmt: skip


def test_what_the_client_rewrites_of_a_header_is_nobody_s_edit(
    ledger: Ledger, tool: Tool, scan: Scan, memory: Path
) -> None:
    """It nests keys and adds times by itself, after the tool call."""
    tool("pooler.md", f"---\nname: pooler\ntype: reference\n---\n\n{POOLER}\n")
    (memory / "pooler.md").write_text(
        f"---\nname: pooler\nmetadata: \n  type: reference\n  modified: 2026-11-30T01:00:00Z\n---\n{POOLER}\n"
    )

    scan()

    assert current(ledger) == {POOLER: 2}


def test_a_note_that_no_tool_was_seen_to_write_is_agent_written(ledger: Ledger, scan: Scan, memory: Path) -> None:
    """Without the hooks nobody can tell: the lower trust is the safe one."""
    (memory / "pooler.md").write_text(POOLER)
    scan()
    (memory / "pooler.md").write_text("The pooler of billing listens on port 7000.")

    scan()

    assert current(ledger) == {"The pooler of billing listens on port 7000.": 2}


def test_what_was_written_may_be_forgotten_at_any_time(ledger: Ledger, tool: Tool, scan: Scan, memory: Path) -> None:
    """A deleted file, or one of garbage, makes everything agent-written."""
    tool("pooler.md", POOLER)
    Path(Written(ledger).path).write_bytes(b"\xff\x00 garbage\n\n x y z\n")
    (memory / "pooler.md").write_text("The pooler of billing listens on port 7000.")

    scan()

    assert current(ledger) == {"The pooler of billing listens on port 7000.": 2}


def test_what_tools_wrote_is_kept_as_keyed_digests_in_a_bounded_file(
    ledger: Ledger, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No text, no path; the older half goes."""
    monkeypatch.setattr(capture, "WRITTEN_BYTES", 2_000)
    for number in range(30):
        tool("pooler.md", f"The pooler listens on port {number}.", feeds=False)

    path = Path(Written(ledger).path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert path.stat().st_size <= 2_200
    assert b"pooler" not in path.read_bytes()


def test_a_robot_s_note_is_not_brought_in_nor_taken_for_a_person_s(ledger: Ledger, tool: Tool, scan: Scan) -> None:
    """It feeds nothing; a later scan finds it as what it is."""
    tool("pooler.md", POOLER)

    assert tool("pooler.md", "The pooler of billing listens on port 1.", feeds=False) is None

    assert current(ledger) == {POOLER: 2}
    scan()
    assert current(ledger) == {"The pooler of billing listens on port 1.": 2}


def test_an_echo_that_a_tool_writes_is_left_out(ledger: Ledger, tool: Tool) -> None:
    """The guard stands at the same door."""
    from ledger.model import Draft
    from ledger.recall import Recall

    ledger.record(Draft("the pooler refuses connections on port 5432", "connect through port 6543", "env", "demo"))
    recall = Recall(ledger.reader)
    assert recall.recall("the pooler refuses connections on port 5432, which one?", "s-1", "demo").ids
    recall.close()

    done = tool("ports.md", "The pooler refuses connections on port 5432, connect through port 6543.")

    assert done is not None
    assert ([one.code for one in done.diagnostics], done.batch) == (["echo"], None)


# -- summaries, and what waited ---------------------------------------------------------------------------------------


def test_a_compaction_s_summary_is_kept(ledger: Ledger) -> None:
    """With the trust of what an agent wrote; robots and folders without a project keep none."""
    payload = {"session_id": "s-1", "compact_summary": "We moved the job."}

    kept = capture.compacted(ledger, payload, "demo")
    others = [
        capture.compacted(ledger, payload, "demo", feeds=False), capture.compacted(ledger, payload, None),
        capture.compacted(ledger, {"session_id": "s-1"}, "demo"), capture.compacted(ledger, {}, "demo"),
    ]  # fmt: skip

    found = ledger.reader.summary("demo")
    assert kept is not None
    assert found is not None
    assert (found.text, found.trust, others) == ("We moved the job.", 2, [None] * 4)
    assert ledger.event(found.seq).channel == "hook"


def test_what_hooks_handed_over_is_done_by_whoever_has_the_ledger(
    ledger: Ledger, notes: Notes, home: Path, memory: Path
) -> None:
    """Notes come in, summaries are kept, evidence stays for the offline pass; a second time does nothing."""
    (memory / "pooler.md").write_text(POOLER)
    handover.noted(ledger.path, used(memory / "pooler.md"))
    handover.compacted(ledger.path, {"session_id": "s-1", "compact_summary": "We moved the job.", "cwd": "/src/demo"})
    handover.stopped(ledger.path, {"session_id": "s-1", "last_assistant_message": "Done."})

    told = capture.settle(ledger, notes, str(home), os.path.basename)
    again = capture.settle(ledger, notes, str(home), os.path.basename)

    assert ([one.recorded for one in told.imported], len(told.summarised), told.unusable) == ([1], 1, 0)
    assert (again.imported, again.summarised) == ([], [])
    assert [one.lane for one in handover.waiting(ledger.path)] == [handover.LATER]


def test_what_waits_of_a_project_that_is_switched_off_is_dropped(
    ledger: Ledger, notes: Notes, home: Path, memory: Path
) -> None:
    """A hook keeps it while the ledger cannot be asked; whoever settles asks."""
    (memory / "pooler.md").write_text(POOLER)
    handover.noted(ledger.path, {**used(memory / "pooler.md"), "cwd": "/src/demo"})
    handover.compacted(ledger.path, {"session_id": "s-1", "compact_summary": "We moved the job.", "cwd": "/src/demo"})
    ledger.set("off", '["demo"]')

    told = capture.settle(ledger, notes, str(home), os.path.basename)

    assert told == ([], [], 0)
    assert handover.waiting(ledger.path) == []
    assert ledger.reader.summary("demo") is None


def test_what_a_tool_wrote_while_a_project_was_off_is_no_person_s_edit(
    ledger: Ledger, tool: Tool, scan: Scan, notes: Notes, home: Path, memory: Path
) -> None:
    """It feeds nothing then, and is agent-written for the scan that comes when it is on again."""
    tool("pooler.md", POOLER)
    ledger.set("off", '["demo"]')
    (memory / "pooler.md").write_text("The pooler of billing listens on port 7000.")
    handover.noted(ledger.path, used(memory / "pooler.md"))

    told = capture.settle(ledger, notes, str(home), os.path.basename)

    assert (told.imported, current(ledger)) == ([], {POOLER: 2})
    ledger.set("off", "[]")
    scan()
    assert current(ledger) == {"The pooler of billing listens on port 7000.": 2}


def test_a_note_that_was_changed_since_is_left_to_the_scan(
    ledger: Ledger, tool: Tool, scan: Scan, notes: Notes, home: Path, memory: Path
) -> None:
    """Whoever changed it, it was not the tool call that waited."""
    tool("pooler.md", POOLER)
    handover.noted(ledger.path, used(memory / "pooler.md"))
    (memory / "pooler.md").write_text("The pooler of billing listens on port 70000.")

    told = capture.settle(ledger, notes, str(home), lambda cwd: "demo")

    assert (told.imported, told.unusable) == ([], 1)
    scan()
    assert current(ledger) == {"The pooler of billing listens on port 70000.": 3}


def test_records_that_cannot_be_used_cost_only_themselves(
    ledger: Ledger, notes: Notes, home: Path, memory: Path
) -> None:
    """A note that is gone, a summary without a folder, a kind of a newer program, a line that was cut off."""
    for name in ("gone.md", "kept.md"):
        (memory / name).write_text(POOLER)
        handover.noted(ledger.path, used(memory / name))
    (memory / "gone.md").unlink()
    handover.compacted(ledger.path, {"session_id": "s-1", "compact_summary": "We moved the job."})
    (one,) = handover.waiting(ledger.path)
    with open(one.path, "ab") as file:
        file.write(b'{"kind":"of tomorrow"}\n{"kind":"note","path":7}\n{"kind":"no')

    told = capture.settle(ledger, notes, str(home), lambda cwd: "demo")

    assert ([one.recorded for one in told.imported], told.unusable) == ([1], 5)


def test_a_tool_s_note_among_two_hundred_is_in_within_300_ms(ledger: Ledger, tool: Tool, memory: Path) -> None:
    """The quickest of five, with a warm process; the others say how busy the machine is."""
    for number in range(200):
        (memory / f"note_{number}.md").write_text(f"The service {number} listens on port {6000 + number}.")
    took = []
    for number in range(5):
        begun = time.perf_counter()
        tool(f"new_{number}.md", f"The queue {number} drops messages over {number} KB.")
        took.append(time.perf_counter() - begun)

    assert min(took) < 0.3
