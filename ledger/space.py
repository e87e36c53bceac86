"""The learnings of one scope, and how far they lie from a direction.

Kept at hand by a reader: the signs of 2,000 learnings are read in 2 ms, and are
compared with a direction in 0.3 ms.
Lean path: stdlib only.
"""

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ledger import meaning, sql
from ledger.search import Scope

if TYPE_CHECKING:
    from ledger.reader import Reader

VECTORS_KEPT = 4_000
"""Learnings whose vectors a process keeps at hand, of all scopes; 4 KiB each."""

SPACES_KEPT = 4
"""Scopes that a process keeps at hand: 0.3 KiB a learning."""

SCANNED_SCOPE = 20_000
"""Learnings of the largest scope whose signs are looked at: beyond, a question goes by words alone."""

Vectors = tuple[meaning.Vector, meaning.Vector]
"""Where a learning lies: by its problem, and by its whole text."""


class Space:
    """The learnings of a scope, and the signs of those that have a vector: of their problem and of their whole text.

    `vectors` are those that were read already. Learnings only come, so a ledger
    that grew is looked at from where it ended; one that was erased is found no more.
    They are read for many comparisons when the reader stays for many questions.
    `states` are those that were looked up since the last event, None for what is never served.
    """

    def __init__(self, projects: str | None, version: str | None, stays: bool = False) -> None:
        self.projects, self.version = projects, version
        self.unpacked = meaning.quick if stays else meaning.unpacked
        self.every: set[int] = set()
        self.seqs: list[int] = []
        self.problems: list[int] = []
        self.wholes: list[int] = []
        self.at: dict[int, int] = {}
        self.vectors: dict[int, Vectors] = {}
        self.states: dict[int, str | None] = {}
        self.mark: object = None
        self._upto = 0

    def state_of(self, reader: "Reader", seqs: Iterable[int]) -> dict[int, str | None]:
        """Return at least the states of these learnings; 3 µs each when they were not looked up yet.

        What is quarantined or undone may not count: a poisoned import would make the words of a subject common.
        """
        missing = [seq for seq in seqs if seq not in self.states]
        if missing:
            self.states.update(dict.fromkeys(missing))
            self.states.update(reader.rows(sql.STATES_OF, {"seqs": json.dumps(missing)}))
        return self.states

    def signs(self, seq: int) -> tuple[int, int] | None:
        """Return the signs of a learning's problem and of its whole text, None without a vector."""
        at = self.at.get(seq)
        return None if at is None else (self.problems[at], self.wholes[at])

    def grow(self, reader: "Reader") -> None:
        """Take in what was recorded since the last look."""
        self.states.clear()
        binds = {"projects": self.projects, "after": self._upto}
        rows = reader.rows(sql.SCOPE_SEQS, binds)
        self.every.update(seq for (seq,) in rows)
        if self.version is not None and len(self.every) <= SCANNED_SCOPE:
            statement = sql.SIGNS_AFTER if self._upto or self.projects is None else sql.SIGNS
            half = meaning.DIMS // 8
            for seq, signs in reader.rows(statement, binds):
                self.at[seq] = len(self.seqs)
                self.seqs.append(seq)
                self.wholes.append(int.from_bytes(signs[:half], "little"))
                self.problems.append(int.from_bytes(signs[half:], "little"))
        self._upto = rows[-1][0] if rows else self._upto


class Spaces:
    """The scopes that were asked for lately, kept at hand."""

    def __init__(self) -> None:
        self._kept: dict[str | None, Space] = {}
        self._file: object = None

    def of(self, reader: "Reader", scope: Scope) -> Space:
        """Return a scope as it is now; nothing is kept of a file that was compacted or rebuilt: texts were erased."""
        file = reader.rows(sql.FILE_VERSION, {})
        if file != self._file:
            self._kept.clear()
            reader.stems.forget()
            self._file = file
        table = meaning.shared()
        here = table is not None and reader.rows(sql.VECTOR_VERSION, {}) == [(table.version,)]
        version = table.version if table is not None and here else None
        mark = (version, reader.rows(sql.PROJECTION, {})[0])
        kept = self._kept.pop(scope.projects, None)
        if kept is None or kept.version != version:
            kept = Space(scope.projects, version, reader.stays)
        if kept.mark != mark:
            kept.grow(reader)
            kept.mark = mark
        if sum(len(other.vectors) for other in self._kept.values()) + len(kept.vectors) > VECTORS_KEPT:
            for other in self._kept.values():
                other.vectors.clear()
        self._kept[scope.projects] = kept
        if len(self._kept) > SPACES_KEPT:
            del self._kept[next(iter(self._kept))]
        return kept


class Look(NamedTuple):
    """The direction of a clause (None for the whole prompt) and how far every learning of the scope lies from it.

    `distances` counts the different signs of 256, of its problem or its whole text, whichever is nearer.
    """

    clause: int | None
    vector: meaning.Vector
    distances: list[int]
    mean: float
    spread: float


def look(at: int | None, vector: meaning.Vector, space: Space) -> Look:
    """Return how far every learning lies from a direction."""
    sign = meaning.sign(vector)
    distances = [
        about if (about := (sign ^ problem).bit_count()) < (far := (sign ^ whole).bit_count()) else far
        for problem, whole in zip(space.problems, space.wholes, strict=True)
    ]
    many = len(distances)
    mean = sum(distances) / many
    variance = sum(map(int.__mul__, distances, distances)) / many - mean * mean
    return Look(at, space.unpacked(meaning.packed(vector)), distances, mean, math.sqrt(max(variance, 16.0)))


def alike(one: Look, vectors: Vectors) -> float:
    """Return how alike a direction and a learning are, by its problem or its whole text."""
    return max(meaning.cosine(one.vector, vectors[0]), meaning.cosine(one.vector, vectors[1]))
