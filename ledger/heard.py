"""What was shown of a ledger, as it is now: what an importer must not learn again.

The exposures say which learnings were shown, in any session or in one; the
projection says which of these are current, and what they say. Without exposures
(deleted, busy, older than `exposure_days`) nothing counts as shown; pieces of frames are told without them.
Lean path: stdlib only.
"""

import json

from ledger import sql
from ledger.echo import Heard, Learned
from ledger.errors import FileFault
from ledger.exposures import Exposures
from ledger.reader import Reader

EXPOSURES_MAX = 5_000
"""Newest exposures that are looked at: about a month of a busy person's prompts that were shown something."""


def heard(reader: Reader, session: str | None = None) -> Heard:
    """Return the current learnings that were shown, in any session or, for a hook, in this one since it began anew.

    With a session nothing waits for a file that somebody else holds.
    """
    with Exposures(reader.path, reader.meta()["ledger_id"]) as exposures:
        if session is not None:
            ids = sorted(exposures.shown(session))
        else:
            try:
                found = exposures.newest(EXPOSURES_MAX, spoke=True)
            except FileFault:
                return Heard(())
            ids = sorted({name for one in found for name in one.shown})
    rows = reader.rows(sql.SHOWN_TEXTS, {"ids": json.dumps(ids)}) if ids else []
    return Heard(Learned(*row) for row in rows)
