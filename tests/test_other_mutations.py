"""Files of other memories with bytes changed anywhere: what is read of them are texts, or a refusal by name."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import other_memories as other
import pytest
from test_mutations import mutated

from importers import (
    agent_files,
    basic_memory,
    columns,
    files,
    mcp_memory_service,
    mem0,
    memory_server,
    quipu,
    registry,
)
from importers.files import Unread
from importers.kinds import Parsed
from ledger.errors import BadArgument
from ledger.model import Draft

FEW, MUTATIONS = 200, 20_000
"""Changed inputs of each reader: in every run, and in the long one."""

Read = Callable[[bytes], Iterable[Draft]]


def of(found: Iterable[Parsed]) -> list[Draft]:
    """Return the drafts of what was read."""
    return [draft for one in found for draft in one.drafts]


def agent(kind: str, name: str) -> Read:
    """Return a reader of another agent's file."""
    return lambda raw: of([agent_files.parse(kind, files.decoded(raw), f"/w/{name}")])


def fact(raw: bytes) -> list[Draft]:
    """Return the values of a fact of quipu."""
    found = quipu.facts(files.decoded(raw), "/w/fact.md", "demo")
    return found.drafts if found is not None else []


def rows(kind: str, fields: str) -> Read:
    """Return a reader of rows."""

    def read(raw: bytes) -> list[Draft]:
        try:
            return columns._Rows(f"/w/r.{kind}", kind, columns.mapped(fields), "demo").parsed(raw).drafts
        except BadArgument:
            return []

    return read


READERS: dict[str, tuple[Read, bytes]] = {
    "mcp-memory-service": (
        lambda raw: of(mcp_memory_service.parse(raw, "/w/m.json")),
        other.exported(other.memory(1, "Use port 6543"), other.memory(2, "Pattern: a\nContext: b\nWrong: c\nRight: d")),
    ),
    "mem0": (lambda raw: of(mem0.parse(raw, "/w/m.json")), other.LISTED),
    "memory-server": (lambda raw: of(memory_server.parse(raw, "/w/m.jsonl")), other.GRAPH),
    "basic-memory": (lambda raw: of([basic_memory.parse(files.decoded(raw), "/w/c.md")]), other.COFFEE.encode()),
    "fact": (fact, other.FACT.encode()),
    "gemini": (agent(agent_files.GEMINI, "GEMINI.md"), other.GEMINI),
    "codex": (agent(agent_files.CODEX, "MEMORY.md"), other.CODEX),
    "hermes": (agent(agent_files.HERMES, "MEMORY.md"), other.HERMES),
    "cursor": (agent(agent_files.CURSOR, ".cursor/rules/ts.mdc"), other.CURSOR),
    "csv": (rows("csv", "problem=a,solution=b,tags=c"), b'a,b,c\n1,"x ""y""\nz",t\n2,w,"u,v"\n'),
    "jsonl": (rows("jsonl", "problem=a,solution=b.c"), b'{"a": "x", "b": {"c": "y"}}\n{"a": 1, "b": {"c": [" z"]}}\n'),
}


def changed(name: str, many: int) -> None:
    """Read changed files again and again; every draft is a text."""
    read, good = READERS[name]
    draw = random.Random(f"other {name}")
    assert read(good)
    for _ in range(many):
        try:
            drafts = read(mutated(good, draw))
        except Unread:
            continue
        assert all(draft.problem.strip() and draft.solution.strip() for draft in drafts)


@pytest.mark.parametrize("name", READERS)
def test_changed_files_of_other_memories_raise_nothing(name: str) -> None:
    """Whatever bytes a file holds, it is read to drafts that are texts, or refused by name."""
    changed(name, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_twenty_thousand_changed_files_of_other_memories_raise_nothing(name: str) -> None:
    """The same, as often as the other readers are tried."""
    changed(name, MUTATIONS)


def read_changed_stores(folder: Path, many: int) -> int:
    """Read databases with bytes changed in place; return how many still gave something."""
    stores = [
        other.store(folder / "a.db", *(other.memory(one, f"text {one} " + "x" * 700) for one in range(1, 30))),
        other.history(folder / "b.db", ("a", None, "x", "ADD"), ("a", "x", "y", "UPDATE"), ("b", None, "z", "ADD")),
    ]
    state = other.state(folder / "p" / ".memory-state" / "memory.db", old="new.md", new="")
    good = {path: path.read_bytes() for path in (*stores, state)}
    draw = random.Random("other databases")
    given = 0
    for number in range(many):
        path = (*stores, state)[number % 3]
        raw = bytearray(good[path])
        for _ in range(draw.randint(1, 12)):
            at = draw.randrange(len(raw))
            raw[at : at + 1] = draw.choice((draw.randbytes(1), b"\0", b"\xff", draw.randbytes(4)))
        path.write_bytes(raw[: draw.choice((len(raw), len(raw), len(raw), draw.randrange(len(raw))))])
        if path == state:
            given += bool(quipu.marks(str(state), str(folder / "p" / "memory")).replaced)
            continue
        try:
            _, found = registry._read_database(str(path), None)
        except Unread:
            continue
        drafts = of(found)
        given += bool(drafts)
        assert all(draft.problem.strip() and draft.solution.strip() for draft in drafts)
    return given


def test_changed_databases_of_other_memories_raise_nothing(tmp_path: Path) -> None:
    """Whatever bytes a database holds, it is read to drafts that are texts, or refused by name."""
    assert read_changed_stores(tmp_path, 600) > 50


@pytest.mark.soak
def test_twenty_thousand_changed_databases_of_other_memories_raise_nothing(tmp_path: Path) -> None:
    """The same, as often as the other readers are tried."""
    assert read_changed_stores(tmp_path, MUTATIONS) > 2_000
