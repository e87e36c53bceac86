"""Whatever is stored, what is shown keeps its form: frames, terminal lines, tools' fields, exports, errors, paths."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Inside, Shell
from hypothesis import example, given, settings
from hypothesis import strategies as st
from invariants import PIECES, hidden, hostile, images, live, outside, texts_of
from talk import Talk, talking

from ledger import frame
from ledger.answer import Hit
from ledger.ledger import Ledger
from ledger.model import Draft, new_event_id
from ledger.reader import open_reader
from ledger.recall import Recall

LEARNINGS = 400
"""Learnings of five hostile texts each: 2,000 in all."""

TODAY = "2026-11-30"

HIT = Hit(
    "lrn_" + "a" * 26, "the title", "the problem", "the solution", "env", "demo", [], "current", 2,
    "2026-01-01T00:00:00.000000Z", [], 1.0, None, "sure", bool(0), "2026-01-01", [], [], [], [], None,
)  # fmt: skip

ANY = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=12).map("".join)
"""Texts of pieces that break things, with any letters between them."""


# -- pure -------------------------------------------------------------------------------------------------------------


@settings(max_examples=400)
@given(st.lists(st.tuples(ANY, ANY, ANY, ANY), min_size=1, max_size=4))
@example([("a", "b", "odd ` then https://x.example/a", "demo")])
@example([("a", "b", "`code`https://x.example/a ``https://y.example``` end", "demo")])
@example([("a", "b", "[a [b]](https://x.example/a) [c](<https://x.example/a b>)", "demo")])
def test_a_frame_keeps_every_invariant(texts: list[tuple[str, str, str, str]]) -> None:
    """Closed once, no bracket of its own, nothing hidden, nothing fetched, no address outside code, within budget."""
    found = [HIT._replace(title=a, problem=b, solution=c, project=d) for a, b, c, d in texts]

    block = frame.frame(found, TODAY).text

    assert outside(block) == []
    assert hidden(block) == []
    assert images(block) == []
    assert live(block) == []


@settings(max_examples=400)
@given(ANY)
def test_what_is_cleaned_hides_and_fetches_nothing(text: str) -> None:
    """One function stands before every terminal line and every field of a tool's answer."""
    cleaned = frame.clean(text)

    assert hidden(cleaned) == []
    assert images(cleaned) == []


@settings(max_examples=400)
@given(ANY)
def test_json_that_is_printed_is_exact_and_hides_nothing(text: str) -> None:
    """A program gets the value as it is stored; a terminal gets nothing that it would obey."""
    printed = frame.dumped({"text": text})

    assert json.loads(printed) == {"text": text}
    assert [one for one in hidden(printed) if one.split()[0] not in ("U+200C", "U+200D", "U+FE0E", "U+FE0F")] == []


# -- through every door -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ledger of hostile learnings: titles, problems, solutions, tags and projects."""
    path = tmp_path_factory.mktemp("hostile") / "data" / "ledger.db"
    drafts = []
    for number in range(LEARNINGS):
        title, problem, solution, tag, project = (hostile(5 * number + part) for part in range(5))
        draft = Draft(f"p {problem}", f"s {solution}", "env", f"o {project}", f"t {title}", (f"g {tag}"[:40],))
        drafts.append((new_event_id(), draft, []))
    with Ledger.init(str(path)) as made:
        made.record_all(drafts)
    return path


@pytest.fixture(scope="module")
def ids(file: Path) -> list[str]:
    """Return the ids of all learnings in it."""
    with open_reader(str(file)) as reader:
        return [row[0] for row in reader.rows("SELECT id FROM learning ORDER BY seq", {})]


def test_every_hostile_learning_is_recalled_within_its_frame(file: Path, ids: list[str]) -> None:
    """Each alone and three together, as recall shows them, and as a session begins."""
    with open_reader(str(file)) as reader:
        found = [hit for at in range(0, len(ids), 5) for hit in reader.get(ids[at : at + 5])]
        blocks = [frame.frame(found[at : at + 3], TODAY, "why: x", name="abc").text for at in range(len(found))]
        desk = Recall(reader)
        blocks += [desk.session_start(hit.project, hit.title, f"s{at}").text for at, hit in enumerate(found[:40])]
        desk.close()

    assert len(found) == LEARNINGS
    wrong = [
        one for block in blocks if block for one in (outside(block), hidden(block), images(block), live(block)) if one
    ]
    assert wrong == []


@pytest.fixture
def inside(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command on the hostile ledger."""
    shell = Shell(tmp_path)
    shell.file = file
    return Inside(shell, capsys.readouterr)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", ["show", "history"])
def test_a_terminal_is_sent_nothing_that_it_obeys(
    inside: Inside, ids: list[str], command: str, form: tuple[str, ...]
) -> None:
    """Every learning, line by line; JSON has such characters as escapes."""
    for name in ids:
        done = inside(command, name, *form)

        assert done.code == 0
        assert not {"\x1b", "\x9b"} & set(done.out + done.err)
        assert [one for one in hidden(done.out + done.err) if form == () or one[:5] not in ("U+200", "U+FE0")] == []


LISTS = {
    "list": ("list", "--limit", "50"),
    "query": ("query", "word", "--limit", "50"),
    "recall": ("recall", "word 1.10 www", "--project", "demo"),
    "why": ("why", "word 1.10 www", "--project", "demo"),
    "sql": ("sql", "SELECT title, problem, project, tags FROM current_learnings"),
    "stats": ("stats",),
    "export": ("export",),
    "export as markdown": ("export", "--format", "md"),
}


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", LISTS)
def test_a_list_is_sent_nothing_that_a_terminal_obeys(inside: Inside, command: str, form: tuple[str, ...]) -> None:
    """Tables, frames, views and exports of all of them at once."""
    done = inside(*LISTS[command], *form)

    assert done.code == 0, done.err
    assert not {"\x1b", "\x9b"} & set(done.out + done.err)
    is_json = bool(form) or command == "export"
    assert [one for one in hidden(done.out + done.err) if not is_json or one[:5] not in ("U+200", "U+FE0")] == []


def test_an_export_as_markdown_holds_no_markup_of_a_learning(file: Path, inside: Inside, tmp_path: Path) -> None:
    """In a file too: nothing is fetched or followed by whatever renders it, and no tag begins."""
    target = tmp_path / "out.md"
    done = inside("export", "--format", "md", "--output", str(target))
    text = target.read_text(encoding="utf-8")

    assert done.code == 0
    assert (hidden(text), images(text), live(text)) == ([], [], [])
    assert re.findall(r"<[a-zA-Z/!?]", text) == []


def test_an_export_read_back_says_every_letter(file: Path, inside: Inside, ids: list[str]) -> None:
    """What is escaped for a terminal is the same text to a program."""
    lines = inside("export").out.strip().split("\n")[1:]

    with open_reader(str(file)) as reader:
        stored = {name: reader.show(name) for name in ids}
    for line in lines:
        told = json.loads(line)
        assert told["solution"] == stored[told["id"]]["solution"]
        assert told["title"] == stored[told["id"]]["title"]
    assert len(lines) == LEARNINGS


@pytest.fixture(scope="module")
def talk(file: Path) -> Iterator[Talk]:
    """Return a session of the SDK's client with a server on the hostile ledger."""
    with talking(file, "auto") as made:
        yield made


def test_fields_of_a_tools_answer_hide_and_fetch_nothing(talk: Talk, ids: list[str]) -> None:
    """The model reads the structured content when there is one: each of its strings is as clean as a frame's."""
    answers = [talk.document("get_learnings", ids=ids[at : at + 5]) for at in range(0, len(ids), 5)]
    answers += [talk.document("list_learnings", limit=50), talk.document("query_learnings", query="word", limit=20)]
    answers += [talk.document("ledger_status"), talk.document("learning_history", id=ids[0])]

    texts = [text for answer in answers for text in texts_of(answer)]

    assert len(texts) > 5 * LEARNINGS
    assert [one for text in texts for one in (hidden(text), images(text)) if one] == []


@pytest.mark.parametrize("number", range(0, 60, 3))
def test_an_error_and_a_path_are_as_clean_as_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """A name that somebody chose for a file or an argument is text of theirs: refusals, diagnostics, `--json`."""
    name = hostile(90_000 + number).replace("/", "_").replace("\0", "_") + "\x1b[31m\u202e.md"
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / name).write_bytes(b"# bad \xff\xfe\n- \x1b[2Jx\n")
    shell = Shell(tmp_path)
    inside = Inside(shell, capsys.readouterr)
    said = []
    for words in (
        ("import", str(folder / name), "--project", "demo"),
        ("import", str(folder), "--project", "demo"),
        ("record", "--problem", "p", "--solution", "s", "--category", name),
        ("show", name), ("nosuch" + name,), ("query", "x", "--limit", name), ("list", "--state", name),
        ("config", "set", name, name), ("export", "--output", str(tmp_path / "no" / name)), ("sql", name),
    ):  # fmt: skip
        for form in ((), ("--json",)):
            done = inside(*words, *form)
            said.append(done.out + done.err)

    assert [text for text in said if {"\x1b", "\x9b"} & set(text)] == []
    assert [one for text in said for one in hidden(text)] == []
