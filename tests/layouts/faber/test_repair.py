"""A state file that is damaged or was turned back: what is left of it is offered, and nothing goes without a word."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WorkflowError
from holdfast.ingest.open import open_workspace
from holdfast.layouts.faber.screens import Reloaded, SessionSaved, report
from tests.faber_project import STATE, Faber
from tests.faber_states import ACTIVE, RUN, a_state, put, with_a_session


def test_a_damaged_state_is_found_by_verify_which_says_what_to_do(faber: Faber) -> None:
    faber.put()
    faber.load()
    assert holdfast.verify(faber.workspace).faces == []
    faber.path.write_text("{ half a")
    (found,) = holdfast.verify(faber.workspace).faces
    assert found.where == STATE
    assert f"`holdfast repair {RUN}`" in found.what
    holdfast.repair(faber.workspace, RUN)
    assert holdfast.verify(faber.workspace).faces == []


def test_a_damaged_state_is_put_back_from_the_store(faber: Faber) -> None:
    faber.put()
    faber.load()
    good = faber.path.read_bytes()
    faber.path.write_text("{ half a")
    found = holdfast.repair(faber.workspace, RUN)
    assert (found.changed, found.source, faber.path.read_bytes()) == (True, "the store", good)
    assert found.aside is not None
    assert (faber.root / found.aside).read_text() == "{ half a"
    assert found.lost == []


@pytest.mark.parametrize(
    "name", ["state.json.backup", "state.backup.json", "state.json.bak", "backups/state_20260107_160000.json"]
)
def test_every_name_of_a_backup_is_known(faber: Faber, name: str) -> None:
    good = faber.put()
    place = str((faber.path.parent / name).relative_to(faber.root))
    put(faber.root, place, good.decode())
    faber.path.write_text("")
    found = holdfast.repair(faber.workspace, RUN)
    assert (found.source, faber.path.read_bytes()) == (place, good)


def test_of_two_copies_of_one_second_the_one_that_was_written_is_taken(faber: Faber) -> None:
    faber.put()
    faber.load()
    faber.save()
    good = faber.path.read_bytes()
    before = json.loads((faber.root / f"{STATE}.backup").read_bytes())
    put(faber.root, f"{STATE}.backup", {**before, "updated_at": faber.state["updated_at"]})
    faber.path.write_text("")
    found = holdfast.repair(faber.workspace, RUN)
    assert (found.source, faber.path.read_bytes()) == ("the store", good)


def test_a_backup_of_another_run_is_not_taken(faber: Faber) -> None:
    good = faber.put().decode()
    put(faber.root, f"{STATE}.backup", good.replace(RUN, "another-run"))
    faber.path.write_text("")
    with pytest.raises(NotFound, match="No good copy is left"):
        holdfast.repair(faber.workspace, RUN)
    assert faber.path.read_text() == ""


def test_what_the_copy_does_not_know_is_told(faber: Faber) -> None:
    faber.put(current_phase="architect", current_step="design")
    faber.load()
    faber.put({**faber.state, "current_phase": "build", "current_step": "implement"})
    holdfast.status(faber.workspace)
    shutil.rmtree(faber.workspace.place / "faces")
    faber.path.write_text("{")
    found = holdfast.repair(faber.workspace)
    assert found.source == f"{STATE}.backup"
    assert found.lost[-2:] == ["phase build: it says architect", "step implement: it says design"]


def test_a_state_that_is_whole_is_left_alone(faber: Faber) -> None:
    good = faber.put()
    found = holdfast.repair(faber.workspace, RUN)
    assert (found.changed, found.source, faber.path.read_bytes()) == (False, None, good)


def turned_back(faber: Faber) -> bytes:
    """An old version of the state, put back as `git pull` would."""
    old = faber.put()
    faber.load()
    faber.save()
    faber.path.write_bytes(old)
    return old


def test_a_state_that_was_turned_back_is_not_written_and_the_ways_out_are_told(faber: Faber) -> None:
    old = turned_back(faber)
    found = faber.load()
    assert not found.written
    assert any("turned back" in warning for warning in found.warnings)
    assert faber.path.read_bytes() == old


@pytest.mark.defect("a load that could not write the state file reported a session that exists nowhere")
@pytest.mark.parametrize("flaw", [False, True])
def test_a_load_that_writes_nothing_reports_no_session(faber: Faber, flaw: bool) -> None:
    if flaw:
        faber.put(f'{{"x": NaN, {json.dumps(with_a_session())[1:]}')
    else:
        turned_back(faber)
    before = faber.path.read_bytes()
    for _ in range(2):
        found = faber.load()
        assert (found.session.id, found.session.is_new, found.session.total) == (None, False, int(flaw))
        assert (found.reloads, found.last_reload) == ((1, "2026-01-07T15:59:46Z") if flaw else (0, None))
        assert "  Current session: none: the state file is not written" in report(found)
    assert faber.path.read_bytes() == before


def test_a_save_into_a_state_that_was_turned_back_is_refused(faber: Faber) -> None:
    old = turned_back(faber)
    state = {**faber.state, "sessions": {"current_session_id": "x", "session_history": [{"session_id": "x"}]}}
    faber.put(state)
    with pytest.raises(WorkflowError, match="turned back"):
        faber.save()
    assert faber.state == state
    assert faber.path.read_bytes() != old


def test_a_state_that_was_turned_back_is_put_back_with_its_records(faber: Faber) -> None:
    turned_back(faber)
    found = holdfast.repair(faber.workspace)
    assert (found.source, len(faber.records)) == ("the store", 1)
    assert faber.load().written


def test_a_state_that_was_turned_back_can_be_kept(faber: Faber) -> None:
    old = turned_back(faber)
    found = holdfast.repair(faber.workspace, keep=True)
    assert (found.changed, found.source, faber.path.read_bytes()) == (True, None, old)
    assert faber.load().written
    assert len(faber.records) == 1


def test_a_file_that_cannot_be_read_cannot_be_kept(faber: Faber) -> None:
    faber.put()
    holdfast.status(faber.workspace)
    faber.path.write_text("{")
    with pytest.raises(Refused, match="cannot be kept"):
        holdfast.repair(faber.workspace, RUN, keep=True)


def test_a_damaged_state_is_told_of_by_every_command_until_it_is_repaired(faber: Faber) -> None:
    faber.put()
    holdfast.status(faber.workspace)
    faber.path.write_text("{")
    for _ in range(2):
        faber.workspace.warnings.clear()
        holdfast.status(faber.workspace)
        assert [warning for warning in faber.workspace.warnings if "cannot be read" in warning]
    holdfast.repair(faber.workspace)
    faber.workspace.warnings.clear()
    holdfast.status(faber.workspace)
    assert faber.workspace.warnings == []


def test_a_state_that_is_gone_is_put_back(faber: Faber) -> None:
    faber.put()
    faber.load()
    good = faber.path.read_bytes()
    faber.path.unlink()
    found = holdfast.repair(faber.workspace, RUN)
    assert (found.aside, faber.path.read_bytes()) == (None, good)


def test_a_project_without_a_store_has_the_backups_beside_the_file(repository: Path) -> None:
    """`session-load` works without a store, and its error names `repair`."""
    good = put(repository, STATE, a_state()).read_bytes()
    put(repository, ACTIVE, RUN)
    with open_workspace(repository) as bare:
        assert isinstance(holdfast.session_load(bare), Reloaded)
        (repository / STATE).write_text("{")
        found = holdfast.repair(bare)
        assert (found.source, (repository / STATE).read_bytes()) == (f"{STATE}.backup", good)
        assert isinstance(holdfast.save(bare), SessionSaved)
        assert not bare.exists


def test_a_run_of_our_own_has_nothing_to_repair(faber: Faber) -> None:
    run = holdfast.start(faber.workspace, "mine").run.id
    found = holdfast.repair(faber.workspace, run)
    assert (found.path, found.changed) == (None, False)


@pytest.mark.parametrize(("days", "gone"), [(6, False), (8, True)])
def test_backups_go_a_week_after_their_run_has_ended(faber: Faber, days: int, gone: bool) -> None:
    faber.put()
    faber.load()
    faber.save()
    faber.put({**faber.state, "status": "completed"})
    holdfast.checkpoint(faber.workspace)
    faber.clock.time += timedelta(days=days)
    assert holdfast.tidy(faber.workspace, dry_run=True).backups == ([f"{STATE}.backup"] if gone else [])
    assert faber.backup.exists()
    holdfast.tidy(faber.workspace)
    assert faber.backup.exists() is not gone


@pytest.mark.parametrize("before", ["", "\ufeff", '{"odd": NaN, '], ids=["whole", "marked", "with a flaw"])
def test_a_backup_in_any_form_tells_that_the_state_was_turned_back(faber: Faber, before: str) -> None:
    old = faber.put()
    backup = json.dumps({"run_id": RUN, "sessions": {"session_history": [{"session_id": "a-lost-one"}]}})
    put(faber.root, f"{STATE}.backup", before + (backup[1:] if "odd" in before else backup))
    found = faber.load()
    assert (found.written, faber.path.read_bytes()) == (False, old)
    assert any("a-lost-one" in warning for warning in found.warnings)
