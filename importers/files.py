"""Open what a stranger may have put there: bounded, never through a link, never blocking.

A memory folder can hold a link to a key, a pipe that never answers, a sparse
file of a terabyte or bytes of no text; each costs a diagnostic and none of its
neighbours. A file is read once, from the descriptor that was checked. What a
scan has listed is opened folder by folder from the root, no link followed on
the way: a folder that was swapped for a link meanwhile leads nowhere.
"""

import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from ledger.model import LOCATOR_CHARS, Diagnostic

NOTE_BYTES = 1 << 20
"""Largest note that is read. The largest in a corpus of 269 public memory notes had 11,000 characters."""

DEPTH_MAX = 12
"""Folders below a root that are still entered."""

ENTRIES_MAX = 50_000
"""Directory entries looked at below one root."""

PATH_CHARS = LOCATOR_CHARS - 600
"""Longest path that still leaves room for a heading in a locator."""

REFUSALS = frozenset({
    "busy", "damaged", "export-header", "file-name", "hard-link", "no-observations", "no-rows", "not-found",
    "not-regular", "not-text", "nul", "snapshot", "symlink", "too-large", "unknown-kind", "unreadable",
})  # fmt: skip
"""Codes of diagnostics on a file of which nothing is taken, when they name no line of it; a header is line 1."""

SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "venv"})
"""Folders that hold other people's files, or none that are notes."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = (os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC) if hasattr(os, "O_PATH") else 0
"""Of a folder on the way to a file; 0 where the system cannot open one that may be entered and not listed."""

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROLS = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BINARY = getattr(os, "O_BINARY", 0)


class Unread(Exception):
    """A file that is not read; `code` and `message` are those of its diagnostic."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Walk(NamedTuple):
    """Files below a root, sorted; `unread` are files and folders that exist and were left out."""

    files: list[str]
    unread: list[str]
    diagnostics: list[Diagnostic]


def real(path: str) -> str:
    """Return a path without links, as far as can be told: one that is swapped for a link meanwhile stays as it is."""
    try:
        return os.path.realpath(path)
    except OSError:  # a link that went between the look at it and its reading
        return os.path.abspath(path)


def open_regular(path: str, *, is_resolved: bool = False) -> int:
    """Return a descriptor of a regular file; the caller closes it.

    Args:
        is_resolved: no link stood above it when it was listed, so that none is followed there now.

    Raises:
        Unread: it is a link, a pipe, a device, a folder, somebody else's file
            under a second name, or cannot be opened.
    """
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            raise Unread("symlink", "a symbolic link is not followed; the file was skipped")
        descriptor = _opened_from_root(path) if is_resolved and _FOLDER else os.open(path, _FLAGS | _BINARY)
    except FileNotFoundError:
        raise Unread("not-found", "there is no such file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, NotADirectoryError) and is_resolved:
            raise Unread("unreadable", "a folder above it is a link now, or none; the file was skipped") from None
        word = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not legal"
        raise Unread("unreadable", f"it cannot be opened ({word}); the file was skipped") from None
    try:
        _check(os.fstat(descriptor))
    except Unread:
        os.close(descriptor)
        raise
    return descriptor


def _opened_from_root(path: str) -> int:
    """Open a file through each folder of its path, none of which may be a link.

    Raises:
        NotADirectoryError: one of them is a link, or no folder.
    """
    *folders, name = os.path.abspath(path).split(os.sep)[1:]
    at = os.open(os.sep, _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, _FLAGS, dir_fd=at)
    finally:
        os.close(at)


def _check(found: os.stat_result) -> None:
    """Raise `Unread` unless this is a regular file of ours, or one that has no second name."""
    if not stat.S_ISREG(found.st_mode):
        raise Unread("not-regular", "it is not a regular file; it was skipped")
    mine = os.geteuid() if hasattr(os, "geteuid") else found.st_uid
    if found.st_nlink > 1 and found.st_uid != mine:
        raise Unread("hard-link", "it is a second name of a file that belongs to somebody else; it was skipped")


def read_bytes(path: str, cap: int = NOTE_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `cap` bytes.

    Raises:
        Unread: it is larger, or not what `open_regular` opens.
    """
    descriptor = open_regular(path)
    try:
        if os.fstat(descriptor).st_size > cap:
            raise Unread("too-large", f"it is larger than {cap:,} bytes; the file was skipped")
        raw = _read(descriptor, cap + 1)
    except OSError as error:
        raise Unread("unreadable", f"it cannot be read ({error.strerror}); the file was skipped") from None
    finally:
        os.close(descriptor)
    if len(raw) > cap:
        raise Unread("too-large", f"it grew beyond {cap:,} bytes while it was read; the file was skipped")
    return raw


def read_head(path: str, size: int, *, is_resolved: bool = False) -> bytes:
    """Return the first `size` bytes of a regular file of any size; see `open_regular`.

    Raises:
        Unread: see `open_regular`.
    """
    descriptor = open_regular(path, is_resolved=is_resolved)
    try:
        return _read(descriptor, size)
    except OSError as error:
        raise Unread("unreadable", f"it cannot be read ({error.strerror}); the file was skipped") from None
    finally:
        os.close(descriptor)


def lines(path: str, line_bytes: int, cap: int) -> Iterator[bytes]:
    """Yield the lines of a file of at most `cap` bytes, each cut one byte beyond the longest that is read.

    Raises:
        Unread: it is larger, or not what `open_regular` opens.
    """
    with os.fdopen(open_regular(path, is_resolved=True), "rb") as stream:
        left = os.fstat(stream.fileno()).st_size
        if left > cap:
            raise Unread("too-large", f"it is larger than {cap:,} bytes; the file was skipped")
        # What somebody appends meanwhile is for the next import: a file that grows would never end.
        while left > 0 and (line := stream.readline(line_bytes + 1)):
            left -= len(line)
            yield line
            while len(line) > line_bytes and not line.endswith(b"\n"):
                line = stream.readline(line_bytes + 1)
                left -= len(line)


def _read(descriptor: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(descriptor, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def decoded(raw: bytes) -> str:
    """Return bytes as text: UTF-8 (or UTF-16 that says so), without a byte order mark, lines ended by LF.

    Raises:
        Unread: the bytes are no such text, or hold U+0000.
    """
    encoding = "UTF-16" if raw[:2] in _UTF16 else "UTF-8"
    try:
        text = raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Unread("not-text", f"it is not {encoding} from line {line} on; the file was skipped") from None
    if "\0" in text:
        raise Unread("nul", "it holds U+0000, as binary files do; the file was skipped")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class Note(NamedTuple):
    """The text of a note; `left_out` says what of the file is not in it, as code, line and message."""

    text: str
    left_out: list[tuple[str, int, str]]


def read_note(path: str, cap: int = NOTE_BYTES) -> Note:
    """Return as much of a note as is text: lines that are not UTF-8 and what lies beyond the cap are left out.

    `path` has no link above its last part.

    Raises:
        Unread: nothing of it can be read.
    """
    raw = read_head(path, cap + 1, is_resolved=True)
    left_out = []
    if len(raw) > cap:
        raw = raw[: raw.rfind(b"\n", 0, cap) + 1]
        line = raw.count(b"\n") + 1
        message = f"it is larger than {cap:,} bytes, the limit: nothing was read from this line on"
        left_out.append(("too-large", line, message))
        if not raw or b"\0" in raw:
            raise Unread("too-large", f"it is larger than {cap:,} bytes; the file was skipped")
    try:
        return Note(decoded(raw), left_out)
    except Unread as error:
        if error.code != "not-text" or raw[:2] in _UTF16:
            raise
        kept, bad = _utf8_lines(raw)
        if not kept.strip():
            raise
    more = f", nor are {len(bad) - 1:,} more lines" if len(bad) > 1 else ""
    left_out.append(("not-text", bad[0], f"this line is not UTF-8{more}; it was left out"))
    return Note(decoded(kept), left_out)


def controls(text: str) -> tuple[int, int] | None:
    """Return the first line with a control character that is no blank, and how many lines have one; None without."""
    if text.isprintable():
        return None
    lines = [number for number, line in enumerate(text.split("\n"), 1) if _CONTROLS.search(line)]
    return (lines[0], len(lines)) if lines else None


def _utf8_lines(raw: bytes) -> tuple[bytes, list[int]]:
    """Return bytes with an empty line for each that is not UTF-8, and the numbers of those."""
    kept, bad = [], []
    for number, line in enumerate(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), 1):
        try:
            line.decode()
            kept.append(line)
        except UnicodeDecodeError:
            bad.append(number)
            kept.append(b"")
    return b"\n".join(kept), bad


def shown(path: str) -> str:
    """Return a path as a diagnostic may carry it: bytes that are no text are escaped."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def walk(root: str, suffix: str | tuple[str, ...] = ".md") -> Walk:
    """Return the files below a folder whose names end in `suffix`, or in one of several, in the order of their names.

    Links to folders are not entered. What is too deep, too many or not
    readable is `unread`, with a diagnostic.
    """
    found = Walk([], [], [])
    left = ENTRIES_MAX
    todo = [(root, 0)]
    while todo:
        folder, depth = todo.pop()
        entries = _entries(folder, left, found)
        left -= len(entries)
        below = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name.lower().endswith(suffix):
                    message = "a directory, not a regular file, has this name; what lies in it was looked at"
                    found.diagnostics.append(Diagnostic(shown(entry.path), None, "directory", message))
                if entry.name not in SKIPPED_FOLDERS:
                    below.append((entry.path, depth + 1))
            elif entry.name.lower().endswith(suffix):
                _take(entry, found)
        if depth == DEPTH_MAX and below:
            _skip(found, folder, "too-deep", f"folders more than {DEPTH_MAX} levels down were not entered")
        else:
            todo += reversed(below)
    return found


def _entries(folder: str, left: int, found: Walk) -> "list[os.DirEntry[str]]":
    """Return the entries of a folder by name, at most `left`."""
    try:
        with os.scandir(folder) as listing:
            entries = [entry for entry, _ in zip(listing, range(left + 1), strict=False)]
    except OSError as error:
        _skip(found, folder, "unreadable", f"the folder cannot be listed ({error.strerror})")
        return []
    if len(entries) > left:
        _skip(found, folder, "too-many", f"more than {ENTRIES_MAX:,} entries below one root; the rest was not read")
        return []
    return sorted(entries, key=lambda entry: entry.name)


def _take(entry: "os.DirEntry[str]", found: Walk) -> None:
    """Note a file by its kind; what is no regular file, or cannot be named in a locator, is left out."""
    if entry.is_symlink():
        _skip(found, entry.path, "symlink", "a symbolic link is not followed; the file was skipped")
    elif not entry.is_file(follow_symlinks=False):
        _skip(found, entry.path, "not-regular", "it is not a regular file; it was skipped")
    elif len(entry.path) > PATH_CHARS or shown(entry.path) != entry.path:
        _skip(found, entry.path, "file-name", "its path is too long or not UTF-8; the file was skipped")
    else:
        found.files.append(entry.path)


def _skip(found: Walk, path: str, code: str, message: str) -> None:
    found.unread.append(path)
    found.diagnostics.append(Diagnostic(shown(path), None, code, message))
