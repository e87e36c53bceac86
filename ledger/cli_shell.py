"""`learnings sql`: look at the ledger in SQL, and change nothing.

One statement runs on a connection that can only look (`cli_look`). Without a
statement the system's sqlite3 takes over, read-only, or a small prompt where
there is none. What prompts were shown is attached where that file can be read.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import NoReturn

from ledger import cli_text
from ledger.cli_call import Arg, Call, Result, command
from ledger.cli_look import EXPOSURES, Looking, quoted
from ledger.errors import BadArgument, LedgerError, NewerSchema, OlderSchema, StaleProjection
from ledger.exposures import path_beside
from ledger.frame import clean
from ledger.reader import open_reader

SHELL = "sqlite3"

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
    if call.is_json and not statement:
        raise BadArgument("a shell has no JSON; nothing was done", "give it a statement")
    with Looking(call.file) as looking:
        without = f"no schema {EXPOSURES} here: {looking.without}" if looking.without else None
        if statement:
            if without and EXPOSURES in statement.lower():
                call.remark(without)
            document = looking.answer(statement)
            return Result(document, lambda: cli_text.table(document))
        found = _on_path(SHELL, call.env.get("PATH", os.defpath))
        if found is None:
            call.remark("there is no sqlite3 here, so this is a prompt of our own (.help)")
            if without:
                call.remark(without)
            return Result(None, exit_code=_prompt(looking))
    return _hand_over(call, found, without)


def _hand_over(call: Call, shell: str, without: str | None) -> NoReturn:
    """Become the system's shell; what it attaches is read-only as the ledger is."""
    call.remark(f"{shell} takes over, read-only; it shows stored text as it is")
    attached = ["-cmd", f"ATTACH {quoted(path_beside(call.file))} AS {EXPOSURES}"]
    if without:
        call.remark(without)
        attached = []
    sys.stdout.flush()
    os.execv(shell, [SHELL, "-readonly", *attached, call.file])  # noqa: S606 - no shell is wanted in between


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
