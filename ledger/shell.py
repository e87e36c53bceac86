"""Which notes a shell command may have written: `sed -i`, `cat >>` and `mv` name no path that a hook could be sure of.

Asked after the command, when it, or the folder it ran in, names a memory folder: notes
there and in the client's own memory folders that changed while it ran count as its. Too many
rather than too few: what an agent wrote must not pass for a person's edit, and a person's edit of
the same seconds is agent-written then, which is the lower trust.
Lean path: stdlib only.
"""

from __future__ import annotations

import os
import re
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

NAMED = "memory"
"""What the path of every memory folder holds: the client's `memory` and `agent-memory`."""

SLACK_S = 2.0
"""Seconds between the end of a command and its hook, on a busy machine."""

JUST_S = 60.0
"""How long a command is taken to have run when the client does not say (2.1.332 says it: `duration_ms`)."""

FILES_MAX, WORDS_MAX, NAME_CHARS = 5_000, 50, 4_096
"""Most notes that are looked at, and words of a command; 5,000 take about 15 ms."""

BREAKS = r"[\s'\"<>|;&()`=,{}]+"


def wrote(payload: Mapping[str, Any], home: str, now: float, own: str | None = None) -> list[str]:
    """Return the notes that changed while a command ran, each by its absolute path; none for one that names no memory.

    Args:
        payload: the client's event after a shell command.
        home: the home folder.
        now: when its hook began, in seconds since 1970.
        own: the client's folder, when it is not `.claude` in the home folder.
    """
    given, took, cwd = payload.get("tool_input"), payload.get("duration_ms"), payload.get("cwd")
    command = given.get("command") if isinstance(given, dict) else None
    folder = cwd if isinstance(cwd, str) and os.path.isabs(cwd) and "\0" not in cwd else ""
    if not isinstance(command, str) or NAMED not in f"{command}\n{folder}".lower():
        return []
    is_told = isinstance(took, int | float) and not isinstance(took, bool) and 0 <= took < 1e9
    since = now - SLACK_S - (took / 1_000 if is_told else JUST_S)  # type: ignore[operator]
    found: dict[str, None] = {}
    notes = _notes(command, folder, home, own or os.path.join(home, ".claude"))
    for path, _ in zip(notes, range(FILES_MAX), strict=False):
        if path not in found and _changed(path) >= since:
            found[path] = None
    return list(found)


def _notes(command: str, folder: str, home: str, own: str) -> Iterator[str]:
    """Yield notes that a command names, or that lie in a folder it names or ran in, or in the client's."""
    for path in _named(command, folder, home):
        if path.lower().endswith(".md"):
            yield path
        yield from _listed(path)
    if NAMED in folder.lower():
        yield from _listed(folder)
    for project in _folders(os.path.join(own, "projects")):
        yield from _listed(os.path.join(project, "memory"))
    for agent in _folders(os.path.join(own, "agent-memory")):
        yield from _listed(agent)


def _named(command: str, folder: str, home: str) -> Iterator[str]:
    """Yield the words of a command that name something in a memory folder, as paths."""
    told = [word for word in re.split(BREAKS, command[: 16 * NAME_CHARS]) if NAMED in word.lower() or ".md" in word]
    for word in told[:WORDS_MAX]:
        path = word.replace("${HOME}", home).replace("$HOME", home)
        path = home + path[1:] if path.startswith("~/") else path
        if len(path) <= NAME_CHARS and "\0" not in path and (folder or os.path.isabs(path)):
            path = os.path.normpath(os.path.join(folder, path))
            # What the shell makes of a pattern is in the folder it stands in.
            yield os.path.dirname(path) if any(sign in path for sign in "*?[") else path


def _folders(top: str) -> list[str]:
    try:
        with os.scandir(top) as listing:
            return sorted(entry.path for entry in listing if entry.is_dir())
    except (OSError, ValueError):
        return []


def _listed(folder: str) -> list[str]:
    """Return the notes of a folder; none when it is none."""
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.lower().endswith(".md"))
    except (OSError, ValueError):
        return []


def _changed(path: str) -> float:
    """Return when a regular file was written or got its name, which `mv` and `cp -p` keep out of the former; else 0."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return 0.0
    return max(found.st_mtime, found.st_ctime) if stat.S_ISREG(found.st_mode) else 0.0
