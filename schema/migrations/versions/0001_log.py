"""Make the log: `event`, `payload` and `meta`, append-only by the database itself.

Why triggers against INSERT: REPLACE and upserts change a row without firing a
trigger for UPDATE or DELETE. Why CHECKs against line feeds: the hashed envelope
joins its columns by them. Why the views on PostgreSQL: a team's log has no
projections there, and people still look at it in psql.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import CreateTable

revision = "0001_log"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

APPLICATION_ID = 0x4C524E31

EVENT = (
    sa.Column("seq", BIG, primary_key=True, autoincrement=False, nullable=False),
    sa.Column("event_id", sa.Text(), nullable=False),
    sa.Column("stream", sa.Text(), nullable=False),
    sa.Column("version", BIG, nullable=False),
    sa.Column("kind", sa.Text(), nullable=False),
    sa.Column("schema_version", BIG, nullable=False),
    sa.Column("recorded_at", sa.Text(), nullable=False),
    sa.Column("actor_kind", sa.Text(), nullable=False),
    sa.Column("actor_id", sa.Text(), nullable=True),
    sa.Column("channel", sa.Text(), nullable=False),
    sa.Column("trust", BIG, nullable=False),
    sa.Column("batch", BIG, nullable=True),
    sa.Column("data", sa.Text(), nullable=False),
    sa.Column("commitment", sa.LargeBinary(), nullable=False),
    sa.Column("prev_hash", sa.LargeBinary(), nullable=False),
    sa.Column("hash", sa.LargeBinary(), nullable=False),
    sa.UniqueConstraint("event_id"),
    sa.UniqueConstraint("stream", "version"),
    sa.UniqueConstraint("prev_hash"),
    sa.CheckConstraint("seq >= 1 AND version >= 1 AND schema_version >= 1", name="event_numbers"),
    sa.CheckConstraint("length(event_id) = 36", name="event_id_form"),
    sa.CheckConstraint("length(stream) BETWEEN 1 AND 100 AND length(kind) BETWEEN 3 AND 60", name="event_names"),
    sa.CheckConstraint("length(recorded_at) = 27", name="event_time"),
    sa.CheckConstraint("actor_kind IN ('person', 'agent', 'importer', 'program')", name="event_actor"),
    sa.CheckConstraint("channel IN ('cli', 'mcp', 'import', 'hook')", name="event_channel"),
    sa.CheckConstraint("actor_id IS NULL OR length(actor_id) BETWEEN 1 AND 100", name="event_actor_id"),
    sa.CheckConstraint("trust BETWEEN 0 AND 4", name="event_trust"),
    sa.CheckConstraint("batch IS NULL OR batch BETWEEN 1 AND seq", name="event_batch"),
    sa.CheckConstraint("length(data) BETWEEN 2 AND 4000000", name="event_data"),
    sa.CheckConstraint("length(commitment) = 32 AND length(prev_hash) = 32 AND length(hash) = 32", name="event_hashes"),
    sa.CheckConstraint(
        "replace(event_id, '\n', '') = event_id AND replace(stream, '\n', '') = stream"
        " AND replace(kind, '\n', '') = kind AND replace(recorded_at, '\n', '') = recorded_at"
        " AND replace(coalesce(actor_id, ''), '\n', '') = coalesce(actor_id, '')",
        name="event_lines",
    ),
)

PAYLOAD = (
    sa.Column("seq", BIG, primary_key=True, autoincrement=False, nullable=False),
    sa.Column("body", sa.LargeBinary(), nullable=True),
    sa.Column("salt", sa.LargeBinary(), nullable=True),
    sa.Column("erased_by", BIG, nullable=True),
    sa.CheckConstraint("(body IS NULL) = (salt IS NULL)", name="payload_whole"),
    sa.CheckConstraint("body IS NOT NULL OR erased_by IS NOT NULL", name="payload_erased"),
    sa.CheckConstraint("salt IS NULL OR length(salt) = 32", name="payload_salt"),
    sa.CheckConstraint("erased_by IS NULL OR erased_by >= 1", name="payload_eraser"),
)

META = (
    sa.Column("one", BIG, primary_key=True, autoincrement=False, nullable=False),
    sa.Column("ledger_id", sa.Text(), nullable=False),
    sa.Column("format", BIG, nullable=False),
    sa.Column("dedup_key", sa.LargeBinary(), nullable=False),
    sa.CheckConstraint("one = 1", name="meta_one"),
    sa.CheckConstraint("length(ledger_id) = 36 AND format = 1 AND length(dedup_key) = 32", name="meta_form"),
)

SAYS = "learnings are append-only: "
KEPT = (
    ("event", "UPDATE", "an event is never changed"),
    ("event", "DELETE", "an event is never removed"),
    ("payload", "DELETE", "a payload is never removed"),
    ("meta", "UPDATE", "what the ledger is never changes"),
    ("meta", "DELETE", "what the ledger is never changes"),
)
"""What is refused without a condition."""

SQLITE_CONDITIONS = (
    (
        "event",
        "INSERT",
        (
            "NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM event)"
            " OR EXISTS (SELECT 1 FROM event WHERE event_id = NEW.event_id OR prev_hash = NEW.prev_hash"
            " OR (stream = NEW.stream AND version = NEW.version))"
        ),
        "an event is never replaced, and seq is the head plus one",
    ),
    (
        "payload",
        "UPDATE",
        (
            "NOT (NEW.seq = OLD.seq AND NEW.body IS NULL AND NEW.salt IS NULL\n"
            "    AND OLD.erased_by IS NULL AND OLD.body IS NOT NULL\n"
            "    AND EXISTS (SELECT 1 FROM event, json_each(event.data, '$.targets') AS target\n"
            "                WHERE event.seq = NEW.erased_by AND event.kind = 'payload.erased'"
            " AND target.value = OLD.seq))"
        ),
        "a payload is never changed, only erased by its event",
    ),
    (
        "payload",
        "INSERT",
        (
            "NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM payload)"
            " OR NOT EXISTS (SELECT 1 FROM event WHERE seq = NEW.seq)"
        ),
        "a payload is never replaced, and follows its event",
    ),
    ("meta", "INSERT", "EXISTS (SELECT 1 FROM meta)", "what the ledger is never changes"),
)

POSTGRES_FUNCTIONS = (
    (
        "ledger_refuse",
        """
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'learnings are append-only: ' || TG_ARGV[0];
END
""",
    ),
    (
        "ledger_event_insert",
        """
BEGIN
    IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM public.event)
        OR EXISTS (SELECT 1 FROM public.event WHERE event_id = NEW.event_id)
        OR EXISTS (SELECT 1 FROM public.event WHERE prev_hash = NEW.prev_hash)
        OR EXISTS (SELECT 1 FROM public.event WHERE stream = NEW.stream AND version = NEW.version)
        OR jsonb_typeof(NEW.data::jsonb) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation',
            MESSAGE = 'learnings are append-only: an event is never replaced, and seq is the head plus one';
    END IF;
    RETURN NEW;
END
""",
    ),
    (
        "ledger_payload_insert",
        """
BEGIN
    IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM public.payload)
        OR NOT EXISTS (SELECT 1 FROM public.event WHERE seq = NEW.seq)
        OR jsonb_typeof(convert_from(NEW.body, 'UTF8')::jsonb) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation',
            MESSAGE = 'learnings are append-only: a payload is never replaced, and follows its event';
    END IF;
    RETURN NEW;
END
""",
    ),
    (
        "ledger_payload_update",
        """
BEGIN
    IF (NEW.seq = OLD.seq AND NEW.body IS NULL AND NEW.salt IS NULL AND OLD.erased_by IS NULL AND OLD.body IS NOT NULL
        AND EXISTS (SELECT 1 FROM public.event
                    WHERE seq = NEW.erased_by AND kind = 'payload.erased'
                        AND data::jsonb -> 'targets' @> to_jsonb(OLD.seq))) IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation',
            MESSAGE = 'learnings are append-only: a payload is never changed, only erased by its event';
    END IF;
    RETURN NEW;
END
""",
    ),
    (
        "ledger_meta_insert",
        """
BEGIN
    IF EXISTS (SELECT 1 FROM public.meta) THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation',
            MESSAGE = 'learnings are append-only: what the ledger is never changes';
    END IF;
    RETURN NEW;
END
""",
    ),
)

POSTGRES_CONDITIONS = (
    ("event", "INSERT", "ledger_event_insert()"),
    ("payload", "INSERT", "ledger_payload_insert()"),
    ("payload", "UPDATE", "ledger_payload_update()"),
    ("meta", "INSERT", "ledger_meta_insert()"),
)

LIVE_UNDOS = """CREATE FUNCTION public.live_undos() RETURNS TABLE (target_seq bigint, undo_seq bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    one record;
    dead bigint[] := '{}';
BEGIN
    FOR one IN
        SELECT e.seq, ARRAY(SELECT jsonb_array_elements_text(e.data::jsonb -> 'targets')::bigint) AS targets
        FROM public.event AS e WHERE e.kind = 'event.undone' ORDER BY e.seq DESC
    LOOP
        IF one.seq <> ALL (dead) THEN
            dead := dead || one.targets;
            RETURN QUERY SELECT t.seq, one.seq FROM unnest(one.targets) AS t (seq);
        END IF;
    END LOOP;
END
$$"""

BODY = "CROSS JOIN LATERAL (SELECT convert_from(p.body, 'UTF8')::jsonb AS body) AS b"

POSTGRES_VIEWS = (
    f"""CREATE VIEW public.learning AS
SELECT e.seq, e.stream AS id, b.body ->> 'title' AS title, b.body ->> 'problem' AS problem,
       b.body ->> 'solution' AS solution, e.data::jsonb ->> 'category' AS category,
       e.data::jsonb ->> 'confidence' AS confidence, b.body ->> 'project' AS project, b.body ->> 'tags' AS tags,
       b.body ->> 'observed_at' AS observed_at, e.recorded_at, e.trust, e.actor_kind, e.channel, e.batch, p.erased_by
FROM public.event AS e JOIN public.payload AS p ON p.seq = e.seq {BODY}
WHERE e.kind IN ('learning.recorded', 'learning.superseded', 'learning.proposed')""",
    f"""CREATE VIEW public.timeline AS
WITH RECURSIVE named (seq, id) AS (
    SELECT e.seq, n.id FROM public.event AS e CROSS JOIN LATERAL (
        SELECT e.stream AS id UNION SELECT jsonb_array_elements_text(e.data::jsonb -> 'supersedes')
    ) AS n
    WHERE e.kind <> 'event.undone' AND starts_with(n.id, 'lrn_')
    UNION
    SELECT u.seq, n.id FROM named AS n JOIN (
        SELECT e.seq, jsonb_array_elements_text(e.data::jsonb -> 'targets')::bigint AS target_seq
        FROM public.event AS e WHERE e.kind = 'event.undone'
    ) AS u ON u.target_seq = n.seq
)
SELECT n.id, l.title, l.project, e.seq AS from_seq, e.recorded_at AS since, e.kind AS because, e.actor_kind, e.channel,
       b.body ->> 'reason' AS reason, u.undo_seq AS undone_by
FROM named AS n JOIN public.event AS e ON e.seq = n.seq JOIN public.payload AS p ON p.seq = n.seq {BODY}
LEFT JOIN public.learning AS l ON l.id = n.id LEFT JOIN public.live_undos() AS u ON u.target_seq = n.seq""",
    f"""CREATE VIEW public.audit_log AS
SELECT e.seq, e.recorded_at, e.kind, e.stream, e.actor_kind, e.actor_id, e.channel, e.trust, e.batch,
       b.body ->> 'title' AS title, b.body ->> 'reason' AS reason, u.undo_seq AS undone_by, p.erased_by, e.event_id,
       e.data
FROM public.event AS e JOIN public.payload AS p ON p.seq = e.seq {BODY}
LEFT JOIN public.live_undos() AS u ON u.target_seq = e.seq""",
    f"""CREATE VIEW public.undone AS
SELECT t.seq AS target_seq, t.kind AS target_kind, t.stream, e.seq AS undo_seq, e.recorded_at AS undone_at,
       e.actor_kind, e.channel, b.body ->> 'reason' AS reason, u.undo_seq IS NOT NULL AS holds
FROM public.event AS e CROSS JOIN LATERAL jsonb_array_elements_text(e.data::jsonb -> 'targets') AS n (seq)
JOIN public.event AS t ON t.seq = n.seq::bigint JOIN public.payload AS p ON p.seq = e.seq {BODY}
LEFT JOIN public.live_undos() AS u ON u.target_seq = t.seq AND u.undo_seq = e.seq
WHERE e.kind = 'event.undone'""",
)


def upgrade() -> None:
    """Make the three tables and what keeps them append-only."""
    for name, parts in (("event", EVENT), ("payload", PAYLOAD), ("meta", META)):
        table = sa.Table(name, sa.MetaData(), *parts, sqlite_strict=True)
        # stripped, because SQLite keeps the text to its last blank, and `verify` compares it
        op.execute(str(CreateTable(table).compile(dialect=op.get_bind().dialect)).strip())
    if op.get_bind().dialect.name == "sqlite":
        op.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _guard_sqlite()
    else:
        _guard_postgres()


def _guard_sqlite() -> None:
    for table, act, message in KEPT:
        _sqlite_trigger(table, act, "", message)
    for table, act, condition, message in SQLITE_CONDITIONS:
        _sqlite_trigger(table, act, f" WHEN {condition}", message)


def _sqlite_trigger(table: str, act: str, when: str, message: str) -> None:
    op.execute(
        f"CREATE TRIGGER {table}_{act.lower()}_refused BEFORE {act} ON {table}{when}\n"
        f"BEGIN SELECT RAISE(ABORT, '{SAYS}{message}'); END"
    )


def _guard_postgres() -> None:
    for name, body in POSTGRES_FUNCTIONS:
        op.execute(f"CREATE FUNCTION public.{name}() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
    for table, act, message in KEPT:
        _postgres_trigger(table, act, "ROW", f"ledger_refuse('{message}')")
        if act == "DELETE":
            _postgres_trigger(table, "TRUNCATE", "STATEMENT", f"ledger_refuse('{message}')")
    for table, act, call in POSTGRES_CONDITIONS:
        _postgres_trigger(table, act, "ROW", call)
    op.execute(LIVE_UNDOS)
    for view in POSTGRES_VIEWS:
        op.execute(view)
    op.execute("REVOKE ALL ON public.event, public.payload, public.meta FROM PUBLIC")


def _postgres_trigger(table: str, act: str, each: str, call: str) -> None:
    op.execute(
        f"CREATE TRIGGER {table}_{act.lower()}_refused BEFORE {act} ON public.{table}"
        f" FOR EACH {each} EXECUTE FUNCTION public.{call}"
    )
