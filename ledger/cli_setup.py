"""`learnings setup CLIENT`: tell an agent's client of this program, and take that back."""

import os
import sys
from collections.abc import Iterator
from typing import Any

from ledger import setup_clients as clients
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.cli_token import saved_token
from ledger.errors import BadArgument, FileFault
from ledger.home import default_file
from ledger.setup import Target, targets
from ledger.setup_clients import CLIENTS, Program
from ledger.setup_files import Change, aside, carry_out, forget_backups, put_in, take_out
from ledger.setup_json import parsed


@command(
    Arg("client", ", ".join(CLIENTS[:-1]) + " or " + CLIENTS[-1]),
    Arg("--allow-tools", "Claude Code: let the agent use the tools without asking each time", is_flag=True),
    Arg("--no-allow-tools", "Claude Code: take that back", is_flag=True),
    Arg("--http", "Claude Code: a server over HTTP at this address instead of one here", metavar="URL"),
    Arg("--token-file", "with --http: the file that `token create --save` wrote", metavar="FILE"),
    Arg("--uninstall", "take out what setup put in; to the byte, when nothing else was changed since", is_flag=True),
    DRY_RUN,
)
def setup(call: Call) -> Result:
    """Write what a client has to know into its settings of this user; every other entry stays as it is."""
    given = call.given
    if given.client not in CLIENTS:
        raise BadArgument(
            f"there is no setup for {given.client[:40]!r}; nothing was done", "name " + ", ".join(CLIENTS)
        )
    if (given.allow_tools or given.no_allow_tools) and given.client != "claude-code":
        raise BadArgument("only Claude Code keeps permissions there; nothing was done", "leave the option out")
    if given.allow_tools and given.no_allow_tools:
        raise BadArgument("both cannot be; nothing was done", "give --allow-tools or --no-allow-tools")
    allows = True if given.allow_tools else False if given.no_allow_tools else None
    places = clients.places(given.client, os.path.expanduser("~"), call.env, sys.platform)
    found = targets(given.client, places, program(call), allows, remote(call))
    if given.uninstall:
        return _uninstalled(call, found)
    return _installed(call, found)


def program(call: Call) -> Program:
    """Return how this very program is started, from wherever it was installed.

    Raises:
        FileFault: the interpreter has no path.
    """
    script = os.path.join(os.path.dirname(os.path.abspath(clients.__file__)), clients.HOOK_SCRIPT)
    if not sys.executable:
        raise FileFault("the interpreter does not know its own path; nothing was written", "start it by its path")
    is_elsewhere = call.is_named or call.file != default_file({}, sys.platform)
    return Program(os.path.abspath(sys.executable), script, call.file if is_elsewhere else None)


def remote(call: Call) -> clients.Remote | None:
    """Return the server over HTTP that is meant, None for one that the client starts here.

    Raises:
        BadArgument: it cannot be reached so, or the token would travel in the clear.
    """
    given = call.given
    if given.http is None and given.token_file is None:
        return None
    if given.client != "claude-code":
        raise BadArgument("only Claude Code is told of a server over HTTP; nothing was done", "leave --http out")
    if given.http is None or given.token_file is None:
        raise BadArgument("address and token belong together; nothing was done", "give --http URL --token-file FILE")
    if not is_safe(given.http):
        raise BadArgument(
            "a token may not travel in the clear; nothing was done",
            "give https://NAME/mcp, or http://127.0.0.1:PORT/mcp on this machine",
        )
    path = os.path.abspath(os.path.expanduser(given.token_file))
    saved_token(path)
    return clients.Remote(given.http, path)


def is_safe(url: str) -> bool:
    """Tell whether an address is one that a token may be sent to: over TLS, or to this machine."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0 and not (parts.username or parts.query or parts.fragment)
    except ValueError:
        return False
    is_here = parts.hostname in ("127.0.0.1", "::1", "localhost")
    return (
        is_whole
        and url.isprintable()
        and " " not in url
        and (parts.scheme == "https" or (parts.scheme == "http" and is_here))
    )


def _installed(call: Call, found: list[Target]) -> Result:
    changes = [put_in(target) for target in found]
    for path in (change.backup_path for change in changes if change.sets_aside):
        call.remark(f"{path} is of an earlier file; it stays as {aside(path)}, and uninstall does not bring it back")
    if not call.given.dry_run:
        carry_out(changes)
    for text in _remarks(call, changes):
        call.remark(text)
    undo = f"learnings setup {call.given.client} --uninstall"
    document = {"client": call.given.client, "files": [_told(change) for change in changes], "undo": undo}
    is_new = any(change.state != "unchanged" for change in changes)
    tail = [f"{'would be' if call.given.dry_run else 'is'} in force in the next session  (undo: {undo})"]
    return Result(document, lambda: [*_lines(call, changes), *(tail if is_new else [])])


def _uninstalled(call: Call, found: list[Target]) -> Result:
    changes = [take_out(target) for target in reversed(found)]
    gone = []
    if not call.given.dry_run:
        carry_out(changes)
        gone = list(forget_backups(changes))
        for path in (change.backup_path for change in changes if os.path.exists(change.backup_path)):
            call.remark(
                f"{path} stays: the file beside it is not as it was before; remove it when nothing in it is missed"
            )
    elif any(change.state != "unchanged" for change in changes):
        call.remark("dry run: nothing was written")
    undo = f"learnings setup {call.given.client}"
    document = {"client": call.given.client, "files": [_told(change) for change in changes], "undo": undo}
    lines = [f"removed    {path}" for path in gone]
    return Result(document, lambda: [*_lines(call, changes), *lines])


def _told(change: Change) -> dict[str, Any]:
    backup = change.backup_path if os.path.exists(change.backup_path) else None
    return {"path": change.path, "state": change.state, "backup": backup, "diff": change.diff()}


def _lines(call: Call, changes: list[Change]) -> Iterator[str]:
    """Show each change in a line; a dry run shows it whole."""
    for change in changes:
        if call.given.dry_run:
            yield from change.diff()
        kept = change.backup_path if change.state == "changed" and os.path.exists(change.backup_path) else ""
        yield f"{change.state:<9}  {change.path}" + (f"  (as it was: {kept})" if kept else "")


def _remarks(call: Call, changes: list[Change]) -> Iterator[str]:
    """Yield what a person has to know or to do besides."""
    if call.given.dry_run:
        yield "dry run: nothing was written"
    if call.given.client != "claude-code":
        return
    if changes[0].state != "unchanged":
        yield "sessions that run take up hooks at once and servers only when they start: end those"
    if call.given.http is not None:
        yield "nothing is recalled by itself over HTTP, where a prompt is not sent: the agent asks with its tools"
    held = parsed((changes[-1].after or b"").decode("utf-8"), changes[-1].path)
    permissions = held.get("permissions")
    allowed = permissions.get("allow") if isinstance(permissions, dict) else None
    if not isinstance(allowed, list) or clients.PERMISSION not in allowed:
        yield (
            f"Claude Code asks before each call of a tool until permissions.allow has {clients.PERMISSION}; "
            "--allow-tools puts it there; what hooks bring needs no permission"
        )
    if held.get("disableAllHooks"):
        yield f"disableAllHooks is set in {changes[-1].path}: no hook will run"
    plugins = held.get("enabledPlugins")
    if any(str(name).startswith(f"{clients.PLUGIN}@") and on for name, on in _pairs(plugins)):
        yield "the plugin is enabled too, so everything would come twice: disable it, or take this back"


def _pairs(found: object) -> list[tuple[str, Any]]:
    return list(found.items()) if isinstance(found, dict) else []
