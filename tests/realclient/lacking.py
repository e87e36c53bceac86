"""What becomes of a test for which this machine lacks something."""

import os
from typing import NoReturn

import pytest


def lacking(what: object) -> NoReturn:
    """End a test for which something is missing: it fails, unless `ALLOW_SKIPS=1` lets it be skipped."""
    if os.environ.get("ALLOW_SKIPS") == "1":
        pytest.skip(f"missing: {what}")
    pytest.fail(f"missing: {what}; ALLOW_SKIPS=1 skips these tests", pytrace=False)
