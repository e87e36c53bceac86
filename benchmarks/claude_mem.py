"""How long a whole database of claude-mem takes, and what it costs in memory.

    python benchmarks/claude_mem.py [--json] [--many N]

A database of 50,000 observations in the shape of its newest schema (52), read from
its copy, guarded, planned and appended; then imported three times more, which adds
nothing, and three times with one row more each, as somebody who watches it does. It
says sentences of the standard library's documentation, in any order, with paths, ports
and commits that are each another. Targets: 30 s and 150 MB; 5 s of processor time with one row more.
"""

import ast
import json
import multiprocessing
import os
import random
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from measure import Figure, peak_mb, show

from importers import plan, registry
from ledger import ingest
from ledger.ledger import Ledger

MANY = int(sys.argv[sys.argv.index("--many") + 1]) if "--many" in sys.argv else 50_000
KINDS = ("bugfix", "decision", "discovery", "change", "feature", "refactor")
DDL = """CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0,
content_hash TEXT, agent_type TEXT, agent_id TEXT, merged_into_project TEXT, generated_by_model TEXT, metadata TEXT,
relevance_count INTEGER DEFAULT 0, synced_at INTEGER, origin_device_id TEXT, origin_local_id INTEGER, sync_rev TEXT,
created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL, UNIQUE(memory_session_id, content_hash))"""
PUT = """INSERT INTO observations (memory_session_id, project, type, title, subtitle, facts, narrative, concepts,
files_read, files_modified, prompt_number, content_hash, created_at, created_at_epoch)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
PACKAGES = ("asyncio", "concurrent", "email", "http", "importlib", "json", "logging", "multiprocessing", "unittest")
MODULES = ("argparse", "configparser", "dataclasses", "shutil", "socket", "subprocess", "tarfile", "threading")
"""Parts of the standard library whose documentation says the sentences: prose about code that others wrote."""


def sentences() -> list[str]:
    """Return sentences that tell developers about code, each once."""
    home = Path(os.__file__).parent
    files = [path for name in PACKAGES for path in sorted((home / name).rglob("*.py"))]
    found: dict[str, None] = {}
    for path in (*files, *(home / f"{name}.py" for name in MODULES)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Module):
                said = " ".join((ast.get_docstring(node) or "").split())
                found.update((one, None) for one in re.split(r"(?<=[.!]) (?=[A-Z])", said) if 40 <= len(one) <= 240)
    return list(found)


def rows() -> Iterator[tuple[object, ...]]:
    """Yield observations, the usual twenty a session, about 1.2 kB each."""
    said, draw = sentences(), random.Random(6)
    for number in range(MANY):
        path = f"src/part{draw.randrange(900)}/file_{draw.randrange(4000)}.py"
        port, commit = draw.randrange(65_536), f"{draw.getrandbits(28):07x}"
        title = f"{' '.join(draw.choice(said).split()[:9])} in {path.rsplit('/', 1)[1]} ({number})"
        facts = [f"{path} listens on port {port}", f"fixed in commit {commit}", *draw.sample(said, 2)]
        narrative = f"{' '.join(draw.sample(said, 4))} See `{path}:{draw.randrange(900)}`."
        at = 1_780_000_000_000 + number * 60_000
        yield (
            f"{number // 20:08x}-1111-4000-8000-000000000001", f"project-{number % 7}", KINDS[number % 6], title,
            draw.choice(said), json.dumps(facts), narrative, '["gotcha", "how-it-works"]', json.dumps([path]), "[]",
            number % 20, f"{number:016x}", time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at // 1_000)), at,
        )  # fmt: skip


def write(path: str) -> None:
    """Write the database."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE, applied_at TEXT)")
    connection.execute("INSERT INTO schema_versions (version) VALUES (52)")
    connection.execute(DDL)
    connection.execute("BEGIN")
    connection.executemany(PUT, rows())
    connection.execute("COMMIT")
    connection.close()


def imported(ledger: Ledger, path: str) -> tuple[float, float, int]:
    """Import the database as the command does; return the seconds of reading it, of all, and how many learnings came
    of it."""
    begun = time.perf_counter()
    seen = ingest.seen_by(ledger)
    readings = registry.scan_paths([path], seen=seen)
    read = time.perf_counter() - begun
    done = [ingest.run(ledger, reading, plan.plan, plan.vanished, seen=seen) for reading in readings]
    seen.save()
    return read, time.perf_counter() - begun, sum(one.recorded + one.quarantined for one in done)


def add_row(path: str, number: int) -> None:
    """Let the other tool write one more observation."""
    row = ("one-more", "project-1", "bugfix", f"A worker hangs ({number})", "", "[]", f"Port {number} was taken.", "[]",
           "[]", "[]", 1, f"more-{number}", "2026-11-30T00:00:00.000Z", 1_796_000_000_000 + number)  # fmt: skip
    connection = sqlite3.connect(path)
    connection.execute(PUT, row)
    connection.commit()
    connection.close()


def with_one_more(ledger: Ledger, path: str, number: int) -> tuple[float, float, int]:
    """Import the database after one more row was written; see `imported`, but for the second: it is processor time."""
    add_row(path, number)
    begun = time.process_time()
    read, _, made = imported(ledger, path)
    return read, time.process_time() - begun, made


def main() -> None:
    """Make it, import it twice, and say what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "claude-mem.db")
        made_by = multiprocessing.get_context("spawn").Process(target=write, args=(path,))
        made_by.start()  # what writing it takes is not held by the process that is measured
        made_by.join()
        size = os.path.getsize(path) / 2**20
        with Ledger.init(os.path.join(folder, "ledger.db")) as ledger:
            read, whole, made = imported(ledger, path)
            peak = peak_mb()
            again = [imported(ledger, path) for _ in range(3)]
            more = [with_one_more(ledger, path, number) for number in range(3)]
    figures = [
        Figure("size of the database", size, "MB"),
        Figure("learnings", made, "", MANY, more=True),
        Figure("read", read, "s"),
        Figure("imported end to end", whole, "s", 30),
        Figure("imported again, median of three", sorted(one[1] for one in again)[1], "s"),
        Figure("learnings of three more imports", sum(one[2] for one in again), "", 0),
        Figure("with one row more, processor time, median of three", sorted(one[1] for one in more)[1], "s", 5),
        Figure("learnings of those", sum(one[2] for one in more), "", 3),
        Figure("peak memory of the first import", peak, "MB", 150),
        Figure("peak memory", peak_mb(), "MB"),
    ]
    show("claude_mem", figures)


if __name__ == "__main__":
    main()
