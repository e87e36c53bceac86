"""Order what a text may mean, and choose what a prompt is shown, or say why nothing is.

`ranked` serves both settings: an explicit question gets the whole order, a prompt
only what the gate lets through. Learnings that say one thing count once. Of two on
one subject the one of higher trust goes first, then the newer, and only it is shown.
Lean path: stdlib only.
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ledger import evidence, gate, hits, meaning, prompt, query, rank, space, sql
from ledger.answer import Hit
from ledger.evidence import Evidence
from ledger.model import EVERYWHERE, Head
from ledger.prompt import Clause, Prompt
from ledger.search import Match, Scope

if TYPE_CHECKING:
    from ledger.reader import Reader

LIMIT_MAX = 3
"""Most learnings that one prompt is shown."""

TRUST_MIN = 2
"""Least trust of what is shown unasked."""

RANKER = "2"
"""Version of the order that this module makes; it stands in every exposure."""

COMPARED = 12
"""Candidates that are compared with each other, the likeliest first."""

LEADING = 5
"""Candidates that are compared with every other: what contradicts them may rank far below."""

FAR = 122
"""Signs of 256 from which on two directions are not compared: of 250,000 pairs none that differed in more had a cosine
of .45, one in that many."""

BEFORE_CLAUSES = 6
"""Clauses of the turn before that may sharpen a prompt, the last ones."""

ALIKE_SHARE = 0.6
"""Share of the shorter problem's words that two must have in common to be on one subject, where no vectors tell."""

LANGUAGE_KNOWN = 0.5
"""Share of known words from which the vectors of two learnings are compared: Chinese notes on different subjects have
cosines of 0.7 to 0.9."""

MEANS_FROM = 0.03
"""Least probability at which a learning that shares no word with a question is an answer to it. Of the 42 right ones
among the first five of four sets it keeps 35, of 1,299 others 271."""

FEW_TERMS, MEANS_FROM_FEW = 2, 0.2
"""The same where a question has so few terms: one word that stands nowhere is near to something in every ledger."""

SOURCE_MAX = 2
"""Most learnings of one source (a file) that one prompt is shown."""


class Held(NamedTuple):
    """A candidate that is not shown, and the one word that says why.

    One of `below-gate`, `behind-best`, `shown-before`, `copy`, `contradicted`, `older`, `source-cap`, `cap`.
    """

    id: str
    reason: str


class Choice(NamedTuple):
    """What to show, best first; what was held back; the numbers behind both, by id.

    `silence` says why nothing is shown, None when something is: `trivial`, `machine`,
    `nothing-found`, `gate`, or `shown-before`. `head` is the end of the log as it
    was looked at, None when it was not.
    """

    shown: list[Hit]
    held: list[Held]
    parts: dict[str, dict[str, float | int]]
    silence: str | None
    versions: dict[str, str | int | None]
    keywords: list[str]
    head: Head | None = None


class Ranked(NamedTuple):
    """One live learning in the order of an answer.

    `behind` is (reason, id) of the learning that stands for it; `is_copy` tells that it says the same.
    """

    seq: int
    id: str
    probability: float
    told: dict[str, float]
    matched: tuple[str, ...]
    via: tuple[str, ...]
    behind: tuple[str, str] | None
    is_copy: bool = False


class Order(NamedTuple):
    """What a text may mean, likeliest first, copies last; the rows of all; whether words alone told it."""

    ranked: list[Ranked]
    rows: dict[int, hits.Learning]
    worded: bool


def choose(
    reader: "Reader",
    text: str,
    project: str | None,
    previous: str | None = None,
    seen: frozenset[str] = frozenset(),
    limit: int = LIMIT_MAX,
    category: str | None = None,
) -> Choice:
    """Return what a prompt is shown; `seen` are the ids that this session was shown already.

    Without a project only what holds everywhere is shown: nobody asked for the learnings of others.
    """
    asked = prompt.read(text, category)
    words = list(dict.fromkeys(term for clause in asked.clauses for term in clause.terms))
    if asked.silence is not None:
        return Choice([], [], {}, asked.silence, versions(reader), words)
    places = reader.projects(project) if project is not None else [EVERYWHERE]
    scope = Scope(projects=json.dumps(places), category=category, trust=TRUST_MIN)
    with reader.snapshot():
        head = reader.head()
        order = ranked(reader, asked, scope, previous)
        reasons = _reasons(reader, order, seen, limit)
        shown = [one for one in order.ranked if reasons[one.id] is None]
        chains = hits.Chains(reader.rows, [one.id for one in shown], sql.NOW)
        served = [hits.hit(order.rows[one.seq], chains, one.probability, one.via, titles=False) for one in shown]
    held = [Held(name, reason) for name, reason in reasons.items() if reason is not None]
    parts: dict[str, dict[str, float | int]] = {
        one.id: {"probability": round(one.probability, 4), **{key: round(value, 4) for key, value in one.told.items()}}
        for one in order.ranked
    }
    return Choice(served, held, parts, _silence(served, held), versions(reader), words, head)


def versions(reader: "Reader") -> dict[str, str | int | None]:
    """Return the versions of all that a choice depends on; `tokens` is None where words go alone."""
    table = meaning.shared()
    mine = table is not None and reader.rows(sql.VECTOR_VERSION, {}) == [(table.version,)]
    return {"ranker": RANKER, "gate": gate.gate().version, "tokens": table.version if table and mine else None}


def ranked(reader: "Reader", asked: Prompt, scope: Scope, previous: str | None = None) -> Order:
    """Return what a prompt may mean, in order. The turn before counts only where the prompt refers to it."""
    gathering = evidence.Gathering(reader, asked, scope, before(asked, previous))
    found = gathering.candidates()
    rules = gate.gate()
    model = rules.both if gathering.worded_only is False else rules.words
    heads: dict[int, list[tuple[float, Evidence]]] = {}
    for one in found:
        heads.setdefault(one.head, []).append((model.probability(one.told), one))
    best = [_head(chances) for chances in heads.values()]
    best.sort(key=lambda one: (-one.probability, -one.seq))
    rows = dict(gathering.texts)
    rows |= hits.learnings(reader.rows, [one.seq for one in best if one.seq not in rows], scope.at)
    best = [_spelled(one, rows[one.seq], gathering.terms) for one in best]
    return Order(
        _arranged(best, _Likeness(rows, gathering.vectors, gathering.space.signs)), rows, gathering.worded_only
    )


def before(asked: Prompt, previous: str | None) -> Sequence[Clause]:
    """Return the clauses of the turn before that may sharpen a prompt: none where it has left that subject."""
    if not previous or asked.leaves or not asked.refers:
        return ()
    return prompt.read(previous).clauses[-BEFORE_CLAUSES:]


def means(one: Ranked, terms: int) -> bool:
    """Return whether meaning alone makes a candidate worth an answer to a question of so many terms."""
    return one.probability >= (MEANS_FROM if terms > FEW_TERMS else MEANS_FROM_FEW)


def _head(chances: list[tuple[float, Evidence]]) -> Ranked:
    """Return a live learning with the best of what speaks for it, itself or what it replaced."""
    probability, one = max(chances, key=lambda chance: (chance[0], chance[1].seq))
    via = tuple(sorted(other.via for _, other in chances if other.via is not None))
    matched = tuple(dict.fromkeys(term for _, other in chances for term in other.matched))
    return Ranked(one.head, one.head_id, probability, dict(one.told), matched, via, None)


def _spelled(one: Ranked, row: hits.Learning, terms: Sequence[str]) -> Ranked:
    """Return a candidate that is the less likely the more of the words it holds with other accents only."""
    other = query.spelled_otherwise(terms, " ".join(str(text) for text in row[2:5]))
    cost = 1.0 - rank.SPELLING_COST * other
    return one._replace(probability=one.probability * cost, told={**one.told, "spelled_otherwise": other})


# -- learnings that stand for each other -------------------------------------------------------------------------------


def _arranged(best: list[Ranked], likeness: "_Likeness") -> list[Ranked]:
    """Return the candidates in their final order, copies and what is contradicted behind what stands for them."""
    rows = likeness.rows
    placed: list[Ranked] = []
    copies: list[Ranked] = []
    for group in _groups(best, likeness.same_subject):
        chance = max(one.probability for one in group)
        group.sort(key=lambda one: (-rows[one.seq][9], one.told["spelled_otherwise"], -one.seq))
        lead = group[0]._replace(probability=chance)
        placed.append(lead)
        for one in group[1:]:
            reason = "contradicted" if rows[one.seq][9] < rows[lead.seq][9] else "older"
            chance = min(one.probability, chance) * 0.999
            standing = one._replace(probability=chance, behind=(reason, lead.id))
            (copies if likeness.copies(one, lead) else placed).append(standing)
    placed.sort(key=lambda one: (one.behind is not None, -one.probability, -one.seq))  # what leads stands for the rest
    for group in _groups(placed, likeness.copies):
        copies += [one._replace(behind=one.behind or ("copy", group[0].id)) for one in group[1:]]
    copied = {one.id for one in copies}
    kept = sorted((one for one in placed if one.id not in copied), key=lambda one: (-one.probability, -one.seq))
    copies.sort(key=lambda one: (-one.probability, -one.seq))
    return [*kept, *(one._replace(is_copy=True) for one in copies)]


def copies_last(reader: "Reader", found: list[Match], rows: dict[int, hits.Learning]) -> list[Match]:
    """Return matches with the copies among the first ones behind all others."""
    first = found[:COMPARED]
    vectors = {
        seq: (meaning.unpacked(problem), meaning.unpacked(whole))
        for seq, problem, whole in reader.rows(sql.VECTORS, {"seqs": json.dumps([one.seq for one in first])})
    }
    likeness = _Likeness(rows, vectors)
    kept: list[Match] = []
    copies: list[Match] = []
    for one in first:
        (copies if any(likeness.copies(one, other) for other in kept) else kept).append(one)
    least = min((one.score for one in found), default=0.0)
    return [*kept, *found[COMPARED:], *(one._replace(score=least) for one in copies)]


class _Likeness:
    """Tells whether two learnings are on one subject, or say one thing."""

    def __init__(
        self,
        rows: dict[int, hits.Learning],
        vectors: dict[int, space.Vectors],
        signs: Callable[[int], tuple[int, int] | None] = lambda _: None,
    ) -> None:
        self.rows, self._vectors = rows, vectors
        self._solutions: dict[int, frozenset[str]] = {}
        self._subjects: dict[int, str] = {}
        self._told: dict[int, bool] = {}
        self._known: dict[tuple[int, int], tuple[float, float] | None] = {}
        self._signs = signs

    def same_subject(self, one: Ranked, other: Ranked) -> bool:
        """Return whether both answer the same question: one title, or problems that are all but the same.

        Of different trust less will do: showing both would show a contradiction.
        """
        first, second = self.rows[one.seq], self.rows[other.seq]
        if first[6] != second[6]:
            return False
        if self._subject(one.seq) == self._subject(other.seq) != "":
            return True
        if self._are_far(one.seq, other.seq):
            return False
        cosines = self._cosines(one.seq, other.seq)
        if cosines is not None and max(cosines) < 0.5:
            return False
        about, whole = cosines or (0.0, 0.0)
        if first[9] == second[9]:
            return (about >= 0.9 or (whole >= 0.75 and about >= 0.75)) and self._tells(one.seq, other.seq)
        if cosines is None or not self._tells(one.seq, other.seq):
            words = [frozenset(query.build(row[3] or "").terms) for row in (first, second)]
            return len(words[0] & words[1]) >= max(2, ALIKE_SHARE * min(map(len, words)))
        tags = set(json.loads(first[7] or "[]")).intersection(json.loads(second[7] or "[]"))
        return about >= 0.75 or whole >= 0.8 or (bool(tags) and whole >= 0.5)

    def copies(self, one: Ranked | Match, other: Ranked | Match) -> bool:
        """Return whether both say the same: by their whole texts, or by texts alike with one solution."""
        if self._are_far(one.seq, other.seq):
            return False
        cosines = self._cosines(one.seq, other.seq)
        if cosines is not None and cosines[1] < 0.45:
            return False
        if cosines is not None and cosines[1] >= 0.7 and self._tells(one.seq, other.seq):
            return True
        first, second = self._solution(one.seq), self._solution(other.seq)
        shared = len(first & second)
        return shared >= 2 and shared >= 0.4 * min(len(first), len(second))

    def _are_far(self, one: int, other: int) -> bool:
        """Return whether the signs of two learnings differ so much that no cosine of theirs reaches .45; 1 µs."""
        mine, theirs = self._signs(one), self._signs(other)
        if mine is None or theirs is None:
            return False
        return (mine[0] ^ theirs[0]).bit_count() > FAR and (mine[1] ^ theirs[1]).bit_count() > FAR

    def _cosines(self, one: int, other: int) -> tuple[float, float] | None:
        """Return how alike two learnings are, by their problems and by their whole texts; None without vectors."""
        key = (min(one, other), max(one, other))
        if key not in self._known:
            first, second = self._vectors.get(one), self._vectors.get(other)
            self._known[key] = (
                (meaning.cosine(first[0], second[0]), meaning.cosine(first[1], second[1]))
                if first is not None and second is not None
                else None
            )
        return self._known[key]

    def _tells(self, *seqs: int) -> bool:
        """Return whether cosines tell anything: the texts of a language the token table hardly knows are all alike."""
        for seq in seqs:
            if seq not in self._told:
                table = meaning.shared()
                text = str(self.rows[seq][3])
                self._told[seq] = table is not None and table.known(text) >= LANGUAGE_KNOWN
        return all(self._told[seq] for seq in seqs)

    def _subject(self, seq: int) -> str:
        if seq not in self._subjects:
            self._subjects[seq] = query.subject(self.rows[seq][2])
        return self._subjects[seq]

    def _solution(self, seq: int) -> frozenset[str]:
        if seq not in self._solutions:
            self._solutions[seq] = query.telling(self.rows[seq][4] or "")
        return self._solutions[seq]


def _groups(ordered: list[Ranked], alike: Callable[[Ranked, Ranked], bool]) -> list[list[Ranked]]:
    """Return the candidates in groups of what is alike, each in the order given; only the likeliest are compared."""
    group_of = list(range(len(ordered)))
    for number, one in enumerate(ordered):
        for other in range(min(number, COMPARED if number < COMPARED else LEADING)):
            mine, theirs = group_of[number], group_of[other]
            if mine != theirs and alike(one, ordered[other]):
                group_of = [theirs if group == mine else group for group in group_of]
    groups: dict[int, list[Ranked]] = {}
    for one, group in zip(ordered, group_of, strict=True):
        groups.setdefault(group, []).append(one)
    return list(groups.values())


# -- the gate ----------------------------------------------------------------------------------------------------------


def _reasons(reader: "Reader", order: Order, seen: frozenset[str], limit: int) -> dict[str, str | None]:
    """Return for every candidate why it is held back, None for what is shown."""
    rules = gate.gate()
    show_from = rules.show_from_words if order.worded else rules.show_from
    top = order.ranked[0].probability if order.ranked else 0.0
    reasons: dict[str, str | None] = {}
    shown = 0
    passing = [one.id for one in order.ranked if one.probability >= show_from]
    places: dict[str, str] = dict(reader.rows(sql.PLACES, {"ids": json.dumps(passing)})) if passing else {}
    taken: dict[str, int] = {}
    for one in order.ranked:
        reason = None
        if one.probability < show_from:
            reason = "below-gate"
        elif one.behind is not None:
            reason = one.behind[0]
        elif one.probability < rules.share_of_best * top:
            reason = "behind-best"
        elif one.id in seen:
            reason = "shown-before"
        elif taken.get(places.get(one.id, ""), 0) >= SOURCE_MAX:
            reason = "source-cap"
        elif shown >= min(limit, LIMIT_MAX):
            reason = "cap"
        reasons[one.id] = reason
        if reason is None:
            shown += 1
            if one.id in places:
                taken[places[one.id]] = taken.get(places[one.id], 0) + 1
    return reasons


def _silence(shown: list[Hit], held: list[Held]) -> str | None:
    if shown:
        return None
    if not held:
        return "nothing-found"
    return next((one.reason for one in held if one.reason == "shown-before"), "gate")
