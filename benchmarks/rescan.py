"""How long `learnings scan` takes when nothing has changed.

    python benchmarks/rescan.py [--json]

10,000 notes in the memory folders of 20 projects, scanned once and then again
and again: whole processes, from their start to their end, and the same without
the start of a process. Then 10,000 transcripts of as many projects, whole
processes alone. Target: 1 s for the whole process, median, of each.
"""

import os
import subprocess
import sys
import tempfile
import time

import made_transcripts
from corpus import Corpus
from measure import Figure, peak_mb, quantile, show

from importers import plan, registry
from ledger import ingest
from ledger.ledger import Ledger

NOTES, PROJECTS, ROUNDS = 10_000, 20, 5
SCAN = "import sys; from ledger.cli import main; sys.exit(main(['scan', '--file', sys.argv[1], '--json']))"


def write(home: str) -> None:
    """Write a home with memory folders, each with an index and a transcript that tells its project."""
    corpus = Corpus(3)
    for project in range(PROJECTS):
        folder = os.path.join(home, ".claude", "projects", f"-work-{project}")
        os.makedirs(os.path.join(folder, "memory"))
        with open(os.path.join(folder, "s.jsonl"), "w", encoding="utf-8") as file:
            file.write(f'{{"type":"user","cwd":"/srv/{project}"}}\n')
        for number in range(NOTES // PROJECTS - 1):
            with open(os.path.join(folder, "memory", f"note_{number}.md"), "w", encoding="utf-8") as file:
                about = f"{corpus.text(4)[:-1].lower()} {number}"
                head = f"---\nname: {about}\ndescription: {corpus.text(12)[:-1]}\ntype: feedback\n---\n\n"
                file.write(f"{head}{corpus.text(25)}\n\n**Why:** {corpus.text(12)}\n")
        with open(os.path.join(folder, "memory", "MEMORY.md"), "w", encoding="utf-8") as file:
            file.write("# Index\n\n" + "\n".join(f"- [{n}](note_{n}.md): {corpus.text(6)}" for n in range(150)) + "\n")


def write_transcripts(home: str) -> None:
    """Write a home with transcripts of three lines each."""
    lines = made_transcripts.Sessions("tools").lines()
    for number in range(NOTES):
        folder = os.path.join(home, ".claude", "projects", f"-work-{number % PROJECTS}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{number:08x}-1111-4000-8000-000000000001.jsonl"), "wb") as file:
            file.write(next(lines) + next(lines) + next(lines))


def scanned(path: str, home: str) -> float:
    """Return the seconds of a scan in this process."""
    begun = time.perf_counter()
    with Ledger.init(path) as ledger:
        seen = ingest.seen_by(ledger)
        for reading in registry.scan_paths(registry.default_places(home), home=home, seen=seen):
            ingest.run(ledger, reading, plan.plan, plan.vanished, seen=seen)
        seen.save()
    return time.perf_counter() - begun


def in_a_process(path: str, home: str) -> float:
    """Return the seconds of `learnings scan` as a whole process."""
    begun = time.perf_counter()
    environment = {**os.environ, "HOME": home}
    subprocess.run([sys.executable, "-c", SCAN, path], env=environment, stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Scan once, then time what a scan costs that finds nothing new."""
    with tempfile.TemporaryDirectory() as home:
        write(home)
        path = os.path.join(home, "ledger.db")
        first = scanned(path, home)
        second = scanned(path, home)  # compares the texts of what was written within two seconds of the first
        within = [scanned(path, home) for _ in range(ROUNDS)]
        whole = [in_a_process(path, home) for _ in range(ROUNDS)]
    with tempfile.TemporaryDirectory() as home:
        write_transcripts(home)
        path = os.path.join(home, "ledger.db")
        sessions = [in_a_process(path, home) for _ in range(ROUNDS + 2)][2:]
    figures = [
        Figure("notes", NOTES, ""),
        Figure("first scan", first, "s"),
        Figure("second scan", second, "s"),
        Figure("rescan in process, median", quantile(within, 0.5), "s"),
        Figure("learnings scan, median", quantile(whole, 0.5), "s", 1),
        Figure("learnings scan, most", max(whole), "s"),
        Figure("of transcripts, median", quantile(sessions, 0.5), "s", 1),
        Figure("of transcripts, most", max(sessions), "s"),
        Figure("peak memory", peak_mb(), "MB"),
    ]
    show("rescan", figures)


if __name__ == "__main__":
    main()
