"""Print what a person sees: `PYTHONPATH=tests python tests/realclient/captures.py`, the client in a terminal of tmux.

From a fresh HOME with a ledger of four learnings: setup, what it would change,
the first prompt of a session, `doctor` and `stats` after it. What stands in
docs/how-to/set-up-a-client.md under "What you see" is cut from this. The model
is a stand-in; what the client draws is its own. Of paths the folders of this
machine are replaced.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import ledger
from realclient.client import Home, installed
from realclient.known import GATE, teach
from realclient.loopback import Loopback
from realclient.stub import Reply, Stub

PROGRAMS, PACKAGE = "~/.venv/bin", "~/.venv/lib/python3.11/site-packages/ledger"
BLOCK = re.compile(r"\w+ hook additional context: <recalled-learnings.*?</recalled-learnings>", re.DOTALL)
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
            shown(home, "the screen, once the prompt was answered", terminal.until(ANSWER.text[:20]))
        shown(home, "what the model read beside the prompt", "\n".join(BLOCK.findall(request.spoken)))
        for words in (["doctor"], ["stats"], ["exposures"]):
            typed(home, *words)
    loopback.close()


def typed(home: Home, *words: str) -> None:
    """Print a command of this program and what it printed."""
    line = [sys.executable, "-P", "-m", "ledger.cli", *words]
    done = subprocess.run(line, cwd=home.project, env=home.env, capture_output=True, text=True, timeout=60, check=False)
    shown(home, f"$ learnings {' '.join(words)}", done.stdout + done.stderr)


def shown(home: Home, title: str, text: str) -> None:
    """Print a capture under its title, without empty lines and without folders of this machine."""
    package, programs = str(Path(ledger.__file__).parent), str(Path(sys.executable).parent)
    kept = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
    for path, name in ((home.folder, "~"), (home.project.parent, "~/work"), (package, PACKAGE), (programs, PROGRAMS)):
        kept = kept.replace(str(path), name)
    sys.stdout.write(f"\n== {title}\n{kept}\n")


if __name__ == "__main__":
    main()
