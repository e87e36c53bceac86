"""Commands that only read: `query show history list stats`.

They import the lean read path and nothing that writes, so that an agent which
calls `learnings query` waits for an interpreter, one file and no more.
"""

import json
import os
import time
from typing import Any

from ledger import cli_text, sql
from ledger.answer import LIMIT_MAX
from ledger.cli_call import Arg, Call, Result, command, number
from ledger.errors import BadArgument
from ledger.home import working_folder
from ledger.model import CATEGORIES, STATES, plain
from ledger.reader import Reader

PROJECT = Arg("--project", "only this project, and what holds everywhere")
CATEGORY = Arg("--category", "only this category: " + ", ".join(CATEGORIES))
AS_OF = Arg("--as-of", "what was true at this event, or at this date or time (UTC unless it has an offset)")
LEARNING = Arg("id", "the learning's id, or the beginning of it")

ALIASES = "project_aliases"
"""The setting that holds other names of projects."""


@command(
    Arg("text", "what you want to know; any text", many="*"),
    PROJECT,
    Arg("--here", "only the project of the folder you are in", is_flag=True),
    CATEGORY,
    Arg("--tag", "only learnings with this tag; may be repeated", many="each"),
    Arg("--trust", "least trust: 4 person, 3 agent, 2 notes, 1 files, 0 inferred", kind=number),
    AS_OF,
    Arg("--include-superseded", "show superseded learnings too, labelled", is_flag=True),
    Arg("--limit", f"most hits, 1 to {LIMIT_MAX}", kind=number, default=10),
    Arg("--explain", "say what was looked for and what each hit scored", is_flag=True),
)
def query(call: Call) -> Result:
    """Search in every project, unless one is named."""
    given = call.given
    project = _here(call) if given.here else given.project
    with call.reading() as reader:
        answer = reader.query(
            " ".join(given.text),
            project=project,
            category=given.category,
            tags=given.tag,
            trust=given.trust,
            as_of=None if given.as_of is None else moment(reader, given.as_of, call),
            include_superseded=given.include_superseded,
            limit=given.limit,
            explain=given.explain,
        )
    document = plain(answer)
    if not answer.hits:
        call.remark("nothing found")
    elif answer.truncated and not call.is_json:
        call.remark("there is more: narrow the question, or raise --limit")
    return Result(document, lambda: cli_text.hits(document))


@command(
    LEARNING,
    Arg("--source", "also what stands today where it was read, with the lines or turns around it", is_flag=True),
)
def show(call: Call) -> Result:
    """Show one learning whole."""
    with call.reading() as reader:
        document = plain(reader.show(whole_id(reader, call.given.id)))
    if not call.given.source:
        return Result(document, lambda: cli_text.shown(document))
    from ledger.cli_evidence import evidence, lines

    document["evidence"] = evidence(call, document)
    return Result(document, lambda: [*cli_text.shown(document), *lines(document["evidence"])])


@command(LEARNING)
def history(call: Call) -> Result:
    """List the events of one learning, undone ones too, in the order they happened."""
    with call.reading() as reader:
        learning = whole_id(reader, call.given.id)
        document = {"id": learning, "events": plain(reader.history(learning))}
    return Result(document, lambda: cli_text.history(document))


@command(
    PROJECT,
    CATEGORY,
    Arg("--state", "the state they are in: " + ", ".join(STATES), default="current"),
    Arg("--limit", f"most learnings, 1 to {LIMIT_MAX}", kind=number, default=20),
    Arg("--before", "only learnings recorded before this event (the next page: the last row's seq)", kind=number),
)
def list_learnings(call: Call) -> Result:
    """List learnings of one state, without their texts."""
    given = call.given
    with call.reading() as reader:
        listing = reader.list_learnings(given.project, given.category, given.state, given.limit, given.before)
    document = plain(listing)
    if not listing.rows:
        call.remark("there is none")
    elif listing.truncated:
        call.remark(f"there is more: {call.typed('list', '--before', str(listing.rows[-1].seq))}")
    return Result(document, lambda: cli_text.listing(document))


@command()
def stats(call: Call) -> Result:
    """Count events, and learnings by state, project, category and trust; and what the last 7 and 30 days brought."""
    from ledger.usage import usage

    with call.reading() as reader:
        document = {"file": call.file, **plain(reader.status())}
        use = usage(reader, time.time())
    return Result({**document, "use": use}, lambda: [*cli_text.stats(document), *cli_text.use(use)])


def whole_id(reader: Reader, typed: str) -> str:
    """Return the whole id; a beginning will do, also one that was copied with its ellipsis.

    The stream of a setting (`setting:NAME`) stands for itself: it has a history too.

    Raises:
        NotFound, AmbiguousId: none or several fit.
    """
    return typed if typed.startswith("setting:") else reader.resolve(typed.rstrip("…"))


def moment(reader: Reader, typed: str, call: Call) -> int:
    """Return the seq that an event's number or a time means.

    Raises:
        BadArgument: it is neither.
    """
    if not (typed.isascii() and typed.isdigit() and len(typed) < 19):
        return reader.seq_at(typed)
    seq, head = int(typed), reader.head().seq
    if seq > head:
        call.remark(f"event {seq} has not happened; the log ends at {head}")
    return seq


def _here(call: Call) -> str:
    """Return the project of the working folder.

    Raises:
        BadArgument: it belongs to none, or --project names another.
    """
    if call.given.project is not None:
        raise BadArgument("--here and --project both name a project; nothing was done", "give one of them")
    found = project_of(call, working_folder())
    if found is None:
        raise BadArgument("this folder belongs to no project; nothing was done", "name one with --project")
    return found


# -- settings and projects -------------------------------------------------------------------------------------------


def settings(reader: Reader) -> list[dict[str, Any]]:
    """Return the settings in force, as {name, scope, machine, value, stream}; `history` takes the stream."""
    found = []
    for name, scope, machine, value in reader.rows(sql.SETTINGS, {}):
        stream = f"setting:{name}@{machine}" if machine else f"setting:{name}"
        found.append({"name": name, "scope": scope, "machine": machine or None, "value": value, "stream": stream})
    return found


def aliases(reader: Reader) -> dict[str, str]:
    """Return the other names of projects, with the name that is meant."""
    found: dict[str, str] = {}
    for setting in settings(reader):
        if setting["name"] == ALIASES:
            found.update(json.loads(setting["value"]))
    return found


def project_of(call: Call, path: str) -> str | None:
    """Return the project of the repository around `path` under the name it has here; None when there is none.

    Raises:
        BadArgument: there is no such path.
    """
    from importers.projects import project_of as repository_of

    if not os.path.exists(path):
        raise BadArgument(f"there is no {path}; nothing was done", "name a folder")
    found = repository_of(os.path.abspath(path))
    if found is None or not os.path.exists(call.file):
        return found
    with call.reading() as reader:
        return aliases(reader).get(found, found)
