"""An upgrade that fails or is killed below Python: the file has the old schema or the new one, the log is the same.

`below.c` lets one call of the whole command go wrong: of the backup, of a
migration, of the rebuild. In CI fifty places of each, in the soak run every one.
"""

import errno
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from below import ANY, CALLS, KILL, ON, ONCE, Below, Ended
from rows import opened

from ledger import tables
from ledger.cli import INTERNAL
from ledger.ledger import Ledger
from ledger.model import Draft, schema_path
from ledger.sql import PROJECTION_VERSION

POINTS = 50
"""Places at which an upgrade is killed, outside the soak run."""

FEW = 12
"""Places at which it fails in other ways, outside the soak run."""

KILLED = -9

MIGRATION = '''"""Because a test needs one."""

import sqlalchemy as sa
from alembic import op

revision = "{name}"
down_revision = "{before}"


def upgrade() -> None:
    """Add a column and an index."""
    op.add_column("payload", sa.Column("{column}", sa.Text(), nullable=True))
    op.execute("CREATE INDEX {column}_index ON payload ({column})")
'''

REVISIONS = (("0001_log", ""), ("0002_note", "note"), ("0003_more", "more"))
"""Revisions and the column each brings; the first is that of today."""


class Step(NamedTuple):
    """An upgrade: of which file, by a program with which migrations, and the marks of the schema before and after."""

    file: Path
    template: Path
    scripts: str
    before: tuple[str, int]
    after: tuple[str, int]

    def anew(self) -> None:
        """Make the folder as it was before the upgrade."""
        shutil.rmtree(self.file.parent, ignore_errors=True)
        shutil.copytree(self.template, self.file.parent)


def migrations(folder: Path, upto: int) -> str:
    """Return a folder with today's migrations and as many more."""
    shutil.copytree(schema_path("migrations"), folder, ignore=shutil.ignore_patterns("__pycache__"))
    for at in range(1, upto + 1):
        name, column = REVISIONS[at]
        text = MIGRATION.format(name=name, before=REVISIONS[at - 1][0], column=column)
        (folder / "versions" / f"{name}.py").write_text(text)
    return str(folder)


@pytest.fixture
def ledger_file(memory: Path) -> Path:
    """Return a ledger of four events with projections of an older program."""
    file = memory / "data" / "ledger.db"
    with Ledger.init(str(file)) as ledger:
        old = ledger.record(Draft("the pooler refuses connections", "use port 5432", "env", "demo"))
        ledger.record(Draft("tests are slow", "run them with -n 2", "workflow", "demo"))
        ledger.supersede([old.id], "the pooler refuses connections", "use port 6543", "5432 is gone")
    with opened(str(file)) as connection:
        connection.execute("UPDATE projection SET version = 1")
    return file


@pytest.fixture(params=[0, 1, 2], ids=["projections", "0002_note", "0003_more"])
def step(request: pytest.FixtureRequest, below: Below, ledger_file: Path, memory: Path) -> Step:
    """Return an upgrade of the projections alone, or one revision and the projections after it."""
    at: int = request.param
    if at == 2:
        ended = below.run(["upgrade"], ledger_file, migrations=migrations(memory / "earlier", 1))
        assert ended.code == 0, ended
        with opened(str(ledger_file)) as connection:
            connection.execute("UPDATE projection SET version = 1")
    before = REVISIONS[max(at - 1, 0)][0]
    made = Step(
        ledger_file, memory / "template", migrations(memory / "migrations", at),
        (before, int(before[:4])), (REVISIONS[at][0], int(REVISIONS[at][0][:4])),
    )  # fmt: skip
    shutil.copytree(ledger_file.parent, made.template)
    return made


def content(file: Path) -> list[tuple[object, ...]]:
    """Return the whole log of a sound file, without what a migration may have added to it."""
    with closing(sqlite3.connect(file)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return raw.execute(
            "SELECT e.*, p.body, p.salt FROM event AS e JOIN payload AS p ON p.seq = e.seq ORDER BY e.seq"
        ).fetchall()


def marks(file: Path) -> tuple[str, int]:
    """Return both marks of a file's schema."""
    with closing(sqlite3.connect(file)) as raw:
        (revision,) = raw.execute("SELECT version_num FROM alembic_version").fetchone()
        return revision, raw.execute("PRAGMA user_version").fetchone()[0]


def columns(file: Path) -> set[str]:
    """Return the columns that migrations of this module have added."""
    with closing(sqlite3.connect(file)) as raw:
        return {row[1] for row in raw.execute("PRAGMA table_info(payload)").fetchall()} & {"note", "more"}


def held(step: Step, ended: Ended, log: list[tuple[object, ...]]) -> None:
    """Hold what an upgrade left against what was before and what would be after."""
    found = marks(step.file)
    assert found in (step.before, step.after), ended
    assert columns(step.file) == {column for name, column in REVISIONS[1:] if name <= found[0]}, ended
    assert content(step.file) == log, ended
    assert ended.code != 0 or found == step.after, ended
    assert "Traceback" not in ended.err, ended.err
    assert ended.code in (0, KILLED) or 10 <= ended.code < INTERNAL, ended
    for backup in step.file.parent.glob("*.backup-*"):
        assert content(backup) == log, ended


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["some", "every"])
@pytest.mark.parametrize(
    ("call", "error", "mode", "points"),
    [
        (ANY, 0, KILL, POINTS),
        (ANY, errno.EIO, ONCE, FEW),
        (CALLS.index("write"), errno.ENOSPC, ON, FEW),
    ],
    ids=["killed", "an input/output error, once", "no space from then on"],
)
def test_an_upgrade_that_goes_wrong_anywhere_leaves_one_schema_or_the_other_and_is_done_by_the_next(
    below: Below, step: Step, call: int, error: int, mode: int, points: int, every: bool
) -> None:
    """The log is the same byte for byte, a backup is whole or has no name of one, and what is left is done later.

    `verify` finds nothing then, but for the columns of this module, which are no real program's.
    """
    log = content(step.file)
    whole = below.run(["upgrade"], step.file, call=call, migrations=step.scripts)
    assert whole.code == 0, whole
    assert marks(step.file) == step.after
    calls = len(whole.kinds)
    assert calls > points

    for nth in range(calls) if every else sorted({at * (calls - 1) // (points - 1) for at in range(points)}):
        step.anew()
        ended = below.run(
            ["upgrade"], step.file, call=call, nth=nth, error=error, mode=mode, migrations=step.scripts
        )  # fmt: skip
        held(step, ended, log)
        again = below.run(["upgrade"], step.file, migrations=step.scripts)
        verdict = json.loads(below.run(["verify", "--json"], step.file, migrations=step.scripts).out)

        assert again.code == 0, (nth, ended, again)
        assert {one["code"] for one in verdict["problems"]} == ({"schema"} if columns(step.file) else set()), verdict
        assert marks(step.file) == step.after
        with closing(sqlite3.connect(step.file)) as raw:
            assert raw.execute("SELECT version FROM projection").fetchone() == (PROJECTION_VERSION,)
        assert not list(step.file.parent.glob("*.partial*"))


def test_the_revisions_of_this_module_follow_the_one_of_today() -> None:
    """A migration that is released moves these names on."""
    assert REVISIONS[0][0] == tables.SCHEMA_REVISION
