"""What an answer costs the model that reads it: an index and then what it picks, against everything at once.

    python benchmarks/tokens.py SET

Asks every prompt of a set over the tools of the MCP server, in process, and
counts what comes back as JSON. A token is taken as four characters, which is
near enough for a ratio of two texts of one kind.
"""

import json
import sys
import tempfile
from pathlib import Path

from ledger import eval_set, evals
from ledger.ledger import Ledger
from ledger.model import agent
from mcp_server.tools import Session, get_learnings, query_learnings

CHARS = 4
PICKED = 2
"""Learnings that are fetched whole after an index."""


def cost(document: object) -> int:
    """Return about how many tokens a document is."""
    return len(json.dumps(document, ensure_ascii=False, separators=(",", ":"))) // CHARS


def main(folder: str) -> int:
    """Print the mean cost of a question, asked both ways."""
    known = eval_set.read(folder)
    whole, stepwise, indexes, asked = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        path, clock = str(Path(place) / "ledger.db"), evals.Clock()
        with Ledger.init(path, clock=clock) as ledger:
            evals.Loading(ledger, clock, folder).load(known.learnings, (), lambda done, total: None)
        session = Session(path, None, agent("benchmark"))
        for case in known.cases:
            given = {"query": case.prompt[:10_000], "project": case.project}
            full = query_learnings(session, given)
            index = query_learnings(session, {**given, "index": True, "limit": 20})
            picked = [hit["id"] for hit in index["hits"][:PICKED]]
            fetched = cost(get_learnings(session, {"ids": picked})) if picked else 0
            whole, indexes, asked = whole + cost(full), indexes + cost(index), asked + 1
            stepwise += cost(index) + fetched
    print(f"{asked} prompts, about tokens a prompt:")
    print(f"  everything at once, 10 hits     {whole / asked:8.0f}")
    print(f"  an index of 20                  {indexes / asked:8.0f}")
    print(f"  the index and {PICKED} learnings whole {stepwise / asked:8.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
