"""What a person lays down, sentence by sentence, and which of two statements takes the place of the other."""

import pytest

from importers import remedies, statements
from importers.contrary import Standing, is_contrary


def said(text: str) -> list[str]:
    """Return the statements of a turn."""
    return [one.text for one in statements.found(text)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("no, we use pnpm not npm", "from now on use bun instead of pnpm"),
        ("no, we use pnpm not npm", "from now on use npm again"),
        ("remember that the staging database listens on port 6432, not 5432",
         "remember: the staging database listens on port 7654"),
        ("always squash commits before merging", "never squash commits before merging"),
        ("always squash commits before merging", "don't squash commits before merging in this repo"),
        ("always run tests with --strict", "always run tests with --lax"),
        ("we use python 3.11 in this repo", "we use python 3.12 in this repo"),
        ("we support python 3.9", "we no longer support python 3.9"),
        ("以后都用pnpm，不要用npm", "以后都用npm，不要用pnpm"),
        ("今後はnpmではなくpnpmを使ってください。", "今後はpnpmではなくbunを使ってください。"),
        ("Ab jetzt immer mit uv statt pip installieren.", "Ab jetzt immer mit pip statt uv installieren."),
        ("désormais, utilise httpx au lieu de requests", "désormais, utilise requests au lieu de httpx"),
        ("запомни: тестовая база слушает порт 6432", "запомни: тестовая база слушает порт 6433"),
    ],
)  # fmt: skip
def test_one_subject_and_another_value_contradict(earlier: str, later: str) -> None:
    """An exchange, another number, path, flag or version, or a no where there was a yes."""
    assert is_contrary(earlier, later)
    assert is_contrary(later, earlier)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("remember that the staging database listens on port 6432", "remember the prod database listens on port 7654"),
        ("use vitest, not jest, in the web package", "use jest instead of vitest in the api package"),
        ("use vitest, not jest", "use jest instead of vitest in the api package"),
        ("we never deploy on friday", "we never deploy on monday"),
        ("always run tests with --strict", "always run lint with --fix"),
        ("never push to main", "never push to production"),
        ("remember: the api runs on 8080", "remember: the api runs on 8080 and the docs on 9090"),
        ("never use pip", "we use pip for the legacy image"),
        ("always use uv", "always use uv"),
        ("", "always use uv"),
    ],
)
def test_in_doubt_nothing_contradicts(one: str, other: str) -> None:
    """Another subject, an exception, or the same."""
    assert not is_contrary(one, other)


def test_what_stands_is_looked_up_by_its_words() -> None:
    """The names of those that a text contradicts, and no others."""
    standing = Standing([("a", "we use pnpm, not npm"), ("b", "never push to main")])

    assert standing.against("from now on use bun instead of pnpm") == ["a"]


def test_a_sentence_is_quoted_word_by_word_with_its_place() -> None:
    """White space, case and marks as they were typed; its place tells two sentences of a turn apart."""
    text = "Fine.  From now on: use `uv`, NOT pip!  Never edit CHANGELOG.md by hand."

    found = statements.found(text)

    assert [text[one.at : one.at + len(one.text)] for one in found] == [one.text for one in found]
    assert [one.text for one in found] == ["From now on: use `uv`, NOT pip!", "Never edit CHANGELOG.md by hand."]


def test_a_long_list_of_rules_is_a_document() -> None:
    """Who lays down seven things in one turn has pasted them."""
    assert said("\n".join(f"never edit file{number}.py by hand" for number in range(7))) == []


def test_a_list_of_ones_own_is_told_by_its_first_line() -> None:
    """A line that announces rules makes its list a person's own; any other list was pasted."""
    items = "- never push to main\n- always run make lint before a commit"

    assert said(f"two rules for this repo:\n{items}") == ["never push to main", "always run make lint before a commit"]
    assert said(f"from the handbook:\n{items}") == []


def test_a_sentence_that_is_announced_or_recalled_needs_no_form() -> None:
    """What is said beside a sentence may tell that it holds; a question is none, whatever is said beside it."""
    assert said("New rule. Buttons are green.") == ["Buttons are green."]
    assert said("The vendor feed is in euro. Remember that.") == ["The vendor feed is in euro. Remember that."]
    assert said("Is the vendor feed in euro? Remember that.") == []


def test_what_follows_a_semicolon_shares_the_fate_of_what_stands_before_it() -> None:
    """Both halves are one statement, or both are what somebody else says."""
    whole = "we prefer sqlite over postgres; the server comes later"

    assert said(whole) == [whole]
    assert said("https://wiki.example/rules says: never use globals; always inject dependencies") == []


def test_a_demand_on_the_product_is_no_rule_unless_it_is_to_be_remembered() -> None:
    """What a list shall return is a task; asked to be remembered it is a rule."""
    assert said("the query should never take more than two seconds") == []
    assert said("remember: the query should never take more than two seconds") != []


def test_of_a_pasted_wall_only_its_ends_are_read() -> None:
    """The first and the last paragraph may be the person's; what lies between was pasted."""
    wall = "\n".join(f"never trust line {number} of this" for number in range(20))
    text = f"never deploy on fridays\n\n{wall}\n\nremember that the port is 6432"

    assert said(text) == ["never deploy on fridays", "remember that the port is 6432"]


def test_a_turn_of_any_size_is_read_in_bounded_time() -> None:
    """A pasted file of a megabyte costs no more than its ends."""
    assert said("always x " * 120_000) == []


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("cd /w/shop && pytest -q 2>&1 | tail -5", "pytest -q"),
        ("CI=1 timeout 60 pytest -q", "pytest -q"),
        ('git commit -m "one"', 'git commit -m "two"'),
        ("make   build", "make build"),
    ],
)
def test_the_same_command_is_told_in_other_clothes(typed: str, same: str) -> None:
    """Folder, variables, decoration, white space and messages are not what is run."""
    assert remedies.normalised(typed)[0] == remedies.normalised(same)[0]


def test_variables_that_were_set_are_a_change() -> None:
    """What is set for one run may be what mends it."""
    assert remedies.normalised("AWS_PROFILE=dev aws s3 ls")[1] == frozenset({"AWS_PROFILE=dev"})


@pytest.mark.parametrize(
    "text",
    [
        "great, from now on we just never test anything",
        "toll, ab jetzt brechen wir also immer prod am Freitag",
        "from now on every deploy goes out untested, wonderful",
        "fix the test that checks we never log secrets",
        "please remember to close the PR after this",
        "as a user I always want to see my balance",
        "als Kunde will ich immer meinen Kontostand sehen",
    ],
)
def test_an_irony_a_task_and_a_wish_of_users_lay_nothing_down(text: str) -> None:
    """Praise around a rule that nobody wants, an order for once that speaks of a rule, what the product shall do."""
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "great, from now on also run the linter",
        "perfect, from now on just use pnpm",
        "let's agree on this: errors are returned, never thrown",
        "make it a habit to check the changelog before upgrading a dependency",
        "Use tabs in Makefiles, always.",
        "I want you to always run the linter before each commit",
        "ask before deleting migrations or fixtures",
        "never delete the test that checks we log out",
    ],
)
def test_praise_of_what_was_done_and_orders_for_good_stand_beside_them(text: str) -> None:
    """What looks alike and means to last still counts."""
    assert said(text) == [text]
