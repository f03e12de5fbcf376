"""Git's objects as we write and find them: git itself must agree with every byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.core.errors import Trouble
from holdfast.system.git.repository import (
    BLOB,
    DIRECTORY,
    TREE,
    Entry,
    Format,
    Known,
    PackIndex,
    format_tree,
    parse_tree,
    write_pack,
)
from tests.environments import small_disk
from tests.worktrees import commit, git, put

FORMATS = ("sha1", "sha256")


@pytest.fixture(params=FORMATS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Format]:
    """An empty repository of either kind of names."""
    root = tmp_path / request.param
    subprocess.run(["git", "init", "-q", f"--object-format={request.param}", str(root)], check=True)
    return root, Format(request.param)


def objects_of(form: Format) -> dict[str, tuple[str, bytes]]:
    """Blobs of every length that is written differently, and a tree of them."""
    contents = [b"", b"x", b"x" * 15, b"x" * 16, b"x" * 2047, b"x" * 2048, os.urandom(70_000), b"\0" * 300_000]
    contents += [b"%d" % number for number in range(600)]
    found = {form.id_of(BLOB, data): (BLOB, data) for data in contents}
    tree = format_tree(Entry(0o100644, b"f%d" % number, id) for number, id in enumerate(found))
    return {**found, form.id_of(TREE, tree): (TREE, tree)}


def test_a_pack_is_one_that_git_accepts(store: tuple[Path, Format]) -> None:
    root, form = store
    objects = objects_of(form)
    stem = write_pack(root / ".git/objects", objects, form)
    assert stem is not None
    git(root, "verify-pack", str(stem.with_suffix(".idx")))
    git(root, "index-pack", "--strict", "--verify", str(stem.with_suffix(".pack")))
    git(root, "fsck", "--full", "--strict")
    made_by_git = root / "made.idx"
    git(root, "index-pack", "-o", str(made_by_git), str(stem.with_suffix(".pack")))
    assert made_by_git.read_bytes() == stem.with_suffix(".idx").read_bytes()


def test_git_reads_back_every_object_of_a_pack(store: tuple[Path, Format]) -> None:
    root, form = store
    objects = objects_of(form)
    write_pack(root / ".git/objects", objects, form)
    names = "".join(f"{id}\n" for id in objects).encode()
    command = ["git", "-C", str(root), "cat-file", "--batch"]
    answered = subprocess.run(command, input=names, capture_output=True, check=True).stdout
    expected = b"".join(
        b"%s %s %d\n%s\n" % (id.encode(), kind.encode(), len(data), data) for id, (kind, data) in objects.items()
    )
    assert answered == expected


def test_a_pack_stands_with_its_keep_file_and_belongs_to_nobody_who_writes(store: tuple[Path, Format]) -> None:
    root, form = store
    stem = write_pack(root / ".git/objects", {form.id_of(BLOB, b"x"): (BLOB, b"x")}, form)
    assert stem is not None
    assert stem.with_suffix(".keep").read_bytes() == b"holdfast\n"
    modes = {stem.with_suffix(suffix).stat().st_mode & 0o777 for suffix in (".keep", ".pack", ".idx")}
    assert modes == {0o444}
    assert {path.stem for path in stem.parent.iterdir()} == {stem.name}


def test_writing_the_same_pack_again_changes_nothing(store: tuple[Path, Format]) -> None:
    root, form = store
    objects = objects_of(form)
    stem = write_pack(root / ".git/objects", objects, form)
    assert stem is not None
    before = stem.with_suffix(".pack").stat().st_ino
    assert write_pack(root / ".git/objects", objects, form) == stem
    assert stem.with_suffix(".pack").stat().st_ino == before


def test_no_objects_make_no_pack(store: tuple[Path, Format]) -> None:
    root, form = store
    assert write_pack(root / ".git/objects", {}, form) is None
    assert list((root / ".git/objects/pack").iterdir()) == []


def test_names_are_those_that_git_gives(store: tuple[Path, Format]) -> None:
    root, form = store
    for data in (b"", b"x", b"a\r\nb", bytes(range(256)) * 9):
        put(root, {"file": data})
        assert form.id_of(BLOB, data) == git(root, "hash-object", "--no-filters", "file")


def test_trees_are_sorted_and_read_as_git_does(store: tuple[Path, Format]) -> None:
    root, form = store
    put(root, {"a/x": "1", "a.b": "2", "a-b": "3", "a0": "4", "ab/x": "5", "B": "6", "\udcff": "7", "new\nline": "8"})
    (root / "link").symlink_to("a")
    (root / "B").chmod(0o755)
    commit(root)
    id = git(root, "rev-parse", "HEAD^{tree}")
    command = ["git", "-C", str(root), "cat-file", "tree", id]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    entries = parse_tree(data, form)
    assert format_tree(reversed(entries)) == data
    assert form.id_of(TREE, data) == id
    assert {entry.name for entry in entries if entry.is_tree} == {b"a", b"ab"}
    assert {entry.mode for entry in entries} == {0o100644, 0o100755, 0o120000, DIRECTORY}


def test_what_a_pack_holds_is_known_and_what_is_loose_has_a_file(store: tuple[Path, Format], tmp_path: Path) -> None:
    root, form = store
    put(root, {"packed": "packed"})
    commit(root)
    git(root, "repack", "-adq")
    git(root, "prune-packed")
    borrower = tmp_path / "borrower"
    git(tmp_path, "clone", "-q", "--shared", str(root), str(borrower))
    put(borrower, {"loose": "loose"})
    commit(borrower)
    write_pack(borrower / ".git/objects", {form.id_of(BLOB, b"ours"): (BLOB, b"ours")}, form)
    known = Known(borrower / ".git/objects", form)
    names = {text: form.id_of(BLOB, text.encode()) for text in ("packed", "loose", "ours", "absent")}
    assert {text for text, id in names.items() if known.has(id)} == {"packed", "ours"}
    assert {text for text, id in names.items() if known.find_loose(id)} == {"loose"}


def test_alternates_that_are_relative_or_a_loop_do_no_harm(store: tuple[Path, Format], tmp_path: Path) -> None:
    root, form = store
    put(root, {"x": "x"})
    commit(root)
    other = tmp_path / "other" / "objects"
    (other / "info").mkdir(parents=True)
    (other / "info/alternates").write_text(f"# comment\n\n../../{root.name}/.git/objects\n../objects\n/not/there\n")
    known = Known(other, form)
    assert known.find_loose(form.id_of(BLOB, b"x"))
    assert not known.find_loose(form.id_of(BLOB, b"y"))
    git(root, "repack", "-adq")
    assert Known(other, form).has(form.id_of(BLOB, b"x"))


def test_an_index_finds_every_name_and_no_other(store: tuple[Path, Format]) -> None:
    root, form = store
    objects = objects_of(form)
    stem = write_pack(root / ".git/objects", objects, form)
    assert stem is not None
    index = PackIndex(stem.with_suffix(".idx"), form)
    assert len(index) == len(objects)
    assert list(index.names()) == sorted(objects)
    assert all(index.has(id) for id in objects)
    edge = form.size * 2
    assert not any(index.has(digit * edge) for digit in "0f")
    assert not any(index.has(form.id_of(BLOB, b"absent %d" % number)) for number in range(600))


def test_a_file_that_is_no_index_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pack-x.idx"
    path.write_bytes(b"not an index")
    with pytest.raises(ValueError, match="not a pack index"):
        PackIndex(path, Format("sha1"))


@pytest.mark.promise(5)
def test_a_pack_for_which_there_is_no_room_leaves_nothing_behind(tmp_path: Path) -> None:
    """A disk with room for a pack and none for its index kept the pack, which nobody could use, until a tidying."""
    form, noise, sizes = Format("sha1"), os.urandom(80_000), []
    with small_disk(tmp_path / "disk", "64k") as disk:
        for size in range(80_000, 40_000, -2_000):
            try:
                write_pack(disk, {form.id_of(BLOB, noise[:size]): (BLOB, noise[:size])}, form)
                break
            except Trouble:
                assert os.listdir(disk / "pack") == []
                sizes.append(size)
    assert any(size < 65_536 - 4_096 for size in sizes), "the pack alone never fitted"
