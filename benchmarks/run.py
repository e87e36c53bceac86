"""Run every benchmark of the store and the queries; print one table of targets, figures and verdicts.

    python benchmarks/run.py [NAME …]

Each benchmark is a process of its own. Ledgers of 10,000 and 100,000 learnings
are made once, in a temporary folder. `cli_start.py` and `mcp_start.py` measure
starts of whole processes and are run by themselves.
"""

import json
import os
import subprocess
import sys
import tempfile

from measure import Figure

NAMES = ("append", "writers", "store", "query", "verify_rebuild")


def figures_of(name: str, folder: str) -> list[Figure]:
    """Return what one benchmark measured."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    answer = subprocess.run(
        [sys.executable, script, "--json", "--keep", folder], stdout=subprocess.PIPE, text=True, check=True
    )
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    return [Figure(row["name"], row["value"], row["unit"], row["target"], row["more"]) for row in rows]


def main() -> None:
    """Run those named, or all; end with 1 when a target was missed."""
    names = sys.argv[1:] or list(NAMES)
    missed = 0
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    print(f"{'benchmark':16}{'figure':44}{'measured':>12} {'':6}{'target':>10}  verdict")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for one in figures_of(name, folder):
                missed += one.verdict == "missed"
                figure = f"{one.name:44}{one.value:12,.2f} {one.unit:6}{one.asked:>10}  {one.verdict}"
                print(f"{name:16}{figure}", flush=True)
    print(f"{missed} targets missed; load {os.getloadavg()[0]:.1f}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
