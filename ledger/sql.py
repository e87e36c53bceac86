"""Every SELECT of the read path, named for its answer.

Binds are `:name`; a list is bound as one JSON text and opened with `json_each`.
`:at` is a seq: a period holds there when it began at or before it and has not
ended. `NOW` stands for the end of the log. Statements over the log itself, and
the projector's, are in `sql_log.py`.
"""

APPLICATION_ID = 0x4C524E31
"""`PRAGMA application_id` of a ledger file, LRN1 in ASCII; as in `tables.py`, which no read imports."""

SCHEMA_VERSION = 1
"""`PRAGMA user_version` that this program reads; the same as in `tables.py`."""

PROJECTION_VERSION = 5
"""Changes whenever the projections of an unchanged log would differ; the next write rebuilds them."""

NOW = 2**63 - 1
"""A seq after every other: as-of the end of the log."""

TOKENIZER = "porter unicode61 remove_diacritics 2"
"""Tokenizer of the words index, for the table in memory that stems a question's words the same way."""

_HOLDS = "{0}.from_seq <= :at AND ({0}.to_seq IS NULL OR {0}.to_seq > :at)"
_SERVED_TRUST = "CASE WHEN s.reviewed = 1 OR s.agreed = 1 THEN max(l.trust, 2) ELSE l.trust END"
_WITHHELD = """EXISTS (SELECT 1 FROM learning_state AS w
  WHERE w.learning_id = l.id AND w.to_seq IS NULL AND w.state = 'quarantined')"""
_NOT_WITHHELD = f"(:at = {NOW} OR NOT {_WITHHELD})"
"""What is withheld today is not served as of an earlier day either: the past is asked for to read it."""

_PLACED = """(:projects IS NULL OR l.project IN (SELECT value FROM json_each(:projects)))
  AND (:category IS NULL OR l.category = :category)"""
_FITS = f"""{_PLACED}
  AND (:trust IS NULL OR {_SERVED_TRUST} >= :trust)
  AND (:tags IS NULL OR NOT EXISTS (
      SELECT 1 FROM json_each(:tags) AS want
      WHERE lower(want.value) NOT IN (SELECT lower(has.value) FROM json_each(l.tags) AS has)))"""

# -- the file ----------------------------------------------------------------------------------------------------------

FILE_IDENTITY = "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version"
FILE_VERSION = "SELECT schema_version FROM pragma_schema_version"
"""Another number whenever the file was compacted, as an erasure does, or its tables were made anew."""
PROJECTION = "SELECT version, seq FROM projection"
UNERASED = """SELECT p.seq FROM json_each(:seqs) AS want CROSS JOIN payload AS p ON p.seq = want.value
WHERE p.body IS NOT NULL ORDER BY p.seq"""
"""Events that were erased and have their text again: an older copy was put in the file's place."""
HEAD = "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1"
LAST_EVENT = """SELECT seq, hash, CAST(strftime('%s', recorded_at) AS INTEGER) FROM event
ORDER BY seq DESC LIMIT 1"""
"""The end of the log, and when it was recorded in seconds since 1970."""

META = "SELECT ledger_id, format FROM meta"
RECORDED_AT = "SELECT recorded_at FROM event WHERE seq = :seq"
INSTANT = """SELECT strftime('%Y-%m-%dT%H:%M:%S', :moment), strftime('%Y-%m-%d', :day, '+0 days')"""
"""A moment with an offset as UTC, NULL when there is none; and the day again, another one when it is in no calendar."""

# -- words -------------------------------------------------------------------------------------------------------------

WORD_MATCHES = """SELECT rowid, -bm25(learning_fts, 2.0, 1.0, 1.5, 1.0)
FROM learning_fts WHERE learning_fts MATCH :match"""
"""Learnings that hold a term; weights of title, problem, solution, tags."""

ALIAS_MATCHES = f"""SELECT l.seq
FROM alias_fts JOIN alias AS a ON a.event_seq = alias_fts.rowid AND {_HOLDS.format("a")}
JOIN learning AS l ON l.id = a.learning_id WHERE alias_fts MATCH :match"""
"""Learnings that are found by a term because somebody named it for them (`aliases.derived`), as of `:at`."""

HAS_ALIASES = "SELECT 1 FROM alias LIMIT 1"

PINNED = f"""SELECT l.seq, l.id FROM learning AS l
JOIN learning_state AS s ON s.learning_id = l.id AND {_HOLDS.format("s")}
WHERE s.state = 'current' AND s.pinned = 1 AND l.erased_by IS NULL AND {_FITS}
ORDER BY l.seq DESC LIMIT :many"""
"""What a person pinned, newest first."""

JUDGED_WRONG = """SELECT DISTINCT exposure FROM judgement
WHERE to_seq IS NULL AND event_seq > :after AND verdict IN ('wrong', 'silent') ORDER BY exposure"""
"""Exposures that were judged wrong, or better silent, after a seq; no verdict of these was undone or replaced."""

SAVES = """SELECT channel, coalesce(actor_id, ''), count(*) FROM event
WHERE seq > :after AND kind IN ('learning.recorded', 'learning.superseded', 'learning.proposed')
GROUP BY channel, actor_id ORDER BY channel, actor_id"""
"""Learnings that were written after a seq, by channel and by who wrote."""

LAST_SAVES = """SELECT channel, max(recorded_at), count(*) FROM event
WHERE kind IN ('learning.recorded', 'learning.superseded', 'learning.proposed') GROUP BY channel ORDER BY channel"""
"""When each channel wrote a learning last, and how many it wrote."""

JUDGEMENTS = """SELECT exposure, learning_id, verdict, project, keywords, event_seq FROM judgement
WHERE to_seq IS NULL ORDER BY event_seq, learning_id"""
"""The verdicts that hold, in the order they were given."""

WORD_ROWS = "SELECT rowid FROM learning_fts WHERE learning_fts MATCH :match ORDER BY rowid DESC LIMIT :many"

# -- meaning -----------------------------------------------------------------------------------------------------------

PIECE_META = "SELECT key, value FROM meta"
PIECE = "SELECT vec, weight FROM token WHERE token = :token"
PIECE_NAMES = "SELECT token FROM token"
PIECES_AMONG = "SELECT token FROM token WHERE token IN (SELECT value FROM json_each(:names))"
LONGEST_PIECE = """SELECT token FROM token WHERE token IN (SELECT value FROM json_each(:names))
ORDER BY length(token) DESC, token LIMIT 1"""
ODD_PIECES = """SELECT count(*) FROM token
WHERE typeof(token) <> 'text' OR typeof(vec) <> 'blob' OR length(vec) <> :dims
   OR typeof(weight) <> 'integer' OR weight NOT BETWEEN 1 AND :heaviest"""
"""Of the token table, which is a file of its own."""

VECTOR_VERSION = "SELECT version FROM vector_version"
SCOPE_SEQS = """SELECT seq FROM learning
WHERE seq > :after AND (:projects IS NULL OR project IN (SELECT value FROM json_each(:projects))) ORDER BY seq"""
STATES_OF = """SELECT l.seq, s.state FROM json_each(:seqs) AS want CROSS JOIN learning AS l ON l.seq = want.value
JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state IN ('current', 'superseded') AND l.erased_by IS NULL"""
"""The states of those that are served or lead to one that is."""

SIGNS = """SELECT seq, sign FROM vector
WHERE project IN (SELECT value FROM json_each(:projects)) ORDER BY project, sign, seq"""
"""Signs of the learnings of a scope, from an index alone."""

SIGNS_AFTER = """SELECT seq, sign FROM vector
WHERE seq > :after AND (:projects IS NULL OR project IN (SELECT value FROM json_each(:projects))) ORDER BY seq"""

VECTORS = """SELECT v.seq, v.problem, v.whole FROM json_each(:seqs) AS want CROSS JOIN vector AS v ON v.seq = want.value
ORDER BY v.seq"""

CORRECTIONS = "SELECT stream FROM event WHERE batch = :seq AND kind = 'learning.superseded' ORDER BY seq"
"""What the verdict of event `:seq` put in the place of what was wrong, in the same batch."""

SHOWN_OF = "SELECT json_extract(CAST(body AS TEXT), '$.shown') FROM payload WHERE seq = :seq"
"""What an exposure had shown, as the verdict of event `:seq` keeps it."""

WORD_NEWEST = """SELECT rowid FROM learning_fts
WHERE learning_fts MATCH :match AND rowid < :before ORDER BY rowid DESC LIMIT :many"""
INDEXED_ROWS = "SELECT count(*) FROM learning_fts_docsize"
WORD_COUNTS = "SELECT word, learnings FROM word_count WHERE word IN (SELECT value FROM json_each(:words))"

STEM_TABLES = (
    f"CREATE VIRTUAL TABLE typed USING fts5(text, tokenize = '{TOKENIZER}')",
    "CREATE VIRTUAL TABLE stem USING fts5vocab('typed', 'instance')",
)
STEM_CLEAR = "DELETE FROM typed"
STEM_ADD = "INSERT INTO typed (rowid, text) VALUES (:row, :text)"
STEMS = "SELECT doc, term FROM stem ORDER BY doc, offset"

# -- candidates --------------------------------------------------------------------------------------------------------

CANDIDATES = f"""SELECT l.seq, l.id, s.state, {_FITS} AS fits
FROM json_each(:seqs) AS want CROSS JOIN learning AS l ON l.seq = want.value
JOIN learning_state AS s ON s.learning_id = l.id AND {_HOLDS.format("s")}
WHERE s.state IN ('current', 'superseded') AND l.erased_by IS NULL AND {_NOT_WITHHELD}
  AND ({_PLACED} OR EXISTS (SELECT 1 FROM link AS k WHERE k.old_id = l.id))"""
"""Which of these may be served themselves, or point at their successors. What is of another project and was
never replaced is left out before its state is looked up, which is most of the cost in a large ledger."""

LIVE = f"""SELECT l.seq, l.id, {_FITS} AS fits
FROM json_each(:ids) AS want CROSS JOIN learning AS l ON l.id = want.value
JOIN learning_state AS s ON s.learning_id = l.id AND {_HOLDS.format("s")}
WHERE s.state = 'current' AND l.erased_by IS NULL AND {_NOT_WITHHELD}"""
"""Which of these ids are current, and whether they pass the filters."""

LINKS_ONWARD = f"""WITH RECURSIVE reach(id) AS (
  SELECT value FROM json_each(:ids)
  UNION SELECT k.new_id FROM reach JOIN link AS k ON k.old_id = reach.id WHERE {_HOLDS.format("k")})
SELECT k.old_id, k.new_id, k.from_seq, e.recorded_at
FROM reach JOIN link AS k ON k.old_id = reach.id AND {_HOLDS.format("k")} JOIN event AS e ON e.seq = k.from_seq
ORDER BY k.from_seq, k.old_id, k.new_id, k.event_seq"""
"""Every link of the chains that begin at these ids; UNION ends it on a cycle."""

LINKS_BACK = f"""WITH RECURSIVE reach(id) AS (
  SELECT value FROM json_each(:ids)
  UNION SELECT k.old_id FROM reach JOIN link AS k ON k.new_id = reach.id WHERE {_HOLDS.format("k")})
SELECT k.old_id, k.new_id, k.from_seq, e.recorded_at
FROM reach JOIN link AS k ON k.new_id = reach.id AND {_HOLDS.format("k")} JOIN event AS e ON e.seq = k.from_seq
ORDER BY k.from_seq, k.old_id, k.new_id, k.event_seq"""

LEARNINGS = f"""SELECT l.seq, l.id, l.title, l.problem, l.solution, l.category, l.project, l.tags, s.state,
       {_SERVED_TRUST} AS trust, l.recorded_at, l.observed_at, l.confidence, s.pinned
FROM json_each(:seqs) AS want CROSS JOIN learning AS l ON l.seq = want.value
JOIN learning_state AS s ON s.learning_id = l.id AND {_HOLDS.format("s")}
ORDER BY l.seq"""

NAMED = f"""SELECT l.id, CASE WHEN {_WITHHELD} THEN NULL ELSE l.title END, s.state, l.recorded_at
FROM json_each(:ids) AS want CROSS JOIN learning AS l ON l.id = want.value
JOIN learning_state AS s ON s.learning_id = l.id AND {_HOLDS.format("s")}
ORDER BY l.seq"""
"""Title, state and time of these ids, oldest first; what is withheld has no title here."""

SUMMARY = f"""SELECT y.event_seq, y.session, y.project, y.text, y.covers_from, y.covers_to, e.recorded_at, e.trust
FROM session_summary AS y JOIN event AS e ON e.seq = y.event_seq
WHERE {_HOLDS.format("y")} AND y.text IS NOT NULL AND min(coalesce(
    strftime('%Y-%m-%dT%H:%M:%S', json_extract(e.data, '$.clock_raw_us') / 1000000, 'unixepoch'), e.recorded_at
  ), coalesce(y.covers_to, e.recorded_at)) >= strftime('%Y-%m-%dT%H:%M:%S', :moment, :age)
  AND y.project IN (SELECT value FROM json_each(:projects))
ORDER BY coalesce(y.covers_to, e.recorded_at) DESC, y.event_seq DESC LIMIT 1"""
"""The newest summary of a project's sessions, as of `:at`; its age is what the clock said then, or when what it covers
ended, where that is known: a transcript may be read long after."""

SHOWN_TEXTS = """SELECT l.id, l.title, l.problem, l.solution, l.project
FROM json_each(:ids) AS want CROSS JOIN learning AS l ON l.id = want.value
JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state = 'current' AND l.erased_by IS NULL ORDER BY l.seq"""
"""What those of these learnings say that are current."""

GONE_TEXTS = """SELECT l.id, l.title, l.problem, l.solution, l.project, s.state
FROM learning_state AS s JOIN learning AS l ON l.id = s.learning_id
WHERE s.to_seq IS NULL AND s.state IN ('superseded', 'retracted') AND l.erased_by IS NULL
  AND NOT EXISTS (SELECT 1 FROM link AS k JOIN event AS e ON e.seq = k.event_seq
    WHERE k.old_id = l.id AND k.to_seq IS NULL AND e.kind = 'learning.merged')
ORDER BY s.from_seq DESC, l.seq DESC LIMIT :many"""
"""What those say that were superseded or retracted, the last one first; what was merged is said still."""

HEAD_TEXTS = """WITH RECURSIVE chain (id) AS (
  SELECT :id UNION SELECT k.new_id FROM link AS k JOIN chain AS c ON k.old_id = c.id WHERE k.to_seq IS NULL)
SELECT l.id, l.title, l.problem, l.solution, l.project
FROM chain AS c JOIN learning AS l ON l.id = c.id
JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state = 'current' AND l.erased_by IS NULL ORDER BY l.seq"""
"""What the live heads of a learning's chain say."""

CURRENT_TEXTS = """SELECT l.seq, l.id, l.title, l.problem, l.solution, l.project,
       (SELECT group_concat(t.value, ' ') FROM json_each(l.tags) AS t), l.trust, s.reviewed = 1 OR s.pinned = 1
FROM learning AS l JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state = 'current' AND l.erased_by IS NULL AND l.seq > :after ORDER BY l.seq LIMIT :many"""
"""What everything current says, page by page, with its trust and whether a person stands by it."""

OLDER_THAN_NEWEST = "SELECT seq FROM learning ORDER BY seq DESC LIMIT 1 OFFSET :many"
SETTLED_TEXTS = """SELECT o.problem, o.solution, t.problem, t.solution
FROM pair AS p JOIN learning AS o ON o.id = p.one_id JOIN learning AS t ON t.id = p.other_id
WHERE p.to_seq IS NULL AND o.erased_by IS NULL AND t.erased_by IS NULL ORDER BY p.event_seq"""
"""What those say that a person called different."""

_OF_STATE = f"""JOIN learning_state AS s ON s.learning_id = l.id AND {_HOLDS.format("s")}
WHERE s.state = :state AND l.erased_by IS NULL AND {_NOT_WITHHELD} AND {_FITS}"""
NEWEST = f"""SELECT l.seq, l.id FROM learning AS l {_OF_STATE} AND l.seq < :before
ORDER BY l.seq DESC LIMIT :many"""
NEWEST_AMONG = f"""SELECT l.seq, l.id
FROM json_each(:seqs) AS want CROSS JOIN learning AS l ON l.seq = want.value {_OF_STATE}
ORDER BY l.seq DESC LIMIT :many"""
PROJECT_SEQS = """SELECT seq FROM learning
WHERE project IN (SELECT value FROM json_each(:projects)) AND (:category IS NULL OR category = :category)
  AND seq < :before
ORDER BY seq DESC LIMIT :page"""
"""A project's learnings from its index alone: 3 ms among 15,000, where the whole rows and states took 60 ms."""

CATEGORY_SEQS = "SELECT seq FROM learning WHERE category = :category AND seq < :before ORDER BY seq DESC LIMIT :page"

PROJECT_ALIASES = """SELECT value FROM setting
WHERE name = 'project_aliases' AND to_seq IS NULL AND value IS NOT NULL ORDER BY scope, machine"""

IMPORTED_PATHS = """SELECT DISTINCT p.value FROM imports AS i, json_each(i.paths) AS p
WHERE i.importer = 'memory-notes' AND i.undone < i.events ORDER BY p.value"""
"""Paths of imports of which something is left."""

# -- one learning ------------------------------------------------------------------------------------------------------

PLACES = """SELECT s.learning_id, min(coalesce(s.path, s.locator)) FROM source AS s
WHERE s.to_seq IS NULL AND s.learning_id IN (SELECT value FROM json_each(:ids))
GROUP BY s.learning_id HAVING min(coalesce(s.path, s.locator)) IS NOT NULL ORDER BY s.learning_id"""
"""The file that each of these learnings was read from, of those that stand in one."""

IDS_FROM = """SELECT l.id, l.project FROM learning AS l
WHERE l.id >= :first AND l.id < :last ORDER BY l.id LIMIT :many"""
IDS_BEFORE = "SELECT l.id, l.project FROM learning AS l WHERE l.id < :first ORDER BY l.id DESC LIMIT :many"
SEQ_OF = "SELECT seq FROM learning WHERE id = :id"
ORIGIN = """SELECT l.seq, l.actor_kind, l.channel, l.batch, l.erased_by,
       (SELECT max(t.seq) FROM touch AS t WHERE t.id = l.id)
FROM learning AS l WHERE l.id = :id"""
SOURCES = """SELECT s.kind, s.locator, s.path, s.line, max(s.to_seq IS NULL) AS stands
FROM source AS s WHERE s.learning_id = :id OR s.learning_id IN (
    SELECT k.old_id FROM link AS k JOIN event AS e ON e.seq = k.event_seq
    WHERE k.new_id = :id AND k.to_seq IS NULL AND e.kind = 'learning.merged')
GROUP BY s.source_id, s.kind, s.locator, s.path, s.line ORDER BY min(s.from_seq), s.source_id"""
"""Where a learning stands, and where those do which said the same and were merged into it."""

HISTORY = """SELECT e.seq, e.kind, e.recorded_at, e.actor_kind, e.channel, e.trust,
       (SELECT u.undo_seq FROM undo AS u WHERE u.target_seq = e.seq AND u.to_seq IS NULL) AS undone_by,
       json_extract(CAST(p.body AS TEXT), '$.reason') AS reason, e.batch, e.stream, p.erased_by
FROM touch AS t JOIN event AS e ON e.seq = t.seq JOIN payload AS p ON p.seq = e.seq
WHERE t.id = :id ORDER BY e.seq"""

# -- what waits, what is trusted ---------------------------------------------------------------------------------------

_WAITS = """SELECT l.seq, l.id, s.state, l.recorded_at, e.recorded_at, e.seq
FROM learning_state AS s JOIN learning AS l ON l.id = s.learning_id JOIN event AS e ON e.seq = s.from_seq
WHERE s.to_seq IS NULL AND s.state IN ('candidate', 'quarantined') AND l.erased_by IS NULL
  AND NOT (e.kind = 'learning.quarantined' AND e.actor_kind = 'person') AND e.recorded_at >= :since
UNION ALL
SELECT l.seq, l.id, s.state, l.recorded_at, e.recorded_at, e.seq
FROM learning AS l CROSS JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
JOIN event AS e ON e.seq = s.from_seq
WHERE l.trust = 0 AND s.state = 'current' AND s.reviewed = 0 AND s.agreed = 0 AND l.erased_by IS NULL
  AND e.recorded_at >= :since"""
WAITING = f"{_WAITS} ORDER BY 1 DESC"
"""What waits for a person and changed since: candidates, what the screen withheld, what was inferred, newest first."""

WAITING_COUNT = f"SELECT count(*) FROM ({_WAITS})"
"""How many of those there are; two partial indexes answer it."""

WHY_WAITING = """SELECT e.kind, e.data, json_extract(CAST(p.body AS TEXT), '$.reason')
FROM touch AS t JOIN event AS e ON e.seq = t.seq JOIN payload AS p ON p.seq = e.seq
WHERE t.id = :id AND e.stream = :id
  AND e.kind IN ('learning.recorded', 'learning.superseded', 'learning.proposed', 'learning.quarantined')
  AND NOT EXISTS (SELECT 1 FROM undo AS u WHERE u.target_seq = e.seq AND u.to_seq IS NULL) ORDER BY e.seq"""
"""The events that made an item wait, with the reasons they keep."""

TRUSTED_PATHS = """SELECT path, count(*), sum(state = 'current'), min(recorded_at) FROM trusted
WHERE holds AND how = 'path' AND path IS NOT NULL GROUP BY path ORDER BY path"""
"""Places whose content a person trusts: how many learnings, and how many of them are current still."""

CHANGED_SINCE = """SELECT t.path, count(DISTINCT l.id)
FROM (SELECT DISTINCT path FROM trusted WHERE holds AND how = 'path' AND path IS NOT NULL) AS t
JOIN source AS f ON f.to_seq IS NULL AND (f.path = t.path OR substr(f.path, 1, length(t.path) + 1) = t.path || '/')
JOIN learning AS l ON l.id = f.learning_id AND l.trust < 2
JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state = 'current' AND s.reviewed = 0 AND s.agreed = 0 GROUP BY t.path ORDER BY t.path"""
"""How many current learnings stand at a trusted place that nobody trusted: changed or added since."""

UNTRUSTED = """SELECT count(*) FROM learning AS l JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE l.trust = 1 AND s.state = 'current' AND s.reviewed = 0 AND l.erased_by IS NULL"""
"""How many learnings from files of repositories, or exports, are served only when asked for."""

GRANTS_BELOW = """SELECT DISTINCT t.event_seq FROM trusted AS t JOIN source AS f ON f.learning_id = t.learning_id
WHERE t.holds AND (f.path = :path OR substr(f.path, 1, length(:path) + 1) = :path || '/') ORDER BY t.event_seq"""
"""The grants that hold for what stands, or once stood, at a file or below a folder."""

STANDS_HERE = """SELECT l.id, l.content_key, l.trust, s.state, s.reviewed
FROM source AS f JOIN learning AS l ON l.id = f.learning_id
JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE f.locator_key = :key AND f.to_seq IS NULL ORDER BY l.seq"""
"""What stands at one place, by its key."""

# -- counts ------------------------------------------------------------------------------------------------------------

COUNT_BY_STATE = "SELECT state, count(*) FROM learning_state WHERE to_seq IS NULL GROUP BY state ORDER BY state"
_COUNT_CURRENT = """FROM learning AS l JOIN learning_state AS s ON s.learning_id = l.id AND s.to_seq IS NULL
WHERE s.state = 'current' AND l.erased_by IS NULL"""
COUNT_BY_PROJECT = f"SELECT l.project, count(*) {_COUNT_CURRENT} GROUP BY l.project ORDER BY count(*) DESC, l.project"
COUNT_BY_CATEGORY = f"SELECT l.category, count(*) {_COUNT_CURRENT} GROUP BY l.category ORDER BY l.category"
COUNT_BY_TRUST = f"SELECT l.trust, count(*) {_COUNT_CURRENT} GROUP BY l.trust ORDER BY l.trust DESC"
SETTINGS = """SELECT s.name, s.scope, s.machine, s.value FROM setting AS s
WHERE s.to_seq IS NULL AND s.value IS NOT NULL ORDER BY s.name, s.scope, s.machine"""
