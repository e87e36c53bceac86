"""Look at the client's own memory: which entries of its indexes it does not load, and what is not true any more.

Read-only, through no link, at most a megabyte of each file.
"""

import os
from collections.abc import Iterator

from ledger import own_copy
from ledger import setup_clients as clients
from ledger.cliff import LINES, UNITS, Cliff, cliff
from ledger.doctor_check import Around, Check, fine, listed, many, remark
from ledger.reader import Reader
from ledger.redact import scrub

INDEX = "MEMORY.md"
NOTE_BYTES = 1_048_576
INDEXES_MAX, ENTRIES_SHOWN, ENTRY_CHARS = 1_000, 3, 60
LINES_SHOWN = 8


def checks(around: Around) -> Iterator[Check]:
    """Yield what is to be said of the memory indexes of every project and agent."""
    found = [(path, cliff(text)) for path in _indexes(around) if (text := _text(path))]
    over = [_told(around.shown(path), one) for path, one in found if one.first_cut is not None]
    if over:
        yield remark(
            "cliff",
            f"the client loads {LINES} lines or {UNITS:,} UTF-16 units of an index: {listed(over)}; `learnings scan` "
            "imports all of it, and `learnings compact` then moves entries into a note beside it, after showing which",
        )
    else:
        yield fine("cliff", f"{many(len(found), 'index file')} loaded whole" if found else "there is no memory index")


def contradictions(around: Around, reader: Reader) -> Iterator[Check]:
    """Yield which lines of instructions and notes still say what was superseded or retracted."""
    files = own_copy.instructions(around.folder, around.home)
    files += own_copy.notes(os.path.dirname(path) for path in _indexes(around))
    found = own_copy.contradictions(reader, files)
    if not found:
        yield fine("contradictions", f"{many(len(files), 'file')} of the client say nothing that was taken back")
        return
    lines = [
        f"{around.shown(one.file)}:{one.line} ({one.learning[:12]}… "
        + (f"replaced by {one.heads[0][:12]}…)" if one.heads else f"{one.state})")
        for one in found
    ]
    yield remark(
        "contradictions",
        f"the client goes on loading what is not true any more: {listed(lines, LINES_SHOWN)}; correct them by hand "
        "(`learnings history ID` says why)",
    )


def _told(shown: str, one: Cliff) -> str:
    """Name what lies past the cliff: from which line on, how many entries, and the first of them."""
    entries = [f"{entry.line} {scrub(entry.text[:ENTRY_CHARS]).text!r}" for entry in one.cut[:ENTRIES_SHOWN]]
    more = f" and {len(one.cut) - ENTRIES_SHOWN} more" if len(one.cut) > ENTRIES_SHOWN else ""
    return f"{shown} from line {one.first_cut} on ({one.limit}): {'; '.join(entries)}{more}"


def _indexes(around: Around) -> list[str]:
    """Return the indexes of projects and agents, by path."""
    settings = clients.places("claude-code", around.home, around.env, around.platform)["hooks"]
    client = os.path.dirname(settings)
    found = [os.path.join(one, "memory", INDEX) for one in _folders(os.path.join(client, "projects"))]
    found += [os.path.join(one, INDEX) for one in _folders(os.path.join(client, "agent-memory"))]
    return [path for path in found if os.path.isfile(path)][:INDEXES_MAX]


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as listing:
            return sorted(entry.path for entry in listing if entry.is_dir())
    except OSError:
        return []


def _text(path: str) -> str:
    from ledger.home import head_text

    return head_text(path, NOTE_BYTES)
