"""A client of one project over HTTP, through the SDK's client: nothing of another project, and no way to write one."""

import json
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from gated import Remote, Served, make, serving, texts

from ledger import sql, tokens
from ledger.fence import open_fenced
from ledger.ledger import Ledger
from ledger.model import Draft, agent
from ledger.reader import open_reader
from mcp_server.arguments import tool_files
from mcp_server.gate import Limits

MARK = "zeppelin"
"""A word that stands in every text of the other project and nowhere else."""


EAGER = Limits(rate=1_000_000, burst=1_000_000)
"""Nobody is slowed: these tests ask hundreds of times."""


class Place(NamedTuple):
    """A ledger of two projects, a server on it, and what the client of one must not see."""

    served: Served
    token: str
    own: list[str]
    other: list[str]
    common: str
    seqs: list[int]


def taught(file: Path) -> tuple[list[str], list[str], str, list[int]]:
    """Fill a ledger: learnings of two projects, those that replace each other across them, and one for everywhere."""
    with Ledger.init(str(file)) as ledger:
        own = [
            ledger.record(Draft(f"harbour crane {at} stops", f"reset crane {at}", "env", "ours")).id for at in range(4)
        ]
        made = [
            ledger.record(
                Draft(f"{MARK} crane {at} fails", f"{MARK} {at} reset", "env", "theirs", f"{MARK} {at}", (MARK,))
            )
            for at in range(4)
        ]
        common = ledger.record(Draft("cranes in general", "read the manual", "practice", "*")).id
        out = ledger.supersede(own[0], f"{MARK} harbour", f"{MARK} answer", f"{MARK} took it", project="theirs")
        into = ledger.supersede(made[0].id, "harbour gantry jams", "grease it", "it moved", project="ours", tags=())
        gone = ledger.retract(made[1].id, f"{MARK} is over")
        undone = ledger.undo(gone.seq, f"{MARK} is not")
        ledger.set("project_aliases", json.dumps({"ours-too": "ours", MARK: "theirs"}))
        ledger.record(Draft("harbour lights", "two of them", "env", "ours-too"))
    other = [*(one.id for one in made), out.id]
    seqs = [*(one.seq for one in made), out.seq, gone.seq, undone.seq]
    return [*own, into.id], other, common, seqs


@contextmanager
def placed(file: Path) -> Iterator[Place]:
    """Serve such a ledger to a client of `ours`."""
    found = taught(file)
    _, text = make(file, projects=("ours",), trust=3)
    with serving(file, EAGER) as served:
        yield Place(served, text, *found)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Return a place for all tests; none writes the other project's words into its own."""
    with placed(tmp_path_factory.mktemp("fence") / "ledger.db") as made:
        yield made


@pytest.fixture(params=["auto", "legacy"])
def remote(place: Place, request: pytest.FixtureRequest) -> Iterator[Remote]:
    """Return a session of the SDK's client, in both generations of the protocol."""
    with place.served.client(place.token, request.param) as session:
        yield session


def spilled(place: Place, found: object) -> list[str]:
    """Return what of the other project is in an answer: its word, its name, its ids."""
    said = texts(found) if not isinstance(found, str) else [found]
    return [text for text in said for secret in (MARK, "theirs", *place.other) if secret in text]


# -- reading (H04) ----------------------------------------------------------------------------------------------------


def test_a_client_reads_its_project_and_what_holds_everywhere(place: Place, remote: Remote) -> None:
    """By every name that the project has."""
    found = remote.document("query_learnings", query="harbour crane lights manual gantry")

    projects = {hit["project"] for hit in found["hits"]}
    assert projects == {"ours", "ours-too", "*"}
    assert remote.document("query_learnings", query="lights", project="ours")["hits"][0]["project"] == "ours-too"


def test_no_tool_says_a_byte_of_another_project(place: Place, remote: Remote) -> None:
    """Searches by its very words, its name, its ids, its times; lists, histories, lineages across projects, counts."""
    head = max(place.seqs) + 10
    answers: list[Any] = [
        remote.document("query_learnings", query=f"{MARK} crane reset harbour"),
        remote.document("query_learnings", query=MARK, project="theirs"),
        remote.document("query_learnings", query=MARK, tags=[MARK], include_superseded=True),
        remote.document("query_learnings", query="", project="theirs"),
        remote.document("query_learnings", query="harbour", as_of=place.seqs[-1], include_superseded=True),
        remote.document("query_learnings", query="harbour", index=True),
        remote.document("list_learnings"),
        remote.document("list_learnings", project="theirs"),
        remote.document("list_learnings", before_seq=head),
        remote.document("ledger_status"),
        *(remote.document("learning_history", id=one) for one in (*place.own, place.common)),
        *(remote.document("get_learnings", ids=[one]) for one in (*place.own, place.common)),
    ]

    assert [spilled(place, answer) for answer in answers if spilled(place, answer)] == []


def nobodys(draw: random.Random, size: int) -> str:
    """Return an id, or the beginning of one, that nobody has."""
    return "lrn_" + "".join(draw.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(size))


CHANGE = {"problem": "p", "solution": "s", "reason": "r"}

BY_ID = (
    ("learning_history", lambda one, own: {"id": one}),
    ("retract_learning", lambda one, own: {"id": one, "reason": "r"}),
    ("supersede_learning", lambda one, own: {"old": one, **CHANGE}),
    ("supersede_learning", lambda one, own: {"old": [own, one], **CHANGE}),
)
"""Every tool that is given an id and refuses one that it does not find."""


def test_an_id_of_another_project_is_answered_as_one_that_nobody_has(place: Place) -> None:
    """Five hundred attempts by ids and by beginnings of ids: the same sentence but for what was asked."""
    draw, count, differ = random.Random(5), 0, []
    with place.served.client(place.token) as remote:
        for at in range(25):
            for size in (26, 12):
                asked, free = place.other[at % len(place.other)][: 4 + size], nobodys(draw, size)
                for name, given in BY_ID:
                    forbidden = remote.refusal(name, **given(asked, place.own[1])).replace(asked, "ID")
                    unknown = remote.refusal(name, **given(free, place.own[1])).replace(free, "ID")
                    differ += [(forbidden, unknown)] if forbidden != unknown else []
                found = remote.document("get_learnings", ids=[asked, free])
                differ += [(found, free)] if found["learnings"] or found["missing"] != [asked, free] else []
                count += 2 * len(BY_ID) + 2

    assert differ == []
    assert count == 500


def test_an_event_of_another_project_is_answered_as_one_that_nobody_has(place: Place, remote: Remote) -> None:
    """Undo tells a client only of what it wrote itself."""
    seqs = [*place.seqs, 10_000_000]

    found = {remote.refusal("undo", seq=seq).replace(str(seq), "SEQ") for seq in seqs}

    assert len(found) == 1
    assert "no event SEQ of this client is known" in found.pop()


def test_scores_over_the_whole_ledger_are_not_explained(place: Place, remote: Remote) -> None:
    """`explain` would count the words of other projects."""
    assert "explain" in remote.refusal("query_learnings", query="harbour", explain=True)


def test_recall_over_http_is_given_keywords_and_keeps_to_the_project(place: Place, remote: Remote) -> None:
    """A prompt is refused as such; keywords find what is the client's."""
    ours = remote.call(
        "recall", keywords=["harbour", "gantry", "jams"], session_id=str(remote.client.mode), project="ours"
    )
    theirs = remote.call("recall", keywords=[MARK, "crane"], project="theirs")
    wrong = [
        {"prompt": "the gantry in the harbour jams"},
        {"keywords": ["harbour"], "prompt": "x"},
        {"keywords": "harbour"},
        {"keywords": ["x" * 61]},
        {"keywords": ["x"] * 41},
        {"keywords": ["x"], "session_id": "../../etc"},
        {"keywords": ["x"], "transcript_path": "/etc/passwd"},
        {"keywords": ["x"], "project": 7},
        {},
    ]

    said = "".join(block.text for block in ours.content if block.type == "text")
    assert "grease it" in json.loads(said)["hookSpecificOutput"]["additionalContext"]
    assert not spilled(place, "".join(block.text for block in theirs.content if block.type == "text"))
    assert {remote.refusal("recall", **given).partition(";")[0] for given in wrong} == {
        "over HTTP a recall is given keywords and never a prompt"
    }


OPEN = ("PROJECT_ALIASES", "SETTINGS")
"""Statements about names of projects, which no tool passes on to such a client."""

OTHER_FILES = ("PIECE", "STEM", "LONGEST_PIECE", "ODD_PIECES")
"""Beginnings of the names of statements over other files than the ledger."""


def statements() -> dict[str, str]:
    """Return every statement of the read path."""
    return {
        name: text for name, text in vars(sql).items()
        if name.isupper() and isinstance(text, str) and text.lstrip().startswith(("SELECT", "WITH"))
        and not name.startswith(OTHER_FILES)
    }  # fmt: skip


def test_every_statement_of_the_read_path_is_fenced(place: Place) -> None:
    """Whatever is added to `sql.py`: no row of the other project comes through a fenced reader.

    Statements of the log alone hold ids and numbers.
    """
    every = json.dumps([*place.own, *place.other, place.common])
    binds = {
        "at": sql.NOW, "projects": None, "category": None, "trust": None, "tags": None, "ids": every, "many": 1_000,
        "seqs": json.dumps(list(range(1, 50))), "before": sql.NOW, "after": 0, "page": 1_000, "state": "current",
        "first": "lrn_", "last": "lrn_{", "moment": "2030-01-01", "age": "-1000000 hours", "match": MARK, "seq": 5,
        "words": json.dumps([MARK]), "day": "2030-01-01",
        "since": "2000-01-01", "path": "/", "key": b"",
    }  # fmt: skip
    spills = {}
    with open_fenced(str(place.served.file), ["ours"]) as fenced:
        for name, statement in statements().items():
            asked = [{**binds, "id": one} for one in place.other]
            scoped = [{**one, "projects": json.dumps(["theirs"])} for one in asked]
            rows = [fenced.rows(statement, one) for one in (*asked, *scoped)]
            found = spilled(place, json.loads(json.dumps(rows, default=lambda blob: blob.decode("latin-1"))))
            spills |= {name: found} if found else {}

    assert spills.keys() <= {*OPEN, "WORD_COUNTS"}, spills


def test_a_fence_around_nothing_that_is_there_leaves_what_holds_everywhere(place: Place) -> None:
    """A project that there is not has no learnings, and quotes in its name are letters."""
    with open_fenced(str(place.served.file), ['it\'s "nothing"']) as reader:
        assert {row.project for row in reader.list_learnings().rows} == {"*"}
        assert reader.status()["learnings"] == {"current": 1}


# -- writing ----------------------------------------------------------------------------------------------------------


def head(place: Place) -> int:
    """Return the last seq of the log."""
    with open_reader(str(place.served.file)) as reader:
        return reader.head().seq


def test_a_client_writes_in_its_project_as_itself(place: Place, remote: Remote) -> None:
    """Without a project given it is the client's; trust is the token's; it may take back what it wrote."""
    made = remote.document("record_learning", problem=f"buoy {remote.client.mode}", solution="paint it red")
    better = remote.document(
        "supersede_learning", old=made["id"], problem="buoy", solution="paint it green", reason="rules"
    )
    undone = remote.document("undo", seq=better["seq"])
    gone = remote.document("retract_learning", id=made["id"], reason="no buoy")

    with open_reader(str(place.served.file)) as reader:
        hit = reader.get([made["id"]])[0]
        actor = reader.rows("SELECT actor_id, trust FROM event WHERE seq = :seq", {"seq": made["seq"]})[0]
    assert (hit.project, hit.trust, undone["undone"], gone["state"]) == ("ours", 3, [better["seq"]], "retracted")
    assert actor == ("http-" + place.token.split("_")[1], 3)


def test_a_client_writes_nowhere_else(place: Place, remote: Remote) -> None:
    """Another project, one that there is not, and everywhere are refused with one sentence; nothing is written."""
    before = head(place)
    draft = {"problem": "p", "solution": "s"}
    change = {**draft, "reason": "r"}
    found = [
        remote.refusal("record_learning", **draft, project="theirs"),
        remote.refusal("record_learning", **draft, project="nothing"),
        remote.refusal("record_learning", **draft, project="*"),
        remote.refusal("supersede_learning", old=place.own[1], **change, project="theirs"),
        remote.refusal("supersede_learning", old=place.own[1], **change, project="nothing"),
        remote.refusal("supersede_learning", old=place.common, **change),
        remote.refusal("retract_learning", id=place.common, reason="r"),
    ]

    assert set(found) == {"this client may not write there; nothing was written; its projects are: ours"}
    assert head(place) == before


def test_a_refusal_names_nothing_of_another_project(place: Place) -> None:
    """What took the place of a client's learning elsewhere is `another learning`, whatever asks for it."""
    path = str(place.served.file)
    with Ledger.open(path, agent("here")) as ledger:
        old = ledger.record(Draft("the pier sinks", "prop it", "env", "ours"))
        new = ledger.supersede(old.id, f"{MARK} pier", f"{MARK} prop", "moved", project="theirs")
    change = {"problem": "the pier sinks", "solution": "raise it", "reason": "r"}

    with place.served.client(place.token) as remote:
        said = [
            remote.refusal("supersede_learning", old=old.id, **change),
            remote.refusal("retract_learning", id=old.id, reason="r"),
            remote.refusal("undo", seq=new.seq),
        ]
        shown = remote.document("get_learnings", ids=[old.id])["learnings"][0]
        told = remote.document("learning_history", id=old.id)["events"]

    assert not any(new.id in one for one in (*said, json.dumps([shown, told])))
    assert "another learning" in said[0]
    assert (shown["state"], shown["superseded_by"]) == ("superseded", [])
    assert [event["kind"] for event in told] == ["learning.recorded"]


def test_recall_over_http_is_switched_off_with_the_setting(tmp_path: Path) -> None:
    """`learnings off` holds for clients elsewhere too."""
    file = tmp_path / "ledger.db"
    with Ledger.init(str(file)) as ledger:
        ledger.record(Draft("the harbour gantry jams with GJ4711", "grease gantry.cfg", "bug-fix", "ours"))
        ledger.set("off", '["ours"]')
    _, text = make(file, projects=("ours",))
    with serving(file) as served, served.client(text) as remote:
        words = ["harbour", "gantry", "jams", "GJ4711"]
        off = remote.call("recall", keywords=words)
        with Ledger.open(str(file)) as ledger:
            ledger.set("off", None)
        on = remote.call("recall", keywords=words)

    assert [block.text for block in off.content if block.type == "text"] == ["{}"]
    assert "gantry.cfg" in "".join(block.text for block in on.content if block.type == "text")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_a_write_finds_beside_it_is_of_the_project(tmp_path: Path, mode: str) -> None:
    """Near learnings, contradictions and duplicates of other projects are not told."""
    with placed(tmp_path / "ledger.db") as place, place.served.client(place.token, mode) as remote:
        found = remote.document(
            "record_learning", problem=f"{MARK} crane 2 fails", solution=f"{MARK} 2 reset", title=f"{MARK} 2"
        )

    assert {one["id"] for one in found["near"]} <= set(place.own)
    assert (found["conflicts"], found["duplicate"]) == ([], False)


# -- tools and arguments (H03) ----------------------------------------------------------------------------------------

RESERVED = {
    "actor": "person", "actor_id": "x", "trust": 4, "tier": 4, "state": "current", "created_at": "2020-01-01",
    "recorded_at": "2020-01-01", "observed_at": "2020-01-01", "superseded_by": "x", "supersedes": ["x"],
    "include_quarantined": True, "fence": [], "event_id": "x", "expected": 1, "cascade": True, "channel": "cli",
    "__class__": "x", "file": "/etc/passwd",
}  # fmt: skip

SOUND = {
    "query_learnings": {"query": "harbour"},
    "list_learnings": {},
    "get_learnings": {"ids": ["lrn_" + "a" * 26]},
    "learning_history": {"id": "lrn_" + "a" * 26},
    "ledger_status": {},
    "record_learning": {"problem": "p", "solution": "s"},
    "supersede_learning": {"old": "lrn_" + "a" * 26, "problem": "p", "solution": "s", "reason": "r"},
    "retract_learning": {"id": "lrn_" + "a" * 26, "reason": "r"},
    "undo": {"seq": 1},
    "recall": {"keywords": ["x"]},
}


def test_no_tool_takes_a_reserved_or_unknown_argument(place: Place) -> None:
    """Every tool with every one of them is refused, and nothing is written; the value is never said back."""
    before = head(place)

    with place.served.client(place.token) as remote:
        for name, given in SOUND.items():
            for argument, value in RESERVED.items():
                said = remote.refusal(name, **given, **{argument: value})
                assert "nothing was" in said, (name, argument)
                assert "/etc/passwd" not in said

    assert head(place) == before


@pytest.mark.parametrize("limit", [-1, 0, 51, 10**9, 10**400, 1.5, "10", True, None, [1]])
def test_a_limit_is_bounded(place: Place, limit: object) -> None:
    """Whatever is no whole number within the schema is refused."""
    with place.served.client(place.token) as remote:
        assert "limit must be a whole number from 1 to 50" in remote.refusal("query_learnings", query="x", limit=limit)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused(place: Place, number: str) -> None:
    """The JSON of a client may hold what JSON has not."""
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_learnings","arguments":'
        '{"query":"x","limit":' + number + "}}}"
    )
    answer = place.served.ask(place.token, body.encode())

    assert answer.status in (200, 400)
    assert b'"isError":true' in answer.body or b'"error"' in answer.body
    assert math.isfinite(len(answer.body))


def test_a_client_has_the_tools_of_its_token_alone(tmp_path: Path) -> None:
    """Others are not listed, and answer as if there were none of that name."""
    file = tmp_path / "ledger.db"
    _, text = make(file, tools=("query_learnings", "ledger_status"))
    with serving(file) as served, served.client(text) as remote:
        listed = remote.tools()
        found = {remote.refusal(name) for name in ("record_learning", "recall", "import_learnings", "nothing")}

    assert listed == ["ledger_status", "query_learnings"]
    assert found == {"there is no such tool; nothing was done; the tools are: ledger_status, query_learnings"}


def test_no_client_imports_files_of_the_machine_that_serves(place: Place) -> None:
    """The tool is offered to nobody over HTTP, whatever the token says."""
    with place.served.client(place.token) as remote:
        assert set(remote.tools()) == tool_files().keys() - {"import_learnings"}
        assert "there is no such tool" in remote.refusal("import_learnings", paths=["/etc"])


def test_a_client_of_one_project_may_be_the_first_to_write(tmp_path: Path) -> None:
    """Before there is a ledger it reads nothing, is refused what is by id, and its first write makes the file."""
    file = tmp_path / "ledger.db"
    _, text = make(file, projects=("ours",))
    with serving(file) as served, served.client(text) as remote:
        found = remote.document("query_learnings", query="harbour")
        status = remote.document("ledger_status")
        by_id = [
            remote.refusal("undo", seq=1),
            remote.refusal("retract_learning", id="lrn_" + "a" * 26, reason="r"),
            remote.refusal("learning_history", id="lrn_" + "a" * 26),
        ]
        made = remote.document("record_learning", problem="the pier sinks", solution="prop it")

    assert (found["hits"], status["events"], made["seq"], made["project"]) == ([], 0, 1, "ours")
    assert all("there is no ledger yet" in one for one in by_id)


def test_trust_of_a_write_is_at_most_the_tokens(tmp_path: Path) -> None:
    """By default as of notes; a client with less cannot take the place of what is trusted more."""
    file = tmp_path / "ledger.db"
    _, notes = make(file, "notes")
    _, low = make(file, "low", trust=0)
    with serving(file) as served:
        with served.client(notes) as remote:
            first = remote.document("record_learning", problem="the gantry jams", solution="grease it", project="a")
        with served.client(low) as remote:
            second = remote.document(
                "supersede_learning", old=first["id"], problem="the gantry jams", solution="oil it", reason="r"
            )

    with open_reader(str(file)) as reader:
        assert reader.get([first["id"]])[0].trust == 2
        assert reader.get([first["id"]])[0].state == "current"
        assert reader.get([second["id"]])[0].state == "candidate"


def test_one_client_takes_back_nothing_of_another(tmp_path: Path) -> None:
    """Two tokens of the same trust and projects: what the other wrote stays."""
    file = tmp_path / "ledger.db"
    _, one = make(file, "one")
    _, two = make(file, "two")
    with serving(file) as served:
        with served.client(one) as remote:
            made = remote.document("record_learning", problem="the gantry jams", solution="grease it", project="a")
        with served.client(two) as remote:
            found = [
                remote.refusal("undo", seq=made["seq"]),
                remote.refusal("retract_learning", id=made["id"], reason="r"),
            ]

    assert "no event" in found[0]
    assert "nothing was written" in found[1]


def test_a_session_of_the_protocol_is_nobodys_key(tmp_path: Path) -> None:
    """A session id is no access and bound to nothing: each request is its token's, whatever session it names."""
    file = tmp_path / "ledger.db"
    _, text = make(file)
    with serving(file) as served:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        begun = served.ask(text, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        named = served.ask(None, mcp_session_id="0" * 32)

    assert begun.status == 200
    assert "mcp-session-id" not in begun.headers
    assert named.status == 401


def test_a_ledger_that_cannot_be_read_is_said_without_its_place(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A path of the machine that serves is nobody's business; the log has the kind of the fault and its number."""
    file = tmp_path / "ledger.db"
    _, text = make(file)
    file.write_bytes(b"not a ledger" * 500)
    with serving(file) as served, served.client(text) as remote:
        said = [
            remote.refusal("query_learnings", query="x"),
            remote.refusal("record_learning", problem="p", solution="s"),
        ]

    log = capfd.readouterr().err
    assert all("the ledger cannot be used now (fault " in one for one in said)
    assert not any(str(tmp_path) in one for one in said)
    assert all(one.partition("(fault ")[2][:8] in log for one in said)
    assert str(tmp_path) not in log


def test_tokens_of_a_file_hold_no_other_tools(tmp_path: Path) -> None:
    """The names in `ledger.tokens` are those of the tools, without the one that reads files, and the hook's."""
    assert {*tokens.TOOLS} == (tool_files().keys() - {"import_learnings"}) | {"recall"}
