"""`recall why exposures wrong alias`: the keys of the contract, and what a person sees."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import Inside, Shell, keys, refused

PROMPT = "pgcat refuses connections from the docker network with PGX4711, how did we fix pgcat there?"


@pytest.fixture
def inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command over a ledger in which one learning replaced what the prompt asks for."""
    made = Inside(Shell(tmp_path), capsys.readouterr)
    for number in range(30):
        made.record(f"kettle {number} whistles on stove {number}", f"lift lid {number}")
    old = made.record("pgcat refuses connections from the docker network with PGX4711", "use port 6543 of pgcat")
    texts = ("--problem", "the gateway moved", "--solution", "use port 7000", "--reason", "it moved")
    made.document("supersede", old["id"], *texts)
    return made


def test_recall_answers_with_the_keys_of_the_contract(inside: Inside) -> None:
    """Text, ids, what was held and the exposure; the second time in a session the same learning is held."""
    first = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    second = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")

    assert not keys(first, "text ids held exposure reasons")
    assert "use port 7000" in first["text"]
    assert second["text"] == ""
    assert {"id": first["ids"][0], "reason": "shown-before"} in second["held"]


def test_recall_is_off_when_the_environment_says_so(tmp_path: Path, inside: Inside) -> None:
    """`LEARNINGS_OFF=1` shows nothing and remembers nothing."""
    done = Shell(tmp_path).run("recall", PROMPT, "--project", "demo", "--json", LEARNINGS_OFF="1").document

    assert (done["text"], done["exposure"], done["reasons"]["silence"]) == ("", None, "off")


@pytest.mark.parametrize("machine", [[], ["--machine"]])
def test_recall_is_off_where_the_setting_says_so(inside: Inside, machine: list[str]) -> None:
    """As for the hook: everywhere or in one project, under whatever name, in the ledger or on this machine."""
    inside.document("project", "alias", "demo", "demo-old")
    inside.document("config", "set", "off", '["demo-old"]', *machine)

    done = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")

    assert (done["text"], done["exposure"], done["reasons"]["silence"]) == ("", None, "off")
    assert inside.document("exposures")["exposures"] == []


def test_why_names_the_superseded_learning_that_matched(inside: Inside) -> None:
    """A redirect says through which old learning it came; nothing is remembered of a question."""
    found = inside.document("why", PROMPT, "--project", "demo")

    (shown,) = [one for one in found["candidates"] if one["shown"]]
    assert not keys(shown, "id via parts shown reason")
    assert len(shown["via"]) == 1
    assert inside.document("exposures")["exposures"] == []


def test_why_of_an_exposure_shows_what_was_kept_and_replays_it_exactly(inside: Inside) -> None:
    """What changed since does not change the answer: the log is replayed up to that event."""
    first = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    inside.document("retract", first["ids"][0], "--reason", "gone")

    then = inside.document("why", first["exposure"], "--exact")
    now = inside.document("why", PROMPT, "--project", "demo")

    assert then["shown"] == first["ids"]
    assert then["exact"]["shown"] == first["ids"]
    assert now["shown"] == []


def test_exposures_say_what_was_shown_and_held(inside: Inside) -> None:
    """The last one comes first."""
    inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    inside.document("recall", "thanks", "--project", "demo", "--session", "s2")

    rows = inside.document("exposures")["exposures"]

    assert [row["session"] for row in rows] == ["s2", "s1"]
    assert not keys(rows[0], "id at session channel shown held")
    assert inside.document("exposures", "s1")["exposures"] == rows[1:]


def test_wrong_supersedes_what_was_shown_last_in_one_append(inside: Inside) -> None:
    """The verdict and the correction are one command."""
    first = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")

    done = inside.document("wrong", "--solution", "use port 7001", "--reason", "it moved again")

    assert not keys(done, "exposure seq verdict learning superseded_by batch redacted")
    assert (done["learning"], done["verdict"], done["batch"]) == (first["ids"][0], "wrong", done["seq"])
    shown = inside.document("show", done["superseded_by"])
    assert (shown["solution"], shown["supersedes"]) == ("use port 7001", first["ids"])
    assert inside.document("verify")["ok"]


def test_the_printed_undo_takes_back_the_verdict_and_the_correction(inside: Inside) -> None:
    """One gesture, one undo, one redo; what it was done to is named whole."""
    first = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    told = inside("wrong", "--solution", "use port 7001").out
    new = inside.document("list", "--limit", "1")["rows"][0]["id"]

    undone = inside("undo", *told.partition("(undo: learnings undo ")[2].rstrip(")\n").split())
    state = [inside.document("show", name)["state"] for name in (first["ids"][0], new)]
    inside("undo", *undone.out.partition("(redo: learnings undo ")[2].rstrip(")\n").split())

    assert (undone.code, state) == (0, ["current", "undone"])
    assert f"undid 2 events on {new[:12]}…, exposure:{first['exposure']} " in undone.out
    assert [inside.document("show", name)["state"] for name in (first["ids"][0], new)] == ["superseded", "current"]
    assert len(inside.document("sql", "SELECT * FROM judgements WHERE holds")["rows"]) == 1


def test_a_correction_says_what_it_masked_and_what_was_pinned(inside: Inside) -> None:
    """As superseding does."""
    first = inside.document("recall", PROMPT, "--project", "demo")["ids"][0]
    inside.document("pin", first)
    secret = "gh" + "p_" + "A1b2C3d4E5" * 4

    done = inside("wrong", "--solution", f"log in with {secret}")

    assert "masked in the text: " in done.err
    assert "was pinned" in done.err
    assert secret not in done.out + done.err


def test_where_nothing_was_shown_nothing_can_be_superseded(inside: Inside) -> None:
    """The refusal says so, and what to do instead; where several were shown it names them."""
    nothing = inside.document("recall", "thanks", "--project", "demo")["exposure"]

    refused(inside("wrong", nothing, "--solution", "x"), 15, "nothing was shown there", "learnings record")


def test_what_was_never_shown_cannot_be_judged(inside: Inside) -> None:
    """Without an exposure, or with options that contradict each other, nothing is written."""
    refused(inside("wrong"), 16, "nothing was written")
    inside.document("recall", PROMPT, "--project", "demo")
    refused(inside("wrong", "--right", "--silent"), 15, "wrong --help")
    refused(inside("why", "exp_aaaaaaaa"), 16, "learnings exposures")


def test_an_alias_is_replaced_and_taken_away(inside: Inside) -> None:
    """The newest words count alone; none takes them away; undo brings the former ones back."""
    learning = inside.record("the gateway drops packets", "restart it")["id"]
    inside.document("alias", learning, "connection pool")
    second = inside.document("alias", learning)

    inside.document("undo", str(second["seq"]))

    rows = inside.document("sql", "SELECT words FROM aliases WHERE holds")["rows"]
    assert rows == [['["connection pool"]']]


def test_an_alias_finds_what_its_words_do_not(inside: Inside) -> None:
    """Words a person would type lead to the learning as of when they were named, through its chain as well."""
    learning = inside.record("the broker drops packets", "restart it")["id"]
    named = inside.document("alias", learning, "zorblatt", "message queue")["seq"]

    found = inside.document("query", "zorblatt", "--project", "demo")["hits"]
    before = inside.document("query", "zorblatt", "--project", "demo", "--as-of", str(named - 1))["hits"]
    inside.document("supersede", learning, "--problem", "events", "--solution", "use two", "--reason", "new")
    after = inside.document("query", "zorblatt", "--project", "demo")["hits"]

    assert found[0]["id"] == learning
    assert learning not in [hit["id"] for hit in before]
    assert after[0]["via"] == [learning]


def test_a_secret_among_the_words_of_an_alias_is_masked_and_not_said_back(inside: Inside) -> None:
    """What is printed is what was stored, and a remark says why."""
    learning = inside.record("the gateway drops packets", "restart it")["id"]
    secret = "gh" + "p_" + "A1b2C3d4E5" * 4

    told = inside("alias", learning, f"log in  {secret}", "gateway")
    named = inside.document("alias", learning, secret)

    assert told.out.startswith("aliased as log in [REDACTED:")
    assert "masked in the words: " in told.err
    assert "masked in the words: " in named["remarks"][0]
    assert secret not in told.out + told.err + json.dumps(named)


def test_judged_exposures_become_a_set_that_can_be_measured(inside: Inside, tmp_path: Path) -> None:
    """What was right is relevant, what was wrong is wrong, and chains come along."""
    inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    inside.document("wrong", "--right")

    done = inside.document("eval", "label", str(tmp_path / "set"))
    figures = inside.document("eval", str(tmp_path / "set"))

    assert (done["cases"], done["rows"]) == (1, 32)
    assert (figures["recall@5"], figures["leaks"], figures["rows"]) == (1.0, 0, 32)


def labelled(inside: Inside, folder: Path) -> list[dict[str, Any]]:
    """Write what was judged as a set, see that it can be measured, and return its cases."""
    inside.document("eval", "label", str(folder))
    inside.document("eval", str(folder))
    return [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]


def test_a_correction_becomes_what_a_case_wants(inside: Inside, tmp_path: Path) -> None:
    """What was wrong is superseded, and what took its place has to be found, also once that was replaced."""
    inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    new = inside.document("wrong", "--solution", "use port 7001")["superseded_by"]
    texts = ("--problem", "the gateway", "--solution", "use port 7002", "--reason", "again")

    (first,) = labelled(inside, tmp_path / "first")
    newest = inside.document("supersede", new, *texts)["id"]
    (second,) = labelled(inside, tmp_path / "second")

    assert (first["relevant"], first["wrong"]) == ([new], [])
    assert (second["relevant"], second["wrong"]) == ([newest], [])


def test_what_was_missing_is_no_case_in_which_silence_is_right(inside: Inside, tmp_path: Path) -> None:
    """`wrong` where nothing was shown makes no case; `--silent` and `--right` there do."""
    said = []
    for words in ((), ("--silent",), ("--right",)):
        one = inside.document("recall", "how do we rotate the zorblatt certificate?", "--project", "demo")["exposure"]
        inside.document("wrong", one, *words)
        said.append(one)

    cases = labelled(inside, tmp_path / "set")

    assert [(case["id"], case["relevant"]) for case in cases] == [(said[1], []), (said[2], [])]


def test_where_everything_judged_tells_nothing_no_set_is_written(inside: Inside, tmp_path: Path) -> None:
    """An empty set could not be read again."""
    one = inside.document("recall", "how do we rotate the zorblatt certificate?", "--project", "demo")["exposure"]
    inside.document("wrong", one)

    refused(inside("eval", "label", str(tmp_path / "set")), 16, "nothing was written")

    assert not (tmp_path / "set").exists()


def test_a_set_is_not_written_over(inside: Inside, tmp_path: Path) -> None:
    """The first one stays as it is."""
    inside.document("recall", PROMPT, "--project", "demo")
    inside.document("wrong", "--right")
    labelled(inside, tmp_path / "set")
    before = (tmp_path / "set" / "queries.jsonl").read_bytes()

    refused(inside("eval", "label", str(tmp_path / "set")), 30, "learnings.jsonl is there already; nothing was written")

    assert (tmp_path / "set" / "queries.jsonl").read_bytes() == before
