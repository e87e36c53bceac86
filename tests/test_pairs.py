"""Learnings that say the same in near the same words: told apart from look-alikes, proposed, merged or settled."""

import json
import random
import runpy
import time
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell, keys, refused

from importers.plan import plan, vanished
from importers.registry import scan_paths
from ledger import alike, decide, erase, export, ingest, own_copy, pairs, review
from ledger.errors import NotAllowed
from ledger.ledger import Ledger
from ledger.model import STATES, TRUST_NOTES, Draft, agent, importer, inferred

CACHE = Draft("CI fails after a Node upgrade", "Clear the CI cache after upgrading Node.", "bug-fix", "demo")
AGAIN = Draft("CI breaks after upgrading node", "After a Node upgrade, clear the cache of CI.", "bug-fix", "demo")
DISK = Draft("pooler drops connections", "restart the pooler when its disk is full", "env", "demo")
DISK_AGAIN = Draft("connections dropped", "when its disk is full, the pooler must be restarted", "env", "demo")
OTHER = CACHE._replace(problem="CI fails after a Ruby upgrade", solution="Clear the CI cache after upgrading Ruby.")
NOTE = "---\nname: {name}\ndescription: {about}\ntype: reference\n---\n{rule}\n"


@pytest.fixture
def inside(inside: Inside) -> Inside:
    """Return the command on an empty ledger."""
    inside.document("init")
    return inside


def by(ledger: Ledger, actor: Any, draft: Draft) -> str:
    """Record a learning as somebody; return its id."""
    with ledger.acting(actor):
        return ledger.record(draft).id


def two(ledger: Ledger) -> tuple[str, str]:
    """Return what an agent said, and what notes say again."""
    return by(ledger, agent("mcp-1"), CACHE), by(ledger, importer(TRUST_NOTES), AGAIN)


def proposed(ledger: Ledger) -> list[tuple[str, str]]:
    """Return the pairs that a review asks about: the one that would stay, and the other."""
    items = review.waiting(ledger.reader, time.time()).items
    return [(one.id, one.other["id"]) for one in items if one.kind == "merge" and one.other]


def notes(ledger: Ledger, folder: Path) -> Any:
    """Import a folder of notes; return what was done."""
    (reading,) = scan_paths([str(folder)], "demo")
    return ingest.run(ledger, reading, plan, vanished)


def written(folder: Path, name: str, draft: Draft) -> Path:
    """Write a note."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(NOTE.format(name=name, about=draft.problem, rule=draft.solution))
    return path


# -- told apart -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "recall"), [("tuned", 0.9), ("held", 0.8), ("third", 0.5)])
def test_what_says_the_same_is_told_from_what_looks_like_it(name: str, recall: float) -> None:
    """Nineteen of twenty pairs that are called the same are so; of those nobody tuned for, half are found."""
    measured = runpy.run_path(str(Path(__file__).parent.parent / "evals" / "near" / "measure.py"))["figures"](name)

    assert measured["precision"] >= 0.95
    assert measured["recall"] >= recall


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the pooler of staging listens on port 6543", "the pooler of staging listens on port 5432"),
        ("run the migration of orders with `--online`", "run the migration of orders with `--offline`"),
        ("the client of billing needs version 2.4.1", "the client of billing needs version 2.5.0"),
        ("the client of billing reads `etc/a.toml`", "the client of billing reads `etc/b.toml`"),
        ("always squash commits of the release branch", "never squash commits of the release branch"),
    ],
)
def test_another_value_is_a_contradiction_and_no_duplicate(one: str, other: str) -> None:
    """A number, a flag, a version, a path or a `not` makes it differ, however many words are shared."""
    found = alike.compare(*(alike.read("the service", text) for text in (one, other)))

    assert found == alike.DIFFERS


def test_nothing_of_the_retrieval_sets_is_called_the_same() -> None:
    """Of 492 invented learnings, written without these rules, no two are paired: none of them is a duplicate."""
    for name in ("first", "second", "third"):
        path = Path(__file__).parent.parent / "evals" / name / "learnings.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]

        found = alike.pairs((number, row["problem"], row["solution"]) for number, row in enumerate(rows))

        assert found == []


# -- proposed ---------------------------------------------------------------------------------------------------------


def test_a_review_proposes_to_merge_below_everything_that_waits(inside: Inside, shell: Shell) -> None:
    """The item has the keys of the contract, both ids and texts, and says which one would stay; both are served."""
    with Ledger.open(str(shell.file)) as ledger:
        first, second = two(ledger)
        guess = by(ledger, inferred("s-1"), Draft("the kettle whistles", "lift the lid of it", "env", "demo"))

    document = inside.document("review")

    assert not [gone for item in document["items"] for gone in keys(item, "id problem solution state reason source")]
    assert [(item["id"], item["kind"]) for item in document["items"]] == [(guess, "inferred"), (first, "merge")]
    item = document["items"][1]
    assert (item["other"]["id"], item["other"]["solution"]) == (second, AGAIN.solution)
    assert "more trusted" in item["reason"]
    assert (document["waiting"], document["pairs"]) == (1, 1)
    hits = {hit["id"] for hit in inside.document("query", "CI cache node upgrade")["hits"]}
    assert {first, second} <= hits


def test_of_equal_trust_what_more_places_say_would_stay_then_the_newer(ledger: Ledger, tmp_path: Path) -> None:
    """Two notes say one thing: the later learning stays, until the earlier one stands in two places."""
    folder = tmp_path / "memory"
    written(folder, "a", CACHE)
    notes(ledger, folder)
    written(folder, "b", AGAIN)
    notes(ledger, folder)
    ((newer, older),) = proposed(ledger)
    written(tmp_path / "more", "c", CACHE)

    notes(ledger, tmp_path / "more")

    assert ledger.reader.show(newer)["solution"] == AGAIN.solution
    assert proposed(ledger) == [(older, newer)]


def test_pairs_of_two_projects_are_none_and_of_everywhere_are(ledger: Ledger) -> None:
    """The same words in another project are another fact; what holds everywhere is compared with each."""
    ledger.record(CACHE)
    ledger.record(AGAIN._replace(project="shop"))
    apart = proposed(ledger)

    every = ledger.record(AGAIN._replace(project="*")).id

    assert apart == []
    assert {pair for pair in proposed(ledger) if every in pair} != set()
    assert review.waiting(ledger.reader, time.time(), project="other").items == []


def test_a_pair_of_which_one_waits_is_not_asked_about_twice(ledger: Ledger) -> None:
    """What was inferred is one item, with what it is like; it is no pair as well."""
    ledger.record(CACHE)
    guess = by(ledger, inferred("s-1"), AGAIN)

    (item,) = review.waiting(ledger.reader, time.time()).items

    assert (item.id, item.kind) == (guess, "inferred")


def test_three_pairs_are_shown_at_a_time(inside: Inside, shell: Shell) -> None:
    """More are counted, and listed with `--all`; what waits is counted without them."""
    tools = ("pooler", "relay", "shipper", "limiter", "scheduler")
    with Ledger.open(str(shell.file)) as ledger:
        for tool in tools:
            for draft in (DISK, DISK_AGAIN):
                texts = [text.replace("pooler", tool) for text in (draft.problem, draft.solution)]
                ledger.record(Draft(*texts, "env", "demo"))

    document = inside.document("review")

    assert (len(document["items"]), document["pairs"], document["waiting"]) == (3, 5, 0)
    assert document["truncated"]
    assert "2 more pairs may say the same: --all" in inside("review").out
    assert len(inside.document("review", "--all")["items"]) == 5


# -- merged -----------------------------------------------------------------------------------------------------------


def test_merging_lets_one_stand_for_the_other_and_one_undo_takes_it_back(inside: Inside, shell: Shell) -> None:
    """The one that stays keeps id, text and trust; the words of the other lead to it."""
    with Ledger.open(str(shell.file)) as ledger:
        first, second = two(ledger)

    done = inside.document("review", "merge", first, second)

    assert (done["act"], done["state"], done["supersedes"]) == ("merged", "current", [second])
    assert inside.document("show", first)["trust"] == 3
    assert inside.document("show", second)["superseded_by"] == [first]
    assert [hit["id"] for hit in inside.document("query", AGAIN.solution)["hits"]] == [first]
    assert inside.document("review")["items"] == []
    inside.document("undo", str(done["seq"]))
    assert len(inside.document("review")["items"]) == 1


def test_the_places_of_both_are_kept_and_a_rescan_adds_nothing(ledger: Ledger, tmp_path: Path) -> None:
    """The one that stays shows where both stand; the same notes read again change nothing."""
    folder = tmp_path / "memory"
    written(folder, "a", CACHE)
    written(folder, "b", AGAIN)
    notes(ledger, folder)
    ((stays, other),) = proposed(ledger)

    decide.merge(ledger, stays, other)

    places = {Path(source["path"]).name for source in ledger.reader.show(stays)["sources"] if source["stands"]}
    head = ledger.store.head()
    assert places == {"a.md", "b.md"}
    assert notes(ledger, folder).batch is None
    assert ledger.store.head() == head


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_decided_about_pairs_notes_read_again_in_any_order_add_nothing(
    ledger: Ledger, tmp_path: Path, seed: int
) -> None:
    """Notes that repeat each other, read in parts, with merges and settlements between: the next reading is idle."""
    draw = random.Random(seed)
    tools = ("pooler", "relay", "shipper", "limiter")
    paths = []
    for number, (tool, draft) in enumerate((tool, draft) for tool in tools for draft in (DISK, DISK_AGAIN)):
        texts = [text.replace("pooler", tool) for text in (draft.problem, draft.solution)]
        paths.append(written(tmp_path / "memory", f"note-{number}", Draft(*texts, "env", "demo")))
    for path in draw.sample(paths, len(paths)):
        notes(ledger, path)
        for stays, other in proposed(ledger):
            if draw.random() < 0.5:
                draw.choice((decide.merge_pair, decide.different))(ledger, stays, other)
    notes(ledger, tmp_path / "memory")
    head = ledger.store.head()

    for path in [*draw.sample(paths, len(paths)), tmp_path / "memory"]:
        notes(ledger, path)

    assert ledger.store.head() == head
    assert ledger.verify().ok


def test_what_one_place_still_says_stays_when_the_other_is_gone(ledger: Ledger, tmp_path: Path) -> None:
    """The note of the one that stays is deleted: it is said by the other's note still, until that is gone as well."""
    folder = tmp_path / "memory"
    paths = {one.solution: written(folder, name, one) for name, one in (("a", CACHE), ("b", AGAIN))}
    notes(ledger, folder)
    ((stays, other),) = proposed(ledger)
    decide.merge(ledger, stays, other)

    paths[ledger.reader.show(stays)["solution"]].unlink()
    notes(ledger, folder)

    assert ledger.reader.show(stays)["state"] == "current"
    assert notes(ledger, folder).batch is None


def test_what_was_merged_is_known_when_it_is_said_again(ledger: Ledger) -> None:
    """An agent that records the other text is answered with the learning that stands for it; nothing is written."""
    first, second = two(ledger)
    decide.merge(ledger, first, second)
    head = ledger.store.head()

    with ledger.acting(agent("mcp-2")):
        told = ledger.record(AGAIN)

    assert (told.id, told.duplicate, ledger.store.head()) == (first, True, head)


def test_a_file_that_says_what_was_merged_is_no_contradiction(ledger: Ledger, tmp_path: Path) -> None:
    """A file that the client loads goes on saying the other text; only once the fact is retracted is that reported."""
    first, second = two(ledger)
    loaded = tmp_path / "CLAUDE.md"
    loaded.write_text(f"# Rules\n\n- {AGAIN.solution}\n- {CACHE.solution}\n")
    decide.merge(ledger, first, second)

    merged = own_copy.contradictions(ledger.reader, [str(loaded)])
    ledger.retract(first, "wrong")

    assert merged == []
    assert {one.learning for one in own_copy.contradictions(ledger.reader, [str(loaded)])} == {first}


def test_a_merge_comes_back_from_an_export_also_where_the_newer_one_gave_way(ledger: Ledger, tmp_path: Path) -> None:
    """The text that stays is current in the other ledger, the other one superseded by it."""
    first, second = two(ledger)
    decide.merge(ledger, first, second)
    out = tmp_path / "all.jsonl"
    export.write(str(out), export.jsonl(ledger.reader, STATES, "2026-11-30T00:00:00.000000Z"))

    with Ledger.init(str(tmp_path / "fresh.db")) as fresh:
        (reading,) = scan_paths([str(out)], None)
        ingest.run(fresh, reading, plan, vanished)
        found = {row["solution"]: row for row in export.learnings(fresh.reader, STATES)}
        again = ingest.run(fresh, reading, plan, vanished)

    assert (found[CACHE.solution]["state"], found[AGAIN.solution]["state"]) == ("current", "superseded")
    assert found[AGAIN.solution]["superseded_by"] == [found[CACHE.solution]["id"]]
    assert again.batch is None


def test_only_a_person_merges_or_calls_different(ledger: Ledger) -> None:
    """An agent decides nothing about a pair."""
    first, second = two(ledger)

    for act in (decide.merge_pair, decide.different):
        with ledger.acting(agent("mcp-1")), pytest.raises(NotAllowed):
            act(ledger, first, second)


def test_a_pair_that_is_none_is_refused(inside: Inside) -> None:
    """Twice the same, of two projects, not current, settled before: each is said, and nothing is written."""
    one, other = inside.record(CACHE.problem, CACHE.solution)["id"], inside.record(AGAIN.problem, AGAIN.solution)["id"]
    shop = inside.document(
        "record", "--problem", "p of it", "--solution", "s of it", "--category", "env", "--project", "shop"
    )["id"]

    refused(inside("review", "different", one, one), 15, "name two")
    refused(inside("review", "merge", one, shop), 15, "two projects")
    inside.document("review", "different", one, other)
    refused(inside("review", "different", other, one), 20, "before")
    inside.document("retract", other, "--reason", "wrong")
    refused(inside("review", "merge", one, other), 22, "not current")


# -- settled ----------------------------------------------------------------------------------------------------------


def test_what_was_called_different_is_not_asked_again_also_in_later_learnings(ledger: Ledger) -> None:
    """The text is replaced and comes again under another id: the pair stays settled, until it is undone."""
    one, other = ledger.record(CACHE).id, ledger.record(AGAIN).id
    done = decide.different(ledger, one, other, "the second is of the nightly job")
    settled = proposed(ledger)

    gone = ledger.supersede(other, "the nightly job", "it is switched off", "so it is")
    ledger.supersede(gone.id, AGAIN.problem, AGAIN.solution.upper() + " ", "it is on again")

    assert (settled, proposed(ledger)) == ([], [])
    ledger.undo(done.seq)
    assert len(proposed(ledger)) == 1
    assert ledger.verify().ok


def test_a_settled_pair_stands_in_a_view_and_its_reason_is_erased_with_either(ledger: Ledger) -> None:
    """The view says who called what different and why; the reason goes with each of the two learnings."""
    one, other = ledger.record(CACHE).id, ledger.record(AGAIN).id
    done = decide.different(ledger, other, one, "the second is of the nightly job")
    view = "SELECT one_id, other_id, reason, holds FROM pairs"
    before = ledger.store.connection().execute(view).fetchall()

    erased = erase.erase(ledger, [one], "personal")

    assert before == [(*sorted((one, other)), "the second is of the nightly job", 1)]
    assert done.seq in erased.erased
    assert ledger.store.connection().execute(view).fetchone()[2] is None
    assert ledger.verify().ok


def test_keys_decide_about_a_pair_line_by_line(shell: Shell, inside: Inside) -> None:
    """`d` settles, `m` merges; other keys of the queue mean nothing there."""
    with Ledger.open(str(shell.file)) as ledger:
        two(ledger)
        ledger.record(DISK)
        ledger.record(DISK_AGAIN)

    done = shell.run("review", "--ask", given=b"a\nd\nm\n")

    assert "different" in done.out
    assert "merged" in done.out
    assert "decided 2; 0 items left" in done.out
    assert inside.document("review")["items"] == []


# -- after an import --------------------------------------------------------------------------------------------------


def test_an_import_says_how_many_say_what_is_there(inside: Inside, tmp_path: Path) -> None:
    """One of three new notes says what is there, a later one what a note says: counted, said, and no state changed."""
    inside.record(CACHE.problem, CACHE.solution)
    folder = tmp_path / "memory"
    written(folder, "a", AGAIN)
    written(folder, "b", OTHER)
    written(folder, "c", DISK)

    first = inside.document("import", str(folder), "--project", "demo")
    again = inside.document("import", str(folder), "--project", "demo")
    written(folder, "d", DISK_AGAIN)
    said = inside("import", str(folder), "--project", "demo")

    assert (first["recorded"], first["near"], again["near"]) == (3, 1, 0)
    assert "1 of them says what another learning says in near the same words: `learnings review`" in said.err
    assert {row["state"] for row in inside.document("list")["rows"]} == {"current"}


def test_an_export_comes_back_as_it_was_near_duplicates_and_all(inside: Inside, tmp_path: Path) -> None:
    """What is alike within one export stays current on import: nothing is demoted, retracted or proposed."""
    for draft in (CACHE, AGAIN):
        inside.record(draft.problem, draft.solution)
    out = tmp_path / "all.jsonl"
    inside.document("export", "--output", str(out))

    with Ledger.init(str(tmp_path / "fresh.db")) as ledger:
        (reading,) = scan_paths([str(out)], None)
        done = ingest.run(ledger, reading, plan, vanished)

        assert (done.recorded, done.proposed, done.quarantined, done.retracted) == (2, 0, 0, 0)
        assert {row.state for row in ledger.reader.list_learnings().rows} == {"current"}
        assert pairs.brought(ledger.reader, 0) == 2
