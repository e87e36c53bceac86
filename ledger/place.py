"""Where a ledger lives: its folder and modes, its lock, its anchor.

The lock file is never deleted (deleting it would let two writers hold two
locks), and sidecars of the database are never touched: every loss report of
comparable tools traces back to one of these. Lean: readers look at anchors too.
"""

import json
import os
import stat
import time
from types import TracebackType
from typing import NamedTuple

from ledger.errors import FileFault, Locked, NoSpace, ReadOnly, Replaced, UnsafePlace

if os.name == "nt":  # pragma: no cover - Windows is written for and untested
    import msvcrt
else:
    import fcntl

QUEUE_POLL_S, LOCK_POLL_S, LEAST_POLL_S = 0.004, 0.0005, 0.0003
"""Waits between tries: of those who queue, of the one at the head of the queue, and the least.

A wait in the queue shrinks to the least within 0.2 s, so that those who came
first try most often and are next (20 writers x 50 appends of 3 ms: worst wait
0.18 s; 0.32 s with one wait for all).
"""

BESIDE = (
    *(".anchor", ".anchor.new", ".lock", ".queue", ".machine", ".written", ".edits", ".scanned"),
    *(".watching", ".sweeping", ".swept", ".swept.new"),
    *(".checkpoints", ".checkpoints.new"),
    *(".searched", ".searched.new", ".tokens", ".tokens.new", ".erased", ".erasing", ".copies"),
    *("-journal", "-wal", "-shm"),
)
"""Endings of the files that belong to a ledger file: ours, and SQLite's."""

AGEING = 50
"""Seconds of waiting that take a second off the wait between two tries."""


class Anchor(NamedTuple):
    """The newest event that was known outside the database; `hash` is hexadecimal."""

    ledger_id: str
    seq: int
    hash: str


def make_folder(path: str) -> None:
    """Make the folder of a ledger file, and those above it, each 0700, where they are missing."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        _make_folders(folder)
    except FileExistsError:
        raise ReadOnly(f"{folder} is not a folder; nothing was written", "choose another place with --file") from None
    except OSError as error:
        raise os_fault(error, folder) from None


def _make_folders(folder: str) -> None:
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        _make_folders(above)  # `makedirs` would give them the mode of the umask
    os.makedirs(folder, mode=0o700, exist_ok=True)


def make_file(path: str) -> None:
    """Make an empty file of mode 0600 before SQLite sees it, so that no sidecar is ever wider."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except OSError as error:
        if os.path.islink(path):
            raise FileFault(
                f"{path} is a link that leads nowhere; nothing was written", "make it lead to a ledger, or remove it"
            ) from None
        raise os_fault(error, path) from None


def check_modes(path: str) -> None:
    """Refuse a file that another user owns or may write, or that anybody may put another in the place of.

    Raises:
        UnsafePlace: with the mode or owner that was found; nothing was opened.
    """
    if os.name == "nt":  # pragma: no cover
        return
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise UnsafePlace(f"{path} is not a regular file; nothing was opened", "choose another place with --file")
    if found.st_uid != os.geteuid():
        raise UnsafePlace(f"{path} belongs to user {found.st_uid}; nothing was opened", "open it as that user")
    if found.st_mode & 0o022:
        mode = stat.S_IMODE(found.st_mode)
        raise UnsafePlace(f"{path} can be written by others (mode {mode:o})", f"run `chmod 600 {path}`")
    folder = os.path.dirname(os.path.abspath(path))
    mode = os.stat(folder).st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise UnsafePlace(
            f"{folder} can be written by anybody (mode {stat.S_IMODE(mode):o}); nothing was opened",
            f"run `chmod 700 {folder}`",
        )


def identity(path: str) -> tuple[int, int]:
    """Return device and inode of the file that `path` leads to now.

    Raises:
        Replaced: nothing is there any more.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise gone(path) from None
    return found.st_dev, found.st_ino


def replace(path: str, data: bytes) -> None:
    """Replace a small file durably: temporary file, fsync, rename, fsync of the folder.

    Raises:
        FileFault: what stood there stands.
    """
    temporary = path + ".new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        if os.path.lexists(temporary):
            os.unlink(temporary)  # of one that was killed: never written into
        fd = os.open(temporary, flags, 0o600)
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
        sync_folder(path)
    except OSError as error:
        raise os_fault(error, path) from None


def sync_folder(path: str) -> None:
    """Force a new name in a file's folder to the disk, where folders can be."""
    try:
        fd = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    except OSError:
        return  # pragma: no cover - Windows opens no folder
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def gone(path: str) -> Replaced:
    """Return the error for a file that is no longer where it was opened."""
    return Replaced(f"{path} is gone; nothing was written", "find where it was moved, or start anew")


def os_fault(error: OSError, path: str) -> FileFault:
    """Return the error of ours for one of the operating system."""
    if error.errno in (28, 122):
        return NoSpace(f"no space left for {path}; nothing was written", "free some space and try again")
    if error.errno in (1, 13, 30):
        return ReadOnly(f"{path} cannot be written; nothing was written", "look at the modes of file and folder")
    reason = (error.strerror or type(error).__name__).lower()
    return FileFault(f"{path}: {reason}; nothing was written", "look at the path and its folder")


class WriteLock:
    """The one queue of writers: an exclusive lock on `<file>.lock`, held for one append.

    `busy_timeout` is not a queue: 20 writers waited up to 49 s with it and 0.6 s
    with a lock. Whoever wants the lock takes `<file>.queue` first and gives it up
    once it holds the lock: a writer that comes straight back would else overtake
    those asleep between two tries (worst wait 3.2 s without the queue). The holder
    leaves its process id and the time inside.
    """

    def __init__(self, path: str, wait_s: float) -> None:
        self._path = path
        self._wait_s = wait_s
        self._fd = -1

    def __enter__(self) -> "WriteLock":
        deadline = time.monotonic() + self._wait_s
        queue = self._open(".queue")
        try:
            lock = self._open(".lock")
            try:
                self._take(queue, QUEUE_POLL_S, deadline)
                self._take(lock, LOCK_POLL_S, deadline)
            except BaseException:
                os.close(lock)
                raise
        finally:
            _give_up(queue)
        self._fd = lock
        self._sign()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _give_up(self._fd)
        self._fd = -1

    def _sign(self) -> None:
        """Leave process id and time in the lock file."""
        try:
            write_all(self._fd, f"{os.getpid():<12} {int(time.time()):<12}\n".encode())
        except OSError:
            return  # a full disk: an unsigned lock holds as well, and the append will say what is wrong

    def _open(self, suffix: str) -> int:
        path = self._path + suffix
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except FileNotFoundError:
            raise gone(self._path) from None
        except OSError as error:
            raise os_fault(error, path) from None

    def _take(self, fd: int, most_s: float, deadline: float) -> None:
        """Lock an open file.

        Raises:
            Locked: not before the deadline; the message says who holds the lock, and for how long.
        """
        begun = time.monotonic()
        while not _try_lock(fd):
            now = time.monotonic()
            if now >= deadline:
                raise Locked(
                    f"the ledger is locked by {self._holder()}; waited {self._wait_s:g} s and nothing was written",
                    "try again when that process has ended",
                )
            time.sleep(max(LEAST_POLL_S, most_s - (now - begun) / AGEING))

    def _holder(self) -> str:
        fd = self._open(".lock")
        try:
            words = os.read(fd, 100).decode("ascii", "replace").split()
        finally:
            os.close(fd)
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
            return f"process {words[0]}, for {max(0, int(time.time()) - int(words[1]))} s"
        return "another process"


def _try_lock(fd: int) -> bool:
    try:
        if os.name == "nt":  # pragma: no cover
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _give_up(fd: int) -> None:
    """Unlock and close; closing alone would leave the lock to a child that another thread forked meanwhile."""
    try:
        if os.name == "nt":  # pragma: no cover
            os.lseek(fd, 0, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError:
        pass  # it was never taken
    os.close(fd)


# -- writing ----------


def write_all(fd: int, data: bytes) -> None:
    """Write all of it: a disk that is nearly full takes a part, without an error, and refuses the rest only."""
    while data:
        data = data[os.write(fd, data) :]


def append_line(fd: int, line: bytes) -> None:
    """Append a line, apart from what a full disk or a kill has left of the one before; `fd` may be read too."""
    size = os.fstat(fd).st_size
    is_torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n" if hasattr(os, "pread") else False
    write_all(fd, b"\n" + line if is_torn else line)


# -- anchor ----------


def read_anchor(path: str) -> Anchor | None:
    """Return the anchor beside a ledger file; None when there is none that can be read as one."""
    try:
        with open(path + ".anchor", "rb") as file:
            found = json.loads(file.read(4096))
        anchor = Anchor(found["ledger_id"], found["seq"], found["hash"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if type(anchor.seq) is not int or not 0 <= anchor.seq < 2**63:
        return None
    return anchor if isinstance(anchor.hash, str) and isinstance(anchor.ledger_id, str) else None


def write_anchor(path: str, anchor: Anchor) -> None:
    """Replace the anchor durably: temporary file, fsync, rename."""
    temporary = path + ".anchor.new"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            write_all(fd, json.dumps(anchor._asdict()).encode() + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path + ".anchor")
    except OSError as error:
        raise os_fault(error, path + ".anchor") from None


# -- beside the file ----------


def machine_id(path: str, *, is_dry: bool = False) -> str:
    """Return the opaque id of this machine, made on first use in `<file>.machine` (not part of any export).

    A dry run makes no file: its id is one that the next run may not get.
    """
    if is_dry and not os.path.exists(path + ".machine"):
        return os.urandom(16).hex()
    try:
        fd = os.open(path + ".machine", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            found = os.read(fd, 100).decode("ascii", "replace").strip()
            if len(found) == 32 and found.isalnum():
                return found
            made = os.urandom(16).hex()
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            write_all(fd, made.encode() + b"\n")
            return made
        finally:
            os.close(fd)
    except OSError as error:
        raise os_fault(error, path + ".machine") from None


NOTE_BYTES = 1_048_576
"""Most bytes read of a file that may still say a learning; notes are a few KB."""


def line_of(path: str, texts: tuple[str | None, ...], line: int | None) -> int | None:
    """Return the line of a file that still says one of `texts`; None when none does or it cannot be read.

    A text is looked for by its first line of 12 characters or more, white space
    runs counting as one; `line` is preferred when several say it.
    """
    content = bounded(path)
    if content is None:
        return None
    lines = [" ".join(one.split()) for one in content.splitlines()]
    for text in texts:
        wanted = next((" ".join(one.split()) for one in (text or "").splitlines() if len(one.strip()) >= 12), "")
        wanted = wanted or " ".join((text or "").split())
        at = [
            number
            for number, one in enumerate(lines, start=1)
            if wanted and (wanted in one or (one and one in wanted and len(one) >= 40))
        ]
        if at:
            return min(at, key=lambda number: (abs(number - (line or number)), number))
    return None


def bounded(path: str, most: int = NOTE_BYTES) -> str | None:
    """Return a regular file's text, never following a link, never blocking; None for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return os.read(fd, most).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(fd)
