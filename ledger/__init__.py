"""The append-only ledger of learnings.

Public names load on first use, because a recall hook pays for every import
on every prompt; `typing` alone would double the start of a hook.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HOMES = {
    "Ledger": "ledger.ledger",
    "Draft": "ledger.model",
    "Reader": "ledger.reader",
    "LedgerError": "ledger.errors",
}

__all__ = ["Draft", "Ledger", "LedgerError", "Reader"]


def __getattr__(name: str) -> "Any":
    """Load a public name from the module that holds it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ledger' has no attribute {name!r}")
    return getattr(__import__(_HOMES[name], fromlist=[name]), name)
