"""What the client loads of an index, by the table that was measured with it."""

import pytest

from ledger.cliff import cliff


def lines(count: int, units: int, letter: str = "x") -> str:
    """Return so many lines of so many units, line ends not counted."""
    return "\n".join(letter * units for _ in range(count)) + "\n"


MEASURED = [
    ("199 lines, 8 kB", lines(199, 40), None, ""),
    ("200 lines, 8 kB", lines(200, 40), None, ""),
    ("201 lines", lines(201, 40), 201, "lines"),
    ("300 lines, 12 kB", lines(300, 39), 201, "lines"),
    ("300 lines, 40,800 bytes: 186 lines of 133 units and an end", lines(300, 133, "é"), 187, "units"),
    ("150 lines, 40,500 bytes: 93 lines", lines(150, 267), 94, "units"),
    ("150 lines of Chinese, 22,950 units, 62 kB", lines(150, 152, "学"), None, ""),
    ("one line of 30,000 characters", "first\n" + "x" * 30_000 + "\nlast\n", 2, "units"),
    ("25,000 units after trimming", "x" * 25_000 + "\n", None, ""),
    ("25,600 units", lines(100, 255), 98, "units"),
    ("25,000 units of emoji, 50 kB", "🎉" * 12_500, None, ""),
    ("25,002 units of emoji", "🎉" * 12_501, 1, "units"),
    ("blank at both ends", "\n\n" + lines(200, 3) + "\n\n\n", None, ""),
    ("nothing", "", None, ""),
]


@pytest.mark.parametrize(("text", "first", "limit"), [row[1:] for row in MEASURED], ids=[row[0] for row in MEASURED])
def test_the_cliff_is_where_the_client_has_it(text: str, first: int | None, limit: str) -> None:
    """The first line cut and the limit that cut it."""
    found = cliff(text)

    assert (found.first_cut, found.limit) == (first, limit)


@pytest.mark.parametrize("text", [row[1] for row in MEASURED], ids=[row[0] for row in MEASURED])
def test_line_ends_make_no_difference(text: str) -> None:
    """A file written on Windows is cut at the same line."""
    assert cliff(text.replace("\n", "\r\n")) == cliff(text)


def test_header_and_comments_do_not_count_and_lines_are_those_of_the_file() -> None:
    """They are taken out before the client measures; what is named is where a person finds it."""
    head = "---\nname: index\n---\n<!-- one\ntwo -->\n"

    found = cliff(head + lines(199, 5) + "- the last\n- past it\n")

    assert (found.lines, found.first_cut) == (201, 5 + 201)
    assert [tuple(entry) for entry in found.cut] == [(206, "- past it")]


def test_every_entry_past_the_cliff_is_named() -> None:
    """Headings and blank lines are no entries; long ones are shortened."""
    text = lines(200, 5) + "\n## More\n\n- one\n" + "- " + "y" * 500 + "\n"

    found = cliff(text)

    assert [entry.line for entry in found.cut] == [204, 205]
    assert len(found.cut[1].text) == 120
