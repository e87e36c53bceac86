"""`learnings doctor`: say what works, what has stopped, and what to do about it."""

import os
import sys
import time

from ledger import cli_text
from ledger.cli_call import Call, Result, command
from ledger.errors import Unwell
from ledger.home import working_folder


@command()
def doctor(call: Call) -> Result:
    """Look whether the clients, the hooks, the server and the ledger do their work; nothing is changed."""
    from ledger.doctor import diagnose
    from ledger.doctor_check import Around

    home = os.path.expanduser("~")
    found = diagnose(Around(call.file, home, call.env, sys.platform, working_folder(), time.time_ns() / 1e9))
    rows = [("remark" if one.is_remark else "ok" if one.ok else "BROKEN", one.id, one.message) for one in found]
    faults = sum(not one.ok for one in found)
    told = "all is well" if not faults else f"{cli_text.counted(faults, 'check')} broken; nothing was changed"
    document = {"ok": not faults, "checks": [{"id": one.id, "ok": one.ok, "message": one.message} for one in found]}
    return Result(document, lambda: [*cli_text.aligned(rows), told], Unwell.exit_code if faults else 0)
