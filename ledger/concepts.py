"""Find the words of an attack that meet in one sentence.

A concept is a rule that wants one word of each of its lists; in scripts with
spaces a word begins where one of the text begins, in the others it stands
anywhere. `screen` says how a text is read before it comes here.
Lean path: stdlib only.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ledger import hints
from ledger.hints import Remembered
from ledger.screen_rules import Concept, Finding, Rules, pattern

LONGEST_SENTENCE = 400
"""Most characters that are read as one sentence; a longer one is read in overlapping pieces."""

ENTRY_MIN = 3
"""Fewest characters of an entry of a list; a blank at its end counts, and means that a word ends there."""

BEGUN, PAIRED = 3, 2
"""Letters by which a word is looked up, and the second word of a phrase."""

_SPACES = str.maketrans(
    dict.fromkeys("!\"#$%&'*+-./<=>?@[\\]^_`{|}~“”„«»‘’–—…·、「」『』", " ") | dict.fromkeys("，：（）", " , ")
)
_PAUSES = ",:()"
"""What is read as a blank, and what as a comma; a text in ASCII is not translated by one character into three."""


class _Read(NamedTuple):
    """A sentence, its words between blanks, and where in them the first word of each list stands."""

    sentence: str
    words: str
    places: dict[str, int]


class _Index(NamedTuple):
    """The rules, arranged for reading; lists are bits.

    `of_word` tells the entries that a word may begin, each with a blank before and with its list; `phrases` holds most
    of those that are several words, by two of these, of the second the first letters. `needs` are the lists of a rule.
    """

    bits: dict[str, int]
    of_word: Remembered[str]
    phrases: dict[tuple[str, str], list[tuple[str, str]]]
    needs: list[int]
    by_list: dict[str, list[Concept]]


_NOTHING = _Read("", "", {})


def meeting(rules: Rules, text: str) -> Iterator[Finding]:
    """Yield the rules whose words meet in one sentence."""
    index = hints.made_of(rules, _arranged)
    entries = _standing(index, text)
    if entries == []:
        return
    last, before = "", _NOTHING
    sentences = list(_sentences(text))
    for sentence, following in zip(sentences, [*sentences[1:], ""], strict=True):
        words = _words(sentence)
        here = _Read(sentence, words, _places(rules, words, _entries(index, words) if entries is None else entries))
        fired = [
            rule.finding
            for rule in _possible(index, before, here)
            if any(_fires(rule, read) for read in _reads(rule, before, here))
        ]
        if fired and not (
            pattern("mention_here").search(sentence) or pattern("mention").search(f"{last} {sentence} {following}")
        ):
            yield from fired
        last, before = sentence, here


def _words(text: str) -> str:
    """Return the words of a text, each between blanks."""
    if "://" in text:
        text = pattern("url").sub(" http ", text)
    for pause in _PAUSES:
        text = text.replace(pause, " , ")
    return f" {' '.join(text.translate(_SPACES).split())} "


def _possible(index: _Index, before: _Read, here: _Read) -> Iterator[Concept]:
    """Yield the rules of whose lists each has a word in this sentence or the one before; all others cannot fire."""
    places = before.places.keys() | here.places.keys()
    for name in places:
        for rule in index.by_list.get(name, ()):
            if rule.lists <= places:
                yield rule


def _reads(rule: Concept, before: _Read, here: _Read) -> Iterator[_Read]:
    """Yield the texts in which all words of a rule stand: the sentence, or for a wide rule it and the one before."""
    if rule.lists <= here.places.keys():
        yield here
    elif rule.wide and before.places and rule.lists <= before.places.keys() | here.places.keys():
        moved = {name: at + len(before.words) for name, at in here.places.items()}
        yield _Read(before.sentence + " " + here.sentence, before.words + here.words, moved | before.places)


def _fires(rule: Concept, read: _Read) -> bool:
    """Say whether a rule whose words are all there is meant: its pattern matches, its act is not forbidden."""
    words = read.words
    if rule.pattern and not pattern(rule.pattern).search(read.sentence.replace("\n", " ")):
        return False
    if rule.act is None:
        return True
    start = read.places[rule.act]
    while start and pattern("joined").match(words[start - 1]):
        start -= 1  # a script with spaces, and the word was found inside a longer one
    return not (
        pattern("negated").search(words[max(0, start - 80) : start]) or pattern("forbidden").search(words[start:])
    )


def _sentences(text: str) -> Iterator[str]:
    for sentence in pattern("sentence_end").split(text):
        if len(sentence) <= LONGEST_SENTENCE:
            yield sentence
        else:
            for start in range(0, len(sentence), LONGEST_SENTENCE // 2):
                yield sentence[start : start + LONGEST_SENTENCE]


def _places(rules: Rules, words: str, entries: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return for each word list where its first word stands; in scripts with spaces it is one of these entries."""
    places: dict[str, int] = {}
    for text, name in entries:
        at = words.find(text) + 1
        if at:
            places[name] = min(at, places.get(name, at))
    if pattern("caseless").search(words):
        _add_anywhere(rules, words, places)
    return places


def _add_anywhere(rules: Rules, words: str, places: dict[str, int]) -> None:
    """Add where the first word of a script without case stands."""
    letters = set(words)
    for first, ones in hints.made_of(rules.anywhere, _by_first_letter).items():
        for word, name in ones if first in letters else ():
            if name not in places and word in words:
                places[name] = words.index(word)


def _by_first_letter(anywhere: tuple[tuple[str, str], ...]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for word, name in anywhere:
        found.setdefault(word[:1], []).append((word, name))
    return found


def _entries(index: _Index, words: str) -> Iterator[tuple[str, str]]:
    """Yield the entries that stand in a text, a blank before each, and their lists; of scripts with spaces alone."""
    each = words.split()
    latest, new = index.of_word.latest, index.of_word
    phrases, following = index.phrases, [word[:PAIRED] for word in each[1:]]
    likely: list[Sequence[tuple[str, str]]]
    likely = [phrases[pair] for pair in {pair for pair in zip(each, following, strict=False) if pair in phrases}]
    for word in set(each):
        known = latest.get(word)
        if known is None:
            known = new(word)
        if known:
            likely.append(known)
    for entries in likely:
        for entry in entries:
            if entry[0] in words:
                yield entry


def _standing(index: _Index, text: str) -> list[tuple[str, str]] | None:
    """Return the entries that stand in a text; an empty list when no rule has one of each of its lists.

    None when each sentence must be asked by itself: one is read in pieces, which may begin within a word, or a script
    is one without case.
    """
    words = _words(text)
    if max(map(len, text.replace("\n\n", ". ").split(". "))) > LONGEST_SENTENCE or (
        not words.isascii() and pattern("caseless").search(words)
    ):
        return None
    entries = list(_entries(index, words))
    lists = 0
    for _, name in entries:
        lists |= index.bits[name]
    return entries if any(needs & lists == needs for needs in index.needs) else []


def _arranged(rules: Rules) -> _Index:
    entries = [one for ones in rules.starts.values() for one in ones if len(one[0]) >= ENTRY_MIN]
    begun: dict[str, list[tuple[str, str]]] = {}
    phrases: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for text, name in entries:
        each = text.split()
        last = len(each) - 1
        if last and len(each[last]) < PAIRED and text[-1] != " ":
            last -= 1  # any word may begin with so few letters
        if last:
            at = max(range(last), key=lambda at: len(each[at]) + len(each[at + 1])) if last > 1 else 0
            phrases.setdefault((each[at], each[at + 1][:PAIRED]), []).append((" " + text, name))
        else:
            begun.setdefault(each[0][:BEGUN], []).append((text, name))

    def of_word(word: str) -> tuple[tuple[str, str], ...]:
        likely, word = begun.get(word[:BEGUN], ()), word + " "
        return tuple((" " + text, name) for text, name in likely if word.startswith(text) or text.startswith(word))

    names = dict.fromkeys(name for _, name in (*entries, *rules.anywhere))
    bits = {name: 1 << at for at, name in enumerate(names)}
    needs = [sum(map(bits.__getitem__, rule.lists)) for rule in rules.concepts]
    return _Index(bits, Remembered(of_word), phrases, needs, _by_rarest_list(rules.concepts))


def _by_rarest_list(concepts: tuple[Concept, ...]) -> dict[str, list[Concept]]:
    """Return the rules by that list of each which the fewest rules want."""
    wanted: dict[str, int] = {}
    for rule in concepts:
        for name in rule.lists:
            wanted[name] = wanted.get(name, 0) + 1
    found: dict[str, list[Concept]] = {}
    for rule in concepts:
        found.setdefault(min(rule.lists, key=lambda name: (wanted[name], name)), []).append(rule)
    return found
