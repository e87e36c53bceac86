"""Queries over 10,000 and 100,000 learnings, in process.

    python benchmarks/query.py [--json] [--keep FOLDER]

Eight words each, drawn as words are in texts, so most of them stand in a good
part of all learnings. Half of the queries name a project. Targets: p95 <= 10 ms
at 10,000 and <= 30 ms at 100,000. `--keep` uses made ledgers again.
"""

import tempfile
import time

from corpus import PROJECTS, Corpus, ledger_of
from measure import Figure, kept, show, spread

from ledger.reader import Reader, open_reader

QUERIES = 300
SIZES = ((10_000, 10.0), (100_000, 30.0))


def asked(reader: Reader) -> tuple[list[float], int]:
    """Return how long each query took, in ms, and how many found something."""
    corpus = Corpus(3)
    for _ in range(20):
        reader.query(corpus.query())
    times, found = [], 0
    for number in range(QUERIES):
        text = corpus.query()
        project = PROJECTS[number % 3] if number % 2 else None
        begun = time.perf_counter()
        answer = reader.query(text, project=project)
        times.append((time.perf_counter() - begun) * 1e3)
        found += bool(answer.hits)
    return times, found


def main() -> None:
    """Ask at both sizes; print medians and tails."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for size, target in SIZES:
            with open_reader(ledger_of(kept(folder), size)) as reader:
                times, found = asked(reader)
            figures += spread(f"query at {size:,}", times, "ms", p95=target)
            figures.append(Figure(f"queries with a hit at {size:,}", found / QUERIES * 100, "%"))
    show("query", figures)


if __name__ == "__main__":
    main()
