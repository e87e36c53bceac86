"""Turns of past sessions beside the ledger: what is kept of a transcript, and that it is read once."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_transcript import block, line, text

from importers.transcript import Turn, into, opened
from ledger import redact, turns, turns_add, turns_drop
from ledger.errors import FileFault, GuardFailed, Locked
from ledger.turns import Said, Turns
from ledger.turns_add import Book

NOW = 1_796_000_000.0
AT = "2026-11-30T08:00:03.000Z"


def book(folder: Path, now: float = NOW) -> Book:
    """Open the index beside a ledger."""
    return Book(str(folder / "ledger.db"), os.path.basename, now)


def kept(folder: Path) -> Turns:
    """Return the index for asking."""
    return Turns(str(folder / "ledger.db"))


def read(folder: Path, *paths: Path, settle: bool = True) -> list[Turn]:
    """Read transcripts into the index as an import does; return the turns that went on to the importer."""
    heard: list[Turn] = []
    with book(folder) as one:
        for path in paths:
            with into(one), opened(str(path)) as found:
                heard += found
        if settle:
            one.settle()
    return heard


def write(path: Path, *lines: bytes) -> Path:
    """Write a transcript."""
    path.write_bytes(b"".join(lines))
    return path


def unfilled(folder: Path) -> str:
    """Read a transcript into an index that cannot be used; the turns go on to the importer, and it is said."""
    path = write(folder / "other.jsonl", line(1, "one"))
    with book(folder) as one:
        with into(one), opened(str(path)) as found:
            assert [turn.text for turn in found] == ["one"]
        one.settle()
    (remark,) = one.remarks
    return remark


def texts(folder: Path) -> list[str]:
    """Return everything that is kept, in the order in which it stands in the files."""
    with sqlite3.connect(folder / "turns.db") as connection:
        rows = connection.execute("SELECT text FROM turn ORDER BY source, line, id").fetchall()
    connection.close()
    return [one for (one,) in rows]


def words(folder: Path) -> list[tuple[int, str]]:
    """Return what the words index says, as rows and words."""
    with sqlite3.connect(folder / "turns.db") as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'turn_fts', 'instance')")
        rows = connection.execute("SELECT doc, term FROM temp.vocabulary ORDER BY doc, offset, term").fetchall()
    connection.close()
    return rows


def test_a_turn_is_found_with_its_place(tmp_path: Path) -> None:
    """Who, when, in which session, and the line a person can look at."""
    path = write(tmp_path / "t.jsonl", line(1, "hello"), line(3, "use the pooler port"))
    read(tmp_path, path)

    found = kept(tmp_path).search("pooler port")

    at = "2026-11-30T08:00:03.000000Z"
    assert found.turns == [Said("s-1", "u-3", at, "person", "use the pooler port", str(path), 2, "shop", *[False] * 3)]
    assert (found.truncated, found.is_loose) == (False, False)


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """It holds what people said."""
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, "hello")))

    assert stat.S_IMODE((tmp_path / "turns.db").stat().st_mode) == 0o600


def test_every_word_has_to_stand_in_a_turn_if_there_is_one(tmp_path: Path) -> None:
    """Else those that hold some are shown, and it is said."""
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, "pooler port"), line(2, "pooler socket"), line(3, "tea")))

    exact, loose = kept(tmp_path).search("pooler socket"), kept(tmp_path).search("pooler kettle")

    assert ([turn.uuid for turn in exact.turns], exact.is_loose) == (["u-2"], False)
    assert ({turn.uuid for turn in loose.turns}, loose.is_loose) == ({"u-1", "u-2"}, True)


@pytest.mark.parametrize("asked", ["", '"', "AND OR NOT", "(", "* - ^ :", "port*)", "\x00", "text:port", "a" * 70_000])
def test_nothing_that_is_typed_is_syntax(asked: str, tmp_path: Path) -> None:
    """Any text may be looked for."""
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, "hello")))

    assert kept(tmp_path).search(asked).turns == []


def test_turns_can_be_narrowed(tmp_path: Path) -> None:
    """By project, by who spoke and by time; the number of them is bounded and more is told."""
    read(tmp_path, write(
        tmp_path / "t.jsonl", line(1, "tea", cwd="/w/shop"), line(2, "tea", cwd="/w/bar"), line(3, "tea", cwd=None),
        block(4, "m", text("tea"), cwd="/w/bar"), line(5, "tea", cwd="/w/bar", timestamp="2020-01-01T00:00:00.000Z"),
    ))  # fmt: skip
    index = kept(tmp_path)

    assert {turn.uuid for turn in index.search("tea", projects=["bar"]).turns} == {"u-2", "u-4", "u-5"}
    assert {turn.uuid for turn in index.search("tea", who=["agent"]).turns} == {"u-4"}
    assert "u-5" not in {turn.uuid for turn in index.search("tea", since="2026-11-30").turns}
    assert index.search("tea", projects=[]).turns == []
    assert (len(index.search("tea", limit=2).turns), index.search("tea", limit=2).truncated) == (2, True)


def test_the_turns_around_one_are_those_of_its_session(tmp_path: Path) -> None:
    """What came before and after it, in the order in which it was said; other sessions of the file are left out."""
    lines = [line(n, f"word {n}", sessionId="b" if n == 4 else "a") for n in range(1, 9)]
    read(tmp_path, write(tmp_path / "t.jsonl", *lines))

    found = kept(tmp_path).around("u-5", before=2, after=2)

    assert found is not None
    assert [turn.uuid for turn in (*found.before, found.turn, *found.after)] == ["u-2", "u-3", "u-5", "u-6", "u-7"]
    assert kept(tmp_path).around("u-5", projects=["other"]) is None


def test_what_the_agent_called_is_found(tmp_path: Path) -> None:
    """A command is what people look for when they ask how something was done."""
    called = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "alembic upgrade head"}}
    read(tmp_path, write(tmp_path / "t.jsonl", block(1, "m", text("Upgrading.")), block(2, "m", called)))

    (turn,) = kept(tmp_path).search("alembic").turns

    assert turn.text == "Upgrading.\nBash: alembic upgrade head"


# -- read once ---------------------------------------------------------------------------------------------------------


def test_an_unchanged_transcript_is_not_opened(tmp_path: Path) -> None:
    """Ten thousand of them cost one look each."""
    path = write(tmp_path / "t.jsonl", line(1, "one"))
    read(tmp_path, path)

    assert read(tmp_path, path) == []
    assert texts(tmp_path) == ["one"]


def test_of_a_transcript_that_grew_the_new_end_is_read(tmp_path: Path) -> None:
    """From the byte where the last reading ended; what stands before it is not looked at, damaged or not."""
    long = [line(n, "old " + "x" * 2_000) for n in range(400)]
    path = write(tmp_path / "t.jsonl", *long)
    read(tmp_path, path)
    with path.open("r+b") as file:
        file.seek(200_000)
        file.write(b"?" * 100)
        file.seek(0, os.SEEK_END)
        file.write(line(500, "new"))

    heard = read(tmp_path, path)

    assert heard[-1].text == "new"
    assert heard[-1].line == 401
    assert len(heard) == 101  # some that were read before, for whoever needs what came before
    assert kept(tmp_path).search("new").turns[0].line == 401
    assert kept(tmp_path).counted().turns == 401


def test_a_line_that_was_cut_is_read_when_it_is_whole(tmp_path: Path) -> None:
    """The client was writing it."""
    whole = line(1, "first") + line(2, "second")
    path = write(tmp_path / "t.jsonl", whole[:-20])
    read(tmp_path, path)
    write(path, whole)

    read(tmp_path, path)

    assert texts(tmp_path) == ["first", "second"]
    assert kept(tmp_path).search("second").turns[0].line == 2


def test_an_answer_that_goes_on_is_one_turn(tmp_path: Path) -> None:
    """It was read to its middle: the next reading begins where it began."""
    path = write(tmp_path / "t.jsonl", line(1, "why?"), block(2, "m", text("Because")))
    read(tmp_path, path)
    with path.open("ab") as file:
        file.write(block(3, "m", text("of the port.")) + line(4, "ah"))

    read(tmp_path, path)

    assert texts(tmp_path) == ["why?", "Because\nof the port.", "ah"]
    assert kept(tmp_path).search("because").turns[0].uuid == "u-2"


REPLACED: dict[str, Callable[[Path], object]] = {
    "shorter": lambda path: write(path, line(7, "other")),
    "another beginning": lambda path: write(path, line(7, "other"), line(8, "thing"), line(9, "y" * 5_000)),
    "the same size": lambda path: write(path, line(7, "first"), line(8, "other!")),
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_transcript_that_was_replaced_is_read_anew(name: str, tmp_path: Path) -> None:
    """What it said before is not kept beside what it says now."""
    path = write(tmp_path / "t.jsonl", line(1, "first"), line(2, "second"))
    read(tmp_path, path)
    os.utime(path, ns=(1, 1))

    REPLACED[name](path)
    read(tmp_path, path)

    assert "second" not in texts(tmp_path)
    assert any("other" in one for one in texts(tmp_path))
    assert kept(tmp_path).search("second").turns == []


def test_a_turn_that_a_fork_repeats_stands_once(tmp_path: Path) -> None:
    """A fork copies all lines with their ids under another session."""
    first = write(tmp_path / "a.jsonl", line(1, "one"), line(2, "two"))
    fork = write(
        tmp_path / "b.jsonl", *(line(n, w, sessionId="s-2") for n, w in ((1, "one"), (2, "two"), (3, "three")))
    )

    read(tmp_path, first, fork)

    assert texts(tmp_path) == ["one", "two", "three"]


def test_what_a_fork_says_again_is_not_scrubbed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a run; the same text under another id is another turn, and another text under its id is one too."""
    monkeypatch.setattr(turns_add, "BECAME_MAX", 3)
    seen: list[str] = []
    plain = turns_add.kept
    monkeypatch.setattr(turns_add, "kept", lambda who, said, *more: (seen.append(said), plain(who, said, *more))[1])
    first = write(tmp_path / "first.jsonl", line(1, "use pnpm"), line(2, "use bun"))
    fork = write(tmp_path / "fork.jsonl", line(1, "use pnpm"), line(2, "use deno"), line(3, "use pnpm"), line(4, "go"))

    read(tmp_path, first, fork)

    assert seen == ["use pnpm", "use bun", "use deno", "use pnpm", "go"]
    assert texts(tmp_path) == ["use pnpm", "use bun", "use deno", "use pnpm", "go"]


def test_an_id_that_another_transcript_uses_for_another_text_hides_nothing(tmp_path: Path) -> None:
    """What was said stands, whichever of the two was read first; read again, nothing is added."""
    first, other = write(tmp_path / "a.jsonl", line(1, "one")), write(tmp_path / "b.jsonl", line(1, "another"))

    read(tmp_path, first, other, settle=False)
    read(tmp_path, first, other)

    assert texts(tmp_path) == ["one", "another"]


def test_a_run_that_was_killed_reads_again(tmp_path: Path) -> None:
    """How far a file was read counts when all that was made of it is written: nothing is lost, nothing stands twice."""
    path = write(tmp_path / "t.jsonl", line(1, "one"), line(2, "two"))
    read(tmp_path, path, settle=False)

    heard = read(tmp_path, path)

    assert [turn.text for turn in heard] == ["one", "two"]
    assert texts(tmp_path) == ["one", "two"]


def test_reading_in_pieces_keeps_what_reading_at_once_keeps(tmp_path: Path) -> None:
    """However the file grew: rows and words are the same."""
    lines = [line(1, "why?"), *(block(n, "m", text(f"part {n}")) for n in range(2, 6)), line(7, "ok"), line(8, "2nd")]
    whole, grown = tmp_path / "whole", tmp_path / "grown"
    for folder in (whole, grown):
        folder.mkdir()
    read(whole, write(whole / "t.jsonl", *lines))
    raw = b"".join(lines)
    for size in range(0, len(raw) + 1, 97):
        read(grown, write(grown / "t.jsonl", raw[:size]))
    read(grown, write(grown / "t.jsonl", raw))

    assert texts(grown) == texts(whole)
    assert sorted(term for _, term in words(grown)) == sorted(term for _, term in words(whole))


# -- what may be kept --------------------------------------------------------------------------------------------------


def test_secrets_and_private_regions_are_not_kept(tmp_path: Path) -> None:
    """Neither in the text nor among the words, however far into the text."""
    secret = "gh" + "p_" + "A1b2C3d4E5" * 4
    hidden = "so <private>the merger with Umbrella</private> goes on"
    output = [
        {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "x " * 700 + secret + " y" * 900}
    ]
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, f"the token is {secret}"), line(2, hidden), line(3, output)))

    raw = (tmp_path / "turns.db").read_bytes()

    assert secret.encode() not in raw
    assert b"umbrella" not in raw.lower()
    assert kept(tmp_path).search("merger").turns == []
    assert "[REDACTED:" in kept(tmp_path).search("token").turns[0].text


@pytest.mark.parametrize("cut_at", [100, 180, 200, 240, 270, 300, 310, 320, 330])
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(cut_at: int, tmp_path: Path) -> None:
    """A key that stands across the cut is masked or gone, whatever of it lies on which side."""
    key = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + "\n".join("MIIEpAIBAAKCAQEAx7" + "Ab3" * 15 for _ in range(12))
    output = "word " * (cut_at // 5) + "\n" + key + "\n-----END RSA PRIVATE " + "KEY-----\n" + "tail " * 400
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, [{"type": "tool_result", "content": output}])))

    (one,) = texts(tmp_path)

    assert "MIIE" not in one
    assert len(one) <= turns_add.CAPS["tool"] + 2


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    """Of a failure both ends are kept, where its cause and its error stand."""
    failed = [{"type": "tool_result", "is_error": True, "content": "first " + "middle " * 700 + "last"}]
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, "word " * 5_000), line(2, failed), line(3, "short")))

    person, tool, short = (kept(tmp_path).search(word).turns[0] for word in ("word", "first last", "short"))

    assert (person.is_cut, tool.is_cut, short.is_cut) == (True, True, False)
    assert len(person.text) <= turns_add.CAPS["person"] + 2
    assert (tool.text[:5], tool.text[-4:]) == ("first", "last")
    assert len(tool.text) <= turns_add.FAILED_CHARS + 3


def test_nothing_is_kept_when_the_redactor_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index would rather miss a turn than keep a secret."""
    path = write(tmp_path / "t.jsonl", line(1, "one"))

    def broken(text: str) -> redact.Scrubbed:
        raise ValueError(text)

    monkeypatch.setattr(redact, "scrub", broken)
    with pytest.raises(GuardFailed):
        read(tmp_path, path)
    monkeypatch.undo()

    assert texts(tmp_path) == []
    assert len(read(tmp_path, path)) == 1


def test_turns_are_scrubbed_again_when_the_rules_have_grown(tmp_path: Path) -> None:
    """What older rules let through goes with the next import."""
    secret = "gh" + "p_" + "A1b2C3d4E5" * 4
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, "the token is here")))
    with sqlite3.connect(tmp_path / "turns.db") as connection:
        connection.execute("INSERT INTO turn_fts (turn_fts) VALUES ('delete-all')")
        connection.execute("UPDATE turn SET rules = 0, text = ?", (f"the token is {secret}",))
        connection.execute("INSERT INTO turn_fts (rowid, words) SELECT id, text FROM turn")
    connection.close()

    read(tmp_path, tmp_path / "t.jsonl")

    assert texts(tmp_path) == ["the token is [REDACTED:github-token]"]
    assert secret.lower().encode() not in (tmp_path / "turns.db").read_bytes().lower()


# -- taking out --------------------------------------------------------------------------------------------------------


def old_and_new(folder: Path) -> Path:
    """Keep two old turns and a new one."""
    old = {"timestamp": "2026-01-01T00:00:00.000Z"}
    path = write(folder / "t.jsonl", line(1, "kettle", **old), line(2, "teapot", **old), line(3, "saucer"))
    read(folder, path)
    return path


def test_old_turns_are_pruned_to_the_last_byte(tmp_path: Path) -> None:
    """And they do not come back with the next import, nor with one of a transcript that is as old."""
    path = old_and_new(tmp_path)

    gone = turns_drop.prune(str(tmp_path / "ledger.db"), "2026-06-01T00:00:00Z")

    assert gone.turns == 2
    raw = (tmp_path / "turns.db").read_bytes()
    assert b"kettl" not in raw
    assert b"saucer" in raw
    other = write(tmp_path / "other.jsonl", line(9, "kettle again", timestamp="2026-01-02T00:00:00.000Z"))
    with path.open("ab") as file:
        file.write(line(4, "spoon"))
    read(tmp_path, path, other)
    assert texts(tmp_path) == ["saucer", "spoon"]


def test_the_oldest_go_until_so_much_is_left(tmp_path: Path) -> None:
    """By size; a dry run changes nothing."""
    old_and_new(tmp_path)
    ledger = str(tmp_path / "ledger.db")

    assert turns_drop.prune(ledger, keep_chars=12, dry_run=True).turns == 1
    assert len(texts(tmp_path)) == 3
    assert turns_drop.prune(ledger, keep_chars=12) == (1, 6)
    assert texts(tmp_path) == ["teapot", "saucer"]
    assert turns_drop.prune(ledger, keep_chars=12) == (0, 0)


def test_what_was_erased_is_gone_for_ever(tmp_path: Path) -> None:
    """From the words too, and it is not read again, whoever repeats it: not even when all is read anew."""
    path = old_and_new(tmp_path)

    assert turns_drop.forget(str(tmp_path / "ledger.db"), lambda text: "kettle" in text) == 1

    assert b"kettl" not in (tmp_path / "turns.db").read_bytes()
    assert turns_drop.begin_anew(str(tmp_path / "ledger.db")) == [str(path)]
    read(tmp_path, path, write(tmp_path / "fork.jsonl", path.read_bytes()))
    assert texts(tmp_path) == ["teapot", "saucer"]


def test_reading_anew_brings_back_what_was_pruned(tmp_path: Path) -> None:
    """It is how a pruning is undone, as long as the transcripts last."""
    path = old_and_new(tmp_path)
    before = texts(tmp_path)
    turns_drop.prune(str(tmp_path / "ledger.db"), "2026-06-01T00:00:00Z")

    turns_drop.begin_anew(str(tmp_path / "ledger.db"))
    read(tmp_path, path)

    assert texts(tmp_path) == before


# -- the file ----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    """Asking makes none."""
    index = kept(tmp_path)

    assert index.search("tea").turns == []
    assert (index.counted().turns, index.fault(), index.around("u-1")) == (0, None, None)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_set_aside_by_the_next_import(tmp_path: Path) -> None:
    """Who asks is told; the import says it and begins another."""
    path = old_and_new(tmp_path)
    (tmp_path / "turns.db").write_bytes(b"no database at all" * 100)

    with pytest.raises(FileFault, match="cannot be used"):
        kept(tmp_path).search("tea")
    with book(tmp_path) as one:
        assert not one.is_unchanged(str(path))
        assert "set aside" in one.remarks[0]
    read(tmp_path, path)

    assert len(texts(tmp_path)) == 3
    assert (tmp_path / "turns.db.damaged").exists()


def test_a_file_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    """Neither read nor set aside."""
    old_and_new(tmp_path)
    with sqlite3.connect(tmp_path / "turns.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(FileFault, match="newer program"):
        kept(tmp_path).search("tea")
    assert "newer program" in unfilled(tmp_path)


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    """A folder, a link to somewhere."""
    (tmp_path / "turns.db").symlink_to(tmp_path / "elsewhere.db")

    assert "no regular file" in unfilled(tmp_path)
    assert not (tmp_path / "elsewhere.db").exists()


KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE turn SET text = text || 'half'")
for number in range(2_000):
    row = (number + 1_000, str(number), 1, number, "s", None, None, "agent", 0, 0, 0, "x" * 500, 1)
    connection.execute(f"INSERT INTO turn VALUES ({', '.join('?' * 13)})", row)
os._exit(9)
"""


def test_an_import_that_was_killed_while_it_wrote_is_no_fault_of_the_file(tmp_path: Path) -> None:
    """Whoever asks next sees what was there before."""
    old_and_new(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "turns.db")], check=False)

    assert (done.returncode, (tmp_path / "turns.db-journal").exists()) == (9, True)
    assert kept(tmp_path).fault() is None
    assert [turn.text for turn in kept(tmp_path).search("saucer").turns] == ["saucer"]


def test_a_file_that_is_held_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes it."""
    old_and_new(tmp_path)
    monkeypatch.setattr(turns, "WAIT_S", 0.01)
    holder = sqlite3.connect(tmp_path / "turns.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    with pytest.raises(Locked):
        kept(tmp_path).search("tea")
    assert "locked" in unfilled(tmp_path)
    holder.close()


def test_keys_of_what_is_told_are_those_of_the_file(tmp_path: Path) -> None:
    """A turn of the index names its fields as the index does."""
    old_and_new(tmp_path)

    (turn,) = kept(tmp_path).search("saucer").turns

    assert json.loads(json.dumps(turn._asdict()))["who"] == "person"
    assert {"session", "uuid", "at", "who", "text", "file", "line"} <= set(turn._asdict())


def test_odd_names_are_kept_without_secrets(tmp_path: Path) -> None:
    """Ids of turns and sessions are texts like others, unless they are UUIDs."""
    secret = "gh" + "p_" + "A1b2C3d4E5" * 4
    told: dict[str, Any] = {"uuid": secret, "sessionId": f"s {secret}"}
    read(tmp_path, write(tmp_path / "t.jsonl", line(1, "tea", **told), line(2, "coffee", **told)))

    assert secret.encode() not in (tmp_path / "turns.db").read_bytes()
    assert texts(tmp_path) == ["tea"]


def test_subagents_of_a_session_are_kept_with_it(tmp_path: Path) -> None:
    """In their folder, and in the older layout beside it; those of other sessions are not read with it."""
    session = write(tmp_path / "s-1.jsonl", line(1, "ask an agent"))
    (tmp_path / "s-1" / "subagents").mkdir(parents=True)
    write(tmp_path / "s-1" / "subagents" / "agent-1.jsonl", line(2, "the new layout", isSidechain=True))
    write(tmp_path / "agent-0a1b2c3d.jsonl", line(3, "the old layout", isSidechain=True))
    write(tmp_path / "agent-ffffffff.jsonl", line(4, "another session", isSidechain=True, sessionId="s-2"))

    heard = read(tmp_path, session)

    assert [turn.text for turn in heard] == ["ask an agent"]
    assert sorted(texts(tmp_path)) == ["ask an agent", "the new layout", "the old layout"]
    assert kept(tmp_path).search("new layout").turns[0].is_aside


def test_a_subagent_that_grew_is_read_when_its_session_did_not(tmp_path: Path) -> None:
    """It goes on writing while the session waits."""
    session = write(tmp_path / "s-1.jsonl", line(1, "ask an agent"))
    (tmp_path / "s-1" / "subagents").mkdir(parents=True)
    read(tmp_path, session)
    write(tmp_path / "s-1" / "subagents" / "agent-1.jsonl", line(2, "late", isSidechain=True))

    assert read(tmp_path, session) == []
    assert texts(tmp_path) == ["ask an agent", "late"]


def test_another_ledger_or_an_older_copy_reads_all_again(tmp_path: Path) -> None:
    """What was made of the transcripts is not in it: the importer hears every turn, and none stands twice."""
    path = write(tmp_path / "t.jsonl", line(1, "one"), line(2, "two"))
    with book(tmp_path) as one, into(one), opened(str(path)) as found:
        list(found)
        one.settle("mine")

    def again(*, holds: bool, version: str = "1", whole: bool = False) -> int:
        how = {"version": version, "whole": whole, "holds": lambda mark: holds and mark == "mine"}
        with Book(str(tmp_path / "ledger.db"), os.path.basename, NOW, **how) as one:
            with into(one), opened(str(path)) as found:
                heard = len(list(found))
            one.settle("mine")
        return heard

    assert [again(holds=True), again(holds=False), again(holds=True)] == [0, 2, 0]
    assert [again(holds=True, version="2"), again(holds=True, version="2")] == [2, 0]
    assert again(holds=True, version="2", whole=True) == 2
    assert texts(tmp_path) == ["one", "two"]


def test_what_is_switched_off_is_not_kept(tmp_path: Path) -> None:
    """Neither by the way nor later, until it is on again; then it is read anew."""
    path = write(tmp_path / "t.jsonl", line(1, "tea", cwd="/w/shop"), line(2, "coffee", cwd="/w/bar"))

    def again(version: str, off: str) -> list[str]:
        how = {"version": version, "is_off": lambda project: project == off}
        with Book(str(tmp_path / "ledger.db"), os.path.basename, NOW, **how) as one:
            with into(one), opened(str(path)) as found:
                list(found)
            one.settle()
        return texts(tmp_path)

    assert again("1", off="shop") == ["coffee"]
    assert again("2", off="") == ["tea", "coffee"]


def test_what_is_written_while_a_transcript_is_read_is_not_missed(tmp_path: Path) -> None:
    """The client goes on: what came after the last line that was read is found by the next import."""
    path = write(tmp_path / "t.jsonl", *(line(n, f"word {n}") for n in range(3)))
    with book(tmp_path) as one:
        with into(one), opened(str(path)) as found:
            for _ in found:
                pass
            with path.open("ab") as file:
                file.write(line(4, "late"))
        one.settle()

    read(tmp_path, path)

    assert texts(tmp_path)[-1] == "late"


def test_a_path_that_is_no_text_is_read_too(tmp_path: Path) -> None:
    """Names of files are bytes."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/t\xff.jsonl")
    with open(path, "wb") as file:
        file.write(line(1, "one"))
    with book(tmp_path) as one:
        with into(one), opened(path) as found:
            list(found)
        one.settle()
        assert not one.remarks

    assert texts(tmp_path) == ["one"]


def test_nothing_is_made_where_no_transcript_is_read(tmp_path: Path) -> None:
    """An import of notes leaves no index behind."""
    with book(tmp_path) as one:
        one.settle()

    assert list(tmp_path.iterdir()) == []
