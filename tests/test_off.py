"""`learnings off` and `on`: a setting, so it has a history and an undo."""

from pathlib import Path

import pytest
from command import Inside, Shell, refused

from ledger.settings import EXPOSURE_DAYS, exposure_days, is_off, projects_off, serves_robots


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Inside:
    """Return the command in this process."""
    return Inside(Shell(tmp_path), lambda: tuple(capfd.readouterr()))  # type: ignore[arg-type,return-value]


def test_a_project_is_switched_off_and_on_again(run: Inside) -> None:
    """Others stay as they are; what is left off is said."""
    run.document("off", "--project", "demo")
    both = run.document("off")

    one = run("on")
    none = run.document("on", "--project", "demo")

    assert both["off"] == ["*", "demo"]
    assert "still off: demo" in one.err
    assert none["off"] == []
    assert run.document("config", "list")["settings"] == []


def test_switching_off_can_be_undone(run: Inside) -> None:
    """As every event can."""
    seq = run.document("off")["seq"]

    run.document("undo", str(seq))

    assert run.document("config", "list")["settings"] == []


def test_what_is_so_already_is_not_written_again(run: Inside) -> None:
    """The log holds acts, not repetitions."""
    run.document("off")

    again = run("off")

    assert "it is so already" in again.err
    assert "still off: everywhere" in again.out
    assert len(run.document("history", "setting:off")["events"]) == 1


def test_a_dry_run_of_off_writes_nothing(run: Inside) -> None:
    """It says what would be."""
    run.document("init")

    done = run("off", "--dry-run")

    assert "would have switched off everywhere" in done.out
    assert run.document("config", "list")["settings"] == []


@pytest.mark.parametrize(("name", "value"), [("off", "true"), ("off", "[1]"), ("robots", "yes"), ("robots", '"on"')])
def test_a_value_that_is_none_is_refused(name: str, value: str, run: Inside) -> None:
    """The setting says what it may be."""
    done = run("config", "set", name, value)

    refused(done, 15, f"this is no value of {name}")


def test_off_is_where_ledger_or_machine_says_so() -> None:
    """A machine can switch off more, and not less; no project is off only when everything is."""
    rows = [("off", "ledger", "", '["demo"]'), ("off", "machine", "m1", '["*"]'), ("off", "machine", "m2", '["a"]')]

    assert projects_off(rows, "m2") == ["a", "demo"]
    assert [is_off(rows, machine, "demo") for machine in (None, "m1", "m2")] == [True, True, True]
    assert [is_off(rows, machine, None) for machine in (None, "m1", "m2")] == [False, True, False]
    assert not is_off([], None, "demo")


@pytest.mark.parametrize("project", ["demo", "demo-old", "demo-older"])
def test_a_project_is_off_under_each_of_its_names(project: str) -> None:
    """Aliases lead on, in both directions; another project stays on."""
    aliases = ("project_aliases", "ledger", "", '{"demo-old": "demo", "demo-older": "demo-old"}')
    rows = [("off", "ledger", "", '["demo-old"]'), aliases]

    assert is_off(rows, None, project)
    assert not is_off(rows, None, "other")


@pytest.mark.parametrize("value", ["{", "", "null", '"*"', '{"*": 1}', '[1, null, ["*"]]', "[" * 90_000])
def test_a_value_that_cannot_be_read_switches_nothing_off(value: str) -> None:
    """A prompt never breaks on what stands in a file; what another place says still counts."""
    rows = [(name, "ledger", "", value) for name in ("off", "project_aliases", "robots", "exposure_days")]

    assert not is_off(rows, None, "demo")
    assert not serves_robots(rows, None)
    assert exposure_days(rows, None) == EXPOSURE_DAYS
    assert is_off([*rows, ("off", "machine", "m1", '["demo"]')], "m1", "demo")


def test_robots_are_served_where_a_setting_says_so() -> None:
    """This machine's value counts before the ledger's; without one they are not."""
    rows = [("robots", "ledger", "", "on"), ("robots", "machine", "m1", "off")]

    assert serves_robots(rows, None)
    assert not serves_robots(rows, "m1")
    assert not serves_robots([], None)
