"""An erasure or a backup killed with -9 at every call that changes the disk: before or after, and a rerun completes."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from below import KILL, Below
from children import done
from erased import PROBLEM, SOLUTION, holding
from rows import append
from storage_contract import erasure
from test_crash import KILLED, Dying

from ledger import backup, erase, erasures, handover
from ledger.exposures import Exposures
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.sessions import Sessions
from ledger.store_sqlite import SqliteStore

assert -int(signal.SIGKILL) == KILLED

EVERY = [6, pytest.param(1, marks=pytest.mark.soak)]
"""Every how manieth call a run is killed at; all of them take minutes."""


def made(folder: Path) -> Path:
    """Make a ledger with the text in the log, the queue and a kept block, and one neighbour."""
    with Ledger.init(str(folder / "ledger.db")) as ledger:
        name = ledger.record(Draft(PROBLEM, SOLUTION, "env", "demo")).id
        ledger.alias(name, ["the gate"])
        ledger.record(Draft("the kettle whistles", "lift it off the stove", "practice", "demo"))
        ledger.record(Draft("a copy", f"{SOLUTION}, they say", "practice", "other"))
        assert handover.stopped(ledger.path, {"session_id": "s1", "last_assistant_message": SOLUTION}).kept
        Sessions(ledger.path).keep_ready("/x", ("", "1:00", "2026-11-30", "demo", SOLUTION, "[]"), 1.0)
        with Exposures(ledger.path, ledger.store.ledger_id) as exposures:
            exposures.newest(1)
    return folder


def judged(folder: Path, at: object) -> bool:
    """Hold a folder to before or after; then finish, and hold it to be without residue. Tell whether it was after."""
    path = str(folder / "ledger.db")
    with Ledger.open(path) as ledger:
        verdict = ledger.verify()
        assert verdict.ok, (at, verdict)
        erased = ledger.event(1).body is None
        assert verdict.erased == (3 if erased else 0), at
        assert verdict.events == (5 if erased else 4), at
        if erased:
            found = ledger.reader.query("staging tunnel gate").hits
            assert {one.title for one in found} <= {"the kettle whistles"}, at
        finished = erase.erase(ledger, [1], "secret")
        assert set(finished.erased) <= {1, 2, 4}, at
        assert not finished.pending, at
        assert ledger.verify().erased == 3, at
        assert ledger.reader.list_learnings().rows[0].title == "the kettle whistles", at
    assert holding(folder) == [], at
    assert erasures.pending(path) is None, at
    assert erasures.listed(path, ledger.store.ledger_id) == [1, 2, 4], at
    return erased


def killed(below: Below, folder: Path, at: int, *words: str) -> int:
    """Run a command on a folder's ledger, killed at its nth call that changes the disk; return its exit status."""
    return below.run(words, folder / "ledger.db", nth=at, mode=KILL).code


@pytest.mark.parametrize("every", EVERY)
def test_an_erasure_can_be_killed_at_every_call_that_changes_the_disk(memory: Path, below: Below, every: int) -> None:
    """Before the commit the log is as it was, after it the text is gone; a rerun leaves no residue either way."""
    base = made(memory / "base")
    outcomes = []

    for at in range(0, 10_000, every):
        folder = memory / str(at)
        shutil.copytree(base, folder)
        status = killed(below, folder, at, "erase", "1", "--reason", "secret", "--yes")
        outcomes.append(judged(folder, at))
        shutil.rmtree(folder)
        if status != KILLED:
            assert status == 0
            break

    assert len(outcomes) * every > 100
    assert outcomes == sorted(outcomes), "after is never followed by before"
    assert outcomes[0] is False
    assert outcomes[-1] is True


@pytest.mark.parametrize("every", EVERY)
def test_whoever_writes_next_finishes_a_killed_erasure(tmp_path: Path, every: int) -> None:
    """Nobody has to know that it was killed: any append takes the last bytes away."""
    base = made(tmp_path / "base")
    finished = 0

    def act(at: int) -> None:
        store = SqliteStore(str(tmp_path / "next" / "ledger.db"), sqlite=Dying(at))
        store.append(lambda moment: [erasure(1, 2, 4)])

    for step in range(0, 10_000, every):
        shutil.copytree(base, tmp_path / "next")
        status = done(lambda _, at=step: act(at)).status  # type: ignore[misc]
        path = str(tmp_path / "next" / "ledger.db")
        store = SqliteStore(path)
        erased = store.event(1).body is None
        append(store)
        assert not store.find_problems()[3]
        store.close()
        if erased:
            database = [name for name in holding(tmp_path / "next") if name.startswith("ledger.db")]
            assert (database, erasures.pending(path)) == ([], None), step
            finished += status == KILLED
        shutil.rmtree(tmp_path / "next")
        if status != KILLED:
            assert status == 0
            break

    assert finished * every > 12


@pytest.mark.parametrize("every", EVERY)
def test_a_backup_can_be_killed_at_every_call_that_changes_the_disk(memory: Path, below: Below, every: int) -> None:
    """What bears the name is whole and verifies, or there is nothing of that name; the ledger is as it was."""
    base = made(memory / "base")
    there = []

    for at in range(0, 10_000, every):
        folder = memory / str(at)
        shutil.copytree(base, folder)
        status = killed(below, folder, at, "backup", str(folder / "copy.db"))
        copy = folder / "copy.db"
        if not copy.exists():  # what a killed run left stands in nobody's way
            with Ledger.open(str(folder / "ledger.db")) as ledger:
                backup.backup(ledger, str(folder / "copy2.db" if at % 10 else copy))
            os.unlink(folder / "copy2.db" if at % 10 else copy)
        there.append(copy.exists())
        if copy.exists():
            with Ledger.open(str(copy)) as ledger:
                verdict = ledger.verify()
                assert (verdict.ok, verdict.events, verdict.remarks) == (True, 4, []), at
        with Ledger.open(str(folder / "ledger.db")) as ledger:
            assert ledger.verify().ok, at
        shutil.rmtree(folder)
        if status != KILLED:
            assert status == 0
            break

    assert len(there) * every > 60
    assert there[0] is False
    assert there[-1] is True
