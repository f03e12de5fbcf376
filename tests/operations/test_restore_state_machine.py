"""Random trees and random ways back: after each one, every byte and every mode is as it was; git sees nothing.

The tier of every commit plays 30 short games; `-m long` plays 500 longer ones.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import holdfast
from holdfast.operations.checkpoint import checkpoint
from holdfast.operations.checkpoints import diff
from holdfast.operations.restore import redo, restore, undo
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.checkpoints.restore import Restored
from holdfast.project.workspace import Workspace
from holdfast.worktree.scan import Scan
from tests.conftest import TickingClock
from tests.promises import tell
from tests.worktrees import back, commit, put, take

pytestmark = pytest.mark.promise(9, 10)

NAMES = [
    "a", "b", "d", "d/x", "d/y", "d/e/f", "d/k.ig", "g", "g/h", "g/h/i", "sp ace", "ünï", "new\nline", "-dash", ".dot",
    ".gitattributes", "ig/z", "x.ig", "CASE", "case",
]  # fmt: skip
CONTENTS = [b"", b"one\n", b"two\n", b"x\r\ny\r\n", b"\0\1\xff binary", b"* text=auto eol=crlf\n$Id$\n", b"long " * 300]
MODES = [0o600, 0o644, 0o755, 0o444, 0o640, 0o711]
LINKS = ["a", "d", "nowhere", "../outside", "/etc/passwd"]
GIT = ["add -A", "commit -q --allow-empty -m more", "checkout -q -b", "rm -q -r --cached --ignore-unmatch d"]
IGNORE = "ig/\n*.ig\n"
NESTED = "nested"  # a repository of its own, which is nobody's business but its own
MARK = b"holdfast\n"  # what the .keep file of a pack of ours holds

Seen = tuple[int, int, bytes]  # kind, mode, content or where a link leads
EMPTY = (stat.S_IFDIR, 0, b"")


class Tree(NamedTuple):
    """A worktree without what is ignored. Directories that hold only ignored files are there or not, as they like."""

    things: dict[str, Seen]
    murky: frozenset[str]

    def within(self, paths: tuple[str, ...]) -> dict[str, Seen]:
        return {name: seen for name, seen in self.things.items() if is_within(name, paths)}


def is_within(name: str, paths: tuple[str, ...]) -> bool:
    return any(name == path or name.startswith(path + "/") for path in paths)


def is_ignored(name: str) -> bool:
    return name == "ig" or name.startswith("ig/") or any(part.endswith(".ig") for part in name.split("/"))


def tree_of(root: Path) -> Tree:
    things: dict[str, Seen] = {}
    murky: set[str] = set()
    for directory, names, leaves in os.walk(root):
        here = os.path.relpath(directory, root)
        if here == ".":
            names[:] = [name for name in names if name not in (".git", ".holdfast", NESTED)]
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        for name in (*leaves, *links):
            path = os.path.normpath(os.path.join(here, name))
            things[path] = seen_at(os.path.join(directory, name))
        if not names and not leaves and here != ".":
            things[here] = EMPTY
        elif here != "." and all(is_ignored(os.path.normpath(os.path.join(here, name))) for name in (*names, *leaves)):
            murky.add(here)
    return Tree({path: seen for path, seen in things.items() if not is_ignored(path)}, frozenset(murky))


def seen_at(path: str) -> Seen:
    status = os.lstat(path)
    kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
    if kind == stat.S_IFLNK:
        return kind, 0, os.fsencode(os.readlink(path))
    return kind, mode, Path(path).read_bytes()


def git_of(root: Path) -> dict[str, Seen]:
    """All that is in .git and not ours, and in the nested repository: names, modes and bytes."""
    found = {
        os.path.join(directory, name): seen_at(os.path.join(directory, name))
        for directory, _, leaves in os.walk(root / NESTED)
        for name in leaves
    }
    git = root / ".git"
    for directory, names, leaves in os.walk(git):
        here = Path(directory).relative_to(git)
        ours = {str(path.stem) for path in Path(directory).glob("pack-*.keep") if path.read_bytes() == MARK}
        if here in (Path(), Path("refs")):
            names[:] = [name for name in names if name != "holdfast"]
        for name in leaves:
            if name.partition(".")[0] not in ours:
                found[str(here / name)] = seen_at(os.path.join(directory, name))
        found[str(here) + "/"] = EMPTY
    return found


def differences(wanted: dict[str, Seen], found: dict[str, Seen]) -> dict[str, tuple[Seen | None, Seen | None]]:
    """What was wanted and what was found, wherever they are not the same."""
    names = sorted(wanted.keys() | found.keys())
    return {name: (wanted.get(name), found.get(name)) for name in names if wanted.get(name) != found.get(name)}


class Edit(NamedTuple):
    """One thing that a person or an agent does to a worktree; where it cannot be done, nothing happens."""

    how: str
    name: str
    other: str
    content: bytes
    mode: int
    link: str

    def do(self, root: Path) -> None:
        try:
            DOING[self.how](self, root / self.name, root)
        except OSError:
            pass  # a parent is a file, or a name is taken: this edit is not possible now


def write(edit: Edit, path: Path, root: Path) -> None:
    make_room(path, root)
    path.write_bytes(edit.content)


def delete(edit: Edit, path: Path, root: Path) -> None:
    clear(path)


def rename(edit: Edit, path: Path, root: Path) -> None:
    os.rename(path, root / edit.other)


def chmod(edit: Edit, path: Path, root: Path) -> None:
    if path.is_file() and not path.is_symlink():
        path.chmod(edit.mode)


def symlink(edit: Edit, path: Path, root: Path) -> None:
    make_room(path, root)
    path.symlink_to(edit.link)


def make_empty(edit: Edit, path: Path, root: Path) -> None:
    make_room(path, root)
    (path / "hollow").mkdir(parents=True)


def touch(edit: Edit, path: Path, root: Path) -> None:
    os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)


def make_room(path: Path, root: Path) -> None:
    """Directories above, and nothing in its place: a file becomes a directory, and a directory a file."""
    for parent in reversed(path.relative_to(root).parents[:-1]):
        if os.path.lexists(root / parent) and ((root / parent).is_symlink() or not (root / parent).is_dir()):
            (root / parent).unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_dir():
        clear(path)


def clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


DOING: dict[str, Callable[[Edit, Path, Path], None]] = {
    "write": write,
    "delete": delete,
    "rename": rename,
    "chmod": chmod,
    "symlink": symlink,
    "make empty": make_empty,
    "touch": touch,
}
HOW = ["write", "write", "write", *list(DOING)[1:]]
NAME = st.sampled_from(NAMES)
EDIT = st.builds(
    Edit,
    how=st.sampled_from(HOW),
    name=NAME,
    other=NAME,
    content=st.sampled_from(CONTENTS),
    mode=st.sampled_from(MODES),
    link=st.sampled_from(LINKS),
)
EDITS = st.lists(EDIT, min_size=1, max_size=4)


class Way(NamedTuple):
    """A restore that can be taken back: which paths it was about, and how everything was before it."""

    paths: tuple[str, ...]
    before: Tree


class Worktree(RuleBasedStateMachine):
    """A repository, somebody who works in it, and Holdfast."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=base))
        self.git("init -q")
        (self.root / ".gitignore").write_text(IGNORE)
        self.branches = 0
        self.made: list[tuple[str, Tree]] = []
        self.undoable: list[Way] = []
        self.redoable: list[Way] = []
        self.workspace = holdfast.open(self.root, clock=TickingClock())
        holdfast.init(self.workspace)

    def git(self, line: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=b"]
        subprocess.run(["git", *who, *line.split()], cwd=self.root, check=False, capture_output=True)

    @initialize(edits=st.lists(EDIT, max_size=6), committed=st.booleans())
    def begin(self, edits: list[Edit], committed: bool) -> None:
        for edit in edits:
            edit.do(self.root)
        if committed:
            self.git("add -A")
            self.git("commit -q -m first")

    @rule(edits=EDITS)
    def work(self, edits: list[Edit]) -> None:
        for edit in edits:
            edit.do(self.root)

    @rule(content=st.sampled_from(CONTENTS), committed=st.booleans())
    def work_in_a_nested_repository(self, content: bytes, committed: bool) -> None:
        if not (self.root / NESTED).exists():
            self.git(f"init -q {NESTED}")
        (self.root / NESTED / "inner").write_bytes(content)
        if committed:
            self.git(f"-C {NESTED} add -A")
            self.git(f"-C {NESTED} commit -q --allow-empty -m inner")

    @rule(line=st.sampled_from(GIT))
    def use_git(self, line: str) -> None:
        if line.endswith("-b"):
            self.branches += 1
            line += f" branch-{self.branches}"
        self.git(line)

    @rule(edits=EDITS)
    def keep(self, edits: list[Edit]) -> None:
        for edit in edits:
            edit.do(self.root)
        before, git = tree_of(self.root), git_of(self.root)
        made = checkpoint(self.workspace).checkpoint
        self.made.append((made.id, before))
        assert differences(before.things, tree_of(self.root).things) == {}
        assert differences(git, git_of(self.root)) == {}

    @precondition(lambda self: self.made)
    @rule(data=st.data(), edits=EDITS)
    def go_back(self, data: st.DataObject, edits: list[Edit]) -> None:
        for edit in edits:
            edit.do(self.root)
        id, then = data.draw(st.sampled_from(self.made))
        self.restore(id, (), then)

    def restore(self, id: str, paths: tuple[str, ...], then: Tree) -> None:
        """Go back; where there is nothing to do, there is nothing to take back either."""
        done: list[Restored] = []
        way = self.move(lambda: done.append(restore(self.workspace, id, paths)), paths, then)
        if done[0].restore is not None:
            self.redoable.clear()
            self.undoable.append(way)

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def look_around(self, data: st.DataObject) -> None:
        before, git = tree_of(self.root), git_of(self.root)
        id, _ = data.draw(st.sampled_from(self.made))
        diff(self.workspace, id)
        restore(self.workspace, id, dry_run=True)
        assert differences(before.things, tree_of(self.root).things) == {}
        assert differences(git, git_of(self.root)) == {}

    @precondition(lambda self: self.undoable)
    @rule()
    def take_back(self) -> None:
        way = self.undoable.pop()
        self.redoable.append(self.move(lambda: undo(self.workspace), way.paths, way.before))

    @precondition(lambda self: self.redoable)
    @rule()
    def do_again(self) -> None:
        way = self.redoable.pop()
        self.undoable.append(self.move(lambda: redo(self.workspace), way.paths, way.before))

    def move(self, act: Callable[[], object], paths: tuple[str, ...], then: Tree) -> Way:
        """Do it, and compare every byte with what was there then; outside of the paths, with what was there before."""
        before, git = tree_of(self.root), git_of(self.root)
        act()
        after = tree_of(self.root)
        assert differences(git, git_of(self.root)) == {}
        murky = after.murky | then.murky | before.murky
        if paths:
            wrong = differences(then.within(paths), after.within(paths))
            kept = (outside(tree, paths, then, before) for tree in (before, after))
            wrong |= differences(*kept)
        else:
            wrong = differences(then.things, after.things)
        assert {name: pair for name, pair in wrong.items() if name not in murky} == {}
        return Way(paths, before)

    def teardown(self) -> None:
        found = holdfast.verify(self.workspace)
        self.workspace.close()
        shutil.rmtree(self.root)
        assert found.problems == []


class WorktreeInParts(Worktree):
    """The same, and some ways back are about some paths only."""

    @precondition(lambda self: self.made)
    @rule(data=st.data(), edits=EDITS)
    def go_back_in_some_paths(self, data: st.DataObject, edits: list[Edit]) -> None:
        for edit in edits:
            edit.do(self.root)
        id, then = data.draw(st.sampled_from(self.made))
        now = tree_of(self.root).things
        worth = sorted(differences(then.things, now)) or sorted(then.things | now)
        paths = tuple(data.draw(st.lists(st.sampled_from(worth), min_size=1, max_size=3, unique=True)))
        self.restore(id, paths, then)


def outside(tree: Tree, paths: tuple[str, ...], *ends: Tree) -> dict[str, Seen]:
    """Files that such a restore must leave alone. One that stands where a directory is needed has to make way; and
    what has come to stand below its name meanwhile, when it is brought back."""
    needed = {parent for end in ends for name in end.within(paths) for parent in parents(name)}
    above = {parent for path in paths for parent in parents(path)}
    files = tuple(parent for parent in above if any(end.things.get(parent, EMPTY) != EMPTY for end in ends))
    return {
        name: seen
        for name, seen in tree.things.items()
        if not is_within(name, paths + files) and name not in needed and seen != EMPTY
    }


def parents(name: str) -> list[str]:
    return [str(parent) for parent in Path(name).parents[:-1]]


def play(machine: Callable[[], RuleBasedStateMachine], games: int, steps: int) -> None:
    """A game that is lost is told as it was played: to look for a shorter one takes minutes."""
    rules = settings(
        max_examples=games,
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=(Phase.explicit, Phase.generate),
    )
    run_state_machine_as_test(machine, settings=rules)  # type: ignore[arg-type]
    tell("games", games)
    tell("most steps", games * steps)


def test_every_way_back_is_exact_and_git_sees_nothing(tmp_path: Path) -> None:
    play(lambda: Worktree(tmp_path), games=30, steps=10)


def test_every_way_back_of_some_paths_is_exact_and_git_sees_nothing(tmp_path: Path) -> None:
    play(lambda: WorktreeInParts(tmp_path), games=30, steps=10)


@pytest.mark.long
def test_every_way_back_is_exact_and_git_sees_nothing_in_long_games(tmp_path: Path) -> None:
    play(lambda: Worktree(tmp_path), games=500, steps=20)


@pytest.mark.long
def test_every_way_back_of_some_paths_is_exact_and_git_sees_nothing_in_long_games(tmp_path: Path) -> None:
    play(lambda: WorktreeInParts(tmp_path), games=500, steps=20)


# What the games found, one by one.


def test_a_directory_comes_back_where_a_link_led_to_itself(project: Workspace) -> None:
    """Git cannot look behind such a link, passes over what its index knows there, and the file seemed never gone."""
    put(project.root, {"d/y": "then"})
    commit(project.root)
    made = take(project)
    shutil.rmtree(project.root / "d")
    (project.root / "d").symlink_to("d")
    back(project, made)
    assert (project.root / "d/y").read_text() == "then"
    holdfast.undo(project)
    assert (project.root / "d").is_symlink()


def test_what_was_behind_a_link_to_itself_is_seen_when_it_comes_back(project: Workspace, tmp_path: Path) -> None:
    """Git cannot look behind such a link, so it does not tell that the file is gone; nor that it is back, unchanged."""
    put(project.root, {"d/y": "then"})
    commit(project.root)
    made = take(project)
    with shadow_of(project) as shadow:  # as if all this had been committed long ago: only the index knows the file
        memory = shadow._load()
        assert memory is not None
        memory.seen.clear()
        shadow.remember(Scan(memory.tree, memory.beside, [], memory))
    (project.root / "d").rename(tmp_path / "away")
    (project.root / "d").symlink_to("d")
    assert take(project).tree != made.tree
    (project.root / "d").unlink()
    (tmp_path / "away").rename(project.root / "d")
    assert take(project).tree == made.tree


def test_restoring_one_of_two_changed_files_leaves_the_other_alone(project: Workspace) -> None:
    one, two = project.root / "one", project.root / "two"
    made = keep(project, {one: "then", two: "then"})
    one.write_text("now")
    two.write_text("now")
    restore(project, made, ("one",))
    assert (one.read_text(), two.read_text()) == ("then", "now")


def test_a_dry_run_names_what_was_changed_since_the_last_checkpoint(project: Workspace) -> None:
    one = project.root / "one"
    made = keep(project, {one: "then"})
    one.write_text("now")
    assert restore(project, made, dry_run=True).paths == ["one"]
    assert one.read_text() == "now"


def test_undo_brings_back_the_file_that_stood_where_a_directory_was_needed(project: Workspace) -> None:
    directory = project.root / "d"
    made = keep(project, {directory / "x": "then"})
    shutil.rmtree(directory)
    directory.write_text("precious")
    restore(project, made, ("d/x",))
    assert (directory / "x").read_text() == "then"
    undo(project)
    assert directory.read_text() == "precious"


def test_what_has_come_below_the_name_of_that_file_makes_way_for_it_and_redo_brings_it_back(project: Workspace) -> None:
    directory = project.root / "d"
    made = keep(project, {directory / "x": "then"})
    shutil.rmtree(directory)
    directory.write_text("precious")
    restore(project, made, ("d/x",))
    (directory / "x").rename(directory / "y")
    undo(project)
    assert directory.read_text() == "precious"
    redo(project)
    assert (directory / "y").read_text() == "then"


def test_undo_brings_back_the_empty_directory_that_a_restored_file_went_into(project: Workspace) -> None:
    directory = project.root / "d"
    made = keep(project, {directory / "x": "then"})
    (directory / "x").unlink()
    restore(project, made, ("d/x",))
    undo(project)
    assert directory.is_dir()


@pytest.mark.parametrize("path", ["./d/x", "d/../d/x", "{root}/d/x", "."])
def test_a_path_may_be_written_in_any_way_that_names_the_file(project: Workspace, path: str) -> None:
    file = project.root / "d/x"
    made = keep(project, {file: "then"})
    file.write_text("now")
    restore(project, made, (path.replace("{root}", str(project.root)),))
    assert file.read_text() == "then"


def keep(workspace: Workspace, files: dict[Path, str]) -> str:
    """Write these and make a checkpoint of it."""
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return checkpoint(workspace).checkpoint.id
