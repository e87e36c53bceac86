"""Find what mended a failure: a command fails, something is changed, and the same command succeeds.

A command is the same when it differs by folder, shell decoration or variables
only. Changes are edits that went through and commands that change something;
what was written about the failure is none, unless the failure names the file. Nothing counts as a failure
that says nothing (a search that finds nothing), that a person stopped, that ran out of time,
or that a test was written for. Robots and subagents mend nothing here.
Pure and streaming: what is remembered is bounded.
"""

import os
import re
from collections import OrderedDict
from typing import NamedTuple

from importers.transcript import Called, Output, Turn

FAILURES_MAX = 50
"""Failures of one session that wait for their remedy; the oldest is given up."""

CALLS_MAX = 200
"""Calls whose answer has not come."""

CHANGES_MAX = 6
"""Most changes between failure and success: more is work, and no remedy."""

LINES_MAX, LINE_CHARS = 100, 400
"""Lines of an output that are looked at, from its beginning and from its end, and what is looked at of each."""

STOPPED_CHARS = 1_000
"""Where the client says that a command was stopped: at the beginning."""

PART_CHARS = 240
"""Characters shown of each part of a change, and of an error."""

_READS = re.compile(
    r"\A(?:ls|cat|head|tail|grep|rg|find|fd|echo|printf|pwd|which|type|test|\[|wc|diff|ps|env|curl|nc|sleep|date"
    r"|stat|du"
    r"|df|tree|less|file|git (?:log|status|diff|show|branch|blame)|docker (?:ps|logs|images)|kubectl (?:get|logs"
    r"|describe))\b"
)
_CHANGES = re.compile(
    r"(?<![\w-])(?:install|i|add|remove|uninstall|sync|update|upgrade|migrate|up|start|restart|pull|rebase|fetch"
    r"|merge|login"
    r"|init|create|mkdir|chmod|chown|export|unset|ln|mv|cp|rm|kill|prune|clean|generate|gen|codegen|checkout|switch"
    r"|restore"
    r"|stash|format|fmt|set|use|touch|tee|source|enable|disable|config|link|seed|apply|rebuild|bootstrap|lock"
    r"|(?<=go )get|tidy|use-context|set-context|trust|allow|approve|accept|unlock|migrate:\w+|db:\w+"
    r"|add-apt-repository|corepack"
    r"|create(?:user|db)|[\w:]+:create|erase|reset|rollback|reinstall|dedupe|purge|flush|recreate|downgrade"
    r"|(?<=rubocop )-[aA]|autocorrect"
    r"|black|isort|gofmt|rustfmt|autopep8|prettier|clang-format)(?![\w-])"
    r"|--(?:write|fix|in-place)\b|\bsed -i|>{1,2} ?\S"
)
_AFAR = re.compile(r"\A(?:kubectl|docker|git|helm|aws|gcloud|az|psql|ssh)\b")
"""Looks at what is elsewhere, which may be denied."""

_DENIED = re.compile(
    r"(?i)forbidden|unauthori[sz]ed|denied|not logged in|credentials|cannot connect to|could not connect"
    r"|connection refused|expired|not a git repository|dubious ownership"
)
_PASSING = re.compile(
    r"(?i)max retries exceeded|timed? ?out|timeout|temporary failure|econnreset|etimedout|enotfound|eai_again"
    r"|connection ?(?:error|reset|aborted)|could not resolve host|\b(?:429|502|503|504)\b|rate limit"
    r"|too many requests"
    r"|network is unreachable|service unavailable|try again later"
)
"""A failure that passes by itself: an edit has not mended it, unless the failure names the file."""

_DECORATION = re.compile(
    r"(?:\s*2>&1|\s*>\s*/dev/null|\s*\|\s*(?:tail|head)(?:\s+-\w+(?:\s+\d+)?|\s+-?\d+)*|\s*;\s*echo\s+\S+"
    r"|\s*\|\|\s*true)+\s*\Z"
)
_LEAD = re.compile(r"\A(?:cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*|(?:time|timeout\s+\S+|sudo|command)\s+)")
_VARIABLE = re.compile(r"\A([A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*))\s+")
_MESSAGE = re.compile(r"(?s)\A(git commit\b.*?)\s(?:-a?m|--message)[ =].*")
_STOPPED = re.compile(
    r"(?i)user doesn't want to proceed|request interrupted|tool use was rejected|permission to use|was (?:cancell?ed"
    r"|aborted)"
    r" by|command timed out|timed out after|hook (?:blocked|denied)|<tool_use_error>"
)
_CODE = re.compile(r"(?im)^\s*(?:error: )?(?:command failed with )?exit (?:code|status):?\s*\d+\s*$")
_PROSE = (".md", ".txt", ".rst", ".adoc")
_TESTS = re.compile(
    r"(?i)(?:\A|[/\\])(?:tests?|specs?|__tests__)[/\\]|[._-](?:test|spec)\.\w+\Z|(?:\A|[/\\])test_[^/\\]+\Z"
)
_NAMING = (
    "error", "exception", "fatal", "panic", "panicked", "denied", "refused", "cannot", "can't", "could not", "couldn't",
    "failed", "failure", "undefined", "not found", "no such", "invalid", "mismatch", "expected", "unable", "missing",
    "unknown", "unresolved", "killed",
)  # fmt: skip
_NAMED = re.compile(rf"(?i)(?:{'|'.join(_NAMING)})\b")
_THROWN = re.compile(r"^\s*(?:[\w.]+\.)?\w*(?:Error|Exception|Warning|Interrupt|Exit)\b(?::|$|\s-)")


class Remedy(NamedTuple):
    """A failure and what mended it: texts as a reader would search and use them, and the line that proves it.

    `uuid`, `line` and `at` are those of the answer that succeeded; `failures` is how often the command failed before,
    `changes` how many changes there were.
    """

    problem: str
    solution: str
    uuid: str
    line: int
    at: str | None
    cwd: str | None
    session: str
    failures: int
    changes: int


class _Failure:
    """A command that failed and waits; `since` counts the changes up to its last failure."""

    def __init__(self, command: str, variables: frozenset[str], error: str, told: str) -> None:
        self.command, self.variables, self.error, self.told = command, variables, error, told
        self.times = 1
        self.changes: list[str] = []
        self.since = 0


class Watch:
    """One session being watched for failures that get mended."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, Called] = OrderedDict()
        self._failures: OrderedDict[str, _Failure] = OrderedDict()
        self._went_well: OrderedDict[str, None] = OrderedDict()
        self._tests: OrderedDict[str, None] = OrderedDict()

    def hear(self, turn: Turn) -> list[Remedy]:
        """Take the next turn of the session; return what it proves to be mended."""
        if turn.is_robot or turn.is_aside:
            return []
        for call in turn.calls:
            self._calls[call.id] = call
            if len(self._calls) > CALLS_MAX:
                self._calls.popitem(last=False)
        found = []
        for output in turn.outputs:
            known = self._calls.pop(output.id, None) if output.id else None
            remedy = self._answered(known, output, turn) if known is not None else None
            found += [remedy] if remedy is not None else []
        return found

    def _answered(self, call: Called, output: Output, turn: Turn) -> Remedy | None:
        if call.command is None:
            if not output.is_error and call.path is not None and (call.old is not None or call.new is not None):
                self._edited(call, turn.cwd)
            return None
        command, variables = normalised(call.command)
        if not output.is_error:
            return self._succeeded(command, variables, call.command, turn)
        if not _STOPPED.search(output.text[:STOPPED_CHARS]):
            self._failed(command, variables, output.text, turn.cwd)
        return None

    def _failed(self, command: str, variables: frozenset[str], text: str, cwd: str | None) -> None:
        known = self._failures.get(command)
        if known is not None:
            known.times += 1
            known.since = len(known.changes)
            known.told = f"{known.told}\n{text}"[-8_000:]
            return
        error = error_of(text, cwd)
        if error is None or (_READS.match(command) and not (_AFAR.match(command) and _DENIED.search(error))):
            return
        if command not in self._went_well and any(name in command or name in text for name in self._tests):
            return
        self._failures[command] = _Failure(command, variables, error, text)
        if len(self._failures) > FAILURES_MAX:
            self._failures.popitem(last=False)

    def _succeeded(self, command: str, variables: frozenset[str], typed: str, turn: Turn) -> Remedy | None:
        self._went_well[command] = None
        if len(self._went_well) > CALLS_MAX:
            self._went_well.popitem(last=False)
        failure = self._failures.pop(command, None)
        if failure is None:
            if _CHANGES.search(command) and not _READS.match(command):
                self._changed(f"run `{_shown(_bare(typed))}`")
            return None
        new = sorted(variables - failure.variables)
        changes = [*failure.changes, *([f"set `{' '.join(new)}` for it"] if new else [])]
        if not 0 < len(changes) <= CHANGES_MAX or len(changes) == failure.since:
            return None
        problem = f"`{_shown(command)}` fails: {failure.error}"
        return Remedy(
            problem, "; then ".join(changes), turn.uuid, turn.line, turn.at, turn.cwd, turn.session,
            failure.times, len(changes),
        )  # fmt: skip

    def _edited(self, call: Called, cwd: str | None) -> None:
        path = _below(call.path or "", cwd)
        name = os.path.basename(path)
        if call.old is None and _TESTS.search(path):
            self._tests[name] = None
            if len(self._tests) > CALLS_MAX:
                self._tests.popitem(last=False)
        for failure in self._failures.values():
            is_elsewhere = path.lower().endswith(_PROSE) or _PASSING.search(failure.error)
            if not is_elsewhere or name in failure.told or name in failure.command:
                failure.changes.append(f"in {path} {_edit(call.old, call.new)}")

    def _changed(self, change: str) -> None:
        for failure in self._failures.values():
            if change not in failure.changes:
                failure.changes.append(change)


def normalised(command: str) -> tuple[str, frozenset[str]]:
    """Return a command without folder, decoration, variables and white space, and the variables set for it."""
    bare, variables = " ".join(command.split()), set()
    while True:
        lead, variable = _LEAD.match(bare), _VARIABLE.match(bare)
        if lead is None and variable is None:
            break
        if variable is not None:
            variables.add(variable.group(1))
        bare = bare[(lead or variable).end() :]  # type: ignore[union-attr]
    bare = _DECORATION.sub("", bare)
    return _MESSAGE.sub(r"\1", bare), frozenset(variables)


def error_of(text: str, cwd: str | None) -> str | None:
    """Return the line of an output that names the error, None when it says nothing."""
    filled = [line.strip()[:LINE_CHARS] for line in _CODE.sub("", text).splitlines() if line.strip()]
    if not filled:
        return None
    lines = filled if len(filled) <= 2 * LINES_MAX else [*filled[:LINES_MAX], *filled[-LINES_MAX:]]
    thrown = [line for line in lines if _THROWN.match(line)]
    named = next(filter(_is_named, lines), lines[0])
    best = thrown[-1] if thrown else named
    return _shown(best.replace(f"{cwd}/", "") if cwd and len(cwd) > 1 else best)


def _is_named(line: str) -> bool:
    """Tell whether a line names an error; most hold none of the words, and letters that are not ASCII may be some."""
    low = line.lower()
    return (not line.isascii() or any(map(low.__contains__, _NAMING))) and _NAMED.search(line) is not None


def _edit(old: str | None, new: str | None) -> str:
    """Return an edit by the lines that differ."""
    before, after = (old or "").splitlines(), (new or "").splitlines()
    gone = " ".join(line.strip() for line in before if line not in after).strip()
    come = " ".join(line.strip() for line in after if line not in before).strip()
    if gone and come:
        return f"replace `{_shown(gone)}` with `{_shown(come)}`"
    if come:
        return f"add `{_shown(come)}`"
    return f"remove `{_shown(gone)}`" if gone else "change white space"


def _bare(command: str) -> str:
    return _DECORATION.sub("", _LEAD.sub("", " ".join(command.split())))


def _below(path: str, cwd: str | None) -> str:
    return path.removeprefix(f"{cwd}/") if cwd else path


def _shown(text: str) -> str:
    """Return a text on one line, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= PART_CHARS:
        return line
    return line[:PART_CHARS].rpartition(" ")[0] + " …" if " " in line[:PART_CHARS] else line[: PART_CHARS - 1] + "…"
