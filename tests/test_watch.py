"""`learnings watch`: the real process, on real files, while others write the same ledger."""

import json
import os
import plistlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Shell, refused
from foreign import database, observation, put
from hooked import environment, payload, ran, repository
from said import Session
from watched import Watched, note, watched

from ledger.ledger import Ledger
from ledger.model import person
from ledger.reader import open_reader

BUSY_S = 3.0
"""Longest that a stop may take here: the machine may be busy. `benchmarks/watch.py` holds it to a second."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a command whose home has the memory folder of a project `demo`."""
    made = Shell(tmp_path)
    folder = repository(tmp_path)
    memory = tmp_path / ".claude" / "projects" / "-demo" / "memory"
    memory.mkdir(parents=True)
    (memory.parent / "s1.jsonl").write_text(json.dumps({"type": "user", "cwd": str(folder)}) + "\n")
    return made


@pytest.fixture
def memory(shell: Shell) -> Path:
    """Return that memory folder."""
    return shell.folder / ".claude" / "projects" / "-demo" / "memory"


def current(shell: Shell) -> list[str]:
    """Return the rules that are current, sorted."""
    with open_reader(str(shell.file)) as reader:
        rows = [reader.show(row.id) for row in reader.list_learnings(limit=50).rows]
    return sorted(str(row["solution"]).split("\n")[0] for row in rows)


def trusts(shell: Shell) -> list[tuple[str, int]]:
    """Return the rules that are current with their trust, sorted."""
    with open_reader(str(shell.file)) as reader:
        rows = [reader.show(row.id) for row in reader.list_learnings(limit=50).rows]
    return sorted((str(row["solution"]).split("\n")[0], int(row["trust"])) for row in rows)


def replaced(path: Path, text: str, made: Path) -> None:
    """Write a file beside or elsewhere, and give it the name of another."""
    note(made, text)
    os.replace(made, path)


def appended(path: Path, text: str) -> None:
    """Write a note a piece at a time."""
    path.write_text("")
    with open(path, "a") as file:
        for part in (text, "\n\n**Why:** it was", " decided so.\n"):
            file.write(part)
            file.flush()


def deleted_and_created(path: Path, text: str) -> None:
    """Delete a note and write it anew."""
    path.unlink()
    note(path, text)


def backed_up(path: Path, text: str) -> None:
    """Keep the old note under another name while the new one is written."""
    os.rename(path, path.with_name("pool.md~"))
    note(path, text)
    path.with_name("pool.md~").unlink()


WAYS: dict[str, Callable[[Path, str], object]] = {
    "in place": note,
    "append": appended,
    "rename inside": lambda path, text: replaced(path, text, path.with_name(".pool.tmp")),
    "rename from outside": lambda path, text: replaced(path, text, path.parents[4] / "made.md"),
    "backup": backed_up,
    "delete and create": deleted_and_created,
}


def test_a_note_is_in_the_ledger_however_it_was_saved(shell: Shell, memory: Path) -> None:
    """One process hears of six ways to save one note; each time what it says now has replaced what it said."""
    path = note(memory / "pool.md", "Use port 6000 for the pooler.")
    with watched(shell) as running:
        for number, save in enumerate(WAYS.values(), 6001):
            save(path, f"Use port {number} for the pooler.")
            running.until(lambda _, number=number: current(shell) == [f"Use port {number} for the pooler."])

    with Ledger.open(str(shell.file), person()) as ledger:
        assert ledger.verify().ok


def test_new_folders_and_projects_are_watched_from_then_on(shell: Shell, memory: Path) -> None:
    """A folder in a folder, a project that a client has just begun, and the first folder of an agent's."""
    with watched(shell) as running:
        note(memory / "deep" / "er" / "one.md", "Use tabs in makefiles here.")
        assert [row["new"] for row in running.next()["sources"]] == [1]
        other = shell.folder / ".claude" / "projects" / "-other" / "memory"
        note(other / "two.md", "Use spaces in YAML files here.")
        assert running.next()["sources"][0]["path"] == str(other)
        note(other / "three.md", "Use two blanks of indent there.")
        running.next()
        note(shell.folder / ".claude" / "agent-memory" / "critic" / "four.md", "Ask twice before a force push.")
        running.next()

    assert len(current(shell)) == 4


def test_a_burst_is_one_import(shell: Shell, memory: Path) -> None:
    """Two hundred appends, and then quiet."""
    path = note(memory / "pool.md", "Use port 6000 for the pooler.")
    with watched(shell) as running:
        with open(path, "a") as file:
            for number in range(200):
                file.write(f"- step {number}\n")
                file.flush()
        assert running.next()["superseded"] == 1
        running.quiet(1.5)


def test_a_memory_folder_that_is_a_link_may_lead_elsewhere(shell: Shell, memory: Path) -> None:
    """The link is swapped at one blow; what the other folder says is learned, and it is followed."""
    for name in ("one", "two"):
        note(shell.folder / "notes" / name / "pool.md", f"Use the pooler of site {name}.")
    memory.rmdir()
    memory.symlink_to(shell.folder / "notes" / "one")
    with watched(shell) as running:
        memory.with_name("next").symlink_to(shell.folder / "notes" / "two")
        os.replace(memory.with_name("next"), memory)
        running.until(lambda _: "Use the pooler of site two." in current(shell))
        note(shell.folder / "notes" / "two" / "more.md", "Restart the pooler on Mondays.")
        running.until(lambda _: "Restart the pooler on Mondays." in current(shell))


def test_a_live_database_of_claude_mem_is_followed(shell: Shell) -> None:
    """Rows that stand in its log only, and other tables that change without end."""
    folder = shell.folder / ".claude-mem"
    folder.mkdir()
    connection = database(folder / "claude-mem.db", observation(1, "pooler refused"))
    with watched(shell) as running:
        assert len(current(shell)) == 0 or running.said
        put(connection, observation(2, "queue dropped", id=2, memory_session_id="5f0c2a9e-1111-4000-8000-000000000002"))
        running.until(lambda one: sum(row["new"] for said in one.said for row in said["sources"]) == 2)
        connection.execute(
            "INSERT INTO pending_messages (session_db_id, content_session_id, message_type, created_at_epoch)"
            " VALUES (1, 'x', 'observation', 1)"
        )
        running.quiet(1.5)
    connection.close()


def test_what_a_person_says_in_a_session_is_learned_while_it_goes_on(shell: Shell, memory: Path) -> None:
    """The transcript grows line by line; what stood there is not learned twice, and all of it can be searched."""
    said = "From now on, always use port {} for the billing pooler."
    path = memory.parent / "s2.jsonl"
    line = {
        "type": "user", "sessionId": "s2", "cwd": str(shell.folder / "demo"), "entrypoint": "cli",
        "userType": "external",
    }  # fmt: skip
    with watched(shell) as running:
        for number in (6543, 7654):
            told = {"uuid": f"u{number}", "timestamp": f"2026-11-29T08:{number % 60:02}:00.000Z"}
            message = {"role": "user", "content": said.format(number)}
            with open(path, "a") as file:
                file.write(json.dumps({**line, **told, "message": message}) + "\n")
            running.until(lambda _, number=number: [one for one in trusts(shell) if str(number) in one[0]])
        running.until(lambda heard: len(heard.said) >= 2)  # it is told after it is in
        running.quiet(1.0)

    assert [trust for _, trust in trusts(shell)] == [3]
    assert len(shell.run("said", "billing pooler", "--json").document["turns"]) == 2


def test_the_first_session_of_a_project_is_learned_at_once(shell: Shell, memory: Path) -> None:
    """The client makes the folder of a project, and its memory, before anybody has said a word there."""
    new = memory.parent.with_name("-srv-new")
    new.mkdir()
    with watched(shell) as running:
        later = memory.parent.with_name("-srv-later")
        later.mkdir()
        running.quiet(1.0)
        for number, folder in enumerate((memory.parent, new, later)):
            said = f"remember that site {number} deploys from branch live{number}"
            Session(f"s{number}").says(said).at(folder)
            running.until(lambda _, said=said: said in current(shell))


def test_a_restart_catches_up(shell: Shell, memory: Path) -> None:
    """What was written, edited and deleted while nothing ran."""
    note(memory / "pool.md", "Use port 6000 for the pooler.")
    gone = note(memory / "gone.md", "Use the old linter for now.")
    with watched(shell) as running:
        running.stop()
    note(memory / "pool.md", "Use port 7000 for the pooler.")
    note(memory / "lint.md", "Use the new linter from now on.")
    gone.unlink()

    with watched(shell) as running:
        running.until(lambda one: one.said)
        assert [(row["new"], row["changed"], row["gone"]) for row in running.said[0]["sources"]] == [(1, 1, 1)]

    assert current(shell) == ["Use port 7000 for the pooler.", "Use the new linter from now on."]


def test_a_second_watch_names_the_first_and_ends(shell: Shell) -> None:
    """By whatever name the ledger is called; a watch that was killed leaves nothing behind."""
    (shell.folder / "link").symlink_to(shell.file.parent)
    with watched(shell) as running:
        refused(shell.run("watch"), 35, f"process {running.process.pid}")
        refused(shell.run("watch", "--file", str(shell.folder / "link" / "ledger.db")), 35, str(running.process.pid))
        running.process.kill()
        running.process.wait()
        with watched(shell) as other:
            assert other.stop() < 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_at_once_and_has_no_children(shell: Shell, memory: Path, number: int) -> None:
    """Idle, with status 0; while it runs it is one process."""
    with watched(shell) as running:
        pid = running.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        took = running.stop(number)

    assert (children, took < BUSY_S) == ("", True)
    assert running.err.endswith("learnings: stopped\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_stops_in_the_middle_of_an_import(shell: Shell, memory: Path, number: int) -> None:
    """Of a thousand notes, asked to or killed; what is in is whole, and the next run does the rest."""
    for one in range(1_000):
        note(memory / f"{one}.md", f"Use port {one} for the service number {one}.")
    begun = Watched(shell)
    try:
        begun.until(lambda _: shell.file.exists() and counted(shell) > 0)
        assert number == signal.SIGKILL or begun.stop(number) < BUSY_S
    finally:
        begun.process.kill()
        begun.process.communicate()

    with Ledger.open(str(shell.file), person()) as ledger:
        assert ledger.verify().ok
    shell.run("scan")
    assert counted(shell) == 1_000


def counted(shell: Shell) -> int:
    """Return how many learnings there are."""
    connection = sqlite3.connect(shell.file, timeout=10)
    try:
        return int(connection.execute("SELECT count(*) FROM learning").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # it is being made
    finally:
        connection.close()


def test_one_bad_source_stops_no_other(shell: Shell, memory: Path) -> None:
    """A database that is none, said once; notes come in before and after."""
    folder = shell.folder / ".claude-mem"
    folder.mkdir()
    (folder / "claude-mem.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9_000)
    with watched(shell) as running:
        note(memory / "one.md", "Use tabs in makefiles here.")
        running.next()
        (folder / "claude-mem.db").write_bytes(b"SQLite format 3\0" + b"\xfe" * 9_000)
        note(memory / "two.md", "Use spaces in YAML files here.")
        running.until(lambda _: len(current(shell)) == 2)

    assert running.err.count("(damaged)") == 1


def test_what_an_agents_tool_wrote_is_no_persons_edit(shell: Shell, memory: Path) -> None:
    """The hook speaks a moment after the file has changed: an edit of a note of a tool waits for it."""
    env = environment(shell.file, HOME=str(shell.folder))
    path = note(memory / "pool.md", "Use port 6000 for the pooler.")
    tool = {"tool_name": "Write", "tool_input": {"file_path": str(path)}, "cwd": str(shell.folder / "demo")}
    with watched(shell) as running:
        ran("tool", payload(shell.folder / "demo", **tool), env)
        marks = shell.file.parent / "ledger.db.written"
        running.until(lambda _: marks.exists() and marks.read_text().endswith("\n"))
        running.rests()
        note(path, "Use port 7000 for the pooler.")
        running.quiet(1.0)
        ran("tool", payload(shell.folder / "demo", **tool), env)
        running.until(lambda _: trusts(shell) == [("Use port 7000 for the pooler.", 2)])

        note(path, "Use port 8000 for the pooler.")
        running.until(lambda _: trusts(shell) == [("Use port 8000 for the pooler.", 3)])


def test_a_project_that_is_off_feeds_nothing(shell: Shell, memory: Path) -> None:
    """And is read once it is on again."""
    shell.run("init")
    shell.run("off", "--project", "demo")
    with watched(shell) as running:
        note(memory / "one.md", "Use tabs in makefiles here.")
        running.quiet(1.5)
        assert current(shell) == []
    shell.run("on", "--project", "demo")
    with watched(shell):
        assert current(shell) == ["Use tabs in makefiles here."]


def test_a_watch_a_scan_and_a_person_write_at_once(shell: Shell, memory: Path) -> None:
    """All three append; nothing is lost, nothing is twice, and the chain holds."""
    with watched(shell) as running:

        def writes() -> None:
            for number in range(20):
                note(memory / f"{number}.md", f"Use port {number} for the service number {number}.")

        def scans() -> None:
            for _ in range(3):
                assert shell.run("scan").code == 0

        threads = [threading.Thread(target=one) for one in (writes, scans)]
        for thread in threads:
            thread.start()
        texts = ("--category", "env", "--project", "demo")
        for number in range(5):
            said = shell.run("record", "--problem", f"deploy {number} fails", "--solution", f"retry {number}", *texts)
            assert said.code == 0, said.err
        for thread in threads:
            thread.join()
        running.until(lambda _: counted(shell) == 25)

    assert len(current(shell)) == 25
    with Ledger.open(str(shell.file), person()) as ledger:
        assert ledger.verify().ok


def test_an_added_path_is_watched_and_one_that_is_left_out_is_not(shell: Shell, memory: Path) -> None:
    """As `scan --add` and `scan --forget` remembered."""
    more = shell.folder / "handbook"
    note(more / "one.md", "Use tabs in makefiles here.")
    assert shell.run("scan", "--add", str(more)).code == 0
    assert shell.run("scan", "--forget", str(memory)).code == 0
    with watched(shell) as running:
        note(memory / "two.md", "Use spaces in YAML files here.")
        note(more / "three.md", "Use two blanks of indent there.")
        assert [row["path"] for row in running.next()["sources"]] == [str(more)]
        running.quiet(1.0)


def test_places_that_are_named_while_it_runs_hold_at_once(shell: Shell, memory: Path) -> None:
    """What `scan --add` named is followed, and what `scan --forget` named no more, without a restart."""
    more = shell.folder / "handbook"
    note(more / "one.md", "Use tabs in makefiles here.")
    with watched(shell) as running:
        assert shell.run("scan", "--add", str(more)).code == 0
        running.quiet(1.0)
        note(more / "two.md", "Use spaces in YAML files here.")
        assert [row["path"] for row in running.next()["sources"]] == [str(more)]
        assert shell.run("scan", "--forget", str(memory)).code == 0
        running.quiet(1.0)
        note(memory / "three.md", "Use two blanks of indent there.")
        running.quiet(1.0)


def test_the_unit_of_systemd_is_valid(shell: Shell, tmp_path: Path) -> None:
    """systemd itself reads it, with every odd character that a path may have."""
    odd = tmp_path / "odd 100% $HOME 'x' \"y\"" / "ledger.db"
    done = shell.run("watch", "--service", "systemd", "--file", str(odd), CLAUDE_CONFIG_DIR="/a b/100%")
    unit = tmp_path / "learnings-watch.service"
    unit.write_text(done.out)

    assert 'Environment="CLAUDE_CONFIG_DIR=/a b/100%%"' in done.out
    assert "~/.config/systemd/user/learnings-watch.service" in done.err
    assert not odd.parent.exists()
    verify = shutil.which("systemd-analyze")
    if verify is None:
        assert "ExecStart=" in done.out
        return
    (tmp_path / "run").mkdir()
    env = {**shell.env, "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    told = subprocess.run([verify, "--user", "verify", str(unit)], env=env, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")


def test_the_agent_of_launchd_is_a_property_list(shell: Shell) -> None:
    """It starts this program on this ledger, and again after a fault."""
    done = shell.run("watch", "--service", "launchd", "--json")

    agent = plistlib.loads(done.document["text"].encode())
    assert agent["ProgramArguments"] == [
        sys.executable, "-m", "ledger.cli", "watch", "--file", str(shell.file),
    ]  # fmt: skip
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert shell.run("watch", "--service", "--json").document["service"] in ("systemd", "launchd")
    refused(shell.run("watch", "--service", "cron"), 15, "systemd, launchd")


def test_nothing_is_watched_where_everything_is_off(shell: Shell) -> None:
    """A session that is off feeds nothing."""
    refused(shell.run("watch", LEARNINGS_OFF="1"), 15, "LEARNINGS_OFF")
