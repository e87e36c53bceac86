"""What to look for when a text has to go: the text itself, its telling parts, and how either may be written.

Pure. An erasure destroys for ever, so two things are kept apart: what *is* a copy
(the whole text within another, a token that nobody types by chance, what a person
named) and what only *may* be one (a sentence both share), which is shown to a
person and left alone.
"""

import base64
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

WHOLE_CHARS = 24
"""Fewest characters of a text that makes another text a copy by standing in it; shorter ones recur by chance."""

SAME_CHARS = 8
"""Fewest characters of a text that makes another one a copy by being all of it, and of a token."""

PART_CHARS = 24
"""Fewest characters of a line or a sentence that may be a copy."""

GIVEN_CHARS = 3
"""Fewest characters of a text that a person names."""

INSIDE_CHARS = 8
"""Fewest characters of a named text that is found inside a word too."""

TOKEN_CHARS, TOKEN_CHANGES = 10, 3
"""A part of a token that is at least so long and changes so often between letters and digits was made by a machine."""

PROBE_CHARS, PROBE_MIN = 64, 12
"""Characters of a text that files are searched for, and fewest: beyond, a line is told by its beginning."""

COPIED = ("problem", "solution", "text", "reason")
"""Fields of a payload whose whole text makes another one a copy. Titles and tags are what subjects share."""

SUBJECT = ("problem", "title", "reason")
"""Fields of a learning that say what it is about: what corrects it has the same in them, and says something else."""

UNLIKELY = r"[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|lrn_[a-z2-7]{26}"
"""Digests of git, UUIDs and ids of ours: drawn at random, and no secret."""


class Needles(NamedTuple):
    """What copies are told by; every text is normalised (`plain`).

    `subjects` are the problems among `whole` and `same` which are nothing else
    of it, `pairs` the problems with their solutions.
    """

    whole: frozenset[str]
    same: frozenset[str]
    tokens: frozenset[str]
    given: tuple[str, ...]
    parts: frozenset[str]
    subjects: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()


def plain(text: str) -> str:
    """Return a text for comparing: compatible letters, no case, no invisible characters, white space runs as one."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    return " ".join(folded.split())


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text of a payload, whatever its shape."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)


def needles(bodies: Iterable[dict[str, Any]], given: Iterable[str] = (), *, by_token: bool = True) -> Needles:
    """Return what copies of these payloads are told by; `given` is what a person named.

    `by_token` False leaves out tokens that only look like a secret: of other reasons they say nothing.
    """
    bodies = list(bodies)
    whole: set[str] = set()
    same: set[str] = set()
    tokens: set[str] = set()
    parts: set[str] = set()
    for body in bodies:
        for name in COPIED:
            text = body.get(name)
            if isinstance(text, str):
                told = plain(text)
                same.update([told] if len(told) >= SAME_CHARS else [])
                whole.update([told] if len(told) >= WHOLE_CHARS else [])
                parts.update(part for part in _parts(text) if len(part) >= PART_CHARS)
        for text in texts_in(body):
            tokens.update(telling(text, by_token=by_token))
    named = tuple(dict.fromkeys(told for text in given if (told := plain(text))))
    pairs = frozenset(_pair(body) for body in bodies if "solution" in body)
    others = {plain(body[name]) for body in bodies for name in COPIED[1:] if isinstance(body.get(name), str)}
    subjects = frozenset(problem for problem, _ in pairs if problem not in others)
    return Needles(
        frozenset(whole), frozenset(same), frozenset(tokens), named, frozenset(parts - whole), subjects, pairs
    )


def _pair(body: dict[str, Any]) -> tuple[str, str]:
    return plain(str(body.get("problem", ""))), plain(str(body.get("solution", "")))


def _parts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for part in re.split(r"(?<=[.!?;])\s+", line):
            yield plain(part)


def telling(text: str, *, by_token: bool = True) -> set[str]:
    """Return the tokens of a text that stand for one thing alone: addresses, and what a machine drew at random."""
    found = {plain(one) for one in re.findall(r"[\w.+%-]{1,64}@[\w-]+(?:\.[\w-]+)+", text)}
    if by_token:
        for token in re.findall(r"[\w.~+/=@:-]{10,500}", text):
            if "://" not in token and _is_random(token):
                found.add(plain(token.strip(".:=,/-")))
    return {one for one in found if len(one) >= SAME_CHARS}


def _is_random(token: str) -> bool:
    """Tell whether a token was drawn at random and is no digest or id; names, paths and versions were not."""
    if re.fullmatch(UNLIKELY, token):
        return False
    for part in re.split(r"[^A-Za-z0-9]+", token):
        changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(part))
        if len(part) >= TOKEN_CHARS and changes >= TOKEN_CHANGES:
            return True
    return False


def is_copy(wanted: Needles, text: str) -> bool:
    """Tell whether a text is a copy of what has to go, or holds one."""
    told = plain(text)
    if told in wanted.same or any(one in told for one in wanted.tokens):
        return True
    return any(one in told for one in wanted.whole) or any(_stands(one, told) for one in wanted.given)


def is_copied(wanted: Needles, body: dict[str, Any]) -> bool:
    """Tell whether a payload holds a copy of what has to go.

    A learning about the same matter that says something else is none: by it the old one was corrected.
    """
    if "solution" not in body:
        return any(is_copy(wanted, text) for text in texts_in(body))
    if _pair(body) in wanted.pairs:
        return True
    about = wanted._replace(whole=wanted.whole - wanted.subjects, same=wanted.same - wanted.subjects)
    return any(
        is_copy(about if name in SUBJECT else wanted, text) for name, value in body.items() for text in texts_in(value)
    )


def may_be_copied(wanted: Needles, body: dict[str, Any]) -> bool:
    """Tell whether a payload shares a line, a sentence or its matter with what has to go."""
    shared = wanted.parts | wanted.subjects
    return any(part in told for told in map(plain, texts_in(body)) for part in shared if len(part) >= SAME_CHARS)


def _stands(named: str, told: str) -> bool:
    """Tell whether what a person named stands in a text; a short one only as a word of its own."""
    if len(named) >= INSIDE_CHARS:
        return named in told
    return re.search(rf"(?<!\w){re.escape(named)}(?!\w)", told) is not None


def words(text: str) -> set[str]:
    """Return the words of a text, without case; a name of several parts counts whole and by each part."""
    found: set[str] = set()
    for token in re.findall(r"\w+(?:[-./:@+]\w+)*", unicodedata.normalize("NFKC", text).casefold()):
        found.add(token)
        found.update(re.findall(r"\w+", token))
    return found


# -- bytes -----------------------------------------------------------------------------------------------------------


def probes(bodies: Iterable[dict[str, Any]], wanted: Needles, given: Iterable[str] = ()) -> list[str]:
    """Return the texts that files are searched for, as they were written: the beginning of every line, and tokens."""
    found: dict[str, None] = {}
    for body in bodies:
        for text in [*(body.get(name) for name in COPIED), *body.get("words", ())]:
            for line in text.splitlines() if isinstance(text, str) else ():
                told = line.strip()[:PROBE_CHARS].strip()
                if len(told) >= PROBE_MIN:
                    found[told] = None
        for text in texts_in(body):
            for token in re.findall(r"\S{8,}", text):
                if any(one in plain(token) for one in wanted.tokens):
                    found[token.strip(".,;:()[]{}\"'`<>")[:PROBE_CHARS]] = None
    for text in given:
        found[text.strip()] = None
    return list(found)


def written(text: str) -> set[bytes]:
    """Return how a text may stand in a file: UTF-8, UTF-16, base64 at each alignment, hexadecimal, escaped for JSON."""
    raw = text.encode("utf-8", "surrogatepass")
    found = {raw, text.encode("utf-16-le", "surrogatepass"), text.encode("utf-16-be", "surrogatepass")}
    found |= {json.dumps(text, ensure_ascii=flag)[1:-1].encode("utf-8", "surrogatepass") for flag in (True, False)}
    for data in (raw, text.encode("utf-16-le", "surrogatepass")):
        found |= {data.hex().encode(), data.hex().upper().encode()}
        for shift in range(3):
            encoded = base64.b64encode(b"\0" * shift + data)
            kept = encoded[(0, 2, 3)[shift] : (shift + len(data)) * 8 // 6]
            found |= {kept, kept.replace(b"+", b"-").replace(b"/", b"_")}
    return found
