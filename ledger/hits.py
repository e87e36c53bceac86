"""Make the hits of an answer: the learning, since when it is so, what it replaced, and what else claims its place.

Everything is as of one seq. Costs one statement more for each of: any hit that
replaced something, any such chain that forked.
Lean path: stdlib only.
"""

import json
from collections.abc import Iterable
from typing import Any

from ledger import answer, rank, sql
from ledger.answer import Hit
from ledger.search import Rows, Scope

Learning = tuple[Any, ...]
"""A row of `sql.LEARNINGS`."""


def learnings(rows: Rows, seqs: Iterable[int], at: int) -> dict[int, Learning]:
    """Return the rows of `sql.LEARNINGS` by seq."""
    return {row[0]: row for row in rows(sql.LEARNINGS, {"seqs": json.dumps(list(seqs)), "at": at})}


class Chains:
    """What the learnings of one answer stand in for, as of `at`."""

    def __init__(self, rows: Rows, ids: Iterable[str], at: int) -> None:
        self._rows, self._at = rows, at
        links = rows(sql.LINKS_BACK, {"ids": json.dumps(list(ids)), "at": at})
        self._replaced: dict[str, dict[str, tuple[int, str]]] = {}
        for old, new, from_seq, until in links:
            self._replaced.setdefault(new, {})[old] = (from_seq, until)
        self._named = self._names({link[0] for link in links})
        self._heads = self._forks() if links else {}

    def _names(self, ids: set[str]) -> dict[str, tuple[str | None, str, str]]:
        if not ids:
            return {}
        binds = {"ids": json.dumps(sorted(ids)), "at": self._at}
        return {name: (title, state, recorded_at) for name, title, state, recorded_at in self._rows(sql.NAMED, binds)}

    def _forks(self) -> dict[str, list[str]]:
        """Return the live heads that each replaced learning leads to."""
        onward = self._rows(sql.LINKS_ONWARD, {"ids": json.dumps(sorted(self._named)), "at": self._at})
        ends = json.dumps(sorted({link[1] for link in onward}))
        live = [row[1] for row in self._rows(sql.LIVE, {**Scope(at=self._at)._asdict(), "ids": ends})]
        return rank.heads_of([(link[0], link[1]) for link in onward], live)

    def supersedes(self, name: str) -> list[str]:
        """Return the ids that `name` replaced itself."""
        return sorted(self._replaced.get(name, ()))

    def before(self, name: str) -> list[dict[str, Any]]:
        """Return all that `name` stands in for, as {id, title, state, recorded_at, until}, last replaced first."""
        until: dict[str, tuple[int, str]] = {}
        waiting = [name]
        while waiting:
            for old, when in self._replaced.get(waiting.pop(), {}).items():
                if old not in until and old != name:
                    until[old] = when
                    waiting.append(old)
        found = []
        for old in sorted(until, key=lambda old: (-until[old][0], old)):
            title, state, recorded_at = self._named.get(old, (None, "", ""))
            told = {"id": old, "title": title, "state": state, "recorded_at": recorded_at, "until": until[old][1]}
            found.append(told)
        return found

    def others(self, name: str) -> list[str]:
        """Return the other live heads of the chain of `name`."""
        heads = {head for old in self.before(name) for head in self._heads.get(old["id"], ())}
        return sorted(heads - {name})


def hit(learning: Learning, chains: Chains, score: float, via: Iterable[str], titles: bool) -> Hit:
    """Return one learning as it is served; `titles` names what it replaced by title as well."""
    _, name, title, problem, solution, category, project, tags, state, trust, recorded_at = learning[:11]
    observed_at, confidence, pinned = learning[11:]
    before = chains.before(name)
    replaced = [
        {"id": old["id"], "title": old["title"] if titles else None, "since": old["recorded_at"], "until": old["until"]}
        for old in before[: answer.REPLACED_MAX]
    ]
    return answer.capped(
        Hit(
            id=name,
            title=title,
            problem=problem,
            solution=solution,
            category=category,
            project=project,
            tags=json.loads(tags) if tags is not None else [],
            state=state,
            trust=trust,
            recorded_at=recorded_at,
            supersedes=chains.supersedes(name),
            score=round(score, 4),
            observed_at=observed_at,
            confidence=confidence,
            pinned=bool(pinned),
            since=min(recorded_at, observed_at or recorded_at),
            replaced=replaced,
            fork=chains.others(name),
            via=list(via),
            cut=[],
            parts=None,
        )
    )
