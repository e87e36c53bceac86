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

_TOKEN = (
    r"[a-z][a-z+]{1,9}://[^\s<>()\"'`\]]+"
    r"|[~$./]{0,2}[\w~$*](?:[\w~$*.@:/'’+-]*[\w*])?"
    r"|(?P<end>[.!?](?=\s|$)|\n\s*\n)|(?P<mark>[,;:()\n{}\[\]|>&—→])"
)
"""A word, an address or a path; what ends a sentence; what parts a clause."""

_HYPHEN = r"(?<=[a-z])[-–](?=[a-z])"

_FIRST_LETTER = 0xE000
"""Letters for sets of kinds are taken from the private use area, which no pattern means anything by."""

_END, _MARK, _OTHER = ";", ",", "."


class Order(NamedTuple):
    """A rule: its pattern over letters, further patterns that the text must have, and letters that it must not have.

    `needs` holds for each step the letters of which one must occur, so that most rules are passed over unread.
    """

    row: dict[str, Any]
    needs: tuple[frozenset[str], ...]
    source: str
    further: tuple[str, ...]
    unless: frozenset[str]


class _Rules(NamedTuple):
    letters: dict[frozenset[str], str]
    words: dict[str, str]
    phrases: dict[str, tuple[tuple[list[str], str], ...]]
    forms: tuple[tuple[str, str], ...]
    orders: tuple[Order, ...]


_rules: _Rules | None = None


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
    for number, order in enumerate(rules.orders):
        if letters & order.unless or not all(letters & need for need in order.needs):
            continue
        if not all(re.search(source, code) for source in order.further):
            continue
        for match in re.finditer(order.source, code):
            yield number, spans[match.start()][0], spans[match.end() - 1][1]


def _read(rules: _Rules, text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the letters of a text, and the place in the text that each stands for."""
    tokens = list(re.finditer(_TOKEN, re.sub(_HYPHEN, " ", text)))
    words = [_plain(token[0]) if token.lastgroup is None else "" for token in tokens]
    code = [_END]
    code.extend(
        _letter(rules, word) if word else (_END if token.lastgroup == "end" else _MARK)
        for token, word in zip(tokens, words, strict=True)
    )
    for at, word in enumerate(words):
        for phrase, letter in rules.phrases.get(word, ()):
            if words[at : at + len(phrase)] == phrase:
                code[at + len(phrase)] = letter
                break
    return "".join(code), [(0, 0), *(token.span() for token in tokens)]


def _plain(word: str) -> str:
    return word.replace("’", "'").rstrip(".:/'-") or word


def _letter(rules: _Rules, word: str) -> str:
    """Return the letter of a word by itself."""
    known = rules.words.get(word)
    if known is None and not word.isalpha():
        known = next((letter for source, letter in rules.forms if re.fullmatch(source, word)), None)
    if known is None and word.endswith("'s"):
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
    kinds: dict[tuple[str, ...], set[str]] = {}
    for kind, entries in data["kinds"].items():
        for entry in entries.split():
            for form in (entry[:-1], entry[:-1] + "s") if entry.endswith("+") else (entry,):
                kinds.setdefault(tuple(form.split("_")), set()).add(kind)
    for phrase, found in kinds.items():
        found.update(kinds.get(phrase[-1:], ()) if len(phrase) > 1 else ())
    sets = {frozenset(found): "" for found in kinds.values()} | {frozenset(row["kinds"]): "" for row in data["forms"]}
    letters = {found: chr(_FIRST_LETTER + number) for number, found in enumerate(sets)}
    phrases: dict[str, list[tuple[list[str], str]]] = {}
    for phrase in sorted((phrase for phrase in kinds if len(phrase) > 1), key=len, reverse=True):
        phrases.setdefault(phrase[0], []).append((list(phrase), letters[frozenset(kinds[phrase])]))
    return _Rules(
        letters,
        {phrase[0]: letters[frozenset(found)] for phrase, found in kinds.items() if len(phrase) == 1},
        {first: tuple(found) for first, found in phrases.items()},
        tuple((row["pattern"], letters[frozenset(row["kinds"])]) for row in data["forms"]),
        tuple(_order(letters, row) for row in data["orders"]),
    )


def _order(letters: dict[frozenset[str], str], row: dict[str, Any]) -> Order:
    steps = [row["order"], *row.get("with", ())]
    sources = ["".join(_step(letters, step) for step in text.split()) for text in steps]
    needs = [
        frozenset(_having(letters, step))
        for text in steps
        for step in text.split()
        if step[0].isalpha() and not step.endswith("?")
    ]
    unless = frozenset("".join(_having(letters, kind) for kind in row.get("unless", ())))
    return Order(row, tuple(needs), sources[0], tuple(sources[1:]), unless)


def _having(letters: dict[frozenset[str], str], step: str) -> str:
    """Return the letters of all sets that hold one of the kinds of a step; a kind that no word has is a fault."""
    kinds = set(step.rstrip("!~?").split("|"))
    found = "".join(letter for kind, letter in letters.items() if kind & kinds)
    if not kinds <= {one for kind in letters for one in kind}:
        raise KeyError(step)
    return found


def _step(letters: dict[frozenset[str], str], step: str) -> str:
    if step[0].isdigit():
        crossed = {";": ".", "-": "[^;,]"}.get(step[-1], "[^;]")
        return f"{crossed}{{0,{step.rstrip(';-')}}}?"
    if step == _MARK:
        return step
    if step == "$":
        return f"(?=[{_END}{_MARK}]|$)"
    source = f"[{_having(letters, step)}]"
    if step.endswith("?"):
        return source + "?"
    if step.endswith("~"):
        blocking = set(_having(letters, "block|not")) - set(_having(letters, "lead"))
        return f"(?<![{''.join(sorted(blocking))}])" + source
    return f"(?<=[;,{_having(letters, 'lead')}])" + source if step.endswith("!") else source
