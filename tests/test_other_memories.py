"""Other tools' memories: what comes in of each, counted by hand, what stays out, and what a second import does."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import other_memories as other
import pytest
from test_claude_mem import listing

from importers import agent_files, basic_memory, kinds, mcp_memory_service, mem0, memory_server, registry
from importers.files import Unread
from importers.plan import plan, vanished
from ledger import export, ingest
from ledger.ledger import Ledger
from ledger.model import STATES, Draft


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Return an empty ledger."""
    (tmp_path / "own").mkdir()
    with Ledger.init(str(tmp_path / "own" / "ledger.db")) as made:
        yield made


def imported(ledger: Ledger, *paths: Path, home: Path | None = None) -> dict[str, Any]:
    """Import files as the command does; return the counts."""
    readings = registry.scan_paths([str(path) for path in paths], home=str(home) if home else None)
    return ingest.together([ingest.run(ledger, one, plan, vanished) for one in readings])


def codes(answer: dict[str, Any]) -> list[str]:
    """Return the codes of the remarks."""
    return sorted(one["code"] for one in answer["diagnostics"])


def said(ledger: Ledger) -> dict[str, tuple[str, list[str]]]:
    """Return state, and solutions of what was replaced, by solution."""
    rows = {row["id"]: row for row in export.learnings(ledger.reader, STATES)}
    return {
        row["solution"]: (row["state"], sorted(rows[old]["solution"] for old in row["supersedes"]))
        for row in rows.values()
    }


OLD = other.memory(1, "Use port 5432", superseded_by=other.hash_of(2))
NEW = other.memory(2, "Use port 6543", parent_id=other.hash_of(1), version=2)
MISTAKE = "Pattern: ENOSPC\nContext: docker build\nWrong: rm -rf\nRight: prune images"
ROWS = (
    OLD,
    NEW,
    other.memory(3, "Tests run with -n 2", tags="testing, project:shop", memory_type="learning"),
    other.memory(4, "DELETEDTEXT", deleted_at=1_793_693_000.0),
    other.memory(
        5, "Pattern: ENOSPC\nContext: docker build\nWrong: rm -rf\nRight: prune images", memory_type="mistake"
    ),
    other.memory(6, "the office moves in May", tags="sensitive", memory_type="note"),
    other.memory(7, "user: hi", memory_type="conversation_turn"),
    other.memory(8, "Replaced by what is gone", superseded_by=other.hash_of(4)),
)


# -- mcp-memory-service -----------------------------------------------------------------------------------------------


def test_a_store_comes_in_with_its_lineage(ledger: Ledger, tmp_path: Path) -> None:
    """Eight rows: two of a chain, two more, one withheld, one outdated; one deleted and one raw turn stay out."""
    answer = imported(ledger, other.store(tmp_path / "sqlite_vec.db", *ROWS))

    assert said(ledger) == {
        "Use port 5432": ("superseded", []),
        "Use port 6543": ("current", ["Use port 5432"]),
        "Tests run with -n 2": ("current", []),
        "prune images\n\nNot: rm -rf": ("current", []),
        "the office moves in May": ("quarantined", []),
        "Replaced by what is gone": ("retracted", []),
    }
    (told,) = answer["diagnostics"]
    assert told["message"].endswith("turns of conversations 1, beliefs 1, deleted memories 1")


def test_what_a_store_says_of_a_memory_is_kept(tmp_path: Path) -> None:
    """Project from its tag, category from its type, time from its seconds; the tag of the project is no tag."""
    (parsed,) = read_store(other.store(tmp_path / "m.db", *ROWS))

    first = parsed.drafts[0]
    mistake = next(draft for draft in parsed.drafts if "ENOSPC" in draft.problem)
    assert (first.category, first.confidence, first.project, first.tags) == ("practice", "sure", "shop", ("decision",))
    assert first.observed_at == "2026-11-03T08:00:01.250000Z"
    assert first.source is not None
    assert first.source.locator == f"mcp-memory-service:{other.hash_of(1)}"
    assert (mistake.problem, mistake.category) == ("ENOSPC\ndocker build", "bug-fix")


def read_store(path: Path) -> list[kinds.Parsed]:
    """Read a store as the registry does."""
    importer, found = registry._read_database(str(path), None)
    assert importer.kind == mcp_memory_service.KIND
    return list(found)


def test_a_store_of_the_first_schema_is_read(ledger: Ledger, tmp_path: Path) -> None:
    """Before lineage there was none: every memory is current."""
    imported(ledger, other.store(tmp_path / "m.db", other.memory(1, "a b"), other.memory(2, "c d"), evolved=False))

    assert said(ledger) == {"a b": ("current", []), "c d": ("current", [])}


def test_queries_that_people_asked_are_stored_nowhere(ledger: Ledger, tmp_path: Path) -> None:
    """A store keeps the last queries beside each memory it found; no file of ours has one."""
    trail = '{"source": "test", "access_queries": [{"query": "SECRETQUERY", "timestamp": 1.5}], "ai_scores": [1]}'
    imported(ledger, other.store(tmp_path / "m.db", other.memory(1, "Use port 6543", metadata=trail)))

    held = b"".join(file.read_bytes() for file in (tmp_path / "own").iterdir() if file.is_file())
    assert b"Use port 6543" in held
    assert b"SECRETQUERY" not in held
    assert b"DELETEDTEXT" not in held


def test_importing_again_adds_nothing_and_what_is_deleted_since_is_taken_back(ledger: Ledger, tmp_path: Path) -> None:
    """The second time nothing changes; a deletion there retracts here, a replacement there supersedes here."""
    path = other.store(tmp_path / "m.db", *ROWS)
    imported(ledger, path)
    head = ledger.store.head()

    imported(ledger, path)
    imported(ledger, path)
    assert ledger.store.head() == head

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE memories SET deleted_at = 1.5 WHERE id = 3")
        other.put(connection, "memories", other.memory(9, "Use port 7654"))
        connection.execute("UPDATE memories SET superseded_by = ? WHERE id = 2", (other.hash_of(9),))
    imported(ledger, path)

    after = said(ledger)
    assert after["Tests run with -n 2"][0] == "retracted"
    assert after["Use port 7654"] == ("current", ["Use port 6543"])
    assert after["Use port 6543"] == ("superseded", ["Use port 5432"])


def test_a_link_that_is_made_later_between_known_memories_is_made_here_too(ledger: Ledger, tmp_path: Path) -> None:
    """Both were current here: the newer is said anew, in the place of both; once a person undid that, never again."""
    path = other.store(tmp_path / "m.db", other.memory(1, "Use port 5432"), other.memory(2, "Use port 6543"))
    imported(ledger, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE memories SET superseded_by = ? WHERE id = 1", (other.hash_of(2),))

    imported(ledger, path)

    states = [(row["solution"], row["state"]) for row in export.learnings(ledger.reader, STATES)]
    assert sorted(states) == [
        ("Use port 5432", "superseded"), ("Use port 6543", "current"), ("Use port 6543", "superseded"),
    ]  # fmt: skip
    head = ledger.store.head()
    imported(ledger, path)
    assert ledger.store.head() == head
    ledger.undo(ledger.store.head().seq)
    head = ledger.store.head()
    imported(ledger, path)
    assert ledger.store.head() == head


def test_what_a_person_undid_of_a_lineage_stays_undone(ledger: Ledger, tmp_path: Path) -> None:
    """The superseding text is undone, so the old one is current again, whatever the store says."""
    path = other.store(tmp_path / "m.db", OLD, NEW)
    imported(ledger, path)
    ledger.undo(ledger.store.head().seq)

    imported(ledger, path)

    assert said(ledger) == {"Use port 5432": ("current", []), "Use port 6543": ("undone", [])}


def test_a_store_and_its_export_tell_one_learning_in_either_order(tmp_path: Path) -> None:
    """An export has no lineage and misses nothing; with the store its links come in."""
    path = other.store(tmp_path / "m.db", OLD, NEW)
    file = tmp_path / "m.json"
    file.write_bytes(other.exported(NEW))
    for number, order in enumerate(((file, path), (path, file), (file, path, file))):
        with Ledger.init(str(tmp_path / f"{number}.db")) as ledger:
            for one in order:
                imported(ledger, one)
            current = [text for text, (state, _) in said(ledger).items() if state == "current"]
            assert current == ["Use port 6543"]
            assert said(ledger)["Use port 5432"][0] == "superseded"


@pytest.mark.parametrize("version", ["5.0.1", "6.1", "12.4"])
def test_an_export_is_read_and_a_newer_exporter_is_named(tmp_path: Path, version: str) -> None:
    """The version that was seen is said; keys nobody knows are counted."""
    raw = other.exported(*ROWS[:3], version=version, extra=[1])

    (parsed,) = mcp_memory_service.parse(raw, "/w/m.json")

    told = [one.code for one in parsed.diagnostics]
    assert len(parsed.drafts) == 3
    assert not parsed.is_complete
    assert ("newer-version" in told) == (version != "5.0.1")
    assert "no-lineage" in told
    if version != "5.0.1":
        assert version in parsed.diagnostics[0].message


def test_a_newer_store_is_named_and_what_is_known_of_it_is_read(ledger: Ledger, tmp_path: Path) -> None:
    """Migration and columns that this program does not know cost a remark."""
    path = other.store(tmp_path / "m.db", NEW)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO migration_registry VALUES (27, 'mood', 'x', 'x', NULL)")
        connection.execute("ALTER TABLE memories ADD COLUMN mood TEXT")

    answer = imported(ledger, path)

    assert answer["recorded"] == 1
    assert codes(answer) == ["newer-version", "no-learnings", "unknown-columns"]
    assert any("27" in one["message"] for one in answer["diagnostics"])


# -- mem0 -------------------------------------------------------------------------------------------------------------


def test_a_history_of_mem_zero_is_a_chain_and_what_was_deleted_stays_out(ledger: Ledger, tmp_path: Path) -> None:
    """Three texts of one memory, one deleted memory; the list of the same memory adds nothing."""
    path = other.history(
        tmp_path / "history.db",
        ("a1", None, "Use port 5432", "ADD"), ("b2", None, "DELETEDTEXT", "ADD"),
        ("a1", "Use port 5432", "Use port 6000", "UPDATE"), ("b2", "DELETEDTEXT", None, "DELETE"),
        ("a1", "Use port 6000", "Use port 6543", "UPDATE"),
    )  # fmt: skip
    (tmp_path / "list.json").write_bytes(other.LISTED)

    answer = imported(ledger, path)
    again = imported(ledger, tmp_path / "list.json")

    assert said(ledger) == {
        "Use port 5432": ("superseded", []),
        "Use port 6000": ("superseded", ["Use port 5432"]),
        "Use port 6543": ("current", ["Use port 6000"]),
    }
    assert "deleted memories 1, messages 1" in answer["diagnostics"][0]["message"]
    assert (again["recorded"], again["unchanged"]) == (0, 1)
    held = b"".join(file.read_bytes() for file in (tmp_path / "own").iterdir() if file.is_file())
    assert not any(word in held for word in (b"DELETEDTEXT", b"RAWMESSAGE", b"alice"))


def test_a_memory_that_came_back_to_an_old_text_says_it_once() -> None:
    """A circle has no newest text that is also an old one: the text stands where it stands now."""
    (parsed,) = history_of(("a", None, "x y", "ADD"), ("a", "x y", "z w", "UPDATE"), ("a", "z w", "x y", "UPDATE"))

    assert [draft.solution for draft in parsed.drafts] == ["z w", "x y"]
    assert list(parsed.past.replaced.values()) == [(parsed.drafts[0].source.locator,)]  # type: ignore[union-attr]


def history_of(*steps: tuple[str, str | None, str | None, str]) -> list[kinds.Parsed]:
    """Read a history from a file of its own."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = other.history(Path(folder) / "h.db", *steps)
        with closing(sqlite3.connect(path)) as connection:
            return mem0.database(connection, str(path))


def test_a_list_of_mem_zero_gives_its_memories() -> None:
    """One memory, one without a text; users are not kept, categories are tags."""
    (parsed,) = mem0.parse(other.LISTED, "/w/m.json")

    (draft,) = parsed.drafts
    assert (draft.solution, draft.project, draft.tags) == ("Use port 6543", "shop", ("technology",))
    assert [one.code for one in parsed.diagnostics] == ["row", "a-list"]


# -- quipu ------------------------------------------------------------------------------------------------------------


def quipu_folder(home: Path) -> Path:
    """Make a memory folder as quipu keeps it: a fact, a note that another replaced, one that it makes of others."""
    memory = home / ".claude" / "projects" / "-w-shop" / "memory"
    memory.mkdir(parents=True)
    (memory / "fact_acme__timezone.md").write_text(other.FACT)
    for name, port in (("old-port", 5432), ("new-port", 6543), ("lost", 1)):
        header = f"name: {name}\ndescription: {name} of the pooler\nmetadata:\n  type: project"
        (memory / f"{name}.md").write_text(f"---\n{header}\n---\n\nUse port {port}.\n")
    (memory / "USER.md").write_text("# You\n\n- likes tea\n")
    (memory / "_index").mkdir()
    (memory / "_index" / "detail-map.md").write_text("- a map of others\n")
    other.state(
        memory.parent / ".memory-state" / "memory.db", **{"old-port": "new-port.md", "new-port": "", "lost": "gone.md"}
    )
    return memory


def test_notes_of_quipu_come_in_with_facts_as_chains_and_marks_as_links(ledger: Ledger, tmp_path: Path) -> None:
    """Two dated values, a replaced pair, one outdated; what quipu composes of others stays out, and is named."""
    memory = quipu_folder(tmp_path)

    answer = imported(ledger, memory, home=tmp_path)

    assert said(ledger) == {
        "EST (since 2026-03-02)": ("superseded", []),
        "CET (since 2026-09-01)": ("current", ["EST (since 2026-03-02)"]),
        "Use port 5432.": ("superseded", []),
        "Use port 6543.": ("current", ["Use port 5432."]),
        "Use port 1.": ("retracted", []),
    }
    assert codes(answer) == ["no-learnings", "not-memory", "project-guessed"]
    fact = next(row for row in export.learnings(ledger.reader, STATES) if row["solution"].startswith("CET"))
    assert fact["observed_at"] == "2026-09-01T00:00:00.000000Z"
    assert (fact["problem"], fact["trust"]) == ("acme timezone", 2)


def test_a_fact_that_changes_supersedes_and_its_second_import_adds_nothing(ledger: Ledger, tmp_path: Path) -> None:
    """A newer line of its history takes the place of the last one; the note's other words do not matter."""
    memory = quipu_folder(tmp_path)
    imported(ledger, memory, home=tmp_path)
    head = ledger.store.head()
    imported(ledger, memory, home=tmp_path)
    assert ledger.store.head() == head

    note = memory / "fact_acme__timezone.md"
    note.write_text(other.FACT.replace("newest first:\n", "newest first:\n- 2026-11-02: PST\n"))
    imported(ledger, memory, home=tmp_path)

    assert said(ledger)["PST (since 2026-11-02)"] == ("current", ["CET (since 2026-09-01)"])
    assert ledger.store.head().seq == head.seq + 2  # the batch and the one new value


def test_a_state_that_cannot_be_read_is_said_and_the_notes_count_as_live(ledger: Ledger, tmp_path: Path) -> None:
    """Its marks are lost with it; the notes are not."""
    memory = quipu_folder(tmp_path)
    (memory.parent / ".memory-state" / "memory.db").write_bytes(b"SQLite format 3\0 and nothing more")

    answer = imported(ledger, memory, home=tmp_path)

    assert said(ledger)["Use port 5432."] == ("current", [])
    assert "quipu-state" in codes(answer)


def test_the_state_of_quipu_is_not_written(tmp_path: Path) -> None:
    """It is read from a copy, in WAL mode too."""
    memory = quipu_folder(tmp_path)
    folder = memory.parent / ".memory-state"
    before = listing(folder)

    registry.scan_paths([str(memory)], home=str(tmp_path))

    assert listing(folder) == before


# -- basic-memory, the memory server ----------------------------------------------------------------------------------


def test_notes_of_basic_memory_are_observations_and_prose(ledger: Ledger, tmp_path: Path) -> None:
    """Three observations and the prose; two relations stay out; tasks and timecodes are no observations."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "coffee.md").write_text(other.COFFEE)

    answer = imported(ledger, folder)
    again = imported(ledger, folder / "coffee.md")

    rows = {row["solution"]: row for row in export.learnings(ledger.reader, STATES)}
    assert list(rows) == [
        "Pour over gives clarity #brewing", "Grind fresh", "plain words with a #tag",
        "Water at 94 degrees.\n\n- [x] a task that is done\n\n- [12:30] a line of a transcript",
    ]  # fmt: skip
    method = rows["Pour over gives clarity #brewing"]
    assert (method["problem"], method["category"]) == ("Coffee Brewing: for light roasts", "workflow")
    assert method["tags"] == ["method", "brewing", "coffee"]
    assert method["observed_at"] == "2026-01-02T00:00:00.000000Z"
    assert "relations 2" in answer["diagnostics"][-1]["message"]
    assert (again["recorded"], again["unchanged"]) == (0, 4)


def test_an_observation_that_is_reworded_supersedes_and_one_that_is_gone_is_retracted(
    ledger: Ledger, tmp_path: Path
) -> None:
    """A note is one place."""
    note = tmp_path / "notes" / "coffee.md"
    note.parent.mkdir()
    note.write_text(other.COFFEE)
    imported(ledger, note.parent)

    changed = other.COFFEE.replace("gives clarity", "gives more clarity").replace("- [decision] Grind fresh\n", "")
    note.write_text(changed)
    imported(ledger, note.parent)

    after = said(ledger)
    assert after["Pour over gives more clarity #brewing"] == ("current", ["Pour over gives clarity #brewing"])
    assert after["Grind fresh"][0] == "retracted"


def test_an_edit_inside_a_folder_is_seen_although_the_folder_looks_the_same(tmp_path: Path) -> None:
    """What was read of a folder is not remembered by the folder's own times."""
    note = tmp_path / "notes" / "coffee.md"
    note.parent.mkdir()
    note.write_text("---\npermalink: a\n---\n\n- [decision] Grind fresh\n")

    (reading,) = registry.scan_paths([str(note.parent)])

    assert [draft.solution for draft in reading.drafts] == ["Grind fresh"]
    assert reading.diagnostics == []
    assert reading.marks == {}


def test_a_folder_of_memory_notes_is_not_taken_for_basic_memory(tmp_path: Path) -> None:
    """One note with a permalink among many without makes no project of it, nor does the client's own folder."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"Use port {number}.\n")
    (folder / "coffee.md").write_text(other.COFFEE)

    assert basic_memory.below(str(folder)) == []
    assert basic_memory.below(str(tmp_path / ".claude" / "projects" / "-x" / "memory")) == []
    assert {one.importer for one in registry.scan_paths([str(folder)])} == {"memory-notes"}


def test_a_graph_of_the_memory_server_gives_its_observations(ledger: Ledger, tmp_path: Path) -> None:
    """Two observations of one entity; a relation and an entity without any stay out; a reworded one supersedes."""
    path = tmp_path / "memory.jsonl"
    path.write_bytes(other.GRAPH)
    answer = imported(ledger, path)

    assert said(ledger) == {"uses port 6543": ("current", []), "deploys with make": ("current", [])}
    assert answer["diagnostics"][0]["message"].endswith("entities without observations 1, relations 1")
    path.write_bytes(other.GRAPH.replace(b"uses port 6543", b"uses port 7654"))
    imported(ledger, path)
    assert said(ledger)["uses port 7654"] == ("current", ["uses port 6543"])


def test_the_graph_as_its_server_answers_it_is_read() -> None:
    """`read_graph` gives one object of entities and relations."""
    raw = b'{"entities": [{"name": "shop", "entityType": "shop", "observations": ["a b", 7]}], "relations": [{}]}'

    assert memory_server.sniff(raw, "/w/g.json")
    (parsed,) = memory_server.parse(raw, "/w/g.json")

    assert [(draft.problem, draft.solution) for draft in parsed.drafts] == [("shop", "a b")]
    assert not parsed.is_complete


# -- files of other agents --------------------------------------------------------------------------------------------


CASES = {
    "gemini": (".gemini/GEMINI.md", other.GEMINI, agent_files.GEMINI, ["Use uv, not pip", "CI runs on port 8080"], "*"),
    "codex": (
        ".codex/memories/MEMORY.md", other.CODEX, agent_files.CODEX, ["use 6543 in containers", "never 5432"], "*",
    ),
    "hermes": (
        ".hermes/memories/USER.md", other.HERMES, agent_files.HERMES,
        ["User runs Debian 13\nwith podman", "Project uses ruff"], "*",
    ),
    "cursor": ("shop/.cursor/rules/ts.mdc", other.CURSOR, agent_files.CURSOR, ["# TS\n\n- strict mode"], "shop"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_memory_file_of_another_agent_gives_what_that_agent_wrote(
    ledger: Ledger, tmp_path: Path, name: str
) -> None:
    """By its name and its marks; at the trust of other tools' files; a second import adds nothing."""
    place, raw, kind, texts, project = CASES[name]
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_bytes(raw)

    (reading,) = registry.scan_paths([str(path)])
    imported(ledger, path)
    again = imported(ledger, path)

    assert (reading.importer, reading.trust) == (kind, 1)
    assert [(draft.solution, draft.project) for draft in reading.drafts] == [(text, project) for text in texts]
    assert (again["recorded"], again["unchanged"]) == (0, len(texts))


def test_folders_of_other_agents_are_read_by_what_they_hold(tmp_path: Path) -> None:
    """A folder that is named gives that agent's files, and nothing of it is a memory note as well."""
    for place, raw, *_ in CASES.values():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(raw)
    (tmp_path / ".codex/memories/raw_memories.md").write_text("raw\n")

    folders = [tmp_path / name for name in (".hermes/memories", ".hermes", "shop/.cursor")]
    found = registry.scan_paths([str(folder) for folder in folders])

    drafts = {reading.importer: len(reading.drafts) for reading in found}
    assert drafts == {"memory-notes": 0, agent_files.HERMES: 2, agent_files.CURSOR: 1}


# -- where each is, and what is no such file --------------------------------------------------------------------------


def test_each_kind_is_found_where_it_usually_is(tmp_path: Path) -> None:
    """In the home folder, or where its own variable says; what does not exist is not listed."""
    quipu_folder(tmp_path)
    for place, raw, *_ in CASES.values():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(raw)
    (tmp_path / ".mem0").mkdir()
    other.history(tmp_path / ".mem0" / "history.db", ("a", None, "x", "ADD"))
    (tmp_path / "graph.jsonl").write_bytes(other.GRAPH)
    (tmp_path / "basic-memory").mkdir()
    other.store(tmp_path / "mms.db", NEW)
    environ = {"MEMORY_FILE_PATH": "~/graph.jsonl", "MCP_MEMORY_SQLITE_PATH": str(tmp_path / "mms.db")}

    found = registry.usual_places(kinds.Where(str(tmp_path), str(tmp_path / "shop"), environ))

    assert sorted(place.kind for place in found) == sorted([
        "memory-notes", "mcp-memory-service", "memory-server", "mem-zero", "basic-memory", "gemini-memory",
        "codex-memory", "hermes-memory", "cursor-rules",
    ])  # fmt: skip
    assert registry.usual_places(kinds.Where(str(tmp_path / "nobody"))) == []


EMPTY: dict[str, tuple[Callable[[bytes], Any], bytes]] = {
    "mms": (lambda raw: mcp_memory_service.parse(raw, "/w/m.json"), b'{"memories": [7, {"content": ""}]}'),
    "mms shape": (lambda raw: mcp_memory_service.parse(raw, "/w/m.json"), b'{"memory": []}'),
    "mem0": (lambda raw: mem0.parse(raw, "/w/m.json"), b'{"results": [{"id": 1}]}'),
    "graph": (lambda raw: memory_server.parse(raw, "/w/m.jsonl"), b'{"type": "entity"}\n[]\nnope\n'),
    "graph bytes": (lambda raw: memory_server.parse(raw, "/w/m.jsonl"), b'{"type": "entity"}\xff\xfe\n'),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_file_of_which_nothing_can_be_taken_is_refused_by_name(name: str) -> None:
    """The code is one of those that end a command which named the file."""
    read, raw = EMPTY[name]

    with pytest.raises(Unread) as refused:
        read(raw)

    assert refused.value.code in ("no-rows", "not-text")


def test_a_long_memory_becomes_several_learnings_of_one_place(tmp_path: Path) -> None:
    """Nothing is cut off; a second import adds nothing."""
    text = "\n\n".join(f"Paragraph {number} " + "of many words " * 40 for number in range(60))

    (parsed,) = read_store(other.store(tmp_path / "m.db", other.memory(1, text)))

    assert len(parsed.drafts) == 3
    assert parsed.drafts[0].problem.endswith("(1/3)")
    assert "".join(draft.solution for draft in parsed.drafts).count("Paragraph") == 60


def test_sources_of_one_text_fold_into_one_learning(ledger: Ledger, tmp_path: Path) -> None:
    """The same sentence from two tools is one learning with two places."""
    (tmp_path / "a.jsonl").write_bytes(b'{"type":"entity","name":"Use uv","entityType":"","observations":["Use uv"]}\n')
    (tmp_path / "GEMINI.md").write_bytes(b"## Gemini Added Memories\n- Use uv\n")

    imported(ledger, tmp_path / "a.jsonl")
    answer = imported(ledger, tmp_path / "GEMINI.md")

    (row,) = export.learnings(ledger.reader, STATES)
    assert sorted(one["kind"] for one in row["sources"]) == ["gemini-memory", "memory-server"]
    assert answer["sources_added"] == 1


@pytest.mark.parametrize("seed", range(6))
def test_imports_in_any_order_and_repeated_end_alike(tmp_path: Path, seed: int) -> None:
    """Seven sources, shuffled and twice over: the same texts are current, and a third round adds nothing."""
    with Ledger.init(str(tmp_path / "other.db")) as elsewhere:
        old = elsewhere.record(Draft("which port", "Use port 1234", "env", "shop"))
        elsewhere.supersede([old.id], "which port", "Use port 4321", "moved")
        export.write(str(tmp_path / "own.jsonl"), export.jsonl(elsewhere.reader, STATES, "2026-11-30T00:00:00Z"))
    (tmp_path / "mms.json").write_bytes(other.exported(NEW))
    (tmp_path / "graph.jsonl").write_bytes(other.GRAPH)
    (tmp_path / "list.json").write_bytes(other.LISTED.replace(b'"shop"', b'""'))
    (tmp_path / "GEMINI.md").write_bytes(other.GEMINI)
    steps = (("a1", None, "Use port 5432", "ADD"), ("a1", "Use port 5432", "Use port 6543", "UPDATE"))
    sources = [
        other.store(tmp_path / "mms.db", *ROWS),
        other.history(tmp_path / "history.db", *steps),
        *(tmp_path / name for name in ("own.jsonl", "mms.json", "graph.jsonl", "list.json", "GEMINI.md")),
    ]

    with Ledger.init(str(tmp_path / "ledger.db")) as ledger:
        draw = random.Random(seed)
        for _ in range(2):
            draw.shuffle(sources)
            for source in sources:
                imported(ledger, source)
        head = ledger.store.head()
        for source in sources:
            imported(ledger, source)

        assert ledger.store.head() == head
        current = [(row["project"], row["solution"]) for row in export.learnings(ledger.reader, ("current",))]
        assert sorted(current) == [
            ("*", "CI runs on port 8080"), ("*", "Use port 6543"), ("*", "Use uv, not pip"),
            ("*", "deploys with make"), ("*", "uses port 6543"),
            ("shop", "Tests run with -n 2"), ("shop", "Use port 4321"), ("shop", "Use port 6543"),
            ("shop", "prune images\n\nNot: rm -rf"),
        ]  # fmt: skip


INDEXES = {
    "quipu": (other.DOC, "folder `memory`"),
    "basic-memory": ("CREATE TABLE entity (id INTEGER, permalink TEXT, file_path TEXT)", "its notes"),
    "cursor": ("CREATE TABLE ItemTable (key TEXT, value BLOB)", ".cursor/rules"),
}


@pytest.mark.parametrize("name", INDEXES)
def test_a_database_that_is_an_index_of_files_says_what_to_name_instead(tmp_path: Path, name: str) -> None:
    """It is not damaged and not unknown; nothing of it is taken."""
    made, words = INDEXES[name]
    with closing(sqlite3.connect(tmp_path / "i.db")) as connection:
        connection.execute(made)

    (reading,) = [one for one in registry.scan_paths([str(tmp_path / "i.db")]) if one.diagnostics]

    assert (reading.drafts, [one.code for one in reading.diagnostics]) == ([], ["no-rows"])
    assert words in reading.diagnostics[0].message
