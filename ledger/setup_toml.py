"""Put a block of lines into Codex's TOML, and take it out again; TOML is never parsed to be written."""

from collections.abc import Iterator
from typing import Any

from ledger import setup_clients as clients
from ledger.errors import FileFault, Refused
from ledger.setup_clients import HOW_TO_MEND

OPEN_MARK = "# >>> learnings: written by `learnings setup codex`, taken out by its --uninstall"
CLOSE_MARK = "# <<< learnings"

HEADER = f"[mcp_servers.{clients.SERVER}]"
KEYS = ("command", "args", "env")
"""What `setup_clients.codex_block` writes."""


def put(text: str, block: str, path: str = "the file") -> str:
    """Return TOML with our block at its end, or with ours brought up to date where it is.

    What its owner added to our table stays in it.

    Raises:
        FileFault: the text is no TOML, or would be none with the block.
        Refused: it has a server of our name without our marks.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    before, _, own, rest = _cut(text)
    lines = (OPEN_MARK, *block.splitlines(), *"".join(own).splitlines(), CLOSE_MARK)
    whole = newline.join(lines) + newline
    servers = _toml(before + rest, f"{path} is no TOML").get("mcp_servers", {})
    if isinstance(servers, dict) and clients.SERVER in servers:
        raise Refused(
            f"{path} has a server named {clients.SERVER} already; nothing was written",
            "remove that table, then run this again",
        )
    if OPEN_MARK in text:
        made = before + whole + rest
    else:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        made = text + gap + whole
    _toml(made, f"mcp_servers in {path} takes no further table")
    return made


def take(text: str) -> str:
    """Return TOML without our block; the blank line before it stays, and so does what others put between the marks.

    What its owner added to our table stays as comments: without the table's
    header it would belong to the table before, and with it the server would be half one.
    """
    before, was_cut, own, rest = _cut(text)
    return before + "".join(f"# {line}" if line.strip() else line for line in own) + rest if was_cut else text


def _cut(text: str) -> tuple[str, bool, list[str], str]:
    """Return what stands before our block, whether there is one, what others added to our table, and all else."""
    start = text.find(OPEN_MARK)
    end = text.find(CLOSE_MARK, start)
    if start < 0 or end < 0:
        return text, False, [], ""
    after = text.find("\n", end)
    own: list[str] = []
    rest = "".join(_not_ours(text[start:end].splitlines(keepends=True)[1:], own))
    return text[:start], True, own, rest + (text[after + 1 :] if after >= 0 else "")


def _not_ours(lines: list[str], own: list[str]) -> Iterator[str]:
    """Yield the lines that are not of our table: its header, and each of our keys in it once.

    Other keys of our table, and tables within it, go to `own`. A value that goes
    on over more lines, as an editor may write it, goes as a whole.
    """
    is_inside = is_within = False
    left: set[str] = set()
    rest = iter(lines)
    for line in rest:
        bare = line.strip()
        if bare.startswith("["):
            name = _header(bare)
            is_inside, is_within = name == HEADER, name.startswith(HEADER[:-1] + ".")
            left = set(KEYS) if is_inside else set()
            if is_within:
                own.append(line)
            elif not is_inside:
                yield line
            continue
        if not (is_inside or is_within) or not bare or bare.startswith("#"):
            yield line
            continue
        key = bare.partition("=")[0].strip().strip("\"'")
        value = [line]
        while not _is_whole("".join(value)) and (more := next(rest, "")):
            value.append(more)
        if key in left:
            left.discard(key)
        else:
            own += value


def _header(bare: str) -> str:
    return "".join(bare.partition("#")[0].split()).replace('"', "").replace("'", "")


def _is_whole(line: str) -> bool:
    import tomllib

    try:
        tomllib.loads(line.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _toml(text: str, fault: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        raise FileFault(f"{fault}; nothing was written", HOW_TO_MEND) from None
