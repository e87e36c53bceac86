"""The tool `recall`, which the client's prompt hook calls and `tools/list` does not name: it costs the model nothing.

Its answer is the hook's JSON as text, or nothing. One reader and one `Recall`
are kept for the process and belong to one thread; a prompt waits `LIMIT_S` for
it and no longer, and whatever goes wrong is answered by nothing. What hung is
not waited for again until it has rested, then tried once.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from importers.projects import loaded_files, project_of
from ledger.sessions import OFF, PROMPT, REST_S, SHOWN, Sessions, caller
from mcp_server.settling import Settling

if TYPE_CHECKING:
    from ledger.hook import Asked, Peeked
    from ledger.own_copy import Loaded
    from ledger.reader import Reader

NAME = "recall"
LEDGER = "ledger"
"""Names of the breakers: this tool's, and that of the ledger's file, which hooks trip as well."""

EVENT = "prompt"
"""What this counts as in `sessions.db`: the same event as the command hook's."""

LIMIT_S = 0.3
"""Longest that a prompt waits for an answer."""

IDLE_S = 0.05
"""Time in which nobody asks, after which what is left to do is done: beside it an answer would be slower on its way."""

BUSY_MS = 100
"""Longest wait for a ledger that is locked."""

CACHE_KIB = 4_000
"""Pages that the kept connection holds on to: no slower than with 16 MB at 10,000 learnings, and 3 MB less."""

NOTHING = "{}"
"""The answer at which the client (2.1.332) adds nothing to the request and nothing to the transcript; of an empty text
or no content it makes the line "UserPromptSubmit completed", which the model reads."""

ANSWERS_KEPT = 16
"""Answers of which it is still known what they showed, should the client say that it did not wait for them."""

REFUSED_SESSIONS = 5
"""Sessions without a single prompt from which on the tool is listed."""

LISTED = {
    "name": NAME,
    "description": "For the client's prompt hook, not for the model: what a prompt is shown.",
    "inputSchema": {
        "type": "object",
        "properties": {
            name: {"type": "string"} for name in ("prompt", "session_id", "transcript_path", "cwd", "prompt_id")
        },
    },
    "annotations": {"readOnlyHint": True},
}
"""What `tools/list` says of it to a client that refuses tools it was not told of."""

WARMING = "how is this project built, tested and released?"
"""A question that makes a process ready to answer the next one in time."""


class Kept:
    """A ledger that stays open from prompt to prompt, for as long as it is the file that is there."""

    def __init__(self, path: str) -> None:
        from ledger.place import identity
        from ledger.reader import open_reader
        from ledger.recall import Recall

        self.path, self.identity = path, identity(path)
        self.reader: Reader = open_reader(path, BUSY_MS)
        self.reader.stays = True
        self.reader.rows(f"PRAGMA cache_size = {-CACHE_KIB}", {})
        try:
            self.recall = Recall(self.reader, "hook")
        except BaseException:
            self.reader.close()
            raise

    def is_current(self) -> bool:
        """Tell whether this is still the file that is there, in a form this program reads.

        Raises:
            LedgerError: nothing is there, or nothing that can be read.
        """
        from ledger.place import identity

        self.reader.recognise()
        return self.identity == identity(self.path)

    def peeked(self) -> "Peeked":
        """Return what the settings say."""
        from ledger import sql
        from ledger.hook import Peeked

        last = self.reader.rows(sql.LAST_EVENT, {})
        return Peeked(self.reader.rows(sql.SETTINGS, {}), last[0] if last else (0, b"", None))

    def close(self) -> None:
        """Close everything."""
        self.recall.close()
        self.reader.close()


class RecallTool:
    """Recall for the prompts that one server process is asked, by one thread that lives as long as the process."""

    def __init__(self, path: str, env: Mapping[str, str], clock: Callable[[], float] = time.time) -> None:
        self._path, self._env, self._clock = path, env, clock
        self._sessions = Sessions(path)
        self._loaded: Loaded | None = None
        self._answering = 0
        self._settling = Settling(path, env, self.written, clock, lambda: self._answering > 0)
        self._work: SimpleQueue[tuple[Future[str], Mapping[str, Any] | None]] = SimpleQueue()
        self._late: set[Future[str]] = set()
        self._calls: dict[object, Future[str]] = {}
        self._settled: dict[Future[str], Callable[[bool], object]] = {}
        self._kept: Kept | None = None
        self._rests_until = 0.0
        self._made: object = None
        self._tripped_at: float | None = None
        self._is_warm = self._is_begun = self._has_passed = False
        try:
            self._cwd = os.getcwd()
        except OSError:  # the folder was deleted
            self._cwd = ""

    async def answer(self, given: Mapping[str, Any], call: object = None) -> str:
        """Return the hook's JSON for a prompt, `NOTHING` when there is nothing to show or no answer in time.

        `call` is the name under which the client may say that it does not wait any more.
        """
        from ledger.hook import is_off

        if is_off(self._env) or time.monotonic() < self._rests_until:
            return NOTHING
        self._answering += 1
        was_warm, future = self._is_warm, self._asked(given)
        if call is not None:
            _keep(self._calls, call, future)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), LIMIT_S)
        except asyncio.CancelledError:
            self._late.add(future)
            raise
        except TimeoutError:
            self._late.add(future)
            if was_warm:  # to load everything for the first time may take longer, and is no fault
                self._trip()
                threading.Thread(target=self._hung, daemon=True).start()
        finally:
            self._answering -= 1
        return NOTHING

    def taken_back(self, call: object) -> None:
        """Hear that the client did not wait for a call: an answer that is on its way to it is seen by nobody."""
        future = self._calls.pop(call, None)
        if future is not None and future.done() and not future.cancelled():
            self._late.add(future)
            self._work.put((future, None))

    def is_refused(self) -> bool:
        """Tell whether this client seems to refuse a tool that is not listed.

        Its hooks began `REFUSED_SESSIONS` sessions within a week, and no prompt
        of one ever came here, by this way or by the command hook.
        """
        own, now = caller(self._env, "").entrypoint, self._clock()
        begun = [
            one for one in self._sessions.listed(now - 7 * 86_400)
            if one["entrypoint"] == own and one["source"] is not None
        ]  # fmt: skip
        if len(begun) < REFUSED_SESSIONS:
            return False
        return not any(one["event"] == EVENT and one["entrypoint"] == own for one in self._sessions.fired(now))

    def written(self) -> None:
        """Hear that this process wrote: what the next session begins with is another."""
        from ledger.hook import is_off

        if self._is_begun and not is_off(self._env):
            self._asked(None)

    def warm(self) -> None:
        """Make ready when the client is one with hooks: its first prompt has yet to be typed."""
        from ledger.hook import is_off

        if not self._is_begun and self._env.get("CLAUDECODE") and not is_off(self._env):
            self._asked(None)

    def _asked(self, given: Mapping[str, Any] | None) -> "Future[str]":
        """Hand a prompt to the thread, begun with the first one."""
        if not self._is_begun:
            self._is_begun = True
            threading.Thread(target=self._works, daemon=True).start()
            self._settling.begin()
        future: Future[str] = Future()
        self._work.put((future, given))
        return future

    # -- the breaker -------------------------------------------------------------------------------------------------

    def _trip(self) -> None:
        self._tripped_at = self._clock()
        self._rests_until = time.monotonic() + REST_S

    def _hung(self) -> None:
        """Leave a line for `doctor`, apart from the thread that hangs."""
        who = caller(self._env, "")
        self._sessions.failed(EVENT, who.entrypoint, "TooLate", self._clock())
        self._sessions.tripped(NAME, self._clock())

    # -- the thread --------------------------------------------------------------------------------------------------

    def _works(self) -> None:
        """Answer what is asked, one after the other; what is left to do waits until nobody asks."""
        left: dict[Future[str], Callable[[bool], object]] = {}
        while True:
            try:
                future, given = self._work.get(timeout=IDLE_S if left else None)
            except Empty:
                future = next(iter(left))
                self._settle(future, left.pop(future))
                continue
            if future.done() and not future.cancelled():
                self._settle(future, left.pop(future) if future in left else self._settled.pop(future, bool))
            elif future.set_running_or_notify_cancel():  # else nobody waits for it any more
                try:
                    said, after = self._answered(given)
                except Exception:  # noqa: BLE001 - this thread is the only one there will be
                    said, after = NOTHING, bool
                future.set_result(said)
                left[future] = after
            else:
                self._late.discard(future)
            del future, given

    def _settle(self, future: "Future[str]", after: Callable[[bool], object]) -> None:
        """Do what is left to do after an answer, and keep how it is taken back."""
        is_late = future in self._late
        with suppress(Exception):
            after(is_late)
        if is_late:
            self._late.discard(future)
        else:
            _keep(self._settled, future, after)

    def _answered(self, given: Mapping[str, Any] | None) -> tuple[str, Callable[[bool], object]]:
        """Return the answer to one prompt, and what is left to do, told whether it came too late; never raises.

        No prompt at all makes ready for the next one.
        """
        begun = time.perf_counter()
        from ledger.hook import Asked, noted

        asked = Asked(
            {"cwd": self._cwd} if given is None else given,
            self._env,
            self._path,
            project_of,
            self._clock(),
            loaded=self._at_hand(),
        )
        if not os.path.isfile(self._path):
            return NOTHING, bool
        try:
            said, used = self._found(asked, is_warming=given is None)
        except Exception as error:  # noqa: BLE001 - a prompt is answered by nothing, never by a fault
            self._drop()
            if given is not None and noted(asked, EVENT, error):
                self._trip()
            return NOTHING, bool
        self._is_warm = True
        ms = 1_000 * (time.perf_counter() - begun)
        if given is None:
            return NOTHING, bool if OFF in used else lambda _: self._ready(asked, is_news=False)
        return said or NOTHING, lambda is_late: self._unseen(asked) if is_late else self._count(asked, ms, used)

    def _at_hand(self) -> "Loaded":
        """Return what the client has loaded, as far as it was looked at."""
        if self._loaded is None:
            from ledger.own_copy import Loaded

            self._loaded = Loaded(lambda folder: loaded_files(folder, os.path.expanduser("~")))
        return self._loaded

    def _unseen(self, asked: "Asked") -> None:
        """Forget as shown what came too late for anybody to see."""
        if self._kept is not None and asked.found is not None:
            self._kept.recall.unseen(asked.who.session, asked.found)

    def _count(self, asked: "Asked", ms: float, used: Sequence[str]) -> None:
        asked.kept.ran(EVENT, asked.who, ms, asked.now, used)
        heals = not self._has_passed if self._tripped_at is None else asked.now >= self._tripped_at
        if heals:
            self._has_passed, self._tripped_at = True, None
            asked.kept.passed(NAME)
            asked.kept.passed(LEDGER)
        if OFF not in used:
            self._ready(asked, is_news=SHOWN in used)

    def _ready(self, asked: "Asked", is_news: bool) -> None:
        """Keep the block that the next session here begins with, when the log or what is worked on is another."""
        from ledger import ready

        if self._kept is None or asked.peeked is None:
            return
        state = (
            asked.text("cwd"),
            ready.head_of(asked.peeked),
            ready.stamp_of(asked.text("cwd")),
            ready.files_of(asked),
            int(asked.now // 86_400),
        )
        if state == self._made and not is_news:
            return
        try:
            ready.make(asked, self._kept.reader)
            self._made = state
        except Exception:  # noqa: BLE001 - the next start makes its own
            self._drop()

    def _found(self, asked: "Asked", is_warming: bool) -> "tuple[str, Sequence[str]]":
        """Return the JSON for a prompt, and what is to be counted.

        Raises:
            LedgerError, sqlite3.Error, OSError: the ledger cannot be read.
        """
        from ledger.hook import is_off, prompt_answered

        kept = self._open()
        project = asked.project()
        asked.peeked = kept.peeked()
        if is_off(self._env) or not asked.is_served():
            return "", (PROMPT, OFF)
        if is_warming:
            from ledger import choose

            choose.choose(kept.reader, WARMING, project, None, frozenset())
            asked.repeated([])
            return "", ()
        return prompt_answered(asked, kept.recall)

    def _open(self) -> Kept:
        """Return the ledger that is there now, opened."""
        if self._kept is not None and not self._kept.is_current():
            self._drop()
        if self._kept is None:
            self._kept = Kept(self._path)
        return self._kept

    def _drop(self) -> None:
        if self._kept is not None:
            kept, self._kept = self._kept, None
            kept.close()


def _keep(kept: "dict[Any, Any]", key: object, value: object) -> None:
    """Keep an answer's part, the last `ANSWERS_KEPT` of them."""
    kept[key] = value
    if len(kept) > ANSWERS_KEPT:
        kept.pop(next(iter(kept)), None)
