"""Files a stranger may have put there, and exports of a ledger: nothing is followed, nothing blocks."""

import json
import os
import socket
from pathlib import Path

import pytest

from importers import export, files, registry
from importers.files import Unread
from ledger.errors import BadArgument
from ledger.model import Reading, Source

NOTE = "---\nname: Pooler port\ntype: reference\n---\nThe pooler listens on 6543.\n"


def scan(*paths: Path, project: str | None = None) -> Reading:
    """Return the one reading of these paths."""
    (reading,) = registry.scan_paths([str(path) for path in paths], project)
    return reading


def codes(reading: Reading) -> list[tuple[str, str]]:
    """Return file name and code of every diagnostic."""
    return [(os.path.basename(one.file), one.code) for one in reading.diagnostics]


def hostile(folder: Path) -> None:
    """Fill a folder with what must not be read, beside one good note."""
    folder.mkdir(exist_ok=True)
    (folder / "good.md").write_text(NOTE)
    (folder / "link.md").symlink_to("/etc/passwd")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "linked").symlink_to("/etc")
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    (folder / "folder.md" / "inside.md").write_text(NOTE.replace("6543", "6544"))
    with (folder / "sparse.md").open("wb") as sparse:
        sparse.truncate(1 << 40)
    (folder / "latin.md").write_bytes("caf\xe9\n".encode("latin-1"))
    (folder / "nul.md").write_bytes(b"a\0b")
    (folder / os.fsdecode(b"bad\xff.md")).write_text(NOTE)


def test_hostile_files_cost_a_diagnostic_each_and_none_of_their_neighbours(tmp_path: Path) -> None:
    """Links, pipes, giants and bytes that are no text are left out by name."""
    hostile(tmp_path / "memory")

    reading = scan(tmp_path / "memory")

    assert [draft.solution for draft in reading.drafts] == [
        "The pooler listens on 6544.",
        "The pooler listens on 6543.",
    ]
    assert sorted(codes(reading)) == [
        ("bad\\xff.md", "file-name"),
        ("folder.md", "directory"),
        ("latin.md", "not-text"),
        ("link.md", "symlink"),
        ("loop.md", "symlink"),
        ("nul.md", "nul"),
        ("pipe.md", "not-regular"),
        ("sparse.md", "too-large"),
        ("zero.md", "symlink"),
    ]


def test_what_exists_and_was_not_read_is_unread(tmp_path: Path) -> None:
    """A file that turned unreadable has not gone, so nothing is retracted for it."""
    hostile(tmp_path / "memory")

    unread = {os.path.basename(path) for path in scan(tmp_path / "memory").unread}

    assert {"link.md", "pipe.md", "sparse.md", "latin.md", "nul.md"} <= unread
    assert "good.md" not in unread


def test_a_named_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """Folders above it may be links, the file itself may not."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "note.md").write_text(NOTE)
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "link.md").symlink_to("real/note.md")

    through_folder, through_link = scan(tmp_path / "alias" / "note.md"), scan(tmp_path / "link.md")

    assert [draft.source.path for draft in through_folder.drafts if draft.source] == [
        str(tmp_path / "real" / "note.md")
    ]
    assert through_link.drafts == []
    assert codes(through_link) == [("link.md", "symlink")]


def test_a_socket_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is no regular file is refused by its kind."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.md")

        with pytest.raises(Unread) as caught:
            files.read_note("s.md")

    assert caught.value.code in ("not-regular", "unreadable")


def test_a_second_name_of_somebody_elses_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hard link passes every check for links, so owner and count are looked at."""
    note = tmp_path / "a.md"
    note.write_text(NOTE)
    os.link(note, tmp_path / "b.md")
    own = files.read_note(str(note)).text
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises(Unread, match="somebody else") as caught:
        files.read_note(str(note))

    assert own == NOTE
    assert caught.value.code == "hard-link"


def test_a_file_of_exactly_the_cap_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    """The cap is in bytes and inclusive."""
    note = tmp_path / "a.md"
    note.write_bytes(b"x" * 101)

    with pytest.raises(Unread) as caught:
        files.read_bytes(str(note), 100)

    assert caught.value.code == "too-large"
    assert files.read_bytes(str(note), 101) == b"x" * 101
    assert files.read_head(str(note), 5) == b"xxxxx"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\xef\xbb\xbfa\r\nb\rc\n", "a\nb\nc\n"),
        ("a\nb".encode("utf-16"), "a\nb"),
        (b"\xfe\xff\x00a\x00\r\x00\n", "a\n"),
        ("日本\u2028語".encode(), "日本\u2028語"),
        (b"", ""),
    ],
)
def test_text_is_decoded_without_mark_and_with_one_kind_of_line_end(raw: bytes, text: str) -> None:
    """A byte order mark goes, CRLF and CR become LF, and only LF ends a line."""
    assert files.decoded(raw) == text


@pytest.mark.parametrize(
    ("raw", "code"), [(b"ok\n\xff\xfa", "not-text"), (b"\xff\xfea", "not-text"), (b"\xff\xfe\x00\x00", "nul")]
)
def test_bytes_that_are_no_text_are_named_with_their_line(raw: bytes, code: str) -> None:
    """The diagnostic tells where, and quotes nothing."""
    with pytest.raises(Unread) as caught:
        files.decoded(raw)

    assert caught.value.code == code


def test_a_folder_is_walked_by_name_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth and count are bounded and said; folders that hold no notes are not entered."""
    deep = tmp_path / "memory"
    for name in ("b", "a", "node_modules"):
        (deep / name).mkdir(parents=True)
        (deep / name / "x.MD").write_text(NOTE)
    (deep / "a" / "deeper" / "deepest").mkdir(parents=True)
    (deep / "a" / "deeper" / "y.md").write_text(NOTE)
    (deep / "a" / "deeper" / "deepest" / "z.md").write_text(NOTE)
    monkeypatch.setattr(files, "DEPTH_MAX", 2)

    found = files.walk(str(deep))

    assert [path.removeprefix(f"{deep}/") for path in found.files] == ["a/x.MD", "a/deeper/y.md", "b/x.MD"]
    assert [(one.code, os.path.basename(one.file)) for one in found.diagnostics] == [("too-deep", "deeper")]


def test_a_folder_of_too_many_entries_is_not_read_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not listed may still be there."""
    for number in range(6):
        (tmp_path / f"{number}.md").write_text(NOTE)
    monkeypatch.setattr(files, "ENTRIES_MAX", 5)

    reading = scan(tmp_path)

    assert reading.drafts == []
    assert reading.unread == (str(tmp_path),)
    assert codes(reading) == [(tmp_path.name, "too-many")]


def test_a_folder_that_cannot_be_listed_is_said_and_loses_nothing(tmp_path: Path) -> None:
    """It may have gone between two looks, or belong to somebody else."""
    found = files.walk(str(tmp_path / "gone"))

    assert found.unread == [str(tmp_path / "gone")]
    assert [one.code for one in found.diagnostics] == ["unreadable"]


@pytest.mark.parametrize(
    ("name", "code"), [("gone.md", "not-found"), ("a\0b.md", "unreadable"), ("x/y.md", "unreadable")]
)
def test_a_file_that_cannot_be_opened_is_named_by_why(tmp_path: Path, name: str, code: str) -> None:
    """Missing, not nameable, or below something that is no folder."""
    (tmp_path / "x").write_text(NOTE)

    with pytest.raises(Unread) as caught:
        files.read_note(str(tmp_path / name))

    assert caught.value.code == code


def test_a_path_that_does_not_exist_is_an_error_when_it_is_the_only_one(tmp_path: Path) -> None:
    """Beside others it is a diagnostic."""
    (tmp_path / "a.md").write_text(NOTE)

    with pytest.raises(BadArgument, match="no such file"):
        scan(tmp_path / "gone")
    reading = scan(tmp_path / "gone", tmp_path / "a.md")

    assert len(reading.drafts) == 1
    assert codes(reading) == [("gone", "not-found")]


def test_a_file_of_an_unknown_kind_is_a_diagnostic(tmp_path: Path) -> None:
    """Neither a note nor an export."""
    (tmp_path / "a.txt").write_text("hello")

    reading = scan(tmp_path / "a.txt")

    assert (reading.drafts, codes(reading)) == ([], [("a.txt", "unknown-kind")])


def test_overlapping_paths_are_read_once(tmp_path: Path) -> None:
    """A folder and a file in it name the same note, and progress counts it once."""
    (tmp_path / "a.md").write_text(NOTE)
    steps: list[tuple[int, int]] = []

    (reading,) = registry.scan_paths([str(tmp_path), str(tmp_path / "a.md")], "demo", lambda *at: steps.append(at))

    assert len(reading.drafts) == 1
    assert steps == [(1, 1)]


# -- exports ----------------------------------------------------------------------------------------------------------

HEADER = {"format": "learning-ledger-export", "version": 1, "ledger_id": "0b9c", "head": {"seq": 3, "hash": "00"}}
ROW = {
    "id": "lrn_aaaa",
    "title": "Pooler port",
    "problem": "where does the pooler listen",
    "solution": "on 6543",
    "category": "env",
    "project": "demo",
    "tags": ["db"],
    "state": "current",
    "trust": 4,
    "recorded_at": "2026-11-30T00:00:00.000000Z",
    "observed_at": "2026-10-01T00:00:00Z",
    "supersedes": [],
    "superseded_by": [],
    "confidence": "sure",
    "sources": [],
}


def lines(*rows: object) -> list[bytes]:
    """Return the lines of an export with these rows; bytes are taken as they are."""
    return [row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in (HEADER, *rows)]


def test_an_export_comes_back_as_drafts_with_what_became_of_them() -> None:
    """States and links are told beside the drafts; what the file claims about trust is not believed."""
    old = {**ROW, "id": "lrn_bbbb", "state": "superseded", "observed_at": None, "superseded_by": ["lrn_aaaa"]}
    placed = {**ROW, "sources": [{"kind": "memory-note", "locator": "memory-note:/m/a.md#"}]}

    parsed = export.parse(lines(placed, old), "/x/e.jsonl")

    draft, replaced = parsed.drafts
    assert (draft.problem, draft.solution, draft.category, draft.project, draft.tags) == (
        "where does the pooler listen",
        "on 6543",
        "env",
        "demo",
        ("db",),
    )
    assert draft.source == ("export", "export:0b9c:lrn_aaaa", "/x/e.jsonl", 2)
    assert draft.observed_at == "2026-10-01T00:00:00.000000Z"
    assert replaced.observed_at == "2026-11-30T00:00:00.000000Z"
    assert parsed.past.replaced == {"export:0b9c:lrn_aaaa": ("export:0b9c:lrn_bbbb",)}
    assert parsed.past.fates == {"export:0b9c:lrn_aaaa": "current", "export:0b9c:lrn_bbbb": "superseded"}
    assert parsed.past.origins["export:0b9c:lrn_aaaa"] == (Source("origin", "origin:memory-note:/m/a.md#"),)
    assert parsed.whole == {"export:0b9c:lrn_aaaa", "export:0b9c:lrn_bbbb"}


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[1]",
        b"\xff{}",
        b'{"id": "a", "id": "b"}',
        b'{"id": NaN}',
        b'{"n": ' + b"9" * 5_000 + b"}",
        b'{"id": "\\ud800"}',
        b'{"id": "a\\u0000"}',
        b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}",
        b"[" * 200_000,
        b'{"id": "' + b"x" * (1 << 20) + b'"}',
        json.dumps({**ROW, "category": "other"}).encode(),
        json.dumps({**ROW, "problem": " "}).encode(),
        json.dumps({**ROW, "state": "gone"}).encode(),
        json.dumps({**ROW, "solution": 7}).encode(),
    ],
)
def test_a_bad_line_of_an_export_costs_only_itself(line: bytes) -> None:
    """JSON that readers disagree about is refused with its line number, and nothing of it is quoted."""
    parsed = export.parse(lines(line + b"\n", ROW), "e.jsonl")

    assert [draft.solution for draft in parsed.drafts] == ["on 6543"]
    assert [(one.line, one.code) for one in parsed.diagnostics] == [(2, "export-line")]
    assert not parsed.is_complete


def test_another_version_of_the_export_is_named_and_not_read() -> None:
    """A newer format may mean something else by the same keys."""
    parsed = export.parse([json.dumps({**HEADER, "version": 2}).encode(), *lines(ROW)[1:]], "e.jsonl")

    assert parsed.drafts == []
    assert "version 1" in parsed.diagnostics[0].message


def test_lines_without_text_are_no_lines_and_a_foreign_header_ends_the_reading() -> None:
    """A file that only looks like an export gives nothing."""
    blank = export.parse([*lines(), b"\n", *lines(ROW)[1:]], "e.jsonl")
    foreign = export.parse([b'{"format": "other"}\n', *lines(ROW)[1:]], "e.jsonl")

    assert len(blank.drafts) == 1
    assert (foreign.drafts, len(foreign.diagnostics)) == ([], 1)


def test_an_export_file_is_recognised_and_read_at_the_lowest_trust(tmp_path: Path) -> None:
    """A line that is too long is passed over without holding it all, and the next one counts right."""
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(b"".join(lines(b'{"x": "' + b"y" * (3 << 20) + b'"}\n', ROW)))

    reading = scan(file)

    assert (reading.importer, reading.trust) == ("export", 1)
    assert [draft.source.line for draft in reading.drafts if draft.source] == [3]
    assert reading.roots == ()


def test_an_export_larger_than_any_is_not_read(tmp_path: Path) -> None:
    """A sparse file can claim any size."""
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(b"".join(lines(ROW)))
    os.truncate(file, export.FILE_BYTES + 1)

    reading = scan(file)

    assert (reading.drafts, codes(reading)) == ([], [("ledger.jsonl", "too-large")])


def test_a_whole_export_covers_its_file(tmp_path: Path) -> None:
    """Then what an earlier export in that file had and this one has not is gone."""
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(b"".join(lines(ROW)))

    assert scan(file).roots == (str(file),)


def test_lines_that_are_no_text_are_left_out_and_their_neighbours_read(tmp_path: Path) -> None:
    """One byte of another encoding costs its line; the file counts as not read whole, so nothing is taken back."""
    note = tmp_path / "memory" / "MEMORY.md"
    note.parent.mkdir()
    note.write_bytes("- caf\xe9 one\n".encode("latin-1") + b"- port 6543\r\n- \xff\n")

    reading = scan(note.parent)

    assert [draft.solution for draft in reading.drafts] == ["port 6543"]
    assert [(one.line, one.code) for one in reading.diagnostics] == [(1, "not-text")]
    assert "1 more" in reading.diagnostics[0].message
    assert (list(reading.unread), reading.whole) == ([str(note)], frozenset())


def test_a_note_beyond_the_cap_is_read_up_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagnostic tells the limit and the first line that was not read; what stands behind it has not gone."""
    note = tmp_path / "memory" / "MEMORY.md"
    note.parent.mkdir()
    note.write_text("- first rule\n- second rule\n- third rule\n")
    monkeypatch.setattr(files.read_note, "__defaults__", (30,))

    reading = scan(note.parent)

    assert [draft.solution for draft in reading.drafts] == ["first rule", "second rule"]
    assert [(one.line, one.code) for one in reading.diagnostics] == [(3, "too-large")]
    assert (list(reading.unread), reading.whole) == ([str(note)], frozenset())


def test_what_the_client_keeps_beside_a_session_is_not_looked_at(tmp_path: Path) -> None:
    """A copy of its folders holds what subagents are and long outputs of tools: none of them is a failed import."""
    beside = tmp_path / "copy" / "0b0c0d0e-1111-4222-8333-944455566677"
    (beside / "subagents").mkdir(parents=True)
    (beside / "tool-results").mkdir()
    (beside / "subagents" / "agent-a1.meta.json").write_text('{"agentType": "reviewer"}')
    (beside / "tool-results" / "hook-1.json").write_text('{"pods": []}')
    (tmp_path / "copy" / "other.json").write_text('{"pods": []}')

    readings = registry.scan_paths([str(tmp_path / "copy")])

    told = [os.path.basename(one.file) for reading in readings for one in reading.diagnostics]
    assert told == ["other.json"]
