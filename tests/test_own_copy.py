"""The client's own copy: every line that still says what is not true any more, and what is loaded anyway."""

import os
import time
from pathlib import Path

import pytest

from ledger import own_copy
from ledger.echo import Learned
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.own_copy import Loaded, contradictions, instructions, notes, repeated, standing

OLD = Learned(
    "lrn_" + "a" * 26, "Pooler", "the pooler refuses connections from Docker", "connect through port 6543", "demo"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with every kind of file that a client loads."""
    for name, text in {
        "home/.claude/CLAUDE.md": "Be brief.\n",
        "home/.claude/rules/style.md": "Use British spelling.\n",
        "src/AGENTS.md": "# Agents\n\n- connect through port 6543\n",
        "src/demo/CLAUDE.md": "# Demo\n\nThe pooler refuses connections from Docker, so connect through port 6543.\n",
        "src/demo/.claude/rules/db/pooler.md": "* Port `6543`: from Docker, the pooler refuses connections\n",
        "src/demo/README.md": "connect through port 6543\n",
        "memory/MEMORY.md": "# Index\n\n- [Pooler](pooler.md) port\n",
        "memory/pooler.md": "---\nname: pooler\n---\n\nconnect through port 6543\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "src/demo/CLAUDE.local.md").symlink_to(tmp_path / "src/demo/README.md")
    return tmp_path


def files(project: Path) -> list[str]:
    """Return the files that are looked at."""
    found = instructions(str(project / "src/demo"), str(project / "home"))
    return [path for path in [*found, *notes([str(project / "memory")])] if path.startswith(str(project))]


def test_every_file_that_a_client_loads_is_found(project: Path) -> None:
    """Nearest first, rules below any folder, the user's own last, the index before its notes; no links."""
    assert [str(Path(path).relative_to(project)) for path in files(project)] == [
        "src/demo/CLAUDE.md", "src/demo/.claude/rules/db/pooler.md", "src/AGENTS.md", "home/.claude/CLAUDE.md",
        "home/.claude/rules/style.md", "memory/MEMORY.md", "memory/pooler.md",
    ]  # fmt: skip


def test_every_line_that_says_it_is_named(project: Path) -> None:
    """Word by word and in other words, in instructions, rules and notes."""
    found = standing(OLD, files(project))

    assert [(Path(one.file).name, one.line) for one in found] == [
        ("CLAUDE.md", 3), ("pooler.md", 1), ("AGENTS.md", 3), ("pooler.md", 5),
    ]  # fmt: skip


def test_a_line_that_says_what_is_true_instead_is_not_named(project: Path) -> None:
    """Even when it holds the old text."""
    new = "connect through port 6543 with TLS"
    (project / "src/AGENTS.md").write_text("- connect through port 6543 with TLS\n")

    found = standing(OLD, [str(project / "src/AGENTS.md")], [new])

    assert found == []


def test_files_and_learnings_that_contradict_each_other_are_listed(ledger: Ledger, project: Path) -> None:
    """Superseded and retracted ones, with what is true instead; lines of current ones are none."""
    old = ledger.record(Draft(OLD.problem, OLD.solution, "env", "demo"))
    new = ledger.supersede(old.id, OLD.problem, "connect through port 7000", "it moved")
    gone = ledger.record(Draft("how to write", "Use British spelling everywhere", "practice", "*"))
    ledger.retract(gone.id, "nobody does")
    (project / "home/.claude/rules/style.md").write_text("Use British spelling everywhere.\n")
    (project / "home/.claude/CLAUDE.md").write_text("From Docker, connect through port 7000.\n")

    found = contradictions(ledger.reader, files(project))

    assert {(Path(one.file).name, one.line, one.learning, one.state, *one.heads) for one in found} == {
        ("CLAUDE.md", 3, old.id, "superseded", new.id), ("pooler.md", 1, old.id, "superseded", new.id),
        ("AGENTS.md", 3, old.id, "superseded", new.id), ("pooler.md", 5, old.id, "superseded", new.id),
        ("style.md", 1, gone.id, "retracted"),
    }  # fmt: skip


def test_what_was_brought_back_contradicts_nothing(ledger: Ledger, project: Path) -> None:
    """An undo makes the old one true again."""
    old = ledger.record(Draft(OLD.problem, OLD.solution, "env", "demo"))
    new = ledger.supersede(old.id, OLD.problem, "connect through port 7000", "it moved")

    ledger.undo(new.seq)

    assert contradictions(ledger.reader, files(project)) == []


def test_what_the_client_has_loaded_is_told(tmp_path: Path) -> None:
    """All of an instruction file; of an index only what lies above its cliff."""
    index, rules = tmp_path / "MEMORY.md", tmp_path / "CLAUDE.md"
    index.write_text(
        "- the queue drops messages over 256 KB\n" + "- x\n" * 199 + "- use ruff for linting, never flake8\n"
    )
    rules.write_text("x\n" * 300 + "Make dev needs Node 22, install it with nvm.\n")
    learnings = [
        Learned("one", "", "big messages", "the queue drops messages over 256 KB", "demo"),
        Learned("two", "", "which linter", "use ruff for linting, never flake8", "demo"),
        Learned("three", "", "make dev fails", "make dev needs Node 22, install it with nvm", "demo"),
        Learned("four", "", "the gateway", "listens on port 9000 since the move", "demo"),
    ]

    assert repeated(learnings, [str(index), str(rules), str(tmp_path / "none.md")]) == {"one", "three"}


def test_what_is_loaded_is_read_anew_when_it_is_another_file(tmp_path: Path) -> None:
    """And not otherwise: a prompt pays for a look at the files, not for reading them."""
    rules = tmp_path / "CLAUDE.md"
    rules.write_text("use ruff for linting, never flake8\n" + "x y z\n" * 150 + "a kettle whistles on stove 7\n" * 50)
    loaded = Loaded(lambda folder: [str(tmp_path / "none.md"), os.path.join(folder, "CLAUDE.md")])
    linter = Learned("two", "", "which linter", "use ruff for linting, never flake8", "demo")

    first = loaded.repeated(str(tmp_path), [linter])
    begun = time.perf_counter()
    for _ in range(100):
        loaded.repeated(str(tmp_path), [linter])
    each_ms = 10 * (time.perf_counter() - begun)
    rules.write_text("use black")
    second = loaded.repeated(str(tmp_path), [linter])

    assert (first, second) == ({"two"}, frozenset())
    assert each_ms < 5  # 0.1 on a quiet machine


def test_files_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    """A folder, a binary, a file that is gone."""
    (tmp_path / "CLAUDE.md").mkdir()
    (tmp_path / "AGENTS.md").write_bytes(b"\xff\x00\x01connect through port 6543")

    assert standing(OLD, [str(tmp_path / name) for name in ("CLAUDE.md", "none.md")]) == []
    assert own_copy.instructions(str(tmp_path), str(tmp_path))[:1] == [str(tmp_path / "AGENTS.md")]


def test_a_line_in_the_words_of_a_learning_neither_hides_nor_protects(tmp_path: Path) -> None:
    """What was true before the move, or is denied, is no copy of what is true now."""
    rules = tmp_path / "CLAUDE.md"
    rules.write_text("The pooler port is 5432.\nDo not install packages with pnpm here.\n")
    moved = Learned("new", "", "pooler port", "The pooler port moved from 5432 to 6543", "demo")
    pnpm = Learned("pnpm", "", "npm install fails", "install packages with pnpm", "demo")
    old = Learned("old", "", "pooler port", "The pooler port is 5432", "demo")

    assert repeated([moved, pnpm], [str(rules)]) == frozenset()
    assert [one.line for one in standing(old, [str(rules)], [moved.solution])] == [1]


SAME = [
    "* **Connect**   through `port 6543` of the pooler.\n",
    "CONNECT THROUGH PORT 6543 OF THE POOLER\n",
    "1. From Docker: _connect through port 6543 of the pooler_, always.\n",
    "> connect through port 6543 of the pooler\n",
    "- connect through port 6543\n  of the pooler, please\n",
    "Connect\nthrough port\n6543 of\nthe pooler.\n",
    "connect through port 6543 of the pooler, not 5432\n",
]
OTHERS = [
    "Do not connect through port 6543 of the pooler.\n",
    "Connect through port 6543 of the pooler is wrong.\n",
    'The old note said "connect through port 6543 of the pooler" once upon a time in Berlin.\n',
    "connect through port 65432 of the pooler\n",
]
POOLER = Learned("old", "", "no route to the host of billing", "connect through port 6543 of the pooler", "demo")


@pytest.mark.parametrize(("text", "is_stale"), [*((one, True) for one in SAME), *((one, False) for one in OTHERS)])
def test_neither_marks_nor_case_nor_a_wrapped_line_hide_what_is_stale(
    ledger: Ledger, tmp_path: Path, text: str, is_stale: bool
) -> None:
    """And what denies it, quotes it, or only has the same words, is none."""
    rules = tmp_path / "CLAUDE.md"
    rules.write_text("# Rules\n\n" + text)
    made = ledger.record(Draft(POOLER.problem, POOLER.solution, "env", "demo"))
    ledger.retract(made.id, "it is gone")

    found = [one.line for one in standing(POOLER, [str(rules)])]

    assert found == ([3] if is_stale else [])
    assert [one.line for one in contradictions(ledger.reader, [str(rules)])] == found
