"""Replace secrets by `[REDACTED:<kind>]` before a text is written anywhere.

Pure and deterministic: the same text and the same rules give the same answer,
and a scrubbed text is left as it is. The rules are data
(`schema/secrets.v1.json`), read on first use; a rule file that is missing or
wrong raises, so that the caller stores nothing. Most texts hold no secret, so
a rule's pattern runs only where one of its literal hints occurs.
Past 500 lines in one file: the scan and the judgments of values (`_CHECKS`)
are one grammar, and a reader who doubts a redaction needs both.
Lean path: stdlib only.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger.errors import GuardFailed
from ledger.model import schema_path

RULES_VERSION: int
"""Version of the rule file; better rules can scan again what older ones let pass."""

LONG_WORD = 16
"""Fewest characters of a token with a known shape; texts without such a word skip those rules."""

SHORTEST_VALUE, LONGEST_VALUE = 4, 512
"""Fewest and most characters judged as one password or key after its name; a longer one is replaced to its end."""

NAME_REACH, LINE_REACH, COPULA_REACH = 28, 200, 20
"""Characters before a name, before an option of a command line, and before a value that say what it is about."""

ROUNDS = 12
"""Scans of a text that keeps baring new secrets before the rest of it is replaced whole."""

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
    """What stands at a rule's value place, with what a check may ask for.

    `before` is the folded text before the name, `between` what led from the
    name to the value; `loud` says that the name is in capitals, as in `DB_PASSWORD`.
    """

    text: str
    before: str = ""
    between: str = ""
    quoted: bool = False
    loud: bool = False


class _Rule(NamedTuple):
    """One rule; patterns are compiled where a hint occurs, `re` keeps them."""

    order: int
    kind: str
    hints: tuple[str, ...]
    source: str
    flags: int
    check: Callable[[_Value], bool]
    reach: int
    value: str | None
    after: tuple[str, ...]


_Hinted = tuple[tuple[str, tuple[_Rule, ...]], ...]


class _Rules(NamedTuple):
    """The rule file, arranged by where its hints are looked for."""

    version: int
    starts: _Hinted
    shapes: _Hinted
    short: _Hinted
    contexts: _Hinted
    foreign: _Hinted
    commands: _Hinted
    published: frozenset[str]
    placeholders: frozenset[str]
    strong: tuple[str, ...]
    innocent: tuple[str, ...]
    patterns: dict[str, str]


_rules: _Rules | None = None


def __getattr__(name: str) -> int:
    if name == "RULES_VERSION":
        return _loaded().version
    raise AttributeError(name)


def scrub(text: str) -> Scrubbed:
    """Return `text` with every secret replaced; the text around it is unchanged.

    Time is linear in the length. One replacement can bare another secret (two
    tokens without a space), so the scan repeats until nothing is found.

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


def guarded(field: str, text: str) -> Scrubbed:
    """Scrub, for whoever stores or shows the text only if that was done.

    Raises:
        GuardFailed: the redactor could not run.
    """
    try:
        return scrub(text)
    except Exception as error:  # noqa: BLE001 - whatever failed, nothing may be stored
        raise GuardFailed(f"the redactor failed on {field} ({type(error).__name__})") from None


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
    bare = _re("mark").sub(_inert, text) if "[REDACTED:" in text else text
    spans = list(_search(rules, bare))
    if _may_split(bare) and _re("splitter").search(bare):
        whole, places = _joined(bare)
        spans += (
            span._replace(start=places[span.start], end=places[span.end - 1] + 1) for span in _search(rules, whole)
        )
    return list(_outside_marks(text, _merged(sorted(spans)))) if spans else spans


def _inert(mark: re.Match[str]) -> str:
    return "\0" * len(mark[0])


def _may_split(text: str) -> bool:
    return not text.isascii() or "\\\n" in text or '"' in text or "'" in text


def _joined(text: str) -> tuple[str, list[int]]:
    """Return the text without what splits words (invisible characters, `" + "`), and the place of each character."""
    places: list[int] = []
    last = 0
    for match in _re("splitter").finditer(text):
        places.extend(range(last, match.start()))
        last = match.end()
    places.extend(range(last, len(text)))
    return _re("splitter").sub("", text), places


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
    marks = [match.span() for match in _re("mark").finditer(text)]
    at = 0
    for span in spans:
        start = span.start
        while at < len(marks) and marks[at][0] < span.end:
            left, right = marks[at]
            if start < left and any(map(str.isalnum, text[start:left])):
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
    words = "\n".join([word for word in text.split() if len(word) >= LONG_WORD])
    if words:
        yield from _each(rules.starts, words, text, text, _started)
        yield from _each(rules.shapes, words, text, text, _shaped)
    yield from _each(rules.short, text, text, text, _shaped)
    yield from _each(rules.contexts, folded, text, folded, _named)
    if not text.isascii():
        yield from _each(rules.foreign, folded, text, folded, _named)
    if " -" in text or "|" in text:
        yield from _each(rules.commands, text, text, text, _named)


_Way = Callable[[_Rule, str, str, str], Iterator[_Span]]


def _each(table: _Hinted, probe: str, text: str, folded: str, way: _Way) -> Iterator[_Span]:
    """Yield what the rules find whose hint occurs in `probe`."""
    for hint, ruled in table:
        if hint in probe:
            for rule in ruled:
                yield from way(rule, hint, text, folded)


def _started(rule: _Rule, start: str, text: str, _folded: str) -> Iterator[_Span]:
    """Yield the tokens that begin with `start`."""
    pattern = re.compile(rule.source, rule.flags)
    place = text.find(start)
    while place >= 0:
        match = pattern.match(text, place)
        if match and _is_secret(rule, _Value(match["v"]), match[0]):
            yield _Span(place, match.end(), rule.order, rule.kind)
        place = text.find(start, match.end() if match else place + 1)


def _shaped(rule: _Rule, _hint: str, text: str, _folded: str) -> Iterator[_Span]:
    """Yield the matches of a pattern; with a reach, the values that follow each match."""
    pattern = re.compile(rule.source, rule.flags)
    group = "v" if "v" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        if rule.reach:
            yield from _following(rule, text, match.end(), 0, "")
        elif _is_secret(rule, _Value(match[group], between=match[0]), match[group]):
            yield _Span(*match.span(group), rule.order, rule.kind)


def _named(rule: _Rule, hint: str, text: str, folded: str) -> Iterator[_Span]:
    """Yield the values that stand after a telling name; the rule's pattern begins at each place of `hint`."""
    pattern = re.compile(rule.source, rule.flags)
    place = folded.find(hint)
    seen = 0
    while place >= 0:
        resume = place + len(hint)
        match = pattern.match(text, place) if _is_about(rule, text, place) else None
        before = folded[max(0, place - NAME_REACH) : place]
        if match and rule.reach:
            yield from _following(rule, text, match.end(), seen, before)
            seen = match.end() + rule.reach
        elif match:
            start, end, quoted = _read(text, match.end())
            value = _Value(text[start:end], before, match[0], quoted, text[place:resume].isupper())
            if end - start >= SHORTEST_VALUE and _is_value(rule, value):
                resume = end = _end_of(text, start, end)
                yield _Span(start, end, rule.order, rule.kind)
        place = folded.find(hint, resume)


def _following(rule: _Rule, text: str, at: int, seen: int, before: str) -> Iterator[_Span]:
    """Yield what passes among the words after `at`; prose is read to the end of its sentence.

    What lies before `seen` was judged for the name before this one.
    """
    limit = min(len(text), at + rule.reach)
    if rule.value is None:
        stop = _re("stop").search(text, at, limit)
        limit = stop.start() if stop else limit
    pattern = re.compile(rule.value) if rule.value else _re("word")
    group = "v" if "v" in pattern.groupindex else 0
    for found in pattern.finditer(text, max(at, seen), limit):
        match = pattern.match(text, found.start()) or found
        start, end = match.span(group)
        if rule.value is None:
            if text[found.start() - 1] in "/?&.%\\@-#~_":
                continue
            end = start + len(text[start:end].rstrip(".,;:)]}"))
        value = _Value(text[start:end], before, text[at:start])
        if _is_secret(rule, value, value.text):
            yield _Span(start, _end_of(text, start, end), rule.order, rule.kind)


def _read(text: str, at: int) -> tuple[int, int, bool]:
    """Return where the value at `at` starts and ends, and whether quotes say so."""
    quote = _re("quote").match(text, at)
    if quote:
        at = quote.end()
        end = text.find(quote[0], at, at + LONGEST_VALUE)
        while end > 0 and quote[0][0] != "\\" and text[end - 1] == "\\":
            end = text.find(quote[0], end + 1, at + LONGEST_VALUE)
        if end >= 0 and "\n" not in text[at:end]:
            return at, end, True
    bare = _re("bare").match(text, at, at + LONGEST_VALUE)
    if not bare or _re("nested").search(text, at, at + NAME_REACH):
        return at, at, False
    cut = _re("cut").search(bare[0])
    end = at + (cut.start() if cut else len(bare[0]))
    return at, at + len(text[at:end].rstrip(".,:;")), False


def _end_of(text: str, start: int, end: int) -> int:
    """Return where a value ends that may be longer than what was judged."""
    if end - start < LONGEST_VALUE:
        return end
    rest = _re("tail").match(text, end)
    return rest.end() if rest else end


def _is_about(rule: _Rule, text: str, place: int) -> bool:
    """Say whether the command line up to `place` holds one of the words the rule asks for, such as a command's name."""
    if not rule.after:
        return True
    line = text[max(0, place - LINE_REACH) : place].rpartition("\n")[2].rpartition("|")[2].rpartition(";")[2].lower()
    return any(word in line for word in rule.after)


def _is_value(rule: _Rule, value: _Value) -> bool:
    """Judge the value of a name; one that holds a name itself is left to that name."""
    return not _re("nested").search(value.text) and _is_secret(rule, value, value.text)


def _is_secret(rule: _Rule, value: _Value, whole: str) -> bool:
    """Say whether the rule's check takes the value and no documentation has published it."""
    if not rule.check(value):
        return False
    import hashlib  # paid only by texts with a candidate

    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest() not in _loaded().published


def _is_placeholder(text: str) -> bool:
    """Say whether a value only holds the place of a secret (`<token>`, `$VAR`, `your-key-here`, `****`)."""
    words = _loaded().placeholders
    parts = [part for part in _re("joins").split(text.lower().strip("[](){}<>")) if part]
    if len(set(text)) <= 1 or all(part in words or (part[-1].isdigit() and part[:-1] in words) for part in parts):
        return True
    return _re("placeholder").match(text) is not None


def _is_ignorable(text: str) -> bool:
    """Say whether a value is a placeholder, names where a secret is kept, or is code that reads one."""
    return _is_placeholder(text) or any(_re(name).match(text) for name in ("reference", "code"))


def _is_wordy(text: str) -> bool:
    """Say whether a text is made of words and short numbers."""
    return all(map(_re("wordy").match, _re("joins").split(text)))


def _is_random(text: str, shortest: int = 12) -> bool:
    """Say whether a text looks drawn at random rather than made of words."""
    if len(text) < shortest or " " in text or len(set(text)) < 6:
        return False
    if not text.isalnum() and _re("symbol").search(text.rstrip("=")):
        return True
    return not _is_wordy(text) and any(map(str.isdigit, text)) and sum(map(str.isalpha, text)) > 1


def _is_scrambled(text: str) -> bool:
    """Say whether letters alone look drawn at random: their case changes more often than in any name made of words."""
    if len(text) < 10 or not (text.isascii() and text.isalpha()):
        return False
    changes = sum(text[at].islower() != text[at - 1].islower() for at in range(1, len(text)))
    return changes > 0.4 * len(text) or (changes > 1 and _re("gibberish").search(text) is not None)


def _is_digest(text: str) -> bool:
    """Say whether a text has the shape of a digest or of an identifier."""
    return bool(_re("digest").match(text) or _re("identifier").match(text))


def _token(value: _Value) -> bool:
    """Judge what follows a token's known beginning: anything but `xxxx` and `your_token_here`."""
    parts = _re("joins").split(value.text.lower())
    return not all(part in _loaded().placeholders or not part.strip("x0*") for part in parts)


def _dense(value: _Value) -> bool:
    return not _is_ignorable(value.text) and _is_random(value.text) and not _is_digest(value.text)


def _keyed(value: _Value) -> bool:
    """Judge `key = value`: what stands before the name says whether a digest is a credential."""
    text, rules = value.text, _loaded()
    before = value.before.rstrip(" _-.\"'")
    if before.endswith(rules.innocent) or value.before.endswith((":", "/")) or _is_ignorable(text):
        return False
    strong = before.endswith(rules.strong) or value.between.lower().startswith("secret")
    assigned = _re("assigned").search(value.between) is not None
    if _is_digest(text):
        return len(text) >= 24 and (strong or (value.loud and assigned and bool(before)))
    return _is_random(text, 8 if strong else 16) and (strong or assigned or len(text) >= 20)


def _password(value: _Value) -> bool:
    """Judge `password = value`; a bare word of letters is more often code than a password."""
    text = value.text
    if len(text) < (4 if value.quoted else 5) or _is_placeholder(text):
        return False
    if text.isalpha():
        if value.quoted or (value.loud and len(text) >= 6):
            return True
        return _is_scrambled(text) or _re("gibberish").search(text) is not None
    if _is_ignorable(text):
        return False
    if value.quoted:
        return " " not in text or "phrase" in value.between.lower()
    if text.isdigit():
        return value.loud or len(text) >= 6
    return bool(_re("symbol").search(text) or not _re("lookalike").match(text))


def _argument(value: _Value) -> bool:
    """Judge the argument of a command that takes a password there."""
    text = value.text
    if text.startswith("-") or text.isdigit() or " " in text:
        return False
    if _is_scrambled(text):
        return True
    return not _is_ignorable(text) or (value.quoted and text.isalpha() and not _is_placeholder(text))


def _option(value: _Value) -> bool:
    return _re("option").search(value.before) is not None and _dense(value)


def _option_password(value: _Value) -> bool:
    return _re("option").search(value.before) is not None and _argument(value)


def _header(value: _Value) -> bool:
    text = value.text
    if len(text) < 8 or _is_ignorable(text):
        return False
    return any(map(str.isdigit, text)) or not _is_wordy(text)


def _cookie(value: _Value) -> bool:
    name = _re("cookie_name").search(value.between)
    telling = name and _re("session").search(name[0])
    return not _is_ignorable(value.text) and _is_random(value.text, 8 if telling else 20)


def _url(value: _Value) -> bool:
    """Judge the password of an address; the user's own name and placeholders are none."""
    user = _re("user").search(value.between)
    return len(value.text) >= 3 and not (user and user[1] == value.text) and not _is_placeholder(value.text)


def _prose(value: _Value) -> bool:
    """Judge a word of a sentence about a password; after `is` less strength is asked for."""
    text = value.text
    if _is_scrambled(text):
        return True
    digit = any(map(str.isdigit, text))
    if len(text) < 6 or not any(map(str.isalpha, text)) or not (digit or _re("inner_symbol").search(text)):
        return False
    if _is_ignorable(text) or _re("lookalike").match(text) or _is_digest(text):
        return False
    if _re("copula").search(value.between[-COPULA_REACH:]):
        return True
    if not digit or _re("wordlike").match(text) or _is_wordy(text):
        return False
    return _re("strong_symbol").search(text) is not None or _is_random(text, 10)


def _loose(value: _Value) -> bool:
    """Judge a word of a sentence about a token: only long ones of mixed characters are secrets."""
    text = value.text
    if len(text) < 20 or value.before.rstrip(" _-").endswith(_loaded().innocent) or not _dense(value):
        return False
    mixed = all(any(map(kind, text)) for kind in (str.islower, str.isupper, str.isdigit))
    return mixed and _re("opaque").match(text) is not None and not _re("lookalike").match(text)


def _seed(value: _Value) -> bool:
    return len(set(value.text.split())) >= 10


_CHECKS: dict[str, Callable[[_Value], bool]] = {
    "token": _token,
    "dense": _dense,
    "keyed": _keyed,
    "password": _password,
    "argument": _argument,
    "option": _option,
    "option_password": _option_password,
    "header": _header,
    "cookie": _cookie,
    "url": _url,
    "prose": _prose,
    "loose": _loose,
    "seed": _seed,
}


def _re(name: str) -> re.Pattern[str]:
    """Return a named pattern of the rule file."""
    return re.compile(_loaded().patterns[name])


def _loaded() -> _Rules:
    """Return the rules; the file is read once in a process."""
    global _rules
    if _rules is None:
        with open(schema_path("secrets.v1.json"), encoding="utf-8") as file:
            _rules = _arranged(json.load(file))
    return _rules


def _arranged(data: dict[str, Any]) -> _Rules:
    prefixes = [_rule(data, row, _prefixed(row)) for row in data["prefixes"]]
    shapes = [_rule(data, row, row["pattern"]) for row in data["shapes"] if not row.get("short")]
    short = [_rule(data, row, row["pattern"]) for row in data["shapes"] if row.get("short")]
    contexts = _by_hint([_rule(data, row, row["pattern"], re.IGNORECASE) for row in data["contexts"]])
    words = data["words"]
    return _Rules(
        version=data["version"],
        starts=_by_hint(prefixes),
        shapes=_by_hint(shapes),
        short=_by_hint(short),
        contexts=tuple(row for row in contexts if row[0].isascii()),
        foreign=tuple(row for row in contexts if not row[0].isascii()),
        commands=_by_hint([_rule(data, row, row["pattern"]) for row in data["commands"]]),
        published=frozenset(row["sha256"] for row in data["published"]),
        placeholders=frozenset(words["placeholder"]),
        strong=tuple(words["strong"]),
        innocent=tuple(words["innocent"]),
        patterns=data["patterns"],
    )


def _prefixed(row: dict[str, Any]) -> str:
    starts = "|".join(re.escape(start) for start in sorted(row["starts"], key=len, reverse=True))
    return f"(?&START)(?:{starts})(?P<v>{row['body']})"


def _rule(data: dict[str, Any], row: dict[str, Any], source: str, flags: int = 0) -> _Rule:
    for name, text in data["macros"].items():
        source = source.replace(f"(?&{name})", text)
    return _Rule(
        order=next(at for at, kind in enumerate(data["order"]) if kind == row["kind"]),
        kind=row["kind"],
        hints=tuple(row.get("hints") or row["starts"]),
        source=source,
        flags=flags,
        check=_CHECKS[row.get("check", "token")],
        reach=row.get("within", 0),
        value=row.get("value"),
        after=tuple(row.get("after", ())),
    )


def _by_hint(ruled: list[_Rule]) -> _Hinted:
    """Group rules by hint, so that each hint is looked for once in a text."""
    table: dict[str, list[_Rule]] = {}
    for rule in ruled:
        for hint in rule.hints:
            table.setdefault(hint, []).append(rule)
    return tuple((hint, tuple(group)) for hint, group in table.items())
