"""The commands: what they change, what they answer, what they refuse."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rows import opened

from ledger import redact
from ledger.errors import (
    BadArgument,
    BadText,
    BuiltUpon,
    Conflict,
    EmptyText,
    GuardFailed,
    NotAllowed,
    NotCurrent,
    NotFound,
    NotUndoable,
    Refused,
    SameIdOtherContent,
    TooLong,
    UnknownCategory,
)
from ledger.ledger import Ledger
from ledger.model import Actor, Draft, Source, agent, importer, new_event_id, person


def draft(problem: str = "the pooler refuses connections", solution: str = "use port 5432", **more: object) -> Draft:
    """Return a draft about one thing."""
    return Draft(problem, solution, "env", "demo")._replace(**more)


def state(ledger: Ledger, name: str) -> str:
    """Return the state of a learning now."""
    return str(ledger.reader.show(name)["state"])


@pytest.fixture
def both(ledger: Ledger, path: str) -> Iterator[tuple[Ledger, Ledger]]:
    """Return a person's ledger and an agent's, on the same file."""
    with Ledger.open(path, agent("s1")) as other:
        yield ledger, other


# -- record ----------


def test_a_recorded_learning_is_found(ledger: Ledger) -> None:
    """What was recorded is what a query answers."""
    done = ledger.record(draft(tags=("db", "docker"), title="Pooler port"))

    (hit,) = ledger.reader.query("pooler").hits
    assert (hit.id, hit.solution, hit.tags, hit.trust, hit.state) == (
        done.id,
        "use port 5432",
        ["db", "docker"],
        4,
        "current",
    )


def test_the_same_text_is_answered_not_written_again(ledger: Ledger) -> None:
    """A repeat names the learning that is there; the log does not grow."""
    first = ledger.record(draft())

    again = ledger.record(draft())

    assert (again.id, again.seq, again.duplicate) == (first.id, first.seq, True)
    assert ledger.store.head().seq == 1


def test_the_same_text_from_a_person_supersedes_the_agents(both: tuple[Ledger, Ledger]) -> None:
    """Trust on a row never changes, so a higher channel gets a row of its own."""
    human, model = both
    low = model.record(draft())

    high = human.record(draft())

    assert high.supersedes == [low.id]
    assert [hit.trust for hit in human.reader.query("pooler").hits] == [4]


def test_the_same_text_from_an_agent_adds_nothing_to_a_persons(both: tuple[Ledger, Ledger]) -> None:
    """A lower channel's repeat is answered with the higher row."""
    human, model = both
    high = human.record(draft())

    low = model.record(draft())

    assert (low.id, low.duplicate) == (high.id, True)


def test_a_person_who_says_what_a_candidate_says_accepts_it(both: tuple[Ledger, Ledger]) -> None:
    """The candidate becomes current instead of standing beside its twin."""
    human, model = both
    old = human.record(draft())
    waiting = model.supersede(old.id, "the pooler refuses connections", "use port 6543", "moved")

    done = human.record(draft(solution="use port 6543"))

    assert done.id == waiting.id
    assert (state(human, waiting.id), state(human, old.id)) == ("current", "superseded")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (draft(problem="  \n"), EmptyText),
        (draft(solution=""), EmptyText),
        (draft(problem="x" * 4_001), TooLong),
        (draft(solution="x" * 16_001), TooLong),
        (draft(category="bugs"), UnknownCategory),
        (draft(problem="a\0b"), BadText),
        (draft(solution="\ud800"), BadText),
        (draft(confidence="maybe"), BadArgument),
        (draft(observed_at="yesterday"), BadArgument),
        (draft(tags=tuple(f"t{number}" for number in range(21))), TooLong),
        (draft(tags=(" ",)), EmptyText),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(ledger: Ledger, given: Draft, error: type[Exception]) -> None:
    """One class of error each, and nothing in the log."""
    with pytest.raises(error):
        ledger.record(given)

    assert ledger.store.head().seq == 0


def test_nothing_is_stored_when_the_redactor_fails(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A door that cannot look lets nothing through, and does not quote what it saw."""

    def broken(text: str) -> redact.Scrubbed:
        raise RuntimeError(text)

    monkeypatch.setattr(redact, "scrub", broken)

    with pytest.raises(GuardFailed) as caught:
        ledger.record(draft(problem="canary-text"))

    assert "canary-text" not in str(caught.value)
    assert ledger.store.head().seq == 0


def test_a_secret_is_masked_in_every_field(ledger: Ledger) -> None:
    """Title, problem, solution, tags and project pass the same door; the answer says what was masked."""
    secret = "gh" + "p_" + "a1B2" * 9
    done = ledger.record(
        Draft(f"push fails with {secret}", f"rotate {secret}", "env", f"p-{secret}", f"token {secret}", (secret,))
    )

    stored = ledger.event(done.seq).body or b""
    assert secret.encode() not in stored
    assert stored.count(b"[REDACTED:") == 5
    assert set(done.redacted) == {"github-token"}


def test_terminal_sequences_are_gone_from_what_is_stored(ledger: Ledger) -> None:
    """Colours of a pasted log, hidden titles and clipboard writes do not reach a row."""
    done = ledger.record(draft(problem="\x1b[31mred\x1b[0m pooler \x1b]52;c;ZXZpbA==\x07fails\x07 now"))

    assert ledger.reader.show(done.id)["problem"] == "red pooler fails now"


# -- idempotency, versions, clock ----------


def test_a_retry_answers_the_first_seq(ledger: Ledger) -> None:
    """The same event id with the same content writes nothing, also when the state moved on meanwhile."""
    own = new_event_id()
    first = ledger.record(draft(), event_id=own)
    ledger.supersede(first.id, "the pooler", "use port 6543", "moved")

    again = ledger.record(draft(), event_id=own)

    assert (again.id, again.seq, again.duplicate) == (first.id, first.seq, False)
    assert ledger.store.head().seq == 2


def test_a_retried_supersede_retract_and_undo_answer_the_first_seq(ledger: Ledger) -> None:
    """Their ground is gone on the second try, and the answer is the same."""
    old = ledger.record(draft())
    ids = [new_event_id() for _ in range(3)]

    first = ledger.supersede(old.id, "the pooler", "use port 6543", "moved", event_id=ids[0])
    taken = ledger.retract(first.id, "wrong", event_id=ids[1])
    back = ledger.undo(taken.seq, event_id=ids[2])

    assert ledger.supersede(old.id, "the pooler", "use port 6543", "moved", event_id=ids[0]).seq == first.seq
    assert ledger.retract(first.id, "wrong", event_id=ids[1]).seq == taken.seq
    assert ledger.undo(taken.seq, event_id=ids[2]).seq == back.seq
    assert ledger.store.head().seq == 4


def test_an_event_id_cannot_be_used_for_something_else(ledger: Ledger) -> None:
    """The same id with another text, or for another command, is an error."""
    own = new_event_id()
    done = ledger.record(draft(), event_id=own)

    with pytest.raises(SameIdOtherContent):
        ledger.record(draft(solution="another"), event_id=own)
    with pytest.raises(SameIdOtherContent):
        ledger.retract(done.id, "wrong", event_id=own)

    assert ledger.store.head().seq == 1


def test_an_event_id_answers_only_what_was_asked_the_first_time(both: tuple[Ledger, Ledger]) -> None:
    """What a draft was to replace, what an undo was asked for and the value of a setting are content too."""
    human, model = both
    one, two = human.record(draft()), human.record(draft(problem="the queue is full"))
    waiting = model.propose(draft(problem="the cache is cold"))
    ids = [new_event_id() for _ in range(5)]
    human.record(draft(problem="the cache  is cold"), event_id=ids[0])
    human.supersede(one.id, "the pooler", "use port 6543", "moved", event_id=ids[1])
    human.set("scan_paths", '["/b"]', event_id=ids[2])
    undone = human.undo(two.seq, event_id=ids[3])
    held = model.propose(draft(problem="the disk is slow"))
    human.accept(held.id, [], event_id=ids[4])
    head = human.store.head()

    others: list[Callable[[], object]] = [
        lambda: human.record(draft(problem="something else"), event_id=ids[0]),
        lambda: human.supersede(waiting.id, "the pooler", "use port 6543", "moved", event_id=ids[1]),
        lambda: human.set("scan_paths", None, event_id=ids[2]),
        lambda: human.undo_batch(77, event_id=ids[3]),
        lambda: human.accept(held.id, [waiting.id], event_id=ids[4]),
    ]
    for other in others:
        with pytest.raises(SameIdOtherContent):
            other()

    assert human.record(draft(problem="the cache  is cold"), event_id=ids[0]).id == waiting.id
    assert human.accept(held.id, [], event_id=ids[4]).id == held.id
    assert human.undo(two.seq, event_id=ids[3]).seq == undone.seq
    assert human.store.head() == head


def test_other_threads_that_read_leave_an_append_whole(ledger: Ledger) -> None:
    """A thread that only asks for the connection once rolled back what another was writing."""
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            ledger.store.connection()

    reader = threading.Thread(target=ask)
    reader.start()
    try:
        done = [ledger.record(draft(problem=f"problem {number}")).seq for number in range(10)]
    finally:
        is_over.set()
        reader.join()

    assert done == list(range(1, 11))
    assert ledger.verify().ok


def test_a_fault_after_the_commit_is_a_remark(ledger: Ledger) -> None:
    """The answer never says that nothing was written when something was."""
    with opened(ledger.path) as connection:
        connection.execute("DROP TABLE word_total")
        connection.commit()

    done = ledger.record(draft())

    assert done.seq == 1
    assert [remark for remark in done.remarks if "words were not counted" in remark]


@pytest.mark.parametrize("own", ["", "x", "0190-not-a-uuid", "\n" * 36, "G" * 36])
def test_an_event_id_must_be_a_uuid(ledger: Ledger, own: str) -> None:
    """Anything else is refused by name, not by the database."""
    with pytest.raises(BadArgument):
        ledger.record(draft(), event_id=own)


def test_a_stale_version_is_a_conflict(ledger: Ledger) -> None:
    """Who decided on an older state is told, and nothing is written."""
    old = ledger.record(draft())
    ledger.pin(old.id)

    with pytest.raises(Conflict):
        ledger.supersede(old.id, "the pooler", "use port 6543", "moved", expected=old.seq)

    assert ledger.supersede(old.id, "the pooler", "use port 6543", "moved", expected=2).supersedes == [old.id]


# -- supersede ----------


def test_superseding_inherits_what_is_not_given(ledger: Ledger) -> None:
    """Category, project and tags are those of the old learning."""
    old = ledger.record(draft(tags=("db",), category="workflow"))

    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")

    found = ledger.reader.show(new.id)
    assert (found["category"], found["project"], found["tags"]) == ("workflow", "demo", ["db"])


def test_one_learning_replaces_several(ledger: Ledger) -> None:
    """Both old ones lead to the new one, and a query for the words of either finds it."""
    one, two = ledger.record(draft()), ledger.record(draft("the cache forgets", "raise its size"))

    new = ledger.supersede([one.id, two.id], "the proxy is gone", "nothing to do", "migrated")

    assert new.supersedes == [one.id, two.id]
    assert [hit.id for hit in ledger.reader.query("cache forgets").hits] == [new.id]


def test_superseding_what_is_not_current_names_the_live_head(ledger: Ledger) -> None:
    """The caller learns which learning to name instead."""
    old = ledger.record(draft())
    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")

    with pytest.raises(NotCurrent, match=new.id):
        ledger.supersede(old.id, "the pooler", "use port 1", "again")


def test_an_agents_supersede_of_a_persons_learning_waits(both: tuple[Ledger, Ledger]) -> None:
    """A lower tier cannot replace a higher one: it becomes a candidate that a person accepts."""
    human, model = both
    old = human.record(draft())

    done = model.supersede(old.id, "the pooler refuses connections", "use port 6543", "moved")

    assert (done.state, done.supersedes, state(human, old.id)) == ("candidate", [], "current")
    human.accept(done.id)
    assert (state(human, done.id), state(human, old.id)) == ("current", "superseded")


def test_accepting_rechecks_what_is_to_be_replaced(both: tuple[Ledger, Ledger]) -> None:
    """What was current when the proposal was made may have a successor now."""
    human, model = both
    old = human.record(draft())
    waiting = model.supersede(old.id, "the pooler refuses connections", "use port 6543", "moved")
    newer = human.supersede(old.id, "the pooler", "use port 7", "moved")

    with pytest.raises(NotCurrent, match=newer.id):
        human.accept(waiting.id)
    human.accept(waiting.id, [newer.id])

    assert state(human, newer.id) == "superseded"


def test_superseding_says_which_file_still_says_the_old(tmp_path: Path, path: str) -> None:
    """A note that the client loads goes on saying it; the answer names file and line."""
    note = tmp_path / "note.md"
    note.write_text("# Ports\n\nuse port 5432 for the pooler\n", "utf-8")
    with Ledger.init(path, importer(2)) as notes:
        source = Source("memory-note", f"memory-note:{note}#", str(note), 1)
        old = notes.record(draft(solution="use port 5432 for the pooler", source=source))
    with Ledger.open(path) as ledger:
        new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")

    assert [tuple(line) for line in new.still_loaded] == [(str(note), 3)]


def test_superseding_what_is_pinned_says_that_the_new_one_is_not(ledger: Ledger) -> None:
    """A pin is a person's word about one learning; the answer names the command that says it again."""
    old = ledger.record(draft())
    ledger.pin(old.id)

    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")

    assert any(f"learnings pin {new.id}" in remark for remark in new.remarks)


def test_unknown_and_empty_lists_of_old_learnings_are_refused(ledger: Ledger) -> None:
    """There must be something to replace."""
    with pytest.raises(NotFound):
        ledger.supersede("lrn_" + "a" * 26, "p", "s", "r")
    with pytest.raises(BadArgument):
        ledger.supersede([], "p", "s", "r")


# -- undo ----------


def test_undoing_a_supersede_makes_the_old_learning_current(ledger: Ledger) -> None:
    """Undo restores what recall would have shown before the supersede."""
    old = ledger.record(draft())
    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")

    ledger.undo(new.seq)

    assert [hit.solution for hit in ledger.reader.query("pooler").hits] == ["use port 5432"]
    assert [event.kind for event in ledger.reader.history(old.id)] == [
        "learning.recorded",
        "learning.superseded",
        "event.undone",
    ]


def test_undoing_the_undo_redoes(ledger: Ledger) -> None:
    """The seq that an undo answers is what redoes."""
    old = ledger.record(draft())
    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")
    back = ledger.undo(new.seq)

    again = ledger.undo(back.seq)

    assert (again.undone, again.redone) == ([back.seq], [new.seq])
    assert state(ledger, old.id) == "superseded"


def test_what_later_events_build_upon_is_named_and_cascade_takes_it_along(ledger: Ledger) -> None:
    """A plain undo refuses and names the event; a cascade takes back both, newest first."""
    old = ledger.record(draft())
    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")

    with pytest.raises(BuiltUpon, match=rf"event {new.seq} "):
        ledger.undo(old.seq)
    done = ledger.undo(old.seq, cascade=True)

    assert done.undone == [new.seq, old.seq]
    assert ledger.reader.query("pooler").hits == []


def test_a_redo_whose_ground_has_gone_names_what_to_redo_first(ledger: Ledger) -> None:
    """Bringing back a supersede needs the learning it superseded."""
    old = ledger.record(draft())
    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")
    first = ledger.undo(new.seq)
    second = ledger.undo(old.seq)

    with pytest.raises(BuiltUpon, match=f"undo {second.seq}"):
        ledger.undo(first.seq)
    with pytest.raises(BuiltUpon):
        ledger.undo(first.seq, cascade=True)
    ledger.undo(second.seq)
    ledger.undo(first.seq)

    assert state(ledger, new.id) == "current"


def test_an_event_is_undone_once(ledger: Ledger) -> None:
    """The second undo names the first, which redoes."""
    done = ledger.record(draft())
    back = ledger.undo(done.seq)

    with pytest.raises(NotUndoable, match=f"undo {back.seq}"):
        ledger.undo(done.seq)


def test_an_undo_of_nothing_is_refused(ledger: Ledger) -> None:
    """There is no event 7 and no import 1."""
    ledger.record(draft())

    with pytest.raises(NotFound):
        ledger.undo(7)
    with pytest.raises(NotFound):
        ledger.undo_batch(1)


def test_retracting_a_superseder_says_how_to_bring_the_old_one_back(ledger: Ledger) -> None:
    """Retraction does not revive; the remark names the undo that does."""
    old = ledger.record(draft())
    new = ledger.supersede(old.id, "the pooler", "use port 6543", "moved")

    done = ledger.retract(new.id, "wrong too")

    assert any(f"undo {new.seq}" in remark for remark in done.remarks)
    assert state(ledger, old.id) == "superseded"


# -- who may ----------


def test_an_agent_takes_back_only_what_its_session_wrote(path: str, both: tuple[Ledger, Ledger]) -> None:
    """A person's, and another session's, are refused with the command a person would type."""
    human, model = both
    theirs = human.record(draft())
    own = model.record(draft("another problem", "another answer"))
    with Ledger.open(path, agent("s2")) as stranger:
        other = stranger.record(draft("a third problem", "a third answer"))

    for done in (theirs, other):
        with pytest.raises(NotAllowed, match=f"learnings retract {done.id}"):
            model.retract(done.id, "wrong")
        with pytest.raises(NotAllowed, match=f"learnings undo {done.seq}"):
            model.undo(done.seq)
    model.retract(own.id, "wrong")

    assert state(human, own.id) == "retracted"


@pytest.mark.parametrize("act", ["accept", "release", "pin", "unpin"])
def test_some_acts_are_a_persons_alone(both: tuple[Ledger, Ledger], act: str) -> None:
    """An agent is told what a person can type."""
    human, model = both
    done = human.record(draft())

    with pytest.raises(NotAllowed, match=f"learnings {act}"):
        getattr(model, act)(done.id)


def test_a_cascade_never_reaches_beyond_the_channel(both: tuple[Ledger, Ledger]) -> None:
    """A person's event that builds upon an agent's is not taken along by the agent."""
    human, model = both
    low = model.record(draft())
    human.supersede(low.id, "the pooler", "use port 6543", "moved")

    with pytest.raises(NotAllowed):
        model.undo(low.seq, cascade=True)


def test_trust_is_the_channels(path: str) -> None:
    """Each channel's rows carry its trust; an importer is never above that of notes."""
    actors: list[tuple[Actor, int]] = [
        (person(), 4),
        (agent("s"), 3),
        (importer(2), 2),
        (importer(4), 2),
        (importer(1), 1),
    ]
    for number, (actor, trust) in enumerate(actors):
        with Ledger.init(path, actor) as ledger:
            done = ledger.record(draft(f"problem {number} of many", f"answer {number}"))

            assert ledger.reader.show(done.id)["trust"] == trust


def test_what_a_person_accepted_is_a_persons_to_everybody_else(both: tuple[Ledger, Ledger], path: str) -> None:
    """The row keeps the trust it came with; replacing it or taking it back needs a person all the same."""
    human, model = both
    old = human.record(draft())
    waiting = model.supersede(old.id, "the pooler refuses connections", "use port 6543", "moved")
    human.accept(waiting.id)

    with pytest.raises(NotAllowed):
        model.retract(waiting.id, "wrong")
    assert model.supersede(waiting.id, "the pooler", "use port 1", "again").state == "candidate"
    with Ledger.open(path, importer(2)) as notes:
        assert notes.supersede(waiting.id, "the pooler", "use port 2", "note").state == "candidate"
    assert state(human, waiting.id) == "current"


def test_what_a_person_says_does_not_wait_for_a_candidate_whose_ground_has_gone(both: tuple[Ledger, Ledger]) -> None:
    """The candidate of the same text is accepted without what it wanted to replace."""
    human, model = both
    old = human.record(draft())
    waiting = model.supersede(old.id, "the pooler refuses connections", "use port 6543", "moved")
    human.retract(old.id, "wrong")

    done = human.record(draft(solution="use port 6543"))

    assert (done.id, done.state, done.supersedes) == (waiting.id, "current", [])


def test_a_current_learning_of_the_same_text_comes_before_a_newer_one_that_waits(both: tuple[Ledger, Ledger]) -> None:
    """A repeat is answered by what is served; accepting its twin would make two of it."""
    human, _ = both
    served = human.record(draft())
    human.propose(draft())

    done = human.record(draft())

    assert (done.id, done.duplicate) == (served.id, True)


@pytest.mark.soak
def test_an_undo_of_an_undo_a_thousand_times_over_still_projects(ledger: Ledger) -> None:
    """Depth of an undo tree costs no stack; the learning is what the parity says."""
    seq = ledger.record(draft()).seq
    for _ in range(1_100):
        seq = ledger.undo(seq).seq

    assert [hit.solution for hit in ledger.reader.query("pooler").hits] == ["use port 5432"]
    assert ledger.verify().ok


def test_a_dry_run_of_a_machines_setting_makes_no_file(ledger: Ledger, path: str) -> None:
    """Not even the opaque id of the machine."""
    ledger.set("scan_paths", '["/b"]', machine=True, dry_run=True)

    assert not Path(path + ".machine").exists()


@pytest.mark.parametrize("act", ["retract", "undo", "supersede"])
def test_an_agent_does_not_bring_back_what_a_person_took_back(both: tuple[Ledger, Ledger], act: str) -> None:
    """Its repeat waits, says why, and is not written a second time; a person's repeat is current at once."""
    human, model = both
    old = human.record(draft())
    if act == "supersede":
        human.supersede(old.id, "the pooler moved", "use port 6543", "moved")
    elif act == "retract":
        human.retract(old.id, "wrong")
    else:
        human.undo(old.seq)

    waiting = model.record(draft())
    again = model.record(draft())

    assert (waiting.state, again.id, again.duplicate) == ("candidate", waiting.id, True)
    assert any(f"learnings accept {waiting.id}" in remark for remark in waiting.remarks)
    assert "use port 5432" not in [hit.solution for hit in human.reader.query("pooler 5432").hits]
    assert human.record(draft()).state == "current"


def test_an_agent_may_say_again_what_it_took_back_itself(both: tuple[Ledger, Ledger]) -> None:
    """Only a more trusted channel's word holds against a repeat."""
    _, model = both
    old = model.record(draft())
    model.retract(old.id, "too early")

    assert model.record(draft()).state == "current"


# -- other states ----------


def test_a_rejected_candidate_is_never_served(ledger: Ledger) -> None:
    """It stays for forensics and cannot be accepted."""
    done = ledger.propose(draft())
    ledger.reject(done.id, "no")

    assert ledger.reader.query("pooler").hits == []
    with pytest.raises(Refused):
        ledger.accept(done.id)


def test_a_released_candidate_is_a_candidate_again(ledger: Ledger) -> None:
    """Flags, not a last word: release lifts the quarantine alone."""
    done = ledger.propose(draft())
    ledger.quarantine(done.id, "odd")
    ledger.release(done.id)

    assert state(ledger, done.id) == "candidate"


@pytest.mark.parametrize("act", ["pin", "retract", "supersede"])
def test_only_what_is_current_is_changed(ledger: Ledger, act: str) -> None:
    """Pin, retract and supersede refuse a retracted learning."""
    done = ledger.record(draft())
    ledger.retract(done.id, "wrong")
    arguments = {"pin": (), "retract": ("again",), "supersede": ("p", "s", "r")}[act]

    with pytest.raises((NotCurrent, Refused)):
        getattr(ledger, act)(done.id, *arguments)


def test_a_dry_run_writes_nothing_and_answers_the_same(ledger: Ledger) -> None:
    """What a command would do, with the seq it would get."""
    done = ledger.record(draft())

    plan = ledger.supersede(done.id, "the pooler", "use port 6543", "moved", dry_run=True)

    assert (plan.seq, plan.supersedes) == (2, [done.id])
    assert ledger.store.head().seq == 1
    assert state(ledger, done.id) == "current"


@pytest.mark.parametrize(
    ("name", "value"),
    [("colour", "red"), ("project_aliases", "{"), ("project_aliases", '{"a":1}'), ("scan_paths", '"x"')],
)
def test_a_setting_that_is_none_is_refused(ledger: Ledger, name: str, value: str) -> None:
    """Names and values are checked before anything is written."""
    with pytest.raises(BadArgument):
        ledger.set(name, value)


def test_a_setting_of_a_machine_hides_none_of_the_ledger(ledger: Ledger) -> None:
    """Scopes are kept apart, each with a history of its own."""
    ledger.set("scan_paths", '["/a"]')
    ledger.set("scan_paths", '["/b"]', machine=True)

    rows = ledger.store.connection().execute("SELECT scope, value FROM settings ORDER BY scope").fetchall()

    assert rows == [("ledger", '["/a"]'), ("machine", '["/b"]')]
