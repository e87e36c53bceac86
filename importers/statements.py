"""Find what a person lays down in their own words: sentences of a turn that say what holds from then on.

A turn is cut into sentences, and what is not the person's own is left out:
code, what was pasted or quoted, lists and letters that a line leads over to,
what begins as instructions for a model, pieces of recalled learnings, private parts. Of the rest a
sentence counts by its form (`speech`). In doubt it does not count: what it
says is still found in its session. Pure: no ledger, no clock.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from importers import doubts, linked, norms, speech
from importers.forms import Forms
from importers.subjects import WORDS, categorised
from ledger import echo, private, prompt, query

SENTENCE_CHARS = 400
"""Longest sentence that counts: nobody lays down more in one."""

TELLING = 2
"""Fewest words that must say something: "always do it like that" says nothing by itself."""

STATEMENTS_MAX = 6
"""Most sentences of one turn that may count; who lays down more at once has pasted a document."""

GOES_ON_CHARS = 160
"""Longest sentence that is taken along with the one before it."""

BEGIN_CHARS, END_CHARS = 12_000, 4_000
"""What is read of a long turn: the rest of it was pasted."""

LINES_MAX = 12
"""Lines of a turn from which on only its first and its last paragraph may be a person's own words."""

RULES = {**speech.RULES, **norms.RULES}
"""Families of forms that lay something down."""

SIGNS = {**speech.SIGNS, **norms.SIGNS}
REFUSALS = {**speech.REFUSALS, **doubts.REFUSALS}

_FORMS = Forms({
    **RULES, **REFUSALS, "announces": linked.ANNOUNCES, "recalls": linked.RECALLS, "own_lists": linked.OWN_LISTS,
    "goes_on": speech.GOES_ON, "goes_on_too": linked.GOES_ON, "told_by": doubts.TOLD_BY, "leads": speech.LEADS,
    "documents": speech.DOCUMENTS, "labels": speech.LABELS, "lists": speech.LISTS, "payloads": speech.PAYLOADS,
})  # fmt: skip
has = _FORMS.has

_QUOTED = re.compile(
    r'"[^"\n]{2,}"|“[^”\n]{2,}”|«[^»\n]{2,}»|„[^“”\n]{2,}[“”]|「[^」\n]{2,}」|『[^』\n]{2,}』|‘[^’\n]{2,}’'
    r"|(?<![^\s(,])'[^'\n]{2,}'(?![^\s.,;:?!)])"
)
_CODE = re.compile(r"`[^`\n]+`")
_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_ENDS = re.compile(r"(?<=[.!?;…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bz\.B\.)(?<!\bvs\.)[\"')\]*_]{0,3}\s+|(?<=[。！？；])")
_ITEM = re.compile(r"\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_UNMARKED = re.compile(r"\b(do|does|did|wo|ca|is|are|should)nt\b")
_WORD = re.compile(r"[a-z']+")
_LEAD = re.compile(r"[^:：]{1,400}[:：]\s+(?=\S)")
_FROM_WHAT = re.compile(
    r"(?i)\A(?:when(?:ever)?|every ?time|each time|before|after|if|immer wenn|jedes mal|bevor|nachdem)\b[^,]{6,},"
)


class Statement(NamedTuple):
    """What a person laid down: the sentence as it was typed, and where in the turn's text it begins."""

    text: str
    at: int


def found(text: str, markers: Mapping[str, str] | None = None) -> list[Statement]:
    """Return what a person lays down in a turn, in order."""
    own = echo.cut(private.without(text, markers))
    if len(own) > BEGIN_CHARS + END_CHARS:
        own = f"{own[:BEGIN_CHARS]}\n\n{own[-END_CHARS:]}"
    turn = _Turn(text, frozenset(_listed(own)))
    at = 0
    for sentence in _own(own):
        at = max(text.find(sentence, at), 0)
        turn.take(Statement(sentence, at))
    return turn.kept if len(turn.kept) <= STATEMENTS_MAX else []


class _Turn:
    """A turn being read: what is kept of it, where that ends when the next sentence may go on, and the one before."""

    def __init__(self, text: str, listed: frozenset[str]) -> None:
        self.text, self.listed = text, listed
        self.kept: list[Statement] = []
        self.end = 0
        self.before: Statement | None = None
        self.is_announced = self.is_told = False

    def take(self, one: Statement) -> None:
        """Take the next sentence."""
        is_short = len(one.text) <= GOES_ON_CHARS
        if is_short and has("recalls", one.text):
            self._recall(one)
            return
        before = self.before.text if self.before is not None else ""
        self.before = one
        self.is_told = before.endswith(";") and (self.is_told or _is_told(before[:SENTENCE_CHARS]))
        if self.is_told:
            return
        is_part = before.endswith(";") and not _is_refused(one.text)
        is_next = bool(self.kept and self.end) and not self.text[self.end : one.at].strip()
        if is_next and (is_part or _goes_on(one.text)):
            self._join(one)
            self.end = self.end if is_part else 0
        elif lays_down(one.text, is_announced=self.is_announced or one.text in self.listed):
            self.kept.append(one)
            self.end = one.at + len(one.text)
        else:
            self.end = 0
        self.is_announced = is_short and has("announces", one.text)

    def _recall(self, one: Statement) -> None:
        """Keep the sentence before one that asks to remember it."""
        if self.kept and self.end:
            self._join(one)
        elif self.before is not None and lays_down(self.before.text, is_announced=True):
            self.kept.append(self.before)
            self._join(one)
        self.end, self.before = 0, None

    def _join(self, one: Statement) -> None:
        first = self.kept[-1].at
        self.kept[-1] = Statement(self.text[first : one.at + len(one.text)], first)


def _is_told(sentence: str) -> bool:
    """Tell whether a part of a sentence is what somebody else says."""
    plain = sentence.lower()
    return has("reports", plain) or has("told_by", plain)


def _goes_on(sentence: str) -> bool:
    """Tell whether a sentence says what is to be done instead of what the one before forbids, or why."""
    return (
        len(sentence) <= GOES_ON_CHARS
        and (has("goes_on", sentence) or has("goes_on_too", sentence))
        and not _is_refused(sentence)
    )


def _is_refused(plain: str, *, is_sure: bool = False) -> bool:
    reasons = (name for name in REFUSALS if not is_sure or name != doubts.ONLY_SPECIFIED)
    return any(has(name, plain) for name in reasons)


def lays_down(sentence: str, *, is_announced: bool = False) -> bool:
    """Tell whether a sentence has the form of a rule, or of something to be remembered, and is not refused as one.

    One that was announced as a rule needs no form.
    """
    if not (8 if sentence.isascii() else 4) <= len(sentence) <= SENTENCE_CHARS:
        return False
    plain = _CODE.sub("X", _QUOTED.sub("Q", sentence.replace("’", "'"))).lower().strip(" \t*")
    plain = _UNMARKED.sub(r"\1n't", plain)
    bare = re.sub(speech.OPENINGS, "", plain) or plain
    heads = {bare, plain}
    families = _families(plain)
    lead = _LEAD.match(bare)
    if lead is not None and not any(has(name, lead.group()) for name in families):
        heads = {bare[: lead.end()]} if not _is_short(lead.group()) else {bare, bare[lead.end() :]}
    elif lead is not None:
        heads.add(bare[lead.end() :])
    sure = [name for name in norms.SURE if name in families]
    is_sure = is_announced or any(
        has(name, head) for name in sure for head in (heads | {bare} if name in norms.TAILS else heads)
    )
    others = (name for name in families if name not in norms.SURE)
    if not is_sure and not any(has(name, head) for name in others for head in heads):
        return False
    if is_sure:
        bare, plain = (re.sub(doubts.POLITE, r"\1", re.sub(doubts.TAGS, "", text)) for text in (bare, plain))
    if _is_refused(bare, is_sure=is_sure) or _is_refused(plain, is_sure=is_sure):
        return False
    return len(query.telling(sentence)) >= TELLING


def _families(plain: str) -> list[str]:
    """Return the families of forms that a sentence may have by its words."""
    words = frozenset(_WORD.findall(plain)) if plain.isascii() else frozenset()
    is_english = len(words & speech.ENGLISH) >= 2 or (words & norms.ENGLISH and not words & norms.FOREIGN)
    if not is_english:
        return list(RULES)
    return [name for name, signs in SIGNS.items() if not words.isdisjoint(signs)]


def _is_short(lead: str) -> bool:
    """Tell whether what stands before a colon only opens a sentence (`no:`, `btw:`), and names nobody who says it."""
    return has("leads", lead)


def _own(text: str) -> Iterator[str]:
    """Yield the sentences of a turn that are a person's own."""
    if has("documents", text.lstrip()):
        return
    for listed in _lines(_FENCE.sub("\n", text)):
        start = 0
        bare = _ITEM.match(listed)
        line = listed[bare.end() :] if bare else listed
        quoted = [quote.span() for quote in _QUOTED.finditer(line)]
        for end in _ENDS.finditer(line):
            if any(first < end.start() < last for first, last in quoted):
                continue
            yield from filter(None, [line[start : end.start()].strip()])
            start = end.end()
        yield from filter(None, [line[start:].strip()])


def _listed(text: str) -> Iterator[str]:
    """Yield the items of lists that a person announces as their own rules."""
    is_listed = False
    for line in filter(str.strip, text.splitlines()):
        item = _ITEM.match(line)
        if is_listed and item:
            yield line[item.end() :].strip()
        is_listed = (is_listed and item is not None) or has("own_lists", line[:SENTENCE_CHARS])


def _lines(text: str) -> Iterator[str]:
    """Yield the lines that a person typed: up to what a line leads over to, without what was pasted."""
    lines = text.splitlines()
    filled = [number for number, line in enumerate(lines) if line.strip()]
    kept = _ends_of(lines, filled) if len(filled) > LINES_MAX else set(filled)
    is_listed = False
    for number in filled:
        line = lines[number].strip()
        head = line[:SENTENCE_CHARS]
        if has("labels", head) and len(filled) > 1:
            return
        if line.startswith(">") or number not in kept:
            continue
        is_listed = has("lists", head) or (is_listed and _ITEM.match(line) is not None)
        if len(filled) > 1 and not is_listed and (_ITEM.match(line) or prompt.is_pasted(line)) and not _is_marked(line):
            continue
        yield line
        is_last = number == filled[-1]
        leads_over = line.endswith((":", "：")) or has("payloads", head)
        if not is_last and not is_listed and leads_over:
            return


def _ends_of(lines: list[str], filled: list[int]) -> set[int]:
    """Return the numbers of the lines of the first and of the last paragraph."""
    first = filled[0]
    while first < len(lines) and lines[first].strip():
        first += 1
    last = filled[-1]
    while last >= 0 and lines[last].strip():
        last -= 1
    short = (range(filled[0], first), range(last + 1, filled[-1] + 1))
    return {number for part in short if len(part) <= 3 for number in part}


def _is_marked(line: str) -> bool:
    """Tell whether a line asks to be remembered, whatever it looks like."""
    plain = re.sub(speech.OPENINGS, "", line[:SENTENCE_CHARS].lower())
    names = ("remembers",) if _ITEM.match(line) else ("remembers", "from_now")
    return any(has(name, plain) for name in names)


def subject_of(sentence: str, before: str | None = None) -> str:
    """Return what a reader would search by: the case that a rule is for, or what it says without its opening.

    `before` is the command that a person stopped with these words.
    """
    plain = sentence.lower().replace("’", "'")
    opening = re.match(speech.OPENINGS, plain)
    bare = sentence[opening.end() :] if opening and len(sentence) - opening.end() >= 8 else sentence
    marker = re.match(
        r"(?i)(?:no(?:pe)?|nein|non|não|nee|нет|stop)\b[\s,.:!–—-]*|(?:please )?(?:remember|keep in mind|bear in mind"
        r"|note (?:to self|for later)|for (?:the record|future reference)|from now on|going forward"
        r"|don't forget)\b(?: that)?"
        r"[\s,:–—-]*",
        bare,
    )
    if marker and len(bare) - marker.end() >= 8:
        bare = bare[marker.end() :]
    case = _FROM_WHAT.match(bare)
    told = case.group().rstrip(",") if case else bare.rstrip(" .!。！")
    return f"{told} (instead of: {before})" if before else told


def category_of(sentence: str) -> tuple[str, str]:
    """Return category and confidence of a statement, by its words; a tool put in the place of another is sure."""
    plain = sentence.lower()
    names = frozenset(re.findall(r"[a-z]+", plain))
    if has("instead", plain) and names & frozenset(WORDS["tool-pref"].split()):
        return "tool-pref", "sure"
    category, _ = categorised("", sentence)
    if category == "bug-fix":
        category = "practice"
    return category, "ambiguous"
