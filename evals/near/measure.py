"""Measure how well pairs of learnings that say the same are told from those that only look like it.

python evals/near/measure.py [--misses]
"""

import json
import sys
from pathlib import Path
from typing import Any

from ledger import alike

HERE = Path(__file__).resolve().parent
SETS = ("tuned", "held", "third")


def rows(name: str) -> list[dict[str, Any]]:
    """Return the pairs of a set."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines()]


def told(row: dict[str, Any]) -> str:
    """Return what the rules say of a pair."""
    one, other = (alike.read(row[side]["problem"], row[side]["solution"]) for side in ("one", "other"))
    return alike.compare(one, other)


def figures(name: str) -> dict[str, float]:
    """Return precision and recall of `same`, and how many contradictions are called so."""
    said = [(row["label"], told(row)) for row in rows(name)]
    same = [label for label, answer in said if answer == alike.SAME]
    right = same.count("same")
    conflicts = [answer for label, answer in said if label == "conflict"]
    return {
        "pairs": len(said),
        "precision": right / len(same) if same else 1.0,
        "recall": right / sum(label == "same" for label, _ in said),
        "conflicts told": conflicts.count(alike.DIFFERS) / len(conflicts),
    }


def main() -> None:
    """Print the figures of both sets, and with `--misses` every pair that is told wrongly."""
    for name in SETS:
        print(name, {key: round(value, 3) for key, value in figures(name).items()})
        for row in rows(name) if "--misses" in sys.argv else ():
            if (row["label"] == "same") != (told(row) == alike.SAME):
                print(f"  {row['id']} is told {told(row) or 'other'!r}: {row['one']} / {row['other']}")


if __name__ == "__main__":
    main()
