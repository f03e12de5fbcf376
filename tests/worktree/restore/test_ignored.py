"""What the rules of an earlier state ignore, told without that state being there."""

from __future__ import annotations

import pytest

from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.restore.plan import ignored_then
from tests.worktrees import put, take

RULES: dict[str, str | bytes] = {
    ".gitignore": ".env\nnode_modules/\n*.log\n!keep.log\n",
    "src/.gitignore": "generated\n",
    "src/a": "a",
}


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        (b".env", True),
        (b"deep/er/.env", True),
        (b"node_modules/x/y", True),
        (b"src/generated", True),
        (b"generated", False),
        (b"x.log", True),
        (b"keep.log", False),
        (b"src/b", False),
        (b"-x\xff.log", True),
    ],
)
def test_a_path_is_ignored_by_the_rules_of_then(project: Workspace, path: bytes, ignored: bool) -> None:
    put(project.root, RULES)
    tree = take(project).tree
    for name in (".gitignore", "src/.gitignore"):
        (project.root / name).unlink()
    with shadow_of(project) as shadow:
        assert ignored_then(shadow, tree, [path, b"src/other"]) == ({path} if ignored else set())


def test_where_there_are_no_rules_nothing_is_ignored(project: Workspace) -> None:
    put(project.root, {"a": "a"})
    tree = take(project).tree
    with shadow_of(project) as shadow:
        assert ignored_then(shadow, tree, [b".env"]) == set()
