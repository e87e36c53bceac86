"""Write docs/reference/ from the source, and from what the commands answer.

    python docs/build.py            write the pages
    python docs/build.py --check    say which pages are not what the source gives

The JSON keys of the commands come from a session that really runs; what keys and
columns mean stands in `reference/keys.json` and `reference/views.json`, and
`check.py` holds both to the program. Stdlib and the program itself.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ledger import cli, errors, fold, model, settings, tables, tables_postgres
from ledger.cli_call import Arg

import samples

FOLDER = Path(__file__).resolve().parent / "reference"
GENERATED = "<!-- Written by docs/build.py; do not edit. -->"


def row(*cells: object) -> str:
    """Return one row of a table; what would end a cell is escaped."""
    return "| " + " | ".join(" ".join(str(cell).replace("|", "\\|").split()) for cell in cells) + " |"


def table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> list[str]:
    """Return a table with a blank line after it; nothing when there are no rows."""
    lines = [row(*cells) for cells in rows]
    return [row(*head), "|" + "---|" * len(head), *lines, ""] if lines else []


def described(name: str) -> Any:
    """Return one of the files of descriptions."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


# -- commands --------------------------------------------------------------------------------------------------------


def commands() -> Iterator[str]:
    """Yield the page of the command line."""
    yield from ("# Commands", "", GENERATED, "")
    yield (
        "Results go to standard output, remarks to standard error, and an error is one line and an exit status "
        "([errors](errors.md))."
    )
    yield (
        "Every command takes `--json` (one document, with the keys named here), `--file FILE` (else `LEARNINGS_FILE`, "
        "else the data folder) and `--debug` (the traceback of an internal error)."
    )
    yield "Options may stand anywhere; after `--` everything is text."
    yield "An id may be shortened to its beginning, as long as only one learning fits."
    yield "What changes state takes `--dry-run`, and says how to undo it."
    yield ""
    yield from table(("command", "what it does"), ((f"[`{n}`](#{n})", said) for n, said in cli.COMMANDS.items()))
    answers = samples.answers()
    for name in cli.COMMANDS:
        found = cli.command_of(name)
        yield from (f"## {name}", "", sentence(found.run), "")
        yield from ("```", f"learnings {name}{''.join(map(usage, found.arguments))}", "```", "")
        yield from table(("argument", "what it is"), ((f"`{arg.name}`", arg.help) for arg in found.arguments))
        yield from ((f"Answers `{answers[name]}`.", "") if name in answers else ())
    yield from ("## Keys", "", "One name means one thing, wherever it stands; a time is UTC text, a hash hexadecimal.")
    yield "`[…]` after a key is a list of such objects, `[]` a list of plain values, `{*}` an object whose names vary."
    yield ""
    yield from table(("key", "what it says"), ((f"`{key}`", said) for key, said in described("keys").items()))


def usage(arg: Arg) -> str:
    """Return how an argument is typed, with a space before it."""
    word = arg.name.lstrip("-").upper().replace("-", "_")
    if not arg.name.startswith("--"):
        forms = {"*": f"[{word} …]", "+": f"{word} [{word} …]", "?": f"[{word}]", "": word}
        return " " + forms[arg.many]
    typed = arg.name if arg.is_flag else f"{arg.name} {word}"
    return f" {typed}" if arg.required else f" [{typed}]{'…' if arg.many == 'each' else ''}"


# -- tools, events ---------------------------------------------------------------------------------------------------


def tools() -> Iterator[str]:
    """Yield the page of the MCP tools."""
    yield from ("# MCP tools", "", GENERATED, "")
    yield "`learnings serve` offers these over standard input and output ([connect](../how-to/connect-an-agent.md))."
    yield "Unknown arguments are refused by name; who acts, when, and with which trust are never arguments."
    yield "Answers have the [keys of the commands](commands.md#keys); an error is a result with one sentence."
    yield ""
    found = [json.loads(path.read_text("utf-8")) for path in data_files("tools")]
    for tool in found:
        hints, always = tool["annotations"], tool.get("_meta", {}).get("anthropic/alwaysLoad")
        told = ["reads only" if hints["readOnlyHint"] else "writes"] + ["always loaded"] * bool(always)
        yield from (f"## {tool['name']}", "", tool["description"], "", f"It {' and is '.join(told)}.", "")
        given = tool["inputSchema"]
        rows = [(f"`{key}`", form(one), one.get("description", "")) for key, one in given["properties"].items()]
        needed = {f"`{key}`" for key in given.get("required", ())}
        head = ("argument", "form", "what it is")
        yield from table(head, ((key + " (required)" * (key in needed), shape, said) for key, shape, said in rows))
        answered = tool["outputSchema"]["properties"]
        yield from (f"Answers {', '.join(f'`{key}`' for key in answered)}.", "")


def events() -> Iterator[str]:
    """Yield the page of the kinds of event."""
    yield from ("# Events", "", GENERATED, "")
    yield "The log holds nothing but these."
    yield "`data` holds ids and enumerations and stays; `body` holds all free text and is what erasing destroys."
    yield "Stored events are never rewritten: a new shape is a new version."
    yield (
        "Every event also has `seq`, `event_id`, `stream`, `version`, `recorded_at`, actor, channel, trust, batch and "
        "hashes ([the log](../explanation/log.md))."
    )
    yield ""
    for path in data_files("events"):
        kind, _, version = path.name.removesuffix(".json").rpartition(".v")
        schema = json.loads(path.read_text("utf-8"))
        undo = "No undo takes it back." if kind in fold.LASTING else "`learnings undo` takes it back."
        yield from (f"## {kind}", "", f"{schema['title']} {undo} Version {version}.", "")
        rows = []
        for part in ("data", "body"):
            held = schema["properties"][part]
            rows += [
                (f"`{part}.{key}`" + " (required)" * (key in held["required"]), form(one))
                for key, one in held["properties"].items()
            ]
        yield from table(("field", "form"), rows)


def data_files(folder: str) -> list[Path]:
    """Return the JSON files of a folder of `schema/`, by name."""
    return sorted(Path(model.schema_path(folder)).glob("*.json"))


def form(schema: dict[str, Any]) -> str:
    """Return what a value may be, in a few words."""
    if "anyOf" in schema:
        return " or ".join(map(form, schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "object")
    if kind == "array":
        most = f"up to {schema['maxItems']:,}" if "maxItems" in schema else "any number"
        return f"a list of {most}, each {form(schema.get('items', {}))}"
    if kind == "object" and "properties" in schema:
        return "object of " + ", ".join(f"`{key}`" for key in schema["properties"])
    if kind == "string":
        said = f"text like `{schema['pattern']}`" if "pattern" in schema else "text"
        return said + (f", at most {schema['maxLength']:,} characters" if "maxLength" in schema else "")
    if kind == "integer":
        low, high = schema.get("minimum", -1), schema.get("maximum", 2**53)
        ends = (f" from {low}" if low >= 0 else "") + (f" to {high:,}" if high < 2**53 - 1 else "")
        return "whole number" + ends
    return "true or false" if kind == "boolean" else str(kind)


# -- errors, settings ------------------------------------------------------------------------------------------------


def error_classes() -> list[type[errors.LedgerError]]:
    """Return every class of error, in the order of exit codes."""
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.LedgerError)]
    return sorted((one for one in found if one is not errors.LedgerError), key=lambda one: one.exit_code)


def error_page() -> Iterator[str]:
    """Yield the page of errors and exit statuses."""
    yield from ("# Errors", "", GENERATED, "")
    yield "An error is one line on standard error: what happened, what became of the data, what to do."
    yield "With `--json` there is a document on standard output too: `error{code, message, hint}`, `code` as here."
    yield "No text of a learning is ever part of an error."
    yield ""
    rows = [
        (one.exit_code, f"`{one.__name__}`", f"`{one.__mro__[1].__name__}`", sentence(one)) for one in error_classes()
    ]
    yield from table(("exit status", "error", "is a kind of", "what happened"), rows)
    yield from ("## Other exit statuses", "")
    others = (
        (0, "the command did what was asked; `query` and `list` answer 0 also when they find nothing"),
        (cli.INTERNAL, "an internal error: its type is named, and nothing of its text"),
        (cli.INTERRUPTED, "interrupted by Ctrl-C"),
        (cli.CLOSED_PIPE, "whoever read the output has gone"),
    )
    yield from table(("exit status", "what happened"), others)


def sentence(one: object) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join((one.__doc__ or "").split("\n\n")[0].split())


ENVIRONMENT = {
    "LEARNINGS_FILE": "the ledger, unless `--file` names another",
    "LEARNINGS_OFF": "not empty and not `0`: no prompt of this session is shown anything",
    "CLAUDE_CODE_ENTRYPOINT": "set by the client: `sdk-cli` is a robot, which is shown nothing",
    "CLAUDE_CODE_SESSION_ATTENDED": "set by the client: `0` is a session that nobody sits at, a robot too",
    "CLAUDE_CODE_SESSION_ID": "set by the client: the session that a server's searches and saves are counted for",
    "CLAUDE_PLUGIN_ROOT": "set by the client for a plugin's hooks: where setup is in force too, one of both answers",
    "CLAUDECODE": "set by the client: a server makes ready for its prompts at once",
    "PYTHONDONTWRITEBYTECODE": "Python's own; `learnings doctor` says when it is set",
    "XDG_DATA_HOME": "on Linux, the folder that holds `learnings/ledger.db` (default `~/.local/share`)",
    "CLAUDE_CONFIG_DIR": "Claude Code's own folder, with its settings, instructions and notes (default `~/.claude`; "
    "the file of its servers is in it too, else in `~`)",
    "CODEX_HOME": "`learnings setup codex`: the folder of `config.toml` (default `~/.codex`)",
    "XDG_CONFIG_HOME": "`learnings setup vscode`: the folder that holds `Code/User/mcp.json` (default `~/.config`)",
    "APPDATA": "the same on Windows",
    "LOCALAPPDATA": "that of `XDG_DATA_HOME` on Windows (untested); on macOS it is `~/Library/Application Support`",
}
"""What the program reads from the environment. PATH is read by `learnings sql`, to find sqlite3."""


def setting_page() -> Iterator[str]:
    """Yield the page of settings."""
    yield from ("# Settings", "", GENERATED, "")
    yield (
        "A setting is changed by an event (`learnings config set NAME VALUE`), so it has a history "
        "(`learnings history setting:NAME`) and an undo."
    )
    yield "With `--machine` it is for this machine alone."
    yield ""
    yield from table(("setting", "what it is for"), ((f"`{name}`", said) for name, said in settings.SETTINGS.items()))
    yield from ("## Environment", "")
    yield from table(("variable", "what it says"), ((f"`{name}`", said) for name, said in ENVIRONMENT.items()))


# -- views -----------------------------------------------------------------------------------------------------------


def view_page() -> Iterator[str]:
    """Yield the page of views and tables."""
    known = described("views")
    yield from ("# Views", "", GENERATED, "")
    yield '`learnings sql "SELECT …"` reads them; nothing can be written that way.'
    yield "Times are UTC text of fixed width, `2026-11-30T02:47:56.123456Z`: as text they sort as in time."
    yield "Texts are NULL once erased."
    yield ""
    for name in tables.VIEW_NAMES:
        yield from view(name, known["sqlite"][name])
    yield from view("exposures.exposure", known["exposures"])
    yield from ("## On PostgreSQL", "", "A log on PostgreSQL has these views.", "")
    for name in tables_postgres.VIEW_NAMES:
        yield from view(name, known["postgres"][name], "### ", "PostgreSQL: ")
    yield from ("## Tables", "", "What the views are made of.")
    yield from ("Their columns may change with a version; the views are the contract.", "")
    for one in (*tables.LOG_ROWS, *tables.PROJECTION_ROWS):
        columns = ", ".join(f"`{column.name}`" for column in tables.table_of(one).columns)
        yield from (f"### Table {tables.name_of(one)}", "", f"{sentence(one)}", "", f"{columns}", "")
    yield (
        "`learning_fts` is the words index (FTS5), `alias_fts` the one of aliases; `word_count` and `word_total` are "
        "statistics for planning a query."
    )


def view(name: str, told: dict[str, Any], level: str = "## ", prefix: str = "") -> Iterator[str]:
    """Yield the section of one view."""
    yield from (f"{level}{prefix}{name}", "", told["about"], "")
    yield from table(("column", "what it says"), ((f"`{column}`", said) for column, said in told["columns"].items()))


PAGES = {
    "commands": commands,
    "tools": tools,
    "events": events,
    "errors": error_page,
    "settings": setting_page,
    "views": view_page,
}


def built() -> dict[Path, str]:
    """Return every page, by its path."""
    pages = {FOLDER / f"{name}.md": "\n".join(write()) for name, write in PAGES.items()}
    return {path: re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n" for path, text in pages.items()}


def outdated() -> list[str]:
    """Return a line for each page that is not what the source gives."""
    return [
        f"{path.relative_to(FOLDER.parent.parent)} is not what the source gives; run `python docs/build.py`"
        for path, text in built().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def main(words: list[str]) -> int:
    """Write the pages, or check them; return the exit status."""
    if words == ["--check"]:
        faults = outdated()
        print("\n".join(faults) or "the reference is what the source gives")
        return 1 if faults else 0
    for path, text in built().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
