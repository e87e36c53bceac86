"""Why a prompt is shown what it is, or nothing: `why`.

A text is chosen for now, an exposure is told as it was remembered; `--exact`
chooses once more in a copy of the ledger as it was then, for an exposure with the
keywords that were kept, which need not bring what the prompt brought. Nothing is remembered
of a question, and a text with a secret in it ends as it does in recall: before
anything else is done with it.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from ledger import choose, cli_text, sql
from ledger.answer import LIMIT_MAX
from ledger.cli_call import Arg, Call, Result, command, prompt_text
from ledger.cli_recall import PREVIOUS, PROJECT, looked_in, project_here, remembered
from ledger.exposure import PREFIX, Exposure
from ledger.reader import Reader, open_reader
from ledger.recall import SECRET, markers_of, usable

LINES_MAX = 12
"""Most candidates that a person is shown; `--json` has all of them."""

NUMBERED = 3
"""Candidates that are held back and whose numbers a person is shown, the likeliest; of what is shown all are."""

WIDTH = 100
"""Characters of a line of numbers."""

MEANINGS = {
    "below-gate": "not likely enough to be worth an interruption",
    "behind-best": "far less likely than the best one",
    "shown-before": "this session was shown it already",
    "loaded": "stands in what the client has loaded anyway",
    "copy": "says what another one says",
    "contradicted": "one of higher trust on the same subject goes first",
    "older": "a newer one on the same subject goes first",
    "source-cap": "enough is shown of the file it comes from",
    "cap": "enough is shown already",
    "budget": "did not fit into the block",
    "trivial": "the prompt asks for nothing that could have been learned",
    "machine": "the prompt was written by a program",
    "secret": "there is a secret in the prompt, so nothing was done with it",
    "nothing-found": "no learning has anything to do with it",
    "gate": "no learning is likely enough to be worth an interruption",
    "nothing-known": "this project has no learning that is shown unasked",
    "shown": "passes the gate",
}
"""What the words for a silence, and for holding a candidate back, mean."""


@command(
    Arg("asked", "an exposure's id, or a prompt; `-` reads it from standard input", many="+"),
    PROJECT,
    PREVIOUS,
    Arg("--exact", "replay the log up to that moment and choose again; an exposure keeps no prompt and asks with its"
        " keywords, so the answer may differ from what was shown: both are told", is_flag=True),
)  # fmt: skip
def why(call: Call) -> Result:
    """Say which learnings came into question for a prompt, by which numbers, and why each is shown or not."""
    asked, exact = prompt_text(" ".join(call.given.asked)), call.given.exact
    with call.reading() as reader:
        if asked.startswith(PREFIX) and len(asked.split()) == 1:
            with remembered(call, reader) as kept:
                one = kept.find(asked.strip().rstrip("…"))
            project, document = one.project, _of_exposure(reader, one, exact=exact)
        elif exact and usable(asked) is not None:
            project = project_here(call)
            with _replayed(reader, reader.head().seq) as then:
                document = _of_text(then, asked, project, call.given.previous)
        else:
            project = project_here(call)
            document = _of_text(reader, asked, project, call.given.previous)
        where = looked_in(reader, project, document["silence"])
    return Result(document, lambda: _told(document, where))


def _of_text(reader: Reader, text: str, project: str | None, previous: str | None) -> dict[str, Any]:
    """Choose for a text now, and say what became of every candidate."""
    markers = markers_of(reader)
    asked, before = usable(text, markers), usable(previous or "", markers) or None
    if asked is None:
        return _document(reader, None, SECRET, [], {})
    chosen = choose.choose(reader, asked, project, before)
    found = reader.query(asked, project=project, limit=LIMIT_MAX, previous=before).hits
    via = {hit.id: hit.via for hit in (*found, *chosen.shown)}
    return _document(reader, None, chosen, [hit.id for hit in chosen.shown], via)


def _of_exposure(reader: Reader, one: Exposure, *, exact: bool) -> dict[str, Any]:
    """Tell what was remembered of an exposure, in the same form."""
    parts = {name: {key: part for key, part in told.items() if key != "via"} for name, told in one.parts.items()}
    via = {name: told["via"] for name, told in one.parts.items() if "via" in told}
    held = [choose.Held(row["id"], row["reason"]) for row in one.held]
    chosen = choose.Choice([], held, parts, one.silence, one.versions, one.keywords)
    document = _document(reader, one.id, chosen, one.shown, via)
    return {**document, "exact": _again(reader, one)} if exact else document


def _again(reader: Reader, one: Exposure) -> dict[str, Any]:
    """Choose with an exposure's keywords in the ledger as it was then."""
    with _replayed(reader, one.head_seq) as then:
        return {"seq": one.head_seq, **_of_text(then, " ".join(one.keywords), one.project, None)}


def _document(
    reader: Reader, exposure: str | None, chosen: choose.Choice, shown: list[str], via: dict[str, list[str]]
) -> dict[str, Any]:
    """Return the answer: what is shown, and every candidate with its numbers and what became of it."""
    reasons = [*((name, "shown") for name in shown), *chosen.held]
    binds = {"ids": json.dumps([name for name, _ in reasons]), "at": sql.NOW}
    titles = {name: title for name, title, *_ in reader.rows(sql.NAMED, binds)}
    candidates = [
        {"id": name, "title": titles.get(name), "via": via.get(name, []), "parts": chosen.parts.get(name, {}),
         "shown": name in shown, "reason": reason}
        for name, reason in reasons
    ]  # fmt: skip
    return {
        "exposure": exposure, "shown": shown, "candidates": candidates, "silence": chosen.silence,
        "keywords": chosen.keywords, "versions": chosen.versions,
    }  # fmt: skip


@contextmanager
def _replayed(reader: Reader, seq: int) -> Iterator[Reader]:
    """Open a copy of the ledger as it was at an event."""
    from ledger.replay import copied

    with TemporaryDirectory(prefix="learnings-why-") as folder:
        path = os.path.join(folder, "ledger.db")
        copied(reader.path, path, seq)
        with open_reader(path) as then:
            yield then


# -- for people ------------------------------------------------------------------------------------------------------


def _told(document: dict[str, Any], where: str) -> Iterator[str]:
    """Show the outcome, the likeliest candidates with what led to them, and what the words mean."""
    if document["exposure"]:
        yield _outcome("shown then", document)
    if document["keywords"]:
        yield f"looked for {', '.join(document['keywords'])}"
    if document["silence"]:
        meant = MEANINGS.get(document["silence"], "see the candidates")
        yield f"nothing is shown ({document['silence']}): {meant}{where}"
    candidates = document["candidates"][:LINES_MAX]
    rows = [
        (one["reason"], _percent(one["parts"]), cli_text.short(one["id"]), cli_text.line_of(one["title"]))
        for one in candidates
    ]
    numbered = len(document["shown"]) + NUMBERED
    for at, (one, line) in enumerate(zip(candidates, cli_text.aligned(rows), strict=True)):
        yield line
        yield from _details(one, with_numbers=at < numbered)
    more = len(document["candidates"]) - len(candidates)
    if more:
        yield f"and {more} more (all of them: --json)"
    yield from _meanings(one["reason"] for one in candidates)
    if document.get("exact"):
        yield ""
        yield (
            f"asked again with the keywords that were kept, as of event {document['exact']['seq']}; "
            "the prompt never is, so this may differ from what was shown:"
        )
        yield "  " + _outcome("shown now", document["exact"])
        yield from (f"  {line}".rstrip() for line in _told(document["exact"], ""))


def _outcome(word: str, document: dict[str, Any]) -> str:
    """Return what was shown, or that it was nothing, in a line."""
    return f"{word}: {cli_text.shorts(document['shown']) or 'nothing (' + str(document['silence'] or 'budget') + ')'}"


def _percent(parts: dict[str, Any]) -> str:
    chance = parts.get("probability")
    return "" if chance is None else f"{100 * chance:.0f} %".rjust(5)


def _details(one: dict[str, Any], *, with_numbers: bool) -> Iterator[str]:
    """Show which replaced learnings led to a candidate, and the numbers that are not 0."""
    if one["via"]:
        yield f"    found by the words of {cli_text.shorts(one['via'])}, which it replaced"
    line = ""
    for name, value in one["parts"].items() if with_numbers else ():
        part = f"{name} {value:g}"
        if name == "probability" or not value:
            continue
        if line and len(line) + len(part) > WIDTH:
            yield line
            line = ""
        line = f"{line}, {part}" if line else f"    {part}"
    if line:
        yield line


def _meanings(reasons: Iterable[str]) -> Iterator[str]:
    """Explain the words that stand in front of the candidates."""
    rows = [(reason, MEANINGS[reason]) for reason in dict.fromkeys(reasons) if reason in MEANINGS]
    if rows:
        yield ""
        yield from cli_text.aligned(rows)
