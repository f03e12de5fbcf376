"""Two at work in one worktree: what the other one, who is alive, has changed is not overwritten unasked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Busy
from holdfast.core.model import Reason
from holdfast.project.checkpoints.conflicts import describe_clashes
from holdfast.project.checkpoints.create import keep_if_changed
from holdfast.project.workspace import Workspace
from tests.sessions import as_session, kill
from tests.tools import Command
from tests.worktrees import commit, put

pytestmark = pytest.mark.promise(9)

HELD: dict[str, str | bytes] = {"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n"}


def command(line: str) -> str:
    return f"'{sys.executable}' -m holdfast {line} >/dev/null 2>&1"


class Shell:
    """Another process that works in the project, as an agent does: it lives on between its commands."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process = subprocess.Popen(["sh"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def do(self, line: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}; echo done $?\n".encode())
        self.process.stdin.flush()
        for said in self.process.stdout:
            if said.startswith(b"done"):
                assert said == b"done 0\n", line
                return

    def holdfast(self, line: str) -> None:
        self.do(command(line))

    def take_up_work(self, workspace: Workspace) -> str:
        found = holdfast.start(workspace, "theirs", pid=self.process.pid)
        assert found.session is not None
        self.do(f"export HOLDFAST_SESSION={found.session.id}")
        return found.session.id


@contextmanager
def a_shell(root: Path) -> Iterator[Shell]:
    shell = Shell(root)
    with shell.process:
        try:
            yield shell
        finally:
            shell.process.kill()


@pytest.fixture
def held(repository: Path) -> Iterator[Workspace]:
    """A project whose clock is the real one, for the dates of files count here."""
    with holdfast.open(repository) as workspace:
        holdfast.init(workspace)
        put(repository, HELD)
        commit(repository)
        yield workspace
        assert holdfast.verify(workspace).problems == []


def refused(workspace: Workspace, checkpoint: str) -> set[tuple[str, str]]:
    """Who is in the way of going back, and with which files."""
    with pytest.raises(Busy) as found:
        holdfast.restore(workspace, checkpoint)
    return set(found.value.facts)


def test_what_the_events_of_a_living_session_name_is_not_overwritten(held: Workspace) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as other:
        theirs = other.take_up_work(held)
        other.do("echo theirs > a.txt")
        other.holdfast("action edited --file a.txt")
        put(held.root, {"b.txt": "mine"})
        assert refused(held, made) == {(theirs, "a.txt")}
        done = Command.run("restore", made, "--yes", directory=held.root)
        assert (done.code, theirs in done.err, "a.txt" in done.err) == (11, True, True)
        assert (held.root / "a.txt").read_text() == "theirs\n"
        holdfast.restore(held, made, ("b.txt",))
        assert (held.root / "b.txt").read_text() == "two\n"
        kill(other.process)
    holdfast.restore(held, made)
    assert (held.root / "a.txt").read_text() == "one\n"


def test_what_a_living_session_changed_through_bash_and_kept_is_not_overwritten(held: Workspace) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as other:
        theirs = other.take_up_work(held)
        other.do("echo theirs > a.txt && rm b.txt && echo new > new.txt")
        other.holdfast("checkpoint")
        put(held.root, {"c.txt": "mine, and nobody has kept it"})
        assert refused(held, made) == {(theirs, name) for name in ("a.txt", "b.txt", "new.txt")}
        holdfast.restore(held, made, force=True)
        holdfast.undo(held)
        assert (held.root / "a.txt").read_text() == "theirs\n"


def test_what_a_living_session_changed_before_its_compaction_is_not_overwritten(held: Workspace) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as other:
        theirs = other.take_up_work(held)
        other.do("echo theirs > a.txt")
        keep_if_changed(held, Reason.BEFORE_COMPACTION)
        assert refused(held, made) == {(theirs, "a.txt")}


@pytest.mark.defect("`restore --dry-run` named one protected file where the refusal named two.")
def test_a_dry_run_names_the_same_files_as_the_refusal(held: Workspace) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as other, a_shell(held.root) as third:
        theirs, its = other.take_up_work(held), third.take_up_work(held)
        other.do("echo theirs > a.txt && echo theirs > b.txt")
        other.holdfast("action edited --file a.txt --file b.txt")
        third.do("echo its > c.txt")
        third.holdfast("action edited --file c.txt")
        assert refused(held, made) == {(theirs, "a.txt"), (theirs, "b.txt"), (its, "c.txt")}
        assert describe_clashes(holdfast.restore(held, made, dry_run=True).clashes) == [
            f"{theirs} is alive and has changed a.txt, b.txt: without `--force` this is refused",
            f"{its} is alive and has changed c.txt: without `--force` this is refused",
        ]


@pytest.mark.defect("`restore --dry-run --json` said nothing of the refusal that the text named.")
def test_a_dry_run_tells_the_refusal_in_json_and_in_words(held: Workspace) -> None:
    run = holdfast.start(held, "go back").run.id
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as other:
        theirs = other.take_up_work(held)
        other.do("echo theirs > a.txt")
        other.holdfast("action edited --file a.txt")
        put(held.root, {"b.txt": "mine"})
        for words in (("restore", made), ("rollback", made, "--run", run)):
            told = Command.run(*words, "--dry-run", directory=held.root).ok().err
            assert f"{theirs} is alive and has changed a.txt: without `--force` this is refused" in told
            found = Command.run(*words, "--dry-run", "--json", directory=held.root).ok().json
            assert found["clashes"] == {"a.txt": theirs}
            forced = Command.run(*words, "--dry-run", "--force", "--json", directory=held.root).ok().json
            assert forced["clashes"] == {}


def test_what_our_own_events_name_is_ours_though_another_kept_it(held: Workspace) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as me, a_shell(held.root) as other:
        mine, theirs = me.take_up_work(held), other.take_up_work(held)
        me.do("echo mine > a.txt")
        me.holdfast("action edited --file a.txt")
        other.do("echo theirs > b.txt")
        other.holdfast("checkpoint")
        assert refused(as_session(held, mine), made) == {(theirs, "b.txt")}


def test_what_was_changed_before_our_session_began_is_not_ours(held: Workspace) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as other, a_shell(held.root) as me:
        theirs = other.take_up_work(held)
        other.do("echo theirs > a.txt")
        other.holdfast("status")  # takes longer than the dates of files are behind the clock
        mine = me.take_up_work(held)
        me.do("echo mine > b.txt")
        assert refused(as_session(held, mine), made) == {(theirs, "a.txt")}


def test_a_session_that_started_us_is_not_another(held: Workspace) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as me:
        me.take_up_work(held)
        me.do("echo mine > a.txt")
        me.holdfast("action edited --file a.txt")
        me.do("unset HOLDFAST_SESSION")
        me.do(f'sh -c "{command(f"restore {made} --yes")}; exit \\$?"')
    assert (held.root / "a.txt").read_text() == "one\n"


def test_a_session_in_another_worktree_is_in_nobodys_way(held: Workspace, tmp_path: Path) -> None:
    made = holdfast.checkpoint(held).checkpoint.id
    subprocess.run(["git", "-C", str(held.root), "worktree", "add", "-q", str(tmp_path / "linked")], check=True)
    with a_shell(tmp_path / "linked") as other, holdfast.open(tmp_path / "linked") as linked:
        other.take_up_work(linked)
        other.do("echo theirs > a.txt")
        other.holdfast("action edited --file a.txt")
        put(held.root, {"a.txt": "mine"})
        holdfast.restore(held, made)
    assert (held.root / "a.txt").read_text() == "one\n"
    assert (tmp_path / "linked/a.txt").read_text() == "theirs\n"


def test_a_session_that_has_done_nothing_is_in_nobodys_way(held: Workspace) -> None:
    """What was kept for its run before it came is not its own."""
    with a_shell(held.root) as me, a_shell(held.root) as idle:
        mine = me.take_up_work(held)
        with holdfast.open(held.root) as workspace:
            run = holdfast.runs(workspace).runs[0].id
            made = holdfast.checkpoint(workspace).checkpoint.id
        me.do("echo mine > a.txt")
        me.holdfast("action edited --file a.txt")
        me.holdfast("checkpoint")
        held.session = None
        holdfast.join(held, run, pid=idle.process.pid)
        held.session = mine
        holdfast.restore(held, made)
    assert (held.root / "a.txt").read_text() == "one\n"


def test_what_a_living_session_went_back_to_and_kept_is_not_overwritten(held: Workspace) -> None:
    """The look after its restore was taken for a checkpoint, and the next one counted nothing."""
    put(held.root, {"a.txt": "two\n"})
    made = holdfast.checkpoint(held).checkpoint.id
    with a_shell(held.root) as other:
        theirs = other.take_up_work(held)
        other.do("echo theirs > a.txt")
        other.holdfast("checkpoint")
        other.holdfast(f"restore {made} --yes --force")
        other.holdfast("undo")
        other.holdfast("checkpoint")
        planned = holdfast.restore(held, made, dry_run=True)
        assert (planned.paths, planned.clashes) == (["a.txt"], {"a.txt": theirs})
        assert refused(held, made) == {(theirs, "a.txt")}
