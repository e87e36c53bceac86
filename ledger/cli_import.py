"""Commands that read notes into the ledger: `import scan`.

Importers are pure and know no ledger; `ingest` appends what they plan. A reading
is of one importer at one trust, so a call may make several batches, each of
which can be undone by itself.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.cli_progress import bar
from ledger.cli_read import settings
from ledger.cli_text import short
from ledger.errors import BadArgument, BadInput
from ledger.home import client_folder
from ledger.model import TRUST_NOTES, Reading, schema_path, shortened

if TYPE_CHECKING:
    from ledger.capture import Notes
    from ledger.ingest import Imported
    from ledger.ledger import Ledger

EXAMPLE = "example"
"""Folder of the bundled notes, below `ledger_schema`."""

DEMO = "demo"
"""The invented project that the bundled notes speak of."""

SHOWN = 20
"""Most lines of diagnostics printed for people."""

PLACES = "scan_paths"
"""The setting with more places to scan."""

AGAIN = Arg("--again", "also what was taken back by a person, or blocked by an erasure", is_flag=True)


@command(
    Arg(
        "paths",
        "memory folders, single notes, transcripts, exports of a ledger, databases and exports of claude-mem",
        many="*",
    ),
    Arg("--project", "the project of all of it (default: each place tells its own)"),
    Arg("--example", "import the bundled example notes", is_flag=True),
    AGAIN,
    DRY_RUN,
)
def import_paths(call: Call) -> Result:
    """Import what is new, supersede what was edited, retract what is gone; a second import adds nothing."""
    given = call.given
    if given.example:
        return _imported(call, [*given.paths, schema_path(EXAMPLE)], given.project or DEMO)
    if not given.paths:
        raise BadArgument("there is no path to import; nothing was written", "name one, or use `learnings scan`")
    return _imported(call, given.paths, given.project)


@command(
    Arg("--or-example", "import the bundled example notes when no memory folder is found", is_flag=True),
    AGAIN,
    DRY_RUN,
)
def scan(call: Call) -> Result:
    """Import notes and transcripts of this user's client, what was imported before, and the places of `scan_paths`."""
    from importers import sessions
    from importers.kinds import Where
    from importers.registry import default_places

    home = os.path.expanduser("~")
    places = default_places(home)
    own = client_folder(home)
    shown = "~/.claude" if own == os.path.join(home, ".claude") else own
    call.remark(f"{len(places)} memory folders found below {shown}")
    spoken = sessions.places(Where(home))
    if spoken:
        call.remark(f"transcripts of {len(spoken)} folders found there")
    places += [*spoken, *_more_places(call)]
    if places:
        return _imported(call, places, None)
    if call.given.or_example:
        call.remark("the bundled example is imported instead")
        return _imported(call, [schema_path(EXAMPLE)], DEMO)
    raise BadArgument("there is nothing to scan; nothing was written", "name a folder: `learnings import PATH`")


def _more_places(call: Call) -> list[str]:
    """Return the places that settings name, and those that were imported before and are still there."""
    import json

    if not os.path.exists(call.file):
        return []
    with call.reading() as reader:
        found = [setting for setting in settings(reader) if setting["name"] == PLACES]
        before = reader.imported_paths()
    named = [path for setting in found for path in json.loads(setting["value"])]
    return named + [path for path in before if os.path.exists(path)]


def _imported(call: Call, paths: list[str], project: str | None) -> Result:
    """Read the paths and bring the ledger up to them."""
    from importers.contrary import Standing
    from importers.plan import plan, vanished
    from importers.registry import read_note, scan_paths
    from ledger import capture, ingest, sessions_in

    home = os.path.expanduser("~")

    # What is wrong with the arguments is said before a ledger is made for them.
    is_there = any(os.path.lexists(os.path.expanduser(path)) for path in paths)
    scan_paths([] if is_there else paths, project, None, home)

    def read() -> list[Reading]:
        # The bundled notes are trusted alike wherever they are installed, inside a repository or not.
        bundled = os.path.realpath(schema_path(EXAMPLE))
        with bar("reading") as progress:
            return [
                reading._replace(trust=TRUST_NOTES) if reading.paths == (bundled,) else reading
                for reading in scan_paths(paths, project, progress, home)
            ]

    how = {"again": call.given.again, "dry_run": call.given.dry_run}
    done = []
    with _ledger(call) as ledger, _said_when_interrupted(call, ledger), _kept_turns(call, ledger):
        readings = read()
        if not call.given.dry_run:
            done += _settled(ledger, capture.Notes(lambda path: read_note(path, home), plan, vanished), home)
        for reading in readings:
            for part in capture.by_hand(ledger, reading):
                with bar("recording") as progress:
                    done.append(sessions_in.run(ledger, part, plan, vanished, Standing, progress=progress, **how))
    document = ingest.together(done)
    _say_aside(call, document)
    return Result(document, lambda: _lines(call, document), _status(paths, document))


def _status(paths: list[str], document: dict[str, Any]) -> int:
    """Return the exit status: that of bad input when a file that was named cannot be taken at all, else 0."""
    from importers.files import REFUSALS, shown

    named = {shown(os.path.abspath(os.path.expanduser(path))) for path in paths if not os.path.isdir(path)}
    is_refused = any(
        one["file"] in named and one["code"] in REFUSALS and (one["line"] is None or one["code"] == "export-header")
        for one in document["diagnostics"]
    )
    return BadInput.exit_code if is_refused else 0


def _settled(ledger: "Ledger", notes: "Notes", home: str) -> "list[Imported]":
    """Do first what hooks have left to be done: it tells whose words the notes hold."""
    from importers.projects import project_of
    from ledger import capture

    return capture.settle(ledger, notes, home, project_of).imported


@contextmanager
def _ledger(call: Call) -> "Iterator[Ledger]":
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
def _kept_turns(call: Call, ledger: "Ledger") -> "Iterator[None]":
    """Let transcripts go into the session index as they are read; a dry run keeps nothing and reads them whole."""
    from importers.transcript import into
    from ledger.cli_said import booked

    if call.given.dry_run:
        yield
        return
    with booked(call, ledger, whole=call.given.again) as book, into(book):
        yield


@contextmanager
def _said_when_interrupted(call: Call, ledger: "Ledger") -> "Iterator[None]":
    """Say what became of an import that Ctrl-C ended after its first transaction."""
    before = ledger.store.head().seq
    try:
        yield
    except KeyboardInterrupt:
        if ledger.store.head().seq > before:
            call.remark("what was imported so far stays; import again for the rest, or undo it (view `imports`)")
        raise


def _say_aside(call: Call, document: dict[str, Any]) -> None:
    if call.given.dry_run:
        call.remark("dry run: nothing was written")
    for text in document["remarks"]:
        if "learnings undo --batch" not in text:
            call.remark(text)
    if document["masked"]:
        call.remark(f"secrets were masked in {document['masked']} of them")
    if not call.is_json:
        for text in _diagnostics(document["diagnostics"]):
            call.remark(text)


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


def _lines(call: Call, document: dict[str, Any]) -> Iterator[str]:
    """Yield what was done, and the strongest of what was inferred, which waits for a second session or a person."""
    yield _line(call, document)
    yield from strongest(document["candidates"])


def strongest(candidates: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the strongest remedies that were found in transcripts, and where the rest is."""
    if candidates:
        yield f"the {len(candidates)} strongest of what mended failures (not shown unasked; all: `learnings review`):"
    for one in candidates:
        yield f"  {short(one['id'])}  {shortened(one['problem'])}"
        yield f"    → {shortened(one['solution'])}"


def _line(call: Call, document: dict[str, Any]) -> str:
    """Return what was done in one line, with how to take it back."""
    counts = ", ".join(_count(document[key], key.replace("_", " ")) for key in COUNTS if document[key])
    hints = [call.typed("undo", "--batch", str(batch)) for batch in document["batches"]]
    undo = f"  (undo: {'; '.join(hints)})" if hints else ""
    return f"{'would have ' if call.given.dry_run else ''}imported: {counts or 'nothing'}{undo}"
