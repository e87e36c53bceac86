"""What a test compares of a ledger: every projection table, and the words of its index, in order."""

import sqlite3
from typing import Any

from ledger import tables

TABLES = tuple(tables.name_of(row) for row in tables.PROJECTION_ROWS)


def dump(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every projection table, and every place of every word in the index."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table in TABLES:
        columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall())
        found[table] = sorted(connection.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)
    words = "SELECT term, doc, col, offset FROM learning_places ORDER BY term, doc, col, offset"
    found["words"] = connection.execute(words).fetchall()
    found["aliases"] = connection.execute(words.replace("learning_places", "alias_places")).fetchall()
    return found


def now(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Return only what holds now: open periods, without the seqs at which they began."""
    statements = {
        "states": "SELECT learning_id, state, pinned, reviewed, agreed FROM learning_state WHERE to_seq IS NULL",
        "links": "SELECT old_id, new_id, event_seq FROM link WHERE to_seq IS NULL",
        "sources": "SELECT source_id, learning_id, locator FROM source WHERE to_seq IS NULL",
        "aliases": "SELECT learning_id, event_seq, words FROM alias WHERE to_seq IS NULL",
        "judgements": "SELECT exposure, learning_id, event_seq FROM judgement WHERE to_seq IS NULL",
        "summaries": "SELECT id, event_seq, project, text FROM session_summary WHERE to_seq IS NULL",
        "pairs": "SELECT one_id, other_id, event_seq FROM pair WHERE to_seq IS NULL",
        "settings": "SELECT name, scope, machine, value FROM setting WHERE to_seq IS NULL",
    }
    return {name: sorted(connection.execute(statement).fetchall()) for name, statement in statements.items()}
