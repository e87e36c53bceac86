"""No line of a person or an agent is taken for one that holds no turn, whatever else stands in it and where."""

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from importers.transcript import READ, Transcript

LETTERS = st.characters(exclude_characters="\0", exclude_categories=("Cs",))
"""Of keys: one with U+0000 makes a line a fault, as any other reader would say of an escaped one."""

TRAPS = st.sampled_from((
    "user", "assistant", '"type":"user"', '","type":"attachment","x":"', '{"type":"user"}', "\\", '\\"', "type", "\n",
    "}\n{", "é\u2028", "\U0001f600", "[REDACTED]", "",
))  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TRAPS | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("type", "message", "uuid", "role", "a")) | st.text(LETTERS, max_size=5), inner, max_size=3
        )
    ),
    max_leaves=12,
)
KINDS = st.sampled_from(("user", "assistant", "attachment", "progress", "api-request-blob", "summary", "User", "user "))
OWN = frozenset((
    "type", "uuid", "message", "parentUuid", "sessionId", "timestamp", "cwd", "entrypoint", "turnOrigin",
    "isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage",
    "promptSource",
))  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> tuple[bytes, str]:
    """Return a line with members in any order, written in any way, and its kind."""
    kind = draw(KINDS)
    members: dict[str, Any] = {
        "type": kind, "uuid": "u-1", "message": {"role": "user", "content": "MARK", "x": draw(VALUES)},
    }  # fmt: skip
    members |= draw(
        st.dictionaries(st.text(LETTERS, max_size=8).filter(lambda key: key not in OWN), VALUES, max_size=5)
    )
    if kind not in READ:  # these kinds have fields of any type
        members |= draw(st.dictionaries(st.sampled_from(sorted(OWN - {"type"})), VALUES, max_size=3))
    told = {key: members[key] for key in draw(st.permutations(sorted(members)))}
    separators = draw(st.sampled_from(((",", ":"), (", ", ": "), (" ,\t", " : "))))
    raw = json.dumps(told, ensure_ascii=draw(st.booleans()), separators=separators).encode("utf-8", "surrogatepass")
    if draw(st.booleans()):
        raw = raw.replace(b'"type"', b'"\\u0074ype"', 1)
    return raw + b"\n", kind


@given(st.lists(lines(), min_size=1, max_size=4))
def test_the_kind_of_a_line_is_what_json_says(drawn: list[tuple[bytes, str]]) -> None:
    """Against the slow way, `json.loads`: a turn where the kind is one that is read, else a line that is counted."""
    slow = [json.loads(raw)["type"] in READ for raw, _ in drawn]
    for (raw, _), is_read in zip(drawn, slow, strict=True):
        found = Transcript(io.BytesIO(raw), "/w/t.jsonl")
        turns = list(found)

        assert [turn.text for turn in turns] == ["MARK"] * is_read
        assert sum(found.passed.values()) == 1 - is_read
        assert found.diagnostics == []


@given(st.lists(lines(), max_size=6), st.integers(0, 4_000))
def test_a_file_that_is_cut_anywhere_is_read_on_from_where_it_ended(drawn: list[tuple[bytes, str]], cut: int) -> None:
    """The two readings together give what one gives."""
    # Each line is another turn of another answer, so that none goes on after the cut.
    raws = [raw.replace(b"u-1", f"u-{at}".encode()) for at, (raw, _) in enumerate(drawn)]
    raw = b"".join(raws)
    whole = [(turn.uuid, turn.line) for turn in Transcript(io.BytesIO(raw), "/w/t.jsonl")]

    first = Transcript(io.BytesIO(raw[:cut]), "/w/t.jsonl")
    begun = list(first)
    told = {(turn.uuid, turn.line) for turn in begun if turn.line < first.next.line}
    rest = io.BytesIO(raw)
    rest.seek(first.next.at)
    told |= {(turn.uuid, turn.line) for turn in Transcript(rest, "/w/t.jsonl", first.next.line, first.next.at)}

    assert told == set(whole)
    assert first.next.at <= first.consumed <= len(raw)
