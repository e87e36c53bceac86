"""`learnings why`: on a hit, a silence, a redirect and a secret, for scripts and for people."""

from pathlib import Path

import pytest
from command import Inside, Shell, keys

PROMPT = "pgcat refuses connections from the docker network with PGX4711, how did we fix pgcat there?"
SECRET = "gh" + "p_" + "Ab1" * 12


@pytest.fixture
def inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return the command over thirty learnings of other subjects."""
    made = Inside(Shell(tmp_path), capsys.readouterr)
    for number in range(30):
        made.record(f"kettle {number} whistles on stove {number}", f"lift lid {number}")
    return made


def moved(inside: Inside) -> tuple[str, str]:
    """Record what the prompt asks for, and what replaced it; return both ids."""
    old = inside.record("pgcat refuses connections from the docker network with PGX4711", "use port 6543 of pgcat")
    texts = ("--problem", "the gateway moved", "--solution", "use port 7000", "--reason", "it moved")
    return old["id"], inside.document("supersede", old["id"], *texts)["id"]


@pytest.mark.parametrize("more", [(), ("--exact",)])
def test_a_secret_ends_a_question_before_anything_else_is_done_with_it(inside: Inside, more: tuple[str, ...]) -> None:
    """No candidate, no keyword, and nothing of the text in either form."""
    moved(inside)
    asked = f"{PROMPT} the token is {SECRET}"

    found = inside.document("why", asked, "--project", "demo", *more)
    told = inside("why", asked, "--project", "demo", *more)

    assert (found["silence"], found["shown"], found["candidates"], found["keywords"]) == ("secret", [], [], [])
    assert told.out == "nothing is shown (secret): there is a secret in the prompt, so nothing was done with it\n"
    assert "pgcat" not in told.out + told.err
    assert SECRET not in told.out + told.err


def test_a_turn_before_with_a_secret_is_not_used(inside: Inside) -> None:
    """The answer is that of the prompt alone."""
    moved(inside)
    asked = ("why", "and how did we fix that?", "--project", "demo")

    assert inside.document(*asked, "--previous", f"{PROMPT} {SECRET}") == inside.document(*asked)


def test_why_of_a_hit_says_what_speaks_for_it(inside: Inside) -> None:
    """Every candidate has the keys of the contract; what is held back says for what reason."""
    learning = inside.record("pgcat refuses connections from the docker network with PGX4711", "use port 6543 of pgcat")

    found = inside.document("why", PROMPT, "--project", "demo")

    assert found["shown"] == [learning["id"]]
    assert not [missing for one in found["candidates"] for missing in keys(one, "id via parts shown reason")]
    first, *others = found["candidates"]
    assert (first["id"], first["shown"], first["reason"], first["via"]) == (learning["id"], True, "shown", [])
    assert first["parts"]["probability"] > 0.5
    assert {one["reason"] for one in others} <= {"below-gate", "behind-best"}


def test_a_person_reads_what_came_into_question_and_why(inside: Inside) -> None:
    """Outcome, chance, id and title in a line; numbers below; what the words mean at the end."""
    old, new = moved(inside)

    lines = inside("why", PROMPT, "--project", "demo").out.splitlines()

    assert lines[0].startswith("looked for pgcat, ")
    assert lines[1].split() == ["shown", *lines[1].split()[1:3], f"{new[:12]}…", "the", "gateway", "moved"]
    assert lines[2] == f"    found by the words of {old[:12]}…, which it replaced"
    assert "shown       passes the gate" in lines
    assert max(map(len, lines)) <= 120


def test_why_of_a_redirect_names_what_matched_and_an_exposure_keeps_it(inside: Inside) -> None:
    """`via` is the superseded learning, for a question as for what was remembered."""
    old, new = moved(inside)
    recalled = inside.document("recall", PROMPT, "--project", "demo")

    asked = inside.document("why", PROMPT, "--project", "demo")
    kept = inside.document("why", recalled["exposure"])

    for document in (asked, kept):
        (shown,) = [one for one in document["candidates"] if one["shown"]]
        assert (shown["id"], shown["via"]) == (new, [old])
        assert "via" not in shown["parts"]
    assert f"found by the words of {old[:12]}…" in inside("why", recalled["exposure"]).out


def test_why_of_a_silence_says_which_one_it_is(inside: Inside) -> None:
    """A courtesy, and a question about something else."""
    trivial = inside("why", "thanks", "--project", "demo")
    silent = inside.document("why", "how do we rotate the signing certificate of zorblatt?", "--project", "demo")

    assert trivial.out.startswith("nothing is shown (trivial): ")
    assert silent["shown"] == []
    assert silent["silence"] in ("gate", "nothing-found")
    assert not any(one["shown"] for one in silent["candidates"])


def test_a_long_list_of_candidates_is_cut_for_people_alone(inside: Inside) -> None:
    """Twelve lines, and how many more there are."""
    asked = ("why", "which kettle whistles on a stove, lid?", "--project", "demo")

    found = inside.document(*asked)
    lines = inside(*asked).out.splitlines()

    more = len(found["candidates"]) - 12
    assert more > 0
    assert f"and {more} more (all of them: --json)" in lines


def test_why_exact_tells_what_was_shown_and_what_the_keywords_bring(inside: Inside) -> None:
    """Both stand there, and that they may differ: of the prompt only keywords were kept."""
    moved(inside)
    one = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")
    second = inside.document("recall", PROMPT, "--project", "demo", "--session", "s1")["exposure"]

    lines = inside("why", second, "--exact").out.splitlines()

    shown = f"{one['ids'][0][:12]}…"
    assert lines[0] == "shown then: nothing (shown-before)"
    (at,) = [at for at, line in enumerate(lines) if line.startswith("asked again with the keywords that were kept")]
    assert lines[at].endswith("the prompt never is, so this may differ from what was shown:")
    assert lines[at + 1] == f"  shown now: {shown}"


def test_a_silence_names_where_was_looked(inside: Inside) -> None:
    """The project and what holds everywhere, every other name of it, every project, or nothing when nothing was."""
    asked = ("how do we rotate the signing certificate of zorblatt?",)
    everywhere = "what holds everywhere (--project names another)"

    named = [inside(command, *asked, "--project", "other") for command in ("recall", "why")]
    star = inside("recall", *asked, "--project", "*")
    courtesy = inside("recall", "thanks", "--project", "other")
    inside("project", "alias", "old", "other")
    aliased = inside("recall", *asked, "--project", "other")

    for done in named:
        assert f"; looked in project other and {everywhere}" in done.out + done.err
    assert f"; looked in {everywhere}" in star.err
    assert "looked in" not in courtesy.err
    assert f"; looked in the projects old, other and {everywhere}" in aliased.err


def test_outside_any_project_a_silence_says_that_every_one_was_looked_at(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without a repository belongs to none."""
    monkeypatch.chdir(tmp_path)

    assert inside("recall", "how do we rotate the zorblatt?").err.rstrip().endswith("; looked in every project")
