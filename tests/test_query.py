"""How text becomes what the index holds, and how a question becomes terms."""

import sqlite3
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger import query, sql, tables

ANYTHING = st.text(alphabet=st.characters(codec=None), max_size=200)
HOSTILE = st.lists(
    st.sampled_from(
        ['"', "'", "*", "(", ")", "NEAR", "AND", "OR", "NOT", "^", ":", "-", "+", "{", "}", "\0", "\ud800", "a", "部"]
    ),
    max_size=30,
).map("".join)


def index(*texts: str) -> sqlite3.Connection:
    """Return a real words index that holds these texts, one a row."""
    connection = sqlite3.connect(":memory:")
    connection.execute(tables.FTS)
    for row, text in enumerate(texts, 1):
        connection.execute(
            "INSERT INTO learning_fts (rowid, title, problem, solution, tags) VALUES (?, '', ?, '', '')",
            (row, query.indexed(text)),
        )
    return connection


def found(connection: sqlite3.Connection, question: str) -> list[int]:
    """Return the rows that any term of a question finds."""
    asked = query.build(question)
    statement = "SELECT rowid FROM learning_fts WHERE learning_fts MATCH ? ORDER BY rowid"
    rows = connection.execute(statement, (query.match(asked.terms or asked.filler),)).fetchall()
    return [row for (row,) in rows]


def test_the_tokenizer_is_the_one_of_the_index() -> None:
    """The read path stems a question's words with the tokenizer that cut the learnings."""
    assert f"tokenize = '{sql.TOKENIZER}'" in tables.FTS


@given(st.one_of(ANYTHING, HOSTILE))
@example('"')
@example("\0")
@example("\ud800 \udfff")
@example("ask-codex src/main.py don't C++ a:b (x * NEAR(")
@example("ﷺ" * 100)
@example("٣ ½ ² Ⅳ 𝒜")
def test_any_text_is_a_legal_question(text: str) -> None:
    """Nothing that can be typed makes FTS5 raise."""
    connection = index("a row")

    rows = found(connection, text)

    assert set(rows) <= {1}
    connection.close()


@given(st.one_of(ANYTHING, HOSTILE))
def test_terms_hold_letters_and_digits_only(text: str) -> None:
    """What leaves `build` can hold no syntax: words, and spaces between the parts of a name."""
    asked = query.build(text)

    assert all(word.isalnum() for term in (*asked.terms, *asked.filler) for word in term.split(" "))


@given(st.text(alphabet=string.ascii_letters + string.digits + " -_./", max_size=300))
def test_indexing_only_appends_to_plain_text(text: str) -> None:
    """ASCII text stands in the index as it is, whatever is appended to it."""
    assert query.indexed(text).startswith(text)


@given(ANYTHING)
def test_match_takes_even_terms_that_build_never_makes(text: str) -> None:
    """`match` quotes what it is given, so a term from elsewhere is harmless as well."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        connection = index("a row")
        connection.execute(
            "SELECT rowid FROM learning_fts WHERE learning_fts MATCH ?", (query.match([text]),)
        ).fetchall()
        connection.close()


def test_no_terms_match_nothing() -> None:
    """An empty question is a legal expression without an answer."""
    connection = index("a row")

    assert found(connection, "?!") == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("statement_cache_size=0", ("statement cache size", "statement", "cache", "size", "0")),
        ("PgBouncer", ("pg bouncer", "pgbouncer", "pg", "bouncer")),
        ("HTTPServer", ("http server", "httpserver", "http", "server")),
        ("STM32L476RG", ("stm32l476rg",)),
        ("workers/outbox_relay.py", ("workers outbox relay py", "workers", "outbox", "relay", "py")),
        ("pre-commit", ("pre commit", "precommit", "pre", "commit")),
        ("--no-verify", ("no verify", "noverify", "verify")),
        ("v1.2.3", ("v1 2 3", "v1")),
    ],
)
def test_names_are_looked_for_whole_and_in_parts(question: str, expected: tuple[str, ...]) -> None:
    """The whole name finds it exactly; its parts find it spelled in another style."""
    assert query.build(question).terms == expected


def test_a_name_is_found_in_either_style() -> None:
    """snake_case, camelCase and words apart find each other, the whole name as one phrase."""
    connection = index("set statementCacheSize to 0", "set statement_cache_size to 0", "size of a cache in a statement")
    phrase = query.match(["statement cache size"])

    rows = connection.execute("SELECT rowid FROM learning_fts WHERE learning_fts MATCH ?", (phrase,)).fetchall()

    assert sorted(rows) == [(1,), (2,)]
    assert found(connection, "statementCacheSize") == [1, 2, 3]


def test_hyphened_and_joined_spellings_find_each_other() -> None:
    """`re-index` finds `reindex` and the other way round."""
    connection = index("run reindex at night", "run re-index at night")

    assert found(connection, "re-index") == [1, 2]
    assert found(connection, "reindex") == [1, 2]


@pytest.mark.parametrize("question", ["部署", "环境", "署", "境", "배포", "カタカナ", "ｶﾀｶﾅ"])
def test_any_part_of_a_run_without_spaces_is_found(question: str) -> None:
    """Words of one, two or more characters are found inside a Chinese, Japanese or Korean run."""
    connection = index("我们的部署环境在这里", "운영 배포는 언제", "カタカナ")

    assert len(found(connection, question)) == 1


def test_accents_are_folded() -> None:
    """A word is found with and without its accents, composed or not."""
    connection = index("le résumé", "the resume", "le re\u0301sume\u0301")

    assert found(connection, "résumé") == [1, 2, 3]
    assert found(connection, "resume") == [1, 2, 3]


def test_full_width_letters_are_letters() -> None:
    """Full-width forms, as input methods produce them, are the same words."""
    assert query.build("ＡＢＣ４２").terms == ("abc42",)


@pytest.mark.parametrize(
    "question",
    [
        "could you please have a look at this",
        "was ist das denn jetzt wieder",
        "pouvez-vous être là",
        "¿qué hacemos después?",
        "não é isso, você tem mais?",
        "почему это так",
        "これはですか",
        "怎么 可以",
        "a 1 ?",
    ],
)
def test_words_that_say_nothing_are_filler(question: str) -> None:
    """Function words of several languages carry no weight; they are kept aside for a question of nothing else."""
    asked = query.build(question)

    assert asked.terms == ()
    assert asked.filler


def test_a_single_digit_tells_in_a_short_question_only() -> None:
    """Step 7 is not step 6; in a long text digits are list numbers and counts."""
    long = "first connect the pooler then migrate tables before deploying workers, step 7"

    assert "7" in query.build("parallel problem 7").terms
    assert "7" not in query.build(long).terms


def test_the_name_of_a_category_says_nothing_within_it() -> None:
    """ "which tools" among the tool-prefs asks for all of them."""
    assert query.build("which tools for data", "tool-pref").terms == ("data",)
    assert query.build("which tools for data").terms == ("tools", "data")


def test_a_question_is_read_up_to_its_caps() -> None:
    """A pasted log costs no more than its first terms; encoded data is no word."""
    many = query.build(" ".join(f"word{number}" for number in range(1000)))
    data = query.build("x" * 100 + " 界" + "y" * 100)
    late = query.build(" " * query.TEXT_CHARS + "late")

    assert len(many.terms) == query.TERMS_MAX
    assert data.terms == ("界",)
    assert late.terms == ()


def test_a_path_of_many_parts_is_looked_for_in_parts_only() -> None:
    """A phrase of more than six words would find nothing but itself."""
    assert query.build("one/two/three/four/five/six/seven").terms[0] == "two"


def test_another_spelling_is_measured() -> None:
    """The share of words that a text holds with other accents only."""
    assert query.spelled_otherwise(("resume", "letter"), "le résumé et letter") == 0.5
    assert query.spelled_otherwise(("résumé",), "the resume") == 1.0
    assert query.spelled_otherwise(("résumé",), "un résumé") == 0.0
    assert query.spelled_otherwise(("resume",), "the resume") == 0.0
    assert query.spelled_otherwise((), "é") == 0.0


def test_identifiers_are_names_no_prose_holds() -> None:
    """A digit, a joint or inner capitals make a name; numbers and hyphenated words do not."""
    names = query.identifiers("PgBouncer on port 5432 drops asyncpg_stmt in src/main.py with front-end TS2742")

    assert names == {"pgbouncer", "asyncpg_stmt", "src/main.py", "ts2742"}


def test_values_are_what_a_fact_turns_on() -> None:
    """Numbers, versions, flags and paths of a text, by kind."""
    assert query.values("port 5432, --fast and -x, v1.2.3 or 3.11, /etc/db.conf and src/a.py.") == {
        "number": {"5432"},
        "flag": {"--fast", "-x"},
        "version": {"v1.2.3", "3.11"},
        "path": {"/etc/db.conf", "src/a.py"},
    }


def test_titles_compare_by_their_words() -> None:
    """Case, punctuation and spacing do not make another subject."""
    assert query.subject("  The Port:  of `db`!") == query.subject("the port of DB")
    assert query.subject(None) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [("C++ flags", "C# flags"), ("exit code -1", "exit code 1"), ("node >= 18", "node < 18"), ("a → b", "a ← b")],
)
def test_titles_that_differ_in_signs_are_of_different_subjects(one: str, other: str) -> None:
    """A sign can be the whole difference."""
    assert query.subject(one) != query.subject(other)


def test_a_title_of_closing_signs_has_no_subject() -> None:
    """So no two of them are on one subject."""
    assert query.subject("??!") == ""


def test_values_of_an_endless_word_are_read_in_linear_time() -> None:
    """A quadratic pattern would take a quarter of an hour."""
    assert query.values("a" * 200_000) == {}
