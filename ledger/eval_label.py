"""Make cases of what people judged.

An exposure keeps keywords and never the prompt, so a case of it asks with the
keywords: good enough to catch a mistake that comes back, not to tune a gate.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ledger import sql
from ledger.answer import LIMIT_MAX
from ledger.model import EVERYWHERE
from ledger.reader import Reader

KIND = "judged"


class Verdict(NamedTuple):
    """One verdict that holds; `ids` are those that it is about, `shown` all that stood beside them."""

    verdict: str
    ids: list[str]
    shown: list[str]
    project: str | None
    keywords: list[str]
    seq: int


def judged(reader: Reader) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return learnings and cases in the form of a set, both in the order they came."""
    by_exposure: dict[str, list[Verdict]] = {}
    for exposure, learning, verdict, project, keywords, seq in reader.rows(sql.JUDGEMENTS, {}):
        if keywords is not None:
            shown = _shown_of(reader, seq)
            ids = [learning] if learning else shown
            by_exposure.setdefault(exposure, []).append(
                Verdict(verdict, ids, shown, project, json.loads(keywords), seq)
            )
    made = [_case(reader, name, verdicts) for name, verdicts in by_exposure.items()]
    cases = [case for case in made if case is not None]
    named = {key for case in cases for label in ("relevant", "acceptable", "wrong") for key in case[label]}
    projects = {case["project"] for case in cases}
    rows = _around(reader, projects, named)
    known = {one["id"] for one in rows}
    return [_learning(one, known) for one in rows], cases


def _shown_of(reader: Reader, seq: int) -> list[str]:
    found = reader.rows(sql.SHOWN_OF, {"seq": seq})[0][0]
    return found if isinstance(found, list) else json.loads(found or "[]")


def _case(reader: Reader, exposure: str, verdicts: Sequence[Verdict]) -> dict[str, Any] | None:
    """Return the case of one exposure, None when it tells nothing: that something was missing, and not what.

    What was right is relevant, or what stands in for it now; so is what a
    correction put in the place of what was wrong.
    """
    right: dict[str, None] = {}
    wrong: dict[str, None] = {}
    beside: dict[str, None] = {}
    for one in verdicts:
        corrections = [name for (name,) in reader.rows(sql.CORRECTIONS, {"seq": one.seq})]
        meant = one.ids if one.verdict == "right" else corrections
        right.update((head, None) for name in meant for head in reader.heads(name))
        if one.verdict != "right":
            wrong.update((name, None) for name in one.ids if reader.heads(name) == [name])
        beside.update((name, None) for name in one.shown if name not in one.ids and reader.heads(name) == [name])
    if not right and not wrong and all(one.verdict == "wrong" for one in verdicts):
        return None
    relevant = [name for name in right if name not in wrong]
    project = verdicts[-1].project or EVERYWHERE
    reachable = [name for name in relevant if reader.show(name)["project"] in (project, EVERYWHERE)]
    if relevant and not reachable:
        return None
    return {
        "id": exposure, "project": project, "kind": KIND, "prompt": " ".join(verdicts[-1].keywords),
        "previous_turn": None, "category": None, "relevant": reachable,
        "acceptable": [name for name in beside if name not in right and name not in wrong],
        "any_of": [], "wrong": list(wrong), "best": None,
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
