"""What is left out of a foreign file is named: the row, why, and how much; and what was not read has not gone."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from importers import claude_mem, columns, foreign_sqlite, mcp_memory_service, mem0, memory_server, quipu
from importers.files import Unread

HALF = "cut \\ud83d"


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (memory_server.parse, '{"type":"entity","name":"A","observations":["%s"]}\n', "line 1: a line"),
        (mem0.parse, '[{"id":"1","memory":"%s"}]', "line 1: a memory"),
        (mcp_memory_service.parse, '{"memories":[{"content":"%s"}]}', "line 1: a memory"),
    ],
)
def test_a_file_of_which_no_row_can_be_taken_says_why(
    read: Callable[[bytes, str], object], text: str, why: str
) -> None:
    """ "Nothing can be taken" alone sends a person looking for what is not wrong."""
    with pytest.raises(Unread, match="half of a surrogate pair") as refused:
        read((text % HALF).encode(), "/w/rows.json")

    assert why in refused.value.message


def test_rows_of_which_none_is_json_say_why(tmp_path: Path) -> None:
    """The kind was told wrong: the first line that is none shows it."""
    (tmp_path / "rows.jsonl").write_text("q,a\nb,c\n")

    with pytest.raises(Unread, match="line 1: a row was left out: it is no JSON"):
        columns.read(str(tmp_path / "rows.jsonl"), "jsonl", {"solution": "a"})


def test_a_row_of_a_database_is_named_where_there_are_no_lines(tmp_path: Path) -> None:
    """A person finds observation 7 of 50,000 by its number, and a memory by its hash."""
    path = tmp_path / "claude-mem.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE observations (id INTEGER PRIMARY KEY, type TEXT, title TEXT, facts TEXT)")
        made.execute("INSERT INTO observations VALUES (7, 'bugfix', '', ''), (8, 'bugfix', 'a title', '[\"cut')")
    made.close()
    with sqlite3.connect(tmp_path / "memories.db") as store:
        store.execute("CREATE TABLE memories (content_hash TEXT, content TEXT)")
        store.execute("INSERT INTO memories VALUES (?, '')", ("a1b2c3d4e5f6" * 5,))

        rows = claude_mem.database(str(path)).diagnostics
        memories = mcp_memory_service.database(store, "/w/memories.db")[0].diagnostics
    store.close()

    assert [one.message.partition(":")[0] for one in rows] == ["observation 7 was left out", "observation 8"]
    assert memories[0].message == "the memory a1b2c3d4e5f6 was left out: it says nothing"


def test_a_history_that_is_too_long_is_said_and_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not read has not gone."""
    monkeypatch.setattr(foreign_sqlite, "ROWS_MAX", 2)
    with sqlite3.connect(":memory:") as made:
        made.execute("CREATE TABLE history (memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT)")
        made.executemany("INSERT INTO history VALUES (?, NULL, ?, 'ADD')", [(str(n), f"memory {n}") for n in range(3)])
        (found,) = mem0.database(made, "/w/history.db")
    made.close()

    assert len(found.drafts) == 2
    assert [one.code for one in found.diagnostics] == ["too-many"]
    assert not found.is_complete


def test_values_of_a_fact_beyond_the_cap_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are left out, with the line where they begin."""
    monkeypatch.setattr(quipu, "FACTS_MAX", 1)
    text = "---\ntype: fact\nentity: acme\n---\nHistory, newest first:\n- 2026-09-01: CET\n- 2026-03-02: EST\n"

    found = quipu.facts(text, "/w/memory/fact.md", "acme")

    assert found is not None
    assert len(found.drafts) == 1
    assert [(one.code, one.line) for one in found.diagnostics] == [("too-many", 7)]


def test_documents_of_quipu_beyond_the_cap_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a note that was replaced would count as live, and nobody would know."""
    monkeypatch.setattr(quipu, "MARKS_MAX", 1)
    state = tmp_path / "memory.db"
    with sqlite3.connect(state) as made:
        made.execute("CREATE TABLE doc (rel TEXT, superseded_by TEXT)")
        made.execute("INSERT INTO doc VALUES ('a.md', 'b.md'), ('c.md', 'd.md')")
    made.close()

    found = quipu.marks(str(state), str(tmp_path))

    assert list(found.replaced) == [str(tmp_path / "a.md")]
    assert "1 of its documents" in found.diagnostics[0].message
