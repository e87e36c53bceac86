"""Any text is a question and a prompt: 100,000 that nobody means, and those that people send by mistake."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Shell

from ledger.ledger import Ledger
from ledger.model import Draft, learning_id, new_event_id
from ledger.recall import Recall

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SUBJECT = "pgcat refuses connections from the docker network with PGX4711"


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the benchmark that makes odd texts and asks them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    own = ("odd", "corpus", "measure")
    for name in own:  # others have modules of these names too
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield __import__("odd")
    for name in own:
        sys.modules.pop(name, None)


@pytest.fixture
def known(ledger: Ledger, odd: Any) -> Ledger:
    """Return a ledger of words that the odd texts use, one of them replaced, and one subject."""
    ledger.record(Draft(SUBJECT, "use port 6543 of pgcat", "env", "demo"))
    words = odd.vocabulary()
    ids = [new_event_id() for _ in range(40)]
    texts = [" ".join(words[at * 5 : at * 5 + 9]) for at in range(40)]
    ledger.record_all([
        (own, Draft(f"{text} breaks", f"mend {text}", "practice", ("demo", "shop", "*")[at % 3]), [])
        for at, (own, text) in enumerate(zip(ids, texts, strict=True))
    ])  # fmt: skip
    ledger.supersede([learning_id(ids[0])], "the gateway moved", "use port 7000", "it moved")
    return ledger


@pytest.fixture
def desk(known: Ledger) -> Iterator[Recall]:
    """Return recall over it."""
    made = Recall(known.reader)
    yield made
    made.close()


@pytest.mark.parametrize("many", [500, pytest.param(100_000, marks=pytest.mark.soak)])
def test_odd_texts_are_questions_like_any_other(known: Ledger, odd: Any, many: int) -> None:
    """Scripts, marks, the engine's own syntax, endless tokens, half characters: an answer or none, never an error."""
    assert len(odd.asked(known.reader, many)) == many


def test_odd_texts_are_made_from_their_number_alone(odd: Any) -> None:
    """A text that failed can be made again, and the first thousand hold what they are meant to."""
    made = [odd.text(number) for number in range(1_000)]

    assert made == [odd.text(number) for number in range(1_000)]
    joined = "".join(made)
    assert all(sign in joined for sign in odd.MARKS)
    assert all(word in joined for word in ("NEAR(a b, 5)", "DROP TABLE", "```", "字", "🙂"))
    assert max(map(len, made)) > 10_000
    assert "" in made


def test_odd_texts_are_prompts_like_any_other(desk: Recall, odd: Any) -> None:
    """Silence or a block, with the turn before as odd as the prompt."""
    for number in range(300):
        found = desk.recall(odd.text(number), f"s{number % 7}", "demo", odd.text(number + 1))

        assert found.text or found.reasons["silence"]


LARGE = {
    "words": f"{SUBJECT} ", "token": "a", "quotes": "(*\"'", "emoji": "🙂", "lines": "\n", "fence": "`",
    "log": "2026-01-01T00:00:00Z ERROR foo.bar.Baz: at com.x.y.Z(Z.java:12)\n", "private": "<private>",
    "hangul": "가나다 ", "base64": "QUJD", "digits": "1234567890 ", "paths": "a/b/c.py ", "tags": "<a ",
    "half": "\ud800", "marks": "> - ",
}  # fmt: skip


@pytest.mark.parametrize("unit", LARGE.values(), ids=LARGE.keys())
def test_ten_megabytes_are_looked_at_within_a_bound(desk: Recall, unit: str) -> None:
    """Processor time stays under a second, whatever they are made of; 10 ms to 200 ms when this was written."""
    prompt = unit * (10_000_000 // len(unit))
    begun = time.process_time()

    desk.recall(prompt, None, "demo", prompt)

    assert time.process_time() - begun < 1.0


PROMPTS = {
    "empty": b"",
    "white space": b" \t\n\xe2\x80\xa8\xe3\x80\x80",
    "NUL": b"pgcat\0refuses\0connections",
    "half characters": b"pgcat \xed\xa0\x80 refuses \xff\xfe connections",
    "emoji": "🙂🎉👨‍👩‍👧".encode() * 20,
    "five thousand words": " ".join(f"word{number}x" for number in range(5_000)).encode(),
    "right to left": "لا يمكن للحاوية الوصول إلى pgcat \u202e מסד הנתונים קורס".encode(),
    "ten megabytes": b"kettle " * 1_500_000,
    "forty megabytes": b"kettle " * 6_000_000,
}


@pytest.mark.parametrize("given", PROMPTS.values(), ids=PROMPTS.keys())
def test_any_bytes_on_standard_input_are_a_prompt(known: Ledger, tmp_path: Path, given: bytes) -> None:
    """The command answers with its document and 0."""
    done = Shell(tmp_path).run("recall", "-", "--project", "demo", "--json", given=given)

    assert (done.code, done.err.count("\n")) == (0, 0 if done.document["text"] else 1)
    assert done.document["text"] or done.document["reasons"]["silence"]


@pytest.mark.parametrize(
    "words",
    [
        ("recall", SUBJECT, "--project", b"d\xff\xed\xa0\x80", "--session", b"s\xff", "--previous", b"\xff"),
        ("recall", b"pgcat \xff refuses", "--session", "s", "--transcript", b"nowhere\xff"),
        ("recall", SUBJECT, "--session", "s" * 100_000),
        ("why", b"pgcat \xff refuses", "--project", b"\xff"),
        ("exposures", b"s\xff"),
    ],
)
def test_broken_bytes_in_any_argument_are_taken(known: Ledger, tmp_path: Path, words: tuple[str | bytes, ...]) -> None:
    """A session, a project or a path is text as odd as a prompt."""
    done = Shell(tmp_path).run(*words, "--json")

    assert done.code == 0, done.err


@pytest.mark.parametrize("words", [("why", b"exp_\xff"), ("wrong", b"exp_\xff"), ("wrong", "--session", b"s\xff")])
def test_broken_bytes_name_nothing(known: Ledger, tmp_path: Path, words: tuple[str | bytes, ...]) -> None:
    """No exposure has such a name."""
    done = Shell(tmp_path).run(*words)

    assert done.code == 16, done.err


def test_a_session_with_half_a_character_in_its_name_is_one_session(desk: Recall) -> None:
    """Nothing is shown twice in it."""
    prompt = f"{SUBJECT}, how did we fix pgcat there?"
    first = desk.recall(prompt, "s\ud800", "demo")

    second = desk.recall(prompt, "s\ud800", "demo")

    assert first.exposure is not None
    assert len(first.ids) == 1
    assert second.ids == []
    assert os.path.exists(desk._exposures.path)
