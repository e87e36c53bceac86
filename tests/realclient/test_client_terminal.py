"""A session that a person types at: no setting is needed, and the screen stays the client's own."""

import os
import signal
from collections.abc import Iterator

import pytest

from realclient import faults
from realclient.client import PROJECT, Home, Missing, Terminal, gone
from realclient.faults import Fault
from realclient.known import CACHE, FRAME, GATE, OKAY, PINNED, STARTING, since
from realclient.lacking import lacking
from realclient.stub import Stub

pytestmark = pytest.mark.realclient


@pytest.fixture
def terminal(ready_for_people: Home) -> Iterator[Terminal]:
    """Return a session that waits for what is typed; the setting for robots is not set."""
    try:
        made = ready_for_people.terminal()
    except Missing as error:
        lacking(error)
    with made:
        made.until_served()
        yield made


def of_ours(screen: str) -> list[str]:
    """Return the lines below the banner that hold a text of a learning, or a word about what runs beside the client."""
    ours = (GATE.mark, CACHE.mark, PINNED.mark, FRAME, "hook", "learnings", "recall", "ledger", "cancelled", "mcp")
    _, banner, below = screen.partition(f"/{PROJECT}\n")
    assert banner
    return [line.strip(" \xa0⎿") for line in below.splitlines() if any(words.lower() in line.lower() for words in ours)]


def test_what_is_typed_brings_its_learning_and_shows_nothing_of_it(stub: Stub, terminal: Terminal) -> None:
    """The request has the start block and the learning; on the screen is neither, nor a word about hooks."""
    terminal.type(GATE.prompt)
    request = stub.with_text(GATE.prompt)
    screen = terminal.until("Done.")

    assert PINNED.solution in request.spoken[request.spoken.index(STARTING) :]
    assert GATE.mark in since(request, GATE.prompt)
    assert of_ours(screen) == []


def test_clearing_a_session_begins_it_anew(stub: Stub, terminal: Terminal) -> None:
    """After /clear the start block comes again, and so does a learning that had been shown."""
    terminal.type(GATE.prompt)
    terminal.until("Done.")
    terminal.type("/clear")
    terminal.without("Done.")
    stub.requests.clear()
    terminal.type(GATE.prompt)
    request = stub.with_text(GATE.prompt)
    terminal.until("Done.")

    assert request.spoken.count(PINNED.solution) == 1
    assert request.spoken.count(GATE.solution) == 1


def test_a_person_who_agrees_is_shown_nothing(stub: Stub, terminal: Terminal) -> None:
    """As for robots."""
    terminal.type(OKAY)
    request = stub.with_text(OKAY)
    terminal.until("Done.")

    assert "UserPromptSubmit" not in request.spoken
    assert CACHE.mark not in request.text


@pytest.mark.parametrize("fault", [faults.corrupt, faults.missing], ids=lambda f: f.__name__)
def test_a_broken_ledger_is_not_seen_on_the_screen(
    ready_for_people: Home, stub: Stub, terminal: Terminal, fault: Fault
) -> None:
    """The prompt goes through, and the person is not bothered."""
    terminal.type("hello")
    terminal.until("Done.")
    with fault(ready_for_people):
        terminal.type(CACHE.prompt)
        request = stub.with_text(CACHE.prompt)
        screen = terminal.until(CACHE.prompt)

    assert "UserPromptSubmit" not in request.spoken
    assert of_ours(screen) == []


@pytest.mark.parametrize("fault", [faults.killed, faults.stopped], ids=lambda f: f.__name__)
def test_of_a_server_that_does_not_answer_the_client_itself_says_a_line(
    ready_for_people: Home, stub: Stub, terminal: Terminal, fault: Fault
) -> None:
    """The limit of silence: a process that hangs can hide nothing, so the client tells of its own time-out."""
    terminal.type("hello")
    terminal.until("Done.")
    with fault(ready_for_people):
        terminal.type(CACHE.prompt)
        request = stub.with_text(CACHE.prompt)
        screen = terminal.until("UserPromptSubmit hook")

    assert "UserPromptSubmit" not in request.spoken
    assert of_ours(screen)[0] in (
        "UserPromptSubmit hook [learnings/recall] timed out after 500ms",
        "UserPromptSubmit hook failed",  # in the moment before it connects again
    )
    assert len(of_ours(screen)) == 2


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name)
def test_a_terminal_that_is_closed_leaves_no_process(
    ready_for_people: Home, terminal: Terminal, number: signal.Signals
) -> None:
    """Whether its window was shut or its client killed."""
    terminal.type("hello")
    terminal.until("Done.")
    during = list(ready_for_people.ours())

    os.kill(terminal.pid, number)

    assert len(during) == 1
    assert gone(during) == []
    assert ready_for_people.ours() == {}
