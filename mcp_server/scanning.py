"""Read the notes that were changed while nobody looked, once a session, a few at a time.

The server does it beside its answers, in the thread that also settles what hooks left: no
process is started, no session waits. Which files have changed is told by time and size, remembered
in `<ledger>.scanned` (it may go any time: then all are read again, and nothing new is found). Only
when some have is loaded what writes.
A few notes are one step and at most one transaction each time: after it the thread sleeps for
longer than it worked, and while a prompt is being answered it waits. A process killed in it
leaves steps that are done and steps that the next session does.
A lower priority for the thread would do harm: it would be put to sleep while it holds
the interpreter's lock, and the answer to a prompt with it.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple

from importers import files, projects
from ledger.sessions import SCAN, Sessions, caller
from mcp_server import write_side

NOTES_STEP = 8
"""Notes of one step: 30 to 80 ms of work."""

NOTES_MAX = 4_000
"""Notes that one session reads; the next one reads on."""

REST, REST_MIN_S = 3.0, 0.05
"""How much longer a step is followed by sleep than it took, and the least of it."""

WAIT_S = 2.0
"""Longest that a note waits for an answer that is being made."""

SWITCH_S = 0.000_5
"""After this the interpreter lets another thread on, while a step is done; else an answer would wait 5 ms each time."""

FRESH_S = 5.0
"""Age below which a note is not read yet: it may be an agent's, whose hook is still on its way to tell so."""

LATER_S, LATER_MAX = 1.0, 60
"""How long a step sleeps that had nothing to do but wait for that, and how often; what is left then is the next
session's."""

STATE_BYTES = 8_388_608
SAVED_AFTER = 64
"""What part of the notes may be read between two writings of what they were: one in so many."""

Stamp = tuple[int, int, int]
"""Time of change, size and inode of a file."""


class Step(NamedTuple):
    """A few notes of one folder, and what they were when they were looked at; None is one that is gone."""

    folder: str
    notes: dict[str, Stamp | None]
    is_first: bool


class Scanning:
    """What a session has to read of the memory folders of its user's client."""

    def __init__(
        self,
        path: str,
        env: Mapping[str, str],
        wrote: Callable[[], None],
        is_answering: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Hold what is needed; `wrote` hears that something was written, `is_answering` tells when to wait."""
        self._path, self._env, self._wrote, self._clock = path, env, wrote, clock
        self._is_answering = is_answering
        self._steps: list[Step] | None = None
        self._known: dict[str, Stamp] = {}
        self._file: BinaryIO | None = None
        self._ms, self._unsaved, self._put_off = 0.0, 0, 0
        self._is_news = self._is_read = False
        self._named: dict[str, str] = {}

    def step(self) -> float | None:
        """Read the next few notes; return for how long to sleep then, None when nothing is left. Never raises."""
        begun = time.perf_counter()
        try:
            if self._steps is None:
                self._steps = self._begun()
            if self._steps:
                if not self._is_told(self._steps[0]):
                    return self._later(self._steps)
                with self._yielding():
                    is_read = self._read(self._steps[0])
                if not is_read:
                    return self._later(self._steps)
                self._steps.pop(0)
        except Exception as error:  # noqa: BLE001 - the next session tries again, and `doctor` is told
            if self._steps:  # a ledger that cannot even be looked at is told by others
                who = caller(self._env, "")
                Sessions(self._path).failed(SCAN, who.entrypoint, type(error).__name__, self._clock())
            self._steps = []
            self._end()
            return None
        took = time.perf_counter() - begun
        self._ms += 1_000 * took
        if self._steps:
            return max(REST_MIN_S, REST * took)
        if self._is_read:
            self._remember()
            Sessions(self._path).ran(SCAN, caller(self._env, ""), self._ms, self._clock())
        self._end()
        if self._is_news:
            self._wrote()
        return None

    # -- which notes -------------------------------------------------------------------------------------------------

    def _begun(self) -> list[Step]:
        """Return what has changed, the project of the working folder first; nothing while another server looks."""
        home = os.path.expanduser("~")
        if not self._may_read() or not self._locked():
            return []
        self._known = self._remembered()
        self._named = {os.path.realpath(folder): folder for folder in projects.default_places(home)}
        folders = list(self._named)
        with suppress(OSError):
            own = os.path.realpath(projects.memory_folder(os.getcwd(), home))
            folders.sort(key=lambda folder: folder != own)
        steps: list[Step] = []
        for folder in folders:
            found = list(self._changed(folder))
            if found and not self._is_off(folder):
                steps += found
        return steps[: NOTES_MAX // NOTES_STEP]

    def _may_read(self) -> bool:
        """Tell whether this session feeds the ledger: it is there, nothing is off, and somebody sits at it."""
        from ledger.hook import is_off, peek

        if is_off(self._env):
            return False
        known = peek(self._path)
        if known is None or known.is_off(None, self._path):
            return False
        return not caller(self._env, "").is_robot or known.allows_robots(self._path)

    def _changed(self, folder: str) -> Iterator[Step]:
        """Yield the notes of a folder that are new or others, then those that are gone."""
        inside = os.path.join(folder, "")
        before = {path for path in self._known if path.startswith(inside)}
        found = {path: stamp for path in files.walk(folder).files if (stamp := _stamp(path)) is not None}
        gone = sorted(path for path in before - found.keys() if not os.path.lexists(path))
        changed: dict[str, Stamp | None] = {p: stamp for p, stamp in found.items() if self._known.get(p) != stamp}
        index = os.path.join(folder, "MEMORY.md")
        if index in found and (gone or changed.keys() - before):
            changed[index] = found[index]  # which of its lines are links depends on which notes there are
        changed.update(dict.fromkeys(gone))
        paths = list(changed)
        for at in range(0, len(paths), NOTES_STEP):
            yield Step(folder, {path: changed[path] for path in paths[at : at + NOTES_STEP]}, not before and at == 0)

    # -- whether it may be read ----------------------------------------------------------------------------------------

    def _is_told(self, step: Step) -> bool:
        """Tell whether hooks have said by now what they know of these notes, and nothing of it waits to be settled.

        What an agent has just written would pass for a person's edit.
        """
        from ledger import handover

        now = self._clock()
        if any(_is_fresh(path, now) for path in step.notes):
            return False
        return not handover.waiting(self._path, handover.SOON)

    def _later(self, steps: list[Step]) -> float | None:
        """Put the first step behind the others; give up what has waited too long."""
        self._put_off += 1
        if self._put_off <= LATER_MAX:
            steps.append(steps.pop(0))
            return LATER_S
        steps.clear()
        return self.step()

    # -- what is done with them --------------------------------------------------------------------------------------

    def _read(self, step: Step) -> bool:
        """Bring a few notes in, as `learnings scan` would; False when somebody has just written one of them."""
        write_side.load()
        from importers.plan import plan, vanished
        from importers.registry import read_notes
        from ledger import capture, ingest, sql_log
        from ledger.ledger import Ledger

        with Ledger.open(self._path) as ledger:
            paths = list(step.notes)
            if step.is_first:  # nothing is remembered of this folder, and the ledger may know of notes that are gone
                rows = ledger.store.connection().execute(sql_log.STANDING, {"kind": "memory-note"}).fetchall()
                stood = {str(row[2]) for row in rows}
                inside = os.path.join(step.folder, "")
                paths += sorted(path for path in stood if path.startswith(inside) and not os.path.lexists(path))
            before = ledger.store.head().seq
            named = self._named.get(step.folder)
            found = read_notes(paths, step.folder, os.path.expanduser("~"), self._waits, named)
            if not self._is_told(step):
                return False
            reading = capture.fed(ledger, found)
            for part in capture.by_hand(ledger, reading):
                self._waits()
                ingest.run(ledger, part, plan, vanished)
            self._is_news = self._is_news or ledger.store.head().seq > before
        for path, stamp in step.notes.items():
            if stamp is None:
                self._known.pop(path, None)
            else:
                self._known[path] = stamp
        self._unsaved, self._is_read = self._unsaved + 1, True
        if self._unsaved > len(self._known) // SAVED_AFTER:
            self._remember()
        return True

    def _is_off(self, folder: str) -> bool:
        """Tell whether the project of a folder was switched off; it is looked at again when it is on."""
        from ledger.hook import peek

        known, client = peek(self._path), projects.slug_folder(self._named[folder])
        project = projects.project_of_slug(client)[0] if client is not None else None
        return known is None or known.is_off(project, self._path)

    def _waits(self, *_: int) -> None:
        """Let an answer that is being made go first."""
        deadline = time.monotonic() + WAIT_S
        while self._is_answering() and time.monotonic() < deadline:
            time.sleep(0.005)

    @contextmanager
    def _yielding(self) -> Iterator[None]:
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            self._waits()
            yield
        finally:
            sys.setswitchinterval(before)

    # -- what is remembered ------------------------------------------------------------------------------------------

    def _locked(self) -> bool:
        """Take the file of what is remembered; False when another server has it, which then reads for this one too."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._file = os.fdopen(os.open(self._path + ".scanned", flags, 0o600), "r+b")
        try:
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # pragma: no cover - Windows: two may read the same, which costs time and nothing else
            return True
        except OSError:
            self._end()
            return False
        return True

    def _end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _remembered(self) -> dict[str, Stamp]:
        """Return what the notes were when they were read; nothing of a file that is broken."""
        assert self._file is not None
        try:
            found = json.loads(self._file.read(STATE_BYTES) or b"{}")
            return {str(path): (int(at), int(size), int(inode)) for path, (at, size, inode) in found.items()}
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return {}

    def _remember(self) -> None:
        """Write in place, for the lock is on this file; one that was cut short is read as broken."""
        assert self._file is not None
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps(self._known).encode())
        self._file.flush()
        self._unsaved = 0


def _is_fresh(path: str, now: float) -> bool:
    """Tell whether a note was written, or got its name, within the last seconds; what is of tomorrow was not."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return any(0 <= now - at < FRESH_S for at in (found.st_mtime, found.st_ctime))


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
