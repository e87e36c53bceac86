"""`learnings watch`: import what changes on disk, as it changes, until it is stopped.

In the foreground, one process and none below it. What is done with a change is what
`scan` does; the loop is in `cli_watcher.py`. One watcher a ledger: a second would find
nothing to do, and the two would speak over each other.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ledger.cli_call import Arg, Call, Result, command
from ledger.errors import BadArgument
from ledger.frame import clean
from ledger.sole import sole

LOCK = ".watching"
"""Ending of the lock file beside the ledger."""

GRACE_S = 0.8
"""How long what is under way may take to end once it is told to; an append is one transaction, done or not."""


@command(
    Arg("--only", "watch only this kind, or what this path means", many="each", metavar="KIND|PATH"),
    Arg("--exclude", "leave out this kind, path or glob", many="each", metavar="KIND|GLOB"),
    Arg("--service", "print the file that keeps it running: systemd or launchd (default: this system's)", many="?"),
)
def watch(call: Call) -> Result:
    """Scan once, then import what changes in the same places, until SIGINT or SIGTERM."""
    if call.given.service is not None:
        from ledger.cli_service import printed

        return printed(call, call.given.service)
    if call.env.get("LEARNINGS_OFF", "") not in ("", "0"):
        raise BadArgument("LEARNINGS_OFF is set; nothing is watched", "take it out of the environment")
    with stopping() as is_stopped:
        try:
            _watched(call)
        except KeyboardInterrupt:
            if not is_stopped.is_set():
                raise
    call.remark("stopped")
    return Result()


def _watched(call: Call) -> None:
    """Watch until a signal.

    Raises:
        KeyboardInterrupt: it came.
        Locked: another process watches this ledger.
    """
    call.writing(create=True).close()
    hint = "one watcher is enough; end that process to watch from here"
    with sole(os.path.realpath(call.file) + LOCK, "being watched", hint):
        from ledger.cli_watcher import Watcher

        Watcher(call, lambda told, lines: _print(told, lines, is_json=call.is_json)).run()


def _print(told: dict[str, Any], lines: list[str], *, is_json: bool) -> None:
    """Print what an import did, at once: somebody may follow it through a pipe.

    Raises:
        BrokenPipeError: nobody reads it any more.
    """
    if sys.stdout is None:
        return
    text = json.dumps(told, separators=(",", ":")) if is_json else "\n".join(clean(line) for line in lines)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    sys.stdout.flush()


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Turn SIGINT and SIGTERM into a KeyboardInterrupt; yields what tells that one came.

    A signal's function runs between two steps of the interpreter, and one step of SQLite
    may take seconds: so a thread hears of it too, and ends the process when it goes on.
    """
    came, over = threading.Event(), threading.Event()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def stops(number: int, frame: FrameType | None) -> None:
        if not came.is_set():
            came.set()
            raise KeyboardInterrupt

    def ends() -> None:
        if os.read(reading, 1) and not over.wait(GRACE_S):
            os._exit(0)

    before = {number: signal.signal(number, stops) for number in (signal.SIGINT, signal.SIGTERM)}
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    ending = threading.Thread(target=ends, daemon=True)
    ending.start()
    try:
        yield came
    finally:
        over.set()
        signal.set_wakeup_fd(woken)
        os.close(writing)
        ending.join()
        os.close(reading)
        for number, known in before.items():
            signal.signal(number, known)
