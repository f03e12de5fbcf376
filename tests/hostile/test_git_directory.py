"""Promise 23: whatever a `.git` holds, it runs nothing, and nothing outside of the worktree changes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.project.artifacts import git_info as source
from holdfast.project.artifacts.protocol import Unloadable, Wanted
from holdfast.system.git import command as speaking
from holdfast.system.git.repository import Repository
from holdfast.worktree.capture import FOLDED
from tests.file_trees import tree_of
from tests.hostile.git_traps import set_traps, set_traps_in
from tests.promises import Figure
from tests.surfaces.in_process import call
from tests.tools import hook
from tests.worktrees import commit, git

pytestmark = pytest.mark.promise(23)

VERBS = ["start goal", "checkpoint", "status", "diff ONE", "checkpoint two", "restore ONE --yes", "undo", "brief",
    "checkpoints", "tidy", "verify", "sweep", "doctor"]  # fmt: skip


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    return directory


def use(repository: Path, begin: Callable[[], None]) -> int:
    """Go through all verbs that use git; answers with how many of them did what they should."""
    done = 0
    for number, line in enumerate(VERBS):
        (repository / "a.txt").write_text(f"{number}\n")
        begin()
        found = call(*line.replace("ONE", _first(repository)).split(), directory=repository)
        assert found.code in (0, 1, 10), f"{line}: {found.out}{found.err}"
        assert "Traceback" not in found.out + found.err
        done += found.code == 0
    hook(repository)
    return done


def _first(repository: Path) -> str:
    listed = call("checkpoints", "--json", directory=repository)
    return str(listed.json["checkpoints"][-1]["id"]) if listed.code == 0 and listed.json.get("checkpoints") else "one"


def test_no_trap_in_a_git_directory_goes_off(
    repository: Path, tmp_path: Path, elsewhere: Path, begin: Callable[[], None], figure: Figure
) -> None:
    owned = tmp_path / "owned"
    set_traps(repository, owned, elsewhere)
    before = tree_of(elsewhere)
    config = (repository / ".git/config").read_bytes()
    assert use(repository, begin) > len(VERBS) / 2
    assert not owned.exists()
    assert tree_of(elsewhere) == before
    assert (repository / ".git/config").read_bytes() == config
    figure("traps in a git directory", config.count(b"touch"))


@pytest.mark.parametrize("leads", ["settings", "commondir"])
def test_no_trap_in_our_own_git_directory_goes_off(
    leads: str, repository: Path, tmp_path: Path, elsewhere: Path, begin: Callable[[], None]
) -> None:
    """An agent may write below `.git`, and git believed the settings there when it took many changed files in."""
    owned, ours = tmp_path / "owned", repository / ".git/holdfast/git"
    assert use(repository, begin) == len(VERBS)
    if leads == "settings":
        set_traps_in(ours, owned, elsewhere)
    else:
        planted = elsewhere / "planted"
        subprocess.run(["git", "init", "-q", "--bare", planted], check=True)
        set_traps_in(planted, owned, elsewhere)
        (ours / "commondir").write_text(f"{planted}\n")
    for number in range(FOLDED + 50):
        (repository / f"{number}.txt").write_text("new\n")
    assert use(repository, begin) == len(VERBS)
    assert not owned.exists()


def test_plain_git_falls_into_these_traps(repository: Path, tmp_path: Path, elsewhere: Path) -> None:
    """The negative control: traps that do not go off prove nothing."""
    owned = tmp_path / "owned"
    (repository / "a.txt").write_text("text\n")
    set_traps(repository, owned, elsewhere)
    command = ["git", "-c", f"core.worktree={repository}", "-c", "extensions.partialClone=", "add", "a.txt"]
    subprocess.run(command, cwd=repository, capture_output=True, timeout=60, check=False)
    assert owned.exists()


@pytest.mark.parametrize("path", ["/dev/zero", "config", "{pipe}", "/proc/self/mem"])
def test_a_configuration_that_includes_what_never_ends_stops_nobody(
    path: str, repository: Path, elsewhere: Path, begin: Callable[[], None]
) -> None:
    os.mkfifo(elsewhere / "pipe")
    leads = path.format(pipe=elsewhere / "pipe")
    (repository / ".git/config").write_text(f'[include]\n  path = {leads}\n[includeIf "gitdir:/"]\n  path = {leads}\n')
    assert use(repository, begin) > len(VERBS) / 2


@pytest.mark.parametrize(
    "name", ["objects/info/alternates", "commondir", "gitdir", "worktrees/x/gitdir", "shallow", "info/grafts"]
)
def test_what_leads_from_a_git_directory_to_another_changes_nothing_there(
    name: str, repository: Path, elsewhere: Path, begin: Callable[[], None]
) -> None:
    other = elsewhere / "other"
    subprocess.run(["git", "init", "-q", other], check=True)
    (other / "secret").write_text("of somebody else\n")
    before = tree_of(elsewhere)
    place = repository / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{other}/.git{'/objects' if 'alternates' in name else ''}\n")
    use(repository, begin)
    assert tree_of(elsewhere) == before


def test_a_submodule_with_traps_is_not_entered(
    repository: Path, tmp_path: Path, elsewhere: Path, begin: Callable[[], None]
) -> None:
    owned, inner = tmp_path / "owned", repository / "x"
    subprocess.run(["git", "init", "-q", inner], check=True)
    (inner / "b.txt").write_text("text\n")
    set_traps(inner, owned, elsewhere)
    assert use(repository, begin) > len(VERBS) / 2
    assert not owned.exists()


# Links in a git directory


WORDS = "WORDSOFANOTHER"


@pytest.fixture
def other(elsewhere: Path) -> Path:
    """The git directory of another repository, with code, a commit and checkpoints."""
    root = elsewhere / WORDS.lower()
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / f"{WORDS}.txt").write_text(f"{WORDS}\n")
    commit(root, WORDS)
    for line in ("start goal", "checkpoint one"):
        call(*line.split(), directory=root).ok()
    return root / ".git"


def link(place: Path, leads: Path) -> None:
    """Put a link where a directory or a file of git's may stand."""
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(leads)


WRITTEN = ["objects", "objects/pack", "refs", "refs/holdfast", "reftable"]
REFUSED = "A directory in which checkpoints are kept is a link, so none is written"
STILL = ["status", "brief", "checkpoints", "verify", "backup kept.tar.gz", "tidy", "sweep", "doctor", "note more"]
TAKING_AWAY = ["tidy", "repair", "delete RUN --purge --yes", "uninit --purge --yes"]


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("name", WRITTEN)
def test_no_checkpoint_is_written_through_a_link_in_a_git_directory(
    name: str, repository: Path, elsewhere: Path, other: Path, begin: Callable[[], None]
) -> None:
    (other / name).mkdir(exist_ok=True)
    link(repository / ".git" / name, other / name)
    before = tree_of(elsewhere)
    use(repository, begin)
    refused = call("checkpoint", directory=repository)
    assert refused.code == 1
    assert refused.err.splitlines()[:2] == [f"holdfast: {REFUSED}", f"  path  {repository / '.git' / name}"]
    for line in STILL:
        call(*line.split(), directory=repository).ok()
    call("uninit", "--purge", "--yes", directory=repository).ok()
    assert tree_of(elsewhere) == before


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("name", WRITTEN)
def test_nothing_of_ours_is_taken_away_through_a_link_in_a_git_directory(
    name: str, repository: Path, elsewhere: Path, other: Path, begin: Callable[[], None]
) -> None:
    """What carries our mark there are the checkpoints of another project."""
    assert use(repository, begin) == len(VERBS)
    (other / name).mkdir(exist_ok=True)
    link(repository / ".git" / name, other / name)
    before = tree_of(elsewhere)
    run = call("status", "--json", directory=repository).ok().json["run"]["id"]
    for line in TAKING_AWAY:
        begin()
        done = call(*line.replace("RUN", run).split(), directory=repository)
        assert done.code in (0, 1, 12), f"{line}: {done.err}"
        assert "Traceback" not in done.err
    assert tree_of(elsewhere) == before
    assert (repository / ".git/holdfast").is_dir()


@pytest.mark.promise(22)
@pytest.mark.parametrize("name", [".", "objects", "objects/pack", "refs", "refs/holdfast"])
def test_no_checkpoint_is_written_through_a_link_in_a_store_without_a_repository(
    name: str, tmp_path: Path, elsewhere: Path
) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.txt").write_text("1\n")
    call("checkpoint", directory=root).ok()
    link(root / ".holdfast/git" / name, elsewhere)
    (root / "a.txt").write_text("2\n")
    assert REFUSED in call("checkpoint", directory=root).err
    assert os.listdir(elsewhere) == []


Way = Callable[[Path, Path], None]


def borrow(git: Path, other: Path) -> None:
    (git / "objects/info").mkdir(parents=True, exist_ok=True)
    (git / "objects/info/alternates").write_text(f"{other}/objects\n")


def borrow_by_the_way(git: Path, other: Path) -> None:
    """By a second list, and by a way that begins inside."""
    (git / "near/info").mkdir(parents=True)
    (git / "near/info/alternates").write_text(f"{other}/objects\n")
    (git / "objects/info/alternates").write_text("../near\n")


def know(git: Path, other: Path) -> None:
    shutil.copy(other / "refs/heads/main", git / "refs/heads/known")


def pack(git: Path, other: Path) -> None:
    subprocess.run(["git", "-C", other, "repack", "-adq"], check=True)


def leave_alternates(git: Path, other: Path) -> None:
    borrow(other, other)


def linked(name: str) -> Way:
    return lambda git, other: link(git / name, other / name)


def linked_each(part: str) -> Way:
    def each(git: Path, other: Path) -> None:
        for path in (other / "objects").glob(part):
            link(git / path.relative_to(other), path)

    return each


WAYS: dict[str, list[Way]] = {
    "refs and alternates": [linked("refs"), borrow],
    "refs and objects": [linked("refs"), linked("objects")],
    "refs and packs": [pack, linked("refs"), linked("objects/pack")],
    "branches and alternates": [linked("refs/heads"), borrow],
    "a commit and alternates": [know, borrow],
    "a commit and alternates of what is near": [know, borrow_by_the_way],
    "a commit and alternates behind a link": [know, leave_alternates, linked("objects/info")],
    "a commit and directories of objects": [know, linked_each("??")],
    "a commit and objects": [know, linked_each("??/*")],
    "a commit and a pack": [know, pack, linked_each("pack/pack-*")],
    "all": [linked("")],
    "an index": [linked("index")],
}
LINKED = " is a link, and may lead into another repository"
BORROWED = " borrows objects, which may be of another repository"
WHY = {
    "branches and alternates": BORROWED,
    "a commit and alternates": BORROWED,
    "a commit and alternates of what is near": BORROWED,
    "an index": "The repository's index is a link",
    "all": "needs a git repository, and the project has none",
}
ASKED = ["git log -p --all", "git status", "git log -p", "git diff --cached"]


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("way", WAYS)
def test_git_tells_nothing_of_a_repository_to_which_a_git_directory_leads(
    way: str, repository: Path, other: Path
) -> None:
    git(repository, "checkout", "-q", "-b", "main")
    commit(repository, "of our own")
    git(other.parent, "branch", "-M", "main")
    for step in WAYS[way]:
        step(repository / ".git", other)
    for command in ASKED:
        wanted = Wanted("commits", "git_info", repository, command=command)
        with pytest.raises(Unloadable) as caught:
            source.load(wanted)
        assert caught.value.why.endswith(WHY.get(way, LINKED))
        assert WORDS not in caught.value.why


def add_to_index(index: Path, path: bytes) -> None:
    """Let an index of version 2 hold one more entry, as no git would write it: an empty file at any path."""
    data, at, entries = index.read_bytes(), 12, []
    for _ in range(int.from_bytes(data[8:12])):
        length = int.from_bytes(data[at + 60 : at + 62]) & 0xFFF
        entries.append((data[at + 62 : at + 62 + length], data[at : at + (length + 70) // 8 * 8]))
        at += len(entries[-1][1])
    head = bytes(24) + (0o100644).to_bytes(4) + bytes(12) + bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    entry = head + len(path).to_bytes(2) + path
    entries = sorted([*entries, (path, entry.ljust((len(path) + 70) // 8 * 8, b"\0"))])
    made = data[:8] + len(entries).to_bytes(4) + b"".join(each for _, each in entries)
    index.write_bytes(made + hashlib.sha1(made).digest())


LEADING = ["../secret", "{}/secret", ".git/config", ".git/../../secret", "./../secret"]


def a_link(git: Path) -> None:
    (git / "HEAD").symlink_to("/etc/passwd")


def a_directory(git: Path) -> None:
    (git / "HEAD").mkdir()


def a_giant(git: Path) -> None:
    (git / "HEAD").write_bytes(b"a" * (3 << 20))


def a_pipe(git: Path) -> None:
    os.mkfifo(git / "HEAD")


def a_branch_that_is_a_link(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/x\n")
    (git / "refs/heads").mkdir(parents=True)
    (git / "refs/heads/x").symlink_to("/etc/passwd")


def branches_that_are_a_link(git: Path) -> None:
    (git / "HEAD").write_text("ref: refs/heads/x\n")
    (git / "packed-refs").symlink_to("/etc/passwd")


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    "odd", [a_link, a_directory, a_giant, a_pipe, a_branch_that_is_a_link, branches_that_are_a_link]
)
def test_what_is_odd_in_a_repository_inside_stops_no_checkpoint(
    odd: Callable[[Path], None], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speaking, "DEADLINE", 10.0)
    (repository / "sub/.git").mkdir(parents=True)
    odd(repository / "sub/.git")
    call("checkpoint", directory=repository).ok()


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("path", LEADING)
def test_an_index_that_names_what_is_none_of_the_worktrees_lets_nothing_in(
    path: str, repository: Path, begin: Callable[[], None]
) -> None:
    """Git believes what its index says, and shows a file wherever it lies as one that was changed."""
    (repository.parent / "secret").write_text(f"{WORDS}\n")
    git(repository, "config", "user.token", WORDS)
    commit(repository, "of our own")
    (repository / "a.txt").write_text("before\n")
    add_to_index(repository / ".git/index", path.format(repository.parent).encode())
    git(repository, "hash-object", "-w", "--stdin")  # the empty file that the entry says was there
    assert WORDS in git(repository, "diff"), "or it is no trap"
    for command in ("git diff", "git status"):
        with pytest.raises(Unloadable, match="needs the repository's index, which is damaged or leads elsewhere"):
            source.load(Wanted("changes", "git_info", repository, command=command))
    assert "of our own" in source.load(Wanted("commits", "git_info", repository, command="git log")).text
    assert "or leads elsewhere: `rm " in call("checkpoint", directory=repository).err
    assert use(repository, begin) == len(VERBS)
    told = call("diff", _first(repository), directory=repository)
    objects = git(repository, "cat-file", "--batch", "--batch-all-objects", "--buffer")
    assert WORDS not in objects + told.out


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("name", ["refs", "refs/heads"])
def test_refs_behind_a_link_are_nobodys(name: str, repository: Path, other: Path) -> None:
    (repository / ".git/HEAD").write_bytes((other / "HEAD").read_bytes())
    assert Repository(other.parent).head().commit
    link(repository / ".git" / name, other / name)
    assert Repository(repository).head().commit is None
    assert Repository(repository).refs().keys() == {"HEAD"}


def test_a_branch_of_half_a_million_directories_is_passed_over(repository: Path, begin: Callable[[], None]) -> None:
    (repository / ".git/HEAD").write_text(f"ref: refs/heads{'/a' * 500_000}\n")
    begin()
    assert Repository(repository).head().commit is None


def test_a_repository_that_borrows_objects_has_checkpoints_that_can_be_gone_back_to(
    repository: Path, tmp_path: Path, begin: Callable[[], None]
) -> None:
    commit(repository, "first")
    subprocess.run(["git", "clone", "-q", "--shared", repository, tmp_path / "borrower"], check=True)
    assert use(tmp_path / "borrower", begin) == len(VERBS)


# What our ref says


def hash_of(repository: Path, line: str) -> str:
    """A tree that holds one entry."""
    command = ["git", "-C", str(repository), "mktree"]
    return subprocess.run(command, input=line.encode(), capture_output=True, check=True).stdout.decode().strip()


def in_a_shelf(repository: Path, leads_to: str) -> str:
    return hash_of(repository, f"040000 tree {git(repository, 'rev-parse', leads_to)}\t0\n")


POINTS: dict[str, Callable[[Path], str]] = {
    "a commit": lambda root: git(root, "rev-parse", "HEAD"),
    "a file": lambda root: git(root, "rev-parse", "HEAD:a.txt"),
    "a directory of the project": lambda root: git(root, "rev-parse", "HEAD^{tree}"),
    "a file on a shelf": lambda root: hash_of(root, f"100644 blob {git(root, 'rev-parse', 'HEAD:a.txt')}\t0\n"),
    "a directory on a shelf": lambda root: in_a_shelf(root, "HEAD^{tree}"),
    "a directory on a shelf of a shelf": lambda root: in_a_shelf(root, in_a_shelf(root, "HEAD^{tree}")),
    "nothing": lambda _: "a" * 40,
}
PACKED = [b"\xff\xfe", b"HEAD", b"", b"HEAD^{tree}", b"\x00" * 40, b"A" * 40]


def check_mended(repository: Path) -> None:
    """No command meets what it does not understand, and `repair` lets the ref name all checkpoints again."""
    for line in ("verify", "doctor", "checkpoints", "tidy"):
        assert call(*line.split(), directory=repository).code in (0, 1, 12), line
    call("repair", directory=repository)
    assert call("repair", directory=repository).ok().err == "The store is whole\n"
    call("verify", directory=repository).ok()
    for line in ("tidy", "checkpoint three", "restore one --yes"):
        call(*line.split(), directory=repository).ok()
    assert (repository / "a.txt").read_text() == "1\n"


@pytest.fixture
def kept(repository: Path) -> Path:
    """A project with a commit and two checkpoints."""
    (repository / "d").mkdir()
    for name in ("a.txt", "d/b"):
        (repository / name).write_text("1\n")
    commit(repository, "first")
    call("checkpoint", "one", directory=repository).ok()
    (repository / "a.txt").write_text("2\n")
    call("checkpoint", "two", directory=repository).ok()
    return repository


@pytest.mark.promise(19)
@pytest.mark.parametrize("what", POINTS)
def test_a_ref_of_ours_that_points_elsewhere_is_mended(what: str, kept: Path) -> None:
    (kept / ".git/refs/holdfast/main").write_text(POINTS[what](kept) + "\n")
    check_mended(kept)


@pytest.mark.promise(19)
@pytest.mark.parametrize("id", PACKED)
def test_a_packed_ref_of_ours_that_is_no_name_is_mended(id: bytes, kept: Path) -> None:
    (kept / ".git/refs/holdfast/main").unlink()
    (kept / ".git/packed-refs").write_bytes(id + b" refs/holdfast/main\n")
    check_mended(kept)


@pytest.mark.promise(19)
@pytest.mark.parametrize("what", POINTS)
def test_a_checkpoint_meets_whatever_a_ref_of_ours_points_at(what: str, kept: Path) -> None:
    (kept / ".git/refs/holdfast/main").write_text(POINTS[what](kept) + "\n")
    made = call("checkpoint", "three", directory=kept)
    assert made.code in (0, 12)
    assert made.code == 0 or "`holdfast repair`" in made.err or "`holdfast verify`" in made.err
