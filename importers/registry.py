"""Choose the importer of each path, and read what is there into one `Reading` for each importer and trust.

Trust follows from the place: the user's own memory folders, and folders
outside every repository that a person named, hold what this user's agents
wrote (2); files of a repository, and exports, may come from anybody (1).
Nothing is taken from the environment but what is passed in.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from importers import claude_mem, export, files, memory_notes, projects
from importers.files import Unread
from ledger import checkpoints, own_copy
from ledger.checkpoints import Checkpoints
from ledger.errors import BadArgument
from ledger.home import client_folder
from ledger.model import EVERYWHERE, PROJECT_CHARS, TRUST_FILES, TRUST_NOTES, Diagnostic, Draft, Mark, Reading

Progress = Callable[[int, int], None]
"""Told while files are read: how many are done, and of how many."""

NOTES = "memory-notes"

default_places = projects.default_places

PASTED = "pasted"
"""Stands for the path of a text that was pasted."""

FOREIGN = (".json", ".db", ".sqlite", ".sqlite3")
"""Names that other tools' memories have; what such a file is, its content says."""


MEMORY_FOLDERS = ("projects", "agent-memory")
"""Folders of `~/.claude` with the user's own notes. A repository elsewhere below it (a plugin, a skill) was cloned:
its files are others'."""


def client_files(cwd: str, home: str) -> list[str]:
    """Return the files that a client started in a folder loads, and the notes of the project there."""
    return [*own_copy.instructions(cwd, home), *own_copy.notes([projects.memory_folder(cwd, home)])]


def scan_paths(
    paths: Iterable[str],
    project: str | None = None,
    progress: Progress | None = None,
    home: str | None = None,
    loose: int = TRUST_NOTES,
    seen: Checkpoints | None = None,
) -> list[Reading]:
    """Read files and folders.

    Args:
        paths: memory folders, single notes, exports of a ledger.
        project: the project of all of it; None lets each place tell its own.
        progress: called after each file.
        home: the user's home folder; what lies below its `.claude` is the user's own.
        loose: trust of a folder outside any repository: that of own notes when
            a person named it, `TRUST_FILES` when an agent did.
        seen: what is known of sources that have not changed, which are passed over; None reads all of them.

    Returns:
        One reading for each importer and trust, in that order. Whatever could
        not be read is a diagnostic of its reading.

    Raises:
        BadArgument: none of the paths exists, or `project` cannot be a project's name.
    """
    _check_project(project)
    asked = list(paths)
    scan = _Scan(project, progress, home, loose, seen)
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
    scan.leads(named or folder, folder)
    reals = [_resolved(os.path.abspath(path)) for path in paths]
    for path in (*files.walk(folder).files, *reals):
        scan.notes.setdefault(path, folder)
    for done, real in enumerate(reals, 1):
        part = scan._part(NOTES, real)
        part.roots.append(real)
        part.paths.append(real)
        scan._read_note(real)
        if progress is not None:
            progress(done, len(reals))
    return scan._reading(NOTES, scan._trust(reals[0]), scan._part(NOTES, reals[0]))


def pasted(text: str, project: str | None = None) -> Reading:
    """Read what somebody pasted: rows of claude-mem, or an answer of its server. It is no file, so nothing can be gone.

    Raises:
        BadArgument: nothing of it can be taken, or `project` cannot be a project's name.
    """
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


class _Part:
    """What goes into one reading."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.whole: set[str] = set()
        self.paths: list[str] = []
        self.roots: list[str] = []
        self.unread: list[str] = []
        self.diagnostics: list[Diagnostic] = []
        self.read: list[str] = []
        self.held: set[str] = set()
        self.marks: dict[str, Mark] = {}
        self.passed = 0

    def passes(self, path: str, items: int) -> None:
        """Pass over a source of which nothing has changed: what stands there stays."""
        self.read.append(path)
        self.unread.append(path)
        self.passed += items


class _Scan:
    """Paths on their way to readings: first all are listed, then all are read."""

    def __init__(
        self, project: str | None, progress: Progress | None, home: str | None, loose: int,
        seen: Checkpoints | None = None,
    ) -> None:  # fmt: skip
        self.seen = seen
        self.listed = ""
        self.project = project
        self.loose = loose
        self.progress = progress
        self.home = home
        self.own = os.path.realpath(client_folder(home)) if home else None
        self.parts: dict[tuple[str, int], _Part] = {}
        self.notes: dict[str, str] = {}
        self.exports: list[str] = []
        self.claude_mem: list[str] = []
        self.claude_mem_read: list[claude_mem.Parsed] = []
        self.diagnostics: list[Diagnostic] = []
        self.projects: dict[str, str] = {}
        self.trusts: dict[str, int] = {}
        self.linked: dict[str, str] = {}
        self.looks: dict[str, checkpoints.Look] = {}

    def leads(self, named: str, real: str) -> None:
        """Hear which folder is meant by a name: a memory folder that is a link is of the project whose it is."""
        client = projects.slug_folder(named)
        if client is not None and projects.slug_folder(real) is None:
            self.linked[os.path.join(real, "")] = client

    def _client(self, path: str) -> str | None:
        """Return the client's folder of the project that a note is of, None when it is of no such folder."""
        linked = next((client for folder, client in self.linked.items() if path.startswith(folder)), None)
        return projects.slug_folder(path) or linked

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
        self.leads(path, real)
        if stat.S_ISDIR(mode):
            self._add_folder(real)
        elif memory_notes.sniff(real):
            self._part(NOTES, real).roots.append(real)
            self._part(NOTES, real).paths.append(real)
            self.notes.setdefault(real, os.path.dirname(real))
        else:
            self._add_file(real)
        return True

    def _part(self, importer: str, path: str) -> _Part:
        trust = self._trust(path) if importer == NOTES else TRUST_FILES
        return self.parts.setdefault((importer, trust), _Part())

    def _trust(self, path: str) -> int:
        folder = os.path.dirname(path)
        if folder not in self.trusts:
            client = self._client(path)
            is_linked = client is not None and client in self.linked.values()
            led = os.path.realpath(client) if client is not None and is_linked else path
            around = projects.repository_of(folder)
            is_loose = around is None
            is_inside = around is not None and self._is_below(around.work_tree) and not self._is_memory(led)
            is_cloned = is_inside or (is_linked and not is_loose)  # a link into a repository lends it no trust
            is_own = self._is_below(led) and not is_cloned
            self.trusts[folder] = TRUST_NOTES if is_own else self.loose if is_loose else TRUST_FILES
        return self.trusts[folder]

    def _is_memory(self, path: str) -> bool:
        """Tell whether a path lies where the client keeps memory, which a user may keep in git of their own."""
        return any(path.startswith(os.path.join(self.own or "", name, "")) for name in MEMORY_FOLDERS)

    def _is_below(self, path: str) -> bool:
        """Tell whether a path lies below the user's `.claude`."""
        return self.own is not None and (path + os.sep).startswith(self.own + os.sep)

    # -- listing ----------------------------------------------------------------------------------------------------

    def _add_folder(self, root: str) -> None:
        """List the notes of a folder, each with the folder that is its memory folder."""
        is_own = self.own is not None and (root + os.sep).startswith(self.own + os.sep)
        holds_others = is_own or _holds_more_than_notes(root)
        found = files.walk(root, ".md" if holds_others else (".md", *FOREIGN))
        part = self._part(NOTES, os.path.join(root, ""))
        part.roots.append(root)
        part.paths.append(root)
        part.unread += found.unread
        part.diagnostics += found.diagnostics
        indexed = {os.path.dirname(path) for path in found.files if memory_notes.is_index(path)}
        others = 0
        for path in found.files:
            if not memory_notes.sniff(path):
                if "/." not in path[len(root) :].replace(os.sep, "/"):
                    self._add_file(path)
                continue
            folder = _memory_folder(path, root, indexed)
            if folder is None and _holds_more_than_notes(root):
                part.unread.append(path)
                others += 1
            else:
                self.notes.setdefault(path, folder or root)
        if others:
            message = (
                f"{others:,} Markdown files outside memory folders were left out; name their folder to import them"
            )
            part.diagnostics.append(Diagnostic(files.shown(root), None, "not-memory", message))

    def _add_file(self, path: str) -> None:
        """List an export of a ledger or what claude-mem keeps; say what else was named."""
        try:
            head = files.read_head(path, 4_096, is_resolved=True)
            if export.sniff(head):
                self._part(export.KIND, path).paths.append(path)
                self.exports.append(path)
                return
            if claude_mem.sniff(head, path):
                self._part(claude_mem.KIND, path).paths.append(path)
                self.claude_mem.append(path)
                return
            kinds = "neither a note (.md) nor an export of a ledger, nor a database or an export of claude-mem"
            error = Unread("unknown-kind", f"{kinds}; the file was skipped")
        except Unread as unread:
            error = unread
        self.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))

    # -- reading ----------------------------------------------------------------------------------------------------

    def readings(self) -> list[Reading]:
        """Read everything listed."""
        self._look_at_claude_mem()
        work = [
            *((self._read_note, path) for path in sorted(self.notes)),
            *((self._read_export, p) for p in self.exports),
            *((self._read_claude_mem, p) for p in dict.fromkeys(self.claude_mem)),
        ]
        total = len(work)
        for done, (read, path) in enumerate(work, 1):
            read(path)
            if self.progress is not None:
                self.progress(done, total)
        if self.claude_mem_read:
            self._part(claude_mem.KIND, "").drafts += claude_mem.merged(self.claude_mem_read)
        if not self.parts:
            self.parts[NOTES, TRUST_NOTES] = _Part()
        made = sorted(self.parts.items(), key=lambda item: (item[0][0] != NOTES, item[0]))
        made[0][1].diagnostics[:0] = self.diagnostics
        return [self._reading(importer, trust, part) for (importer, trust), part in made]

    def _reading(self, importer: str, trust: int, part: _Part) -> Reading:
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
            part.marks,
            part.passed,
        )

    def _read_note(self, path: str) -> None:
        part = self._part(NOTES, path)
        now = self._look(path)
        items = self.seen.unchanged(now) if self.seen is not None else None
        if items is not None:
            part.passes(path, items)
            return
        try:
            text, left_out = files.read_note(path)
        except Unread as error:
            if error.code != "not-found":
                part.unread.append(path)
            part.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))
            return
        content = text.encode("utf-8", "surrogatepass")
        items = self.seen.same(now, content) if self.seen is not None and not left_out else None
        if items is not None:
            part.passes(path, items)
            return
        parsed = memory_notes.parse(text, path, self._project(path), self.notes)
        if memory_notes.PART_MARK not in text:  # a part of an index depends, as that, on all that are listed
            part.marks[path] = checkpoints.mark(now, content, len(parsed.drafts))
        part.read.append(path)
        part.drafts += parsed.drafts
        part.diagnostics += parsed.diagnostics
        odd = files.controls(text)
        if odd is not None:
            more = f", as do {odd[1] - 1:,} more lines" if odd[1] > 1 else ""
            message = f"this line holds control characters or terminal escapes{more}; they were taken out"
            part.diagnostics.append(Diagnostic(path, odd[0], "control", message))
        if left_out or not parsed.is_complete:
            # What stood there may stand there still, so nothing of this file has gone.
            part.unread.append(path)
            part.diagnostics += [Diagnostic(path, line, code, message) for code, line, message in left_out]
        else:
            part.whole |= parsed.whole

    def _look(self, path: str) -> checkpoints.Look:
        """Look at a note, and at what its drafts depend on: its project and trust; of an index, all that are listed."""
        if not self.listed:
            self.listed = hashlib.sha256("\n".join(sorted(self.notes)).encode("utf-8", "surrogateescape")).hexdigest()
        listed = self.listed if memory_notes.is_index(path) else ""
        return checkpoints.look(path, NOTES, f"{self._trust(path)}\n{self._project(path)}\n{listed}")

    def _read_export(self, path: str) -> None:
        part = self._part(export.KIND, path)
        now = checkpoints.look(path, export.KIND, self.project or "")
        items = self.seen.unchanged(now) if self.seen is not None else None
        if items is not None:
            part.passes(path, items)
            return
        try:
            parsed = export.parse(_lines(path), path)
        except Unread as error:
            part.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))
            return
        part.read.append(path)
        part.drafts += parsed.drafts
        part.whole |= parsed.whole
        part.diagnostics += parsed.diagnostics
        if parsed.is_complete:
            part.roots.append(path)
            part.marks[path] = checkpoints.mark(now, None, len(parsed.drafts))

    def _look_at_claude_mem(self) -> None:
        """Look at what claude-mem keeps; when nothing of any of it has changed, pass over all: one outranks another."""
        paths = sorted(dict.fromkeys(self.claude_mem))
        told = "\n".join((self.project or "", *paths))
        looks = [checkpoints.look(path, claude_mem.KIND, told, (path + "-wal", path + "-journal")) for path in paths]
        self.looks = {now.path: now for now in looks}
        items = [self.seen.unchanged(now) for now in looks] if self.seen is not None else [None]
        for path, many in zip(paths, items, strict=False):
            if many is not None and None not in items:
                self._part(claude_mem.KIND, path).passes(path, many)
                self.claude_mem = [one for one in self.claude_mem if one != path]

    def _read_claude_mem(self, path: str) -> None:
        part = self._part(claude_mem.KIND, path)
        try:
            if len(path) > files.PATH_CHARS or files.shown(path) != path:
                raise Unread("file-name", "its path is too long or not UTF-8; the file was skipped")
            parsed = claude_mem.read(path, self.project)
        except Unread as error:
            part.unread.append(path)
            part.diagnostics.append(Diagnostic(files.shown(path), None, error.code, error.message))
            return
        part.read.append(path)
        self.claude_mem_read.append(parsed)
        part.whole |= parsed.whole
        part.held |= parsed.held
        part.diagnostics += parsed.diagnostics
        if parsed.is_complete:
            part.roots.append(path)
            part.marks[path] = checkpoints.mark(self.looks[path], None, len(parsed.drafts))

    # -- projects ---------------------------------------------------------------------------------------------------

    def _project(self, path: str) -> str:
        if self.project is not None:
            return self.project
        folder = self.notes[path]
        if folder not in self.projects:
            self.projects[folder] = self._find_project(path, folder)
        return self.projects[folder]

    def _find_project(self, path: str, folder: str) -> str:
        """Return the project of a memory folder: from transcripts, for every project, from git, or by its name."""
        client = self._client(path)
        if client is not None:
            name, is_told = projects.project_of_slug(client)
            if not is_told:
                message = "no transcript tells which project this is; the name is a guess (--project names it)"
                self._part(NOTES, path).diagnostics.append(Diagnostic(folder, None, "project-guessed", message))
            return name
        above, agents = os.path.split(os.path.dirname(folder))
        if agents.startswith("agent-memory") and (os.path.basename(above) == ".claude" or above == self.own):
            return EVERYWHERE if above == self.own else projects.project_of(above) or projects.folder_name(above[:-8])
        return projects.project_of(folder) or projects.folder_name(folder)


def _resolved(path: str) -> str:
    """Return a path without links above its last part; the last part is judged when it is opened."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _memory_folder(path: str, root: str, indexed: set[str]) -> str | None:
    """Return the nearest folder at or below `root` that is a memory folder of this file, None when none is."""
    client = projects.slug_folder(path)
    if client is not None:
        return os.path.join(client, "memory")
    folder = os.path.dirname(path)
    while True:
        if folder in indexed or os.path.basename(os.path.dirname(folder)).startswith("agent-memory"):
            return folder
        if folder == root or len(folder) < len(root):
            return None
        folder = os.path.dirname(folder)


def _holds_more_than_notes(root: str) -> bool:
    """Return whether a folder is a repository, or the client's own, where most Markdown is no memory."""
    parts = root.split(os.sep)
    is_client = ".claude" in parts and "memory" not in parts and not any(p.startswith("agent-memory") for p in parts)
    return is_client or os.path.lexists(os.path.join(root, ".git"))


def _lines(path: str) -> Iterator[bytes]:
    """Return the lines of a file, each cut one byte beyond the longest that is read.

    Raises:
        Unread: it is not a regular file, or larger than any export.
    """
    with os.fdopen(files.open_regular(path, is_resolved=True), "rb") as stream:
        left = os.fstat(stream.fileno()).st_size
        if left > export.FILE_BYTES:
            raise Unread("too-large", f"it is larger than {export.FILE_BYTES:,} bytes; the file was skipped")
        # What somebody appends meanwhile is for the next import: a file that grows would never end.
        while left > 0 and (line := stream.readline(export.LINE_BYTES + 1)):
            left -= len(line)
            yield line
            while len(line) > export.LINE_BYTES and not line.endswith(b"\n"):
                line = stream.readline(export.LINE_BYTES + 1)
                left -= len(line)
