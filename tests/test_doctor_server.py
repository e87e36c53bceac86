"""The server is started as a client starts it, and nothing of it is left."""

import os
import select
import sys
from pathlib import Path

import pytest
from set_up import ROOT

from ledger import doctor_server
from ledger.doctor_check import Around
from ledger.doctor_client import Server
from ledger.doctor_server import THIN_PATH, checks, start

BARE = {"PATH": THIN_PATH}


def script(folder: Path, text: str) -> list[str]:
    """Return the command line of a shell script."""
    path = folder / "server.sh"
    path.write_text(text, "utf-8")
    return ["/bin/sh", str(path)]


def test_the_real_server_shakes_hands_and_lists_its_tools(tmp_path: Path) -> None:
    """In an environment with nothing of a shell's."""
    words = [sys.executable, "-P", "-m", "ledger.cli", "serve"]

    found = start(words, {**BARE, "HOME": str(tmp_path), "PYTHONPATH": ROOT}, str(tmp_path))

    assert (found.tools, found.fault) == (10, "")
    assert 0 < found.seconds < 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo 'No module named ledger' >&2; exit 3", "it ended with status 3: No module named ledger"),
        ("exit 0", "it ended with status 0"),
        ("echo no json; cat > /dev/null", "another language"),
        ("echo '[]'; cat > /dev/null", "another language"),
        ("""echo '{"id": 1, "error": {}}'; cat > /dev/null""", "another language"),
        ("""echo '{"id": 1, "result": 1}'; cat > /dev/null""", "another language"),
        (
            """echo '{"id": 1, "result": {}}'; echo '{"id": 2, "result": {}}'; exec cat > /dev/null""",
            "another language",
        ),
    ],
)
def test_whatever_else_it_says_is_told_in_a_few_words(tmp_path: Path, text: str, words: str) -> None:
    """Ended, silent, or in another language."""
    assert words in start(script(tmp_path, text), BARE, str(tmp_path), limit_s=5).fault


@pytest.mark.parametrize("words", [["/nowhere/python"], ["nowhere"], ["/"], ["a\0b"]])
def test_a_program_that_cannot_be_started_is_told(tmp_path: Path, words: list[str]) -> None:
    """Without a process, and with the system's own word."""
    assert start(words, BARE, str(tmp_path)).fault


def test_an_entry_without_a_command_is_told(tmp_path: Path) -> None:
    """A server by HTTP has none."""
    assert start([], BARE, str(tmp_path)).fault == "it has no command"


def test_a_secret_in_its_complaint_is_not_said_again(tmp_path: Path) -> None:
    """The last line of its errors is shown, scrubbed and bounded."""
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"

    found = start(script(tmp_path, f"echo 'bad token {token}' >&2; exit 1"), BARE, str(tmp_path))

    assert "bad token" in found.fault
    assert token not in found.fault


def test_a_server_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    """A named pipe that every one of them holds open comes to its end."""
    pipe = tmp_path / "held"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    words = script(tmp_path, f"exec 9>{pipe}; sleep 600 & echo started >&9; sleep 600")

    found = start(words, BARE, str(tmp_path), limit_s=0.5)

    said = b""
    while select.select([reader], [], [], 20)[0] and (part := os.read(reader, 100)):
        said += part
    assert found.fault == "no answer within 0.5 s"
    assert said == b"started\n"
    assert select.select([reader], [], [], 0)[0], "somebody still holds the pipe"
    os.close(reader)


def test_a_server_that_needs_more_than_a_path_is_told(tmp_path: Path) -> None:
    """It starts in a terminal in which something was exported."""
    words = script(tmp_path, f'[ -n "$MINE" ] || exit 4\nPYTHONPATH={ROOT} exec {sys.executable} -m ledger.cli serve')
    server = Server("learnings", {"command": words[0], "args": words[1:]}, "~/.claude.json")
    env = {"PATH": os.environ["PATH"], "MINE": "1"}

    (check,) = checks(Around("/l.db", str(tmp_path), env, "linux", str(tmp_path), 0.0), [server])

    assert not check.ok
    assert "~/.claude.json (your whole environment)" in check.message


@pytest.mark.parametrize(("name", "is_ok"), [("plugin:learnings:ledger", True), ("learnings", False)])
def test_a_plugin_that_needs_this_shell_s_path_is_a_remark(tmp_path: Path, name: str, is_ok: bool) -> None:
    """By name is how a plugin starts, and works for clients of this shell; in settings it is a fault."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "learnings"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m ledger.cli "$@"\n')
    command.chmod(0o755)
    server = Server(name, {"command": "learnings", "args": ["serve"]}, "here")
    env = {"PATH": f"{tmp_path / 'bin'}:{os.defpath}"}

    (check,) = checks(Around("/l.db", str(tmp_path), env, "linux", str(tmp_path), 0.0), [server])

    assert (check.ok, check.is_remark) == (is_ok, is_ok)
    assert "`learnings setup claude-code`" in check.message


def test_a_server_that_answers_late_is_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first start may compile modules, so that the better of two counts."""
    monkeypatch.setattr(doctor_server, "PROBE_S", 0.0)
    env = {"PYTHONPATH": ROOT}
    server = Server("learnings", {"command": sys.executable, "args": ["-m", "ledger.cli", "serve"], "env": env}, "here")

    (check,) = checks(Around("/l.db", str(tmp_path), dict(BARE), "linux", str(tmp_path), 0.0), [server])

    assert (check.ok, check.is_remark) == (True, True)
    assert "answers late: here" in check.message


def test_a_server_starts_in_an_empty_folder(tmp_path: Path) -> None:
    """A project's own files could stand in for its modules; the folder is gone afterwards."""
    words = script(tmp_path, f"pwd > {tmp_path}/where; ls -A > {tmp_path}/held; exit 1")
    server = Server("learnings", {"command": words[0], "args": words[1:]}, "here")

    list(checks(Around("/l.db", str(tmp_path), {"PATH": THIN_PATH}, "linux", str(tmp_path), 0.0), [server]))

    where = (tmp_path / "where").read_text("utf-8").strip()
    assert where != str(tmp_path)
    assert (tmp_path / "held").read_text("utf-8") == ""
    assert not os.path.exists(where)


def test_servers_of_one_command_line_are_started_once(tmp_path: Path) -> None:
    """Every client has the same entry; without any there is nothing to say."""
    words = script(tmp_path, f"echo started >> {tmp_path}/count; exit 1")
    servers = [Server("learnings", {"command": words[0], "args": words[1:]}, where) for where in ("one", "two")]
    around = Around("/l.db", str(tmp_path), {"PATH": THIN_PATH}, "linux", str(tmp_path), 0.0)

    assert [check.ok for check in checks(around, servers)] == [False]
    assert list(checks(around, [])) == []
    assert (tmp_path / "count").read_text().count("started") == 3  # bare, with the PATH, with everything
