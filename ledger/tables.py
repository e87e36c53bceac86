"""SQLModel tables of the log and its projections, with their triggers and views.

The log (`event payload meta`) is owned by Alembic; every other table here is a
projection that `project.rebuild` may drop and make again. CHECKs and STRICT hold
on SQLite for every program that opens the file, not only for this one.
Views stand here because they are part of the schema a person meets in a SQL
shell; SELECT statements of the product stand in `sql.py`.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel

from ledger.model import ACTOR_KINDS, CATEGORIES, CHANNELS, CONFIDENCES, STATES, VERDICTS

BIG = BigInteger().with_variant(Integer, "sqlite")
STRICT = {"sqlite_strict": True}

APPLICATION_ID = 0x4C524E31
"""`PRAGMA application_id` of a ledger file: the ASCII codes of LRN1."""

SCHEMA_VERSION = 1
"""`PRAGMA user_version`: the number of the newest migration of the log."""

SCHEMA_REVISION = "0001_log"
"""Name of the newest Alembic revision, for `alembic_version`."""


ALEMBIC_VERSION = (
    "CREATE TABLE alembic_version (\n\tversion_num VARCHAR(32) NOT NULL, "
    "\n\tCONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)\n)"
)
"""The migration tool's own table, so that a new file needs no import of it (0.5 s)."""

WAITS = "to_seq IS NULL AND state IN ('candidate', 'quarantined')"
"""Open periods of what waits for a person; `sql.WAITING` asks in these very words, so that the index answers it."""

TEXTS = ("title", "problem", "solution", "project", "tags")
"""Columns of a learning that are never empty until it is erased; `tags` is a JSON list."""

LF_FREE = ("event_id", "stream", "kind", "recorded_at", "coalesce(actor_id, '')")
"""Columns of the hashed envelope that must hold no line feed, so that fields cannot run into each other."""


def one_of(column: str, values: tuple[str, ...]) -> str:
    """Return the CHECK text that keeps `column` within `values`."""
    return f"{column} IN ({', '.join(repr(value) for value in values)})"


class EventRow(SQLModel, table=True):
    """The envelope of one event: ids and enums, never free text."""

    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("event_id"),
        UniqueConstraint("stream", "version"),
        UniqueConstraint("prev_hash"),
        CheckConstraint("seq >= 1 AND version >= 1 AND schema_version >= 1", name="event_numbers"),
        CheckConstraint("length(event_id) = 36", name="event_id_form"),
        CheckConstraint("length(stream) BETWEEN 1 AND 100 AND length(kind) BETWEEN 3 AND 60", name="event_names"),
        CheckConstraint("length(recorded_at) = 27", name="event_time"),
        CheckConstraint(one_of("actor_kind", ACTOR_KINDS), name="event_actor"),
        CheckConstraint(one_of("channel", CHANNELS), name="event_channel"),
        CheckConstraint("actor_id IS NULL OR length(actor_id) BETWEEN 1 AND 100", name="event_actor_id"),
        CheckConstraint("trust BETWEEN 0 AND 4", name="event_trust"),
        CheckConstraint("batch IS NULL OR batch BETWEEN 1 AND seq", name="event_batch"),
        CheckConstraint("length(data) BETWEEN 2 AND 4000000", name="event_data"),
        CheckConstraint(
            "length(commitment) = 32 AND length(prev_hash) = 32 AND length(hash) = 32", name="event_hashes"
        ),
        CheckConstraint(
            " AND ".join(f"replace({column}, '\n', '') = {column}" for column in LF_FREE), name="event_lines"
        ),
        STRICT,
    )
    seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    event_id: str = Field(sa_type=Text)
    stream: str = Field(sa_type=Text)
    version: int = Field(sa_type=BIG)
    kind: str = Field(sa_type=Text)
    schema_version: int = Field(sa_type=BIG)
    recorded_at: str = Field(sa_type=Text)
    actor_kind: str = Field(sa_type=Text)
    actor_id: str | None = Field(default=None, sa_type=Text)
    channel: str = Field(sa_type=Text)
    trust: int = Field(sa_type=BIG)
    batch: int | None = Field(default=None, sa_type=BIG)
    data: str = Field(sa_type=Text)
    commitment: bytes = Field(sa_type=LargeBinary)
    prev_hash: bytes = Field(sa_type=LargeBinary)
    hash: bytes = Field(sa_type=LargeBinary)


class PayloadRow(SQLModel, table=True):
    """All free text of one event; `body` and `salt` become NULL when it is erased, and only then."""

    __tablename__ = "payload"
    __table_args__ = (
        CheckConstraint("(body IS NULL) = (salt IS NULL)", name="payload_whole"),
        CheckConstraint("body IS NOT NULL OR erased_by IS NOT NULL", name="payload_erased"),
        CheckConstraint("salt IS NULL OR length(salt) = 32", name="payload_salt"),
        CheckConstraint("erased_by IS NULL OR erased_by >= 1", name="payload_eraser"),
        STRICT,
    )
    seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    body: bytes | None = Field(default=None, sa_type=LargeBinary)
    salt: bytes | None = Field(default=None, sa_type=LargeBinary)
    erased_by: int | None = Field(default=None, sa_type=BIG)


class MetaRow(SQLModel, table=True):
    """What the ledger is: one row, written once."""

    __tablename__ = "meta"
    __table_args__ = (
        CheckConstraint("one = 1", name="meta_one"),
        CheckConstraint("length(ledger_id) = 36 AND format = 1 AND length(dedup_key) = 32", name="meta_form"),
        STRICT,
    )
    one: int = Field(default=1, sa_column=Column(BIG, primary_key=True, autoincrement=False))
    ledger_id: str = Field(sa_type=Text)
    format: int = Field(sa_type=BIG)
    dedup_key: bytes = Field(sa_type=LargeBinary)


class LearningRow(SQLModel, table=True):
    """What somebody learned, as it was recorded; never changed, NULL once erased."""

    __tablename__ = "learning"
    __table_args__ = (
        UniqueConstraint("id"),
        CheckConstraint("length(id) = 30 AND id LIKE 'lrn\\_%' ESCAPE '\\'", name="learning_id"),
        CheckConstraint(one_of("category", CATEGORIES), name="learning_category"),
        CheckConstraint(one_of("confidence", CONFIDENCES), name="learning_confidence"),
        CheckConstraint("trust BETWEEN 0 AND 4", name="learning_trust"),
        CheckConstraint(
            "erased_by IS NOT NULL OR " + " AND ".join(f"coalesce({name}, '') <> ''" for name in TEXTS),
            name="learning_texts",
        ),
        Index("learning_content", "content_key"),
        Index("learning_project", "project", "category"),
        Index("learning_inferred", "id", sqlite_where=text("trust = 0")),
        STRICT,
    )
    seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    id: str = Field(sa_type=Text)
    title: str | None = Field(default=None, sa_type=Text)
    problem: str | None = Field(default=None, sa_type=Text)
    solution: str | None = Field(default=None, sa_type=Text)
    category: str = Field(sa_type=Text)
    confidence: str = Field(sa_type=Text)
    project: str | None = Field(default=None, sa_type=Text)
    tags: str | None = Field(default=None, sa_type=Text)
    observed_at: str | None = Field(default=None, sa_type=Text)
    recorded_at: str = Field(sa_type=Text)
    trust: int = Field(sa_type=BIG)
    actor_kind: str = Field(sa_type=Text)
    channel: str = Field(sa_type=Text)
    batch: int | None = Field(default=None, sa_type=BIG)
    content_key: bytes | None = Field(default=None, sa_type=LargeBinary)
    erased_by: int | None = Field(default=None, sa_type=BIG)


class LearningStateRow(SQLModel, table=True):
    """One period of a learning's state, in seqs; `to_seq` is NULL while it lasts.

    `reviewed` says that a person accepted, released or trusts it, `agreed` that a
    second session said the same.
    """

    __tablename__ = "learning_state"
    __table_args__ = (
        CheckConstraint(one_of("state", STATES), name="learning_state_state"),
        CheckConstraint("pinned IN (0, 1) AND reviewed IN (0, 1) AND agreed IN (0, 1)", name="learning_state_flags"),
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="learning_state_period"),
        Index("learning_state_open", "learning_id", unique=True, sqlite_where=text("to_seq IS NULL")),
        Index("learning_state_waiting", "learning_id", sqlite_where=text(WAITS)),
        STRICT,
    )
    learning_id: str = Field(sa_column=Column(Text, primary_key=True))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)
    state: str = Field(sa_type=Text)
    pinned: int = Field(sa_type=BIG)
    reviewed: int = Field(sa_type=BIG)
    agreed: int = Field(sa_type=BIG)


class LinkRow(SQLModel, table=True):
    """One period in which `new_id` stood in for `old_id`, by the event `event_seq`."""

    __tablename__ = "link"
    __table_args__ = (
        CheckConstraint("old_id <> new_id", name="link_ends"),
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="link_period"),
        Index("link_new", "new_id"),
        STRICT,
    )
    old_id: str = Field(sa_column=Column(Text, primary_key=True))
    new_id: str = Field(sa_column=Column(Text, primary_key=True))
    event_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)


class TouchRow(SQLModel, table=True):
    """Event `seq` names the learning (or setting) `id`; an undo names what its targets name."""

    __tablename__ = "touch"
    __table_args__ = (Index("touch_seq", "seq"), {"sqlite_strict": True, "sqlite_with_rowid": False})
    id: str = Field(sa_column=Column(Text, primary_key=True))
    seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))


class SourceRow(SQLModel, table=True):
    """One period in which a learning could be read at a place; the place is NULL once erased."""

    __tablename__ = "source"
    __table_args__ = (
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="source_period"),
        Index("source_learning", "learning_id"),
        Index("source_locator", "locator_key"),
        STRICT,
    )
    source_id: str = Field(sa_column=Column(Text, primary_key=True))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)
    learning_id: str = Field(sa_type=Text)
    event_seq: int = Field(sa_type=BIG)
    kind: str | None = Field(default=None, sa_type=Text)
    locator: str | None = Field(default=None, sa_type=Text)
    locator_key: bytes | None = Field(default=None, sa_type=LargeBinary)
    path: str | None = Field(default=None, sa_type=Text)
    line: int | None = Field(default=None, sa_type=BIG)


class SettingRow(SQLModel, table=True):
    """One period in which a setting had a value; `machine` is '' for the whole ledger."""

    __tablename__ = "setting"
    __table_args__ = (
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="setting_period"),
        CheckConstraint("scope IN ('ledger', 'machine')", name="setting_scope"),
        STRICT,
    )
    name: str = Field(sa_column=Column(Text, primary_key=True))
    scope: str = Field(sa_column=Column(Text, primary_key=True))
    machine: str = Field(sa_column=Column(Text, primary_key=True))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)
    event_seq: int = Field(sa_type=BIG)
    value: str | None = Field(default=None, sa_type=Text)


class AliasRow(SQLModel, table=True):
    """One period in which a learning was found by the words of the event `event_seq` too; a JSON list."""

    __tablename__ = "alias"
    __table_args__ = (
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="alias_period"),
        Index("alias_event", "event_seq"),
        STRICT,
    )
    learning_id: str = Field(sa_column=Column(Text, primary_key=True))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)
    event_seq: int = Field(sa_type=BIG)
    words: str | None = Field(default=None, sa_type=Text)


class JudgementRow(SQLModel, table=True):
    """One period in which a verdict on an exposure held; `learning_id` is '' for the whole of it."""

    __tablename__ = "judgement"
    __table_args__ = (
        CheckConstraint(one_of("verdict", VERDICTS), name="judgement_verdict"),
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="judgement_period"),
        STRICT,
    )
    exposure: str = Field(sa_column=Column(Text, primary_key=True))
    learning_id: str = Field(sa_column=Column(Text, primary_key=True))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)
    event_seq: int = Field(sa_type=BIG)
    verdict: str = Field(sa_type=Text)
    project: str | None = Field(default=None, sa_type=Text)
    keywords: str | None = Field(default=None, sa_type=Text)


class SummaryRow(SQLModel, table=True):
    """One period in which a session's summary held; its texts are NULL once erased."""

    __tablename__ = "session_summary"
    __table_args__ = (
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="session_summary_period"),
        Index("session_summary_project", "project", "event_seq"),
        STRICT,
    )
    id: str = Field(sa_column=Column(Text, primary_key=True))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)
    event_seq: int = Field(sa_type=BIG)
    session: str | None = Field(default=None, sa_type=Text)
    project: str | None = Field(default=None, sa_type=Text)
    text: str | None = Field(default=None, sa_type=Text)
    covers_from: str | None = Field(default=None, sa_type=Text)
    covers_to: str | None = Field(default=None, sa_type=Text)


class PairRow(SQLModel, table=True):
    """One period in which two learnings counted as different, by the event `event_seq`; `one_id` is the smaller id."""

    __tablename__ = "pair"
    __table_args__ = (
        CheckConstraint("one_id < other_id", name="pair_ends"),
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="pair_period"),
        Index("pair_other", "other_id"),
        STRICT,
    )
    one_id: str = Field(sa_column=Column(Text, primary_key=True))
    other_id: str = Field(sa_column=Column(Text, primary_key=True))
    event_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)


class UndoRow(SQLModel, table=True):
    """One period in which the event `target_seq` was undone by the event `undo_seq`."""

    __tablename__ = "undo"
    __table_args__ = (
        CheckConstraint("undo_seq > target_seq", name="undo_order"),
        CheckConstraint("to_seq IS NULL OR to_seq > from_seq", name="undo_period"),
        Index("undo_undo", "undo_seq"),
        STRICT,
    )
    target_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    undo_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    from_seq: int = Field(sa_column=Column(BIG, primary_key=True, autoincrement=False))
    to_seq: int | None = Field(default=None, sa_type=BIG)


class ProjectionRow(SQLModel, table=True):
    """How far the projections are, and by which version of the projector."""

    __tablename__ = "projection"
    __table_args__ = (CheckConstraint("one = 1", name="projection_one"), STRICT)
    one: int = Field(default=1, sa_column=Column(BIG, primary_key=True, autoincrement=False))
    version: int = Field(sa_type=BIG)
    seq: int = Field(sa_type=BIG)


def table_of(row: type[SQLModel]) -> Table:
    """Return the table of a class; SQLModel gives it no type."""
    table: Table = row.__table__  # type: ignore[attr-defined]
    return table


def name_of(row: type[SQLModel]) -> str:
    """Return the name of a class's table."""
    return str(table_of(row).name)


LOG_ROWS: tuple[type[SQLModel], ...] = (EventRow, PayloadRow, MetaRow)
PROJECTION_ROWS: tuple[type[SQLModel], ...] = (
    LearningRow,
    LearningStateRow,
    LinkRow,
    TouchRow,
    SourceRow,
    SettingRow,
    AliasRow,
    JudgementRow,
    SummaryRow,
    PairRow,
    UndoRow,
    ProjectionRow,
)


# -- triggers ----------

_SAYS = "learnings are append-only: "


def _refuse(table: str, act: str, when: str, message: str) -> str:
    """Return a SQLite trigger that aborts `act` on `table` when `when` holds."""
    name = f"{table}_{act.split()[1].lower()}_refused"
    return (
        f"CREATE TRIGGER {name} {act} ON {table}{f' WHEN {when}' if when else ''}\n"
        f"BEGIN SELECT RAISE(ABORT, '{_SAYS}{message}'); END"
    )


_ERASED = """NEW.seq = OLD.seq AND NEW.body IS NULL AND NEW.salt IS NULL
    AND OLD.erased_by IS NULL AND OLD.body IS NOT NULL
    AND EXISTS (SELECT 1 FROM event, json_each(event.data, '$.targets') AS target
                WHERE event.seq = NEW.erased_by AND event.kind = 'payload.erased' AND target.value = OLD.seq)"""

_EMPTIED = """NEW.seq = OLD.seq AND NEW.id = OLD.id AND NEW.category = OLD.category AND NEW.confidence = OLD.confidence
    AND NEW.recorded_at = OLD.recorded_at AND NEW.trust = OLD.trust AND NEW.actor_kind = OLD.actor_kind
    AND NEW.channel = OLD.channel AND NEW.batch IS OLD.batch AND NEW.title IS NULL AND NEW.problem IS NULL
    AND NEW.solution IS NULL AND NEW.project IS NULL AND NEW.tags IS NULL AND NEW.observed_at IS NULL
    AND NEW.content_key IS NULL AND OLD.erased_by IS NULL
    AND EXISTS (SELECT 1 FROM payload WHERE payload.seq = OLD.seq AND payload.erased_by = NEW.erased_by)"""

LOG_TRIGGERS = (
    _refuse("event", "BEFORE UPDATE", "", "an event is never changed"),
    _refuse("event", "BEFORE DELETE", "", "an event is never removed"),
    _refuse(
        "event",
        "BEFORE INSERT",
        "NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM event)"
        " OR EXISTS (SELECT 1 FROM event WHERE event_id = NEW.event_id OR prev_hash = NEW.prev_hash"
        " OR (stream = NEW.stream AND version = NEW.version))",
        "an event is never replaced, and seq is the head plus one",
    ),
    _refuse("payload", "BEFORE UPDATE", f"NOT ({_ERASED})", "a payload is never changed, only erased by its event"),
    _refuse("payload", "BEFORE DELETE", "", "a payload is never removed"),
    _refuse(
        "payload",
        "BEFORE INSERT",
        "NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM payload)"
        " OR NOT EXISTS (SELECT 1 FROM event WHERE seq = NEW.seq)",
        "a payload is never replaced, and follows its event",
    ),
    _refuse("meta", "BEFORE UPDATE", "", "what the ledger is never changes"),
    _refuse("meta", "BEFORE DELETE", "", "what the ledger is never changes"),
    _refuse("meta", "BEFORE INSERT", "EXISTS (SELECT 1 FROM meta)", "what the ledger is never changes"),
)
"""SQLite triggers of the log. The INSERT ones matter: REPLACE fires no delete trigger while
`recursive_triggers` is off, which is the default, so without them REPLACE rewrites a row."""

PROJECTION_TRIGGERS = (
    _refuse("learning", "BEFORE UPDATE", f"NOT ({_EMPTIED})", "a learning is superseded, never changed"),
    _refuse("learning", "BEFORE DELETE", "", "a learning is retracted or undone, never removed"),
    _refuse(
        "learning",
        "BEFORE INSERT",
        "EXISTS (SELECT 1 FROM learning WHERE seq = NEW.seq OR id = NEW.id)",
        "a learning is never replaced",
    ),
)

FTS = (
    "CREATE VIRTUAL TABLE learning_fts USING fts5("
    "title, problem, solution, tags, tokenize = 'porter unicode61 remove_diacritics 2')"
)
"""The words index: an ordinary FTS5 table that holds its own indexed form, rowid = creating seq.
Rows come with the learning and go only by erasure; state is a join."""

ALIAS_FTS = "CREATE VIRTUAL TABLE alias_fts USING fts5(words, tokenize = 'porter unicode61 remove_diacritics 2')"
"""The words that find a learning besides its own, rowid = seq of the event that brought them. A table of its own,
because a set of words comes, goes and comes back (undo) and the learning's row never changes; `alias` says
which hold."""

ALIAS_PLACES = "CREATE VIRTUAL TABLE alias_places USING fts5vocab('alias_fts', 'instance')"

FTS_WORDS = "CREATE VIRTUAL TABLE learning_words USING fts5vocab('learning_fts', 'row')"
FTS_PLACES = "CREATE VIRTUAL TABLE learning_places USING fts5vocab('learning_fts', 'instance')"
"""The index's vocabulary: `row` for frequencies, `instance` to compare a rebuilt index with the live one."""

WORD_COUNTS = (
    "CREATE TABLE word_count (word TEXT NOT NULL PRIMARY KEY, learnings INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    (
        "CREATE TABLE word_total (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), learnings INTEGER NOT NULL,"
        " seq INTEGER NOT NULL) STRICT"
    ),
)
"""How many learnings hold each stemmed word: statistics for planning a query, refreshed in bulk, not a
projection (a rebuilt ledger may hold other counts)."""

VECTORS = (
    (
        "CREATE TABLE vector (seq INTEGER NOT NULL PRIMARY KEY, project TEXT NOT NULL, sign BLOB NOT NULL,"
        " problem BLOB NOT NULL, whole BLOB NOT NULL) STRICT"
    ),
    "CREATE INDEX vector_scan ON vector (project, sign)",
    "CREATE TABLE vector_version (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), version TEXT NOT NULL) STRICT",
)
"""Where a learning lies by its meaning: the signs of its whole text, and int8 vectors of its problem and of its whole
text (`meaning.py`). The index answers a scan of one project. Statistics like `word_count`, not a projection: they
depend on the token table, and a ledger written without one holds none until it is written to again."""

# -- views ----------

VIEWS = (
    """CREATE VIEW current_learnings AS
SELECT l.id, l.title, l.problem, l.solution, l.category, l.project, l.tags, l.trust, l.recorded_at, l.observed_at,
       l.confidence, l.channel, l.actor_kind, s.pinned, s.from_seq AS since_seq, l.seq
FROM learning AS l JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state = 'current'""",
    """CREATE VIEW lineage AS
SELECT k.old_id, o.title AS old_title, k.new_id, n.title AS new_title, k.event_seq, e.recorded_at, e.actor_kind,
       e.channel, json_extract(CAST(p.body AS TEXT), '$.reason') AS reason, k.from_seq, k.to_seq,
       k.to_seq IS NULL AS holds
FROM link AS k JOIN event AS e ON e.seq = k.event_seq JOIN payload AS p ON p.seq = k.event_seq
LEFT JOIN learning AS o ON o.id = k.old_id LEFT JOIN learning AS n ON n.id = k.new_id""",
    """CREATE VIEW timeline AS
SELECT s.learning_id AS id, l.title, l.project, s.state, s.pinned, s.from_seq, b.recorded_at AS since,
       s.to_seq, f.recorded_at AS until, b.kind AS because, b.actor_kind, b.channel
FROM learning_state AS s JOIN learning AS l ON l.id = s.learning_id JOIN event AS b ON b.seq = s.from_seq
LEFT JOIN event AS f ON f.seq = s.to_seq""",
    """CREATE VIEW audit_log AS
SELECT e.seq, e.recorded_at, e.kind, e.stream, e.actor_kind, e.actor_id, e.channel, e.trust, e.batch,
       json_extract(CAST(p.body AS TEXT), '$.title') AS title,
       json_extract(CAST(p.body AS TEXT), '$.reason') AS reason,
       (SELECT u.undo_seq FROM undo AS u WHERE u.target_seq = e.seq AND u.to_seq IS NULL) AS undone_by,
       p.erased_by, e.event_id, e.data
FROM event AS e JOIN payload AS p ON p.seq = e.seq""",
    """CREATE VIEW undone AS
SELECT u.target_seq, t.kind AS target_kind, t.stream, u.undo_seq, e.recorded_at AS undone_at, e.actor_kind, e.channel,
       json_extract(CAST(p.body AS TEXT), '$.reason') AS reason, u.from_seq, u.to_seq, u.to_seq IS NULL AS holds
FROM undo AS u JOIN event AS t ON t.seq = u.target_seq JOIN event AS e ON e.seq = u.undo_seq
JOIN payload AS p ON p.seq = u.undo_seq""",
    """CREATE VIEW forks AS
SELECT k.old_id, count(*) AS successors, group_concat(k.new_id, ' ') AS new_ids
FROM link AS k JOIN learning_state AS s ON s.learning_id = k.new_id AND s.to_seq IS NULL
WHERE k.to_seq IS NULL AND s.state NOT IN ('undone', 'rejected')
GROUP BY k.old_id HAVING count(*) > 1""",
    """CREATE VIEW imports AS
SELECT e.seq AS batch, e.recorded_at, json_extract(e.data, '$.importer') AS importer,
       json_extract(CAST(p.body AS TEXT), '$.paths') AS paths, count(c.seq) AS events,
       sum(c.kind = 'learning.recorded') AS recorded, sum(c.kind = 'learning.superseded') AS superseded,
       sum(c.kind = 'learning.retracted') AS retracted, sum(c.kind = 'learning.proposed') AS proposed,
       count(u.undo_seq) AS undone
FROM event AS e JOIN payload AS p ON p.seq = e.seq
LEFT JOIN event AS c ON c.batch = e.seq AND c.seq > e.seq
LEFT JOIN undo AS u ON u.target_seq = c.seq AND u.to_seq IS NULL
WHERE e.kind = 'batch.started' GROUP BY e.seq""",
    """CREATE VIEW sources AS
SELECT s.learning_id, l.title, s.kind, s.locator, s.path, s.line, s.from_seq, s.to_seq, s.to_seq IS NULL AS stands
FROM source AS s LEFT JOIN learning AS l ON l.id = s.learning_id""",
    """CREATE VIEW aliases AS
SELECT a.learning_id, l.title, l.project, a.words, a.event_seq, e.recorded_at, e.actor_kind, a.from_seq, a.to_seq,
       a.to_seq IS NULL AS holds
FROM alias AS a JOIN event AS e ON e.seq = a.event_seq LEFT JOIN learning AS l ON l.id = a.learning_id""",
    """CREATE VIEW judgements AS
SELECT j.exposure, j.learning_id, l.title, j.verdict, j.project, j.keywords,
       json_extract(CAST(p.body AS TEXT), '$.shown') AS shown,
       json_extract(CAST(p.body AS TEXT), '$.reason') AS reason, j.event_seq, e.recorded_at, e.actor_kind, e.channel,
       j.from_seq, j.to_seq, j.to_seq IS NULL AS holds
FROM judgement AS j JOIN event AS e ON e.seq = j.event_seq JOIN payload AS p ON p.seq = j.event_seq
LEFT JOIN learning AS l ON l.id = j.learning_id""",
    """CREATE VIEW summaries AS
SELECT y.id, y.session, y.project, y.text, y.covers_from, y.covers_to, y.event_seq, e.recorded_at, e.trust,
       e.actor_kind, e.channel, y.from_seq, y.to_seq, y.to_seq IS NULL AS holds
FROM session_summary AS y JOIN event AS e ON e.seq = y.event_seq""",
    """CREATE VIEW trusted AS
SELECT e.stream AS learning_id, l.title, l.project, json_extract(e.data, '$.by') AS how,
       json_extract(CAST(p.body AS TEXT), '$.path') AS path, s.state, e.seq AS event_seq, e.recorded_at, e.batch,
       NOT EXISTS (SELECT 1 FROM undo AS u WHERE u.target_seq = e.seq AND u.to_seq IS NULL) AS holds
FROM event AS e JOIN payload AS p ON p.seq = e.seq LEFT JOIN learning AS l ON l.id = e.stream
LEFT JOIN learning_state AS s ON s.learning_id = e.stream AND s.to_seq IS NULL
WHERE e.kind = 'trust.granted'""",
    """CREATE VIEW pairs AS
SELECT p.one_id, o.title AS one_title, p.other_id, t.title AS other_title, p.event_seq, e.recorded_at, e.actor_kind,
       json_extract(CAST(b.body AS TEXT), '$.reason') AS reason, p.from_seq, p.to_seq, p.to_seq IS NULL AS holds
FROM pair AS p JOIN event AS e ON e.seq = p.event_seq JOIN payload AS b ON b.seq = p.event_seq
LEFT JOIN learning AS o ON o.id = p.one_id LEFT JOIN learning AS t ON t.id = p.other_id""",
    """CREATE VIEW settings AS
SELECT s.name, s.scope, s.machine, s.value, s.from_seq AS since_seq, e.recorded_at AS since
FROM setting AS s JOIN event AS e ON e.seq = s.event_seq WHERE s.to_seq IS NULL AND s.value IS NOT NULL""",
    """CREATE VIEW rollbacks AS
SELECT e.seq, e.recorded_at, json_extract(e.data, '$.anchor_seq') AS anchor_seq,
       json_extract(e.data, '$.anchor_hash') AS anchor_hash, e.actor_kind
FROM event AS e WHERE e.kind = 'head.accepted'""",
)
"""Views for people; docs/reference/views.json says what each column is, and docs/check.py holds it to this."""

VIEW_NAMES = tuple(view.split()[2] for view in VIEWS)
PROJECTION_NAMES = (
    "learning_words",
    "learning_places",
    "alias_places",
    "learning_fts",
    "alias_fts",
    "word_count",
    "word_total",
    "vector",
    "vector_version",
    *(name_of(row) for row in PROJECTION_ROWS),
)
"""Every projection table, in an order in which they can be dropped."""
