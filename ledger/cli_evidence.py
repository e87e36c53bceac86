"""`learnings show --source`: what stands today where a learning was read, and what is around it."""

import os
from collections.abc import Iterator
from typing import Any

from ledger import cli_text, sql
from ledger.cli_call import Call
from ledger.home import machine_of
from ledger.model import Source
from ledger.settings import private_markers


def evidence(call: Call, learning: dict[str, Any]) -> list[dict[str, Any]]:
    """Return for each source of a learning what stands there today."""
    from importers.standing import standing

    with call.reading() as reader:
        markers = private_markers(reader.rows(sql.SETTINGS, {}), machine_of(call.file))
    found = []
    for source in learning["sources"]:
        place = Source(source["kind"], source["locator"] or "", source["path"], source["line"])
        said = (learning["problem"] or "", learning["solution"] or "")
        one = standing(place, said, markers, os.path.expanduser("~"))
        near = [{"line": near.line or None, "text": near.text, "who": near.who} for near in one.near]
        where = {"kind": place.kind, "path": place.path, "locator": source["locator"], "line": one.line}
        found.append({**where, "status": one.status, "message": one.message, "around": near})
    return found


def lines(found: list[dict[str, Any]]) -> Iterator[str]:
    """Show each source in a line, and what is around the place."""
    if not found:
        yield "    evidence    none: it was said at the command line or through a tool"
    for one in found:
        at = one["path"] or one["locator"] or cli_text.ERASED
        where = at if one["line"] is None else f"{at}:{one['line']}"
        yield f"    evidence    {one['status']}  {where}: {one['message']}"
        for near in one["around"]:
            who = f"{near['who']}: " if near["who"] is not None else ""
            yield cli_text.indented(f"{who}{near['text']}", f"      {near['line'] or '':>6}  ")
