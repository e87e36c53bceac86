"""Build CHANGELOG.md from the fragments in this folder.

A fragment is one file per change that a user can notice, named
`<issue>.<kind>.md` or `<issue>-<word>.<kind>.md`; its text is one or more
paragraphs from the user's side. Stdlib only.

    python changes/build.py --check               names and contents are in order
    python changes/build.py                       print the coming section
    python changes/build.py 0.2.0 2027-01-31      write the section, remove the fragments
"""

import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

KINDS = ("security", "removed", "deprecated", "added", "changed", "fixed")
"""Kinds of change, in the order of the sections: what a reader must act on comes first."""

NAME = re.compile(rf"(\d+)(?:-([a-z0-9]+))?\.({'|'.join(KINDS)})\.md")
VERSION = re.compile(r"\d+\.\d+\.\d+")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FOLDER = Path(__file__).resolve().parent
CHANGELOG = FOLDER.parent / "CHANGELOG.md"
MARK = "<!-- releases -->\n"
"""Line of the changelog below which a new section goes."""


class Fragment(NamedTuple):
    """One change: where it was described, and how."""

    issue: int
    word: str
    kind: str
    text: str
    path: Path


def read(folder: Path) -> tuple[list[Fragment], list[str]]:
    """Return the fragments of a folder by issue, and what is wrong with the others."""
    fragments, faults = [], []
    for path in sorted(folder.iterdir()):
        if path.name in (Path(__file__).name, "__pycache__"):
            continue
        name = NAME.fullmatch(path.name)
        text = path.read_text(encoding="utf-8").strip() if name else ""
        if not name:
            faults.append(f"{path.name}: not <issue>.<kind>.md with a kind of {', '.join(KINDS)}")
        elif not text:
            faults.append(f"{path.name}: empty")
        elif re.search(r"^#", text, re.M):
            faults.append(f"{path.name}: headings are made by this script, write paragraphs")
        else:
            fragments.append(Fragment(int(name[1]), name[2] or "", name[3], text, path))
    return sorted(fragments, key=lambda one: (one.issue, one.word, one.kind)), faults


def section(title: str, fragments: list[Fragment]) -> str:
    """Return the changelog's section of one release."""
    parts = [f"## {title}\n"]
    for kind in KINDS:
        items = [item(one) for one in fragments if one.kind == kind]
        if items:
            parts.append(f"### {kind.capitalize()}\n\n" + "".join(items))
    return "\n".join(parts)


def item(one: Fragment) -> str:
    """Return a fragment as a list item that names its issue."""
    return "- " + textwrap.indent(f"{one.text} (#{one.issue})\n", "  ")[2:]


def release(version: str, date: str, fragments: list[Fragment]) -> None:
    """Put a release's section on top of the changelog, then remove its fragments."""
    before, mark, after = CHANGELOG.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{CHANGELOG.name} has lost its line {MARK.strip()!r}; nothing was written")
    text = section(f"{version} ({date})", fragments)
    CHANGELOG.write_text(f"{before}{mark}\n{text}{after}", encoding="utf-8")
    for one in fragments:
        one.path.unlink()


def main(arguments: list[str]) -> int:
    """Run one of the three uses above; 1 when a fragment is not in order, 2 when misused."""
    fragments, faults = read(FOLDER)
    for fault in faults:
        print(f"changes/{fault}", file=sys.stderr)
    if faults:
        return 1
    match arguments:
        case []:
            print(section("Coming", fragments), end="")
        case ["--check"]:
            print(f"{len(fragments)} fragments in order")
        case [version, date] if VERSION.fullmatch(version) and DATE.fullmatch(date) and fragments:
            release(version, date, fragments)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
