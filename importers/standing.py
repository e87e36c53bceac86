"""Look what stands today at the place where a learning was read, and show what is around it.

The file is read as an import reads it: bounded, through no link, and never
written. What it says passes the same door as everything that is stored, so
that nothing is shown from it which an import would not have kept.
"""

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from importers import columns, files, registry, sessions
from importers.collected import PART_CHARS
from importers.files import Unread
from importers.transcript import Turn, opened
from ledger import door, private, redact
from ledger.errors import BadArgument, BadInput
from ledger.frame import clean
from ledger.model import Draft, Reading, Source

TRANSCRIPT = "transcript"

ROWS = ("csv:", "jsonl:")
"""How places of rows begin, of which a person told the columns: nobody but an import knows these."""

NEAR_LINES, NEAR_TURNS = 3, 3
"""Lines of a file, and turns of a session, that are shown before and after a place."""

LINES_MAX = 20
"""Most lines of a place itself that are shown."""

HEAD_CHARS, LOOK_LINES = 60, 200
"""How much of a text is looked for, and how far below the beginning of its place."""

LINE_CHARS, TURN_CHARS = 300, 1_000
"""Most that is shown of a line, and of a turn."""

MASKED_CHARS = 10_000
"""By how much a turn may grow when what is secret in it is masked, before it is compared."""

TEXT_BYTES = 8 << 20
"""Largest file whose lines are shown; one of a larger file is found by its importer all the same."""

TEXTS = (".md", ".mdc", ".json", ".jsonl", ".csv", ".tsv", ".txt")
"""Ends of the names of files that have lines."""


class Near(NamedTuple):
    """A line of a file, or a turn of a session, by the line where it begins; `who` speaks in a turn."""

    line: int
    text: str
    who: str | None = None


class Standing(NamedTuple):
    """What stands at a source today.

    `status`: `stands`, the same words at the same place; `moved`, at another
    place of the file; `changed`, the place says something else now; `gone`,
    nobody says it there any more; `unread`, the file cannot be read; `said`, it
    was said and never read from a file. `line` is where it stands now, `near`
    what is around it there.
    """

    status: str
    line: int | None
    message: str
    near: tuple[Near, ...] = ()


def standing(place: Source, said: tuple[str, str], markers: Mapping[str, str], home: str) -> Standing:
    """Return what stands at a source today; `said` are problem and solution as they are stored.

    Raises:
        GuardFailed: the redactor could not run; nothing is shown.
    """
    path = place.path
    if path is None:
        return Standing("said", None, "it was not read from a file")
    if not os.path.lexists(path):
        return Standing("gone", None, "the file is no longer there; the learning holds what was read")
    try:
        if place.locator.startswith(f"{TRANSCRIPT}:"):
            return _turn(place, path, said, markers)
        if place.locator.startswith(ROWS):
            return _row(place, path, said, markers)
        return _text(place, path, said, markers, home)
    except Unread as error:
        return Standing("unread", None, error.message)
    except BadArgument:
        return Standing("gone", None, "the file is no longer there; the learning holds what was read")


# -- sessions ----------------------------------------------------------------------------------------------------------


def _turn(place: Source, path: str, said: tuple[str, str], markers: Mapping[str, str]) -> Standing:
    """Look for a turn by its id, from the beginning: a session that was resumed holds its lines again."""
    uuid = place.locator.partition(":")[2].rpartition("#")[0]
    before: deque[Turn] = deque(maxlen=NEAR_TURNS)
    with opened(path) as transcript:
        turns = iter(transcript)
        for turn in turns:
            if turn.uuid == uuid:
                near = [*before, turn, *islice(turns, NEAR_TURNS)]
                shown = tuple(Near(one.line, _shown(one.text, TURN_CHARS, markers), one.speaker) for one in near)
                if not _says(turn, place, path, said, markers):
                    message = "something else is read there now; the learning holds what was read"
                    return Standing("changed", turn.line, message, shown)
                message = "the session says it there" if turn.line == place.line else "the session says it elsewhere"
                return Standing("stands" if turn.line == place.line else "moved", turn.line, message, shown)
            before.append(turn)
    return Standing("gone", None, "the file is there, and this turn is not in it any more")


def _says(turn: Turn, place: Source, path: str, said: tuple[str, str], markers: Mapping[str, str]) -> bool:
    """Tell whether a turn still says what was learned: word by word, or, of what was inferred, by reading anew."""
    solution = " ".join(said[1].split())
    whole = " ".join(_shown(turn.text, len(turn.text) + MASKED_CHARS, markers).split())
    if solution and re.search(rf"(?<!\w){re.escape(solution)}(?!\w)", whole):
        return True
    at = place.locator.replace("#copy:", "#")
    made = (draft for parsed in sessions.read(path, None) for draft in parsed.drafts if _locator(draft) == at)
    return any(" ".join(one.solution.split()) == solution for one in _kept(made, markers))


# -- rows --------------------------------------------------------------------------------------------------------------


def _row(place: Source, path: str, said: tuple[str, str], markers: Mapping[str, str]) -> Standing:
    """Look for a row one of whose cells says the solution: at its line, else elsewhere."""
    near = tuple(_lines(path, place.line, said[1], markers))
    if not near:
        return Standing("unread", None, "the lines of the file cannot be shown; the learning holds what was read")
    wanted = " ".join(said[1].split())
    elsewhere: int | None = None
    for line, cells in columns.cells(path, place.locator.partition(":")[0]):
        is_here = line == place.line
        if any(_is_cell(wanted, cell, markers if is_here else None) for cell in cells):
            if is_here:
                return Standing("stands", line, "the file says it there", near)
            elsewhere = elsewhere or line
    if elsewhere is not None:
        found = tuple(_lines(path, elsewhere, said[1], markers))
        return Standing("moved", elsewhere, "the file says it at another place now", found)
    return Standing("changed", place.line, "something else stands there now; the learning holds what was read", near)


def _is_cell(wanted: str, cell: str, markers: Mapping[str, str] | None) -> bool:
    """Tell whether a cell says a solution, or has it as a part of a long text; masked as it is stored, where asked."""
    text = cell if markers is None else _shown(cell, len(cell) + MASKED_CHARS, markers)
    found = " ".join(text.split())
    return found == wanted or (len(found) > PART_CHARS and wanted in found)


# -- other files -------------------------------------------------------------------------------------------------------


def _text(place: Source, path: str, said: tuple[str, str], markers: Mapping[str, str], home: str) -> Standing:
    """Read the file as an import does, and look what it says at this place, and where else it says the same."""
    readings = registry.scan_paths([path], None, None, home)
    refused = [one.message for reading in readings for one in reading.diagnostics if one.code in files.REFUSALS]
    found = list(_stored(readings, markers))
    if refused and not found:
        return Standing("unread", None, refused[0])
    here = [draft for draft in found if _locator(draft) == place.locator]
    same = [draft for draft in found if _words(draft.problem, draft.solution) == _words(*said)]
    # A heading that was renamed gives the same words another problem.
    same = same or [draft for draft in found if draft not in here and draft.solution.split() == said[1].split()]
    told = [draft for draft in here if draft in same] or same or here
    if not told:
        return Standing("gone", None, "the file is there, and nothing stands at this place any more")
    draft = told[0]
    line = draft.source.line if draft.source is not None else None
    if draft not in same:
        status, message = "changed", "something else stands there now; the learning holds what was read"
    elif draft in here:
        status, message = "stands", "the file says it there"
    else:
        status, message = "moved", "the file says it at another place now"
    near = tuple(_lines(path, line, draft.solution, markers)) or (
        Near(line or 0, _shown(draft.solution, TURN_CHARS, markers)),
    )
    return Standing(status, line, message, near)


def _stored(readings: Iterable[Reading], markers: Mapping[str, str]) -> Iterator[Draft]:
    """Return what a file says, as an import would store it."""
    return _kept((draft for reading in readings for draft in reading.drafts), markers)


def _kept(drafts: Iterable[Draft], markers: Mapping[str, str]) -> Iterator[Draft]:
    """Yield drafts as an import would store them; what it could not store is left out."""
    for draft in drafts:
        try:
            yield door.draft(draft, markers).draft
        except BadInput:
            continue


def _locator(draft: Draft) -> str:
    return draft.source.locator if draft.source is not None else ""


def _words(problem: str, solution: str) -> list[str]:
    return f"{problem}\n{solution}".split()


def _lines(path: str, line: int | None, text: str, markers: Mapping[str, str]) -> Iterator[Near]:
    """Yield the lines of a text that stands from a line on, and those around them, when the file has lines.

    A place begins with its heading or header; the text itself may stand lower down.
    """
    if line is None or not path.lower().endswith(TEXTS):
        return
    try:
        whole = files.decoded(files.read_bytes(path, TEXT_BYTES))
    except Unread:
        return
    # The whole is scrubbed, not the part: a secret may go over lines, and a private region begin above.
    whole = whole.removesuffix("\n")
    lines = redact.guarded("file", private.without(whole, markers))[0].split("\n")
    if len(lines) != whole.count("\n") + 1:
        return  # what was masked went over lines, so that their numbers are others now
    head, many = text.partition("\n")[0].strip()[:HEAD_CHARS], min(text.count("\n") + 1, LINES_MAX)
    below = enumerate(lines[line - 1 : line - 1 + LOOK_LINES], line)
    begins = next((number for number, one in below if head and head in one), line)
    first = max(1, begins - NEAR_LINES)
    for number, one in enumerate(lines[first - 1 : begins - 1 + many + NEAR_LINES], first):
        yield Near(number, clean(one)[:LINE_CHARS])


def _shown(text: str, most: int, markers: Mapping[str, str]) -> str:
    """Return a text as it may be shown.

    Raises:
        GuardFailed: the redactor could not run.
    """
    kept = clean(redact.guarded("text", private.without(text, markers))[0])
    return kept if len(kept) <= most else kept[:most] + " …"
