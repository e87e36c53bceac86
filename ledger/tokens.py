"""The bearer tokens of clients that reach the ledger over HTTP, in `<file>.tokens` (0600) beside it.

A token is 32 random bytes, shown once; the file holds its SHA-256, which is
enough for a random key of that length (it is not for a password). It is no event
of the log: an access must be gone once it is revoked, must not travel with an
export or a follower, and is about this machine (docs/decisions/0015). Whatever is
wrong with the file, nobody is let in.
"""

import base64
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from ledger.errors import BadArgument, BadInput, Damaged, NotFound, UnsafePlace
from ledger.model import PROJECT_CHARS, TRUST_AGENT, TRUST_NOTES
from ledger.place import WriteLock, make_folder, os_fault, replace

ENDING = ".tokens"
FORMAT = 1

DAYS = 365
"""Days until a token ends that was given no date: one without an end is never made."""

TRUST = TRUST_NOTES
"""What a client's writes are trusted with at most, unless the token says otherwise: as notes that an agent wrote."""

SECRET_BYTES = 32
PREFIX = "lrnt"
"""A token is `lrnt_<id>_<secret>`: whoever finds one in a log knows what to revoke."""

LETTERS = "[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
"""32 bytes in the one form that stands for them: the last letter has two bits to spare, which have to be 0."""

FILE_BYTES = 4_194_304
"""Most bytes of the file that are read: some 10,000 tokens."""

PROJECTS_MAX = 50
TOOLS = (
    "query_learnings",
    "get_learnings",
    "list_learnings",
    "learning_history",
    "ledger_status",
    "record_learning",
    "supersede_learning",
    "retract_learning",
    "undo",
    "recall",
)
"""What a token may allow. `import_learnings` is not among them: its paths are files of the machine that serves."""

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}"


class Token(NamedTuple):
    """One client: what it may do, and until when. No projects means all of them; times are UTC text."""

    id: str
    name: str
    projects: tuple[str, ...]
    tools: tuple[str, ...]
    trust: int
    created_at: str
    expires_at: str
    revoked_at: str | None
    digest: str

    @property
    def is_limited(self) -> bool:
        """Tell whether it reaches some projects only."""
        return bool(self.projects)

    def state(self, now: str) -> str:
        """Return in a word whether it lets anybody in: live, expired or revoked."""
        return "revoked" if self.revoked_at is not None else "expired" if self.expires_at <= now else "live"

    def told(self, now: str) -> dict[str, Any]:
        """Return what may be said of it: everything but its digest."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state(now),
            "projects": list(self.projects),
            "tools": list(self.tools),
            "trust": self.trust,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
        }


NOBODY = Token("", "", (), TOOLS, 0, "", "9999-12-31T00:00:00Z", None, hashlib.sha256(b"").hexdigest())
"""Whom a token is compared with that names no client, so that this takes as long; no token has this digest."""


def time_text(now: float) -> str:
    """Return seconds since 1970 as the text that times are compared as."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))


# -- the file --------------------------------------------------------------------------------------------------------


def load(path: str) -> list[Token]:
    """Return the tokens of the ledger at `path`, in the order in which they were made; none without a file.

    Raises:
        UnsafePlace: the file is another user's, or others may read or write it.
        Damaged: it does not hold what this program writes.
    """
    try:
        fd = os.open(path + ENDING, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise os_fault(error, path + ENDING) from None
    try:
        check_private(os.fstat(fd), path + ENDING)
        return _parsed(_whole(fd), path + ENDING)
    finally:
        os.close(fd)


def check_private(found: os.stat_result, path: str) -> None:
    """Refuse a file with keys that is not its owner's alone.

    Raises:
        UnsafePlace: with what was found.
    """
    if not stat.S_ISREG(found.st_mode):
        raise UnsafePlace(f"{path} is not a regular file; nothing was read", "put a file in its place")
    if os.name == "nt":  # pragma: no cover
        return
    if found.st_uid != os.geteuid():
        raise UnsafePlace(f"{path} belongs to user {found.st_uid}; nothing was read", "run this as that user")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise UnsafePlace(f"{path} can be read by others (mode {mode:o}); nothing was read", f"run `chmod 600 {path}`")


def _whole(fd: int) -> bytes:
    data = b""
    while len(data) <= FILE_BYTES and (part := os.read(fd, 1_048_576)):
        data += part
    return data


def _parsed(data: bytes, path: str) -> list[Token]:
    try:
        held = json.loads(data)
        if len(data) > FILE_BYTES or held["format"] != FORMAT:
            raise ValueError("another format")
        return [_token(one) for one in held["tokens"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Damaged(f"{path} does not hold tokens of this program; nobody is let in", "take a copy back") from None


def _token(one: dict[str, Any]) -> Token:
    """Return one entry, every part of which is looked at: half an entry must not let more in than a whole one."""
    made = Token(
        one["id"], one["name"], tuple(one["projects"]), tuple(one["tools"]), one["trust"],
        one["created_at"], one["expires_at"], one["revoked_at"], one["sha256"],
    )  # fmt: skip
    texts = [made.id, made.name, made.created_at, made.expires_at, *made.projects, *made.tools]
    if not all(isinstance(text, str) and text for text in texts) or not made.tools:
        raise ValueError("a text is missing")
    if type(made.trust) is not int or not 0 <= made.trust <= TRUST_AGENT or len(bytes.fromhex(made.digest)) != 32:
        raise ValueError("a number is missing")
    if made.revoked_at is not None and not isinstance(made.revoked_at, str):
        raise ValueError("a time is missing")
    return made


def _save(path: str, tokens: Iterable[Token]) -> None:
    """Replace the file durably: temporary file, fsync, rename, folder."""
    held = [{**one._asdict(), "sha256": one.digest} for one in tokens]
    for entry in held:
        del entry["digest"]
    text = json.dumps({"format": FORMAT, "tokens": held}, indent=1) + "\n"
    replace(path + ENDING, text.encode())


# -- making and revoking ---------------------------------------------------------------------------------------------


def new(
    name: str,
    projects: Sequence[str] = (),
    tools: Sequence[str] = (),
    trust: int = TRUST,
    expires: str | None = None,
    *,
    now: float,
) -> tuple[Token, str]:
    """Draw a token; return it and its text, which nobody can tell again. Nothing is written.

    Args:
        projects: the only ones that it reaches, besides what holds everywhere; none means all.
        tools: of `TOOLS`; none means all.
        expires: a date, the last day on which it is good, or a UTC time; `DAYS` from now without one.

    Raises:
        BadArgument: one of these is none.
    """
    _check(name, projects, tools, trust)
    secret = os.urandom(SECRET_BYTES)
    made = Token(
        os.urandom(6).hex(), name, tuple(dict.fromkeys(projects)), tuple(dict.fromkeys(tools)) or TOOLS, trust,
        time_text(now), _end(expires, now), None, hashlib.sha256(secret).hexdigest(),
    )  # fmt: skip
    return made, f"{PREFIX}_{made.id}_{base64.urlsafe_b64encode(secret).decode().rstrip('=')}"


def _check(name: str, projects: Sequence[str], tools: Sequence[str], trust: int) -> None:
    from ledger import redact

    if not re.fullmatch(NAME, name):
        raise BadArgument(
            "that is no name for a token; nothing was written", "use up to 60 letters, digits, `.`, `_` and `-`"
        )
    unknown = [tool for tool in tools if tool not in TOOLS]
    if unknown:
        raise BadArgument(
            f"{len(unknown)} of the tools cannot be allowed over HTTP; nothing was written",
            "use of: " + ", ".join(TOOLS),
        )
    if len(projects) > PROJECTS_MAX or any(not 0 < len(one.strip()) <= PROJECT_CHARS for one in projects):
        raise BadArgument("that is no list of projects; nothing was written", f"name at most {PROJECTS_MAX}")
    if any(redact.guarded("a name", text).kinds for text in (name, *projects)):
        raise BadInput("a name looks like a secret; nothing was written", "name the client, not its key")
    if not 0 <= trust <= TRUST_AGENT:
        raise BadArgument(f"trust is {trust}; nothing was written", f"trust may be 0 to {TRUST_AGENT}")


def _end(expires: str | None, now: float) -> str:
    if expires is None:
        return time_text(now + DAYS * 86_400)
    try:
        if len(expires) == 10:
            day = date.fromisoformat(expires) + timedelta(days=1)
            end = datetime(day.year, day.month, day.day, tzinfo=UTC)
        else:
            end = datetime.fromisoformat(expires)
            end = end.replace(tzinfo=UTC) if end.tzinfo is None else end.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadArgument("that is no date; nothing was written", "write 2027-06-01 or 2027-06-01T12:00Z") from None
    text = time_text(end.timestamp())
    if text <= time_text(now):
        raise BadArgument("the date has passed already; nothing was written", "name a later one")
    return text


def add(path: str, made: Token) -> None:
    """Keep a token."""
    make_folder(path)
    with WriteLock(path, 10.0):
        _save(path, [*load(path), made])


def revoke(path: str, asked: str, *, now: float, is_dry: bool = False) -> Token:
    """End a token at once, by its id; its digest goes. Revoking again changes nothing.

    Raises:
        NotFound: there is no such token.
    """
    with WriteLock(path, 10.0):
        tokens = load(path)
        found = next((one for one in tokens if one.id == asked), None)
        if found is None:
            raise NotFound("there is no token of that id; nothing was changed", "see `learnings token list`")
        if found.revoked_at is not None:
            return found
        ended = found._replace(revoked_at=time_text(now), digest=NOBODY.digest)
        if not is_dry:
            _save(path, [ended if one is found else one for one in tokens])
    return ended


# -- a token's text -------------------------------------------------------------------------------------------------


def secret_of(text: str) -> bytes:
    """Return the bytes that a token's last part stands for, of a fixed length whatever it is."""
    is_one = len(text) == 43 and re.fullmatch(LETTERS, text) is not None
    return base64.urlsafe_b64decode((text if is_one else "A" * 43) + "=")


def is_token(text: str) -> bool:
    """Tell whether a text has the form of a token."""
    return re.fullmatch(PREFIX + "_[0-9a-f]{12}_" + LETTERS, text) is not None
