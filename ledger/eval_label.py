"""Make cases of what people judged.

An exposure keeps keywords and never the prompt, so a case of it asks with the
keywords: good enough to catch a mistake that comes back, not to tune a gate.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ledger import sql
from ledger.answer import LIMIT_MAX
from ledger.model import EVERYWHERE
from ledger.reader import Reader

KIND = "judged"


def judged(reader: Reader) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return learnings and cases in the form of a set, both in the order they came."""
    by_exposure: dict[str, list[tuple[Any, ...]]] = {}
    for row in reader.rows(sql.JUDGEMENTS, {}):
        if row[4] is not None:
            by_exposure.setdefault(row[0], []).append(row[1:])
    cases = [_case(reader, name, rows) for name, rows in by_exposure.items()]
    named = {key for case in cases for label in ("relevant", "acceptable", "wrong") for key in case[label]}
    projects = {case["project"] for case in cases}
    rows = _around(reader, projects, named)
    known = {one["id"] for one in rows}
    return [_learning(one, known) for one in rows], cases


def _case(reader: Reader, exposure: str, rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Return the case of one exposure: what was right is relevant, or what stands in for it now."""
    right: dict[str, None] = {}
    wrong: dict[str, None] = {}
    for learning, verdict, _, _, seq in rows:
        shown = [learning] if learning else reader.rows(sql.SHOWN_OF, {"seq": seq})[0][0]
        ids = shown if isinstance(shown, list) else json.loads(shown or "[]")
        if verdict == "right":
            right.update((head, None) for name in ids for head in reader.heads(name))
        else:
            wrong.update((head, None) for name in ids for head in reader.heads(name) if head == name)
    keywords, project = json.loads(rows[-1][3]), rows[-1][2]
    return {
        "id": exposure, "project": project or EVERYWHERE, "kind": KIND, "prompt": " ".join(keywords),
        "previous_turn": None, "category": None, "relevant": [name for name in right if name not in wrong],
        "acceptable": [], "any_of": [], "wrong": list(wrong), "best": None,
    }  # fmt: skip


def _around(reader: Reader, projects: set[str], named: set[str]) -> list[dict[str, Any]]:
    """Return every current learning of these projects, what was named wherever it is, and what they replaced.

    Oldest first; what was replaced is there because people type its words.
    """
    names = {name for project in projects for name in _current(reader, project)} | named
    found = {name: reader.show(name) for name in names}
    for one in list(found.values()):
        for old in one["lineage"]["before"]:
            if old["id"] not in found:
                found[old["id"]] = reader.show(old["id"])
    kept = [one for one in found.values() if one["erased_by"] is None]
    return sorted(kept, key=lambda one: int(one["recorded_seq"]))


def _current(reader: Reader, project: str) -> Iterator[str]:
    before = None
    while True:
        page = reader.list_learnings(project=project, limit=LIMIT_MAX, before_seq=before)
        yield from (row.id for row in page.rows)
        if not page.truncated:
            return
        before = page.rows[-1].seq


def _learning(one: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    successors = [name for name in one["superseded_by"] if name in known] if one["state"] == "superseded" else []
    return {
        "key": one["id"], "project": one["project"], "category": one["category"], "tags": one["tags"],
        "problem": one["problem"], "solution": one["solution"], "supersedes": None,
        "superseded_by": successors[0] if successors else None, "observed_at": one["recorded_at"][:10],
        "trust": one["trust"],
    }  # fmt: skip
