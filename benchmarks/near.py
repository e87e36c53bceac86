"""Pairs that say the same among 10,000 learnings, and what one import of ten notes pays for its line about them.

    python benchmarks/near.py [--json] [--keep FOLDER]

Every pair of both labelled sets is among them. Targets: 2 s of one core each.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from corpus import ledger_of
from measure import Figure, kept, show

from ledger import pairs
from ledger.ledger import Ledger
from ledger.model import Draft

SIZE = 10_000
SETS = Path(__file__).resolve().parent.parent / "evals" / "near"


def labelled() -> list[Draft]:
    """Return both texts of every pair that says the same."""
    rows = [json.loads(line) for name in ("tuned", "held") for line in (SETS / f"{name}.jsonl").open(encoding="utf-8")]
    told = [row[side] for row in rows if row["label"] == "same" for side in ("one", "other")]
    return [Draft(one["problem"], one["solution"], "practice", "demo") for one in told]


def timed(act: Callable[[], int]) -> tuple[int, float, float]:
    """Return what an act answers, its seconds, and its seconds of the processor."""
    begun, busy = time.perf_counter(), time.process_time()
    found = act()
    return found, time.perf_counter() - begun, time.process_time() - busy


def main() -> None:
    """Look for pairs; print seconds."""
    with tempfile.TemporaryDirectory() as folder:
        with Ledger.open(ledger_of(kept(folder), SIZE)) as ledger:
            drafts = labelled()
            for draft in drafts[:-10]:
                ledger.record(draft)
            before = ledger.store.head().seq
            for draft in drafts[-10:]:
                ledger.record(draft)
            found, all_s, all_busy = timed(lambda: len(pairs.found(ledger.reader)))
            new, new_s, new_busy = timed(lambda: pairs.brought(ledger.reader, before))
        figures = [
            Figure(f"all pairs among {SIZE:,}", all_s, "s"),
            Figure("all pairs, processor", all_busy, "s", 2.0),
            Figure("pairs found", found),
            Figure("ten new ones", new_s, "s"),
            Figure("ten new ones, processor", new_busy, "s", 2.0),
            Figure("of those like another", new),
        ]
    show("near", figures)


if __name__ == "__main__":
    main()
