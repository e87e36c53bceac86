"""Transcripts as the client of 2026 writes them, made up: what fills them is copies of prompts, not turns.

In a real session of one turn 216 of 260 KB were `attachment` and `api-request`
lines. `full` has those shares; `tools` has few of such lines and long outputs
of tools, each written twice, as older clients left behind.
"""

import json
import random
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO

from corpus import Corpus

SHAPES = ("full", "tools")
COMMANDS = ("pytest -q tests/test_orders.py", "rg -n billing src", "git diff --stat", "npm run build", "ls -la src")

SAID = (
    "can you look at why the {0} of {1} fails when the {2} is empty?",
    "please add a test for {0} and run the others.",
    "ok, now rename {0} to {1} in the docs as well",
    "it still hangs after the {0}, here is what I see in the {1}",
    "no, not that one: the {0} in {1}",
    "what does {0} do with a {1} that has no {2}?",
    "go on with the {0}",
    "always run the {0} before you push {1}",
    "I think the {0} was changed last week, check the {1} and tell me.",
    "the build of {0} broke again because {1} could not find {2}",
    "use {0} instead of {1} for the {2} here",
)
"""What people say, with three names each."""


class Sessions:
    """Lines of sessions without end, the same on every run."""

    def __init__(self, shape: str, seed: int = 6) -> None:
        self._shape, self._random, self._corpus = shape, random.Random(seed), Corpus(seed)
        self._at = 0
        system = self._corpus.text(9_000)
        self._system = [system[: 30_000 + 2_000 * number] for number in range(12)]
        self._tools = [{"name": f"Tool{number}", "description": self._corpus.text(300)} for number in range(14)]

    def lines(self) -> Iterator[bytes]:
        """Yield one line after the other."""
        while True:
            self._session = self._uuid()
            self._cwd = f"/srv/project-{self._random.randrange(7)}"
            self._parent: str | None = None
            for told in self._session_lines():
                yield json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    def _session_lines(self) -> Iterator[dict[str, Any]]:
        for kind in ("mode", "permission-mode"):
            yield {"type": kind, kind.rpartition("-")[2]: "default", "sessionId": self._session}
        for _ in range(self._random.randint(1, 12)):
            yield from self._turn()

    def _turn(self) -> Iterator[dict[str, Any]]:
        words = " ".join(self._said() for _ in range(self._random.choice((1, 1, 2, 3, 8))))
        if self._shape == "full":
            yield from self._snapshots(words)
        yield self._line("user", {"role": "user", "content": words}, promptSource="typed", turnOrigin="human")
        for _ in range(self._random.randint(1, 6)):
            yield from self._call()
        answer = self._corpus.text(self._random.choice((30, 80, 250)))
        yield self._line("assistant", _message(self._uuid(), {"type": "text", "text": answer}))
        yield {"type": "last-prompt", "lastPrompt": words[:200], "sessionId": self._session}

    def _snapshots(self, words: str) -> Iterator[dict[str, Any]]:
        system = self._random.choice(self._system)
        snapshot = {"type": "prompt_snapshot", "rendered": system, "system": [{"type": "text", "text": system}]}
        yield self._line("attachment", None, attachment=snapshot)
        messages = [{"role": "user", "content": [{"type": "text", "text": words}]}]
        request = {"model": "claude", "system": system, "tools": self._tools, "messages": messages}
        yield {"type": "api-request-shape", "sessionId": self._session, "uuid": self._uuid(), "request": request}
        yield {"type": "api-request-blob", "sessionId": self._session, "hash": "ab" * 32, "blob": system[::-1][:40_000]}

    def _said(self) -> str:
        """Return a sentence as people type them: the words between the names are English."""
        names = [self._corpus.text(1).rstrip(".").lower() for _ in range(3)]
        return self._random.choice(SAID).format(*names)

    def _call(self) -> Iterator[dict[str, Any]]:
        name, call = self._uuid(), f"toolu_{self._uuid()[:24]}"
        thought = {"type": "thinking", "thinking": self._corpus.text(60), "signature": "Eq" * 200}
        yield self._line("assistant", _message(name, thought))
        if self._random.random() < 0.5:
            yield self._line("assistant", _message(name, {"type": "text", "text": self._corpus.text(20)}))
        given = {"command": self._random.choice(COMMANDS), "description": self._corpus.text(6)}
        yield self._line("assistant", _message(name, {"type": "tool_use", "id": call, "name": "Bash", "input": given}))
        many = self._random.choice((30, 100, 400, 1_500) if self._shape == "tools" else (30, 100, 400))
        output = self._output(many)
        result = {
            "tool_use_id": call,
            "type": "tool_result",
            "content": output,
            "is_error": self._random.random() < 0.1,
        }
        yield self._line(
            "user", {"role": "user", "content": [result]},
            toolUseResult={"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
        )  # fmt: skip

    def _output(self, words: int) -> str:
        text = self._corpus.text(words).split(" ")
        return "\n".join(f"src/part_{at % 40}.py:{at * 3}: {' '.join(text[at : at + 9])}" for at in range(0, words, 9))

    def _line(self, kind: str, message: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
        self._at += 1
        told: dict[str, Any] = {"parentUuid": self._parent, "isSidechain": False, **more}
        told |= {"message": message} if message is not None else {}
        self._parent = self._uuid()
        at = f"2026-11-11T08:{self._at // 60 % 60:02}:{self._at % 60:02}.{self._at % 999:03}Z"
        return told | {
            "type": kind, "uuid": self._parent, "timestamp": at, "userType": "external", "entrypoint": "cli",
            "cwd": self._cwd, "sessionId": self._session, "version": "2.1.332", "gitBranch": "main",
        }  # fmt: skip

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))


def _message(name: str, block: dict[str, Any]) -> dict[str, Any]:
    usage = {
        "input_tokens": 4,
        "cache_creation_input_tokens": 1_200,
        "cache_read_input_tokens": 18_000,
        "output_tokens": 80,
    }
    return {
        "model": "claude-opus-4-5", "id": f"msg_{name[:24]}", "type": "message", "role": "assistant",
        "content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def write(file: BinaryIO, size: int, shape: str, seed: int = 6) -> None:
    """Write whole lines until the file has `size` bytes."""
    written = 0
    for line in Sessions(shape, seed).lines():
        file.write(line)
        written += len(line)
        if written >= size:
            return
