"""Bring a ledger back to what it was at some event, in a file of its own.

The log is copied as it is up to that event and projected anew, so what is read
there is what was read then. Limits: what was erased since is gone there too,
and statistics of words are counted anew.
"""

import sqlite3

from ledger import project, sql_log, tables
from ledger.model import Event
from ledger.place import make_file
from ledger.store_sqlite import create_log

CHUNK = 1_000


def copied(source: str, path: str, seq: int) -> None:
    """Make the ledger file `path` hold the log of `source` up to event `seq`.

    Raises:
        NewerSchema: an event is of a kind that this program does not know.
    """
    make_file(path)
    before = sqlite3.connect(f"file:{source.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=rw",
                             uri=True, isolation_level=None)  # fmt: skip
    made = sqlite3.connect(path, isolation_level=None)
    try:
        before.execute("PRAGMA query_only = 1")
        before.execute("BEGIN")
        made.execute(f"PRAGMA application_id = {tables.APPLICATION_ID}")
        made.execute(f"PRAGMA user_version = {tables.SCHEMA_VERSION}")
        made.execute("PRAGMA synchronous = OFF")
        made.execute("BEGIN")
        create_log(made)
        meta = before.execute(sql_log.META).fetchone()
        made.execute("DROP TRIGGER meta_update_refused")
        made.execute("UPDATE meta SET ledger_id = ?, format = ?, dedup_key = ?", meta)
        project.create(made)
        _replay(before, made, bytes(meta[2]), seq)
        project.refresh_counts(made)
        made.execute("COMMIT")
    finally:
        before.close()
        made.close()


def _replay(before: sqlite3.Connection, made: sqlite3.Connection, key: bytes, seq: int) -> None:
    """Copy and project the events up to `seq`."""
    projector, after = project.Projector(made, key), 0
    while after < seq:
        rows = before.execute(sql_log.EVENTS_LEFT, {"after": after, "limit": min(CHUNK, seq - after)}).fetchall()
        if not rows:
            break
        events = [Event._make(row) for row in rows]
        for event in events:
            made.execute(f"INSERT INTO event VALUES ({', '.join('?' * 16)})", event[:16])
            made.execute("INSERT INTO payload VALUES (?, ?, ?, ?)", (event.seq, *event[16:]))
        projector.apply(events)
        after = events[-1].seq
