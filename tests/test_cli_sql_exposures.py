"""`learnings sql` looks at what prompts were shown as well, and does without where that file cannot be read."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from command import Inside, Shell, refused

from ledger.exposures import path_beside

LAST = "SELECT project, silence FROM exposures.exposure ORDER BY at DESC LIMIT 1"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a command in a folder of its own, whose name needs quoting in SQL and in a URI."""
    folder = tmp_path / "a 'quoted' 100%3f"
    folder.mkdir()
    return Shell(folder)


@pytest.fixture
def inside(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command with one learning, and one prompt that was shown nothing."""
    made = Inside(shell, capsys.readouterr)
    made.record()
    made.document("recall", "thanks", "--project", "demo")
    return made


def beside(shell: Shell) -> Path:
    """Return where the exposures are."""
    return Path(path_beside(str(shell.file)))


def test_a_statement_joins_the_log_with_what_was_shown(inside: Inside) -> None:
    """The schema is `exposures`, its table `exposure`."""
    joined = "SELECT x.silence, e.kind FROM exposures.exposure AS x JOIN event AS e ON e.seq = x.head_seq"

    assert inside.document("sql", LAST)["rows"] == [["demo", "trivial"]]
    assert inside.document("sql", joined)["rows"] == [["trivial", "learning.recorded"]]


@pytest.mark.parametrize(
    "statement", ["DELETE FROM exposures.exposure", "CREATE TABLE exposures.t (x)", "DETACH exposures"]
)
def test_what_was_shown_cannot_be_changed_there(inside: Inside, shell: Shell, statement: str) -> None:
    """No byte of the file changes."""
    before = beside(shell).read_bytes()

    refused(inside("sql", statement), 34, "nothing was written")

    assert beside(shell).read_bytes() == before


def test_the_systems_shell_attaches_it_read_only(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """Held against the system's sqlite3, or against our own prompt on a machine without one."""
    found = shutil.which("sqlite3")
    path = os.path.dirname(found) if found else str(tmp_path)
    before = beside(shell).read_bytes()

    done = shell.run("sql", given=f"{LAST};\nDELETE FROM exposures.exposure;\n".encode(), PATH=path)

    assert "trivial" in done.out
    assert done.code != 0
    assert beside(shell).read_bytes() == before


def test_our_own_prompt_lists_and_reads_it(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """`.tables` and `.schema` name it with its schema."""
    typed = f".tables\n.schema exposures.exposure\n{LAST};\n".encode()

    done = shell.run("sql", given=typed, PATH=str(tmp_path))

    lines = done.out.splitlines()
    assert "exposures.exposure" in lines
    assert any(line.startswith("exposures.exposure (id TEXT, at TEXT, ") for line in lines)
    assert lines[-1].split() == ["demo", "trivial"]


def test_a_missing_file_is_said_to_whom_it_concerns(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """A statement that does not ask for it is answered without a word; nothing is made."""
    beside(shell).unlink()

    other, asked = inside("sql", "SELECT 1"), inside("sql", LAST)
    prompt = shell.run("sql", given=b"SELECT 7;\n", PATH=str(tmp_path))

    assert (other.code, other.err) == (0, "")
    refused(asked, 15, "exposures")
    assert "no prompt was shown anything yet" in asked.err
    assert (prompt.code, prompt.out.splitlines()[-1]) == (0, "7")
    assert "no prompt was shown anything yet" in prompt.err
    assert not beside(shell).exists()


def foreign(path: Path) -> None:
    """Put a file there that is no database."""
    path.write_bytes(b"notes of somebody else\n" * 100)


def database(path: Path) -> None:
    """Put a database of somebody else there."""
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE exposure (id, mood)")
    connection.close()


def newer(path: Path) -> None:
    """Make it one of a later program."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def pipe(path: Path) -> None:
    """Put a pipe there, which nobody may wait for."""
    path.unlink()
    os.mkfifo(path)


def elsewhere(path: Path) -> None:
    """Put a link there."""
    kept = path.with_name("kept.db")
    path.rename(kept)
    path.symlink_to(kept)


@pytest.mark.parametrize("spoil", [foreign, database, newer, pipe, elsewhere])
def test_a_file_that_is_not_ours_is_not_there(inside: Inside, shell: Shell, spoil: object) -> None:
    """The ledger is looked at all the same, by a statement and by the system's shell."""
    assert callable(spoil)
    spoil(beside(shell))

    asked = inside("sql", LAST)
    handed = shell.run("sql", given=b"SELECT title FROM current_learnings;\n")

    assert "is no file of this program" in asked.err
    assert asked.code == 15
    assert inside.document("sql", "SELECT count(*) FROM event")["rows"] == [[1]]
    assert handed.code == 0
    assert "postgres hangs" in handed.out


def test_a_locked_file_is_not_waited_for(inside: Inside, shell: Shell) -> None:
    """Another process holds it: the remark says so, and the ledger answers."""
    connection = sqlite3.connect(beside(shell), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")

    asked = inside("sql", "SELECT count(*) AS exposures FROM event")

    connection.close()
    assert (asked.code, asked.out.split()) == (0, ["exposures", "1"])
    assert "is locked by another process" in asked.err
