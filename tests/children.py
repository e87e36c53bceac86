"""Processes that a test forks, limits, and kills; what they acknowledge comes back through a pipe."""

import ctypes
import os
import select
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import NamedTuple

from ledger.errors import LedgerError

Say = Callable[[str], None]
Act = Callable[[Say], object]

REFUSED = 3
"""Exit status of a child that ended with an error of ours."""


class Child(NamedTuple):
    """A forked process, and the end of the pipe on which it speaks."""

    pid: int
    pipe: int


class Ended(NamedTuple):
    """How a child ended (exit status, or minus the signal), and the whole lines it had said by then."""

    status: int
    said: list[str]


def fork(act: Act) -> Child:
    """Do `act` in a process of its own; it is given a function that says a line.

    An error of ours is said as `Name: message` and ends the child with `REFUSED`.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that another test left idle
        pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)

    def say(line: str) -> None:
        os.write(writing, line.encode() + b"\n")  # below PIPE_BUF: all or nothing, also for a killed one

    status = 1
    try:
        os.close(reading)
        act(say)
        status = 0
    except LedgerError as error:
        say(f"{error.code}: {error.message}")
        status = REFUSED
    except BaseException:  # noqa: BLE001 - a forked child must never return into the test
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def heard(child: Child, timeout_s: float | None = None) -> bytes:
    """Return what a child says next; nothing when it said nothing in time, or ended."""
    ready, _, _ = select.select([child.pipe], [], [], timeout_s)
    return os.read(child.pipe, 65_536) if ready else b""


def kill(child: Child) -> None:
    """Kill a child as a crash would; whether it was still there does not matter."""
    os.kill(child.pid, signal.SIGKILL)


def end(child: Child, before: bytes = b"") -> Ended:
    """Wait for a child's end; `before` is what was heard of it already."""
    heard_all = before
    while more := heard(child):
        heard_all += more
    os.close(child.pipe)
    _, status = os.waitpid(child.pid, 0)
    return Ended(os.waitstatus_to_exitcode(status), heard_all.decode().splitlines())


def done(act: Act) -> Ended:
    """Do `act` in a process of its own and wait for its end."""
    return end(fork(act))


# -- places with little room ----------


def limit_files(most_bytes: int) -> None:
    """Let this process write no file beyond a size, and live on; a parent stays as it was."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))


def mount_small(folder: str, size_kb: int) -> bool:
    """Give this process a small disk of its own at `folder`; False where the system does not allow that."""
    new_users, new_mounts = 0x1000_0000, 0x0002_0000
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if not hasattr(libc, "unshare"):
        return False
    if libc.unshare(new_mounts):
        if libc.unshare(new_users | new_mounts):
            return False
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(line)
    private, recursive = 1 << 18, 1 << 14
    if libc.mount(b"none", b"/", None, private | recursive, None):
        return False
    return not libc.mount(b"none", folder.encode(), b"tmpfs", 0, f"size={size_kb}k,mode=700".encode())
