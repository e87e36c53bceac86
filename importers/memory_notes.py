"""Read Claude Code's memory notes: topic files, the index, the memories of agents.

Pure over text that was read. A topic file is one place and one learning; a
long one of several headed sections is a learning a section. `MEMORY.md` is an
index: its links are known, its index lines are no learnings, but its prose and
its other list items are. `**Why:**` becomes the problem, the rule and
`**How to apply:**` the solution; where a note has no such form, what it is
about becomes the problem. Nothing is cut: a text beyond a cap is several
learnings of one place. A part of an index (`compaction.py`) is read as the
index itself would be, so that an entry that moves there stays the same learning.
"""

import os
import re
from collections.abc import Container
from typing import NamedTuple
from urllib.parse import unquote

from importers import headers, markdown
from importers.headers import Header
from importers.markdown import Block, Section
from importers.subjects import categorised
from ledger import cliff
from ledger.model import EVERYWHERE, TAG_CHARS, TAGS_MAX, TITLE_CHARS, Diagnostic, Draft, Source, derived_title

KIND = "memory-note"
INDEX = "MEMORY.md"

LONG_CHARS = 1_500
"""Length from which a topic file of several headed sections is a learning a section."""

PART_CHARS = 12_000
"""Longest solution of one learning; longer texts are cut at blank lines. Leaves room below the ledger's cap of
16,000 for what redaction may add."""

PROBLEM_PART_CHARS = 3_000
"""Longest problem; a longer `**Why:**` stays in the solution."""

LEARNINGS_MAX = 5_000
"""Most learnings of one note: the client loads 200 lines of an index, and the limit keeps an import within seconds."""

MISSING_SHOWN = 20
"""Index lines without a target that are named one by one."""

_TYPES = ("feedback", "user", "project", "reference")
_AGENT = re.compile(r"[/\\]agent-memory(?:-local)?[/\\]([^/\\]+)[/\\]")
_WHY = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?(?:\*\*|__)?(why|how to apply)(?:(?:\*\*|__):|:(?:\*\*|__)?)[ \t]*", re.IGNORECASE
)
_LINK = re.compile(r"^(?:\*\*|__)?\[[^\]]*\]\(<?([^)>]+?\.md)(?:#[^)>]*)?>?\)", re.IGNORECASE)
_WIKI = re.compile(r"^(?:\*\*|__)?\[\[([^\]|#]+)(?:[|#][^\]]*)?\]\]")
_TERM = re.compile(r"^(?:\*\*(.{2,80}?):?\*\*[ \t]*[:\u2014\u2013-]|([^.:\n`*]{3,60}?):[ \t])")
_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*\Z")
_EMPTY_HEADING = re.compile(
    r"(?:(?:my|our|the|auto|agent|project|claude|memory|memories|index|notes?|of)\W*)+\Z", re.IGNORECASE
)


PART_MARK = "<!-- part of the index:"
"""What the body of a note begins with that holds entries moved out of the index."""

LEARNING, MIXED, LINKS, INTRO = "learning", "mixed", "links", "intro"
"""What a block of an index is: a learning; one with index lines in it; nothing but index lines; what leads a list."""


class Piece(NamedTuple):
    """A block of an index without its index lines, what it is, and the block that leads the list it stands in."""

    section: Section
    block: Block
    kind: str
    intro: Block | None


class Parsed(NamedTuple):
    """What one note says; `whole` are the locators of every place in it, empty ones included.

    `is_complete` is False when it says more than is taken of one note.
    """

    drafts: list[Draft]
    whole: frozenset[str]
    diagnostics: list[Diagnostic]
    is_complete: bool = True


def sniff(path: str) -> bool:
    """Return whether this importer reads a file of that name."""
    return path.lower().endswith(".md")


def is_index(path: str) -> bool:
    """Return whether a file is the index of its folder."""
    return os.path.basename(path).lower() == INDEX.lower()


def pieces(text: str, path: str, files: Container[str]) -> list[Piece]:
    """Return the blocks of an index, in order; see `parse`."""
    note = _Note(headers.parse(text, path), path, EVERYWHERE, files)
    return [piece for section in markdown.sections(body_lines(text, path)) for piece in note.pieces(section)]


def body_lines(text: str, path: str) -> list[markdown.Line]:
    """Return the lines of a note below its header."""
    header = headers.parse(text, path)
    return markdown.lines(header.body, header.body_line)


def parse(text: str, path: str, project: str, files: Container[str] = ()) -> Parsed:
    """Return what a note says.

    Args:
        text: its text with LF line ends and without a byte order mark.
        path: its real path, which its locators carry.
        project: the project its learnings hold in.
        files: paths of the notes that exist, to know the targets of index lines.
    """
    header = headers.parse(text, path)
    return _Note(header, path, project, files).parsed(text)


class _Note:
    """One note on its way to drafts."""

    def __init__(self, header: Header, path: str, project: str, files: Container[str]) -> None:
        self.header = header
        self.path = path
        self.project = project
        self.files = files
        self.about = f"notes on {project}" if project != EVERYWHERE else "general notes"
        self.is_part = header.body.lstrip().startswith(PART_MARK)
        self.type = self._type()
        self.tags = self._tags()
        self.drafts: list[Draft] = []
        self.places: set[str] = set()
        self.missing: list[int] = []
        self.beyond: list[int] = []
        self.diagnostics = list(header.diagnostics)

    def parsed(self, text: str) -> Parsed:
        lines = markdown.lines(self.header.body, self.header.body_line)
        if is_index(self.path) or self.is_part:
            if not self.is_part:
                self._say_what_is_not_loaded(text)
            for section in markdown.sections(lines):
                self._read_section(section)
        else:
            self._read_topic(lines)
        self._say_what_is_missing()
        self.places.add(self._locator(()))
        if self.beyond:
            message = f"{len(self.beyond):,} learnings from this line on were not read: {LEARNINGS_MAX:,} is the limit"
            self._say(self.beyond[0], "too-many", message)
        return Parsed(self.drafts, frozenset(self.places), self.diagnostics, not self.beyond)

    # -- what the header says ---------------------------------------------------------------------------------------

    def _type(self) -> str:
        """Return the kind of note: the header's word, else the first word of the file's name, else ''."""
        said = self.header.text("type").lower()
        if said or is_index(self.path) or self.is_part:
            return said
        first = re.split(r"[_-]", os.path.basename(self.path).lower(), maxsplit=1)[0]
        return first if first in _TYPES else ""

    def _tags(self) -> tuple[str, ...]:
        agent = _AGENT.search(self.path)
        found = [f"agent:{agent[1]}"] if agent is not None else []
        found += [self.type] if self.type else []
        found += self.header.texts("tags")
        return tuple(dict.fromkeys(tag[:TAG_CHARS] for tag in found))[:TAGS_MAX]

    # -- topic files ------------------------------------------------------------------------------------------------

    def _read_topic(self, lines: list[markdown.Line]) -> None:
        """Read a topic file as one learning, or a learning a section when it is long and headed."""
        body = "\n".join(line.text for line in lines).strip()
        rule, why = _split_why(lines)
        if why:
            self._add_reasoned(rule, why)
            return
        deepest = _splitting_level(lines) if len(body) > LONG_CHARS else 0
        if deepest:
            for section in markdown.sections(lines, deepest):
                self._add_section(section)
            return
        self._add_whole(lines, body)

    def _add_reasoned(self, rule: str, why: str) -> None:
        """Add a note of the form rule, Why, How to apply."""
        description, name = self.header.text("description"), self._name()
        title = name or description or derived_title(rule or why)
        extra = description if description and not _same(description, title) and not _same(description, rule) else ""
        problem = f"{why}\n\n{extra}" if extra else why
        if not rule:
            problem, rule = description or name or self._stem(), why
        elif len(problem) > PROBLEM_PART_CHARS:
            problem, rule = description or title, f"{rule}\n\nWhy: {why}"
        self._add((), 1, title, problem, rule)

    def _add_whole(self, lines: list[markdown.Line], body: str) -> None:
        """Add a note without that form: what it is about is the problem."""
        first = next((line for line in lines if line.text.strip()), None)
        mark = markdown.heading(first) if first is not None else None
        top = mark[1] if mark is not None else ""
        rest = body.partition("\n")[2].strip() if mark is not None else body
        description, name = self.header.text("description"), self._name()
        slug = re.sub(r"[_-]+", " ", self.header.text("name")).strip()
        about = [text for text in (description, name, top, slug, self._stem()) if text]
        solution = rest or description or top
        if not solution:
            self._say(1, "empty-note", "it holds no text; nothing was imported")
            return
        problem = next((text for text in about if not _same(text, solution)), self.about)
        title = name or description or top or derived_title(solution)
        self._add((), 1, title, problem, solution)

    def _add_section(self, section: Section) -> None:
        """Add one section of a long topic file."""
        if not section.text:
            return
        subject = self.header.text("description") or self._name() or self._stem()
        path = " > ".join(section.path)
        title = section.path[-1] if section.path else self._name() or subject
        self._add(section.path, section.line, title, f"{subject}: {path}" if path else subject, section.text)

    def _name(self) -> str:
        """Return the header's name when it is words for people, '' when it is a slug."""
        name = self.header.text("name")
        return "" if _SLUG.match(name) and (self.header.text("description") or "-" in name or "_" in name) else name

    def _stem(self) -> str:
        return re.sub(r"[_-]+", " ", os.path.splitext(os.path.basename(self.path))[0]).strip() or self.about

    # -- the index --------------------------------------------------------------------------------------------------

    def _read_section(self, section: Section) -> None:
        """Read the prose and the list items below one heading of an index."""
        self.places.add(self._locator(section.path))
        for piece in self.pieces(section):
            block = piece.block
            if piece.kind not in (LEARNING, MIXED):
                continue
            if block.is_item:
                self._add_item(section, block, markdown.plain(piece.intro.text).rstrip(":") if piece.intro else "")
            else:
                about = self._about(section.path)
                title = section.path[-1] if section.path and about != self.about else derived_title(block.text)
                self._add(section.path, block.line, title, about, block.text)

    def pieces(self, section: Section) -> list[Piece]:
        """Return the blocks below one heading of an index, in order."""
        found = [(block, self._without_links(block)) for block in markdown.blocks(section.lines)]
        kept_ones = iter([kept for _, kept in found if kept is not None][1:])
        made: list[Piece] = []
        intro: Block | None = None
        for block, kept in found:
            if kept is None:
                made.append(Piece(section, block, LINKS, intro))
                continue
            after = next(kept_ones, None)
            leads = not kept.is_item and after is not None and after.is_item and _is_intro(kept.text)
            if not kept.is_item:
                intro = kept if leads else None
            kind = INTRO if leads else LEARNING if kept.text == block.text else MIXED
            made.append(Piece(section, kept, kind, None if leads else intro))
        return made

    def _add_item(self, section: Section, block: Block, intro: str) -> None:
        term = _TERM.match(block.text)
        about = [self._about(section.path), intro, (term[1] or term[2]) if term is not None else ""]
        problem = ": ".join(dict.fromkeys(markdown.plain(part) for part in about if part))
        title = derived_title(markdown.plain(block.text.partition("\n")[0]))
        self._add(section.path, block.line, title, problem, block.text)

    def _about(self, path: tuple[str, ...]) -> str:
        """Return what a heading is about: its path, without headings that only say that these are notes."""
        said = [words for words in path if words and not _EMPTY_HEADING.match(words)]
        return " > ".join(said) or self.about

    def _without_links(self, block: Block) -> Block | None:
        """Return a block without its index lines, None when nothing else is in it; what they point to must exist."""
        kept = []
        for number, line in enumerate(block.text.split("\n")):
            if not self._is_index_line(line.strip().lstrip("-*+| ").strip(), block.line + number):
                kept.append(line)
        text = "\n".join(kept).strip("\n").rstrip()
        return block._replace(text=text) if text.strip(" |-:") else None

    def _is_index_line(self, line: str, number: int) -> bool:
        link = _LINK.match(line)
        if link is None:
            wiki = _WIKI.match(line)
            return wiki is not None and self._exists(f"{wiki[1].strip()}.md")
        target = unquote(link[1].strip())
        if "://" in target:
            return False
        if not self._exists(target):
            self.missing.append(number)
        return True

    def _exists(self, target: str) -> bool:
        return os.path.normpath(os.path.join(os.path.dirname(self.path), target)) in self.files

    def _say_what_is_missing(self) -> None:
        """Name the index lines that point to no note: each, up to a number, and how many more there are."""
        for number in self.missing[:MISSING_SHOWN]:
            self._say(number, "index-target", "the file this line points to is not among the notes that were found")
        more = len(self.missing) - MISSING_SHOWN
        if more > 0:
            line = self.missing[MISSING_SHOWN]
            self._say(line, "index-targets", f"this and {more - 1:,} more lines point to files that were not found")

    def _say_what_is_not_loaded(self, text: str) -> None:
        """Say from which line on the client does not load this index; all of it is imported."""
        dropped = cliff.cliff(text).first_cut
        if dropped is not None:
            self._say(
                dropped,
                "not-loaded",
                f"the client loads at most {cliff.LINES} lines and {cliff.UNITS:,} UTF-16 units of an index: nothing"
                " from this line on; all of it was read here",
            )

    # -- drafts -----------------------------------------------------------------------------------------------------

    def _add(self, place: tuple[str, ...], line: int, title: str, problem: str, solution: str) -> None:
        """Add one learning, or several of one place when the text is longer than a learning may be."""
        if len(self.drafts) >= LEARNINGS_MAX:
            self.beyond.append(line)
            return
        if _same(problem, solution):
            problem = self.about
        locator = self._locator(place)
        self.places.add(locator)
        category, confidence = categorised(self.type, f"{title}\n{problem}\n{solution}")
        pieces = markdown.parts(solution, PART_CHARS)
        for number, piece in enumerate(pieces, 1):
            mark = f" ({number} of {len(pieces)})" if len(pieces) > 1 else ""
            self.drafts.append(
                Draft(
                    problem[:PROBLEM_PART_CHARS].strip() + mark,
                    piece,
                    category,
                    self.project,
                    (_title(title, TITLE_CHARS - len(mark)) or derived_title(problem)) + mark,
                    self.tags,
                    self.header.text("modified") or None,
                    confidence,
                    Source(KIND, locator, self.path, line),
                )
            )

    def _locator(self, place: tuple[str, ...]) -> str:
        return f"{KIND}:{self.path}#{' > '.join(place)[:500]}"

    def _say(self, line: int, code: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(self.path, line, code, message))


def _split_why(lines: list[markdown.Line]) -> tuple[str, str]:
    """Return a note's rule with how to apply it, and its reasons; no reasons when it has not that form."""
    texts: dict[str, list[str]] = {"rule": [], "why": []}
    here = "rule"
    for line in lines:
        mark = None if line.code else _WHY.match(line.text)
        if mark is not None:
            here = "why" if mark[1].lower() == "why" else "rule"
            said = line.text[mark.end() :]
            texts[here].append(said if here == "why" else f"How to apply: {said}")
        else:
            if here == "why" and markdown.heading(line) is not None:
                here = "rule"
            texts[here].append(line.text)
    return "\n".join(texts["rule"]).strip(), "\n".join(texts["why"]).strip()


def _splitting_level(lines: list[markdown.Line]) -> int:
    """Return the shallowest level with two headings or more, 0 when there is none."""
    levels = [mark[0] for mark in map(markdown.heading, lines) if mark is not None]
    return next((level for level in range(1, 7) if levels.count(level) > 1), 0)


def _is_intro(text: str) -> bool:
    return len(text) <= TITLE_CHARS and text.endswith(":") and "\n" not in text


def _same(one: str, other: str) -> bool:
    """Return whether two texts are the same but for case, marks and the full stop."""
    return _bare(one) == _bare(other)


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _title(text: str, most: int) -> str:
    found = derived_title(markdown.plain(text))
    return found if len(found) <= most else found[: most - 1].rstrip() + "…"
