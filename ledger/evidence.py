"""Gather what speaks for each learning that a prompt may mean, as numbers for the gate.

Two legs, words and meaning, look in one scope: the learnings of a project and
those that hold everywhere. A text that was replaced is looked at too, and what
speaks for it speaks for the live heads of its chain. A sum grows with the length
of a prompt and with the ledger and says little by itself: most numbers are
shares, or are normalised by the size of the scope; three are logarithms of a
clause's weight. Only what is or was served counts: a quarantined text makes no
word common.
Lean path: stdlib only.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ledger import hits, meaning, query, rank, search, space, sql
from ledger.prompt import Clause, Prompt
from ledger.search import Scope

if TYPE_CHECKING:
    from ledger.reader import Reader

TERMS_MAX = 96
"""Terms of one prompt that count, first come first."""

LOOKED_UP_MAX = 64
"""Terms of one prompt that are looked for, the rarest; 0.1 ms each."""

ROWS_MAX = 4_000
"""Rows that all terms together may match; a row costs 0.3 µs here, because nothing is scored by the index."""

NEAREST = 30
"""Learnings that each direction of a prompt brings in."""

RESCORED = (500, 200, 200)
"""Learnings whose vectors are compared with a direction, those nearest by signs, 11 µs each: for the prompt as a whole
and for its two most telling clauses. Among 2,000 learnings the right one of a paraphrase is among the 110 nearest by
signs in 14 of 20 cases, the 200 in 16, the 500 in 18."""

RESCORED_SCOPE = 4_000
"""Learnings of the largest scope that is looked at so widely: as many as have their vectors kept at hand."""

SCANNED_MAX = 30_000
"""Comparisons of signs that one prompt may cost, 0.2 µs each; large scopes are scanned for fewer clauses."""

NEAR_WORTH = 1.75
"""What a cosine of 1 is worth beside the weight of shared words, when candidates are picked; 7 standard deviations of
the signs are worth as much. Half of it loses paraphrases in large projects, twice as much loses words."""

VECTORS_MAX = 11
WEIGHED_MAX = 30
"""Learnings whose vectors and texts are looked at."""

WORDED = 12
"""Of these, those that share most words: where all texts are of one kind, as in a talk, nearness tells little."""

ROUGH_MAX = 300
"""Learnings that share words with a prompt and are measured clause by clause, those that share the most weight."""

FEATURES = (
    "share", "mass", "covered", "rarest", "of_prompt", "about", "whole", "prompt", "stands_out", "several", "named",
    "elsewhere", "agree", "asks", "wants", "points", "turns", "pasted", "replaced", "category", "before",
    "ahead_words", "ahead_meaning", "in_problem", "problem_mass", "fails", "trouble", "bug", "bare", "known", "clause",
    "nearest",
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
        self.vectors = self.space.vectors
        terms = dict.fromkeys(term for clause in self.clauses for term in clause.terms)
        self.terms = tuple(terms)[:TERMS_MAX]
        self._total = reader.rows(sql.INDEXED_ROWS, {})[0][0]
        self._rows: dict[str, set[int]] = {}
        self._current: dict[str, int] = {}
        self._stored: dict[str, int] = {}
        self._look_up()
        size = len(self.space.every)
        top = rank.information(0, size)
        self._weight = {term: rank.information(self._holders(term), size) / top for term in self.terms}
        self._clauses_of: dict[str, list[int]] = {term: [] for term in self.terms}
        for at, clause in enumerate(self.clauses):
            for term in clause.terms:
                if term in self._clauses_of:
                    self._clauses_of[term].append(at)
        self._totals = [sum(self._weight.get(term, 0.0) for term in clause.terms) for clause in self.clauses]
        self._stems_of = dict(zip(self.terms, reader.stems.of(list(self.terms)), strict=True))
        words = {term for clause in prompt.clauses for term in clause.terms}
        self._own_stems = frozenset(stem for term in words for stem in self._stems_of.get(term, ()))
        if len(self.vectors) > space.VECTORS_KEPT:
            self.vectors.clear()
        self._nearest: dict[int, float] = {}
        self._looks = self._directions()
        self.worded_only = not self._looks
        self._every = sum(self._totals[: self._own])
        self._of_prompt = self._prompt_numbers()
        self._of_clause = [self._clause_numbers(at, clause) for at, clause in enumerate(self.clauses)]

    # -- words ----------

    def _look_up(self) -> None:
        """Find the rows of the scope that hold each term, the rarest terms first, within a budget of rows."""
        counts: dict[str, int] = {}
        if self._total >= rank.PLANNED_FROM:
            counts = search.counted(self._reader.rows, self._reader.stems, self.terms)
        left = ROWS_MAX
        aliased = search.by_alias(self._reader.rows, self.terms, self._scope.at)
        for number, term in enumerate(sorted(self.terms, key=lambda term: counts.get(term, 0))):
            if counts.get(term, 0) > left or (counts and number >= LOOKED_UP_MAX):
                self._stored[term] = counts.get(term, 0)
                continue
            rows = self._reader.rows(sql.WORD_ROWS, {"match": query.match((term,)), "many": ROWS_MAX})
            left -= len(rows)
            self._stored[term] = len(rows)
            held = aliased.get(term, frozenset()).union(seq for (seq,) in rows)
            self._rows[term] = self.space.every.intersection(held)
        states = self.space.state_of(self._reader, set().union(*self._rows.values()))
        for term, found in self._rows.items():
            found.intersection_update([seq for seq in found if states[seq] is not None])
            self._current[term] = sum(states[seq] == "current" for seq in found)

    def _holders(self, term: str) -> float:
        """Return how many live learnings of the scope hold a term.

        One where only replaced ones do; a guess from its share of all where it was too common.
        """
        if term in self._rows:
            return max(self._current[term], min(1, len(self._rows[term])))
        return float(self._stored.get(term, 0) * len(self.space.every) / max(self._total, 1))

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

    def _directions(self) -> list[space.Look]:
        """Return the directions of the whole prompt and of its clauses, the most telling clauses first."""
        table = meaning.shared()
        if table is None or not 0 < len(self.space.seqs) <= space.SCANNED_SCOPE:
            return []
        many = min(VECTORS_MAX, max(SCANNED_MAX // len(self.space.seqs), 1))
        telling = sorted(
            range(len(self.clauses)),
            key=lambda at: -self._totals[at],
        )
        prose = " ".join(clause.text for clause in self._prompt.clauses if not clause.pasted)
        texts: list[tuple[int | None, str]] = [(None, prose or " ".join(c.text for c in self._prompt.clauses))]
        if len(self.clauses) > 1:
            texts += [(at, self.clauses[at].text) for at in telling]
        looks = []
        for at, text in texts[:many]:
            vector = table.vector(text)
            if vector is not None:
                looks.append(space.look(at, vector, self.space))
        return looks

    def _near(self) -> dict[int, float]:
        """Return the seqs that lie nearest to any direction, with how much they stand out, 0 to about 1.

        Signs alone lose the right one among thousands, so the first directions take
        more by their signs and keep the best of them by their vectors.
        """
        found: dict[int, float] = {}
        for number, look in enumerate(self._looks):
            wide = RESCORED if len(self.space.seqs) <= RESCORED_SCOPE else RESCORED[1:]
            close = self._closest(look, wide[number] if number < len(wide) else NEAREST)
            if number < len(wide):
                self._read_vectors(close)
                exact = {seq: space.alike(look, self.vectors[seq]) for seq in close if seq in self.vectors}
                for place, seq in enumerate(sorted(exact, key=lambda seq: (-exact[seq], -seq))[:NEAREST]):
                    found[seq] = max(found.get(seq, 0.0), NEAR_WORTH * exact[seq])
                    self._nearest[seq] = max(self._nearest.get(seq, 0.0), 1.0 / (1.0 + place))
                continue
            for seq in close:
                far = (look.mean - look.distances[self.space.at[seq]]) / look.spread
                found[seq] = max(found.get(seq, 0.0), NEAR_WORTH / 7.0 * far)
        return found

    def _read_vectors(self, seqs: Iterable[int]) -> None:
        """Read the vectors of learnings that were not read yet; 9 µs each."""
        missing = [seq for seq in seqs if seq not in self.vectors]
        if missing:
            for seq, problem, whole in self._reader.rows(sql.VECTORS, {"seqs": json.dumps(missing)}):
                self.vectors[seq] = self.space.unpacked(problem), self.space.unpacked(whole)

    def _closest(self, look: space.Look, many: int) -> list[int]:
        """Return so many seqs, those with the fewest different signs; of equal ones the newest."""
        counts = Counter(look.distances)
        within = limit = 0
        for limit in sorted(counts):
            within += counts[limit]
            if within >= many:
                break
        close = [(far, -seq) for seq, far in zip(self.space.seqs, look.distances, strict=True) if far <= limit]
        seqs = [-seq for _, seq in sorted(close)[:many]]
        states = self.space.state_of(self._reader, seqs)
        return [seq for seq in seqs if states[seq] is not None]

    # -- candidates ----------

    def candidates(self) -> list[Evidence]:
        """Return what may be meant, with its numbers; no order."""
        pool = self._allowed(self._best())
        seqs = sorted({seq for seq, *_ in pool})
        texts = self.texts = hits.learnings(self._reader.rows, seqs, self._scope.at)
        if self._looks:
            self._read_vectors(seqs)
        own_stems = self._stems(texts, seqs)
        held: dict[int, dict[str, None]] = {}
        stems: dict[int, frozenset[str]] = {}
        for seq, head, _, _ in pool:
            held.setdefault(head, {}).update(dict.fromkeys(self._held(seq)))
            stems[head] = stems.get(head, frozenset()) | own_stems[seq]
        numbers = {seq: self._numbers(seq, held[head], own_stems[seq], stems[head]) for seq, head, _, _ in pool}
        _compare(numbers, {seq: head for seq, head, _, _ in pool})
        return [
            Evidence(seq, head, name, via, {**numbers[seq], "replaced": float(via is not None)}, tuple(held[head]))
            for seq, head, name, via in pool
        ]

    def _held(self, seq: int) -> list[str]:
        """Return the terms that a learning holds."""
        return [term for term, found in self._rows.items() if seq in found]

    def _best(self) -> list[int]:
        """Return the seqs worth weighing, the likeliest first by a rough measure of both legs."""
        weights: dict[int, float] = {}
        for term, found in self._rows.items():
            weight = self._weight[term]
            for seq in found:
                weights[seq] = weights.get(seq, 0.0) + weight
        rough: dict[int, float] = {}
        for seq in sorted(weights, key=lambda seq: (-weights[seq], -seq))[:ROUGH_MAX]:
            masses = self._masses(self._held(seq))
            rough[seq] = max(mass * (0.3 + self._share(at, mass)) for at, mass in masses.items())
        worded = sorted(rough, key=lambda seq: (-rough[seq], -seq))
        listed = self._listed() if self._scope.category is not None else ()
        near = self._near()
        for seq in {*near, *worded[: 2 * WEIGHED_MAX]}:
            at = self.space.at.get(seq)
            if at is not None and self._looks:
                far = max((look.mean - look.distances[at]) / look.spread for look in self._looks)
                rough[seq] = rough.get(seq, 0.0) + near.get(seq, 0.3 * max(0.0, far))
        rough.update({seq: rough.get(seq, 0.0) + 1.0 for seq in listed})
        best = sorted(rough, key=lambda seq: (-rough[seq], -seq))[: 3 * WEIGHED_MAX]
        return list(dict.fromkeys([*worded[:WORDED], *best]))

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

    def _masses(self, held: Iterable[str]) -> dict[int, float]:
        """Return for each clause of which a word is held the weight held."""
        masses: dict[int, float] = {}
        for term in held:
            weight = self._weight[term]
            for at in self._clauses_of[term]:
                masses[at] = masses.get(at, 0.0) + weight
        return masses

    def _numbers(
        self, seq: int, held: dict[str, None], stems: frozenset[str], generations: frozenset[str]
    ) -> dict[str, float]:
        """Return the numbers of one candidate."""
        masses = self._masses(held)
        by_words = max(
            (at for at in masses if at < self._own),
            key=lambda at: (masses[at] * self._share(at, masses[at]), -at),
            default=0,
        )
        mass = masses.get(by_words, 0.0) if by_words < self._own else 0.0
        share = self._share(by_words, mass)
        many = sum(by_words in self._clauses_of[term] for term in held)
        told = self._of_prompt.copy()
        matched = [self._weight[term] for term in held for at in self._clauses_of[term] if at < self._own]
        told.update(
            share=share,
            mass=math.log1p(mass),
            rarest=max(matched, default=0.0),
            of_prompt=sum(matched) / (self._every + 0.5),
            several=float(many >= 2),
            named=float(any(_is_name(term) for term in held)),
            covered=len(stems & self._own_stems) / (len(stems) + 1.0),
            bug=float(self.texts[seq][5] == "bug-fix"),
            bare=float(share == 0.0),
            before=max((self._share(at, masses[at]) for at in masses if at >= self._own), default=0.0),
        )
        best = by_words
        if self._looks and seq in self.vectors:
            best = self._meaning(seq, self.vectors[seq], by_words, share, told)
        if self.clauses:
            told.update(self._of_clause[best])
        clause_terms = self.clauses[by_words].terms if self.clauses else ()
        inside = [self._weight[term] for term in self._terms_in(generations) if term in held and term in clause_terms]
        told["in_problem"] = sum(inside) / (mass / share if share else 1.0)
        told["problem_mass"] = math.log1p(sum(inside))
        return told

    def _share(self, at: int, mass: float) -> float:
        """Return which share of the weight of a clause this is."""
        return mass / (self._totals[at] + 0.5) if mass else 0.0

    def _prompt_numbers(self) -> dict[str, float]:
        """Return every number, those of the prompt itself filled in: they are the same for all candidates."""
        told = dict.fromkeys(FEATURES, 0.0)
        table = meaning.shared()
        prose = " ".join(clause.text for clause in self._prompt.clauses if not clause.pasted)
        told.update(
            wants=float(self._prompt.wants),
            category=float(self._scope.category is not None),
            trouble=float(any(clause.fails for clause in self._prompt.clauses)),
            known=table.known(prose) if self._looks and table is not None else 0.0,
        )
        return told

    def _clause_numbers(self, at: int, clause: Clause) -> dict[str, float]:
        """Return the numbers of a clause: they are the same for all candidates that it speaks for."""
        return {
            "elsewhere": self._elsewhere(clause),
            "asks": float(clause.asks),
            "points": float(clause.points),
            "turns": float(clause.turns or self._prompt.turns),
            "pasted": float(clause.pasted),
            "fails": float(clause.fails),
            "clause": math.log1p(self._totals[at]),
        }

    def _meaning(
        self,
        seq: int,
        vectors: space.Vectors,
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
            nearest=self._nearest.get(seq, 0.0),
            agree=float(self._looks[nearest].clause in (None, by_words) and share > 0.0),
        )
        clause = self._looks[nearest].clause
        return by_words if clause is None or clause >= self._own or share > 0.5 else clause

    def _terms_in(self, stems: frozenset[str]) -> list[str]:
        """Return the terms of the prompt all of whose words are among these."""
        return [term for term, parts in self._stems_of.items() if parts and stems.issuperset(parts)]


def _compare(numbers: dict[int, dict[str, float]], heads: dict[int, int]) -> None:
    """Add by how much each candidate is ahead of the best of another chain, negative where it is behind."""
    for name, measure in (("ahead_words", _by_words), ("ahead_meaning", _by_meaning)):
        best: dict[int, float] = {}
        for seq, told in numbers.items():
            best[heads[seq]] = max(measure(told), best.get(heads[seq], -1.0))
        first, *rest = sorted(best, key=lambda head: -best[head])[:2] or [0]
        for seq, told in numbers.items():
            other = best[rest[0] if heads[seq] == first else first] if rest else 0.0
            told[name] = measure(told) - other


def _by_words(told: dict[str, float]) -> float:
    return told["share"] * told["mass"]


def _by_meaning(told: dict[str, float]) -> float:
    return (told["about"] + told["whole"] + told["prompt"]) / 3.0


def _is_name(term: str) -> bool:
    """Return whether a term is a name rather than a word: of several parts, or with a digit."""
    return " " in term or any(char.isdigit() for char in term)
