"""Kill the client at random moments and count what it leaves: `PYTHONPATH=tests python tests/realclient/kills.py [N]`.

Each session is killed within its first seconds, with SIGKILL, SIGINT, SIGTERM or
SIGHUP, before, during or after its first prompt. What counts is a process of
the ledger that is still there `GRACE_S` after its client has gone, and whether
the ledger is whole in the end.
"""

import os
import random
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from threading import Timer

from realclient.client import Home, gone, installed
from realclient.known import GATE, teach
from realclient.loopback import Loopback
from realclient.stub import Stub

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LATEST_S = 3.0
GRACE_S = 10.0


def main(many: int) -> int:
    """Kill as many sessions and say what was left; the exit status is 1 when anything was."""
    draw, left, with_server = random.Random(1), Counter[str](), 0
    loopback = Loopback()
    with tempfile.TemporaryDirectory() as folder, Stub(loopback.listening()) as stub:
        home = Home(Path(folder), installed(), loopback, stub)
        teach(home)
        home.learnings("setup", "claude-code")
        for _ in range(many):
            number = draw.choice(SIGNALS)
            found = killed(home, number, draw.uniform(0, LATEST_S))
            with_server += bool(found)
            left[number.name] += len(gone(found, GRACE_S))
        alone = len(home.ours())
        whole = home.learnings("verify")["ok"]
    loopback.close()
    counts = ", ".join(f"{name} {count}" for name, count in sorted(left.items()))
    sys.stdout.write(
        f"{many} sessions killed, {with_server} with a process of ours running; left by signal: {counts}; "
        f"left in the end: {alone}; the ledger is {'whole' if whole else 'damaged'}\n"
    )
    return int(bool(left.total() or alone or not whole))


def killed(home: Home, number: signal.Signals, after_s: float) -> list[int]:
    """Begin a session, give it a prompt, and kill it; return our processes of the moment before."""
    found: list[int] = []
    with home.talk() as session:

        def kill() -> None:
            found.extend(home.ours())
            os.kill(session.process.pid, number)

        timer = Timer(after_s, kill)
        timer.start()
        session.send(GATE.prompt)
        session.process.wait(30)
        timer.join()
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
