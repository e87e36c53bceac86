"""What agents are told of past sessions: turns that were looked for, and those around one that is known.

Whoever spoke in them, a turn is data: it goes through the screen before it is
told, and one with findings is named and its text withheld. A session that may
see some projects only is told turns of these alone; any other looks in its own
project unless it names one.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ledger.errors import BadArgument
from ledger.model import EVERYWHERE
from ledger.reader import Reader
from ledger.turns import Around, Said, Turns
from ledger.turns import path_beside as turns_beside

if TYPE_CHECKING:
    from mcp_server.tools import Session

LOOSE = "no turn holds all of these words; these hold some"
NO_TURNS = "no transcript was imported yet; the user can run `learnings scan`"

TURNS_MAX = 20
"""Most turns of one answer."""

TEXT_CHARS, NEAR_CHARS = 1_500, 500
"""Most of the text of a turn, and of one around it: screening costs 1.5 ms for a thousand characters."""

NEIGHBOURS = 3
"""Turns before and after one."""

OF_LEARNINGS = ("category", "tags", "as_of", "include_superseded", "explain", "index")
"""Arguments of a query that say nothing of turns."""

SOURCE = "transcript:"
"""How the place of a learning begins that came from a turn; the turn's id follows, up to `#`."""


def query(session: "Session", reader: Reader, given: dict[str, Any]) -> dict[str, Any]:
    """Search past turns.

    Raises:
        BadArgument: what narrows a search of learnings was given. Locked, FileFault: the turns cannot be read now.
    """
    wrong = [name for name in OF_LEARNINGS if name in given]
    if wrong:
        raise BadArgument(f"{', '.join(wrong)} cannot narrow sessions; nothing was done", "give query, project, limit")
    project = given.get("project") or session.project or EVERYWHERE
    limit = min(given.get("limit", 10), TURNS_MAX)
    found = Turns(session.path).search(given["query"], visible(session, reader, project), limit=limit)
    remarks = [LOOSE] if found.is_loose else [] if os.path.exists(turns_beside(session.path)) else [NO_TURNS]
    turns = [told(turn, session) for turn in found.turns]
    return {"hits": [], "turns": turns, "truncated": found.truncated} | ({"remarks": remarks} if remarks else {})


def around(session: "Session", reader: Reader, uuid: str) -> dict[str, Any] | None:
    """Return a turn with those around it; None when it is not known, or out of reach."""
    found = Turns(session.path).around(uuid, NEIGHBOURS, NEIGHBOURS, visible(session, reader))
    return None if found is None else told(found.turn, session) | _near(found, session)


def evidence(session: "Session", reader: Reader, learning: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the turns around the place where a learning was said, in order; none when it came from somewhere else."""
    for source in learning["sources"]:
        if source["locator"].startswith(SOURCE):
            uuid = source["locator"][len(SOURCE) :].rpartition("#")[0]
            found = Turns(session.path).around(uuid, NEIGHBOURS, NEIGHBOURS, visible(session, reader))
            if found is not None:
                near = _near(found, session)
                return [*near["before"], told(found.turn, session), *near["after"]]
    return []


def visible(session: "Session", reader: Reader, project: str = EVERYWHERE) -> set[str] | None:
    """Return the names of the projects whose turns a session may be told, narrowed to one; None means all."""
    named = None if project == EVERYWHERE else {project, *reader.projects(project)} - {EVERYWHERE}
    if not session.fence:
        return named
    from ledger.fence import within

    allowed = within(reader, session.fence) - {EVERYWHERE}
    return allowed if named is None else named & allowed


def told(turn: Said, session: "Session", most: int = TEXT_CHARS) -> dict[str, Any]:
    """Return a turn as an agent may read it, without its file where that is on another machine."""
    text, is_cut = (turn.text, turn.is_cut) if len(turn.text) <= most else (turn.text[:most] + " …", True)
    document: dict[str, Any] = {
        "session": turn.session, "uuid": turn.uuid, "at": turn.at, "who": turn.who, "text": harmless(text),
        "project": turn.project,
    }  # fmt: skip
    marks = {"aside": turn.is_aside, "failed": turn.is_error, "cut": is_cut}
    place = {} if session.is_remote else {"file": turn.file, "line": turn.line}
    return document | {name: True for name, holds in marks.items() if holds} | place


def harmless(text: str) -> str:
    """Return a text, or that it is withheld: nobody checks what was said before it is kept."""
    from ledger import screen

    found = screen.screen(text)
    return f"(withheld: {found[0].reason})" if found else text


def _near(found: Around, session: "Session") -> dict[str, Any]:
    return {"before": _all(found.before, session), "after": _all(found.after, session)}


def _all(turns: Iterable[Said], session: "Session") -> list[dict[str, Any]]:
    return [told(turn, session, NEAR_CHARS) for turn in turns]


def is_own(path: str, home: str) -> bool:
    """Tell whether a transcript lies where the client of this user writes them: an agent may name any file."""
    from ledger.home import client_folder

    root = os.path.realpath(os.path.join(client_folder(home), "projects"))
    return (os.path.realpath(os.path.expanduser(path)) + os.sep).startswith(os.path.join(root, ""))
