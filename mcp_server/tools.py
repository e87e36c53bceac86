"""The ten tools, each a few lines over the reader or `Ledger`.

Reads open their own short-lived connection and never load the write side
(sqlmodel: 25 MB and half a second), which comes with the first write. Actor,
time, trust and state are never arguments: the session gives them.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger.answer import LIMIT_MAX
from ledger.errors import AmbiguousId, BadArgument, NotFound
from ledger.home import working_folder
from ledger.model import (
    AGENT_PREFIX_CHARS,
    EVERYWHERE,
    ID_CHARS,
    ID_PREFIX,
    PROJECT_CHARS,
    TRUST_FILES,
    Actor,
    Draft,
    plain,
)
from ledger.reader import Reader, open_reader
from mcp_server import write_side

if TYPE_CHECKING:
    from ledger.ledger import Ledger

Progress = Callable[[int, int, str], None]
"""Told while an import runs: done, total, text."""

NO_LEDGER = "there is no ledger yet; the first record_learning or import_learnings makes it"

WITHHELD = ("quarantined", "rejected")
"""States whose text no agent reads: such an id is answered like an unknown one."""

DIAGNOSTICS_MAX = 50
"""Most diagnostics of one answer; the file and line of each are in `learnings import --json`."""

CONFIRM = (
    "nobody has said this: ask the user whether it is right; if it is, record_learning in these words, "
    "if not, ask them to run `learnings review`"
)
"""What an agent is to do with an inferred learning; it is data like any other, and never more than one a session."""

EVENTS_MAX = 100
PROJECTS_MAX = 50
"""Most events of a history, and most projects of a status, those with most learnings."""

ALWAYS = 12
"""Fields of a hit that are always sent, in `Hit`'s order; the others only when they say something."""

INDEX_MAX = 20
INDEXED = (
    "id",
    "title",
    "category",
    "project",
    "state",
    "trust",
    "recorded_at",
    "score",
    "since",
    "fork",
    "via",
    "parts",
)
"""Most rows of an index, and what each says: enough to choose what to fetch with get_learnings."""


class Session(NamedTuple):
    """One server process: the ledger's path, the project it works in, if any, who acts, whom progress is told.

    `fence` names the only projects that it may see, none of them all; `is_remote`
    says that the client's files are on another machine.
    """

    path: str
    project: str | None
    actor: Actor
    progress: Progress = lambda done, total, text: None
    asked: list[str] | None = None
    """The inferred learning that this session was asked to confirm; None asks for nothing."""
    fence: tuple[str, ...] = ()
    is_remote: bool = False

    def opened(self, path: str) -> Reader:
        """Open the ledger at `path` for reading what this session may see."""
        if not self.fence:
            return open_reader(path)
        from ledger.fence import open_fenced

        return open_fenced(path, self.fence)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open the ledger for one answer.

        Raises:
            NotFound: there is no file yet, so nothing can be in it.
        """
        if not os.path.exists(self.path):
            raise NotFound("nothing of that id or seq is known", NO_LEDGER)
        with self.opened(self.path) as reader:
            yield reader

    @contextmanager
    def writing(self, create: bool = False, is_dry: bool = False) -> Iterator["Ledger"]:
        """Open the ledger for one command; loads the write side when it is the first.

        A dry run without a file works on an empty ledger that is thrown away.
        """
        write_side.load()
        from ledger.ledger import Ledger

        with ExitStack() as stack:
            path = self.path
            if is_dry and not os.path.exists(path):
                path = os.path.join(stack.enter_context(TemporaryDirectory(prefix="learnings-mcp-")), "ledger.db")
            ledger = stack.enter_context(Ledger.open(path, self.actor, create=create))
            ledger.opening = self.opened
            if ledger.store.created and not is_dry:
                ledger.store.remarks.append("there was no ledger; a new one was made")
            yield ledger


class Steps:
    """Progress of a call with several parts: the protocol wants one number that only grows."""

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._before = 0
        self._told = 0

    def part(self, what: str) -> Callable[[int, int], None]:
        """Return the function that a part tells how many of how many are done; about 20 times are passed on."""
        self._before = self._told

        def tell(done: int, total: int) -> None:
            at = self._before + done
            if at > self._told and (done == total or done % (total // 20 or 1) == 0):
                self._told = at
                self._tell(at, self._before + total, f"{what} {done} of {total}")

        return tell


def query_learnings(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Search; see `Reader.query`."""
    is_index = given.get("index", False)
    if given.get("in") == "sessions":
        from mcp_server.said import query as query_turns

        with session.reading() as reader:
            return query_turns(session, reader, given)
    with session.reading() as reader:
        answer = reader.query(
            given["query"],
            project=given.get("project") or None,
            category=given.get("category"),
            tags=tuple(given.get("tags", ())),
            as_of=_seq(reader, given.get("as_of")),
            include_superseded=given.get("include_superseded", False),
            limit=min(given.get("limit", 10), INDEX_MAX if is_index else LIMIT_MAX),
            explain=given.get("explain", False),
        )
    said = [_said(plain(hit)) for hit in answer.hits]
    return {
        "hits": [{key: hit[key] for key in INDEXED if key in hit} for hit in said] if is_index else said,
        "truncated": answer.truncated,
        "as_of": answer.as_of,
    } | ({"plan": answer.plan} if answer.plan is not None else {})


def list_learnings(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """List what is current, newest first."""
    with session.reading() as reader:
        answer = reader.list_learnings(
            project=given.get("project") or None,
            category=given.get("category"),
            limit=given.get("limit", 20),
            before_seq=given.get("before_seq"),
        )
    return dict(plain(answer))


def get_learnings(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Show up to five learnings or turns by id; ids that are unknown, withheld or out of reach are `missing`."""
    from mcp_server import said

    found: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    missing: list[str] = []
    with session.reading() as reader:
        for asked in dict.fromkeys(given["ids"]):
            is_learning = asked.startswith(ID_PREFIX)
            shown = (_shown if is_learning else said.around)(session, reader, asked)
            if shown is None:
                missing.append(asked)
            elif is_learning:
                more = {"evidence": said.evidence(session, reader, shown)} if given.get("evidence") else {}
                found.append(shown | more)
            else:
                turns.append(shown)
    return {"learnings": found, "missing": missing} | ({"turns": turns} if turns else {})


def learning_history(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """List the events of one learning, the newest when there are many."""
    with session.reading() as reader:
        events = reader.history(_whole(session, reader, given["id"]))
    said = [event._replace(reason=_harmless(event.reason)) for event in events[-EVENTS_MAX:]]
    return {"events": plain(said), "truncated": len(events) > EVENTS_MAX}


def ledger_status(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Count, and name this session's project; once a session also one inferred learning to ask the user about."""
    from ledger import review

    with session.reading() as reader:
        status: dict[str, Any] = plain(reader.status())
        status["waiting"] = review.count(reader, time.time())
        item = review.to_confirm(reader, session.project, time.time()) if session.asked == [] else None
    if item is not None and session.asked is not None:
        session.asked.append(item.id)
        status["to_confirm"] = {"id": item.id, "problem": item.problem, "solution": item.solution, "ask": CONFIRM}
    projects = list(status["projects"].items())
    shown = {"projects": dict(projects[:PROJECTS_MAX]), "truncated": len(projects) > PROJECTS_MAX}
    return status | shown | {"project": session.project}


def record_learning(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Record one learning."""
    draft = Draft(
        problem=given["problem"],
        solution=given["solution"],
        category=given.get("category", "practice"),
        project=given.get("project") or session.project or EVERYWHERE,
        title=given.get("title") or None,
        tags=tuple(given.get("tags", ())),
    )
    with session.writing(create=True) as ledger:
        done = ledger.record(draft)
    from ledger import door

    # As it was stored: a secret in a name is not said back.
    return {**plain(done), "project": door.text("project", draft.project, PROJECT_CHARS)[0]}


def supersede_learning(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Replace one or several learnings by one."""
    old = [given["old"]] if isinstance(given["old"], str) else given["old"]
    with session.reading() as reader:
        ids = [_whole(session, reader, asked) for asked in dict.fromkeys(old)]
    tags = given.get("tags")
    with session.writing() as ledger:
        ledger.files = () if session.is_remote else _client_files()
        done = ledger.supersede(
            ids,
            given["problem"],
            given["solution"],
            given["reason"],
            category=given.get("category"),
            project=given.get("project") or None,
            title=given.get("title") or None,
            tags=None if tags is None else tuple(tags),
        )
    return dict(plain(done))


def retract_learning(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Retract a learning of this session."""
    with session.reading() as reader:
        learning = _whole(session, reader, given["id"])
    with session.writing() as ledger:
        ledger.files = () if session.is_remote else _client_files()
        return dict(plain(ledger.retract(learning, given["reason"])))


def undo(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Undo an event of this session."""
    with session.reading():
        pass
    with session.writing() as ledger:
        return dict(plain(ledger.undo(given["seq"], given.get("reason"))))


def import_learnings(session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Import notes, exports and a pasted answer; one batch for each importer and trust."""
    write_side.load()
    from importers.contrary import Standing
    from importers.plan import plan, vanished
    from importers.registry import pasted, scan_paths
    from ledger import ingest, sessions_in

    is_dry = given.get("dry_run", False)
    steps = Steps(session.progress)
    home = os.path.expanduser("~")
    project = given.get("project") or None
    if not given.get("paths") and not given.get("text"):
        raise BadArgument("there is neither a path nor a text to import; nothing was written")
    paths = given.get("paths", ())
    is_there = any(os.path.lexists(os.path.expanduser(path)) for path in paths)
    scan_paths([] if is_there else paths, project, None, home)  # what is wrong is said before a ledger is made
    readings = [pasted(given["text"], project)] if given.get("text") else []
    with session.writing(create=True, is_dry=is_dry) as ledger, _kept_turns(ledger, paths, home, is_dry):
        if paths:
            readings[:0] = scan_paths(paths, project, steps.part("read"), home, TRUST_FILES)
        done = [
            sessions_in.run(ledger, reading, plan, vanished, Standing, dry_run=is_dry, progress=steps.part("recorded"))
            for reading in readings
        ]
    total = ingest.together(done)
    del total["remedies"]  # what was inferred is a person's to look at
    total["truncated"] = len(total["diagnostics"]) > DIAGNOSTICS_MAX
    return total | {"diagnostics": total["diagnostics"][:DIAGNOSTICS_MAX]}


@contextmanager
def _kept_turns(ledger: "Ledger", paths: Sequence[str], home: str, is_dry: bool) -> Iterator[None]:
    """Let transcripts go into the session index as they are read, when all of them are where the client writes them."""
    from importers.projects import session_project
    from importers.transcript import VERSION, into
    from ledger.turns_add import book_of, mark_of
    from mcp_server.said import is_own

    if is_dry or not paths or not all(is_own(path, home) for path in paths):
        yield
        return
    with book_of(ledger.path, ledger, session_project, time.time(), VERSION, whole=False) as book, into(book):
        yield
        book.settle(mark_of(ledger))


def _shown(session: Session, reader: Reader, asked: str) -> dict[str, Any] | None:
    """Return one learning with texts within their caps, None when the agent may not have it."""
    try:
        name = _whole(session, reader, asked)
    except AmbiguousId:
        raise
    except (NotFound, BadArgument):
        return None
    learning = reader.show(name)
    if learning["state"] in WITHHELD or learning["erased_by"] is not None:
        return None
    (capped,) = reader.get([name])
    places = [one | {key: _harmless(one[key]) for key in ("locator", "path")} for one in learning["sources"]]
    return learning | {"problem": capped.problem, "solution": capped.solution, "cut": capped.cut, "sources": places}


def _said(hit: dict[str, Any]) -> dict[str, Any]:
    """Return a hit without the optional fields that say nothing: they would cost the model 60 tokens each hit."""
    return {
        key: value
        for at, (key, value) in enumerate(hit.items())
        if at < ALWAYS or value not in (None, False, [], "sure")
    }


def _harmless(text: str | None) -> str | None:
    """Return a reason or a place, or that it is withheld: others wrote them, and they are read like learnings."""
    from ledger import screen

    found = screen.screen(text) if text else ()
    return f"(withheld: {found[0].reason})" if found else text


def _client_files() -> list[str]:
    """Return the files that the client has loaded where this server runs."""
    from importers.registry import client_files

    return client_files(working_folder(), os.path.expanduser("~"))


def _seq(reader: Reader, as_of: int | str | None) -> int | None:
    """Return the seq meant by a seq or a time."""
    if isinstance(as_of, str):
        return int(as_of) if as_of.isascii() and as_of.isdigit() else reader.seq_at(as_of)
    return as_of


def _whole(session: Session, reader: Reader, asked: str) -> str:
    """Return the whole id; a beginning is understood within the session's project only.

    Raises:
        NotFound: unknown and out of reach answer alike, and name no other id.
    """
    whole = len(asked) == len(ID_PREFIX) + ID_CHARS
    if not whole and session.project is None:
        raise BadArgument("this session has no project, so only whole ids are understood; nothing was done")
    try:
        return reader.resolve(asked, minimum=AGENT_PREFIX_CHARS, project=None if whole else session.project)
    except AmbiguousId:
        raise
    except NotFound:
        raise NotFound(
            f"no learning {asked} is within reach; nothing was done", "take ids from query_learnings"
        ) from None


def run(name: str, session: Session, given: dict[str, Any]) -> dict[str, Any]:
    """Run one tool on checked arguments; before there is a ledger, reads that look for nothing by name answer empty."""
    if name in EMPTY and not os.path.exists(session.path):
        return {**EMPTY[name], "remarks": [NO_LEDGER]}
    return TOOLS[name](session, given)


TOOLS: dict[str, Callable[[Session, dict[str, Any]], dict[str, Any]]] = {
    tool.__name__: tool
    for tool in (
        query_learnings,
        record_learning,
        supersede_learning,
        get_learnings,
        list_learnings,
        learning_history,
        retract_learning,
        undo,
        import_learnings,
        ledger_status,
    )
}

EMPTY: dict[str, dict[str, Any]] = {
    "query_learnings": {"hits": [], "truncated": False},
    "list_learnings": {"rows": [], "truncated": False},
    "ledger_status": {"events": 0},
}
"""What reads answer before there is a ledger."""
