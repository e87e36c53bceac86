"""Secrets through every door: afterwards no file that we wrote holds one, in no form.

Each door gets secrets of its own, so that one that comes through names the door.
Searched are all files below the home folder but those that the test laid
there: the ledger with its sidecars, exposures, sessions, queue, anchors, exports, answers, errors.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import other_memories as other
import pytest
from command import Inside, Shell
from hooked import environment, payload, ran, repository
from talk import talking
from test_malformed import exported, note, row

LETTERS = string.ascii_letters + string.digits


class Canaries:
    """Makes secrets of several kinds, in the words around them, and knows which door each was put through."""

    def __init__(self) -> None:
        self._draw = random.Random("canaries")
        self.doors: dict[str, str] = {}

    def _made(self, door: str, size: int, letters: str = LETTERS) -> str:
        value = "".join(self._draw.choice(letters) for _ in range(size))
        self.doors[value] = door
        return value

    def _pem(self, door: str) -> str:
        body = "\n".join(self._made(f"{door}: pem", 64) for _ in range(2))
        return f"-----BEGIN {'PRIVATE'} KEY-----\n{body}\n-----END {'PRIVATE'} KEY-----"

    def texts(self, door: str) -> list[str]:
        """Return texts that hold a secret each."""
        cloud = "AKI" + "A" + self._made(f"{door}: cloud id", 16, string.ascii_uppercase + "234567")
        return [
            f"the token is gh{'p'}_{self._made(f'{door}: forge', 36)} for now",
            f"export AWS_SECRET_ACCESS_KEY={self._made(f'{door}: cloud', 40)} # {cloud}",
            f"connect to postgres://app:{self._made(f'{door}: url', 20)}@db.example.net:5432/app",
            f"Authorization: Bearer {self._made(f'{door}: bearer', 48)}",
            self._pem(door),
            f"password: {self._made(f'{door}: password', 18)}!",
        ]

    def text(self, door: str) -> str:
        """Return one text that holds a secret of each kind."""
        return "\n".join(self.texts(door))

    def short(self, door: str) -> str:
        """Return a short text with one secret, for what holds few letters."""
        return f"gh{'p'}_{self._made(door, 36)}"


def forms(value: str) -> Iterator[bytes]:
    """Yield the ways in which a text may stand in a file."""
    raw = value.encode()
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield value.encode("utf-16-le")
    yield value.encode("utf-16-be")
    yield json.dumps(value)[1:-1].encode()
    for shift in range(3):  # base64 of a longer text: three places a piece may begin at
        whole = base64.b64encode(b"\0" * shift + raw)
        yield whole[4 if shift else 0 : len(whole) - 4]


def held(folder: Path, canaries: Canaries, but: set[Path]) -> list[tuple[str, str]]:
    """Return file and door of every secret that stands in a file below a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path not in but:
            data = path.read_bytes()
            for value, door in canaries.doors.items():
                if any(form in data for form in forms(value)):
                    found.append((path.name, door))
    return found


def command_line(inside: Inside, canaries: Canaries, laid: set[Path], folder: Path) -> None:
    """Put secrets through every argument of every command that takes a text, the wrong ones included."""
    text, short = canaries.text, canaries.short
    first = inside.record()["id"]
    second = inside.record("tests are slow", "run them with -n 2")["id"]
    texts = ["--problem", "--solution", "--title"]
    for name in texts:
        rest = [part for other in texts[:2] if other != name for part in (other, f"a text for {name}")]
        inside("record", name, text(f"record {name}"), *rest, "--project", "demo")
    inside("record", "--problem", "tagged", "--solution", "t", "--tag", short("record --tag"))
    inside("record", "--problem", "placed", "--solution", "p", "--project", short("record --project"))
    inside("record", "--problem", "odd", "--solution", "o", "--category", short("record --category"))
    inside(
        "supersede", first, "--problem", "postgres hangs", "--solution", text("supersede"), "--reason", text("why new")
    )
    inside("alias", second, text("alias"), short("alias word"))
    inside("retract", second, "--reason", text("retract --reason"))
    inside("propose", "--problem", text("propose"), "--solution", "maybe")
    inside("query", text("query"), "--project", "demo")
    inside("recall", text("recall"), "--project", "demo", "--session", short("recall --session"))
    inside("recall", "postgres hangs, why?", "--project", "demo")
    inside("wrong", "--solution", text("wrong --solution"), "--reason", text("wrong --reason"))
    inside("why", short("why"))
    inside("show", short("show"))
    inside("undo", short("undo"))
    inside("config", "set", "scan_paths", json.dumps([short("config")]))
    inside("config", "set", short("config name"), "1")
    inside("project", "alias", "demo", short("project alias"))
    inside("sql", f"SELECT {short('sql fault')}")
    inside(short("command"), "--x", short("option"))
    inside("import", str(folder / short("import path")))
    inside("export", "--output", str(folder / "out.jsonl"))
    inside("export", "--format", short("export format"))


def notes(inside: Inside, canaries: Canaries, laid: set[Path], folder: Path) -> None:
    """Put secrets into everything that a note or an export may hold, and into their names."""
    memory = folder / "memory"
    memory.mkdir()
    written = {
        "body.md": note("name: body", canaries.text("note body")),
        "head.md": note(f"name: {canaries.short('note name')}\ndescription: {canaries.short('note description')}", "x"),
        "tags.md": note(f"name: t\ntags: [{canaries.short('note tag')}]", "tagged"),
        "broken.md": note(f'description: "{canaries.short("broken header")}', "y"),
        "long.md": note("name: long", "# A\n\n" + "word " * 3_000 + canaries.text("long note") + "\n\n# B\n\nz"),
        f"{canaries.short('note file')}.md": note("name: f", "named"),
        "MEMORY.md": f"- {canaries.text('index item')}\n- [x](x.md): {canaries.short('index line')}\n".encode(),
        "e.jsonl": exported(
            row(1, canaries.text("export solution")),
            row(2, "s", problem=canaries.text("export problem")),
            row(3, "s", title=canaries.short("export title")),
            row(4, "s", project=canaries.short("export project")),
            row(5, "s", category=canaries.short("export category")),
            row(6, "s", id=canaries.short("export id")),
        ),
    }
    for name, data in written.items():
        (memory / name).write_bytes(data)
        laid.add(memory / name)
    inside("import", str(memory), "--project", "demo")
    inside("import", str(memory / "e.jsonl"))
    inside("import", str(memory), "--project", canaries.short("import --project"))


def others(inside: Inside, canaries: Canaries, laid: set[Path], folder: Path) -> None:
    """Put secrets into every text of other tools' memories, their names, tags and projects, and what stays out."""
    there = folder / "theirs"
    there.mkdir()
    text, short = canaries.text, canaries.short
    rows = (
        other.memory(1, text("store"), tags=f"project:{short('store project')},{short('store tag')}"),
        other.memory(2, "a b", memory_type=short("store type"), metadata=json.dumps({"access_queries": text("trail")})),
        other.memory(3, text("store deleted"), deleted_at=1.5),
        other.memory(4, "c d", superseded_by=short("store link")),
    )
    other.store(there / "m.db", *rows)
    other.history(there / "h.db", (short("history id"), None, text("history"), "ADD"))
    entity = {"type": "entity", "name": short("graph name"), "entityType": short("graph type"), "observations": []}
    memory = {"id": short("list id"), "memory": text("list"), "metadata": {"project": short("list project")}}
    written = {
        "m.json": other.exported(*rows[:2]).replace(b"box-a", short("export host").encode()),
        "l.json": json.dumps({"results": [memory]}).encode(),
        "g.jsonl": json.dumps(entity | {"observations": [text("graph")]}).encode(),
        "GEMINI.md": f"## Gemini Added Memories\n- {text('gemini')}\n".encode(),
        "USER.md": f"{text('hermes')}\n\u00a7\n{short('hermes short')}\n".encode(),
        "r.mdc": f"---\ndescription: {short('rule about')}\n---\n{text('rule')}\n".encode(),
        "c.md": f"---\npermalink: {short('permalink')}\n---\n- [{short('observed')}] {text('note')}\n".encode(),
        "r.csv": f'q,a,t\n"{text("row")}",{short("row cell")},{short("row tag")}\n'.encode(),
        "bad.csv": f"{short('header')},a\n1,2\n".encode(),
    }
    for name, data in written.items():
        (there / name).write_bytes(data)
    laid.update(there.iterdir())
    for path in sorted(there.iterdir()):
        inside("import", str(path), *(("--map", "problem=q,solution=a,tags=t") if path.suffix == ".csv" else ()))


def hooks(inside: Inside, canaries: Canaries, laid: set[Path], folder: Path) -> None:
    """Put secrets into every field of every hook's input, and into what is no input at all."""
    here = repository(folder)
    env = environment(folder / "data" / "ledger.db", HOME=str(folder))
    transcript = folder / "transcript.jsonl"
    turn = {"type": "user", "message": {"role": "user", "content": canaries.text("transcript")}}
    transcript.write_text(json.dumps(turn) + "\n")
    laid.add(transcript)
    for event, told in (
        ("prompt", {"prompt": canaries.text("hook prompt")}),
        (
            "prompt",
            {"prompt": "why does it hang?", "transcript_path": str(transcript), "session_id": canaries.short("sid")},
        ),
        ("session-start", {"source": canaries.short("source"), "cwd": str(here)}),
        ("subagent-start", {"agent_id": canaries.short("agent"), "agent_type": "x", "task": canaries.text("task")}),
        ("stop", {"last_assistant_message": canaries.text("stop")}),
        ("compact", {"compact_summary": canaries.text("summary"), "trigger": "auto"}),
        ("precompact", {"trigger": "auto", "custom_instructions": canaries.text("instructions")}),
        ("tool", {"tool_name": "Write", "tool_input": {"file_path": str(folder / f"{canaries.short('tool')}.md")}}),
        ("tool", {"tool_name": "Bash", "tool_input": {"command": f"echo {canaries.text('bash')} > memory/x.md"}}),
        ("end", {"reason": canaries.short("end")}),
        (canaries.short("event"), {}),
    ):
        ran(event, payload(here, **told), env)  # type: ignore[arg-type]
    ran("prompt", canaries.text("no json").encode(), env)
    ran("stop", b'{"session_id": "s", "last_assistant_message": "' + canaries.short("torn").encode(), env)
    inside("scan")


def server(inside: Inside, canaries: Canaries, laid: set[Path], folder: Path) -> None:
    """Put secrets into every argument of every tool, known and unknown."""
    file = folder / "data" / "ledger.db"
    with talking(file, "auto", "--project", "demo", errors=folder / "server.log") as talk:
        made = talk.document("record_learning", problem="the cache is cold", solution="warm it")["id"]
        for name, told in (
            ("record_learning", {"problem": canaries.text("mcp problem"), "solution": canaries.text("mcp solution")}),
            ("record_learning", {"problem": "p", "solution": "s", "title": canaries.short("mcp title")}),
            ("record_learning", {"problem": "p2", "solution": "s", "tags": [canaries.short("mcp tag")]}),
            ("record_learning", {"problem": "p3", "solution": "s", "project": canaries.short("mcp project")}),
            (
                "record_learning",
                {"problem": "p4", "solution": "s", canaries.short("mcp name"): canaries.short("mcp value")},
            ),
            ("record_learning", {"problem": 7, "solution": canaries.short("mcp beside a fault")}),
            (
                "supersede_learning",
                {
                    "old": [made],
                    "problem": "c",
                    "solution": canaries.text("mcp supersede"),
                    "reason": canaries.text("mcp reason"),
                },
            ),
            ("query_learnings", {"query": canaries.text("mcp query")}),
            ("retract_learning", {"id": made, "reason": canaries.text("mcp retract")}),
            ("undo", {"seq": canaries.short("mcp seq")}),
            ("get_learnings", {"ids": [canaries.short("mcp id")]}),
            ("learning_history", {"id": canaries.short("mcp history")}),
            ("import_learnings", {"paths": [str(folder / canaries.short("mcp path"))]}),
            (
                "recall",
                {
                    "prompt": canaries.text("mcp prompt"),
                    "session_id": canaries.short("mcp session"),
                    "prompt_id": canaries.short("mcp prompt id"),
                    "cwd": str(folder),
                },
            ),
            (canaries.short("mcp tool"), {}),
        ):
            answer = talk.call(name, told)
            text = "".join(block.text for block in answer.content if block.type == "text")
            with (folder / "answers.log").open("a", encoding="utf-8") as log:
                log.write(f"{text}\n{answer.structured_content}\n")


DOORS: dict[str, Callable[[Inside, Canaries, set[Path], Path], None]] = {
    "command line": command_line,
    "notes": notes,
    "others": others,
    "hooks": hooks,
    "server": server,
}


@pytest.mark.parametrize("door", DOORS)
def test_no_secret_that_came_through_a_door_stands_in_any_file(
    door: str, inside: Inside, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raw, base64, hex, UTF-16 and JSON-escaped: nothing of it is in the ledger, beside it, or in what was said."""
    canaries, laid = Canaries(), set[Path]()
    said = []

    inside.record("opening", "makes the file")
    original = Inside.__call__

    def keeping(self: Inside, *words: str) -> object:
        done = original(self, *words)
        said.append(done.out + done.err)
        return done

    monkeypatch.setattr(Inside, "__call__", keeping)
    DOORS[door](inside, canaries, laid, tmp_path)
    inside("verify")
    inside("doctor")
    (tmp_path / "said.log").write_text("\n".join(said))

    assert len(canaries.doors) > 15
    found = sorted(set(held(tmp_path, canaries, laid)))
    assert found == [], found
