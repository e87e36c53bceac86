"""The loop of `learnings watch`: hear of a change, read its source, say what came of it.

Each pass is a scan of the sources that changed: it passes over files that are as
they were, and adds nothing that is known. What fails is said once, tried again later and later, and
stops nothing else. The ledger is open during a pass only, so that it may be moved, restored or
written by others meanwhile.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from importers import watching
from importers.projects import folders
from importers.registry import Place, table
from importers.watching import Target, Watching
from ledger import capture, handover
from ledger.cli_call import Call
from ledger.cli_progress import Progress, bar
from ledger.cli_sources import (
    EXCLUDED,
    NOTES,
    PLACES,
    TRANSCRIPT,
    Chosen,
    Pass,
    bring,
    listed,
    narrowed,
    off_paths,
    others,
    sources_of,
    told,
    usual,
    without,
)
from ledger.errors import LedgerError
from ledger.home import client_folder

if TYPE_CHECKING:
    from ledger.ingest import Imported
    from ledger.ledger import Ledger
    from ledger.model import Reading

SWEEP_S = 300.0
"""How often everything is looked at, changed or not: for events that got lost, and places that are new."""

REST, REST_LONG, LONG_S = 3.0, 9.0, 1.0
"""How many times as long as a pass took its sources are let be, and those of a pass that took longer than `LONG_S`."""

FRESH_S = 5.0
"""Age below which an edit of a note that a tool wrote is left alone: the hook that tells who made it may be on its
way, and an agent's words would pass for a person's."""

HOOK_S = 0.6
"""The same of a note that no tool is known to have written, once a hook has said anything: it may be a robot's."""

AGAIN_S, AGAIN_MAX_S = 10.0, 600.0
"""After how long a source is tried again that failed; twice as long each time."""

SAID_MAX = 10_000
"""Remarks that are remembered, so that each is said once."""

SHARE = 20.0
"""Where the system tells nothing: how many times as long as looking takes it is not looked."""

FIND, HOOKS, LOG = "find", "hooks", "log"
"""Keys of what is no source: where sources may come to be, what hooks leave, and the end of the ledger's own log."""

NEW_PLACES = (
    ".claude-mem/claude-mem.db", ".codex/memories", ".codex/AGENTS.md", ".gemini/GEMINI.md", "basic-memory",
    ".basic-memory/config.json", ".local/share/mcp-memory/sqlite_vec.db",
    "Library/Application Support/mcp-memory/sqlite_vec.db",
)  # fmt: skip
"""Files and folders of a home that mean a new source when they appear; others are found by the sweep."""

Shown = Callable[[str], AbstractContextManager[Progress | None]]
Told = Callable[[dict[str, Any], list[str]], None]


class Watcher:
    """A ledger that is kept in step with its sources."""

    def __init__(self, call: Call, tells: Told, clock: Callable[[], float] = time.monotonic) -> None:
        """Hold what is needed; `tells` is given what an import did, as a document and as lines."""
        self._call, self._tells, self._clock = call, tells, clock
        self._sources: dict[str, Place] = {}
        self._faults: dict[str, int] = {}
        self._said: set[str] = set()
        self._set: list[list[str]] = []
        self._swept = 0.0

    def run(self) -> None:
        """Scan once, then watch; returns never.

        Raises:
            KeyboardInterrupt: it is to stop. BrokenPipeError: nobody reads what it says.
        """
        self._watching = Watching(self._call.remark, os.path.realpath(self._call.file))
        try:
            self._finds()
            self._swept = self._clock()
            self._brings(list(self._sources), shown=bar)
            many = len(self._sources)
            self._call.remark(f"watching {many} source{'' if many == 1 else 's'}; Ctrl-C stops it")
            while True:
                self._turns()
        except KeyboardInterrupt:
            raise  # the process ends, and with it every thread and file: to wait for the observer takes half a second
        except BaseException:
            self._watching.close()
            raise

    def _turns(self) -> None:
        """Wait for the next change, or the next sweep, and do what it asks for."""
        heard = self._watching.changed(max(0.0, self._swept + SWEEP_S - self._clock()))
        begun = self._clock()
        is_swept = heard.is_all or begun >= self._swept + SWEEP_S
        keys = set(heard.keys)
        if is_swept or heard.is_built or FIND in keys or (LOG in keys and self._is_set_anew()):
            before = set(self._sources)
            self._finds()
            keys |= self._sources.keys() - before
        if is_swept:
            keys |= self._sources.keys()
        self._brings([key for key in self._sources if key in keys], is_hooked=HOOKS in keys)
        if is_swept:
            self._swept = self._clock()
            self._watching.poll_s = max(watching.POLL_S, SHARE * (self._swept - begun))

    # -- which sources -----------------------------------------------------------------------------------------------

    def _finds(self) -> None:
        """Find the sources there are, and watch them, and where others may come to be."""
        try:
            with self._call.writing() as ledger:
                more, self._set = others(ledger), _set(ledger)
        except LedgerError as error:
            self._says(error)
            more, self._set = [], [[], []]
        given = self._call.given
        self._chosen = Chosen(tuple(given.only), (*given.exclude, *self._set[1]))
        every = sources_of(usual(self._call), more)
        found = [source for source in every if self._chosen.takes(source)]
        self._sources = {f"{source.kind} {source.path}": source for source in found}
        home = os.path.expanduser("~")
        client = client_folder(home)
        self._watching.follow(
            [
                *(Target(key, source.path, _ends(source)) for key, source in self._sources.items()),
                Target(FIND, os.path.join(client, "projects"), ()),
                Target(FIND, os.path.join(client, "agent-memory"), ()),
                *(Target(FIND, os.path.join(home, name)) for name in NEW_PLACES),
                *_awaited(client, every),
                Target(HOOKS, handover.folder_beside(self._call.file), (".jsonl",)),
                Target(LOG, f"{self._call.file}.anchor"),
            ]
        )

    def _is_set_anew(self) -> bool:
        """Tell whether somebody has named other places since they were found; `scan` does that beside a watch."""
        try:
            with self._call.writing() as ledger:
                return _set(ledger) != self._set
        except LedgerError as error:
            self._says(error)
            return False

    # -- bringing them in --------------------------------------------------------------------------------------------

    def _brings(self, keys: list[str], *, is_hooked: bool = False, shown: Shown | None = None) -> None:
        """Bring sources in together; when that fails, one by one."""
        if not keys and not is_hooked:
            return
        begun = self._clock()
        try:
            self._brought(keys, shown)
        except LedgerError as error:
            self._failed(keys, error)
        except Exception as error:  # noqa: BLE001 - one source must not stop the others
            if len(keys) > 1:
                for key in keys:
                    self._brings([key])
                return
            self._failed(keys, error)
        else:
            for key in keys:
                self._faults.pop(key, None)
        took = self._clock() - begun
        for key in keys:
            self._watching.rest(key, took * (REST_LONG if took > LONG_S else REST))

    def _brought(self, keys: Iterable[str], shown: Shown | None) -> None:
        sources = [self._sources[key] for key in keys]
        with self._call.writing() as ledger:
            how = Pass(lambda reading: self._fit(ledger, reading), says=self._call.remark)
            done, rows = bring(ledger, sources, how if shown is None else how._replace(shown=shown))
        self._reports(done, rows)

    def _fit(self, ledger: "Ledger", reading: "Reading") -> "Reading":
        """Return a reading without what is left out, switched off, of a robot, or too fresh to tell whose it is."""
        reading = capture.fed(ledger, narrowed(reading, self._chosen))
        fresh = self._fresh(ledger, reading)
        for path, left_s in fresh.items():
            self._watching.wake([key for key, source in self._sources.items() if _holds(source, path)], left_s)
        return without(reading, off_paths(ledger, reading) | fresh.keys())

    def _fresh(self, ledger: "Ledger", reading: "Reading") -> dict[str, float]:
        """Return the notes of which it cannot be told yet whose words they hold, and for how many seconds to wait."""
        written = capture.Written(ledger)
        is_hooked = os.path.exists(written.path) or os.path.exists(handover.folder_beside(ledger.path))
        if reading.importer != NOTES or not is_hooked:
            return {}
        paths = {draft.source.path for draft in reading.drafts if draft.source is not None and draft.source.path}
        ages = {path: _age(path) for path in paths}
        waits = {
            path: FRESH_S if written.is_by_hand(path) else 0.0 if written.is_by_tool(path) else HOOK_S
            for path, age in ages.items()
            if age < FRESH_S
        }
        return {path: wait - ages[path] for path, wait in waits.items() if ages[path] < wait}

    # -- what is said ------------------------------------------------------------------------------------------------

    def _reports(self, done: "list[Imported]", rows: list[dict[str, Any]]) -> None:
        """Say what was written, if anything was, and what could not be read, once."""
        document = told(done)
        for one in document["diagnostics"]:
            at = one["file"] if one["line"] is None else f"{one['file']}:{one['line']}"
            self._once(f"{at}: {one['message']} ({one['code']})")
        if not document["batches"]:
            return
        said = [row for row in rows if row["new"] or row["changed"] or row["gone"]]
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        undo = "; ".join(self._call.typed("undo", "--batch", str(batch)) for batch in document["batches"])
        lines = [f"{at}  {_counted(row)}  {row['kind']}  {row['path']}" for row in said] or [f"{at}  what hooks left"]
        lines[-1] += f"  (undo: {undo})"
        self._tells({"at": at, "sources": said, **document}, lines)

    def _failed(self, keys: list[str], error: Exception) -> None:
        """Say what failed, and try these again later: later each time."""
        self._says(error, ", ".join(self._sources[key].path for key in keys[:3]))
        for key in keys:
            self._faults[key] = self._faults.get(key, 0) + 1
        many = max((self._faults[key] for key in keys), default=1)
        again = min(AGAIN_S * 2.0 ** min(many - 1, 20), AGAIN_MAX_S)
        for key in keys or [HOOKS]:
            self._watching.rest(key, again)
        self._watching.wake(keys or [HOOKS], again)

    def _says(self, error: Exception, what: str = "") -> None:
        if isinstance(error, LedgerError):
            self._once(f"{error}; it is tried again")
        else:
            self._once(f"{what}: it could not be brought in ({type(error).__name__}, a fault of this program)")

    def _once(self, text: str) -> None:
        if text not in self._said:
            if len(self._said) >= SAID_MAX:
                self._said.clear()
            self._said.add(text)
            self._call.remark(text)


def _set(ledger: "Ledger") -> list[list[str]]:
    """Return what settings say of places: more of them, and those that are left out."""
    return [listed(ledger.reader, ledger.path, name) for name in (PLACES, EXCLUDED)]


def _awaited(client: str, sources: Iterable[Place]) -> Iterator[Target]:
    """Yield where the first transcript of a project may come to be: the client makes its folder long before."""
    known = {source.path for source in sources if source.kind == TRANSCRIPT}
    for folder in folders(os.path.join(client, "projects")):
        if folder not in known:
            yield Target(FIND, folder, (".jsonl",))


def _ends(source: Place) -> tuple[str, ...] | None:
    """Return the endings of the names that matter below a source; None when it is a file."""
    if not os.path.isdir(source.path):
        return None
    importer = next((one for one in table() if one.kind == source.kind), None)
    if source.kind == NOTES:
        return (".md", ".MD")
    return importer.names if importer is not None and importer.names else ("",)


def _holds(source: Place, path: str) -> bool:
    real = os.path.realpath(source.path)
    return path == real or path.startswith(os.path.join(real, ""))


def _age(path: str) -> float:
    """Return for how long a file has been as it is, in seconds; what is of tomorrow is old."""
    try:
        found = os.lstat(path)
    except OSError:
        return FRESH_S
    ages = [age for age in (time.time() - found.st_mtime, time.time() - found.st_ctime) if age >= 0]
    return min(ages, default=FRESH_S)


def _counted(row: dict[str, Any]) -> str:
    return ", ".join(f"{row[name]} {name}" for name in ("new", "changed", "gone") if row[name])
