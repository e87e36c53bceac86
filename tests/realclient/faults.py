"""What can be wrong with hooks, server and ledger beside a client; each is made for real, and taken back."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from realclient.client import Home, gone

Fault = Callable[[Home], AbstractContextManager[None]]

LOCKING = """
import sqlite3, sys
held = []
for path in sys.argv[2:]:
    file = sqlite3.connect(path, isolation_level=None, timeout=10)
    file.execute(f"BEGIN {sys.argv[1]}")
    file.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    held.append(file)
print("locked", flush=True)
sys.stdin.read()
"""
"""A program that locks files until its standard input ends."""


# -- the server ------------------------------------------------------------------------------------------------------


@contextmanager
def killed(home: Home) -> Iterator[None]:
    """Somebody kills the server."""
    pids = home.servers()
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert gone(pids) == []
    yield


@contextmanager
def stopped(home: Home) -> Iterator[None]:
    """The server hangs: nothing of it answers, so that the hook is ended by the client's time-out."""
    pids = home.servers()
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


# -- the ledger ------------------------------------------------------------------------------------------------------


@contextmanager
def written(home: Home) -> Iterator[None]:
    """Another process writes the ledger and does not come to an end, as the program's own writers would."""
    with _locked("IMMEDIATE", [home.ledger]):
        yield


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Another process holds the ledger and the files beside it with `BEGIN EXCLUSIVE`."""
    with _locked("EXCLUSIVE", sorted(home.ledger.parent.glob("*.db"))):
        yield


@contextmanager
def corrupt(home: Home) -> Iterator[None]:
    """Every byte of the ledger's files is another, in place."""
    for name in ("", "-wal", "-shm"):
        file = home.ledger.with_name(home.ledger.name + name)
        if file.exists():
            with file.open("r+b") as opened:
                opened.write(b"\xa5" * os.fstat(opened.fileno()).st_size)
    yield


@contextmanager
def missing(home: Home) -> Iterator[None]:
    """The ledger's folder is elsewhere for a while."""
    elsewhere = home.folder / "elsewhere"
    home.ledger.parent.rename(elsewhere)
    yield
    elsewhere.rename(home.ledger.parent)


@contextmanager
def read_only(home: Home) -> Iterator[None]:
    """Nothing in the ledger's folder may be written, nor the folder."""
    with _modes(home.ledger.parent, 0o500, 0o400):
        yield


@contextmanager
def unreadable(home: Home) -> Iterator[None]:
    """Nothing in the ledger's folder may be read."""
    with _modes(home.ledger.parent, 0, 0):
        yield


# -- what setup wrote ------------------------------------------------------------------------------------------------


@contextmanager
def interpreter_gone(home: Home) -> Iterator[None]:
    """The environment that the program was installed in has been moved away."""
    new = "/nowhere/bin/python"
    with _edited(home.settings, sys.executable, new), _edited(home.state, sys.executable, new):
        yield


@contextmanager
def hook_hangs(home: Home) -> Iterator[None]:
    """The interpreter of the command hooks never comes to the script, and is ended by the client's time-out."""
    with _edited(home.settings, f"{sys.executable} -I -S", "sleep 600 #"):
        yield


# -- parts -----------------------------------------------------------------------------------------------------------


@contextmanager
def _locked(mode: str, paths: list[Path]) -> Iterator[None]:
    line = [sys.executable, "-I", "-c", LOCKING, mode, *map(str, paths)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        try:
            yield
        finally:
            process.communicate()


@contextmanager
def _modes(folder: Path, of_folder: int, of_files: int) -> Iterator[None]:
    files = [(file, file.stat().st_mode) for file in folder.iterdir()]
    for file, _ in files:
        file.chmod(of_files)
    folder.chmod(of_folder)
    try:
        yield
    finally:
        folder.chmod(0o700)
        for file, mode in files:
            file.chmod(mode)


@contextmanager
def _edited(file: Path, old: str, new: str) -> Iterator[None]:
    before = file.read_text("utf-8")
    assert old in before
    file.write_text(before.replace(old, new))
    json.loads(file.read_text("utf-8"))
    yield
