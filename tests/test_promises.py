"""What is promised, and the tests that prove it.

README promises only what stands here with tests, and names as coming what stands
here as coming. A promise may be both: proven as far as the program goes, with a
part that comes with a later command.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).resolve().parent
README = TESTS.parent / "README.md"


class Promise(NamedTuple):
    """What is promised, the tests that prove it (`module::test`), and what of it is still to come, with what."""

    says: str
    tests: tuple[str, ...] = ()
    coming: str = ""


PROMISES = {
    "P1": Promise(
        "an acknowledged append survives the death of any process",
        (
            "test_crash::test_an_append_can_be_killed_anywhere",
            "test_crash::test_making_a_ledger_can_be_killed_anywhere",
            "test_sqlite_file::test_an_append_killed_before_its_anchor_leaves_a_log_that_is_ahead",
            "test_sqlite_place::test_a_full_disk_loses_nothing_that_was_acknowledged",
            "test_reader::test_the_journal_of_a_killed_writer_is_rolled_back_by_the_next_reader",
            "storage_contract::test_processes_that_write_at_once_make_one_chain",
        ),
    ),
    "P2": Promise(
        "no row of the log is ever changed or removed, and the database refuses it; erasing is the one exception",
        (
            "storage_contract::test_the_database_refuses",
            "storage_contract::test_the_next_event_is_what_may_be_inserted",
            "storage_contract::test_an_erasure_destroys_the_text_it_names_and_keeps_the_chain",
            "storage_contract::test_an_erasure_opens_nothing_but_what_it_names",
            "test_storage_sqlite::test_sqlite_refuses",
            "test_storage_postgres::test_postgres_refuses",
            "test_storage_postgres::test_the_role_of_the_program_can_only_append",
            "test_erase::test_an_erased_learning_leaves_an_envelope_and_a_log_that_verifies",
            "test_erase::test_only_a_person_at_the_command_line_erases",
        ),
    ),
    "P3": Promise(
        "tampering is named by verify",
        (
            "storage_contract::test_a_flipped_bit_is_found_in_every_column",
            "storage_contract::test_what_is_taken_out_is_found",
            "storage_contract::test_a_text_that_outlives_its_erasure_is_found",
            "test_tamper::test_a_flipped_bit_in_any_stored_column_is_named",
            "test_sqlite_file::test_verify_names_an_older_copy_of_the_file",
            "test_cli_refusals::test_a_damaged_log_does_not_verify",
        ),
    ),
    "P4": Promise(
        "a rebuild equals what was there",
        (
            "test_histories::test_any_history_rebuilds_follows_and_verifies",
            "test_crash::test_a_rebuild_can_be_killed_anywhere",
        ),
    ),
    "P5": Promise(
        "every event can be undone, and the undo undone, except payload.erased, head.accepted and batch.started",
        (
            "test_kinds::test_a_kind_changes_what_a_view_shows_and_undo_restores_it",
            "test_histories::test_undoing_an_undo_is_as_if_nothing_had_been",
            "test_ledger::test_what_later_events_build_upon_is_named_and_cascade_takes_it_along",
            "test_ledger::test_a_redo_whose_ground_has_gone_names_what_to_redo_first",
        ),
    ),
    "P6": Promise(
        "what is superseded, retracted, undone, quarantined, a candidate or erased is served only when asked for",
        (
            "test_cli::test_words_of_the_old_text_lead_to_the_new_learning",
            "test_ledger::test_a_rejected_candidate_is_never_served",
            "test_ledger::test_an_agents_supersede_of_a_persons_learning_waits",
            "test_mcp::test_a_retracted_learning_is_no_longer_served",
            "test_ingest::test_a_note_that_gives_orders_is_withheld_and_its_neighbours_are_not",
            "test_withheld::test_a_read_shows_the_twin_and_nothing_withheld",
            "test_withheld::test_a_tool_shows_the_twin_and_nothing_withheld",
            "test_withheld::test_the_past_does_not_serve_what_is_withheld_today",
        ),
    ),
    "P7": Promise(
        "known kinds of secrets are masked before anything is written; when that cannot run, nothing is stored",
        (
            "test_ledger::test_a_secret_is_masked_in_every_field",
            "test_ledger::test_nothing_is_stored_when_the_redactor_fails",
            "test_ingest::test_a_token_in_a_note_reaches_no_file",
            "test_mcp::test_secrets_are_masked_before_they_are_stored",
        ),
    ),
    "P8": Promise(
        "what is shown is cleaned of what a terminal or a model would obey unseen, and labelled as data",
        (
            "test_frame::test_what_cannot_be_seen_or_would_be_fetched_is_taken_out",
            "test_cli::test_what_a_terminal_obeys_is_never_printed",
            "test_mcp::test_stored_text_is_shown_without_what_hides_in_it",
            "test_mcp_faults::test_no_text_of_a_learning_leaves_through_an_error",
            "test_frame_block::test_any_text_stays_inside_its_frame",
            "test_frame_block::test_links_are_code_and_images_are_gone",
            "test_invariants::test_a_frame_keeps_every_invariant",
            "test_invariants::test_every_hostile_learning_is_recalled_within_its_frame",
            "test_invariants::test_fields_of_a_tools_answer_hide_and_fetch_nothing",
        ),
    ),
    "P9": Promise(
        "bad input is named with file and line, and its neighbours are imported",
        (
            "test_importers_files::test_hostile_files_cost_a_diagnostic_each_and_none_of_their_neighbours",
            "test_importers_files::test_bytes_that_are_no_text_are_named_with_their_line",
            "test_importers_notes::test_no_mutation_of_a_good_note_raises",
            "test_cli_import::test_remarks_on_notes_name_file_and_line_once_a_kind",
            "test_cli_refusals::test_a_wrong_argument_is_named_with_what_would_be_right",
        ),
    ),
    "P10": Promise(
        "the hook never delays or breaks a prompt",
        (
            "test_hook::test_a_ledger_that_cannot_be_read_is_silence_and_a_line_for_doctor",
            "test_hook::test_a_locked_ledger_is_waited_for_once",
            "test_hook::test_a_pipe_that_never_ends_does_not_hold_the_script",
            "test_hook::test_whatever_the_client_sends_the_script_is_silent",
            "test_recall_tool::test_what_hangs_is_answered_in_time_and_left_alone",
            "test_recall_tool::test_whatever_becomes_of_the_ledger_a_prompt_is_answered_by_nothing",
        ),
    ),
    "P11": Promise(
        "importing again adds nothing, and what a person took back stays back",
        (
            "test_plan::test_a_second_scan_of_the_same_files_plans_nothing",
            "test_plan::test_what_a_person_took_back_stays_back_while_the_file_says_it",
            "test_ingest::test_an_import_records_every_note_once",
            "test_ingest::test_what_a_person_retracted_stays_back_through_rescan_rename_and_copy",
            "test_ingest::test_an_undone_import_stays_undone",
            "test_other_memories::test_what_a_person_undid_of_a_lineage_stays_undone",
            "test_other_memories::test_imports_in_any_order_and_repeated_end_alike",
            "test_ledger::test_an_agent_does_not_bring_back_what_a_person_took_back",
            "test_sessions_in::test_again_a_fork_and_a_resumed_copy_add_nothing",
            "test_sessions_in::test_what_a_person_undid_stays_undone",
        ),
    ),
    "P12": Promise("what was shown to an agent can be explained later, exactly", coming="recall in the prompt"),
    "P13": Promise("nothing believed outlives its refutation", coming="checking of claims"),
    "P14": Promise(
        "what a person says is current at once, and no import replaces it",
        (
            "test_ledger::test_the_same_text_from_a_person_supersedes_the_agents",
            "test_ledger::test_a_person_who_says_what_a_candidate_says_accepts_it",
            "test_ingest::test_a_persons_correction_is_not_replaced_by_a_later_edit",
            "test_review_load::test_nothing_that_a_person_said_waits",
            "test_review_load::test_an_edit_by_hand_of_a_note_is_served_at_once",
            "test_trust_adversary::test_no_lower_act_changes_a_more_trusted_learning",
            "test_sessions_in::test_what_a_person_said_is_current_at_once",
            "test_sessions_in::test_a_later_contrary_statement_supersedes",
            "test_sessions_in::test_a_file_that_is_gone_takes_nothing_back",
            "test_labelled_sessions::test_what_is_found_is_right_and_most_of_it_is_found",
        ),
    ),
}

ROW = re.compile(r"^\| (P\d+) \|", re.MULTILINE)
COMING = re.compile(r"^- (P\d+): ", re.MULTILINE)
"""How README names a promise that is kept, and one that is coming."""


def names_in(module: str) -> set[str]:
    """Return the names of the tests in a file, as they are written there; none when there is no such file."""
    path = TESTS / f"{module}.py"
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def readme_faults() -> list[str]:
    """Return where README promises what is not proven here, or is silent about what is (`docs/check.py` asks too)."""
    text = README.read_text("utf-8")
    kept, coming = set(ROW.findall(text)), set(COMING.findall(text))
    proven = {name for name, promise in PROMISES.items() if promise.tests}
    open_ends = {name for name, promise in PROMISES.items() if promise.coming}
    return [
        *(f"README.md promises {name}, which no test proves" for name in sorted(kept - proven)),
        *(f"README.md does not promise {name}, which is proven" for name in sorted(proven - kept)),
        *(f"README.md does not say that of {name} something is to come" for name in sorted(open_ends - coming)),
        *(f"README.md says that {name} is to come, which it is not" for name in sorted(coming - open_ends)),
    ]


@pytest.mark.parametrize("name", PROMISES)
def test_a_promise_has_tests_or_the_name_of_what_brings_it(name: str) -> None:
    """Every test that is named exists; without tests there is something to wait for."""
    promise = PROMISES[name]

    missing = [test for test in promise.tests if test.partition("::")[2] not in names_in(test.partition("::")[0])]

    assert not missing
    assert promise.tests or promise.coming


def test_the_promises_are_numbered_from_1_to_14() -> None:
    """None is dropped in silence."""
    assert list(PROMISES) == [f"P{number}" for number in range(1, 15)]


def test_readme_promises_what_is_proven() -> None:
    """It names each kept promise in its table, and each open end as coming."""
    assert readme_faults() == []
