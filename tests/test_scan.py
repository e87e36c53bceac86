"""`learnings scan`: which sources there are, what each would bring, and what is left out."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell, keys, refused
from foreign import database, export, observation
from hooked import repository
from watched import note

import importers.registry
from importers import claude_mem, usual
from importers.kinds import Where
from ledger import cli_sources


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with sources of several kinds: two projects' notes, an agent's, a repository's, a database."""
    folder = repository(tmp_path)
    projects = tmp_path / ".claude" / "projects"
    note(projects / "-demo" / "memory" / "pool.md", "Use port 6543 for the pooler.")
    (projects / "-demo" / "s1.jsonl").write_text(json.dumps({"type": "user", "cwd": str(folder)}) + "\n")
    note(projects / "-shop" / "memory" / "lint.md", "Use ruff and no other linter.")
    note(projects / "-shop" / "memory" / "tabs.md", "Use tabs in makefiles here.")
    note(tmp_path / ".claude" / "agent-memory" / "critic" / "force.md", "Ask twice before a force push.")
    note(folder / ".claude" / "agent-memory" / "tester" / "slow.md", "Run the slow tests at night only.")
    (tmp_path / ".claude-mem").mkdir()
    rows = [observation(1, "pooler refused"), observation(2, "queue dropped", memory_session_id="s-2")]
    database(tmp_path / ".claude-mem" / "claude-mem.db", *rows).close()
    return tmp_path


@pytest.fixture
def shell(home: Path) -> Shell:
    """Return a command without a ledger in that home."""
    return Shell(home)


@pytest.fixture
def inside(shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Return the same command in this process."""
    monkeypatch.setenv("HOME", str(shell.folder))
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_MEM_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Inside(shell, capsys.readouterr)


def table(document: dict[str, Any], home: Path) -> list[tuple[str, str, int, int, int, int]]:
    """Return the rows of the sources, with paths below the home."""
    return [
        (row["kind"], os.path.relpath(row["path"], home), row["items"], row["new"], row["changed"], row["gone"])
        for row in document["sources"]
    ]


def test_a_dry_run_says_what_each_source_would_bring(inside: Inside, home: Path) -> None:
    """A table for people, and nothing is made."""
    done = inside("scan", "--dry-run")

    assert [line.split() for line in done.out.splitlines()[:-1]] == [
        ["kind", "items", "new", "changed", "gone", "path"],
        ["memory-notes", "1", "1", "0", "0", "~/.claude/projects/-demo/memory"],
        ["memory-notes", "2", "2", "0", "0", "~/.claude/projects/-shop/memory"],
        ["memory-notes", "1", "1", "0", "0", "~/.claude/agent-memory/critic"],
        ["memory-notes", "1", "1", "0", "0", "~/demo/.claude/agent-memory/tester"],
        ["transcript", "0", "0", "0", "0", "~/.claude/projects/-demo"],
        ["claude-mem", "2", "2", "0", "0", "~/.claude-mem/claude-mem.db"],
    ]
    assert done.out.splitlines()[-1].startswith("would have imported: 7 recorded")
    assert not (home / "data").exists()


def test_a_scan_counts_new_changed_and_gone_for_each_source(inside: Inside, home: Path) -> None:
    """The document has today's keys and a row for each source; a second scan finds nothing."""
    done = inside.document("scan")
    assert not keys(done, "batch recorded superseded retracted unchanged diagnostics remarks sources")
    assert done["recorded"] == 7

    shop = home / ".claude" / "projects" / "-shop" / "memory"
    note(shop / "lint.md", "Use ruff and no other linter at all.")
    (shop / "tabs.md").unlink()
    note(shop / "new.md", "Use two blanks of indent in YAML.")
    again = table(inside.document("scan"), home)

    assert ("memory-notes", ".claude/projects/-shop/memory", 2, 1, 1, 1) in again
    assert [row[3:] for row in again if "-shop" not in row[1]] == [(0, 0, 0)] * 5
    assert [row[3:] for row in table(inside.document("scan"), home)] == [(0, 0, 0)] * 6


def test_a_note_that_moved_to_another_source_keeps_its_learning(inside: Inside, home: Path) -> None:
    """Additions come before removals over all sources."""
    projects = home / ".claude" / "projects"
    other = projects / "-demo-src" / "memory"  # of the same repository
    note(other / "first.md", "Use the fast mirror for packages.")
    (other.parent / "s2.jsonl").write_text((projects / "-demo" / "s1.jsonl").read_text())
    inside.document("scan")
    os.rename(projects / "-demo" / "memory" / "pool.md", other / "pool.md")

    done = inside.document("scan")

    assert (done["retracted"], done["recorded"], done["sources_added"], done["sources_removed"]) == (0, 0, 1, 1)


def test_an_added_path_is_remembered_until_it_is_forgotten(inside: Inside, home: Path) -> None:
    """An export somewhere; the answer names how to take the setting back."""
    file = home / "Downloads" / "memories.json"
    file.parent.mkdir()
    file.write_text(json.dumps(export(observation(9, "disk was full", memory_session_id="s-9"))))

    done = inside("scan", "--add", str(file))
    assert done.code == 0, done.err
    assert "undo: learnings undo" in done.err
    assert ("claude-mem", "Downloads/memories.json", 1, 0, 0, 0) in table(inside.document("scan"), home)

    inside.document("scan", "--forget", str(file))
    assert "Downloads/memories.json" not in [row[1] for row in table(inside.document("scan"), home)]
    assert inside.document("query", "disk was full")["hits"]


def test_a_usual_place_can_be_forgotten_and_added_again(inside: Inside, home: Path) -> None:
    """What it said stays; nothing of it is read until it is wanted again."""
    inside.document("scan")
    shop = home / ".claude" / "projects" / "-shop" / "memory"

    inside.document("scan", "--forget", str(shop))
    note(shop / "lint.md", "Use flake8 and no other linter.")
    done = inside.document("scan")
    assert (done["superseded"], str(shop) in [row["path"] for row in done["sources"]]) == (0, False)

    assert inside.document("scan", "--add", str(shop))["superseded"] == 1


def test_what_is_remembered_is_not_changed_by_a_dry_run(inside: Inside, home: Path) -> None:
    """It shows what would be scanned then."""
    inside.document("scan")
    more = note(home / "handbook" / "one.md", "Deploy on Mondays only, never on Fridays.").parent

    done = inside.document("scan", "--dry-run", "--add", str(more))

    assert str(more) in [row["path"] for row in done["sources"]]
    assert inside.document("config")["settings"] == []


def test_wrong_paths_are_refused_before_anything_is_read(inside: Inside, home: Path) -> None:
    """Neither something to add that is not there, nor something to forget that is unknown."""
    refused(inside("scan", "--add", str(home / "nowhere")), 15, "no such file or folder")
    assert not (home / "data").exists()
    refused(inside("scan", "--forget", str(home / "nowhere")), 15, "is not scanned")
    refused(inside("scan", "--since", "yesterday-ish"), 15, "2026-11-30")


@pytest.mark.parametrize(
    ("words", "many"),
    [
        (("--only", "claude-mem"), 1),
        (("--only", "memory-notes"), 4),
        (("--only", "~/.claude/projects"), 3),
        (("--exclude", "claude-mem"), 5),
        (("--exclude", "*/-shop/*"), 5),
        (("--only", "memory-notes", "--exclude", "*/agent-memory/*"), 2),
    ],
)
def test_a_scan_is_narrowed_by_kind_and_path(inside: Inside, words: tuple[str, ...], many: int) -> None:
    """Kinds, paths and globs; what is left out has not gone."""
    inside.document("scan")

    done = inside.document("scan", *words)

    assert (len(done["sources"]), done["retracted"], done["unchanged"] > 0) == (many, 0, True)


def test_a_glob_leaves_single_notes_out(inside: Inside, home: Path) -> None:
    """Of a folder that is read; what they said stays."""
    inside.document("scan")
    note(home / ".claude" / "projects" / "-shop" / "memory" / "lint.md", "Use flake8 and no other linter.")

    done = inside.document("scan", "--exclude", "*/lint.md")

    assert (done["superseded"], done["retracted"]) == (0, 0)


def test_a_scan_since_a_day_takes_what_changed_then(inside: Inside, home: Path) -> None:
    """Files by their time, items of a database by their own; older ones stay as they are."""
    old = home / ".claude" / "projects" / "-shop" / "memory" / "lint.md"
    os.utime(old, (1_600_000_000, 1_600_000_000))

    first = inside.document("scan", "--since", "2026-11-10")

    assert ("memory-notes", ".claude/projects/-shop/memory", 1, 1, 0, 0) in table(first, home)
    assert [row[2] for row in table(first, home) if row[0] == "claude-mem"] == [0]
    assert inside.document("scan")["recorded"] == 3
    assert inside.document("scan", "--since", "1h")["retracted"] == 0


def test_nothing_left_to_scan_is_said(inside: Inside) -> None:
    """A filter that fits nothing is a mistake."""
    refused(inside("scan", "--only", "no-such-kind"), 15, "every source is left out", "found were: ")


def test_one_bad_source_stops_no_other(inside: Inside, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An importer that breaks costs its own source; the exit status says that something was skipped."""

    def breaks(*given: object) -> list[Any]:
        raise ZeroDivisionError

    importers_ = tuple(
        one._replace(read=breaks, database=breaks) if one.kind == claude_mem.KIND else one
        for one in importers.registry.table()
    )
    monkeypatch.setattr(importers.registry, "table", lambda: importers_)

    done = inside("scan", "--json")

    assert (done.code, done.document["recorded"]) == (10, 5)
    assert [one["code"] for one in done.document["diagnostics"] if one["file"].endswith(".db")] == ["source-failed"]


def test_a_database_that_is_none_is_told_and_the_rest_comes_in(inside: Inside, home: Path) -> None:
    """Nobody named it, so that the scan as such went well."""
    (home / ".claude-mem" / "claude-mem.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9_000)

    done = inside("scan", "--json")

    assert (done.code, done.document["recorded"]) == (0, 5)
    assert "damaged" in [one["code"] for one in done.document["diagnostics"]]


def test_usual_places_follow_the_environment_and_the_clients_settings(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder of the client, another one of claude-mem, and memory that the settings moved."""
    moved, other, memories = home / "moved", home / "elsewhere", home / "memories"
    note(moved / "projects" / "-x" / "memory" / "a.md", "Use tabs.")
    note(memories / "b.md", "Use spaces.")
    (moved / "settings.json").write_text(json.dumps({"autoMemoryDirectory": "~/memories"}))
    other.mkdir()
    database(other / "claude-mem.db").close()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(moved))

    found = usual.places(Where(str(home), None, {"CLAUDE_MEM_DATA_DIR": str(other)}), lambda text: None)

    assert [tuple(one) for one in found] == [
        ("memory-notes", str(moved / "projects" / "-x" / "memory")),
        ("memory-notes", str(memories)),
        ("claude-mem", str(other / "claude-mem.db")),
    ]


def test_projects_are_those_of_sessions_and_those_the_client_knows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in a repository stands for the repository; the home is nobody's project."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (home / "plain").mkdir()
    (home / "demo" / "src").mkdir()
    known = {str(home): {}, str(home / "plain"): {}, str(home / "demo" / "src"): {}, "relative": {}, "/gone": {}}
    (home / ".claude.json").write_text(json.dumps({"projects": known}))

    assert usual.project_folders(Where(str(home), str(home / "demo" / "src"))) == [
        str(home / "demo"), str(home / "plain"),
    ]  # fmt: skip


def test_a_kind_goes_by_the_name_of_its_tool_too() -> None:
    """Nobody types `mem-zero`, which a kind without digits has to be called."""
    chosen = cli_sources.Chosen(only=("mem0",))

    assert not chosen.leaves_out("mem-zero", "/h/.mem0/history.db")
    assert chosen.leaves_out("claude-mem", "/h/c.db")
