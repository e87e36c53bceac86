"""Capture without a model: notes as they are written, summaries as they are made.

A note that a tool writes comes in at once, as agent-written. Which text a tool wrote is
remembered in `<ledger>.written` (keyed digests, disposable), so that a change of such a
note that no tool call made is known for what it is: a person's edit. Robots
feed nothing unless they are let, nor does what is switched off, but what was written there is
remembered too. Without the file, and for notes that no tool call was seen to write, everything is agent-written.
"""

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ledger import handover, ingest, place, sql
from ledger.errors import BadInput
from ledger.home import client_folder, machine_of
from ledger.ingest import Imported
from ledger.ledger import Ledger
from ledger.model import TRUST_AGENT, TRUST_NOTES, Reading, hook
from ledger.results import Summarised
from ledger.settings import is_off

WRITTEN_BYTES = 1_048_576
"""Size from which the older half of what tools wrote is forgotten."""

IMPORTER, PLACE = "memory-notes", "memory-note:"

UNFED = "unfed"
"""Marks what a session wrote that feeds nothing."""


class Notes(NamedTuple):
    """How notes are read: one of them by its path, and what a reading means for the ledger."""

    read: Callable[[str], Reading]
    plan: ingest.Plan
    vanished: ingest.Vanished


class Settled(NamedTuple):
    """What became of what hooks had handed over: imports, summaries, and how many records could not be used."""

    imported: list[Imported]
    summarised: list[Summarised]
    unusable: int


def is_note(path: str, home: str, places: Iterable[str] = ()) -> bool:
    """Tell whether a path is a note of a memory folder: the client's, an agent's, or one that was imported before."""
    if not path.lower().endswith(".md") or not os.path.isabs(path):
        return False
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    own = client_folder(home)
    for named, top in ((os.path.normpath(path), own), (real, os.path.realpath(own))):  # each may be a link
        folder = _memory_of(named, os.path.join(top, ""))
        if folder is not None and real.startswith(os.path.join(os.path.realpath(folder), "")):
            return True
    return any(real == root or real.startswith(os.path.join(root, "")) for root in places)


def _memory_of(path: str, own: str) -> str | None:
    """Return the memory folder below the client's own that a path leads into, None when it leads into none."""
    below = path.removeprefix(own).split(os.sep)[:-1] if path.startswith(own) else []
    at = next((number for number, part in enumerate(below, 1) if part in ("memory", "agent-memory")), None)
    return own + os.sep.join(below[:at]) if at is not None else None


def _brought(ledger: Ledger, path: str, notes: Notes) -> Imported:
    reading = notes.read(path)
    return ingest.run(ledger, reading._replace(trust=min(reading.trust, TRUST_NOTES)), notes.plan, notes.vanished)


def compacted(
    ledger: Ledger, payload: Mapping[str, Any], project: str | None, *, feeds: bool = True
) -> Summarised | None:
    """Keep the summary that a compaction made; None when there is none, or its session feeds nothing.

    Raises:
        BadInput, GuardFailed: it cannot be stored; nothing was written.
    """
    session, text = payload.get("session_id"), payload.get("compact_summary")
    if not feeds or not isinstance(session, str) or not isinstance(text, str) or not text.strip() or not project:
        return None
    with ledger.acting(hook()):
        return ledger.summarise(session, project, handover.spoken(text))


def settle(ledger: Ledger, notes: Notes, home: str, project_of: Callable[[str], str | None]) -> Settled:
    """Do what hooks without a ledger at hand left to be done: notes to import, summaries to keep.

    Raises:
        Locked, NoSpace …: what was not done is offered again.
    """
    told = Settled([], [], 0)
    for one in handover.waiting(ledger.path, handover.SOON):
        taken = handover.take(ledger.path, one)
        if taken is None:
            continue
        unusable = taken.torn
        try:
            for record in taken.records:
                try:
                    unusable += not _settled(ledger, record, notes, home, project_of, told)
                except BadInput:
                    unusable += 1
        except BaseException:
            handover.give_back(taken)
            raise
        handover.done(taken)
        told = told._replace(unusable=told.unusable + unusable)
    return told


def _settled(
    ledger: Ledger,
    record: Mapping[str, Any],
    notes: Notes,
    home: str,
    project_of: Callable[[str], str | None],
    told: Settled,
) -> bool:
    """Do what one record asks for; False when it cannot be. What is switched off feeds nothing."""
    cwd = record.get("cwd")
    project = project_of(cwd) if isinstance(cwd, str) else None
    feeds = not is_off(ledger.reader.rows(sql.SETTINGS, {}), machine_of(ledger.path), project)
    if record.get("kind") == "summary":
        payload = {"session_id": record.get("session_id"), "compact_summary": record.get("text")}
        kept = compacted(ledger, payload, project, feeds=feeds)
        told.summarised.extend([kept] if kept is not None else [])
        return kept is not None or not feeds
    path = record.get("path")
    if (
        record.get("kind") != "note"
        or not isinstance(path, str)
        or not is_note(path, home, ledger.reader.imported_paths())
    ):
        return False
    if not _is_as_written(path, record):
        return False  # somebody changed it since: the next scan reads it, and tells by whom
    Written(ledger).remember(path, feeds=record.get("feeds") is True)
    if feeds and record.get("feeds") is True:
        told.imported.append(_brought(ledger, path, notes))
    return True


def _is_as_written(path: str, record: Mapping[str, Any]) -> bool:
    """Tell whether a note is still what it was when a hook saw it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (record.get("size"), record.get("changed_ns"))


# -- whose words a note holds ------------------------------------------------------------------------------------------


def by_hand(ledger: Ledger, reading: Reading) -> list[Reading]:
    """Return a reading of notes in two: what a person changed by hand, and the rest; just itself when nothing was."""
    if reading.importer != IMPORTER or reading.trust != TRUST_NOTES:
        return [reading]
    written = Written(ledger)
    paths = {draft.source.path for draft in reading.drafts if draft.source is not None and draft.source.path}
    hands = sorted(path for path in paths if written.is_by_hand(path))
    if not hands:
        return [reading]
    mine = tuple(f"{PLACE}{path}#" for path in hands)
    own = [draft for draft in reading.drafts if draft.source is not None and draft.source.path in hands]
    rest = [draft for draft in reading.drafts if draft.source is None or draft.source.path not in hands]
    whole = frozenset(locator for locator in reading.whole if locator.startswith(mine))
    marks = {path: mark for path, mark in reading.marks.items() if path not in hands}  # what is by hand is read again
    person = reading._replace(
        trust=TRUST_AGENT, paths=tuple(hands), drafts=own, whole=whole, roots=tuple(hands), unread=(), diagnostics=[],
        marks={}, passed={},
    )  # fmt: skip
    others = reading._replace(drafts=rest, whole=reading.whole - whole, unread=(*reading.unread, *hands), marks=marks)
    return [person, others]


def fed(ledger: Ledger, reading: Reading) -> Reading:
    """Return a reading of notes without those that say just what a session wrote that feeds nothing."""
    written = Written(ledger)
    paths = {draft.source.path for draft in reading.drafts if draft.source is not None and draft.source.path}
    left = sorted(path for path in paths if written.is_unfed(path))
    if not left:
        return reading
    drafts = [draft for draft in reading.drafts if draft.source is None or draft.source.path not in left]
    theirs = tuple(f"{PLACE}{path}#" for path in left)
    whole = frozenset(locator for locator in reading.whole if not locator.startswith(theirs))
    marks = {path: mark for path, mark in reading.marks.items() if path not in left}
    return reading._replace(drafts=drafts, whole=whole, unread=(*reading.unread, *left), marks=marks)


class Written:
    """What tool calls wrote into notes: lines of a path's and a text's keyed digest, in a file that may go any time.

    A third word marks what a session wrote that feeds nothing; the last line of a text counts.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.path = ledger.path + ".written"
        self._key = ledger.store.dedup_key
        self._known: dict[str, dict[str, bool]] | None = None

    def remember(self, path: str, *, feeds: bool = True) -> None:
        """Remember what a note says now as written by a tool; nothing happens when either file cannot be used."""
        text = place.bounded(_real(path))
        if text is None:
            return
        mark = "" if feeds else f" {UNFED}"
        line = f"{self._digest(_real(path))} {self._digest(body_of(text))}{mark}\n".encode("ascii")
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        try:
            fd = os.open(self.path, flags, 0o600)
            try:
                place.append_line(fd, line)
                size = os.fstat(fd).st_size
            finally:
                os.close(fd)
            if size > WRITTEN_BYTES:
                self._forget_half()
        except OSError:
            return
        self._known = None

    def is_by_hand(self, path: str) -> bool:
        """Tell whether a note that a tool wrote once says something that no tool call wrote."""
        texts = self._texts().get(self._digest(_real(path)))
        if texts is None:
            return False
        text = place.bounded(_real(path))
        return text is not None and self._digest(body_of(text)) not in texts

    def is_by_tool(self, path: str) -> bool:
        """Tell whether a note says just what a tool call wrote."""
        return self._fed(path) is not None

    def is_unfed(self, path: str) -> bool:
        """Tell whether a note says just what a session wrote that feeds nothing."""
        return self._fed(path) is False

    def _fed(self, path: str) -> bool | None:
        """Return whether the session that wrote what a note says feeds the ledger; None when no tool call wrote it."""
        texts, text = self._texts().get(self._digest(_real(path))), place.bounded(_real(path))
        return None if texts is None or text is None else texts.get(self._digest(body_of(text)))

    def _texts(self) -> dict[str, dict[str, bool]]:
        """Return the digests of texts by the digest of their path, and whether they feed; a broken line is nothing."""
        if self._known is None:
            self._known = {}
            for line in (place.bounded(self.path, 2 * WRITTEN_BYTES) or "").splitlines():
                words = line.split()
                if words[2:] in ([], [UNFED]) and len(words) >= 2 and len(words[1]) == 64:
                    self._known.setdefault(words[0], {})[words[1]] = len(words) == 2
        return self._known

    def _digest(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def _forget_half(self) -> None:
        lines = (place.bounded(self.path, 2 * WRITTEN_BYTES) or "").splitlines(keepends=True)
        temporary = f"{self.path}.{os.getpid()}.new"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.writelines(lines[len(lines) // 2 :])
        os.replace(temporary, self.path)


def _real(path: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def body_of(text: str) -> str:
    """Return a note without its header, which the client rewrites by itself; white space runs count as one."""
    lines = text.splitlines()
    if lines and lines[0].rstrip() == "---":
        ends = [number for number, line in enumerate(lines[1:200], 1) if line.rstrip() in ("---", "...")]
        lines = lines[ends[0] + 1 :] if ends else lines
    return " ".join(" ".join(lines).split())
