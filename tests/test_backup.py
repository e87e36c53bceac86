"""`learnings backup`: one plain file, consistent and verified; and what an erasure does to older copies."""

import json
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from children import end, fork, kill
from command import Inside, Shell, refused
from erased import PROBLEM, SOLUTION, TOKEN, holding
from rows import Wal

from ledger import backup, erase, erasures
from ledger.errors import Unerased
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.reader import open_reader

# -- the copy ----------


def test_a_backup_is_one_private_file_that_verifies_with_its_anchor(inside: Inside, tmp_path: Path) -> None:
    """It says where its log ends, and is a ledger wherever it lies; the umask changes nothing."""
    inside.record(PROBLEM, SOLUTION)
    before = os.umask(0)
    try:
        done = inside.document("backup", "copy.db")
    finally:
        os.umask(before)

    copy = tmp_path / "copy.db"
    anchor = json.loads((tmp_path / "copy.db.anchor").read_text())
    assert done["path"] == str(copy)
    assert (done["seq"], done["bytes"]) == (1, copy.stat().st_size)
    assert (anchor["seq"], anchor["hash"]) == (1, done["hash"])
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (copy, tmp_path / "copy.db.anchor")]
    assert modes == [0o600, 0o600]
    assert inside("verify", "--file", str(copy)).err == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "copy.db", "copy.db.anchor", "copy.db.lock", "copy.db.queue",
    ]  # fmt: skip


def test_a_backup_of_a_file_in_wal_mode_needs_no_sidecar(path: str, tmp_path: Path) -> None:
    """What stands in the log of pages is in the copy, which is one file."""
    from ledger.store_sqlite import SqliteStore

    with Ledger(SqliteStore(path, sqlite=Wal(), create=True)) as ledger:
        ledger.record(Draft(PROBLEM, SOLUTION, "env", "demo"))
        assert os.path.getsize(path + "-wal") > 0

        backup.backup(ledger, str(tmp_path / "copy.db"))

    connection = sqlite3.connect(f"file:{tmp_path}/copy.db?mode=ro&immutable=1", uri=True)
    assert connection.execute("SELECT count(*) FROM event").fetchone() == (1,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_a_dry_run_of_a_backup_writes_nothing(inside: Inside, tmp_path: Path) -> None:
    """It says what it would write, and refuses what it would refuse."""
    inside.record()

    done = inside("backup", "copy.db", "--dry-run")

    assert "would have written" in done.out
    assert not [path for path in tmp_path.iterdir() if path.is_file()]
    refused(inside("backup", "data/ledger.db", "--dry-run"), 27, "ledger.db")


TAKEN = ("copy.db", "copy.db.lock", "copy.db-wal", "copy.db.erased")


@pytest.mark.parametrize("taken", TAKEN)
def test_nothing_is_ever_overwritten(inside: Inside, tmp_path: Path, taken: str) -> None:
    """A file of that name, or one that would belong to it, is left as it is."""
    inside.record()
    (tmp_path / taken).write_text("mine")

    refused(inside("backup", "copy.db"), 27, "copy.db")

    assert (tmp_path / taken).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [taken]


@pytest.mark.parametrize("name", ["data/ledger.db", "data/ledger.db.anchor", "data/ledger.db-wal", "no/such/copy.db"])
def test_a_backup_goes_to_no_place_of_the_ledger_and_to_no_missing_folder(inside: Inside, name: str) -> None:
    """The ledger's own names are refused, and folders are not made."""
    inside.record()

    done = inside("backup", name)

    assert done.code in (27, 30)
    assert inside("verify").code == 0


def test_a_log_that_is_damaged_or_behind_its_anchor_is_not_backed_up(inside: Inside, shell: Shell) -> None:
    """A backup of such a log would prove nothing; nothing is left of the copy."""
    inside.record()
    shutil.copy(shell.file, shell.folder / "older")
    inside.record("another", "text of it")
    shutil.copy(shell.folder / "older", shell.file)

    refused(inside("backup", "copy.db"), 37, "rolled back")

    assert not [path for path in shell.folder.iterdir() if path.name.startswith("copy.db")]


def test_a_backup_beside_writers_is_a_state_that_was_acknowledged(path: str, tmp_path: Path) -> None:
    """Taken while another process appends without end, it ends at a whole append and verifies."""
    with Ledger.init(path) as ledger:
        ledger.record(Draft("first", "text", "env", "demo"))

    def writes(say: object) -> None:
        with Ledger.open(path) as other:
            number = 0
            while True:
                number += 1
                other.supersede(
                    other.record(Draft(f"p{number}", f"s{number}", "env", "demo")).id, "n", f"m{number}", "w"
                )
                if number == 2:
                    say("going")  # type: ignore[operator]

    child = fork(writes)
    os.read(child.pipe, 100)
    with Ledger.open(path) as ledger:
        done = [backup.backup(ledger, str(tmp_path / f"copy{number}.db")) for number in range(5)]
    kill(child)
    end(child)

    assert [one.seq for one in done] == sorted(one.seq for one in done)
    for one in done:
        with Ledger.open(one.path) as copy:
            assert copy.verify().ok
            assert copy.store.head().hash.hex() == one.hash


def test_a_backup_of_a_pending_erasure_holds_nothing_of_it(ledger: Ledger, tmp_path: Path) -> None:
    """What is not out of the file yet does not get into a copy."""
    name = ledger.record(Draft(PROBLEM, SOLUTION, "env", "demo")).id
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    real, erase.purge.WAIT_MS = erase.purge.WAIT_MS, 10
    compact = erase.purge.compact

    def busy(raw: sqlite3.Connection) -> None:
        holder.execute("BEGIN")
        holder.execute("SELECT count(*) FROM event").fetchone()
        compact(raw)

    erase.purge.compact = busy
    try:
        done = erase.erase(ledger, [name], "secret")
    finally:
        erase.purge.WAIT_MS, erase.purge.compact = real, compact

    backup.backup(ledger, str(tmp_path / "copy.db"))

    holder.close()
    assert done.pending
    assert "copy.db" not in holding(tmp_path)


# -- older copies ----------


def test_an_older_backup_in_the_ledger_s_place_is_erased_again_before_it_is_read(inside: Inside, shell: Shell) -> None:
    """The list beside the file names what was erased; the anchor says that the copy is older; a person accepts that."""
    made = inside.record(PROBLEM, SOLUTION)
    inside.record("the kettle whistles", "lift it")
    inside.document("backup", "copy.db")
    done = inside.document("erase", made["id"], "--reason", "secret", "--yes")
    shutil.copy(shell.folder / "copy.db", shell.file)

    with pytest.raises(Unerased):
        open_reader(str(shell.file))
    read = inside("query", "staging tunnel")
    checked = inside("verify")
    accepted = inside("verify", "--accept-head")

    assert done["still_in"] == [{"path": str(shell.folder / "copy.db"), "kind": "backup"}]
    refused(read, 37, "rolled back")
    assert TOKEN not in read.out
    assert "was erased and has its text again" in checked.out
    assert accepted.code == 0
    assert "erased again" in accepted.err
    assert inside.document("show", made["id"])["solution"] is None
    assert inside.document("verify")["erased"] == 1
    assert holding(shell.file.parent) == []


def test_a_copy_with_its_own_anchor_is_erased_again_by_whoever_reads_or_writes_first(
    inside: Inside, shell: Shell
) -> None:
    """A backup where it was written knows of later erasures too: nobody is served what it still holds."""
    made = inside.record(PROBLEM, SOLUTION)
    inside.document("backup", "copy.db")
    inside.document("erase", made["id"], "--reason", "secret", "--yes")
    before = holding(shell.folder)

    found = inside("query", "staging tunnel", "--file", str(shell.folder / "copy.db"))

    assert before == ["copy.db"]
    assert found.code == 0
    assert "tunnel" not in found.out
    assert "erased again" in found.err
    assert holding(shell.folder) == []
    assert inside("verify", "--file", str(shell.folder / "copy.db")).code == 0


def test_a_server_s_reader_refuses_an_older_copy(path: str, tmp_path: Path) -> None:
    """A process that only reads cannot erase: it serves nothing."""
    with Ledger.init(path) as ledger:
        name = ledger.record(Draft(PROBLEM, SOLUTION, "env", "demo")).id
        backup.backup(ledger, str(tmp_path / "copy.db"))
        erase.erase(ledger, [name], "secret")

    with pytest.raises(Unerased, match="events 1"):
        open_reader(str(tmp_path / "copy.db"))

    assert backup.reapply(str(tmp_path / "copy.db")) == [1]
    with open_reader(str(tmp_path / "copy.db")) as reader:
        assert reader.show(name)["solution"] is None


def test_upgrading_an_older_copy_erases_it_again(path: str, tmp_path: Path) -> None:
    """The command that looks after a file looks after this too."""
    from ledger.upgrade import upgrade

    with Ledger.init(path) as ledger:
        name = ledger.record(Draft(PROBLEM, SOLUTION, "env", "demo")).id
        backup.backup(ledger, str(tmp_path / "copy.db"))
        erase.erase(ledger, [name], "secret")

    upgrade(str(tmp_path / "copy.db"))

    assert holding(tmp_path) == []


def test_seqs_that_a_rollback_took_are_nobody_s_to_erase(inside: Inside, shell: Shell) -> None:
    """After an older copy was accepted new events get those seqs, and their texts stay."""
    inside.record("the kettle whistles", "lift it")
    inside.document("backup", "copy.db")
    lost = inside.record(PROBLEM, SOLUTION)
    inside.document("erase", lost["id"], "--reason", "secret", "--yes")
    shutil.copy(shell.folder / "copy.db", shell.file)
    inside.document("verify", "--accept-head")

    kept = inside.record("the milk boils over", "turn it down")
    again = inside.record("the bread burns", "watch it")

    assert kept["seq"] == 3
    assert again["seq"] == 4
    assert inside.document("show", kept["id"])["solution"] == "turn it down"
    assert inside.document("verify")["erased"] == 0


def test_a_list_that_cannot_be_read_stops_reading_and_writing(inside: Inside, shell: Shell) -> None:
    """What was erased is not known then; guessing would serve it."""
    made = inside.record(PROBLEM, SOLUTION)
    inside.document("erase", made["id"], "--reason", "secret", "--yes")
    Path(f"{shell.file}.erased").write_text("{")

    refused(inside("query", "kettle"), 30, ".erased")
    refused(inside("record", "--problem", "p", "--solution", "s"), 30, ".erased")

    Path(f"{shell.file}.erased").unlink()
    assert inside("query", "kettle").code == 0


def test_the_list_holds_an_id_and_seqs_and_nothing_else(inside: Inside, shell: Shell) -> None:
    """It lies beside the database and may be copied anywhere."""
    made = inside.record(PROBLEM, SOLUTION)
    inside.document("erase", made["id"], "--reason", "secret", "--yes")

    told = json.loads(Path(f"{shell.file}.erased").read_text())

    assert told == {"ledger_id": inside.document("stats")["ledger_id"], "erased": [1]}
    assert erasures.listed(str(shell.file), "another ledger") == []
