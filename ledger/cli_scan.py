"""`learnings scan`: find what other tools and agents have kept, and bring the ledger up to it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ledger import cli_text
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.cli_import import (
    AGAIN,
    DEMO,
    EXAMPLE,
    imported,
    lines_of,
    opened,
    said_aside,
    said_when_interrupted,
    status_of,
)
from ledger.cli_progress import bar
from ledger.cli_sources import (
    EXCLUDED,
    FAILED,
    NOTES,
    PLACES,
    Chosen,
    Pass,
    bring,
    listed,
    narrowed,
    others,
    sources_of,
    told,
    usual,
)
from ledger.cli_when import ago, before
from ledger.errors import BadArgument, BadInput
from ledger.home import client_folder
from ledger.model import schema_path

if TYPE_CHECKING:
    from importers.registry import Place
    from ledger.ledger import Ledger


@command(
    Arg("--add", "also read this file or folder, now and from now on", many="each", metavar="PATH"),
    Arg("--forget", "do not read this any more; what it said stays", many="each", metavar="PATH"),
    Arg("--only", "read only this kind, or what this path means", many="each", metavar="KIND|PATH"),
    Arg("--exclude", "leave out this kind, path or glob, this time", many="each", metavar="KIND|GLOB"),
    Arg("--since", "only files changed, and items observed, since a date or within 30d, 12h", kind=before),
    Arg("--idle", "only sessions that have rested this long (30m), and what hooks left of them", kind=ago),
    Arg("--or-example", "import the bundled example notes when nothing is found", is_flag=True),
    AGAIN,
    DRY_RUN,
)
def scan(call: Call) -> Result:
    """Import what memory tools and agents of this user keep in their usual places, what was added and imported."""
    if call.given.idle is not None:
        from ledger.cli_sweep import sweep

        return sweep(call)
    chosen = Chosen(tuple(call.given.only), tuple(call.given.exclude), call.given.since)
    _check_paths(call)
    places = usual(call)
    with _opened(call, places) as ledger:
        undos = list(_remembered(call, ledger, places)) if ledger is not None else []
        sources = _found(call, ledger, places)
        chosen = chosen._replace(excluded=(*chosen.excluded, *_left_out(call, ledger)))
        taken = [source for source in sources if chosen.takes(source)]
        for text in undos:
            call.remark(text)
        if not taken or ledger is None:
            return _nothing(call, sources)
        return brought(call, ledger, taken, chosen)


@contextmanager
def _opened(call: Call, places: "list[Place]") -> "Iterator[Ledger | None]":
    """Open the ledger; none is made when there is nothing to put into it."""
    if not (places or call.given.add or os.path.exists(call.file)):
        yield None
        return
    with opened(call) as ledger:
        yield ledger


def _found(call: Call, ledger: "Ledger | None", places: "list[Place]") -> "list[Place]":
    """Return every source there is, and say how many memory folders are among them."""
    home = os.path.expanduser("~")
    own = client_folder(home)
    shown = "~/.claude" if own == os.path.join(home, ".claude") else own
    inside = os.path.join(own, "")
    notes = [source for source in places if source.kind == NOTES and source.path.startswith(inside)]
    call.remark(f"{len(notes)} memory folders found below {shown}")
    more = [] if ledger is None else others(ledger)
    return sources_of(places, [*more, *(map(_named, call.given.add) if call.given.dry_run else ())])


def _left_out(call: Call, ledger: "Ledger | None") -> list[str]:
    held = listed(ledger.reader, ledger.path, EXCLUDED) if ledger is not None else []
    if call.given.dry_run:
        held = [path for path in held if path not in map(_named, call.given.add)]
        held += map(_named, call.given.forget)
    return held


def _nothing(call: Call, sources: "list[Place]") -> Result:
    """Answer when nothing is to be read."""
    if sources:
        kinds = sorted({source.kind or "added" for source in sources})
        hint = f"found were: {', '.join(kinds)}; look at `--only`, `--exclude` and `--since`, and at `learnings config`"
        raise BadArgument("every source is left out; nothing was read", hint)
    if call.given.or_example:
        call.remark("the bundled example is imported instead")
        return imported(call, [schema_path(EXAMPLE)], DEMO)
    raise BadArgument("there is nothing to scan; nothing was written", "name a folder: `learnings import PATH`")


# -- what is remembered ----------------------------------------------------------------------------------------------


def _named(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _check_paths(call: Call) -> None:
    for path in call.given.add:
        if not os.path.exists(_named(path)):
            raise BadArgument(f"no such file or folder: {path}; nothing was written", "check the path")


def _remembered(call: Call, ledger: "Ledger", places: "list[Place]") -> Iterator[str]:
    """Add to the places of this machine, and take from them; yield how to take that back."""
    for name, value in _wished(call, ledger, places).items():
        changed = ledger.set(name, json.dumps(value, ensure_ascii=False), machine=True, dry_run=call.given.dry_run)
        if not call.given.dry_run:
            yield f"{name} is {json.dumps(value, ensure_ascii=False)} on this machine  {call.undo_hint(changed.seq)}"


def _wished(call: Call, ledger: "Ledger", places: "list[Place]") -> dict[str, list[str]]:
    """Return the values that the two settings are to have on this machine, of those that change."""
    added, forgotten = [_named(path) for path in call.given.add], [_named(path) for path in call.given.forget]
    own = {name: listed(ledger.reader, ledger.path, name, is_own=True) for name in (PLACES, EXCLUDED)}
    known = {source.path for source in sources_of(places, ledger.reader.imported_paths())}
    known |= set(listed(ledger.reader, ledger.path, PLACES)) - set(own[PLACES])
    for path in forgotten:
        if path not in (*own[PLACES], *own[EXCLUDED], *known, *added):
            raise BadArgument(f"{path} is not scanned; nothing was written", "`learnings scan --dry-run` lists what is")
    left_out = [path for path in forgotten if path in known]
    wished = {
        PLACES: [path for path in dict.fromkeys([*own[PLACES], *added]) if path not in forgotten],
        EXCLUDED: [path for path in dict.fromkeys([*own[EXCLUDED], *left_out]) if path not in added],
    }
    return {name: value for name, value in wished.items() if value != own[name]}


# -- reading and recording -------------------------------------------------------------------------------------------


def brought(call: Call, ledger: "Ledger", sources: "list[Place]", chosen: Chosen) -> Result:
    """Read sources and bring the ledger up to them."""
    from ledger import pairs

    given, before = call.given, ledger.store.head().seq
    how = Pass(lambda reading: narrowed(reading, chosen), chosen.since, given.again, given.dry_run, bar, call.remark)
    with said_when_interrupted(call, ledger):
        done, rows = bring(ledger, sources, how)
    document: dict[str, Any] = told(done) | {"sources": rows}
    document["near"] = pairs.brought(ledger.reader, before)
    said_aside(call, document)
    named = [*map(_named, given.add), *(source.path for source in sources if not source.kind)]
    status = status_of(named, document)
    if any(one["code"] == FAILED for one in document["diagnostics"]):
        status = BadInput.exit_code
    return Result(document, lambda: _lines(call, document), status)


def _lines(call: Call, document: dict[str, Any]) -> Iterator[str]:
    """Yield the table of a dry run, and what was done, or would be."""
    if call.given.dry_run:
        yield from table(document["sources"])
    yield from lines_of(call, document)


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the sources as a table with a heading."""
    names = ("kind", "items", "new", "changed", "gone", "path")
    cells = [tuple(_cell(row, name) for name in names) for row in rows]
    yield from cli_text.aligned([names, *cells])


def _cell(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if name == "path":
        home = os.path.expanduser("~")
        return "~" + value[len(home) :] if value.startswith(os.path.join(home, "")) else str(value)
    return f"{value:,}" if isinstance(value, int) else value or "–"
