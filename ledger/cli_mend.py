"""Mend the client's own copy of what was replaced or taken back, on a person's word: `--edit-source`."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ledger import mend
from ledger.cli_call import Arg, Call
from ledger.errors import LedgerError
from ledger.frame import clean
from ledger.home import working_folder
from ledger.results import Loaded

if TYPE_CHECKING:
    from ledger.ledger import Ledger

EDIT_SOURCE = Arg("--edit-source", "also mend the files that still say it: the diff is shown first", is_flag=True)
YES = Arg("--yes", "mend them without asking", is_flag=True)


def files() -> list[str]:
    """Return the files that a client started in this folder loads, and the notes of its project."""
    from importers.registry import client_files

    return client_files(working_folder(), os.path.expanduser("~"))


def mended(
    call: Call, seq: int, loaded: Sequence[Loaded], olds: Sequence[str], new: str | None
) -> list[dict[str, Any]]:
    """Show how each of these lines would be mended, and mend those that a person wants mended.

    Args:
        olds: the solutions that are not true any more. new: the one that is, None when there is none.
    """
    if not call.given.edit_source:
        return []
    # From below, so that the lines above keep their numbers.
    return [
        one
        for at in sorted(loaded, key=lambda at: (at.file, -at.line))
        if (one := _mended(call, seq, at, olds, new)) is not None
    ]


def _mended(call: Call, seq: int, at: Loaded, olds: Sequence[str], new: str | None) -> dict[str, Any] | None:
    found = [edit for old in olds if (edit := mend.proposed(at.file, at.line, old, new)) is not None]
    if not found:
        call.remark(f"{at.file}:{at.line} cannot be mended from here: correct it by hand")
        return None
    edit = next((one for one in found if one.line == at.line), found[0])
    if not call.is_json and sys.stderr is not None:
        sys.stderr.write(f"{clean(edit.diff)}\n")
    told = {"file": edit.file, "line": edit.line, "diff": edit.diff, "mended": False, "kept": None}
    if call.given.dry_run or not is_wanted(call, edit.file):
        return told
    try:
        done = mend.apply(edit, call.file, seq)
    except LedgerError as error:
        call.remark(error.message)
        return told
    call.remark(f"mended {edit.file}; what it was: {done.kept}")
    return told | {"mended": True, "kept": done.kept}


def is_wanted(call: Call, path: str, act: str = "mend") -> bool:
    """Ask the person at the terminal, or take `--yes` for an answer."""
    if call.given.yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty() or sys.stderr is None:
        call.remark(f"{path} was left as it is: nobody can be asked here (--yes answers)")
        return False
    sys.stderr.write(f"{act} {path}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def restored(call: Call, undone: Sequence[int]) -> list[dict[str, Any]]:
    """Put back the files that were mended with these events, when it was asked for; else say that they were."""
    told = []
    for done in mend.made(call.file, list(undone)):
        if not call.given.edit_source or call.given.dry_run:
            call.remark(
                f"{done.file} was mended with event {done.seq}: --edit-source puts back what it was ({done.kept})"
            )
            continue
        try:
            left = mend.restore(done)
        except LedgerError as error:
            call.remark(f"{error.message} ({error.hint})")
            continue
        call.remark(f"put back {done.file}")
        if left is not None:
            call.remark(f"{left} was changed since it was made; it was left as it is")
        told.append({"file": done.file})
    return told


def old_texts(ledger: "Ledger", names: Sequence[str]) -> list[str]:
    """Return the solutions of these learnings."""
    return [text for name in names if (text := ledger.reader.show(name)["solution"])]
