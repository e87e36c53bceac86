"""Find the transcripts of a session's subagents: in a folder of the session, or beside it in the older layout.

`<session>.jsonl` has its subagents in `<session>/subagents/agent-….jsonl`; up to
clients of 2025 they stood beside it, and only their lines say whose they are.
"""

import os
import re

from importers.files import Unread, read_head

HEAD_BYTES = 4_096
"""How much of an older subagent's transcript is looked at for the name of its session."""

ASIDES_MAX = 5_000
"""Most transcripts of subagents that are looked for in one folder."""

_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')


class Asides:
    """What stands beside sessions; each folder is listed once."""

    def __init__(self) -> None:
        self._beside: dict[str, tuple[dict[str, list[str]], set[str]]] = {}

    def of(self, path: str) -> list[str]:
        """Return the transcripts of the subagents of a session's transcript, sorted; none of a subagent's own."""
        folder, name = os.path.split(path)
        if is_aside(name) or not name.endswith(".jsonl"):
            return []
        if folder not in self._beside:
            self._beside[folder] = _by_session(folder), _folders(folder)
        beside, folders = self._beside[folder]
        session = name.removesuffix(".jsonl")
        inside = _listed(os.path.join(folder, session, "subagents")) if session in folders else []
        return [*inside, *beside.get(session, ())]


def is_aside(name: str) -> bool:
    """Tell whether a file's name is that of a subagent's transcript."""
    return name.startswith("agent-") and name.endswith(".jsonl")


def is_companion(path: str) -> bool:
    """Tell whether the client keeps a file beside a session that holds no turns: what a subagent is, a long output."""
    folder, name = os.path.split(path)
    kept = os.path.basename(folder)
    return kept == "tool-results" or (kept == "subagents" and name.endswith(".meta.json"))


def _listed(folder: str) -> list[str]:
    try:
        names = sorted(filter(is_aside, os.listdir(folder)))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names[:ASIDES_MAX]]


def _folders(folder: str) -> set[str]:
    """Return the names of the folders in a folder, links to some included."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries if entry.is_dir()}
    except OSError:
        return set()


def _by_session(folder: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in _listed(folder):
        try:
            session = _SESSION.search(read_head(path, HEAD_BYTES))
        except Unread:
            continue
        if session is not None:
            found.setdefault(session[1].decode("utf-8", "replace"), []).append(path)
    return found
