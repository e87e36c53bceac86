"""Choose what to look for, score what was found, bring it to one total order.

Pure functions over seqs and scores: no database, no clock, no randomness. A leg
is a mapping from a learning's seq to a score, larger is better. Words are scored
term by term (BM25 is a sum over terms), so that a hit can
say what it was found by, and the words of a replaced learning add to those of
its successor.
Lean path: stdlib only.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

PLANNED_FROM = 1_000
"""Fewest indexed learnings at which words are chosen by frequency; below, every term is cheap."""

ROWS_MAX = 2_000
"""Matched rows that one question may cost, all its terms together; a row costs about 2 µs."""

KNOWN_MAX = 24
"""Most terms with a known frequency that are looked for, the rarest of the question."""

SPELLING_COST = 0.1
"""Share of its score that a hit loses when it holds the words of the question with other accents only."""

TRUST_STEP = 0.05
"""Share of its score that a hit gains for each step of trust above 2 and loses below: what a person said
stands above what a file says, unless the words decide (two planted lies of the development set fell below)."""


class Plan(NamedTuple):
    """Terms to look for, in the order they were typed, and those left out, the rarest first."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]


def plan(terms: tuple[str, ...], counts: Mapping[str, int], total: int) -> Plan:
    """Choose the rarest terms whose rows together stay within `ROWS_MAX`.

    Args:
        terms: in the order they were typed.
        counts: learnings that hold a term; a term that is missing has not been counted.
        total: indexed learnings.
    """
    if total < PLANNED_FROM:
        return Plan(terms, ())
    rarest = sorted((term for term in terms if term in counts), key=lambda term: (counts[term], terms.index(term)))
    chosen = {term for term in terms if term not in counts}
    rows = 0
    for term in rarest[:KNOWN_MAX]:
        rows += counts[term]
        if rows > ROWS_MAX:
            break
        chosen.add(term)
    return Plan(
        tuple(term for term in terms if term in chosen),
        tuple(term for term in rarest if term not in chosen),
    )


def information(found: float, total: int) -> float:
    """Return what a term tells that `found` of `total` learnings hold; positive even when all of them do."""
    return math.log(1 + (max(total, found) - found + 0.5) / (found + 0.5))


def rescaled(scores: Mapping[int, float], total: int) -> dict[int, float]:
    """Return BM25 scores of one term with `information` in the place of FTS5's own factor.

    FTS5 gives a term that half of all rows hold a factor of 0.000001, so in a
    ledger of a few learnings nothing would tell one hit from another.
    """
    found = len(scores)
    theirs = math.log((total - found + 0.5) / (found + 0.5)) if total > found else 0.0
    factor = information(found, total) / (theirs if theirs > 0.0 else 1e-6)
    return {seq: score * factor for seq, score in scores.items()}


def total_of(by_term: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """Return the sum over terms for every seq: one leg."""
    leg: dict[int, float] = {}
    for scores in by_term.values():
        for seq, score in scores.items():
            leg[seq] = leg.get(seq, 0.0) + score
    return leg


def ordered(scores: Mapping[int, float]) -> list[int]:
    """Return the seqs, best first; equal scores newest first, so the order is the same on every run."""
    return sorted(scores, key=lambda seq: (-scores[seq], -seq))


def weighed(score: float, trust: int, spelled_otherwise: float) -> float:
    """Return a hit's score after its trust and its spelling were weighed."""
    return score * (1.0 + TRUST_STEP * (trust - 2)) * (1.0 - SPELLING_COST * spelled_otherwise)


def heads_of(links: Iterable[tuple[str, str]], live: Iterable[str]) -> dict[str, list[str]]:
    """Return for every id from which a live one can be reached the live ones, sorted; cycles do no harm.

    Args:
        links: pairs of a replaced id and the id that stands in for it.
        live: ids that are current.
    """
    before: dict[str, list[str]] = {}
    for old, new in links:
        before.setdefault(new, []).append(old)
    heads: dict[str, list[str]] = {}
    for head in sorted(set(live)):
        seen = {head}
        waiting = [head]
        while waiting:
            for old in before.get(waiting.pop(), ()):
                if old not in seen:
                    seen.add(old)
                    waiting.append(old)
        for name in seen - {head}:
            heads.setdefault(name, []).append(head)
    return heads
