"""What the MCP server keeps to itself when things break, how it ends, and what it loads when."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from talk import GENERATIONS, command, lines, talking

CANARY = "canary" + "-51d0be"

LEARNING = {"problem": f"{CANARY} in the problem", "solution": f"{CANARY} in the solution", "title": f"{CANARY} title"}

CALLS = [
    ("query_learnings", {"query": CANARY}),
    ("record_learning", LEARNING),
    ("supersede_learning", {"old": "lrn_" + "a" * 26, "reason": CANARY, **LEARNING}),
    ("get_learnings", {"ids": ["lrn_" + "a" * 26]}),
    ("list_learnings", {}),
    ("learning_history", {"id": "lrn_" + "a" * 26}),
    ("retract_learning", {"id": "lrn_" + "a" * 26, "reason": CANARY}),
    ("undo", {"seq": 1, "reason": CANARY}),
    ("ledger_status", {}),
]


def garbage(file: Path) -> None:
    """Put other bytes in the file's place."""
    file.write_bytes(f"{CANARY} is no ledger".encode() * 500)


def torn(file: Path) -> None:
    """Overwrite every page but the first, so that SQLite finds the damage only while it reads."""
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write((CANARY * (size // len(CANARY) + 1)).encode()[: size - 4096])


def a_folder(file: Path) -> None:
    """Put a folder in the file's place."""
    file.unlink()
    file.mkdir()


def without_tables(file: Path) -> None:
    """Take away tables that every read needs."""
    altered(file, "DROP TABLE learning_state", "DROP TABLE learning_fts")


def altered(file: Path, *statements: str) -> None:
    """Change the file behind the ledger's back, as somebody who drops its triggers could."""
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("mode", GENERATIONS[:2])
@pytest.mark.parametrize("fault", [garbage, torn, a_folder, without_tables])
def test_no_text_of_a_learning_leaves_through_an_error(tmp_path: Path, mode: str, fault: object) -> None:
    """With the file broken under a running server every answer is a sentence: no stored or given text, no traceback."""
    file, errors = tmp_path / "ledger.db", tmp_path / "stderr"
    with talking(file, mode, errors=errors) as session:
        session.document("record_learning", **LEARNING)
        assert callable(fault)
        fault(file)

        answers = [(name, session.call(name, arguments)) for name, arguments in CALLS]

    for name, answer in answers:
        text = answer.model_dump_json()
        assert answer.is_error or (name, fault) == ("get_learnings", without_tables), (name, text)
        assert CANARY not in text
        assert "Traceback" not in text
    logged = errors.read_text()
    assert CANARY not in logged
    assert "Traceback" not in logged


def test_a_fault_is_found_again_by_its_id(tmp_path: Path) -> None:
    """What no class of ours names gets an id in the answer and one line with the error's type on standard error."""
    file, errors = tmp_path / "ledger.db", tmp_path / "stderr"
    with talking(file, "auto", errors=errors) as session:
        session.document("record_learning", **LEARNING)
        altered(file, "DROP TRIGGER learning_update_refused", f"UPDATE learning SET tags = '[{CANARY}'")

        sentence = session.refusal("query_learnings", query=CANARY)

    fault = sentence.partition("(fault ")[2][:8]
    assert len(fault) == 8, sentence
    assert errors.read_text() == f"learnings: fault {fault} in query_learnings: JSONDecodeError\n"


def test_an_ambiguous_beginning_names_the_ids(tmp_path: Path) -> None:
    """Two ids that share eight characters (none did among 100,000) are told apart by whoever asks, not by chance."""
    file = tmp_path / "ledger.db"
    with talking(file, "auto", "--project", "demo") as session:
        one, two = (
            session.document("record_learning", problem=text, solution="s")["id"] for text in ("first", "second")
        )
        alike = one[:12] + two[12:]
        altered(file, "DROP TRIGGER learning_update_refused", f"UPDATE learning SET id = '{alike}' WHERE id = '{two}'")

        sentences = [
            session.refusal("get_learnings", ids=[one[:12]]),
            session.refusal("retract_learning", id=one[:12], reason="r"),
        ]

    assert all(one in sentence and alike in sentence for sentence in sentences)


def test_lines_that_are_no_requests_cost_nothing(tmp_path: Path) -> None:
    """Broken JSON, wrong shapes and unknown methods are answered or dropped, repeat nothing, and cost no later call."""
    with lines(tmp_path / "ledger.db") as server:
        server.send(f'{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {{"{CANARY}": '.encode())
        server.send(f'["{CANARY}"]'.encode())
        server.send(b"\xff\xfe" + CANARY.encode())
        shapes = [server.call("query_learnings", CANARY), server.call("query_learnings", [CANARY])]
        shapes.append(server.ask(f"tools/{CANARY}", {}))
        answer = json.loads(server.call("query_learnings", {"query": "still there"}))
        rest, errors, status = server.end()

    assert answer["result"]["structuredContent"]["hits"] == []
    assert all(b'"error"' in shape or b'"isError":true' in shape for shape in shapes)
    assert CANARY.encode() not in b"".join(shapes[:2]) + rest + errors
    assert (errors, status) == (b"", 0)


@pytest.mark.parametrize("own_id", ["8", '"eight"'])
def test_half_a_character_in_a_request_is_answered(tmp_path: Path, own_id: str) -> None:
    """JSON allows it and the SDK's parser does not: whoever asked is told, and no text comes back."""
    call = (
        '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"query_learnings","arguments":{"query":"%s"}}}'
    )
    with lines(tmp_path / "ledger.db") as server:
        server.send((call % (own_id, f"{CANARY} \\ud800")).encode())
        assert server.process.stdout
        answer = server.process.stdout.readline()
        server.send((call.replace('"id":%s,', "") % f"{CANARY} \\ud800").encode())
        server.send((call % ('"\\ud800"', CANARY)).encode())
        later = json.loads(server.call("query_learnings", {"query": "still there"}))
        rest, errors, status = server.end()

    assert json.loads(answer)["id"] == json.loads(own_id)
    assert "half of a surrogate pair" in json.loads(answer)["error"]["message"]
    assert CANARY.encode() not in answer
    assert later["result"]["structuredContent"]["hits"] == []
    assert (rest, errors, status) == (b"", b"", 0)


def test_before_the_first_write_reads_are_empty_and_make_no_file(tmp_path: Path) -> None:
    """An agent may ask before anything was recorded: the answer has a remark, and nothing appears on the disk."""
    file = tmp_path / "ledger.db"
    with talking(file, "auto") as session:
        empty = session.document("query_learnings", query="anything")
        listed = session.document("list_learnings")
        status = session.document("ledger_status")
        refusals = [
            session.refusal(name, **arguments)
            for name, arguments in CALLS
            if "reason" in arguments or "seq" in arguments
        ]

    assert (empty["hits"], listed["rows"], status["events"]) == ([], [], 0)
    assert all("no ledger yet" in answer["remarks"][0] for answer in (empty, listed, status))
    assert len(refusals) == 3
    assert list(tmp_path.iterdir()) == []


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("written", [False, True])
def test_signals_end_it_within_100_ms(tmp_path: Path, number: signal.Signals, written: bool) -> None:
    """Claude Code sends SIGINT and leaves standard input open; what was acknowledged stays, and the status is 0."""
    with lines(tmp_path / "ledger.db") as server:
        if written:
            assert b'"isError":true' not in server.call("record_learning", LEARNING)

        begun = time.perf_counter()
        server.process.send_signal(number)
        status = server.process.wait(timeout=10)
        lasted_ms = (time.perf_counter() - begun) * 1e3

    assert status == 0
    assert lasted_ms < 100
    with lines(tmp_path / "ledger.db") as again:
        hits = json.loads(again.call("query_learnings", {"query": CANARY}))["result"]["structuredContent"]["hits"]
    assert len(hits) == written


def test_a_signal_while_it_still_starts_ends_it_too(tmp_path: Path) -> None:
    """The handlers stand before the SDK's import of a second: no traceback, status 0."""
    code = (
        "import sys, builtins, os, signal\n"
        "real = builtins.__import__\n"
        "def halted(name, *rest, **more):\n"
        "    if name == 'mcp_server.server': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = halted\n"
        "from mcp_server.__main__ import serve\n"
        f"sys.exit(serve({str(tmp_path / 'ledger.db')!r}) or 5)\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
    )

    assert (ended.returncode, ended.stderr) == (0, b"")


def test_the_end_of_standard_input_ends_it(tmp_path: Path) -> None:
    """A client that goes takes the server along: status 0, nothing on standard error."""
    with lines(tmp_path / "ledger.db") as server:
        server.call("record_learning", LEARNING)
        rest, errors, status = server.end()

    assert (rest, errors, status) == (b"", b"", 0)


def test_a_client_that_no_longer_reads_ends_it_quietly(tmp_path: Path) -> None:
    """A closed pipe is how some clients go; that is no fault."""
    with lines(tmp_path / "ledger.db") as server:
        assert server.process.stdout
        server.process.stdout.close()
        server.send(b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{}}')

        status = server.process.wait(timeout=20)
        assert server.process.stderr
        errors = server.process.stderr.read()

    assert (errors, status) == (b"", 0)


def test_a_client_that_is_gone_at_once_is_no_fault(tmp_path: Path) -> None:
    """Both pipes close while an answer is due: status 0, nothing on standard error."""
    with lines(tmp_path / "ledger.db") as server:
        assert server.process.stdin
        assert server.process.stdout
        server.process.stdout.close()
        server.process.stdin.write(b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{}}\n')
        server.process.stdin.close()

        status = server.process.wait(timeout=20)
        assert server.process.stderr
        errors = server.process.stderr.read()
        server.process.stdin = None

    assert (errors, status) == (b"", 0)


def test_without_standard_input_it_says_so_in_one_line(tmp_path: Path) -> None:
    """A fault of the session itself is a line without a traceback, and status 1."""
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *command(tmp_path / "ledger.db")]

    ended = subprocess.run(closed, capture_output=True, timeout=30, check=False)

    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.startswith(b"learnings: fault ")
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize("arguments", [[], ["--file"], ["--nothing", "x"], ["--file", "a", "--port", "1"]])
def test_unknown_options_are_answered_with_the_usage(arguments: list[str]) -> None:
    """One line on standard error and status 2, before anything is loaded."""
    ended = subprocess.run(
        [sys.executable, "-m", "mcp_server", *arguments], capture_output=True, timeout=30, check=False
    )

    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"usage: ")


# -- what is loaded when ----------------------------------------------------------------------------------------------

WRITE_SIDE = ("sqlalchemy", "sqlmodel", "alembic")


def test_the_write_side_is_loaded_by_the_first_write(tmp_path: Path) -> None:
    """Reads and lists run without SQLAlchemy and SQLModel; a write brings them, and Alembic never comes."""
    file = tmp_path / "ledger.db"
    reads = [call for call in CALLS if call[0] in ("query_learnings", "list_learnings", "ledger_status")]
    code = (
        "import json, sys\n"
        "from mcp_server import server, tools\n"
        "from mcp_server.tools import Session\n"
        "from ledger.model import agent\n"
        f"session = Session({str(file)!r}, 'demo', agent('test'))\n"
        "server.Desk(session)\n"
        "def loaded(): return [name for name in " + repr(WRITE_SIDE) + " if name in sys.modules]\n"
        f"reads = {reads!r}\n"
        "for name, given in reads: tools.run(name, session, given)\n"
        "before = loaded()\n"
        f"tools.run('record_learning', session, {LEARNING!r})\n"
        "print(json.dumps([before, loaded()]))\n"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)

    assert json.loads(ran.stdout) == [[], ["sqlalchemy", "sqlmodel"]]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_served_file_is_read_without_the_write_side(tmp_path: Path) -> None:
    """The same from outside: no shared object of SQLAlchemy is mapped while a session only reads."""
    file = tmp_path / "ledger.db"
    with lines(file) as writer:
        writer.call("record_learning", LEARNING)

    with lines(file) as server:
        assert CANARY.encode() in server.call("query_learnings", {"query": CANARY})
        mapped = Path(f"/proc/{server.process.pid}/maps").read_text()
        server.call("record_learning", LEARNING | {"problem": "another"})
        then = Path(f"/proc/{server.process.pid}/maps").read_text()

    assert "sqlalchemy" not in mapped
    assert "sqlalchemy" in then


def test_relative_paths_are_those_of_the_start(tmp_path: Path) -> None:
    """`--file` is made absolute once, so that nothing hangs on where the process stands later."""
    (tmp_path / "here").mkdir()
    with talking(Path("here") / "ledger.db", "auto", cwd=tmp_path) as session:
        session.document("record_learning", **LEARNING)

    assert (tmp_path / "here" / "ledger.db").exists()
    assert command(tmp_path)[0] == sys.executable
    assert os.getcwd() != str(tmp_path)
