"""Use an installed `learnings` as a stranger would, and hold its answers to the public contract.

    PYTHON -I wheel_smoke.py [--engine sqlite3|pysqlite3]

PYTHON is the interpreter of the environment that the wheel was installed in. All
work is done through the installed command, in a new folder with a new HOME; the
JSON keys asserted here are those that users and agents rely on. `--engine` names
the SQLite that is expected to write, and so the journal mode of the file.
"""

import argparse
import asyncio
import importlib
import json
import os
import subprocess
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.client import ConnectMode

COMMAND = str(Path(sys.executable).parent / "learnings")
OLD = "connect to postgres on port 5432 directly"
NEW = "go through the pooler on port 6543"
QUESTION = "postgres connection hangs inside the container"
HIT_KEYS = "id title problem solution category project tags state trust recorded_at supersedes score"
TOOLS = (
    "query_learnings record_learning supersede_learning get_learnings list_learnings "
    "learning_history retract_learning undo import_learnings ledger_status"
)
FIXED_SQLITE = ((3, 51, 3), (3, 50, 7), (3, 44, 6))
"""First release of each line without the WAL-reset bug (docs/decisions/0005)."""


def need(answer: dict[str, Any], keys: str) -> dict[str, Any]:
    """Return the answer if it has these keys; a missing key breaks the contract."""
    missing = [key for key in keys.split() if key not in answer]
    if missing:
        raise SystemExit(f"the keys {missing} are missing from {json.dumps(answer)[:400]}")
    return answer


def is_fixed(version: tuple[int, ...]) -> bool:
    """Tell whether this SQLite may write in WAL mode."""
    return version >= FIXED_SQLITE[0] or any(version[:2] == fixed[:2] and version >= fixed for fixed in FIXED_SQLITE)


class Shell:
    """A new home with nothing in it, and the command run there."""

    def __init__(self, home: Path) -> None:
        self.cwd = home / "elsewhere"
        self.cwd.mkdir()
        kept = {name: os.environ[name] for name in ("LANG", "SYSTEMROOT", "TMPDIR") if name in os.environ}
        self.env = {"HOME": str(home), "PATH": os.defpath, **kept}

    def run(self, *arguments: str) -> dict[str, Any]:
        """Run one command with `--json` and return its document."""
        done = subprocess.run(
            [COMMAND, *arguments, "--json"],
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"learnings {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict), answer
        return answer

    def hits(self, *arguments: str) -> list[dict[str, Any]]:
        """Query and return the hits."""
        answer = need(self.run("query", *arguments, "--project", "demo"), "hits truncated")
        return [need(hit, HIT_KEYS) for hit in answer["hits"]]


def through_the_command_line(shell: Shell) -> Path:
    """Record, supersede, look back, undo, redo, retract; return the ledger's file."""
    file = Path(need(shell.run("init"), "file ledger_id")["file"])
    texts = ("--problem", QUESTION, "--solution", OLD, "--title", "database port", "--tag", "db")
    old = need(
        shell.run("record", *texts, "--category", "env", "--project", "demo"),
        "id seq state near conflicts",
    )
    assert [hit["id"] for hit in shell.hits(QUESTION)] == [old["id"]]

    new = need(
        shell.run("supersede", old["id"], "--problem", "sessions time out", "--solution", NEW, "--reason", "moved"),
        "id seq supersedes still_loaded",
    )
    assert new["supersedes"] == [old["id"]]
    assert [hit["solution"] for hit in shell.hits("container")] == [NEW], "words of the old text lead to the new one"
    assert [hit["solution"] for hit in shell.hits(QUESTION, "--as-of", str(old["seq"]))] == [OLD]

    undone = need(shell.run("undo", str(new["seq"])), "seq undone streams")
    assert undone["undone"] == [new["seq"]]
    assert [hit["solution"] for hit in shell.hits(QUESTION)] == [OLD], "undo brings the old one back"
    shell.run("undo", str(undone["seq"]))
    assert [hit["solution"] for hit in shell.hits(QUESTION)] == [NEW], "undo of the undo is a redo"

    shown = need(shell.run("show", old["id"]), "id state superseded_by sources")
    assert (shown["state"], shown["superseded_by"]) == ("superseded", [new["id"]])
    for event in need(shell.run("history", old["id"]), "events")["events"]:
        need(event, "seq kind recorded_at actor_kind channel trust undone_by")
    retracted = need(shell.run("retract", new["id"], "--reason", "no longer so"), "id seq")
    shell.run("undo", str(retracted["seq"]))
    return file


def with_the_example(shell: Shell) -> None:
    """Import the bundled notes twice, and look at the result in SQL."""
    counts = "batch recorded superseded retracted unchanged proposed quarantined skipped diagnostics"
    with as_file(files("ledger_schema.example")) as notes:
        first = need(shell.run("import", str(notes), "--project", "demo"), counts)
        again = need(shell.run("import", str(notes), "--project", "demo"), counts)
    assert first["recorded"] > 0
    assert (again["recorded"], again["superseded"], again["retracted"]) == (0, 0, 0), "a second import adds nothing"
    columns = "id title problem solution category project trust recorded_at"
    rows = need(shell.run("sql", f"SELECT {columns.replace(' ', ', ')} FROM current_learnings"), "columns rows")
    assert rows["columns"] == columns.split()
    assert len(rows["rows"]) >= first["recorded"]


def by_meaning(shell: Shell) -> None:
    """Find what ships for search by meaning, and recall with it: a learning that shares no word with the question."""
    notice = files("ledger_schema").joinpath("tokens.LICENSE").read_text("utf-8")
    assert "Apache License" in notice
    gate = json.loads(files("ledger_schema").joinpath("gate.v1.json").read_text("utf-8"))
    subject = "tab RAM keeps growing until the renderer dies"
    texts = ("--problem", subject, "--solution", "close the inspector", "--category", "bug-fix", "--project", "demo")
    made = shell.run("record", *texts)
    assert [hit["id"] for hit in shell.hits("the browser eats all memory")][:1] == [made["id"]]
    prompt = "the renderer of the browser dies, its RAM keeps growing in that tab. how did we fix it?"
    shown = need(shell.run("recall", prompt, "--project", "demo"), "text ids held exposure reasons")
    assert shown["ids"] == [made["id"]], shown
    versions = shown["reasons"]["versions"]
    assert versions["gate"] == gate["version"], versions
    meaning = need(shell.run("stats"), "meaning")["meaning"]
    assert meaning == {"table": versions["tokens"], "vectors": versions["tokens"], "words_alone": None}, meaning
    assert versions["tokens"] is not None, versions
    print(f"smoke: token table {versions['tokens']}, gate {versions['gate']}: ok")


def is_whole(shell: Shell) -> None:
    """Verify the ledger."""
    verdict = need(shell.run("verify"), "ok events erased head problems")
    need(verdict["head"], "seq hash")
    assert verdict["ok"] is True
    assert verdict["problems"] == []


async def over_mcp(shell: Shell, mode: ConnectMode) -> None:
    """List the tools, then record, find and take back a learning, as an agent would."""
    server = StdioServerParameters(command=COMMAND, args=["serve"], cwd=shell.cwd, env=shell.env)
    async with Client(stdio_client(server), mode=mode, read_timeout_seconds=60) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names >= set(TOOLS.split()), sorted(names)

        async def call(name: str, keys: str, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer.content
            return need(answer.structured_content or {}, keys)

        subject = f"which linter does the {mode} client use"
        draft = {"problem": subject, "solution": "ruff", "category": "tool-pref", "project": "demo"}
        made = await call("record_learning", "id seq state near conflicts", **draft)
        found = await call("query_learnings", "hits truncated", query=subject, project="demo")
        assert made["id"] in [need(hit, HIT_KEYS)["id"] for hit in found["hits"]]
        await call("undo", "seq undone streams", seq=made["seq"])


def as_a_client_would(shell: Shell) -> None:
    """Set a client up, start what stands in its settings as it does, with hardly a PATH, and take it back."""
    home = Path(shell.env["HOME"])
    folder = home / "demo"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    texts = ("--problem", "a client starts", "--solution", NEW, "--category", "env", "--project", "demo")
    shell.run("pin", shell.run("record", *texts)["id"])
    files = need(shell.run("setup", "claude-code"), "client files undo")["files"]
    assert [need(file, "path state backup diff")["state"] for file in files] == ["made", "made"]

    hooks = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s", "cwd": str(folder)}
    done = subprocess.run(
        ["/bin/sh", "-c", hooks["SessionStart"][0]["hooks"][0]["command"]],
        input=json.dumps(event),
        cwd=folder,
        env={"HOME": str(home), "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert NEW in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"], done
    server = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"]["learnings"]
    start = [server["command"], *server["args"]]
    subprocess.run(start, cwd=folder, env={"HOME": str(home)}, stdin=subprocess.DEVNULL, timeout=60, check=True)

    shell.run("setup", "claude-code", "--uninstall")
    assert not (home / ".claude.json").exists()
    assert not (home / ".claude" / "settings.json").exists()


def is_written_by(file: Path, engine: str) -> None:
    """Hold the file's journal mode, bytes 18 and 19 of its header, against the engine's version."""
    version = importlib.import_module(engine).sqlite_version
    is_wal = is_fixed(tuple(int(part) for part in version.split(".")))
    mode = "WAL" if is_wal else "rollback journal"
    found = file.read_bytes()[18:20]
    assert found == (b"\2\2" if is_wal else b"\1\1"), f"{engine} {version} should use the {mode}; found {found!r}"
    print(f"smoke: {engine} {version}, {mode}: ok")


def main() -> None:
    """Run the whole round in a folder that goes away afterwards."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", choices=("sqlite3", "pysqlite3"), default="sqlite3")
    engine = parser.parse_args().engine
    with tempfile.TemporaryDirectory() as home:
        shell = Shell(Path(home).resolve())
        file = through_the_command_line(shell)
        with_the_example(shell)
        by_meaning(shell)
        asyncio.run(over_mcp(shell, "auto"))
        asyncio.run(over_mcp(shell, "legacy"))
        as_a_client_would(shell)
        is_whole(shell)
        is_written_by(file, engine)


if __name__ == "__main__":
    main()
