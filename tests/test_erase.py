"""`learnings erase`: what was named goes with every copy of it, and is gone from every file; the log still verifies."""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from children import done as done_in_child
from children import limit_files
from command import Inside, Shell, refused
from dump import dump
from erased import PROBLEM, SOLUTION, TOKEN, holding
from hooked import PROMPT, repository
from rows import Wal
from talk import said, talking

from ledger import chain, erase, erasures, handover, needles
from ledger.exposure import Exposure, new_id
from ledger.exposures import Exposures
from ledger.ledger import Ledger
from ledger.model import Draft, Source, agent, importer, schema_path
from ledger.sessions import Caller, Sessions
from ledger.store_sqlite import SqliteStore


def secret(ledger: Ledger, **more: Any) -> str:
    """Record the learning that holds the text; return its id."""
    return ledger.record(Draft(PROBLEM, SOLUTION, "env", "demo", **more)).id


def innocent(ledger: Ledger) -> str:
    """Record a learning that shares nothing with it; return its id."""
    return ledger.record(Draft("the kettle whistles", "lift it off the stove", "practice", "demo")).id


# -- the log ----------


def test_an_erased_learning_leaves_an_envelope_and_a_log_that_verifies(ledger: Ledger) -> None:
    """The chain holds, one payload is counted as erased, and neighbours keep theirs."""
    name, other = secret(ledger), innocent(ledger)

    done = erase.erase(ledger, [name], "secret")

    verdict = ledger.verify()
    assert (verdict.ok, verdict.erased, verdict.problems) == (True, 1, [])
    assert (done.erased, done.learnings, done.pending) == ([1], [name], False)
    assert ledger.event(done.seq or 0).kind == "payload.erased"
    assert ledger.reader.show(other)["solution"] == "lift it off the stove"


def test_no_file_of_the_ledger_holds_an_erased_text_in_any_spelling(ledger: Ledger) -> None:
    """Database, sidecars and what lies beside them are searched byte by byte; before, the text was there."""
    name, folder = secret(ledger), Path(ledger.path).parent
    innocent(ledger)
    before = holding(folder)

    erase.erase(ledger, [name], "secret")

    assert before == ["ledger.db"]
    assert holding(folder) == []
    assert holding(folder, "staging host") == []


def test_no_word_of_an_erased_text_is_left_in_the_index_or_its_statistics(ledger: Ledger) -> None:
    """An index keeps deleted words in its segments until they are merged; counts of words are words too."""
    name = secret(ledger, tags=("zebrastripe",))
    ledger.alias(name, ["quaggamark"])
    innocent(ledger)
    ledger.rebuild()  # counts the words

    erase.erase(ledger, [name], "secret")

    connection = sqlite3.connect(ledger.path)
    words = {row[0] for row in connection.execute("SELECT term FROM learning_words").fetchall()}
    words |= {row[0] for row in connection.execute("SELECT word FROM word_count").fetchall()}
    words |= {row[0] for row in connection.execute("SELECT term FROM alias_places").fetchall()}
    pages = b"".join(bytes(row[0]) for table in ("learning_fts", "alias_fts") for row in connection.execute(
        f"SELECT block FROM {table}_data").fetchall())  # fmt: skip
    connection.close()
    assert "kettl" in words
    assert not words & {TOKEN, "zebrastrip", "quaggamark", "tunnel", "stage"}
    assert b"ebrastrip" not in pages
    assert b"uaggamark" not in pages
    assert TOKEN[3:].encode() not in pages


def test_a_rebuild_after_an_erasure_gives_what_was_live(ledger: Ledger) -> None:
    """The projections of a log with holes are the ones that erasing left."""
    name, other = secret(ledger), innocent(ledger)
    new = ledger.supersede(name, "reaching staging", "ask the team", "it changed")
    ledger.alias(other, ["pot"])
    erase.erase(ledger, [name, other], "personal")
    before = dump(ledger.store.connection())

    ledger.rebuild()

    assert dump(ledger.store.connection()) == before
    assert ledger.verify().ok
    assert ledger.reader.show(new.id)["supersedes"] == [name]


# -- what goes along ----------


def test_what_was_said_of_a_learning_goes_with_it(ledger: Ledger) -> None:
    """Reasons, other words, sources and verdicts are texts of the same matter."""
    with ledger.acting(importer(2)):
        name = secret(ledger, source=Source("memory-note", "memory-note:/n/a.md#Staging", "/n/a.md", 3))
    ledger.alias(name, ["the tunnel"])
    ledger.quarantine(name, "it holds a key")
    ledger.release(name, "looked at")
    ledger.judge("exp_" + "a" * 25, "wrong", learning=name, shown=[name], reason="not for this")
    ledger.retract(name, "gone stale")

    done = erase.erase(ledger, [name], "secret")

    kinds = [one.kind for one in done.events]
    assert kinds == [
        "learning.recorded", "aliases.derived", "learning.quarantined", "quarantine.released", "exposure.judged",
        "learning.retracted",
    ]  # fmt: skip
    sources = ledger.store.connection().execute("SELECT kind, locator, locator_key, path, line FROM source").fetchall()
    assert sources == [(None, None, None, None, None)]
    assert ledger.verify().ok


COPIES: dict[str, Any] = {
    "another learning, in other letters and spacing": lambda ledger, other: ledger.record(
        Draft("tunnels", f"As said:\n  {SOLUTION.upper().replace(' ', '  ')}!", "env", "other")
    ),
    "the same text in another project": lambda ledger, other: ledger.record(Draft(PROBLEM, SOLUTION, "env", "other")),
    "a reason": lambda ledger, other: ledger.retract(other, f"superseded by: {SOLUTION}"),
    "the words that find another learning": lambda ledger, other: ledger.alias(other, [f"gate {TOKEN}"]),
    "a summary of a session": lambda ledger, other: ledger.summarise("s1", "demo", f"We learned: {SOLUTION}. Done."),
    "a verdict's reason": lambda ledger, other: ledger.judge(
        "exp_" + "b" * 25, "wrong", learning=other, shown=[other], reason=f"it should say {SOLUTION}"
    ),
    "a setting": lambda ledger, other: ledger.set("project_aliases", json.dumps({"old": TOKEN})),
    "a title that names the token": lambda ledger, other: ledger.record(
        Draft("a gate", "call it", "env", "demo", title=f"gate {TOKEN}")
    ),
}


@pytest.mark.parametrize("where", COPIES)
def test_a_copy_goes_with_the_text_wherever_it_stands(ledger: Ledger, where: str) -> None:
    """Copies are found by scanning every payload, letters and white space not counting."""
    name, other = secret(ledger), innocent(ledger)
    copy = COPIES[where](ledger, other).seq
    log = json.dumps(dump(ledger.store.connection()), default=repr).lower()

    done = erase.erase(ledger, [name], "secret")

    assert {1, copy} <= set(done.erased)
    assert TOKEN in log
    assert holding(Path(ledger.path).parent) == []
    assert ledger.verify().ok


def test_a_label_of_an_import_goes_when_it_holds_the_token(ledger: Ledger) -> None:
    """The paths of a batch are a text as well."""
    from ledger.model import NewEvent, new_event_id

    body = {"paths": [f"/notes/{TOKEN}.md"]}
    batch = NewEvent("batch.started", "ledger", {"importer": "memory-notes"}, body, new_event_id())
    ledger.store.append(lambda moment: [batch._replace(batch=1)])
    name = secret(ledger)

    done = erase.erase(ledger, [name], "secret")

    assert done.erased == [1, 2]


def test_a_text_that_only_shares_a_sentence_is_named_and_left(ledger: Ledger) -> None:
    """Nobody gets back what was erased, so what is not surely a copy is for a person to decide."""
    shared = "Restart the service after every change of its settings."
    name = ledger.record(Draft("settings", f"{shared} The owner is Rosalind.", "env", "demo")).id
    other = ledger.record(Draft("deploys", f"{shared} Then look at the log.", "env", "demo"))

    done = erase.erase(ledger, [name], "personal")

    assert done.erased == [1]
    assert [one.seq for one in done.maybe] == [other.seq]
    assert ledger.reader.show(other.id)["solution"].startswith(shared)


@pytest.mark.parametrize("problem", ["deploy key", "which key the deployment of the shop is signed with"])
def test_what_corrected_a_learning_outlives_its_erasure(ledger: Ledger, problem: str) -> None:
    """A successor repeats the problem and says something else: it is named and left, and no file is blamed for it."""
    name = ledger.record(Draft(problem, f"paste {SOLUTION}", "env", "demo")).id
    new = ledger.supersede(name, problem, "ask the vault for it", f"wrong: {problem}")

    done = erase.erase(ledger, [name], "secret")

    assert done.erased == [1]
    assert [one.seq for one in done.maybe] == [new.seq]
    assert str(new.seq) in " ".join(done.remarks)
    assert done.still_in == []
    assert ledger.reader.show(new.id)["solution"] == "ask the vault for it"
    assert holding(Path(ledger.path).parent) == []


def test_a_problem_that_holds_the_secret_itself_takes_its_successor_along(ledger: Ledger) -> None:
    """A token is a copy wherever it stands, in a shared problem too."""
    problem = f"the gate refuses {TOKEN} at night"
    name = ledger.record(Draft(problem, "ring the bell", "env", "demo")).id
    new = ledger.supersede(name, problem, "wait for the morning", "nobody hears the bell")

    done = erase.erase(ledger, [name], "secret")

    assert {1, new.seq} <= set(done.erased)


def test_a_dry_run_names_what_it_would_leave(inside: Inside) -> None:
    """Whoever decides sees what may be a copy before anything is gone, not after."""
    inside.record("who signs the releases of the shop", "Rosalind signs them")
    inside.record("who signs the releases of the shop", "nobody signs them now")

    done = inside("erase", "1", "--reason", "personal", "--dry-run")

    assert "left alone: events 2" in done.err


def test_short_texts_and_common_names_take_nothing_else_along(ledger: Ledger) -> None:
    """A word, a version, a digest of git or a path is shared by chance."""
    commit = hashlib.sha1(b"a commit").hexdigest()
    name = ledger.record(Draft("tests", f"run them at {commit} on python3.11 with utf8mb4_unicode_ci", "env", "d")).id
    for text in (f"bisect to {commit}", "python3.11 is needed", "set utf8mb4_unicode_ci", "run the tests first"):
        ledger.record(Draft(f"about {text}", text, "env", "d"))

    done = erase.erase(ledger, [name], "secret")

    assert done.erased == [1]


def test_a_named_text_is_erased_wherever_it_stands(inside: Inside, shell: Shell) -> None:
    """A person who knows the secret gives it over standard input; no learning has to be named."""
    for text in ("the door opens with 4711", "write to 4711@example.org", "ports 14711 and 47110 are free"):
        inside.record(f"about: {text[:5]}", text)

    done = shell.run("erase", "--text", "-", "--reason", "secret", "--yes", "--json", given=b"4711\n")

    assert done.document["erased"] == [1, 2]
    assert "4711" not in done.out + done.err


def test_a_text_is_never_an_argument(inside: Inside) -> None:
    """What is typed stays in the shell's history and in every list of processes."""
    inside.record()

    refused(inside("erase", "--text", TOKEN, "--reason", "secret", "--yes"), 15, "standard input")


def test_the_answer_offers_the_learning_without_what_was_named(inside: Inside, shell: Shell) -> None:
    """The whole payload goes, since a hash cannot cover half of it; what was useful of it can be recorded again."""
    made = inside.record("opening the office", "ring twice, then type 4711 and push")

    done = shell.run("erase", made["id"], "--text", "-", "--reason", "secret", "--yes", "--json", given=b"4711")

    instead = done.document["instead"]
    assert instead["solution"] == "ring twice, then type [REDACTED] and push"
    assert (instead["problem"], instead["category"], instead["project"]) == ("opening the office", "env", "demo")
    assert "learnings record --problem 'opening the office'" in done.err


# -- who, and how it is asked ----------


def test_only_a_person_at_the_command_line_erases(ledger: Ledger) -> None:
    """An agent, an importer and a hook are refused, and so would be a tool: there is none."""
    name = secret(ledger)

    for actor in (agent("s"), importer(2)):
        with ledger.acting(actor), pytest.raises(erase.NotAllowed):
            erase.erase(ledger, [name], "secret")

    assert ledger.reader.show(name)["solution"] == SOLUTION
    tools = Path(schema_path("tools"))
    assert not [path for path in tools.iterdir() if "erase" in path.name]


def test_a_dry_run_names_events_and_never_a_text(inside: Inside, shell: Shell) -> None:
    """What would go is shown by seq and kind; nothing is written."""
    made = inside.record(PROBLEM, SOLUTION)
    before = shell.file.read_bytes()

    done = inside("erase", made["id"], "--reason", "secret", "--dry-run")

    assert "event 1" in done.out
    assert "learning.recorded" in done.out
    assert "tunnel" not in done.out + done.err
    assert TOKEN not in done.out + done.err
    assert shell.file.read_bytes() == before


def test_nobody_who_cannot_be_asked_erases_without_yes(inside: Inside) -> None:
    """A script says --yes; forgetting it destroys nothing."""
    made = inside.record(PROBLEM, SOLUTION)

    refused(inside("erase", made["id"], "--reason", "secret"), 15, "nothing was erased", "--yes")

    assert inside.document("show", made["id"])["solution"] == SOLUTION


def test_a_person_is_asked_at_a_terminal(inside: Inside, shell: Shell) -> None:
    """Anything but yes leaves everything as it is."""
    import pty

    made = inside.record(PROBLEM, SOLUTION)

    def typed(answer: bytes) -> int:
        pid, fd = pty.fork()
        if pid == 0:
            words = [sys.executable, "-m", "ledger.cli", "erase", made["id"], "--reason", "secret"]
            os.execve(sys.executable, words, {**shell.env, "TERM": "dumb"})
        seen = b""
        try:
            while chunk := os.read(fd, 4096):
                seen += chunk
                if b"[y/N]" in seen and answer:
                    os.write(fd, answer)
                    answer = b""
        except OSError:
            pass  # how a terminal ends
        os.close(fd)
        assert b"tunnel" not in seen
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert typed(b"n\n") == 0
    kept = inside.document("show", made["id"])["solution"]
    assert typed(b"y\n") == 0
    assert kept == SOLUTION
    assert inside.document("show", made["id"])["solution"] is None


BAD: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no reason": (("1", "--yes"), 15, "reason"),
    "another reason": (("1", "--reason", "wrong", "--yes"), 15, "secret"),
    "nothing": (("--reason", "secret", "--yes"), 15, "nothing is named"),
    "an event that is not there": (("99", "--reason", "secret", "--yes"), 16, "99"),
    "a learning that is not there": (("lrn_zzzzzzzz", "--reason", "secret", "--yes"), 16, "zzzz"),
    "an event without a text": (("2", "--reason", "secret", "--yes"), 20, "no text"),
    "again with a name": (("1", "--again"), 15, "--again"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_refused_erasure_erases_nothing(inside: Inside, case: str) -> None:
    """The message says what is wrong, and that nothing was erased."""
    made = inside.record(PROBLEM, SOLUTION)
    inside.document("pin", made["id"])
    words, code, said = BAD[case]

    refused(inside("erase", *words), code, said)

    assert inside.document("show", made["id"])["solution"] == SOLUTION


def test_a_secret_is_to_be_changed_as_well(inside: Inside) -> None:
    """Erasing is not revoking."""
    inside.record(PROBLEM, SOLUTION)

    done = inside("erase", "1", "--reason", "secret", "--yes")

    assert "change it" in done.err


# -- afterwards ----------


def test_an_erased_learning_is_a_placeholder_in_every_question(inside: Inside) -> None:
    """Show, history, as-of, lists, SQL and exports answer; none of them has the text, none fails."""
    made = inside.record(PROBLEM, SOLUTION)
    new = inside.document("supersede", made["id"], "--problem", "x1", "--solution", "y1", "--reason", "moved")
    inside.document("erase", made["id"], "--reason", "secret", "--yes")

    questions = (
        ("show", made["id"]), ("history", made["id"]), ("query", "staging tunnel", "--as-of", "1"),
        ("query", "staging", "--include-superseded"), ("list", "--state", "superseded"), ("export", "--state", "all"),
        ("sql", "SELECT * FROM lineage"), ("sql", "SELECT * FROM audit_log"), ("sql", "SELECT * FROM timeline"),
        ("stats",), ("show", new["id"]), ("history", new["id"]), ("verify",),
    )  # fmt: skip
    told = {words: inside(*words) for words in questions}

    assert {words: done.code for words, done in told.items()} == dict.fromkeys(questions, 0)
    assert not [words for words, done in told.items() if "tunnel" in done.out or TOKEN in done.out]
    assert "(erased)" in told[("show", made["id"])].out
    assert "erased by 3" in told[("history", made["id"])].out


def test_nothing_takes_an_erasure_back(inside: Inside) -> None:
    """Undo says so; what the erased event did can still be undone."""
    made = inside.record(PROBLEM, SOLUTION)
    seq = inside.document("erase", made["id"], "--reason", "secret", "--yes")["seq"]

    refused(inside("undo", str(seq)), 24, "nothing takes back")

    inside.document("undo", "1")
    assert inside.document("show", made["id"])["state"] == "undone"


def test_erasing_again_writes_nothing_and_answers_the_first_time(inside: Inside) -> None:
    """A rerun finishes what was left, and is safe."""
    made = inside.record(PROBLEM, SOLUTION)
    first = inside.document("erase", made["id"], "--reason", "secret", "--yes")

    again = inside.document("erase", made["id"], "--reason", "secret", "--yes")

    assert (again["seq"], again["erased"]) == (first["seq"], first["erased"])
    assert inside.document("verify")["events"] == 2


def test_a_retry_by_event_id_answers_the_first_time(ledger: Ledger) -> None:
    """The same id is one erasure, whatever became of the first answer."""
    name, own = secret(ledger), "01900000-0000-7000-8000-000000000001"
    first = erase.erase(ledger, [name], "secret", event_id=own)

    again = erase.erase(ledger, [name], "secret", event_id=own)

    assert (again.seq, again.erased, ledger.store.head().seq) == (first.seq, first.erased, 2)


# -- beside the log ----------


def shown(name: str, words: list[str]) -> Exposure:
    """Return an exposure of a learning for a prompt with these words."""
    return Exposure(
        new_id(), "2026-11-30T10:00:00.000000Z", "s1", None, "hook", "demo", words, None, [name], [], {}, {}, 1, "00"
    )


def test_exposures_keep_no_word_that_only_the_erased_text_explained(ledger: Ledger) -> None:
    """What other learnings say stays; a word of the erased text alone goes, to the last byte."""
    name = ledger.record(Draft("ringing at the door", "say rosalindworth4711", "env", "demo")).id
    innocent(ledger)
    with Exposures(ledger.path, ledger.store.ledger_id) as exposures:
        exposures.add(lambda _: shown(name, ["door", "rosalindworth4711", "kettle"]), None, 1_796_000_000)

    erase.erase(ledger, [name], "personal")

    with Exposures(ledger.path, ledger.store.ledger_id) as exposures:
        assert [one.keywords for one in exposures.newest(5)] == [["kettle"]]
    assert holding(Path(ledger.path).parent, "rosalindworth4711") == []


def test_the_queue_and_the_kept_blocks_are_cleaned(ledger: Ledger) -> None:
    """What hooks handed over and what the next session begins with are copies like any other."""
    name, folder = secret(ledger), Path(ledger.path).parent
    said = {"session_id": "s1", "last_assistant_message": f"I did it: {SOLUTION} and that was that."}
    other = {"session_id": "s2", "last_assistant_message": "the build is green after the change of the lock file"}
    assert handover.stopped(ledger.path, said).kept
    assert handover.stopped(ledger.path, other).kept
    Sessions(ledger.path).keep_ready("/x", ("", "1:00", "2026-11-30", "demo", f"block {SOLUTION}", "[]"), 1.0)
    (folder / "ledger.db.written").write_text("ab " + "c" * 64 + "\n")
    before = holding(folder)

    erase.erase(ledger, [name], "secret")

    assert sorted(before) == ["ledger.db", "s1.later.jsonl", "sessions.db"]
    assert holding(folder) == []
    assert [one.session for one in handover.waiting(ledger.path)] == ["s2"]
    assert not (folder / "ledger.db.written").exists()


def test_an_erasure_waits_for_nobody_who_holds_the_exposures(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the words are known they can be looked for; so nothing is erased before that can be done."""
    monkeypatch.setattr("ledger.exposures.ASKED_WAIT_MS", 10)
    name = secret(ledger)
    with Exposures(ledger.path, ledger.store.ledger_id) as exposures:
        exposures.add(lambda _: shown(name, ["staging"]), None, 1_796_000_000)
    holder = sqlite3.connect(Path(ledger.path).parent / "exposures.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    with pytest.raises(erase.LedgerError, match="locked"):
        erase.erase(ledger, [name], "secret")

    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.reader.show(name)["solution"] == SOLUTION
    assert erase.erase(ledger, [name], "secret").erased == [1]


WRITTEN: dict[str, Callable[[str], bytes]] = {
    "raw": str.encode,
    "in capitals": lambda text: text.upper().encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "hexadecimal": lambda text: text.encode().hex().encode(),
    "base64": lambda text: base64.b64encode(f"{text} and more".encode()),
    "base64, one on": lambda text: base64.b64encode(f"x{text}".encode()),
    "base64, two on": lambda text: base64.urlsafe_b64encode(f"xy{text}?".encode()),
}


@pytest.mark.parametrize("spelling", WRITTEN)
def test_files_that_still_hold_it_are_named_in_any_spelling(inside: Inside, shell: Shell, spelling: str) -> None:
    """A note, a transcript and an export are somebody's: they are named, and left as they are."""
    memory = shell.folder / ".claude" / "projects" / "-x" / "memory"
    memory.mkdir(parents=True)
    note = memory / "gate.md"
    note.write_text(f"# Gate\n\n- {SOLUTION}\n")
    inside.document("import", str(memory))
    transcript = memory.parent / "s1.jsonl"
    transcript.write_bytes(b'{"x": "' + WRITTEN[spelling](TOKEN) + b'"}\n')
    out = shell.folder / "out.jsonl"
    inside.document("export", "--output", str(out))
    inside("export", "--output", str(out))
    name = inside.document("list")["rows"][0]["id"]

    done = inside.document("erase", name, "--reason", "secret", "--yes")

    found = {one["path"]: one["kind"] for one in done["still_in"]}
    expected = {str(note): "source", str(transcript): "transcript", str(out): "export"}
    assert found == expected
    assert note.read_text().endswith(f"{SOLUTION}\n")


def test_a_rescan_skips_the_place_until_it_is_asked_for_again(inside: Inside, shell: Shell) -> None:
    """The note still says it, and the ledger does not learn it anew."""
    memory = shell.folder / ".claude" / "projects" / "-x" / "memory"
    memory.mkdir(parents=True)
    (memory / "gate.md").write_text(f"# Gate\n\n{SOLUTION}\n")
    (memory / "kettle.md").write_text("# Kettle\n\nlift it off the stove in time\n")
    inside.document("import", str(memory))
    rows = inside.document("list")["rows"]
    name = next(row["id"] for row in rows if "stove" not in inside.document("show", row["id"])["solution"])
    done = inside.document("erase", name, "--reason", "secret", "--yes")

    rescan = inside.document("import", str(memory))

    assert done["blocked"] == 1
    assert not rescan["batches"]
    assert holding(shell.file.parent) == []
    assert (rescan["skipped"], rescan["unchanged"]) == (1, 1)
    assert ("gate.md", "erased-place") in [(Path(one["file"]).name, one["code"]) for one in rescan["diagnostics"]]
    inside.document("import", "--again", str(memory))
    assert holding(shell.file.parent) == ["ledger.db"]


def test_a_note_that_was_corrected_and_asked_for_again_is_followed_from_then_on(inside: Inside, shell: Shell) -> None:
    """Else the ledger would go on saying what the note said on the day it was asked for."""
    memory = shell.folder / ".claude" / "projects" / "-x" / "memory"
    memory.mkdir(parents=True)
    note = memory / "gate.md"
    note.write_text(f"# Gate\n\n{SOLUTION}\n")
    inside.document("import", str(memory))
    erased = inside("erase", inside.document("list")["rows"][0]["id"], "--reason", "secret", "--yes")
    note.write_text("# Gate\n\nask at the gate of the office\n")
    inside.document("import", "--again", str(memory))
    note.write_text("# Gate\n\nask at the gate of the harbour\n")

    followed = inside.document("import", str(memory))

    assert "scans skip 1 place" in erased.err
    assert (followed["superseded"], followed["skipped"]) == (1, 0)
    inside.document("erase", inside.document("list")["rows"][0]["id"], "--reason", "personal", "--yes")
    assert inside.document("import", str(memory))["skipped"] == 1


# -- what could be guessed ----------

PIN = "4711"


def guessed(folder: Path) -> set[str]:
    """Return the PINs that an attacker with every file finds by trying all of them.

    They know how a learning, its payload and its note were worded, all but the PIN, and the program's source.
    """
    file = next(path for path in folder.iterdir() if path.name == "ledger.db")
    connection = sqlite3.connect(file)
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
    cells = {
        bytes(cell)
        for table in tables
        for row in connection.execute(f'SELECT * FROM "{table}"').fetchall()
        for cell in row
        if isinstance(cell, bytes)
    }
    key = connection.execute("SELECT dedup_key FROM meta").fetchone()[0]
    connection.close()
    everywhere = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    windows = {everywhere[at : at + size] for size in (32, 64) for at in range(len(everywhere))}
    salts = [cell for cell in cells if len(cell) == 32] or [b""]
    found = set()
    for number in range(10_000):
        pin = f"{number:04d}"
        solution, problem = f"type {pin} at the door", "coming in at night"
        body = chain.canonical({
            "title": problem, "problem": problem, "solution": solution, "project": "demo", "tags": [],
            "source": {
                "kind": "memory-note", "locator": f"memory-note:/n/{pin}.md#", "path": f"/n/{pin}.md", "line": 1,
            },
        })  # fmt: skip
        note = f"- {solution}"
        digests = {
            chain.content_key(key, problem, solution, "demo"),
            chain.locator_key(key, f"memory-note:/n/{pin}.md#"),
        }
        digests |= {hashlib.sha256(text.encode()).digest() for text in (pin, solution, problem + solution, note)}
        digests |= {hmac.digest(key, text.encode(), "sha256") for text in (pin, solution, note)}
        digests |= {chain.commitment(salt, body) for salt in salts}
        spelled = digests | {digest.hex().encode() for digest in digests}
        if spelled & windows:
            found.add(pin)
    return found


def test_a_pin_cannot_be_found_by_trying_all_of_them(ledger: Ledger) -> None:
    """No unsalted digest is left, the salt goes with the body, keys of text and place go too; before, it was found."""
    with ledger.acting(importer(2)):
        source = Source("memory-note", f"memory-note:/n/{PIN}.md#", f"/n/{PIN}.md", 1)
        name = ledger.record(Draft("coming in at night", f"type {PIN} at the door", "env", "demo", source=source)).id
    folder = Path(ledger.path).parent
    before = guessed(folder)

    done = erase.erase(ledger, [name], "secret")

    assert before == {PIN}
    assert guessed(folder) == set()
    assert done.blocked == 0  # its place would have given it away
    assert any("the next scan brings the text back" in text for text in done.remarks)


# -- a running server ----------


def test_a_running_server_serves_no_erased_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps learnings at hand between prompts; after another process erased one it is none of them."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ATTENDED", "1")
    folder = repository(tmp_path)
    file = tmp_path / "data" / "ledger.db"
    text = "pgcat refuses connections from the docker network with PGX4711"
    with Ledger.init(str(file)) as ledger:
        name = ledger.record(Draft(text, f"use port 6543 with {TOKEN}", "env", "demo")).id
        for number in range(30):
            ledger.record(Draft(f"kettle {number} whistles on stove {number}", f"lift {number}", "practice", "demo"))
    with talking(file, "legacy", cwd=folder) as talk:

        def recalled(session: str) -> str:
            given = {"prompt": PROMPT, "session_id": session, "cwd": str(folder), "prompt_id": session}
            return "".join(block.text for block in talk.call("recall", given).content if block.type == "text")

        recalled("s0")  # the first one loads everything and may come too late
        hits = [hit["id"] for hit in talk.document("query_learnings", query=PROMPT, project="demo")["hits"]]
        before = recalled("s1")
        with Ledger.open(str(file)) as ledger:
            done = erase.erase(ledger, [name], "secret")
        after = recalled("s2")
        found = json.dumps(talk.document("query_learnings", query=PROMPT, project="demo"))
        past = json.dumps(talk.document("learning_history", id=name))
        past += said(talk.call("get_learnings", {"ids": [name]}))

    assert name in hits
    assert TOKEN in before
    assert not done.pending
    assert TOKEN not in after + found + past
    assert "pgcat" not in after + found + past


# -- pending ----------


def test_in_wal_mode_the_bytes_leave_with_the_log_of_pages(path: str) -> None:
    """After the update, the merge of the index and VACUUM they are still there; the checkpoint takes them."""
    store = SqliteStore(path, sqlite=Wal(), create=True)
    with Ledger(store) as ledger:
        name = secret(ledger)
        assert store.connection().execute("PRAGMA journal_mode").fetchone() == ("wal",)

        done = erase.erase(ledger, [name], "secret")

        assert not done.pending
        assert holding(Path(path).parent) == []


@pytest.mark.parametrize("is_wal", [False, True])
def test_a_reader_that_holds_on_makes_it_pending_and_the_next_write_finishes(
    path: str, is_wal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is gone from every answer; its bytes go as soon as nobody reads what they stood in."""
    monkeypatch.setattr("ledger.purge.WAIT_MS", 20)
    monkeypatch.setattr("ledger.purge.RETRY_MS", 20)
    with Ledger(SqliteStore(path, sqlite=Wal() if is_wal else None, create=True)) as ledger:
        name = secret(ledger)
        holder = sqlite3.connect(path, isolation_level=None)
        if is_wal:
            holder.execute("BEGIN")
            holder.execute("SELECT count(*) FROM event").fetchone()
        else:
            compact = erase.purge.compact

            def busy(raw: sqlite3.Connection) -> None:
                holder.execute("BEGIN")
                holder.execute("SELECT count(*) FROM event").fetchone()
                compact(raw)

            monkeypatch.setattr("ledger.purge.compact", busy)
        done = erase.erase(ledger, [name], "secret")
        monkeypatch.undo()
        pending = erasures.pending(path)

        holder.execute("ROLLBACK")
        holder.close()
        innocent(ledger)

        assert done.pending
        assert any("another program is reading" in text for text in done.remarks)
        assert pending is not None
        assert erasures.pending(path) is None
        assert holding(Path(path).parent) == []
        assert ledger.verify().ok


def test_verify_and_again_tell_and_finish_what_is_pending(inside: Inside, shell: Shell) -> None:
    """A file that was left pending says so until somebody finishes it."""
    inside.record()
    erasures.keep_pending(str(shell.file))

    told = inside("verify")
    done = inside.document("erase", "--again")

    assert told.code == 0
    assert "not finished" in told.err
    assert (done["erased"], done["pending"]) == ([], False)
    assert inside("verify").err == ""


def test_a_running_server_finishes_what_is_pending(path: str) -> None:
    """It looks into the queue anyway; an erasure that was left is work like that."""
    from mcp_server.settling import Settling

    with Ledger.init(path) as ledger:
        innocent(ledger)
    erasures.keep_pending(path)
    heard: list[int] = []

    done = Settling(path, {}, lambda: heard.append(1)).settle()

    assert (done, heard, erasures.pending(path)) == (True, [1], None)


@pytest.mark.parametrize("kilobytes", [60, 150, 230, 245, 300])
def test_a_disk_that_takes_no_more_erases_nothing_or_leaves_it_pending(path: str, kilobytes: int) -> None:
    """Before or after, never between; with space again a rerun leaves no residue."""
    with Ledger.init(path) as ledger:
        name = secret(ledger)
        for number in range(20):
            ledger.record(Draft(f"kettle {number} whistles", f"lift it {number} times", "practice", "demo"))

    def act(say: Callable[[str], None]) -> None:
        limit_files(kilobytes * 1_024)
        with Ledger.open(path) as small:
            say("pending" if erase.erase(small, [name], "secret").pending else "done")

    ended = done_in_child(act)

    with Ledger.open(path) as ledger:
        told, gone = ended.said[0], ledger.event(1).body is None
        assert told in ("pending", "done") or told.startswith(("NoSpace", "FileFault")), ended
        assert gone is (told in ("pending", "done"))
        assert ledger.verify().ok
        assert not erase.erase(ledger, [name], "secret").pending
    assert holding(Path(path).parent) == []


def test_what_a_killed_run_left_in_the_temporary_folder_is_named(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that was copied to look at its past is a copy of every text."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "learnings-why-x"
    left.mkdir()
    (left / "then.db").write_text(SOLUTION)

    done = erase.erase(ledger, [secret(ledger)], "secret")

    assert [(one.path, one.kind) for one in done.still_in] == [(str(left / "then.db"), "temporary")]


# -- needles ----------


@pytest.mark.parametrize("text", ['naïve Größe\n"quoted" \\ path', "short12x", TOKEN, "日本語の秘密の合言葉です"])
def test_every_spelling_is_found_at_every_alignment(text: str) -> None:
    """Base64 depends on what stands before; each of its three forms is looked for."""
    wanted = needles.written(text)

    for before in (b"", b"a", b"ab", b"abc"):
        data = before + text.encode() + b"after"
        for spelled in (data, base64.b64encode(data), base64.urlsafe_b64encode(data), data.hex().encode()):
            assert any(one in spelled for one in wanted)
    assert any(one in json.dumps({"x": text}).encode() for one in wanted)
    assert any(one in b"x" + text.encode("utf-16-le") for one in wanted)
    assert not any(one in b"nothing of the kind stands here, whatever it is" for one in wanted)


def test_a_session_of_a_robot_is_no_person(ledger: Ledger) -> None:
    """The names of sessions are no texts of learnings and stay."""
    name = secret(ledger)
    Sessions(ledger.path).count(Caller("s1", "demo"), 1_796_000_000.0, "prompt")

    erase.erase(ledger, [name], "secret")

    assert [one["session"] for one in Sessions(ledger.path).listed(0.0)] == ["s1"]
