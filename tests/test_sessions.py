"""Which sessions ran, whether hooks fired, and the breaker: a file that nobody waits for or needs."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.sessions import DAYS, PROMPT, REST_S, SHOWN, WAIT_S, Caller, Sessions, caller, path_beside

NOW = 1_796_000_000.0
DAY = 86_400.0


@pytest.fixture
def kept(tmp_path: Path) -> Sessions:
    """Return the sessions beside a ledger that need not exist."""
    return Sessions(str(tmp_path / "ledger.db"))


def test_what_a_hook_did_is_told_by_event_and_entrypoint(kept: Sessions) -> None:
    """The last success, the last fault and its word, and how many of each there were."""
    kept.ran("prompt", Caller("s1", "demo", "cli"), 7.4, NOW)
    kept.ran("prompt", Caller("s2", "demo", "sdk-cli", attended=False), 3.0, NOW + 1)
    kept.failed("prompt", "cli", "Locked", NOW + 2)

    person, robot = kept.fired(NOW + 3)

    assert (person["entrypoint"], person["ms"], person["fault"]) == ("cli", 7, "Locked")
    assert (person["succeeded"], person["failed"]) == (1, 1)
    assert person["succeeded_at"] < person["failed_at"]
    assert (robot["entrypoint"], robot["succeeded"], robot["fault"]) == ("sdk-cli", 1, None)


def test_what_a_session_did_is_counted_by_day(kept: Sessions) -> None:
    """A session that lives on over days is one session, and each day has its own counts."""
    one = Caller("s1", "demo", "cli")
    kept.ran("prompt", one, 5, NOW - 9 * DAY, (PROMPT, SHOWN))
    kept.ran("prompt", one, 5, NOW, (PROMPT,))

    lately = {use["what"]: use["many"] for use in kept.uses(NOW - 7 * DAY)}

    assert lately == {PROMPT: 1}
    assert {use["what"]: use["many"] for use in kept.uses(NOW - 30 * DAY)} == {PROMPT: 2, SHOWN: 1}
    assert [found["session"] for found in kept.listed(NOW - 30 * DAY)] == ["s1"]


def test_what_is_older_than_a_month_is_forgotten(kept: Sessions) -> None:
    """Sessions, counts and days go; the last success of an event stays, since `doctor` asks for it."""
    kept.ran("session-start", Caller("old", "demo", "cli"), 5, NOW, (PROMPT,))

    kept.ran("prompt", Caller("new", "demo", "cli"), 5, NOW + (DAYS + 2) * DAY)

    assert [one["session"] for one in kept.listed(0)] == ["new"]
    assert kept.uses(0) == []
    assert {one["event"]: one["succeeded"] for one in kept.fired(NOW + (DAYS + 2) * DAY)} == {
        "prompt": 1, "session-start": 0,
    }  # fmt: skip


def test_sessions_of_robots_are_no_sessions_that_ran(kept: Sessions) -> None:
    """A week of robots must not look like use."""
    for number in range(5):
        kept.ran("session-start", Caller(f"r{number}", "demo", "sdk-cli"), 5, NOW)
        kept.ran("session-start", Caller(f"u{number}", "demo", "cli", attended=False), 5, NOW)
    kept.ran("session-start", Caller("p", "demo", "cli"), 5, NOW)

    assert kept.ran_since(NOW) == 1


def test_the_environment_says_who_calls() -> None:
    """`sdk-cli` and unattended sessions are robots; a host that says nothing is a person's."""
    assert caller({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}, "s").is_robot
    assert caller({"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}, "s").is_robot
    assert not caller({"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}, "s").is_robot
    assert not caller({}, "s").is_robot


def test_what_hung_is_left_alone_until_it_has_rested_and_then_tried_once(kept: Sessions) -> None:
    """Of those who ask after the rest, one is let through; success heals, another fault begins the rest anew."""
    assert kept.allowed("recall", NOW)
    kept.tripped("recall", NOW)

    assert [kept.allowed("recall", NOW + after) for after in (0, REST_S - 1, REST_S, REST_S + 1)] == [
        False, False, True, False,
    ]  # fmt: skip
    assert kept.breakers()[0]["faults"] == 1
    kept.passed("recall")
    assert kept.allowed("recall", NOW + REST_S + 2)
    assert kept.breakers() == []


def test_a_clock_that_was_set_back_does_not_stop_recall_for_long(kept: Sessions) -> None:
    """A breaker of the future is no breaker."""
    kept.tripped("recall", NOW + 3_600)

    assert kept.allowed("recall", NOW)


def test_a_remark_is_news_once_a_day(kept: Sessions) -> None:
    """The second time on a day it is not told again."""
    assert [kept.is_news("quiet", NOW), kept.is_news("quiet", NOW + 60), kept.is_news("quiet", NOW + DAY)] == [
        True, False, True,
    ]  # fmt: skip


def test_the_file_is_the_users_alone(kept: Sessions) -> None:
    """Mode 0600, whatever the umask; asking makes no file."""
    assert kept.fired(NOW) == []
    assert not os.path.exists(kept.path)
    kept.ran("prompt", Caller("s"), 1, NOW)

    assert stat.S_IMODE(os.stat(kept.path).st_mode) == 0o600


def no_database(path: Path) -> None:
    """Put bytes there."""
    path.write_bytes(b"no database at all" * 500)


def a_torn_page(path: Path) -> None:
    """Put a file there of which the pages behind the first are lost."""
    Sessions(str(path.with_name("ledger.db"))).ran("prompt", Caller("old"), 1, NOW)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


def a_table_of_others(path: Path) -> None:
    """Put a database there that says it is of this form and is not."""
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE IF EXISTS breaker")
        connection.execute("CREATE TABLE breaker (of TEXT)")
        connection.execute("PRAGMA user_version = 1")
    connection.close()


@pytest.mark.parametrize("put", [no_database, a_torn_page, a_table_of_others])
def test_a_damaged_file_is_set_aside_by_the_next_who_writes(kept: Sessions, put: Callable[[Path], None]) -> None:
    """Counts and the breaker work again; one damaged file is kept, however often; who only asks changes nothing."""
    for _ in range(2):
        put(Path(kept.path))
        before = Path(kept.path).read_bytes()
        assert kept.breakers() == []
        assert Path(kept.path).read_bytes() == before

        kept.tripped("recall", NOW)
        assert kept.ran("prompt", Caller("s"), 1, NOW, (PROMPT,))

        assert Path(kept.path + ".damaged").read_bytes() == before
        assert not kept.allowed("recall", NOW + 1)
        assert [use["many"] for use in kept.uses(0)] == [1]
    assert len(list(Path(kept.path).parent.iterdir())) == 2


def test_a_file_that_another_process_holds_is_not_set_aside(kept: Sessions) -> None:
    """It is whole, and somebody works on it."""
    kept.ran("prompt", Caller("s"), 1, NOW)
    other = sqlite3.connect(kept.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    assert not kept.ran("prompt", Caller("s"), 1, NOW)

    other.close()
    assert not os.path.lexists(kept.path + ".damaged")


def test_what_hung_long_ago_and_blocks_of_earlier_days_go(kept: Sessions) -> None:
    """And after a year the last success of an event that nobody fires any more."""
    kept.tripped("recall", NOW)
    kept.ran("gone", Caller("s"), 1, NOW)
    kept.keep_ready("/src", ("", "", time.strftime("%Y-%m-%d", time.gmtime(NOW)), None, "a block", "[]"), NOW)

    kept.ran("prompt", Caller("s"), 1, NOW + DAY)
    assert (kept.ready("/src"), len(kept.breakers())) == (None, 1)
    kept.ran("prompt", Caller("s"), 1, NOW + (DAYS + 2) * DAY)
    assert kept.breakers() == []
    kept.ran("prompt", Caller("s"), 1, NOW + 402 * DAY)

    assert [one["event"] for one in kept.fired(NOW)] == ["prompt"]


def a_folder(path: Path) -> None:
    """Put a folder there."""
    path.mkdir()


def a_link(path: Path) -> None:
    """Put a link there, which is not followed."""
    (path.parent / "elsewhere").write_bytes(b"")
    path.symlink_to(path.parent / "elsewhere")


def a_pipe(path: Path) -> None:
    """Put a pipe there that nobody writes to."""
    os.mkfifo(path)


def newer(path: Path) -> None:
    """Put the file of a newer program there."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize("put", [a_folder, a_link, a_pipe, newer])
def test_whatever_is_in_its_place_the_work_goes_on_without_it(kept: Sessions, put: Callable[[Path], None]) -> None:
    """Nothing raises, everything is allowed, and the fault can be asked for."""
    put(Path(kept.path))

    assert not kept.ran("prompt", Caller("s"), 1, NOW, (PROMPT,))
    assert not kept.failed("prompt", "cli", "X", NOW)
    assert kept.allowed("recall", NOW)
    assert not kept.is_news("quiet", NOW)
    assert (kept.fired(NOW), kept.uses(0), kept.listed(0), kept.breakers(), kept.actors()) == ([], [], [], [], {})
    assert kept.fault()


def test_nobody_waits_for_another_process_that_writes(kept: Sessions) -> None:
    """Somebody else holds the file: what was to be noted is dropped after a twentieth of a second."""
    kept.ran("prompt", Caller("s"), 1, NOW)
    other = sqlite3.connect(kept.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    begun = time.monotonic()

    written = kept.ran("prompt", Caller("s"), 1, NOW)

    assert not written
    assert time.monotonic() - begun < 20 * WAIT_S
    other.execute("ROLLBACK")
    other.close()


def test_many_write_at_once_and_nothing_is_broken(kept: Sessions) -> None:
    """Writers may be dropped, never half written: what is counted is what was told to be written."""
    told: list[bool] = []

    def write(name: str) -> None:
        told.extend(kept.ran("prompt", Caller(name), 1, NOW, (PROMPT,)) for _ in range(10))

    threads = [threading.Thread(target=write, args=(f"s{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(use["many"] for use in kept.uses(0)) == sum(told)
    assert sum(told) > 0


def test_names_of_any_kind_are_kept_within_bounds(kept: Sessions) -> None:
    """Half characters and endless names are cut to what SQLite can be given."""
    kept.ran("prompt", Caller("\ud800" + "x" * 9_000, "p" * 9_000, "e" * 9_000), 1, NOW, (PROMPT,))

    (one,) = kept.listed(0)
    assert max(len(one["session"]), len(one["project"]), len(one["entrypoint"])) == 300


def test_the_place_is_beside_the_ledger() -> None:
    """One file for the folder."""
    assert path_beside("/data/ledger.db") == "/data/sessions.db"


def test_looking_drops_no_lock_of_the_same_process(tmp_path: Path) -> None:
    """Closing a descriptor of a file drops every lock that the process holds on it."""
    kept = Sessions(str(tmp_path / "ledger.db"))
    assert kept.ran("prompt", Caller("s1"), 5, 1_796_000_000.0)
    holder = sqlite3.connect(kept.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    kept.fired(1_796_000_000.0)

    script = (
        "import sqlite3, sys\n"
        "try: sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute('BEGIN IMMEDIATE')\n"
        "except sqlite3.OperationalError: sys.exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, kept.path], check=False).returncode == 7
    holder.close()
