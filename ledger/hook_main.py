"""What a command hook runs: `PYTHON -I -S …/ledger/hook_main.py EVENT`, the client's JSON on standard input.

It prints the JSON that the client reads or nothing, and exits 0 whatever
happens: a prompt is never delayed beyond the limit nor broken. What went wrong
is noted for `learnings doctor`. With `-S` nothing of the installation is on the
path but what this file lies in, added last, so that nothing there stands
before the standard library.
"""

from __future__ import annotations

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

ANSWERED = ("prompt", "session-start", "subagent-start", "tool", "tool-failed", "compact", "stop", "end", "precompact")
"""The keys of `hook.EVENTS`: for any other event nothing is loaded."""

TOOLS, NOTES = ("tool", "tool-failed"), (b'.md"', b"memory")
"""Events that come with most tool calls, and what one that concerns a note holds: for any other nothing is loaded."""

READS = ("prompt", "session-start", "subagent-start")
"""Those that wait for the ledger: when one of them is late, it is not waited for until it has rested."""

STDIN_BYTES = 1_048_576
"""Most bytes of standard input that are looked at; what is longer is read and dropped."""

LIMITS_S = {"prompt": 0.4, "compact": 1.5, "end": 1.5, "precompact": 1.5}
START_LIMIT_S = 0.8
"""Longest that an event is held up. Handing over takes 0.1 s; where nobody waits to type, a slow disk gets longer."""

DEPTH = 3
"""Objects that a text may stand in when it is cut: a field of what a tool was given or answered is in two."""

CUT_CHARS = 12
"""Characters by which the end of a cut text is moved back at most: the longest escape of JSON is two `\\\\uXXXX`."""


def main(arguments: list[str]) -> int:
    """Answer one event; the exit status is always 0."""
    event = arguments[0] if arguments else ""
    try:
        if event in ANSWERED:
            _limited(event)
        said = answered(event, _stdin())
        _unlimited()
        if said:
            os.write(1, said.encode())
    except Exception as error:  # noqa: BLE001 - a hook that fails says nothing to the client
        _note(event, type(error).__name__)
    return 0


def answered(event: str, given: bytes) -> str:
    """Return what the client is to read."""
    if not is_wanted(event, given):
        return ""
    from ledger.hook import run

    return run(event, parsed(given), os.environ, ledger_file(), project_of, files_of=files_of)


def is_wanted(event: str, given: bytes) -> bool:
    """Tell whether an event is one of ours and, of a tool's, whether it may concern a note."""
    if event not in TOOLS:
        return event in ANSWERED
    low = given.lower()
    return any(word in low for word in NOTES)


def parsed(given: bytes) -> dict[str, object]:
    """Return the client's JSON; of one that was cut, what stands before the cut, its last text included.

    Raises:
        ValueError: it is none.
    """
    import json

    text = given[:STDIN_BYTES].decode("utf-8", "replace")
    if len(given) <= STDIN_BYTES:
        found = json.loads(text)
    else:
        found = None
        ends = [(less, '"' + "}" * depth) for less in range(CUT_CHARS) for depth in range(1, DEPTH + 1)]
        for less, end in ends:
            try:
                found = json.loads(text[: len(text) - less] + end)
                break
            except ValueError:
                continue
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def project_of(folder: str) -> str | None:
    """Return the project of a folder."""
    from importers import projects

    return projects.project_of(folder)


def files_of(folder: str) -> list[str]:
    """Return the files that the client loads in a folder."""
    from importers import projects

    return projects.loaded_files(folder, os.path.expanduser("~"))


def ledger_file() -> str:
    """Return the ledger's file."""
    from ledger.home import default_file

    return os.path.abspath(os.path.expanduser(default_file(os.environ, sys.platform)))


def _stdin() -> bytes:
    """Return standard input up to one byte more than is looked at; the rest is read, so that nobody's pipe breaks."""
    parts, size = [], 0
    while part := os.read(0, 65_536):
        if size <= STDIN_BYTES:
            parts.append(part)
        size += len(part)
    return b"".join(parts)[: STDIN_BYTES + 1]


def _limited(event: str) -> None:
    """End this process when its time is up, or the client has enough of it, whatever it is doing.

    What it had noted as shown is taken back: it will not be said.
    """
    import signal

    if not hasattr(signal, "setitimer"):
        return  # Windows: the client's own time-out is all there is

    def late(number: int, frame: object) -> None:
        _take_back(event)
        _note(event, "TooLate", tripped=event in READS)
        os._exit(0)

    if event in READS:
        from ledger import unsaid

        unsaid.begin()
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, late)
    signal.setitimer(signal.ITIMER_REAL, LIMITS_S.get(event, START_LIMIT_S))


def _unlimited() -> None:
    """Let what is to be said be said: from here on nothing is taken back."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _take_back(event: str) -> None:
    """Take back what was noted as shown, as far as that can be."""
    if event not in READS:
        return
    try:
        from ledger import unsaid

        unsaid.take_back(ledger_file())
    except Exception:  # noqa: BLE001 - it counts as shown, and its session goes without it
        return


def _note(event: str, fault: str, tripped: bool = False) -> None:
    """Leave a line for `doctor`, as far as there is a ledger to leave it beside."""
    try:
        import time

        from ledger.hook import LEDGER
        from ledger.sessions import Sessions

        path = ledger_file()
        if event in ANSWERED and os.path.isfile(path):
            kept = Sessions(path)
            kept.failed(event, os.environ.get("CLAUDE_CODE_ENTRYPOINT", ""), fault, time.time())
            if tripped:
                kept.tripped(LEDGER, time.time())
    except Exception:  # noqa: BLE001 - there is nobody left to tell
        return


if __name__ == "__main__":
    sys.path.append(HOME)
    main(sys.argv[1:])
    os._exit(0)  # nothing is left to write, and taking the interpreter down costs milliseconds
