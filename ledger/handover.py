"""What the client's hooks hand over for later: a queue of small files beside the ledger, `queue/`.

A hook has no time: it leaves what it was given, forced to the disk, and goes. Two
lanes a session: `soon` holds what needs no model (a note that was written, a
summary), `later` what the offline pass reads (what was said last, where the transcript is). Each is a file
of JSON lines that only grows; whoever reads it takes it away whole, and removes it when all of it is
done. Killed at any point, a line is there or its hook was never answered, and what was taken and not
done is offered again.
No text reaches the disk before it is masked; recalled text is cut out; robots feed nothing unless they are let.
Lean path: stdlib only.
"""

import json
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ledger import echo, redact
from ledger.errors import LedgerError, Locked
from ledger.heard import heard
from ledger.place import os_fault
from ledger.reader import open_reader

try:
    import fcntl
except ImportError:  # Windows: every record goes to a file of its own
    fcntl = None  # type: ignore[assignment]

FOLDER = "queue"
LATER, SOON = "later", "soon"

EVIDENCE_BYTES = 16_384
"""UTF-8 bytes kept of what an agent said last: its beginning and its end."""

RAW_CHARS = 65_536
"""Characters of it that are looked at."""

FILE_BYTES = 1_048_576
"""Size of a session's file from which no more evidence is added; where its transcript is, is always added."""

FILES_MAX = 2_000
"""Files in the queue from which no more evidence is added."""

WAIT_S = 0.1
"""Longest wait for another hook of the same session; then a file of its own is used."""

HELD_S = 2.0
"""Longest wait of whoever takes records out for a hook that writes, which takes milliseconds."""

LEASE_S = 3_600
"""Seconds after which what somebody took and did not finish is offered again."""

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
    """A file of the queue: whose it is, in which lane, and whether somebody took it and has not finished."""

    session: str
    lane: str
    path: str
    size: int
    at: float
    is_taken: bool


class Taken(NamedTuple):
    """What was taken: every whole line of a file, oldest first; `torn` counts lines that a kill cut off."""

    session: str
    lane: str
    path: str
    records: list[dict[str, Any]]
    torn: int


def folder_beside(ledger: str) -> str:
    """Return where the queue of a ledger file is."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), FOLDER)


def is_robot(entrypoint: str, attended: str) -> bool:
    """Tell whether nobody sits at a session, by what its environment says."""
    return entrypoint == "sdk-cli" or attended == "0"


# -- handing over ------------------------------------------------------------------------------------------------------


def stopped(ledger: str, payload: Mapping[str, Any], *, feeds: bool = True, now: float | None = None) -> Handed:
    """Keep what an agent said last, as evidence for the offline pass."""
    session, text = _text(payload, "session_id"), _text(payload, "last_assistant_message")
    if not feeds or not session or not text.strip():
        return Handed("robot" if not feeds else "empty")
    try:
        own, kinds, echoes = _own_words(ledger, text, session)
    except Exception as error:  # noqa: BLE001 - whatever failed, nothing may be stored
        return Handed(f"guard {type(error).__name__}")
    if not own.strip():
        return Handed("echo")
    record = {"kind": "evidence", "text": own, "redacted": kinds, "echoes": echoes, **_about(payload)}
    return _add(ledger, session, LATER, record, now, is_bounded=True)


def pointed(ledger: str, payload: Mapping[str, Any], *, feeds: bool = True, now: float | None = None) -> Handed:
    """Keep where a session's transcript is and how long it was: before a compaction, and at its end."""
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
    return _add(ledger, session, LATER, record, now)


def noted(ledger: str, payload: Mapping[str, Any], *, feeds: bool = True, now: float | None = None) -> Handed:
    """Keep which note a tool has written, for an import as soon as somebody has the ledger open."""
    tool = payload.get("tool_input")
    path = tool.get("file_path") if isinstance(tool, Mapping) else None
    session = _text(payload, "session_id")
    if not session or not isinstance(path, str) or not path.lower().endswith(".md"):
        return Handed("no note")
    found = _regular(path)
    if found is None or redact.scrub(path).kinds:
        return Handed("no note")
    record = {"kind": "note", "path": path, "size": found.st_size, "changed_ns": found.st_mtime_ns, "feeds": feeds}
    return _add(ledger, session, SOON, record | _about(payload), now)


def compacted(ledger: str, payload: Mapping[str, Any], *, feeds: bool = True, now: float | None = None) -> Handed:
    """Keep the summary that a compaction made, until somebody has the ledger open."""
    session, text = _text(payload, "session_id"), _text(payload, "compact_summary")
    if not feeds or not session or not text.strip():
        return Handed("robot" if not feeds else "empty")
    try:
        own, kinds, _ = _own_words(ledger, text, session)
    except Exception as error:  # noqa: BLE001 - whatever failed, nothing may be stored
        return Handed(f"guard {type(error).__name__}")
    record = {"kind": "summary", "text": own, "redacted": kinds, **_about(payload)}
    return _add(ledger, session, SOON, record, now) if own.strip() else Handed("echo")


def _own_words(ledger: str, text: str, session: str) -> tuple[str, list[str], list[str]]:
    """Return a text bounded, masked and without what was recalled; kinds of secrets; ids that it echoed."""
    clean, kinds = redact.scrub(_ends(_without_private(text), RAW_CHARS))
    echoes: list[str] = []
    try:
        with open_reader(ledger, BUSY_MS) as reader:
            clean, echoes = heard(reader, session).without(clean)
    except LedgerError:
        clean = echo.cut(clean)
    kept = clean.encode("utf-8", "replace")
    if len(kept) > EVIDENCE_BYTES:
        half = EVIDENCE_BYTES // 2 - 4
        parts = (kept[:half], kept[-half:])
        clean = " … ".join(part.decode("utf-8", "ignore") for part in parts)
    return clean, list(dict.fromkeys(kinds)), echoes


def _without_private(text: str) -> str:
    if "<private>" not in text.lower():
        return text
    return re.sub(r"(?is)<private>.*?(?:</private>|\Z)", " ", text)


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
    ledger: str, session: str, lane: str, record: dict[str, Any], now: float | None, *, is_bounded: bool = False
) -> Handed:
    """Append one line and force it to the disk; False only when the disk or the bound refuses it."""
    at = time.time() if now is None else now
    folder = folder_beside(ledger)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if is_bounded and _count(folder) >= FILES_MAX:
            return Handed("queue is full")
        fd = _opened(folder, f"{_name(session)}.{lane}")
        try:
            size = os.fstat(fd).st_size
            if is_bounded and size >= FILE_BYTES:
                return Handed("session is full")
            line = json.dumps({"at": round(at, 3), **record}, separators=(",", ":")).encode() + b"\n"
            # A line that a kill cut off stays apart from this one.
            torn = size and os.pread(fd, 1, size - 1) != b"\n"
            _write(fd, b"\n" + line if torn else line)
            os.fsync(fd)
        finally:
            os.close(fd)
        _sync(folder)
    except OSError as error:
        return Handed(f"disk {type(error).__name__}")
    return Handed()


def _opened(folder: str, name: str) -> int:
    """Open a session's file to append to it, alone; a file of its own when another hook does not let go."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    path = os.path.join(folder, f"{name}.jsonl")
    end = time.monotonic() + WAIT_S
    while fcntl is not None and time.monotonic() < end:
        fd = os.open(path, flags, 0o600)
        if _locked(fd) and _is_still(path, fd):
            return fd
        os.close(fd)
        time.sleep(0.002)
    own = os.path.join(folder, f"{name}.{os.urandom(8).hex()}")
    fd = os.open(f"{own}.new", flags | os.O_EXCL, 0o600)
    # Locked before anybody can find it: a reader that took it empty would delete what is written next.
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_EX)
    os.rename(f"{own}.new", f"{own}.jsonl")
    return fd


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


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


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


def _count(folder: str) -> int:
    with os.scandir(folder) as listing:
        return sum(1 for _ in listing)


def _name(session: str) -> str:
    """Return a session's name as part of a file's: as it is when it is an id, else by a digest of it."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", session):
        return session
    import hashlib

    return "x" + hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:40]


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

    What is taken is offered again after `LEASE_S`, unless `done` removed it.
    """
    at = time.time() if now is None else now
    path = one.path
    try:
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        if fcntl is not None and not (_locked(fd) and _is_still(path, fd)):
            return None
        if one.is_taken and at - os.fstat(fd).st_mtime < LEASE_S:
            return None
        if not one.is_taken:
            path = path.removesuffix("jsonl") + f"{os.urandom(8).hex()}.taken"
            os.rename(one.path, path)
        os.utime(path, (at, at))
        with os.fdopen(os.dup(fd), "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return None
    finally:
        os.close(fd)
    records = [found for line in lines if line and (found := _record(line)) is not None]
    return Taken(one.session, one.lane, path, records, sum(1 for line in lines if line) - len(records))


def _record(line: bytes) -> dict[str, Any] | None:
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
        return  # gone, or of a disk that is: nothing is left to offer


def is_due(one: Waiting, now: float | None = None) -> bool:
    """Tell whether a file may be taken: nobody has it, or whoever had it did not finish in `LEASE_S`."""
    if not one.is_taken:
        return True
    try:
        return (time.time() if now is None else now) - os.stat(one.path).st_mtime >= LEASE_S
    except OSError:
        return False


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
        kept = [line for line in lines if (found := _record(line)) is not None and not is_gone(found)]
        if len(kept) < len(lines):
            _replace(path, b"".join(line + b"\n" for line in kept))
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


def _replace(path: str, data: bytes) -> None:
    """Put other lines in the place of a file of the queue, or nothing at all; it keeps its time."""
    if not data:
        os.unlink(path)
        return
    found = os.stat(path)
    temporary = f"{path}.{os.urandom(8).hex()}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        _write(fd, data)
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
    _sync(os.path.dirname(taken.path))
