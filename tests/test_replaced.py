"""A ledger file that is replaced, moved or removed under its writers: none acknowledges what nobody will find."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from children import REFUSED, Say, end, fork, heard
from command import Shell
from rows import append, copied, opened, verified

from ledger import place
from ledger.errors import Replaced
from ledger.ledger import Ledger
from ledger.model import Draft, new_event_id
from ledger.store_sqlite import SqliteStore

WRITERS = 5
EVENT_IDS = "SELECT event_id FROM event"


def writer(path: str) -> Callable[[Say], None]:
    """Return an act that appends without end and says the id of each event once it is acknowledged."""

    def act(say: Say) -> None:
        with Ledger.open(path, wait_s=60.0) as ledger:
            say("ready")
            while True:
                own = new_event_id()
                ledger.record(Draft(own, own[::-1], "env", "demo"), event_id=own)
                say(own)

    return act


def by_a_copy(path: str, aside: str) -> None:
    """Put a copy in its place, as whoever restores a backup does; the old file goes on under another name."""
    copied(path, f"{aside}.copy/ledger.db")
    os.rename(path, aside)
    os.rename(f"{aside}.copy/ledger.db", path)


def by_one_rename(path: str, aside: str) -> None:
    """Rename a copy over it in one step, as file synchronisers and careless editors do."""
    copied(path, f"{aside}.copy/ledger.db")
    os.link(path, aside)
    os.replace(f"{aside}.copy/ledger.db", path)


def by_nothing(path: str, aside: str) -> None:
    """Move it away."""
    os.rename(path, aside)


def with_its_folder(path: str, aside: str) -> None:
    """Put a copy of the whole folder in the folder's place: lock and anchor are others too."""
    folder = os.path.dirname(path)

    def copied(source: str, target: str) -> None:
        with suppress(FileNotFoundError):  # a journal that ended meanwhile
            shutil.copy2(source, target)

    shutil.copytree(folder, f"{folder}.copy", copy_function=copied)
    os.rename(folder, f"{folder}.aside")
    os.rename(f"{folder}.copy", folder)
    os.link(f"{folder}.aside/ledger.db", aside)


@pytest.mark.parametrize("replace", [by_a_copy, by_one_rename, by_nothing, with_its_folder])
def test_writers_stop_within_one_append_when_their_file_is_replaced(
    path: str, tmp_path: Path, replace: Callable[[str, str], None]
) -> None:
    """Each of five is refused by name; what was acknowledged after the replacement began stands in no lost file alone.

    Between the copy and the rename, appends go on: those the copy lacks are what restoring an older copy costs, and
    the anchor says so. None is acknowledged after the path leads elsewhere.
    """
    Ledger.init(path).close()
    aside = str(tmp_path / "aside.db")
    children = [fork(writer(path)) for _ in range(WRITERS)]
    said = dict.fromkeys(children, b"")
    while any(text.count(b"\n") < 4 for text in said.values()):
        for child in children:
            said[child] += heard(child, 0.01)

    with suppress(FileExistsError):
        replace(path, aside)
    with opened(aside) as old:
        stood = {row[0] for row in old.execute(EVENT_IDS).fetchall()}
    ends = [end(child, said[child]) for child in children]

    assert [ended.status for ended in ends] == [REFUSED] * WRITERS
    assert {ended.said[-1].partition(":")[0] for ended in ends} == {"Replaced"}
    acknowledged = {line for ended in ends for line in ended.said[1:-1]}
    with opened(aside) as old:
        left = {row[0] for row in old.execute(EVENT_IDS).fetchall()}
    assert acknowledged <= left
    late = acknowledged - stood
    assert not late, "acknowledged in a file that nobody finds again"


class Safe:
    """The standard driver, as it would be with a library that may write in WAL mode."""

    sqlite_version = "3.54.0"
    sqlite_version_info = (3, 54, 0)

    def __getattr__(self, name: str) -> object:
        return getattr(sqlite3, name)


@pytest.mark.parametrize("at", ["BEGIN", "COMMIT"])
@pytest.mark.parametrize("driver", [sqlite3, Safe()], ids=["rollback journal", "WAL"])
def test_a_file_replaced_within_an_append_is_not_acknowledged(
    path: str, tmp_path: Path, driver: object, at: str
) -> None:
    """Whenever it happens, the path is looked at once more when the event is durable, and before the anchor is moved.

    Written for another file, the anchor would call that one rolled back.
    """
    store = SqliteStore(path, create=True, sqlite=driver)
    append(store, 1)
    store.close()
    older = copied(path, str(tmp_path / "older" / "ledger.db"))
    store = SqliteStore(path, sqlite=driver)
    anchor = place.read_anchor(path)

    def replace(statement: str) -> None:
        if statement.startswith(at) and os.path.exists(older):
            os.rename(path, str(tmp_path / "aside.db"))
            os.rename(older, path)

    store.connection().set_trace_callback(replace)
    with pytest.raises(Replaced, match="no longer the file that was opened"):
        append(store, 2)

    store.connection().set_trace_callback(None)
    store.close()
    assert place.read_anchor(path) == anchor
    again = SqliteStore(path, sqlite=driver)
    assert append(again, 3).seq == (3 if driver is not sqlite3 else 2)  # a -wal is found by its name, and replayed
    assert again.find_problems()[3] == []
    again.close()


def test_a_server_stops_writing_when_its_file_is_replaced(tmp_path: Path) -> None:
    """A process that keeps the ledger open over many calls looks each time; each command opens it anew."""
    shell = Shell(tmp_path)
    with Ledger.init(str(shell.file)) as ledger:
        ledger.record(Draft("one", "1", "env", "demo"))
        by_a_copy(str(shell.file), str(tmp_path / "aside.db"))

        with pytest.raises(Replaced):
            ledger.record(Draft("two", "2", "env", "demo"))

    assert shell.run("record", "--problem", "two", "--solution", "2").code == 0
    assert verified(str(shell.file)).events == 2
