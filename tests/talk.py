"""Talk to the real MCP server over stdio: through the SDK's client, or line by line."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult

GENERATIONS = ("auto", "legacy", "2026-07-28")
"""The client's modes: `auto` probes for the newer protocol, `legacy` shakes hands as clients of 2025 do."""

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def command(file: Path, *more: str) -> list[str]:
    """Return the command line that serves `file`."""
    return [sys.executable, "-m", "mcp_server", "--file", str(file), *more]


class Talk:
    """One session of the SDK's client with the server on `file`, in plain calls."""

    def __init__(self, file: Path, client: Client, portal: BlockingPortal) -> None:
        self.file = file
        self.client = client
        self._portal = portal

    def call(
        self, name: str, arguments: dict[str, Any], progress: list[tuple[float, Any, Any]] | None = None
    ) -> CallToolResult:
        """Call a tool and return the result as the client got it."""

        async def told(done: float, total: float | None, text: str | None) -> None:
            if progress is not None:
                progress.append((done, total, text))

        async def ask() -> CallToolResult:
            with anyio.fail_after(60):
                answer = await self.client.call_tool(name, arguments, progress_callback=told)
            assert isinstance(answer, CallToolResult)
            return answer

        return self._portal.call(ask)

    def document(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed and return its document; the client checks it against the output schema."""
        answer = self.call(name, arguments)
        assert not answer.is_error, said(answer)
        document = answer.structured_content
        assert isinstance(document, dict)
        assert json.loads(said(answer)) == document
        return document

    def refusal(self, name: str, **arguments: Any) -> str:
        """Call a tool that must fail and return the sentence."""
        answer = self.call(name, arguments)
        assert answer.is_error, said(answer)
        assert answer.structured_content is None
        return said(answer)

    def together(self, name: str, calls: list[dict[str, Any]]) -> list[CallToolResult]:
        """Call a tool several times at once."""

        async def ask() -> list[CallToolResult]:
            answers: list[CallToolResult] = []

            async def one(arguments: dict[str, Any]) -> None:
                answer = await self.client.call_tool(name, arguments)
                assert isinstance(answer, CallToolResult)
                answers.append(answer)

            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    for arguments in calls:
                        group.start_soon(one, arguments)
            return answers

        return self._portal.call(ask)

    def tools(self) -> list[dict[str, Any]]:
        """Return what `tools/list` sent."""
        listed = self._portal.call(self.client.list_tools)
        return [tool.model_dump(by_alias=True, mode="json", exclude_unset=True) for tool in listed.tools]


def said(answer: CallToolResult) -> str:
    """Return the text of a result."""
    return "".join(block.text for block in answer.content if block.type == "text")


@contextmanager
def talking(file: Path, mode: str, *more: str, cwd: Path | None = None, errors: Path | None = None) -> Iterator[Talk]:
    """Serve `file` and talk to it; the server's standard error goes to the file `errors`."""
    line = command(file, *more)
    parameters = StdioServerParameters(command=line[0], args=line[1:], cwd=cwd or file.parent, env=dict(os.environ))
    with (
        (errors or Path(os.devnull)).open("a", encoding="utf-8") as log,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(parameters, errlog=log), mode=mode)) as client,
    ):
        yield Talk(file, client, portal)


class Lines:
    """A server that is spoken to line by line: what a client that is not ours would see, byte for byte."""

    def __init__(self, file: Path, *more: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command(file, *more), stdin=pipe, stdout=pipe, stderr=pipe, cwd=file.parent)
        self._number = 0
        self.greeting = self.ask("initialize", HELLO)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, line: bytes) -> None:
        """Write one line."""
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> bytes:
        """Send a request and return the answer's line."""
        self._number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}).encode())
        assert self.process.stdout
        return self.process.stdout.readline()

    def call(self, name: str, arguments: Any) -> bytes:
        """Call a tool and return the answer's line."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def end(self) -> tuple[bytes, bytes, int]:
        """Close standard input; return what was still on stdout, all of stderr and the exit status."""
        rest, errors = self.process.communicate(timeout=20)
        return rest, errors, self.process.returncode


@contextmanager
def lines(file: Path, *more: str) -> Iterator[Lines]:
    """Serve `file` line by line; the process is gone afterwards whatever happens."""
    server = Lines(file, *more)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()
