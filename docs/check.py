"""Hold the documentation to the program; `.ci/run` and `tests/test_docs.py` run it.

    python docs/check.py

It looks whether the reference is what the source gives; whether every key and
column that the program answers with is described, and nothing else; whether
every link leads somewhere and every command that is named exists; whether every
example prints what its page shows; and whether README promises what the tests
prove. One line per fault; exit status 1 when there is one.
"""

import json
import re
import runpy
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ledger import cli, exposures, tables, tables_postgres
from ledger.ledger import Ledger

import build
import examples
import samples

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tutorial", "how-to", "reference", "explanation", "decisions")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"`learnings ([a-z]+)")
COMING = re.compile(r"\bto come\b|\bcoming\b|\bcomes? with\b")
ENVIRONMENT = re.compile(r"(?:environ|env)(?:\.get\(|\[)\"([A-Z_]+)\"")


def pages() -> list[Path]:
    """Return every page that people read."""
    tops = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    return sorted([*tops, *(page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md"))])


def named(page: Path) -> str:
    """Return a page's path as it is shown."""
    return str(page.relative_to(ROOT))


# -- described -------------------------------------------------------------------------------------------------------


def keys() -> Iterator[str]:
    """Yield what is wrong with the description of JSON keys."""
    documents = samples.documents()
    answered = {key for document in documents.values() for key in samples.keys(document)}
    for tool in build.data_files("tools"):
        answered |= set(json.loads(tool.read_text("utf-8"))["outputSchema"]["properties"])
    yield from differences("docs/reference/keys.json", "key", answered, set(build.described("keys")))
    silent = [name for name in cli.COMMANDS if name not in documents and name != "serve"]
    yield from (f"docs/samples.py never runs `learnings {name}`" for name in silent)


def views() -> Iterator[str]:
    """Yield where views differ from what is described: on SQLite as in a file, on PostgreSQL as they are written."""
    told = build.described("views")
    found: dict[str, dict[str, list[str]]] = {"sqlite": {}, "postgres": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "ledger.db")
        Ledger.init(path).close()
        connection = sqlite3.connect(path)
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"):
            found["sqlite"][name] = [column[0] for column in connection.execute(f"SELECT * FROM {name}").description]
        connection.close()
    for name, statement in zip(tables_postgres.VIEW_NAMES, tables_postgres.VIEWS, strict=True):
        found["postgres"][name] = columns(statement)
    if list(told["exposures"]["columns"]) != exposures.COLUMNS.split(", "):
        yield f"docs/reference/views.json, exposures: the columns are {exposures.COLUMNS}, in this order"
    yield from differences("ledger/tables.py", "view", set(found["sqlite"]), set(tables.VIEW_NAMES))
    for dialect, known in found.items():
        where = f"docs/reference/views.json, {dialect}"
        yield from differences(where, "view", set(known), set(told[dialect]))
        for name in known.keys() & told[dialect].keys():
            if known[name] != list(told[dialect][name]["columns"]):
                yield f"{where}: {name} has the columns {', '.join(known[name])}, in this order"


def columns(view: str) -> list[str]:
    """Return the columns of a view from its text: the names in its last outermost SELECT list."""
    depth, flat = 0, ""
    for letter in view:
        depth += (letter == "(") - (letter == ")")
        flat += letter if depth == 0 and letter != ")" else ""
    listed = re.findall(r"\bSELECT\b(.*?)\bFROM\b", flat, re.DOTALL)[-1]
    return [re.split(r"\s+AS\s+|\.", item.strip())[-1].strip() for item in listed.split(",")]


def environment() -> Iterator[str]:
    """Yield variables that the program reads and the reference does not name."""
    files = [path for package in ("ledger", "mcp_server") for path in (ROOT / package).glob("*.py")]
    read = {name for path in files for name in ENVIRONMENT.findall(path.read_text("utf-8"))}
    yield from differences("docs/build.py, ENVIRONMENT", "variable", read - {"PATH"}, set(build.ENVIRONMENT))


def differences(where: str, what: str, real: set[str], told: set[str]) -> Iterator[str]:
    """Yield a line for everything that is on one side only."""
    yield from (f"{where}: the {what} {name} is not described" for name in sorted(real - told))
    yield from (f"{where}: there is no {what} {name}" for name in sorted(told - real))


# -- pages -----------------------------------------------------------------------------------------------------------


def links(page: Path) -> Iterator[str]:
    """Yield links of a page that lead nowhere."""
    for target in LINK.findall(without_code(page.read_text("utf-8"))):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        goal = (page.parent / path).resolve() if path else page
        if not goal.exists():
            yield f"{named(page)}: {target} leads nowhere"
        elif anchor and anchor not in anchors(goal):
            yield f"{named(page)}: {target} has no such heading"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def without_code(text: str) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def commands(page: Path) -> Iterator[str]:
    """Yield commands that a page names and the program does not have, unless it says that they are to come."""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        for name in COMMAND.findall(line):
            if name not in cli.COMMANDS and not COMING.search(line):
                yield f"{named(page)}:{number}: there is no `learnings {name}`"


def index() -> Iterator[str]:
    """Yield pages that docs/README.md does not lead to; each decision stands in an index of its own."""
    home = ROOT / "docs" / "README.md"
    listed = {(home.parent / target.partition("#")[0]).resolve() for target in LINK.findall(home.read_text("utf-8"))}
    for page in pages():
        if page.parent.name in ("tutorial", "how-to", "reference", "explanation") and page not in listed:
            yield f"docs/README.md does not lead to {named(page)}"


def promises() -> list[str]:
    """Return what README promises beyond what the tests prove."""
    found = runpy.run_path(str(ROOT / "tests" / "test_promises.py"))
    lines: list[str] = found["readme_faults"]()
    return lines


def faults() -> Iterator[str]:
    """Yield everything that is wrong, one line each."""
    yield from build.outdated()
    yield from keys()
    yield from views()
    yield from environment()
    yield from index()
    yield from promises()
    for page in pages():
        yield from links(page)
        yield from commands(page)
        yield from examples.faults(page)


if __name__ == "__main__":
    told = list(faults())
    print("\n".join(told) or "the documentation is what the program does")
    sys.exit(1 if told else 0)
