"""Every ruling on the contradictions in FABER's documents, by its name: checked here, or by the test that is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from tests.faber_project import Faber
from tests.layouts.faber import rulings_on_files as files, rulings_on_sessions as sessions

FACES, WORDS = "tests.layouts.test_json_file", "tests.surfaces.test_faber_screens"

RULINGS: dict[str, Callable[[Faber], None] | tuple[str, ...]] = {
    "P1: both active files are read, a disagreement is told, and neither is written": files.p1,
    "P2: a run is found in all five schemes, and written where it lies": files.p2,
    "P3: every form of a run id is taken, and none leads out of the runs": files.p3,
    "P4: a damaged state is offered the newest of its backups, under all four names": files.p4,
    "P5: a backup is always made, and never from a damaged state": files.p5,
    "P6: a workflow is looked for in every place, under every form of its name": files.p6,
    "P7: with the lines that the guide advises, git sees nothing of a run": files.p7,
    "P8: a placeholder without a value leaves its artifact unresolved": files.p8,
    "S1: phases of any shape are read and never written": sessions.s1,
    "S2: a phase is named by any of its names": sessions.s2,
    "S3: a load needs three fields, a save none": files.s3,
    "S4: a state of another run is an error that tells both ids": files.s4,
    "S5: a record is one context window": sessions.s5,
    "S6: a session id of ours has a date, a time and six characters": sessions.s6,
    "S7: the record is in the history from the load on": sessions.s7,
    "S8: sessions are always counted": sessions.s8,
    "S9: the orphan of a crash is closed as interrupted, its end inferred": sessions.s9,
    "S10: a session is credited with the phases that no earlier one was": sessions.s10,
    "S11: partial is a word for people": sessions.s11,
    "S12: a record names what its session loaded": sessions.s12,
    "S13: what was loaded before a compaction is loaded again": sessions.s13,
    "S14: freshness is each artifact's own": sessions.s14,
    "S15: triggers filter automatic loads only": files.s15,
    "S16: the trigger is written as given": sessions.s16,
    "S17: the current session is null after a save": sessions.s17,
    "S18: a load searches for open runs, a save for none": files.s18,
    "S19: without a run a load fails and a save does not": files.s19,
    "S20: several active runs are listed": files.s20,
    "S21: what has ended already is not ended again": sessions.s21,
    "S22: a state is replaced whole or not at all": (
        f"{FACES}.test_s22_whoever_holds_the_lock_is_waited_for_and_named",
        "tests.crash.test_layout_files.test_a_kill_leaves_the_old_version_or_the_new_one",
    ),
    "S23: the environment is that of the machine, without git null": sessions.s23,
    "S24: an environment is only filled up": sessions.s24,
    "S25: a duration is clamped or unknown": sessions.s25,
    "S26: three reasons are taken": sessions.s26,
    "S27: a large artifact is warned of, a too large one left out or an error": files.s27,
    "S28: old names are aliases": (f"{WORDS}.test_s28_the_older_names_do_the_same",),
    "S29: artifacts of a workflow that is extended are merged by id": files.s29,
    "S30: a file of FABER's plugin that is missing is a warning": files.s30,
    "S31: a dry run decides as a load does": sessions.s31,
    "S32: without a workflow there are defaults": files.s32,
    "S33: a backup is one generation, and goes a week after its run": (
        f"{FACES}.test_s33_the_backup_is_one_generation",
        "tests.layouts.faber.test_repair.test_backups_go_a_week_after_their_run_has_ended",
    ),
    "S34: a save before compaction notes it": sessions.s34,
    "S35: a save is told in a block, or in one line": (
        f"{WORDS}.test_a_save_is_told_in_the_documents_block",
        f"{WORDS}.test_s35_a_quiet_save_is_one_line",
    ),
    "S36: a file keeps its form, and what cannot be kept is not written": sessions.s36,
    "S37: only a load and a save write the state": files.s37,
}


@pytest.mark.parametrize("name", RULINGS)
def test_a_ruling_is_kept(name: str, faber: Faber) -> None:
    check = RULINGS[name]
    if callable(check):
        check(faber)
        return
    for test in check:
        module, _, function = test.rpartition(".")
        assert callable(getattr(importlib.import_module(module), function))


def test_no_ruling_is_forgotten() -> None:
    named = [name.partition(":")[0] for name in RULINGS]
    assert named == [*(f"P{number}" for number in range(1, 9)), *(f"S{number}" for number in range(1, 38))]
