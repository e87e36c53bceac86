"""Read the notes of basic-memory: Markdown with a `permalink`, observations and relations.

An observation, `- [category] text #tag (context)`, is a learning; so is the
prose of a note, without its relations. A note is one place, so that an
observation that was reworded is an edit. Relations are no learnings. Facts: the
project's own parser (0.13 and later), where a category in brackets or a hash tag makes a list item an observation.
"""

import json
import os
import re

from importers import files, headers, markdown
from importers.collected import Collected, time_of
from importers.files import Unread
from importers.kinds import Importer, Parsed, Where
from importers.markdown import Block
from importers.projects import folder_name, project_of, slug_folder
from importers.subjects import categorised
from ledger.model import TAG_CHARS, Diagnostic

KIND = "basic-memory"

LOOKED_AT = 20
"""Notes of a folder that are looked at to tell whose it is; half of them have a permalink then."""

NOTES_MAX = 20_000
CONFIG_BYTES = 256_000

_CATEGORY = {
    "decision": "practice", "principle": "practice", "rule": "practice", "requirement": "practice",
    "best-practice": "practice", "guideline": "practice", "constraint": "practice", "preference": "tool-pref",
    "tool": "tool-pref", "bug": "bug-fix", "issue": "bug-fix", "fix": "bug-fix", "error": "bug-fix",
    "gotcha": "bug-fix", "problem": "bug-fix", "solution": "bug-fix", "design": "pattern", "pattern": "pattern",
    "architecture": "pattern", "technique": "pattern", "process": "workflow", "workflow": "workflow",
    "method": "workflow", "step": "workflow", "config": "env", "setup": "env", "environment": "env", "env": "env",
    "resource": "env",
}  # fmt: skip
_PERMALINK = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*---[ \t]*\r?\n(?:(?!---)[^\n]*\n){0,60}?permalink[ \t]*:", re.IGNORECASE
)
_OBSERVATION = re.compile(r"\[([^\[\]()\n]{1,60})\][ \t]+(\S.*)", re.DOTALL)
_CLOCK = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?)?\Z")
_HASH_TAG = re.compile(r"(?<!\S)#([^\s#]+)")
_CONTEXT = re.compile(r"\(([^()]*)\)\Z")
_RELATION = re.compile(r"(?:[^\s\[\]]+|\"[^\"\n]+\"|'[^'\n]+')?[ \t]*\[\[[^\]\n]+\]\][ \t]*(?:\([^()]*\))?\Z")
_LINK_TEXT = re.compile(r"\[\[([^\]\n]+)\]\]")
_SECTIONS = frozenset(("observations", "relations"))


def has_permalink(head: bytes) -> bool:
    """Return whether a note that begins with these bytes is one of this kind."""
    return _PERMALINK.match(head) is not None


def sniff(head: bytes, path: str) -> bool:
    """Return whether a file is a note of this kind."""
    return path.lower().endswith(".md") and has_permalink(head)


def below(folder: str) -> list[str]:
    """Return the folder when half of its notes have a permalink; the client's own is never one of this kind."""
    if slug_folder(os.path.join(folder, "x")) is not None or os.sep + ".claude" + os.sep in folder + os.sep:
        return []
    notes = files.walk(folder).files[:LOOKED_AT]
    theirs = 0
    for path in notes:
        try:
            theirs += has_permalink(files.read_head(path, 4_096, is_resolved=True))
        except Unread:
            continue
    return [folder] if theirs and 2 * theirs >= len(notes) else []


def places(where: Where) -> list[str]:
    """Return the projects that this user's configuration names, else the usual folder."""
    folder = where.environ.get("BASIC_MEMORY_CONFIG_DIR") or os.path.join(where.home, ".basic-memory")
    try:
        config = json.loads(files.read_bytes(os.path.join(folder, "config.json"), CONFIG_BYTES))
        projects = config["projects"].values()
        named = [one.get("path") if isinstance(one, dict) else one for one in projects]
    except (Unread, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        named = [where.environ.get("BASIC_MEMORY_HOME") or os.path.join(where.home, "basic-memory")]
    return [one for one in dict.fromkeys(named) if isinstance(one, str) and os.path.isabs(one) and os.path.isdir(one)]


def read(path: str, project: str | None = None) -> list[Parsed]:
    """Return what a note, or every note of a folder, says.

    Raises:
        Unread: nothing of it can be read.
    """
    found = _Notes(path, project)
    if os.path.isdir(path):
        walked = files.walk(path)
        found.diagnostics += walked.diagnostics
        found.bad += len(walked.unread)
        for note in walked.files[:NOTES_MAX]:
            try:
                found.read(note)
            except Unread as error:
                found.bad += 1
                found.diagnostics.append(Diagnostic(files.shown(note), None, error.code, error.message))
        if len(walked.files) > NOTES_MAX:
            found.bad += 1
            found.say("too-many", None, f"more than {NOTES_MAX:,} notes; the rest was left out")
    else:
        found.read(path)
    return [found.parsed(is_complete=True)]


def parse(text: str, path: str, project: str | None = None) -> Parsed:
    """Return what the text of one note says; see `read`."""
    found = _Notes(path, project)
    found.note(text, path)
    return found.parsed(is_complete=True)


class _Notes(Collected):
    """Notes of one file or folder on their way to drafts."""

    def __init__(self, path: str, project: str | None) -> None:
        super().__init__(KIND, path, project)
        root = path if os.path.isdir(path) else os.path.dirname(path)
        self.place = project or project_of(root) or folder_name(root)

    def read(self, path: str) -> None:
        """Add what a file says; lines of it that are no text are left out with a remark."""
        text, left_out = files.read_note(path)
        self.diagnostics += [Diagnostic(path, line, code, message) for code, line, message in left_out]
        self.bad += len(left_out)
        self.note(text, path)

    def note(self, text: str, path: str) -> None:
        """Add what a note says."""
        header = headers.parse(text, path)
        theirs = ("header-reserved",)  # `permalink`, `created` and the like are what this tool writes
        self.diagnostics += [one for one in header.diagnostics if one.code not in theirs]
        title = header.text("title") or re.sub(r"[_-]+", " ", os.path.splitext(os.path.basename(path))[0]).strip()
        at = time_of(None, _said(header.raw, "created") or _said(header.raw, "date"))
        locator = f"{KIND}:{path}#"
        self.whole.add(locator)
        before, self.path = self.path, path
        tags = [tag for tag in header.texts("tags") if tag]
        prose: list[str] = []
        for section in markdown.sections(markdown.lines(header.body, header.body_line)):
            heading = section.path[-1] if section.path else ""
            kept = [self._block(block, title, heading, locator, at, tags) for block in markdown.blocks(section.lines)]
            rest = "\n\n".join(text for text in kept if text)
            if rest:
                is_named = heading and heading.lower() not in _SECTIONS and heading.lower() != title.lower()
                prose.append(f"{heading}\n{rest}" if is_named else rest)
        if prose:
            text = "\n\n".join(prose)
            category = categorised("", f"{title} {text}")
            self.add(locator, title, text, category, self.place, title=title, tags=tags, at=at)
        self.path = before

    def _block(self, block: Block, title: str, heading: str, locator: str, at: str | None, tags: list[str]) -> str:
        """Add a list item that is an observation; return what is prose, '' for what is neither."""
        text = block.text.strip()
        if not block.is_item:
            return text
        if _RELATION.match(text) and "[[" in text:
            self.leave_out("relations")
            return ""
        found = _OBSERVATION.match(text)
        category = found[1].strip() if found is not None else ""
        is_task = len(category) == 1 and (category in "xX" or not category.isalnum())
        if found is not None and (_CLOCK.match(category) or is_task or not category):
            found = None
        hashes = [tag for tag in _HASH_TAG.findall(text.partition("\n")[0]) if len(tag) <= TAG_CHARS]
        if found is None and (not hashes or text.startswith(("[ ]", "[x]", "[-]"))):
            return f"- {text}"
        said = (found[2] if found is not None else text).strip()
        context = _CONTEXT.search(said)
        words = said[: context.start()].strip() if context is not None else said
        if not words:
            return f"- {text}"
        about = f"{title}: {context[1].strip()}" if context is not None and context[1].strip() else title
        kind = category.lower().replace("_", "-").replace(" ", "-") if found is not None else ""
        chosen = (_CATEGORY[kind], "sure") if kind in _CATEGORY else categorised("", f"{kind} {words}")
        solution = _LINK_TEXT.sub(r"\1", words)
        all_tags = [*([kind] if kind else []), *hashes, *tags]
        self.add(locator, about, solution, chosen, self.place, line=block.line, tags=all_tags, at=at)
        return ""


def _said(raw: str, key: str) -> str:
    """Return a value of a header that is believed as a date only."""
    found = re.search(rf"(?m)^{key}[ \t]*:[ \t]*['\"]?([^'\"\n]+)", raw)
    return found[1].strip() if found is not None else ""


IMPORTER = Importer(KIND, sniff, read, below=below, places=places, is_markdown=True)
