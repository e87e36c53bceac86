"""Whether the time of an act grows in line with the length of its text."""

import time
from collections.abc import Callable

ROUNDS = 3
MOST = 3.2
"""Of twice the text, times the time of the half: two would be exact, four is what a quadratic act takes."""


def grows_in_line(act: Callable[[str], object], half: str, whole: str, least_s: float) -> bool:
    """Tell whether the whole takes less than `least_s`, or about twice the time of its half.

    By processor time. One round of three is enough: a busy machine stretches single
    times, and what is quadratic is so in each round.
    """
    for _ in range(ROUNDS):
        before = _seconds(act, half)
        if _seconds(act, whole) < max(least_s, MOST * before):
            return True
    return False


def _seconds(act: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    act(text)
    return time.process_time() - start
