"""A home in which Claude Code is set up for this program: real files, made by `learnings setup`, and what ages them."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from ledger import setup_clients as clients
from ledger.cli import main
from ledger.doctor_check import Around, Check
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.sessions import PROMPT, Caller, Sessions

ROOT = str(Path(clients.__file__).parent.parent)
DAY_S = 86_400


class Home:
    """A home folder; days ago are counted from `now`, which is when it was made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = str(folder / "data" / "ledger.db")
        self.settings = folder / ".claude" / "settings.json"
        self.state = folder / ".claude.json"
        self.now = time.time()
        self.kept = Sessions(self.file)
        self._count = 0

    @property
    def around(self) -> Around:
        """Return what `doctor` is told of this home."""
        env = {"HOME": str(self.folder), "PATH": os.environ.get("PATH", os.defpath)}
        return Around(self.file, str(self.folder), env, sys.platform, str(self.folder), self.now)

    # -- setting up --------------------------------------------------------------------------------------------------

    def set_up(self, days: float = 10, *more: str) -> None:
        """Set Claude Code up, days ago. The server is told where the modules are, as nothing is installed in a test."""
        assert main(["setup", "claude-code", "--allow-tools", "--file", self.file, *more]) == 0
        self.change(self.state, lambda held: held["mcpServers"]["learnings"]["env"].update(PYTHONPATH=ROOT))
        self.age(days)

    def age(self, days: float) -> None:
        """Let the set-up be as old as that."""
        for path in (self.settings, self.state):
            os.utime(path, (self.now - days * DAY_S,) * 2)

    def change(self, path: Path, act: Any) -> None:
        """Change a JSON file, and leave its time as it is."""
        held, at = json.loads(path.read_text("utf-8")), path.stat().st_mtime
        act(held)
        path.write_text(json.dumps(held), "utf-8")
        os.utime(path, (at, at))

    def hook(self, event: str) -> Any:
        """Return our hook of an event."""
        return json.loads(self.settings.read_text("utf-8"))["hooks"][event][0]["hooks"][0]

    def plug_in(self, name: str, hooks: dict[str, Any], servers: dict[str, Any] | None = None) -> Path:
        """Install and enable a plugin as the client (2.1.332) leaves it on the disk."""
        place = self.folder / ".claude" / "plugins" / "cache" / name
        for inner, text in (
            (".claude-plugin/plugin.json", {"name": name.partition("@")[0]}),
            ("hooks/hooks.json", {"hooks": hooks}),
            (".mcp.json", {"mcpServers": servers or {}}),
        ):
            (place / inner).parent.mkdir(parents=True, exist_ok=True)
            (place / inner).write_text(json.dumps(text), "utf-8")
        listing = {"version": 2, "plugins": {name: [{"scope": "user", "installPath": str(place)}]}}
        (self.folder / ".claude/plugins/installed_plugins.json").write_text(json.dumps(listing), "utf-8")
        if not self.settings.exists():
            self.settings.write_text("{}", "utf-8")
        self.change(self.settings, lambda held: held.update(enabledPlugins={name: True}))
        return place

    # -- living ------------------------------------------------------------------------------------------------------

    def record(self, days: float = 0) -> None:
        """Record a learning, days ago."""
        at = int((self.now - days * DAY_S) * 1_000_000)
        with Ledger.open(self.file, create=True, clock=lambda: at) as ledger:
            self._count += 1
            ledger.record(Draft(f"pooler {self._count} refuses connections", "use port 6543", "env", "demo"))

    def transcript(self, days: float, entrypoint: str = "cli") -> Path:
        """Leave the transcript of a session that ran days ago; return its file."""
        self._count += 1
        at = self.now - days * DAY_S
        path = self.folder / ".claude" / "projects" / "-demo" / f"session-{self._count}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
        line = {"type": "user", "timestamp": moment, "entrypoint": entrypoint, "sessionId": path.stem}
        path.write_text(json.dumps(line) + "\n", "utf-8")
        os.utime(path, (at + 30, at + 30))
        return path

    def session(self, days: float, entrypoint: str = "cli") -> None:
        """Let a session run days ago in which every hook fires, and leave its transcript."""
        path, at = self.transcript(days, entrypoint), self.now - days * DAY_S
        who = Caller(path.stem, "demo", entrypoint, entrypoint == "cli", "startup")
        assert self.kept.ran("session-start", who, 20, at)
        assert self.kept.ran("prompt", who, 5, at, (PROMPT,))
        assert self.kept.ran("stop", who, 90, at)


def by_id(checks: Any) -> dict[str, Check]:
    """Return checks by their ids, each of which stands once."""
    found = list(checks)
    named = {one.id: one for one in found}
    assert len(named) == len(found)
    return named
