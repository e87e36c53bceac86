"""A hook in a place where nothing is as it should be: no environment, no home, no folder, no input, no ledger."""

import json
import os
import pwd
import random
import shutil
import sqlite3
import string
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hooked import PROMPT, PYTHON, SCRIPT, environment, payload, repository

from ledger.hook_main import ANSWERED
from ledger.ledger import Ledger
from ledger.model import Draft

EVENTS = (*ANSWERED, "nonsense", "")
RNG = random.Random(5)
NOISE = "".join(RNG.choices(string.printable, k=65_536))


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """Return a ledger file whose one learning answers `PROMPT`."""
    file = tmp_path / "data" / "ledger.db"
    with Ledger.init(str(file)) as ledger:
        ledger.record(Draft("pgcat refuses connections from the docker network, PGX4711", "use port 6543 of pgcat",
                            "env", "demo", "pgcat: port 6543 from docker"))  # fmt: skip
    return file


def ran(event: str, data: bytes, env: dict[str, str], **more: Any) -> tuple[int, bytes, bytes]:
    """Run the script as the client does; return its exit status and what it printed."""
    line = [PYTHON, "-I", "-S", SCRIPT, event]
    done = subprocess.run(line, input=data, env=env, capture_output=True, timeout=30, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def given(folder: Path, **more: object) -> bytes:
    """Return the input of an event, with what any of them reads."""
    told = payload(
        folder, prompt=PROMPT, source="startup", agent_id="a", agent_type="Explore", compact_summary="we did this",
        last_assistant_message="done", trigger="auto", tool_name="Write",
        tool_input={"file_path": str(folder / "memory" / "x.md")}, **more,
    )  # fmt: skip
    return json.dumps(told).encode()


def harmed(known: Path, harm: Callable[[Path], object]) -> None:
    """Hold every event: silent and well after `harm`."""
    harm(known)
    for event in EVENTS:
        assert ran(event, given(known.parent), environment(known)) == (0, b"", b""), event


def garbage(file: Path) -> None:
    """Put other bytes in the file's place."""
    file.write_bytes(b"no ledger at all" * 1_000)


def torn(file: Path) -> None:
    """Keep the first page alone."""
    file.write_bytes(file.read_bytes()[:4_096] + b"x" * 40_000)


def cut(file: Path) -> None:
    """Cut the file in the middle of a page."""
    file.write_bytes(file.read_bytes()[:10_000])


def emptied(file: Path) -> None:
    """Leave nothing in it."""
    file.write_bytes(b"")


def newer(file: Path) -> None:
    """Make it one of a newer program."""
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("PRAGMA user_version = 99")


def older_projections(file: Path) -> None:
    """Make the projections those of an older program."""
    with closing(sqlite3.connect(file, isolation_level=None)) as raw:
        raw.execute("UPDATE projection SET version = 1")


def folder_instead(file: Path) -> None:
    """Put a folder there."""
    file.unlink()
    file.mkdir()


def pipe_instead(file: Path) -> None:
    """Put a pipe there that nobody writes to."""
    file.unlink()
    os.mkfifo(file)


def endless(file: Path) -> None:
    """Put a link to what never ends there."""
    file.unlink()
    file.symlink_to("/dev/zero")


HARMS = (garbage, torn, cut, emptied, newer, older_projections, folder_instead, pipe_instead, endless, Path.unlink)


@pytest.mark.parametrize("harm", HARMS, ids=[harm.__name__ for harm in HARMS])
def test_a_ledger_that_cannot_be_used_is_silence_for_every_event(known: Path, harm: Callable[[Path], object]) -> None:
    """Missing, damaged, of another program or no file at all: exit status 0 and not a word."""
    harmed(known, harm)


def test_a_ledger_that_is_locked_is_silence_for_every_event(known: Path) -> None:
    """Whatever waits for it gives up in time."""
    with closing(sqlite3.connect(known, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")

        for event in EVENTS:
            assert ran(event, given(known.parent), environment(known)) == (0, b"", b""), event


@pytest.mark.parametrize("home", [None, "", ".", "relative", "/nonexistent", "/dev/null", "~", "\udcff"])
def test_without_a_home_no_event_says_anything_wrong(known: Path, tmp_path: Path, home: str | None) -> None:
    """HOME unset, empty, relative, nowhere, a file or no text: exit status 0, and a prompt is still answered."""
    here = repository(tmp_path)
    env = environment(known)
    del env["HOME"]
    env |= {} if home is None else {"HOME": home}

    ends = {event: ran(event, given(here), env) for event in EVENTS}

    assert [(event, end) for event, end in ends.items() if (end[0], end[2]) != (0, b"")] == []
    assert b"6543" in ends["prompt"][1]


def test_with_an_empty_environment_no_event_says_anything(tmp_path: Path) -> None:
    """Not even PATH is there; a folder that is nobody's is asked about, so that no ledger of this user's can answer."""
    own = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local" / "share" / "learnings"
    if own.exists():
        pytest.skip("the user who runs this has a ledger of their own, which would be written beside")

    for event in EVENTS:
        assert ran(event, given(tmp_path), {}) == (0, b"", b""), event
    assert not own.exists()


@pytest.mark.parametrize("file", ["data/ledger.db", "ABSOLUTE"])
def test_from_a_folder_that_is_gone_no_event_says_anything_wrong(known: Path, tmp_path: Path, file: str) -> None:
    """The process's own folder is deleted, and so is the one that the client names."""
    gone = tmp_path / "gone"
    gone.mkdir()
    env = environment(known) | {"LEARNINGS_FILE": str(known) if file == "ABSOLUTE" else file}

    for event in EVENTS:
        code, out, err = ran(event, given(gone), env, cwd=gone, preexec_fn=lambda: shutil.rmtree(gone))
        gone.mkdir()
        assert (code, err) == (0, b""), event
        assert out == b"" or file == "ABSOLUTE", event


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams_are_no_fault_and_no_file_of_ours_takes_their_place(
    known: Path, tmp_path: Path, closed: tuple[int, ...]
) -> None:
    """What is printed goes nowhere, and above all not into the ledger that was given the number of a closed stream."""
    here = repository(tmp_path)
    was = known.read_bytes()

    def close() -> None:
        for number in closed:
            os.close(number)

    for event in EVENTS:
        code, out, err = ran(event, given(here), environment(known), preexec_fn=close)
        assert (code, err) == (0, b""), event
        assert out == b"" or not {0, 1} & set(closed), event
    assert known.read_bytes() == was
    for path in (path for path in known.parent.rglob("*") if path.is_file()):
        assert b"hookSpecificOutput" not in path.read_bytes(), path


INPUTS = {
    "ten megabytes that are no JSON": b"x" * 10_000_000,
    "ten megabytes of brackets": b"[" * 10_000_000,
    "ten megabytes of a text without an end": b'{"prompt": "' + b"word " * 2_000_000,
    "zeros": bytes(100_000),
    "noise": NOISE.encode(),
    "a number": b"7",
    "a list": b"[1]",
    "half a surrogate": b'{"prompt": "\\ud800", "session_id": "\\udfff", "cwd": "\\ud800"}',
    "wrong types": b'{"prompt": 7, "session_id": {}, "cwd": [], "tool_input": "memory", "tool_name": []}',
    "nothing in the fields": b'{"prompt": "", "session_id": "", "cwd": "", "transcript_path": "", "tool_input": {}}',
    "NUL in the fields": b'{"prompt": "why\\u0000?", "session_id": "\\u0000", "cwd": "\\u0000"}',
    "one key twice": b'{"prompt": "a", "prompt": ["b"]}',
}


@pytest.mark.parametrize("name", INPUTS)
def test_no_input_makes_an_event_say_anything(known: Path, name: str) -> None:
    """Large, deep, broken and wrong input: exit status 0, not a word, and the ledger as it was."""
    was = known.read_bytes()

    for event in EVENTS:
        assert ran(event, INPUTS[name], environment(known)) == (0, b"", b""), event
    assert known.read_bytes() == was
