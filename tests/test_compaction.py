"""An index that is too long: entries move beside it word for word, and say what they said."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importers import memory_notes
from importers.compaction import Compaction, compacted
from ledger.cliff import cliff

INDEX, NAME = "/m/MEMORY.md", "moved-entries-7.md"
FILES = ("/m/MEMORY.md", "/m/a.md")
LINK = "- [A](a.md) — a hook of the client's own\n"


def plain(text: str) -> str:
    """Return a text with LF line ends, as notes are read."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def said(text: str, path: str = INDEX) -> Counter[tuple[str, str]]:
    """Return what a note says."""
    drafts = memory_notes.parse(plain(text), path, "demo", FILES).drafts
    return Counter((draft.problem, draft.solution) for draft in drafts)


def entries(text: str) -> frozenset[int]:
    """Return the lines that entries begin on."""
    return frozenset(piece.block.line for piece in memory_notes.pieces(plain(text), INDEX, FILES))


def made(text: str, known: frozenset[int] | None = None) -> Compaction:
    """Return a compaction, held to what every one is."""
    found = compacted(text, INDEX, FILES, entries(text) if known is None else known, NAME)
    assert found is not None
    assert said(found.left) + said(found.part, f"/m/{NAME}") == said(text)
    left = [line for line in found.left.splitlines() if f"]({NAME}) — " not in line]
    everything = Counter(text.splitlines()) - Counter({"": len(text)})
    assert not everything - Counter(left) - Counter(found.part.splitlines())
    assert not Counter(left) - Counter(text.splitlines())
    return found


def numbered(count: int, more: str = "") -> str:
    """Return so many list items."""
    return "".join(f"- item {number}: use port {5000 + number}{more}\n" for number in range(count))


def test_the_last_entries_move_until_the_rest_is_loaded_with_room_to_spare() -> None:
    """The first ones stay where they are loaded already; a link says where the others went."""
    found = made(numbered(260))

    assert found.left == numbered(179) + f"- [More]({NAME}) — 81 entries, moved there word for word\n"
    assert (found.first_cut, found.moved) == (None, 81)
    assert found.part.endswith(numbered(260)[len(numbered(179)) :])


def test_a_line_that_stays_between_those_that_go_is_not_put_behind_the_link() -> None:
    """A rule, in a text whose last line does not end."""
    found = made(numbered(210, " at night") + "\nPlain words.\n=====\n\n" + numbered(9)[:-1])

    assert "\n=====\n" in found.left


def test_units_are_counted_as_well_as_lines() -> None:
    """Few long lines are over the other limit."""
    found = made(numbered(60, " " + "é" * 600))

    assert found.first_cut is None
    assert cliff(found.left).units <= 22_500


def test_headings_links_and_unknown_lines_stay_where_they_are() -> None:
    """And each heading says where its own entries went."""
    text = f"# Index\n\n{LINK}\n## Build\n\n{numbered(220)}\n## Ports\n\n- mine: keep this one\n{numbered(90)}{LINK}"
    known = entries(text) - {text[: text.index("- mine")].count("\n") + 1}

    found = made(text, known)

    assert [line for line in found.left.splitlines() if not line.startswith("- item")] == [
        "# Index", "", LINK.strip(), "", "## Build", "",
        f"- [Build]({NAME}) — 53 entries, moved there word for word", "", "## Ports", "", "- mine: keep this one",
        f"- [Ports]({NAME}) — 90 entries, moved there word for word", LINK.strip(),
    ]  # fmt: skip
    assert "# Index\n\n## Build\n" in found.part
    assert "\n## Ports\n" in found.part


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("is_ended", [True, False])
def test_line_ends_stay_as_they_are(end: str, is_ended: bool) -> None:
    """In the index and in the note, whether the last line has one or not."""
    text = numbered(230).replace("\n", end)
    text = text if is_ended else text.removesuffix(end)

    found = made(text)

    assert found.left.endswith(f"word for word{end if is_ended else ''}")
    for one in (found.left, found.part):
        assert one.replace(end, "").count("\n") + one.replace(end, "").count("\r") == 0


def test_an_entry_goes_with_all_that_belongs_to_it() -> None:
    """Nested items, indented code, and the line that leads a list."""
    item = "- deploy\n\n  ```sh\n  - not an item\n  ```\n  - nested\n"
    text = f"# Deploy\n\nWith the new host:\n{item}{'- x: ' + 'y' * 300 + chr(10)}" + numbered(210)

    found = made(text, entries(text) - {3})

    assert "With the new host:\n- " in found.part
    assert "With the new host:\n" in found.left


def test_a_whole_list_takes_what_leads_it_along() -> None:
    """Alone it would be another entry."""
    text = numbered(190) + "\nOn the old host:\n" + numbered(40, " on old")

    found = made(text)

    assert "On the old host:" not in found.left
    assert "\nOn the old host:\n- item 0" in found.part


def test_a_line_that_leads_links_goes_on_leading_an_entry() -> None:
    """Else it would be an entry itself, or be taken from its links."""
    text = numbered(100) + f"\nOn the old host:\n{LINK}" + numbered(120, " on old")

    found = made(text)

    assert f"On the old host:\n{LINK}- item 0" in found.left


def test_prose_stays_as_long_as_an_item_below_it_does() -> None:
    """It ends the list before it, whose lead would reach further."""
    text = "Old:\n" + numbered(100) + "\nSome prose, that ends it.\n\n- mine: unknown\n" + numbered(120, "!")
    mine = text[: text.index("- mine")].count("\n") + 1

    found = made(text, entries(text) - {mine})

    assert "Some prose, that ends it.\n\n- mine: unknown\n" in found.left


def test_comments_rules_and_the_header_stay() -> None:
    """They are nobody's learning, and the client does not count all of them."""
    text = f"---\nname: x\n---\n<!-- a\n- b\n-->\n{numbered(120)}\n---\n\n{numbered(120, ' more')}"

    found = made(text)

    assert found.left.startswith("---\nname: x\n---\n<!-- a\n- b\n-->\n- item 0")
    assert "\n---\n" in found.left[20:]


def test_what_cannot_fit_comes_as_near_as_it_can() -> None:
    """Two hundred and fifty links are the client's own."""
    text = LINK * 250 + numbered(30)

    found = made(text)

    assert (found.moved, found.first_cut) == (30, 201)


@pytest.mark.parametrize("text", [LINK * 250, "", "# Only a heading\n"])
def test_nothing_moves_where_nothing_is_known(text: str) -> None:
    """Links are no entries."""
    assert compacted(text, INDEX, FILES, entries(text), NAME) is None
    assert compacted(numbered(250), INDEX, FILES, frozenset(), NAME) is None


BLOCKS = st.sampled_from([
    "- item\n", "- a: b\n  more\n", "- [A](a.md) hook\n", "Lead:\n", "Prose.\n", "\n", "\n", "# One\n", "## Two\n",
    "---\n", "1. first\n2. second\n", "```\n- code\n```\n", "<!-- c -->\n", "  - nested\n", "    deep\n", "<!-- open\n",
    "--> end\n", "- x\n\n  - [A](a.md) within\n", "* star\n", "lazy\n", "###### Six\n", "[A](a.md)\n",
    "- \u2028odd\u0085line\x0b\n",
])  # fmt: skip


@given(st.lists(BLOCKS, max_size=40), st.sets(st.integers(1, 60)), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=60)
def test_whatever_stands_there_nothing_is_lost_and_nothing_is_changed(
    blocks: list[str], left: set[int], end: str
) -> None:
    """Any Markdown, any part of it known: `made` holds what is proposed to that."""
    text = "".join([*blocks, *(f"- own {number}\n" for number in range(210))]).replace("\n", end)
    known = entries(text) - left

    found = compacted(text, INDEX, FILES, known, NAME)

    if found is not None:
        made(text, known)
