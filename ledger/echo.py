"""Tell recalled text from what somebody says: what was shown must not come back as a learning.

Pure. Two questions. `cut`: is a piece of a frame in this text (its element, its nonce, its barred
lines, whole or half, quoted or in a list)? `Heard.echo`: does this text say again, perhaps in other
words, what a learning that was shown says, and nothing that this one does not say?

What is called an echo is not kept, so doubt keeps it: a new value (number, path, flag, version,
name), another sign (`not`, `only`, `enable` for `disable`), a word of correction, or fewer than
`WORDS_MIN` telling words are never one. Nor is what speaks of the situation alone: "the port is 5432" may be
a correction of "it moved from 5432". What counts is the solution, word by word or with all its values in order.
Limits: a paraphrase in another language, one that leaves values out, and a situation in other words are kept.
Lean path: stdlib only.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ledger import query
from ledger.frame import TAG

WORDS_MIN = 3
"""Fewest telling words of a text that can be called an echo of anything."""

SHARE = 0.75
"""Share of a text's telling words that the learning has to hold, when no value of it is repeated."""

SHARE_WITH_VALUES = 0.65
"""The same for a text that repeats values of the learning."""

GRAMS = 0.6
"""Share of a text's runs of four words that the learning has to hold, to be taken for a piece of it word by word."""

CHECKED = 12
"""Learnings that share most with a text, and are compared with it."""

_OPPOSITES = """
enable disable|enabled disabled|before after|always never|increase decrease|raise lower|on off|true false|allow deny
allow forbid|with without|add remove|start stop|up down|more less|first last|old new|old current|yes no|open close
open closed|lock unlock|include exclude|accept reject|accepts rejects|sync async|synchronous asynchronous|push pull
read write|client server|local remote|internal external|public private|upper lower|min max|minimum maximum|safe unsafe
works fails|work fail|succeeds fails|required optional|left right|above below|ascending descending|encode decode
development production|staging production|dev prod|staging prod|older newer|slower faster|slow fast|sequential parallel
"""
_NEGATIONS = """
not never no nor neither none cannot cant dont doesnt didnt wont isnt arent wasnt shouldnt mustnt couldnt wouldnt
avoid without stop forbidden nicht kein keine nie niemals statt pas jamais sans nunca sin
"""
_CUES = """
only unless except until but however although actually wrong incorrect longer anymore outdated obsolete deprecated
changed moved renamed replaced fixed correction corrected contrary despite previously formerly meanwhile though yet
also additionally both either all every everywhere whole sometimes mostly usually rarely once twice
"""
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "er", "ied", "ies", "ed", "es", "ly", "s", "e")
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"

_PREFIXES = ("dis", "un", "in", "im", "non", "de")
"""What turns a word into its opposite."""

_patterns: dict[str, re.Pattern[str]] = {}
_SOURCES = {
    "lead": r"[ \t>*+•·\-]*(?:\d+[.)][ \t]+)?[ \t>]*",
    "open": rf"`*<\s*{TAG}\b[^>\n]*>?\s*",
    "close": rf"<\s*/\s*{TAG}\s*>?[\s`]*",
    "nonce": r"\bexp_[a-z2-7]{25}\b",
    "label": (
        r"lrn_[a-z2-7]{8}(?: · [^·\n]+){1,2} · trust [0-4] \((?:inferred|files|notes|agent|person)\)"
        r"(?: · unverified)?(?: · category unsure)?(?: · pinned)?"
        r" · since \d{4}-\d\d-\d\d \((?:today|\d+ (?:year|month|day)s? ago)\)"
        r"(?: · replaced lrn_[a-z2-7]{8}(?: and \d+ more)? on \d{4}-\d\d-\d\d)?(?: · contradicted by lrn_[a-z2-7]{8})?"
    ),
    "why": r"why: learnings why exp_[a-z2-7]{25}",
    "part": r"(?:when|then):\s",
    "dash": r"(?<!\w)[\u2013\u2014](?=\w)",
    "quote": r"[\u2018\u2019\u201a\u02bc]",
    "flag": r"(?<![\w-])--?[A-Za-z][\w-]*",
    "number": r"(?m)^[ \t>*+•-]*\d{1,2}[.)][ \t]+",
    "clause": r"[.;:,!?\n()\u2014\u2026]+(?:\s|$)|\n",
    "not": r"\b(?:instead of|rather than|not|never|no longer|dont|avoid)\s+(\w+(?:\s+\w+){0,2})",
}


class Said(NamedTuple):
    """A text as it is compared.

    Its telling words, its runs of four, its values, every word of it, what it says not to do, its
    clauses, each with its telling words and every word, neighbours among words that tell or have an opposite,
    and all its words in order.
    """

    words: frozenset[str]
    grams: frozenset[tuple[str, ...]]
    values: frozenset[str]
    raw: frozenset[str]
    negated: frozenset[str]
    clauses: tuple[tuple[frozenset[str], frozenset[str]], ...]
    pairs: frozenset[tuple[str, str]]
    order: tuple[str, ...]


class Learned(NamedTuple):
    """A learning that was shown."""

    id: str
    title: str
    problem: str
    solution: str
    project: str


_sets: dict[str, frozenset[str]] = {}


def _set(words: str) -> frozenset[str]:
    """Return a list of words as a set, made on first use."""
    if words not in _sets:
        _sets[words] = frozenset(words.split())
    return _sets[words]


def pattern(name: str) -> re.Pattern[str]:
    """Return the compiled pattern of that name, made on first use."""
    if name not in _patterns:
        _patterns[name] = re.compile(_SOURCES[name], re.IGNORECASE)
    return _patterns[name]


# -- pieces of a frame -------------------------------------------------------------------------------------------------


def cut(text: str) -> str:
    """Return a text without the pieces of frames in it; the very same text when there is none.

    A block goes from its opening to its closing, or as far as its lines are
    barred; its element stands on lines of its own, as it was shown: one amid a
    line is somebody's, and left for the screen. Without its element, a run of barred lines goes when one of them is a
    learning's label, its `when:` or `then:`, or names an exposure. A table's rows are barred too, and stay.
    """
    if not _may_hold_a_piece(text):
        return text
    kept: list[str] = []
    run: list[str] = []
    inside = False
    for line in text.split("\n"):
        bare = line[pattern("lead").match(line).end() :]  # type: ignore[union-attr]
        ends = pattern("close").fullmatch(bare) is not None
        if ends or pattern("open").fullmatch(bare):
            kept += _left(run, inside or ends)
            run, inside = [], not ends
        elif bare.startswith("|") or (inside and not bare.strip()):
            run.append(line)
        else:
            kept += _left(run, inside)
            run, inside = [], False
            if not _is_mark(bare):
                kept.append(line)
    kept += _left(run, inside)
    return "\n".join(kept).strip("\n") if len(kept) < text.count("\n") + 1 or TAG in text.lower() else text


def _may_hold_a_piece(text: str) -> bool:
    low = text.lower()
    return TAG in low or "lrn_" in low or "exp_" in low or ("|" in text and ("then:" in low or "when:" in low))


def _left(run: list[str], inside: bool) -> list[str]:
    """Return what stays of a run of barred lines."""
    return [] if _is_frame(run, inside=inside) else run


def _is_frame(run: list[str], *, inside: bool) -> bool:
    if not run:
        return False
    if inside:
        return True
    bare = [line[pattern("lead").match(line).end() :].lstrip("| ").rstrip() for line in run]  # type: ignore[union-attr]
    if all(line.endswith("|") for line in bare if line):
        return False
    return any(_is_mark(line) or pattern("part").match(line) for line in bare)


def _is_mark(line: str) -> bool:
    """Tell whether a line, without what leads it, is just what a frame prints: with a word more it is somebody's."""
    plain = line.strip()
    return pattern("label").fullmatch(plain) is not None or pattern("why").fullmatch(plain) is not None


# -- the same again ----------------------------------------------------------------------------------------------------


def said(text: str) -> Said:
    """Return a text as it is compared; punctuation, quotes, entities and bullets of any kind are all one."""
    plain = pattern("quote").sub("", pattern("dash").sub("--", _unescaped(text)))
    plain = pattern("number").sub("", plain.replace("'", ""))
    values = {value.strip("./,:").lower() for found in query.values(plain).values() for value in found}
    values |= {name for name in query.identifiers(plain) if not query.pattern("hyphen").fullmatch(name)}
    words = _words(plain)
    values |= {str(_NUMBERS.split().index(word)) for word in words if word in _set(_NUMBERS)}
    told = pattern("flag").sub(" ", plain)
    clauses = [found for clause in pattern("clause").split(told) if (found := _words(clause))]
    negated = _telling([word for found in pattern("not").findall(told) for word in _words(found)])
    return Said(
        _telling(words),
        frozenset(zip(*(words[at:] for at in range(4)), strict=False)),
        frozenset(values),
        frozenset(word for clause in clauses for word in clause),
        negated,
        tuple((_telling(clause), frozenset(clause)) for clause in clauses),
        frozenset(pair for clause in clauses for pair in _neighbours(clause)),
        tuple(words),
    )


def _words(text: str) -> list[str]:
    return [word.lower() for word in query.pattern("word").findall(query.indexed(text))]


def telling(text: str) -> frozenset[str]:
    """Return the words of a text that tell what it is about, without their endings."""
    return _telling(_words(pattern("quote").sub("", text.replace("'", ""))))


def _telling(words: Iterable[str]) -> frozenset[str]:
    return frozenset(_stem(word) for word in words if not query.is_filler(word) and word not in _set(_NEGATIONS))


def _neighbours(words: Iterable[str]) -> list[tuple[str, str]]:
    kept = [word for word in words if opposites(word) or not query.is_filler(word)]
    signs = [word if opposites(word) else _stem(word) for word in kept]
    return [(one, signs[at]) for at, one in enumerate(signs[:-1], 1)]


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") if "&" in text else text


def _stem(word: str) -> str:
    """Return a word without its ending: `connects`, `connecting` and `connection` are one."""
    if not word.isascii() or not word.isalpha() or len(word) < 5:
        return word[:-1] if len(word) == 4 and word.isalpha() and word.endswith("s") else word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


class Heard:
    """Learnings that were shown, ready to be compared with what is said."""

    def __init__(self, learnings: Iterable[Learned]) -> None:
        self.learned = list(learnings)
        self._said = [said("\n".join((one.title, one.problem, one.solution))) for one in self.learned]
        self._solutions = [said(one.solution) for one in self.learned]
        self._holding: dict[str, list[int]] = {}
        for number, one in enumerate(self._said):
            for word in one.words:
                self._holding.setdefault(word, []).append(number)

    def __bool__(self) -> bool:
        return bool(self.learned)

    def echo(self, text: str, projects: Iterable[str] | None = None) -> Learned | None:
        """Return the learning that this text only says again; None when it says something of its own.

        The whole problem, word by word, may stand beside its solution.

        Args:
            projects: compare with learnings of these only; None means all.
        """
        return self._find(text, projects, self._is_echo)

    def alike(self, text: str) -> Learned | None:
        """Return the learning that this text speaks of with nothing of its own, though it may say the reverse."""
        return self._find(text, None, lambda mine, at, _: is_alike(mine, self._said[at], self._solutions[at]))

    def _is_echo(self, mine: Said, at: int, text: str) -> bool:
        rest = _without_situation(text, self.learned[at].problem)
        left = mine if rest == text else said(rest)
        return len(left.words) >= WORDS_MIN and is_echo(left, self._said[at], self._solutions[at])

    def _find(
        self, text: str, projects: Iterable[str] | None, is_it: Callable[[Said, int, str], bool]
    ) -> Learned | None:
        words = telling(text)
        if len(words) < WORDS_MIN:
            return None
        within = None if projects is None else frozenset(projects)
        shared: dict[int, int] = {}
        for word in words:
            for number in self._holding.get(word, ()):
                shared[number] = shared.get(number, 0) + 1
        enough = SHARE_WITH_VALUES * len(words)
        likely = sorted((-count, number) for number, count in shared.items() if count >= enough)
        mine = said(text) if likely else None
        for _, number in likely[:CHECKED]:
            one = self.learned[number]
            if mine is None or (within is not None and one.project not in within):
                continue
            if is_it(mine, number, text):
                return one
        return None

    def without(self, text: str, projects: Iterable[str] | None = None) -> tuple[str, list[str]]:
        """Return a text without frames and without paragraphs that only echo, and the ids that these echo."""
        left = cut(text)
        if not self.learned:
            return left, []
        found: list[str] = []
        kept: list[str] = []
        for line in left.split("\n"):
            echoed = self.echo(line, projects)
            if echoed is None:
                kept.append(line)
            else:
                found.append(echoed.id)
        return "\n".join(kept).strip("\n"), list(dict.fromkeys(found))


def _without_situation(text: str, problem: str) -> str:
    """Return a text without a problem that it quotes whole."""
    words = problem.strip(" \t\n.").split()
    if len(words) < WORDS_MIN:
        return text
    quoted = r"\s+".join(re.escape(word) for word in words)
    return re.sub(rf"(?<!\w){quoted}(?!\w)", "\n", text, flags=re.IGNORECASE)


def is_echo(mine: Said, theirs: Said, solution: Said) -> bool:
    """Tell whether one text says nothing but what the solution of a learning says.

    What stands in its title or problem and not in its solution may be what was corrected: it keeps the text.
    """
    if not mine.values <= solution.values or mine.words & theirs.words - solution.words:
        return False
    if not _in_order(mine, solution) or not is_alike(mine, theirs, solution):
        return False
    if mine.raw & (_set(_NEGATIONS) | _set(_CUES)) - solution.raw:
        return False
    same = mine.values == solution.values and _valued(mine) == _valued(solution)
    return (same and bool(mine.values)) or _is_literal(mine, solution)


def _valued(text: Said) -> list[str]:
    """Return the values among a text's words, as often as they stand there and in their order."""
    return [word for word in text.order if word in text.values or not word.isalpha()]


def is_doubted(text: str) -> bool:
    """Tell whether a text negates, corrects or limits what stands beside it."""
    return not _set(_NEGATIONS + _CUES).isdisjoint(_words(pattern("quote").sub("", text.replace("'", ""))))


def _is_literal(mine: Said, solution: Said) -> bool:
    """Tell whether a text is a piece of a solution, or holds all of it, word by word."""
    if mine.grams and len(mine.grams & solution.grams) >= GRAMS * len(mine.grams):
        return True
    whole = f" {' '.join(solution.order)} "
    return len(solution.words) >= WORDS_MIN and whole in f" {' '.join(mine.order)} "


def _in_order(mine: Said, solution: Said) -> bool:
    """Tell whether the words that tell, and stand once in both, follow each other the same way in both."""
    ours, theirs = _once(mine.order), _once(solution.order)
    return [word for word in ours if word in theirs] == [word for word in theirs if word in ours]


def _once(words: tuple[str, ...]) -> list[str]:
    told = [_stem(word) for word in words if word.isdigit() or not query.is_filler(word)]
    return [word for word in told if told.count(word) == 1]


def is_alike(mine: Said, theirs: Said, solution: Said) -> bool:
    """Tell whether a text speaks of a learning and has no value or sign of its own; it may still correct it."""
    if not mine.values <= theirs.values or mine.raw & _set(_CUES) - theirs.raw or _is_turned(mine, theirs, solution):
        return False
    literal = len(mine.grams & theirs.grams) / len(mine.grams) if mine.grams else 0.0
    share = len(mine.words & theirs.words) / len(mine.words)
    return share >= (SHARE_WITH_VALUES if mine.values or literal >= GRAMS else SHARE)


def _is_turned(mine: Said, theirs: Said, solution: Said) -> bool:
    """Tell whether what both speak of has another sign in one: negated, the opposite, or done the other way round."""
    if mine.raw & _set(_NEGATIONS) and not theirs.raw & _set(_NEGATIONS):
        return True
    if mine.negated & solution.words - theirs.negated - _situation(theirs, solution):
        return True
    new, gone = mine.words - theirs.words, theirs.words - mine.words
    if any(prefix + word in gone for word in new for prefix in _PREFIXES):
        return True
    if any(prefix + word in new for word in gone for prefix in _PREFIXES):
        return True
    if any(other in theirs.raw and word not in theirs.raw for word in mine.raw for other in opposites(word)):
        return True
    for one, other in theirs.pairs:
        turned = {(one, sign) for sign in opposites(other)} | {(sign, other) for sign in opposites(one)}
        if turned & mine.pairs - theirs.pairs:
            return True
    told = [raw for words, raw in theirs.clauses if words and len(words & mine.words) * 2 >= len(words)]
    return not mine.raw & _set(_NEGATIONS) and any(raw & _set(_NEGATIONS) for raw in told)


def _situation(theirs: Said, solution: Said) -> frozenset[str]:
    """Return the words of the situation, which a reply may well say not to do."""
    own = {clause for clause in theirs.clauses if clause not in solution.clauses}
    return frozenset(word for words, _ in own for word in words)


_opposites: dict[str, frozenset[str]] = {}


def opposites(word: str) -> frozenset[str]:
    """Return the words that say the opposite of one."""
    if not _opposites:
        for pair in _OPPOSITES.strip().replace("\n", "|").split("|"):
            one, other = pair.split()
            _opposites[one] = _opposites.get(one, frozenset()) | {other}
            _opposites[other] = _opposites.get(other, frozenset()) | {one}
    return _opposites.get(word, frozenset())
