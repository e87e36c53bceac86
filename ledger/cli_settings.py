"""Settings and projects: `config off on project`.

Settings live in the ledger as events, so `learnings history setting:NAME` tells
who changed one and `learnings undo` takes it back.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

from ledger import cli_text, sql
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.cli_read import ALIASES, aliases, project_of, settings
from ledger.cli_write import written
from ledger.errors import BadArgument, NotFound
from ledger.home import working_folder
from ledger.model import plain
from ledger.reader import Reader
from ledger.settings import EVERYWHERE, SETTINGS, projects_off


@command(
    Arg("act", "list (as without it), get, set or unset", many="?", default="list"),
    Arg("words", "NAME for get and unset, NAME VALUE for set", many="*"),
    Arg("--machine", "keep it to this machine", is_flag=True),
    DRY_RUN,
)
def config(call: Call) -> Result:
    """Show and change settings: list, get NAME, set NAME VALUE, unset NAME."""
    act, words = call.given.act, call.given.words
    wanted = {"list": 0, "get": 1, "set": 2, "unset": 1}
    if len(words) != wanted.get(act):
        raise BadArgument(
            "that is not how settings are changed; nothing was done",
            "learnings config [list | get NAME | set NAME VALUE | unset NAME]",
        )
    if act in ("set", "unset"):
        return _set(call, words[0], words[1] if act == "set" else None)
    with call.reading() as reader:
        found = settings(reader)
    if act == "get":
        found = [setting for setting in found if setting["name"] == words[0]]
        if words[0] not in SETTINGS:
            raise BadArgument("there is no such setting; nothing was done", "the settings are: " + ", ".join(SETTINGS))
        if not found:
            raise NotFound(f"{words[0]} is not set", f"it is for {SETTINGS[words[0]]}")
    document = {"settings": found, "known": SETTINGS}
    return Result(document, lambda: _settings(found, SETTINGS if act == "list" else {}))


def _settings(found: list[dict[str, Any]], known: dict[str, str]) -> Iterator[str]:
    rows = [(one["name"], one["value"], one["stream"]) for one in found]
    names = {one["name"] for one in found}
    rows += [(name, "not set", purpose) for name, purpose in known.items() if name not in names]
    return cli_text.aligned(rows)


def _set(call: Call, name: str, value: str | None) -> Result:
    with call.writing(create=not call.given.dry_run) as ledger:
        done = ledger.set(name, value, machine=call.given.machine, dry_run=call.given.dry_run)
    return written(call, plain(done), f"{done.state} {name}")


PROJECT = Arg("--project", "one project (default: everywhere)")


@command(PROJECT, DRY_RUN)
def off(call: Call) -> Result:
    """Switch recall off everywhere or in one project, until `learnings on`; `LEARNINGS_OFF=1` does it for a session."""
    return _switched(call, is_off=True)


@command(PROJECT, DRY_RUN)
def on(call: Call) -> Result:
    """Take back `learnings off`, everywhere or in one project."""
    return _switched(call, is_off=False)


def _switched(call: Call, *, is_off: bool) -> Result:
    """Put one entry into the setting `off` or take it out; what is so already is not written again."""
    entry = call.given.project or EVERYWHERE
    with call.writing(create=is_off and not call.given.dry_run) as ledger:
        known = _off(ledger.reader)
        wanted = sorted({*known, entry} if is_off else {*known} - {entry})
        if wanted == known:
            call.remark("it is so already; nothing was written")
            return Result({"off": known, "seq": None}, lambda: _off_lines(known))
        done = ledger.set("off", json.dumps(wanted) if wanted else None, dry_run=call.given.dry_run)
        if not call.given.dry_run:
            wanted = _off(ledger.reader)  # as it was stored: a secret in a name is not said back
    line = f"switched {'off' if is_off else 'on'} {'everywhere' if entry == EVERYWHERE else 'in one project'}"
    for text in _off_lines(wanted) if not is_off else ():
        call.remark(text)
    return written(call, {**plain(done), "off": wanted}, line)


def _off(reader: Reader) -> list[str]:
    """Return what is switched off in the ledger, whatever a machine has besides."""
    return projects_off(reader.rows(sql.SETTINGS, {}), None)


def _off_lines(entries: list[str]) -> list[str]:
    names = ["everywhere" if entry == EVERYWHERE else entry for entry in entries]
    return [f"still off: {', '.join(names)}"] if names else []


@command(
    Arg("act", "show (as without it), list or alias", many="?", default="show"),
    Arg("words", "PATH for show (default: this folder); NAME OTHER for alias", many="*"),
    DRY_RUN,
)
def project(call: Call) -> Result:
    """Show the project of a folder, list projects, or say that NAME is also called OTHER."""
    act, words = call.given.act, call.given.words
    if act == "show" and len(words) < 2:
        return _project_of(call, words[0] if words else working_folder())
    if act == "list" and not words:
        with call.reading() as reader:
            counts = reader.status()["projects"]
        rows = [(name, str(count)) for name, count in counts.items()]
        return Result({"projects": counts}, lambda: cli_text.aligned(rows))
    if act == "alias" and len(words) == 2:
        return _alias(call, *words)
    raise BadArgument(
        "that is not how projects are shown; nothing was done",
        "learnings project [show [PATH] | list | alias NAME OTHER]",
    )


def _project_of(call: Call, path: str) -> Result:
    found = project_of(call, path)
    document = {"path": os.path.abspath(path), "project": found}
    if found is None:
        call.remark("it belongs to no project")
    return Result(document, lambda: [] if found is None else [found])


def _alias(call: Call, name: str, other: str) -> Result:
    """Add an alias to the setting that holds them all."""
    from ledger import redact

    name, other = (redact.guarded("a name", text).text for text in (name, other))  # a secret is not said back
    with call.writing(create=not call.given.dry_run) as ledger:
        known = {**aliases(ledger.reader), other: name}
        done = ledger.set(ALIASES, json.dumps(known), dry_run=call.given.dry_run)
    return written(call, {**plain(done), "aliases": known}, f"set {other} to mean {name}")
