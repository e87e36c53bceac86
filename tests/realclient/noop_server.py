"""The least MCP server that there can be, for comparison: one tool, `nothing`, which answers a hook by nothing."""

import json
import sys
from typing import Any

ANSWERS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": [{"name": "nothing", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "{}"}]},
    "ping": {},
}


def main() -> None:
    """Answer line by line until nobody asks any more."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        method, answer = asked["method"], {"jsonrpc": "2.0", "id": asked["id"]}
        if method == "initialize":
            version = asked["params"]["protocolVersion"]
            about = {"name": "nothing", "version": "1"}
            answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        elif method in ANSWERS:
            answer["result"] = ANSWERS[method]
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
