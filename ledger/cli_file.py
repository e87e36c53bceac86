"""Commands about the file as a whole: `init export verify rebuild upgrade serve`."""

import os
import time
from collections.abc import Iterator
from typing import Any

from ledger import cli_text
from ledger.cli_call import DRY_RUN, Arg, Call, Result, command
from ledger.errors import BadArgument, Damaged, RolledBack
from ledger.model import plain


@command(DRY_RUN)
def init(call: Call) -> Result:
    """Make a ledger, or say what is there already."""
    is_new = not (os.path.exists(call.file) and os.path.getsize(call.file))
    if is_new and call.given.dry_run:
        call.remark("dry run: nothing was written")
        document: dict[str, Any] = {"file": call.file, "ledger_id": None, "created": True}
        return Result(document, lambda: [f"would have made {call.file}"])
    call.writing(create=True).close()
    with call.reading() as reader:
        document = {"file": call.file, "ledger_id": reader.meta()["ledger_id"], "created": is_new}
    verb = "made" if is_new else "found"
    return Result(document, lambda: [f"{verb} {call.file} (ledger {document['ledger_id']})"])


@command(
    Arg("--format", "jsonl (what `learnings import` reads) or md", default="jsonl"),
    Arg("--output", "the file to write, 0600; without it, standard output"),
    Arg("--state", "only learnings of this state (default: current; `all`: what was ever served)", many="each"),
)
def export(call: Call) -> Result:
    """Write learnings out."""
    from ledger import export as exporting

    given = call.given
    states = exporting.states_of(given.state)
    if given.format not in exporting.FORMATS:
        raise BadArgument("unknown format; nothing was written", "use one of: " + ", ".join(exporting.FORMATS))
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    form = exporting.FORMATS[given.format]
    if given.output is not None:
        exporting.check_target(given.output, call.file)
        with call.reading() as reader:
            count = exporting.write(given.output, form(reader, states, now))
        from ledger.erasures import remember_copy

        remember_copy(call.file, "export", given.output)
        path = os.path.abspath(given.output)
        return Result({"file": path, "lines": count}, lambda: [f"wrote {cli_text.counted(count, 'line')} to {path}"])
    if call.is_json:
        with call.reading() as reader, reader.snapshot():
            top = exporting.header(reader, now)
            return Result({**top, "learnings": list(exporting.learnings(reader, states))})

    def lines() -> Iterator[str]:
        with call.reading() as reader:
            yield from form(reader, states, now)

    return Result(None, lines, is_exact=given.format == "jsonl")


@command(
    Arg("--accept-head", "let a log that is behind its anchor be written again", is_flag=True),
    Arg("--secrets", "look instead for secrets that older rules let through, here and beside it", is_flag=True),
)  # fmt: skip
def verify(call: Call) -> Result:
    """Check hashes, payloads, anchor, schema and projections; nothing is changed without --accept-head."""
    from ledger.cli_progress import busy

    if call.given.secrets:
        from ledger.cli_guard import scanned

        return scanned(call)
    with call.writing() as ledger:
        if call.given.accept_head:
            accepted = ledger.accept_head()
            for text in accepted.remarks:
                call.remark(text)
        with busy("checking every event"):
            verdict = ledger.verify()
    document = plain(verdict)
    for text in verdict.remarks:
        call.remark(text)
    codes = {problem.code for problem in verdict.problems}
    fault = RolledBack if codes == {"rolled_back"} else Damaged
    if codes:
        call.remark(f"{cli_text.counted(len(verdict.problems), 'problem')}; nothing was changed")
    if "rolled_back" in codes:
        call.remark("find the newer file, or accept this one with `learnings verify --accept-head`")
    return Result(document, lambda: _verdict(document), 0 if verdict.ok else fault.exit_code)


def _verdict(document: dict[str, Any]) -> Iterator[str]:
    head = document["head"]
    events = cli_text.counted(document["events"], "event")
    told = f"{events}, {document['erased']} erased, head {head['seq']} {head['hash'][:16]}…"
    yield f"{'ok' if document['ok'] else 'not ok'}: {told}"
    rows = [
        ("file" if problem["seq"] is None else f"event {problem['seq']}", problem["code"], problem["message"])
        for problem in document["problems"]
    ]
    yield from cli_text.aligned(rows)


@command(DRY_RUN)
def rebuild(call: Call) -> Result:
    """Derive every projection anew; the log is only read, and refused when it does not verify."""
    from ledger.cli_progress import busy

    with call.writing() as ledger:
        if call.given.dry_run:
            seq = ledger.store.head().seq  # its reader would rebuild what another version made
            call.remark("dry run: nothing was written")
        else:
            with busy("replaying the log"):
                seq = ledger.rebuild()
    verb = "would have rebuilt" if call.given.dry_run else "rebuilt"
    return Result({"seq": seq}, lambda: [f"{verb} the projections up to event {seq}"])


@command(DRY_RUN)
def upgrade(call: Call) -> Result:
    """Migrate the file to this program's schema, which nothing else ever does, and rebuild outdated projections."""
    from ledger.cli_call import WAIT_S
    from ledger.upgrade import upgrade as migrate

    done = migrate(call.file, call.given.dry_run, call.remark, wait_s=WAIT_S)
    line = f"{call.file} has schema {done.to_revision}; there is nothing to do"
    if done.steps:
        verb = "would upgrade" if call.given.dry_run else "upgraded"
        line = f"{verb} from {done.from_revision or 'nothing'} to {done.to_revision} ({', '.join(done.steps)})"
    if done.backup is not None:
        line += f"; the file as it was: {done.backup}"
    elif done.rebuilt and not done.steps:
        verb = "would rebuild" if call.given.dry_run else "rebuilt"
        line = f"{call.file} has schema {done.to_revision}; {verb} the projections of another version"
    return Result({"file": call.file, **plain(done)}, lambda: [line])


@command(
    Arg("--project", "the session's project (default: the repository of the working folder); not with --http"),
    Arg("--http", "serve over HTTP here, such as 127.0.0.1:8765, to clients with a token", metavar="HOST:PORT"),
    Arg("--allow-host", "another name that clients call this server by, as they send it", many="each"),
    Arg("--allow-origin", "a page that may call, such as https://example.org (default: no page may)", many="each"),
    Arg("--tls-cert", "certificate, PEM"),
    Arg("--tls-key", "its key, PEM"),
    Arg("--behind-proxy", "a proxy on the way does TLS", is_flag=True),
)
def serve(call: Call) -> Result:
    """Serve until the client closes standard input; with --http until SIGTERM or SIGINT."""
    if call.given.http is not None:
        from ledger.cli_token import serve_http

        return serve_http(call)
    from mcp_server.__main__ import serve as serve_file

    given = call.given
    if any((given.allow_host, given.allow_origin, given.tls_cert, given.tls_key, given.behind_proxy)):
        raise BadArgument("these options are for HTTP; nothing was started", "give --http HOST:PORT too")
    return Result(exit_code=serve_file(call.file, call.given.project, call.env))
