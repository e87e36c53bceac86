"""What prompts are shown, and whether that was right: `recall exposures wrong`; `why` is in `cli_why`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ledger import cli_text, sql
from ledger.answer import LIMIT_MAX
from ledger.cli_call import DRY_RUN, EVENT_ID, Arg, Call, Result, command, number, prompt_text, texts
from ledger.cli_read import project_of, whole_id
from ledger.cli_write import REASON, written
from ledger.errors import BadArgument, NotFound
from ledger.exposure import PREFIX, Exposure
from ledger.exposures import Exposures
from ledger.home import machine_of, working_folder
from ledger.hook import is_off
from ledger.model import EVERYWHERE, Draft, plain
from ledger.reader import Reader
from ledger.recall import Recall
from ledger.settings import is_off as is_project_off

PROJECT = Arg("--project", "the project the prompt is typed in (default: that of this folder)")
PREVIOUS = Arg("--previous", "the turn before, which may sharpen what a short prompt is about")

UNASKED = ("trivial", "machine", "secret", "nothing-informative", "off")
"""Silences for which nothing was looked for anywhere."""

SWITCHED_OFF: dict[str, Any] = {"text": "", "ids": [], "held": [], "exposure": None, "reasons": {"silence": "off"}}
"""What becomes of a prompt where recall is switched off, by the environment or by the setting."""


@command(
    Arg("prompt", "the prompt; any text, `-` reads it from standard input", many="+"),
    PROJECT,
    PREVIOUS,
    Arg("--session", "a session, in which nothing is shown twice"),
    Arg("--transcript", "the session's transcript, read for the turn before when nothing else tells it"),
)
def recall(call: Call) -> Result:
    """Print the block that the hook would show for a prompt; nothing, when it would be silent."""
    given = call.given
    prompt = prompt_text(" ".join(given.prompt))
    if is_off(call.env):
        return _recalled(call, SWITCHED_OFF)
    project = project_here(call)
    with call.reading() as reader:
        if is_project_off(reader.rows(sql.SETTINGS, {}), machine_of(reader.path), project):
            return _recalled(call, SWITCHED_OFF)
        desk = Recall(reader)
        try:
            found = desk.recall(prompt, given.session, project, given.previous, transcript=given.transcript)
        finally:
            desk.close()
        where = looked_in(reader, project, found.reasons["silence"])
    return _recalled(call, plain(found), where)


def _recalled(call: Call, document: dict[str, Any], where: str = "") -> Result:
    if not document["text"]:
        call.remark(f"nothing is shown ({document['reasons']['silence'] or 'budget'}){where}")
    return Result(document, document["text"].splitlines)


def looked_in(reader: Reader, project: str | None, silence: str | None) -> str:
    """Return where something was looked for, as the end of a sentence; '' where nothing was."""
    if silence in UNASKED:
        return ""
    if project is None:
        return "; looked in every project"
    names = [name for name in reader.projects(project) if name != EVERYWHERE]
    word = "project" if len(names) == 1 else "the projects"
    where = f"{word} {', '.join(names)} and " if names else ""
    return f"; looked in {where}what holds everywhere (--project names another)"


@command(
    Arg("session", "only this session", many="?"),
    Arg("--limit", f"most exposures, 1 to {LIMIT_MAX}", kind=number, default=20),
)
def exposures(call: Call) -> Result:
    """List what prompts were shown and what was held back, the last one first."""
    if not 1 <= call.given.limit <= LIMIT_MAX:
        raise BadArgument(f"limit is {call.given.limit}", f"limit may be 1 to {LIMIT_MAX}")
    with call.reading() as reader, Exposures(reader.path, reader.meta()["ledger_id"]) as kept:
        found = kept.newest(call.given.limit, call.given.session)
        lost = kept.lost()
    if lost is not None:
        call.remark(lost)
    document = {"exposures": [_told(one) for one in found]}
    if not found:
        call.remark("nothing was shown yet")
    return Result(document, lambda: _lines(document["exposures"]))


def _told(one: Exposure) -> dict[str, Any]:
    return {
        "id": one.id, "at": one.at, "session": one.session or None, "channel": one.channel, "project": one.project,
        "keywords": one.keywords, "silence": one.silence, "shown": one.shown, "held": one.held,
    }  # fmt: skip


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Show an exposure in a line."""
    return cli_text.aligned([
        (
            cli_text.short(row["id"]), row["at"][:19], row["project"] or "",
            cli_text.shorts(row["shown"]) or f"nothing ({row['silence'] or 'budget'})", " ".join(row["keywords"][:6]),
        )
        for row in rows
    ])  # fmt: skip


@command(
    Arg("id", "an exposure, or a learning that the last one showed (default: the last exposure)", many="?"),
    Arg("--session", "the last exposure of this session"),
    Arg("--right", "say that it was right", is_flag=True),
    Arg("--silent", "say that nothing should have been shown", is_flag=True),
    Arg("--solution", "supersede the learning: what to do instead; `-` reads it from standard input"),
    Arg("--problem", "the situation, when it has to be said anew (with --solution)"),
    REASON,
    EVENT_ID,
    DRY_RUN,
)
def wrong(call: Call) -> Result:
    """Judge what was shown: wrong, right, or nothing should have been; `--solution` corrects it in the same act."""
    given = call.given
    if (given.right and (given.silent or given.solution is not None)) or (given.problem and given.solution is None):
        raise BadArgument("these options do not go together; nothing was written", "see `learnings wrong --help`")
    verdict = "right" if given.right else "silent" if given.silent else "wrong"
    with call.writing() as ledger:
        one, learning = _judged(call, ledger.reader)
        if learning is None and len(one.shown) == 1 and verdict != "silent":
            learning = one.shown[0]
        instead = _instead(call, ledger.reader, one, learning) if given.solution is not None else None
        done = ledger.judge(
            one.id, verdict, learning=learning, shown=one.shown, keywords=one.keywords, project=one.project,
            reason=given.reason, instead=instead, event_id=given.event_id, dry_run=given.dry_run,
        )  # fmt: skip
    about = cli_text.short(done.learning) if done.learning else cli_text.short(done.exposure)
    new = f", superseded by {cli_text.short(done.superseded_by)}" if done.superseded_by else ""
    return written(call, plain(done), f"judged {about} {done.verdict}{new}", batch=done.batch)


def _judged(call: Call, reader: Reader) -> tuple[Exposure, str | None]:
    """Return the exposure that is meant, and the learning of it when one is named.

    Raises:
        NotFound: nothing was shown, or not that.
    """
    typed, session = call.given.id, call.given.session
    with remembered(call, reader) as kept:
        if typed is not None and typed.startswith(PREFIX):
            return kept.find(typed.rstrip("…")), None
        found = kept.newest(LIMIT_MAX, session, spoke=True)
    if typed is None and found:
        return found[0], None
    if typed is not None:
        learning = whole_id(reader, typed)
        found = [one for one in found if learning in one.shown]
        if found:
            return found[0], learning
    raise NotFound("that was not shown to anybody lately; nothing was written", "see `learnings exposures`")


def _instead(call: Call, reader: Reader, one: Exposure, learning: str | None) -> Draft | None:
    """Return what a learning is to be superseded by: its own texts, with what was typed in their place.

    Raises:
        BadArgument: nothing was shown there, or several learnings and none is named.
    """
    if not one.shown:
        raise BadArgument(
            "nothing was shown there, so nothing can be superseded; nothing was written",
            "record what should have been known: `learnings record --problem … --solution …`",
        )
    if learning is None:
        raise BadArgument(
            "several learnings were shown; nothing was written",
            f"name the one to be superseded: {cli_text.shorts(one.shown)}",
        )
    problem, solution = texts(call.given.problem or "", call.given.solution)
    old = reader.show(learning)
    title = None if problem else old["title"]
    return Draft(problem or old["problem"], solution, old["category"], old["project"], title, tuple(old["tags"]))


@contextmanager
def remembered(call: Call, reader: Reader) -> Iterator[Exposures]:
    """Open the exposures beside a ledger, and say what became of a damaged file."""
    with Exposures(reader.path, reader.meta()["ledger_id"]) as kept:
        try:
            yield kept
        finally:
            for text in kept.remarks:
                call.remark(text)


def project_here(call: Call) -> str | None:
    """Return the project a prompt is typed in: as it was named, else that of this folder."""
    return call.given.project if call.given.project is not None else project_of(call, working_folder())
