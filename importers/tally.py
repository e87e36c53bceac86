"""Count what a scan means for each source: how many items it holds, and how many are new, changed or gone.

`ingest` counts for each importer and trust; a person wants to know of which
folder or file. So the plan of an import is listened to: nothing is decided here.
"""

import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

from importers import files
from importers.registry import Place
from ledger.ingest import Plan, Vanished
from ledger.model import Change, Found, Known, Reading, Scan


class Count:
    """What is counted of one source."""

    def __init__(self) -> None:
        self.items = self.new = self.changed = self.gone = 0


class Listening:
    """A plan and what has vanished, as an import asks for them; counted is what was said last of each list of finds:
    an import plans anew when somebody else appended meanwhile, and a large one has several plans."""

    def __init__(self, plan: Plan, vanished: Vanished) -> None:
        self._plan, self._vanished = plan, vanished
        self._paths: dict[bytes, str | None] = {}
        self._last: list[Found] | None = None
        self._said: list[Counter[tuple[str, str | None]]] = []

    def plan(self, scan: Scan, known: Known, again: bool) -> list[Change]:
        """Plan as told."""
        for found in scan.found:
            if found.draft.source is not None:
                self._paths[found.locator_key] = found.draft.source.path
        changes = self._plan(scan, known, again)
        if scan.found is self._last:
            self._said.pop()
        self._said.append(Counter(self._changes(changes, known)))
        self._last = scan.found
        return changes

    def vanished(
        self, stood: Iterable[tuple[bytes, str | None]], whole: frozenset[bytes], roots: Iterable[str],
        unread: Iterable[str],
    ) -> frozenset[bytes]:  # fmt: skip
        """Tell what has vanished, and remember where each place is."""
        listed = list(stood)
        self._paths.update(listed)
        return self._vanished(listed, whole, roots, unread)

    def changes(self) -> Counter[tuple[str, str | None]]:
        """Return how often something is to be done: `new`, `changed` or `gone`, and the path where."""
        return sum(self._said, Counter())

    def _changes(self, changes: list[Change], known: Known) -> Iterable[tuple[str, str | None]]:
        replaced = {name for change in changes if change.act in ("supersede", "propose") for name in change.ids}
        places: dict[str, list[bytes]] = {}
        for learning in (*known.under_roots, *(one for found in known.by_locator.values() for one in found)):
            places.setdefault(learning.id, list(learning.stands_at))
        left: set[str] = set()
        for change in changes:
            if change.act in ("record", "supersede", "propose") and change.found is not None:
                source = change.found.draft.source
                yield "changed" if change.ids else "new", source.path if source is not None else None
            elif change.act == "undo":
                yield "new", self._where(change.ids, places)
            elif change.act in ("retract", "reject", "remove_source"):
                gone = set(change.ids) - replaced - left
                left |= gone
                if gone:
                    yield "gone", self._where(gone, places)

    def _where(self, ids: Iterable[str], places: dict[str, list[bytes]]) -> str | None:
        """Return where a learning stands, of those places that this reading is about."""
        found = [self._paths.get(key) for name in ids for key in places.get(name, ())]
        return next((path for path in found if path is not None), None)


class Tally:
    """Counts of the sources of one scan; the kind of one is '' where its content tells."""

    def __init__(self, sources: Iterable[Place]) -> None:
        self._asked = list(dict.fromkeys(sources))
        self._real = [(files.real(source.path), source) for source in self._asked]
        self._counts: dict[Place, Count] = {}
        self._above = {"", *(above for real, _ in self._real for above in _folders_above(real))}
        self._known: dict[tuple[str, str], Count | None] = {}

    def read(self, reading: Reading) -> None:
        """Count the items of a reading, and know its kind for the sources it comes from."""
        for path in (*reading.paths, *reading.roots):
            self._of(reading.importer, path)
        for passed, items in reading.passed.items():
            self._add(reading.importer, passed, "items", items)
        paths = Counter(draft.source.path if draft.source is not None else None for draft in reading.drafts)
        for at, items in paths.items():
            self._add(reading.importer, at, "items", items)

    def heard(self, kind: str, listening: Listening) -> None:
        """Count what an import of a kind did, or would do."""
        for (what, path), many in listening.changes().items():
            self._add(kind, path, what, many)

    def _add(self, kind: str, path: str | None, what: str, many: int = 1) -> None:
        count = self._of(kind, path)
        if count is not None:
            setattr(count, what, getattr(count, what) + many)

    def _of(self, kind: str, path: str | None) -> Count | None:
        """Return the count of the innermost source around a path, one of its kind before any other.

        What lies side by side in a folder that holds no source has the same one.
        """
        folder = os.path.dirname(path or "")
        if folder in self._above:
            return self._found(kind, path)
        if (kind, folder) not in self._known:
            self._known[kind, folder] = self._found(kind, path)
        return self._known[kind, folder]

    def _found(self, kind: str, path: str | None) -> Count | None:
        if path is None:
            around = [source for source in self._asked if source.kind == kind]
        else:
            real = [(len(real), source) for real, source in self._real if (path + os.sep).startswith(_within(real))]
            around = [source for _, source in sorted(real, key=lambda one: (one[1].kind == kind, one[0]))]
        if not around:
            return None
        return self._counts.setdefault(Place(kind, around[-1].path), Count())

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each source and kind, in the order of the sources; one that said nothing has its own."""
        order = {source.path: number for number, source in reversed(list(enumerate(self._asked)))}
        heard = {source.path for source in self._counts}
        for source in self._asked:
            if source.path not in heard:
                self._counts[source] = Count()
        rows = [
            {"kind": kind, "path": path} | {name: getattr(count, name) for name in ("items", "new", "changed", "gone")}
            for (kind, path), count in self._counts.items()
        ]
        return sorted(rows, key=lambda row: (order[row["path"]], row["kind"]))


def _folders_above(path: str) -> Iterable[str]:
    """Yield the folder that a path lies in, and those around it."""
    while path != (path := os.path.dirname(path)):
        yield path


def _within(path: str) -> str:
    return path if path.endswith(os.sep) else path + os.sep
