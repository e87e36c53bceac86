"""The whole process of `learnings query` beside `python -c pass` of the same environment.

    python benchmarks/cli_start.py ENVIRONMENT [ROUNDS]

ENVIRONMENT is a virtual environment into which the wheel was installed (plain,
not editable: an editable finder costs every start 25 ms). A ledger of 1,000
learnings is made with the interpreter that runs this file; rounds alternate,
medians are compared. Target: query <= 5 x pass. Both need compiled bytecode, so
PYTHONDONTWRITEBYTECODE is taken out of their environment.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

TARGET = 5.0
LEARNINGS = 1_000

DRAFTS = """
import sys
from ledger import Draft, Ledger
from ledger.model import NewEvent, learning_id, new_event_id

with Ledger.init(sys.argv[1]) as ledger:
    for start in range(0, int(sys.argv[2]), 250):
        drafts = []
        for number in range(start, start + 250):
            event = new_event_id()
            body = {"title": f"problem {number}", "problem": f"the worker number{number} hangs at start",
                    "solution": f"restart it with flag f{number % 97} on port {5000 + number}", "project": "demo",
                    "tags": []}
            data = {"category": "env", "confidence": "sure"}
            drafts.append(NewEvent("learning.recorded", learning_id(event), data, body, event))
        ledger.store.append(lambda moment: drafts)
    ledger.store.refresh_counts()
"""


def timed(command: list[str], env: dict[str, str]) -> float:
    """Return how many milliseconds a command takes from its start to its end."""
    begun = time.perf_counter()
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begun) * 1e3


def main(environment: str, rounds: int) -> int:
    """Measure, print, and return 1 when the target is missed."""
    python = os.path.join(environment, "bin", "python")
    command = os.path.join(environment, "bin", "learnings")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "ledger.db")
        subprocess.run([sys.executable, "-c", DRAFTS, file, str(LEARNINGS)], check=True)
        env = {"PATH": os.defpath, "HOME": folder, "LEARNINGS_FILE": file}
        sides = {
            "python -c pass": [python, "-c", "pass"],
            "learnings query": [command, "query", "worker hangs on port 5123", "--project", "demo", "--json"],
            "learnings help": [command, "help"],
        }
        figures: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(rounds + 2):
            for name, words in sides.items():
                took = timed(words, env)
                if number >= 2:  # the first two compile bytecode and warm the disk
                    figures[name].append(took)
    medians = {name: statistics.median(found) for name, found in figures.items()}
    base = medians["python -c pass"]
    for name, median in medians.items():
        print(f"{name:<16} {median:7.1f} ms   {median / base:5.2f} x   (fastest {min(figures[name]):.1f} ms)")
    ratio = medians["learnings query"] / base
    print(f"target {TARGET:g} x: {'met' if ratio <= TARGET else 'missed'}")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python benchmarks/cli_start.py ENVIRONMENT [ROUNDS]")
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30))
