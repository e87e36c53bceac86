"""Rows of CSV and JSON lines, read by a map of columns."""

import json
from pathlib import Path

import pytest
from command import Inside, refused

from importers import columns
from importers.files import Unread
from importers.kinds import Parsed
from ledger.errors import BadArgument

MAP = "problem=issue,solution=fix,category=kind,tags=labels,observed_at=when"
ROWS = (
    b"\xef\xbb\xbfissue;fix;kind;labels;when\r\n"
    b'"port\r\nrefused";"use ""6543""";env;db, net;2026-01-02\r\n'
    b"short\r\n"
    b";;;;\r\n"
    b"slow;run -n 2;odd;;1796001310.26\r\n"
    b"none;;env;;x\r\n"
)


def read(folder: Path, raw: bytes, fields: str, kind: str = "csv", project: str | None = "demo") -> Parsed:
    """Read a file of these bytes."""
    path = folder / f"rows.{kind}"
    path.write_bytes(raw)
    return columns.read(str(path), kind, columns.mapped(fields), project)


def test_rows_become_learnings_by_the_map(tmp_path: Path) -> None:
    """A byte order mark, semicolons, a break inside quotes, doubled quotes; of four rows two can be taken."""
    parsed = read(tmp_path, ROWS, MAP)

    first, second = parsed.drafts
    assert (first.problem, first.solution) == ("port\nrefused", 'use "6543"')
    assert (first.category, first.confidence, first.tags) == ("env", "sure", ("db", "net"))
    assert first.observed_at == "2026-01-02T00:00:00.000000Z"
    assert first.source is not None
    assert first.source.line == 2
    assert (second.solution, second.confidence, second.observed_at) == (
        "run -n 2", "ambiguous", "2026-11-30T01:15:10.260000Z",
    )  # fmt: skip
    told = [(one.line, one.code) for one in parsed.diagnostics]
    assert told == [(4, "row"), (6, "category"), (7, "row")]
    assert not parsed.is_complete


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_gives_the_columns(tmp_path: Path, delimiter: str) -> None:
    """A solution may hold the others."""
    raw = f'a{delimiter}b c\n1{delimiter}"x,y;z|w\tv"\n'.encode()

    (draft,) = read(tmp_path, raw, "problem=a,solution=b c").drafts

    assert draft.solution == "x,y;z|w\tv"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_texts_are_read_in_the_encodings_that_say_so(tmp_path: Path, encoding: str) -> None:
    """UTF-16 with its mark, as spreadsheets write it."""
    (draft,) = read(tmp_path, "frage,antwort\nPort?,größer\n".encode(encoding), "problem=frage,solution=antwort").drafts

    assert draft.solution == "größer"


@pytest.mark.parametrize(
    ("raw", "fields", "kind", "words"),
    [
        (b"a,b\n1,2\n", "problem=a,solution=nope", "csv", ("no column nope", "a, b")),
        (b"a,b,b\n1,2,3\n", "problem=a,solution=b", "csv", ("b twice",)),
        (b'{"q": "1", "a": "2"}\n', "problem=q,solution=zz", "jsonl", ("no column zz", "q, a")),
    ],
)
def test_a_map_that_does_not_fit_names_the_columns_that_there_are(
    tmp_path: Path, raw: bytes, fields: str, kind: str, words: tuple[str, ...]
) -> None:
    """Nothing is taken of such a file."""
    with pytest.raises(BadArgument) as error:
        read(tmp_path, raw, fields, kind)

    assert all(word in f"{error.value.message} {error.value.hint}" for word in words)


def test_columns_that_are_named_never_show_a_secret(tmp_path: Path) -> None:
    """The first line of a file of another kind is its data."""
    secret = f"gh{'p'}_{'a1B2' * 9}"
    with pytest.raises(BadArgument) as error:
        read(tmp_path, f"x,{secret}\n".encode(), "solution=fix")

    assert secret not in f"{error.value.message} {error.value.hint}"


@pytest.mark.parametrize(
    "fields", ["", "problem", "problem=a", "mood=a,solution=b", "solution=a,solution=b", "solution="]
)
def test_a_map_that_is_none_is_refused(fields: str) -> None:
    """A field that is none, one twice, one without a column, and a map without a solution."""
    with pytest.raises(BadArgument):
        columns.mapped(fields)


def test_a_quote_that_never_closes_costs_the_rest_and_is_named(tmp_path: Path) -> None:
    """What stands behind it may be rows, so nothing of the file counts as gone."""
    parsed = read(tmp_path, b'a,b\n1,x\n2,"y\n3,z\n', "problem=a,solution=b")

    assert [draft.solution for draft in parsed.drafts] == ["x"]
    assert parsed.diagnostics[0].line == 3
    assert "never closes" in parsed.diagnostics[0].message
    assert not parsed.is_complete


def test_json_lines_reach_into_objects_and_lists(tmp_path: Path) -> None:
    """A key with dots, a list of texts, a list of tags; one line that is none, one without its column."""
    raw = (
        b'{"q": "port?", "a": {"text": ["use 6543", "not 5432"]}, "tags": ["db", 7]}\n\nnope\n{"q": "more"}\n'
        b'{"q": 1, "a": {"text": 2.5}}\n'
    )

    parsed = read(tmp_path, raw, "problem=q,solution=a.text,tags=tags", "jsonl")

    assert [(draft.problem, draft.solution, draft.tags) for draft in parsed.drafts] == [
        ("port?", "use 6543\nnot 5432", ("db",)), ("1", "2.5", ()),
    ]  # fmt: skip
    assert [one.line for one in parsed.diagnostics] == [3, 4]


def test_a_list_of_objects_is_read_as_lines_are(tmp_path: Path) -> None:
    """As most tools write it."""
    parsed = read(tmp_path, b'[\n {"a": "x"},\n 7,\n {"a": "y"}\n]', "solution=a", "jsonl")

    assert [draft.source.line for draft in parsed.drafts if draft.source] == [2, 4]
    assert [one.line for one in parsed.diagnostics] == [3]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(b"", "csv"), (b" \n", "csv"), (b"\n", "jsonl"), (b"\xff\xfe\xff", "csv"), (b'"a"x,b\n1,2\n', "csv")],
)
def test_a_file_without_rows_is_refused_by_name(tmp_path: Path, raw: bytes, kind: str) -> None:
    """Empty, or no text."""
    with pytest.raises(Unread) as refusal:
        read(tmp_path, raw, "solution=ax" if b"x" in raw else "solution=a", kind)

    assert refusal.value.code in ("no-rows", "not-text")


def test_the_limit_of_cells_is_as_it_was_afterwards(tmp_path: Path) -> None:
    """It is one of the whole process; a longer cell costs its row."""
    import csv

    before = csv.field_size_limit()
    parsed = read(
        tmp_path, b"a,b\n1," + b"x" * 200_000 + b"\n2," + b"y" * 2_000_000 + b"\n3,z\n", "problem=a,solution=b"
    )

    assert csv.field_size_limit() == before
    assert {draft.problem.partition(" ")[0] for draft in parsed.drafts} == {"1", "3"}
    assert [one.line for one in parsed.diagnostics] == [3]


def test_the_command_imports_rows_twice_without_adding_and_follows_an_edit(inside: Inside, tmp_path: Path) -> None:
    """With an id a row may change all its words; a row that is gone is retracted."""
    path = tmp_path / "rows.csv"
    path.write_text("n,q,a\n1,port?,use 5432\n2,slow?,use -n 2\n")
    words = ("import", str(path), "--map", "id=n,problem=q,solution=a", "--project", "demo")

    first, second = inside.document(*words), inside.document(*words)
    path.write_text("n,q,a\n1,which one?,now 6543\n")
    third = inside.document(*words)

    assert [one["recorded"] for one in (first, second, third)] == [2, 0, 0]
    assert second["unchanged"] == 2
    assert (third["superseded"], third["retracted"]) == (1, 1)


def test_what_the_command_cannot_read_is_refused(inside: Inside, tmp_path: Path) -> None:
    """A kind that is none, no map, a folder, a name that tells no kind; nothing is written."""
    path = tmp_path / "rows.txt"
    path.write_text("a,b\n1,2\n")

    refused(inside("import", str(path), "--map", "solution=b"), 15, "--kind")
    refused(inside("import", str(path), "--kind", "xml", "--map", "solution=b"), 15, "--kind")
    refused(inside("import", str(path), "--kind", "csv"), 15, "--map")
    refused(inside("import", str(tmp_path), "--kind", "csv", "--map", "solution=b"), 15, "folder")
    refused(inside("import", str(path), "--kind", "csv", "--map", "solution=c"), 15, "a, b")
    assert inside.document("import", str(path), "--kind", "csv", "--map", "problem=a,solution=b")["recorded"] == 1


def test_a_dry_run_of_rows_writes_nothing(inside: Inside, tmp_path: Path) -> None:
    """It says what would come in."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"a": "use uv"}) + "\n")

    done = inside.document("import", str(path), "--map", "solution=a", "--dry-run")

    assert (done["recorded"], done["batches"]) == (1, [])
    assert list(tmp_path.rglob("ledger.db")) == []


def test_a_column_with_a_comma_in_its_name_is_quoted_with_its_field(tmp_path: Path) -> None:
    """Headers are sentences at times; quotes inside a name are the name's."""
    raw = b'"ask, in short","an ""answer"""\nwhy,so\n'

    (draft,) = read(tmp_path, raw, '"problem=ask, in short",solution=an "answer"').drafts

    assert (draft.problem, draft.solution) == ("why", "so")


def test_a_kind_of_rows_that_is_none_is_named(inside: Inside, tmp_path: Path) -> None:
    """What was told is not called untold."""
    (tmp_path / "a.csv").write_text("q,a\nb,c\n")

    done = inside("import", str(tmp_path / "a.csv"), "--kind", "xls", "--map", "solution=a")

    assert "no rows of the kind 'xls'" in done.err
    assert done.code == 15
