"""Places that are not as they should be: modes, read-only ones, files of another kind, disks without room."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from children import REFUSED, Say, done, limit_files, mount_small
from rows import append, opened, recorded, verified

from ledger.errors import FileFault, LedgerError, NewerSchema, NoSpace, NotALedger, OlderSchema, ReadOnly, UnsafePlace
from ledger.reader import open_reader
from ledger.store_sqlite import SqliteStore
from ledger.tables import APPLICATION_ID, SCHEMA_VERSION

NOBODY = 65_534


def modes(folder: str) -> dict[str, int]:
    """Return the permission bits of a folder ('') and of every file in it."""
    found = {name: os.path.join(folder, name) for name in os.listdir(folder)}
    return {name: stat.S_IMODE(os.stat(path).st_mode) for name, path in ({"": folder} | found).items()}


@pytest.fixture
def wide_open() -> Iterator[None]:
    """Take the umask away, so that every mode is the one that was asked for."""
    before = os.umask(0)
    yield
    os.umask(before)


# -- modes ----------


@pytest.mark.parametrize("wal", [False, True])
def test_only_the_owner_can_read_anything_even_without_a_umask(path: str, wide_open: None, wal: bool) -> None:
    """Folder 0700 and files 0600, journals and every other sidecar included, while a transaction is open."""
    store = SqliteStore(path, create=True)
    append(store, 1)
    store.close()
    if wal:
        with opened(path) as connection:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()

    with opened(path) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE filler AS SELECT randomblob(20000) AS one FROM event")
        found = modes(os.path.dirname(path))
        connection.execute("ROLLBACK")

    sidecars = {"ledger.db-wal", "ledger.db-shm"} if wal else {"ledger.db-journal"}
    assert found.pop("") == 0o700
    assert sidecars | {"ledger.db", "ledger.db.lock", "ledger.db.anchor"} <= found.keys()
    assert set(found.values()) == {0o600}


def test_every_folder_that_is_made_is_for_the_owner_alone(tmp_path: Path, wide_open: None) -> None:
    """Whoever may write a folder above could put another one in the place of the ledger's."""
    path = str(tmp_path / "share" / "learning-ledger" / "ledger.db")

    SqliteStore(path, create=True).close()

    assert modes(str(tmp_path / "share")) == {"": 0o700, "learning-ledger": 0o700}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_opened(store: SqliteStore, mode: int) -> None:
    """What others may write is not evidence of anything; the mode is named with the command that mends it."""
    store.close()
    os.chmod(store.path, mode)

    with pytest.raises(UnsafePlace, match=rf"can be written by others \(mode {mode:o}\)") as caught:
        SqliteStore(store.path)

    assert caught.value.hint == f"run `chmod 600 {store.path}`"


# -- a place that cannot be written ----------


def as_nobody() -> None:
    """Give up root, for whom modes mean nothing; another user's process goes on as it is."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


@pytest.fixture
def owned(path: str, tmp_path: Path) -> str:
    """Return a ledger of one event that belongs to whoever `as_nobody` makes of a process."""
    store = SqliteStore(path, create=True)
    append(store, 1)
    store.close()
    if os.geteuid() == 0:
        folder = os.path.dirname(path)
        for name in ("", *os.listdir(folder)):
            os.chown(os.path.join(folder, name), NOBODY, NOBODY)
        for above in (tmp_path, *tmp_path.parents):
            if os.stat(above).st_mode & 0o001 == 0:
                os.chmod(above, os.stat(above).st_mode | 0o011)
    return path


def reads_and_fails_to_write(path: str) -> Callable[[Say], None]:
    """Return an act that says how many learnings it can read, and how its append ends."""

    def act(say: Say) -> None:
        as_nobody()
        with open_reader(path) as reader:
            say(str(len(reader.query("problem pooler", project="demo").hits)))
        append(SqliteStore(path), 2)

    return act


def test_a_file_without_write_permission_is_read_and_not_written(owned: str) -> None:
    """Reading needs no permission to write; writing says what cannot be written."""
    os.chmod(owned, 0o400)

    ended = done(reads_and_fails_to_write(owned))

    assert ended.status == REFUSED
    assert ended.said == ["1", f"ReadOnly: {owned} cannot be written; nothing was written"]
    os.chmod(owned, 0o600)


def test_a_folder_without_write_permission_is_read_and_not_written(owned: str) -> None:
    """Without a journal nothing may be written, and a folder that is read-only can hold none."""
    os.chmod(os.path.dirname(owned), 0o500)

    ended = done(reads_and_fails_to_write(owned))

    os.chmod(os.path.dirname(owned), 0o700)
    assert ended.status == REFUSED
    assert ended.said == ["1", f"ReadOnly: {owned} cannot be written; nothing was written"]


def test_a_ledger_is_not_made_in_a_folder_without_write_permission(owned: str) -> None:
    """The refusal names the path, and no file of half a ledger is left."""
    folder = os.path.dirname(owned)
    os.chmod(folder, 0o500)
    before = sorted(os.listdir(folder))

    def act(say: Say) -> None:
        as_nobody()
        SqliteStore(os.path.join(folder, "new.db"), create=True)

    ended = done(act)

    os.chmod(folder, 0o700)
    assert ended.said == [f"ReadOnly: {folder}/new.db cannot be written; nothing was written"]
    assert sorted(os.listdir(folder)) == before


def test_a_file_of_another_user_is_not_opened(store: SqliteStore) -> None:
    """Only its owner can vouch for a file; whose it is gets named."""
    store.close()
    path, owner = store.path, NOBODY
    if os.geteuid() == 0:
        os.chown(path, owner, owner)
    else:  # only root can give a file away; root's own file is another user's too
        path, owner = "/etc/passwd", 0

    with pytest.raises(UnsafePlace, match=f"belongs to user {owner}; nothing was opened"):
        SqliteStore(path)


# -- something else ----------


def a_text(path: str) -> None:
    """Write prose."""
    Path(path).write_text("# notes\n" * 2_000, encoding="utf-8")


def a_few_bytes(path: str) -> None:
    """Write less than a page."""
    Path(path).write_bytes(b"SQLite format 3")


def another_database(path: str) -> None:
    """Make a SQLite file of somebody else."""
    with opened(path) as connection:
        connection.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, kind TEXT)")


def without_tables(path: str) -> None:
    """Make a SQLite file that says it is a ledger and is not."""
    with opened(path) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("CREATE TABLE one (two)")


def cut_off(path: str) -> None:
    """Make a ledger and keep its first page and a half."""
    SqliteStore(path, create=True).close()
    os.truncate(path, 6_000)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (a_text, NotALedger),
        (a_few_bytes, NotALedger),
        (another_database, NotALedger),
        (without_tables, NotALedger),
        (cut_off, LedgerError),
        (os.mkdir, UnsafePlace),
        (os.mkfifo, UnsafePlace),
    ],
)
@pytest.mark.parametrize("create", [False, True])
def test_what_is_not_a_ledger_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[str], None], error: type[LedgerError], create: bool
) -> None:
    """Whatever stands at the path is named as what it is, never blocks, and is not touched, also by `init`."""
    path = str(tmp_path / "thing")
    make(path)
    os.chmod(path, 0o600)
    before = Path(path).read_bytes() if os.path.isfile(path) else None

    with pytest.raises(error) as caught:
        SqliteStore(path, create=create)

    assert path in caught.value.message
    assert not isinstance(caught.value, ReadOnly)
    if before is not None:
        assert Path(path).read_bytes() == before


def test_a_missing_file_is_named_with_the_command_that_makes_one(tmp_path: Path) -> None:
    """Opening never makes a file by itself."""
    path = str(tmp_path / "none.db")

    with pytest.raises(NotALedger, match="there is no ledger at") as caught:
        SqliteStore(path)

    assert caught.value.hint == "make one with `learnings init`"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("step", "error"), [(1, NewerSchema), (-1, OlderSchema)])
def test_a_file_of_another_schema_is_not_written_and_both_versions_are_named(
    store: SqliteStore, step: int, error: type[LedgerError]
) -> None:
    """A program never writes a file whose shape it does not know."""
    store.close()
    with opened(store.path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + step}")

    with pytest.raises(error, match=rf"{SCHEMA_VERSION + step}.*{SCHEMA_VERSION}.*nothing was written"):
        SqliteStore(store.path)


# -- a disk without room ----------


def fill(store: SqliteStore, say: Say) -> None:
    """Append until it cannot go on; say how many events were acknowledged."""
    number = store.head().seq
    try:
        while True:
            number = append(store, number + 1).seq
            if number > 5_000:
                return
    finally:
        say(str(number))


def test_a_full_disk_loses_nothing_that_was_acknowledged(path: str, tmp_path: Path) -> None:
    """On a disk of 700 KB: the append that finds no room is refused whole, reading goes on, and so does verify.

    Where the system lets nobody mount one, a limit on the size of files takes its place.
    """
    folder = tmp_path / "disk"
    folder.mkdir()

    def act(say: Say) -> None:
        small = mount_small(str(folder), 700)
        file = str(folder / "ledger.db")
        store = SqliteStore(file, create=True)
        if not small:
            limit_files(os.path.getsize(file) + 300_000)
        say("NoSpace" if small else "FileFault")
        try:
            fill(store, say)
        except FileFault as error:
            say(error.code)
        with open_reader(file) as reader:
            say(str(reader.head().seq))
        verdict = verified(file)
        say(f"{verdict.ok} {verdict.head['seq']}")

    ended = done(act)

    expected, acknowledged, code, read, verdict = ended.said
    assert ended.status == 0
    assert code == expected
    assert int(acknowledged) > 20
    assert read == acknowledged
    assert verdict == f"True {acknowledged}"


def test_a_database_that_may_not_grow_refuses_and_goes_on_when_it_may(store: SqliteStore) -> None:
    """SQLITE_FULL is `NoSpace`; once there is room, the same handle appends the next event."""
    append(store, 1)
    connection = store.connection()
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    many = [recorded(number) for number in range(2, 200)]

    with pytest.raises(NoSpace, match=r"no space left for .*; nothing was written"):
        store.append(lambda _: many)

    assert store.head().seq == 1
    assert verified(store.path).ok
    connection.execute(f"PRAGMA max_page_count = {pages * 100}").fetchall()
    assert store.append(lambda _: many)[-1].seq == 199
