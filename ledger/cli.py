"""The command line: `learnings COMMAND …`.

This file reads the environment, finds the command, prints its answer and turns
every error into one line and an exit status. What a command does stands in a
sibling (`cli_read`, `cli_write`, `cli_file`, `cli_settings`, `cli_shell`), which
is imported when it is called. Results go to standard output, remarks to
standard error.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ledger.cli_call import Arg, Call, Command, Result, arranged, command, parser_of
from ledger.errors import BadArgument, FileFault, GuardFailed, LedgerError
from ledger.frame import clean, dumped
from ledger.home import default_file, is_adrift

TABLE = (
    ("init", "ledger.cli_file:init", "make a ledger"),
    ("record", "ledger.cli_write:record", "record what was learned: in this situation, do this"),
    ("query", "ledger.cli_read:query", "find what was learned, in your own words"),
    ("recall", "ledger.cli_recall:recall", "show what a prompt would be shown, or that it is nothing"),
    ("why", "ledger.cli_why:why", "say why a prompt is shown what it is, or nothing"),
    ("exposures", "ledger.cli_recall:exposures", "list what was shown lately"),
    ("wrong", "ledger.cli_recall:wrong", "judge what was shown last: wrong, right, or better nothing"),
    ("said", "ledger.cli_said:said", "search what was said in past sessions, in the turns of imported transcripts"),
    ("show", "ledger.cli_read:show", "show one learning: texts, state, sources, what it replaced and what replaced it"),
    ("list", "ledger.cli_read:list_learnings", "list learnings, newest first"),
    ("history", "ledger.cli_read:history", "list every event of one learning"),
    ("supersede", "ledger.cli_write:supersede", "replace one or several learnings by a better one"),
    ("retract", "ledger.cli_write:retract", "take a learning back without a successor"),
    ("undo", "ledger.cli_write:undo", "take any event or a whole import back; undo the undo to redo"),
    ("erase", "ledger.cli_erase:erase", "destroy a text for ever: a secret, personal data"),
    ("pin", "ledger.cli_write:pin", "bring a learning at the start of each session"),
    ("unpin", "ledger.cli_write:unpin", "take a pin away"),
    ("alias", "ledger.cli_write:alias", "let a learning be found by other words too"),
    ("propose", "ledger.cli_write:propose", "record a candidate, which is served only once it is accepted"),
    ("accept", "ledger.cli_write:accept", "make a candidate current"),
    ("reject", "ledger.cli_write:reject", "turn a candidate down"),
    ("quarantine", "ledger.cli_write:quarantine", "withhold a learning until it is released"),
    ("release", "ledger.cli_write:release", "let a withheld learning be served again"),
    ("review", "ledger.cli_review:review", "decide what waits: accept, reject, release, merge, edit; one key each"),
    ("trust", "ledger.cli_trust:trust", "let what files of a repository say now be recalled unasked"),
    ("import", "ledger.cli_import:import_paths", "read notes, sessions, exports and other memories into the ledger"),
    ("scan", "ledger.cli_scan:scan", "find what memory tools and agents keep, and import it"),
    ("watch", "ledger.cli_watch:watch", "import what changes on disk, as it changes"),
    ("compact", "ledger.cli_compact:compact", "move entries out of a MEMORY.md that is too long to be loaded"),
    ("export", "ledger.cli_file:export", "write learnings as JSON lines or Markdown"),
    ("sql", "ledger.cli_shell:sql", "look at the ledger in SQL, read-only: one statement, or a shell"),
    ("stats", "ledger.cli_read:stats", "count what the ledger holds"),
    ("project", "ledger.cli_settings:project", "show which project a folder belongs to; give projects other names"),
    ("config", "ledger.cli_settings:config", "show and change settings"),
    ("setup", "ledger.cli_setup:setup", "tell an agent's client of this program: server, hooks, permission"),
    ("doctor", "ledger.cli_doctor:doctor", "say what works, what has stopped, and what to do about it"),
    ("off", "ledger.cli_settings:off", "show nothing to prompts any more, everywhere or in one project"),
    ("on", "ledger.cli_settings:on", "take that back"),
    ("eval", "ledger.cli_eval:evaluate", "measure retrieval on labelled cases, or make cases of judged exposures"),
    ("verify", "ledger.cli_file:verify", "check the log, its anchor and everything derived from it"),
    ("guard", "ledger.cli_guard:guard", "grade the guards on lines of your own: secrets, and texts to withhold"),
    ("rebuild", "ledger.cli_file:rebuild", "derive everything anew from the log"),
    ("upgrade", "ledger.cli_file:upgrade", "bring the file to this program's schema, after a verified backup"),
    ("backup", "ledger.cli_erase:backup", "copy the ledger into one verified file"),
    ("hook", "ledger.cli_hook:hook", "answer an event of an agent's client, as its hooks call it"),
    ("serve", "ledger.cli_file:serve", "serve the ledger to an agent: MCP over standard input and output, or HTTP"),
    ("token", "ledger.cli_token:token", "make, list and revoke what lets a client in over HTTP"),
    ("help", "ledger.cli:help_command", "list the commands, or explain one"),
)
"""Every command: its name, the function that it is, and what it does. A new command is one more row."""

COMMANDS = {name: summary for name, _, summary in TABLE}
_HOMES = {name: home for name, home, _ in TABLE}

USAGE = "usage: learnings COMMAND [arguments] [--json] [--file FILE]"

INTERNAL = 70
"""Exit status of a fault in this program (EX_SOFTWARE)."""

ADRIFT = "the working folder is gone, and a path from there leads nowhere; nothing was done"

INTERRUPTED = 130
CLOSED_PIPE = 141
"""Exit statuses of a process ended by SIGINT and by SIGPIPE, as shells report them."""


class Common(NamedTuple):
    """The options of every command, and the words that are left."""

    words: list[str]
    is_json: bool = False
    is_debug: bool = False
    file: str | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    head = words[: words.index("--")] if "--" in words else words
    is_json, is_debug = "--json" in head, "--debug" in head
    try:
        return _printed(run(words, os.environ), is_json)
    except LedgerError as error:
        return _refused(error, is_json)
    except KeyboardInterrupt:
        remark("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _leave_pipe()
        return CLOSED_PIPE
    except Exception as error:
        if is_debug:
            raise
        if isinstance(error, FileNotFoundError) and is_adrift():
            return _refused(BadArgument(ADRIFT, "change to a folder that is there"), is_json)
        return _failed(error, is_json)


def run(words: Sequence[str], env: Mapping[str, str]) -> Result:
    """Find and run the command that `words` call, and return its answer.

    Raises:
        LedgerError: whatever it refuses or cannot do.
    """
    common = _common(words)
    if not common.words or common.words[0] in ("-h", "--help", "--version"):
        return _version() if "--version" in common.words else _overview(0 if common.words else BadArgument.exit_code)
    name, *rest = common.words
    found = command_of(name)
    is_help = {"-h", "--help"} & set(rest[: rest.index("--")] if "--" in rest else rest)
    if is_help:
        return _explained(name)
    given = parser_of(name, COMMANDS[name], found.arguments).parse_args(arranged(rest, found.arguments))
    path = common.file or default_file(env, sys.platform)
    path = os.path.abspath(os.path.expanduser(path))  # the environment an agent's client sets has no shell behind it
    return found.run(Call(given, path, common.file is not None, common.is_json, env, remark))


def command_of(name: str) -> Command:
    """Return a command by its name; imports the module it stands in.

    Raises:
        BadArgument: there is no such command; names the nearest ones.
    """
    if name not in _HOMES:
        from difflib import get_close_matches

        near = get_close_matches(name, COMMANDS, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else "see `learnings help`"
        raise BadArgument(f"there is no command {name[:40]!r}; nothing was done", hint)
    module, _, function = _HOMES[name].partition(":")
    found = getattr(sys.modules[__name__] if module == "ledger.cli" else __import__(module, fromlist=["_"]), function)
    assert isinstance(found, Command)
    return found


def _common(words: Sequence[str]) -> Common:
    """Take the options of every command out of `words`; they may stand anywhere before `--`.

    Raises:
        BadArgument: `--file` without a path.
    """
    rest: list[str] = []
    found: dict[str, Any] = {}
    at = 0
    while at < len(words) and words[at] != "--":
        word = words[at]
        at += 1
        if word in ("--json", "--debug"):
            found["is_" + word[2:]] = True
        elif word == "--file":
            found["file"] = words[at] if at < len(words) and not words[at].startswith("--") else ""
            at += bool(found["file"])
        elif word.startswith("--file="):
            found["file"] = word[7:]
        else:
            rest.append(word)
    if found.get("file") == "":
        raise BadArgument("--file has no path; nothing was done", "name the ledger's file after it")
    return Common([*rest, *words[at:]], **found)


# -- help ------------------------------------------------------------------------------------------------------------


@command(Arg("name", "the command to explain", many="?"))
def help_command(call: Call) -> Result:
    """Explain one command, or list them all."""
    return _explained(call.given.name) if call.given.name else _overview(0)


def _overview(exit_code: int) -> Result:
    width = max(map(len, COMMANDS))
    lines = [USAGE, "", *(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())]
    lines += ["", "learnings help COMMAND explains one; learnings --version says which program this is"]
    rows = [{"name": name, "summary": summary} for name, summary in COMMANDS.items()]
    return Result({"commands": rows}, lambda: lines, exit_code)


def _explained(name: str) -> Result:
    arguments = command_of(name).arguments
    text = parser_of(name, COMMANDS[name], arguments).format_help()
    return Result({"name": name, "summary": COMMANDS[name], "help": text}, lambda: [text.rstrip()])


def _version() -> Result:
    import sqlite3
    from importlib.metadata import version

    found = version("learning-ledger")
    return Result(
        {"version": found, "sqlite": sqlite3.sqlite_version},
        lambda: [f"learnings {found} (SQLite {sqlite3.sqlite_version})"],
    )


# -- printing --------------------------------------------------------------------------------------------------------


def remark(text: str) -> None:
    """Print one remark on standard error."""
    _write(sys.stderr, "learnings: " + _spoken(text) + "\n")


def _spoken(text: str) -> str:
    """Return what is said as one line that a terminal may be given, without secrets: arguments are named in it."""
    from ledger import redact

    try:
        text = redact.guarded("a message", text).text
    except GuardFailed:
        text = "(this could not be searched for secrets and is not said)"
    return clean(" ".join(text.split()))


def _printed(result: Result, is_json: bool) -> int:
    """Print an answer; return its exit status.

    Raises:
        FileFault: standard output takes no more.
    """
    if is_json:
        if result.document is not None:
            _write(sys.stdout, dumped(result.document) + "\n", is_json=True)
    else:
        for line in result.text():
            _write(sys.stdout, (line if result.is_exact else clean(line)) + "\n", is_json=result.is_exact)
    if sys.stdout is not None:
        _guarded(sys.stdout.flush)
    return result.exit_code


def _write(stream: Any, text: str, is_json: bool = False) -> None:
    """Write text that the stream's encoding may not hold; a stream that is closed takes nothing.

    JSON is UTF-8 to whoever reads it, so another encoding gets it in ASCII.
    """
    if stream is not None:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        if is_json and not text.isascii() and encoding.lower().replace("-", "") != "utf8":
            text = re.sub("[^\x00-\x7f]", lambda found: json.dumps(found.group())[1:-1], text)
        _guarded(stream.write, text.encode(encoding, "backslashreplace").decode(encoding))


def _guarded(act: Any, *given: Any) -> None:
    try:
        act(*given)
    except BrokenPipeError:
        raise
    except OSError as error:
        _leave_pipe()
        reason = (error.strerror or type(error).__name__).lower()
        raise FileFault(
            f"the answer could not be written ({reason}); what the command did stands",
            "look with `learnings stats` before you try again",
        ) from None


def _refused(error: LedgerError, is_json: bool) -> int:
    """Print an error in one line, and as a document when one was asked for; that a guard failed quotes nothing."""
    spoken = clean if isinstance(error, GuardFailed) else _spoken
    if is_json:
        told = {"code": error.code, "message": spoken(error.message), "hint": error.hint and spoken(error.hint)}
        _tried(sys.stdout, dumped({"error": told}) + "\n", is_json=True)
    _tried(sys.stderr, "learnings: " + spoken(" ".join(str(error).split())) + "\n")
    return error.exit_code


def _failed(error: Exception, is_json: bool) -> int:
    """Print a fault of this program: its type and nothing of its text, which may quote what was stored."""
    name = type(error).__name__
    hint = "run it again with --debug and report what it prints, without what is private"
    if is_json:
        _tried(sys.stdout, dumped({"error": {"code": "Internal", "message": name, "hint": hint}}) + "\n", is_json=True)
    _tried(sys.stderr, f"learnings: internal error: {name}; {hint}\n")
    return INTERNAL


def _tried(stream: Any, text: str, is_json: bool = False) -> None:
    """Write what says why the command failed, as far as there is somewhere to write it."""
    try:
        _write(stream, text, is_json)
        if stream is not None:
            stream.flush()
    except (OSError, FileFault):
        return


def _leave_pipe() -> None:
    """Let the interpreter's last flush go nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


if __name__ == "__main__":
    sys.exit(main())
