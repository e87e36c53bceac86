"""Read a set of labelled cases: `learnings.jsonl` and `queries.jsonl` of a folder.

Every fault of both files is collected and told in one error with file and
line; a set with a fault is not measured at all. What a field holds is never
quoted, only named.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, NamedTuple

from ledger.errors import BadArgument, BadInput
from ledger.measures import Case
from ledger.model import CATEGORIES, EVERYWHERE

LEARNINGS, QUERIES = "learnings.jsonl", "queries.jsonl"

FAULTS_TOLD = 5
"""Most faults named in the one error; the rest is counted."""

LINE_BYTES = 4_000_000
"""Longest line that is read; a prompt of several MB is a case too."""


class Row(NamedTuple):
    """One learning of a set; `line` is where it stands, `supersedes` the keys of the rows it replaces."""

    key: str
    project: str
    category: str
    tags: tuple[str, ...]
    problem: str
    solution: str
    supersedes: tuple[str, ...]
    observed_at: str
    trust: int
    line: int


class EvalSet(NamedTuple):
    """A whole set; learnings in the order of their file."""

    learnings: list[Row]
    cases: list[Case]


def _storable(value: Any) -> bool:
    """Say whether a text can be stored and written: no U+0000, no half of a surrogate pair."""
    return isinstance(value, str) and "\0" not in value and re.search("[\ud800-\udfff]", value) is None


def _text(value: Any) -> bool:
    return _storable(value) and bool(value.strip())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_storable, value))


def _groups(value: Any) -> bool:
    return isinstance(value, list) and all(_texts(item) and item for item in value)


def _optional(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _date(value: Any) -> bool:
    """Say whether a text is a date at which something can be recorded: the log writes years with four digits."""
    if not isinstance(value, str) or re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII) is None:
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return value >= "1000"


def _trust(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 4


Check = Callable[[Any], bool]

OF_LEARNING: dict[str, tuple[Check, bool]] = {
    "key": (_text, True),
    "project": (_text, True),
    "category": (lambda value: value in CATEGORIES, True),
    "tags": (_texts, False),
    "problem": (_text, True),
    "solution": (_text, True),
    "supersedes": (_optional(_text), False),
    "superseded_by": (_optional(_text), False),
    "observed_at": (_date, True),
    "trust": (_trust, False),
}
"""Keys of a learning: what each may hold, and whether it has to be there."""

OF_QUERY: dict[str, tuple[Check, bool]] = {
    "id": (_text, True),
    "kind": (_text, True),
    "project": (_text, True),
    "prompt": (lambda value: isinstance(value, str), True),
    "previous_turn": (_optional(lambda value: isinstance(value, str)), False),
    "category": (_optional(lambda value: value in CATEGORIES), False),
    "relevant": (_texts, True),
    "acceptable": (_texts, True),
    "any_of": (_groups, False),
    "wrong": (_texts, False),
    "best": (_optional(_text), False),
}
"""Keys of a case; `relevant` and `acceptable` are its labels and must be there, empty as they may be."""


class Faults:
    """Everything wrong with the files of a set, told together."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, file: str, line: int, what: str) -> None:
        """Keep one fault."""
        self._found.append(f"{file}:{line}: {what}")

    def __bool__(self) -> bool:
        return bool(self._found)

    def end(self) -> None:
        """Raise when there was any.

        Raises:
            BadInput: names the first faults with file and line.
        """
        if self._found:
            more = len(self._found) - FAULTS_TOLD
            told = "; ".join(self._found[:FAULTS_TOLD]) + (f"; and {more} more" if more > 0 else "")
            raise BadInput(f"{told}; nothing was measured", "the form of both files is in docs/reference/eval-sets.md")


def read(folder: str) -> EvalSet:
    """Read both files of a folder.

    Raises:
        BadArgument: the folder or one of the files is not there.
        BadInput: unknown or missing keys, values of the wrong form, ids twice, labels that lead nowhere.
    """
    faults = Faults()
    learnings = learnings_of(os.path.join(folder, LEARNINGS), faults)
    has_all = not faults  # or a label would be said to lead nowhere because of a fault in the other file
    path = os.path.join(folder, QUERIES)
    queries = list(_rows(path, OF_QUERY, "id", faults))
    cases = [_case(row) for _, row in queries]
    projects = {row.key: row.project for row in learnings}
    replaced = {key for row in learnings for key in row.supersedes}
    for (line, _), case in zip(queries, cases, strict=True) if has_all else ():
        for problem in _loose(case, projects, replaced):
            faults.add(path, line, problem)
    if not cases and not faults:
        faults.add(path, 1, "no case")
    faults.end()
    return EvalSet(learnings, cases)


def surrounding(path: str, known: EvalSet) -> list[Row]:
    """Read learnings that are put around a set.

    Raises:
        BadArgument, BadInput: as `read`; keys must not be the set's.
    """
    faults = Faults()
    rows = learnings_of(path, faults)
    keys = {row.key for row in known.learnings}
    for row in rows:
        if row.key in keys:
            faults.add(path, row.line, "the key is one of the set's")
    faults.end()
    return rows


def learnings_of(path: str, faults: Faults) -> list[Row]:
    """Return the learnings of a file; what replaces what is taken from both ends."""
    found = [(line, row) for line, row in _rows(path, OF_LEARNING, "key", faults)]
    olds: dict[str, list[str]] = {}
    lines = {row["key"]: line for line, row in found}
    for line, row in found:
        for name, new, old in (("supersedes", row["key"], row.get("supersedes")),
                               ("superseded_by", row.get("superseded_by"), row["key"])):  # fmt: skip
            if new is None or old is None:
                continue
            if new == old or {new, old} - lines.keys():
                faults.add(path, line, f"{name} names no other learning of this file")
            elif old not in olds.setdefault(new, []):
                olds[new].append(old)
    return [_learning(line, row, tuple(olds.get(row["key"], ()))) for line, row in found]


def made(rows: Iterator[dict[str, Any]]) -> list[Row]:
    """Return rows of our own making, which need no check."""
    return [_learning(line, row, ()) for line, row in enumerate(rows, start=1)]


def _learning(line: int, row: dict[str, Any], olds: tuple[str, ...]) -> Row:
    return Row(
        row["key"], row["project"], row["category"], tuple(row.get("tags") or ()), row["problem"], row["solution"],
        olds, row["observed_at"], row.get("trust", 2), line,
    )  # fmt: skip


def _case(row: dict[str, Any]) -> Case:
    return Case(
        row["id"], row["kind"], row["project"], row["prompt"], row.get("previous_turn"), row.get("category"),
        tuple(row["relevant"]), tuple(row["acceptable"]), tuple(map(tuple, row.get("any_of") or ())),
        tuple(row.get("wrong") or ()), row.get("best"),
    )  # fmt: skip


def _loose(case: Case, projects: dict[str, str], replaced: set[str]) -> Iterator[str]:
    """Yield labels that lead nowhere, and wishes that no search may grant."""
    keys = projects.keys()
    named = {
        "relevant": case.relevant,
        "acceptable": case.acceptable,
        "wrong": case.wrong,
        "any_of": [key for group in case.any_of for key in group],
        "best": [case.best] if case.best is not None else [],
    }
    for name, found in named.items():
        if not keys >= set(found):
            yield f"{name} names a learning that is not in {LEARNINGS}"
        elif name in ("any_of", "best") and not set(case.relevant).issuperset(found):
            yield f"{name} names a learning that is not in relevant"
    if replaced.intersection(case.relevant):
        yield "relevant names a learning that is superseded"
    if {projects[key] for key in case.relevant if key in keys} - {case.project, EVERYWHERE}:
        yield "relevant names a learning of another project"
    if set(case.wrong) & {*case.relevant, *case.acceptable}:
        yield "a learning is both wrong and right"


def _rows(
    path: str, form: dict[str, tuple[Check, bool]], own: str, faults: Faults
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a file that have the right form, with their line; keep the faults of the others."""
    seen: dict[str, int] = {}
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise BadArgument(f"{path}: not a file; nothing was measured", f"a set is {LEARNINGS} and {QUERIES}")
        with open(path, "rb") as file:
            for line, raw in enumerate(file, start=1):
                if not raw.strip():
                    continue
                row, problem = _row(raw, form)
                if row is None:
                    faults.add(path, line, problem)
                elif row[own] in seen:
                    faults.add(path, line, f"the {own} stands on line {seen[row[own]]} already")
                else:
                    seen[row[own]] = line
                    yield line, row
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise BadArgument(f"{path}: {reason}; nothing was measured", f"a set is {LEARNINGS} and {QUERIES}") from None


def _row(raw: bytes, form: dict[str, tuple[Check, bool]]) -> tuple[dict[str, Any] | None, str]:
    """Return one row, or what is wrong with it."""
    if len(raw) > LINE_BYTES:
        return None, f"longer than {LINE_BYTES:,} bytes"
    try:
        row = json.loads(
            raw.decode("utf-8").removeprefix("\ufeff"), object_pairs_hook=_object, parse_constant=_no_number
        )
    except BadInput as error:
        return None, error.message
    except (ValueError, RecursionError):
        return None, "not JSON in UTF-8"
    if not isinstance(row, dict):
        return None, "not an object"
    unknown = sorted(key for key in row if key not in form)
    if unknown:
        return None, f"unknown key {unknown[0][:40]!r}"
    missing = [key for key, (_, needed) in form.items() if needed and key not in row]
    if missing:
        return None, f"no {' and no '.join(missing)}"
    wrong = [key for key in row if not form[key][0](row[key])]
    return (None, f"{wrong[0]} does not fit") if wrong else (row, "")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of which every key stands once.

    Raises:
        BadInput: one stands twice, and readers would take either.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadInput("a key stands twice")
    return found


def _no_number(name: str) -> Any:
    """Refuse what is a number in Python and not in JSON.

    Raises:
        ValueError: always.
    """
    raise ValueError(name)


def projects_of(known: EvalSet) -> list[str]:
    """Return the projects of a set, sorted, without everywhere."""
    return sorted({row.project for row in known.learnings} - {EVERYWHERE})


def listed(known: EvalSet) -> dict[str, frozenset[str]]:
    """Return by project the categories that a case lists there."""
    found: dict[str, set[str]] = {}
    for case in known.cases:
        if case.category is not None:
            found.setdefault(case.project, set()).add(case.category)
    return {project: frozenset(names) for project, names in found.items()}
