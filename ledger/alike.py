"""Tell whether two texts say one thing in near the same words.

Pure functions over texts. Vectors do not tell it: `staging` lies nearer to
`production` than one way to say a thing to another. So what is compared is which
words carry a text. Two are the same when all that one says, the other says too,
and little more; when a name, a number, a version, a path, a flag or a "not"
differs, they contradict each other, however many words they share.
"""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from ledger import query

LEAST, LEAST_DIFFERS = 4, 2
"""Fewest words that two texts must share to say the same, or to differ in a mark: fewer say too little."""

EXTRA = 0.5
"""Most words that the longer text has beside those of the shorter one, as a share of these."""

WINDOW = 2
"""Words after a `not`, and its like, that it may be about."""

BEGIN = 5
"""Letters of a word by which two texts are brought together."""

RAREST, RAREST_SHARE = 6, 0.5
"""Words of a text, the rarest, of which another must hold this share to be compared with it."""

BUCKET_MAX = 300
"""Most texts that are brought together by one word: one that stands in more tells little, and is left out."""

SAME, DIFFERS = "same", "differs"

_WEAK = """
always must should shall has have had need needs needed require requires required ensure make makes made use uses used
using way ways how when where which what because since else otherwise also again else since just get gets put puts set
sets keep keeps kept go goes do does done be is are was were been being there here then thus every each per all any
entire whole currently now today please note rule fact reason case cases time times thing things project
immer muss musst mussen bitte jeder jede jedes jeden wird werden wurde sollte soll doit doivent toujours siempre debe
deben sempre deve devem надо нужно всегда
"""
"""Words that carry nothing of a fact: it is the same with and without them."""

_ALIKE = """
db database databases
repo repository repositories
config configuration configurations settings configure configured
env environment environments
dir folder directory directories
dep dependency dependencies
doc docs documentation
param parameter argument arg parameters arguments params args
fail fails failed failing failure break breaks broke broken breaking
crash crashes crashed crashing
remove removes removed removing delete deletes deleted deleting
clear clears cleared clearing purge purges purged purging wipe wipes wiped wiping
begin begins began begun beginning start starts started starting
fix fixes fixed solve solves solved resolve resolves resolved
run runs ran running execute executes executed
build builds built building
twice double doubled doubles doubling two
message msg messages
function func functions
password passwd passwords
admin administrator administrators admins
cert certificate certificates certs
app application applications apps
request requests req
"""
"""Words for one thing, a line each; what developers write now this way and now that way."""

_NEGATING = """
not never no dont don doesn doesnt isn isnt aren arent wasn won cannot cant shouldn shouldnt mustn mustnt without avoid
avoids neither nor nicht kein keine keinen keinem nie niemals ohne pas jamais sans aucun nunca jamas sin tampoco nao
sem não не нет никогда без нельзя нет
"""
_TELLING = "first last above below more less most least off down under same other both"
"""Words that say nothing to a search, and all the same decide between one fact and its opposite."""

_CHINESE_NOT = "不没沒無无勿别別禁非"
_BOUND = {
    "before": "before", "vor": "before", "avant": "before", "antes": "before", "after": "after", "nach": "after",
    "apres": "after", "despues": "after", "from": "from", "only": "only", "except": "except", "nur": "only",
}  # fmt: skip
"""Words that turn a fact round by what follows them, and what each is called."""

_OPPOSITE = {"before": "after", "after": "before"}

_known: dict[str, dict[str, str]] = {}
_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(r"[.,;:!?]\s+|\s[-–—]\s|[\n()\[\]]+")


class Text(NamedTuple):
    """What carries a text: its words, those of the solution in their order, its marks, and what words are bound.

    `marks` are numbers, versions, paths, flags and names, each as it is written
    but for case; `bound` pairs `not`, `before` and their like with the words they are about.
    """

    words: frozenset[str]
    order: tuple[str, ...]
    marks: frozenset[str]
    bound: frozenset[tuple[str, str]]
    turned: int


def read(problem: str, solution: str) -> Text:
    """Return what carries a learning; about 60 µs for 200 characters."""
    bound: set[tuple[str, str]] = set()
    asked, order = _carrying(problem, bound), _carrying(solution, bound)
    whole = f"{problem}\n{solution}"
    turned = sum(whole.count(sign) for sign in _CHINESE_NOT) if not whole.isascii() else 0
    return Text(frozenset([*asked, *order]), tuple(order), _marks(whole), frozenset(bound), turned)


def compare(one: Text, other: Text) -> str:
    """Return `SAME`, `DIFFERS` where one fact has another value or is turned round, '' for two subjects."""
    shared, marks = one.words & other.words, one.marks ^ other.marks
    if len(shared) < (LEAST_DIFFERS if marks else LEAST):
        return ""
    mine, theirs = one.words - shared, other.words - shared
    if marks:
        mine, theirs = (frozenset(word for word in words if not _is_of(word, marks)) for words in (mine, theirs))
    less, more = sorted((len(mine), len(theirs)))
    if less or more > EXTRA * len(shared) or not _table("telling").keys().isdisjoint(mine | theirs):
        return ""
    if _is_turned(one, other) or _is_exchanged(one, other, shared):
        return DIFFERS
    if marks:
        return DIFFERS if one.marks - other.marks and other.marks - one.marks else ""
    return SAME


def pairs(rows: Iterable[tuple[int, str, str]], fresh: frozenset[int] | None = None) -> list[tuple[int, int]]:
    """Return which of the learnings (number, problem, solution) say the same, each pair once, the smaller number first.

    What the shorter of two says the longer says too, so that the rarest words of
    the shorter find them both; no text is compared with all others.

    Args:
        fresh: only pairs with one of these; None is all pairs.
    """
    texts = {number: (problem, solution) for number, problem, solution in rows}
    begins = {number: _begins(f"{problem} {solution}") for number, (problem, solution) in texts.items()}
    holding: dict[str, list[int]] = {}
    for number, words in begins.items():
        for word in words:
            holding.setdefault(word, []).append(number)
    known: dict[int, Text] = {}
    found: dict[tuple[int, int], None] = {}
    for number, words in begins.items():
        for other in _likely(number, words, holding):
            pair = (min(number, other), max(number, other))
            if pair in found or (fresh is not None and fresh.isdisjoint(pair)):
                continue
            for one in pair:
                if one not in known:
                    known[one] = read(*texts[one])
            if compare(known[pair[0]], known[pair[1]]) == SAME:
                found[pair] = None
    return sorted(found)


def _begins(text: str) -> frozenset[str]:
    """Return how the words of a text begin: what the forms of a word share, at a tenth of the cost of `read`."""
    if not text.isascii():
        text = query.indexed(text)
    return frozenset(word[:BEGIN] for word in _WORD.findall(text.lower()) if len(word) > 1)


def _likely(number: int, words: frozenset[str], holding: dict[str, list[int]]) -> list[int]:
    """Return the texts that hold most of the rarest words of one."""
    rarest = sorted(words, key=lambda word: (len(holding[word]), word))[:RAREST]
    least = math.ceil(RAREST_SHARE * len(rarest))
    if sum(len(holding[word]) > 1 for word in rarest) < least:
        return []
    counts: dict[int, int] = {}
    for word in rarest:
        if len(holding[word]) <= BUCKET_MAX:
            for other in holding[word]:
                counts[other] = counts.get(other, 0) + 1
    return [other for other, many in counts.items() if many >= least and other != number]


def _carrying(text: str, bound: set[tuple[str, str]]) -> list[str]:
    """Return the words that carry a text, stemmed, in their order; add what is bound to a `not` and its like."""
    negating, weak, alike, telling = (_table(name) for name in ("negating", "weak", "alike", "telling"))
    carrying: list[str] = []
    for clause in _CLAUSE.split(query.indexed(text.replace("’", "'").replace("n't", "nt"))):
        left: dict[str, int] = {}
        before = ""
        for found in _WORD.findall(clause):
            word = query.folded(found.lower())
            if word in negating or (word == "of" and before == "instead") or (word == "than" and before == "rather"):
                left["not"] = WINDOW
            elif word in _BOUND:
                left[_BOUND[word]] = 1 if word == "from" else WINDOW
            elif word in telling or word in alike or _carries(word, weak):
                carries = alike.get(word) or (word if word in telling else stem(word))
                carrying.append(carries)
                bound.update((how, carries) for how, many in left.items() if many > 0)
                left = {how: many - 1 for how, many in left.items()}
            before = word
    return carrying


def _carries(word: str, weak: dict[str, str]) -> bool:
    return word not in weak and (word.isdigit() or not query.is_filler(word))


def _is_turned(one: Text, other: Text) -> bool:
    """Tell whether a `not` or its like is about a word of one text that stands without it in the other."""
    if one.turned != other.turned:
        return True
    told = [_by_how(text) for text in (one, other)]
    for mine, theirs, said in ((told[0], told[1], other.words), (told[1], told[0], one.words)):
        for how, words in mine.items():
            known = theirs.get(how)
            if known is not None and not words & known:
                return True
            if known is None and words & said and (how in ("not", "only", "except") or _OPPOSITE.get(how) in theirs):
                return True
    return False


def _by_how(text: Text) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for how, word in text.bound:
        found.setdefault(how, set()).add(word)
    return found


def _is_exchanged(one: Text, other: Text, shared: frozenset[str]) -> bool:
    """Tell whether two words changed places, and nothing else: `a calls b`, `b calls a`; neighbours may."""
    first, second = ([word for word in text.order if word in shared] for text in (one, other))
    if len(first) != len(second):
        return False
    places = [place for place, word in enumerate(first) if word != second[place]]
    if len({frozenset((first[place], second[place])) for place in places}) != 1:
        return False
    return places[-1] - places[0] > 1


def _is_of(word: str, marks: frozenset[str]) -> bool:
    """Tell whether a word is a part of one of the marks that two texts do not share."""
    return any(word in mark for mark in marks)


def _marks(text: str) -> frozenset[str]:
    """Return the numbers, versions, paths, flags and names of a text, without case."""
    found = {name for names in query.values(text).values() for name in names}
    found |= query.identifiers(text)
    return frozenset(mark.lower().strip("`'\".,/") for mark in found)


def stem(word: str) -> str:
    """Return the beginning that the forms of an English word share; a word outside ASCII, or with a digit, stays."""
    if not (word.isascii() and word.isalpha()) or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ations", "ation", "ions", "ion", "ings", "ing", "edly", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    word = word.removesuffix("e")
    return word[:-2] if word.endswith("at") and len(word) > 5 else word


def _table(name: str) -> dict[str, str]:
    """Return one of the lists above by word, made on first use."""
    if not _known:
        _known["weak"] = dict.fromkeys(_WEAK.split(), "")
        _known["telling"] = dict.fromkeys(_TELLING.split(), "")
        _known["negating"] = dict.fromkeys(map(query.folded, _NEGATING.split()), "")
        _known["alike"] = {word: line.split()[0] for line in _ALIKE.split("\n") for word in line.split()}
    return _known[name]
