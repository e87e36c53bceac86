"""A connection to a ledger that can only look, with what prompts were shown attached as `exposures`.

It may write the file for one purpose only: SQLite then rolls back what a killed
writer left half-done. `query_only` and an authorizer refuse everything else.
"""

import math
import os
import sqlite3
import stat
from typing import Any

from ledger.errors import BadArgument, BadText, LedgerError, ReadOnly
from ledger.exposure import COLUMNS
from ledger.exposures import SCHEMA, path_beside
from ledger.home import uri_to_read
from ledger.reader import fault

ASKED_EVERY = 20_000
"""Steps of SQLite's machine between two looks at whether Ctrl-C was pressed: some milliseconds."""

EXPOSURES = "exposures"
"""The schema under which the file beside the ledger is attached."""

ATTACHED_MS = 200
"""Longest wait for that file, which a recall holds for a millisecond."""

TELLING = (
    "collation_list", "compile_options", "data_version", "database_list", "foreign_key_list", "freelist_count",
    "function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "page_count",
    "pragma_list", "quick_check", "table_info", "table_list", "table_xinfo",
)  # fmt: skip
"""PRAGMAs that only tell, with an argument or without."""

SETTABLE = ("application_id", "encoding", "journal_mode", "page_size", "schema_version", "user_version")
"""PRAGMAs that tell as long as they are given no value."""


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


class Looking:
    """A connection that can only look; `without` says why there are no exposures, empty when they are attached.

    Raises:
        ReadOnly: a statement would have written.
        BadArgument: it is not one legal statement.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._connection = sqlite3.connect(uri_to_read(path), uri=True, timeout=2.0, isolation_level=None)
            self._connection.execute("PRAGMA query_only = 1").fetchall()
        except sqlite3.Error as error:
            raise fault(error, path) from None
        self.without = self._attach(path_beside(path))
        self._connection.text_factory = _text
        self._connection.set_authorizer(_authorize)
        self._connection.set_progress_handler(lambda: 0, ASKED_EVERY)

    def __enter__(self) -> "Looking":
        return self

    def __exit__(self, *left: object) -> None:
        self._connection.close()

    def _attach(self, path: str) -> str:
        """Attach the exposures; return why they are not, empty when they are."""
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return f"{path} is no file of this program"
        except OSError:
            return "no prompt was shown anything yet"
        self._connection.execute(f"PRAGMA busy_timeout = {ATTACHED_MS}").fetchall()
        try:
            self._connection.execute(f"ATTACH {quoted(_uri(path))} AS {EXPOSURES}")
            try:
                (version,) = self._connection.execute(f"PRAGMA {EXPOSURES}.user_version").fetchone()
                self._connection.execute(f"SELECT {COLUMNS} FROM {EXPOSURES}.exposure LIMIT 0").fetchall()
            except sqlite3.Error:
                self._connection.execute(f"DETACH {EXPOSURES}")
                raise
            if version == SCHEMA:
                return ""
            self._connection.execute(f"DETACH {EXPOSURES}")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                return f"{path} is locked by another process"
        finally:
            self._connection.execute("PRAGMA busy_timeout = 2000").fetchall()
        return f"{path} is no file of this program, or of another version of it"

    def answer(self, statement: str) -> dict[str, Any]:
        """Return columns and rows of one statement; what JSON does not have (bytes, infinity) as text."""
        try:
            cursor = self._connection.execute(statement)
            rows = [list(map(_plain, row)) for row in cursor.fetchall()]
        except sqlite3.Error as error:
            raise self._error(error) from None
        except sqlite3.Warning as warning:
            raise BadArgument(f"{_words(warning)}; nothing was done", "give one statement") from None
        except ValueError:
            raise BadText("the statement", "U+0000 or half of a surrogate pair") from None
        columns = [column[0] for column in cursor.description or ()]
        return {"columns": columns, "rows": rows}

    def names(self) -> list[str]:
        """Return the names of tables and views, without those that others are made of."""
        rows = self.answer("PRAGMA table_list")["rows"]
        more = [] if self.without else [f"{EXPOSURES}.exposure"]
        return sorted([name for schema, name, kind, *_ in rows if schema == "main" and kind != "shadow"] + more)

    def columns(self, name: str) -> str:
        """Return a table or view with its columns and their types."""
        schema, _, bare = name.rpartition(".") if name.startswith(f"{EXPOSURES}.") else ("main", "", name)
        rows = self.answer('PRAGMA {}.table_xinfo("{}")'.format(schema, bare.replace('"', '""')))["rows"]
        if not rows:
            raise BadArgument("there is no such table or view; nothing was done", ".tables lists them")
        return f"{name} ({', '.join(f'{column} {kind}'.strip() for _, column, kind, *_ in rows)})"

    def _error(self, error: sqlite3.Error) -> LedgerError:
        name, words = getattr(error, "sqlite_errorname", ""), _words(error)
        if name == "SQLITE_INTERRUPT":
            raise KeyboardInterrupt
        is_refusal = "not authorized" in words or "may not be modified" in words
        if is_refusal or name.startswith(("SQLITE_AUTH", "SQLITE_READONLY")):
            return ReadOnly(
                "learnings sql only looks: that statement would change something, or reach beyond this file; "
                "nothing was written",
                "change learnings with `learnings supersede`, `retract` or `undo`",
            )
        if name in ("SQLITE_ERROR", ""):
            return BadArgument(f"{words}; nothing was done", "docs/reference/views.md describes tables and columns")
        return fault(error, self._path)


def _uri(path: str) -> str:
    """Return a file as SQLite opens it: to be written where that is allowed, so that a killed writer's journal goes."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?mode={'rw' if os.access(path, os.W_OK) else 'ro'}"


def _words(error: Exception) -> str:
    """Return what the engine says, as a part of one of our lines."""
    text = " ".join(str(error).split()).rstrip(".")
    return text[:1].lower() + text[1:]


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: bytes as hexadecimal text, an infinite number as its name."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _authorize(action: int, one: str | None, two: str | None, database: str | None, by: str | None) -> int:
    """Allow what reads: SELECT, functions without side effects, PRAGMAs that tell."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and one == "sqlite_master":
        # Opening a virtual table asks for this; a real UPDATE of it fails as long as `writable_schema` is off.
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if two in ("load_extension", "fts3_tokenizer") else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and one is not None:
        tells = one.lower() in TELLING or (two is None and one.lower() in SETTABLE)
        return sqlite3.SQLITE_OK if tells else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY
