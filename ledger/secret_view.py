"""How a text is read when secrets are looked for: what hides one is taken away, and where each character stood is kept.

`plain` reads full-width and mathematical letters as letters, composes what is
decomposed (NFD), and ends lines by LF alone. `joined` also leaves out what
splits a word: invisible characters, `" + "`, a literal that goes on in the next
line; only the surroundings of such places are read again.
Lean path: stdlib only.
"""

from typing import NamedTuple

from ledger.secret_rules import pattern

AROUND = 240
"""Characters read again before and after what splits a word: more than a value is judged by."""


_ASCII = bytes(range(128))


class View(NamedTuple):
    """A text as it is read; `places` says where each of its characters stands, None when all stand where they are."""

    text: str
    places: list[int] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return a stretch of this view, not empty, as a stretch of the text itself."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def beyond(text: str) -> str:
    """Return the characters of a text that are not ASCII, in order: few, where a pattern for one is looked for."""
    if text.isascii():
        return ""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def plain(text: str) -> View:
    """Return a text as it is read first."""
    if "\r" not in text and not pattern("strange").search(beyond(text)):
        return View(text, None)
    parts: list[str] = []
    places: list[int] = []
    last = 0
    for match in pattern("odd").finditer(text):
        parts.append(text[last : match.start()])
        places.extend(range(last, match.start()))
        read = _composed(match[0])
        parts.append(read)
        places.extend(min(match.start() + at, match.end() - 1) for at in range(len(read)))
        last = match.end()
    parts.append(text[last:])
    places.extend(range(last, len(text)))
    return View("".join(parts), places)


def unpacked(text: str) -> list[tuple[int, int, str]]:
    """Return the words of a text that are text in base64: where each stands, and what it says."""
    found = []
    for match in pattern("packed").finditer(text):
        said = _decoded(match[0])
        if said:
            found.append((match.start(), match.end(), said))
    return found


def _decoded(packed: str) -> str:
    """Return what base64 says, when that is text that a person or a program wrote; else nothing."""
    import binascii  # paid only by texts with a candidate

    bare = packed.rstrip("=")
    try:
        said = binascii.a2b_base64(bare + "=" * (-len(bare) % 4)).decode("utf-8")
    except ValueError:
        return ""
    return said if said.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else ""


def _composed(odd: str) -> str:
    if odd == "\r":
        return ""
    import unicodedata

    return unicodedata.normalize("NFKC" if len(odd) == 1 else "NFC", odd)


def joined(view: View) -> View | None:
    """Return the surroundings of what splits words, without it; None when nothing does."""
    cuts = _cuts(view.text)
    if not cuts:
        return None
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for number, (start, end) in enumerate(cuts):
        if start - AROUND > at:
            parts.append("\n")
            places.append(at)
            at = start - AROUND
        parts.append(view.text[at:start])
        places.extend(range(at, start))
        following = cuts[number + 1][0] if number + 1 < len(cuts) else len(view.text)
        stop = min(following, end + AROUND)
        parts.append(view.text[end:stop])
        places.extend(range(end, stop))
        at = stop
    if view.places is not None:
        places = [view.places[place] for place in places]
    return View("".join(parts), places)


def _cuts(text: str) -> list[tuple[int, int]]:
    """Return what splits words, in order, not overlapping."""
    names = ["unseen"] if pattern("unseen").search(beyond(text)) else []
    if "\\\n" in text:
        names.append("continued")
    if '"' in text or "'" in text or "`" in text:
        names.append("concatenated")
    found = sorted(match.span() for name in names for match in pattern(name).finditer(text))
    cuts: list[tuple[int, int]] = []
    for start, end in found:
        if not cuts or start >= cuts[-1][1]:
            cuts.append((start, end))
    return cuts
