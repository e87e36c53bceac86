"""What comes in by itself while the real client runs: notes that the model writes, and what it says last."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from ledger.ledger import Ledger
from realclient.client import PROJECT, Home
from realclient.known import CLOSING, GATE, OPENING, since
from realclient.stub import Reply

pytestmark = pytest.mark.realclient

NOTE = """---
name: merlin-quota
description: what to do about MQ5150 of the merlin relay
metadata:
  type: project
---

The merlin relay answers MQ5150 when its spool is full: run `merlinctl drain --all` first, then restart it.
"""
PROMPT = "the merlin relay answers MQ5150 again, what do we do about its spool?"
MARK = "merlinctl drain --all"


def memory(home: Home) -> Path:
    """Return the memory folder that the client keeps for the project."""
    return home.folder / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(home.project)) / "memory"


def writing(home: Home) -> Reply:
    """Return the model's call that writes the note."""
    return Reply("", (("Write", {"file_path": str(memory(home) / "merlin.md"), "content": NOTE}),))


def known(home: Home) -> bool:
    """Tell whether the ledger knows what the note says."""
    with Ledger.open(str(home.ledger)) as ledger:
        return any(MARK in hit.solution for hit in ledger.reader.query(PROMPT).hits)


def comes_in(home: Home) -> bool:
    """Wait until the ledger knows what the note says; tell whether it ever does."""
    end = time.monotonic() + 40
    while not (found := known(home)) and time.monotonic() < end:
        continue
    return found


def queued(home: Home, lane: str) -> list[dict[str, Any]]:
    """Return what waits beside the ledger in a lane, oldest first."""
    files = sorted((home.ledger.parent / "queue").glob(f"*.{lane}.*"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines() if line]


def test_a_note_that_the_model_writes_is_recalled_while_the_session_runs(ready: Home) -> None:
    """Hook, queue, server, recall: with the trust of a note, in the project of the folder, in other sessions too."""
    with ready.served("--allowedTools", "Write") as session:
        session.say("hello")
        ready.stub.say(writing(ready))
        wrote = session.say("write that down")
        assert comes_in(ready)
        turn = session.shown(PROMPT, MARK)
    later = ready.recalled(PROMPT, MARK)

    assert not wrote.last.results[-1].get("is_error"), wrote.last.results
    assert MARK in (memory(ready) / "merlin.md").read_text("utf-8")
    said = since(turn.request, PROMPT)
    framed = said[said.index(OPENING) : said.index(CLOSING)]
    assert MARK in framed
    assert f"· {PROJECT} ·" in framed
    assert "trust 2" in framed
    assert MARK in since(later, PROMPT)


@pytest.mark.parametrize("number", [0, 2])
def test_a_note_of_a_session_that_ends_at_once_comes_in_by_another(ready: Home, number: int) -> None:
    """Whatever the ended session's server had begun: whoever has the ledger open sees to the rest."""
    with ready.served() as other:
        other.say("hello from another")
        ready.stub.say(*[Reply()] * number, writing(ready))
        with ready.served("--allowedTools", "Write") as session:
            for _ in range(number):
                session.say("hello")
            session.say("write that down")
        came = comes_in(ready)

    assert came


def test_what_a_robot_writes_and_says_feeds_nothing(ready_for_people: Home) -> None:
    """Without the setting: its note is remembered as a tool's and not brought in, its last words are not kept."""
    home = ready_for_people
    home.stub.say(writing(home), Reply("The merlin relay needs a drain before each restart."))

    with home.served("--allowedTools", "Write") as session:
        session.say("write that down")
        notes = queued(home, "soon")

    assert (memory(home) / "merlin.md").exists()
    assert [note["feeds"] for note in notes] in ([False], [])  # [] when the server has seen to it already
    assert queued(home, "later") == []
    assert not known(home)


def test_what_was_said_last_waits_without_its_secret_and_without_what_was_recalled(ready: Home) -> None:
    """And where the transcript is, at the end; a learning said again word by word is not evidence of anything."""
    secret = "gh" + "p_" + "Qm7" * 12
    own = f"The merlin relay was drained with {secret} and runs."
    with ready.served() as session:
        session.shown(GATE.prompt, GATE.mark)
        ready.stub.say(Reply(f"Since {GATE.problem}, {GATE.solution}."))
        session.say("say that again")
        ready.stub.say(Reply(own))
        session.say("and the relay?")
    waits = queued(ready, "later")

    texts = [one["text"] for one in waits if one["kind"] == "evidence"]
    (pointer,) = [one for one in waits if one["kind"] == "transcript"]
    assert [text for text in texts if GATE.mark in text] == []
    assert len([text for text in texts if "The merlin relay was drained" in text and "[REDACTED" in text]) == 1
    assert own in Path(pointer["transcript"]).read_text("utf-8")
    for file in ready.ledger.parent.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes()
