"""What a command is given, what it gives back, and how its arguments are declared.

A command is one function under `@command(Arg(…), …)` in a sibling module, and
one row of the table in `cli.py`. Only the parser of the command that was called
is built, and the write side is imported by `Call.writing` alone: `learnings
query` is run by agents, who wait for every import.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn

from ledger.errors import BadArgument, TooLong

if TYPE_CHECKING:
    from ledger.ledger import Ledger
    from ledger.reader import Reader

WAIT_S = 10.0
"""Wait for other writers before giving up, in seconds."""

HELP_COLUMNS = 100
"""Width of a command's help."""

STDIN_BYTES = 1_048_576
"""Most bytes read from standard input for one text; the longest text that can be stored has 64,000."""


PROMPT_BYTES = 16_777_216
"""Most bytes of a prompt that are read from standard input; of a longer one the rest is not looked at."""


class Arg(NamedTuple):
    """One argument: a positional one, or an option when its name begins with `--`.

    `kind` turns the typed text into a value and may raise `argparse.ArgumentTypeError`.
    `many` is the `nargs` of a positional argument, or "each" for an option that
    may be repeated. `is_flag` options take no value.
    """

    name: str
    help: str
    required: bool = False
    kind: Callable[[str], Any] = str
    many: str = ""
    default: Any = None
    is_flag: bool = False
    metavar: str | None = None


class Result(NamedTuple):
    """What a command answers.

    `document` is printed with `--json`, the lines of `text` without; `text` is
    called only then. `is_exact` lines are JSON, a file format, and printed as they are;
    all others are cleaned for the terminal. No document means: nothing to print.
    """

    document: Any = None
    text: Callable[[], Iterable[str]] = tuple
    exit_code: int = 0
    is_exact: bool = False


class Call(NamedTuple):
    """One call of a command.

    `given` holds the arguments by name. `file` is the ledger's path, absolute;
    `is_named` says that it came from `--file`. `remark` prints one line on
    standard error. `env` is the process's environment as `cli.main` read it.
    """

    given: Any
    file: str
    is_named: bool
    is_json: bool
    env: Mapping[str, str]
    remark: Callable[[str], None]

    def reading(self) -> "Reader":
        """Open the ledger to read it; loads nothing that writes, unless an older copy has to be erased again first."""
        from ledger.errors import Unerased
        from ledger.reader import open_reader

        try:
            return open_reader(self.file)
        except Unerased:
            with self.writing() as ledger:
                ledger.store.erase_again()
                for text in ledger.store.remarks:
                    self.remark(text)
        return open_reader(self.file)

    def writing(self, create: bool = False) -> "Ledger":
        """Open the ledger to write it as a person, and say so when that made the file."""
        from ledger.ledger import Ledger
        from ledger.model import person

        is_new = create and not (os.path.exists(self.file) and os.path.getsize(self.file))
        ledger = Ledger.open(self.file, person(), create=create, wait_s=WAIT_S)
        if is_new:
            self.remark(f"made a new ledger, readable by you alone: {self.file}")
        return ledger

    def undo_hint(self, seq: int, word: str = "undo", batch: int | None = None) -> str:
        """Return how to take event `seq` back, or all of `batch`, as something to type."""
        what = (str(seq),) if batch is None else ("--batch", str(batch))
        return f"({word}: {self.typed('undo', *what)})"

    def typed(self, *words: str) -> str:
        """Return a command that works on the same file, quoted for a shell."""
        if not self.is_named:
            return " ".join(("learnings", *words))
        import shlex

        return " ".join(("learnings", *words, "--file", shlex.quote(self.file)))


class Command(NamedTuple):
    """A function of one `Call`, with its arguments."""

    run: Callable[[Call], Result]
    arguments: tuple[Arg, ...]


def command(*arguments: Arg) -> Callable[[Callable[[Call], Result]], Command]:
    """Declare the arguments of the command that the decorated function is."""
    return lambda run: Command(run, arguments)


DRY_RUN = Arg("--dry-run", "say what would happen and write nothing", is_flag=True)
EVENT_ID = Arg("--event-id", "UUID of the event to append; the same one again answers the first time's result")


# -- arguments -------------------------------------------------------------------------------------------------------


class Formatter(argparse.HelpFormatter):
    """argparse's, with a width of its own: to find one, argparse imports `shutil` on every start (6 ms of 46)."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=HELP_COLUMNS)


class Parser(argparse.ArgumentParser):
    """argparse, with its refusals in this project's words."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving with 2.

        Raises:
            BadArgument: always.
        """
        words = " ".join(message.removeprefix("argument ").split())
        raise BadArgument(f"{words}; nothing was done", f"see `{self.prog} --help`")


def parser_of(name: str, summary: str, arguments: Iterable[Arg]) -> Parser:
    """Return the parser of one command; its help names the common options too."""
    parser = Parser(prog=f"learnings {name}", description=summary, allow_abbrev=False, formatter_class=Formatter)
    for arg in arguments:
        _add(parser, arg)
    common = parser.add_argument_group("options of every command")
    common.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON document")
    common.add_argument(
        "--file", default=argparse.SUPPRESS, help="the ledger (else LEARNINGS_FILE, else the data folder)"
    )
    common.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="print the traceback of an internal error"
    )
    return parser


def _add(parser: argparse.ArgumentParser, arg: Arg) -> None:
    settings: dict[str, Any] = {"help": arg.help}
    if arg.is_flag:
        settings["action"] = "store_true"
    else:
        settings.update(type=arg.kind, default=arg.default, metavar=arg.metavar)
        if arg.many == "each":
            settings.update(action="append", default=arg.default or [])
        elif arg.many:
            settings["nargs"] = arg.many
            if arg.name.startswith("--"):  # its value may be left out, which is not the same as no option
                settings["const"] = ""
    if arg.name.startswith("--"):
        settings["required"] = arg.required
    parser.add_argument(arg.name, **settings)


def arranged(words: Sequence[str], arguments: Iterable[Arg]) -> list[str]:
    """Return the words with options first, their values attached, then `--` and everything else.

    So options may stand anywhere, and a value may begin with a dash as long as it
    is not itself an option of this command.
    """
    takes_value = {arg.name: not arg.is_flag for arg in arguments if arg.name.startswith("--")}
    options: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            rest += words[at:]
            break
        if takes_value.get(word) and at < len(words) and words[at] not in takes_value and words[at] != "--":
            options.append(f"{word}={words[at]}")
            at += 1
        elif word.startswith("-") and word != "-":
            options.append(word)
        else:
            rest.append(word)
    return [*options, "--", *rest] if rest else options


def number(text: str) -> int:
    """Return a whole number.

    Raises:
        ArgumentTypeError: it is none, or has more digits than a seq can have.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number")
    return int(text)


def texts(*given: str) -> list[str]:
    """Return texts as given; the one that is `-` is read from standard input.

    Raises:
        BadArgument: more than one is `-`.
        TooLong: the input is far beyond every cap.
    """
    if given.count("-") > 1:
        raise BadArgument("standard input can only be one of the texts; nothing was done", "give the other as it is")
    return [_from_stdin() if text == "-" else text for text in given]


def prompt_text(text: str) -> str:
    """Return a prompt as given; `-` is read from standard input, of any length and in any encoding.

    Raises:
        BadArgument: standard input is closed.
    """
    return _decoded(stdin().read(PROMPT_BYTES)) if text == "-" else text


def _from_stdin() -> str:
    data = stdin().read(STDIN_BYTES + 1)
    if len(data) > STDIN_BYTES:
        raise TooLong("standard input", len(data), STDIN_BYTES, "bytes")
    return _decoded(data)


def stdin() -> BinaryIO:
    """Return standard input as bytes.

    Raises:
        BadArgument: it is closed.
    """
    if sys.stdin is None:
        raise BadArgument("standard input is closed; nothing was done", "pipe the text into the command")
    return sys.stdin.buffer


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
