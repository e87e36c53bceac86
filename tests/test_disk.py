"""Where a ledger may be made: on a disk of this machine, and in no folder that is kept in step with other ones."""

import os
import time
from pathlib import Path

import pytest
from rows import Wal, opened

from ledger import disk, doctor_file
from ledger.doctor_check import Around
from ledger.errors import UnsafePlace
from ledger.store_sqlite import SqliteStore

MOUNTS = """\
22 1 0:20 / / rw - ext4 /dev/sda1 rw
30 22 0:31 / /home/me/far rw,relatime shared:1 - nfs4 host:/vol rw
31 22 0:32 / /home/me/far/near rw - ext4 /dev/sdb1 rw
32 22 0:33 / /mnt/a\\040b rw - fuse.sshfs me@host:/ rw
33 22 0:34 / /mnt/own rw - fuse.gocryptfs x rw
half a line
"""


def around(file: Path) -> Around:
    """Return what `doctor` is told of a ledger."""
    return Around(str(file), str(file.parent), dict(os.environ), "linux", str(file.parent), time.time())


@pytest.fixture
def mounts(tmp_path: Path) -> str:
    """Return a list of mounts as Linux gives it."""
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS)
    return str(path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/far/ledger.db", "nfs4"),
        ("/home/me/far/near/ledger.db", ""),
        ("/home/me/farther/ledger.db", ""),
        ("/mnt/a b/data/ledger.db", "fuse.sshfs"),
        ("/mnt/own/ledger.db", ""),
        ("/srv/ledger.db", ""),
    ],
)
def test_the_file_system_of_a_path_is_that_of_the_mount_nearest_to_it(mounts: str, path: str, kind: str) -> None:
    """A disk of this machine has no name here; what only looks alike is none."""
    assert disk.network(path, mounts) == kind


def test_a_system_that_lists_no_mounts_says_nothing(tmp_path: Path) -> None:
    """macOS has no such file."""
    assert disk.network("/home/me/ledger.db", str(tmp_path / "none")) == ""


SYNCED = ["Dropbox", "Dropbox (Personal)", "OneDrive - Acme", "Google Drive", "Mobile Documents", "Nextcloud"]


@pytest.mark.parametrize("name", SYNCED)
def test_no_ledger_is_made_in_a_folder_that_is_kept_in_step(tmp_path: Path, name: str) -> None:
    """Wherever below it; nothing is left there."""
    file = tmp_path / name / "notes" / "ledger.db"

    with pytest.raises(UnsafePlace, match=r"kept in step with other machines.*nothing was written") as caught:
        SqliteStore(str(file), create=True)

    assert "--file" in caught.value.hint
    assert not (tmp_path / name).exists()


def test_what_such_a_program_leaves_in_a_folder_gives_it_away(tmp_path: Path) -> None:
    """The folder may have any name; a link to it leads there too."""
    (tmp_path / "stuff" / ".stfolder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "stuff")

    with pytest.raises(UnsafePlace, match="stuff is kept in step"):
        SqliteStore(str(tmp_path / "link" / "ledger.db"), create=True)


@pytest.mark.parametrize("name", ["dropbox-clone", "my-onedrive", "drive", "cloud"])
def test_a_folder_that_only_sounds_alike_takes_a_ledger(tmp_path: Path, name: str) -> None:
    """Among them repositories named for such a program; and a home in which one keeps its settings."""
    (tmp_path / ".dropbox").mkdir()

    SqliteStore(str(tmp_path / name / "ledger.db"), create=True).close()

    assert (tmp_path / name / "ledger.db").exists()


def test_a_ledger_that_was_moved_there_is_read_and_written_and_doctor_says_so(tmp_path: Path) -> None:
    """To refuse it would take the learnings away from their owner."""
    SqliteStore(str(tmp_path / "own" / "ledger.db"), create=True).close()
    (tmp_path / "own").rename(tmp_path / "Dropbox")
    file = tmp_path / "Dropbox" / "ledger.db"

    SqliteStore(str(file)).close()

    (told,) = [check for check in doctor_file.beside(around(file)) if check.id == "disk"]
    assert not told.ok
    assert "one ledger may replace another" in told.message


def test_on_the_file_system_of_a_network_the_journal_is_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WAL needs memory that all its writers share, which machines do not; `doctor` names the file system."""
    file, mounted = tmp_path / "far" / "ledger.db", tmp_path / "mountinfo"
    mounted.write_text(f"30 22 0:31 / {tmp_path}/far rw - nfs4 host:/vol rw\n")
    monkeypatch.setattr(disk.network, "__defaults__", (str(mounted),))

    SqliteStore(str(file), sqlite=Wal(), create=True).close()
    SqliteStore(str(tmp_path / "near" / "ledger.db"), sqlite=Wal(), create=True).close()

    modes = []
    for name in ("far", "near"):
        with opened(str(tmp_path / name / "ledger.db")) as connection:
            modes += connection.execute("PRAGMA journal_mode").fetchone()
    (told,) = [check for check in doctor_file.beside(around(file)) if check.id == "disk"]
    assert modes == ["delete", "wal"]
    assert told.is_remark
    assert "on nfs4" in told.message


def test_the_real_list_of_mounts_can_be_read(tmp_path: Path) -> None:
    """Here a test's folder is on a disk of this machine, or the test says where it is."""
    assert disk.network(str(tmp_path / "ledger.db")) in ("", "9p", "virtiofs", "nfs4", "nfs")
