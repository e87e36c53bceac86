"""A prompt is read by its form: who wrote it, what is pasted, what is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import prompt


@pytest.mark.parametrize(
    "text",
    [
        "", "   \n", "ok", "yes, do that please", "thanks! now commit that", "looks good, ship it", "run it again",
        "same again for the other two", "ja genau", "weiter", "да, давай так",
        "네, 그렇게 해 주세요", "はい、お願い", "好,就这样",
    ],
)  # fmt: skip
def test_a_go_ahead_is_trivial_in_any_language(text: str) -> None:
    """It names no subject, so nothing is looked for."""
    assert prompt.read(text).silence == "trivial"


@pytest.mark.parametrize(
    "text",
    [
        "<task-notification>\n<status>completed</status>\n</task-notification>\nport 5432 is open",
        '{"event": "run_success", "job": "load"}',
        "From: root@host (Cron)\nTo: team@host\nSubject: nightly\n\nall boards ok",
        "The build is green. This is an automated message, do not reply.",
        "Diese Nachricht wurde automatisch erstellt. Der Lauf ist fertig.",
    ],
)
def test_what_a_machine_wrote_is_told_by_its_frame(text: str) -> None:
    """However many words it shares with a learning."""
    assert prompt.read(text).silence == "machine"


@pytest.mark.parametrize("text", ["TS2742", "C++20?", "5432", "pgbouncer port", "what may I put in it?"])
def test_a_short_prompt_is_not_trivial_for_being_short(text: str) -> None:
    """Form decides, not length."""
    assert prompt.read(text).silence is None


def test_a_pasted_trace_leaves_its_error_line() -> None:
    """Frames say nothing; the line that names the error does."""
    text = (
        "the import died again:\nValueError: duplicate key in manifest\n    at load (/srv/app/load.js:10:3)\n"
        '  File "/srv/app/load.py", line 3\nwhat do we do then?'
    )

    prose, errors = prompt.condensed(text)

    assert "load.js" not in prose + "".join(errors)
    assert "what do we do then?" in prose
    assert "ValueError: duplicate key in manifest" in prose + "".join(errors)


def test_a_diff_is_cut_out() -> None:
    """Its lines were not written by the one who asks."""
    text = "write one sentence on this\n\ndiff --git a/x b/x\n@@ -1,2 +1,2 @@\n-old pooler port\n+new pooler port\n"

    assert "pooler" not in " ".join(clause.text for clause in prompt.read(text).clauses)


def test_a_text_to_be_turned_into_another_is_no_subject() -> None:
    """What follows the instruction is left out; what asks in it stays."""
    text = "translate this into French\n\nThe pooler listens on port 6432.\nWhich port is it?"

    said = " ".join(clause.text for clause in prompt.read(text).clauses)

    assert "6432" not in said
    assert "Which port is it?" in said


def test_a_change_of_subject_is_told() -> None:
    """The turn before must not be used then."""
    assert prompt.read("unrelated: which port has it?").leaves
    assert not prompt.read("which port has it?").leaves
    assert prompt.read("which port has it?").refers


@given(st.text(max_size=400))
def test_any_text_is_a_prompt(text: str) -> None:
    """Nothing raises, and clauses are bounded."""
    assert len(prompt.read(text * 3).clauses) <= prompt.CLAUSES_MAX


def test_ten_megabytes_are_bounded_work() -> None:
    """Only the beginning is read."""
    read = prompt.read("pooler port and more words " * 400_000)

    assert sum(len(clause.text) for clause in read.clauses) <= prompt.PROMPT_CHARS
