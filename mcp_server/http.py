"""`learnings serve --http`: sockets, deadlines and HTTP/1.1 around the SDK's streamable HTTP.

Why not the server that comes with the SDK: it has no deadline for a head or a
body, and the SDK reads a body to its end before it asks who sent it
(docs/decisions/0016). Here each socket is a task of this module from the moment
it is accepted; h11 reads the bytes; the gate decides by the head alone; and only a
request that is let in, whole and within its bounds, reaches the SDK, which sees
one request and nothing of the connection.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from functools import partial
from importlib.metadata import version

import h11
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from ledger.errors import FileFault
from ledger.tokens import Token
from mcp_server.book import Book
from mcp_server.doors import Doors
from mcp_server.exchange import Exchange, scope_of, unquoted
from mcp_server.gate import PATH, TOO_MANY, TOO_SLOW, Bind, Gate, Head, Limits, Options, Refusal, Sites, Tally, sites_of
from mcp_server.line import Closed, Line
from mcp_server.remote import Desks
from mcp_server.server import INSTRUCTIONS, NAME, noted

BACKLOG = 256
"""Connections that the system holds until they are accepted."""

FILES = 200
"""Open files that are kept for everything but connections: databases, journals, temporary files."""

TELL_S = 60.0
"""How often counts are told."""


class House:
    """The server: accepts, lets in, hands over."""

    def __init__(
        self,
        manager: StreamableHTTPSessionManager,
        gate: Gate,
        options: Options,
        tally: Tally,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._manager, self._gate, self._options, self._tally = manager, gate, options, tally
        self._limits = options.limits
        self.doors = Doors(options.limits, tally)
        self._tls = tls

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
            arrived = [accepted]
            task = loop.create_task(self._serve(arrived, str(address[0])))
            task.add_done_callback(partial(_close, arrived))  # of one that was evicted before it began
            self.doors.enter(task, str(address[0]))

    async def _serve(self, arrived: list[socket.socket], address: str) -> None:
        """Serve one connection to its end; it is taken out of `arrived`."""
        accepted = arrived.pop()
        accepted.settimeout(0)
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
            if self.doors.is_closing:
                return
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
        line.wants_body = request.method != b"HEAD"
        head = Head(request.method, request.target, list(request.headers))
        client = self._unread(request, head) or self._gate.admit(head, address)
        if isinstance(client, Refusal):
            await self._refused(line, client)
            return False
        return await self._let_in(line, head, client)

    def _unread(self, request: h11.Request, head: Head) -> Refusal | None:
        """Return what is wrong with a head that need not be looked into."""
        if request.http_version not in (b"1.1", b"1.0"):
            return Refusal(505, "HTTP/1.1 only")
        names = {name for name, _ in request.headers}
        if {b"content-length", b"transfer-encoding"} <= names:  # a proxy may believe the other one
            return Refusal(400, "that is no HTTP")
        size = len(head.target) + sum(len(name) + len(value) + 4 for name, value in head.headers)
        return Refusal(431, "too large a head") if size > self._limits.head_bytes else None

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
                    scope_of(head, client, self._options.scheme), exchange.receive, exchange.send
                )
        except TimeoutError:
            return 504, [("content-type", "application/json")], b'{"error":"it took too long"}'
        except Exception as error:  # noqa: BLE001 - no traceback and no text of an exception leaves
            noted("a request", error)
            return 500, [("content-type", "application/json")], b'{"error":"something went wrong"}'
        return exchange.status, exchange.kept(), unquoted(exchange.body)


def _close(arrived: Sequence[socket.socket], _: "asyncio.Task[None]") -> None:
    for one in arrived:
        one.close()


def tls_of(options: Options) -> ssl.SSLContext | None:
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


def serve_http(path: str, options: Options, live: int) -> int:
    """Serve the ledger at `path` to its `live` clients until SIGTERM or SIGINT; return the exit status.

    Raises:
        LedgerError: it cannot be served as asked; nothing was started.
    """
    logging.getLogger().addHandler(logging.NullHandler())  # else the SDK's records go to standard error
    tls = tls_of(options)
    listening = listening_at(options.bind)
    bind = options.bind._replace(port=listening.getsockname()[1])
    options = options._replace(bind=bind, limits=_with_room(options.limits))
    try:
        asyncio.run(_serve(os.path.abspath(path), options, listening, tls, live))
    finally:
        listening.close()
    return 0


def _with_room(limits: Limits) -> Limits:
    """Let this process have as many files as there may be connections, or as many connections as it may have files."""
    if os.name == "nt":  # pragma: no cover - Windows is written for and untested
        return limits
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.total + FILES
    if soft < wanted and (hard == resource.RLIM_INFINITY or hard > soft):
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    room = max(FILES, soft - FILES)
    return limits._replace(total=min(limits.total, room), strangers=min(limits.strangers, room * 3 // 4))


def _end_now() -> None:
    """End although a tool's thread still waits for a lock, which nothing can call off: an append is one transaction."""
    sys.stderr.write("learnings: ended\n")
    sys.stderr.flush()
    os._exit(0)  # pragma: no cover - no measurement outlives it


def listening_at(bind: Bind) -> socket.socket:
    """Return a socket that listens there.

    Raises:
        FileFault: the place is taken, or none of this machine.
    """
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    try:
        made = socket.create_server((bind.host, bind.port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise FileFault(
            f"{bind.shown} cannot be listened at ({reason}); nothing was started", "choose another"
        ) from None
    made.settimeout(0)
    return made


@contextlib.asynccontextmanager
async def running(
    path: str, options: Options, listening: socket.socket, tally: Tally, tls: ssl.SSLContext | None = None
) -> AsyncIterator[House]:
    """Serve for as long as the context lasts; at its end those who are being answered may go on for a moment."""
    sites = sites_of(options.bind, options.hosts, options.origins, options.scheme)
    manager = _manager(path, sites, options.limits)
    async with manager.run():
        house = House(manager, Gate(Book(path), sites, options.limits), options, tally, tls)
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(house.accept(listening)), loop.create_task(_tells(tally))]
        try:
            yield house
        finally:
            for task in tasks:
                task.cancel()
            await house.doors.close()
            tally.tell()


async def _serve(path: str, options: Options, listening: socket.socket, tls: ssl.SSLContext | None, live: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows, where an interrupt ends the process
            loop.add_signal_handler(number, stop.set)
    tally = Tally()
    async with running(path, options, listening, tally, tls) as house:
        sys.stderr.write(
            f"learnings: serving {path} at {options.scheme}://{options.bind.shown}{PATH.decode()}"
            f" for {live} client{'' if live == 1 else 's'}\n"
        )
        sys.stderr.flush()
        await stop.wait()
        if not await house.doors.close():
            tally.tell()
            _end_now()
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
