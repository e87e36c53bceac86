"""Good files with bytes changed anywhere: what is read of them are texts, or a refusal by name."""

import io
import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import foreign
import pytest
from test_malformed import exported, note, row

from importers import claude_mem, export, files, memory_notes, transcript
from importers.files import Unread

MUTATIONS = 20_000
"""Changed inputs of each importer."""

ALPHABET = [bytes([one]) for one in range(256)] + [
    b"---\n",
    b"\n",
    b"- ",
    b"```",
    b"<!--",
    b"-->",
    b"**Why:**",
    b"&a ",
    b"*a",
    b"{",
    b"[",
    b'"',
    b"\\u0000",
    b"\\ud800",
    b"\xe2\x80\xa8",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"1e999",
    b"NaN",
    b"null",
    b'{"format"',
    b"\r\n",
    b"\x1b]8;;",
]


def mutated(good: bytes, draw: random.Random) -> bytes:
    """Return bytes with some of them changed, dropped, doubled, or put in."""
    raw = bytearray(good)
    for _ in range(draw.randint(1, 8)):
        at = draw.randrange(len(raw) + 1)
        act = draw.randrange(5)
        if act == 0:
            del raw[at : at + draw.randint(1, 30)]
        elif act == 1:
            raw[at:at] = draw.choice(ALPHABET) * draw.choice((1, 1, 2, 50))
        elif act == 2:
            raw[at:at] = raw[: draw.randrange(len(raw) + 1)][-500:]
        elif act == 3:
            raw[at : at + 1] = draw.choice(ALPHABET)
        else:
            del raw[at:]
    return bytes(raw)


def read_as_note(raw: bytes) -> Iterable[Any]:
    """Return the drafts of a note, as an import of a file of these bytes reads it."""
    try:
        return memory_notes.parse(
            files.decoded(raw), "/home/u/.claude/projects/-w-demo/memory/MEMORY.md", "demo"
        ).drafts
    except Unread:
        return ()


def read_as_topic(raw: bytes) -> Iterable[Any]:
    """Return the drafts of a topic file."""
    try:
        return memory_notes.parse(
            files.decoded(raw), "/home/u/.claude/projects/-w-demo/memory/feedback_x.md", "demo"
        ).drafts
    except Unread:
        return ()


def read_as_export(raw: bytes) -> Iterable[Any]:
    """Return the drafts of an export."""
    try:
        return export.parse(raw.splitlines(keepends=True), "/w/e.jsonl").drafts
    except Unread:
        return ()


def read_as_claude_mem(raw: bytes) -> Iterable[Any]:
    """Return the drafts of an export of claude-mem."""
    try:
        return claude_mem.parse(raw, "/w/c.json").drafts
    except Unread:
        return ()


INDEX = (
    b"# Memory\n\nUse the pooler:\n\n- port 6543, **why:** 5432 refuses\n- [ports](ports.md): which port\n\n"
    b"## Build\n\nRun `make`.\n"
)
TOPIC = note(
    "name: pooler-port\ndescription: Which port\nmetadata:\n  type: feedback\n  tags: [db, net]",
    "Use port 6543.\n\n**Why:** x",
)
ROWS = [
    foreign.observation(1, "Pool timed out", facts='["one", "two"]', concepts=["gotcha"], subtitle="in a container"),
    foreign.observation(2, None, text="an old body", type="sensitive", merged_into_project="shop"),
]
ANSWER = {"content": [{"type": "text", "text": json.dumps(ROWS)}]}
READERS = {
    "index": (read_as_note, INDEX),
    "topic": (read_as_topic, TOPIC),
    "export": (read_as_export, exported(row(1, "use port 6543"), row(2, "run make", supersedes=["lrn_00000001"]))),
    "claude-mem": (read_as_claude_mem, json.dumps(foreign.export(*ROWS), indent=1).encode()),
    "claude-mem answer": (read_as_claude_mem, json.dumps(ANSWER).encode()),
}


@pytest.mark.parametrize("name", READERS)
def test_twenty_thousand_changed_files_raise_nothing(name: str) -> None:
    """Whatever bytes a file holds, it is read to drafts that are texts, or refused by name."""
    read, good = READERS[name]
    draw = random.Random(f"malformed {name}")

    for _ in range(MUTATIONS):
        for draft in read(mutated(good, draw)):
            assert isinstance(draft.problem, str)
            assert draft.problem.strip()
            assert draft.solution.strip()


TURNS = b"".join(
    json.dumps({"uuid": str(at), "sessionId": "s", "timestamp": "2026-11-30T08:00:00Z", "cwd": "/w", **one}).encode()
    + b"\n"
    for at, one in enumerate(
        (
            {"type": "user", "message": {"role": "user", "content": "remember: use <b>6543</b>"}},
            {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "yes"}]}},
            {
                "type": "assistant",
                "message": {"id": "m", "content": [{"type": "tool_use", "name": "Bash", "input": {}}]},
            },
            {
                "type": "user",
                "message": {"content": [{"type": "tool_result", "content": [{"type": "text", "text": "x"}]}]},
            },
            {"type": "progress", "data": {}},
        )
    )
)


def test_twenty_thousand_changed_transcripts_raise_nothing() -> None:
    """Whatever bytes a transcript holds, it is read to turns of known speakers, and to its end or a cut line."""
    draw = random.Random("changed transcript")

    for _ in range(MUTATIONS):
        raw = mutated(TURNS, draw)
        found = transcript.Transcript(io.BytesIO(raw), "/w/t.jsonl")
        for turn in found:
            assert turn.speaker in transcript.SPEAKERS
            assert turn.uuid
            turn.text.encode("utf-8")
        assert found.consumed == len(raw) or found.diagnostics[-1].code == "line-cut"


def read_changed_databases(tmp_path: Path, many: int) -> int:
    """Read a database with bytes changed in place, again and again; return how many still gave something."""
    path = tmp_path / "c.db"
    foreign.database(path, *ROWS, *(foreign.observation(one, "t", narrative="n" * 900) for one in range(3, 40))).close()
    good = path.read_bytes()
    draw = random.Random("changed database")
    given = 0
    for _ in range(many):
        raw = bytearray(good)
        for _ in range(draw.randint(1, 12)):
            at = draw.randrange(len(raw))
            raw[at : at + 1] = draw.choice((draw.randbytes(1), b"\0", b"\xff", draw.randbytes(4)))
        path.write_bytes(raw[: draw.choice((len(raw), len(raw), len(raw), draw.randrange(len(raw))))])
        try:
            drafts = claude_mem.database(str(path)).drafts
        except Unread:
            continue
        given += bool(drafts)
        assert all(draft.problem.strip() and draft.solution.strip() for draft in drafts)
    return given


def test_changed_databases_raise_nothing(tmp_path: Path) -> None:
    """Whatever bytes a database holds, it is read to drafts that are texts, or refused by name."""
    assert read_changed_databases(tmp_path, 1_000) > 100


@pytest.mark.soak
def test_twenty_thousand_changed_databases_raise_nothing(tmp_path: Path) -> None:
    """The same, as often as the other readers are tried."""
    assert read_changed_databases(tmp_path, MUTATIONS) > 2_000


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_inputs_that_reach_new_lines_are_changed_further(name: str) -> None:
    """A search guided by the lines that run: inputs that reach new ones are kept and changed again."""
    read, good = READERS[name]
    draw = random.Random(f"guided {name}")
    kept, seen = [good], set[tuple[str, int]]()

    def traced(frame: FrameType, event: str, _: object) -> Any:
        if "importers" not in frame.f_code.co_filename:
            return None
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return traced

    for _ in range(100_000):
        raw, lines = mutated(draw.choice(kept), draw)[:20_000], set[tuple[str, int]]()
        sys.settrace(traced)
        try:
            list(read(raw))
        finally:
            sys.settrace(None)
        if not lines <= seen:
            seen |= lines
            kept.append(raw)

    assert len(kept) > 10
