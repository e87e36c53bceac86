"""Verify and rebuild a log of 100,000 events.

    python benchmarks/verify_rebuild.py [--json] [--keep FOLDER]

The chain alone (every hash and commitment computed anew), then the whole of
`verify` (the log projected a second time and compared), then a rebuild in a
process of its own for its memory. Targets: chain >= 80,000 events/s, rebuild
<= 20 s and <= 300 MB.
"""

import subprocess
import sys
import tempfile

from corpus import ledger_of
from measure import Figure, kept, peak_mb, seconds, show

from ledger.audit import audit
from ledger.results import Verdict
from ledger.store_sqlite import SqliteStore

EVENTS, ROUNDS = 100_000, 3
ALONE = "--rebuild"


def rebuild(path: str) -> None:
    """Rebuild in this process; print its time and its peak memory."""
    store = SqliteStore(path)
    begun = peak_mb()
    took = seconds(store.rebuild)
    print(took, begun, peak_mb())
    store.close()


def main() -> None:
    """Measure all three on one ledger."""
    if ALONE in sys.argv:
        rebuild(sys.argv[sys.argv.index(ALONE) + 1])
        return
    with tempfile.TemporaryDirectory() as folder:
        path = ledger_of(kept(folder), EVENTS)
        store = SqliteStore(path)
        chains = sorted(seconds(store.find_problems) for _ in range(ROUNDS))
        verdicts: list[Verdict] = []
        whole = seconds(lambda: verdicts.append(audit(store)))
        store.close()
        assert verdicts[0].ok, verdicts[0].problems[:3]
        answer = subprocess.run([sys.executable, __file__, ALONE, path], capture_output=True, text=True, check=True)
        took, before, peak = map(float, answer.stdout.split())
    figures = [
        Figure("chain, median", EVENTS / chains[ROUNDS // 2], "/s", 80_000, more=True),
        Figure("chain, best", EVENTS / chains[0], "/s"),
        Figure("verify with schema, projections and index", whole, "s"),
        Figure("rebuild", took, "s", 20),
        Figure("rebuild, peak memory", peak, "MB", 300),
        Figure("memory before the rebuild", before, "MB"),
    ]
    show("verify_rebuild", figures)


if __name__ == "__main__":
    main()
