"""Who is let in over HTTP, decided from the head of a request alone, before a byte of its body is read.

Pure of sockets and of the SDK: names that the server answers to, tokens, the
pace of each client, and what a refusal says, which is never anything that the
request said.
"""

import ipaddress
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ledger.errors import BadArgument, NotAllowed
from ledger.tokens import Token, load, time_text
from mcp_server.book import Book

PATH = b"/mcp"


class Limits(NamedTuple):
    """How much of what a request and a client may take; seconds, bytes and counts.

    A Claude Code session sends about 6 requests when it starts and one a tool call,
    over 2 or 3 connections: `connections` and `rate` serve a handful of sessions
    that share a token. `strangers` are connections that have shown no token yet:
    of more, the oldest is closed, which a client that speaks at once is not. There
    are many of them, so that who only keeps connections open is ended by `head_s`,
    once in that time, and not at once to come back at once.
    """

    head_s: float = 5.0
    body_s: float = 10.0
    idle_s: float = 15.0
    answer_s: float = 60.0
    write_s: float = 10.0
    head_bytes: int = 16_384
    body_bytes: int = 1_048_576
    strangers: int = 600
    connections: int = 16
    total: int = 800
    rate: int = 300
    burst: int = 60
    failures: int = 60


class Refusal(NamedTuple):
    """What a request is answered that goes no further; `who` is the client's id where one is known."""

    status: int
    says: str
    headers: tuple[tuple[str, str], ...] = ()
    who: str = "-"


# -- where -----------------------------------------------------------------------------------------------------------


class Bind(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Tell whether only this machine can reach it."""
        return self.host == "localhost" or _address(self.host).is_loopback

    @property
    def is_any(self) -> bool:
        """Tell whether it is every address of this machine, which is no name to be called by."""
        return self.host != "localhost" and _address(self.host).is_unspecified

    @property
    def shown(self) -> str:
        """Return host and port as in an address of the web."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(host)


def bind_of(text: str) -> Bind:
    """Return where HOST:PORT is, HOST being an address or `localhost`; a port alone means loopback.

    Raises:
        BadArgument: it is no such place.
    """
    host, _, port = text.rpartition(":")
    host = (host[1:-1] if host[:1] + host[-1:] == "[]" else host) or "127.0.0.1"
    try:
        if host != "localhost":
            _address(host)
        if not (port.isascii() and port.isdigit() and int(port) < 65_536):
            raise ValueError("port")
    except ValueError:
        raise BadArgument(
            "that is no place to listen at; nothing was started", "write 127.0.0.1:8765 or [::1]:8765"
        ) from None
    return Bind(host, int(port))


def check_bind(bind: Bind, *, has_tls: bool, is_proxied: bool, hosts: Sequence[str], tokens: Iterable[Token]) -> None:
    """Refuse to be reached from other machines unless that was prepared for.

    Raises:
        NotAllowed: it was not; nothing was started.
    """
    if bind.is_loopback:
        return
    if not has_tls and not is_proxied:
        raise NotAllowed(
            "other machines could reach this address and read every token on the way; nothing was started",
            "give --tls-cert and --tls-key, or --behind-proxy if a proxy on the way does TLS",
        )
    if bind.is_any and not hosts:
        raise NotAllowed(
            "every address of this machine is no name to be called by; nothing was started",
            "name what clients call it with --allow-host NAME:PORT",
        )
    if not any(token.revoked_at is None for token in tokens):
        raise NotAllowed(
            "there is no token, so nobody could be let in; nothing was started",
            "make one with `learnings token create NAME`",
        )


class Options(NamedTuple):
    """How the command line wants it served."""

    bind: Bind
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    certificate: str | None = None
    key: str | None = None
    is_proxied: bool = False
    limits: Limits = Limits()

    @property
    def scheme(self) -> str:
        """Return the scheme of the address."""
        return "http" if self.certificate is None else "https"


class Sites(NamedTuple):
    """The names that the server answers to, and the pages that may call it; both whole and in lower case."""

    hosts: frozenset[str]
    origins: frozenset[str]


def sites_of(bind: Bind, hosts: Sequence[str], origins: Sequence[str], scheme: str) -> Sites:
    """Return the names for a place; those given come on top."""
    own = [] if bind.is_any else [bind.shown]
    if bind.is_loopback:
        own.append(f"localhost:{bind.port}")
    usual = {"http": 80, "https": 443}[scheme]
    if bind.port == usual:
        own += [name.rpartition(":")[0] for name in own]
    return Sites(
        frozenset(name.lower() for name in (*own, *hosts)), frozenset(one.lower().rstrip("/") for one in origins)
    )


def ready(path: str, options: "Options", now: float) -> int:
    """Return how many clients there are, if it may be served so; loads nothing heavy.

    Raises:
        LedgerError: it may not, or the tokens cannot be read; nothing was started.
    """
    known = load(path)
    check_bind(
        options.bind,
        has_tls=options.certificate is not None,
        is_proxied=options.is_proxied,
        hosts=options.hosts,
        tokens=known,
    )
    return sum(token.state(time_text(now)) == "live" for token in known)


# -- pace ------------------------------------------------------------------------------------------------------------


class Pace:
    """How fast somebody may go: `burst` at once, then `rate` a minute."""

    def __init__(self, rate: int, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = rate / 60, float(burst), clock
        self._left: dict[str, tuple[float, float]] = {}

    def is_within(self, who: str) -> bool:
        """Take one from what somebody has left; tell whether there was one."""
        now = self._clock()
        left, at = self._left.get(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_s)
        is_fine = left >= 1.0
        self._left[who] = (left - 1.0 if is_fine else left, now)
        if len(self._left) > 10_000:
            self._forget(now)
        return is_fine

    def _forget(self, now: float) -> None:
        """Forget those who have all of theirs again."""
        full = self._burst / self._per_s
        self._left = {who: held for who, held in self._left.items() if now - held[1] < full}
        while len(self._left) > 10_000:
            del self._left[next(iter(self._left))]


class Tally:
    """What was answered, as ids and counts: one line each minute in which there was something, on standard error."""

    def __init__(self, write: Callable[[str], object] = sys.stderr.write) -> None:
        self._write = write
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, who: str, what: object) -> None:
        """Count an answer to a client, or to nobody that is known (`-`)."""
        self._counts[who, str(what)] += 1

    def tell(self) -> None:
        """Write the line and begin anew."""
        if self._counts:
            told = ", ".join(f"{who} {what} x{count}" for (who, what), count in sorted(self._counts.items()))
            self._counts.clear()
            self._write(f"learnings: http {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}: {told}\n")


# -- letting in ------------------------------------------------------------------------------------------------------


class Head(NamedTuple):
    """The head of a request; names of headers are in lower case."""

    method: bytes
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]

    def all(self, name: bytes) -> list[str]:
        """Return every value of a header."""
        return [value.decode("latin-1").strip() for key, value in self.headers if key == name]

    def one(self, name: bytes) -> str | None:
        """Return the only value of a header; None when there is none, '' when there are several."""
        found = self.all(name)
        return None if not found else found[0] if len(found) == 1 else ""


UNKNOWN = Refusal(401, "no token that is let in", (("www-authenticate", "Bearer"),))
"""The same for a token that is missing, malformed, unknown, wrong, expired or revoked."""


class Gate:
    """Decides about requests by their heads."""

    def __init__(self, book: Book, sites: Sites, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._book, self._sites, self._limits = book, sites, limits
        self._pace = Pace(limits.rate, limits.burst, clock)
        self._failures = Pace(limits.failures, limits.failures, clock)

    def admit(self, head: Head, address: str) -> Token | Refusal:
        """Return the client of a request, or what it is refused with."""
        wrong = self._misdirected(head)
        if wrong is not None:
            return wrong
        client = self._book.client(head.one(b"authorization"))
        if client is None:
            if self._failures.is_within(address):
                return UNKNOWN
            return Refusal(429, "too many requests without a token", (("retry-after", "60"),))
        if not self._pace.is_within(client.id):
            return Refusal(429, "too many requests of this client", (("retry-after", "10"),), client.id)
        wrong = self._unfit(head)
        return client if wrong is None else wrong._replace(who=client.id)

    def _misdirected(self, head: Head) -> Refusal | None:
        """Return what is wrong with where a request goes and where it comes from."""
        if (head.one(b"host") or "").lower() not in self._sites.hosts:
            return Refusal(421, "this server has another name")
        if any(origin.lower() not in self._sites.origins for origin in head.all(b"origin")):
            return Refusal(403, "this page may not call")
        if head.target != PATH:
            return Refusal(404, "there is nothing here")
        if head.method != b"POST":
            return Refusal(405, "POST only", (("allow", "POST"),))
        return None

    def _unfit(self, head: Head) -> Refusal | None:
        """Return what is wrong with the form of what follows."""
        kind = (head.one(b"content-type") or "").lower().replace(" ", "")
        if kind not in ("application/json", "application/json;charset=utf-8"):
            return Refusal(415, "JSON only")
        if head.all(b"content-encoding"):
            return Refusal(415, "uncompressed only")
        length = head.one(b"content-length")
        if length is not None and (len(length) > 18 or int(length) > self._limits.body_bytes):
            return TOO_LARGE
        return None


TOO_LARGE = Refusal(413, "too large")
TOO_SLOW = Refusal(408, "too slow")
TOO_MANY = Refusal(429, "too many connections of this client", (("retry-after", "10"),))
