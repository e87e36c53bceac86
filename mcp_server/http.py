"""`learnings serve --http`: sockets, deadlines and HTTP/1.1 around the SDK's streamable HTTP.

Why not the server that comes with the SDK: it has no deadline for a head or a
body, counts connections only once a request is whole, and reads a body before
anybody has asked who sent it (docs/decisions/0010). Here each socket is a task of
this module from the moment it is accepted; h11 reads the bytes; the gate decides
by the head alone; and only a request that is let in, whole and within its bounds
reaches the SDK, which then sees one request and nothing of the connection.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import h11
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from ledger import tokens
from ledger.errors import FileFault
from ledger.tokens import Book, Token
from mcp_server.gate import (
    PATH,
    TOO_LARGE,
    TOO_MANY,
    TOO_SLOW,
    Bind,
    Gate,
    Head,
    Limits,
    Refusal,
    Sites,
    Tally,
    check_bind,
    sites_of,
)
from mcp_server.remote import CLIENT, Desks
from mcp_server.server import INSTRUCTIONS, NAME, noted

BACKLOG = 256
"""Connections that the system holds until they are accepted."""

LINGER_S, LINGER_BYTES = 1.0, 1_048_576
"""How long, and how much, is read and thrown away after a refusal: closed at once, a sender might never read it."""

GRACE_S = 2.0
"""How long those who are being answered may go on when the server is told to end."""

TELL_S = 60.0

SAYS = {
    -32700: "that is no JSON",
    -32600: "that is no request of the protocol",
    -32601: "there is no such method",
    -32602: "the arguments are not those of the method",
    -32603: "something went wrong",
    -32022: "that version of the protocol is not spoken",
}
"""What an error of the protocol says, in the place of the SDK's words, which quote what was sent."""

ALWAYS = (("cache-control", "no-store"), ("x-content-type-options", "nosniff"))


class Options(NamedTuple):
    """How the command line wants it served."""

    bind: Bind
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    certificate: str | None = None
    key: str | None = None
    is_proxied: bool = False
    limits: Limits = Limits()

    @property
    def scheme(self) -> str:
        """Return the scheme of the address."""
        return "http" if self.certificate is None else "https"


class Closed(Exception):
    """The client has gone, or did not take what it was sent."""


class Line:
    """One connection: what h11 knows of it, and the two ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        self.reader, self.writer, self._limits = reader, writer, limits
        self.state = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)
        self.has_spoken = False

    async def event(self) -> Any:
        """Return what the client says next.

        Raises:
            h11.RemoteProtocolError: it does not speak HTTP. Closed: it has gone.
        """
        while (found := self.state.next_event()) is h11.NEED_DATA:
            if self.state.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            data = await self.reader.read(65_536)
            self.has_spoken = self.has_spoken or bool(data)
            if not data and self.state.their_state is h11.IDLE:
                raise Closed
            self.state.receive_data(data)
        return found

    async def send(self, *events: Any) -> None:
        """Send, and wait until it was taken.

        Raises:
            Closed: it was not.
        """
        try:
            for event in events:
                self.writer.write(self.state.send(event) or b"")
            async with asyncio.timeout(self._limits.write_s):
                await self.writer.drain()
        except (OSError, TimeoutError):
            raise Closed from None

    async def answer(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Send a whole response."""
        every = [(name, value) for name, value in (*headers, *ALWAYS)]
        every.append(("content-length", str(len(body))))
        response = h11.Response(status_code=status, headers=every)
        await self.send(response, h11.Data(data=body), h11.EndOfMessage())

    async def refuse(self, refusal: Refusal) -> None:
        """Say why a request goes no further, and let the connection end."""
        if self.state.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps({"error": refusal.says}).encode()
            kind = ("content-type", "application/json")
            await self.answer(refusal.status, [kind, ("connection", "close"), *refusal.headers], body)
        await self._linger()

    async def _linger(self) -> None:
        """Read on for a moment what the client is still sending."""
        left = LINGER_BYTES
        with contextlib.suppress(OSError, TimeoutError, ssl.SSLError):
            if self.writer.can_write_eof():
                self.writer.write_eof()
            async with asyncio.timeout(LINGER_S):
                while left > 0 and (data := await self.reader.read(65_536)):
                    left -= len(data)

    async def body(self) -> bytes | Refusal:
        """Return the body of the request whose head was read, or why not."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_s):
                while not isinstance(found := await self.event(), h11.EndOfMessage):
                    if isinstance(found, h11.ConnectionClosed):
                        raise Closed
                    size += len(found.data)
                    if size > self._limits.body_bytes:
                        return TOO_LARGE
                    parts.append(bytes(found.data))
        except TimeoutError:
            return TOO_SLOW
        return b"".join(parts)


class Doors:
    """Every open connection: those who have shown no token yet, and those of each client."""

    def __init__(self, limits: Limits, tally: Tally) -> None:
        self._limits, self._tally = limits, tally
        self._strangers: dict[asyncio.Task[None], str] = {}
        self._clients: dict[asyncio.Task[None], str] = {}
        self._busy: set[asyncio.Task[None]] = set()

    def has_room(self) -> bool:
        """Make room for one more, by closing the oldest stranger if need be; tell whether there is any."""
        is_full = len(self._strangers) + len(self._clients) >= self._limits.total
        if len(self._strangers) >= self._limits.strangers or (is_full and self._strangers):
            self._evict()
            return True
        return not is_full

    def _evict(self) -> None:
        """Close the oldest of the address that has most."""
        most, _ = Counter(self._strangers.values()).most_common(1)[0]
        oldest = next(task for task, address in self._strangers.items() if address == most)
        del self._strangers[oldest]
        oldest.cancel()
        self._tally.count("-", "evicted")

    def enter(self, task: "asyncio.Task[None]", address: str) -> None:
        """Hold a new connection as a stranger's."""
        self._strangers[task] = address
        task.add_done_callback(self._leave)

    def _leave(self, task: "asyncio.Task[None]") -> None:
        self._strangers.pop(task, None)
        self._clients.pop(task, None)
        self._busy.discard(task)
        if not task.cancelled() and task.exception() is not None:
            noted("a connection", task.exception() or Closed())

    def known(self, task: "asyncio.Task[None]", client: str) -> bool:
        """Hold a connection as a client's; tell whether it has not too many of them."""
        self._strangers.pop(task, None)
        self._clients[task] = client
        return Counter(self._clients.values())[client] <= self._limits.connections

    @contextlib.contextmanager
    def answering(self, task: "asyncio.Task[None]") -> Any:
        """Mark a connection as one that is being answered."""
        self._busy.add(task)
        try:
            yield
        finally:
            self._busy.discard(task)

    async def close(self) -> None:
        """End every connection; those who are being answered may go on for a moment."""
        for task in [*self._strangers, *self._clients]:
            if task not in self._busy:
                task.cancel()
        if self._busy:
            await asyncio.wait([*self._busy], timeout=GRACE_S)
        left = [*self._strangers, *self._clients]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=GRACE_S)


class House:
    """The server: accepts, lets in, hands over."""

    def __init__(self, manager: StreamableHTTPSessionManager, gate: Gate, options: Options, tally: Tally) -> None:
        self._manager, self._gate, self._options, self._tally = manager, gate, options, tally
        self._limits = options.limits
        self.doors = Doors(options.limits, tally)
        self._tls = _tls(options)

    async def accept(self, listening: socket.socket) -> None:
        """Accept for ever; a connection for which there is no room is closed before a byte of it is read."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(listening)
            except OSError:  # no descriptor is left, or the client went at once
                self.doors.has_room()
                await asyncio.sleep(0.05)
                continue
            if not self.doors.has_room():
                accepted.close()
                self._tally.count("-", "turned-away")
                continue
            task = loop.create_task(self._serve(accepted, str(address[0])))
            self.doors.enter(task, str(address[0]))

    async def _serve(self, accepted: socket.socket, address: str) -> None:
        """Serve one connection to its end."""
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=65_536, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        wait_s = None if self._tls is None else self._limits.head_s
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._tls, ssl_handshake_timeout=wait_s
            )
        except (OSError, TimeoutError):
            accepted.close()
            return
        except asyncio.CancelledError:
            accepted.close()
            raise
        line = Line(reader, asyncio.StreamWriter(transport, protocol, reader, loop), self._limits)
        try:
            await self._talk(line, address)
        except (Closed, OSError, h11.LocalProtocolError):
            pass
        finally:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                transport.abort()
            else:
                transport.close()

    async def _talk(self, line: Line, address: str) -> None:
        """Answer the requests of one connection, one after the other."""
        wait_s = self._limits.head_s
        while await self._one(line, address, wait_s) and line.state.their_state is h11.DONE:
            if line.state.our_state is not h11.DONE:
                return
            line.state.start_next_cycle()
            line.has_spoken = bool(line.state.trailing_data[0])
            wait_s = self._limits.idle_s

    async def _one(self, line: Line, address: str, wait_s: float) -> bool:
        """Answer one request; False when the connection is to end."""
        try:
            async with asyncio.timeout(wait_s):
                request = await line.event()
        except TimeoutError:
            if line.has_spoken:
                await self._refused(line, TOO_SLOW)
            return False
        except h11.RemoteProtocolError as error:
            await self._refused(line, Refusal(error.error_status_hint, "that is no HTTP"))
            return False
        if not isinstance(request, h11.Request):
            return False
        head = Head(request.method, request.target, list(request.headers))
        client = self._gate.admit(head, address)
        if isinstance(client, Refusal):
            await self._refused(line, client)
            return False
        return await self._let_in(line, head, client)

    async def _let_in(self, line: Line, head: Head, client: Token) -> bool:
        task = asyncio.current_task()
        assert task is not None
        if not self.doors.known(task, client.id):
            await self._refused(line, TOO_MANY._replace(who=client.id))
            return False
        try:
            body = await line.body()
        except h11.RemoteProtocolError:
            body = Refusal(400, "that is no HTTP")
        if isinstance(body, Refusal):
            await self._refused(line, body._replace(who=client.id))
            return False
        with self.doors.answering(task):
            status, headers, said = await self._asked(head, client, body)
            self._tally.count(client.id, status)
            await line.answer(status, headers, said)
        return True

    async def _refused(self, line: Line, refusal: Refusal) -> None:
        self._tally.count(refusal.who, refusal.status)
        await line.refuse(refusal)

    async def _asked(self, head: Head, client: Token, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """Hand a request to the SDK and return its answer, without what it quotes of the request."""
        exchange = Exchange(body)
        try:
            async with asyncio.timeout(self._limits.answer_s):
                await self._manager.handle_request(
                    _scope(head, client, self._options.scheme), exchange.receive, exchange.send
                )
        except TimeoutError:
            return 504, [("content-type", "application/json")], b'{"error":"it took too long"}'
        except Exception as error:  # noqa: BLE001 - no traceback and no text of an exception leaves
            noted("a request", error)
            return 500, [("content-type", "application/json")], b'{"error":"something went wrong"}'
        return exchange.status, exchange.kept(), unquoted(exchange.body)


class Exchange:
    """One request and its response, as the SDK takes and gives them."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self.status = 500

    async def receive(self) -> dict[str, Any]:
        """Return the body, once; who waits for more is told nothing until the end."""
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        """Take a part of the response."""
        if message["type"] == "http.response.start":
            self.status, self._headers = message["status"], list(message.get("headers", ()))
        else:
            self._parts.append(message.get("body", b""))

    @property
    def body(self) -> bytes:
        """Return the body of the response."""
        return b"".join(self._parts)

    def kept(self) -> list[tuple[str, str]]:
        """Return the headers of the response that go on: its type, and what may be done instead."""
        return [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in self._headers
            if name.lower() in (b"content-type", b"allow")
        ]


def _scope(head: Head, client: Token, scheme: str) -> dict[str, Any]:
    """Return a request as the SDK takes it; the token stays outside."""
    headers = [(name, value) for name, value in head.headers if name not in (b"authorization", b"cookie", b"host")]
    headers = [(name, value.lower() if name == b"origin" else value) for name, value in headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": head.method.decode("ascii"),
        "scheme": scheme,
        "path": PATH.decode("ascii"),
        "raw_path": PATH,
        "root_path": "",
        "query_string": b"",
        "headers": [*headers, (b"host", (head.one(b"host") or "").lower().encode("latin-1"))],
        CLIENT: client,
    }


def unquoted(body: bytes) -> bytes:
    """Return a response without the words of the SDK's errors: some quote what was sent."""
    if b'"error"' not in body:
        return body
    try:
        found = json.loads(body)
    except ValueError:
        return body if not body else b'{"error":"something went wrong"}'
    if not isinstance(found, dict) or not isinstance(found.get("error"), dict):
        return body
    code, data = found["error"].get("code"), found["error"].get("data")
    found["error"] = {"code": code, "message": SAYS.get(code, SAYS[-32600])}
    if code == -32022 and isinstance(data, dict) and isinstance(data.get("supported"), list):
        asked = str(data.get("requested", ""))
        is_date = len(asked) == 10 and asked.replace("-", "").isdigit()
        found["error"]["data"] = {"supported": data["supported"], "requested": asked if is_date else "unknown"}
    return json.dumps(found, separators=(",", ":")).encode()


def _tls(options: Options) -> ssl.SSLContext | None:
    """Return what speaks TLS.

    Raises:
        FileFault: certificate and key cannot be used.
    """
    if options.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ValueError):
        raise FileFault(
            f"{options.certificate} and its key cannot be used; nothing was started",
            "give PEM files that belong together",
        ) from None
    return context


# -- starting and ending ---------------------------------------------------------------------------------------------


def serve_http(path: str, options: Options) -> int:
    """Serve the ledger at `path` until SIGTERM or SIGINT; return the exit status.

    Raises:
        LedgerError: it cannot be served as asked; nothing was started.
    """
    logging.getLogger().addHandler(logging.NullHandler())  # else the SDK's records go to standard error
    path = os.path.abspath(path)
    known = tokens.load(path)
    check_bind(
        options.bind, has_tls=options.certificate is not None, is_proxied=options.is_proxied, hosts=options.hosts,
        tokens=known,
    )  # fmt: skip
    listening = _listening(options.bind)
    bind = options.bind._replace(port=listening.getsockname()[1])
    options = options._replace(bind=bind)
    live = sum(token.state(tokens.time_text(time.time())) == "live" for token in known)
    try:
        asyncio.run(_serve(path, options, listening, live))
    finally:
        listening.close()
    _leave_threads()
    return 0


def _leave_threads() -> None:
    """End although a tool's thread still waits for a lock: an append is one transaction."""
    sys.stderr.flush()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(GRACE_S)
            if thread.is_alive():
                os._exit(0)  # pragma: no cover - no measurement outlives it


def _listening(bind: Bind) -> socket.socket:
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    try:
        made = socket.create_server((bind.host, bind.port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise FileFault(
            f"{bind.shown} cannot be listened at ({reason}); nothing was started", "choose another"
        ) from None
    made.setblocking(False)
    return made


async def _serve(path: str, options: Options, listening: socket.socket, live: int) -> None:
    sites = sites_of(options.bind, options.hosts, options.origins, options.scheme)
    tally = Tally()
    manager = _manager(path, sites, options.limits)
    async with manager.run():
        house = House(manager, Gate(Book(path), sites, options.limits), options, tally)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        accepting = loop.create_task(house.accept(listening))
        telling = loop.create_task(_tells(tally))
        sys.stderr.write(
            f"learnings: serving {path} at {options.scheme}://{options.bind.shown}{PATH.decode()}"
            f" for {live} client{'' if live == 1 else 's'}\n"
        )
        await stop.wait()
        for task in (accepting, telling):
            task.cancel()
        await house.doors.close()
    tally.tell()
    sys.stderr.write("learnings: ended\n")


def _manager(path: str, sites: Sites, limits: Limits) -> StreamableHTTPSessionManager:
    """Return the SDK's part: every request for itself, answered by one JSON document.

    Without sessions of its own there is none that another client could take over, and
    no stream that stays open.
    """
    desks = Desks(path)
    server = Server(
        NAME,
        version=version("learning-ledger"),
        instructions=INSTRUCTIONS,
        on_list_tools=desks.list_tools,
        on_call_tool=desks.call_tool,
    )
    security = TransportSecuritySettings(allowed_hosts=sorted(sites.hosts), allowed_origins=sorted(sites.origins))
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=security, max_request_body_size=limits.body_bytes
    )


async def _tells(tally: Tally) -> None:
    while True:
        await asyncio.sleep(TELL_S)
        tally.tell()
