"""Verify a ledger: chain, anchor, schema, and the projections against a refold of the log.

The log is projected a second time into temporary tables of the same names (an
unqualified name means the temporary one), so that the very code that projects
is what judges. The file is only read: a thousand events at a time, so that
writers wait for the last comparison alone.
"""

import sqlite3
from collections.abc import Iterator

from ledger import project, sql, sql_log, tables
from ledger.errors import LedgerError
from ledger.model import Event, Head
from ledger.results import Problem, Verdict
from ledger.store import CHUNK
from ledger.store_sqlite import SqliteStore, create_log

SHOWN = 20
"""Most rows named for one table; a damaged table names a seq once, not for every column."""


def audit(store: SqliteStore) -> Verdict:
    """Return what `verify` found; nothing is written."""
    events, erased, head, problems = store.find_problems()
    remarks = [*store.remarks]
    store.remarks.clear()
    connection, outdated = store.reading(), None
    try:
        outdated = _outdated(connection)
        problems += [*_schema(connection, log_only=outdated is not None), *_file(store.connection())]
        if outdated is not None:
            problems.append(outdated)
        elif not all(index_is_reached(connection, name) for name in sql_log.WORD_INDEXES):
            problems.append(Problem("index", None, DAMAGED_INDEX))
        if outdated is None and not any(problem.code in LOG_FAULTS for problem in problems):
            problems += _projections(connection, store.dedup_key)
    except (LedgerError, connection.Error, ValueError, KeyError, TypeError) as error:
        problems.append(Problem("unreadable", None, f"the projections cannot be compared ({type(error).__name__})"))
    finally:
        connection.close()
    if outdated is None and not any(problem.code == "index" for problem in problems):
        problems += _index(store)
    return Verdict(not problems, events, erased, _head(head), problems, remarks)


LOG_FAULTS = frozenset(("gap", "prev_hash", "commitment", "hash", "payload", "not_erased"))
"""Problems that make a refold meaningless: it would only repeat them for every table."""


def _head(head: Head) -> dict[str, object]:
    return {"seq": head.seq, "hash": head.hash.hex()}


# -- schema ----------


def _outdated(connection: sqlite3.Connection) -> Problem | None:
    """Return the one problem of projections that another version made: all others would follow from it."""
    if connection.execute(sql_log.HAS_PROJECTION).fetchone() is None:
        return None
    row = connection.execute(sql_log.PROJECTION).fetchone()
    if row is not None and row[0] == sql.PROJECTION_VERSION:
        return None
    version = "no version" if row is None else f"version {row[0]}"
    told = f"the projections are of {version}, this program makes {sql.PROJECTION_VERSION}; run `learnings rebuild`"
    return Problem("projection", None, told)


def _schema(connection: sqlite3.Connection, *, log_only: bool) -> Iterator[Problem]:
    """Compare the text of every table, index, trigger and view with what this program makes, or of the log alone."""
    found, known = _schema_of(connection), _expected_schema(log_only=False)
    expected = _expected_schema(log_only=True) if log_only else known
    for name in sorted(expected.keys() if log_only else expected.keys() | found.keys()):
        if name not in found:
            yield Problem("schema", None, f"{name} is missing from the file")
        elif name in expected and found[name] != expected[name]:
            yield Problem("schema", None, f"{name} is not as this program made it")
        elif name.endswith("_refused") and name not in expected:
            yield Problem("schema", None, f"{name} is a trigger that this program does not know")
    if "alembic_version" in found and connection.execute(sql_log.REVISIONS).fetchall() != [(tables.SCHEMA_REVISION,)]:
        yield Problem("schema", None, f"alembic_version does not say {tables.SCHEMA_REVISION}")
    for name, owner in connection.execute(sql_log.FOREIGN_TRIGGERS).fetchall():
        if name not in known:
            yield Problem("schema", None, f"{name} is a foreign trigger on {owner}")


def _schema_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the text of every part, white space runs counting as one: another SQLAlchemy may lay it out otherwise."""
    return {name: " ".join(text.split()) for name, text in connection.execute(sql_log.SCHEMA_TEXT).fetchall()}


def _expected_schema(*, log_only: bool) -> dict[str, str]:
    """Return the schema of a fresh ledger, or of its log alone, made in memory."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    try:
        create_log(fresh)
        if not log_only:
            project.create(fresh)
        return _schema_of(fresh)
    finally:
        fresh.close()


def _file(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Let SQLite check pages, indexes, types and CHECKs, a table at a time, so that writers wait for one table alone.

    The connection must be able to write: a read-only one is told of no CHECKs.
    """
    for (name,) in connection.execute(sql_log.STORED_TABLES).fetchall():
        quoted = name.replace('"', '""')
        for (words,) in connection.execute(f'PRAGMA main.integrity_check("{quoted}")').fetchall()[:SHOWN]:
            if words != "ok":
                yield Problem("file", None, f"{name}: {words}")


# -- projections ----------


def _projections(connection: sqlite3.Connection, dedup_key: bytes) -> list[Problem]:
    """Project the log into temporary tables and compare; the last events and the comparison share one snapshot."""
    project.create_temporary(connection)
    projector = project.Projector(connection, dedup_key, vectors=False)
    after = 0
    while True:
        connection.execute("BEGIN")
        events = _events(connection, after)
        projector.apply(events)
        if len(events) < CHUNK:
            problems = list(_differences(connection))
            connection.execute("ROLLBACK")
            return problems
        connection.execute("COMMIT")
        after = events[-1].seq


def _events(connection: sqlite3.Connection, after: int) -> list[Event]:
    rows = connection.execute(sql_log.EVENTS_LEFT, {"after": after, "limit": CHUNK}).fetchall()
    return [Event._make(row) for row in rows]


def _differences(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Name every row that the file has and the log does not give, or the other way."""
    for table, (columns, seq) in COMPARED.items():
        for one, other, word in (
            ("main", "temp", "has a row that the log does not give"),
            ("temp", "main", "lacks a row"),
        ):
            rows = connection.execute(
                f"SELECT {seq} FROM (SELECT {columns} FROM {one}.{table} EXCEPT SELECT {columns} FROM {other}.{table})"
                f" ORDER BY 1 LIMIT {SHOWN}"
            ).fetchall()
            for (at,) in rows:
                yield Problem("projection", at, f"{table} {word} of event {at}")


COMPARED = {
    **{
        tables.name_of(row): (", ".join(column.name for column in tables.table_of(row).columns), seq)
        for row, seq in (
            (tables.LearningRow, "seq"),
            (tables.LearningStateRow, "from_seq"),
            (tables.LinkRow, "from_seq"),
            (tables.TouchRow, "seq"),
            (tables.SourceRow, "from_seq"),
            (tables.SettingRow, "from_seq"),
            (tables.AliasRow, "from_seq"),
            (tables.JudgementRow, "from_seq"),
            (tables.SummaryRow, "from_seq"),
            (tables.PairRow, "from_seq"),
            (tables.UndoRow, "from_seq"),
            (tables.ProjectionRow, "seq"),
        )
    },
    "learning_fts_content": ("id, c0, c1, c2, c3", "id"),
    "alias_fts_content": ("id, c0", "id"),
}
"""Projection tables, with the columns to compare and the one that names an event."""


DAMAGED_INDEX = "the words index is damaged; run `learnings rebuild`"


def index_is_reached(connection: sqlite3.Connection, index: str) -> bool:
    """Tell whether every page of a words index that begins a word can be looked up.

    FTS5's own check walks the pages one after the other and never misses the
    table that leads to them; without it every query answers nothing. The first
    page of a segment is reached from any row before it (merges cut pages off).
    """
    if connection.execute(sql_log.INDEX_CONFIG.format(index)).fetchall() != [("version", 4)]:
        return False
    connection.execute("BEGIN")
    try:
        leaves = connection.execute(sql_log.INDEX_LEAVES.format(index)).fetchall()
        reached = set(connection.execute(sql_log.INDEX_PAGES.format(index)).fetchall())
    finally:
        connection.execute("ROLLBACK")
    seen: set[int] = set()
    for segment, page, words_end, length in leaves:
        if segment not in seen:
            seen.add(segment)
            if not any((segment, before) in reached for before in range(1, page + 1)):
                return False
        elif length > int(words_end, 16) and (segment, page) not in reached:
            return False
    return True


def _index(store: SqliteStore) -> list[Problem]:
    """Let FTS5 compare its index with its content; it wants a write transaction, which is rolled back."""
    try:
        return [] if store.index_is_whole() else [Problem("index", None, DAMAGED_INDEX)]
    except LedgerError as error:
        store.remarks.append(f"the words index was not checked: {error.message}")
        return []
