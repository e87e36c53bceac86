"""Whatever is changed behind the product's back is named by `verify`, or refused by the database.

Longer than most: every test lays hands on copies of one ledger that holds something of everything.
"""

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dump import dump
from rows import append, copied, opened, recorded, tampering, verified

from importers.plan import plan, vanished
from ledger import chain, ingest
from ledger.audit import index_is_reached
from ledger.errors import Damaged, LedgerError, Refused
from ledger.ledger import Ledger
from ledger.model import TRUST_NOTES, Draft, Event, NewEvent, Reading, Source, new_event_id
from ledger.sql_log import EVENTS_LEFT
from ledger.store import Moment
from ledger.store_sqlite import SqliteStore
from ledger.tables import (
    FTS,
    LOG_ROWS,
    LOG_TRIGGERS,
    PROJECTION_ROWS,
    PROJECTION_TRIGGERS,
    VIEW_NAMES,
    name_of,
    table_of,
)

TRIGGERS = tuple(statement.split()[2] for statement in (*LOG_TRIGGERS, *PROJECTION_TRIGGERS))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a ledger in which every table has rows: an import, a chain, undos, a verdict, an erasure, a summary."""
    path = str(tmp_path_factory.mktemp("whole") / "ledger.db")
    with Ledger.init(path) as ledger:
        sources = [Source("memory-note", f"/notes/{name}.md", f"/notes/{name}.md", 1) for name in "ab"]
        drafts = [Draft(f"note {one.path}", "use it", "env", "demo", source=one) for one in sources]
        ingest.run(
            ledger, Reading("memory-notes", TRUST_NOTES, ("/notes",), drafts, frozenset(), (), (), []), plan, vanished
        )
        old = ledger.record(Draft("Wie heißt der Hafen? 港口", "use port 5432", "env", "demo", tags=("pooler",)))
        new = ledger.supersede(old.id, "the pooler's port", "use port 6543", "it moved")
        ledger.pin(new.id)
        gone = ledger.record(Draft("what is taken back", "and comes again", "practice"))
        ledger.undo(ledger.retract(gone.id, "by mistake").seq)
        ledger.set("scan_paths", '["/notes"]')
        ledger.alias(new.id, ["pgbouncer"])
        ledger.judge("exp_a", "wrong", learning=new.id, keywords=["port"], project="demo")
        secret = ledger.record(Draft("what has to go", "goes", "practice"))
        data = {"targets": [secret.seq], "blocked": ["ab" * 32], "reason": "secret"}
        ledger.store.append(lambda _: [NewEvent("payload.erased", "ledger", data, {}, new_event_id())])
        ledger.summarise("s-1", "demo", "We moved the pooler and ran the migrations.")
        settled = NewEvent("pair.settled", new.id, {"other": gone.id}, {}, new_event_id())
        ledger.store.append(lambda _: [settled])
        assert ledger.verify().ok
    return path


@pytest.fixture
def copy(whole: str, path: str) -> str:
    """Return a copy of that ledger to lay hands on."""
    return copied(whole, path)


def named(path: str) -> list[tuple[str, int | None, str]]:
    """Return what `verify` finds, or what opening refuses, as (code, seq, message)."""
    try:
        return [tuple(problem) for problem in verified(path).problems]  # type: ignore[misc]
    except LedgerError as error:
        return [(error.code, None, error.message)]


# -- a flipped bit ----------

COLUMNS = [(name_of(row), column.name) for row in LOG_ROWS for column in table_of(row).columns]


def flips(value: Any, draw: random.Random) -> list[Any]:
    """Return a stored value with each of the bits of one of its bytes flipped; for NULL, something else."""
    if value is None:
        return [1, b"x" * 32]
    if isinstance(value, int):
        return [value ^ (1 << bit) for bit in range(8)]
    stored = value.encode() if isinstance(value, str) else value
    if not stored:
        return [b"x"]
    at = draw.randrange(len(stored))
    return [stored[:at] + bytes([stored[at] ^ (1 << bit)]) + stored[at + 1 :] for bit in range(8)]


def keys_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table's primary key."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall() if row[5]]


def put(path: str, table: str, column: str, key: tuple[Any, ...], value: Any) -> bool:
    """Overwrite one stored value; False when the table cannot hold the new one."""
    try:
        with tampering(path) as connection:
            declared = {row[1]: row[2] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()}
            mark = "CAST(? AS TEXT)" if declared[column] == "TEXT" else "?"
            where = " AND ".join(f"{name} = ?" for name in keys_of(connection, table))
            connection.execute(f"UPDATE {table} SET {column} = {mark} WHERE {where}", (value, *key))
    except sqlite3.IntegrityError:
        return False
    return True


def rows_of(path: str, table: str, column: str) -> list[tuple[Any, ...]]:
    """Return the key of every row, and last its value in a column."""
    with opened(path) as connection:
        keys = ", ".join(keys_of(connection, table))
        return connection.execute(f"SELECT {keys}, {column} FROM {table} ORDER BY {keys}").fetchall()


@pytest.mark.parametrize("every_bit", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_flipped_bit_in_any_stored_column_is_named(
    whole: str, path: str, table: str, column: str, every_bit: bool
) -> None:
    """One bit of each row of the log, and all eight of one; the seq is named, even where text is no text any more."""
    draw = random.Random(f"{table}.{column}")
    rows = rows_of(whole, table, column)
    thorough = draw.choice(rows)
    tried = 0
    for *key, value in rows:
        changes = flips(value, draw)
        if not every_bit and (*key, value) != thorough:
            draw.shuffle(changes)
        held = 0
        for changed in changes:
            copied(whole, path)
            if not put(path, table, column, tuple(key), changed):
                continue
            found = named(path)
            assert found, (key, value, changed)
            seqs = {seq for _, seq, _ in found}
            assert table == "meta" or seqs & {key[0], key[0] + 1, changed}, (key, value, changed, found)
            held += 1
            if not every_bit and (*key, value) != thorough:
                break
        assert held, (key, value)
        tried += held

    assert tried >= len(rows)


# -- projections ----------


def projected() -> list[tuple[str, str]]:
    """Return every column of every projection table."""
    return [(name_of(row), column.name) for row in PROJECTION_ROWS for column in table_of(row).columns]


@pytest.mark.parametrize(("table", "column"), projected())
def test_an_edited_row_of_any_projection_is_named(whole: str, path: str, table: str, column: str) -> None:
    """What is read is compared with what the log gives, column by column."""
    draw = random.Random(f"{table}.{column}")
    rows = rows_of(whole, table, column)
    *key, value = draw.choice(rows)
    copied(whole, path)

    held = next(changed for changed in flips(value, draw) if put(path, table, column, tuple(key), changed))

    assert any(table in message or code in ("projection", "unreadable") for code, _, message in named(path)), held


@pytest.mark.parametrize("table", [name_of(row) for row in PROJECTION_ROWS])
def test_a_deleted_row_of_any_projection_is_named(copy: str, table: str) -> None:
    """A row that the log gives and the file has not is missed."""
    with tampering(copy) as connection:
        keys = keys_of(connection, table)
        row = connection.execute(f"SELECT {', '.join(keys)} FROM {table} ORDER BY 1 DESC LIMIT 1").fetchone()
        connection.execute(f"DELETE FROM {table} WHERE {' AND '.join(f'{key} = ?' for key in keys)}", row)

    assert {code for code, _, _ in named(copy)} == {"projection"}


def test_a_learning_that_no_event_made_is_named(copy: str) -> None:
    """A row slipped into what is served shows, although nothing of the log was touched."""
    with tampering(copy) as connection:
        connection.execute(
            "INSERT INTO learning_state SELECT learning_id, 1, 2, 'current', 1, 1, 0 FROM learning_state LIMIT 1"
        )

    assert named(copy) == [("projection", 1, "learning_state has a row that the log does not give of event 1")]


FTS_TRICKS = {
    "a deleted row": ("DELETE FROM learning_fts WHERE rowid = 4", "projection"),
    "an edited row": ("UPDATE learning_fts SET solution = 'use telnet' WHERE rowid = 4", "projection"),
    "an added row": ("INSERT INTO learning_fts (rowid, title) VALUES (1, 'forged')", "projection"),
    "content without its index": ("UPDATE learning_fts_content SET c2 = 'use telnet' WHERE id = 4", "index"),
    "an index without its content": ("DELETE FROM learning_fts_content WHERE id = 4", "index"),
    "a length": ("UPDATE learning_fts_docsize SET sz = x'00000000' WHERE id = 4", "index"),
    "the way to a segment": ("DELETE FROM learning_fts_idx", "index"),
    "the form of the index": ("UPDATE learning_fts_config SET v = 5", "index"),
    "a rank of its own": ("INSERT INTO learning_fts_config (k, v) VALUES ('rank', 'bm25(0, 0, 0, 0)')", "index"),
    "a segment": ("DELETE FROM learning_fts_data WHERE id > 10", "index"),
}


@pytest.mark.parametrize("trick", FTS_TRICKS)
def test_a_changed_words_index_is_named(copy: str, trick: str) -> None:
    """A learning that its words no longer find is as good as deleted."""
    statement, code = FTS_TRICKS[trick]
    with opened(copy) as connection:
        connection.execute(statement)

    assert code in {found for found, _, _ in named(copy)}


# -- schema ----------


def test_every_lost_way_into_a_large_words_index_is_named_and_none_in_a_merged_one() -> None:
    """The check knows pages that begin no word, and the cut ones that merges leave; it misses no row."""
    draw = random.Random(7)
    words = [f"w{number}" for number in range(2_000)]
    index = sqlite3.connect(":memory:", isolation_level=None)
    index.execute(FTS)
    for number in range(400):
        text = " ".join(draw.choices(words, k=60)) + " common" * draw.choice([1, 400])
        index.execute("INSERT INTO learning_fts (rowid, problem) VALUES (?, ?)", (number, text))
        if number % 50 == 0:
            index.execute("INSERT INTO learning_fts (learning_fts, rank) VALUES ('merge', 5)")
            assert index_is_reached(index, "learning_fts")

    rows = index.execute("SELECT segid, term, pgno FROM learning_fts_idx").fetchall()
    for row in draw.sample(rows, 40):
        index.execute("DELETE FROM learning_fts_idx WHERE segid = ? AND term = ?", row[:2])
        assert not index_is_reached(index, "learning_fts")
        index.execute("INSERT INTO learning_fts_idx VALUES (?, ?, ?)", row)

    assert index_is_reached(index, "learning_fts")
    index.close()


@pytest.mark.parametrize("change", ["UPDATE alembic_version SET version_num = '0000'", "DELETE FROM alembic_version"])
def test_another_mark_of_the_migration_is_named(copy: str, change: str) -> None:
    """`upgrade` goes by it."""
    with tampering(copy) as connection:
        connection.execute(change)

    assert ("schema", None, "alembic_version does not say 0001_log") in named(copy)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_dropped_trigger_is_named(copy: str, trigger: str) -> None:
    """Without it the log could be changed unseen until the next verify."""
    with opened(copy) as connection:
        connection.execute(f"DROP TRIGGER {trigger}")

    assert named(copy) == [("schema", None, f"{trigger} is missing from the file")]


@pytest.mark.parametrize("view", VIEW_NAMES)
def test_a_dropped_or_changed_view_is_named(whole: str, path: str, view: str) -> None:
    """People look at views, so a view that lies is a lie."""
    copied(whole, path)
    with opened(path) as connection:
        connection.execute(f"DROP VIEW {view}")
    missing = named(path)

    with opened(path) as connection:
        connection.execute(f"CREATE VIEW {view} AS SELECT 1 AS one")

    assert missing == [("schema", None, f"{view} is missing from the file")]
    assert named(path) == [("schema", None, f"{view} is not as this program made it")]


def test_a_foreign_trigger_is_named(copy: str) -> None:
    """A trigger that nobody here made could change what is written after us."""
    with opened(copy) as connection:
        connection.execute(
            "CREATE TRIGGER helpful AFTER INSERT ON learning_state BEGIN DELETE FROM learning_fts WHERE rowid = 4; END"
        )

    assert named(copy) == [("schema", None, "helpful is a foreign trigger on learning_state")]


def test_a_trigger_that_does_nothing_under_the_right_name_is_named(copy: str) -> None:
    """The text of a trigger is compared, not its name."""
    with opened(copy) as connection:
        connection.execute("DROP TRIGGER event_update_refused")
        connection.execute("CREATE TRIGGER event_update_refused BEFORE UPDATE ON event BEGIN SELECT 1; END")

    assert named(copy) == [("schema", None, "event_update_refused is not as this program made it")]


def test_what_a_person_added_to_the_file_is_left_alone(copy: str) -> None:
    """A table or a view of one's own is no damage."""
    with opened(copy) as connection:
        connection.execute("CREATE TABLE my_remarks (id TEXT, remark TEXT)")
        connection.execute("CREATE VIEW my_view AS SELECT id FROM current_learnings")

    assert named(copy) == []


# -- surgery on the log ----------


def shifted(connection: sqlite3.Connection, above: int, by: int) -> None:
    """Move every event and payload above a seq; descending or ascending, so that no two meet."""
    order = "DESC" if by > 0 else "ASC"
    seqs = [row[0] for row in connection.execute(f"SELECT seq FROM event WHERE seq > ? ORDER BY seq {order}", (above,))]
    for table in ("event", "payload"):
        connection.executemany(f"UPDATE {table} SET seq = ? WHERE seq = ?", [(seq + by, seq) for seq in seqs])


def delete_one(connection: sqlite3.Connection) -> None:
    """Take one event out."""
    for table in ("event", "payload"):
        connection.execute(f"DELETE FROM {table} WHERE seq = 5")


def delete_and_close_up(connection: sqlite3.Connection) -> None:
    """Take one event out and move the rest up."""
    delete_one(connection)
    shifted(connection, 5, -1)


def swap_payloads(connection: sqlite3.Connection) -> None:
    """Let two events say what the other one said."""
    for old, new in ((4, -1), (5, 4), (-1, 5)):
        connection.execute("UPDATE payload SET seq = ? WHERE seq = ?", (new, old))


def swap_events(connection: sqlite3.Connection) -> None:
    """Exchange two events whole."""
    for table in ("event", "payload"):
        for old, new in ((4, -1), (5, 4), (-1, 5)):
            connection.execute(f"UPDATE {table} SET seq = ? WHERE seq = ?", (new, old))


def duplicate(connection: sqlite3.Connection) -> None:
    """Say the last event once more, under another id, with the hash it would follow."""
    connection.execute(
        "INSERT INTO event SELECT seq + 1, substr(event_id, 1, 35) || 'x', stream, version + 1, kind, schema_version,"
        " recorded_at, actor_kind, actor_id, channel, trust, batch, data, commitment, hash, zeroblob(32)"
        " FROM event ORDER BY seq DESC LIMIT 1"
    )
    connection.execute(
        "INSERT INTO payload SELECT seq + 1, body, salt, erased_by FROM payload ORDER BY seq DESC LIMIT 1"
    )


def move_in(connection: sqlite3.Connection) -> None:
    """Make room in the middle and put a copy of an event there."""
    shifted(connection, 4, 1)
    connection.execute(
        "INSERT INTO event SELECT 5, substr(event_id, 1, 35) || 'x', stream, version + 100, kind, schema_version,"
        " recorded_at, actor_kind, actor_id, channel, trust, NULL, data, commitment, randomblob(32), hash"
        " FROM event WHERE seq = 4"
    )
    connection.execute("INSERT INTO payload SELECT 5, body, salt, erased_by FROM payload WHERE seq = 4")


def forget_a_payload(connection: sqlite3.Connection) -> None:
    """Take a text away without an erasure."""
    connection.execute("UPDATE payload SET body = NULL, salt = NULL, erased_by = 14 WHERE seq = 4")


def restore_an_erased_payload(connection: sqlite3.Connection) -> None:
    """Put a text back in the place of an erased one."""
    connection.execute("UPDATE payload SET body = x'7b7d', salt = zeroblob(32) WHERE seq = 13")


@pytest.mark.parametrize(
    ("operate", "seq"),
    [
        (delete_one, 6),
        (delete_and_close_up, 5),
        (swap_payloads, 4),
        (swap_events, 4),
        (duplicate, 17),
        (move_in, 5),
        (forget_a_payload, 4),
        (restore_an_erased_payload, 13),
    ],
)
def test_surgery_on_the_log_is_named(copy: str, operate: Callable[[sqlite3.Connection], None], seq: int) -> None:
    """The seq at which the log stops being what was written is named."""
    with tampering(copy) as connection:
        operate(connection)

    assert seq in {found for _, found, _ in named(copy)}


def test_a_tail_that_was_cut_off_is_named_by_the_anchor(copy: str) -> None:
    """What is left is whole in itself, projections included; only the anchor knows better."""
    with tampering(copy) as connection:
        for table in ("payload", "event"):
            connection.execute(f"DELETE FROM {table} WHERE seq > 8")
    os.rename(copy + ".anchor", copy + ".kept")
    store = SqliteStore(copy)
    store.rebuild()
    store.close()
    os.rename(copy + ".kept", copy + ".anchor")

    assert named(copy) == [
        ("rolled_back", 16, "the log was rolled back: it ends at event 8 and its anchor saw event 16")
    ]


def test_events_of_another_ledger_are_named(copy: str, tmp_path: Path) -> None:
    """Two ledgers cannot be spliced: the chain begins with the ledger's own id."""
    other = SqliteStore(str(tmp_path / "other" / "ledger.db"), create=True)
    for number in range(17):
        append(other, number)
    other.close()
    with tampering(copy) as connection:
        connection.execute("COMMIT")
        connection.execute("ATTACH ? AS other", (other.path,))
        connection.execute("BEGIN")
        for table in ("event", "payload"):
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM other.{table} WHERE seq > 16")

    found = named(copy)

    assert ("prev_hash", 17, "event 17: its prev_hash does not fit its content") in found


def forge(connection: sqlite3.Connection, ledger_id: str, seq: int, old: bytes, new: bytes) -> None:
    """Change what an event says and compute every hash after it anew, as the file's owner could."""
    previous = chain.genesis(ledger_id)
    for row in connection.execute(EVENTS_LEFT, {"after": 0, "limit": 1_000}).fetchall():
        event = Event._make(row)
        if event.seq == seq and event.body is not None and event.salt is not None:
            body = event.body.replace(old, new)
            event = event._replace(body=body, commitment=chain.commitment(event.salt, body))
        hashed = chain.link(previous, chain.envelope(*event[:13]), event.commitment)
        connection.execute(
            "UPDATE event SET commitment = ?, prev_hash = ?, hash = ? WHERE seq = ?",
            (event.commitment, previous, hashed, event.seq),
        )
        connection.execute("UPDATE payload SET body = ? WHERE seq = ?", (event.body, event.seq))
        previous = hashed


def test_a_chain_that_was_computed_anew_is_named_by_the_anchor(copy: str) -> None:
    """A file rewritten as a whole verifies in itself; its anchor saw another past.

    Whoever rewrites the anchor too is not found: that is the limit of a chain without a witness.
    """
    store = SqliteStore(copy)
    store.close()
    with tampering(copy) as connection:
        forge(connection, store.ledger_id, 4, b"5432", b"9999")
    os.rename(copy + ".anchor", copy + ".kept")
    store = SqliteStore(copy)
    store.rebuild()
    store.close()
    unwitnessed = named(copy)
    os.rename(copy + ".kept", copy + ".anchor")

    assert named(copy) == [("rolled_back", 16, "the log has another past: event 16 is not the one its anchor saw")]
    assert unwitnessed == []


def test_a_torn_page_is_never_taken_for_a_whole_ledger(whole: str, path: str) -> None:
    """Bytes lost from the file itself are damage, whatever table or index they belonged to."""
    with opened(whole) as connection:
        pages, free = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    unseen = []
    for page in range(pages):
        copied(whole, path)
        with open(path, "r+b") as file:
            file.seek(page * 4_096)
            file.write(b"\xa5" * 4_096)
        if not named(path):
            unseen.append(page)

    assert (unseen, free) == ([], 0)


# -- rebuilding ----------


def test_a_command_over_damaged_data_is_an_error_of_ours(copy: str) -> None:
    """What cannot be read any more is named as damage; nothing is written on top of it."""
    with tampering(copy) as connection:
        name, seq = connection.execute("SELECT id, seq FROM learning WHERE erased_by IS NULL").fetchone()
        connection.execute("UPDATE event SET data = '{x' WHERE seq = ?", (seq,))

    with Ledger.open(copy) as ledger:
        head = ledger.store.head()
        with pytest.raises(Damaged):
            ledger.retract(name, "wrong")
        assert ledger.store.head() == head


def test_a_rebuild_refuses_a_damaged_log_and_leaves_the_projections(copy: str) -> None:
    """What is read stays as it was; a forged text never reaches it through a rebuild."""
    with tampering(copy) as connection:
        connection.execute(
            "UPDATE payload SET body = CAST(replace(CAST(body AS TEXT), '5432', '9999') AS BLOB) WHERE seq = 4"
        )
    with opened(copy) as connection:
        before = dump(connection)
    store = SqliteStore(copy)

    with pytest.raises(
        Damaged, match=r"the log has 1 problems, the first: event 4: its commitment .*nothing was rebuilt"
    ):
        store.rebuild()

    assert dump(store.connection()) == before
    store.close()


# -- attacks ----------


def by_module(path: str, statement: str) -> str:
    """Run a statement through the standard driver; return the refusal, '' when there was none."""
    try:
        with opened(path) as connection:
            connection.executescript(statement)
    except sqlite3.Error as error:
        return str(error)
    return ""


def by_shell(path: str, statement: str) -> str:
    """Run a statement through the system's SQL shell; return the refusal, '' when there was none."""
    ended = subprocess.run(["sqlite3", path, statement], capture_output=True, text=True, check=False)
    assert ended.returncode == 0 or ended.stderr
    return ended.stderr


DOORS = [by_module, *([by_shell] if shutil.which("sqlite3") else [])]
"""Ways that lead past this program: the driver, and the shell where there is one."""

OTHER_ID = "substr(event_id, 1, 35) || 'x'"
REST = ("kind", "schema_version", "recorded_at", "actor_kind", "actor_id", "channel", "trust", "batch", "data")

ATTACKS = [
    *(
        statement
        for table, column, value in (
            ("event", "kind", "'x'"),
            ("payload", "body", "x'78'"),
            ("meta", "ledger_id", "'x'"),
            ("learning", "solution", "'x'"),
        )
        for statement in (
            f"UPDATE {table} SET {column} = {value}",
            f"UPDATE OR IGNORE {table} SET {column} = {column}",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
            f"REPLACE INTO {table} SELECT * FROM {table} LIMIT 1",
            f"INSERT OR IGNORE INTO {table} SELECT * FROM {table}",
            f"PRAGMA recursive_triggers = OFF; INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
        )
    ),
    *(
        f"UPDATE OR REPLACE {table} SET seq = 2 WHERE seq = {seq}"
        for table, seq in (("event", 3), ("payload", 3), ("learning", 3))
    ),
    *(
        f"INSERT INTO {table} SELECT * FROM {table} WHERE true ON CONFLICT (seq) DO UPDATE SET {column} = 'x'"
        for table, column in (("event", "kind"), ("payload", "body"), ("learning", "solution"))
    ),
    # each of the other unique keys of an event, and a seq beyond the next
    *(
        f"REPLACE INTO event SELECT {', '.join(parts)} FROM event WHERE seq = 4"
        for parts in (
            ["17", "event_id", "'s'", "1", *REST, "commitment", "randomblob(32)", "hash"],
            ["17", OTHER_ID, "stream", "version", *REST, "commitment", "randomblob(32)", "hash"],
            ["17", OTHER_ID, "'s'", "1", *REST, "commitment", "prev_hash", "hash"],
            ["99", OTHER_ID, "'s'", "1", *REST, "commitment", "randomblob(32)", "hash"],
        )
    ),
    (
        "REPLACE INTO learning SELECT 99, id, title, problem, 'forged', category, confidence, project,"
        " tags, observed_at, recorded_at, trust, actor_kind, channel, batch, content_key, erased_by"
        " FROM learning WHERE seq = 4"
    ),
    "INSERT INTO payload VALUES (17, x'7b7d', zeroblob(32), NULL)",
    "UPDATE payload SET body = NULL, salt = NULL, erased_by = 14 WHERE seq = 4",
    "UPDATE payload SET body = NULL, salt = NULL, erased_by = 4 WHERE seq = 4",
    "UPDATE payload SET body = x'7b7d', salt = zeroblob(32), erased_by = NULL WHERE seq = 13",
    (
        "UPDATE learning SET title = NULL, problem = NULL, solution = NULL, project = NULL, tags = NULL,"
        " content_key = NULL, erased_by = 14 WHERE seq = 4"
    ),
]


@pytest.mark.parametrize("door", DOORS)
def test_the_database_itself_refuses_to_change_the_log(copy: str, door: Callable[[str, str], str]) -> None:
    """UPDATE, DELETE, REPLACE, IGNORE and upsert, by every unique key, from any program; not a byte changes."""
    with opened(copy) as connection:
        before = list(connection.iterdump())

    answers = {statement: door(copy, statement) for statement in ATTACKS}

    with opened(copy) as connection:
        assert list(connection.iterdump()) == before
    assert {statement: said for statement, said in answers.items() if "learnings are append-only" not in said} == {}


@pytest.mark.parametrize(
    "statement",
    [
        *(f"DROP TRIGGER {trigger}" for trigger in TRIGGERS),
        "DROP TABLE payload",
        "DROP TABLE learning",
        "DROP VIEW current_learnings",
        "DROP INDEX learning_content",
        "DROP TABLE learning_fts",
        "ALTER TABLE event RENAME TO old_event",
        "ALTER TABLE event ADD COLUMN remark TEXT",
        "PRAGMA writable_schema = ON",
        "PRAGMA main.Writable_Schema = 1",
        "PRAGMA recursive_triggers = OFF",
        "PRAGMA synchronous = OFF",
        "PRAGMA journal_mode = OFF",
        "PRAGMA ignore_check_constraints = ON",
    ],
)
def test_the_product_s_own_connection_refuses_to_undo_its_guards(store: SqliteStore, statement: str) -> None:
    """Were a statement of somebody else's ever to reach it, the guards would still stand."""
    append(store)
    before = list(store.connection().iterdump())

    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        store.connection().execute(statement)

    assert list(store.connection().iterdump()) == before


def test_an_attack_through_an_append_is_an_error_of_ours(store: SqliteStore) -> None:
    """What the database refuses inside an append comes out as a refusal, and takes the append with it."""
    append(store, 1)

    def act(moment: Moment) -> list[NewEvent]:
        assert moment.raw is not None
        moment.raw.execute("UPDATE event SET kind = 'x'")
        return [recorded(2)]

    with pytest.raises(Refused, match="the database refused to change the log; nothing was written"):
        store.append(act)

    assert store.head().seq == 1
