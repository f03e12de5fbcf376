"""Which files git holds otherwise than they stand: by a filter, as Git LFS and git-crypt do it, or another attribute.

No filter is ever run.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.system import files
from holdfast.system.git.command import Git, zsplit

CONVERTING = ("filter", "ident", "working-tree-encoding")


def filtered(git: Git, directory: Path, paths: Iterable[bytes]) -> set[bytes]:
    """Those of the paths before which a filter stands."""
    return _having(("filter",), git, directory, list(paths), b"")


def converted(git: Git, directory: Path, paths: Iterable[bytes], own: Path | None) -> set[bytes]:
    """Those of which git may hold other bytes of the same number; `own` are the attributes that the user alone has."""
    return _having(CONVERTING, git, directory, list(paths), _read(own) if own else b"")


def _having(names: tuple[str, ...], git: Git, directory: Path, paths: list[bytes], own: bytes) -> set[bytes]:
    """Those that have one of the attributes. Git is asked in a directory that does not switch them off."""
    wanted = [name.encode() for name in names]
    texts = itertools.chain([own], map(_read, _attributes(git.root, paths)))
    if not any(name in text for text in texts for name in wanted):
        return set()
    plain = Git(directory / "plain", git.root, git.objects, git.index, git.form, whole=True)
    plain.prepare()
    if own:
        files.write(plain.directory / "info" / "attributes", own)
    else:
        files.remove(plain.directory / "info" / "attributes")
    listed = b"".join(path + b"\0" for path in paths)
    raw = zsplit(plain.run("check-attr", "-z", "--stdin", *names, input=listed))
    told = zip(raw[::3], raw[2::3], strict=True)
    return {path for path, value in told if value not in (b"unspecified", b"unset")}


def _attributes(root: Path, paths: list[bytes]) -> set[Path]:
    """Every .gitattributes file that could speak about these paths."""
    directories = {b""}
    for path in paths:
        while path := os.path.dirname(path):
            directories.add(path)
    return {root / os.fsdecode(directory) / ".gitattributes" for directory in directories}


def _read(attributes: Path) -> bytes:
    try:
        return files.read(attributes) or b""
    except HoldfastError:  # not a file
        return b""
