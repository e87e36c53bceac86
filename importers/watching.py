"""Hear that something changed below some folders, and say what has to be looked at again.

An event means no more than "look again": many are lost, merged, or told of the
wrong name, so that whoever hears one reads the files and decides by their content.
Events of one thing are held back until it is quiet. What cannot be watched is
looked at every few seconds instead: where the system's limits are reached, or its
queue ran over, which is said once. Nothing here opens a file.
"""

import errno
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver, ObservedWatch

from importers import files

QUIET_S = 0.2
"""How long nothing more may happen to something before it is looked at."""

LONGEST_S = 2.0
"""How long something that never is quiet is held back at most."""

POLL_S = 2.0
"""How often everything is looked at where the system tells nothing; more rarely where looking takes long."""

SIDE_FILES = ("", "-wal", "-journal")
"""Endings of the files that a change of a database may go to."""

HEARD: list[type[FileSystemEvent]] = [
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent, FileClosedEvent, FileCreatedEvent, FileDeletedEvent,
    FileModifiedEvent, FileMovedEvent,
]  # fmt: skip
"""Kinds of events that matter; that a file is opened or read does not, else our own reading would wake us."""

LIMITS = {errno.ENOSPC: "max_user_watches", errno.EMFILE: "max_user_instances", errno.ENOMEM: "max_user_watches"}
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP)


class Target(NamedTuple):
    """Something to look at again when it changes: a file with its side files, or what lies below a folder.

    `ends` are the endings of the names that matter below a folder, () means folders only; None is a file.
    """

    key: str
    path: str
    ends: tuple[str, ...] | None = None


class Changed(NamedTuple):
    """What to look at again; `is_all` when events were lost, `is_built` when a target or what it is in came or went."""

    keys: frozenset[str]
    is_all: bool
    is_built: bool


class _Held:
    """What happened to one target: when first, when last, and not to be told before."""

    def __init__(self, now: float) -> None:
        self.first = self.last = now


class Watching:
    """The system's events for a set of targets. `said` is given the one remark there may be."""

    def __init__(
        self, said: Callable[[str], None], own: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Hold what is needed; what happens to files whose paths begin with `own` is nothing: we write them.

        Such a file that is a target itself is heard.
        """
        self._said, self._own, self._clock = said, own, clock
        self._heard = threading.Condition()
        self._held: dict[str, _Held] = {}
        self._rests: dict[str, float] = {}
        self._timers: dict[str, float] = {}
        self._targets: tuple[Target, ...] = ()
        self._files: dict[str, set[str]] = {}
        self._folders: dict[str, set[Target]] = {}
        self._ways: dict[str, set[str]] = {}
        self._is_built = self._is_lost = False
        self._why: str | None = None
        self._observer: Any = None
        self._watches: dict[tuple[str, bool], tuple[ObservedWatch, tuple[int, int]]] = {}
        self._polled = 0.0
        self.poll_s = POLL_S
        logging.getLogger("watchdog").addHandler(logging.NullHandler())
        logging.getLogger("watchdog").propagate = False  # what it would print is said in our own words
        try:
            self._observer = _observer(self._fails)
            self._observer.start()
        except OSError as error:
            self._fails(error)
            self._polls()

    @property
    def is_polling(self) -> bool:
        """Tell whether everything is looked at now and then, since the system tells nothing."""
        return self._observer is None

    def close(self) -> None:
        """End every thread and close every file of the observer."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            with suppress(RuntimeError):  # it was never started
                observer.join()
        self._watches.clear()

    # -- what is watched -----------------------------------------------------------------------------------------------

    def follow(self, targets: Iterable[Target]) -> None:
        """Watch these and no others; call it again when folders came or went. What is not there yet is waited for."""
        self._targets = tuple(dict.fromkeys(targets))
        folders: set[tuple[str, bool]] = set()
        owned, below, ways = _Sets(), _Sets(), _Sets()
        for target in self._targets:
            for path in {target.path, files.real(target.path)}:
                if target.ends is not None:
                    below.add(path, target)
                for end in SIDE_FILES if target.ends is None else ():
                    owned.add(path + end, target.key)
                for way in _upward(path):
                    ways.add(way, target.key)
            folders |= _watched(target)
        with self._heard:
            self._files, self._folders, self._ways = owned.sets, below.sets, ways.sets
        if self._observer is not None:
            self._watch(_outermost(folders))

    def _watch(self, wanted: set[tuple[str, bool]]) -> None:
        alive = {emitter.watch for emitter in self._observer.emitters if emitter.is_alive()}
        for key, (watch, identity) in list(self._watches.items()):
            if key not in wanted or watch not in alive or _identity(key[0]) != identity:
                with suppress(KeyError):
                    self._observer.unschedule(watch)
                del self._watches[key]
        handler = _Handler(self._hears)
        for path, is_deep in sorted(wanted - self._watches.keys()):
            stands = _identity(path)
            if stands is None:
                continue
            try:
                made = self._observer.schedule(handler, path, recursive=is_deep, event_filter=HEARD)
            except OSError as error:
                if error.errno not in _GONE:
                    self._fails(error)
            else:
                self._watches[path, is_deep] = (made, stands)
        if self._why is not None:
            self._polls()

    # -- what happens --------------------------------------------------------------------------------------------------

    def _hears(self, event: FileSystemEvent) -> None:
        """Take an event; in a thread of the observer."""
        now = self._clock()
        paths = {os.fsdecode(path) for path in (event.src_path, event.dest_path) if path}
        with self._heard:
            before = self._is_built
            for path in paths:
                if self._own is not None and path.startswith(self._own) and path not in self._files:
                    continue
                for key in self._touched(path, is_folder=event.is_directory):
                    self._held.setdefault(key, _Held(now)).last = now
            if self._held or self._is_built != before:
                self._heard.notify_all()

    def _touched(self, path: str, *, is_folder: bool) -> set[str]:
        """Return the keys of what a change of a path is a change of."""
        found = self._files.get(path, set()) | self._ways.get(path, set())
        at = path
        while True:
            for target in self._folders.get(at, ()):
                if is_folder or path.endswith(target.ends or ()):
                    found.add(target.key)
            above = os.path.dirname(at)
            if above == at:
                break
            at = above
        self._is_built = self._is_built or path in self._ways
        return found

    def _fails(self, error: OSError | None) -> None:
        """Hear, in any thread, that the system's events are not enough: None is a queue that ran over."""
        if error is None:
            why = "more happened at once than the system remembers"
        elif error.errno in LIMITS:
            why = f"the system watches no more folders (fs.inotify.{LIMITS[error.errno]} is reached)"
        else:
            why = f"the system cannot tell of changes ({(error.strerror or type(error).__name__).lower()})"
        with self._heard:
            self._why, self._is_lost = self._why or why, True
            self._heard.notify_all()

    def _polls(self) -> None:
        """Give the events up; said once, since there is no way back."""
        self.close()
        self._said(f"{self._why}; everything is looked at every {self.poll_s:g} s instead")

    # -- waiting -------------------------------------------------------------------------------------------------------

    def wake(self, keys: Collection[str], after_s: float) -> None:
        """Tell some targets again after a while, though nothing may happen to them."""
        at = self._clock() + after_s
        with self._heard:
            for key in keys:
                self._timers[key] = min(at, self._timers.get(key, at))

    def rest(self, key: str, seconds: float) -> None:
        """Let a target be, whatever happens to it: looking at it takes long, and it changes all the time."""
        with self._heard:
            self._rests[key] = max(self._rests.get(key, 0.0), self._clock() + seconds)

    def changed(self, timeout_s: float) -> Changed:
        """Wait until something has changed and is quiet; answer with nothing when the time is over."""
        end = self._clock() + timeout_s
        with self._heard:
            while True:
                now = self._clock()
                if self._is_lost and self._observer is not None:
                    break
                due = dict(self._timers)
                for key, held in self._held.items():
                    due[key] = min(self._due(key, held), due.get(key, end))
                ready = frozenset(key for key, at in due.items() if at <= now)
                polls = self._observer is None and now >= self._polled + self.poll_s
                if ready or polls or now >= end:
                    return self._taken(ready, now, is_polled=polls)
                nexts = [*due.values(), end]
                if self._observer is None:
                    nexts.append(self._polled + self.poll_s)
                self._heard.wait(max(0.001, min(nexts) - now))
        self._polls()
        with self._heard:
            self._is_lost = False
            return self._taken(frozenset(self._held), self._clock(), is_polled=True)

    def _taken(self, ready: frozenset[str], now: float, *, is_polled: bool) -> Changed:
        for key in ready:
            self._held.pop(key, None)
            self._rests.pop(key, None)
            self._timers.pop(key, None)
        is_built, self._is_built = self._is_built, False
        if is_polled:
            self._polled = now
        return Changed(ready, is_polled, is_built or is_polled)

    def _due(self, key: str, held: _Held) -> float:
        return max(min(held.last + QUIET_S, held.first + LONGEST_S), self._rests.get(key, 0.0))


class _Handler(FileSystemEventHandler):
    """Hands every event on."""

    def __init__(self, hears: Callable[[FileSystemEvent], None]) -> None:
        self._hears = hears

    def dispatch(self, event: FileSystemEvent) -> None:
        self._hears(event)


class _Sets:
    """Sets by a key."""

    def __init__(self) -> None:
        self.sets: dict[str, set[Any]] = {}

    def add(self, key: str, value: object) -> None:
        self.sets.setdefault(key, set()).add(value)


def _observer(fails: Callable[[OSError | None], None]) -> BaseObserver:
    """Return the platform's observer, which says when events are lost.

    watchdog only logs that the kernel's queue ran over, and passes in silence over
    folders for which there were no more watches.

    Raises:
        OSError: the system gives out no more of them.
    """
    if not sys.platform.startswith("linux"):  # pragma: no cover - tests run on Linux
        from watchdog.observers import Observer

        return Observer()
    from watchdog.observers.inotify import InotifyEmitter
    from watchdog.observers.inotify_c import InotifyEvent, InotifyFD

    class Telling(InotifyFD):
        def add_callback(self, path: bytes, *more: Any) -> Any:
            try:
                return super().add_callback(path, *more)
            except OSError as error:
                if error.errno in LIMITS:
                    fails(error)
                raise

        def handle_event(self, event: InotifyEvent) -> None:
            if event.is_queue_overflow:
                fails(None)
            super().handle_event(event)

    class Ended(BaseObserver):
        def on_thread_stop(self) -> None:
            super().on_thread_stop()
            fd.stop()
            fd.join()

    fd = Telling()
    fd.start()
    return Ended(InotifyEmitter, inotify_fd=fd)


def _watched(target: Target) -> set[tuple[str, bool]]:
    """Return the folders to watch for a target, and whether with all below: itself, and where links on the way stand.

    For one that is not there yet it is the nearest folder that is.
    """
    found: set[tuple[str, bool]] = set()
    real = files.real(target.path)
    if target.ends is not None and os.path.isdir(real):
        found.add((real, True))
        found.add((os.path.dirname(real), False))  # it may go, and come back
    else:
        found.add((_nearest(os.path.dirname(real)), False))
    at = target.path
    while os.path.dirname(at) != at:
        if os.path.islink(at):
            found.add((files.real(os.path.dirname(at)), False))
        at = os.path.dirname(at)
    return found


def _nearest(path: str) -> str:
    """Return the nearest folder that is there, at a path or above it."""
    while not os.path.isdir(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _upward(path: str) -> list[str]:
    """Return a path and every folder above it but the file system's root."""
    found = []
    while os.path.dirname(path) != path:
        found.append(path)
        path = os.path.dirname(path)
    return found


def _outermost(folders: set[tuple[str, bool]]) -> set[tuple[str, bool]]:
    """Return the folders that no other one covers."""
    deep = {path for path, is_deep in folders if is_deep}
    return {
        (path, is_deep)
        for path, is_deep in folders
        if not any(above in deep for above in _upward(path)[1:]) and (is_deep or path not in deep)
    }


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
