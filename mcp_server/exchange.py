"""One request and its answer between the connection and the SDK, without what either should not see of the other."""

import asyncio
import json
from typing import Any

from ledger.tokens import Token
from mcp_server.gate import PATH, Head
from mcp_server.remote import CLIENT

SAYS = {
    -32700: "that is no JSON",
    -32600: "that is no request of the protocol",
    -32601: "there is no such method",
    -32602: "the arguments are not those of the method",
    -32603: "something went wrong",
    -32020: "head and body of the request do not say the same",
    -32022: "that version of the protocol is not spoken",
}
"""What an error of the protocol says, in the place of the SDK's words, which quote what was sent."""


class Exchange:
    """One request and its response, as the SDK takes and gives them."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self.status = 500

    async def receive(self) -> dict[str, Any]:
        """Return the body, once; who waits for more is told nothing until the end."""
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        """Take a part of the response."""
        if message["type"] == "http.response.start":
            self.status, self._headers = message["status"], list(message.get("headers", ()))
        else:
            self._parts.append(message.get("body", b""))

    @property
    def body(self) -> bytes:
        """Return the body of the response."""
        return b"".join(self._parts)

    def kept(self) -> list[tuple[str, str]]:
        """Return the headers of the response that go on: its type, and what may be done instead."""
        return [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in self._headers
            if name.lower() in (b"content-type", b"allow")
        ]


def scope_of(head: Head, client: Token, scheme: str) -> dict[str, Any]:
    """Return a request as the SDK takes it, which compares some headers letter by letter; the token stays outside."""
    own = {b"host": (head.one(b"host") or "").lower().encode("latin-1"), b"content-type": b"application/json"}
    headers = [
        (name, value.lower() if name == b"origin" else value)
        for name, value in head.headers
        if name not in (b"authorization", b"cookie", *own)
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": head.method.decode("ascii"),
        "scheme": scheme,
        "path": PATH.decode("ascii"),
        "raw_path": PATH,
        "root_path": "",
        "query_string": b"",
        "headers": [*headers, *own.items()],
        CLIENT: client,
    }


def unquoted(body: bytes) -> bytes:
    """Return a response without the words of the SDK's errors: some quote what was sent."""
    if b'"error"' not in body:
        return body
    try:
        found = json.loads(body)
    except ValueError:
        return body if not body else b'{"error":"something went wrong"}'
    if not isinstance(found, dict) or not isinstance(found.get("error"), dict):
        return body
    code, data = found["error"].get("code"), found["error"].get("data")
    found["error"] = {"code": code, "message": SAYS.get(code, SAYS[-32600])}
    if code == -32022 and isinstance(data, dict) and isinstance(data.get("supported"), list):
        asked = str(data.get("requested", ""))
        is_date = len(asked) == 10 and asked.replace("-", "").isdigit()
        found["error"]["data"] = {"supported": data["supported"], "requested": asked if is_date else "unknown"}
    return json.dumps(found, separators=(",", ":")).encode()
