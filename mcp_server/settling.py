"""Do what hooks left to be done, while the server has nothing else to do: notes to import, summaries to keep.

A hook has no time for a ledger, and no process is started for it: the server that
the client runs anyway looks into the queue now and then, by a thread of its own,
since to load what writes takes a second that no prompt may wait. Nobody waits for
this thread, and a server that is killed in it loses nothing (`handover.take`).
Once the queue is empty, the thread reads what notes were changed meanwhile (`scanning.py`):
the queue tells whose words they hold.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping

from importers.projects import project_of
from ledger.sessions import REST_S, SETTLE, Sessions, caller
from mcp_server import write_side
from mcp_server.scanning import Scanning

EVERY_S = 2.0
"""How often the queue is looked into: one listing of a folder, 20 µs."""


class Settling:
    """The queue of one ledger, seen to by one thread."""

    def __init__(
        self,
        path: str,
        env: Mapping[str, str],
        wrote: Callable[[], None],
        clock: Callable[[], float] = time.time,
        is_answering: Callable[[], bool] = lambda: False,
    ) -> None:
        """Hold what is needed; `wrote` hears that something was written, `is_answering` tells when a prompt waits."""
        self._path, self._env, self._wrote, self._clock = path, env, wrote, clock
        self._scanning: Scanning | None = Scanning(path, env, wrote, is_answering, clock)

    def begin(self) -> None:
        """Begin to look, in a thread that ends with the process."""
        threading.Thread(target=self._looks, daemon=True).start()

    def _looks(self) -> None:
        while True:
            time.sleep(self._scanned() if self.settle() else REST_S)

    def _scanned(self) -> float:
        """Read a few more notes while there are any; return for how long to sleep then."""
        rest = self._scanning.step() if self._scanning is not None else None
        if rest is None:
            self._scanning = None
        return EVERY_S if rest is None else rest

    def settle(self) -> bool:
        """Do what waits; False when it could not be done, and is left to rest. Never raises."""
        from ledger import erasures, handover
        from ledger.hook import is_off

        has_work = erasures.pending(self._path) is not None or any(
            map(handover.is_due, handover.waiting(self._path, handover.SOON))
        )
        if is_off(self._env) or not has_work:
            return True
        begun = time.perf_counter()
        who, kept = caller(self._env, ""), Sessions(self._path)
        try:
            self._settled()
        except Exception as error:  # noqa: BLE001 - it is offered again, and `doctor` is told
            kept.failed(SETTLE, who.entrypoint, type(error).__name__, self._clock())
            return False
        kept.ran(SETTLE, who, 1_000 * (time.perf_counter() - begun), self._clock())
        self._wrote()
        return True

    def _settled(self) -> None:
        write_side.load()
        from importers.plan import plan, vanished
        from importers.registry import read_note
        from ledger import capture, purge
        from ledger.ledger import Ledger

        home = os.path.expanduser("~")
        with Ledger.open(self._path) as ledger:
            ledger.store.finish_erasing(purge.RETRY_MS)
            capture.settle(ledger, capture.Notes(lambda path: read_note(path, home), plan, vanished), home, project_of)
