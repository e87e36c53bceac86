"""What the SDK could not read as a message, and is answered all the same.

Its parser refuses half of a surrogate pair (`\\ud800`), which JSON allows and models
write when they cut a text inside an emoji. The SDK drops such a line, and its
client would wait for an answer for ever.
"""

import json
from contextvars import Context
from types import TracebackType
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS, ErrorData, JSONRPCError

HALF = (
    "the request holds half of a surrogate pair (a character cut in two); nothing was done: send it again without that"
)


class Heard:
    """The stream of what a client says; whoever asked in a line that cannot be read is told so.

    `stream` and `answers` are those of the SDK, which names their types for itself only.
    """

    def __init__(self, stream: Any, answers: Any) -> None:
        self._stream, self._answers = stream, answers

    @property
    def last_context(self) -> Context | None:
        """Return the context in which the last item was sent."""
        found: Context | None = getattr(self._stream, "last_context", None)
        return found

    async def receive(self) -> SessionMessage | Exception:
        """Return the next item."""
        return await self._told(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def __aiter__(self) -> "Heard":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._told(await self._stream.__anext__())

    async def __aenter__(self) -> "Heard":
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        done: bool | None = await self._stream.__aexit__(kind, error, at)
        return done

    async def _told(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        asked = asked_in(item) if isinstance(item, ValueError) else None
        if asked is not None:
            error = ErrorData(code=INVALID_PARAMS, message=HALF)
            await self._answers.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=asked, error=error)))
        return item


def asked_in(error: Any) -> int | str | None:
    """Return the id of the request in a line that is JSON and could not be read; None when there is none."""
    (fault, *_) = error.errors() if hasattr(error, "errors") else ({},)
    line = fault.get("input")
    if fault.get("type") != "json_invalid" or not isinstance(line, str) or "\\u" not in line:
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    asked = found.get("id") if isinstance(found, dict) and isinstance(found.get("method"), str) else None
    if type(asked) is int:
        return asked
    return asked if isinstance(asked, str) and not any("\ud800" <= letter <= "\udfff" for letter in asked) else None
