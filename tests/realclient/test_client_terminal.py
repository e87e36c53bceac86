"""A session that a person types at: no setting is needed, and the screen stays the client's own."""

from collections.abc import Iterator

import pytest

from realclient.client import Home, Missing, Terminal
from realclient.known import CACHE, FRAME, GATE, OKAY, PINNED, STARTING, since
from realclient.lacking import lacking

pytestmark = pytest.mark.realclient


@pytest.fixture
def terminal(ready_for_people: Home) -> Iterator[Terminal]:
    """Return a session that waits for what is typed; the setting for robots is not set."""
    try:
        made = ready_for_people.terminal()
    except Missing as error:
        lacking(error)
    with made:
        made.until("❯")
        yield made


def test_what_is_typed_brings_its_learning_and_shows_nothing_of_it(ready_for_people: Home, terminal: Terminal) -> None:
    """The request has the start block and the learning; on the screen is neither, nor a word about hooks."""
    home = ready_for_people
    terminal.type(GATE.prompt)
    request = home.stub.with_text(GATE.prompt)
    screen = terminal.until("Done.")

    assert PINNED.solution in request.spoken[request.spoken.index(STARTING) :]
    assert GATE.mark in since(request, GATE.prompt)
    for words in (GATE.mark, PINNED.mark, FRAME, "hook", "learnings", "recall"):
        assert words.lower() not in screen.lower(), screen


def test_clearing_a_session_begins_it_anew(ready_for_people: Home, terminal: Terminal) -> None:
    """After /clear the start block comes again, and so does a learning that had been shown."""
    home = ready_for_people
    terminal.type(GATE.prompt)
    terminal.until("Done.")
    terminal.type("/clear")
    terminal.without("Done.")
    home.stub.requests.clear()
    terminal.type(GATE.prompt)
    request = home.stub.with_text(GATE.prompt)
    terminal.until("Done.")

    assert request.spoken.count(PINNED.solution) == 1
    assert request.spoken.count(GATE.solution) == 1


def test_a_person_who_agrees_is_shown_nothing(ready_for_people: Home, terminal: Terminal) -> None:
    """As for robots."""
    home = ready_for_people
    terminal.type(OKAY)
    request = home.stub.with_text(OKAY)
    terminal.until("Done.")

    assert "UserPromptSubmit" not in request.spoken
    assert CACHE.mark not in request.text
