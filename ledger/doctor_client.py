"""Look at what the clients were told of this program: hooks, servers, permission, and who else is there.

Claude Code is the client with hooks: settings of the user and of the working
folder, and every enabled plugin, are read as that client reads them. Settings
that an organisation manages are not looked at. Of the other clients only the
server is known. Nothing is run here.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ledger import setup_clients as clients
from ledger.doctor_check import Around
from ledger.errors import FileFault
from ledger.setup_files import BACKUP, read
from ledger.setup_json import parsed

WORDS = {"UserPromptSubmit": "prompt", **clients.COMMAND_HOOKS}
"""The client's events that we answer, with the words `sessions.db` counts them under."""


class Hook(NamedTuple):
    """One hook of an event; `where` names the file or plugin that has it."""

    event: str
    call: dict[str, Any]
    where: str
    is_ours: bool


class Server(NamedTuple):
    """One server of ours; `name` is how hooks call it.

    `is_own` is false of one that a repository brings along: to start it is for
    the client, which asks first.
    """

    name: str
    entry: dict[str, Any]
    where: str
    client: str = "claude-code"
    is_own: bool = True


class Told(NamedTuple):
    """All that clients were told. `since` is from when on hooks of ours can have run, in seconds since 1970.

    `remote` are the servers that are reached over HTTP, which nothing here starts or calls.
    """

    hooks: list[Hook]
    servers: list[Server]
    faults: list[str]
    settings: list[dict[str, Any]]
    since: float | None
    remote: tuple[Server, ...] = ()

    @property
    def ours(self) -> list[Hook]:
        """Return our hooks."""
        return [hook for hook in self.hooks if hook.is_ours]

    @property
    def events(self) -> list[str]:
        """Return the events that we are called at."""
        return [event for event in WORDS if any(hook.event == event for hook in self.ours)]


# -- read ------------------------------------------------------------------------------------------------------------


def told(around: Around) -> Told:
    """Read what every client was told; what cannot be read is a fault in a line."""
    found = Told([], [], [], [], None)
    places = clients.places("claude-code", around.home, around.env, around.platform)
    folder = os.path.dirname(places["hooks"])
    begun: list[float] = []
    own = os.path.join(around.folder, ".claude")
    files = [places["hooks"], os.path.join(own, "settings.json"), os.path.join(own, "settings.local.json")]
    for path in dict.fromkeys(map(os.path.realpath, files)):
        document = _document(path, found.faults, around)
        found.settings.append(document)
        hooks = list(_hooks(document.get("hooks"), around.shown(path)))
        found.hooks.extend(hooks)
        begun += _written(path) if any(hook.is_ours for hook in hooks) else []
    for name, place in _plugins(found.settings, folder, found.faults, around):
        hooks, servers = _plugin(name, place, found.faults, around)
        found.hooks.extend(hooks)
        found.servers.extend(servers)
        begun += _written(place) if hooks and _is_our_plugin(name) else []
    found.servers.extend(_servers(around, places["servers"], found.faults))
    found.servers.extend(_other_servers(around, found.faults))
    return found._replace(since=min(begun, default=None), remote=tuple(_remote(around, places["servers"])))


def _document(path: str, faults: list[str], around: Around) -> dict[str, Any]:
    """Return what a JSON file says, nothing when it is missing or cannot be read."""
    try:
        return parsed((read(path) or b"").decode("utf-8"), path)
    except UnicodeDecodeError:
        faults.append(f"{around.shown(path)} is not UTF-8")
    except FileFault as error:
        faults.append(around.shown(error.message.partition(";")[0]))
    return {}


def _written(path: str) -> list[float]:
    """Return when a file was written first, as far as that can be told: setup's backup is older than the file."""
    times = []
    for one in (path, path + BACKUP):
        try:
            times.append(os.stat(one).st_mtime)
        except OSError:
            continue
    return times


def _hooks(held: object, where: str, plugin: str = "") -> Iterator[Hook]:
    """Yield every hook of a part `hooks`, whatever shape it has."""
    for event, groups in held.items() if isinstance(held, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            calls = group.get("hooks") if isinstance(group, dict) else None
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    yield Hook(event, call, where, _is_our_plugin(plugin) or _is_ours(call))


def _is_ours(call: dict[str, Any]) -> bool:
    """Tell whether a hook calls this program, by setup, by hand, or in the words of the plugin."""
    by_plugin = call.get("server") == f"plugin:{clients.PLUGIN}:{clients.PLUGIN_SERVER}"
    return clients.is_our_hook(call) or (by_plugin and call.get("tool") == clients.RECALL_TOOL)


def _is_our_plugin(name: str) -> bool:
    return name.partition("@")[0] == clients.PLUGIN


def _plugins(
    settings: Iterable[dict[str, Any]], folder: str, faults: list[str], around: Around
) -> Iterator[tuple[str, str]]:
    """Yield name and folder of each enabled plugin."""
    enabled: dict[str, object] = {}
    for document in settings:
        part = document.get("enabledPlugins")
        enabled.update(part if isinstance(part, dict) else {})
    if not any(enabled.values()):
        return
    listing = _document(os.path.join(folder, "plugins", "installed_plugins.json"), faults, around).get("plugins")
    for name, is_on in enabled.items():
        installs = listing.get(name) if isinstance(listing, dict) else None
        last = installs[-1] if isinstance(installs, list) and installs else None
        place = last.get("installPath") if isinstance(last, dict) else None
        if is_on and isinstance(place, str):
            yield name, place


def _plugin(name: str, place: str, faults: list[str], around: Around) -> tuple[list[Hook], list[Server]]:
    """Return the hooks of a plugin, and its servers when it is ours."""
    where = f"plugin {name}"
    manifest = _document(os.path.join(place, ".claude-plugin", "plugin.json"), faults, around)
    hooks = _document(os.path.join(place, "hooks", "hooks.json"), faults, around).get("hooks")
    found = [*_hooks(hooks, where, name), *_hooks(manifest.get("hooks"), where, name)]
    servers = _document(os.path.join(place, ".mcp.json"), faults, around) if _is_our_plugin(name) else {}
    inner = servers.get("mcpServers", servers)
    return found, [
        Server(f"plugin:{clients.PLUGIN}:{key}", entry, where)
        for key, entry in (inner.items() if isinstance(inner, dict) else ())
        if isinstance(entry, dict) and clients.is_our_server(entry, key)
    ]


def _servers(around: Around, state: str, faults: list[str]) -> Iterator[Server]:
    """Yield our servers of Claude Code: of the user, of the working folder's project, and of its `.mcp.json`."""
    document = _document(state, faults, around)
    projects = document.get("projects")
    local = projects.get(around.folder) if isinstance(projects, dict) else None
    yield from _ours(document, "mcpServers", around.shown(state), "claude-code")
    yield from _ours(local, "mcpServers", f"{around.shown(state)}, projects", "claude-code")
    shared = os.path.join(around.folder, ".mcp.json")
    for server in _ours(_document(shared, faults, around), "mcpServers", around.shown(shared), "claude-code"):
        yield server._replace(is_own=False)


def _remote(around: Around, state: str) -> Iterator[Server]:
    """Yield the servers over HTTP that setup registered; faults of the file are told with its other servers."""
    held = _document(state, [], around).get("mcpServers")
    for name, entry in held.items() if isinstance(held, dict) else ():
        if clients.is_remote_server(entry):
            yield Server(name, entry, around.shown(state))


def _other_servers(around: Around, faults: list[str]) -> Iterator[Server]:
    """Yield our servers of the other clients."""
    for client in clients.CLIENTS[1:]:
        path = clients.places(client, around.home, around.env, around.platform)["servers"]
        if client == "codex":
            yield from _ours(_toml(path), "mcp_servers", around.shown(path), client)
        else:
            key = "servers" if client == "vscode" else "mcpServers"
            unread: list[str] = []  # a file with comments is legal there, and none of ours
            yield from _ours(_document(path, unread, around), key, around.shown(path), client)


def _ours(document: object, key: str, where: str, client: str) -> Iterator[Server]:
    part = document.get(key) if isinstance(document, dict) else None
    for name, entry in part.items() if isinstance(part, dict) else ():
        if clients.is_our_server(entry, name):
            yield Server(name, entry, where, client)


def _toml(path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads((read(path) or b"").decode("utf-8"))
    except (FileFault, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return {}


# -- words of a command ----------------------------------------------------------------------------------------------


def command_of(call: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return what a command hook sets in the environment, and its words; nothing of hooks of another type."""
    command = call.get("command")
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        words = []
    env = {}
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    return env, words


def server_words(entry: dict[str, Any]) -> list[str]:
    """Return the command line of a server."""
    held = entry.get("args")
    words = (entry.get("command"), *(held if isinstance(held, list) else ()))
    return [word for word in words if isinstance(word, str)]
