"""Kill processes at their nth call that changes the disk: a library before libc counts, one interpreter forks.

Run as a program it reads lines `FOLDER N`, and for each forks a child that erases
event 1 of `FOLDER/ledger.db` and dies at the nth such call; it answers the child's
exit status. An interpreter that starts takes a second, a fork takes none.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

# ruff: noqa: E501 - a line of C a function
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1;
void kill_at(long n) { left = n; }
static void step(void) { if (left >= 0 && left-- == 0) kill(getpid(), SIGKILL); }

#define REAL(ret, name, ...) static ret (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *b, size_t n) { REAL(ssize_t, write, int, const void *, size_t); if (fd > 2) step(); return real(fd, b, n); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { REAL(ssize_t, pwrite, int, const void *, size_t, off_t); step(); return real(fd, b, n, o); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t); step(); return real(fd, b, n, o); }
int fsync(int fd) { REAL(int, fsync, int); step(); return real(fd); }
int fdatasync(int fd) { REAL(int, fdatasync, int); step(); return real(fd); }
int ftruncate(int fd, off_t n) { REAL(int, ftruncate, int, off_t); step(); return real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(int, ftruncate64, int, off64_t); step(); return real(fd, n); }
int unlink(const char *p) { REAL(int, unlink, const char *); step(); return real(p); }
int rename(const char *a, const char *b) { REAL(int, rename, const char *, const char *); step(); return real(a, b); }
int link(const char *a, const char *b) { REAL(int, link, const char *, const char *); step(); return real(a, b); }
"""


def compiled(folder: Path) -> Path | None:
    """Return the library, None where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    (folder / "killed.c").write_text(SOURCE)
    library = folder / "killed.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", library, folder / "killed.c", "-ldl"], check=True)
    return library


class Killer:
    """The program, run with the library before libc."""

    def __init__(self, library: Path, act: str) -> None:
        root = str(Path(__file__).parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, __file__, act],
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": root},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, at: int) -> int:
        """Do the act on a folder's ledger, killed at its nth call; return the child's exit status."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{at} {folder}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the program."""
        self._process.communicate(timeout=20)


def erasing(folder: str) -> None:
    """Erase the first event."""
    from ledger import erase
    from ledger.ledger import Ledger

    with Ledger.open(f"{folder}/ledger.db") as ledger:
        erase.erase(ledger, [1], "secret")


def backing(folder: str) -> None:
    """Make a backup."""
    from ledger import backup
    from ledger.ledger import Ledger

    with Ledger.open(f"{folder}/ledger.db") as ledger:
        backup.backup(ledger, f"{folder}/copy.db")


ACTS = {"erase": erasing, "backup": backing}


def main() -> None:
    """Fork for each line."""
    library = ctypes.CDLL(None)
    act = ACTS[sys.argv[1]]
    import ledger.backup
    import ledger.erase

    assert ledger.erase
    assert ledger.backup
    for line in sys.stdin:
        at, _, folder = line.rstrip("\n").partition(" ")
        pid = os.fork()
        if pid == 0:
            library.kill_at(ctypes.c_long(int(at)))
            act(folder)
            os._exit(0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
