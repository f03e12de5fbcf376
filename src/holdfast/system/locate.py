"""Location of the worktree and the store for a directory.

Loaded first by hooks: only modules built into the interpreter are imported.
"""

import posix


def locate_store(start: str) -> tuple[str, str]:
    """Return (worktree, store) for a directory: of the nearest repository, or of a `.holdfast` above it.

    The store may not exist. A submodule without a store belongs to the outer project; any other repository is a
    boundary, so that a store in the home directory does not capture every project below it.
    """
    here = start
    nearest: tuple[str, str] | None = None
    while True:
        directory = git_directory(here + "/.git")
        if directory is not None:
            common = common_directory(directory)
            store = common + "/holdfast"
            if nearest is None:
                nearest = (here, store)
            if _is_directory(store):
                return here, store
            if not _is_submodule(here + "/.git", directory):
                return nearest
        elif _is_directory(here + "/.holdfast"):
            return here, here + "/.holdfast"
        if here in ("", "/"):
            return nearest or (start, start.rstrip("/") + "/.holdfast")
        here = here[: here.rfind("/")]


def _is_submodule(git: str, directory: str) -> bool:
    """Return True if a git directory lies below another one's `modules`."""
    if _is_directory(git):
        return False
    at = directory.find("/modules/")
    while at >= 0:
        if exists(directory[:at] + "/HEAD"):
            return True
        at = directory.find("/modules/", at + 1)
    return False


def git_directory(git: str, surely: bool = False) -> str | None:
    """Return the git directory of a `.git`, or None; with `surely`, only if it names this worktree."""
    if _is_directory(git):
        return git if exists(git + "/HEAD") else None
    real = _without_links(git) if exists(git) else ""  # a link is trusted as little as a file's line
    if not _is_directory(real):
        line = first_line(real)
        # safeguard: linked-dot-git-file
        real = _without_links(_join(real[: real.rfind("/")], line[8:])) if line.startswith("gitdir: ") else ""
    return real if real and _knows(real, git, surely) else None  # safeguard: linked-dot-git


def _without_links(path: str) -> str:
    """Resolve all links of a path; empty if they form a cycle."""
    done, left, links = "", path.split("/")[::-1], 40
    while left and links:
        done = _join(done, left.pop())
        try:
            target = posix.readlink(done)
        except (OSError, ValueError):  # not a link, the usual case
            continue
        done = "" if target.startswith("/") else done[: done.rfind("/")]
        left += target.split("/")[::-1]
        links -= 1
    return done if links else ""


def _knows(directory: str, git: str, surely: bool) -> bool:
    """Return True if the git directory belongs to this `.git`: a foreign one could redirect us to another project."""
    if not exists(directory + "/HEAD"):
        return False
    back = first_line(directory + "/gitdir")
    if back:  # stale after a manual move of the worktree, as git tolerates; `is_astray` detects it
        return _join(directory, back) == git or not (surely or exists(_join(directory, back)))
    above = git[: git.rfind("/")]
    for line in read_start(directory + "/config").decode("utf-8", "replace").splitlines():
        name, _, value = (part.strip(' \t"') for part in line.partition("="))
        if name == "worktree" or (name, value) == ("bare", "true"):  # a bare one has none, and may lie among them
            return _join(directory, value) == above if name == "worktree" else directory.startswith(above + "/")
    return not (surely or directory.endswith("/.git"))  # `git init --separate-git-dir` leaves no trace


def common_directory(directory: str) -> str:
    """Return the git directory shared by all worktrees, as `git rev-parse --git-common-dir` would.

    Only a directory below its `worktrees` is accepted: a forged one could redirect us to another project.
    """
    common = _join(directory, first_line(directory + "/commondir"))
    is_whole = exists(common + "/HEAD") and exists(common + "/objects")
    # safeguard: incomplete-common-directory
    return common if is_whole and directory.startswith(common + "/worktrees/") else directory


def worktree_name(root: str) -> str:
    """Return git's name of the worktree, a dot for the main one. A moved worktree keeps its name."""
    directory = git_directory(root + "/.git") or ""
    return directory[directory.rfind("/") + 1 :] if exists(directory + "/commondir") else "."


def is_astray(root: str, store: str) -> bool:
    """Return True if the store belongs to another worktree, by its repository or by its own record."""
    if store == root + "/.git/holdfast" or git_directory(root + "/.git", surely=True) is not None:
        return False
    return worktree_name(root) != "." or first_line(store + "/root") not in ("", root)


def main_worktree(root: str) -> str | None:
    """Return the main worktree of a linked one; None for the main one itself, and for a bare repository."""
    directory = git_directory(root + "/.git")
    common = common_directory(directory) if directory else None
    return common[:-5] if common and common != directory and common.endswith("/.git") else None


def _join(base: str, path: str) -> str:
    parts: list[str] = []
    for part in (path if path.startswith("/") else base + "/" + path).split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def exists(path: str, above: int | None = None) -> bool:
    try:
        posix.stat(path, dir_fd=above, follow_symlinks=False)
    except (OSError, ValueError):
        return False
    return True


def _is_directory(path: str) -> bool:
    try:
        return posix.lstat(path).st_mode & 0o170000 == 0o040000
    except (OSError, ValueError):
        return False


def first_line(path: str) -> str:
    return read_start(path).partition(b"\n")[0].decode("utf-8", "surrogateescape").rstrip("\r")


def read_start(path: str | bytes) -> bytes:
    try:
        file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except (OSError, ValueError):  # a NUL in the name raises ValueError
        return b""
    try:
        return posix.read(file, 4096)
    except OSError:
        return b""
    finally:
        posix.close(file)


def open_ours(path: str, above: int | None = None) -> int:
    """Return a descriptor of a directory of the user's own, neither a link nor writable by others.

    The opened directory is checked, so a later change of its name is harmless.
    """
    flags = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC  # safeguard: linked-hook-store
    directory = posix.open(path, flags, dir_fd=above)
    status = posix.fstat(directory)
    if status.st_mode & 0o022 or status.st_uid != posix.geteuid():  # safeguard: foreign-hook-store
        posix.close(directory)
        raise OSError(path + " is not ours")
    return directory
