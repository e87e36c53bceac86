"""What every benchmark shares: figures with their targets, and how they are shown."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """One measured number; `target` is met at or below it, or at or above it when `more` is better."""

    name: str
    value: float
    unit: str = ""
    target: float | None = None
    more: bool = False

    @property
    def verdict(self) -> str:
        """Return met, missed, or nothing where there is no target."""
        if self.target is None:
            return ""
        return "met" if (self.value >= self.target if self.more else self.value <= self.target) else "missed"

    @property
    def asked(self) -> str:
        """Return the target as a person reads it."""
        return "" if self.target is None else f"{'>=' if self.more else '<='} {self.target:g}"


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of them lie, 0 to 1."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def spread(
    name: str, values: Sequence[float], unit: str, p50: float | None = None, p95: float | None = None
) -> list[Figure]:
    """Return median, p95, least and most of some values, with targets for the first two."""
    return [
        Figure(f"{name} p50", quantile(values, 0.5), unit, p50),
        Figure(f"{name} p95", quantile(values, 0.95), unit, p95),
        Figure(f"{name} min", min(values), unit),
        Figure(f"{name} max", max(values), unit),
    ]


def seconds(act: Callable[[], object]) -> float:
    """Return how long `act` took."""
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def peak_mb() -> float:
    """Return the most memory this process has held so far.

    From `/proc` where there is one: `ru_maxrss` begins with what the parent held.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1_024 for line in status if line.startswith("VmHWM"))
    except FileNotFoundError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print figures as lines of JSON with `--json` on the command line, else as a table."""
    if "--json" in sys.argv:
        for figure in figures:
            print(json.dumps({"benchmark": title} | figure._asdict() | {"verdict": figure.verdict}), flush=True)
        return
    print(title)
    for figure in figures:
        print(f"  {figure.name:44}{figure.value:12,.2f} {figure.unit:8}{figure.asked:>10}  {figure.verdict}")


def kept(folder: str) -> str:
    """Return the folder given by `--keep`, else `folder`."""
    return sys.argv[sys.argv.index("--keep") + 1] if "--keep" in sys.argv else folder
