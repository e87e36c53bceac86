"""Put a block of lines into Codex's TOML, and take it out again; TOML is never parsed to be written."""

from typing import Any

from ledger import setup_clients as clients
from ledger.errors import FileFault, Refused
from ledger.setup_clients import HOW_TO_MEND

OPEN_MARK = "# >>> learnings: written by `learnings setup codex`, taken out by its --uninstall"
CLOSE_MARK = "# <<< learnings"


def put(text: str, block: str, path: str = "the file") -> str:
    """Return TOML with our block at its end, or with ours brought up to date where it is.

    Raises:
        FileFault: the text is no TOML, or would be none with the block.
        Refused: it has a server of our name without our marks.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = newline.join((OPEN_MARK, *block.splitlines(), CLOSE_MARK)) + newline
    rest = take(text)
    servers = _toml(rest, f"{path} is no TOML").get("mcp_servers", {})
    if isinstance(servers, dict) and clients.SERVER in servers:
        raise Refused(
            f"{path} has a server named {clients.SERVER} already; nothing was written",
            "remove that table, then run this again",
        )
    start = text.find(OPEN_MARK)
    if start >= 0:
        made = rest[:start] + whole + rest[start:]
    else:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        made = text + gap + whole
    _toml(made, f"mcp_servers in {path} takes no further table")
    return made


def take(text: str) -> str:
    """Return TOML without our block; the blank line before it stays."""
    start = text.find(OPEN_MARK)
    end = text.find(CLOSE_MARK, start)
    if start < 0 or end < 0:
        return text
    after = text.find("\n", end)
    return text[:start] + (text[after + 1 :] if after >= 0 else "")


def _toml(text: str, fault: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise FileFault(f"{fault}; nothing was written", HOW_TO_MEND) from None
