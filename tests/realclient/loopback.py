"""A network of loopback alone: processes are started in it, and sockets come out of it.

One child process moves to a new network namespace and holds it open. It hands
out listening sockets over a Unix socket, so that the stand-in for the API can
answer from this process; the client is started inside by this file run as a
script. Linux only; as root, or where users may make user namespaces.
"""

import array
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence

NEW_USER, NEW_NET = 0x1000_0000, 0x4000_0000
GET_FLAGS, SET_FLAGS, IS_UP = 0x8913, 0x8914, 0x1
DROP_BOUND, OVERRIDES = 24, (1, 2)
"""`prctl` that takes a capability away for good, and the two by which root reads and writes what it may not."""


class Loopback:
    """A namespace whose only interface is loopback, for as long as this is open.

    Raises:
        OSError: the system does not allow one.
    """

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        with theirs:
            self._holder = subprocess.Popen(
                [sys.executable, "-I", __file__, "hold", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        if self._ours.recv(1) != b"+":
            assert self._holder.stderr is not None
            said = self._holder.stderr.read().decode().strip().splitlines()
            self.close()
            raise OSError(said[-1] if said else "no network namespace")

    def listening(self) -> socket.socket:
        """Return a socket that listens on a free port of 127.0.0.1 inside."""
        self._ours.send(b"?")
        _, found, _, _ = socket.recv_fds(self._ours, 1, 1)
        return socket.socket(fileno=found[0])

    def line(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs another one inside, in the same process, and without root's overrides."""
        return [sys.executable, "-I", __file__, "enter", str(self._holder.pid), *argv]

    def close(self) -> None:
        """Let the namespace go; processes inside keep it for themselves."""
        self._ours.close()
        self._holder.wait(10)
        if self._holder.stderr is not None:
            self._holder.stderr.close()


def hold(fd: int) -> None:
    """Make the namespace, say so, and answer each byte with a listening socket, until nobody is there any more."""
    user, group = os.geteuid(), os.getegid()
    _called("unshare", NEW_NET if user == 0 else NEW_USER | NEW_NET)
    if user:
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(line)
    _raise_loopback()
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        raise OSError(f"the namespace has more than loopback: {names}")
    with socket.socket(fileno=fd) as asking:
        asking.send(b"+")
        while asking.recv(1):
            with socket.create_server(("127.0.0.1", 0)) as made:
                asking.sendmsg([b"="], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [made.fileno()]))])


def enter(holder: int, argv: Sequence[str]) -> None:
    """Become another program inside."""
    kinds = (("net", NEW_NET),) if os.geteuid() == 0 else (("user", NEW_USER), ("net", NEW_NET))
    opened = [(os.open(f"/proc/{holder}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), kind) for name, kind in kinds]
    for fd, kind in opened:
        _called("setns", fd, kind)
    for capability in OVERRIDES:
        ctypes.CDLL(None).prctl(DROP_BOUND, capability, 0, 0, 0)
    os.execvp(argv[0], list(argv))


def _called(name: str, *arguments: int) -> None:
    """Call the C library.

    Raises:
        OSError: it refused.
    """
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        raise OSError(f"{name}: {os.strerror(ctypes.get_errno())}")


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        told = fcntl.ioctl(asking, GET_FLAGS, struct.pack("16sh22x", b"lo", 0))
        (_, flags) = struct.unpack("16sh22x", told)
        fcntl.ioctl(asking, SET_FLAGS, struct.pack("16sh22x", b"lo", flags | IS_UP))


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(int(sys.argv[2]))
    else:
        enter(int(sys.argv[2]), sys.argv[3:])
