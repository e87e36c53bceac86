"""Answer the events of an agent's client: what a prompt, a session and a subagent are shown, and what is kept of them.

One function an event, from the client's JSON to the JSON it reads, '' for
nothing. What a tool wrote, a compaction summed up and an agent said last is
handed to the queue (`handover.py`) and answered by nothing. Whatever goes wrong
is noted in `sessions.db` and answered by nothing: a hook never delays or breaks
a prompt. Robots get and feed nothing unless the setting `robots` is on;
`LEARNINGS_OFF=1` and the setting `off` come first: all that is kept then is which notes a
tool wrote, marked as feeding nothing, since they would pass for a person's edit.
The way from the working folder to the project is the caller's, because it lies
above this level.
Lean path: stdlib only, and `typing` only where the read path brings it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time

from ledger import ready, sql
from ledger.home import machine_of, uri_to_read
from ledger.ready import branch_of
from ledger.sessions import MACHINE, OFF, PROMPT, SHOWN, SILENT, Sessions, caller, scrubbed
from ledger.settings import is_off as is_project_off
from ledger.settings import serves_robots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ledger.echo import Learned
    from ledger.handover import Handed
    from ledger.own_copy import Loaded
    from ledger.reader import Reader
    from ledger.recall import Recall, Recalled

BUSY_MS = 100
"""Longest wait for a ledger that is locked."""

LEDGER = "ledger"
"""Name of the breaker of the ledger's file."""

TOOLS = ("tool", "tool-failed")
"""Events that tell who wrote a note, which is remembered whatever is switched off."""

NOTE_ENDING = ".md"
"""What a note's name ends in: for any other file that a tool wrote nothing is loaded."""

SHELL = "Bash"
"""The tool that may write any file and names none."""

NOTHING_OF_OURS = ("", "robot", "empty", "echo", "no note", "no transcript")
"""Outcomes of handing something over that are no fault: it was kept, or there was nothing to keep."""

TEXT_FIELDS = ("prompt", "task", "description")
"""Where a client may say what a subagent is to do."""


class Asked:
    """One event of a client, and what the process around it knows."""

    __slots__ = ("env", "files_of", "found", "kept", "loaded", "now", "path", "payload", "peeked", "project_of", "who")

    def __init__(
        self, payload: Mapping[str, Any], env: Mapping[str, str], path: str, project_of: Callable[[str], str | None],
        now: float, files_of: Callable[[str], list[str]] | None = None, loaded: Loaded | None = None,
    ) -> None:  # fmt: skip
        self.files_of, self.loaded = files_of, loaded
        self.payload, self.env, self.path, self.project_of, self.now = payload, env, path, project_of, now
        self.kept = Sessions(path)
        self.who = caller(env, self.text("session_id"), None, self.text("source") or None)
        self.peeked: Peeked | None = None
        self.found: Recalled | None = None

    def text(self, name: str) -> str:
        """Return a field of the payload that is a text, '' when it is none."""
        found = self.payload.get(name)
        return found if isinstance(found, str) else ""

    def project(self) -> str | None:
        """Return the project of the event's own folder, and remember it of the session."""
        self.who.project = self.project_of(self.text("cwd")) if self.text("cwd") else None
        return self.who.project

    def is_served(self) -> bool:
        """Tell whether this caller is to be shown anything, as the ledger's settings say."""
        known = self.peeked
        if known is None or known.is_off(self.who.project, self.path):
            return False
        return not self.who.is_robot or known.allows_robots(self.path)

    def is_repeated(self, what: str) -> bool:
        """Tell whether the other set-up answers this event already: where both are in force, each hook runs twice."""
        own, other = ("plugin", "setup") if self.env.get("CLAUDE_PLUGIN_ROOT") else ("setup", "plugin")
        return bool(self.who.session) and not self.kept.is_first(f"{what} {self.who.session}", own, other, self.now)

    def repeated(self, learnings: Sequence[Learned]) -> frozenset[str]:
        """Return which of these stand in what the client has loaded in the event's folder."""
        loaded, folder = self.at_hand(), self.text("cwd")
        return loaded.repeated(folder, learnings) if loaded is not None and folder else frozenset()

    def at_hand(self) -> Loaded | None:
        """Return what the client has loaded, as far as it was looked at; None when that is not known."""
        if self.loaded is None and self.files_of is not None:
            from ledger.own_copy import Loaded

            self.loaded = Loaded(self.files_of)
        return self.loaded

    def feeds(self) -> bool:
        """Tell whether something of this caller may be kept.

        A robot feeds nothing while the ledger cannot be read.
        """
        if is_off(self.env):
            return False
        return not self.who.is_robot or (self.peeked is not None and self.peeked.allows_robots(self.path))


class NotKept(Exception):
    """Something was handed over and could not be kept."""


class Peeked:
    """What is known of a ledger before anything of the read path is loaded."""

    __slots__ = ("hash", "last_s", "seq", "settings")

    def __init__(self, settings: Sequence[Sequence[str]], last: Sequence[Any]) -> None:
        self.settings = settings
        self.seq, self.hash, self.last_s = last

    def allows_robots(self, path: str) -> bool:
        """Tell whether sessions that nobody sits at are shown learnings as well."""
        return serves_robots(self.settings, self._machine(path))

    def is_off(self, project: str | None, path: str) -> bool:
        """Tell whether recall is switched off, everywhere or for this project."""
        return is_project_off(self.settings, self._machine(path), project)

    def _machine(self, path: str) -> str | None:
        """Return this machine's id, read only when something is set for one machine."""
        return machine_of(path) if any(machine for _, _, machine, _ in self.settings) else None


def peek(path: str) -> Peeked | None:
    """Return settings and head of a ledger, None when there is none at that place.

    Raises:
        sqlite3.Error: the file cannot be read, or is none of this program's.
    """
    if not os.path.isfile(path):
        return None
    uri = uri_to_read(os.path.abspath(path))
    file = sqlite3.connect(uri, uri=True, timeout=BUSY_MS / 1_000, isolation_level=None)
    try:
        file.execute("PRAGMA query_only = 1").fetchall()
        if file.execute(sql.FILE_IDENTITY).fetchone() != (sql.APPLICATION_ID, sql.SCHEMA_VERSION):
            raise sqlite3.DatabaseError("no ledger of this program's schema")
        return Peeked(file.execute(sql.SETTINGS).fetchall(), file.execute(sql.LAST_EVENT).fetchone() or (0, b"", None))
    finally:
        file.close()


def is_off(env: Mapping[str, str]) -> bool:
    """Tell whether everything is switched off for this process."""
    return env.get("LEARNINGS_OFF", "") not in ("", "0")


def run(
    event: str, payload: Mapping[str, Any], env: Mapping[str, str], path: str,
    project_of: Callable[[str], str | None], clock: Callable[[], float] = time.time,
    files_of: Callable[[str], list[str]] | None = None,
) -> str:  # fmt: skip
    """Return what the client is to read for an event, '' for nothing; never raises.

    Args:
        event: as `hooks.json` names it: a key of `EVENTS`; any other is answered by nothing.
        payload: the client's JSON.
        env: the environment the client gave.
        path: the ledger's file, which may not exist.
        files_of: tells what the client loads in a folder, which is not repeated; None when that is not known.
    """
    act = EVENTS.get(event)
    if act is None or not os.path.isfile(path):
        return ""
    if is_off(env):
        return _marked(Asked(payload, env, path, project_of, clock(), files_of), event) if event in TOOLS else ""
    asked, begun = Asked(payload, env, path, project_of, clock(), files_of), time.perf_counter()
    try:
        if event in CAPTURES:
            _seen(asked)
        elif not asked.kept.allowed(LEDGER, asked.now):
            return ""
        else:
            asked.peeked = peek(path)
        said, used = act(asked)
    except Exception as error:  # noqa: BLE001 - the one place that swallows everything (STYLE, errors)
        noted(asked, event, error)
        return ""
    asked.kept.ran(event, asked.who, 1_000 * (time.perf_counter() - begun), asked.now, used)
    if asked.peeked is not None:
        asked.kept.passed(LEDGER)
    return said


def _marked(asked: Asked, event: str) -> str:
    """Remember what a tool wrote in a session that is switched off, for it would pass for a person's edit; no trace
    of the session itself is left."""
    try:
        tool_used(asked)
    except Exception as error:  # noqa: BLE001 - as in `run`
        noted(asked, event, error)
    return ""


def _seen(asked: Asked) -> None:
    """Look at the settings; a ledger that cannot be read does not keep anything from being handed over."""
    try:
        asked.peeked = peek(asked.path)
    except (sqlite3.Error, OSError):
        asked.peeked = None


def noted(asked: Asked, event: str, error: BaseException) -> bool:
    """Leave a line for `doctor`; tell whether the ledger was locked, and then is not waited for until it has rested."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    is_locked = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or type(error).__name__ == "Locked"
    asked.kept.failed(event, asked.who.entrypoint, "Locked" if is_locked else type(error).__name__, asked.now)
    if is_locked:
        asked.kept.tripped(LEDGER, asked.now)
    return is_locked


# -- the events ------------------------------------------------------------------------------------------------------


def prompt_submitted(asked: Asked) -> tuple[str, Sequence[str]]:
    """Answer a prompt, for clients that cannot ask the server."""
    asked.project()
    if not asked.is_served():
        return "", (PROMPT, OFF)
    with Opened(asked.path) as desk:
        return prompt_answered(asked, desk.recall)


def prompt_answered(asked: Asked, recall: Recall) -> tuple[str, Sequence[str]]:
    """Answer a prompt with a recall that somebody keeps, and say what is to be counted."""
    found = asked.found = recall.recall(
        asked.text("prompt"), asked.who.session or None, asked.who.project,
        prompt_id=asked.text("prompt_id") or None, transcript=asked.text("transcript_path") or None,
        loaded=asked.repeated,
    )  # fmt: skip
    return said("UserPromptSubmit", found.text), (PROMPT, outcome(found))


def session_started(asked: Asked) -> tuple[str, Sequence[str]]:
    """Answer the start of a session: the start block; where a context went, the newest summary and what it held."""
    source = asked.text("source") or "startup"
    if asked.is_repeated(f"start {asked.who.source}"):
        return "", ()
    text = ready.given(asked) if source == "startup" else None
    if text is None:
        asked.project()
    if not asked.is_served():
        return "", ()
    if text is None:
        text = _started(asked, source)
    from ledger import begin

    last_s = asked.peeked.last_s if asked.peeked is not None else None
    waits = 0 if asked.who.is_robot else begin.waits(asked.path, asked.now)
    return said("SessionStart", text, begin.remark(asked.kept, last_s, asked.now, waits)), ()


def _started(asked: Asked, source: str) -> str:
    """Make the block of a session that starts, and keep it for the next one of this folder."""
    from ledger import begin

    session, project = asked.who.session or None, asked.who.project
    with Opened(asked.path) as desk:
        text, summary = None, ""
        if source != "startup":
            summary = begin.summed(desk.reader, asked)
            if session is not None:
                text = begin.again(desk.reader, session, project, asked.now, asked.repeated)
        elif session is not None and ready.make(asked, desk.reader):
            text = ready.given(asked)
        if text is None:
            branch = branch_of(asked.text("cwd"))
            text = desk.recall.session_start(project, branch, session, source, asked.repeated).text
        return f"{summary}\n{text}".strip("\n")


def subagent_started(asked: Asked) -> tuple[str, Sequence[str]]:
    """Answer the start of a subagent: recall for its task where the client tells it, else the start block, once each.

    The internal summariser of a compaction counts as a subagent without a type; it is shown nothing.
    """
    agent = asked.text("agent_id")
    project = asked.project()
    if not asked.text("agent_type") or not asked.is_served() or asked.is_repeated(f"subagent {scrubbed(agent)}"):
        return "", ()
    session = f"{asked.who.session}/{agent}"
    task = next((asked.text(name) for name in TEXT_FIELDS if asked.text(name).strip()), "")
    with Opened(asked.path) as desk:
        if task:
            text = desk.recall.recall(task, session, project, loaded=asked.repeated).text
        elif desk.was_shown(session):
            text = ""
        else:
            text = desk.recall.session_start(project, branch_of(asked.text("cwd")), session).text
    return said("SubagentStart", text), ()


def tool_used(asked: Asked) -> tuple[str, Sequence[str]]:
    """Keep which notes a tool has written: a path, never a text.

    What a robot wrote and what is switched off is remembered too and not brought
    in: it would pass for a person's edit.

    Raises:
        NotKept: the disk or the redactor refused it.
    """
    given = asked.payload.get("tool_input")
    path = given.get("file_path") if isinstance(given, dict) else None
    paths = [path] if isinstance(path, str) and path.lower().endswith(NOTE_ENDING) else []
    if asked.text("tool_name") == SHELL:
        from ledger import shell

        own = asked.env.get("CLAUDE_CONFIG_DIR")
        paths = shell.wrote(asked.payload, os.path.expanduser("~"), asked.now, own)
    if not paths:
        return "", ()
    from ledger import handover

    feeds = asked.feeds() and not _is_off_here(asked)
    return _kept(handover.noted(asked.path, asked.payload, feeds=feeds, now=asked.now, paths=paths))


def compacted(asked: Asked) -> tuple[str, Sequence[str]]:
    """Keep the summary that a compaction made."""
    from ledger import handover

    return _handed(asked, handover.compacted)


def stopped(asked: Asked) -> tuple[str, Sequence[str]]:
    """Keep what an agent said last."""
    from ledger import handover

    return _handed(asked, handover.stopped)


def pointed(asked: Asked) -> tuple[str, Sequence[str]]:
    """Keep where the transcript is, before a compaction and at a session's end."""
    from ledger import handover

    return _handed(asked, handover.pointed)


def _handed(asked: Asked, hand: Callable[..., Handed]) -> tuple[str, Sequence[str]]:
    """Hand something over unless it is switched off here; the client is answered by nothing.

    While the ledger cannot say what is switched off, no text is kept, only where it
    stands: in the transcript, which whoever has the ledger open may read or leave.

    Raises:
        NotKept: the disk or the redactor refused it.
    """
    from ledger import handover

    if _is_off_here(asked):
        return "", ()
    act = hand if asked.peeked is not None else handover.pointed
    return _kept(act(asked.path, asked.payload, feeds=asked.feeds(), now=asked.now))


def _is_off_here(asked: Asked) -> bool:
    """Tell whether the ledger says that this project is switched off; False while it cannot be asked."""
    project = asked.project()
    return asked.peeked is not None and asked.peeked.is_off(project, asked.path)


def _kept(handed: Handed) -> tuple[str, Sequence[str]]:
    if handed.why not in NOTHING_OF_OURS:
        raise NotKept(handed.why)
    return "", ()


CAPTURES: dict[str, Callable[[Asked], tuple[str, Sequence[str]]]] = {
    "tool": tool_used,
    "tool-failed": tool_used,
    "compact": compacted,
    "stop": stopped,
    "end": pointed,
    "precompact": pointed,
}
"""The events of which something is kept, by the same words; a ledger that hangs does not keep them from it."""

EVENTS: dict[str, Callable[[Asked], tuple[str, Sequence[str]]]] = {
    "prompt": prompt_submitted,
    "session-start": session_started,
    "subagent-start": subagent_started,
    **CAPTURES,
}
"""The events that are known, by the word that the client's hooks call them with."""


# -- parts -----------------------------------------------------------------------------------------------------------


class Opened:
    """A ledger opened for one answer."""

    def __init__(self, path: str) -> None:
        from ledger.reader import open_reader
        from ledger.recall import Recall

        self.reader: Reader = open_reader(path, BUSY_MS)
        try:
            self.recall: Recall = Recall(self.reader, "hook")
        except BaseException:
            self.reader.close()
            raise

    def was_shown(self, session: str) -> bool:
        """Tell whether a session was shown anything."""
        from ledger.exposures import Exposures

        with Exposures(self.reader.path, self.reader.meta()["ledger_id"]) as kept:
            return bool(kept.shown(session))

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.recall.close()
        self.reader.close()


def outcome(found: Recalled) -> str:
    """Return what became of a prompt, as it is counted."""
    if found.text:
        return SHOWN
    return MACHINE if found.reasons.get("silence") == "machine" else SILENT


def said(event: str, text: str, remark: str = "") -> str:
    """Return the JSON that the client reads: `text` for the model, `remark` for the person; '' for neither."""
    document: dict[str, Any] = {}
    if text:
        document["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    if remark:
        document["systemMessage"] = remark
    return json.dumps(document) if document else ""
