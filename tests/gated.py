"""The server over HTTP: in this process with limits of a test's choice, asked by the SDK's client or byte by byte."""

import json
import os
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from ledger import tokens
from mcp_server.gate import Bind, Limits, Options, Tally
from mcp_server.http import listening_at, running

QUICK = Limits(head_s=0.4, body_s=0.4, idle_s=0.4, write_s=1.0)
"""Deadlines that a test can wait for."""


def make(file: Path, name: str = "client", **given: Any) -> tuple[tokens.Token, str]:
    """Make a token and keep it; return it and its text."""
    made, text = tokens.new(name, **given, now=time.time())
    tokens.add(str(file), made)
    return made, text


class Answer(NamedTuple):
    """A response as it came; status 0 when the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """Return what a refusal says."""
        found = json.loads(self.body)["error"]
        assert isinstance(found, str)
        return found


class Served:
    """A running server."""

    def __init__(self, file: Path, port: int, log: list[str], portal: BlockingPortal) -> None:
        self.file, self.port, self.log, self._portal = file, port, log, portal
        self.url = f"http://127.0.0.1:{port}/mcp"

    def connect(self) -> socket.socket:
        """Return a new connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def send(self, data: bytes) -> Answer:
        """Send bytes on a connection of their own and return what comes back until it is closed."""
        with self.connect() as line:
            with suppress(BrokenPipeError, ConnectionResetError):
                line.sendall(data)
            return read(line)

    def ask(self, token: str | None, body: Any = None, **headers: str | None) -> Answer:
        """Send one request; a header given as None is left out."""
        return self.send(request(self.port, token, body, **headers))

    def tool(self, token: str, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool in one request of the older protocol and return its result."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.ask(token, asked)
        assert answer.status == 200, answer
        found = json.loads(answer.body)["result"]
        assert isinstance(found, dict)
        return found

    @contextmanager
    def client(self, token: str, mode: str = "auto") -> Iterator["Remote"]:
        """Return a session of the SDK's client."""
        with ExitStack() as stack:
            http = stack.enter_context(
                self._portal.wrap_async_context_manager(
                    httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)
                )
            )
            client = stack.enter_context(
                self._portal.wrap_async_context_manager(
                    Client(streamable_http_client(self.url, http_client=http), mode=mode)
                )
            )
            yield Remote(client, self._portal)


class Remote:
    """A session of the SDK's client, in plain calls."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client, self._portal = client, portal

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        """Call a tool."""

        async def ask() -> CallToolResult:
            with anyio.fail_after(60):
                answer = await self.client.call_tool(name, arguments)
            assert isinstance(answer, CallToolResult)
            return answer

        return self._portal.call(ask)

    def document(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        answer = self.call(name, **arguments)
        assert not answer.is_error, answer
        assert isinstance(answer.structured_content, dict)
        return answer.structured_content

    def refusal(self, name: str, **arguments: Any) -> str:
        """Call a tool that must fail and return its sentence."""
        answer = self.call(name, **arguments)
        assert answer.is_error, answer
        return "".join(block.text for block in answer.content if block.type == "text")

    def tools(self) -> list[str]:
        """Return the names that `tools/list` sent."""
        return [tool.name for tool in self._portal.call(self.client.list_tools).tools]


def request(port: int, token: str | None, body: Any = None, **headers: str | None) -> bytes:
    """Return the bytes of a request that is in order but for the headers given."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"} if body is None else body
    data = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
    every: dict[str, str | None] = {
        "host": f"127.0.0.1:{port}",
        "authorization": None if token is None else f"Bearer {token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
        "content-length": str(len(data)),
        "connection": "close",
    }
    target, method = headers.pop("target", "/mcp"), headers.pop("method", "POST")
    every |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items() if value is not None)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def read(line: socket.socket | ssl.SSLSocket) -> Answer:
    """Return the response that comes until the other side closes."""
    data = b""
    try:
        while part := line.recv(65_536):
            data += part
    except (ConnectionResetError, TimeoutError):
        pass
    if not data:
        return Answer(0, {}, b"")
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    pairs = (one.partition(":") for one in rest)
    return Answer(int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}, body)


def read_one(line: socket.socket) -> int:
    """Return the status of one whole response on a connection that goes on."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += line.recv(1)
    left = int(head.lower().partition(b"content-length:")[2].split()[0])
    while left:
        left -= len(line.recv(min(left, 65_536)))
    return int(head.split()[1])


@contextmanager
def serving(file: Path, limits: Limits = Limits(), **given: Any) -> Iterator[Served]:  # noqa: B008
    """Serve `file` on a free port of loopback."""
    listening = listening_at(Bind("127.0.0.1", 0))
    options = Options(Bind("127.0.0.1", listening.getsockname()[1]), limits=limits, **given)
    log: list[str] = []
    with listening, start_blocking_portal() as portal:
        running_server = running(os.fspath(file), options, listening, Tally(log.append))
        with portal.wrap_async_context_manager(running_server):
            yield Served(file, options.bind.port, log, portal)


def texts(found: Any) -> Sequence[str]:
    """Return every text in a document."""
    if isinstance(found, str):
        return [found]
    if isinstance(found, dict):
        return [text for key, value in found.items() for text in (key, *texts(value))]
    return [text for one in found for text in texts(one)] if isinstance(found, list) else []
