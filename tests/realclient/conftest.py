"""Fixtures of the real client's tests; what is missing on a machine fails them unless `ALLOW_SKIPS=1`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from realclient.client import Home, Missing, installed
from realclient.known import teach
from realclient.lacking import lacking
from realclient.loopback import Loopback
from realclient.stub import Stub


@pytest.fixture(scope="session")
def program() -> Path:
    """Return the client's program."""
    try:
        return installed()
    except Missing as error:
        lacking(error)


@pytest.fixture(scope="session")
def loopback() -> Iterator[Loopback]:
    """Return the network that the client runs in."""
    try:
        made = Loopback()
    except OSError as error:
        lacking(f"a network namespace ({error})")
    yield made
    made.close()


@pytest.fixture
def stub(loopback: Loopback) -> Iterator[Stub]:
    """Return the API."""
    with Stub(loopback.listening()) as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, program: Path, loopback: Loopback, stub: Stub) -> Home:
    """Return a fresh HOME in which nothing is set up."""
    return Home(tmp_path, program, loopback, stub)


@pytest.fixture
def ready(home: Home) -> Home:
    """Return a HOME with four learnings, set up for the client; robots are shown learnings."""
    teach(home)
    home.learnings("setup", "claude-code", "--allow-tools")
    return home


@pytest.fixture
def ready_for_people(home: Home) -> Home:
    """Return the same without the setting that serves robots."""
    teach(home, is_open_to_robots=False)
    home.learnings("setup", "claude-code", "--allow-tools")
    return home


@pytest.fixture(scope="session")
def plugin() -> str:
    """Return the plugin's folder in this tree."""
    return str(Path(__file__).resolve().parent.parent.parent / "plugin")
