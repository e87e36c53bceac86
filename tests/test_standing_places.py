"""Of a source that changed, only the places that say something else pass the guards; what comes of it is the same."""

import binascii
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import foreign
import pytest

from importers.plan import plan, vanished
from importers.registry import scan_paths
from ledger import checkpoints, decide, door, erase, ingest
from ledger.errors import LedgerError
from ledger.ingest import Imported
from ledger.ledger import Ledger
from ledger.model import Draft, Reading, Source, agent

MANY = 30
TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
TIME = 1_793_692_800_000

Guarded = list[str]


@pytest.fixture(autouse=True)
def _old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let times of files count although they are new."""
    monkeypatch.setattr(checkpoints, "RACY_S", -3_600)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Return a database of claude-mem in use, with thirty observations."""
    rows = (foreign.observation(number, f"Title {number}") for number in range(1, MANY + 1))
    connection = foreign.database(tmp_path / "c.db", *rows)
    yield connection
    connection.close()


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> Guarded:
    """Return the titles of the drafts that pass the guards from here on."""
    titles: list[str] = []
    whole = door.draft

    def counted(given: Draft, *more: Any) -> door.Passed:
        titles.append(given.title or "")
        return whole(given, *more)

    monkeypatch.setattr(door, "draft", counted)
    return titles


Bring = Callable[..., Imported]


@pytest.fixture
def bring(ledger: Ledger, tmp_path: Path, database: sqlite3.Connection) -> Bring:
    """Return an import of the database as the command does it."""
    return lambda **how: brought(ledger, tmp_path / "c.db", **how)


def brought(
    ledger: Ledger, *paths: Path, again: bool = False, dry_run: bool = False, is_told: bool = True, ends: int = 0
) -> Imported:
    """Import paths of one kind as the command does; `ends` after so many transactions.

    Without `is_told` there are no checkpoints, and all is planned at once.
    """
    seen = ingest.seen_by(ledger) if is_told else None
    done = 0

    def progress(*_: int) -> None:
        nonlocal done
        done += 1
        if done == ends:
            raise KeyboardInterrupt

    (reading,) = scan_paths([str(path) for path in paths], seen=None if again else seen)
    portion, ingest.PORTION = ingest.PORTION, ingest.PORTION if is_told else 1_000_000
    try:
        made = ingest.run(ledger, reading, plan, vanished, again=again, dry_run=dry_run, seen=seen, progress=progress)
    finally:
        ingest.PORTION = portion
    if seen is not None and not dry_run:
        seen.save()
    return made


def said(connection: sqlite3.Connection, number: int, title: str) -> None:
    """Let an observation say something else."""
    connection.execute(
        "UPDATE observations SET title = ?, narrative = ? WHERE id = ?", (title, f"{title} in full", number)
    )


def id_of(ledger: Ledger, title: str) -> str:
    """Return the newest learning of a title."""
    statement = "SELECT id FROM learning WHERE title = ? ORDER BY seq DESC LIMIT 1"
    return str(ledger.store.connection().execute(statement, (title,)).fetchone()[0])


def digests(ledger: Ledger) -> int:
    """Return how many places the checkpoints remember."""
    lines = Path(ledger.path + checkpoints.ENDING).read_text("ascii").splitlines()
    told = [line.split(" ")[3] for line in lines if line.startswith(f"{checkpoints.PLACES} ")]
    return sum(len(binascii.a2b_base64(one)) for one in told) // checkpoints.DIGEST_BYTES


def counts(done: Imported) -> tuple[int, ...]:
    """Return every count of an import."""
    return (done.recorded, done.superseded, done.retracted, done.unchanged, done.proposed, done.quarantined,
            done.skipped, done.sources_added, done.sources_removed, done.restored, done.masked)  # fmt: skip


def test_one_more_row_is_all_that_passes_the_guards(
    bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """The others count as unchanged; three more imports add nothing."""
    bring()
    foreign.put(database, foreign.observation(99, "Title new"))
    guarded.clear()

    done = bring()

    assert (guarded, done.recorded, done.unchanged) == (["Title new"], 1, MANY)
    assert [(one.batch, one.unchanged) for one in (bring(), bring(), bring())] == [(None, MANY + 1)] * 3
    assert guarded == ["Title new"]


def test_a_column_that_is_not_read_makes_nothing_new(
    bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """Another program counts how often it showed each row."""
    bring()
    database.execute("UPDATE observations SET relevance_count = relevance_count + 1")
    guarded.clear()

    done = bring()

    assert (guarded, done.batch, done.unchanged) == ([], None, MANY)


def test_a_row_that_changes_goes_and_comes_back(bring: Bring, database: sqlite3.Connection, guarded: Guarded) -> None:
    """It is superseded, retracted, and served again; its neighbours are not looked at."""
    bring()
    row = foreign.observation(7, "Title 7")
    guarded.clear()
    said(database, 7, "Title other")
    edited = bring()
    database.execute("DELETE FROM observations WHERE id = 7")
    gone = bring()
    foreign.put(database, {**row, "title": "Title other", "narrative": "Title other in full"})

    back = bring()

    assert (edited.superseded, edited.recorded, edited.retracted) == (1, 0, 0)
    assert (gone.retracted, gone.sources_removed, gone.unchanged) == (1, 1, MANY - 1)
    assert (back.restored, back.recorded, back.sources_added) == (1, 0, 1)
    assert guarded == ["Title other", "Title other"]


def test_what_an_event_touched_is_looked_at_again(
    ledger: Ledger, bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """What a person took back, replaced or undid; and what was merged or trusted; each with its own rows alone."""
    bring()
    ledger.retract(id_of(ledger, "Title 3"), "wrong")
    ledger.supersede(id_of(ledger, "Title 4"), "another", "text", "so")
    decide.merge_pair(ledger, id_of(ledger, "Title 5"), id_of(ledger, "Title 6"))
    guarded.clear()
    foreign.put(database, foreign.observation(99, "Title new"))

    done = bring()

    assert sorted(guarded) == ["Title 3", "Title 4", "Title 5", "Title 6", "Title new"]
    assert (done.recorded, done.unchanged) == (1, MANY)


def test_a_masked_row_is_guarded_and_counted_each_time(
    bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """Whoever imports is told each time."""
    said(database, 5, f"Log in with {TOKEN}")
    first = bring()
    foreign.put(database, foreign.observation(99, "Title new"))
    guarded.clear()

    done = bring()

    assert (len(guarded), first.masked, done.masked) == (2, 1, 1)


def test_a_row_that_cannot_be_stored_is_told_each_time(
    bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """It stays as it was, and nothing counts as gone."""
    bring()
    said(database, 5, "Title " + "x" * 5_000)
    first = bring()
    foreign.put(database, foreign.observation(99, "Title new"))
    guarded.clear()

    done = bring()

    assert len(guarded) == 2
    assert (first.skipped, done.skipped, done.retracted) == (1, 1, 0)
    assert first.diagnostics == done.diagnostics


def test_other_rules_look_at_everything(
    bring: Bring, database: sqlite3.Connection, guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger set of rules may find what a smaller one let pass."""
    bring()
    foreign.put(database, foreign.observation(99, "Title new"))
    guarded.clear()
    monkeypatch.setattr(checkpoints, "program", lambda: "b" * 32)

    bring()

    assert len(guarded) == MANY + 1


def test_a_private_marker_looks_at_everything_and_so_does_its_undo(
    ledger: Ledger, bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """What was public is private now, or the other way; another setting bears upon nothing."""

    def looked_at(seq: int) -> int:
        foreign.put(database, foreign.observation(100 + seq, f"Title {100 + seq}"))
        guarded.clear()
        bring()
        return len(guarded)

    bring()
    harmless = looked_at(ledger.set("scan_exclude", '["/elsewhere"]').seq)
    changed = ledger.set("private_markers", '{"[[hide]]": "[[/hide]]"}').seq
    marked = looked_at(changed)
    undone = looked_at(ledger.undo(changed).seq)

    assert (harmless, marked, undone) == (1, MANY + 2, MANY + 3)


def test_an_undone_setting_makes_files_be_read_again(ledger: Ledger, bring: Bring, guarded: Guarded) -> None:
    """Although nothing of the file has changed."""
    changed = ledger.set("private_markers", '{"Title": "full"}')
    hidden = bring()
    ledger.undo(changed.seq)

    done = bring()

    assert (hidden.recorded, done.recorded) == (0, MANY)


def test_an_erasure_looks_at_everything_and_stays(
    ledger: Ledger, bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """The erased place is blocked, and said so each time."""
    said(database, 9, "Anna walks the dog")
    bring()
    erase.erase(ledger, [id_of(ledger, "Anna walks the dog")], "personal")
    guarded.clear()
    first = bring()
    foreign.put(database, foreign.observation(99, "Title new"))

    second = bring()

    assert digests(ledger) == MANY  # the new one, and all but the erased one
    assert [[one.code for one in done.diagnostics] for done in (first, second)] == [["erased-place"]] * 2
    assert guarded[MANY:] == ["Anna walks the dog", "Title new"]


def test_of_what_was_erased_no_digest_is_kept(
    ledger: Ledger, bring: Bring, database: sqlite3.Connection, tmp_path: Path
) -> None:
    """Also of a source that is gone, as soon as anything is imported again."""
    said(database, 9, "Anna walks the dog")
    bring()
    before = digests(ledger)
    erase.erase(ledger, [id_of(ledger, "Anna walks the dog")], "personal")
    other = foreign.database(tmp_path / "d.db", foreign.observation(77, "Title other"))
    other.close()

    brought(ledger, tmp_path / "d.db")

    assert (before, digests(ledger)) == (MANY, 0)


def test_an_undone_import_stays_undone(ledger: Ledger, bring: Bring, database: sqlite3.Connection) -> None:
    """Also when one row more is there; redone, it is there again."""
    first = bring()
    assert first.batch is not None
    undone = ledger.undo_batch(first.batch)
    foreign.put(database, foreign.observation(99, "Title new"))
    second = bring()
    ledger.undo(undone.seq)

    third = bring()

    assert counts(second)[:4] == (1, 0, 0, MANY)
    assert counts(third)[:4] == (0, 0, 0, MANY + 1)
    assert ledger.verify().ok


def test_an_older_copy_of_the_ledger_trusts_no_newer_places(
    ledger: Ledger, bring: Bring, database: sqlite3.Connection, guarded: Guarded, tmp_path: Path
) -> None:
    """A restored backup lacks what the checkpoints say is in."""
    older = tmp_path / "older.db"
    shutil.copy(ledger.path, older)
    bring()
    shutil.copy(ledger.path + checkpoints.ENDING, str(older) + checkpoints.ENDING)
    foreign.put(database, foreign.observation(99, "Title new"))
    guarded.clear()

    with Ledger.open(str(older)) as copy:
        done = brought(copy, tmp_path / "c.db")

    assert (len(guarded), done.recorded) == (MANY + 1, MANY + 1)


def test_an_import_that_ends_in_the_middle_forgets_nothing(
    ledger: Ledger, database: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one does the rest, and one after that finds nothing."""
    monkeypatch.setattr(ingest, "BATCH_EVENTS", 8)
    with pytest.raises(KeyboardInterrupt):
        brought(ledger, tmp_path / "c.db", ends=2)
    halfway = len(state(ledger))

    second = brought(ledger, tmp_path / "c.db")

    assert 0 < halfway < MANY
    assert second.recorded == MANY - halfway
    assert brought(ledger, tmp_path / "c.db").batch is None


def test_a_dry_run_says_the_same_and_remembers_nothing(
    bring: Bring, database: sqlite3.Connection, guarded: Guarded
) -> None:
    """It passes over what it may."""
    bring()
    foreign.put(database, foreign.observation(99, "Title new"))
    guarded.clear()
    dry = bring(dry_run=True)

    done = bring()

    assert (counts(dry), guarded) == (counts(done), ["Title new"] * 2)


def test_again_looks_at_everything(ledger: Ledger, bring: Bring, guarded: Guarded) -> None:
    """And brings back what a person took back."""
    bring()
    ledger.retract(id_of(ledger, "Title 3"), "wrong")
    guarded.clear()

    done = bring(again=True)

    assert (len(guarded), done.recorded) == (MANY, 1)


def state(ledger: Ledger) -> list[tuple[Any, ...]]:
    """Return what each learning says and is, and where it stands, without ids and times."""
    statement = (
        "SELECT l.title, l.solution, l.trust, t.state, (SELECT group_concat(s.locator, ' ') FROM (SELECT locator FROM"
        " source WHERE learning_id = l.id AND to_seq IS NULL ORDER BY locator) AS s) FROM learning AS l"
        " JOIN learning_state AS t ON t.learning_id = l.id AND t.to_seq IS NULL"
    )
    return sorted(tuple(map(str, row)) for row in ledger.store.connection().execute(statement).fetchall())


# -- as if all were looked at -----------------------------------------------------------------------------------------


class Twins:
    """Two ledgers that get the same acts; one passes over places, the other looks at everything."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.ledgers = [Ledger.init(str(folder / name / "ledger.db")) for name in ("told", "untold")]
        self.databases = [
            foreign.database(folder / f"{name}.db", *(self.row(at + n, n) for n in range(25)))
            for at, name in ((1, "one"), (101, "two"))
        ]

    def row(self, number: int, text: int) -> dict[str, Any]:
        """Return an observation that says one of few texts."""
        return foreign.observation(number, f"Thing {text}", created_at_epoch=TIME + number)

    def close(self) -> None:
        """Close everything."""
        for one in (*self.ledgers, *self.databases):
            one.close()

    def work_on(self) -> None:
        """Let a program change a row: edit, delete, add, or exchange two."""
        rows = self.chance.choice(self.databases)
        ids = [number for (number,) in rows.execute("SELECT id FROM observations ORDER BY id").fetchall()]
        one, other = self.chance.choice(ids), self.chance.choice(ids)
        text = f"Thing {self.chance.randrange(40)}"
        act = self.chance.randrange(4)
        if act == 0:
            said(rows, one, text)
        elif act == 1:
            rows.execute("DELETE FROM observations WHERE id = ?", (one,))
        elif act == 2:
            foreign.put(rows, self.row(max(ids) + 1, self.chance.randrange(40)))
        else:
            first, second = (
                rows.execute("SELECT title FROM observations WHERE id = ?", (n,)).fetchone()[0] for n in (one, other)
            )
            said(rows, one, second)
            said(rows, other, first)

    def person(self) -> None:
        """Let a person do the same in both: retract, correct, record, merge, undo, trust, or have all undone."""
        title, other = (f"Thing {self.chance.randrange(40)}" for _ in range(2))
        text, act = f"Thing {self.chance.randrange(40)} in full", self.chance.randrange(7)
        for ledger in self.ledgers:
            self.did(ledger, act, title, other, text)

    def did(self, ledger: Ledger, act: int, title: str, other: str, text: str) -> None:
        """Do one act in one ledger, if it is legal."""
        try:
            if act == 0:
                ledger.retract(id_of(ledger, title), "so")
            elif act == 1:
                ledger.supersede(id_of(ledger, title), title, text, "so")
            elif act == 2:
                with ledger.acting(agent("s1")):
                    ledger.record(Draft(title, f"{title} in full", "bug-fix", "shop", title))
            elif act == 3:
                decide.merge_pair(ledger, id_of(ledger, title), id_of(ledger, other))
            elif act == 4:
                ledger.undo(self.last(ledger, title), cascade=True)
            elif act == 5:
                ledger.pin(id_of(ledger, title))
            else:
                erase.erase(ledger, [id_of(ledger, title)], "personal")
        except (LedgerError, TypeError):
            return

    @staticmethod
    def last(ledger: Ledger, title: str) -> int:
        """Return the last event that touches the newest learning of a title."""
        statement = "SELECT max(seq) FROM touch WHERE id = ?"
        return int(ledger.store.connection().execute(statement, (id_of(ledger, title),)).fetchone()[0])

    def import_both(self) -> list[tuple[int, ...]]:
        """Import some databases into both ledgers; return the counts of both."""
        names = self.chance.choice((["one"], ["two"], ["one", "two"], ["two", "one"]))
        paths = [self.folder / f"{name}.db" for name in names]
        return [
            counts(brought(ledger, *paths, is_told=is_told))
            for ledger, is_told in zip(self.ledgers, (True, False), strict=True)
        ]


@pytest.mark.parametrize("seed", range(16))
def test_passing_over_places_and_recording_in_portions_do_what_one_plan_of_all_does(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever programs did to rows and people to learnings: the same counts, the same learnings at the same places."""
    monkeypatch.setattr(ingest, "BATCH_EVENTS", 10)
    monkeypatch.setattr(ingest, "PORTION", 4)
    twins = Twins(tmp_path, random.Random(seed))
    try:
        for _ in range(25):
            for _ in range(twins.chance.randrange(1, 4)):
                twins.chance.choice((twins.work_on, twins.work_on, twins.person))()
            told, untold = twins.import_both()
            assert told == untold
            assert state(twins.ledgers[0]) == state(twins.ledgers[1])
    finally:
        twins.close()


def draft(path: str, number: int, says: str) -> Draft:
    """Return a draft of one place, as a file says it."""
    return Draft(f"problem {number}", says, "env", "demo", f"t {says}", source=Source("rows", f"rows:{number}", path))


def test_a_place_with_several_texts_is_passed_over_whole_or_not(ledger: Ledger, guarded: Guarded) -> None:
    """A text that goes from it is gone; what two sources say of one place is looked at each time."""
    one = [draft("/w/a.csv", number, f"says {number}") for number in range(25)]
    twice = [draft("/w/a.csv", 7, "says more"), draft("/w/b.csv", 8, "says other")]
    told = []
    for drafts in ([*one, *twice], [*one, *twice], [*one, twice[1]]):
        places = frozenset(one.source.locator for one in drafts if one.source is not None)
        reading = Reading("rows", 1, ("/w/a.csv",), drafts, places, ("/w/a.csv",), (), [], "demo")
        seen = ingest.seen_by(ledger)
        guarded.clear()
        done = ingest.run(ledger, reading, plan, vanished, seen=seen)
        seen.save()
        told.append((sorted(guarded), done.recorded, done.retracted))

    assert told[1:] == [(["t says 8", "t says other"], 0, 0), (["t says 7", "t says 8", "t says other"], 0, 1)]
