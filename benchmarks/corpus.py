"""Learnings by the thousand, with words as common and as rare as words are; the same on every run.

Word frequencies follow Zipf's law over 20,000 invented words: the most common
stands in most learnings, most words in a few.
"""

import os
import random
from collections.abc import Iterator
from itertools import accumulate

from ledger.model import CATEGORIES, Draft, NewEvent, learning_id, new_event_id
from ledger.store_sqlite import SqliteStore
from ledger.view import content

WORDS = 20_000
BATCH = 500
PROJECTS = ("demo", "shop", "billing", "*")


class Corpus:
    """An endless run of drafts and of queries, drawn from one seed; the words are those of every seed."""

    def __init__(self, seed: int = 1) -> None:
        self._draw = random.Random(seed)
        self.words = vocabulary()
        self._weights = list(accumulate(1.0 / rank for rank in range(1, WORDS + 1)))

    def text(self, words: int) -> str:
        """Return a sentence of so many words."""
        return " ".join(self._draw.choices(self.words, cum_weights=self._weights, k=words)).capitalize() + "."

    def draft(self) -> Draft:
        """Return a learning of 60 words, about 400 characters."""
        draw = self._draw
        return Draft(
            problem=self.text(18), solution=self.text(40), category=draw.choice(CATEGORIES),
            project=draw.choice(PROJECTS), title=self.text(6), tags=(draw.choice(self.words),),
        )  # fmt: skip

    def query(self) -> str:
        """Return eight words as people type them: mostly common ones, now and then a rare one."""
        return self.text(8)


def vocabulary() -> list[str]:
    """Return invented words, the most common first."""
    draw = random.Random(0)
    syllables = [one + two for one in "bcdfghjklmnprstvwz" for two in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(draw.choices(syllables, k=draw.choice((2, 3, 3, 4))))] = None
    return list(words)


def recorded(draft: Draft) -> NewEvent:
    """Return the event that records a draft."""
    own_id = new_event_id()
    data, body = content(draft, own_id, "learning.recorded", (), None)
    return NewEvent("learning.recorded", learning_id(own_id), data, body, own_id)


def append(store: SqliteStore, events: list[NewEvent]) -> None:
    """Append events in one transaction."""
    store.append(lambda _: events)


def batches(corpus: Corpus, count: int) -> Iterator[list[NewEvent]]:
    """Yield events to append, 500 at a time."""
    for start in range(0, count, BATCH):
        yield [recorded(corpus.draft()) for _ in range(min(BATCH, count - start))]


def ledger_of(folder: str, count: int) -> str:
    """Return a ledger of so many learnings in a folder; made once, used again when it is there."""
    path = os.path.join(folder, f"{count}.db")
    if not os.path.exists(path + ".made"):
        for name in (path, path + ".anchor"):
            if os.path.exists(name):
                os.unlink(name)
        store = SqliteStore(path, create=True)
        for batch in batches(Corpus(), count):
            append(store, batch)
        store.refresh_counts()
        store.close()
        with open(path + ".made", "w", encoding="ascii"):
            pass
    return path
