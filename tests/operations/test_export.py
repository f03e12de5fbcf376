"""A run in one file: carried to another store it is the same run, and what it meets there is never overwritten."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies

import holdfast
from holdfast.core.errors import Damaged, NotFound, Refused
from holdfast.core.model import Run
from holdfast.core.text import visible
from holdfast.operations.import_run import RunImported
from holdfast.project.runs import tombstones
from holdfast.project.transfer import bundle
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_process, kinds_of, run_of, store_raw, stored_events
from tests.tools import Command
from tests.transcripts import Transcript, folder
from tests.worktrees import picture, put, take

SECRET = "ghp_" + "a1B2" * 9


@contextmanager
def another(directory: Path, clock: TickingClock, *options: str) -> Iterator[Workspace]:
    """Another repository with a store of its own, which must be whole in the end."""
    if not directory.exists():
        subprocess.run(["git", "init", "-q", *options, str(directory)], check=True)
    with holdfast.open(directory, clock=clock) as workspace:
        yield workspace
        if workspace.exists:
            assert holdfast.verify(workspace, deep=True).problems == []


def filled(project: Workspace) -> str:
    """A run with large and small values, a session, a forgotten event, a way back, and checkpoints."""
    run = holdfast.start(project, "goal", agent="robot").run.id
    session = holdfast.join(project, agent="robot").session.id
    holdfast.decide(project, "a large text " * 500, because="it is")
    holdfast.note(project, "not for everybody")
    holdfast.forget(project, str(run_of(project).seq))
    put(project.root, {"src/a.py": "one\n", "data": bytes(range(256)) * 40, "never-committed": "mine\n"})
    (project.root / "tool").write_text("#!/bin/sh\n")
    (project.root / "tool").chmod(0o750)
    (project.root / "link").symlink_to("data")
    (project.root / "hollow").mkdir()
    take(project, "first")
    put(project.root, {"src/a.py": "two\n"})
    holdfast.add_task(project, "a task")
    take(project)
    holdfast.leave(project, session)
    return run


def raw(project: Workspace, run: str, file: Path) -> Path:
    holdfast.export(project, run, file, raw=True)
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.holdfast"


def test_run_that_is_carried_to_another_store_is_the_same(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    before = {one.name or "": (one, picture(project.root)) for one in holdfast.checkpoints(project).checkpoints}
    told = holdfast.export(project, run, file, raw=True)
    assert (told.events, told.checkpoints, told.left_out, told.redacted) == (run_of(project, run).seq, 2, 0, {})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with another(tmp_path / "other", clock) as other:
        found = holdfast.import_run(other, file)
        assert (found.run, found.outcome, found.added, found.checkpoints) == (run, "new", told.events, 2)
        assert run_of(other, run) == run_of(project, run)
        assert holdfast.log(other, run=run).events == holdfast.log(project, run=run).events
        for name, (made, _) in before.items():
            holdfast.restore(other, made.id)
            holdfast.restore(project, made.id)
            assert picture(other.root) == picture(project.root), name


def test_run_that_is_imported_twice_is_one_run(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    raw(project, run, file)
    assert holdfast.import_run(project, file).outcome == "known"
    with another(tmp_path / "other", clock) as other:
        holdfast.import_run(other, file)
        events = run_of(other, run).seq
        again = holdfast.import_run(other, file)
        assert (again.outcome, again.added, again.checkpoints, again.events) == ("known", 0, 0, events)
        assert len(holdfast.runs(other).runs) == 1


def test_newer_copy_extends_and_an_older_one_changes_nothing(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    raw(project, run, file)
    older = shutil.copy(file, tmp_path / "older")
    holdfast.note(project, "later", run=run)
    take(project, "third")
    raw(project, run, file)
    with another(tmp_path / "other", clock) as other:
        holdfast.import_run(other, older)
        newer = holdfast.import_run(other, file)
        assert (newer.outcome, newer.added, newer.checkpoints) == ("extended", 1, 1)
        assert run_of(other, run) == run_of(project, run)
        assert [event.id for event in holdfast.log(other, run=run).events] == [
            event.id for event in holdfast.log(project, run=run).events
        ]
        assert holdfast.import_run(other, older).outcome == "known"


def test_run_that_went_on_in_both_places_comes_home_as_a_fork(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    shared = run_of(project, run).seq
    raw(project, run, file)
    holdfast.note(project, "here", run=run)
    with another(tmp_path / "other", clock) as other:
        holdfast.import_run(other, file)
        holdfast.note(other, "there", run=run)
        put(other.root, {"src/a.py": "three\n"})
        take(other, "there")
        raw(other, run, file)
    mine = run_of(project, run)
    found = holdfast.import_run(project, file)
    assert (found.outcome, found.forked_from, found.forked_at) == ("forked", run, shared)
    assert run_of(project, run) == mine
    fork = run_of(project, found.run)
    assert (fork.forked_from, fork.forked_at, fork.notes[-1].text) == (run, shared, "there")
    assert [made.name for made in holdfast.checkpoints(project, every=True).checkpoints if made.run == fork.id] == [
        "there"
    ]
    again = holdfast.import_run(project, file)
    assert (again.run, again.outcome, len(holdfast.runs(project).runs)) == (fork.id, "known", 2)


def test_code_comes_along_also_where_somebody_goes_on_with_the_run_while_it_is_taken_in(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    raw(project, run, file)
    with another(tmp_path / "other", clock) as other:
        holdfast.import_run(other, file)
        holdfast.note(other, "there", run=run)
        put(other.root, {"src/a.py": "three\n"})
        take(other, "there")
        raw(other, run, file)

    def go_on(what: str, done: int, total: int) -> None:
        if (what, done) == ("importing code", 1):
            with holdfast.open(project.root, clock=clock) as colleague:
                holdfast.note(colleague, "here", run=run)

    with holdfast.open(project.root, clock=clock, progress=go_on) as workspace:
        found = holdfast.import_run(workspace, file)
    assert (found.outcome, found.forked_from, found.checkpoints) == ("forked", run, 1)
    made = holdfast.checkpoints(project, every=True).checkpoints
    assert [each.name for each in made if each.run == found.run] == ["there"]


def test_nobody_is_told_that_there_is_nothing_new_where_code_came_along(
    project: Workspace, file: Path, tmp_path: Path, cli: Callable[..., Command]
) -> None:
    run = filled(project)
    subprocess.run(["git", "init", "-q", str(tmp_path / "other")], check=True)
    for options in (("--without-code",), ()):
        cli("export", run, str(file), *options).ok()
        done = cli("import", str(file), directory=tmp_path / "other").ok()
    assert f"{run} has all its events already: goal\n2 checkpoints came along" in done.err


def test_fork_is_shown_as_one(project: Workspace, file: Path, cli: Callable[..., object]) -> None:
    run = holdfast.start(project, "goal").run.id
    raw(project, run, file)
    fork = diverged(project, run, file)
    shown = str(cli("show", fork.run).out)  # type: ignore[attr-defined]
    assert f"forked     from {run} after event 1\n" in shown


def diverged(project: Workspace, run: str, file: Path) -> RunImported:
    """Import a copy that went another way than the run here."""
    elsewhere = file.with_name("elsewhere")
    subprocess.run(["git", "init", "-q", str(elsewhere)], check=True)
    with holdfast.open(elsewhere, clock=project.clock) as other:
        holdfast.import_run(other, file)
        holdfast.note(other, "there", run=run)
        raw(other, run, file)
    holdfast.note(project, "here", run=run)
    return holdfast.import_run(project, file)


def test_fork_that_grows_is_extended_and_one_that_parts_again_is_a_fork_of_its_own(
    project: Workspace, file: Path
) -> None:
    run = holdfast.start(project, "goal").run.id
    raw(project, run, file)
    fork = diverged(project, run, file)
    with holdfast.open(file.with_name("elsewhere"), clock=project.clock) as other:
        holdfast.note(other, "still there", run=run)
        raw(other, run, file)
    grown = holdfast.import_run(project, file)
    assert (grown.run, grown.outcome, grown.added, grown.forked_from) == (fork.run, "extended", 1, run)
    holdfast.note(project, "here on the fork", run=fork.run)
    with holdfast.open(file.with_name("elsewhere"), clock=project.clock) as other:
        holdfast.note(other, "and again", run=run)
        raw(other, run, file)
    parted = holdfast.import_run(project, file)
    assert (parted.outcome, parted.forked_from, parted.forked_at) == ("forked", fork.run, grown.events)
    assert len(holdfast.runs(project).runs) == 3


def test_sessions_of_an_imported_run_have_no_process_and_refuse_nobody(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    with a_process() as child, another(tmp_path / "other", clock) as other:
        run = holdfast.start(project, "goal", pid=child.pid).run.id
        raw(project, run, file)
        holdfast.import_run(other, file)
        (session,) = holdfast.sessions(other, run=run).sessions
        assert (session.process, session.transcript, session.is_open) == (None, None, True)
        assert session.environment is not None
        holdfast.join(other, run)
        assert holdfast.delete(other, run).run == run


def test_deleted_run_comes_back_by_an_import_that_names_it(project: Workspace, file: Path) -> None:
    run = filled(project)
    raw(project, run, file)
    before = run_of(project, run)
    holdfast.delete(project, run)
    assert holdfast.import_run(project, file).outcome == "new"
    assert run_of(project, run) == before


@pytest.mark.promise(26)
def test_secrets_and_code_stay_at_home_unless_they_are_asked_for(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = holdfast.start(project, "goal").run.id
    put(project.root, {"code": f"{SECRET}\n"})
    take(project, f"with {SECRET}")
    store_raw(project, run, "goal.changed", {"goal": f"use {SECRET}"})
    store_raw(project, run, "prompt.given", {"text": f"a long prompt {'x' * 2000} {SECRET}"})
    told = holdfast.export(project, run, file, without_code=True)
    assert (told.redacted, told.checkpoints, told.left_out, told.raw) == ({"token": 2}, 0, 1, False)
    with another(tmp_path / "other", clock) as other:
        assert holdfast.import_run(other, file).redacted
        assert run_of(other, run).goal == "use [redacted token]"
        assert SECRET not in run_of(other, run).prompts[-1].text
        assert holdfast.checkpoints(other).checkpoints == []
    told = holdfast.export(project, run, file)
    assert (told.redacted, told.checkpoints) == ({"token": 2}, 1)
    with another(tmp_path / "third", clock) as third:
        holdfast.import_run(third, file)
        (made,) = holdfast.checkpoints(third).checkpoints
        holdfast.restore(third, made.id)
        assert made.name == "with [redacted token]"
        assert (third.root / "code").read_text() == f"{SECRET}\n"


@pytest.mark.promise(26)
def test_no_secret_is_in_any_part_of_what_is_exported(
    project: Workspace, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state says once more what the events say; it must not say what they leave out."""
    monkeypatch.setenv("MY_TOKEN", "only-known-from-here")
    (project.root / ".env").write_text("DB_PASSWORD='or from the file'\n")
    holdfast.start(project, f"use {SECRET}, only-known-from-here and or from the file")
    holdfast.note(project, f"{SECRET} only-known-from-here or from the file")
    with holdfast.open(project.root) as workspace:
        run = run_of(workspace).id
        assert holdfast.export(workspace, run, file).redacted == {}  # they were hidden when they were stored
    with bundle.opened(file, 1 << 30) as parts:
        text = b"".join(data for part in parts.manifest.parts for data in parts.read(part.name)).decode()
    assert "[redacted token]" in text
    assert [word for word in (SECRET, "only-known-from-here", "or from the file") if word in text] == []


def test_what_was_forgotten_does_not_travel(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    raw(project, run, file)
    with another(tmp_path / "other", clock) as other:
        holdfast.import_run(other, file)
        assert "not for everybody" not in str(stored_events(other, run))
        assert "not for everybody" in str(stored_events(project, run)), "at home it is only hidden"


@pytest.fixture
def talked(project: Workspace, home: Path) -> tuple[str, Path]:
    """A run of a conversation, and the client's own record of that."""
    told = Transcript(str(project.root), "9f1c2d3e")
    told.prompt(f"Fix it with {SECRET}")
    told.say("It is fixed")
    told.lines.append(f"half a line with {SECRET}".encode())
    path = told.write(folder(home, project.root) / "9f1c2d3e.jsonl")
    return holdfast.import_claude(project).runs[0], path


@pytest.mark.promise(26)
@pytest.mark.parametrize("is_raw", [False, True])
def test_transcripts_go_along_where_they_are_asked_for(
    project: Workspace, talked: tuple[str, Path], file: Path, tmp_path: Path, clock: TickingClock, is_raw: bool
) -> None:
    run = talked[0]
    assert holdfast.export(project, run, file, raw=is_raw).transcripts == 0
    told = holdfast.export(project, run, file, raw=is_raw, transcripts=True)
    assert (told.transcripts, told.skipped) == (1, [])
    with another(tmp_path / "other", clock) as other:
        (kept,) = holdfast.import_run(other, file).transcripts
        assert Path(kept).parent == other.place / "carried" / run
        assert stat.S_IMODE(os.stat(kept).st_mode) == 0o600
        lines = Path(kept).read_text().splitlines()
        assert [json.loads(line)["type"] for line in lines[:2]] == ["user", "assistant"]
        assert (SECRET in lines[0], SECRET in lines[2]) == (False, False), "also the raw ones are not stored"
        assert holdfast.import_run(other, file).transcripts == [kept]


def test_transcripts_of_subagents_go_with_that_of_their_conversation(
    project: Workspace, talked: tuple[str, Path], file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run, path = talked
    told = Transcript(str(project.root), "9f1c2d3e")
    told.prompt(f"Look for {SECRET}", isSidechain=True)
    below = path.with_suffix("") / "subagents"
    told.write(below / "agent-a1.jsonl")
    (tmp_path / "secret.jsonl").write_text('{"type": "user"}\n')
    (below / "agent-b2.jsonl").symlink_to(tmp_path / "secret.jsonl")
    done = holdfast.export(project, run, file, transcripts=True)
    assert (done.transcripts, done.skipped) == (2, [str(below / "agent-b2.jsonl")])
    with another(tmp_path / "other", clock) as other:
        kept = [Path(name) for name in holdfast.import_run(other, file).transcripts]
        assert [each.name for each in kept] == ["9f1c2d3e.jsonl", "9f1c2d3e.agent-a1.jsonl"]
        assert "Look for [redacted token]" in kept[1].read_text()


@pytest.mark.promise(20)
def test_transcript_of_another_project_stays_at_home(
    project: Workspace, talked: tuple[str, Path], home: Path, file: Path, tmp_path: Path
) -> None:
    """Whoever forges a hook's call can name any conversation of the user's."""
    run, path = talked
    other = tmp_path / "other"
    other.mkdir()
    told = Transcript(str(other), "9f1c2d3e")
    told.prompt("what nobody else may know")
    told.write(path)
    done = holdfast.export(project, run, file, transcripts=True)
    assert (done.transcripts, done.skipped) == (0, [str(path)])


def test_transcript_that_is_not_the_clients_own_is_not_read(
    project: Workspace, talked: tuple[str, Path], file: Path, tmp_path: Path
) -> None:
    run, path = talked
    (tmp_path / "secret.jsonl").write_bytes(path.read_bytes())  # of this project, by what it says
    path.unlink()
    path.symlink_to(tmp_path / "secret.jsonl")
    told = holdfast.export(project, run, file, transcripts=True)
    assert (told.transcripts, told.skipped) == (0, [str(path)])
    path.unlink()
    os.mkfifo(path)
    assert holdfast.export(project, run, file, transcripts=True).skipped == [str(path)]


def test_only_a_whole_export_counts_as_one(project: Workspace, file: Path) -> None:
    run = holdfast.start(project, "goal").run.id
    store_raw(project, run, "goal.changed", {"goal": f"use {SECRET}"})
    holdfast.export(project, run, file)
    assert tombstones.find_exported(project.place, run) is None
    raw(project, run, file)
    told = tombstones.find_exported(project.place, run)
    assert told is not None
    assert (told.seq, told.run) == (2, run)
    assert tombstones.list_exported(project.place) == [run]


def test_run_of_another_system_shows_in_no_file_here(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = holdfast.start(project, "goal", layout="orchestrator").run.id
    raw(project, run, file)
    with another(tmp_path / "other", clock) as other:
        mine = holdfast.start(other, "mine", layout="orchestrator").run.id
        holdfast.import_run(other, file)
        holdfast.abort(other, mine)
        holdfast.status(other)
        shown = [path.name for path in other.root.glob(".claude/**/*.json")]
        assert shown == [f"{mine}.json"], "it would be shown as the next session"
        holdfast.switch(other, run)
        assert (other.root / ".claude/orchestrator-session.json").exists()


def test_code_that_is_named_otherwise_stays_out_and_that_is_said(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    raw(project, run, file)
    with another(tmp_path / "other", clock, "--object-format=sha256") as other:
        found = holdfast.import_run(other, file)
        assert (found.outcome, found.checkpoints, found.left_out) == ("new", 0, 2)
        assert any("sha1" in warning for warning in other.warnings)


def test_project_without_a_repository_takes_part(
    project: Workspace, file: Path, tmp_path: Path, clock: TickingClock
) -> None:
    run = filled(project)
    raw(project, run, file)
    (tmp_path / "bare").mkdir()
    with another(tmp_path / "bare", clock) as other:
        assert holdfast.import_run(other, file).checkpoints == 2
        raw(other, run, file)
    assert holdfast.import_run(project, file).outcome == "known"


def test_only_an_export_is_replaced(project: Workspace, file: Path) -> None:
    run = holdfast.start(project, "goal").run.id
    raw(project, run, file)
    raw(project, run, file)
    file.write_text("something of mine")
    for place in (file, file.parent):
        with pytest.raises(Refused, match="another file at this path"):
            raw(project, run, place)
    assert file.read_text() == "something of mine"
    with pytest.raises(NotFound):
        holdfast.import_run(project, file.with_name("nowhere"))
    with pytest.raises(Damaged):
        holdfast.import_run(project, file)


def test_run_that_is_damaged_at_home_is_not_exported(project: Workspace, file: Path) -> None:
    run = holdfast.start(project, "goal").run.id
    put(project.root, {"code": "x"})
    take(project)
    packs, away = project.root / ".git/objects/pack", file.with_name("away")
    packs.rename(away)
    with pytest.raises(Damaged, match="is missing"), holdfast.open(project.root) as again:
        raw(again, run, file)
    assert not file.exists()
    shutil.rmtree(packs, ignore_errors=True)
    away.rename(packs)


TEXTS = strategies.text(max_size=30)
DOINGS = strategies.lists(
    strategies.one_of(
        strategies.tuples(strategies.just("note"), TEXTS.filter(lambda text: visible(text).strip())),
        strategies.tuples(strategies.just("large"), strategies.integers(0, 3)),
        strategies.tuples(strategies.just("file"), strategies.binary(max_size=200)),
        strategies.tuples(strategies.just("mode"), strategies.sampled_from([0o600, 0o644, 0o755, 0o711])),
        strategies.tuples(strategies.just("checkpoint"), strategies.none()),
        strategies.tuples(strategies.just("forget"), strategies.none()),
        strategies.tuples(strategies.just("rollback"), strategies.none()),
        strategies.tuples(strategies.just("session"), strategies.none()),
    ),
    max_size=12,
)


def do(project: Workspace, run: str, what: str, value: object) -> None:
    path = project.root / "file"
    if what == "note":
        holdfast.note(project, str(value), run=run)
    elif what == "large":
        holdfast.decide(project, f"{value} " * 1000, run=run)
    elif what == "file":
        path.write_bytes(bytes(value))  # type: ignore[call-overload]
    elif what == "mode" and path.exists():
        path.chmod(int(str(value)))
    elif what == "checkpoint":
        holdfast.checkpoint(project, run=run)
    elif what == "forget" and (notes := run_of(project, run).notes):
        events = holdfast.log(project, run=run).events
        said = [event.seq for event in events if event.kind == "note.added" and event.body.get("entry") == notes[-1].id]
        holdfast.forget(project, str(said[-1]), run=run)
    elif what == "rollback" and (made := holdfast.checkpoints(project).checkpoints):
        holdfast.rollback(project, made[-1].id)
    elif what == "session":
        holdfast.join(project, run)


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(DOINGS)
def test_whatever_happened_to_a_run_it_is_the_same_elsewhere(
    tmp_path_factory: pytest.TempPathFactory, doings: list[tuple[str, object]]
) -> None:
    clock, base = TickingClock(), tmp_path_factory.mktemp("round")
    with another(base / "one", clock) as one, another(base / "two", clock) as two:
        run = holdfast.start(one, "goal").run.id
        for what, value in doings:
            do(one, run, what, value)
        raw(one, run, base / "file")
        holdfast.import_run(two, base / "file")
        assert run_of(two, run) == run_of(one, run)
        assert kinds_of(two, run) == kinds_of(one, run)
        for made in [made for made in holdfast.checkpoints(one).checkpoints if made.run == run]:
            holdfast.restore(one, made.id)
            holdfast.restore(two, made.id)
            assert picture(two.root) == picture(one.root)
        assert isinstance(run_of(two, run), Run)
