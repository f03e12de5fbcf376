"""Git as we start it: the real one, with nothing of the user's, and never waiting for ever."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holdfast.core.errors import Damaged, NotFound, Trouble
from holdfast.system.git import command as speaking
from holdfast.system.git.command import Git, Reader, TooMuch, find_git
from holdfast.system.git.repository import BLOB, TREE, Format, format_tree, write_pack

SHA1 = Format("sha1")


@pytest.fixture
def private(tmp_path: Path) -> Git:
    """A private directory over a worktree that has no repository."""
    (tmp_path / "root").mkdir()
    made = Git(tmp_path / "git", tmp_path / "root", tmp_path / "git/objects", tmp_path / "index", SHA1)
    made.prepare()
    made.objects.mkdir()
    return made


def program(path: Path, text: str = "#!/bin/sh\nexit 99\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


# Which git.


def test_a_git_that_lies_in_the_worktree_is_never_asked(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "bin"
    program(root / "bin/git")
    real = program(outside / "git")
    assert find_git(f"{root}/bin:{outside}", str(root)) == str(real)


def test_a_way_into_the_worktree_is_not_followed_either(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "bin"
    inside = program(root / "tools/git")
    (tmp_path / "linked").symlink_to(root / "tools")
    (tmp_path / "alias").mkdir()
    (tmp_path / "alias/git").symlink_to(inside)
    real = program(outside / "git")
    assert find_git(f"{tmp_path}/linked:{tmp_path}/alias:{outside}", str(root)) == str(real)


def test_a_place_that_depends_on_where_one_stands_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "here/git")
    real = program(tmp_path / "bin/git")
    monkeypatch.chdir(tmp_path / "here")
    assert find_git(f".::here:{tmp_path}/bin", str(tmp_path / "root")) == str(real)


def test_what_cannot_be_run_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/git").write_text("no program")
    (tmp_path / "directory/git").mkdir(parents=True)
    real = program(tmp_path / "bin/git")
    assert find_git(f"{tmp_path}/data:{tmp_path}/directory:{tmp_path}/bin", str(tmp_path / "root")) == str(real)


def test_no_git_at_all_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="git is not installed"):
        find_git(str(tmp_path), str(tmp_path / "root"))


# How it is talked to.


def test_more_than_a_pipe_holds_goes_both_ways_at_once(private: Git) -> None:
    names = [f"{number:040x}" for number in range(20_000)]
    said = private.run("cat-file", "--batch-check", input="".join(f"{name}\n" for name in names).encode())
    assert said.decode().splitlines() == [f"{name} missing" for name in names]


def test_a_command_that_fails_says_why_and_what_to_do(private: Git) -> None:
    with pytest.raises(Trouble) as caught:
        private.run("cat-file", "blob", "0" * 40)
    assert caught.value.message == "git cat-file failed"
    assert caught.value.hints
    assert dict(caught.value.facts)["exit code"] == "128"


def test_a_command_that_does_not_listen_is_no_trouble(private: Git) -> None:
    assert private.run("version", input=b"x" * 1_000_000).startswith(b"git version")


def test_a_command_that_never_ends_is_ended(private: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking, "DEADLINE", 0.2)
    running = private.start("cat-file", "--batch")
    kept_open = os.dup(running.input)  # so that it waits for more
    try:
        with pytest.raises(Trouble, match="did not finish"):
            running.finish()
    finally:
        os.close(kept_open)
    with pytest.raises(ChildProcessError):
        os.waitpid(running.pid, 0)


def test_a_command_may_be_given_less_time(private: Git) -> None:
    running = private.start("cat-file", "--batch")
    kept_open = os.dup(running.input)
    try:
        with pytest.raises(Trouble, match="did not finish") as caught:
            running.finish(deadline=0.1)
    finally:
        os.close(kept_open)
    assert caught.value.facts == [("deadline", "0.1 s")]
    with pytest.raises(ChildProcessError):
        os.waitpid(running.pid, 0)


def test_a_command_that_says_too_much_is_ended(private: Git) -> None:
    said = private.run("version")
    assert private.start("version").finish(most=len(said)) == said
    running = private.start("version")
    with pytest.raises(TooMuch):
        running.finish(most=len(said) - 1)
    with pytest.raises(ChildProcessError):
        os.waitpid(running.pid, 0)


def test_nothing_stays_open_behind_a_command(private: Git) -> None:
    private.run("version")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        private.run("version")
        private.start("cat-file", "--batch").stop()
        with pytest.raises(Trouble):
            private.run("no-such-command")
    assert len(os.listdir("/proc/self/fd")) == len(before)


# Objects.


def test_many_objects_are_read_in_their_order(private: Git) -> None:
    contents = [b"%d\n" % number * (number % 300) for number in range(500)] + [b"x" * 3_000_000, b"\n\0\n"]
    objects = {SHA1.id_of(BLOB, data): (BLOB, data) for data in contents}
    write_pack(private.objects, objects, SHA1)
    reader = Reader(private)
    wanted = [*objects, "0" * 40, *reversed(objects)]
    expected = [objects[id][1] if id in objects else None for id in wanted]
    assert list(reader.read_many(wanted)) == expected
    reader.close()


def test_what_is_about_to_be_written_is_read_too(private: Git) -> None:
    reader = Reader(private)
    data = format_tree([])
    reader.pending[SHA1.id_of(TREE, data)] = (TREE, data)
    assert reader.tree(SHA1.id_of(TREE, data)) == []
    assert list(reader.read_many([SHA1.id_of(TREE, data), "1" * 40])) == [data, None]
    reader.close()


def test_objects_that_came_after_the_reader_was_started_are_found(private: Git) -> None:
    reader = Reader(private)
    id = SHA1.id_of(BLOB, b"late")
    assert reader.read(id) is None
    write_pack(private.objects, {id: (BLOB, b"late")}, SHA1)
    assert reader.read(id) == b"late"
    reader.close()


def test_a_reader_that_was_killed_is_told_of_and_works_again(private: Git) -> None:
    reader = Reader(private)
    id = SHA1.id_of(BLOB, b"x")
    write_pack(private.objects, {id: (BLOB, b"x")}, SHA1)
    assert reader.read(id) == b"x"
    os.kill(reader.start().pid, 9)
    with pytest.raises(Damaged):
        reader.read(id)
    assert reader.read(id) == b"x"
    reader.close()
