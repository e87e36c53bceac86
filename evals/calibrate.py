"""Fit the numbers of the gate: `python evals/calibrate.py DIR... [--write]`.

Every DIR holds `learnings.jsonl` and `queries.jsonl` as `learnings eval` reads
them. The candidates of every prompt are gathered by the product itself; a
logistic model then learns which of them was meant. Cross-validation leaves a
fifth of the projects out at a time and is what is printed beside the figures in
sample. With `--write` the model over everything becomes `schema/gate.v1.json`.
Plain Python: about ten minutes for 900 prompts.
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from operator import add, mul
from typing import NamedTuple

from ledger import choose, eval_set, evals, evidence, gate, meaning, measures, prompt
from ledger.ledger import Ledger
from ledger.measures import Answered, Case
from ledger.model import person
from ledger.reader import Reader
from ledger.search import Scope

SQUARED = (
    "in_problem", "ahead_words", "ahead_meaning", "share", "mass", "covered", "about", "whole", "prompt", "stands_out",
)  # fmt: skip
CROSSED = (
    "in_problem*about", "in_problem*covered", "share*about", "share*mass", "rarest*covered", "turns*about",
    "turns*mass", "about*stands_out", "about*known", "whole*known", "prompt*known", "stands_out*known",
    "ahead_meaning*known", "mass*known", "bare*about", "bare*whole", "bug*fails", "bug*trouble", "asks*bug",
    "wants*bug", "fails*share", "asks*share", "asks*about", "nearest*about", "nearest*known", "nearest*bare",
)  # fmt: skip
MEANING = frozenset(("about", "whole", "prompt", "stands_out", "agree", "ahead_meaning", "known", "nearest"))
"""Numbers that only a ledger with vectors has."""

RIDGE = 20.0
"""Penalty of a weight over numbers of unit spread; 3 to 30 differ by less than one prompt in a hundred."""

SHOW_FROM = {True: 0.48, False: 0.45}
"""Probability from which a candidate is shown, with vectors and without."""

SHARE_OF_BEST = 0.5
STEPS, STEPS_AGAIN = 9, 4
"""Newton's steps from nothing, and from the weights of all projects."""

BEND = 1e-3
"""Least curvature for which a candidate counts in the matrix of second derivatives: surer ones bend nothing."""

AROUND = 20_000
"""Learnings of other subjects around each set, a tenth in its projects: the same prompts are fitted with them and
without. Without such rows in the fit, 100,000 around cost 0.04 of precision; with them 0.00."""

FOLDS = 5
"""Parts that the projects are left out in."""


class Row(NamedTuple):
    """One candidate of one prompt: whose project, its terms, and whether it was meant."""

    project: str
    told: dict[str, float]
    meant: bool


def terms(vectors: bool) -> list[tuple[str, ...]]:
    """Return the terms of a model: every number, squares and products."""
    every: list[tuple[str, ...]] = [(name,) for name in evidence.FEATURES]
    every += [(name, name) for name in SQUARED] + [tuple(term.split("*")) for term in CROSSED]
    return [term for term in every if vectors or not MEANING.intersection(term)]


def gathered(reader: Reader, cases: Iterable[Case], keys: dict[str, str]) -> list[Row]:
    """Return the candidates of every prompt that is not silent by its form; what is merely acceptable is left out."""
    rows = []
    for case in cases:
        asked = prompt.read(case.prompt, case.category)
        if asked.silence is not None:
            continue
        projects = json.dumps(reader.projects(case.project))
        scope = Scope(projects=projects, category=case.category, trust=choose.TRUST_MIN)
        found = evidence.Gathering(reader, asked, scope, choose.before(asked, case.previous_turn)).candidates()
        for one in found:
            key = keys[one.head_id]
            if key in case.relevant or key not in case.acceptable:
                rows.append(Row(case.project, one.told, key in case.relevant))
    return rows


def fitted(rows: Sequence[Row], vectors: bool, like: gate.Numbers | None = None) -> gate.Numbers:
    """Return the logistic model of least loss (Newton's method), in the units of the numbers as they are.

    Args:
        like: a model of nearly the same rows, from which fewer steps are enough.
    """
    names = terms(vectors)
    table = [[math.prod(row.told[name] for name in term) for term in names] for row in rows]
    centres = [sum(column) / len(table) for column in zip(*table, strict=True)]
    spreads = [
        math.sqrt(sum((value - centre) ** 2 for value in column) / len(table)) or 1.0
        for column, centre in zip(zip(*table, strict=True), centres, strict=True)
    ]
    unit = [[(v - c) / s for v, c, s in zip(line, centres, spreads, strict=True)] + [1.0] for line in table]
    start = [0.0] * (len(names) + 1)
    if like is not None:
        start = [weight * spread for (_, weight), spread in zip(like.weights, spreads, strict=True)]
        start.append(
            like.bias + sum(weight * centre for (_, weight), centre in zip(like.weights, centres, strict=True))
        )
    weights = newton(unit, [float(row.meant) for row in rows], start, STEPS if like is None else STEPS_AGAIN)
    scaled = [weight / spread for weight, spread in zip(weights, spreads, strict=False)]
    bias = weights[-1] - sum(weight * centre for weight, centre in zip(scaled, centres, strict=True))
    return gate.Numbers(tuple(zip(names, scaled, strict=True)), bias)


def newton(table: list[list[float]], meant: list[float], weights: list[float], steps: int) -> list[float]:
    """Return the weights of a ridge logistic regression; the last column is the bias and bears no penalty."""
    size = len(table[0])
    for _ in range(steps):
        slope = [RIDGE * weight for weight in weights[:-1]] + [0.0]
        curve = [[RIDGE * (row == column and row < size - 1) for column in range(row + 1)] for row in range(size)]
        for line, wanted in zip(table, meant, strict=True):
            chance = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, sum(map(mul, line, weights))))))
            off, bend = chance - wanted, chance * (1.0 - chance)
            slope = list(map(add, slope, map(off.__mul__, line)))
            if bend > BEND:
                curve = [
                    list(map(add, held, map((bend * value).__mul__, line)))
                    for held, value in zip(curve, line, strict=True)
                ]
        weights = [weight - step for weight, step in zip(weights, solved(curve, slope), strict=True)]
    return weights


def solved(lower: list[list[float]], right: list[float]) -> list[float]:
    """Return x of A x = right for a symmetric positive A given by its lower half (Cholesky)."""
    size = len(right)
    root = [[0.0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            left = lower[row][column] - sum(root[row][k] * root[column][k] for k in range(column))
            root[row][column] = math.sqrt(max(left, 1e-9)) if row == column else left / root[column][column]
    half = [0.0] * size
    for row in range(size):
        half[row] = (right[row] - sum(root[row][k] * half[k] for k in range(row))) / root[row][row]
    found = [0.0] * size
    for row in reversed(range(size)):
        found[row] = (half[row] - sum(root[k][row] * found[k] for k in range(row + 1, size))) / root[row][row]
    return found


def answered(reader: Reader, cases: Iterable[Case], keys: dict[str, str]) -> dict[str, Answered]:
    """Return what the product answers with the gate that is in force."""
    return evals.asked(reader, list(cases), keys)[0]


def file_of(both: gate.Numbers, words: gate.Numbers) -> dict[str, object]:
    """Return what `gate.v1.json` holds."""
    return {
        "version": "1",
        "tokens": meaning.VERSION,
        "show_from": SHOW_FROM[True],
        "show_from_words": SHOW_FROM[False],
        "share_of_best": SHARE_OF_BEST,
        "both": told(both),
        "words": told(words),
    }


def told(numbers: gate.Numbers) -> dict[str, object]:
    """Return a model as JSON, six significant digits a weight."""
    weights = {"*".join(term): float(f"{weight:.6g}") for term, weight in numbers.weights}
    return {"bias": float(f"{numbers.bias:.6g}"), "weights": weights}


def shown(name: str, figures: dict[str, object]) -> None:
    """Print the figures that decide."""
    keys = ("recall@5", "hit@1", "precision@inj", "coverage@inj", "silence", "silence_by_class", "wrong_shown")
    print(f"{name:36}", json.dumps({key: figures[key] for key in (*keys, "redundant@3", "gate")}))


class Bench:
    """One set in a ledger of its own, with its candidates for both models."""

    def __init__(self, folder: str, where: str, around: int) -> None:
        self.name = f"{os.path.basename(where)} + {around:,}"
        self.known = eval_set.read(where)
        self.table = meaning.open_table()
        meaning.use(self.table)
        clock = evals.Clock()
        self.ledger = Ledger.init(os.path.join(folder, "ledger.db"), person(), clock=clock)
        loading = evals.Loading(self.ledger, clock, where)
        self.around = evals.filled(str(around), self.known)
        loading.load(self.known.learnings, self.around, lambda done, total: None)
        self.ledger.store.refresh_counts()
        self.keys = loading.ids
        self.rows = {vectors: self._gathered(vectors) for vectors in (True, False)}

    def _gathered(self, vectors: bool) -> list[Row]:
        meaning.use(self.table if vectors else None)
        with Ledger.open(self.ledger.path) as again:
            return gathered(again.reader, self.known.cases, self.keys)

    def answers(self, cases: Sequence[Case] | None = None) -> dict[str, Answered]:
        """Return what the product answers with the gate and the table in force; all cases when none are named."""
        with Ledger.open(self.ledger.path) as again:
            return answered(again.reader, self.known.cases if cases is None else cases, self.keys)

    def measured(self, answers: dict[str, Answered]) -> dict[str, object]:
        """Return the figures of these answers."""
        every = [*self.known.learnings, *self.around]
        replaced = {key for row in every for key in row.supersedes}
        facts = {row.key: measures.Known(row.project, row.key in replaced) for row in every}
        return measures.measured(self.known.cases, answers, facts)


def without(
    benches: Sequence[Bench], projects: Sequence[str], final: dict[bool, gate.Numbers], vectors: bool
) -> gate.Numbers:
    """Return a model that saw no prompt of these projects."""
    rest = [row for bench in benches for row in bench.rows[vectors] if row.project not in projects]
    return fitted(rest, vectors, final[vectors])


def main(arguments: list[str]) -> None:
    """Fit, print, and write with `--write`."""
    folders = [argument for argument in arguments if not argument.startswith("--")]
    with tempfile.TemporaryDirectory() as home:
        benches = []
        for number, (where, around) in enumerate((where, around) for where in folders for around in (0, AROUND)):
            os.makedirs(os.path.join(home, str(number)))
            benches.append(Bench(os.path.join(home, str(number)), where, around))
        final = {v: fitted([row for bench in benches for row in bench.rows[v]], v) for v in (True, False)}
        if "--write" in arguments:
            path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "schema", gate.FILE)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(file_of(final[True], final[False]), file, indent=1)
                file.write("\n")
        projects = sorted({case.project for bench in benches for case in bench.known.cases})
        folds = [projects[start::FOLDS] for start in range(FOLDS)]
        left_out = {vectors: [without(benches, fold, final, vectors) for fold in folds] for vectors in (True, False)}
        for bench in benches:
            for vectors in (True, False):
                meaning.use(bench.table if vectors else None)
                label = "both" if vectors else "words"
                gate.use(gate.parsed(file_of(final[True], final[False])))
                shown(f"{label} in sample {bench.name}", bench.measured(bench.answers()))
                answers: dict[str, Answered] = {}
                for fold, model in enumerate(left_out[vectors]):
                    gate.use(gate.parsed(file_of(model, model)))
                    answers |= bench.answers([case for case in bench.known.cases if case.project in folds[fold]])
                shown(f"{label} left out", bench.measured(answers))


if __name__ == "__main__":
    main(sys.argv[1:])
