"""Stores of other memories as their released versions make them, and rows of them.

The columns are facts of the published schemas: mcp-memory-service 10.59 and 12.4.0 (migration 19), mem0ai 2.2.1
(its own code made the first fixture, and the columns were compared), quipu 5e4cfb2.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

MEMORIES = """CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL,
content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,
created_at_iso TEXT, updated_at_iso TEXT, deleted_at REAL DEFAULT NULL{more})"""

EVOLVED = """, store TEXT DEFAULT 'default', parent_id TEXT, version INTEGER DEFAULT 1, confidence REAL DEFAULT 1.0,
last_accessed INTEGER, superseded_by TEXT, embedding_pending INTEGER NOT NULL DEFAULT 0"""

BELIEFS = """CREATE TABLE beliefs (id INTEGER PRIMARY KEY AUTOINCREMENT, belief_hash TEXT UNIQUE NOT NULL,
content TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 0.5, status TEXT NOT NULL DEFAULT 'candidate',
created_at TEXT NOT NULL, updated_at TEXT NOT NULL)"""

REGISTRY = """CREATE TABLE migration_registry (version INTEGER PRIMARY KEY, name TEXT NOT NULL, filename TEXT NOT NULL,
applied_at TEXT NOT NULL, checksum TEXT)"""

HISTORY = """CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"""

DOC = """CREATE TABLE doc (id INTEGER PRIMARY KEY, rel TEXT NOT NULL UNIQUE, path TEXT NOT NULL, name TEXT NOT NULL,
descr TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT 'note', hash TEXT NOT NULL, mtime REAL NOT NULL,
bytes INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'live', supersedes TEXT NOT NULL DEFAULT '',
superseded_by TEXT NOT NULL DEFAULT '', stale_note TEXT NOT NULL DEFAULT '',
last_retrieved REAL NOT NULL DEFAULT 0, retrieved_n INTEGER NOT NULL DEFAULT 0)"""


def hash_of(number: int) -> str:
    """Return a content hash."""
    return f"{number:064x}"


def memory(number: int, content: str, **more: Any) -> dict[str, Any]:
    """Return a row of mcp-memory-service."""
    told = {
        "content_hash": hash_of(number), "content": content, "tags": "project:shop", "memory_type": "decision",
        "metadata": "{}", "created_at": 1_793_692_800.25 + number, "updated_at": 1_793_692_900.5,
    }  # fmt: skip
    return {**told, **more}


def put(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    """Lay a row in a table."""
    marks = ", ".join("?" for _ in row)
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def store(path: Path, *rows: dict[str, Any], evolved: bool = True) -> Path:
    """Make a store of mcp-memory-service, of 12.4.0 or (not `evolved`) as 10.x began it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(MEMORIES.format(more=EVOLVED if evolved else ""))
        if evolved:
            connection.execute(REGISTRY)
            connection.execute("INSERT INTO migration_registry VALUES (19, 'push cursor', '019.sql', 'x', NULL)")
            connection.execute(BELIEFS)
            connection.execute("INSERT INTO beliefs VALUES (1, 'b', 'BELIEFTEXT', 0.5, 'active', 'x', 'x')")
        for row in rows:
            put(connection, "memories", row)
    return path


def exported(*rows: dict[str, Any], version: str = "5.0.1", **more: Any) -> bytes:
    """Return an export of mcp-memory-service."""
    kept = [
        {
            "content": row["content"], "content_hash": row["content_hash"], "tags": row["tags"].split(","),
            "created_at": row["created_at"], "updated_at": row["updated_at"], "memory_type": row["memory_type"],
            "metadata": json.loads(row["metadata"]), "store": "default", "export_source": "box-a",
        }
        for row in rows
    ]  # fmt: skip
    head = {
        "source_machine": "box-a", "export_timestamp": "2026-11-30T01:15:10", "total_memories": len(kept),
        "database_path": "x", "platform": "Linux", "include_embeddings": False, "filter_tags": None,
        "stores": ["default"], "exporter_version": version,
    }  # fmt: skip
    return json.dumps({"export_metadata": head, "memories": kept, **more}, indent=2).encode()


def history(path: Path, *steps: tuple[str, str | None, str | None, str]) -> Path:
    """Make a history of mem0 of steps: memory, old text, new text, event; one a day."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(HISTORY)
        connection.execute("CREATE TABLE messages (id TEXT PRIMARY KEY, content TEXT)")
        connection.execute("INSERT INTO messages VALUES ('m', 'RAWMESSAGE')")
        for day, (name, old, new, event) in enumerate(steps, 1):
            at = f"2026-01-{day:02}T00:00:00+00:00"
            row = (
                f"s{day}",
                name,
                old,
                new,
                event,
                "2026-01-01T00:00:00+00:00",
                at,
                int(event == "DELETE"),
                "alice",
                "u",
            )
            connection.execute(f"INSERT INTO history VALUES ({', '.join('?' * 10)})", row)
    return path


def state(path: Path, **replaced: str) -> Path:
    """Make the state database of quipu; each note names the one that replaced it, '' for none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(DOC)
        connection.execute("CREATE TABLE claim (id INTEGER PRIMARY KEY, rel TEXT NOT NULL)")
        connection.execute("INSERT INTO claim (rel) VALUES ('a.md')")
        for name, new in replaced.items():
            row = {"rel": f"{name}.md", "path": "x", "name": name, "hash": "h", "mtime": 1.0, "superseded_by": new}
            put(connection, "doc", row)
    return path


FACT = """---
name: fact-acme-timezone
description: "acme timezone: CET (since 2026-09-01). Previously EST (from 2026-03-02 until 2026-09-01)."
metadata:
  type: fact
  entity: acme
  attribute: timezone
  source: capture
---

Current: CET (as of 2026-09-01)
Evidence: "we moved the team to CET"

History, newest first:
- 2026-09-01: CET
- 2026-03-02: EST
"""

COFFEE = """---
title: Coffee Brewing
type: note
permalink: notes/coffee-brewing
tags: [coffee]
created: 2026-01-02
---

# Coffee Brewing

Water at 94 degrees.

## Observations
- [method] Pour over gives clarity #brewing (for light roasts)
- [decision] Grind fresh
- plain words with a #tag
- [x] a task that is done
- [12:30] a line of a transcript

## Relations
- pairs_with [[Chocolate]]
- [[Tea]]
"""

GRAPH = (
    b'{"type":"entity","name":"shop","entityType":"project","observations":["uses port 6543","deploys with make"]}\n'
    b'{"type":"entity","name":"empty","entityType":"x","observations":[]}\n'
    b'{"type":"relation","from":"shop","to":"db","relationType":"uses"}\n'
)

GEMINI = b"# Rules\n\nBe nice.\n\n## Gemini Added Memories\n- Use uv, not pip\n- CI runs on port 8080\n"
CODEX = b"# Task Group: shop\n\n## Pooler\n\n- use 6543 in containers\n- never 5432\n"
HERMES = "User runs Debian 13\nwith podman\n\u00a7\nProject uses ruff\n\u00a7\n".encode()
CURSOR = b'---\ndescription: TypeScript rules\nglobs: "**/*.ts"\nalwaysApply: false\n---\n# TS\n\n- strict mode\n'
LISTED = json.dumps({
    "results": [
        {"id": "a1", "memory": "Use port 6543", "hash": "x", "updated_at": "2026-02-01T00:00:00+00:00",
         "user_id": "alice", "metadata": {"project": "shop"}, "categories": ["technology"]},
        {"id": "b2", "memory": " ", "hash": "y"},
    ]
}).encode()  # fmt: skip
