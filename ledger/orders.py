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
from collections.abc import Iterator
from typing import Any, NamedTuple

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

    `needs` holds for each step the letters of which one must occur, so that most rules are passed over unread;
    a text that has one of the letters of `unless` is no such order.
    """

    number: int
    row: dict[str, Any]
    needs: tuple[frozenset[str], ...]
    patterns: tuple[str, ...]
    unless: frozenset[str]


class _Rules(NamedTuple):
    """The rule file, arranged for reading: `by_letter` holds the orders whose rarest step a letter can be."""

    words: dict[str, str]
    phrases: dict[str, tuple[tuple[list[str], str, str], ...]]
    forms: re.Pattern[str]
    form_letters: tuple[str, ...]
    orders: tuple[Order, ...]
    by_letter: dict[str, tuple[Order, ...]]


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
    code, spans = _read(rules, text)
    letters = set(code)
    likely = {order.number: order for letter in letters for order in rules.by_letter.get(letter, ())}
    for number in sorted(likely):
        order = likely[number]
        if not letters.isdisjoint(order.unless) or any(letters.isdisjoint(need) for need in order.needs):
            continue
        if all(_pattern(source).search(code) for source in order.patterns[1:]):
            for match in _pattern(order.patterns[0]).finditer(code):
                yield number, spans[match.start()][0], spans[match.end() - 1][1]


def _pattern(source: str) -> re.Pattern[str]:
    known = _compiled.get(source)
    if known is None:
        known = _compiled[source] = re.compile(source)
    return known


def _read(rules: _Rules, text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the letters of a text, and the place in the text that each stands for.

    A phrase adds its kinds to those of its last word, or of its first where it is an act ("turn off").
    """
    code, spans, words = [_END], [(0, 0)], [""]
    for token in _pattern(_PIECE).finditer(_pattern(_HYPHEN).sub(" ", text)):
        part = token.lastgroup
        word = "" if part else _plain(token[0])
        code.append(_letter(rules, word) if word else (_END if part == "end" else _MARK))
        spans.append(token.span())
        words.append(word)
    taken = 0
    for at, word in enumerate(words):
        for phrase, first, last in rules.phrases.get(word, ()):
            if words[at : at + len(phrase)] == phrase:
                end = at + len(phrase) - 1
                code[at] = first or code[at]
                if last and end > taken:
                    code[end], taken = last, end
                break
    return "".join(code), spans


def _plain(word: str) -> str:
    return word if word.isalpha() else word.replace("’", "'").rstrip(".:/'-") or word


def _letter(rules: _Rules, word: str) -> str:
    """Return the letter of a word by itself."""
    known = rules.words.get(word)
    if known is None and not word.isalpha():
        match = rules.forms.fullmatch(word)
        if match and match.lastindex:
            return rules.form_letters[match.lastindex - 1]
        if word.endswith("'s"):
            known = rules.words.get(word[:-2])
    return known or _OTHER


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
    phrases: dict[str, list[tuple[list[str], str, str]]] = {}
    for phrase in sorted((phrase for phrase in kinds if len(phrase) > 1), key=len, reverse=True):
        first, last = parts[phrase]
        phrases.setdefault(phrase[0], []).append((list(phrase), letters.get(first, ""), letters.get(last, "")))
    found = tuple(_order(having, number, row) for number, row in enumerate(data["orders"]))
    by_letter: dict[str, list[Order]] = {}
    for order in found:
        for letter in min(order.needs, key=len):
            by_letter.setdefault(letter, []).append(order)
    return _Rules(
        {phrase[0]: letters[last] for phrase, (_, last) in parts.items() if len(phrase) == 1},
        {first: tuple(entries) for first, entries in phrases.items()},
        re.compile("|".join(f"({row['pattern']})" for row in data["forms"])),
        tuple(letters[frozenset(row["kinds"])] for row in data["forms"]),
        found,
        {letter: tuple(entries) for letter, entries in by_letter.items()},
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


def _order(having: dict[str, str], number: int, row: dict[str, Any]) -> Order:
    texts = [row["order"]] if "order" in row else []
    texts += row.get("with", ())
    patterns = ["".join(_step(having, step) for step in text.split()) for text in texts]
    if "meet" in row:
        ahead = "".join(f"(?=[^;]*?{_step(having, step)})" for step in row["meet"])
        patterns.insert(0, f"(?<={_END}){ahead}[^;]")
    steps = [*row.get("meet", ()), *" ".join(texts).split()]
    needs = [frozenset(_having(having, step)) for step in steps if step[0].isalpha() and not step.endswith("?")]
    unless = frozenset("".join(_having(having, kind) for kind in row.get("unless", ())))
    return Order(number, row, tuple(needs), tuple(patterns), unless)


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
