"""Where the ledger is unless somebody says otherwise.

Apart from `place.py`, because a hook needs this and no more. Lean path.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def default_file(env: Mapping[str, str], platform: str) -> str:
    """Return where the ledger is unless `--file` says otherwise.

    `LEARNINGS_FILE`, else `ledger.db` in the folder `learnings` of the place where
    the platform keeps data.
    """
    if env.get("LEARNINGS_FILE"):
        return env["LEARNINGS_FILE"]
    home = os.path.expanduser("~")
    if platform == "win32":
        base = env.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        base = env.get("XDG_DATA_HOME", "")
        base = base if os.path.isabs(base) else os.path.join(home, ".local", "share")
    return os.path.join(base, "learnings", "ledger.db")
