"""Commands that change what is known: record, supersede, retract, undo, and what happens to candidates and pins.

Whoever types a command is a person to the ledger; there is no argument for trust.
Each says in one line what it did and how to take that back.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ledger import cli_mend, cli_text, door
from ledger.cli_call import DRY_RUN, EVENT_ID, Arg, Call, Result, command, number, texts
from ledger.cli_read import LEARNING, project_of, whole_id
from ledger.errors import BadArgument, EmptyText
from ledger.home import working_folder
from ledger.model import ALIAS_CHARS, CATEGORIES, EVERYWHERE, PROJECT_CHARS, Draft, plain

if TYPE_CHECKING:
    from ledger.ledger import Ledger
    from ledger.results import Changed, Recorded

DEFAULT_CATEGORY = "practice"

PROBLEM = Arg("--problem", "the situation; `-` reads it from standard input", required=True)
SOLUTION = Arg("--solution", "what to do then; `-` reads it from standard input", required=True)
TITLE = Arg("--title", "one line that names it (default: from the problem)")
TAG = Arg("--tag", "a word to find it by; may be repeated", many="each")
CATEGORY = Arg("--category", "one of: " + ", ".join(CATEGORIES))
PROJECT = Arg("--project", "where it holds; `*` is everywhere (default: the project of this folder)")
REASON = Arg("--reason", "why")
NEEDED_REASON = Arg("--reason", "why; kept in the log", required=True)


@command(PROBLEM, SOLUTION, CATEGORY, PROJECT, TITLE, TAG, EVENT_ID, DRY_RUN)
def record(call: Call) -> Result:
    """Record one learning; a new ledger is made when there is none."""
    draft, chosen = _draft(call)
    with call.writing(create=not call.given.dry_run) as ledger:
        done = ledger.record(draft, event_id=call.given.event_id, dry_run=call.given.dry_run)
    return _recorded(call, done, draft.project, chosen)


@command(
    PROBLEM,
    SOLUTION,
    CATEGORY,
    PROJECT,
    TITLE,
    TAG,
    Arg("--supersedes", "a learning it should replace once accepted; may be repeated", many="each"),
    REASON,
    EVENT_ID,
    DRY_RUN,
)
def propose(call: Call) -> Result:
    """Record a candidate for somebody to accept."""
    given, (draft, chosen) = call.given, _draft(call)
    with call.writing(create=not given.dry_run) as ledger:
        olds = [whole_id(ledger.reader, typed) for typed in given.supersedes]
        done = ledger.propose(draft, olds, given.reason, event_id=given.event_id, dry_run=given.dry_run)
    return _recorded(call, done, draft.project, chosen)


@command(
    Arg("old", "the learnings it replaces: ids, or their beginnings", many="+"),
    PROBLEM,
    SOLUTION,
    NEEDED_REASON,
    Arg("--category", "its category (default: that of the first one it replaces)"),
    Arg("--project", "where it holds (default: where the first one held)"),
    TITLE,
    Arg("--tag", "its tags instead of those of the first one; may be repeated", many="each"),
    Arg("--expected", "refuse when the first one was touched after this event", kind=number),
    cli_mend.EDIT_SOURCE,
    cli_mend.YES,
    EVENT_ID,
    DRY_RUN,
)
def supersede(call: Call) -> Result:
    """Replace learnings; the old ones stay in the log, and their words lead to the new one."""
    given = call.given
    problem, solution = texts(given.problem, given.solution)
    with call.writing() as ledger:
        ledger.files = cli_mend.files()
        names = [whole_id(ledger.reader, typed) for typed in given.old]
        olds = cli_mend.old_texts(ledger, names)
        done = ledger.supersede(
            names,
            problem,
            solution,
            given.reason,
            category=given.category,
            project=given.project,
            title=given.title,
            tags=given.tag or None,
            expected=given.expected,
            event_id=given.event_id,
            dry_run=given.dry_run,
        )
    edits = cli_mend.mended(call, done.seq, done.still_loaded, olds, solution)
    line = f"superseded {cli_text.shorts(done.supersedes)} by {cli_text.short(done.id)}"
    if not done.supersedes:
        line = f"recorded {cli_text.short(done.id)} as {done.state}"
    return written(call, {**plain(done), "edits": edits}, line)


@command(LEARNING, NEEDED_REASON, cli_mend.EDIT_SOURCE, cli_mend.YES, EVENT_ID, DRY_RUN)
def retract(call: Call) -> Result:
    """Take a learning back: it is not served any more, and stays in the log."""
    given = call.given
    with call.writing() as ledger:
        ledger.files = cli_mend.files()
        name = whole_id(ledger.reader, given.id)
        olds = cli_mend.old_texts(ledger, [name])
        done = ledger.retract(name, given.reason, event_id=given.event_id, dry_run=given.dry_run)
    edits = cli_mend.mended(call, done.seq, done.still_loaded, olds, None)
    line = f"retracted {cli_text.short(done.id)}, now {done.state}"
    return written(call, {**plain(done), "edits": edits}, line)


@command(
    Arg("seq", "the event to take back (see `learnings history ID`)", kind=number, many="?"),
    Arg("--batch", "take a whole import back, or a verdict with its correction", kind=number),
    Arg("--cascade", "take along what builds upon it", is_flag=True),
    Arg("--edit-source", "also put back the files that were mended with it", is_flag=True),
    REASON,
    EVENT_ID,
    DRY_RUN,
)
def undo(call: Call) -> Result:
    """Take an event back, as from now; nothing is removed, and undoing the undo redoes it."""
    given = call.given
    if (given.seq is None) == (given.batch is None):
        raise BadArgument("name one event, or one import with --batch; nothing was done", "see `learnings undo --help`")
    with call.writing() as ledger:
        act, seq = (ledger.undo, given.seq) if given.batch is None else (ledger.undo_batch, given.batch)
        done = act(seq, given.reason, cascade=given.cascade, event_id=given.event_id, dry_run=given.dry_run)
    batch = [] if given.batch is None else [given.batch]
    restored = cli_mend.restored(call, [*batch, *done.undone])
    events = f"event {done.undone[0]}" if len(done.undone) == 1 else f"{len(done.undone)} events"
    back = f", which brings back {len(done.redone)}" if done.redone else ""
    document = {**plain(done), "restored": restored}
    return written(call, document, f"undid {events} on {cli_text.shorts(done.streams[:5])}{back}", word="redo")


@command(LEARNING, EVENT_ID, DRY_RUN)
def pin(call: Call) -> Result:
    """Pin a learning."""
    return _change(call, "pinned", lambda ledger: ledger.pin)


@command(LEARNING, EVENT_ID, DRY_RUN)
def unpin(call: Call) -> Result:
    """Unpin a learning."""
    return _change(call, "unpinned", lambda ledger: ledger.unpin)


@command(
    LEARNING,
    Arg("--supersedes", "what it replaces, instead of what it suggests; may be repeated", many="each"),
    REASON,
    EVENT_ID,
    DRY_RUN,
)
def accept(call: Call) -> Result:
    """Make a candidate current, in the place of what it suggests to replace."""
    given = call.given
    with call.writing() as ledger:
        name = whole_id(ledger.reader, given.id)
        olds = [whole_id(ledger.reader, typed) for typed in given.supersedes] or None
        done = ledger.accept(name, olds, given.reason, event_id=given.event_id, dry_run=given.dry_run)
    return written(call, plain(done), f"accepted {cli_text.short(done.id)}, now {done.state}")


@command(LEARNING, REASON, EVENT_ID, DRY_RUN)
def reject(call: Call) -> Result:
    """Turn a candidate down; it stays in the log."""
    return _change(call, "rejected", lambda ledger: ledger.reject, call.given.reason)


@command(LEARNING, NEEDED_REASON, EVENT_ID, DRY_RUN)
def quarantine(call: Call) -> Result:
    """Withhold a learning."""
    return _change(call, "quarantined", lambda ledger: ledger.quarantine, call.given.reason)


@command(LEARNING, REASON, EVENT_ID, DRY_RUN)
def release(call: Call) -> Result:
    """Release a withheld learning: it is again what it would be without the quarantine."""
    return _change(call, "released", lambda ledger: ledger.release, call.given.reason)


@command(
    LEARNING,
    Arg("words", "words or phrases a person would type; none takes away those there were", many="*"),
    EVENT_ID,
    DRY_RUN,
)
def alias(call: Call) -> Result:
    """Let a learning be found by these words too, in the place of those it had before."""
    words = call.given.words
    kept = [door.text("alias", " ".join(word.split()), ALIAS_CHARS)[0] for word in words]  # as they are stored
    told = f"aliased as {', '.join(dict.fromkeys(kept))}:" if words else "took the aliases from"
    return _change(call, told, lambda ledger: ledger.alias, words)


def _draft(call: Call) -> tuple[Draft, list[str]]:
    """Return the draft that the arguments describe, and what to say once it is stored: what was chosen for it.

    Raises:
        EmptyText: a project without a name would be everywhere, which nobody meant.
    """
    given, chosen = call.given, []
    category, project = given.category, given.project
    if category is None:
        category = DEFAULT_CATEGORY
        chosen.append(f"category {category}, because none was given (--category)")
    if project is None:
        project = project_of(call, working_folder()) or EVERYWHERE
        where = "everywhere, because this folder belongs to no project" if project == EVERYWHERE else f"in {project}"
        chosen.append(f"it holds {where} (--project)")
    if not project.strip():
        raise EmptyText("project")
    problem, solution = texts(given.problem, given.solution)
    draft = Draft(problem, solution, category, project, given.title, tuple(given.tag))
    if not os.path.exists(call.file):
        door.draft(draft)  # what is refused makes no file
    return draft, chosen


def _recorded(call: Call, done: "Recorded", project: str, chosen: list[str]) -> Result:
    for text in chosen:
        call.remark(text)
    project = door.text("project", project, PROJECT_CHARS)[0]  # as it was stored: a secret in it is not said back
    where = "everywhere" if project == EVERYWHERE else f"in {project}"
    instead = f", superseding {cli_text.shorts(done.supersedes)}" if done.supersedes else ""
    line = f"{'found' if done.duplicate else 'recorded'} {cli_text.short(done.id)} as {done.state} {where}{instead}"
    return written(call, {**plain(done), "project": project}, line, is_undoable=not done.duplicate)


Method = Callable[..., "Changed"]


def _change(call: Call, verb: str, method: Callable[["Ledger"], Method], *more: Any) -> Result:
    """Run a command about one learning."""
    given = call.given
    with call.writing() as ledger:
        name = whole_id(ledger.reader, given.id)
        done = method(ledger)(name, *more, event_id=given.event_id, dry_run=given.dry_run)
    return written(call, plain(done), f"{verb} {cli_text.short(done.id)}, now {done.state}")


def written(
    call: Call,
    document: dict[str, Any],
    line: str,
    word: str = "undo",
    is_undoable: bool = True,
    batch: int | None = None,
) -> Result:
    """Return the answer of a command that appended events: one line, with how to take them back; print its remarks."""
    hint = call.undo_hint(document["seq"], word, batch)
    if call.given.dry_run:
        call.remark("dry run: nothing was written")
    for text in cli_text.advice(document):
        call.remark(text)
    told = f"would have {line}" if call.given.dry_run else f"{line}  {hint}" if is_undoable else line
    return Result(document, lambda: [told])
