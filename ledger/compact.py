"""Carry out the compaction of an index: which entries may move, what the ledger makes of it, and the act itself.

Only what stands in the ledger as a current learning of that very place may move. The note is
there before the index is shorter, so that at each moment every line stands in a file. Then both are
imported, in one batch, by which the act is undone (`mend.restore` puts the files back). Whatever
fails before that leaves the files as they were.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ledger import arriving, ingest, mend, place, sql_log
from ledger.capture import Written
from ledger.errors import Refused
from ledger.ledger import Ledger
from ledger.mend import Done, Edit
from ledger.model import Draft, Reading

KEPT = ".learnings-kept"
"""What the copy of the index is called until there is an event to name it by."""


class Move(NamedTuple):
    """What is to be done: the edit of the index, and the note beside it."""

    edit: Edit
    note: str
    text: bytes


def known(ledger: Ledger, drafts: Sequence[Draft]) -> frozenset[int]:
    """Return the lines of those entries whose every draft is a current learning of its place, with no secret masked.

    Raises:
        GuardFailed: the redactor or the screen could not run.
    """
    connection = ledger.store.connection()
    found, _ = arriving.ready(ledger.store.dedup_key, arriving.placed(ledger, drafts))
    at = {one.locator_key for one in found}
    standing = {key: {bytes(row[0]) for row in connection.execute(sql_log.CURRENT_AT, (key,)).fetchall()} for key in at}
    lines = [
        one.draft.source.line
        for one in found
        if one.draft.source and not one.redacted and one.content_key in standing[one.locator_key]
    ]
    wanted = Counter(draft.source.line for draft in drafts if draft.source)
    counts = Counter(line for line in lines if line is not None)
    return frozenset(line for line, count in counts.items() if count == wanted[line])


def outlook(ledger: Ledger, reading: Reading, plan: ingest.Plan, vanished: ingest.Vanished) -> tuple[int, ...]:
    """Return what an import of a reading would do to learnings: how many of each kind; sources do not count."""
    done = ingest.run(ledger, reading, plan, vanished, dry_run=True)
    return done.recorded, done.superseded, done.retracted, done.proposed, done.quarantined, done.restored, done.skipped


def carry_out(
    ledger: Ledger, move: Move, reading: Callable[[], Reading], plan: ingest.Plan, vanished: ingest.Vanished
) -> Done:
    """Write the note, shorten the index, import what is to be read of both; whole or not at all.

    Raises:
        Refused: the index changed since the move was shown, or the note's name is taken. FileFault, Locked …: the
            files are as they were.
    """
    edit = move.edit
    try:
        if mend.read(edit.file) != edit.before or os.path.lexists(move.note):
            raise Refused(f"{edit.file} changed since it was shown; it was left as it is", "run the command again")
        mode = stat.S_IMODE(os.lstat(edit.file).st_mode)
        written, kept = Written(ledger), mend.free(edit.file + KEPT)
        is_by_tool = written.is_by_tool(edit.file)
        try:
            mend.write(move.note, move.text, mode)
            mend.write(kept, edit.before, mode)
            mend.write(edit.file, edit.after, mode)
            if is_by_tool:
                written.remember(edit.file)  # else the next scan would take what is left for a person's words
            batch = ingest.run(ledger, reading(), plan, vanished).batch
            if batch is None:
                raise Refused(f"the ledger has nothing to learn of {move.note}", "run `learnings scan`")
            return _remembered(ledger.path, move, kept, batch)
        except BaseException:
            _put_back(move, kept, mode)
            raise
    except OSError as error:
        raise place.os_fault(error, edit.file) from None


def _remembered(ledger: str, move: Move, kept: str, batch: int) -> Done:
    """Name the copy by its event and remember the act."""
    salt, named = os.urandom(16).hex(), mend.free(f"{move.edit.file}.learnings-{batch}")
    done = Done(
        batch, move.edit.file, named, salt, mend.digest(salt, move.edit.after), mend.digest(salt, move.edit.before),
        move.note, mend.digest(salt, move.text),
    )  # fmt: skip
    os.rename(kept, named)
    try:
        mend.remember(ledger, done)
    except OSError:
        os.rename(named, kept)
        raise
    return done


def _put_back(move: Move, kept: str, mode: int) -> None:
    """Leave the files as they were; an index that somebody else has written meanwhile keeps its note and its copy."""
    now = mend.read(move.edit.file)
    if now == move.edit.after:
        mend.write(move.edit.file, move.edit.before, mode)
    elif now != move.edit.before:
        return
    for path, text in ((kept, move.edit.before), (move.note, move.text)):
        if mend.read(path) == text:
            os.unlink(path)
