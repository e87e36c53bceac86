"""Decide what a scan means for the ledger: pure, from what was found and what is known.

Identity hangs on places and texts. A text that a place said before and says
still is skipped, whatever became of the learning: a person's undo, retraction
or correction would otherwise be reverted by the next scan (a model of naive
rules lost it in 200 of 200 histories). Additions come before removals over the
whole scan, so that a renamed file keeps its learning. A second scan of the
same files plans nothing.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from importers import lineage
from ledger.model import Change, Found, Known, KnownLearning, Scan

ALIKE = 0.5
"""Share of common words from which a changed text of a list counts as an edit of an old one, not as a new one."""

PAIRS_MAX = 250_000
"""Comparisons in one place beyond which nothing is paired: such a list was rewritten, not edited."""

_WORD = re.compile(r"[a-z0-9_]+|[^\W\d_a-z]", re.IGNORECASE)


def plan(scan: Scan, known: Known, again: bool = False) -> list[Change]:
    """Return the changes that bring the ledger up to what was read, additions first.

    Args:
        scan: what was read, in reading order.
        known: what the ledger holds of these places and texts.
        again: record anew what was taken back, and places blocked by an erasure.
    """
    return lineage.arranged(scan, known, _Planner(scan, known, again).changes())


def vanished(
    stood: Iterable[tuple[bytes, str | None]], whole: frozenset[bytes], roots: Iterable[str], unread: Iterable[str]
) -> frozenset[bytes]:
    """Return the locator keys of known places that are there no more.

    Args:
        stood: locator key and path of live sources; those without a path never vanish.
        whole: locator keys of the places that were read completely.
        roots: files and folders that were covered completely, absolute.
        unread: files and folders below them that exist and could not be read.
    """
    covered, spared = (frozenset(root.rstrip("/\\") or "/" for root in paths) for paths in (roots, unread))
    return frozenset(
        key
        for key, path in stood
        if path is not None and key not in whole and not _below(path, spared) and _below(path, covered)
    )


def _below(path: str, roots: frozenset[str]) -> bool:
    """Tell whether a path is one of these, or lies below one; each folder above it is looked up, not each root."""
    if path in roots or path.rstrip("/\\") in roots or "/" in roots:
        return True
    at = path.rfind("/")
    while at > 0:
        if path[:at] in roots:
            return True
        at = path.rfind("/", 0, at)
    return False


def likeness(one: str, other: str) -> float:
    """Return the share of words that two texts have in common, 0 to 1; a letter outside ASCII counts as a word."""
    return _overlap(_words(one), _words(other))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one | other)
    return len(one & other) / both if both else 0.0


class _Place(NamedTuple):
    """One locator in this scan: what it says, in order and without repeats, and what ever stood there, newest first."""

    key: bytes
    found: list[Found]
    old: list[KnownLearning]


class _Planner:
    """One plan in the making.

    `leaving` tells which places a learning leaves, `claimed` which learnings
    some place says anew, `replaced` which this plan supersedes, `revived` which it
    serves again, `anew` which texts it records although more trusted places took them back.
    """

    def __init__(self, scan: Scan, known: Known, again: bool) -> None:
        self.known = known
        self.again = again
        self.left = scan.whole | scan.gone
        self.outdated = frozenset(key for one in scan.found for key in one.replaces)
        self.told = frozenset(one.locator_key for one in scan.found) | scan.whole
        self.places = self._places(scan)
        self.learnings = {one.id: one for ones in (known.beside, *known.by_content.values()) for one in ones}
        self.learnings.update((one.id, one) for place in self.places for one in place.old)
        self.leaving: dict[str, set[bytes]] = {}
        self.claimed: set[str] = set()
        self.replaced: set[str] = set()
        self.revived: set[str] = set()
        self.anew: set[bytes] = set()
        self.forced: dict[tuple[bytes, bytes], KnownLearning] = {}
        self.additions: list[Change] = []

    def _places(self, scan: Scan) -> list[_Place]:
        """Return every place that was read or has gone, those with something found first, blocked ones left out."""
        found: dict[bytes, dict[bytes, Found]] = {}
        for one in scan.found:
            found.setdefault(one.locator_key, {}).setdefault(one.content_key, one)
        old: dict[bytes, dict[str, KnownLearning]] = {}
        for key, learnings in self.known.by_locator.items():
            old[key] = {learning.id: learning for learning in learnings}
        for learning in self.known.under_roots:
            for key in learning.stands_at:
                old.setdefault(key, {}).setdefault(learning.id, learning)
        keys = [*found, *sorted(self.left - found.keys())]
        return [
            _Place(
                key,
                list(found.get(key, {}).values()),
                sorted(old.get(key, {}).values(), key=lambda learning: -learning.seq),
            )
            for key in keys
            if self.again or key not in self.known.blocked
        ]

    def changes(self) -> list[Change]:
        """Return the plan; see the module for the order of its parts."""
        pending = [(place, self._unmatched(place)) for place in self.places]
        self.claimed.update(one.id for place, founds in pending for one in self._namesakes(place, founds) if one)
        fresh = [(place, self._unknown(place, founds)) for place, founds in pending]
        twins = self._twins(fresh)
        for place, found in fresh:
            self._settle(place, found)
        for twin in twins:
            self.additions.append(Change("add_source", twin))
        return [*self.additions, *self._removals()]

    # -- what a place said before -------------------------------------------------------------------------------------

    def _unmatched(self, place: _Place) -> list[Found]:
        """Return what a place did not say when it was last read; note what leaves it."""
        standing = {one.content_key: one for one in reversed(place.old) if place.key in one.stands_at}
        rest: list[Found] = []
        stays: set[str] = set()
        for found in place.found:
            learning = standing.get(found.content_key)
            if learning is None or (self.again and self._is_taken_back(learning)):
                rest.append(found)
                continue
            stays.add(learning.id)
            if learning.state == "retracted":
                self._revive(found, learning)
            if learning.state in ("candidate", "quarantined"):
                stays.update(head for head, _ in learning.heads)
        self._note_leaving(place, stays)
        return rest

    def _note_leaving(self, place: _Place, stays: set[str]) -> None:
        """Note which learnings stand at a place that says them no more.

        What a waiting proposal wants to replace stays where it stands until
        somebody decides; so does what a person put back by undoing its removal.
        """
        if place.key not in self.left:
            return
        says = {found.content_key for found in place.found}
        for learning in place.old:
            if learning.state == "superseded" and learning.content_key in says:
                continue  # its text was said anew in its place, and in that of others
            if place.key in learning.stands_at and learning.id not in stays and place.key not in learning.kept_at:
                self.leaving.setdefault(learning.id, set()).add(place.key)

    def _is_taken_back(self, learning: KnownLearning) -> bool:
        return learning.state not in ("current", "candidate", "quarantined")

    # -- texts that are known from elsewhere, or from before ----------------------------------------------------------

    def _namesakes(self, place: _Place, pending: list[Found]) -> list[KnownLearning | None]:
        """Return for each text the newest learning that says it: one of this place, else of any, else None."""
        here = {one.content_key: one for one in reversed(place.old)}
        return [here.get(found.content_key) or self._elsewhere(found) for found in pending]

    def _elsewhere(self, found: Found) -> KnownLearning | None:
        """Return the newest learning of the same text; of what an export tells, none that it tells apart from it."""
        same = self.known.by_content.get(found.content_key, ())
        apart = self.told if found.fate else frozenset()
        return next((one for one in same if not (apart and one.stood_at & apart)), None)

    def _unknown(self, place: _Place, pending: list[Found]) -> list[Found]:
        """Return those texts that the ledger does not know; settle the others."""
        fresh = []
        for found, learning in zip(pending, self._namesakes(place, pending), strict=True):
            if learning is None:
                fresh.append(found)
            elif self.again and self._is_taken_back(learning):
                self.forced[place.key, found.content_key] = learning
                fresh.append(found)
            elif learning.state != "undone" and place.key not in learning.undone_at and _is_held_true(found):
                self._arrive(place, found, learning)
        return fresh

    def _arrive(self, place: _Place, found: Found, learning: KnownLearning) -> None:
        """Plan for a known text at a place where it does not stand: a copy, a rename, a return.

        A stale copy of what was replaced does not resurrect it. When nothing
        live is left of what replaced it, somebody has to look, unless it was
        this place's last text and the importer itself retracted it. What a more
        trusted place took back is recorded anew, at this place's trust.
        """
        if learning.retract_seq is not None:
            self._revive(found, learning)
        elif learning.is_refused_above:
            twin = found.content_key in self.anew
            self.anew.add(found.content_key)
            self.additions.append(Change("add_source" if twin else "record", found))
            return
        elif learning.state == "superseded" and self._is_revert(place, found, learning):
            self._replace(place, found, learning.heads)
            return
        elif learning.state == "superseded" and not learning.heads:
            last = place.old[0] if place.old else learning
            if last.state == "retracted" and last.retract_seq is not None and not found.findings:
                self.additions.append(Change("record", found))
            else:
                self._propose(place, found, ())
            return
        elif learning.trust < self.known.trust and learning.state in ("current", "candidate") and not found.findings:
            self._outrank(found, learning)
            return
        self.additions.append(Change("add_source", found, (learning.id,)))

    def _revive(self, found: Found, learning: KnownLearning) -> None:
        """Take back the importer's own retraction or rejection, once; flagged texts stay where they are."""
        is_wanted = not found.findings and found.fate in ("", "current") and found.locator_key not in self.outdated
        if learning.retract_seq is not None and learning.id not in self.revived and is_wanted:
            self.revived.add(learning.id)
            self.additions.append(Change("undo", ids=(learning.id,), seq=learning.retract_seq))

    def _is_revert(self, place: _Place, found: Found, learning: KnownLearning) -> bool:
        """Return whether the text that once replaced `learning` is what now gives way to it again.

        A person's correction does not give way, and neither does a text that
        still stands somewhere: then this is a stale copy.
        """
        if found.findings or not learning.heads:
            return False
        return all(
            self.leaving.get(head)
            and trust <= self.known.trust
            and (place.key in self.leaving[head] or not self._remains(self.learnings[head]))
            for head, trust in learning.heads
        )

    def _outrank(self, found: Found, learning: KnownLearning) -> None:
        """Let the same text from a more trusted channel stand in for the less trusted one, wherever that stands."""
        if learning.state == "current" and learning.id not in self.replaced:
            self.replaced.add(learning.id)
            self.additions.append(Change("supersede", found, (learning.id,)))
        else:
            self.additions.append(Change("record", found))

    def _twins(self, fresh: list[tuple[_Place, list[Found]]]) -> list[Found]:
        """Take repeats of one new text out of `fresh` and return them; the one that edits an old text stays."""
        firsts: dict[bytes, tuple[bool, bytes]] = {}
        for place, founds in fresh:
            edits = any(place.key in self.leaving.get(one.id, ()) for one in place.old)
            for found in founds:
                if found.fate:
                    continue  # an export tells its rows apart, whatever they say
                kept = firsts.get(found.content_key)
                if kept is None or (edits and not kept[0]):
                    firsts[found.content_key] = (edits, place.key)
        twins = []
        for place, founds in fresh:
            again = [found for found in founds if not found.fate and firsts[found.content_key][1] != place.key]
            twins += again
            founds[:] = [found for found in founds if found not in again]
        return twins

    # -- new texts ----------------------------------------------------------------------------------------------------

    def _settle(self, place: _Place, fresh: list[Found]) -> None:
        """Plan for the new texts of a place, each as an edit of what leaves it, or as something new."""
        edited = self._pairs(place, fresh)
        for found in fresh:
            forced = self.forced.get((place.key, found.content_key))
            learning = edited.get(found.content_key)
            if forced is not None:
                self._replace(place, found, forced.heads)
            elif learning is None:
                self.additions.append(Change("record", found))
            else:
                self._edit(place, found, learning)

    def _pairs(self, place: _Place, fresh: list[Found]) -> dict[bytes, KnownLearning]:
        """Return which old learning each new text edits, by content key; live ones are asked first."""
        pairs: dict[bytes, KnownLearning] = {}
        rest = [found for found in fresh if (place.key, found.content_key) not in self.forced]
        for group in self._groups(place):
            if len(place.found) == 1 and len(group) == 1 and rest:
                matched = [(rest[0], group[0])]
            else:
                matched = _closest(rest, group)
            pairs.update((found.content_key, learning) for found, learning in matched)
            rest = [found for found in rest if found.content_key not in pairs]
        return pairs

    def _groups(self, place: _Place) -> list[list[KnownLearning]]:
        """Return what leaves a place: current, waiting, taken back or replaced; last what was undone there."""
        leaving = [one for one in place.old if place.key in self.leaving.get(one.id, ())]
        waiting = ("candidate", "quarantined")
        says = {found.content_key for found in place.found}
        return [
            [one for one in leaving if one.state == "current"],
            [one for one in leaving if one.state in waiting],
            [one for one in leaving if one.state not in ("current", *waiting)],
            [one for one in place.old if place.key in one.undone_at and one.content_key not in says],
        ]

    def _edit(self, place: _Place, found: Found, learning: KnownLearning) -> None:
        """Plan for a text that `learning` turned into at one place."""
        if learning.state == "candidate":
            self._propose(place, found, learning.heads)
        elif learning.state == "current" or learning.heads:
            self._replace(place, found, learning.heads)
        elif learning.state == "quarantined" or learning.retract_seq is not None:
            self.additions.append(Change("record", found))
        else:
            self._propose(place, found, ())

    def _replace(self, place: _Place, found: Found, heads: tuple[tuple[str, int], ...]) -> None:
        """Supersede `heads` where trust reaches, propose it where not; record apart where the old text still stands."""
        split = any(head in self.learnings and self._remains(self.learnings[head]) for head, _ in heads)
        if not heads or split or any(head in self.replaced for head, _ in heads):
            self.additions.append(Change("record", found))
        elif found.findings or any(trust > self.known.trust for _, trust in heads):
            self._propose(place, found, heads)
        else:
            ids = tuple(head for head, _ in heads)
            self.replaced.update(ids)
            self.additions.append(Change("supersede", found, ids))

    def _propose(self, place: _Place, found: Found, heads: tuple[tuple[str, int], ...]) -> None:
        """Propose `found` in the place of `heads`; those stay where they stand until somebody decides."""
        ids = tuple(head for head, _ in heads if head not in self.replaced)
        for head in ids:
            self.leaving.get(head, set()).discard(place.key)
        self.additions.append(Change("propose", found, ids))

    # -- removals -----------------------------------------------------------------------------------------------------

    def _remains(self, learning: KnownLearning) -> bool:
        """Return whether another place still says this text, or what was merged into it, or says it anew."""
        standing = learning.stands_at.keys() - self.leaving.get(learning.id, set())
        also = any(key not in self.leaving.get(name, set()) for name, key in learning.merged)
        return bool(standing) or also or learning.id in self.claimed

    def _removals(self) -> list[Change]:
        """Return what ends: a source for every place left, the learning with its last one.

        The learning goes first: an import killed between the two is finished
        by the next scan.
        """
        changes = []
        left = [self.learnings[name] for name, keys in self.leaving.items() if keys]
        for learning in sorted(left, key=lambda one: one.seq):
            if learning.trust <= self.known.trust and learning.id not in self.replaced and not self._remains(learning):
                if learning.state == "current":
                    changes.append(Change("retract", ids=(learning.id,)))
                elif learning.state == "candidate":
                    changes.append(Change("reject", ids=(learning.id,)))
            changes += [
                Change("remove_source", ids=(learning.id,), source_id=learning.stands_at[key])
                for key in sorted(self.leaving[learning.id])
            ]
        return changes


def _is_held_true(found: Found) -> bool:
    """Tell whether its source still holds a text to be true, or says nothing about that."""
    return found.fate in ("", "current", "superseded")


def _closest(fresh: list[Found], old: list[KnownLearning]) -> list[tuple[Found, KnownLearning]]:
    """Return pairs of new and old texts that are alike, the likest first, each used once."""
    if not fresh or not old or len(fresh) * len(old) > PAIRS_MAX:
        return []
    words = [_words(learning.text) for learning in old]
    scored = []
    for i, found in enumerate(fresh):
        mine = _words(f"{found.draft.problem}\n{found.draft.solution}")
        scored += [(-_overlap(mine, theirs), i, j) for j, theirs in enumerate(words)]
    pairs: list[tuple[Found, KnownLearning]] = []
    used: tuple[set[int], set[int]] = (set(), set())
    for score, i, j in sorted(scored):
        if -score >= ALIKE and i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            pairs.append((fresh[i], old[j]))
    return pairs
