"""Look into a wheel: everything it needs, nothing else, and whose names it meets.

    python wheel_check.py WHEEL NEIGHBOURS

NEIGHBOURS is a folder into which the packages of `neighbours.lock` were installed.
Run from the root of the checkout. Exit 1 with one line per fault.
"""

import sys
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

OURS = {"ledger", "importers", "mcp_server", "ledger_schema"}
CLASHES = {"importers", "mcp_server"}
"""Module names that a neighbour also installs: what docs/decisions/0004 states."""


def expected(root: Path) -> set[str]:
    """Return the files of the checkout that the wheel has to hold, by their installed names."""
    found = {"ledger/py.typed", "importers/py.typed", "mcp_server/py.typed"}
    for folder in sorted(OURS):
        home = root / ("schema" if folder == "ledger_schema" else folder)
        for path in home.rglob("*"):
            name = path.relative_to(home).as_posix()
            is_note = path.suffix == ".md" and name.startswith("example/")
            if path.suffix in (".py", ".json", ".mako", ".sqlite", ".LICENSE") or is_note:
                found.add(f"{folder}/{name}")
    return found


def acts(name: str) -> bool:
    """Tell whether a file of a wheel is run without being asked for: by the installer, or at each start of Python."""
    path = PurePosixPath(name)
    is_hook = name in ("sitecustomize.py", "usercustomize.py", "setup.py") or path.suffix == ".pth"
    return is_hook or path.parts[0].endswith(".data")


def faults(wheel: Path, neighbours: Path) -> list[str]:
    """Return what is wrong with the wheel, one line each."""
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.endswith("/")}
    packaged = {name for name in held if not PurePosixPath(name).parts[0].endswith(".dist-info")}
    wanted = expected(Path.cwd())
    met = {path.name for path in neighbours.iterdir()} & OURS
    found = [f"{name} is missing from the wheel" for name in sorted(wanted - packaged)]
    found += [f"{name} has no place in the wheel" for name in sorted(packaged - wanted)]
    if not any(name.endswith("LICENSE") for name in held):
        found.append("the licence is missing from the wheel")
    found += [f"{name} runs when it is installed or when Python starts" for name in sorted(held) if acts(name)]
    if met != CLASHES:
        found.append(f"neighbours share {sorted(met)}; docs/decisions/0004 states {sorted(CLASHES)}")
    return found


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(lines) or f"{Path(sys.argv[1]).name}: complete, nothing else in it")
    sys.exit(1 if lines else 0)
