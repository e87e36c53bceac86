"""Run the real command: in a child process as a user would, or in this one when the start is not the point."""

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ledger.cli import main


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Return the one JSON document on standard output."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Shell:
    """A folder, a ledger file that may not exist yet, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "data" / "ledger.db"
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        root = str(Path(__file__).parent.parent)
        self.env = {**kept, **coverage, "HOME": str(folder), "LEARNINGS_FILE": str(self.file), "PYTHONPATH": root}

    def run(
        self,
        *words: str | bytes,
        given: bytes = b"",
        before: Callable[[], object] | None = None,
        stdout: Any = subprocess.PIPE,
        **env: str,
    ) -> Done:
        """Run the command in a child process; `before` runs there just before it starts."""
        done = subprocess.run(
            [sys.executable, "-m", "ledger.cli", *words],
            cwd=self.folder,
            env={**self.env, **env},
            input=given,
            stdout=stdout,
            stderr=subprocess.PIPE,
            preexec_fn=before,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start the command in a child process with pipes on all sides."""
        return subprocess.Popen(
            [sys.executable, "-m", "ledger.cli", *words],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


class Inside:
    """The command in this process; what it prints is caught by pytest."""

    def __init__(self, shell: Shell, caught: Callable[[], tuple[str, str]]) -> None:
        self._shell, self._caught = shell, caught

    def __call__(self, *words: str) -> Done:
        """Run it on the shell's file."""
        self._caught()
        code = main(["--file", str(self._shell.file), *words])
        return Done(code, *self._caught())

    def document(self, *words: str) -> dict[str, Any]:
        """Run it with `--json` and return the document of a success."""
        done = self(*words, "--json")
        assert done.code == 0, done.err
        return done.document

    def record(self, problem: str = "postgres hangs", solution: str = "use port 5432", *more: str) -> dict[str, Any]:
        """Record a learning in the project `demo`."""
        texts = ("--problem", problem, "--solution", solution, "--category", "env", "--project", "demo")
        return self.document("record", *texts, *more)


def refused(done: Done, code: int, *words: str) -> None:
    """Hold a refusal to what every refusal is: its exit status, one line, no traceback, and these words in it."""
    assert done.code == code, (done.code, done.err)
    lines = done.err.strip().splitlines()
    assert len([line for line in lines if line.startswith("learnings: ")]) == len(lines), done.err
    for word in words:
        assert word in lines[-1], lines[-1]


def without_override() -> None:
    """Take from root what lets it write read-only files; for others there is nothing to take."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if libc.prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
                raise OSError(ctypes.get_errno(), "prctl")


def keys(document: dict[str, Any], names: str) -> Sequence[str]:
    """Return which of these keys are missing."""
    return [name for name in names.split() if name not in document]
