"""Where the store of a directory lies, found without git, and as git itself would say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.system.locate import locate_store

ALLOW = ["-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]


def git(directory: Path, *arguments: str) -> str:
    command = ["git", *ALLOW, "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def a_repository(path: Path, *options: str, commit: bool = True) -> Path:
    subprocess.run(["git", "init", "-q", *options, str(path)], check=True)
    if commit:
        git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def a_worktree(repository: Path, path: Path) -> Path:
    git(repository, "worktree", "add", "-q", "--detach", str(path))
    return path


def a_submodule(repository: Path, library: Path, name: str = "lib") -> Path:
    git(repository, "submodule", "--quiet", "add", str(library), name)
    return repository / name


def make_store(place: str) -> None:
    os.makedirs(place)


def locate(directory: Path) -> tuple[Path, Path]:
    root, store = locate_store(str(directory))
    return Path(root), Path(store)


def as_git_says(directory: Path) -> tuple[Path, Path]:
    """The top of the worktree, and the store in the common git directory."""
    top = git(directory, "rev-parse", "--show-toplevel")
    common = git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(top), Path(common).resolve() / "holdfast"


# layouts that git knows: each makes the directory from which a hook is called


def plain_repository(base: Path) -> Path:
    return a_repository(base / "repo")


def repository_without_commits(base: Path) -> Path:
    return a_repository(base / "repo", commit=False)


def subdirectory(base: Path) -> Path:
    deep = a_repository(base / "repo") / "a" / "b"
    deep.mkdir(parents=True)
    return deep


def linked_worktree(base: Path) -> Path:
    return a_worktree(a_repository(base / "repo"), base / "tree")


def subdirectory_of_a_linked_worktree(base: Path) -> Path:
    deep = linked_worktree(base) / "deep"
    deep.mkdir()
    return deep


def worktree_inside_its_repository(base: Path) -> Path:
    return a_worktree(a_repository(base / "repo"), base / "repo" / ".trees" / "one")


def worktree_of_a_bare_repository(base: Path) -> Path:
    bare = base / "repo.git"
    git(base, "clone", "-q", "--bare", str(a_repository(base / "origin")), str(bare))
    return a_worktree(bare, base / "tree")


def git_directory_elsewhere(base: Path) -> Path:
    return a_repository(base / "repo", f"--separate-git-dir={base / 'elsewhere'}")


def moved_worktree(base: Path) -> Path:
    """Moved by hand, which git does not mind."""
    return linked_worktree(base).rename(base / "moved")


def relative_git_file(base: Path) -> Path:
    tree = linked_worktree(base)
    (tree / ".git").write_text("gitdir: ../repo/.git/worktrees/tree\n")
    return tree


def git_file_with_a_long_way(base: Path) -> Path:
    tree = linked_worktree(base)
    (tree / ".git").write_text(f"gitdir: {base}/./tree/../repo/.git/worktrees/tree\n")
    return tree


def linked_git_directory(base: Path) -> Path:
    repository = a_repository(base / "repo")
    (repository / ".git").rename(base / "moved")
    (repository / ".git").symlink_to(base / "moved")
    return repository


def nested_repository(base: Path) -> Path:
    return a_repository(a_repository(base / "outer") / "inner")


def repository_with_an_odd_name(base: Path) -> Path:
    return a_repository(base / "a repo\nwith 'odd' näme")


def worktree_with_an_odd_name(base: Path) -> Path:
    return a_worktree(a_repository(base / "repo ü"), base / "tree 'ö'")


LAYOUTS: list[Callable[[Path], Path]] = [
    plain_repository,
    repository_without_commits,
    subdirectory,
    linked_worktree,
    subdirectory_of_a_linked_worktree,
    worktree_inside_its_repository,
    worktree_of_a_bare_repository,
    git_directory_elsewhere,
    moved_worktree,
    relative_git_file,
    git_file_with_a_long_way,
    linked_git_directory,
    nested_repository,
    repository_with_an_odd_name,
    worktree_with_an_odd_name,
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("with_store", [False, True], ids=["before", "with a store"])
def test_place_is_where_git_keeps_what_all_worktrees_share(
    tmp_path: Path, layout: Callable[[Path], Path], with_store: bool
) -> None:
    directory = layout(tmp_path)
    expected = as_git_says(directory)
    if with_store:
        make_store(str(expected[1]))
    root, store = locate(directory)
    assert (root, store.parent.resolve() / store.name) == expected


@pytest.mark.parametrize("layout", [plain_repository, linked_worktree, subdirectory])
def test_symbolic_link_on_the_way_does_not_matter(tmp_path: Path, layout: Callable[[Path], Path]) -> None:
    """The hook asks the system for its directory, which answers without links."""
    directory = layout(tmp_path)
    (tmp_path / "link").symlink_to(directory)
    with holdfast.open(tmp_path / "link") as workspace:
        assert (workspace.root, workspace.place) == as_git_says(directory)


# submodules


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "library")


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "outer")


def test_submodule_without_a_store_belongs_to_the_project_around_it(outer: Path, library: Path) -> None:
    submodule = a_submodule(outer, library)
    make_store(f"{outer}/.git/holdfast")
    assert locate(submodule) == (outer, outer / ".git" / "holdfast")


def test_submodule_with_a_store_is_a_project_of_its_own(outer: Path, library: Path) -> None:
    submodule = a_submodule(outer, library)
    own = as_git_says(submodule)
    make_store(str(own[1]))
    make_store(f"{outer}/.git/holdfast")
    assert locate(submodule) == own == (submodule, outer / ".git" / "modules" / "lib" / "holdfast")


def test_submodule_in_a_project_without_a_store_is_a_place_of_its_own(outer: Path, library: Path) -> None:
    submodule = a_submodule(outer, library)
    assert locate(submodule) == as_git_says(submodule)


def test_submodule_of_a_submodule_belongs_to_the_outermost_project(outer: Path, library: Path, tmp_path: Path) -> None:
    middle = a_repository(tmp_path / "middle")
    a_submodule(middle, library, "inner")
    git(middle, "commit", "-q", "-m", "with a submodule")
    a_submodule(outer, middle)
    git(outer, "submodule", "--quiet", "update", "--init", "--recursive")
    make_store(f"{outer}/.git/holdfast")
    assert locate(outer / "lib" / "inner") == (outer, outer / ".git" / "holdfast")


def test_submodule_of_a_linked_worktree_belongs_to_the_project_around_it(
    outer: Path, library: Path, tmp_path: Path
) -> None:
    a_submodule(outer, library)
    git(outer, "commit", "-q", "-m", "with a submodule")
    tree = a_worktree(outer, tmp_path / "tree")
    git(tree, "submodule", "--quiet", "update", "--init")
    make_store(f"{outer}/.git/holdfast")
    assert locate(tree / "lib") == (tree, outer / ".git" / "holdfast")


@pytest.mark.parametrize("layout", [worktree_of_a_bare_repository, git_directory_elsewhere])
def test_submodule_belongs_to_the_project_around_it_wherever_its_git_directory_lies(
    tmp_path: Path, library: Path, layout: Callable[[Path], Path]
) -> None:
    around = layout(tmp_path)
    submodule = a_submodule(around, library)
    expected = as_git_says(around)
    make_store(str(expected[1]))
    assert locate(submodule) == expected


# borders


def test_nested_repository_is_a_border(tmp_path: Path) -> None:
    inner = nested_repository(tmp_path)
    make_store(f"{tmp_path}/outer/.git/holdfast")
    assert locate(inner) == (inner, inner / ".git" / "holdfast")


@pytest.mark.parametrize("name", ["modules", "modules/deep", ".git.d/modules"])
def test_nested_repository_is_a_border_whatever_its_directory_is_called(tmp_path: Path, name: str) -> None:
    outer = a_repository(tmp_path / "outer")
    inner = a_repository(outer / name / "inner")
    make_store(f"{outer}/.git/holdfast")
    assert locate(inner) == (inner, inner / ".git" / "holdfast")


def test_repository_is_a_border_for_a_store_without_one(tmp_path: Path) -> None:
    make_store(f"{tmp_path}/.holdfast")
    repository = plain_repository(tmp_path)
    assert locate(repository) == (repository, repository / ".git" / "holdfast")


def test_bare_repository_belongs_to_the_directory_around_it(tmp_path: Path) -> None:
    """Where worktrees are kept side by side, and the repository among them."""
    hub = tmp_path / "hub"
    git(tmp_path, "clone", "-q", "--bare", str(a_repository(tmp_path / "origin")), str(hub / ".bare"))
    (hub / ".git").write_text("gitdir: ./.bare\n")
    assert locate(hub) == (hub, hub / ".bare/holdfast")


@pytest.mark.promise(20)
def test_bare_repository_elsewhere_belongs_to_no_git_file(tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(a_repository(tmp_path / "origin")), str(tmp_path / "repo.git"))
    make_store(str(tmp_path / "repo.git/holdfast"))
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {tmp_path}/repo.git\n")
    assert locate(hostile) == (hostile, hostile / ".holdfast")


def test_git_directory_without_a_head_is_no_repository(tmp_path: Path) -> None:
    outer = a_repository(tmp_path / "outer")
    broken = outer / "inner" / ".git"
    broken.mkdir(parents=True)
    assert locate(broken.parent) == (outer, outer / ".git" / "holdfast")


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir:", "\n", "\0" * 100])
def test_git_file_that_names_nothing_is_no_repository(tmp_path: Path, content: str) -> None:
    outer = a_repository(tmp_path / "outer")
    (outer / "inner").mkdir()
    (outer / "inner" / ".git").write_text(content)
    assert locate(outer / "inner") == (outer, outer / ".git" / "holdfast")


# without a repository


def test_directory_without_a_repository_has_a_place_of_its_own(tmp_path: Path) -> None:
    assert locate(tmp_path) == (tmp_path, tmp_path / ".holdfast")


def test_store_of_a_directory_above_is_found(tmp_path: Path) -> None:
    make_store(f"{tmp_path}/.holdfast")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert locate(tmp_path / "a" / "b") == (tmp_path, tmp_path / ".holdfast")


def test_nearest_store_counts(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "a"):
        make_store(f"{place}/.holdfast")
    assert locate(tmp_path / "a") == (tmp_path / "a", tmp_path / "a" / ".holdfast")


def test_root_directory_is_a_directory(tmp_path: Path) -> None:
    assert locate_store("/") == ("/", "/.holdfast")


def test_place_is_found_while_git_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = linked_worktree(tmp_path)
    expected = as_git_says(directory)
    monkeypatch.setenv("PATH", "/nowhere")
    assert locate(directory) == expected
