"""Threats and trials, and the tests that hold them: what SECURITY.md and its page of trials name is there."""

import re
from pathlib import Path

import pytest
from test_promises import names_in

ROOT = Path(__file__).resolve().parent.parent
SECURITY, TRIED = ROOT / "SECURITY.md", ROOT / "docs" / "explanation" / "what-is-tried.md"
ROW = re.compile(r"^\| ([A-Z]\d{1,2}) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(\w+)::(test_\w+)`")
COMES = re.compile(r"comes with \w+")


def rows(page: Path) -> dict[str, str]:
    """Return the rows of a page's table by their ids."""
    found = ROW.findall(page.read_text("utf-8"))
    assert len(found) == len({name for name, _ in found}), "an id stands twice"
    return dict(found)


@pytest.mark.parametrize("page", [SECURITY, TRIED], ids=["threats", "trials"])
def test_every_test_that_a_row_names_is_there(page: Path) -> None:
    """A row without tests says what it comes with; none is a wish."""
    missing = [
        (name, f"{module}::{test}") for name, row in rows(page).items() for module, test in TEST.findall(row)
        if test not in names_in(module)
    ]  # fmt: skip
    empty = [name for name, row in rows(page).items() if not TEST.search(row) and not COMES.search(row)]

    assert (missing, empty) == ([], [])


def test_the_threats_are_numbered_from_1_to_48() -> None:
    """None is dropped in silence."""
    assert list(rows(SECURITY)) == [f"T{number}" for number in range(1, 49)]


def test_a_threat_names_what_answers_it_and_not_what_it_is_to_come_with_too() -> None:
    """Once it has tests it has come."""
    assert [name for name, row in rows(SECURITY).items() if TEST.search(row) and COMES.search(row)] == []
