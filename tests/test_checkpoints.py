"""A scan passes over what has not changed since all of it was in the ledger, and over nothing else."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from said import Session

from importers import files
from importers.plan import plan, vanished
from importers.registry import scan_paths
from ledger import checkpoints, erase, ingest
from ledger.checkpoints import Checkpoints
from ledger.errors import LedgerError
from ledger.ingest import Imported
from ledger.ledger import Ledger
from ledger.model import Draft

NOTE = "---\nname: {name}\ndescription: about {name}\ntype: feedback\n---\n\n{rule}\n"
RULES = {"pooler": "The pooler listens on port 6543.", "lint": "Use ruff, never flake8.", "node": "Build with Node 22."}
NAMES = sorted((*RULES, "MEMORY"))

Scan = Callable[..., Imported]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a memory folder with an index and three notes, whose times count although they are new."""
    monkeypatch.setattr(checkpoints, "RACY_S", -3_600)
    made = tmp_path / "memory"
    made.mkdir()
    for name, rule in RULES.items():
        write(made, name, rule)
    (made / "MEMORY.md").write_text("- [pooler](pooler.md): port\n\n## Gotchas\n\n- the queue drops over 256 KB\n")
    return made


def write(folder: Path, name: str, rule: str) -> None:
    """Write a note."""
    (folder / f"{name}.md").write_text(NOTE.format(name=name, rule=rule))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the notes that are read from here on."""
    names: list[str] = []
    whole = files.read_note

    def counted(path: str) -> files.Note:
        names.append(Path(path).stem)
        return whole(path)

    monkeypatch.setattr(files, "read_note", counted)
    return names


@pytest.fixture
def scan(ledger: Ledger, folder: Path) -> Scan:
    """Return a scan of the folder that passes over what it may."""
    return lambda **how: scanned(ledger, folder, **how)


def scanned(ledger: Ledger, folder: Path, *, again: bool = False, dry_run: bool = False) -> Imported:
    """Scan a folder as the command does."""
    seen = ingest.seen_by(ledger)
    (reading,) = scan_paths([str(folder)], seen=None if again else seen)
    done = ingest.run(ledger, reading, plan, vanished, again=again, dry_run=dry_run, seen=seen)
    if not dry_run:
        seen.save()
    return done


def left(ledger: Ledger, folder: Path) -> tuple[int, int, int, int, int, int, int, int]:
    """Return what a scan that reads everything would do now, of every kind."""
    (reading,) = scan_paths([str(folder)])
    done = ingest.run(ledger, reading, plan, vanished, dry_run=True)
    return (done.recorded, done.superseded, done.retracted, done.proposed, done.quarantined, done.sources_added,
            done.sources_removed, done.restored)  # fmt: skip


NOTHING = (0,) * 8


def test_a_second_scan_reads_nothing_and_counts_the_same(scan: Scan, read: list[str]) -> None:
    """What it passes over counts as unchanged."""
    first = scan()
    read.clear()

    second = scan()

    assert (first.recorded, second.unchanged, second.batch, read) == (4, 4, None, [])


def test_only_the_note_that_changed_is_read(scan: Scan, folder: Path, read: list[str]) -> None:
    """The edit supersedes; its neighbours stay where they stand."""
    scan()
    read.clear()
    write(folder, "lint", "Use ruff, never pylint.")

    done = scan()

    assert (read, done.superseded, done.retracted, done.unchanged) == (["lint"], 1, 0, 3)


def test_new_times_alone_make_no_drafts(scan: Scan, folder: Path, read: list[str]) -> None:
    """Content decides: the text is read once, found to be the same, and then passed over by its new times."""
    scan()
    for name in NAMES:
        os.utime(folder / f"{name}.md", (1_700_000_000, 1_700_000_000))
    read.clear()

    scan()

    assert sorted(read) == NAMES
    read.clear()
    assert (scan().unchanged, read) == (4, [])


def test_another_text_of_the_same_size_and_time_is_read(scan: Scan, folder: Path) -> None:
    """The time of change of the entry itself, which nobody can set, tells it."""
    scan()
    place = folder / "pooler.md"
    before = place.stat()
    write(folder, "pooler", "The pooler listens on port 6544.")
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    done = scan()

    assert (place.stat().st_size, done.superseded) == (before.st_size, 1)


def test_what_was_just_written_is_always_read(
    scan: Scan, folder: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second write within the time's step would not show: only the text is compared."""
    monkeypatch.setattr(checkpoints, "RACY_S", 3_600)
    scan()
    read.clear()

    done = scan()

    assert (sorted(read), done.unchanged, done.batch) == (NAMES, 4, None)


def test_a_note_that_is_gone_is_retracted_and_a_renamed_one_keeps_its_learning(scan: Scan, folder: Path) -> None:
    """Although all others are passed over."""
    scan()
    (folder / "node.md").unlink()
    (folder / "lint.md").rename(folder / "linter.md")

    done = scan()

    assert (done.retracted, done.sources_added, done.sources_removed, done.recorded) == (1, 1, 2, 0)


def test_an_index_is_read_again_when_there_are_other_notes(scan: Scan, folder: Path, read: list[str]) -> None:
    """Which of its lines are links depends on them."""
    scan()
    write(folder, "cache", "Clear the cache first.")
    read.clear()

    scan()

    assert sorted(read) == ["MEMORY", "cache"]


def test_again_reads_all_and_brings_back_what_was_taken_back(ledger: Ledger, scan: Scan, read: list[str]) -> None:
    """As without checkpoints; without `--again` what a person took back stays back."""
    first = scan()
    assert first.batch is not None
    ledger.undo_batch(first.batch)
    assert scan().batch is None
    read.clear()

    done = scan(again=True)

    assert (sorted(read), done.recorded) == (NAMES, 4)


def test_a_dry_run_remembers_nothing(ledger: Ledger, scan: Scan) -> None:
    """It has settled nothing."""
    scan(dry_run=True)

    assert not os.path.exists(ledger.path + checkpoints.ENDING)
    assert scan().recorded == 4


def test_what_touches_a_learning_makes_its_place_be_read(ledger: Ledger, scan: Scan, read: list[str]) -> None:
    """A learning of no place does not."""
    scan()
    ledger.record(Draft("the runner stalls", "restart it", "env", "demo"))
    read.clear()
    scan()
    assert read == []
    (one,) = [row.id for row in ledger.reader.list_learnings(limit=9).rows if "ruff" in text_of(ledger, row.id)]

    ledger.retract(one, "no longer so")
    scan()

    assert read == ["lint"]


def text_of(ledger: Ledger, name: str) -> str:
    """Return the solution of a learning."""
    return str(ledger.reader.show(name)["solution"])


def test_an_older_copy_of_the_ledger_trusts_no_newer_checkpoint(ledger: Ledger, scan: Scan, read: list[str]) -> None:
    """What the copy never held is read and recorded."""
    copy = ledger.path + ".copy"
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("VACUUM INTO ?", (copy,))
    connection.close()
    scan()
    ledger.close()
    for ending in ("-wal", "-shm", ".anchor"):
        Path(ledger.path + ending).unlink(missing_ok=True)
    os.replace(copy, ledger.path)
    read.clear()

    with Ledger.open(ledger.path) as older:
        older.record(Draft("something else", "was recorded", "env", "demo"))
        done = scanned(older, Path(ledger.path).parent.parent / "memory")

    assert (sorted(read), done.recorded) == (NAMES, 4)


@pytest.mark.parametrize("content", [b"", b"torn", b"checkpoints-1 a b c d\n", b"\xff\xfe", b"checkpoints-1\n" * 9])
def test_a_broken_file_costs_a_reading(ledger: Ledger, scan: Scan, read: list[str], content: bytes) -> None:
    """Nothing else: nothing is found twice."""
    scan()
    Path(ledger.path + checkpoints.ENDING).write_bytes(content)
    read.clear()

    done = scan()

    assert (sorted(read), done.batch, done.unchanged) == (NAMES, None, 4)


def test_another_program_reads_everything(scan: Scan, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take a text differently, and its rules may find more."""
    scan()
    read.clear()
    monkeypatch.setattr(checkpoints, "program", lambda: "another")

    scan()

    assert sorted(read) == NAMES


def test_a_note_with_a_remark_is_read_each_time(scan: Scan, folder: Path, read: list[str]) -> None:
    """Whoever scans is told each time; one with a secret is counted each time."""
    write(folder, "key", "Log in with " + "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8")
    (folder / "torn.md").write_bytes(b"A rule that holds.\n\xff\xfe\n")
    first = scan()
    read.clear()

    second = scan()

    assert sorted(read) == ["key", "torn"]
    assert (first.masked, second.masked) == (1, 1)
    assert first.diagnostics == second.diagnostics


def test_the_file_holds_neither_text_nor_path(ledger: Ledger, scan: Scan, folder: Path) -> None:
    """Keyed digests and numbers only, so that an erasure has nothing to look for in it; nobody else may read it."""
    scan()

    place = Path(ledger.path + checkpoints.ENDING)
    content = place.read_text("ascii")
    assert place.stat().st_mode & 0o777 == 0o600
    assert not any(word in content for word in (str(folder), "pooler", "ruff", "memory"))


def test_what_was_erased_does_not_come_back(ledger: Ledger, scan: Scan, read: list[str]) -> None:
    """Everything is read again after an erasure, and the place stays blocked."""
    scan()
    (one,) = [row.id for row in ledger.reader.list_learnings(limit=9).rows if "ruff" in text_of(ledger, row.id)]
    erase.erase(ledger, [one], "personal")
    read.clear()

    done = scan()

    assert (sorted(read), done.batch) == (NAMES, None)


def acts(ledger: Ledger, folder: Path, chance: random.Random) -> list[Callable[[], object]]:
    """Return what people and agents may do to files and to the ledger."""
    notes = sorted(folder.glob("*.md"))
    ids = [row.id for row in ledger.reader.list_learnings(limit=50).rows]
    text = f"rule {chance.randrange(12)} of them"
    return [
        lambda: write(folder, f"n{chance.randrange(8)}", text),
        lambda: (folder / "MEMORY.md").write_text("\n".join(f"- do thing {chance.randrange(6)}" for _ in range(3))),
        lambda: chance.choice(notes).unlink(),
        lambda: chance.choice(notes).rename(folder / f"m{chance.randrange(8)}.md"),
        lambda: shutil.copy(chance.choice(notes), folder / f"c{chance.randrange(8)}.md"),
        lambda: os.utime(chance.choice(notes), (1_700_000_000, 1_700_000_000 + chance.randrange(99))),
        lambda: ledger.retract(chance.choice(ids), "so"),
        lambda: ledger.supersede(chance.choice(ids), "other", text, "so"),
        lambda: ledger.record(Draft("rule", text, "env", "demo")),
        lambda: ledger.undo(chance.randrange(1, ledger.store.head().seq + 1), cascade=True),
        lambda: erase.erase(ledger, [chance.choice(ids)], "personal"),
    ]


@pytest.mark.parametrize("seed", range(12))
def test_a_scan_that_passes_over_leaves_nothing_to_one_that_reads_all(ledger: Ledger, folder: Path, seed: int) -> None:
    """Whatever happened to files and learnings in between."""
    chance = random.Random(seed)
    scanned(ledger, folder)
    for _ in range(25):
        for _ in range(chance.randrange(1, 4)):
            try:
                chance.choice(acts(ledger, folder, chance))()
            except (LedgerError, IndexError, OSError, shutil.SameFileError):
                continue
        scanned(ledger, folder)
        assert left(ledger, folder) == NOTHING


def test_a_source_of_several_files_is_the_same_only_when_all_of_them_are(tmp_path: Path, ledger: Ledger) -> None:
    """A database whose log alone has grown has changed; one without a log is one."""
    place, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    place.write_bytes(b"database")
    seen = Checkpoints(ledger.path, "id", b"key", ledger.store.connection())

    def look() -> checkpoints.Look:
        return checkpoints.look(str(place), "claude-mem", beside=[str(log)], now_ns=1 << 62)

    seen.settle({str(place): checkpoints.mark(look(), None, 7)}, 0)

    assert seen.unchanged(look()) == 7
    log.write_bytes(b"more")
    assert seen.unchanged(look()) is None
    seen.forget([str(place)])
    log.unlink()
    assert seen.unchanged(look()) is None


def test_an_empty_ledger_passes_over_what_said_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first scan may find sessions in which nobody laid down anything: the next one passes over them."""
    monkeypatch.setattr(checkpoints, "RACY_S", -3_600)
    path = Path(Session().says("hello").at(tmp_path))
    counts = []

    with Ledger.init(str(tmp_path / "ledger.db")) as ledger:
        for more in ("", "", "remember that the staging database listens on port 6432"):
            if more:
                path.write_bytes(path.read_bytes() + Session().says("hello").says(more).lines[1])
            seen = ingest.seen_by(ledger)
            readings = scan_paths([str(path)], seen=seen)
            done = [ingest.run(ledger, reading, plan, vanished, seen=seen) for reading in readings]
            seen.save()
            passed = sum(len(reading.passed) for reading in readings)
            counts.append((ledger.store.head().seq > 0, passed > 0, sum(one.recorded for one in done)))

    assert counts == [(False, False, 0), (False, True, 0), (True, False, 1)]
