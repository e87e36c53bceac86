"""Every kind of event alone: what it changes that a person can see, and that undoing it restores that."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ledger import fold, reader, sql, store, tables
from ledger.errors import NotUndoable, StaleProjection
from ledger.ledger import Ledger
from ledger.model import Draft, NewEvent, new_event_id, schema_path
from ledger.store import Moment
from ledger.view import View, source_id

DRAFT = Draft("the pooler refuses connections", "use port 6543", "env", "demo")
OTHER = Draft("the pooler refuses connections from Docker", "use port 6432", "env", "demo")

SEEN = {
    "current_learnings": "SELECT id, title, problem, solution, project, pinned FROM current_learnings",
    "states": "SELECT id, title, state, pinned FROM timeline WHERE until IS NULL",
    "lineage": "SELECT old_id, new_id FROM lineage WHERE holds",
    "sources": "SELECT learning_id, locator FROM sources WHERE stands",
    "aliases": "SELECT learning_id, words FROM aliases WHERE holds",
    "judgements": "SELECT exposure, learning_id, verdict, keywords FROM judgements WHERE holds",
    "summaries": "SELECT session, project, text FROM summaries WHERE holds",
    "pairs": "SELECT one_id, other_id FROM pairs WHERE holds",
    "settings": "SELECT name, scope, value FROM settings",
    "trusted": "SELECT learning_id, how, path FROM trusted WHERE holds",
    "imports": "SELECT batch, importer, paths FROM imports",
    "rollbacks": "SELECT anchor_seq, anchor_hash FROM rollbacks",
    "undone": "SELECT target_seq FROM undone WHERE holds",
}
"""What the documented views show now, without what only says when or by whom."""


def seen(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Return what a person sees."""
    return {name: sorted(connection.execute(text).fetchall(), key=repr) for name, text in SEEN.items()}


def append(ledger: Ledger, *events: NewEvent) -> int:
    """Append events whose command comes with an importer or a later issue; return the last seq."""

    def decide(moment: Moment) -> Sequence[NewEvent]:
        view = View(moment)
        for event in events:
            view.add(event, ledger.actor)
        return view.drafts

    return ledger.store.append(decide)[-1].seq


def one(ledger: Ledger) -> str:
    """Return a current learning."""
    return ledger.record(DRAFT).id


def two(ledger: Ledger) -> str:
    """Return one of two current learnings."""
    ledger.record(OTHER)
    return one(ledger)


def candidate(ledger: Ledger) -> str:
    """Return a candidate."""
    return ledger.propose(OTHER).id


def withheld(ledger: Ledger) -> str:
    """Return a quarantined learning."""
    name = one(ledger)
    ledger.quarantine(name, "looks odd")
    return name


def pinned(ledger: Ledger) -> str:
    """Return a pinned learning."""
    name = one(ledger)
    ledger.pin(name)
    return name


def add_source(ledger: Ledger, name: str) -> int:
    """Add one place to a learning."""
    own = new_event_id()
    place = {"kind": "memory-note", "locator": "memory-note:/m/a.md#", "path": "/m/a.md", "line": 3}
    return append(ledger, NewEvent("source.added", name, {"source": source_id(own)}, {"source": place}, own))


def sourced(ledger: Ledger) -> str:
    """Return a learning with a source."""
    name = one(ledger)
    add_source(ledger, name)
    return name


def remove_source(ledger: Ledger, name: str) -> int:
    """Remove the one place of a learning."""
    (source,) = ledger.store.connection().execute("SELECT source_id FROM source").fetchone()
    return append(ledger, NewEvent("source.removed", name, {"source": source}, {}, new_event_id()))


def nothing(ledger: Ledger) -> str:
    """Need no ground."""
    return ""


def grant_trust(ledger: Ledger, name: str) -> int:
    """Trust a learning."""
    return append(ledger, NewEvent("trust.granted", name, {"by": "review"}, {}, new_event_id()))


def erase(ledger: Ledger, name: str) -> int:
    """Erase the event that made a learning."""
    data = {"targets": [1], "blocked": [], "reason": "secret"}
    return append(ledger, NewEvent("payload.erased", "ledger", data, {}, new_event_id()))


def merge(ledger: Ledger, name: str) -> int:
    """Let a learning stand for another."""
    other = ledger.record(OTHER).id
    return append(ledger, NewEvent("learning.merged", name, {"supersedes": [other]}, {}, new_event_id()))


def settle(ledger: Ledger, name: str) -> int:
    """Call two learnings different."""
    return append(ledger, NewEvent("pair.settled", name, {"other": ledger.record(OTHER).id}, {}, new_event_id()))


def head_accepted(ledger: Ledger, name: str) -> int:
    """Accept a head."""
    data = {"anchor_seq": 9, "anchor_hash": "ab" * 32}
    return append(ledger, NewEvent("head.accepted", "ledger", data, {}, new_event_id()))


def batch_started(ledger: Ledger, name: str) -> int:
    """Start a batch."""
    event = NewEvent("batch.started", "ledger", {"importer": "memory-notes"}, {"paths": ["/m"]}, new_event_id())
    return append(ledger, event)


CASES: dict[str, tuple[Callable[[Ledger], str], Callable[[Ledger, str], int]]] = {
    "learning.recorded": (nothing, lambda ledger, name: ledger.record(DRAFT).seq),
    "learning.superseded": (one, lambda ledger, name: ledger.supersede(name, "the pooler", "use 1", "moved").seq),
    "learning.proposed": (nothing, lambda ledger, name: ledger.propose(OTHER).seq),
    "learning.retracted": (one, lambda ledger, name: ledger.retract(name, "wrong").seq),
    "proposal.accepted": (candidate, lambda ledger, name: ledger.accept(name).seq),
    "proposal.rejected": (candidate, lambda ledger, name: ledger.reject(name).seq),
    "learning.quarantined": (one, lambda ledger, name: ledger.quarantine(name, "odd").seq),
    "quarantine.released": (withheld, lambda ledger, name: ledger.release(name).seq),
    "source.added": (one, add_source),
    "source.removed": (sourced, remove_source),
    "learning.pinned": (one, lambda ledger, name: ledger.pin(name).seq),
    "learning.unpinned": (pinned, lambda ledger, name: ledger.unpin(name).seq),
    "learning.merged": (two, merge),
    "pair.settled": (two, settle),
    "trust.granted": (one, grant_trust),
    "aliases.derived": (one, lambda ledger, name: ledger.alias(name, ["connection pool", "pgbouncer"]).seq),
    "exposure.judged": (one, lambda ledger, name: ledger.judge("exp_a", "wrong", learning=name, keywords=["pool"]).seq),
    "session.summarised": (nothing, lambda ledger, name: ledger.summarise("s1", "demo", "moved the job").seq or 0),
    "event.undone": (one, lambda ledger, name: ledger.undo(1).seq),
    "payload.erased": (one, erase),
    "setting.changed": (nothing, lambda ledger, name: ledger.set("project_aliases", '{"a":"b"}').seq),
    "head.accepted": (nothing, head_accepted),
    "batch.started": (nothing, batch_started),
}


def test_every_kind_has_a_case() -> None:
    """A kind that this module does not know has no proof that it shows and undoes."""
    assert set(CASES) == set(fold.STEPS)


@pytest.mark.parametrize("kind", CASES)
def test_a_kind_changes_what_a_view_shows_and_undo_restores_it(ledger: Ledger, kind: str) -> None:
    """One event of each kind is visible; undoing it shows what was visible before (lasting kinds refuse)."""
    ground, act = CASES[kind]
    name = ground(ledger)
    before = seen(ledger.store.connection())

    seq = act(ledger, name)

    assert ledger.event(seq).kind == kind
    assert seen(ledger.store.connection()) != before
    if kind in fold.LASTING:
        with pytest.raises(NotUndoable):
            ledger.undo(seq)
        return
    ledger.undo(seq)
    after = seen(ledger.store.connection())
    shown = {key: rows for key, rows in after.items() if key not in ("undone", "states")}
    assert shown == {key: rows for key, rows in before.items() if key not in ("undone", "states")}
    assert [row for row in after["states"] if row[2] != "undone"] == [
        row for row in before["states"] if row[2] != "undone"
    ]


def test_a_new_kind_is_a_schema_file_a_fold_case_and_a_projection_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else has to change for a kind that a later command brings."""
    schema = json.loads(Path(schema_path("events", "learning.quarantined.v1.json")).read_text("utf-8"))
    (tmp_path / "learning.doubted.v1.json").write_text(json.dumps(schema), "utf-8")
    monkeypatch.setattr(
        store,
        "schema_path",
        lambda *parts: str(tmp_path / parts[-1]) if "doubted" in parts[-1] else schema_path(*parts),
    )
    monkeypatch.setitem(fold.STEPS, "learning.doubted", lambda flags, act: flags._replace(quarantined=True))
    monkeypatch.setattr(sql, "PROJECTION_VERSION", sql.PROJECTION_VERSION + 1)

    with Ledger.init(str(tmp_path / "data" / "ledger.db")) as ledger:
        name = one(ledger)
        seq = append(ledger, NewEvent("learning.doubted", name, {"rules": []}, {"reason": "hm"}, new_event_id()))
        doubted = seen(ledger.store.connection())["states"]
        ledger.undo(seq)

        assert doubted == [(name, "the pooler refuses connections", "quarantined", 0)]
        assert seen(ledger.store.connection())["states"] == [(name, "the pooler refuses connections", "current", 0)]
        assert ledger.verify().ok


def test_the_views_that_are_documented_are_those_of_the_file(ledger: Ledger) -> None:
    """Every view can be read in an empty ledger, by its documented name."""
    connection = ledger.store.connection()

    rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables.VIEW_NAMES}

    assert set(rows) >= {"current_learnings", "lineage", "timeline", "audit_log", "undone", "forks", "imports"}


def test_the_projections_of_an_older_program_are_rebuilt_by_the_next_command(
    ledger: Ledger, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new projection version makes the first command rebuild, and say so; a plain read refuses instead."""
    name = one(ledger)
    ledger.close()
    monkeypatch.setattr(sql, "PROJECTION_VERSION", sql.PROJECTION_VERSION + 1)

    with pytest.raises(StaleProjection):
        reader.open_reader(path)
    with Ledger.open(path) as newer:
        done = newer.record(OTHER)

    assert any("rebuilt" in remark for remark in done.remarks)
    with reader.open_reader(path) as found:
        assert {hit.id for hit in found.query("pooler").hits} == {name, done.id}
