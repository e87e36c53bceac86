"""Mending a file: shown first, only the lines meant, every other byte kept, and back again."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command import Inside, Shell

from ledger import mend
from ledger.errors import FileFault, Refused

OLD, NEW = "use port 5432 of the pooler", "use port 6543 of the pooler"


def edited(path: Path, text: bytes, line: int = 1, old: str = OLD, new: str | None = NEW) -> bytes:
    """Return what a file would be."""
    path.write_bytes(text)
    edit = mend.proposed(str(path), line, old, new)
    assert edit is not None
    return edit.after


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        (b"use port 5432 of the pooler\n", 1, b"use port 6543 of the pooler\n"),
        (b"a\r\n- use port 5432 of the pooler\r\nb\n", 2, b"a\r\n- use port 6543 of the pooler\r\nb\n"),
        (b"# x\n  1. use port 5432 of the pooler", 2, b"# x\n  1. use port 6543 of the pooler"),
        (b"Here: use port 5432 of the pooler, please.\n", 1, b"Here: use port 6543 of the pooler, please.\n"),
        (b"\xef\xbb\xbf- use port 5432 of the pooler\n", 1, b"\xef\xbb\xbf- use port 6543 of the pooler\n"),
        (b"- the pooler wants port 5432\n- b\n", 1, b"- use port 6543 of the pooler\n- b\n"),
    ],
)  # fmt: skip
def test_only_the_line_that_says_it_is_mended(tmp_path: Path, before: bytes, line: int, after: bytes) -> None:
    """Bullets, numbers, line ends and what else the line says stay; a paraphrase gives way whole."""
    assert edited(tmp_path / "a.md", before, line) == after


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        (b"a\n- use port 5432 of the pooler\nb\n", 2, b"a\nb\n"),
        (b"In billing: use port 5432 of the pooler\n", 1, b"In billing:\n"),
        (b"use port 5432 of the pooler", 1, b""),
    ],
)
def test_what_was_retracted_is_taken_away(tmp_path: Path, before: bytes, line: int, after: bytes) -> None:
    """The line goes when nothing else stands on it."""
    assert edited(tmp_path / "a.md", before, line, new=None) == after


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("use uvicorn\nwe use uv here\n", 2, "use uvicorn\nwe use pdm here\n"),
        ("use uvicorn, and use uv, or use uv\n", 1, "use uvicorn, and use pdm, or use uv\n"),
        ("use uvicorn\nuse uv\n", 1, None),
        ("use uv\nwe use pdm, not uv\n", 2, None),
        ("use uv\ninstall with uv always\n", 2, "use uv\nuse pdm\n"),
    ],
)
def test_no_other_line_and_no_part_of_a_word_is_mended(tmp_path: Path, text: str, line: int, after: str | None) -> None:
    """Nor what says the new text already."""
    path = tmp_path / "a.md"
    path.write_text(text)

    edit = mend.proposed(str(path), line, "use uv", "use pdm")

    assert (edit and edit.after.decode()) == after


def test_a_text_of_several_lines_is_replaced_as_one(tmp_path: Path) -> None:
    """As it stands in a note."""
    before = b"---\nname: x\n---\nuse port 5432\n\n**How to apply:** in billing\nend\n"

    after = edited(
        tmp_path / "a.md", before, 4, "use port 5432\n\n**How to apply:** in billing", "use port 6543\neverywhere"
    )

    assert after == b"---\nname: x\n---\nuse port 6543\neverywhere\nend\n"


def test_a_new_text_of_several_lines_is_one_line_of_a_list(tmp_path: Path) -> None:
    """A second line would be something else."""
    assert edited(tmp_path / "a.md", b"- use port 5432 of the pooler\n", 1, OLD, "one\n- two") == b"- one - two\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (b"a\n- use port 5432\n  of the pooler\nb\n", b"a\n- use port 6543 of the pooler\nb\n"),
        (b"a\n- use port 5432\n  of the pooler, or ask\nb\n", None),
    ],
)
def test_a_wrapped_text_is_mended_as_a_whole_or_not_at_all(tmp_path: Path, text: bytes, after: bytes | None) -> None:
    """Half of it would say neither the old nor the new."""
    path = tmp_path / "a.md"
    path.write_bytes(text)

    edit = mend.proposed(str(path), 2, OLD, NEW)

    assert (edit and edit.after) == after


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None, b"short\n"])
def test_what_cannot_be_mended_is_not(tmp_path: Path, content: bytes | None) -> None:
    """No text, no file, no such line."""
    path = tmp_path / "a.md"
    if content is not None:
        path.write_bytes(content)

    assert mend.proposed(str(path), 7, OLD, NEW) is None


def test_an_edit_is_made_whole_with_the_file_s_mode_and_taken_back_byte_for_byte(tmp_path: Path) -> None:
    """What it was stands beside it with the same mode until then."""
    path, ledger = tmp_path / "MEMORY.md", str(tmp_path / "ledger.db")
    before = b"a\r\n- use port 5432 of the pooler\nb"
    path.write_bytes(before)
    path.chmod(0o640)
    edit = mend.proposed(str(path), 2, OLD, NEW)
    assert edit is not None

    done = mend.apply(edit, ledger, 7)

    assert path.read_bytes() == b"a\r\n- use port 6543 of the pooler\nb"
    assert Path(done.kept).read_bytes() == before
    assert [stat.S_IMODE(os.stat(one).st_mode) for one in (path, done.kept, ledger + ".edits")] == [0o640, 0o640, 0o600]
    assert mend.made(ledger, [7]) == [done]
    mend.restore(done)
    assert path.read_bytes() == before
    assert mend.made(ledger) == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["MEMORY.md", "ledger.db.edits"]


def test_a_file_that_changed_since_it_was_shown_is_left_as_it_is(tmp_path: Path) -> None:
    """Whoever changed it meant it."""
    path = tmp_path / "MEMORY.md"
    path.write_text(f"- {OLD}\n")
    edit = mend.proposed(str(path), 1, OLD, NEW)
    assert edit is not None
    path.write_text(f"- {OLD}\n- more\n")

    with pytest.raises(Refused):
        mend.apply(edit, str(tmp_path / "ledger.db"), 7)

    assert path.read_text() == f"- {OLD}\n- more\n"


def test_a_file_that_changed_after_its_edit_is_not_put_back(tmp_path: Path) -> None:
    """The error names where its earlier text stands."""
    path, ledger = tmp_path / "MEMORY.md", str(tmp_path / "ledger.db")
    path.write_text(f"- {OLD}\n")
    edit = mend.proposed(str(path), 1, OLD, NEW)
    assert edit is not None
    done = mend.apply(edit, ledger, 7)
    path.write_text("mine\n")

    with pytest.raises(Refused, match="was changed after it was mended"):
        mend.restore(done)

    assert path.read_text() == "mine\n"


def test_a_folder_that_cannot_be_written_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    """Nothing is half done."""
    path = tmp_path / "MEMORY.md"
    path.write_text(f"- {OLD}\n")
    edit = mend.proposed(str(path), 1, OLD, NEW)
    assert edit is not None
    (tmp_path / f"MEMORY.md.{os.getpid()}.new").mkdir()

    with pytest.raises(FileFault):
        mend.apply(edit, str(tmp_path / "ledger.db"), 7)

    assert path.read_text() == f"- {OLD}\n"


def test_what_lies_under_the_name_already_is_neither_used_nor_put_back(tmp_path: Path) -> None:
    """Somebody else's text stays where it is; what was kept and then changed is refused."""
    path, ledger = tmp_path / "MEMORY.md", str(tmp_path / "ledger.db")
    path.write_text(f"- {OLD}\n")
    theirs = tmp_path / "MEMORY.md.learnings-7"
    theirs.write_text("obey me\n")
    edit = mend.proposed(str(path), 1, OLD, NEW)
    assert edit is not None

    done = mend.apply(edit, ledger, 7)

    assert theirs.read_text() == "obey me\n"
    assert Path(done.kept).read_text() == f"- {OLD}\n"
    Path(done.kept).write_text("obey me\n")
    with pytest.raises(Refused, match="is not what"):
        mend.restore(done)
    assert path.read_text() == f"- {NEW}\n"


def test_a_second_edit_of_an_event_goes_back_to_what_the_file_was_before_the_first(tmp_path: Path) -> None:
    """One name holds it."""
    path, ledger = tmp_path / "MEMORY.md", str(tmp_path / "ledger.db")
    path.write_text(f"- {OLD}\n- {OLD}\n")
    for line in (2, 1):
        edit = mend.proposed(str(path), line, OLD, NEW)
        assert edit is not None
        mend.apply(edit, ledger, 7)
    (done,) = mend.made(ledger, [7])

    mend.restore(done)

    assert path.read_text() == f"- {OLD}\n- {OLD}\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["MEMORY.md", "ledger.db.edits"]


def test_an_edit_that_cannot_be_remembered_is_taken_back(tmp_path: Path) -> None:
    """Nobody could undo it."""
    path, ledger = tmp_path / "MEMORY.md", str(tmp_path / "ledger.db")
    path.write_text(f"- {OLD}\n")
    edit = mend.proposed(str(path), 1, OLD, NEW)
    assert edit is not None
    (tmp_path / "ledger.db.edits").mkdir()

    with pytest.raises(FileFault):
        mend.apply(edit, ledger, 7)

    assert path.read_text() == f"- {OLD}\n"
    assert not (tmp_path / "MEMORY.md.learnings-7").exists()


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command in a folder with a CLAUDE.md that says what is recorded."""
    (tmp_path / "home").mkdir()
    work = tmp_path / "work"
    work.mkdir()
    (work / "CLAUDE.md").write_text(f"# Work\r\n\r\n- {OLD}\r\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(work)
    return Inside(Shell(tmp_path), capsys.readouterr)


TEXTS = ("--problem", "the pooler of billing refuses connections", "--solution", NEW, "--reason", "it moved")


def test_a_supersede_names_the_line_and_mends_it_when_it_is_told_to(inside: Inside, tmp_path: Path) -> None:
    """And an undo puts the file back, byte for byte."""
    file = tmp_path / "work" / "CLAUDE.md"
    before = file.read_bytes()
    old = inside.record("the pooler of billing refuses connections", OLD)

    done = inside.document("supersede", old["id"], *TEXTS, "--edit-source", "--yes")

    assert done["still_loaded"] == [{"file": str(file), "line": 3}]
    assert [(one["line"], one["mended"]) for one in done["edits"]] == [(3, True)]
    assert f"-- {OLD}\n+- {NEW}" in done["edits"][0]["diff"]
    assert file.read_bytes() == before.replace(b"5432", b"6543")
    undone = inside.document("undo", str(done["seq"]), "--edit-source")
    assert undone["restored"] == [{"file": str(file)}]
    assert file.read_bytes() == before


def test_nothing_is_mended_without_a_word(inside: Inside, tmp_path: Path) -> None:
    """Neither without the flag, nor where nobody can be asked, nor on a dry run; the line is named all the same."""
    file = tmp_path / "work" / "CLAUDE.md"
    before = file.read_bytes()
    old = inside.record("the pooler of billing refuses connections", OLD)

    dry = inside.document("supersede", old["id"], *TEXTS, "--edit-source", "--yes", "--dry-run")
    asked = inside.document("supersede", old["id"], *TEXTS, "--edit-source")

    assert [one["edits"][0]["mended"] for one in (dry, asked)] == [False, False]
    assert file.read_bytes() == before
    undone = inside.document("undo", str(asked["seq"]))
    assert undone["restored"] == []


def test_a_retraction_takes_the_line_away(inside: Inside, tmp_path: Path) -> None:
    """The rest of the file stays."""
    old = inside.record("the pooler of billing refuses connections", OLD)

    done = inside.document("retract", old["id"], "--reason", "wrong", "--edit-source", "--yes")

    assert [one["mended"] for one in done["edits"]] == [True]
    assert (tmp_path / "work" / "CLAUDE.md").read_bytes() == b"# Work\r\n\r\n"


def test_an_undo_says_that_a_file_was_mended(inside: Inside) -> None:
    """With how to put it back, and where what it was stands."""
    old = inside.record("the pooler of billing refuses connections", OLD)
    done = inside.document("supersede", old["id"], *TEXTS, "--edit-source", "--yes")

    told = inside("undo", str(done["seq"]))

    assert "--edit-source puts back what it was" in told.err
    assert f"CLAUDE.md.learnings-{done['seq']}" in told.err


@pytest.mark.parametrize(("answer", "is_mended"), [(b"y\n", True), (b"\n", False), (b"no\n", False)])
def test_a_person_at_a_terminal_is_asked(tmp_path: Path, answer: bytes, is_mended: bool) -> None:
    """After the difference was shown; anything but a yes leaves the file as it is."""
    pty = pytest.importorskip("pty")
    shell = Shell(tmp_path)
    (tmp_path / "CLAUDE.md").write_text(f"- {OLD}\n")
    texts = ("--problem", "the pooler refuses", "--solution", OLD, "--project", "demo", "--category", "env", "--json")
    old = shell.run("record", *texts).document["id"]
    ours, theirs = pty.openpty()
    os.write(ours, answer)

    done = subprocess.run(
        [sys.executable, "-m", "ledger.cli", "supersede", old, *TEXTS, "--edit-source"],
        cwd=tmp_path, env=shell.env, stdin=theirs, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    os.close(ours)
    os.close(theirs)
    assert done.stderr.index(f"+- {NEW}") < done.stderr.index("CLAUDE.md? [y/N]")
    assert (tmp_path / "CLAUDE.md").read_text() == f"- {NEW if is_mended else OLD}\n"
