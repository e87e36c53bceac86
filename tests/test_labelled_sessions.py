"""What is found in labelled sessions: statements of people and remedies, by the limits that an import is held to."""

import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent / "evals" / "transcripts"
sys.path.insert(0, str(HOME))

import measure  # noqa: E402

FILES = sorted(HOME.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_found_is_right_and_most_of_it_is_found(path: Path) -> None:
    """Precision at least .9 and recall at least .6 of both, in every batch; sentences that were missed are named."""
    misses: list[str] = []

    for score in measure.measured([path], misses):
        assert score.precision >= 0.9, misses
        assert score.recall >= 0.6, misses


def test_the_sets_are_as_large_as_the_limits_ask() -> None:
    """At least 60 sessions and 100 labelled items; half of what people say there lays nothing down."""
    sessions = [session for path in FILES for session in measure.sessions(path)]
    said = [line for session in sessions for line in session.lines if b'"content": "' in line]
    laid_down = sum(len(session.laid_down) for session in sessions)

    assert len(sessions) >= 60
    assert laid_down + sum(len(session.mended) for session in sessions) >= 100
    assert len(said) >= 2 * laid_down
