"""Replace secrets by `[REDACTED:<kind>]` before a text is written anywhere.

Pure and deterministic: the same text and the same rules give the same answer,
and a scrubbed text is left as it is. The rules are data (`secret_rules.py`
reads them), their judgments stand in `secret_judge.py`, and `secret_view.py`
says how a text is read. Most texts hold no secret, so a rule's pattern runs
only where one of its literal hints occurs.
Lean path: stdlib only.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ledger import secret_rules, secret_view
from ledger.errors import GuardFailed
from ledger.hints import made_of
from ledger.secret_hints import NAMES, STARTS, Memory, Tried
from ledger.secret_judge import NAMES_REACH, Value, is_drawn, is_named_value, is_rest, is_secret
from ledger.secret_rules import Rule, Rules, pattern
from ledger.secret_view import View

RULES_VERSION: int
"""Version of the rule file; better rules can scan again what older ones let pass."""

LONG_WORD = 16
"""Fewest characters of a token with a known shape; texts without such a word skip those rules."""

SHORTEST_VALUE, LONGEST_VALUE = 4, 512
"""Fewest and most characters judged as one password or key after its name; a longer one is replaced to its end."""

NAME_REACH, NEAR_REACH, LINE_REACH = 28, 60, 200
"""Characters before a name, before the word for it in a sentence, and before an option of a command line, that say
what it is about."""

SPOKEN = ("prose", "loose", "keyish")
"""Judgments of rules for sentences, in which a value may come before its name."""

WRAPS = 12
"""Most lines over which one token is read on."""

ROUNDS = 12
"""Scans of a text that keeps baring new secrets before the rest of it is replaced whole."""

MOST_SPANS = 20_000
"""Secrets in one text from which it is replaced whole: nobody learned anything from the rest."""

CLEAN_CHARS, CLEAN_MAX = 200, 2_000
"""Length up to which a text without a secret is remembered, and how many: an import says projects and paths again
and again."""

_LOWER = {upper: upper + 32 for upper in range(65, 91)}


class Scrubbed(NamedTuple):
    """A text without its secrets, and the kinds found, in order of place, with repeats."""

    text: str
    kinds: tuple[str, ...]


class _Span(NamedTuple):
    """A stretch to replace; `order` is the place of its kind in the rule file, the more specific first."""

    start: int
    end: int
    order: int
    kind: str


def __getattr__(name: str) -> int:
    if name == "RULES_VERSION":
        return secret_rules.version()
    raise AttributeError(name)


def scrub(text: str) -> Scrubbed:
    """Return `text` with every secret replaced; the text around it is unchanged.

    Time is linear in the length. One replacement can bare another secret (two
    tokens without a space), so the scan repeats until nothing is found.

    Raises:
        OSError, ValueError, KeyError, re.error: the rule file is missing or wrong; store nothing.
    """
    rules = secret_rules.loaded()
    clean = made_of(rules, Memory).clean
    if text in clean:
        return Scrubbed(text, ())
    marks: list[_Span] = []
    turn = 0
    while spans := _scan(rules, text):
        turn += 1
        if turn > ROUNDS:
            start = spans[0].start if turn <= ROUNDS + 2 else 0
            spans = [spans[0]._replace(start=start, end=len(text))]
            marks = [mark for mark in marks if mark.end <= spans[0].start]
        text, marks = _replaced(text, sorted(marks + spans))
    if not marks and len(text) <= CLEAN_CHARS:
        if len(clean) >= CLEAN_MAX:
            clean.clear()
        clean[text] = None
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


def _scan(rules: Rules, text: str) -> list[_Span]:
    """Return what to replace: ordered, not overlapping, never part of a mark.

    The words of a mark are no hints: marks are read as runs of U+0000.
    """
    bare = pattern("mark").sub(_inert, text) if "[REDACTED:" in text else text
    view = secret_view.plain(bare)
    spans: list[_Span] = []
    for span in _placed(view, rules, bare):
        spans.append(span)
        if len(spans) > MOST_SPANS:
            return [span._replace(start=0, end=len(text))]
    other = secret_view.joined(view)
    if other is not None:
        spans += _placed(other, rules, bare)
    return list(_outside_marks(text, _merged(sorted(spans)))) if spans else spans


def _inert(mark: re.Match[str]) -> str:
    return "\0" * len(mark[0])


def _placed(view: View, rules: Rules, text: str) -> Iterator[_Span]:
    """Yield what is found in a view, by its places in the text; marks on the last letter go with it."""
    for found in _search(rules, view.text):
        start, end = view.span(found.start, found.end)
        while end < len(text) and "\u0300" <= text[end] <= "\u036f":
            end += 1
        yield found._replace(start=start, end=end)


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
    marks = [match.span() for match in pattern("mark").finditer(text)]
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


# -- where rules look --------------------------------------------------------------------------------------------------


def _search(rules: Rules, text: str, *, is_unpacked: bool = False) -> Iterator[_Span]:
    """Yield every stretch a rule replaces, in no order; what was unpacked from base64 is not unpacked again."""
    in_words, in_text = made_of(rules, Memory).among(text)
    said = [word for word in text.split() if len(word) >= LONG_WORD or word[0] in "-/"]
    mixed = pattern("mixed")
    long = list(dict.fromkeys([word for word in said if len(word) >= LONG_WORD and mixed.search(word)]))
    if long:
        yield from _in_words(in_words, text, long)
        if not is_unpacked and pattern("packed").search("\n".join(long)):
            yield from _packed(rules, text)
    folded = text.lower()
    if len(folded) != len(text):
        folded = text.translate(_LOWER)
    for table, hint, ruled in in_text:
        if table == NAMES:
            yield from _all_named(ruled, hint, text, folded)
        elif hint in text:
            for rule in ruled:
                yield from _shaped(rule, hint, text, ((0, len(text)),))
    options = [word for word in said if word[0] in "-/"]
    if options or "|" in text or "htpasswd" in text:
        probe = f" {' '.join(options)} "
        for hint, ruled, is_phrase in rules.commands:
            if is_phrase or hint in probe:
                yield from _all_named(ruled, hint, text, text)


def _in_words(hints: Sequence[Tried], text: str, long: Sequence[str]) -> Iterator[_Span]:
    """Yield the tokens that the long words of a text, each once, make likely."""
    words = "\n".join(long)
    for table, hint, ruled in hints:
        for rule in ruled if hint in words else ():
            yield from _started(rule, hint, text) if table == STARTS else _worded(rule, hint, text, long)


def _packed(rules: Rules, text: str) -> Iterator[_Span]:
    """Yield the words that hold a secret in base64."""
    for start, end, said in secret_view.unpacked(text):
        for found in _search(rules, said, is_unpacked=True):
            yield _Span(start, end, found.order, found.kind)
            break


def _started(rule: Rule, start: str, text: str) -> Iterator[_Span]:
    """Yield the tokens that begin with `start`, read on where a line was wrapped."""
    shape = secret_rules.shape(rule)
    place = text.find(start)
    while place >= 0:
        match = shape.match(text, place)
        end = match.end() if match else 0
        if not (match and rule.is_whole) and pattern("start").match(text, place):
            end = _wrapped(rule, shape, text, place, end)
        value = match["v"] if match else text[place + len(start) : end]
        if end and is_secret(rule.check, Value(value), text[place:end]):
            yield _Span(place, end, rule.order, rule.kind)
        place = text.find(start, end or place + 1)


def _wrapped(rule: Rule, shape: re.Pattern[str], text: str, place: int, end: int) -> int:
    """Return where a token ends that goes on in the next lines; `end` when it does not."""
    run = pattern("run").match(text, place)
    if not run or (end and end < run.end()):
        return end
    whole, pieces = run[0], [(0, place)]
    stop = run.end()
    while len(pieces) <= WRAPS:
        turn = pattern("turn").match(text, stop)
        rest = pattern("run").match(text, turn.end()) if turn else None
        if not rest or rest[0].startswith(rule.hints) or not is_rest(rest[0].rstrip(".,;:")):
            break
        pieces.append((len(whole), rest.start()))
        whole += rest[0]
        stop = rest.end()
    if len(pieces) == 1:
        return end
    match = shape.match(whole)
    if not match or match.end() <= pieces[1][0]:
        return end
    at, start = max(piece for piece in pieces if piece[0] < match.end())
    return start + match.end() - at


def _worded(rule: Rule, hint: str, text: str, words: Sequence[str]) -> Iterator[_Span]:
    """Yield the matches of a pattern in long words; `words` are those of the text, each once."""
    shape = secret_rules.shape(rule)
    if any(hint in word and shape.search(word) for word in words):
        yield from _shaped(rule, hint, text, [match.span() for match in pattern("long").finditer(text)])


def _shaped(rule: Rule, hint: str, text: str, stretches: Sequence[tuple[int, int]]) -> Iterator[_Span]:
    """Yield the matches of a pattern in stretches with `hint`; with a reach, the values that follow each match."""
    shape = secret_rules.shape(rule)
    group = "v" if "v" in shape.groupindex else 0
    for start, end in stretches:
        for match in _matches(rule, hint, text, start, end) if text.find(hint, start, end) >= 0 else ():
            if rule.reach:
                yield from _following(rule, text, match.end(), 0, _limit(rule, text, match.end()), "")
            elif is_secret(rule.check, Value(match[group], between=match[0]), match[group]):
                yield _Span(*match.span(group), rule.order, rule.kind)


def _matches(rule: Rule, hint: str, text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the matches of a rule in a stretch: looked for at its hint, where all that it matches begins with that."""
    shape = secret_rules.shape(rule)
    if not secret_rules.begins(rule, hint):
        yield from shape.finditer(text, start, end)
        return
    place = text.find(hint, start, end)
    while place >= 0:
        match = shape.match(text, place, end)
        if match:
            yield match
        place = text.find(hint, match.end() if match else place + 1, end)


def _all_named(rules: Sequence[Rule], hint: str, text: str, folded: str) -> Iterator[_Span]:
    """Yield what the rules of a hint find; most of them match at none of its places."""
    places = []
    place = folded.find(hint) if hint.strip() in folded else -1  # a blank at its end makes a search slow
    while place >= 0:
        places.append(place)
        place = folded.find(hint, place + len(hint))
    for rule in rules if places else ():
        match = secret_rules.shape(rule).match
        if any(match(text, place) for place in places):
            yield from _named(rule, hint, text, folded)


def _preceding(rule: Rule, text: str, place: int, end: int, before: str) -> Iterator[_Span]:
    """Yield the word that the text up to a name says to be one: `… is the password`."""
    near = text[max(0, place - NEAR_REACH) : place]
    if (" is " in near or " as " in near or " was " in near) and not pattern("of_it").match(text, end):
        found = pattern("behind").search(text, max(0, place - LINE_REACH), place)
        check = "introduced" if rule.check == "loose" else "given"
        if found and is_secret(check, Value(found["v"], before), found["v"]):
            yield _Span(*found.span("v"), rule.order, rule.kind)


def _named(rule: Rule, hint: str, text: str, folded: str) -> Iterator[_Span]:
    """Yield the values that stand after a telling name; the rule's pattern begins at each place of `hint`."""
    shape = secret_rules.shape(rule)
    place = folded.find(hint)
    seen = 0
    while place >= 0:
        resume = place + len(hint)
        match = shape.match(text, place) if not rule.after or _is_about(rule, text, place) else None
        before = folded[max(0, place - NAME_REACH) : place] if match else ""
        if match and rule.reach:
            if rule.check in SPOKEN:
                yield from _preceding(rule, text, place, match.end(), before)
            limit = _limit(rule, text, match.end())
            for span in _following(rule, text, match.end(), seen, limit, before):
                yield span
                seen = resume = max(seen, resume, span.end)
            seen = max(seen, limit)
            resume = max(resume, folded.rfind(hint, resume, limit))  # names between were judged with their words
        elif match:
            start, end, quoted = _read(text, match.end())
            if "@" in text[start:end] and pattern("userinfo").search(before):
                end = text.index("@", start)
            value = Value(text[start:end], before, match[0], quoted, text[place:resume].strip().isupper())
            if end - start >= SHORTEST_VALUE and is_named_value(rule.check, value):
                resume = end = _end_of(text, start, end)
                yield _Span(start, end, rule.order, rule.kind)
        place = folded.find(hint, resume)


def _limit(rule: Rule, text: str, at: int) -> int:
    """Return up to where the words after `at` are judged: whole words, of prose to the end of its sentence."""
    limit = at + rule.reach
    rest = pattern("tail").match(text, limit, limit + LONGEST_VALUE)
    limit = rest.end() if rest else len(text)
    stop = pattern("stop").search(text, at, limit) if rule.value is None else None
    return stop.start() if stop else limit


def _following(rule: Rule, text: str, at: int, seen: int, limit: int, before: str) -> Iterator[_Span]:
    """Yield what passes among the words from `at` to `limit`; what lies before `seen` was judged for another name."""
    shape = re.compile(rule.value) if rule.value else pattern("word")
    group = "v" if "v" in shape.groupindex else 0
    done = 0
    for found in shape.finditer(text, max(at, seen), limit):
        if found.start() < done:
            continue
        match = shape.match(text, found.start()) or found
        start, end = match.span(group)
        if rule.value is None:
            if text[found.start() - 1] in "/?&.%\\@-#~_":
                continue
            cut = pattern("cut").search(text, start, end) if "&" in text[start:end] else None
            end = start + len(text[start : cut.start() if cut else end].rstrip(".,;:)]}"))
        value = Value(text[start:end], before, text[max(at, start - LINE_REACH) : start])
        if is_secret(rule.check, value, value.text):
            done = _end_of(text, start, end)
            yield _Span(start, done, rule.order, rule.kind)


# -- one value ---------------------------------------------------------------------------------------------------------


def _read(text: str, at: int) -> tuple[int, int, bool]:
    """Return where the value at `at` starts and ends, and whether quotes say so."""
    quote = pattern("quote").match(text, at)
    if quote:
        at = quote.end()
        end = text.find(quote[0], at, at + LONGEST_VALUE)
        while end > 0 and quote[0][0] != "\\" and text[end - 1] == "\\":
            end = text.find(quote[0], end + 1, at + LONGEST_VALUE)
        if end >= 0 and "\n" not in text[at:end]:
            return at, end, True
    if pattern("nested").search(text, at, at + NAMES_REACH):
        return at, at, False
    bare = pattern("bare").match(text, at, at + LONGEST_VALUE)
    if not bare:
        return at, at, False
    cut = pattern("cut").search(bare[0])
    end = at + (cut.start() if cut else len(bare[0]))
    return at, at + len(text[at:end].rstrip(".,:;")), False


def _end_of(text: str, start: int, end: int) -> int:
    """Return where a value ends that may be longer than what was judged, or goes on in the next lines."""
    if end - start >= LONGEST_VALUE:
        rest = pattern("tail").match(text, end)
        return rest.end() if rest else end
    if not is_drawn(text[start:end]):
        return end
    for _ in range(WRAPS):
        turn = pattern("turn").match(text, end)
        rest = pattern("run").match(text, turn.end()) if turn else None
        if not rest:
            break
        found = rest[0].rstrip(".,;:")
        stop = rest.start() + len(found)
        is_alone = text[stop : stop + 1] in ("", "\n")
        if not is_rest(found) or (len(found) < 8 and not is_alone):
            break
        end = stop
    return end


def _is_about(rule: Rule, text: str, place: int) -> bool:
    """Say whether the command line up to `place` holds one of the words the rule asks for, such as a command's name."""
    start = max(0, place - LINE_REACH)
    start = max(start, text.rfind("\n", start, place), text.rfind("|", start, place), text.rfind(";", start, place))
    line = text[start:place].lower()
    return any(word in line for word in rule.after)
