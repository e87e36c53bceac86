"""Run the examples of a page, and compare what they print with what the page shows.

    python docs/examples.py PAGE…           say what differs
    python docs/examples.py --write PAGE…   put what is printed into the pages

A fenced block `console` is a session: lines that begin with `$ ` are typed, the
others are printed; a lone `…` stands for lines left out, and a line like
`# Tuesday, 2026-12-01 09:00` sets the clock (UTC). A block `markdown title="PATH"`
is written to a file first. A page is one session in a folder of its own, which
is shown as `~`, with a ledger of its own. Ids differ at every run: the first id a
page shows stands for the first one printed there. `learnings` runs in this
process; everything else is given to bash.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ledger import cli

FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ID = re.compile(r"lrn_([a-z2-7]{8})([a-z2-7]{18})?")
CLOCK = re.compile(r"# (\w+), (\d{4}-\d\d-\d\d \d\d:\d\d)")
LEFT_OUT = "…"
VARYING = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "HASH"),
    (re.compile(r"\bexp_[a-z2-7]{25}\b"), "EXPOSURE"),
)
"""What differs at every run and is compared by its form alone."""

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
STEP = timedelta(minutes=1)
"""When a page's session begins, unless it says so, and how long every command takes by its clock."""


class Typed(NamedTuple):
    """A command of a page, with the lines shown below it, and where it stands in the text."""

    command: str
    shown: list[str]
    line: int


class Session:
    """A folder, a clock, and the ids that stand for those of the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = START
        self.ids: dict[str, str] = {}
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "LEARNINGS_FILE": str(folder / ".local/share/learnings/ledger.db"),
            "COLUMNS": "100",
        }

    def printed(self, typed: Typed) -> list[str]:
        """Run one command; return what it prints, with the page's ids."""
        command = self._with_our_ids(typed.command)
        self.now += STEP
        text = self._learnings(command) if command.startswith("learnings ") else self._bash(command)
        text = text.replace(str(self.folder), "~")
        self._bind("\n".join(typed.shown), text)
        theirs = {ours[:8]: page for page, ours in self.ids.items()}
        return ID.sub(lambda found: f"lrn_{theirs.get(found[1], found[1])}{found[2] or ''}", text).splitlines()

    def _learnings(self, command: str) -> str:
        out = io.StringIO()
        before, folder, clock = dict(os.environ), os.getcwd(), time.time_ns
        os.environ.clear()
        os.environ.update(self.env)
        os.chdir(self.folder)
        time.time_ns = lambda: int(self.now.timestamp()) * 1_000_000_000
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                cli.main(shlex.split(command)[1:])
        finally:
            time.time_ns = clock
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)
        return out.getvalue()

    def _bash(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=60,
        )
        return done.stdout.decode()

    def _with_our_ids(self, command: str) -> str:
        def ours(found: re.Match[str]) -> str:
            known = self.ids.get(found[1], found[1])
            return f"lrn_{known if found[2] else known[:8]}"

        return ID.sub(ours, command)

    def _bind(self, shown: str, printed: str) -> None:
        """Let the ids that are new on the page stand for those that are new in the print, in their order."""
        whole = {found[1]: found[1] + (found[2] or "") for found in sorted(ID.finditer(printed), key=len_of_id)}
        known = {ours[:8] for ours in self.ids.values()}
        new = dict.fromkeys(found[1] for found in ID.finditer(printed) if found[1] not in known)
        page = dict.fromkeys(found[1] for found in ID.finditer(shown) if found[1] not in self.ids)
        self.ids.update(zip(page, new, strict=False))
        self.ids.update({one: max(ours, whole.get(ours[:8], ""), key=len) for one, ours in self.ids.items()})


def len_of_id(found: re.Match[str]) -> int:
    """Return how much of an id is there."""
    return len(found[0])


def steps(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the blocks of a page that matter here: what kind, its title or text, the line it begins at."""
    for block in FENCE.finditer(text):
        line = text.count("\n", 0, block.start(3)) + 1
        if block[2]:
            yield f"file {block[2]}", block[3], line
        elif block[1] == "console":
            yield "console", block[3], line


def commands(block: str, line: int) -> Iterator[Typed | datetime]:
    """Yield what is typed in a session, and when the clock is set.

    Raises:
        ValueError: a line stands before the first command, or a weekday is not that of its date.
    """
    lines = block.splitlines()
    at = 0
    while at < len(lines):
        first = at
        at += 1
        clock = CLOCK.fullmatch(lines[first])
        if clock:
            moment = datetime.strptime(clock[2], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
            if f"{moment:%A}" != clock[1]:
                raise ValueError(f"line {line + first}: {clock[2]} is a {moment:%A}")
            yield moment
            continue
        if not lines[first].startswith("$ "):
            raise ValueError(f"line {line + first}: there is no command before it")
        typed = lines[first][2:]
        while typed.endswith("\\"):
            typed = typed[:-1] + lines[at].strip()
            at += 1
        start = at
        while at < len(lines) and not lines[at].startswith("$ ") and not CLOCK.fullmatch(lines[at]):
            at += 1
        yield Typed(typed, lines[start:at], line + start)


def played(text: str) -> Iterator[tuple[Typed, list[str]]]:
    """Run a page; yield every command with what it printed."""
    with tempfile.TemporaryDirectory() as made:
        session = Session(Path(made).resolve())
        for kind, block, line in steps(text):
            if kind != "console":
                path = session.folder / kind.removeprefix("file ")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block, "utf-8")
                continue
            for typed in commands(block, line):
                if isinstance(typed, datetime):
                    session.now = typed - STEP
                else:
                    yield typed, session.printed(typed)


def is_like(shown: list[str], printed: list[str]) -> bool:
    """Tell whether the page shows what was printed, apart from what varies or was left out."""
    wanted = "".join(r"(?:.*\n)*?" if line == LEFT_OUT else re.escape(normal(line)) + r"\n" for line in shown)
    return re.fullmatch(wanted, "".join(normal(line) + "\n" for line in printed)) is not None


def normal(line: str) -> str:
    """Return a line without what varies: uuids, hashes, tails of ids, the width of columns."""
    for pattern, word in VARYING:
        line = pattern.sub(word, line)
    return ID.sub(lambda found: f"lrn_{found[1]}{'+' if found[2] else ''}", re.sub(" {2,}", "  ", line)).rstrip()


def faults(page: Path) -> list[str]:
    """Return what a page shows and the program does not print."""
    found = []
    try:
        for typed, printed in played(page.read_text("utf-8")):
            if not is_like(typed.shown, printed):
                told = "\n".join(f"    {line}" for line in printed)
                found.append(f"{page}:{typed.line}: `{typed.command}` prints\n{told}")
    except ValueError as error:
        found.append(f"{page}: {error}")
    return found


def write(page: Path) -> None:
    """Put what is printed into a page; commands that show it by halves are left as they are."""
    lines = page.read_text("utf-8").split("\n")
    done = [(typed, printed) for typed, printed in played("\n".join(lines)) if not is_like(typed.shown, printed)]
    for typed, printed in reversed(done):
        at = typed.line - 1
        lines[at : at + len(typed.shown)] = [line.rstrip() for line in printed]
    page.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--write"]:
        for word in words[1:]:
            write(Path(word))
    told = [line for word in words if word != "--write" for line in faults(Path(word))]
    print("\n".join(told) or "every example prints what its page shows")
    sys.exit(1 if told else 0)
