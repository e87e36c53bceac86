"""`learnings setup`: real files in a home of their own."""

import contextlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell, refused
from hypothesis import given
from hypothesis import strategies as st

from ledger import setup_clients as clients
from ledger import setup_json, setup_toml
from ledger.errors import FileFault, LedgerError
from ledger.setup_clients import Program
from ledger.setup_files import BACKUP, Change, carry_out

PROGRAM = Program("/opt/py/bin/python", "/opt/py/lib/ledger/hook_main.py")
OTHER = Program("/moved/bin/python", "/moved/lib/ledger/hook_main.py")
OTHER_HOOK = {"matcher": "x", "hooks": [{"type": "command", "command": "their hook", "timeout": 5}]}
OUR_HOOKS = clients.setup_hooks(PROGRAM)
BY_HAND = {"command": "/home/me/.venv/bin/learnings", "args": ["serve"], "env": {"MORE": "1"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder with no client in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "LEARNINGS_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(home: Path, capfd: pytest.CaptureFixture[str]) -> Inside:
    """Return the command in this process."""
    return Inside(Shell(home), lambda: tuple(capfd.readouterr()))  # type: ignore[arg-type,return-value]


def files(home: Path) -> dict[str, bytes]:
    """Return every file below a home, with its bytes."""
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def write(path: Path, text: str | bytes, mode: int = 0o644) -> Path:
    """Write a settings file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


SHAPES: dict[str, dict[str, str | bytes]] = {
    "nothing there": {},
    "empty files": {".claude/settings.json": "", ".claude.json": ""},
    "white space": {".claude/settings.json": " \n", ".claude.json": "\n"},
    "empty objects": {".claude/settings.json": "{}\n", ".claude.json": "{ }"},
    "tabs": {".claude/settings.json": '{\n\t"model": "x",\n\t"hooks": {\n\t}\n}\n'},
    "one line": {".claude/settings.json": '{"model":"x","hooks":{"Stop":[]}}', ".claude.json": '{"mcpServers": {}}'},
    "other hooks on the same event": {
        ".claude/settings.json": json.dumps({"hooks": {"SessionStart": [OTHER_HOOK], "Stop": [OTHER_HOOK]}}, indent=4)
    },
    "other servers": {".claude.json": json.dumps({"numStartups": 3, "mcpServers": {"x": {"command": "x"}}}, indent=2)},
    "other permissions": {".claude/settings.json": '{\n  "permissions": {"allow": ["Read", "Bash(ls:*)"]}\n}'},
    "our server by hand": {".claude.json": json.dumps({"mcpServers": {"learnings": BY_HAND, "x": {}}}, indent=2)},
    "our hook by hand": {
        ".claude/settings.json": json.dumps(
            {
                "hooks": {
                    "SessionStart": [
                        {"hooks": [{"type": "command", "command": "learnings hook session-start"}, OTHER_HOOK]}
                    ]
                }
            }
        )
    },
    "permission by hand": {".claude/settings.json": '{"permissions": {"allow": ["mcp__learnings"]}}'},
    "line ends of Windows": {".claude/settings.json": '{\r\n  "model": "x",\r\n  "permissions": {}\r\n}\r\n'},
    "a byte order mark": {".claude/settings.json": b'\xef\xbb\xbf{\n  "model": "x"\n}\n'},
    "all of Unicode": {".claude/settings.json": '{\n  "grüße": "日本 \\u00e9 🎉",\n  "e": 1e5\n}\n'},
    "a key that repeats": {".claude/settings.json": '{"hooks": {"Stop": []}, "hooks": {}}'},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_setup_and_uninstall_leave_every_file_as_it_was(shape: dict[str, str | bytes], home: Path, run: Inside) -> None:
    """To the byte; in between all of theirs is there, all of ours, and a second run changes nothing."""
    for name, text in shape.items():
        write(home / name, text)
    before = files(home)

    first = run.document("setup", "claude-code", "--allow-tools")
    between = files(home)
    again = run.document("setup", "claude-code", "--allow-tools")
    after_again = files(home)
    run.document("setup", "claude-code", "--uninstall")

    settings = json.loads(between[".claude/settings.json"].decode("utf-8-sig"))
    servers = json.loads(between[".claude.json"])["mcpServers"]
    for event in OUR_HOOKS:
        ours = [hook for group in settings["hooks"][event] for hook in group["hooks"] if clients.is_our_hook(hook)]
        assert len(ours) == 1
    assert clients.is_setup_server(servers["learnings"])
    assert settings["permissions"]["allow"].count("mcp__learnings") == 1
    assert theirs(before, ".claude/settings.json", settings)
    assert theirs(before, ".claude.json", {"mcpServers": servers})
    assert {file["state"] for file in first["files"]} <= {"made", "changed"}
    assert {file["state"] for file in again["files"]} == {"unchanged"}
    assert after_again == between
    assert files(home) == before


def theirs(before: dict[str, bytes], name: str, now: dict[str, Any]) -> bool:
    """Tell whether the keys that a file had are those it has, apart from what setup adds to."""
    old = json.loads(before.get(name, b"").decode("utf-8-sig").strip() or "{}")
    touched = ("hooks", "permissions", "mcpServers")
    kept = all(now.get(key) == value for key, value in old.items() if key not in (*touched, "numStartups"))
    servers = {key: value for key, value in old.get("mcpServers", {}).items() if key != "learnings"}
    hooks = old.get("hooks", {}).get("SessionStart", [])
    their_hooks = [group for group in hooks if group == OTHER_HOOK]
    return (
        kept
        and servers.items() <= now.get("mcpServers", servers).items()
        and all(group in now["hooks"]["SessionStart"] for group in their_hooks)
        and set(old.get("permissions", {}).get("allow", [])) <= set(now.get("permissions", {}).get("allow", []))
    )


def test_a_dry_run_shows_the_change_and_writes_nothing(home: Path, run: Inside) -> None:
    """A unified diff a file, without the secrets around it."""
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    write(home / ".claude/settings.json", '{\n  "env": {"GITHUB_TOKEN": "' + token + '"}\n}\n')
    before = files(home)

    done = run("setup", "claude-code", "--dry-run")

    assert files(home) == before
    assert '+        "command": "' in done.out.replace('            "command"', '        "command"')
    assert f"+++ {home}/.claude/settings.json" in done.out
    assert token not in done.out
    assert "dry run: nothing was written" in done.err
    assert "mcp__learnings" in done.err


def test_what_others_changed_since_stays(home: Path, run: Inside) -> None:
    """Then exactly our entries go, and what was there by hand is as it was."""
    state = write(home / ".claude.json", json.dumps({"n": 1, "mcpServers": {"learnings": BY_HAND}}, indent=2))
    settings = write(home / ".claude/settings.json", '{\n  "model": "x"\n}\n')
    run.document("setup", "claude-code", "--allow-tools")
    changed = json.loads(state.read_text())
    changed["n"] = 2
    changed["mcpServers"]["new"] = {"command": "new"}
    write(state, json.dumps(changed))
    held = json.loads(settings.read_text())
    held["hooks"]["SessionStart"].append(OTHER_HOOK)
    held["permissions"]["allow"].append("Read")
    write(settings, json.dumps(held, indent=2))

    run.document("setup", "claude-code", "--uninstall")

    assert json.loads(state.read_text()) == {"n": 2, "mcpServers": {"learnings": BY_HAND, "new": {"command": "new"}}}
    assert json.loads(settings.read_text()) == {
        "model": "x", "hooks": {"SessionStart": [OTHER_HOOK]}, "permissions": {"allow": ["Read"]},
    }  # fmt: skip


def test_uninstall_keeps_a_backup_that_is_the_only_copy(home: Path, run: Inside) -> None:
    """The one file is gone and the other was changed since, so that neither is what its backup says."""
    state = write(home / ".claude.json", '{"n": 1}')
    write(home / ".claude/settings.json", '{"model": "x"}')
    run.document("setup", "claude-code")
    (home / ".claude/settings.json").unlink()
    write(state, state.read_text().replace('"n": 1', '"n": 2'))

    done = run("setup", "claude-code", "--uninstall")

    assert files(home)[".claude/settings.json" + BACKUP] == b'{"model": "x"}'
    assert files(home)[".claude.json" + BACKUP] == b'{"n": 1}'
    assert f"{home}/.claude/settings.json{BACKUP} stays" in done.err
    assert f"{home}/.claude.json{BACKUP} stays" in done.err


@pytest.mark.parametrize("held", [b"garbage{", b"\xff\xfe", b"[]"])
def test_a_backup_that_is_none_of_settings_stands_in_no_way(home: Path, run: Inside, held: bytes) -> None:
    """Exactly what is ours goes, and what lies there stays; setup goes on as well."""
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_bytes(b'{"a":1}')
    run("setup", "claude-code")
    backup = Path(f"{settings}{BACKUP}")
    backup.write_bytes(held)

    again = run("setup", "claude-code", "--allow-tools")
    backup.write_bytes(held)
    out = run("setup", "claude-code", "--uninstall")

    assert (again.code, out.code) == (0, 0)
    assert json.loads(settings.read_bytes()) == {"a": 1}
    assert backup.read_bytes() == held


def test_a_file_that_setup_made_goes_again_only_when_nothing_else_is_in_it(home: Path, run: Inside) -> None:
    """The client writes its state into the file of servers."""
    run.document("setup", "claude-code")
    state = home / ".claude.json"
    write(state, json.dumps({**json.loads(state.read_text()), "numStartups": 1}))

    run.document("setup", "claude-code", "--uninstall")

    assert not (home / ".claude/settings.json").exists()
    assert json.loads(state.read_text()) == {"numStartups": 1}


def test_a_moved_interpreter_is_brought_up_to_date_and_the_first_backup_stays() -> None:
    """Ours is told apart by what it starts, so it is changed in place and never doubled."""
    text = json.dumps({"hooks": {"Stop": [OTHER_HOOK]}}, indent=2)
    wanted = setup_json.Wanted(hooks=clients.setup_hooks(PROGRAM))
    moved = setup_json.Wanted(hooks=clients.setup_hooks(OTHER))

    first = setup_json.put(text, wanted)
    second = setup_json.put(first, moved)

    assert json.loads(second) == json.loads(first.replace("/opt/py/bin", "/moved/bin").replace("/opt/py/", "/moved/"))
    assert setup_json.take(second, moved, before=text) == text


def test_only_tools_that_write_a_file_call_a_hook() -> None:
    """And the shell, whose commands name no path, whether they fail or not; each hook has a time-out of its own."""
    assert {event: group["matcher"] for event, group in OUR_HOOKS.items() if "matcher" in group} == {
        "PostToolUse": "Write|Edit|MultiEdit|Bash", "PostToolUseFailure": "Bash",
    }  # fmt: skip
    assert {hook["timeout"] for group in OUR_HOOKS.values() for hook in group["hooks"]} == {0.5, 2}


def test_a_set_up_that_knew_fewer_tools_is_brought_up_to_date() -> None:
    """In its place; where another's hook stands in the same group, that one is called for what it was."""
    old = {**OUR_HOOKS["PostToolUse"], "matcher": "Write|Edit|MultiEdit"}
    theirs = {"type": "command", "command": "theirs"}
    shared = {**old, "hooks": [*old["hooks"], theirs]}
    wanted = setup_json.Wanted(hooks=OUR_HOOKS)

    alone, beside = (
        json.loads(setup_json.put(json.dumps({"hooks": {"PostToolUse": [group]}}), wanted))["hooks"]["PostToolUse"]
        for group in (old, shared)
    )

    assert alone == [OUR_HOOKS["PostToolUse"]]
    assert beside == [{**old, "hooks": [theirs]}, OUR_HOOKS["PostToolUse"]]


def test_hooks_of_ours_that_are_there_twice_become_one() -> None:
    """As after two set-ups by hand; a group that holds another's hook too keeps it."""
    ours = OUR_HOOKS["SessionStart"]["hooks"][0]
    shared = {"hooks": [{"type": "command", "command": "theirs"}, ours]}
    text = json.dumps({"hooks": {"SessionStart": [shared, OUR_HOOKS["SessionStart"], OUR_HOOKS["SessionStart"]]}})

    found = json.loads(setup_json.put(text, setup_json.Wanted(hooks=OUR_HOOKS)))

    assert found["hooks"]["SessionStart"] == [shared]


@pytest.mark.parametrize(
    "command",
    [
        "learnings hook stop; ~/bin/notify-me",
        "learnings hook stop;notify-me",
        "learnings hook stop & notify-me",
        "learnings hook stop > log",
        "learnings hook $(notify-me)",
        "learnings hook stop\nnotify-me",
        "my-learnings hook run && ./backup.sh",
        "my-learnings hook stop",
        "echo learnings hook stop",
        "MINE=1 learnings hook stop",
        "/usr/bin/python3 /opt/general-ledger/hook_main.py",
        "/usr/bin/python3 -I -S /opt/general-ledger/hook_main.py stop",
        "/usr/bin/python3 -I -S /opt/ledger/hook_main.py stop && notify-me",
        "/usr/bin/python3 -I -S /opt/ledger/hook_main.py stop 'open",
    ],
)
def test_a_command_of_the_user_is_left_alone_though_it_calls_or_resembles_ours(command: str) -> None:
    """Ours is a whole command and nothing besides; a path is told apart by its parts."""
    mine = {"hooks": [{"type": "command", "command": command}]}
    text = json.dumps({"hooks": {"Stop": [mine]}})
    wanted = setup_json.Wanted(hooks=OUR_HOOKS)

    put = setup_json.put(text, wanted)

    assert json.loads(put)["hooks"]["Stop"] == [mine, OUR_HOOKS["Stop"]]
    assert json.loads(setup_json.take(put, wanted))["hooks"] == {"Stop": [mine]}


@pytest.mark.parametrize(
    "program",
    [
        Program("/my home/python", "/it's; here & there (1)/ledger/hook_main.py", "/a b/$x;.db"),
        Program("/a@b+c%d:e,f/python", "/a@b+c%d:e,f/ledger/hook_main.py", "/a@b+c%d:e,f=g/l.db"),
        Program("/é/python", "/é+@%,:=~/ledger/hook_main.py", "/é/#l.db"),
    ],
)
def test_ours_is_known_wherever_it_was_installed(program: Program) -> None:
    """Quotes around what a shell would take apart are no part of it."""
    assert all(
        clients.is_setup_hook(hook) for group in clients.setup_hooks(program).values() for hook in group["hooks"]
    )


def test_the_backup_is_the_file_as_it_was_for_its_owner_alone(home: Path, run: Inside) -> None:
    """One a file; after a later change it is the file without ours."""
    settings = write(home / ".claude/settings.json", '{"model": "x"}')
    backup = home / (".claude/settings.json" + BACKUP)

    run.document("setup", "claude-code")
    first = backup.read_text()
    write(settings, settings.read_text().replace('"x"', '"y"'))
    run.document("setup", "claude-code", "--allow-tools")

    assert first == '{"model": "x"}'
    assert json.loads(backup.read_text()) == {"model": "y"}
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [path.name for path in home.rglob("*") if "learnings" in path.name] == [backup.name]


def test_mode_and_link_of_a_file_stay(home: Path, run: Inside) -> None:
    """Dotfiles are links into a folder that is often public: the file there is written, no backup is put there."""
    real = write(home / "dotfiles/claude.json", "{}", 0o640)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(real)

    run.document("setup", "claude-code")

    assert (home / ".claude/settings.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert clients.is_our_hook(json.loads(real.read_text())["hooks"]["SessionStart"][0]["hooks"][0])
    assert [path.name for path in real.parent.iterdir()] == ["claude.json"]


REFUSED: dict[str, tuple[str, str | bytes, int, str]] = {
    "comments": (".claude/settings.json", '{\n  // mine\n  "a": 1\n}', 30, "is no JSON (line 2)"),
    "half a file": (".claude.json", '{"a": ', 30, "is no JSON"),
    "an array": (".claude/settings.json", "[]", 30, "no object"),
    "hooks that are none": (".claude/settings.json", '{"hooks": []}', 30, "hooks in"),
    "an event that is none": (".claude/settings.json", '{"hooks": {"SessionStart": {}}}', 30, "hooks.SessionStart in"),
    "servers that are none": (".claude.json", '{"mcpServers": 1}', 30, "mcpServers in"),
    "no UTF-8": (".claude/settings.json", b'{"a": "\xff"}', 30, "is not UTF-8"),
    "another server of our name": (".claude.json", '{"mcpServers": {"learnings": {"command": "x"}}}', 20, "another"),
    "a server of another ledger": (
        ".claude.json", '{"mcpServers": {"learnings": {"command": "learnings", "args": ["serve", "--file", "/l.db"]}}}',
        20, "/l.db",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_cannot_be_changed_is_left_alone(
    case: tuple[str, str | bytes, int, str], home: Path, run: Inside
) -> None:
    """And so is every other: all are looked at before the first is written."""
    name, text, code, words = case
    write(home / name, text)
    before = files(home)

    done = Shell(home).run("setup", "claude-code", LEARNINGS_FILE="")

    refused(done, code, words, "nothing was written")
    assert files(home) == before


def test_a_file_that_its_owner_made_read_only_is_left_alone(home: Path, run: Inside) -> None:
    """To replace it would be possible, and would go round the owner; setting up again is no change and works."""
    settings = write(home / ".claude/settings.json", "{}", 0o444)

    done = run("setup", "claude-code")
    settings.chmod(0o644)
    run.document("setup", "claude-code")
    settings.chmod(0o444)
    again = run.document("setup", "claude-code")

    refused(done, 34, "is read-only; nothing was written")
    assert {file["state"] for file in again["files"]} == {"unchanged"}


def test_when_the_second_file_cannot_be_written_the_first_is_as_it_was(home: Path, run: Inside) -> None:
    """Half of a setup would be a hook that calls a server which is not there."""
    state = write(home / ".claude.json", '{"n": 1}')
    write(home / ".claude", "a file where the folder should be")

    done = run("setup", "claude-code")

    assert done.code == 30
    assert state.read_text() == '{"n": 1}'


def test_the_configuration_folder_of_the_client_is_respected(
    home: Path, run: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`CLAUDE_CONFIG_DIR` holds both files."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))

    run.document("setup", "claude-code")

    assert sorted(files(home)) == ["elsewhere/.claude.json", "elsewhere/settings.json"]


def test_a_ledger_that_is_named_is_named_to_server_and_hooks(home: Path, run: Inside) -> None:
    """Else the two would use different ones."""
    run.document("setup", "claude-code")  # the shell of the tests names its ledger with --file

    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["learnings"]
    hook = json.loads((home / ".claude/settings.json").read_text())["hooks"]["SessionStart"][0]["hooks"][0]
    assert server["env"] == {"LEARNINGS_FILE": str(home / "data/ledger.db")}
    assert hook["command"].startswith(f"LEARNINGS_FILE={home}/data/ledger.db /")
    assert hook["command"].endswith("/ledger/hook_main.py session-start")


@pytest.mark.parametrize(
    "permissions", [None, [], {"allow": None}, {"allow": "Read"}, {"allow": {"mcp__learnings": 1}}]
)
def test_a_permission_of_any_shape_is_no_fault(home: Path, run: Inside, permissions: object) -> None:
    """What is no list allows nothing: it is said that the client will ask."""
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": permissions}))

    done = run("setup", "claude-code")

    assert done.code == 0
    assert "asks before each call" in done.err
    assert json.loads(settings.read_text())["permissions"] == permissions


def test_the_permission_can_be_taken_back_alone(home: Path, run: Inside) -> None:
    """And stays as it is when nothing is said of it."""
    settings = home / ".claude/settings.json"
    run.document("setup", "claude-code", "--allow-tools")
    run.document("setup", "claude-code")
    kept = json.loads(settings.read_text())["permissions"]["allow"]

    run.document("setup", "claude-code", "--no-allow-tools")

    assert kept == ["mcp__learnings"]
    assert json.loads(settings.read_text())["permissions"]["allow"] == []


def test_what_stands_in_the_way_is_said(home: Path, run: Inside) -> None:
    """Hooks that are switched off, and the plugin beside it."""
    write(
        home / ".claude/settings.json",
        json.dumps({"disableAllHooks": True, "enabledPlugins": {"learnings@learning-ledger": True, "x@y": True}}),
    )

    done = run("setup", "claude-code")

    assert "no hook will run" in done.err
    assert "the plugin is enabled too" in done.err


def test_native_memory_settings_are_never_touched(home: Path, run: Inside) -> None:
    """Only the keys `hooks`, `permissions.allow` and `mcpServers` are ever written."""
    own = {"autoMemoryEnabled": True, "autoMemoryDirectory": "/m", "env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}}
    settings = write(home / ".claude/settings.json", json.dumps(own))

    run.document("setup", "claude-code", "--allow-tools")

    assert json.loads(settings.read_text()).items() >= own.items()
    assert set(json.loads(settings.read_text())) == {*own, "hooks", "permissions"}


@pytest.mark.parametrize(
    ("client", "name", "servers"),
    [
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        ("vscode", ".config/Code/User/mcp.json", "servers"),
    ],
)
def test_other_clients_are_told_of_the_server(client: str, name: str, servers: str, home: Path, run: Inside) -> None:
    """Beside the servers they have, and taken back to the byte."""
    text = json.dumps({servers: {"x": {"command": "x"}}, "inputs": []}, indent="\t")
    path = write(home / name, text)

    run.document("setup", client)
    found = json.loads(path.read_text())
    run.document("setup", client, "--uninstall")

    assert list(found[servers]) == ["x", "learnings"]
    assert os.path.isabs(found[servers]["learnings"]["command"])
    assert found[servers]["learnings"]["args"] == ["-P", "-m", "ledger.cli", "serve"]
    assert files(home) == {name: text.encode()}


TOML = ["", 'model = "x"\n', '# mine\nmodel = "x"', '[mcp_servers.x]\r\ncommand = "x"\r\n', "\n\n"]


@pytest.mark.parametrize("text", TOML)
def test_codex_gets_a_block_that_goes_again(text: str, home: Path, run: Inside) -> None:
    """Its TOML is never parsed to be written: a block with marks is put at the end."""
    import tomllib

    path = write(home / ".codex/config.toml", text)

    run.document("setup", "codex")
    found = tomllib.loads(path.read_bytes().decode())
    again = run.document("setup", "codex")
    run.document("setup", "codex", "--uninstall")

    assert found["mcp_servers"]["learnings"]["args"] == ["-P", "-m", "ledger.cli", "serve"]
    assert found["mcp_servers"]["learnings"]["env"] == {"LEARNINGS_FILE": str(home / "data/ledger.db")}
    assert again["files"][0]["state"] == "unchanged"
    assert path.read_bytes() == text.encode()


def test_a_block_of_codex_is_brought_up_to_date_where_it_is() -> None:
    """What was written after it stays after it."""
    first = setup_toml.put("a = 1\n", clients.codex_block(PROGRAM)) + "[later]\nb = 2\n"

    found = setup_toml.put(first, clients.codex_block(OTHER))

    assert found == first.replace("/opt/py/", "/moved/")
    assert setup_toml.take(found) == "a = 1\n\n[later]\nb = 2\n"


def test_what_an_editor_put_between_the_marks_of_codex_stays() -> None:
    """A table that is added at the end of a file comes to stand before a comment that ends it."""
    theirs = '\n# mine\n[mcp_servers.x]\ncommand = "x"\nargs = [\n  "a",\n]\n\n[mcp_servers.x.env]\nA = "1"\n'
    first = setup_toml.put("a = 1\n", clients.codex_block(PROGRAM))
    edited = first.replace(setup_toml.CLOSE_MARK, theirs + setup_toml.CLOSE_MARK)
    wrapped = edited.replace('args = ["-P", ', 'args = [\n  "-P",\n  ')

    again = setup_toml.put(wrapped, clients.codex_block(OTHER))

    assert setup_toml.take(edited) == setup_toml.take(wrapped) == setup_toml.take(again) == "a = 1\n\n" + theirs
    assert again == "a = 1\n\n" + first.removeprefix("a = 1\n\n").replace("/opt/py/", "/moved/") + theirs


@pytest.mark.parametrize(
    ("text", "code"), [("a = ", 30), ('[mcp_servers.learnings]\ncommand = "x"\n', 20), ("mcp_servers = {}\n", 30)]
)
def test_toml_that_cannot_take_the_block_is_left_alone(text: str, code: int, home: Path, run: Inside) -> None:
    """It is no TOML, has a server of our name, or would be none afterwards."""
    path = write(home / ".codex/config.toml", text)

    done = run("setup", "codex")

    refused(done, code, "nothing was written")
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("emacs",), "there is no setup for 'emacs'"),
        (("cursor", "--allow-tools"), "only Claude Code"),
        (("claude-code", "--allow-tools", "--no-allow-tools"), "both cannot be"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], said: str, home: Path, run: Inside) -> None:
    """With the words that are possible."""
    done = run("setup", *words)

    refused(done, 15, said)
    assert files(home) == {}


def test_uninstall_where_nothing_was_set_up_changes_nothing(home: Path, run: Inside) -> None:
    """Files of others are not rewritten, and a server of our name that somebody else made stays."""
    write(home / ".claude.json", '{"mcpServers": {"learnings": {"command": "x"}}}')
    write(home / ".claude/settings.json", '{"hooks": {}}')
    before = files(home)

    found = run.document("setup", "claude-code", "--uninstall")

    assert {file["state"] for file in found["files"]} == {"unchanged"}
    assert files(home) == before


HOOKS = st.sampled_from(("theirs", "learnings hook session-start")).map(
    lambda word: {"type": "command", "command": word}
)
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(HOOKS, max_size=2)}), max_size=2)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.fixed_dictionaries(
            {}, optional={"SessionStart": GROUPS, "Stop": GROUPS, "UserPromptSubmit": GROUPS}
        ),
        "permissions": st.fixed_dictionaries(
            {}, optional={"allow": st.lists(st.sampled_from(("Read", "mcp__learnings")), max_size=2, unique=True)}
        ),
        "mcpServers": st.fixed_dictionaries({}, optional={"x": st.just({}), "learnings": st.just(BY_HAND)}),
        "model": st.text(max_size=3),
    },
)


@given(SETTINGS, st.sampled_from((None, 1, 2, "\t")), st.booleans())
def test_whatever_stood_there_comes_back(document: dict[str, Any], indent: Any, allows: bool) -> None:
    """What is put in says all of it once, is put in once, and is taken out to what the text said before."""
    text = json.dumps(document, indent=indent)
    wanted = setup_json.Wanted("mcpServers", clients.server_for("claude-code", PROGRAM), OUR_HOOKS, allows or None)

    put = setup_json.put(text, wanted)
    took = setup_json.take(put, wanted, before=text)

    said = json.loads(put)
    assert all(
        [hook for group in said["hooks"][event] for hook in group["hooks"] if clients.is_our_hook(hook)]
        == ours["hooks"]
        for event, ours in OUR_HOOKS.items()
    )
    assert setup_json.put(put, wanted) == put
    assert setup_json.has_ours(put, wanted)
    assert not setup_json.has_ours(text, wanted)
    assert without_doubles(json.loads(took)) == without_doubles(document)


def without_doubles(document: dict[str, Any]) -> dict[str, Any]:
    """Return settings with each event's hooks of ours once: what was there twice by hand is not put back twice."""
    found = json.loads(json.dumps(document))
    for groups in found.get("hooks", {}).values():
        seen = False
        for group in groups:
            kept = [hook for hook in group["hooks"] if not (clients.is_our_hook(hook) and seen)]
            seen = seen or any(clients.is_our_hook(hook) for hook in group["hooks"])
            group["hooks"] = kept[:1] if kept and clients.is_our_hook(kept[0]) and len(kept) == 2 else kept
        groups[:] = [group for group in groups if group["hooks"]]
    return found


def test_a_file_that_changed_since_it_was_read_is_left_alone(home: Path) -> None:
    """A client saves its own state when it likes; what was written before that is taken back."""
    one, two = write(home / "one.json", "1"), write(home / "two.json", "saved meanwhile", 0o600)
    changes = [Change(str(path), data, b"changed", data) for path, data in ((one, b"1"), (two, b"2"))]

    with pytest.raises(FileFault, match="was changed meanwhile; nothing was written to it"):
        carry_out(changes)

    assert files(home) == {"one.json": b"1", "two.json": b"saved meanwhile"}


def test_a_file_that_has_gone_leaves_no_old_backup_in_force_and_loses_none(home: Path, run: Inside) -> None:
    """Else uninstall would bring back a file that its owner removed, or setup drop the only copy of a lost one."""
    settings = write(home / ".claude/settings.json", '{"old": 1}')
    run.document("setup", "claude-code")
    settings.unlink()

    told = run("setup", "claude-code")
    run.document("setup", "claude-code", "--uninstall")

    assert files(home) == {".claude/settings.json.before-learnings.1": b'{"old": 1}'}
    assert "is of an earlier file; it stays as" in told.err


def test_a_backup_that_uninstall_left_is_not_written_over(home: Path, run: Inside) -> None:
    """It was left because it may be the only copy."""
    settings = write(home / ".claude/settings.json", '{"old": 1}')
    run.document("setup", "claude-code")
    settings.write_text(settings.read_text().replace('"old": 1', '"other": 2'))
    run.document("setup", "claude-code", "--uninstall")
    assert (home / ".claude/settings.json.before-learnings").read_text() == '{"old": 1}'

    run.document("setup", "claude-code")
    run.document("setup", "claude-code", "--uninstall")

    assert files(home)[".claude/settings.json.before-learnings.1"] == b'{"old": 1}'


def test_what_its_owner_added_to_our_table_of_codex_outlives_no_header() -> None:
    """A later setup leaves it in the table; uninstall makes it a comment, for it would belong to the table before."""
    import tomllib

    own = 'startup_timeout_sec = 20\nenabled_tools = [\n  "query_learnings",\n]\n[mcp_servers.learnings.env]\nA = "1"\n'
    first = setup_toml.put("[profile]\na = 1\n", clients.codex_block(PROGRAM))
    edited = first.replace(setup_toml.CLOSE_MARK, own + setup_toml.CLOSE_MARK)

    again = setup_toml.put(edited, clients.codex_block(OTHER))
    taken = setup_toml.take(again)

    held = tomllib.loads(again)["mcp_servers"]["learnings"]
    assert (held["startup_timeout_sec"], held["enabled_tools"], held["env"]) == (20, ["query_learnings"], {"A": "1"})
    assert held["command"].startswith("/moved/")
    assert tomllib.loads(taken) == {"profile": {"a": 1}}
    assert "# startup_timeout_sec = 20\n" in taken
    assert setup_toml.put(again, clients.codex_block(OTHER)) == again


@pytest.mark.parametrize(("home_of", "platform", "expected"), [
    ({}, "linux", "/h/.config/Code/User/mcp.json"),
    ({"XDG_CONFIG_HOME": "/c"}, "linux", "/c/Code/User/mcp.json"),
    ({}, "darwin", "/h/Library/Application Support/Code/User/mcp.json"),
])  # fmt: skip
def test_the_place_of_a_file_depends_on_the_platform(home_of: dict[str, str], platform: str, expected: str) -> None:
    """As the client itself looks for it."""
    assert clients.places("vscode", "/h", home_of, platform)["servers"] == expected


def test_a_pipe_in_the_place_of_a_file_is_refused(home: Path, run: Inside) -> None:
    """Nothing is waited for."""
    (home / ".cursor").mkdir()
    os.mkfifo(home / ".cursor/mcp.json")

    done = run("setup", "cursor")

    refused(done, 30, "is no regular file; nothing was written")


ANY = st.recursive(
    st.sampled_from((None, 1, "learnings", "serve", "command", "mcp_tool")),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(("SessionStart", "hooks", "allow", "learnings", "command", "args", "env", "type")),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(("hooks", "permissions", "mcpServers")), ANY), st.sampled_from((None, 2)), ANY)
def test_settings_of_any_shape_are_changed_or_refused(document: dict[str, Any], indent: Any, former: Any) -> None:
    """A shape that no client writes is no fault of this program; taking out of it works always."""
    text = json.dumps(document, indent=indent)
    wanted = setup_json.Wanted("mcpServers", clients.server_for("claude-code", PROGRAM), OUR_HOOKS, allows=True)

    took = setup_json.take(text, wanted, before=json.dumps({"hooks": former, "permissions": former}))
    with contextlib.suppress(LedgerError):
        text = setup_json.put(text, wanted)

    assert isinstance(json.loads(took), dict)
    assert isinstance(json.loads(text), dict)
