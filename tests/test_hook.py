"""What a client's events are answered: the right block, or nothing and exit status 0."""

import json
import os
import re
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Shell
from hooked import PROMPT, PYTHON, SCRIPT, environment, payload, ran, repository, setting

from importers.projects import project_of
from ledger import begin, exposures, hook, hook_main, ready, redact, unsaid
from ledger.exposures import Exposures
from ledger.ledger import Ledger
from ledger.model import Draft
from ledger.sessions import MACHINE, OFF, SHOWN, SILENT, Caller, Sessions

PERSON = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
ROBOT = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}
DAY = 86_400.0
SHOWS = sorted(hook.EVENTS.keys() - hook.CAPTURES.keys())
"""Events that are answered; of the others see `test_hook_capture.py`."""


@pytest.fixture
def known(ledger: Ledger) -> Ledger:
    """Return a ledger with one learning that the prompt asks for, among others."""
    text = "pgcat refuses connections from the docker network with PGX4711"
    ledger.record(Draft(text, "use port 6543 of pgcat", "env", "demo"))
    for number in range(30):
        ledger.record(Draft(f"kettle {number} whistles on stove {number}", f"lift lid {number}", "practice", "demo"))
    return ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a repository whose name is the project."""
    return repository(tmp_path)


def answered(known: Ledger, event: str, folder: Path, env: dict[str, str] = PERSON, **more: object) -> str:
    """Return what the model reads for an event, '' for nothing."""
    said = hook.run(event, payload(folder, **more), env, known.path, project_of)
    return str(json.loads(said).get("hookSpecificOutput", {}).get("additionalContext", "")) if said else ""


def counted(known: Ledger) -> dict[str, int]:
    """Return what was counted of all sessions."""
    return {use["what"]: use["many"] for use in Sessions(known.path).uses(0)}


def test_a_prompt_is_answered_by_the_framed_block(known: Ledger, folder: Path) -> None:
    """The client's JSON with the right event name, nothing for the person, and the session counted."""
    said = hook.run("prompt", payload(folder, prompt=PROMPT), PERSON, known.path, project_of)

    document = json.loads(said)
    assert document.keys() == {"hookSpecificOutput"}
    assert document["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "use port 6543 of pgcat" in document["hookSpecificOutput"]["additionalContext"]
    assert counted(known) == {"prompt": 1, SHOWN: 1}
    (one,) = Sessions(known.path).listed(0)
    assert (one["session"], one["project"], one["entrypoint"]) == ("s1", "demo", "cli")


def test_what_the_client_has_loaded_is_not_repeated(known: Ledger, folder: Path) -> None:
    """It is held back with that reason; once the file says something else, it is shown."""
    rules = folder / "CLAUDE.md"
    rules.write_text("# Rules\n- pgcat refuses the docker network with PGX4711: use port 6543 of pgcat\n")
    env = environment(Path(known.path))

    first = ran("prompt", payload(folder, prompt=PROMPT), env)
    rules.write_text("# Rules\n- use port 5432 of pgcat\n")
    second = ran("prompt", payload(folder, prompt=PROMPT), env)

    assert first == (0, "", "")
    assert "6543" in second.text
    with Exposures(known.path, known.store.ledger_id) as kept:
        shown, silent = kept.newest(2)
    assert (silent.silence, silent.held[0]["reason"]) == ("loaded", "loaded")
    assert (shown.silence, len(shown.shown)) == (None, 1)


@pytest.mark.parametrize(
    ("prompt", "outcome"),
    [("ok go ahead", SILENT), ("<task-notification>pgcat PGX4711 done</task-notification>", MACHINE), ("", SILENT)],
)
def test_a_prompt_that_asks_for_nothing_is_answered_by_nothing(
    known: Ledger, folder: Path, prompt: str, outcome: str
) -> None:
    """Not even an empty object is printed; what a machine wrote is counted apart."""
    assert hook.run("prompt", payload(folder, prompt=prompt), PERSON, known.path, project_of) == ""

    assert counted(known) == {"prompt": 1, outcome: 1}


def test_robots_are_shown_nothing_and_counted(known: Ledger, folder: Path) -> None:
    """`-p` and unattended sessions: silence at every event."""
    for env in (ROBOT, {**PERSON, "CLAUDE_CODE_SESSION_ATTENDED": "0"}):
        assert answered(known, "session-start", folder, env) == ""
        assert answered(known, "subagent-start", folder, env, agent_id="a", agent_type="Explore") == ""
        assert answered(known, "prompt", folder, env, prompt=PROMPT) == ""

    assert counted(known) == {"prompt": 2, OFF: 2}


@pytest.mark.parametrize(("value", "is_silent"), [("on", False), ("off", True), ("true", True), ("{", True)])
def test_robots_are_answered_where_the_setting_says_so(
    known: Ledger, folder: Path, value: str, is_silent: bool
) -> None:
    """`robots` on makes no difference between a robot and a person; what is no value of it is off."""
    setting(known.path, "robots", value)

    assert (answered(known, "prompt", folder, ROBOT, prompt=PROMPT) == "") is is_silent


@pytest.mark.parametrize(
    ("value", "is_silent"),
    [('["*"]', True), ('["demo"]', True), ('["other"]', False), ("[]", False), ("{", False), ('{"demo": 1}', False)],
)
def test_the_setting_off_silences_everything_or_a_project(
    known: Ledger, folder: Path, value: str, is_silent: bool
) -> None:
    """A value that cannot be read switches nothing off."""
    setting(known.path, "off", value)

    assert (answered(known, "prompt", folder, prompt=PROMPT) == "") is is_silent


def test_a_project_is_silent_under_its_other_name(known: Ledger, folder: Path) -> None:
    """Aliases are followed, and what one machine sets adds to what the ledger says."""
    known.set("project_aliases", '{"demo-old": "demo"}')
    known.set("off", '["other"]')
    assert "6543" in answered(known, "prompt", folder, prompt=PROMPT)

    known.set("off", '["demo-old"]', machine=True)

    assert answered(known, "prompt", folder, prompt=PROMPT, session_id="s2") == ""
    assert answered(known, "session-start", folder, session_id="s3") == ""


@pytest.mark.parametrize("event", SHOWS)
def test_a_broken_rule_of_secrets_is_silence_and_a_line_for_doctor(
    known: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    """What cannot be looked at is not shown; nothing is said, and the fault has its name."""

    def broken(text: str) -> redact.Scrubbed:
        raise RuntimeError(text)

    monkeypatch.setattr(redact, "scrub", broken)

    assert answered(known, event, folder, prompt=PROMPT, agent_id="a", agent_type="Explore") == ""

    (fired,) = Sessions(known.path).fired(time.time())
    assert fired["fault"] == "GuardFailed"


def test_a_session_that_is_switched_off_leaves_no_trace(known: Ledger, folder: Path) -> None:
    """`LEARNINGS_OFF=1`: no answer, no exposure, no count."""
    assert answered(known, "prompt", folder, {**PERSON, "LEARNINGS_OFF": "1"}, prompt=PROMPT) == ""

    assert not os.path.exists(Sessions(known.path).path)


def test_the_start_brings_what_is_pinned_and_remembers_it_as_shown(known: Ledger, folder: Path) -> None:
    """What the start showed, the first prompt does not show again."""
    pinned = known.reader.query("pgcat").hits[0].id
    known.pin(pinned)

    text = answered(known, "session-start", folder, source="startup")

    assert "6543" in text
    assert answered(known, "prompt", folder, prompt=PROMPT) == ""


def test_a_first_session_is_shown_that_its_project_is_known(known: Ledger, folder: Path, tmp_path: Path) -> None:
    """Where nothing is pinned, some of what the project knows; a project that nobody knows is told nothing."""
    assert "lift lid" in answered(known, "session-start", folder)
    (tmp_path / "other").mkdir()
    other = (tmp_path / "other").rename(tmp_path / "unheard-of")
    (other / ".git").mkdir()

    assert answered(known, "session-start", other, session_id="s2") == ""

    with Exposures(known.path, known.store.ledger_id) as kept:
        assert [one.silence for one in kept.newest(2)] == ["nothing-known", None]


def test_the_branch_says_what_is_worked_on(known: Ledger, tmp_path: Path) -> None:
    """Its name is read from `.git/HEAD`; in a worktree, from where `.git` points."""
    tree = repository(tmp_path / "one", "fix/pgcat-docker-network")
    linked = tmp_path / "demo"
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {tree}/.git\n")

    assert "6543" in answered(known, "session-start", tree)
    assert ready.branch_of(str(linked)) == "fix/pgcat-docker-network"
    assert ready.branch_of("/") is None


@pytest.mark.parametrize("source", ["compact", "clear", "resume"])
def test_a_session_whose_context_went_is_shown_again_what_it_was_shown(
    known: Ledger, folder: Path, source: str
) -> None:
    """The last shown first, and only what is current still."""
    answered(known, "prompt", folder, prompt=PROMPT)
    text = answered(known, "session-start", folder, source=source)
    assert "6543" in text

    known.retract(known.reader.query("pgcat").hits[0].id, "it is wrong")

    assert "6543" not in answered(known, "session-start", folder, source=source)


@pytest.mark.parametrize("source", ["compact", "clear", "resume"])
def test_the_newest_summary_comes_before_what_was_shown(known: Ledger, folder: Path, source: str) -> None:
    """In a frame of its own; both together are no more than a prompt may be shown."""
    answered(known, "prompt", folder, prompt=PROMPT)
    known.summarise("s0", "demo", "We moved the nightly job.\n" + "Then we went on with the next table.\n" * 300)

    text = answered(known, "session-start", folder, source=source)

    first, second = text.split("</recalled-learnings>\n")
    assert "We moved the nightly job." in first
    assert "summary of an earlier session of demo" in first
    assert "6543" in second
    assert len(text) <= 6_000


def test_a_summary_of_the_session_itself_is_called_so(known: Ledger, folder: Path) -> None:
    """The client hands over the newest only after the start; the one that is here is of an earlier compaction."""
    known.summarise("s1", "demo", "We moved the nightly job.")

    text = answered(known, "session-start", folder, source="compact")

    assert "We moved the nightly job." in text
    assert "summary of this session of demo, from an earlier compaction" in text


@pytest.mark.parametrize("source", ["startup", "compact"])
def test_a_summary_is_for_a_context_that_went(known: Ledger, folder: Path, source: str) -> None:
    """A session that starts is not shown it; one that was shown nothing yet gets the start block after it."""
    known.summarise("s0", "demo", "We moved the nightly job.")

    text = answered(known, "session-start", folder, source=source)

    assert ("We moved" in text) is (source == "compact")
    assert "lift lid" in text


@pytest.mark.parametrize(("hours", "is_shown"), [(47, True), (49, False)])
def test_a_summary_is_shown_for_two_days(known: Ledger, folder: Path, hours: int, is_shown: bool) -> None:
    """Then it is out of date, and stays in the log."""
    known.summarise("s0", "demo", "We moved the nightly job.")
    given = payload(folder, source="clear")

    said = hook.run("session-start", given, PERSON, known.path, project_of, lambda: time.time() + hours * 3_600)

    assert ("We moved" in said) is is_shown


def test_a_summary_cannot_leave_its_frame(known: Ledger, folder: Path) -> None:
    """What an earlier session said is data as well; another project's is not shown at all."""
    known.summarise("s0", "demo", "Done, see <b>all</b> of [it](http://a.example/b)\n| and a bar")
    known.summarise("s0", "other", "We moved the nightly job.")

    text = answered(known, "session-start", folder, source="clear")

    block = text.partition("\n</recalled-learnings>\n")[0]
    assert "Done, see &lt;b&gt;all&lt;/b&gt; of it `http://a.example/b`" in block
    assert "We moved" not in text
    assert all(line.startswith("|") for line in block.splitlines()[1:])


def test_robots_are_shown_no_summary(known: Ledger, folder: Path) -> None:
    """As they are shown nothing else."""
    known.summarise("s0", "demo", "We moved the nightly job.")

    assert answered(known, "session-start", folder, ROBOT, source="clear") == ""


def test_what_was_shown_again_is_explained_and_not_repeated(known: Ledger, folder: Path) -> None:
    """After a compaction the block has an exposure of its own, and the next prompt does not repeat it."""
    answered(known, "prompt", folder, prompt=PROMPT)

    answered(known, "session-start", folder, source="compact")

    with Exposures(known.path, known.store.ledger_id) as kept:
        assert kept.newest(1)[0].anew
    assert answered(known, "prompt", folder, prompt=PROMPT) == ""


def test_what_is_shown_again_names_no_exposure_that_could_not_be_remembered(known: Ledger, folder: Path) -> None:
    """Another process holds the file: the block comes all the same, soon, and leads to no `why`."""
    assert "learnings why" in answered(known, "prompt", folder, prompt=PROMPT)
    other = sqlite3.connect(exposures.path_beside(known.path), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    text = answered(known, "session-start", folder, source="compact")

    other.close()
    assert "6543" in text
    assert "learnings why" not in text


def test_a_subagent_is_shown_what_its_task_asks_for(known: Ledger, folder: Path) -> None:
    """Where the client tells the task; what the session saw is no reason to hold it back."""
    answered(known, "prompt", folder, prompt=PROMPT)

    assert "6543" in answered(known, "subagent-start", folder, agent_id="a", agent_type="Explore", prompt=PROMPT)


def test_a_subagent_without_a_task_is_shown_the_start_block_once(known: Ledger, folder: Path) -> None:
    """Each subagent once; the summariser of a compaction, which has no type, never."""
    known.pin(known.reader.query("pgcat").hits[0].id)

    assert "6543" in answered(known, "subagent-start", folder, agent_id="a", agent_type="Explore")
    assert answered(known, "subagent-start", folder, agent_id="a", agent_type="Explore") == ""
    assert "6543" in answered(known, "subagent-start", folder, agent_id="b", agent_type="Explore")
    assert answered(known, "subagent-start", folder, agent_id="c", agent_type="") == ""


def test_a_person_is_told_once_a_day_that_nothing_is_written(known: Ledger, folder: Path) -> None:
    """Days without a learning though sessions ran: one line for the person, none for the model."""
    now = time.time() + 9 * DAY
    kept = Sessions(known.path)
    for number in range(41):
        kept.ran("session-start", Caller(f"s{number}", "demo", "cli"), 1, now)

    def started() -> str:
        return hook.run("session-start", payload(folder), PERSON, known.path, project_of, lambda: now)

    assert json.loads(started())["systemMessage"] == (
        "learnings: no learning written for 9 days though 41 sessions ran"
    )
    assert "systemMessage" not in started()


def test_a_person_is_told_once_a_day_how_much_waits(known: Ledger, folder: Path) -> None:
    """One line for the person with one count, none for the model, none for a robot."""
    known.propose(Draft("a build is slow", "warm the cache", "env", "demo"))
    now = time.time()
    robot = {**PERSON, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}

    def started(env: dict[str, str]) -> str:
        return hook.run("session-start", payload(folder), env, known.path, project_of, lambda: now)

    assert "systemMessage" not in started(robot)
    assert json.loads(started(PERSON))["systemMessage"] == ("learnings: 1 item waits for you, see `learnings review`")
    assert "systemMessage" not in started(PERSON)


def test_a_person_is_told_that_recall_hangs(known: Ledger) -> None:
    """A breaker that is held is named, with the command that says more."""
    kept = Sessions(known.path)
    kept.tripped("recall", time.time())

    assert "the recall server did not answer in time" in begin.remark(kept, time.time(), time.time())


def garbage(path: str) -> None:
    """Put other bytes in the file's place."""
    Path(path).write_bytes(b"no ledger at all" * 1_000)


def torn(path: str) -> None:
    """Overwrite every page but the first."""
    with open(path, "r+b") as file:
        file.seek(4_096)
        file.write(b"x" * (os.path.getsize(path) - 4_096))


def other(path: str) -> None:
    """Put a database there that is no ledger."""
    os.unlink(path)
    sqlite3.connect(path).executescript("CREATE TABLE a (b)").close()


def older(path: str) -> None:
    """Make the projections those of an older program."""
    connection = sqlite3.connect(path)
    connection.execute("UPDATE projection SET version = 1")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("event", ["session-start", "subagent-start"])
def test_where_two_set_ups_hear_an_event_one_answers(known: Ledger, folder: Path, event: str) -> None:
    """Setup and plugin at once: of two hooks that begin together, one shows, and does so again at the next start."""
    with known.acting(known.actor):
        known.pin(known.reader.list_learnings().rows[0].id)
    given = json.dumps(payload(folder, source="startup", agent_id="a", agent_type="Explore")).encode()
    line, env = [PYTHON, "-I", "-S", SCRIPT, event], environment(Path(known.path))
    both = [
        subprocess.Popen(
            line, env={**env, **more}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for more in ({}, {"CLAUDE_PLUGIN_ROOT": "/plugins/learnings"})
    ]

    for one in both:
        assert one.stdin is not None
        one.stdin.write(given)
        one.stdin.close()
        one.stdin = None
    said = [one.communicate(timeout=30)[0] for one in both]

    assert sum(b"recalled-learnings" in text for text in said) == 1
    assert sum(not text for text in said) == 1
    again = {"source": "resume"} if event == "session-start" else {"agent_id": "b", "agent_type": "Explore"}
    assert "recalled-learnings" in answered(known, event, folder, **again)


@pytest.mark.parametrize("harm", [garbage, torn, other, older])
@pytest.mark.parametrize("event", SHOWS)
def test_a_ledger_that_cannot_be_read_is_silence_and_a_line_for_doctor(
    known: Ledger, folder: Path, harm: Callable[[str], None], event: str
) -> None:
    """Nothing is printed, the fault has a name, and the next call is as safe."""
    known.close()
    harm(known.path)
    given = payload(folder, prompt=PROMPT, agent_id="a", agent_type="Explore")

    found = [hook.run(event, {**given, "session_id": name}, PERSON, known.path, project_of) for name in ("s1", "s2")]

    assert found == ["", ""]
    (fired,) = Sessions(known.path).fired(time.time())
    assert (fired["event"], fired["failed"]) == (event, 2)
    assert fired["fault"].isidentifier()


def test_a_locked_ledger_is_waited_for_once(known: Ledger, folder: Path) -> None:
    """The first prompt waits a tenth of a second, the next ones not at all, until the rest is over; then it heals."""
    other = sqlite3.connect(known.path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    now = time.time()

    def asked(after: float) -> tuple[str, float]:
        begun = time.monotonic()
        given = payload(folder, prompt=PROMPT)
        said = hook.run("prompt", given, PERSON, known.path, project_of, lambda: now + after)
        return said, time.monotonic() - begun

    first, second = asked(0), asked(1)

    assert (first[0], second[0]) == ("", "")
    assert Sessions(known.path).breakers()[0]["name"] == "ledger"
    assert len(Sessions(known.path).fired(now)) == 1
    other.execute("ROLLBACK")
    other.close()
    assert "6543" in asked(61)[0]
    assert Sessions(known.path).breakers() == []
    assert first[1] >= 0.1 > second[1]


@pytest.mark.parametrize(
    "given",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"session_id": 5, "cwd": [], "prompt": {"a": 1}}', b"[" * 90_000],
)
def test_whatever_the_client_sends_the_script_is_silent(known: Ledger, given: bytes) -> None:
    """No output, no message, exit status 0."""
    found = ran("prompt", given, environment(Path(known.path)))

    assert found == (0, "", "")


def test_the_script_answers_as_the_function_does(known: Ledger, folder: Path) -> None:
    """A bare interpreter without site packages finds everything it needs beside itself."""
    found = ran("prompt", payload(folder, prompt=PROMPT), environment(Path(known.path)))

    assert "use port 6543 of pgcat" in found.text
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("event", ["tool", "compact", "stop", "end", "", "--help", "nonsense"])
def test_an_event_that_nobody_answers_is_silence(known: Ledger, folder: Path, event: str) -> None:
    """Hooks may be registered before what answers them is there."""
    assert ran(event, payload(folder), environment(Path(known.path))) == (0, "", "")


def test_without_a_ledger_nothing_is_made(tmp_path: Path, folder: Path) -> None:
    """No ledger, no answer, and no file beside where it would be."""
    file = tmp_path / "none" / "ledger.db"

    assert ran("prompt", payload(folder, prompt=PROMPT), environment(file)) == (0, "", "")
    assert not file.parent.exists()


def test_a_prompt_beyond_the_bound_is_cut_and_not_refused(
    known: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two megabytes the beginning is looked at; the script reads to the end, so that the client's pipe holds."""
    given = payload(folder, prompt=PROMPT + "\n" + 'é"\\\n' * 300_000)
    env = environment(Path(known.path))
    for name in ("LEARNINGS_FILE", *PERSON):
        monkeypatch.setenv(name, env[name])

    said = hook_main.answered("prompt", json.dumps(given).encode())  # without the script's limit of time

    assert "6543" in said
    found = ran("prompt", given, env)
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("more", range(12))
def test_wherever_a_text_is_cut_its_beginning_is_read(more: int) -> None:
    """In the middle of an escape, of a pair of them, after a backslash."""
    whole = json.dumps({"cwd": "/x", "prompt": 'a"\\' + "x" * more + "\U0001f600" * 90_000})

    found = hook_main.parsed(whole.encode())

    assert found["cwd"] == "/x"
    assert str(found["prompt"]).startswith('a"\\')


def test_a_pipe_that_never_ends_does_not_hold_the_script(known: Ledger) -> None:
    """Nothing comes on standard input: the script ends by its own limit and leaves a line."""
    reading, writing = os.pipe()
    try:
        begun = time.monotonic()
        done = subprocess.run(
            [PYTHON, "-I", "-S", SCRIPT, "prompt"], stdin=reading, env=environment(Path(known.path)),
            capture_output=True, timeout=20, check=False,
        )  # fmt: skip
    finally:
        os.close(reading)
        os.close(writing)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert time.monotonic() - begun < 10
    (fired,) = Sessions(known.path).fired(time.time())
    assert fired["fault"] == "TooLate"


def test_the_start_of_a_hook_loads_little() -> None:
    """An event that is answered by nothing costs no read path, and no `typing`."""
    home = str(Path(SCRIPT).parent.parent)
    code = f"import sys; sys.path.append({home!r}); import ledger.hook; print(*sys.modules)"
    done = subprocess.run([PYTHON, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    assert not {"typing", "ledger.reader", "ledger.recall", "importers"} & set(done.stdout.split())


# -- the block that is kept ready ------------------------------------------------------------------------------------


def started(known: Ledger, folder: Path, session: str, now: float | None = None, **env: str) -> str:
    """Return the block that a session begins with."""
    given = payload(folder, session_id=session, source="startup")
    said = hook.run("session-start", given, {**PERSON, **env}, known.path, project_of, lambda: now or time.time())
    return str(json.loads(said)["hookSpecificOutput"]["additionalContext"]) if said else ""


def nameless(text: str) -> str:
    """Return a block without the name of its exposure."""
    return re.sub("exp_[a-z2-7]+", "exp_", text)


@pytest.fixture
def pinned(known: Ledger) -> str:
    """Return the one learning that a person pinned."""
    found = known.reader.query("pgcat").hits[0].id
    known.pin(found)
    return found


def is_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which every opening of the whole read path is added from here on."""
    opened: list[str] = []
    whole = hook.Opened.__init__

    def noted(self: hook.Opened, path: str) -> None:
        opened.append(path)
        whole(self, path)

    monkeypatch.setattr(hook.Opened, "__init__", noted)
    return opened


def test_a_block_that_is_kept_is_the_one_that_would_be_made(
    known: Ledger, folder: Path, pinned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second session of a folder is shown the same without the read path; each has an exposure of its own."""
    first = started(known, folder, "s1")
    opened = is_read(monkeypatch)

    second = started(known, folder, "s2")

    assert opened == []
    assert first != second
    assert nameless(first) == nameless(second)
    with Exposures(known.path, known.store.ledger_id) as kept:
        one, other = kept.newest(2)
        assert kept.shown("s2") == {pinned}
    assert (one.id in second, other.id in first) == (True, True)
    assert one._replace(id="", at="", session="") == other._replace(id="", at="", session="")


@pytest.mark.parametrize("change", ["write", "branch", "day", "config"])
def test_a_block_holds_for_one_state_of_ledger_folder_and_day(
    known: Ledger, folder: Path, pinned: str, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Another event, branch, day or repository: it is made anew."""
    started(known, folder, "s1")
    opened = is_read(monkeypatch)
    now = time.time()
    if change == "write":
        known.retract(pinned, "it is wrong")
    elif change == "branch":
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
    elif change == "config":
        (folder / ".git" / "config").write_text('[remote "origin"]\nurl = https://example.org/a/b\n')
    else:
        now += DAY

    text = started(known, folder, "s2", now)

    assert len(opened) == 1
    assert ("6543" in text) is (change in ("branch", "day"))


def test_a_session_with_a_secret_for_a_name_is_remembered_without_it(known: Ledger, folder: Path, pinned: str) -> None:
    """A kept block costs no redactor, so a name that might hold a secret goes the long way."""
    secret = "gh" + "p_" + "A1b2C3d4E5" * 4
    started(known, folder, "s1")

    assert "6543" in started(known, folder, secret)

    assert secret.encode() not in Path(exposures.path_beside(known.path)).read_bytes()
    with Exposures(known.path, known.store.ledger_id) as kept:
        assert kept.shown(secret) == {pinned}


@pytest.mark.parametrize("change", ["supersede", "retract"])
def test_a_kept_block_never_shows_what_is_not_current_any_more(
    known: Ledger, folder: Path, pinned: str, change: str
) -> None:
    """The log grew, so the block does not hold: nobody has to remember to forget it."""
    assert "6543" in started(known, folder, "s1")
    assert Sessions(known.path).ready(str(folder)) is not None

    if change == "supersede":
        known.supersede(pinned, "pgcat refuses connections", "use port 7000 of pgcat", "it moved")
    else:
        known.retract(pinned, "it moved")

    assert "6543" not in started(known, folder, "s2")


def test_a_kept_block_is_for_those_who_are_served(known: Ledger, folder: Path, pinned: str) -> None:
    """Robots, and a project that is switched off, get nothing of it."""
    started(known, folder, "s1")

    assert started(known, folder, "s2", CLAUDE_CODE_ENTRYPOINT="sdk-cli") == ""
    setting(known.path, "off", '["demo"]')
    assert started(known, folder, "s3") == ""


def test_kept_blocks_can_be_destroyed(known: Ledger, folder: Path, pinned: str) -> None:
    """They hold text of learnings: whoever erases one leaves no byte of it."""
    started(known, folder, "s1")
    kept = Sessions(known.path)
    assert b"6543" in Path(kept.path).read_bytes()

    assert kept.forget_ready()

    assert b"6543" not in Path(kept.path).read_bytes()


def test_a_block_is_remembered_as_exposures_are(known: Ledger) -> None:
    """The statement that `ready` holds for want of time is that of `exposures`."""
    assert (ready.ADD_EXPOSURE, ready.EXPOSURES_FILE) == (exposures.ADD, exposures.FILE)
    assert exposures.SCHEMA == ready.EXPOSURES_SCHEMA
    assert sorted(hook.EVENTS) == sorted(hook_main.ANSWERED)


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shell(known: Ledger) -> Shell:
    """Return a folder in which the command works on the ledger."""
    made = Shell(Path(known.path).parent.parent)
    made.env.update(PERSON)
    return made


def test_the_command_answers_as_the_script_does(shell: Shell, folder: Path) -> None:
    """`learnings hook EVENT` prints the client's JSON, or nothing at all."""
    given = json.dumps(payload(folder, prompt=PROMPT)).encode()

    first, second = (shell.run("hook", "prompt", given=given) for _ in range(2))

    assert "use port 6543 of pgcat" in json.loads(first.out)["hookSpecificOutput"]["additionalContext"]
    assert second == (0, "", "")


@pytest.mark.parametrize("given", [b"", b"{", b"\xff", b"[1]"])
@pytest.mark.parametrize("event", ["prompt", "session-start", "nonsense"])
def test_the_command_is_as_silent_as_the_script(shell: Shell, given: bytes, event: str) -> None:
    """A host that sends anything else gets nothing and status 0."""
    done = shell.run("hook", event, given=given, LEARNINGS_FILE="/nowhere/ledger.db")

    assert done == (0, "", "")


LATE = """
import os, signal, sys
sys.path.append(sys.argv[1])
from ledger import hook, hook_main
run = hook.run

def late(*given, **more):
    said = run(*given, **more)
    os.write(2, said.encode())
    os.kill(os.getpid(), getattr(signal, sys.argv[3]))
    return said

hook.run = late
hook_main.main([sys.argv[2]])
"""


@pytest.mark.parametrize("number", ["SIGALRM", "SIGTERM"])
@pytest.mark.parametrize("event", ["prompt", "session-start", "subagent-start"])
def test_what_a_late_hook_would_have_shown_is_not_taken_for_shown(
    known: Ledger, folder: Path, event: str, number: str
) -> None:
    """Its own limit, or the client's, comes after the answer was found and before it is said; the next one says it."""
    given = payload(folder, prompt=PROMPT, source="startup", agent_id="a", agent_type="Explore")
    line = [PYTHON, "-I", "-S", "-c", LATE, str(Path(SCRIPT).parent.parent), event, number]
    done = subprocess.run(
        line, input=json.dumps(given).encode(), env=environment(Path(known.path)), capture_output=True, timeout=20,
        check=False,
    )  # fmt: skip

    with Exposures(known.path, known.store.ledger_id) as kept:
        assert kept.newest(9, spoke=True) == []
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"additionalContext" in done.stderr
    (fired,) = [one for one in Sessions(known.path).fired(time.time()) if one["event"] == event]
    assert fired["fault"] == "TooLate"


def test_what_was_said_in_time_is_not_taken_back(known: Ledger, folder: Path) -> None:
    """Once the answer is being written, its time no longer runs."""
    assert ran("prompt", payload(folder, prompt=PROMPT), environment(Path(known.path))).text

    with Exposures(known.path, known.store.ledger_id) as kept:
        assert len(kept.newest(9, spoke=True)) == 1


def test_the_name_of_the_exposures_file_is_the_same_everywhere() -> None:
    """Two lean modules say it without the imports of the third."""
    assert unsaid.FILE == exposures.FILE == ready.EXPOSURES_FILE
