"""The user's list of trusted stores: those that Holdfast created here.

A store from an archive or a copied directory could tell the next agent anything, however much it looks like ours. So a
store is trusted only while it is the directory that we created: the same inode, at the same path or on the same device.
(A restart may change the device number, a move the path.)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import NotFound, Refused
from holdfast.core.text import path_text
from holdfast.journal.codec import read_record
from holdfast.system import files, locate


class Claim(Struct):
    """The record of a store that we created."""

    store: str
    path: str
    root: str
    device: int
    inode: int

    @property
    def place(self) -> Path:
        return _path(self.path)

    @property
    def project(self) -> Path:
        return _path(self.root)


def _path(text: str) -> Path:
    """Invert `path_text`, which writes invalid UTF-8 as `\\xff`."""
    if "\\x" not in text or os.path.lexists(text):
        return Path(text)
    import re  # such names are rare

    data = re.sub(rb"\\x([89a-f][0-9a-f])", lambda found: bytes([int(found[1], 16)]), text.encode())
    return Path(os.fsdecode(data))


def claim(directory: Path, id: str, store: Path, root: Path, here: Path | None = None) -> None:
    """Record a store in the list. Here and below, `here` is its path through an open descriptor."""
    status = os.stat(here or store)
    entry = Claim(id, path_text(store), path_text(root), status.st_dev, status.st_ino)
    files.make_private_directory(directory)
    files.write(directory / ids.file_name(id), msgspec.json.encode(entry), files.PRIVATE_FILE)


def check(directory: Path, store: Path, root: Path, here: Path | None = None) -> None:
    """Refuse a store that is not in the list. A moved store is the same directory, and its record is updated."""
    id = store_id(here or store)
    found = read_record(directory / ids.file_name(id), Claim)
    if found is None or not _is_same(found, store, here):  # safeguard: copied-store
        refuse(store)
    check_worktree(root, store)  # safeguard: worktree-elsewhere
    # the git directory names no worktree, as one made by `git init --separate-git-dir`
    is_guess = not _is_sure(root, store) and locate.git_directory(f"{root}/.git") is not None
    is_elsewhere = is_guess and found.root != path_text(root)
    other = os.fspath(found.project)
    is_lived_in = is_elsewhere and locate.locate_store(other) == (other, os.fspath(store))
    if is_lived_in and locate.worktree_name(other) == ".":  # safeguard: git-without-worktree
        way = f"work there: `cd {_quoted(found.root)}`"
        _refuse_astray("The store to which `.git` leads is another project's", ("project", found.root), way, root)
    if is_elsewhere or found.path != path_text(store):
        claim(directory, id, store, root, here)
    line = os.fsencode(root) + b"\n"  # for hooks, which do not read the user's list
    if is_guess and line.count(b"\n") == 1 and files.read((here or store) / "root", 64 * 1024) != line:
        files.write((here or store) / "root", line)


def find_earlier(directory: Path, store: Path, root: Path) -> Path | None:
    """Find our store in `.holdfast`, which a `.git` created later hides."""
    place = root / ".holdfast"
    if store == place or not os.path.lexists(place / "id"):
        return None
    found = read_record(directory / ids.file_name(store_id(place)), Claim)
    return place if found is not None and _is_same(found, place) else None


def check_worktree(root: Path, store: Path) -> None:
    """Refuse a linked worktree that its repository registers at another path: its `.git` may be from an archive."""
    if not _is_sure(root, store) and locate.worktree_name(os.fspath(root)) != ".":
        way = "`git worktree repair`, if you moved this worktree"
        _refuse_astray("The repository to which `.git` leads knows it elsewhere", ("store", store), way, root)


def _refuse_astray(message: str, fact: tuple[str, object], way: str, root: Path) -> NoReturn:
    git = _quoted(path_text(root / ".git"))
    away = f"if `.git` came from elsewhere: `mv {git} {git}.foreign`"
    raise Refused(message, [("worktree", root), fact], [way, away])


def _quoted(path: str) -> str:
    import shlex  # slow to import

    return shlex.quote(path)


def _is_sure(root: Path, store: Path) -> bool:
    """True if a worktree's git directory is inside it, or names it as its worktree."""
    git = f"{root}/.git"
    return os.fspath(store) == f"{git}/holdfast" or locate.git_directory(git, surely=True) is not None


def refuse(store: Path) -> NoReturn:
    place = _quoted(path_text(store))
    raise Refused(
        "This store was not made here, so it is not trusted",
        [("store", store)],
        [
            "`holdfast init --adopt` adopts it, if you know where it comes from",
            f"otherwise move it away: `mv {place} {place}.foreign`",
        ],
    )


def known(directory: Path) -> list[Claim]:
    """Return one record for each path at which we ever created a store, preferring the store that is there now."""
    listed = sorted(os.listdir(directory)) if directory.is_dir() else []
    names = (name for name in listed if not name.startswith("."))
    claims = [claim for name in names if (claim := read_record(directory / name, Claim))]
    return list({claim.path: claim for claim in sorted(claims, key=_is_there)}.values())


def every(directory: Path) -> list[Claim]:
    """Return the stores that are still where we created them."""
    return [claim for claim in known(directory) if _is_there(claim)]


def _is_there(claim: Claim) -> bool:
    return _is_same(claim, claim.place)


def check_there(claim: Claim) -> None:
    """Refuse a store that is gone or was replaced."""
    if not os.path.exists(claim.place):
        raise NotFound("The project is gone", [("store", claim.path)])
    if not _is_same(claim, claim.place):
        refuse(claim.place)


def _is_same(claim: Claim, store: Path, here: Path | None = None) -> bool:
    try:
        status = os.stat(here or store)
    except OSError:
        return False
    return status.st_ino == claim.inode and (path_text(store) == claim.path or status.st_dev == claim.device)


def store_id(store: Path) -> str:
    data = files.read(store / "id", 256) or b""
    return data.decode("utf-8", "replace").strip()
