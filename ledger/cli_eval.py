"""`learnings eval`: measure retrieval on labelled cases, and make cases of what people judged."""

import json
import tempfile
from collections.abc import Iterator
from typing import Any

from ledger import cli_text, evals
from ledger.cli_call import Arg, Call, Result, command
from ledger.cli_progress import bar
from ledger.errors import BadArgument, FileFault, NotFound
from ledger.eval_label import judged
from ledger.eval_set import LEARNINGS, QUERIES, read
from ledger.export import write
from ledger.model import plain
from ledger.place import make_folder

LABEL = "label"


@command(
    Arg("words", "DIR with learnings.jsonl and queries.jsonl; or `label DIR`: write such files from judged exposures",
        many="+"),
    Arg("--filler", "learnings about other subjects around the set: how many, or a file of them"),
    Arg("--results", "write what was found for each case to this file, one line each"),
)  # fmt: skip
def evaluate(call: Call) -> Result:
    """Load a set of cases into a temporary ledger, ask each at both settings, and say every figure."""
    given = call.given
    if given.words[0] == LABEL and len(given.words) == 2:
        return _label(call, given.words[1])
    if len(given.words) != 1:
        raise BadArgument("that is not how sets are measured; nothing was done", "learnings eval [label] DIR")
    folder = given.words[0]
    if given.results is not None:
        evals.check_place(given.results)
    known = read(folder)
    around = evals.filled(given.filler, known)
    with tempfile.TemporaryDirectory(prefix="learnings-eval-") as place, bar("loading") as progress:
        done = evals.run(known, around, place, f"{folder}/{LEARNINGS}", progress, given.filler or "")
    if given.results is not None:
        write(given.results, evals.results(done.answers))
    for remark in done.remarks:
        call.remark(remark)
    document = {
        **done.figures,
        "cases": len(known.cases),
        "rows": done.learnings,
        "took": plain(done.took),
        "results": given.results,
    }
    return Result(document, lambda: shown(document))


def shown(document: dict[str, Any]) -> Iterator[str]:
    """Show the figures, the decision to speak beside that of a gate on length, and a line for each kind."""
    rows = [(name, _cell(value)) for name, value in document.items() if not isinstance(value, dict)]
    for name in ("silence_by_class", "redundant@3"):
        rows += [(f"{name} {part}", _cell(value)) for part, value in document[name].items()]
    for setting, took in document["took"].items():
        rows.append((f"{setting} ms", f"p50 {_cell(took['p50_ms'])}, p95 {_cell(took['p95_ms'])}"))
    yield from cli_text.aligned(rows)
    yield ""
    ours, length = document["gate"]["these_results"], document["gate"]["length_only"]
    gates = [("gate", "this one", "length only")]
    yield from cli_text.aligned(gates + [(name, _cell(ours[name]), _cell(length[name])) for name in ours])
    yield ""
    kinds = document["kind_table"]
    head = ("kind", *next(iter(kinds.values()), {}))
    yield from cli_text.aligned([head, *((kind, *map(_cell, line.values())) for kind, line in kinds.items())])


def _cell(value: Any) -> str:
    return "–" if value is None else str(value)


def _label(call: Call, folder: str) -> Result:
    """Write what people judged as a set that `learnings eval` reads."""
    import os

    there = [name for name in (LEARNINGS, QUERIES) if os.path.lexists(os.path.join(folder, name))]
    if there:
        raise FileFault(
            f"{os.path.join(folder, there[0])} is there already; nothing was written", "name another folder"
        )
    with call.reading() as reader:
        learnings, cases = judged(reader)
    if not cases:
        raise NotFound("nothing was judged of which a case can be made; nothing was written", "see `learnings wrong`")
    make_folder(os.path.join(folder, LEARNINGS))
    lines = [[json.dumps(row, ensure_ascii=False) for row in rows] for rows in (learnings, cases)]
    counts = [write(os.path.join(folder, name), rows) for name, rows in zip((LEARNINGS, QUERIES), lines, strict=True)]
    document = {"folder": folder, "rows": counts[0], "cases": counts[1]}
    return Result(document, lambda: [f"wrote {counts[1]} cases and {counts[0]} learnings to {folder}"])
