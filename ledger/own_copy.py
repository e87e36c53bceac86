"""The client's own copy: files that it loads above our frame, and what they still say.

MEMORY.md, CLAUDE.md, AGENTS.md and rules have instruction rank; a learning that was
superseded or retracted and still stands there goes on ruling. A line says a
learning when it holds its text, or only says it again in other words
(`echo.py`); a line that holds what replaced it word by word does not. Files are read, bounded,
never through a link; nothing is changed here.
Lean path: stdlib only.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ledger import cliff, place, sql
from ledger.echo import Heard, Learned, is_doubted, telling
from ledger.home import client_folder
from ledger.reader import Reader

NAMES = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"), "AGENTS.md")
"""Files of a folder that a client loads, besides its rules."""

INDEX = "MEMORY.md"
RULES_MAX, NOTES_MAX, FOLDERS_MAX = 200, 2_000, 40
TEXT_CHARS = 20
"""Fewest characters of a text that a line is searched for, when nothing but the text leads there."""

CHARS_MIN = 4
"""Fewest characters of a line that says anything."""

MARKS = "*_`'\"()[].,:;!?>#\u2018\u2019\u201c\u201d"
"""What may stand around a word and changes nothing."""

ENDS, QUOTES = ".;:,!?\u2014", "\"'\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
"""What ends a clause at the end of a word, and what quotes."""

BEGINS = ("- ", "* ", "+ ", "#", "|", "```", "~~~", "<!--")
"""What a line begins with that does not go on with the one before."""

WRAPPED_MAX = 4
"""Lines over which a text may be wrapped."""

LINES_MAX, FILES_MAX, TOLD_MAX = 2_000, 64, 1_000
"""Lines of a file, files, and answers that are kept at hand to tell what need not be recalled."""

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
    for folder in _upward(cwd):
        found += [os.path.join(folder, name) for name in NAMES]
        found += _below(os.path.join(folder, ".claude", "rules"))
    own = client_folder(home)
    found += [os.path.join(own, "CLAUDE.md"), *_below(os.path.join(own, "rules"))]
    return [path for path in dict.fromkeys(found) if os.path.isfile(path) and not os.path.islink(path)]


def _upward(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, nearest first."""
    here = os.path.abspath(folder)
    for _ in range(FOLDERS_MAX):
        yield here
        above = os.path.dirname(here)
        if above == here:
            return
        here = above


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
    for path in files:
        for number, line, wrapped in _wrapped(path):
            told = line if _says(line, heard, wanted) is not None else wrapped if _stands(wrapped, wanted) else ""
            if told and not any(_tells(told, text) for text in but):
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
        for number, line, wrapped in _wrapped(path):
            name = next((name for text, name in wanted if _stands(line, text)), None) or _says(line, heard, "")
            told = line
            if name is None and wrapped:
                name, told = next((name for text, name in wanted if _stands(wrapped, text)), None), wrapped
            if name is None:
                continue
            heads = reader.rows(sql.HEAD_TEXTS, {"id": name})
            if not any(_tells(told, head[3]) for head in heads):
                found.append(Contradiction(path, number, name, gone[name][1], [head[0] for head in heads]))
    return found


def repeated(learnings: Iterable[Learned], files: Iterable[str]) -> frozenset[str]:
    """Return which of these learnings stand in what the client loads, and need not be recalled."""
    return Loaded(lambda folder: list(files)).repeated("", learnings)


class Loaded:
    """What a client loads in a folder, kept at hand for as long as its files are the same.

    Of a file that is all, of an index what lies above its cliff. `files_of` names the files of a folder.
    """

    def __init__(self, files_of: Callable[[str], list[str]]) -> None:
        self._files_of = files_of
        self._kept: dict[str, tuple[tuple[int, int, int], _Lines]] = {}

    def repeated(self, folder: str, learnings: Iterable[Learned]) -> frozenset[str]:
        """Return which of these learnings stand in what is loaded in this folder."""
        files = [lines for path in self._files_of(folder)[:FILES_MAX] if (lines := self._lines(path)) is not None]
        return frozenset(one.id for one in learnings if any(lines.say(one) for lines in files))

    def watched(self, folder: str, home: str) -> list[str]:
        """Return the files and folders on which depends what is loaded in a folder, whether they are there or not."""
        found = list(self._files_of(folder)[:FILES_MAX])
        own = client_folder(home) if home else ""
        tops = [(above, os.path.join(above, ".claude", "rules")) for above in _upward(folder)]
        for above, rules in (*tops, *([(own, os.path.join(own, "rules"))] if own else [])):
            found += [rules, *(os.path.join(above, name) for name in NAMES)]
            found += sorted(os.path.dirname(path) for path in _below(rules))
        return list(dict.fromkeys(found))

    def _lines(self, path: str) -> "_Lines | None":
        """Return the lines of a file, read anew when it is another; None when there is none."""
        try:
            found = os.lstat(path)
        except (OSError, ValueError):
            return None
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        kept = self._kept.get(path)
        if kept is None or kept[0] != stamp:
            if len(self._kept) >= 2 * FILES_MAX:
                self._kept.clear()
            kept = self._kept[path] = (stamp, _Lines(path))
        return kept[1]


class _Lines:
    """The lines of a file that a client loads, found by their telling words."""

    def __init__(self, path: str) -> None:
        end = cliff.cliff(place.bounded(path) or "").first_cut if os.path.basename(path) == INDEX else None
        found = (line for number, line in _lines(path) if end is None or number < end)
        self._lines = [line for _, line in zip(range(LINES_MAX), found, strict=False)]
        self._told: dict[str, bool] = {}
        self._holding: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            for word in telling(line):
                self._holding.setdefault(word, []).append(number)

    def say(self, one: Learned) -> bool:
        """Tell whether lines say a learning's solution word by word; what an id says never changes."""
        if one.id not in self._told:
            if len(self._told) >= TOLD_MAX:
                self._told.clear()
            self._told[one.id] = self._says(one)
        return self._told[one.id]

    def _says(self, one: Learned) -> bool:
        parts = [part for part in one.solution.splitlines() if len(" ".join(part.split())) >= CHARS_MIN]
        return bool(parts) and all(self._has(part) for part in parts)

    def _has(self, text: str) -> bool:
        likely = range(len(self._lines))
        if words := telling(text):
            likely = min((self._holding.get(word, []) for word in words), key=len)  # type: ignore[assignment]
        return any(_tells(self._lines[number], text) for number in likely)


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that say anything, white space runs counting as one."""
    for number, line in enumerate((place.bounded(path) or "").splitlines(), 1):
        plain = " ".join(line.split())
        if len(plain) >= CHARS_MIN:
            yield number, plain


def _wrapped(path: str) -> Iterator[tuple[int, str, str]]:
    """Yield what `_lines` does, each with what it says together with the lines that go on with it; '' for none."""
    found = list(_lines(path))
    for at, (number, line) in enumerate(found):
        more = [line]
        for step, (after, text) in enumerate(found[at + 1 : at + WRAPPED_MAX], 1):
            if after != number + step or text.startswith(BEGINS) or text.split(".", 1)[0].isdigit():
                break
            more.append(text)
        yield number, line, " ".join(more) if len(more) > 1 else ""


def _stands(line: str, wanted: str) -> bool:
    """Tell whether a line says a text word by word, whatever marks, case or white space are around the words.

    Not when its own clause denies or corrects it, nor when it is quoted beside other words: then it
    may say the opposite. A text that begins only on a later line of a wrapped one is that line's.
    """
    if not wanted or _plain(wanted).partition(" ")[0] not in line.casefold():
        return False
    words, sought = line.split(), _plain(wanted).split()
    bare = [(number, plain) for number, word in enumerate(words) if (plain := _plain(word))]
    for at in range(len(bare) - len(sought) + 1):
        if [plain for _, plain in bare[at : at + len(sought)]] == sought:
            first, last = bare[at][0], bare[at + len(sought) - 1][0]
            return not _is_denied(words, first, last)
    return False


def _is_denied(words: list[str], first: int, last: int) -> bool:
    """Tell whether what stands beside words in their clause denies them, or whether they are quoted."""
    begin, end = first, last
    while begin > 0 and words[begin - 1][-1] not in ENDS:
        begin -= 1
    while end + 1 < len(words) and words[end][-1] not in ENDS:
        end += 1
    if is_doubted(" ".join([*words[begin:first], *words[last + 1 : end + 1]])):
        return True
    is_quoted = words[first][0] in QUOTES and words[last].rstrip(".,;:!?)")[-1:] in QUOTES
    return is_quoted and any(_plain(word) for word in [*words[:first], *words[last + 1 :]])


def _wanted(solution: str) -> str:
    """Return the first line of a solution that is long enough to be looked for as it stands, '' when none is."""
    lines = (" ".join(line.split()) for line in solution.splitlines())
    return next((line for line in lines if len(line) >= TEXT_CHARS), "")


def _says(line: str, heard: Heard, wanted: str) -> str | None:
    if _stands(line, wanted):
        return heard.learned[0].id
    echoed = heard.alike(line)
    return echoed.id if echoed is not None else None


def _tells(line: str, solution: str) -> bool:
    """Tell whether a line says a solution word by word, and no `not` or `only` or `was` beside it."""
    plain, wanted = _plain(line), _plain(solution)
    at = f" {plain} ".find(f" {wanted} ") if wanted else -1
    return at >= 0 and not is_doubted(f"{plain[:at]} {plain[at + len(wanted) :]}")


def _plain(text: str) -> str:
    """Return a text's words as they stand, without the marks around them."""
    words = (word.strip(MARKS) for word in text.casefold().split())
    return " ".join(word for word in words if word)
