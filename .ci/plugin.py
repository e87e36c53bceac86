"""Write the files of `plugin/` that are derived: hooks, server, icon.

    python .ci/plugin.py            write them
    python .ci/plugin.py --check    say which are not what the source gives

What the hooks and the server are stands in `ledger/setup_clients.py`, which
`learnings setup` uses too.
"""

import json
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ledger import setup_clients as clients

FOLDER = Path(__file__).resolve().parent.parent / "plugin"

SIZE = 512
"""Width and height of the icon in pixels; the plugin directory takes 512 to 2048."""

INK, PAPER, FADED, MARK = (18, 52, 59), (244, 241, 232), (96, 128, 133), (239, 167, 47)


class Bar(NamedTuple):
    """A rectangle with round corners: middle, half of width and height, radius, colour."""

    x: float
    y: float
    half_width: float
    half_height: float
    radius: float
    colour: tuple[int, int, int]

    def cover(self, x: float, y: float) -> float:
        """Return how much of the pixel at a place lies inside, 0 to 1, from its distance to the edge."""
        right = abs(x - self.x) - self.half_width + self.radius
        below = abs(y - self.y) - self.half_height + self.radius
        outside = (max(right, 0) ** 2 + max(below, 0) ** 2) ** 0.5
        return min(max(0.5 - (outside + min(max(right, below), 0) - self.radius), 0), 1)


BARS = (
    Bar(256, 256, 256, 256, 96, INK),
    Bar(256, 148, 144, 22, 22, PAPER),
    Bar(256, 220, 144, 22, 22, FADED),
    Bar(256, 220, 164, 5, 5, PAPER),
    Bar(184, 292, 72, 22, 22, MARK),
    Bar(338, 292, 62, 22, 22, PAPER),
    Bar(256, 364, 144, 22, 22, PAPER),
)
"""Lines of a ledger: one is struck out and stays, and the one below takes its place."""


def icon() -> bytes:
    """Return the icon as PNG, 8 bits a channel with transparency."""
    rows = b"".join(b"\0" + b"".join(pixels(y + 0.5)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def pixels(y: float) -> Iterator[bytes]:
    """Yield the pixels of one line: red, green, blue, how opaque."""
    near = [bar for bar in BARS if abs(y - bar.y) <= bar.half_height + 1]
    for x in range(SIZE):
        colour: tuple[float, ...] = BARS[0].colour
        for bar in near[1:]:
            share = bar.cover(x + 0.5, y)
            colour = tuple(old + (new - old) * share for old, new in zip(colour, bar.colour, strict=True))
        yield bytes((*(round(value) for value in colour), round(255 * BARS[0].cover(x + 0.5, y))))


def text(document: object) -> bytes:
    """Return a document as the JSON file it is kept in."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def built() -> dict[Path, bytes]:
    """Return every derived file, by its path."""
    return {
        FOLDER / "hooks" / "hooks.json": text(clients.plugin_hooks()),
        FOLDER / ".mcp.json": text(clients.plugin_server()),
        FOLDER / "icon.png": icon(),
    }


def plain(data: bytes) -> bytes:
    """Return a file as it is compared: pixels uncompressed, for zlibs pack them differently."""
    at = data.find(b"IDAT")
    if at < 0:
        return data
    (length,) = struct.unpack(">I", data[at - 4 : at])
    return data[: at - 4] + zlib.decompress(data[at + 4 : at + 4 + length])


def main(words: list[str]) -> int:
    """Write the files, or check them; return the exit status."""
    if words == ["--check"]:
        faults = [
            path for path, data in built().items() if not path.exists() or plain(path.read_bytes()) != plain(data)
        ]
        lines = [f"plugin/{path.relative_to(FOLDER)} is not what the source gives" for path in faults]
        print("\n".join(lines) or "the plugin is what the source gives")
        return 1 if faults else 0
    for path, data in built().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
