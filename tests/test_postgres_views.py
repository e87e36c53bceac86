"""The views on PostgreSQL: the fold of undo and erasure in SQL agrees with the projector."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from postgres_place import psycopg
from storage_contract import HAND, append, recorded

from ledger.fold import Act, alive
from ledger.model import NewEvent, new_event_id
from ledger.store_postgres import PostgresStore
from ledger.store_sqlite import SqliteStore


def event(kind: str, stream: str, data: dict[str, Any], **body: Any) -> NewEvent:
    """Return an event of any kind."""
    return NewEvent(kind, stream, data, body, new_event_id())


def history() -> list[list[NewEvent]]:
    """Return appends that supersede, retract, undo, redo, undo again, propose, set and erase."""
    old, other = recorded("old"), recorded("other")
    new = recorded("new")
    new = new._replace(
        kind="learning.superseded",
        data={**new.data, "supersedes": [old.stream]},
        body={**new.body, "reason": "it moved", "tags": ["a", "b"]},
    )
    idea = recorded("idea")._replace(kind="learning.proposed")
    idea = idea._replace(data={**idea.data, "supersedes": []})

    def undo(stream: str, *seqs: int) -> NewEvent:
        return event("event.undone", stream, {"targets": list(seqs)}, reason=f"undo {seqs}")

    return [
        [old, other],  # 1, 2
        [new],  # 3
        [event("learning.retracted", other.stream, {}, reason="wrong")],  # 4
        [undo(other.stream, 4)],  # 5
        [undo(other.stream, 5)],  # 6: the retraction holds again
        [undo(new.stream, 3)],  # 7: the old one is current again
        [idea, event("learning.quarantined", idea.stream, {"rules": ["r"]}, reason="odd")],  # 8, 9
        [event("setting.changed", "setting:x", {"name": "x", "scope": "ledger"}, value="1")],  # 10
        [undo(idea.stream, 9, 8)],  # 11: two targets of one stream
        [recorded("secret")],  # 12
        [event("payload.erased", "ledger", {"targets": [12, 4], "blocked": [], "reason": "secret"})],  # 13
    ]


@pytest.fixture
def twins(path: str, url: str) -> Iterator[tuple[SqliteStore, Any]]:
    """Return the same log twice: in a file with projections, and a connection to PostgreSQL."""
    local = SqliteStore(path, HAND, create=True)
    log = PostgresStore(url, HAND, clock=lambda: 1_796_000_000_000_000)
    for drafts in history():
        append(local, *drafts)
        append(log, *drafts)
    log.close()
    with psycopg.connect(url) as connection:
        yield local, connection
    local.close()


SAME = {
    "learning": "seq, id, title, problem, solution, category, confidence, project, observed_at, trust, actor_kind,"
    " channel, batch, erased_by",
    "audit_log": "seq, kind, stream, actor_kind, actor_id, channel, trust, batch, title, reason, undone_by, erased_by,"
    " event_id, data",
    "undone": "target_seq, target_kind, stream, undo_seq, actor_kind, channel, reason, holds",
}
"""Columns that a view on PostgreSQL shares with its namesake on SQLite, time apart."""


@pytest.mark.parametrize("view", SAME)
def test_a_view_shows_what_its_namesake_on_sqlite_shows(twins: tuple[SqliteStore, Any], view: str) -> None:
    """The fold of undo and erasure in SQL agrees with the projector, row by row."""
    local, connection = twins
    statement = f"SELECT DISTINCT {SAME[view]} FROM {view}"
    if view == "undone":
        local_statement = f"{statement} WHERE to_seq IS NULL"
        statement = f"{statement} WHERE holds"
    else:
        local_statement = statement

    shown = connection.execute(statement).fetchall()

    expected = local.connection().execute(local_statement).fetchall()
    assert sorted(shown, key=repr) == sorted(expected, key=repr)
    assert len(shown) > 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_counts_in_sql_is_what_counts_in_the_fold(url: str, seed: int) -> None:
    """Undo, redo, undo of redo, several targets at once: `undone_by` agrees with `fold.alive`."""
    random = Random(seed)
    drafts = [recorded(str(number)) for number in range(10)]
    acts = [Act(seq, draft.kind, draft.stream, draft.data) for seq, draft in enumerate(drafts, 1)]
    for seq in range(len(acts) + 1, 80):
        targets = sorted(random.sample(sorted(alive(acts)), random.randint(1, 3)), reverse=True)
        acts.append(Act(seq, "event.undone", acts[targets[0] - 1].stream, {"targets": targets}))
        drafts.append(event("event.undone", acts[-1].stream, acts[-1].data))
    log = PostgresStore(url)

    append(log, *drafts)

    log.close()
    with psycopg.connect(url) as connection:
        shown = connection.execute("SELECT seq FROM audit_log WHERE undone_by IS NULL").fetchall()
    assert {row[0] for row in shown} == alive(acts)


def test_undone_lists_undos_that_hold_no_more(twins: tuple[SqliteStore, Any]) -> None:
    """The undo of event 4 was itself undone: both rows stand there, one of them in force."""
    rows = twins[1].execute("SELECT target_seq, undo_seq, holds FROM undone ORDER BY undo_seq, target_seq").fetchall()

    assert rows == [(4, 5, False), (5, 6, True), (3, 7, True), (8, 11, True), (9, 11, True)]


def test_timeline_names_every_event_of_a_learning(twins: tuple[SqliteStore, Any]) -> None:
    """Undos count to what they touch, through undos of undos; the superseded one is named by its successor."""
    local, connection = twins
    touched = local.connection().execute("SELECT id, seq FROM touch WHERE id LIKE 'lrn%' ORDER BY seq, id").fetchall()

    rows = connection.execute("SELECT id, from_seq, because, undone_by, reason FROM timeline ORDER BY 2, 1").fetchall()

    assert [row[:2] for row in rows] == touched
    old = touched[0][0]
    assert [row[1:4] for row in rows if row[0] == old] == [
        (1, "learning.recorded", None),
        (3, "learning.superseded", 7),
        (7, "event.undone", None),
    ]
    assert [row[4] for row in rows if row[0] == old] == [None, "it moved", "undo (3,)"]


def test_erased_texts_are_null_in_every_view(twins: tuple[SqliteStore, Any]) -> None:
    """Event 12 was erased with its texts, event 4 with its reason; the rows stay."""
    connection = twins[1]

    learning = connection.execute(
        "SELECT title, problem, solution, project, tags, category, erased_by FROM learning WHERE seq = 12"
    ).fetchall()
    audit = connection.execute("SELECT seq, title, reason, erased_by FROM audit_log WHERE seq IN (4, 12)").fetchall()
    timeline = connection.execute("SELECT title, reason FROM timeline WHERE from_seq = 12").fetchall()

    assert learning == [(None, None, None, None, None, "env", 13)]
    assert sorted(audit) == [(4, None, None, 13), (12, None, None, 13)]
    assert timeline == [(None, None)]


def test_tags_are_a_json_list(twins: tuple[SqliteStore, Any]) -> None:
    """`tags` can be cast to JSON and taken apart."""
    rows = twins[1].execute("SELECT t FROM learning, jsonb_array_elements_text(tags::jsonb) AS t ORDER BY t").fetchall()

    assert rows == [("a",), ("b",)]
