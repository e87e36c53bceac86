"""Add to a plan what a source tells of the past of its rows: what replaced what, and what it took back.

Pure, over the changes of `plan`. What is replaced is made before what replaces
it. A row that an export calls retracted, undone, rejected or a candidate is made,
and made so, in one transaction. What a person undid or took back
is not done again: only what is current gives way, and never to a less trusted place.
"""

from collections.abc import Iterator

from ledger.model import Change, Found, Known, KnownLearning, Scan

OLDS_MAX = 50
"""Most learnings that one event may replace."""

CREATING = ("record", "supersede", "propose")
ENDS = {
    "retracted": "retract", "undone": "take_back", "rejected": "reject", "superseded": "retract",
    "quarantined": "withhold",
}  # fmt: skip
"""What becomes at once of a row that is made, by what its source says of it."""

SERVED = ("", "current", "superseded", "quarantined")
"""What a source may say of a row that gave way to another; what is withheld was served before."""

Spot = tuple[bytes, bytes]


def arranged(scan: Scan, known: Known, changes: list[Change]) -> list[Change]:
    """Return the changes with what the scan tells of the past; the same list when it tells nothing."""
    if not any(one.replaces or one.fate for one in scan.found):
        return changes
    return _Lineage(scan, known, changes).changes()


class _Lineage:
    """A plan on its way to one that keeps lineage.

    `made` are the changes that make a learning, by the spot of their text;
    `there` the learnings that a text of the scan is already; `gone` those that this plan ends or replaces,
    `replaced` the spots of those it makes and replaces, `outdated` the spots of all that should be.
    """

    def __init__(self, scan: Scan, known: Known, changes: list[Change]) -> None:
        self.scan, self.known, self.rest = scan, known, changes
        self.made = {one.found.spot: one for one in changes if one.act in CREATING and one.found is not None}
        self.at: dict[bytes, list[Found]] = {}
        for one in scan.found:
            self.at.setdefault(one.locator_key, []).append(one)
        learnings = [
            *known.under_roots,
            *(one for ones in (*known.by_content.values(), *known.by_locator.values()) for one in ones),
        ]
        self.learnings = {one.id: one for one in learnings}
        self.there = self._there()
        self.outdated = {
            old.spot
            for one in scan.found
            if not one.findings and one.fate in (*SERVED, "retracted")
            for old in self._olds(one)
        }
        self.gone = {name for one in changes if one.act in ("supersede", "retract") for name in one.ids}
        self.replaced: set[Spot] = set()

    def changes(self) -> list[Change]:
        """Return creating changes in the order of their lineage, what becomes of them, and the rest of the plan."""
        linked: list[Change] = []
        for found in self._in_order():
            change = self.made.get(found.spot)
            if change is not None:
                self.made[found.spot] = self._linked(change, found)
            else:
                linked += self._relinked(found)
        made = self._made()
        ended = [change for found in self.scan.found for change in self._ended(found)]
        rest = [one for one in self.rest if one.act not in CREATING]
        return [*made, *linked, *rest, *ended]

    def _made(self) -> list[Change]:
        """Return the changes that make learnings, each with its end; a withheld one that is replaced is so first."""
        made: list[Change] = []
        waiting: list[Found] = []
        for found in self._in_order():
            if found.spot not in self.made:
                continue
            made += self._with_end(self.made[found.spot], found)
            for one in [one for one in waiting if one.spot in self.made[found.spot].olds]:
                waiting.remove(one)
                made[-1] = made[-1]._replace(joined=True)
                made.append(Change("withhold", one))
            if found.fate == "quarantined" and found.spot in self.replaced:
                waiting.append(found)
            if waiting:
                made[-1] = made[-1]._replace(joined=True)
        return made

    # -- what is where ------------------------------------------------------------------------------------------------

    def _there(self) -> dict[Spot, KnownLearning]:
        """Return which learning each text of the scan is that this plan does not make."""
        added = {
            one.found.spot: self.learnings[one.ids[0]]
            for one in self.rest
            if one.act == "add_source" and one.found is not None and one.ids and one.ids[0] in self.learnings
        }
        found = dict(added)
        for one in self.scan.found:
            if one.spot in self.made or one.spot in found:
                continue
            same = [old for old in self.known.by_locator.get(one.locator_key, ()) if old.content_key == one.content_key]
            live = [old for old in same if one.locator_key in old.stands_at]
            if live or same:
                found[one.spot] = (live or same)[0]
        return found

    def _olds(self, found: Found) -> Iterator[Found]:
        for key in found.replaces:
            for old in self.at.get(key, ()):
                if old.spot != found.spot:
                    yield old

    def _in_order(self) -> list[Found]:
        """Return the texts of the scan, each right after those that it replaces; a circle is broken where it closes."""
        done: dict[Spot, Found] = {}
        begun: set[Spot] = set()
        replaced = {old.spot for one in self.scan.found for old in self._olds(one)}
        for first in sorted(self.scan.found, key=lambda one: one.spot in replaced):
            todo = [(first, False)]
            while todo:
                one, is_ready = todo.pop()
                if is_ready:
                    done.setdefault(one.spot, one)
                elif one.spot not in begun:
                    begun.add(one.spot)
                    todo.append((one, True))
                    todo += [(old, False) for old in reversed(list(self._olds(one))) if old.spot not in begun]
        return list(done.values())

    # -- links --------------------------------------------------------------------------------------------------------

    def _giving_way(self, found: Found) -> tuple[list[KnownLearning], list[Spot]]:
        """Return what gives way to a text: learnings that are there, and spots of those that this plan makes."""
        there, made = [], []
        for old in self._olds(found):
            change, learning = self.made.get(old.spot), self.there.get(old.spot)
            if change is not None:
                is_served = change.act != "propose" and not old.findings and old.fate in SERVED
                if is_served and old.spot not in self.replaced and old.spot != found.spot:
                    made.append(old.spot)
            elif learning is not None and learning.state == "current" and learning.id not in self.gone:
                there.append(learning)
        return list({one.id: one for one in there}.values()), list(dict.fromkeys(made))

    def _linked(self, change: Change, found: Found) -> Change:
        """Return a change that makes a learning with what that replaces; a candidate only suggests it."""
        if found.fate in ("candidate", "rejected"):
            there, made = self._giving_way(found)
            ids = (*change.ids, *(one.id for one in there))[:OLDS_MAX]
            return change._replace(act="propose", ids=ids, olds=tuple(made)[: OLDS_MAX - len(ids)])
        there, made = self._giving_way(found)
        if not there and not made:
            is_waiting = found.fate == "quarantined" and found.spot not in self.outdated
            return change._replace(act="propose") if is_waiting else change
        above = [one for one in there if one.trust > self.known.trust]
        if found.findings or above or change.act == "propose":
            ids = (*change.ids, *(one.id for one in there))[:OLDS_MAX]
            return change._replace(act="propose", ids=ids, olds=tuple(made)[: OLDS_MAX - len(ids)])
        ids = (*change.ids, *(one.id for one in there))[:OLDS_MAX]
        olds = tuple(made)[: OLDS_MAX - len(ids)]
        self.gone.update(ids)
        self.replaced.update(olds)
        return change._replace(act="supersede", ids=ids, olds=olds)

    def _relinked(self, found: Found) -> list[Change]:
        """Return how a text that is there already takes the place of others that are: it is said anew, in place of all.

        Not again when somebody undid that; where a more trusted place says it, the old ones are only taken back.
        """
        new = self.there.get(found.spot)
        there, made = self._giving_way(found) if found.replaces else ([], [])
        olds = [one for one in there if new is not None and one.id != new.id and one.trust <= self.known.trust]
        if new is None or new.state != "current" or new.id in self.gone or not (olds or made) or found.findings:
            return []
        if any(found.locator_key in one.undone_at for one in self.known.by_locator.get(found.locator_key, ())):
            return []
        olds = olds[: OLDS_MAX - 1]
        if new.trust > self.known.trust:
            olds = [one for one in olds if not one.is_restored]
            self.gone.update(one.id for one in olds)
            return [Change("retract", found, tuple(one.id for one in olds))] if olds else []
        ids = (new.id, *(one.id for one in olds))
        spots = tuple(made)[: OLDS_MAX - len(ids)]
        self.gone.update(ids)
        self.replaced.update(spots)
        return [Change("supersede", found, ids, olds=spots)]

    # -- ends ---------------------------------------------------------------------------------------------------------

    def _with_end(self, change: Change, found: Found) -> list[Change]:
        """Return a change that makes a learning, and what becomes of that at once."""
        act = ENDS.get(found.fate) or ("retract" if found.spot in self.outdated else None)
        if found.findings or act is None or found.spot in self.replaced:
            return [change]
        if act == "retract" and change.act == "propose":
            return [change]
        return [change._replace(joined=True), Change(act, found)]

    def _ended(self, found: Found) -> list[Change]:
        """Return how a learning ends that is there and that its export has taken back since.

        What stands elsewhere too, is more trusted, or was restored by somebody stays.
        """
        learning = self.there.get(found.spot)
        if learning is None or found.fate not in ENDS or learning.id in self.gone:
            return []
        if found.fate == "quarantined":
            return []
        if found.fate == "rejected":
            return [Change("reject", found, (learning.id,))] if learning.state == "candidate" else []
        is_only_here = learning.stands_at.keys() <= {found.locator_key}
        is_ours = learning.trust <= self.known.trust and is_only_here and not learning.is_restored
        if learning.state != "current" or not is_ours:
            return []
        self.gone.add(learning.id)
        return [Change("retract", found, (learning.id,))]
