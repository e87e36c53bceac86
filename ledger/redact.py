"""Replace secrets by `[REDACTED:<kind>]` before a text is written anywhere.

Pure and deterministic: the same text and the same rules give the same answer,
and a scrubbed text is left as it is. The rules are data
(`schema/secrets.v1.json`), read on first use; a rule file that is missing or
wrong raises, so that the caller stores nothing. Most texts hold no secret, so
a rule's pattern runs only where one of its literal hints occurs.
Lean path: stdlib only.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger.model import schema_path

RULES_VERSION: int
"""Version of the rule file; an event carries it, so that better rules can scan again."""

LONG_WORD = 16
"""Fewest characters of a token with a known shape; texts without such a word skip those rules."""

LONGEST_VALUE = 512
"""Most characters read as one password or key after its name."""

ROUNDS = 12
"""Passes before the rest of a text that keeps showing new secrets is replaced whole."""

_MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")
_SPLITTERS = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+|[\"']\\s{0,8}[+.&]\\s{0,8}[\"']|[\"']?\\s{0,4}\\\\\n\\s{0,8}[\"']?")
_QUOTE = re.compile(r"\\{0,3}[\"'`]")
_BARE = re.compile(rf"[^\s\"'`<>，。；、！？」』）]{{1,{LONGEST_VALUE}}}")
_CUT = re.compile(r"[,;&|](?=[,;&|]|$|[\w.-]{1,40}=)|\\[nrt]|[)\]}]+[,;.]*$|\\$")
_WORD = re.compile(
    r"(?<![A-Za-z0-9\u00c0-\u024f])(?=[A-Za-z0-9!#$%*+@^_~\u00c0-\u024f])(?:[A-Za-z][\w.-]{0,30}[:/](?=[^/\s]))?"
    r"(?P<v>(?=[^\s\d!#$%*+@^]{0,60}[\d!#$%*+@^])[A-Za-z0-9!#$%*+./?@\[\]^_~\u00c0-\u024f-]{5,128}={0,2})"
)
_TAIL = re.compile(r"[^\s\"'`<>]*")
_NESTED = re.compile(r"(?i)(?:pass|pwd|secret|token|key|cred|auth|sess|sid|psk)[\w-]{0,16}[\\\"']{0,2}[=:]")
_INSIDE = "/?&.%\\@-#~_"
_STOP = re.compile(r"[\n。！？]|[.!?;](?=\s|$)")
_JOINS = re.compile(r"[-_./:\\,@ ]+")
_WORDY = re.compile(r"[A-Z]?[a-z]*\d{0,4}\Z|[A-Z]+\d{0,3}\Z|(?:[A-Z]?[a-z]{2,}){2,5}\Z")
_HASH = re.compile(r"(?:(?:sha\d{1,3}|md5)[:=-])?(?:[0-9a-fA-F]{7,64}|[0-9a-f]{96}|[0-9a-f]{128})\Z")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z|[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_OPTION = re.compile(r"(?:^|[\s\"'\[(,])-{1,2}[\w-]{0,30}\Z")
_IS = re.compile(
    r"(?:[:=：→>]|\b(?:is|was|are|ist|lautet|es|est|è|é|e|jest|to|är|er|on|это|este|je|là|adalah)\s"
    r"|[是为為はが는은—]|\s(?:है|هو|هي|-)\s)[\s\"'`*]*\Z"
)
_GIBBERISH = re.compile(r"(?i)[bcdfghjklmnpqrstvwxz]{5}")
_SYMBOL = re.compile(r"[!#$%^&*+=?~|@]")
_LOWER = {upper: upper + 32 for upper in range(65, 91)}


class Scrubbed(NamedTuple):
    """A text without its secrets, and the kinds found, in order of place, with repeats."""

    text: str
    kinds: tuple[str, ...]


class _Span(NamedTuple):
    """A stretch to replace; `order` is the place of its rule in the file, the more specific first."""

    start: int
    end: int
    order: int
    kind: str


class _Value(NamedTuple):
    """What stands at a rule's value place, with the surroundings a check may ask for."""

    text: str
    before: str = ""
    between: str = ""
    quoted: bool = False
    loud: bool = False


class _Rule:
    """One rule; its patterns are compiled when one of its hints is first seen."""

    __slots__ = (
        "_after", "_after_source", "_flags", "_pattern", "_source", "_value", "_value_source",
        "check", "hints", "kind", "order", "reach",
    )  # fmt: skip

    def __init__(self, order: int, row: dict[str, Any], source: str, flags: int) -> None:
        self.order = order
        self.kind: str = row["kind"]
        self.hints: tuple[str, ...] = tuple(row.get("hints") or row["starts"])
        self.check = _CHECKS[row.get("check", "token")]
        self.reach: int = row.get("within", 0)
        self._source = source
        self._flags = flags
        self._value_source: str | None = row.get("value")
        self._after_source: str | None = row.get("after")
        self._after: re.Pattern[str] | None = None
        self._pattern: re.Pattern[str] | None = None
        self._value: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        if self._pattern is None:
            self._pattern = re.compile(self._source, self._flags)
        return self._pattern

    @property
    def value(self) -> re.Pattern[str]:
        if self._value is None:
            self._value = re.compile(self._value_source) if self._value_source else _WORD
        return self._value


    def follows(self, text: str, place: int) -> bool:
        """Say whether the line up to `place` is what the rule asks for, such as a command's name."""
        if self._after_source is None:
            return True
        if self._after is None:
            self._after = re.compile(self._after_source, self._flags)
        return self._after.search(text[max(0, place - 200) : place]) is not None


class _Rules(NamedTuple):
    """The rule file, arranged by where its hints are looked for."""

    version: int
    starts: tuple[tuple[str, _Rule], ...]
    shapes: tuple[_Rule, ...]
    short: tuple[tuple[str, tuple[_Rule, ...]], ...]
    contexts: tuple[tuple[str, tuple[_Rule, ...]], ...]
    foreign: tuple[tuple[str, tuple[_Rule, ...]], ...]
    commands: tuple[tuple[str, tuple[_Rule, ...]], ...]
    published: frozenset[str]
    placeholders: frozenset[str]
    strong: tuple[str, ...]
    innocent: tuple[str, ...]
    patterns: dict[str, re.Pattern[str]]


_rules: _Rules | None = None


def __getattr__(name: str) -> int:
    if name == "RULES_VERSION":
        return _loaded().version
    raise AttributeError(name)


def scrub(text: str) -> Scrubbed:
    """Return `text` with every secret replaced; the text around it is unchanged.

    Linear in the length of the text. One replacement can bare another secret
    (two tokens without a space), so the scan repeats until nothing is found.

    Raises:
        OSError, ValueError, KeyError, re.error: the rule file is missing or wrong; store nothing.
    """
    rules = _loaded()
    marks: list[_Span] = []
    turn = 0
    while spans := _scan(rules, text):
        turn += 1
        if turn > ROUNDS:
            spans = [spans[0]._replace(end=len(text))]
            marks = [mark for mark in marks if mark.end <= spans[0].start]
        text, marks = _replaced(text, sorted(marks + spans))
    return Scrubbed(text, tuple(mark.kind for mark in marks))


def _replaced(text: str, spans: list[_Span]) -> tuple[str, list[_Span]]:
    """Return the text with a mark for each span, and where the marks stand in it."""
    parts: list[str] = []
    marks: list[_Span] = []
    last = size = 0
    for span in spans:
        mark = f"[REDACTED:{span.kind}]"
        size += span.start - last
        parts += (text[last : span.start], mark)
        marks.append(_Span(size, size + len(mark), span.order, span.kind))
        size += len(mark)
        last = span.end
    parts.append(text[last:])
    return "".join(parts), marks


def _scan(rules: _Rules, text: str) -> list[_Span]:
    """Return what to replace: ordered, not overlapping, never part of a mark.

    The words of a mark are no hints: marks are read as runs of U+0000.
    """
    bare = _MARK.sub(_inert, text) if "[REDACTED:" in text else text
    spans = list(_search(rules, bare))
    if _may_split(bare) and _SPLITTERS.search(bare):
        whole, places = _joined(bare)
        spans += (
            span._replace(start=places[span.start], end=places[span.end - 1] + 1) for span in _search(rules, whole)
        )
    if not spans:
        return spans
    return list(_outside_marks(text, _merged(sorted(spans))))


def _inert(mark: re.Match[str]) -> str:
    return "\0" * len(mark[0])


def _may_split(text: str) -> bool:
    return not text.isascii() or "\\\n" in text or '"' in text or "'" in text


def _joined(text: str) -> tuple[str, list[int]]:
    """Return the text without what splits words (invisible characters, `" + "`), and the place of each character."""
    places: list[int] = []
    last = 0
    for match in _SPLITTERS.finditer(text):
        places.extend(range(last, match.start()))
        last = match.end()
    places.extend(range(last, len(text)))
    return _SPLITTERS.sub("", text), places


def _merged(spans: list[_Span]) -> list[_Span]:
    """Join overlapping spans; the kind is that of the longest, then of the more specific rule."""
    merged: list[_Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            first = merged[-1]
            best = min(first, span, key=lambda one: (one.start - one.end, one.order))
            merged[-1] = _Span(first.start, max(first.end, span.end), best.order, best.kind)
        else:
            merged.append(span)
    return merged


def _outside_marks(text: str, spans: list[_Span]) -> Iterator[_Span]:
    """Cut marks out of spans; pieces without a letter or digit are not worth a mark."""
    marks = [match.span() for match in _MARK.finditer(text)]
    at = 0
    for span in spans:
        start = span.start
        while at < len(marks) and marks[at][1] <= start:
            at += 1
        for left, right in marks[at:]:
            if left >= span.end:
                break
            if any(map(str.isalnum, text[start:left])):
                yield span._replace(start=start, end=left)
            start = max(start, right)
            at += 1
        if any(map(str.isalnum, text[start : span.end])):
            yield span._replace(start=start)


def _search(rules: _Rules, text: str) -> Iterator[_Span]:
    """Yield every stretch a rule replaces, in no order."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = text.translate(_LOWER)
    yield from _tokens(rules, text)
    for hint, ruled in rules.short:
        if hint in text:
            for rule in ruled:
                yield from _shaped(rules, rule, text)
    yield from _named(rules, rules.contexts, text, folded)
    if not text.isascii():
        yield from _named(rules, rules.foreign, text, folded)
    if " -" in text or "|" in text:
        yield from _named(rules, rules.commands, text, text)


def _tokens(rules: _Rules, text: str) -> Iterator[_Span]:
    """Yield tokens that show what they are; only texts with a long word can hold one."""
    words = "\n".join([word for word in text.split() if len(word) >= LONG_WORD])
    if not words:
        return
    for start, rule in rules.starts:
        if start in words:
            yield from _started(rules, rule, start, text)
    for rule in rules.shapes:
        if any(hint in words for hint in rule.hints):
            yield from _shaped(rules, rule, text)


def _started(rules: _Rules, rule: _Rule, start: str, text: str) -> Iterator[_Span]:
    """Yield the tokens that begin with `start`."""
    place = text.find(start)
    while place >= 0:
        match = rule.pattern.match(text, place)
        if match and _is_secret(rules, rule, _Value(match["v"]), match[0]):
            yield _Span(place, match.end(), rule.order, rule.kind)
        place = text.find(start, match.end() if match else place + 1)


def _shaped(rules: _Rules, rule: _Rule, text: str) -> Iterator[_Span]:
    """Yield the matches of a pattern; with `within`, the values that follow each match."""
    for match in rule.pattern.finditer(text):
        if rule.reach:
            yield from _following(rules, rule, text, match.end(), 0, "")
            continue
        group = "v" if "v" in rule.pattern.groupindex else 0
        if _is_secret(rules, rule, _Value(match[group], between=match[0]), match[group]):
            yield _Span(*match.span(group), rule.order, rule.kind)


def _named(
    rules: _Rules, table: tuple[tuple[str, tuple[_Rule, ...]], ...], text: str, folded: str
) -> Iterator[_Span]:
    """Yield the values that stand after a telling name."""
    for hint, ruled in table:
        if hint in folded:
            for rule in ruled:
                yield from _after_name(rules, rule, hint, text, folded)


def _after_name(rules: _Rules, rule: _Rule, hint: str, text: str, folded: str) -> Iterator[_Span]:
    """Yield the values of one rule, whose pattern begins at each place of `hint`."""
    place = folded.find(hint)
    seen = 0
    while place >= 0:
        resume = place + len(hint)
        match = rule.pattern.match(text, place)
        before = folded[max(0, place - 28) : place]
        if match and rule.reach:
            yield from _following(rules, rule, text, match.end(), seen, before)
            seen = match.end() + rule.reach
        elif match:
            start, end, quoted = _read(text, match.end())
            value = _Value(text[start:end], before, match[0], quoted, text[place:resume].isupper())
            if start < end and _is_value(rules, rule, value) and rule.follows(text, place):
                resume = end = _TAIL.match(text, end).end() if end - start >= LONGEST_VALUE else end
                yield _Span(start, end, rule.order, rule.kind)
        place = folded.find(hint, resume)


def _is_value(rules: _Rules, rule: _Rule, value: _Value) -> bool:
    """Judge the value of a name; one that holds a name itself is left to that name."""
    return not _NESTED.search(value.text) and _is_secret(rules, rule, value, value.text)


def _following(rules: _Rules, rule: _Rule, text: str, at: int, seen: int, before: str) -> Iterator[_Span]:
    """Yield what passes among the words after `at`; prose is read to the end of its sentence.

    What lies before `seen` was judged for the name before this one.
    """
    limit = min(len(text), at + rule.reach)
    if rule.value is _WORD:
        stop = _STOP.search(text, at, limit)
        limit = stop.start() if stop else limit
    for found in rule.value.finditer(text, max(at, seen), limit):
        match = rule.value.match(text, found.start()) or found
        group = "v" if "v" in rule.value.groupindex else 0
        start, end = match.span(group)
        if rule.value is _WORD:
            if text[found.start() - 1] in _INSIDE:
                continue
            end = start + len(text[start:end].rstrip(".,;:)]}"))
        value = _Value(text[start:end], before, text[at:start])
        if _is_secret(rules, rule, value, value.text):
            yield _Span(start, end, rule.order, rule.kind)


def _read(text: str, at: int) -> tuple[int, int, bool]:
    """Return where the value at `at` starts and ends, and whether quotes say so."""
    quote = _QUOTE.match(text, at)
    if quote:
        at = quote.end()
        end = text.find(quote[0], at, at + LONGEST_VALUE)
        while end > 0 and quote[0][0] != "\\" and text[end - 1] == "\\":
            end = text.find(quote[0], end + 1, at + LONGEST_VALUE)
        if end >= 0 and "\n" not in text[at:end]:
            return at, end, True
    bare = _BARE.match(text, at)
    if not bare or _NESTED.match(text, at):
        return at, at, False
    cut = _CUT.search(bare[0])
    end = at + (cut.start() if cut else len(bare[0]))
    return at, at + len(text[at:end].rstrip(".,:;")), False


def _is_secret(rules: _Rules, rule: _Rule, value: _Value, whole: str) -> bool:
    """Say whether the rule's check takes the value and no documentation has published it."""
    if not rule.check(rules, value):
        return False
    import hashlib  # paid only by texts with a candidate

    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest() not in rules.published


def _is_placeholder(rules: _Rules, text: str) -> bool:
    """Say whether a value only holds the place of a secret (`<token>`, `$VAR`, `your-key-here`, `****`)."""
    parts = _JOINS.split(text.lower().strip("[](){}<>"))
    if len(set(text)) <= 1 or all(part in rules.placeholders for part in parts if part):
        return True
    return rules.patterns["placeholder"].match(text) is not None


def _is_ignorable(rules: _Rules, text: str) -> bool:
    """Say whether a value is a placeholder, names where a secret is kept, or is code that reads one."""
    return _is_placeholder(rules, text) or any(rules.patterns[name].match(text) for name in ("reference", "code"))


def _is_dense(text: str, shortest: int = 12) -> bool:
    """Say whether a text looks drawn at random rather than made of words."""
    if len(text) < shortest or " " in text:
        return False
    if _SYMBOL.search(text.rstrip("=")) and not text.isalnum() and len(set(text)) >= 6:
        return True
    if all(map(_WORDY.match, _JOINS.split(text))):
        return False
    digits = sum(map(str.isdigit, text))
    letters = sum(map(str.isalpha, text))
    return digits > 0 and letters > 1 and len(set(text)) >= 6


def _is_hash(text: str) -> bool:
    """Say whether a text has the shape of a digest or of an identifier."""
    return bool(_HASH.match(text) or _UUID.match(text))


def _token(rules: _Rules, value: _Value) -> bool:
    body = value.text
    if len(set(body.strip("xX*.-_0"))) == 0:
        return False
    parts = _JOINS.split(body.lower())
    return not all(part in rules.placeholders or not part.strip("x0") for part in parts)


def _dense(rules: _Rules, value: _Value) -> bool:
    return not _is_ignorable(rules, value.text) and _is_dense(value.text) and not _is_hash(value.text)


def _named_value(rules: _Rules, value: _Value) -> bool:
    """Judge `key = value`: what stands before the name says whether a digest is a credential."""
    text = value.text
    before = value.before.rstrip(" _-.\"'")
    if before.endswith(rules.innocent) or value.before.endswith((":", "/")) or _is_ignorable(rules, text):
        return False
    strong = before.endswith(rules.strong) or value.between.lower().startswith("secret")
    copula = not re.search("[:=>：＝→]", value.between)
    if _is_hash(text):
        return len(text) >= 24 and (strong or (value.loud and not copula and bool(before)))
    if text.startswith("base64:"):
        return True
    return _is_dense(text, 8 if strong else 16) and (strong or not copula or len(text) >= 20)


def _password(rules: _Rules, value: _Value) -> bool:
    """Judge `password = value`; a bare word of letters is more often code than a password."""
    text = value.text
    if len(text) < (4 if value.quoted else 5) or _is_placeholder(rules, text):
        return False
    if text.isalpha():
        return value.quoted or (value.loud and len(text) >= 6) or _GIBBERISH.search(text) is not None
    if _is_ignorable(rules, text):
        return False
    if value.quoted:
        return " " not in text or "phrase" in value.between.lower()
    if text.isdigit():
        return value.loud or len(text) >= 6
    return bool(_SYMBOL.search(text) or not rules.patterns["lookalike"].match(text))


def _option(rules: _Rules, value: _Value) -> bool:
    return bool(_OPTION.search(value.before)) and _dense(rules, value)


def _option_password(rules: _Rules, value: _Value) -> bool:
    option = _OPTION.search(value.before) or value.before.endswith("-")
    return bool(option) and _argument(rules, value)


def _argument(rules: _Rules, value: _Value) -> bool:
    text = value.text
    if len(text) < 4 or text.startswith("-") or text.isdigit() or " " in text:
        return False
    return not _is_ignorable(rules, text) or (value.quoted and text.isalpha() and not _is_placeholder(rules, text))


def _header(rules: _Rules, value: _Value) -> bool:
    text = value.text
    if len(text) < 8 or _is_ignorable(rules, text):
        return False
    return any(map(str.isdigit, text)) or not _WORDY.match(text)


def _cookie(rules: _Rules, value: _Value) -> bool:
    name = re.split(r"[;,\s]", value.between)[-1]
    telling = re.search("(?i)sess|sid|auth|token|jwt|remember|login|csrf|xsrf", name)
    return not _is_ignorable(rules, value.text) and _is_dense(value.text, 8 if telling else 20)


def _url(rules: _Rules, value: _Value) -> bool:
    user = re.search("//([^:]*):", value.between)
    if user and user[1] == value.text:
        return False
    return len(value.text) >= 3 and not _is_placeholder(rules, value.text)


def _prose(rules: _Rules, value: _Value) -> bool:
    """Judge a word of a sentence about a password; after `is` less strength is asked for."""
    text = value.text
    if len(text) < 6 or _is_ignorable(rules, text) or rules.patterns["lookalike"].match(text) or _is_hash(text):
        return False
    digit = any(map(str.isdigit, text))
    letter = any(map(str.isalpha, text))
    if _IS.search(value.between):
        return letter and (digit or bool(re.search(r"\w[!#$%^&*+~]\w", text)))
    if rules.patterns["wordlike"].match(text) or all(map(_WORDY.match, _JOINS.split(text))):
        return False
    return letter and digit and (bool(re.search(r"[!#$%^&*+?~@]", text)) or _is_dense(text, 10))


def _loose(rules: _Rules, value: _Value) -> bool:
    """Judge a word of a sentence about a token: only long random ones are secrets."""
    text = value.text
    if len(text) < 20 or value.before.rstrip(" _-").endswith(rules.innocent) or _is_hash(text) or _is_ignorable(rules, text) or rules.patterns["lookalike"].match(text):
        return False
    kinds = (str.islower, str.isupper, str.isdigit)
    return re.fullmatch(r"[\w+=~-]+", text) is not None and all(any(map(kind, text)) for kind in kinds)


def _seed(rules: _Rules, value: _Value) -> bool:
    return len(set(value.text.split())) >= 10


_CHECKS: dict[str, Callable[[_Rules, _Value], bool]] = {
    "token": _token,
    "dense": _dense,
    "named": _named_value,
    "password": _password,
    "option": _option,
    "option_password": _option_password,
    "argument": _argument,
    "header": _header,
    "cookie": _cookie,
    "url": _url,
    "prose": _prose,
    "loose": _loose,
    "seed": _seed,
}


def _loaded() -> _Rules:
    """Return the rules; the file is read once in a process."""
    global _rules
    if _rules is None:
        with open(schema_path("secrets.v1.json"), encoding="utf-8") as file:
            _rules = _arranged(json.load(file))
    return _rules


def _arranged(data: dict[str, Any]) -> _Rules:
    macros: dict[str, str] = data["macros"]
    orders = iter(range(10_000))

    def spelled(pattern: str) -> str:
        for name, text in macros.items():
            pattern = pattern.replace(f"(?&{name})", text)
        return pattern

    def started(row: dict[str, Any]) -> _Rule:
        starts = "|".join(re.escape(start) for start in sorted(row["starts"], key=len, reverse=True))
        return _Rule(next(orders), row, spelled(f"(?&START)(?:{starts})(?P<v>{row['body']})"), 0)

    def shaped(row: dict[str, Any], flags: int = 0) -> _Rule:
        return _Rule(next(orders), row, spelled(row["pattern"]), flags)

    prefixes = [started(row) for row in data["prefixes"]]
    shapes = [(shaped(row), row.get("short", False)) for row in data["shapes"]]
    contexts = _by_hint([shaped(row, re.IGNORECASE) for row in data["contexts"]])
    return _Rules(
        version=data["version"],
        starts=tuple((start, rule) for rule in prefixes for start in rule.hints),
        shapes=tuple(rule for rule, short in shapes if not short),
        short=_by_hint([rule for rule, short in shapes if short]),
        contexts=tuple(row for row in contexts if row[0].isascii()),
        foreign=tuple(row for row in contexts if not row[0].isascii()),
        commands=_by_hint([shaped(row) for row in data["commands"]]),
        published=frozenset(row["sha256"] for row in data["published"]),
        placeholders=frozenset(data["words"]["placeholder"]),
        strong=tuple(data["words"]["strong"]),
        innocent=tuple(data["words"]["innocent"]),
        patterns={name: re.compile(pattern) for name, pattern in data["patterns"].items()},
    )


def _by_hint(ruled: list[_Rule]) -> tuple[tuple[str, tuple[_Rule, ...]], ...]:
    """Group rules by hint, so that each hint is looked for once in a text."""
    table: dict[str, list[_Rule]] = {}
    for rule in ruled:
        for hint in rule.hints:
            table.setdefault(hint, []).append(rule)
    return tuple((hint, tuple(group)) for hint, group in table.items())
