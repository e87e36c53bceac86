"""What bad input gets at the command line: an exit status by family, one line, no traceback, nothing half-written."""

import os
import resource
import shutil
import signal
import sqlite3
from pathlib import Path

import pytest
from command import Inside, Shell, refused, without_override

from ledger import cli_call, errors
from ledger.errors import LedgerError
from ledger.model import CATEGORIES, PROBLEM_CHARS, learning_id, new_event_id
from ledger.place import WriteLock

RECORD = ("record", "--category", "env", "--project", "demo")


def changed(path: Path, statement: str) -> None:
    """Change a ledger file behind the program's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


# -- what was typed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["qurey", "x"], "did you mean query"),
        (["record", "--problem", "p"], "--solution"),
        (["query", "--limit", "many"], "--limit: 'many' is not a whole number"),
        (["query", "--limit", "51"], "limit"),
        (["query", "--trust", "5"], "trust"),
        (["query", "--nonsense"], "--nonsense"),
        (["query", "--as-of", "tomorrow"], "time"),
        (["list", "--state", "lost"], "current"),
        (["undo"], "--batch"),
        (["undo", "1", "--batch", "1"], "--batch"),
        (["config", "set", "scan_paths"], "set NAME VALUE"),
        (["config", "get", "colour"], "scan_paths"),
        (["project", "alias", "one"], "alias NAME OTHER"),
        (["export", "--format", "xml"], "jsonl"),
        (["export", "--state", "lost"], "all"),
        (["sql", "--json"], "statement"),
        (["show", "ab"], "3 characters"),
        (["record", "--problem", "-", "--solution", "-"], "standard input"),
        (["query", "x", "--file"], "--file"),
    ],
)
def test_a_wrong_argument_is_named_with_what_would_be_right(inside: Inside, words: list[str], said: str) -> None:
    """Every family of wrong arguments has exit status 15 and says what to type instead."""
    inside("init")

    done = inside(*words)

    refused(done, 15, said)


def test_a_word_too_many_is_named_as_it_was_typed(inside: Inside) -> None:
    """What the command line puts between options and words for itself is not said."""
    done = inside("export", "out.jsonl")

    assert "unrecognized arguments: out.jsonl; nothing was done" in done.err


def test_without_a_command_the_list_of_commands_is_shown(shell: Shell) -> None:
    """It is a mistake (15) that shows the way."""
    done = shell.run()

    assert done.code == 15
    assert "supersede" in done.out


def test_an_error_is_one_document_too_when_json_was_asked_for(shell: Shell) -> None:
    """Programs get code, message and hint on standard output; people get the line on standard error."""
    done = shell.run("show", "lrn_abcdefgh", "--json")

    refused(done, 31, "learnings init")
    assert done.document["error"].keys() == {"code", "message", "hint"}
    assert done.document["error"]["code"] == "NotALedger"


@pytest.mark.parametrize("field", ["--problem", "--solution"])
def test_an_empty_text_is_refused_by_name(shell: Shell, field: str) -> None:
    """Nothing is recorded, and no file is made for it."""
    texts = {"--problem": "p", "--solution": "s", field: "  \n"}

    done = shell.run(*RECORD, *(word for pair in texts.items() for word in pair))

    refused(done, 11, field.strip("-"), "nothing was written")
    assert not shell.file.exists()


@pytest.mark.parametrize("words", [("record",), ("propose",)])
@pytest.mark.parametrize("project", ["", " "])
def test_a_project_without_a_name_is_not_everywhere(shell: Shell, words: tuple[str, ...], project: str) -> None:
    """It is what an unset variable of a shell leaves; `*` is how everywhere is said."""
    done = shell.run(*words, "--problem", "p", "--solution", "s", "--category", "env", "--project", project)

    refused(done, 11, "project")
    assert not shell.file.exists()


def test_a_text_that_nobody_can_see_is_empty(shell: Shell) -> None:
    """Zero-width characters and joiners are format, not text."""
    refused(shell.run(*RECORD, "--problem", "p", "--solution", "\u200b \u2060\ufeff"), 11, "solution")


def test_a_refusal_is_one_line_and_claims_nothing_of_what_was_chosen(shell: Shell) -> None:
    """Where a learning would have held is not said of one that was not stored."""
    done = shell.run("record", "--problem", "p", "--solution", "-", given=b"a\0b")

    refused(done, 13, "U+0000")
    assert len(done.err.splitlines()) == 1


def test_input_far_beyond_every_cap_is_too_long(shell: Shell) -> None:
    """It is not read to its end, and the family is the one of every other text that is too long."""
    done = shell.run(*RECORD, "--problem", "p", "--solution", "-", given=b"x" * (cli_call.STDIN_BYTES + 1))

    refused(done, 12, f"{cli_call.STDIN_BYTES:,}")


def test_an_unknown_category_names_the_six(shell: Shell) -> None:
    """The refusal lists what may be said."""
    done = shell.run("record", "--problem", "p", "--solution", "s", "--category", "wisdom")

    refused(done, 14, *CATEGORIES)
    refused(shell.run("query", "x", "--category", "wisdom", "--file", str(made(shell))), 14, *CATEGORIES)


def made(shell: Shell) -> Path:
    """Make the ledger and return its path."""
    assert shell.run("init").code == 0
    return shell.file


def test_a_text_beyond_its_cap_is_refused_with_the_cap(shell: Shell) -> None:
    """It is not cut: half a learning can say the opposite of the whole one."""
    done = shell.run(*RECORD, "--problem", "x" * (PROBLEM_CHARS + 1), "--solution", "s")

    refused(done, 12, f"{PROBLEM_CHARS + 1:,}", f"{PROBLEM_CHARS:,}")


def test_nul_and_half_a_surrogate_pair_are_refused(shell: Shell) -> None:
    """No store can keep them; the bytes come through standard input and through the arguments."""
    refused(shell.run(*RECORD, "--problem", "-", "--solution", "s", given=b"a\0b"), 13, "problem", "U+0000")
    refused(shell.run(*RECORD, "--problem", b"a\xff", "--solution", "s"), 13, "problem", "surrogate")
    refused(shell.run(*RECORD, "--problem", "-", "--solution", "s", given=b"a\xff"), 13, "problem", "surrogate")


# -- ids -------------------------------------------------------------------------------------------------------------


def test_an_unknown_id_suggests_the_nearest(inside: Inside) -> None:
    """A slip of the finger at the end of an id still finds it."""
    name = inside.record()["id"]
    typed = name[:9] + ("a" if name[9] != "a" else "b")

    refused(inside("show", typed), 16, name)
    refused(inside("retract", typed, "--reason", "r"), 16, name)


def test_an_ambiguous_prefix_lists_what_it_fits(inside: Inside) -> None:
    """Two ids with the same beginning are both named, and nothing is changed."""
    seen: dict[str, str] = {}
    event, other = new_event_id(), ""
    while not other:
        seen[learning_id(event)[:7]] = event
        event = new_event_id()
        other = seen.get(learning_id(event)[:7], "")
    one = inside.record("first", "s", "--event-id", event)["id"]
    two = inside.record("second", "s", "--event-id", other)["id"]

    done = inside("retract", one[:7], "--reason", "r")

    refused(done, 17, one, two)


def test_superseding_what_is_not_current_names_the_live_head(inside: Inside) -> None:
    """The way on is in the message."""
    old = inside.record()
    new = inside.document("supersede", old["id"], "--problem", "p", "--solution", "port 6543", "--reason", "it moved")

    done = inside("supersede", old["id"], "--problem", "p", "--solution", "port 7654", "--reason", "again")

    refused(done, 22, new["id"])


def test_undoing_what_later_events_build_upon_names_them(inside: Inside) -> None:
    """Nothing is taken along unless `--cascade` says so."""
    old = inside.record()
    inside.document("supersede", old["id"], "--problem", "p", "--solution", "port 6543", "--reason", "it moved")

    refused(inside("undo", "1"), 23, "event 2", "--cascade")

    done = inside.document("undo", "1", "--cascade")
    assert done["undone"] == [2, 1]


def test_an_event_is_undone_once_and_an_unknown_one_never(inside: Inside) -> None:
    """The second undo says how to redo."""
    inside.record()
    inside("undo", "1")

    refused(inside("undo", "1"), 24, "learnings undo 2")
    refused(inside("undo", "99"), 16, "99")


def test_an_outdated_expectation_is_a_conflict(inside: Inside) -> None:
    """`--expected` is the event the caller saw last."""
    old = inside.record()
    inside("pin", old["id"])

    done = inside(
        "supersede", old["id"], "--problem", "p", "--solution", "s", "--reason", "r", "--expected", str(old["seq"])
    )

    refused(done, 21, "event 2")


def test_an_event_id_stands_for_one_content(inside: Inside) -> None:
    """A retry answers the first time's event; other content under the same id is refused."""
    event = new_event_id()
    first = inside.record("p", "s", "--event-id", event)

    assert inside.record("p", "s", "--event-id", event)["seq"] == first["seq"]
    refused(inside(*RECORD, "--problem", "q", "--solution", "s", "--event-id", event), 26, event)


# -- the file --------------------------------------------------------------------------------------------------------


def test_reading_where_no_ledger_is_says_how_to_make_one(shell: Shell) -> None:
    """A question makes no file."""
    for words in (["query", "x"], ["verify"], ["retract", "lrn_abc", "--reason", "r"]):
        refused(shell.run(*words), 31, "learnings init")
    assert not shell.file.parent.exists()


@pytest.mark.parametrize("words", [["query", "x"], [*RECORD, "--problem", "p", "--solution", "s"]])
def test_a_file_that_is_no_ledger_is_left_alone(shell: Shell, words: list[str]) -> None:
    """A text and a foreign database are both refused, and keep every byte."""
    shell.file.parent.mkdir()
    shell.file.write_text("these are my notes\n" * 100)
    shell.file.chmod(0o600)
    refused(shell.run(*words), 31, "not a ledger")
    assert shell.file.read_text() == "these are my notes\n" * 100

    shell.file.unlink()
    changed(shell.file, "CREATE TABLE note (text TEXT)")
    shell.file.chmod(0o600)
    before = shell.file.read_bytes()
    refused(shell.run(*words), 31, "not a ledger")
    assert shell.file.read_bytes() == before


def test_a_link_that_leads_nowhere_is_called_that(shell: Shell) -> None:
    """It is not followed: the file would appear wherever the link points."""
    link = shell.folder / "link.db"
    link.symlink_to(shell.folder / "nowhere.db")

    refused(shell.run("init", "--file", str(link)), 30, "leads nowhere")
    assert not (shell.folder / "nowhere.db").exists()


def test_a_newer_schema_is_named_with_the_one_that_is_known(inside: Inside, shell: Shell) -> None:
    """Reading and writing are refused, both versions are in the message."""
    inside.record()
    changed(shell.file, "PRAGMA user_version = 99")

    refused(shell.run("query", "postgres"), 32, "99", "1")
    refused(shell.run(*RECORD, "--problem", "p", "--solution", "s"), 32, "99", "1")


def test_projections_of_an_older_program_are_not_read(inside: Inside, shell: Shell) -> None:
    """The reader says what brings them up to date."""
    inside.record()
    changed(shell.file, "UPDATE projection SET version = 0")

    refused(shell.run("query", "postgres"), 29, "learnings rebuild")
    assert shell.run("rebuild").code == 0
    assert shell.run("query", "postgres").code == 0


def test_a_read_only_ledger_answers_and_takes_nothing(inside: Inside, shell: Shell) -> None:
    """File and folder without write permission: questions work, writes are refused with 34."""
    inside.record()
    shell.file.with_name("ledger.db.lock").unlink(missing_ok=True)
    shell.file.chmod(0o400)
    shell.file.parent.chmod(0o500)
    try:
        asked = shell.run("query", "postgres", before=without_override)
        done = shell.run(*RECORD, "--problem", "p", "--solution", "s", before=without_override)
    finally:
        shell.file.parent.chmod(0o700)

    assert asked.code == 0, asked.err
    assert "use port 5432" in asked.out
    refused(done, 34, "nothing was written")


def test_a_file_that_others_may_write_is_not_trusted(inside: Inside, shell: Shell) -> None:
    """The message holds the command that mends it."""
    inside.record()
    shell.file.chmod(0o666)

    refused(shell.run(*RECORD, "--problem", "p", "--solution", "s"), 27, "chmod 600")


def test_a_locked_ledger_names_who_holds_it_and_how_long(
    inside: Inside, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is bounded; the holder's process id and time stand in the lock file."""
    inside.record()
    monkeypatch.setattr(cli_call, "WAIT_S", 0.05)

    with WriteLock(str(shell.file), 1.0):
        done = inside(*RECORD, "--problem", "p", "--solution", "s")

    refused(done, 35, f"process {os.getpid()}", " s; waited 0.05 s", "nothing was written")


def test_a_write_that_does_not_fit_leaves_nothing_half_written(inside: Inside, shell: Shell) -> None:
    """The system refuses to let the file grow; the ledger is what it was, and goes on working."""
    inside.record()
    size = shell.file.stat().st_size

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = shell.run(*RECORD, "--problem", "p", "--solution", "long text " * 1500, before=full)

    assert 30 <= done.code < 40, done.err
    assert len(done.err.splitlines()) == 1
    assert inside.document("verify")["events"] == 1
    assert inside.record("p", "s")["seq"] == 2


@pytest.fixture
def rolled_back(inside: Inside, shell: Shell) -> Shell:
    """Return a ledger in whose place an older copy of itself was put."""
    inside.record()
    copy = shell.folder / "copy.db"
    shutil.copy(shell.file, copy)
    inside.record("second", "s")
    shutil.copy(copy, shell.file)
    return shell


def test_an_older_copy_of_the_ledger_is_noticed_and_can_be_accepted(rolled_back: Shell, inside: Inside) -> None:
    """The refusal says what it means and how to accept; afterwards the ledger is written again."""
    refused(rolled_back.run(*RECORD, "--problem", "p", "--solution", "s"), 37, "rolled back", "verify --accept-head")

    verdict = inside("verify", "--json")
    assert verdict.code == 37
    assert [problem["code"] for problem in verdict.document["problems"]] == ["rolled_back"]

    assert inside("verify", "--accept-head").code == 0
    assert inside.record("third", "s")["state"] == "current"


def test_a_damaged_log_does_not_verify(inside: Inside, shell: Shell) -> None:
    """A changed word of a stored text is found, named by its event, and has an exit status of its own."""
    inside.record("postgres hangs", "use port 5432")
    data = bytearray(shell.file.read_bytes())
    at = data.index(b'"solution":"use port 5432"')
    data[at + 20] ^= 1
    shell.file.write_bytes(data)

    done = inside("verify", "--json")

    assert done.code == 39
    assert done.document["ok"] is False
    assert 1 in [problem["seq"] for problem in done.document["problems"]]


def test_each_error_has_an_exit_status_of_its_own() -> None:
    """A script tells a text that only echoes from a doctor that found something."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, LedgerError)]
    own = [kind.exit_code for kind in kinds if "exit_code" in vars(kind)]

    assert len(own) == len(set(own))
    assert all(0 < code < 126 for code in own)
