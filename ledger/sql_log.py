"""Statements over the log and for the projector; those of the read path stand in `sql.py`."""

COLUMNS = (
    "e.seq, e.event_id, e.stream, e.version, e.kind, e.schema_version, e.recorded_at, e.actor_kind, e.actor_id,"
    " e.channel, e.trust, e.batch, e.data, e.commitment, e.prev_hash, e.hash, p.body, p.salt, p.erased_by"
)

EVENTS = f"SELECT {COLUMNS} FROM event AS e JOIN payload AS p ON p.seq = e.seq WHERE e.seq > :after ORDER BY e.seq"
EVENTS_LEFT = (
    f"SELECT {COLUMNS} FROM event AS e LEFT JOIN payload AS p ON p.seq = e.seq WHERE e.seq > :after"
    " ORDER BY e.seq LIMIT :limit"
)
EVENTS_BY_ID = (
    f"SELECT {COLUMNS} FROM event AS e JOIN payload AS p ON p.seq = e.seq WHERE e.event_id IN :event_ids ORDER BY e.seq"
)
EVENTS_BY_ID_LIST = (
    f"SELECT {COLUMNS} FROM event AS e JOIN payload AS p ON p.seq = e.seq"
    " WHERE e.event_id IN (SELECT value FROM json_each(:event_ids)) ORDER BY e.seq"
)
EVENT = f"SELECT {COLUMNS} FROM event AS e JOIN payload AS p ON p.seq = e.seq WHERE e.seq = :seq"
HEAD = "SELECT seq, hash, recorded_at FROM event ORDER BY seq DESC LIMIT 1"
HASH_AT = "SELECT hash FROM event WHERE seq = :seq"
META = "SELECT ledger_id, format, dedup_key FROM meta"
VERSION = "SELECT coalesce(max(version), 0) FROM event WHERE stream = :stream"
STRAY_PAYLOADS = (
    "SELECT p.seq FROM payload AS p LEFT JOIN event AS e ON e.seq = p.seq WHERE e.seq IS NULL ORDER BY p.seq"
)

PROJECTION = "SELECT version, seq FROM projection"
MARK = "UPDATE projection SET seq = ?"

TOUCHING = """SELECT e.seq, e.kind, e.stream, e.data, e.actor_kind, e.trust, e.channel, e.actor_id
FROM touch AS t JOIN event AS e ON e.seq = t.seq WHERE t.id = ? ORDER BY e.seq"""
TOUCHED_BY = "SELECT id FROM touch WHERE seq = ? ORDER BY id"
LAST_TOUCH = "SELECT max(seq) FROM touch WHERE id = ?"
UNDO_TARGETS = "SELECT json_extract(data, '$.targets') FROM event WHERE seq = ? AND kind = 'event.undone'"
OPEN_STATE = "SELECT state, pinned, reviewed, agreed FROM learning_state WHERE learning_id = ? AND to_seq IS NULL"
OPEN_LINKS = "SELECT new_id, event_seq FROM link WHERE old_id = ? AND to_seq IS NULL ORDER BY new_id, event_seq"
OPEN_SOURCES = "SELECT source_id FROM source WHERE learning_id = ? AND to_seq IS NULL ORDER BY source_id"
OPEN_SETTING = """SELECT event_seq FROM setting
WHERE name = ? AND scope = ? AND machine = ? AND to_seq IS NULL"""
OPEN_ALIASES = "SELECT event_seq FROM alias WHERE learning_id = ? AND to_seq IS NULL"
OPEN_PAIRS = """SELECT one_id, other_id, event_seq FROM pair
WHERE (one_id = :id OR other_id = :id) AND to_seq IS NULL"""
MERGED_INTO = """SELECT k.new_id FROM link AS k JOIN event AS e ON e.seq = k.event_seq
WHERE k.old_id = ? AND k.to_seq IS NULL AND e.kind = 'learning.merged' ORDER BY k.event_seq DESC LIMIT 1"""
"""The learning that stands for one which said the same, by a person's decision."""

MERGED_PLACES = """SELECT k.old_id, s.locator_key FROM link AS k JOIN event AS e ON e.seq = k.event_seq
JOIN source AS s ON s.learning_id = k.old_id AND s.to_seq IS NULL
WHERE k.new_id = ? AND k.to_seq IS NULL AND e.kind = 'learning.merged' AND s.locator_key IS NOT NULL
ORDER BY k.old_id, s.source_id"""
"""Where that stands which a learning stands for: it is said there too."""

OPEN_JUDGEMENTS = "SELECT learning_id, event_seq FROM judgement WHERE exposure = ? AND to_seq IS NULL"
OPEN_SUMMARY = "SELECT event_seq FROM session_summary WHERE id = ? AND to_seq IS NULL"
SUMMARY_OF = """SELECT id, event_seq FROM session_summary
WHERE session = :session AND project = :project AND text = :text AND to_seq IS NULL ORDER BY event_seq DESC LIMIT 1"""
SUMMARY_EVER = "SELECT 1 FROM session_summary WHERE session = :session AND text = :text LIMIT 1"
STATEMENTS = """SELECT DISTINCT l.id, l.solution, min(l.observed_at, l.recorded_at), l.project FROM source AS s
JOIN learning AS l ON l.id = s.learning_id
JOIN learning_state AS t ON t.learning_id = l.id AND t.to_seq IS NULL
WHERE s.kind = 'transcript' AND s.to_seq IS NULL AND t.state = 'current' AND l.trust = 3 AND l.solution IS NOT NULL
  AND l.project IN (SELECT value FROM json_each(:projects))
ORDER BY l.id"""
"""What people laid down in sessions of some projects, and stands, with when it was said: no later than it came here,
whatever the clock of the session said."""
PAYLOAD_BODY = "SELECT body FROM payload WHERE seq = ?"
REOPEN_SOURCE = """INSERT INTO source (source_id, from_seq, to_seq, learning_id, event_seq, kind, locator, locator_key,
                    path, line)
SELECT source_id, :at, NULL, learning_id, event_seq, kind, locator, locator_key, path, line
FROM source WHERE source_id = :source ORDER BY from_seq LIMIT 1"""

EMPTY = (
    """UPDATE learning SET title = NULL, problem = NULL, solution = NULL, project = NULL, tags = NULL,
       observed_at = NULL, content_key = NULL, erased_by = :by WHERE seq = :seq AND erased_by IS NULL""",
    "DELETE FROM learning_fts WHERE rowid = :seq",
    "DELETE FROM vector WHERE seq = :seq",
    """UPDATE source SET kind = NULL, locator = NULL, locator_key = NULL, path = NULL, line = NULL
       WHERE event_seq = :seq""",
    "UPDATE setting SET value = NULL WHERE event_seq = :seq",
    "UPDATE alias SET words = NULL WHERE event_seq = :seq",
    "DELETE FROM alias_fts WHERE rowid = :seq",
    "UPDATE judgement SET project = NULL, keywords = NULL WHERE event_seq = :seq",
    """UPDATE session_summary SET session = NULL, project = NULL, text = NULL, covers_from = NULL, covers_to = NULL
       WHERE event_seq = :seq""",
)
"""What an erasure does to the projections of event `:seq`."""

REFRESH_COUNTS = (
    "DELETE FROM word_count",
    "INSERT INTO word_count (word, learnings) SELECT term, doc FROM learning_words WHERE term IS NOT NULL",
    "DELETE FROM word_total",
    """INSERT INTO word_total (one, learnings, seq)
       SELECT 1, (SELECT count(*) FROM learning_fts_docsize), (SELECT coalesce(max(seq), 0) FROM event)""",
)
VECTOR_VERSION = "INSERT OR REPLACE INTO vector_version (one, version) VALUES (1, ?)"
VECTORS_OF = "SELECT version FROM vector_version"
FORGET_VECTORS = "DELETE FROM vector"
WITHOUT_VECTOR = """SELECT l.seq, l.project, l.title, l.problem, l.solution, l.tags FROM learning AS l
WHERE l.problem IS NOT NULL AND l.seq NOT IN (SELECT v.seq FROM vector AS v) ORDER BY l.seq"""

COUNTED = "SELECT learnings FROM word_total"
INDEXED_ROWS = "SELECT count(*) FROM learning_fts_docsize"
ERASE = "UPDATE payload SET body = NULL, salt = NULL, erased_by = :by WHERE seq = :seq AND body IS NOT NULL"
SCHEMA_TEXT = """SELECT name, sql FROM main.sqlite_schema
WHERE sql IS NOT NULL AND name NOT LIKE 'learning\\_fts\\_%' ESCAPE '\\'
  AND name NOT LIKE 'alias\\_fts\\_%' ESCAPE '\\' ORDER BY name"""
STORED_TABLES = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name"
FOREIGN_TRIGGERS = "SELECT name, tbl_name FROM main.sqlite_schema WHERE type = 'trigger' ORDER BY name"
HAS_TABLES = "SELECT 1 FROM sqlite_schema LIMIT 1"
HAS_LOG = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('event', 'payload', 'meta')"
HAS_PROJECTION = "SELECT 1 FROM sqlite_schema WHERE name = 'projection'"

LEARNING_COLUMNS = (
    "seq",
    "id",
    "title",
    "problem",
    "solution",
    "category",
    "confidence",
    "project",
    "tags",
    "trust",
    "channel",
    "content_key",
    "erased_by",
)
LEARNING = f"SELECT {', '.join(LEARNING_COLUMNS)} FROM learning WHERE id = ?"
KNOWN_AMONG = "SELECT id FROM learning WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
SAME_CONTENT = "SELECT id FROM learning WHERE content_key = ? ORDER BY seq DESC"
HEADS = """WITH RECURSIVE chain (id) AS (
  SELECT :id UNION SELECT k.new_id FROM link AS k JOIN chain AS c ON k.old_id = c.id WHERE k.to_seq IS NULL)
SELECT c.id FROM chain AS c JOIN learning_state AS s ON s.learning_id = c.id AND s.to_seq IS NULL
WHERE s.state = 'current' ORDER BY c.id"""
REPLACED_BY = "SELECT event_seq FROM link WHERE new_id = :id AND to_seq IS NULL ORDER BY event_seq DESC LIMIT 1"
CREATING_DATA = "SELECT e.data FROM learning AS l JOIN event AS e ON e.seq = l.seq WHERE l.id = ?"
STANDING_FILES = """SELECT path, line FROM source
WHERE learning_id = ? AND to_seq IS NULL AND path IS NOT NULL AND kind = 'memory-note' ORDER BY source_id"""

ACT = "SELECT seq, kind, stream, data, actor_kind, trust, channel, actor_id FROM event WHERE seq = ?"
BATCH = """SELECT seq, kind, stream, data, actor_kind, trust, channel, actor_id FROM event
WHERE batch = ? ORDER BY seq"""
BATCH_OF = "SELECT batch FROM event WHERE seq = ?"
BATCH_UNDONE = """SELECT u.target_seq FROM undo AS u JOIN event AS e ON e.seq = u.target_seq
WHERE e.batch = ? AND u.to_seq IS NULL ORDER BY u.target_seq"""
UNDONE_BY = "SELECT undo_seq FROM undo WHERE target_seq = ? AND to_seq IS NULL ORDER BY undo_seq LIMIT 1"
EVENT_ID_SEQ = "SELECT seq FROM event WHERE event_id = ?"
EVENTS_OF_COMMAND = (
    f"SELECT {COLUMNS} FROM event AS e JOIN payload AS p ON p.seq = e.seq WHERE e.event_id IN (?, ?) ORDER BY e.seq"
)

STANDING = """SELECT learning_id, locator_key, path FROM source
WHERE to_seq IS NULL AND locator_key IS NOT NULL AND kind = :kind"""
STANDS_AT = """SELECT l.content_key FROM source AS s JOIN learning AS l ON l.id = s.learning_id
WHERE s.learning_id = ? AND s.locator_key = ? AND s.to_seq IS NULL"""
_KEYS = """WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 32 FROM n WHERE at + 32 <= length(:keys)),
keys (key) AS MATERIALIZED (SELECT substr(:keys, at, 32) FROM n)"""
"""Many keys in one blob, end to end: asked for one by one, those of 50,000 drafts take longer than their plan."""

LOCATORS_AMONG = f"""{_KEYS}
SELECT k.key, l.id FROM keys AS k CROSS JOIN source AS s ON s.locator_key = k.key
JOIN learning AS l ON l.id = s.learning_id ORDER BY l.seq DESC, s.source_id"""
PLACES_AMONG = f"""{_KEYS}
SELECT k.key FROM keys AS k WHERE EXISTS (SELECT 1 FROM source AS s WHERE s.locator_key = k.key)"""
CONTENTS_AMONG = f"""{_KEYS}
SELECT k.key, l.id, l.batch FROM keys AS k CROSS JOIN learning AS l ON l.content_key = k.key ORDER BY l.seq DESC"""
REPLACED_AMONG = f"""{_KEYS}
SELECT DISTINCT k.key FROM keys AS k CROSS JOIN source AS s ON s.locator_key = k.key
JOIN learning_state AS t ON t.learning_id = s.learning_id AND t.to_seq IS NULL WHERE t.state = 'superseded'"""
"""The places at which ever stood what something else took the place of."""

CONTENTS_AT = """SELECT l.content_key FROM source AS s JOIN learning AS l ON l.id = s.learning_id
WHERE s.locator_key = ? AND s.to_seq IS NULL AND l.content_key IS NOT NULL ORDER BY l.seq"""
CURRENT_AT = """SELECT l.content_key FROM source AS s JOIN learning AS l ON l.id = s.learning_id
JOIN learning_state AS t ON t.learning_id = l.id AND t.to_seq IS NULL
WHERE s.locator_key = ? AND s.to_seq IS NULL AND t.state = 'current' AND l.content_key IS NOT NULL
ORDER BY l.seq"""
HEADS_AT = """WITH RECURSIVE chain (id) AS (
  SELECT s.learning_id FROM source AS s JOIN learning_state AS t ON t.learning_id = s.learning_id AND t.to_seq IS NULL
  WHERE s.locator_key = :key AND t.state = 'superseded'
  UNION SELECT k.new_id FROM link AS k JOIN chain AS c ON k.old_id = c.id WHERE k.to_seq IS NULL)
SELECT l.problem, l.solution, l.content_key FROM chain AS c JOIN learning AS l ON l.id = c.id
JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state = 'current' AND l.solution IS NOT NULL ORDER BY l.seq"""
"""What the live heads say of those superseded learnings that ever stood at a place."""

ALL_SOURCES = """SELECT source_id, locator_key, event_seq, to_seq FROM source
WHERE learning_id = ? AND kind <> 'origin' ORDER BY source_id, from_seq"""
KINDS_SINCE = "SELECT DISTINCT kind FROM event WHERE seq > :seq"
PATHS_TOUCHED_SINCE = """SELECT s.path, max(t.seq) FROM touch AS t JOIN source AS s ON s.learning_id = t.id
WHERE t.seq > :seq AND s.path IS NOT NULL GROUP BY s.path"""
LOCATORS_TOUCHED_SINCE = """SELECT DISTINCT s.locator_key FROM touch AS t JOIN source AS s ON s.learning_id = t.id
WHERE t.seq > :seq AND s.locator_key IS NOT NULL"""
SETTINGS_TOUCHED_SINCE = """SELECT DISTINCT id FROM touch
WHERE seq > :seq AND id >= 'setting:' AND id < 'setting;' ORDER BY id"""
BLOCKED = """SELECT seq, json_extract(data, '$.blocked') FROM event
WHERE kind = 'payload.erased' AND json_array_length(data, '$.blocked') > 0 ORDER BY seq"""
ADDED_LAST = "SELECT max(event_seq) FROM source WHERE locator_key = ?"
"""The event that last brought something in from a place and still has its text."""
ERASED_TARGETS = "SELECT json_extract(data, '$.targets') FROM event WHERE kind = 'payload.erased' ORDER BY seq"
PAYLOADS_LEFT = """SELECT e.seq, e.kind, e.stream, e.data, p.body FROM event AS e JOIN payload AS p ON p.seq = e.seq
WHERE p.body IS NOT NULL AND e.seq > :after ORDER BY e.seq LIMIT :limit"""
"""Everything that still has a text, a piece at a time, for finding copies of what has to go."""

WORD_ROWS = "SELECT rowid FROM learning_fts WHERE learning_fts MATCH :match LIMIT :most"
SOURCES_OF = """SELECT locator, locator_key, path FROM source
WHERE event_seq IN (SELECT value FROM json_each(:seqs)) AND locator IS NOT NULL ORDER BY source_id, from_seq"""
ALL_PATHS = """SELECT DISTINCT path FROM source WHERE path IS NOT NULL
UNION SELECT j.value FROM event AS e JOIN payload AS p ON p.seq = e.seq,
  json_each(CAST(p.body AS TEXT), '$.paths') AS j WHERE e.kind = 'batch.started' AND p.body IS NOT NULL ORDER BY 1"""
WORD_INDEXES = ("learning_fts", "alias_fts")
INDEX_CONFIG = "SELECT k, v FROM {}_config ORDER BY k"
INDEX_LEAVES = """SELECT id >> 37 AS segment, id & 2147483647 AS page, hex(substr(block, 3, 2)), length(block)
FROM {}_data WHERE id >> 37 BETWEEN 1 AND 65535 AND id >> 31 & 63 = 0 ORDER BY segment, page"""
INDEX_PAGES = "SELECT segid, pgno >> 1 FROM {}_idx"
REVISIONS = "SELECT version_num FROM alembic_version"
CHECK_INDEXES = tuple(f"INSERT INTO {name} ({name}) VALUES ('integrity-check')" for name in WORD_INDEXES)

# -- PostgreSQL ----------

REVISION = "SELECT version_num FROM alembic_version"
LIMITS = """SELECT set_config('lock_timeout', :wait, true),
       CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"""
APPEND_LOCK = "SELECT pg_advisory_xact_lock(:key)"
MIGRATION_LOCK = "SELECT pg_advisory_lock(:key)"
CLOCK = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
TRIGGERS = """SELECT pg_get_triggerdef(t.oid), t.tgenabled IN ('O', 'A') FROM pg_trigger AS t
JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relname IN ('event', 'payload', 'meta') AND NOT t.tgisinternal ORDER BY t.oid"""
FUNCTIONS = """SELECT p.proname, p.prosrc FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
WHERE n.nspname = 'public' AND starts_with(p.proname, 'ledger_') ORDER BY p.oid"""
ENCODING = "SELECT current_setting('server_encoding')"
"""`LIMITS` bounds the wait for the append lock and makes a commit durable where the role would not wait for it."""
PROJECTS_AT = """SELECT l.project, s.locator FROM source AS s JOIN learning AS l ON l.id = s.learning_id
WHERE s.locator IS NOT NULL AND l.project IS NOT NULL ORDER BY l.seq"""
"""Projects of all that ever stood at a place; the newest learning's comes last."""
