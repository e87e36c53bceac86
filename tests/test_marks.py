"""A file whose marks are wrong: of a newer program, of none, or garbage; every command says so and none writes."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell
from hooked import PROMPT, environment, payload, ran, repository
from rows import copied

from ledger.cli import INTERNAL
from ledger.tables import SCHEMA_VERSION

READS = ("query pooler", "show ID", "list", "history ID", "stats", "export", "recall pooler", "why pooler", "config")
WRITES = (
    "record --problem p --solution s", "retract ID --reason r", "undo 1", "pin ID", "rebuild",
    "config set robots true", "off",
    "import NOTES", "wrong",
)  # fmt: skip
CHECKS = ("verify", "doctor", "upgrade", "upgrade --dry-run", "sql SELECT~1")

MARKS = {
    "of the next schema": f"PRAGMA user_version = {SCHEMA_VERSION + 1}",
    "of a schema far ahead": "PRAGMA user_version = 2147483647",
    "of a schema below zero": "PRAGMA user_version = -7",
    "of no schema": "PRAGMA user_version = 0",
    "of another application": "PRAGMA application_id = 252006673",
    "of no application": "PRAGMA application_id = 0",
    "another revision": "UPDATE alembic_version SET version_num = 'ffff_nobody'",
    "an empty revision": "UPDATE alembic_version SET version_num = ''",
    "no revision": "DELETE FROM alembic_version",
    "two revisions": "INSERT INTO alembic_version VALUES ('0009_other')",
    "no table of revisions": "DROP TABLE alembic_version",
    "projections of a newer program": "UPDATE projection SET version = 99",
    "projections below zero": "UPDATE projection SET version = -1",
    "projections ahead of the log": "UPDATE projection SET seq = 900",
    "no row of projections": "DELETE FROM projection",
    "no table of projections": "DROP TABLE projection",
}
"""What is done to a whole file."""

REFUSED_OUTRIGHT = tuple(MARKS)[:6]
"""Marks with which nothing is written and, but for `sql`, nothing read."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return a ledger of two learnings, and the id of the first."""
    from ledger.ledger import Ledger
    from ledger.model import Draft

    path = str(tmp_path_factory.mktemp("template") / "data" / "ledger.db")
    with Ledger.init(path) as ledger:
        first = ledger.record(
            Draft("pgcat refuses connections from the docker network, PGX4711", "use port 6543", "env", "demo")
        )
        ledger.record(Draft("tests are slow", "run them with -n 2", "workflow", "demo"))
    return path, first.id


@pytest.fixture
def shell(tmp_path: Path, template: tuple[str, str]) -> Shell:
    """Return a command on a copy of it."""
    made = Shell(tmp_path)
    copied(template[0], str(made.file))
    return made


def log(file: Path) -> list[Any]:
    """Return the whole log."""
    with closing(sqlite3.connect(file)) as raw:
        return raw.execute("SELECT * FROM event AS e JOIN payload AS p ON p.seq = e.seq ORDER BY e.seq").fetchall()


@pytest.mark.parametrize("mark", MARKS)
def test_no_command_is_at_a_loss_with_a_file_of_other_marks(
    shell: Shell,
    template: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    mark: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each answers or refuses in words of ours; where the schema is another, nothing is written and both are named.

    Where only what is derived is wrong, a write makes it anew; the log stays.
    """
    monkeypatch.setenv("HOME", str(shell.folder))
    monkeypatch.chdir(shell.folder)
    notes = shell.folder / "notes"
    notes.mkdir()
    with closing(sqlite3.connect(shell.file, isolation_level=None)) as raw:
        raw.execute(MARKS[mark])
    spoiled, before = shell.file.read_bytes(), log(shell.file)
    inside = Inside(shell, capsys.readouterr)
    here = repository(shell.folder)

    faults = []
    for line in (*READS, *WRITES, *CHECKS):
        words = [
            word.replace("~", " ").replace("ID", template[1]).replace("NOTES", str(notes)) for word in line.split()
        ]
        done = inside(*words)
        if done.code == INTERNAL or "Traceback" in done.err:
            faults.append((line, done))
        if (
            mark in REFUSED_OUTRIGHT
            and line in WRITES
            and (done.code not in range(10, 40) or "nothing was" not in done.err)
        ):
            faults.append((line, done))
        if mark in REFUSED_OUTRIGHT and shell.file.read_bytes() != spoiled:
            faults.append((line, "wrote"))
        if log(shell.file)[: len(before)] != before:
            faults.append((line, "the log is another"))
        shell.file.write_bytes(spoiled)
        for path in shell.file.parent.glob("*.backup*"):
            path.unlink()
    found = ran("prompt", payload(here, prompt=PROMPT), environment(shell.file))
    if found.code or found.err:
        faults.append(("hook", found))

    assert faults == [], "\n".join(map(str, faults))


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 2_147_483_647])
def test_a_file_of_a_newer_schema_is_refused_with_both_versions(
    shell: Shell, capsys: pytest.CaptureFixture[str], version: int
) -> None:
    """Reading, writing, checking and upgrading name what was found and what this program knows."""
    with closing(sqlite3.connect(shell.file, isolation_level=None)) as raw:
        raw.execute(f"PRAGMA user_version = {version}")
    inside = Inside(shell, capsys.readouterr)

    for line in ("query pooler", "record --problem p --solution s", "verify", "upgrade", "rebuild"):
        error = json.loads(inside(*line.split(), "--json").out)["error"]

        assert error["code"] == "NewerSchema", line
        assert str(version) in error["message"]
        assert f" {SCHEMA_VERSION};" in error["message"]
