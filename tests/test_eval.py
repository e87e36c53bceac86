"""`learnings eval`: figures by hand, sets read with their faults, loading as the channels would."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command import Inside, refused

from ledger import eval_set, evals, filler, measures
from ledger.measures import Answered, Case, Known


def learning(key: str, **more: Any) -> dict[str, Any]:
    """Return a learning of a set."""
    base: dict[str, Any] = {
        "key": key, "project": "demo", "category": "env", "tags": ["t"], "problem": f"{key} pgcat PGX{len(key)} breaks",
        "solution": f"mend {key}", "supersedes": None, "superseded_by": None, "observed_at": "2026-01-02", "trust": 2,
    }  # fmt: skip
    return base | more


def query(name: str, **more: Any) -> dict[str, Any]:
    """Return a case of a set."""
    base: dict[str, Any] = {
        "id": name, "kind": "plain", "project": "demo", "prompt": "pgcat breaks", "previous_turn": None,
        "category": None, "relevant": [], "acceptable": [], "any_of": [], "wrong": [], "best": None,
    }  # fmt: skip
    return base | more


def raw(folder: Path, learnings: bytes | None, queries: bytes | None) -> str:
    """Write the files of a set as they are given; None leaves one out."""
    folder.mkdir()
    for name, data in (("learnings", learnings), ("queries", queries)):
        if data is not None:
            (folder / f"{name}.jsonl").write_bytes(data)
    return str(folder)


def written(folder: Path, learnings: list[Any], queries: list[Any]) -> str:
    """Write a set; rows that are texts go in as they are."""
    folder.mkdir(exist_ok=True)
    for name, rows in (("learnings", learnings), ("queries", queries)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
    return str(folder)


def test_figures_are_those_that_are_counted_by_hand() -> None:
    """Two cases that want an answer, one that wants silence, copies, a leak, a foreign row and a wrong one."""
    cases = [
        Case("a", "plain", "p", "x" * 10, relevant=("k1", "k2"), any_of=(("k1", "k2"),), best="k2"),
        Case("b", "planted", "p", "x" * 20, relevant=("k3",), wrong=("k4",)),
        Case("c", "silence", "p", "x" * 300, acceptable=("k3",)),
    ]
    known = {name: Known("p", name == "k4") for name in ("k1", "k2", "k3", "k4")} | {
        "k5": Known("q", is_superseded=False)
    }
    answers = {
        "a": Answered(["k1", "k2", "k5"], ["k1", "k2"]),
        "b": Answered(["k4", "k3"], ["k4"]),
        "c": Answered([], ["k3"]),
    }

    found = measures.measured(cases, answers, known)

    assert (found["recall@5"], found["mrr@10"], found["hit@1"]) == (1.0, 0.75, 0.5)
    assert (found["precision@inj"], found["coverage@inj"], found["silence"]) == (0.75, 0.5, 1.0)
    assert (found["leaks"], found["wrong_project"], found["wrong_shown"], found["planted_shown"]) == (1, 1, 1, 1)
    assert (found["redundant@3"], found["best_of_group@1"]) == ({"ranked": 1, "injected": 1}, 0.0)
    assert found["wrong_above_right"] == 1.0
    assert found["silence_by_class"] == {"short": None, "long": 1.0, "after_turn": None}
    assert found["gate"]["these_results"]["silent_when_wanted"] == 0.0
    assert found["gate"]["length_only"]["speaks_between"] == [10, 20]
    assert found["gate"]["length_only"]["balanced"] == 1.0
    assert found["missing_ids"] == 0
    assert found["by_kind"] == {"plain": 1.0, "planted": 1.0, "silence (quiet)": 1.0}


def test_a_set_is_loaded_at_its_dates_through_its_channels(tmp_path: Path, inside: Inside) -> None:
    """Chains redirect, and every answer is told in the keys of the input."""
    rows = [
        learning("new-one", problem="the gateway moved", supersedes="old-one", observed_at="2026-02-01", trust=4),
        learning("old-one", superseded_by="new-one", trust=3),
        *(learning(f"other-{n}", problem=f"kettle {n} whistles", trust=n % 5) for n in range(12)),
    ]
    folder = written(tmp_path / "set", rows, [query("q1", relevant=["new-one"], prompt="pgcat PGX7 breaks")])

    found = inside.document("eval", folder, "--results", str(tmp_path / "out.jsonl"))

    assert (found["recall@5"], found["hit@1"], found["leaks"], found["wrong_project"]) == (1.0, 1.0, 0, 0)
    assert found["took"]["query"]["p95_ms"] > 0
    (line,) = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["ranked"][0] == "new-one"
    assert list(json.loads(line)) == ["id", "ranked", "injected"]


def test_filler_goes_around_a_set(tmp_path: Path, inside: Inside) -> None:
    """A number makes rows of our own; a file brings others, chains included."""
    folder = written(tmp_path / "set", [learning("one")], [query("q1", relevant=["one"])])
    extra = [learning("demo/f-1", superseded_by="demo/f-2"), learning("demo/f-2", supersedes="demo/f-1", trust=4)]
    (tmp_path / "extra.jsonl").write_text("\n".join(map(json.dumps, extra)), "utf-8")

    made = inside.document("eval", folder, "--filler", "700")
    given = inside.document("eval", folder, "--filler", str(tmp_path / "extra.jsonl"))

    assert (made["rows"], given["rows"]) == (701, 3)
    assert made["leaks"] == given["leaks"] == 0


def test_filler_is_the_same_every_time_and_keeps_clear_of_listed_categories() -> None:
    """A tenth lies in the set's projects, and nothing there has a category that a case lists."""
    rows = list(filler.rows(1_000, ["demo", "other"], {"demo": frozenset(("env", "practice"))}))

    assert rows == list(filler.rows(1_000, ["demo", "other"], {"demo": frozenset(("env", "practice"))}))
    assert sum(row["project"] in ("demo", "other") for row in rows) == 100
    assert not [row for row in rows if row["project"] == "demo" and row["category"] in ("env", "practice")]
    assert len({row["problem"] for row in rows}) == 1_000


@pytest.mark.parametrize(
    ("learnings", "queries", "told"),
    [
        ([learning("a") | {"colour": 1}], [], "learnings.jsonl:1: unknown key 'colour'"),
        ([learning("a"), learning("a")], [], "learnings.jsonl:2: the key stands on line 1 already"),
        ([learning("a"), "", "{"], [], "learnings.jsonl:3: not JSON"),
        ([learning("a", observed_at="yesterday")], [], "learnings.jsonl:1: observed_at does not fit"),
        ([learning("a", trust=True)], [], "learnings.jsonl:1: trust does not fit"),
        ([learning("a", supersedes="b")], [], "learnings.jsonl:1: supersedes names no other learning"),
        (["[]"], [], "learnings.jsonl:1: not an object"),
        (
            [learning("a", superseded_by="b"), learning("b", observed_at="2025-01-01")],
            [query("q")],
            ":2: it supersedes",
        ),
        ([learning("a")], [query("q"), query("q")], "queries.jsonl:2: the id stands on line 1 already"),
        ([learning("a")], [{"id": "q", "kind": "k", "project": "p", "prompt": ""}], "no relevant and no acceptable"),
        ([learning("a")], [query("q", relevant=["b"])], "queries.jsonl:1: relevant names a learning that is not in"),
        ([learning("a")], [query("q", relevant=["a"], wrong=["a"])], "a learning is both wrong and right"),
        ([learning("a")], [query("q", best="a")], "best names a learning that is not in relevant"),
        ([learning("a", problem="x" * 5_000)], [query("q")], "learnings.jsonl:1: problem has 5,000"),
        ([learning("a", observed_at="2026-02-30")], [query("q")], "learnings.jsonl:1: observed_at does not fit"),
        ([learning("a", observed_at="0000-01-01")], [query("q")], "learnings.jsonl:1: observed_at does not fit"),
        ([learning("a", problem="x\ud800")], [query("q")], "learnings.jsonl:1: problem does not fit"),
        ([learning("a", tags=["\ud800"])], [query("q")], "learnings.jsonl:1: tags does not fit"),
        ([learning("a", solution="x\0")], [query("q")], "learnings.jsonl:1: solution does not fit"),
        ([learning("a")], [query("q\ud800")], "queries.jsonl:1: id does not fit"),
        ([learning("a")], [query("q", acceptable=["\ud800"])], "queries.jsonl:1: acceptable does not fit"),
        ([learning("a")], [query("q", any_of=["a"])], "queries.jsonl:1: any_of does not fit"),
        ([learning("a")], ['{"id": "q", "id": "r"}'], "queries.jsonl:1: a key stands twice"),
        ([learning("a")], ["[" * 100_000], "queries.jsonl:1: not JSON in UTF-8"),
        ([learning("a")], ['{"id": ' + "9" * 5_000 + "}"], "queries.jsonl:1: not JSON in UTF-8"),
        ([learning("a")], ['{"id": NaN}'], "queries.jsonl:1: not JSON in UTF-8"),
        ([learning("a", observed_at="0001-01-01")], [query("q")], "learnings.jsonl:1: observed_at does not fit"),
        ([learning("a", observed_at="0999-12-31")], [query("q")], "learnings.jsonl:1: observed_at does not fit"),
        (
            [learning("a", superseded_by="b"), learning("b", problem="other")],
            [query("p", relevant=["b"]), query("q", relevant=["a"])],
            "queries.jsonl:2: relevant names a learning that is superseded",
        ),
        (
            [learning("a"), learning("b", project="*"), learning("c", project="else")],
            [query("p", relevant=["a", "b"]), query("q", relevant=["a", "c"])],
            "queries.jsonl:2: relevant names a learning of another project",
        ),
        (
            [learning("a")],
            [query("q", relevant=["a"], project="*")],
            "queries.jsonl:1: relevant names a learning of another project",
        ),
        (
            [learning("a"), learning("b", problem="a  pgcat PGX1 breaks", solution="mend a")],
            [query("q", relevant=["a", "b"])],
            "learnings.jsonl:2: it says the same as the learning 'a'",
        ),
        (
            [learning("a"), learning("b", problem="a pgcat PGX1 breaks", solution="mend a", trust=4)],
            [query("q")],
            "learnings.jsonl:2: it says the same as the learning 'a'",
        ),
        ([learning("a")], [], "queries.jsonl:1: no case"),
        ([learning("a")], ["", "  "], "queries.jsonl:1: no case"),
    ],
)
def test_a_set_with_a_fault_is_refused_with_file_and_line(
    tmp_path: Path, inside: Inside, learnings: list[Any], queries: list[Any], told: str
) -> None:
    """One error; nothing is measured."""
    folder = written(tmp_path / "set", learnings, queries)
    results = tmp_path / "results.jsonl"

    done = inside("eval", folder, "--results", str(results))

    refused(done, 10, told)
    assert len(done.err.splitlines()) == 1
    assert not results.exists()
    assert not list(tmp_path.glob("learnings-eval-*"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep temporary ledgers where a test sees what is left of them."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_a_line_in_another_encoding_is_a_fault(tmp_path: Path, inside: Inside, encoding: str) -> None:
    """JSON lines are UTF-8, whatever a reader could guess."""
    case = json.dumps(query("q", prompt="café"), ensure_ascii=False).encode(encoding)
    folder = raw(tmp_path / "set", json.dumps(learning("a")).encode(), case)

    refused(inside("eval", folder), 10, "queries.jsonl:1: not JSON in UTF-8")


def test_a_byte_order_mark_and_other_line_ends_are_no_faults(tmp_path: Path, inside: Inside) -> None:
    """Editors write them."""
    rows = b"\xef\xbb\xbf" + b"\r\n".join(json.dumps(learning(key)).encode() for key in "ab")

    folder = raw(tmp_path / "set", rows, json.dumps(query("q", relevant=["a"])).encode())

    assert inside.document("eval", folder)["rows"] == 2


def test_a_fault_in_one_file_makes_none_in_the_other(tmp_path: Path, inside: Inside) -> None:
    """A label is not said to lead nowhere because the row it names could not be read."""
    folder = written(tmp_path / "set", [learning("a", colour=1)], [query("q", relevant=["a"])])

    done = inside("eval", folder)

    refused(done, 10, "learnings.jsonl:1: unknown key 'colour'; nothing was measured")
    assert "queries.jsonl" not in done.err


@pytest.mark.parametrize("faulty", [{"problem": "x" * 5_000}, {"observed_at": "2026-02-30"}, {"trust": 9}, {"x": 1}])
def test_a_fault_of_the_filler_is_named_with_file_and_line(
    tmp_path: Path, inside: Inside, faulty: dict[str, Any]
) -> None:
    """What goes in by the hundred is still told by the line."""
    folder = written(tmp_path / "set", [learning("a")], [query("q")])
    around = tmp_path / "around.jsonl"
    around.write_text("\n".join(map(json.dumps, [learning("b"), learning("c") | faulty, learning("d")])), "utf-8")

    done = inside("eval", folder, "--filler", str(around))

    refused(done, 10, f"{around}:2: ")
    assert not list(tmp_path.glob("learnings-eval-*"))


@pytest.mark.parametrize("missing", ["learnings.jsonl", "queries.jsonl"])
@pytest.mark.parametrize("kind", ["nothing", "folder", "pipe"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, inside: Inside, missing: str, kind: str) -> None:
    """A pipe is not waited for."""
    folder = written(tmp_path / "set", [learning("a")], [query("q")])
    path = Path(folder, missing)
    path.unlink()
    if kind != "nothing":
        path.mkdir() if kind == "folder" else os.mkfifo(path)

    refused(inside("eval", folder), 15, f"{path}: ", "nothing was measured")


def test_where_results_cannot_go_is_said_before_anything_is_measured(tmp_path: Path, inside: Inside) -> None:
    """Minutes of asking are not thrown away; the set is not even read."""
    written(tmp_path / "set", ["{"], [query("q")])

    for place in (tmp_path / "nowhere" / "r.jsonl", tmp_path, tmp_path / "set" / "learnings.jsonl" / "r"):
        refused(inside("eval", str(tmp_path / "set"), "--results", str(place)), 30, str(place))


def test_any_prompt_is_a_case(tmp_path: Path, inside: Inside) -> None:
    """Half characters, NUL, nothing at all, much of it: a set may hold what people send."""
    prompts = ["\ud800 pgcat\0", "", " \n", "🙂" * 50, "pgcat " * 100_000]
    cases = [query(f"q{at}", prompt=text, previous_turn="\udfff") for at, text in enumerate(prompts)]
    folder = written(tmp_path / "set", [learning("a")], cases)

    done = inside.document("eval", folder, "--results", str(tmp_path / "out.jsonl"))

    assert (done["cases"], len((tmp_path / "out.jsonl").read_text("utf-8").splitlines())) == (5, 5)


def test_faults_of_both_files_are_told_together(tmp_path: Path, inside: Inside) -> None:
    """Five are named, the rest is counted."""
    folder = written(tmp_path / "set", ["{"] * 4, ["{"] * 4)

    refused(inside("eval", folder), 10, "learnings.jsonl:1", "queries.jsonl:1", "and 3 more", "nothing was measured")


@pytest.mark.parametrize("words", [("eval",), ("eval", "nowhere"), ("eval", "a", "b"), ("eval", "label", "x", "y")])
def test_what_is_no_set_is_refused(inside: Inside, words: tuple[str, ...]) -> None:
    """A missing folder, or words that mean nothing, are a bad argument."""
    refused(inside(*words), 15)


def test_rows_come_in_the_order_of_their_dates_and_chains() -> None:
    """What replaces another on the same day comes after it."""
    rows = [eval_set.Row(key, "p", "env", (), "p", "s", olds, "2026-01-01", 2, line) for line, (key, olds) in
            enumerate((("c", ("b",)), ("b", ("a",)), ("a", ())), start=1)]  # fmt: skip

    assert [row.key for row in evals.in_order(rows, "f")] == ["a", "b", "c"]


@pytest.mark.parametrize("number", ["-3", "1e3", "1.5", "+7", "nan", "1_000", "9999999", "12345678901"])
def test_a_number_of_filler_that_cannot_be_is_no_missing_file(tmp_path: Path, inside: Inside, number: str) -> None:
    """It says what may be given."""
    folder = written(tmp_path / "set", [learning("a")], [query("q")])

    refused(inside("eval", folder, "--filler", number), 15, f"--filler {number}: ", "1,000,000; nothing was measured")
