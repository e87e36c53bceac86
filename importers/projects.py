"""Find which project a folder belongs to, by reading files; git itself never runs.

A repository's config can make git start programs, so its files are read as
text: bounded, never through a link. The name is `owner/repo` of `origin`, else
the folder's name. A folder of `~/.claude/projects` is named after a path in a
way that loses letters, so its project comes from the `cwd` its transcripts
recorded.
"""

import json
import os
import re
import stat
from typing import NamedTuple

from importers.files import Unread, decoded, read_bytes, read_head, real
from ledger.home import client_folder
from ledger.model import PROJECT_CHARS

POINTER_BYTES = 4_096
"""Largest `.git` file or `commondir`; both hold one path."""

CONFIG_BYTES = 256_000
LEVELS_MAX = 64
TRANSCRIPTS_MAX = 20
TRANSCRIPT_BYTES = 64_000
"""How much of how many transcripts is looked at for a working folder, newest first."""

_ORIGIN = re.compile(r'[ \t]*\[[ \t]*remote[ \t]+"origin"[ \t]*\][ \t]*(.*)', re.IGNORECASE)
_SECTION = re.compile(r"[ \t]*\[")
_URL = re.compile(r"[ \t]*url[ \t]*=[ \t]*(.*)", re.IGNORECASE)
_WITH_HOST = re.compile(r"(?:https?|ssh|git|git\+ssh|ssh\+git)://[^/\s]+/(.+)", re.IGNORECASE)
_SCP = re.compile(r"(?:[^@/\s:]+@)?[^@/\s:]{2,}:(?!//)/*(.+)")
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Repository(NamedTuple):
    """`work_tree` is the folder that holds `.git`; `main` the main repository's folder, another one for a worktree;
    `config` the path of its config."""

    work_tree: str
    main: str
    config: str


def project_of(path: str) -> str | None:
    """Return the project that a folder, or a file in it, belongs to; None outside every repository."""
    repository = repository_of(path)
    return name_of(repository) if repository is not None else None


def session_project(cwd: str) -> str:
    """Return the project of a session by the folder it worked in: of its repository, else the folder's name."""
    return project_of(cwd) or folder_name(cwd)


def repository_of(path: str) -> Repository | None:
    """Return the repository around a path, looking upward from it."""
    folder = real(path)
    for _ in range(LEVELS_MAX):
        found = _repository(folder)
        if found is not None:
            return found
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return None


def _repository(folder: str) -> Repository | None:
    """Return the repository whose work tree is `folder`, None when there is none or its `.git` leads nowhere."""
    dot_git = os.path.join(folder, ".git")
    try:
        mode = os.lstat(dot_git).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        is_real = os.path.lexists(os.path.join(dot_git, "HEAD")) or os.path.lexists(os.path.join(dot_git, "config"))
        return Repository(folder, folder, os.path.join(dot_git, "config")) if is_real else None
    pointed = _one_line(dot_git)
    if not pointed.startswith("gitdir:"):
        return None
    git_dir = os.path.normpath(os.path.join(folder, pointed.removeprefix("gitdir:").strip()))
    common = _one_line(os.path.join(git_dir, "commondir"))
    if not common:
        return Repository(folder, folder, os.path.join(git_dir, "config"))
    shared = os.path.normpath(os.path.join(git_dir, common))
    main = os.path.dirname(shared) if os.path.basename(shared) == ".git" else shared.removesuffix(".git")
    return Repository(folder, main, os.path.join(shared, "config"))


def _one_line(path: str) -> str:
    """Return the first line of a small file, '' when it cannot be read."""
    try:
        return decoded(read_bytes(path, POINTER_BYTES)).partition("\n")[0].strip()
    except Unread:
        return ""


def name_of(repository: Repository) -> str:
    """Return a repository's name: `owner/repo` of `origin`, else its folder's name."""
    try:
        url = origin(decoded(read_bytes(repository.config, CONFIG_BYTES)))
    except Unread:
        url = None
    return (short_name(url) if url is not None else None) or folder_name(repository.main)


def origin(config: str) -> str | None:
    """Return the first URL of `origin` in the text of a git config; nothing it includes is read."""
    here = False
    for line in config.replace("\\\n", "").split("\n"):
        start = _ORIGIN.match(line)
        if start is not None or _SECTION.match(line):
            here = start is not None
        match = _URL.match(start[1] if start is not None else line) if here else None
        if match is not None:
            value = match[1].strip()
            quoted = re.match(r'"((?:[^"\\]|\\.)*)"', value)
            return quoted[1] if quoted is not None else re.split(r"\s[#;]", value, maxsplit=1)[0].strip()
    return None


def short_name(url: str) -> str | None:
    """Return `owner/repo` of a URL that names a host, None for a path or anything else.

    What stands before the host's path goes, and with it user, password and port.
    """
    match = _WITH_HOST.match(url) or (_SCP.match(url) if "://" not in url else None)
    if match is None:
        return None
    path = re.split(r"[?#]", match[1], maxsplit=1)[0].strip("/").removesuffix(".git").strip("/")
    kept = [part for part in path.split("/") if part not in ("", ".", "..", "~", "_git", "scm")]
    name = "/".join(kept[-2:])
    return name if name and len(name) <= PROJECT_CHARS and not _UNFIT.search(name) and "@" not in name else None


def folder_name(path: str) -> str:
    """Return the last part of a path as a project's name; never empty."""
    name = os.path.basename(os.path.normpath(path))
    name = _UNFIT.sub(" ", name.encode("utf-8", "replace").decode("utf-8", "replace")).strip()[:PROJECT_CHARS]
    return name if name and name not in (".", "*") else "root"


# -- the client's own folders -----------------------------------------------------------------------------------------


def slug_folder(path: str) -> str | None:
    """Return the folder `…/projects/<slug>` whose `memory` a path is or lies in, None when it is no such path."""
    parts = path.split(os.sep)
    for at in range(len(parts) - 1, 1, -1):
        if parts[at] == "memory" and parts[at - 2] == "projects":
            return os.sep.join(parts[:at])
    return None


def slug(path: str) -> str:
    """Return the name that the client gives the folder of a path (for paths up to 200 characters)."""
    units = path.encode("utf-16-le", "surrogatepass")
    letters = [units[at : at + 2] for at in range(0, len(units), 2)]
    return "".join(
        chr(two[0]) if two[1] == 0 and chr(two[0]).isascii() and chr(two[0]).isalnum() else "-" for two in letters
    )


def memory_folder(path: str, home: str) -> str:
    """Return where the client keeps the notes of the project that a folder belongs to, whether it is there or not."""
    repository = repository_of(path)
    root = repository.main if repository is not None else os.path.abspath(path)
    return os.path.join(client_folder(home), "projects", slug(root), "memory")


def default_places(home: str) -> list[str]:
    """Return the memory folders of a user's client that exist: of every project, and of every agent."""
    claude = client_folder(home)
    found = [os.path.join(folder, "memory") for folder in folders(os.path.join(claude, "projects"))]
    found += folders(os.path.join(claude, "agent-memory"))
    return [folder for folder in found if os.path.isdir(folder)]


def folders(path: str) -> list[str]:
    """Return the folders in a folder, [] when it cannot be read."""
    try:
        with os.scandir(path) as listing:
            return sorted(entry.path for entry in listing if entry.is_dir())
    except OSError:
        return []


def loaded_files(path: str, home: str) -> list[str]:
    """Return the files that the client loads in a folder: instructions, rules, and the index of its memory."""
    from ledger.own_copy import INDEX, instructions

    return [*instructions(path, home), os.path.join(memory_folder(path, home), INDEX)]


def project_of_slug(folder: str) -> tuple[str, bool]:
    """Return the project of a folder of `~/.claude/projects`, and whether a transcript told it.

    The memory folder belongs to the root of the repository a session worked
    in. A folder that is gone from the disk is named by the path that gives
    this very slug. Without a transcript the name is a guess from the slug.
    """
    name = os.path.basename(folder)
    for cwd in working_folders(folder):
        found = project_of(cwd) if os.path.isdir(cwd) else None
        if found is not None:
            return found, True
        above = cwd
        while slug(above) != name and os.path.dirname(above) != above:
            above = os.path.dirname(above)
        return folder_name(above if slug(above) == name else cwd), True
    return folder_name(name.rstrip("-").rpartition("-")[2] or name), False


def working_folders(folder: str) -> "list[str]":
    """Return the first working folder recorded in the newest transcript that tells one, [] when none does."""
    for path in _transcripts(folder):
        try:
            head = read_head(path, TRANSCRIPT_BYTES)
        except Unread:
            continue
        for line in head.split(b"\n"):
            if b'"cwd"' not in line:
                continue
            try:
                cwd = json.loads(line).get("cwd")
            except (ValueError, AttributeError, RecursionError):
                continue
            if isinstance(cwd, str) and os.path.isabs(cwd) and not _UNFIT.search(cwd) and len(cwd) < POINTER_BYTES:
                return [os.path.normpath(cwd)]
    return []


def _transcripts(folder: str) -> list[str]:
    """Return the newest transcripts of a folder, newest first."""
    found = []
    try:
        with os.scandir(folder) as listing:
            for entry, _ in zip(listing, range(10_000), strict=False):
                if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                    found.append((-entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    except OSError:
        return []
    return [path for _, path in sorted(found)[:TRANSCRIPTS_MAX]]
