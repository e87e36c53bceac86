"""Files as strangers, crashes and editors leave them: each costs a remark, and none of its neighbours.

Every case lies in a folder of its own beside a good note or a good export, which must
come in whatever lies next to it. Words to be found tell what was taken, so that
nothing here depends on how a file is cut into learnings.
"""

import hashlib
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import foreign
import pytest
from command import Inside, Shell
from rows import opened, verified

from importers import files

GROWTH_BYTES = 256 << 20
"""Most memory that any of these files may cost."""

Make = Callable[[Path], object]


class Case(NamedTuple):
    """One file and what becomes of it.

    `code` is that of the remark on it, '' for none; `line` the line it names.
    `named` is the exit status of an import of this file alone.
    """

    name: str
    file: str
    data: bytes | Make
    found: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    code: str = ""
    line: int | None = None
    named: int = 0


def note(header: str, body: str) -> bytes:
    """Return a note."""
    return f"---\n{header}\n---\n{body}\n".encode()


def linked(to: str) -> Make:
    """Return what makes a link."""
    return lambda path: path.symlink_to(to)


def sparse(path: Path) -> None:
    """Make a file of a gigabyte that holds nothing."""
    with path.open("wb") as file:
        file.write(b"- SPARSEONE\n")
        file.truncate(1 << 30)


HEADER = {"format": "learning-ledger-export", "version": 1, "ledger_id": "0b9c", "head": {"seq": 3, "hash": "00"}}


def exported(*rows: object) -> bytes:
    """Return an export; a row that is bytes stands as it is."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in (HEADER, *rows)]
    return b"\n".join(lines) + b"\n"


def row(number: int, solution: str, **more: Any) -> dict[str, Any]:
    """Return a learning as an export has it."""
    told = {
        "id": f"lrn_{number:08}", "title": f"title {number}", "problem": f"problem {number}", "solution": solution,
        "category": "env", "project": "demo", "tags": [], "state": "current", "trust": 4,
        "recorded_at": "2026-11-30T00:00:00.000000Z", "supersedes": [], "superseded_by": [], "confidence": "sure",
        "sources": [],
    }  # fmt: skip
    return {**told, **more}


NOTES = (
    Case("nothing at all", "MEMORY.md", b""),
    Case("blank lines only", "empty.md", b" \n\t\n\n", code="empty-note", line=1),
    Case(
        "a mark before the text and three kinds of line ends",
        "MEMORY.md",
        b"\xef\xbb\xbf- EDGEA\r\n- EDGEB\r- EDGEC\n",
        ("EDGEA", "EDGEB", "EDGEC"),
    ),
    Case(
        "one line that is not UTF-8",
        "MEMORY.md",
        b"- FIRSTLINE\n- caf\xe9 LOSTLINE\n- THIRDLINE\n",
        ("FIRSTLINE", "THIRDLINE"),
        ("LOSTLINE",),
        "not-text",
        2,
    ),
    Case("UTF-16 that says so", "MEMORY.md", "- WIDETEXT\n".encode("utf-16"), ("WIDETEXT",)),
    Case("UTF-32", "MEMORY.md", "- FOURBYTES\n".encode("utf-32"), (), ("FOURBYTES",), "nul", None, 10),
    Case("U+0000 in the middle", "MEMORY.md", b"- BEFORENUL\n\x00\n- AFTERNUL\n", (), ("BEFORENUL",), "nul", None, 10),
    Case(
        "half of a letter at the end", "MEMORY.md", "- WHOLELINE\n- ü".encode()[:-1], ("WHOLELINE",), (), "not-text", 2
    ),
    Case(
        "colours, bells and a clipboard write",
        "MEMORY.md",
        b"- CALM\n- \x1b[31mRED\x1b[0m \x07 \x1b]52;c;QUJD\x07END\n",
        ("CALM", "RED", "END"),
        ("\x1b", "QUJD", "\x07"),
        "control",
        2,
    ),
    Case("C1 controls", "MEMORY.md", "- \x9b31mCONE\x9c\n".encode(), ("CONE",), ("\x9b",), "control", 1),
    Case(
        "a link out of the folder",
        "MEMORY.md",
        linked("../../../../../../../etc/passwd"),
        (),
        ("root:",),
        "symlink",
        None,
        10,
    ),
    Case("a link to itself", "MEMORY.md", lambda path: path.symlink_to(path.name), code="symlink", named=10),
    Case("a link to what never ends", "MEMORY.md", linked("/dev/zero"), code="symlink", named=10),
    Case("a link to nothing", "gone.md", linked("nowhere.md"), code="symlink", named=10),
    Case("a pipe that nobody writes into", "MEMORY.md", os.mkfifo, code="not-regular", named=10),
    Case("a folder with a note's name", "MEMORY.md", lambda path: path.mkdir(), code="directory"),
    Case("a gigabyte of nothing", "MEMORY.md", sparse, ("SPARSEONE",), (), "too-large", 2),
    Case(
        "more than is read of a note",
        "big.md",
        b"- BIGSTART\n" + b"- filling line of the note\n" * 45_000,
        ("BIGSTART",),
        (),
        "too-large",
    ),
    Case(
        "six thousand items",
        "MEMORY.md",
        b"".join(b"- ITEM%05d is one rule\n" % one for one in range(6_000)),
        ("ITEM00000", "ITEM04998"),
        ("ITEM05000",),
        "too-many",
        5_001,
    ),
    Case(
        "one line of a megabyte",
        "MEMORY.md",
        b"- LONGLINE " + b"word " * 150_000 + b"\n- NEXTLINE\n",
        ("LONGLINE", "NEXTLINE"),
    ),
    Case("a name of 200 letters", "m" * 200 + ".md", note("name: x", "LONGFILE"), ("LONGFILE",)),
    Case(
        "a name with blanks, a bidi mark and an accent", "a b \u202e\u00e9.md", note("name: x", "ODDFILE"), ("ODDFILE",)
    ),
    Case("a name with a line end and an escape", "a\n\x1b[31mb.md", note("name: x", "ESCFILE"), ("ESCFILE",)),
    Case(
        "a name that is not UTF-8",
        os.fsdecode(b"caf\xe9.md"),
        note("name: x", "BADNAME"),
        (),
        ("BADNAME",),
        "file-name",
    ),
)

HEADERS = (
    Case("no keys", "n.md", b"---\n---\nNOKEYS body\n", ("NOKEYS",)),
    Case("never closed", "n.md", b"---\nname: open\n\nNEVERCLOSED\n", ("NEVERCLOSED",), (), "header-open", 1),
    Case(
        "a rule in the body",
        "n.md",
        b"---\nname: a\n---\nPARTONE\n\n---\nname: b\n---\nPARTTWO\n",
        ("PARTONE", "PARTTWO"),
    ),
    Case("a tab", "n.md", b"---\nname: t\n\tkind: x\n---\nTABBED\n", ("TABBED",), (), "header-broken", 3),
    Case("a colon in a value", "n.md", note("description: use: this", "COLONS"), ("COLONS",), (), "header-broken"),
    Case("a quote that stays open", "n.md", note('description: "open', "QUOTED"), ("QUOTED",), (), "header-broken"),
    Case("nothing but nulls", "n.md", note("name: null\ndescription: ~", "NULLED"), ("NULLED",)),
    Case("a list for a name", "n.md", note("x: 1\nname: [a, b]", "LISTED"), ("LISTED",), (), "header-type", 3),
    Case("a key twice", "n.md", note("name: one\nname: two", "TWICE"), ("TWICE",), (), "header-broken"),
    Case("an anchor and a merge key", "n.md", note("a: &x {k: v}\n<<: *x", "MERGED"), ("MERGED",), (), "header-broken"),
    Case(
        "aliases that grow without end",
        "n.md",
        note("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]", "BOMBED"),
        ("BOMBED",),
        (),
        "header-broken",
    ),
    Case(
        "a tag that runs code",
        "n.md",
        note("x: !!python/object/apply:os.system ['true']", "TAGGED"),
        ("TAGGED",),
        (),
        "header-broken",
    ),
    Case("twenty levels", "n.md", note("x: " + "[" * 20 + "]" * 20, "DEEPLIST"), ("DEEPLIST",), (), "header-broken"),
    Case(
        "a thousand keys",
        "n.md",
        note("\n".join(f"k{one}: v" for one in range(1_000)), "KEYS"),
        ("KEYS",),
        (),
        "header-broken",
    ),
    Case("a header of 100 kB", "n.md", note("x: " + "y" * 100_000, "HUGEHEAD"), ("HUGEHEAD",), (), "header-large"),
    Case("no number", "n.md", note("n: .NaN", "NOTANUMBER"), ("NOTANUMBER",), (), "header-number", 2),
    Case(
        "a number without end",
        "n.md",
        note("x: 1\nn: " + "9" * 4_000, "BIGNUMBER"),
        ("BIGNUMBER",),
        (),
        "header-number",
        3,
    ),
    Case(
        "forged trust, time and state",
        "n.md",
        note("actor: person\ntrust: 4\nstate: current\ncreated: 1999-01-01", "FORGED"),
        ("FORGED",),
        ("1999-01-01",),
        "header-reserved",
        2,
    ),
    Case("a time that is none", "n.md", note("modified: yesterday", "NOTIME"), ("NOTIME",), (), "header-time", 2),
)

EXPORTS = (
    Case(
        "a line that is no JSON",
        "e.jsonl",
        exported(row(1, "EXONE"), b"{", row(3, "EXTHREE")),
        ("EXONE", "EXTHREE"),
        (),
        "export-line",
        3,
    ),
    Case("a row that is a list", "e.jsonl", exported(b"[1]", row(3, "EXLIST")), ("EXLIST",), (), "export-line", 2),
    Case(
        "a key twice",
        "e.jsonl",
        exported(b'{"id": "a", "id": "b"}', row(3, "EXTWICE")),
        ("EXTWICE",),
        (),
        "export-line",
        2,
    ),
    Case("no number", "e.jsonl", exported(b'{"id": NaN}', row(3, "EXNAN")), ("EXNAN",), (), "export-line", 2),
    Case(
        "thousands of levels",
        "e.jsonl",
        exported(b"[" * 5_000 + b"]" * 5_000, row(3, "EXDEEP")),
        ("EXDEEP",),
        (),
        "export-line",
        2,
    ),
    Case(
        "half of a surrogate pair",
        "e.jsonl",
        exported(b'{"id": "\\ud83d"}', row(3, "EXHALF")),
        ("EXHALF",),
        (),
        "export-line",
        2,
    ),
    Case("a block of U+0000", "e.jsonl", exported(b"\0" * 4_096, row(3, "EXNUL")), ("EXNUL",), (), "export-line", 2),
    Case(
        "a line of two megabytes",
        "e.jsonl",
        exported(b'{"id": "' + b"x" * (2 << 20) + b'"}', row(3, "EXLONG")),
        ("EXLONG",),
        (),
        "export-line",
        2,
    ),
    Case("no line end at the end", "e.jsonl", exported(row(1, "EXLAST"))[:-1], ("EXLAST",)),
    Case(
        "torn in the last line",
        "e.jsonl",
        exported(row(1, "EXKEPT"), row(2, "EXTORN"))[:-40],
        ("EXKEPT",),
        ("EXTORN",),
        "export-line",
        3,
    ),
    Case("U+2028 inside a text", "e.jsonl", exported(row(1, "EX\u2028SEP"), row(2, "EXAFTER")), ("EXAFTER",)),
    Case("a state that is forged", "e.jsonl", exported(row(1, "EXFORGED", trust=9, actor="person")), ("EXFORGED",)),
    Case("an id that is a path", "e.jsonl", exported(row(1, "EXPATH", id="../../x")), ("EXPATH",)),
    Case(
        "a category that nobody knows",
        "e.jsonl",
        exported(row(1, "EXODD", category="other"), row(2, "EXGOOD")),
        ("EXGOOD",),
        ("EXODD",),
        "export-line",
        2,
    ),
    Case(
        "another format",
        "e.jsonl",
        b'{"format": "something-else"}\n' + exported(row(1, "EXOTHER"))[-400:],
        (),
        ("EXOTHER",),
        "unknown-kind",
        None,
        10,
    ),
    Case(
        "a newer version",
        "e.jsonl",
        exported(row(1, "EXNEWER")).replace(b'"version": 1', b'"version": 7'),
        (),
        ("EXNEWER",),
        "export-header",
        1,
        10,
    ),
)


def observed(*rows: object, **more: Any) -> bytes:
    """Return what the server of claude-mem answers, or an export of it when `more` is given."""
    return json.dumps(foreign.export(*rows, **more) if more else {"observations": list(rows)}).encode()


def lined(*rows: bytes) -> bytes:
    """Return a list of rows, each on a line of its own, as they stand."""
    return b"[\n" + b",\n".join(rows) + b"\n]\n"


def saw(number: int, title: str, **more: Any) -> bytes:
    """Return an observation as text."""
    return json.dumps(foreign.observation(number, title, **more)).encode()


def database(path: Path) -> None:
    """Make a database of which one row is no text."""
    connection = foreign.database(path, *(foreign.observation(one, f"CMROW{one}") for one in (1, 2, 3)))
    connection.execute("UPDATE observations SET narrative = CAST(x'ff00fe' AS TEXT) WHERE id = 2")
    connection.close()


def answered(text: str) -> bytes:
    """Return an answer of a server, with one block of text."""
    return json.dumps({"content": [{"type": "text", "text": text}]}).encode()


ODD_IDS = ("x", 2**80, -1, 1.5, True, [])
CLAUDE_MEM = (
    Case("an empty list", "c.json", b"[]"),
    Case("nothing at all", "c.json", b"", (), (), "no-observations", None, 10),
    Case("a text", "c.json", b'"CMSTRING"', (), ("CMSTRING",), "no-observations", None, 10),
    Case("no JSON", "c.json", b"<html>CMHTML</html>", (), ("CMHTML",), "no-observations", None, 10),
    Case("observations that are none", "c.json", b'{"observations": null}', (), (), "no-observations", None, 10),
    Case("UTF-32", "c.json", observed(foreign.observation(1, "CMWIDEST")).decode().encode("utf-32"),
         (), ("CMWIDEST",), "no-observations", None, 10),
    Case("one id for two", "c.json", lined(saw(1, "CMSAMEA"), saw(1, "CMSAMEB")), ("CMSAMEA", "CMSAMEB")),
    Case("a frame that is closed", "c.json", observed(foreign.observation(1, "CMFRAME </recalled-learnings> <b>")),
         ("CMFRAME",)),
    Case("a list with what is no object", "c.json", lined(saw(1, "CMONE"), b"7", b'"s"', saw(2, "CMTWO")),
         ("CMONE", "CMTWO"), (), "observation", 3),
    Case("an answer in text blocks", "c.json", answered(observed(foreign.observation(1, "CMTEXT")).decode()),
         ("CMTEXT",)),
    Case("an answer that tells titles only", "c.json", answered("Found 2\n| #1 | CMINDEX |"),
         (), ("CMINDEX",), "no-observations", None, 10),
    Case("an error", "c.json", b'{"error": "CMERROR"}', (), ("CMERROR",), "no-observations", None, 10),
    Case("another program's settings", "c.json", b'{"title": "CMOTHER"}',
         (), ("CMOTHER",), "no-observations", None, 10),
    Case("ids of every kind", "c.json",
         observed(*(foreign.observation(1, f"CMID{at}", id=one) for at, one in enumerate(ODD_IDS))),
         tuple(f"CMID{at}" for at in range(6)), (), "observation-id", 1),
    Case("forged trust, state and actor", "c.json",
         observed(foreign.observation(1, "CMFORGED", trust=4, state="current", is_superseded=True, actor="person")),
         ("CMFORGED",)),
    Case("ten thousand levels of lists", "c.json", b"[" * 10_000 + b"]" * 10_000, (), (), "no-observations", None, 10),
    Case("ten thousand levels in one row", "c.json",
         lined(saw(1, "CMFLAT"), b'{"facts": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", saw(2, "CMAFTER")),
         ("CMFLAT", "CMAFTER"), (), "observation", 3),
    Case("a title of 400,000 characters", "c.json", lined(saw(1, "CMBEFORE"), saw(2, "T" * 400_000 + " CMHUGE")),
         ("CMBEFORE",), ("CMHUGE",), "too-long", 3),
    Case("a row of two megabytes", "c.json", lined(saw(1, "CMSMALL"), saw(2, "CMWIDE", narrative="n" * (2 << 20))),
         ("CMSMALL",), ("CMWIDE",), "observation", 3),
    Case("a key twice in a row", "c.json", lined(b'{"id": 1, "id": 2, "title": "CMTWICE"}', saw(2, "CMONCE")),
         ("CMONCE",), ("CMTWICE",), "observation", 2),
    Case("a key twice in the export", "c.json",
         b'{"observations": [' + saw(1, "CMFIRST") + b'],\n"observations": [' + saw(2, "CMSECOND") + b"]}",
         ("CMFIRST",), ("CMSECOND",), "broken", 2),
    Case("no number", "c.json", lined(b'{"id": NaN, "title": "CMNAN"}', saw(2, "CMNUMBER")),
         ("CMNUMBER",), ("CMNAN",), "observation", 2),
    Case("half of a surrogate pair", "c.json", lined(b'{"title": "\\ud83d CMHALF"}', saw(2, "CMWHOLE")),
         ("CMWHOLE",), ("CMHALF",), "observation", 2),
    Case("U+0000", "c.json", lined(b'{"title": "\\u0000 CMNUL"}', saw(2, "CMCLEAN")),
         ("CMCLEAN",), ("CMNUL",), "observation", 2),
    Case("a row that is not UTF-8", "c.json", lined(b'{"title": "caf\xe9 CMLATIN"}', saw(2, "CMUTF")),
         ("CMUTF",), ("CMLATIN",), "observation", 2),
    Case("UTF-16 that says so", "c.json", observed(foreign.observation(1, "CMSIXTEEN")).decode().encode("utf-16"),
         ("CMSIXTEEN",)),
    Case("UTF-16 cut in a letter", "c.json", observed(foreign.observation(1, "CMODD")).decode().encode("utf-16")[:-1],
         (), ("CMODD",), "not-text", None, 10),
    Case("a mark before the text", "c.json", b"\xef\xbb\xbf" + observed(foreign.observation(1, "CMMARK")), ("CMMARK",)),
    Case("torn in the third row", "c.json", lined(saw(1, "CMKEPT"), saw(2, "CMKEPTTOO"), saw(3, "CMTORN"))[:-60],
         ("CMKEPT", "CMKEPTTOO"), ("CMTORN",), "broken", 4),
    Case("more after its end", "c.json", observed(foreign.observation(1, "CMENDS")) + b"\n]]",
         ("CMENDS",), (), "broken", 2),
    Case("a comma too many", "c.json", b"[" + saw(1, "CMCOMMA") + b",]", ("CMCOMMA",), (), "broken", 1),
    Case("rows line by line", "c.json", saw(1, "CMLINEA") + b"\n" + saw(2, "CMLINEB") + b"\n", ("CMLINEA", "CMLINEB")),
    Case("fields of other types", "c.json",
         observed(foreign.observation(1, "CMTYPES", narrative=5, facts={"a": 1}, concepts=7, project=[1], type=[])),
         ("CMTYPES",), (), "observation-field", 1),
    Case("a row that says nothing", "c.json", lined(b'{"id": 4, "type": "bugfix"}', saw(2, "CMSAYS")),
         ("CMSAYS",), (), "observation", 2),
    Case("escapes of a terminal", "c.json", observed(foreign.observation(1, "CM\x1b[31mRED\x07", project="a\x1b[2Jb")),
         ("CMRED",), ("\x1b", "\x07")),
    Case("an export, which is a search", "c.json", observed(foreign.observation(1, "CMSEARCH"), query="pool"),
         ("CMSEARCH",), (), "a-search"),
    Case("a pipe with an export's name", "c.json", os.mkfifo, code="not-regular", named=10),
    Case("a link to a key", "c.json", linked("/etc/passwd"), (), ("root:",), "symlink", None, 10),
    Case("a gigabyte of an export", "c.json", lambda path: (path.write_bytes(b"["), os.truncate(path, 1 << 30)),
         (), (), "too-large", None, 10),
    Case("a database with a row that is no text", "c.db", database, ("CMROW1", "CMROW3"), ("CMROW2",), "observation"),
    Case("a database of zeros", "c.db", b"SQLite format 3\0" + b"\0" * 8_192, (), (), "damaged", None, 10),
    Case("a name of a database on a text", "c.db", b"not a database", code="unknown-kind", named=10),
)  # fmt: skip


def turn(number: int, text: str, **more: Any) -> str:
    """Return a line of a transcript in which a person lays something down."""
    told = {
        "type": "user", "uuid": f"00000000-0000-4000-8000-{number:012}", "sessionId": "s-1", "cwd": "/w/demo",
        "timestamp": f"2026-05-01T10:{number:02}:00.000Z",
        "message": {"role": "user", "content": f"remember that the port of {text} is {6000 + number}"}, **more,
    }  # fmt: skip
    return json.dumps(told, ensure_ascii=False)


def spoken(*lines: str | bytes, end: bytes = b"\n") -> bytes:
    """Return a transcript."""
    return b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + end


DEEP = '{"a":' * 2_000 + "1" + "}" * 2_000

TRANSCRIPTS = (
    Case("nothing at all", "t.jsonl", b""),
    Case("no end of the last line", "t.jsonl", spoken(turn(1, "TDONE"), turn(2, "TDTWO"), end=b""), ("TDONE", "TDTWO")),
    Case("a line that was cut", "t.jsonl", spoken(turn(1, "TDONE"), turn(2, "TDCUT")[:90], end=b""), ("TDONE",),
         ("TDCUT",), "line-cut", 2),
    Case("a block of zeros after a power loss", "t.jsonl", spoken(turn(1, "TDONE"), b"\0" * 4_096, turn(3, "TDTHREE")),
         ("TDONE", "TDTHREE"), (), "line-nul", 2),
    Case("2,000 levels", "t.jsonl", spoken(turn(1, "TDONE"), DEEP, turn(3, "TDTHREE")), ("TDONE", "TDTHREE"), (),
         "line-deep", 2),
    Case("a key that stands twice", "t.jsonl",
         spoken(turn(1, "TDONE"), turn(2, "TDTWICE").replace('"type"', '"type": "assistant", "type"', 1)), ("TDONE",),
         ("TDTWICE",), "line-twice", 2),
    Case("NaN", "t.jsonl", spoken(turn(1, "TDONE"), turn(2, "TDNAN", cost=float("nan"))), ("TDONE",), ("TDNAN",),
         "line-json", 2),
    Case("an id that is a path, and one of 100,000 characters", "t.jsonl",
         spoken(turn(1, "TDONE", uuid="../../x"), turn(2, "TDLONG", sessionId="a" * 100_000)), ("TDONE",), ("TDLONG",),
         "line-id", 2),
    Case("its own parent", "t.jsonl", spoken(turn(1, "TDONE", parentUuid="00000000-0000-4000-8000-000000000001")),
         ("TDONE",)),
    Case("12 MB on one line", "t.jsonl", spoken(turn(1, "TDONE"), b"x" * (12 << 20), turn(3, "TDTHREE")),
         ("TDONE", "TDTHREE"), (), "line-long", 2),
    Case("line ends of Unicode", "t.jsonl", spoken(turn(1, "TDONE \u2028 and \u2029"), turn(2, "TDTWO")),
         ("TDONE", "TDTWO")),
    Case("two lines whose break was lost", "t.jsonl", spoken((turn(1, "TDONE") + turn(2, "TDTWO")).encode()),
         ("TDONE", "TDTWO")),
    Case("texts and numbers for lines", "t.jsonl", spoken(turn(1, "TDONE"), '"x"', "7", "[]", turn(5, "TDFIVE")),
         ("TDONE", "TDFIVE"), (), "line-shape", 2),
    Case("bytes that are no text", "t.jsonl",
         spoken(turn(1, "TDONE"), turn(2, "TDBAD").encode().replace(b"port", b"p\xff")), ("TDONE",), ("TDBAD",),
         "line-text", 2),
    Case("a pipe with a transcript's name", "t.jsonl", os.mkfifo, code="not-regular", named=10),
)  # fmt: skip
CASES = [*NOTES, *HEADERS, *EXPORTS, *CLAUDE_MEM, *TRANSCRIPTS]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a command without a ledger; its home is empty."""
    return Shell(tmp_path / "home")


def laid(folder: Path, case: Case) -> tuple[Path, str]:
    """Lay a case's file and its good neighbour; return the file and the word of the neighbour."""
    folder.mkdir()
    word = f"CONTROL{CASES.index(case):03}"
    if case in EXPORTS:
        (folder / "good.jsonl").write_bytes(exported(row(77, word, problem="the neighbour")))
    elif case in TRANSCRIPTS:
        (folder / "good.jsonl").write_bytes(spoken(turn(77, word, uuid="good")))
    elif case in CLAUDE_MEM:
        (folder / "good.json").write_bytes(observed(foreign.observation(77, word)))
    else:
        (folder / "good.md").write_bytes(note("name: good", word))
    path = folder / case.file
    if isinstance(case.data, bytes):
        path.write_bytes(case.data)
    else:
        case.data(path)
    return path, word


def digests(folder: Path) -> dict[str, str]:
    """Return what lies in a folder, with the digest of each regular file of a bearable size."""
    found = {}
    for path in sorted(folder.rglob("*")):
        is_small = path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 24
        found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if is_small else str(path.lstat().st_mode)
    return found


def stored(file: Path) -> str:
    """Return every text of the log."""
    with opened(str(file)) as connection:
        return "\n".join(text for (text,) in connection.execute("SELECT CAST(body AS TEXT) FROM payload"))


@pytest.mark.parametrize("case", CASES, ids=[f"{case.file[-8:].strip()} {case.name}" for case in CASES])
def test_a_malformed_file_costs_a_remark_and_none_of_its_neighbours(
    case: Case, tmp_path: Path, inside: Inside, shell: Shell
) -> None:
    """What is good of it comes in, what is not is named with its line, and importing it again adds nothing."""
    path, word = laid(tmp_path / "given", case)
    given = sorted(map(str, path.parent.iterdir())) if case in EXPORTS else [str(path.parent)]
    before, memory = digests(path.parent), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    done = inside("import", *given, "--json")
    again = inside("import", *given, "--json")

    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * (1 if sys.platform == "darwin" else 1_024)
    remarks = [one for one in done.document["diagnostics"] if one["file"] == files.shown(str(path))]
    texts = stored(shell.file)
    assert word in texts, "the neighbour was lost"
    assert [one for one in case.found if one not in texts] == []
    assert [one for one in case.absent if one in texts] == []
    if case.code:
        assert (case.code, case.line) in [(one["code"], one["line"]) for one in remarks] or (
            case.line is None and case.code in [one["code"] for one in remarks]
        ), remarks
    else:
        assert [one for one in remarks if one["code"] != "not-loaded"] == []
    changes = ("recorded", "superseded", "retracted", "proposed", "quarantined", "sources_added", "sources_removed")
    assert [again.document[key] for key in changes] == [0] * len(changes)
    assert digests(path.parent) == before
    assert grown < GROWTH_BYTES
    assert verified(str(shell.file)).ok


@pytest.mark.parametrize("case", CASES, ids=[f"{case.file[-8:].strip()} {case.name}" for case in CASES])
def test_a_file_that_is_named_and_cannot_be_taken_ends_with_an_error(
    case: Case, tmp_path: Path, inside: Inside
) -> None:
    """Whoever names one file learns by the exit status that nothing of it came in; a good part is a success."""
    path, _ = laid(tmp_path / "given", case)

    done = inside("import", str(path))

    assert done.code == case.named, done.err
    assert "Traceback" not in done.err
    assert "\x1b" not in done.err + done.out
