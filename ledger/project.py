"""The projector: from events to the tables that are read.

It looks at events and the immutable `meta` row only: no clock, no settings, no
environment, no floats. So a rebuild gives what live appends gave, and a late
follower gets the same. An event closes the open period of what it touches at
its own seq and opens the next one; earlier periods are never edited.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import SQLModel

from ledger import chain, fold, meaning, query, sql, sql_log, tables
from ledger.errors import NewerSchema
from ledger.fold import Act, Flags
from ledger.model import Event

_DIALECT = sqlite_dialect.dialect()

FLUSH = 1_000
"""Events between two writes of kept rows at the latest; a rebuild of 100,000 that kept all of them took 170 MB more."""


def create_statements(rows: Iterable[type[SQLModel]]) -> Iterator[str]:
    """Return the SQLite DDL of these tables and their indexes."""
    for row in rows:
        table = tables.table_of(row)
        yield str(CreateTable(table).compile(dialect=_DIALECT)).strip()
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield str(CreateIndex(index).compile(dialect=_DIALECT))


def insert_text(row: type[SQLModel]) -> str:
    """Return an INSERT of all columns of a table, in their order."""
    table = tables.table_of(row)
    columns = [column.name for column in table.columns]
    marks = ", ".join("?" for _ in columns)
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})"


INSERTS = {tables.name_of(row): insert_text(row) for row in tables.PROJECTION_ROWS}
INSERTS["learning_fts"] = "INSERT INTO learning_fts (rowid, title, problem, solution, tags) VALUES (?, ?, ?, ?, ?)"
INSERTS["vector"] = "INSERT OR REPLACE INTO vector (seq, project, sign, problem, whole) VALUES (?, ?, ?, ?, ?)"
INSERTS["alias_fts"] = "INSERT INTO alias_fts (rowid, words) VALUES (?, ?)"


def create(connection: sqlite3.Connection) -> None:
    """Make the empty projections, with their triggers, index and views."""
    for statement in create_statements(tables.PROJECTION_ROWS):
        connection.execute(statement)
    for statement in (*tables.PROJECTION_TRIGGERS, tables.FTS, tables.FTS_WORDS, tables.FTS_PLACES):
        connection.execute(statement)
    for statement in (tables.ALIAS_FTS, tables.ALIAS_PLACES, *tables.WORD_COUNTS, *tables.VECTORS, *tables.VIEWS):
        connection.execute(statement)
    table = meaning.shared()
    if table is not None:
        connection.execute(sql_log.VECTOR_VERSION, (table.version,))
    connection.execute(INSERTS["projection"], (1, sql.PROJECTION_VERSION, 0))


def create_temporary(connection: sqlite3.Connection) -> None:
    """Make empty projections as temporary tables, which hide those of the file under the same names."""
    for statement in create_statements(tables.PROJECTION_ROWS):
        head, _, rest = statement.partition(" INDEX ")
        if rest:
            connection.execute(f"{head} INDEX temp.{rest}")
        else:
            connection.execute(statement.replace("CREATE TABLE ", "CREATE TABLE temp.", 1))
    connection.execute(tables.FTS.replace("learning_fts", "temp.learning_fts", 1))
    connection.execute(tables.ALIAS_FTS.replace("alias_fts", "temp.alias_fts", 1))
    # It stays empty: vectors are no projection.
    connection.execute(tables.VECTORS[0].replace("CREATE TABLE ", "CREATE TABLE temp.", 1))
    connection.execute(INSERTS["projection"], (1, sql.PROJECTION_VERSION, 0))


def drop(connection: sqlite3.Connection) -> None:
    """Remove the projections of every version so far; the log, and what a person added to the file, stay."""
    for name in tables.VIEW_NAMES:
        connection.execute(f"DROP VIEW IF EXISTS {name}")
    for name in tables.PROJECTION_NAMES:
        connection.execute(f"DROP TABLE IF EXISTS {name}")


def act(event: Event) -> Act:
    """Return an event as the fold sees it."""
    return Act(
        event.seq,
        event.kind,
        event.stream,
        json.loads(event.data),
        event.actor_kind,
        event.trust,
        event.channel,
        event.actor_id,
    )


class Projector:
    """Applies events, in seq order, to the projections of one open transaction.

    Rows that nothing has to look up yet are kept and written together, because
    an import is mostly learnings that touch nothing else.
    """

    def __init__(self, connection: sqlite3.Connection, dedup_key: bytes, vectors: bool = True) -> None:
        self._connection = connection
        self._table = table_of(connection) if vectors else None
        self._key = dedup_key
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in INSERTS}

    def apply(self, events: Iterable[Event]) -> None:
        """Project these events and move the mark.

        Raises:
            NewerSchema: an event is of a kind this program does not know; nothing after it was applied.
        """
        last = 0
        for event in events:
            if event.kind not in fold.STEPS or event.schema_version != 1:
                known = f"{len(fold.STEPS)} kinds of version 1"
                raise NewerSchema(f"event {event.seq}", f"{event.kind} v{event.schema_version}", known)
            self._apply(event)
            last = event.seq
            if last % FLUSH == 0:
                self._flush()
        self._flush()
        if last:
            self._connection.execute(sql_log.MARK, (last,))

    def _apply(self, event: Event) -> None:
        one = act(event)
        if one.kind == "event.undone":
            ids = self._undo(one)
        else:
            ids = fold.names(one)
            if one.kind == "payload.erased":
                self._erase(one)
        self._rows["touch"].extend((name, event.seq) for name in dict.fromkeys(ids))
        if one.kind in fold.CREATING:
            self._create(event, one)
            ids = ids[1:] if one.kind in fold.REPLACING else ()
        elif one.kind == "source.added":
            self._source(event, one)
        elif one.kind == "aliases.derived" and event.body is not None:
            self._rows["alias_fts"].append((event.seq, query.indexed(" ".join(json.loads(event.body)["words"]))))
        if ids:
            self._flush()
            for name in dict.fromkeys(ids):
                self._refold(name, event.seq)

    # -- what an event makes ----------

    def _create(self, event: Event, one: Act) -> None:
        """Write the learning that this event creates, its words, its first period and its source."""
        body = json.loads(event.body) if event.body is not None else None
        texts: list[Any] = [None] * 7
        if body is not None:
            tags = json.dumps(body["tags"], ensure_ascii=False, separators=(",", ":"))
            key = chain.content_key(self._key, body["problem"], body["solution"], body["project"])
            texts = [body["title"], body["problem"], body["solution"], body["project"], tags, body.get("observed_at")]
            texts.append(key)
            self._rows["learning_fts"].append(
                (
                    event.seq,
                    query.indexed(body["title"]),
                    query.indexed(body["problem"]),
                    query.indexed(body["solution"]),
                    query.indexed(" ".join(body["tags"])),
                )
            )
            if self._table is not None:
                row = (event.seq, body["project"], body["title"], body["problem"], body["solution"], body["tags"])
                self._rows["vector"].extend(vectors(self._table, [row]))
        title, problem, solution, project, tags_text, observed_at, content = texts
        category, confidence = one.data["category"], one.data["confidence"]
        self._rows["learning"].append(
            (
                *(event.seq, event.stream, title, problem, solution, category, confidence, project, tags_text),
                *(observed_at, event.recorded_at, event.trust, event.actor_kind, event.channel, event.batch),
                *(content, event.erased_by),
            )
        )
        flags = fold.step(fold.BLANK, one, event.stream)
        self._rows["learning_state"].append((event.stream, event.seq, None, *_period(flags)))
        if one.data.get("source"):
            self._source(event, one)
        if one.kind in fold.REPLACING:
            self._rows["link"].extend((old, event.stream, event.seq, event.seq, None) for old in one.data["supersedes"])

    def _source(self, event: Event, one: Act) -> None:
        """Open the period of the source that an event brings."""
        place = json.loads(event.body)["source"] if event.body is not None else {}
        locator = place.get("locator")
        key = chain.locator_key(self._key, locator) if locator is not None else None
        self._rows["source"].append(
            (
                *(one.data["source"], event.seq, None, one.stream, event.seq),
                *(place.get("kind"), locator, key, place.get("path"), place.get("line")),
            )
        )

    def _erase(self, one: Act) -> None:
        """Take the texts of erased events out of every projection."""
        self._flush()
        for seq in one.data["targets"]:
            for statement in sql_log.EMPTY:
                self._connection.execute(statement, {"seq": seq, "by": one.seq})

    # -- undo ----------

    def _undo(self, one: Act) -> tuple[str, ...]:
        """Open and close the periods of an undo and of all that hangs on it; return every id it touches."""
        self._flush()
        ids: dict[str, None] = {}
        for target in one.data["targets"]:
            for (name,) in self._connection.execute(sql_log.TOUCHED_BY, (target,)).fetchall():
                ids[name] = None
        self._toggle(one.seq, one.data["targets"], one.seq, holds=True)
        return tuple(ids)

    def _toggle(self, undo_seq: int, targets: list[int], at: int, *, holds: bool) -> None:
        """Let an undo hold, or not any more, from `at` on; what it undid, if an undo itself, turns the other way."""
        turned = [(target, undo_seq, holds) for target in targets]
        while turned:  # a loop: an undo undone a thousand times is as deep
            target, by, holds = turned.pop()
            if holds:
                self._connection.execute(INSERTS["undo"], (target, by, at, None))
            else:
                self._close("undo", "target_seq = ? AND undo_seq = ?", at, (target, by))
            row = self._connection.execute(sql_log.UNDO_TARGETS, (target,)).fetchone()
            if row is not None:
                turned += [(below, target, not holds) for below in json.loads(row[0])]

    # -- periods ----------

    def _refold(self, name: str, at: int) -> None:
        """Fold all events that touch `name` again and open new periods where something differs."""
        acts = touching(self._connection, (name,))
        if name.startswith("setting:"):
            self._refold_setting(name, acts, at)
            return
        if name.startswith("exposure:"):
            self._refold_judgements(name, acts, at)
            return
        if name.startswith("summary:"):
            self._refold_summary(name, acts, at)
            return
        flags = fold.fold(name, acts)
        period = _period(flags)
        open_period = self._connection.execute(sql_log.OPEN_STATE, (name,)).fetchone()
        if open_period != period:
            self._close("learning_state", "learning_id = ?", at, (name,))
            self._connection.execute(INSERTS["learning_state"], (name, at, None, *period))
        self._refold_links(name, flags, at)
        self._refold_sources(name, flags, at)
        self._refold_aliases(name, flags, at)
        self._refold_pairs(name, flags, at)

    def _refold_links(self, name: str, flags: Flags, at: int) -> None:
        wanted = set(flags.replaced_by)
        found = {tuple(row) for row in self._connection.execute(sql_log.OPEN_LINKS, (name,)).fetchall()}
        for new_id, seq in sorted(found - wanted):
            self._close("link", "old_id = ? AND new_id = ? AND event_seq = ?", at, (name, new_id, seq))
        for new_id, seq in sorted(wanted - found):
            self._connection.execute(INSERTS["link"], (name, new_id, seq, at, None))

    def _refold_sources(self, name: str, flags: Flags, at: int) -> None:
        found = {row[0] for row in self._connection.execute(sql_log.OPEN_SOURCES, (name,)).fetchall()}
        for source in sorted(found - flags.sources):
            self._close("source", "source_id = ?", at, (source,))
        for source in sorted(flags.sources - found):
            self._connection.execute(sql_log.REOPEN_SOURCE, {"source": source, "at": at})

    def _refold_aliases(self, name: str, flags: Flags, at: int) -> None:
        found = self._connection.execute(sql_log.OPEN_ALIASES, (name,)).fetchone()
        if (found[0] if found is not None else 0) == flags.aliases:
            return
        self._close("alias", "learning_id = ?", at, (name,))
        if flags.aliases:
            body = self._body(flags.aliases)
            words = json.dumps(body["words"], ensure_ascii=False, separators=(",", ":")) if body is not None else None
            self._connection.execute(INSERTS["alias"], (name, at, None, flags.aliases, words))

    def _refold_pairs(self, name: str, flags: Flags, at: int) -> None:
        """Open and close what holds of the pairs of a learning; the other of the two finds it done."""
        rows = self._connection.execute(sql_log.OPEN_PAIRS, {"id": name}).fetchall()
        found = {tuple(row) for row in rows}
        for pair in sorted(found - flags.settled):
            self._close("pair", "one_id = ? AND other_id = ? AND event_seq = ?", at, pair)
        for pair in sorted(flags.settled - found):
            self._connection.execute(INSERTS["pair"], (*pair, at, None))

    def _refold_judgements(self, name: str, acts: list[Act], at: int) -> None:
        exposure = name.partition(":")[2]
        wanted = set(fold.judgements(acts).items())
        found = {tuple(row) for row in self._connection.execute(sql_log.OPEN_JUDGEMENTS, (exposure,)).fetchall()}
        verdicts = {one.seq: one.data.get("verdict") for one in acts}
        for learning, seq in sorted(found - wanted):
            key = (exposure, learning, seq)
            self._close("judgement", "exposure = ? AND learning_id = ? AND event_seq = ?", at, key)
        for learning, seq in sorted(wanted - found):
            body = self._body(seq) or {}
            words = json.dumps(body["keywords"], ensure_ascii=False, separators=(",", ":")) if body else None
            row = (exposure, learning, at, None, seq, verdicts[seq], body.get("project"), words)
            self._connection.execute(INSERTS["judgement"], row)

    def _refold_summary(self, name: str, acts: list[Act], at: int) -> None:
        own = name.partition(":")[2]
        seq = fold.summary_seq(acts)
        found = self._connection.execute(sql_log.OPEN_SUMMARY, (own,)).fetchone()
        if found is not None and found[0] == seq:
            return
        self._close("session_summary", "id = ?", at, (own,))
        if seq is not None:
            body = self._body(seq) or {}
            texts = [body.get(key) for key in ("session", "project", "text", "covers_from", "covers_to")]
            self._connection.execute(INSERTS["session_summary"], (own, at, None, seq, *texts))

    def _body(self, seq: int) -> dict[str, Any] | None:
        """Return the payload of an event, None once it is erased."""
        row = self._connection.execute(sql_log.PAYLOAD_BODY, (seq,)).fetchone()
        body: dict[str, Any] | None = json.loads(row[0]) if row[0] is not None else None
        return body

    def _refold_setting(self, name: str, acts: list[Act], at: int) -> None:
        seq = fold.setting_seq(acts)
        data = next(one.data for one in acts if one.kind == "setting.changed")
        key = (data["name"], data["scope"], data.get("machine", ""))
        found = self._connection.execute(sql_log.OPEN_SETTING, key).fetchone()
        if found is not None and found[0] == seq:
            return
        self._close("setting", "name = ? AND scope = ? AND machine = ?", at, key)
        if seq is not None:
            value = (self._body(seq) or {}).get("value")
            self._connection.execute(INSERTS["setting"], (*key, at, None, seq, value))

    def _close(self, table: str, where: str, at: int, key: tuple[Any, ...]) -> None:
        """End the open period of the rows that `where` names."""
        self._connection.execute(f"UPDATE {table} SET to_seq = ? WHERE {where} AND to_seq IS NULL", (at, *key))

    def _flush(self) -> None:
        for name, rows in self._rows.items():
            if rows:
                self._connection.executemany(INSERTS[name], rows)
                rows.clear()


def _period(flags: Flags) -> tuple[str, int, int, int]:
    agreed = len(flags.sessions) >= fold.AGREED
    return fold.state(flags), int(flags.pinned), int(flags.reviewed or flags.trusted), int(agreed)


def touching(connection: sqlite3.Connection, names: Iterable[str]) -> list[Act]:
    """Return every event that touches one of `names`, undone ones included, in seq order, each once."""
    acts: dict[int, Act] = {}
    for name in names:
        for seq, kind, stream, data, actor_kind, trust, channel, actor_id in connection.execute(
            sql_log.TOUCHING, (name,)
        ).fetchall():
            acts[seq] = Act(seq, kind, stream, json.loads(data), actor_kind, trust, channel, actor_id)
    return [acts[seq] for seq in sorted(acts)]


def rebuild(
    connection: sqlite3.Connection,
    events: Callable[[], Iterable[Event]],
    dedup_key: bytes,
) -> None:
    """Drop every projection and replay the whole log, within the caller's transaction."""
    drop(connection)
    create(connection)
    Projector(connection, dedup_key).apply(events())


def table_of(connection: sqlite3.Connection) -> meaning.TokenTable | None:
    """Return the token table when it is at hand, and the file's vectors were made with this version of it."""
    table = meaning.shared()
    if table is None or connection.execute(sql_log.VECTORS_OF).fetchall() != [(table.version,)]:
        return None
    return table


def vectors(table: meaning.TokenTable, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield the row of `vector` for each (seq, project, title, problem, solution, tags) that the table knows words of.

    About 100 µs a learning.
    """
    for seq, place, title, problem, solution, tags in rows:
        asked = problem if title in problem else f"{title}. {problem}"
        about, whole = table.vectors(asked, " ".join([solution, *tags]))
        if whole is not None:
            about = about or whole
            signs = (meaning.sign(about) << meaning.DIMS | meaning.sign(whole)).to_bytes(meaning.DIMS // 4, "little")
            yield seq, place, signs, meaning.packed(about), meaning.packed(whole)


def refresh_vectors(connection: sqlite3.Connection) -> None:
    """Make the vectors that are missing, and all of them after another version of the table; about 20 s for 100,000."""
    table = meaning.shared()
    if table is None:
        return
    if table_of(connection) is None:
        connection.execute(sql_log.FORGET_VECTORS)
        connection.execute(sql_log.VECTOR_VERSION, (table.version,))
    missing = connection.execute(sql_log.WITHOUT_VECTOR).fetchall()
    rows = ((*row[:5], json.loads(row[5])) for row in missing)
    connection.executemany(INSERTS["vector"], vectors(table, rows))


def refresh_counts(connection: sqlite3.Connection) -> None:
    """Count anew how many learnings hold each word; the caller owns the transaction. 0.6 s at 100,000 learnings."""
    for statement in sql_log.REFRESH_COUNTS:
        connection.execute(statement)
    refresh_vectors(connection)


def counts_are_old(connection: sqlite3.Connection) -> bool:
    """Tell whether the index grew by a tenth, and by 500 rows, since words were counted."""
    counted = connection.execute(sql_log.COUNTED).fetchone()
    rows = connection.execute(sql_log.INDEXED_ROWS).fetchone()[0]
    return bool(rows >= 500 and (counted is None or rows >= counted[0] * 1.1))
