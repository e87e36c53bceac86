"""What hooks hand over: masked, bounded, without recalled text, and never lost once it was accepted."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ledger import handover
from ledger.exposures import path_beside
from ledger.handover import LATER, LEASE_S, SOON, Handed, done, take, waiting
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.recall import Recall

SAID = {"session_id": "s-1", "cwd": "/src/demo", "hook_event_name": "Stop", "last_assistant_message": "The job moved."}


def taken(ledger: Ledger, lane: str = LATER) -> list[dict[str, Any]]:
    """Return every record of a lane, taken and done."""
    found = []
    for one in waiting(ledger.path, lane):
        got = take(ledger.path, one)
        assert got is not None
        found += got.records
        done(got)
    return found


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Return a transcript."""
    made = tmp_path / "s-1.jsonl"
    made.write_text('{"type":"user"}\n')
    return made


def test_what_was_said_last_waits_in_a_private_file(ledger: Ledger) -> None:
    """One file a session, readable by its owner alone, with the folder and the prompt it belongs to."""
    handed = handover.stopped(ledger.path, SAID | {"prompt_id": "p1"}, now=7.0)

    (one,) = waiting(ledger.path)
    assert handed == Handed()
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (one.path, os.path.dirname(one.path))] == [0o600, 0o700]
    assert os.path.basename(one.path) == "s-1.later.jsonl"
    (record,) = taken(ledger)
    assert record == {
        "at": 7.0, "kind": "evidence", "text": "The job moved.", "redacted": [], "echoes": [], "session_id": "s-1",
        "cwd": "/src/demo", "prompt_id": "p1", "hook_event_name": "Stop",
    }  # fmt: skip


@pytest.mark.parametrize("session", ["../../etc/passwd", "a/b", "x" * 500, "se ssion\n", "日本"])
def test_a_session_s_name_never_leads_out_of_the_queue(ledger: Ledger, session: str) -> None:
    """A name that is no id is a digest."""
    assert handover.stopped(ledger.path, SAID | {"session_id": session}).kept

    (one,) = waiting(ledger.path)
    assert os.path.dirname(one.path) == handover.folder_beside(ledger.path)


def test_a_secret_never_reaches_the_queue(ledger: Ledger) -> None:
    """Nor in a message that is cut: it is masked first."""
    secret = "gh" + "p_" + "A" * 36
    for text in (
        f"token {secret}",
        "word " * 2_000 + secret + " word" * 20_000,
        "x" * 32_760 + f" {secret} " + "y" * 40_000,
    ):
        handover.stopped(ledger.path, SAID | {"last_assistant_message": text})
    handover.compacted(ledger.path, SAID | {"compact_summary": f"we used {secret}"})
    handover.stopped(ledger.path, SAID | {"cwd": f"/src/{secret}"})

    stored = b"".join(Path(one.path).read_bytes() for one in waiting(ledger.path))
    assert stored.count(b"\n") == 5
    assert b"AAAAAAAA" not in stored


def test_what_was_said_is_bounded(ledger: Ledger) -> None:
    """A message of a megabyte leaves 16 KB: its beginning and its end."""
    text = "begin " + "日本語 " * 200_000 + "end"

    handover.stopped(ledger.path, SAID | {"last_assistant_message": text})

    (record,) = taken(ledger)
    assert len(record["text"].encode()) <= handover.EVIDENCE_BYTES
    assert record["text"].startswith("begin")
    assert record["text"].endswith("end")


def test_private_parts_are_left_out(ledger: Ledger) -> None:
    """One that is never closed goes on to the end."""
    handover.stopped(ledger.path, SAID | {"last_assistant_message": "a <private>b</private> c <Private>d"})

    assert taken(ledger)[0]["text"].split() == ["a", "c"]


def test_recalled_text_is_no_evidence(ledger: Ledger) -> None:
    """Neither the block nor the same again in the reply to it; a reply of nothing else is not queued."""
    name = ledger.record(Draft("the pooler refuses connections on 5432", "connect through port 6543", "env", "demo")).id
    recall = Recall(ledger.reader)
    block = recall.recall("the pooler refuses connections on 5432, which port?", "s-1", "demo").text
    recall.close()
    again = "Since the pooler refuses connections on 5432, I connect through port 6543."

    kept = handover.stopped(ledger.path, SAID | {"last_assistant_message": f"The job moved.\n{block}\n{again}"})
    nothing = handover.stopped(ledger.path, SAID | {"last_assistant_message": again})

    assert (kept, nothing) == (Handed(), Handed("echo"))
    assert [(one["text"], one["echoes"]) for one in taken(ledger)] == [("The job moved.", [name])]


@pytest.mark.parametrize(
    "payload", [{}, {"session_id": 7}, {"session_id": "s"}, SAID | {"last_assistant_message": " "}]
)
def test_nothing_is_handed_over_for_nothing(ledger: Ledger, payload: dict[str, Any]) -> None:
    """Whatever a client sends."""
    assert not handover.stopped(ledger.path, payload).kept
    assert not handover.pointed(ledger.path, payload).kept
    assert not handover.compacted(ledger.path, payload).kept
    assert not handover.noted(ledger.path, payload).kept
    assert waiting(ledger.path) == []


def test_robots_feed_nothing_unless_they_are_let(ledger: Ledger, transcript: Path) -> None:
    """Neither what they say nor where they were; that a tool wrote a note is kept, lest it pass for a person's."""
    payload = SAID | {"transcript_path": str(transcript), "compact_summary": "x", "tool_input": {}}

    told = [act(ledger.path, payload, feeds=False) for act in (handover.stopped, handover.pointed, handover.compacted)]

    assert told == [Handed("robot")] * 3
    assert handover.stopped(ledger.path, payload, feeds=True).kept


def test_where_the_transcript_is_waits_with_its_length(ledger: Ledger, transcript: Path) -> None:
    """Before a compaction and at the end; a link, a folder and a missing file are not believed."""
    payload = {
        "session_id": "s-1",
        "transcript_path": str(transcript),
        "hook_event_name": "PreCompact",
        "trigger": "auto",
    }
    link = transcript.with_name("link.jsonl")
    link.symlink_to(transcript)

    first = handover.pointed(ledger.path, payload)
    transcript.write_text('{"type":"user"}\n' * 3)
    second = handover.pointed(ledger.path, payload | {"hook_event_name": "SessionEnd", "reason": "clear"})
    others = [
        handover.pointed(ledger.path, payload | {"transcript_path": str(path)})
        for path in (link, transcript.parent, transcript.with_name("none"), "relative.jsonl")
    ]

    assert (first.kept, second.kept, [one.kept for one in others]) == (True, True, [False] * 4)
    (found,) = taken(ledger)
    assert (found["to"], found["why"], found["hook_event_name"]) == (48, "clear", "SessionEnd")


def test_what_is_taken_is_offered_again_until_it_is_done(ledger: Ledger) -> None:
    """Meanwhile nobody else gets it, and new records wait apart; when its process has gone, somebody does at once."""
    handover.stopped(ledger.path, SAID)
    (one,) = waiting(ledger.path)
    first = take(ledger.path, one)
    assert first is not None
    assert take(ledger.path, one) is None
    handover.stopped(ledger.path, SAID | {"last_assistant_message": "Another."})
    held = next(one for one in waiting(ledger.path) if one.is_taken)
    assert take(ledger.path, held) is None
    assert not handover.is_due(held)
    os.close(first.held.pop())  # as the system does when a process is killed
    assert handover.is_due(held)
    again = take(ledger.path, held)

    assert again is not None
    assert again.records == first.records
    done(again)
    done(again)
    assert [record["text"] for record in taken(ledger)] == ["Another."]


def test_what_a_killed_process_had_taken_is_offered_at_once(ledger: Ledger) -> None:
    """A server that its client ends while it imports keeps nothing back."""
    handover.stopped(ledger.path, SAID)
    script = "import sys; from ledger import handover as h; t = h.take(sys.argv[1], h.waiting(sys.argv[1])[0]); "
    command = [sys.executable, "-c", script + "print(len(t.records), flush=True); sys.stdin.read()", ledger.path]
    home = Path(handover.__file__).parent.parent
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=home) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"1\n"
        (held,) = waiting(ledger.path)
        before = take(ledger.path, held)
        child.kill()

    assert before is None
    assert [record["text"] for record in taken(ledger)] == ["The job moved."]


def test_where_no_lock_tells_what_was_taken_is_offered_after_an_hour(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.setattr(handover, "HAS_LOCKS", False)
    handover.stopped(ledger.path, SAID)
    (one,) = waiting(ledger.path)
    first = take(ledger.path, one)
    (held,) = waiting(ledger.path)
    soon, late = time.time() + LEASE_S - 60, time.time() + LEASE_S + 60

    assert first is not None
    assert not handover.is_due(held, soon)
    assert take(ledger.path, held, soon) is None
    assert handover.is_due(held, late)
    assert take(ledger.path, held, late) is not None


def test_a_line_that_a_kill_cut_off_costs_only_itself(ledger: Ledger) -> None:
    """What came before it and what comes after it is whole."""
    handover.stopped(ledger.path, SAID)
    (one,) = waiting(ledger.path)
    with open(one.path, "ab") as file:
        file.write(b'{"at":1,"kind":"evid')
    handover.stopped(ledger.path, SAID)

    got = take(ledger.path, one)

    assert got is not None
    assert (len(got.records), got.torn) == (2, 1)


def test_a_hook_that_finds_the_file_held_uses_its_own(ledger: Ledger) -> None:
    """It waits a tenth of a second at most, and nothing is lost."""
    fcntl = pytest.importorskip("fcntl")
    handover.stopped(ledger.path, SAID)
    (one,) = waiting(ledger.path)
    fd = os.open(one.path, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    begun = time.monotonic()

    assert handover.stopped(ledger.path, SAID).kept

    assert time.monotonic() - begun < 0.3
    os.close(fd)
    assert len(taken(ledger)) == 2


def test_a_queue_that_cannot_be_written_is_said(ledger: Ledger) -> None:
    """No exception leaves a hook."""
    Path(handover.folder_beside(ledger.path)).write_text("a file")

    assert handover.stopped(ledger.path, SAID).why.startswith("disk ")


def test_a_ledger_that_cannot_be_read_costs_only_the_paraphrase(tmp_path: Path) -> None:
    """Frames are cut all the same, and what was said is kept."""
    path = str(tmp_path / "none" / "ledger.db")

    assert handover.stopped(path, SAID).kept
    assert [one.session for one in waiting(path)] == ["s-1"]


KILLED = """
import sys
from ledger import handover
from ledger.exposures import path_beside
number = 0
while True:
    number += 1
    payload = {"session_id": "s-1", "last_assistant_message": f"step {number} " + "x" * 3000}
    if handover.stopped(sys.argv[1], payload).kept:
        print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 3, 7, 12])
def test_what_was_accepted_survives_a_kill(ledger: Ledger, after: int) -> None:
    """Killed at any point: every record that was acknowledged is there, in order, and none is half."""
    command = [sys.executable, "-c", KILLED, ledger.path]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(handover.__file__).parent.parent
    ) as child:
        assert child.stdout is not None
        for _ in range(after):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        heard = child.stdout.read().split()
    last = int(heard[-1]) if heard else after

    numbers = [int(record["text"].split()[1]) for record in taken(ledger)]

    assert numbers[:last] == list(range(1, last + 1))
    assert len(numbers) <= last + 1


def test_many_hooks_at_once_lose_nothing(ledger: Ledger) -> None:
    """Six processes of one session, and somebody who takes meanwhile."""
    script = KILLED.replace("while True:", "for _ in range(20):")
    command = [sys.executable, "-c", script, ledger.path]
    home = Path(handover.__file__).parent.parent
    children = [subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=home) for _ in range(6)]
    found = []
    while any(child.poll() is None for child in children):
        for one in waiting(ledger.path):
            got = take(ledger.path, one)
            if got is not None:
                found += got.records
                done(got)
    found += taken(ledger)

    assert [child.wait() for child in children] == [0] * 6
    assert len(found) == 120


def test_a_file_of_its_own_is_held_before_anybody_finds_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another hook does not let go, and a reader takes all it finds: what is written next is not in what it deletes."""
    monkeypatch.setattr(handover, "WAIT_S", 0.0)
    write = handover.write_all

    def taken_first(fd: int, data: bytes) -> None:
        for one in waiting(ledger.path):
            got = take(ledger.path, one)
            if got is not None:
                done(got)
        write(fd, data)

    monkeypatch.setattr(handover, "write_all", taken_first)
    assert handover.stopped(ledger.path, {"session_id": "s-1", "last_assistant_message": "the job moved to cron"}).kept

    assert [record["text"] for record in taken(ledger)] == ["the job moved to cron"]


def test_each_hand_over_takes_less_than_300_ms(ledger: Ledger, transcript: Path) -> None:
    """The slowest of twenty, forced to the disk, with a ledger that has learnings that were shown."""
    for number in range(50):
        ledger.record(Draft(f"the pooler {number} refuses connections", f"use port {6000 + number}", "env", "demo"))
    recall = Recall(ledger.reader)
    recall.recall("the pooler 7 refuses connections, which port?", "s-1", "demo")
    recall.close()
    payload = SAID | {
        "last_assistant_message": "The job moved. " * 4_000, "transcript_path": str(transcript),
        "compact_summary": "We moved it.\n" * 3_000, "tool_input": {"file_path": str(transcript.with_suffix(".md"))},
    }  # fmt: skip
    transcript.with_suffix(".md").write_text("a note")

    slowest = {}
    for act in (handover.stopped, handover.pointed, handover.compacted, handover.noted):
        for _ in range(20):
            begun = time.perf_counter()
            assert act(ledger.path, payload).kept or act is handover.stopped
            slowest[act.__name__] = max(slowest.get(act.__name__, 0.0), time.perf_counter() - begun)

    assert max(slowest.values()) < 0.3, json.dumps(slowest)


def test_files_that_others_hold_are_not_waited_for(ledger: Ledger) -> None:
    """The ledger and the exposures locked by somebody: what was said is kept within 300 ms all the same."""
    ledger.record(Draft("the pooler refuses connections on 5432", "connect through port 6543", "env", "demo"))
    recall = Recall(ledger.reader)
    recall.recall("the pooler refuses connections on 5432, which port?", "s-1", "demo")
    recall.close()
    held = [sqlite3.connect(path) for path in (ledger.path, path_beside(ledger.path))]
    for one in held:
        one.execute("BEGIN EXCLUSIVE")
    begun = time.perf_counter()

    kept = handover.stopped(ledger.path, SAID)

    took = time.perf_counter() - begun
    for one in held:
        one.close()
    assert kept.kept
    assert took < 0.3


def test_a_note_and_a_summary_wait_in_the_other_lane(ledger: Ledger, tmp_path: Path) -> None:
    """They need no model, only somebody who has the ledger open."""
    note = tmp_path / "MEMORY.md"
    note.write_text("- one\n")

    handover.noted(ledger.path, SAID | {"tool_input": {"file_path": str(note)}})
    handover.compacted(ledger.path, SAID | {"compact_summary": "We moved the job."})

    assert taken(ledger, LATER) == []
    found = taken(ledger, SOON)
    assert [one["kind"] for one in found] == ["note", "summary"]
    assert (found[0]["path"], found[0]["size"], found[0]["feeds"]) == (str(note), 6, True)


def test_what_is_private_is_taken_out_before_a_text_is_cut(ledger: Ledger) -> None:
    """A region that opens in the part that is left out is private to its end."""
    text = "It works now. " * 2_000 + "<private>" + "x" * 40_000 + " telltale</private>" + " And so does that." * 800

    assert handover.stopped(ledger.path, {"session_id": "s-1", "last_assistant_message": text}).kept

    assert "telltale" not in taken(ledger)[0]["text"]


def test_what_could_not_be_done_is_offered_again_at_once(ledger: Ledger) -> None:
    """Its lease does not run for an hour."""
    handover.stopped(ledger.path, {"session_id": "s-1", "last_assistant_message": "the job moved to cron"})
    (one,) = waiting(ledger.path)
    got = take(ledger.path, one)
    assert got is not None
    (held,) = waiting(ledger.path)
    assert not handover.is_due(held)

    handover.give_back(got)

    assert handover.is_due(held)
    assert take(ledger.path, held) is not None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("<analysis>\nthey said hello\n</analysis>\n\n<summary>\nWe moved the job.\n</summary>\n", "We moved the job."),
        ("<analysis>they said hello\n<summary>We moved the job.</summary>", "We moved the job."),
        ("<summary>We moved the job.", "We moved the job."),
        ("We moved <summary> and <analysis>.", "We moved <summary> and <analysis>."),
        ("<analysis>We moved the job.", "<analysis>We moved the job."),
    ],
)
def test_a_summary_waits_as_the_client_shows_it(ledger: Ledger, given: str, kept: str) -> None:
    """The hook is told the model's draft as well, which the client leaves out; words in a sentence stay."""
    handover.compacted(ledger.path, SAID | {"compact_summary": given})

    assert [one["text"] for one in taken(ledger, SOON)] == [kept]
