"""How fast transcripts are read and kept, and in how much memory.

    python benchmarks/transcripts.py [--mb N] [--shape full|tools] [--json]

A transcript of 1,000 MB (`--mb`) is made, in the shape of `made_transcripts.py`,
and then read in processes of their own, each timed by the processor time it
took: as turns alone; as an import reads it, turns into the session index and
learnings made of them; and again, when nothing has changed. Targets: 250 MB/s,
100 MB/s, 150 MB; `tools` has none, most of it being text that has to be scrubbed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import made_transcripts
from measure import Figure, peak_mb, show


def wanted(name: str, otherwise: str) -> str:
    """Return the word after an option on the command line."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def parse(path: str, folder: str) -> dict[str, float]:
    """Read turns and make nothing of them."""
    from importers.transcript import opened

    begun = time.process_time()
    with opened(path) as found:
        turns = sum(1 for _ in found)
    return {"turns": turns, "s": time.process_time() - begun}


def imported(path: str, folder: str) -> dict[str, float]:
    """Read turns into the index, and make learnings of them as an import does, up to where they are recorded."""
    from importers.projects import session_project
    from importers.registry import scan_paths
    from importers.transcript import into
    from ledger.turns_add import Book

    begun = time.process_time()
    with Book(os.path.join(folder, "ledger.db"), session_project, time.time()) as book:
        with into(book):
            readings = scan_paths([path])
        book.settle()
    drafts = sum(len(one.drafts) for one in readings)
    return {"turns": book.added, "drafts": drafts, "s": time.process_time() - begun}


PARTS = {"parse": parse, "import": imported}


def measured(part: str, path: str, folder: str) -> dict[str, float]:
    """Run one part in a process of its own."""
    line = [sys.executable, os.path.abspath(__file__), "--part", part, path, folder]
    found: dict[str, float] = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    return found


def main() -> None:
    """Make the file and measure, or be one of the parts."""
    if "--part" in sys.argv:
        part, path, folder = sys.argv[-3:]
        print(json.dumps(PARTS[part](path, folder) | {"peak": peak_mb()}))
        return
    shape, size = wanted("--shape", "full"), int(wanted("--mb", "1000")) * 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.jsonl")
        with open(path, "wb") as file:
            made_transcripts.write(file, size, shape)
        mb = os.path.getsize(path) / 1e6
        read, kept, again = (measured(part, path, folder) for part in ("parse", "import", "import"))
        index = os.path.getsize(os.path.join(folder, "turns.db")) / 1e6
    is_full = shape == "full"
    show(f"transcripts ({shape}, {mb:,.0f} MB)", [
        Figure("read as turns", mb / read["s"], "MB/s", 250 if is_full else None, more=True),
        Figure("imported with the session index", mb / kept["s"], "MB/s", 100 if is_full else None, more=True),
        Figure("turns kept", kept["turns"]), Figure("learnings made", kept["drafts"]),
        Figure("session index", index, "MB"),
        Figure("imported again, unchanged", again["s"], "s"),
        Figure("peak memory of reading", read["peak"], "MB", 150),
        Figure("peak memory of the import", kept["peak"], "MB", 150),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
