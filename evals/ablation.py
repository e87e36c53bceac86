"""Take one part of retrieval away at a time: `python evals/ablation.py DIR [--filler FILE]`.

Prints one line a variant, all at the gate that ships: words alone, meaning alone,
no redirect through supersession, no gate, no folding of copies and contradictions,
previous turn unused, a gate that looks at nothing but length (in hindsight).
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ledger import choose, eval_set, evals, evidence, gate, meaning, measures, prompt, search
from ledger.ledger import Ledger
from ledger.measures import Answered
from ledger.model import person
from ledger.reader import Reader

COLUMNS = ("recall@5", "hit@1", "precision@inj", "coverage@inj", "silence", "wrong_shown")


@contextmanager
def put(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Put something in the place of a part for a while."""
    kept = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, kept)


def without_words(self: evidence.Gathering) -> None:
    """Look no word up."""


def no_heads(rows: object, scope: object, names: object) -> list[tuple[str, int, str]]:
    """Lead nowhere."""
    return []


def variants() -> dict[str, Callable[[], Any]]:
    """Return what is put in place of what, by name."""
    open_gate = gate.gate()._replace(show_from=0.0, show_from_words=0.0, share_of_best=0.0)
    return {
        "as it is": lambda: put(choose, "COMPARED", choose.COMPARED),
        "words only": lambda: put(meaning, "_shared", [None]),
        "meaning only": lambda: put(evidence.Gathering, "_look_up", without_words),
        "no redirect": lambda: put(search, "live_heads", no_heads),
        "no gate": lambda: put(gate, "_read", [open_gate]),
        "nothing folded": lambda: put(choose, "_groups", lambda ordered, alike: [[one] for one in ordered]),
        "no turn before": lambda: put(choose, "before", lambda asked, previous: ()),
    }


def answers(reader: Reader, known: eval_set.EvalSet, keys: dict[str, str], alone: bool) -> dict[str, Answered]:
    """Return what is answered; `alone` takes the order of the evidence, without what a question adds by words."""
    found = evals.asked(reader, known.cases, keys)[0]
    if not alone:
        return found
    for case in known.cases:
        scope = search.Scope(projects=json.dumps(reader.projects(case.project)), category=case.category)
        order = choose.ranked(reader, prompt.read(case.prompt, case.category), scope, case.previous_turn)
        ranked = [keys[one.id] for one in order.ranked][: evals.RANKED_MAX]
        found[case.id] = Answered(ranked, found[case.id].injected)
    return found


def main(arguments: list[str]) -> None:
    """Print the table."""
    filler = arguments[arguments.index("--filler") + 1] if "--filler" in arguments else None
    known = eval_set.read(arguments[0])
    around = evals.filled(filler, known)
    replaced = {key for row in (*known.learnings, *around) for key in row.supersedes}
    facts = {row.key: measures.Known(row.project, row.key in replaced) for row in (*known.learnings, *around)}
    with tempfile.TemporaryDirectory() as home:
        clock = evals.Clock()
        with Ledger.init(f"{home}/ledger.db", person(), clock=clock) as ledger:
            loading = evals.Loading(ledger, clock, arguments[0])
            loading.load(known.learnings, around, lambda done, total: None)
            ledger.store.refresh_counts()
        print(f"| {'variant':16} | " + " | ".join(COLUMNS) + " | redundant@3 | balanced |")
        print("|---" * (len(COLUMNS) + 3) + "|")
        figures: dict[str, Any] = {}
        for name, part in variants().items():
            with part(), Ledger.open(f"{home}/ledger.db") as ledger:
                given = answers(ledger.reader, known, loading.ids, name == "meaning only")
            figures = measures.measured(known.cases, given, facts)
            cells = [str(figures[column]) for column in COLUMNS]
            cells += [json.dumps(figures["redundant@3"]), str(figures["gate"]["these_results"]["balanced"])]
            print(f"| {name:16} | " + " | ".join(cells) + " |")
        print("length alone, in hindsight:", json.dumps(figures["gate"]["length_only"]))


if __name__ == "__main__":
    main(sys.argv[1:])
