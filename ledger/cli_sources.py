"""Bring sources into the ledger, for `scan` and for `watch`: which there are, what is left out, and what came of each.

All sources are read before the first is recorded, so that a note that moved from
one to another keeps its learning. A source that breaks an importer is left out
with a remark, and the others come in.
"""

import fnmatch
import json
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger.cli_call import Call
from ledger.errors import LedgerError
from ledger.home import machine_of, working_folder
from ledger.model import TRUST_FILES, Diagnostic, Reading

if TYPE_CHECKING:
    from importers.registry import Place
    from ledger.handover import Waiting
    from ledger.ingest import Imported
    from ledger.ledger import Ledger
    from ledger.reader import Reader

PLACES, EXCLUDED = "scan_paths", "scan_exclude"
"""The settings with more places to read, and with those to leave out."""

NOTES, PLACE, TRANSCRIPT = "memory-notes", "memory-note:", "transcript"

FAILED = "source-failed"
"""Code of the diagnostic on a source that broke its importer."""

Progress = Callable[[int, int], None]
Read = Callable[[Sequence[str]], list[Reading]]


SPOKEN = {"mem0": "mem-zero"}
"""Kinds by the names of their tools, where these differ."""


class Chosen(NamedTuple):
    """What of the sources is read.

    `only` and `excluded` are kinds, paths and globs of paths; `since` is the
    time (seconds since 1970) before which a file was last changed, or an item observed, that is left out.
    """

    only: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    since: float | None = None

    def takes(self, source: "Place") -> bool:
        """Tell whether a source is read at all."""
        is_wanted = not self.only or any(
            _names(one, source.kind, source.path, is_inside=True) or (not source.kind and os.sep not in one)
            for one in self.only
        )
        return is_wanted and not any(_names(one, source.kind, source.path) for one in self.excluded)

    def leaves_out(self, kind: str, path: str | None) -> bool:
        """Tell whether what stands in a file is left out."""
        if any(_names(one, kind, path or "") for one in self.excluded):
            return True
        if self.only and not any(_names(one, kind, path or "") for one in self.only):
            return True
        return self.since is not None and path is not None and _changed_at(path) < self.since


def _names(one: str, kind: str, path: str, *, is_inside: bool = False) -> bool:
    """Tell whether a kind, a path or a glob means a path; `is_inside` also when it means something in it."""
    if SPOKEN.get(one, one) == kind or fnmatch.fnmatchcase(path, one):
        return True
    named, real = _real(one), _real(path)
    return _is_in(real, named) or (is_inside and _is_in(named, real))


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _real(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))


def _changed_at(path: str) -> float:
    """Return when a file was last changed, with the log beside it; what is no file, or gone, is as new as can be."""
    times = []
    for one in (path, path + "-wal"):
        try:
            found = os.lstat(one)
        except OSError:
            continue
        times.append(found.st_mtime if stat.S_ISREG(found.st_mode) else float("inf"))
    return max(times, default=float("inf"))


# -- which there are -------------------------------------------------------------------------------------------------


def listed(reader: "Reader", ledger: str, name: str, *, is_own: bool = False) -> list[str]:
    """Return the texts of a setting that is a list: the ledger's and this machine's, or this machine's own."""
    from ledger import sql

    machine = machine_of(ledger)
    held = [
        value
        for setting, scope, other, value in reader.rows(sql.SETTINGS, {})
        if setting == name and (other == machine if scope == "machine" else not is_own)
    ]
    return list(dict.fromkeys(text for value in held for text in json.loads(value)))


def usual(call: Call) -> "list[Place]":
    """Return what stands in the usual places of every kind."""
    from importers import usual
    from importers.kinds import Where

    return usual.places(Where(os.path.expanduser("~"), working_folder(), call.env), call.remark)


def others(ledger: "Ledger") -> list[str]:
    """Return the places that settings name, and those that were imported before."""
    return [*listed(ledger.reader, ledger.path, PLACES), *ledger.reader.imported_paths()]


def sources_of(places: Iterable["Place"], more: Iterable[str]) -> "list[Place]":
    """Return usual places, then others that are there and are not among those, each once."""
    from importers.registry import Place

    found: dict[str, Place] = {}
    for place in places:
        found.setdefault(f"{place.kind} {_real(place.path)}", place)
    usual = [(source.kind, _real(source.path)) for source in found.values()]
    for path in more:
        real = _real(path)
        is_known = any(real == place or (kind == NOTES and _is_in(real, place)) for kind, place in usual)
        if os.path.exists(real) and not is_known:
            found.setdefault(real, Place("", path))
    return list(found.values())


# -- reading ---------------------------------------------------------------------------------------------------------


def readings(sources: "Sequence[Place]", read: Read, since: float | None = None) -> list[Reading]:
    """Read sources together; when that breaks, one by one, without the one that does.

    Files last changed before `since` are not even opened, where a source is known by its files.
    """
    paths = [path for source in sources for path in _paths(source) if since is None or _changed_at(path) >= since]
    if not paths:
        return []
    try:
        return read(paths)
    except LedgerError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one source, the others come in
        if len(sources) == 1:
            return [_broken(sources[0].path, error)]
    found = []
    for source in sources:
        found += readings([source], read, since)
    return found


def _paths(source: "Place") -> list[str]:
    """Return what of a source is read: of a folder what its kind finds in it, for others' files may stand there too."""
    from importers.registry import table

    importer = next((one for one in table() if one.kind == source.kind), None)
    if importer is not None and importer.below is not None and os.path.isdir(source.path):
        return list(importer.below(source.path))
    return [source.path] if os.path.lexists(source.path) else []


def _broken(path: str, error: Exception) -> Reading:
    """Return a reading of nothing, which says what went wrong; of the error its type, for its text may quote."""
    from importers.files import shown

    message = f"it could not be read ({type(error).__name__}, a fault of this program); the source was skipped"
    told = Diagnostic(shown(path), None, FAILED, message)
    return Reading(NOTES, TRUST_FILES, (), [], frozenset(), (), (path,), [told])


def narrowed(reading: Reading, chosen: Chosen) -> Reading:
    """Return a reading without what is left out; nothing of that has gone."""
    kind, since = reading.importer, chosen.since
    said = {draft.source.path for draft in reading.drafts if draft.source is not None}
    out = {path for path in said if chosen.leaves_out(kind, path)}
    out |= {path for path in reading.paths if not os.path.isdir(path) and chosen.leaves_out(kind, path)}
    if since is None and not out:
        return reading
    drafts, left_out = [], set()
    for draft in reading.drafts:
        is_old = since is not None and draft.observed_at is not None and _seconds(draft.observed_at) < since
        if not is_old and (draft.source is None or draft.source.path not in out):
            drafts.append(draft)
        elif draft.source is not None:
            left_out.add(draft.source.locator)
    if len(drafts) == len(reading.drafts) and not out:
        return reading
    # A place of which something is left out was not read as a whole: nothing at it is gone.
    whole = reading.whole - left_out
    unread = (*reading.unread, *(path for path in out if path is not None))
    roots = reading.roots if since is None else ()
    marks = {path: mark for path, mark in reading.marks.items() if since is None and path not in out}
    return reading._replace(drafts=drafts, whole=whole, unread=unread, roots=roots, marks=marks, is_part=True)


def without(reading: "Reading", paths: set[str]) -> "Reading":
    """Return a reading without what stands in some files, of which nothing has gone."""
    if not paths:
        return reading
    places = tuple(f"{PLACE}{path}#" for path in paths)
    out = {one.source.locator for one in reading.drafts if one.source is not None and one.source.path in paths}
    out |= {locator for locator in reading.whole if locator.startswith(places)}
    drafts = [one for one in reading.drafts if one.source is None or one.source.path not in paths]
    unread = (*reading.unread, *sorted(paths))
    marks = {path: mark for path, mark in reading.marks.items() if path not in paths}
    return reading._replace(drafts=drafts, whole=reading.whole - out, unread=unread, marks=marks)


def off_paths(ledger: "Ledger", reading: Reading) -> set[str]:
    """Return the files that say something of a project which is switched off."""
    from ledger import sql
    from ledger.settings import is_off

    rows, machine = ledger.reader.rows(sql.SETTINGS, {}), machine_of(ledger.path)
    said: dict[str, set[str]] = {}
    for draft in reading.drafts:
        if draft.source is not None and draft.source.path is not None:
            said.setdefault(draft.project, set()).add(draft.source.path)
    return {path for project, paths in said.items() if is_off(rows, machine, project) for path in paths}


def _seconds(moment: str) -> float:
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        return float("inf")
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


# -- recording -------------------------------------------------------------------------------------------------------


class Pass(NamedTuple):
    """How sources are brought in: what of a reading is taken, and what is told meanwhile."""

    fit: Callable[[Reading], Reading]
    since: float | None = None
    again: bool = False
    dry_run: bool = False
    shown: Callable[[str], AbstractContextManager[Progress | None]] = lambda what: nullcontext()
    says: Callable[[str], None] = lambda text: None


def bring(ledger: "Ledger", sources: "Sequence[Place]", how: Pass) -> "tuple[list[Imported], list[dict[str, Any]]]":
    """Read sources, do what hooks left, and bring the ledger up to all of it; return what was done, and a row each.

    Raises:
        Locked, NoSpace, GuardFailed …: what was appended before stays, the next pass does the rest.
    """
    from importers.contrary import Standing
    from importers.plan import plan, vanished
    from importers.registry import scan_paths
    from importers.tally import Listening, Tally
    from importers.transcript import into
    from ledger import capture, ingest, sessions_in
    from ledger.cli_said import book_of
    from ledger.turns_add import mark_of

    home = os.path.expanduser("~")
    seen = ingest.seen_by(ledger)
    passing = None if how.again else seen
    book = None if how.dry_run else book_of(ledger.path, ledger, whole=how.again)
    with book or nullcontext():
        with into(book), how.shown("reading") as progress:
            read = readings(sources, lambda paths: scan_paths(paths, None, progress, home, seen=passing), how.since)
        done = [] if how.dry_run else settled(ledger)
        run = partial(sessions_in.run, ledger, again=how.again, dry_run=how.dry_run, seen=seen)
        tally = Tally(sources)
        taken: set[str] = set()
        left_out: set[str] = set()
        for before in read:
            reading = how.fit(before)
            tally.read(reading)
            if reading.importer == TRANSCRIPT:
                taken |= set(reading.paths)
                left_out |= (_files_of(before) - _files_of(reading)) | off_paths(ledger, before)
            for part in capture.by_hand(ledger, reading):
                heard = Listening(plan, vanished)
                with how.shown("recording") as progress:
                    done.append(run(part, heard.plan, heard.vanished, Standing, progress=progress))
                tally.heard(reading.importer, heard)
        if book is not None:
            seen.save()
            book.settle(mark_of(ledger))
            for text in book.remarks:
                how.says(text)
            failed = {one.file for reading in done for one in reading.diagnostics if one.line is None}
            released(ledger, taken - left_out - failed)
    return done, tally.rows()


def _files_of(reading: Reading) -> set[str]:
    return {draft.source.path for draft in reading.drafts if draft.source is not None and draft.source.path}


def released(ledger: "Ledger", taken: set[str], *, is_ended: bool = True) -> None:
    """Take out of the queue what hooks left of sessions whose transcripts were taken whole: it has been seen to.

    Of those that had ended only, unless `is_ended` is false: one that goes on is pointed to again.
    """
    from ledger import handover

    if not taken:
        return
    files = handover.waiting(ledger.path, handover.LATER)
    handed = {path: ended for path, ended in handed_over(files).items() if os.path.realpath(path) in taken}
    names = {os.path.splitext(os.path.basename(path))[0] for path, ended in handed.items() if ended or not is_ended}
    names |= {handover.pointer(path) for path, ended in handed.items() if ended or not is_ended}
    if not is_ended:
        names |= {os.path.splitext(os.path.basename(path))[0] for path in taken}
    for one in files:
        held = handover.take(ledger.path, one) if one.session in names else None
        if held is not None:
            handover.done(held)


def handed_over(files: "Iterable[Waiting]") -> dict[str, bool]:
    """Return the transcripts that hooks pointed to, and whether their session had ended then."""
    from ledger import handover, place

    found: dict[str, bool] = {}
    for one in files:
        for line in (place.bounded(one.path, handover.FILE_BYTES * 2) or "").splitlines():
            record = handover.record(line.encode()) or {}
            path = record.get("transcript")
            if record.get("kind") == TRANSCRIPT and isinstance(path, str):
                found[path] = record.get("hook_event_name") == "SessionEnd"
    return found


def told(done: "Sequence[Imported]") -> dict[str, Any]:
    """Return one answer for what was done, with every key also when that was nothing."""
    from ledger import ingest

    return ingest.together(done or [ingest.Imported(None, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, [], [])])


def settled(ledger: "Ledger") -> "list[Imported]":
    """Do first what hooks have left to be done: it tells whose words the notes hold."""
    from importers.plan import plan, vanished
    from importers.projects import project_of
    from importers.registry import read_note
    from ledger import capture

    home = os.path.expanduser("~")
    notes = capture.Notes(lambda path: read_note(path, home), plan, vanished)
    return capture.settle(ledger, notes, home, project_of).imported
