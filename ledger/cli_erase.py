"""`learnings erase`: destroy a text for ever, for privacy; and `learnings backup`, whose copies an erasure reaches.

What would go is shown first, by seq and kind and never by its text, and a person
is asked. A text to look for comes over standard input alone: arguments stay in
the shell's history and are seen by every process.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ledger import cli_text
from ledger.cli_call import DRY_RUN, EVENT_ID, Arg, Call, Result, command, number, texts
from ledger.cli_read import whole_id
from ledger.errors import BadArgument
from ledger.model import plain

if TYPE_CHECKING:
    from ledger.erase import Erased

KINDS = {
    "ledger": "of the ledger itself", "backup": "a backup", "export": "an export", "source": "read from there",
    "transcript": "a transcript", "mended": "a file as it was before it was mended",
    "temporary": "left by a run that was killed",
}  # fmt: skip
"""What a file that still holds the text is, for people."""


@command(
    Arg("what", "what has to go: the seq of an event, or a learning by its id", many="*"),
    Arg("--reason", "secret, personal or legal"),
    Arg("--text", "`-` reads from standard input a text that goes wherever it stands, one a line"),
    Arg("--again", "finish what is not done, and erase here what an older copy brought back", is_flag=True),
    Arg("--yes", "erase without asking", is_flag=True),
    EVENT_ID,
    DRY_RUN,
)
def erase(call: Call) -> Result:
    """Destroy texts: secrets and personal data, never what is only wrong. Nothing takes this back."""
    given = call.given
    if given.again:
        return _again(call)
    named, reason = [_named(word) for word in given.what], _reason(given.reason)
    looked_for = _looked_for(given.text)
    from ledger import erase as erasing
    from ledger.cli_mend import files
    from ledger.cli_progress import busy

    with call.writing() as ledger:
        whole = [one if isinstance(one, int) else whole_id(ledger.reader, one) for one in named]
        loaded = files()
        if given.dry_run or not given.yes:
            with busy("looking for copies"):
                plan = erasing.erase(ledger, whole, reason, looked_for, files=loaded, dry_run=True)
            if given.dry_run or not _is_wanted(call, plan):
                call.remark("dry run: nothing was erased" if given.dry_run else "nothing was erased")
                return _result(call, plan, is_done=False)
        with busy("erasing"):
            done = erasing.erase(ledger, whole, reason, looked_for, files=loaded, event_id=given.event_id)
    return _result(call, done)


def _again(call: Call) -> Result:
    from ledger import erase as erasing
    from ledger.cli_progress import busy

    if call.given.what or call.given.text or call.given.dry_run:
        raise BadArgument("--again names nothing; nothing was erased", "run `learnings erase --again` alone")
    with call.writing() as ledger, busy("erasing"):
        return _result(call, erasing.again(ledger))


def _named(word: str) -> int | str:
    return number(word) if word.isascii() and word.isdigit() else word


def _reason(reason: str | None) -> str:
    if reason is None:
        raise BadArgument("an erasure has a reason; nothing was erased", "--reason secret, personal or legal")
    return reason


def _looked_for(typed: str | None) -> list[str]:
    if typed is None:
        return []
    if typed != "-":
        raise BadArgument(
            "a text to look for is read from standard input; nothing was erased",
            "write --text - and pipe it in: what is typed as an argument stays in the shell's history",
        )
    return [line.strip() for line in texts("-")[0].splitlines() if line.strip()]


def _is_wanted(call: Call, plan: "Erased") -> bool:
    """Show what would go and ask; nobody who cannot be asked erases without --yes.

    Raises:
        BadArgument: nobody can be asked here.
    """
    if not plan.erased:
        return True
    if call.is_json or call.given.text or sys.stdin is None or not sys.stdin.isatty() or sys.stderr is None:
        raise BadArgument(
            f"{cli_text.counted(len(plan.erased), 'text')} would go for ever and nobody can be asked here; "
            "nothing was erased",
            "look with --dry-run, then say --yes",
        )
    for line in _rows(plan):
        sys.stderr.write(f"  {line}\n")
    for text in plan.remarks:
        call.remark(text)
    sys.stderr.write(f"erase {cli_text.counted(len(plan.erased), 'text')} for ever? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _result(call: Call, done: "Erased", *, is_done: bool = True) -> Result:
    document: dict[str, Any] = plain(done if is_done else done._replace(seq=None))
    for text in done.remarks:
        call.remark(text)
    if is_done and done.blocked:
        places = cli_text.counted(done.blocked, "place")
        call.remark(
            f"scans skip {places} that it was read from: once the files say it no more, "
            "`learnings import --again` with their path follows them again"
        )
    if done.pending:
        call.remark("pending: the file's bytes are not all gone yet")
    if done.instead is not None and is_done:
        call.remark("to record it again without that text: " + _typed(call, done.instead))

    def lines() -> Iterator[str]:
        where = f" by event {done.seq}" if is_done and done.seq is not None else ""
        yield f"{'erased' if is_done else 'would erase'} {cli_text.counted(len(done.erased), 'text')}{where}"
        yield from (f"  {line}" for line in _rows(done))
        if done.still_in:
            yield "still in these files, which are yours to clean:"
            yield from cli_text.aligned([(f"  {one.path}", KINDS[one.kind]) for one in done.still_in])

    return Result(document, lines)


def _rows(done: "Erased") -> Iterator[str]:
    return cli_text.aligned([
        (f"event {one.seq}", one.kind, cli_text.short(one.stream)) for one in done.events
    ])  # fmt: skip


def _typed(call: Call, instead: dict[str, Any]) -> str:
    import shlex

    words = [part for name, text in instead.items() for part in (f"--{name}", shlex.quote(str(text)))]
    return call.typed("record", *words)


@command(Arg("path", "the file to write, which may not be there yet; 0600"), DRY_RUN)
def backup(call: Call) -> Result:
    """Copy the ledger into one file, whole, verified, with its anchor beside it."""
    from ledger import backup as backing
    from ledger.cli_progress import bar

    with call.writing() as ledger, bar("copying") as progress:
        done = backing.backup(ledger, call.given.path, progress, dry_run=call.given.dry_run)
    for text in done.remarks:
        call.remark(text)
    if call.given.dry_run:
        call.remark("dry run: nothing was written")
    verb, size = "would have written" if call.given.dry_run else "wrote", f"{done.bytes:,} bytes"
    line = f"{verb} {done.path} at event {done.seq} ({size}{'' if call.given.dry_run else ', verified'})"
    return Result(plain(done), lambda: [line])
