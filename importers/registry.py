"""Choose the importer of each path, and read what is there into one `Reading` for each importer and trust.

`table` has a line for each kind of file; memory notes, which are read as
parts of their folders, have a module of their own (`note_scan.py`). Nothing is
taken from the environment but what is passed in. (Longer than most files: listing,
passing over and reading of one scan share what was looked at.)
"""

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from importers import files, foreign_sqlite, memory_notes, note_scan, projects
from importers.files import Unread
from importers.kinds import Gathered, Importer, Parsed
from importers.note_scan import Notes
from ledger import checkpoints, own_copy
from ledger.checkpoints import Checkpoints, Look
from ledger.errors import BadArgument
from ledger.model import PROJECT_CHARS, TRUST_FILES, TRUST_NOTES, Diagnostic, Past, Reading

Progress = Callable[[int, int], None]
"""Told while files are read: how many are done, and of how many."""

NOTES = note_scan.KIND

HEAD_BYTES = 4_096
"""How much of a file is looked at to tell what it is."""

default_places = projects.default_places

DATABASES = "databases"
"""Stands for the kinds whose files may be databases: which of them a database is, its tables say."""

ROWS = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Endings of files that may hold rows of anything."""

PASTED = "pasted"
"""Stands for the path of a text that was pasted."""


def table() -> tuple[Importer, ...]:
    """Return the importers of files, in the order in which they are asked whether a file is theirs.

    Imported when they are asked for: a hook that reads one note needs none of them.
    """
    from importers import (
        agent_files,
        basic_memory,
        claude_mem,
        elsewhere,
        export,
        mcp_memory_service,
        mem0,
        memory_server,
        sessions,
    )

    return (
        export.IMPORTER,
        sessions.IMPORTER,
        mcp_memory_service.IMPORTER,
        memory_server.IMPORTER,
        mem0.IMPORTER,
        basic_memory.IMPORTER,
        *agent_files.IMPORTERS,
        *elsewhere.IMPORTERS,
        claude_mem.IMPORTER,  # the last: it takes every other database and `.json`, and says what is wrong with it
    )


class Place(NamedTuple):
    """Where something of a kind usually is, and is."""

    kind: str
    path: str


def client_files(cwd: str, home: str) -> list[str]:
    """Return the files that a client started in a folder loads, and the notes of the project there."""
    return [*own_copy.instructions(cwd, home), *own_copy.notes([projects.memory_folder(cwd, home)])]


def scan_paths(
    paths: Iterable[str],
    project: str | None = None,
    progress: Progress | None = None,
    home: str | None = None,
    loose: int = TRUST_NOTES,
    rows: Importer | None = None,
    seen: Checkpoints | None = None,
) -> list[Reading]:
    """Read files and folders.

    Args:
        paths: memory folders, single notes, files of the kinds in the table.
        project: the project of all of it; None lets each place tell its own.
        progress: called after each file.
        home: the user's home folder; what lies below its `.claude` is the user's own.
        loose: trust of a folder outside any repository: that of own notes when
            a person named it, `TRUST_FILES` when an agent did.
        rows: reads every file, whatever it is; see `rows_by`.
        seen: what is known of sources that have not changed, which are passed over; None reads all of them.

    Returns:
        One reading for each importer and trust, in that order. Whatever could
        not be read is a diagnostic of its reading.

    Raises:
        BadArgument: none of the paths exists, or `project` cannot be a project's name.
    """
    _check_project(project)
    asked = list(paths)
    scan = _Scan(project, progress, home, loose, rows, seen)
    missing = [path for path in asked if not scan.add(path)]
    if asked and len(missing) == len(asked):
        shown = ", ".join(files.shown(path) for path in missing)
        raise BadArgument(f"no such file or folder: {shown}; nothing was written", "check the path")
    for path in missing:
        scan.diagnostics.append(Diagnostic(files.shown(path), None, "not-found", "there is no such file or folder"))
    found = scan.readings()
    scan.parts.clear()  # the scan and its notes hold each other, and so would hold what was read for long
    scan.parsed.clear()
    return found


def rows_by(kind: str | None, columns: str, paths: Iterable[str]) -> Importer:
    """Return an importer of rows by a map of columns, `problem=COL,solution=COL,…`.

    Args:
        kind: `csv` or `jsonl`; None: the names of the files tell.

    Raises:
        BadArgument: the map or the kind is none, or a path is a folder.
    """
    from importers import columns as by_columns

    given = by_columns.mapped(columns)
    ends = {os.path.splitext(path)[1].lower().lstrip(".") for path in paths}
    kind = kind or {"csv": "csv", "tsv": "csv", "jsonl": "jsonl", "ndjson": "jsonl"}.get("".join(sorted(ends)))
    if kind not in by_columns.KINDS:
        about = "the kind of rows is not told" if kind is None else f"there are no rows of the kind {kind[:40]!r}"
        raise BadArgument(f"{about}; nothing was written", "say --kind csv or --kind jsonl")
    folder = next((path for path in paths if os.path.isdir(path)), None)
    if folder is not None:
        raise BadArgument(f"{files.shown(folder)} is a folder; nothing was written", "name the files with rows")

    def read(path: str, project: str | None) -> list[Parsed]:
        return [by_columns.read(path, kind, given, project)]

    return Importer(kind, lambda head, path: True, read)


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
    return read_notes([path], files.real(memory), home, named=memory)


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

    def __init__(
        self,
        project: str | None,
        progress: Progress | None,
        home: str | None,
        loose: int,
        rows: Importer | None = None,
        seen: Checkpoints | None = None,
    ) -> None:
        self.seen = seen
        self.table = table()
        self.looks: dict[str, Look] = {}
        self.folders: dict[str, str] = {}
        self.rows = rows
        self.project, self.progress, self.home = project, progress, home
        self.parts: dict[tuple[str, int], Gathered] = {}
        self.notes = Notes(project, home, loose, lambda trust: self._part(NOTES, trust), seen)
        self.listed: dict[str, Importer] = {}
        self.databases: dict[str, None] = {}
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
            real = files.real(path) if os.path.isdir(path) else self._resolved(path)
            mode = os.lstat(real).st_mode
        except (OSError, ValueError):
            return False
        self.notes.leads(path, real)
        if self.rows is not None:
            self._list(real, self.rows)
        elif stat.S_ISDIR(mode):
            self._add_folder(real)
        elif memory_notes.sniff(real) and not self._is_others_note(real):
            self.notes.add_file(real)
        else:
            self._add_file(real)
        return True

    def _resolved(self, path: str) -> str:
        """Return what `_resolved` does; each folder is looked at once."""
        folder = os.path.dirname(path)
        if folder not in self.folders:
            self.folders[folder] = os.path.dirname(_resolved(path))
        return os.path.join(self.folders[folder], os.path.basename(path))

    def _add_folder(self, root: str) -> None:
        """List what a folder holds: for each kind that reads folders, then its notes and the files beside them."""
        is_claimed = False
        for importer in self.table:
            for path in importer.below(root) if importer.below is not None else ():
                self._list(path, importer)
                is_claimed = is_claimed or path == root
        if not is_claimed:
            names = tuple(dict.fromkeys(name for importer in self.table for name in importer.names))
            for path in self.notes.add_folder(root, names, self.listed):
                self._add_file(path)

    def _is_others_note(self, path: str) -> bool:
        """Tell whether a Markdown file is of another kind than memory notes."""
        try:
            head = files.read_head(path, HEAD_BYTES, is_resolved=True)
        except Unread:
            return False  # whoever reads it says why
        return any(one.is_markdown and one.sniff(head, path) for one in self.table)

    def _add_file(self, path: str) -> None:
        """List a file of a kind in the table; say what else was named."""
        known = next((one for one in self.table if one.by_place and self._is_known(path, one)), None)
        if known is not None:
            self._list(path, known)
            return
        try:
            head = files.read_head(path, HEAD_BYTES, is_resolved=True)
            if foreign_sqlite.sniff(head):
                self.databases.setdefault(path)
                return
            importer = next((one for one in self.table if one.sniff(head, path)), None)
            if importer is not None:
                self._list(path, importer)
                return
            kinds = (
                "neither a note (.md) nor an export of a ledger, nor a database or an export of a kind that is known"
            )
            rows = "; of a file of rows, name the columns: --map" if path.lower().endswith(ROWS) else ""
            error = Unread("unknown-kind", f"{kinds}; the file was skipped{rows}")
        except Unread as unread:
            error = unread
        self.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))

    def _is_known(self, path: str, importer: Importer) -> bool:
        """Tell whether a file is what it was when it was read as one of a kind, so that its head tells nothing new."""
        if self.seen is None:
            return False
        now = self._look(path, importer)
        is_known = self._unchanged(now, importer) is not None
        if is_known:
            self.looks[path] = now
        return is_known

    def _list(self, path: str, importer: Importer) -> None:
        if path not in self.listed:
            self.listed[path] = importer
            self._part(importer.kind, importer.trust).paths.append(path)

    # -- passing over -----------------------------------------------------------------------------------------------

    def _pass_rows(self) -> None:
        """Pass over what has not changed: a transcript by itself, files and databases of a kind together or not at all,
        because one of them may outrank another."""
        groups: dict[str, list[tuple[str, Importer | None]]] = {}
        for path, importer in [*self.listed.items(), *((path, None) for path in self.databases)]:
            kind = DATABASES if importer is None or importer.database is not None else importer.kind
            groups.setdefault(path if importer is not None and importer.by_place else kind, []).append((path, importer))
        for group in groups.values():
            beside = tuple(sorted(path for path, _ in group))
            known = [self._known(path, importer, beside) for path, importer in group]
            for (path, _), one in zip(group, known, strict=True):
                if one is not None and None not in known:
                    self._part(one[0].kind, self._trust(path, one[0])).passes(path, one[1])
                    self.listed.pop(path, None)
                    self.databases.pop(path, None)

    def _known(self, path: str, importer: Importer | None, beside: tuple[str, ...]) -> tuple[Importer, int] | None:
        """Look at a file before it is read; return whose it is and how many drafts it makes, None when it is read."""
        now = self.looks[path] = self.looks.get(path) or self._look(path, importer, beside)
        kinds = [importer] if importer is not None else [one for one in self.table if one.database is not None]
        if importer is not None and importer.by_place and self._is_unheard(path, now, importer):
            return None
        passing = ((one, self._unchanged(now, one)) for one in kinds)
        return next(((one, items) for one, items in passing if items is not None), None)

    def _look(self, path: str, importer: Importer | None, beside: tuple[str, ...] = ()) -> Look:
        """Look at a file, which is read as the files beside it tell too, unless it is one by itself."""
        told = [self.project or "", *(beside or (path,))]
        if importer is not None and importer.by_place:
            told.append(str(self.notes.trust(path)))
        return _look(path, "\n".join(told), is_database=importer is None)

    def _is_unheard(self, path: str, now: Look, importer: Importer) -> bool:
        """Tell whether the session index needs something of a transcript; one that the ledger does not know is read
        from its beginning, whatever that index has read of it."""
        from importers import transcript

        if self.seen is not None and not self.seen.knows(now._replace(how=importer.kind + now.how)):
            transcript.hear_whole(path)
        return transcript.is_unread(path)

    def _unchanged(self, now: Look, importer: Importer) -> int | None:
        return self.seen.unchanged(now._replace(how=importer.kind + now.how)) if self.seen is not None else None

    def _trust(self, path: str, importer: Importer) -> int:
        is_less = importer.by_place and self.notes.trust(path) < TRUST_NOTES
        return TRUST_FILES if is_less else importer.trust

    def _mark(self, path: str, importer: Importer, found: Sequence[Parsed]) -> None:
        """Remember what a file was that was read completely, where its drafts of the highest trust go: the last to be
        recorded."""
        is_whole = importer.by_place or all(parsed.is_complete and not parsed.diagnostics for parsed in found)
        if self.rows is not None or not is_whole or os.path.isdir(path):
            return  # the times of a folder do not tell what lies in it
        trust, last = max(
            ((importer.trust if one.trust is None else one.trust, one) for one in found), key=lambda one: one[0]
        )
        now = self.looks[path]
        self._part(importer.kind, trust).marks[path] = checkpoints.mark(
            now._replace(how=importer.kind + now.how), None, len(last.drafts)
        )

    # -- reading ----------------------------------------------------------------------------------------------------

    def readings(self) -> list[Reading]:
        """Read everything listed."""
        self._pass_rows()
        for done, total in self._steps():
            if self.progress is not None:
                self.progress(done, total)
        for (kind, trust), parsed in self.parsed.items():
            merged = next(one.merged for one in (*self.table, *([self.rows] if self.rows else [])) if one.kind == kind)
            self._part(kind, trust).add(merged(parsed))
        if not self.parts:
            self._part(NOTES, TRUST_NOTES)
        made = sorted(self.parts, key=lambda key: (key[0] != NOTES, key))
        self.parts[made[0]].diagnostics[:0] = self.diagnostics
        return [self.reading(importer, trust) for importer, trust in made]

    def _steps(self) -> Iterator[tuple[int, int]]:
        """Read one file after the other; yield how many are done, and of how many."""
        notes, others = sorted(self.notes.listed), [*self.listed.items(), *((path, None) for path in self.databases)]
        total = len(notes) + len(others)
        for done, path in enumerate(notes, 1):
            self.notes.read(path)
            yield done, total
        self.notes.read_marks()
        for done, (path, importer) in enumerate(others, len(notes) + 1):
            self._read(path, importer)
            yield done, total

    def _read(self, path: str, importer: Importer | None) -> None:
        """Read one file, a database when no importer is given; what cannot be taken of it is a diagnostic."""
        try:
            if len(path) > files.PATH_CHARS or files.shown(path) != path:
                raise Unread("file-name", "its path is too long or not UTF-8; the file was skipped")
            if importer is None:
                importer, found = _read_database(path, self.project)
                self._part(importer.kind, importer.trust).paths.append(path)
            else:
                found = importer.read(path, self.project)
        except Unread as error:
            importer = importer or self.table[-1]
            part = self._part(importer.kind, importer.trust)
            if path in self.databases:
                part.paths.append(path)
            part.unread.append(path)
            part.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))
            return
        if importer.by_place and self.notes.trust(path) < TRUST_NOTES:
            from importers.sessions import of_files

            found = [of_files(parsed) for parsed in found]
        if found:
            self._mark(path, importer, found)
        for parsed in found:
            trust = importer.trust if parsed.trust is None else parsed.trust
            part = self._part(importer.kind, trust)
            if trust != importer.trust:
                part.paths.append(path)
            self.parsed.setdefault((importer.kind, trust), []).append(parsed)
            part.read.append(path)
            part.take(parsed)
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
            Past(part.replaced, part.fates, part.origins),
            part.marks,
            part.passed,
        )


def _look(path: str, told: str, *, is_database: bool) -> Look:
    """Look at a file, a database with its log, or all files of a folder; how it is read is completed by its kind."""
    if not os.path.isdir(path):
        return checkpoints.look(path, "", told, (path + "-wal", path + "-journal") if is_database else ())
    inside = files.walk(path, "").files
    now = checkpoints.look(path, "", told, inside)
    whole = "\n".join((now.stamp, *inside)).encode("utf-8", "surrogateescape")
    return now._replace(stamp=hashlib.sha256(whole).hexdigest() if now.stamp else "")


def _read_database(path: str, project: str | None) -> tuple[Importer, Sequence[Parsed]]:
    """Read a SQLite database from a copy: by the first importer of the table that knows what it holds.

    Raises:
        Unread: it cannot be copied or read, or no importer knows it.
    """
    with foreign_sqlite.snapshot(path) as connection:
        try:
            for importer in table():
                if importer.database is not None and importer.holds(connection):
                    return importer, importer.database(connection, path, project)
        except (sqlite3.Error, UnicodeError, MemoryError, OverflowError):
            raise foreign_sqlite.damaged() from None
    raise Unread("unknown-kind", "it is a database of no kind that this program reads; the file was skipped")


def _resolved(path: str) -> str:
    """Return a path without links above its last part; the last part is judged when it is opened."""
    return os.path.join(files.real(os.path.dirname(path)), os.path.basename(path))
