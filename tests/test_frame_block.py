"""The block that learnings are shown in: nothing in a learning can end it, leave it, or fetch anything."""

from hypothesis import given
from hypothesis import strategies as st

from ledger.answer import Hit
from ledger.frame import FRAME_UNITS, aside, frame, units

HIT = Hit(
    "lrn_" + "a" * 26, "the title", "the problem", "the solution", "env", "demo", [], "current", 2,
    "2026-01-01T00:00:00.000000Z", [], 1.0, None, "sure", bool(0), "2026-01-01", [], [], [], [], None,
)  # fmt: skip


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), min_size=1, max_size=3))
def test_any_text_stays_inside_its_frame(texts: list[tuple[str, str, str]]) -> None:
    """Every line but the first and last begins with a bar, and no angle bracket of a learning is left."""
    hits = [HIT._replace(title=one or "t", problem=two, solution=three) for one, two, three in texts]

    text = frame(hits, "2026-11-30").text

    lines = text.split("\n")
    assert lines[0].startswith("<recalled-learnings note=")
    assert lines[-1] == "</recalled-learnings>"
    assert all(line.startswith("|") for line in lines[1:-1])
    assert text.count("<") == text.count(">") == 2
    assert units(text) <= FRAME_UNITS


@given(st.text(), st.text(max_size=2_000), st.integers(200, 1_000))
def test_any_text_by_itself_stays_inside_its_frame(label: str, text: str, budget: int) -> None:
    """A summary is data like a learning, and no longer than it may be."""
    block = aside(label, text, budget)

    lines = block.split("\n")
    assert lines[0].startswith("<recalled-learnings note=")
    assert lines[-1] == "</recalled-learnings>"
    assert all(line.startswith("|") for line in lines[1:-1])
    assert block.count("<") == block.count(">") == 2
    assert units(block) <= budget


def test_links_are_code_and_images_are_gone() -> None:
    """What a client would fetch or a reader would follow is neither."""
    hit = HIT._replace(solution="see [docs](https://x.example/a) and https://y.example/b ![p](https://z.example/c)")

    text = frame([hit], "2026-11-30").text

    assert "docs `https://x.example/a` and `https://y.example/b`" in text
    assert "z.example" not in text


def test_what_does_not_fit_is_left_out_whole_and_long_texts_are_cut() -> None:
    """Items go from the end; a text of 10,000 emoji is cut within its budget of UTF-16 units."""
    hits = [HIT._replace(id=f"lrn_{n}" + "b" * 25, solution="🎉" * 10_000) for n in range(3)]

    found = frame(hits, "2026-11-30", budget=1_700)

    assert found.ids == [hit.id for hit in hits[:2]]
    assert units(found.text) <= 1_700
    assert "…" in found.text


def test_the_label_says_what_has_to_be_known() -> None:
    """Trust, unverified, age, doubt, pin, what it replaced and what contradicts it."""
    old = {"id": "lrn_" + "c" * 26, "title": None, "since": "2025-01-01", "until": "2026-01-01"}
    hit = HIT._replace(trust=1, confidence="ambiguous", pinned=True, replaced=[old, old], fork=["lrn_" + "d" * 26])

    text = frame([hit], "2026-11-30").text

    for said in (
        "trust 1 (files)", "unverified", "category unsure", "pinned", "since 2026-01-01 (11 months ago)",
        "replaced lrn_cccccccc and 1 more on 2026-01-01", "contradicted by lrn_dddddddd",
    ):  # fmt: skip
        assert said in text
