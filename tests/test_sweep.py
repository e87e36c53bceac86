"""`learnings scan --idle`: sessions at rest are taken, and one that fails is tried again, never forgotten."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell, refused
from hooked import repository

import importers.registry
from ledger import cli_sweep, handover
from ledger.doctor_check import Around
from ledger.doctor_sources import checks
from ledger.ledger import Ledger
from ledger.sole import sole
from ledger.sweeps import FIRST_S, LOST_S, MOST_S, Sweeps

SAID = "From now on, always use port {} for the billing pooler."
HOUR = 3_600
START = time.time() + HOUR


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a command with an empty ledger, in a home with a project `demo`."""
    made = Shell(tmp_path)
    repository(tmp_path)
    made.file.parent.mkdir()
    Ledger.init(str(made.file)).close()
    return made


@pytest.fixture
def inside(shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Return the same command in this process."""
    monkeypatch.setenv("HOME", str(shell.folder))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Inside(shell, capsys.readouterr)


def session(folder: Path, name: str, port: int, age_s: float, projects: str = ".claude/projects") -> Path:
    """Write a transcript in which a person lays something down, last written to so long ago."""
    path = folder / projects / "-demo" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {
        "type": "user", "uuid": f"u-{name}", "sessionId": name, "cwd": str(folder / "demo"), "entrypoint": "cli",
        "timestamp": "2026-11-29T08:00:00.000Z", "userType": "external",
        "message": {"role": "user", "content": SAID.format(port)},
    }  # fmt: skip
    path.write_text(json.dumps(line) + "\n")
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path


def payload(folder: Path, path: Path, event: str = "SessionEnd", **more: Any) -> dict[str, Any]:
    """Return what a hook is given at a session's end."""
    told = {"session_id": path.stem, "transcript_path": str(path), "cwd": str(folder / "demo")}
    return {**told, "hook_event_name": event, **more}


def breaks(monkeypatch: pytest.MonkeyPatch, stem: str) -> list[bool]:
    """Let the importer break on one session for as long as the list says True."""
    on = [True]
    real = importers.registry.table()

    def wrapped(read: Any) -> Any:
        def breaking(path: str, project: str | None) -> Any:
            if on[0] and Path(path).stem == stem:
                raise ZeroDivisionError
            return read(path, project)

        return breaking

    table = tuple(one._replace(read=wrapped(one.read)) if one.kind == cli_sweep.TRANSCRIPT else one for one in real)
    monkeypatch.setattr(importers.registry, "table", lambda: table)
    return on


def at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the sweep happen so much later."""
    moment = START + seconds
    monkeypatch.setattr(cli_sweep, "CLOCK", lambda: moment)


def test_a_session_at_rest_is_taken_and_one_that_goes_on_is_not(inside: Inside, shell: Shell) -> None:
    """By the time its transcript was last written to."""
    session(shell.folder, "old", 6543, HOUR)
    session(shell.folder, "new", 7654, 60)

    done = inside.document("scan", "--idle", "30m")

    assert {name: done["swept"][name] for name in ("taken", "resting", "waiting", "failed")} == {
        "taken": 1, "resting": 1, "waiting": 0, "failed": 0,
    }  # fmt: skip
    assert [(row["path"].rpartition("/")[2], row["new"]) for row in done["sources"]] == [("old.jsonl", 1)]
    assert "6543" in inside.document("query", "billing pooler port")["hits"][0]["solution"]


def test_notes_and_databases_wait_for_a_scan_of_all(inside: Inside, shell: Shell) -> None:
    """Sessions only."""
    memory = shell.folder / ".claude" / "projects" / "-demo" / "memory"
    memory.mkdir(parents=True)
    (memory / "a.md").write_text("Use tabs in makefiles here.\n\n**Why:** make wants them.")
    session(shell.folder, "old", 6543, HOUR)

    assert inside.document("scan", "--idle", "30m")["recorded"] == 1


def test_a_session_that_was_handed_over_is_taken_at_once_wherever_it_is(inside: Inside, shell: Shell) -> None:
    """It has ended, and the hook said where it is; then nothing of it waits in the queue any more."""
    path = session(shell.folder, "ended", 6543, 10, "elsewhere/projects")
    handed = payload(shell.folder, path, last_assistant_message="I have set the port of the pooler to 6543 now.")
    assert handover.stopped(str(shell.file), handed).kept
    assert handover.pointed(str(shell.file), handed).kept

    done = inside.document("scan", "--idle", "30m")

    assert done["swept"]["taken"] == 1
    assert handover.waiting(str(shell.file)) == []


def test_a_session_that_goes_on_after_a_compaction_waits(inside: Inside, shell: Shell) -> None:
    """Its hook told where it is, and not that it ended; what waits of it stays."""
    path = session(shell.folder, "open", 6543, 10)
    assert handover.pointed(str(shell.file), payload(shell.folder, path, "PreCompact")).kept

    done = inside.document("scan", "--idle", "30m")

    assert (done["swept"]["taken"], done["swept"]["resting"]) == (0, 1)
    assert len(handover.waiting(str(shell.file))) == 1


def test_a_session_that_failed_is_tried_again_later_and_later(
    inside: Inside, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs none of the others, stays on the list until it is taken, and what hooks left of it stays too."""
    path = session(shell.folder, "bad", 6543, HOUR)
    session(shell.folder, "good", 7654, HOUR)
    assert handover.pointed(str(shell.file), payload(shell.folder, path)).kept
    on = breaks(monkeypatch, "bad")
    at(monkeypatch, 0)

    first = inside("scan", "--idle", "30m", "--json")
    assert (first.code, first.document["swept"]["taken"], first.document["swept"]["failed"]) == (10, 1, 1)
    assert [one["why"] for one in first.document["swept"]["retries"]] == ["source-failed"]
    second = inside.document("scan", "--idle", "30m")
    assert (second["swept"]["failed"], second["swept"]["waiting"]) == (0, 1)

    at(monkeypatch, FIRST_S + 1)
    assert inside("scan", "--idle", "30m", "--json").document["swept"]["failed"] == 1
    at(monkeypatch, 2 * FIRST_S)
    assert inside.document("scan", "--idle", "30m")["swept"]["waiting"] == 1
    assert len(handover.waiting(str(shell.file))) == 1

    on[0] = False
    at(monkeypatch, FIRST_S + 2 * FIRST_S + 2)
    last = inside.document("scan", "--idle", "30m")
    assert (last["swept"]["taken"], last["swept"]["retries"]) == (2, [])
    assert inside.document("query", "billing pooler port 6543")["hits"]
    assert handover.waiting(str(shell.file)) == []


def test_a_session_that_cannot_be_opened_failed_too(inside: Inside, shell: Shell) -> None:
    """A file that is no text of lines: its code says why, and the exit status that something failed."""
    path = session(shell.folder, "bad", 6543, HOUR)
    os.link(path, path.with_name("other.jsonl"))
    path.unlink()
    path.symlink_to(path.with_name("other.jsonl"))
    handed = {"kind": "transcript", "transcript": str(path), "hook_event_name": "SessionEnd"}
    folder = Path(handover.folder_beside(str(shell.file)))
    folder.mkdir()
    (folder / f"{handover.pointer(str(path))}.later.jsonl").write_text(json.dumps(handed) + "\n")

    done = inside("scan", "--idle", "30m", "--json")

    assert (done.code, done.document["swept"]["failed"], done.document["swept"]["taken"]) == (10, 1, 1)


def test_doctor_tells_how_many_wait_and_what_was_lost(
    inside: Inside, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first failure is a remark, the third a fault, and so is a transcript that went before it was taken."""

    def told() -> tuple[bool, str]:
        around = Around(str(shell.file), str(shell.folder), {}, "linux", str(shell.folder), time.time())
        found = next(one for one in checks(around) if one.id == "sessions-taken")
        return found.ok, found.message

    assert told() == (True, "no session that failed waits")
    path = session(shell.folder, "bad", 6543, HOUR)
    breaks(monkeypatch, "bad")
    for number in range(3):
        at(monkeypatch, number * MOST_S)
        inside("scan", "--idle", "30m")
        assert told()[0] is (number < 2)
    assert "~/.claude/projects/-demo/bad.jsonl (source-failed, failed 3 times)" in told()[1]

    path.unlink()
    at(monkeypatch, 4 * MOST_S)
    inside("scan", "--idle", "30m")
    assert told() == (False, "1 transcript went before it could be taken: ~/.claude/projects/-demo/bad.jsonl")
    at(monkeypatch, 4 * MOST_S + LOST_S + 1)
    inside("scan", "--idle", "30m")
    assert told()[0] is True


def test_a_dry_run_takes_and_remembers_nothing(inside: Inside, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what was taken, nor what failed, nor what hooks left."""
    path = session(shell.folder, "bad", 6543, HOUR)
    session(shell.folder, "good", 7654, HOUR)
    assert handover.pointed(str(shell.file), payload(shell.folder, path)).kept
    breaks(monkeypatch, "bad")

    done = inside("scan", "--idle", "30m", "--dry-run", "--json")

    assert (done.document["recorded"], done.document["swept"]["failed"]) == (1, 1)
    assert not Path(f"{shell.file}.swept").exists()
    assert len(handover.waiting(str(shell.file))) == 1
    assert inside.document("list")["rows"] == []


def test_a_project_that_is_off_feeds_nothing_and_waits(inside: Inside, shell: Shell) -> None:
    """What hooks left of it stays for when it is on again."""
    path = session(shell.folder, "old", 6543, HOUR)
    assert handover.pointed(str(shell.file), payload(shell.folder, path)).kept
    inside("off", "--project", "demo")
    assert inside.document("scan", "--idle", "30m")["recorded"] == 0
    assert len(handover.waiting(str(shell.file))) == 1

    inside("on", "--project", "demo")

    assert inside.document("scan", "--idle", "30m")["recorded"] == 1


def test_two_sweeps_do_not_meet(inside: Inside, shell: Shell) -> None:
    """The second says who is at it, and leaves the list alone."""
    session(shell.folder, "old", 6543, HOUR)

    with sole(f"{shell.file}.sweeping", "being swept", "wait"):
        refused(inside("scan", "--idle", "30m"), 35, f"process {os.getpid()}")


def test_a_broken_list_is_an_empty_one(shell: Shell) -> None:
    """Then everything is tried again."""
    Path(f"{shell.file}.swept").write_bytes(b'[["a", 1]]\xff')

    assert list(Sweeps(str(shell.file))) == []


def test_a_path_with_a_secret_is_not_kept(shell: Shell) -> None:
    """The list is a file like any other."""
    sweeps = Sweeps(str(shell.file))
    secret = "gh" + "p_" + "a1B2" * 9

    sweeps.failed(f"/home/u/{secret}.jsonl", "unreadable", 1, 1_000.0)
    sweeps.save(1_000.0)

    assert list(sweeps) == []
    assert not Path(f"{shell.file}.swept").exists()


def test_a_wrong_length_of_time_is_refused(inside: Inside) -> None:
    """With an example of a right one."""
    refused(inside("scan", "--idle", "soon"), 15, "30m")
