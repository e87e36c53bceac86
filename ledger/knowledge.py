"""What the ledger holds of the places and texts of a scan, as an import plan needs it.

Read between appends, on the writer's own connection; nothing here writes.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ledger import fold, project, sql_log
from ledger.fold import Act
from ledger.model import Known, KnownLearning, Scan

KEYS_MANY = 1_000
"""Keys that are looked up by one statement."""


class Knowledge:
    """What the ledger holds of the places and texts of a scan, as `plan` needs it."""

    def __init__(self, connection: Any, trust: int) -> None:
        self._connection = connection
        self._trust = trust
        self._made: dict[str, KnownLearning] = {}

    def of(
        self,
        scan: Scan,
        leaving: Iterable[str] = (),
        passed: frozenset[bytes] = frozenset(),
        blocked: frozenset[bytes] | None = None,
    ) -> Known:
        """Return everything known about a scan.

        Args:
            leaving: learnings with a source that has gone.
            passed: locator keys of places that say what they said, and are no part of the scan.
            blocked: locator keys that erasures block, when the caller knows them.
        """
        locators = {one.locator_key for one in scan.found} | scan.whole | scan.gone
        by_locator = self._by_key(sql_log.LOCATORS_AMONG, locators)
        by_content = self._by_key(sql_log.CONTENTS_AMONG, {one.content_key for one in scan.found})
        under = sorted((self._learning(name) for name in leaving), key=lambda one: -one.seq)
        return Known(
            by_locator,
            by_content,
            under,
            self.blocked() if blocked is None else blocked,
            self._trust,
            self._beside(passed),
        )

    def _beside(self, passed: frozenset[bytes]) -> list[KnownLearning]:
        """Return the heads of what is known that ever stood, or whose text did, at a place which was passed over."""
        if not passed:
            return []
        heads = {head for one in self._made.values() for head, _ in one.heads}
        found = [self._learning(name) for name in sorted(heads - self._made.keys())]
        return [one for one in found if any(not passed.isdisjoint(other.stood_at) for other in self._same(one))]

    def _same(self, one: KnownLearning) -> list[KnownLearning]:
        """Return a learning and the others of the same text."""
        if one.content_key is None:
            return [one]
        return self._by_key(sql_log.CONTENTS_AMONG, [one.content_key])[one.content_key]

    def _by_key(self, statement: str, keys: Iterable[bytes]) -> dict[bytes, list[KnownLearning]]:
        """Return the learnings of each key that has some, newest first."""
        found: dict[bytes, dict[str, None]] = {}
        for key, name, *_ in among(self._connection, statement, keys):
            found.setdefault(bytes(key), {})[name] = None
        return {key: [self._learning(name) for name in names] for key, names in found.items()}

    def blocked(self) -> frozenset[bytes]:
        """Return the locator keys that erasures block, until a person has the place read again."""
        rows = self._connection.execute(sql_log.BLOCKED).fetchall()
        since = {bytes.fromhex(key): seq for seq, data in rows for key in json.loads(data)}
        return frozenset(key for key, seq in since.items() if self._added(key) < seq)

    def _added(self, key: bytes) -> int:
        return self._connection.execute(sql_log.ADDED_LAST, (key,)).fetchone()[0] or 0

    def _learning(self, name: str) -> KnownLearning:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> KnownLearning:
        connection = self._connection
        row = dict(zip(sql_log.LEARNING_COLUMNS, connection.execute(sql_log.LEARNING, (name,)).fetchone(), strict=True))
        acts = project.touching(connection, (name,))
        live = fold.alive(acts)
        state = fold.state(fold.fold(name, acts))
        stands: dict[bytes, str] = {}
        stood, undone, key_of = set(), set(), {}
        for source, key, event_seq, to_seq in connection.execute(sql_log.ALL_SOURCES, (name,)).fetchall():
            if key is None:
                continue
            key_of[source] = bytes(key)
            stood.add(bytes(key))
            if to_seq is None:
                stands[bytes(key)] = source
            if event_seq not in live:
                undone.add(bytes(key))
        removed_in_vain = {
            key_of.get(act.data["source"]) for act in acts if act.kind == "source.removed" and act.seq not in live
        }
        refusal = _own_refusal(acts, live)
        return KnownLearning(
            name,
            row["seq"],
            acts[-1].seq,
            state,
            max(row["trust"], fold.trust(name, acts)),
            bytes(row["content_key"]) if row["content_key"] is not None else None,
            stands,
            frozenset(stood),
            refusal.seq if refusal is not None and refusal.trust <= self._trust else None,
            self._heads(name, acts, live, state),
            frozenset(undone),
            frozenset(key for key in removed_in_vain if key in stands),
            "\n".join((row["problem"] or "", row["solution"] or "")),
            refusal is not None and refusal.trust > self._trust,
            _is_restored(acts, live),
            tuple((old, bytes(key)) for old, key in connection.execute(sql_log.MERGED_PLACES, (name,)).fetchall()),
        )

    def _heads(self, name: str, acts: list[Act], live: set[int], state: str) -> tuple[tuple[str, int], ...]:
        """Return the live heads of a chain with their trust; see `KnownLearning`."""
        heads = self._live_heads(name)
        if not heads and state not in ("current", "superseded"):
            creating = next((act for act in acts if act.stream == name and act.kind in fold.CREATING), None)
            for old in creating.data.get("supersedes", ()) if creating else ():
                heads.update(self._live_heads(old))
        return tuple(sorted(heads.items()))

    def _live_heads(self, name: str) -> dict[str, int]:
        found = {}
        for (head,) in self._connection.execute(sql_log.HEADS, {"id": name}).fetchall():
            found[head] = fold.trust(head, project.touching(self._connection, (head,)))
        return found


def among(connection: Any, statement: str, keys: Iterable[bytes]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a statement for these keys, each of 32 bytes, a thousand of them at a time."""
    asked = sorted(keys)
    for at in range(0, len(asked), KEYS_MANY):
        yield from connection.execute(statement, {"keys": b"".join(asked[at : at + KEYS_MANY])}).fetchall()


def _is_restored(acts: list[Act], live: set[int]) -> bool:
    """Tell whether somebody undid an importer's retraction."""
    return any(act.kind == "learning.retracted" and act.channel == "import" and act.seq not in live for act in acts)


def _own_refusal(acts: list[Act], live: set[int]) -> Act | None:
    """Return an importer's live retract or reject; None when there is none or a person made it."""
    kinds = ("learning.retracted", "proposal.rejected")
    found = [act for act in acts if act.kind in kinds and act.seq in live]
    return found[-1] if found and found[-1].channel == "import" else None
