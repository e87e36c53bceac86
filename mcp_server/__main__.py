"""`python -m mcp_server --file F [--project P]`, and `serve` for `learnings serve`.

Handlers for SIGINT (what Claude Code ends a server with) and SIGTERM come
before the SDK's import of about a second, and leave without unwinding:
`anyio.run` would wait for a standard input that stays open. Nothing is lost by
that, because an append is one transaction.
"""

import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType

USAGE = "usage: python -m mcp_server --file FILE [--project NAME]"


def serve(path: str, project: str | None = None, env: Mapping[str, str] | None = None) -> int:
    """Serve the ledger at `path` over MCP on stdio until the client goes; return the exit status.

    `project` is the session's; None means the repository of the working folder.
    `env` is the process's environment, in which the client says who it is.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    from mcp_server.server import run

    return run(os.path.abspath(path), project, env or {})


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(0)  # pragma: no cover - no measurement outlives it


def main(arguments: list[str]) -> int:
    """Read the two options and serve."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if len(arguments) % 2 or "--file" not in options or not options.keys() <= {"--file", "--project"}:
        sys.stderr.write(USAGE + "\n")
        return 2
    return serve(os.path.expanduser(options["--file"]), options.get("--project"), os.environ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
