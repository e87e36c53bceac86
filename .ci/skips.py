"""Print how many tests JUnit reports say have passed, and how many were skipped.

    python skips.py REPORT.xml...

Each skipped test is named on stderr. Exit 1 when there were any and ALLOW_SKIPS
is not 1: a suite that silently stays away proves nothing, and so does a report
without a test. Tests that are expected to fail are counted as skipped by a
report, and so they are here.
"""

import os
import sys
from xml.etree import ElementTree

ENDED = ("skipped", "failure", "error")


def main(reports: list[str]) -> int:
    """Count, name and judge the skips."""
    cases = [list(ElementTree.parse(report).iter("testcase")) for report in reports]
    flat = [case for of_report in cases for case in of_report]
    skipped = [case for case in flat if case.find("skipped") is not None]
    for case in skipped:
        reason = case.find("skipped")
        text = reason.get("message", "") if reason is not None else ""
        print(f"skipped: {case.get('classname')}::{case.get('name')}: {text}", file=sys.stderr)
    passed = sum(all(case.find(name) is None for name in ENDED) for case in flat)
    failed = len(flat) - len(skipped) - passed
    parts = " + ".join(str(len(of_report)) for of_report in cases)
    print(f"tests: {passed} passed, {failed} failed, {len(skipped)} skipped ({parts})")
    print(f"skips: {len(skipped)}")
    is_proof = not failed and all(cases) and (not skipped or os.environ.get("ALLOW_SKIPS") == "1")
    return 0 if is_proof else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
