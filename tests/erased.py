"""What tests of erasing share: a text that has to go, and every place in which it is looked for."""

import base64
import os
from pathlib import Path

TOKEN = "k7q3" + "n5x8w2" + "m4p9z1"
"""Drawn at random, and of no shape that is masked at the door."""

PROBLEM = "reaching the staging host from the jump host"
SOLUTION = f"open a tunnel there, then call the gate with {TOKEN} and close it again"


def spellings(text: str) -> dict[str, bytes]:
    """Return how a text may stand in a file, made here and not by the program."""
    raw = text.encode()
    found = {
        "raw": raw,
        "utf-16-le": text.encode("utf-16-le"),
        "utf-16-be": text.encode("utf-16-be"),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "json": "".join(f"\\u{ord(letter):04x}" for letter in text).encode(),
    }
    for shift in range(3):
        # The first and last characters of base64 depend on the neighbours.
        found[f"base64 {shift}"] = base64.b64encode(b"x" * shift + raw + b"y" * 3)[4 : shift + len(raw)]
    return found


def files_of(folder: Path) -> list[Path]:
    """Return every file below a folder."""
    return sorted(Path(at) / name for at, _, names in os.walk(folder) for name in names)


def holding(folder: Path, text: str = TOKEN) -> list[str]:
    """Return the files below a folder that hold a text in any spelling, without case."""
    wanted = [one.lower() for one in spellings(text).values()]
    return [path.name for path in files_of(folder) if any(one in path.read_bytes().lower() for one in wanted)]
