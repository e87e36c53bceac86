"""Files and folders that become others while they are read, and names that lead elsewhere."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from command import Inside, Shell
from hooked import environment, payload, ran, repository

from importers import export, files
from importers.files import Unread
from importers.registry import scan_paths
from ledger.model import Reading

CANARY = "canary-of-a-foreign-folder"
ROUNDS = 60


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[None]:
    """Do something over and over in another thread."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            with suppress(OSError):
                act()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """Return a folder outside of what is imported, with a note of the same name that must not be read."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "note.md").write_text(f"The key is {CANARY}.\n")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder to import, with a note two folders down."""
    folder = tmp_path / "root" / "memory" / "deep"
    folder.mkdir(parents=True)
    (folder / "note.md").write_text("Use port 6543.\n")
    return tmp_path / "root"


def texts(readings: list[Reading]) -> str:
    """Return everything that was read."""
    return json.dumps([[draft.solution, draft.problem] for reading in readings for draft in reading.drafts])


@pytest.mark.parametrize("swapped", ["memory", "memory/deep"])
def test_a_folder_that_is_swapped_for_a_link_after_the_listing_leads_nowhere(
    root: Path, foreign: Path, swapped: str
) -> None:
    """Between walk and open any folder of the way may become a link; the file is refused, and counted as unread."""
    (path,) = files.walk(str(root)).files
    folder = root / swapped
    if swapped == "memory":
        (foreign / "deep").mkdir()
        (foreign / "note.md").rename(foreign / "deep" / "note.md")
    folder.rename(f"{folder}.aside")
    folder.symlink_to(foreign)
    assert CANARY in Path(path).read_text()

    with pytest.raises(Unread) as caught:
        files.read_note(path)

    assert caught.value.code == "unreadable"
    assert "is a link now" in caught.value.message


def test_a_folder_that_is_entered_and_not_listed_is_read_through(root: Path) -> None:
    """What lies above needs to be passed through, no more."""
    (root / "memory").chmod(0o300)

    note = files.read_note(str(root / "memory" / "deep" / "note.md"))

    (root / "memory").chmod(0o700)
    assert note.text == "Use port 6543.\n"


def test_a_folder_that_flickers_between_itself_and_a_link_never_lets_the_foreign_note_in(
    root: Path, foreign: Path
) -> None:
    """Scanned over and over while another thread swaps them: what is read is the own note, or nothing."""
    folder, aside, link = root / "memory" / "deep", root / "aside", root / "link"
    link.symlink_to(foreign)

    def flicker() -> None:
        folder.rename(aside)
        link.rename(folder)
        folder.rename(link)
        aside.rename(folder)

    with meanwhile(flicker):
        read = [texts(scan_paths([str(root)], "demo")) for _ in range(ROUNDS)]

    assert CANARY not in "".join(read)
    assert any("6543" in one for one in read)


def test_a_file_that_flickers_between_kinds_is_read_whole_or_not(root: Path, foreign: Path) -> None:
    """A note that becomes a link, a pipe, a folder, another note, nothing: one of its own two texts, or a remark."""
    folder = root / "memory" / "deep"
    path, fresh = folder / "note.md", folder / "fresh"
    long = "Use port 7000. " * 5_000

    def flicker() -> None:
        for make in (
            lambda: fresh.symlink_to(foreign / "note.md"), lambda: os.mkfifo(fresh), lambda: fresh.write_text(long),
            lambda: fresh.write_text("Use port 6543.\n"),
        ):  # fmt: skip
            with suppress(OSError):
                make()
            fresh.replace(path)
        path.unlink()
        path.mkdir()
        path.rmdir()

    with meanwhile(flicker):
        read = []
        for _ in range(100 * ROUNDS):
            with suppress(Unread):
                read.append(files.read_note(str(path)).text)

    assert read
    assert set(read) <= {"Use port 6543.\n", long}


def test_a_note_that_grows_while_it_is_read_costs_no_more_than_the_cap(root: Path) -> None:
    """Another thread appends for as long as it is read; memory and time are bounded, and what was cut is said."""
    path = root / "memory" / "deep" / "note.md"

    with path.open("ab", buffering=0) as file, meanwhile(lambda: file.write(b"more and more\n" * 4_000)):
        lengths = [len(files.read_note(str(path)).text) for _ in range(10)]
    note = files.read_note(str(path))

    assert max(lengths) <= files.NOTE_BYTES
    assert len(note.text) <= files.NOTE_BYTES


def test_an_export_that_grows_while_it_is_read_ends_where_it_ended(root: Path) -> None:
    """Its lines are those of the moment at which it was opened; else a writer that is faster would keep us for ever."""
    path = root / "ledger.jsonl"
    head = json.dumps({"format": export.FORMAT} if hasattr(export, "FORMAT") else {"format": "x"})
    path.write_text(head + "\n" + "{}\n" * 1_000)

    with path.open("ab", buffering=0) as file:
        seen = 0
        for line in files.lines(str(path), export.LINE_BYTES, export.FILE_BYTES):
            seen += len(line)
            file.write(b"{}\n" * 3)

    assert seen == len(head) + 1 + 3 * 1_000


def test_names_that_go_round_in_a_circle_leave_one_learning_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three notes take each other's names between scans, thirty times: three learnings are current, all verifies."""
    memory = tmp_path / "memory"
    memory.mkdir()
    names = ["a.md", "b.md", "c.md"]
    for number, name in enumerate(names):
        (memory / name).write_text(
            f"---\nname: n{number}\ntype: feedback\n---\nUse port {6_000 + number} of host {number}.\n"
        )
    inside = Inside(Shell(tmp_path), capsys.readouterr)
    inside("import", str(memory), "--project", "demo")

    for _ in range(30):
        (memory / "a.md").rename(memory / "x")
        (memory / "b.md").rename(memory / "a.md")
        (memory / "c.md").rename(memory / "b.md")
        (memory / "x").rename(memory / "c.md")
        assert inside("import", str(memory), "--project", "demo").code == 0

    rows = inside.document("list", "--project", "demo")["rows"]
    again = inside.document("import", str(memory), "--project", "demo")
    solutions = sorted(inside.document("show", row["id"])["solution"] for row in rows)
    assert solutions == [f"Use port {6_000 + number} of host {number}." for number in range(3)]
    assert (again["recorded"], again["superseded"], again["retracted"]) == (0, 0, 0)
    assert inside("verify").code == 0


HOSTILE = (
    "../../../escaped", "/tmp/../escaped", "..", ".", "a/b/c", "\\..\\..\\x", "x\0y", "~", "~root/x", "-rf",
    "con", "a" * 5_000,
    "\u202e../x", "queue/../../../x", "%2e%2e%2f", "ledger.db", "ledger.db.anchor", "*", "$HOME", "t-evil", "\ud800",
)  # fmt: skip


def test_no_name_that_a_client_gives_leads_out_of_the_ledgers_folder(tmp_path: Path) -> None:
    """Sessions, agents, transcripts and folders called by paths: files get names of ours, in folders of ours."""
    shell = Shell(tmp_path / "home")
    shell.folder.mkdir()
    assert shell.run("record", "--problem", "p", "--solution", "s", "--project", "../../x").code == 0
    here = repository(tmp_path / "home")
    was = (shell.file.read_bytes(), Path(f"{shell.file}.anchor").read_bytes())
    before = set(tmp_path.rglob("*"))

    for number, name in enumerate(HOSTILE):
        for event in ("stop", "precompact") if number % 2 else ("compact", "tool"):
            given = payload(
                here, session_id=name, agent_id=name, agent_type=name, transcript_path=name, prompt="why does it hang?",
                last_assistant_message="done with it", compact_summary="we did it", source=name, trigger=name,
                tool_name="Write", tool_input={"file_path": f"{here}/{name}/x.md"},
            )  # fmt: skip
            found = ran(event, given, environment(shell.file))
            assert (found.code, found.err) == (0, ""), (name, event)

    made = {path.relative_to(tmp_path) for path in set(tmp_path.rglob("*")) - before}
    data = shell.file.parent.relative_to(tmp_path)
    assert {path.parts[: len(data.parts)] for path in made} == {data.parts}
    assert (shell.file.read_bytes(), Path(f"{shell.file}.anchor").read_bytes()) == was
    assert not Path("/tmp/escaped").exists()
