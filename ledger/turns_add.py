"""Keep the turns of transcripts beside the ledger, and how far each transcript was read.

A text is scrubbed of private regions, of what this program had shown, and of
secrets, and it is cut, before it is written; when that fails, nothing is. A
turn stands once, by its id: forks and resumed sessions repeat it. A transcript
that grew is read from where the last reading ended; one whose beginning or
whose end of then is another was replaced, and what it said before goes. How far
a file was read is written last (`settle`): a run that was killed reads again.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ledger import door, echo, private, query, redact, sql, turns
from ledger.errors import FileFault, NotFound
from ledger.exposure import rules
from ledger.home import machine_of
from ledger.sessions import moment
from ledger.settings import is_off, projects_off
from ledger.turns import Spoken
from ledger.turns_file import ADD_WORDS, drop, rescrub, writable, writing

if TYPE_CHECKING:
    from ledger.ledger import Ledger

BATCH, BATCH_CHARS = 2_000, 4_000_000
"""Turns that are written in one transaction, a fifth of a second, and most characters that wait for it."""

CAPS = {"person": 8_000, "summary": 8_000, "agent": 2_500, "robot": 2_000, "client": 240, "tool": 240}
"""Characters that are kept of a turn by who speaks: scrubbing a megabyte costs 0.15 s, and tools write most."""

FAILED_CHARS = 1_600
"""Of the output of a tool that failed: half from its beginning, half from its end, where the error stands."""

SPARE_CHARS = 80
"""Scrubbed beyond what is kept, so that no half of a secret is left at the cut."""

WHOLE_FACTOR = 4
"""The output of a tool that failed is scrubbed up to so many times what is kept of it; of a longer one the end goes."""

ENDS_BYTES = 65_536
"""Bytes at the beginning of a transcript, and before the end of what was read, by which it is known again."""

NEVER = 1 << 62
"""The line from which turns are new when none is to be kept."""

BECAME_MAX = 100_000
"""Turns of one run of which it is remembered what was made of their text, as hashes: forks say them again."""

RESCRUB_ROWS = 2_000
"""Most turns that are scrubbed again by one run when the rules that find secrets have grown."""

SOURCES = "SELECT path, id, stamp, next_at, next_line, back_at, back_line, head, tail FROM source ORDER BY path"
NEW_SOURCE = """INSERT INTO source (path, stamp, next_at, next_line, back_at, back_line, head, tail, read_at)
VALUES (:path, '', 0, 1, 0, 1, '', '', :now)"""
MARK = """UPDATE source SET stamp = :stamp, next_at = :next_at, next_line = :next_line, back_at = :back_at,
  back_line = :back_line, head = :head, tail = :tail, read_at = :now WHERE id = :id"""
FROM_LINE = "SELECT id, text FROM turn WHERE source = :source AND line >= :line ORDER BY id"
KNOWN = """SELECT t.uuid, t.source, t.text FROM json_each(:uuids) AS j JOIN turn AS t ON t.uuid = j.value
UNION ALL SELECT g.uuid, NULL, NULL FROM json_each(:uuids) AS j JOIN gone AS g ON g.uuid = j.value ORDER BY 1"""
"""Turns of these ids that are kept, and ids that were erased."""
LAST = "SELECT coalesce(max(id), 0) FROM turn"
KEPT = "SELECT name, value FROM kept ORDER BY name"
KEEP_MARK = """INSERT INTO kept (name, value) VALUES ('mark', :mark)
ON CONFLICT (name) DO UPDATE SET value = excluded.value"""
UNREAD = "UPDATE source SET stamp = '', next_at = 0, next_line = 1, back_at = 0, back_line = 1"
ADD = """INSERT INTO turn (id, uuid, source, line, session, project, at, who, is_aside, is_error, is_cut, text, rules)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class Start(NamedTuple):
    """Where a transcript is read from: a byte, its line, and the first line whose turns are new.

    Those between were read before; they stand there for whoever needs what came before.
    """

    at: int
    line: int
    fresh: int


class Source(NamedTuple):
    """A transcript and how far it was read; `stamp` tells whether it changed, head and tail whether it was replaced."""

    id: int
    stamp: str
    next_at: int
    next_line: int
    back_at: int
    back_line: int
    head: str
    tail: str


class Book:
    """The turns of one run of an import, on their way into the file, which is opened for the first transcript.

    Where it cannot be opened then, `remarks` says so, and transcripts are read without it: an import of learnings
    does not fail for its sake. Later, whatever writes raises `FileFault` when it no longer can, and `GuardFailed`
    when a text could not be scrubbed: what was written before stands, and nothing of that batch was written.
    """

    def __init__(
        self,
        ledger: str,
        project_of: Callable[[str], str | None],
        now: float,
        markers: Mapping[str, str] | None = None,
        *,
        version: str = "1",
        is_off: Callable[[str], bool] = lambda project: False,
        whole: bool = False,
        holds: Callable[[str], bool] = lambda mark: True,
    ) -> None:
        """Take what is needed to fill the file.

        Args:
            project_of: gives the project of a folder that a session worked in.
            markers: what begins and ends private regions, beside `<private>`.
            version: of what is made of a transcript; with another one than the last, it is read anew.
            is_off: tells whether a project is switched off, which feeds nothing.
            whole: read every transcript from its beginning.
            holds: tells whether the ledger still holds the mark that was left with `settle`.
        """
        self.path = turns.path_beside(ledger)
        self.added = 0
        self.remarks: list[str] = []
        self._project_of, self._now, self._markers = project_of, moment(now), markers
        self._projects: dict[str, str | None] = {}
        self._became: dict[int, int] = {}
        self._version, self._whole = version, whole
        self._batch: list[tuple[int, Spoken]] = []
        self._chars = 0
        self._marks: list[dict[str, object]] = []
        self._holds, self._feeds_nothing = holds, is_off
        self._source, self._stamped = 0, ""
        self._sources: dict[str, Source] = {}
        self._since: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_shut = False
        self._rules = 0

    def __enter__(self) -> "Book":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._connection is not None:
            self._connection.close()

    # -- one transcript ----------------------------------------------------------------------------------------------

    def is_unchanged(self, path: str) -> bool:
        """Tell whether a transcript is as it was when it was read, by size, time and number of the file."""
        known = self._sources.get(_plain(path)) if self._opened() is not None else None
        if known is None or self._whole:
            return False
        try:
            return self._stamp(os.stat(path)) == known.stamp
        except OSError:
            return False

    def begins(self, path: str, stream: BinaryIO) -> Start:
        """Return where to read a transcript from that is open; its turns follow, until `ends`."""
        connection = self._opened()
        if connection is None:
            return Start(0, 1, NEVER)
        try:
            known = self._sources.get(_plain(path)) or self._new(connection, _plain(path))
            if known.next_at and not (known.stamp.startswith(f"{self._version}:") and _is_same(stream, known)):
                known = known._replace(next_at=0, next_line=1, back_at=0, back_line=1)
            # Of before the reading: what is written meanwhile is looked for again.
            self._source, self._stamped = known.id, self._stamp(os.fstat(stream.fileno()))
            with writing(connection):
                binds = {"source": known.id, "line": known.next_line}
                drop(connection, connection.execute(FROM_LINE, binds).fetchall())
        except (sqlite3.Error, OSError) as error:
            raise turns.fault(self.path, error) from None
        if self._whole:
            return Start(0, 1, known.next_line)
        return Start(known.back_at, known.back_line, known.next_line)

    def add(self, turn: Spoken) -> None:
        """Keep a turn."""
        self._batch.append((self._source, turn))
        self._chars += len(turn.text)
        if len(self._batch) >= BATCH or self._chars >= BATCH_CHARS:
            self._write()

    def ends(self, path: str, stream: BinaryIO, next_place: tuple[int, int], back_place: tuple[int, int]) -> None:
        """Note how far the transcript was read; it counts once the run is settled."""
        if self._is_shut:
            return
        self._write()
        self._marks.append({
            "id": self._source, "stamp": self._stamped, "now": self._now,
            "next_at": next_place[0], "next_line": next_place[1], "back_at": back_place[0], "back_line": back_place[1],
            "head": _digest(stream, 0, min(ENDS_BYTES, next_place[0])),
            "tail": _digest(stream, max(0, next_place[0] - ENDS_BYTES), next_place[0]),
        })  # fmt: skip

    def settle(self, mark: str = "") -> None:
        """Write down how far the transcripts of this run were read, once what was made of them is in the ledger.

        `mark` says what the ledger held then: without it, or in another ledger, all is read again.
        """
        if self._connection is None:
            return
        try:
            with writing(self._connection):
                self._connection.executemany(MARK, self._marks)
                self._connection.execute(KEEP_MARK, {"mark": mark})
        except sqlite3.Error as error:
            raise turns.fault(self.path, error) from None
        self._marks.clear()

    # -- writing -----------------------------------------------------------------------------------------------------

    def _stamp(self, found: os.stat_result) -> str:
        return f"{self._version}:{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"

    def _opened(self) -> sqlite3.Connection | None:
        """Return the file, opened and looked through the first time; None when it cannot be used."""
        if self._connection is None and not self._is_shut:
            try:
                self._connection = self._made()
            except FileFault as error:
                self._is_shut = True
                self.remarks.append(f"the session index was not filled: {error}")
        return self._connection

    def _made(self) -> sqlite3.Connection:
        """Open the file, made where it is missing; scrub what older rules let through, and read how far all is read.

        In another ledger than the one that was written last, or an older copy of it, every transcript is read from its
        beginning.
        """
        connection = writable(self.path, self.remarks)
        try:
            rescrub(connection, RESCRUB_ROWS)
            kept = dict(connection.execute(KEPT).fetchall())
            if "mark" in kept and not self._holds(kept["mark"]):
                connection.execute(UNREAD)
            self._since, self._rules = kept.get("since"), rules()
            self._sources = {row[0]: Source(*row[1:]) for row in connection.execute(SOURCES).fetchall()}
        except sqlite3.Error as error:
            connection.close()
            raise turns.fault(self.path, error) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _new(self, connection: sqlite3.Connection, path: str) -> Source:
        done = connection.execute(NEW_SOURCE, {"path": path, "now": self._now})
        self._sources[path] = made = Source(int(done.lastrowid or 0), "", 0, 1, 0, 1, "", "")
        return made

    def _write(self) -> None:
        """Write the turns that wait, in one transaction."""
        waiting, self._batch, self._chars = self._batch, [], 0
        connection = self._connection
        if not waiting or connection is None:
            return
        try:
            with writing(connection):
                named = [(name(turn.uuid), source, turn) for source, turn in waiting]
                known = _Known(
                    connection.execute(KNOWN, {"uuids": json.dumps([uuid for uuid, *_ in named])}).fetchall()
                )
                (last,) = connection.execute(LAST).fetchone()
                rows = list(self._rows(named, known, last))
                connection.executemany(ADD, rows)
                connection.executemany(ADD_WORDS, [(row[0], query.indexed(str(row[11]))) for row in rows])
        except sqlite3.Error as error:
            raise turns.fault(self.path, error) from None
        self.added += len(rows)

    def _rows(
        self, named: Iterable[tuple[str, int, Spoken]], known: "_Known", last: int
    ) -> Iterator[tuple[object, ...]]:
        """Yield the rows of turns that have a text, are not older than what is kept, and are not kept already."""
        for uuid, source, turn in named:
            if self._since is not None and (turn.at or self._now) < self._since:
                continue
            project = self._project(turn.cwd)
            if (project is not None and self._feeds_nothing(project)) or known.has(uuid, source):
                continue
            raw = hash((turn.who, turn.text, turn.is_error))
            if known.holds(uuid, self._became.get(raw)):
                continue
            text, is_cut = kept(turn.who, turn.text, turn.is_error, self._markers)
            self._note(raw, text)
            if text and known.takes(uuid, source, text):
                last += 1
                yield (
                    last, uuid, source, turn.line, name(turn.session), project, turn.at, turn.who,
                    int(turn.is_aside), int(turn.is_error), int(is_cut), text, self._rules,
                )  # fmt: skip

    def _note(self, raw: int, text: str) -> None:
        """Remember what a text became, by Python's own hashes, which are others in each process."""
        if len(self._became) >= BECAME_MAX:
            self._became.clear()
        self._became[raw] = hash(text)

    def _project(self, cwd: str | None) -> str | None:
        if cwd is None:
            return None
        if cwd not in self._projects:
            self._projects[cwd] = self._project_of(cwd)
        return self._projects[cwd]


def book_of(
    path: str,
    ledger: "Ledger | None",
    project_of: Callable[[str], str | None],
    now: float,
    version: int,
    *,
    whole: bool,
) -> Book:
    """Return the book of an import into the ledger at a path (None when it is yet to be made); `mark_of` it settles it.

    What decides which turns are kept, and what is made of them, is a part of the version: a transcript whose project
    was switched off is read anew when that is taken back.
    """
    settings = [] if ledger is None else ledger.reader.rows(sql.SETTINGS, {})
    machine = None if ledger is None else machine_of(path)
    markers = {} if ledger is None else ledger.private_markers
    told = json.dumps([sorted(projects_off(settings, machine)), sorted(markers.items())])
    stamp = f"{version}-{hashlib.sha256(told.encode()).hexdigest()[:8]}"

    def off(project: str) -> bool:
        return is_off(settings, machine, project)

    def holds(mark: str) -> bool:
        ledger_id, _, place_in_log = mark.partition(":")
        seq, _, digest = place_in_log.partition(":")
        if ledger is None or ledger_id != ledger.store.ledger_id or not seq.isdigit():
            return False
        try:
            return int(seq) == 0 or ledger.store.event(int(seq)).hash.hex() == digest
        except NotFound:
            return False

    return Book(path, project_of, now, markers, version=stamp, is_off=off, whole=whole, holds=holds)


def mark_of(ledger: "Ledger") -> str:
    """Return what tells a ledger and how far it is from another, or from an older copy of it."""
    head = ledger.store.head()
    return f"{ledger.store.ledger_id}:{head.seq}:{head.hash.hex()}"


# -- texts -------------------------------------------------------------------------------------------------------------


def kept(who: str, text: str, is_error: bool, markers: Mapping[str, str] | None) -> tuple[str, bool]:
    """Return a turn's text as it may be kept, and whether it was cut; '' when nothing is left.

    Private regions go before the cut, which may take the end of one.

    Raises:
        GuardFailed: it could not be scrubbed.
    """
    text = private.without(echo.cut(text), markers)
    has_ends = is_error and who == "tool"
    cap = FAILED_CHARS if has_ends else CAPS[who]
    most = cap * WHOLE_FACTOR if has_ends else cap + SPARE_CHARS
    part = text if len(text) <= most else _headed(text, most)
    clean, _ = door.text("a turn", part.replace("\0", ""), most, required=False, markers=markers)
    if len(clean) <= cap and part is text:
        return clean, False
    if has_ends and len(clean) > cap:
        return f"{_headed(clean, cap // 2)}\n…\n{clean[-cap // 2 :].partition(' ')[2]}", True
    return _headed(clean, cap) + " …", True


def _headed(text: str, most: int) -> str:
    """Return the beginning of a text, up to the end of a word where there is one in the last fifth."""
    head = text[:most]
    at = max(head.rfind(" "), head.rfind("\n"))
    return head[:at] if at >= most * 4 // 5 else head


class _Known:
    """Which turns are kept: one that a fork or a resumed session wrote again is the same, with its id and its text.

    Another text under an id of another transcript is another turn: nobody hides what was said by using an id again.
    """

    def __init__(self, rows: Iterable[tuple[str, int | None, str | None]]) -> None:
        self._gone: set[str] = set()
        self._places: set[tuple[str, int]] = set()
        self._texts: set[tuple[str, str]] = set()
        self._hashes: set[tuple[str, int]] = set()
        for uuid, source, text in rows:
            if source is None or text is None:
                self._gone.add(uuid)
            else:
                self._places.add((uuid, source))
                self._note(uuid, text)

    def has(self, uuid: str, source: int) -> bool:
        """Tell whether an id was erased, or is one of this transcript already."""
        return uuid in self._gone or (uuid, source) in self._places

    def takes(self, uuid: str, source: int, text: str) -> bool:
        """Note a turn; False when it is kept from another transcript."""
        if (uuid, text) in self._texts:
            return False
        self._places.add((uuid, source))
        self._note(uuid, text)
        return True

    def holds(self, uuid: str, hashed: int | None) -> bool:
        """Tell whether an id is kept with a text of this hash, from another transcript."""
        return (uuid, hashed) in self._hashes

    def _note(self, uuid: str, text: str) -> None:
        self._texts.add((uuid, text))
        self._hashes.add((uuid, hash(text)))


def name(text: str) -> str:
    """Return an id or a session's name as it may be kept: a UUID as it is, anything else without secrets."""
    if len(text) == 36 and text[8:24:5] == "----" and not text.strip("0123456789abcdefABCDEF-"):
        return text
    return redact.guarded("a turn's name", text).text


def _plain(path: str) -> str:
    """Return a path as SQLite can hold it: bytes that are no text have a mark in their place."""
    return path.encode("utf-8", "replace").decode()


# -- files -------------------------------------------------------------------------------------------------------------


def _is_same(stream: BinaryIO, known: Source) -> bool:
    """Tell whether an open transcript still begins as it did, and holds what stood where its reading ended."""
    if os.fstat(stream.fileno()).st_size < known.next_at:
        return False
    head = _digest(stream, 0, min(ENDS_BYTES, known.next_at))
    return head == known.head and _digest(stream, max(0, known.next_at - ENDS_BYTES), known.next_at) == known.tail


def _digest(stream: BinaryIO, begin: int, end: int) -> str:
    """Return a digest of a part of an open file; it stands where it stood."""
    at = stream.tell()
    stream.seek(begin)
    digest = hashlib.sha256(stream.read(end - begin)).hexdigest()
    stream.seek(at)
    return digest
