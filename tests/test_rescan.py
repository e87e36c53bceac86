"""A larger set of rules finds what an older one let through, names the places, and never the secret."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from ledger import cli, exposures, handover, redact, rescan, secret_rules
from ledger.errors import GuardFailed
from ledger.exposure import Exposure
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.sessions import path_beside as sessions_beside

SECRET = "Otter" + "!" + "raven42"
TEXT = f"the staging password is {SECRET} for now"


@pytest.fixture
def older(path: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a ledger whose rows, exposures, queue and kept blocks were written by rules that knew no passwords."""
    with monkeypatch.context() as before:
        before.setattr(redact, "scrub", lambda text: redact.Scrubbed(text, ()))
        with Ledger.init(path) as ledger:
            ledger.record(Draft("the pooler refuses", "use port 6543", "env", "demo"))
            ledger.record(Draft(TEXT, "log in with it", "env", "demo"))
            ledger_id = ledger.reader.meta()["ledger_id"]
            one = Exposure(
                "exp_" + "a" * 25, "2026-11-30T00:00:00Z", f"s password={SECRET}", None, "cli", "demo", ["word"],
                None, [], [], {}, {}, 1, "00",
            )  # fmt: skip
            with exposures.Exposures(path, ledger_id) as kept:
                kept.add(lambda _: one, "s1", 1e9)
        handover.stopped(path, {"session_id": "s1", "last_assistant_message": TEXT})
        connection = sqlite3.connect(sessions_beside(path))
        connection.execute(
            "CREATE TABLE ready (cwd TEXT NOT NULL PRIMARY KEY, stamp TEXT, head TEXT, day TEXT, project TEXT,"
            " text TEXT NOT NULL, exposure TEXT)"
        )
        connection.execute("CREATE TABLE session (session TEXT NOT NULL PRIMARY KEY, project TEXT)")
        connection.execute("INSERT INTO ready VALUES ('/x', '', '', '', 'demo', ?, '')", (TEXT,))
        connection.commit()
        connection.close()
    return path


def test_every_place_of_an_older_leak_is_named(older: str) -> None:
    """The event by its seq, the others by their row or file, with the kind alone."""
    with Ledger.open(older) as ledger:
        done = rescan.scan(ledger.reader)

    assert {one.place for one in done.found} == {"ledger", "exposures", "queue", "sessions"}
    assert done.seqs == [2]
    assert all("password" in one.kinds for one in done.found)
    assert SECRET not in repr(done)
    assert done.unread == []


def test_verify_secrets_offers_what_erases_them(older: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line is told, the secret is not, and the exit status is not 0."""
    status = cli.main(["verify", "--secrets", "--json", "--file", older])

    said = capsys.readouterr()
    document = json.loads(said.out)
    assert status == 18
    assert document["erase"].startswith("learnings erase 2 --reason secret")
    assert document["rules"] == redact.RULES_VERSION
    assert SECRET not in said.out + said.err
    assert "revokes nothing" in said.err


def test_a_clean_ledger_is_marked_as_looked_at(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The mark holds versions and a seq, is its owner's alone, and doctor is content with it."""
    with Ledger.init(path) as ledger:
        ledger.record(Draft("the pooler refuses", "use port 6543", "env", "demo"))
        ledger_id = ledger.reader.meta()["ledger_id"]

    status = cli.main(["verify", "--secrets", "--file", path])

    assert status == 0
    assert rescan.looked(path, ledger_id) == (redact.RULES_VERSION, 1)
    assert os.stat(path + rescan.MARK).st_mode & 0o777 == 0o600
    assert capsys.readouterr().out.startswith("ok: 1 event")


def test_doctor_tells_when_the_rules_have_grown(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What an older set looked at is to be looked at again."""
    with Ledger.init(path) as ledger:
        ledger.record(Draft("the pooler refuses", "use port 6543", "env", "demo"))
        ledger_id = ledger.reader.meta()["ledger_id"]
    rescan.keep_mark(path, ledger_id, rescan.Scanned(1, None, 1, [], []))

    cli.main(["doctor", "--json", "--file", path])

    checks = {one["id"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert "learnings verify --secrets" in checks["secrets"]["message"]


def test_a_ledger_with_leaks_is_not_marked(older: str) -> None:
    """It is found again until it is erased."""
    with Ledger.open(older) as ledger:
        rescan.keep_mark(older, ledger.reader.meta()["ledger_id"], rescan.scan(ledger.reader))

    assert not os.path.exists(older + rescan.MARK)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ledger_id": "x", "rules": "2", "seq": 1}', '{"rules": 2}'])
def test_a_mark_that_is_none_counts_for_nothing(path: str, text: str, tmp_path: Path) -> None:
    """Whoever writes there can only cause one more scan."""
    os.makedirs(os.path.dirname(path))
    Path(path + rescan.MARK).write_text(text)

    assert rescan.looked(path, "x") == (None, 0)


def test_a_place_that_cannot_be_read_is_named(older: str) -> None:
    """The others are looked at all the same."""
    Path(exposures.path_beside(older)).write_bytes(b"no database" * 100)

    with Ledger.open(older) as ledger:
        done = rescan.scan(ledger.reader)

    assert [name.split()[0] for name in done.unread] == ["exposures.db"]
    assert done.seqs == [2]


def test_a_scan_that_cannot_run_says_so(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rules no ledger is called clean."""
    monkeypatch.setattr(secret_rules, "_rules", None)
    monkeypatch.setattr(secret_rules, "schema_path", lambda name: name + ".missing")

    with Ledger.open(older) as ledger, pytest.raises(GuardFailed):
        rescan.scan(ledger.reader)
