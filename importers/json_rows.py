"""Read the rows of a JSON document one by one: of its list, or of the list that one of its keys names.

A bad row costs only itself; a cut document gives the rows before the cut.
"""

from collections.abc import Callable, Container
from typing import Any

from importers import json_parts
from importers.collected import Collected
from importers.export import Unreadable
from importers.files import Unread
from importers.json_parts import Broken, Part, Scanner

Take = Callable[[dict[str, Any], int], None]


def read(raw: bytes, file: Collected, lists: dict[str, Take], told: Container[str] = ()) -> dict[str, Any]:
    """Give each row of a document to what takes it, with its line.

    Args:
        raw: the document as it is.
        file: hears of what cannot be read.
        lists: what takes the rows of the list below each key; '' that of a
            document which is a list itself.
        told: keys whose values are returned.

    Raises:
        Unread: the bytes are no text, or it is none of these shapes.
    """
    try:
        plain = json_parts.plain_utf8(raw)
    except Unreadable as error:
        raise Unread("not-text", f"{error}; the file was skipped") from None
    document = _Document(file, lists, told)
    try:
        document.read(Scanner(plain))
    except Broken as error:
        file.bad += 1
        file.say("broken", error.line, f"{error}; the rest of the file was left out")
    if not document.is_known:
        first = file.diagnostics[0].message.partition(";")[0] if file.diagnostics else "its shape is not known"
        raise Unread("no-rows", f"there is nothing in it that can be taken ({first}); the file was skipped")
    return document.found


class _Document:
    """A document on its way."""

    def __init__(self, file: Collected, lists: dict[str, Take], told: Container[str]) -> None:
        self.file, self.lists, self.told = file, lists, told
        self.found: dict[str, Any] = {}
        self.is_known = False

    def read(self, scanner: Scanner) -> None:
        first = scanner.peek()
        if first == b"[" and "" in self.lists:
            self._rows(scanner, "")
        elif first == b"{":
            for key in scanner.members():
                if key in self.lists and scanner.peek() == b"[":
                    self._rows(scanner, key)
                    continue
                part = scanner.part()
                if key in self.told:
                    self._tell(key, part)

    def _tell(self, key: str, part: Part) -> None:
        try:
            self.found[key] = part.value()
        except Unreadable:
            self.found[key] = None

    def _rows(self, scanner: Scanner, key: str) -> None:
        self.is_known = True
        for part in scanner.items():
            try:
                row = part.value()
                if not isinstance(row, dict):
                    raise Unreadable("it is no object")
                self.lists[key](row, part.line)
            except Unreadable as error:
                self.file.refuse(part.line, str(error))
