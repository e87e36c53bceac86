"""How fast learnings go in, and where the time goes.

    python benchmarks/store.py [--json]

`store.append` of ready drafts in batches of 500, and an import end to end: a
folder of generated notes read, guarded, planned and appended. Shares are of
time spent in each part itself, without what it calls. Targets: 2,500
learnings/s appended, 1,500/s imported.
"""

import os
import tempfile
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from corpus import Corpus, append, batches
from measure import Figure, show

from importers import plan, registry
from ledger import door, ingest, project, redact, screen, store, store_sqlite
from ledger.ledger import Ledger

APPENDED, NOTES, ROUNDS = 10_000, 3_000, 3


class Shares:
    """Time by part of the program: while a part runs, the one that called it stands still."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._running: list[str] = []
        self._since = 0.0
        self._kept: list[tuple[Any, str, Any]] = []

    def watch(self, part: str, owner: Any, name: str) -> None:
        """Count the time in a function of a module or class to `part`."""
        whole = getattr(owner, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            self._turn()
            self._running.append(part)
            try:
                return whole(*arguments, **named)
            finally:
                self._turn()
                self._running.pop()

        self._kept.append((owner, name, whole))
        setattr(owner, name, watched)

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._running:
            part = self._running[-1]
            self.spent[part] = self.spent.get(part, 0.0) + now - self._since
        self._since = now

    def __enter__(self) -> "Shares":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for owner, name, whole in reversed(self._kept):
            setattr(owner, name, whole)


def write_notes(folder: str) -> None:
    """Write a memory folder of generated notes, with an index as the client keeps one."""
    corpus = Corpus(2)
    index = ["# Memory index", ""]
    for number in range(NOTES):
        name = f"note_{number:05}.md"
        kind = ("feedback", "project", "reference", "user")[number % 4]
        text = (
            f"---\nname: {corpus.text(4)[:-1].lower()} {number}\ndescription: {corpus.text(12)[:-1]}\ntype: {kind}\n"
            "---\n\n"
            f"{corpus.text(25)}\n\n**Why:** {corpus.text(12)}\n\n**How to apply:** {corpus.text(15)}\n"
        )
        index.append(f"- [{number}]({name}): {corpus.text(6)}")
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(folder, "MEMORY.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(index[:150]) + "\n")


def appended(folder: str) -> float:
    """Return how many ready drafts a second `store.append` takes."""
    given = list(batches(Corpus(), APPENDED))
    opened = store_sqlite.SqliteStore(os.path.join(folder, "append.db"), create=True)
    begun = time.perf_counter()
    for batch in given:
        append(opened, batch)
    took = time.perf_counter() - begun
    opened.close()
    os.unlink(opened.path)
    os.unlink(opened.path + ".anchor")
    return APPENDED / took


def imported(folder: str, notes: str, watch: Callable[[Shares], None]) -> tuple[float, dict[str, float]]:
    """Return learnings a second from a folder of notes to the last commit, and the shares of that time."""
    with Shares() as shares, Ledger.init(os.path.join(folder, "import.db")) as ledger:
        watch(shares)
        begun = time.perf_counter()
        readings = registry.scan_paths([notes], "demo")
        done = [ingest.run(ledger, reading, plan.plan, plan.vanished) for reading in readings]
        took = time.perf_counter() - begun
    os.unlink(ledger.path)
    os.unlink(ledger.path + ".anchor")
    made = sum(one.recorded + one.quarantined + one.proposed for one in done)
    return made / took, {part: spent / took for part, spent in shares.spent.items()}


def parts(shares: Shares) -> None:
    """Watch every step between a file and its row."""
    for part, owner, name in (
        ("parse", registry, "scan_paths"),
        ("redact", redact, "scrub"),
        ("screen", screen, "screen"),
        ("caps", door, "draft"),
        ("plan", ingest._Import, "_planned"),
        ("decide", ingest._Import, "_add"),
        ("validate", store, "validate"),
        ("seal", store, "seal"),
        ("insert", store.Log, "_insert"),
        ("project", project.Projector, "apply"),
        ("count words", store_sqlite.SqliteStore, "refresh_counts"),
        ("lock, commit, anchor", store_sqlite.SqliteStore, "_write"),
    ):
        shares.watch(part, owner, name)


def main() -> None:
    """Run each a few times; print the best and the median, and the shares of the best."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as notes:
        write_notes(notes)
        imported(folder, notes, lambda _: None)
        appends = sorted(appended(folder) for _ in range(ROUNDS))
        imports = sorted(imported(folder, notes, lambda _: None)[0] for _ in range(ROUNDS))
        _, shares = imported(folder, notes, parts)
    figures = [
        Figure("appended, median", appends[ROUNDS // 2], "/s", 2_500, more=True),
        Figure("appended, best", appends[-1], "/s"),
        Figure("imported end to end, median", imports[ROUNDS // 2], "/s", 1_500, more=True),
        Figure("imported end to end, best", imports[-1], "/s"),
        *(Figure(f"share of {part}", share * 100, "%") for part, share in shares.items()),
        Figure("share of the rest", (1 - sum(shares.values())) * 100, "%"),
    ]
    show("store", figures)


if __name__ == "__main__":
    main()
