"""Databases of claude-mem as its released versions made them, and rows of it.

The column lists are facts of its published schema: 4.2 (schema version 4), 6.5 (11), 12.4 (35), 13.25.3 (52).
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

SESSIONS = """CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, {content} TEXT UNIQUE NOT NULL,
{memory} TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT, started_at TEXT NOT NULL,
started_at_epoch INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'active')"""

SUMMARIES = """CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, {memory} TEXT NOT NULL,
project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL)"""

PENDING = """CREATE TABLE pending_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_db_id INTEGER NOT NULL,
content_session_id TEXT NOT NULL, message_type TEXT NOT NULL, tool_name TEXT, tool_input TEXT, tool_response TEXT,
status TEXT NOT NULL DEFAULT 'pending', created_at_epoch INTEGER NOT NULL)"""

TEXT_ONLY = """CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL,
project TEXT NOT NULL, text TEXT NOT NULL,
type TEXT NOT NULL CHECK(type IN ('decision', 'bugfix', 'feature', 'refactor', 'discovery')),
created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL)"""

TITLED = """CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL,
project TEXT NOT NULL, text TEXT,
type TEXT NOT NULL CHECK(type IN ('decision', 'bugfix', 'feature', 'refactor', 'discovery', 'change')),
title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,
discovery_tokens INTEGER DEFAULT 0)"""

RENAMED = """CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0,
content_hash TEXT, agent_type TEXT, agent_id TEXT, merged_into_project TEXT, generated_by_model TEXT, metadata TEXT,
created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL, UNIQUE(memory_session_id, content_hash))"""

SYNCED = RENAMED.replace(
    "metadata TEXT,",
    "metadata TEXT, relevance_count INTEGER DEFAULT 0, synced_at INTEGER, origin_device_id TEXT,"
    " origin_local_id INTEGER, sync_rev TEXT,",
)

GENERATIONS = {4: TEXT_ONLY, 11: TITLED, 35: RENAMED, 52: SYNCED}
"""What `observations` was made by, by schema version."""


def observation(number: int, title: str | None, **more: Any) -> dict[str, Any]:
    """Return an observation as an answer of the server or an export has it."""
    told = {
        "id": number, "memory_session_id": "5f0c2a9e-1111-4000-8000-000000000001", "project": "shop", "type": "bugfix",
        "title": title, "narrative": f"{title} in full", "created_at": "2026-11-03T08:00:00.000Z",
        "created_at_epoch": 1_793_692_800_000,
    }  # fmt: skip
    return {**told, **more}


def export(*rows: Any, **more: Any) -> dict[str, Any]:
    """Return an export of these observations."""
    told = {
        "exportedAt": "2026-11-04T08:00:00.000Z", "exportedAtEpoch": 1_793_779_200_000, "query": "",
        "totalObservations": len(rows), "observations": list(rows), "sessions": [], "summaries": [], "prompts": [],
    }  # fmt: skip
    return {**told, **more}


def database(path: Path, *rows: dict[str, Any], version: int = 52, wal: bool = True) -> sqlite3.Connection:
    """Make a database of one generation and lay rows in it; return it open."""
    old = version < 20
    names = {"content": "claude_session_id", "memory": "sdk_session_id"} if old else {
        "content": "content_session_id", "memory": "memory_session_id",
    }  # fmt: skip
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
    connection.execute(
        "CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL,"
        " applied_at TEXT NOT NULL)"
    )
    connection.execute("INSERT INTO schema_versions (version, applied_at) VALUES (?, '2026-11-01')", (version,))
    connection.execute(SESSIONS.format(**names))
    connection.execute(SUMMARIES.format(**names))
    if not old:
        connection.execute(PENDING)
    connection.execute(GENERATIONS[version])
    for row in rows:
        put(connection, row)
    return connection


def put(connection: sqlite3.Connection, row: dict[str, Any]) -> None:
    """Lay one row in `observations`, with the columns that its generation has; lists become JSON."""
    have = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info('observations')")]
    if "sdk_session_id" in have and "memory_session_id" in row:
        row = {**row, "sdk_session_id": row["memory_session_id"]}
    kept = {name: json.dumps(one) if isinstance(one, list) else one for name, one in row.items() if name in have}
    marks = ", ".join("?" for _ in kept)
    connection.execute(f"INSERT INTO observations ({', '.join(kept)}) VALUES ({marks})", tuple(kept.values()))
