"""Access over HTTP: `token create|list|revoke|headers`, and what `serve --http` is given."""

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from ledger import cli_text, place, tokens
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command, number
from ledger.errors import BadArgument, BadInput, NotFound

TOKEN_BYTES = 200
"""Most bytes of a file with a token that are read."""

MAKE = "make one with `learnings token create NAME --save FILE`"
HOW = "learnings token [list | create NAME | revoke ID | headers FILE]"


@command(
    Arg("act", "list (as without it), create, revoke or headers", many="?", default="list"),
    Arg("words", "NAME for create, ID for revoke, FILE for headers", many="*"),
    Arg(
        "--project",
        "create: a project that it reaches (default: all); what holds everywhere comes with it",
        many="each",
    ),
    Arg("--tool", "create: a tool that it may use (default: all but import_learnings)", many="each"),
    Arg("--trust", f"create: most trust of what it writes, 0 to 3 (default: {tokens.TRUST})", kind=number),
    Arg("--expires", f"create: the last day on which it is good (default: in {tokens.DAYS} days)", metavar="DATE"),
    Arg("--save", "create: write the token to this file, 0600, instead of showing it", metavar="FILE"),
    DRY_RUN,
)
def token(call: Call) -> Result:
    """Make, list and revoke the tokens of clients that reach the ledger over HTTP; a token is shown once."""
    act, words = call.given.act, call.given.words
    wanted = {"list": 0, "create": 1, "revoke": 1, "headers": 1}
    if len(words) != wanted.get(act):
        raise BadArgument("that is not how tokens are made or ended; nothing was done", HOW)
    given = call.given
    if act != "create" and any((given.project, given.tool, given.trust is not None, given.expires, given.save)):
        raise BadArgument("these options are for `token create`; nothing was done", HOW)
    if act == "create":
        return _create(call, words[0])
    if act == "revoke":
        return _revoke(call, words[0])
    return _headers(words[0]) if act == "headers" else _list(call)


def _create(call: Call, name: str) -> Result:
    given, now = call.given, time.time()
    trust = tokens.TRUST if given.trust is None else given.trust
    made, text = tokens.new(name, given.project, given.tool, trust, given.expires, now=now)
    saved = None if given.save is None else os.path.abspath(os.path.expanduser(given.save))
    if saved is not None and os.path.lexists(saved):
        raise BadInput("the file is there already; nothing was written", "name another one, or remove it first")
    if given.dry_run:
        call.remark("dry run: nothing was written, and no token was made")
        return Result({**made.told(tokens.time_text(now)), "id": None, "token": None, "saved": saved}, list)
    if not os.path.exists(call.file):
        call.remark(f"there is no ledger at {call.file} yet; the first write makes it")
    if saved is not None:
        place.replace(saved, text.encode() + b"\n")
    try:
        tokens.add(call.file, made)
    except BaseException:
        if saved is not None:
            os.unlink(saved)  # a token that nobody was told of
        raise
    undo = call.typed("token", "revoke", made.id)
    shown = None if saved is not None else text
    document = {**made.told(tokens.time_text(now)), "token": shown, "saved": saved, "undo": undo}
    call.remark(
        f"it is good until {made.expires_at} and is not shown again" if saved is None else "give its file to the client"
    )
    last = shown if shown is not None else f"saved in {saved}"
    return Result(document, lambda: [f"made token {made.id} for {name}  (undo: {undo})", last])


def _list(call: Call) -> Result:
    now = tokens.time_text(time.time())
    found = [one.told(now) for one in tokens.load(call.file)]
    return Result({"tokens": found}, lambda: cli_text.aligned(list(_rows(found))))


def _rows(found: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for one in found:
        tools = "all tools" if len(one["tools"]) == len(tokens.TOOLS) else ", ".join(one["tools"])
        projects = ", ".join(one["projects"]) or "all projects"
        until, trust = f"until {one['expires_at']}", f"trust {one['trust']}"
        yield one["id"], one["state"], one["name"], until, trust, projects, tools


def _revoke(call: Call, asked: str) -> Result:
    now = time.time()
    ended = tokens.revoke(call.file, asked, now=now, is_dry=call.given.dry_run)
    if call.given.dry_run:
        call.remark("dry run: nothing was written")
    else:
        call.remark("a running server lets it in no more; nothing brings it back: make another one")
    verb = "would revoke" if call.given.dry_run else "revoked"
    return Result(ended.told(tokens.time_text(now)), lambda: [f"{verb} token {ended.id} of {ended.name}"])


def _headers(path: str) -> Result:
    """Print what Claude Code's `headersHelper` has to print, as JSON in any case."""
    text = saved_token(os.path.abspath(os.path.expanduser(path)))
    document = {"Authorization": f"Bearer {text}"}
    return Result(document, lambda: [json.dumps(document)], is_exact=True)


def saved_token(path: str) -> str:
    """Return the token in a file that `token create --save` wrote.

    Raises:
        NotFound, UnsafePlace, BadInput: there is none, or others could read it, or it holds something else.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", MAKE) from None
    except OSError as error:
        raise place.os_fault(error, path) from None
    try:
        tokens.check_private(os.fstat(fd), path)
        text = os.read(fd, TOKEN_BYTES).decode("ascii", "replace").strip()
    finally:
        os.close(fd)
    if not tokens.is_token(text):
        raise BadInput(f"{path} holds no token; nothing was sent", MAKE)
    return text


def serve_http(call: Call) -> Result:
    """Serve over HTTP until SIGTERM or SIGINT."""
    from mcp_server.gate import Options, bind_of, ready

    given = call.given
    if given.project is not None:
        raise BadArgument("over HTTP a token says which projects; nothing was started", "leave --project out")
    if (given.tls_cert is None) != (given.tls_key is None):
        raise BadArgument("certificate and key belong together; nothing was started", "give --tls-cert and --tls-key")
    options = Options(
        bind_of(given.http),
        tuple(given.allow_host),
        tuple(given.allow_origin),
        given.tls_cert,
        given.tls_key,
        given.behind_proxy,
    )
    live = ready(call.file, options, time.time())
    from mcp_server.http import serve_http as serve

    return Result(exit_code=serve(call.file, options, live))
