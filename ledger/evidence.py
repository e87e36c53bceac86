"""Gather what speaks for each learning that a prompt may mean, as numbers for the gate.

Two legs, words and meaning, look in one scope: the learnings of a project and
those that hold everywhere. A text that was replaced is looked at too, and what
speaks for it speaks for the live heads of its chain. Everything is a share or
is normalised by the size of the scope, because a sum grows with the length of
a prompt and with the ledger, and says nothing by itself.
Lean path: stdlib only.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ledger import hits, meaning, query, rank, search, sql
from ledger.prompt import Clause, Prompt
from ledger.search import Scope

if TYPE_CHECKING:
    from ledger.reader import Reader

TERMS_MAX = 96
"""Terms of one prompt that are looked for, first come first."""

ROWS_MAX = 12_000
"""Rows that all terms together may match; a row costs 0.3 µs here, because nothing is scored by the index."""

NEAREST = 30
RESCORED = 110
"""Learnings whose whole vectors are compared with each of a prompt's first directions; 6 µs each."""

RESCORED_LOOKS = 3
"""Learnings that each clause's direction brings in."""

SCANNED_MAX = 150_000
"""Comparisons of signs that one prompt may cost, 0.1 µs each; large scopes are scanned for fewer clauses."""

VECTORS_MAX = 10
WEIGHED_MAX = 30
"""Learnings whose vectors and texts are looked at."""

FEATURES = (
    "share", "mass", "covered", "rarest", "of_prompt", "about", "whole", "prompt", "stands_out", "several", "named",
    "elsewhere", "agree", "asks", "wants", "points", "turns", "pasted", "replaced", "category", "before",
    "ahead_words", "ahead_meaning", "in_problem", "problem_mass",
)  # fmt: skip
"""What is known of a candidate, in the order of its numbers; docs/explanation/search.md says what each means."""


class Evidence(NamedTuple):
    """A candidate: the seq whose text was looked at, the live head it stands for, and its numbers."""

    seq: int
    head: int
    head_id: str
    via: str | None
    told: dict[str, float]
    matched: tuple[str, ...]


class Space(NamedTuple):
    """The learnings of a scope, and the signs of those that have a vector."""

    every: frozenset[int]
    seqs: list[int]
    signs: list[int]
    at: dict[int, int]

    def sign(self, seq: int) -> int | None:
        """Return the signs of a learning, None when it has no vector."""
        at = self.at.get(seq)
        return self.signs[at] if at is not None else None


class Look(NamedTuple):
    """The direction of a clause (None for the whole prompt) and how far every learning of the scope lies from it."""

    clause: int | None
    vector: meaning.Vector
    distances: list[int]
    mean: float
    spread: float


def space(reader: "Reader", scope: Scope) -> Space:
    """Return the learnings of a scope."""
    every = frozenset(seq for (seq,) in reader.rows(sql.SCOPE_SEQS, {"projects": scope.projects}))
    table = meaning.shared()
    if table is None or reader.rows(sql.VECTOR_VERSION, {}) != [(table.version,)]:
        return Space(every, [], [], {})
    found = reader.rows(sql.EVERY_SIGN if scope.projects is None else sql.SIGNS, {"projects": scope.projects})
    seqs = [seq for seq, _ in found]
    signs = [int.from_bytes(sign, "little") for _, sign in found]
    return Space(every, seqs, signs, {seq: at for at, seq in enumerate(seqs)})


class Gathering:
    """Everything found for one prompt in one scope."""

    def __init__(self, reader: "Reader", prompt: Prompt, scope: Scope, before: Sequence[Clause] = ()) -> None:
        self._reader, self._scope = reader, scope
        self._prompt = prompt
        self._before = before
        self.texts: dict[int, hits.Learning] = {}
        self.clauses = [*prompt.clauses, *before]
        self._own = len(prompt.clauses)
        self.space = reader.space(scope)
        terms = dict.fromkeys(term for clause in self.clauses for term in clause.terms)
        self.terms = tuple(terms)[:TERMS_MAX]
        self._total = reader.rows(sql.INDEXED_ROWS, {})[0][0]
        self._rows: dict[str, frozenset[int]] = {}
        self._stored: dict[str, int] = {}
        self._look_up()
        size = len(self.space.every)
        top = rank.information(0, size)
        self._weight = {t: rank.information(len(self._rows.get(t, ())), size) / top for t in self.terms}
        self._stems_of = dict(zip(self.terms, reader.stems.of(list(self.terms)), strict=True))
        words = {term for clause in prompt.clauses for term in clause.terms}
        self._own_stems = frozenset(stem for term in words for stem in self._stems_of.get(term, ()))
        self._looks = self._directions()
        self.worded_only = not self._looks

    # -- words ----------

    def _look_up(self) -> None:
        """Find the rows of the scope that hold each term, the rarest terms first, within a budget of rows."""
        counts: dict[str, int] = {}
        if self._total >= rank.PLANNED_FROM:
            counts = search.counted(self._reader.rows, self._reader.stems, self.terms)
        left = ROWS_MAX
        aliased = search.by_alias(self._reader.rows, self.terms, self._scope.at)
        for term in sorted(self.terms, key=lambda term: counts.get(term, 0)):
            if counts.get(term, 0) > left:
                self._stored[term] = counts[term]
                continue
            rows = self._reader.rows(sql.WORD_ROWS, {"match": query.match((term,)), "many": ROWS_MAX})
            left -= len(rows)
            self._stored[term] = len(rows)
            held = aliased.get(term, frozenset()).union(seq for (seq,) in rows)
            self._rows[term] = self.space.every.intersection(held)

    def _elsewhere(self, clause: Clause) -> float:
        """Return the share of a clause's weight that lies on words known in other projects only."""
        total = sum(self._weight.get(term, 0.0) for term in clause.terms)
        if not total:
            return 0.0
        size = len(self.space.every) / max(self._total, 1)
        foreign = 0.0
        for term in clause.terms:
            if not self._rows.get(term) and term in self._rows and self._stored.get(term):
                foreign += self._weight[term] * (1.0 - math.exp(-2.0 * self._stored[term] * size))
        return foreign / total

    # -- meaning ----------

    def _directions(self) -> list[Look]:
        """Return the directions of the whole prompt and of its clauses, the most telling clauses first."""
        table = meaning.shared()
        signs = self.space.signs
        if table is None or not signs:
            return []
        many = max(1, min(VECTORS_MAX, SCANNED_MAX // len(signs)))
        telling = sorted(
            range(len(self.clauses)),
            key=lambda at: -sum(self._weight.get(term, 0.0) for term in self.clauses[at].terms),
        )
        prose = " ".join(clause.text for clause in self._prompt.clauses if not clause.pasted)
        texts: list[tuple[int | None, str]] = [(None, prose or " ".join(c.text for c in self._prompt.clauses))]
        if len(self.clauses) > 1:
            texts += [(at, self.clauses[at].text) for at in telling]
        looks = []
        for at, text in texts[: many + 1]:
            vector = table.vector(text)
            if vector is not None:
                looks.append(_look(at, vector, signs))
        return looks

    def _near(self) -> dict[int, float]:
        """Return the seqs that lie nearest to any direction, with how much they stand out, 0 to about 2.

        Signs alone lose the right one among thousands, so the first directions take
        more by their signs and keep the best of them by their whole vectors.
        """
        found: dict[int, float] = {}
        for number, look in enumerate(self._looks):
            close = self._closest(look, RESCORED if number < RESCORED_LOOKS else NEAREST)
            if number < RESCORED_LOOKS and len(close) > NEAREST:
                rows = self._reader.rows(sql.VECTORS, {"seqs": json.dumps(close)})
                exact = {seq: meaning.cosine(look.vector, meaning.unpacked(whole)) for seq, _, whole in rows}
                for seq in sorted(exact, key=lambda seq: -exact[seq])[:NEAREST]:
                    found[seq] = max(found.get(seq, 0.0), 3.5 * exact[seq])
                continue
            for seq in close:
                far = (look.mean - look.distances[self.space.at[seq]]) / look.spread
                found[seq] = max(found.get(seq, 0.0), 0.5 * far)
        return found

    def _closest(self, look: Look, many: int) -> list[int]:
        """Return about as many seqs as are asked for, those with the fewest different signs."""
        counts = Counter(look.distances)
        within = limit = 0
        for limit in sorted(counts):
            within += counts[limit]
            if within >= many:
                break
        return [seq for seq, far in zip(self.space.seqs, look.distances, strict=True) if far <= limit]

    # -- candidates ----------

    def candidates(self) -> list[Evidence]:
        """Return what may be meant, with its numbers; no order."""
        held: dict[int, dict[str, None]] = {}
        for term, found in self._rows.items():
            for seq in found:
                held.setdefault(seq, {})[term] = None
        pool = self._allowed(self._best(held))
        seqs = sorted({seq for seq, *_ in pool})
        texts = self.texts = hits.learnings(self._reader.rows, seqs, self._scope.at)
        vectors = (
            {
                seq: (meaning.unpacked(problem), meaning.unpacked(whole))
                for seq, problem, whole in self._reader.rows(sql.VECTORS, {"seqs": json.dumps(seqs)})
            }
            if self._looks
            else {}
        )
        stems = self._stems(texts, seqs)
        generations: dict[int, dict[str, None]] = {}
        for seq, head, _, _ in pool:
            generations.setdefault(head, {}).update(held.get(seq, {}))
        for seq, head, _, _ in pool:
            held[seq] = generations[head]
        every: dict[int, frozenset[str]] = {}
        for seq, head, _, _ in pool:
            every[head] = every.get(head, frozenset()) | stems[seq]
        numbers = {
            seq: self._numbers(seq, held[seq], vectors.get(seq), stems[seq], every[head]) for seq, head, _, _ in pool
        }
        _compare(numbers)
        return [
            Evidence(seq, head, name, via, {**numbers[seq], "replaced": float(via is not None)}, tuple(held[seq]))
            for seq, head, name, via in pool
        ]

    def _best(self, held: dict[int, dict[str, None]]) -> list[int]:
        """Return the seqs worth weighing, the likeliest first by a rough measure of both legs."""
        rough: dict[int, float] = {}
        for seq, terms in held.items():
            rough[seq] = max(mass * (0.3 + share) for share, mass, _ in self._shares(terms))
        listed = self._listed() if self._scope.category is not None else ()
        near = self._near()
        for seq in {*near, *sorted(rough, key=lambda seq: -rough[seq])[:60]}:
            at = self.space.at.get(seq)
            if at is not None and self._looks:
                far = max((look.mean - look.distances[at]) / look.spread for look in self._looks)
                rough[seq] = rough.get(seq, 0.0) + near.get(seq, 0.3 * max(0.0, far))
        rough.update({seq: rough.get(seq, 0.0) + 1.0 for seq in listed})
        return sorted(rough, key=lambda seq: (-rough[seq], -seq))[: 3 * WEIGHED_MAX]

    def _listed(self) -> list[int]:
        """Return the newest learnings of the category: a filter says what is wanted, whatever the words are."""
        binds = {**self._scope._asdict(), "before": sql.NOW, "page": WEIGHED_MAX}
        statement = sql.PROJECT_SEQS if self._scope.projects is not None else sql.CATEGORY_SEQS
        return [seq for (seq,) in self._reader.rows(statement, binds)]

    def _allowed(self, seqs: list[int]) -> list[tuple[int, int, str, str | None]]:
        """Return (seq, head, id of the head, id that led to it) of those that may be served or lead to one that may."""
        binds = {**self._scope._asdict(), "seqs": json.dumps(seqs)}
        found = {row[0]: row for row in self._reader.rows(sql.CANDIDATES, binds)}
        pool: list[tuple[int, int, str, str | None]] = []
        pointers: dict[str, int] = {}
        for seq in seqs:
            if seq in found:
                _, name, state, fits = found[seq]
                if state == "current" and fits:
                    pool.append((seq, seq, name, None))
                elif state == "superseded":
                    pointers[name] = seq
            if len(pool) + len(pointers) >= WEIGHED_MAX:
                break
        if pointers:
            for old, live, head in search.live_heads(self._reader.rows, self._scope, list(pointers)):
                pool.append((pointers[old], live, head, old))
        return pool

    def _stems(self, texts: dict[int, hits.Learning], seqs: list[int]) -> dict[int, frozenset[str]]:
        """Return the stemmed words of each title and problem, filler left out."""
        raw = []
        for seq in seqs:
            words = query.indexed(f"{texts[seq][2]} {texts[seq][3]}").split()
            raw.append(" ".join(word for word in words if not query.is_filler(word.lower())))
        return {seq: frozenset(found) for seq, found in zip(seqs, self._reader.stems.of(raw), strict=True)}

    # -- numbers ----------

    def _shares(self, held: dict[str, None]) -> list[tuple[float, float, int]]:
        """Return for every clause of the prompt the share of its weight that is held, the weight held, and how many."""
        told = []
        for clause in self.clauses:
            found = [self._weight.get(term, 0.0) for term in clause.terms if term in held]
            total = sum(self._weight.get(term, 0.0) for term in clause.terms)
            mass = sum(found)
            told.append((mass / (total + 0.5), mass, len(found)))
        return told or [(0.0, 0.0, 0)]

    def _numbers(
        self,
        seq: int,
        held: dict[str, None],
        vectors: tuple[meaning.Vector, meaning.Vector] | None,
        stems: frozenset[str],
        generations: frozenset[str],
    ) -> dict[str, float]:
        shares = self._shares(held)
        own = shares[: self._own] or [(0.0, 0.0, 0)]
        by_words = max(range(len(own)), key=lambda at: own[at][0] * own[at][1])
        share, mass, many = own[by_words]
        told: dict[str, float] = dict.fromkeys(FEATURES, 0.0)
        matched = [self._weight[term] for clause in self._prompt.clauses for term in clause.terms if term in held]
        every = sum(self._weight.get(term, 0.0) for clause in self._prompt.clauses for term in clause.terms)
        told.update(
            share=share,
            mass=math.log1p(mass),
            rarest=max(matched, default=0.0),
            of_prompt=sum(matched) / (every + 0.5),
            several=float(many >= 2),
            named=float(any(_is_name(term) for term in held)),
            covered=len(stems & self._own_stems) / (len(stems) + 1.0),
        )
        best = by_words
        if vectors is not None:
            best = self._meaning(seq, vectors, by_words, share, told)
        clause = self.clauses[best] if self.clauses else None
        if clause is not None:
            told.update(
                elsewhere=self._elsewhere(clause), asks=float(clause.asks), points=float(clause.points),
                turns=float(clause.turns or self._prompt.turns), pasted=float(clause.pasted),
            )  # fmt: skip
        clause_terms = self.clauses[by_words].terms if self.clauses else ()
        inside = [self._weight[term] for term in self._terms_in(generations) if term in held and term in clause_terms]
        told["in_problem"] = sum(inside) / (mass / share if share else 1.0)
        told["problem_mass"] = math.log1p(sum(inside))
        told["wants"] = float(self._prompt.wants)
        told["category"] = float(self._scope.category is not None)
        told["before"] = max((s for s, *_ in shares[self._own :]), default=0.0) if self._before else 0.0
        return told

    def _meaning(
        self,
        seq: int,
        vectors: tuple[meaning.Vector, meaning.Vector],
        by_words: int,
        share: float,
        told: dict[str, float],
    ) -> int:
        """Add what the directions say; return the clause that speaks for this learning."""
        at = self.space.at[seq]
        best = min(self._looks, key=lambda look: (look.distances[at] - look.mean) / look.spread)
        kept = {0, self._looks.index(best)}
        kept.update(i for i, look in enumerate(self._looks) if look.clause == by_words)
        about = {i: meaning.cosine(self._looks[i].vector, vectors[0]) for i in kept}
        whole = {i: meaning.cosine(self._looks[i].vector, vectors[1]) for i in kept}
        nearest = max(about, key=lambda i: about[i] + whole[i])
        size = math.sqrt(2.0 * math.log(len(self.space.seqs) + 2.0))
        told.update(
            about=max(about.values()),
            whole=max(whole.values()),
            prompt=whole[0],
            stands_out=(best.mean - best.distances[at]) / best.spread / size,
            agree=float(self._looks[nearest].clause in (None, by_words) and share > 0.0),
        )
        clause = self._looks[nearest].clause
        return by_words if clause is None or clause >= self._own or share > 0.5 else clause

    def _terms_in(self, stems: frozenset[str]) -> list[str]:
        """Return the terms of the prompt all of whose words are among these."""
        return [term for term, parts in self._stems_of.items() if parts and stems.issuperset(parts)]


def _look(at: int | None, vector: meaning.Vector, signs: list[int]) -> Look:
    """Return how far every learning lies from a direction."""
    sign = vector.sign
    distances = [(sign ^ other).bit_count() for other in signs]
    many = len(distances)
    mean = sum(distances) / many
    variance = sum(map(int.__mul__, distances, distances)) / many - mean * mean
    return Look(at, vector, distances, mean, math.sqrt(max(variance, 16.0)))


def _compare(numbers: dict[int, dict[str, float]]) -> None:
    """Add by how much each candidate is ahead of the best other one, negative where it is behind."""
    for name, measure in (("ahead_words", _by_words), ("ahead_meaning", _by_meaning)):
        best = sorted((measure(told) for told in numbers.values()), reverse=True)[:2]
        for told in numbers.values():
            own = measure(told)
            other = best[1] if len(best) > 1 and own == best[0] else best[0]
            told[name] = own - (other if len(best) > 1 else 0.0)


def _by_words(told: dict[str, float]) -> float:
    return told["share"] * told["mass"]


def _by_meaning(told: dict[str, float]) -> float:
    return (told["about"] + told["whole"] + told["prompt"]) / 3.0


def _is_name(term: str) -> bool:
    """Return whether a term is a name rather than a word: of several parts, or with a digit."""
    return " " in term or any(char.isdigit() for char in term)
