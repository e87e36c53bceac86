"""A token table or a rule file that is missing or damaged: what goes on without it, and what is said."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command import Shell, refused

import ledger
from ledger import meaning
from ledger.ledger import Ledger
from ledger.model import Draft

HOME = Path(ledger.__file__).resolve().parent.parent
TEXTS = ("--category", "env", "--project", "demo")
PROMPT = "pgcat refuses connections from the docker network with PGX4711, how did we fix pgcat there?"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the program and its data, which a test may spoil."""
    folder = tmp_path_factory.mktemp("installed")
    for name in ("ledger", "importers"):
        shutil.copytree(HOME / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    data = "ledger_schema" if (HOME / "ledger_schema").is_dir() else "schema"
    shutil.copytree(HOME / data, folder / data, ignore=shutil.ignore_patterns("tokens.sqlite"))
    shutil.copy(HOME / data / "tokens.sqlite", folder / "kept")
    return folder


@pytest.fixture
def table(installed: Path) -> Path:
    """Return the token table of that program, whole."""
    (events,) = installed.glob("*schema/events")
    found = events.parent / "tokens.sqlite"
    if found.exists():
        found.unlink()
    shutil.copy(installed / "kept", found)
    return found


@pytest.fixture
def shell(tmp_path: Path, installed: Path) -> Shell:
    """Return the command of that program, with two learnings recorded when its table was whole."""
    made = Shell(tmp_path)
    made.env["PYTHONPATH"] = str(installed)
    return made


def missing(table: Path) -> None:
    """Take it away."""
    table.unlink()


def other_version(table: Path) -> None:
    """Make it one that the gate's numbers were not fitted with."""
    with closing(sqlite3.connect(table)) as raw, raw:
        raw.execute("UPDATE meta SET value = '99' WHERE key = 'version'")


def empty(table: Path) -> None:
    """Leave nothing in it."""
    table.write_bytes(b"")


def garbage(table: Path) -> None:
    """Put something else in its place."""
    table.write_bytes(b"no database at all\n" * 1_000)


def cut(table: Path) -> None:
    """Leave the first half of it."""
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])


def column(name: str, value: str) -> Callable[[Path], None]:
    """Return what puts something of another form into every row."""

    def spoil(table: Path) -> None:
        with closing(sqlite3.connect(table)) as raw, raw:
            raw.execute(f"UPDATE token SET {name} = {value}")

    spoil.__name__ = f"{name}={value}"
    return spoil


def dropped(table: Path) -> None:
    """Leave the version and take the tokens away."""
    with closing(sqlite3.connect(table)) as raw, raw:
        raw.execute("DROP TABLE token")


def nameless(table: Path) -> None:
    """Take the version away."""
    with closing(sqlite3.connect(table)) as raw, raw:
        raw.execute("DELETE FROM meta WHERE key = 'version'")


ROWS = (("vec", "x'0102'"), ("vec", "zeroblob(257)"), ("vec", "'text'"), ("vec", "7"), ("weight", "1 << 60"),
        ("weight", "'heavy'"), ("weight", "-1"), ("weight", "1e300"))  # fmt: skip

FAULTS = [
    *((column(name, value), "the token table is damaged") for name, value in ROWS),
    (dropped, "the token table is damaged"),
    (nameless, "the token table names no version"),
    (missing, "the token table is missing"),
    (other_version, f"the token table is of version 99, this program reads {meaning.VERSION}"),
    (empty, "the token table is damaged"),
    (garbage, "the token table is damaged"),
    (cut, "the token table is damaged"),
]


@pytest.mark.parametrize(("spoil", "told"), FAULTS, ids=[spoil.__name__ for spoil, _ in FAULTS])
def test_words_go_alone_and_stats_says_why(shell: Shell, table: Path, spoil: Callable[[Path], None], told: str) -> None:
    """What was recorded with the table is found without it, writing goes on, and nothing is an error."""
    subject = "pgcat refuses connections from the docker network with PGX4711"
    shell.run("record", "--problem", subject, "--solution", "use port 6543 of pgcat", *TEXTS)
    whole = shell.run("stats", "--json").document["meaning"]
    spoil(table)

    found = shell.run("query", "pgcat refuses", "--project", "demo", "--json")
    shown = shell.run("recall", PROMPT, "--project", "demo", "--json")
    why = shell.run("why", PROMPT, "--project", "demo", "--json")
    recorded = shell.run("record", "--problem", "the kettle whistles", "--solution", "lift the lid", *TEXTS)
    stats, text = shell.run("stats", "--json").document["meaning"], shell.run("stats").out
    rebuilt = shell.run("rebuild")

    assert whole == {"table": meaning.VERSION, "vectors": meaning.VERSION, "words_alone": None}
    assert [hit["problem"] for hit in found.document["hits"]] == [subject]
    assert (shown.code, shown.document["reasons"]["versions"]["tokens"]) == (0, None)
    assert (why.code, recorded.code, rebuilt.code) == (0, 0, 0)
    assert stats["table"] is None
    assert stats["words_alone"] == f"{told}; install the program anew"
    assert f"by words alone: {told}; install the program anew" in text


def test_a_ledger_that_was_filled_without_the_table_says_what_to_do(shell: Shell, table: Path) -> None:
    """A rebuild makes the vectors, and then it goes by meaning too."""
    kept = table.rename(table.with_name("kept.sqlite"))
    shell.run("record", "--problem", "the kettle whistles", "--solution", "lift the lid", *TEXTS)
    kept.rename(table)

    before = shell.run("stats", "--json").document["meaning"]
    shell.run("rebuild")
    after = shell.run("stats").out

    assert before == {
        "table": meaning.VERSION,
        "vectors": None,
        "words_alone": "the ledger has no vectors of this table; run `learnings rebuild`",
    }
    assert f"by words and meaning, table {meaning.VERSION}" in after


def test_a_process_that_does_without_says_so(ledger: Ledger) -> None:
    """Ablations switch it off for themselves."""
    ledger.record(Draft("the marmot cache is cold", "warm it", project="demo"))
    before = meaning.shared()
    try:
        meaning.use(None)

        assert ledger.reader.status()["meaning"]["words_alone"] == "search by meaning is switched off"
        assert len(ledger.reader.query("marmot", project="demo").hits) == 1
    finally:
        meaning.use(before)


def test_a_text_of_the_heaviest_pieces_has_a_direction(table: Path) -> None:
    """Of words of hundreds of letters as many pieces are summed as fit."""
    column("weight", f"{meaning.WEIGHT_MAX}, vec = x'" + "7f" * meaning.DIMS + "'")(table)
    heaviest = meaning.TokenTable(str(table))

    found = heaviest.vector(" ".join(["zq" * 100] * meaning.WORDS_MAX)), heaviest.vector("zq")
    heaviest.close()

    assert found[0] == found[1]


# -- rule files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def rules(installed: Path, table: Path) -> Iterator[Path]:
    """Return the folder of that program's data, which is whole again afterwards."""
    yield table.parent
    data = "ledger_schema" if (HOME / "ledger_schema").is_dir() else "schema"
    for name in ("gate.v1.json", "secrets.v1.json"):
        shutil.copy(HOME / data / name, table.parent / name)


def gate_with(**more: object) -> str:
    """Return the gate's file with other values."""
    data = "ledger_schema" if (HOME / "ledger_schema").is_dir() else "schema"
    told = json.loads((HOME / data / "gate.v1.json").read_text("utf-8"))
    return json.dumps(told | more)


@pytest.mark.parametrize(
    "text",
    [None, "{", gate_with(both={}), gate_with(both={"weights": {"moon": 1.0}, "bias": 0}),
     gate_with(both={"weights": {"mass": 1e999}, "bias": 0}), "[" * 100_000],
)  # fmt: skip
def test_without_the_gate_a_query_goes_by_words_and_recall_says_why_not(
    shell: Shell, rules: Path, text: str | None
) -> None:
    """No fault of the program in any command; `stats` tells what to do."""
    for subject in ("pgcat refuses connections from the docker network with PGX4711", "the kettle whistles"):
        shell.run("record", "--problem", subject, "--solution", "use port 6543 of pgcat", *TEXTS)
    path = rules / "gate.v1.json"
    path.unlink() if text is None else path.write_text(text, "utf-8")

    found = shell.run("query", "pgcat refuses", "--project", "demo", "--json")
    recalled, why = shell.run("recall", PROMPT, "--project", "demo"), shell.run("why", PROMPT, "--project", "demo")
    recorded = shell.run("record", "--problem", "the lid is hot", "--solution", "use a cloth", *TEXTS)

    assert found.document["hits"][0]["problem"].startswith("pgcat")
    refused(recalled, 28, "gate.v1.json, cannot be used", "install the program anew")
    refused(why, 28, "gate.v1.json, cannot be used")
    assert recorded.code == 0
    if text is None or "moon" not in text:
        assert "gate.v1.json, cannot be used" in shell.run("stats").out


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_without_the_rules_for_secrets_nothing_is_recalled(shell: Shell, rules: Path, text: str | None) -> None:
    """Every command that would store or show a text says the same, and a query goes on."""
    shell.run("record", "--problem", "the kettle whistles", "--solution", "lift the lid", *TEXTS)
    shell.run("recall", "the kettle whistles", "--project", "demo")
    path = rules / "secrets.v1.json"
    path.unlink() if text is None else path.write_text(text, "utf-8")

    done = [
        shell.run(*words)
        for words in (
            ("recall", PROMPT, "--project", "demo"), ("why", PROMPT), ("exposures",), ("why", "exp_a"), ("wrong",),
            ("record", "--problem", "a", "--solution", "b", *TEXTS),
        )
    ]  # fmt: skip
    found = shell.run("query", "kettle", "--project", "demo")

    for one in done:
        refused(one, 28, "the redactor failed on")
    assert found.code == 0
