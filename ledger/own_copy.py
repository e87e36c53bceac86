"""The client's own copy: files that it loads above our frame, and what they still say.

MEMORY.md, CLAUDE.md, AGENTS.md and rules have instruction rank; a learning that was
superseded or retracted and still stands there goes on ruling. A line says a
learning when it holds its text, or only says it again in other words
(`echo.py`); a line that also says what replaced it does not. Files are read, bounded,
never through a link; nothing is changed here.
Lean path: stdlib only.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ledger import cliff, place, sql
from ledger.echo import Heard, Learned
from ledger.reader import Reader

NAMES = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"), "AGENTS.md")
"""Files of a folder that a client loads, besides its rules."""

INDEX = "MEMORY.md"
RULES_MAX, NOTES_MAX, FOLDERS_MAX = 200, 2_000, 40
TEXT_CHARS = 20
"""Fewest characters of a text that a line is searched for, when nothing but the text leads there."""

GONE_MAX = 2_000
"""Newest superseded or retracted learnings that `contradictions` looks for."""


class Standing(NamedTuple):
    """A line of a file that says a learning; `line` counts from 1."""

    file: str
    line: int
    learning: str


class Contradiction(NamedTuple):
    """A line that still says what is not true any more; `heads` are true instead, none when it was retracted."""

    file: str
    line: int
    learning: str
    state: str
    heads: list[str]


# -- which files -------------------------------------------------------------------------------------------------------


def instructions(cwd: str, home: str) -> list[str]:
    """Return the instruction files and rules that a client loads in a folder, nearest first, the user's own last."""
    found: list[str] = []
    folder = os.path.abspath(cwd)
    for _ in range(FOLDERS_MAX):
        found += [os.path.join(folder, name) for name in NAMES]
        found += _below(os.path.join(folder, ".claude", "rules"))
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    found += [os.path.join(home, ".claude", "CLAUDE.md"), *_below(os.path.join(home, ".claude", "rules"))]
    return [path for path in dict.fromkeys(found) if os.path.isfile(path) and not os.path.islink(path)]


def notes(folders: Iterable[str]) -> list[str]:
    """Return the notes of memory folders, the index of each first."""
    found: list[str] = []
    for folder in folders:
        below = _below(folder, NOTES_MAX)
        found += sorted(below, key=lambda path: (os.path.basename(path) != INDEX, path))
    return list(dict.fromkeys(found))


def _below(folder: str, most: int = RULES_MAX) -> list[str]:
    found: list[str] = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        found += [os.path.join(root, name) for name in sorted(files) if name.lower().endswith(".md")]
        if len(found) >= most:
            break
    return [path for path in found[:most] if not os.path.islink(path)]


# -- which lines -------------------------------------------------------------------------------------------------------


def standing(old: Learned, files: Iterable[str], but: Sequence[str] = ()) -> list[Standing]:
    """Return every line of these files that says a learning, and none of the texts `but`, which are true instead."""
    found = []
    heard = Heard([old])
    wanted = _wanted(old.solution)
    others = [" ".join(text.split()) for text in but]
    truths = Heard([Learned("", "", "", text, "") for text in but])
    for path in files:
        for number, line in _lines(path):
            if _says(line, heard, wanted) is not None and not _holds(line, others) and truths.echo(line) is None:
                found.append(Standing(path, number, old.id))
    return found


def contradictions(reader: Reader, files: Iterable[str]) -> list[Contradiction]:
    """Return every line of these files that says what was superseded or retracted, in the order of the files."""
    rows = reader.rows(sql.GONE_TEXTS, {"many": GONE_MAX})
    gone = {row[0]: (Learned(*row[:5]), row[5]) for row in rows}
    heard = Heard(one for one, _ in gone.values())
    wanted = [(text, name) for name, (one, _) in gone.items() if (text := _wanted(one.solution))]
    found = []
    for path in files:
        for number, line in _lines(path):
            name = next((name for text, name in wanted if text in line), None)
            name = name or _says(line, heard, "")
            if name is None:
                continue
            heads = reader.rows(sql.HEAD_TEXTS, {"id": name})
            texts = [" ".join(head[3].split()) for head in heads]
            if not _holds(line, texts) and Heard(Learned(*head) for head in heads).echo(line) is None:
                found.append(Contradiction(path, number, name, gone[name][1], [head[0] for head in heads]))
    return found


def repeated(learnings: Iterable[Learned], files: Iterable[str]) -> frozenset[str]:
    """Return which of these learnings stand in what the client loads, and need not be recalled.

    Of a file that is all, of an index what lies above its cliff.
    """
    known = list(learnings)
    heard = Heard(known)
    wanted = [(text, one.id) for one in known if (text := _wanted(one.solution))]
    found: set[str] = set()
    for path in files:
        end = None
        if os.path.basename(path) == INDEX:
            end = cliff.cliff(place.bounded(path) or "").first_cut
        for number, line in _lines(path):
            if end is not None and number >= end:
                break
            found.update(name for text, name in wanted if text in line)
            name = _says(line, heard, "")
            found.update([name] if name is not None else [])
    return frozenset(found)


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that say anything, white space runs counting as one."""
    for number, line in enumerate((place.bounded(path) or "").splitlines(), 1):
        plain = " ".join(line.split())
        if len(plain) >= 4:
            yield number, plain


def _wanted(solution: str) -> str:
    """Return the first line of a solution that is long enough to be looked for as it stands, '' when none is."""
    lines = (" ".join(line.split()) for line in solution.splitlines())
    return next((line for line in lines if len(line) >= TEXT_CHARS), "")


def _says(line: str, heard: Heard, wanted: str) -> str | None:
    if wanted and wanted in line:
        return heard.learned[0].id
    echoed = heard.echo(line)
    return echoed.id if echoed is not None else None


def _holds(line: str, texts: Iterable[str]) -> bool:
    return any(text and text in line for text in texts)
