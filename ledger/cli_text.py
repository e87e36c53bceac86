"""How answers read for people: lines of plain text, made from the same documents that `--json` prints.

Pure. Nothing is coloured, so that a pipe gets what a terminal gets. `cli.main`
cleans every line (`frame.clean`) before it is printed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

ID_SHOWN = 12
"""Characters of an id that are shown: `lrn_` and 8, the fewest that are understood over MCP."""

CELL_CHARS = 200
"""Longest cell of a table of `learnings sql`; `--json` has the whole value."""

TRUST = {4: "person", 3: "agent", 2: "notes", 1: "files", 0: "inferred"}
"""What a trust says of where a learning came from."""

ERASED = "(erased)"


def short(learning: str) -> str:
    """Return an id as it is shown; the ellipsis is accepted when it is typed again. Other names stay whole."""
    return learning if len(learning) <= ID_SHOWN or ":" in learning else learning[:ID_SHOWN] + "…"


def shorts(ids: Iterable[str]) -> str:
    """Return several ids as they are shown."""
    return ", ".join(short(learning) for learning in ids)


def day(when: str) -> str:
    """Return the date of a time of the log."""
    return when[:10]


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def line_of(text: str | None) -> str:
    """Return `text` in one line."""
    return ERASED if text is None else " ".join(text.split())


def indented(text: str | None, first: str = "    ") -> str:
    """Return `text` with every line indented, the first one by `first`."""
    lines = (ERASED if text is None else text).split("\n")
    return "\n".join(((first if at == 0 else " " * len(first)) + line).rstrip() for at, line in enumerate(lines))


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield one line a row, columns aligned, the last one as long as it is."""
    if not rows:
        return
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        yield "  ".join((*cells, row[-1])).rstrip()


# -- answers of the commands that read -------------------------------------------------------------------------------


def hits(document: dict[str, Any]) -> Iterator[str]:
    """Show every hit: a line that labels it, its problem and solution, what it replaced."""
    for hit in document["hits"]:
        yield from _hit(hit)
    plan = document.get("plan")
    if plan:
        yield f"looked for: {', '.join(plan['kept']) or 'nothing'}"
        if plan["dropped"]:
            yield f"too common: {', '.join(plan['dropped'])}"


def _hit(hit: dict[str, Any]) -> Iterator[str]:
    yield line_of(hit["title"])
    labels = [short(hit["id"]), hit["project"] or ERASED, hit["category"], TRUST[hit["trust"]]]
    if hit["state"] != "current":
        labels.append(hit["state"].upper())
    if hit["confidence"] != "sure":
        labels.append("category unsure")
    if hit["pinned"]:
        labels.append("pinned")
    labels.append(f"since {day(hit['since'])}")
    yield "  " + " · ".join(labels)
    if line_of(hit["problem"]) != line_of(hit["title"]):
        yield indented(hit["problem"])
    yield indented(hit["solution"], "    → ")
    for old in hit["replaced"]:
        named = f" ({line_of(old['title'])})" if old["title"] else ""
        yield f"    replaced {short(old['id'])}{named} on {day(old['until'])}"
    if hit["fork"]:
        yield f"    contradicted by {shorts(hit['fork'])}: supersede them together"
    if hit.get("cut"):
        yield f"    cut: {', '.join(hit['cut'])} (whole: learnings show {short(hit['id'])})"
    if hit.get("parts"):
        for part in hit["parts"]["words"]:
            fields = ", ".join(f"{field} {count}" for field, count in part["fields"].items())
            held = f"{part['word']} ({part['learnings']} learnings)"
            yield f"    {part['score']:8.3f}  {held}: {fields or 'a learning it replaced'}"
        yield f"    {hit['score']:8.3f}  in all"


def shown(learning: dict[str, Any]) -> Iterator[str]:
    """Show everything known of one learning."""
    yield from _hit(learning)
    yield f"    id          {learning['id']}"
    yield f"    state       {learning['state']}"
    for word, key in (("tags", "tags"), ("supersedes", "supersedes"), ("superseded", "superseded_by")):
        if learning[key]:
            yield f"    {word:<11} {', '.join(learning[key])}"
    event = f"event {learning['recorded_seq']}, through {learning['channel']}"
    yield f"    recorded    {learning['recorded_at']} as {event}"
    if learning["observed_at"]:
        yield f"    observed    {learning['observed_at']}"
    if learning["batch"] is not None:
        how = "imported    in batch" if learning["channel"] == "import" else "decided     with event"
        yield f"    {how} {learning['batch']}"
    if learning["erased_by"] is not None:
        yield f"    erased      by event {learning['erased_by']}"
    for source in learning["sources"]:
        at = source["path"] or source["locator"] or ERASED
        where = at if source["line"] is None else f"{at}:{source['line']}"
        yield f"    source      {where}{'' if source['stands'] else ' (no longer there)'}"
    for word, ends in (("before", learning["lineage"]["before"]), ("after", learning["lineage"]["after"])):
        for other in ends:
            told = f"{short(other['id'])} {other['state']}, {day(other['recorded_at'])}: {line_of(other['title'])}"
            yield f"    {word:<11} {told}"


def history(document: dict[str, Any]) -> Iterator[str]:
    """Show every event of a learning in a line."""
    rows = []
    for event in document["events"]:
        notes = [line_of(event["reason"])] if event["reason"] else []
        if event["undone_by"] is not None:
            notes.insert(0, f"undone by {event['undone_by']}")
        if event["erased_by"] is not None:
            notes.insert(0, f"erased by {event['erased_by']}")
        by = f"{event['actor_kind']} ({event['channel']})"
        rows.append((str(event["seq"]), event["recorded_at"][:19] + "Z", event["kind"], by, "; ".join(notes)))
    return aligned(rows)


def listing(document: dict[str, Any]) -> Iterator[str]:
    """Show every learning of a list in a line, newest first."""
    rows = [
        (
            short(row["id"]),
            day(row["recorded_at"]),
            row["state"],
            TRUST[row["trust"]],
            row["category"],
            row["project"] or ERASED,
            line_of(row["title"]),
        )
        for row in document["rows"]
    ]
    return aligned(rows)


def stats(document: dict[str, Any]) -> Iterator[str]:
    """Show counts, one a line."""
    rows: list[tuple[str, str]] = []
    for key, value in document.items():
        word = key.replace("_", " ")
        if key == "meaning":
            alone = value["words_alone"]
            rows.append(
                ("search", f"by words alone: {alone}" if alone else f"by words and meaning, table {value['table']}")
            )
        elif isinstance(value, dict):
            named = "event {seq}, hash {hash}" if {"seq", "hash"} <= value.keys() else ""
            counts = ", ".join(f"{TRUST_NAMES.get(str(name), name)} {count}" for name, count in value.items())
            rows.append((word, named.format(**value) or counts or "none"))
        elif isinstance(value, list):
            rows.append((word, str(len(value))))
        else:
            rows.append((word, str(value)))
    return aligned(rows)


def use(document: dict[str, Any]) -> Iterator[str]:
    """Show what the sessions of people and of robots did, the last 7 and 30 days."""
    rows: list[tuple[str, ...]] = []
    for window in document["windows"]:
        days = window["days"]
        for group in ("people", "robots"):
            told = window[group]
            saves = ", ".join(f"{count} by {channel}" for channel, count in told["saves"].items()) or "none"
            rows.append((
                f"{group}, {days} days", f"{told['sessions']} sessions", f"{told['prompts']} prompts",
                f"{told['shown']} shown", f"{told['silent'] + told['machine'] + told['off']} silent",
                f"{told['wrong']} judged wrong", f"{told['searches']} searches", f"saves: {saves}",
            ))  # fmt: skip
    yield from aligned(rows)
    given = [(window["days"], window["given_up"]) for window in document["windows"] if window["given_up"]]
    for days, records in given[:1]:
        yield f"{records} records that waited for the offline pass were given up in {days} days, the oldest, for room"


TRUST_NAMES = {str(trust): word for trust, word in TRUST.items()}


def table(document: dict[str, Any]) -> Iterator[str]:
    """Show the rows of a SQL statement under their column names."""
    if document["columns"]:
        rows = [tuple(map(_cell, row)) for row in document["rows"]]
        yield from aligned([tuple(document["columns"]), *rows])


def _cell(value: Any) -> str:
    text = "NULL" if value is None else str(value).replace("\n", "\\n").replace("\t", " ")
    return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 1] + "…"


# -- remarks of the commands that write ------------------------------------------------------------------------------


def advice(document: dict[str, Any]) -> Iterator[str]:
    """Yield what a person should know of what was just written; these lines go to standard error.

    How to undo it is in the answer itself and is not said twice.
    """
    yield from (text for text in document.get("remarks", ()) if f"learnings undo {document['seq']}`" not in text)
    if document.get("redacted"):
        yield f"masked in the text: {', '.join(sorted(set(document['redacted'])))}"
    for other in document.get("conflicts", ()):
        differs = "; ".join(_difference(part) for part in other["differs"])
        named = f"{short(other['id'])} {line_of(other['title'])!r}"
        yield f"contradicts {named} ({differs}): supersede it if it is wrong now"
    contradicted = {other["id"] for other in document.get("conflicts", ())}
    for other in document.get("near", ()):
        if other["id"] not in contradicted:
            yield f"similar: {short(other['id'])} {line_of(other['title'])!r}"
    mended = {(one["file"], one["line"]) for one in document.get("edits", ()) if one["mended"]}
    for at in document.get("still_loaded", ()):
        if (at["file"], at["line"]) in mended:
            continue
        yield f"{at['file']}:{at['line']} still says it, and Claude Code loads that file: correct it there too"


def _difference(part: Any) -> str:
    if isinstance(part, dict) and {"stored", "given"} <= part.keys():
        return f"{part.get('kind', 'value')} {_joined(part['stored'])} there, {_joined(part['given'])} here"
    return str(part)


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
