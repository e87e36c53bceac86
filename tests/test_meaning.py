"""Texts become directions without a model, and search goes on without the table."""

import hashlib
import sqlite3
from pathlib import Path

import pytest

from ledger import meaning
from ledger.ledger import Ledger
from ledger.model import Draft, NewEvent, new_event_id, schema_path

SHA256 = "162c3e11fef3d34d932f2ca0eb3f0d3fee069cb89a742d39c60f7d01dcf2154f"


def vector(text: str) -> meaning.Vector:
    """Return the direction of a text that the table knows."""
    table = meaning.open_table()
    assert table is not None
    found = table.vector(text)
    table.close()
    assert found is not None
    return found


def test_the_table_is_the_one_that_was_measured() -> None:
    """Its bytes are those of the figures in the documentation."""
    assert hashlib.sha256(Path(schema_path("tokens.sqlite")).read_bytes()).hexdigest() == SHA256


def test_texts_of_one_meaning_lie_near() -> None:
    """Without a shared word, nearer than a text about something else."""
    asked = vector("the browser consumes all memory")

    near = meaning.cosine(asked, vector("tab RAM keeps growing"))
    far = meaning.cosine(asked, vector("invoice dates in Auckland"))

    assert near > far + 0.1


def test_a_vector_is_the_weighted_sum_of_its_tokens() -> None:
    """Lanes of one number add as the numbers of a list do."""
    file = sqlite3.connect(schema_path("tokens.sqlite"))
    rows = [
        file.execute("SELECT vec, weight FROM token WHERE token = ?", (token,)).fetchone() for token in ("port", "pool")
    ]
    file.close()
    sums = [0] * meaning.DIMS
    for values, weight in rows:
        for at, value in enumerate(values):
            sums[at] += weight * (value - 256 if value > 127 else value)

    made = vector("port pool")

    signs = meaning.sign(made)
    assert all(bool(signs >> at & 1) == (value > 0) for at, value in enumerate(sums) if abs(value) > 1_000_000)
    size = sum(value * value for value in sums) ** 0.5
    assert all(
        abs(max(-127, min(127, meaning.LENGTH * one / size)) + meaning.MIDDLE - other) <= 1
        for one, other in zip(sums, made.values, strict=True)
    )


def test_a_text_the_table_knows_nothing_of_has_no_direction() -> None:
    """Signs only."""
    table = meaning.open_table()
    assert table is not None

    assert table.vector("!!! ---") is None
    table.close()


def test_stored_vectors_come_back(ledger: Ledger) -> None:
    """256 bytes, and the same direction."""
    made = vector("pooler port")

    values = meaning.packed(made)

    assert len(values) == 256
    assert meaning.unpacked(values) == made
    assert meaning.cosine(made, made) == pytest.approx(1.0)


def test_a_missing_or_other_table_means_words_alone(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learning is found by its words, and nothing raises."""
    ledger.record(Draft("the marmot cache is cold", "warm it", project="demo"))
    monkeypatch.setattr(meaning, "_shared", [])
    monkeypatch.setattr(meaning, "VERSION", "another")

    found = ledger.reader.query("marmot", project="demo").hits

    assert meaning.shared() is None
    assert [hit.problem for hit in found] == ["the marmot cache is cold"]
    monkeypatch.setattr(meaning, "schema_path", lambda name: str(tmp_path / name))
    assert meaning.open_table() is None


def test_an_erased_learning_leaves_no_vector(ledger: Ledger) -> None:
    """A direction tells what a text was about."""
    made = ledger.record(Draft("the marmot cache is cold", "warm it", project="demo"))
    count = "SELECT count(*) FROM vector"
    before = ledger.reader.rows(count, {})

    data = {"targets": [made.seq], "blocked": [], "reason": "personal"}
    ledger.store.append(lambda moment: [NewEvent("payload.erased", "ledger", data, {}, new_event_id())])

    assert (before, ledger.reader.rows(count, {})) == ([(1,)], [(0,)])


def test_a_damaged_page_of_the_table_ends_vectors_and_nothing_else(tmp_path: Path) -> None:
    """The table opens, a page of tokens is garbage: no vector any more, and no error of the ledger."""
    data = bytearray(Path(schema_path("tokens.sqlite")).read_bytes())
    for page in range(4, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    broken = tmp_path / "tokens.sqlite"
    broken.write_bytes(data)
    table = meaning.TokenTable(str(broken))

    found = [table.vector(text) for text in ("pooler port", "zebra quartz", "connection refused")]
    table.close()

    assert found == [None, None, None]


def test_the_share_of_known_words_tells_the_language() -> None:
    """The table is English: words of other languages are sums of pieces."""
    table = meaning.open_table()
    assert table is not None

    english = table.known("why does the connection time out after the deployment")
    german = table.known("warum bricht die Verbindung nach der Auslieferung ab")
    chinese = table.known("为什么部署之后连接超时")
    table.close()

    assert english == 1.0
    assert german < 0.7
    assert chinese == 0.0
    assert meaning.words_of("") == []


@pytest.mark.parametrize(
    "solution",
    ["0123456789abcdef" * 500, "QUFBQUFB" * 700, "A" * 4_000, "acgt" * 1_500, "v" * 15_000, "ab-" * 5_000],
    ids=["hex", "base64", "zeros", "genome", "one letter", "joined"],
)
def test_a_text_of_one_endless_word_breaks_nothing(ledger: Ledger, solution: str) -> None:
    """It is recorded with a direction of usual length, and every question is answered as before."""
    wanted = ledger.record(Draft("Which port does the pooler listen on", "6432", "env", "demo"))
    ledger.record(Draft("A dump of the device", solution, "env", "demo"))

    found = ledger.reader.query("which port does the pooler use?", project="demo")

    assert found.hits[0].id == wanted.id
    stored = ledger.reader.rows("SELECT problem, whole FROM vector", {})
    lengths = [meaning.unpacked(values).square ** 0.5 for row in stored for values in row]
    assert all(0.5 * meaning.LENGTH < length < 1.1 * meaning.LENGTH for length in lengths)


def test_a_name_that_the_table_has_is_one_token() -> None:
    """However long it is."""
    assert vector("customresourcedefinition") == vector("CustomResourceDefinition")
    assert vector("customresourcedefinition") != vector("custom resource definition")


@pytest.mark.parametrize("scale", [0.000_003, 0.000_11, 0.4])
def test_values_beyond_a_byte_are_cut(scale: float) -> None:
    """Each is the nearest of 1 to 255 to what the sum says, however far beyond; no vector is longer than that."""
    sums = [round(value / scale) for value in (*range(-419, 420, 3), -0.5, -0.49, 0.5, 126.5, 126.51)]

    found = meaning._cut(sums, scale)

    assert found == tuple(min(max(int(value * scale + meaning.MIDDLE + 0.5), 1), 255) for value in sums)
