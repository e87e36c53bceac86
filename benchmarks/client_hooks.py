"""How long the hooks take in the real client, beside hooks that do nothing.

    PYTHONPATH=tests python benchmarks/client_hooks.py LEDGER [--project NAME] [--prompts N] [--starts N]

LEDGER is copied. Three sessions run side by side and are asked in turn, so that
all meet the same machine: one with recall, one whose prompts call a tool that
does nothing, one whose prompts start a program that does nothing. Printed are
median, p95 and the most, in milliseconds: of the hook, from `hook_started` to
`hook_response` as the client streams them, and from the prompt to its request.
The client may hold back a line while it is busy: a single figure is no more
exact than some milliseconds.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from realclient import noop_server
from realclient.client import PROJECT, Home, Talk, installed
from realclient.loopback import Loopback
from realclient.stub import Stub

from ledger.reader import open_reader

CONCERNS_NOTHING = ("ok go ahead", "yes, do that", "thanks, looks good")
EVERY = 4
"""Each fourth prompt concerns nothing."""


class Kind:
    """One way in which a prompt's hook is answered, and what it took."""

    def __init__(self, name: str, home: Home) -> None:
        self.name, self.home = name, home
        self.hook_ms: list[float] = []
        self.prompt_ms: list[float] = []
        self.start_ms: list[float] = []
        self.first_ms: list[float] = []

    def ask(self, session: Talk, prompt: str) -> None:
        """Give a prompt and note what it took."""
        turn = session.say(prompt)
        self.hook_ms += [hook.ms for hook in turn.hooks if hook.event == "UserPromptSubmit"]
        self.prompt_ms.append(1_000 * turn.wait_s)

    def start(self) -> None:
        """Begin a session and end it again; note what its start took."""
        with self.home.talk() as session:
            turn = session.say("hello")
        self.start_ms += [hook.ms for hook in turn.hooks if hook.event == "SessionStart"]
        self.first_ms.append(1_000 * (turn.request.at - session.begun_at))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ledger", help="the ledger's file")
    parser.add_argument("--project", default=PROJECT, help="the project that the prompts are about (%(default)s)")
    parser.add_argument("--prompts", type=int, default=100, help="prompts of each kind (%(default)s)")
    parser.add_argument("--starts", type=int, default=10, help="starts of each kind (%(default)s)")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        loopback = Loopback()
        stack.callback(loopback.close)
        kinds = [made(stack, folder, name, loopback, given) for name in ("recall", "no-op tool", "no-op command")]
        prompts, count = prompts_of(kinds[0].home.ledger, given.project, given.prompts)
        for _ in range(given.starts):
            for kind in kinds:
                kind.start()
        with ExitStack() as running:
            sessions = [(kind, running.enter_context(kind.home.talk())) for kind in kinds]
            for _, session in sessions:
                session.say("hello")
            for prompt in prompts:
                for kind, session in sessions:
                    kind.ask(session, prompt)
            shown = kinds[0].home.stub.requests[-1].spoken.count("UserPromptSubmit hook additional context")
    print(f"{count:,} learnings, {given.prompts} prompts of each kind, {shown} with recall; {given.starts} starts")
    print(f"{'':16}{'prompt hook':>24}{'prompt to request':>24}{'start hook':>24}{'start to request':>24}")
    for kind in kinds:
        columns = (kind.hook_ms, kind.prompt_ms, kind.start_ms, kind.first_ms)
        print(f"{kind.name:16}" + "".join(f"{told(column):>24}" for column in columns))
    print("each: median / p95 / most, ms")


def made(stack: ExitStack, folder: Path, name: str, loopback: Loopback, given: argparse.Namespace) -> Kind:
    """Return a kind in a HOME of its own."""
    stub = stack.enter_context(Stub(loopback.listening()))
    home = Home(folder / name.replace(" ", "-"), installed(), loopback, stub, project=given.project)
    if name == "recall":
        home.ledger.parent.mkdir(parents=True)
        for file in Path(given.ledger).parent.glob(Path(given.ledger).name + "*"):
            shutil.copy(file, home.ledger.with_name(home.ledger.name + file.name[len(Path(given.ledger).name) :]))
        home.learnings("config", "set", "robots", "on")
        home.learnings("setup", "claude-code")
        return Kind(name, home)
    nothing = {"type": "command", "command": f"{sys.executable} -I -S -c pass"}
    on_prompt = nothing
    if name == "no-op tool":
        on_prompt = {"type": "mcp_tool", "server": "nothing", "tool": "nothing"}
        server = {"type": "stdio", "command": sys.executable, "args": ["-I", "-S", noop_server.__file__]}
        home.state.write_text(json.dumps({"mcpServers": {"nothing": server}}))
    hooks = {"SessionStart": [{"hooks": [nothing]}], "UserPromptSubmit": [{"hooks": [on_prompt]}]}
    home.settings.write_text(json.dumps({"hooks": hooks}))
    return Kind(name, home)


def prompts_of(ledger: Path, project: str, many: int) -> tuple[list[str], int]:
    """Return prompts about a project's newest learnings, each `EVERY`th about nothing; and how many learnings are."""
    titles: list[str] = []
    with open_reader(str(ledger)) as reader:
        before = None
        while len(titles) < many and (rows := reader.list_learnings(project, limit=50, before_seq=before).rows):
            titles += [row.title for row in rows if row.title]
            before = rows[-1].seq
        ((count,),) = reader.rows("SELECT count(*) FROM current_learnings", {})
    draw = random.Random(7)
    about = [f"what did we learn about this: {draw.choice(titles)}?" for _ in range(many)]
    return [draw.choice(CONCERNS_NOTHING) if place % EVERY == 0 else text for place, text in enumerate(about)], count


def told(found: Sequence[float]) -> str:
    """Return median, p95 and the most."""
    if not found:
        return "-"
    ordered = sorted(found)
    places = (len(ordered) // 2, min(len(ordered) - 1, int(0.95 * len(ordered))), -1)
    return " / ".join(f"{ordered[place]:,.0f}" for place in places)


if __name__ == "__main__":
    main()
