"""Bytes and hashes: canonical JSON, salted commitments, the chain, keyed digests.

Pure. Stored bytes are hashed as stored, never parsed and written again. No
unsalted digest of text exists anywhere: after an erasure nothing is left that
a short secret could be guessed from, so lookups by text use HMACs with the
ledger's own key.
"""

import hashlib
import hmac
import json
import re
from typing import Any

from ledger.model import Event

FORMAT = 1
"""Version of this module's byte formats, part of the genesis hash."""

GREATEST_INTEGER = 2**53 - 1
"""RFC 8785 numbers are IEEE doubles; larger integers would not survive them."""

_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class NotCanonical(ValueError):
    """A value outside the profile: a float, a large integer, a foreign key, U+0000 or half a surrogate pair."""


def canonical(value: dict[str, Any]) -> bytes:
    """Return `value` as RFC 8785 bytes.

    The profile is narrow enough for the standard encoder to give those bytes:
    keys `[a-z][a-z0-9_]*` (so code-point order is UTF-16 order), integers
    within 2**53 - 1, no floats, no U+0000.

    Raises:
        NotCanonical: the value is outside that profile; the message names the kind of fault only.
    """
    _check(value)
    try:
        return _encode(value).encode("utf-8")
    except UnicodeEncodeError:
        raise NotCanonical("half of a surrogate pair") from None


def _check(value: Any) -> None:
    """Raise `NotCanonical` unless `value` lies in the profile; half surrogates are left to the encoder."""
    kind = type(value)
    if kind is str:
        if "\0" in value:
            raise NotCanonical("U+0000")
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str or not _KEY.match(key):
                raise NotCanonical("a foreign key")
            _check(item)
    elif kind is list or kind is tuple:
        for item in value:
            _check(item)
    elif kind is int:
        if not -GREATEST_INTEGER <= value <= GREATEST_INTEGER:
            raise NotCanonical("an integer beyond 2**53 - 1")
    elif value is not None and kind is not bool:
        raise NotCanonical(f"a {kind.__name__}")


def genesis(ledger_id: str) -> bytes:
    """Return the hash that the first event follows."""
    return hashlib.sha256(b"\x00" + f"{ledger_id}\n{FORMAT}".encode("ascii")).digest()


def commitment(salt: bytes, body: bytes) -> bytes:
    """Return what the envelope says of a payload: nothing without the salt, which an erasure destroys too."""
    return hashlib.sha256(b"\x02" + salt + body).digest()


def envelope(
    seq: int,
    event_id: str,
    stream: str,
    version: int,
    kind: str,
    schema_version: int,
    recorded_at: str,
    actor_kind: str,
    actor_id: str | None,
    channel: str,
    trust: int,
    batch: int | None,
    data: str,
) -> bytes:
    """Return the envelope's bytes: its columns joined by LF, NULL as nothing, `data` last.

    CHECKs keep LF out of all but `data` and '' out of nullable columns, so two
    envelopes never share bytes. Damaged text that was read with
    `surrogateescape` becomes the bytes that are stored.
    """
    return (
        f"{seq}\n{event_id}\n{stream}\n{version}\n{kind}\n{schema_version}\n{recorded_at}\n{actor_kind}\n"
        f"{actor_id or ''}\n{channel}\n{trust}\n{'' if batch is None else batch}\n{data}"
    ).encode("utf-8", "surrogateescape")


def link(prev_hash: bytes, envelope_bytes: bytes, commitment_bytes: bytes) -> bytes:
    """Return the hash of an event that follows `prev_hash`."""
    return hashlib.sha256(b"\x01" + prev_hash + hashlib.sha256(envelope_bytes).digest() + commitment_bytes).digest()


def faults(event: Event, prev_hash: bytes) -> list[str]:
    """Return what is wrong with a stored event, given the hash before it; empty when all is right.

    An erased payload is not a fault here: whether its erasure is an event is
    for the caller, who sees the whole log.
    """
    found = []
    if event.prev_hash != prev_hash:
        found.append("prev_hash")
    if event.body is not None and event.salt is not None and commitment(event.salt, event.body) != event.commitment:
        found.append("commitment")
    if link(event.prev_hash, envelope(*event[:13]), event.commitment) != event.hash:
        found.append("hash")
    return found


def keyed(key: bytes, purpose: str, text: str) -> bytes:
    """Return the HMAC that stands for `text` in lookups; `purpose` keeps lookups of different kinds apart."""
    return hmac.digest(key, f"{purpose}\n{text}".encode("utf-8", "surrogatepass"), "sha256")


def content_key(key: bytes, problem: str, solution: str, project: str) -> bytes:
    """Return the key of a learning's text: white space runs count as one, letters as they are."""
    return keyed(key, "content", "\n".join(" ".join(text.split()) for text in (problem, solution, project)))


def locator_key(key: bytes, locator: str) -> bytes:
    """Return the key of a place that a learning was read from."""
    return keyed(key, "locator", locator)
