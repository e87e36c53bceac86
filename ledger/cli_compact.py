"""`learnings compact`: make an index that the client does not load whole short enough, on a person's word."""

import difflib
import os
import stat
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger import cli_mend, cliff, mend
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.errors import BadArgument, ReadOnly, Refused
from ledger.frame import clean
from ledger.home import working_folder
from ledger.model import Reading

if TYPE_CHECKING:
    from importers.compaction import Compaction
    from ledger.compact import Move
    from ledger.ledger import Ledger

BOM = b"\xef\xbb\xbf"

SCAN_FIRST = "run `learnings scan` first: what it brings in may move"


class Planned(NamedTuple):
    """A compaction that was found, and what is read of both files afterwards."""

    move: "Move"
    found: "Compaction"
    reading: Reading
    is_read_whole: bool


@command(
    Arg("index", "the MEMORY.md (default: that of the project of this folder)", many="?"),
    Arg("--yes", "do it without asking", is_flag=True),
    DRY_RUN,
)
def compact(call: Call) -> Result:
    """Move entries that are in the ledger out of an overfull MEMORY.md, word for word, into a note beside it."""
    path = _path(call.given.index)
    data = _read(path)
    text = _text(data, path)
    was = cliff.cliff(text)
    told: dict[str, Any] = {
        "file": path, "lines": was.lines, "units": was.units, "first_cut": was.first_cut,
        "note": None, "moved": 0, "diff": "", "done": False, "batch": None, "undo": None,
    }  # fmt: skip
    if was.first_cut is None:
        return Result(told, lambda: [f"{path} is loaded whole: {was.lines} lines, {was.units:,} UTF-16 units"])
    with call.writing() as ledger:
        planned = _planned(ledger, path, data, text)
        found, move = planned.found, planned.move
        now = cliff.cliff(found.left)
        told |= {"lines": now.lines, "units": now.units, "first_cut": now.first_cut, "note": move.note}
        told |= {"moved": found.moved, "diff": move.edit.diff}
        if not call.is_json and sys.stderr is not None:
            sys.stderr.write(f"{clean(move.edit.diff)}\n")
        for remark in _remarks(call, planned):
            call.remark(remark)
        if call.given.dry_run or not cli_mend.is_wanted(call, path, "shorten"):
            return Result(told, lambda: [f"would have {_line(found, move)}"])
        return _done(call, ledger, planned, told)


def _done(call: Call, ledger: "Ledger", planned: Planned, told: dict[str, Any]) -> Result:
    from importers.plan import plan, vanished
    from ledger import compact as act

    move = planned.move
    done = act.carry_out(ledger, move, lambda: planned.reading, plan, vanished)
    undo = call.typed("undo", "--batch", str(done.seq), "--edit-source")
    call.remark(f"what {move.edit.file} was: {done.kept}")
    told |= {"done": True, "batch": done.seq, "undo": undo}
    return Result(told, lambda: [f"{_line(planned.found, move)}  (undo: {undo})"])


def _line(found: "Compaction", move: "Move") -> str:
    entries = "1 entry" if found.moved == 1 else f"{found.moved} entries"
    return f"moved {entries} of {move.edit.file} into {os.path.basename(move.note)}"


def _remarks(call: Call, planned: Planned) -> Iterator[str]:
    if call.given.dry_run:
        yield "dry run: nothing was written"
    if planned.found.first_cut is not None:
        yield (
            f"from line {planned.found.first_cut} on it is not loaded even then: what is left are lines that the "
            "ledger does not hold as current learnings; shorten them by hand"
        )
    if not planned.is_read_whole:
        yield "the index says what the ledger has not read: `learnings scan` reads it"


# -- the index ---------------------------------------------------------------------------------------------------------


def _path(given: str | None) -> str:
    """Return the index that is meant, without links above its last part, as importers name it.

    Raises:
        BadArgument: there is none of that name, or it is no index.
    """
    from importers.memory_notes import INDEX, is_index
    from importers.projects import memory_folder

    found = given or os.path.join(memory_folder(working_folder(), os.path.expanduser("~")), INDEX)
    path = os.path.abspath(os.path.expanduser(found))
    if os.path.isdir(path):
        path = os.path.join(path, INDEX)
    if not is_index(path):
        raise BadArgument(f"{path} is no {INDEX}; nothing was done", "only an index is cut when it is too long")
    if not os.path.lexists(path):
        raise BadArgument(f"there is no {path}; nothing was done", f"name the {INDEX}")
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _read(path: str) -> bytes:
    """Return the bytes of an index that may be written.

    Raises:
        Refused: it is a link, no regular file, or too large. ReadOnly: its owner made it read-only.
    """
    if os.path.islink(path):
        raise Refused(f"{path} is a link; it was left as it is", f"name {os.path.realpath(path)}")
    data = mend.read(path)
    if data is None:
        raise Refused(f"{path} cannot be read, or is too large to be a note; it was left as it is", "shorten it")
    if not stat.S_IMODE(os.stat(path).st_mode) & 0o222 or not os.access(path, os.W_OK):
        raise ReadOnly(f"{path} is read-only; it was left as it is", "make it writable")
    return data


def _text(data: bytes, path: str) -> str:
    try:
        return data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8; it was left as it is", "save it as UTF-8") from None


# -- the plan ----------------------------------------------------------------------------------------------------------


def _planned(ledger: "Ledger", path: str, data: bytes, text: str) -> Planned:
    """Return how the index becomes shorter, with all that it says read from where it stands then.

    Raises:
        Refused: nothing of it can move, or an import afterwards would not find what it finds now.
    """
    from importers import compaction, files
    from importers.plan import plan, vanished
    from importers.registry import read_note
    from ledger import arriving
    from ledger import compact as act

    before = read_note(path, os.path.expanduser("~"))
    folder = os.path.dirname(path)
    note = _free_note(os.path.join(folder, f"moved-entries-{ledger.store.head().seq + 1}"))
    names = files.walk(folder).files
    known = act.known(ledger, before.drafts)
    found = compaction.compacted(text, path, names, known, os.path.basename(note)) if known else None
    if found is None:
        raise Refused(f"no entry of {path} is a current learning of the ledger; it was left as it is", SCAN_FIRST)
    mark = BOM if data.startswith(BOM) else b""
    after = mark + found.left.encode()
    move = act.Move(mend.Edit(path, 1, data, after, _diff(path, text, note, found)), note, found.part.encode())
    project = arriving.placed(ledger, before.drafts[:1])[0].project
    both = compaction.reading(before, found, note, [*names, note], project)
    now, then = (act.outlook(ledger, one, plan, vanished) for one in (before, both))
    if now != then:
        raise Refused(f"{path} says what the ledger has not read; it was left as it is", SCAN_FIRST)
    is_read = not any(now[:-1])  # what was left out is left out again
    return Planned(move, found, both if is_read else compaction.note_only(both, note), is_read)


def _free_note(stem: str) -> str:
    """Return a free name of a note: one that a killed compaction has left there is not ours to write over."""
    name, number = f"{stem}.md", 1
    while os.path.lexists(name):
        name, number = f"{stem}-{number}.md", number + 1
    return name


def _diff(path: str, text: str, note: str, found: "Compaction") -> str:
    """Return what becomes of both files, without their secrets."""
    from ledger.redact import scrub

    lines: list[str] = []
    for name, old, new in ((path, text, found.left), (note, "", found.part)):
        was = name if old else os.devnull
        lines += difflib.unified_diff(old.splitlines(), new.splitlines(), was, name, n=2, lineterm="")
    return scrub("\n".join(lines)).text
