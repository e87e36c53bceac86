"""What sources were when the ledger had learned all they say, so that the next scan passes over them.

Kept in `<ledger>.checkpoints`, which may go any time: then everything is read again, and nothing new is
found. It holds keyed digests, times and counts, no text and no path. Content decides: a source is passed over
when size, both times and inode are what they were; when one of them is not, its text is compared, and only another
text is read. A time within `RACY_S` of the look tells nothing (a second write may leave it as it is), as in git.

An entry says: at event `seq` nothing of this source was left to do. So it is trusted only while that event stands in
the log (an older copy of the ledger knows nothing of it), while no later event touches a learning that ever stood at
that path, and while nothing changed that reading depends on: settings, erasures, this program, its rules.

Of a source of many items that did change, the items are told apart: a set of digests says which of them were as
they are when nothing was left to do at their places (`ingest`, docs/decisions/0025). A later event takes
a digest out of use when it touches a learning that ever stood at its place.
Lean path: stdlib only.
"""

import binascii
import hashlib
import hmac
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ledger import place, sql_log
from ledger.errors import FileFault
from ledger.model import Mark, schema_path

ENDING = ".checkpoints"
FORM = "checkpoints-2"
NONE = "none"
PLACES = "places"

RACY_S = 2
"""Age below which a time of change tells nothing: the coarsest file systems count in two seconds."""

MOST = 200_000
"""Entries that are kept, about 150 bytes each; those that no scan met for longest go first."""

RENEWED = 1_000
"""Events after which the file is written although nothing was settled, so that less has to be looked through."""

DIGEST_BYTES = 16

PLACES_MOST = 500_000
"""Digests of places that are kept, 22 bytes each in the file; the sets that no import asked for longest go first."""

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

TOUCHING_PLACES = TOUCHING | {"learning.merged", "trust.granted"}
"""The same for single places: whatever names the learnings that it bears upon."""

HARMLESS_SETTINGS = frozenset((
    "exposure_days", "off", "project_aliases", "robots", "scan_exclude", "scan_paths",
))  # fmt: skip
"""Settings that change nothing of what an item that was read becomes; which items are read they may."""


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


class _Set(NamedTuple):
    """Digests of the places of one source, end to end, at which nothing was left to do at event `seq`."""

    seq: int
    digests: bytes


class KnownPlaces(NamedTuple):
    """What is known of the places of one source: digests, and the locator keys of places that were touched since."""

    digests: frozenset[bytes]
    touched: frozenset[bytes]


NO_PLACES = KnownPlaces(frozenset(), frozenset())


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
        self._places: dict[str, _Set] = {}
        self._hows: dict[str, str] = {}
        self._named = ("", "")
        self._is_changed = False
        self._begun = self._head()

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

    def places(self, path: str, how: str) -> KnownPlaces:
        """Return what is known of the places of a source that is read in a way; nothing when it cannot be trusted."""
        self._entries()
        found = self._places.get(self._set_name(path, how))
        if found is None:
            return NO_PLACES
        digests, size = found.digests, DIGEST_BYTES
        return KnownPlaces(
            frozenset(digests[at : at + size] for at in range(0, len(digests), size)), self._touched(found.seq)
        )

    def place(self, how: str, said: bytes) -> bytes:
        """Return the digest of what a place says, read in a way."""
        return hmac.digest(self._key, b"checkpoint place\n%b\n%b" % (how.encode(), said), "sha256")[:DIGEST_BYTES]

    def _set_name(self, path: str, how: str) -> str:
        return self._keyed(b"places", f"{how}\n{path}".encode("utf-8", "surrogateescape"))

    def _head(self) -> int:
        row = self._connection.execute(sql_log.HEAD).fetchone()
        return row[0] if row is not None else 0

    def _holds(self, since: int) -> bool:
        """Tell whether nothing happened after an event on which every place depends."""
        kinds = self._kinds(since) - HARMLESS - TOUCHING_PLACES - {"setting.changed"}
        return not kinds and self._settings(since) <= HARMLESS_SETTINGS

    def _kinds(self, since: int) -> set[str]:
        return {kind for (kind,) in self._connection.execute(sql_log.KINDS_SINCE, {"seq": since})}

    def _settings(self, since: int) -> set[str]:
        """Return the names of the settings that were changed, or changed back, after an event."""
        rows = self._connection.execute(sql_log.SETTINGS_TOUCHED_SINCE, {"seq": since}).fetchall()
        return {name.removeprefix("setting:").partition("@")[0] for (name,) in rows}

    def _touched(self, since: int) -> frozenset[bytes]:
        """Return the keys of the places at which learnings stood that events after one touched."""
        rows = self._connection.execute(sql_log.LOCATORS_TOUCHED_SINCE, {"seq": since})
        return frozenset(bytes(key) for (key,) in rows)

    def _entry(self, now: Look) -> _Entry | None:
        entry = self._entries().get(self._name(now.path))
        return entry if entry is not None and entry.how == self._how(now.how) else None

    def _name(self, path: str) -> str:
        if self._named[0] != path:
            self._named = path, self._keyed(b"path", path.encode("utf-8", "surrogateescape"))
        return self._named[1]

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

    def settle_places(
        self, path: str, how: str, passed: Mapping[bytes, bytes], read: Collection[bytes], seq: int
    ) -> None:
        """Remember the places of a source at which nothing was left to do at event `seq`.

        Args:
            passed: the digests by locator key of those that were not looked at; what was touched meanwhile is dropped.
            read: the digests of those that were.
        """
        self._entries()
        digests = set(read)
        if passed:
            touched = self._touched(self._begun)
            digests.update(digest for key, digest in passed.items() if key not in touched)
        name = self._set_name(path, how)
        before = self._places.pop(name, None)
        if digests and self._holds(self._begun):
            self._places[name] = _Set(seq, b"".join(sorted(digests)))
        self._is_changed = self._is_changed or self._places.get(name) != before

    def forget(self, paths: Iterable[str]) -> None:
        """Have these sources read again."""
        for path in paths:
            self._is_changed = self._entries().pop(self._name(path), None) is not None or self._is_changed

    def save(self) -> None:
        """Write what was settled; whatever is wrong with the file, the next scan only takes longer."""
        known = self._entries()
        if not self._is_changed:
            return
        seqs = [*(entry.seq for entry in known.values()), *(one.seq for one in self._places.values())]
        last = max(seqs, default=0)
        row = self._connection.execute(sql_log.HASH_AT, {"seq": last}).fetchone()
        if row is None and last:
            return
        lines = [f"{FORM} {self._ledger_id} {last} {bytes(row[0]).hex() if row else NONE} {program()}"]
        for name, entry in list(known.items())[-MOST:]:
            how, stamp, digest, items, seq = entry
            lines.append(f"{name} {how} {stamp or NONE} {digest or NONE} {items} {seq}")
        lines += self._lines_of_places()
        try:
            place.replace(self._path, ("\n".join(lines) + "\n").encode("ascii"))
        except FileFault:
            return
        self._is_changed = False

    def _lines_of_places(self) -> list[str]:
        """Return a line for each set of places, the latest of them as far as they may be kept."""
        lines: list[str] = []
        left = PLACES_MOST * DIGEST_BYTES
        for name, (seq, digests) in reversed(self._places.items()):
            left -= len(digests)
            if left >= 0:
                told = binascii.b2a_base64(digests, newline=False).decode("ascii")
                lines.append(f"{PLACES} {name} {seq} {told}")
        return lines[::-1]

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
            gone = [name for name, one in self._places.items() if not self._holds(one.seq)]
            for name in gone:  # of what was erased no digest is kept either
                del self._places[name]
            self._is_changed = self._is_changed or bool(gone)
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
                if line.startswith(f"{PLACES} "):
                    _, name, seq, told = line.split(" ")
                    self._places[name] = _Set(int(seq), binascii.a2b_base64(told))
                    continue
                name, how, stamp, digest, items, seq = line.split(" ")
                stamp, digest = stamp.removeprefix(NONE), digest.removeprefix(NONE)
                found[name] = _Entry(how, stamp, digest, int(items), int(seq))
            seqs = [*(entry.seq for entry in found.values()), *(one.seq for one in self._places.values())]
            if all(seq <= int(last) for seq in seqs):
                return found
        except (ValueError, OverflowError):
            pass
        self._places.clear()
        return {}

    def _trusted(self, found: dict[str, _Entry]) -> dict[str, _Entry]:
        """Return those entries which no later event bears upon; those that remain hold at today's head."""
        if not found:
            return found
        head, since = self._head(), min(entry.seq for entry in found.values())
        self._is_changed = head - since > RENEWED
        kinds = self._kinds(since)
        if kinds - HARMLESS - TOUCHING or self._settings(since):
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
