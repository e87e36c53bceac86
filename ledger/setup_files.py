"""Read and replace settings files, with one backup each, so that what setup did can be taken back to the byte.

The backup is the file as it was, beside it, for its owner alone. When the file
without our entries still says what the backup says, nobody else changed it, and
the backup's bytes come back; else exactly our entries go.
"""

import contextlib
import difflib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ledger.errors import FileFault, ReadOnly
from ledger.place import os_fault
from ledger.setup import Target
from ledger.setup_clients import HOW_TO_MEND

BACKUP = ".before-learnings"
"""What a backup's name ends with."""

BYTES_MAX = 33_554_432
"""Longest file that is taken for settings; Claude Code's state of some years has a few MB."""


class Change(NamedTuple):
    """What happens to one file: its bytes before and after, and its backup's after; None means no file.

    `is_kept` says that the backup stays as it is.
    """

    path: str
    before: bytes | None
    after: bytes | None
    backup: bytes | None = None
    is_kept: bool = False

    @property
    def state(self) -> str:
        """Return in a word what happens: unchanged, made, removed or changed."""
        if self.before == self.after:
            return "unchanged"
        return "made" if self.before is None else "removed" if self.after is None else "changed"

    @property
    def backup_path(self) -> str:
        """Return where the backup is."""
        return self.path + BACKUP

    @property
    def sets_aside(self) -> bool:
        """Tell whether a backup of an earlier file is there, which may be the only copy of what its owner had."""
        if self.is_kept or self.backup != self.before or self.before == self.after:
            return False
        kept = read(self.backup_path)
        return kept is not None and kept != self.backup

    def diff(self) -> list[str]:
        """Return the change as a unified diff, without the files' secrets."""
        from ledger.redact import scrub

        old, new = ((text or b"").decode("utf-8").splitlines() for text in (self.before, self.after))
        was, will = (os.devnull if text is None else self.path for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, was, will, n=2, lineterm="")
        return scrub("\n".join(lines)).text.splitlines()


# -- plan ------------------------------------------------------------------------------------------------------------


def put_in(target: Target) -> Change:
    """Plan that a file holds what is wanted.

    Raises:
        FileFault: it is no file that can be changed.
        ReadOnly: its owner made it read-only.
    """
    before = read(target.path)
    text = _text(before, target.path)
    after = target.put(text).encode("utf-8")
    if before == after or (before is None and not after):
        return Change(target.path, before, before, is_kept=True)
    _writable(target.path)
    if not target.has_ours(text):
        return Change(target.path, before, after, before)
    former = _former(target, read(target.path + BACKUP))
    rest = target.take(text, former)
    if target.is_same(rest, former or ""):
        return Change(target.path, before, after, is_kept=True)
    return Change(target.path, before, after, rest.encode("utf-8"))


def take_out(target: Target) -> Change:
    """Plan that a file is as it was, or holds nothing of ours when somebody else has changed it since.

    Raises:
        FileFault: it is no file that can be changed.
        ReadOnly: its owner made it read-only.
    """
    before = read(target.path)
    if before is None:
        return Change(target.path, None, None, is_kept=True)
    backup = read(target.path + BACKUP)
    former = _former(target, backup)
    text = _text(before, target.path)
    rest = target.take(text, former)
    after: bytes | None = rest.encode("utf-8")
    if former is not None and target.is_same(rest, former):
        after = backup
    elif backup is None and rest != text and target.is_same(rest, "") and not os.path.islink(target.path):
        after = None
    if after != before:
        _writable(target.path)
    return Change(target.path, before, after, is_kept=True)


def _former(target: Target, backup: bytes | None) -> str | None:
    """Return what a backup says, None when there is none or it is none of settings: it stays, and tells nothing."""
    if backup is None:
        return None
    try:
        text = _text(backup, target.path + BACKUP)
        target.is_same(text, text)
    except FileFault:
        return None
    return text


def read(path: str) -> bytes | None:
    """Return a file's bytes, or None when there is none.

    Raises:
        FileFault: it is no regular file, too long, or cannot be read.
    """
    try:
        with open(path, "rb", opener=_opened) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileFault(f"{path} is no regular file; nothing was written", HOW_TO_MEND)
            found = file.read(BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise os_fault(error, path) from None
    if len(found) > BYTES_MAX:
        raise FileFault(f"{path} has more than {BYTES_MAX:,} bytes; nothing was written", HOW_TO_MEND)
    return found


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a named pipe would be waited for


def _text(data: bytes | None, path: str) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        raise FileFault(f"{path} is not UTF-8; nothing was written", HOW_TO_MEND) from None


def _writable(path: str) -> None:
    """Refuse what its owner made read-only: replacing it would go round that.

    Raises:
        ReadOnly: no one may write the file.
    """
    with contextlib.suppress(FileNotFoundError):
        if not os.stat(path).st_mode & 0o222:
            raise ReadOnly(f"{path} is read-only; nothing was written", "make it writable, or change what writes it")


# -- write -----------------------------------------------------------------------------------------------------------


def carry_out(changes: Iterable[Change]) -> None:
    """Make every change, or none: when one fails, those before it are taken back.

    Raises:
        FileFault: a file cannot be written, or was changed since it was read.
    """
    done: list[Change] = []
    try:
        for change in changes:
            if change.before != change.after:
                _carry_out(change)
                done.append(change)
    except BaseException:
        for change in reversed(done):
            _take_back(change)
        raise


def _take_back(change: Change) -> None:
    _replaced(change.path, change.after, change.before)
    if not change.is_kept and change.backup == change.before:
        _unlinked(change.backup_path)  # it was the first one


def forget_backups(changes: Iterable[Change]) -> Iterator[str]:
    """Remove the backups of files that are as they were to the byte, and yield their paths; any other may be the
    only copy of what its owner had."""
    for change in changes:
        kept = read(change.backup_path)
        if kept is not None and kept == change.after and _unlinked(change.backup_path):
            yield change.backup_path


def aside(path: str) -> str:
    """Return the free name that a backup of an earlier file gets."""
    number = 1
    while os.path.lexists(f"{path}.{number}"):
        number += 1
    return f"{path}.{number}"


def _set_aside(path: str) -> None:
    try:
        os.rename(path, aside(path))
    except OSError as error:
        raise os_fault(error, path) from None


def _unlinked(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise os_fault(error, path) from None
    return True


def _carry_out(change: Change) -> None:
    _unchanged(change.path, change.before)
    if change.sets_aside:
        _set_aside(change.backup_path)
    if change.backup is not None:
        _written(change.backup_path, change.backup, 0o600)
    _replaced(change.path, change.before, change.after)


def _replaced(path: str, before: bytes | None, after: bytes | None) -> None:
    """Put other bytes in the place of a file at once; the file behind a link is the one, and keeps its mode.

    Raises:
        FileFault: it cannot be written, or is not what was read.
    """
    real = os.path.realpath(path)
    _unchanged(path, before)
    try:
        if after is None:
            os.unlink(real)
            return
        _written(real, after, stat.S_IMODE(os.stat(real).st_mode) if before is not None else 0o600)
    except OSError as error:
        raise os_fault(error, path) from None


def _unchanged(path: str, before: bytes | None) -> None:
    """Refuse a file that is not what was read: a client that runs may have saved its own state.

    Raises:
        FileFault: it is not.
    """
    if read(path) != before:
        raise FileFault(f"{path} was changed meanwhile; nothing was written to it", "run this again")


def _written(path: str, data: bytes, mode: int) -> None:
    """Write a file by renaming: whoever reads it sees the old bytes or the new.

    Raises:
        FileFault: the folder takes no file.
    """
    folder = os.path.dirname(path)
    made = None
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        handle, made = tempfile.mkstemp(prefix=".learnings-", dir=folder)
        with open(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except OSError as error:
        if made is not None:
            with contextlib.suppress(OSError):
                os.unlink(made)
        raise os_fault(error, path) from None
