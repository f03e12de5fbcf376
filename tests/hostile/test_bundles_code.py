"""Code in an exported run that would do harm: paths that leave the worktree, packs that are none, bombs."""

from __future__ import annotations

import hashlib
import os
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Damaged, Refused
from holdfast.project.workspace import Workspace
from holdfast.system.git.repository import Format
from holdfast.worktree.packs.portable import format_pack, parse_pack
from tests.hostile.forged_bundles import Parts, a_checkpoint, a_part, forged, refused

SHA1 = Format("sha1")


def tree(*entries: tuple[str, bytes, str]) -> tuple[str, bytes]:
    return "tree", b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(id) for mode, name, id in entries)


def id_of(found: tuple[str, bytes]) -> str:
    return SHA1.id_of(*found)


BLOB = ("blob", b"#!/bin/sh\ntouch pwned\n")


def code(root: tuple[str, bytes], *others: tuple[str, bytes], beside: bytes = b"") -> Callable[[Parts], None]:
    """A checkpoint of this tree."""

    def change(parts: Parts) -> None:
        around = ("blob", beside)
        objects = [root, BLOB, around, *others]
        parts["objects"] = b"".join(format_pack(objects, len(objects), SHA1))
        a_checkpoint(tree=id_of(root), beside=id_of(around), staged=None)(parts)

    return change


def nested(name: bytes) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    inner = tree(("100755", name, id_of(BLOB)))
    return tree(("40000", b"sub", id_of(inner))), inner


def plain(*, beside: bytes = b"") -> Callable[[Parts], None]:
    return code(tree(("100644", b"a", id_of(BLOB))), beside=beside)


TREES = {
    "git": code(
        tree(("40000", b".git", id_of(tree(("100755", b"x", id_of(BLOB)))))), tree(("100755", b"x", id_of(BLOB)))
    ),
    "git-below": code(*nested(b".git")),
    "git-in-other-letters": code(*nested(b".GiT")),
    "ours": code(tree(("100644", b".holdfast", id_of(BLOB)))),
    "parent": code(*nested(b"..")),
    "here": code(*nested(b".")),
    "slash": code(tree(("100644", b"../../x", id_of(BLOB)))),
    "nothing": code(tree(("100644", b"", id_of(BLOB)))),
    "twice": code(tree(("120000", b"a", id_of(BLOB)), ("40000", b"a", id_of(tree()))), tree()),
    "submodule": code(tree(("160000", b"a", id_of(BLOB)))),
    "odd-mode": code(tree(("104755", b"a", id_of(BLOB)))),
    "file-is-missing": code(tree(("100644", b"a", "1" * 40))),
    "directory-is-a-file": code(tree(("40000", b"a", id_of(BLOB)))),
    "file-is-a-directory": code(tree(("100644", b"a", id_of(tree()))), tree()),
    "not-a-tree": code(("tree", b"nonsense")),
    "cut": code(("tree", b"100644 a\0short")),
    "beside-leads-out": plain(beside=b"mode 644 ../x\0"),
    "beside-leads-to-git": plain(beside=b"empty .git/hooks\0"),
    "beside-leads-to-a-nested-git": plain(beside=b"empty sub/.git/hooks\0"),
    "beside-is-absolute": plain(beside=b"empty /etc/x\0"),
    "beside-acts-for-others": plain(beside=b"mode 4755 a\0"),
    "beside-is-nonsense": plain(beside=b"mode nine a\0"),
}


@pytest.mark.promise(22, 23)
@pytest.mark.parametrize("harm", TREES.values(), ids=TREES)
def test_code_that_would_leave_the_worktree_is_refused(
    stage: Workspace, file: Path, harm: Callable[[Parts], None]
) -> None:
    error = refused(stage, forged(file, harm))
    assert "code in this file" in error.message


def test_code_of_plain_files_is_taken_in(project: Workspace, file: Path) -> None:
    assert holdfast.import_run(project, forged(file, plain(beside=b"mode 600 a\0"))).checkpoints == 1


def a_pack(data: bytes) -> Callable[[Parts], None]:
    return lambda parts: parts.update(objects=data)


def packed(head: int, size: int, stream: bytes) -> bytes:
    """An object that says it has this size; of a kind, the number in the head."""
    first, rest = head << 4 | size & 15, size >> 4
    out = bytearray()
    while rest:
        out.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    return b"PACK\0\0\0\2\0\0\0\1" + bytes([*out, first]) + stream + b"\0" * 20


BOMBS = {
    "larger-than-it-says": packed(3, 10, zlib.compress(b"x" * 1000)),
    "smaller-than-it-says": packed(3, 1000, zlib.compress(b"x" * 10)),
    "says-it-is-absurd": packed(3, 1 << 60, zlib.compress(b"x")),
    "says-it-is-too-large": packed(3, 1 << 40, zlib.compress(b"x")),
    "difference": packed(7, 10, b"\0" * 20 + zlib.compress(b"x" * 10)),
    "commit": packed(1, 1, zlib.compress(b"x")),
    "not-compressed": packed(3, 10, b"0123456789"),
    "breaks-off": packed(3, 1000, zlib.compress(os.urandom(1000))[:100])[:-20],
    "goes-on": b"".join(format_pack([BLOB], 1, SHA1)) + b"more",
    "many": b"PACK\0\0\0\2\xff\xff\xff\xff",
    "other-version": b"PACK\0\0\0\3\0\0\0\0",
    "empty": b"",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_pack_that_is_no_pack_of_ours_is_refused(stage: Workspace, file: Path, bomb: bytes) -> None:
    refused(stage, forged(file, a_pack(bomb)))


def a_bomb(parts: Parts) -> None:
    """A few kilobytes that expand to seventy megabytes."""
    bomb = zlib.compressobj(9)
    data = b"".join(bomb.compress(b"\0" * (1 << 20)) for _ in range(70)) + bomb.flush()
    parts["events"] = data
    a_part(form="zlib", length=70 << 20, sha256=hashlib.sha256(data).hexdigest())(parts)


def test_bomb_is_known_before_it_goes_off(stage: Workspace, file: Path) -> None:
    with pytest.raises(Refused, match="too large"):
        holdfast.import_run(stage, forged(file, a_bomb))
    small = packed(3, 10, zlib.compress(b"x" * (1 << 27)))
    tracemalloc.start()
    with pytest.raises(Damaged, match="larger than it says"):
        list(parse_pack([small], SHA1, 1 << 30))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22
