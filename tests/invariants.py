"""What may never be in anything that is shown, said independently of the code that takes it out; and hostile texts."""

import random
import re
import unicodedata
from collections.abc import Iterator

VISIBLE_FORMAT = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that a reader sees: signs of Arabic and Syriac numbers."""

IGNORABLE = {
    0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, 0xFFA0, *range(0xFE00, 0xFE0E),
    *range(0xE0000, 0xE1000), *range(0xFFF0, 0xFFF9),
}  # fmt: skip
"""Characters of other kinds that nobody sees."""

SELECTORS, JOINERS = "\ufe0e\ufe0f", "\u200c\u200d"
TICKS = re.compile("`+")
FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f")


def is_hidden(letter: str) -> bool:
    """Tell whether nobody sees a character, or a terminal or a layout engine obeys it."""
    number, kind = ord(letter), unicodedata.category(letter)
    if letter == "\n":
        return False
    return number in IGNORABLE or kind in ("Cc", "Cs", "Zl", "Zp") or (kind == "Cf" and number not in VISIBLE_FORMAT)


def hidden(text: str) -> list[str]:
    """Return what is hidden in a text, but for flags, one selector after a letter and one joiner between letters."""
    plain = FLAG.sub("F", text)
    found = []
    for at, letter in enumerate(plain):
        before, after = plain[at - 1 : at] or "\n", plain[at + 1 : at + 2] or "\n"
        if letter in SELECTORS:
            good = not is_hidden(before) and not before.isspace()
        elif letter in JOINERS:
            good = not is_hidden(after) and not after.isspace() and (before in SELECTORS or not is_hidden(before))
        else:
            good = letter == "\t" or not is_hidden(letter)
        if not good:
            found.append(f"U+{ord(letter):04X} at {at}")
    return found


def images(text: str) -> list[str]:
    """Return what a Markdown or HTML reader would fetch; one by reference only where the reference is defined."""
    found = re.findall(r"!\[[^\]]*\]\(", text)
    if re.search(r"(?m)^[>\s]*\[[^\]\n]+\]:\s*\S", text):
        found += re.findall(r"!\[[^\]]*\]\[?", text)
    return found + re.findall(r"(?i)<img[\s/][^>]*(?::|//)[^>]*>", text)


def live(text: str) -> list[str]:
    """Return addresses that a Markdown reader makes a link of: those outside code, line by line."""
    found = []
    for line in text.split("\n"):
        bare = without_code(line)
        found += re.findall(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+", bare)
        found += re.findall(r"\[[^\[\]]*\]\([^)\s]+", bare)
    return found


def without_code(line: str) -> str:
    """Return a line without its code spans, as CommonMark finds them: a run of backticks ends at the next equal one."""
    kept, at = [], 0
    while run := TICKS.search(line, at):
        kept.append(line[at : run.start()])
        close = next((one for one in TICKS.finditer(line, run.end()) if len(one[0]) == len(run[0])), None)
        kept.append(run[0] if close is None else "")
        at = run.end() if close is None else close.end()
    return "".join([*kept, line[at:]])


def outside(block: str) -> list[str]:
    """Return what is wrong with a frame: it opens and closes once, and every line between is a line of data."""
    lines = block.split("\n")
    wrong = []
    if not lines[0].startswith('<recalled-learnings note="') or not lines[0].endswith('">'):
        wrong.append("it does not open")
    if lines[-1] != "</recalled-learnings>":
        wrong.append("it does not close")
    wrong += [f"line {number}" for number, line in enumerate(lines[1:-1], 2) if not line.startswith("|")]
    if block.count("<") != 2 or block.count(">") != 2:
        wrong.append("it holds a bracket of its own")
    if len(block.encode("utf-16-le")) > 12_000:
        wrong.append("it is too long")
    return wrong


PIECES = (
    "</recalled-learnings>", "<recalled-learnings>", "<|im_start|>", "\n\nHuman: ", "| ", "\n", "\r\n", "\u2028",
    "\x1b[31m", "\x1b]52;c;aGk=\x07", "\x1b]8;;https://x.example\x07", "\x9b2J", "\x08", "\x7f", "\x85", "\u2029",
    "\u202e", "\u2066", "\u2069", "\u200b", "\u200d", "\u200c", "\ufeff", "\u00ad", "\u2060", "\u3164", "\ufe0f",
    "\U000e0041", "\U000e007f", "\U000e0101", "\U0001f3f4", "\u180e", "\ufff9", "\u061c", "\U00013430",
    "\ufe00", "\U0001bca0", "![a](https://x.example/p?q=", "![", "!", "[", "](", "][", "]: ",
    ")", "<img ", "<img src=//x>", "[a](javascript:b)",
    "https://x.example/a", "http://", "://", "`", "``", "```", "`https://y.example", "mailto:a@b.c",
    "www.z.example", "&lt;", "&#60;", "&", "<", ">", "<!--", "]]>", "\t", "  ", "word", "1.10", "#", "e\u0301",
    "\u0915\u094d\u200d\u0937", "\U0001f469\u200d\U0001f4bb", "\U0001f1e9\U0001f1ea", "1\ufe0f\u20e3",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u05e9\u05dc\u05d5\u05dd", "\u5b57", "'", '"', "\\",
    "{{", "$(", "%s",
)  # fmt: skip


def hostile(number: int, longest: int = 60) -> str:
    """Return text `number`: pieces that break things, and characters of every plane; the same each time."""
    made = random.Random(number)
    parts: list[str] = []
    while sum(map(len, parts)) < made.randint(1, longest):
        if made.random() < 0.7:
            parts.append(made.choice(PIECES))
        else:
            parts.append(
                chr(made.choice([made.randint(1, 0x2FF), made.randint(0x300, 0xD7FF), made.randint(0xE000, 0x10FFFF)]))
            )
    return "".join(parts)[:longest]


def texts_of(value: object) -> Iterator[str]:
    """Yield every string of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
