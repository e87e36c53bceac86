"""Every error a caller may treat differently.

    LedgerError
    ├── BadInput (10)
    │   ├── EmptyText (11) · TooLong (12) · BadText (13) · UnknownCategory (14)
    │   └── BadArgument (15)
    ├── NotFound (16)
    │   └── AmbiguousId (17)
    ├── Refused (20)
    │   ├── Conflict (21) · NotCurrent (22) · BuiltUpon (23) · NotUndoable (24)
    │   ├── NotAllowed (25) · SameIdOtherContent (26)
    ├── FileFault (30)
    │   ├── NotALedger (31) · NewerSchema (32) · OlderSchema (33) · ReadOnly (34)
    │   ├── Locked (35) · NoSpace (36) · RolledBack (37) · Replaced (38)
    │   ├── UnsafePlace (27) · StaleProjection (29) · Unerased (19)
    ├── Damaged (39)
    ├── Unwell (18)
    └── GuardFailed (28)

A message says what happened, what became of the data, and what to do (`hint`).
No text of a learning ever enters one: only ids, numbers, names and paths.
"""


class LedgerError(Exception):
    """Something this project refuses or cannot do; `exit_code` is the command's exit status."""

    exit_code = 1
    hint = ""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.hint

    @property
    def code(self) -> str:
        """Return the name callers compare: the class's name."""
        return type(self).__name__

    def __str__(self) -> str:
        """Return message and hint in one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class BadInput(LedgerError):
    """What was given cannot be stored."""

    exit_code = 10


class EmptyText(BadInput):
    """A required text is empty or only white space."""

    exit_code = 11

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is empty; nothing was written", f"say what belongs in {field}")


class TooLong(BadInput):
    """A text is longer than its cap."""

    exit_code = 12

    def __init__(self, field: str, found: int, cap: int, unit: str = "characters") -> None:
        super().__init__(
            f"{field} has {found:,} {unit} and may have {cap:,}; nothing was written",
            "split it into several learnings, or keep the essence and name the file that holds the rest",
        )


class BadText(BadInput):
    """A text holds what no store can keep: U+0000 or half of a surrogate pair."""

    exit_code = 13

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"{field} holds {what}; nothing was written", "remove that character and try again")


class UnknownCategory(BadInput):
    """A category outside the six."""

    exit_code = 14

    def __init__(self, categories: tuple[str, ...]) -> None:
        super().__init__("unknown category; nothing was written", "use one of: " + ", ".join(categories))


class BadArgument(BadInput):
    """An argument is unknown, missing, of the wrong type or out of range."""

    exit_code = 15


class Echoed(BadInput):
    """A text holds nothing but what was recalled from the ledger itself."""

    exit_code = 40

    def __init__(self, field: str) -> None:
        super().__init__(
            f"{field} holds recalled text only, which the ledger has already; nothing was written",
            "say it in your own words, or supersede the learning that was shown",
        )


class NotFound(LedgerError):
    """No row of that id or seq."""

    exit_code = 16


class AmbiguousId(NotFound):
    """A prefix fits several ids."""

    exit_code = 17

    def __init__(self, prefix: str, ids: list[str], noun: str = "learnings") -> None:
        count = str(len(ids)) if len(ids) <= 5 else "more than 5"
        shown = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
        super().__init__(f"{prefix} fits {count} {noun}: {shown}", "type more of the id")


class GuardFailed(LedgerError):
    """A rule file of the program cannot be used: nothing was stored, or nothing is shown."""

    exit_code = 28
    hint = "the text was not written anywhere; reinstall learning-ledger or report this rule"


class Refused(LedgerError):
    """The log's rules do not allow this now; nothing was written."""

    exit_code = 20


class Conflict(Refused):
    """Someone else appended to this learning first."""

    exit_code = 21

    def __init__(self, stream: str, expected: int, found: int) -> None:
        super().__init__(
            f"{stream} was last changed by event {found}, not {expected}; nothing was written",
            f"look at `learnings history {stream}` and decide again",
        )


class NotCurrent(Refused):
    """Only a current learning can be superseded, retracted or pinned."""

    exit_code = 22


class BuiltUpon(Refused):
    """Later events build upon what was to be undone."""

    exit_code = 23


class NotUndoable(Refused):
    """This event cannot be undone, or is undone already."""

    exit_code = 24


class NotAllowed(Refused):
    """The channel's trust does not reach this."""

    exit_code = 25


class SameIdOtherContent(Refused):
    """An event id was used again for something else."""

    exit_code = 26

    def __init__(self, event_id: str) -> None:
        super().__init__(
            f"event id {event_id} is in the log with other content; nothing was written",
            "draw a new event id for a new event",
        )


class FileFault(LedgerError):
    """The file cannot be used as asked."""

    exit_code = 30


class NotALedger(FileFault):
    """The file is something else, or is damaged beyond recognition."""

    exit_code = 31


class NewerSchema(FileFault):
    """A newer program wrote this file."""

    exit_code = 32

    def __init__(self, what: str, found: str, known: str) -> None:
        super().__init__(
            f"{what} is {found} and this program knows {known}; nothing was written",
            "install the newer learning-ledger; older ones never write a newer file",
        )


class OlderSchema(FileFault):
    """The file waits for a migration."""

    exit_code = 33

    def __init__(self, found: str, known: str) -> None:
        super().__init__(
            f"the file has schema {found} and this program writes {known}; nothing was written",
            "run `learnings upgrade` (it makes a verified backup first)",
        )


class ReadOnly(FileFault):
    """The file or its folder cannot be written."""

    exit_code = 34


class Locked(FileFault):
    """Another process holds the lock for longer than the wait."""

    exit_code = 35


class NoSpace(FileFault):
    """The disk is full; the transaction was rolled back."""

    exit_code = 36


class RolledBack(FileFault):
    """The log is behind its anchor: an older copy, or a lost tail."""

    exit_code = 37


class Replaced(FileFault):
    """The path no longer leads to the file that was opened."""

    exit_code = 38


class Damaged(LedgerError):
    """The log does not verify; rebuilding from it is refused."""

    exit_code = 39


class Unwell(LedgerError):
    """`doctor` found something that is broken; what that is stands in its answer."""

    exit_code = 18


class UnsafePlace(FileFault):
    """The file or folder belongs to someone else, or others may write it."""

    exit_code = 27


class StaleProjection(FileFault):
    """The projections were written by another version; the next write rebuilds them."""

    exit_code = 29


class Unerased(FileFault):
    """The file is an older copy that holds what was erased since; it is read by nobody before it is erased again."""

    exit_code = 19
