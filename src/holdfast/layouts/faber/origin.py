"""The host, worktree and conversation in which a session record was opened, compared with those of now."""

from __future__ import annotations

from typing import Any

from holdfast.core.text import one_line

WIDTH = 200  # of a place that is told


def is_foreign(environment: object, host: object, worktree: str) -> bool:
    """Whether a record's environment names another host or another worktree.

    A member that the record lacks contradicts nothing: other programs write fewer of them.
    """
    found: dict[str, Any] = environment if isinstance(environment, dict) else {}
    named, ours = _text(found.get("hostname")), _text(host)
    if named and ours and _label(named) != _label(ours):
        return True
    if root := _text(found.get("worktree")):
        return bool(worktree) and root != worktree
    directory = _text(found.get("cwd"))
    return bool(worktree and directory) and not _is_inside(directory, worktree)


def is_of_another(owner: object, client: str | None, *, by_hook: bool) -> bool:
    """Whether a record belongs to another conversation. To a hook, a record without an owner does too."""
    if named := _text(owner):
        return named != client and (by_hook or bool(client))
    return by_hook


def described(environment: object) -> str:
    """The host and the directory that a record names, for people."""
    found: dict[str, Any] = environment if isinstance(environment, dict) else {}
    directory = _text(found.get("worktree")) or _text(found.get("cwd"))
    return one_line(", ".join(part for part in (_text(found.get("hostname")), directory) if part), WIDTH)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _label(host: str) -> str:
    """The first label of a host name: a laptop that changes networks changes the others."""
    return host.partition(".")[0].lower()


def _is_inside(directory: str, worktree: str) -> bool:
    return f"{directory.rstrip('/')}/".startswith(f"{worktree.rstrip('/')}/")
