"""Promise 23: whatever a `.git` holds, it runs nothing, and nothing outside of the worktree changes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.shadow import FOLDED
from tests.hostile.places import tree_of
from tests.hostile.traps import set_traps, set_traps_in
from tests.promises import Figure
from tests.surfaces.inside import call
from tests.tools import hook

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
