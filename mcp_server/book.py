"""Whose token it is: looked up by its id, compared in constant time, read again whenever the file is another."""

import hashlib
import hmac
import os
import time
from collections.abc import Callable

from ledger.errors import LedgerError
from ledger.tokens import ENDING, NOBODY, PREFIX, Token, load, secret_of, time_text


class Book:
    """The tokens of one ledger, read again whenever their file is another: a revoked one ends with the next request."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock
        self._stamp: tuple[int, ...] | None = None
        self._tokens: dict[str, Token] = {}

    def client(self, header: str | None) -> Token | None:
        """Return whose token an Authorization header holds, None when it is nobody's that is let in.

        The same work is done whatever is wrong with it.
        """
        self._refresh()
        scheme, _, given = (header or "").strip().partition(" ")
        parts = given.strip().split("_", 2)
        name, text = (parts[1], parts[2]) if len(parts) == 3 else ("", given)
        found = self._tokens.get(name, NOBODY)
        digest = hashlib.sha256(secret_of(text)).digest()
        same = hmac.compare_digest(digest, bytes.fromhex(found.digest))
        is_live = found.state(time_text(self._clock())) == "live"
        is_formed = len(parts) == 3 and parts[0] == PREFIX and scheme.lower() == "bearer"
        return found if same and is_live and is_formed else None

    def _refresh(self) -> None:
        stamp = self._now()
        if stamp == self._stamp and stamp is not None:
            return
        self._tokens = {}
        self._stamp = None
        try:
            self._tokens = {one.id: one for one in load(self._path)}
        except (LedgerError, OSError):
            return  # nobody is let in, and the next request looks again
        self._stamp = stamp

    def _now(self) -> tuple[int, ...] | None:
        try:
            found = os.lstat(self._path + ENDING)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode, found.st_uid
