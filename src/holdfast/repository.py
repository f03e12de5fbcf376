"""The user's repository as files: where it stands, what is under way, how it names objects. It is never written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from holdfast import files, spool
from holdfast.objects import Format

UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


class Head(NamedTuple):
    """Where the user's repository stands."""

    commit: str | None = None
    branch: str | None = None
    under_way: str | None = None


class Repository:
    """The user's repository, as files: never written, but for packs of our own and `refs/holdfast/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        directory = spool.git_directory(str(root / ".git"))
        self.directory = Path(directory) if directory else None
        self.common = Path(spool.common_directory(directory)) if directory else None

    @property
    def exists(self) -> bool:
        return self.directory is not None

    @property
    def objects(self) -> Path | None:
        return self.common / "objects" if self.common else None

    def format(self) -> Format:
        config = (files.read(self.common / "config") or b"") if self.common else b""
        return Format("sha256" if b"objectformat" in config.lower() and b"sha256" in config.lower() else "sha1")

    def uses_reftable(self) -> bool:
        return self.common is not None and (self.common / "reftable").is_dir()

    def head(self) -> Head:
        if self.directory is None or self.common is None:
            return Head()
        line = _line(self.directory / "HEAD")
        names = set(os.listdir(self.directory))
        under_way = next((word for name, word in UNDER_WAY.items() if name in names), None)
        if not line.startswith("ref: "):
            return Head(line or None, None, under_way)
        ref = line[5:]
        return Head(self._resolve(ref), ref.removeprefix("refs/heads/"), under_way)

    def _resolve(self, ref: str) -> str | None:
        assert self.common is not None
        assert self.directory is not None
        for directory in (self.directory, self.common):
            if commit := _line(directory / ref):
                return commit
        for line in (files.read(self.common / "packed-refs") or b"").splitlines():
            if line.endswith(b" " + ref.encode("utf-8", "surrogateescape")):
                return line.split(b" ")[0].decode()
        return None


def _line(path: Path) -> str:
    return (files.read(path, 1024 * 1024) or b"").partition(b"\n")[0].decode("utf-8", "surrogateescape").strip()
