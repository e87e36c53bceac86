"""One command and its retries: what an event id that comes again means, and what a dry run would have appended.

A client that did not hear an answer sends the command again, with the same id. It
is answered with the events of the first time, whatever has become of them since; the
same id for something else is refused.
"""

import json
import uuid
from collections.abc import Sequence

from ledger import fold, sql_log
from ledger.errors import BadArgument, SameIdOtherContent
from ledger.model import Actor, Event, Head, NewEvent, new_event_id
from ledger.view import View, derived_id, in_same_words


class Again(Exception):
    """Leaves the transaction of a retry; carries the events of the first time."""

    def __init__(self, events: list[Event]) -> None:
        super().__init__("retry")
        self.events = events


class DryRun(Exception):
    """Leaves a decided transaction without writing; carries the events that would have been appended."""

    def __init__(self, drafts: Sequence[NewEvent], head: Head) -> None:
        super().__init__("dry run")
        self.drafts = drafts
        self.head = head


def id_for(given: str | None) -> str:
    """Return the id of a command's event: the caller's, when it is a UUID in its one canonical form.

    Raises:
        BadArgument: it is not; the value is not quoted.
    """
    if given is None:
        return new_event_id()
    try:
        canonical: str | None = str(uuid.UUID(given))
    except ValueError:
        canonical = None
    if canonical != given:
        raise BadArgument("the event id is not a UUID like 01900000-0000-7000-8000-000000000001; nothing was written")
    return given


def answer_retry(view: View, intent: NewEvent) -> None:
    """Leave with the stored events when this command was carried out before."""
    ids = (intent.event_id, derived_id(intent.event_id))
    stored = [Event._make(row) for row in view.raw.execute(sql_log.EVENTS_OF_COMMAND, ids).fetchall()]
    if not stored:
        return
    if not _same_intent(view, intent, stored[0]):
        raise SameIdOtherContent(intent.event_id)
    raise Again(stored)


def _same_intent(view: View, intent: NewEvent, event: Event) -> bool:
    """Tell whether a stored event is an earlier try of a command.

    Kind and targets may have been decided by the state of that time, so a
    draft is compared by its texts and by what it was to replace, and an undo
    by what was asked of it.
    """
    if intent.kind in fold.CREATING:
        return _same_draft(view, intent, event)
    if event.kind != intent.kind or (event.body is not None and json.loads(event.body) != intent.body):
        return False
    stored = json.loads(event.data)
    if event.kind == "event.undone":
        asked = intent.data["targets"][0]
        return (
            asked is None
            or asked in stored["targets"]
            or any(view.batch(target) == asked for target in stored["targets"])
        )
    return event.stream == intent.stream and all(stored.get(key) == value for key, value in intent.data.items())


def _same_draft(view: View, intent: NewEvent, event: Event) -> bool:
    """Tell whether a stored event was made of this draft; an accepted candidate may say it with other white space."""
    if event.kind in ("proposal.accepted", "source.added") and intent.kind == "learning.recorded":
        row = view.row(event.stream)
        if event.kind == "source.added":
            return row["erased_by"] is not None or in_same_words(row, intent.body)
        names = ("problem", "solution", "project")
        said = [[str(texts[name]).split() for name in names] for texts in (row, intent.body)]
        return row["erased_by"] is not None or said[0] == said[1]
    if event.kind not in fold.CREATING or event.stream != intent.stream:
        return False
    if intent.data.get("supersedes") not in (None, json.loads(event.data).get("supersedes", [])):
        return False
    stored = json.loads(event.body) if event.body is not None else intent.body
    return all(stored.get(key) == value for key, value in intent.body.items())


def imagined(plan: DryRun, actor: Actor) -> list[Event]:
    """Return the events a dry run would have appended, without hashes."""
    return [
        Event(
            plan.head.seq + number,
            draft.event_id,
            draft.stream,
            0,
            draft.kind,
            draft.schema_version,
            "",
            actor.kind,
            actor.id,
            actor.channel,
            actor.trust,
            draft.batch,
            json.dumps(draft.data),
            b"",
            b"",
            b"",
            None,
            None,
            None,
        )
        for number, draft in enumerate(plan.drafts, start=1)
    ]
