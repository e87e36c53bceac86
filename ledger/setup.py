"""Plan what setup makes of the files of a client, and how it is taken out again; pure, from text to text."""

from collections.abc import Callable
from typing import NamedTuple

from ledger import setup_clients as clients
from ledger import setup_json, setup_toml
from ledger.setup_clients import Program, Remote
from ledger.setup_json import Wanted


class Target(NamedTuple):
    """One file: where it is, and how its text is changed, cleaned of what setup wrote, and compared.

    `take` is given the text from before, if it is known: what stood there stays.
    `has_ours` tells whether setup has written this text before.
    """

    path: str
    put: Callable[[str], str]
    take: Callable[[str, str | None], str]
    is_same: Callable[[str, str], bool]
    has_ours: Callable[[str], bool]


def targets(
    client: str, places: dict[str, str], program: Program, allows: bool | None, remote: Remote | None = None
) -> list[Target]:
    """Return the files of one client, in the order in which they are written: the server before what calls it.

    With a server over HTTP there is no hook: that of a prompt would send the prompt to it.
    """
    if remote is not None:
        entry = clients.remote_server(program, remote)
        last = _json_target(places["hooks"], Wanted(hooks={}, allows=allows))
        return [
            _json_target(places["servers"], Wanted("mcpServers", entry)),
            last._replace(put=lambda text: last.put(setup_json.without_hooks(text, last.path))),
        ]
    if client == "codex":
        return [_toml_target(places["servers"], clients.codex_block(program))]
    servers = "servers" if client == "vscode" else "mcpServers"
    wanted = [(places["servers"], Wanted(servers, clients.server_for(client, program)))]
    if "hooks" in places:
        wanted.append((places["hooks"], Wanted(hooks=clients.setup_hooks(program), allows=allows)))
    return [_json_target(path, one) for path, one in wanted]


def _json_target(path: str, wanted: Wanted) -> Target:
    return Target(
        path,
        lambda text: setup_json.put(text, wanted, path),
        lambda text, before: setup_json.take(text, wanted, path, before),
        lambda one, other: setup_json.parsed(one, path) == setup_json.parsed(other, path),
        lambda text: setup_json.has_ours(text, wanted, path),
    )


def _toml_target(path: str, block: str) -> Target:
    return Target(
        path,
        lambda text: setup_toml.put(text, block, path),
        lambda text, _: setup_toml.take(text),
        lambda one, other: one.rstrip() == other.rstrip(),
        lambda text: setup_toml.OPEN_MARK in text,
    )
