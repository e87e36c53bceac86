"""`learnings sql`: look at the ledger in SQL, and change nothing.

One statement runs on a connection of its own that may write the file for one
purpose only: SQLite then rolls back what a killed writer left half-done.
`query_only` and an authorizer refuse everything else. Without a statement the
system's sqlite3 takes over, read-only, or a small prompt where there is none.
"""

import math
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ledger import cli_text
from ledger.cli_call import Arg, Call, Result, command
from ledger.errors import BadArgument, BadText, LedgerError, NewerSchema, OlderSchema, ReadOnly, StaleProjection
from ledger.frame import clean
from ledger.reader import fault, open_reader

SHELL = "sqlite3"

ASKED_EVERY = 20_000
"""Steps of SQLite's machine between two looks at whether Ctrl-C was pressed: some milliseconds."""

TELLING = (
    "collation_list", "compile_options", "data_version", "database_list", "foreign_key_list", "freelist_count",
    "function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "page_count",
    "pragma_list", "quick_check", "table_info", "table_list", "table_xinfo",
)  # fmt: skip
"""PRAGMAs that only tell, with an argument or without."""

SETTABLE = ("application_id", "encoding", "journal_mode", "page_size", "schema_version", "user_version")
"""PRAGMAs that tell as long as they are given no value."""

HELP = """\
a statement ends with ; and may span lines
.tables          names of tables and views; current_learnings, lineage, timeline, audit_log are good beginnings
.schema [NAME]   their columns
.help            this
.quit            leave (so does the end of input)"""


@command(Arg("statement", "one statement that reads; without it, a shell opens", many="*"))
def sql(call: Call) -> Result:
    """Run one statement, or open a shell."""
    _settle(call)
    statement = " ".join(call.given.statement)
    if statement:
        with Looking(call.file) as looking:
            document = looking.answer(statement)
        return Result(document, lambda: cli_text.table(document))
    if call.is_json:
        raise BadArgument("a shell has no JSON; nothing was done", "give it a statement")
    found = _on_path(SHELL, call.env.get("PATH", os.defpath))
    if found is not None:
        call.remark(f"{found} takes over, read-only; it shows stored text as it is")
        sys.stdout.flush()
        os.execv(found, [SHELL, "-readonly", call.file])  # noqa: S606 - no shell is wanted in between
    call.remark("there is no sqlite3 here, so this is a prompt of our own (.help)")
    with Looking(call.file) as looking:
        return Result(None, exit_code=_prompt(looking))


def _settle(call: Call) -> None:
    """Open and close the ledger once: what a killed writer left is rolled back, and what is no ledger is refused."""
    try:
        open_reader(call.file).close()
    except (NewerSchema, OlderSchema, StaleProjection) as error:
        call.remark(f"{error.message.replace('; nothing was written', '')}; looked at as it is")


def _on_path(name: str, path: str) -> str | None:
    """Return the program of that name, None when there is none."""
    for folder in path.split(os.pathsep):
        found = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return None


class Looking:
    """A connection that can only look.

    Raises:
        ReadOnly: a statement would have written.
        BadArgument: it is not one legal statement.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        mode = "rw" if os.access(path, os.W_OK) else "ro"
        try:
            uri = f"file:{quoted}?mode={mode}"
            self._connection = sqlite3.connect(uri, uri=True, timeout=2.0, isolation_level=None)
            self._connection.execute("PRAGMA query_only = 1").fetchall()
        except sqlite3.Error as error:
            raise fault(error, path) from None
        self._connection.text_factory = _text
        self._connection.set_authorizer(_authorize)
        self._connection.set_progress_handler(lambda: 0, ASKED_EVERY)

    def __enter__(self) -> "Looking":
        return self

    def __exit__(self, *left: object) -> None:
        self._connection.close()

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
        return sorted(name for schema, name, kind, *_ in rows if schema == "main" and kind != "shadow")

    def columns(self, name: str) -> str:
        """Return a table or view with its columns and their types."""
        rows = self.answer('PRAGMA table_xinfo("{}")'.format(name.replace('"', '""')))["rows"]
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


# -- our own prompt --------------------------------------------------------------------------------------------------


def _prompt(looking: Looking) -> int:
    """Answer statements and dot commands until the input ends; return 0, or the last refusal's status."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with suppress(ImportError):
            import readline  # noqa: F401 - line editing comes with the import
    status = 0
    for typed in _typed(is_terminal):
        try:
            for line in _answers(looking, typed):
                sys.stdout.write(clean(line) + "\n")
            status = 0
        except LedgerError as error:
            sys.stderr.write("learnings: " + clean(" ".join(str(error).split())) + "\n")
            status = error.exit_code
    return status


def _typed(is_terminal: bool) -> Iterator[str]:
    """Yield what is typed: a dot command a line, or a statement over as many lines as it takes."""
    pending = ""
    while True:
        sys.stdout.flush()
        try:
            line = input(("learnings> " if not pending else "       ...> ") if is_terminal else "")
        except EOFError:
            break
        if not pending and line.strip() in (".quit", ".exit"):
            return
        pending += line + "\n"
        if pending.startswith(".") or sqlite3.complete_statement(pending):
            if pending.strip(" \n;"):
                yield pending.strip()
            pending = ""
    if pending.strip():
        yield pending.strip()


def _answers(looking: Looking, typed: str) -> Iterator[str]:
    if not typed.startswith("."):
        yield from cli_text.table(looking.answer(typed))
        return
    word, *rest = typed.split()
    if word == ".tables":
        yield from looking.names()
    elif word == ".schema":
        yield from map(looking.columns, rest or looking.names())
    elif word == ".help":
        yield HELP
    else:
        raise BadArgument(f"there is no {word[:40]}; nothing was done", ".help lists what there is")
