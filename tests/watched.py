"""Run the real `learnings watch` in a process, and wait for what it says."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from command import Shell

SOON_S = 30.0
"""Longest wait for what has to happen; the machine may be busy."""

LOOK_S = 0.05
"""How often the disk is looked at, where nothing is said."""


class Watched:
    """A watch that runs, and what it says."""

    def __init__(self, shell: Shell, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ledger.cli", "watch", "--json", *words],
            cwd=shell.folder,
            env=shell.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.err = ""
        self._out = b""
        self.said: list[dict[str, Any]] = []

    def _hears(self, deadline: float) -> bool:
        """Read what is said next, on either side; False when the time is over."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        ends = [self.process.stdout, self.process.stderr]
        ready, _, _ = select.select(ends, [], [], max(0.0, deadline - time.monotonic()))
        for stream in ready:
            read = os.read(stream.fileno(), 65_536)
            assert read, self.err  # it has ended
            if stream is self.process.stderr:
                self.err += read.decode()
                continue
            *lines, self._out = (self._out + read).split(b"\n")
            self.said += [json.loads(line) for line in lines]
        return bool(ready)

    def until(self, true: Callable[["Watched"], object]) -> None:
        """Wait until something holds of what was said, or of the disk, which is looked at again and again."""
        deadline = time.monotonic() + SOON_S
        while not true(self):
            assert time.monotonic() < deadline, (self.said, self.err)
            self._hears(min(deadline, time.monotonic() + LOOK_S))

    def ready(self) -> "Watched":
        """Wait until the first scan is done."""
        self.until(lambda watched: "watching " in watched.err)
        return self

    def next(self) -> dict[str, Any]:
        """Wait for the next import, and return what it did."""
        before = len(self.said)
        self.until(lambda watched: len(watched.said) > before)
        return self.said[before]

    def rests(self) -> None:
        """Wait until nothing was said for a while: what came before is in."""
        while self._hears(time.monotonic() + 1.0):
            pass

    def quiet(self, seconds: float) -> None:
        """Hold that nothing is said for a while."""
        before = len(self.said)
        deadline = time.monotonic() + seconds
        while self._hears(deadline):
            pass
        assert self.said[before:] == []

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Send a signal, wait for the end, and return how many seconds it took."""
        begun = time.monotonic()
        self.process.send_signal(number)
        assert self.process.wait(SOON_S) == 0, self.err
        took = time.monotonic() - begun
        assert self.process.stderr is not None
        self.err += self.process.stderr.read().decode()
        return took


@contextmanager
def watched(shell: Shell, *words: str) -> Iterator[Watched]:
    """Run a watch until the block ends."""
    made = Watched(shell, *words)
    try:
        yield made.ready()
    finally:
        made.process.kill()
        made.process.communicate()


def note(path: Path, rule: str) -> Path:
    """Write a note that says a rule."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{rule}\n\n**Why:** it was decided so.\n")
    return path
