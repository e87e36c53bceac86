"""List the memory notes of files and folders, and read each as a part of its folder.

Trust follows from the place: the user's own memory folders, and folders
outside every repository that a person named, hold what this user's agents
wrote (2); files of a repository may come from anybody (1).
"""

import hashlib
import os
from collections.abc import Callable, Container

from importers import files, memory_notes, projects, quipu
from importers.asides import is_companion
from importers.files import Unread
from importers.kinds import Gathered, Where
from ledger import checkpoints
from ledger.checkpoints import Checkpoints
from ledger.home import client_folder
from ledger.model import EVERYWHERE, TRUST_FILES, TRUST_NOTES, Diagnostic

KIND = "memory-notes"

MEMORY_FOLDERS = ("projects", "agent-memory")
"""Folders of `~/.claude` with the user's own notes. A repository elsewhere below it (a plugin, a skill) was cloned:
its files are others'."""


def places(where: Where) -> list[str]:
    """Return the memory folders of a user's client: of every project, and of every agent."""
    return projects.default_places(where.home)


class Notes:
    """Notes on their way to readings: first all are listed, then all are read.

    Args:
        project: the project of all of them; None lets each folder tell its own.
        home: the user's home folder; what lies below its `.claude` is the user's own.
        loose: trust of a folder outside any repository.
        gathered: gives what is gathered at a trust.
        seen: what is known of notes that have not changed, which are passed over; None reads all.
    """

    def __init__(
        self,
        project: str | None,
        home: str | None,
        loose: int,
        gathered: Callable[[int], Gathered],
        seen: Checkpoints | None = None,
    ) -> None:
        self.project, self.loose, self.gathered = project, loose, gathered
        self.own = files.real(client_folder(home)) if home else None
        self.listed: dict[str, str] = {}
        """Real path of each note, with the folder that is its memory folder."""
        self._projects: dict[str, str] = {}
        self._trusts: dict[str, int] = {}
        self._seen, self._all = seen, ""
        self._linked: dict[str, str] = {}
        self._states: dict[str, str | None] = {}
        self._made = 0

    def part(self, path: str) -> Gathered:
        """Return what is gathered at the trust of a path."""
        return self.gathered(self.trust(path))

    def leads(self, named: str, real: str) -> None:
        """Hear which folder is meant by a name: a memory folder that is a link is of the project whose it is."""
        client = projects.slug_folder(named)
        if client is not None and projects.slug_folder(real) is None:
            self._linked[os.path.join(real, "")] = client

    def _client(self, path: str) -> str | None:
        """Return the client's folder of the project that a note is of, None when it is of no such folder."""
        linked = next((client for folder, client in self._linked.items() if path.startswith(folder)), None)
        return projects.slug_folder(path) or linked

    def trust(self, path: str) -> int:
        """Return the trust of what stands at a path."""
        folder = os.path.dirname(path)
        if folder not in self._trusts:
            client = self._client(path)
            is_linked = client is not None and client in self._linked.values()
            led = files.real(client) if client is not None and is_linked else path
            around = projects.repository_of(folder)
            is_loose = around is None
            is_inside = around is not None and self._is_below(around.work_tree) and not self._is_memory(led)
            is_cloned = is_inside or (is_linked and not is_loose)  # a link into a repository lends it no trust
            is_own = self._is_below(led) and not is_cloned
            self._trusts[folder] = TRUST_NOTES if is_own else self.loose if is_loose else TRUST_FILES
        return self._trusts[folder]

    def _is_memory(self, path: str) -> bool:
        """Tell whether a path lies where the client keeps memory, which a user may keep in git of their own."""
        return any(path.startswith(os.path.join(self.own or "", name, "")) for name in MEMORY_FOLDERS)

    def _is_below(self, path: str) -> bool:
        """Tell whether a path lies below the user's `.claude`."""
        return self.own is not None and (path + os.sep).startswith(self.own + os.sep)

    # -- listing ----------------------------------------------------------------------------------------------------

    def add_file(self, real: str) -> None:
        """List one note."""
        part = self.part(real)
        part.roots.append(real)
        part.paths.append(real)
        self.listed.setdefault(real, os.path.dirname(real))

    def add_folder(self, root: str, names: tuple[str, ...], taken: Container[str] = ()) -> list[str]:
        """List the notes of a folder, each with the folder that is its memory folder.

        Args:
            names: ends of the names of files that other importers look at; not
                in a folder of the client's or a repository.
            taken: files that others read already.

        Returns:
            Those files.
        """
        holds_others = self._is_below(root) or _holds_more_than_notes(root)
        found = files.walk(root, ".md" if holds_others else (".md", *names))
        part = self.part(os.path.join(root, ""))
        part.roots.append(root)
        part.paths.append(root)
        part.unread += found.unread
        part.diagnostics += found.diagnostics
        indexed = {os.path.dirname(path) for path in found.files if memory_notes.is_index(path)}
        others = 0
        foreign = []
        for path in found.files:
            if path in taken:
                continue
            if not memory_notes.sniff(path):
                if "/." not in path[len(root) :].replace(os.sep, "/") and not is_companion(path):
                    foreign.append(path)
                continue
            folder = _memory_folder(path, root, indexed)
            if folder is None and _holds_more_than_notes(root):
                part.unread.append(path)
                others += 1
            else:
                self.listed.setdefault(path, folder or root)
        if others:
            message = (
                f"{others:,} Markdown files outside memory folders were left out; name their folder to import them"
            )
            part.diagnostics.append(Diagnostic(files.shown(root), None, "not-memory", message))
        return foreign

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, path: str) -> None:
        """Read one note, unless nothing of it has changed."""
        part = self.part(path)
        is_made = self._is_made(path)  # what quipu keeps beside its notes says more of them: all are read
        seen = self._seen if self._states[self.listed[path]] is None else None
        now = self._look(path)
        items = seen.unchanged(now) if seen is not None else None
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
        if is_made:
            self._made += 1
            return
        content = text.encode("utf-8", "surrogatepass")
        items = seen.same(now, content) if seen is not None and not left_out else None
        if items is not None:
            part.passes(path, items)
            return
        facts = quipu.facts(text, path, self._project(path)) if not left_out else None
        part.read.append(path)
        if facts is not None:
            part.add(facts.drafts)
            part.whole |= facts.whole
            part.replaced.update(facts.replaced)
            part.diagnostics += facts.diagnostics
            if facts.diagnostics:  # what is older than what was read has not gone
                part.unread.append(path)
            return
        parsed = memory_notes.parse(text, path, self._project(path), self.listed)
        if memory_notes.PART_MARK not in text:  # a part of an index depends, as that, on all that are listed
            part.marks[path] = checkpoints.mark(now, content, len(parsed.drafts))
        part.add(parsed.drafts)
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
        if not self._all:
            listed = "\n".join(sorted(self.listed)).encode("utf-8", "surrogateescape")
            self._all = hashlib.sha256(listed).hexdigest()
        others = self._all if memory_notes.is_index(path) else ""
        return checkpoints.look(path, KIND, f"{self.trust(path)}\n{self._project(path)}\n{others}")

    # -- what quipu adds --------------------------------------------------------------------------------------------

    def _is_made(self, path: str) -> bool:
        """Tell whether a note is one that quipu composes of others."""
        folder = self.listed[path]
        if folder not in self._states:
            self._states[folder] = quipu.state_of(folder)
        return self._states[folder] is not None and quipu.is_made(path, folder)

    def read_marks(self) -> None:
        """Read what the states of quipu say of the notes that were read, after all of them were."""
        for folder, state in self._states.items():
            if state is None:
                continue
            part = self.part(os.path.join(folder, ""))
            found = quipu.marks(state, folder)
            part.diagnostics += found.diagnostics
            replaced, fates = quipu.links(found.replaced, part.drafts)
            for new, olds in replaced.items():
                part.replaced[new] = tuple(dict.fromkeys((*part.replaced.get(new, ()), *olds)))
            part.fates.update(fates)
            if self._made:
                message = f"notes that quipu makes of others were left out: {self._made:,}"
                part.diagnostics.append(Diagnostic(folder, None, "not-memory", message))
                self._made = 0

    # -- projects ---------------------------------------------------------------------------------------------------

    def _project(self, path: str) -> str:
        if self.project is not None:
            return self.project
        folder = self.listed[path]
        if folder not in self._projects:
            self._projects[folder] = self._find_project(path, folder)
        return self._projects[folder]

    def _find_project(self, path: str, folder: str) -> str:
        """Return the project of a memory folder: from transcripts, for every project, from git, or by its name."""
        client = self._client(path)
        if client is not None:
            name, is_told = projects.project_of_slug(client)
            if not is_told:
                message = "no transcript tells which project this is; the name is a guess (--project names it)"
                self.part(path).diagnostics.append(Diagnostic(folder, None, "project-guessed", message))
            return name
        above, agents = os.path.split(os.path.dirname(folder))
        if agents.startswith("agent-memory") and (os.path.basename(above) == ".claude" or above == self.own):
            return EVERYWHERE if above == self.own else projects.project_of(above) or projects.folder_name(above[:-8])
        return projects.project_of(folder) or projects.folder_name(folder)


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
