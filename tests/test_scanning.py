"""What was written into memory folders while nobody looked is in the ledger soon after a session begins."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hooked import environment, payload, ran, repository
from talk import lines, said, talking

from importers.projects import loaded_files
from ledger import handover
from ledger.cli import main
from ledger.ledger import Ledger
from ledger.reader import open_reader
from ledger.sessions import Sessions
from mcp_server.scanning import LATER_MAX, LATER_S, NOTES_STEP, Scanning
from mcp_server.settling import Settling

PERSON = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
SAID = "The pooler of billing listens on port {}."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home of its own, in which a person's session of the project `demo` runs."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDECODE", "1")
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    folder = repository(tmp_path)
    memory = tmp_path / ".claude" / "projects" / "-demo" / "memory"
    memory.mkdir(parents=True)
    (memory.parent / "s1.jsonl").write_text(json.dumps({"type": "user", "cwd": str(folder)}) + "\n")
    return tmp_path


@pytest.fixture
def file(home: Path) -> Path:
    """Return an empty ledger."""
    path = home / "data" / "ledger.db"
    Ledger.init(str(path)).close()
    return path


@pytest.fixture
def note(home: Path) -> Path:
    """Return a note in the memory folder, written while nothing ran."""
    path = home / ".claude" / "projects" / "-demo" / "memory" / "pooler.md"
    path.write_text(SAID.format(6543))
    return path


def later() -> float:
    """Return a time at which what was just written has lain for a while."""
    return time.time() + 60


def scanned(file: Path, env: dict[str, str] | None = None) -> int:
    """Do every step of a session; return how many there were."""
    scanning = Scanning(str(file), PERSON if env is None else env, lambda: None, clock=later)
    steps = 1
    while scanning.step() is not None:
        steps += 1
    return steps


def current(file: Path) -> list[tuple[int, str]]:
    """Return trust and solution of every current learning, in their order."""
    with open_reader(str(file)) as reader:
        rows = [reader.show(row.id) for row in reader.list_learnings(limit=50).rows]
    return sorted((int(row["trust"]), str(row["solution"])) for row in rows)


def counted(file: Path) -> int:
    """Return how many learnings there are."""
    connection = sqlite3.connect(file, timeout=10)
    found = int(connection.execute("SELECT count(*) FROM learning").fetchone()[0])
    connection.close()
    return found


def until(true: Callable[[], object]) -> object:
    """Wait for what another process does, by looking."""
    deadline = time.monotonic() + 60
    found = true()
    while not found and time.monotonic() < deadline:
        found = true()
    return found


def test_a_note_that_changed_while_nothing_ran_is_in_the_ledger_soon_after_a_start(
    home: Path, file: Path, note: Path
) -> None:
    """The real client, over stdio; each recall meanwhile is answered, and the next one knows the note."""
    prompt = "which port does the pooler of billing listen on?"
    asked = {"prompt": prompt, "session_id": "s1", "cwd": str(home / "demo"), "prompt_id": "p1", "transcript_path": ""}
    answers: list[str] = []

    with talking(file, "auto", cwd=home / "demo") as talk:
        talk.tools()

        def known() -> bool:
            answers.append(said(talk.call("recall", asked)))
            return current(file) == [(2, SAID.format(6543))]

        assert until(known)
        assert until(lambda: "6543" in said(talk.call("recall", {**asked, "session_id": "s2"})))
    assert set(answers) <= {"{}", *(one for one in answers if "6543" in one)}


def test_only_what_changed_is_read_again(file: Path, note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit, a new note, one that is gone; a session after which nothing changed opens no ledger to write."""
    other = note.with_name("queue.md")
    other.write_text("Split messages.\n\n**Why:** the queue drops those over 256 KB.")
    scanned(file)

    note.write_text(SAID.format(7000))
    other.rename(note.with_name("messages.md"))
    scanned(file)

    assert current(file) == [(2, "Split messages."), (2, SAID.format(7000))]
    assert counted(file) == 3
    monkeypatch.setattr(Ledger, "open", lambda *_, **__: pytest.fail("nothing has changed"))
    assert scanned(file) == 1


def test_a_note_that_is_gone_takes_its_learning_along(file: Path, note: Path) -> None:
    """Whether it is remembered what there was, or not."""
    second = note.with_name("queue.md")
    second.write_text("The queue drops messages over 256 KB.")
    third = note.with_name("linter.md")
    third.write_text("Use ruff, never flake8.")
    scanned(file)

    note.unlink()
    scanned(file)
    assert len(current(file)) == 2
    second.unlink()
    Path(f"{file}.scanned").write_bytes(b'{"torn')
    scanned(file)

    assert current(file) == [(2, "Use ruff, never flake8.")]


def test_a_full_scan_afterwards_finds_nothing(file: Path, note: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is read in steps is what is read at once: index, links, prose, many notes."""
    for number in range(30):
        note.with_name(f"topic-{number}.md").write_text(f"Topic {number}: use port {5000 + number} of host {number}.")
    note.with_name("MEMORY.md").write_text("# Index\n\n- [[topic-3]]\n- [Pooler](pooler.md)\n- ports: ask ops first\n")

    steps = scanned(file)

    capfd.readouterr()
    assert main(["--file", str(file), "scan", "--json"]) == 0
    again = json.loads(capfd.readouterr().out)
    assert (steps, again["unchanged"], again["batches"]) == (4, 32, [])


def test_what_a_robot_wrote_is_left_out_and_a_robot_reads_nothing(home: Path, file: Path, note: Path) -> None:
    """Until a person's words stand there."""
    given = payload(home / "demo", tool_name="Write", tool_input={"file_path": str(note)})
    handover.noted(str(file), given, feeds=False)
    settling = Settling(str(file), PERSON, lambda: None)
    assert settling.settle()

    scanned(file)
    assert current(file) == []
    note.write_text(SAID.format(7000))
    scanned(file, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"})
    assert current(file) == []
    scanned(file)

    assert current(file) == [(3, SAID.format(7000))]


def told(home: Path, file: Path, note: Path, **env: str) -> None:
    """Run the hook of a tool that wrote a note."""
    given = payload(home / "demo", tool_name="Write", tool_input={"file_path": str(note)})
    assert ran("tool", given, environment(file, HOME=str(home), **env)) == (0, "", "")


def settled(file: Path) -> None:
    """Do what hooks have handed over."""
    assert Settling(str(file), PERSON, lambda: None).settle()


def test_what_an_agent_wrote_while_its_session_was_off_is_no_person_s(home: Path, file: Path, note: Path) -> None:
    """The hook of such a session says only who wrote it: nothing of it comes in until a person's words stand there."""
    told(home, file, note)
    settled(file)
    note.write_text(SAID.format(7000))
    told(home, file, note, LEARNINGS_OFF="1")
    settled(file)

    scanned(file)

    assert current(file) == [(2, SAID.format(6543))]


def test_what_a_hook_has_yet_to_say_is_waited_for(home: Path, file: Path, note: Path) -> None:
    """A note that was just written is no person's edit because its hook is on its way, nor while that waits."""
    told(home, file, note)
    settled(file)
    scanned(file)
    note.write_text(SAID.format(7000))
    session = Scanning(str(file), PERSON, lambda: None)

    early = session.step()
    told(home, file, note)
    session._clock = later
    waiting = session.step()
    settled(file)
    last = session.step()

    assert (early, waiting, last) == (LATER_S, LATER_S, None)
    assert current(file) == [(2, SAID.format(7000))]


def test_a_note_that_never_comes_to_rest_keeps_no_other_waiting(file: Path, note: Path) -> None:
    """The next session reads it; one of tomorrow is read at once."""
    old = note.with_name("queue.md")
    old.write_text("The queue drops messages over 256 KB.")
    for number in range(NOTES_STEP):
        note.with_name(f"a-{number}.md").write_text(f"Topic {number}: use port {5000 + number} of host {number}.")
    os.utime(note, (time.time() + 86_400 + 60,) * 2)
    os.utime(old, (later(),) * 2)

    steps = scanned(file)

    assert steps > LATER_MAX
    assert counted(file) == NOTES_STEP
    scanned(file)
    assert counted(file) == NOTES_STEP


def test_of_the_client_s_folder_a_link_is_as_good(home: Path, file: Path, note: Path) -> None:
    """As people have it who keep it with their other settings: what a tool writes there comes in at once."""
    (home / "dotfiles").mkdir()
    (home / ".claude").rename(home / "dotfiles" / "claude")
    (home / ".claude").symlink_to(home / "dotfiles" / "claude")
    told(home, file, note)

    settled(file)

    assert current(file) == [(2, SAID.format(6543))]


def test_a_memory_folder_that_is_a_link_is_of_its_project(
    home: Path, file: Path, note: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Read by a session, by the command and as a tool writes it: the same project, and as off as that is."""
    folder = note.parent
    folder.rename(home / "vault")
    folder.symlink_to(home / "vault")
    assert main(["--file", str(file), "off", "--project", "demo"]) == 0
    scanned(file)
    assert counted(file) == 0
    assert main(["--file", str(file), "on", "--project", "demo"]) == 0

    told(home, file, note)
    settled(file)
    folder.joinpath("queue.md").write_text("The queue drops messages over 256 KB.")
    scanned(file)

    assert current(file) == [(2, SAID.format(6543)), (2, "The queue drops messages over 256 KB.")]
    with open_reader(str(file)) as reader:
        assert {row.project for row in reader.list_learnings().rows} == {"demo"}
    capfd.readouterr()
    assert main(["--file", str(file), "scan", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["batches"] == []


def test_the_client_s_folder_may_be_elsewhere(
    home: Path, file: Path, note: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`CLAUDE_CONFIG_DIR`: a session, the hook of a tool and the command look there, and nowhere else."""
    (home / ".claude").rename(home / "elsewhere")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    moved = home / "elsewhere" / note.relative_to(home / ".claude")
    told(home, file, moved, CLAUDE_CONFIG_DIR=str(home / "elsewhere"))
    settled(file)
    assert current(file) == [(2, SAID.format(6543))]

    moved.with_name("queue.md").write_text("The queue drops messages over 256 KB.")
    scanned(file)

    assert counted(file) == 2
    capfd.readouterr()
    assert main(["--file", str(file), "scan", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["unchanged"] == 2
    (home / "elsewhere" / "CLAUDE.md").write_text("- whatever\n")
    assert str(home / "elsewhere" / "CLAUDE.md") in loaded_files(str(home / "demo"), str(home))


@pytest.mark.parametrize("held", [b'{"/a": [Infinity, 1, 1]}', b"\xff\x00[", b"[1, 2]", b'{"/a": 1}', b"[" * 9_999])
def test_what_is_remembered_may_be_anything(file: Path, note: Path, held: bytes) -> None:
    """Then all is read again."""
    Path(f"{file}.scanned").write_bytes(held)

    scanned(file)

    assert counted(file) == 1


@pytest.mark.parametrize("where", ["session", "everywhere", "project"])
def test_nothing_is_read_where_it_is_off(
    home: Path, file: Path, note: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all of it once it is on again."""
    if where != "session":
        words = [] if where == "everywhere" else ["--project", "demo"]
        assert main(["--file", str(file), "off", *words]) == 0

    scanned(file, {**PERSON, "LEARNINGS_OFF": "1"} if where == "session" else PERSON)

    assert current(file) == []
    if where != "session":
        assert main(["--file", str(file), "on", *words]) == 0
    scanned(file)
    assert len(current(file)) == 1


def test_of_sessions_that_begin_at_once_one_reads(file: Path, note: Path) -> None:
    """The other sees that somebody does."""
    note.with_name("queue.md").write_text("The queue drops messages over 256 KB.")
    first = Scanning(str(file), PERSON, lambda: None, clock=later)
    first._steps = first._begun()

    assert scanned(file) == 1
    assert counted(file) == 0
    while first.step() is not None:
        pass

    assert counted(file) == 2


def test_a_step_waits_while_a_prompt_is_answered(file: Path, note: Path) -> None:
    """And goes on afterwards."""
    asked: Iterator[bool] = iter([True, True, True])
    scanning = Scanning(str(file), PERSON, lambda: None, lambda: next(asked, False), later)

    while scanning.step() is not None:
        pass

    assert next(asked, None) is None
    assert counted(file) == 1


def test_a_ledger_that_cannot_be_written_is_told_to_doctor(file: Path, note: Path) -> None:
    """The next session tries again."""
    scanning = Scanning(str(file), PERSON, lambda: None, clock=later)
    scanning._steps = scanning._begun()
    with sqlite3.connect(file) as older:
        version = older.execute("PRAGMA user_version").fetchone()[0]
        older.execute("PRAGMA user_version = 999")

    assert scanning.step() is None
    older.execute(f"PRAGMA user_version = {version}")
    older.close()

    (fired,) = Sessions(str(file)).fired(time.time())
    assert (fired["event"], fired["succeeded"]) == ("scan", 0)
    scanned(file)
    assert counted(file) == 1


def test_a_server_that_is_ended_in_the_middle_leaves_before_or_after(
    home: Path, file: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM ends it at once; the log is whole, and the next session reads the rest, each note once."""
    monkeypatch.chdir(home / "demo")
    for number in range(120):
        note.with_name(f"topic-{number}.md").write_text(f"Topic {number}: use port {5000 + number} of host {number}.")

    with lines(file) as server:
        server.ask("tools/list", {})
        assert until(lambda: counted(file) > 0)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    done = counted(file)

    assert 0 < done < 121
    assert main(["--file", str(file), "verify"]) == 0
    scanned(file)
    assert (counted(file), os.path.exists(f"{file}.scanned")) == (121, True)
