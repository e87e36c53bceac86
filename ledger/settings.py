"""The settings there are, and what a value of each must look like.

Settings live in the ledger as events, so that they have a history and an undo;
a setting of one machine carries an opaque machine id.
"""

import json
from collections.abc import Iterable, Sequence

from ledger.errors import BadArgument

EXPOSURE_DAYS = 90
"""Days after which what a prompt was shown is forgotten, unless the setting says otherwise."""

DAYS_MAX = 3_650
"""Most days of that setting."""

SETTINGS = {
    "exposure_days": f"days after which exposures are forgotten, 1 to {DAYS_MAX:,} (default {EXPOSURE_DAYS})",
    "project_aliases": 'other names of projects, as JSON: {"old-name": "name"}',
    "scan_paths": 'more places that `learnings scan` reads, as JSON: ["/path"] (keep it to one machine)',
}
"""Every setting, with what it is for."""


def check_setting(name: str, value: str) -> str:
    """Return `value` in its one canonical form.

    Raises:
        BadArgument: there is no such setting, or this is not a value of it.
    """
    if name not in SETTINGS:
        raise BadArgument("there is no such setting; nothing was written", "the settings are: " + ", ".join(SETTINGS))
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if name == "exposure_days" and type(found) is int and 1 <= found <= DAYS_MAX:
        return str(found)
    if name == "project_aliases" and isinstance(found, dict):
        texts = [*found, *found.values()]
    elif name == "scan_paths" and isinstance(found, list):
        texts = found
    else:
        texts = [None]
    if not all(isinstance(item, str) and item for item in texts):
        raise BadArgument(f"this is no value of {name}; nothing was written", SETTINGS[name])
    return json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def exposure_days(found: Iterable[Sequence[str]], machine: str | None) -> int:
    """Return how long exposures are kept, from rows of `sql.SETTINGS`: this machine's value, else the ledger's."""
    days = {
        other or "": int(value) for name, scope, other, value in found
        if name == "exposure_days" and value.isdecimal() and (scope == "ledger" or other == machine)
    }  # fmt: skip
    return days.get(machine or "", days.get("", EXPOSURE_DAYS))
