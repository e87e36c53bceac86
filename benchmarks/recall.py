"""Time of one recall and of one explicit question, warm, in process: `python benchmarks/recall.py DIR [--filler FILE]`.

DIR holds a set as `learnings eval` reads it; the filler makes the ledger large.
Targets on a quiet machine: recall p95 <= 15 ms at 10,000 learnings and <= 40 ms at 100,000.
"""

import resource
import sys
import tempfile

from ledger import eval_set, evals
from ledger.ledger import Ledger
from ledger.model import person
from ledger.reader import open_reader


def main(arguments: list[str]) -> None:
    """Print a line for each setting, and the memory that answering took."""
    known = eval_set.read(arguments[0])
    around = evals.filled(arguments[arguments.index("--filler") + 1] if "--filler" in arguments else None, known)
    with tempfile.TemporaryDirectory() as home:
        clock = evals.Clock()
        with Ledger.init(f"{home}/ledger.db", person(), clock=clock) as ledger:
            loading = evals.Loading(ledger, clock, arguments[0])
            loading.load(known.learnings, around, lambda done, total: None)
            ledger.store.refresh_counts()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open_reader(f"{home}/ledger.db") as reader:
            evals.asked(reader, known.cases[:20], loading.ids)
            _, times = evals.asked(reader, known.cases, loading.ids)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for setting, found in times.items():
        shares = ", ".join(f"p{share} {evals.percentile(found, share)} ms" for share in (50, 95, 99))
        print(f"{setting:7} {len(loading.ids):,} learnings: {shares}")
    print(f"memory grew by {grown:.1f} MB while answering")


if __name__ == "__main__":
    main(sys.argv[1:])
