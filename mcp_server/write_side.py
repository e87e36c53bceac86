"""Load what writes once, whichever thread is first: a call, the scan at a session's start, or what hooks have left.

SQLAlchemy's modules import each other in a circle. Two threads that begin with
different ones meet half-made modules, and one of them fails with ImportError.
"""

import threading

_first = threading.Lock()


def load() -> None:
    """Import the write side, or wait until the thread that is at it has done so."""
    with _first:
        import ledger.capture
        import ledger.ingest
        import ledger.ledger  # noqa: F401 - loaded for whoever imports from them next
