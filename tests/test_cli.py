"""The command line: the public contract, printing, and the start."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import Done, Inside, Shell, keys, refused

from ledger import cli, cli_read
from ledger.cli_call import Command, Result

HIT = "id title problem solution category project tags state trust recorded_at supersedes score"
READS = {
    "watch",  # what it would do first, `scan --dry-run` tells
    "guard",
    "recall",
    "why",
    "exposures",
    "hook",
    "eval",
    "query",
    "show",
    "list",
    "history",
    "stats",
    "sql",
    "export",
    "serve",
    "verify",
    "doctor",
    "help",
    "project",
    "config",
}


def superseded(inside: Inside) -> tuple[dict[str, Any], dict[str, Any]]:
    """Record a learning and replace it; return both answers."""
    old = inside.record("postgres hangs in the container", "use port 5432", "--tag", "db")
    texts = ("--problem", "sessions time out", "--solution", "use port 6543", "--reason", "it moved")
    return old, inside.document("supersede", old["id"], *texts)


# -- the contract ----------------------------------------------------------------------------------------------------


def test_the_whole_round_of_the_contract_in_child_processes(shell: Shell) -> None:
    """Every key that the public contract names is there, with the meaning it names."""
    made = shell.run("init", "--json").document
    assert not keys(made, "file ledger_id")
    assert (made["file"], made["created"]) == (str(shell.file), True)

    texts = ("--problem", "the pool hangs", "--solution", "use 5432", "--category", "env", "--project", "demo")
    old = shell.run("record", *texts, "--json").document
    assert not keys(old, "id seq state near conflicts")

    found = shell.run("query", "pool", "--project", "demo", "--json").document
    assert not keys(found, "hits truncated")
    assert [name for name in found["hits"][0] if name in HIT.split()] == HIT.split()

    texts = ("--problem", "sessions time out", "--solution", "use 6543", "--reason", "it moved")
    new = shell.run("supersede", old["id"], *texts, "--json").document
    assert not keys(new, "id seq supersedes still_loaded")
    assert new["supersedes"] == [old["id"]]


def test_words_of_the_old_text_lead_to_the_new_learning(inside: Inside) -> None:
    """The old text is never served, and as-of serves it again."""
    old, new = superseded(inside)

    now = inside.document("query", "hangs in the container")
    then = inside.document("query", "hangs in the container", "--as-of", str(old["seq"]))

    assert [hit["id"] for hit in now["hits"]] == [new["id"]]
    assert [hit["solution"] for hit in then["hits"]] == ["use port 5432"]


def test_supersede_inherits_what_is_not_given(inside: Inside) -> None:
    """Category, project and tags are those of the replaced learning; given ones win."""
    _, new = superseded(inside)
    shown = inside.document("show", new["id"])
    assert (shown["category"], shown["project"], shown["tags"]) == ("env", "demo", ["db"])

    more = ("--category", "workflow", "--project", "*", "--tag", "pool", "--tag", "ports")
    other = inside.document("supersede", new["id"], "--problem", "p", "--solution", "s", "--reason", "r", *more)

    shown = inside.document("show", other["id"])
    assert (shown["category"], shown["project"], shown["tags"]) == ("workflow", "*", ["pool", "ports"])


def test_undo_and_redo_name_events_and_streams(inside: Inside) -> None:
    """Undo of the undo is the redo."""
    old, new = superseded(inside)

    undone = inside.document("undo", str(new["seq"]))
    assert (undone["undone"], undone["streams"]) == ([new["seq"]], [new["id"]])
    assert inside.document("show", old["id"])["state"] == "current"

    inside.document("undo", str(undone["seq"]))
    assert inside.document("show", old["id"])["state"] == "superseded"


def test_show_and_history_tell_a_learning_both_ways(inside: Inside) -> None:
    """State, successors, sources; every event, with who and whether it is undone."""
    old, new = superseded(inside)

    shown = inside.document("show", old["id"][:9])
    events = inside.document("history", old["id"][:9] + "…")["events"]

    assert (shown["superseded_by"], shown["sources"]) == ([new["id"]], [])
    assert [event["kind"] for event in events] == ["learning.recorded", "learning.superseded"]
    assert not keys(events[0], "seq kind recorded_at actor_kind channel trust undone_by")
    assert {event["channel"] for event in events} == {"cli"}


def test_a_candidate_goes_its_way(inside: Inside) -> None:
    """Propose, accept, withhold, release, retract, pin: each changes the state it says."""
    old = inside.record()
    texts = ("--problem", "p", "--solution", "port 6543", "--category", "env", "--project", "demo")
    name = inside.document("propose", *texts, "--supersedes", old["id"], "--reason", "seen in a log")["id"]

    assert inside.document("show", name)["state"] == "candidate"
    for words, state in (
        (["accept"], "current"),
        (["quarantine", "--reason", "odd"], "quarantined"),
        (["release"], "current"),
        (["pin"], "current"),
        (["unpin"], "current"),
        (["retract", "--reason", "wrong"], "retracted"),
    ):
        assert inside.document(words[0], name, *words[1:])["state"] == state
    assert inside.document("show", old["id"])["state"] == "superseded"
    turned_down = inside.document("propose", "--problem", "q", "--solution", "t", "--category", "env")["id"]
    assert inside.document("reject", turned_down, "--reason", "no")["state"] == "rejected"


def test_list_pages_through_everything_newest_first(inside: Inside) -> None:
    """The remark says how to get the next page, and that works."""
    for number in range(3):
        inside.record(f"problem {number}", "s")

    first = inside("list", "--limit", "2")
    assert first.err.strip() == f"learnings: there is more: learnings list --before 2 --file {inside_file(inside)}"
    rest = inside.document("list", "--before", "2")

    assert [line.split("  ")[-1] for line in first.out.splitlines()] == ["problem 2", "problem 1"]
    assert [row["title"] for row in rest["rows"]] == ["problem 0"]


def inside_file(inside: Inside) -> str:
    """Return the path of the ledger."""
    return str(inside.document("init")["file"])


def test_verify_rebuild_and_upgrade_leave_a_sound_ledger(inside: Inside) -> None:
    """Each says what it found or did."""
    superseded(inside)

    assert inside.document("rebuild") == {"seq": 2}
    assert inside.document("upgrade")["steps"] == []
    verdict = inside.document("verify")
    assert (verdict["ok"], verdict["events"], verdict["erased"], verdict["problems"]) == (True, 2, 0, [])
    assert verdict["head"]["seq"] == 2
    assert inside("verify").out.startswith("ok: 2 events")


def test_settings_are_events_with_a_history_and_an_undo(inside: Inside) -> None:
    """What was set is listed, told, undone."""
    inside("init")
    done = inside("config", "set", "scan_paths", '["/notes"]')
    assert "undo: learnings undo 1" in done.out

    assert inside.document("config", "get", "scan_paths")["settings"][0]["value"] == '["/notes"]'
    events = inside.document("history", "setting:scan_paths")["events"]
    assert [event["kind"] for event in events] == ["setting.changed"]
    inside("undo", "1")
    refused(inside("config", "get", "scan_paths"), 16, "not set")


# -- projects --------------------------------------------------------------------------------------------------------


def repository(folder: Path, origin: str) -> None:
    """Make what looks like a repository."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {origin}\n')


def test_record_takes_the_project_of_the_folder_and_says_so(shell: Shell) -> None:
    """The remark names it; `--here` asks for the same one."""
    repository(shell.folder, "https://example.org/acme/shop.git")

    done = shell.run("record", "--problem", "p", "--solution", "s", "--json")

    assert done.document["project"] == "acme/shop"
    assert "acme/shop" in done.err
    assert "practice" in done.err
    assert [hit["project"] for hit in shell.run("query", "--here", "--json").document["hits"]] == ["acme/shop"]


def test_a_project_may_have_another_name(inside: Inside, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alias counts from then on, wherever a folder decides."""
    repository(shell.folder, "git@example.org:acme/old-shop.git")
    monkeypatch.chdir(shell.folder)
    assert inside.document("project")["project"] == "acme/old-shop"

    assert inside.document("project", "alias", "shop", "acme/old-shop")["aliases"] == {"acme/old-shop": "shop"}

    assert inside("project", "show", str(shell.folder)).out == "shop\n"
    inside.document("record", "--problem", "p", "--solution", "s", "--category", "env")
    assert inside.document("project", "list")["projects"] == {"shop": 1}


def test_outside_every_repository_a_learning_holds_everywhere(shell: Shell) -> None:
    """And `--here` has nothing to ask for."""
    done = shell.run("record", "--problem", "p", "--solution", "s", "--category", "env", "--json")

    assert done.document["project"] == "*"
    assert "everywhere" in done.err
    refused(shell.run("query", "p", "--here"), 15, "--project")


# -- dry runs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in cli.COMMANDS if name not in READS])
def test_every_command_that_changes_state_has_a_dry_run(name: str) -> None:
    """Its arguments say so."""
    assert "--dry-run" in [arg.name for arg in cli.command_of(name).arguments]


def test_dry_runs_write_nothing(inside: Inside, shell: Shell) -> None:
    """Each says what it would do and leaves every byte of the log alone; without a ledger none is made."""
    texts = ("--problem", "p", "--solution", "s", "--category", "env", "--project", "demo")
    refused(inside("record", *texts, "--dry-run"), 31)
    assert inside("init", "--dry-run").code == 0
    assert not shell.file.exists()
    name = inside.record()["id"]
    count = "SELECT count(*) FROM event"

    for words in (
        ["record", *texts],
        ["supersede", name, "--problem", "p", "--solution", "s", "--reason", "r"],
        ["retract", name, "--reason", "r"],
        ["undo", "1"],
        ["pin", name],
        ["propose", *texts],
        ["quarantine", name, "--reason", "r"],
        ["config", "set", "scan_paths", "[]"],
        ["project", "alias", "a", "b"],
    ):
        done = inside(*words, "--dry-run")
        assert (done.code, done.out[:10]) == (0, "would have"), (words, done)
        assert "nothing was written" in done.err

    assert inside("rebuild", "--dry-run").out.startswith("would have rebuilt")
    assert inside.document("sql", count)["rows"] == [[1]]


# -- arguments -------------------------------------------------------------------------------------------------------


def test_options_may_stand_anywhere_before_two_dashes(inside: Inside) -> None:
    """`--json` and `--project` before, between and after words; after `--` everything is text."""
    inside.record("the --json flag is ignored", "s")

    for words in (
        ["--json", "query", "json", "flag"],
        ["query", "json", "--project", "demo", "flag", "--json"],
        ["query", "--json", "--project=demo", "--", "--json", "flag"],
    ):
        done = Done(cli.main(["--file", inside_file(inside), *words]), *inside._caught())
        assert len(done.document["hits"]) == 1, words
    assert "hits" not in inside("query", "--", "--json").out


def test_a_text_may_begin_with_a_dash(inside: Inside) -> None:
    """Only an option of the same command is taken for one."""
    made = inside.document("record", "--problem", "--force is ignored", "--solution", "-f", "--category", "env")

    shown = inside.document("show", made["id"])
    assert (shown["problem"], shown["solution"]) == ("--force is ignored", "-f")
    refused(inside("record", "--problem", "--solution", "s"), 15, "--problem")


def test_a_text_can_come_from_standard_input(shell: Shell) -> None:
    """A dash stands for it; UTF-8, with or without a byte order mark."""
    texts = ("--problem", "-", "--solution", "s", "--category", "env", "--project", "demo")

    done = shell.run("record", *texts, "--json", given="\ufeffgrüße\nzweite Zeile\n".encode())

    assert shell.run("show", done.document["id"], "--json").document["problem"] == "grüße\nzweite Zeile"


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_is_explained(inside: Inside, name: str) -> None:
    """`help NAME` and `NAME --help` say the same, and name every argument and the common options."""
    done = inside("help", name)

    assert done.code == 0
    assert inside(name, "--help").out == done.out
    for option in ("--json", "--file FILE", *(arg.name for arg in cli.command_of(name).arguments)):
        assert option in done.out
    assert inside.document("help", name)["summary"] == cli.COMMANDS[name]


def test_the_version_is_told(shell: Shell) -> None:
    """With the engine's, which decides the journal mode."""
    assert shell.run("--version").out.startswith("learnings 0.")
    assert not keys(shell.run("--version", "--json").document, "version sqlite")


@pytest.mark.parametrize(
    ("platform", "env", "expected"),
    [
        ("linux", {"LEARNINGS_FILE": "/a/b.db", "XDG_DATA_HOME": "/data"}, "/a/b.db"),
        ("linux", {"XDG_DATA_HOME": "/data", "LEARNINGS_FILE": ""}, "/data/learnings/ledger.db"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/u/.local/share/learnings/ledger.db"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/u/Library/Application Support/learnings/ledger.db"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/learnings/ledger.db"),
    ],
)
def test_the_file_is_where_the_platform_keeps_data(
    platform: str, env: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LEARNINGS_FILE comes first; a relative XDG_DATA_HOME is ignored, as its specification says."""
    monkeypatch.setenv("HOME", "/home/u")

    assert cli.default_file(env, platform) == expected


def test_the_first_write_makes_a_private_file_and_says_so(shell: Shell) -> None:
    """Folder 0700, file 0600, whatever the umask."""
    done = shell.run("record", "--problem", "p", "--solution", "s", before=lambda: os.umask(0))

    assert f"made a new ledger, readable by you alone: {shell.file}" in done.err
    assert shell.file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in shell.file.parent.iterdir() if path.stat().st_mode & 0o077] == []


# -- printing --------------------------------------------------------------------------------------------------------


def test_a_supersede_reads_as_the_style_guide_says(inside: Inside) -> None:
    """One line: what was replaced by what, and how to take it back; it can be typed as it stands."""
    old = inside.record()
    done = inside("supersede", old["id"], "--problem", "p", "--solution", "port 6543", "--reason", "it moved")

    new = inside.document("show", old["id"])["superseded_by"][0]
    undo = f"(undo: learnings undo 2 --file {inside_file(inside)})"
    assert done.out == f"superseded {old['id'][:12]}… by {new[:12]}…  {undo}\n"


def test_a_contradiction_is_remarked_when_it_is_recorded(inside: Inside) -> None:
    """So that the caller can supersede instead."""
    problem = "the pool_size of worker_main must fit"
    inside.record(problem, "set pool_size to 5 in worker_main")

    other = ("--solution", "set pool_size to 9 in worker_main", "--category", "env", "--project", "demo")
    done = inside("record", "--problem", problem, *other)

    assert "contradicts" in done.err
    assert "(undo: " in done.out


def test_a_hit_shows_title_label_age_and_what_it_replaced(inside: Inside) -> None:
    """Text for people, in lines that hold what `--json` holds."""
    old, new = superseded(inside)

    lines = inside("query", "container", "--explain").out.splitlines()

    assert lines[0] == "sessions time out"
    assert lines[1].startswith(f"  {new['id'][:12]}… · demo · env · person · since 20")
    assert lines[2] == "    → use port 6543"
    assert lines[3].startswith(f"    replaced {old['id'][:12]}… on 20")
    assert lines[-1] == "looked for: container"


def test_nothing_found_is_said_aside_and_no_failure(inside: Inside) -> None:
    """Standard output stays empty, or holds an empty list."""
    inside.record()

    done = inside("query", "kubernetes")

    assert done == (0, "", "learnings: nothing found\n")
    assert inside.document("query", "kubernetes")["hits"] == []


def test_what_a_terminal_obeys_is_never_printed(inside: Inside) -> None:
    """Text loses it; JSON carries it escaped, so that its value is still exact."""
    made = inside.record("text \u202eturned\u202c and \U000e0041tagged", "s")

    shown, listed, document = inside("show", made["id"]), inside("list"), inside("show", made["id"], "--json")

    for out in (shown.out, listed.out, document.out):
        assert not {"\u202e", "\u202c", "\U000e0041", "\x1b"} & set(out)
    assert document.document["problem"] == "text \u202eturned\u202c and \U000e0041tagged"


def test_text_that_the_terminal_cannot_show_is_escaped(shell: Shell, inside: Inside) -> None:
    """A terminal of another encoding costs letters, not the answer."""
    inside.record("grüße 漢字", "s")

    done = shell.run("list", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")

    assert done.code == 0
    assert "gr\\xfc\\xdfe" in done.out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_in_every_encoding(shell: Shell, inside: Inside, encoding: str) -> None:
    """What reads it takes UTF-8; a terminal of another encoding gets the same document in ASCII."""
    inside.record("grüße 漢字 🤯", "s")

    listed = shell.run("list", "--json", PYTHONIOENCODING=encoding, PYTHONUTF8="0", LC_ALL="C")
    exported = shell.run("export", PYTHONIOENCODING=encoding, PYTHONUTF8="0", LC_ALL="C")

    assert listed.document["rows"][0]["title"] == "grüße 漢字 🤯"
    assert json.loads(exported.out.splitlines()[1])["title"] == "grüße 漢字 🤯"


def test_a_closed_pipe_ends_the_command_quietly(inside: Inside, shell: Shell) -> None:
    """As `learnings export | head -1` does; the status is that of SIGPIPE."""
    inside.record()
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = shell.run("export", stdout=writing)
    finally:
        os.close(writing)

    assert (done.code, done.err) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_answer_that_cannot_be_written_is_an_error(shell: Shell) -> None:
    """The command did its work, and the message says so."""
    with open("/dev/full", "wb") as full:
        done = shell.run("record", "--problem", "p", "--solution", "s", "--category", "env", stdout=full)

    refused(done, 30, "no space left", "what the command did stands")
    assert shell.run("query", "p", "--json").document["hits"][0]["solution"] == "s"


def test_closed_streams_are_no_fault(inside: Inside, shell: Shell) -> None:
    """A daemon may start the command without standard output and error."""
    inside.record()

    def closed() -> None:
        os.close(1)
        os.close(2)

    assert shell.run("query", "postgres", before=closed).code == 0


def test_a_home_folder_is_understood_without_a_shell(shell: Shell) -> None:
    """The environment that an agent's client sets reaches the command as it was written."""
    shell.env["HOME"] = str(shell.folder)

    assert shell.run("init", LEARNINGS_FILE="~/own/ledger.db").code == 0
    assert shell.run("stats", "--file", "~/own/ledger.db").code == 0

    assert (shell.folder / "own" / "ledger.db").exists()
    assert not (shell.folder / "~").exists()


def test_ctrl_c_ends_with_130(shell: Shell) -> None:
    """One line, no traceback."""
    assert shell.run("init").code == 0
    shell.env["PATH"] = str(shell.folder)
    with shell.start("sql") as child:
        assert child.stderr is not None
        assert b"prompt of our own" in child.stderr.readline()
        child.send_signal(signal.SIGINT)

        assert child.wait(30) == 130
        told = child.stderr.read()
    assert told.splitlines()[-1] == b"learnings: interrupted"
    assert b"Traceback" not in told


def test_an_internal_fault_tells_its_type_and_no_text(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an exception says may quote what is stored; `--debug` shows it to whoever asks."""

    def broken(call: object) -> Result:
        raise ValueError("the stored secret")

    monkeypatch.setattr(cli_read, "stats", Command(broken, ()))

    done = inside("stats", "--json")

    assert done.code == 70
    assert "ValueError" in done.err
    assert "secret" not in done.err + done.out
    assert done.document["error"]["code"] == "Internal"
    with pytest.raises(ValueError, match="the stored secret"):
        inside("stats", "--debug")


# -- the start -------------------------------------------------------------------------------------------------------

READ_COMMANDS = (["query", "postgres"], ["list"], ["stats"], ["history", "lrn_"], ["show", "lrn_"], ["help"])
HEAVY = (
    "alembic", "anyio", "dataclasses", "frontmatter", "importers", "inspect", "jsonschema", "logging", "mcp",
    "mcp_server", "msgspec", "pathlib", "pydantic", "rich", "sqlalchemy", "sqlmodel", "watchdog", "yaml",
)  # fmt: skip


@pytest.mark.parametrize("words", READ_COMMANDS, ids=lambda words: words[0])
def test_reading_loads_nothing_that_writes(inside: Inside, shell: Shell, words: list[str]) -> None:
    """Agents wait for every import of `learnings query`."""
    name = inside.record()["id"]
    words = [name if word == "lrn_" else word for word in words]
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from ledger.cli import main\n"
        f"assert main({words!r}) == 0\n"
        f"sys.stderr.write(' '.join(sorted(set({HEAVY!r}) & (set(sys.modules) - before))))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shell.folder, env=shell.env, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_secret_in_the_name_of_a_project_is_not_said_back(inside: Inside) -> None:
    """Answers name a project as it was stored; so does the setting that holds the aliases."""
    secret = "gh" + "p_" + "A1b2C3d4" * 4 + "wxyz"

    said = inside.document(
        "record", "--problem", "p", "--solution", "s", "--category", "env", "--project", f"demo {secret}"
    )
    aliases = inside.document("project", "alias", f"demo {secret}", "other")

    assert said["project"] == "demo [REDACTED:github-token]"
    assert aliases["aliases"] == {"other": "demo [REDACTED:github-token]"}
