"""Which files the repository sends through a filter, as Git LFS and git-crypt do. No filter is ever run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from holdfast import files
from holdfast.errors import HoldfastError
from holdfast.git import Git, zsplit


def filtered(git: Git, directory: Path, paths: Iterable[bytes]) -> set[bytes]:
    """Those of the paths before which a filter stands. Git is asked in a directory that does not switch filters off."""
    listed = list(paths)
    if not any(_names_filter(path) for path in _attributes(git.root, listed)):
        return set()
    plain = Git(directory / "plain", git.root, git.objects, git.index, git.form, whole=True)
    plain.prepare()
    files.remove(plain.directory / "info" / "attributes")
    raw = zsplit(plain.run("check-attr", "-z", "--stdin", "filter", input=b"".join(path + b"\0" for path in listed)))
    values = dict(zip(raw[::3], raw[2::3], strict=True))
    return {path for path, value in values.items() if value not in (b"unspecified", b"unset")}


def _attributes(root: Path, paths: list[bytes]) -> set[Path]:
    """Every .gitattributes file that could speak about these paths."""
    directories = {b""}
    for path in paths:
        while path := os.path.dirname(path):
            directories.add(path)
    return {root / os.fsdecode(directory) / ".gitattributes" for directory in directories}


def _names_filter(attributes: Path) -> bool:
    try:
        return b"filter=" in (files.read(attributes) or b"")
    except HoldfastError:  # not a file
        return False
