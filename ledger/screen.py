"""Find text that tries to steer a reader instead of telling what was learned.

Pure; the rules are data (`schema/screen.v1.json`), read on first use. A
finding quarantines a learning, it never drops one: imperatives about code are
the product, so a rule wants an attack on the reader (its instructions, its
user, its permissions, its secrets, its memory). Negated rules and mentions of
an attack in a finding or a test are kept. A filter of words is no boundary:
trust and review stand behind it (docs/explanation/trust.md).
Lean path: stdlib only.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ledger import hints, orders
from ledger.hints import Remembered, Ruled
from ledger.model import schema_path

RULES_VERSION: int
"""Version of the rule file; an event carries it, so that better rules can scan again."""

LONGEST_SENTENCE = 400
"""Most characters that are read as one sentence; a longer one is read in overlapping pieces."""

HIDDEN_TOTAL = 12
"""Invisible characters in a text that can carry another one; words need one or two."""

AROUND_CHARS, BREAKS_MAX = 160, 40
"""Characters on either side of a blank line within a sentence, and the most such lines that are read one by one."""

_MARKS = "[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670]"
"""Accents and vowel points: an order is understood without them, so words are compared without them."""

_AS_IT_IS = frozenset(("hidden", "zero_width", "hidden_run", "selectors", "flag", "tags", "bidi", "right_to_left"))
"""Patterns about characters, which accents may be part of; the others read text without accents."""

SEVERITIES = ("high", "medium", "low")

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_URL_SAFE = str.maketrans("-_", "+/")
_ROT13 = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm"
)
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁӏοαιкмтвнһԛԝѵɡıνρτκυεηχᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aeopcyxijsdloaikmtbhhqwvgivptkuenxabcdefghijklmnoprstuvwyz",
)
"""Cyrillic, Greek and small capital letters that pass for Latin ones."""

_DIGITS = str.maketrans("013457@$", "oieastas")
_NO_LETTERS = dict.fromkeys(code for code in range(128) if not chr(code).isalpha())
"""What is taken out of a text in ASCII to leave its letters; a pattern takes ten times as long."""

_SPACES = str.maketrans(
    dict.fromkeys("!\"#$%&'*+-./<=>?@[\\]^_`{|}~“”„«»‘’–—…·、「」『』", " ") | dict.fromkeys(",:()，：（）", " , ")
)
"""Scripts without case, often without spaces: their words are looked for anywhere."""


class Finding(NamedTuple):
    """Why a text is quarantined; `reason` is a fixed sentence that never quotes the text."""

    rule: str
    severity: str
    reason: str


def withheld(findings: Sequence[Finding]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return data and body of the event that quarantines for these findings, the gravest first."""
    first = min(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    rules = list(dict.fromkeys(finding.rule for finding in findings))
    return {
        "rules": rules,
        "rules_version": _loaded().version,
        "severity": first.severity,
    }, {"reason": first.reason}


class _Concept(NamedTuple):
    """A rule that wants one word of each list in one sentence; a `wide` one also in two that follow each other."""

    finding: Finding
    lists: frozenset[str]
    act: str | None
    pattern: str | None
    wide: bool


class _Shape(NamedTuple):
    """A rule that is a pattern, tried where one of its hints occurs."""

    finding: Finding
    source: str
    negatable: bool
    quotable: bool


class _Rules(NamedTuple):
    """The rule file, arranged for reading; the words of a list stand in `starts` by their first three letters.

    `shapes` are those tried on folded text and those tried on the text itself, each with every hint of it.
    """

    version: int
    concepts: tuple[_Concept, ...]
    shapes: tuple[tuple[tuple[str, _Shape], ...], tuple[tuple[str, _Shape], ...]]
    invisible: dict[str, Finding]
    patterns: dict[str, str]
    starts: dict[str, tuple[tuple[str, str], ...]]
    anywhere: tuple[tuple[str, str], ...]
    ordered: tuple[_Shape, ...]
    order: tuple[Finding, ...]


class _Read(NamedTuple):
    """A sentence, its words between blanks, and where in them the first word of each list stands."""

    sentence: str
    words: str
    places: dict[str, int]


_NOTHING = _Read("", "", {})

_rules: _Rules | None = None


def __getattr__(name: str) -> int:
    if name == "RULES_VERSION":
        return _loaded().version
    raise AttributeError(name)


def screen(text: str) -> tuple[Finding, ...]:
    """Return what speaks against serving `text`, without repeats, in the order of the rule file; empty means keep.

    Raises:
        OSError, ValueError, KeyError, re.error: the rule file is missing or wrong.
    """
    rules = _loaded()
    found = set(_invisible(rules, text))
    found.update(_shapes(rules, text, raw=True))
    for view in dict.fromkeys(map(_bare, _views(text))):
        found.update(_shapes(rules, view, raw=False))
        found.update(_concepts(rules, view))
        found.update(_orders(rules, view))
    for view in map(_bare, _rejoined(text)):  # of the other rules, two sentences about one matter have the words too
        found.update(one for one in _concepts(rules, view) if one.rule == "override")
    return tuple(sorted(found, key=rules.order.index))


def _views(text: str) -> Iterator[str]:
    """Yield the text as a model may read it: folded, undisguised, and what encodings in it say."""
    plain = text
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", _re("hidden").sub("", _re("tags").sub("", plain)))
    if "&" in plain:
        plain = _unescaped(plain)
    if "-\n" in plain:
        plain = re.sub(r"(?<=\w)-\n\s*(?=\w)", "", plain)
    folded = plain.lower()
    yield folded
    yield from _undisguised(folded)
    yield from _decoded(plain)


def _undisguised(folded: str) -> Iterator[str]:
    """Yield what a text says when letters that only look alike, digits, gaps or their order are put right."""
    if not folded.isascii() and _re("mixed_scripts").search(folded):
        yield folded.translate(_LOOKALIKES)
    if _re("leet").search(folded):
        yield folded.translate(_DIGITS)
    if _re("spaced").search(" " + folded):
        yield _re("spaced").sub(lambda run: " " + re.sub(r"[ .*_-]", "", run[0]), " " + folded)
    if _re("spaced_words").search(folded):
        gap = r"[._*-]" if re.search(r"\b\w[._*-]\w[._*-]\w\b", folded) else " "
        yield re.sub(rf"(?<=\b\w){gap}(?=\w\b)", "", folded)
    letters = folded.translate(_NO_LETTERS) if folded.isascii() else re.sub(r"[\W\d_]+", "", folded)
    glued = _re("glued").search(letters)
    if glued and not re.search(rf"\b{glued[1]}", folded):
        yield " ".join(glued.groups())
    if "rot13" in folded or "rot-13" in folded:
        yield folded.translate(_ROT13)
    if _re("backwards").search(folded):
        yield folded[::-1]


def _rejoined(text: str) -> Iterator[str]:
    """Yield what stands around each blank line or border of two fields that is within a sentence, as one line.

    A paragraph that ends in a letter and goes on with a small one, or in a
    script without capitals, is one sentence to whoever reads both in a frame.
    """
    parts = _re("broken").split(text) if "\n" in text else [text]
    joined, end = " ".join(parts).lower(), -1
    if len(parts) > BREAKS_MAX:
        yield joined
        return
    for part in parts[:-1]:
        end += len(part) + 1
        yield joined[max(0, end - AROUND_CHARS) : end + AROUND_CHARS]


def _decoded(plain: str) -> Iterator[str]:
    """Yield what base64, hexadecimal and escaped characters in a text say, as far as that is text."""
    for code in _re("base64").finditer(plain):
        yield from _readable(_from_base64(code[0]))
    for code in _re("hex").finditer(plain):
        yield from _readable(bytes.fromhex(re.sub(r"\\x|0x|[^0-9a-fA-F]", "", code[0])))
    if _re("escaped").search(plain):
        yield _re("escaped").sub(lambda code: chr(int(code[1] or code[2], 16)), plain).lower()


def _bare(text: str) -> str:
    """Return the text without accents and vowel points; letters of other scripts stay whole."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", re.sub(_MARKS, "", unicodedata.normalize("NFD", text)))


def _unescaped(text: str) -> str:
    """Return the text with numeric character references and `&lt;`, `&gt;`, `&amp;` read, so that none hides a word."""

    def character(match: re.Match[str]) -> str:
        number = int(match[2], 16) if match[1] else int(match[2])
        return chr(number) if 32 <= number < 0xD800 else match[0]

    return re.sub(r"&#([xX]?)([0-9a-fA-F]{1,6});", character, text) if "&#" in text else text


def _from_base64(code: str) -> bytes:
    bits = "".join([format(_BASE64.index(letter), "06b") for letter in code.translate(_URL_SAFE).rstrip("=")])
    size = len(bits) // 8
    return int(bits[: size * 8], 2).to_bytes(size, "big")


def _readable(data: bytes) -> Iterator[str]:
    """Yield what decoded bytes say, folded; nothing when they are no readable text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    if text.isprintable() or "\n" in text:
        yield text.lower()


def _invisible(rules: _Rules, text: str) -> Iterator[Finding]:
    """Yield findings about characters that nobody sees; emoji flags and joiners within words are fine."""
    if text.isascii():
        return
    rest = _re("flag").sub("", text)
    hidden = len(_re("zero_width").findall(rest.removeprefix("\ufeff")))
    if hidden >= HIDDEN_TOTAL or any(_re(name).search(rest) for name in ("tags", "selectors", "hidden_run")):
        yield rules.invisible["invisible"]
    marks = set(_re("bidi").findall(rest))
    if marks & {"\u202d", "\u202e"} or (marks and not _re("right_to_left").search(rest)):
        yield rules.invisible["bidi"]


def _shapes(rules: _Rules, text: str, *, raw: bool) -> Iterator[Finding]:
    """Yield the pattern rules that fire and are neither negated nor a mention."""
    listed, ruled = hints.made_of(rules.shapes[raw], _ruled)
    for rule in (listed[number] for number in ruled.among(text)):
        matches = re.compile(rule.source).finditer(text)
        if any(raw or not _is_excused(rule, text, *match.span()) for match in matches):
            yield rule.finding


def _orders(rules: _Rules, text: str) -> Iterator[Finding]:
    """Yield the rules about rows of kinds of words that fire and are neither negated nor a mention."""
    for number, start, end in orders.given(text):
        rule = rules.ordered[number]
        if not _is_excused(rule, text, start, end):
            yield rule.finding


def _ruled(shapes: tuple[tuple[str, _Shape], ...]) -> tuple[list[_Shape], Ruled]:
    """Return the pattern rules, each once, and what tells which of them to try on a text."""
    listed = {shape: number for number, shape in enumerate(dict.fromkeys(shape for _, shape in shapes))}
    return list(listed), Ruled([(hint, listed[shape]) for hint, shape in shapes], [shape.source for shape in listed])


def _is_excused(rule: _Shape, text: str, start: int, end: int) -> bool:
    """Say whether the text around a match forbids it or reports it."""
    before, after = text[max(0, start - 160) : start], text[end : end + 120]
    if _re("mention").search(before + " " + after):
        return True
    clause = _re("sentence_end").split(before)[-1]
    if _re("mention_here").search(clause + " " + _re("sentence_end").split(after)[0]):
        return True
    if rule.quotable and (_re("named_before").search(before) or _re("named_after").search(after)):
        return True
    if text.startswith("</", start) and text[start:end].replace("/", "").rstrip("> ") in text[:start]:
        return True  # it closes what the text itself opened
    if not rule.negatable:
        return False
    return bool(_re("negated").search(clause[-80:]) or _re("forbidden").search(after))


def _concepts(rules: _Rules, text: str) -> Iterator[Finding]:
    """Yield the rules whose words meet in one sentence."""
    last, before = "", _NOTHING
    sentences = list(_sentences(text))
    for sentence, following in zip(sentences, [*sentences[1:], ""], strict=True):
        words = f" {' '.join(_re('url').sub(' http ', sentence).translate(_SPACES).split())} "
        here = _Read(sentence, words, _places(rules, words))
        fired = [
            rule.finding
            for rule in _possible(rules, before, here)
            if any(_fires(rule, read) for read in _reads(rule, before, here))
        ]
        if fired and not (
            _re("mention_here").search(sentence) or _re("mention").search(f"{last} {sentence} {following}")
        ):
            yield from fired
        last, before = sentence, here


def _possible(rules: _Rules, before: _Read, here: _Read) -> Iterator[_Concept]:
    """Yield the rules of whose lists each has a word in this sentence or the one before; all others cannot fire."""
    places = before.places.keys() | here.places.keys()
    by_list = hints.made_of(rules.concepts, _by_rarest_list)
    for name in places:
        for rule in by_list.get(name, ()):
            if rule.lists <= places:
                yield rule


def _by_rarest_list(concepts: tuple[_Concept, ...]) -> dict[str, list[_Concept]]:
    """Return the rules by that list of each which the fewest rules want."""
    wanted: dict[str, int] = {}
    for rule in concepts:
        for name in rule.lists:
            wanted[name] = wanted.get(name, 0) + 1
    found: dict[str, list[_Concept]] = {}
    for rule in concepts:
        found.setdefault(min(rule.lists, key=lambda name: (wanted[name], name)), []).append(rule)
    return found


def _reads(rule: _Concept, before: _Read, here: _Read) -> Iterator[_Read]:
    """Yield the texts in which all words of a rule stand: the sentence, or for a wide rule it and the one before."""
    if rule.lists <= here.places.keys():
        yield here
    elif rule.wide and before.places and rule.lists <= before.places.keys() | here.places.keys():
        moved = {name: at + len(before.words) for name, at in here.places.items()}
        yield _Read(before.sentence + " " + here.sentence, before.words + here.words, moved | before.places)


def _fires(rule: _Concept, read: _Read) -> bool:
    """Say whether a rule whose words are all there is meant: its pattern matches, its act is not forbidden."""
    words = read.words
    if rule.pattern and not _re(rule.pattern).search(read.sentence.replace("\n", " ")):
        return False
    if rule.act is None:
        return True
    start = read.places[rule.act]
    while start and _re("joined").match(words[start - 1]):
        start -= 1  # a script with spaces, and the word was found inside a longer one
    return not (_re("negated").search(words[max(0, start - 80) : start]) or _re("forbidden").search(words[start:]))


def _sentences(text: str) -> Iterator[str]:
    for sentence in _re("sentence_end").split(text):
        if len(sentence) <= LONGEST_SENTENCE:
            yield sentence
        else:
            for start in range(0, len(sentence), LONGEST_SENTENCE // 2):
                yield sentence[start : start + LONGEST_SENTENCE]


def _places(rules: _Rules, words: str) -> dict[str, int]:
    """Return for each word list where its first word stands."""
    places: dict[str, int] = {}
    begun, two = hints.made_of(rules.starts, _begun_by)
    latest = begun.latest
    each = words[1:].split(" ")
    at = 1
    for number, word in enumerate(each):
        known = latest.get(word)
        if known is None:
            known = begun(word)
        if known:
            names, is_longer = known
            for name in names:
                if name not in places:
                    places[name] = at
            if is_longer:
                pair = f"{word} {each[number + 1]}" if number + 1 < len(each) else word
                listed = two.latest.get(pair)
                for start, name in two(pair) if listed is None else listed:
                    if name not in places and words.startswith(start, at):
                        places[name] = at
        at += len(word) + 1
    if _re("caseless").search(words):
        _add_anywhere(rules, words, places)
    return places


def _add_anywhere(rules: _Rules, words: str, places: dict[str, int]) -> None:
    """Add where the first word of a script without case stands."""
    letters = set(words)
    for first, ones in hints.made_of(rules.anywhere, _by_first_letter).items():
        for word, name in ones if first in letters else ():
            if name not in places and word in words:
                places[name] = words.index(word)


def _begun_by(starts: dict[str, tuple[tuple[str, str], ...]]) -> tuple[Remembered, Remembered]:
    """Return what tells of a word which lists begin with it, and of two words which longer entries begin with them.

    The first answers with the lists of which it begins with an entry, and whether entries of several words may begin
    here; nothing when neither is so.
    """
    single: dict[str, list[tuple[str, str]]] = {}
    longer: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for start, name in (one for ones in starts.values() for one in ones if len(one[0]) >= 3):
        first, blank, rest = start.partition(" ")
        if blank:
            longer.setdefault(first, {}).setdefault(rest.partition(" ")[0][:2], []).append((start, name))
        else:
            single.setdefault(start[:3], []).append((start, name))

    def begun(word: str) -> tuple[Any, ...]:
        names = tuple(name for start, name in single.get(word[:3], ()) if word.startswith(start))
        return (names, word in longer) if names or word in longer else ()

    def two(pair: str) -> tuple[Any, ...]:
        first, _, second = pair.partition(" ")
        by_second = longer[first]
        ones = [one for key in dict.fromkeys((second[:2], second[:1], "")) for one in by_second.get(key, ())]
        return tuple(one for one in ones if pair.startswith(one[0]) or one[0].startswith(pair + " "))

    return Remembered(begun), Remembered(two)


def _by_first_letter(anywhere: tuple[tuple[str, str], ...]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for word, name in anywhere:
        found.setdefault(word[:1], []).append((word, name))
    return found


def _re(name: str) -> re.Pattern[str]:
    """Return a named pattern of the rule file."""
    patterns = _loaded().patterns
    compiled: dict[str, re.Pattern[str]] = hints.made_of(patterns, lambda _: {})
    found = compiled.get(name)
    if found is None:
        found = compiled[name] = re.compile(patterns[name])
    return found


def _unaccented(patterns: dict[str, str]) -> dict[str, str]:
    return {name: text if name in _AS_IT_IS else _bare(text) for name, text in patterns.items()}


def _loaded() -> _Rules:
    """Return the rules; the file is read once in a process."""
    global _rules
    if _rules is None:
        with open(schema_path("screen.v1.json"), encoding="utf-8") as file:
            _rules = _arranged(json.load(file))
    return _rules


def _arranged(data: dict[str, Any]) -> _Rules:
    starts: dict[str, list[tuple[str, str]]] = {}
    anywhere: list[tuple[str, str]] = []
    caseless = re.compile(data["patterns"]["caseless"])
    for name, words in data["words"].items():
        for word in dict.fromkeys(map(_bare, words)):
            if caseless.match(word):
                anywhere.append((word, name))
            else:
                starts.setdefault(word[:3], []).append((word, name))
    return _Rules(
        version=data["version"],
        concepts=tuple(
            _Concept(
                _finding(row),
                frozenset(row["all"]),
                row["all"][row.get("act", 0)] if row.get("negatable", True) else None,
                row.get("pattern"),
                row.get("wide", False),
            )
            for row in data["concepts"]
        ),
        shapes=(_hinted(data["shapes"], raw=False), _hinted(data["shapes"], raw=True)),
        invisible={row["rule"]: _finding(row) for row in data["invisible"]},
        patterns=_unaccented(data["patterns"]),
        starts={start: tuple(words) for start, words in starts.items()},
        anywhere=tuple(anywhere),
        ordered=tuple(_Shape(_finding(row), "", row["negatable"], quotable=False) for row in orders.rows()),
        order=tuple(_finding(row) for part in ("invisible", "concepts", "shapes") for row in data[part])
        + tuple(map(_finding, orders.rows())),
    )


def _hinted(rows: list[dict[str, Any]], *, raw: bool) -> tuple[tuple[str, _Shape], ...]:
    chosen = [row for row in rows if row.get("raw", False) is raw]
    return tuple((hint, shape) for row in chosen for shape in (_shape(row),) for hint in row["hints"])


def _shape(row: dict[str, Any]) -> _Shape:
    source = row["pattern"] if row.get("raw") else _bare(row["pattern"])
    return _Shape(_finding(row), source, row.get("negatable", False), row.get("mention", False))


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(row["rule"], row["severity"], row["reason"])
