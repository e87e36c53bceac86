"""Be the only process that does something with a ledger: a lock that the kernel keeps, and lets go with the process.

What the file says, the process id of whoever has the lock, is for people: nothing
is decided by it. The file is never deleted, or two could hold two locks.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ledger.errors import Locked
from ledger.place import os_fault, write_all

if os.name == "nt":  # pragma: no cover - Windows is written for and untested
    import msvcrt
else:
    import fcntl


@contextmanager
def sole(path: str, what: str, hint: str) -> Iterator[None]:
    """Hold the lock file `path` until the block ends; `what` says what is done to the ledger ("being watched").

    Raises:
        Locked: another process has it; the message names it.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        fd = os.open(path, flags, 0o600)
    except OSError as error:
        raise os_fault(error, path) from None
    try:
        if not _taken(fd):
            raise Locked(f"the ledger is {what} by {_holder(fd)}; nothing was done", hint)
        os.ftruncate(fd, 0)
        write_all(fd, f"{os.getpid()}\n".encode("ascii"))
        yield
    finally:
        os.close(fd)


def holder(path: str) -> str | None:
    """Return who holds a lock file, as a person is told; None when nobody does."""
    try:
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        return None if _taken(fd) else _holder(fd)
    finally:
        os.close(fd)


def _taken(fd: int) -> bool:
    try:
        if os.name == "nt":  # pragma: no cover
            os.lseek(fd, 4_096, os.SEEK_SET)  # a locked byte cannot be read there
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _holder(fd: int) -> str:
    os.lseek(fd, 0, os.SEEK_SET)
    told = os.read(fd, 32).decode("ascii", "replace").strip()
    return f"process {told}" if told.isdigit() else "another process"
