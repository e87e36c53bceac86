"""`learnings doctor` on real set-ups: a home of its own, a real server, and everything that stops without a sound."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Done
from set_up import DAY_S, ROOT, Home, by_id

from ledger import (
    cli,
    doctor,
    doctor_check,
    doctor_client,
    doctor_file,
    doctor_http,
    doctor_notes,
    doctor_server,
    doctor_told,
    doctor_use,
    erasures,
    gate,
    handover,
    meaning,
    room,
    setup_clients,
    store_sqlite,
)
from ledger.doctor_check import Around, Check
from ledger.errors import GuardFailed, Unwell
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.sessions import Caller

OURS = setup_clients.plugin_hooks()["hooks"]
THEIRS = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "node ${CLAUDE_PLUGIN_ROOT}/inject.js"}]}]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Home:
    """Return a home with nothing in it, which is the process's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in (
        "CLAUDE_CONFIG_DIR", "CODEX_HOME", "LEARNINGS_FILE", "LEARNINGS_OFF", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
        "PYTHONDONTWRITEBYTECODE",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    return Home(tmp_path)


@pytest.fixture
def examined(home: Home, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Return the command on this home's ledger."""

    def run(*words: str) -> Done:
        capsys.readouterr()
        code = cli.main(["--file", home.file, "doctor", *words])
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def healthy(home: Home) -> Home:
    """Return a home that was set up ten days ago and is used every day."""
    home.set_up()
    home.record(days=10)
    for days in (9, 5, 2, 0.5):
        home.session(days)
    return home


def broken_ids(done: Done) -> list[str]:
    """Return the ids of the checks that are broken; hold status and document to each other."""
    document = done.document
    faults = [one["id"] for one in document["checks"] if not one["ok"]]
    assert document["ok"] is (not faults)
    assert done.code == (Unwell.exit_code if faults else 0)
    return faults


def message(done: Done, name: str) -> str:
    """Return what a check says."""
    return str({one["id"]: one["message"] for one in done.document["checks"]}[name])


def told(home: Home) -> dict[str, Check]:
    """Return the checks of what clients were told, which run nothing."""
    return by_id(doctor_told.checks(home.around, doctor_client.told(home.around)))


def used(home: Home, serves_robots: bool = False, saved: Any = (), began: float = 0.0) -> dict[str, Check]:
    """Return the checks of use, for a log that is older than everything unless that is said."""
    found = doctor_client.told(home.around)
    log = doctor_use.Log(list(saved), serves_robots, began)
    return by_id(doctor_use.checks(home.around, found, home.kept, log if os.path.exists(home.file) else None))


def of_file(home: Home, **more: str) -> dict[str, Check]:
    """Return the checks of the ledger, in an environment with more in it."""
    around = home.around._replace(env={**home.around.env, **more})
    return by_id([*doctor._guarded("ledger", doctor._file(around, [])), *doctor_file.beside(around)])


# -- the whole -------------------------------------------------------------------------------------------------------


def test_a_healthy_set_up_is_well(healthy: Home, examined: Callable[..., Done]) -> None:
    """Every check is ok, its document has these keys and no others, and the status is 0."""
    done = examined("--json")

    assert broken_ids(done) == []
    assert set(done.document) == {"ok", "checks"}
    assert all(set(one) == {"id", "ok", "message"} for one in done.document["checks"])
    assert "10 tools" in message(done, "server")
    assert "prompt 12 hours ago (cli)" in message(done, "fired")


def test_a_fresh_set_up_without_any_session_is_well_and_says_so(home: Home, examined: Callable[..., Done]) -> None:
    """No ledger, no session: that nothing fired yet is a remark."""
    home.set_up(days=0)

    done = examined("--json")

    assert broken_ids(done) == []
    assert "not fired yet" in message(done, "fired")
    assert "no ledger" in message(done, "ledger")
    assert not Path(home.file).exists()


def test_a_set_up_of_today_is_not_blamed_for_the_sessions_before_it(home: Home) -> None:
    """Somebody who used the client for a month sets this up now."""
    for days in range(1, 20):
        home.transcript(days)
    home.record(days=19)

    home.set_up(days=0)

    assert used(home)["fired"] == Check(
        "fired", ok=True, message="not fired yet, and no session ran since the set-up: begin one", is_remark=True
    )


def test_a_line_a_check_is_printed_for_people(healthy: Home, examined: Callable[..., Done]) -> None:
    """The first word says whether to read on; the last line says it all."""
    healthy.change(healthy.settings, lambda held: held["hooks"].pop("UserPromptSubmit"))

    done = examined()

    lines = done.out.splitlines()
    assert done.code == Unwell.exit_code
    assert [line.split()[:2] for line in lines if line.startswith("BROKEN")] == [["BROKEN", "hooks"]]
    assert lines[-1] == "1 check broken; nothing was changed"


def test_nothing_is_written(healthy: Home, examined: Callable[..., Done]) -> None:
    """Every file of the home is the same to the byte, damaged ones included."""
    damaged = Path(healthy.file).with_name("exposures.db")
    damaged.write_bytes(b"no database" * 500)
    damaged.chmod(0o600)
    before = {path: path.read_bytes() for path in healthy.folder.rglob("*") if path.is_file()}

    done = examined("--json")

    assert broken_ids(done) == ["exposures"]
    assert {path: path.read_bytes() for path in healthy.folder.rglob("*") if path.is_file()} == before


# -- what the issue names --------------------------------------------------------------------------------------------


def test_a_hook_that_never_fired_in_9_days_though_sessions_ran(home: Home, examined: Callable[..., Done]) -> None:
    """The transcripts are the witness: nothing of ours knows that a session ran."""
    home.set_up(days=9.5)
    home.record(days=9.5)
    for days in (9, 6, 4, 1):
        home.transcript(days)

    done = examined("--json")

    assert "fired" in broken_ids(done)
    assert "prompt never fired for a person in 9 days though 4 sessions of people ran" in message(done, "fired")


def test_sessions_from_before_the_ledger_leave_no_trace(home: Home) -> None:
    """A hook without a ledger notes nothing, so that only what ran since is held against it."""
    home.set_up(days=20)
    home.record()
    for days in (9, 6, 4, 1):
        home.transcript(days)

    assert used(home, began=home.now)["fired"].ok


def test_a_set_up_without_a_ledger_is_told_once_sessions_ran(home: Home) -> None:
    """On the first day it is a remark; after a week nobody will look again by himself."""
    home.set_up(days=1)
    for days in (0.9, 0.5, 0.1):
        home.transcript(days)
    assert used(home)["fired"].is_remark

    home.age(days=9)

    assert not used(home)["fired"].ok
    assert "never fired visibly in 9 days: 3 sessions of people ran" in used(home)["fired"].message


def test_a_hook_that_stopped_is_told_with_its_last_success(healthy: Home) -> None:
    """Hooks fired for weeks; since half a day ago three sessions ran without any."""
    for hours in (6, 4, 2):
        healthy.transcript(hours / 24)

    fired = used(healthy)["fired"]

    assert not fired.ok
    assert "prompt fired last for a person 12 hours ago and 3 sessions of people ran since" in fired.message


def test_one_session_without_hooks_is_a_remark(healthy: Home) -> None:
    """It may have run with LEARNINGS_OFF=1."""
    healthy.transcript(0.2)

    fired = used(healthy)["fired"]

    assert (fired.ok, fired.is_remark) == (True, True)
    assert "1 session of people ran since" in fired.message


def test_sessions_in_which_nothing_was_kept_are_seen(healthy: Home) -> None:
    """Recall works and capture has stopped; that no note was written or no context compacted says nothing."""
    for days in (0.4, 0.3, 0.2):
        who = Caller(healthy.transcript(days).stem, "demo", "cli", source="startup")
        for event in ("session-start", "prompt"):
            assert healthy.kept.ran(event, who, 20, healthy.now - days * 86_400)

    fired = used(healthy)["fired"]

    assert not fired.ok
    assert fired.message.startswith("stop fired last for a person 12 hours ago and 3 sessions of people ran since; ")


def test_a_subagent_that_was_shown_nothing_is_seen(healthy: Home) -> None:
    """Its own transcripts say that subagents ran."""
    for hours in (1, 2, 3):
        path = healthy.transcript(hours / 24)
        healthy.session(hours / 24)
        inner = path.with_suffix("") / "subagents" / "agent-1.jsonl"
        inner.parent.mkdir(parents=True)
        inner.write_text("{}\n", "utf-8")

    assert "subagent-start never fired for a person" in used(healthy)["fired"].message


def test_a_time_out_in_milliseconds(healthy: Home, examined: Callable[..., Done]) -> None:
    """5000 is 83 minutes."""

    def in_milliseconds(held: Any) -> None:
        held["hooks"]["UserPromptSubmit"][0]["hooks"][0]["timeout"] = 5_000

    healthy.change(healthy.settings, in_milliseconds)

    done = examined("--json")

    assert broken_ids(done) == ["timeouts"]
    assert "UserPromptSubmit has 5000" in message(done, "timeouts")


def test_an_interpreter_that_is_gone_after_its_environment_moved(healthy: Home, examined: Callable[..., Done]) -> None:
    """Hooks and server name an interpreter that was there when they were written."""
    old, new = healthy.folder / "venv", healthy.folder / "moved"
    (old / "bin").mkdir(parents=True)
    (old / "bin" / "python").symlink_to(sys.executable)
    for path in (healthy.settings, healthy.state):
        path.write_text(path.read_text("utf-8").replace(os.path.abspath(sys.executable), str(old / "bin" / "python")))
    healthy.age(10)
    assert told(healthy)["programs"].ok
    old.rename(new)

    done = examined("--json")

    assert broken_ids(done) == ["programs", "server"]
    assert "~/venv/bin/python (~/.claude/settings.json)" in message(done, "programs")
    assert "no such file" in message(done, "server")


def test_a_server_that_starts_only_with_a_full_path(
    healthy: Home, examined: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registered by its bare name, as many do by hand; a desktop's client does not have that PATH."""
    shim = healthy.folder / "bin" / "learnings"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m ledger.cli "$@"\n', "utf-8")
    shim.chmod(0o755)
    by_name = {"command": "learnings", "args": ["serve"], "env": {"LEARNINGS_FILE": healthy.file}}
    healthy.change(healthy.state, lambda held: held["mcpServers"].update(learnings=by_name))
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")

    done = examined("--json")

    assert broken_ids(done) == ["server"]
    assert "starts only with a full PATH or environment: ~/.claude.json (your PATH)" in message(done, "server")


def test_two_plugins_on_one_event(healthy: Home, examined: Callable[..., Done]) -> None:
    """Another memory answers the same prompt."""
    healthy.plug_in("claude-mem@thedotmack", THEIRS)

    done = examined("--json")

    assert broken_ids(done) == ["others"]
    assert "plugin claude-mem@thedotmack on UserPromptSubmit" in message(done, "others")


def test_plugin_and_setup_together_are_one_too_many(healthy: Home, examined: Callable[..., Done]) -> None:
    """Everything would come twice: hooks and server."""
    healthy.plug_in("learnings@learning-ledger", OURS, setup_clients.plugin_server()["mcpServers"])

    done = examined("--json")

    assert {"duplicates"} <= set(broken_ids(done))
    for word in ("UserPromptSubmit", "SessionStart", "the server", "plugin learnings@learning-ledger"):
        assert word in message(done, "duplicates")


def test_a_ledger_behind_its_anchor(healthy: Home, examined: Callable[..., Done]) -> None:
    """An older copy was put in its place."""
    shutil.copy(healthy.file, healthy.folder / "copy.db")
    healthy.record()
    shutil.copy(healthy.folder / "copy.db", healthy.file)

    done = examined("--json")

    assert broken_ids(done) == ["anchor"]
    assert "rolled back: it ends at event 1 and its anchor saw event 2" in message(done, "anchor")


def test_a_week_of_robots_does_not_look_like_use(home: Home, examined: Callable[..., Done]) -> None:
    """The hooks of a scheduler's sessions fire every day, and those of a person do not."""
    home.set_up(days=20)
    home.record(days=20)
    home.session(12)
    for days in (6, 5, 4, 3, 2, 1):
        home.session(days, "sdk-cli")
    for days in (5, 3, 1):
        home.transcript(days)

    done = examined("--json")

    assert broken_ids(done) == ["fired"]
    assert "prompt fired last for a person 12 days ago and 3 sessions of people ran since" in message(done, "fired")
    assert "3 sessions of people with 0 prompts counted" in message(done, "use")
    assert "6 sessions of robots, which count for no use" in message(done, "use")


def test_a_week_in_which_only_robots_ran_is_told(home: Home) -> None:
    """No person's session at all; where robots are served on purpose it is as it should be."""
    home.set_up(days=20)
    home.record()
    home.session(12)
    for days in (6, 4, 2):
        home.session(days, "sdk-cli")

    assert not used(home)["use"].ok
    assert "nobody used it for 7 days: 3 sessions of robots alone" in used(home)["use"].message
    assert used(home, serves_robots=True)["use"].ok


# -- what clients were told ------------------------------------------------------------------------------------------


def test_a_client_that_was_told_nothing_is_a_remark(home: Home) -> None:
    """Somebody may use the command line alone."""
    assert told(home)["hooks"] == Check(
        "hooks",
        ok=True,
        message="Claude Code was told nothing of this program; `learnings setup claude-code` does that",
        is_remark=True,
    )


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda held: held["hooks"].pop("SessionStart"), "no hook for SessionStart"),
        (lambda held: held.update(disableAllHooks=True), "disableAllHooks"),
        (lambda held: held["hooks"]["UserPromptSubmit"][0]["hooks"][0].update(server="other", tool="x"), "no hook for"),
        (lambda held: held.pop("hooks"), "hooks are not"),
    ],
)
def test_hooks_that_are_not_as_set_up_are_named(home: Home, act: Callable[[Any], Any], words: str) -> None:
    """Each in its own words."""
    home.set_up()
    home.change(home.settings, act)

    assert words in told(home)["hooks"].message


def test_a_server_that_the_hook_calls_in_vain_is_named(home: Home) -> None:
    """The hook stayed and the server was taken out by hand."""
    home.set_up()
    home.change(home.state, lambda held: held.pop("mcpServers"))

    assert "calls a server learnings that the client does not have" in told(home)["hooks"].message


@pytest.mark.parametrize("text", [b"{ // comment\n}", b"[]", b"\xff{}"])
def test_settings_that_the_client_cannot_read_are_named(home: Home, text: bytes) -> None:
    """It drops such a file whole, and every hook in it."""
    home.set_up()
    home.settings.write_bytes(text)

    assert "~/.claude/settings.json" in told(home)["hooks"].message
    assert not told(home)["hooks"].ok


@pytest.mark.parametrize("held", [[], 1, "x", {"UserPromptSubmit": 1}, {"UserPromptSubmit": [1, {"hooks": [2, {}]}]}])
def test_settings_of_any_shape_are_read(home: Home, held: Any) -> None:
    """Nothing that stands there ends the command."""
    home.set_up()
    home.change(home.settings, lambda document: document.update(hooks=held, permissions=held, enabledPlugins=held))
    home.change(home.state, lambda document: document.update(projects=held))

    assert "no hook for" in told(home)["hooks"].message or "hooks are not" in told(home)["hooks"].message


def test_the_plugin_alone_is_a_set_up(home: Home) -> None:
    """Its own names for server and permission are known."""
    home.settings.parent.mkdir()
    home.plug_in("learnings@learning-ledger", OURS, setup_clients.plugin_server()["mcpServers"])

    found = told(home)

    assert found["hooks"].ok
    assert "plugin learnings@learning-ledger" in found["hooks"].message
    assert "until permissions.allow has mcp__plugin_learnings_ledger (by hand)" in found["permission"].message


def test_a_hook_without_a_time_out_is_a_remark(home: Home) -> None:
    """The client has one of its own, and it is long."""
    home.set_up()
    home.change(home.settings, lambda held: held["hooks"]["SessionStart"][0]["hooks"][0].pop("timeout"))

    assert (told(home)["timeouts"].ok, told(home)["timeouts"].is_remark) == (True, True)


def test_other_hooks_are_named_without_their_arguments(home: Home) -> None:
    """An argument may be a secret."""
    home.set_up()
    other = {"type": "command", "command": "/opt/tools/greet.sh --token " + "gh" + "p_" + "A" * 36}
    home.change(home.settings, lambda held: held["hooks"]["SessionStart"].append({"hooks": [other]}))

    others = told(home)["others"]

    assert (others.ok, others.is_remark) == (True, True)
    assert others.message == "other hooks run on the same events: greet.sh on SessionStart"


def test_permission_is_a_remark_and_its_refusal_is_not(home: Home) -> None:
    """Without it the client asks; denied, the tools are of no use."""
    home.set_up()
    home.change(home.settings, lambda held: held["permissions"].update(allow=[]))
    assert told(home)["permission"].is_remark

    home.change(home.settings, lambda held: held["permissions"].update(deny=["mcp__learnings"]))

    assert not told(home)["permission"].ok


def test_hooks_and_server_of_two_ledgers_are_told(home: Home) -> None:
    """What is saved in one would never be shown from the other."""
    home.set_up()
    home.change(home.state, lambda held: held["mcpServers"]["learnings"]["env"].update(LEARNINGS_FILE="/other.db"))

    assert "/other.db" in told(home)["one-ledger"].message
    assert not told(home)["one-ledger"].ok


def test_servers_of_other_clients_are_looked_at(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """They have no hooks, and their interpreter moves as well."""
    for client in ("codex", "cursor", "gemini"):
        assert cli.main(["setup", client, "--file", home.file]) == 0
    for path in (home.folder / ".codex/config.toml", home.folder / ".cursor/mcp.json"):
        path.write_text(path.read_text("utf-8").replace(os.path.abspath(sys.executable), "/gone/python"), "utf-8")

    programs = told(home)["programs"]

    assert "/gone/python (~/.codex/config.toml), /gone/python (~/.cursor/mcp.json)" in programs.message


def test_what_a_repository_brings_along_is_never_run(home: Home) -> None:
    """The client asks before it starts a server of `.mcp.json`; whoever cloned that would not be asked here."""
    program = home.folder / "learnings"
    program.write_text(f"#!/bin/sh\ntouch {home.folder}/ran\n", "utf-8")
    program.chmod(0o755)
    entry = {"mcpServers": {"learnings": {"command": str(program), "args": ["serve"]}}}
    (home.folder / ".mcp.json").write_text(json.dumps(entry), "utf-8")

    found = doctor_client.told(home.around)
    checks = list(doctor_server.checks(home.around, found.servers))

    assert [one.where for one in found.servers] == ["~/.mcp.json"]
    assert checks == []
    assert not (home.folder / "ran").exists()


@pytest.mark.parametrize(
    ("name", "command", "args"),
    [
        ("learnings", "/bin/sh", ["-c", "touch ran", "learnings", "serve"]),
        ("learnings", "/bin/sh", ["-c", "touch ran", "-m", "mcp_server"]),
        ("weather", "python", ["-m", "mcp_server"]),
        ("weather", "python", ["-m", "ledger.cli", "serve"]),
        ("learnings", "python", ["server.py", "mcp_server"]),
        ("learnings", "python", ["server.py", "-m", "mcp_server"]),
        ("learnings", "node", ["learnings", "serve"]),
        ("learnings", "my-learnings", ["serve"]),
        ("ledger", "learnings", ["erase", "serve"]),
    ],
)
def test_a_program_of_somebody_else_is_not_started(home: Home, name: str, command: str, args: list[str]) -> None:
    """Neither of the user nor of a plugin that is named as ours is."""
    entry = {name: {"command": command, "args": args}}
    home.set_up()
    home.change(home.state, lambda held: held.update(mcpServers=entry))
    home.plug_in("learnings@elsewhere", OURS, entry)

    assert doctor_client.told(home.around).servers == []


# -- use -------------------------------------------------------------------------------------------------------------


def test_a_hook_whose_last_run_failed_is_told(healthy: Home) -> None:
    """With the fault's name, and until it succeeds again."""
    healthy.kept.failed("prompt", "cli", "Locked", healthy.now)
    assert "prompt failed last with Locked just now (cli)" in used(healthy)["fired"].message
    assert not used(healthy)["fired"].ok

    healthy.session(-0.001)

    assert used(healthy)["fired"].ok


def test_no_learning_for_days_though_sessions_ran_is_told(healthy: Home) -> None:
    """From a week and ten sessions of people on; robots do not count."""
    saved = [("cli", "2020-01-01T00:00:00.000000Z", 3)]
    for number in range(20):
        healthy.session(number / 10, "sdk-cli")
    assert used(healthy, saved=saved)["written"].ok
    for number in range(10):
        healthy.session(number / 10)

    written = used(healthy, saved=saved)["written"]

    assert not written.ok
    assert "though 14 sessions of people ran" in written.message


def test_what_hangs_is_told(healthy: Home) -> None:
    """Until it is known to work again."""
    healthy.kept.tripped("recall", healthy.now)
    assert "did not answer in time: recall since" in used(healthy)["breaker"].message

    healthy.kept.passed("recall")

    assert used(healthy)["breaker"].ok


# -- the ledger ------------------------------------------------------------------------------------------------------


def test_an_altered_event_is_found_at_the_end_of_the_log(healthy: Home) -> None:
    """Named by its seq; the check goes no further back than it says."""
    connection = sqlite3.connect(healthy.file)
    for name in ("event_update_refused", "payload_update_refused"):
        connection.execute(f"DROP TRIGGER IF EXISTS {name}")
    connection.execute("UPDATE payload SET body = CAST('{}' AS BLOB) WHERE seq = 1")
    connection.commit()
    connection.close()

    assert "event 1 does not verify (commitment)" in of_file(healthy)["chain"].message


def test_projections_that_did_not_reach_the_head_are_told(healthy: Home) -> None:
    """As after a crash of another program that writes."""
    connection = sqlite3.connect(healthy.file)
    connection.execute("UPDATE projection SET seq = 0")
    connection.commit()
    connection.close()

    assert "projections end at event 0" in of_file(healthy)["chain"].message


def test_a_clock_behind_the_last_event_is_told(home: Home) -> None:
    """The log stays in order; the ages of everything are wrong."""
    home.record(days=-3)

    assert "the clock is 3.0 days behind the last event" in of_file(home)["clock"].message


def test_files_that_others_may_read_are_told(healthy: Home) -> None:
    """Each with its mode; a folder that others may list is a remark."""
    os.chmod(os.path.dirname(healthy.file), 0o755)
    assert of_file(healthy)["modes"].is_remark

    os.chmod(healthy.kept.path, 0o644)

    assert "~/data/sessions.db (644)" in of_file(healthy)["modes"].message
    assert not of_file(healthy)["modes"].ok


def test_a_folder_that_others_may_write_is_told(healthy: Home) -> None:
    """They could put another ledger there."""
    os.chmod(os.path.dirname(healthy.file), 0o777)

    assert "others may put files into ~/data (777)" in of_file(healthy)["modes"].message


def test_a_ledger_that_is_gone_is_not_taken_for_none_yet(healthy: Home) -> None:
    """Its anchor is still there."""
    os.unlink(healthy.file)

    assert "is gone, though it was there: ledger.db.anchor, ledger.db.lock" in of_file(healthy)["ledger"].message


@pytest.mark.parametrize("text", [b"", b"no database at all" * 100])
def test_a_file_that_is_no_ledger_is_told(home: Home, text: bytes) -> None:
    """In the words in which every command refuses it."""
    Path(home.file).parent.mkdir(mode=0o700)
    Path(home.file).write_bytes(text)

    assert "is not a ledger" in of_file(home)["ledger"].message


def test_a_ledger_of_a_newer_program_is_told(healthy: Home) -> None:
    """With what to do about it."""
    connection = sqlite3.connect(healthy.file)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    assert "install the newer learning-ledger" in of_file(healthy)["ledger"].message


@pytest.mark.parametrize("name", ["exposures", "sessions", "turns"])
def test_a_damaged_file_beside_the_ledger_is_told(healthy: Home, name: str) -> None:
    """It may be deleted; nothing in it is needed by the log."""
    Path(healthy.file).with_name(f"{name}.db").write_bytes(b"no database" * 500)

    found = of_file(healthy)[name]

    assert not found.ok
    assert "SQLITE_NOTADB" in found.message


def test_a_file_that_another_process_holds_is_a_remark(healthy: Home) -> None:
    """It is held for milliseconds."""
    holder = sqlite3.connect(healthy.kept.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    found = of_file(healthy)["sessions"]
    holder.close()

    assert (found.ok, found.is_remark) == (True, True)


def test_what_was_set_aside_is_named(healthy: Home) -> None:
    """A damaged file of exposures that recall met."""
    Path(healthy.file).with_name("exposures.db.damaged").write_bytes(b"x")

    assert "exposures.db.damaged may be deleted" in of_file(healthy)["exposures"].message


def test_what_waits_and_what_was_given_up_for_room_is_told(healthy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence waits for the offline pass, notes for a scan; nothing of it is a fault but a queue that is none."""
    queue = Path(handover.folder_beside(healthy.file))
    queue.write_text("a file")
    assert not of_file(healthy)["queue"].ok
    queue.unlink()
    assert "nothing waits" in of_file(healthy)["queue"].message
    said = {"session_id": "s1", "compact_summary": "We moved it.", "last_assistant_message": "It moved."}
    handover.compacted(healthy.file, said)
    handover.stopped(healthy.file, said)
    (soon,) = handover.waiting(healthy.file, handover.SOON)
    os.utime(soon.path, (healthy.now - 3 * 86_400,) * 2)

    waits = of_file(healthy)["queue"]
    monkeypatch.setattr(room, "FILES_MAX", 1)
    handover.stopped(healthy.file, said | {"session_id": "s2"})
    gone = of_file(healthy)["queue"]

    assert "1 file for the next scan, 1 file for the offline pass; the oldest came 3 days ago" in waits.message
    assert "1 record given up in 30 days" in gone.message
    assert (waits.ok, waits.is_remark, gone.ok, gone.is_remark) == (True, True, True, True)


def test_an_erasure_that_is_not_finished_is_told(healthy: Home) -> None:
    """A kill, a full disk or a reader left it half done: the bytes are still there."""
    before = of_file(healthy)["erasure"]
    erasures.keep_pending(healthy.file)
    left = of_file(healthy)["erasure"]

    assert before.ok
    assert not left.ok
    assert "learnings erase --again" in left.message


def remote(home: Home) -> dict[str, Check]:
    """Return the check of what goes over HTTP, after the set-up with a server elsewhere."""
    return by_id(doctor_http.checks(home.around, doctor_client.told(home.around).remote))


@pytest.fixture
def afar(home: Home) -> Path:
    """Let Claude Code reach a server with a token; return the token's file."""
    path = home.folder / "token"
    made = ["token", "create", "laptop", "--save", str(path)]
    assert cli.main(["--file", home.file, *made]) == 0
    url = ["--http", "http://127.0.0.1:8765/mcp", "--token-file", str(path)]
    assert cli.main(["setup", "claude-code", "--file", home.file, *url]) == 0
    return path


def test_a_server_afar_is_named_and_not_called(home: Home, afar: Path) -> None:
    """Nothing listens at its address, and that is not found out."""
    check = remote(home)["http"]

    assert (check.ok, check.is_remark) == (True, False)
    assert "http://127.0.0.1:8765/mcp is reached with a token and was not called" in check.message
    assert "this ledger lets in 1 token" in check.message


def test_without_a_server_afar_and_tokens_nothing_is_said_of_them(healthy: Home) -> None:
    """Most people have neither."""
    assert remote(healthy) == {}


@pytest.mark.parametrize("act", [Path.unlink, lambda path: path.chmod(0o644)], ids=["gone", "others-read-it"])
def test_a_token_that_the_client_cannot_send_is_told(home: Home, afar: Path, act: Callable[[Path], None]) -> None:
    """Its file is gone, or is refused because others may read it."""
    act(afar)

    check = remote(home)["http"]

    assert not check.ok
    assert "token" in check.message


def test_a_token_that_ends_soon_is_a_remark(home: Home, afar: Path) -> None:
    """Two weeks before its end there is time for another."""
    home.now += 355 * DAY_S

    check = remote(home)["http"]

    assert check.is_remark
    assert "laptop" in check.message


def test_sessions_that_were_set_aside_are_named(healthy: Home) -> None:
    """A damaged file that a hook met."""
    Path(healthy.kept.path).write_bytes(b"no database" * 500)
    healthy.kept.ran("prompt", Caller("s1"), 1, healthy.now)

    found = of_file(healthy)["sessions"]

    assert (found.ok, found.is_remark) == (True, True)
    assert "sessions.db.damaged may be deleted" in found.message


def test_switches_are_remarks(healthy: Home, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody set them, and may have forgotten."""
    assert cli.main(["--file", healthy.file, "off", "--project", "demo"]) == 0
    assert cli.main(["--file", healthy.file, "config", "set", "robots", "on"]) == 0

    off = of_file(healthy, LEARNINGS_OFF="1")["off"]

    assert off.ok
    for words in ("LEARNINGS_OFF is set", "prompts are shown nothing in demo", "robots are shown learnings too"):
        assert words in off.message
    assert cli.main(["--file", healthy.file, "off"]) == 0
    assert "anywhere" in of_file(healthy)["off"].message


def test_a_missing_anchor_is_a_remark(healthy: Home) -> None:
    """The next write makes one."""
    os.unlink(healthy.file + ".anchor")

    assert of_file(healthy)["anchor"].is_remark


def test_modules_that_are_compiled_at_each_start_are_told(home: Home, tmp_path: Path) -> None:
    """A package that neither has compiled modules nor takes them, as in a read-only image."""
    around = home.around._replace(env={"PYTHONDONTWRITEBYTECODE": "1"})

    assert by_id(doctor_file.program(around, str(tmp_path / "missing")))["bytecode"].is_remark
    assert by_id(doctor_file.program(around, ROOT + "/ledger"))["bytecode"].is_remark


def test_entries_past_the_cliff_are_named_by_line(home: Home) -> None:
    """200 lines are loaded; the entries after them are in the file and never in a session."""
    index = home.folder / ".claude" / "projects" / "-demo" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("".join(f"- entry {number} about a port\n" for number in range(1, 205)), "utf-8")

    (cliff,) = doctor_notes.checks(home.around)

    assert (cliff.ok, cliff.is_remark) == (True, True)
    assert "from line 201 on (lines): 201 '- entry 201 about a port'" in cliff.message
    assert "and 1 more" in cliff.message

    index.write_text("- one entry\n", "utf-8")
    assert [one.message for one in doctor_notes.checks(home.around)] == ["1 index file loaded whole"]


@pytest.mark.parametrize(
    ("text", "words"), [("100\n", "100 folders may be watched, which"), ("90000\n", "90,000"), ("x", "no such limit")]
)
def test_the_limit_of_watched_folders_is_told(tmp_path: Path, text: str, words: str) -> None:
    """A remark when it is low; other systems have none."""
    (tmp_path / "limit").write_text(text, "ascii")

    found = doctor_file._watches(str(tmp_path / "limit"))

    assert found.ok
    assert words in found.message


def test_rules_that_cannot_be_used_are_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them nothing is stored, and every command that writes refuses."""

    def fails() -> None:
        raise GuardFailed("the file is gone")

    monkeypatch.setattr(gate, "gate", fails)

    assert "gate (GuardFailed)" in by_id(doctor_file.program(home.around, ROOT + "/ledger"))["rules"].message


def test_a_search_by_words_alone_is_told(healthy: Home) -> None:
    """The token table is missing, or of another version."""
    table = meaning.shared()
    meaning.use(None)
    try:
        found = of_file(healthy)["meaning"]
    finally:
        meaning.use(table)

    assert not found.ok
    assert "by words alone" in found.message


def test_a_journal_mode_in_which_commits_are_lost_is_told(healthy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in WAL mode, made by a newer SQLite than the one that is here now."""
    connection = sqlite3.connect(healthy.file)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.close()
    monkeypatch.setattr(store_sqlite, "wal_is_safe", lambda version: False)

    assert "can lose commits in that mode" in of_file(healthy)["sqlite"].message


def test_an_empty_ledger_has_nothing_to_complain_of(home: Home) -> None:
    """`learnings init` and no more."""
    assert cli.main(["--file", home.file, "init"]) == 0
    Path(home.file).with_name("exposures.db").touch(mode=0o600)

    found = of_file(home)

    assert all(one.ok for one in found.values()), found
    assert used(home, saved=[])["written"].message == "no learning is recorded yet"


def test_a_damaged_page_of_a_file_beside_is_found(healthy: Home) -> None:
    """The first page is whole, so that it opens."""
    for number in range(300):
        healthy.session(number / 100)
    path = Path(healthy.kept.path)
    data = bytearray(path.read_bytes())
    data[-8_192:] = b"x" * 8_192
    path.write_bytes(data)

    assert not of_file(healthy)["sessions"].ok


def test_a_script_that_is_gone_is_told(home: Home) -> None:
    """The interpreter stayed, and the package was removed from it; a command that cannot be read is no word of ours."""
    home.set_up()

    def elsewhere(held: Any) -> None:
        held["hooks"]["SessionStart"][0]["hooks"][0]["command"] = f"{sys.executable} -I -S /gone/ledger/hook_main.py x"
        held["hooks"]["SubagentStart"][0]["hooks"][0]["command"] = "'/gone/ledger/hook_main.py x"

    home.change(home.settings, elsewhere)
    (home.folder / ".codex").mkdir()
    (home.folder / ".codex" / "config.toml").write_text("no toml", "utf-8")

    assert "cannot be started: /gone/ledger/hook_main.py" in told(home)["programs"].message


def test_modules_without_a_cache_are_told(home: Home, tmp_path: Path) -> None:
    """A folder that is there and not writable."""
    found = by_id(doctor_file.program(home.around, str(tmp_path)))["bytecode"]

    assert found == Check("bytecode", ok=True, message="compiled modules are kept")


def test_files_that_still_say_what_is_not_true_any_more_are_named_by_line(healthy: Home) -> None:
    """What was superseded stands in the memory's index, what was retracted in an instruction file."""
    index = healthy.folder / ".claude" / "projects" / "-demo" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("# Memory\n\n- the gateway is reached at port 9000 of alpha\n", "utf-8")
    (healthy.folder / "CLAUDE.md").write_text("Build the client with the yarn classic toolchain.\n", "utf-8")
    with Ledger.open(healthy.file) as ledger:
        old = ledger.record(
            Draft("reaching the gateway", "the gateway is reached at port 9000 of alpha", "env", "demo")
        )
        gone = ledger.record(Draft("building", "Build the client with the yarn classic toolchain.", "env", "demo"))
        assert of_file(healthy)["contradictions"].message == "2 files of the client say nothing that was taken back"
        new = ledger.supersede(old.id, "reaching the gateway", "the gateway is reached at beta:9443", "it moved")
        ledger.retract(gone.id, "we use pnpm")

    found = of_file(healthy)["contradictions"]

    assert (found.ok, found.is_remark) == (True, True)
    assert f"~/.claude/projects/-demo/memory/MEMORY.md:3 ({old.id[:12]}… replaced by {new.id[:12]}…)" in found.message
    assert f"~/CLAUDE.md:1 ({gone.id[:12]}… retracted)" in found.message


# -- words -----------------------------------------------------------------------------------------------------------


def test_times_are_told_in_their_largest_unit() -> None:
    """From minutes to days."""
    found = [doctor_check.ago(seconds) for seconds in (5, 60, 7_200, DAY_S, 9.5 * DAY_S)]

    assert found == ["just now", "1 minute ago", "2 hours ago", "1 day ago", "9 days ago"]


def test_a_part_that_cannot_be_looked_at_is_a_check_that_is_broken() -> None:
    """One fault of a disk does not take the other answers away."""

    def fails() -> Any:
        yield doctor_check.fine("first", "well")
        raise OSError("disk")

    first, second = doctor._guarded("part", fails())

    assert (first.id, second.id, second.ok) == ("first", "part", False)
    assert "OSError" in second.message


def test_an_id_stands_once_and_what_is_broken_counts() -> None:
    """A part that fails midway says so under a name that it may have used already."""
    checks = [doctor_check.fine("ledger", "a"), doctor_check.broken("ledger", "b"), doctor_check.fine("ledger", "c")]

    assert doctor._once([*checks, doctor_check.fine("x", "d")]) == [checks[1], doctor_check.fine("x", "d")]


def test_settings_that_break_the_reading_leave_the_ledger_to_be_looked_at(
    healthy: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of this program is told by its type."""

    def fails(around: Around) -> None:
        raise RecursionError

    monkeypatch.setattr(doctor_client, "told", fails)

    found = by_id(doctor.diagnose(healthy.around))

    assert "cannot be read (RecursionError)" in found["hooks"].message
    assert found["anchor"].ok


def test_the_folder_of_another_user_is_shown_whole() -> None:
    """Only what lies in one's own home is shortened."""
    around = Around("/home/a/l.db", "/home/a", {}, "linux", "/", 0.0)

    assert [around.shown(path) for path in ("/home/a/x", "/home/ab/x", "/")] == ["~/x", "/home/ab/x", "/"]


def test_the_command_can_be_run_as_a_stranger_does(healthy: Home) -> None:
    """As a process of its own, with its status."""
    env = {**os.environ, "PYTHONPATH": ROOT}
    line = [sys.executable, "-m", "ledger.cli", "doctor", "--json", "--file", healthy.file]
    done = subprocess.run(line, env=env, capture_output=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout.decode()
    assert json.loads(done.stdout)["ok"] is True
