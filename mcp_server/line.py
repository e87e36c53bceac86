"""One connection as HTTP/1.1 sees it: h11 reads the bytes, every wait has an end."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import Sequence
from typing import Any

import h11

from mcp_server.gate import TOO_LARGE, TOO_SLOW, Limits, Refusal

LINGER_S, LINGER_BYTES = 1.0, 1_048_576
"""How long, and how much, is read and thrown away after a refusal: closed at once, a sender might never read it."""

ALWAYS = (("cache-control", "no-store"), ("x-content-type-options", "nosniff"))


class Closed(Exception):
    """The client has gone, or did not take what it was sent."""


class Line:
    """One connection: what h11 knows of it, and the two ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        self.reader, self.writer, self._limits = reader, writer, limits
        self.state = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)
        self.has_spoken = False
        self.wants_body = True

    async def event(self) -> Any:
        """Return what the client says next.

        Raises:
            h11.RemoteProtocolError: it does not speak HTTP. Closed: it has gone.
        """
        while (found := self.state.next_event()) is h11.NEED_DATA:
            if self.state.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            is_head = self.state.their_state is h11.IDLE
            data = await self.reader.read(self._limits.head_bytes if is_head else 65_536)
            self.has_spoken = self.has_spoken or bool(data)
            if not data and is_head:
                raise Closed
            self.state.receive_data(data)
        return found

    async def send(self, *events: Any) -> None:
        """Send, and wait until it was taken.

        Raises:
            Closed: it was not.
        """
        try:
            self.writer.write(b"".join(self.state.send(event) or b"" for event in events))
            async with asyncio.timeout(self._limits.write_s):
                await self.writer.drain()
        except (OSError, TimeoutError):
            raise Closed from None

    async def answer(self, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Send a whole response."""
        every = [(name, value) for name, value in (*headers, *ALWAYS)]
        every.append(("content-length", str(len(body))))
        response = h11.Response(status_code=status, headers=every)
        await self.send(response, *([h11.Data(data=body)] if self.wants_body else []), h11.EndOfMessage())

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
