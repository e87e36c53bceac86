"""Remember which sessions ran and whether the hooks fired, in a file of its own beside the ledger: `sessions.db`.

Not part of the log: it may be deleted at any time, rows go after 30 days, and
nobody waits for it longer than `WAIT_S`: whatever is wrong with it, the work
goes on without it. One that is damaged is set aside by the next who writes, and another is begun. It
holds names, times and counts, and start blocks with keywords as exposures have them (`ready.py`); never a prompt.
Each call opens the file anew, so that threads, processes and a file that was
put in its place need no care.
Lean path: stdlib only, and without `typing`, which would double the start of a hook.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Statement = tuple[str, Mapping[str, Any]]

FILE, ASIDE = "sessions.db", ".damaged"
SCHEMA = 1

WAIT_S = 0.05
"""Longest wait for another process that writes the file."""

DAYS = 30
"""Days that are kept."""

FIRED_DAYS = 400
"""Days after which the last success and fault of an event and entrypoint go: `doctor` asks for them, years do not."""

TWICE_S = 5
"""Within this, the same event of the same session that another set-up heard is the same one."""

REST_S = 60
"""Seconds after which something that hung is tried again, once."""

SOURCES = ("startup", "resume", "clear", "compact", "fork")
"""Ways in which a session of the client begins; another word is not kept."""

NAME_CHARS, PATH_CHARS = 300, 4_096
FAULT_CHARS = 40

ROBOTS = ("sdk-cli",)
"""Entrypoints of the client that nobody types at."""

PROMPT, SHOWN, SILENT, MACHINE, OFF, SEARCH = "prompt", "shown", "silent", "machine", "off", "search"
"""What is counted of a session: prompts that came, and what became of each; searches."""

SETTLE = "settle"
"""What counts beside the events of a client: that a server did what hooks had left to be done."""

SCAN = "scan"
"""And that it read the notes which were changed while nobody looked."""

TABLES = (
    """CREATE TABLE IF NOT EXISTS session (session TEXT NOT NULL PRIMARY KEY, project TEXT, entrypoint TEXT NOT NULL,
  attended INTEGER NOT NULL, source TEXT, started_at TEXT NOT NULL, last_at TEXT NOT NULL) STRICT""",
    "CREATE INDEX IF NOT EXISTS session_last ON session (last_at)",
    """CREATE TABLE IF NOT EXISTS used (day TEXT NOT NULL, session TEXT NOT NULL, what TEXT NOT NULL,
  many INTEGER NOT NULL, PRIMARY KEY (day, session, what)) STRICT""",
    """CREATE TABLE IF NOT EXISTS fired (event TEXT NOT NULL, entrypoint TEXT NOT NULL, succeeded_at TEXT,
  ms INTEGER, failed_at TEXT, fault TEXT, PRIMARY KEY (event, entrypoint)) STRICT""",
    """CREATE TABLE IF NOT EXISTS fired_day (day TEXT NOT NULL, event TEXT NOT NULL, entrypoint TEXT NOT NULL,
  succeeded INTEGER NOT NULL, failed INTEGER NOT NULL, PRIMARY KEY (day, event, entrypoint)) STRICT""",
    """CREATE TABLE IF NOT EXISTS breaker (name TEXT NOT NULL PRIMARY KEY, tripped_at TEXT NOT NULL,
  until REAL NOT NULL, faults INTEGER NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS actor (actor TEXT NOT NULL PRIMARY KEY, session TEXT NOT NULL,
  at TEXT NOT NULL) STRICT""",
    "CREATE TABLE IF NOT EXISTS told (line TEXT NOT NULL PRIMARY KEY, at TEXT NOT NULL) STRICT",
    """CREATE TABLE IF NOT EXISTS ready (cwd TEXT NOT NULL PRIMARY KEY, stamp TEXT NOT NULL, head TEXT NOT NULL,
  day TEXT NOT NULL, project TEXT, text TEXT NOT NULL, exposure TEXT NOT NULL) STRICT""",
)
BEGUN = """INSERT INTO session (session, project, entrypoint, attended, source, started_at, last_at)
VALUES (:session, :project, :entrypoint, :attended, :source, :at, :at)
ON CONFLICT (session) DO UPDATE SET last_at = max(last_at, excluded.last_at),
  project = coalesce(excluded.project, project), source = coalesce(excluded.source, source)"""
USED = """INSERT INTO used (day, session, what, many) VALUES (:day, :session, :what, 1)
ON CONFLICT (day, session, what) DO UPDATE SET many = many + 1"""
SUCCEEDED = """INSERT INTO fired (event, entrypoint, succeeded_at, ms) VALUES (:event, :entrypoint, :at, :ms)
ON CONFLICT (event, entrypoint) DO UPDATE SET succeeded_at = excluded.succeeded_at, ms = excluded.ms"""
FAILED = """INSERT INTO fired (event, entrypoint, failed_at, fault) VALUES (:event, :entrypoint, :at, :fault)
ON CONFLICT (event, entrypoint) DO UPDATE SET failed_at = excluded.failed_at, fault = excluded.fault"""
FIRED_DAY = """INSERT INTO fired_day (day, event, entrypoint, succeeded, failed)
VALUES (:day, :event, :entrypoint, :succeeded, :failed)
ON CONFLICT (day, event, entrypoint) DO UPDATE SET
  succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed"""
TRIPPED = """INSERT INTO breaker (name, tripped_at, until, faults) VALUES (:name, :at, :until, 1)
ON CONFLICT (name) DO UPDATE SET tripped_at = excluded.tripped_at, until = excluded.until, faults = faults + 1"""
HELD = "SELECT until FROM breaker WHERE name = :name"
TRIAL = "UPDATE breaker SET until = :until WHERE name = :name AND until <= :now"
PASSED = "DELETE FROM breaker WHERE name = :name"
ACTS = """INSERT INTO actor (actor, session, at) VALUES (:actor, :session, :at)
ON CONFLICT (actor) DO UPDATE SET at = excluded.at"""
TELL = """INSERT INTO told (line, at) VALUES (:line, :at)
ON CONFLICT (line) DO UPDATE SET at = excluded.at WHERE substr(told.at, 1, 10) <> substr(excluded.at, 1, 10)"""
FIRST = """INSERT INTO told (line, at) SELECT :line, :at
WHERE NOT EXISTS (SELECT 1 FROM told WHERE line = :other AND at >= :since)
ON CONFLICT (line) DO UPDATE SET at = excluded.at"""
READY = "SELECT stamp, head, day, project, text, exposure FROM ready WHERE cwd = :cwd"
KEEP_READY = """INSERT OR REPLACE INTO ready (cwd, stamp, head, day, project, text, exposure)
VALUES (:cwd, :stamp, :head, :day, :project, :text, :exposure)"""
FORGET_READY = "DELETE FROM ready"
PRUNE = (
    "DELETE FROM session WHERE last_at < :before", "DELETE FROM used WHERE day < :before",
    "DELETE FROM fired_day WHERE day < :before", "DELETE FROM actor WHERE at < :before",
    "DELETE FROM told WHERE at < :before", "DELETE FROM breaker WHERE tripped_at < :before",
    "DELETE FROM ready WHERE day < :today",
    "DELETE FROM fired WHERE max(coalesce(succeeded_at, ''), coalesce(failed_at, '')) < :long_before",
)  # fmt: skip
SESSIONS = """SELECT session, project, entrypoint, attended, source, started_at, last_at FROM session
WHERE last_at >= :since ORDER BY last_at DESC, session LIMIT :many"""
RAN = "SELECT count(*) FROM session WHERE started_at >= :since AND attended = 1 AND entrypoint <> 'sdk-cli'"
USES = """SELECT u.session, coalesce(s.project, ''), coalesce(s.entrypoint, ''), coalesce(s.attended, 1), u.what,
  sum(u.many) FROM used AS u LEFT JOIN session AS s ON s.session = u.session
WHERE u.day >= :since GROUP BY u.session, u.what ORDER BY u.session, u.what"""
ACTORS = """SELECT a.actor, a.session, s.entrypoint, s.attended FROM actor AS a JOIN session AS s
ON s.session = a.session ORDER BY a.actor"""
FIRED = """SELECT f.event, f.entrypoint, f.succeeded_at, f.ms, f.failed_at, f.fault, coalesce(sum(d.succeeded), 0),
  coalesce(sum(d.failed), 0) FROM fired AS f
LEFT JOIN fired_day AS d ON d.event = f.event AND d.entrypoint = f.entrypoint AND d.day >= :since
GROUP BY f.event, f.entrypoint ORDER BY f.event, f.entrypoint"""
BREAKERS = "SELECT name, tripped_at, until, faults FROM breaker ORDER BY name"


class Caller:
    """Who a hook runs for: a session of a client, where, started how, and whether anybody sits in front of it."""

    __slots__ = ("attended", "entrypoint", "project", "session", "source")

    def __init__(
        self, session: str, project: str | None = None, entrypoint: str = "", attended: bool = True,
        source: str | None = None,
    ) -> None:  # fmt: skip
        self.session, self.project, self.entrypoint = session, project, entrypoint
        self.attended, self.source = attended, source

    @property
    def is_robot(self) -> bool:
        """Tell whether nobody types at it."""
        return self.entrypoint in ROBOTS or not self.attended


def caller(env: Mapping[str, str], session: str, project: str | None = None, source: str | None = None) -> Caller:
    """Return who calls, as the environment that the client gives its hooks and servers says."""
    attended = env.get("CLAUDE_CODE_SESSION_ATTENDED", "") != "0"
    known = source if source in SOURCES else None
    return Caller(scrubbed(session), project, env.get("CLAUDE_CODE_ENTRYPOINT", ""), attended, known)


def scrubbed(session: str) -> str:
    """Return a session's name as it may be kept: a UUID as it is, anything else without secrets, '' when that fails."""
    if len(session) == 36 and session[8:24:5] == "----" and not session.strip("0123456789abcdefABCDEF-"):
        return session
    from ledger.errors import GuardFailed
    from ledger.exposure import name_of

    try:
        return name_of(session) if session else ""
    except GuardFailed:
        return ""


def path_beside(ledger: str) -> str:
    """Return where the sessions of a ledger file are."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), FILE)


def moment(now: float) -> str:
    """Return seconds since 1970 as a time to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))


def plain(text: str, most: int = NAME_CHARS) -> str:
    """Return a name as it is kept: bounded, half characters replaced, since SQLite cannot be given them."""
    return text[:most].encode("utf-8", "replace").decode()


class Sessions:
    """The file beside one ledger. Nothing here raises: what writes tells whether it was written."""

    def __init__(self, ledger: str) -> None:
        self.path = path_beside(ledger)

    # -- writing -----------------------------------------------------------------------------------------------------

    def ran(self, event: str, who: Caller, ms: float, now: float, used: Iterable[str] = ()) -> bool:
        """Note that a hook did its work, and what came of it."""
        at = moment(now)
        fired = {"event": event, "entrypoint": plain(who.entrypoint), "at": at, "ms": round(ms)}
        return self._write([*_begun(who, at), *_counted(who, at, used), (SUCCEEDED, fired), _day(fired, 1, 0)], now)

    def failed(self, event: str, entrypoint: str, fault: str, now: float) -> bool:
        """Note that a hook failed; `fault` is one word of ours or the name of a type, never a message."""
        fired = {
            "event": event, "entrypoint": plain(entrypoint), "at": moment(now), "fault": plain(fault, FAULT_CHARS),
        }  # fmt: skip
        return self._write([(FAILED, fired), _day(fired, 0, 1)], now)

    def count(self, who: Caller, now: float, *what: str, actor: str | None = None) -> bool:
        """Count what a session did; `actor` is the name under which it writes in the log."""
        at = moment(now)
        acts = [(ACTS, {"actor": plain(actor), "session": plain(who.session), "at": at})] if actor else []
        return self._write([*_begun(who, at), *_counted(who, at, what), *acts], now)

    def is_news(self, line: str, now: float) -> bool:
        """Tell whether a remark was not made today yet, and note that it is made now; a file at fault has no news."""
        return self._changed(TELL, {"line": plain(line, FAULT_CHARS), "at": moment(now)})

    def is_first(self, what: str, own: str, other: str, now: float) -> bool:
        """Tell whether the other set-up has not answered just this, and note that this one does; yes in doubt."""
        line, theirs = plain(f"{own} {what}"), plain(f"{other} {what}")
        binds = {"line": line, "other": theirs, "at": moment(now), "since": moment(now - TWICE_S)}
        done = self._done(lambda connection: connection.execute(FIRST, binds).rowcount > 0, make=True)
        return done is None or bool(done)

    def ready(self, cwd: str) -> tuple[Any, ...] | None:
        """Return the start block that is kept for a folder, as `ready.py` reads it."""
        found = self._rows(READY, {"cwd": plain(cwd, PATH_CHARS)})
        return found[0] if found else None

    def keep_ready(self, cwd: str, row: tuple[Any, ...], now: float) -> bool:
        """Keep the start block of a folder; those of earlier days go."""
        names = ("stamp", "head", "day", "project", "text", "exposure")
        binds = {"cwd": plain(cwd, PATH_CHARS), **dict(zip(names, row, strict=True))}
        return self._write([(KEEP_READY, binds)], now)

    def forget_ready(self) -> bool:
        """Destroy every start block that is kept: they hold text of learnings."""
        return not os.path.lexists(self.path) or self._write([(FORGET_READY, {})], time.time())

    # -- the breaker -------------------------------------------------------------------------------------------------

    def allowed(self, name: str, now: float) -> bool:
        """Tell whether something may be waited for: it did not hang lately, or this is the one trial after its rest."""
        held = self._rows(HELD, {"name": name})
        if not held:
            return True
        if now < held[0][0] - 2 * REST_S:
            return True  # the clock was set back
        return now >= held[0][0] and self._changed(TRIAL, {"name": name, "now": now, "until": now + REST_S})

    def tripped(self, name: str, now: float) -> bool:
        """Note that something hung: nobody waits for it until it has rested."""
        return self._write([(TRIPPED, {"name": name, "at": moment(now), "until": now + REST_S})], now)

    def passed(self, name: str) -> bool:
        """Note that something that hung works again."""
        return not self._rows(HELD, {"name": name}) or self._changed(PASSED, {"name": name})

    # -- asking ------------------------------------------------------------------------------------------------------

    def listed(self, since: float, many: int = 1_000) -> list[dict[str, Any]]:
        """Return the sessions that did something since then, the last one first."""
        keys = ("session", "project", "entrypoint", "attended", "source", "started_at", "last_at")
        return [dict(zip(keys, row, strict=True)) for row in self._rows(SESSIONS, _since(since, many=many))]

    def ran_since(self, since: float) -> int:
        """Return how many sessions of people began since then."""
        found = self._rows(RAN, _since(since))
        return int(found[0][0]) if found else 0

    def uses(self, since: float) -> list[dict[str, Any]]:
        """Return {session, project, entrypoint, attended, what, many} since the day of that time."""
        keys = ("session", "project", "entrypoint", "attended", "what", "many")
        return [dict(zip(keys, row, strict=True)) for row in self._rows(USES, {"since": moment(since)[:10]})]

    def actors(self) -> dict[str, Caller]:
        """Return who stands behind the names under which servers write in the log."""
        return {row[0]: Caller(row[1], None, row[2], bool(row[3])) for row in self._rows(ACTORS, {})}

    def fired(self, now: float) -> list[dict[str, Any]]:
        """Return each event's last success and last fault by entrypoint, and how many there were in 30 days."""
        keys = ("event", "entrypoint", "succeeded_at", "ms", "failed_at", "fault", "succeeded", "failed")
        since = {"since": moment(now - DAYS * 86_400)[:10]}
        return [dict(zip(keys, row, strict=True)) for row in self._rows(FIRED, since)]

    def breakers(self) -> list[dict[str, Any]]:
        """Return what hung and is not known to work again: {name, tripped_at, until, faults}."""
        return [
            {"name": name, "tripped_at": at, "until": moment(until), "faults": faults}
            for name, at, until, faults in self._rows(BREAKERS, {})
        ]

    def fault(self) -> str | None:
        """Return what is wrong with the file as the name of an error, None when it can be used or is not there yet."""
        try:
            if os.path.lexists(self.path):
                self._open(make=False).close()
        except (sqlite3.Error, OSError, ValueError) as error:
            return getattr(error, "sqlite_errorname", type(error).__name__)
        return None

    # -- the file ----------------------------------------------------------------------------------------------------

    def _write(self, statements: Iterable[Statement], now: float) -> bool:
        """Run statements in one transaction and forget what is old."""
        told = list(statements)

        def act(connection: sqlite3.Connection) -> bool:
            connection.execute("BEGIN IMMEDIATE")
            for statement, binds in told:
                connection.execute(statement, binds)
            old = {"before": moment(now - DAYS * 86_400)[:10], "long_before": moment(now - FIRED_DAYS * 86_400)}
            for statement in PRUNE:
                connection.execute(statement, {**old, "today": moment(now)[:10]})
            connection.execute("COMMIT")
            return True

        return bool(self._done(act, make=True))

    def _changed(self, statement: str, binds: Mapping[str, Any]) -> bool:
        """Run one statement; return whether it changed a row."""
        return bool(self._done(lambda connection: connection.execute(statement, binds).rowcount > 0, make=True))

    def _rows(self, statement: str, binds: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._done(lambda connection: connection.execute(statement, binds).fetchall(), make=False) or []

    def _done(self, act: Callable[[sqlite3.Connection], Any], *, make: bool) -> Any:
        """Return what an act on the file returns, None when it cannot be; who writes sets a damaged file aside first.

        Who only reads changes nothing: `doctor` is one of them.
        """
        for _ in range(2 if make else 1):
            found = self._identity()
            try:
                connection = self._open(make)
                try:
                    return act(connection)
                finally:
                    connection.close()
            except (sqlite3.Error, OSError, ValueError) as error:
                if not make or not _is_damage(error) or not self._set_aside(found):
                    return None
        return None

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.lstat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _set_aside(self, found: tuple[int, int] | None) -> bool:
        """Give a damaged file another name, in the place of the last one set aside; False when that cannot be.

        Nothing is done when another process did it already.
        """
        if found is None or self._identity() != found:
            return True
        try:
            if os.path.lexists(self.path + "-journal"):
                os.replace(self.path + "-journal", f"{self.path}{ASIDE}-journal")
            os.replace(self.path, self.path + ASIDE)
        except OSError:
            return False
        return True

    def _made(self) -> None:
        """Make the file, readable by its owner alone, unless another process was first."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return

    def _open(self, make: bool) -> sqlite3.Connection:
        """Open the file, made with mode 0600 when it is missing and wanted."""
        # Closing a descriptor of a file that is there would drop the locks of this process's other threads.
        if os.path.lexists(self.path):
            if not stat.S_ISREG(os.lstat(self.path).st_mode):
                raise OSError("no regular file")
        elif make:
            self._made()
        else:
            raise FileNotFoundError(self.path)
        connection = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA:
                raise ValueError("written by a newer program")
            connection.execute("PRAGMA synchronous = OFF").fetchall()
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            if version < SCHEMA:
                connection.execute("BEGIN IMMEDIATE")
                for statement in (*TABLES, f"PRAGMA user_version = {SCHEMA}"):
                    connection.execute(statement)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection


def _is_damage(error: Exception) -> bool:
    """Tell whether the file's content is wrong, and not that somebody holds it or it cannot be written."""
    code = getattr(error, "sqlite_errorcode", 0)
    if not isinstance(error, sqlite3.DatabaseError) or not isinstance(code, int):
        return False
    # SQLITE_ERROR: a table or column of ours is missing, in a file that says it has this program's form.
    return code & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)


def _begun(who: Caller, at: str) -> list[Statement]:
    if not who.session:
        return []
    project = None if who.project is None else plain(who.project)
    return [(BEGUN, {
        "session": plain(who.session), "project": project, "entrypoint": plain(who.entrypoint),
        "attended": int(who.attended), "source": None if who.source is None else plain(who.source), "at": at,
    })]  # fmt: skip


def _counted(who: Caller, at: str, what: Iterable[str]) -> list[Statement]:
    return [(USED, {"day": at[:10], "session": plain(who.session), "what": one}) for one in what]


def _day(fired: Mapping[str, Any], succeeded: int, failed: int) -> Statement:
    names = {name: fired[name] for name in ("event", "entrypoint")}
    return FIRED_DAY, {**names, "day": fired["at"][:10], "succeeded": succeeded, "failed": failed}


def _since(since: float, **more: int) -> dict[str, Any]:
    return {"since": moment(since), **more}
