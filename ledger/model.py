"""Plain records and closed vocabularies that every level shares.

Level 0 and lean: a hook imports this on every prompt, so there is nothing here
but the standard library and nothing that reads a file or the environment.
"""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

CATEGORIES = ("practice", "bug-fix", "tool-pref", "pattern", "workflow", "env")
"""The six kinds of learning; a learning has exactly one."""

CONFIDENCES = ("sure", "ambiguous")
"""How sure the category is: `ambiguous` is flagged and still served."""

STATES = ("current", "superseded", "retracted", "candidate", "quarantined", "rejected", "undone")
"""What a learning can be; only `current` is served unless asked for by name."""

CHANNELS = ("cli", "mcp", "import", "hook")
ACTOR_KINDS = ("person", "agent", "importer", "program")

TRUST_PERSON, TRUST_AGENT, TRUST_NOTES, TRUST_FILES, TRUST_INFERRED = 4, 3, 2, 1, 0
"""Trust follows from the channel, never from an argument (docs/explanation/trust.md)."""

EVERYWHERE = "*"
"""The project name that means: holds in every project."""

TITLE_CHARS = 120
PROBLEM_CHARS = 4_000
SOLUTION_CHARS = 16_000
REASON_CHARS = 2_000
PROJECT_CHARS = 200
TAG_CHARS = 60
TAGS_MAX = 20
LOCATOR_CHARS = 4_096
"""Caps in code points. Texts beyond them are refused, not cut: a cut learning
can say the opposite of the whole one. The largest note in a corpus of 269
public memory notes had 11,000 characters."""

SUMMARY_CHARS = 16_000
"""Cap of a session's summary; unlike a learning's text a longer one is cut, at its end."""

SUMMARY_HOURS = 48
"""Hours for which a summary begins the next session of its project."""

ALIAS_CHARS = 60
ALIASES_MAX = 50
"""Caps of the words that find a learning besides its own."""

VERDICTS = ("right", "wrong", "silent")
"""What can be said of an exposure: it helped, it was a mistake, nothing should have been shown."""

SUPERSEDE_MAX = 50
"""Most learnings that one learning may replace at once."""

ID_PREFIX = "lrn_"
ID_CHARS = 26
"""Base32 characters of an id: 130 bits of SHA-256."""

PREFIX_CHARS = 3
"""Fewest characters after `lrn_` that a person may type for an id."""

AGENT_PREFIX_CHARS = 8
"""Fewest characters after `lrn_` over MCP: no collision was seen at 8 among 100,000 ids."""


class Actor(NamedTuple):
    """Who acts, through which channel, with which trust.

    `id` is opaque (a session, a machine); names of people live in payloads.
    """

    kind: str
    channel: str
    trust: int
    id: str | None = None


def person(session: str | None = None) -> Actor:
    """Return a person at the command line."""
    return Actor("person", "cli", TRUST_PERSON, session)


def agent(session: str) -> Actor:
    """Return the agent of one MCP session."""
    return Actor("agent", "mcp", TRUST_AGENT, session)


def hook() -> Actor:
    """Return the client's hooks: what they hand over an agent wrote. No session is named: its id is free text."""
    return Actor("program", "hook", TRUST_NOTES)


def inferred(session: str) -> Actor:
    """Return what infers learnings from one session; `session` is opaque, and tells independent sessions apart."""
    return Actor("program", "hook", TRUST_INFERRED, session)


def importer(trust: int) -> Actor:
    """Return an importer; `trust` is the trust of the place it reads (2 own notes, 1 files of a repository)."""
    return Actor("importer", "import", min(trust, TRUST_NOTES))


def edited() -> Actor:
    """Return an importer that reads what a person changed by hand in a note: their own words, as in a conversation."""
    return Actor("importer", "import", TRUST_AGENT)


class Event(NamedTuple):
    """One row of the log, with its payload.

    `data` and `body` are the stored canonical JSON texts; `body` and `salt`
    are None once erased, and then `erased_by` is the seq that erased them.
    """

    seq: int
    event_id: str
    stream: str
    version: int
    kind: str
    schema_version: int
    recorded_at: str
    actor_kind: str
    actor_id: str | None
    channel: str
    trust: int
    batch: int | None
    data: str
    commitment: bytes
    prev_hash: bytes
    hash: bytes
    body: bytes | None
    salt: bytes | None
    erased_by: int | None


class Head(NamedTuple):
    """The end of the log: the last seq (0 when empty) and its hash (genesis when empty)."""

    seq: int
    hash: bytes


class NewEvent(NamedTuple):
    """An event to append; the store adds seq, version, time, salt and hashes."""

    kind: str
    stream: str
    data: dict[str, Any]
    body: dict[str, Any]
    event_id: str
    schema_version: int = 1
    batch: int | None = None


class Source(NamedTuple):
    """Where a learning was read: a kind, and a locator that finds it again.

    `locator` is what identity hangs on (path, heading, key); `path` and `line`
    say where a person looks, `line` counted from 1.
    """

    kind: str
    locator: str
    path: str | None = None
    line: int | None = None


class Draft(NamedTuple):
    """What somebody wants to have recorded; nothing in it is trusted.

    `title` is derived from `problem` when None. `observed_at` is what the
    source claims about time, ISO-8601 UTC text, None when it claims nothing.
    """

    problem: str
    solution: str
    category: str = "practice"
    project: str = EVERYWHERE
    title: str | None = None
    tags: tuple[str, ...] = ()
    observed_at: str | None = None
    confidence: str = "sure"
    source: Source | None = None


class Found(NamedTuple):
    """A draft read from a source, scrubbed and screened, with the keys that identity hangs on.

    `locator_key` and `content_key` are HMACs with the ledger's key. `findings`
    are what the screen found (rule, severity, reason); any means: store it quarantined.
    `replaces`, `fate` and `origins` are what its source tells of its past, see `Past`.
    """

    draft: Draft
    locator_key: bytes
    content_key: bytes
    findings: tuple[tuple[str, str, str], ...] = ()
    redacted: tuple[str, ...] = ()
    replaces: tuple[bytes, ...] = ()
    fate: str = ""
    origins: tuple[Source, ...] = ()

    @property
    def spot(self) -> tuple[bytes, bytes]:
        """Return what tells this text at this place from every other."""
        return self.locator_key, self.content_key


class KnownLearning(NamedTuple):
    """What the ledger holds of one learning, as far as an import plan needs it.

    `stands_at` are the locator keys of its live sources (source id by key),
    `stood_at` of all it ever had, `undone_at` those of places whose event
    (the creating one, or `source.added`) is undone now, `kept_at` those that
    stand again because a `source.removed` is undone now. `version` is the seq
    of its last touching event. `retract_seq` is the live event of an importer
    that retracted or rejected it, None when there is none, a person made it, or
    a more trusted place.
    `heads` are the live heads of its chain (itself when current) with their
    trust; for one that is not live and that nothing live replaced: the live
    heads of what its creating event names in `supersedes`. `text` is problem
    and solution, to pair edited learnings of one place by likeness.
    `is_refused_above` says that an importer of more trusted places retracted or
    rejected it, which a less trusted place does not take back. `is_restored` says
    that an importer's retraction of it was undone. `merged` are (id, locator key)
    of the places of what a person merged into it: it is said there too.
    """

    id: str
    seq: int
    version: int
    state: str
    trust: int
    content_key: bytes | None
    stands_at: dict[bytes, str]
    stood_at: frozenset[bytes]
    retract_seq: int | None
    heads: tuple[tuple[str, int], ...]
    undone_at: frozenset[bytes] = frozenset()
    kept_at: frozenset[bytes] = frozenset()
    text: str = ""
    is_refused_above: bool = False
    is_restored: bool = False
    merged: tuple[tuple[str, bytes], ...] = ()


class Known(NamedTuple):
    """Everything the ledger holds that a scan may bear on, newest learning first in every list.

    `by_locator` lists, for every locator of the scan (found, whole or gone),
    the learnings that ever stood there; `by_content` those of the same text,
    wherever; `under_roots` those with a live source below the scanned roots;
    `beside` those of their chains that stood at places which are as they were,
    and are therefore no part of the scan.
    """

    by_locator: dict[bytes, list[KnownLearning]]
    by_content: dict[bytes, list[KnownLearning]]
    under_roots: list[KnownLearning]
    blocked: frozenset[bytes]
    trust: int
    beside: Sequence[KnownLearning] = ()


class Scan(NamedTuple):
    """What was read, as locator keys.

    `whole` are the keys of every place read completely, empty places included;
    `gone` those of known places that are no longer there (`plan.vanished`). A
    learning that stands at a place of either, and is not found there, has left it.
    """

    found: list[Found]
    whole: frozenset[bytes]
    gone: frozenset[bytes]


class Change(NamedTuple):
    """One act an import plan asks for.

    `act` is one of record, supersede, propose, retract, add_source,
    remove_source, reject, undo, take_back, withhold. `found` is the draft of record,
    supersede, propose and add_source; `ids` the learnings acted upon (for supersede and
    propose: those replaced; for add_source none means the learning this very
    plan makes of the same content key; for remove_source the learning);
    `seq` the event an undo takes back; `source_id` what remove_source removes.
    `olds` are spots of `Found` whose learnings this very plan makes, and which
    are replaced too. A retract, reject, withhold or take_back (undo of its recording) with
    `found` and no `ids` acts upon the learning this plan makes of it; `joined`
    says that such a change follows, in the same transaction.
    """

    act: str
    found: Found | None = None
    ids: tuple[str, ...] = ()
    seq: int | None = None
    source_id: str | None = None
    olds: tuple[tuple[bytes, bytes], ...] = ()
    joined: bool = False


class Diagnostic(NamedTuple):
    """A remark about an input that cost no neighbour: where, which, and what became of it.

    `line` counts from 1, None when the whole file is meant. `message` never
    quotes the text.
    """

    file: str
    line: int | None
    code: str
    message: str


class SessionText(NamedTuple):
    """The client's own summary of a session: of which session and project, its text, and when it was made."""

    session: str
    project: str
    text: str
    at: str | None


class Past(NamedTuple):
    """What a source says became of its own rows, by locator.

    `replaced` names for a row those that it stands in for. `fates` are the
    states that an export of a ledger tells, of every row of it: such a row is a
    learning of its own, whatever others of it say. `origins` are the places where
    that ledger had read a row; they are told, and identity never hangs on them.
    """

    replaced: Mapping[str, tuple[str, ...]] = {}
    fates: Mapping[str, str] = {}
    origins: Mapping[str, tuple[Source, ...]] = {}


NO_PAST = Past()


class Mark(NamedTuple):
    """How a source was read and what it was then, for the next scan to know it by (`checkpoints`); `items` counts its
    drafts. The digest is that of its content, '' when it was not made; it is keyed before it is written."""

    how: str
    stamp: str
    digest: bytes
    items: int


class Reading(NamedTuple):
    """What an importer read from one kind of source at one trust.

    `importer` names it (`memory-notes`, `export`); `paths` are what was asked
    for; `whole` are the locators of every place read completely; `roots` the
    files and folders covered completely, `unread` those below them that exist
    and could not be read (what stood there has not gone). `project` is the one
    that the caller named for all of it; without it a place that is known keeps
    the project it has. `held` are the locators of drafts that their source
    itself calls sensitive: they are stored, and wait for a person's release.
    `sessions` tells by locator which session a draft was inferred from: what
    independent sessions say is agreement. `summaries` are the client's own.
    `around` holds by locator the turn that a sentence was taken from: a
    private region may begin before it and end behind it.
    `past` is what the source says became of its rows.
    `marks` are what the files were that were read completely and without a
    remark, by path; `passed` counts by path the drafts of sources that were
    not read, because nothing of them had changed (they stand in `unread`).
    `is_part` says that drafts were left out on purpose, such as older ones.
    """

    importer: str
    trust: int
    paths: tuple[str, ...]
    drafts: Sequence[Draft]
    whole: frozenset[str]
    roots: tuple[str, ...]
    unread: tuple[str, ...]
    diagnostics: list[Diagnostic]
    project: str | None = None
    held: frozenset[str] = frozenset()
    sessions: Mapping[str, str] = {}
    summaries: tuple[SessionText, ...] = ()
    around: Mapping[str, str] = {}
    past: Past = NO_PAST
    marks: Mapping[str, Mark] = {}
    passed: Mapping[str, int] = {}
    is_part: bool = False


def plain(value: Any) -> Any:
    """Return `value` with every record turned into a dict, ready for JSON; keys are the field names."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def schema_path(*parts: str) -> str:
    """Return the path of a file below `ledger_schema` (the folder `schema/` of a checkout).

    Raises:
        FileNotFoundError: neither the installed package nor a checkout holds it.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for root in ("ledger_schema", "schema"):
        path = os.path.join(home, root, *parts)
        if os.path.exists(path) and os.path.exists(os.path.join(home, root, "events")):
            return path
    raise FileNotFoundError(f"ledger_schema/{'/'.join(parts)} is missing from this installation")


def learning_id(event_id: str) -> str:
    """Return the id of the learning that the event with this id creates.

    Hashed, not time-ordered: the shortest unique prefix among 5,000 ids made in
    two seconds is 3 to 5 characters instead of 11 to 13.
    """
    import hashlib  # 2 ms that a query does not need

    digest = hashlib.sha256(event_id.encode("ascii")).digest()
    number = int.from_bytes(digest[:17], "big") >> 6
    letters = []
    for _ in range(ID_CHARS):
        letters.append("abcdefghijklmnopqrstuvwxyz234567"[number & 31])
        number >>= 5
    return ID_PREFIX + "".join(reversed(letters))


_last_uuid = (0, 0)


def new_event_id(now_ms: int | None = None) -> str:
    """Return a fresh UUIDv7, monotonic within this process.

    A 12-bit counter orders ids of one millisecond; 62 random bits keep
    processes apart (Python 3.11 has no `uuid.uuid7`).
    """
    global _last_uuid
    ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    last_ms, counter = _last_uuid
    ms = max(ms, last_ms)
    counter = counter + 1 if ms == last_ms else int.from_bytes(os.urandom(1), "big")
    if counter > 0xFFF:
        ms, counter = ms + 1, 0
    _last_uuid = (ms, counter)
    tail = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    number = (ms << 80) | (7 << 76) | (counter << 64) | (2 << 62) | tail
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def derived_title(problem: str) -> str:
    """Return the first sentence or line of `problem`, shortened; never empty for a non-blank text."""
    line = (
        next((part for part in problem.splitlines() if part.strip()), "").strip().lstrip("#->*• \t") or problem.strip()
    )
    for mark in (". ", "! ", "? ", "。"):
        head, found, _ = line.partition(mark)
        if found and len(head) >= 12:
            line = head
    return shortened(line)


def shortened(line: str) -> str:
    """Return a text as one line of at most `TITLE_CHARS` characters, cut at a word where it must be cut."""
    line = " ".join(line.split())
    if len(line) <= TITLE_CHARS:
        return line
    cut = line[: TITLE_CHARS - 1]
    at = cut.rfind(" ")
    return (cut[:at] if at > TITLE_CHARS // 2 else cut) + "…"
