"""The command that shows what waits for a person, and takes their decisions: `review`.

At a terminal each item is asked about, one key an item. Anywhere else it lists,
and `review accept ID` and its like decide; `--ask` asks line by line where there
is no terminal.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ledger import cli_rescreen, cli_text
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command, number, texts
from ledger.cli_read import whole_id
from ledger.cli_write import written
from ledger.errors import BadArgument, LedgerError
from ledger.frame import clean
from ledger.model import plain

if TYPE_CHECKING:
    from ledger.decide import Decided
    from ledger.ledger import Ledger
    from ledger.review import Item

ACTS = ("show", "accept", "reject", "release", "merge", "different", "edit")
LIST = "list"

KEYS = {"a": "accept", "r": "reject", "l": "release", "m": "merge", "e": "edit", "s": "skip", "w": "show", "q": "quit"}
"""What each key does; any other asks again."""

PROMPT = "[a]ccept [r]eject re[l]ease [m]erge [e]dit [s]kip sho[w] [q]uit "

PAIR_KEYS = {"m": "merge", "d": "different", "s": "skip", "w": "show", "q": "quit"}
PAIR_PROMPT = "[m]erge [d]ifferent [s]kip sho[w] [q]uit "
"""The same for two learnings that say one thing."""

ENDS = ("", "\x03", "\x04")
"""What ends the questions like `q`: the end of the input, and the keys that mean it."""


@command(
    Arg("act", "show, accept, reject, release, merge, different or edit; without it, a list", many="?", default=LIST),
    Arg("ids", "the item; after merge also what it replaces, else what it is most like; after different two", many="*"),
    Arg("--problem", "for edit: the situation in your words; `-` reads it from standard input"),
    Arg("--solution", "for edit: what to do then; `-` reads it from standard input"),
    Arg("--reason", "why; kept in the log"),
    Arg("--project", "only what holds in one project"),
    Arg("--limit", "how many items at most (default 10)", kind=number, default=10),
    Arg("--all", "also what has waited too long to be asked about, and all pairs that say the same", is_flag=True),
    Arg("--ask", "ask about each item, line by line where there is no terminal", is_flag=True),
    cli_rescreen.RESCREEN,
    cli_rescreen.YES,
    DRY_RUN,
)
def review(call: Call) -> Result:
    """Show what waits for a person, what matters most first, and decide about it."""
    given = call.given
    if given.rescreen:
        return cli_rescreen.rescreened(call)
    if given.act == LIST and not given.ids:
        return _asked(call) if _asks(call) else _listed(call)
    wanted = {"merge": (1, 2), "different": (2, 2)}.get(given.act, (1, 1))
    if given.act not in ACTS or not wanted[0] <= len(given.ids) <= wanted[1]:
        raise BadArgument(
            "that is not how items are reviewed; nothing was done",
            f"learnings review [{' | '.join(ACTS)}] ID",
        )
    if given.act == "show":
        return _shown(call)
    with call.writing() as ledger:
        names = [whole_id(ledger.reader, typed) for typed in given.ids]
        done = _decided(call, ledger, given.act, *names)
    return _told(call, done)


def _asks(call: Call) -> bool:
    if call.is_json:
        return False
    is_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    return bool(call.given.ask or is_terminal)


# -- lists ------------------------------------------------------------------------------------------------------------


def _listed(call: Call) -> Result:
    from ledger import review as queue

    given = call.given
    if not 1 <= given.limit <= queue.RANKED_MAX:
        raise BadArgument(f"--limit may be 1 to {queue.RANKED_MAX}; nothing was done")
    with call.reading() as reader:
        found = queue.waiting(reader, time.time_ns() / 1e9, project=given.project, many=given.limit, every=given.all)
    document = plain(found)
    if not call.is_json:
        for text in found.remarks:
            call.remark(text)
    return Result(document, lambda: _lines(document))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    if not document["items"]:
        yield "nothing waits"
    for item in document["items"]:
        yield from _item(item)
    shown = [item["kind"] == "merge" for item in document["items"]]
    if document["waiting"] > shown.count(False):
        yield f"{document['waiting'] - shown.count(False)} more wait"
    if document["pairs"] > shown.count(True):
        yield f"{cli_text.counted(document['pairs'] - shown.count(True), 'more pair')} may say the same: --all"


def _item(item: dict[str, Any]) -> Iterator[str]:
    labels = [cli_text.short(item["id"]), item["project"] or cli_text.ERASED, item["category"], item["state"].upper()]
    labels += [cli_text.TRUST[item["trust"]], f"since {cli_text.day(item['recorded_at'])}"]
    if item["asked"]:
        labels.append(f"{cli_text.counted(item['asked'], 'prompt')} asked for it")
    yield cli_text.line_of(item["title"])
    yield "  " + " · ".join(labels)
    if cli_text.line_of(item["problem"]) != cli_text.line_of(item["title"]):
        yield cli_text.indented(item["problem"])
    yield cli_text.indented(item["solution"], "    → ")
    yield f"    why         {cli_text.line_of(item['reason'])}"
    yield f"    from        {cli_text.line_of(item['source'])}"
    if item["other"] is not None:
        yield from _twin(item["other"])
    for other in item["conflicts"]:
        yield f"    contradicts {cli_text.short(other['id'])} {cli_text.line_of(other['solution'])}"
    told = {other["id"] for other in item["conflicts"]}
    for other in item["near"]:
        if other["id"] not in told:
            yield f"    is like     {cli_text.short(other['id'])} {cli_text.line_of(other['title'])}"


def _twin(other: dict[str, Any]) -> Iterator[str]:
    labels = [cli_text.short(other["id"]), other["project"] or cli_text.ERASED, cli_text.TRUST[other["trust"]]]
    labels += [f"since {cli_text.day(other['recorded_at'])}", f"from {cli_text.line_of(other['source'])}"]
    yield f"    says too    {' · '.join(labels)}"
    if cli_text.line_of(other["problem"]) != cli_text.line_of(other["solution"]):
        yield cli_text.indented(other["problem"], "      ")
    yield cli_text.indented(other["solution"], "      → ")


def _shown(call: Call) -> Result:
    from ledger import review as queue

    with call.reading() as reader:
        document = queue.shown(reader, whole_id(reader, call.given.ids[0]))
    return Result(document, lambda: _whole(document))


def _whole(document: dict[str, Any]) -> Iterator[str]:
    yield from _item(document)
    for source in document["sources"]:
        at = source["path"] or source["locator"] or cli_text.ERASED
        stands = f"line {source['says_it_at']} says it" if source["says_it_at"] else "it does not say it any more"
        yield f"    source      {at}{': ' + stands if source['path'] else ''}"
    for line in cli_text.history(document):
        yield f"    {line}"


# -- decisions --------------------------------------------------------------------------------------------------------


def _decided(call: Call, ledger: "Ledger", act: str, name: str, other: str | None = None) -> "Decided":
    """Make one decision as the arguments say it."""
    from ledger import decide

    given = call.given
    if act == "different" and other is not None:
        return decide.different(ledger, name, other, given.reason, dry_run=given.dry_run)
    if act == "merge":
        return decide.merge(ledger, name, other, given.reason, dry_run=given.dry_run)
    if act == "edit":
        problem, solution = _words(given.problem, given.solution)
        return decide.edit(ledger, name, problem, solution, reason=given.reason, dry_run=given.dry_run)
    act_of: dict[str, Callable[..., Decided]] = {
        "accept": decide.accept, "reject": decide.reject, "release": decide.release,
    }  # fmt: skip
    return act_of[act](ledger, name, given.reason, dry_run=given.dry_run)


def _words(problem: str | None, solution: str | None) -> tuple[str | None, str | None]:
    """Return an edit's words; with neither option the solution is read from standard input."""
    if problem is None and solution is None:
        solution = "-"
    said = iter(texts(*(text for text in (problem, solution) if text is not None)))
    return (None if problem is None else next(said)), (None if solution is None else next(said))


def _told(call: Call, done: "Decided") -> Result:
    if done.act == "settled":
        return written(call, plain(done), f"called {cli_text.short(done.id)} and the other different; both stay")
    instead = f", superseding {cli_text.shorts(done.supersedes)}" if done.supersedes else ""
    line = f"{done.act} {cli_text.short(done.id)}, now {done.state}{instead}"
    return written(call, plain(done), line, batch=done.batch)


# -- one key an item --------------------------------------------------------------------------------------------------


def _asked(call: Call) -> Result:
    """Ask about each item; what was decided stands, whatever ends the questions."""
    from ledger import review as queue

    with call.writing() as ledger:
        found = queue.waiting(
            ledger.reader, time.time_ns() / 1e9, project=call.given.project, many=call.given.limit, every=call.given.all
        )
        for text in found.remarks:
            call.remark(text)
        decided = 0
        for at, item in enumerate(found.items, start=1):
            _say("", *_item(plain(item)))
            act = _one(call, ledger, item, f"{at}/{len(found.items)} {PAIR_PROMPT if item.other else PROMPT}")
            if act == "quit":
                break
            decided += act != "skip"
    left = found.waiting + found.pairs - decided
    line = f"decided {decided}; {cli_text.counted(left, 'item')} left" if found.items else "nothing waits"
    return Result({"decided": decided, "left": left}, lambda: [line])


def _one(call: Call, ledger: "Ledger", item: "Item", prompt: str) -> str:
    """Ask about one item until it is decided, skipped or left; return what became of it."""
    while True:
        act = _choice(prompt, PAIR_KEYS if item.other else KEYS)
        if act in ("quit", "skip"):
            return act
        if act == "show":
            from ledger import review as queue

            _say(*_whole(queue.shown(ledger.reader, item.id)))
            continue
        try:
            twin = item.other["id"] if item.other else None
            done = _edited(call, ledger, item) if act == "edit" else _decided(call, ledger, act, item.id, twin)
        except LedgerError as error:
            _say(str(error))
            continue
        if done is not None:
            _say(*_told(call, done).text())
            return act


def _edited(call: Call, ledger: "Ledger", item: "Item") -> "Decided | None":
    from ledger import decide

    said: list[str | None] = []
    for name in ("problem", "solution"):
        _ask(f"{name} (empty keeps it): ")
        said.append(sys.stdin.readline().strip() or None)
    problem, solution = said
    if problem is None and solution is None:
        _say("nothing was changed")
        return None
    return decide.edit(ledger, item.id, problem, solution, reason=call.given.reason, dry_run=call.given.dry_run)


def _choice(prompt: str, keys: dict[str, str]) -> str:
    while True:
        key = _key(prompt)
        if key in ENDS:
            return "quit"
        if key in keys:
            return keys[key]


def _key(prompt: str) -> str:
    """Return one key without echo at a terminal, else the first letter of a line; '' at the end of the input."""
    key = _pressed(prompt)
    if key is None:
        _ask(prompt)
        line = sys.stdin.readline()
        return line.strip()[:1].lower() or ("s" if line else "")
    sys.stdout.write(f"{key if key.isprintable() else ''}\n")
    return key


def _pressed(prompt: str) -> str | None:
    """Return the key that was pressed, without echo; None where there is no terminal that can tell.

    The terminal is told before the prompt appears, and keeps what was typed ahead.
    """
    try:
        import termios
        import tty
    except ImportError:
        return None
    if not sys.stdin.isatty():
        return None
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        _ask(prompt)
        return os.read(descriptor, 1).decode("ascii", "replace").lower()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _ask(prompt: str) -> None:
    sys.stdout.write(prompt)
    sys.stdout.flush()


def _say(*lines: str) -> None:
    sys.stdout.writelines(clean(line) + "\n" for line in lines)
    sys.stdout.flush()
