"""Where the ledger is unless somebody says otherwise, and which machine this is.

Apart from `place.py`, because a hook needs this and no more. Lean path.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

POINTER_BYTES = 4_096
"""Most that is read of a file that holds one line."""


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


def client_folder(home: str) -> str:
    """Return where Claude Code keeps its own files: this process's user may have named another place."""
    named = os.environ.get("CLAUDE_CONFIG_DIR", "")
    return named if named and home == os.path.expanduser("~") else os.path.join(home, ".claude")


def working_folder() -> str:
    """Return the folder this process works in; the file system's root, which is nobody's project, when that is gone."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)


def is_adrift() -> bool:
    """Tell whether the folder this process works in is gone, so that no path from there leads anywhere."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False


def uri_to_read(path: str, *, is_at_rest: bool | None = None) -> str:
    """Return the address by which SQLite opens a ledger that is only read.

    In WAL mode SQLite makes a file beside it even to read, which it cannot on a
    disk that is mounted read-only or in a folder that this user may not write:
    there the file is opened as one that cannot change. What a journal or -wal
    holds is not in the file, so that one with either is opened as usual.

    Args:
        is_at_rest: that nobody writes to it, where the caller knows; None looks.
    """
    stands = _is_at_rest(path) if is_at_rest is None else is_at_rest
    mode = "mode=ro&immutable=1" if stands else "mode=rw"
    return f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?{mode}"


def _is_at_rest(path: str) -> bool:
    """Tell whether nobody can be writing this file as far as this user can tell, and it is whole by itself."""
    try:
        is_frozen = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):
        return False
    if not is_frozen and (os.access(os.path.dirname(path) or os.curdir, os.W_OK) or not _is_wal(path)):
        return False
    return is_whole(path)


def is_whole(path: str) -> bool:
    """Tell whether nothing of a database stands in a journal or -wal beside it; an empty one holds nothing."""
    for ending in ("-wal", "-journal"):
        try:
            if os.stat(path + ending).st_size:
                return False
        except OSError:
            continue
    return True


def _is_wal(path: str) -> bool:
    """Tell whether a database file says that its journal is a write-ahead log (bytes 18 and 19 of its header)."""
    try:
        with open(path, "rb") as file:
            return file.read(20)[18:] == b"\x02\x02"
    except OSError:
        return False


def machine_of(path: str) -> str | None:
    """Return the opaque id of this machine beside a ledger file, None when it has none yet (`place.machine_id`)."""
    found = head_text(path + ".machine", 100).strip()
    return found if len(found) == 32 and found.isalnum() else None


def head_text(path: str, size: int = POINTER_BYTES) -> str:
    """Return the beginning of a small file as text, '' when it cannot be read; no link is followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(path, flags)
    except (OSError, ValueError):
        return ""
    try:
        return os.read(fd, size).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
