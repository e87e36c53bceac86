"""The file with which a system keeps `learnings watch` running: a systemd user unit, or a launchd agent."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ledger.cli_call import Call, Result
from ledger.cli_setup import program
from ledger.errors import BadArgument, Locked

KINDS = ("systemd", "launchd")
LABEL = "io.github.learning-ledger.watch"

PASSED_ON = (
    "LEARNINGS_FILE", "CLAUDE_CONFIG_DIR", "CLAUDE_MEM_DATA_DIR", "MCP_MEMORY_BASE_DIR", "MCP_MEMORY_SQLITE_PATH",
    "MEMORY_FILE_PATH", "BASIC_MEMORY_HOME", "BASIC_MEMORY_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "PYTHONPATH",
)  # fmt: skip
"""What is taken over from the environment: a service starts with none of it, and would look in other places."""

AGAIN_S = 30
"""How long after a fault it is started again."""


class Service(NamedTuple):
    """A file, where it belongs, and how it is switched on."""

    text: str
    path: str
    begin: str


def printed(call: Call, kind: str) -> Result:
    """Print the file of this platform, or of the one that is named, and say what to do with it.

    Raises:
        BadArgument: there is no such kind.
    """
    kind = kind or ("launchd" if sys.platform == "darwin" else "systemd")
    if kind not in KINDS:
        raise BadArgument(f"{kind[:40]!r} is no kind of service; nothing was done", f"name one of {', '.join(KINDS)}")
    known = program(call)
    words = [known.python, "-m", "ledger.cli", "watch", "--file", call.file]
    env = {name: call.env[name] for name in PASSED_ON if call.env.get(name)}
    made = systemd(words, env) if kind == "systemd" else launchd(words, env)
    document = {"service": kind, "path": made.path, "text": made.text, "begin": made.begin}
    if not call.is_json:
        call.remark(f"save it as {made.path}, then: {made.begin}")
    return Result(document, lambda: made.text.rstrip("\n").split("\n"), is_exact=True)


def systemd(words: Sequence[str], env: Mapping[str, str]) -> Service:
    """Return a user unit; it needs no root, and ends with the session unless lingering is on."""
    lines = [
        "[Unit]",
        "Description=Keep the ledger of learnings in step with what changes on disk",
        "Documentation=man:systemd.service(5)",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
        "ExecStart=" + " ".join(_quoted(word, is_command=True) for word in words),
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in env.items()),
        "Restart=on-failure",
        f"RestartSec={AGAIN_S}",
        f"RestartPreventExitStatus={Locked.exit_code}",
        "TimeoutStopSec=5",
        "Nice=10",
        "UMask=0077",
        "NoNewPrivileges=yes",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    path = "~/.config/systemd/user/learnings-watch.service"
    return Service("\n".join(lines) + "\n", path, "systemctl --user enable --now learnings-watch")


def _quoted(text: str, *, is_command: bool = False) -> str:
    """Return a text as systemd reads it back: `%` and, in a command, `$` stand for something else there."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return '"' + (quoted.replace("$", "$$") if is_command else quoted) + '"'


def launchd(words: Sequence[str], env: Mapping[str, str]) -> Service:
    """Return an agent of this user."""
    import plistlib

    log = os.path.expanduser("~/Library/Logs/learnings-watch.log")
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "EnvironmentVariables": dict(env),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": AGAIN_S,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    path = f"~/Library/LaunchAgents/{LABEL}.plist"
    return Service(plistlib.dumps(agent).decode(), path, f"launchctl load -w {path}")
