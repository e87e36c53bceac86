"""Write down what an installed ledger brings with it: a CycloneDX list for programs, a table for people.

    python .ci/supply.py            write sbom.cdx.json and docs/reference/dependencies.md
    python .ci/supply.py --check    say whether they are what the lock file and the packages give

Run it in an environment made from `requirements.lock`: licences are what the
packages say of themselves. No date and no serial number: one lock, one list.
"""

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
SBOM, PAGE = ROOT / "sbom.cdx.json", ROOT / "docs" / "reference" / "dependencies.md"
EXTRAS = ("postgres",)
"""Extras whose packages stand in the lock file; `sqlite` has a lock file of its own (docs/decisions/0005)."""

PYTHON = (3, 11)
"""Interpreter that the lists are made on: some packages are needed below or above a version only."""

KNOWN = {"MIT License": "MIT", "BSD License": "BSD-3-Clause"}
"""Licences by the names that packages without a licence expression give them, as looked up in their files."""


class Part:
    """One package: its name, version, licence, what needs it, and how many files of it the lock file allows."""

    def __init__(self, name: str, lock: dict[str, tuple[str, list[str]]]) -> None:
        self.name = name
        self.version, self.hashes = lock[name]
        self.needs: set[str] = set()
        self.needed_by: set[str] = set()
        found = metadata.metadata(name)
        if metadata.version(name) != self.version:
            raise SystemExit(f"{name} is installed as {metadata.version(name)}, the lock file says {self.version}")
        classifiers = [
            one.rsplit(" :: ", 1)[1] for one in found.get_all("Classifier") or [] if one.startswith("License")
        ]
        told = found.get("License-Expression") or (found.get("License") or "").strip().partition("\n")[0]
        self.licence = told if told and len(told) < 60 else " AND ".join(classifiers)
        self.licence = KNOWN.get(self.licence, self.licence) or "not said"


def locked() -> dict[str, tuple[str, list[str]]]:
    """Return version and hashes of every package of the lock file."""
    found: dict[str, tuple[str, list[str]]] = {}
    text = (ROOT / "requirements.lock").read_text("utf-8")
    for block in re.split(r"\n(?=[A-Za-z0-9])", text):
        head = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", block)
        if head:
            found[canonicalize_name(head[1])] = head[2], sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
    return found


def parts() -> dict[str, Part]:
    """Return every package that an installation with the extras of the lock file brings, by name."""
    lock = locked()
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [(told["name"], line) for line in told["dependencies"]]
    asked += [(told["name"], line) for extra in EXTRAS for line in told["optional-dependencies"][extra]]
    found: dict[str, Part] = {}
    seen: set[tuple[str, str]] = set()
    while asked:
        who, line = asked.pop()
        need = Requirement(line)
        name = canonicalize_name(need.name)
        if need.marker is not None and not any(need.marker.evaluate({"extra": extra}) for extra in ("", *need.extras)):
            continue
        if name not in found:
            found[name] = Part(name, lock)
        found[name].needed_by.add(who)
        if who in found:
            found[who].needs.add(name)
        for extra in ("", *sorted(need.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for other in metadata.requires(name) or []:
                marker = Requirement(other).marker
                if marker is None or marker.evaluate({"extra": extra}):
                    asked.append((name, str(_plain(other))))
    return dict(sorted(found.items()))


def _plain(line: str) -> Requirement:
    """Return a requirement without its condition, which has been judged."""
    need = Requirement(line)
    need.marker = None
    return need


def sbom(found: dict[str, Part], name: str, version: str) -> str:
    """Return the list as CycloneDX 1.6."""
    own = f"pkg:pypi/{name}@{version}"
    ref = {part.name: f"pkg:pypi/{part.name}@{part.version}" for part in found.values()}
    components: list[dict[str, Any]] = [
        {
            "type": "library", "bom-ref": ref[part.name], "name": part.name, "version": part.version,
            "purl": ref[part.name], "licenses": [_licence(part.licence)],
            "properties": [{"name": "learning-ledger:allowed-files", "value": str(len(part.hashes))}],
        }
        for part in found.values()
    ]  # fmt: skip
    direct = sorted(ref[part.name] for part in found.values() if name in part.needed_by)
    links = [{"ref": own, "dependsOn": direct}]
    links += [
        {"ref": ref[part.name], "dependsOn": sorted(ref[other] for other in part.needs)} for part in found.values()
    ]
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": own, "name": name, "version": version, "purl": own,
                                   "licenses": [{"license": {"id": "MIT"}}]}},
        "components": components, "dependencies": links,
    }  # fmt: skip
    return json.dumps(document, indent=1) + "\n"


def _licence(told: str) -> dict[str, Any]:
    if re.fullmatch(r"[A-Za-z0-9.+-]+", told):
        return {"license": {"id": told}}
    if re.fullmatch(r"[A-Za-z0-9.+() -]*\b(?:AND|OR|WITH)\b[A-Za-z0-9.+() -]*", told):
        return {"expression": told}
    return {"license": {"name": told}}


def page(found: dict[str, Part], name: str) -> str:
    """Return the table for people."""
    lines = [
        "# Dependencies", "", "<!-- Written by .ci/supply.py; do not edit. -->", "",
        "What `pip install learning-ledger[postgres]` brings on CPython 3.11 under Linux, as the lock file pins it.",
        "The same list for programs is `sbom.cdx.json` (CycloneDX 1.6); file hashes stand in `requirements.lock`.",
        "Licences are what each package says of itself.", "",
        "| package | version | licence | needed by |", "|---|---|---|---|",
    ]  # fmt: skip
    for part in found.values():
        by = ", ".join(
            "us" if one == name else one for one in sorted(part.needed_by, key=lambda one: (one != name, one))
        )
        lines.append(f"| {part.name} | {part.version} | {part.licence} | {by} |")
    return "\n".join(lines) + "\n"


def main(words: list[str]) -> int:
    """Write both, or compare them."""
    if sys.version_info[:2] != PYTHON:
        print(f"dependencies are listed on Python {'.'.join(map(str, PYTHON))}; nothing was compared on this one")
        return 0
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = parts()
    stale = []
    for path, text in ((SBOM, sbom(found, told["name"], told["version"])), (PAGE, page(found, told["name"]))):
        if words != ["--check"]:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            stale.append(path.relative_to(ROOT))
    for one in stale:
        print(f"{one} is not what requirements.lock gives; run `python .ci/supply.py`", file=sys.stderr)
    print(f"{len(found)} packages, {sum(told['name'] in part.needed_by for part in found.values())} asked for by us")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
