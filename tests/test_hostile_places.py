"""Repositories that would run something when git looks at them: nothing of ours ever starts a process for one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hooked import environment, payload, repository

STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "pty.spawn",
)

WATCHED = """
import json, os, sys
told = []
sys.addaudithook(lambda event, args: told.append([event, repr(args)[:200]]) if event in STARTS else None)
from ledger.cli import main
status = []
for words in json.loads(sys.argv[1]):
    if words[0] == "hook":
        reading, writing = os.pipe()
        os.write(writing, words[2].encode())
        os.close(writing)
        os.dup2(reading, 0)
        sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")
        words = words[:2]
    status.append(main(words))
sys.stdout.write("\\n" + json.dumps([status, told]))
"""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a repository in which every known way of running something is set, each to leave a mark."""
    made = repository(tmp_path)
    mark = tmp_path / "marked"
    run = f"touch {mark}"
    (made / ".git" / "config").write_text(
        f"[core]\n\tfsmonitor = {run}\n\tpager = {run}\n\thooksPath = hooks\n\tsshCommand = {run}\n\teditor = {run}\n"
        f"\tworktree = ../demo\n[gpg]\n\tprogram = {run}\n[log]\n\tshowSignature = true\n"
        f'[diff "x"]\n\ttextconv = {run}\n\tcommand = {run}\n[filter "x"]\n\tsmudge = {run}\n\tclean = {run}\n'
        f"[alias]\n\tstatus = !{run}\n[credential]\n\thelper = !{run}\n[include]\n\tpath = /dev/zero\n"
        '[remote "origin"]\n\turl = ext::sh -c "touch marked"\n'
    )
    (made / ".gitattributes").write_text("* diff=x filter=x\n")
    hooks = made / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-commit", "fsmonitor-watchman", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\n{run}\n")
        (hooks / name).chmod(0o755)
    bare = made / "vendor" / "bare.git"
    for part in ("objects", "refs"):
        (bare / part).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text(f"[core]\n\tbare = true\n\tfsmonitor = {run}\n")
    nested = made / "nested"
    nested.mkdir()
    os.mkfifo(nested / ".git")
    memory = made / ".claude" / "agent-memory" / "x"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- the pooler listens on 6543\n")
    (memory / "config.md").symlink_to(made / ".git" / "config")
    os.mkfifo(memory / "pipe.md")
    (memory / "zero.md").symlink_to("/dev/zero")
    (made / "CLAUDE.md").symlink_to("/dev/zero")
    (made / "AGENTS.md").symlink_to(made / ".git" / "config")
    return made


@pytest.mark.parametrize("below", ["", "vendor/bare.git", "nested", ".git", ".claude/agent-memory/x"])
def test_no_process_is_started_for_a_hostile_repository(hostile: Path, tmp_path: Path, below: str) -> None:
    """Import, scan, record, recall and every hook, from any folder of it: no start is heard, no mark appears."""
    here = hostile / below
    file = tmp_path / "data" / "ledger.db"
    written = {"tool_name": "Write", "tool_input": {"file_path": str(hostile / ".claude/agent-memory/x/MEMORY.md")}}
    given = payload(here, prompt="how does it listen?", source="startup", last_assistant_message="done", **written)
    events = ("session-start", "prompt", "subagent-start", "tool", "precompact", "stop", "end")
    words = [
        ["import", str(hostile)], ["import", str(here)], ["scan", "--or-example"],
        ["record", "--problem", "the pooler", "--solution", "6543"], ["project"], ["recall", "the pooler?"],
        *(["hook", event, json.dumps(given)] for event in events),
    ]  # fmt: skip

    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED.replace("STARTS", repr(STARTS)), json.dumps(words)],
        cwd=here, env=environment(file, HOME=str(tmp_path), PYTHONPATH=os.environ.get("PYTHONPATH", "")),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    status, told = json.loads(done.stdout.rpartition("\n")[2])
    assert told == []
    assert set(status) <= {0, 15}, (status, done.stderr)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "marked").exists()
    assert not (here / "marked").exists()
