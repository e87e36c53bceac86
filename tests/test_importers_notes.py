"""Memory notes: what a Markdown file says, of every generation and in every state of disrepair."""

import random
import textwrap

import pytest

from importers import headers, markdown, memory_notes
from importers.memory_notes import Parsed
from importers.subjects import categorised
from ledger.model import CATEGORIES, PROBLEM_CHARS, SOLUTION_CHARS, TITLE_CHARS, Draft

FOLDER = "/home/ana/.claude/projects/-home-ana-demo/memory"

CURRENT = """\
---
name: freeze
description: "Merge freeze: only fixes until 2026-10-20"
metadata: \n  node_type: memory
  type: project
  originSessionId: aaaaaaaa-0000-4000-8000-000000000001
  modified: 2026-10-06T08:00:00.000Z
---

Only fixes may merge until 2026-10-20.

**Why:** the mobile release branch is cut from main.

**How to apply:** label other pull requests `after-freeze`; see [[labels]].
"""


def read(text: str, name: str = "note.md", project: str = "demo", files: tuple[str, ...] = ()) -> Parsed:
    """Parse a text, dedented, as a note of a memory folder."""
    known = {f"{FOLDER}/{one}" for one in files}
    return memory_notes.parse(textwrap.dedent(text), f"{FOLDER}/{name}", project, known)


def only(parsed: Parsed) -> Draft:
    """Return the one draft of a note."""
    (draft,) = parsed.drafts
    return draft


def codes(parsed: Parsed) -> list[tuple[int | None, str]]:
    """Return line and code of every diagnostic."""
    return [(one.line, one.code) for one in parsed.diagnostics]


def test_why_becomes_the_problem_and_the_rule_with_how_to_apply_the_solution() -> None:
    """The client's own form for feedback and project notes maps onto a learning."""
    draft = only(read(CURRENT))

    assert draft.title == "Merge freeze: only fixes until 2026-10-20"
    assert draft.problem == "the mobile release branch is cut from main."
    assert draft.solution == (
        "Only fixes may merge until 2026-10-20.\n\n"
        "How to apply: label other pull requests `after-freeze`; see [[labels]]."
    )
    assert (draft.category, draft.confidence, draft.tags) == ("workflow", "sure", ("project",))
    assert draft.observed_at == "2026-10-06T08:00:00.000000Z"


def test_a_note_has_one_place_that_names_its_file() -> None:
    """The locator is the real path and no heading; the source says where a person looks."""
    source = only(read(CURRENT)).source

    assert source is not None
    assert source == ("memory-note", f"memory-note:{FOLDER}/note.md#", f"{FOLDER}/note.md", 1)


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("name: n\ndescription: d\nmetadata: \n  node_type: memory\n  type: reference", "reference"),
        ("name: n\ndescription: d\nmetadata:\n  type: reference", "reference"),
        ("name: n\ndescription: d\ntype: reference\noriginSessionId: aaaa", "reference"),
        ("name: n: m\ndescription: d\ntype: reference", "reference"),
        ("name: 'n'\n\ttype: reference\ndescription: @d", "reference"),
        ("type: user\nmetadata:\n  type: reference", "user"),
    ],
)
def test_the_kind_of_a_note_is_found_in_every_generation_of_header(header: str, kind: str) -> None:
    """Nested, flat, with a trailing space, and in headers that are no YAML."""
    draft = only(read(f"---\n{header}\n---\n\nLatency is on the api-latency board.\n"))

    assert draft.tags == (kind,)
    assert draft.solution == "Latency is on the api-latency board."


def test_a_note_without_a_header_takes_its_kind_from_the_files_name_and_its_title_from_the_heading() -> None:
    """The oldest generation has no header; `feedback_…` in the name says as much."""
    draft = only(read("# Ruff notes\n\nruff format is the formatter; black is gone.\n", "feedback_ruff.md"))

    assert (draft.title, draft.problem) == ("Ruff notes", "Ruff notes")
    assert draft.solution == "ruff format is the formatter; black is gone."
    assert (draft.category, draft.confidence, draft.tags) == ("tool-pref", "sure", ("feedback",))


def test_without_why_the_description_is_the_problem() -> None:
    """What a note is about stands in for the reason it does not give."""
    draft = only(read("---\nname: db\ndescription: Where the pooler listens\ntype: reference\n---\nOn port 6543.\n"))

    assert (draft.title, draft.problem, draft.solution) == (
        "Where the pooler listens",
        "Where the pooler listens",
        "On port 6543.",
    )


def test_a_description_that_repeats_the_body_gives_way_to_the_name() -> None:
    """Problem and solution are not the same sentence when there is another one."""
    draft = only(read("---\nname: Queue size\ndescription: chunk at 256 KB\n---\nChunk at 256 KB.\n"))

    assert (draft.problem, draft.solution) == ("Queue size", "Chunk at 256 KB.")


def test_a_description_that_says_more_than_title_and_rule_is_kept_with_the_reason() -> None:
    """Nothing a note says is lost for search."""
    header = "---\nname: Use a real database\ndescription: No mocks\ntype: feedback\n---\n"

    draft = only(read(f"{header}Use compose.\n**Why:** a mock lied.\n"))

    assert draft.title == "Use a real database"
    assert draft.problem == "a mock lied.\n\nNo mocks"


@pytest.mark.parametrize("form", ["**Why:** it broke", "**Why**: it broke", "Why: it broke", "- **Why:** it broke"])
def test_why_is_found_in_the_forms_people_write(form: str) -> None:
    """Bold around the colon or not, as a list item or not."""
    draft = only(read(f"Never force-push.\n\n{form}\n", "feedback_push.md"))

    assert (draft.problem, draft.solution) == ("it broke", "Never force-push.")


def test_a_note_of_reasons_only_keeps_them_as_the_solution() -> None:
    """Neither problem nor solution is ever empty."""
    draft = only(read("---\nname: Friday ships\ntype: feedback\n---\n**Why:** nobody is there to roll back.\n"))

    assert (draft.problem, draft.solution) == ("Friday ships", "nobody is there to roll back.")


def test_why_inside_code_is_code() -> None:
    """Fenced code is never read as the form of the note around it."""
    draft = only(read("# Templates\n\n```\n**Why:** not this\n```\n"))

    assert draft.problem == "Templates"
    assert draft.solution == "```\n**Why:** not this\n```"


def test_an_empty_note_is_a_diagnostic_and_no_learning() -> None:
    """Nothing can be learned from white space; its place was read all the same."""
    parsed = read("---\ntype: user\n---\n\n", "user_.md")

    assert parsed.drafts == []
    assert codes(parsed) == [(1, "empty-note")]
    assert parsed.whole == {f"memory-note:{FOLDER}/user_.md#"}


def test_a_note_that_is_only_a_description_is_learned_from_it() -> None:
    """Some notes say all they have to say in the header."""
    draft = only(read("---\nname: pooler\ndescription: the pooler listens on 6543\ntype: reference\n---\n"))

    assert draft.solution == "the pooler listens on 6543"
    assert draft.problem == "pooler"


# -- headers ----------------------------------------------------------------------------------------------------------


def test_scalars_of_a_header_stay_texts() -> None:
    """`1.10` is no number, `no` is no truth value, a date is no date object."""
    fields = headers.parse("---\nversion: 1.10\nactive: no\ndue: 2026-10-20\nempty:\n---\nx", "f").fields

    assert fields == {"version": "1.10", "active": "no", "due": "2026-10-20", "empty": ""}


@pytest.mark.parametrize(
    "header",
    [
        "a: &x [1]\nb: *x",
        "name: !!python/object/apply:os.system ['true']",
        "name: one\nname: two",
        "? [a, b]\n: c\nname: x",
        "name: a: b",
        "name: @value",
        "name: {x",
        "name: x\n\tindented: y",
        "name: x\n" + "\n".join(f"k{n}: v" for n in range(900)),
        "name: " + "[" * 60 + "]" * 60,
        "name: x\nlist:\n" + "  " + "- " * 400 + "x",
    ],
)
def test_a_header_the_strict_reader_refuses_is_read_line_by_line(header: str) -> None:
    """Aliases, tags, repeats, composed keys and excess cost a diagnostic with a line, not the note."""
    parsed = read(f"---\n{header}\n---\nBody survives.\n")

    assert only(parsed).solution == "Body survives."
    (found,) = parsed.diagnostics
    assert (found.code, found.line is not None and found.line >= 2) == ("header-broken", True)


def test_the_first_of_a_repeated_key_counts() -> None:
    """A later line cannot quietly change what the first one said."""
    fields = headers.parse("---\nname: one\nname: two\ntags:\n  - a\n  - 'b'\n---\n", "f").fields

    assert fields == {"name": "one", "tags": ["a", "b"]}


@pytest.mark.parametrize("key", ["actor", "trust", "supersedes", "created", "id", "Recorded_At", "superseded-by"])
def test_a_header_cannot_forge_what_only_the_ledger_says(key: str) -> None:
    """Reserved keys are ignored, at the top and below `metadata:`, with their line."""
    parsed = read(f"---\nname: n m\nmetadata:\n  {key}: 4\n---\nText.\n")

    assert codes(parsed) == [(4, "header-reserved")]
    assert only(parsed).observed_at is None


@pytest.mark.parametrize(
    ("claimed", "read_as"),
    [
        ("2026-10-05T09:12:44.120Z", "2026-10-05T09:12:44.120000Z"),
        ("2026-10-05T11:12:44+02:00", "2026-10-05T09:12:44.000000Z"),
        ("2026-10-05", "2026-10-05T00:00:00.000000Z"),
        ("0001-01-01T00:00:00+14:00", None),
        ("2026-13-45", None),
        ("yesterday", None),
    ],
)
def test_a_claimed_time_is_kept_as_observed_only_when_it_is_one(claimed: str, read_as: str | None) -> None:
    """`modified` becomes UTC text of fixed width, or a diagnostic."""
    parsed = read(f"---\nname: n\nmetadata:\n  modified: {claimed}\n---\nText.\n")

    assert only(parsed).observed_at == read_as
    assert codes(parsed) == ([] if read_as else [(4, "header-time")])


def test_rules_around_prose_are_no_header() -> None:
    """A Markdown rule at the top of a body was read as metadata by others."""
    draft = only(read("---\nJust words, no keys\n---\nand more\n"))

    assert "Just words, no keys" in draft.solution
    assert "and more" in draft.solution


def test_a_header_that_is_never_closed_ends_at_the_first_blank_line() -> None:
    """The body survives, and the diagnostic says where the header began."""
    parsed = read("---\nname: Open header\ntype: feedback\n\nThe body.\n")

    assert only(parsed).solution == "The body."
    assert codes(parsed) == [(1, "header-open")]


def test_tags_come_from_lists_and_from_commas() -> None:
    """The kind first, then the header's tags, each once."""
    listed = only(read("---\ntype: decision\ntags: [db, queue, db]\nname: a\n---\nText.\n")).tags
    comma = only(read("---\ntype: decision\nmetadata:\n  tags: db, queue\nname: a\n---\nText.\n")).tags

    assert listed == comma == ("decision", "db", "queue")


# -- long notes -------------------------------------------------------------------------------------------------------


def test_a_long_note_of_headed_sections_is_a_learning_a_section() -> None:
    """Each section is its own place, so that editing one supersedes one."""
    filler = "The importer keeps every word of this section. " * 20
    body = f"Intro words.\n\n# Reading\n\n{filler}\n\n## Deep\n\nmore\n\n# Writing\n\n{filler}\n"

    parsed = read(f"---\nname: Import notes\n---\n{body}")

    assert [(one.title, one.problem) for one in parsed.drafts] == [
        ("Import notes", "Import notes"),
        ("Reading", "Import notes: Reading"),
        ("Writing", "Import notes: Writing"),
    ]
    assert [one.source.locator.rpartition("#")[2] for one in parsed.drafts if one.source] == ["", "Reading", "Writing"]
    assert "## Deep\n\nmore" in parsed.drafts[1].solution


def test_a_short_note_with_headings_stays_one_learning() -> None:
    """Sections of a few words mean little alone."""
    draft = only(read("# A\n\none\n\n# B\n\ntwo\n"))

    assert draft.solution == "one\n\n# B\n\ntwo"


def test_a_text_beyond_the_cap_is_several_learnings_and_loses_nothing() -> None:
    """A learning is never cut, so a text that is too long becomes several of one place."""
    words = [f"word{number}" for number in range(9_000)]
    paragraphs = "\n\n".join(" ".join(words[at : at + 90]) for at in range(0, len(words), 90))

    drafts = read(f"---\nname: Long list\n---\n{paragraphs}\n").drafts

    assert " ".join(one.solution for one in drafts).split() == words
    assert len({one.source.locator for one in drafts if one.source}) == 1
    assert len({one.title for one in drafts}) == len(drafts) > 1


def test_one_endless_line_is_cut_between_words() -> None:
    """A note of one 40,000-character line is imported too."""
    drafts = read("word " * 8_000).drafts

    assert all(len(one.solution) <= memory_notes.PART_CHARS for one in drafts)
    assert sum(one.solution.count("word") for one in drafts) == 8_000


# -- the index --------------------------------------------------------------------------------------------------------


def test_index_lines_are_no_learnings_and_their_targets_are_known() -> None:
    """Links are followed by reading the folder; a missing target is a diagnostic with its line."""
    text = """\
        # Memory index

        - [User role](user_role.md) — backend lead
        - **[Freeze](sub/freeze%20one.md#top)** — until October
        - [[labels]] — by name
        - [Gone](gone.md) — no such file
        """

    parsed = read(text, "MEMORY.md", files=("user_role.md", "sub/freeze one.md", "labels.md"))

    assert parsed.drafts == []
    assert codes(parsed) == [(6, "index-target")]


def test_a_bullet_without_a_link_to_a_note_is_a_learning() -> None:
    """Also one that links to the web, and one that names a note nobody wrote yet."""
    text = """\
        # Memory index
        - the pooler listens on 6543
        - [Runbook](https://wiki.example/runbook.md) has the steps
        - [[not-written-yet]] would say how to label
        """

    drafts = read(text, "MEMORY.md").drafts

    assert [one.solution for one in drafts] == [
        "the pooler listens on 6543",
        "[Runbook](https://wiki.example/runbook.md) has the steps",
        "[[not-written-yet]] would say how to label",
    ]
    assert {one.problem for one in drafts} == {"notes on demo"}
    assert [one.title for one in drafts][1] == "Runbook has the steps"


def test_a_list_under_a_heading_is_one_place_with_several_learnings() -> None:
    """The heading says what they are about, a leading term makes it narrower."""
    text = """\
        # Project memory

        ## Build
        - `make dev` needs Node 22
        - **uv**: never pip
        - Windows paths: quote everything

        ## Gotchas
        Mind these:
        - chunk messages over 256 KB
        """

    parsed = read(text, "MEMORY.md")

    assert [(one.problem, one.solution) for one in parsed.drafts] == [
        ("Build", "`make dev` needs Node 22"),
        ("Build: uv", "**uv**: never pip"),
        ("Build: Windows paths", "Windows paths: quote everything"),
        ("Gotchas: Mind these", "chunk messages over 256 KB"),
    ]
    places = [one.source.locator.rpartition("#")[2] for one in parsed.drafts if one.source]
    assert places == ["Project memory > Build"] * 3 + ["Project memory > Gotchas"]
    assert [one.source.line for one in parsed.drafts if one.source] == [4, 5, 6, 10]


def test_nested_items_lazy_lines_and_code_stay_with_their_item() -> None:
    """An item is what a reader takes for one, however it is indented."""
    text = """\
        ## Deploy
        - run the checks
          first, all of them
        which takes a minute
          - nested one
            - nested two

          a paragraph of the item
          ```sh
          # not a heading
        - not an item
          ```
        - second
        """

    drafts = read(text, "MEMORY.md").drafts

    assert [one.solution.split("\n")[0] for one in drafts] == ["run the checks", "second"]
    assert drafts[0].solution.endswith("```")
    for words in ("first, all", "which takes", "- nested one", "  - nested two", "a paragraph", "# not a", "- not an"):
        assert words in drafts[0].solution


def test_prose_under_a_heading_is_a_learning_with_its_code_and_numbered_steps_whole() -> None:
    """Steps of a procedure mean nothing alone, and a comment of HTML is nobody's belief."""
    text = """\
        ## Release

        Tag from main only.

        <!-- - old: tag from develop
        -->
        1. bump
        2. tag

        ```sh
        ## not a heading
        git tag v1
        ```

        ***

        ## Empty
        """

    parsed = read(text, "MEMORY.md")

    draft = only(parsed)
    assert (draft.title, draft.problem) == ("Release", "Release")
    assert draft.solution == "Tag from main only.\n\n1. bump\n2. tag\n\n```sh\n## not a heading\ngit tag v1\n```"
    assert f"memory-note:{FOLDER}/MEMORY.md#Empty" in parsed.whole


def test_an_index_line_with_more_below_it_keeps_the_rest() -> None:
    """Only the line that points to a note is left out."""
    draft = only(read("- [A](a.md) — hook\n  - port 6543 is the pooler\n", "MEMORY.md", files=("a.md",)))

    assert draft.solution == "- port 6543 is the pooler"


def test_an_agents_memory_is_tagged_with_the_agent() -> None:
    """Each agent's folder has its own MEMORY.md."""
    text = "# Reviewer memory\n\n- Public functions need type hints\n"

    parsed = memory_notes.parse(text, "/r/.claude/agent-memory/code-reviewer/MEMORY.md", "demo")

    assert only(parsed).tags == ("agent:code-reviewer",)


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        (["- x"] * 200, None),
        (["- x"] * 205, 201),
        (["", "", *["- x"] * 205], 203),
        (["- " + "é" * 198] * 124, None),
        (["- " + "é" * 198] * 126, 125),
        (["- " + "😀" * 99] * 124, None),
        (["- " + "😀" * 99] * 126, 125),
        (["- x", "- " + "y" * 30_000, "- z"], 2),
    ],
)
def test_what_the_client_would_not_load_is_named_and_imported_all_the_same(lines: list[str], first: int | None) -> None:
    """200 lines or 25,000 UTF-16 units: the measured caps, counted as the client counts."""
    numbered = [line and f"{line} {number}"[:30_500] for number, line in enumerate(lines)]
    if first != 203 and len(lines[0]) > 3:
        numbered = lines

    parsed = read("\n".join(numbered) + "\n", "MEMORY.md")

    assert [one.line for one in parsed.diagnostics if one.code == "not-loaded"] == ([first] if first else [])
    assert len({one.source.line for one in parsed.drafts if one.source}) == sum(bool(line) for line in lines)


def test_many_missing_targets_are_counted_after_the_first() -> None:
    """An index of a folder that was not copied does not drown what else was found."""
    text = "".join(f"- [N{number}](n{number}.md) — hook\n" for number in range(50))

    diagnostics = read(text, "MEMORY.md").diagnostics

    assert len(diagnostics) == memory_notes.MISSING_SHOWN + 1
    assert "29 more" in diagnostics[-1].message


# -- categories -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("feedback", "Integration tests hit a real database", ("practice", "sure")),
        ("feedback", "Use uv, never pip", ("tool-pref", "sure")),
        ("feedback", "Keep it short", ("practice", "sure")),
        ("feedback", "run pytest before each commit", ("practice", "ambiguous")),
        ("user", "prefers short diffs", ("tool-pref", "sure")),
        ("project", "merge freeze until October", ("workflow", "sure")),
        ("project", "the pooler listens on port 6543", ("env", "sure")),
        ("project", "who knows", ("workflow", "ambiguous")),
        ("reference", "latency board", ("env", "sure")),
        ("decision", "use a factory pattern", ("pattern", "ambiguous")),
        ("", "the build fails with ERR_REQUIRE_ESM, a regression", ("bug-fix", "ambiguous")),
        ("", "nothing of the kind", ("practice", "ambiguous")),
    ],
)
def test_the_category_follows_from_kind_and_words(kind: str, text: str, expected: tuple[str, str]) -> None:
    """Two choices at most for a known kind; a tie, or no kind, is flagged."""
    assert categorised(kind, text) == expected


# -- whatever comes ---------------------------------------------------------------------------------------------------


def check(parsed: Parsed) -> None:
    """Assert what holds for the reading of any text."""
    for draft in parsed.drafts:
        assert draft.problem.strip()
        assert draft.solution.strip()
        assert draft.title
        assert len(draft.title) <= TITLE_CHARS
        assert len(draft.problem) <= PROBLEM_CHARS
        assert len(draft.solution) <= SOLUTION_CHARS
        assert draft.category in CATEGORIES
        assert draft.source is not None
        assert draft.source.locator in parsed.whole
        assert all(tag and len(tag) <= 60 for tag in draft.tags)


GOOD = (
    CURRENT,
    "# Memory\n\n- [A](a.md) — hook\n- plain\n  - nested\n\n## Build\nProse:\n- **x**: y\n\n```\n# code\n```\n1. one\n",
    "---\nname: a: b\ntags: [x, 'y']\n---\n# H\n\ntext 日本 é 😀\n",
    "---\nname: |\n  folded\n  text\nmetadata: {type: user, tags: [a]}\n...\nBody\n",
)
PIECES = (
    "---\n",
    "\n",
    "- ",
    "  ",
    "#",
    "```",
    "<!--",
    "-->",
    "**Why:**",
    ":",
    "&a",
    "*a",
    "[",
    "{",
    "\t",
    "\u2028",
    "é",
    '"',
)


@pytest.mark.parametrize("seed", range(400))
def test_no_mutation_of_a_good_note_raises(seed: int) -> None:
    """Bytes dropped, doubled, swapped and put in anywhere still give drafts that can be stored."""
    draw = random.Random(seed)
    raw = bytearray(draw.choice(GOOD).encode())
    for _ in range(draw.randint(1, 12)):
        at = draw.randrange(len(raw) + 1)
        act = draw.randrange(4)
        if act == 0:
            del raw[at : at + draw.randint(1, 20)]
        elif act == 1:
            raw[at:at] = draw.choice(PIECES).encode() * draw.choice((1, 1, 3, 40))
        elif act == 2:
            raw[at:at] = raw[: draw.randrange(len(raw) + 1)]
        else:
            raw[at : at + 1] = bytes([draw.randrange(256)])
    text = bytes(raw).decode("utf-8", "replace").replace("\0", "")
    path = f"{FOLDER}/{draw.choice(('MEMORY.md', 'feedback_x.md'))}"

    parsed = memory_notes.parse(text, path, "demo")

    check(parsed)
    assert parsed == memory_notes.parse(text, path, "demo")


@pytest.mark.parametrize(
    "piece", ["- ", "#" * 7, "```\n", "---\n", "<!--", "[a](", "> ", "*", "_a_ ", "\n", "  - x\n", "a: ", "**"]
)
def test_a_large_file_of_one_mark_is_read_in_time(piece: str) -> None:
    """No pattern backtracks its way through a large hostile file."""
    text = piece * (200_000 // len(piece))

    parsed = memory_notes.parse(text, f"{FOLDER}/MEMORY.md", "demo")

    check(parsed)


def test_parts_of_a_text_join_to_the_text() -> None:
    """Cutting loses nothing but the blanks at the cuts."""
    text = "one two\n\nthree\nfour " + "x" * 50

    pieces = markdown.parts(text, 12)

    assert all(len(piece) <= 12 for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: x\ntype: feedback\nWORDS right below.\n",
        "---\nname: x\ntype: feedback\n\nWORDS after a blank line.\n",
        "---\nname: x\n\nA paragraph with WORDS.\n\n---\n\nBelow a rule.\n",
        "---\n\nNote: WORDS in front of a paragraph.\n\nMore.\n\n---\n\nBelow.\n",
        "---\n---\nWORDS below an empty header.\n",
        "---\nname: x\ndescription: >\n  folded\n  WORDS\nbad: a: b\n---\nBody.\n",
        "---\nname: x\ndescription: long\nWORDS wrapped without a mark\ntype: feedback\n---\nBody.\n",
        "---\n" + "".join(f"k{n}: v\n" for n in range(20_000)) + "---\nWORDS.\n",
        "<!-- never closed\n\nWORDS below it.\n",
        "<!-- one\nmore --> WORDS behind a comment.\n",
        "<!-- one --> WORDS behind a comment.\n",
    ],
)
def test_a_broken_header_or_comment_takes_no_words_with_it(text: str) -> None:
    """Whatever cannot be told to be a header's is the note's own text."""
    draft = only(read(text))

    assert "WORDS" in draft.problem + draft.solution
    assert "k19999" not in draft.solution


def test_a_header_value_of_the_wrong_type_is_named() -> None:
    """A list where a text belongs is ignored, with its line."""
    parsed = read("---\nname: [a, b]\ntype: feedback\n---\nBody.\n")

    assert [(one.line, one.code) for one in parsed.diagnostics] == [(2, "header-type")]
    assert only(parsed).solution == "Body."
