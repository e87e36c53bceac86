"""Transcripts as the client writes them, in few words."""

import json
from pathlib import Path
from typing import Any

CWD = "/w/shop"


class Session:
    """A session being written; ids of lines are `<name>-<number>` unless told otherwise."""

    def __init__(self, name: str = "s1", day: int = 1, **about: Any) -> None:
        self.name = name
        self.about = {"sessionId": name, "cwd": CWD, "entrypoint": "cli", "isSidechain": False, **about}
        self.day = day
        self.lines: list[bytes] = []
        self.calls = 0

    def line(self, kind: str, content: Any, **more: Any) -> "Session":
        """Write a line."""
        number = len(self.lines) + 1
        message = {"role": kind, "content": content} | ({"id": f"{self.name}-m{number}"} if kind == "assistant" else {})
        told = {
            "type": kind, "uuid": f"{self.name}-{number}", "timestamp": f"2026-05-{self.day:02}T10:{number:02}:00.000Z",
            **self.about, "message": message, **more,
        }  # fmt: skip
        self.lines.append(json.dumps(told, ensure_ascii=False).encode() + b"\n")
        return self

    def says(self, text: str, **more: Any) -> "Session":
        """Let the person say something."""
        return self.line("user", text, **more)

    def runs(self, command: str, output: str, *, fails: bool = False) -> "Session":
        """Let the agent run a command, with its answer."""
        self._called("Bash", command=command)
        return self._answered(output, fails=fails)

    def edits(self, path: str, old: str, new: str) -> "Session":
        """Let the agent edit a file."""
        self._called("Edit", file_path=f"{CWD}/{path}", old_string=old, new_string=new)
        return self._answered("The file has been updated.", fails=False)

    def stopped(self, command: str) -> "Session":
        """Let the agent begin a command that the person stops."""
        self._called("Bash", command=command)
        return self.line("user", [{"type": "text", "text": "[Request interrupted by user for tool use]"}])

    def _called(self, tool: str, **given: str) -> None:
        self.calls += 1
        self.line("assistant", [{"type": "tool_use", "id": f"{self.name}-t{self.calls}", "name": tool, "input": given}])

    def _answered(self, output: str, *, fails: bool) -> "Session":
        own = f"{self.name}-t{self.calls}"
        return self.line("user", [{"type": "tool_result", "tool_use_id": own, "content": output, "is_error": fails}])

    def forked(self, name: str) -> "Session":
        """Return a fork: all lines with their ids, under another session."""
        other = Session(name, self.day)
        other.calls = self.calls
        for line in self.lines:
            other.lines.append(json.dumps({**json.loads(line), "sessionId": name}, ensure_ascii=False).encode() + b"\n")
        return other

    def at(self, folder: Path) -> str:
        """Write the transcript into a folder; return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.jsonl"
        path.write_bytes(b"".join(self.lines))
        return str(path)
