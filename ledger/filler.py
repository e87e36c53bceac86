"""Make learnings about other subjects, to see what size does to retrieval.

Deterministic and pure: the same number and projects give the same rows. The
subjects are crafts and places that no software project asks about; a tenth of
the rows lies in the projects of the set under test, the others in invented
ones. Every row of a set's project keeps clear of the categories that a case
lists there, because newest-first lists are an answer too.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ledger.model import CATEGORIES

SHARE = 10
"""One row in this many lies in a project of the set."""

SUBJECTS = (
    ("apiary", ("queen excluder", "smoker bellows", "brood frame", "swarm trap", "honey refractometer", "hive scale")),
    ("bakery", ("proofing cabinet", "sourdough levain", "deck oven", "dough sheeter", "crumb scanner", "flour silo")),
    ("bellfoundry", ("clapper pivot", "casting pit", "carillon keyboard", "strike note", "headstock", "tuning lathe")),
    ("ceramics", ("slip cast mould", "kiln shelf", "celadon glaze", "wedging table", "pyrometric cone", "foot ring")),
    ("choir", ("alto folder", "rehearsal pitch pipe", "seating chart", "robe rack", "descant sheet", "riser plan")),
    ("falconry", ("jess leather", "lure swing", "perch mat", "hood size", "telemetry anklet", "mews door")),
    ("glacier", ("ablation stake", "crevasse rope", "ice radar sledge", "snow pit log", "moraine map", "melt gauge")),
    ("lighthouse", ("fresnel panel", "fog signal", "lamp changer", "tower stair", "clockwork weight", "tide board")),
    ("puppetry", ("marionette bridle", "shadow screen", "glove seam", "stage flat", "control bar", "eyelid cord")),
    ("saddlery", ("girth strap", "stirrup leather", "tree width", "panel flock", "edge bevel", "rivet anvil")),
    ("vineyard", ("trellis wire", "must pump", "oak barrel", "frost candle", "cluster sorter", "sugar reading")),
    ("weaving", ("warp beam", "heddle frame", "shuttle race", "selvedge thread", "dobby chain", "bobbin winder")),
)
"""What the rows are about: a craft, and things in it."""

FAULTS = (
    "creaks in the cold", "sits a finger too low", "came back with the wrong label", "swells after rain",
    "was counted twice at the fair", "sticks on the third pull", "looks dull under the north window",
    "tilts towards the wall", "wears on one side", "arrives without its twin", "smells of smoke", "fades by autumn",
)  # fmt: skip

REMEDIES = (
    "rub it with beeswax and wait a day", "raise it by two washers", "write the label in pencil first",
    "store it above the stove", "let one person hold the tally", "file the burr and oil it", "turn it to the south",
    "put a slate under the short leg", "swap the sides each month", "order in pairs", "air it for a week",
    "keep it from the sun",
)  # fmt: skip

SEASONS = ("in early spring", "during the harvest", "before the feast", "after the first frost", "on market days")
TRUSTS = (2, 2, 3, 2, 1, 2, 4, 2)


def rows(count: int, projects: Sequence[str], taken: Mapping[str, frozenset[str]]) -> Iterator[dict[str, Any]]:
    """Yield `count` learnings in the form of a set's file.

    Args:
        projects: the projects of the set, in order.
        taken: by project, categories that no row there may have.
    """
    for number in range(count):
        mixed = _mixed(number)
        craft, things = SUBJECTS[mixed % len(SUBJECTS)]
        is_near = bool(projects) and number % SHARE == 0
        project = projects[number // SHARE % len(projects)] if is_near else f"{craft}-{mixed // 7 % 9 + 1}"
        free = [name for name in CATEGORIES if name not in taken.get(project, frozenset())] or list(CATEGORIES)
        thing = things[mixed // 11 % len(things)]
        fault = FAULTS[mixed // 13 % len(FAULTS)]
        season = SEASONS[mixed // 17 % len(SEASONS)]
        remedy = REMEDIES[mixed // 19 % len(REMEDIES)]
        yield {
            "key": f"{project}/f-{number:06d}",
            "project": project,
            "category": free[mixed // 23 % len(free)],
            "tags": [craft, thing.rsplit(maxsplit=1)[-1]],
            "problem": f"The {thing} of {craft} lot {number} {fault} {season}",
            "solution": f"For lot {number}: {remedy}.",
            "supersedes": None,
            "superseded_by": None,
            "observed_at": f"{2025 + mixed % 2}-{mixed // 29 % 11 + 1:02d}-{mixed // 31 % 28 + 1:02d}",
            "trust": TRUSTS[mixed // 37 % len(TRUSTS)],
        }


def _mixed(number: int) -> int:
    """Return a number without visible order, the same on every machine."""
    mixed = (number + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return mixed ^ mixed >> 32
