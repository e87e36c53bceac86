"""The settings there are, and what a value of each must look like.

Settings live in the ledger as events, so that they have a history and an undo;
a setting of one machine carries an opaque machine id. Whoever answers a prompt
reads them here, and takes a value that is none for one that is not set: nothing
that stands in a file may break a prompt. Lean path, without `typing`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ledger.errors import BadArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXPOSURE_DAYS = 90
"""Days after which what a prompt was shown is forgotten, unless the setting says otherwise."""

MARKERS_MAX = 20
"""Most private markers."""

DAYS_MAX = 3_650
"""Most days of that setting."""

EVERYWHERE = "*"
"""The entry of the setting `off` that stands for every project."""

SETTINGS = {
    "exposure_days": f"days after which exposures are forgotten, 1 to {DAYS_MAX:,} (default {EXPOSURE_DAYS})",
    "off": 'projects whose prompts are shown nothing, as JSON: ["demo"]; ["*"] is all of them',
    "private_markers": 'what begins and what ends a private region, as JSON: {"[[hide]]": "[[/hide]]"}',
    "project_aliases": 'other names of projects, as JSON: {"old-name": "name"}',
    "robots": "on: sessions without a person are shown learnings too; off (default): they are not",
    "scan_exclude": 'places that `learnings scan` and `watch` leave out, as JSON: ["/path"] (keep it to one machine)',
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
    if name == "robots" and value in ("on", "off"):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if name == "exposure_days" and type(found) is int and 1 <= found <= DAYS_MAX:
        return str(found)
    if name == "project_aliases" and isinstance(found, dict):
        texts = [*found, *found.values()]
    elif name == "private_markers" and isinstance(found, dict) and len(found) <= MARKERS_MAX:
        texts = [text if isinstance(text, str) and 2 < len(text) <= 100 else None for text in (*found, *found.values())]
    elif name in ("scan_paths", "scan_exclude", "off") and isinstance(found, list):
        texts = found
    else:
        texts = [None]
    if not all(isinstance(item, str) and item for item in texts):
        raise BadArgument(f"this is no value of {name}; nothing was written", SETTINGS[name])
    return json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def projects_off(found: Iterable[Sequence[str]], machine: str | None) -> list[str]:
    """Return the projects that are switched off, in the ledger or on this machine, from rows of `sql.SETTINGS`."""
    held = [value for name, scope, other, value in found if name == "off" and (scope == "ledger" or other == machine)]
    lists = [listed for listed in map(_parsed, held) if isinstance(listed, list)]
    return sorted({project for listed in lists for project in listed if isinstance(project, str)})


def is_off(found: Sequence[Sequence[str]], machine: str | None, project: str | None) -> bool:
    """Tell whether prompts of a project are shown nothing, by whatever name it has; None is a folder without one."""
    names = {EVERYWHERE}
    if project is not None:
        names |= names_of(project, (row[3] for row in found if row[0] == "project_aliases"))
    return not names.isdisjoint(projects_off(found, machine))


def names_of(project: str, held: Iterable[str]) -> set[str]:
    """Return every name of a project, its own and its aliases, from the values of the setting that holds them.

    An alias counts in both directions; aliases of aliases lead on, and a circle of
    them is one project.
    """
    known: dict[str, str] = {}
    for found in map(_parsed, held):
        if isinstance(found, dict):
            known.update((one, two) for one, two in found.items() if isinstance(two, str))
    names = {project}
    for _ in known:
        names |= {name for pair in known.items() if not names.isdisjoint(pair) for name in pair}
    return names


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def private_markers(found: Iterable[Sequence[str]], machine: str | None) -> dict[str, str]:
    """Return what begins and what ends a private region beside `<private>`: the ledger's and this machine's."""
    held = [
        _parsed(value) for name, scope, other, value in found
        if name == "private_markers" and (scope == "ledger" or other == machine)
    ]  # fmt: skip
    markers: dict[str, str] = {}
    for one in held:
        if isinstance(one, dict):
            markers.update((begin, end) for begin, end in one.items() if isinstance(end, str) and begin and end)
    return markers


def serves_robots(found: Iterable[Sequence[str]], machine: str | None) -> bool:
    """Tell whether sessions without a person are shown learnings: this machine's value, else the ledger's, else no."""
    held = {
        other or "": value for name, scope, other, value in found
        if name == "robots" and (scope == "ledger" or other == machine)
    }  # fmt: skip
    return held.get(machine or "", held.get("", "off")) == "on"


def exposure_days(found: Iterable[Sequence[str]], machine: str | None) -> int:
    """Return how long exposures are kept, from rows of `sql.SETTINGS`: this machine's value, else the ledger's."""
    days = {
        other or "": _parsed(value) for name, scope, other, value in found
        if name == "exposure_days" and (scope == "ledger" or other == machine)
    }  # fmt: skip
    held = [one for one in (days.get(machine or ""), days.get("")) if type(one) is int and 1 <= one <= DAYS_MAX]
    return held[0] if held else EXPOSURE_DAYS
