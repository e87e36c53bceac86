"""Exports: what is in them, in which order, and how the file appears."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command import Inside, Shell, refused, without_override

from ledger import export, place
from ledger.errors import FileFault
from ledger.ledger import Ledger
from ledger.model import NewEvent, new_event_id


@pytest.fixture
def inside(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command with one learning replaced, one retracted, one withheld and one candidate."""
    made = Inside(shell, capsys.readouterr)
    old = made.record("old problem", "old solution")
    made.document("supersede", old["id"], "--problem", "new problem", "--solution", "new\nsolution", "--reason", "r")
    made.document("retract", made.record("retracted problem", "s")["id"], "--reason", "r")
    made.document("quarantine", made.record("withheld problem", "s")["id"], "--reason", "r")
    made.document("propose", "--problem", "candidate problem", "--solution", "s", "--category", "env", "--project", "p")
    return made


def test_an_export_begins_with_a_header_and_has_one_learning_a_line(inside: Inside) -> None:
    """The header names ledger and head; the fields are those of the documented format."""
    lines = [json.loads(line) for line in inside("export").out.splitlines()]

    assert list(lines[0]) == ["format", "version", "ledger_id", "head", "exported_at"]
    assert (lines[0]["format"], lines[0]["version"]) == ("learning-ledger-export", 1)
    assert lines[0]["head"] == inside.document("verify")["head"]
    assert [line["title"] for line in lines[1:]] == ["new problem"]
    assert tuple(lines[1]) == export.FIELDS


@pytest.mark.parametrize(
    ("states", "titles"),
    [
        (["all"], ["old problem", "new problem", "retracted problem"]),
        (["superseded"], ["old problem"]),
        (["candidate", "quarantined"], ["withheld problem", "candidate problem"]),
    ],
)
def test_states_choose_what_is_exported_oldest_first(inside: Inside, states: list[str], titles: list[str]) -> None:
    """`all` is what was served once; what never was has to be named."""
    words = [word for state in states for word in ("--state", state)]

    document = inside.document("export", *words)

    assert [learning["title"] for learning in document["learnings"]] == titles


def test_more_learnings_than_a_page_are_all_exported(inside: Inside) -> None:
    """The reader lists 50 at once."""
    for number in range(60):
        inside.record(f"problem {number}", "s")

    assert len(inside("export").out.splitlines()) == 62


def test_markdown_quotes_every_text(inside: Inside) -> None:
    """No line of a learning can pass for a heading."""
    inside.record("# not a heading", "```\n# neither", "--title", "a\ttitle", "--tag", "db")

    lines = inside("export", "--format", "md").out.splitlines()

    assert [line for line in lines if line.startswith("#")] == [
        "# Learnings", "## demo", "### env", "#### new problem", "#### a title",
    ]  # fmt: skip
    assert "> # not a heading" in lines
    assert "> # neither" in lines
    assert lines[-1].endswith(" · tags db")


def test_a_file_appears_whole_and_private(inside: Inside, tmp_path: Path) -> None:
    """Mode 0600 whatever stood there, and no temporary file is left."""
    file = tmp_path / "out.jsonl"
    file.write_text("before")
    file.chmod(0o644)

    done = inside.document("export", "--output", str(file))

    assert done == {"file": str(file), "lines": 2}
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_text().splitlines()) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == ["out.jsonl"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """Whether the lines or the disk fail."""
    file = tmp_path / "out.jsonl"
    file.write_text("before")

    def lines() -> list[str]:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        export.write(str(file), (line for _ in "x" for line in lines()))
    with pytest.raises(FileFault, match="directory"):
        export.write(str(tmp_path), ["x"])

    assert file.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize("end", ["", *place.BESIDE])
def test_an_export_never_takes_the_place_of_its_ledger(inside: Inside, shell: Shell, tmp_path: Path, end: str) -> None:
    """Neither of the file nor of one beside it, however it is named; the log stays as it was."""
    before = shell.file.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(f"{shell.file}{end}")

    for target in (f"{shell.file}{end}", f"{shell.file.parent}/../data/{shell.file.name}{end}", str(link)):
        refused(inside("export", "--output", target), 27, "--output")

    assert shell.file.read_bytes() == before
    assert inside.document("verify")["ok"]


def test_an_export_never_takes_the_place_of_a_database_or_a_device(inside: Inside, tmp_path: Path) -> None:
    """A backup is a database too; root could replace /dev/null."""
    other = tmp_path / "backup.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (a)")
    os.mkfifo(tmp_path / "pipe")

    refused(inside("export", "--output", str(other)), 27, "ledger")
    refused(inside("export", "--output", str(tmp_path / "pipe")), 27, "regular")

    assert other.read_bytes().startswith(export.SQLITE)
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_that_cannot_be_written_is_named(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """The refusal is that of a read-only place."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)

    refused(shell.run("export", "--output", str(folder / "out.jsonl"), before=without_override), 34, str(folder))


def test_what_was_erased_is_in_no_export_and_shown_as_erased(inside: Inside, shell: Shell) -> None:
    """Nothing of its text is there to be written; its id and history stay."""
    made = inside.record("a secret problem", "s")
    with Ledger.open(str(shell.file)) as ledger:
        data = {"targets": [made["seq"]], "blocked": [], "reason": "secret"}
        ledger.store.append(lambda moment: [NewEvent("payload.erased", "ledger", data, {}, new_event_id())])

    shown = inside("show", made["id"])

    assert "(erased)" in shown.out.splitlines()[0]
    assert "secret" not in shown.out
    assert made["id"] not in inside("export", "--state", "all").out


def test_an_export_gives_back_what_a_restored_copy_lacks(inside: Inside, shell: Shell) -> None:
    """The ledger's own export tells it nothing, save what it has lost since: that is recorded, and nothing else is."""
    backup, written = shell.folder / "older.db", shell.folder / "newer.jsonl"
    inside.document("backup", str(backup))
    inside.record("the kettle whistles", "lift it off the stove")
    inside.document("export", "--output", str(written))
    shell.file.write_bytes(backup.read_bytes())
    inside.document("verify", "--accept-head")

    first = inside.document("import", str(written))
    second = inside.document("import", str(written))

    assert (first["recorded"], first["unchanged"]) == (1, 1)
    assert (second["recorded"], second["unchanged"]) == (0, 2)
    assert "the kettle whistles" in [row["title"] for row in inside.document("list")["rows"]]
