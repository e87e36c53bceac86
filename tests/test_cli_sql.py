"""`learnings sql`: everything can be looked at, nothing can be changed."""

import json
import os
import shutil
import signal
import sqlite3
from pathlib import Path

import pytest
from command import Inside, Shell, refused

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


@pytest.fixture
def inside(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command with one learning in its ledger."""
    made = Inside(shell, capsys.readouterr)
    made.record()
    return made


def test_a_statement_answers_columns_and_rows(inside: Inside) -> None:
    """The documented view has its documented columns."""
    done = inside.document("sql", "SELECT title, category, trust FROM current_learnings")

    assert done == {"columns": ["title", "category", "trust"], "rows": [["postgres hangs", "env", 4]]}


def test_bytes_are_answered_as_hexadecimal(inside: Inside) -> None:
    """JSON has no bytes."""
    done = inside.document("sql", "SELECT x'00ff', NULL, 1.5")

    assert done["rows"] == [["00ff", None, 1.5]]


def test_what_json_does_not_have_is_answered_as_text(inside: Inside) -> None:
    """An infinite number would make the document one that no other reader takes."""
    printed = inside("sql", "SELECT 1e999, -1e999", "--json").out

    assert json.loads(printed, parse_constant=pytest.fail)["rows"] == [["inf", "-inf"]]


def test_rows_are_aligned_for_people_and_hold_no_escape_sequence(inside: Inside) -> None:
    """What a terminal would obey never reaches it."""
    done = inside("sql", "SELECT 'a' AS short, 'red' || char(27) || '[31m' || char(10) || 'b' AS long")

    assert done.out.splitlines() == ["short  long", "a      red\\nb"]


@pytest.mark.parametrize("words", ["FROM learning_fts WHERE learning_fts MATCH 'postgres'", "FROM learning_words"])
def test_the_words_index_can_be_searched(inside: Inside, words: str) -> None:
    """Virtual tables work under the authorizer."""
    assert inside.document("sql", f"SELECT count(*) {words}")["rows"] >= [[1]]


@pytest.mark.parametrize(
    "statement",
    ["PRAGMA table_info(event)", "PRAGMA user_version", "PRAGMA quick_check", "EXPLAIN SELECT 1", "SELECT 1;", "-- no"],
)
def test_what_only_tells_is_allowed(inside: Inside, statement: str) -> None:
    """EXPLAIN, telling PRAGMAs, a trailing semicolon, nothing at all."""
    assert inside("sql", statement).code == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET kind = 'x'",
        "DELETE FROM payload",
        "UPDATE sqlite_master SET sql = 'x'",
        "DELETE FROM sqlite_schema",
        "INSERT INTO meta VALUES (1, 'x', 1, x'00')",
        "INSERT OR REPLACE INTO learning SELECT * FROM learning",
        "REPLACE INTO event SELECT * FROM event",
        "INSERT INTO learning_fts (learning_fts) VALUES ('rebuild')",
        "DROP TRIGGER event_update_refused",
        "DROP VIEW current_learnings",
        "ALTER TABLE event ADD COLUMN x",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t (x)",
        "CREATE TEMP VIEW current_learnings AS SELECT 1",
        "ATTACH 'other.db' AS other",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "REINDEX",
        "ANALYZE",
        "BEGIN IMMEDIATE",
        "SAVEPOINT s",
        "PRAGMA writable_schema = 1",
        "PRAGMA writable_schema",
        "PRAGMA query_only = 0",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = OFF",
        "PRAGMA wal_checkpoint",
        "PRAGMA optimize",
        "SELECT load_extension('x')",
    ],
)
def test_what_would_change_or_reach_out_is_refused(
    inside: Inside, shell: Shell, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused with 34 and one line; no byte of the file changes and no other file appears."""
    monkeypatch.chdir(shell.folder)
    before = shell.file.read_bytes(), sorted(os.listdir(shell.folder))

    done = inside("sql", statement)

    refused(done, 34, "nothing was written")
    assert (shell.file.read_bytes(), sorted(os.listdir(shell.folder))) == before


@pytest.mark.parametrize(
    ("statement", "said"),
    [("SELEKT 1", "syntax error"), ("SELECT * FROM nowhere", "nowhere"), ("SELECT 1; SELECT 2", "one statement")],
)
def test_a_statement_that_is_none_is_explained(inside: Inside, statement: str, said: str) -> None:
    """A slip is an argument fault, with the engine's own words."""
    refused(inside("sql", statement), 15, said)


def test_a_statement_that_begins_with_dashes_stands_after_two(inside: Inside) -> None:
    """`--json` before `--` is an option, what follows is SQL."""
    assert inside.document("sql", "SELECT 7")["rows"] == [[7]]
    done = inside("sql", "--json", "--", "--a comment\nSELECT 7")
    assert done.document["rows"] == [[7]]


def test_the_file_of_a_killed_writer_is_rolled_back_before_the_shell_opens(inside: Inside, shell: Shell) -> None:
    """A hot journal would keep a read-only shell out; ours opens the file once itself."""
    killed = os.fork()
    if not killed:
        _die_midway(shell.file)
    os.waitpid(killed, 0)
    assert (shell.file.with_name("ledger.db-journal")).exists()

    done = inside.document("sql", "SELECT count(*) FROM learning_state WHERE state = 'rejected'")

    assert done["rows"] == [[0]]
    assert not (shell.file.with_name("ledger.db-journal")).exists()


def _die_midway(path: Path) -> None:
    """Change every page of a table, let it spill to the file, and die without a word."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE learning_state SET state = 'rejected'")
    counting = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000)"
    connection.execute(f"CREATE TABLE filler AS {counting} SELECT hex(randomblob(100)) AS text FROM c")
    os.kill(os.getpid(), signal.SIGKILL)


# -- the shells ------------------------------------------------------------------------------------------------------


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Return a folder in which `sqlite3` is a program that tells how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "sqlite3"
    program.write_text('#!/bin/sh\nfor word in "$@"; do echo "<$word>"; done\ncat\n')
    program.chmod(0o755)
    return folder


def test_without_a_statement_the_systems_shell_takes_over_read_only(inside: Inside, shell: Shell, system: Path) -> None:
    """It becomes that process: same input and output, its exit status."""
    done = shell.run("sql", given=b"typed\n", PATH=f"{system}:{os.defpath}")

    assert done.code == 0
    assert done.out.splitlines() == ["<-readonly>", f"<{shell.file}>", "typed"]
    assert str(system / "sqlite3") in done.err


def test_the_real_shell_reads_and_cannot_write(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """Held against the system's sqlite3, or against our own prompt on a machine without one."""
    found = shutil.which("sqlite3")
    path = os.path.dirname(found) if found else str(tmp_path)

    done = shell.run("sql", given=b"SELECT title FROM current_learnings;\nDELETE FROM event;\n", PATH=path)

    assert "postgres hangs" in done.out
    assert done.code != 0
    assert inside.document("verify")["ok"] is True


def test_our_own_prompt_answers_where_there_is_no_shell(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """Statements over several lines, dot commands, and a refusal that does not end it."""
    looks = b".tables\n.schema meta\n.help\nSELECT title\nFROM current_learnings;\n"
    typed = looks + b"DELETE FROM event;\n.nonsense\nSELECT 9"

    done = shell.run("sql", given=typed, PATH=str(tmp_path))

    lines = done.out.splitlines()
    assert "current_learnings" in lines
    assert "learning_fts_data" not in lines
    assert "meta (one INTEGER, ledger_id TEXT, format INTEGER, dedup_key BLOB)" in lines
    assert "postgres hangs" in lines
    assert lines[-1] == "9"
    assert "only looks" in done.err
    assert ".nonsense" in done.err
    assert done.code == 0


def test_quit_ends_the_prompt_with_the_status_of_the_last_answer(inside: Inside, shell: Shell, tmp_path: Path) -> None:
    """A script that feeds it sees whether its last statement was answered."""
    done = shell.run("sql", given=b"DELETE FROM event;\n.quit\nSELECT 1;\n", PATH=str(tmp_path))

    assert done.code == 34
    assert done.out == ""


def test_ctrl_c_ends_an_endless_statement(inside: Inside, shell: Shell) -> None:
    """The engine is asked to stop, and the command leaves as one that was interrupted."""
    shell.env["PATH"] = str(shell.folder)
    with shell.start("sql") as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(f"SELECT 'ready';\n{ENDLESS};\n".encode())
        child.stdin.flush()
        assert [child.stdout.readline(), child.stdout.readline()] == [b"'ready'\n", b"ready\n"]
        child.send_signal(signal.SIGINT)

        assert child.wait(30) == 130
        assert child.stderr.read().splitlines()[-1] == b"learnings: interrupted"


@pytest.mark.parametrize("name", ["a b?mode=memory#x%20.db", "-readonly", "file:x.db"])
def test_any_file_name_is_a_file_name(inside: Inside, shell: Shell, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in it is taken for a part of a URI or for an option."""
    monkeypatch.chdir(shell.folder)
    shutil.copy(shell.file, name)

    done = shell.run("sql", "SELECT count(*) FROM event", f"--file={name}", "--json")

    assert done.document["rows"] == [[1]]
    assert shell.run("query", "postgres", f"--file={name}", "--json").document["hits"]


def test_an_outdated_ledger_can_still_be_looked_at(inside: Inside, shell: Shell) -> None:
    """Forensics do not wait for a rebuild or an upgrade."""
    connection = sqlite3.connect(shell.file, isolation_level=None)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    done = inside("sql", "SELECT count(*) FROM event")

    assert done.code == 0
    assert "99" in done.err
