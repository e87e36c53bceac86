"""The server's hidden tool for the client's prompt hook: the right block in time, or nothing, whatever is broken."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from hooked import PROMPT, repository, setting
from talk import Talk, lines, said, talking

from ledger import redact, sessions
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.sessions import Caller, Sessions
from mcp_server import recall_tool

TEXT = "pgcat refuses connections from the docker network with PGX4711"
WAIT_S = 1.0
"""Longest that a call may take here, its way through two processes on a busy machine included."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a ledger with one learning that the prompt asks for, in a session that somebody sits at."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")
    return made(tmp_path / "data" / "ledger.db", "use port 6543 of pgcat")


def made(path: Path, solution: str) -> Path:
    """Make a ledger."""
    with Ledger.init(str(path)) as ledger:
        ledger.record(Draft(TEXT, solution, "env", "demo"))
        for number in range(30):
            ledger.record(Draft(f"kettle {number} whistles on stove {number}", f"lift {number}", "practice", "demo"))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a repository whose name is the project."""
    return repository(tmp_path)


@pytest.fixture
def talk(file: Path, folder: Path) -> Iterator[Talk]:
    """Return a session with a server that works in the project."""
    with talking(file, "legacy", cwd=folder) as made_talk:
        made_talk.tools()
        yield made_talk


def asked(talk: Talk, folder: Path, prompt: str = PROMPT, session: str = "s1", **more: str) -> str:
    """Call the tool as the plugin's hook does; return its text."""
    arguments = {"prompt": prompt, "session_id": session, "cwd": str(folder), "transcript_path": "", "prompt_id": "p"}
    answer = talk.call("recall", {**arguments, **more})
    assert not answer.is_error
    assert answer.structured_content is None
    return said(answer)


def shown(text: str) -> str:
    """Return the block of an answer, '' for nothing."""
    return str(json.loads(text).get("hookSpecificOutput", {}).get("additionalContext", ""))


def until(true: Callable[[], object]) -> object:
    """Wait for what another process does, by looking."""
    deadline = time.monotonic() + 10
    found = true()
    while not found and time.monotonic() < deadline:
        found = true()
    return found


def test_the_model_is_not_told_of_the_tool(talk: Talk) -> None:
    """It costs no name in `tools/list`; only the ten tools are there."""
    names = [tool["name"] for tool in talk.tools()]

    assert "recall" not in names
    assert len(names) == 10


@pytest.mark.parametrize(("sessions_begun", "is_listed"), [(4, False), (5, True)])
def test_a_client_that_never_calls_it_is_told_of_it(
    file: Path, folder: Path, sessions_begun: int, is_listed: bool
) -> None:
    """Five sessions whose hooks ran and not one prompt: the client seems to refuse what is not listed."""
    for number in range(sessions_begun):
        Sessions(str(file)).ran("session-start", Caller(f"s{number}", "demo", "cli", source="startup"), 1, time.time())

    with talking(file, "legacy", cwd=folder) as made_talk:
        assert ("recall" in [tool["name"] for tool in made_talk.tools()]) is is_listed
        assert "6543" in shown(asked(made_talk, folder))
        assert until(lambda: len(Sessions(str(file)).fired(time.time())) == 2)
        assert "recall" not in [tool["name"] for tool in made_talk.tools()]


def test_a_prompt_is_answered_by_the_hooks_json(talk: Talk, folder: Path) -> None:
    """The framed block under the right event name; the second time nothing, in another session again."""
    first = json.loads(asked(talk, folder))

    assert first["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "use port 6543 of pgcat" in first["hookSpecificOutput"]["additionalContext"]
    assert asked(talk, folder) == recall_tool.NOTHING
    assert "6543" in shown(asked(talk, folder, session="s2"))


@pytest.mark.parametrize("prompt", ["ok go ahead", "", "\0", "x " * 300_000, "<private>" + PROMPT])
def test_a_prompt_that_asks_for_nothing_is_answered_by_nothing(talk: Talk, folder: Path, prompt: str) -> None:
    """The one answer that the client passes over."""
    assert asked(talk, folder, prompt) == "{}"


def test_arguments_of_any_form_are_answered_by_nothing(talk: Talk) -> None:
    """The tool takes what it is given: nothing is refused, nothing raises."""
    for arguments in ({}, {"prompt": 5, "cwd": [], "session_id": None}, {"unknown": "x"}):
        answer = talk.call("recall", arguments)
        assert (answer.is_error, said(answer)) == (False, "{}")


def test_what_the_client_has_loaded_is_not_repeated(talk: Talk, folder: Path) -> None:
    """The rules of the folder say it; the server sees at once when they no longer do."""
    rules = folder / ".claude" / "rules" / "pgcat.md"
    rules.parent.mkdir(parents=True)
    rules.write_text(f"{TEXT}: use port 6543 of pgcat\n")

    assert asked(talk, folder) == "{}"

    rules.write_text("nothing of it\n")
    assert "6543" in shown(asked(talk, folder))


def test_what_was_asked_is_counted_without_it(talk: Talk, folder: Path, file: Path) -> None:
    """A prompt, its outcome, the session and the hook's success; never the prompt itself."""
    asked(talk, folder)
    kept = Sessions(str(file))

    assert until(lambda: kept.uses(0))
    assert {use["what"]: use["many"] for use in kept.uses(0)} == {"prompt": 1, "shown": 1}
    (fired,) = kept.fired(time.time())
    assert (fired["event"], fired["entrypoint"], fired["succeeded"]) == ("prompt", "cli", 1)
    assert b"how did we fix" not in Path(kept.path).read_bytes()


def test_searches_are_counted_and_the_server_tells_its_session(talk: Talk, file: Path) -> None:
    """One `query_learnings`, one search; what the server writes belongs to the session it serves."""
    talk.document("query_learnings", query="pgcat")

    kept = Sessions(str(file))
    assert {use["what"]: use["many"] for use in kept.uses(0)} == {"search": 1}
    assert [who.entrypoint for who in kept.actors().values()] == ["cli"]


def test_robots_are_answered_by_nothing_unless_the_setting_says_so(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own environment says who sits there; the setting counts at once."""
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
    with talking(file, "legacy", cwd=folder) as robot:
        assert asked(robot, folder) == "{}"
        setting(str(file), "robots", "on")
        assert "6543" in shown(asked(robot, folder))


@pytest.mark.parametrize("value", ['["*"]', '["demo-old"]'])
def test_what_is_switched_off_is_answered_by_nothing(talk: Talk, folder: Path, file: Path, value: str) -> None:
    """The setting `off` counts at once, under each name of a project."""
    setting(str(file), "project_aliases", '{"demo-old": "demo"}')
    assert "6543" in shown(asked(talk, folder))

    setting(str(file), "off", value)

    assert asked(talk, folder, session="s2") == "{}"


def test_a_broken_rule_of_secrets_is_answered_by_nothing(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be looked at is not shown; once the rules can be read again, it is."""

    def broken(text: str) -> redact.Scrubbed:
        raise RuntimeError(text)

    tool = recall_tool.RecallTool(str(file), {"CLAUDE_CODE_ENTRYPOINT": "cli"})
    given = {"prompt": PROMPT, "session_id": "s1", "cwd": str(folder)}

    async def prompted() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(redact, "scrub", broken)
            assert await tool.answer(given) == "{}"
        (fired,) = Sessions(str(file)).fired(time.time())
        assert fired["fault"] == "GuardFailed"
        assert "6543" in await tool.answer(given)

    anyio.run(prompted)


def test_a_session_that_is_switched_off_leaves_no_trace(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`LEARNINGS_OFF=1` of the server's environment."""
    monkeypatch.setenv("LEARNINGS_OFF", "1")
    with talking(file, "legacy", cwd=folder) as silent:
        assert asked(silent, folder) == "{}"

    assert not (file.parent / sessions.FILE).exists()


def test_what_was_replaced_by_another_file_is_read_anew(talk: Talk, folder: Path, file: Path, tmp_path: Path) -> None:
    """A restored or moved ledger is noticed at the next prompt."""
    assert "6543" in shown(asked(talk, folder))
    made(tmp_path / "new" / "ledger.db", "use port 7777 of pgcat")
    os.replace(tmp_path / "new" / "ledger.db", file)

    assert "7777" in shown(asked(talk, folder, session="s2"))


def garbage(file: Path) -> None:
    """Put other bytes in the file's place."""
    file.write_bytes(b"no ledger at all" * 1_000)


def torn(file: Path) -> None:
    """Overwrite every page but the first, in the file that is open."""
    with file.open("r+b") as opened:
        opened.seek(4_096)
        opened.write(b"x" * (file.stat().st_size - 4_096))


def gone(file: Path) -> None:
    """Take the file away."""
    file.unlink()


def a_folder(file: Path) -> None:
    """Put a folder in its place."""
    file.unlink()
    file.mkdir()


def without_tables(file: Path) -> None:
    """Take away tables that every read needs."""
    connection = sqlite3.connect(file)
    connection.executescript("DROP TABLE learning_state; DROP TABLE learning_fts;").close()


def read_only(file: Path) -> None:
    """Take away the right to write the file and its folder."""
    file.chmod(0o400)
    file.parent.chmod(0o500)


@pytest.mark.parametrize("harm", [garbage, gone, a_folder, without_tables])
def test_whatever_becomes_of_the_ledger_a_prompt_is_answered_by_nothing(
    talk: Talk, folder: Path, file: Path, harm: Callable[[Path], None]
) -> None:
    """Between two prompts; no error, no wait, and the server goes on."""
    asked(talk, folder)
    harm(file)
    begun = time.monotonic()

    found = [asked(talk, folder, session=f"s{number}") for number in (2, 3)]

    assert found == ["{}", "{}"]
    assert time.monotonic() - begun < 2 * WAIT_S
    assert len(talk.tools()) == 10


@pytest.mark.parametrize("harm", [garbage, torn, gone, a_folder, without_tables])
def test_a_ledger_that_was_never_good_is_answered_by_nothing(
    file: Path, folder: Path, harm: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first prompt on, in a server that did not make ready before; a file that comes later is found."""
    monkeypatch.delenv("CLAUDECODE")
    whole = file.read_bytes()
    harm(file)
    with lines(file) as server:
        given = {"prompt": PROMPT, "session_id": "s1", "cwd": str(folder)}
        assert [b'"text":"{}"' in server.call("recall", given) for _ in range(2)] == [True, True]
        if file.is_dir():
            file.rmdir()
        file.write_bytes(whole)
        assert b"6543" in server.call("recall", given)


def test_a_ledger_that_nobody_may_write_is_read(talk: Talk, folder: Path, file: Path) -> None:
    """Read-only file and folder: recall answers, and what cannot be noted is not."""
    read_only(file)
    try:
        assert "6543" in shown(asked(talk, folder))
    finally:
        file.parent.chmod(0o700)


def test_a_locked_ledger_is_waited_for_once(talk: Talk, folder: Path, file: Path) -> None:
    """The first prompt waits a tenth of a second; the next ones are answered at once until the rest is over."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")

    found = [asked(talk, folder, session=f"s{number}") for number in range(3)]

    other.execute("ROLLBACK")
    other.close()
    assert found == ["{}", "{}", "{}"]
    kept = Sessions(str(file))
    (fired,) = kept.fired(time.time())
    assert (fired["fault"], fired["failed"]) == ("Locked", 1)


def test_a_server_that_is_asked_and_killed_leaves_no_process(file: Path, folder: Path) -> None:
    """SIGINT in the middle of a recall ends it at once."""
    with lines(file) as server:
        server.send(call(7, folder))
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=10) == 0


def arguments(folder: Path) -> dict[str, str]:
    """Return what a prompt of the session `s1` gives the tool."""
    return {"prompt": PROMPT, "session_id": "s1", "cwd": str(folder)}


def call(number: int, folder: Path) -> bytes:
    """Return a call of the tool as a line."""
    params = {"name": "recall", "arguments": arguments(folder)}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def test_a_recall_loads_nothing_that_writes(file: Path, folder: Path) -> None:
    """After a prompt the server holds neither sqlmodel nor alembic."""
    with lines(file) as server:
        assert b"6543" in server.call("recall", arguments(folder))
        if not Path("/proc/self/maps").exists():
            pytest.skip("needs /proc")
        maps = Path(f"/proc/{server.process.pid}/maps").read_text()

    assert "sqlalchemy" not in maps


def test_what_hangs_is_answered_in_time_and_left_alone(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop answers whatever the thread does; then nobody waits until the rest is over, and then one does."""
    tool = recall_tool.RecallTool(str(file), {"CLAUDE_CODE_ENTRYPOINT": "cli"})
    fifo = file.parent / "fifo"
    os.mkfifo(fifo)

    async def answered(session: str) -> tuple[str, float]:
        begun = time.monotonic()
        return await tool.answer({"prompt": PROMPT, "session_id": session, "cwd": str(folder)}), begun

    async def hung() -> None:
        assert "6543" in (await answered("s1"))[0]
        monkeypatch.setattr(recall_tool, "project_of", lambda cwd: fifo.read_text())  # waits, as for a dead disk
        first, begun = await answered("s2")
        waited = time.monotonic() - begun
        second, begun = await answered("s2")
        assert (first, second) == ("{}", "{}")
        assert waited >= recall_tool.LIMIT_S > time.monotonic() - begun
        assert until(lambda: Sessions(str(file)).breakers())
        fifo.write_text("demo")  # the disk is there again
        monkeypatch.setattr(recall_tool, "project_of", lambda cwd: "demo")
        monkeypatch.setattr(tool, "_rests_until", 0.0)
        assert "6543" in (await answered("s3"))[0]
        assert until(lambda: not Sessions(str(file)).breakers())
        assert "6543" in (await answered("s2"))[0]  # what came too late was never shown

    anyio.run(hung)


def test_prompts_that_come_at_once_are_each_answered(talk: Talk, folder: Path) -> None:
    """Calls that come at once wait for each other or are answered by nothing; none fails."""
    calls = [{"prompt": PROMPT, "session_id": f"s{number}", "cwd": str(folder)} for number in range(20)]

    answers = talk.together("recall", calls)

    assert len(answers) == 20
    assert not any(answer.is_error for answer in answers)
    assert any("6543" in said(answer) for answer in answers)


@pytest.mark.parametrize("is_counted", [False, True])
def test_an_answer_that_the_client_did_not_wait_for_is_given_again(file: Path, folder: Path, is_counted: bool) -> None:
    """It says so while the answer is on its way, before or after that was counted: nobody saw it, it was not shown."""
    with lines(file) as server:
        server.send(call(7, folder))
        assert server.process.stdout
        assert b"6543" in server.process.stdout.readline()
        if is_counted:
            assert until(lambda: Sessions(str(file)).uses(time.time()))

        server.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}')

        assert until(lambda: b"6543" in server.call("recall", arguments(folder)))
        assert b"6543" not in server.call("recall", arguments(folder))


def test_a_folder_that_is_deleted_under_the_server_costs_nothing(talk: Talk, folder: Path) -> None:
    """The one thread that answers goes on, a write included."""
    gone = folder.parent / "gone"
    folder.rename(gone)
    talk.document("record_learning", problem="numbats need a nest", solution="build it of grass")
    gone.rename(folder)

    assert "port 6543" in shown(asked(talk, folder, session="after"))
