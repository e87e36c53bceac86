"""What claude-mem keeps: every generation of its database, its exports, and what its server answered."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import foreign
import pytest
from command import Inside, Shell
from rows import opened, verified

from importers import claude_mem, foreign_sqlite, plan, registry
from importers.files import Unread
from ledger import ingest, residue
from ledger.ledger import Ledger
from ledger.model import Draft

POOLER = foreign.observation(
    1, "Pool timed out", subtitle="from containers", facts=["5432 refuses", "6543 answers"], type="bugfix",
    narrative="The pooler listens on another port.", concepts=["gotcha", "problem-solution"], text=None,
)  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a command without a ledger; its home is empty."""
    return Shell(tmp_path / "home")


def made(path: Path, *rows: dict[str, Any], version: int = 52, wal: bool = True) -> Path:
    """Make a database and close it."""
    foreign.database(path, *rows, version=version, wal=wal).close()
    return path


def parsed(*given: Any) -> list[Draft]:
    """Return the drafts of an export of these observations."""
    return claude_mem.parse(json.dumps(foreign.export(*given)).encode(), "/w/e.json").drafts


def codes(found: claude_mem.Parsed) -> list[str]:
    """Return the codes of what was said of a file."""
    return [one.code for one in found.diagnostics]


# -- what an observation becomes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [11, 35, 52])
def test_each_generation_gives_the_same_learning(version: int, tmp_path: Path) -> None:
    """Renamed and added columns change nothing of what an observation says, nor of where it stands."""
    path = made(tmp_path / "claude-mem.db", POOLER, version=version)

    found = claude_mem.database(str(path))

    (draft,) = found.drafts
    assert draft == Draft(
        "Pool timed out\nfrom containers",
        "The pooler listens on another port.\n\n- 5432 refuses\n- 6543 answers",
        "bug-fix", "shop", "Pool timed out", ("bugfix", "gotcha", "problem-solution"), "2026-11-03T08:00:00.000000Z",
        "sure", draft.source,
    )  # fmt: skip
    assert draft.source is not None
    place = "claude-mem:5f0c2a9e-1111-4000-8000-000000000001#2026-11-03T08:00:00.000000Z/1"
    assert (draft.source.locator, draft.source.path) == (place, str(path))
    assert found.is_complete
    assert found.diagnostics == []


def test_the_first_generation_has_a_text_alone(tmp_path: Path) -> None:
    """What the text begins with is the problem; the time in seconds is understood."""
    row = foreign.observation(3, None, text="The pooler listens on 6543. Port 5432 refuses.", type="discovery")
    path = made(tmp_path / "old.db", {**row, "created_at_epoch": 1_793_692_800}, version=4)

    (draft,) = claude_mem.database(str(path)).drafts

    assert draft.problem == "The pooler listens on 6543"
    assert draft.solution == "The pooler listens on 6543. Port 5432 refuses."
    assert draft.title is None
    assert draft.observed_at == "2026-11-03T08:00:00.000000Z"


@pytest.mark.parametrize(
    ("kind", "concepts", "expected"),
    [
        ("bugfix", [], ("bug-fix", "sure")),
        ("decision", [], ("practice", "sure")),
        ("feature", [], ("pattern", "ambiguous")),
        ("refactor", [], ("pattern", "ambiguous")),
        ("change", [], ("pattern", "ambiguous")),
        ("security_alert", [], ("practice", "ambiguous")),
        ("discovery", ["gotcha"], ("bug-fix", "sure")),
        ("discovery", ["how-it-works"], ("pattern", "sure")),
        ("discovery", [], ("env", "ambiguous")),
        ("a kind of my own", [], ("env", "ambiguous")),
        (None, [], ("env", "ambiguous")),
    ],
)
def test_a_kind_decides_the_category_as_far_as_it_can(
    kind: str | None, concepts: list[str], expected: tuple[str, str]
) -> None:
    """What a kind leaves open concepts decide, then words, and then the category is ambiguous."""
    (draft,) = parsed(foreign.observation(1, "The staging server listens on a port", type=kind, concepts=concepts))

    assert (draft.category, draft.confidence) == expected


@pytest.mark.parametrize(
    ("epoch", "written", "expected"),
    [
        (1_793_692_800, None, "2026-11-03T08:00:00.000000Z"),
        (1_793_692_800_123, None, "2026-11-03T08:00:00.123000Z"),
        (1_793_692_800_123_456, None, "2026-11-03T08:00:00.123456Z"),
        (None, "2026-11-03T09:00:00+01:00", "2026-11-03T08:00:00.000000Z"),
        (-5, "2026-11-03T08:00:00Z", "2026-11-03T08:00:00.000000Z"),
        (10**30, "2026-11-03T08:00:00Z", "2026-11-03T08:00:00.000000Z"),
        (True, "yesterday", None),
        ("1793692800", None, None),
    ],
)
def test_times_are_seconds_milliseconds_or_text(epoch: Any, written: Any, expected: str | None) -> None:
    """Their size tells the unit of a number; what is no time is none."""
    (draft,) = parsed(foreign.observation(1, "t", created_at_epoch=epoch, created_at=written))

    assert draft.observed_at == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"project": "api"}, "api"),
        ({"project": "api/fix-1", "merged_into_project": "api"}, "api"),
        ({"project": "api", "merged_into_project": ""}, "api"),
        ({"project": None}, "shop-export"),
        ({"project": "*"}, "shop-export"),
        ({"project": ["api"]}, "shop-export"),
    ],
)
def test_the_project_is_the_one_it_was_merged_into(more: dict[str, Any], expected: str) -> None:
    """A name that is none, or means every project, gives way to the export's own."""
    raw = json.dumps(foreign.export(foreign.observation(1, "t", **more), project="shop-export")).encode()

    (draft,) = claude_mem.parse(raw, "/w/e.json").drafts

    assert draft.project == expected


def test_lists_are_lists_or_texts_of_json() -> None:
    """`facts` come as a list, as JSON in a text, and as a plain text; what is none of these is left out by name."""
    rows = [
        foreign.observation(1, "a", narrative=None, facts=["one", "two"]),
        foreign.observation(2, "b", narrative=None, facts='["one", "two"]'),
        foreign.observation(3, "c", narrative=None, facts="one and two"),
        foreign.observation(4, "d", narrative="kept", facts='["broken'),
        foreign.observation(5, "e", narrative="kept", facts=[1, "two", None]),
        foreign.observation(6, "f", narrative={"no": "text"}, facts=7, concepts={}),
    ]

    found = claude_mem.parse(json.dumps(rows).encode(), "/w/e.json")

    assert [draft.solution for draft in found.drafts] == [
        "- one\n- two", "- one\n- two", "- one and two", "kept", "kept\n\n- two", "f",
    ]  # fmt: skip
    assert codes(found) == ["observation-field"] * 5


# -- the ledger -------------------------------------------------------------------------------------------------------


def test_a_second_import_adds_nothing_and_an_edit_supersedes(tmp_path: Path, inside: Inside) -> None:
    """What a row says now replaces what it said; a row that is gone retracts; what is again there comes back."""
    path = tmp_path / "claude-mem.db"
    other = foreign.observation(2, "The queue is slow", narrative="batch the writes")
    foreign.database(path, POOLER, other).close()
    first = inside.document("import", str(path))
    again = inside.document("import", str(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE observations SET narrative = 'The pooler listens on 7654.' WHERE id = 1")
        connection.execute("DELETE FROM observations WHERE id = 2")

    changed = inside.document("import", str(path))

    assert (first["recorded"], again["recorded"], again["unchanged"], again["batch"]) == (2, 0, 2, None)
    assert (changed["superseded"], changed["retracted"], changed["recorded"]) == (1, 1, 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        foreign.put(connection, other)
    assert inside.document("import", str(path))["restored"] == 1


def test_what_an_export_lacks_has_not_gone(tmp_path: Path, inside: Inside) -> None:
    """An export is what one search found: it adds and edits, and what it does not have stays."""
    path = tmp_path / "e.json"
    two = foreign.observation(2, "The queue is slow")
    path.write_text(json.dumps(foreign.export(POOLER, two)))
    inside("import", str(path))
    path.write_text(json.dumps(foreign.export({**POOLER, "narrative": "Use the pooler's port."})))

    done = inside.document("import", str(path))

    assert (done["superseded"], done["retracted"], done["recorded"]) == (1, 0, 0)
    assert [one["code"] for one in done["diagnostics"]] == ["a-search"]


def test_the_database_and_its_export_say_one_thing_once(tmp_path: Path, inside: Inside) -> None:
    """The same row of a database and of an export is one place; where they differ the database is believed."""
    folder = tmp_path / "given"
    folder.mkdir()
    two = foreign.observation(2, "The queue is slow")
    made(folder / "claude-mem.db", POOLER, two)
    (folder / "a.json").write_text(json.dumps(foreign.export(POOLER, {**two, "narrative": "an older text"})))
    (folder / "b.json").write_text(json.dumps([POOLER, two]))

    done = inside.document("import", str(folder))

    assert (done["recorded"], done["sources_added"]) == (2, 0)
    assert inside.document("import", str(folder))["batch"] is None
    assert "an older text" not in inside("export").out


def test_of_two_exports_the_later_is_believed() -> None:
    """What both have is taken from the one written later, whichever is read first."""
    raw = [
        json.dumps(foreign.export({**POOLER, "narrative": told}, exportedAtEpoch=at)).encode()
        for told, at in (("new", 1_793_779_200_000), ("old", 1_793_692_800_000))
    ]
    both = [claude_mem.parse(one, f"/w/{number}.json") for number, one in enumerate(raw)]

    drafts = claude_mem.merged(reversed(both))

    assert [draft.solution.partition("\n")[0] for draft in drafts] == ["new"]


def test_rows_without_a_session_belong_to_their_file(tmp_path: Path, inside: Inside) -> None:
    """The ids of two files begin at 1 alike: without a session they are not the same observation."""
    for name in ("a", "b"):
        row = foreign.observation(1, f"title {name}", memory_session_id=None)
        (tmp_path / f"{name}.json").write_text(json.dumps([row]))

    done = inside.document("import", str(tmp_path / "a.json"), str(tmp_path / "b.json"))

    assert done["recorded"] == 2


def test_copies_of_one_text_become_one_learning(tmp_path: Path, inside: Inside) -> None:
    """Concurrent hooks store the same words under several ids."""
    made(tmp_path / "c.db", *({**POOLER, "id": number} for number in (1, 2, 3)))

    done = inside.document("import", str(tmp_path / "c.db"))

    assert (done["recorded"], done["sources_added"]) == (1, 2)


def test_a_sensitive_kind_waits_for_a_person(tmp_path: Path, inside: Inside) -> None:
    """It is stored, withheld from every answer, and a person can release it; its database stays trust 1."""
    made(tmp_path / "c.db", POOLER, foreign.observation(2, "Payroll is late", type="sensitive"))

    done = inside.document("import", str(tmp_path / "c.db"))

    assert (done["recorded"], done["quarantined"]) == (1, 1)
    current = inside.document("sql", "SELECT title, trust FROM current_learnings")
    withheld = inside.document("sql", "SELECT data FROM event WHERE kind = 'learning.quarantined'")
    assert current["rows"] == [["Pool timed out", 1]]
    (told,) = [json.loads(data) for (data,) in withheld["rows"]]
    assert (told["rules"], told["severity"]) == (["called-sensitive"], "low")
    assert "Payroll" not in inside("query", "payroll is late").out


def test_prompts_summaries_and_tool_output_stay_out(tmp_path: Path, inside: Inside, shell: Shell) -> None:
    """They are no learnings: they are counted, and no byte of them is stored."""
    canary = "AK" + "IA" + "Q4XEXAMPLECANARY"
    path = tmp_path / "c.db"
    with closing(foreign.database(path, POOLER)) as connection:
        connection.execute(
            "INSERT INTO pending_messages (session_db_id, content_session_id, message_type, tool_response,"
            " created_at_epoch) VALUES (1, 's', 'observation', ?, 1)", (f"RAWOUTPUT {canary}",)
        )  # fmt: skip
        connection.execute(
            "INSERT INTO session_summaries (memory_session_id, project, learned, created_at, created_at_epoch)"
            " VALUES ('s', 'shop', 'SUMMARYTEXT', '2026-11-03', 1)"
        )

    done = inside.document("import", str(path))

    said = [one["message"] for one in done["diagnostics"] if one["code"] == "no-learnings"]
    assert said == ["what is no learning was left out: session summaries 1, pending messages 1"]
    held = b"".join(file.read_bytes() for file in shell.file.parent.iterdir() if file.is_file())
    assert not any(word.encode() in held for word in (canary, "RAWOUTPUT", "SUMMARYTEXT"))


def test_a_newer_schema_is_named_and_what_is_known_of_it_is_read(tmp_path: Path) -> None:
    """The version that was seen is said, columns nobody knows are counted, and the rest is taken."""
    with closing(foreign.database(tmp_path / "c.db", POOLER)) as connection:
        connection.execute("INSERT INTO schema_versions (version, applied_at) VALUES (61, '2027-01-01')")
        connection.execute("ALTER TABLE observations ADD COLUMN mood TEXT")

    found = claude_mem.database(str(tmp_path / "c.db"))

    assert len(found.drafts) == 1
    assert codes(found) == ["newer-version", "unknown-columns"]
    assert "61" in found.diagnostics[0].message


def test_a_schema_without_observations_is_refused_with_its_version(tmp_path: Path) -> None:
    """A database that keeps them otherwise cannot be read: the refusal says which version it has."""
    with closing(foreign.database(tmp_path / "c.db")) as connection:
        connection.execute("DROP TABLE observations")
        connection.execute("UPDATE schema_versions SET version = 99")

    with pytest.raises(Unread, match="schema version 99") as refused:
        claude_mem.database(str(tmp_path / "c.db"))

    assert refused.value.code == "no-observations"


# -- a database that is in use, or that a stranger made ---------------------------------------------------------------


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of everything in a folder."""
    return {path.name: (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.iterdir()}


def test_what_stands_in_the_log_alone_is_read_and_nothing_is_written_beside(tmp_path: Path) -> None:
    """Rows that were committed and not yet moved into the database are there; those of an open transaction are not."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    with closing(foreign.database(folder / "c.db")) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        foreign.put(connection, POOLER)
        connection.execute("BEGIN")
        foreign.put(connection, foreign.observation(2, "not committed"))
        before = listing(folder)

        found = claude_mem.database(str(folder / "c.db"))

        assert listing(folder) == before
    assert [draft.title for draft in found.drafts] == ["Pool timed out"]


def test_a_closed_database_gets_no_file_beside_it(tmp_path: Path) -> None:
    """SQLite itself would lay two files beside a database in WAL mode that it only reads."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    made(folder / "c.db", POOLER)
    before = listing(folder)

    claude_mem.database(str(folder / "c.db"))

    assert listing(folder) == before == {"c.db": before["c.db"]}


WRITER = """
import sqlite3, sys
from foreign import observation, put
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("PRAGMA wal_autocheckpoint = 100")
connection.execute("PRAGMA synchronous = OFF")
number = 1
while True:
    connection.execute("BEGIN IMMEDIATE")
    put(connection, observation(number, f"one of pair {number}", narrative="x" * 3000))
    put(connection, observation(number + 1, f"other of pair {number}", narrative="y" * 3000))
    connection.execute("DELETE FROM observations WHERE id < ?", (number - 198,))
    connection.execute("COMMIT")
    number += 2
    if number == 301:
        print("begun", flush=True)
"""


def test_a_database_that_is_written_all_the_while_is_read_as_of_one_moment(tmp_path: Path) -> None:
    """A writer commits pairs and moves its log every few commits: whole pairs are read, or the file is called busy."""
    path = made(tmp_path / "c.db")
    tests = str(Path(__file__).parent)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": tests}
    )
    taken, refusals = 0, list[str]()
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"begun\n"
        for _ in range(12):
            try:
                found = claude_mem.database(str(path))
            except Unread as refused:
                refusals.append(refused.code)
                continue
            numbers = [int(draft.title.split()[-1]) for draft in found.drafts if draft.title]
            taken += 1
            assert found.is_complete
            assert len(numbers) == 200
            assert numbers == [number for at in range(numbers[0], numbers[0] + 200, 2) for number in (at, at)]
    finally:
        writer.kill()
        writer.communicate()
    assert taken > 0
    assert set(refusals) <= {"busy"}


def test_a_log_that_is_begun_anew_between_two_copies_is_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer moves its log into the database after that was copied: the first copy would lack what stood in it."""
    path = tmp_path / "c.db"
    with closing(foreign.database(path)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        foreign.put(connection, POOLER)
        copied, turns = foreign_sqlite._copy_file, list[str]()

        def between(path: str, to: str, cap: int, may_miss: bool = False) -> bool:
            turns.append(path[-4:])
            if turns == ["c.db", "-wal"]:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                foreign.put(connection, foreign.observation(2, "The queue is slow"))
            return copied(path, to, cap, may_miss)

        monkeypatch.setattr(foreign_sqlite, "_copy_file", between)

        found = claude_mem.database(str(path))

    assert [draft.title for draft in found.drafts] == ["Pool timed out", "The queue is slow"]
    assert turns == ["c.db", "-wal"] * 2


def test_the_copy_has_no_name_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill could leave behind would hold what no guard has seen yet."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    path = made(tmp_path / "c.db", POOLER)

    with foreign_sqlite.snapshot(str(path)) as connection:
        left = [name for _, _, names in os.walk(tmp_path / "t") for name in names]
        titles = connection.execute("SELECT title FROM observations").fetchall()
        folders = [one.name for one in (tmp_path / "t").iterdir()]

    assert left == []
    assert all(name.startswith(residue.PREFIXES) for name in folders), "an erasure looks there"
    assert folders
    assert titles == [("Pool timed out",)]
    assert list((tmp_path / "t").iterdir()) == []


def test_no_room_for_a_copy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The temporary folder is missing: nothing is read, and the refusal says why."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))

    with pytest.raises(Unread) as refused:
        claude_mem.database(str(made(tmp_path / "c.db", POOLER)))

    assert refused.value.code == "snapshot"


def journalled(path: Path) -> None:
    """Lay a rollback journal beside a database, as a killed writer leaves it."""
    Path(f"{path}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 504)


def viewed(path: Path) -> None:
    """Put a view that never ends in the place of the table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE observations")
        endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, 'a' AS title FROM c"
        connection.execute(f"CREATE VIEW observations AS {endless}")


def virtual(path: Path) -> None:
    """Put a search index in the place of the table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE observations")
        connection.execute("CREATE VIRTUAL TABLE observations USING fts5(title, narrative)")


def replaced(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return what puts something else in the place of a file."""

    def act(path: Path) -> None:
        path.unlink()
        make(path)

    return act


def cut(path: Path) -> None:
    """Cut a database in its middle."""
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096 + 100)


def scribbled(path: Path) -> None:
    """Write over every page but the first."""
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\xaa" * (len(raw) - 4096))


def circular(path: Path) -> None:
    """Let the root of the table be its own child, so that its pages never end."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'observations'").fetchone()
    at = (root - 1) * 4096
    raw = bytearray(path.read_bytes())
    raw[at : at + 14] = bytes((5, 0, 0, 0, 1, 15, 0, 0)) + root.to_bytes(4, "big") + bytes((15, 200))
    raw[at + 0x0FC8 : at + 0x0FCD] = root.to_bytes(4, "big") + b"\x01"
    path.write_bytes(raw)


def giant(path: Path) -> None:
    """Make a file of a terabyte that begins like a database."""
    path.write_bytes(b"SQLite format 3\0")
    os.truncate(path, 1 << 40)


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a journal of a killed writer": (journalled, "busy"),
    "a view that never ends": (viewed, "no-observations"),
    "a virtual table": (virtual, "no-observations"),
    "a link": (replaced(lambda path: path.symlink_to("/etc/passwd")), "symlink"),
    "a pipe": (replaced(os.mkfifo), "not-regular"),
    "a log that is a pipe": (lambda path: os.mkfifo(f"{path}-wal"), "not-regular"),
    "a log that is a link": (lambda path: Path(f"{path}-wal").symlink_to("/dev/zero"), "symlink"),
    "a terabyte": (giant, "too-large"),
    "a log of a terabyte": (lambda path: giant(Path(f"{path}-wal")), "too-large"),
    "cut in the middle": (cut, "damaged"),
    "scribbled over": (scribbled, "damaged"),
    "pages that never end": (circular, "damaged"),
    "nothing but the magic": (lambda path: path.write_bytes(b"SQLite format 3\0"), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_database_costs_a_remark_and_its_neighbour_comes_in(
    name: str, tmp_path: Path, inside: Inside, shell: Shell
) -> None:
    """Nothing is followed, awaited, run or written; named alone it ends with status 10."""
    make, code = HOSTILE[name]
    folder = tmp_path / "given"
    folder.mkdir()
    path = made(folder / "bad.db", POOLER)
    make(path)
    (folder / "good.json").write_text(json.dumps([foreign.observation(9, "NEIGHBOUR")]))
    before = listing(folder)

    done = inside.document("import", str(folder))
    alone = inside("import", str(path))

    assert [one["code"] for one in done["diagnostics"]] == [code]
    assert done["recorded"] == 1
    assert alone.code == 10
    assert "Traceback" not in alone.err
    assert listing(folder) == before
    assert verified(str(shell.file)).ok


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("title", b"\xff\xfe no text"),
        ("narrative", "x" * (2 << 20)),
        ("narrative", "x" * (foreign_sqlite.ROW_BYTES + 1)),
        ("narrative", "half \0 nothing"),
        ("facts", "[" * 5_000 + "]" * 5_000),
    ],
)
def test_a_row_that_cannot_be_read_costs_only_itself(column: str, value: Any, tmp_path: Path) -> None:
    """A text of no encoding, a giant, U+0000 or endless levels: the next row is read, and nothing counts as gone."""
    path = tmp_path / "c.db"
    with closing(foreign.database(path, POOLER, foreign.observation(2, "NEXT"))) as connection:
        connection.execute(f"UPDATE observations SET {column} = CAST(? AS TEXT) WHERE id = 1", (value,))

    found = claude_mem.database(str(path))

    assert "NEXT" in [draft.title for draft in found.drafts]
    assert set(codes(found)) <= {"observation", "observation-field"}
    assert found.diagnostics
    assert found.is_complete == (column == "facts")


def test_a_value_that_is_computed_is_not_asked_for(tmp_path: Path) -> None:
    """A generated column runs what its maker wrote; it is not read."""
    path = tmp_path / "c.db"
    with closing(foreign.database(path, {**POOLER, "title": "kept"})) as connection:
        connection.execute("ALTER TABLE observations RENAME COLUMN narrative TO was")
        connection.execute("ALTER TABLE observations ADD COLUMN narrative TEXT AS (hex(zeroblob(9000000))) VIRTUAL")

    (draft,) = claude_mem.database(str(path)).drafts

    assert draft.solution == "- 5432 refuses\n- 6543 answers"


# -- answers of the server --------------------------------------------------------------------------------------------


def answer(*texts: str, **more: Any) -> bytes:
    """Return an answer of a server with text blocks."""
    return json.dumps({"content": [{"type": "text", "text": text} for text in texts], **more}).encode()


ROWS = json.dumps([POOLER])


@pytest.mark.parametrize(
    "raw",
    [
        ROWS.encode(),
        json.dumps(POOLER).encode(),
        ROWS.replace("}, {", "}\n, {").encode("utf-16"),
        b"\xef\xbb\xbf" + ROWS.encode(),
        json.dumps({"observations": [POOLER]}).encode(),
        json.dumps({"observations": [POOLER], "sessions": [], "prompts": [], "totalResults": 1}).encode(),
        answer(ROWS),
        answer(json.dumps({"observations": [POOLER]}, indent=2)),
        answer("Found 1 result(s)", ROWS),
        json.dumps([{"type": "text", "text": ROWS}]).encode(),
        json.dumps({"jsonrpc": "2.0", "id": 4, "result": json.loads(answer(ROWS))}).encode(),
        answer("see the structure", structuredContent={"observations": [POOLER]}),
        (json.dumps(POOLER) + "\n").encode(),
    ],
)
def test_rows_are_found_in_every_wrapping(raw: bytes) -> None:
    """A list, an object, an answer of the server, an answer in an answer: the same learning comes out."""
    assert [draft.title for draft in claude_mem.parse(raw, "/w/e.json").drafts] == ["Pool timed out"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (answer("Found 3 result(s)\n\n| #12 | 10:00 | x | a title | ~90 |"), "get_observations"),
        (b"Found 3 result(s)\n\n| #12 | 10:00 | x | a title | ~90 |", "get_observations"),
        (b"# timeline\n| #S12 | 10:00 | x | a title |", "get_observations"),
        (answer("no such tool", isError=True), "error"),
        (json.dumps({"error": "not found"}).encode(), "observations"),
        (json.dumps({"observations": {"1": POOLER}}).encode(), "list"),
        (json.dumps({"observations": 7}).encode(), "list"),
        (b"{}", "observations"),
        (b"[", "ends"),
        (b'{"observations": [{"title": "a', "ends"),
        (b"[1, 2]", "object"),
        (b'"text"', "object"),
        (b"[" * 100_000, "levels"),
        (answer(*(answer(ROWS).decode(),) * 1).replace(b'"type"', b'"kind"'), "observations"),
    ],
)
def test_what_holds_no_rows_is_refused_with_a_reason(raw: bytes, words: str) -> None:
    """An index of titles, an error, another shape: the refusal says which, and what to do."""
    with pytest.raises(Unread, match=words) as refused:
        claude_mem.parse(raw, "/w/e.json")

    assert refused.value.code == "no-observations"


def test_answers_within_answers_end_somewhere() -> None:
    """Each level is text in a text: four are opened."""
    raw = answer(ROWS)
    for _ in range(6):
        raw = answer(raw.decode())

    with pytest.raises(Unread):
        claude_mem.parse(raw, "/w/e.json")


# -- the size of things -----------------------------------------------------------------------------------------------

MANY = 20_000

CHILD = """
import resource, sys
from importers import claude_mem
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = claude_mem.read(sys.argv[1])
print(len(found.drafts), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="its peak is counted in bytes")
def test_memory_follows_what_is_taken_not_what_the_database_holds(tmp_path: Path) -> None:
    """A database of 90 MB of pending output costs no more than its few observations; 20,000 cost below 100 MB."""
    path = tmp_path / "c.db"
    rows = [foreign.observation(number, f"title {number}", narrative="n" * 400) for number in range(1, MANY + 1)]
    with closing(foreign.database(path, wal=False)) as connection:
        connection.execute("BEGIN")
        for row in rows:
            foreign.put(connection, row)
        for number in range(90):
            connection.execute(
                "INSERT INTO pending_messages (session_db_id, content_session_id, message_type, tool_response,"
                " created_at_epoch) VALUES (1, 's', 'observation', ?, ?)", ("t" * (1 << 20), number)
            )  # fmt: skip
        connection.execute("COMMIT")

    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)

    count, grown = map(int, done.stdout.split())
    assert count == MANY
    assert grown < 100 << 20


def test_a_copy_of_the_samples_by_hand_counts(tmp_path: Path) -> None:
    """A restored folder of claude-mem, with its backup and settings, gives its database's rows and no more."""
    home = tmp_path / ".claude-mem"
    home.mkdir()
    made(home / "claude-mem.db", POOLER, foreign.observation(2, "The queue is slow"))
    shutil.copyfile(home / "claude-mem.db", home / "claude-mem.db.bak")
    (home / "settings.json").write_text('{"CLAUDE_MEM_MODEL": "small"}')

    reading = next(one for one in registry.scan_paths([str(home)]) if one.importer == claude_mem.KIND)

    assert [draft.title for draft in reading.drafts] == ["Pool timed out", "The queue is slow"]
    assert [(os.path.basename(one.file), one.code) for one in reading.diagnostics] == [
        ("settings.json", "no-observations")
    ]
    assert reading.roots == (str(home / "claude-mem.db"),)


def test_an_import_that_is_interrupted_and_repeated_converges(tmp_path: Path) -> None:
    """Files in any order, again and again, in parts and whole: the same learnings, and nothing more."""
    rows = [foreign.observation(number, f"title {number}") for number in range(1, 30)]
    made(tmp_path / "c.db", *rows)
    (tmp_path / "a.json").write_text(json.dumps(foreign.export(*rows[:20])))
    (tmp_path / "b.json").write_text(json.dumps(rows[10:]))
    names = ["b.json", "c.db", "a.json"]

    with Ledger.init(str(tmp_path / "ledger.db")) as ledger:
        counts = []
        for given in ([names[0]], names, names[1:], names[::-1], [names[2]], names):
            readings = registry.scan_paths([str(tmp_path / name) for name in given])
            done = [ingest.run(ledger, one, plan.plan, plan.vanished) for one in readings]
            counts.append([(one.recorded, one.superseded, one.retracted, one.sources_removed) for one in done])

    assert counts == [[(19, 0, 0, 0)], [(10, 0, 0, 0)], *[[(0, 0, 0, 0)]] * 4]
    with opened(str(tmp_path / "ledger.db")) as connection:
        assert connection.execute("SELECT count(*) FROM learning").fetchone() == (29,)


def test_what_one_importer_does_not_see_another_has_not_lost(tmp_path: Path, inside: Inside, shell: Shell) -> None:
    """A folder read for its notes says nothing of a ledger's export in it, nor of a database that is damaged now."""
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "note.md").write_text("---\nname: ports\n---\nThe pooler listens on 6543.\n")
    made(folder / "c.db", POOLER)
    row = {
        "id": "lrn_00000001", "problem": "the queue", "solution": "batch it", "category": "env", "project": "shop",
        "state": "current",
    }  # fmt: skip
    header = {"format": "learning-ledger-export", "version": 1, "ledger_id": "0b9c"}
    (folder / "e.jsonl").write_text(json.dumps(header) + "\n" + json.dumps(row) + "\n")
    first = inside.document("import", str(folder), str(folder / "e.jsonl"))
    (folder / "c.db").write_bytes(b"SQLite format 3\0")

    again = inside.document("import", str(folder))

    assert first["recorded"] == 3
    assert (again["retracted"], again["sources_removed"], again["batch"]) == (0, 0, None)
