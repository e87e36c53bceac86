"""Run the hook's script as a client does, and change settings that have no command here."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import ledger

SCRIPT = str(Path(ledger.__file__).parent / "hook_main.py")
PYTHON = os.path.realpath(sys.executable)
PROMPT = "pgcat refuses connections from the docker network with PGX4711, how did we fix pgcat there?"


class Ran(NamedTuple):
    """What a hook left behind."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Return what the model reads, '' for nothing."""
        return str(json.loads(self.out)["hookSpecificOutput"]["additionalContext"]) if self.out else ""


def environment(file: Path, **more: str) -> dict[str, str]:
    """Return the environment of a hook in a session that somebody sits at."""
    covered = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    told = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1", "LEARNINGS_FILE": str(file)}
    return {"PATH": os.defpath, "HOME": str(file.parent), **covered, **told, **more}


def payload(folder: Path, **more: Any) -> dict[str, Any]:
    """Return the JSON of an event in a folder."""
    return {"session_id": "s1", "transcript_path": "", "cwd": str(folder), "hook_event_name": "any", **more}


def ran(event: str, given: bytes | dict[str, Any], env: dict[str, str]) -> Ran:
    """Run the script with an event's JSON, or other bytes, on standard input."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    line = [PYTHON, "-I", "-S", SCRIPT, event]
    done = subprocess.run(line, input=data, env=env, capture_output=True, timeout=30, check=False)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def repository(folder: Path, branch: str = "main") -> Path:
    """Make what tells a project and a branch: a folder `demo` with `.git`."""
    found = folder / "demo"
    (found / ".git").mkdir(parents=True)
    (found / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    (found / ".git" / "config").write_text("[core]\n")
    return found


def setting(path: str, name: str, value: str) -> None:
    """Put a setting in force as its event would."""
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO setting (name, scope, machine, from_seq, event_seq, value) VALUES (?, 'ledger', '', 1, 1, ?)",
        (name, value),
    )
    connection.commit()
    connection.close()
