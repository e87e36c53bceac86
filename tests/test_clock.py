"""A clock that is wrong and a zone that changes, in real processes whose clock a library shifts below Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from below import Below
from hooked import repository
from rows import opened, verified

HOUR, TEN_YEARS = 3_600, 10 * 365 * 86_400
JUMPS = (0, -HOUR, HOUR, -TEN_YEARS, TEN_YEARS, -TEN_YEARS, 0)
ZONES = ("UTC", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kolkata", "UTC", "Pacific/Apia", "Europe/Berlin")
EVENTS = "SELECT seq, recorded_at, json_extract(data, '$.clock_raw_us') FROM event ORDER BY seq"
THINGS = ("pooler", "compiler", "printer", "scheduler", "gateway", "renderer", "tokenizer")


def question(number: int) -> str:
    """Return a prompt that the learning of that number answers."""
    return f"why does the {THINGS[number]} PGX47{number} hang?"


class Shifted:
    """A ledger, and the command with a clock of its own."""

    def __init__(self, below: Below, file: Path) -> None:
        self.file, self._below = file, below

    def __call__(self, *words: str, clock_s: int = 0, zone: str = "UTC", given: str = "", code: int = 0) -> str:
        """Run a command; return what it printed."""
        ended = self._below.run(words, self.file, clock_s=clock_s, zone=zone, given=given)
        assert ended.code == code, ended
        assert "Traceback" not in ended.err
        return ended.out

    def document(self, *words: str, **how: Any) -> Any:
        """Run a command with `--json` and return its document."""
        return json.loads(self(*words, "--json", **how))

    def record(self, number: int, **how: Any) -> str:
        """Record a learning; return its id."""
        texts = (
            "--problem",
            f"the {THINGS[number]} PGX47{number} hangs",
            "--solution",
            f"restart the {THINGS[number]}",
        )
        return str(self.document("record", *texts, "--project", "demo", "--category", "env", **how)["id"])


@pytest.fixture
def shifted(below: Below, memory: Path) -> Shifted:
    """Return a command with a clock of its own, and no ledger yet."""
    return Shifted(below, memory / "data" / "ledger.db")


def test_a_clock_that_jumps_and_a_zone_that_changes_leave_order_and_ages_alone(shifted: Shifted) -> None:
    """Seven processes with seven clocks and zones: seq is the order, time never decreases, what was clamped says so.

    No age is below zero, whenever it is asked for.
    """
    ids = [shifted.record(n, clock_s=jump, zone=zone) for n, (jump, zone) in enumerate(zip(JUMPS, ZONES, strict=True))]

    with opened(str(shifted.file)) as connection:
        rows = connection.execute(EVENTS).fetchall()
    times = [row[1] for row in rows]
    assert [row[0] for row in rows] == list(range(1, len(JUMPS) + 1))
    assert times == sorted(times)
    assert [row[2] is not None for row in rows] == [False, True, False, True, False, True, True]
    assert verified(str(shifted.file)).ok
    for jump, zone in zip(JUMPS, ZONES, strict=True):
        listed = [row["id"] for row in shifted.document("list", "--project", "demo", clock_s=jump, zone=zone)["rows"]]
        shown = shifted("recall", question(3), "--project", "demo", clock_s=jump, zone=zone)
        found = shifted.document("query", question(3), "--project", "demo", clock_s=jump, zone=zone)
        assert listed == ids[::-1]
        assert found["hits"][0]["id"] == ids[3]
        assert " ago)" in shown or "(today)" in shown
        assert "-" not in shown.partition("(")[2].partition(")")[0]
        checks = shifted.document("doctor", clock_s=jump, zone=zone, code=0 if jump == TEN_YEARS else 18)["checks"]
        assert [one["id"] for one in checks if not one["ok"]] == ([] if jump == TEN_YEARS else ["clock"])
        shifted("stats", clock_s=jump, zone=zone)


@pytest.mark.parametrize("jump", [-TEN_YEARS, -HOUR, HOUR, TEN_YEARS])
def test_what_was_shown_under_a_wrong_clock_hides_nothing_that_is_shown_later(shifted: Shifted, jump: int) -> None:
    """The last exposure is the one that came last, whatever its clock said; a session is not shown a thing twice."""
    for number in range(3):
        shifted.record(number)
    asked = ("recall", question(1), "--project", "demo", "--session", "s1")

    first = shifted.document(*asked, clock_s=jump)
    second = shifted.document(*asked)
    other = shifted.document("recall", question(2), "--project", "demo", "--session", "s2")

    last = shifted.document("exposures")["exposures"]
    assert first["ids"]
    assert not set(first["ids"]) & set(second["ids"])
    assert last[0]["session"] == "s2"
    assert last[0]["id"] == other["exposure"]


def test_a_hook_is_not_kept_waiting_by_a_clock_that_was_set_back(shifted: Shifted, memory: Path) -> None:
    """What was noted under a clock years ahead does not silence prompts, sessions or remarks until those years come."""
    shifted.record(1)
    given = json.dumps({"prompt": question(1), "session_id": "s", "cwd": str(repository(memory)), "source": "startup"})
    for event in ("session-start", "prompt", "stop", "compact"):
        shifted("hook", event, given=given, clock_s=TEN_YEARS)

    prompted = shifted("hook", "prompt", given=given.replace('"s"', '"t"'))
    started = shifted("hook", "session-start", given=given.replace('"s"', '"u"'))

    assert "PGX471" in prompted
    assert "PGX471" in started


def test_a_remark_is_news_again_after_the_clock_was_set_back(tmp_path: Path) -> None:
    """It is made once a day, and a day to come is not today."""
    from ledger.sessions import Sessions

    kept = Sessions(str(tmp_path / "ledger.db"))
    now = 1_796_000_000.0

    told = [kept.is_news("quiet", at) for at in (now, now + 60, now + TEN_YEARS, now, now + 60)]

    assert told == [True, False, True, True, False]
