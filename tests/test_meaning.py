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

    assert [value > 0 for value in sums] == [bool(made.sign >> at & 1) for at in range(meaning.DIMS)]
    size = sum(value * value for value in sums) ** 0.5
    assert all(
        abs(max(-127, min(127, meaning.LENGTH * one / size)) - other) <= 1
        for one, other in zip(sums, made.values, strict=True)
    )


def test_a_text_the_table_knows_nothing_of_has_no_direction() -> None:
    """Signs only."""
    table = meaning.open_table()
    assert table is not None

    assert table.vector("!!! ---") is None
    table.close()


def test_stored_vectors_come_back(ledger: Ledger) -> None:
    """32 bytes of signs and 256 of values."""
    made = vector("pooler port")

    sign, values = meaning.packed(made)

    assert (len(sign), len(values)) == (32, 256)
    assert meaning.cosine(made, meaning.unpacked(values)) == pytest.approx(1.0, abs=0.02)


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
