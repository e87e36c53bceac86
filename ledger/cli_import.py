"""`learnings import`: read what is named into the ledger; `scan` (`cli_scan`) does it for what is found.

Importers are pure and know no ledger; `ingest` appends what they plan. A reading
is of one importer at one trust, so a call may make several batches, each of
which can be undone by itself.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.cli_progress import bar
from ledger.cli_text import short
from ledger.errors import BadArgument, BadInput
from ledger.model import TRUST_NOTES, schema_path, shortened

if TYPE_CHECKING:
    from importers.kinds import Importer
    from ledger.ledger import Ledger

EXAMPLE = "example"
"""Folder of the bundled notes, below `ledger_schema`."""

DEMO = "demo"
"""The invented project that the bundled notes speak of."""

SHOWN = 20
"""Most lines of diagnostics printed for people."""

AGAIN = Arg("--again", "also what was taken back by a person, or blocked by an erasure", is_flag=True)


@command(
    Arg("paths", "memory folders, single notes, transcripts, exports of a ledger, files of other memories", many="*"),
    Arg("--project", "the project of all of it (default: each place tells its own)"),
    Arg("--kind", "of files that hold rows: csv or jsonl (default: the name tells)", metavar="KIND"),
    Arg(
        "--map",
        "columns of the rows: problem=COL,solution=COL,title=…,category=…,project=…,tags=…,observed_at=…,id=…",
        metavar="FIELD=COL,…",
    ),
    Arg("--example", "import the bundled example notes", is_flag=True),
    AGAIN,
    DRY_RUN,
)
def import_paths(call: Call) -> Result:
    """Import what is new, supersede what was edited, retract what is gone; a second import adds nothing."""
    given = call.given
    if given.example:
        return imported(call, [*given.paths, schema_path(EXAMPLE)], given.project or DEMO)
    if not given.paths:
        raise BadArgument("there is no path to import; nothing was written", "name one, or use `learnings scan`")
    return imported(call, given.paths, given.project, _rows(call))


def _rows(call: Call) -> "Importer | None":
    """Return the importer of rows that `--kind` and `--map` ask for, None without either.

    Raises:
        BadArgument: one is missing, or no such.
    """
    given = call.given
    if given.map is None and given.kind is None:
        return None
    if given.map is None:
        raise BadArgument("the rows need a map of columns; nothing was written", "add --map problem=COL,solution=COL")
    from importers.registry import rows_by

    return rows_by(given.kind, given.map, given.paths)


def imported(call: Call, paths: list[str], project: str | None, rows: "Importer | None" = None) -> Result:
    """Read the paths and bring the ledger up to them."""
    from importers.contrary import Standing
    from importers.plan import plan, vanished
    from importers.registry import scan_paths
    from importers.transcript import into
    from ledger import capture, ingest, pairs, sessions_in
    from ledger.cli_said import booked
    from ledger.cli_sources import settled
    from ledger.turns_add import mark_of

    home = os.path.expanduser("~")
    how = {"again": call.given.again, "dry_run": call.given.dry_run}
    done = []
    with ExitStack() as held:
        # A ledger that is there says what need not be read; one that is not is made when something was read.
        known = held.enter_context(opened(call)) if os.path.exists(call.file) else None
        passing = ingest.seen_by(known) if known is not None and not call.given.again and rows is None else None
        book = None if call.given.dry_run else held.enter_context(booked(call, known, whole=call.given.again))
        with bar("reading") as progress, into(book):
            # The bundled notes are trusted alike wherever they are installed, inside a repository or not.
            bundled = os.path.realpath(schema_path(EXAMPLE))
            readings = [
                reading._replace(trust=TRUST_NOTES) if reading.paths == (bundled,) else reading
                for reading in scan_paths(paths, project, progress, home, rows=rows, seen=passing)
            ]
        ledger = known or held.enter_context(opened(call))
        held.enter_context(said_when_interrupted(call, ledger))
        seen, before = passing or ingest.seen_by(ledger), ledger.store.head().seq
        if not call.given.dry_run:
            done += settled(ledger)
        for reading in readings:
            for part in capture.by_hand(ledger, reading):
                with bar("recording") as progress:
                    one = sessions_in.run(ledger, part, plan, vanished, Standing, progress=progress, seen=seen, **how)
                done.append(one)
        if book is not None:
            seen.save()
            book.settle(mark_of(ledger))
        near = pairs.brought(ledger.reader, before)
    document = ingest.together(done) | {"near": near}
    said_aside(call, document)
    return Result(document, lambda: lines_of(call, document), status_of(paths, document))


def status_of(paths: list[str], document: dict[str, Any]) -> int:
    """Return the exit status: that of bad input when a file that was named cannot be taken at all, else 0."""
    from importers.files import REFUSALS, shown

    named = {_whole(shown(path)) for path in paths if not os.path.isdir(path)}
    is_refused = any(
        _whole(one["file"]) in named
        and one["code"] in REFUSALS
        and (one["line"] is None or one["code"] == "export-header")
        for one in document["diagnostics"]
    )
    return BadInput.exit_code if is_refused else 0


def _whole(path: str) -> str:
    """Return a path from the root on, however it was typed: a file that is not there is named as it was given."""
    return os.path.abspath(os.path.expanduser(path))


@contextmanager
def opened(call: Call) -> "Iterator[Ledger]":
    """Open the ledger; a dry run without one plans against an empty one that is thrown away."""
    if not call.given.dry_run or os.path.exists(call.file):
        with call.writing(create=True) as ledger:
            yield ledger
        return
    from ledger.ledger import Ledger

    with (
        TemporaryDirectory(prefix="learnings-import-") as folder,
        Ledger.init(os.path.join(folder, "ledger.db")) as ledger,
    ):
        yield ledger


@contextmanager
def said_when_interrupted(call: Call, ledger: "Ledger") -> "Iterator[None]":
    """Say what became of an import that Ctrl-C ended after its first transaction."""
    before = ledger.store.head().seq
    try:
        yield
    except KeyboardInterrupt:
        if ledger.store.head().seq > before:
            call.remark("what was imported so far stays; import again for the rest, or undo it (view `imports`)")
        raise


def said_aside(call: Call, document: dict[str, Any]) -> None:
    """Say what is no result: that nothing was written, what was masked, what could not be taken."""
    if call.given.dry_run:
        call.remark("dry run: nothing was written")
    for text in document["remarks"]:
        if "learnings undo --batch" not in text:
            call.remark(text)
    if document["masked"]:
        call.remark(f"secrets were masked in {document['masked']} of them")
    if document.get("near"):
        call.remark(_near(document["near"]))
    if not call.is_json:
        for text in _diagnostics(document["diagnostics"]):
            call.remark(text)


def _near(many: int) -> str:
    says = "1 of them says" if many == 1 else f"{many} of them say"
    return f"{says} what another learning says in near the same words: `learnings review`"


def _diagnostics(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield one line for each kind of remark on each file; the documents of `--json` have every one."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in found:
        alike.setdefault((one["file"], one["code"]), []).append(one)
    for (file, code), ones in list(alike.items())[:SHOWN]:
        at = file if ones[0]["line"] is None else f"{file}:{ones[0]['line']}"
        more = f", and {len(ones) - 1} more like it" if len(ones) > 1 else ""
        yield f"{at}: {ones[0]['message']} ({code}{more})"
    if len(alike) > SHOWN:
        yield f"{len(alike) - SHOWN} more such lines: --json has all of them"


COUNTS = (
    "recorded",
    "superseded",
    "retracted",
    "proposed",
    "quarantined",
    "unchanged",
    "skipped",
    "sources_added",
    "sources_removed",
    "restored",
)


def _count(number: int, words: str) -> str:
    return f"{number} {words.replace('sources', 'source') if number == 1 else words}"


def lines_of(call: Call, document: dict[str, Any]) -> Iterator[str]:
    """Yield what was done, and the strongest of what was inferred, which waits for a second session or a person."""
    yield line_of(call, document)
    yield from strongest(document["remedies"])


def strongest(remedies: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the strongest remedies that were found in transcripts, and where the rest is."""
    if remedies:
        yield f"the {len(remedies)} strongest of what mended failures (not shown unasked; all: `learnings review`):"
    for one in remedies:
        yield f"  {short(one['id'])}  {shortened(one['problem'])}"
        yield f"    → {shortened(one['solution'])}"


def line_of(call: Call, document: dict[str, Any]) -> str:
    """Return what was done in one line, with how to take it back."""
    counts = ", ".join(_count(document[key], key.replace("_", " ")) for key in COUNTS if document[key])
    hints = [call.typed("undo", "--batch", str(batch)) for batch in document["batches"]]
    undo = f"  (undo: {'; '.join(hints)})" if hints else ""
    return f"{'would have ' if call.given.dry_run else ''}imported: {counts or 'nothing'}{undo}"
