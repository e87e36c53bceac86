"""When the redactor raises, times out or is missing, nothing is stored through any door, and the caller is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import handover, redact, secret_rules
from ledger.cli import main
from ledger.errors import GuardFailed
from ledger.exposures import Exposures
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.recall import usable

CANARY = "canary" + "7Kq" + "zebra"


def raises(patch: pytest.MonkeyPatch) -> None:
    """Let a rule raise."""

    def broken(text: str) -> redact.Scrubbed:
        raise RecursionError(text)

    patch.setattr(redact, "scrub", broken)


def times_out(patch: pytest.MonkeyPatch) -> None:
    """Let it run out of time."""

    def late(text: str) -> redact.Scrubbed:
        raise TimeoutError(text)

    patch.setattr(redact, "scrub", late)


def is_missing(patch: pytest.MonkeyPatch) -> None:
    """Take the rule file away."""
    patch.setattr(secret_rules, "_rules", None)
    patch.setattr(secret_rules, "schema_path", lambda name: name + ".missing")


FAULTS = [raises, times_out, is_missing]


def bytes_of(path: str) -> bytes:
    """Return every byte of a ledger and of what lies beside it."""
    return b"".join(one.read_bytes() for one in sorted(Path(path).parent.rglob("*")) if one.is_file())


DOORS: dict[str, Callable[[Ledger, str], object]] = {
    "record": lambda ledger, _: ledger.record(Draft(CANARY, "do", "env", "demo")),
    "propose": lambda ledger, _: ledger.propose(Draft(CANARY, "do", "env", "demo")),
    "record_all": lambda ledger, _: ledger.record_all([("", Draft(CANARY, "do", "env", "demo"), ())]),
    "supersede": lambda ledger, first: ledger.supersede(first, CANARY, "do", "why"),
    "retract": lambda ledger, first: ledger.retract(first, CANARY),
    "summary": lambda ledger, _: ledger.summarise("s1", "demo", CANARY),
    "alias": lambda ledger, first: ledger.alias(first, [CANARY]),
    "setting": lambda ledger, _: ledger.set("scan_paths", f'["/{CANARY}"]'),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("door", DOORS)
def test_a_command_that_cannot_redact_stores_nothing(
    door: str, fault: Callable[[pytest.MonkeyPatch], None], ledger: Ledger, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log keeps its head, no file holds a byte of it, and the error names no text."""
    first = ledger.record(Draft("the pooler refuses", "use port 6543", "env", "demo")).id
    head = ledger.reader.head()
    fault(monkeypatch)

    with pytest.raises(GuardFailed) as told:
        DOORS[door](ledger, first)

    assert ledger.reader.head() == head
    assert CANARY.encode() not in bytes_of(path)
    assert CANARY not in str(told.value)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_hooks_that_cannot_redact_leave_nothing_in_the_queue(
    fault: Callable[[pytest.MonkeyPatch], None], ledger: Ledger, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the client handed over is dropped with a word for why."""
    fault(monkeypatch)

    whys = [
        handover.stopped(path, {"session_id": "s1", "last_assistant_message": CANARY}).why,
        handover.compacted(path, {"session_id": "s1", "compact_summary": CANARY}).why,
    ]

    assert all(why.startswith("guard ") for why in whys)
    assert CANARY.encode() not in bytes_of(path)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_prompt_that_cannot_be_redacted_is_not_used(
    fault: Callable[[pytest.MonkeyPatch], None], ledger: Ledger, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a search nor an exposure is made of it."""
    fault(monkeypatch)

    with pytest.raises(GuardFailed):
        usable(CANARY)
    with Exposures(path, "x") as kept, pytest.raises(GuardFailed):
        kept.newest(1, CANARY)

    assert CANARY.encode() not in bytes_of(path)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_an_import_that_cannot_redact_stores_nothing(
    fault: Callable[[pytest.MonkeyPatch], None],
    ledger: Ledger,
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command ends with the guard's exit status, and says what became of the notes without quoting them."""
    notes = tmp_path / "notes" / "MEMORY.md"
    notes.parent.mkdir()
    notes.write_text(f"# Notes\n\n- {CANARY} must be restarted after the pooler changes its port\n")
    fault(monkeypatch)

    status = main(["import", str(notes), "--file", path, "--project", "demo"])

    said = capsys.readouterr()
    assert status == GuardFailed.exit_code
    assert CANARY not in said.out + said.err
    assert CANARY.encode() not in bytes_of(path)
