"""Interim: replaced by the worker that builds the screen."""

from typing import NamedTuple


class Finding(NamedTuple):
    """See the final module."""

    rule: str
    severity: str
    reason: str


def screen(text: str) -> tuple[Finding, ...]:
    """Keep everything for now."""
    return ()
