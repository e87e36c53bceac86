"""A session does not begin with what the client has loaded anyway, and a block that is kept knows of it."""

import json
import os
import time
from pathlib import Path

import pytest
from hooked import environment, payload, ran, repository
from talk import said, talking

from importers.projects import loaded_files, memory_folder
from ledger import hook
from ledger.exposures import Exposures
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.sessions import Sessions

PERSON = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
RULE = "- pgcat refuses the docker network: use port 6543 of pgcat\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of the project `demo` in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return repository(tmp_path)


@pytest.fixture
def known(ledger: Ledger) -> Ledger:
    """Return a ledger with a pinned learning, and some others."""
    ledger.pin(ledger.record(Draft("pgcat refuses the docker network", "use port 6543 of pgcat", "env", "demo")).id)
    for number in range(8):
        ledger.record(Draft(f"kettle {number} whistles on stove {number}", f"lift lid {number}", "practice", "demo"))
    return ledger


def started(known: Ledger, folder: Path, session: str, source: str = "startup") -> str:
    """Return the block that a session begins with."""
    env = {**PERSON, "HOME": os.environ["HOME"]}
    text = hook.run(
        "session-start", payload(folder, session_id=session, source=source), env, known.path, lambda _: "demo",
        files_of=lambda cwd: loaded_files(cwd, os.environ["HOME"]),
    )  # fmt: skip
    return str(json.loads(text)["hookSpecificOutput"]["additionalContext"]) if text else ""


def places(folder: Path) -> dict[str, Path]:
    """Return every kind of file that the client loads here."""
    home = Path(os.environ["HOME"])
    return {
        "CLAUDE.md": folder / "CLAUDE.md",
        "above": folder.parent / "AGENTS.md",
        "rules": folder / ".claude" / "rules" / "db" / "pooler.md",
        "user": home / ".claude" / "CLAUDE.md",
        "user rules": home / ".claude" / "rules" / "pooler.md",
        "index": Path(memory_folder(str(folder), str(home))) / "MEMORY.md",
    }


WHERE = ["CLAUDE.md", "above", "rules", "user", "user rules", "index"]


@pytest.mark.parametrize("where", WHERE)
def test_a_kept_block_is_made_anew_when_the_client_loads_something_else(
    known: Ledger, folder: Path, where: str
) -> None:
    """A file that comes, changes, goes: each next session begins with what is not in it."""
    file = places(folder)[where]

    assert "6543" in started(known, folder, "s1")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"# Rules\n\n{RULE}")
    assert "6543" not in started(known, folder, "s2")
    file.write_text("# Rules\n\n- use port 5432 of the other one\n")
    assert "6543" in started(known, folder, "s3")
    file.write_text(f"# Rules\n\n{RULE}")
    assert "6543" not in started(known, folder, "s4")
    file.unlink()
    assert "6543" in started(known, folder, "s5")


def test_what_is_loaded_makes_room_for_others_and_is_said(known: Ledger, folder: Path) -> None:
    """The strongest of the project come instead of it; `why` knows that it was held back."""
    (folder / "CLAUDE.md").write_text(RULE)

    text = started(known, folder, "s1")

    assert "lift lid" in text
    with Exposures(known.path, known.store.ledger_id) as kept:
        (one,) = kept.newest(1)
    assert [held["reason"] for held in one.held][:1] == ["loaded"]


def test_a_block_is_kept_as_long_as_nothing_changes(
    known: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With files that are loaded as without."""
    (folder / "CLAUDE.md").write_text(RULE)
    first = started(known, folder, "s1")
    monkeypatch.setattr(hook.Opened, "__init__", lambda *_: pytest.fail("the read path was opened"))

    assert started(known, folder, "s2").count("lift lid") == first.count("lift lid")


def test_after_a_compaction_the_session_is_not_shown_again_what_is_loaded_by_now(known: Ledger, folder: Path) -> None:
    """The client reads its files again then."""
    assert "6543" in started(known, folder, "s1")
    (folder / "CLAUDE.md").write_text(RULE)

    assert "6543" not in started(known, folder, "s1", "compact")


def test_the_script_that_a_client_runs_knows_it_too(known: Ledger, folder: Path) -> None:
    """With the home that the client gave."""
    env = environment(Path(known.path), HOME=os.environ["HOME"])
    given = payload(folder, source="startup")
    (folder / "CLAUDE.md").write_text(RULE)

    assert "6543" not in ran("session-start", given, env).text
    (folder / "CLAUDE.md").write_text("x\n")

    assert "6543" in ran("session-start", {**given, "session_id": "s2"}, env).text


def test_the_server_makes_the_block_anew_after_a_prompt(
    known: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the ledger is the same: the next start need not make it."""
    for name, value in {**PERSON, "CLAUDECODE": "1"}.items():
        monkeypatch.setenv(name, value)
    asked = {"session_id": "s1", "cwd": str(folder), "prompt_id": "p", "transcript_path": "", "prompt": "hi there"}
    kept = Sessions(known.path)

    def until_kept(wanted: bool) -> bool:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            row = kept.ready(str(folder))
            if row is not None and ("6543" in row[4]) is wanted:
                return True
        return False

    with talking(Path(known.path), "legacy", cwd=folder) as talk:
        said(talk.call("recall", asked))
        assert until_kept(wanted=True)
        (folder / "CLAUDE.md").write_text(RULE)
        said(talk.call("recall", {**asked, "prompt": "go on"}))
        assert until_kept(wanted=False)
