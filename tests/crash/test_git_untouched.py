"""Promise 10 for every verb that changes something: in a repository, it leaves all of `.git` alone that is not ours.

With every change each verb is run once; `-m long` kills it at every call. Checkpoints and the ways back, which work
with git's objects, are in `test_checkpoints.py`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.crash import cases, more_cases
from tests.crash.cases import CASES, Case, an_empty_project
from tests.crash.checkpoint_cases import Tree, differing, git, git_of
from tests.crash.modes import KILLS, each_tier
from tests.crash.more_cases import MORE
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome

pytestmark = pytest.mark.promise(10)
BY_NAME = pytest.mark.parametrize("case", [*CASES, *MORE], ids=lambda case: case.name.replace(" ", "-"))


def a_repository(directory: Path) -> None:
    """With a commit, something staged, something stashed, a branch and a hook."""
    an_empty_project(directory)
    root = directory / "project"
    git(directory, "init", "-q")
    (root / "file").write_text("first\n")
    git(directory, "add", "file")
    git(directory, "commit", "-q", "-m", "first")
    git(directory, "branch", "other")
    (root / "file").write_text("stashed\n")
    git(directory, "stash", "push", "-q")
    (root / "file").write_text("staged\n")
    git(directory, "add", "file")
    (root / ".git/hooks").mkdir(exist_ok=True)
    (root / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a case begins with an empty project, it begins with this one."""
    for module in (cases, more_cases):
        monkeypatch.setattr(module, "an_empty_project", a_repository)


def prepare(case: Case, directory: Path) -> Tree:
    (a_repository if case.prepare is an_empty_project else case.prepare)(directory)
    return git_of(directory)


@BY_NAME
def test_a_verb_leaves_all_of_git_alone_that_is_not_ours(case: Case, tmp_path: Path) -> None:
    before = prepare(case, tmp_path)
    assert {"HEAD", "index", "config", "logs/refs/stash", "hooks/pre-commit"} <= before.keys()
    done = subprocess.run(case.command(tmp_path), input=case.stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert differing(git_of(tmp_path), before) == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("branch more", "refs/heads/more"),
        ("config a.b c", "config"),
        ("stash drop -q", "refs/stash"),
        ("reset -q", "index"),
    ],
)
def test_what_git_itself_changes_is_seen(line: str, seen: str, tmp_path: Path) -> None:
    a_repository(tmp_path)
    before = git_of(tmp_path)
    git(tmp_path, *line.split())
    assert seen in differing(git_of(tmp_path), before)


@each_tier(3)
@pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")
@BY_NAME
def test_a_verb_that_is_killed_leaves_all_of_git_alone_that_is_not_ours(case: Case, points: int | None) -> None:
    known: Tree = {}

    def check(outcome: Outcome) -> None:
        changed = differing(git_of(outcome.directory), known)
        assert changed == [], f"git's own files changed: {changed}"
        case.check(outcome)
        changed = differing(git_of(outcome.directory), known)
        assert changed == [], f"git's own files changed afterwards: {changed}"

    report = explore(
        prepare=lambda directory: known.update(prepare(case, directory)),
        command=case.command,
        check=check,
        modes=KILLS,
        points=points,
        stdin=case.stdin,
    )
    report.assert_clean()
