"""Arrows point down only, and the lean path stays lean."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ledger

HOME = Path(ledger.__file__).parent.parent

LEVELS = {
    0: ("model", "errors", "answer"),
    1: (
        "sql",
        "sql_log",
        "sql_fence",
        "query",
        "rank",
        "redact",
        "hints",
        "needed",
        "secret_judge",
        "secret_rules",
        "secret_view",
        "private",
        "screen",
        "screen_rules",
        "concepts",
        "orders",
        "frame",
        "echo",
        "cliff",
        "chain",
        "fold",
        "fits",
        "settings",
        "measures",
        "filler",
        "prompt",
        "meaning",
        "gate",
        "alike",
        "author",
        "remark",
    ),
    2: (
        "place",
        "checkpoints",
        "door",
        "disk",
        "hits",
        "search",
        "compare",
        "browse",
        "reader",
        "exposure",
        "exposures",
        "heard",
        "handover",
        "room",
        "shell",
        "unsaid",
        "own_copy",
        "recall",
        "choose",
        "evidence",
        "space",
        "sessions",
        "erasures",
        "home",
        "ready",
        "summed",
        "begin",
        "hook",
        "usage",
        "turns",
    ),
    3: (
        "results",
        "mend",
        "tables",
        "tables_postgres",
        "store",
        "store_sqlite",
        "store_postgres",
        "purge",
        "project",
        "upgrade",
    ),
    4: (
        "view",
        "ledger",
        "capture",
        "sole",
        "sweeps",
        "compact",
        "ingest",
        "sessions_in",
        "trust",
        "review",
        "decide",
        "pairs",
        "rescreen",
        "audit",
        "export",
        "eval_label",
        "eval_set",
        "evals",
        "replay",
        "rescan",
        "turns_add",
        "turns_drop",
        "turns_file",
        "intent",
        "tokens",
        "fence",
        "needles",
        "residue",
        "erase",
        "backup",
        "setup_clients",
        "setup",
        "setup_files",
        "setup_json",
        "setup_toml",
        "splice",
        "doctor",
        "doctor_check",
        "doctor_client",
        "doctor_file",
        "doctor_http",
        "doctor_notes",
        "doctor_review",
        "doctor_server",
        "doctor_sources",
        "doctor_told",
        "doctor_use",
    ),
    6: ("hook_main",),
}
LEVEL_OF = {name: level for level, names in LEVELS.items() for name in names}
LEAN = frozenset((
    "sqlite3", "json", "re", "sys", "os", "stat", "time", "math", "collections", "hashlib", "hmac", "array", "struct",
    "unicodedata", "operator", "typing", "types", "binascii",
))  # fmt: skip
THIRD = {
    3: {"sqlmodel", "sqlalchemy", "jsonschema", "alembic", "psycopg", "pysqlite3", "ledger_schema"},
    4: {"sqlmodel", "sqlalchemy", "jsonschema"},
    5: {"frontmatter", "yaml", "watchdog", "msgspec"},
    6: {"mcp", "mcp_types", "anyio", "rich", "jsonschema", "h11"},
}


def imports(path: Path) -> set[str]:
    """Return every module that a file imports, wherever in it, with `from ledger import x` as `ledger.x`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            own = node.module in ("ledger", "importers", "mcp_server")
            found |= {f"{node.module}.{alias.name}" if own else node.module for alias in node.names}
    return found


def is_cli(name: str) -> bool:
    """Tell whether a module of `ledger` belongs to the command line."""
    return name == "cli" or name.startswith("cli_")


def level_of(module: str) -> int:
    """Return the level of one of our modules, by its dotted name."""
    package, _, rest = module.partition(".")
    if package == "importers":
        return 5
    if package == "mcp_server":
        return 6
    return 6 if is_cli(rest) else LEVEL_OF[rest]


FILES = sorted(
    path
    for package in ("ledger", "importers", "mcp_server")
    for path in (HOME / package).rglob("*.py")
    if path.name != "__init__.py"
)


def name_of(path: Path) -> str:
    """Return the dotted name of one of our files."""
    return ".".join(path.relative_to(HOME).with_suffix("").parts)


def test_every_module_has_a_level() -> None:
    """A module without a level would escape the rules below."""
    known = {*LEVEL_OF, *(name[7:] for name in map(name_of, FILES) if is_cli(name[7:]))}
    unknown = [name for name in map(name_of, FILES) if name.startswith("ledger.") and name[7:] not in known]

    assert unknown == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_imports_only_what_lies_below(path: Path) -> None:
    """Ours: the same level or below; others': what the level may use."""
    own = level_of(name_of(path))
    wrong = []
    for module in imports(path):
        package = module.partition(".")[0]
        if package in ("ledger", "importers", "mcp_server"):
            if module in ("ledger", "importers", "mcp_server"):
                continue
            other = level_of(module)
            if other > own:
                wrong.append(module)
        elif package not in sys.stdlib_module_names and not any(
            package in THIRD.get(at, ()) for at in THIRD if at <= own
        ):
            wrong.append(module)

    assert wrong == []


@pytest.mark.parametrize("path", [path for path in FILES if level_of(name_of(path)) <= 2], ids=name_of)
def test_a_lean_module_imports_the_standard_library_only(path: Path) -> None:
    """Levels 0 to 2 pay for each import on every prompt."""
    others = {module.partition(".")[0] for module in imports(path)} - {"ledger", "__future__"}

    assert others <= LEAN | {"fcntl", "msvcrt"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_named_doors_are_used(path: Path) -> None:
    """One module appends, and nobody runs other programs or reads the network."""
    text = path.read_text("utf-8")
    name = name_of(path)

    appenders = {"ledger.ledger", "ledger.ingest", "ledger.store_sqlite", "ledger.store_postgres"}
    assert "store.append(" not in text or name in appenders
    starts = {"subprocess"} if name == "ledger.doctor_server" else set()  # docs/decisions/0008
    listens = {"socket"} if name == "mcp_server.http" else set()  # docs/decisions/0016
    assert {"subprocess", "socket", "urllib.request", "http.client", "requests"} & imports(path) == starts | listens
    doors = {"ledger.hook_main", "mcp_server.__main__", "ledger.home"}
    assert "os.environ" not in text or is_cli(name[7:]) or name in doors


def loaded(script: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after a script."""
    code = f"import sys; before = set(sys.modules)\n{script}\nprint('\\n'.join(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    return set(done.stdout.split())


def test_a_query_loads_nothing_heavy(ledger: "ledger.Ledger", path: str) -> None:
    """The whole read path, a query included, loads the standard library's lean part and our own modules."""
    from ledger.model import Draft

    ledger.record(Draft("the pooler refuses connections", "use port 6543", "env", "demo"))
    script = f"from ledger.reader import open_reader\nwith open_reader({path!r}) as r: assert r.query('pooler').hits"

    tops = {name.partition(".")[0] for name in loaded(script)}

    assert not tops & {"sqlmodel", "sqlalchemy", "alembic", "pydantic", "numpy", "jsonschema", "mcp", "rich", "yaml"}
    assert not tops & {"dataclasses", "pathlib", "logging", "argparse", "tomllib", "urllib"}
