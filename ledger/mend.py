"""Mend a file that still says what is not true any more: shown first, done only on a person's word, undoable.

The edit touches the lines that hold the old text and keeps every other byte, the
file's mode and its line ends. It is refused when the file changed since it was
shown. What the file was stands beside it (`<file>.learnings-<seq>`, same mode: its text is
copied to no other place), and `<ledger>.edits` says which event that belongs to, with a digest
of both: what lies under that name and is not what the file was is never put into it.
"""

import difflib
import hmac
import json
import os
import re
import stat
from typing import NamedTuple

from ledger import place
from ledger.errors import Refused

WRAPPED_MAX = 4
"""Lines over which a text may be wrapped."""

CONTEXT = 3
"""Lines around a change in the diff that is shown."""


class Edit(NamedTuple):
    """What would be done to one file: its bytes before and after, and the difference for a person to read."""

    file: str
    line: int
    before: bytes
    after: bytes
    diff: str


class Done(NamedTuple):
    """An edit that was made: by which event, where what the file was stands now, and digests of after and before.

    `made` is a file that was made with it, '' for none, and `made_digest` what it was then.
    """

    seq: int
    file: str
    kept: str
    salt: str
    digest: str
    was: str = ""
    made: str = ""
    made_digest: str = ""


def proposed(path: str, line: int, old: str, new: str | None) -> Edit | None:
    """Return how a file would be mended; None when it is no text file, or the line says nothing to mend.

    Args:
        line: a line that says the old text, or only says it again.
        new: what is true instead, None to take the old text away.
    """
    before = read(path)
    try:
        text = before.decode("utf-8") if before is not None else None
    except UnicodeDecodeError:
        return None
    if before is None or text is None:
        return None
    lines = text.splitlines(keepends=True)
    if not 1 <= line <= len(lines):
        return None
    span = _span(lines, line, old, new)
    if span is None:
        return None
    first, last, inside = span
    mended = _mended(lines[first:last], inside, old, new)
    after = "".join([*lines[:first], *mended, *lines[last:]]).encode("utf-8")
    return Edit(path, first + 1, before, after, _diff(path, lines, first, last, mended)) if after != before else None


def apply(edit: Edit, ledger: str, seq: int) -> Done:
    """Make an edit, whole or not at all, and remember what the file was.

    Raises:
        Refused: the file changed since the edit was shown. FileFault: it cannot be written; nothing was changed.
    """
    salt, earlier = os.urandom(16).hex(), _earlier(edit, ledger, seq)
    try:
        if read(edit.file) != edit.before:
            raise Refused(f"{edit.file} changed since it was shown; it was left as it is", "run the command again")
        mode = stat.S_IMODE(os.lstat(edit.file).st_mode)
        kept = free(f"{edit.file}.learnings-{seq}")
        was = edit.before
        if earlier is not None:  # a second edit of the same event keeps what the file was before the first
            kept, was = earlier
        else:
            write(kept, edit.before, mode)
        done = Done(seq, edit.file, kept, salt, digest(salt, edit.after), digest(salt, was))
        try:
            write(edit.file, edit.after, mode)
            remember(ledger, done)
        except OSError:
            _put_back(edit, mode)
            if earlier is None:
                os.unlink(kept)
            raise
    except OSError as error:
        raise place.os_fault(error, edit.file) from None
    return done


def _earlier(edit: Edit, ledger: str, seq: int) -> tuple[str, bytes] | None:
    """Return where what a file was stands, and what that is, when this event's last edit made the file what it is."""
    for done in made(ledger, [seq]):
        if done.file == edit.file and digest(done.salt, edit.before) == done.digest:
            was = read(done.kept)
            if was is not None and digest(done.salt, was) == done.was:
                return done.kept, was
    return None


def free(path: str) -> str:
    """Return a name that nothing has: what is there already is not ours."""
    free, number = path, 1
    while os.path.lexists(free):
        free, number = f"{path}.{number}", number + 1
    return free


def _put_back(edit: Edit, mode: int) -> None:
    if read(edit.file) == edit.after:
        write(edit.file, edit.before, mode)


def made(ledger: str, seqs: "list[int] | None" = None) -> list[Done]:
    """Return the edits that were made for these events, the last one of each file, newest event first."""
    found: dict[tuple[int, str], Done] = {}
    for line in (place.bounded(ledger + ".edits") or "").splitlines():
        try:
            done = Done(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if seqs is None or done.seq in seqs:
            found[done.seq, done.file] = done
    return sorted(
        (done for done in found.values() if os.path.exists(done.kept)), key=lambda done: (-done.seq, done.file)
    )


def restore(done: Done) -> str | None:
    """Put a file back to what it was before its edit, and take away what was made with it.

    Returns:
        The file that was made with it, when somebody has changed it since: it stays. Else None.

    Raises:
        Refused: the file was changed after the edit. FileFault: it cannot be written; nothing was changed.
    """
    try:
        now, was = read(done.file), read(done.kept)
        if now is None or was is None or digest(done.salt, now) != done.digest:
            raise Refused(
                f"{done.file} was changed after it was mended; it was left as it is",
                f"what it was stands in {done.kept}",
            )
        if digest(done.salt, was) != done.was:
            raise Refused(
                f"{done.kept} is not what {done.file} was; both were left as they are",
                "correct the file by hand",
            )
        write(done.file, was, stat.S_IMODE(os.lstat(done.file).st_mode))
        os.unlink(done.kept)
        return done.made if done.made and not _taken_away(done) else None
    except OSError as error:
        raise place.os_fault(error, done.file) from None


def _taken_away(done: Done) -> bool:
    now = read(done.made)
    if now is not None and digest(done.salt, now) != done.made_digest:
        return False
    if now is not None:
        os.unlink(done.made)
    return not os.path.lexists(done.made)


# -- one file ----------------------------------------------------------------------------------------------------------


def _span(lines: list[str], line: int, old: str, new: str | None) -> tuple[int, int, bool] | None:
    """Return from which line to which an old text stands, and whether it stands there word by word.

    The reported line is one of them. None when it says the new text already, or holds the old one in mid-word.
    """
    wanted = old.strip().splitlines() or [""]
    for first in range(line - 1, max(-1, line - 1 - len(wanted)), -1):
        block = lines[first : first + len(wanted)]
        if len(block) == len(wanted) and all(map(_stands, block, wanted)):
            return None if _says(block, new) else (first, first + len(wanted), True)
    here = lines[line - 1]
    for count in range(2, min(WRAPPED_MAX, len(lines) - line + 1) + 1):
        block = lines[line - 1 : line - 1 + count]
        if _at(here, old) is None and _at(" ".join(block), old) is not None:  # wrapped: as a whole, or by hand
            is_all = " ".join("".join(block).split()).strip(" -*+>`.") == " ".join(old.split()).strip(" .")
            return (line - 1, line - 1 + count, False) if is_all and not _says(block, new) else None
    in_mid_word = wanted[0].strip() in here and not _stands(here, wanted[0])
    return None if in_mid_word or _says([here], new) else (line - 1, line, False)


def _says(block: list[str], new: str | None) -> bool:
    return new is not None and bool(new.strip()) and _at(" ".join(block), new) is not None


def _stands(line: str, wanted: str) -> bool:
    return _at(line, wanted) is not None if wanted.strip() else not line.strip()


def _at(line: str, wanted: str) -> tuple[int, int] | None:
    """Return where a text begins and ends in a line, at the bounds of words; white space of any length is one."""
    words = r"\s+".join(re.escape(word) for word in wanted.split())
    found = re.search(rf"(?<!\w)(?<!\w[-./]){words}(?!\w|[-./]\w)", line)
    return found.span() if found is not None else None


def _mended(block: list[str], inside: bool, old: str, new: str | None) -> list[str]:
    """Return the lines that a block becomes; none when nothing of it is left."""
    end = block[-1][len(block[-1].rstrip("\r\n")) :]
    lead = block[0][: len(block[0]) - len(block[0].lstrip(" \t-*+>0123456789.)"))]
    rest = ""
    if inside:
        wanted = old.strip().splitlines()
        begins, ends = _at(block[0], wanted[0]), _at(block[-1], wanted[-1])
        lead = block[0][: begins[0]] if begins is not None else lead
        rest = block[-1][ends[1] :].rstrip("\r\n") if ends is not None else ""
    if new is None:
        left = (lead + rest).strip(" \t-*+>:0123456789.)")
        return [(lead + rest).rstrip() + end] if left else []
    eol = block[0][len(block[0].rstrip("\r\n")) :] or end or "\n"
    text = new.strip().splitlines()
    if not inside or len(block) == 1:
        text = [
            " ".join(" ".join(text).split())
        ]  # what was one line stays one: in a list a second would be another item
    made = [lead + text[0], *text[1:]]
    made[-1] += rest
    return [*(one + eol for one in made[:-1]), made[-1] + end]


def _diff(path: str, lines: list[str], first: int, last: int, mended: list[str]) -> str:
    low, high = max(0, first - CONTEXT), min(len(lines), last + CONTEXT)
    before = lines[low:high]
    after = [*lines[low:first], *mended, *lines[last:high]]
    shown = difflib.unified_diff(
        [one.rstrip("\r\n") for one in before],
        [one.rstrip("\r\n") for one in after],
        path,
        path,
        lineterm="",
        n=CONTEXT,
    )
    told = list(shown)
    head = f"@@ -{low + 1},{len(before)} +{low + 1},{len(after)} @@"
    return "\n".join([*told[:2], head, *told[3:]])


def read(path: str) -> bytes | None:
    """Return a regular file's bytes, never following a link; None for anything else, and for what is too large."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = file.read(place.NOTE_BYTES + 1)
    return data if len(data) <= place.NOTE_BYTES else None


def digest(salt: str, data: bytes) -> str:
    """Return what tells whether bytes are those that were, and says nothing else of them."""
    return hmac.new(bytes.fromhex(salt), data, "sha256").hexdigest()


def write(path: str, data: bytes, mode: int) -> None:
    """Write a file so that it is there whole or as it was."""
    temporary = f"{path}.{os.getpid()}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.chmod(temporary, mode)
            os.fsync(fd)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def remember(ledger: str, done: Done) -> None:
    """Remember an edit beside the ledger."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    fd = os.open(ledger + ".edits", flags, 0o600)
    try:
        place.append_line(fd, json.dumps(done._asdict()).encode() + b"\n")
    finally:
        os.close(fd)
