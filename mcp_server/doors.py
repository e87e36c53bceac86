"""Who holds a connection: strangers, of whom the oldest has to go, and clients, of whom each may have so many."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator

from mcp_server.gate import Limits, Tally
from mcp_server.server import noted

GRACE_S = 2.0
"""How long those who are being answered may go on when the server is told to end."""


class Doors:
    """Every open connection: those who have shown no token yet, and those of each client."""

    def __init__(self, limits: Limits, tally: Tally) -> None:
        self._limits, self._tally = limits, tally
        self._strangers: dict[asyncio.Task[None], str] = {}
        self._clients: dict[asyncio.Task[None], str] = {}
        self._busy: set[asyncio.Task[None]] = set()
        self.is_closing = False

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
        error = None if task.cancelled() else task.exception()
        if error is not None:
            noted("a connection", error)

    def known(self, task: "asyncio.Task[None]", client: str) -> bool:
        """Hold a connection as a client's; tell whether it has not too many of them."""
        self._strangers.pop(task, None)
        self._clients[task] = client
        return Counter(self._clients.values())[client] <= self._limits.connections

    @contextlib.contextmanager
    def answering(self, task: "asyncio.Task[None]") -> Iterator[None]:
        """Mark a connection as one that is being answered."""
        self._busy.add(task)
        try:
            yield
        finally:
            self._busy.discard(task)

    async def close(self) -> bool:
        """End every connection; those who are being answered may go on for a moment. Tell whether all of them did."""
        self.is_closing = True
        for task in [*self._strangers, *self._clients]:
            if task not in self._busy:
                task.cancel()
        if self._busy:
            await asyncio.wait([*self._busy], timeout=GRACE_S)
        was_cut = bool(self._busy)
        left = [*self._strangers, *self._clients]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=GRACE_S)
        return not was_cut
