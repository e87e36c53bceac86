"""Times that a person types: how long, and since when."""

import argparse
import re
import time
from datetime import UTC, datetime

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def ago(text: str) -> float:
    """Return a length of time, as `30m` or `2h`, in seconds.

    Raises:
        ArgumentTypeError: it is none.
    """
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip(), re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no length of time, such as 30m, 2h or 7d")
    return float(int(found[1]) * UNITS[found[2]])


def before(text: str) -> float:
    """Return the time, in seconds since 1970, at which a date begins (UTC), or that was so long ago as `30d` says.

    Raises:
        ArgumentTypeError: it is neither.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            return time.time() - ago(text)
        except argparse.ArgumentTypeError:
            pass
        wrong = f"{text[:40]!r} is neither a date, such as 2026-11-30, nor a length of time, such as 30d"
        raise argparse.ArgumentTypeError(wrong) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
