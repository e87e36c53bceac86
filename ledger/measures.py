"""Measure search and recall on labelled cases.

Pure: cases and answers in, figures out. Their names are the contract of
`learnings eval --json`. Two answers are judged for each case: `ranked`, what a
search returns, and `injected`, what a prompt would be shown, of which the
first three count. None stands where nothing could be measured.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ledger.model import EVERYWHERE

LONG_CHARS = 300
"""A quiet prompt of this many characters or more is `long`."""

SHOWN_MAX, SEEN_MAX, RECALL_AT = 3, 10, 5
"""Injected rows that count; ranked rows that are looked at for leaks; the cut of recall."""

QUIET_CLASSES = ("short", "long", "after_turn")


class Case(NamedTuple):
    """One prompt with its labels; keys are those of the learnings of its set.

    `relevant` must be found and is empty when silence is right; `acceptable`
    does no harm; of each group of `any_of` one member is enough, and `best` is
    the member that should come first; `wrong` is a mistake when shown.
    """

    id: str
    kind: str
    project: str
    prompt: str
    previous_turn: str | None = None
    category: str | None = None
    relevant: tuple[str, ...] = ()
    acceptable: tuple[str, ...] = ()
    any_of: tuple[tuple[str, ...], ...] = ()
    wrong: tuple[str, ...] = ()
    best: str | None = None


class Answered(NamedTuple):
    """What came back for one case, as keys."""

    ranked: Sequence[str] = ()
    injected: Sequence[str] = ()


class Known(NamedTuple):
    """What the figures need to know of one learning."""

    project: str
    is_superseded: bool


class Judged(NamedTuple):
    """One case with everything that is counted for it; None where a measure does not apply."""

    case: Case
    ranked: list[str]
    shown: list[str]
    fine: int
    leaks: int
    foreign: int
    wrong: int
    copies_ranked: int
    copies_shown: int
    quiet: float | None
    recall: float | None
    rank: float | None
    first: float | None
    cover: float | None
    best_first: float | None
    wrong_above: float | None

    @property
    def wants_answer(self) -> bool:
        """Tell whether something has to be found."""
        return self.recall is not None


def units(case: Case) -> list[set[str]]:
    """Return what has to be found: each relevant key once, a group of copies as one unit."""
    groups = [set(group) for group in case.any_of]
    copies = set().union(*groups)
    return [{key} for key in case.relevant if key not in copies] + groups


def judge(case: Case, answer: Answered, learnings: Mapping[str, Known], groups: Iterable[frozenset[str]]) -> Judged:
    """Return what one answer is worth; `groups` are the copies of the whole set."""
    groups = list(groups)
    ranked = list(dict.fromkeys(answer.ranked))
    shown = list(dict.fromkeys(answer.injected))[:SHOWN_MAX]
    wanted, relevant, wrong = units(case), set(case.relevant), set(case.wrong)
    fine = relevant | set(case.acceptable)
    seen = set(ranked[:SEEN_MAX]) | set(shown)
    right_at, wrong_at = _first_of(ranked, relevant), _first_of(ranked, wrong)
    in_place = (case.project, EVERYWHERE)
    is_above = wrong_at is not None and (right_at is None or wrong_at < right_at)
    return Judged(
        case=case,
        ranked=ranked,
        shown=shown,
        fine=len(fine.intersection(shown)),
        leaks=sum(key in learnings and learnings[key].is_superseded for key in seen),
        foreign=sum(_project_of(key, learnings) not in in_place for key in seen),
        wrong=len(wrong.intersection(shown)),
        copies_ranked=_copies(ranked[:SHOWN_MAX], groups),
        copies_shown=_copies(shown, groups),
        quiet=None if wanted else float(fine.issuperset(shown)),
        recall=sum(not unit.isdisjoint(ranked[:RECALL_AT]) for unit in wanted) / min(RECALL_AT, len(wanted))
        if wanted
        else None,
        rank=(1 / (right_at + 1) if right_at is not None and right_at < SEEN_MAX else 0.0) if wanted else None,
        first=float(right_at == 0) if wanted else None,
        cover=float(not relevant.isdisjoint(shown)) if wanted else None,
        best_first=float(ranked[:1] == [case.best]) if wanted and case.best else None,
        wrong_above=float(is_above) if wanted and wrong else None,
    )


def measured(cases: Sequence[Case], answers: Mapping[str, Answered], learnings: Mapping[str, Known]) -> dict[str, Any]:
    """Return every figure of a set; cases without an answer count as answered by nothing, and are counted."""
    groups = {frozenset(group) for case in cases for group in case.any_of}
    judged = [judge(case, answers.get(case.id, Answered()), learnings, groups) for case in cases]
    table = kind_table(judged)
    return {
        "recall@5": _mean(one.recall for one in judged),
        "mrr@10": _mean(one.rank for one in judged),
        "hit@1": _mean(one.first for one in judged),
        "precision@inj": _share(sum(one.fine for one in judged), sum(len(one.shown) for one in judged)),
        "coverage@inj": _mean(one.cover for one in judged),
        "silence": _mean(one.quiet for one in judged),
        "silence_by_class": {name: _mean(one.quiet for one in judged if _class(one.case) == name) for name in
                             QUIET_CLASSES},
        "injected": sum(len(one.shown) for one in judged),
        "leaks": sum(one.leaks for one in judged),
        "wrong_project": sum(one.foreign for one in judged),
        "wrong_shown": sum(one.wrong for one in judged),
        "planted_shown": sum(one.wrong for one in judged if one.case.kind == "planted"),
        "wrong_above_right": _mean(one.wrong_above for one in judged),
        "redundant@3": {
            "ranked": sum(one.copies_ranked for one in judged),
            "injected": sum(one.copies_shown for one in judged),
        },
        "best_of_group@1": _mean(one.best_first for one in judged),
        "missing_ids": sum(case.id not in answers for case in cases),
        "gate": {
            "these_results": spoken(judged, lambda one: bool(one.shown)),
            "length_only": length_gate(judged),
        },
        "by_kind": {
            kind: line["recall@5"] if line["silence"] is None else line["silence"] for kind, line in table.items()
        },
        "kind_table": table,
    }  # fmt: skip


def kind_table(judged: Iterable[Judged]) -> dict[str, dict[str, Any]]:
    """Return the figures of each kind of case; quiet cases of a kind are a line of their own."""
    kinds: dict[str, list[Judged]] = {}
    for one in judged:
        kinds.setdefault(one.case.kind + ("" if one.wants_answer else " (quiet)"), []).append(one)
    return {
        kind: {
            "n": len(group),
            "recall@5": _mean(one.recall for one in group),
            "hit@1": _mean(one.first for one in group),
            "coverage": _mean(one.cover for one in group),
            "silence": _mean(one.quiet for one in group),
            "precision": _share(sum(one.fine for one in group), sum(len(one.shown) for one in group)),
            "wrong_shown": sum(one.wrong for one in group),
        }
        for kind, group in sorted(kinds.items())
    }


# -- the decision to speak -------------------------------------------------------------------------------------------


def spoken(judged: Sequence[Judged], speaks: Callable[[Judged], bool]) -> dict[str, Any]:
    """Return how a yes or no to speaking fares: speaking when wanted, silence when wanted, and their mean."""
    wanted = _mean(float(speaks(one)) for one in judged if one.wants_answer)
    calm = [one for one in judged if not one.wants_answer]
    quiet = _mean(float(not speaks(one)) for one in calm)
    by_class = {
        f"silent_{name}": _mean(float(not speaks(one)) for one in calm if _class(one.case) == name)
        for name in QUIET_CLASSES
    }
    balanced = round(((wanted or 0) + (quiet or 0)) / 2, 3)
    return {"speaks_when_wanted": wanted, "silent_when_wanted": quiet, **by_class, "balanced": balanced}


def length_gate(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return what the best window of prompt lengths reaches, chosen in hindsight over these very labels.

    A gate that reads the words has to be clearly better. It shows the first
    three ranked rows whenever it speaks.
    """
    lengths = [(len(one.case.prompt), one.wants_answer) for one in judged]
    low, high = _best_window(lengths)

    def speaks(one: Judged) -> bool:
        return low <= len(one.case.prompt) <= high

    given = [(one, one.ranked[:SHOWN_MAX] if speaks(one) else []) for one in judged]
    right = sum(len({*one.case.relevant, *one.case.acceptable}.intersection(rows)) for one, rows in given)
    covers = (float(not set(one.case.relevant).isdisjoint(rows)) for one, rows in given if one.wants_answer)
    return {
        "speaks_between": [low, high],
        "auc_of_length": _auc(lengths),
        "precision@inj": _share(right, sum(len(rows) for _, rows in given)),
        "coverage@inj": _mean(covers),
        **spoken(judged, speaks),
    }


def _best_window(lengths: Sequence[tuple[int, bool]]) -> tuple[int, int]:
    """Return the window with the best sum of both shares; of equal ones the last by low and then high."""
    points = sorted({length for length, _ in lengths})
    talk = {point: sum(length == point and wants for length, wants in lengths) for point in points}
    calm = {point: sum(length == point and not wants for length, wants in lengths) for point in points}
    wanted, quiet = max(1, sum(talk.values())), max(1, sum(calm.values()))
    best = (-1.0, 0, 0)
    for at, low in enumerate(points):
        spoke = disturbed = 0
        for high in points[at:]:
            spoke, disturbed = spoke + talk[high], disturbed + calm[high]
            best = max(best, (spoke / wanted + (1 - disturbed / quiet), low, high))
    return best[1], best[2]


def _auc(lengths: Sequence[tuple[int, bool]]) -> float | None:
    """Return how often a prompt that wants an answer is the longer one of a pair; equal lengths count half."""
    calm = [length for length, wants in lengths if not wants]
    return _mean((one > other) + 0.5 * (one == other) for one, wants in lengths if wants for other in calm)


# -- small parts -----------------------------------------------------------------------------------------------------


def _class(case: Case) -> str:
    """Return the class of a quiet case, '' for one that wants an answer."""
    if units(case):
        return ""
    if case.previous_turn:
        return "after_turn"
    return "long" if len(case.prompt) >= LONG_CHARS else "short"


def _first_of(ranked: Sequence[str], keys: set[str]) -> int | None:
    return next((at for at, key in enumerate(ranked) if key in keys), None)


def _copies(keys: Sequence[str], groups: Iterable[frozenset[str]]) -> int:
    """Return how many rows only repeat another one of their group."""
    return sum(max(0, len(group.intersection(keys)) - 1) for group in groups)


def _project_of(key: str, learnings: Mapping[str, Known]) -> str:
    """Return the project of a learning; one outside the set carries it before its last slash."""
    return learnings[key].project if key in learnings else key.rpartition("/")[0]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 3) if known else None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None
