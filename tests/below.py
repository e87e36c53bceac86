"""Faults from below Python: one system call of a command fails, falls short or kills, whichever is chosen.

The library of `below.c` is built when tests run and loaded before the C
library, in one process that forks a child for each command. Nothing of the
product knows of it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent

CALLS = ("open", "write", "sync", "truncate", "rename", "unlink")
"""Kinds of calls, in the order of `below.c`; only those that reach the chosen folder are counted."""

ANY = -1
ONCE, ON, KILL, SHORT = range(4)
"""The nth call fails; it and all later ones; the process is killed before it; half is written, then as `ON`."""


class Ended(NamedTuple):
    """How a command ended: exit status (-9 when killed), what it printed, the kinds of the calls that were counted, and
    whether the nth of them came."""

    code: int
    out: str
    err: str
    kinds: list[int]
    hit: bool


class Missing(Exception):
    """There is no C compiler, or libraries cannot be loaded before others on this system."""


class Below:
    """A process that runs commands and lets their calls fail."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None or not sys.platform.startswith("linux"):
            raise Missing("a C compiler on Linux")
        library = folder / "below.so"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "below.c"), "-ldl"], check=True
        )
        env = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "LD_PRELOAD": str(library),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH", "")))),
            "LEARNINGS_FILE": str(folder / "warm" / "ledger.db"),
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "below_child.py"), str(folder)],
            env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._answer() == "ready"

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(
        self, words: Sequence[str], file: Path, *, call: int = ANY, nth: int = -1, error: int = 0, mode: int = ONCE,
        under: Path | None = None, migrations: str = "", clock_s: int = 0, zone: str = "UTC", given: str = "",
    ) -> Ended:  # fmt: skip
        """Run one command on a ledger file; nothing fails when `nth` is -1.

        Args:
            under: the folder whose calls count; that of the file when None.
            migrations: a folder of migrations of a newer program, which runs the command then.
            clock_s: by how many seconds the clock on the wall is wrong.
            zone: the time zone, as TZ names it.
            given: what stands on standard input.
        """
        job = {
            "words": list(words), "env": {"LEARNINGS_FILE": str(file), "HOME": str(file.parent.parent)},
            "call": call, "nth": nth, "error": error, "mode": mode, "folder": f"{under or file.parent}/",
            "migrations": migrations, "clock_s": clock_s, "zone": zone, "given": given,
        }  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._answer()))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
