"""A stand-in for the Messages API on 127.0.0.1: it says what a test scripts, and keeps every request."""

import itertools
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """What the model says: a text, calls of tools as (name, arguments), and how many tokens it had to read."""

    text: str = "Done."
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    read_tokens: int = 1_000


class Request(NamedTuple):
    """One request for a message: when it came (monotonic seconds), for which session, and its body."""

    at: float
    session: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[str]:
        """Return the text of each message in order, that of tool results included."""
        return [text_of(message.get("content")) for message in self.body.get("messages", [])]

    @property
    def text(self) -> str:
        """Return everything that the model reads: system prompt, names and descriptions of tools, messages."""
        tools = [f"{tool.get('name')}: {tool.get('description')}" for tool in self.body.get("tools", [])]
        return "\n".join([text_of(self.body.get("system")), *tools, *self.messages])

    @property
    def spoken(self) -> str:
        """Return the text of the messages alone."""
        return "\n".join(self.messages)

    @property
    def results(self) -> list[dict[str, Any]]:
        """Return the tool results, oldest first."""
        blocks = [block for message in self.body.get("messages", []) for block in listed(message.get("content"))]
        return [block for block in blocks if block.get("type") == "tool_result"]

    @property
    def tools(self) -> list[str]:
        """Return the names of the tools whose description the model has."""
        return [str(tool.get("name")) for tool in self.body.get("tools", [])]


class Stub:
    """The API; `turns` are said in order to requests that carry tools, then `Reply()` for ever."""

    def __init__(self, listening: socket.socket) -> None:
        self.turns: deque[Reply] = deque()
        self.requests: list[Request] = []
        self._news = threading.Condition()
        self._numbers = itertools.count(1)
        self._server = _Server(listening, self)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> "Stub":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def say(self, *turns: Reply) -> None:
        """Script what comes next."""
        self.turns.extend(turns)

    def with_text(self, words: str, timeout_s: float = 30) -> Request:
        """Wait for a request whose messages hold these words; return the first.

        Raises:
            TimeoutError: none came.
        """
        return self.first(lambda request: words in request.spoken, timeout_s)

    def first(self, fits: Callable[[Request], bool], timeout_s: float = 30) -> Request:
        """Wait for a request that fits; return the first.

        Raises:
            TimeoutError: none came.
        """

        def found() -> Request | None:
            return next(filter(fits, self.requests), None)

        with self._news:
            request = self._news.wait_for(found, timeout_s)
        if request is None:
            raise TimeoutError(f"none of {len(self.requests)} requests fits")
        return request

    def answered(self, session: str, body: dict[str, Any]) -> dict[str, Any]:
        """Keep a request and return the message that answers it."""
        number = next(self._numbers)
        with self._news:
            reply = self.turns.popleft() if self.turns and body.get("tools") else Reply()
            self.requests.append(Request(time.monotonic(), session, body))
            self._news.notify_all()
        return message(number, str(body.get("model")), reply)


class _Server(ThreadingHTTPServer):
    """An HTTP server on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, stub: Stub) -> None:
        super().__init__(listening.getsockname(), _Exchange, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.stub = stub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that was killed while it was answered."""


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        """Answer a message, or the count of its tokens."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, body = self.path.partition("?")[0], json.loads(raw or b"{}")
        if path == "/v1/messages":
            made = self.server.stub.answered(self.headers.get("X-Claude-Code-Session-Id", ""), body)
            if body.get("stream"):
                self._streamed(made)
            else:
                self._json(200, made)
        elif path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": len(raw) // 4})
        else:
            self.do_GET()

    def do_GET(self) -> None:
        """Answer that nothing else is here."""
        self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": "not here"}})

    def do_HEAD(self) -> None:
        """Answer that somebody is here."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Keep standard error for the tests."""

    def _json(self, status: int, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _streamed(self, made: dict[str, Any]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events(made):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


# -- the form of the API ---------------------------------------------------------------------------------------------


def message(number: int, model: str, reply: Reply) -> dict[str, Any]:
    """Return a whole message of the API."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for place, (name, given) in enumerate(reply.calls):
        content.append({"type": "tool_use", "id": f"toolu_{number:05d}_{place}", "name": name, "input": given})
    return {
        "id": f"msg_{number:05d}", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": reply.read_tokens, "output_tokens": 10},
    }  # fmt: skip


def events(made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message as it is streamed."""
    yield {"type": "message_start", "message": {**made, "content": [], "stop_reason": None}}
    for index, block in enumerate(made["content"]):
        empty: dict[str, Any]
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": made["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": made["usage"]}
    yield {"type": "message_stop"}


def listed(content: Any) -> list[dict[str, Any]]:
    """Return a message's content as blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def text_of(content: Any) -> str:
    """Return the text of a message's content, that of tool results included."""
    return "\n".join(
        block.get("text", "") if block.get("type") == "text" else text_of(block.get("content"))
        for block in listed(content)
        if block.get("type") in ("text", "tool_result")
    )
