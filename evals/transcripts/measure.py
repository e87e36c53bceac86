"""Measure what the importer of transcripts finds: statements of people, and what mended failures.

Usage: python evals/transcripts/measure.py [--misses] FILE...

A file holds sessions in short (see README.md); each is written as the client writes a transcript and read by the
real reader. What stands between ⟦ and ⟧ is what a person lays down; `=> fix` follows the answer that proves a remedy.
"""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from importers import remedies, statements
from importers.transcript import Transcript

CWD = "/w/shop"


class Session(NamedTuple):
    """A session: the lines of its transcript, what it lays down, and the lines that prove a remedy."""

    name: str
    lines: list[bytes]
    laid_down: list[str]
    mended: list[int]


class Score(NamedTuple):
    """How many were expected, found, and both."""

    expected: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        """Share of what was found that is right."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Share of what was expected that was found."""
        return self.right / self.expected if self.expected else 1.0


def sessions(path: Path) -> Iterator[Session]:
    """Yield the sessions of a file."""
    parts = path.read_text(encoding="utf-8").split("\n=== ")
    for number, part in enumerate(parts):
        rows = part.removeprefix("=== ").splitlines()
        if rows:
            yield _session(f"{path.stem}-{number}", rows[0].strip(), rows[1:])


class _Writer:
    """A session on its way: lines as the client writes them."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.about: dict[str, Any] = {"sessionId": name, "cwd": CWD, "isSidechain": kind == "side"}
        if kind not in ("old", "side"):
            self.about["entrypoint"] = kind
        self.made: list[bytes] = []
        self.calls = 0

    def line(self, who: str, content: object, **more: object) -> None:
        """Write a line."""
        number = len(self.made) + 1
        message = {"role": who, "content": content} | ({"id": f"{self.name}-m{number}"} if who == "assistant" else {})
        told = {"type": who, "uuid": f"{self.name}-{number}", "timestamp": f"2026-05-01T10:{number % 60:02}:00.000Z"}
        whole = {**told, **self.about, "message": message, **more}
        self.made.append(json.dumps(whole, ensure_ascii=False).encode() + b"\n")

    def call(self, tool: str, **given: str) -> None:
        """Write a call of a tool."""
        self.calls += 1
        self.line("assistant", [{"type": "tool_use", "id": f"t{self.calls}", "name": tool, "input": given}])

    def answer(self, text: str, *, failed: bool) -> None:
        """Write the answer to the last call."""
        told = {"type": "tool_result", "tool_use_id": f"t{self.calls}", "content": text, "is_error": failed}
        self.line("user", [told])

    def write(self, mark: str, text: str) -> None:
        """Write what a row of a file stands for."""
        plain = {"H": {}, "M": {"isMeta": True}, "C": {"isCompactSummary": True}}
        if mark in plain:
            self.line("user", text.replace("⟦", "").replace("⟧", ""), **plain[mark])
        elif mark == "A":
            self.line("assistant", [{"type": "text", "text": text}])
        elif mark == "X":
            self.line("user", [{"type": "text", "text": "[Request interrupted by user for tool use]"}])
        elif mark == "$":
            self.call("Bash", command=text)
        elif mark in "!.":
            self.answer(text, failed=mark == "!")
        else:
            self.edit(mark, *text.split(" :: "))

    def edit(self, mark: str, path: str, *texts: str) -> None:
        """Write an edit of a file, or the writing of one."""
        given = {"old_string": texts[0], "new_string": texts[1]} if mark == "E" else {"content": texts[0]}
        self.call("Edit" if mark == "E" else "Write", file_path=f"{CWD}/{path}", **given)
        self.answer("The file has been updated.", failed=False)


def _session(name: str, kind: str, rows: list[str]) -> Session:
    writer = _Writer(name, kind)
    laid_down: list[str] = []
    mended: list[int] = []
    for row in rows:
        text = row[2:].replace("\\n", "\n")
        if row.startswith("=> fix"):
            mended.append(len(writer.made))
            continue
        laid_down += [piece.split("⟧")[0] for piece in text.split("⟦")[1:]] if row[0] == "H" else []
        writer.write(row[0], text)
    return Session(name, writer.made, laid_down, mended)


def measured(paths: list[Path], misses: list[str]) -> tuple[Score, Score]:
    """Return the scores of statements and of remedies; what is wrong is added to `misses`."""
    said, fixed = Score(0, 0, 0), Score(0, 0, 0)
    for session in (one for path in paths for one in sessions(path)):
        watch = remedies.Watch()
        found: list[str] = []
        proved: list[int] = []
        for turn in Transcript(io.BytesIO(b"".join(session.lines)), session.name):
            proved += [one.line for one in watch.hear(turn)]
            if turn.speaker == "person":
                found += [one.text for one in statements.found(turn.text)]
        left = list(session.laid_down)
        right = 0
        for text in found:
            same = next((want for want in left if _same(want, text)), None)
            if same is None:
                misses.append(f"{session.name}: not laid down: {text}")
            else:
                left.remove(same)
                right += 1
        misses += [f"{session.name}: missed: {want}" for want in left]
        said = Score(said.expected + len(session.laid_down), said.found + len(found), said.right + right)
        both = len(set(proved) & set(session.mended))
        misses += [f"{session.name}: remedy at line {at}" for at in set(proved) ^ set(session.mended)]
        fixed = Score(fixed.expected + len(session.mended), fixed.found + len(proved), fixed.right + both)
    return said, fixed


def _same(want: str, text: str) -> bool:
    """Tell whether a sentence is the one that was marked: one holds the other, and not much more."""
    one, two = " ".join(want.split()), " ".join(text.split())
    return (one in two or two in one) and min(len(one), len(two)) >= 0.5 * max(len(one), len(two))


def main(words: list[str]) -> int:
    """Print both scores of each file."""
    for name in [word for word in words if not word.startswith("--")]:
        misses: list[str] = []
        for kind, score in zip(("statements", "remedies"), measured([Path(name)], misses), strict=True):
            told = f"{score.right} right of {score.found} found, {score.expected} expected"
            shares = f"precision {score.precision:.3f}, recall {score.recall:.3f}"
            print(f"{Path(name).stem:10} {kind:11} {told}: {shares}")
        if "--misses" in words:
            print("\n".join(misses))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
