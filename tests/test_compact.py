"""`learnings compact`: shown first, done on a person's word, nothing lost, undone in one command."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell, refused, without_override

from ledger.capture import Written
from ledger.cliff import cliff
from ledger.ledger import Ledger

ENTRIES = "".join(f"- item {number}: use port {5000 + number}\n" for number in range(250))
INDEX = f"# Index\n\n- [Topic](topic.md) — of the client\n\n## Ports\n\n{ENTRIES}"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a home with a memory folder whose index is too long, and all of it in the ledger."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    memory = tmp_path / ".claude" / "projects" / "-demo" / "memory"
    memory.mkdir(parents=True)
    (memory / "topic.md").write_text("A topic of its own.\n")
    (memory / "MEMORY.md").write_text(INDEX)
    return Shell(tmp_path)


@pytest.fixture
def index(shell: Shell) -> Path:
    """Return the index."""
    return shell.folder / ".claude" / "projects" / "-demo" / "memory" / "MEMORY.md"


@pytest.fixture
def inside(shell: Shell, index: Path, capfd: pytest.CaptureFixture[str]) -> Inside:
    """Return the command, with everything scanned."""
    run = Inside(shell, lambda: tuple(capfd.readouterr()))
    assert run("scan").code == 0
    return run


def counted(inside: Inside) -> dict[str, Any]:
    """Return what another scan does."""
    done = inside.document("scan")
    return {key: value for key, value in done.items() if isinstance(value, int) and value and key != "unchanged"}


def current(shell: Shell) -> int:
    """Return how many learnings are current."""
    connection = sqlite3.connect(shell.file)
    found = connection.execute("SELECT count(*) FROM learning_state WHERE to_seq IS NULL AND state = 'current'")
    count = int(found.fetchone()[0])
    connection.close()
    return count


def files(index: Path) -> dict[str, bytes]:
    """Return every file of the memory folder."""
    return {path.name: path.read_bytes() for path in index.parent.iterdir()}


def test_what_is_left_is_loaded_and_a_scan_finds_nothing_new(inside: Inside, shell: Shell, index: Path) -> None:
    """Entries stand word for word in a note that is read as they were; nothing is recorded, nothing retracted."""
    done = inside.document("compact", str(index), "--yes")

    assert (done["done"], done["first_cut"], done["moved"]) == (True, None, 77)
    assert cliff(index.read_text()).first_cut is None
    note = Path(done["note"]).read_text()
    assert set(ENTRIES.splitlines()) <= {*index.read_text().splitlines(), *note.splitlines()}
    assert counted(inside) == {}
    assert current(shell) == 251


def test_undo_puts_everything_back_byte_for_byte(inside: Inside, shell: Shell, index: Path) -> None:
    """The note goes, the index is what it was, and a scan finds nothing new."""
    before = files(index)
    done = inside.document("compact", str(index), "--yes")

    undone = inside.document(*done["undo"].split()[1:5], "--edit-source")

    assert undone["restored"] == [{"file": str(index)}]
    assert files(index) == before
    again = counted(inside)
    assert again.keys() <= {"batch", "sources_added", "sources_removed"}
    assert current(shell) == 251


def test_an_undo_without_the_files_is_not_reverted_and_loses_nothing(inside: Inside, shell: Shell, index: Path) -> None:
    """The ledger forgets where the entries went; the next scan retracts none of them."""
    done = inside.document("compact", str(index), "--yes")

    told = inside("undo", "--batch", str(done["batch"]))

    assert "--edit-source puts back what it was" in told.err
    assert counted(inside).keys() <= {"batch", "sources_added", "sources_removed"}
    assert current(shell) == 251


def test_a_second_compaction_makes_a_second_note(inside: Inside, index: Path) -> None:
    """After more was written, and after an undo."""
    first = inside.document("compact", str(index), "--yes")
    index.write_text(index.read_text() + ENTRIES.replace("item", "step"))
    assert inside.document("scan")["recorded"] == 250

    second = inside.document("compact", str(index), "--yes")
    inside.document("undo", "--batch", str(second["batch"]), "--edit-source")
    third = inside.document("compact", str(index), "--yes")

    assert len({first["note"], second["note"], third["note"]}) == 3
    assert (third["first_cut"], counted(inside)) == (None, {})


def test_nothing_is_written_without_a_word(inside: Inside, index: Path) -> None:
    """Neither on a dry run, nor where nobody can be asked; the difference is shown all the same."""
    before = files(index)

    dry = inside("compact", str(index), "--dry-run")
    asked = inside.document("compact", str(index))

    assert "-- item 249: use port 5249" in dry.err
    assert "+- item 249: use port 5249" in dry.err
    assert (asked["done"], asked["moved"], asked["batch"]) == (False, 77, None)
    assert files(index) == before


@pytest.mark.parametrize(("answer", "is_done"), [(b"y\n", True), (b"\n", False)])
def test_a_person_at_a_terminal_is_asked(
    inside: Inside, shell: Shell, index: Path, answer: bytes, is_done: bool
) -> None:
    """After the difference was shown."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    os.write(ours, answer)

    done = subprocess.run(
        [sys.executable, "-m", "ledger.cli", "compact", str(index)],
        cwd=shell.folder, env=shell.env, stdin=theirs, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    os.close(ours)
    os.close(theirs)
    assert "MEMORY.md? [y/N]" in done.stderr
    assert (index.read_text() == INDEX) is not is_done


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_mode_line_ends_mark_and_a_last_line_without_end_stay(inside: Inside, index: Path, mode: int) -> None:
    """As Windows' editors write them."""
    index.write_bytes(b"\xef\xbb\xbf" + INDEX.replace("\n", "\r\n").removesuffix("\r\n").encode())
    index.chmod(mode)
    assert counted(inside) == {}

    done = inside.document("compact", str(index), "--yes")

    after, note = index.read_bytes(), Path(done["note"])
    assert after.startswith(b"\xef\xbb\xbf# Index\r\n")
    assert after.endswith(b"word for word")
    assert after.count(b"\n") == after.count(b"\r\n")
    assert note.read_bytes().count(b"\n") == note.read_bytes().count(b"\r\n")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (index, note)] == [mode, mode]
    assert counted(inside) == {}


def test_what_the_ledger_does_not_hold_as_true_stays(inside: Inside, index: Path) -> None:
    """A line it has not read, one that was retracted, one with a masked secret."""
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    more = f"- the key is {key} of the bucket\n- nobody wants: this any more\n"
    index.write_text(INDEX + more)
    inside.document("scan")
    (row,) = [row for row in inside.document("list", "--limit", "20")["rows"] if "nobody" in row["title"]]
    inside.document("retract", row["id"], "--reason", "nobody does")
    index.write_text(INDEX + more + "- not read: as yet\n")

    done = inside("compact", str(index), "--yes")

    assert done.code == 0, done.err
    left = index.read_text()
    assert all(line in left.splitlines() for line in [*more.splitlines(), "- not read: as yet"])
    assert "`learnings scan` reads it" in done.err
    after = counted(inside)
    assert after.pop("recorded") == 1
    assert after.keys() <= {"batch", "sources_added", "sources_removed", "masked"}


def test_what_a_tool_wrote_is_no_person_s_edit_afterwards(inside: Inside, shell: Shell, index: Path) -> None:
    """What is left in the index stays agent-written, and is not superseded by itself."""
    with Ledger.open(str(shell.file)) as ledger:
        Written(ledger).remember(str(index))

    inside.document("compact", str(index), "--yes")

    assert counted(inside) == {}


def test_a_file_that_changed_meanwhile_is_left_as_it_is(inside: Inside, shell: Shell, index: Path) -> None:
    """And so is what it would have moved to."""
    from importers.plan import plan, vanished
    from ledger import compact, mend

    before = files(index)
    move = compact.Move(mend.Edit(str(index), 1, b"other", b"after", ""), str(index.parent / "new.md"), b"text")

    with Ledger.open(str(shell.file)) as ledger, pytest.raises(Exception, match="changed since it was shown"):
        compact.carry_out(ledger, move, lambda: pytest.fail("nothing is read"), plan, vanished)

    assert files(index) == before


def test_an_import_that_fails_leaves_the_files_as_they_were(inside: Inside, shell: Shell, index: Path) -> None:
    """A ledger that is locked, a full disk, Ctrl-C."""
    from importers.plan import plan, vanished
    from ledger import compact, mend

    def interrupted() -> Any:
        raise KeyboardInterrupt

    before = files(index)
    move = compact.Move(mend.Edit(str(index), 1, index.read_bytes(), b"x", ""), str(index.parent / "new.md"), b"text")

    with Ledger.open(str(shell.file)) as ledger, pytest.raises(KeyboardInterrupt):
        compact.carry_out(ledger, move, interrupted, plan, vanished)

    assert files(index) == before


def test_what_was_changed_afterwards_is_not_put_back(inside: Inside, index: Path) -> None:
    """The model has written a line: index and note stay, and where the old index is is said."""
    done = inside.document("compact", str(index), "--yes")
    index.write_text(index.read_text() + "- a new line: of the model\n")
    now = files(index)

    told = inside("undo", "--batch", str(done["batch"]), "--edit-source")

    assert "was changed after it was mended" in told.err
    assert files(index) == now


def test_a_note_that_was_changed_afterwards_stays(inside: Inside, index: Path) -> None:
    """The index comes back; what was written into the note is not lost."""
    done = inside.document("compact", str(index), "--yes")
    note = Path(done["note"])
    note.write_text(note.read_text() + "- a new line: of the model\n")

    told = inside("undo", "--batch", str(done["batch"]), "--edit-source")

    assert "was changed since it was made" in told.err
    assert (index.read_text(), note.exists()) == (INDEX, True)


def test_links_and_what_is_no_index_are_refused(inside: Inside, index: Path) -> None:
    """Nothing is written through a link, and no other note is cut by the client."""
    elsewhere = index.parent / "real.md"
    index.rename(elsewhere)
    index.symlink_to(elsewhere)

    refused(inside("compact", str(index), "--yes"), 20, "is a link")
    refused(inside("compact", str(elsewhere), "--yes"), 15, "no MEMORY.md")
    refused(inside("compact", str(index.parent / "none" / "MEMORY.md")), 15, "there is no")

    assert elsewhere.read_text() == INDEX
    assert index.is_symlink()


def test_a_read_only_index_is_refused(inside: Inside, index: Path) -> None:
    """Its owner made it so."""
    index.chmod(0o444)
    before = files(index)

    refused(inside("compact", str(index), "--yes"), 34, "is read-only")

    assert files(index) == before


def test_a_folder_that_takes_no_file_leaves_everything_as_it_was(inside: Inside, shell: Shell, index: Path) -> None:
    """The note is the first thing that is written."""
    index.parent.chmod(0o555)

    done = shell.run("compact", str(index), "--yes", before=without_override)

    index.parent.chmod(0o755)
    assert (done.code, "cannot be written; nothing was written" in done.err) == (34, True)
    assert index.read_text() == INDEX


def test_an_index_that_is_loaded_whole_is_left_alone(inside: Inside, index: Path) -> None:
    """And one of which the ledger knows nothing."""
    index.write_text("# Index\n- one: short\n")
    assert inside.document("compact", str(index), "--yes")["moved"] == 0

    index.write_text("".join(f"- new {number}: of today\n" for number in range(300)))
    refused(inside("compact", str(index), "--yes"), 20, "no entry of", "learnings scan")


def test_the_index_of_the_folder_s_project_is_meant_without_a_name(inside: Inside, shell: Shell, index: Path) -> None:
    """As the client names it."""
    from importers.projects import memory_folder

    own = Path(memory_folder(str(shell.folder), str(shell.folder)))
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("- one: short\n")

    assert inside.document("compact")["file"] == str(own / "MEMORY.md")


def test_a_note_that_a_killed_compaction_left_is_not_in_the_way(inside: Inside, index: Path) -> None:
    """The next one takes another name, which is a note's too, and what lies there stays as it is."""
    seq = inside.document("verify")["head"]["seq"]
    left = index.with_name(f"moved-entries-{seq + 1}.md")
    left.write_text("what was left\n")

    done = inside.document("compact", str(index), "--yes")

    assert done["done"]
    assert done["note"].endswith(f"moved-entries-{seq + 1}-1.md")
    assert left.read_text() == "what was left\n"
    assert cliff(index.read_text()).first_cut is None
