"""What `init` writes, the real Claude Code runs, and `doctor` can tell when it does not."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Check
from tests.agents.conftest import Project
from tests.house.tree import ROOT


class WithDoor(Project):
    """The same project, whose client finds `holdfast-hook` on its PATH."""

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "PATH": f"{self.home}/bin:{super().env['PATH']}"}


def examine(project: Project) -> dict[str, Check]:
    environ = {**project.env, "PATH": f"{project.program.parent}:{project.env['PATH']}"}
    with holdfast.open(project.directory, environ=environ) as workspace:
        return {check.name: check for check in holdfast.doctor(workspace).checks}


def states(project: Project) -> dict[str, str]:
    return {name: check.state for name, check in examine(project).items()}


def settings(project: Project) -> Path:
    return project.directory / ".claude" / "settings.local.json"


def test_after_one_turn_the_doctor_finds_all_well(project: Project) -> None:
    assert states(project)["calls"] == "warning"
    project.claude("say it @@say done")
    found = states(project)
    assert {name for name, state in found.items() if state != "ok"} == set()
    assert {"store", "local settings", "interpreter", "trust", "client", "calls"} <= set(found)


def test_in_a_linked_worktree_the_client_reads_the_local_settings_of_the_main_one(project: Project) -> None:
    linked = project.add_worktree("linked")
    project.claude("said once @@say done", directory=linked)
    project.holdfast("uninit", directory=linked)
    project.claude("said without settings of its own @@say done", directory=linked)
    shutil.rmtree(project.directory / ".claude")
    project.claude("said unheard @@say done", directory=linked)
    (run,) = project.runs()
    prompts = [event.body["text"] for event in project.log(run.id) if event.kind == "prompt.given"]
    assert [text.partition(" @@")[0] for text in prompts] == ["said once", "said without settings of its own"]
    assert "is not recorded here any more" in project.holdfast("status", directory=linked).err


def test_committed_calls_reach_us_through_the_path(project: Project) -> None:
    project.holdfast("uninit")
    project.holdfast("init", "--scope", "project")
    door = project.home / "bin" / "holdfast-hook"
    door.parent.mkdir()
    door.write_text((ROOT / "scripts" / "holdfast-hook").read_text().replace("#!python", f"#!{sys.executable}"))
    door.chmod(0o755)
    done = WithDoor(**vars(project)).claude("say it @@say done")
    (run,) = project.runs()
    assert run.goal.startswith("say it")
    assert [session.agent_session for session in project.sessions()] == [done.session]


def test_committed_calls_disturb_nobody_who_does_not_have_us(project: Project) -> None:
    project.holdfast("uninit")
    project.holdfast("init", "--scope", "project")
    assert project.claude("say it @@say done").text == "done"
    assert project.runs() == []


@pytest.mark.parametrize("switch", [True, False], ids=["switched-off", "on"])
def test_client_that_works_without_calling_us_is_a_dead_recorder(project: Project, switch: bool) -> None:
    known = json.loads(settings(project).read_bytes())
    settings(project).write_text(json.dumps({**known, "disableAllHooks": switch}))
    os.utime(settings(project), (time.time() - 1000,) * 2)
    project.claude("say it @@say done")
    found = states(project)
    assert (found["switches"], found["calls"]) == (("broken", "broken") if switch else ("ok", "ok"))
