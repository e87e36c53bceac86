"""The command and the server where their surroundings are gone: the working folder, the standard streams."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from children import Say, done
from command import Shell
from rows import verified
from talk import HELLO

from ledger.cli import COMMANDS, INTERNAL, main
from ledger.errors import BadArgument

RECORD = ("record", "--problem", "the pooler refuses", "--solution", "use port 6543")
ANYWHERE = (
    RECORD, ("query", "the pooler"), ("recall", "the pooler refuses, why?"), ("stats",), ("list",), ("doctor",),
    ("project",), ("verify",), ("export",), ("config",), ("exposures",), ("sql", "SELECT 1"),
    ("why", "the pooler refuses"), ("rebuild",), ("upgrade",), ("off",), ("on",),
)  # fmt: skip
"""Commands that need no folder."""

FROM_HERE = (("import", "."), ("import", "x.md"), ("--file", "ledger.db", "query", "x"), ("export", "--output", "x"))
"""Commands that name something from where they run."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a command with a ledger of one learning."""
    made = Shell(tmp_path)
    assert made.run(*RECORD).code == 0
    return made


def adrift(shell: Shell, *words: str) -> tuple[int, str, str]:
    """Run a command in a process whose working folder is deleted; return its exit status and what it printed."""

    def act(say: Say) -> None:
        gone = shell.folder / "gone"
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()
        os.environ.update(shell.env)
        os.close(0)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(words))
        say(json.dumps([code, out.getvalue()[:1_000], err.getvalue()[:1_000]]))

    code, out, err = json.loads(done(act).said[0])
    return code, out, err


@pytest.mark.parametrize("words", ANYWHERE, ids=" ".join)
def test_a_command_that_needs_no_folder_works_in_one_that_is_gone(shell: Shell, words: tuple[str, ...]) -> None:
    """A worktree is removed while its terminal stays open: it belongs to no project, and nothing else is wrong."""
    code, out, err = adrift(shell, *words)

    assert code in ((0, 18) if words == ("doctor",) else (0,)), (out, err)
    assert "Traceback" not in err


@pytest.mark.parametrize("words", FROM_HERE, ids=" ".join)
def test_a_path_from_a_folder_that_is_gone_is_refused_by_name(shell: Shell, words: tuple[str, ...]) -> None:
    """It says that the folder is gone, and what to do."""
    code, out, err = adrift(shell, *words)

    assert (code, out) == (BadArgument.exit_code, "")
    assert "the working folder is gone" in err
    assert "change to a folder that is there" in err


def test_no_command_without_arguments_is_at_a_loss_in_a_folder_that_is_gone(shell: Shell) -> None:
    """Whatever it answers, it is an answer or an error of ours."""
    for name in sorted(COMMANDS.keys() - {"serve", "hook", "sql", "watch"}):  # those become other programs, or wait
        code, _, err = adrift(shell, name)

        assert code != INTERNAL, (name, err)
        assert "Traceback" not in err


def test_a_server_works_in_a_folder_that_is_gone(shell: Shell) -> None:
    """An agent whose worktree was removed still finds what there is."""
    gone = shell.folder / "gone"
    gone.mkdir()
    asked = {"name": "query_learnings", "arguments": {"query": "the pooler refuses", "project": "*"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked},
    ]

    ended = subprocess.Popen(
        [sys.executable, "-m", "ledger.cli", "serve"], cwd=gone, env=shell.env, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: shutil.rmtree(gone),  # noqa: PLW1509
    )  # fmt: skip
    with ended:
        assert ended.stdin is not None
        assert ended.stdout is not None
        ended.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        ended.stdin.flush()
        answers = [json.loads(ended.stdout.readline()) for _ in range(2)]
        ended.stdin.close()

    assert answers[1]["result"]["structuredContent"]["hits"][0]["solution"] == "use port 6543"


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_command_without_streams_does_its_work_and_spoils_nothing(shell: Shell, closed: tuple[int, ...]) -> None:
    """No file of ours takes what was to be printed because it was given the number of a closed stream."""

    def close() -> None:
        for number in closed:
            os.close(number)

    for words in (("record", "--problem", "another", "--solution", "of these"), ("frob",)):
        ended = shell.run(*words, before=close)
        assert ended.code == (BadArgument.exit_code if words == ("frob",) else 0), ended

    assert verified(str(shell.file)).ok
    for path in shell.file.parent.iterdir():
        assert b"learnings:" not in path.read_bytes(), path
        assert b"recorded lrn_" not in path.read_bytes(), path
