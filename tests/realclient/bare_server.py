"""Our server without its wish that three tools be always loaded: `bare_server.py PYTHON ARGUMENT…` stands before it.

What the client sends goes to the real server; of what that answers, the one mark
is taken out of the list of tools, so that the client defers all of them.
"""

import json
import subprocess
import sys

MARK = "anthropic/alwaysLoad"


def bare(line: str) -> str:
    """Return an answer without the mark."""
    told = json.loads(line)
    for tool in (told.get("result") or {}).get("tools", ()):
        tool.get("_meta", {}).pop(MARK, None)
    return json.dumps(told) + "\n"


def main(line: list[str]) -> int:
    """Pass on what is answered, until the server ends."""
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, encoding="utf-8") as server:
        assert server.stdout is not None
        for answer in server.stdout:
            sys.stdout.write(bare(answer) if MARK in answer else answer)
            sys.stdout.flush()
    return server.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
