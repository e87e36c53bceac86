"""Read the memory files of other agents: Gemini CLI, Codex, Hermes, and Cursor's rules.

What each writes by itself, and where, is what their own sources document;
nothing else of their folders is read. A file is one place, so that an entry
that was reworded is an edit. None of them names a project: what they say holds
everywhere, except Cursor's rules, which are a repository's.
"""

import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from importers import files, headers, markdown
from importers.collected import Collected
from importers.kinds import Importer, Parsed, Where
from importers.markdown import Section
from importers.projects import folder_name, project_of
from importers.subjects import categorised
from ledger.model import EVERYWHERE, Diagnostic, derived_title

GEMINI, CODEX, HERMES, CURSOR = "gemini-memory", "codex-memory", "hermes-memory", "cursor-rules"

ADDED = "gemini added memories"
"""The heading below which Gemini CLI writes what it is told to remember, in lower case."""

_ADDED = re.compile(rb"(?im)^#{1,6}[ \t]+Gemini Added Memories[ \t]*$")
_MARK = re.compile(r"(?m)^[ \t]*\u00a7[ \t]*$")
_MARK_BYTES = re.compile(rb"(?m)^[ \t]*\xc2\xa7[ \t]*\r?$")


class _Entry(NamedTuple):
    """One thing a file says: what it is about ('' when its text tells), the text, and its line."""

    about: str
    text: str
    line: int


class _File(Collected):
    """One file on its way to drafts."""

    def parsed_of(self, entries: Iterator[_Entry], place: str) -> Parsed:
        """Return what the entries say."""
        locator = f"{self.kind}:{self.path}#"
        self.whole.add(locator)
        for entry in entries:
            about = entry.about or derived_title(markdown.plain(entry.text.partition("\n")[0]) or entry.text)
            category = categorised("", f"{about}\n{entry.text}")
            self.add(locator, about, entry.text, category, place, line=entry.line)
        return self.parsed(is_complete=True)


def _read(kind: str, entries: "Callable[[str, _File], Iterator[_Entry]]") -> Callable[[str, str | None], list[Parsed]]:
    """Return how a file of a kind is read."""

    def read(path: str, project: str | None = None) -> list[Parsed]:
        note = files.read_note(path)
        found = _File(kind, path, project)
        found.bad += len(note.left_out)
        found.diagnostics += [Diagnostic(path, line, code, message) for code, line, message in note.left_out]
        return [found.parsed_of(entries(note.text, found), _place(kind, path))]

    return read


def parse(kind: str, text: str, path: str, project: str | None = None) -> Parsed:
    """Return what the text of a file of one of these kinds says."""
    found = _File(kind, path, project)
    return found.parsed_of(_ENTRIES[kind](text, found), _place(kind, path))


def _place(kind: str, path: str) -> str:
    """Return the project of a file: every one, but for a repository's rules."""
    if kind != CURSOR:
        return EVERYWHERE
    above = path.partition(os.sep + ".cursor" + os.sep)[0] if ".cursor" in path.split(os.sep) else os.path.dirname(path)
    return project_of(above) or folder_name(above)


# -- what each writes -------------------------------------------------------------------------------------------------


def _gemini(text: str, found: _File) -> Iterator[_Entry]:
    """Yield the items below the heading of what was added; what a person wrote around them are instructions."""
    others = 0
    for section in markdown.sections(markdown.lines(text)):
        if ADDED in (words.lower() for words in section.path):
            yield from (_Entry("", block.text, block.line) for block in markdown.blocks(section.lines))
        else:
            others += bool(section.text.strip())
    found.leave_out("sections of instructions", others)


def _codex(text: str, found: _File) -> Iterator[_Entry]:
    """Yield the items and the prose below each heading of the consolidated memory."""
    yield from _sections(markdown.sections(markdown.lines(text)))


def _sections(sections: list[Section]) -> Iterator[_Entry]:
    for section in sections:
        about = " > ".join(section.path[1:] if len(section.path) > 1 else section.path)
        for block in markdown.blocks(section.lines):
            if block.text.strip():
                yield _Entry(about, block.text, block.line)


def _hermes(text: str, found: _File) -> Iterator[_Entry]:
    """Yield the entries between lines of a section sign."""
    begin = 0
    for mark in [*_MARK.finditer(text), None]:
        entry = text[begin : mark.start() if mark is not None else len(text)]
        line = text.count("\n", 0, begin + len(entry) - len(entry.lstrip())) + 1
        if entry.strip():
            yield _Entry("", entry.strip(), line)
        begin = mark.end() if mark is not None else begin


def _cursor(text: str, found: _File) -> Iterator[_Entry]:
    """Yield a rule: what it is for, and what it says; a long one in its headed sections."""
    header = headers.parse(text, found.path)
    globs = ", ".join(header.texts("globs"))
    name = re.sub(r"[_-]+", " ", os.path.splitext(os.path.basename(found.path))[0]).strip(". ")
    about = header.text("description") or (f"{name} (for {globs})" if globs else name) or "rules"
    body = header.body.strip()
    first = header.body_line + header.body.count("\n", 0, len(header.body) - len(header.body.lstrip()))
    if len(body) <= LONG_CHARS:
        if body:
            yield _Entry(about, body, first)
        return
    for section in markdown.sections(markdown.lines(header.body, header.body_line), 2):
        if section.text:
            path = " > ".join(section.path)
            yield _Entry(f"{about}: {path}" if path else about, section.text, section.line)


LONG_CHARS = 1_500
"""Length from which a rule of several headed sections is a learning a section, as notes are."""

_ENTRIES = {GEMINI: _gemini, CODEX: _codex, HERMES: _hermes, CURSOR: _cursor}


# -- where each writes ------------------------------------------------------------------------------------------------


def _is_gemini(head: bytes, path: str) -> bool:
    return os.path.basename(path) == "GEMINI.md" or (path.lower().endswith(".md") and bool(_ADDED.search(head)))


def _is_codex(head: bytes, path: str) -> bool:
    return path.split(os.sep)[-3:] == [".codex", "memories", "MEMORY.md"]


def _is_hermes(head: bytes, path: str) -> bool:
    parts = path.split(os.sep)
    is_named = parts[-1] in ("MEMORY.md", "USER.md")
    return is_named and (parts[-3:-1] == [".hermes", "memories"] or bool(_MARK_BYTES.search(head)))


def _is_cursor(head: bytes, path: str) -> bool:
    return path.lower().endswith(".mdc") or os.path.basename(path) == ".cursorrules"


def _standing(*paths: str) -> list[str]:
    return [path for path in paths if os.path.isfile(path)]


def _hermes_files(folder: str) -> list[str]:
    """Return the memory files of a folder of Hermes, none of any other folder."""
    memories = folder if folder.split(os.sep)[-2:] == [".hermes", "memories"] else os.path.join(folder, "memories")
    if ".hermes" not in memories.split(os.sep)[-2:]:
        return []
    return _standing(*(os.path.join(memories, name) for name in ("MEMORY.md", "USER.md")))


def _codex_files(folder: str) -> list[str]:
    memories = folder if folder.split(os.sep)[-2:] == [".codex", "memories"] else os.path.join(folder, "memories")
    is_theirs = memories.split(os.sep)[-2:] == [".codex", "memories"]
    return _standing(os.path.join(memories, "MEMORY.md")) if is_theirs else []


def _cursor_files(folder: str) -> list[str]:
    """Return the rules below `.cursor`, which is named; a repository's rules are not taken along with it."""
    if ".cursor" not in folder.split(os.sep):
        return []
    return files.walk(folder, ".mdc").files


def _gemini_places(where: Where) -> list[str]:
    return _standing(os.path.join(where.home, ".gemini", "GEMINI.md"))


def _codex_places(where: Where) -> list[str]:
    folder = where.environ.get("CODEX_HOME") or os.path.join(where.home, ".codex")
    return _standing(os.path.join(folder, "memories", "MEMORY.md"))


def _hermes_places(where: Where) -> list[str]:
    folder = where.environ.get("HERMES_HOME") or os.path.join(where.home, ".hermes")
    return _standing(*(os.path.join(folder, "memories", name) for name in ("MEMORY.md", "USER.md")))


def _cursor_places(where: Where) -> list[str]:
    folder = os.path.join(where.cwd, ".cursor", "rules") if where.cwd is not None else ""
    return files.walk(folder, ".mdc").files if folder and os.path.isdir(folder) else []


IMPORTERS = (
    Importer(GEMINI, _is_gemini, _read(GEMINI, _gemini), places=_gemini_places, is_markdown=True),
    Importer(CODEX, _is_codex, _read(CODEX, _codex), below=_codex_files, places=_codex_places, is_markdown=True),
    Importer(HERMES, _is_hermes, _read(HERMES, _hermes), below=_hermes_files, places=_hermes_places, is_markdown=True),
    Importer(CURSOR, _is_cursor, _read(CURSOR, _cursor), below=_cursor_files, places=_cursor_places),
)
