"""A run that is purged: no byte of it is left in the store, and nothing of anybody else's is gone."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

import holdfast
from holdfast.core.errors import Busy, NotFound, Refused
from holdfast.core.model import Draft
from holdfast.maintenance import purge as purging
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from holdfast.worktree.packs import prune
from tests.canaries import hits
from tests.conftest import TickingClock
from tests.faber_project import Faber
from tests.faber_states import RUN as FABER_RUN
from tests.go_team_project import Team
from tests.hook_calls import keep_by_hand
from tests.sessions import a_process, a_worktree, run_of, with_environ
from tests.tools import Command
from tests.transcripts import Transcript, folder
from tests.worktrees import git, picture, put, take

CANARY = "zqcanary"

pytestmark = pytest.mark.promise(27)


def planted(project: Workspace) -> str:
    """A run whose every part holds a word of its own, and which was worked on for a while."""
    run = holdfast.start(project, f"{CANARY}goal").run.id
    holdfast.join(project, run, agent="robot")
    holdfast.rename(project, f"{CANARY}name")
    holdfast.tag(project, (f"{CANARY}tag",))
    holdfast.note(project, f"{CANARY}note")
    holdfast.decide(project, f"{CANARY}decision", because=f"{CANARY}because")
    holdfast.prompt(project, f"{CANARY}prompt")
    tool = {"text": f"{CANARY}action", "outcome": os.urandom(4000).hex() + f" {CANARY}output " * 200}
    notes = [Draft("note.added", {"text": f"{CANARY}{number} " + os.urandom(60).hex()}) for number in range(300)]
    with project.writing() as journal:  # pages split, and a snapshot is kept
        journal.append(run, Draft("action.taken", tool), *notes)
    put(project.root, {f"{CANARY}file": f"{CANARY}content\n" * 500, "code.py": f"# {CANARY}code\n"})
    take(project, f"{CANARY}checkpoint")
    put(project.root, {"code.py": "# harmless\n"})
    holdfast.checkpoint(project, message=f"{CANARY}message")
    holdfast.rollback(project, f"{CANARY}checkpoint")
    holdfast.undo(project)
    (project.root / f"{CANARY}file").unlink()
    keep_by_hand(project.inbox, b'{"said": "%scall"}' % CANARY.encode(), env__HOLDFAST_RUN=run)
    keep_by_hand(project.inbox, b"{broken %s" % CANARY.encode(), monotonic=2, env__HOLDFAST_RUN=run)
    holdfast.sweep(project)
    return run


def test_no_byte_of_a_purged_run_is_left(project: Workspace) -> None:
    run = planted(project)
    assert len(hits(project.place, CANARY)) > 4
    done = holdfast.delete(project, run, purge=True)
    assert (done.run, done.goal) == (run, f"{CANARY}goal")
    assert done.purge is not None
    assert (done.purge.checkpoints, done.purge.waiting, done.purge.set_aside) == (4, 0, 0)
    assert hits(project.place, CANARY) == []
    assert terms(project, CANARY) == []
    assert holdfast.verify(project, deep=True).problems == []
    assert not (project.place / tombstones.PURGING).exists()


def terms(project: Workspace, word: str) -> list[str]:
    """Words of the search index, which stores them without their beginnings."""
    connection = apsw.Connection(str(project.place / "journal.db"), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'search', 'row')")
    found = [term for (term,) in connection.execute("SELECT term FROM temp.words") if word in term]
    connection.close()
    return found


def test_what_another_run_or_commit_holds_as_well_stays(project: Workspace) -> None:
    put(project.root, {"shared": "in both\n", "committed": "in a commit\n"})
    git(project.root, "add", "committed")
    git(project.root, "commit", "-q", "-m", "one")
    other = holdfast.start(project, "other").run.id
    holdfast.note(project, "a large text " * 500)
    kept = take(project, "kept")
    before = picture(project.root)
    run = holdfast.start(project, "goal").run.id
    holdfast.note(project, "a large text " * 500)
    put(project.root, {"own": "of this run alone\n"})
    holdfast.checkpoint(project, run=run)
    (project.root / "own").unlink()
    holdfast.delete(project, run, purge=True)
    assert run_of(project, other).notes[0].text == "a large text " * 500
    put(project.root, {"shared": "changed\n"})
    holdfast.restore(project, kept.id)
    assert picture(project.root) == before
    assert holdfast.verify(project, deep=True).problems == []
    assert hits(project.place, "of this run alone") == []
    git(project.root, "fsck", "--full")


def test_states_that_a_ledger_remembers_forget_it_too(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    put(project.root, {f"{CANARY}file": "one\n"})
    made = holdfast.checkpoint(project, run=run).checkpoint
    put(project.root, {f"{CANARY}file": "two\n"})
    holdfast.restore(project, made.id, (f"{CANARY}file",))
    with project.writing() as journal:
        ledger = journal.ledger(project.worktree).id
        journal.append(ledger, *[Draft("checkpoint.pinned", {"id": made.id})] * 260)
        assert CANARY.encode() in journal.view.snapshots(ledger)[-1].state
    (project.root / f"{CANARY}file").unlink()
    holdfast.delete(project, run, purge=True)
    assert hits(project.place, CANARY) == []
    assert holdfast.verify(project, deep=True).problems == []


def test_checkpoints_of_other_worktrees_go_too(project: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    run = holdfast.start(project, "goal").run.id
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        put(linked.root, {"there": f"{CANARY}\n"})
        holdfast.checkpoint(linked, run=run)
        put(linked.root, {"there": "harmless\n"})
        mine = holdfast.checkpoint(linked, run=holdfast.start(linked, "its own").run.id).checkpoint
    holdfast.delete(project, run, purge=True)
    assert hits(project.place, CANARY) == []
    assert [made.id for made in holdfast.checkpoints(project, every=True).checkpoints] == [mine.id]


def test_copies_of_anothers_file_and_automatic_backups_go_with_their_run(faber: Faber) -> None:
    faber.put(work_id=f"{CANARY}-7")
    project = faber.workspace
    holdfast.status(project)
    assert hits(project.place, CANARY) != []
    backup = project.place / "backups" / "format-2-20260101-000000.tar.gz"
    backup.parent.mkdir()
    backup.write_text(CANARY)
    old = backup.with_name("format-1-20200101-000000.tar.gz")
    old.write_text("from before the run")
    os.utime(old, (1_500_000_000, 1_500_000_000))
    damaged = [project.place / name for name in ("aside/journal-20260101/journal.db", "aside/packs/pack-1.pack")]
    left = [project.place / name for name in ("backing-up/journal.db", "rebuilding/new/journal.db")]
    for path in (*damaged, *left):
        path.parent.mkdir(parents=True, mode=0o700)
        path.write_text(CANARY)
    os.utime(damaged[1], (1, 1))
    done = holdfast.delete(project, FABER_RUN, purge=True)
    assert done.purge is not None
    assert done.purge.copies == [str(backup), str(damaged[0].parent), str(damaged[1])]
    assert done.purge.files == [str(faber.path)], "FABER's own file is not ours to remove, and that is said"
    assert old.exists()
    old.unlink()
    assert hits(project.place, CANARY) == []
    holdfast.status(project)
    assert hits(project.place, CANARY) == [], "an unchanged file is not taken in again"


def test_a_copy_that_speaks_of_the_run_goes_though_its_date_is_from_before(project: Workspace, tmp_path: Path) -> None:
    """A clock that was set back dates a backup, and an original that was put aside, before the run that they hold."""
    other = holdfast.start(project, "another").run.id
    early = tmp_path / "early.tar.gz"
    holdfast.backup(project, str(early))
    run = planted(project)
    late = tmp_path / "late.tar.gz"
    holdfast.backup(project, str(late))
    backups, damaged = project.place / "backups", project.place / "aside/journal-20200101"
    backups.mkdir(mode=0o700)
    damaged.mkdir(parents=True, mode=0o700)
    copies = [backups / f"replaced-20200101-00000{number}-{number}.tar.gz" for number in range(3)]
    broken = late.read_bytes()[:-500]
    for path, data in zip(copies, (early.read_bytes(), late.read_bytes(), broken), strict=True):
        path.write_bytes(data)
    (damaged / "journal.db").write_bytes((project.place / "journal.db").read_bytes())
    (damaged / "journal.db-wal").write_bytes((project.place / "journal.db-wal").read_bytes())
    for path in (*copies, damaged):
        os.utime(path, (1_500_000_000, 1_500_000_000))
    done = holdfast.delete(project, run, purge=True)
    assert done.purge is not None
    assert done.purge.copies == [str(copies[1]), str(copies[2]), str(damaged)]
    assert hits(project.place, CANARY) == []
    holdfast.restore_backup(project, str(copies[0]))
    assert [row.id for row in holdfast.runs(project).runs] == [other], "what speaks of others alone is left, and whole"


@pytest.mark.promise(11)
def test_checkpoints_of_other_runs_stay_though_the_ref_that_names_them_was_lost(project: Workspace) -> None:
    holdfast.start(project, "another")
    put(project.root, {"a.txt": "of another\n"})
    kept = take(project)
    run = planted(project)
    (project.root / ".git/refs/holdfast/main").unlink()
    holdfast.delete(project, run, purge=True)
    holdfast.repair(project)
    put(project.root, {"a.txt": "spoiled\n"})
    holdfast.restore(project, kept.id)
    assert (project.root / "a.txt").read_text() == "of another\n"
    assert hits(project.place, CANARY) == []


def test_session_file_of_an_orchestrator_goes_with_its_run(project: Workspace) -> None:
    run = holdfast.start(project, CANARY, layout="orchestrator").run.id
    file = project.root / ".claude/orchestrator-session.json"
    assert CANARY in file.read_text()
    holdfast.delete(project, run, purge=True)
    assert not file.exists()
    holdfast.status(project)
    assert holdfast.runs(project).runs == []
    assert hits(project.place, CANARY) == []


def test_files_of_a_go_team_run_go_with_it_and_bring_nothing_back(project: Workspace) -> None:
    team = Team(project)
    mine = team.begin("mine").id
    run = team.begin(CANARY).id
    team.work("init")
    holdfast.note(project, f"{CANARY}note")
    state = team.directory(run) / "state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"theirs": f"{CANARY}theirs"}))
    holdfast.status(project)
    registry = team.root / "sessions.json"
    registry.write_text("{torn")
    holdfast.repair(project)
    theirs = team.directory(run) / "notes.txt"
    theirs.write_text("not ours")
    assert len(team.points(run)) == 1
    assert hits(project.place, f"{CANARY}theirs") != []
    done = holdfast.delete(project, run, purge=True)
    assert done.purge is not None
    assert done.purge.files == [str(theirs.parent)]
    assert list(theirs.parent.iterdir()) == [theirs]
    assert [entry["id"] for entry in team.registry()["sessions"]] == [mine]
    assert CANARY not in registry.read_text()
    registry.unlink()
    holdfast.status(project)
    assert hits(project.place, CANARY) == []
    assert [found.id for found in holdfast.runs(project).runs] == [mine]


def test_registry_that_somebody_changed_is_still_heard_after_a_purge(project: Workspace) -> None:
    team = Team(project)
    mine, run = team.begin("mine").id, team.begin(CANARY).id
    registry = team.root / "sessions.json"
    told = team.registry()
    told["sessions"] = [entry | {"topic": "renamed"} if entry["id"] == mine else entry for entry in told["sessions"]]
    with project.writing(for_session=False) as journal:
        plan = purging.begin(project, journal, journal.get_run(run))
    registry.write_text(json.dumps(told))
    purging.finish(project, plan)
    assert hits(project.place, CANARY) == []
    assert [entry["topic"] for entry in team.registry()["sessions"]] == ["renamed"]
    holdfast.status(project)
    assert run_of(project, mine).title == "renamed"


def test_purge_that_is_finished_in_another_worktree_removes_nothing_of_that(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    run = holdfast.start(project, CANARY, layout="orchestrator").run.id
    with project.writing(for_session=False) as journal:
        plan = purging.begin(project, journal, journal.get_run(run))
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        holdfast.start(linked, "mine", layout="orchestrator")
        purging.finish(linked, plan)
        assert "mine" in (linked.root / ".claude/orchestrator-session.json").read_text()


def test_transcripts_that_came_along_go_too(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    carried = project.place / "carried" / run / "c1.jsonl"
    carried.parent.mkdir(parents=True)
    carried.write_text(CANARY)
    holdfast.delete(project, run, purge=True)
    assert hits(project.place, CANARY) == []


def test_calls_that_cannot_be_read_and_name_nobody_are_counted(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    keep_by_hand(project.inbox, b"{broken", monotonic=3)
    done = holdfast.delete(project, run, purge=True)
    assert done.purge is not None
    assert done.purge.set_aside == 1


def test_what_a_kill_left_in_the_store_goes_when_nobody_writes_it_any_more(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    young, old = (project.place / f".listed.json.{digits * 6}" for digits in ("aa", "bb"))
    for path in (young, old):
        path.write_text(CANARY)
    os.utime(old, (time.time() - 3600, time.time() - 3600))
    holdfast.delete(project, run, purge=True)
    assert (young.exists(), old.exists()) == (True, False)
    young.unlink()


def pack_begun(project: Workspace, digits: str) -> Path:
    """A pack that somebody has begun to write, as a checkpoint does it."""
    path = project.root / ".git" / "objects" / "pack" / f"tmp_holdfast_{digits * 6}"
    path.write_text(CANARY)
    return path


def test_a_pack_that_was_begun_before_a_kill_goes_with_the_run(project: Workspace) -> None:
    run = planted(project)
    begun = [pack_begun(project, "aa"), pack_begun(project, "bb")]
    begun[1] = begun[1].rename(begun[1].with_name(".pack-1.keep.bbbbbbbbbbbb"))
    holdfast.delete(project, run, purge=True)
    assert [path.exists() for path in begun] == [False, False]


@pytest.mark.promise(11, 12)
def test_a_pack_of_a_checkpoint_that_is_made_meanwhile_stays(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once packs are pruned, whoever waited for that writes his own."""
    run = planted(project)
    begun: list[Path] = []

    def prune_then_write(*arguments: Any) -> prune.Pruned:
        result = prune.prune(*arguments)
        begun.append(pack_begun(project, "aa"))
        return result

    monkeypatch.setattr(purging, "prune", prune_then_write)
    holdfast.delete(project, run, purge=True)
    assert [path.exists() for path in begun] == [True]
    begun[0].unlink()


@pytest.mark.promise(11)
def test_run_on_which_somebody_works_is_not_purged(project: Workspace) -> None:
    with a_process() as child:
        run = holdfast.start(project, "goal", pid=child.pid).run.id
        with pytest.raises(Busy):
            holdfast.delete(project, run, purge=True)
    assert not (project.place / tombstones.PURGING).exists()


def test_purge_that_was_broken_off_is_told_of_and_finished(project: Workspace, cli: Callable[..., Command]) -> None:
    run = planted(project)
    with project.reading() as journal:
        plan = purging.plan_purge(project, journal, journal.get_run(run))
    (project.place / tombstones.PURGING).write_bytes(msgspec.json.encode(plan))
    with project.writing() as writing:
        purging._forget(writing, plan)  # as far as the commit, and then nothing
    finish = f"`holdfast delete {run} --purge --yes` finishes it"
    assert finish in cli("status").err
    assert finish in cli("verify").err
    assert any(finish in warning for warning in cli("status", "--json").json["warnings"])
    with pytest.raises(NotFound):
        holdfast.delete(project, "run-0000000000", purge=True)  # another one is asked for, and this one finished
    assert hits(project.place, CANARY) == []
    assert cli("status").ok().err == ""


def test_purge_that_was_killed_before_its_commit_takes_nothing_away_later(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    with project.reading() as journal:
        plan = purging.plan_purge(project, journal, journal.get_run(run))
    (project.place / tombstones.PURGING).write_bytes(msgspec.json.encode(plan))
    holdfast.note(project, "and then it went on", run=run)
    other = holdfast.start(project, "other").run.id
    holdfast.delete(project, other, purge=True)
    assert run_of(project, run).notes[0].text == "and then it went on"
    assert not (project.place / tombstones.PURGING).exists()


def test_nothing_is_purged_while_holdfast_is_off(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    holdfast.off(project)
    with pytest.raises(Refused):
        holdfast.delete(project, run, purge=True)
    holdfast.on(project)
    assert not (project.place / tombstones.PURGING).exists()
    assert run_of(project, run).goal == "goal"


def test_number_that_a_later_checkpoint_took_is_left_alone(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    put(project.root, {"code": f"{CANARY}\n"})
    first = holdfast.checkpoint(project, run=run).checkpoint
    with project.reading() as journal:
        plan = purging.plan_purge(project, journal, journal.get_run(run))
    (project.place / tombstones.PURGING).write_bytes(msgspec.json.encode(plan))
    with project.writing() as writing:
        purging._forget(writing, plan)
    put(project.root, {"code": "later\n"})
    later = take(project)
    assert later.number == first.number
    done = holdfast.delete(project, run, purge=True)
    assert (done.run, done.events) == (run, 0)
    put(project.root, {"code": "changed\n"})
    holdfast.restore(project, later.id)
    assert (project.root / "code").read_text() == "later\n"
    assert hits(project.place, CANARY) == []


def test_pack_that_git_has_just_relied_on_waits_and_the_purge_stays_open(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    put(project.root, {"shared": "also committed\n", "own": f"{CANARY}\n"})
    holdfast.checkpoint(project, run=run)
    git(project.root, "add", "shared")  # git does not write it again, and renews the date of our pack
    (project.root / "own").unlink()
    done = holdfast.delete(project, run, purge=True)
    assert done.purge is not None
    assert done.purge.waiting == 1
    assert (project.place / tombstones.PURGING).exists()
    for pack in (project.root / ".git/objects/pack").glob("*.pack"):
        os.utime(pack, (time.time() - 7200, time.time() - 7200))
    again = holdfast.delete(project, run, purge=True)
    assert again.purge is not None
    assert again.purge.waiting == 0
    assert hits(project.place, CANARY) == []
    git(project.root, "commit", "-q", "-m", "it is still there")
    git(project.root, "fsck", "--full")


def test_reader_that_stays_keeps_the_purge_open(project: Workspace) -> None:
    run = planted(project)
    quick = with_environ(project, HOLDFAST_STORE_DEADLINE="0.2")
    reader = apsw.Connection(str(project.place / "journal.db"), flags=apsw.SQLITE_OPEN_READWRITE)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchall()
    with quick, pytest.raises(Busy):
        holdfast.delete(quick, run, purge=True)
    reader.close()
    assert (project.place / tombstones.PURGING).exists()
    holdfast.delete(project, run, purge=True)
    assert hits(project.place, CANARY) == []


@pytest.mark.parametrize("purge", [False, True])
def test_conversation_whose_run_was_deleted_comes_back_only_by_its_name(
    project: Workspace, home: Path, purge: bool
) -> None:
    told = Transcript(str(project.root), "9f1c2d3e-4b5a")
    told.prompt(f"Fix {CANARY}")
    path = told.write(folder(home, project.root) / "9f1c2d3e-4b5a.jsonl")
    (run,) = holdfast.import_claude(project).runs
    holdfast.delete(project, run, purge=purge)
    (skipped,) = holdfast.import_claude(project, every=True).skipped
    assert (skipped.file, skipped.reason) == (str(path), "its run was deleted; name the file to bring it back")
    assert holdfast.runs(project).runs == []
    assert not purge or hits(project.place, CANARY) + hits(project.place, "9f1c2d3e-4b5a") == []
    assert len(holdfast.import_claude(project, [str(path)]).runs) == 1


def test_words_for_people_say_what_went_and_what_stays(project: Workspace, cli: Callable[..., Command]) -> None:
    run = planted(project)
    asked = cli("delete", run, "--purge")
    assert asked.code == 1
    assert "--purge --yes" in asked.err
    done = cli("delete", run, "--purge", "--yes").ok()
    assert done.out == f"{run}\n"
    assert "Purged, with 4 checkpoints; gave back 0.0 MB\n" in done.err
    assert subprocess.run(["git", "fsck"], cwd=project.root, check=False, capture_output=True).returncode == 0
