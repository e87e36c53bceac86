"""What is remembered of erasures beside the ledger file, so that no older copy is ever read again.

`<file>.erased` lists what was erased: the ledger's id and seqs, nothing else.
It lives outside the database because a backup put in its place knows nothing of
later erasures. `<file>.erasing` says that an erasure is not done to the last byte:
it comes before the commit and goes when the file was compacted, so that whoever
writes next finishes what a kill or a busy reader left. `<file>.copies` says where
backups and exports were written.
Lean path: stdlib only; a reader pays one look for a file that is mostly not there.
"""

import json
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ledger.errors import FileFault, Unerased
from ledger.place import bounded, os_fault, replace, write_all

LIST, PENDING, COPIES = ".erased", ".erasing", ".copies"
LIST_BYTES = 8_388_608
"""Most bytes of the list that are read: a million seqs."""

TEXT, COMPACTED = "text", "compacted"
"""What is done of a pending erasure: nothing after the commit yet, or all but handing the space back."""


class Copy(NamedTuple):
    """A backup or an export that was written of this ledger."""

    kind: str
    path: str


# -- the list --------------------------------------------------------------------------------------------------------


def stamp(path: str) -> tuple[int, int, int] | None:
    """Return what tells one list from another, None when there is none."""
    try:
        found = os.stat(path + LIST)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def listed(path: str, ledger_id: str) -> list[int]:
    """Return the seqs that were erased of this ledger, as its list says, sorted.

    Raises:
        FileFault: there is a list, and it cannot be read: what it says is not known.
    """
    if not os.path.lexists(path + LIST):
        return []
    text = bounded(path + LIST, LIST_BYTES)
    seqs: set[int] = set()
    try:
        if text is None:
            raise ValueError
        for line in text.splitlines():
            found = json.loads(line)
            if found["ledger_id"] == ledger_id:
                seqs.update(seq for seq in found["erased"] if type(seq) is int)
    except (ValueError, KeyError, TypeError):
        raise FileFault(
            f"{path}{LIST} cannot be read, so what was erased is not known; nothing was read or written",
            "look at its modes; when this file was never put in place of another one, it may be removed",
        ) from None
    return sorted(seqs)


def keep_list(path: str, ledger_id: str, seqs: Iterable[int]) -> None:
    """Write the list anew, durably; nothing happens when it says that already."""
    wanted = sorted(set(seqs))
    try:
        if wanted == listed(path, ledger_id):
            return
    except FileFault:
        pass  # it is written anew, from the log
    replace(path + LIST, json.dumps({"ledger_id": ledger_id, "erased": wanted}).encode() + b"\n")


def refuse(path: str, seqs: Sequence[int]) -> Unerased:
    """Return the error for a file that holds what was erased from it."""
    shown = ", ".join(map(str, seqs[:5])) + (" …" if len(seqs) > 5 else "")
    return Unerased(
        f"{path} holds texts that were erased from it (events {shown}): it is an older copy; nothing was read",
        "run `learnings erase --again`, which erases them here too",
    )


# -- what is pending -------------------------------------------------------------------------------------------------


def pending(path: str) -> str | None:
    """Return what is done of an erasure that is not finished, None when none is pending."""
    if not os.path.lexists(path + PENDING):
        return None
    return COMPACTED if (bounded(path + PENDING, 100) or "").strip() == COMPACTED else TEXT


def keep_pending(path: str, done: str = TEXT) -> None:
    """Say, durably, that an erasure is not finished."""
    replace(path + PENDING, done.encode() + b"\n")


def finished(path: str) -> None:
    """Say that nothing is pending."""
    try:
        os.unlink(path + PENDING)
    except FileNotFoundError:
        return
    except OSError as error:
        raise os_fault(error, path + PENDING) from None


# -- copies ----------------------------------------------------------------------------------------------------------


def remember_copy(path: str, kind: str, target: str) -> None:
    """Remember where a copy was written; a folder that cannot be written keeps no such memory."""
    line = json.dumps({"kind": kind, "path": os.path.realpath(target)}) + "\n"
    if line in (bounded(path + COPIES) or "").splitlines(keepends=True):
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(path + COPIES, flags, 0o600)
        try:
            write_all(fd, line.encode())
        finally:
            os.close(fd)
    except OSError:
        return


def copies(path: str) -> list[Copy]:
    """Return the copies that are still there: those that were remembered, and backups that lie beside the file."""
    found: dict[Copy, None] = {}
    for line in (bounded(path + COPIES) or "").splitlines():
        try:
            told = json.loads(line)
            found[Copy(str(told["kind"]), str(told["path"]))] = None
        except (ValueError, KeyError, TypeError):
            continue
    folder, name = os.path.split(os.path.abspath(path))
    try:
        beside = sorted(os.listdir(folder))
    except OSError:
        beside = []
    for one in beside:
        if one.startswith(f"{name}.backup") and not one.endswith((LIST, ".anchor")):
            found[Copy("backup", os.path.join(os.path.realpath(folder), one))] = None
    return [one for one in found if os.path.isfile(one.path)]
