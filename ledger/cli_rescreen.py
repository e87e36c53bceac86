"""`review --rescreen`: what the rules of today say of what is served already; `--yes` withholds what it proposes."""

from collections.abc import Iterator
from typing import Any

from ledger import cli_text
from ledger.cli_call import Arg, Call, Result
from ledger.cli_write import written
from ledger.model import plain

RESCREEN = Arg("--rescreen", "look at what is served again, with the rules of today", is_flag=True)
YES = Arg("--yes", "with --rescreen: withhold what it proposes", is_flag=True)


def rescreened(call: Call) -> Result:
    """List what newer rules speak against; withhold it when that is asked for."""
    from ledger.rescreen import rescreen

    given = call.given
    with call.writing() as ledger:
        done = rescreen(ledger, withhold=given.yes or given.dry_run, dry_run=given.dry_run)
    document = plain(done)
    if done.seq is not None:
        line = f"withheld {cli_text.counted(done.withheld, 'learning')}"
        return written(call, document, line, batch=done.batch)
    if not call.is_json:
        for text in done.remarks:
            call.remark(text)
    return Result(document, lambda: _lines(document))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    if not document["flagged"]:
        yield f"nothing speaks against {cli_text.counted(document['looked_at'], 'learning')}"
    for one in document["flagged"]:
        yield cli_text.line_of(one["title"])
        what = "would be withheld" if one["withholds"] else "stays served"
        labels = [cli_text.short(one["id"]), one["project"] or cli_text.ERASED, cli_text.TRUST[one["trust"]], what]
        yield "  " + " · ".join(labels)
        yield f"    why         {one['reason']} ({', '.join(one['rules'])})"
