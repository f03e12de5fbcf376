"""Going on with a run: the right conversation in the right directory, and what git says about it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Ambiguous, Busy, NotFound, Refused
from holdfast.core.model import Draft, Status
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_process, a_worktree, kill
from tests.surfaces.terminal import on_a_terminal
from tests.tools import Command

UUID = "0a1b2c3d-0000-4000-8000-000000000001"


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    with holdfast.open(repository) as found:
        yield found
        assert holdfast.verify(found).problems == []


def a_conversation(workspace: Workspace, transcript: Path | None, name: str = UUID, directory: str = "") -> str:
    """A run on which one conversation took place, and ended."""
    run = holdfast.start(workspace, "Fix it").run
    body = {
        "agent_session": name,
        "transcript": str(transcript) if transcript else None,
        "environment": {"directory": directory or str(workspace.root)},
    }
    with workspace.writing(for_session=False) as journal:
        for kind, told in (
            ("session.opened", body),
            ("prompt.given", {"text": "Fix it"}),
            ("action.taken", {"text": "Bash: make"}),
            ("session.ended", {"how": "ended", "reason": "other"}),
        ):
            journal.append(run.id, Draft(kind, told, session="ses-1", agent="claude"))
    return run.id


def test_a_conversation_that_is_still_there_goes_on_where_it_took_place(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    inner = workspace.root / "src"
    inner.mkdir()
    run = a_conversation(workspace, tmp_path / "t.jsonl", directory=str(inner))
    found = holdfast.resume(workspace, run)
    assert (found.conversation, found.why_new) == (UUID, None)
    assert found.command == ["claude", "--resume", UUID]
    assert (found.directory, found.environment) == (str(inner), {"HOLDFAST_RUN": run})


def test_a_conversation_that_took_place_in_another_project_is_not_looked_for_there(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "t.jsonl").touch()
    run = a_conversation(workspace, tmp_path / "t.jsonl", directory=str(tmp_path))
    assert holdfast.resume(workspace, run).directory == str(workspace.root)


@pytest.mark.parametrize("name", [UUID, "--dangerously-skip-permissions", "a b", ""])
def test_where_the_transcript_is_gone_or_the_name_is_odd_a_new_one_begins(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    if name != UUID:
        (tmp_path / "gone.jsonl").touch()
    found = holdfast.resume(workspace, a_conversation(workspace, tmp_path / "gone.jsonl", name))
    assert (found.conversation, found.command) == (None, ["claude"])
    assert ("is gone" if name == UUID else "no conversation") in (found.why_new or "")


@pytest.mark.parametrize(
    ("restore", "goes_on"), [("conversation", True), ("both", True), ("none", False), ("code", False)]
)
def test_what_was_asked_for_comes_back(workspace: Workspace, tmp_path: Path, restore: str, goes_on: bool) -> None:
    (tmp_path / "t.jsonl").touch()
    run = a_conversation(workspace, tmp_path / "t.jsonl")
    (workspace.root / "a.txt").write_text("kept")
    holdfast.checkpoint(workspace)
    (workspace.root / "a.txt").write_text("changed")
    found = holdfast.resume(workspace, run, restore=restore)
    assert (found.conversation is not None) == goes_on
    back = restore in ("code", "both")
    assert (workspace.root / "a.txt").read_text() == ("kept" if back else "changed")
    assert (found.restored is not None) == back
    assert any("a.txt" in line for line in found.bearings.disagreements) != back, "told, unless it was brought back"
    if back:
        holdfast.undo(workspace)
        assert (workspace.root / "a.txt").read_text() == "changed"


def test_from_a_checkpoint_the_run_knows_what_it_knew_then(workspace: Workspace, tmp_path: Path) -> None:
    run = a_conversation(workspace, None)
    holdfast.decide(workspace, "Use backoff")
    (workspace.root / "a.txt").write_text("kept")
    holdfast.checkpoint(workspace)
    holdfast.decide(workspace, "Give up")
    found = holdfast.resume(workspace, run, start_from="checkpoint")
    assert [decision.text for decision in found.run.standing_decisions] == ["Use backoff"]
    holdfast.undo(workspace)
    again = holdfast.resume(workspace, run).run
    assert [decision.text for decision in again.standing_decisions] == ["Use backoff", "Give up"]


def test_fresh_means_a_new_conversation(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    run = a_conversation(workspace, tmp_path / "t.jsonl")
    assert holdfast.resume(workspace, run, start_from="fresh").conversation is None


def test_what_a_way_back_replaced_is_not_gone_on_from(workspace: Workspace) -> None:
    """The checkpoint that a rollback made of what it was about to replace is newer than the one it went to."""
    run = a_conversation(workspace, None)
    for text in ("good", "bad"):
        (workspace.root / "a.txt").write_text(text)
        holdfast.save(workspace)
    good = holdfast.checkpoints(workspace).checkpoints[1].id
    holdfast.rollback(workspace, good)
    for _ in range(2):
        (workspace.root / "a.txt").write_text("worse")
        holdfast.resume(workspace, run, restore="code")
        assert (workspace.root / "a.txt").read_text() == "good"
    (workspace.root / "a.txt").write_text("better")
    holdfast.save(workspace)
    (workspace.root / "a.txt").write_text("worse")
    holdfast.resume(workspace, run, restore="code")
    assert (workspace.root / "a.txt").read_text() == "better"


def test_without_a_checkpoint_there_is_no_code_to_bring_back(workspace: Workspace) -> None:
    run = a_conversation(workspace, None)
    with pytest.raises(NotFound, match="no checkpoint"):
        holdfast.resume(workspace, run, restore="code")


def test_a_run_at_rest_is_active_again_and_is_what_this_worktree_works_on(workspace: Workspace) -> None:
    run = a_conversation(workspace, None)
    holdfast.pause(workspace, run)
    holdfast.start(workspace, "Another thing")
    assert holdfast.resume(workspace, run).run.status is Status.ACTIVE
    found = holdfast.status(workspace).run
    assert found is not None
    assert found.id == run


def test_a_run_that_has_ended_does_not_go_on(workspace: Workspace) -> None:
    run = a_conversation(workspace, None)
    holdfast.complete(workspace, run)
    with pytest.raises(Refused):
        holdfast.resume(workspace, run)


def test_somebody_alive_is_not_pushed_aside_unless_that_is_said(workspace: Workspace) -> None:
    run = a_conversation(workspace, None)
    with a_process() as child:
        living = holdfast.join(workspace, run, pid=child.pid, agent="claude").session
        with pytest.raises(Busy, match="Another session is working"):
            holdfast.resume(workspace, run)
        assert [found.id for found in holdfast.resume(workspace, run, take_over=True).taken_from] == [living.id]


def test_a_session_that_died_is_nobody(workspace: Workspace) -> None:
    run = a_conversation(workspace, None)
    with a_process() as child:
        holdfast.join(workspace, run, pid=child.pid, agent="claude")
        kill(child)
    found = holdfast.resume(workspace, run)
    assert (found.run.status, found.last.how if found.last else None) == (Status.ACTIVE, "died")


def test_a_run_of_another_worktree_goes_on_there(workspace: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    with a_worktree(workspace, tmp_path / "other", clock) as other:
        run = holdfast.start(other, "There").run.id
    with pytest.raises(Refused, match="another worktree") as caught:
        holdfast.resume(workspace, run)
    assert f"`cd {tmp_path / 'other'}` and try again" in caught.value.hints


def test_a_dry_run_changes_nothing_and_stands_in_nobodys_way(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    run = a_conversation(workspace, tmp_path / "t.jsonl")
    (workspace.root / "a.txt").write_text("kept")
    checkpoint = holdfast.checkpoint(workspace).checkpoint.id
    (workspace.root / "a.txt").write_text("changed")
    holdfast.join(workspace, run, pid=os.getppid(), agent="claude")
    holdfast.pause(workspace, run)
    before = holdfast.show(workspace, run).run
    done = Command.run("resume", run, "--print", "--from", "checkpoint", directory=workspace.root).ok()
    assert done.out == (
        f"cd {workspace.root} && holdfast restore {checkpoint} --both && HOLDFAST_RUN={run} claude --resume {UUID}\n"
    )
    assert (workspace.root / "a.txt").read_text() == "changed"
    assert holdfast.show(workspace, run).run == before


@pytest.mark.parametrize("arguments", [(), ("--restore", "code"), ("--from", "checkpoint")])
def test_where_nobody_is_at_a_terminal_nothing_is_changed_without_a_yes(
    workspace: Workspace, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    run = a_conversation(workspace, None)
    (workspace.root / "a.txt").write_text("kept")
    holdfast.checkpoint(workspace)
    holdfast.pause(workspace, run)
    (workspace.root / "a.txt").write_text("changed")
    done = Command.run("resume", run, *arguments, directory=workspace.root)
    assert (done.code, (workspace.root / "a.txt").read_text()) == (1, "changed")
    assert "Go on with: cd " in done.err
    assert holdfast.show(workspace, run).run.status is Status.PAUSED
    Command.run("resume", run, *arguments, "--yes", directory=workspace.root).ok()
    assert (workspace.root / "a.txt").read_text() == ("kept" if arguments else "changed")
    assert holdfast.show(workspace, run).run.status is Status.ACTIVE


def test_a_run_is_named_once(workspace: Workspace) -> None:
    run = a_conversation(workspace, None)
    assert Command.run("resume", run, "--run", run, directory=workspace.root).code == 2
    assert Command.run("resume", "", directory=workspace.root).code == 10


def test_the_command_starts_the_agent_in_its_place_and_hands_it_the_run(workspace: Workspace, tmp_path: Path) -> None:
    """At a terminal, the command becomes the client: same process, same terminal, nothing in between."""
    (tmp_path / "t.jsonl").touch()
    run = a_conversation(workspace, tmp_path / "t.jsonl")
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$0 $* in $PWD for $HOLDFAST_RUN, $$" > "$SAID"\n')
    program.chmod(0o755)
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "SAID": str(tmp_path / "said")}
    pid, terminal = os.forkpty()
    if pid == 0:
        os.chdir(workspace.root)
        os.execve(sys.executable, [sys.executable, "-m", "holdfast", "resume", run], environ)
    shown = b""
    while chunk := _read(terminal):
        shown += chunk
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown.decode()
    said = (tmp_path / "said").read_text().strip()
    assert said == f"{program} --resume {UUID} in {workspace.root} for {run}, {pid}"
    assert f"Going on with {run}: Fix it" in shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is gone
        return b""


@pytest.mark.promise(19)
@pytest.mark.parametrize("name", [b"caf\xe9 it's", b"new\nline", b"a b"])
def test_a_run_goes_on_in_its_directory_whatever_that_is_called(name: bytes, tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    subprocess.run(["git", "init", "-q", "--", os.fspath(directory)], check=True)
    with holdfast.open(directory) as opened:
        a_conversation(opened, None)
    agent = tmp_path / "bin" / "claude"
    agent.parent.mkdir()
    agent.write_text("#!/bin/sh\necho gone on > here\n")
    agent.chmod(0o755)
    path = {"PATH": f"{agent.parent}:{os.environ['PATH']}"}
    assert on_a_terminal("resume", directory=directory, env=path)[0] == 0
    assert (directory / "here").read_text() == "gone on\n"
    (directory / "here").unlink()
    line = Command.run("resume", "--print", directory=directory).ok().out
    subprocess.run(["bash", "-c", line], cwd=tmp_path, env={**os.environ, **path}, check=True)
    assert (directory / "here").read_text() == "gone on\n"


def test_where_no_command_goes_on_none_is_printed(workspace: Workspace) -> None:
    """What stands there is given to a shell: `eval "$(holdfast resume --print)"`."""
    run = holdfast.start(workspace, "goal").run.id
    holdfast.join(workspace, run, agent="robot")
    done = Command.run("resume", run, "--print", "--yes", directory=workspace.root)
    assert (done.code, done.out) == (1, "")
    assert f"Going on with {run}: goal" in done.err
    assert "Nobody knows how to start this agent" in done.err


def test_who_goes_on_where_the_calls_of_init_are_gone_is_told(workspace: Workspace) -> None:
    run = a_conversation(workspace, None)
    holdfast.init(workspace, agent="claude")
    assert Command.run("resume", run, "--print", directory=workspace.root).ok().err.count("not recorded") == 0
    (workspace.root / ".claude" / "settings.local.json").unlink()
    done = Command.run("resume", run, "--print", directory=workspace.root).ok()
    assert "holdfast: Claude Code is not recorded here any more" in done.err


@pytest.mark.defect("After a crash beside a living agent, `resume` refused and proposed to fence off the healthy one.")
def test_the_interrupted_run_goes_on_beside_a_living_one(workspace: Workspace) -> None:
    with a_process() as healthy:
        crashed = holdfast.start(workspace, "crashed").run.id
        with a_process() as agent:
            holdfast.join(workspace, crashed, pid=agent.pid)
            living = holdfast.start(workspace, "healthy", pid=healthy.pid).run.id
            kill(agent)
        workspace.session = None
        assert holdfast.resume(workspace, dry_run=True).run.id == crashed
        with pytest.raises(Busy) as named:
            holdfast.resume(workspace, living)
        assert "--take-over" in named.value.hints[0]
        found = holdfast.resume(workspace, take_over=True)
        assert (found.run.id, found.run.status, found.taken_from) == (crashed, Status.ACTIVE, [])
        assert holdfast.runs(workspace, status=("interrupted",)).runs == []


def test_several_interrupted_runs_beside_a_living_one_are_listed(workspace: Workspace) -> None:
    with a_process() as healthy, a_process() as one, a_process() as other:
        runs = [holdfast.start(workspace, "crashed", pid=agent.pid).run.id for agent in (one, other)]
        holdfast.start(workspace, "healthy", pid=healthy.pid)
        workspace.session = None
        kill(one)
        kill(other)
        with pytest.raises(Ambiguous) as found:
            holdfast.resume(workspace)
    assert {name for name, _ in found.value.facts} == set(runs)


def test_a_living_run_that_was_not_named_is_not_proposed_to_be_fenced(workspace: Workspace) -> None:
    with a_process() as healthy:
        run = holdfast.start(workspace, "healthy", pid=healthy.pid).run.id
        workspace.session = None
        with pytest.raises(Busy) as found:
            holdfast.resume(workspace)
    assert "--take-over" not in " ".join(found.value.hints)
    assert f"`holdfast resume {run}`" in found.value.hints[0]
