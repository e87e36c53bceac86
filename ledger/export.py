"""Write learnings out: as JSON lines that `learnings import` reads, or as Markdown for people.

Everything of one export is read in one snapshot. Erased learnings are left out
(no list has them): nothing of them is there to be written. A reader's trust decides who may serve
what is exported, so JSON says the text as it is stored, masked as it was recorded, with escapes for
what nobody sees; Markdown is for people, and holds nothing that its reader would fetch, follow or obey.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from ledger import frame, place
from ledger.answer import LIMIT_MAX
from ledger.errors import BadArgument, UnsafePlace
from ledger.model import STATES
from ledger.place import os_fault
from ledger.reader import Reader

FORMAT = "learning-ledger-export"
VERSION = 1

SQLITE = b"SQLite format 3\x00"
"""How every SQLite database begins: no export is written over one."""

WHOLE = ("current", "superseded", "retracted", "undone")
"""The states that `all` means: what was served once. The others have to be named."""

FIELDS = (
    "id", "title", "problem", "solution", "category", "project", "tags", "state", "trust", "recorded_at",
    "observed_at", "supersedes", "superseded_by", "confidence", "sources",
)  # fmt: skip
"""Fields of a learning in an export, in their order; they are `Reader.show`'s."""


def states_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the states that are meant; `current` when none is named.

    Raises:
        BadArgument: there is no such state.
    """
    meant: dict[str, None] = {}
    for name in names or ("current",):
        if name != "all" and name not in STATES:
            raise BadArgument("unknown state; nothing was written", "use all, or some of: " + ", ".join(STATES))
        meant.update(dict.fromkeys(WHOLE if name == "all" else (name,)))
    return tuple(meant)


def header(reader: Reader, exported_at: str) -> dict[str, Any]:
    """Return what an export begins with: which ledger, and where its log ended."""
    head = reader.head()
    return {
        "format": FORMAT,
        "version": VERSION,
        "ledger_id": reader.meta()["ledger_id"],
        "head": {"seq": head.seq, "hash": head.hash.hex()},
        "exported_at": exported_at,
    }


def learnings(reader: Reader, states: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield every learning of these states, oldest first, so that a replaced one comes before its successor."""
    for _, name in sorted(_ids(reader, states)):
        told = reader.show(name)
        yield {field: told[field] for field in FIELDS}


def _ids(reader: Reader, states: Sequence[str]) -> Iterator[tuple[int, str]]:
    for state in states:
        before = None
        while True:
            page = reader.list_learnings(state=state, limit=LIMIT_MAX, before_seq=before)
            yield from ((row.seq, row.id) for row in page.rows)
            if not page.truncated:
                break
            before = page.rows[-1].seq


def jsonl(reader: Reader, states: Sequence[str], exported_at: str) -> Iterator[str]:
    """Yield the lines of an export: the header, then a learning each."""
    with reader.snapshot():
        yield frame.dumped(header(reader, exported_at))
        for learning in learnings(reader, states):
            yield frame.dumped(learning)


def markdown(reader: Reader, states: Sequence[str], exported_at: str) -> Iterator[str]:
    """Yield the lines of a document: a section a project, the learnings of a category together."""
    with reader.snapshot():
        top = header(reader, exported_at)
        found = sorted(learnings(reader, states), key=lambda one: (one["project"], one["category"]))
    yield "# Learnings"
    yield ""
    yield f"Ledger {top['ledger_id']} at event {top['head']['seq']}, exported {exported_at}."
    before = ("", "")
    for learning in found:
        if learning["project"] != before[0]:
            yield from ("", f"## {'Everywhere' if learning['project'] == '*' else _line(learning['project'])}")
        if (learning["project"], learning["category"]) != before:
            yield from ("", f"### {learning['category']}")
        before = (learning["project"], learning["category"])
        yield from _section(learning)


def _section(learning: dict[str, Any]) -> Iterator[str]:
    """Yield one learning; its texts are quoted, so that no line of them can pass for a heading of ours."""
    yield from ("", f"#### {_line(learning['title'])}", "", "When:", "")
    yield from _quoted(learning["problem"])
    yield from ("", "Then:", "")
    yield from _quoted(learning["solution"])
    notes = [f"`{learning['id']}`", learning["state"], f"trust {learning['trust']}", learning["recorded_at"]]
    if learning["tags"]:
        notes.append("tags " + ", ".join(map(_line, learning["tags"])))
    if learning["supersedes"]:
        notes.append("replaced " + ", ".join(f"`{old}`" for old in learning["supersedes"]))
    yield from ("", " · ".join(notes))


def _quoted(text: str) -> Iterator[str]:
    for line in _plain(text).split("\n"):
        yield f"> {line}".rstrip()


def _line(text: str) -> str:
    return " ".join(_plain(text).split())


def _plain(text: str) -> str:
    """Return a text that a Markdown reader shows and neither fetches nor follows: no tag of it begins."""
    plain = frame.without_links(frame.clean(text))
    plain = re.sub(r"(?m)^([>\s]*\[[^\]\n]{0,1000}\]):", r"\1 :", plain) if "]:" in plain else plain
    return re.sub(r"<(?=[^ \t\n\d=<-])", "&lt;", plain) if "<" in plain else plain


FORMATS = {"jsonl": jsonl, "md": markdown}


def check_target(path: str, ledger: str) -> None:
    """Refuse a place where an export would destroy what is no export.

    Raises:
        UnsafePlace: a ledger, a file that belongs to this one, or something that is no regular file.
    """
    target, home = os.path.realpath(path), os.path.realpath(ledger)
    is_beside = target in (home, *(home + end for end in place.BESIDE))
    if is_beside or (os.path.isfile(target) and _is_database(target)):
        raise UnsafePlace(f"{path} is a ledger, or belongs to one; nothing was written", "give --output another file")
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise UnsafePlace(f"{path} is not a regular file; nothing was written", "leave out --output and redirect")


def _is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False  # the write will say what is wrong


def write(path: str, lines: Iterable[str]) -> int:
    """Write lines to a file of mode 0600 that appears whole or not at all; return how many.

    Raises:
        ReadOnly, NoSpace, FileFault: what stood there before is untouched.
    """
    temporary = f"{path}.{os.getpid()}.new"
    count = 0
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise os_fault(error, path) from None
    try:
        with open(fd, "w", encoding="utf-8", newline="\n") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        _forget(temporary)
        raise os_fault(error, path) from None
    except BaseException:
        _forget(temporary)
        raise
    return count


def _forget(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
