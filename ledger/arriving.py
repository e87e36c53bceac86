"""What is read on its way into the ledger: which drafts are looked at, in which project, and what the guards let pass.

Nothing here writes. A draft that cannot be stored, or only says again what was
shown, costs a remark and none of its neighbours.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from ledger import chain, door, heard, query, screen, sql_log
from ledger.echo import Heard
from ledger.errors import BadInput
from ledger.knowledge import among
from ledger.ledger import Ledger
from ledger.model import LOCATOR_CHARS, NO_PAST, TRUST_NOTES, Diagnostic, Draft, Found, Past, Reading, Source

EXPORT = "export"
"""The importer of what a ledger exported."""

SENSITIVE = screen.Finding("called-sensitive", "low", "Its source calls it sensitive.")
"""Why a draft is withheld whose source says that it is about what should not be spread."""


def ready(
    key: bytes,
    drafts: Iterable[Draft],
    markers: Mapping[str, str] | None = None,
    held: frozenset[str] = frozenset(),
    past: Past = NO_PAST,
) -> tuple[list[Found], list[tuple[Draft, Diagnostic]]]:
    """Return the drafts that may be stored, scrubbed and with their keys, and those that may not, each with a reason.

    Args:
        held: locators of drafts to withhold, whatever the screen finds.

    Raises:
        GuardFailed: the redactor or the screen could not run; nothing is stored.
    """
    found, refused = [], []
    for draft in drafts:
        assert draft.source is not None
        try:
            passed = door.draft(draft, markers)
        except BadInput as error:
            where = draft.source.path or draft.source.locator
            message = error.message.replace("; nothing was written", "; it was left out")
            refused.append((draft, Diagnostic(where, draft.source.line, _code(error), message)))
            continue
        clean = passed.draft
        assert clean.source is not None
        own = (SENSITIVE,) if draft.source.locator in held else ()
        fate = past.fates.get(draft.source.locator, "")
        found.append(
            Found(
                clean,
                chain.locator_key(key, clean.source.locator),
                chain.content_key(key, clean.problem, clean.solution, clean.project),
                (*passed.findings, *own),
                passed.kinds,
                tuple(chain.locator_key(key, old) for old in past.replaced.get(draft.source.locator, ())),
                fate,
                _origins(past.origins.get(draft.source.locator, ())),
            )
        )
    return found, refused


def _origins(told: Iterable[Source]) -> tuple[Source, ...]:
    """Return those of the places told that may be stored, scrubbed."""
    kept = []
    for place in told:
        try:
            kept.append(place._replace(locator=door.text("locator", place.locator, LOCATOR_CHARS)[0]))
        except BadInput:
            continue
    return tuple(kept)


def _code(error: BadInput) -> str:
    words = [letter if letter.islower() else f"-{letter.lower()}" for letter in error.code]
    return "".join(words).lstrip("-")


def placed(ledger: Ledger, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """Return drafts with the projects that their places have already; for a reading of which no caller named one.

    Otherwise a folder that was imported with `--project` and is scanned
    without it would move all its learnings to another project.
    """
    names: dict[str, str] = {}
    rows = ledger.store.connection().execute(sql_log.PROJECTS_AT)
    places = {locator: names.setdefault(name, name) for name, locator in rows}
    return _Placed(drafts, places) if places else drafts


class _Placed(Sequence[Draft]):
    """Drafts with the projects of their places; one is made when it is asked for."""

    def __init__(self, drafts: Sequence[Draft], places: Mapping[str, str]) -> None:
        self._drafts, self._places = drafts, places

    def __len__(self) -> int:
        return len(self._drafts)

    def __iter__(self) -> Iterator[Draft]:
        return map(self._placed, self._drafts)

    @overload
    def __getitem__(self, at: int) -> Draft: ...
    @overload
    def __getitem__(self, at: slice) -> list[Draft]: ...
    def __getitem__(self, at: int | slice) -> Draft | list[Draft]:
        return [*map(self._placed, self._drafts[at])] if isinstance(at, slice) else self._placed(self._drafts[at])

    def _placed(self, draft: Draft) -> Draft:
        project = self._places.get(draft.source.locator) if draft.source is not None else None
        return draft if project is None or project == draft.project else draft._replace(project=project)


def without_own(ledger: Ledger, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """Return drafts without what an export of this very ledger says of learnings that are here.

    Whatever became of them since, it tells nothing new. One that is not here
    was recorded in a newer copy of the ledger, or in one that went its own way.
    """
    own = f"{EXPORT}:{ledger.store.ledger_id}:"
    named = {
        draft.source.locator.removeprefix(own)
        for draft in drafts
        if draft.source and draft.source.locator.startswith(own)
    }
    if not named:
        return drafts
    rows = ledger.store.connection().execute(sql_log.KNOWN_AMONG, (json.dumps(sorted(named)),))
    here = {own + row[0] for row in rows}
    return [draft for draft in drafts if not (draft.source and draft.source.locator in here)]


class Guards:
    """The guards of one import, and what there is to say of the drafts that went through them.

    `unfit` are the places whose text cannot be stored: what stands there has not gone. `unsettled` are the
    keys of places of which something is to be said each time, or to be tried again. `said` are the files
    of which something passed, and whether a secret in it was masked.
    """

    def __init__(self, ledger: Ledger, reading: Reading) -> None:
        self.ledger, self.reading, self.key = ledger, reading, ledger.store.dedup_key
        self.diagnostics: list[Diagnostic] = []
        self.unfit: list[Source] = []
        self.unsettled: set[bytes] = set()
        self.said: dict[str, bool] = {}
        self.skipped = self.masked = 0
        self._shown: Heard | None = None

    def passed(self, drafts: Iterable[Draft]) -> list[Found]:
        """Return what may be stored of drafts, and is no echo; remember what is to be said of the others."""
        reading = self.reading
        found, refused = ready(self.key, drafts, self.ledger.private_markers, reading.held, reading.past)
        self.diagnostics += (remark for _, remark in refused)
        self.skipped += len(refused)
        for draft, remark in refused:
            assert draft.source is not None
            self.unsettled.add(chain.locator_key(self.key, draft.source.locator))
            if remark.code != "echoed":
                self.unfit.append(draft.source)
        found = self._with_mended(found)
        if reading.trust <= TRUST_NOTES:
            found = self._without_echoes(found)
        for one in found:
            self.masked += bool(one.redacted)
            if one.redacted:
                self.unsettled.add(one.locator_key)
            path = one.draft.source.path if one.draft.source is not None else None
            if path is not None:
                self.said[path] = self.said.get(path, False) or bool(one.redacted)
        return found

    def _with_mended(self, found: list[Found]) -> list[Found]:
        """Take what a place says since it was mended for what it is: the learning that replaced what stood there.

        The note gives those words another problem, so that the content key alone would make a second learning of them.
        """
        connection = self.ledger.store.connection()
        replaced = among(connection, sql_log.REPLACED_AMONG, {one.locator_key for one in found})
        places = {bytes(key) for (key,) in replaced}
        return [self._mended(one) if one.locator_key in places else one for one in found] if places else found

    def _mended(self, one: Found) -> Found:
        if self._is_known(one):
            return one
        said = " ".join(one.draft.solution.split())
        rows = self.ledger.store.connection().execute(sql_log.HEADS_AT, {"key": one.locator_key}).fetchall()
        for problem, solution, key in rows:
            if " ".join(solution.split()) == said:
                one = one._replace(draft=one.draft._replace(problem=problem, solution=solution), content_key=bytes(key))
        return one

    def _without_echoes(self, found: list[Found]) -> list[Found]:
        """Leave out what only says again what was shown; a person's own edit is never weighed.

        A text that the ledger knows is the plan's to decide, and so is the edit
        of a place where the learning itself stands.
        """
        if self._shown is None:
            self._shown = heard.heard(self.ledger.reader)
        if not self._shown:
            return found
        says: dict[bytes, set[bytes]] = {}
        for one in found:
            says.setdefault(one.locator_key, set()).add(one.content_key)
        projects = {name: self.ledger.reader.projects(name) for name in {one.draft.project for one in found}}
        kept = []
        for one in found:
            echoed = self._shown.echo(_said(one.draft), projects[one.draft.project])
            if echoed is None or self._is_its_own(one, echoed.id, says[one.locator_key]):
                kept.append(one)
                continue
            place = one.draft.source
            assert place is not None
            message = f"it only says what was shown of {echoed.id} (an echo of it); it was left out"
            self.diagnostics.append(Diagnostic(place.path or place.locator, place.line, "echo", message))
            self.skipped += 1
            self.unsettled.add(one.locator_key)
        return kept

    def _is_known(self, one: Found) -> bool:
        """Tell whether the ledger holds a text."""
        connection = self.ledger.store.connection()
        return connection.execute(sql_log.SAME_CONTENT, (one.content_key,)).fetchone() is not None

    def _is_its_own(self, one: Found, echoed: str, says: set[bytes]) -> bool:
        """Tell whether a text is known, or an edit of the very place where what it echoes stands."""
        if self._is_known(one):
            return True
        stands = self.ledger.store.connection().execute(sql_log.STANDS_AT, (echoed, one.locator_key)).fetchone()
        return stands is not None and bytes(stands[0]) not in says


def _said(draft: Draft) -> str:
    """Return what a draft says; a problem that only names the notes it stands in says nothing."""
    own = query.telling(draft.problem) - query.telling(draft.project) - {"notes", "general"}
    return f"{draft.problem}\n{draft.solution}" if own else draft.solution
