"""One exposure: what a prompt was shown, in the form that is kept and read again.

Every text that came from outside is scrubbed before it is kept. What is read is
held to its form: the file is disposable, and nothing in it may break a prompt.
Lean path: stdlib only.
"""

import json
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger import redact
from ledger.model import ID_CHARS, ID_PREFIX

PREFIX = "exp_"
KEYWORDS_MAX, KEYWORD_CHARS = 40, 60
NAME_CHARS = 300
"""Characters that are kept of the name of a session, a prompt or a project."""

NUMBER_MAX = 1e12
"""Bound of the numbers behind a candidate; what is beyond was not written by this program."""

COLUMNS = (
    "id, at, ledger_id, session, prompt_id, channel, project, keywords, silence, shown, held, parts, versions,"
    " head_seq, head_hash, rules, anew"
)

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


class Garbled(ValueError):
    """A row that this program did not write so."""


class Exposure(NamedTuple):
    """What one prompt was shown, and why not more.

    `held` is a list of {id, reason}; `parts` the numbers behind each id;
    `silence` the word that says why nothing was shown, None when something was;
    `anew` begins the session's memory of what it was shown from here.
    """

    id: str
    at: str
    session: str
    prompt_id: str | None
    channel: str
    project: str | None
    keywords: list[str]
    silence: str | None
    shown: list[str]
    held: list[dict[str, str]]
    parts: dict[str, dict[str, Any]]
    versions: dict[str, Any]
    head_seq: int
    head_hash: str
    anew: bool = False


def new_id() -> str:
    """Return a fresh id: 125 random bits."""
    number = int.from_bytes(os.urandom(16), "big")
    return PREFIX + "".join(_ALPHABET[number >> 5 * at & 31] for at in range(25))


def time_text(now: float) -> str:
    """Return seconds since 1970 as the log writes times."""
    us = int(now * 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(us // 1_000_000)) + f".{us % 1_000_000:06d}Z"


def bindable(text: str) -> str:
    """Return a text that SQLite can be given: half characters and stray bytes stand there by their number."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def name_of(text: str) -> str:
    """Return the name of a session, a prompt or a project as it is kept: scrubbed and bounded.

    Raises:
        GuardFailed: the redactor could not run.
    """
    return redact.guarded("a name", bindable(text[: 4 * NAME_CHARS])).text[:NAME_CHARS]


def clean(words: Sequence[str]) -> list[str]:
    """Return keywords as they may be kept: few, short, and none in which a secret was found.

    Raises:
        GuardFailed: the redactor could not run.
    """
    kept = [bindable(word[:KEYWORD_CHARS]) for word in words[:KEYWORDS_MAX]]
    if not _has_secret(" ".join(kept)):
        return kept
    return [word for word in kept if not _has_secret(word) and not _has_secret(f"password={word}")]


def _has_secret(text: str) -> bool:
    return bool(redact.guarded("a keyword", text).kinds)


def rules() -> int:
    """Return the version of the rules that find secrets.

    Raises:
        GuardFailed: they cannot be read.
    """
    redact.guarded("the exposures", "")
    return redact.RULES_VERSION


# -- rows ------------------------------------------------------------------------------------------------------------


def row_of(one: Exposure, ledger_id: str) -> tuple[Any, ...]:
    """Return an exposure as a row of `COLUMNS`, every text of it scrubbed."""
    prompt_id, project = (None if name is None else name_of(name) for name in (one.prompt_id, one.project))
    lists = map(dumped, (one.shown, one.held, one.parts, one.versions))
    return (
        *(one.id, one.at, ledger_id, name_of(one.session), prompt_id, one.channel, project),
        *(dumped(clean(one.keywords)), one.silence, *lists, one.head_seq, one.head_hash, rules(), int(one.anew)),
    )


def exposure_of(row: Sequence[Any]) -> Exposure:
    """Return a row of `COLUMNS` as an exposure; keywords that older rules let pass are scrubbed.

    Raises:
        Garbled: it has another form.
    """
    name, at, _, session, prompt_id, channel, project, keywords, silence = row[:9]
    held, parts, versions = map(_parsed, row[10:13])
    seq, head_hash, by_rules, anew = row[13:17]
    fits = (
        all(isinstance(text, str) for text in (at, session, channel, head_hash))
        and all(text is None or isinstance(text, str) for text in (prompt_id, project, silence))
        and all(type(number) is int for number in (seq, by_rules, anew))
        and _is_id(name, PREFIX, 25)
        and isinstance(held, list)
        and all(isinstance(one, dict) and _are_texts([one.get("id"), one.get("reason")]) for one in held)
        and isinstance(parts, dict)
        and all(map(_are_parts, parts.values()))
        and isinstance(versions, dict)
        and all(value is None or type(value) in (str, int) for value in versions.values())
    )
    if not fits:
        raise Garbled(str(type(name)))
    words = texts_of(keywords)
    return Exposure(
        name, at, session, prompt_id, channel, project, clean(words) if by_rules < rules() else words, silence,
        ids_of(row[9]), held, parts, versions, seq, head_hash, bool(anew),
    )  # fmt: skip


def ids_of(cell: Any) -> list[str]:
    """Return the ids of the learnings in a cell.

    Raises:
        Garbled: it holds anything else.
    """
    found = texts_of(cell)
    if not all(_is_id(name, ID_PREFIX, ID_CHARS) for name in found):
        raise Garbled("ids")
    return found


def texts_of(cell: Any) -> list[str]:
    """Return the texts in a cell.

    Raises:
        Garbled: it holds anything else.
    """
    found = _parsed(cell)
    if not isinstance(found, list) or not _are_texts(found):
        raise Garbled("texts")
    return found


def dumped(value: Any) -> str:
    """Return a value as a cell holds it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parsed(cell: Any) -> Any:
    try:
        return json.loads(cell)
    except (TypeError, ValueError, RecursionError):
        raise Garbled("a cell") from None


def _are_texts(found: Sequence[Any]) -> bool:
    return all(isinstance(text, str) and not any("\ud800" <= letter <= "\udfff" for letter in text) for text in found)


def _are_parts(found: Any) -> bool:
    """Tell whether these are the numbers behind a candidate, and what led to it."""
    return isinstance(found, dict) and all(
        isinstance(value, list) and _are_texts(value)
        if key == "via"
        else type(value) in (int, float) and abs(value) <= NUMBER_MAX
        for key, value in found.items()
    )


def _is_id(name: Any, prefix: str, size: int) -> bool:
    return (
        isinstance(name, str)
        and name.startswith(prefix)
        and len(name) == len(prefix) + size
        and set(name[len(prefix) :]).issubset(_ALPHABET)
    )
