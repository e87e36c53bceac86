"""How long a whole database of claude-mem takes, and what it costs in memory.

    python benchmarks/claude_mem.py [--json]

A database of 50,000 observations in the manner of its newest schema, read from
its copy, guarded, planned and appended; then imported again, which adds
nothing. Target: 30 s.
"""

import os
import sqlite3
import tempfile
import time

from corpus import Corpus
from measure import Figure, peak_mb, show

from importers import plan, registry
from ledger import ingest
from ledger.ledger import Ledger

MANY = 50_000
COLUMNS = "memory_session_id, project, type, title, subtitle, facts, narrative, concepts, created_at, created_at_epoch"
KINDS = ("bugfix", "decision", "discovery", "change", "feature")


def write(path: str) -> None:
    """Write the database: some 1.2 kB an observation, the usual twenty a session."""
    corpus = Corpus(6)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE, applied_at TEXT)")
    connection.execute("INSERT INTO schema_versions (version) VALUES (52)")
    texts = COLUMNS.replace("created_at_epoch", "created_at_epoch INTEGER")
    connection.execute(f"CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, {texts})")
    connection.execute("BEGIN")
    for number in range(MANY):
        row = (
            f"session-{number // 20:06}", f"project-{number % 7}", KINDS[number % 5], f"{corpus.text(8)} {number}",
            corpus.text(10), f'["{corpus.text(12)}", "{corpus.text(14)}"]', corpus.text(60), '["gotcha"]', None,
            1_780_000_000_000 + number * 60_000,
        )  # fmt: skip
        connection.execute(f"INSERT INTO observations ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.execute("COMMIT")
    connection.close()


def imported(ledger: Ledger, path: str) -> tuple[float, float, int]:
    """Import the database; return the seconds of reading it, of all, and how many learnings came of it."""
    begun = time.perf_counter()
    readings = registry.scan_paths([path])
    read = time.perf_counter() - begun
    done = [ingest.run(ledger, reading, plan.plan, plan.vanished) for reading in readings]
    return read, time.perf_counter() - begun, sum(one.recorded + one.quarantined for one in done)


def main() -> None:
    """Make it, import it twice, and say what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "claude-mem.db")
        write(path)
        size = os.path.getsize(path) / 2**20
        with Ledger.init(os.path.join(folder, "ledger.db")) as ledger:
            read, whole, made = imported(ledger, path)
            _, again, more = imported(ledger, path)
    figures = [
        Figure("size of the database", size, "MB"),
        Figure("learnings", made, "", MANY, more=True),
        Figure("read", read, "s"),
        Figure("imported end to end", whole, "s", 30),
        Figure("imported again", again, "s"),
        Figure("learnings of the second import", more, "", 0),
        Figure("peak memory", peak_mb(), "MB"),
    ]
    show("claude_mem", figures)


if __name__ == "__main__":
    main()
