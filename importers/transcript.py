"""Read a transcript of Claude Code as turns: who said what, when and where; nothing is made of it here.

Line by line, in memory that does not grow with the file. Few kinds of lines
are read and all others counted, because each release of the client adds some.
A person's words are told by the structure of their line first (who wrote it,
what it answers, what the client put in their place) and then by the text. An
answer that the client wrote as one line for each block is one turn. A bad line
costs itself: its neighbours are read, and what cannot be read is said with its
line. A line without its end is left for the next reading.
"""

import os
import re
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple, Protocol

import msgspec

from importers import asides
from importers.files import Unread, open_regular
from importers.headers import observed
from importers.transcript_line import (
    ID_CHARS,
    INPUT,
    NUL,
    READ,
    Bad,
    Block,
    Line,
    Message,
    decoded,
    paired,
    parts,
    read,
)
from ledger import author
from ledger.model import Diagnostic
from ledger.turns import Spoken

SPEAKERS = ("person", "agent", "tool", "client", "summary", "robot")
"""Who speaks: a person; the agent; a tool's output; what the client wrote in a person's place; its summary of what
it left out; a program that called the client (nobody sits there). Subagents are agents, told by `is_aside`."""

LINE_BYTES = 8 << 20
"""Longest line that is read; the longest of a corpus of 22.8 MB had 202,996 bytes."""

TEXT_CHARS = 1 << 20
"""Most text of one turn."""

PATH_CHARS = 4_096

ARGUMENT_CHARS = 2_000
"""Most of each argument of a call that is kept: a command, a path, a text that was replaced."""

OUTPUT_CHARS = 8_000
"""Most of one tool's output that is kept by itself: half from its beginning, half from its end, where errors stand."""

UUIDS_MAX = 500_000
"""Lines of one file whose ids are remembered, to know those that a fork or a resumed session wrote again; 70 bytes
each, as hashes. What is repeated later is for whoever keeps turns to know by their ids."""

BUFFER_BYTES = 1 << 20
"""Bytes that are read from a file at once; with the usual 8 KB, lines come at a third of the speed."""

AGAIN_BYTES = 4 << 20
"""How far before the end of a reading the next one may begin again, for an answer that was not over."""

OPEN_MAX = 100
"""Sessions of one file whose answers may be under way at once."""

CALL_CHARS = 200
"""Most of a command or a path that is kept with an answer for searching."""

BACK_LINES = 100
"""Lines of turns before the end of a reading that the next one gives again."""

SHOWN = 100
"""Bad lines of one kind that are named one by one."""

ROBOTS = frozenset(("sdk", "mcp", "action", "actions", "bot", "ci", "cron", "headless"))
"""Words by which entry points, and origins of a turn, name a program that calls the client: `sdk-py`, `sdk-cli`,
`claude-code-github-action`. The kits are many, so that no list of whole names holds them."""

VERSION = 3
"""Of what is made of a transcript: with another one than it was read by, a transcript is read as a whole again."""

_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_CALLED = (
    "<command-name>", "<command-message>", "<local-command-", "<bash-", "<task-notification>",
    "[Request interrupted by user", "Caveat:",
)  # fmt: skip


class Called(NamedTuple):
    """A tool that the agent called, with those arguments that tell what it did; each is cut at `ARGUMENT_CHARS`.

    Of an edit `old` is what was replaced and `new` what stands there now; of a written file `new` is its beginning.
    """

    id: str
    name: str
    command: str | None = None
    path: str | None = None
    old: str | None = None
    new: str | None = None


class Output(NamedTuple):
    """What one tool answered: the id of its call, whether it failed, and its text, cut at `OUTPUT_CHARS`."""

    id: str
    is_error: bool
    text: str


class Turn(NamedTuple):
    """What somebody said.

    `text` is as it was written, without what the client put between; of a tool
    its output. `line` counts from 1 and is the first of the turn. `is_aside`
    tells that a subagent or its task speaks, `is_error` that a tool failed or
    the client could not reach the model, `is_robot` that nobody sits in the
    session. `calls` is what the agent called, `outputs` what its tools answered.
    """

    speaker: str
    text: str
    uuid: str
    parent: str | None
    session: str
    cwd: str | None
    at: str | None
    line: int
    is_aside: bool = False
    is_error: bool = False
    is_robot: bool = False
    calls: tuple[Called, ...] = ()
    outputs: tuple[Output, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of what the agent called."""
        return tuple(call.name for call in self.calls)


_WORD = re.compile(r"[a-z-]{1,40}")


class Place(NamedTuple):
    """A place in a file: the byte, and the line that begins there, counted from 1."""

    at: int
    line: int


class _Answer(NamedTuple):
    """An answer under way: its id, what is known of it, and where it began."""

    name: str
    turn: Turn
    place: Place


class Transcript:
    """One transcript being read; iterate over it once.

    Afterwards `diagnostics` names the bad lines, `passed` counts the lines of
    other kinds, `repeated` those whose id was there before, `consumed` is how
    many bytes of the file were read to the end of a line, and `next` the place
    where the next reading begins: there, or where an answer began that may go on.
    `back` is some turns before it, for whoever needs to know what came before.
    """

    def __init__(self, stream: BinaryIO, path: str, first_line: int = 1, at: int = 0) -> None:
        """Read from where the stream stands: byte `at` of the file, the beginning of line `first_line`."""
        self._stream, self._path, self._number = stream, path, first_line - 1
        self.diagnostics: list[Diagnostic] = []
        self.passed: dict[str, int] = {}
        self.repeated = 0
        self.consumed = at
        self.next = self.back = Place(at, first_line)
        self._last: deque[Place] = deque(maxlen=BACK_LINES)
        self._uuids: set[int] = set()
        self._open: OrderedDict[str, _Answer] = OrderedDict()
        self._made: dict[str, int] = {}

    def __iter__(self) -> Iterator[Turn]:
        unended: list[Place] = []
        while raw := self._stream.readline(LINE_BYTES + 1):
            self._number += 1
            size, is_whole = self._ended(raw)
            if size > LINE_BYTES:
                self._say(Bad("line-long", f"it is longer than {LINE_BYTES:,} bytes"))
            elif is_whole or self._is_complete(raw):
                yield from self._turns(raw)
                unended = [] if is_whole else [Place(self.consumed, self._number)]  # its end is still to come
            else:
                self._say(Bad("line-cut", "it has no end yet"))
                self._number -= 1
                break
            self.consumed += size
        near = [one.place for one in self._open.values() if one.place.at >= self.consumed - AGAIN_BYTES]
        self.next = min([Place(self.consumed, self._number + 1), *near, *unended])
        self.back = min([self.next, *self._last])
        for one in self._open.values():
            yield one.turn
        self._open.clear()
        self._say_how_many()

    def _say_how_many(self) -> None:
        """Say how many bad lines were not named one by one."""
        for code, made in self._made.items():
            if made > SHOWN:
                message = f"{made - SHOWN:,} more lines of it were skipped as those that are named"
                self.diagnostics.append(Diagnostic(self._path, None, f"{code}-more", message))

    def _ended(self, raw: bytes) -> tuple[int, bool]:
        """Read on to the end of a line that is too long; return its size, and whether it has an end."""
        if raw.endswith(b"\n"):
            return len(raw), True
        size, last = len(raw), raw
        while len(last) > LINE_BYTES and not last.endswith(b"\n"):
            last = self._stream.readline(LINE_BYTES + 1)
            size += len(last)
        return size, last.endswith(b"\n")

    def _is_complete(self, raw: bytes) -> bool:
        try:
            decoded(paired(raw) or raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return not raw.strip()
        return True

    def _say(self, bad: Bad) -> None:
        """Name a bad line; of many alike the first ones."""
        self._made[bad.code] = self._made.get(bad.code, 0) + 1
        if self._made[bad.code] <= SHOWN:
            message = f"{bad}; the line was skipped"
            self.diagnostics.append(Diagnostic(self._path, self._number, bad.code, message))

    def _turns(self, raw: bytes) -> Iterator[Turn]:
        """Yield the turns that end with a line; two lines whose break was lost are two."""
        raw = raw.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else raw
        raw = raw.strip(b" \t\r\n")
        if not raw:
            return
        try:
            line = decoded(raw)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            whole = paired(raw)
            if whole is not None:
                yield from self._turns(whole)
                return
            for part in parts(raw):
                yield from self._taken(part)
            return
        if line is None:
            yield from self._taken(raw)
        elif line.type in READ:
            yield from self._taken(raw, line)
        else:
            self._pass(raw, line.type)

    def _pass(self, raw: bytes, kind: str) -> None:
        """Count a line that holds no turn; zeros are a fault in any."""
        if b"\0" in raw:
            self._say(Bad("line-nul", NUL))
            return
        name = kind if _WORD.fullmatch(kind) else "?"
        self.passed[name] = self.passed.get(name, 0) + 1

    def _taken(self, raw: bytes, line: Line | None = None) -> Iterator[Turn]:
        """Take one object, which `line` says when it was decoded; yield what it ends."""
        try:
            line, message = read(raw, line)
        except Bad as bad:
            self._say(bad)
            return
        if message is None:
            self._pass(raw, line.type)
            return
        own = hash(line.uuid)
        if own in self._uuids:
            self.repeated += 1
            return
        if len(self._uuids) < UUIDS_MAX:
            self._uuids.add(own)
        self._last.append(Place(self.consumed, self._number))
        if line.type == "assistant":
            yield from self._answered(line, message)
            return
        ended = self._open.pop(line.session_id or "", None)
        if ended is not None:
            yield ended.turn
        yield from self._asked(line, message)

    # -- turns --------------------------------------------------------------------------------------------------------

    def _answered(self, line: Line, message: Message) -> Iterator[Turn]:
        """Add a block to the answer under way, or begin another; yield the answer that this ends."""
        name = message.id or line.uuid
        turn = self._turn(line, "client" if line.is_api_error_message else "agent", message)
        session = line.session_id or ""
        known = self._open.get(session)
        if known is not None and known.name == name:
            old = known.turn
            text = "\n".join(part for part in (old.text, turn.text) if part)[:TEXT_CHARS]
            turn = old._replace(text=text, calls=(*old.calls, *turn.calls))
            self._open[session] = known._replace(turn=turn)
            return
        if known is not None:
            yield self._open.pop(session).turn
        elif len(self._open) >= OPEN_MAX:
            yield self._open.popitem(last=False)[1].turn
        self._open[session] = _Answer(name, turn, Place(self.consumed, self._number))

    def _asked(self, line: Line, message: Message) -> Iterator[Turn]:
        """Yield what a line of the kind `user` says: a tool's output, or somebody's words."""
        blocks = message.content if isinstance(message.content, list) else []
        results = [one for one in blocks if isinstance(one, Block) and one.type == "tool_result"]
        if results:
            texts = [_output(one.content) for one in results]
            outputs = tuple(
                Output(_bounded(one.tool_use_id, ID_CHARS) or "", bool(one.is_error), _ends(text))
                for one, text in zip(results, texts, strict=True)
            )
            turn = self._turn(line, "tool", message)
            is_error = any(one.is_error for one in outputs)
            yield turn._replace(text="\n".join(texts)[:TEXT_CHARS], is_error=is_error, outputs=outputs)
            return
        speaker = _speaker(line)
        if speaker == "person" and message.role not in ("user", ""):
            speaker = "client"  # nobody writes that by hand
        turn = self._turn(line, speaker, message)
        if turn.speaker == "person":
            said = _REMINDER.sub("", turn.text).strip()
            typed = None if said.startswith(_CALLED) else author.typed(said)
            # What is longer than a prompt is read was typed or pasted by a person as a whole.
            words = said if typed is not None and len(said) > author.TEXT_CHARS else typed
            turn = turn._replace(text=words) if words else turn._replace(speaker="client")
        if turn.text:
            yield turn

    def _turn(self, line: Line, speaker: str, message: Message) -> Turn:
        content = message.content
        blocks = content if isinstance(content, list) else [content] if content else []
        texts = [
            one if isinstance(one, str) else one.text for one in blocks if isinstance(one, str) or one.type == "text"
        ]
        calls = tuple(_called(one) for one in blocks if isinstance(one, Block) and one.type == "tool_use")
        return Turn(
            speaker, "\n".join(filter(None, texts))[:TEXT_CHARS], line.uuid, _bounded(line.parent_uuid, ID_CHARS),
            line.session_id or "", _bounded(line.cwd, PATH_CHARS), observed(line.timestamp) if line.timestamp else None,
            self._number, _is_aside(line), bool(line.is_api_error_message), _is_robot(line), calls,
        )  # fmt: skip


@contextmanager
def opened(path: str) -> Iterator[Transcript]:
    """Open a transcript; memory does not grow with its size, so that has no limit.

    While a book is open for it (`into`), what was read before is not read again, or only a little of it.

    Raises:
        Unread: it is no regular file, or cannot be opened. LedgerError: the book cannot be written.
    """
    run = _RUN.get()
    if run is None:
        with _stream(path) as stream:
            yield Transcript(stream, path)
        return
    with _followed(path, run.book, whole=path in run.whole) as found:
        yield found
    for aside in run.asides.of(path):
        with suppress(Unread), _followed(aside, run.book) as found:
            deque(found, maxlen=0)


@contextmanager
def into(book: "Book | None") -> Iterator[None]:
    """Let every transcript that is opened within the block be read on from where it was read to, and into a book.

    With a session go the transcripts of its subagents, into the book alone.
    """
    before = _RUN.set(None if book is None else _Run(book))
    try:
        yield
    finally:
        _RUN.reset(before)


def is_kept(path: str) -> bool:
    """Tell whether the turns of a transcript that has not changed are in the book that is written, if there is one."""
    run = _RUN.get()
    return run is None or run.book.is_unchanged(path)


@contextmanager
def _stream(path: str) -> Iterator[BinaryIO]:
    with os.fdopen(open_regular(path), "rb", buffering=BUFFER_BYTES) as stream:
        yield stream


def is_unread(path: str) -> bool:
    """Tell whether a book is open that has not read all of a transcript, or of its subagents'."""
    run = _RUN.get()
    return run is not None and not all(map(run.book.is_unchanged, [path, *run.asides.of(path)]))


def hear_whole(path: str) -> None:
    """Let a transcript be read from its beginning, whatever a book that is open has read of it."""
    run = _RUN.get()
    if run is not None:
        run.whole.add(path)


@contextmanager
def _followed(path: str, book: "Book", *, whole: bool = False) -> "Iterator[Transcript]":
    """Open a transcript where its last reading ended; an unchanged one is not opened and says nothing."""
    if not whole and book.is_unchanged(path):
        yield Transcript(BytesIO(), path)
        return
    with _stream(path) as stream:
        yield Followed(stream, path, book, whole=whole)


class _Run:
    """A run of an import: the book that what is read goes into, and where subagents' transcripts are."""

    def __init__(self, book: "Book") -> None:
        self.book, self.asides = book, asides.Asides()
        self.whole: set[str] = set()


class Book(Protocol):
    """Whoever keeps turns, and knows how far each transcript was read: `ledger.turns_add.Book`."""

    def is_unchanged(self, path: str) -> bool:
        """Tell whether a transcript is as it was when it was read."""

    def begins(self, path: str, stream: BinaryIO) -> tuple[int, int, int]:
        """Return the byte and the line where reading begins, and the line from which turns are new."""

    def add(self, turn: Spoken) -> None:
        """Keep a new turn."""

    def ends(self, path: str, stream: BinaryIO, next_place: tuple[int, int], back_place: tuple[int, int]) -> None:
        """Hear how far the transcript was read."""


class Followed(Transcript):
    """A transcript whose new turns go into a book as they are read; `fresh` is the line from which they are new."""

    def __init__(self, stream: BinaryIO, path: str, book: Book, *, whole: bool = False) -> None:
        self._book = book
        at, line, self.fresh = book.begins(path, stream)
        at, line = (0, 1) if whole else (at, line)
        stream.seek(at)
        super().__init__(stream, path, line, at)

    def __iter__(self) -> Iterator[Turn]:
        for turn in super().__iter__():
            if turn.line >= self.fresh:
                self._book.add(_spoken(turn))
            yield turn
        self._book.ends(self._path, self._stream, self.next, self.back)


def _spoken(turn: Turn) -> Spoken:
    """Return a turn as it is kept: of an answer also what was called, each in a line."""
    done = [f"{call.name}: {(call.command or call.path or '')[:CALL_CHARS]}".rstrip(": ") for call in turn.calls]
    return Spoken(
        turn.speaker,
        "\n".join([turn.text, *done] if turn.text else done) if done else turn.text,
        turn.uuid,
        turn.session,
        turn.cwd,
        turn.at,
        turn.line,
        turn.is_aside,
        turn.is_error,
    )


_RUN: ContextVar[_Run | None] = ContextVar("run", default=None)
"""The run that what is opened belongs to: importers are lines of a table, and what they have in common is `opened`."""


def _speaker(line: Line) -> str:
    """Return who wrote a line of the kind `user` that answers no tool, as far as its structure tells."""
    if line.is_compact_summary:
        return "summary"
    if line.is_meta or line.is_visible_in_transcript_only or line.is_of_tool:
        return "client"
    if _is_aside(line):
        return "agent"  # the task that an agent gave to another
    if _is_robot(line):
        return "robot"
    return "person" if line.turn_origin in (None, "human") else "client"


def _is_aside(line: Line) -> bool:
    """Tell whether a line is of a subagent: the client says so, or, where it says nothing, names the agent."""
    return bool(line.agent_id) if line.is_sidechain is None else line.is_sidechain


def _is_robot(line: Line) -> bool:
    """Tell whether a program called the client."""
    return any(map(_names_robot, filter(None, (line.entrypoint, line.turn_origin, line.prompt_source))))


@lru_cache(maxsize=64)
def _names_robot(name: str) -> bool:
    return not ROBOTS.isdisjoint(re.split(r"[^a-z0-9]+", name[:ID_CHARS].lower()))


def _output(content: str | list[Any] | None) -> str:
    """Return the text of a tool's output, which is a text or a list of blocks."""
    if isinstance(content, list):
        texts = [one.get("text") if isinstance(one, dict) else one for one in content]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content or ""


def _called(block: Block) -> Called:
    """Return a call with its arguments; of one whose arguments have other types than known only its name."""
    name, own = block.name[:ID_CHARS], _bounded(block.id, ID_CHARS) or ""
    try:
        given = INPUT.decode(block.input)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return Called(own, name)
    edit = given.edits[0] if given.edits else given
    new = next((text for text in (edit.new_string, given.content, given.new_source) if text is not None), None)
    path = given.file_path if given.file_path is not None else given.notebook_path
    return Called(own, name, *(text and text[:ARGUMENT_CHARS] for text in (given.command, path, edit.old_string, new)))


def _ends(text: str) -> str:
    """Return a text, or of a long one its beginning and its end."""
    half = OUTPUT_CHARS // 2
    return text if len(text) <= OUTPUT_CHARS else f"{text[:half]}\n…\n{text[-half:]}"


def _bounded(text: str | None, cap: int) -> str | None:
    return text if text is not None and len(text) <= cap else None
