"""Calls of the system that fail, fall short or kill: what a command leaves is exactly what was before, or after.

Every call that reaches the ledger's folder is made to fail in turn, below
Python and below SQLite (`below.c`): in the soak run each, else each that is not
a plain write and every 23rd write.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from below import ANY, CALLS, KILL, ON, ONCE, SHORT, Below, Ended, Missing
from rows import opened, verified

from ledger.cli import INTERNAL
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.reader import open_reader

EVENTS = "SELECT kind, stream = 'ledger', channel, trust FROM event ORDER BY seq"
WRITE = CALLS.index("write")
STRIDE = 23
"""Every how manieth write fails outside the soak run."""

KILLED = -9


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Below]:
    """Return the process in which calls fail."""
    try:
        made = Below(tmp_path_factory.mktemp("below"))
    except Missing as error:
        pytest.skip(f"needs {error}")
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in memory where there is one: thousands of commands need not wait for a disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, ignore_cleanup_errors=True) as made:
        yield Path(made)


class Place(NamedTuple):
    """A ledger with its folder, made anew for each fault from what it was."""

    file: Path
    template: Path

    def anew(self) -> None:
        """Make everything as it was before the command."""
        shutil.rmtree(self.file.parent.parent, ignore_errors=True)
        shutil.copytree(self.template, self.file.parent.parent)

    def events(self) -> list[tuple[object, ...]]:
        """Return what the log holds, as far as two runs of one command agree on it."""
        if not self.file.exists():
            return []
        with opened(str(self.file)) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'event'").fetchall():
                return []
            return connection.execute(EVENTS).fetchall()


NOTE = "---\nname: pooler\ndescription: the pooler\ntype: feedback\n---\nUse port 6543 for the pooler.\n"
POOLER = Draft("the pooler refuses connections", "use port 5432", "env", "demo")
SLOW = Draft("tests are slow", "run them with -n 2", "workflow", "demo")


@pytest.fixture
def place(folder: Path, below: Below) -> Place:
    """Return a ledger of three learnings, of which two are one chain, beside two notes that it does not know."""
    made = Place(folder / "here" / "data" / "ledger.db", folder / "template")
    with Ledger.init(str(made.file)) as ledger:
        old = ledger.record(POOLER)
        ledger.record(SLOW)
        ledger.supersede([old.id], POOLER.problem, "use port 6543", "5432 is gone")
    notes = made.file.parent.parent / "notes"
    notes.mkdir()
    (notes / "pooler.md").write_text(NOTE)
    (notes / "format.md").write_text(NOTE.replace("pooler", "formatter"))
    shutil.copytree(made.file.parent.parent, made.template)
    return made


def slow(place: Place) -> str:
    """Return the id of the learning about slow tests."""
    with opened(str(place.file)) as connection:
        return str(connection.execute("SELECT id FROM learning WHERE problem = ?", (SLOW.problem,)).fetchone()[0])


FASTER = ["--problem", SLOW.problem, "--solution", "run them with -n 4", "--reason", "more cores"]
COMMANDS: dict[str, Callable[[Place], list[str]]] = {
    "record": lambda _: ["record", "--problem", "a new one", "--solution", "do this", "--project", "demo"],
    "supersede": lambda place: ["supersede", slow(place), *FASTER],
    "retract": lambda place: ["retract", slow(place), "--reason", "no longer so"],
    "undo": lambda _: ["undo", "3"],
    "import": lambda place: ["import", str(place.file.parent.parent / "notes"), "--project", "demo"],
    "rebuild": lambda _: ["rebuild"],
}
"""Commands that write, on the ledger of `place`."""


class Fault(NamedTuple):
    """A way in which the nth call goes wrong."""

    name: str
    call: int
    error: int
    mode: int


FAULTS = (
    Fault("an input/output error, once", ANY, errno.EIO, ONCE),
    Fault("no space from then on", WRITE, errno.ENOSPC, ON),
    Fault("half a write, then no space", WRITE, errno.ENOSPC, SHORT),
    Fault("killed", ANY, 0, KILL),
)


def numbers(kinds: Sequence[int], *, every: bool) -> list[int]:
    """Return which calls are made to fail, of as many as the command makes."""
    last = len(kinds) - 1
    return [
        number for number, kind in enumerate(kinds)
        if every or kind != WRITE or number % STRIDE == 0 or number in (last - 1, last)
    ]  # fmt: skip


def judged(place: Place, ended: Ended, before: list[tuple[object, ...]], after: list[tuple[object, ...]]) -> None:
    """Hold what a command left against what was before and what would be after; nothing in between is right."""
    found = place.events()
    assert found in (before, after), ended
    assert ended.code != 0 or found == after, "acknowledged and lost"
    assert "Traceback" not in ended.err, ended.err
    assert ended.code == KILLED or ended.code == 0 or 10 <= ended.code < INTERNAL, ended
    verdict = verified(str(place.file))
    assert verdict.ok, (ended, verdict.problems)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["some", "every"])
@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_whose_calls_fail_leaves_the_ledger_as_before_or_as_after(
    below: Below, place: Place, name: str, fault: Fault, every: bool
) -> None:
    """Whatever call fails: the log is the one before or the one after, sound, and an acknowledged change is in it.

    What is refused is refused by an error of ours; the next command finds nothing in its way.
    """
    words = COMMANDS[name](place)
    before = place.events()
    whole = below.run(words, place.file, call=fault.call)
    after = place.events()
    assert whole.code == 0
    assert after != before or name == "rebuild"

    for number in numbers(whole.kinds, every=every):
        place.anew()
        ended = below.run(words, place.file, call=fault.call, nth=number, error=fault.error, mode=fault.mode)
        judged(place, ended, before, after)
        again = below.run(["record", "--problem", "the next", "--solution", "goes in", "--project", "demo"], place.file)
        assert again.code == 0, (number, ended, again)


def test_a_disk_that_takes_nothing_more_is_still_read(below: Below, place: Place) -> None:
    """With every write refused, a question is answered as before, and what a prompt is shown too."""
    asked = ["query", "the pooler refuses connections", "--json", "--project", "demo"]
    usual = below.run(asked, place.file)

    full = below.run(asked, place.file, call=WRITE, nth=0, error=errno.ENOSPC, mode=ON)
    shown = below.run(
        ["recall", "the pooler refuses connections, why?", "--project", "demo"],
        place.file, call=ANY, nth=0, error=errno.EROFS, mode=ON,
    )  # fmt: skip

    assert full.code == usual.code == 0
    assert full.out == usual.out
    assert shown.code == 0
    assert "6543" in shown.out


def test_a_ledger_that_is_half_made_is_made_by_the_next(below: Below, folder: Path) -> None:
    """Killed or refused at any call of the first command, the folder is no ledger yet or a sound one."""
    place = Place(folder / "new" / "data" / "ledger.db", folder / "none")
    words = ["record", "--problem", "first", "--solution", "one"]
    kinds = below.run(words, place.file).kinds

    for number in numbers(kinds, every=False):
        for error, mode in ((errno.EIO, ONCE), (0, KILL)):
            shutil.rmtree(place.file.parent.parent)
            ended = below.run(words, place.file, nth=number, error=error, mode=mode)
            stands = len(place.events())
            again = below.run(["record", "--problem", "second", "--solution", "two"], place.file)

            assert "Traceback" not in ended.err
            assert ended.code in (0, KILLED) or 10 <= ended.code < INTERNAL, ended
            assert again.code == 0, (number, ended, again)
            assert len(place.events()) == stands + 1
            assert ended.code != 0 or stands == 1
            assert verified(str(place.file)).ok


def test_what_a_fault_left_can_be_read_at_once(below: Below, place: Place) -> None:
    """A reader that comes right after a killed writer sees the state before or after, whatever journal lies there."""
    words = COMMANDS["supersede"](place)
    kinds = below.run(words, place.file).kinds

    for number in numbers(kinds, every=False):
        place.anew()
        below.run(words, place.file, nth=number, mode=KILL)
        with open_reader(str(place.file)) as reader:
            solutions = {row.solution for row in reader.get([one.id for one in reader.list_learnings("demo").rows])}

        assert solutions in ({"use port 6543", "run them with -n 2"}, {"use port 6543", "run them with -n 4"})
