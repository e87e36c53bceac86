"""Run commands of the ledger in forked children whose calls of the system fail as they are told (`below.c`).

Started once by `below.py` with the library loaded before all others; everything is imported before the first
fork, so that a child does only what its command does. One JSON line in, one out.
"""

import contextlib
import ctypes
import io
import json
import os
import sys
import time
from typing import Any

from ledger import tables, upgrade
from ledger.cli import main


def told(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job in a child and say how it ended."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        with open(writing, "w", encoding="utf-8") as file:
            json.dump(done(job), file)
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        said = file.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return json.loads(said) if code == 0 else {"code": code, "out": "", "err": "", "kinds": [], "hit": code == -9}


def done(job: dict[str, Any]) -> dict[str, Any]:
    """Run a command with one call of the system made to fail; return its exit status and what it printed."""
    below = ctypes.CDLL(None)
    os.environ.update(job["env"])
    os.environ["TZ"] = job.get("zone", "UTC")
    time.tzset()
    below.below_clock(ctypes.c_long(job.get("clock_s", 0)))
    if job.get("given"):
        reading, writing = os.pipe()
        os.write(writing, job["given"].encode())
        os.close(writing)
        os.dup2(reading, 0)
    if job.get("migrations"):
        become_newer(job["migrations"])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        below.below_arm(job["call"], ctypes.c_long(job["nth"]), job["error"], job["mode"], job["folder"].encode())
        try:
            code = main(job["words"])
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            below.below_disarm()
    kinds = [below.below_kind(ctypes.c_long(at)) for at in range(below.below_seen())]
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "kinds": kinds, "hit": bool(below.below_hit())}


def become_newer(migrations: str) -> None:
    """Let this process be a program whose schema is that of the last of these migrations."""
    newest = sorted(name for name in os.listdir(os.path.join(migrations, "versions")) if name[0].isdigit())[-1]
    tables.SCHEMA_VERSION, tables.SCHEMA_REVISION = int(newest[:4]), newest.removesuffix(".py")
    upgrade.schema_path = lambda *_: migrations


def warm(folder: str) -> None:
    """Use everything once, so that no child imports anything."""
    env = {"HOME": folder, "LEARNINGS_FILE": os.path.join(folder, "warm", "ledger.db")}
    upgrade.pending("", "here")
    for words in (["record", "--problem", "p", "--solution", "s"], ["query", "p"], ["verify"], ["rebuild"]):
        job = {"words": words, "env": env, "call": -1, "nth": -1, "error": 0, "mode": 0, "folder": folder}
        os.environ.update(env)
        done(job)


def say(line: str) -> None:
    """Write a line to whoever started this."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    warm(sys.argv[1])
    say("ready")
    for line in sys.stdin:
        say(json.dumps(told(json.loads(line))))
