"""The file of a ledger, beside the rows in it: anchor, lock, identity, journal mode, forks and clocks."""

import fcntl
import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from children import REFUSED, Say, done, end, fork, heard
from conftest import FakeClock
from rows import append, codes, copied, opened, recorded, verified

from ledger import place
from ledger.audit import audit
from ledger.errors import FileFault, Locked, ReadOnly, Refused, Replaced, RolledBack
from ledger.model import new_event_id
from ledger.reader import open_reader
from ledger.store_sqlite import SqliteStore, wal_is_safe


def events_in(path: str) -> int:
    """Count the events of a file, as a SQL shell would."""
    with opened(path) as connection:
        return int(connection.execute("SELECT count(*) FROM event").fetchone()[0])


# -- anchor ----------


def test_the_anchor_names_the_last_event_that_was_acknowledged(store: SqliteStore) -> None:
    """When an append answers, the anchor is on the disk already."""
    event = append(store)

    anchor = place.read_anchor(store.path)

    assert anchor == (store.ledger_id, event.seq, event.hash.hex())


def test_an_append_killed_before_its_anchor_leaves_a_log_that_is_ahead(path: str, clock: FakeClock) -> None:
    """The anchor follows the commit: a log ahead of its anchor is normal, verifies, and is written on."""

    def dies_at_the_anchor(say: Say) -> None:
        import signal
        import sys

        opened_here = SqliteStore(path)
        append(opened_here, 1)

        def at(event: str, arguments: tuple[object, ...]) -> None:
            if event == "os.rename":
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(at)
        append(opened_here, 2)

    SqliteStore(path, clock=clock, create=True).close()
    ended = done(dies_at_the_anchor)

    anchor = place.read_anchor(path)
    assert ended.status == -9
    assert anchor is not None
    assert anchor.seq == 1
    assert events_in(path) == 2
    assert verified(path).ok
    store = SqliteStore(path)
    assert append(store, 3).seq == 3
    store.close()


@pytest.fixture
def rolled_back(path: str, tmp_path: Path) -> str:
    """Return a ledger of three events whose file is an older copy, of two, beside the newer anchor."""
    store = SqliteStore(path, create=True)
    append(store, 1)
    append(store, 2)
    store.close()
    older = copied(path, str(tmp_path / "older" / "ledger.db"))
    store = SqliteStore(path)
    append(store, 3)
    store.close()
    shutil.copyfile(older, path)
    return path


def test_an_older_copy_of_the_file_refuses_writes(rolled_back: str) -> None:
    """A log behind its anchor has lost events, so nothing may be appended in their place."""
    store = SqliteStore(rolled_back)

    with pytest.raises(RolledBack) as caught:
        append(store, 4)

    store.close()
    assert caught.value.message == (
        "the log was rolled back: it ends at event 2 and its anchor saw event 3; nothing was written"
    )
    assert "--accept-head" in caught.value.hint
    assert events_in(rolled_back) == 2


def test_an_older_copy_of_the_file_is_still_read(rolled_back: str) -> None:
    """Readers of a rolled back file answer from what it has."""
    with open_reader(rolled_back) as reader:
        answer = reader.query("problem pooler", project="demo")

    assert len(answer.hits) == 2


def test_verify_names_an_older_copy_of_the_file(rolled_back: str) -> None:
    """The chain of an older copy is whole; only the anchor shows what it lost."""
    verdict = verified(rolled_back)

    assert not verdict.ok
    assert codes(verdict) == {("rolled_back", 3)}


def test_accepting_the_head_records_it_and_lets_writers_on(rolled_back: str) -> None:
    """`head.accepted` says which head was given up, and heals anchor and verify."""
    before = place.read_anchor(rolled_back)
    store = SqliteStore(rolled_back)

    event = store.accept_head(new_event_id())[0]

    assert before is not None
    assert json.loads(event.data) == {"anchor_seq": 3, "anchor_hash": before.hash}
    assert append(store, 4).seq == 4
    assert audit(store).ok
    store.close()


def test_accepting_the_head_again_answers_the_first_time(rolled_back: str) -> None:
    """A retry after a lost answer is not told that there was nothing to accept; another id still is."""
    store = SqliteStore(rolled_back)
    own = new_event_id()
    event = store.accept_head(own)[0]

    again = store.accept_head(own)[0]

    assert again == event
    with pytest.raises(Refused):
        store.accept_head(new_event_id())
    store.close()


def test_a_head_that_is_not_behind_cannot_be_accepted(store: SqliteStore) -> None:
    """Nothing is recorded where nothing was lost."""
    append(store)

    with pytest.raises(Refused):
        store.accept_head(new_event_id())

    assert store.head().seq == 1


def test_the_anchor_of_another_ledger_refuses_writes(store: SqliteStore, tmp_path: Path) -> None:
    """An anchor that belongs elsewhere says that one of the two files was moved."""
    append(store)
    other = SqliteStore(str(tmp_path / "other" / "ledger.db"), create=True)
    append(other)
    other.close()
    shutil.copyfile(other.path + ".anchor", store.path + ".anchor")

    with pytest.raises(RolledBack, match=rf"belongs to another ledger \({other.ledger_id}\)"):
        append(store, 2)

    assert codes(audit(store)) == {("rolled_back", 1)}
    assert store.head().seq == 1


def test_a_log_with_another_past_than_its_anchor_saw_refuses_writes(path: str, tmp_path: Path) -> None:
    """Two copies of one ledger that were both written on share an id and a length, and not their hashes."""
    store = SqliteStore(path, create=True)
    append(store, 1)
    store.close()
    twin = copied(path, str(tmp_path / "twin" / "ledger.db"))
    for number, file in enumerate((path, twin), start=2):
        store = SqliteStore(file)
        append(store, number)
        store.close()
    shutil.copyfile(twin, path)
    store = SqliteStore(path)

    with pytest.raises(RolledBack, match=r"another past: event 2 is not the one"):
        append(store, 4)

    assert codes(audit(store)) == {("rolled_back", 2)}
    store.close()


@pytest.mark.parametrize(
    "left",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"ledger_id":1,"seq":"x","hash":null}',
        b'{"ledger_id":"x","seq":-1,"hash":""}',
        b'{"ledger_id":"x","seq":1e3,"hash":""}',
        b'{"ledger_id":"x","seq":99999999999999999999,"hash":""}',
        b"\xff\xfe",
    ],
)
def test_a_missing_anchor_is_a_remark_and_comes_back_with_the_next_write(
    store: SqliteStore, left: bytes | None
) -> None:
    """Without an anchor a lost tail would not show: verify says so, and the next writer says so and mends it."""
    append(store, 1)
    os.unlink(store.path + ".anchor")
    if left is not None:
        Path(store.path + ".anchor").write_bytes(left)
    verdict = audit(store)

    append(store, 2)

    anchor = place.read_anchor(store.path)
    assert verdict.ok
    assert [remark for remark in verdict.remarks if "no anchor" in remark]
    assert [remark for remark in store.remarks if "anchor" in remark and "was missing" in remark]
    assert anchor is not None
    assert anchor.seq == 2


def test_an_anchor_that_cannot_be_written_is_a_remark_because_the_event_is_stored(store: SqliteStore) -> None:
    """The append was durable before the anchor, so it is acknowledged; the next one writes the anchor."""
    os.mkdir(store.path + ".anchor.new")

    append(store, 1)
    os.rmdir(store.path + ".anchor.new")
    remarks = list(store.remarks)
    append(store, 2)

    anchor = place.read_anchor(store.path)
    assert [remark for remark in remarks if remark.startswith("event 1 is stored, its anchor is not")]
    assert anchor is not None
    assert anchor.seq == 2


# -- lock ----------


def test_a_writer_that_waits_in_vain_names_who_holds_the_lock(store: SqliteStore) -> None:
    """With a wait of zero the answer is immediate, and says which process, since when."""

    reading, writing = os.pipe()

    def hold(say: Say) -> None:
        with place.WriteLock(store.path, 0.0):
            say("held")
            os.read(reading, 1)

    child = fork(hold)
    before = heard(child)
    hurried = SqliteStore(store.path, wait_s=0.0)

    with pytest.raises(Locked) as caught:
        append(hurried)

    hurried.close()
    os.write(writing, b".")
    assert end(child, before).status == 0
    os.close(reading)
    os.close(writing)
    assert caught.value.message.startswith(f"the ledger is locked by process {child.pid}, for ")
    assert caught.value.message.endswith(" s; waited 0 s and nothing was written")
    assert append(store).seq == 1


def test_the_lock_file_is_never_removed(store: SqliteStore) -> None:
    """Removing it would let two writers hold two locks; it is the same file before, between and after."""
    append(store, 1)
    before = os.stat(store.path + ".lock").st_ino

    append(store, 2)
    store.close()

    assert os.stat(store.path + ".lock").st_ino == before


def test_the_lock_of_a_killed_writer_is_free(store: SqliteStore) -> None:
    """The system lets go of a dead process's lock; the file it leaves stands in nobody's way."""

    def dies(say: Say) -> None:
        import signal

        with place.WriteLock(store.path, 0.0):
            os.kill(os.getpid(), signal.SIGKILL)

    assert done(dies).status == -9

    assert append(SqliteStore(store.path, wait_s=0.0)).seq == 1


def test_a_writer_that_comes_straight_back_does_not_overtake_one_that_waits(store: SqliteStore) -> None:
    """Whoever queues is next: a busy writer cannot starve those that sleep between two tries."""

    def wait(say: Say) -> None:
        with place.WriteLock(store.path, 60.0):
            say("held")

    with place.WriteLock(store.path, 60.0):
        child = fork(wait)
        with open(store.path + ".queue", encoding="ascii") as queue:
            while place._try_lock(queue.fileno()):
                fcntl.flock(queue, fcntl.LOCK_UN)
                heard(child, 0.001)
    with place.WriteLock(store.path, 60.0):
        said = heard(child, 0.0)

    assert said == b"held\n"
    assert end(child).status == 0


def test_a_lock_that_cannot_be_signed_is_not_kept(path: str) -> None:
    """Where not a byte can be written, a writer fails without locking itself out for the rest of its life."""
    SqliteStore(path, create=True).close()
    os.truncate(path + ".lock", 0)

    def tries(say: Say) -> None:
        import resource
        import signal

        store = SqliteStore(path, wait_s=0.0)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        try:
            append(store, 1)
        except FileFault as error:
            say(error.code)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        say(str(append(store, 2).seq))

    assert done(tries) == (0, ["FileFault", "1"])


# -- which file ----------


def test_a_path_that_leads_to_another_file_stops_its_writers(store: SqliteStore, tmp_path: Path) -> None:
    """A writer that went on would write to a file nobody finds again."""
    append(store, 1)
    aside = str(tmp_path / "aside.db")
    os.rename(store.path, aside)
    shutil.copyfile(aside, store.path)
    os.chmod(store.path, 0o600)

    with pytest.raises(Replaced, match="no longer the file that was opened; nothing was written"):
        append(store, 2)

    assert (events_in(aside), events_in(store.path)) == (1, 1)


def test_a_path_that_leads_nowhere_stops_its_writers(store: SqliteStore) -> None:
    """A removed file is not made again behind the caller's back."""
    append(store, 1)
    os.unlink(store.path)

    with pytest.raises(Replaced, match="is gone"):
        append(store, 2)

    assert not os.path.exists(store.path)


def test_a_ledger_reached_through_a_link_has_one_lock_and_one_anchor(store: SqliteStore, tmp_path: Path) -> None:
    """Writers that come through another name queue at the same lock and move the same anchor."""
    link = str(tmp_path / "link.db")
    os.symlink(store.path, link)
    linked = SqliteStore(link)

    append(linked, 1)
    linked.close()

    anchor = place.read_anchor(store.path)
    assert anchor is not None
    assert anchor.seq == 1
    assert sorted(os.listdir(tmp_path)) == ["data", "link.db"]


def test_a_handle_is_of_no_use_across_a_fork(store: SqliteStore) -> None:
    """SQLite's locks belong to a process; a child that shares a handle is refused before it touches the file."""
    append(store, 1)

    ended = done(lambda _: append(store, 2))

    assert ended.status == REFUSED
    assert ended.said == ["FileFault: a ledger was used across a fork; nothing was written"]
    assert append(store, 2).seq == 2


# -- journal mode ----------


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 6, 23), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 44, 9), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_only_a_library_with_the_fix_may_write_in_wal_mode(version: tuple[int, ...], safe: bool) -> None:
    """The WAL-reset bug is in 3.7.0 to 3.51.2, but for two lines that got the fix."""
    assert wal_is_safe(version) is safe


class Older:
    """The standard driver, as it would be with a library that has the WAL-reset bug."""

    sqlite_version = "3.40.1"
    sqlite_version_info = (3, 40, 1)

    def __getattr__(self, name: str) -> object:
        return getattr(sqlite3, name)


class Newer(Older):
    """The standard driver, as it would be with a library that has the fix."""

    sqlite_version = "3.54.0"
    sqlite_version_info = (3, 54, 0)


@pytest.mark.parametrize(("driver", "mode"), [(Older(), "delete"), (Newer(), "wal")])
def test_the_journal_mode_of_a_new_file_follows_the_library(path: str, driver: Older, mode: str) -> None:
    """It is chosen once, when the file is made."""
    SqliteStore(path, sqlite=driver, create=True).close()

    with opened(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == mode


def test_a_file_in_wal_mode_is_not_written_by_a_library_that_could_lose_commits(path: str) -> None:
    """It is refused by name and version, with the extra that brings a newer library; reading goes on."""
    newer = SqliteStore(path, sqlite=Newer(), create=True)
    append(newer)
    newer.close()

    with pytest.raises(ReadOnly, match=r"is in WAL mode and SQLite 3\.40\.1 can lose commits") as caught:
        SqliteStore(path, sqlite=Older())

    assert "learning-ledger[sqlite]" in caught.value.hint
    with open_reader(path) as reader:
        assert reader.head().seq == 1
    with opened(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


# -- clock ----------


def test_a_clock_that_jumps_never_disturbs_the_order(store: SqliteStore, clock: FakeClock) -> None:
    """`recorded_at` never decreases; an event that was clamped says what the clock said."""
    events = []
    for number, jump_s in enumerate((0, 3_600, -7_200, 1, 86_400 * 3_650, -86_400 * 3_650)):
        clock.advance(jump_s)
        events.append(append(store, number))

    raw = [json.loads(event.data).get("clock_raw_us") for event in events]
    times = [event.recorded_at for event in events]
    assert [event.seq for event in events] == [1, 2, 3, 4, 5, 6]
    assert times == sorted(times)
    assert times[1] == times[2] == times[3]
    assert [value is not None for value in raw] == [False, False, True, True, False, True]
    assert raw[5] == clock.us
    assert audit(store).ok


def test_a_retry_of_a_clamped_event_is_still_a_retry(store: SqliteStore, clock: FakeClock) -> None:
    """What the clock said belongs to the first try, not to the content."""
    append(store, 1)
    clock.advance(-60)
    draft = recorded(2)
    first = store.append(lambda _: [draft])

    again = store.append(lambda _: [draft])

    assert again == first
    assert store.head().seq == 2
