"""Read rows of CSV or JSON lines by a map of columns that a person gives: `problem=COL,solution=COL,…`.

The delimiter of a CSV file is the one by which its first line has the columns
of the map. A bad row costs itself; a map that does not fit the file is refused
before anything is read, with the columns that there are.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from importers import files, json_parts
from importers.collected import Collected, digest, name_in_locator, project_named, time_of
from importers.export import LINE_BYTES, Unreadable, check, strict
from importers.files import Unread
from importers.json_parts import Broken, Scanner
from importers.kinds import Parsed
from importers.projects import folder_name, project_of
from importers.subjects import categorised
from ledger import redact
from ledger.errors import BadArgument
from ledger.model import CATEGORIES, derived_title

KINDS = ("csv", "jsonl")
FIELDS = ("problem", "solution", "title", "category", "project", "tags", "observed_at", "id")
"""What a column may be; `id` tells rows apart whose text changes."""

FILE_BYTES = 256 << 20
ROWS_MAX = 1_000_000
CELL_CHARS = 1 << 20
COLUMNS_SHOWN = 30
DELIMITERS = (",", ";", "\t", "|")


def mapped(text: str) -> dict[str, str]:
    """Return a map of columns by field, from `field=column` with commas between; one with a comma in it is quoted.

    Raises:
        BadArgument: a field is none, named twice or without a column, or no column gives the solution.
    """
    found: dict[str, str] = {}
    for part in _pieces(text):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not equals or not column or field not in FIELDS:
            fields = ", ".join(FIELDS)
            raise BadArgument(
                f"the map says {part.strip()[:80]!r}, which is no field=column; nothing was written",
                f"write problem=COL,solution=COL with these fields: {fields}",
            )
        if field in found:
            raise BadArgument(f"the map names {field} twice; nothing was written", "name each field once")
        found[field] = column
    if "solution" not in found:
        raise BadArgument("the map has no solution; nothing was written", "add solution=COL to the map")
    return found


def _pieces(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [""])
    except (csv.Error, StopIteration):
        return text.split(",")


def read(path: str, kind: str, columns: dict[str, str], project: str | None = None) -> Parsed:
    """Return what the rows of a file say.

    Args:
        path: its real path.
        kind: `csv` or `jsonl`.
        columns: the column of each field; see `mapped`.
        project: the project of all of it; None lets a column, else the place, tell it.

    Raises:
        BadArgument: a column of the map is not in the file.
        Unread: nothing of the file can be taken.
    """
    return _Rows(path, kind, columns, project).parsed(files.read_bytes(path, FILE_BYTES))


def cells(path: str, kind: str) -> Iterator[tuple[int, list[str]]]:
    """Yield what each row of a file says, by its line, where the columns are not known any more.

    A file of CSV is read with each delimiter, so that a row comes several times.

    Raises:
        Unread: the file cannot be read.
    """
    raw = files.read_bytes(path, FILE_BYTES)
    if kind == "jsonl":
        for line, row in _Rows(path, kind, {}, None).objects(raw):
            yield line, list(_texts_in(row))
        return
    text = files.decoded(raw)
    for delimiter in DELIMITERS:
        with _long_cells():
            reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), 1
            with suppress(csv.Error):
                for found in reader:
                    yield line, found
                    line = reader.line_num + 1


def _texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a value, and lists of texts as a cell has them."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _texts_in(one)
    elif isinstance(value, list):
        if value and all(isinstance(one, str) for one in value):
            yield "\n".join(value)
        for one in value:
            yield from _texts_in(one)
    elif value is not None:
        yield str(value).lower() if isinstance(value, bool) else str(value)


class _Rows(Collected):
    """Rows of one file on their way to drafts."""

    def __init__(self, path: str, kind: str, columns: dict[str, str], project: str | None) -> None:
        super().__init__(kind, path, project)
        self.columns = columns
        self.place = project or project_of(path) or folder_name(path.rpartition("/")[0])
        self.is_cut = False

    def parsed(self, raw: bytes) -> Parsed:  # type: ignore[override]
        for number, (line, row) in enumerate(self._csv(raw) if self.kind == "csv" else self._json(raw), 1):
            if number > ROWS_MAX:
                self.is_cut = True
                self.say("too-many", line, f"more than {ROWS_MAX:,} rows; the rest was left out")
                break
            try:
                self._take(row, line)
            except Unreadable as error:
                self.refuse(line, str(error), "a row")
        return super().parsed(is_complete=not self.is_cut)

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _csv(self, raw: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        text = files.decoded(raw)
        if not text.strip():
            raise Unread("no-rows", "it is empty; the file was skipped")
        delimiter, header = self._header(text)
        with _long_cells():
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            try:
                next(reader)
            except csv.Error:
                raise Unread("no-rows", "the quotes of its first line do not fit; the file was skipped") from None
            while True:
                line = reader.line_num + 1
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    self._say_broken(line, str(error))
                    continue
                if not any(cell.strip() for cell in cells):
                    continue
                if len(cells) != len(header):
                    message = f"it has {len(cells)} cells, the first line {len(header)}"
                    self.refuse(line, message, "a row")
                    continue
                yield line, dict(zip(header, cells, strict=True))

    def _say_broken(self, line: int, reason: str) -> None:
        if "end of data" in reason:
            self.is_cut = True
            self.refuse(line, "a quote opens in it that never closes, and with it all rows after it", "a row")
        else:
            self.refuse(line, "its quotes do not fit, or a cell is too long", "a row")

    def _header(self, text: str) -> tuple[str, list[str]]:
        """Return the delimiter and the columns of a CSV file.

        Raises:
            BadArgument: by no delimiter it has the columns of the map.
        """
        best: tuple[str, list[str]] = (",", [])
        for delimiter in DELIMITERS:
            try:
                header = [cell.strip() for cell in next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))]
            except (csv.Error, StopIteration):
                continue
            if all(column in header for column in self.columns.values()):
                self._check_once(header)
                return delimiter, header
            best = max(best, (delimiter, header), key=lambda one: len(one[1]))
        raise self._no_column(best[1])

    def _check_once(self, header: list[str]) -> None:
        twice = sorted({column for column in self.columns.values() if header.count(column) > 1})
        if twice:
            raise BadArgument(
                f"the first line of {files.shown(self.path)} has {', '.join(twice)} twice; nothing was written",
                "rename one of the columns",
            )

    def _no_column(self, there: Iterable[str]) -> BadArgument:
        names = list(dict.fromkeys(one for one in there if one))
        missing = ", ".join(one for one in dict.fromkeys(self.columns.values()) if one not in names)
        # A file of another kind has its data in the first line, and with it perhaps a secret.
        shown = ", ".join(redact.guarded("column", name)[0][:60] for name in names[:COLUMNS_SHOWN]) or "none"
        more = f", and {len(names) - COLUMNS_SHOWN} more" if len(names) > COLUMNS_SHOWN else ""
        return BadArgument(
            f"{files.shown(self.path)} has no column {missing}; nothing was written", f"its columns: {shown}{more}"
        )

    def _json(self, raw: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        rows = list(self.objects(raw))
        if not rows:
            raise self.nothing("row")
        there = dict.fromkeys(key for _, row in rows for key in row)
        if any(all(_cell(row, column) is None for _, row in rows) for column in self.columns.values()):
            known = [
                column for column in self.columns.values() if any(_cell(row, column) is not None for _, row in rows)
            ]
            raise self._no_column([*there, *known])
        return iter(rows)

    def objects(self, raw: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the objects of a file, one a line, or of its list; what cannot be read is left out with a remark."""
        try:
            plain = json_parts.plain_utf8(raw)
        except Unreadable as error:
            raise Unread("not-text", f"{error}; the file was skipped") from None
        if plain.lstrip()[:1] == b"[":
            yield from self._listed(Scanner(plain))
            return
        for line, text in enumerate(plain.split(b"\n"), 1):
            if text.strip():
                try:
                    yield line, strict(text)
                except Unreadable as error:
                    self.refuse(line, str(error), "a row")

    def _listed(self, scanner: Scanner) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            for part in scanner.items():
                try:
                    row = part.value()
                    if not isinstance(row, dict):
                        raise Unreadable("it is no object")
                    check(row)
                    yield part.line, row
                except Unreadable as error:
                    self.refuse(part.line, str(error), "a row")
        except Broken as error:
            self.refuse(error.line, f"{error}; the rest of the file was left out", "a row")

    # -- one row ------------------------------------------------------------------------------------------------------

    def _take(self, row: dict[str, Any], line: int) -> None:
        """Add what a row says.

        Raises:
            Unreadable: it has no solution, or a cell is no text.
        """
        told = {field: _text(row, column, field) for field, column in self.columns.items() if field != "tags"}
        solution = told["solution"]
        if not solution:
            raise Unreadable(f"its {self.columns['solution']} is empty")
        problem = told.get("problem") or told.get("title") or derived_title(solution)
        category = told.get("category", "").lower().replace("_", "-").replace(" ", "-")
        is_known = category in CATEGORIES
        if category and not is_known:
            self.say("category", line, f"its category is none of the six ({', '.join(CATEGORIES)}); it is a guess")
        name = name_in_locator(told.get("id") or None) or f"row-{digest(problem)}"
        at = told.get("observed_at", "")
        when = time_of(_number(at), at)
        if at and when is None:
            self.say("date", line, "its date is none that can be read (like 2026-11-30T02:47:56Z); it was left out")
        self.add(
            f"{self.kind}:{self.path}#{name}",
            problem,
            solution,
            (category, "sure") if is_known else categorised("", f"{problem}\n{solution}"),
            project_named(told.get("project")) or self.place,
            line=line,
            title=told.get("title") or None,
            tags=_tags(_cell(row, self.columns["tags"])) if "tags" in self.columns else (),
            at=when,
        )


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells be as long as a line may be; the limit of `csv` is one of the whole process."""
    before = csv.field_size_limit(CELL_CHARS)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _cell(row: dict[str, Any], column: str) -> Any:
    """Return a value by its key, or by keys with dots between for what lies in objects; None when there is none."""
    if column in row:
        return row[column]
    value: Any = row
    for key in column.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(row: dict[str, Any], column: str, field: str) -> str:
    value = _cell(row, column)
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n".join(value).strip()
    if not isinstance(value, (str, int, float)):
        raise Unreadable(f"its {field} is no text")
    text = str(value).strip()
    if len(text) > LINE_BYTES:
        raise Unreadable(f"its {field} is longer than {LINE_BYTES:,} characters")
    return text


def _tags(value: Any) -> list[str]:
    """Return tags: of a list, or of a text with commas or semicolons between them."""
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str)]
    return value.replace(";", ",").split(",") if isinstance(value, str) else []


def _number(text: str) -> float | None:
    try:
        return float(text) if text and len(text) < 25 and text.replace(".", "", 1).isdigit() else None
    except ValueError:
        return None
