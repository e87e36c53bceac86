"""Recall of single turns of long conversations: another kind of text than the ranking was fitted on.

    python benchmarks/locomo.py FOLDER_OR_ZIP [--conversations N] [--json]

Takes the conversations of LoCoMo (`locomo10_v2` of the repository
snap-research/locomo), which stay where they are: nothing of them ships here.
Every turn is a learning, every conversation a project of one ledger. A question
finds its share of the turns that its evidence names, among the first five of
`Reader.query`; asked with vectors, then by words alone. Target: recall@5 >= 57 %
over all ten with vectors.
"""

import json
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from measure import Figure, show, spread

from ledger import meaning
from ledger.ledger import Ledger
from ledger.model import Draft, new_event_id
from ledger.reader import Reader, open_reader

SHOWN = 5
TARGET = 57.0


class Question(NamedTuple):
    """What is asked within a project, and the ids of the learnings that answer it."""

    text: str
    project: str
    wanted: frozenset[str]


def conversations(given: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content of every conversation in a folder or a zip, in the order of their names."""
    if zipfile.is_zipfile(given):
        with zipfile.ZipFile(given) as archive:
            for name in sorted(name for name in archive.namelist() if name.endswith(".json")):
                yield Path(name).stem, json.loads(archive.read(name))
        return
    for path in sorted(Path(given).rglob("*.json")):
        yield path.stem, json.loads(path.read_bytes())


def turns(talk: dict[str, Any]) -> dict[str, str]:
    """Return every turn by its id: who said what, and what the picture shows that came with it."""
    sessions = [talk[name] for name in talk if re.fullmatch(r"session_\d+", name)]
    return {
        turn["dia_id"]: " ".join(
            filter(None, (f"{turn['speaker']}:", turn.get("clean_text") or turn.get("text"), turn.get("blip_caption")))
        )
        for session in sessions
        for turn in session
    }


def loaded(ledger: Ledger, project: str, talk: dict[str, Any]) -> list[Question]:
    """Record a conversation in one append; return its questions, without those whose evidence names no turn.

    A turn has neither title nor solution. Its id stands for both, so that no word of it counts twice:
    a derived title repeats its first sentence.
    """
    said = turns(talk)
    drafts = [(new_event_id(), Draft(text, name, project=project, title=name), ()) for name, text in said.items()]
    ids = dict(zip(said, ledger.record_all(drafts), strict=True))
    questions = []
    for one in talk["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(one.get("evidence") or ()))
        wanted = frozenset(ids[name] for name in named if name in ids)
        if wanted:
            questions.append(Question(one["question"], project, wanted))
    return questions


def asked(reader: Reader, questions: Sequence[Question]) -> tuple[list[float], list[float]]:
    """Return for each question the share of its turns that was found, and how long it took, in ms."""
    shares, times = [], []
    for one in questions:
        begun = time.perf_counter()
        answer = reader.query(one.text, project=one.project, limit=SHOWN)
        times.append((time.perf_counter() - begun) * 1e3)
        shares.append(len(one.wanted & {hit.id for hit in answer.hits}) / len(one.wanted))
    return shares, times


def main(given: str) -> None:
    """Record the conversations, ask every question in both settings, print the figures."""
    many = int(sys.argv[sys.argv.index("--conversations") + 1]) if "--conversations" in sys.argv else None
    talks = list(conversations(given))[:many]
    if not talks:
        sys.exit(f"no conversation in {given}")
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "ledger.db")
        with Ledger.init(path) as ledger:
            questions = [one for name, talk in talks for one in loaded(ledger, name, talk)]
            ledger.store.refresh_counts()
        figures.append(Figure("questions", len(questions)))
        with open_reader(path) as reader:
            for setting, table in (("with vectors", meaning.shared()), ("words alone", None)):
                meaning.use(table)
                target = TARGET if table is not None and many is None else None
                shares, times = asked(reader, questions)
                recall = sum(shares) / len(shares) * 100
                figures.append(Figure(f"recall@{SHOWN}, {setting}", recall, "%", target, more=True))
                figures += spread(f"query, {setting}", times, "ms")
    show("locomo", figures)


if __name__ == "__main__":
    main(sys.argv[1])
