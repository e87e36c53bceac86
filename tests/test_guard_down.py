"""The redactor raises, or its rules are missing: every door stores nothing, says so, and quotes nothing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell
from hooked import payload, repository

from importers.projects import project_of
from ledger import hook, redact, secret_rules
from ledger.errors import GuardFailed, LedgerError
from ledger.model import agent
from mcp_server import tools
from mcp_server.tools import Session

CANARY = "canary7fK2pQ9xW4"
PERSON = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}


def raising(patch: pytest.MonkeyPatch) -> None:
    """Let the redactor raise, with the text in its message."""

    def broken(text: str) -> Any:
        raise RuntimeError(text)

    patch.setattr(redact, "scrub", broken)


def out_of_depth(patch: pytest.MonkeyPatch) -> None:
    """Let it end in an error that is no fault of a rule."""

    def broken(text: str) -> Any:
        raise RecursionError(text)

    patch.setattr(redact, "scrub", broken)


def without_rules(patch: pytest.MonkeyPatch) -> None:
    """Take its rules away, as an installation that is half there would."""
    patch.setattr(secret_rules, "_rules", None)
    patch.setattr(secret_rules, "schema_path", lambda *_: os.devnull + "/none")


def rules_of_nothing(patch: pytest.MonkeyPatch) -> None:
    """Let the rules be an empty file."""
    patch.setattr(secret_rules, "_rules", None)
    patch.setattr(secret_rules, "schema_path", lambda *_: os.devnull)


def held(folder: Path, but: Path) -> list[str]:
    """Return the files below a folder that hold the canary."""
    return [
        str(path) for path in folder.rglob("*")
        if path.is_file() and but not in path.parents and CANARY.encode() in path.read_bytes()
    ]  # fmt: skip


@pytest.mark.parametrize("down", [raising, out_of_depth, without_rules, rules_of_nothing])
def test_while_the_redactor_cannot_run_no_door_stores_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    down: Callable[[pytest.MonkeyPatch], None],
) -> None:  # fmt: skip
    """Commands, imports, tools and hooks: refused by name or silent, the log as it was, no file holds the text."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path)
    inside = Inside(shell, capsys.readouterr)
    first = inside.record()["id"]
    notes, here = tmp_path / "notes", repository(tmp_path)
    notes.mkdir()
    (notes / "note.md").write_text(f"---\nname: n\n---\nUse {CANARY} for it.\n")
    path = str(shell.file)
    session = Session(path, "demo", agent("a"))
    down(monkeypatch)

    said, ends = [], {}
    for words in (
        ("record", "--problem", CANARY, "--solution", "s"), ("record", "--problem", "p", "--solution", CANARY),
        ("supersede", first, "--problem", "p", "--solution", CANARY, "--reason", "r"),
        ("retract", first, "--reason", CANARY),
        ("propose", "--problem", CANARY, "--solution", "s"), ("alias", first, CANARY),
        ("quarantine", first, "--reason", CANARY),
        ("import", str(notes), "--project", "demo"), ("project", "alias", "demo", CANARY),
    ):  # fmt: skip
        done = inside(*words)
        ends[" ".join(words[:3])] = done.code
        said.append(done.out + done.err)
    for name, given in (
        ("record_learning", {"problem": CANARY, "solution": "s"}),
        ("supersede_learning", {"old": [first], "problem": "p", "solution": CANARY, "reason": "r"}),
    ):
        with pytest.raises(LedgerError) as caught:
            tools.run(name, session, given)
        said.append(str(caught.value))
    for event, told in (
        ("stop", {"last_assistant_message": CANARY}),
        ("compact", {"compact_summary": CANARY}),
        ("prompt", {"prompt": f"why does {CANARY} hang?"}),
        ("session-start", {"source": "startup", "session_id": CANARY}),
    ):  # fmt: skip
        said.append(hook.run(event, payload(here, **told), PERSON, path, project_of))

    monkeypatch.undo()
    assert set(ends.values()) <= {GuardFailed.exit_code, 15, 24}, ends
    assert list(ends.values()).count(GuardFailed.exit_code) >= 5, ends
    assert CANARY not in "".join(said)
    assert held(tmp_path, notes) == []
    assert inside.document("stats") is not None
    assert len(json.loads(inside("history", first, "--json").out)["events"]) == 1
