"""Views that shadow the tables of the read path and hold some projects only.

A temporary view stands before the table of its name, so every statement of
`sql.py` that runs on such a connection is filtered, whichever path it belongs to
and whatever it is asked for: an id of another project is an id that nobody has.
What an event of another project did to a learning is not told either.
"""

import json
from collections.abc import Iterable

PROJECTS = "SELECT value FROM json_each('{0}')"

_ONE = "EXISTS (SELECT 1 FROM main.learning AS m WHERE m.id = {0} AND m.project IN (%s))"

OWN_EVENT = "SELECT 1 FROM event WHERE seq = :seq AND actor_id = :actor"
"""Whether an event is of one actor."""

VIEWS = {
    "learning": "project IN (%s)",
    "vector": "project IN (%s)",
    "session_summary": "project IN (%s)",
    "judgement": "project IN (%s)",
    "learning_state": _ONE.format("t.learning_id"),
    "source": _ONE.format("t.learning_id"),
    "alias": _ONE.format("t.learning_id"),
    "link": f"{_ONE.format('t.old_id')} AND {_ONE.format('t.new_id')}",
    "pair": f"{_ONE.format('t.one_id')} AND {_ONE.format('t.other_id')}",
    "touch": _ONE.format("t.id")
    + " AND NOT EXISTS (SELECT 1 FROM main.event AS e JOIN main.learning AS o ON o.id = e.stream"
    " WHERE e.seq = t.seq AND o.project NOT IN (%s))",
    "imports": "0",
}
"""What a row `t` of each has to be for one of these projects; what a batch read is nobody's business."""


def statements(projects: Iterable[str]) -> list[str]:
    """Return what makes the views, for a connection that has them for its lifetime."""
    listed = PROJECTS.format(json.dumps(sorted(projects)).replace("'", "''"))
    return [
        f"CREATE TEMP VIEW {name} AS SELECT t.* FROM main.{name} AS t WHERE {test.replace('%s', listed)}"
        for name, test in VIEWS.items()
    ]
