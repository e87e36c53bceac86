"""What each client is told about this program: its hooks, its server, its permission, and where that stands.

One source for `learnings setup` and for the files of `plugin/`, which a test
holds to it. Pure: paths, home and environment are arguments.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

CLIENTS = ("claude-code", "codex", "cursor", "vscode", "gemini")
"""The clients that `learnings setup` knows."""

SERVER = "learnings"
"""Name of the server where setup writes it; tools are then `mcp__learnings__…`."""

PLUGIN, PLUGIN_SERVER = "learnings", "ledger"
"""Name of the plugin, and of the server in it: its tools are `mcp__plugin_learnings_ledger__…`."""

PERMISSION = f"mcp__{SERVER}"
"""The entry of `permissions.allow` that lets every tool of the server run without asking."""

HOW_TO_MEND = "mend the file, or put the entries in by hand (documentation: Set up a client)"
"""What a person does about a file that setup cannot change."""

RECALL_TOOL = "recall"
"""The tool that the prompt's hook calls; `tools/list` leaves it out."""

RECALL_INPUT = {name: f"${{{name}}}" for name in ("prompt", "session_id", "transcript_path", "cwd", "prompt_id")}
"""Its arguments; the client puts in the hook's own values (2.1.332: all five arrive)."""

RECALL_TIMEOUT_S = 0.5
"""When the client stops waiting for a recall. It takes fractions (2.1.332: 0.3 is cancelled after 300 ms); our
server answers within 0.3 s whatever happens, so only a server that hangs is met by this."""

COMMAND_TIMEOUT_S = 2
"""When the client stops waiting for a command hook; the script's own limit is 1.5 s at most after its interpreter
is up. It is written out because a session's end would be given about 1.5 s for all of it (2.1.332)."""

COMMAND_HOOKS = {
    "SessionStart": "session-start",
    "SubagentStart": "subagent-start",
    "PostToolUse": "tool",
    "PostToolUseFailure": "tool-failed",
    "PreCompact": "precompact",
    "PostCompact": "compact",
    "Stop": "stop",
    "SessionEnd": "end",
}
"""Events that a command answers, with the event's name on its command line. At a start and an end no server can be
called, and what is handed over has to be kept whatever has become of the server."""

CAPTURES = ("PostToolUse", "PostToolUseFailure", "PreCompact", "PostCompact", "Stop", "SessionEnd")
"""Those of which something is kept and at which nothing is shown."""

MATCHERS = {"PostToolUse": "Write|Edit|MultiEdit|Bash", "PostToolUseFailure": "Bash"}
"""Which tools an event is wanted of: those that write a file and say which, and the shell, which may write any and has
done so even when its command failed (2.1.332: then the former event does not come). `NotebookEdit` writes no notes."""

HOOK_SCRIPT = "hook_main.py"


class Program(NamedTuple):
    """How this program is started: an interpreter and the script of hooks, both absolute paths.

    `file` is the ledger, when it is not where it would be looked for anyway.
    """

    python: str
    script: str
    file: str | None = None


class Remote(NamedTuple):
    """A server over HTTP: its address, and the file with the token that it is reached with."""

    url: str
    token_file: str


# -- hooks -----------------------------------------------------------------------------------------------------------


def hooks(server: str, command_of: Callable[[str], str]) -> dict[str, dict[str, Any]]:
    """Return the one group of hooks for each event; `server` is its name as a hook has to call it."""
    groups: dict[str, dict[str, Any]] = {
        event: {
            **({"matcher": MATCHERS[event]} if event in MATCHERS else {}),
            "hooks": [{"type": "command", "command": command_of(word), "timeout": COMMAND_TIMEOUT_S}],
        }
        for event, word in COMMAND_HOOKS.items()
    }
    call = {"type": "mcp_tool", "server": server, "tool": RECALL_TOOL, "input": RECALL_INPUT}
    groups["UserPromptSubmit"] = {"hooks": [{**call, "timeout": RECALL_TIMEOUT_S}]}
    return groups


def setup_hooks(program: Program) -> dict[str, dict[str, Any]]:
    """Return the hooks that setup writes: absolute paths, nothing of the user's Python environment."""

    def command_of(word: str) -> str:
        words = shlex.join((program.python, "-I", "-S", program.script, word))
        return words if program.file is None else f"LEARNINGS_FILE={shlex.quote(program.file)} {words}"

    return hooks(SERVER, command_of)


def plugin_hooks() -> dict[str, Any]:
    """Return what `plugin/hooks/hooks.json` holds; the command has to be on the client's PATH."""
    groups = hooks(f"plugin:{PLUGIN}:{PLUGIN_SERVER}", lambda word: f"learnings hook {word}")
    return {
        "description": "What this project has learned, at the start of a session and with a prompt that it concerns",
        "hooks": {event: [group] for event, group in groups.items()},
    }


def is_our_hook(hook: object) -> bool:
    """Tell whether a hook calls this program, written by setup or by hand."""
    if is_setup_hook(hook):
        return True
    words = _hook_words(hook)
    return len(words) == 3 and is_named(words[0], SERVER) and words[1] == "hook" and _is_word(words[2])


def is_setup_hook(hook: object) -> bool:
    """Tell whether a hook is one that setup writes, of this or another version or place."""
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "mcp_tool":
        return hook.get("server") == SERVER and hook.get("tool") == RECALL_TOOL
    words = _hook_words(hook)
    if len(words) != 5 or words[1:3] != ["-I", "-S"] or not _is_word(words[4]):
        return False
    return words[3].replace("\\", "/").split("/")[-2:] == ["ledger", HOOK_SCRIPT]


def _hook_words(hook: object) -> list[str]:
    """Return the words of a hook that is one plain command, without the ledger that it names; of any other nothing.

    A command that goes on (`;`, `&&`, a pipe, a redirection) is its owner's, whatever it calls.
    """
    command = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(command, str) or "\n" in command:
        return []
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    try:
        words = list(lexer)
        if words != shlex.split(command):
            return []  # the shell sees more than one word where there is no blank
    except ValueError:
        return []
    return words[1:] if words and words[0].startswith("LEARNINGS_FILE=") else words


def _is_word(word: str) -> bool:
    """Tell whether this may be the name of an event, of this or another version."""
    return re.fullmatch(r"[a-z]+(-[a-z]+)*", word) is not None


def is_named(program: str, name: str) -> bool:
    """Tell whether a program, by its path or alone, has a name."""
    return program.replace("\\", "/").rpartition("/")[2].removesuffix(".exe") == name


# -- servers ---------------------------------------------------------------------------------------------------------


SERVE = ["-P", "-m", "ledger.cli", "serve"]
"""Arguments of the interpreter that serves."""


def server(program: Program) -> dict[str, Any]:
    """Return how a client starts the server: `-P` keeps a folder of the project from standing in for a module."""
    env = {} if program.file is None else {"LEARNINGS_FILE": program.file}
    return {"type": "stdio", "command": program.python, "args": SERVE, "env": env}


HELPER = ["-P", "-m", "ledger.cli", "token", "headers"]
"""Arguments of the interpreter that prints the headers of a request, before the file with the token."""


def remote_server(program: Program, remote: Remote) -> dict[str, Any]:
    """Return how Claude Code reaches a server over HTTP: the token stays in its file, and in no setting."""
    helper = shlex.join([program.python, *HELPER, remote.token_file])
    return {"type": "http", "url": remote.url, "headersHelper": helper}


def is_remote_server(entry: object) -> bool:
    """Tell whether an entry is one that setup writes for a server over HTTP."""
    helper = entry.get("headersHelper") if isinstance(entry, dict) else None
    try:
        words = shlex.split(helper) if isinstance(helper, str) else []
    except ValueError:
        return False
    return words[1:-1] == HELPER


def server_for(client: str, program: Program) -> dict[str, Any]:
    """Return the entry of the server as one client takes it."""
    entry = server(program)
    if client not in ("claude-code", "vscode"):
        del entry["type"]  # the others tell by `command` that it is a program
    return entry if entry["env"] else {name: held for name, held in entry.items() if name != "env"}


def plugin_server() -> dict[str, Any]:
    """Return what `plugin/.mcp.json` holds.

    No `alwaysLoad`: three tools ask for it themselves, and on the server it would
    load all ten (2.1.332: with it 10 tools in each request, without it 3).
    """
    return {"mcpServers": {PLUGIN_SERVER: {"command": "learnings", "args": ["serve"]}}}


def is_our_server(entry: object, name: str = SERVER) -> bool:
    """Tell whether an entry of a name starts this program's server, written by setup or by hand.

    A program named `learnings` that serves is ours by any name; an interpreter only
    by one of our names, because others may have modules named as ours are.
    """
    words = _words(entry)
    if len(words) < 2:
        return False
    if is_named(words[0], SERVER):
        return words[1] == "serve" or (words[1] == "--file" and words[3:4] == ["serve"])
    if name not in (SERVER, PLUGIN_SERVER) or "-m" not in words[1:]:
        return False
    at = words.index("-m", 1)
    options = all(re.fullmatch(r"-[A-Za-z]+", word) and "c" not in word for word in words[1:at])
    return options and (words[at + 1 : at + 3] == ["ledger.cli", "serve"] or words[at + 1 : at + 2] == ["mcp_server"])


def is_setup_server(entry: object) -> bool:
    """Tell whether an entry is one that setup writes, of this or another place."""
    return _words(entry)[1:] == SERVE


def file_of(entry: dict[str, Any]) -> str | None:
    """Return the ledger that an entry names, or None when it is looked for where it would be anyway."""
    words = _words(entry)
    env = entry.get("env")
    if "--file" in words[:-1]:
        return words[words.index("--file") + 1]
    return env.get("LEARNINGS_FILE") if isinstance(env, dict) else None


def _words(entry: object) -> list[str]:
    if not isinstance(entry, dict) or not isinstance(entry.get("args", []), list):
        return []
    return [word for word in (entry.get("command"), *entry.get("args", [])) if isinstance(word, str)]


def codex_block(program: Program) -> str:
    """Return the lines for Codex's TOML; a JSON string is a TOML string too."""
    import json

    entry = server(program)
    lines = [f"[mcp_servers.{SERVER}]", f"command = {json.dumps(entry['command'])}"]
    lines.append(f"args = {json.dumps(entry['args'])}")
    lines += [f"env = {{ {name} = {json.dumps(value)} }}" for name, value in entry["env"].items()]
    return "\n".join(lines) + "\n"


# -- places ----------------------------------------------------------------------------------------------------------


def places(client: str, home: str, env: Mapping[str, str], platform: str) -> dict[str, str]:
    """Return a client's files of the user, by what stands in them: `servers`, and `hooks` for Claude Code."""
    if client == "claude-code":
        own = env.get("CLAUDE_CONFIG_DIR")
        folder = own or os.path.join(home, ".claude")
        state = os.path.join(own or home, ".claude.json")
        return {"servers": state, "hooks": os.path.join(folder, "settings.json")}
    if client == "codex":
        return {"servers": os.path.join(env.get("CODEX_HOME") or os.path.join(home, ".codex"), "config.toml")}
    if client == "cursor":
        return {"servers": os.path.join(home, ".cursor", "mcp.json")}
    if client == "gemini":
        return {"servers": os.path.join(home, ".gemini", "settings.json")}
    if platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    elif platform == "win32":
        base = env.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
    else:
        base = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return {"servers": os.path.join(base, "Code", "User", "mcp.json")}
