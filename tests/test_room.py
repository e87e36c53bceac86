"""What nobody reads is bounded: the oldest goes, is counted, and nothing new is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from ledger import handover, room
from ledger.handover import LATER, SOON, take, waiting
from ledger.ledger import Ledger
from ledger.usage import usage

NOW = 1_796_000_000.0
DAY = 86_400.0


def say(ledger: Ledger, session: str, text: str = "The job moved.", now: float = NOW) -> None:
    """Hand over what an agent said last, as it was said then."""
    assert handover.stopped(ledger.path, {"session_id": session, "last_assistant_message": text}, now=now).kept
    for one in waiting(ledger.path, LATER):
        if one.session == session:
            os.utime(one.path, (now, now))


def held(ledger: Ledger, lane: str = LATER) -> list[dict[str, Any]]:
    """Return the records that wait, the oldest file first, and leave them there."""
    return [
        record for one in waiting(ledger.path, lane) for line in Path(one.path).read_bytes().splitlines()
        if (record := handover.record(line)) is not None
    ]  # fmt: skip


def given(ledger: Ledger, now: float = NOW) -> int:
    """Return how many records were given up."""
    return room.given_up(handover.folder_beside(ledger.path), now).records


def test_a_full_queue_takes_what_is_new_and_gives_up_the_oldest(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number of files; what went is counted."""
    monkeypatch.setattr(room, "FILES_MAX", 3)
    for number in range(6):
        say(ledger, f"s{number}", now=NOW + number)

    assert [one["session_id"] for one in held(ledger)] == ["s3", "s4", "s5"]
    assert given(ledger) == 3


def test_evidence_is_bounded_by_size_and_by_age(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The total of a lane, and two months."""
    monkeypatch.setattr(room, "LANE_BYTES", 10_000)
    for number in range(4):
        say(ledger, f"s{number}", "word " * 1_000, now=NOW + number)
    sizes = sum(one.size for one in waiting(ledger.path))

    say(ledger, "late", now=NOW + (room.EVIDENCE_DAYS + 1) * DAY)

    assert sizes < 16_000
    assert [one["session_id"] for one in held(ledger)] == ["late"]


def test_a_session_that_talks_all_day_is_never_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full file waits under another name, and the next record begins a new one."""
    monkeypatch.setattr(handover, "FILE_BYTES", 300)
    for number in range(5):
        say(ledger, "s1", f"step {number} " + "x" * 200)

    assert sorted(one["text"].split()[1] for one in held(ledger)) == list("01234")
    assert len(waiting(ledger.path)) > 1
    assert {one.session for one in waiting(ledger.path)} == {"s1"}


def test_a_transcript_is_pointed_to_once(ledger: Ledger, tmp_path: Path) -> None:
    """The newest replaces what was kept before, whatever session says it; another transcript has its own."""
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    for number in range(5):
        for path in (one, other):
            path.write_text("x" * (10 + number))
            handover.pointed(ledger.path, {"session_id": f"s{number}", "transcript_path": str(path)}, now=NOW + number)

    assert sorted((record["transcript"], record["to"]) for record in held(ledger)) == [
        (str(one), 14), (str(other), 14),
    ]  # fmt: skip
    assert given(ledger) == 0


def test_a_pointer_that_somebody_reads_is_not_replaced_under_them(ledger: Ledger, tmp_path: Path) -> None:
    """What was taken stays theirs, and the newer one waits beside it."""
    path = tmp_path / "one.jsonl"
    path.write_text("x")
    payload = {"session_id": "s1", "transcript_path": str(path)}
    handover.pointed(ledger.path, payload)
    taken = take(ledger.path, waiting(ledger.path)[0])
    path.write_text("xx")
    handover.pointed(ledger.path, payload)

    assert taken is not None
    assert [record["to"] for record in taken.records] == [1]
    handover.done(taken)
    assert [record["to"] for record in held(ledger)] == [2]


def test_pointers_are_bounded_and_those_to_nothing_are_no_loss(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client deletes transcripts after a month: where one was says nothing any more."""
    monkeypatch.setattr(room, "POINTERS_MAX", 2)
    for number in range(4):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("x")
        handover.pointed(ledger.path, {"session_id": "s", "transcript_path": str(path)}, now=NOW)
        for one in waiting(ledger.path):
            if record := handover.record(Path(one.path).read_bytes()):
                at = NOW + int(Path(record["transcript"]).stem)
                os.utime(one.path, (at, at))
        if not number:
            path.unlink()

    assert [Path(record["transcript"]).stem for record in held(ledger)] == ["2", "3"]
    assert given(ledger) == 1


def test_evidence_never_costs_a_pointer_nor_what_needs_no_model(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind has its own bounds."""
    monkeypatch.setattr(room, "FILES_MAX", 1)
    path = tmp_path / "one.jsonl"
    path.write_text("x")
    handover.pointed(ledger.path, {"session_id": "s", "transcript_path": str(path)}, now=NOW)
    handover.compacted(ledger.path, {"session_id": "s", "compact_summary": "We moved it."}, now=NOW)
    for number in range(3):
        say(ledger, f"s{number}", now=NOW + number)

    assert [record["kind"] for record in held(ledger, SOON)] == ["summary"]
    assert sorted(record["kind"] for record in held(ledger)) == ["evidence", "transcript"]


def test_what_somebody_reads_is_left_to_them(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken files are not given up, and what a killed hook left half made is cleared away."""
    say(ledger, "s1")
    assert take(ledger.path, waiting(ledger.path)[0]) is not None
    torn = Path(handover.folder_beside(ledger.path)) / "s9.later.00.new"
    torn.write_bytes(b"{")
    os.utime(torn, (NOW - DAY, NOW - DAY))
    monkeypatch.setattr(room, "FILES_MAX", 1)

    say(ledger, "s2", now=NOW + 1)
    say(ledger, "s3", now=NOW + 2)

    assert [one.session for one in waiting(ledger.path) if one.is_taken] == ["s1"]
    assert [one.session for one in waiting(ledger.path) if not one.is_taken] == ["s3"]
    assert not torn.exists()


def test_what_was_given_up_is_told_by_window(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stats` says it of 7 and of 30 days, with what waits; a line that cannot be read counts for nothing."""
    monkeypatch.setattr(room, "FILES_MAX", 1)
    say(ledger, "s1", now=NOW - 20 * DAY)
    say(ledger, "s2", now=NOW - 20 * DAY)
    say(ledger, "s3", now=NOW - 1)
    with open(Path(handover.folder_beside(ledger.path)) / room.GIVEN_UP, "ab") as file:
        file.write(b"\xff garbage\n1 2\n")

    told = usage(ledger.reader, NOW)

    assert [window["given_up"] for window in told["windows"]] == [1, 2]
    assert told["waiting"] == {"soon": 0, "later": 1}


def test_the_count_itself_is_bounded(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its older half goes."""
    monkeypatch.setattr(room, "FILES_MAX", 1)
    monkeypatch.setattr(room, "GIVEN_BYTES", 200)
    for number in range(40):
        say(ledger, f"s{number}", now=NOW + number)

    file = Path(handover.folder_beside(ledger.path)) / room.GIVEN_UP
    assert file.stat().st_size <= 220
    assert 0 < given(ledger) < 39
