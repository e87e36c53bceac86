"""Start a server as its client would, ask it for its tools, and end it.

The one place of the program that runs another one, because nothing else tells
whether a client can: no shell, a bare environment, a limit in time, and the
process with all it started is killed whatever happens
(docs/decisions/0008-doctor-starts-the-server.md).
"""

import contextlib
import json
import os
import queue
import signal
import subprocess  # the exception that tests/test_layers.py names
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, NamedTuple

from ledger.doctor_check import Around, Check, broken, fine, listed, remark
from ledger.doctor_client import Server, server_words
from ledger.doctor_told import MEND
from ledger.frame import clean
from ledger.redact import scrub

THIN_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
"""The PATH of a program that no shell has started, as a desktop's client has it."""

YOUR_PATH = "your PATH"

LIMIT_S = 20.0
"""Longest that a server may take for both answers."""

PROBE_S = 2.6
"""After this the client (2.1.332) gives up its first question and goes on to the next."""

SERVERS_MAX = 4
"""Most different command lines that are started."""

ERROR_CHARS = 160

KEPT = ("LANG", "LC_ALL", "LOGNAME", "SYSTEMROOT", "TMPDIR", "USER")
"""What a bare environment has besides HOME and PATH; nothing of a shell's, of Python's, of a session's."""

INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "learnings-doctor", "version": "1"},
}  # fmt: skip


class Start(NamedTuple):
    """How a server started: its tools and when it answered first, or what went wrong in a few words."""

    tools: int
    seconds: float
    fault: str


def checks(around: Around, servers: Iterable[Server]) -> Iterator[Check]:
    """Yield how the registered servers start; what a repository brings along is never run."""
    found = {json.dumps([server_words(one.entry), one.entry.get("env")]): one for one in servers if one.is_own}
    if found:
        with tempfile.TemporaryDirectory(prefix="learnings-") as folder:
            yield _judged([(one, *_tried(around, one, folder)) for one in list(found.values())[:SERVERS_MAX]])


def _tried(around: Around, server: Server, folder: str) -> tuple[Start, str]:
    """Start a server bare; when it fails, or is slow for the first time, once more: (what counts, what it needs).

    The folder is an empty one: in that of a project, a file could stand in for a module.
    """
    bare = {"HOME": around.home, "PATH": THIN_PATH, **{name: around.env[name] for name in KEPT if name in around.env}}
    held = server.entry.get("env")
    own = {str(name): str(value) for name, value in held.items()} if isinstance(held, dict) else {}
    words = [os.path.expanduser(word) if at == 0 else word for at, word in enumerate(server_words(server.entry))]
    first = start(words, {**bare, **own}, folder)
    if not first.fault:
        again = start(words, {**bare, **own}, folder) if first.seconds > PROBE_S else first
        return min(first, again, key=lambda one: (bool(one.fault), one.seconds)), ""
    for need, more in ((YOUR_PATH, {"PATH": around.env.get("PATH", "")}), ("your whole environment", around.env)):
        if not start(words, {**bare, **more, **own}, folder).fault:
            return first, need
    return first, ""


def _judged(found: list[tuple[Server, Start, str]]) -> Check:
    by_path = [one.where for one, _, need in found if need == YOUR_PATH and one.name.startswith("plugin:")]
    needy = [f"{one.where} ({need})" for one, _, need in found if need and one.where not in by_path]
    faults = [f"{server.where}: {start.fault}" for server, start, need in found if start.fault and not need]
    slow = [f"{server.where}: {start.seconds:.1f} s" for server, start, _ in found if start.seconds > PROBE_S]
    if faults:
        return broken(
            "server",
            f"does not start: {listed(faults)}; prompts are shown nothing and the agent has no tools, the ledger "
            f"is untouched; {MEND}",
        )
    if needy:
        return broken(
            "server",
            f"starts only with a full PATH or environment: {listed(needy)}; a client that no shell started has "
            "no recall and no tools; `learnings setup claude-code` writes absolute paths",
        )
    if by_path:
        return remark(
            "server",
            f"{listed(by_path)} finds `learnings` by the client's PATH alone: a client started from this shell has "
            "recall and tools, one started from a desktop has not; for both, disable the plugin and run `learnings "
            "setup claude-code`, which writes absolute paths, or install `learnings` where every program finds it",
        )
    if slow:
        return remark("server", f"answers late: {listed(slow)}, and the client asks anew after {PROBE_S} s")
    told = listed(f"{start.tools} tools after {start.seconds:.1f} s ({server.where})" for server, start, _ in found)
    return fine("server", f"starts with a bare environment: {told}")


# -- the process -----------------------------------------------------------------------------------------------------


def start(words: list[str], env: Mapping[str, str], folder: str, limit_s: float = LIMIT_S) -> Start:
    """Run a server, shake hands, ask for its tools; it and what it started are gone afterwards."""
    if not words:
        return Start(0, 0.0, "it has no command")
    begun = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - the command line that the client runs, and no shell
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=dict(env),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            word = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            return Start(0, 0.0, f"{os.path.basename(words[0])}: {word.lower()}")
        try:
            tools, seconds = _asked(process, begun, begun + limit_s)
            return Start(tools, seconds, "")
        except queue.Empty:
            return Start(0, 0.0, _reason(process, errors, f"no answer within {limit_s:g} s"))
        except (OSError, ValueError, LookupError, TypeError):
            return Start(0, 0.0, _reason(process, errors, "it answers in another language"))
        finally:
            _end(process)


def _asked(process: "subprocess.Popen[bytes]", begun: float, deadline: float) -> tuple[int, float]:
    """Return how many tools there are, and when the first answer came.

    Raises:
        OSError, ValueError, LookupError, TypeError: it is gone, or says something else.
        queue.Empty: it says nothing in time.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    said: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_heard, args=(process.stdout, said), daemon=True).start()
    _send(process.stdin, {"id": 1, "method": "initialize", "params": INITIALIZE})
    _answer(said, 1, deadline)
    seconds = time.monotonic() - begun
    _send(process.stdin, {"method": "notifications/initialized"})
    _send(process.stdin, {"id": 2, "method": "tools/list", "params": {}})
    return len(_answer(said, 2, deadline)["tools"]), seconds


def _heard(stream: IO[bytes], said: "queue.SimpleQueue[bytes]") -> None:
    """Pass on what a server says, line by line, and an empty line at the end."""
    with stream:
        for line in iter(stream.readline, b""):
            said.put(line)
    said.put(b"")


def _send(stream: IO[bytes], message: dict[str, Any]) -> None:
    stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    stream.flush()


def _answer(said: "queue.SimpleQueue[bytes]", number: int, deadline: float) -> dict[str, Any]:
    """Return the result of a request; what else is said before it is passed over."""
    while True:
        line = said.get(timeout=max(0.0, deadline - time.monotonic()))
        if not line:
            raise LookupError
        message = json.loads(line)
        if not isinstance(message, dict):
            raise TypeError
        if message.get("id") == number:
            result = message["result"]
            if not isinstance(result, dict):
                raise TypeError
            return result


def _reason(process: "subprocess.Popen[bytes]", errors: IO[bytes], otherwise: str) -> str:
    """Say why a server did not answer: how it ended, and the last line it complained with; else what is seen."""
    try:
        code = process.wait(0.5)
    except subprocess.TimeoutExpired:
        return otherwise
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4_096))
    lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    last = clean(" ".join(scrub(lines[-1]).text.split()))[:ERROR_CHARS] if lines else ""
    return f"it ended with status {code}" + (f": {last}" if last else "")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and all of its group, and wait until it is gone."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # pragma: no cover - Windows, which is untested
            process.kill()
    process.wait()
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
