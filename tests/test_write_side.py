"""Several threads of a server that need the write side at once: it is loaded whole before any of them goes on."""

import subprocess
import sys

CODE = """
import sys, threading
from mcp_server import write_side
met = threading.Barrier(4)
faults = []
def first(module):
    met.wait()
    try:
        write_side.load()
        __import__(module)
    except BaseException as error:
        faults.append(repr(error))
names = ("ledger.ledger", "ledger.ingest", "ledger.capture", "ledger.upgrade")
threads = [threading.Thread(target=first, args=(name,)) for name in names]
assert "sqlalchemy" not in sys.modules
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(faults)
"""


def test_threads_that_write_first_at_once_find_the_write_side_whole() -> None:
    """SQLAlchemy's circle of imports is met by one thread alone, whatever the others begin with."""
    done = subprocess.run([sys.executable, "-P", "-c", CODE], capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
