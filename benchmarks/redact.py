"""How long it takes to redact: 10 KB of documents and code, a first text in a new process, 1 MB of hostile text a rule.

usage: python benchmarks/redact.py [--hostile]
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import Figure, show

from ledger import redact, secret_rules
from ledger.model import schema_path

HOME = Path(__file__).resolve().parent.parent
PIECE = 10_240
HOSTILE, SWEPT, WORST = 1_000_000, 20_000, 8
"""Characters of a hostile text, of those that all rules are tried on first, and how many of these are tried long."""
ENDS = ("", "=", "9fA!x@qqqq ", "=otter!Raven22 x\n", " A1b2C3d4e5F6g7H8i9J0\n")
SECTIONS = ("prefixes", "shapes", "contexts", "commands")
START = (
    "import time as t; a = t.perf_counter(); from ledger import redact as r; r.scrub('x'); print(t.perf_counter() - a)"
)


def pieces() -> list[str]:
    """Return this project's own documents and code, 10 KB each."""
    files = sorted([*HOME.glob("docs/**/*.md"), *HOME.glob("ledger/*.py")])
    text = "\n".join(path.read_text("utf-8") for path in files)
    return [text[at : at + PIECE] for at in range(0, len(text) - PIECE, PIECE)]


def took(text: str) -> float:
    """Return the processor's milliseconds for one text."""
    begun = time.process_time()
    redact.scrub(text)
    return (time.process_time() - begun) * 1_000


def first() -> float:
    """Return the milliseconds of importing and of the first text in a new process; the least of five."""
    env = {**os.environ, "PYTHONPATH": str(HOME)}
    runs = [subprocess.run([sys.executable, "-c", START], capture_output=True, env=env, check=True) for _ in range(5)]
    return min(float(done.stdout) for done in runs) * 1_000


def hostile() -> list[tuple[float, str]]:
    """Return seconds for 1 MB of what took longest in the sweep, each under its own rule alone, the worst first."""
    swept = [(took(unit * (SWEPT // len(unit))), unit, rules) for unit, rules in units()]
    found = []
    for _, unit, rules in sorted(swept, key=lambda one: -one[0])[:WORST]:
        secret_rules._rules = rules
        found.append((took(unit * (HOSTILE // len(unit))) / 1_000, unit))
    secret_rules._rules = None
    return sorted(found, reverse=True)


def units() -> Iterator[tuple[str, secret_rules.Rules]]:
    """Yield what hostile texts are made of, with the one rule that is in force for each."""
    with open(schema_path(secret_rules.FILE), encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    for section in SECTIONS:
        for row in data[section]:
            one = data | {name: [row] if name == section else [] for name in SECTIONS}
            rules = secret_rules._rules = secret_rules.arranged(one)
            start = (row.get("after") or [""])[0] + (row.get("hints") or row["starts"])[-1]
            for end in ENDS:
                yield start + end, rules


def main() -> None:
    """Print the figures."""
    redact.scrub("warm")
    times = sorted(took(text) for text in pieces())
    figures = [
        Figure("10 KB, median", statistics.median(times), "ms", 2.0),
        Figure("10 KB, p95", times[int(0.95 * len(times))], "ms"),
        Figure("import and first text", first(), "ms"),
    ]
    if "--hostile" in sys.argv:
        figures += [Figure(f"1 MB of {unit!r}", spent, "s", 2.0) for spent, unit in hostile()]
    show("redact", figures)


if __name__ == "__main__":
    main()
