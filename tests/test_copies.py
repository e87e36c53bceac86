"""Copies of a ledger without what lies beside it: what they lack is named, and nothing is written over it."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from children import Say, fork, heard, kill
from children import end as ended_of
from command import Inside, Shell, refused

from ledger.errors import RolledBack
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.store_sqlite import SqliteStore, driver, wal_is_safe


class Safe:
    """The standard driver, as it would be with a library that may write in WAL mode."""

    sqlite_version = "3.54.0"
    sqlite_version_info = (3, 54, 0)

    def __getattr__(self, name: str) -> object:
        return getattr(sqlite3, name)


def real_or_safe() -> object:
    """Return the driver that writes, when its library may write in WAL mode; else one that says it may."""
    found = driver()
    return found if wal_is_safe(found.sqlite_version_info) else Safe()


def draft(number: int) -> Draft:
    """Return a draft of its own words."""
    return Draft(f"problem {number} of the pooler", f"use port {number}", "env", "demo")


@pytest.fixture
def in_wal(tmp_path: Path) -> Path:
    """Return a ledger in WAL mode of six events, three of which are in its -wal alone, for its writer was killed."""
    path = tmp_path / "home" / "data" / "ledger.db"

    def act(say: Say) -> None:
        with Ledger.open(str(path), create=True, sqlite=real_or_safe()) as ledger:
            for number in range(3):
                ledger.record(draft(number))
            ledger.store.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            for number in range(3, 6):
                ledger.record(draft(number))
            say("written")
            signal.pause()

    child = fork(act)
    assert heard(child) == b"written\n"
    kill(child)
    assert ended_of(child).status == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size > 0
    return path


def test_a_killed_writers_wal_is_read_by_whoever_comes_next(in_wal: Path) -> None:
    """Nothing that was acknowledged is missing, for readers and writers alike."""
    shell = Shell(in_wal.parent.parent)

    done = shell.run("list", "--json")

    assert len(done.document["rows"]) == 6
    with closing(SqliteStore(str(in_wal), sqlite=real_or_safe())) as store:
        assert store.head().seq == 6
        assert store.find_problems()[3] == []


@pytest.mark.parametrize("how", ["a copy without -wal", "the -wal removed", "the -wal emptied"])
def test_a_ledger_without_its_wal_is_called_rolled_back(
    in_wal: Path, tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It opens, its chain is whole and three events are gone: the anchor tells, and nothing is written in their place.

    Reading goes on; `verify` names it; a person may accept it, and then that stands in the log.
    """
    shell = Shell(tmp_path / "other" if how == "a copy without -wal" else in_wal.parent.parent)
    shell.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if how == "a copy without -wal":
        for ending in ("", ".anchor"):
            shutil.copy(f"{in_wal}{ending}", f"{shell.file}{ending}")
    elif how == "the -wal removed":
        Path(f"{in_wal}-wal").unlink()
        Path(f"{in_wal}-shm").unlink()
    else:
        Path(f"{in_wal}-wal").write_bytes(b"")
    inside = Inside(shell, capsys.readouterr)
    as_rollback_journal(shell.file)

    verdict = inside("verify", "--json")
    listed = inside.document("list")

    assert [problem["code"] for problem in verdict.document["problems"]] == ["rolled_back"]
    assert len(listed["rows"]) == 3
    refused(
        inside("record", "--problem", "p", "--solution", "s"), RolledBack.exit_code, "ends at event 3", "saw event 6"
    )
    assert inside("verify", "--accept-head").code == 0
    assert inside("record", "--problem", "p", "--solution", "s").code == 0
    assert inside("verify").code == 0


def as_rollback_journal(file: Path) -> None:
    """Where the library may not write in WAL mode, let the file be in the other one; what it holds is the same."""
    if isinstance(real_or_safe(), Safe):
        with closing(sqlite3.connect(file)) as raw:
            raw.execute("PRAGMA journal_mode = DELETE").fetchall()


def test_a_copy_without_its_anchor_says_that_a_lost_tail_would_not_show(
    in_wal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is the limit of the anchor, and it is stated where it matters."""
    shell = Shell(tmp_path / "other")
    shell.file.parent.mkdir(parents=True, mode=0o700)
    shutil.copy(in_wal, shell.file)
    as_rollback_journal(shell.file)

    done = Inside(shell, capsys.readouterr)("verify")

    assert done.code == 0
    assert "no anchor" in done.err


def test_a_journal_that_was_left_behind_takes_nothing_back_from_a_copy(tmp_path: Path) -> None:
    """A hot journal belongs to its file: the file is whole once it is rolled back, a copy without it is judged."""
    shell = Shell(tmp_path)
    with Ledger.init(str(shell.file)) as ledger:
        for number in range(40):
            ledger.record(draft(number))
    with closing(sqlite3.connect(shell.file)) as raw:
        raw.execute("PRAGMA journal_mode = DELETE").fetchall()  # whatever the library would have chosen
    code = (
        "import os, signal, sqlite3, sys\n"
        "raw = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "raw.execute('PRAGMA cache_size = 1'); raw.execute('PRAGMA cache_spill = 1'); raw.execute('BEGIN IMMEDIATE')\n"
        "raw.execute('CREATE TABLE filler AS SELECT e.*, p.body FROM event AS e JOIN payload AS p ON p.seq = e.seq')\n"
        "raw.execute('UPDATE projection SET version = 1')\n"
        "raw.execute('DELETE FROM filler WHERE seq > 5')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(shell.file)], check=False)
    assert Path(f"{shell.file}-journal").stat().st_size > 0
    copy = Shell(tmp_path / "other")
    copy.file.parent.mkdir(parents=True, mode=0o700)
    for ending in ("", ".anchor"):
        shutil.copy(f"{shell.file}{ending}", f"{copy.file}{ending}")

    whole, lone = shell.run("verify"), copy.run("verify")

    assert whole.code == 0, whole
    assert lone.code == 0 or lone.code in range(10, 40), lone
    assert "Traceback" not in lone.err
    with closing(sqlite3.connect(shell.file)) as raw:
        assert not raw.execute("SELECT 1 FROM sqlite_schema WHERE name = 'filler'").fetchall()
