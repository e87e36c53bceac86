"""`learnings show --source`: what stands today where a learning was read, and what is around it."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell
from said import Session

TOKEN = "gh" + "p_" + "Kq3Vt8Zx1Bn6Mw4Rj9Lp2Hd7Fs5Gc0Ya6T1b"
NOTE = f"""# Shop

## Deploy

The deploy script needs node 22; with 20 it fails at the build step.

## Database

The staging database listens on port 6432.

## Style

{"A long section makes a learning of each section of a note. " * 30}
"""


@pytest.fixture
def inside(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Return a command without a ledger; its home is empty."""
    shell = Shell(tmp_path / "home")
    shell.folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(shell.folder))
    return Inside(shell, capsys.readouterr)


@pytest.fixture
def note(inside: Inside, tmp_path: Path) -> Path:
    """Return a note that was imported."""
    path = tmp_path / "notes" / "deploy.md"
    path.parent.mkdir()
    path.write_text(NOTE)
    inside.document("import", str(path), "--project", "shop")
    return path


def of(inside: Inside, words: str) -> str:
    """Return the id of the learning that says these words."""
    hits = inside.document("query", words)["hits"]
    return str(next(hit["id"] for hit in hits if words in hit["solution"]))


def evidence(inside: Inside, words: str) -> dict[str, Any]:
    """Return what stands today at the one source of the learning that says these words."""
    (one,) = inside.document("show", of(inside, words), "--source")["evidence"]
    return dict(one)


def test_what_stands_where_it_was_read_is_shown_with_the_lines_around(inside: Inside, note: Path) -> None:
    """The document has the line and its neighbours; a person sees the lines with their numbers."""
    found = evidence(inside, "port 6432")
    text = inside("show", of(inside, "port 6432"), "--source").out

    assert (found["status"], found["path"], found["kind"]) == ("stands", str(note), "memory-note")
    near = {one["line"]: one["text"] for one in found["around"]}
    assert near[9] == "The staging database listens on port 6432."
    assert f"stands  {note}:{found['line']}: the file says it there" in text
    assert "     9  The staging database listens on port 6432." in text


def grown(path: Path) -> None:
    """Put lines above."""
    path.write_text(NOTE.replace("step.\n", "step.\n\nOne more line.\nAnd another.\n"))


def renamed(path: Path) -> None:
    """Put the text under another heading."""
    path.write_text(NOTE.replace("## Database", "## Stores of data"))


def rewritten(path: Path) -> None:
    """Let the place say something else."""
    path.write_text(NOTE.replace("6432", "7654"))


def cut(path: Path) -> None:
    """Take the section out."""
    path.write_text(NOTE[: NOTE.index("## Database")] + NOTE[NOTE.index("## Style") :])


def to_bytes(path: Path) -> None:
    """Let the file be no text."""
    path.write_bytes(b"\0\xff" * 100)


@pytest.mark.parametrize(
    ("act", "status", "words"),
    [
        (grown, "stands", "the file says it there"),
        (renamed, "moved", "another place"),
        (rewritten, "changed", "something else stands there now"),
        (cut, "gone", "nothing stands at this place"),
        (Path.unlink, "gone", "no longer there"),
        (to_bytes, "unread", "skipped"),
    ],
)
def test_what_became_of_the_place_is_said(
    inside: Inside, note: Path, act: Callable[[Path], None], status: str, words: str
) -> None:
    """The learning is what it was; of the file it is told what happened to it."""
    act(note)

    found = evidence(inside, "port 6432")

    assert (found["status"], words in found["message"]) == (status, True), found


def test_what_stands_there_now_is_shown_where_it_changed(inside: Inside, note: Path) -> None:
    """Otherwise a person would have to open the file to see what replaced it."""
    rewritten(note)

    found = evidence(inside, "port 6432")

    assert "port 7654" in " ".join(one["text"] for one in found["around"])


def test_no_secret_and_nothing_private_of_the_file_is_shown(inside: Inside, note: Path) -> None:
    """What came into the file since is masked like what is stored."""
    more = f"6432.\nThe token is {TOKEN}. <private>the salary of Ada</private>\n"
    note.write_text(NOTE.replace("6432.\n", more))

    done = inside("show", of(inside, "port 6432"), "--source")

    assert "port 6432" in done.out
    assert TOKEN not in done.out
    assert "salary" not in done.out
    assert "[REDACTED:" in done.out


def test_terminal_sequences_of_the_file_are_not_shown(inside: Inside, note: Path) -> None:
    """A file may have become hostile since it was read."""
    note.write_text(NOTE.replace("6432.\n", "6432. \x1b]0;owned\x07 \x1b[2J\n"))

    assert "\x1b" not in inside("show", of(inside, "port 6432"), "--source").out


def test_a_sentence_of_a_session_is_shown_with_the_turns_around_it(inside: Inside, tmp_path: Path) -> None:
    """The session is read again, so that this works without the index of past turns too."""
    session = Session().says("hi").runs("make test", "2 failed", fails=True)
    session.says("remember that the staging database listens on port 6432").runs("make test", "ok")
    path = session.at(tmp_path / "t")
    inside.document("import", path)

    found = evidence(inside, "port 6432")

    assert (found["status"], found["line"]) == ("stands", 4)
    assert [one["who"] for one in found["around"]][:4] == ["person", "agent", "tool", "person"]
    assert "port 6432" in found["around"][3]["text"]


def test_a_session_that_the_client_has_removed_is_said_to_be_gone(inside: Inside, tmp_path: Path) -> None:
    """It keeps sessions for 30 days; the learning stays."""
    path = Path(Session().says("remember that the staging database listens on port 6432").at(tmp_path / "t"))
    inside.document("import", str(path))
    path.unlink()

    assert evidence(inside, "port 6432")["status"] == "gone"


def test_a_row_of_a_table_is_found_again_by_its_importer(inside: Inside, tmp_path: Path) -> None:
    """Whatever kind a file is of, what reads it tells what stands there."""
    path = tmp_path / "old.jsonl"
    path.write_text(
        '{"type":"entity","name":"Pooler","entityType":"service","observations":["listens on port 6432"]}\n'
    )
    inside.document("import", str(path))

    before = evidence(inside, "port 6432")
    path.write_text('{"type":"entity","name":"Pooler","entityType":"service","observations":["listens on 7654"]}\n')
    after = inside.document("show", of(inside, "port 6432"), "--source")["evidence"][0]

    assert before["status"] == "stands"
    assert after["status"] in ("changed", "gone")


def test_what_stands_in_a_database_has_no_line(inside: Inside, tmp_path: Path) -> None:
    """No number is made up for a row: neither in the document nor before the text."""
    with sqlite3.connect(tmp_path / "claude-mem.db") as made:
        made.execute("CREATE TABLE observations (id INTEGER PRIMARY KEY, type TEXT, text TEXT)")
        made.execute("INSERT INTO observations VALUES (1, 'decision', 'the pooler listens on port 6432')")
    made.close()
    inside.document("import", str(tmp_path / "claude-mem.db"))

    found = evidence(inside, "port 6432")

    assert (found["status"], found["line"], found["around"][0]["line"]) == ("stands", None, None)
    assert "\n              the pooler" in inside("show", of(inside, "port 6432"), "--source").out


def test_what_was_never_read_from_a_file_says_so(inside: Inside) -> None:
    """A learning of a person at the command line has no source."""
    name = inside.record()["id"]

    assert inside.document("show", name, "--source")["evidence"] == []
    assert "it was said at the command line" in inside("show", name, "--source").out


@pytest.mark.parametrize("name", ["faq.csv", "faq.jsonl"])
def test_a_row_by_a_map_of_columns_is_shown(inside: Inside, tmp_path: Path, name: str) -> None:
    """The columns are not known any more, and the lines are: the row stands, moves, changes."""
    rows = {
        "faq.csv": [
            "q;a\n",
            'Which port has the pooler?;"Port 7654; the old\none refuses"\n',
            "Why so?;It was moved\n",
        ],
        "faq.jsonl": [
            '{"q": "Since when?", "a": "Since May"}\n',
            '{"q": "Which port has the pooler?", "a": "Port 7654; the old\\none refuses"}\n',
        ],
    }[name]
    path = tmp_path / name
    path.write_text("".join(rows))
    inside.document("import", str(path), "--map", "problem=q,solution=a", "--project", "shop")

    stands = evidence(inside, "Port 7654")
    path.write_text(rows[0] + rows[-1].replace("Port 7654", "Port 1") + "\n" * 6 + "".join(rows[1:]))
    moved = evidence(inside, "Port 7654")
    path.write_text("".join(rows).replace("Port 7654", "Port 6543"))
    changed = evidence(inside, "Port 7654")

    assert (stands["status"], stands["line"]) == ("stands", 2)
    assert "Port 7654" in stands["around"][1]["text"]
    assert moved["status"] == "moved"
    assert (changed["status"], "Port 6543" in changed["around"][1]["text"]) == ("changed", True)


def test_a_sentence_of_a_session_that_says_something_else_now_has_changed(inside: Inside, tmp_path: Path) -> None:
    """The line is there with its id, and what it says is another thing: that is no evidence for what was read."""
    path = Path(Session().says("hi").says("remember that the staging database listens on port 6432").at(tmp_path / "t"))
    inside.document("import", str(path))
    path.write_text(path.read_text().replace("port 6432", "port 64321"))

    found = evidence(inside, "port 6432")

    assert (found["status"], found["line"]) == ("changed", 2)
    assert "port 64321" in found["around"][1]["text"]


def test_what_mended_a_failure_is_read_anew_to_tell_whether_it_stands(inside: Inside, tmp_path: Path) -> None:
    """It is no sentence of the session: its place is the line where the command succeeded."""
    session = Session().runs("make lint", "Error: ruff: command not found", fails=True)
    path = Path(session.runs("uv tool install ruff", "Installed").runs("make lint", "ok").at(tmp_path / "t"))
    name = inside.document("import", str(path))["remedies"][0]["id"]

    stands = inside.document("show", name, "--source")["evidence"][0]["status"]
    path.write_text(path.read_text().replace("install ruff", "install flake"))
    changed = inside.document("show", name, "--source")["evidence"][0]["status"]

    assert (stands, changed) == ("stands", "changed")


@pytest.mark.parametrize("name", ["quoted.csv", "quoted.jsonl"])
def test_a_row_stands_by_all_that_its_cell_says(inside: Inside, tmp_path: Path, name: str) -> None:
    """Marks of quoting do not hide it, and a change behind its first words is a change."""
    long = f'"Port 7654", says ops, and {"the pooler waits " * 6}for 30 seconds'
    rows = {
        "quoted.csv": 'q|a\nWhich port?|"' + long.replace('"', '""') + '"\n',
        "quoted.jsonl": json.dumps({"q": "Which port?", "a": long}) + "\n",
    }[name]
    path = tmp_path / name
    path.write_text(rows)
    inside.document("import", str(path), "--map", "problem=q,solution=a", "--project", "shop")

    stands = evidence(inside, "Port 7654")["status"]
    path.write_text(rows.replace("30 seconds", "90 seconds"))

    assert (stands, evidence(inside, "Port 7654")["status"]) == ("stands", "changed")
