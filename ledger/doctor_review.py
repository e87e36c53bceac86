"""Look at what waits for a person: items of a review, and trusted files that say something else by now."""

from collections.abc import Iterator

from ledger import review
from ledger.doctor_check import Around, Check, fine, listed, many, remark
from ledger.reader import Reader


def checks(around: Around, reader: Reader) -> Iterator[Check]:
    """Yield how many items wait, and whether what stands at trusted places is what was trusted."""
    waits = review.count(reader, around.now)
    if waits:
        yield remark("review", f"{many(waits, 'item')} waiting for you: `learnings review`")
    else:
        yield fine("review", "nothing waits for you")
    found = review.places(reader)
    changed = [f"{around.shown(one.path)} ({many(one.changed, 'learning')})" for one in found if one.changed]
    if changed:
        yield remark(
            "trusted",
            f"changed or new since you trusted it, so it is served only when asked for: {listed(changed)}; "
            "read it, then `learnings trust PATH` again",
        )
    else:
        yield fine("trusted", f"{many(len(found), 'trusted place')} as trusted" if found else "no place is trusted")
