"""Look at the ledger's file and what lies beside it; nothing is written, set aside or mended.

The log is checked whole by `learnings verify`; here it is its end, which is
what a crash, a restored copy or a full disk leaves wrong.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ledger import chain, disk, erasures, exposures, handover, place, room, sql, sql_log, turns
from ledger.doctor_check import DAY_S, Around, Check, ago, broken, fine, listed, many, remark, seconds_of
from ledger.errors import LedgerError
from ledger.exposure import COLUMNS
from ledger.model import Event, Head
from ledger.place import Anchor
from ledger.sessions import Sessions
from ledger.sessions import path_beside as sessions_beside
from ledger.settings import is_off, projects_off, serves_robots

if TYPE_CHECKING:
    from ledger.reader import Reader

TAIL = 1_000
"""Events at the end of the log whose hashes are checked: 40 ms."""

SKEW_S = 300
"""By how much the clock may be behind the last event."""

WAIT_S = 0.1
"""Longest wait for another process that holds a file beside the ledger."""

EXPOSURES, SESSIONS = f"SELECT {COLUMNS} FROM exposure LIMIT 1", "SELECT last_at FROM session LIMIT 1"
"""What can be asked of the files beside the ledger when they are this program's."""

WAITS_S = 2 * DAY_S
"""How long what needs no model may wait in the queue: a server, a scan or an import sees to it."""

WATCHES, WATCHES_KNOWN = "/proc/sys/fs/inotify/max_user_watches", 8_192
"""How many folders a user may have watched, and how many are plenty."""


def missing(around: Around) -> Check:
    """Say that there is no ledger: none yet, or none any more."""
    left = [os.path.basename(around.file) + end for end in (".anchor", ".lock") if os.path.exists(around.file + end)]
    shown = around.shown(around.file)
    if left:
        return broken(
            "ledger",
            f"{shown} is gone, though it was there: {listed(left)} beside it is left; nothing is shown or kept; "
            "find where it was moved, or restore a backup",
        )
    return remark("ledger", f"there is no ledger at {shown} yet; the first learning makes it")


def checks(around: Around, reader: "Reader") -> Iterator[Check]:
    """Yield what is to be said of a ledger that can be read."""
    anchor = place.read_anchor(around.file)  # before the head, which may grow meanwhile
    with reader.snapshot():
        yield from _checks(around, reader, anchor)


def _checks(around: Around, reader: "Reader", anchor: Anchor | None) -> Iterator[Check]:
    head, events = reader.head(), _tail(reader)
    versions = f"schema {sql.SCHEMA_VERSION}, projections {sql.PROJECTION_VERSION}"
    yield fine("ledger", f"{around.shown(around.file)}: {versions}, {many(head.seq, 'event')}")
    yield _modes(around)
    yield _anchor(reader, anchor, head)
    yield _chain(reader, events, head)
    yield _clock(around, events[-1].recorded_at if events else None)
    yield _engine(reader)
    yield _meaning(reader)
    yield _switched(around, reader)
    yield _scanned(around, reader, head)


# -- the log ---------------------------------------------------------------------------------------------------------


def _tail(reader: "Reader") -> list[Event]:
    binds = {"after": max(0, reader.head().seq - TAIL), "limit": TAIL}
    return [Event._make(row) for row in reader.rows(sql_log.EVENTS_LEFT, binds)]


def _chain(reader: "Reader", events: list[Event], head: Head) -> Check:
    """Check the hashes of the last events, and that the projections have reached them."""
    before = b"" if not events else events[0].prev_hash
    if events and events[0].seq == 1:
        before = chain.genesis(reader.meta()["ledger_id"])
    for event in events:
        faults = chain.faults(event, before)
        if faults:
            return broken(
                "chain",
                f"event {event.seq} does not verify ({listed(faults)}); nothing was changed; see all of it with "
                "`learnings verify`, and restore a backup",
            )
        before = event.hash
    reached = reader.rows(sql.PROJECTION, {})[0][1]
    if reached != head.seq:
        return broken(
            "chain",
            f"projections end at event {reached} and the log at {head.seq}; the log is whole; run `learnings rebuild`",
        )
    return fine("chain", f"the last {many(len(events), 'event')} verify; `learnings verify` checks all")


def _anchor(reader: "Reader", anchor: Anchor | None, head: Head) -> Check:
    from ledger.store_sqlite import behind

    def hash_at(seq: int) -> bytes | None:
        rows = reader.rows(sql_log.HASH_AT, {"seq": seq})
        return bytes(rows[0][0]) if rows else None

    told = behind(anchor, head, reader.meta()["ledger_id"], hash_at)
    if told:
        return broken(
            "anchor",
            f"{told}; it can be read, nothing is written to it; find the newer file, or accept this one with "
            "`learnings verify --accept-head`",
        )
    if anchor is None and head.seq:
        return remark("anchor", "there is no anchor, so a lost tail would not show; the next write makes one")
    return fine("anchor", f"the log is not behind it (event {anchor.seq if anchor else 0})")


def _clock(around: Around, last: str | None) -> Check:
    behind_s = seconds_of(last) - around.now if last else 0.0
    if behind_s > SKEW_S:
        days = behind_s / DAY_S
        size = f"{days:.1f} days" if days >= 1 else f"{behind_s / 60:.0f} minutes"
        return broken(
            "clock",
            f"the clock is {size} behind the last event ({last}); new events get that event's time, in the right "
            "order; set the clock",
        )
    return fine("clock", "the clock is not behind the last event")


def _engine(reader: "Reader") -> Check:
    """Hold the journal mode to the SQLite that reads and the one that writes."""
    from ledger.store_sqlite import driver, wal_is_safe

    ((mode,),) = reader.rows("PRAGMA journal_mode", {})
    writes = driver()
    versions = f"SQLite {sqlite3.sqlite_version} reads, {writes.sqlite_version} writes, journal {mode}"
    if mode == "wal" and not wal_is_safe(writes.sqlite_version_info):
        return broken(
            "sqlite",
            f"{versions}: this version can lose commits in that mode, so that nothing is written; install the "
            "extra: pip install 'learning-ledger[sqlite]'",
        )
    return fine("sqlite", versions)


def _meaning(reader: "Reader") -> Check:
    found = reader.status()["meaning"]
    if found["words_alone"] is not None:
        return broken(
            "meaning", f"search goes by words alone: {found['words_alone']}; no learning is lost, fewer are found"
        )
    return fine("meaning", f"search goes by words and meaning (table {found['table']})")


def _switched(around: Around, reader: "Reader") -> Check:
    """Say what is switched off or on by hand."""
    rows, machine = reader.rows(sql.SETTINGS, {}), _machine(around)
    off = projects_off(rows, machine)
    told = []
    if around.env.get("LEARNINGS_OFF", "") not in ("", "0"):
        told.append("LEARNINGS_OFF is set here")
    if is_off(rows, machine, None):
        told.append("prompts are shown nothing anywhere (`learnings on`)")
    elif off:
        told.append(f"prompts are shown nothing in {listed(off)} (`learnings on --project`)")
    if serves_robots(rows, machine):
        told.append("robots are shown learnings too")
    return remark("off", "; ".join(told)) if told else fine("off", "nothing is switched off")


def robots_are_served(around: Around, reader: "Reader") -> bool:
    """Tell whether sessions without a person are shown learnings."""
    return serves_robots(reader.rows(sql.SETTINGS, {}), _machine(around))


def _scanned(around: Around, reader: "Reader", head: Head) -> Check:
    """Say whether these rules, or only older ones, have looked for secrets in all of the log."""
    from ledger import redact, rescan

    by, seq = rescan.looked(around.file, reader.meta()["ledger_id"])
    now = redact.RULES_VERSION
    if by == now or not head.seq:
        return fine("secrets", f"rule set {now} has looked for secrets up to event {seq}; what came later passed it")
    older = "no rule set" if by is None else f"rule set {by}"
    return remark(
        "secrets",
        f"{older} has looked again at what is stored; this program has rule set {now}: `learnings verify --secrets` "
        "says what older rules let through; nothing is lost meanwhile",
    )


def _machine(around: Around) -> str | None:
    from ledger.home import head_text

    return head_text(around.file + ".machine", 100).strip() or None


# -- files -----------------------------------------------------------------------------------------------------------


def _modes(around: Around) -> Check:
    """Look whether the ledger and what lies beside it is its owner's alone."""
    if os.name == "nt":  # pragma: no cover - modes say nothing there
        return fine("modes", "this system has other rules")
    names = [around.file, *(around.file + end for end in place.BESIDE)]
    names += [exposures.path_beside(around.file), sessions_beside(around.file), turns.path_beside(around.file)]
    wide = [f"{around.shown(path)} ({mode:o})" for path in names if (mode := _mode(path)) & 0o077]
    if wide:
        return broken("modes", f"others may read or write {listed(wide)}; nothing was changed; run `chmod 600` on each")
    folder = os.path.dirname(around.file)
    mode = _mode(folder)
    if mode & 0o022:
        return broken("modes", f"others may put files into {around.shown(folder)} ({mode:o}); run `chmod 700` on it")
    if mode & 0o077:
        return remark("modes", f"others may list {around.shown(folder)} ({mode:o}); the files in it are yours alone")
    return fine("modes", "files are 0600, the folder is 0700")


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0


def beside(around: Around) -> Iterator[Check]:
    """Yield what is to be said of the files that may be deleted: what was shown, which sessions ran, what was said."""
    path = exposures.path_beside(around.file)
    yield _disposable("exposures", path, around, _unreadable(path, EXPOSURES))
    path = sessions_beside(around.file)
    yield _disposable("sessions", path, around, Sessions(around.file).fault() or _unreadable(path, SESSIONS))
    path = turns.path_beside(around.file)
    yield _disposable("turns", path, around, turns.Turns(around.file).fault())
    yield _queue(around)
    yield _erasure(around)
    yield _disk(around)


def _queue(around: Around) -> Check:
    """Say what waits beside the ledger, how long what needs no model has waited, and what was given up for room."""
    folder = handover.folder_beside(around.file)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        return broken(
            "queue",
            f"{around.shown(folder)} is no folder; what sessions hand over is lost, the log is whole; move it away",
        )
    files = handover.waiting(around.file)
    later = [one for one in files if one.lane == handover.LATER]
    soon = [one for one in files if one.lane == handover.SOON]
    told = f"{many(len(soon), 'file')} for the next scan, {many(len(later), 'file')} for the offline pass"
    gone = room.given_up(folder, around.now)
    if gone.records:
        return remark(
            "queue",
            f"{told}; {many(gone.records, 'record')} given up in {room.DAYS} days, the oldest, to make room",
        )
    if soon and around.now - soon[0].at > WAITS_S:
        return remark("queue", f"{told}; the oldest came {ago(around.now - soon[0].at)}: run `learnings scan`")
    return fine("queue", told if files else "nothing waits")


def _erasure(around: Around) -> Check:
    """Say whether an erasure was left half done: by a kill, a full disk or a reader that held the file."""
    if erasures.pending(around.file) is None:
        return fine("erasure", "no erasure is left unfinished")
    return broken(
        "erasure",
        "an erasure is not finished: its bytes are still in the file, though nothing serves them; the next write tries "
        "again, `learnings erase --again` does it now",
    )


def _disk(around: Around) -> Check:
    """Say whether the ledger is where other machines may write to it."""
    folder, kind = disk.synced(around.file), disk.network(around.file)
    if folder:
        return broken(
            "disk",
            f"{around.shown(folder)} is kept in step with other machines, where one ledger may replace another whole; "
            "nothing is lost yet; end what uses it and move the files of the ledger to a disk of this machine",
        )
    if kind:
        return remark(
            "disk",
            f"the ledger is on {kind}, whose locks hold only as far as every machine keeps to them; a disk of this "
            "machine is safer, and `learnings serve --http` lets others in",
        )
    return fine("disk", "the ledger is on a disk of this machine, as far as can be told")


def _disposable(name: str, path: str, around: Around, found: str | None) -> Check:
    shown = around.shown(path)
    if found in ("SQLITE_BUSY", "SQLITE_LOCKED"):
        return remark(name, f"{shown} is held by another process just now; what is not noted meanwhile is not missed")
    if found is not None:
        return broken(
            name, f"{shown} cannot be used ({found}); the log is whole, nothing is remembered there; delete it"
        )
    if os.path.lexists(path + exposures.ASIDE):
        return remark(name, f"a damaged one was set aside and another begun: {shown}{exposures.ASIDE} may be deleted")
    return fine(name, f"{shown} can be used" if os.path.lexists(path) else f"{shown} is not there yet")


def _unreadable(path: str, statement: str) -> str | None:
    """Return why a file cannot be read, None when it can, is empty or is not there yet."""
    try:
        if not os.stat(path).st_size:
            return None
    except OSError:
        return None
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        connection = sqlite3.connect(f"file:{quoted}?mode=rw", uri=True, timeout=WAIT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA query_only = 1").fetchall()
            connection.execute(statement).fetchall()
            is_whole = connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
        finally:
            connection.close()
    except sqlite3.Error as error:
        return str(getattr(error, "sqlite_errorname", type(error).__name__))
    return None if is_whole else "SQLITE_CORRUPT"


# -- the system and the program --------------------------------------------------------------------------------------


def program(around: Around, package: str) -> Iterator[Check]:
    """Yield what is to be said of the installed program and the system, with or without a ledger.

    `package` is the folder of the modules that hooks run.
    """
    yield _rules()
    yield _bytecode(around, package)
    yield _watches()


def _rules() -> Check:
    """Load every rule file: without them nothing is stored, or nothing shown."""
    from ledger import gate, redact, screen

    faults = []
    for name, load in (
        ("secrets", lambda: redact.guarded("text", "a text")),
        ("screen", lambda: screen.screen("a text")),
        ("gate", gate.gate),
    ):
        try:
            load()
        except (LedgerError, OSError, ValueError, KeyError) as error:
            faults.append(f"{name} ({type(error).__name__})")
    if faults:
        return broken("rules", f"rule files cannot be used: {listed(faults)}; nothing is stored or shown; reinstall it")
    return fine("rules", "the rules of redaction, screening and recall load")


def _bytecode(around: Around, package: str) -> Check:
    caches = os.path.join(package, "__pycache__")
    try:
        has_caches = any(name.endswith(".pyc") for name in os.listdir(caches))
    except OSError:
        has_caches = False
    if not has_caches and not os.access(package, os.W_OK):
        return remark(
            "bytecode",
            f"{around.shown(package)} has no compiled modules and takes none: each start compiles them anew; "
            "run `python -m compileall` on it as its owner",
        )
    if around.env.get("PYTHONDONTWRITEBYTECODE"):
        return remark("bytecode", "PYTHONDONTWRITEBYTECODE is set: starts may compile each module anew")
    return fine("bytecode", "compiled modules are kept")


def _watches(path: str = WATCHES) -> Check:
    try:
        with open(path, encoding="ascii") as file:
            most = int(file.read())
    except (OSError, ValueError):
        return fine("inotify", "this system has no such limit")
    if most < WATCHES_KNOWN:
        return remark("inotify", f"{most:,} folders may be watched, which others use up too; raise {path}")
    return fine("inotify", f"{most:,} folders may be watched")
