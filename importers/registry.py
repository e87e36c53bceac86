"""Choose the importer of each path, and read what is there into one `Reading` for each importer and trust.

`table` has a line for each kind of file; memory notes, which are read as
parts of their folders, have a module of their own (`note_scan.py`). Nothing is
taken from the environment but what is passed in.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from importers import files, memory_notes, note_scan, projects
from importers.files import Unread
from importers.kinds import Gathered, Importer, Parsed, Where
from importers.note_scan import Notes
from ledger import own_copy
from ledger.errors import BadArgument
from ledger.model import PROJECT_CHARS, TRUST_FILES, TRUST_NOTES, Diagnostic, Reading

Progress = Callable[[int, int], None]
"""Told while files are read: how many are done, and of how many."""

NOTES = note_scan.KIND

HEAD_BYTES = 4_096
"""How much of a file is looked at to tell what it is."""

default_places = projects.default_places

PASTED = "pasted"
"""Stands for the path of a text that was pasted."""


def table() -> tuple[Importer, ...]:
    """Return the importers of files, in the order in which they are asked whether a file is theirs.

    Imported when they are asked for: a hook that reads one note needs none of them.
    """
    from importers import claude_mem, export, sessions

    return (export.IMPORTER, claude_mem.IMPORTER, sessions.IMPORTER)


class Place(NamedTuple):
    """Where something of a kind usually is, and is."""

    kind: str
    path: str


def usual_places(where: Where) -> list[Place]:
    """Return what is found where each kind usually is: notes first, then in the order of the table."""
    found = [Place(NOTES, path) for path in note_scan.places(where)]
    return found + [Place(one.kind, path) for one in table() for path in one.places(where)]


def client_files(cwd: str, home: str) -> list[str]:
    """Return the files that a client started in a folder loads, and the notes of the project there."""
    return [*own_copy.instructions(cwd, home), *own_copy.notes([projects.memory_folder(cwd, home)])]


def scan_paths(
    paths: Iterable[str],
    project: str | None = None,
    progress: Progress | None = None,
    home: str | None = None,
    loose: int = TRUST_NOTES,
) -> list[Reading]:
    """Read files and folders.

    Args:
        paths: memory folders, single notes, files of the kinds in the table.
        project: the project of all of it; None lets each place tell its own.
        progress: called after each file.
        home: the user's home folder; what lies below its `.claude` is the user's own.
        loose: trust of a folder outside any repository: that of own notes when
            a person named it, `TRUST_FILES` when an agent did.

    Returns:
        One reading for each importer and trust, in that order. Whatever could
        not be read is a diagnostic of its reading.

    Raises:
        BadArgument: none of the paths exists, or `project` cannot be a project's name.
    """
    _check_project(project)
    asked = list(paths)
    scan = _Scan(project, progress, home, loose)
    missing = [path for path in asked if not scan.add(path)]
    if asked and len(missing) == len(asked):
        shown = ", ".join(files.shown(path) for path in missing)
        raise BadArgument(f"no such file or folder: {shown}; nothing was written", "check the path")
    for path in missing:
        scan.diagnostics.append(Diagnostic(files.shown(path), None, "not-found", "there is no such file or folder"))
    return scan.readings()


def read_note(path: str, home: str | None = None) -> Reading:
    """Read one note as a part of its folder: what the index links to is known, nothing else is read or missed.

    A note that is gone is read as gone.
    """
    named = os.path.abspath(path)
    real = _resolved(named)
    client, told = projects.slug_folder(real), projects.slug_folder(named)
    if client is not None or told is None:
        folder = os.path.join(client, "memory") if client is not None else os.path.dirname(real)
        return read_notes([path], folder, home)
    memory = os.path.join(told, "memory")
    return read_notes([path], os.path.realpath(memory), home, named=memory)


def read_notes(
    paths: Iterable[str], folder: str, home: str | None, progress: Progress | None = None, named: str | None = None
) -> Reading:
    """Read some notes of a folder as `read_note` reads one; `named` is what leads there, when that is a link."""
    scan = _Scan(None, None, home, TRUST_FILES)
    notes = scan.notes
    notes.leads(named or folder, folder)
    reals = [_resolved(os.path.abspath(path)) for path in paths]
    for path in (*files.walk(folder).files, *reals):
        notes.listed.setdefault(path, folder)
    for done, real in enumerate(reals, 1):
        part = notes.part(real)
        part.roots.append(real)
        part.paths.append(real)
        notes.read(real)
        if progress is not None:
            progress(done, len(reals))
    return scan.reading(NOTES, notes.trust(reals[0]))


def pasted(text: str, project: str | None = None) -> Reading:
    """Read what somebody pasted: rows of claude-mem, or an answer of its server. It is no file, so nothing can be gone.

    Raises:
        BadArgument: nothing of it can be taken, or `project` cannot be a project's name.
    """
    from importers import claude_mem

    _check_project(project)
    try:
        parsed = claude_mem.parse(text.encode("utf-8", "surrogatepass"), PASTED, project)
    except Unread as error:
        raise BadArgument(error.message.replace("the file was skipped", "nothing was written")) from None
    drafts = [draft._replace(source=draft.source and draft.source._replace(path=None)) for draft in parsed.drafts]
    whole, told, held = parsed.whole, parsed.diagnostics, parsed.held
    return Reading(claude_mem.KIND, TRUST_FILES, (PASTED,), drafts, whole, (), (), told, project, held)


def _check_project(project: str | None) -> None:
    if project is not None and not 0 < len(project.strip()) <= PROJECT_CHARS:
        raise BadArgument(f"a project's name has 1 to {PROJECT_CHARS} characters; nothing was written")


class _Scan:
    """Paths on their way to readings: first all are listed, then all are read."""

    def __init__(self, project: str | None, progress: Progress | None, home: str | None, loose: int) -> None:
        self.project, self.progress, self.home = project, progress, home
        self.parts: dict[tuple[str, int], Gathered] = {}
        self.notes = Notes(project, home, loose, lambda trust: self._part(NOTES, trust))
        self.listed: dict[str, Importer] = {}
        self.parsed: dict[tuple[str, int], list[Parsed]] = {}
        self.diagnostics: list[Diagnostic] = []

    def _part(self, importer: str, trust: int) -> Gathered:
        return self.parts.setdefault((importer, trust), Gathered())

    # -- listing ----------------------------------------------------------------------------------------------------

    def add(self, path: str) -> bool:
        """List a file, or the files of a folder; return False when there is none."""
        if self.home and (path == "~" or path.startswith("~" + os.sep)):
            path = self.home + path[1:]
        path = os.path.abspath(path)
        try:
            real = os.path.realpath(path) if os.path.isdir(path) else _resolved(path)
            mode = os.lstat(real).st_mode
        except (OSError, ValueError):
            return False
        self.notes.leads(path, real)
        if stat.S_ISDIR(mode):
            self._add_folder(real)
        elif memory_notes.sniff(real):
            self.notes.add_file(real)
        else:
            self._add_file(real)
        return True

    def _add_folder(self, root: str) -> None:
        """List what a folder holds: for each kind that reads folders, then its notes and the files beside them."""
        is_claimed = False
        for importer in table():
            for path in importer.below(root) if importer.below is not None else ():
                self._list(path, importer)
                is_claimed = is_claimed or path == root
        if not is_claimed:
            names = tuple(dict.fromkeys(name for importer in table() for name in importer.names))
            for path in self.notes.add_folder(root, names):
                self._add_file(path)

    def _add_file(self, path: str) -> None:
        """List a file of a kind in the table; say what else was named."""
        try:
            head = files.read_head(path, HEAD_BYTES, is_resolved=True)
            importer = next((one for one in table() if one.sniff(head, path)), None)
            if importer is not None:
                self._list(path, importer)
                return
            kinds = "neither a note (.md) nor an export of a ledger, nor a database or an export of claude-mem"
            error = Unread("unknown-kind", f"{kinds}; the file was skipped")
        except Unread as unread:
            error = unread
        self.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))

    def _list(self, path: str, importer: Importer) -> None:
        if path not in self.listed:
            self.listed[path] = importer
            self._part(importer.kind, importer.trust).paths.append(path)

    # -- reading ----------------------------------------------------------------------------------------------------

    def readings(self) -> list[Reading]:
        """Read everything listed."""
        for done, total in self._steps():
            if self.progress is not None:
                self.progress(done, total)
        for (kind, trust), parsed in self.parsed.items():
            merged = next(one.merged for one in table() if one.kind == kind)
            self._part(kind, trust).drafts += merged(parsed)
        if not self.parts:
            self._part(NOTES, TRUST_NOTES)
        made = sorted(self.parts, key=lambda key: (key[0] != NOTES, key))
        self.parts[made[0]].diagnostics[:0] = self.diagnostics
        return [self.reading(importer, trust) for importer, trust in made]

    def _steps(self) -> Iterator[tuple[int, int]]:
        """Read one file after the other; yield how many are done, and of how many."""
        notes, others = sorted(self.notes.listed), list(self.listed.items())
        total = len(notes) + len(others)
        for done, path in enumerate(notes, 1):
            self.notes.read(path)
            yield done, total
        for done, (path, importer) in enumerate(others, len(notes) + 1):
            self._read(path, importer)
            yield done, total

    def _read(self, path: str, importer: Importer) -> None:
        """Read one file; what cannot be taken of it is a diagnostic."""
        try:
            if len(path) > files.PATH_CHARS or files.shown(path) != path:
                raise Unread("file-name", "its path is too long or not UTF-8; the file was skipped")
            found = importer.read(path, self.project)
        except Unread as error:
            part = self._part(importer.kind, importer.trust)
            part.unread.append(path)
            part.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))
            return
        if importer.by_place and self.notes.trust(path) < TRUST_NOTES:
            found = [_of_files(parsed) for parsed in found]
        for parsed in found:
            trust = importer.trust if parsed.trust is None else parsed.trust
            part = self._part(importer.kind, trust)
            if trust != importer.trust:
                part.paths.append(path)
            self.parsed.setdefault((importer.kind, trust), []).append(parsed)
            part.read.append(path)
            part.whole |= parsed.whole
            part.held |= parsed.held
            part.diagnostics += parsed.diagnostics
            part.sessions.update(parsed.sessions)
            part.summaries += parsed.summaries
            part.around.update(parsed.around)
            if parsed.is_complete:
                part.roots.append(path)

    def reading(self, importer: str, trust: int) -> Reading:
        """Return what was gathered of an importer at a trust."""
        part = self._part(importer, trust)
        elsewhere = [path for key, other in self.parts.items() if key != (importer, trust) for path in other.read]
        return Reading(
            importer,
            trust,
            tuple(part.paths),
            part.drafts,
            frozenset(part.whole),
            tuple(part.roots),
            (*part.unread, *elsewhere),
            part.diagnostics,
            self.project,
            frozenset(part.held),
            part.sessions,
            tuple(part.summaries),
            part.around,
        )


def _of_files(parsed: Parsed) -> Parsed:
    """Return what a file says that anybody may have written: no person's words, and no session that could agree."""
    trust = TRUST_FILES if parsed.trust is None else min(parsed.trust, TRUST_FILES)
    return parsed._replace(trust=trust, sessions={}, summaries=())


def _resolved(path: str) -> str:
    """Return a path without links above its last part; the last part is judged when it is opened."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
