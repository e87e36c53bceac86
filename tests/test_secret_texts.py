"""The redactor graded on drawn texts: most secrets leave, and what only looks like one stays.

`secret_texts.py` holds the texts that rules were made with, `secret_texts_second.py`
and `secret_texts_third.py` those that were written before rules were tried on
them, `secret_texts_fourth.py`, `secret_texts_fifth.py` and `secret_texts_sixth.py`
what later sets found wrong; docs/decisions/0014 says what they gave on first sight.
"""

import pytest
from secret_texts import FIRST, FIRST_KEPT, Text, is_leaked, texts
from secret_texts_fifth import FIFTH, FIFTH_KEPT
from secret_texts_fourth import FOURTH, FOURTH_KEPT
from secret_texts_second import SECOND, SECOND_KEPT
from secret_texts_sixth import SIXTH, SIXTH_KEPT
from secret_texts_third import THIRD, THIRD_KEPT

from ledger.redact import scrub

SETS = {
    "first": (FIRST, FIRST_KEPT),
    "second": (SECOND, SECOND_KEPT),
    "third": (THIRD, THIRD_KEPT),
    "fourth": (FOURTH, FOURTH_KEPT),
    "fifth": (FIFTH, FIFTH_KEPT),
    "sixth": (SIXTH, SIXTH_KEPT),
}


def share(given: list[Text], passed: list[Text]) -> float:
    """Return which share passed."""
    return len(passed) / len(given)


@pytest.mark.parametrize("name", SETS)
def test_secrets_in_ordinary_places_leave_a_text(name: str) -> None:
    """Of vendors' tokens, assignments, headers, addresses, files and commands 99 in 100 are replaced."""
    given = [one for one in texts(SETS[name][0], 3, name) if not one.hard]

    gone = [one for one in given if not is_leaked(one, scrub(one.text).text)]

    assert len(given) > 120
    assert share(given, gone) >= 0.99, {one.name for one in given} - {one.name for one in gone}


@pytest.mark.parametrize("name", SETS)
def test_secrets_in_sentences_and_split_ones_mostly_leave_a_text(name: str) -> None:
    """Of prose in many languages, wrapped and split tokens and key files of all shapes 95 in 100 are replaced."""
    given = [one for one in texts(SETS[name][0], 3, name) if one.hard]

    gone = [one for one in given if not is_leaked(one, scrub(one.text).text)]

    assert share(given, gone) >= 0.93, {one.name for one in given} - {one.name for one in gone}


@pytest.mark.parametrize("name", SETS)
def test_look_alikes_come_back_as_they_were(name: str) -> None:
    """Digests, placeholders, public keys, names of secrets, code and sentences about passwords are kept."""
    given = texts(SETS[name][1], 2, name)

    kept = [one for one in given if scrub(one.text).text == one.text]

    assert share(given, kept) >= 0.99, {one.name for one in given} - {one.name for one in kept}


def test_the_grader_sees_a_secret_that_was_left() -> None:
    """A grader that never objects would grade nothing."""
    one = texts({"assigned": ("DB_PASSWORD=«{pw}»",)}, 1, "probe")[0]

    assert is_leaked(one, one.text)
    assert not is_leaked(one, "DB_PASSWORD=[REDACTED:password]")
