"""A store that came with a copy, an archive or a clone: nothing in it is believed, and nothing is done through it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.file_trees import tree_of
from tests.hostile.conftest import RUN, SESSION
from tests.surfaces.commands import CASES, Case, Known
from tests.surfaces.in_process import call
from tests.tools import hook

pytestmark = pytest.mark.promise(20)

WITHOUT_A_STORE = {"config list", "config get", "config set", "completion", "help", "uninit", "trust", "untrust"}
KNOWN = Known(RUN, RUN, SESSION)


@pytest.fixture
def copied(target: Path, tmp_path: Path) -> Path:
    """What an archive of somebody's project would be, calls that wait in the inbox included."""
    hook(target, event="Waiting")
    copy = tmp_path / "copy"
    shutil.copytree(target, copy)
    return copy


with_a_store = [case for case in CASES if case.words not in {*WITHOUT_A_STORE, "doctor"}]


@pytest.mark.parametrize("case", with_a_store, ids=lambda case: case.words)
def test_every_verb_refuses_a_copied_store_and_leaves_it_as_it_is(case: Case, copied: Path) -> None:
    before = tree_of(copied)
    done = call(*case.line(KNOWN), directory=copied)
    assert (done.code, done.out) == (1, ""), done.out
    assert "was not made here" in done.err
    assert "`holdfast init --adopt`" in done.err
    assert tree_of(copied) == before


@pytest.mark.parametrize("words", sorted(WITHOUT_A_STORE))
def test_verbs_that_need_no_store_work_beside_a_copied_one(words: str, copied: Path) -> None:
    (case,) = [case for case in CASES if case.words == words]
    assert call(*case.line(KNOWN), directory=copied).code == 0


def test_the_doctor_says_that_a_copied_store_is_not_ours_and_leaves_it_as_it_is(copied: Path) -> None:
    before = tree_of(copied)
    done = call("doctor", directory=copied)
    assert (done.code, "broken   store: This store was not made here" in done.out) == (1, True)
    assert tree_of(copied) == before


def test_a_copied_store_can_be_adopted(copied: Path) -> None:
    call("init", "--adopt", directory=copied).ok()
    assert "robot Waiting" in call("log", directory=copied).ok().out
    assert call("verify", directory=copied).ok()


def test_a_store_that_was_moved_with_its_project_is_still_ours(target: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    target.rename(moved)
    assert call("status", directory=moved).ok().out.startswith("goal\n")
    moved.rename(target)


@pytest.mark.promise(22)
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o722])
def test_a_store_that_others_can_write_into_is_refused(mode: int, target: Path) -> None:
    store = target / ".git/holdfast"
    store.chmod(mode)
    done = call("status", directory=target)
    assert done.code == 1
    assert "chmod go-w" in done.err
    hook(target)
    assert os.listdir(store / "inbox") == []
    store.chmod(0o700)


@pytest.mark.promise(1, 22)
@pytest.mark.parametrize("name", ["inbox", "inbox/aside"])
def test_no_call_of_another_project_is_taken_in_or_removed_through_a_link(
    name: str, target: Path, tmp_path: Path
) -> None:
    """Those that waited there were read here, and were gone there."""
    hostile = tmp_path / "hostile"
    subprocess.run(["git", "init", "-q", str(hostile)], check=True)
    call("start", "hostile", directory=hostile).ok()
    theirs, ours = target / ".git/holdfast/inbox/aside", hostile / ".git/holdfast" / name
    hook(target)
    theirs.mkdir(mode=0o700)
    (theirs / "strange").write_bytes(b"no call")
    before = tree_of(target / ".git/holdfast/inbox")
    shutil.rmtree(ours, ignore_errors=True)
    ours.symlink_to(target / ".git/holdfast" / name)
    for line in ("status", "sweep", "verify", "doctor", "note text", "tidy", "delete hostile --purge --yes"):
        done = call(*line.split(), directory=hostile)
        assert done.code in (0, 1, 10, 12), done.err
        assert "/proc/self" not in done.out + done.err
    hook(hostile)
    assert tree_of(target / ".git/holdfast/inbox") == before
    assert name != "inbox" or "move it away" in call("status", directory=hostile).err


# A clone can bring a store: a `.holdfast` directory below the repository's root is found by whoever works there.


@pytest.fixture
def precious(home: Path) -> Path:
    path = home / ".ssh" / "authorized_keys"
    path.parent.mkdir()
    path.write_text("ssh-ed25519 AAAA mine\n" * 40)
    return path


@pytest.fixture
def planted(repository: Path) -> Path:
    """The store that a cloned repository brought, in a directory below."""
    store = repository / "sub" / ".holdfast"
    store.mkdir(parents=True)
    store.chmod(0o755)
    (store / "id").write_text("store-aaaaaaaaaa\n")
    return store


@pytest.mark.promise(22)
def test_trouble_is_not_written_through_a_link(planted: Path, precious: Path, home: Path) -> None:
    (planted / "trouble").symlink_to(precious)
    before = tree_of(home)
    hook(planted.parent)
    assert tree_of(home) == before


@pytest.mark.promise(22)
@pytest.mark.parametrize("name", ["inbox", "trouble", "lock", "journal.db", "listed.json", "off"])
def test_nothing_is_written_through_a_link_in_a_planted_store(
    name: str, planted: Path, precious: Path, home: Path
) -> None:
    (planted / name).symlink_to(precious.parent if name == "inbox" else precious)
    before = tree_of(home)
    hook(planted.parent, call=b'{"prompt": "secret"}')
    for arguments in (("status",), ("start", "goal"), ("note", "x"), ("runs",), ("off",), ("on",), ("sweep",)):
        assert call(*arguments, directory=planted.parent).code in (0, 1, 10)
    assert tree_of(home) == before


@pytest.mark.promise(22)
def test_a_store_that_is_a_link_is_refused(repository: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "inbox").mkdir(parents=True)
    (elsewhere / "id").write_text("store-aaaaaaaaaa\n")
    (repository / ".git/holdfast").symlink_to(elsewhere)
    before = tree_of(elsewhere)
    hook(repository)
    for arguments in (("status",), ("start", "goal"), ("init",), ("init", "--adopt"), ("off",), ("on",), ("sweep",)):
        assert call(*arguments, directory=repository).code == 1, arguments
    assert tree_of(elsewhere) == before


@pytest.mark.promise(19, 22)
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe", "directory", "socket", "unreadable"])
def test_what_is_no_file_in_the_inbox_stops_nobody_and_is_not_read(
    kind: str, target: Path, precious: Path, home: Path
) -> None:
    odd = target / ".git/holdfast/inbox/00000000000000000001-2cc64b64-1-00000000"
    make: dict[str, Callable[[], object]] = {
        "link": lambda: odd.symlink_to(precious),
        "link to nothing": lambda: odd.symlink_to(home / "nothing"),
        "pipe": lambda: os.mkfifo(odd),
        "directory": odd.mkdir,
        "socket": lambda: os.mknod(odd, 0o140600),
        "unreadable": lambda: odd.write_bytes(b"\xff" * 100),
    }
    make[kind]()
    before = tree_of(home)
    hook(target, event="Behind")
    assert "robot Behind" in call("log", directory=target).ok().out
    assert "ssh-ed25519" not in call("log", "--json", directory=target).ok().out
    assert "1 call" in call("status", directory=target).ok().out
    assert tree_of(home) == before


def test_a_planted_store_tells_nobody_anything(target: Path, repository: Path) -> None:
    """The worst that a clone could bring: a whole store, made elsewhere, with a run that gives orders."""
    sub = repository / "sub"
    sub.mkdir()
    shutil.copytree(target / ".git/holdfast", sub / ".holdfast")
    for arguments in (("brief",), ("status",), ("show",), ("log",), ("runs",)):
        done = call(*arguments, directory=sub)
        assert (done.code, done.out) == (1, "")
    assert call("brief", directory=target).ok()


def test_the_state_of_a_copied_checkout_is_not_taken_for_the_original_s(target: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", str(target), str(copy)], check=True)
    assert call("status", directory=copy).code == 1
    assert call("status", directory=target).code == 0
