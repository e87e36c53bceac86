"""`learnings said`: search what was said in past sessions, among the turns that imports of transcripts have kept.

The same command keeps that index small (`--prune`) and makes it again
(`--rebuild`); none of it touches the ledger.
"""

import argparse
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ledger import cli_text
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command, number
from ledger.errors import BadArgument
from ledger.model import EVERYWHERE
from ledger.sessions import moment
from ledger.turns import LIMIT_MAX, WHO, Around, Found, Said, Turns

if TYPE_CHECKING:
    from ledger.ledger import Ledger
    from ledger.turns_add import Book

SNIPPET_CHARS = 110
"""Characters of a turn that are shown in a line; `--json` has what is kept of it."""

NEIGHBOURS = 3
"""Turns that `--around` shows before and after one."""

HOURS = {"h": 1, "d": 24, "w": 168, "m": 730, "y": 8_760}
"""Hours of the units of an age; a month is the twelfth of a year."""

NOTHING = "no transcript was read yet: `learnings import FILE.jsonl`, or `learnings scan`"


def when(text: str) -> str:
    """Return a date, a time or an age such as `30d` as a time.

    Raises:
        ArgumentTypeError: it is none.
    """
    age = re.fullmatch(r"(\d{1,6})([hdwmy])", text)
    try:
        if age is not None:
            return moment(max(0.0, time.time() - int(age[1]) * HOURS[age[2]] * 3_600))
        given = datetime.fromisoformat(text)
        given = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
        return given.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is neither an age such as 30d nor a date") from None


@command(
    Arg("text", "what was said; any words, all of which a turn has to hold if there is one", many="*"),
    Arg("--project", "only sessions of this project; may be repeated", many="each"),
    Arg("--who", "only what these said: " + ", ".join(WHO) + "; may be repeated", many="each"),
    Arg("--since", "only since this date, or this age: 12h, 30d, 8w, 6m, 1y", kind=when),
    Arg("--limit", f"most turns, 1 to {LIMIT_MAX}", kind=number, default=20),
    Arg("--around", "show the turn with this uuid, and those around it"),
    Arg("--prune", "take turns out of the index for ever: with --older-than, --keep-mb or both", is_flag=True),
    Arg("--older-than", "with --prune: what is older than this age or date", kind=when),
    Arg("--keep-mb", "with --prune: the oldest, until so many megabytes of text are left", kind=number),
    Arg("--rebuild", "make the index anew from the transcripts that are still there", is_flag=True),
    DRY_RUN,
)
def said(call: Call) -> Result:
    """Search past turns; without a text, say what is kept."""
    given = call.given
    asked = " ".join(given.text)
    _check(call, asked)
    if given.prune:
        return _pruned(call)
    if given.rebuild:
        return _rebuilt(call)
    kept = Turns(call.file)
    if given.around is not None:
        return _around(kept.around(given.around, NEIGHBOURS, NEIGHBOURS), given.around)
    if not asked:
        return _counted(call, kept)
    found = kept.search(asked, _projects(call), given.who, given.since, given.limit)
    _say_aside(call, kept, found)
    document = {"turns": [told(turn) for turn in found.turns], "truncated": found.truncated, "loose": found.is_loose}
    return Result(document, lambda: cli_text.aligned([_row(turn, asked) for turn in found.turns]))


def _check(call: Call, asked: str) -> None:
    """Refuse what does not go together.

    Raises:
        BadArgument: naming it.
    """
    given = call.given
    acts = [name for name in ("around", "prune", "rebuild") if getattr(given, name)]
    if len(acts) + bool(asked) > 1:
        named = " and ".join([*(["a text"] if asked else []), *(f"--{name}" for name in acts)])
        raise BadArgument(f"{named} do not go together; nothing was done", "give one of them")
    if (given.older_than is not None or given.keep_mb is not None) != given.prune:
        raise BadArgument("--prune goes with --older-than or --keep-mb; nothing was done", "say what may go")
    if given.dry_run and not (given.prune or given.rebuild):
        raise BadArgument("--dry-run goes with --prune or --rebuild; nothing was done", "a search changes nothing")
    if not 1 <= given.limit <= LIMIT_MAX:
        raise BadArgument(f"limit is {given.limit}", f"limit may be 1 to {LIMIT_MAX}")
    unknown = [name for name in given.who if name not in WHO]
    if unknown:
        raise BadArgument(f"nobody is called {unknown[0][:40]!r}", "who is one of: " + ", ".join(WHO))


def _projects(call: Call) -> set[str] | None:
    """Return every name of the projects that were named; None when none was."""
    if not call.given.project:
        return None
    names = set(call.given.project)
    if os.path.exists(call.file):
        with call.reading() as reader:
            names |= {name for project in call.given.project for name in reader.projects(project)}
    return names - {EVERYWHERE}


# -- answers -----------------------------------------------------------------------------------------------------------


def told(turn: Said) -> dict[str, Any]:
    """Return a turn as documents say it."""
    return {
        "session": turn.session, "uuid": turn.uuid, "at": turn.at, "who": turn.who, "text": turn.text,
        "file": turn.file, "line": turn.line, "project": turn.project, "aside": turn.is_aside,
        "failed": turn.is_error, "cut": turn.is_cut,
    }  # fmt: skip


def _row(turn: Said, asked: str = "") -> tuple[str, ...]:
    return (
        (turn.at or "")[:16].replace("T", " "), turn.who + (", aside" if turn.is_aside else ""), turn.project or "",
        turn.session[:8], f"{turn.file}:{turn.line}", snippet(turn.text, asked),
    )  # fmt: skip


def snippet(text: str, asked: str) -> str:
    """Return the part of a text around the first word that was asked for, in one line."""
    line = cli_text.line_of(text)
    low = line.lower()
    places = [low.find(word) for word in re.findall(r"\w+", asked.lower()) if len(word) > 2]
    at = max(0, min([place for place in places if place >= 0], default=0) - SNIPPET_CHARS // 4)
    at = line.rfind(" ", 0, at) + 1
    part = line[at : at + SNIPPET_CHARS]
    return ("…" if at else "") + part + ("…" if at + SNIPPET_CHARS < len(line) else "")


def _say_aside(call: Call, kept: Turns, found: Found) -> None:
    if not found.turns:
        call.remark("nothing found" if os.path.lexists(kept.path) else NOTHING)
    elif found.is_loose:
        call.remark("no turn holds all of these words; these hold some")
    if found.truncated and not call.is_json:
        call.remark("there are more: --limit")


def _around(found: Around | None, uuid: str) -> Result:
    if found is None:
        raise BadArgument(f"no turn {uuid[:40]!r} is kept", "take the uuid from `learnings said TEXT --json`")
    turns = [*found.before, found.turn, *found.after]
    document = {"turns": [told(turn) for turn in turns]}
    return Result(document, lambda: _lines(turns))


def _lines(turns: Iterable[Said]) -> Iterator[str]:
    for turn in turns:
        yield f"{(turn.at or '')[:16].replace('T', ' ')}  {turn.who}  {turn.file}:{turn.line}"
        yield cli_text.indented(turn.text)


def _counted(call: Call, kept: Turns) -> Result:
    many = kept.counted()
    if not many.files:
        call.remark(NOTHING)
    line = f"{_counted_of(many.turns, 'turn')} of {_counted_of(many.files, 'transcript')}, {_size(many.chars)} of text"
    span = f", {many.first[:10]} to {many.last[:10]}" if many.first and many.last else ""
    return Result({"turns": [], "kept": many._asdict()}, lambda: [line + span])


def _counted_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _size(chars: int) -> str:
    return f"{chars / 1e6:.1f} MB" if chars >= 100_000 else f"{chars / 1e3:.1f} KB"


# -- keeping it small, making it again ---------------------------------------------------------------------------------


def _pruned(call: Call) -> Result:
    from ledger.turns_drop import prune

    given = call.given
    keep = None if given.keep_mb is None else given.keep_mb * 1_000_000
    gone = prune(call.file, given.older_than, keep, dry_run=given.dry_run)
    would = "would go" if given.dry_run else "gone"
    undo = (
        "" if given.dry_run or not gone.turns else f"  (undo: {call.typed('said', '--rebuild')}, as far as they last)"
    )
    line = f"{would}: {_counted_of(gone.turns, 'turn')}, {_size(gone.chars)} of text{undo}"
    return Result({"pruned": gone.turns, "chars": gone.chars}, lambda: [line])


def _rebuilt(call: Call) -> Result:
    """Read the transcripts anew that were read before; those that are gone are named, since their turns are lost."""
    from ledger.turns_drop import begin_anew

    kept = Turns(call.file)
    paths = [] if kept.fault() is not None else kept.transcripts()
    lost = [path for path in paths if not os.path.isfile(path)]
    if lost:
        call.remark(f"{_counted_of(len(lost), 'transcript')} gone, and what was said there goes from the index too")
    if call.given.dry_run:
        call.remark("dry run: nothing was changed")
        return Result(
            {"read": len(paths) - len(lost), "gone": lost, "turns": 0},
            lambda: [f"would read {_counted_of(len(paths) - len(lost), 'transcript')} anew"],
        )
    begin_anew(call.file)
    with call.writing(create=True) as ledger, book_of(call.file, ledger) as book:
        for path in paths:
            if path not in lost:
                _read(call, path, book)
        book.settle()  # without a mark: the next import hears all of it again, since nothing was made of it here
    line = f"read {_counted_of(len(paths) - len(lost), 'transcript')} anew: {_counted_of(book.added, 'turn')}"
    return Result({"read": len(paths) - len(lost), "gone": lost, "turns": book.added}, lambda: [line])


def _read(call: Call, path: str, book: "Book") -> None:
    from importers.files import Unread
    from importers.transcript import into, opened

    try:
        with into(book), opened(path) as turns:
            for _ in turns:
                pass
    except Unread as error:
        call.remark(f"{path}: {error.message}")


def book_of(path: str, ledger: "Ledger | None", *, whole: bool = False) -> "Book":
    """Return the book that transcripts go into as an import reads them; None stands for a ledger that is yet to be."""
    from importers.projects import session_project
    from importers.transcript import VERSION
    from ledger import turns_add

    return turns_add.book_of(path, ledger, session_project, time.time(), VERSION, whole=whole)


@contextmanager
def booked(call: Call, ledger: "Ledger | None", *, whole: bool = False) -> "Iterator[Book]":
    """Keep the turns of transcripts that are read; the caller settles that when the import is through."""
    with book_of(call.file, ledger, whole=whole) as book:
        yield book
        for text in book.remarks:
            call.remark(text)
