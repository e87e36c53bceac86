"""Find what has stopped without a sound: hooks that no longer fire, servers that no longer start, logs at a standstill.

Each part looks at one subject and yields checks: `doctor_told` at what the
clients were told (`doctor_client` reads it), `doctor_server` at whether that starts, `doctor_http` at
tokens, `doctor_use` at whether it fires, `doctor_file` at the ledger, `doctor_notes` at
the client's own memory, `doctor_review` at what waits for a person, `doctor_sources` at what brings sources in.
Everything is only read; a part that cannot be looked at is a check that is broken, never an exception.
"""

import os
from collections.abc import Iterable, Iterator

from ledger import (
    doctor_client,
    doctor_file,
    doctor_http,
    doctor_notes,
    doctor_review,
    doctor_server,
    doctor_sources,
    doctor_told,
    doctor_use,
    sql,
)
from ledger.doctor_check import Around, Check, broken, seconds_of
from ledger.doctor_client import Told
from ledger.doctor_use import Log
from ledger.errors import LedgerError
from ledger.reader import open_reader
from ledger.sessions import Sessions
from ledger.setup_clients import HOOK_SCRIPT


def diagnose(around: Around) -> list[Check]:
    """Return every check, each `id` once, in the order in which a person reads them."""
    found = _told(around)
    checks = list(_guarded("clients", doctor_told.checks(around, found)))
    checks += _guarded("server", doctor_server.checks(around, found.servers))
    checks += _guarded("http", doctor_http.checks(around, found.remote))
    log: list[Log] = []
    of_file = list(_guarded("ledger", _file(around, log)))
    checks += _guarded("use", doctor_use.checks(around, found, Sessions(around.file), log[0] if log else None))
    checks += of_file
    checks += _guarded("beside", doctor_file.beside(around))
    checks += _guarded("sources", doctor_sources.checks(around))
    checks += _guarded("cliff", doctor_notes.checks(around))
    checks += _guarded("program", doctor_file.program(around, package(found)))
    return _once(checks)


def _told(around: Around) -> Told:
    try:
        return doctor_client.told(around)
    except Exception as error:  # noqa: BLE001 - the ledger can be looked at all the same
        return Told([], [], [f"what clients were told cannot be read ({type(error).__name__})"], [], None)


def _once(checks: Iterable[Check]) -> list[Check]:
    """Return each id once, in its first place; what is broken is what counts."""
    found: dict[str, Check] = {}
    for check in checks:
        if check.id not in found or found[check.id].ok:
            found[check.id] = check
    return list(found.values())


def _file(around: Around, log: list[Log]) -> Iterator[Check]:
    """Yield the checks of the ledger; put what others need to know of it into `log`."""
    if not os.path.lexists(around.file):
        yield doctor_file.missing(around)
        return
    with open_reader(around.file) as reader:
        yield from doctor_file.checks(around, reader)
        yield from _guarded("contradictions", doctor_notes.contradictions(around, reader))
        yield from _guarded("review", doctor_review.checks(around, reader))
        saved = [(str(channel), str(at), int(count)) for channel, at, count in reader.rows(sql.LAST_SAVES, {})]
        first = reader.rows(sql.RECORDED_AT, {"seq": 1})
        began = seconds_of(first[0][0]) if first else os.stat(around.file).st_mtime
        log.append(Log(saved, doctor_file.robots_are_served(around, reader), began))


def _guarded(name: str, checks: Iterable[Check]) -> Iterator[Check]:
    """Yield checks; where one cannot be made, say so under `name`, in this project's words or by the error's type."""
    try:
        yield from checks
    except LedgerError as error:
        yield broken(name, str(error))
    except Exception as error:  # noqa: BLE001 - one part must not take the answers of the others away
        yield broken(name, f"it could not be looked at ({type(error).__name__}); nothing was changed; report this")


def package(found: Told) -> str:
    """Return the folder of the modules that hooks run: of the registered script, else this one."""
    for hook in found.ours:
        for word in doctor_client.command_of(hook.call)[1]:
            if os.path.basename(word) == HOOK_SCRIPT and os.path.isfile(word):
                return os.path.dirname(word)
    return os.path.dirname(os.path.abspath(__file__))
