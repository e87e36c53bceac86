"""Who may read what we leave: through a whole life under umask 000, every file is its owner's alone."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Inside, Shell, refused
from hooked import PROMPT, environment, payload, ran, repository
from talk import said, talking

from ledger import tables, upgrade
from ledger.errors import UnsafePlace
from ledger.model import schema_path

NOTE = "---\nname: pooler\ntype: feedback\n---\nUse port 6543 for the pooler of billing.\n"
MIGRATION = '''"""Because a test needs one."""

import sqlalchemy as sa
from alembic import op

revision = "0002_note"
down_revision = "0001_log"


def upgrade() -> None:
    """Add a column."""
    op.add_column("payload", sa.Column("note", sa.Text(), nullable=True))
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a home where every mode is the one that was asked for, and a project with notes."""
    for name in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"):
        monkeypatch.setenv(name, "cli")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LEARNINGS_FILE", str(tmp_path / ".local" / "share" / "learnings" / "ledger.db"))
    monkeypatch.chdir(tmp_path)
    here = repository(tmp_path)
    memory = tmp_path / ".claude" / "projects" / "-demo" / "memory"
    memory.mkdir(parents=True)
    (memory.parent / "s1.jsonl").write_text(json.dumps({"type": "user", "cwd": str(here)}) + "\n")
    (memory / "pooler.md").write_text(NOTE)
    before = os.umask(0)
    yield tmp_path
    os.umask(before)


def modes(folder: Path, but: set[Path]) -> dict[str, int]:
    """Return the permission bits of everything below a folder that we made, links left alone."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink() and path not in but
    }


def wrong(folder: Path, but: set[Path]) -> dict[str, str]:
    """Return what others could open."""
    return {
        name: oct(mode) for name, mode in modes(folder, but).items()
        if mode != (0o700 if (folder / name).is_dir() else 0o600)
    }  # fmt: skip


def commands(inside: Inside, home: Path) -> None:
    """Make, write, import, export, set up, look."""
    first = inside.record("pgcat refuses connections from the docker network, PGX4711", "use port 6543 of pgcat")["id"]
    for words in (
        ("init",), ("supersede", first, "--problem", "pgcat refuses connections from the docker network, PGX4711",
                    "--solution", "use 6543 of pgcat", "--reason", "r"),
        ("import", str(home / ".claude" / "projects" / "-demo" / "memory")), ("scan",),
        ("export", "--output", str(home / "out.jsonl")), ("export", "--format", "md", "--output", str(home / "out.md")),
        ("setup", "claude-code"), ("setup", "cursor"), ("setup", "codex"),
        ("recall", PROMPT, "--project", "demo", "--session", "s"),
        ("wrong", "--silence"), ("config", "set", "exposure_days", "30"), ("rebuild",), ("verify",),
        ("doctor",), ("stats",),
        ("setup", "claude-code", "--uninstall"), ("undo", "1", "--cascade"),
    ):  # fmt: skip
        done = inside(*words)
        assert done.code in (0, 15, 18), (words, done)


def hooks(home: Path, file: Path) -> None:
    """Let every hook leave what it leaves."""
    here, env = home / "demo", environment(file, HOME=str(home))
    note = home / ".claude" / "projects" / "-demo" / "memory" / "pooler.md"
    for event, given in (
        ("session-start", {"source": "startup"}), ("prompt", {"prompt": PROMPT}),
        ("subagent-start", {"agent_id": "a", "agent_type": "b"}),
        ("tool", {"tool_name": "Write", "tool_input": {"file_path": str(note)}}),
        ("precompact", {"trigger": "auto"}), ("compact", {"compact_summary": "we moved the pooler"}),
        ("stop", {"last_assistant_message": "the pooler now listens on 6543"}), ("end", {"reason": "exit"}),
    ):  # fmt: skip
        found = ran(event, payload(here, transcript_path=str(home / "t.jsonl"), **given), env)
        assert (found.code, found.err) == (0, ""), event


def serve(home: Path, file: Path) -> None:
    """Let a server answer, write, recall and read notes in the background."""
    note = home / ".claude" / "projects" / "-demo" / "memory" / "late.md"
    note.write_text(NOTE.replace("pooler", "spooler"))
    with talking(file, "auto", cwd=home / "demo", errors=home / "server.log") as talk:
        talk.tools()
        talk.document("record_learning", problem="the cache is cold", solution="warm it")
        talk.document("query_learnings", query="pgcat")
        for number in range(200):
            told = {"prompt": f"{PROMPT} {number}", "session_id": f"m{number}", "cwd": str(home / "demo")}
            answer = said(talk.call("recall", told))
            if os.path.exists(f"{file}.scanned") and answer:
                break
    assert os.path.exists(f"{file}.scanned")


def migrate(home: Path, file: Path) -> None:
    """Bring the file to the schema of a newer program, which takes a backup, and back."""
    scripts = home / "migrations"
    shutil.copytree(schema_path("migrations"), scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "versions" / "0002_note.py").write_text(MIGRATION)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "SCHEMA_VERSION", 2)
        patch.setattr(tables, "SCHEMA_REVISION", "0002_note")
        done = upgrade.upgrade(str(file), scripts=str(scripts))
    assert done.backup is not None
    shutil.rmtree(scripts)


def test_through_a_whole_life_every_file_and_folder_is_its_owners_alone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ledger, sidecars, queue, sessions, exposures, exports, settings of clients, backups: 0600, and folders 0700.

    Looked at after each part of it, so that nothing is open for a while either; what belonged to others keeps its mode.
    """
    but = set(home.rglob("*"))
    but |= {home / "server.log", home / ".claude" / "projects" / "-demo" / "memory" / "late.md"}
    shell = Shell(home)
    shell.file = Path(os.environ["LEARNINGS_FILE"])
    inside = Inside(shell, capsys.readouterr)

    found = {}
    commands(inside, home)
    found["commands"] = wrong(home, but)
    hooks(home, shell.file)
    found["hooks"] = wrong(home, but)
    serve(home, shell.file)
    found["server"] = wrong(home, but)
    for name in ("sessions.db", "exposures.db"):
        (shell.file.parent / name).write_bytes(b"no database" * 900)
    hooks(home, shell.file)
    found["damaged"] = wrong(home, but)
    migrate(home, shell.file)
    found["upgrade"] = wrong(home, but)

    assert [part for part in found.items() if part[1]] == []
    made = {Path(name).name for name in modes(shell.file.parent, set())}
    assert {
        "ledger.db", "ledger.db.anchor", "ledger.db.lock", "ledger.db.queue", "ledger.db.scanned", "sessions.db",
        "exposures.db", "sessions.db.damaged", "exposures.db.damaged", "queue",
    } <= made  # fmt: skip
    assert any(name.startswith("ledger.db.backup-") for name in made)
    assert {path.lstat().st_uid for path in shell.file.parent.rglob("*")} == {os.geteuid()}


@pytest.mark.parametrize("mode", [0o777, 0o702])
def test_a_ledger_in_a_folder_that_anybody_may_write_is_not_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: int
) -> None:
    """Whoever may write the folder may put another ledger, or another anchor, in the place of this one."""
    shell = Shell(tmp_path)
    inside = Inside(shell, capsys.readouterr)
    inside.record()
    shell.file.parent.chmod(mode)

    done = inside("record", "--problem", "p", "--solution", "s")

    refused(done, UnsafePlace.exit_code, "can be written by anybody", f"chmod 700 {shell.file.parent}")
    shell.file.parent.chmod(0o1777)  # sticky, as /tmp is: nobody replaces what is another's
    assert inside("record", "--problem", "p", "--solution", "s").code == 0


def test_no_command_that_we_register_names_a_secret_or_the_environment(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a client is told to start stands in the list of processes: paths and words of ours, no more."""
    shell = Shell(home)
    secret = "gh" + "p_" + "a1B2" * 9
    inside = Inside(shell, capsys.readouterr)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_TOKEN", secret)
        assert inside("setup", "claude-code").code == 0
        assert inside("doctor").code in (0, 18)

    written = b"".join(path.read_bytes() for path in (home / ".claude.json", home / ".claude" / "settings.json"))
    assert b"hook_main.py" in written
    assert secret.encode() not in written
    (server,) = json.loads((home / ".claude.json").read_text())["mcpServers"].values()
    assert server.get("env", {}).keys() <= {"LEARNINGS_FILE"}
