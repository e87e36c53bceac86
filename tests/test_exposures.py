"""The file of exposures: parallel calls, damage, locks, read-only places, and what is scrubbed before it is kept."""

import json
import os
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell, refused, without_override

from ledger import choose, exposure, exposures
from ledger.exposures import Exposures
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.reader import open_reader
from ledger.recall import Recall

PROMPT = "pgcat refuses connections from the docker network with PGX4711, how did we fix pgcat there?"
KEY = "gh" + "p_" + "A1b2C3d4E5" * 4
NOW = 1_796_000_000.0


@pytest.fixture
def known(ledger: Ledger) -> Ledger:
    """Return a ledger with one learning that the prompt asks for, among others."""
    text = "pgcat refuses connections from the docker network with PGX4711"
    ledger.record(Draft(text, "use port 6543 of pgcat", "env", "demo"))
    for number in range(30):
        ledger.record(Draft(f"kettle {number} whistles on stove {number}", f"lift lid {number}", "practice", "demo"))
    return ledger


@pytest.fixture
def desk(known: Ledger) -> Iterator[Recall]:
    """Return recall over it, at a fixed time."""
    made = Recall(known.reader, "hook", clock=lambda: NOW)
    yield made
    made.close()


@pytest.fixture
def inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command over a ledger with what the prompt asks for."""
    made = Inside(Shell(tmp_path), capsys.readouterr)
    for number in range(20):
        made.record(f"kettle {number} whistles on stove {number}", f"lift lid {number}")
    made.record("pgcat refuses connections from the docker network with PGX4711", "use port 6543 of pgcat")
    return made


def beside(known: Ledger) -> Path:
    """Return where the exposures of a ledger are."""
    return Path(exposures.path_beside(known.path))


def kept_in(known: Ledger) -> Exposures:
    """Return the exposures beside a ledger."""
    return Exposures(known.path, known.store.ledger_id)


# -- several calls at once -------------------------------------------------------------------------------------------


def test_of_calls_that_run_at_once_one_shows_a_learning(
    known: Ledger, desk: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another call showed the session between the choice and its keeping is left out, and held as shown before."""
    chosen = choose.choose
    other = Recall(known.reader, clock=lambda: NOW)

    def overtaken(*given: Any) -> choose.Choice:
        monkeypatch.setattr(choose, "choose", chosen)
        made = chosen(*given)
        assert other.recall(PROMPT, "s1", "demo").ids
        return made

    monkeypatch.setattr(choose, "choose", overtaken)

    found = desk.recall(PROMPT, "s1", "demo")
    other.close()

    assert (found.text, found.ids, found.reasons["silence"]) == ("", [], "shown-before")
    assert [len(one.shown) for one in kept_in(known).newest(5)].count(1) == 1


def test_eight_processes_in_one_session_show_a_learning_once(inside: Inside, tmp_path: Path) -> None:
    """They begin together, in a folder in which no prompt was shown anything yet."""
    shell = Shell(tmp_path)
    words = ("recall", PROMPT, "--project", "demo", "--session", "s1", "--json")

    running = [shell.start(*words) for _ in range(8)]
    done = [json.loads(child.communicate(timeout=60)[0]) for child in running]

    assert len([one for one in done if one["ids"] and one["exposure"]]) == 1
    assert len([one for one in done if one["exposure"] is None]) == 0
    assert len(inside.document("exposures", "s1")["exposures"]) == 8


def test_a_file_that_is_held_for_a_moment_is_waited_for(known: Ledger, desk: Recall) -> None:
    """Another process's addition takes about a millisecond; the exposure is kept all the same."""
    desk.recall(PROMPT, "s1", "demo")
    other = sqlite3.connect(beside(known), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.015, lambda: other.execute("ROLLBACK"))
    timer.start()

    found = desk.recall("thanks", "s2", "demo")
    timer.join()
    other.close()

    assert found.exposure is not None


def test_what_could_not_be_kept_is_not_named_and_not_repeated(known: Ledger, desk: Recall) -> None:
    """The frame names no exposure that `why` would not find; within one process the session is shown it once."""
    desk.recall("thanks", "s0", "demo")
    other = sqlite3.connect(beside(known), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    first, second = desk.recall(PROMPT, "s1", "demo"), desk.recall(PROMPT, "s1", "demo")
    other.execute("ROLLBACK")
    other.close()

    assert (first.exposure, len(first.ids)) == (None, 1)
    assert "learnings why" not in first.text
    assert second.ids == []
    assert desk.session_start("demo", "feature/pgcat-docker", "s1", "compact").ids[0] == first.ids[0]


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_nobody_saw_was_not_shown(known: Ledger, desk: Recall, is_kept: bool) -> None:
    """An answer that came too late is taken back, whether it was remembered in the file or in memory alone."""
    if not is_kept:
        beside(known).mkdir()
    first = desk.recall(PROMPT, "s1", "demo")
    assert (first.exposure is not None) is is_kept

    desk.unseen("s1", first)

    assert desk.recall(PROMPT, "s1", "demo").ids == first.ids
    if is_kept:
        with Exposures(known.path, known.store.ledger_id) as kept:
            assert first.exposure not in [one.id for one in kept.newest(5)]


def test_what_nobody_saw_is_forgotten_although_another_process_holds_the_file(known: Ledger, desk: Recall) -> None:
    """It is shown again at once, and the file forgets it with what is remembered next."""
    first = desk.recall(PROMPT, "s1", "demo")
    other = sqlite3.connect(beside(known), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    desk.unseen("s1", first)
    other.execute("ROLLBACK")
    other.close()

    assert desk.recall(PROMPT, "s1", "demo").ids == first.ids
    with Exposures(known.path, known.store.ledger_id) as kept:
        assert first.exposure not in [one.id for one in kept.newest(5)]


@pytest.mark.parametrize(
    "statement",
    [exposures.OLD_RULES, exposures.PRUNE, exposures.SINCE_ANEW, exposures.OF_SESSION, exposures.OF_PROJECT],
)
def test_no_prompt_reads_the_whole_file(known: Ledger, desk: Recall, statement: str) -> None:
    """What a prompt or a start asks is found by an index: a row is some 15 KB, and there are thousands."""
    desk.recall(PROMPT, "s1", "demo")
    names = {"rules": 1, "many": 3, "before": "", "ledger": "", "session": "", "project": ""}
    with closing(sqlite3.connect(beside(known))) as file:
        steps = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {statement}", names)]

    assert not [step for step in steps if step.startswith("SCAN")]
    assert "USE TEMP B-TREE FOR ORDER BY" not in steps


def test_a_file_that_is_deleted_is_made_anew(known: Ledger, desk: Recall) -> None:
    """Whoever has it open does not go on writing to what nobody can find."""
    desk.recall(PROMPT, "s1", "demo")
    beside(known).unlink()

    desk.recall("thanks", "s2", "demo")

    assert [one.session for one in kept_in(known).newest(5)] == ["s2"]


# -- damage ----------------------------------------------------------------------------------------------------------


def garbage(path: Path) -> None:
    """Put something else there."""
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 40)


def foreign(path: Path) -> None:
    """Put a database of somebody else there."""
    path.unlink()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("CREATE TABLE exposure (id, mood)")
        raw.execute("INSERT INTO exposure VALUES (1, 'fine')")


def cell(column: str, value: Any) -> Callable[[Path], None]:
    """Return what puts a value into a column of every row."""

    def spoil(path: Path) -> None:
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute(f"UPDATE exposure SET {column} = ?", (value,))

    return spoil


def loose(column: str, value: Any) -> Callable[[Path], None]:
    """The same in a table that takes any type."""

    def spoil(path: Path) -> None:
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("CREATE TABLE kept AS SELECT * FROM exposure")
            raw.execute("DROP TABLE exposure")
            raw.execute("ALTER TABLE kept RENAME TO exposure")
            raw.execute(f"UPDATE exposure SET {column} = ?", (value,))

    return spoil


def not_utf_8(path: Path) -> None:
    """Put bytes into a text that are none."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE exposure SET channel = CAST(x'ff' AS TEXT)")


SPOILT = {
    "garbage": garbage,
    "foreign": foreign,
    "shown-no-json": cell("shown", "["),
    "shown-number": cell("shown", "5"),
    "shown-numbers": cell("shown", "[1]"),
    "shown-no-ids": cell("shown", '["x"]'),
    "shown-deep": cell("shown", "[" * 100_000),
    "shown-blob": loose("shown", b"\xff"),
    "shown-null": loose("shown", None),
}
"""What a prompt of the session meets."""

SPOILT_FOR_PEOPLE = SPOILT | {
    "held": cell("held", '[{"id": 1}]'),
    "held-text": cell("held", '"x"'),
    "parts": cell("parts", '{"a": {"probability": "much"}}'),
    "parts-nan": cell("parts", '{"a": {"probability": NaN}}'),
    "parts-huge": cell("parts", '{"a": {"probability": 1' + "0" * 400 + "}}"),
    "versions": cell("versions", "[]"),
    "keywords": cell("keywords", "{}"),
    "keywords-half": cell("keywords", '["\\ud800"]'),
    "keywords-old": lambda path: [cell("keywords", "5")(path), cell("rules", 0)(path)][0],
    "at": loose("at", b"7"),
    "head": loose("head_seq", "x"),
    "id": loose("id", "exp_"),
    "not-utf-8": not_utf_8,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=list(SPOILT))
def test_a_damaged_file_is_set_aside_and_another_is_begun(known: Ledger, spoil: Callable[[Path], None]) -> None:
    """The prompt is answered and remembered, so the session is shown it once; the old file is there to be looked at."""
    with closing(Recall(known.reader, clock=lambda: NOW)) as before:
        before.recall("thanks", "s1", "demo")
    spoil(beside(known))
    desk = Recall(known.reader, clock=lambda: NOW)

    first, second = desk.recall(PROMPT, "s1", "demo"), desk.recall(PROMPT, "s1", "demo")
    desk.close()

    assert len(first.ids) == 1
    assert f"learnings why {first.exposure}" in first.text
    assert second.ids == []
    assert stat.S_IMODE(os.stat(beside(known)).st_mode) == 0o600
    assert beside(known).with_name("exposures.db.damaged").exists()
    assert "exposures.db.damaged" in (kept_in(known).lost() or "")


@pytest.mark.parametrize("spoil", SPOILT_FOR_PEOPLE.values(), ids=list(SPOILT_FOR_PEOPLE))
def test_a_question_about_a_damaged_file_says_what_became_of_it(
    inside: Inside, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    """No fault of the program; the next question meets a file that is whole."""
    done = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    spoil(tmp_path / "data" / "exposures.db")

    asked, judged = inside("why", done["exposure"]), inside("wrong")
    listed = inside("exposures")
    again = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")

    refused(asked, 16, "there is no exposure")
    assert "exposures.db.damaged; it may be deleted" in asked.err + judged.err
    refused(judged, 16, "nothing was written")
    assert listed.code == 0
    assert "exposures.db.damaged; it may be deleted" in listed.err
    assert len(again["ids"]) == 1
    assert [one["id"] for one in inside.document("exposures")["exposures"]] == [again["exposure"]]


def test_what_was_set_aside_goes_after_the_days_of_its_rows(known: Ledger) -> None:
    """Ninety days later the next prompt removes it."""
    garbage(beside(known))
    for days in (0, 91):
        moments = iter([NOW + days * 86_400])
        with closing(Recall(known.reader, clock=moments.__next__)) as desk:
            desk.recall("thanks", "s1", "demo")

    assert kept_in(known).lost() is None


def test_a_file_of_a_newer_program_is_left_alone(known: Ledger, desk: Recall) -> None:
    """Nothing is remembered, and nothing of it is lost."""
    desk.recall("thanks", "s1", "demo")
    with closing(sqlite3.connect(beside(known))) as raw:
        raw.execute("PRAGMA user_version = 99")
    before = beside(known).read_bytes()
    desk.close()

    found = desk.recall(PROMPT, "s1", "demo")

    assert (len(found.ids), found.exposure) == (1, None)
    assert beside(known).read_bytes() == before


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/null", path)])
def test_what_is_no_file_is_not_waited_for(inside: Inside, tmp_path: Path, put: Callable[[Path], None]) -> None:
    """A pipe, a folder or a link in its place: the prompt is answered, and whoever asks is told."""
    put(tmp_path / "data" / "exposures.db")

    found = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")

    assert (len(found["ids"]), found["exposure"]) == (1, None)
    refused(inside("exposures"), 30, "is no regular file")


# -- locked, read-only -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("exposures",), ("wrong", "--dry-run"), ("why", "exp_aaaa")])
def test_a_locked_file_is_waited_for_and_then_said_to_be_locked(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """It is whole, and nobody is told to delete it."""
    inside.document("recall", PROMPT, "--project", "demo")
    monkeypatch.setattr(exposures, "ASKED_WAIT_MS", 30)
    other = sqlite3.connect(tmp_path / "data" / "exposures.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    done = inside(*words)
    other.close()

    refused(done, 35, "is locked by another process")


def test_a_short_lock_delays_a_question_only(inside: Inside, tmp_path: Path) -> None:
    """The first read waits as well."""
    inside.document("recall", PROMPT, "--project", "demo")
    other = sqlite3.connect(tmp_path / "data" / "exposures.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.2, other.close)
    timer.start()

    done = inside("exposures")
    timer.join()

    assert (done.code, len(done.out.splitlines())) == (0, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_a_place_that_cannot_be_written_can_be_asked(inside: Inside, tmp_path: Path) -> None:
    """What was shown is told, also when it was kept under older rules, and recall shows it once a session."""
    first = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    path, shell = tmp_path / "data" / "exposures.db", Shell(tmp_path)
    cell("rules", 0)(path)
    cell("keywords", json.dumps(["pgcat", KEY]))(path)
    path.chmod(0o400)
    path.parent.chmod(0o500)

    listed = shell.run("exposures", "--json", before=without_override)
    told = shell.run("why", first["exposure"], before=without_override)
    again = shell.run("recall", PROMPT, "--project", "demo", "--session", "s1", "--json", before=without_override)
    fresh = shell.run("recall", PROMPT, "--project", "demo", "--session", "s2", before=without_override)
    path.parent.chmod(0o700)

    assert [row["keywords"] for row in listed.document["exposures"]] == [["pgcat"]], listed.err
    assert told.code == 0
    assert (again.document["ids"], again.document["exposure"]) == ([], None)
    assert "use port 6543" in fresh.out
    assert "learnings why" not in fresh.out


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_every_name_is_scrubbed_before_it_is_kept(known: Ledger, desk: Recall) -> None:
    """A secret as the name of a session, a prompt or a project does not reach the file, and the session still works."""
    first = desk.recall(PROMPT, KEY, "demo", prompt_id=KEY)
    again = desk.recall(PROMPT, KEY, "demo")
    desk.recall("thanks", "s2", KEY)

    assert (len(first.ids), again.ids) == (1, [])
    assert KEY not in beside(known).read_bytes().decode("latin-1")
    assert "[REDACTED:" in str(kept_in(known).newest(1, "s2")[0].project)
    assert len(kept_in(known).newest(9, KEY)) == 2


def test_names_of_different_bytes_are_different_sessions(known: Ledger, desk: Recall) -> None:
    """A name need not be UTF-8; a session without a name is none."""
    names = [os.fsdecode(name) for name in (b"\xff\xfe", b"\xff\xfd", b"??")]

    found = [desk.recall(PROMPT, name, "demo").ids for name in names]
    nameless = [desk.recall(PROMPT, "", "demo").ids for _ in range(2)]

    assert [len(ids) for ids in (*found, *nameless)] == [1] * 5
    assert len({one.session for one in kept_in(known).newest(9)}) == 4


def test_ids_that_fit_a_beginning_are_called_exposures(inside: Inside) -> None:
    """They are no learnings."""
    for number in range(7):
        inside.document("recall", f"thanks {number}", "--project", "demo")

    refused(inside("why", "exp_"), 17, "exp_ fits more than 5 exposures: exp_")


def test_a_row_that_is_read_is_the_row_that_was_kept(known: Ledger, desk: Recall) -> None:
    """Every field comes back."""
    desk.recall(PROMPT, "s1", "demo", prompt_id="p1")
    with closing(sqlite3.connect(beside(known))) as raw:
        (row,) = raw.execute(f"SELECT {exposure.COLUMNS} FROM exposure").fetchall()

    one = exposure.exposure_of(row)

    assert exposure.row_of(one, known.store.ledger_id) == row
    with open_reader(known.path) as reader:
        assert one.head_seq == reader.head().seq
