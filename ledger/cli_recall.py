"""What prompts are shown, why, and whether that was right: `recall why exposures wrong`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from ledger import choose, cli_text
from ledger.answer import LIMIT_MAX
from ledger.cli_call import DRY_RUN, EVENT_ID, Arg, Call, Result, command, number, texts
from ledger.cli_read import project_of, whole_id
from ledger.cli_write import REASON, written
from ledger.errors import BadArgument, NotFound
from ledger.exposures import Exposure, Exposures
from ledger.model import Draft, plain
from ledger.reader import Reader, open_reader
from ledger.recall import Recall, bounded, without_private

EXPOSURE_PREFIX = "exp_"

PROJECT = Arg("--project", "the project the prompt is typed in (default: that of this folder)")
PREVIOUS = Arg("--previous", "the turn before, which may sharpen what a short prompt is about")


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
    prompt = texts(" ".join(given.prompt))[0]
    if call.env.get("LEARNINGS_OFF", "") not in ("", "0"):
        return _recalled(call, {"text": "", "ids": [], "held": [], "exposure": None, "reasons": {"silence": "off"}})
    project = _project(call)
    with call.reading() as reader:
        desk = Recall(reader)
        try:
            found = desk.recall(prompt, given.session, project, given.previous, transcript=given.transcript)
        finally:
            desk.close()
    return _recalled(call, plain(found))


def _recalled(call: Call, document: dict[str, Any]) -> Result:
    if not document["text"]:
        call.remark(f"nothing is shown ({document['reasons']['silence'] or 'budget'})")
    return Result(document, document["text"].splitlines)


@command(
    Arg("session", "only this session", many="?"),
    Arg("--limit", f"most exposures, 1 to {LIMIT_MAX}", kind=number, default=20),
)
def exposures(call: Call) -> Result:
    """List what prompts were shown and what was held back, the last one first."""
    if not 1 <= call.given.limit <= LIMIT_MAX:
        raise BadArgument(f"limit is {call.given.limit}", f"limit may be 1 to {LIMIT_MAX}")
    with call.reading() as reader, _remembered(reader) as kept:
        found = kept.newest(call.given.limit, call.given.session)
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
    Arg("asked", "an exposure's id, or a prompt", many="+"),
    PROJECT,
    PREVIOUS,
    Arg("--exact", "replay the log up to that moment and choose again; an exposure asks with its keywords",
        is_flag=True),
)  # fmt: skip
def why(call: Call) -> Result:
    """Say which learnings came into question for a prompt, by which numbers, and why each is shown or not."""
    asked = texts(" ".join(call.given.asked))[0]
    with call.reading() as reader:
        if asked.startswith(EXPOSURE_PREFIX) and " " not in asked:
            with _remembered(reader) as kept:
                one = kept.find(asked.rstrip("…"))
            document = _of_exposure(one)
            if call.given.exact:
                with _replayed(reader, one.head_seq) as then:
                    again = _of_text(then, " ".join(one.keywords), one.project, None)
                document["exact"] = {"seq": one.head_seq, **again}
        elif call.given.exact:
            with _replayed(reader, reader.head().seq) as then:
                document = _of_text(then, asked, _project(call), call.given.previous)
        else:
            document = _of_text(reader, asked, _project(call), call.given.previous)
    return Result(document, lambda: _reasons(document))


def _of_text(reader: Reader, text: str, project: str | None, previous: str | None) -> dict[str, Any]:
    """Choose for a text now, and say what became of every candidate; nothing is remembered."""
    asked = without_private(bounded(text))
    chosen = choose.choose(reader, asked, project, previous)
    via = {hit.id: hit.via for hit in reader.query(asked, project=project, limit=LIMIT_MAX).hits}
    via.update((hit.id, hit.via) for hit in chosen.shown)
    candidates = [
        {"id": name, "via": via.get(name, []), "parts": chosen.parts.get(name, {}), "shown": reason is None,
         "reason": reason or "shown"}
        for name, reason in [*((hit.id, None) for hit in chosen.shown), *chosen.held]
    ]  # fmt: skip
    return {
        "exposure": None, "shown": [hit.id for hit in chosen.shown], "candidates": candidates,
        "silence": chosen.silence, "keywords": chosen.keywords, "versions": chosen.versions,
    }  # fmt: skip


def _of_exposure(one: Exposure) -> dict[str, Any]:
    """Return what was remembered of an exposure, in the same form."""
    reasons = [*((name, None) for name in one.shown), *((held["id"], held["reason"]) for held in one.held)]
    candidates = [
        {"id": name, "via": one.parts.get(name, {}).get("via", []), "parts": one.parts.get(name, {}),
         "shown": reason is None, "reason": reason or "shown"}
        for name, reason in reasons
    ]  # fmt: skip
    return {
        "exposure": one.id, "shown": one.shown, "candidates": candidates, "silence": one.silence,
        "keywords": one.keywords, "versions": one.versions,
    }  # fmt: skip


def _reasons(document: dict[str, Any]) -> Iterator[str]:
    """Show every candidate with its numbers."""
    yield f"looked for: {', '.join(document['keywords']) or 'nothing'}"
    if document["silence"]:
        yield f"nothing is shown: {document['silence']}"
    for one in document["candidates"]:
        parts = ", ".join(f"{name} {value}" for name, value in one["parts"].items() if name != "via")
        led = f", through {cli_text.shorts(one['via'])}" if one["via"] else ""
        yield f"  {cli_text.short(one['id'])}  {one['reason']}{led}  {parts}".rstrip()
    if document.get("exact"):
        yield f"replayed at event {document['exact']['seq']}, with the keywords:"
        yield from (f"  {line}" for line in _reasons(document["exact"]))


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
        one, learning = _judged(ledger.reader, given.id, given.session)
        if learning is None and len(one.shown) == 1 and verdict != "silent":
            learning = one.shown[0]
        instead = _instead(call, ledger.reader, learning) if given.solution is not None else None
        done = ledger.judge(
            one.id, verdict, learning=learning, shown=one.shown, keywords=one.keywords, project=one.project,
            reason=given.reason, instead=instead, event_id=given.event_id, dry_run=given.dry_run,
        )  # fmt: skip
    about = cli_text.short(done.learning) if done.learning else cli_text.short(done.exposure)
    new = f", superseded by {cli_text.short(done.superseded_by)}" if done.superseded_by else ""
    return written(call, plain(done), f"judged {about} {done.verdict}{new}")


def _judged(reader: Reader, typed: str | None, session: str | None) -> tuple[Exposure, str | None]:
    """Return the exposure that is meant, and the learning of it when one is named.

    Raises:
        NotFound: nothing was shown, or not that.
    """
    with _remembered(reader) as kept:
        if typed is not None and typed.startswith(EXPOSURE_PREFIX):
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


def _instead(call: Call, reader: Reader, learning: str | None) -> Draft | None:
    """Return what a learning is to be superseded by: its own texts, with what was typed in their place."""
    if learning is None:
        raise BadArgument("several learnings were shown; nothing was written", "name the one to be superseded")
    problem, solution = texts(call.given.problem or "", call.given.solution)
    old = reader.show(learning)
    title = None if problem else old["title"]
    return Draft(problem or old["problem"], solution, old["category"], old["project"], title, tuple(old["tags"]))


@contextmanager
def _remembered(reader: Reader) -> Iterator[Exposures]:
    with Exposures(reader.path, reader.meta()["ledger_id"]) as kept:
        yield kept


@contextmanager
def _replayed(reader: Reader, seq: int) -> Iterator[Reader]:
    """Open a copy of the ledger as it was at an event."""
    from ledger.replay import copied

    with TemporaryDirectory(prefix="learnings-why-") as folder:
        path = os.path.join(folder, "ledger.db")
        copied(reader.path, path, seq)
        with open_reader(path) as then:
            yield then


def _project(call: Call) -> str | None:
    return call.given.project if call.given.project is not None else project_of(call, os.getcwd())
