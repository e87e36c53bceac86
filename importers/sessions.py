"""Make learnings of a transcript: what its person laid down, what mended a failure, and the client's own summaries.

A statement is quoted word by word, with the id of its line as its place: a
person's own words, trust 3. What mended a failure was inferred: trust 0, and
another session that shows the same agrees. Places are ids of lines, so that
forks, resumed sessions and copies of a file add nothing. No file is ever read
"as a whole": the client deletes transcripts, and what is gone says nothing.
"""

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from importers import projects, remedies, statements, transcript
from importers.kinds import Importer, Parsed, Where
from importers.remedies import Remedy, Watch
from importers.transcript import Turn
from ledger.home import client_folder
from ledger.model import TRUST_AGENT, TRUST_FILES, TRUST_INFERRED, Diagnostic, Draft, SessionText, Source

KIND = "transcript"

WATCHED = 100
"""Sessions of one file that are watched for remedies at once."""

_HEAD = re.compile(
    rb'\A(?:\xef\xbb\xbf)?\s*\{(?=.{0,4000}?"type"\s*:)(?=.{0,4000}?"(?:sessionId|parentUuid|leafUuid|messageId|uuid)"\s*:)',
    re.DOTALL,
)
_BEFORE = re.compile(r"\A(?:This session is being continued|<client text).{0,4000}?(?:\A|\s)Summary:\s+", re.DOTALL)
_BEHIND = re.compile(
    r"\n\s*(?:If you need specific details from before|(?:Please )?[Cc]ontinue the conversation from where"
    r"|Recent messages are preserved).*\Z",
    re.DOTALL,
)
_OTHERS = re.compile(rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|entity|relation)"')


class Turns(Protocol):
    """The turns of one transcript, and what was wrong with it."""

    diagnostics: list[Diagnostic]

    def __iter__(self) -> Iterator[Turn]:
        """Yield the turns, once."""


Opened = Callable[[str], "AbstractContextManager[Turns]"]
"""Opens a transcript: `transcript.opened`, or what also keeps its turns."""


def sniff(head: bytes, path: str) -> bool:
    """Tell whether a file is a transcript of the client: by its name, and by the first of its lines."""
    if not path.lower().endswith(".jsonl"):
        return False
    return not head.strip() or (_HEAD.match(head) is not None and _OTHERS.search(head) is None)


def read(path: str, project: str | None, opened: Opened = transcript.opened) -> list[Parsed]:
    """Read a transcript: what its person said, at trust 3, and what was inferred from it, at trust 0.

    Raises:
        Unread: it cannot be opened.
    """
    with opened(path) as turns:
        gathered = Gatherer(path, project)
        for turn in turns:
            gathered.hear(turn)
        return gathered.parsed(turns.diagnostics)


class Gatherer:
    """One transcript being read, turn by turn."""

    def __init__(self, path: str, project: str | None = None) -> None:
        self._path, self._project = path, project
        self._projects: dict[str | None, str] = {}
        self._watches: OrderedDict[str, Watch] = OrderedDict()
        self._stopped: dict[str, str | None] = {}
        self._said: list[Draft] = []
        self._mended: list[Draft] = []
        self._sessions: dict[str, str] = {}
        self._around: dict[str, str] = {}
        self._summaries: dict[str, SessionText] = {}

    def hear(self, turn: Turn) -> None:
        """Take the next turn."""
        if turn.speaker == "person":
            if not turn.is_aside:
                self._said += self._statements(turn)
        elif turn.speaker == "summary" and not turn.is_robot and not turn.is_aside:
            about = SessionText(turn.session, self._project_of(turn.cwd), summary_of(turn.text), turn.at)
            self._summaries[turn.session] = about
        elif turn.speaker in ("agent", "tool"):
            self._mended += [self._mending(one) for one in self._watch(turn.session).hear(turn)]
        self._note_stop(turn)

    def parsed(self, diagnostics: Iterable[Diagnostic]) -> list[Parsed]:
        """Return what was made of it."""
        said = Parsed(self._said, frozenset(), frozenset(), list(diagnostics), is_complete=False, trust=TRUST_AGENT)
        mended = Parsed(self._mended, frozenset(), frozenset(), [], is_complete=False, trust=TRUST_INFERRED)
        summaries = tuple(self._summaries.values())
        return [said._replace(summaries=summaries, around=self._around), mended._replace(sessions=self._sessions)]

    def _watch(self, session: str) -> Watch:
        if session not in self._watches:
            self._watches[session] = Watch()
            if len(self._watches) > WATCHED:
                self._watches.popitem(last=False)
        return self._watches[session]

    def _note_stop(self, turn: Turn) -> None:
        """Remember the command that a person stopped, for what they say next."""
        if turn.speaker == "agent" and not turn.is_aside:
            commands = [call.command for call in turn.calls if call.command]
            self._stopped = {turn.session: f"?{commands[-1]}" if commands else None}
        elif turn.speaker == "client" and turn.text.startswith("[Request interrupted"):
            pending = self._stopped.get(turn.session)
            if pending is not None:
                self._stopped[turn.session] = pending.removeprefix("?")
        elif turn.speaker == "person":
            self._stopped.pop(turn.session, None)

    def _statements(self, turn: Turn) -> list[Draft]:
        stopped = self._stopped.get(turn.session)
        before = remedies.normalised(stopped)[0][:120] if stopped and not stopped.startswith("?") else None
        drafts = []
        for one in statements.found(turn.text):
            problem = statements.subject_of(one.text, before)
            category, confidence = statements.category_of(one.text)
            place = Source(KIND, f"{KIND}:{turn.uuid}#{one.at}", self._path, turn.line)
            draft = Draft(problem, one.text, category, self._project_of(turn.cwd), observed_at=turn.at, source=place)
            drafts.append(draft._replace(confidence=confidence))
            self._around[place.locator] = turn.text
        return drafts

    def _mending(self, one: Remedy) -> Draft:
        source = Source(KIND, f"{KIND}:{one.uuid}#fix", self._path, one.line)
        self._sessions[source.locator] = one.session
        project = self._project_of(one.cwd)
        return Draft(one.problem, one.solution, "bug-fix", project, None, (), one.at, "sure", source)

    def _project_of(self, cwd: str | None) -> str:
        """Return the project of a working folder, which may be gone from the disk."""
        if self._project is not None:
            return self._project
        if cwd not in self._projects:
            is_place = cwd is not None and os.path.isabs(cwd) and "\0" not in cwd
            found = projects.project_of(cwd) if cwd is not None and is_place else None
            self._projects[cwd] = found or projects.folder_name(cwd or os.path.dirname(self._path))
        return self._projects[cwd]


def summary_of(text: str) -> str:
    """Return a compaction's summary as the client hands it to hooks: without what it says before and behind it."""
    return _BEHIND.sub("", _BEFORE.sub("", text, count=1)).strip()


def merged(parsed: Iterable[Parsed]) -> list[Draft]:
    """Return the drafts of several transcripts, each place once, in the order in which they were said."""
    first: dict[str, Draft] = {}
    for draft in (draft for one in parsed for draft in one.drafts):
        if draft.source is not None:
            first.setdefault(draft.source.locator, draft)
    return sorted(first.values(), key=lambda draft: draft.observed_at or "")


def of_files(parsed: Parsed) -> Parsed:
    """Return what a file says that anybody may have written: no person's words, and no session that could agree.

    Its places are its own, so that a copy of a session, or what borrows the ids of its lines, does not stand in the
    place of what the person's own file says.
    """
    trust = TRUST_FILES if parsed.trust is None else min(parsed.trust, TRUST_FILES)
    drafts = [
        draft._replace(source=draft.source and draft.source._replace(locator=_copied(draft.source.locator)))
        for draft in parsed.drafts
    ]
    around = {_copied(locator): text for locator, text in parsed.around.items()}
    return parsed._replace(drafts=drafts, around=around, trust=trust, sessions={}, summaries=())


def _copied(locator: str) -> str:
    """Return the place of a copy: the id of the line stays before the last `#`."""
    line, _, rest = locator.rpartition("#")
    return f"{line}#copy:{rest}"


def places(where: Where) -> list[str]:
    """Return the folders of a user's client that hold transcripts, one a project."""
    root = os.path.join(client_folder(where.home), "projects")
    return [folder for folder in projects.folders(root) if transcripts_in(folder)]


def below(root: str) -> list[str]:
    """Return the transcripts of a folder of the client's: its own, that of all projects, or that of one."""
    if os.path.basename(root) == "projects":
        return [path for folder in projects.folders(root) for path in transcripts_in(folder)]
    if os.path.basename(os.path.dirname(root)) == "projects":
        return transcripts_in(root)
    return below(os.path.join(root, "projects")) if os.path.basename(root) == ".claude" else []


def transcripts_in(folder: str) -> list[str]:
    """Return the transcripts that stand in a folder; those of subagents, which hold no person's words, are left out."""
    try:
        with os.scandir(folder) as listing:
            return sorted(
                entry.path
                for entry in listing
                if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
                and entry.is_file(follow_symlinks=False)
            )  # fmt: skip
    except OSError:
        return []


IMPORTER = Importer(
    KIND, sniff, read, trust=TRUST_AGENT, names=(".jsonl",), merged=merged, below=below, places=places, by_place=True
)
