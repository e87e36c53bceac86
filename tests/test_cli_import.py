"""`learnings import` and `scan`: notes in, a second time nothing, everything undone by its batch."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import Inside, Shell, keys, refused

from ledger import cli_import
from ledger.cli_progress import Progress

NOTE = """---
name: {name}
description: {about}
type: feedback
---
{rule}

**Why:** it was decided so.
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return a memory folder with two notes and an index."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- [ports](ports.md): which port\n- [lint](lint.md): which linter\n")
    (folder / "ports.md").write_text(NOTE.format(name="ports", about="Which port", rule="Use the pooler on port 6543."))
    (folder / "lint.md").write_text(NOTE.format(name="lint", about="Which linter", rule="Use ruff, never flake8."))
    return folder


def test_an_import_answers_with_the_keys_of_the_contract(shell: Shell, notes: Path) -> None:
    """In a child process, into a ledger that is made for it."""
    done = shell.run("import", str(notes), "--project", "demo", "--json")

    assert not keys(
        done.document, "batch recorded superseded retracted unchanged proposed quarantined skipped diagnostics"
    )
    assert done.document["recorded"] == 2
    found = shell.run("query", "pooler port", "--project", "demo", "--json").document["hits"]
    assert "6543" in found[0]["solution"]
    assert (found[0]["trust"], found[0]["project"]) == (2, "demo")


def test_a_second_import_adds_nothing_and_an_edit_supersedes(inside: Inside, notes: Path) -> None:
    """Counts say so; the file's learning follows the file."""
    inside.document("import", str(notes), "--project", "demo")

    again = inside.document("import", str(notes), "--project", "demo")
    assert (again["batch"], again["recorded"], again["unchanged"]) == (None, 0, 2)

    (notes / "ports.md").write_text(NOTE.format(name="ports", about="Which port", rule="Use the pooler on port 7654."))
    (notes / "lint.md").unlink()
    edited = inside.document("import", str(notes), "--project", "demo")
    assert (edited["superseded"], edited["retracted"]) == (1, 1)
    inside.document("undo", "--batch", str(edited["batch"]))
    assert "6543" in inside.document("query", "pooler port")["hits"][0]["solution"]


def test_the_line_for_people_says_how_to_undo_the_import(inside: Inside, shell: Shell, notes: Path) -> None:
    """It can be typed as it stands."""
    done = inside("import", str(notes), "--project", "demo")

    assert done.out == f"imported: 2 recorded  (undo: learnings undo --batch 1 --file {shell.file})\n"
    assert inside("undo", "--batch", "1").code == 0
    assert inside.document("list")["rows"] == []


def test_a_dry_run_without_a_ledger_plans_and_leaves_none(inside: Inside, shell: Shell, notes: Path) -> None:
    """A newcomer may look first."""
    done = inside("import", str(notes), "--dry-run")

    assert done.out == "would have imported: 2 recorded\n"
    assert not shell.file.parent.exists()


def test_remarks_on_notes_name_file_and_line_once_a_kind(inside: Inside, notes: Path) -> None:
    """A bad note costs none of its neighbours; `--json` has every remark."""
    (notes / "broken.md").write_bytes(b"\xff\xfe\x00")
    (notes / "MEMORY.md").write_text("- [a](gone.md): x\n- [b](lost.md): y\n")

    done = inside("import", str(notes), "--project", "demo")

    assert "2 recorded" in done.out
    assert "broken.md" in done.err
    assert f"{notes}/MEMORY.md:1: " in done.err
    assert "and 1 more like it" in done.err
    codes = [one["code"] for one in inside.document("import", str(notes))["diagnostics"]]
    assert codes.count("index-target") == 2


def test_import_needs_a_path_that_is_there(inside: Inside, shell: Shell) -> None:
    """Nothing is made for a mistake."""
    refused(inside("import"), 15, "learnings scan")
    refused(inside("import", str(shell.folder / "nowhere")), 15, "no such file or folder")
    assert not shell.file.parent.exists()


@pytest.mark.parametrize("typed", ["gone.md", "./gone.md", "~/gone.md", "{}/gone.md"])
def test_one_that_is_not_there_is_an_error_beside_others_that_are(
    inside: Inside, notes: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    """However its path was typed, the status says that something named could not be taken."""
    monkeypatch.chdir(notes)

    done = inside("import", str(notes), typed.format(notes))

    assert done.code == 10
    assert "2 recorded" in done.out
    assert "not-found" in done.err


def test_a_scan_finds_the_clients_memory_folders(inside: Inside, shell: Shell, notes: Path) -> None:
    """Those below ~/.claude/projects, and the places of the setting."""
    folder = shell.folder / ".claude" / "projects" / "-home-u-shop" / "memory"
    folder.mkdir(parents=True)
    (folder / "deploy.md").write_text(NOTE.format(name="deploy", about="Deploys", rule="Deploy on Mondays only."))

    done = inside("scan")
    assert (done.code, done.out[:20]) == (0, "imported: 1 recorded")
    assert "1 memory folders found" in done.err

    inside("config", "set", "scan_paths", json.dumps([str(notes)]))
    assert inside.document("scan")["recorded"] == 2


def test_a_scan_without_any_folder_takes_the_example_when_told(inside: Inside) -> None:
    """The first command of a newcomer has something to show in any case."""
    refused(inside("scan"), 15, "learnings import PATH")

    done = inside("scan", "--or-example")

    assert done.code == 0, done.err
    assert "example" in done.err
    assert inside.document("list", "--project", "demo")["rows"]
    again = inside.document("import", "--example")
    assert (again["recorded"], again["batch"]) == (0, None)


def test_an_export_is_read_back(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """Into another ledger, at the trust of a file."""
    inside.record("postgres hangs", "use port 6543", "--tag", "db")
    file = tmp_path / "out.jsonl"
    inside("export", "--output", str(file))
    other = Inside(Shell(tmp_path / "other"), inside._caught)

    done = other.document("import", str(file))

    assert done["recorded"] == 1
    hit = other.document("query", "postgres")["hits"][0]
    assert (hit["solution"], hit["project"], hit["tags"], hit["trust"]) == ("use port 6543", "demo", ["db"], 1)


def test_an_export_of_this_very_ledger_adds_nothing(inside: Inside, tmp_path: Path) -> None:
    """All of it is here already, and what was retracted since stays back."""
    kept, gone = (inside.record(f"{word} hangs", "use port 6543", "--tag", "db") for word in ("postgres", "redis"))
    file = tmp_path / "out.jsonl"
    inside("export", "--output", str(file))
    inside("retract", gone["id"], "--reason", "wrong")

    done = inside.document("import", str(file))

    assert (done["unchanged"], done["batch"]) == (2, None)
    assert [row["id"] for row in inside.document("list")["rows"]] == [kept["id"]]


def test_progress_is_drawn_for_a_terminal_and_is_gone_afterwards(shell: Shell, notes: Path) -> None:
    """Standard output stays the answer alone; on a pipe nothing is drawn at all."""
    outer, inner = os.openpty()
    shell.env["TERM"] = "xterm"
    for words in (["import", str(notes), "--json"], ["verify", "--json"], ["rebuild", "--json"]):
        child = [sys.executable, "-m", "ledger.cli", *words]
        done = subprocess.run(child, cwd=shell.folder, env=shell.env, stdout=subprocess.PIPE, stderr=inner, check=True)
        drawn = os.read(outer, 100_000)
        assert json.loads(done.stdout)
        assert b"\x1b[" in drawn
    os.close(inner)
    os.close(outer)

    assert "\x1b" not in shell.run("rebuild").err


def test_superseding_what_a_file_still_says_names_file_and_line(inside: Inside, notes: Path) -> None:
    """Claude Code goes on loading the file, so a person has to correct it there too."""
    inside.document("import", str(notes), "--project", "demo")
    old = inside.document("query", "pooler port")["hits"][0]["id"]

    done = inside(
        "supersede", old, "--problem", "which port", "--solution", "7654", "--reason", "it moved", "--dry-run"
    )
    document = inside.document(
        "supersede", old, "--problem", "which port", "--solution", "7654", "--reason", "it moved"
    )

    assert document["still_loaded"] == [{"file": str(notes / "ports.md"), "line": 6}]
    assert f"{notes / 'ports.md'}:6 still says it" in done.err


def test_a_learning_is_shown_with_its_sources_and_its_whole_lineage(inside: Inside, notes: Path) -> None:
    """Where it was read, what came before and after, who replaced it."""
    inside.document("import", str(notes), "--project", "demo")
    first = inside.document("query", "pooler port")["hits"][0]["id"]
    texts = ("--problem", "which port", "--reason", "it moved")
    second = inside.document("supersede", first, "--solution", "7654", *texts, "--tag", "db")["id"]
    third = inside.document("supersede", second, "--solution", "8765", *texts)["id"]

    one, two = inside("show", first).out, inside("show", second).out
    found = inside("query", "pooler port", "--include-superseded").out

    assert f"source      {notes}/ports.md:" in one
    assert "imported    in batch 1" in one
    assert f"superseded  {second}" in one
    assert f"after       {third[:12]}… current" in one
    assert f"supersedes  {first}" in two
    assert f"before      {first[:12]}… superseded" in two
    assert "tags        db" in two
    assert "SUPERSEDED" in found


def test_what_was_masked_is_remarked(inside: Inside, notes: Path) -> None:
    """Whether it came in a note or was typed."""
    secret = "gh" + "p_" + "A1b2" * 9
    (notes / "token.md").write_text(NOTE.format(name="token", about="Which token", rule=f"Use {secret} for CI."))

    done = inside("import", str(notes), "--project", "demo")
    typed = inside("record", "--problem", "ci token", "--solution", secret, "--category", "env", "--project", "demo")

    assert "secrets were masked in 1 of them" in done.err
    assert "masked in the text" in typed.err
    assert secret not in inside("export").out


def test_notes_of_a_repository_below_a_named_folder_keep_the_trust_of_a_repository(inside: Inside, notes: Path) -> None:
    """Naming a folder makes its own notes the user's, not those of a repository that lies in it."""
    agent = notes / "checkout" / ".claude" / "agent-memory" / "reviewer"
    agent.mkdir(parents=True)
    (notes / "checkout" / ".git").mkdir()
    (notes / "checkout" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (agent / "MEMORY.md").write_text("- rule of a stranger\n")

    inside.document("import", str(notes))
    rows = inside.document("sql", "SELECT solution, trust FROM current_learnings ORDER BY seq")["rows"]

    assert dict(rows)["rule of a stranger"] == 1
    assert sorted({trust for _, trust in rows}) == [1, 2]


def test_an_import_that_is_interrupted_says_that_what_it_did_stays(
    inside: Inside, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each transaction stands for itself; the next import does the rest."""

    def pressed(done: int, total: int) -> None:
        raise KeyboardInterrupt

    @contextmanager
    def bar(what: str) -> Iterator[Progress | None]:
        yield pressed if what == "recording" else None

    monkeypatch.setattr(cli_import, "bar", bar)

    done = inside("import", str(notes), "--project", "demo")

    assert done.code == 130
    assert "what was imported so far stays" in done.err.splitlines()[-2]
    assert inside.document("stats")["learnings"] == {"current": 2}
    assert inside("undo", "--batch", "1").code == 0
