"""What is marked as private is never stored, through every door."""

import json
from pathlib import Path

import pytest

from ledger import handover, private
from ledger.errors import BadArgument, EmptyText
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.recall import usable

HIDDEN = "the moon base is at Tranquility"

FORMS = [
    f"keep <private>{HIDDEN}</private> this",
    f"keep <PRIVATE>{HIDDEN}</Private> this",
    f"keep <private reason='x' by=me>{HIDDEN}</private> this",
    f"keep < private >{HIDDEN}</ private > this",
    f"keep <private>a <private>b</private> {HIDDEN}</private> this",
    f"keep <private>one</private><private>{HIDDEN}</private> this",
    f"keep &lt;private&gt;{HIDDEN}&lt;/private&gt; this",
    f"keep `<private>` this <private>{HIDDEN}",
    f"keep <private>\n\n{HIDDEN}\n</private>\nthis",
    f"keep this <private>{HIDDEN} and no end",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_private_region_leaves_the_text(text: str) -> None:
    """Attributes, capitals, nesting and a missing end do not bring it back."""
    left = private.without(text)

    assert HIDDEN not in left
    assert "keep" in left
    assert "this" in left


@pytest.mark.parametrize(
    "text", ["a private field", "write `<private>` around it", "std::private<int>", "<privately> kept", "x < private"]
)
def test_what_only_speaks_of_privacy_is_kept(text: str) -> None:
    """A mention of the tag and other words are text."""
    assert private.without(text) == text


def test_an_end_without_a_beginning_goes_alone() -> None:
    """Nothing before it was marked."""
    assert private.without("a </private> b").split() == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a [[hide]]x[[/hide]] b", ["a", "b"]),
        ("a [[HIDE]]x [[hide]]y[[/hide]] z[[/Hide]] b", ["a", "b"]),
        ("a [[hide]] x", ["a"]),
        ("a [[/hide]] b", ["a", "[[/hide]]", "b"]),
    ],
)
def test_markers_of_ones_own_mark_too(text: str, left: list[str]) -> None:
    """They are as those that are built in: nested, in any case, and open to the end."""
    assert private.without(text, {"[[hide]]": "[[/hide]]"}).split() == left


def test_the_time_for_many_tags_grows_with_their_number() -> None:
    """Half a million tags that never close are read once."""
    assert private.without("<private>" * 500_000) == ""


MARKED = f"before <private>{HIDDEN}</private> after [[hide]]{HIDDEN}[[/hide]] end"


@pytest.fixture
def marked(ledger: Ledger) -> Ledger:
    """Return a ledger with markers of its own."""
    ledger.set("private_markers", json.dumps({"[[hide]]": "[[/hide]]"}))
    return ledger


def everything(path: str) -> bytes:
    """Return all bytes of a ledger and of what lies beside it."""
    return b"".join(one.read_bytes() for one in sorted(Path(path).parent.rglob("*")) if one.is_file())


def test_no_door_stores_a_private_region(marked: Ledger, path: str) -> None:
    """Record, supersede, propose, summary, and the queue of the hooks: no byte of it is in any file."""
    first = marked.record(Draft(MARKED, f"do this {MARKED}", "env", "demo", MARKED, ("tag",)))
    marked.supersede(first.id, MARKED + " again", "do that " + MARKED, "why " + MARKED)
    marked.propose(Draft(MARKED + " proposed", "third " + MARKED, "env", "demo"))
    marked.summarise("session-1", "demo", MARKED)
    handover.stopped(path, {"session_id": "s1", "last_assistant_message": MARKED})
    handover.compacted(path, {"session_id": "s1", "compact_summary": MARKED})

    stored = everything(path)

    assert b"before" in stored
    assert HIDDEN.encode() not in stored
    assert b"Tranquility" not in stored


def test_a_text_that_is_all_private_is_refused(marked: Ledger) -> None:
    """Nothing is left to be stored, and the caller is told."""
    with pytest.raises(EmptyText):
        marked.record(Draft("<private>all</private>", "x", "env", "demo"))


def test_a_prompt_is_read_without_its_private_regions() -> None:
    """Neither the search nor the exposure knows of it."""
    assert HIDDEN not in (usable(MARKED, {"[[hide]]": "[[/hide]]"}) or "")


@pytest.mark.parametrize("value", ['["a"]', '{"a": "b"}', '{"abc": 1}', "[[x]]", '{"abc": ""}'])
def test_markers_that_would_hide_too_much_are_refused(marked: Ledger, value: str) -> None:
    """A marker has at least three characters, and an end."""
    with pytest.raises(BadArgument):
        marked.set("private_markers", value)
