"""Find text that tries to steer a reader instead of telling what was learned.

Pure; the rules are data (`schema/screen.v1.json`), read on first use. A
finding quarantines a learning, it never drops one: imperatives about code are
the product, so a rule wants an attack on the reader (its instructions, its
user, its permissions, its secrets, its memory). Negated rules and mentions of
an attack in a finding or a test are kept. A filter of words is no boundary:
trust and review stand behind it (docs/explanation/trust.md).
Lean path: stdlib only.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from ledger import concepts, hints, orders
from ledger.hints import Ruled
from ledger.screen_rules import Finding, Rules, Shape, bare, loaded, pattern

__all__ = ["Finding", "screen", "withheld"]

RULES_VERSION: int
"""Version of the rule file; an event carries it, so that better rules can scan again."""

HIDDEN_TOTAL = 12
"""Invisible characters in a text that can carry another one; words need one or two."""

AROUND_CHARS, BREAKS_MAX = 160, 40
"""Characters on either side of a blank line within a sentence, and the most such lines that are read one by one."""

_SIGNS = {
    "spaced_words": r"[ ._*-]\w {1,9}\w[ ._*-]",
    "base64": r"[A-Za-z0-9+/_-]{24}",
    "pairs": r"[ :][0-9a-fA-F]{2}[ :][0-9a-fA-F]{2}[ :]",
    "broken": r"\n[ \t]*\n",
}
"""What stands wherever a pattern of the rule file matches, and is found in a fraction of its time."""

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


def withheld(findings: Sequence[Finding]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return data and body of the event that quarantines for these findings, the gravest first."""
    first = min(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    rules = list(dict.fromkeys(finding.rule for finding in findings))
    return {
        "rules": rules,
        "rules_version": loaded().version,
        "severity": first.severity,
    }, {"reason": first.reason}


def __getattr__(name: str) -> int:
    if name == "RULES_VERSION":
        return loaded().version
    raise AttributeError(name)


def screen(text: str) -> tuple[Finding, ...]:
    """Return what speaks against serving `text`, without repeats, in the order of the rule file; empty means keep.

    Raises:
        OSError, ValueError, KeyError, re.error: the rule file is missing or wrong.
    """
    rules = loaded()
    found = set(_invisible(rules, text))
    found.update(_shapes(rules, text, raw=True))
    for view in dict.fromkeys(map(bare, _views(text))):
        found.update(_shapes(rules, view, raw=False))
        found.update(concepts.meeting(rules, view))
        found.update(_orders(rules, view))
    for view in map(bare, _rejoined(text)):  # of the other rules, two sentences about one matter have the words too
        found.update(one for one in concepts.meeting(rules, view) if one.rule == "override")
    return tuple(sorted(found, key=rules.order.index))


def _views(text: str) -> Iterator[str]:
    """Yield the text as a model may read it: folded, undisguised, and what encodings in it say."""
    plain = text
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", pattern("hidden").sub("", pattern("tags").sub("", plain)))
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
    if not folded.isascii() and pattern("mixed_scripts").search(folded):
        yield folded.translate(_LOOKALIKES)
    if pattern("leet").search(folded):
        yield folded.translate(_DIGITS)
    if pattern("spaced").search(" " + folded):
        yield pattern("spaced").sub(lambda run: " " + re.sub(r"[ .*_-]", "", run[0]), " " + folded)
    if _shows("spaced_words", folded) and pattern("spaced_words").search(folded):
        gap = r"[._*-]" if re.search(r"\b\w[._*-]\w[._*-]\w\b", folded) else " "
        yield re.sub(rf"(?<=\b\w){gap}(?=\w\b)", "", folded)
    letters = folded.translate(_NO_LETTERS) if folded.isascii() else re.sub(r"[\W\d_]+", "", folded)
    glued = pattern("glued").search(letters)
    if glued and not re.search(rf"\b{glued[1]}", folded):
        yield " ".join(glued.groups())
    if "rot13" in folded or "rot-13" in folded:
        yield folded.translate(_ROT13)
    if pattern("backwards").search(folded):
        yield folded[::-1]


def _rejoined(text: str) -> Iterator[str]:
    """Yield what stands around each blank line or border of two fields that is within a sentence, as one line.

    A paragraph that ends in a letter and goes on with a small one, or in a
    script without capitals, is one sentence to whoever reads both in a frame.
    """
    parts = _paragraphs(text)
    joined, end = " ".join(parts).lower() if len(parts) > 1 else "", -1
    if len(parts) > BREAKS_MAX:
        yield joined
        return
    for part in parts[:-1]:
        end += len(part) + 1
        yield joined[max(0, end - AROUND_CHARS) : end + AROUND_CHARS]


def _paragraphs(text: str) -> list[str]:
    """Return the parts of a text between which a sentence goes on."""
    parts, last = [], 0
    for sign in re.compile(_SIGNS["broken"]).finditer(text):
        start = sign.start()
        while text[start - 1 : start] in (" ", "\t"):
            start -= 1
        broken = pattern("broken").match(text, start)
        if broken:
            parts.append(text[last:start])
            last = broken.end()
    return [*parts, text[last:]]


def _decoded(plain: str) -> Iterator[str]:
    """Yield what base64, hexadecimal and escaped characters in a text say, as far as that is text."""
    is_long = _shows("base64", plain)
    for code in pattern("base64").finditer(plain) if is_long else ():
        yield from _readable(_from_base64(code[0]))
    may_be_hex = is_long or "0x" in plain or "\\x" in plain or _shows("pairs", plain)
    for code in pattern("hex").finditer(plain) if may_be_hex else ():
        yield from _readable(bytes.fromhex(re.sub(r"\\x|0x|[^0-9a-fA-F]", "", code[0])))
    if ("%" in plain or "\\u00" in plain) and pattern("escaped").search(plain):
        yield pattern("escaped").sub(lambda code: chr(int(code[1] or code[2], 16)), plain).lower()


def _shows(sign: str, text: str) -> bool:
    return re.compile(_SIGNS[sign]).search(text) is not None


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


def _invisible(rules: Rules, text: str) -> Iterator[Finding]:
    """Yield findings about characters that nobody sees; emoji flags and joiners within words are fine."""
    if text.isascii():
        return
    rest = pattern("flag").sub("", text)
    hidden = len(pattern("zero_width").findall(rest.removeprefix("\ufeff")))
    if hidden >= HIDDEN_TOTAL or any(pattern(name).search(rest) for name in ("tags", "selectors", "hidden_run")):
        yield rules.invisible["invisible"]
    marks = set(pattern("bidi").findall(rest))
    if marks & {"\u202d", "\u202e"} or (marks and not pattern("right_to_left").search(rest)):
        yield rules.invisible["bidi"]


def _shapes(rules: Rules, text: str, *, raw: bool) -> Iterator[Finding]:
    """Yield the pattern rules that fire and are neither negated nor a mention."""
    listed, ruled = hints.made_of(rules.shapes[raw], _ruled)
    for rule in (listed[number] for number in ruled.among(text)):
        matches = re.compile(rule.source).finditer(text)
        if any(raw or not _is_excused(rule, text, *match.span()) for match in matches):
            yield rule.finding


def _orders(rules: Rules, text: str) -> Iterator[Finding]:
    """Yield the rules about rows of kinds of words that fire and are neither negated nor a mention."""
    for number, start, end in orders.given(text):
        rule = rules.ordered[number]
        if not _is_excused(rule, text, start, end):
            yield rule.finding


def _ruled(shapes: tuple[tuple[str, Shape], ...]) -> tuple[list[Shape], Ruled]:
    """Return the pattern rules, each once, and what tells which of them to try on a text."""
    listed = {shape: number for number, shape in enumerate(dict.fromkeys(shape for _, shape in shapes))}
    return list(listed), Ruled([(hint, listed[shape]) for hint, shape in shapes], [shape.source for shape in listed])


def _is_excused(rule: Shape, text: str, start: int, end: int) -> bool:
    """Say whether the text around a match forbids it or reports it."""
    before, after = text[max(0, start - 160) : start], text[end : end + 120]
    if pattern("mention").search(before + " " + after):
        return True
    clause = pattern("sentence_end").split(before)[-1]
    if pattern("mention_here").search(clause + " " + pattern("sentence_end").split(after)[0]):
        return True
    if rule.quotable and (pattern("named_before").search(before) or pattern("named_after").search(after)):
        return True
    if text.startswith("</", start) and text[start:end].replace("/", "").rstrip("> ") in text[:start]:
        return True  # it closes what the text itself opened
    if not rule.negatable:
        return False
    return bool(pattern("negated").search(clause[-80:]) or pattern("forbidden").search(after))
