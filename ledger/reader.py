"""Open a ledger file for reading, and answer questions about what is true, or was.

Nothing here writes, or imports what writes. Every statement is fetched whole, and
all statements of one answer see one state of the file.
Lean path: stdlib only; what only `show`, `history` and their like need is imported there.
"""

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ledger import answer, hits, query, rank, search, sql
from ledger.answer import Answer, Conflict, HistoryEvent, Hit, Listing, Near, Row, Summary
from ledger.erasures import LIST, listed, refuse
from ledger.errors import (
    BadArgument,
    Damaged,
    FileFault,
    GuardFailed,
    LedgerError,
    Locked,
    NewerSchema,
    NotALedger,
    OlderSchema,
    ReadOnly,
    StaleProjection,
    UnknownCategory,
)
from ledger.home import is_whole, uri_to_read
from ledger.model import CATEGORIES, EVERYWHERE, PREFIX_CHARS, STATES, SUMMARY_HOURS, Head
from ledger.query import Query
from ledger.search import Match, Scope, Weighed
from ledger.settings import names_of

if TYPE_CHECKING:
    from ledger import space

NO_ROOM_TO_READ = (sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP)
"""What SQLite says in WAL mode when a full disk has no room for the file that it makes beside it even to read."""

POOL_MIN = 30
"""Fewest candidates that are put in their final order, whatever the limit."""


def open_reader(path: str, busy_ms: int = 2_000) -> "Reader":
    """Open the ledger file at `path` for reading.

    Read-write with `query_only`, because the file of a killed writer needs its
    journal rolled back by whoever opens it next. SQLite itself goes back to
    read-only where the file allows no more.

    Raises:
        NotALedger, NewerSchema, OlderSchema, StaleProjection, ReadOnly, Locked, Damaged: as their names say.
    """
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        raise NotALedger(f"there is no ledger at {path}", "make one with `learnings init`")
    reader = Reader(_connect(path, busy_ms), path)
    try:
        reader.recognise()
    except BaseException:
        reader.close()
        raise
    return reader


def _connect(path: str, busy_ms: int) -> sqlite3.Connection:
    """Open the file and read its first page; raise in this project's words."""
    try:
        return _opened(uri_to_read(path), busy_ms)
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code not in NO_ROOM_TO_READ or not is_whole(path):
            raise fault(error, path) from error
    try:
        return _opened(uri_to_read(path, is_at_rest=True), busy_ms)
    except sqlite3.Error as error:
        raise fault(error, path) from error


def _opened(uri: str, busy_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=busy_ms / 1_000, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA query_only = 1").fetchall()
        connection.execute("PRAGMA cache_size = -16000").fetchall()
        connection.execute(sql.FILE_IDENTITY).fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def fault(error: Exception, path: str) -> LedgerError:
    """Return this project's error for one of SQLite; its text is left out, since it may quote what was bound."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Locked(f"{path} is locked by another process", "try again when its writer has finished")
    if code == sqlite3.SQLITE_NOTADB:
        return NotALedger(f"{path} is not a ledger", "name a file that `learnings init` made")
    if code == sqlite3.SQLITE_CANTOPEN:
        return ReadOnly(f"{path} cannot be opened", "you need read access to the file and to its folder")
    if code == sqlite3.SQLITE_READONLY:
        return ReadOnly(
            f"{path} cannot be written, and a killed writer left a journal that has to be rolled back first",
            "run any command once as the owner of the file",
        )
    if code == sqlite3.SQLITE_CORRUPT:
        return Damaged(f"{path} is damaged", "run `learnings verify`, or take the last backup")
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return FileFault(f"{path} cannot be read ({name})", "run `learnings verify`")


class Reader:
    """Answers questions over one connection; calls must not overlap.

    Works as well inside the open transaction of a writer's connection, and then
    sees what that transaction has done so far.
    """

    def __init__(self, connection: sqlite3.Connection, path: str = "the ledger") -> None:
        self._connection = connection
        self.stems = search.Stems()
        self.path = path
        self.stays = False
        self._spaces: space.Spaces | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.stems.close()
        self._connection.close()

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, for whoever bounds what it sees (`fence.py`)."""
        return self._connection

    def rows(self, statement: str, binds: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run a statement of `sql.py` and return every row.

        Raises:
            Locked, NotALedger, ReadOnly, Damaged, FileFault: what SQLite said, in this project's words.
        """
        try:
            cursor = self._connection.cursor()
            cursor.row_factory = None
            return cursor.execute(statement, binds).fetchall()
        except self._connection.Error as error:
            raise fault(error, self.path) from error

    def snapshot(self) -> "Snapshot":
        """Return a context in which all statements see one state of the file."""
        return Snapshot(self._connection)

    # -- the file ------------------------------------------------------------------------------------------------------

    def recognise(self) -> None:
        """Check that this is a ledger whose projections this program can read.

        Raises:
            NotALedger, NewerSchema, OlderSchema, StaleProjection: as their names say.
        """
        application, schema = self.rows(sql.FILE_IDENTITY, {})[0]
        if application != sql.APPLICATION_ID:
            raise NotALedger(f"{self.path} is not a ledger", "name a file that `learnings init` made")
        if schema > sql.SCHEMA_VERSION:
            raise NewerSchema(f"the schema of {self.path}", str(schema), str(sql.SCHEMA_VERSION))
        if schema < sql.SCHEMA_VERSION:
            raise OlderSchema(str(schema), str(sql.SCHEMA_VERSION))
        found = self.rows(sql.PROJECTION, {})
        version = found[0][0] if found else 0
        if version > sql.PROJECTION_VERSION:
            raise NewerSchema(f"the projection of {self.path}", str(version), str(sql.PROJECTION_VERSION))
        if version < sql.PROJECTION_VERSION:
            raise StaleProjection(
                f"the projection of {self.path} is of version {version}, this program reads {sql.PROJECTION_VERSION}",
                "run `learnings rebuild`; the log itself is untouched",
            )
        self._check_erased()

    def _check_erased(self) -> None:
        """Refuse an older copy that holds what was erased since; one look for a file where nothing ever was.

        Raises:
            Unerased: it holds some. FileFault: what was erased is not known.
        """
        if not os.path.lexists(self.path + LIST):
            return
        seqs = listed(self.path, self.meta()["ledger_id"])
        found = [seq for (seq,) in self.rows(sql.UNERASED, {"seqs": json.dumps(seqs)})] if seqs else []
        if found:
            raise refuse(self.path, found)

    def head(self) -> Head:
        """Return the end of the log; seq 0 and no hash when it is empty."""
        found = self.rows(sql.HEAD, {})
        return Head(*found[0]) if found else Head(0, b"")

    def meta(self) -> dict[str, Any]:
        """Return {ledger_id, format}."""
        ledger_id, form = self.rows(sql.META, {})[0]
        return {"ledger_id": ledger_id, "format": form}

    def seq_at(self, when: str) -> int:
        """Return the last seq recorded at or before `when`, 0 when there is none.

        `when` is a date or an ISO-8601 time, UTC unless it has an offset; it
        stands for the whole of its last unit: a date for its day, minutes for
        their minute, seconds for their second.

        Raises:
            BadArgument: it is no such time.
        """
        from ledger import browse

        return browse.seq_at(self, when)

    def projects(self, name: str) -> list[str]:
        """Return every name whose learnings hold in a project: its own, its aliases, and `*`.

        An alias counts in both directions (`settings.names_of`).
        """
        held = (value for (value,) in self.rows(sql.PROJECT_ALIASES, {}))
        return [*sorted(names_of(_bindable(name), held)), EVERYWHERE]

    def imported_paths(self) -> list[str]:
        """Return the paths of earlier imports of notes of which something is left, sorted."""
        return [path for (path,) in self.rows(sql.IMPORTED_PATHS, {})]

    def _places(self, project: str | None) -> str | None:
        return None if project is None else json.dumps(self.projects(project))

    def space(self, scope: Scope) -> "space.Space":
        """Return the learnings of a scope, kept at hand."""
        from ledger import space

        if self._spaces is None:
            self._spaces = space.Spaces()
        return self._spaces.of(self, scope)

    def summary(
        self, project: str, within_hours: int = SUMMARY_HOURS, *, as_of: int | None = None, now: float | None = None
    ) -> Summary | None:
        """Return the newest summary of a project's sessions, None when there is none that young.

        Args:
            as_of: the newest one at this seq; the hours count from when that was.
            now: seconds since 1970 that the hours count from otherwise, instead of the clock's.
        """
        from ledger import browse

        return browse.summary(self, project, within_hours, as_of, now)

    # -- questions -----------------------------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        *,
        project: str | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        trust: int | None = None,
        as_of: int | None = None,
        include_superseded: bool = False,
        limit: int = 10,
        explain: bool = False,
        previous: str | None = None,
    ) -> Answer:
        """Return the learnings that `text` asks for, best first; any text is legal.

        Args:
            project: serve learnings of this project and those that hold everywhere; None serves every project.
            tags: serve learnings that have all of these.
            trust: the least trust to serve.
            as_of: what was true at this seq; scores are of today.
            include_superseded: serve superseded learnings as well, as hits of their own.
            explain: say in `parts` and `plan` what was looked for and found.
            previous: the turn before, for a text that refers to it.

        A text without any informative word lists the newest learnings, score 0; so
        does one that finds nothing, when a category or tag says what is wanted.

        Raises:
            BadArgument, UnknownCategory: an argument is out of range.
        """
        _check_range("limit", limit, 1, answer.LIMIT_MAX)
        scope = _scope(self._places(project), category, tags, trust, as_of)
        asked = query.build(text, category)
        with self.snapshot():
            weighed = Weighed([], [], {}, worded=False)
            if asked.terms and not include_superseded:
                weighed = self._weighed(text, scope, previous)
            if weighed.worded and len(weighed.best) > limit and not explain:
                best, rows, more, words = weighed.best, weighed.rows, True, None
            else:
                best, rows, more, words = self._by_words(asked, scope, limit, include_superseded, tags, weighed)
            shown = self._hits(best[:limit], rows, scope.at, include_superseded)
            if explain and words is not None:
                from ledger import browse

                shown = browse.explained(self, shown, best, words)
        fitting = answer.fitting(shown)
        truncated = more or len(fitting) < len(shown) or any(hit.cut for hit in fitting)
        plan = None
        if explain and words is not None:
            plan = {"kept": list(words.plan.kept), "dropped": list(words.plan.dropped)}
        return Answer(fitting, truncated, as_of, plan)

    def _by_words(
        self, asked: Query, scope: Scope, limit: int, superseded: bool, tags: Sequence[str], weighed: Weighed
    ) -> "tuple[list[Match], dict[int, hits.Learning], bool, search.Words]":
        """Return what was weighed, then what only shares words, in their order; rows; whether there is more; the words.

        A score of what was weighed is a probability; the scores of the rest continue below it.
        """
        words = search.look_up(self.rows, self.stems, asked.terms or asked.filler, scope.at)
        found = search.matches(self.rows, words, scope, max(3 * limit, POOL_MIN), superseded)
        if not found and (not asked.terms or scope.category is not None or tags):
            found = self._newest(scope, "current", limit + 1)
            return found, hits.learnings(self.rows, [match.seq for match in found], scope.at), len(found) > limit, words
        rows = weighed.rows | hits.learnings(self.rows, [m.seq for m in found if m.seq not in weighed.rows], scope.at)
        best = search.final_order(found, rows, asked.terms)
        if weighed.best and (words.plan.kept or not words.plan.dropped):
            best = search.merged(weighed, best)
        elif not superseded:
            from ledger import choose

            best = choose.copies_last(self, best, rows)
        return best, rows, len(best) > limit, words

    def _weighed(self, text: str, scope: Scope, previous: str | None) -> Weighed:
        """Return what a text may mean, by words and by meaning; what means little and shares no word is left out."""
        from ledger import choose, prompt

        asked = prompt.read(text, scope.category)
        try:
            order = choose.ranked(self, asked, scope, previous)
        except GuardFailed:
            return Weighed([], [], {}, worded=False)  # without the gate's numbers words go alone; `stats` says so
        terms = len({term for clause in asked.clauses for term in clause.terms})
        best: list[Match] = []
        copies: list[Match] = []
        for one in order.ranked:
            if one.matched or (asked.silence is None and choose.means(one, terms)):
                match = Match(one.seq, one.id, one.probability, {}, one.via)
                (copies if one.is_copy else best).append(match)
        return Weighed(best, copies, order.rows, any(one.matched for one in order.ranked))

    def _newest(self, scope: Scope, state: str, many: int, before: int = sql.NOW) -> list[Match]:
        """Return the newest learnings of a state that pass the filters."""
        found: list[tuple[Any, ...]] = []
        binds = {**scope._asdict(), "state": state, "many": many, "before": before, "page": search.PAGE}
        if scope.projects is None:
            found = self.rows(sql.NEWEST, binds)
        while scope.projects is not None and len(found) < many:
            seqs = [seq for (seq,) in self.rows(sql.PROJECT_SEQS, binds)]
            if not seqs:
                break
            found += self.rows(sql.NEWEST_AMONG, {**binds, "seqs": json.dumps(seqs)})
            binds.update(before=seqs[-1], page=4 * binds["page"])
        return [Match(seq, name, 0.0, {}, ()) for seq, name in found[:many]]

    def _hits(
        self, matches: Sequence[Match], rows: Mapping[int, hits.Learning], at: int, titles: bool = False
    ) -> list[Hit]:
        chains = hits.Chains(self.rows, [rows[match.seq][1] for match in matches], at)
        return [hits.hit(rows[match.seq], chains, match.score, match.via, titles) for match in matches]

    def near(self, problem: str, solution: str, title: str, project: str, limit: int = 5) -> list[Near]:
        """Return current learnings of the project that say something similar, most similar first."""
        from ledger import compare

        with self.snapshot():
            return compare.near(self, self.stems, (title, problem, solution), project, limit)

    def conflicts(self, problem: str, solution: str, title: str, project: str) -> list[Conflict]:
        """Return current learnings of the project on the same subject whose solution has other values."""
        from ledger import compare

        with self.snapshot():
            return compare.conflicts(self, self.stems, (title, problem, solution), project)

    # -- one learning, and lists ---------------------------------------------------------------------------------------

    def resolve(self, prefix: str, minimum: int = PREFIX_CHARS, project: str | None = None) -> str:
        """Return the only id that begins with `prefix`, with or without `lrn_`.

        Raises:
            BadArgument: fewer than `minimum` characters after `lrn_`.
            NotFound: no learning (of the project, or everywhere); names the nearest ids.
            AmbiguousId: several fit.
        """
        from ledger import browse

        return browse.resolve(self, prefix, minimum, project)

    def heads(self, learning_id: str, as_of: int | None = None) -> list[str]:
        """Return the live heads of the chain of `learning_id`, sorted; itself when it is current."""
        at = sql.NOW if as_of is None else as_of
        with self.snapshot():
            links = self.rows(sql.LINKS_ONWARD, {"ids": json.dumps([learning_id]), "at": at})
            ends = json.dumps(sorted({learning_id, *(link[1] for link in links)}))
            live = [row[1] for row in self.rows(sql.LIVE, {**Scope(at=at)._asdict(), "ids": ends})]
        return live if learning_id in live else rank.heads_of([link[:2] for link in links], live).get(learning_id, [])

    def get(self, ids: Sequence[str], project: str | None = None) -> list[Hit]:
        """Return these learnings whole, in the order asked for, whatever their state.

        Raises:
            BadArgument: more than five.
            NotFound, AmbiguousId: an id fits none of the project, or several.
        """
        from ledger import browse

        return browse.get(self, ids, project)

    def show(self, learning_id: str) -> dict[str, Any]:
        """Return everything known of one learning; see `browse.show`."""
        from ledger import browse

        return browse.show(self, learning_id)

    def history(self, learning_id: str) -> list[HistoryEvent]:
        """Return every event that touches a learning, undone ones included, in seq order."""
        from ledger import browse

        return browse.history(self, learning_id)

    def list_learnings(
        self,
        project: str | None = None,
        category: str | None = None,
        state: str = "current",
        limit: int = 20,
        before_seq: int | None = None,
    ) -> Listing:
        """Return learnings of one state without their texts, newest first.

        Raises:
            BadArgument, UnknownCategory: an argument is out of range.
        """
        _check_range("limit", limit, 1, answer.LIMIT_MAX)
        if state not in STATES:
            raise BadArgument("unknown state", "use one of: " + ", ".join(STATES))
        scope = _scope(self._places(project), category, (), None, None)
        before = sql.NOW if before_seq is None else before_seq
        with self.snapshot():
            found = self._newest(scope, state, limit + 1, before)
            rows = hits.learnings(self.rows, [match.seq for match in found[:limit]], scope.at)
        listed = sorted(rows.values(), key=lambda row: -int(row[0]))
        return Listing([_listed(row) for row in listed], len(found) > limit)

    def status(self) -> dict[str, Any]:
        """Return what the ledger holds, counted; see `browse.status`."""
        from ledger import browse

        return browse.status(self)


class Snapshot:
    """A read transaction, unless one is open already."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._mine = not connection.in_transaction

    def __enter__(self) -> None:
        if self._mine:
            self._connection.execute("BEGIN")

    def __exit__(self, *_: object) -> None:
        if self._mine and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _scope(
    projects: str | None, category: str | None, tags: Sequence[str], trust: int | None, as_of: int | None
) -> Scope:
    """Return checked filters, in a form that SQLite can be given."""
    if category is not None and category not in CATEGORIES:
        raise UnknownCategory(CATEGORIES)
    if trust is not None:
        _check_range("trust", trust, 0, 4)
    if as_of is not None:
        _check_range("as_of", as_of, 0, sql.NOW)
    names = [_bindable(tag) for tag in tags]
    return Scope(
        at=sql.NOW if as_of is None else as_of,
        projects=projects,
        category=category,
        trust=trust,
        tags=json.dumps(names) if names else None,
    )


def _listed(learning: hits.Learning) -> Row:
    """Return the row of a list for a row of `sql.LEARNINGS`."""
    seq, name, title, _, _, category, project, _, state, trust, recorded_at, *_ = learning
    return Row(name, title, category, project, state, trust, recorded_at, seq)


def _bindable(text: str) -> str:
    """Return `text` with half surrogates replaced: SQLite cannot be given them, and no stored text holds any."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _check_range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise BadArgument(f"{name} is {value}", f"{name} may be {least} to {most:,}")
