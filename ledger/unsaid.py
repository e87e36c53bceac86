"""What this process has noted as shown and has not said yet: a hook that ends itself too late takes it back.

Whoever remembers an exposure puts its id here first, when somebody listens (`begin`): the
process of a hook, which answers one event. A server tells by itself what came too late.
Lean path: stdlib only, and without `typing`.
"""

from __future__ import annotations

import os
import sqlite3

FILE = "exposures.db"
"""What `exposures.py` says too, whose imports cost more than a hook that is late has."""

FORGET = "DELETE FROM exposure WHERE id = ?"

WAIT_S = 0.05
"""Longest wait for another process that writes the file."""

_ids: list[str] | None = None


def begin() -> None:
    """Listen to what is noted from here on."""
    global _ids
    _ids = []


def noting(exposure: str) -> None:
    """Hear that an exposure is about to be remembered."""
    if _ids is not None:
        _ids.append(exposure)


def take_back(ledger: str) -> int:
    """Forget what was noted as shown, for nobody will see it; return how many rows went.

    What is not committed yet goes with the process.

    Raises:
        sqlite3.Error: the file is busy or cannot be used.
    """
    place = os.path.join(os.path.dirname(os.path.abspath(ledger)), FILE)
    if not _ids or not os.path.isfile(place):
        return 0
    file = sqlite3.connect(place, timeout=WAIT_S, isolation_level=None)
    try:
        return sum(file.execute(FORGET, (name,)).rowcount for name in _ids)
    finally:
        file.close()
