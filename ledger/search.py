"""From a question's words to the learnings that may be served.

Three steps: look the terms up one by one, within a budget of rows; take the
matched learnings best first and lead every superseded one to the live heads of
its chain; stop as soon as there are enough. A superseded learning is only a
pointer: filters apply to the head, and its text is never served for its own sake.
Lean path: stdlib only.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ledger import query, rank, sql

Rows = Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]]
"""Runs a statement of `sql.py` with its binds and returns every row."""

ALIAS_WEIGHT = 1.0
"""What a word is worth that was named for a learning, against one that stands once in a text of usual length."""

CHUNK = 200
"""Matched learnings that are looked at together, best first."""

STEMS_KEPT = 2_000
"""Texts whose stems are kept at hand: the words of questions, and the problems of learnings, about 1 KiB each."""

PAGE = 500
"""Newest learnings of a very common word that are looked at together."""

PAGES_MAX = 20
"""Most such pages: a filter that lets one of 10,000 through ends the search empty."""


class Scope(NamedTuple):
    """Which learnings may be served, and at which seq; the names are those of the binds.

    `projects` and `tags` are JSON lists, None where anything will do.
    """

    at: int = sql.NOW
    projects: str | None = None
    category: str | None = None
    trust: int | None = None
    tags: str | None = None


class Words(NamedTuple):
    """What the terms of a question found: score by seq for every term that was looked for."""

    by_term: dict[str, dict[int, float]]
    counts: dict[str, int]
    plan: rank.Plan
    total: int


class Match(NamedTuple):
    """One learning to serve: its score, the score of each term, and the superseded ids that led to it."""

    seq: int
    id: str
    score: float
    by_term: dict[str, float]
    via: tuple[str, ...]


class Stems:
    """The words index's tokenizer over a small table in memory; made when the first question needs it."""

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._known: dict[str, list[str]] = {}

    def of(self, texts: list[str]) -> list[list[str]]:
        """Return the stemmed words of each text, in order."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        if len(self._known) + len(missing) > STEMS_KEPT:
            self._known.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            self._known.update(zip(missing, self._stemmed(missing), strict=True))
        return [self._known[text] for text in texts]

    def _stemmed(self, texts: list[str]) -> list[list[str]]:
        if self._connection is None:
            self._connection = sqlite3.connect(":memory:", isolation_level=None)
            for statement in sql.STEM_TABLES:
                self._connection.execute(statement)
        self._connection.execute(sql.STEM_CLEAR)
        binds = [{"row": row, "text": text} for row, text in enumerate(texts)]
        self._connection.executemany(sql.STEM_ADD, binds)
        stems: list[list[str]] = [[] for _ in texts]
        for row, stem in self._connection.execute(sql.STEMS).fetchall():
            stems[row].append(stem)
        return stems

    def forget(self) -> None:
        """Forget every text, and its words in memory."""
        self._known.clear()
        self.close()

    def close(self) -> None:
        """Release the table in memory."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def look_up(rows: Rows, stems: Stems, terms: tuple[str, ...], at: int = sql.NOW) -> Words:
    """Return what `terms` find, common ones left out where the ledger is large."""
    total = rows(sql.INDEXED_ROWS, {})[0][0]
    counts = counted(rows, stems, terms) if total >= rank.PLANNED_FROM else {}
    chosen = rank.plan(terms, counts, total)
    by_term: dict[str, dict[int, float]] = {}
    aliased = by_alias(rows, chosen.kept, at)
    for term in chosen.kept:
        found: dict[int, float] = dict(rows(sql.WORD_MATCHES, {"match": query.match((term,))}))
        scores = rank.rescaled(found, total)
        also = aliased.get(term, frozenset()) - found.keys()
        if also:
            worth = ALIAS_WEIGHT * rank.information(len(found) + len(also), total)
            scores.update(dict.fromkeys(also, worth))
        if scores:
            by_term[term] = scores
            counts[term] = len(scores)
    return Words(by_term, counts, chosen, total)


def by_alias(rows: Rows, terms: Sequence[str], at: int = sql.NOW) -> dict[str, frozenset[int]]:
    """Return the learnings that somebody named a term for (`learnings alias`), as of `at`; one look when none is."""
    if not rows(sql.HAS_ALIASES, {}):
        return {}
    found = {}
    for term in terms:
        named = frozenset(seq for (seq,) in rows(sql.ALIAS_MATCHES, {"match": query.match((term,)), "at": at}))
        if named:
            found[term] = named
    return found


def counted(rows: Rows, stems: Stems, terms: tuple[str, ...]) -> dict[str, int]:
    """Return how many learnings hold each term when last counted; that of its rarest word for a name of several."""
    stemmed = stems.of(list(terms))
    words = json.dumps(sorted({stem for found in stemmed for stem in found}))
    known: dict[str, int] = dict(rows(sql.WORD_COUNTS, {"words": words}))
    counts: dict[str, int] = {}
    for term, found in zip(terms, stemmed, strict=True):
        if found and all(stem in known for stem in found):
            counts[term] = min(known[stem] for stem in found)
    return counts


def live_heads(rows: Rows, scope: Scope, names: list[str]) -> list[tuple[str, int, str]]:
    """Return (superseded id, seq of a live head of its chain, id of the head), heads that pass the filters only."""
    links = rows(sql.LINKS_ONWARD, {"ids": json.dumps(names), "at": scope.at})
    ends = sorted({link[1] for link in links})
    live = {name: seq for seq, name, fits in rows(sql.LIVE, {**scope._asdict(), "ids": json.dumps(ends)}) if fits}
    heads = rank.heads_of([(link[0], link[1]) for link in links], live)
    return [(name, live[head], head) for name in names for head in heads.get(name, ())]


def matches(rows: Rows, words: Words, scope: Scope, wanted: int, superseded: bool) -> list[Match]:
    """Return at least `wanted` learnings to serve, best first, when there are as many.

    Args:
        superseded: serve superseded learnings as well, each for itself.
    """
    found = _Gathering(rows, words.by_term, scope, superseded)
    for seqs in _chunks(rows, words):
        found.take(seqs)
        if len(found.seqs) >= wanted:
            break
    return found.matches()


def _chunks(rows: Rows, words: Words) -> Iterator[list[int]]:
    """Yield matched seqs, best first; of words that are all too common the rarest one's, newest first."""
    scores = rank.total_of(words.by_term)
    every = rank.ordered(scores)
    for start in range(0, len(every), CHUNK):
        yield every[start : start + CHUNK]
    if every or not words.plan.dropped:
        return
    term = words.plan.dropped[0]
    score = rank.information(words.counts.get(term, 0), words.total)
    before = sql.NOW
    for _ in range(PAGES_MAX):
        binds = {"match": query.match((term,)), "before": before, "many": PAGE}
        page = [seq for (seq,) in rows(sql.WORD_NEWEST, binds)]
        if not page:
            return
        words.by_term.setdefault(term, {}).update(dict.fromkeys(page, score))
        yield page
        before = page[-1]


class _Gathering:
    """Learnings to serve, collected from matched ones: one entry a head, with the best score of every term."""

    def __init__(self, rows: Rows, by_term: dict[str, dict[int, float]], scope: Scope, superseded: bool) -> None:
        self._rows = rows
        self._by_term = by_term
        self._scope = scope
        self._superseded = superseded
        self.seqs: dict[int, str] = {}
        self._scores: dict[int, dict[str, float]] = {}
        self._via: dict[int, list[str]] = {}

    def take(self, seqs: list[int]) -> None:
        """Add the learnings that these matched seqs lead to."""
        pointers: dict[str, int] = {}
        binds = {**self._scope._asdict(), "seqs": json.dumps(seqs)}
        for seq, name, state, fits in self._rows(sql.CANDIDATES, binds):
            if fits and (state == "current" or self._superseded):
                self._add(seq, name, seq)
            if state == "superseded":
                pointers[name] = seq
        if pointers:
            self._redirect(pointers)

    def _redirect(self, pointers: dict[str, int]) -> None:
        """Give the words of superseded learnings to the live heads of their chains."""
        for name, live, head in live_heads(self._rows, self._scope, list(pointers)):
            self._add(live, head, pointers[name])
            self._via.setdefault(live, []).append(name)

    def _add(self, seq: int, name: str, found: int) -> None:
        """Credit the learning `seq` with the terms that the matched learning `found` holds."""
        self.seqs[seq] = name
        scores = self._scores.setdefault(seq, {})
        for term, by_seq in self._by_term.items():
            if found in by_seq:
                scores[term] = max(scores.get(term, 0.0), by_seq[found])

    def matches(self) -> list[Match]:
        """Return everything collected, best first."""
        totals = {seq: sum(self._scores[seq].values()) for seq in self.seqs}
        return [
            Match(seq, self.seqs[seq], totals[seq], self._scores[seq], tuple(self._via.get(seq, ())))
            for seq in rank.ordered(totals)
        ]


# -- order ------------------------------------------------------------------------------------------------------------


class Weighed(NamedTuple):
    """What a question may mean, best first; copies of these; their rows; whether any word of it was found."""

    best: list[Match]
    copies: list[Match]
    rows: dict[int, tuple[Any, ...]]
    worded: bool


def merged(weighed: Weighed, worded: Sequence[Match]) -> list[Match]:
    """Return what was weighed, what only shares words, and copies last; every score below the one before."""
    by_seq = {match.seq: match for match in worded}
    best, copies = (
        [match._replace(by_term=by_seq[match.seq].by_term if match.seq in by_seq else {}) for match in matches]
        for matches in (weighed.best, weighed.copies)
    )
    known = {match.seq for match in (*best, *copies)}
    rest = [match for match in worded if match.seq not in known]
    least = min((match.score for match in best), default=1.0)
    top = max((match.score for match in rest), default=1.0) or 1.0
    rest = [match._replace(score=least * 0.99 * match.score / top) for match in rest]
    least = min((match.score for match in rest), default=least)
    return [*best, *rest, *(match._replace(score=min(match.score, least * 0.99)) for match in copies)]


def final_order(found: Sequence[Match], rows: Mapping[int, tuple[Any, ...]], terms: Sequence[str]) -> list[Match]:
    """Return the matches whose rows are at hand, best first.

    The very spelling of the question goes before other accents. Learnings of one
    title are about one subject: they share the best score among them, and then
    trust and the later seq decide.
    """
    best: dict[str, float] = {}
    scored: list[tuple[Match, str]] = []
    for match in found:
        if match.seq in rows:
            title, problem, solution = rows[match.seq][2:5]
            other = query.spelled_otherwise(terms, f"{title} {problem} {solution}")
            score = rank.weighed(match.score, rows[match.seq][9], other)
            subject = query.subject(title) or match.id
            best[subject] = max(best.get(subject, score), score)
            scored.append((match, subject))
    shared = [match._replace(score=best[subject]) for match, subject in scored]
    return sorted(shared, key=lambda match: (-match.score, -rows[match.seq][9], -match.seq))
