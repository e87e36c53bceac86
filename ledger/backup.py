"""Copy a ledger into one plain file: consistent, verified, private, with its anchor beside it.

Through SQLite's own backup, under the writers' lock, so that the copy is a state
that was acknowledged and nobody has to be stopped. What bears the name that was
asked for is whole: until it verifies it has another. Nothing is ever overwritten.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ledger import erasures, place, purge, sql_log
from ledger.errors import Damaged, FileFault, Refused, RolledBack, UnsafePlace
from ledger.ledger import Ledger
from ledger.place import Anchor, WriteLock
from ledger.store import check_chain
from ledger.store_sqlite import behind, faults, quoted, stream

Progress = Callable[[int, int], None]

PAGES = 1_000
"""Pages between two reports of progress: 4 MB."""

WAIT_S = 10.0


class Backup(NamedTuple):
    """Answer of `backup`: the file, where its log ends, and its size."""

    path: str
    seq: int
    hash: str
    bytes: int
    remarks: list[str]


def backup(ledger: Ledger, target: str, progress: Progress | None = None, *, dry_run: bool = False) -> Backup:
    """Write a copy of the ledger to a file that is not there yet; a dry run looks whether it could.

    The copy is a ledger like any other, in rollback mode, so that it is one file
    wherever it is opened. Later erasures are told to it: the list of what was
    erased is kept beside it too, as long as it stays where it was written.

    Raises:
        UnsafePlace: something has that name, or it belongs to a ledger. NoSpace, ReadOnly, FileFault: as they say.
        RolledBack, Damaged: the log is behind its anchor, or does not verify. Nothing is left of the copy.
    """
    path, sqlite = os.path.abspath(target), ledger.store._sqlite
    _check_target(path, ledger)
    if dry_run:
        head = ledger.store.head()
        return Backup(path, head.seq, head.hash.hex(), os.path.getsize(ledger.path), [])
    ledger.store.erase_again()
    partial = f"{path}.partial"
    try:
        with faults(path), WriteLock(ledger.path, WAIT_S):
            _forget(partial)  # what a killed run left
            end = _copied(sqlite, ledger, partial, progress)
            anchor = Anchor(ledger.store.ledger_id, end[0], end[1].hex())
            place.write_anchor(path, anchor)
            _named(partial, path)
    finally:
        _forget(partial)
    erasures.remember_copy(ledger.path, "backup", path)
    remarks = list(ledger.store.remarks)
    ledger.store.remarks.clear()
    return Backup(path, anchor.seq, anchor.hash, os.path.getsize(path), remarks)


def _forget(partial: str) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        with suppress(OSError):
            os.unlink(partial + end)


def _check_target(path: str, ledger: Ledger) -> None:
    """Refuse a name that something has, the anchor's included, and one that belongs to a ledger.

    An anchor of this very ledger without its file is what a killed run left, and so is one half written.
    """
    real, home = os.path.realpath(path), os.path.realpath(ledger.path)
    if real in (home, *(home + end for end in place.BESIDE)):
        raise UnsafePlace(f"{path} belongs to the ledger; nothing was written", "choose another name")
    left = place.read_anchor(path)
    ours = [path + ".anchor.new"] if left is None or left.ledger_id == ledger.store.ledger_id else []
    ours += [path + ".anchor"] if ours and left is not None else []
    for taken in (path, *(path + end for end in place.BESIDE)):
        if os.path.lexists(taken) and (taken not in ours or os.path.lexists(path)):
            raise UnsafePlace(
                f"{taken} is there already and is never overwritten; nothing was written", "choose another name"
            )
    if not os.path.isdir(os.path.dirname(path)):
        raise FileFault(f"{os.path.dirname(path)} is not a folder; nothing was written", "make it first")


def _copied(sqlite: Any, ledger: Ledger, partial: str, progress: Progress | None) -> tuple[int, bytes]:
    """Copy, verify and force to the disk; return where the copy's log ends."""
    place.make_file(partial)
    source = sqlite.connect(f"file:{quoted(ledger.path)}?mode=rw", uri=True, isolation_level=None)
    try:
        copy = sqlite.connect(f"file:{quoted(partial)}?mode=rw", uri=True, isolation_level=None)
        try:
            source.backup(copy, pages=PAGES, progress=_telling(progress))
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
            if erasures.pending(ledger.path) is not None:
                purge.compact(copy)  # what is not out of the file yet does not go into a backup
            head = _verified(copy, ledger)
        finally:
            copy.close()
    finally:
        source.close()
    fd = os.open(partial, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    return head


def _telling(progress: Progress | None) -> Callable[[int, int, int], None] | None:
    if progress is None:
        return None
    return lambda status, left, total: progress(total - left, total)


def _verified(copy: sqlite3.Connection, ledger: Ledger) -> tuple[int, bytes]:
    """Return where a copy's log ends; refuse one that is damaged or behind its anchor.

    Raises:
        RolledBack, Damaged: a backup of such a log would prove nothing.
    """
    anchor = place.read_anchor(ledger.path)
    _, _, head, problems = check_chain(stream(copy), ledger.store.ledger_id)
    if problems:
        raise Damaged(
            f"the log of {ledger.path} has {len(problems)} problems, the first: {problems[0].message}; "
            "nothing was written",
            "see all of them with `learnings verify`, and restore a backup",
        )

    def hash_at(seq: int) -> bytes | None:
        row = copy.execute(sql_log.HASH_AT, {"seq": seq}).fetchone()
        return None if row is None else bytes(row[0])

    message = behind(anchor, head, ledger.store.ledger_id, hash_at)
    if message:
        raise RolledBack(
            f"{message}; nothing was written",
            "find the newer file, or accept this one with `learnings verify --accept-head`",
        )
    return head.seq, head.hash


def _named(partial: str, path: str) -> None:
    """Give the copy its name in one step that overwrites nothing; without it the anchor goes too.

    Raises:
        Refused: somebody made a file of that name meanwhile.
    """
    try:
        try:
            os.link(partial, path)
        except FileExistsError:
            raise
        except OSError:  # a disk without hard links
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.replace(partial, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path + ".anchor")
        if isinstance(error, FileExistsError):
            raise Refused(f"{path} was made by somebody else meanwhile; nothing was written") from None
        raise place.os_fault(error, path) from None
    place.sync_folder(path)


def reapply(path: str) -> list[int]:
    """Erase in a file that was put in a ledger's place what its list names; for whoever restores. Returns the seqs.

    Raises:
        RolledBack: it is behind its anchor, which a person accepts first.
    """
    with Ledger.open(path) as ledger:
        found = ledger.store.erase_again()
        ledger.store.finish_erasing()
        return found
