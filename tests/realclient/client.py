"""The real client: where it comes from, the home it runs in, and the two ways of running it.

`claude -p` is a robot to the ledger, a session in a terminal a person. The
client is not ours: it is installed by name and version when tests run, into a
folder that is kept, and nothing of it is committed.
"""

import json
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from realclient.loopback import Loopback
from realclient.stub import Request, Stub

PACKAGE, VERSION = "@anthropic-ai/claude-code", "2.1.332"
KEY = "dummy-" + "0" * 40
PROJECT = "larkspur"

QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING",
)  # fmt: skip
"""Variables at which the client sends nothing but messages."""

OURS = ("ledger.cli", "hook_main.py", "learnings serve", "learnings hook")
"""What the command line of a process of the ledger holds."""

RUN_S = 60
"""Longest that a test waits for the client."""

SHOWN_S = 200
"""Longest that a test asks again: what hung is left alone for a minute, each time."""


class Missing(Exception):
    """Something that these tests need is not on this machine."""


# -- where the client comes from -------------------------------------------------------------------------------------


def client_folder() -> Path:
    """Return where the client is kept: `LEARNINGS_TEST_CLIENT`, else a folder of the user's cache."""
    named = os.environ.get("LEARNINGS_TEST_CLIENT")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else cache / "learning-ledger" / f"client-{VERSION}"


def installed() -> Path:
    """Return the client's program, installed first when it is not there.

    Raises:
        Missing: it is not there and cannot be installed.
    """
    folder = client_folder()
    program = folder / "node_modules" / ".bin" / "claude"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise Missing("npm, which installs the client")
        folder.mkdir(parents=True, exist_ok=True)
        line = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", f"{PACKAGE}@{VERSION}"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise Missing(f"the client: npm ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    held = json.loads((folder / "node_modules" / PACKAGE / "package.json").read_text("utf-8"))["version"]
    if held != VERSION:
        raise Missing(f"the client in version {VERSION}: {folder} holds {held}")
    return program.resolve()


def client_said() -> str:
    """Install the client when it is not there; return where it is, or what is missing."""
    try:
        return f"{PACKAGE} {VERSION}: {installed()}"
    except Missing as error:
        return f"missing: {error}"


# -- a home ----------------------------------------------------------------------------------------------------------


class Home:
    """A fresh HOME with a project in it, the program of this tree, and the client beside its API."""

    def __init__(self, folder: Path, program: Path, loopback: Loopback, stub: Stub, project: str = PROJECT) -> None:
        self.stub = stub
        self.program, self._loopback = program, loopback
        self.folder = folder / "home"
        self.project = folder / "work" / project
        self.ledger = self.folder / ".local" / "share" / "learnings" / "ledger.db"
        self.settings = self.folder / ".claude" / "settings.json"
        self.state = self.folder / ".claude.json"
        repository = self.project / ".git"
        for made in (self.folder / ".claude", folder / "tmp", repository / "objects", repository / "refs"):
            made.mkdir(parents=True)
        (repository / "HEAD").write_text("ref: refs/heads/main\n")
        (repository / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
        beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        self.env = {
            "PATH": beside, "HOME": str(self.folder), "LANG": "C.UTF-8", "TERM": "xterm-256color", "SHELL": "/bin/sh",
            "TMPDIR": str(folder / "tmp"), "CLAUDE_CODE_TMPDIR": str(folder / "tmp"),
            "ANTHROPIC_BASE_URL": stub.url, "ANTHROPIC_API_KEY": KEY, **dict.fromkeys(QUIET, "1"),
        }  # fmt: skip
        if "PYTHONPATH" in os.environ:  # a checkout that is not installed
            self.env["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def learnings(self, *words: str) -> dict[str, Any]:
        """Run the ledger's command in the project and return its document."""
        line = [sys.executable, "-P", "-m", "ledger.cli", *words, "--json"]
        done = subprocess.run(
            line, cwd=self.project, env=self.env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def claude(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the client once with these words, to its end."""
        return subprocess.run(
            self.line(*words), cwd=self.project, env=self.env, capture_output=True, text=True, timeout=RUN_S,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    def ask(self, prompt: str, *words: str) -> Request:
        """Run `claude -p` with a prompt and return the first request that holds it."""
        done = self.claude("-p", *words, "--", prompt)
        assert done.returncode == 0, done.stdout + done.stderr
        return self.stub.with_text(prompt, 1)

    def recalled(self, prompt: str, mark: str, *words: str) -> Request:
        """Begin a session of `claude -p` and return its first request in which a prompt is answered by a word."""
        with self.served(*words) as session:
            return session.shown(prompt, mark).request

    def served(self, *words: str, cwd: Path | None = None) -> "Talk":
        """Begin a session as `talk` does, and wait until it has our server's list of tools."""
        made = self.talk(*words, cwd=cwd)
        try:
            made.until_served()
        except BaseException:
            made.close()
            raise
        return made

    def talk(self, *words: str, cwd: Path | None = None) -> "Talk":
        """Begin a session of `claude -p` that takes several prompts."""
        return Talk(self, cwd or self.project, words)

    def terminal(self, *words: str) -> "Terminal":
        """Begin a session that a person types at; the dialogs of a first start count as answered."""
        held = json.loads(self.state.read_text("utf-8")) if self.state.exists() else {}
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        held |= {
            "hasCompletedOnboarding": True, "theme": "dark", "projects": {str(self.project): trusted},
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        }  # fmt: skip
        self.state.write_text(json.dumps(held))
        return Terminal(self, words)

    def line(self, *words: str) -> list[str]:
        """Return the command line of the client inside the namespace."""
        return self._loopback.line([str(self.program), *words])

    def inside(self, *words: str) -> list[str]:
        """Return the command line of any program inside the namespace."""
        return self._loopback.line(words)

    def is_wal(self) -> bool:
        """Tell whether the ledger has a write-ahead log: then no writer shuts readers out."""
        with self.ledger.open("rb") as file:
            return file.read(19)[18] == 2

    def ours(self) -> dict[int, str]:
        """Return the processes of the ledger that run with this HOME, as pid and command line."""
        mark, found = f"HOME={self.folder}".encode(), {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                if any(word in line for word in OURS) and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = line
            except OSError:
                continue  # it ended meanwhile, or is another user's
        return found

    def servers(self) -> list[int]:
        """Return the pids of the ledger's servers that run with this HOME."""
        return [pid for pid, line in self.ours().items() if line.endswith(" serve")]


def has_open(pid: int, file: Path) -> bool:
    """Tell whether a process has a file open."""
    for name in _listed(f"/proc/{pid}/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{name}") == str(file):
                return True
    return False


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # it ended meanwhile


def is_below(pid: int, above: int) -> bool:
    """Tell whether a process was begun by another one, or by one that this began."""
    while pid > 1 and pid != above:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
        except OSError:
            return False
    return pid == above


def gone(pids: Sequence[int], timeout_s: float = 10) -> list[int]:
    """Wait for processes to end that are not our children; return those that did not."""
    end, left = time.monotonic() + timeout_s, []
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([fd], [], [], max(0.0, end - time.monotonic()))[0]:
                left.append(pid)
        finally:
            os.close(fd)
    return left


# -- sessions --------------------------------------------------------------------------------------------------------


class Hook(NamedTuple):
    """One hook as the client tells of it: its event, how long it took as we saw it, and the client's own record."""

    event: str
    ms: float
    told: dict[str, Any]


class Turn(NamedTuple):
    """What a prompt came to: how long until its request, its first and last request, the result, and the hooks run."""

    wait_s: float
    request: Request
    last: Request
    result: dict[str, Any]
    hooks: list[Hook]


class Talk:
    """A session of `claude -p` that reads prompts from its standard input."""

    def __init__(self, home: Home, cwd: Path, words: Sequence[str]) -> None:
        self._home = home
        how = ("--input-format", "stream-json", "--output-format", "stream-json", "--include-hook-events", "--verbose")
        self.begun_at = time.monotonic()
        self.process = subprocess.Popen(
            home.line("-p", *how, *words), cwd=cwd, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._lines: queue.SimpleQueue[tuple[float, dict[str, Any]] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._reads)
        self._reader.start()

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Say that nothing more comes, and wait for the end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join()
        self.process.stdout.close()

    def until_served(self) -> None:
        """Wait until the server of this session opens the ledger, which it does when it is asked for its tools.

        Raises:
            TimeoutError: that never came.
        """
        end = time.monotonic() + RUN_S
        while not any(
            has_open(pid, self._home.ledger) for pid in self._home.servers() if is_below(pid, self.process.pid)
        ):
            if time.monotonic() > end:
                raise TimeoutError("the server was never asked for its tools")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.1)
                raise TimeoutError("the session ended")

    def say(self, prompt: str) -> Turn:
        """Give a prompt and wait for the end of its turn.

        Raises:
            TimeoutError: there was none.
        """
        before, begun = len(self._home.stub.requests), time.monotonic()
        result, hooks = self._turn(prompt)
        made = [request for request in self._home.stub.requests[before:] if prompt in request.spoken]
        return Turn(made[0].at - begun, made[0], made[-1], result, hooks)

    def shown(self, prompt: str, mark: str) -> Turn:
        """Give a prompt until its answer holds a word that the prompt does not, and return that turn.

        A recall that comes too late is silence: on a busy machine the first one may, since everything is
        loaded for it, and what was late once is left to rest.

        Raises:
            TimeoutError: it never was.
        """
        end = time.monotonic() + SHOWN_S
        tried: list[list[tuple[int, str]]] = []
        while time.monotonic() < end:
            turn = self.say(prompt)
            (place,) = [number for number, text in enumerate(turn.request.messages) if prompt in text][-1:]
            if mark in "\n".join(turn.request.messages[place:]):
                return turn
            tried.append([(round(one.ms), one.told.get("stdout", "")[:80]) for one in turn.hooks])
        raise TimeoutError(f"no {mark!r} was shown; servers {self._home.servers()}, hooks {tried[:3]} ... {tried[-3:]}")

    def send(self, prompt: str) -> None:
        """Give a prompt and wait for nothing."""
        assert self.process.stdin is not None
        line = {"type": "user", "message": {"role": "user", "content": prompt}}
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def compact(self) -> None:
        """Have the conversation replaced by a summary."""
        self._turn("/compact")

    def _turn(self, prompt: str) -> tuple[dict[str, Any], list[Hook]]:
        """Send a line and wait for its result; return that and the hooks run meanwhile."""
        self.send(prompt)
        started: dict[str, float] = {}
        hooks: list[Hook] = []
        for at, told in self._until_result():
            if told.get("subtype") == "hook_started":
                started[told["hook_id"]] = at
            elif told.get("subtype") == "hook_response":
                hooks.append(Hook(told["hook_event"], 1_000 * (at - started[told["hook_id"]]), told))
            elif told.get("type") == "result":
                return told, hooks
        raise TimeoutError("the session ended without an answer")

    def _until_result(self) -> Iterator[tuple[float, dict[str, Any]]]:
        end = time.monotonic() + RUN_S
        while (found := self._lines.get(timeout=end - time.monotonic())) is not None:
            yield found

    def _reads(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put((time.monotonic(), json.loads(line)))
        self._lines.put(None)


class Terminal:
    """A session in a terminal of tmux; what is drawn wakes the waiting."""

    def __init__(self, home: Home, words: Sequence[str]) -> None:
        tmux = shutil.which("tmux")
        if tmux is None:
            raise Missing("tmux, which gives the client a terminal")
        self._home = home
        self._folder = tempfile.TemporaryDirectory(prefix="realclient-")  # a socket's path has to be short
        self._tmux = [tmux, "-S", f"{self._folder.name}/s", "-f", os.devnull]
        drawn = f"{self._folder.name}/drawn"
        os.mkfifo(drawn)
        self._drawn = os.open(drawn, os.O_RDWR | os.O_NONBLOCK)
        start = home.inside(*self._tmux, "new-session", "-d", "-x", "140", "-y", "50", "-c", str(home.project))
        env = {**home.env, "TERM": "screen-256color"}
        subprocess.run([*start, str(home.program), *words], env=env, check=True, timeout=30)
        self._do("set-option", "-g", "remain-on-exit", "on")
        self._do("pipe-pane", f"cat > {drawn}")

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self._do("kill-server")
        os.close(self._drawn)
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Return the pid of the client."""
        return int(self._do("display-message", "-p", "#{pane_pid}"))

    @property
    def screen(self) -> str:
        """Return what is on the screen, and what was scrolled out of it."""
        return self._do("capture-pane", "-p", "-S", "-1000")

    def until(self, words: str, timeout_s: float = 30) -> str:
        """Wait until words are on the screen and nothing more is drawn for a moment: then it listens.

        Raises:
            TimeoutError: they never came.
        """
        return self._drawn_until(lambda screen: words in screen, f"no {words!r}", timeout_s)

    def without(self, words: str, timeout_s: float = 30) -> str:
        """Wait until words are no longer on the screen, as `until` does.

        Raises:
            TimeoutError: they stayed.
        """
        return self._drawn_until(lambda screen: words not in screen, f"still {words!r}", timeout_s)

    def until_served(self, timeout_s: float = 30) -> None:
        """Wait until the client listens and has our server's list of tools: then the server opens the ledger.

        Raises:
            TimeoutError: that never came.
        """
        self.until("❯", timeout_s)
        end = time.monotonic() + timeout_s
        while not any(has_open(pid, self._home.ledger) for pid in self._home.servers()):
            if time.monotonic() > end:
                raise TimeoutError("the server was never asked for its tools")
            self._draws(0.1)
        self.until("❯", timeout_s)

    def type(self, words: str) -> None:
        """Type a line and send it off."""
        self._do("send-keys", "-l", words)
        self.until(words, 10)
        self._do("send-keys", "Enter")

    def _drawn_until(self, fits: Callable[[str], bool], what: str, timeout_s: float) -> str:
        end = time.monotonic() + timeout_s
        while not fits(self.screen):
            if time.monotonic() > end:
                raise TimeoutError(f"{what} on the screen:\n{self.screen}")
            self._draws(1)
        while self._draws(0.7) and time.monotonic() < end:
            pass
        return self.screen

    def _draws(self, timeout_s: float) -> bool:
        """Wait until something is drawn; tell whether it was."""
        if not select.select([self._drawn], [], [], timeout_s)[0]:
            return False
        os.read(self._drawn, 1 << 16)
        return True

    def _do(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, timeout=30, check=False)
        return done.stdout
