"""A watcher of many notes: from a change on disk to the answer of a query, and what it costs while nothing happens.

    python benchmarks/watch.py [--notes 400] [--changes 40] [--idle 60]

A home with that many notes in ten projects; a note is changed, by rename as agents do and in place in turns, and
queried until the answer says what it says now. Then nothing is touched, and the processor time of the watcher is read.
Targets: p95 <= 1 s; about 0 s of processor time in 60 s; threads and files as at the start.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ledger.reader import open_reader

TEXT = "Use port {port} for the service {name}.\n\n**Why:** the pooler of {name} was moved in round {round}.\n"
LOOK_S = 0.01


def main() -> None:
    """Measure and print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("notes", 400), ("changes", 40), ("idle", 60)):
        parser.add_argument(f"--{name}", type=int, default=number)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        notes = made(home, given.notes)
        env = {**os.environ, "HOME": folder, "LEARNINGS_FILE": str(home / "data" / "ledger.db")}
        begun = time.perf_counter()
        watcher = subprocess.Popen(
            [sys.executable, "-m", "ledger.cli", "watch"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            ready(watcher)
            print(f"first scan of {given.notes:,} notes: {time.perf_counter() - begun:.1f} s")
            before = held(watcher.pid)
            took = sorted(changed(home, notes[number % len(notes)], number) for number in range(given.changes))
            p95 = took[min(len(took) - 1, int(0.95 * len(took)))]
            print(f"change to answer, {given.changes} changes: p50 {statistics.median(took):.2f} s, p95 {p95:.2f} s")
            print(f"threads, files, MB: {before} at the start, {held(watcher.pid)} after")
            spent = cpu_s(watcher.pid)
            time.sleep(given.idle)
            print(f"processor time in {given.idle} s of rest: {cpu_s(watcher.pid) - spent:.2f} s")
        finally:
            begun = time.perf_counter()
            watcher.terminate()
            watcher.wait()
            print(f"stopped after {time.perf_counter() - begun:.2f} s")


def made(home: Path, many: int) -> list[Path]:
    """Write the notes."""
    found = []
    for number in range(many):
        path = home / ".claude" / "projects" / f"-p{number % 10}" / "memory" / f"note{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT.format(port=number, name=f"svc{number}", round=0))
        found.append(path)
    return found


def ready(watcher: "subprocess.Popen[bytes]") -> None:
    """Wait until the first scan is done."""
    assert watcher.stderr is not None
    while b"watching " not in (line := watcher.stderr.readline()):
        assert line, "the watcher has ended"


def changed(home: Path, path: Path, number: int) -> float:
    """Change a note and return after how many seconds a query answers what it says now."""
    name, port = f"svc{path.stem[4:]}", 20_000 + number
    text = TEXT.format(port=port, name=name, round=number + 1)
    if number % 2:
        path.write_text(text)
    else:
        path.with_suffix(".tmp").write_text(text)
        os.replace(path.with_suffix(".tmp"), path)
    begun = time.perf_counter()
    while True:
        with open_reader(str(home / "data" / "ledger.db")) as reader:
            answer = reader.query(f"which port for the service {name}", limit=3)
        if any(str(port) in hit.solution for hit in answer.hits):
            return time.perf_counter() - begun
        assert time.perf_counter() - begun < 30, "it never came"
        time.sleep(LOOK_S)


def held(pid: int) -> tuple[int, int, int]:
    """Return threads, open files and resident megabytes of a process (Linux)."""
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    return int(status["Threads"]), len(os.listdir(f"/proc/{pid}/fd")), int(status["VmRSS"].split()[0]) // 1024


def cpu_s(pid: int) -> float:
    """Return the processor time of a process and its threads so far (Linux)."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
