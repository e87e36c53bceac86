"""Find where memory tools and agents keep what they know: what is there of it, nothing is read but a few settings.

Each kind of file tells its own usual places (`Importer.places`); here are those that
hang on more than a home and a variable: the projects a user works in, and what a client's settings move elsewhere.
"""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from importers import files, note_scan, projects
from importers.files import Unread
from importers.kinds import Where
from importers.registry import NOTES, Place, table
from ledger.home import client_folder

SETTINGS_BYTES = 16 << 20
"""Largest settings file that is read; a client's own state file has a few MB."""

PROJECTS_MAX = 500
"""Most projects whose folders are looked into, those of the newest sessions first."""

AGENT_FOLDERS = (os.path.join(".claude", "agent-memory"), os.path.join(".claude", "agent-memory-local"))
"""Where a repository keeps what its agents remember, a folder for each."""


def places(where: Where, said: Callable[[str], None]) -> list[Place]:
    """Return what stands in the usual places of every kind, notes first; a kind that cannot tell costs no other.

    `said` is given one remark for each that cannot.
    """
    found: dict[str, Place] = {}
    worked_in = project_folders(where)
    looks: list[tuple[str, Callable[[Where], list[str]]]] = [(one.kind, one.places) for one in table()]
    looks.insert(0, (NOTES, lambda one: note_places(one, worked_in)))
    for kind, look in looks:
        everywhere = [where, *(where._replace(cwd=cwd) for cwd in worked_in if kind != NOTES)]
        try:
            for path in (path for one in everywhere for path in look(one)):
                found.setdefault(f"{kind}\n{files.real(path)}", Place(kind, path))
        except Exception as error:  # noqa: BLE001 - what somebody put there is not believed
            said(f"the usual places of {kind} could not be looked at ({type(error).__name__})")
    return list(found.values())


def note_places(where: Where, worked_in: list[str]) -> list[str]:
    """Return the memory folders of a user's client: of projects, of agents, of agents of projects, and one moved."""
    found = [*note_scan.places(where), *_moved(where)]
    for project in worked_in:
        for folder in AGENT_FOLDERS:
            found += _folders(os.path.join(project, folder))
    return [path for path in dict.fromkeys(found) if os.path.isdir(path)]


def _moved(where: Where) -> Iterator[str]:
    """Yield the folder that the client's settings name instead of the usual one."""
    for name in ("settings.json", "settings.local.json"):
        path = _settings(os.path.join(client_folder(where.home), name)).get("autoMemoryDirectory")
        if isinstance(path, str) and path.startswith(("/", "~/")) and "\0" not in path:
            yield os.path.join(where.home, path[2:]) if path.startswith("~/") else path


def project_folders(where: Where) -> list[str]:
    """Return the roots of the projects a user works in: the folder worked in, those of sessions, those a client knows.

    A folder that is the home itself, or gone, is none.
    """
    found = [] if where.cwd is None else [where.cwd]
    client = client_folder(where.home)
    slugs = sorted(_folders(os.path.join(client, "projects")), key=_changed_at, reverse=True)
    for slug in slugs[:PROJECTS_MAX]:
        found += projects.working_folders(slug)
    beside = os.path.join(where.home, ".claude.json") if client == os.path.join(where.home, ".claude") else None
    for path in (beside, os.path.join(client, ".claude.json")):
        listed = _settings(path).get("projects") if path is not None else None
        found += (
            [name for name in listed if os.path.isabs(name) and "\0" not in name] if isinstance(listed, dict) else []
        )
    home = files.real(where.home)
    roots = dict.fromkeys(_root(path) for path in found[: 2 * PROJECTS_MAX] if os.path.isdir(path))
    return [path for path in roots if path not in (home, os.sep)][:PROJECTS_MAX]


def _root(path: str) -> str:
    repository = projects.repository_of(path)
    return repository.work_tree if repository is not None else files.real(path)


def _settings(path: str) -> dict[str, Any]:
    """Return a settings file, {} when there is none that can be read as one."""
    try:
        found = json.loads(files.read_bytes(path, SETTINGS_BYTES))
    except (Unread, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as listing:
            return sorted(entry.path for entry in listing if entry.is_dir())
    except OSError:
        return []


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
