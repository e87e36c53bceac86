"""The command that trusts what files of a repository say: `trust`."""

import os
from collections.abc import Iterator
from typing import Any

from ledger import cli_text
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.cli_write import written
from ledger.errors import BadArgument
from ledger.model import plain

SHOWN = 10
"""Most places printed for people of what is not trusted because it is not in the ledger as it stands."""


@command(
    Arg("path", "a file or folder whose notes, or export, you have read; none lists what is trusted", many="?"),
    Arg("--revoke", "take that trust back", is_flag=True),
    DRY_RUN,
)
def trust(call: Call) -> Result:
    """Let what files of a repository say now be recalled unasked; what they come to say later is asked about again."""
    from ledger import review
    from ledger import trust as grants

    if call.given.path is None:
        if call.given.revoke:
            raise BadArgument("there is no path to take trust from; nothing was written", "see `learnings trust`")
        with call.reading() as reader:
            found = review.places(reader)
        return Result({"places": plain(found)}, lambda: cli_text.aligned(review.lines(found)))
    path = grants.below(call.given.path, os.path.expanduser("~"))
    if call.given.revoke:
        with call.writing() as ledger:
            undone = grants.revoke(ledger, path, dry_run=call.given.dry_run)
        line = f"took trust back from {cli_text.counted(len(undone.undone), 'learning')} of {path}"
        return written(call, {**plain(undone), "path": path}, line, word="trust again")
    return _granted(call, path)


def _granted(call: Call, path: str) -> Result:
    from importers.registry import scan_paths
    from ledger import trust as grants

    readings = scan_paths([path], home=os.path.expanduser("~"))
    with call.writing() as ledger:
        done = grants.grant(ledger, path, readings, dry_run=call.given.dry_run)
    document: dict[str, Any] = plain(done)
    if done.seq is None:
        for text in done.remarks:
            call.remark(text)
        served = cli_text.counted(done.already, "learning")
        line = f"nothing new to trust in {path}: {served} of it need no grant"
        return Result(document, lambda: [line, *_changed(done.unknown)])
    result = written(
        call, document, f"trusted {cli_text.counted(len(done.trusted), 'learning')} of {path}", batch=done.batch
    )
    return result._replace(text=lambda: [*result.text(), *_changed(done.unknown)])


def _changed(places: list[str]) -> Iterator[str]:
    yield from (f"  not trusted: {place}" for place in places[:SHOWN])
    if len(places) > SHOWN:
        yield f"  and {len(places) - SHOWN} more"
