"""Coverage of the Go Team specification: each ruling and each pitfall has a test with its name."""

from __future__ import annotations

import functools
import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
NAME = re.compile(r"^def (test_\w+)", re.MULTILINE)
NUMBER = re.compile(r"_g(\d+)(?=_)")
RULINGS = {
    1: "a rollback does not destroy the checkpoints, and nothing in git changes",
    2: "uncommitted work is kept before anything is restored",
    3: "a checkpoint is found by its full name, a short one, or its step's number",
    4: "which checkpoint a recovery goes to",
    5: "recovery.json is built at the next start where a crash wrote none",
    6: "the registry is a list on disk, and looked up by id",
    7: "six statuses, of which three cannot be resumed",
    8: "an active session is resumable only where nobody alive has it",
    9: "Ctrl-C pauses, a crash interrupts",
    10: "five triggers of a save",
    11: "the current line is optional",
    12: "a live state that is older than its checkpoint",
    13: "what is recommended stands in both places, the same",
    14: "a fresh start is the third option",
    15: "what a rollback refuses",
    16: "a checksum of the document without it; a wrong one is unverified",
    17: "three histories of rollbacks",
    18: "metrics and iterations under both names",
    19: "the ids of sessions",
    20: "exact id, row of the list, unique ending",
    21: "progress counts steps with a valid checkpoint, rounded down",
    22: "where the files are",
    23: "an error does not fail the run",
    24: "what a cleanup takes",
    25: "steps between the nine",
    26: "two names of the last step",
    27: "the reason of an interruption",
    28: "no branch is made; a foreign checkpoint is restored through its commit's tree",
    29: "the session block of the live state",
    30: "auto-resume mirrors its setting",
    31: "pause, Ctrl-C and the discovery of a dead run take a checkpoint first",
}
TRAPS = (
    "kill_between_temp_write_and_rename",
    "registry_lost",
    "state_json_tmp_left_behind",
    "two_processes_on_one_session",
    "rollback_with_dirty_tree",
    "rollback_with_detached_head",
    "rollback_with_missing_commit",
    "rollback_with_branch_deleted",
    "rollback_in_a_repo_without_commits",
    "corrupted_cp_in_the_middle",
    "invalidated_cp_chosen_again",
)


@functools.cache
def names() -> list[str]:
    return [name for path in TESTS.rglob("test_*.py") for name in NAME.findall(path.read_text("utf-8"))]


def test_every_ruling_has_a_test_with_its_number_and_every_number_a_ruling() -> None:
    assert {int(number) for name in names() for number in NUMBER.findall(name)} == set(RULINGS)


def test_every_trap_has_a_test_with_its_name() -> None:
    assert [trap for trap in TRAPS if not any(name.startswith(f"test_trap_{trap}") for name in names())] == []
