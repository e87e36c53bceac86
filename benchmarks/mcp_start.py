"""Start of the MCP server to its first answer beside importing the SDK alone; memory before and after the first write.

    python benchmarks/mcp_start.py [ROUNDS]

Both sides start with the same interpreter and are timed from the spawn to the
first line they print; rounds alternate, medians are compared. Targets: first
answer <= 1.15 x the import, <= 80 MB until the first write, <= 105 MB after.
Run it on a quiet machine, with bytecode compiled (PYTHONDONTWRITEBYTECODE
unset): without, every start compiles the SDK anew.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

IMPORT = "import mcp.server.lowlevel, mcp.server.stdio; print('{}', flush=True); input()"

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
LEARNING = {"problem": "the benchmark asks", "solution": "the ledger answers", "project": "demo"}

Child = subprocess.Popen[bytes]


def ask(child: Child, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send one request and return the whole answer."""
    assert child.stdin
    assert child.stdout
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
    child.stdin.flush()
    answer: dict[str, Any] = json.loads(child.stdout.readline())
    return answer


def resident_mb(child: Child) -> float:
    """Return the memory a process holds now (Linux; 0 elsewhere)."""
    try:
        with open(f"/proc/{child.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
    except FileNotFoundError:
        return 0.0


def start(*arguments: str) -> Child:
    """Start the interpreter of this run."""
    return subprocess.Popen([sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def imported() -> dict[str, float]:
    """Time an interpreter that imports the SDK and says so."""
    begun = time.perf_counter()
    child = start("-c", IMPORT)
    assert child.stdout
    child.stdout.readline()
    figures = {"sdk import ms": (time.perf_counter() - begun) * 1e3, "sdk import MB": resident_mb(child)}
    child.communicate(b"\n")
    return figures


def served(folder: str) -> dict[str, float]:
    """Time a server from its start to the first answer, the first tool result, and a first and a second write."""
    figures = {}
    begun = time.perf_counter()
    child = start("-m", "mcp_server", "--file", os.path.join(folder, "ledger.db"))
    ask(child, 1, "initialize", HELLO)
    figures["first answer ms"] = (time.perf_counter() - begun) * 1e3
    assert child.stdin
    child.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    ask(child, 2, "tools/list", {})
    ask(child, 3, "tools/call", {"name": "query_learnings", "arguments": {"query": "benchmark"}})
    figures["first tool result ms"] = (time.perf_counter() - begun) * 1e3
    figures["MB until the first write"] = resident_mb(child)
    for number, name in ((4, "first write ms"), (5, "second write ms")):
        before = time.perf_counter()
        answer = ask(
            child, number, "tools/call", {"name": "record_learning", "arguments": LEARNING | {"problem": name}}
        )
        assert not answer["result"].get("isError"), answer
        figures[name] = (time.perf_counter() - before) * 1e3
    figures["MB after"] = resident_mb(child)
    child.communicate()
    assert child.returncode == 0
    return figures


def main() -> None:
    """Print medians and the ratio."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        imported(), served(os.path.join(folder, "warm"))  # files into the page cache
        runs = [imported() | served(os.path.join(folder, str(number))) for number in range(rounds)]
    middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    for name, value in middle.items():
        values = [run[name] for run in runs]
        print(f"{name:28}{value:10.1f}   ({min(values):.1f} to {max(values):.1f})")
    ratio = middle["first answer ms"] / middle["sdk import ms"]
    print(f"{'first answer / sdk import':28}{ratio:10.2f}   target <= 1.15")


if __name__ == "__main__":
    main()
