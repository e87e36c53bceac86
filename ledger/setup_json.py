"""Put what is wanted into the text of a JSON settings file, and take it out again.

What is ours is told apart by what it does (`setup_clients.is_our_hook`), not by
marks, because the clients rewrite their files.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from ledger import setup_clients as clients
from ledger import splice
from ledger.errors import FileFault, Refused
from ledger.setup_clients import HOW_TO_MEND


class Wanted(NamedTuple):
    """What one JSON file is to hold.

    `servers` is the key of its servers, with `entry` for ours; `hooks` are groups
    by event; `allows` is whether the permission has to be there (True), must not
    (False) or stays as it is (None).
    """

    servers: str | None = None
    entry: dict[str, Any] | None = None
    hooks: dict[str, dict[str, Any]] | None = None
    allows: bool | None = None


def parsed(text: str, path: str) -> dict[str, Any]:
    """Return what a settings file says; an empty one says nothing.

    Raises:
        FileFault: it is no JSON object.
    """
    try:
        found = json.loads(_bare(text) or "{}")
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise FileFault(f"{path} is no JSON{where}; nothing was written", HOW_TO_MEND) from None
    if not isinstance(found, dict):
        raise FileFault(f"{path} is JSON but no object; nothing was written", HOW_TO_MEND)
    return found


def _bare(text: str) -> str:
    return text.removeprefix("\ufeff").strip(" \t\r\n")


# -- put in ----------------------------------------------------------------------------------------------------------


def put(text: str, wanted: Wanted, path: str = "the file") -> str:
    """Return the text with everything that is wanted in it; the same text when all of it is there.

    Raises:
        FileFault: the text is no JSON object, or holds something else where ours has to go.
        Refused: another server has our name.
    """
    parsed(text, path)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix("\ufeff") if _bare(text) else "{}\n"
    editor = _Editor(body, path)
    if wanted.servers and wanted.entry:
        editor.put_server(wanted.servers, wanted.entry)
    for event, group in (wanted.hooks or {}).items():
        editor.put_hook(event, group)
    if wanted.allows is not None:
        editor.set_permission(wanted.allows)
    return text if editor.text == body and _bare(text) else mark + editor.text


class _Editor:
    """One text being edited."""

    def __init__(self, text: str, path: str) -> None:
        self.text, self.path = text, path
        self.style = splice.style_of(text)

    def value(self, part: splice.Part) -> Any:
        return json.loads(self.text[part.value : part.end])

    def container(self, keys: tuple[str, ...], empty: str) -> int:
        """Return where a container begins, after making it and those around it.

        Raises:
            FileFault: something else has its name.
        """
        for depth in range(1, len(keys) + 1):
            kind = empty if depth == len(keys) else "{}"
            at = splice.find(self.text, keys[:depth])
            if at is None:
                parent = splice.find(self.text, keys[: depth - 1])
                assert parent is not None
                made: Any = [] if kind == "[]" else {}
                self.text = splice.put(self.text, parent, keys[depth - 1], made, self.style)
            elif self.text[at] != kind[0]:
                name = ".".join(keys[:depth])
                kind = "array" if kind == "[]" else "object"
                raise FileFault(f"{name} in {self.path} is no {kind}; nothing was written", HOW_TO_MEND)
        found = splice.find(self.text, keys)
        assert found is not None
        return found

    def put_server(self, servers: str, entry: dict[str, Any]) -> None:
        at = self.container((servers,), "{}")
        held = [part for part in splice.parts(self.text, at) if part.key == clients.SERVER]
        if not held:
            self.text = splice.put(self.text, at, clients.SERVER, entry, self.style)
            return
        found = self.value(held[-1])
        if not clients.is_our_server(found) and not clients.is_remote_server(found):
            raise Refused(
                f"{self.path} has another server named {clients.SERVER}; nothing was written",
                "rename or remove that one, then run this again",
            )
        if clients.is_remote_server(found) or clients.is_remote_server(entry):
            if found != entry:
                self.text = splice.replace(self.text, held[-1], entry, self.style)
            return
        self.refuse_other_ledger(found, entry)
        merged = {**found, **entry}
        if isinstance(found.get("env"), dict):
            kept = {name: value for name, value in found["env"].items() if name != "LEARNINGS_FILE"}
            merged["env"] = {**kept, **entry.get("env", {})}
        if merged != found:
            self.text = splice.replace(self.text, held[-1], merged, self.style)

    def refuse_other_ledger(self, found: dict[str, Any], entry: dict[str, Any]) -> None:
        """Refuse to lead a server to another ledger than it has, unless told which."""
        theirs, ours = clients.file_of(found), clients.file_of(entry)
        if theirs and not ours:
            raise Refused(
                f"the server in {self.path} serves the ledger {theirs}; nothing was written",
                "say with --file which ledger is meant",
            )

    def put_hook(self, event: str, group: dict[str, Any]) -> None:
        """Let the event have our hook once: the first of ours is brought up to date, others of ours go."""
        at = self.container(("hooks", event), "[]")
        ours = self.our_hooks(event)
        if not ours:
            self.text = splice.put(self.text, at, None, group, self.style)
            return
        for place in reversed(ours[1:]):
            self.take_hook(event, *place)
        place = ours[0]
        hook = self.hook_parts(event, place[0])[place[1]]
        if self.value(hook) != group["hooks"][0]:
            self.text = splice.replace(self.text, hook, group["hooks"][0], self.style)
        self.put_matcher(event, place, group)

    def put_matcher(self, event: str, place: tuple[int, int], group: dict[str, Any]) -> None:
        """Let our hook be called for the tools it is for; another's hook in the same group keeps its own."""
        part = self.groups(event)[place[0]]
        held = self.value(part)
        if "matcher" not in group or held.get("matcher") == group["matcher"]:
            return
        if len(held["hooks"]) == 1:
            self.text = splice.replace(self.text, part, {**held, "matcher": group["matcher"]}, self.style)
            return
        self.take_hook(event, *place)
        at = self.container(("hooks", event), "[]")
        self.text = splice.put(self.text, at, None, group, self.style)

    def set_permission(self, is_allowed: bool) -> None:
        keys = ("permissions", "allow")
        if not is_allowed and splice.find(self.text, keys) is None:
            return
        at = self.container(keys, "[]")
        held = [index for index, part in enumerate(splice.parts(self.text, at)) if self.is_permission(part)]
        if is_allowed and not held:
            self.text = splice.put(self.text, at, None, clients.PERMISSION, self.style)
        for index in reversed(held) if not is_allowed else ():
            self.text = splice.take(self.text, at, index)

    def is_permission(self, part: splice.Part) -> bool:
        return bool(self.value(part) == clients.PERMISSION)

    # -- hooks of an event: (index of the group, index of the hook in it)

    def groups(self, event: str) -> list[splice.Part]:
        at = splice.find(self.text, ("hooks", event))
        return [] if at is None or self.text[at] != "[" else splice.parts(self.text, at)

    def hook_parts(self, event: str, group: int) -> list[splice.Part]:
        found = self.groups(event)[group]
        if self.text[found.value] != "{":
            return []
        held = [part for part in splice.parts(self.text, found.value) if part.key == "hooks"]
        return splice.parts(self.text, held[-1].value) if held and self.text[held[-1].value] == "[" else []

    def our_hooks(self, event: str, is_ours: Callable[[object], bool] = clients.is_our_hook) -> list[tuple[int, int]]:
        return [
            (group, index)
            for group in range(len(self.groups(event)))
            for index, hook in enumerate(self.hook_parts(event, group))
            if is_ours(self.value(hook))
        ]

    def take_hook(self, event: str, group: int, index: int) -> None:
        """Take one hook out, and its group when nothing else is in it."""
        at = splice.find(self.text, ("hooks", event))
        assert at is not None
        if len(self.hook_parts(event, group)) == 1:
            self.text = splice.take(self.text, at, group)
            return
        start = self.groups(event)[group].value
        hooks = [part.value for part in splice.parts(self.text, start) if part.key == "hooks"][-1]
        self.text = splice.take(self.text, hooks, index)

    def prune(self, keys: tuple[str, ...], before: dict[str, Any]) -> None:
        """Take out containers that are empty and were not there before, from the inside."""
        for depth in range(len(keys), 0, -1):
            at = splice.find(self.text, keys[:depth])
            if at is None or self.text[at] not in "{[" or splice.parts(self.text, at):
                return
            if _held(before, keys[:depth]) is not None:
                return
            parent = splice.find(self.text, keys[: depth - 1])
            assert parent is not None
            names = [part.key for part in splice.parts(self.text, parent)]
            self.text = splice.take(self.text, parent, len(names) - 1 - names[::-1].index(keys[depth - 1]))


# -- take out --------------------------------------------------------------------------------------------------------


def take(text: str, wanted: Wanted, path: str = "the file", before: str | None = None) -> str:
    """Return the text without what is ours; `before` is what stood there first, and what it has of ours stays.

    Raises:
        FileFault: the text is no JSON object.
    """
    parsed(text, path)
    if not _bare(text):
        return text
    old = parsed(before, path) if before is not None else {}
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    editor = _Editor(text.removeprefix("\ufeff"), path)
    if wanted.servers:
        _take_server(editor, wanted.servers, old)
    if wanted.hooks is not None:
        for event in _events(editor):
            _take_hooks(editor, event, old)
        _take_permission(editor, old)
    return mark + editor.text


def has_ours(text: str, wanted: Wanted, path: str = "the file") -> bool:
    """Tell whether setup wrote a part of this text."""
    found = parsed(text, path)
    if wanted.servers and _is_written(_held(found, (wanted.servers, clients.SERVER))):
        return True
    if wanted.hooks is None or not _bare(text):
        return False
    editor = _Editor(text.removeprefix("\ufeff"), path)
    return any(editor.our_hooks(event, clients.is_setup_hook) for event in _events(editor))


def without_hooks(text: str, path: str = "the file") -> str:
    """Return the text without our hooks; everything else stays.

    Raises:
        FileFault: the text is no JSON object.
    """
    parsed(text, path)
    if not _bare(text):
        return text
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    editor = _Editor(text.removeprefix("\ufeff"), path)
    for event in _events(editor):
        _take_hooks(editor, event, {})
    return mark + editor.text


def _is_written(entry: object) -> bool:
    return clients.is_setup_server(entry) or clients.is_remote_server(entry)


def _take_server(editor: _Editor, servers: str, old: dict[str, Any]) -> None:
    at = splice.find(editor.text, (servers,))
    if at is None or editor.text[at] != "{":
        return
    former = _held(old, (servers, clients.SERVER))
    for index, part in reversed(list(enumerate(splice.parts(editor.text, at)))):
        if part.key != clients.SERVER or not _is_written(editor.value(part)):
            continue
        if former is None:
            editor.text = splice.take(editor.text, at, index)
            editor.prune((servers,), old)
        elif editor.value(part) != former:
            editor.text = splice.replace(editor.text, part, former, editor.style)


def _take_hooks(editor: _Editor, event: str, old: dict[str, Any]) -> None:
    """Take our hooks of one event out; those that a person had put there first come back as they were."""
    groups = _held(old, ("hooks", event))
    former = [
        hook
        for group in (groups if isinstance(groups, list) else [])
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for hook in group["hooks"]
        if clients.is_our_hook(hook)
    ]
    ours = editor.our_hooks(event, clients.is_setup_hook)
    for place in reversed(ours[len(former) :]):
        editor.take_hook(event, *place)
    for (group, index), hook in zip(ours, former, strict=False):
        part = editor.hook_parts(event, group)[index]
        if editor.value(part) != hook:
            editor.text = splice.replace(editor.text, part, hook, editor.style)
    if ours:
        editor.prune(("hooks", event), old)


def _take_permission(editor: _Editor, old: dict[str, Any]) -> None:
    keys = ("permissions", "allow")
    at = splice.find(editor.text, keys)
    if at is None or editor.text[at] != "[":
        return
    before = _held(old, keys)
    text = editor.text
    if not isinstance(before, list) or clients.PERMISSION not in before:
        editor.set_permission(is_allowed=False)
    if editor.text != text:
        editor.prune(keys, old)


def _events(editor: _Editor) -> list[str]:
    at = splice.find(editor.text, ("hooks",))
    return [] if at is None or editor.text[at] != "{" else [part.key or "" for part in splice.parts(editor.text, at)]


def _held(document: dict[str, Any], keys: tuple[str, ...]) -> Any:
    found: Any = document
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
