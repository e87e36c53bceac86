"""Which places of a reading say what they said when nothing was left to do at them: they are not looked at again.

A source of 50,000 items of which one is new would else be guarded and planned
whole. A place is passed over when all that its source says there has the digest
it had, when all of that stood there then, and when no event since touched a
learning that ever stood there (`checkpoints`, docs/decisions/0025). What a plan
decides for the other places is what it would decide if it saw all of them.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from ledger import chain, sql_log
from ledger.checkpoints import DIGEST_BYTES, NO_PLACES, Checkpoints, KnownPlaces
from ledger.model import Draft, Found, Reading, Source

MANY = 20
"""Fewest drafts of one source of which the places are remembered: a note is guarded whole in no time."""

LEFT_MOST = 1_000
"""Drafts to look at that are kept at hand; of more, all are gone through once again."""

_KEY = 32
_ONE = _KEY + DIGEST_BYTES
"""Bytes of a place that was looked at: its locator key, and the digest of what it says."""


class Places:
    """The places of one reading: those that are passed over, and what will be remembered of the others."""

    def __init__(self, reading: Reading, key: bytes, seen: Checkpoints | None) -> None:
        self._reading, self._key = reading, key
        # What a source tells of its past, and who agreed, is about several places at once.
        is_apart = not (reading.past.fates or reading.past.replaced or reading.sessions)
        self._seen = seen if is_apart else None
        self._how = f"{reading.importer}\n{reading.trust}"
        self._known: dict[str, KnownPlaces] = {}
        self._read: dict[str, bytearray] = {}
        self._passed: dict[str, dict[bytes, bytes]] = {}
        self.locators: set[str] = set()
        """The places that are passed over."""

    def passed(self) -> frozenset[bytes]:
        """Return the locator keys of the places that are passed over."""
        return frozenset(key for one in self._passed.values() for key in one)

    def sources(self) -> list[str]:
        """Return the paths of the sources of which something is passed over."""
        return [path for path, passed in self._passed.items() if passed]

    def to_look_at(self, drafts: Sequence[Draft], *, again: bool) -> Sequence[Draft]:
        """Return the drafts without those of places that are passed over; `again` passes over none."""
        seen = self._seen
        if seen is None or len(drafts) < MANY:
            return drafts
        once, many = _counted(drafts)
        several: dict[str, list[Draft]] = {}
        left: list[Draft] | None = []
        for one in drafts:
            place = one.source
            if place is None:
                is_passed = False
            elif once[hash(place.locator)] > 1:
                several.setdefault(place.locator, []).append(one)
                continue
            else:
                is_passed = many[place.path] >= MANY and self._is_passed(seen, place, [one], again=again)
            if left is not None and not is_passed:
                left.append(one)
                left = left if len(left) <= LEFT_MOST else None
        for ones in several.values():
            places = [one.source for one in ones if one.source is not None]
            # What several sources say of one place is looked at each time.
            if len({place.path for place in places}) == 1 and many[places[0].path] >= MANY:
                self._is_passed(seen, places[0], ones, again=again)
        if not self.locators:
            return drafts
        if left is not None and not several:
            return left
        return [one for one in drafts if one.source is None or one.source.locator not in self.locators]

    def _is_passed(self, seen: Checkpoints, place: Source, ones: Sequence[Draft], *, again: bool) -> bool:
        """Tell whether a place is passed over at which its source says these drafts."""
        text = _said(ones, place.locator in self._reading.held, place.locator in self._reading.whole)
        if text is None or place.path is None:
            return False
        if place.path not in self._known:
            self._known[place.path] = NO_PLACES if again else seen.places(place.path, self._how)
            self._read[place.path], self._passed[place.path] = bytearray(), {}
        known = self._known[place.path]
        digest, key = seen.place(self._how, text), chain.locator_key(self._key, place.locator)
        if digest in known.digests and key not in known.touched:
            self._passed[place.path][key] = digest
            self.locators.add(place.locator)
            return True
        self._read[place.path] += key + digest
        return False

    def settle(self, arrived: "Arrivals", seq: int) -> None:
        """Remember the places of which nothing is left to do, nor to say, at event `seq`."""
        if self._seen is None or self._reading.is_part:
            return  # what is remembered of the others would be lost
        for path, read in self._read.items():
            parts = (read[at : at + _ONE] for at in range(0, len(read), _ONE))
            settled = [bytes(part[_KEY:]) for part in parts if arrived.at(bytes(part[:_KEY]))]
            self._seen.settle_places(path, self._how, self._passed[path], settled, seq)


class Arrivals:
    """Whether all that was found at a place stands there, after an import.

    `made` are the spots of the learnings that the import made, `apart` the keys of the new places that it recorded
    in portions, `unsettled` those of places of which something is left to do or to say.
    """

    def __init__(
        self, connection: sqlite3.Connection, found: Iterable[Found], made: Mapping[tuple[bytes, bytes], object],
        apart: Collection[bytes], unsettled: Collection[bytes],
    ) -> None:  # fmt: skip
        self._connection, self._apart, self._unsettled = connection, apart, unsettled
        self._left: dict[bytes, list[bytes]] = {}
        self._told: set[bytes] = set()
        for one in found:
            self._told.add(one.locator_key)
            if one.spot not in made:
                self._left.setdefault(one.locator_key, []).append(one.content_key)

    def at(self, key: bytes) -> bool:
        """Tell whether nothing is left to do at a place, nor to say."""
        if key in self._unsettled or key not in self._told:
            return key in self._apart and key not in self._unsettled
        left = self._left.get(key)
        if not left:
            return True
        stand = {bytes(row[0]) for row in self._connection.execute(sql_log.CONTENTS_AT, (key,)).fetchall()}
        return stand.issuperset(left)


def _counted(drafts: Iterable[Draft]) -> tuple[dict[int, int], dict[str | None, int]]:
    """Return how many drafts each place has, by a hash of its locator, and each source; they are gone through once."""
    once: dict[int, int] = {}
    many: dict[str | None, int] = {}
    for one in drafts:
        if one.source is not None:
            name = hash(one.source.locator)
            once[name] = once.get(name, 0) + 1
            many[one.source.path] = many.get(one.source.path, 0) + 1
    return once, many


def _said(ones: Sequence[Draft], is_held: bool, is_whole: bool) -> bytes | None:
    """Return what a place says as bytes that nothing else has; None when a text holds what keeps its parts apart.

    The line is not a part of it: an item may move within its file.
    """
    parts = [f"{len(ones)} {is_held:d} {is_whole:d}"]
    for one in ones:
        source = one.source
        assert source is not None
        parts += (
            f"{len(one.tags)} {one.title is None:d} {one.observed_at is None:d}", one.problem, one.solution,
            one.category, one.project, one.title or "", one.observed_at or "", one.confidence, source.kind,
            source.locator, *one.tags,
        )  # fmt: skip
    text = "\0".join(parts)
    return text.encode("utf-8", "surrogatepass") if text.count("\0") == len(parts) - 1 else None
