"""Disks without room and places that may not be written, under the real command: a real tmpfs, filled and remounted.

Everything runs in a process with mounts of its own, and ends with it.
"""

import contextlib
import ctypes
import errno
import io
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest
from children import Say, done, mount_small
from command import without_override
from hooked import PROMPT, environment, payload, ran, repository
from rows import Wal, opened, verified

from ledger.cli import main
from ledger.errors import NoSpace
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.place import read_anchor
from ledger.reader import open_reader
from ledger.store_sqlite import SqliteStore

DISK_KB = 6_000
ROOMS_KB = (0, 4, 8, 16, 32, 64, 128, 256, 512)
"""What is left of the disk when a command runs."""

EVENTS = "SELECT seq, event_id, kind, hash FROM event ORDER BY seq"
MS_REMOUNT, MS_RDONLY = 32, 1
CAPABILITIES_V3 = 0x20080522


def events(file: str) -> list[tuple[object, ...]]:
    """Return the log of a file."""
    with opened(file) as connection:
        return connection.execute(EVENTS).fetchall()


def filled(folder: str, left_kb: int) -> str:
    """Fill a disk but for a rest; return the file that does it."""
    filler = os.path.join(folder, "filler")
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4_096):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - left_kb * 1_024))
    return filler


def known(file: str) -> None:
    """Make a ledger that a prompt is answered from."""
    with Ledger.init(file) as ledger:
        ledger.record(Draft("pgcat refuses connections from the docker network, PGX4711", "use port 6543 of pgcat",
                            "env", "demo", "pgcat: port 6543 from docker"))  # fmt: skip
        for number in range(20):
            ledger.record(Draft(f"problem {number} of the build", f"run step {number}", "workflow", "demo"))


def stale(file: str) -> None:
    """Make the projections those of an older program."""
    with opened(file) as connection:
        connection.execute("UPDATE projection SET version = 1")


RECORD = ["record", "--problem", "a new one " * 40, "--solution", "do this " * 900, "--project", "demo"]
COMMANDS: dict[str, tuple[list[str], Callable[[str], None]]] = {
    "append": (RECORD, lambda _: None),
    "import": (["import", "NOTES", "--project", "demo"], lambda _: None),
    "rebuild": (["rebuild"], lambda _: None),
    "upgrade": (["upgrade"], stale),
}
"""Commands, and what is done to the ledger before."""


def command(*words: str) -> int:
    """Run a command in a child of this process, so that nothing of it stays open; return its exit status."""
    return done(lambda _: os._exit(main(list(words)))).status


def on_a_small_disk(folder: Path, act: Callable[[str, Say], None]) -> list[str]:
    """Do `act` in a process for which `folder` is a small disk; return what it said, or skip."""

    def run(say: Say) -> None:
        if not mount_small(str(folder), DISK_KB):
            say("no mounts here")
            return
        os.environ["HOME"] = str(folder)
        act(str(folder), say)

    folder.mkdir()
    ended = done(run)
    if ended.said == ["no mounts here"]:
        pytest.skip("needs a system that lets this user mount a disk")
    assert ended.status == 0, ended.said
    return ended.said


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_said_and_leaves_the_ledger_as_before_or_as_after(tmp_path: Path, name: str) -> None:
    """With any room left: refused with `NoSpace` or done whole; read meanwhile; done once there is room.

    An import may stand in part, by whole transactions, which its next run completes.
    """
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(120):
        (notes / f"n{number}.md").write_text(
            f"---\nname: note {number}\ntype: feedback\n---\nUse port {number}. {'x ' * 900}\n"
        )
    words, before = COMMANDS[name]
    words = [str(notes) if word == "NOTES" else word for word in words]
    here = repository(tmp_path)

    def act(folder: str, say: Say) -> None:
        file = os.path.join(folder, "data", "ledger.db")
        known(file)
        before(file)
        template = str(tmp_path / "template")
        shutil.copytree(os.path.dirname(file), template)
        for room in ROOMS_KB:
            was = events(file)
            filler = filled(folder, room)
            code = command("--file", file, *words)
            now = events(file)
            answered = command("--file", file, "query", "pgcat PGX4711", "--project", "demo")
            recalled = ran("prompt", payload(here, prompt=PROMPT), environment(Path(file), HOME=folder))
            os.unlink(filler)
            again = command("--file", file, *words)
            verdict = verified(file)
            say(json.dumps({
                "room": room, "code": code, "kept": now[: len(was)] == was, "added": len(now) - len(was),
                "answered": answered, "hook": [recalled.code, recalled.err], "again": again, "ok": verdict.ok,
                "anchor": read_anchor(file) is not None, "after": len(events(file)) - len(was),
                "problems": [one.message for one in verdict.problems],
            }))  # fmt: skip
            shutil.rmtree(os.path.dirname(file))
            shutil.copytree(template, os.path.dirname(file))

    rows = [json.loads(line) for line in on_a_small_disk(tmp_path / "disk", act)]

    assert len(rows) == len(ROOMS_KB)
    assert 36 in {row["code"] for row in rows}, "no room was ever short"
    for row in rows:
        assert row["code"] in (0, 36), row
        assert row["kept"], row
        assert name == "import" or row["code"] == 0 or row["added"] == 0, row
        assert (row["answered"], row["hook"]) == (0 if name != "upgrade" or row["code"] == 0 else 29, [0, ""]), row
        assert (row["again"], row["ok"], row["anchor"]) == (0, True, True), row
    assert len({row["after"] for row in rows if row["code"]}) <= (2 if name == "import" else 1)


def test_in_wal_mode_a_full_disk_is_said_and_read_from(tmp_path: Path) -> None:
    """There the first thing without room is a file that SQLite makes beside the ledger, and it names another error."""

    def act(folder: str, say: Say) -> None:
        file = os.path.join(folder, "data", "ledger.db")
        known(file)
        in_wal_mode(file)
        was = Path(file).read_bytes()
        filled(folder, 0)
        with pytest.raises(NoSpace, match="nothing was written"), Ledger(SqliteStore(file, sqlite=Wal())) as ledger:
            ledger.record(Draft("a new one", "do this", "env", "demo"))
        answer = spoken("--file", file, "query", "pgcat PGX4711", "--project", "demo")
        say(json.dumps([*answer, Path(file).read_bytes() == was]))

    ((code, text, err, is_same),) = map(json.loads, on_a_small_disk(tmp_path / "disk", act))

    assert (code, err, is_same) == (0, "", True)
    assert "6543" in text


def in_wal_mode(file: str) -> None:
    """Let a ledger keep its journal as a fresh SQLite does."""
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)


def reads_only(folder: str) -> None:
    """Let nothing be written below a mount any more."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", folder.encode(), None, MS_REMOUNT | MS_RDONLY, None):
        raise OSError(ctypes.get_errno(), "remount")


READS = (
    ["query", "pgcat PGX4711", "--project", "demo"], ["show", "ID"], ["list"], ["history", "ID"], ["stats"], ["export"],
    ["sql", "SELECT count(*) FROM event"], ["verify"], ["recall", PROMPT, "--project", "demo"],
    ["why", PROMPT], ["exposures"], ["config"], ["project"], ["init"],
)  # fmt: skip
"""Commands that answer from a place that cannot be written."""

WRITES = (
    ["record", "--problem", "p", "--solution", "s"],
    ["supersede", "ID", "--problem", "p", "--solution", "t", "--reason", "r"],
    ["retract", "ID", "--reason", "r"], ["undo", "1"], ["pin", "ID"], ["alias", "ID", "word"],
    ["quarantine", "ID", "--reason", "r"],
    ["propose", "--problem", "p", "--solution", "q"], ["import", "NOTES"], ["rebuild"],
    ["config", "set", "robots", "on"],
    ["record", "--problem", "p", "--solution", "s", "--dry-run"], ["off"], ["export", "--output", "OUT"],
    ["project", "alias", "demo", "other"], ["wrong"],
)  # fmt: skip
"""Commands that cannot do what they are for there."""


def spoken(*words: str) -> tuple[int, str, str]:
    """Run a command in a child of this process; return its exit status and what it printed."""

    def act(say: Say) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(words))
        say(json.dumps([code, out.getvalue()[:2_000], err.getvalue()[:2_000]]))

    code, out, err = json.loads(done(act).said[0])
    return code, out, err


def asked(file: str, notes: str, folder: str, say: Say) -> None:
    """Say how every command ends, and every hook."""
    here = repository(Path(notes))
    named = {"ID": "1", "NOTES": notes, "OUT": os.path.join(folder, "out.jsonl")}
    with open_reader(file) as reader:
        named["ID"] = str(reader.rows("SELECT id FROM learning ORDER BY seq LIMIT 1", {})[0][0])
    for kind, many in (("read", READS), ("write", WRITES)):
        for words in many:
            found = spoken("--file", file, *(named.get(word, word) for word in words))
            say(json.dumps([kind, " ".join(words[:2]), *found]))
    for event, given in (
        ("prompt", {"prompt": PROMPT}),
        ("session-start", {"source": "startup"}), ("stop", {"last_assistant_message": "x"}),
        ("compact", {"compact_summary": "we did this"}), ("subagent-start", {"agent_id": "a", "agent_type": "b"}),
        ("tool", {"tool_name": "Write", "tool_input": {"file_path": os.path.join(notes, "memory.md")}}), ("end", {}),
    ):  # fmt: skip
        found = ran(event, payload(here, **given), environment(Path(file), HOME=folder))
        say(json.dumps(["hook", event, found.code, found.text, found.err]))


def bound_by_modes() -> None:
    """Take from root, in this process and in those it starts, what lets it write read-only files."""
    if os.geteuid() == 0:
        without_override()
        libc = ctypes.CDLL(None, use_errno=True)
        head, kept = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()
        if libc.capget(head, kept):
            raise OSError(ctypes.get_errno(), "capget")
        for at in (0, 1):  # effective, permitted: without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
            kept[at] &= ~0b110
        if libc.capset(head, kept):
            raise OSError(ctypes.get_errno(), "capset")


def judged(lines: Iterable[str], wal: bool = False) -> None:
    """Hold every answer: what reads answers, what writes says why it does not, a hook says nothing of it.

    In WAL mode an older SQLite refuses to write at all, for another reason, which is left out here.
    """
    rows = [row for row in map(json.loads, lines) if not (wal and row[0] == "write")]
    assert len(rows) > (20 if wal else 30)
    faults = []
    for kind, what, code, out, err in rows:
        is_right = {
            "read": code == 0,
            "write": (code in (27, 30, 34) and "cannot be written" in err) or (code == 16 and what == "wrong"),
            "hook": code == 0 and err == "",
        }[kind]
        if not is_right or "Traceback" in err + out or "internal error" in err:
            faults.append((kind, what, code, out, err))
    assert faults == [], "\n".join(map(str, faults))
    assert any(row[:2] == ["hook", "prompt"] and "6543" in row[3] for row in rows)


def test_from_a_disk_that_is_mounted_read_only_everything_is_read_and_nothing_written(tmp_path: Path) -> None:
    """Every command that reads answers, every command that writes says what cannot be written, every hook goes on."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "memory.md").write_text("---\nname: n\n---\nUse port 7.\n")

    def act(folder: str, say: Say) -> None:
        file = os.path.join(folder, "data", "ledger.db")
        known(file)
        was = Path(file).read_bytes()
        reads_only(folder)
        asked(file, str(notes), folder, say)
        assert Path(file).read_bytes() == was

    judged(on_a_small_disk(tmp_path / "disk", act))


def test_from_a_disk_that_is_mounted_read_only_a_ledger_in_wal_mode_is_read(tmp_path: Path) -> None:
    """Nothing can be made beside it, which SQLite would want; and nobody can change it."""
    notes = tmp_path / "notes"
    notes.mkdir()

    def act(folder: str, say: Say) -> None:
        file = os.path.join(folder, "data", "ledger.db")
        known(file)
        in_wal_mode(file)
        reads_only(folder)
        asked(file, str(notes), folder, say)

    judged(on_a_small_disk(tmp_path / "disk", act), wal=True)


@pytest.mark.parametrize("wal", [False, True])
def test_from_a_file_without_write_permission_everything_is_read_and_nothing_written(tmp_path: Path, wal: bool) -> None:
    """The same where only the modes say so, for a user whom modes bind."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "memory.md").write_text("---\nname: n\n---\nUse port 7.\n")
    file = tmp_path / "disk" / "data" / "ledger.db"
    known(str(file))
    if wal:
        in_wal_mode(str(file))
    was = file.read_bytes()
    for path in file.parent.iterdir():
        path.chmod(0o400)
    file.parent.chmod(0o500)

    def act(say: Say) -> None:
        bound_by_modes()
        os.environ["HOME"] = str(tmp_path / "disk")
        asked(str(file), str(notes), str(file.parent), say)

    lines = done(act).said
    file.parent.chmod(0o700)
    judged(lines, wal)
    assert file.read_bytes() == was
