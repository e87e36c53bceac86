"""A ledger whose projections an older program made: every command says what to do, and that works and loses nothing."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from command import Inside, Shell, refused
from talk import talking

from ledger import sql

PROMPT = "pgcat refuses connections from the docker network with PGX4711, how did we fix pgcat there?"

OLDER = """
DROP VIEW aliases; DROP VIEW judgements; DROP VIEW summaries; DROP TABLE session_summary;
DROP VIEW pairs; DROP TABLE pair;
DROP TABLE alias_places; DROP TABLE alias_fts; DROP TABLE alias; DROP TABLE judgement;
DROP TABLE vector; DROP TABLE vector_version;
UPDATE projection SET version = 1;
"""
"""What the first version's projections did not have."""


VECTORS = "SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM learning)"


@pytest.fixture
def inside(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command on a ledger as the first version left it: a chain, a pin, a setting, thirty others."""
    made = Inside(shell, capsys.readouterr)
    for number in range(30):
        made.record(f"kettle {number} whistles on stove {number}", f"lift lid {number}")
    old = made.record("pgcat refuses connections from the docker network with PGX4711", "use port 6543 of pgcat")
    texts = ("--problem", "the gateway moved", "--solution", "use port 7000", "--reason", "it moved")
    new = made.document("supersede", old["id"], *texts)
    made.document("pin", new["id"])
    made.document("config", "set", "project_aliases", '{"old-demo": "demo"}')
    with closing(sqlite3.connect(shell.file)) as raw:
        raw.executescript(OLDER)
    return made


def log(shell: Shell) -> list[Any]:
    """Return the whole log."""
    with closing(sqlite3.connect(shell.file)) as raw:
        return raw.execute("SELECT * FROM event AS e JOIN payload AS p ON p.seq = e.seq ORDER BY e.seq").fetchall()


def version(shell: Shell) -> int:
    """Return the version of the projections in the file."""
    with closing(sqlite3.connect(shell.file)) as raw:
        (found,) = raw.execute("SELECT version FROM projection").fetchone()
        return int(found)


READING = [
    "query pgcat", "recall pgcat --project demo", "why pgcat", "why exp_a", "exposures", "show lrn_aaaa",
    "history lrn_aaaa", "list", "stats", "config", "project list", "export", "eval label nowhere",
]  # fmt: skip


@pytest.mark.parametrize("words", READING)
def test_a_command_that_reads_says_what_to_do(inside: Inside, shell: Shell, words: str) -> None:
    """One line that names both versions and `learnings rebuild`; nothing changes."""
    before = shell.file.read_bytes()

    done = inside(*words.split())

    refused(done, 29, "version 1", f"reads {sql.PROJECTION_VERSION}", "learnings rebuild", "log itself is untouched")
    assert shell.file.read_bytes() == before


def test_an_agent_is_told_as_well(inside: Inside, shell: Shell) -> None:
    """A tool that reads answers with the same hint; one that writes rebuilds first."""
    with talking(shell.file, "auto") as talk:
        refusal = talk.refusal("query_learnings", query="pgcat", project="demo")
        texts = {"problem": "a new kettle", "solution": "lift it", "category": "env", "project": "demo"}
        talk.document("record_learning", **texts)
        found = talk.document("query_learnings", query="pgcat refuses", project="demo")

    assert "learnings rebuild" in refusal
    assert found["hits"][0]["solution"] == "use port 7000"


def test_sql_looks_at_it_as_it_is(inside: Inside) -> None:
    """Forensics do not wait."""
    done = inside("sql", "SELECT count(*) AS many FROM current_learnings")

    assert (done.code, done.out.split()) == (0, ["many", "31"])
    assert "version 1" in done.err


def test_verify_names_the_one_thing_that_is_to_be_done(inside: Inside, shell: Shell) -> None:
    """Not every table that the newer program would have made."""
    found = inside("verify", "--json")

    (problem,) = found.document["problems"]
    assert found.code == 39
    assert problem["code"] == "projection"
    assert "learnings rebuild" in problem["message"]


def test_verify_still_finds_what_is_wrong_with_the_log(inside: Inside, shell: Shell) -> None:
    """Outdated projections hide no forgery."""
    with closing(sqlite3.connect(shell.file)) as raw:
        raw.executescript(
            "DROP TRIGGER event_update_refused; CREATE TRIGGER own AFTER INSERT ON event BEGIN SELECT 1; END"
        )

    messages = [problem["message"] for problem in inside("verify", "--json").document["problems"]]

    assert "event_update_refused is missing from the file" in messages
    assert "own is a foreign trigger on event" in messages
    assert len(messages) == 3


@pytest.mark.parametrize("words", ["rebuild --dry-run", "upgrade --dry-run"])
def test_a_dry_run_changes_nothing(inside: Inside, shell: Shell, words: str) -> None:
    """It says that projections would be rebuilt, and does not do it."""
    done = inside(*words.split())

    assert done.code == 0, done.err
    assert "would" in done.out
    assert "rebuil" in done.out
    assert version(shell) == 1


@pytest.mark.parametrize(
    "words", ["rebuild", "upgrade", "record --problem a --solution b --category env --project demo"]
)
def test_what_is_to_be_done_works_and_loses_nothing(inside: Inside, shell: Shell, words: str) -> None:
    """The log is the same byte for byte, vectors are made, and the chain is found by its old words and by meaning."""
    before = log(shell)

    done = inside(*words.split())

    assert done.code == 0, done.err
    assert "rebuilt" in done.out + done.err
    assert log(shell)[: len(before)] == before
    assert version(shell) == sql.PROJECTION_VERSION
    ((vectors, learnings),) = inside.document("sql", VECTORS)["rows"]
    assert vectors == learnings >= 32
    assert inside.document("stats")["meaning"]["vectors"] is not None
    assert "use port 7000" in inside.document("recall", PROMPT, "--project", "old-demo")["text"]
    assert inside.document("verify")["ok"]


def test_upgrade_says_what_it_did_and_then_that_there_is_nothing_to_do(inside: Inside) -> None:
    """The schema was that of today; only the projections were rebuilt, and no backup is taken for that."""
    first, second = inside.document("upgrade"), inside.document("upgrade")

    assert (first["steps"], first["rebuilt"], first["backup"]) == ([], True, None)
    assert (second["steps"], second["rebuilt"]) == ([], False)
    assert "nothing to do" in inside("upgrade").out
