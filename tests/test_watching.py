"""What the system tells of changes: each way in which programs save, with real files and the real observer."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from importers.watching import Changed, Target, Watching

SOON_S = 20.0
"""Longest wait for what has to happen; the machine may be busy."""

NOTHING = Changed(frozenset(), is_all=False, is_built=False)

NEVER_S = 0.6
"""How long nothing must happen; three times as long as something is held back."""


@pytest.fixture
def said() -> list[str]:
    """Return what is remarked."""
    return []


@pytest.fixture
def watching(said: list[str]) -> Iterator[Watching]:
    """Return a watch of nothing yet."""
    made = Watching(said.append)
    yield made
    made.close()


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Return a folder with one note."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "old.md").write_text("old")
    return folder


def followed(watching: Watching, folder: Path) -> None:
    """Watch the notes of a folder."""
    watching.follow([Target("notes", str(folder), (".md",))])


def in_place(folder: Path) -> None:
    """Write over a note."""
    with open(folder / "old.md", "r+") as file:
        file.write("new")


def appended(folder: Path) -> None:
    """Add to a note."""
    with open(folder / "old.md", "a") as file:
        file.write("more")


def renamed_inside(folder: Path) -> None:
    """Give a new file the name of a note."""
    (folder / ".old.tmp").write_text("new")
    os.replace(folder / ".old.tmp", folder / "old.md")


def renamed_from_outside(folder: Path) -> None:
    """The same, from another folder."""
    (folder.parent / "made").write_text("new")
    os.replace(folder.parent / "made", folder / "old.md")


def backed_up(folder: Path) -> None:
    """Keep the old note under another name meanwhile."""
    os.rename(folder / "old.md", folder / "old.md~")
    (folder / "old.md").write_text("new")
    os.unlink(folder / "old.md~")


def deleted_and_created(folder: Path) -> None:
    """Delete a note and make it anew."""
    os.unlink(folder / "old.md")
    (folder / "old.md").write_text("new")


def nested(folder: Path) -> None:
    """Make folders in folders, with a note."""
    (folder / "a" / "b" / "c").mkdir(parents=True)
    (folder / "a" / "b" / "c" / "new.md").write_text("new")


def burst(folder: Path) -> None:
    """Add two hundred lines, one by one."""
    for number in range(200):
        with open(folder / "old.md", "a") as file:
            file.write(f"{number}\n")


def deleted(folder: Path) -> None:
    """Delete a note."""
    os.unlink(folder / "old.md")


def moved_in(folder: Path) -> None:
    """Move a folder with a note in."""
    (folder.parent / "packed").mkdir()
    (folder.parent / "packed" / "new.md").write_text("new")
    os.rename(folder.parent / "packed", folder / "packed")


SAVES = (
    in_place, appended, renamed_inside, renamed_from_outside, backed_up, deleted_and_created, nested, burst, deleted,
    moved_in,
)  # fmt: skip


@pytest.mark.parametrize("save", SAVES, ids=lambda save: save.__name__)
def test_every_way_to_save_is_heard_once(watching: Watching, memory: Path, save: Callable[[Path], None]) -> None:
    """One answer for all events of one save, then quiet."""
    followed(watching, memory)

    save(memory)

    assert watching.changed(SOON_S).keys == {"notes"}
    assert watching.changed(NEVER_S) == NOTHING


def test_a_link_that_is_swapped_is_heard_and_then_followed(watching: Watching, tmp_path: Path) -> None:
    """As deployments do: a folder of another version, and a link that leads there at one blow."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "names" / "current"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "one")
    followed(watching, link)

    (link.parent / "next").symlink_to(tmp_path / "two")
    os.replace(link.parent / "next", link)

    heard = watching.changed(SOON_S)
    assert heard.keys == {"notes"}
    followed(watching, link)
    (tmp_path / "two" / "new.md").write_text("new")
    assert watching.changed(SOON_S).keys == {"notes"}
    (tmp_path / "one" / "new.md").write_text("new")
    assert watching.changed(NEVER_S).keys == frozenset()


def test_a_folder_that_is_not_there_yet_is_waited_for(watching: Watching, tmp_path: Path) -> None:
    """Several levels up; once it is there, what happens in it is heard."""
    folder = tmp_path / "x" / "y" / "memory"
    followed(watching, folder)

    folder.mkdir(parents=True)
    heard = watching.changed(SOON_S)
    assert (heard.keys, heard.is_built) == ({"notes"}, True)
    followed(watching, folder)

    (folder / "new.md").write_text("new")
    assert watching.changed(SOON_S).keys == {"notes"}


def test_a_folder_that_goes_and_comes_back_is_heard(watching: Watching, memory: Path) -> None:
    """The old watch went with the old folder."""
    followed(watching, memory)
    os.rename(memory, memory.with_name("away"))
    assert watching.changed(SOON_S).is_built
    followed(watching, memory)

    memory.mkdir()
    assert watching.changed(SOON_S).keys == {"notes"}
    followed(watching, memory)
    (memory / "new.md").write_text("new")

    assert watching.changed(SOON_S).keys == {"notes"}


def test_other_names_and_reading_wake_nobody(watching: Watching, memory: Path) -> None:
    """Swap files of editors, and our own reading."""
    followed(watching, memory)

    (memory / ".old.md.swp").write_text("x")
    (memory / "old.md").read_text()
    os.listdir(memory)

    assert watching.changed(NEVER_S) == NOTHING


def test_a_database_is_its_log_too(watching: Watching, tmp_path: Path) -> None:
    """Writes of a database in WAL mode go to the file beside it."""
    file = tmp_path / "mem.db"
    file.write_bytes(b"")
    watching.follow([Target("db", str(file))])

    (tmp_path / "mem.db-wal").write_bytes(b"log")
    assert watching.changed(SOON_S).keys == {"db"}
    (tmp_path / "other.db").write_bytes(b"")
    assert watching.changed(NEVER_S).keys == frozenset()


def test_what_is_never_quiet_is_told_after_a_while(watching: Watching, memory: Path) -> None:
    """A session that is written all the time must not wait for its end."""
    followed(watching, memory)
    done = threading.Event()

    def writes() -> None:
        while not done.wait(0.05):
            appended(memory)

    writer = threading.Thread(target=writes)
    writer.start()
    heard = watching.changed(SOON_S)
    done.set()
    writer.join()

    assert heard.keys == {"notes"}


def test_what_is_let_be_is_told_later_and_not_lost(watching: Watching, memory: Path) -> None:
    """Looking at it takes long, and others do not wait for it."""
    other = memory.parent / "other.md"
    watching.follow([Target("notes", str(memory), (".md",)), Target("other", str(other))])
    watching.rest("notes", 1.0)

    appended(memory)
    other.write_text("x")

    assert watching.changed(SOON_S).keys == {"other"}
    assert watching.changed(SOON_S).keys == {"notes"}


def test_a_timer_tells_one_target_and_holds_no_change_back(watching: Watching, memory: Path) -> None:
    """What is to be looked at later again may change before that."""
    followed(watching, memory)
    watching.wake(["notes"], 30)
    appended(memory)
    assert watching.changed(SOON_S).keys == {"notes"}

    watching.wake(["notes"], 0.1)

    assert watching.changed(SOON_S).keys == {"notes"}
    assert watching.changed(NEVER_S) == NOTHING


def test_what_the_ledger_itself_writes_wakes_nobody(memory: Path, said: list[str]) -> None:
    """Else a ledger in a watched folder would be read for ever."""
    watching = Watching(said.append, str(memory / "ledger.db"))
    watching.follow([Target("all", str(memory), ("",))])

    (memory / "ledger.db-wal").write_bytes(b"x")

    assert watching.changed(NEVER_S) == NOTHING
    watching.close()


def test_a_queue_that_runs_over_is_said_once_and_everything_is_looked_at(
    watching: Watching, memory: Path, said: list[str]
) -> None:
    """The kernel's own queue, while nobody reads from it; one reading, of some thousands, may be under way."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    followed(watching, memory)
    reader = watching._observer._emitter_kwargs["inotify_fd"]
    with reader._lock:
        for number in range(2 * most):
            os.mknod(memory / f"{number}.md") if number < 100 else os.utime(memory / f"{number % 100}.md")

    heard = watching.changed(SOON_S)
    while heard.keys and not heard.is_all:  # of what was read before
        heard = watching.changed(SOON_S)

    assert (heard.is_all, heard.is_built, watching.is_polling) == (True, True, True)
    assert len(said) == 1
    assert "more happened at once than the system remembers" in said[0]
    appended(memory)
    assert watching.changed(SOON_S).is_all
    assert len(said) == 1


def test_without_the_systems_events_everything_is_looked_at(said: list[str], memory: Path) -> None:
    """Every inotify instance of this user is taken, as a big desktop does."""
    taken = []
    import ctypes

    libc = ctypes.CDLL(None)
    while (fd := libc.inotify_init()) >= 0:
        taken.append(fd)
    try:
        watching = Watching(said.append)
    finally:
        for fd in taken:
            os.close(fd)
    followed(watching, memory)

    assert watching.is_polling
    assert watching.changed(SOON_S).is_all
    assert "max_user_instances" in said[0]


def test_folders_that_cannot_be_watched_are_told(
    said: list[str], memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """watchdog passes over them in silence; the limit is the user's, so that it is not really reached here."""
    import ctypes
    import errno

    from watchdog.observers import inotify_c

    real = inotify_c.inotify_add_watch

    def limited(fd: int, path: bytes, mask: int) -> int:
        if path.endswith(b"deep"):
            ctypes.set_errno(errno.ENOSPC)
            return -1
        return int(real(fd, path, mask))

    monkeypatch.setattr(inotify_c, "inotify_add_watch", limited)
    (memory / "deep").mkdir()
    watching = Watching(said.append)
    followed(watching, memory)

    assert watching.changed(SOON_S).is_all
    assert len(said) == 1
    assert "max_user_watches" in said[0]


def test_nothing_is_left_open_after_many_changes(memory: Path, said: list[str]) -> None:
    """A thousand new folders and notes: as many threads and files as before."""
    before = (threading.active_count(), len(os.listdir("/proc/self/fd")))
    watching = Watching(said.append)
    followed(watching, memory)
    during = threading.active_count()
    for number in range(1_000):
        (memory / str(number)).mkdir()
        (memory / str(number) / "new.md").write_text("new")
        if number % 100 == 0:
            assert watching.changed(SOON_S).keys == {"notes"}
            followed(watching, memory)
    assert threading.active_count() == during
    watching.close()

    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before
