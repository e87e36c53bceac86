"""Measure the sets of this folder, and say what is worse than when the baseline was kept.

    python evals/baseline.py            prints the figures of each set, and fails on a loss
    python evals/baseline.py --write    keeps them as `baseline.json`

The same program over the same set gives the same figures, so a loss is a change
of the program and not chance. `ALLOWED` is what two or three prompts of a set
weigh: less may be the price of something that helps elsewhere.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ledger import eval_set, evals

HERE = Path(__file__).parent
SETS = ("first", "second", "third")
KEPT = HERE / "baseline.json"

ALLOWED = {"recall@5": 0.02, "hit@1": 0.02, "precision@inj": 0.03, "coverage@inj": 0.02, "silence": 0.03}
"""By how much each figure may fall."""

COUNTS = ("leaks", "wrong_project", "wrong_shown")
"""Counts that may not grow."""


def measured(name: str) -> dict[str, Any]:
    """Return the figures of one set that are kept."""
    where = str(HERE / name)
    with tempfile.TemporaryDirectory() as folder:
        figures = evals.run(eval_set.read(where), [], folder, where).figures
    return {key: figures[key] for key in (*ALLOWED, *COUNTS)}


def losses(name: str, now: dict[str, Any]) -> list[str]:
    """Return what is worse than the baseline, a sentence for each figure."""
    kept = json.loads(KEPT.read_text("utf-8"))[name]
    fallen = [key for key, allowed in ALLOWED.items() if now[key] < kept[key] - allowed]
    grown = [key for key in COUNTS if now[key] > kept[key]]
    return [f"{name}: {key} was {kept[key]}, is {now[key]}" for key in (*fallen, *grown)]


def main(arguments: list[str]) -> int:
    """Print, and write or compare."""
    now = {name: measured(name) for name in SETS}
    print(json.dumps(now, indent=1))
    if "--write" in arguments:
        KEPT.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
        return 0
    found = [loss for name in SETS for loss in losses(name, now[name])]
    print("\n".join(found) or "nothing is worse than the baseline")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
