"""`learnings guard`: grade the guards on lines of one's own; nothing is stored, and no ledger is needed."""

import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ledger import cli_text, redact, screen
from ledger.cli_call import Arg, Call, Result, command, stdin
from ledger.errors import BadArgument, BadInput, FileFault, Unwell

LINE_BYTES = 8_388_608
"""Most bytes of one line; a longer one is reported, and not graded."""


@command(
    Arg("guard", "redact: replace secrets; screen: say which texts would be withheld"),
    Arg("path", "a file of JSON lines, each with `id` and `text`; - is standard input"),
)
def guard(call: Call) -> Result:
    """Answer every line of a file by its id, as JSON lines, and report the lines that cannot be graded."""
    if call.given.guard not in GUARDS:
        raise BadArgument("that is no guard; nothing was done", "learnings guard redact|screen FILE.jsonl")
    answers: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    with _opened(call.given.path) as file:
        for number, line in _lines(file):
            try:
                answers.append(_answer(GUARDS[call.given.guard], line))
            except Exception as error:  # noqa: BLE001 - whatever fails at one line, its neighbours are graded
                reason = str(error) if isinstance(error, BadInput) else f"the guard failed ({type(error).__name__})"
                bad.append({"line": number, "reason": reason})
                call.remark(f"line {number}: {reason}; it was left out")
    document = {"guard": call.given.guard, "answers": answers, "bad": bad}
    return Result(document, lambda: map(json.dumps, answers), BadInput.exit_code if bad else 0, is_exact=True)


def _opened(path: str) -> BinaryIO:
    if path == "-":
        return stdin()
    try:
        return open(path, "rb")
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise FileFault(f"{path} cannot be read ({reason}); nothing was graded", "name a file of JSON lines") from None


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers; of one that is too long, its beginning."""
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            while (rest := file.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                continue
        if line.strip():
            yield number, line


def _answer(way: Callable[[str], dict[str, Any]], line: bytes) -> dict[str, Any]:
    """Return the answer to one line.

    Raises:
        BadInput: it is not {id, text}.
    """
    if len(line) > LINE_BYTES:
        raise BadInput(f"it has more than {LINE_BYTES:,} bytes")
    try:
        given = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        raise BadInput("it is no JSON in UTF-8") from None
    if not isinstance(given, dict) or type(given.get("id")) not in (str, int) or not isinstance(given.get("text"), str):
        raise BadInput("it has no `id` (a text or a whole number) or no `text`")
    return {"id": given["id"], **way(given["text"])}


def _redacted(text: str) -> dict[str, Any]:
    return {"output": redact.scrub(text).text}


def _screened(text: str) -> dict[str, Any]:
    """Return the first finding, as everything that is stored is screened: after its secrets are gone."""
    found = screen.screen(redact.scrub(text).text)
    if not found:
        return {"verdict": "keep", "rule": None, "reason": None}
    return {"verdict": "quarantine", "rule": found[0].rule, "reason": found[0].reason}


def scanned(call: Call) -> Result:
    """Say where an older set of rules let a secret through, and what erases it; no secret is printed."""
    from ledger import rescan
    from ledger.cli_progress import busy

    with call.reading() as reader, busy("looking for secrets"):
        done = rescan.scan(reader)
        rescan.keep_mark(reader.path, reader.meta()["ledger_id"], done)
    erase = call.typed("erase", *map(str, done.seqs), "--reason", "secret", "--yes") if done.seqs else None
    document = {
        "ok": not done.found,
        "rules": done.version,
        "rules_before": done.before,
        "events": done.events,
        "found": [one._asdict() for one in done.found],
        "unread": done.unread,
        "erase": erase,
    }
    for name in done.unread:
        call.remark(f"{name} could not be read; it was not looked at")
    if erase is not None:
        call.remark(
            f"erase it with `{erase}`, then have each secret replaced where it is valid: erasing revokes nothing"
        )
    if any(one.seq is None for one in done.found):
        call.remark("files beside the ledger hold more than their next use will mask: what is named may be deleted")
    return Result(document, lambda: _told(document), Unwell.exit_code if done.found else 0)


def _told(document: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{'ok' if document['ok'] else 'not ok'}: {cli_text.counted(document['events'], 'event')} and the files beside "
        f"the ledger, by rule set {document['rules']}"
    )
    rows = [
        (one["place"], f"event {one['seq']}" if one["seq"] else one["id"], one["field"], ", ".join(one["kinds"]))
        for one in document["found"]
    ]
    yield from cli_text.aligned(rows)


GUARDS = {"redact": _redacted, "screen": _screened}
