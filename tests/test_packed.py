"""Many drafts are held packed, and nobody who goes through them can tell."""

from pathlib import Path

import foreign
import pytest

from importers import collected, packed
from importers.packed import BLOCK, Packed
from importers.plan import plan, vanished
from importers.registry import scan_paths
from ledger import door, ingest, standing_places
from ledger.cli_sources import Chosen, narrowed
from ledger.ledger import Ledger
from ledger.model import Draft, Source

ODD = Draft("half \ud800 of a pair", "Grüße, 雪", "env", "*", None, (), None, "ambiguous", None)


def drafts(many: int) -> list[Draft]:
    """Return drafts of one file, and an odd one."""
    made = [
        Draft(f"p {n}", f"s {n}", "env", "demo", f"t {n}", ("a", "b"), "2026-11-30T00:00:00Z", "sure",
              Source("claude-mem", f"claude-mem:{n}", "/w/c.db", n))
        for n in range(many)
    ]  # fmt: skip
    return [*made, ODD]


@pytest.mark.parametrize("many", [0, 1, BLOCK - 2, BLOCK - 1, BLOCK, 3 * BLOCK + 5])
def test_what_was_packed_comes_back_in_its_order(many: int) -> None:
    """Each field, each type; as often as it is gone through."""
    given = drafts(many)
    made = Packed()
    for one in given:
        made.append(one)

    assert (len(made), list(made), list(made)) == (len(given), given, given)
    assert (made[0], made[-1], made[1:4]) == (given[0], given[-1], given[1:4])
    assert all(type(one.source) is type(other.source) for one, other in zip(made, given, strict=True))


def test_a_place_beyond_the_last_is_an_error() -> None:
    """As in a list."""
    with pytest.raises(IndexError):
        Packed()[0]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a database of ten observations, which count as many; half of them are of an earlier year."""
    monkeypatch.setattr(packed, "MANY", 5)
    monkeypatch.setattr(collected, "MANY", 5)
    times = [1_793_692_800_000 - (number % 2) * 40_000_000_000 for number in range(10)]
    rows = [foreign.observation(n, f"Title {n}", created_at_epoch=at, created_at=None) for n, at in enumerate(times)]
    foreign.database(tmp_path / "c.db", *({**row, "created_at": ""} for row in rows)).close()
    return str(tmp_path / "c.db")


def test_a_large_database_is_read_packed_and_imported_as_a_small_one(database: str, ledger: Ledger) -> None:
    """Whatever holds its drafts."""
    (reading,) = scan_paths([database])

    done = ingest.run(ledger, reading, plan, vanished)

    assert isinstance(reading.drafts, Packed)
    assert (done.recorded, done.skipped) == (10, 0)


def test_what_is_older_is_left_out_and_nothing_of_it_has_gone(database: str, ledger: Ledger) -> None:
    """The places that are left out are the ones that were not read as a whole."""
    (reading,) = scan_paths([database])
    ingest.run(ledger, reading, plan, vanished)

    part = narrowed(reading, Chosen(since=1_780_000_000.0))

    done = ingest.run(ledger, part, plan, vanished)
    assert (len(part.drafts), len(part.whole), done.unchanged, done.retracted) == (5, 5, 5, 0)


def test_a_part_of_a_source_leaves_what_is_remembered_of_its_places(
    database: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scan of the newest rows alone does not have all others looked at again by the next one."""
    monkeypatch.setattr(standing_places, "MANY", 1)
    guarded: list[str] = []
    whole = door.draft
    monkeypatch.setattr(door, "draft", lambda one, *more: (guarded.append(one.problem), whole(one, *more))[1])
    for since in (None, 1_780_000_000.0, None):
        seen = ingest.seen_by(ledger)
        (reading,) = scan_paths([database])
        ingest.run(ledger, narrowed(reading, Chosen(since=since)), plan, vanished, seen=seen)
        seen.save()

    assert len(guarded) == 10
