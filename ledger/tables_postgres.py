"""What PostgreSQL adds to the log's tables: triggers, views over the payloads, privileges.

Same refusals as on SQLite, and TRUNCATE. Functions name `public` in full,
because PostgreSQL looks into a session's temporary tables first: a temporary
table `event` would otherwise answer for the real one.

Limits: a superuser who sets `session_replication_role = replica`, and the owner
of the tables who disables or drops a trigger, walk past all of this; the chain
shows what they changed. So the program's role is another one than the owner,
with what `grants` gives.
"""

from ledger.fold import CREATING

FUNCTIONS = {
    "ledger_refuse": """
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'learnings are append-only: ' || TG_ARGV[0];
END
""",
    "ledger_event_insert": """
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
    "ledger_payload_insert": """
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
    "ledger_payload_update": """
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
    "ledger_meta_insert": """
BEGIN
    IF EXISTS (SELECT 1 FROM public.meta) THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation',
            MESSAGE = 'learnings are append-only: what the ledger is never changes';
    END IF;
    RETURN NEW;
END
""",
}
"""Bodies of the trigger functions. The INSERT ones also refuse what is not a JSON object: one such row would
break every view."""


def function(name: str) -> str:
    """Return the statement that makes a trigger function."""
    return f"CREATE FUNCTION public.{name}() RETURNS trigger LANGUAGE plpgsql AS $${FUNCTIONS[name]}$$"


def _trigger(table: str, act: str, call: str) -> str:
    each = "STATEMENT" if act == "TRUNCATE" else "ROW"
    return (
        f"CREATE TRIGGER {table}_{act.lower()}_refused BEFORE {act} ON public.{table}"
        f" FOR EACH {each} EXECUTE FUNCTION {call}"
    )


TRIGGERS = (
    _trigger("event", "UPDATE", "ledger_refuse('an event is never changed')"),
    _trigger("event", "DELETE", "ledger_refuse('an event is never removed')"),
    _trigger("event", "TRUNCATE", "ledger_refuse('an event is never removed')"),
    _trigger("event", "INSERT", "ledger_event_insert()"),
    _trigger("payload", "UPDATE", "ledger_payload_update()"),
    _trigger("payload", "DELETE", "ledger_refuse('a payload is never removed')"),
    _trigger("payload", "TRUNCATE", "ledger_refuse('a payload is never removed')"),
    _trigger("payload", "INSERT", "ledger_payload_insert()"),
    _trigger("meta", "UPDATE", "ledger_refuse('what the ledger is never changes')"),
    _trigger("meta", "DELETE", "ledger_refuse('what the ledger is never changes')"),
    _trigger("meta", "TRUNCATE", "ledger_refuse('what the ledger is never changes')"),
    _trigger("meta", "INSERT", "ledger_meta_insert()"),
)
"""Spelled as `pg_get_triggerdef` prints them, so that `find_problems` can compare the text."""

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
"""The undos that hold, as `fold.alive` finds them: newest first, an undo that is undone takes nothing back."""

_BODY = "CROSS JOIN LATERAL (SELECT convert_from(p.body, 'UTF8')::jsonb AS body) AS b"
_CREATING = ", ".join(f"'{kind}'" for kind in CREATING)

VIEWS = (
    f"""CREATE VIEW public.learning AS
SELECT e.seq, e.stream AS id, b.body ->> 'title' AS title, b.body ->> 'problem' AS problem,
       b.body ->> 'solution' AS solution, e.data::jsonb ->> 'category' AS category,
       e.data::jsonb ->> 'confidence' AS confidence, b.body ->> 'project' AS project, b.body ->> 'tags' AS tags,
       b.body ->> 'observed_at' AS observed_at, e.recorded_at, e.trust, e.actor_kind, e.channel, e.batch, p.erased_by
FROM public.event AS e JOIN public.payload AS p ON p.seq = e.seq {_BODY}
WHERE e.kind IN ({_CREATING})""",
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
FROM named AS n JOIN public.event AS e ON e.seq = n.seq JOIN public.payload AS p ON p.seq = n.seq {_BODY}
LEFT JOIN public.learning AS l ON l.id = n.id LEFT JOIN public.live_undos() AS u ON u.target_seq = n.seq""",
    f"""CREATE VIEW public.audit_log AS
SELECT e.seq, e.recorded_at, e.kind, e.stream, e.actor_kind, e.actor_id, e.channel, e.trust, e.batch,
       b.body ->> 'title' AS title, b.body ->> 'reason' AS reason, u.undo_seq AS undone_by, p.erased_by, e.event_id,
       e.data
FROM public.event AS e JOIN public.payload AS p ON p.seq = e.seq {_BODY}
LEFT JOIN public.live_undos() AS u ON u.target_seq = e.seq""",
    f"""CREATE VIEW public.undone AS
SELECT t.seq AS target_seq, t.kind AS target_kind, t.stream, e.seq AS undo_seq, e.recorded_at AS undone_at,
       e.actor_kind, e.channel, b.body ->> 'reason' AS reason, u.undo_seq IS NOT NULL AS holds
FROM public.event AS e CROSS JOIN LATERAL jsonb_array_elements_text(e.data::jsonb -> 'targets') AS n (seq)
JOIN public.event AS t ON t.seq = n.seq::bigint JOIN public.payload AS p ON p.seq = e.seq {_BODY}
LEFT JOIN public.live_undos() AS u ON u.target_seq = t.seq AND u.undo_seq = e.seq
WHERE e.kind = 'event.undone'""",
)
"""Typed rows over the payloads, for a SQL shell; texts are NULL once erased.

`learning audit_log undone` have the columns of their namesakes on SQLite, without the lookup key and the
periods. `timeline` has a row for each event that names a learning, an undo counted to all that it touches; states
and lineage need the fold, which runs where the projections are.
"""

VIEW_NAMES = tuple(view.split()[2].removeprefix("public.") for view in VIEWS)

REVOKES = ("REVOKE ALL ON public.event, public.payload, public.meta FROM PUBLIC",)


def grants(role: str) -> tuple[str, ...]:
    """Return the statements that give an existing role what the program needs, and take the rest.

    Of UPDATE it gets the three columns that an erasure empties; the trigger
    sees to it that an event asked for that.
    """
    quoted = '"' + role.replace('"', '""') + '"'
    readable = ", ".join(f"public.{name}" for name in ("event", "payload", "meta", "alembic_version", *VIEW_NAMES))
    return (
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {quoted}",
        f"REVOKE CREATE ON SCHEMA public FROM {quoted}",
        f"GRANT USAGE ON SCHEMA public TO {quoted}",
        f"GRANT SELECT ON {readable} TO {quoted}",
        f"GRANT INSERT ON public.event, public.payload TO {quoted}",
        f"GRANT UPDATE (body, salt, erased_by) ON public.payload TO {quoted}",
    )
