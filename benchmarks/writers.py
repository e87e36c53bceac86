"""Twenty processes that append to one file at once.

    python benchmarks/writers.py [--json]

Writers are forked from a parent that has imported and compiled everything, so
that appending is measured and not starting. Targets: no error, no fork in the
log, the worst append <= 1 s.
"""

import os
import tempfile
import time

from corpus import Corpus, append, recorded
from measure import Figure, show, spread

from ledger.store_sqlite import SqliteStore

WRITERS, APPENDS = 20, 50


def write(path: str, gate: int, out: int, seed: int) -> None:
    """Wait for the gate; append; say how long each append took."""
    corpus = Corpus(seed)
    store = SqliteStore(path, wait_s=60.0)
    os.write(out, b"ready\n")
    os.read(gate, 1)
    for _ in range(APPENDS):
        event = recorded(corpus.draft())
        begun = time.perf_counter()
        append(store, [event])
        os.write(out, f"{time.perf_counter() - begun:.6f}\n".encode())


def start(path: str, gate: int, opening: int, seed: int) -> tuple[int, int]:
    """Fork one writer; return its id and the pipe it speaks on."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = 1
    try:
        os.close(opening)
        write(path, gate, writing, seed)
        status = 0
    finally:
        os._exit(status)


def main() -> None:
    """Run them all; print waits, errors and forks."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ledger.db")
        store = SqliteStore(path, create=True)
        append(store, [recorded(Corpus().draft())])
        store.close()
        gate, opening = os.pipe()
        children = [start(path, gate, opening, seed) for seed in range(WRITERS)]
        pipes = [os.fdopen(pipe) for _, pipe in children]
        for pipe in pipes:
            pipe.readline()
        begun = time.perf_counter()
        os.close(opening)
        waits, errors = [], 0
        for (pid, _), pipe in zip(children, pipes, strict=True):
            waits += [float(line) * 1e3 for line in pipe]
            pipe.close()
            errors += os.waitpid(pid, 0)[1] != 0
        took = time.perf_counter() - begun
        store = SqliteStore(path)
        events, _, _, problems = store.find_problems()
        store.close()
    figures = [
        Figure("writers that failed", errors, "", 0),
        Figure("appends lost or doubled", abs(events - 1 - WRITERS * APPENDS), "", 0),
        Figure("forks and other faults of the chain", len(problems), "", 0),
        *spread("wait for one append", waits, "ms"),
        Figure("worst append", max(waits) / 1e3, "s", 1.0),
        Figure("appends together", len(waits) / took, "/s"),
    ]
    show("writers", figures)


if __name__ == "__main__":
    main()
