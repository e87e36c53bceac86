"""Scores, plans and orders, on numbers alone."""

from hypothesis import given
from hypothesis import strategies as st

from ledger import rank

SCORES = st.dictionaries(st.integers(1, 50), st.floats(0, 100))


def test_a_small_ledger_looks_for_every_term() -> None:
    """Below the threshold nothing is left out, however common."""
    assert rank.plan(("a", "b"), {"a": 900}, 999) == rank.Plan(("a", "b"), ())


def test_common_terms_are_left_out_of_a_large_ledger() -> None:
    """The rarest terms that fit into the budget of rows are kept, in the order they were typed."""
    counts = {"the": 50_000, "port": 1_500, "pooler": 3, "db": 400}

    assert rank.plan(("the", "port", "pooler", "db"), counts, 100_000) == rank.Plan(("port", "pooler", "db"), ("the",))


def test_uncounted_terms_are_always_looked_for() -> None:
    """A word that is newer than the last count is rare."""
    assert rank.plan(("new", "the"), {"the": 50_000}, 100_000) == rank.Plan(("new",), ("the",))


def test_terms_left_out_come_rarest_first() -> None:
    """When everything is too common, the first term left out is the one to fall back to."""
    assert rank.plan(("a", "b", "c"), {"a": 9_000, "b": 5_000, "c": 7_000}, 10_000) == rank.Plan((), ("b", "c", "a"))


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 5_000)),
)
def test_a_plan_keeps_its_budget_and_loses_no_term(terms: list[str], counts: dict[str, int]) -> None:
    """Every term is kept or left out, and the counted ones kept cost at most the budget."""
    plan = rank.plan(tuple(terms), counts, 100_000)

    assert sorted(plan.kept + plan.dropped) == sorted(terms)
    assert sum(counts.get(term, 0) for term in plan.kept) <= rank.ROWS_MAX


@given(st.integers(0, 1_000), st.integers(0, 1_000))
def test_every_term_tells_something(found: int, total: int) -> None:
    """Even a word that every learning holds has a positive weight, and a rarer one tells more."""
    assert rank.information(found, total) > 0
    assert rank.information(found, 2_000) > rank.information(found + 1, 2_000)


def test_a_word_of_every_learning_still_orders_them() -> None:
    """FTS5's factor of 0.000001 for common words is taken out again."""
    scores = rank.rescaled({1: 2e-6, 2: 1e-6}, 2)

    assert scores[1] > scores[2] > 0.1


def test_a_rare_word_keeps_nearly_its_score() -> None:
    """Among many learnings both factors agree."""
    assert abs(rank.rescaled({7: 5.0}, 100_000)[7] - 5.0) < 0.01


@given(SCORES)
def test_the_order_is_total(scores: dict[int, float]) -> None:
    """Best first, newest first among equals, the same whatever order they came in."""
    backwards = dict(reversed(scores.items()))

    assert rank.ordered(scores) == rank.ordered(backwards)
    assert rank.ordered({1: 1.0, 3: 1.0, 2: 2.0}) == [2, 3, 1]


def test_scores_add_up_over_terms() -> None:
    """A leg is the sum of what each term found."""
    assert rank.total_of({"a": {1: 1.0, 2: 2.0}, "b": {2: 3.0}}) == {1: 1.0, 2: 5.0}


def test_trust_and_spelling_weigh() -> None:
    """A person's word gains, an inference loses, another spelling loses."""
    assert rank.weighed(1.0, 4, 0.0) > rank.weighed(1.0, 2, 0.0) == 1.0 > rank.weighed(1.0, 0, 0.0)
    assert rank.weighed(1.0, 2, 1.0) < 1.0


def test_replaced_ids_lead_to_the_live_end_of_their_chain() -> None:
    """Chains, merges and forks; an id that leads nowhere is absent."""
    links = [("a", "b"), ("b", "c"), ("x", "c"), ("x", "d"), ("lost", "gone")]

    assert rank.heads_of(links, ["c", "d"]) == {"a": ["c"], "b": ["c"], "x": ["c", "d"]}


def test_a_cycle_of_replacements_ends() -> None:
    """Only a damaged or foreign log holds one, and it must not hang a reader."""
    assert rank.heads_of([("a", "b"), ("b", "a"), ("b", "c")], ["c"]) == {"a": ["c"], "b": ["c"]}
    assert rank.heads_of([("a", "b"), ("b", "a")], ["a"]) == {"b": ["a"]}


def test_a_chain_of_ten_thousand_is_followed() -> None:
    """Depth costs no recursion."""
    links = [(str(number), str(number + 1)) for number in range(10_000)]

    assert rank.heads_of(links, ["10000"])["0"] == ["10000"]
