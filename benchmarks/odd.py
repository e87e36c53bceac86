"""Texts that nobody means, through `Reader.query`: no exception, and none takes long.

    python benchmarks/odd.py [--json] [--keep FOLDER] [--many N]

100,000 of them unless N says otherwise, over 10,000 learnings. Each is made
from its number alone: scripts and emoji, punctuation, the search engine's own
syntax, names and paths, pasted logs, huge tokens, half characters, and words
that do stand in learnings. Target: p99 <= 20 ms.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable

from corpus import PROJECTS, ledger_of, vocabulary
from measure import Figure, kept, quantile, show

from ledger.reader import Reader, open_reader

MANY = 100_000
SIZE = 10_000
TARGET_MS = 20.0

SCRIPTS = (
    (0x61, 0x7A), (0xC0, 0x17F), (0x370, 0x3FF), (0x400, 0x4FF), (0x5D0, 0x5EA), (0x620, 0x64A), (0x900, 0x97F),
    (0xE01, 0xE5B), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x3041, 0x30FF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3), (0xFF01, 0xFF5E), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0x1D400, 0x1D7FF),
)  # fmt: skip
"""Ranges of letters and signs: Latin with and without accents, Greek to Hangul, wide forms, emoji, rare planes."""

MARKS = "\0\x01\x1b\x7f\u0301\u0489\u200b\u200d\u202e\u2028\u2066\ufeff\ufe0f\ufffd\uffff\ud800\udbff\udc80\udfff"
"""Controls, combining signs, what is invisible, what turns the direction, halves of characters."""

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»„“…—¿。、「」"

SYNTAX = (
    '"', '""', "*", "a*", "^a", "NEAR(a b, 5)", "NEAR(", "AND", "OR", "NOT", "title:", "{title problem}:", "-title:x",
    "+", "a AND NOT", ")(", "' OR 1=1 --", "'; DROP TABLE event; --", ":match", "?1", "%s", "{0}", "\\", "/*", "rank",
)  # fmt: skip

NAMES = (
    "src/app/main.py", "C++", ".NET", "foo::bar", "--flag=x", "NETSDK1045", "v1.2.3-rc.1", "camelCaseName",
    "snake_case", "a/b/c/../../d", "https://x.example/a?b=c#d", "ERR_OSSL_EVP", "E0502", "10.0.0.1:5432", "```",
    "user@example.org", "@a/b", "~~~", "<private>", "</private>", "<system-reminder>", "> ", "diff --git", "@@ -1 @@",
    "Traceback (most recent call last):", '  File "x.py", line 3, in f', "2026-11-30T08:00:00Z ERROR [main] x: y",
    '{"a": [1, 2', "SGVsbG8=" * 9,
)  # fmt: skip

_words: list[str] = []


def text(number: int) -> str:
    """Return the text of a number: usually some pieces, now and then thousands, or one endless token."""
    draw = random.Random(number)
    kinds = draw.sample(PIECES, k=draw.randint(1, len(PIECES)))
    size = draw.random()
    pieces = (
        draw.randint(1_000, 8_000) if size < 0.002 else draw.randint(40, 400) if size < 0.03 else draw.randint(0, 24)
    )
    return draw.choice((" ", " ", " ", "", "\n", "\t", "\u3000")).join(draw.choice(kinds)(draw) for _ in range(pieces))


def _script(draw: random.Random) -> str:
    first, last = draw.choice(SCRIPTS)
    return "".join(chr(draw.randint(first, last)) for _ in range(draw.randint(1, 12)))


def _anything(draw: random.Random) -> str:
    return "".join(chr(draw.randrange(0x110000)) for _ in range(draw.randint(1, 6)))


def _marks(draw: random.Random) -> str:
    return "".join(draw.choices(MARKS + "ae ", k=draw.randint(1, 9)))


def _punctuation(draw: random.Random) -> str:
    return "".join(draw.choices(PUNCTUATION, k=draw.randint(1, 30)))


def _word(draw: random.Random) -> str:
    """Return a word that learnings hold, common or rare."""
    if not _words:
        _words.extend(vocabulary())
    return _words[min(int(draw.paretovariate(0.4)), len(_words)) - 1]


def _huge(draw: random.Random) -> str:
    """Return a token that has no end, seldom; else a long one."""
    unit = draw.choice(("a", "ab", "9", "é", "字", "-a", "a.", "a_", "aB", "(", '"', "/", "`", "x::", "\ud800", "🙂"))
    return unit * (draw.randint(2_000, 60_000) if draw.random() < 0.01 else draw.randint(20, 300))


def _of(choices: tuple[str, ...]) -> Callable[[random.Random], str]:
    return lambda draw: draw.choice(choices)


PIECES = (_script, _anything, _marks, _punctuation, _word, _word, _huge, _of(SYNTAX), _of(NAMES))


def asked(reader: Reader, many: int) -> list[float]:
    """Ask every text, every second one in a project; return how long each took, in ms.

    Raises:
        RuntimeError: one was refused; names its number.
    """
    times = []
    for number in range(many):
        odd = text(number)
        begun = time.perf_counter()
        try:
            reader.query(odd, project=PROJECTS[number % 3] if number % 2 else None)
        except Exception as error:
            raise RuntimeError(f"the text of number {number} was refused") from error
        times.append((time.perf_counter() - begun) * 1e3)
    return times


def main() -> None:
    """Ask them all; print the tail."""
    many = int(sys.argv[sys.argv.index("--many") + 1]) if "--many" in sys.argv else MANY
    with tempfile.TemporaryDirectory() as folder, open_reader(ledger_of(kept(folder), SIZE)) as reader:
        times = asked(reader, many)
    name = f"odd text at {SIZE:,}"
    shares = [Figure(f"{name} p{share:g}", quantile(times, share / 100), "ms") for share in (50, 95)]
    tail = Figure(f"{name} p99", quantile(times, 0.99), "ms", TARGET_MS)
    show("odd", [*shares, tail, Figure(f"{name} max", max(times), "ms"), Figure("texts asked", len(times))])


if __name__ == "__main__":
    main()
