"""Turn what speaks for a candidate into one probability, with numbers that a script fitted.

`ledger_schema/gate.v1.json` holds a weight for each number of `evidence.py`, and
for some squares and products of them, for a ledger with meaning vectors and for
one without. `evals/calibrate.py` fits and writes them; three thresholds are set there by hand.
Lean path: stdlib only.
"""

import json
import math
from collections.abc import Mapping
from typing import NamedTuple

from ledger.errors import GuardFailed
from ledger.model import schema_path

FILE = "gate.v1.json"


class Numbers(NamedTuple):
    """One fitted model: a weight by term, `a` or `a*b`, and the bias."""

    weights: tuple[tuple[tuple[str, ...], float], ...]
    bias: float

    def probability(self, told: Mapping[str, float]) -> float:
        """Return how likely a candidate with these numbers is what was meant, 0 to 1.

        Raises:
            GuardFailed: a weight is of a number that no candidate has.
        """
        total = self.bias
        try:
            for names, weight in self.weights:
                value = weight
                for name in names:
                    value *= told[name]
                total += value
        except KeyError as error:
            raise _broken(error) from None
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, total))))


class Gate(NamedTuple):
    """The file as it was read: a candidate passes from a probability on, and from a share of the best one's."""

    version: str
    both: Numbers
    words: Numbers
    show_from: float
    show_from_words: float
    share_of_best: float


_read: list[Gate] = []


def gate() -> Gate:
    """Return the gate of this installation, read once.

    Raises:
        GuardFailed: it is missing, or is not what this program reads.
    """
    if not _read:
        try:
            with open(schema_path(FILE), encoding="utf-8") as file:
                _read.append(parsed(json.load(file)))
        except Exception as error:  # noqa: BLE001 - whatever it holds, it is not the gate
            raise _broken(error) from None
    return _read[0]


def _broken(error: Exception) -> GuardFailed:
    """Return the error of a gate that cannot be used."""
    return GuardFailed(
        f"the numbers of the gate, {FILE}, cannot be used ({type(error).__name__})",
        "nothing is shown without them, and a query goes by words alone; install the program anew",
    )


def use(other: Gate) -> None:
    """Make this the gate of the process, as calibration does."""
    _read[:] = [other]


def parsed(told: Mapping[str, object]) -> Gate:
    """Return a gate from what its file holds."""
    floats = {name: _number(told[name]) for name in ("show_from", "show_from_words", "share_of_best")}
    return Gate(str(told["version"]), numbers(told["both"]), numbers(told["words"]), **floats)


def numbers(told: object) -> Numbers:
    """Return one model from its part of the file."""
    assert isinstance(told, dict)
    weights = tuple((tuple(str(term).split("*")), _number(weight)) for term, weight in told["weights"].items())
    return Numbers(weights, _number(told["bias"]))


def _number(told: object) -> float:
    """Return a number that can be reckoned with.

    Raises:
        ValueError: it is none, or none that is finite.
    """
    found = float(str(told))
    if not math.isfinite(found):
        raise ValueError("not finite")
    return found
