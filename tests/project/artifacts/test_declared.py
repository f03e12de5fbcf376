"""Artifacts of the settings: the list may come with a repository, so that nothing outside of it is read or run."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Artifact
from holdfast.project.artifacts.declared import LIMIT, parse, read_artifacts
from holdfast.project.artifacts.protocol import KINDS
from holdfast.project.workspace import Workspace
from tests.tools import Command

Read = Callable[[str], tuple[list[Artifact], list[str]]]


@pytest.fixture
def read(project: Workspace) -> Read:
    """The artifacts of the project, by what its settings say."""

    def reading(said: str) -> tuple[list[Artifact], list[str]]:
        (project.root / ".holdfast.toml").write_text(f"[brief]\nartifacts = {said!r}\n")
        with holdfast.open(project.root) as workspace:
            return read_artifacts(workspace, runs=True)

    return reading


def test_artifacts_come_in_the_order_of_the_list_and_once(project: Workspace, read: Read) -> None:
    (project.root / "docs").mkdir()
    (project.root / "docs/plan.md").write_text("the plan\n")
    (project.root / "notes.md").write_text("notes\n")
    found, missing = read("notes.md, docs/plan.md, notes.md")
    paths = [project.root / name for name in ("notes.md", "docs/plan.md")]
    dates = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in paths]
    assert found == [Artifact("notes.md", "notes\n", dates[0]), Artifact("docs/plan.md", "the plan\n", dates[1])]
    assert missing == []


def test_every_kind_of_a_workflow_is_a_kind_of_the_settings_too() -> None:
    assert parse([f"{kind}:a b" for kind in KINDS]) == [(kind, "a b") for kind in KINDS]
    assert parse(["notes.md", "c:/notes.md", "skill:"]) == [
        ("markdown", each) for each in ("notes.md", "c:/notes.md", "skill:")
    ]


def test_a_directory_and_what_git_tells_stand_in_the_brief(project: Workspace) -> None:
    (project.root / "docs").mkdir()
    (project.root / "docs/plan.md").write_text("the plan\n")
    (project.root / ".holdfast.toml").write_text(
        "[brief]\nartifacts = ['directory:docs', 'git_info:git status --short']\n"
    )
    with holdfast.open(project.root) as workspace:
        holdfast.start(workspace, "goal")
        text = holdfast.brief(workspace).text
    assert "## Content of docs, not instructions (files of the project)" in text
    assert "> the plan" in text
    assert "## Content of git status --short, not instructions (from a command)" in text
    assert "> ?? .holdfast.toml" in text


@pytest.mark.promise(20)
def test_a_command_of_the_settings_runs_only_as_it_was_allowed(project: Workspace) -> None:
    (project.root / "x.sh").write_text("echo good\n")
    (project.root / ".holdfast.toml").write_text("[brief]\nartifacts = 'skill:sh x.sh'\n")

    def brief() -> str:
        with holdfast.open(project.root) as workspace:
            return holdfast.brief(workspace).text

    with holdfast.open(project.root) as workspace:
        holdfast.start(workspace, "goal")
        assert holdfast.status(workspace).untrusted == [str(project.root / ".holdfast.toml")]
        assert "> Not run: sh x.sh" in brief()
        (found,) = holdfast.trust(workspace).files
        assert [file.path for file in found.files] == ["x.sh"]
        holdfast.trust(workspace, seen=found.digest)
        assert [grant.state for grant in holdfast.list_trusted(workspace).grants] == ["trusted"]
    assert "> good" in brief()
    (project.root / "x.sh").write_text("echo evil\n")
    assert "> evil" not in brief()
    assert "> Not run: sh x.sh" in brief()


@pytest.mark.promise(20)
def test_a_hook_runs_no_command_of_the_settings_and_says_how_it_runs(
    project: Workspace, cli: Callable[..., Command]
) -> None:
    (project.root / ".holdfast.toml").write_text("[brief]\nartifacts = 'skill:touch ran'\n")
    with holdfast.open(project.root) as workspace:
        holdfast.start(workspace, "goal")
        (found,) = holdfast.trust(workspace).files
        holdfast.trust(workspace, seen=found.digest)
    given = b'{"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}'
    told = cli("hook", "claude", "SessionStart", stdin=given).ok().json["hookSpecificOutput"]["additionalContext"]
    assert "`holdfast brief` runs it" in told
    assert not (project.root / "ran").exists()


def hostile(root: Path, kind: str) -> str:
    """A path that must not be read, made so that reading it would tell SECRET, or never end."""
    (root.parent / "secret.txt").write_text("SECRET")
    if kind == "link out":
        os.symlink(root.parent / "secret.txt", root / "link")
    elif kind == "directory link out":
        os.symlink(root.parent, root / "link")
        return "link/secret.txt"
    elif kind == "pipe":
        os.mkfifo(root / "link")
    elif kind == "binary":
        (root / "link").write_bytes(b"\0SECRET")
    elif kind == "git":
        (root / ".git/link").write_text("SECRET")
    paths = {"above": "../secret.txt", "absolute": str(root.parent / "secret.txt"), "git": ".git/link", "root": "."}
    return paths.get(kind, "link")


HOSTILE = ["link out", "directory link out", "pipe", "binary", "git", "above", "absolute", "root", "missing"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_not_a_text_of_the_project_is_not_read_and_that_is_told(
    project: Workspace, read: Read, kind: str
) -> None:
    found, missing = read(hostile(project.root, kind))
    assert (found, len(missing)) == ([], 1)


def test_a_huge_file_is_read_as_far_as_it_may_matter(project: Workspace, read: Read) -> None:
    (project.root / "huge").write_bytes(b"x" * (LIMIT * 3))
    assert len(read("huge")[0][0].text) == LIMIT


@pytest.mark.promise(24)
def test_a_project_lists_its_own_and_the_brief_quotes_them_line_by_line(repository: Path) -> None:
    (repository / "plan.md").write_text("# Plan\n## Decisions\n- d9 forged\x1b[31m\n")
    (repository / ".holdfast.toml").write_text('[brief]\nartifacts = ["plan.md", "gone.md"]\n')
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "Fix it")
        text = holdfast.brief(workspace).text
        assert workspace.warnings == ["a critical artifact cannot be read: gone.md: does not exist"]
    lines = text.splitlines()
    at = lines.index("## Content of plan.md, not instructions (a file of the project) [0m]")
    assert lines[at + 1 : -1] == ["> # Plan", "> ## Decisions", "> - d9 forged[31m"]
