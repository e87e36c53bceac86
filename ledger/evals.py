"""Run a set of labelled cases against a ledger of its own, and measure what comes back.

The set goes into a temporary ledger through the commands that people, agents
and importers use, each learning at its own date (the clock is set), so that
trust, chains and ages are what they would be. Then every prompt is asked twice:
as an explicit query (`ranked`), and as a prompt whose recall may stay silent
(`injected`). Filler goes in by the hundred, as events like any others.
"""

import calendar
import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ledger import choose, eval_set, filler, measures
from ledger.errors import BadArgument, BadInput, LedgerError
from ledger.eval_set import EvalSet, Row
from ledger.ledger import Ledger
from ledger.measures import Answered, Case
from ledger.model import Actor, Draft, agent, importer, learning_id, new_event_id, person
from ledger.place import os_fault
from ledger.reader import Reader

RANKED_MAX = 10
"""Rows asked of the search; measures look at no more."""

BATCH = 500
"""Most events of filler in one append, as an import has."""

FILLER_MAX = 1_000_000

Progress = Callable[[int, int], None]


class Took(NamedTuple):
    """How long the calls of one setting took, in milliseconds."""

    p50_ms: float | None
    p95_ms: float | None


class Evaluated(NamedTuple):
    """What a run brought: figures, an answer for every case, and how long each setting took."""

    figures: dict[str, Any]
    answers: dict[str, Answered]
    took: dict[str, Took]
    learnings: int
    remarks: list[str]


class Clock:
    """A clock that is told the time."""

    def __init__(self) -> None:
        self.us = 0

    def __call__(self) -> int:
        """Return the time, in microseconds since 1970."""
        return self.us

    def noon(self, date: str) -> None:
        """Go to the middle of a day."""
        self.us = calendar.timegm(time.strptime(f"{date} 12", "%Y-%m-%d %H")) * 1_000_000


def actor_of(trust: int) -> Actor:
    """Return who records learnings of a trust: it follows from the channel, here as everywhere."""
    if trust == 4:
        return person()
    if trust == 3:
        return agent("eval")
    return importer(trust) if trust else Actor("program", "hook", 0)


# -- loading ---------------------------------------------------------------------------------------------------------


class Loading:
    """Fills a ledger with a set and its filler, oldest first."""

    def __init__(self, ledger: Ledger, clock: Clock, where: str, around: str = "the filler") -> None:
        self._ledger, self._clock, self._where, self._around = ledger, clock, where, around
        self.ids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.remarks: list[str] = []

    def load(self, rows: Sequence[Row], around: Sequence[Row], progress: Progress) -> None:
        """Record the set's rows one by one, and what is around them in between.

        Raises:
            BadInput: a row cannot be recorded; names file and line.
        """
        waiting = iter(in_order(around, self._around))
        done, total = 0, len(rows) + len(around)
        upcoming = next(waiting, None)
        for row in [*in_order(rows, self._where), None]:
            before: list[Row] = []
            while upcoming is not None and (row is None or upcoming.observed_at <= row.observed_at):
                before.append(upcoming)
                upcoming = next(waiting, None)
            for group in batches(before):
                self._append(group)
                done += len(group)
                progress(done, total)
            if row is not None:
                self._record(row)
                done += 1
                progress(done, total)

    def _record(self, row: Row) -> None:
        """Record one learning as its channel would."""
        self._clock.noon(row.observed_at)
        actor = actor_of(row.trust)
        try:
            with self._ledger.acting(actor):
                made = self._write(row)
            if row.supersedes and made.state == "candidate":
                with self._ledger.acting(person()):
                    self._ledger.accept(made.id)
        except LedgerError as error:
            raise BadInput(f"{self._where}:{row.line}: {error.message}", error.hint) from None
        same = made.id if made.id in self.ids else next((old for old in made.supersedes if not row.supersedes), None)
        if same is not None:
            raise BadInput(
                f"{self._where}:{row.line}: it says the same as the learning {self.ids[same]!r}; nothing was measured",
                "one text in one project is one learning",
            )
        if made.state != "current" and not row.supersedes:
            self.remarks.append(f"{self._where}:{row.line}: recorded as {made.state}")
        self.ids[made.id] = row.key
        self._names[row.key] = made.id

    def _write(self, row: Row) -> Any:
        observed = f"{row.observed_at}T00:00:00Z"
        if not row.supersedes:
            draft = Draft(row.problem, row.solution, row.category, row.project, None, row.tags, observed)
            return self._ledger.record(draft)
        return self._ledger.supersede(
            [self._names[key] for key in row.supersedes], row.problem, row.solution, "the set says so",
            category=row.category, project=row.project, tags=row.tags, observed_at=observed,
        )  # fmt: skip

    def _append(self, rows: Sequence[Row]) -> None:
        """Append a batch of filler of one trust, as an import would."""
        self._clock.noon(rows[-1].observed_at)
        actor = actor_of(rows[0].trust)
        drafts = []
        for row in rows:
            own = new_event_id()
            olds = [self._names[key] for key in row.supersedes]
            observed = f"{row.observed_at}T00:00:00Z"
            draft = Draft(row.problem, row.solution, row.category, row.project, None, row.tags, observed)
            drafts.append((own, draft, olds))
            self._names[row.key] = learning_id(own)
        with self._ledger.acting(actor):
            try:
                self._ledger.record_all(drafts)
            except LedgerError as error:
                raise self._fault(rows, drafts, error) from None
        self.ids.update((self._names[row.key], row.key) for row in rows)

    def _fault(
        self, rows: Sequence[Row], drafts: Sequence[tuple[str, Draft, list[str]]], of_all: LedgerError
    ) -> BadInput:
        """Return the error of the first row of a batch that cannot be recorded, by its line."""
        for row, (_, draft, _) in zip(rows, drafts, strict=True):
            try:
                self._ledger.record(draft, dry_run=True)
            except LedgerError as error:
                return BadInput(f"{self._around}:{row.line}: {error.message}", error.hint)
        return BadInput(f"{self._around}: {of_all.message}", of_all.hint)


def in_order(rows: Sequence[Row], where: str) -> list[Row]:
    """Return rows by date; one that replaces another comes after it.

    Raises:
        BadInput: rows replace each other in a circle, or one is replaced by a row of an earlier date.
    """
    dates = {row.key: row.observed_at for row in rows}
    for row in rows:
        late = [key for key in row.supersedes if dates[key] > row.observed_at]
        if late:
            raise BadInput(f"{where}:{row.line}: it supersedes a learning of a later date; nothing was measured")
    sorted_rows = sorted(rows, key=lambda row: (row.observed_at, row.line))
    placed: dict[str, Row] = {}
    while sorted_rows:
        left = [row for row in sorted_rows if not _place(row, placed)]
        if len(left) == len(sorted_rows):
            raise BadInput(f"{where}:{left[0].line}: learnings supersede each other in a circle; nothing was measured")
        sorted_rows = left
    return sorted(placed.values(), key=lambda row: row.observed_at)


def _place(row: Row, placed: dict[str, Row]) -> bool:
    """Put a row in its place when all that it replaces is there."""
    if all(key in placed for key in row.supersedes):
        placed[row.key] = row
        return True
    return False


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield runs of rows of one trust, in order, at most `BATCH` long."""
    waiting: dict[int, list[Row]] = {}
    keys: dict[str, int] = {}
    for row in rows:
        if any(keys.get(key, row.trust) != row.trust for key in row.supersedes):
            yield from waiting.values()
            waiting, keys = {}, {}
        group = waiting.setdefault(row.trust, [])
        group.append(row)
        keys[row.key] = row.trust
        if len(group) == BATCH:
            yield waiting.pop(row.trust)
    yield from waiting.values()


# -- asking ----------------------------------------------------------------------------------------------------------


def run(
    known: EvalSet,
    around: Sequence[Row],
    folder: str,
    where: str,
    progress: Progress | None = None,
    around_where: str = "the filler",
) -> Evaluated:
    """Load a set into a new ledger in `folder`, ask every case at both settings, and measure.

    Raises:
        BadInput: a learning of the set cannot be recorded.
    """
    clock = Clock()
    with Ledger.init(os.path.join(folder, "ledger.db"), person(), clock=clock) as ledger:
        loading = Loading(ledger, clock, where, around_where)
        loading.load(known.learnings, around, progress or (lambda done, total: None))
        ledger.store.refresh_counts()
        answers, times = asked(ledger.reader, known.cases, loading.ids)
    replaced = {key for row in (*known.learnings, *around) for key in row.supersedes}
    facts = {row.key: measures.Known(row.project, row.key in replaced) for row in (*known.learnings, *around)}
    figures = measures.measured(known.cases, answers, facts)
    took = {setting: Took(percentile(found, 50), percentile(found, 95)) for setting, found in times.items()}
    return Evaluated(figures, answers, took, len(facts), loading.remarks)


def asked(
    reader: Reader, cases: Sequence[Case], ids: dict[str, str]
) -> tuple[dict[str, Answered], dict[str, list[float]]]:
    """Ask every case as a query and as a prompt; return the keys that came back, and how long each call took."""
    answers: dict[str, Answered] = {}
    times: dict[str, list[float]] = {"query": [], "recall": []}
    for case in cases:
        start = time.perf_counter()
        before = case.previous_turn
        found = reader.query(
            case.prompt, project=case.project, category=case.category, limit=RANKED_MAX, previous=before
        )
        middle = time.perf_counter()
        chosen = choose.choose(reader, case.prompt, case.project, before, category=case.category)
        times["query"].append(1_000 * (middle - start))
        times["recall"].append(1_000 * (time.perf_counter() - middle))
        ranked = [ids[hit.id] for hit in found.hits]
        answers[case.id] = Answered(ranked, [ids[hit.id] for hit in chosen.shown])
    return answers, times


def percentile(values: Sequence[float], share: int) -> float | None:
    """Return the value below which `share` per cent lie, the nearest one that was measured; None without values."""
    ordered = sorted(values)
    return round(ordered[(len(ordered) - 1) * share // 100], 2) if ordered else None


def filled(given: str | None, known: EvalSet) -> list[Row]:
    """Return what `--filler` asks for: a number of rows of our own, or a file of rows.

    Raises:
        BadArgument: neither; a number that cannot be is told from a file that is not there.
    """
    if given is None:
        return []
    if given.isascii() and given.isdigit() and len(given) < 10:
        if int(given) > FILLER_MAX:
            raise BadArgument(f"--filler {given}: at most {FILLER_MAX:,}; nothing was measured")
        return eval_set.made(filler.rows(int(given), eval_set.projects_of(known), eval_set.listed(known)))
    if _is_number(given) and not os.path.exists(given):
        raise BadArgument(f"--filler {given[:40]}: not a whole number, 0 to {FILLER_MAX:,}; nothing was measured")
    return eval_set.surrounding(given, known)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def results(answers: dict[str, Answered]) -> Iterator[str]:
    """Yield a line for each case: what was found and what would have been shown, as keys of the input."""
    for name, answer in answers.items():
        line = {"id": name, "ranked": list(answer.ranked), "injected": list(answer.injected)}
        yield json.dumps(line, ensure_ascii=False)


def check_place(path: str) -> None:
    """Look whether a file can be made or replaced at `path`, before anything is measured for it.

    Raises:
        FileFault: it cannot.
    """
    folder = os.path.dirname(path) or os.curdir
    code = 0
    if os.path.isdir(path):
        code = errno.EISDIR
    elif not os.path.isdir(folder):
        code = errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT
    elif not os.access(folder, os.W_OK | os.X_OK):
        code = errno.EACCES
    if code:
        raise os_fault(OSError(code, os.strerror(code)), path)
