"""Guess the category of a note from its kind and its words, by rules a person can read.

A note's kind leaves at most two categories; words decide between them. When
they say nothing for a kind that needs them, or as much for the one as for the
other, the category is `ambiguous`: flagged, and still served.
"""

import re

WORDS = {
    "tool-pref": """
        black bun cargo cli conda docker editor eslint formatter gh git grep ide jest linter make npm npx pip pipx
        pnpm podman poetry prefer prefers prettier pytest ripgrep rg ruff shell tmux tool tools uv vim vite vitest
        vscode yarn
    """,
    "practice": """
        always api assert comment commit commits convention database diff docstring error errors exception fallback
        function functions hint hints integration mock mocks module name names naming never review reviews test tests
        type types validate
    """,
    "workflow": """
        approve approval branch changelog deadline deploy deploys freeze handover label merge milestone phase plan pr
        process pull release releases review roadmap rollout schedule ship sprint step steps tag ticket until weekly
    """,
    "env": """
        account address board bucket cluster config container credentials dashboard database directory dns domain
        endpoint env environment grafana host hosted installed key listens localhost node path pooler port ports
        production proxy python queue region runs server service staging url variable version volume
    """,
    "bug-fix": """
        broke broken bug bugs cause caused corrupt crash crashed crashes deadlock err error errors fail failed fails
        fix fixed flaky hang hangs leak leaks regression segfault traceback workaround wrong
    """,
    "pattern": "abstraction architecture decorator facade factory helper idiom layer layers pattern patterns",
}
"""Words that speak for a category. They are the common ones of public memory notes, not a vocabulary."""

CHOICES = {
    "feedback": ("practice", "tool-pref"),
    "user": ("tool-pref",),
    "project": ("workflow", "env"),
    "reference": ("env",),
}
"""Categories that a kind of note leaves, the likelier one first."""

NEEDS_WORDS = frozenset({"project"})
"""Kinds whose first choice is a guess unless a word speaks for it."""

_SETS = {name: frozenset(words.split()) for name, words in WORDS.items()}
_WORD = re.compile(r"[a-z]+")
_INSTEAD = re.compile(
    r"\b(?:use|prefers?|run)\b[^.\n]{1,60}\b(?:instead of|not|never|over|rather than)\b", re.IGNORECASE
)


def categorised(kind: str, text: str) -> tuple[str, str]:
    """Return category and confidence of a note of this kind ('' when it has none)."""
    choices = CHOICES.get(kind)
    if choices is not None and len(choices) == 1:
        return choices[0], "sure"
    words = frozenset(_WORD.findall(text.lower()))
    points = {name: len(words & _SETS[name]) for name in choices or _SETS}
    if "tool-pref" in points and points["tool-pref"] and _INSTEAD.search(text):
        points["tool-pref"] += 2
    best = max(points, key=lambda name: points[name])
    if choices is None:
        return (best if points[best] else "practice"), "ambiguous"
    tied = list(points.values()).count(points[best]) > 1
    unsure = tied and (points[best] > 0 or kind in NEEDS_WORDS)
    return (choices[0] if tied else best), ("ambiguous" if unsure else "sure")
