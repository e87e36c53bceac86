"""What sources were when the ledger had learned all they say, so that the next scan passes over them.

Kept in `<ledger>.checkpoints`, which may go any time: then everything is read again, and nothing new is
found. It holds keyed digests, times and counts, no text and no path. Content decides: a source is passed over
when size, both times and inode are what they were; when one of them is not, its text is compared, and only another
text is read. A time within `RACY_S` of the look tells nothing (a second write may leave it as it is), as in git.

An entry says: at event `seq` nothing of this source was left to do. So it is trusted only while that event stands in
the log (an older copy of the ledger knows nothing of it), while no later event touches a learning that ever stood at
that path, and while nothing changed that reading depends on: settings, erasures, this program, its rules.
Lean path: stdlib only.
"""

import hashlib
import hmac
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ledger import place, sql_log
from ledger.errors import FileFault
from ledger.model import Mark, schema_path

ENDING = ".checkpoints"
FORM = "checkpoints-1"
NONE = "none"

RACY_S = 2
"""Age below which a time of change tells nothing: the coarsest file systems count in two seconds."""

MOST = 200_000
"""Entries that are kept, about 150 bytes each; those that no scan met for longest go first."""

RENEWED = 1_000
"""Events after which the file is written although nothing was settled, so that less has to be looked through."""

STATE_BYTES = 64 << 20
"""Largest file that is read; a larger one is none of ours."""

HARMLESS = frozenset((
    "aliases.derived", "batch.started", "claim.checked", "claim.stated", "exposure.judged", "pair.settled",
    "session.summarised",
))  # fmt: skip
"""Kinds of event after which a scan finds what it found before."""

TOUCHING = frozenset((
    "event.undone", "learning.pinned", "learning.proposed", "learning.quarantined", "learning.recorded",
    "learning.retracted", "learning.superseded", "learning.unpinned", "proposal.accepted", "proposal.rejected",
    "quarantine.released", "source.added", "source.removed",
))  # fmt: skip
"""Kinds of event that bear upon the sources of the learnings they touch; any other kind makes all be read again."""


class Look(NamedTuple):
    """A source as it is now: where it is, how it is read, and what tells a change, '' when nothing can."""

    path: str
    how: str
    stamp: str


def look(
    path: str, importer: str, circumstance: str = "", beside: Iterable[str] = (), now_ns: int | None = None
) -> Look:
    """Look at a source, before the first byte of it is read.

    Args:
        circumstance: all that its drafts depend on beside its content: its trust, its project.
        beside: other files that hold a part of it, such as the log of a database; they may be missing.
    """
    stamps: list[str] = []
    latest = (time.time_ns() if now_ns is None else now_ns) - RACY_S * 1_000_000_000
    for one in (path, *beside):
        try:
            found = os.lstat(one)
        except OSError:
            stamps.append("" if one == path else "-")
            continue
        is_racy = found.st_mtime_ns > latest or found.st_ctime_ns > latest
        stamps.append("" if is_racy else f"{found.st_size},{found.st_mtime_ns},{found.st_ctime_ns},{found.st_ino}")
    return Look(path, f"{importer}\n{circumstance}", ";".join(stamps) if all(stamps) else "")


def mark(seen: Look, content: bytes | None, items: int) -> Mark:
    """Return what a source was that was read completely, and how many drafts it made; without `content` only its times
    will tell."""
    return Mark(seen.how, seen.stamp, hashlib.sha256(content).digest() if content is not None else b"", items)


class _Entry(NamedTuple):
    """One line of the file: how a source was read and what it was, and the event at which nothing was left to do."""

    how: str
    stamp: str
    digest: str
    items: int
    seq: int


class Checkpoints:
    """The checkpoints of one ledger, read when first asked for; what is settled stands in the file after `save`.

    A scan looks at each source before it reads it, and asks:

        now = checkpoints.look(path, "memory-notes", circumstance)
        items = seen.unchanged(now)              # how many drafts it makes; None: read it
        if items is None:
            items = seen.same(now, content)      # only its times have changed

    What was read goes on with its drafts (`Reading.marks`, from `mark`); `ingest.run` settles those of which all is in
    the ledger. What was not read goes on as `Reading.unread` and `Reading.passed`. Then `save`.
    """

    def __init__(self, path: str, ledger_id: str, key: bytes, connection: sqlite3.Connection) -> None:
        """Hold what is needed: the ledger's path, id and key, and a connection for reading its log."""
        self._path, self._ledger_id, self._key = path + ENDING, ledger_id, key
        self._connection = connection
        self._known: dict[str, _Entry] | None = None
        self._hows: dict[str, str] = {}
        self._is_changed = False

    # -- asking ------------------------------------------------------------------------------------------------------

    def unchanged(self, now: Look) -> int | None:
        """Return how many drafts a source makes that is as it was when all of it was in the ledger, None for others."""
        entry = self._entry(now)
        return entry.items if entry is not None and now.stamp and entry.stamp == now.stamp else None

    def knows(self, now: Look) -> bool:
        """Tell whether all that a source once said is in the ledger, whatever was added to it since."""
        return self._entry(now) is not None

    def same(self, now: Look, content: bytes) -> int | None:
        """Return how many drafts a source makes whose content is what it was, whatever its times are, None for others.

        From then on its new times will do.
        """
        entry = self._entry(now)
        if entry is None or entry.digest != self._digest(hashlib.sha256(content).digest()):
            return None
        if now.stamp:
            self._keep(self._name(now.path), entry._replace(stamp=now.stamp))
        return entry.items

    def _entry(self, now: Look) -> _Entry | None:
        entry = self._entries().get(self._name(now.path))
        return entry if entry is not None and entry.how == self._how(now.how) else None

    def _name(self, path: str) -> str:
        return self._keyed(b"path", path.encode("utf-8", "surrogateescape"))

    def _how(self, how: str) -> str:
        if how not in self._hows:
            self._hows[how] = self._keyed(b"how", how.encode("utf-8", "surrogateescape"))
        return self._hows[how]

    def _digest(self, hashed: bytes) -> str:
        return self._keyed(b"content", hashed) if hashed else ""

    def _keyed(self, about: bytes, content: bytes) -> str:
        return hmac.digest(self._key, b"checkpoint %b\n%b" % (about, content), "sha256")[:16].hex()

    # -- keeping -----------------------------------------------------------------------------------------------------

    def settle(self, marks: Mapping[str, Mark], seq: int) -> None:
        """Remember sources, by their paths, of which nothing was left to do at event `seq`."""
        for path, (how, stamp, digest, items) in marks.items():
            if stamp or digest:
                self._keep(self._name(path), _Entry(self._how(how), stamp, self._digest(digest), items, seq))

    def forget(self, paths: Iterable[str]) -> None:
        """Have these sources read again."""
        for path in paths:
            self._is_changed = self._entries().pop(self._name(path), None) is not None or self._is_changed

    def save(self) -> None:
        """Write what was settled; whatever is wrong with the file, the next scan only takes longer."""
        known = self._entries()
        if not self._is_changed:
            return
        last = max((entry.seq for entry in known.values()), default=0)
        row = self._connection.execute(sql_log.HASH_AT, {"seq": last}).fetchone()
        if row is None and last:
            return
        lines = [f"{FORM} {self._ledger_id} {last} {bytes(row[0]).hex() if row else NONE} {program()}"]
        for name, entry in list(known.items())[-MOST:]:
            how, stamp, digest, items, seq = entry
            lines.append(f"{name} {how} {stamp or NONE} {digest or NONE} {items} {seq}")
        try:
            place.replace(self._path, ("\n".join(lines) + "\n").encode("ascii"))
        except FileFault:
            return
        self._is_changed = False

    def _keep(self, name: str, entry: _Entry) -> None:
        known = self._entries()
        if known.get(name) != entry:
            known.pop(name, None)  # so that it stands last: `MOST` cuts at the beginning
            known[name] = entry
            self._is_changed = True

    # -- what may be trusted -----------------------------------------------------------------------------------------

    def _entries(self) -> dict[str, _Entry]:
        if self._known is None:
            self._known = {}
            self._known = self._trusted(self._read())
        return self._known

    def _read(self) -> dict[str, _Entry]:
        """Return the entries of the file; none when it is missing, broken, of another ledger, time or program."""
        text = place.bounded(self._path, STATE_BYTES)
        first, *lines = (text or "").splitlines() or [""]
        found: dict[str, _Entry] = {}
        try:
            form, ledger_id, last, hashed, made_by = first.split(" ")
            row = self._connection.execute(sql_log.HASH_AT, {"seq": int(last)}).fetchone()
            is_ours = (form, ledger_id, made_by) == (FORM, self._ledger_id, program())
            if not is_ours or (bytes(row[0]).hex() if row else NONE) != hashed:
                return {}
            for line in lines:
                name, how, stamp, digest, items, seq = line.split(" ")
                stamp, digest = stamp.removeprefix(NONE), digest.removeprefix(NONE)
                found[name] = _Entry(how, stamp, digest, int(items), int(seq))
        except (ValueError, OverflowError):
            return {}
        return found if all(entry.seq <= int(last) for entry in found.values()) else {}

    def _trusted(self, found: dict[str, _Entry]) -> dict[str, _Entry]:
        """Return those entries which no later event bears upon; those that remain hold at today's head."""
        if not found:
            return found
        row = self._connection.execute(sql_log.HEAD).fetchone()
        head, since = row[0] if row is not None else 0, min(entry.seq for entry in found.values())
        self._is_changed = head - since > RENEWED
        kinds = {kind for (kind,) in self._connection.execute(sql_log.KINDS_SINCE, {"seq": since})}
        if kinds - HARMLESS - TOUCHING:
            return {}
        touched: dict[str, int] = {}
        if kinds & TOUCHING:
            rows = self._connection.execute(sql_log.PATHS_TOUCHED_SINCE, {"seq": since}).fetchall()
            touched = {self._name(path): seq for path, seq in rows}
        return {name: entry._replace(seq=head) for name, entry in found.items() if touched.get(name, 0) <= entry.seq}


def program() -> str:
    """Return what tells another version of this program, or of its rules: names, sizes and times of its files."""
    here = os.path.dirname(os.path.abspath(__file__))
    told = hashlib.sha256()
    for folder in (here, os.path.join(os.path.dirname(here), "importers"), os.path.dirname(schema_path("events"))):
        with os.scandir(folder) as listing:
            for entry in sorted(listing, key=lambda entry: entry.name):
                if entry.name.endswith((".py", ".json")):
                    found = entry.stat()
                    told.update(f"{entry.name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return told.hexdigest()[:32]
