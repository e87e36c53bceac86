"""Calls of the system that fail, fall short or kill: what a command leaves is exactly what was before, or after.

Every call that reaches the ledger's folder is made to fail in turn, below
Python and below SQLite (`below.c`): in the soak run each, else each that is not
a plain write and every 23rd write.
"""

import errno
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from below import ANY, CALLS, KILL, ON, ONCE, SHORT, Below, Ended
from rows import opened, verified

from importers.plan import plan, vanished
from importers.registry import read_notes
from ledger import ingest
from ledger.cli import INTERNAL
from ledger.cliff import cliff
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.place import read_anchor
from ledger.reader import open_reader

EVENTS = "SELECT kind, stream = 'ledger', channel, trust FROM event ORDER BY seq"
WRITE = CALLS.index("write")
STRIDE = 23
"""Every how manieth write fails outside the soak run."""

KILLED = -9


class Place(NamedTuple):
    """A ledger with its folder, made anew for each fault from what it was."""

    file: Path
    template: Path

    def anew(self) -> None:
        """Make everything as it was before the command."""
        shutil.rmtree(self.file.parent.parent, ignore_errors=True)
        shutil.copytree(self.template, self.file.parent.parent)

    def keep(self) -> None:
        """Let this be what everything is made to be anew."""
        shutil.rmtree(self.template)
        shutil.copytree(self.file.parent.parent, self.template)

    @property
    def notes(self) -> Path:
        """Return the folder of the notes."""
        return self.file.parent.parent / "notes"

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
def place(memory: Path, below: Below) -> Place:
    """Return a ledger of three learnings, of which two are one chain, beside two notes that it does not know."""
    made = Place(memory / "here" / "data" / "ledger.db", memory / "template")
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


def imported(place: Place) -> int:
    """Let the notes be imported; return the batch."""
    with Ledger.open(str(place.file)) as ledger:
        batch = ingest.run(
            ledger, read_notes([str(place.notes / "pooler.md")], str(place.notes), ""), plan, vanished
        ).batch
    assert batch is not None
    place.keep()
    return batch


FASTER = ["--problem", SLOW.problem, "--solution", "run them with -n 4", "--reason", "more cores"]
COMMANDS: dict[str, Callable[[Place], list[str]]] = {
    "record": lambda _: ["record", "--problem", "a new one", "--solution", "do this", "--project", "demo"],
    "supersede": lambda place: ["supersede", slow(place), *FASTER],
    "retract": lambda place: ["retract", slow(place), "--reason", "no longer so"],
    "undo": lambda _: ["undo", "3"],
    "import": lambda place: ["import", str(place.file.parent.parent / "notes"), "--project", "demo"],
    "rebuild": lambda _: ["rebuild"],
    "undo an import": lambda place: ["undo", "--batch", str(imported(place))],
}
"""Commands that write, on the ledger of `place`, or of one that they first make of it."""


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
    assert read_anchor(str(place.file)) is not None, ended


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


def test_a_ledger_that_is_half_made_is_made_by_the_next(below: Below, memory: Path) -> None:
    """Killed or refused at any call of the first command, the folder is no ledger yet or a sound one."""
    place = Place(memory / "new" / "data" / "ledger.db", memory / "none")
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


ENTRIES = [f"- server {number} listens on {5000 + number} {'and so on ' * 110}" for number in range(25)]


@pytest.fixture
def long_index(place: Place) -> Path:
    """Return an index that is too long to be loaded, all of it in the ledger."""
    index = place.notes / "MEMORY.md"
    index.write_text("# Index\n\n" + "\n".join(ENTRIES) + "\n")
    with Ledger.open(str(place.file)) as ledger:
        ingest.run(ledger, read_notes([str(index)], str(place.notes), ""), plan, vanished)
    place.keep()
    return index


def standing(place: Place) -> set[str]:
    """Return the lines of all notes."""
    return {line.strip() for note in place.notes.glob("*.md") for line in note.read_text().splitlines()}


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["some", "every"])
@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_compaction_whose_calls_fail_loses_no_line(
    below: Below, place: Place, long_index: Path, fault: Fault, every: bool
) -> None:
    """Whatever call fails, of the ledger's files or the notes': each line stands in a note, the index is whole.

    It is the one before or the one after, and the next commands find nothing in their way.
    """
    words = ["compact", str(long_index), "--yes"]
    lines, index, before = standing(place), long_index.read_text(), place.events()
    whole = below.run(words, place.file, call=fault.call, under=place.file.parent.parent)
    shorter, after = long_index.read_text(), place.events()
    assert whole.code == 0, whole
    assert len(shorter) < len(index)

    for number in numbers(whole.kinds, every=every)[:: 1 if every else 5]:
        place.anew()
        ended = below.run(
            words, place.file, call=fault.call, nth=number, error=fault.error, mode=fault.mode,
            under=place.file.parent.parent,
        )  # fmt: skip
        judged(place, ended, before, after)
        assert lines <= standing(place), (number, ended)
        assert long_index.read_text() in (index, shorter), (number, ended)
        assert ended.code != 0 or long_index.read_text() == shorter, (number, ended)
        again = below.run(words, place.file)
        scanned = below.run(["import", str(place.notes), "--project", "demo"], place.file)
        assert (again.code, scanned.code) == (0, 0), (number, ended, again, scanned)
        assert lines <= standing(place), (number, ended)
        assert cliff(long_index.read_text()).first_cut is None, (number, ended, again)
        assert verified(str(place.file)).ok
