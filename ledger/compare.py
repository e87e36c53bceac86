"""Find what the ledger already says about the subject of a new learning.

`near` answers "is this known?", `conflicts` "does something else claim the
place?", so that the caller may supersede instead of recording beside.
Lean path: stdlib only.
"""

import json
from typing import TYPE_CHECKING

from ledger import hits, query, rank, search, sql
from ledger.answer import Conflict, Near
from ledger.search import Match, Scope, Stems

if TYPE_CHECKING:
    from ledger.reader import Reader

NEAR_SHARE = 0.4
"""Least share of what the words of a text tell that another must hold to count as similar."""

POOL = 20
"""Candidates that are compared value by value."""

CONFLICTS_MAX = 5
"""Most conflicts that are reported."""

SAME_NAMES = 2
"""Identifiers that two problems must share to be about one subject, when their titles differ."""

Texts = tuple[str, str, str]
"""Title, problem and solution."""


def near(reader: "Reader", stems: Stems, texts: Texts, project: str, limit: int) -> list[Near]:
    """Return current learnings of the project, or everywhere, that hold much of what `texts` say."""
    found, told = _candidates(reader, stems, " ".join(texts), project)
    rows = hits.learnings(reader.rows, [match.seq for match in found], sql.NOW)
    similar = [
        Near(match.id, rows[match.seq][2], round(share, 4))
        for match in found
        if (share := sum(told[term] for term in match.by_term) / sum(told.values())) >= NEAR_SHARE
    ]
    return sorted(similar, key=lambda one: (-one.score, one.id))[:limit]


def conflicts(reader: "Reader", stems: Stems, texts: Texts, project: str) -> list[Conflict]:
    """Return current learnings of the project, or everywhere, about one subject with `texts` but with other values."""
    title, problem, solution = texts
    names = query.identifiers(problem)
    found, _ = _candidates(reader, stems, f"{title} {problem}", project)
    rows = hits.learnings(reader.rows, [match.seq for match in found], sql.NOW)
    told: list[Conflict] = []
    for match in found:
        stored_title, stored_problem, stored = rows[match.seq][2:5]
        same = query.subject(stored_title) == query.subject(title) != ""
        if same or len(names & query.identifiers(stored_problem)) >= SAME_NAMES:
            differs = _differing(stored, solution)
            if differs:
                told.append(Conflict(match.id, stored_title, stored, differs))
    return told[:CONFLICTS_MAX]


def _candidates(reader: "Reader", stems: Stems, text: str, project: str) -> tuple[list[Match], dict[str, float]]:
    """Return the best current learnings for a text, and what each of its terms tells."""
    asked = query.build(text)
    words = search.look_up(reader.rows, stems, asked.terms or asked.filler)
    scope = Scope(projects=json.dumps(reader.projects(project)))
    found = search.matches(reader.rows, words, scope, POOL, superseded=False)
    told = {term: rank.information(words.counts.get(term, 0), words.total) for term in words.plan.kept}
    return found[:POOL], told


def _differing(stored: str, given: str) -> list[dict[str, object]]:
    """Return the kinds of value in which two solutions differ, with the values that only one of them has."""
    one, two = query.values(stored), query.values(given)
    return [
        {"kind": kind, "stored": sorted(one[kind] - two[kind]), "given": sorted(two[kind] - one[kind])}
        for kind in sorted(one.keys() & two.keys())
        if one[kind] - two[kind] and two[kind] - one[kind]
    ]
