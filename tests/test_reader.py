"""What a reader is told: true now, or then, by any words, within the caps, from any file."""

import json
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeClock
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ledger import answer, meaning, project, rank, search, sql, tables
from ledger.answer import Hit
from ledger.errors import (
    AmbiguousId,
    BadArgument,
    Damaged,
    FileFault,
    LedgerError,
    Locked,
    NewerSchema,
    NotALedger,
    NotFound,
    OlderSchema,
    ReadOnly,
    StaleProjection,
    UnknownCategory,
)
from ledger.ledger import Ledger
from ledger.model import Draft, Source, agent, importer, plain
from ledger.reader import Reader, open_reader
from ledger.sql import PROJECTION_VERSION

ANYTHING = st.text(alphabet=st.characters(codec=None), max_size=60)


@pytest.fixture
def timed(path: str, clock: FakeClock) -> Iterator[Ledger]:
    """Return an empty ledger whose clock stands still."""
    with Ledger.init(path, clock=clock) as made:
        yield made


def draft(problem: str, solution: str = "as agreed", **more: Any) -> Draft:
    """Return a draft for project `demo`."""
    return Draft(problem, solution, **{"category": "env", "project": "demo", **more})


def ids(hits: list[Hit]) -> list[str]:
    """Return the ids of hits, in order."""
    return [hit.id for hit in hits]


def change(path: str, *statements: str) -> None:
    """Run statements on a ledger file past every door, as another program could."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


# -- questions --------------------------------------------------------------------------------------------------------


def test_a_learning_is_found_by_its_words(ledger: Ledger) -> None:
    """Title, problem, solution and tags are searched, stemmed."""
    one = ledger.record(draft("pooler drops connections", "raise the timeout", title="PgBouncer", tags=("postgres",)))
    ledger.record(draft("something else entirely"))

    for words in ("pgbouncer", "connection dropped", "timeouts", "postgres"):
        assert ids(ledger.reader.query(words).hits) == [one.id]


def test_a_hit_has_the_public_keys_in_their_order(ledger: Ledger) -> None:
    """The JSON keys are a contract; what was added since comes after."""
    ledger.record(draft("pooler drops connections"))

    document = plain(ledger.reader.query("pooler"))

    assert list(document) == ["hits", "truncated", "as_of", "plan"]
    first = ["id", "title", "problem", "solution", "category", "project"]
    second = ["tags", "state", "trust", "recorded_at", "supersedes", "score"]
    assert list(document["hits"][0])[:12] == [*first, *second]


def test_the_words_of_a_replaced_learning_lead_to_its_successor(ledger: Ledger) -> None:
    """People ask in the words of the old technology; they get what is true now, and never the old text."""
    old = ledger.record(draft("zanzibar cluster port", "use port 5432"))
    new = ledger.supersede(old.id, "port of the pooler", "use port 6543", "it moved")

    found = ledger.reader.query("zanzibar")

    assert ids(found.hits) == [new.id]
    assert found.hits[0].via == [old.id]
    assert found.hits[0].supersedes == [old.id]
    assert "zanzibar" not in json.dumps(plain(found))


def test_a_hit_says_since_when_and_what_it_replaced(timed: Ledger, clock: FakeClock) -> None:
    """A chain of three: its own date, and both predecessors with theirs, the last one first."""
    first = timed.record(draft("cache size one"))
    clock.advance(60)
    second = timed.supersede(first.id, "cache size two", "b", "grown")
    clock.advance(60)
    timed.supersede(second.id, "cache size three", "c", "grown again")

    hit = timed.reader.query("cache").hits[0]

    assert hit.since == hit.recorded_at
    assert [old["id"] for old in hit.replaced] == [second.id, first.id]
    assert hit.replaced[0]["until"] == hit.recorded_at
    assert hit.replaced[1]["since"] < hit.replaced[1]["until"] == hit.replaced[0]["since"] < hit.since


def test_a_hit_is_as_old_as_its_source_says(ledger: Ledger) -> None:
    """What a note claims about time counts when it is earlier than the recording, never when it is later."""
    ledger.record(draft("marmot cache", observed_at="2025-01-02T03:04:05Z"))
    ledger.record(draft("marmot queue", observed_at="2199-01-02T03:04:05Z"))

    early, late = (ledger.reader.query(f"marmot {word}").hits[0] for word in ("cache", "queue"))

    assert early.since == "2025-01-02T03:04:05Z"
    assert late.since == late.recorded_at


def test_two_words_of_two_generations_add_up(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """By words alone, the successor is credited with its own and those of what it replaced."""
    monkeypatch.setattr(meaning, "_shared", [None])
    old = ledger.record(draft("kafka consumer lags"))
    new = ledger.supersede(old.id, "redpanda consumer is slow", "more partitions", "moved")
    ledger.record(draft("redpanda licence"))
    ledger.record(draft("kafka licence"))

    hits = ledger.reader.query("kafka redpanda").hits

    assert hits[0].id == new.id
    assert len(hits) == 3


def test_filters_apply_to_the_successor(ledger: Ledger) -> None:
    """A pointer contributes words, not its project or category."""
    old = ledger.record(draft("zanzibar port", project="demo"))
    new = ledger.supersede(old.id, "pooler port", "b", "moved", project="other", category="practice")

    assert ids(ledger.reader.query("zanzibar", project="other", category="practice").hits) == [new.id]
    assert ledger.reader.query("zanzibar", project="demo").hits == []
    assert ledger.reader.query("zanzibar", project="other", category="bug-fix").hits == []


def test_no_live_successor_no_hit(ledger: Ledger) -> None:
    """Retracting the successor does not bring the old text back."""
    old = ledger.record(draft("zanzibar port"))
    new = ledger.supersede(old.id, "pooler port", "b", "moved")
    ledger.retract(new.id, "wrong")

    assert ledger.reader.query("zanzibar pooler").hits == []


def test_undoing_a_supersede_serves_the_old_learning_again(ledger: Ledger) -> None:
    """What is served follows the log, both ways."""
    old = ledger.record(draft("zanzibar port"))
    new = ledger.supersede(old.id, "pooler port", "b", "moved")
    undo = ledger.undo(new.seq)

    assert ids(ledger.reader.query("zanzibar").hits) == [old.id]
    assert new.id not in ids(ledger.reader.query("pooler").hits)

    ledger.undo(undo.seq)

    assert ids(ledger.reader.query("zanzibar").hits) == [new.id]


def test_nothing_but_current_learnings_is_served(ledger: Ledger, path: str) -> None:
    """Retracted, undone, proposed, rejected and quarantined learnings stay away, superseded ones unless asked for."""
    states = {
        "retracted": ledger.record(draft("marmot one")).id,
        "undone": ledger.record(draft("marmot two")).id,
        "candidate": ledger.propose(draft("marmot three")).id,
        "rejected": ledger.propose(draft("marmot four")).id,
        "quarantined": ledger.record(draft("marmot five")).id,
    }
    ledger.retract(states["retracted"], "wrong")
    ledger.undo(ledger.reader.show(states["undone"])["recorded_seq"])
    ledger.reject(states["rejected"], "no")
    ledger.quarantine(states["quarantined"], "odd")

    assert {name: ledger.reader.show(one)["state"] for name, one in states.items()} == {name: name for name in states}
    assert ledger.reader.query("marmot", include_superseded=True).hits == []
    assert ledger.reader.query("").hits == []


def test_superseded_learnings_are_served_on_request(ledger: Ledger) -> None:
    """As hits of their own, labelled, below what replaced them; titles of what was replaced are told then."""
    old = ledger.record(draft("pooler port", "use 5432"))
    new = ledger.supersede(old.id, "pooler port", "use 6543", "moved")

    hits = ledger.reader.query("pooler", include_superseded=True).hits

    assert [(hit.id, hit.state) for hit in hits] == [(new.id, "current"), (old.id, "superseded")]
    assert hits[0].replaced[0]["title"] == "pooler port"
    assert ledger.reader.query("pooler").hits[0].replaced[0]["title"] is None


def test_a_question_as_of_a_seq_gets_what_was_true_then(ledger: Ledger) -> None:
    """Before the supersede the old text, before the record nothing, after the undo the old text again."""
    old = ledger.record(draft("pooler port", "use 5432"))
    new = ledger.supersede(old.id, "pooler port", "use 6543", "moved")
    ledger.undo(new.seq)
    reader = ledger.reader

    told = [[hit.solution for hit in reader.query("pooler", as_of=seq).hits] for seq in range(4)]

    assert told == [[], ["use 5432"], ["use 6543"], ["use 5432"]]
    assert reader.query("pooler", as_of=1).hits[0].supersedes == []
    assert reader.query("pooler", as_of=2).as_of == 2
    assert [reader.heads(old.id, as_of=seq) for seq in range(4)] == [[], [old.id], [new.id], [old.id]]


def test_a_project_sees_its_own_and_what_holds_everywhere(ledger: Ledger) -> None:
    """Other projects stay out; without a project everything is searched."""
    own = ledger.record(draft("marmot burrow", project="demo"))
    everywhere = ledger.record(draft("marmot diet", project="*"))
    other = ledger.record(draft("marmot den", project="other"))

    assert set(ids(ledger.reader.query("marmot", project="demo").hits)) == {own.id, everywhere.id}
    assert set(ids(ledger.reader.query("marmot").hits)) == {own.id, everywhere.id, other.id}


def test_tags_category_and_trust_filter(ledger: Ledger) -> None:
    """All tags are needed, whatever their case; trust is a minimum."""
    both = ledger.record(draft("marmot one", tags=("DB", "port"), category="practice"))
    with ledger.acting(importer(1)):
        low = ledger.record(draft("marmot two", tags=("db",)))
    reader = ledger.reader

    assert ids(reader.query("marmot", tags=["db", "PORT"]).hits) == [both.id]
    assert set(ids(reader.query("marmot", tags=["db"]).hits)) == {both.id, low.id}
    assert ids(reader.query("marmot", category="env").hits) == [low.id]
    assert ids(reader.query("marmot", trust=2).hits) == [both.id]
    assert set(ids(reader.query("marmot", trust=1).hits)) == {both.id, low.id}


def test_what_a_person_accepted_is_served_as_trust_two(ledger: Ledger) -> None:
    """Acceptance lifts a file's or an inferred learning to the trust of notes, not further."""
    with ledger.acting(importer(1)):
        one = ledger.propose(draft("marmot"))
    ledger.accept(one.id)

    assert [hit.trust for hit in ledger.reader.query("marmot", trust=2).hits] == [2]


def test_words_that_say_nothing_list_the_newest(ledger: Ledger) -> None:
    """An empty question, or small talk that finds nothing, lists what is there with score 0."""
    with ledger.acting(agent("s")):
        old = ledger.record(draft("first"))
        new = ledger.record(draft("second", project="other"))
    top = ledger.record(draft("third"))
    reader = ledger.reader

    assert [(hit.id, hit.score) for hit in reader.query("").hits] == [(top.id, 0.0), (new.id, 0.0), (old.id, 0.0)]
    assert ids(reader.query("please?", project="demo").hits) == [top.id, old.id]
    assert reader.query("", limit=2).truncated


def test_a_question_that_finds_nothing_is_not_answered_with_something_else(ledger: Ledger) -> None:
    """Only a category or a tag, which says what is wanted, lists its learnings instead."""
    one = ledger.record(draft("first", tags=("db",)))
    reader = ledger.reader

    assert reader.query("marmot").hits == []
    assert reader.query("marmot", project="demo").hits == []
    assert ids(reader.query("marmot", category="env").hits) == [one.id]
    assert ids(reader.query("marmot", tags=["db"]).hits) == [one.id]
    assert reader.query("marmot", category="practice").hits == []


def test_filler_is_looked_for_when_there_is_nothing_else(ledger: Ledger) -> None:
    """ "to be or not to be" is a legal title."""
    one = ledger.record(draft("to be or not to be"))
    ledger.record(draft("second"))

    assert ids(ledger.reader.query("be or not").hits) == [one.id]


def test_the_very_spelling_comes_first(ledger: Ledger) -> None:
    """Accents are folded for finding, and count for the order."""
    plain_one = ledger.record(draft("the resume page of Ana", "a"))
    accented = ledger.record(draft("the résumé page of Ana", "a"))

    assert ids(ledger.reader.query("résumé").hits) == [accented.id, plain_one.id]
    assert ids(ledger.reader.query("resume").hits) == [plain_one.id, accented.id]


def test_of_one_title_the_most_trusted_then_the_newest_comes_first(ledger: Ledger) -> None:
    """Two unlinked learnings of one title are one subject: neither length nor luck decides."""
    person = ledger.record(
        draft("staging address", "the long one that says a great deal about everything", title="Staging")
    )
    later = ledger.record(draft("staging address", "another long one that says as much about it", title="staging!"))
    with ledger.acting(agent("s")):
        lower = ledger.record(draft("staging address", "short", title="Staging"))

    assert ids(ledger.reader.query("staging address").hits) == [later.id, person.id, lower.id]


def test_chinese_japanese_and_korean_are_found_by_any_part(ledger: Ledger) -> None:
    """Words inside a run without spaces, down to one character."""
    one = ledger.record(draft("部署环境在哪里", "운영 배포는 화요일에만"))

    for words in ("环境", "署", "배포", "화요일"):
        assert ids(ledger.reader.query(words).hits) == [one.id]


def test_forks_return_every_head_and_say_so(ledger: Ledger, path: str) -> None:
    """Two current successors of one learning, as a merge of two logs can leave: both are served, flagged."""
    old = ledger.record(draft("zanzibar port"))
    one = ledger.supersede(old.id, "pooler port", "b", "moved")
    two = ledger.record(draft("gateway port"))
    change(path, f"INSERT INTO link VALUES ('{old.id}', '{two.id}', {two.seq}, {two.seq}, NULL)")

    hits = {hit.id: hit for hit in ledger.reader.query("zanzibar").hits}

    assert hits.keys() == {one.id, two.id}
    assert hits[one.id].fork == [two.id]
    assert hits[two.id].fork == [one.id]
    assert ledger.reader.heads(old.id) == sorted([one.id, two.id])


def test_a_cycle_of_links_ends(ledger: Ledger, path: str) -> None:
    """A damaged projection must not hang a reader."""
    old = ledger.record(draft("zanzibar port"))
    new = ledger.supersede(old.id, "pooler port", "b", "moved")
    change(path, f"INSERT INTO link VALUES ('{new.id}', '{old.id}', {new.seq}, {new.seq}, NULL)")

    hits = ledger.reader.query("zanzibar").hits

    assert ids(hits) == [new.id]
    assert [old["id"] for old in hits[0].replaced] == [old.id]
    assert ledger.reader.show(old.id)["superseded_by"] == [new.id]


def test_one_row_a_chain(ledger: Ledger) -> None:
    """Four generations that all match are one hit."""
    one = ledger.record(draft("marmot one")).id
    for number in ("two", "three", "four"):
        one = ledger.supersede(one, f"marmot {number}", "b", "more").id

    hits = ledger.reader.query("marmot").hits

    assert ids(hits) == [one]
    assert len(hits[0].via) == 3


def test_explain_says_why(ledger: Ledger) -> None:
    """Words looked for, learnings that hold each, where this one holds it, and whether it came by a replaced one."""
    ledger.record(draft("pooler port", "the pooler listens on port 6543", title="Pooler", tags=("port",)))
    old = ledger.record(draft("zanzibar gateway"))
    ledger.supersede(old.id, "gate of the south", "b", "moved")

    direct = ledger.reader.query("which pooler_port", explain=True)
    pointed = ledger.reader.query("zanzibar", explain=True).hits[0].parts

    parts = direct.hits[0].parts
    assert direct.plan == {"kept": ["pooler port", "pooler", "port"], "dropped": []}
    assert parts is not None
    words = {part["word"]: part for part in parts["words"]}
    assert words["port"]["learnings"] == 1
    assert words["port"]["fields"] == {"problem": 1, "solution": 1, "tags": 1}
    assert words["pooler port"]["fields"] == {"problem": 1}
    assert parts["redirected"] is False
    assert direct.hits[0].score == pytest.approx(parts["bm25"] * parts["weight"], abs=0.01)
    assert pointed is not None
    assert pointed["redirected"] is True
    assert pointed["words"][0]["fields"] == {}
    assert ledger.reader.query("pooler").hits[0].parts is None
    assert ledger.reader.query("", explain=True).hits[0].parts == {
        "bm25": 0.0,
        "weight": 1.0,
        "redirected": False,
        "words": [],
    }


@given(text=ANYTHING, name=ANYTHING, tag=ANYTHING)
@example(text='" OR NEAR(', name="\0", tag="\ud800")
@example(text="\ud800", name="\udfff", tag="\0")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_anywhere_is_legal(ledger: Ledger, text: str, name: str, tag: str) -> None:
    """Neither the question nor a filter can make SQLite raise."""
    reader = ledger.reader

    reader.query(text)
    reader.query(text, project=name, tags=[tag], explain=True)
    with pytest.raises(NotFound):
        reader.resolve("lrn_" + text + "!" + name)


# -- caps -------------------------------------------------------------------------------------------------------------


def test_a_long_body_is_cut_and_says_so(ledger: Ledger) -> None:
    """Problem and solution fit into 8 KiB together, cut between characters."""
    ledger.record(draft("marmot " + "é" * 3_000, "ü" * 10_000, title="Marmots"))

    found = ledger.reader.query("marmot")

    hit = found.hits[0]
    assert hit.cut == ["problem", "solution"]
    assert found.truncated
    assert len(((hit.problem or "") + (hit.solution or "")).encode()) <= answer.TEXT_BYTES
    assert "\ufffd" not in (hit.solution or "")


def test_a_long_solution_leaves_the_problem_whole(ledger: Ledger) -> None:
    """What is asked stays readable; the answer is cut."""
    ledger.record(draft("marmot burrow", "x" * 10_000))

    hit = ledger.reader.query("marmot").hits[0]

    assert (hit.problem, hit.cut) == ("marmot burrow", ["solution"])


def test_an_answer_stays_within_its_size(ledger: Ledger) -> None:
    """Fifty long learnings are more than 64 KiB: the best ones are shown, and the rest is not silently gone."""
    for number in range(12):
        ledger.record(draft(f"marmot {number}", "x\n" * 3_500 + str(number)))

    found = ledger.reader.query("marmot", limit=50)

    assert 1 <= len(found.hits) < 12
    assert found.truncated
    assert len(json.dumps(plain(found), ensure_ascii=False).encode()) <= answer.ANSWER_BYTES


def test_more_hits_than_asked_for_are_announced(ledger: Ledger) -> None:
    """`truncated` is true only when there was more."""
    for number in range(3):
        ledger.record(draft(f"marmot {number}"))

    assert ledger.reader.query("marmot", limit=2).truncated
    assert not ledger.reader.query("marmot", limit=3).truncated


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"limit": 51}, {"trust": 5}, {"trust": -1}, {"as_of": -1}, {"as_of": 2**63}]
)
def test_arguments_out_of_range_are_refused(ledger: Ledger, arguments: dict[str, Any]) -> None:
    """With the range in the hint."""
    with pytest.raises(BadArgument, match="may be"):
        ledger.reader.query("marmot", **arguments)


def test_unknown_categories_and_states_name_the_known_ones(ledger: Ledger) -> None:
    """Six categories, seven states."""
    with pytest.raises(UnknownCategory, match="bug-fix"):
        ledger.reader.query("marmot", category="fact")
    with pytest.raises(BadArgument, match="quarantined"):
        ledger.reader.list_learnings(state="gone")
    with pytest.raises(BadArgument):
        ledger.reader.list_learnings(limit=51)


# -- a large ledger ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Return a reader of 3,000 learnings that all hold `common`; every tenth is of project `ten`."""
    path = str(tmp_path_factory.mktemp("large") / "ledger.db")
    Ledger.init(path).close()
    connection = sqlite3.connect(path)
    for seq in range(1, 3_001):
        name = f"lrn_{seq:a>26}".translate(str.maketrans("0189", "wxyz"))
        place = "ten" if seq % 10 == 0 else "rest"
        made = (2, "person", "cli", None, None, None)
        texts = (f"title {seq}", f"common word{seq % 7}", "common" if seq % 2 else "even", place, "[]")
        connection.execute(
            project.INSERTS["learning"],
            (seq, name, *texts[:3], "env", "sure", *texts[3:], None, "2026-01-01T00:00:00.000000Z", *made),
        )
        connection.execute(project.INSERTS["learning_fts"], (seq, *texts[:3], ""))
        connection.execute(project.INSERTS["learning_state"], (name, seq, None, "current", 0, 0, 0))
    project.refresh_counts(connection)
    connection.execute(project.INSERTS["learning_fts"], (9_999, "newcomer", "", "", ""))
    connection.commit()
    connection.close()
    with open_reader(path) as reader:
        yield reader


def test_common_words_are_left_out_when_there_are_rarer_ones(large: Reader) -> None:
    """The plan says so, and the rarer word decides."""
    found = large.query("common word3 newcomer", limit=50, explain=True)

    assert found.plan == {"kept": ["word3", "newcomer"], "dropped": ["common"]}
    assert all("word3" in (hit.problem or "") for hit in found.hits)


def test_nothing_but_common_words_finds_the_newest(large: Reader) -> None:
    """The rarest of them is followed from the end of the log, through filters, without scoring every row."""
    everywhere = large.query("common", explain=True)
    filtered = large.query("common", project="ten", limit=50)

    assert everywhere.plan == {"kept": [], "dropped": ["common"]}
    assert everywhere.hits[0].title == "title 3000"
    assert everywhere.hits[0].score > 0
    assert [hit.project for hit in filtered.hits] == ["ten"] * 50


def test_a_search_for_a_common_word_ends_when_a_filter_lets_nothing_through(
    large: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the beginning of the log, or after so many pages: an empty answer."""
    to_the_beginning = large.query("common", project="nowhere").hits
    monkeypatch.setattr(search, "PAGES_MAX", 2)
    two_pages = large.query("common", project="nowhere").hits

    assert to_the_beginning == two_pages == []


def test_the_newest_of_a_project_are_paged(large: Reader) -> None:
    """Pages grow until enough passed the filters."""
    assert len(large.query("", project="ten", limit=50).hits) == 50
    assert large.query("", project="rest", category="practice").hits == []
    assert large.query("", project="rest", as_of=40, limit=50).hits[0].title == "title 39"
    assert search.PAGE * search.PAGES_MAX > 3_000 > rank.ROWS_MAX


# -- near and conflicts -----------------------------------------------------------------------------------------------


def test_a_similar_learning_is_near(ledger: Ledger) -> None:
    """Most of the same words, in this project or everywhere; not another subject, not another project."""
    one = ledger.record(draft("pooler drops idle connections at night", "raise server_idle_timeout"))
    ledger.record(draft("marmots sleep at night", "let them"))
    ledger.record(draft("pooler drops idle connections at night", "raise server_idle_timeout", project="other"))

    near = ledger.reader.near("pooler drops connections", "server_idle_timeout is too low", "Pooler drops", "demo")

    assert [hit.id for hit in near] == [one.id]
    assert 0.4 <= near[0].score <= 1.0
    assert ledger.reader.near("", "", "?", "demo") == []


def test_another_value_for_the_same_title_is_a_conflict(ledger: Ledger) -> None:
    """The caller learns which values differ, and may supersede instead."""
    one = ledger.record(draft("Database port", "use port 5432 with --slow"))
    ledger.record(draft("Database host", "use db1"))

    conflicts = ledger.reader.conflicts("which port", "use port 6543 with --fast", "database PORT", "demo")

    assert [conflict.id for conflict in conflicts] == [one.id]
    assert conflicts[0].differs == [
        {"kind": "flag", "stored": ["--slow"], "given": ["--fast"]},
        {"kind": "number", "stored": ["5432"], "given": ["6543"]},
    ]


def test_two_shared_names_make_one_subject(ledger: Ledger) -> None:
    """Titles may differ when the problems name the same things."""
    one = ledger.record(draft("asyncpg_stmt fails behind PgBouncer", "set size 0"))
    ledger.record(draft("asyncpg_stmt is slow", "set size 7"))

    conflicts = ledger.reader.conflicts("PgBouncer loses asyncpg_stmt", "set size 100", "Lost statements", "demo")

    assert [conflict.id for conflict in conflicts] == [one.id]


def test_the_same_values_are_no_conflict(ledger: Ledger) -> None:
    """Saying the same again, or saying more, contradicts nothing."""
    ledger.record(draft("Database port", "use port 5432"))

    assert ledger.reader.conflicts("Database port", "port 5432, always", "Database port", "demo") == []
    assert ledger.reader.conflicts("Database port", "port 5432 or 6543", "Database port", "demo") == []


# -- one learning, and lists ------------------------------------------------------------------------------------------


def test_a_prefix_finds_its_id(ledger: Ledger) -> None:
    """With or without `lrn_`, in any case."""
    one = ledger.record(draft("marmot"))

    assert ledger.reader.resolve(one.id) == one.id
    assert ledger.reader.resolve(one.id[4:10].upper()) == one.id


def test_an_id_that_nobody_has_names_the_nearest(ledger: Ledger) -> None:
    """A typing error at the end shows the id that was meant."""
    one = ledger.record(draft("marmot"))
    wrong = one.id[:-1] + ("a" if one.id[-1] != "a" else "b")

    with pytest.raises(NotFound, match=one.id):
        ledger.reader.resolve(wrong)
    with pytest.raises(NotFound, match="no learning has the id"):
        ledger.reader.resolve("lrn_zzz", project="other")


def test_an_ambiguous_prefix_lists_what_fits(large: Reader) -> None:
    """And a short one says how much to type."""
    with pytest.raises(AmbiguousId, match="type more"):
        large.resolve("aaa")
    with pytest.raises(BadArgument, match="at least 8"):
        large.resolve("aaa", minimum=8)
    with pytest.raises(NotFound, match="no id of a learning"):
        large.resolve("lrn_" + "a" * 27)


def test_ids_of_other_projects_are_not_found(ledger: Ledger) -> None:
    """A session reaches its project and what holds everywhere, and is told of nothing else."""
    own = ledger.record(draft("marmot"))
    ledger.record(draft("marmot den", project="other"))

    assert ledger.reader.resolve(own.id, project="demo") == own.id
    with pytest.raises(NotFound) as caught:
        ledger.reader.resolve(own.id, project="other")
    assert own.id not in caught.value.hint


def test_learnings_are_fetched_whole_by_id(ledger: Ledger) -> None:
    """In the order asked for, whatever their state, at most five, of the project only."""
    old = ledger.record(draft("zanzibar port"))
    new = ledger.supersede(old.id, "pooler port", "b", "moved")

    hits = ledger.reader.get([new.id, old.id[:12], new.id], project="demo")

    assert [(hit.id, hit.state) for hit in hits] == [(new.id, "current"), (old.id, "superseded")]
    with pytest.raises(NotFound):
        ledger.reader.get([old.id], project="other")
    for wrong in ([], [old.id] * 6):
        with pytest.raises(BadArgument):
            ledger.reader.get(wrong)


def test_show_tells_the_lineage_both_ways(ledger: Ledger) -> None:
    """What it replaced, what replaced it, where it was read, and which event touched it last."""
    place = Source("memory-note", "notes/db.md", "/notes/db.md", 3)
    first = ledger.record(draft("port one", source=place))
    second = ledger.supersede(first.id, "port two", "b" * 9_000, "grown")
    third = ledger.supersede(second.id, "port three", "c", "grown again")
    ledger.pin(third.id)

    middle = ledger.reader.show(second.id)

    assert middle["state"] == "superseded"
    assert middle["supersedes"] == [first.id]
    assert middle["superseded_by"] == [third.id]
    assert [old["id"] for old in middle["lineage"]["before"]] == [first.id]
    assert [new["id"] for new in middle["lineage"]["after"]] == [third.id]
    assert middle["version"] == third.seq
    assert len(middle["solution"]) == 9_000
    assert ledger.reader.show(third.id)["pinned"] is True
    assert ledger.reader.show(first.id)["sources"] == [
        {"kind": "memory-note", "locator": "notes/db.md", "path": "/notes/db.md", "line": 3, "stands": True}
    ]
    with pytest.raises(NotFound):
        ledger.reader.show("lrn_" + "z" * 26)


def test_history_lists_every_event_and_its_undo(ledger: Ledger) -> None:
    """Undone events stay, and name the undo that holds now."""
    one = ledger.record(draft("marmot"))
    retract = ledger.retract(one.id, "wrong")
    undo = ledger.undo(retract.seq, "right after all")

    events = ledger.reader.history(one.id)

    assert [(event.kind, event.undone_by, event.reason) for event in events] == [
        ("learning.recorded", None, None),
        ("learning.retracted", undo.seq, "wrong"),
        ("event.undone", None, "right after all"),
    ]


def test_lists_are_paged_by_seq(ledger: Ledger) -> None:
    """Newest first; the seq of the last row leads to the next page."""
    names = [ledger.record(draft(f"marmot {number}")).id for number in range(3)]
    ledger.retract(names[0], "wrong")

    page = ledger.reader.list_learnings(limit=1)
    rest = ledger.reader.list_learnings(limit=1, before_seq=page.rows[-1].seq)
    gone = ledger.reader.list_learnings(project="demo", state="retracted")

    assert ([row.id for row in page.rows], page.truncated) == ([names[2]], True)
    assert ([row.id for row in rest.rows], rest.truncated) == ([names[1]], False)
    assert [(row.id, row.state) for row in gone.rows] == [(names[0], "retracted")]


def test_status_counts(ledger: Ledger) -> None:
    """Events, learnings by state, and the current ones by project, category and trust."""
    one = ledger.record(draft("marmot"))
    ledger.supersede(one.id, "marmots", "b", "more")
    ledger.set("project_aliases", '{"old":"demo"}')

    status = ledger.reader.status()

    assert status["events"] == status["head"]["seq"] == 3
    assert status["learnings"] == {"current": 1, "superseded": 1}
    assert (status["projects"], status["categories"], status["trust"]) == ({"demo": 1}, {"env": 1}, {"4": 1})
    assert [setting["value"] for setting in status["settings"]] == ['{"old":"demo"}']
    assert status["projection"] == {"version": PROJECTION_VERSION, "seq": 3}


@pytest.mark.parametrize(
    ("when", "seq"),
    [
        ("2026-11-29", 0),
        ("2026-11-30T00:52:59", 0),
        ("2026-11-30T01:53", 1),
        ("2026-11-30 00:53:20Z", 1),
        ("2026-11-30T00:53:20.000000Z", 1),
        ("2026-11-30T00:53:20.0000009Z", None),
        ("2026-11-30T02:53:20+02:00", 1),
        ("2026-11-30T00:53:20+00:01", 0),
        ("2026-11-30", 3),
        ("2026-12-01", 3),
        ("2026-02-30", None),
        ("2026-11-30T25:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_time_means_the_last_event_until_then(timed: Ledger, clock: FakeClock, when: str, seq: int | None) -> None:
    """Three events, at 00:53:20, 02:53:20 and 04:53:20 UTC on 2026-11-30."""
    clock.us = 1_795_999_999_999_999 + 1
    for number in range(3):
        timed.record(draft(f"marmot {number}"))
        clock.advance(7_200)
    first = timed.reader.show(timed.reader.list_learnings().rows[-1].id)["recorded_at"]
    assert first == "2026-11-30T00:53:20.000000Z"

    if seq is None:
        with pytest.raises(BadArgument):
            timed.reader.seq_at(when)
    else:
        assert timed.reader.seq_at(when) == seq


# -- the file ---------------------------------------------------------------------------------------------------------


def test_names_that_uris_would_misread_open(tmp_path: Path) -> None:
    """`?`, `#` and `%` in a path are part of the name."""
    path = str(tmp_path / "a?b#c%41" / "ledger.db")
    with Ledger.init(path) as ledger:
        ledger.record(draft("marmot"))

        assert len(ledger.reader.query("marmot").hits) == 1


def test_a_reader_cannot_write(ledger: Ledger) -> None:
    """`query_only` refuses it, whatever the file allows."""
    with pytest.raises(ReadOnly):
        ledger.reader.rows("DELETE FROM word_count", {})


def test_an_empty_ledger_answers(ledger: Ledger) -> None:
    """No events, no hits, no fault."""
    reader = ledger.reader

    assert reader.head() == (0, b"")
    assert reader.query("marmot").hits == []
    assert reader.seq_at("2026-11-30") == 0
    assert reader.meta()["format"] == 1
    assert reader.heads("lrn_" + "a" * 26) == []
    assert reader.status()["events"] == 0


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("PRAGMA user_version = 2", NewerSchema),
        ("PRAGMA user_version = 0", OlderSchema),
        ("PRAGMA application_id = 7", NotALedger),
        (f"UPDATE projection SET version = {PROJECTION_VERSION + 1}", NewerSchema),
        (f"UPDATE projection SET version = {PROJECTION_VERSION - 1}", StaleProjection),
    ],
)
def test_files_of_other_programs_are_told_apart(
    ledger: Ledger, path: str, statement: str, error: type[LedgerError]
) -> None:
    """Newer, older, foreign, or waiting for a rebuild: each says so."""
    change(path, statement)

    with pytest.raises(error):
        open_reader(path)


def test_the_lean_constants_are_those_of_the_tables() -> None:
    """The read path repeats two numbers, because it cannot import the tables."""
    assert (sql.APPLICATION_ID, sql.SCHEMA_VERSION) == (tables.APPLICATION_ID, tables.SCHEMA_VERSION)


def test_what_is_no_ledger_is_refused(tmp_path: Path) -> None:
    """Nothing there, a folder, an empty file, a text file."""
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("no ledger " * 500)

    for name in ("absent", "", "empty", "text"):
        with pytest.raises(NotALedger):
            open_reader(str(tmp_path / name))


def test_a_locked_file_is_not_waited_for_long(ledger: Ledger, path: str) -> None:
    """A writer in the middle of its commit holds readers out; the time-out is short and the error says so."""
    change(path, "PRAGMA journal_mode = DELETE")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")

    with pytest.raises(Locked, match="try again"):
        open_reader(path, busy_ms=1)

    writer.execute("ROLLBACK")
    writer.close()


def test_the_journal_of_a_killed_writer_is_rolled_back_by_the_next_reader(
    ledger: Ledger, path: str, tmp_path: Path
) -> None:
    """The file and its journal as a kill in the middle of a transaction leaves them; read-only would not open it."""
    one = ledger.record(draft("marmot"))
    ledger.close()
    change(path, "PRAGMA journal_mode = DELETE")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE learning_state SET state = 'retracted'")
    writer.executemany("INSERT INTO word_count VALUES (?, 1)", [(f"word {number}",) for number in range(5_000)])
    left = str(tmp_path / "left.db")
    for suffix in ("", "-journal"):
        shutil.copyfile(path + suffix, left + suffix)
    writer.close()

    with open_reader(left) as reader:
        assert ids(reader.query("marmot").hits) == [one.id]
        assert reader.rows("SELECT count(*) FROM word_count", {}) == [(0,)]
    assert not os.path.exists(left + "-journal")


def test_a_file_that_cannot_be_opened_says_what_is_needed(ledger: Ledger, path: str) -> None:
    """Here because the process has no file handle left; permissions come out the same."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    handle = os.dup(0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (handle, hard))
    os.close(handle)

    try:
        with pytest.raises(ReadOnly, match="read access"):
            open_reader(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_damaged_file_is_named(ledger: Ledger, path: str) -> None:
    """SQLite's complaint becomes ours, without a traceback of its own."""
    ledger.record(draft("marmot"))
    ledger.close()
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        file.seek(4_096)
        file.write(b"\xff" * (size - 4_096))

    with pytest.raises(Damaged), open_reader(path) as reader:
        reader.query("marmot")


def test_an_unforeseen_fault_is_an_error_of_ours(ledger: Ledger) -> None:
    """With SQLite's name for it, and without the text of the statement."""
    with pytest.raises(FileFault, match="SQLITE_ERROR") as caught:
        ledger.reader.rows("SELECT secret FROM nowhere", {})
    assert "secret" not in str(caught.value)


def test_a_reader_within_a_transaction_sees_what_it_did(ledger: Ledger, path: str) -> None:
    """The write path reads through its own connection, before the commit."""
    one = ledger.record(draft("marmot"))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE learning_state SET state = 'retracted'")

    inside, still_open = Reader(connection).query("marmot").hits, connection.in_transaction
    connection.execute("ROLLBACK")
    after, left_open = Reader(connection).query("marmot").hits, connection.in_transaction

    assert (inside, still_open) == ([], True)
    assert (ids(after), left_open) == ([one.id], False)
    connection.close()


def test_an_alias_serves_both_names_of_a_project(ledger: Ledger) -> None:
    """A project that was renamed keeps its learnings under the old name and the new; undoing the setting ends it."""
    for name in ("old-name", "acme/new-name", "other"):
        ledger.record(Draft(f"the pooler of {name} refuses", "use port 6543", "env", name))
    setting = ledger.set("project_aliases", '{"old-name":"acme/new-name"}')

    def found(name: str) -> set[str]:
        return {hit.project for hit in ledger.reader.query("pooler", project=name).hits}

    assert found("old-name") == found("acme/new-name") == {"old-name", "acme/new-name"}
    assert found("other") == {"other"}
    ledger.undo(setting.seq)
    assert found("old-name") == {"old-name"}
