"""Take the last bytes of erased texts out of a ledger file: after the commit, and as often as it takes.

An UPDATE to NULL leaves the text in free space, an index keeps deleted words until
its segments are merged, and in WAL mode the text stays in the log of pages even
after VACUUM: it leaves with `wal_checkpoint(TRUNCATE)`. A reader that will not let
go makes this fail; then it stays pending, and whoever writes next tries again.
The caller holds the writers' lock.
"""

import json
import sqlite3
from contextlib import suppress
from typing import Any

from ledger import erasures, sql_log
from ledger.erasures import COMPACTED
from ledger.errors import FileFault
from ledger.sessions import Sessions

WAIT_MS, RETRY_MS = 5_000, 200
"""Longest wait for readers: of the erasure itself, and of a writer that only finishes an earlier one."""


def purge(sqlite: Any, address: str, path: str, ledger_id: str, wait_ms: int) -> bool:
    """Finish what is pending; True when nothing of an erased text is left in the file or its sidecars.

    Args:
        sqlite: the driver. address: the file as a `file:` address that may be written.

    Raises:
        sqlite.Error, FileFault: it could not be finished, and stays pending.
    """
    raw = sqlite.connect(address, uri=True, isolation_level=None)
    try:
        raw.execute(f"PRAGMA busy_timeout = {wait_ms}").fetchall()
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("PRAGMA secure_delete = ON").fetchall()
        keep_lists(raw, path, ledger_id)
        Sessions(path).forget_ready()
        if erasures.pending(path) != COMPACTED:
            compact(raw)
            erasures.keep_pending(path, COMPACTED)
        if not is_handed_back(raw):
            return False
    finally:
        raw.close()
    erasures.finished(path)
    return True


def compact(raw: sqlite3.Connection) -> None:
    """Merge the words indexes, so that deleted words leave them, and write every page anew."""
    if raw.execute(sql_log.HAS_PROJECTION).fetchone() is not None:
        for name in sql_log.WORD_INDEXES:
            raw.execute(f"INSERT INTO {name} ({name}) VALUES ('optimize')")
    raw.execute("VACUUM")


def is_handed_back(raw: sqlite3.Connection) -> bool:
    """Empty the log of pages; False when a reader keeps it. In rollback mode there is none."""
    return bool(raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)


def keep_lists(raw: sqlite3.Connection, path: str, ledger_id: str) -> None:
    """Write down what was erased, as the log says it, beside the file and beside every backup that is known."""
    head = raw.execute(sql_log.HEAD).fetchone()
    end = head[0] if head is not None else 0
    gone = {seq for (data,) in raw.execute(sql_log.ERASED_TARGETS).fetchall() for seq in json.loads(data)}
    with suppress(FileFault):  # then what the log says is written anew
        gone.update(seq for seq in erasures.listed(path, ledger_id) if seq <= end)
    erasures.keep_list(path, ledger_id, gone)
    for copy in erasures.copies(path):
        if copy.kind == "backup":
            try:
                erasures.keep_list(copy.path, ledger_id, gone)
            except FileFault:
                continue  # a folder that takes no writes; the answer names the backup, which is the user's
