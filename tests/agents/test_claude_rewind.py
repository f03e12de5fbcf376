"""Back to a prompt of the real client: shell edits are undone, and what a person changed before the prompt stays."""

from __future__ import annotations

import pytest

import holdfast
from tests.agents.conftest import Project
from tests.agents.test_claude import bash
from tests.tools import Command

pytestmark = pytest.mark.promise(9)


def test_several_turns_and_back_to_one_of_them(project: Project) -> None:
    first = project.claude("write the first one " + bash("echo one > one.txt"))
    project.wait_for_checkpoint("one.txt")
    project.claude("now the second " + bash("echo two > two.txt; echo spoiled > one.txt"), "--resume", first.session)
    project.wait_for_checkpoint("two.txt")
    (project.directory / "mine.txt").write_text("by hand\n")
    project.claude("and the third " + bash("rm two.txt; echo three > three.txt"), "--resume", first.session)
    project.wait_for_checkpoint("three.txt")

    done = Command.run("rewind", directory=project.directory)
    assert done.code == 1
    shown = [line.split()[0] for line in done.err.splitlines() if line.startswith("  @prompt:")]
    assert shown[:2] == ["@prompt:3", "@prompt:2"]  # the scripted model may act before the first state was saved
    project.holdfast("restore", "@prompt:2")
    assert (project.directory / "one.txt").read_text() == "one\n"
    assert not (project.directory / "two.txt").exists()
    project.holdfast("undo")
    assert (project.directory / "three.txt").exists()
    assert not (project.directory / "two.txt").exists()
    with holdfast.open(project.directory) as workspace:
        listed = holdfast.checkpoints(workspace, search="second").checkpoints
        assert any("two.txt" in made.changed and (made.prompt or "").startswith("now the second") for made in listed)
