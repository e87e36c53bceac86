"""What the package brings and does without being asked: nothing."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

WATCHED = """
import importlib, pkgutil, sys
told = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess.Popen", "os.system", "os.exec",
                 "os.posix_spawn", "os.fork", "webbrowser.open") or event.startswith("urllib."):
        told.append(event)
sys.addaudithook(watch)
seen = 0
for root in ("ledger", "importers", "mcp_server", "ledger_schema"):
    package = importlib.import_module(root)
    for one in pkgutil.walk_packages(package.__path__, root + "."):
        if one.name.rpartition(".")[2] not in ("__main__", "env") and ".versions." not in one.name:
            importlib.import_module(one.name)
            seen += 1
import json
print(json.dumps([seen, told]))
"""


def test_importing_every_module_opens_no_connection_and_starts_no_process() -> None:
    """An audit hook hears nothing while all modules are loaded, third parties' with them."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED], capture_output=True, text=True, timeout=120, check=True
    )

    seen, told = json.loads(done.stdout)
    assert told == []
    assert seen > 100


def test_every_package_of_the_lock_file_is_pinned_by_hash() -> None:
    """Whatever `pip --require-hashes` installs was seen before."""
    blocks = {}
    for file in ("requirements.lock", "requirements-sqlite.lock", ".ci/neighbours.lock"):
        for block in (ROOT / file).read_text("utf-8").replace("\\\n", " ").splitlines():
            if "==" in block and not block.lstrip().startswith("#"):
                blocks[block.split()[0]] = block.count("--hash=sha256:")

    assert blocks
    assert [name for name, hashes in blocks.items() if not hashes] == []


def test_no_dependency_is_asked_for_by_address() -> None:
    """Packages come from an index by their names, never from an address or a repository."""
    texts = [
        (ROOT / name).read_text("utf-8") for name in ("pyproject.toml", "requirements.lock", "requirements-sqlite.lock")
    ]

    assert [mark for mark in ("git+", " @ http", "--index-url", "--extra-index-url", "--find-links") for text in texts
            if mark in text] == []  # fmt: skip


def test_the_suite_itself_cannot_leave_the_machine() -> None:
    """A connection to an address outside of loopback is refused before it is tried."""
    with socket.socket() as one, pytest.raises(PermissionError, match="this machine only"):
        one.connect(("192.0.2.1", 80))
