"""Look at learnings by id, at their history, and at the ledger as a whole.

Apart from `reader.py`, because a plain question needs none of it.
Lean path: stdlib only.
"""

import json
import re
import sqlite3
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ledger import answer, gate, hits, meaning, query, search, sql
from ledger.answer import HistoryEvent, Hit, Summary
from ledger.errors import AmbiguousId, BadArgument, GuardFailed, NotFound
from ledger.model import AGENT_PREFIX_CHARS, ID_CHARS, ID_PREFIX, schema_path
from ledger.search import Match, Words

if TYPE_CHECKING:
    from ledger.reader import Reader

NEAREST = 3
"""Most ids that are suggested for one that nobody has."""

IDS_LISTED = 20
"""Most ids that are looked at for an ambiguous prefix."""

ANEW = "install the program anew"

_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz234567")
_TIME = (
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[T ](?P<minute>\d\d:\d\d)(?P<second>:\d\d(?:\.(?P<fraction>\d{1,6}))?)?"
    r"\s?(?P<offset>Z|[+-]\d\d:\d\d)?)?"
)


# -- ids ---------------------------------------------------------------------------------------------------------------


def resolve(reader: "Reader", prefix: str, minimum: int, project: str | None) -> str:
    """Return the only id that begins with `prefix`; see `Reader.resolve`."""
    typed = prefix.strip().lower().removeprefix(ID_PREFIX)
    if not _ALPHABET.issuperset(typed) or len(typed) > ID_CHARS:
        raise NotFound("that is no id of a learning", f"an id is {ID_PREFIX} and {ID_CHARS} letters and digits")
    if len(typed) < minimum:
        raise BadArgument(f"{ID_PREFIX}{typed} is too short", f"type at least {minimum} characters after {ID_PREFIX}")
    first = ID_PREFIX + typed
    # '{' comes after every letter of an id, so this is the range of all ids with that beginning.
    found = reader.rows(sql.IDS_FROM, {"first": first, "last": first + "{", "many": IDS_LISTED})
    places = None if project is None else reader.projects(project)
    ids = [name for name, place in found if places is None or place in places]
    if len(ids) > 1:
        raise AmbiguousId(first, ids)
    if not ids:
        raise NotFound(f"no learning has the id {first}", _suggestion(reader, first, project))
    return str(ids[0])


def _suggestion(reader: "Reader", first: str, project: str | None) -> str:
    """Return a hint with the ids that share most of the beginning of `first`, the longest share first."""
    after = reader.rows(sql.IDS_FROM, {"first": first, "last": ID_PREFIX + "{", "many": NEAREST})
    before = reader.rows(sql.IDS_BEFORE, {"first": first, "many": NEAREST})
    places = None if project is None else reader.projects(project)
    ids = [name for name, place in [*before, *after] if places is None or place in places]

    def shared(name: str) -> int:
        return next((at for at, (one, two) in enumerate(zip(name, first, strict=False)) if one != two), len(first))

    nearest = sorted(ids, key=lambda name: (-shared(name), name))[:NEAREST]
    return "nearest: " + ", ".join(nearest) if nearest else "list them with `learnings query`"


def get(reader: "Reader", ids: Sequence[str], project: str | None) -> list[Hit]:
    """Return these learnings whole; see `Reader.get`."""
    if not 1 <= len(ids) <= answer.BODIES_MAX:
        raise BadArgument(f"{len(ids)} ids were given", f"ask for 1 to {answer.BODIES_MAX} at once")
    with reader.snapshot():
        names = dict.fromkeys(resolve(reader, name, AGENT_PREFIX_CHARS, project) for name in ids)
        seqs = [reader.rows(sql.SEQ_OF, {"id": name})[0][0] for name in names]
        rows = hits.learnings(reader.rows, seqs, sql.NOW)
        chains = hits.Chains(reader.rows, names, sql.NOW)
        return [hits.hit(rows[seq], chains, 0.0, (), titles=True) for seq in seqs]


# -- one learning ------------------------------------------------------------------------------------------------------


def show(reader: "Reader", learning_id: str) -> dict[str, Any]:
    """Return one learning with its lineage both ways, its sources and where it came from; texts are not cut.

    `lineage.before` are the learnings it stands in for, last replaced first,
    `lineage.after` those that stand in for it, both as {id, title, state,
    recorded_at}. `version` is the seq of the last event that touches it.

    Raises:
        NotFound: no learning has that id.
    """
    with reader.snapshot():
        origin = reader.rows(sql.ORIGIN, {"id": learning_id})
        if not origin:
            raise NotFound("no learning has that id", "ids begin with " + ID_PREFIX)
        seq, actor_kind, channel, batch, erased_by, version = origin[0]
        row = hits.learnings(reader.rows, [seq], sql.NOW)[seq]
        chains = hits.Chains(reader.rows, [learning_id], sql.NOW)
        onward = reader.rows(sql.LINKS_ONWARD, {"ids": json.dumps([learning_id]), "at": sql.NOW})
        named = reader.rows(sql.NAMED, {"ids": json.dumps(sorted({link[1] for link in onward})), "at": sql.NOW})
        sources = reader.rows(sql.SOURCES, {"id": learning_id})
    one = hits.hit(row, chains, 0.0, (), titles=True)._replace(problem=row[3], solution=row[4], cut=[])
    told = {name: value for name, value in one._asdict().items() if name not in ("score", "via", "parts", "cut")}
    keys = ("id", "title", "state", "recorded_at")
    after = [dict(zip(keys, found, strict=True)) for found in named if found[0] != learning_id]
    return {
        **told,
        "superseded_by": sorted({link[1] for link in onward if link[0] == learning_id}),
        "lineage": {"before": [{key: old[key] for key in keys} for old in chains.before(learning_id)], "after": after},
        "sources": [
            {"kind": kind, "locator": locator, "path": path, "line": line, "stands": bool(stands)}
            for kind, locator, path, line, stands in sources
        ],
        "recorded_seq": seq,
        "actor_kind": actor_kind,
        "channel": channel,
        "batch": batch,
        "erased_by": erased_by,
        "version": version,
    }


def history(reader: "Reader", learning_id: str) -> list[HistoryEvent]:
    """Return every event that touches a learning (or a setting, by its stream), in seq order."""
    return [HistoryEvent(*row) for row in reader.rows(sql.HISTORY, {"id": learning_id})]


# -- the ledger --------------------------------------------------------------------------------------------------------


def status(reader: "Reader") -> dict[str, Any]:
    """Return counts: events, learnings by state, and current ones by project, category and trust; settings in force."""
    with reader.snapshot():
        head = reader.head()
        version, seq = reader.rows(sql.PROJECTION, {})[0]
        return {
            **reader.meta(),
            "events": head.seq,
            "head": {"seq": head.seq, "hash": head.hash.hex()},
            "projection": {"version": version, "seq": seq},
            "meaning": _meaning(reader),
            "learnings": dict(reader.rows(sql.COUNT_BY_STATE, {})),
            "projects": dict(reader.rows(sql.COUNT_BY_PROJECT, {})),
            "categories": dict(reader.rows(sql.COUNT_BY_CATEGORY, {})),
            "trust": {str(trust): count for trust, count in reader.rows(sql.COUNT_BY_TRUST, {})},
            "settings": [
                {"name": name, "scope": scope, "machine": machine or None, "value": value}
                for name, scope, machine, value in reader.rows(sql.SETTINGS, {})
            ],
        }


def _meaning(reader: "Reader") -> dict[str, Any]:
    """Return whether search goes by meaning too: {table, vectors}, versions, and why it goes by words alone if so."""
    table = meaning.shared()
    found = reader.rows(sql.VECTOR_VERSION, {})
    version, vectors = table.version if table is not None else None, found[0][0] if found else None
    fault = _table_fault()
    if fault is not None:
        version = None
    elif version is None:
        fault = "search by meaning is switched off"
    if fault is None:
        fault = _gate_fault()
    if fault is None and vectors != version:
        fault = "the ledger has no vectors of this table; run `learnings rebuild`"
    return {"table": version, "vectors": vectors, "words_alone": fault}


def _gate_fault() -> str | None:
    """Return what is wrong with the numbers that weigh what was found, of which a search by words needs none."""
    try:
        gate.gate()
    except GuardFailed as error:
        return f"{error.message}; {ANEW}"
    return None


def _table_fault() -> str | None:
    """Return what is wrong with the token table that ships with the program; every row of it is read, 40 ms."""
    try:
        path = schema_path("tokens.sqlite")
    except FileNotFoundError:
        return f"the token table is missing; {ANEW}"
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    version = None
    try:
        file = sqlite3.connect(f"file:{quoted}?mode=ro&immutable=1", uri=True)
        try:
            binds = {"dims": meaning.DIMS, "heaviest": meaning.WEIGHT_MAX}
            whole = file.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
            if whole and file.execute(sql.ODD_PIECES, binds).fetchall() == [(0,)]:
                version = str(dict(file.execute(sql.PIECE_META)).get("version", ""))
        finally:
            file.close()
    except (sqlite3.Error, ValueError):
        version = None
    if version is None:
        return f"the token table is damaged; {ANEW}"
    if not version:
        return f"the token table names no version; {ANEW}"
    if version != meaning.VERSION:
        return f"the token table is of version {version[:20]}, this program reads {meaning.VERSION}; {ANEW}"
    return None


def seq_at(reader: "Reader", when: str) -> int:
    """Return the last seq recorded at or before `when`; see `Reader.seq_at`. 17 look-ups at 100,000 events."""
    last_moment = _last_moment(reader, when)
    with reader.snapshot():
        low, high = 0, reader.head().seq
        while low < high:
            middle = (low + high + 1) // 2
            if reader.rows(sql.RECORDED_AT, {"seq": middle})[0][0] <= last_moment:
                low = middle
            else:
                high = middle - 1
    return low


def _last_moment(reader: "Reader", when: str) -> str:
    """Return the last microsecond that `when` names, in the form of `recorded_at`."""
    form = re.compile(_TIME, re.ASCII).fullmatch(when.strip())
    if form is None:
        raise BadArgument(
            "that is no time", "write 2026-11-30, 2026-11-30T14:05 or 2026-11-30T14:05:09Z; +01:00 for other zones"
        )
    day, minute, second, fraction, offset = form.group("day", "minute", "second", "fraction", "offset")
    clock = "23:59:59" if minute is None else minute + ((second or ":59")[:3])
    moment, same_day = reader.rows(sql.INSTANT, {"moment": f"{day}T{clock}{offset or 'Z'}", "day": day})[0]
    if moment is None or same_day != day:
        raise BadArgument("that time is in no calendar", "check day, hour, minute and offset")
    return f"{moment}.{(fraction or '999999').ljust(6, '0' if fraction else '9')}Z"


# -- why a hit was found -----------------------------------------------------------------------------------------------


def explained(reader: "Reader", shown: Sequence[Hit], best: Sequence[Match], words: Words) -> list[Hit]:
    """Return the hits with `parts`: {bm25, weight, redirected, words: [{word, learnings, score, fields}]}.

    `weight` is what trust, spelling and a shared title made of `bm25`. `learnings`
    is how many hold the word, `fields` how often each field of the shown learning
    does; empty for a word that only a replaced learning holds.
    """
    found = {match.id: match for match in best}
    return [hit._replace(parts=_parts(reader.stems, hit, found[hit.id], words)) for hit in shown]


def _parts(stems: search.Stems, hit: Hit, match: Match, words: Words) -> dict[str, Any]:
    fields = {"title": hit.title, "problem": hit.problem, "solution": hit.solution, "tags": " ".join(hit.tags)}
    terms = list(match.by_term)
    cut = stems.of([*terms, *(query.indexed(text or "") for text in fields.values())])
    held = dict(zip(fields, cut[len(terms) :], strict=True))
    told: list[dict[str, Any]] = []
    for term, stem in zip(terms, cut, strict=False):
        counts = {field: _occurrences(stem, text) for field, text in held.items()}
        told.append(
            {
                "word": term,
                "learnings": words.counts.get(term, 0),
                "score": round(match.by_term[term], 4),
                "fields": {field: count for field, count in counts.items() if count},
            }
        )
    told.sort(key=lambda part: (-part["score"], part["word"]))
    bm25 = sum(match.by_term.values())
    weight = match.score / bm25 if bm25 else 1.0
    return {"bm25": round(bm25, 4), "weight": round(weight, 4), "redirected": bool(match.via), "words": told}


def _occurrences(phrase: list[str], text: list[str]) -> int:
    """Return how often the words of `phrase` stand in a row in `text`."""
    size = len(phrase)
    return sum(text[at : at + size] == phrase for at in range(len(text) - size + 1)) if size else 0


def summary(
    reader: "Reader", project: str, within_hours: int, as_of: int | None = None, now: float | None = None
) -> Summary | None:
    """Return the newest summary of a project's sessions; see `Reader.summary`."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    if as_of is not None:
        told = reader.rows(sql.RECORDED_AT, {"seq": as_of})
        moment = told[0][0] if told else moment
    binds = {
        "projects": json.dumps(reader.projects(project)),
        "moment": moment,
        "age": f"-{within_hours} hours",
        "at": sql.NOW if as_of is None else as_of,
    }
    found = reader.rows(sql.SUMMARY, binds)
    return Summary(*found[0]) if found else None
