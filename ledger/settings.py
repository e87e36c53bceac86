"""The settings there are, and what a value of each must look like.

Settings live in the ledger as events, so that they have a history and an undo;
a setting of one machine carries an opaque machine id.
"""

import json

from ledger.errors import BadArgument

SETTINGS = {
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
    if name == "project_aliases" and isinstance(found, dict):
        texts = [*found, *found.values()]
    elif name == "scan_paths" and isinstance(found, list):
        texts = found
    else:
        texts = [None]
    if not all(isinstance(item, str) and item for item in texts):
        raise BadArgument(f"this is no value of {name}; nothing was written", SETTINGS[name])
    return json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
