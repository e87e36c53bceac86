"""Pairs of current learnings that say one thing in near the same words.

Both stay current and are served until somebody decides (`decide`): merge them, or
call them different. What was called different is not asked again, whichever learnings
say those texts later. Nothing of this is stored but the decisions; the pairs are
found anew, among the newest learnings, each time somebody looks.
"""

from typing import NamedTuple

from ledger import alike, query, sql
from ledger.model import EVERYWHERE
from ledger.reader import Reader

LOOKED_AT = 10_000
"""Newest learnings among which pairs are looked for: 0.7 s of one core (benchmarks/near.py)."""

PAGE = 1_000


class One(NamedTuple):
    """One of a pair: what it says, and what decides which of the two stays."""

    seq: int
    id: str
    title: str
    problem: str
    solution: str
    project: str
    trust: int
    stood_by: bool
    sources: int


class Pair(NamedTuple):
    """Two learnings that say one thing; `stays` is the more trusted, then the one of more sources, then the newer."""

    stays: One
    other: One


def found(reader: Reader, places: set[str] | None = None, but: frozenset[str] = frozenset()) -> list[Pair]:
    """Return every pair nobody settled, what matters most first: of the most trusted, the newest.

    Args:
        places: names of one project, and everywhere; None is all.
        but: learnings that are asked about anyway.
    """
    rows = {one.seq: one for one in _current(reader) if places is None or one.project in places}
    paired = _paired(reader, rows, None, but)
    return sorted(paired, key=lambda pair: (-pair.other.trust, -max(pair.stays.seq, pair.other.seq), pair.stays.id))


def brought(reader: Reader, after: int) -> int:
    """Return how many of the learnings that came after a seq say what another says in near the same words."""
    if not reader.rows(sql.CURRENT_TEXTS, {"after": after, "many": 1}):
        return 0
    rows = {one.seq: one for one in _current(reader)}
    fresh = frozenset(seq for seq in rows if seq > after)
    told = _paired(reader, rows, fresh, frozenset())
    return len({one.seq for pair in told for one in pair if one.seq in fresh})


def _current(reader: Reader) -> list[One]:
    """Return the newest current learnings, oldest first."""
    after = reader.rows(sql.OLDER_THAN_NEWEST, {"many": LOOKED_AT})
    last, ones = (after[0][0] if after else 0), []
    while True:
        rows = reader.rows(sql.CURRENT_TEXTS, {"after": last, "many": PAGE})
        for seq, name, title, problem, solution, project, _, trust, stood_by in rows:
            ones.append(One(seq, name, title, problem, solution, project, trust, bool(stood_by), 0))
        if len(rows) < PAGE:
            return ones
        last = rows[-1][0]


def _paired(reader: Reader, rows: dict[int, One], fresh: frozenset[int] | None, but: frozenset[str]) -> list[Pair]:
    texts = ((one.seq, one.problem, one.solution) for one in rows.values())
    pairs = [(rows[one], rows[other]) for one, other in alike.pairs(texts, fresh)]
    near = [
        (one, other)
        for one, other in pairs
        if (one.project == other.project or EVERYWHERE in (one.project, other.project))
        and but.isdisjoint((one.id, other.id))
    ]
    if not near:
        return []
    done = settled(reader)
    open_ones = [pair for pair in near if frozenset(map(_said, pair)) not in done]
    return [_ranked(reader, *pair) for pair in open_ones]


def settled(reader: Reader) -> frozenset[frozenset[tuple[str, str]]]:
    """Return the pairs of texts that were called different."""
    rows = reader.rows(sql.SETTLED_TEXTS, {})
    return frozenset(
        frozenset(((query.subject(one), query.subject(does)), (query.subject(other), query.subject(then))))
        for one, does, other, then in rows
    )


def _said(one: One) -> tuple[str, str]:
    """Return what a learning says without case, spacing, quotes and closing punctuation."""
    return query.subject(one.problem), query.subject(one.solution)


def _ranked(reader: Reader, one: One, other: One) -> Pair:
    one, other = (each._replace(sources=_sources(reader, each.id)) for each in (one, other))
    first, second = sorted((one, other), key=lambda each: (each.trust, each.stood_by, each.sources, each.seq))
    return Pair(second, first)


def _sources(reader: Reader, name: str) -> int:
    return sum(row[-1] for row in reader.rows(sql.SOURCES, {"id": name}))
