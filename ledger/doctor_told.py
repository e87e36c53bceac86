"""Judge what the clients were told: is it all there, once, in seconds, for what exists, and who else is there.

Nothing is run; whether the server starts is for `doctor_server`.
"""

import os
import re
import shutil
from collections.abc import Iterator

from ledger import setup_clients as clients
from ledger.doctor_check import Around, Check, broken, fine, listed, remark
from ledger.doctor_client import WORDS, Hook, Told, command_of, server_words
from ledger.home import default_file

MILLISECONDS = 100
"""From here on a time-out is taken for milliseconds: nobody lets a prompt wait for 100 seconds."""

MEND = "run `learnings setup` again from where the program is now; the plugin needs it on the client's PATH"
"""What helps when a registered program cannot be started."""

MEMORY = re.compile(
    r"mem(?:0|ory|ento|ories|search|vara|ware|kernel)|\bmem\b|mnem|remember|hindsight|engram|aelfrice|nodum|agentlore"
    r"|recall|\bzep\b|letta",
    re.IGNORECASE,
)
"""Names of tools that bring memories to a prompt, as their plugins and commands are called."""


def checks(around: Around, found: Told) -> Iterator[Check]:
    """Yield what is to be said of registrations, without running anything."""
    yield _registered(found)
    if found.ours or found.servers:
        yield _duplicates(found)
        yield _timeouts(found)
        yield _programs(around, found)
        yield _one_ledger(around, found)
        yield _permission(found)
    yield _others(found)


def _registered(found: Told) -> Check:
    servers = [one for one in found.servers if one.client == "claude-code"]
    if found.faults:
        return broken(
            "hooks",
            f"{listed(found.faults)}; the client takes nothing from it, the ledger is untouched; mend that file",
        )
    if not found.ours and not servers:
        return remark("hooks", "Claude Code was told nothing of this program; `learnings setup claude-code` does that")
    if any(document.get("disableAllHooks") for document in found.settings):
        return broken(
            "hooks", "disableAllHooks is set: no hook runs, prompts are shown nothing; take it out of settings"
        )
    if not found.ours:
        return remark(
            "hooks",
            "the server is registered, hooks are not: nothing is recalled unless the agent asks; "
            "`learnings setup claude-code` adds them",
        )
    missing = [event for event in WORDS if event not in found.events]
    if missing:
        return broken(
            "hooks",
            f"no hook for {listed(missing)}; nothing is shown or kept then; run `learnings setup claude-code` again",
        )
    named = {one.name for one in servers}
    unmet = {str(one.call.get("server")) for one in found.ours if one.call.get("type") == "mcp_tool"} - named
    if unmet:
        return broken(
            "hooks",
            f"the prompt's hook calls a server {listed(sorted(unmet))} that the client does not have; prompts "
            "are shown nothing; run `learnings setup claude-code` again",
        )
    return fine("hooks", f"registered for {listed(found.events)} ({listed(one.where for one in found.ours)})")


def _duplicates(found: Told) -> Check:
    twice = [
        f"{event} ({listed(one.where for one in held)})"
        for event in WORDS
        if len(held := [one for one in found.ours if one.event == event]) > 1
    ]
    servers = [one.where for one in found.servers if one.client == "claude-code"]
    if len(servers) > 1:
        twice.insert(0, f"the server ({listed(servers)})")
    if twice:
        return broken(
            "duplicates",
            f"registered more than once: {listed(twice)}; all of it comes twice, the ledger is untouched; "
            "disable the plugin, or run `learnings setup claude-code --uninstall`",
        )
    return fine("duplicates", "everything is registered once")


def _timeouts(found: Told) -> Check:
    wrong, open_ended = [], []
    for hook in found.ours:
        wait = hook.call.get("timeout")
        if wait is None:
            open_ended.append(f"{hook.event} ({hook.where})")
        elif isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 < wait < MILLISECONDS:
            wrong.append(f"{hook.event} has {str(wait)[:20]} ({hook.where})")
    if wrong:
        return broken(
            "timeouts",
            f"time-outs are seconds: {listed(wrong)}; a prompt would wait that long for a server that hangs; "
            f"run `learnings setup claude-code` again, or write {clients.RECALL_TIMEOUT_S} and "
            f"{clients.COMMAND_TIMEOUT_S}",
        )
    if open_ended:
        return remark("timeouts", f"no time-out for {listed(open_ended)}: the client's own, a minute or more, holds")
    return fine("timeouts", "time-outs are in seconds")


def _programs(around: Around, found: Told) -> Check:
    """Look whether what is to be started is there: virtual environments are moved and removed."""
    gone = [
        f"{around.shown(path)} ({where})"
        for words, where in [
            *((command_of(one.call)[1], one.where) for one in found.ours),
            *((server_words(one.entry)[:1], one.where) for one in found.servers),
        ]
        for path in _gone(words, around)
    ]
    if gone:
        return broken(
            "programs",
            f"cannot be started: {listed(gone)}; prompts and sessions are shown nothing, the ledger is "
            f"untouched; {MEND}",
        )
    return fine("programs", "interpreter and script are where the clients look for them")


def _gone(words: list[str], around: Around) -> Iterator[str]:
    """Yield which of a command's words name nothing that can be started or read."""
    if not words:
        return
    program = os.path.expanduser(words[0])
    if os.path.isabs(program) or os.sep in program:
        is_there = os.path.isfile(program) and os.access(program, os.X_OK)
    else:
        is_there = shutil.which(program, path=around.env.get("PATH") or os.defpath) is not None
    if not is_there:
        yield words[0]
    for word in words[1:]:
        if word.replace("\\", "/").endswith(f"/{clients.HOOK_SCRIPT}") and not os.path.isfile(word):
            yield word


def _one_ledger(around: Around, found: Told) -> Check:
    """Hold hooks and servers to one ledger, and say when it is not the one that is looked at."""
    usual = default_file({**around.env, "LEARNINGS_FILE": ""}, around.platform)
    named: dict[str, str] = {}
    for hook in found.ours:
        if hook.call.get("type") != "mcp_tool":
            env, _ = command_of(hook.call)
            named.setdefault(_real(env.get("LEARNINGS_FILE", usual)), hook.where)
    for server in found.servers:
        named.setdefault(_real(clients.file_of(server.entry) or usual), server.where)
    told_files = [f"{around.shown(path)} ({where})" for path, where in named.items()]
    if len(named) > 1:
        return broken(
            "one-ledger",
            f"hooks and servers use several ledgers: {listed(told_files)}; each holds what it was given; "
            "run `learnings setup` with --file",
        )
    if named and _real(around.file) not in named:
        return remark("one-ledger", f"clients use {listed(told_files)}, and this is about {around.shown(around.file)}")
    return fine("one-ledger", "hooks and servers use this ledger")


def _real(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))


def _permission(found: Told) -> Check:
    plugged = f"mcp__plugin_{clients.PLUGIN}_{clients.PLUGIN_SERVER}"
    wanted = plugged if any(one.name.startswith("plugin:") for one in found.servers) else clients.PERMISSION
    how = "by hand" if wanted == plugged else "`learnings setup claude-code --allow-tools`"
    rules: dict[str, list[str]] = {"allow": [], "deny": []}
    for document in found.settings:
        part = document.get("permissions")
        for name in rules:
            listing = part.get(name) if isinstance(part, dict) else None
            rules[name] += [str(rule) for rule in listing] if isinstance(listing, list) else []
    if any(rule.startswith(wanted) for rule in rules["deny"]):
        return broken("permission", f"permissions.deny has {wanted}: the agent cannot use the tools; take it out")
    if wanted not in rules["allow"]:
        return remark(
            "permission",
            f"Claude Code asks before each call of a tool until permissions.allow has {wanted} "
            f"({how}); what hooks bring needs no permission",
        )
    return fine("permission", f"permissions.allow has {wanted}")


def _others(found: Told) -> Check:
    """Name who else speaks to a prompt or at a start."""
    theirs = [one for one in found.hooks if not one.is_ours and one.event in ("UserPromptSubmit", "SessionStart")]
    names = {f"{_name(one)} on {one.event}": one for one in theirs}
    rivals = [name for name, one in names.items() if MEMORY.search(_name(one))]
    if rivals and found.ours:
        return broken(
            "others",
            f"another memory answers the same event: {listed(rivals)}; both reach the model, and may "
            "contradict each other; disable one of them",
        )
    if names:
        return remark("others", f"other hooks run on the same events: {listed(names)}")
    return fine("others", "no other hook runs when a prompt is sent or a session starts")


def _name(hook: Hook) -> str:
    """Return what another hook is called by: its plugin, else its program; never its arguments, which may be secret."""
    if hook.where.startswith("plugin "):
        return hook.where
    words = command_of(hook.call)[1]
    names = [os.path.basename(word) for word in words[:3] if not word.startswith("-") and "=" not in word]
    if len(words) > 1 and names and not os.path.splitext(names[-1])[1]:
        names = names[:1]
    return " ".join(names) or str(hook.call.get("server") or hook.call.get("type") or "a hook")[:40]
