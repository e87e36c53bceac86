"""Trust the content of a repository: what its files say now, and nothing they come to say later.

Files of a repository may come from anybody, so that what was imported from
them is served only when it is asked for. A person who has read them grants
trust to every text that stands there: each grant is an event on one learning,
whose text never changes, so that a file that changes brings learnings nobody
trusts yet. Granting reads the files again, and passes over what they say that
was not imported: nobody trusts by this command what they could not have read.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

from ledger import door, fold, ingest, sql
from ledger.errors import Refused
from ledger.fold import Act
from ledger.ledger import Ledger
from ledger.model import LOCATOR_CHARS, TRUST_NOTES, NewEvent, Reading, new_event_id
from ledger.results import Undone
from ledger.view import View

GRANTS_MAX = 5_000
"""Most learnings that one command trusts; a folder with more is trusted in parts."""


class Granted(NamedTuple):
    """Answer of `trust`: the learnings that are served unasked from now on.

    `seq` is the first grant and the batch that takes all of them back, None
    when nothing was written. `already` counts what needed no grant, `waiting`
    what waits for a review, `unknown` names what the files say and the ledger
    does not know, as file and line.
    """

    path: str
    seq: int | None
    batch: int | None
    trusted: list[str]
    already: int
    waiting: int
    unknown: list[str]
    remarks: list[str]


class Standing(NamedTuple):
    """What stands below a path, sorted by what a grant would mean for it."""

    fresh: list[str]
    already: int
    waiting: int
    unknown: list[str]


def grant(ledger: Ledger, path: str, readings: Iterable[Reading], *, dry_run: bool = False) -> Granted:
    """Trust what the files of `readings` say, as far as the ledger holds it; only a person does.

    Raises:
        NotAllowed: not a person. Refused: nothing of it is in the ledger, or more than `GRANTS_MAX`.
    """
    ledger.needs_person(f"learnings trust {path}")
    found = _standing(ledger, readings)
    if not found.fresh and not found.already and not found.waiting:
        hint = f"bring it in first: `learnings import {path}`"
        raise Refused("nothing of what stands there is in the ledger; nothing was written", hint)
    if len(found.fresh) > GRANTS_MAX:
        raise Refused(
            f"that is {len(found.fresh):,} learnings; nothing was written", "trust the folders in it one by one"
        )
    body = {"path": door.text("path", path, LOCATOR_CHARS)[0]}
    told = Granted(path, None, None, found.fresh, found.already, found.waiting, found.unknown, _remarks(path, found))
    if not found.fresh:
        return told
    grants = [NewEvent("trust.granted", name, {"by": fold.BY_PATH}, body, new_event_id()) for name in found.fresh]

    def decide(view: View) -> None:
        for one in grants:
            view.add(one._replace(batch=view.head.seq + 1), ledger.actor)

    events, _ = ledger.commit(decide, grants[0], None, dry_run)
    return told._replace(seq=events[0].seq, batch=events[0].seq)


def revoke(ledger: Ledger, path: str, *, event_id: str | None = None, dry_run: bool = False) -> Undone:
    """Take back every grant for what stands, or once stood, at a file or below a folder; one undo, which can be undone.

    Raises:
        NotAllowed: not a person. Refused: nothing there is trusted.
    """
    ledger.needs_person(f"learnings trust {path} --revoke")

    def targets(view: View) -> list[Act]:
        seqs = [row[0] for row in view.raw.execute(sql.GRANTS_BELOW, {"path": path}).fetchall()]
        if not seqs:
            raise Refused("nothing of what stands there is trusted; nothing was written", "see `learnings trust`")
        return [view.act(seq) for seq in seqs]

    return ledger.undo_all(targets, event_id=event_id, dry_run=dry_run)


def _standing(ledger: Ledger, readings: Iterable[Reading]) -> Standing:
    """Sort what files say by what the ledger holds of it, each learning once."""
    connection = ledger.store.connection()
    fresh: dict[str, None] = {}
    known: set[str] = set()
    waiting: set[str] = set()
    unknown = []
    for one in (found for reading in readings for found in ingest.found(ledger, reading)):
        rows = connection.execute(sql.STANDS_HERE, {"key": one.locator_key}).fetchall()
        same = [row for row in rows if row[1] is not None and bytes(row[1]) == one.content_key]
        for name, _, trust, state, reviewed in same:
            if state == "current" and (trust >= TRUST_NOTES or reviewed):
                known.add(name)
            elif state == "current":
                fresh[name] = None
            elif state in ("candidate", "quarantined"):
                waiting.add(name)
        if not same:
            unknown.append(_where(one.draft.source))
    return Standing(list(fresh), len(known), len(waiting), list(dict.fromkeys(unknown)))


def _where(source: object) -> str:
    path, line = getattr(source, "path", None), getattr(source, "line", None)
    return f"{path}:{line}" if line is not None else str(path or getattr(source, "locator", ""))


def _remarks(path: str, found: Standing) -> list[str]:
    told = []
    if found.unknown:
        told.append(
            f"{len(found.unknown)} of what stands there now is not in the ledger, and not trusted: "
            f"`learnings import {path}`, then trust it again"
        )
    if found.waiting:
        told.append(f"{found.waiting} wait for a review, and are not trusted: `learnings review`")
    return told


def below(path: str, home: str) -> str:
    """Return a path as sources are kept: absolute, `~` opened, without links above its last part."""
    if path == "~" or path.startswith("~" + os.sep):
        path = home + path[1:]
    path = os.path.abspath(path)
    folder = os.path.realpath(path)
    if os.path.isdir(folder):
        return folder
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
