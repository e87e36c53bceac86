"""Make an index that the client does not load whole short enough: entries move into a note beside it, word for word.

Pure, from text to texts. Only whole entries move, the last ones first, since those are what the
client does not load anyway; headings, index lines and whatever else stands there stay, line by line.
A link stands where entries stood. The note (`memory_notes.PART_MARK`) is read as the index would be.
What is proposed has been parsed again and says what the index said, learning by learning.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from importers import markdown, memory_notes
from importers.markdown import Block, Section
from importers.memory_notes import INTRO, LEARNING, LINKS, Piece
from ledger import cliff
from ledger.model import Reading

ROOM = 0.9
"""Share of the client's limits that is filled again, where that can be reached: else the next line is over them."""

NAMES_CHARS = 160
"""Most characters of the headings that the note's header names."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")

Said = Counter[tuple[str, str]]
"""What texts say: problems and solutions, and how often."""


class Compaction(NamedTuple):
    """What is left of an index, and the note with the rest; `moved` are entries, `first_cut` as in `Cliff`."""

    left: str
    part: str
    moved: int
    first_cut: int | None


def compacted(text: str, path: str, files: Collection[str], known: Collection[int], name: str) -> Compaction | None:
    """Return how an index fits the client's limits, or comes nearer to them; None when no entry of it can move.

    Args:
        text: with its own line ends, without a byte order mark.
        files: paths of the notes that exist.
        known: the lines that those entries begin on which may move.
        name: what the note beside it is called.
    """
    index = _Index(text, path, frozenset(files), frozenset(known), name)
    found = index.least()
    if found is not None and not index.says_the_same(found):
        index.leave_what_would_change()
        found = index.least()
    return found if found is not None and index.says_the_same(found) else None


class _Index:
    """An index whose entries move."""

    def __init__(self, text: str, path: str, files: frozenset[str], known: frozenset[int], name: str) -> None:
        self.path, self.name = path, name
        self.part_path = os.path.join(os.path.dirname(path), name)
        self.files = files | {self.part_path}
        self.lines: list[str] = _LINE.findall(text)
        self.end = _end(self.lines[0]) if self.lines and _end(self.lines[0]) else "\n"
        self.pieces = memory_notes.pieces(_plain(text), path, self.files)
        self.lists = self._lists()
        self.above = _headings(memory_notes.body_lines(_plain(text), path))
        self.says = self._says(text, path)
        self.movable = [number for number, piece in enumerate(self.pieces) if self._may_move(piece, known)]
        self._leave_leading()

    # -- which entries -------------------------------------------------------------------------------------------------

    def _lists(self) -> dict[int, list[int]]:
        """Return which pieces each intro leads, by the identity of its block."""
        found: dict[int, list[int]] = {}
        for number, piece in enumerate(self.pieces):
            if piece.intro is not None:
                found.setdefault(id(piece.intro), []).append(number)
        return found

    def _may_move(self, piece: Piece, known: frozenset[int]) -> bool:
        """Tell whether an entry is known, and stands in whole lines, as does what leads its list."""
        blocks = [piece.block] if piece.intro is None else [piece.block, piece.intro]
        is_known = piece.kind == LEARNING and piece.block.line in known
        return is_known and all(self._is_whole(piece.section, block) for block in blocks)

    def _is_whole(self, section: Section, block: Block) -> bool:
        """Tell whether nothing else stands on a block's lines, such as an index line or the end of a comment."""
        if len(block.numbers) != block.text.count("\n") + 1:
            return False
        texts = {line.number: line.text for line in section.lines}
        return all(self.lines[number - 1].rstrip("\r\n") == texts[number] for number in block.numbers)

    def _leave_leading(self) -> None:
        """Leave what the entries that stay depend on.

        Prose ends the list before it: it stays as long as an item below it does. A line that
        leads a list of index lines and entries goes on leading one entry.
        """
        movable, is_free = set(self.movable), True
        for number in range(len(self.pieces) - 1, -1, -1):
            piece = self.pieces[number]
            if number + 1 == len(self.pieces) or self.pieces[number + 1].section is not piece.section:
                is_free = True
            if piece.kind == LINKS:
                continue
            if piece.block.is_item:
                is_free = is_free and number in movable
                continue
            if not is_free:
                movable.discard(number)
            is_free = True
        for led in self.lists.values():
            entries = [number for number in led if self.pieces[number].kind != LINKS]
            if len(entries) < len(led) and movable.issuperset(entries):
                movable.discard(entries[0])
        self.movable = sorted(movable)

    def leave_what_would_change(self) -> None:
        """Leave the entries of those headings whose learnings would be others."""
        own: dict[int, list[int]] = {}
        for number in self.movable:
            own.setdefault(id(self.pieces[number].section), []).append(number)
        self.movable = [number for ones in own.values() if self.says_the_same(self._without(ones)) for number in ones]

    # -- what becomes of it --------------------------------------------------------------------------------------------

    def least(self) -> Compaction | None:
        """Return what moves the fewest entries so that the rest fits, with room; all of them when it never does."""
        if not self.movable:
            return None
        everything = self._without(self.movable)
        room = ROOM if _fits(everything.left, ROOM) else 1.0
        low, high, best = 1, len(self.movable), everything
        while low <= high:
            count = (low + high) // 2
            found = self._without(self.movable[-count:])
            if _fits(found.left, room):
                best, high = found, count - 1
            else:
                low = count + 1
        return best

    def says_the_same(self, found: Compaction) -> bool:
        """Tell whether index and note say together what the index said."""
        return self._says(found.left, self.path) + self._says(found.part, self.part_path) == self.says

    def _says(self, text: str, path: str) -> Said:
        parsed = memory_notes.parse(_plain(text), path, "any", self.files)
        return Counter((draft.problem, draft.solution) for draft in parsed.drafts)

    def _without(self, numbers: Collection[int]) -> Compaction:
        """Return what the index becomes when these pieces move."""
        runs = list(self._runs(set(numbers)))
        rest: dict[int, str] = {}
        for run in runs:
            gone = [number for at in run for number in self.pieces[at].block.numbers]
            between = (number for number in range(gone[0], gone[-1]) if not self.lines[number - 1].strip())
            rest.update(dict.fromkeys([*gone, *between], ""))
            rest[gone[0]] = self._link(run) + self._link_end(gone, rest)
        index = "".join(rest.get(number, line) for number, line in enumerate(self.lines, 1))
        return Compaction(index, self._part(runs), len(numbers), cliff.cliff(index).first_cut)

    def _link_end(self, gone: list[int], rest: dict[int, str]) -> str:
        """Return how a link's line ends: as the last one that goes, which of a text without an end may be without one.

        Not so when a line stays between those that go, such as a rule: it would be of the link's.
        """
        stays = any(number not in rest for number in range(gone[0] + 1, gone[-1]))
        return _end(self.lines[gone[-1] - 1]) or (self.end if stays else "")

    def _runs(self, gone: set[int]) -> Iterator[list[int]]:
        """Yield neighbours that move together, with what leads their list when all of that moves."""
        for number, piece in enumerate(self.pieces):
            if piece.kind == INTRO and gone.issuperset(self.lists.get(id(piece.block), [-1])):
                gone.add(number)
        run: list[int] = []
        for number in sorted(gone):
            if run and (number != run[-1] + 1 or self.pieces[number].section is not self.pieces[run[-1]].section):
                yield run
                run = []
            run.append(number)
        if run:
            yield run

    def _link(self, run: list[int]) -> str:
        """Return the index line that stands where entries stood."""
        path = self.pieces[run[0]].section.path
        count = sum(self.pieces[number].kind != INTRO for number in run)
        title = re.sub(r"[\[\]]", "", path[-1] if path else "").strip() or "More"
        return f"- [{title}]({self.name}) — {count} {'entry' if count == 1 else 'entries'}, moved there word for word"

    # -- the note ------------------------------------------------------------------------------------------------------

    def _part(self, runs: list[list[int]]) -> str:
        """Return the note: the entries below the headings that they stood under."""
        paths = [self.pieces[run[0]].section.path for run in runs]
        names = ", ".join(dict.fromkeys(path[-1] for path in paths if path and path[-1]))[:NAMES_CHARS]
        told = f"entries of {memory_notes.INDEX}, moved here word for word" + (f": {names}" if names else "")
        made = ["---", "name: moved-entries", f"description: {json.dumps(told, ensure_ascii=False)}", "---"]
        made += [f"{memory_notes.PART_MARK} `learnings compact` moved these entries here word for word -->"]
        return "".join([*(line + self.end for line in made), *self._body(runs)])

    def _body(self, runs: list[list[int]]) -> Iterator[str]:
        said: tuple[int, ...] = ()
        for run in runs:
            section = self.pieces[run[0]].section
            headings = self.above[section.line] if section.path else ()
            above = headings[:-1]
            above = above[sum(one == other for one, other in zip(above, said, strict=False)) :]
            for number in (*above, *headings[-1:]):  # its own heading always: it ends the list before it
                yield self.end
                yield self._whole(number)
            said = headings
            yield from self._entries(run)

    def _entries(self, run: list[int]) -> Iterator[str]:
        """Yield the lines of neighbours, each list led by what led it."""
        intro: Block | None = None
        is_item = False
        for at in run:
            piece = self.pieces[at]
            if not (is_item and piece.block.is_item):
                yield self.end
            if piece.intro is not None and piece.intro is not intro:
                yield from map(self._whole, piece.intro.numbers)
            intro = piece.block if piece.kind == INTRO else piece.intro
            is_item = piece.block.is_item or piece.kind == INTRO
            yield from map(self._whole, piece.block.numbers)

    def _whole(self, number: int) -> str:
        line = self.lines[number - 1]
        return line if _end(line) else line + self.end


def _headings(found: Iterable[markdown.Line]) -> dict[int, tuple[int, ...]]:
    """Return for the line of each heading the lines of those that it stands below, and its own last."""
    above: dict[int, tuple[int, ...]] = {}
    stack: list[tuple[int, int]] = []
    for line in found:
        mark = markdown.heading(line)
        if mark is not None:
            stack = [*(one for one in stack if one[0] < mark[0]), (mark[0], line.number)]
            above[line.number] = tuple(number for _, number in stack)
    return above


def _fits(index: str, room: float) -> bool:
    found = cliff.cliff(index)
    return found.first_cut is None and found.lines <= room * cliff.LINES and found.units <= room * cliff.UNITS


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


# -- what is read afterwards -------------------------------------------------------------------------------------------


def reading(before: Reading, found: Compaction, note: str, files: Collection[str], project: str) -> Reading:
    """Return what is read of an index and its note, once they are written; the note belongs to `project`."""
    (path,) = before.roots
    told = before.drafts[0].project
    index = memory_notes.parse(_plain(found.left), path, told, files)
    part = memory_notes.parse(_plain(found.part), note, told, files)
    drafts = [*index.drafts, *(draft._replace(project=project) for draft in part.drafts)]
    whole = index.whole | part.whole
    return before._replace(drafts=drafts, whole=whole, paths=(path, note), roots=(path, note), diagnostics=[])


def note_only(both: Reading, note: str) -> Reading:
    """Return what is read of the note alone."""
    drafts = [draft for draft in both.drafts if draft.source is not None and draft.source.path == note]
    whole = frozenset(locator for locator in both.whole if locator.startswith(f"{memory_notes.KIND}:{note}#"))
    return both._replace(drafts=drafts, whole=whole, paths=(note,), roots=(note,))
