"""What the client's hooks hand over for later: a queue of small files beside the ledger, `queue/`.

A hook has no time: it leaves what it was given, forced to the disk, and goes. Two
lanes: `soon` holds what needs no model (a note that was written, a
summary), `later` what the offline pass reads (what was said last, where the transcript is). A session has a file
of JSON lines in each, which only grows up to `FILE_BYTES`, then another; a transcript has one of a single line, which
the newest replaces. Whoever reads a file takes it away whole, and removes it when all of it is
done. Killed at any point, a line is there or its hook was never answered, and what was taken and not
done is offered again: whoever took it holds its lock, which the system lets go with the process. What nobody
reads is bounded by `room.py`, which gives up the oldest: nothing new is refused.
No text reaches the disk before it is masked; recalled text is cut out; robots feed nothing unless they are let.
Lean path: stdlib only.
"""

import json
import os
import re
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ledger import echo, private, redact, room, sql
from ledger.errors import LedgerError, Locked
from ledger.heard import heard
from ledger.home import machine_of
from ledger.place import os_fault, write_all
from ledger.reader import open_reader
from ledger.settings import private_markers

try:
    import fcntl
except ImportError:  # Windows: every record goes to a file of its own
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = bool(fcntl)
FOLDER = "queue"
LATER, SOON = "later", "soon"

EVIDENCE_BYTES = 16_384
"""UTF-8 bytes kept of what an agent said last: its beginning and its end."""

RAW_CHARS = 65_536
"""Characters of it that are looked at."""

FILE_BYTES = 1_048_576
"""Size of a session's file from which the next record begins another."""

WAIT_S = 0.1
"""Longest wait for another hook of the same session; then a file of its own is used."""

HELD_S = 2.0
"""Longest wait of whoever takes records out for a hook that writes, which takes milliseconds."""

LEASE_S = 3_600
"""Seconds after which what somebody took and did not finish is offered again, where no lock tells that it is gone."""

BUSY_MS = 50
"""Longest wait for a ledger that is locked, when asking what was shown."""

PATH_CHARS, NAME_CHARS = 4_096, 200


class Handed(NamedTuple):
    """A word for why nothing was kept; '' when it was."""

    why: str = ""

    @property
    def kept(self) -> bool:
        """Whether it is in the queue, forced to the disk."""
        return not self.why


class Waiting(NamedTuple):
    """A file of the queue: whose it is, in which lane, and whether somebody took it and has not finished.

    `session` is a session's name as its file has it; of a file that points to a transcript, a name of that.
    """

    session: str
    lane: str
    path: str
    size: int
    at: float
    is_taken: bool


class Taken(NamedTuple):
    """What was taken: every whole line of a file, oldest first; `torn` counts lines that a kill cut off.

    `held` is the open file with its lock until `done` or `give_back`, then empty.
    """

    session: str
    lane: str
    path: str
    records: list[dict[str, Any]]
    torn: int
    held: list[int]


def folder_beside(ledger: str) -> str:
    """Return where the queue of a ledger file is."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), FOLDER)


# -- handing over ------------------------------------------------------------------------------------------------------


def stopped(ledger: str, payload: Mapping[str, Any], *, feeds: bool = True, now: float | None = None) -> Handed:
    """Keep what an agent said last, as evidence for the offline pass."""
    return _texted(ledger, payload, ("evidence", "last_assistant_message", LATER), feeds, now)


def compacted(ledger: str, payload: Mapping[str, Any], *, feeds: bool = True, now: float | None = None) -> Handed:
    """Keep the summary that a compaction made, until somebody has the ledger open."""
    return _texted(ledger, payload, ("summary", "compact_summary", SOON), feeds, now)


def _texted(
    ledger: str, payload: Mapping[str, Any], what: tuple[str, str, str], feeds: bool, now: float | None
) -> Handed:
    """Keep a text of an event (kind of record, field, lane), masked and without what was recalled."""
    kind, field, lane = what
    session, text = _text(payload, "session_id"), _text(payload, field)
    if not feeds or not session or not text.strip():
        return Handed("robot" if not feeds else "empty")
    try:
        own, kinds, echoes = _own_words(ledger, spoken(text) if kind == "summary" else text, session)
    except Exception as error:  # noqa: BLE001 - whatever failed, nothing may be stored
        return Handed(f"guard {type(error).__name__}")
    if not own.strip():
        return Handed("echo")
    record = {"kind": kind, "text": own, "redacted": kinds, "echoes": echoes, **_about(payload)}
    return _add(ledger, _name(session), lane, [record], now)


def pointed(ledger: str, payload: Mapping[str, Any], *, feeds: bool = True, now: float | None = None) -> Handed:
    """Keep where a session's transcript is and how long it was: before a compaction, and at its end.

    Once a transcript: it only grows, so the newest replaces what was kept before.
    """
    session, path = _text(payload, "session_id"), _text(payload, "transcript_path")
    if not feeds or not session:
        return Handed("robot" if not feeds else "empty")
    found = _regular(path)
    if found is None or redact.scrub(path).kinds:
        return Handed("no transcript")
    record = {
        "kind": "transcript",
        "transcript": path,
        "to": found.st_size,
        "inode": found.st_ino,
        "why": _text(payload, "reason") or _text(payload, "trigger"),
        **_about(payload),
    }
    return _add(ledger, pointer(path), LATER, [record], now, replaces=True)


def pointer(path: str) -> str:
    """Return the name of the file that points to a transcript, as `Waiting.session` has it."""
    return room.POINTER + _digest(path)


def noted(
    ledger: str,
    payload: Mapping[str, Any],
    *,
    feeds: bool = True,
    now: float | None = None,
    paths: Sequence[str] | None = None,
) -> Handed:
    """Keep which notes a tool has written, for an import as soon as somebody has the ledger open.

    `paths` are those of a shell command (`shell.wrote`); None takes the one that the tool names.
    """
    tool, session = payload.get("tool_input"), _text(payload, "session_id")
    told = [tool.get("file_path")] if paths is None and isinstance(tool, Mapping) else paths or []
    records = [record for path in told if session and (record := _note(path)) is not None]
    if not records:
        return Handed("no note")
    about = {"feeds": feeds, **_about(payload)}
    return _add(ledger, _name(session), SOON, [record | about for record in records], now)


def _note(path: object) -> dict[str, Any] | None:
    """Return what is kept of one note, None when it is none."""
    if not isinstance(path, str) or not path.lower().endswith(".md"):
        return None
    found = _regular(path)
    if found is None or redact.scrub(path).kinds:
        return None
    return {"kind": "note", "path": path, "size": found.st_size, "changed_ns": found.st_mtime_ns}


def _own_words(ledger: str, text: str, session: str) -> tuple[str, list[str], list[str]]:
    """Return a text bounded, masked and without what was recalled; kinds of secrets; ids that it echoed."""
    echoes: list[str] = []
    try:
        with open_reader(ledger, BUSY_MS) as reader:
            markers = private_markers(reader.rows(sql.SETTINGS, {}), machine_of(ledger))
            clean, kinds = redact.scrub(_ends(private.without(text, markers), RAW_CHARS))
            clean, echoes = heard(reader, session).without(clean)
    except LedgerError:
        clean, kinds = redact.scrub(_ends(private.without(text), RAW_CHARS))
        clean = echo.cut(clean)
    kept = clean.encode("utf-8", "replace")
    if len(kept) > EVIDENCE_BYTES:
        half = EVIDENCE_BYTES // 2 - 4
        parts = (kept[:half], kept[-half:])
        clean = " … ".join(part.decode("utf-8", "ignore") for part in parts)
    return clean, list(dict.fromkeys(kinds)), echoes


def spoken(text: str) -> str:
    """Return a summary as the client shows it to its own model: without the draft before it, and without tags."""
    if "<" not in text:
        return text
    final = re.sub(r"(?is)\A\s*<analysis>.*?(?:</analysis>|(?=<summary>))", "", text)
    return re.sub(r"(?i)\A\s*<summary>|</summary>\s*\Z", "", final).strip()


def _ends(text: str, most: int) -> str:
    """Return a text, or its beginning and its end, each cut at white space: half a secret would not be told."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[-(most // 2) :]
    first = max(head.rfind(" "), head.rfind("\n"), 0)
    last = min((at for at in (tail.find(" "), tail.find("\n")) if at >= 0), default=len(tail))
    return f"{head[:first]}\n…\n{tail[last:]}"


def _text(payload: Mapping[str, Any], name: str) -> str:
    found = payload.get(name)
    return found if isinstance(found, str) else ""


def _about(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return what every record says of its event."""
    names = ("session_id", "cwd", "prompt_id", "hook_event_name")
    told = {name: _text(payload, name)[:PATH_CHARS].encode("utf-8", "replace").decode() for name in names}
    return {name: text for name, text in told.items() if text and not redact.scrub(text).kinds}


def _regular(path: str) -> os.stat_result | None:
    """Return what a file is, None when it is no regular file, or a link."""
    if not os.path.isabs(path) or len(path) > PATH_CHARS or "\0" in path:
        return None
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


# -- the files ---------------------------------------------------------------------------------------------------------


def _add(
    ledger: str, name: str, lane: str, records: Sequence[dict[str, Any]], now: float | None, *, replaces: bool = False
) -> Handed:
    """Append lines to the file of a name, or replace it by them, and force them to the disk."""
    at = time.time() if now is None else now
    folder = folder_beside(ledger)
    lines = b"".join(
        json.dumps({"at": round(at, 3), **record}, separators=(",", ":")).encode() + b"\n" for record in records
    )
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        room.make_room(folder, lane, at, points=replaces)
        fd, path = _opened(folder, f"{name}.{lane}")
        try:
            _replace(path, lines) if replaces else _append(fd, lines)
        finally:
            os.close(fd)
        _sync(folder)
    except OSError as error:
        return Handed(f"disk {type(error).__name__}")
    return Handed()


def _append(fd: int, lines: bytes) -> None:
    size = os.fstat(fd).st_size
    # A line that a kill cut off stays apart from this one.
    torn = size and os.pread(fd, 1, size - 1) != b"\n"
    write_all(fd, b"\n" + lines if torn else lines)
    os.fsync(fd)


def _replace(path: str, lines: bytes) -> None:
    """Put another file in the place of one that is locked: whoever waits for the lock sees that it is another."""
    made = f"{path.removesuffix('.jsonl')}.{os.urandom(8).hex()}.new"
    fd = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        write_all(fd, lines)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(made, path)


def _opened(folder: str, name: str) -> tuple[int, str]:
    """Open the file of a name to append to it, alone; a file of its own when another hook does not let go.

    One that is full gets another name first, under which it waits on.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    path = os.path.join(folder, f"{name}.jsonl")
    end = time.monotonic() + WAIT_S
    while fcntl is not None and time.monotonic() < end:
        fd = os.open(path, flags, 0o600)
        if _locked(fd) and _is_still(path, fd):
            if os.fstat(fd).st_size < FILE_BYTES:
                return fd, path
            os.rename(path, os.path.join(folder, f"{name}.{os.urandom(8).hex()}.jsonl"))
            os.close(fd)
            continue
        os.close(fd)
        time.sleep(0.002)
    own = os.path.join(folder, f"{name}.{os.urandom(8).hex()}")
    fd = os.open(f"{own}.new", flags | os.O_EXCL, 0o600)
    # Locked before anybody can find it: a reader that took it empty would delete what is written next.
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_EX)
    os.rename(f"{own}.new", f"{own}.jsonl")
    return fd, f"{own}.jsonl"


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_still(path: str, fd: int) -> bool:
    """Tell whether a path still leads to an open file: a reader may have taken it in between."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    own = os.fstat(fd)
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


def _sync(folder: str) -> None:
    """Force a new name in a folder to the disk, where folders can be."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _name(session: str) -> str:
    """Return a session's name as part of a file's: as it is when it is an id, else by a digest of it."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", session) and not session.startswith(room.POINTER):
        return session
    return "x" + _digest(session)


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:40]


# -- taking ------------------------------------------------------------------------------------------------------------


def waiting(ledger: str, lane: str | None = None) -> list[Waiting]:
    """Return the files of the queue, the one that waits longest first; none when there is no queue."""
    found = []
    try:
        with os.scandir(folder_beside(ledger)) as listing:
            entries = list(listing)
    except OSError:
        return []
    for entry in entries:
        parts = entry.name.split(".")
        if len(parts) < 3 or parts[-1] not in ("jsonl", "taken") or parts[1] not in (LATER, SOON):
            continue
        try:
            told = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(told.st_mode) and lane in (None, parts[1]):
            is_taken = parts[-1] == "taken"
            found.append(Waiting(parts[0], parts[1], entry.path, told.st_size, told.st_mtime, is_taken))
    return sorted(found, key=lambda one: (one.at, one.path))


def take(ledger: str, one: Waiting, now: float | None = None) -> Taken | None:
    """Take one file away from the hooks and read it; None when somebody else has it, or it is gone.

    Nobody else gets it until `done` removes it, `give_back` offers it again, or this process ends.
    """
    at = time.time() if now is None else now
    try:
        fd = os.open(one.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        taken = _taken(one, fd, at)
    except OSError:
        taken = None
    if taken is None or not HAS_LOCKS:  # without locks nothing is held, and Windows removes no open file
        os.close(fd)
    return taken


def _taken(one: Waiting, fd: int, at: float) -> Taken | None:
    """Take what is open; None when somebody else has it.

    Raises:
        OSError: it cannot be renamed or read.
    """
    if HAS_LOCKS and not (_locked(fd) and _is_still(one.path, fd)):
        return None
    if not HAS_LOCKS and one.is_taken and at - os.fstat(fd).st_mtime < LEASE_S:
        return None
    path = one.path
    if not one.is_taken:
        path = path.removesuffix("jsonl") + f"{os.urandom(8).hex()}.taken"
        os.rename(one.path, path)
    os.utime(path, (at, at))
    with os.fdopen(os.dup(fd), "rb") as file:
        lines = file.read().split(b"\n")
    records = [found for line in lines if line and (found := record(line)) is not None]
    held = [fd] if HAS_LOCKS else []
    return Taken(one.session, one.lane, path, records, sum(1 for line in lines if line) - len(records), held)


def record(line: bytes) -> dict[str, Any] | None:
    """Return what a line of the queue says, None when it is broken."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def give_back(taken: Taken) -> None:
    """Offer at once again what could not be done."""
    try:
        os.utime(taken.path, (0, 0))
    except OSError:
        pass  # gone, or of a disk that is: nothing is left to offer
    finally:
        _let_go(taken)


def is_due(one: Waiting, now: float | None = None) -> bool:
    """Tell whether a file may be taken: nobody has it, or whoever had it did not finish and is gone."""
    if not one.is_taken:
        return True
    try:
        if not HAS_LOCKS:
            return (time.time() if now is None else now) - os.stat(one.path).st_mtime >= LEASE_S
        fd = os.open(one.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        return _locked(fd)
    finally:
        os.close(fd)


def forget(ledger: str, is_gone: Callable[[dict[str, Any]], bool]) -> int:
    """Take records out of the queue, those that somebody has taken included; return how many.

    A line that a kill cut off goes as well: what it holds is not known.

    Raises:
        Locked: a hook is writing to a file. FileFault: one cannot be read or written.
    """
    return sum(_without(one.path, is_gone) for one in waiting(ledger))


def _without(path: str, is_gone: Callable[[dict[str, Any]], bool]) -> int:
    """Write a file of the queue anew without some of its records."""
    fd = _held(path)
    if fd is None:
        return 0
    try:
        with os.fdopen(os.dup(fd), "rb") as file:
            lines = [line for line in file.read().split(b"\n") if line]
        kept = [line for line in lines if (found := record(line)) is not None and not is_gone(found)]
        if len(kept) < len(lines):
            _rewrite(path, b"".join(line + b"\n" for line in kept))
    except OSError as error:
        raise os_fault(error, path) from None
    finally:
        os.close(fd)
    return len(lines) - len(kept)


def _held(path: str) -> int | None:
    """Open a file of the queue, alone; None when it has gone meanwhile."""
    end = time.monotonic() + HELD_S
    while True:
        try:
            fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise os_fault(error, path) from None
        if fcntl is None or (_locked(fd) and _is_still(path, fd)):
            return fd
        os.close(fd)
        if time.monotonic() >= end:
            raise Locked(f"{path} is in use by another process; nothing was erased", "try again when it has finished")
        time.sleep(0.002)


def _rewrite(path: str, data: bytes) -> None:
    """Put other lines in the place of a file of the queue, or nothing at all; it keeps its time."""
    if not data:
        os.unlink(path)
        return
    found = os.stat(path)
    temporary = f"{path}.{os.urandom(8).hex()}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        write_all(fd, data)
        os.fsync(fd)
        os.utime(temporary, ns=(found.st_atime_ns, found.st_mtime_ns))
    finally:
        os.close(fd)
    os.replace(temporary, path)
    _sync(os.path.dirname(path))


def done(taken: Taken) -> None:
    """Remove what was taken: all of it has been seen to."""
    try:
        os.unlink(taken.path)
    except FileNotFoundError:
        return
    finally:
        _let_go(taken)
    _sync(os.path.dirname(taken.path))


def _let_go(taken: Taken) -> None:
    """Close a file, and with it its lock; once more does nothing."""
    while taken.held:
        os.close(taken.held.pop())
