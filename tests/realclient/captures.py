"""Print what a person sees: `PYTHONPATH=tests python tests/realclient/captures.py`, the client in a terminal of tmux.

From a fresh HOME with a ledger of four learnings: setup, what it would change,
the first prompt of a session, `doctor` and `stats` after it. What stands in
docs/how-to/set-up-a-client.md under "What you see" is cut from this. The model
is a stand-in; what the client draws is its own.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from realclient.client import Home, installed
from realclient.known import GATE, teach
from realclient.loopback import Loopback
from realclient.stub import Reply, Stub

ANSWER = Reply("The ledger says: raise zephyr.quota to 4096. I will look whether it is still lower.")


def main() -> None:
    """Print each command as typed, with what it printed, and the screens of the session."""
    loopback = Loopback()
    with tempfile.TemporaryDirectory() as folder, Stub(loopback.listening()) as stub:
        home = Home(Path(folder), installed(), loopback, stub)
        teach(home, is_open_to_robots=False)
        for words in (["setup", "claude-code", "--dry-run"], ["setup", "claude-code", "--allow-tools"]):
            typed(home, *words)
        stub.say(ANSWER)
        with home.terminal() as terminal:
            terminal.until_served()
            terminal.type(GATE.prompt)
            request = stub.with_text(GATE.prompt)
            shown("the prompt, answered", terminal.until(ANSWER.text[:20]))
        shown("what the model read beside the prompt", "\n".join(request.messages[-2:]))
        for words in (["doctor"], ["stats"], ["exposures"]):
            typed(home, *words)
    loopback.close()


def typed(home: Home, *words: str) -> None:
    """Print a command of this program and what it printed."""
    line = [sys.executable, "-P", "-m", "ledger.cli", *words]
    done = subprocess.run(line, cwd=home.project, env=home.env, capture_output=True, text=True, timeout=60, check=False)
    shown(f"$ learnings {' '.join(words)}", done.stdout + done.stderr)


def shown(title: str, text: str) -> None:
    """Print a capture under its title."""
    kept = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
    sys.stdout.write(f"\n== {title}\n{kept}\n")


if __name__ == "__main__":
    main()
