"""Read one line of a transcript strictly: which kind it is, and of a turn its fields; what is wrong with it has a code.

A line that two readers would read as two things is refused: a key that stands
twice, bytes that are no text, levels without end. Fields that are not read may
be anything, since each release of the client adds some.
"""

import re
from typing import Any

import msgspec

from importers.export import Unreadable
from importers.json_parts import Broken, Scanner

READ = frozenset(("user", "assistant"))
"""Kinds of lines that hold turns."""

ID_CHARS = 200

NONE = msgspec.Raw()


class Block(msgspec.Struct):
    """A part of a message: a text, a call, what a tool answered."""

    type: str = ""
    text: str = ""
    name: str = ""
    id: str | None = None
    tool_use_id: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    content: str | list[Any] | None = None
    is_error: bool | None = None


class Edit(msgspec.Struct):
    """What a call replaces."""

    old_string: str | None = None
    new_string: str | None = None


class Input(Edit):
    """The arguments of a call that tell what it does."""

    command: str | None = None
    file_path: str | None = None
    notebook_path: str | None = None
    content: str | None = None
    new_source: str | None = None
    edits: list[Edit] = []


class Message(msgspec.Struct):
    """What was said: a text, or blocks; an answer's blocks share its id."""

    role: str = ""
    id: str | None = None
    content: str | list[str | Block] | None = None


class Line(msgspec.Struct, rename="camel"):
    """The fields of a line that tell who speaks, where and when."""

    type: str = ""
    uuid: str = ""
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    entrypoint: str | None = None
    turn_origin: str | None = None
    prompt_source: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    agent_id: str | None = None
    tool_use_result: msgspec.Raw = NONE
    source_tool: msgspec.Raw = msgspec.field(default=NONE, name="sourceToolUseID")
    source_answer: msgspec.Raw = msgspec.field(default=NONE, name="sourceToolAssistantUUID")
    message: msgspec.Raw = msgspec.Raw()

    @property
    def is_of_tool(self) -> bool:
        """Tell whether the client made the line of what a tool answered, whatever its message looks like."""
        return any(
            bytes(one) not in (b"", b"null") for one in (self.tool_use_result, self.source_tool, self.source_answer)
        )


class _Kind(msgspec.Struct):
    type: str = ""


_KIND = msgspec.json.Decoder(_Kind)
_LINE = msgspec.json.Decoder(Line)
_MESSAGE = msgspec.json.Decoder(Message)
INPUT = msgspec.json.Decoder(Input)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


NOTHING = Message()


NUL = "it holds U+0000 (NUL)"


class Bad(ValueError):
    """A line that is not taken: a code and a reason."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def decoded(raw: bytes) -> Line | None:
    """Return a line as far as it can be read in one go; None when a field has another type.

    Every line is decoded, so that the kind is what any reader of JSON would say it is: that costs no more
    than a search for the word `user` in it, which copies of prompts hold too.

    Raises:
        msgspec.DecodeError, RecursionError, UnicodeError: it is no JSON.
    """
    try:
        return _LINE.decode(raw)
    except msgspec.ValidationError:
        return None


def read(raw: bytes, line: Line | None) -> tuple[Line, Message | None]:
    """Return a line and its message; no message for a line of a kind that holds no turn.

    Raises:
        Bad: it is not strict JSON, has no bounded id, or its fields have other types.
    """
    if b"\0" in raw:
        raise Bad("line-nul", NUL)
    try:
        if line is None:
            kind = _KIND.decode(raw).type
            if kind not in READ:
                return Line(type=kind), None
            line = _LINE.decode(raw)
        _check(raw)
        message = _MESSAGE.decode(line.message) if memoryview(line.message).nbytes else NOTHING
    except msgspec.ValidationError:
        raise Bad("line-shape", "a field of it has another type than a line of a transcript") from None
    except RecursionError:
        raise Bad("line-deep", "it nests too deep") from None
    except UnicodeError:
        raise Bad("line-text", "it is not UTF-8") from None
    except msgspec.MsgspecError:
        raise _unreadable(raw) from None
    if not 0 < len(line.uuid) <= ID_CHARS:
        raise Bad("line-id", f"its uuid is missing or too long (limit {ID_CHARS})")
    if len(line.session_id or "") > ID_CHARS:
        raise Bad("line-id", f"its sessionId is too long (limit {ID_CHARS})")
    return line, message


def paired(raw: bytes) -> bytes | None:
    """Return a line whose halves of surrogate pairs, escaped, stand as U+FFFD; None when it holds none.

    The client cuts texts by UTF-16 units, so that a cut may go through a character and leave half of it.
    """
    mended = re.sub(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\.", _whole, raw, flags=re.DOTALL)
    return mended if mended != raw else None


def _whole(found: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if len(found[0]) == len(rb"\ud800") else found[0]


def parts(raw: bytes) -> list[bytes]:
    """Return the objects of a line that is no JSON: several when a writer lost the break between them."""
    scanner, parts = Scanner(raw), []
    try:
        while scanner.peek() == b"{":
            parts.append(scanner.part().raw)
    except Broken:
        return [*parts, raw[scanner.at :]] if parts else [raw]
    return [raw] if scanner.peek() or not parts else parts


def _unreadable(raw: bytes) -> Bad:
    """Return what is wrong with a line that cannot be decoded."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return Bad("line-text", "it is not UTF-8")
    return Bad("line-json", "it is no JSON")


def _check(raw: bytes) -> None:
    """Raise `Bad` when a key stands twice in a line or in its message: two readers would see two speakers."""
    members = _MEMBERS.decode(raw)
    message = memoryview(members.get("message", b""))
    has_more = bytes(message[:1]) == b"{"
    if _is_tight(len(raw), members) and not (has_more and not _is_tight(message.nbytes, _MEMBERS.decode(message))):
        return
    scanner = Scanner(raw)
    try:
        for key in scanner.members():
            part = scanner.part()
            if part.too_deep:
                raise Bad("line-deep", "it nests too deep")
            if key == "message" and part.raw[:1] == b"{":
                inner = Scanner(part.raw)
                for _ in inner.members():
                    inner.part()
    except (Broken, Unreadable) as error:
        is_twice = "duplicate" in str(error)
        code, reason = ("line-twice", str(error)) if is_twice else ("line-json", "it is no JSON")
        raise Bad(code, reason) from None


def _is_tight(size: int, members: dict[str, msgspec.Raw]) -> bool:
    """Tell, 20 times faster than by walking through it, that an object has no room for a key that was read over.

    The client writes no blanks: keys, values and their marks fill the object, and a key that stood in it twice would
    need room besides. An object with blanks or escaped keys is looked at more closely.
    """
    keys = "".join(members)
    filled = len(keys) + sum([memoryview(value).nbytes for value in members.values()])
    return keys.isascii() and size == filled + 4 * len(members) + 1
