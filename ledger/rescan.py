"""Find what an older set of rules let through: in the log, in what was shown, in the queue, in kept start blocks.

Nothing is written but the mark beside the ledger that says how far which rules
have looked; what was found is named by its place and kind, never quoted.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ledger import exposures, handover, redact, sql_log, turns
from ledger.home import head_text
from ledger.model import Event
from ledger.reader import Reader
from ledger.sessions import path_beside as sessions_beside

MARK = ".searched"
"""Ending of the small file that says which rules have looked at the log, up to which event; it may be deleted."""

CHUNK = 1_000
"""Events read at a time."""

QUEUE_BYTES = 4_194_304
"""Most that is read of a file of the queue; what is longer is named as a whole."""

LEDGER, EXPOSURES, QUEUE, SESSIONS, TURNS = "ledger", "exposures", "queue", "sessions", "turns"

SHOWN = "SELECT id, keywords, session, prompt_id, project FROM exposure ORDER BY id"
KEPT = (
    "SELECT rowid, text, project FROM ready ORDER BY cwd",
    "SELECT rowid, project, session FROM session ORDER BY session",
)


TURNS_BEFORE = "SELECT id, text FROM turn WHERE rules < {} ORDER BY id"
"""Turns are scrubbed again as imports go on; these are still to be."""


class Found(NamedTuple):
    """A place that holds a secret, and its kinds; `seq` and `id` of an event, else what names the row or the file."""

    place: str
    seq: int | None
    id: str
    field: str
    kinds: list[str]


class Scanned(NamedTuple):
    """What a scan by rules of `version` found; `events` were looked at; rules `before` had looked last."""

    version: int
    before: int | None
    events: int
    found: list[Found]
    unread: list[str]

    @property
    def seqs(self) -> list[int]:
        """Events of the log to be erased, each once, in order."""
        return sorted({one.seq for one in self.found if one.seq is not None})


def scan(reader: Reader) -> Scanned:
    """Look at everything again by the rules of this program.

    Raises:
        GuardFailed: the redactor could not run.
    """
    before, _ = looked(reader.path, reader.meta()["ledger_id"])
    unread: list[str] = []
    found = list(_log(reader))
    found += _guard(_exposures(reader.path), exposures.FILE, unread)
    found += _guard(_queue(reader.path), handover.FOLDER, unread)
    found += _guard(_sessions(reader.path), os.path.basename(sessions_beside(reader.path)), unread)
    found += _guard(_turns(reader.path), turns.FILE, unread)
    return Scanned(redact.RULES_VERSION, before, reader.head().seq, found, unread)


def looked(path: str, ledger_id: str) -> tuple[int | None, int]:
    """Return which version of the rules looked at a ledger last, and up to which event; (None, 0) when none did."""
    try:
        told = json.loads(head_text(path + MARK) or "{}")
        if told["ledger_id"] == ledger_id and type(told["rules"]) is int and type(told["seq"]) is int:
            return told["rules"], told["seq"]
    except (ValueError, KeyError, TypeError):
        pass
    return None, 0


def keep_mark(path: str, ledger_id: str, done: Scanned) -> None:
    """Remember that the log is clean by these rules; where that cannot be written, it is scanned again another time."""
    if done.seqs:
        return
    text = json.dumps({"ledger_id": ledger_id, "rules": done.version, "seq": done.events})
    try:
        fd = os.open(path + MARK + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(text)
        os.replace(path + MARK + ".new", path + MARK)
    except OSError:
        return


# -- places ------------------------------------------------------------------------------------------------------------


def _log(reader: Reader) -> Iterator[Found]:
    after = 0
    while True:
        events = [Event._make(row) for row in reader.rows(sql_log.EVENTS_LEFT, {"after": after, "limit": CHUNK})]
        for event in events:
            for field, kinds in _of_json(event.body):
                yield Found(LEDGER, event.seq, event.stream, field, kinds)
        if len(events) < CHUNK:
            return
        after = events[-1].seq


def _exposures(path: str) -> Iterator[Found]:
    for name, keywords, *names in _rows(exposures.path_beside(path), SHOWN):
        for field, kinds in (
            *_of_json(keywords),
            *_of_texts(zip(("session", "prompt_id", "project"), names, strict=True)),
        ):
            yield Found(EXPOSURES, None, str(name), field, kinds)


def _sessions(path: str) -> Iterator[Found]:
    for statement, fields in zip(KEPT, (("text", "project"), ("project", "session")), strict=True):
        for row, *texts in _rows(sessions_beside(path), statement):
            for field, kinds in _of_texts(zip(fields, texts, strict=True)):
                yield Found(SESSIONS, None, f"row {row}", field, kinds)


def _queue(path: str) -> Iterator[Found]:
    for one in handover.waiting(path):
        with open(one.path, "rb") as file:
            lines = file.read(QUEUE_BYTES).split(b"\n")
        for number, line in enumerate(lines, 1):
            for field, kinds in _of_json(line.decode("utf-8", "replace")):
                yield Found(QUEUE, None, f"{os.path.basename(one.path)}:{number}", field, kinds)


def _turns(path: str) -> Iterator[Found]:
    for row, text in _rows(turns.path_beside(path), TURNS_BEFORE.format(redact.RULES_VERSION)):
        for field, kinds in _of_texts([("text", text)]):
            yield Found(TURNS, None, str(row), field, kinds)


def _rows(path: str, statement: str) -> list[tuple[Any, ...]]:
    """Return rows of a file beside the ledger, which is only read; none when it is not there."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return []
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=1.0)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def _guard(found: Iterator[Found], name: str, unread: list[str]) -> list[Found]:
    """Return what was found; a place that cannot be read is named."""
    try:
        return list(found)
    except (OSError, sqlite3.Error) as error:
        unread.append(f"{name} ({type(error).__name__})")
        return []


# -- texts -------------------------------------------------------------------------------------------------------------


def _of_json(text: str | bytes | None) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of a JSON text with secrets; what is no JSON is one text."""
    if text is None:
        return
    plain = text if isinstance(text, str) else bytes(text).decode("utf-8", "replace")
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError):
        value = plain
    yield from _of_texts(_leaves(value, ""))


def _of_texts(texts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    for field, text in texts:
        kinds = redact.guarded("what is stored", text).kinds if isinstance(text, str) else ()
        if kinds:
            yield field, sorted(set(kinds))


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a value with the name of its field; names of our own schemas, or numbers."""
    if isinstance(value, str):
        yield name or "text", value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, name or (key if key.isidentifier() and len(key) < 30 else "text"))
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, name)
