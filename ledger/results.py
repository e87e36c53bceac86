"""What the commands answer. The field names are the keys of `--json` and of the MCP tools."""

from typing import Any, NamedTuple

from ledger.answer import Conflict, Near


class Recorded(NamedTuple):
    """Answer of `record` and `propose`: `duplicate` means the text was there already and nothing was written."""

    id: str
    seq: int
    state: str
    near: list[Near]
    conflicts: list[Conflict]
    duplicate: bool
    supersedes: list[str]
    redacted: list[str]
    remarks: list[str]


class Loaded(NamedTuple):
    """A line of a file that still says what was superseded."""

    file: str
    line: int


class Superseded(NamedTuple):
    """Answer of `supersede`; `supersedes` is empty when the new learning became a candidate."""

    id: str
    seq: int
    supersedes: list[str]
    state: str
    still_loaded: list[Loaded]
    near: list[Near]
    conflicts: list[Conflict]
    redacted: list[str]
    remarks: list[str]


class Changed(NamedTuple):
    """Answer of the commands that change one learning's state."""

    id: str
    seq: int
    state: str
    still_loaded: list[Loaded]
    remarks: list[str]


class Judged(NamedTuple):
    """Answer of `wrong`: the verdict on an exposure or on one learning of it, and what replaced that learning.

    `batch` takes back both at once; None when nothing was replaced.
    """

    exposure: str
    seq: int
    verdict: str
    learning: str | None
    superseded_by: str | None
    batch: int | None
    still_loaded: list[Loaded]
    redacted: list[str]
    remarks: list[str]


class Summarised(NamedTuple):
    """Answer of `summarise`; `id` and `seq` are None when nothing was kept, and a remark says why.

    `duplicate` means the session's summary said this already; `echoes` are the
    learnings whose recalled text was left out of it.
    """

    id: str | None
    seq: int | None
    project: str
    text: str
    duplicate: bool
    echoes: list[str]
    redacted: list[str]
    remarks: list[str]


class Undone(NamedTuple):
    """Answer of `undo`: the events it took back, those it brought back, and the streams it touched."""

    seq: int
    undone: list[int]
    redone: list[int]
    streams: list[str]
    remarks: list[str]


class Problem(NamedTuple):
    """Something `verify` found: a word for it, the seq it concerns (None for the file), and a sentence."""

    code: str
    seq: int | None
    message: str


class Verdict(NamedTuple):
    """Answer of `verify`; `head` is where the log ends, its hash hexadecimal."""

    ok: bool
    events: int
    erased: int
    head: dict[str, Any]
    problems: list[Problem]
    remarks: list[str]
