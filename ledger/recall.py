"""What a prompt is shown: a framed block of learnings, or nothing, and the reasons for either.

One path for the hook, the server, the command line: a secret in the prompt ends
it before anything else is done with it; `choose` decides; `frame` shows; the
exposure is remembered, with keywords and never the prompt. The prompts of a
session that came before are kept in this process's memory alone, and so is what a
session was shown while the exposures could not be written.
Lean path: stdlib only.
"""

import json
import os
import re
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger import choose, frame, hits, private, redact, sql
from ledger.answer import BODIES_MAX, LIMIT_MAX, Hit
from ledger.exposure import Exposure, new_id, time_text
from ledger.exposures import Exposures
from ledger.home import machine_of
from ledger.model import EVERYWHERE, TRUST_NOTES
from ledger.prompt import is_subject
from ledger.reader import Reader
from ledger.search import Match, Scope
from ledger.settings import exposure_days, private_markers

if TYPE_CHECKING:
    from ledger.echo import Learned

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

START_FROM = 0.2
"""Least probability at which a learning is about what is worked on: a branch `form` met five at .25 to .01."""

START_STRONGEST = 3
"""Most learnings of a project that a session begins with when nothing tells what is worked on."""

TOLD_MAX = 8
"""Candidates of which an exposure keeps every number."""

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


class Unkept:
    """What each session was shown that could not be remembered in the file; in memory only, as many as of prompts."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, frozenset[str]] = OrderedDict()

    def of(self, session: str | None) -> frozenset[str]:
        """Return the ids."""
        return self._shown.get(session, frozenset()) if session is not None else frozenset()

    def add(self, session: str, ids: Iterable[str]) -> None:
        """Remember ids."""
        self._shown[session] = self.of(session).union(ids)
        self._shown.move_to_end(session)
        while len(self._shown) > SESSIONS_MAX:
            self._shown.popitem(last=False)

    def take_back(self, session: str, ids: Iterable[str]) -> None:
        """Forget that ids were shown."""
        self._shown[session] = self.of(session).difference(ids)

    def forget(self, session: str) -> None:
        """Forget a session that began anew."""
        self._shown.pop(session, None)


class Recall:
    """Recall over one ledger; a server keeps one for its lifetime, a command makes one for its call."""

    def __init__(
        self, reader: Reader, channel: str = "cli", turns: Turns | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._reader, self._channel, self._clock = reader, channel, clock
        self._turns = turns if turns is not None else Turns()
        self._exposures = Exposures(reader.path, reader.meta()["ledger_id"])
        self._unkept = Unkept()

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
        loaded: "Callable[[Sequence[Learned]], frozenset[str]] | None" = None,
    ) -> Recalled:
        """Return what this prompt is shown; any text is legal, and nothing is shown twice in a session.

        Args:
            session: None or '' asks outside any session: everything counts as not shown yet.
            previous: the turn before; else the one that was kept, else the last one of `transcript`.
            loaded: tells which learnings stand in what the client has loaded anyway; they are held back.

        Raises:
            Locked, Damaged, FileFault: the ledger cannot be read. GuardFailed: a rule file of the program cannot be.
        """
        session = session or None
        asked = usable(prompt, markers_of(self._reader))
        if asked is None:
            return self._told(SECRET, session, project, prompt_id)
        before = self._before(asked, session, previous, transcript)
        if session is not None and is_subject(asked):
            self._turns.keep(session, asked)
        seen = self._unkept.of(session)
        if session is not None:
            seen |= self._exposures.shown(session)
        chosen = choose.choose(self._reader, asked, project, before, seen)
        if loaded is not None and chosen.shown:
            chosen = without(chosen, loaded([learned(hit) for hit in chosen.shown]), "loaded")
        return self._told(chosen, session, project, prompt_id)

    def session_start(
        self,
        project: str | None,
        branch: str | None = None,
        session: str | None = None,
        source: str = "startup",
        loaded: "Callable[[Sequence[Learned]], frozenset[str]] | None" = None,
    ) -> Recalled:
        """Return what a session begins with: what a person pinned, and the strongest for what is being worked on.

        What is worked on is told by the branch's name and by what this
        project's last prompts were about; where nothing is pinned either, the most
        trusted of its newest learnings are shown. A session that starts, or whose
        context was cleared or compacted (`source`), may be shown everything again.
        What the client has loaded anyway, as `loaded` tells, is held back.

        Raises:
            Locked, Damaged, FileFault: the ledger cannot be read.
        """
        session = session or None
        held: list[choose.Held] = []

        def news(found: list[Hit]) -> list[Hit]:
            known = loaded([learned(hit) for hit in found]) if loaded is not None and found else frozenset()
            held.extend(choose.Held(hit.id, "loaded") for hit in found if hit.id in known)
            return [hit for hit in found if hit.id not in known]

        if session is not None and source != "resume":
            self._turns.forget(session)
            self._unkept.forget(session)
        words = [*branch_words(usable(branch or "")), *self._subjects(project)]
        with self._reader.snapshot():
            head = self._reader.head()
            found = news(self._pinned(project))
            known = {hit.id for hit in found} | {one.id for one in held}
            found += news([hit for hit in self._worked_on(words, project) if hit.id not in known])
            if not found:
                known = {one.id for one in held}
                found = news([hit for hit in self._strongest(project) if hit.id not in known])[:START_STRONGEST]
        shown = found[:START_MAX]
        held += [choose.Held(hit.id, "cap") for hit in found[START_MAX:]]
        silence = None if shown else "loaded" if held else "nothing-known"
        parts: dict[str, dict[str, float | int]] = {hit.id: {"score": hit.score} for hit in found}
        chosen = choose.Choice(shown, held, parts, silence, choose.versions(self._reader), words, head)
        return self._told(chosen, session, project, None, START_UNITS, is_start=True, anew=source != "resume")

    def unseen(self, session: str | None, found: Recalled) -> None:
        """Forget that something was shown: the answer came too late, and nobody saw it."""
        if found.exposure is not None:
            self._exposures.forget(found.exposure)
        elif session:
            self._unkept.take_back(session, found.ids)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _told(
        self,
        chosen: choose.Choice,
        session: str | None,
        project: str | None,
        prompt_id: str | None,
        budget: int = frame.FRAME_UNITS,
        *,
        is_start: bool = False,
        anew: bool = False,
    ) -> Recalled:
        """Remember what is shown, and answer it; only what was remembered is named in the frame.

        What another call has shown this session since it was chosen is left out
        under the lock of the exposures: of calls that run at once one shows it.
        """
        name, now, head = new_id(), self._clock(), chosen.head or self._reader.head()
        settled: list[tuple[choose.Choice, frame.Framed]] = []

        def settle(seen: frozenset[str], why: str = f"why: learnings why {name}") -> Exposure:
            left = chosen if is_start else without(chosen, seen)
            framed = frame.frame(left.shown, time_text(now)[:10], why, budget, name=name)
            settled[:] = [(left, framed)]
            return Exposure(
                name, time_text(now), session or "", prompt_id, self._channel, project, left.keywords, left.silence,
                framed.ids, [one._asdict() for one in held_back(left, framed)], _parts(left), dict(left.versions),
                head.seq, head.hash.hex(), anew,
            )  # fmt: skip

        is_kept = self._exposures.add(settle, session, now, days_kept(self._reader))
        if not is_kept:
            settle(frozenset(), "")
        left, framed = settled[0]
        if session is not None and not is_kept:
            self._unkept.add(session, framed.ids)
        reasons = {"silence": left.silence, "keywords": left.keywords, "versions": left.versions}
        return Recalled(framed.text, framed.ids, held_back(left, framed), name if is_kept else None, reasons)

    def _before(self, asked: str, session: str | None, previous: str | None, transcript: str | None) -> str | None:
        """Return the turn before, from whoever knows it; one that holds a secret is not used."""
        found = previous
        if found is None and session is not None:
            found = self._turns.before(session)
        if found is None and transcript is not None:
            found = last_prompt(transcript, asked)
        return usable(found, markers_of(self._reader)) or None if found is not None else None

    def _pinned(self, project: str | None) -> list[Hit]:
        places = [EVERYWHERE] if project is None else self._reader.projects(project)
        scope = Scope(projects=json.dumps(places))
        with self._reader.snapshot():
            rows = self._reader.rows(sql.PINNED, {**scope._asdict(), "many": START_MAX})
            found = [Match(seq, name, 0.0, {}, ()) for seq, name in rows]
            learnings = hits.learnings(self._reader.rows, [match.seq for match in found], scope.at)
            chains = hits.Chains(self._reader.rows, [match.id for match in found], scope.at)
        return [hits.hit(learnings[match.seq], chains, 0.0, (), titles=False) for match in found]

    def _worked_on(self, words: list[str], project: str | None) -> list[Hit]:
        """Return what is likely meant by what is worked on."""
        if not words:
            return []
        found = self._reader.query(" ".join(words), project=project, trust=TRUST_NOTES, limit=START_MAX).hits
        return [hit for hit in found if hit.score >= START_FROM]

    def _strongest(self, project: str | None) -> list[Hit]:
        """Return the most trusted of a project's newest learnings: what a first session is shown, and some to spare."""
        if project is None:
            return []
        listed = self._reader.list_learnings(project, limit=LIMIT_MAX).rows
        best = sorted((row for row in listed if row.trust >= TRUST_NOTES), key=lambda row: -row.trust)
        return self._reader.get([row.id for row in best[:BODIES_MAX]]) if best else []

    def _subjects(self, project: str | None) -> list[str]:
        """Return what this project's last prompts were about, as far as somebody remembers."""
        if project is None:
            return []
        return [word for one in self._exposures.recent(project, 3) for word in one.keywords[:8]]


def learned(hit: Hit) -> "Learned":
    """Return a hit as it is compared with what was said."""
    from ledger.echo import Learned

    return Learned(hit.id, hit.title or "", hit.problem or "", hit.solution or "", hit.project or "")


def without(chosen: choose.Choice, seen: frozenset[str], reason: str = "shown-before") -> choose.Choice:
    """Return a choice without what is known already, which is held back."""
    again = [choose.Held(hit.id, reason) for hit in chosen.shown if hit.id in seen]
    if not again:
        return chosen
    shown = [hit for hit in chosen.shown if hit.id not in seen]
    silence = chosen.silence if shown else reason
    return chosen._replace(shown=shown, held=[*again, *chosen.held], silence=silence)


def held_back(chosen: choose.Choice, framed: frame.Framed) -> list[choose.Held]:
    """Return what is not shown: what did not fit, and what was held before that."""
    return [*(choose.Held(hit.id, "budget") for hit in chosen.shown if hit.id not in framed.ids), *chosen.held]


def _parts(chosen: choose.Choice) -> dict[str, dict[str, Any]]:
    """Return the numbers behind each candidate that are not 0, and what led to those that are shown.

    All numbers of the likeliest, the probability of the rest: 3 KiB an exposure and not 18.
    """
    parts: dict[str, dict[str, Any]] = {}
    for place, (one, told) in enumerate(chosen.parts.items()):
        parts[one] = {key: value for key, value in told.items() if value and (place < TOLD_MAX or key == "probability")}
    for hit in chosen.shown:
        if hit.via:
            parts.setdefault(hit.id, {})["via"] = hit.via
    return parts


def days_kept(reader: Reader) -> int:
    """Return after how many days an exposure is forgotten; what was set for this machine goes first."""
    found = reader.rows(sql.SETTINGS, {})
    return exposure_days(found, machine_of(reader.path) if any(other for _, _, other, _ in found) else None)


def markers_of(reader: Reader) -> dict[str, str]:
    """Return what begins and what ends a private region here, beside `<private>`."""
    found = reader.rows(sql.SETTINGS, {})
    return private_markers(found, machine_of(reader.path) if any(other for _, _, other, _ in found) else None)


def usable(text: str, markers: dict[str, str] | None = None) -> str | None:
    """Return what is used of a prompt: bounded, without what is private; None when there is a secret in it.

    Raises:
        GuardFailed: the redactor could not run.
    """
    found = bounded(text)
    return None if redact.guarded("the prompt", found).kinds else private.without(found, markers)


def bounded(text: str) -> str:
    """Return what is looked at of a text of any length: all of it, or its beginning and its end."""
    if len(text) <= PROMPT_CHARS:
        return text
    half = PROMPT_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


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
