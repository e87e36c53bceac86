"""One append beside the least that two durable rows can cost.

    python benchmarks/append.py [--json]

Both sides write one row into each of two tables and commit with
`synchronous=FULL`, in turns, so that a busy disk is as busy for both. The one
is `store.append` (checks, hashes, projections, words index, anchor), the other
bare `sqlite3`. Targets: p50 <= 4 ms, and <= 3 x the bare commit.
"""

import os
import sqlite3
import tempfile
from functools import partial

from corpus import Corpus, append, recorded
from measure import Figure, quantile, seconds, show, spread

from ledger.ledger import Ledger

ROUNDS = 400


def main() -> None:
    """Append, commit, append, commit …; print medians and their ratio."""
    corpus = Corpus()
    with tempfile.TemporaryDirectory() as folder:
        bare = sqlite3.connect(os.path.join(folder, "bare.db"), isolation_level=None)
        bare.execute("PRAGMA synchronous = FULL")
        for table in ("one", "two"):
            bare.execute(f"CREATE TABLE {table} (seq INTEGER PRIMARY KEY, text TEXT)")

        def commit(seq: int) -> None:
            bare.execute("BEGIN IMMEDIATE")
            for table, size in (("one", 450), ("two", 550)):
                bare.execute(f"INSERT INTO {table} VALUES (?, ?)", (seq, "x" * size))
            bare.execute("COMMIT")

        with Ledger.init(os.path.join(folder, "ledger.db")) as ledger:
            appends, commits, records = [], [], []
            for number in range(ROUNDS + 20):
                event, draft = recorded(corpus.draft()), corpus.draft()
                appends.append(seconds(partial(append, ledger.store, [event])) * 1e3)
                commits.append(seconds(partial(commit, number)) * 1e3)
                records.append(seconds(partial(ledger.record, draft)) * 1e3)
        bare.close()
    ratio = quantile(appends[20:], 0.5) / quantile(commits[20:], 0.5)
    figures = [
        *spread("append", appends[20:], "ms", p50=4.0),
        *spread("bare commit of two rows", commits[20:], "ms"),
        Figure("append / bare commit", ratio, "x", 3.0),
        *spread("record, with near and conflicts", records[20:], "ms"),
    ]
    show("append", figures)


if __name__ == "__main__":
    main()
