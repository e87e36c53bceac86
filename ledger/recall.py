"""What a prompt is shown: a framed block of learnings, or nothing, and the reasons for either.

One path for the hook, the server, the command line: a secret in the prompt ends
it before anything else is done with it; `choose` decides; `frame` shows; the
exposure is remembered, with keywords and never the prompt. The prompts of a
session that came before are kept in this process's memory alone.
Lean path: stdlib only.
"""

import json
import os
import re
import stat
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from ledger import choose, frame, hits, redact, sql
from ledger.answer import Hit
from ledger.errors import FileFault
from ledger.exposures import Exposure, Exposures, new_id, time_text
from ledger.model import TRUST_NOTES
from ledger.prompt import is_subject
from ledger.reader import Reader
from ledger.search import Match, Scope
from ledger.settings import exposure_days

PROMPT_CHARS = 100_000
"""Characters of a prompt that are looked at: its beginning and its end, half each."""

TURN_CHARS = 4_000
"""Characters of an earlier prompt that are kept, its end."""

SESSIONS_MAX = 500
"""Sessions whose last prompt this process keeps."""

TAIL_BYTES = 262_144
"""Bytes read from the end of a transcript, when nothing else tells the turn before."""

START_MAX, START_UNITS = 6, 3_000
"""Most learnings at the start of a session, and their budget in UTF-16 units."""

NO_SUBJECT = frozenset(("main", "master", "head", "develop", "development", "trunk", "feature", "fix", "bugfix", "dev"))
"""Words of a branch name that say nothing of what is worked on."""


SECRET = choose.Choice([], [], {}, "secret", {}, [])
"""What becomes of a prompt with a secret in it."""


class Recalled(NamedTuple):
    """What a prompt is shown.

    `text` is the framed block, empty when there is none; `ids` are those in it;
    `held` the candidates that are not, each with a word for why; `exposure` the
    id to ask `why` for, None when it could not be remembered; `reasons` say why
    nothing is shown, what was looked for, and by which versions.
    """

    text: str
    ids: list[str]
    held: list[choose.Held]
    exposure: str | None
    reasons: dict[str, Any]


class Turns:
    """The last prompt of each session that named something, in memory only, the least recently used forgotten first."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, str] = OrderedDict()

    def before(self, session: str) -> str | None:
        """Return the last prompt that named something, None when none is known."""
        return self._last.get(session)

    def keep(self, session: str, prompt: str) -> None:
        """Keep the end of a prompt for the next one."""
        self._last[session] = prompt[-TURN_CHARS:]
        self._last.move_to_end(session)
        while len(self._last) > SESSIONS_MAX:
            self._last.popitem(last=False)

    def forget(self, session: str) -> None:
        """Forget a session's prompts."""
        self._last.pop(session, None)


class Recall:
    """Recall over one ledger; a server keeps one for its lifetime, a command makes one for its call."""

    def __init__(
        self, reader: Reader, channel: str = "cli", turns: Turns | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._reader, self._channel, self._clock = reader, channel, clock
        self._turns = turns if turns is not None else Turns()
        self._exposures = Exposures(reader.path, reader.meta()["ledger_id"])

    def close(self) -> None:
        """Close the exposures; the reader is the caller's."""
        self._exposures.close()

    def recall(
        self,
        prompt: str,
        session: str | None,
        project: str | None,
        previous: str | None = None,
        *,
        prompt_id: str | None = None,
        transcript: str | None = None,
    ) -> Recalled:
        """Return what this prompt is shown; any text is legal, and nothing is shown twice in a session.

        Args:
            session: None asks outside any session: everything counts as not shown yet.
            previous: the turn before; else the one that was kept, else the last one of `transcript`.

        Raises:
            Locked, Damaged, FileFault: the ledger cannot be read.
        """
        asked = usable(prompt)
        if asked is None:
            return self._told(SECRET, frame.Framed("", []), session, project, prompt_id)
        before = self._before(asked, session, previous, transcript)
        if session is not None and is_subject(asked):
            self._turns.keep(session, asked)
        seen = self._exposures.shown(session) if session is not None else frozenset()
        chosen = choose.choose(self._reader, asked, project, before, seen)
        name = new_id()
        framed = frame.frame(chosen.shown, self._today(), f"why: learnings why {name}", name=name)
        return self._told(chosen, framed, session, project, prompt_id, name)

    def session_start(
        self, project: str | None, branch: str | None = None, session: str | None = None, source: str = "startup"
    ) -> Recalled:
        """Return what a session begins with: what a person pinned, and the strongest for what is being worked on.

        What is worked on is told by the branch's name and by what this
        project's last prompts were about. A session that starts, or whose
        context was cleared or compacted (`source`), may be shown everything again.

        Raises:
            Locked, Damaged, FileFault: the ledger cannot be read.
        """
        if session is not None and source != "resume":
            self._turns.forget(session)
        words = [*branch_words(branch), *self._subjects(project)]
        found = self._pinned(project)
        if words:
            strong = self._reader.query(" ".join(words), project=project, trust=TRUST_NOTES, limit=START_MAX).hits
            known = {hit.id for hit in found}
            found += [hit for hit in strong if hit.id not in known and hit.score > 0]
        shown = found[:START_MAX]
        held = [choose.Held(hit.id, "cap") for hit in found[START_MAX:]]
        silence = None if shown else "nothing-pinned-or-worked-on"
        chosen = choose.Choice(shown, held, {hit.id: {"score": hit.score} for hit in found}, silence, {}, words)
        name = new_id()
        framed = frame.frame(shown, self._today(), f"why: learnings why {name}", START_UNITS, name=name)
        return self._told(chosen, framed, session, project, None, name, anew=source != "resume")

    # -- parts -------------------------------------------------------------------------------------------------------

    def _told(
        self,
        chosen: choose.Choice,
        framed: frame.Framed,
        session: str | None,
        project: str | None,
        prompt_id: str | None,
        name: str | None = None,
        *,
        anew: bool = False,
    ) -> Recalled:
        """Remember what is shown, and answer it."""
        left = [choose.Held(hit.id, "budget") for hit in chosen.shown if hit.id not in framed.ids]
        held = [*left, *chosen.held]
        parts: dict[str, dict[str, Any]] = {one: {**told} for one, told in chosen.parts.items()}
        for hit in chosen.shown:
            if hit.via:
                parts.setdefault(hit.id, {})["via"] = hit.via
        now, head = self._clock(), self._reader.head()
        name = name or new_id()
        one = Exposure(
            name, time_text(now), session or "", prompt_id, self._channel, project, chosen.keywords, chosen.silence,
            framed.ids, [held_one._asdict() for held_one in held], parts, dict(chosen.versions), head.seq,
            head.hash.hex(), anew,
        )  # fmt: skip
        kept = self._exposures.add(one, now, days_kept(self._reader))
        reasons = {"silence": chosen.silence, "keywords": chosen.keywords, "versions": chosen.versions}
        return Recalled(framed.text, framed.ids, held, name if kept else None, reasons)

    def _before(self, asked: str, session: str | None, previous: str | None, transcript: str | None) -> str | None:
        """Return the turn before, from whoever knows it; one that holds a secret is not used."""
        found = previous
        if found is None and session is not None:
            found = self._turns.before(session)
        if found is None and transcript is not None:
            found = last_prompt(transcript, asked)
        return usable(found) or None if found is not None else None

    def _pinned(self, project: str | None) -> list[Hit]:
        places = None if project is None else json.dumps(self._reader.projects(project))
        scope = Scope(projects=places)
        with self._reader.snapshot():
            rows = self._reader.rows(sql.PINNED, {**scope._asdict(), "many": START_MAX})
            found = [Match(seq, name, 0.0, {}, ()) for seq, name in rows]
            learnings = hits.learnings(self._reader.rows, [match.seq for match in found], scope.at)
            chains = hits.Chains(self._reader.rows, [match.id for match in found], scope.at)
        return [hits.hit(learnings[match.seq], chains, 0.0, (), titles=False) for match in found]

    def _subjects(self, project: str | None) -> list[str]:
        """Return what this project's last prompts were about, as far as somebody remembers."""
        if project is None:
            return []
        return [word for one in self._exposures.recent(project, 3) for word in one.keywords[:8]]

    def _today(self) -> str:
        return time_text(self._clock())[:10]


def days_kept(reader: Reader) -> int:
    """Return after how many days an exposure is forgotten; what was set for this machine goes first."""
    found = reader.rows(sql.SETTINGS, {})
    machine = None
    if any(scope == "machine" for _, scope, _, _ in found):
        from ledger.place import machine_id

        try:
            machine = machine_id(reader.path, is_dry=True)
        except FileFault:
            machine = None  # nobody can have set anything for a machine that has no name
    return exposure_days(found, machine)


def usable(text: str) -> str | None:
    """Return what is used of a prompt: bounded, without what is private; None when there is a secret in it."""
    found = bounded(text)
    return None if redact.scrub(found).kinds else without_private(found)


def bounded(text: str) -> str:
    """Return what is looked at of a text of any length: all of it, or its beginning and its end."""
    if len(text) <= PROMPT_CHARS:
        return text
    half = PROMPT_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


def without_private(text: str) -> str:
    """Return a text without its `<private>` regions; one that is never closed goes on to the end."""
    if "<private>" not in text.lower():
        return text
    return re.sub(r"(?is)<private>.*?(?:</private>|\Z)", " ", text)


def branch_words(branch: str | None) -> list[str]:
    """Return the words of a branch's name that may say what is worked on."""
    words = re.split(r"[^\w.]+|_", branch or "")
    return [word for word in words if len(word) > 1 and not word.isdigit() and word.lower() not in NO_SUBJECT]


def last_prompt(path: str, but: str = "") -> str | None:
    """Return the last thing a person typed that names something, from the end of a transcript; None when none is told.

    At most `TAIL_BYTES` are read, of a regular file, without following a link.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return None
        os.lseek(fd, max(0, found.st_size - TAIL_BYTES), os.SEEK_SET)
        data = os.read(fd, TAIL_BYTES)
    except OSError:
        return None
    finally:
        os.close(fd)
    for line in reversed(data.splitlines()):
        text = _typed(line)
        if text and text.strip() != but.strip() and is_subject(text):
            return text
    return None


def _typed(line: bytes) -> str | None:
    """Return the text that a person typed, when that is what a line of a transcript holds."""
    if b'"user"' not in line:
        return None
    try:
        entry = json.loads(line)
        if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isSidechain"):
            return None
        content = entry["message"]["content"]
        if isinstance(content, list):
            content = "\n".join(part["text"] for part in content if part.get("type") == "text")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return content if isinstance(content, str) and content.strip() else None
