"""Read a text as a row of kinds of words, and find the rows that only an order to an agent has.

No list of phrases ends, but the kinds of words that an attack puts together
are few: what is sent, where it goes, whom it is hidden from, which guard
falls. Each word becomes a letter for its kinds (`schema/orders.v1.json`), and
a rule is a short pattern over those letters. English only; other languages
are for the word lists of `screen`, which asks here and judges mentions.
Lean path: stdlib only.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ledger.hints import Remembered
from ledger.model import schema_path

_PIECE = (
    r"[a-z][a-z+]{1,9}://[^\s<>()\"'`\]]+"
    r"|[~$./]{0,2}[\w~$*](?:[\w~$*.@:/'’+-]{0,120}[\w*])?"
    r"|(?P<end>[.!?](?=\s|$)|\n\s*\n)|(?P<mark>[,;:()\n{}\[\]|>&—→])"
)
"""A word, an address or a path; what ends a sentence; what parts a clause."""

_HYPHEN = r"(?<=[a-z])[-–](?=[a-z])"

_FIRST_LETTER = 0xE000
"""Letters for sets of kinds are taken from the private use area, which no pattern means anything by."""

_END, _MARK, _OTHER = ";", ",", "."


class Order(NamedTuple):
    """A rule: the patterns over letters that a text must have, the first of which says where the order stands.

    `needs` has a bit for each step, of which a letter must occur, so that most rules are passed over unread;
    a text with a letter of `unless` is no such order.
    """

    needs: int
    unless: int
    patterns: tuple[str, ...]
    row: dict[str, Any]


class _Rules(NamedTuple):
    """The rule file, arranged for reading.

    `read` tells letters and words of a stretch without white space, `phrases` stand by their first two words, and
    `bits` are those of the steps that a letter can be; `needs` are those of the orders, by their numbers.
    """

    read: Remembered[str]
    phrases: dict[tuple[str, str], tuple[tuple[list[str], str, str], ...]]
    orders: tuple[Order, ...]
    bits: dict[str, int]
    needs: tuple[tuple[int, int], ...]


_rules: _Rules | None = None

_compiled: dict[str, re.Pattern[str]] = {}
"""Patterns over letters, compiled on first use; `re` would forget some of so many."""


def rows() -> list[dict[str, Any]]:
    """Return the rules as they stand in the file."""
    return [order.row for order in _loaded().orders]


def given(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield for each order in folded text the number of its row, and where it starts and ends in the text.

    Raises:
        OSError, ValueError, KeyError, re.error: the rule file is missing or wrong.
    """
    rules = _loaded()
    code = _read(rules, text)
    there = 0
    for letter in set(code):
        there |= rules.bits.get(letter, 0)
    spans: list[tuple[int, int]] = []
    for number in [number for number, needs in rules.needs if there & needs == needs]:
        order = rules.orders[number]
        if not there & order.unless and all(_pattern(source).search(code) for source in order.patterns[1:]):
            for match in _pattern(order.patterns[0]).finditer(code):
                spans = spans or [(0, 0), *(token.span() for token in _tokens(text))]
                yield number, spans[match.start()][0], spans[match.end() - 1][1]


def _pattern(source: str) -> re.Pattern[str]:
    known = _compiled.get(source)
    if known is None:
        known = _compiled[source] = re.compile(source)
    return known


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield what each letter of a text after the first stands for."""
    return _pattern(_PIECE).finditer(_pattern(_HYPHEN).sub(" ", text) if "-" in text or "–" in text else text)


def _read(rules: _Rules, text: str) -> str:
    """Return the letters of a text.

    No token but an empty line holds white space, so that what a stretch without any is read as can be remembered.
    A phrase adds its kinds to those of its last word, or of its first where it is an act ("turn off").
    """
    code, words, latest = [_END], [""], rules.read.latest
    breaks = -1
    for line in text.split("\n"):
        breaks += 1
        chunks = line.split()
        if chunks and breaks:
            code.append(_END if breaks > 1 else _MARK)
            words.append("")
        for chunk in chunks:
            letters, ones = latest.get(chunk) or rules.read(chunk)
            code += letters
            words += ones
            breaks = 0
    if breaks:
        code.append(_END if breaks > 1 else _MARK)
    taken, following = 0, words[1:]
    pairs = enumerate(zip(words, following, strict=False))
    for at, pair in [(at, pair) for at, pair in pairs if pair in rules.phrases]:
        for phrase, first, last in rules.phrases[pair]:
            end = at + len(phrase)
            if words[at:end] == phrase:
                code[at] = first or code[at]
                if last and end > taken:
                    code[end - 1], taken = last, end
                break
    return "".join(code)


def _chunk(letter: Callable[[str], str], told: frozenset[str], chunk: str) -> tuple[str, tuple[str, ...]]:
    """Return the letters of a stretch of text without white space, and its words; those of no phrase are all one.

    A mark is the empty word, which some phrases end in.
    """
    code, words = "", []
    for token in _tokens(chunk):
        part = token.lastgroup
        word = "" if part else _plain(token[0])
        code += letter(word) if word else (_END if part == "end" else _MARK)
        words.append(word if word in told else _OTHER)
    return code, tuple(words)


def _plain(word: str) -> str:
    return word if word.isalpha() else word.replace("’", "'").rstrip(".:/'-") or word


def _letters(words: dict[str, str], forms: re.Pattern[str], form_letters: tuple[str, ...]) -> Callable[[str], str]:
    """Return what tells the letter of a word by itself."""

    def letter(word: str) -> str:
        known = words.get(word)
        if known is None and not word.isalpha():
            match = forms.fullmatch(word)
            if match and match.lastindex:
                return form_letters[match.lastindex - 1]
            if word.endswith("'s"):
                known = words.get(word[:-2])
        return known or _OTHER

    return letter


def _loaded() -> _Rules:
    """Return the rules; the file is read once in a process."""
    global _rules
    if _rules is None:
        with open(schema_path("orders.v1.json"), encoding="utf-8") as file:
            _rules = _arranged(json.load(file))
    return _rules


def _arranged(data: dict[str, Any]) -> _Rules:
    kinds = _sorted(data["kinds"])
    acts = {kind for row in data["orders"] for kind in _acts(row)}
    parts = {phrase: _parts(kinds, phrase, acts) for phrase in kinds}
    sets = [held for pair in parts.values() for held in pair if held]
    sets += [frozenset(row["kinds"]) for row in data["forms"]]
    letters = {held: chr(_FIRST_LETTER + number) for number, held in enumerate(dict.fromkeys(sets))}
    having: dict[str, str] = {}
    for held, letter in letters.items():
        for kind in held:
            having[kind] = having.get(kind, "") + letter
    phrases: dict[tuple[str, str], list[tuple[list[str], str, str]]] = {}
    for phrase in sorted((phrase for phrase in kinds if len(phrase) > 1), key=len, reverse=True):
        first, last = parts[phrase]
        entry = (list(phrase), letters.get(first, ""), letters.get(last, ""))
        phrases.setdefault((phrase[0], phrase[1]), []).append(entry)
    groups: dict[str, int] = {}
    found = tuple(_order(having, groups, row) for row in data["orders"])
    bits: dict[str, int] = {}
    for together, bit in groups.items():
        for one in together:
            bits[one] = bits.get(one, 0) | bit
    told = frozenset(word for phrase in kinds if len(phrase) > 1 for word in phrase)
    letter_of = _letters(
        {phrase[0]: letters[last] for phrase, (_, last) in parts.items() if len(phrase) == 1},
        re.compile("|".join(f"({row['pattern']})" for row in data["forms"])),
        tuple(letters[frozenset(row["kinds"])] for row in data["forms"]),
    )
    return _Rules(
        Remembered(lambda chunk: _chunk(letter_of, told, chunk)),
        {pair: tuple(entries) for pair, entries in phrases.items()},
        found,
        bits,
        tuple((number, order.needs) for number, order in enumerate(found)),
    )


def _sorted(entries: dict[str, str]) -> dict[tuple[str, ...], set[str]]:
    """Return the kinds of each word and phrase."""
    kinds: dict[tuple[str, ...], set[str]] = {}
    for kind, words in entries.items():
        for word in words.split():
            for form in (word[:-1], word[:-1] + "s") if word.endswith("+") else (word,):
                kinds.setdefault(tuple(form.split("_")), set()).add(kind)
    return kinds


def _acts(row: dict[str, Any]) -> Iterator[str]:
    """Yield the kinds that a rule wants where a command starts."""
    for step in " ".join([row.get("order", ""), *row.get("meet", ()), *row.get("with", ())]).split():
        if step.endswith(("!", "~")):
            yield from step[:-1].split("|")


def _parts(
    kinds: dict[tuple[str, ...], set[str]], phrase: tuple[str, ...], acts: set[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the kinds of the first and of the last word of a phrase; a word alone is its own last one."""
    if len(phrase) == 1:
        return frozenset(), frozenset(kinds[phrase])
    begins, ends = kinds[phrase] & acts, kinds[phrase] - acts
    return (
        frozenset(begins | kinds.get(phrase[:1], set())) if begins else frozenset(),
        frozenset(ends | kinds.get(phrase[-1:], set())) if ends else frozenset(),
    )


def _order(having: dict[str, str], groups: dict[str, int], row: dict[str, Any]) -> Order:
    texts = [row["order"]] if "order" in row else []
    texts += row.get("with", ())
    patterns = ["".join(_step(having, step) for step in text.split()) for text in texts]
    if "meet" in row:
        ahead = "".join(f"(?=[^;]*?{_step(having, step)})" for step in row["meet"])
        patterns.insert(0, f"(?<={_END}){ahead}[^;]")
    steps = [*row.get("meet", ()), *" ".join(texts).split()]
    needed = {_having(having, step) for step in steps if step[0].isalpha() and not step.endswith("?")}
    unless = "".join(_having(having, kind) for kind in row.get("unless", ()))
    return Order(sum(_bit(groups, letters) for letters in needed), _bit(groups, unless), tuple(patterns), row)


def _bit(groups: dict[str, int], letters: str) -> int:
    """Return the bit which says that one of these letters occurs."""
    return groups.setdefault(letters, 1 << len(groups)) if letters else 0


def _having(having: dict[str, str], step: str) -> str:
    """Return the letters of all sets that hold one of the kinds of a step; a kind that no word has is a fault."""
    return "".join(dict.fromkeys("".join(having[kind] for kind in step.rstrip("!~?").split("|"))))


def _step(having: dict[str, str], step: str) -> str:
    """Return the pattern of a step: a gap, the mark of a clause, its end, or a word of some kinds."""
    if step[0].isdigit():
        crossed = {";": ".", "-": "[^;,]"}.get(step[-1], "[^;]")
        return f"{crossed}{{0,{step.rstrip(';-')}}}?"
    if step in (_MARK, "$"):
        return step if step == _MARK else f"(?=[{_END}{_MARK}]|$)"
    source = f"[{_having(having, step)}]"
    if step.endswith("?"):
        return source + "?"
    if step.endswith("~"):
        blocking = set(_having(having, "block|not")) - set(having["lead"])
        return f"(?<![{''.join(sorted(blocking))}])" + source
    return f"(?<=[;,{having['lead']}])" + source if step.endswith("!") else source
