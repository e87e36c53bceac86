"""Choose what a prompt is shown, or say why nothing is.

This is the setting of recall, where silence is the normal answer; `Reader.query`
is that of a question somebody asked.
Lean path: stdlib only.
"""

from typing import TYPE_CHECKING, NamedTuple

from ledger import query
from ledger.answer import Hit

if TYPE_CHECKING:
    from ledger.reader import Reader

LIMIT_MAX = 3
"""Most learnings that one prompt is shown."""

TRUST_MIN = 2
"""Least trust of what is shown unasked."""

POOL = 20
"""Candidates that are looked at."""


class Held(NamedTuple):
    """A candidate that is not shown, and the one word that says why."""

    id: str
    reason: str


class Choice(NamedTuple):
    """What to show, best first; what was held back; the numbers behind both, by id.

    `silence` says why nothing is shown, None when something is.
    """

    shown: list[Hit]
    held: list[Held]
    parts: dict[str, dict[str, float | int]]
    silence: str | None
    versions: dict[str, str | int | None]
    keywords: list[str]


def choose(
    reader: "Reader",
    prompt: str,
    project: str | None,
    previous: str | None = None,
    seen: frozenset[str] = frozenset(),
    limit: int = LIMIT_MAX,
) -> Choice:
    """Return what `prompt` is shown; `seen` are the ids that this session was shown already."""
    asked = query.build(prompt)
    versions: dict[str, str | int | None] = {"ranker": 1, "gate": None, "tokens": None}
    if not asked.terms:
        return Choice([], [], {}, "trivial", versions, [])
    found = reader.query(prompt, project=project, trust=TRUST_MIN, limit=POOL).hits
    passing = [hit for hit in found if hit.score >= 8.0]
    shown = [hit for hit in passing if hit.id not in seen][:limit]
    kept = {hit.id for hit in shown}
    held = [Held(hit.id, _reason(hit, passing, seen)) for hit in found if hit.id not in kept]
    parts: dict[str, dict[str, float | int]] = {hit.id: {"score": hit.score} for hit in found}
    return Choice(shown, held, parts, None if shown else "gate", versions, list(asked.terms))


def _reason(hit: Hit, passing: list[Hit], seen: frozenset[str]) -> str:
    if hit not in passing:
        return "below-gate"
    return "shown-before" if hit.id in seen else "cap"
