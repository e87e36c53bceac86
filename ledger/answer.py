"""What the read path answers: records whose field names are the JSON keys, and the caps they keep.

Pure. Nothing here is an instruction to whoever reads it; every record says what
kind of learning it shows (state, trust, times), and what was cut says so.
Lean path: stdlib only.
"""

import json
from typing import Any, NamedTuple

from ledger.model import plain

LIMIT_MAX = 50
"""Most hits of one answer."""

BODIES_MAX = 5
"""Most learnings fetched by id at once."""

TEXT_BYTES = 8_192
"""UTF-8 bytes of one hit's problem and solution together."""

PROBLEM_BYTES = 2_048
"""UTF-8 bytes that a problem keeps when problem and solution do not fit together."""

ANSWER_BYTES = 65_536
"""UTF-8 bytes of one answer as JSON."""

REPLACED_MAX = 10
"""Most learnings that a hit names as replaced, the latest ones."""


class Hit(NamedTuple):
    """One learning as it is served.

    `since` is when it was learned: what its source claims, or when it was
    recorded; `replaced` names the learnings it stands in for, last one first,
    as {id, title, since, until}; their titles are None unless superseded
    learnings were asked for. `fork` holds the other current learnings of the
    same chain, `via` the superseded ones whose words were found. `cut` names
    shortened fields. `parts` explains the score.
    """

    id: str
    title: str | None
    problem: str | None
    solution: str | None
    category: str
    project: str | None
    tags: list[str]
    state: str
    trust: int
    recorded_at: str
    supersedes: list[str]
    score: float
    observed_at: str | None
    confidence: str
    pinned: bool
    since: str
    replaced: list[dict[str, Any]]
    fork: list[str]
    via: list[str]
    cut: list[str]
    parts: dict[str, Any] | None


class Answer(NamedTuple):
    """Hits, best first. `truncated` is true when there were more, or a text was cut.

    `as_of` is the seq that was asked for; `plan` says which terms were looked for.
    """

    hits: list[Hit]
    truncated: bool
    as_of: int | None
    plan: dict[str, Any] | None


class Row(NamedTuple):
    """One learning in a list, without its texts."""

    id: str
    title: str | None
    category: str
    project: str | None
    state: str
    trust: int
    recorded_at: str
    seq: int


class Listing(NamedTuple):
    """Rows, newest first; `truncated` is true when older ones follow, from `before_seq` of the last row on."""

    rows: list[Row]
    truncated: bool


class Near(NamedTuple):
    """A current learning that says something similar; `score` is the share of what was asked, 0 to 1."""

    id: str
    title: str | None
    score: float


class Conflict(NamedTuple):
    """A current learning on one subject with other values, as {kind, stored, given} for every kind that differs."""

    id: str
    title: str | None
    solution: str | None
    differs: list[dict[str, Any]]


class HistoryEvent(NamedTuple):
    """One event that touches a learning.

    `undone_by` is the seq of the undo that holds now, `erased_by` that of the event
    that erased its texts; None when there is none.
    """

    seq: int
    kind: str
    recorded_at: str
    actor_kind: str
    channel: str
    trust: int
    undone_by: int | None
    reason: str | None
    batch: int | None
    stream: str
    erased_by: int | None = None


def shortened(text: str, size: int) -> str:
    """Return `text` within `size` UTF-8 bytes, never ending inside a character."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= size else raw[: size - 3].decode("utf-8", "ignore") + "…"


def capped(hit: Hit) -> Hit:
    """Return `hit` with problem and solution within `TEXT_BYTES`, and what was cut named."""
    problem, solution = hit.problem or "", hit.solution or ""
    if len(problem.encode()) + len(solution.encode()) <= TEXT_BYTES:
        return hit
    if len(problem.encode()) > PROBLEM_BYTES:
        room = max(PROBLEM_BYTES, TEXT_BYTES - len(solution.encode()))
        problem = shortened(problem, room)
    solution = shortened(solution, TEXT_BYTES - len(problem.encode()))
    changed = {"problem": (hit.problem, problem), "solution": (hit.solution, solution)}
    cut = [name for name, (before, after) in changed.items() if before != after]
    return hit._replace(problem=problem, solution=solution, cut=cut)


def fitting(hits: list[Hit]) -> list[Hit]:
    """Return the first hits that fit in one answer of `ANSWER_BYTES`."""
    left = ANSWER_BYTES - 1_024
    shown: list[Hit] = []
    for hit in hits:
        left -= len(json.dumps(plain(hit), ensure_ascii=False).encode()) + 2
        if left < 0:
            break
        shown.append(hit)
    return shown


class Summary(NamedTuple):
    """The newest summary of a project's sessions; `covers_from` and `covers_to` are times, None when not told."""

    seq: int
    session: str
    project: str
    text: str
    covers_from: str | None
    covers_to: str | None
    recorded_at: str
    trust: int
