"""A `.git` with everything in it that has ever made git run a program, or look elsewhere."""

from __future__ import annotations

from pathlib import Path

HOOKS = """
    applypatch-msg pre-commit prepare-commit-msg commit-msg post-commit pre-merge-commit post-checkout post-merge
    pre-rebase pre-push pre-auto-gc post-rewrite fsmonitor-watchman post-index-change reference-transaction
    push-to-checkout pre-receive update post-update
"""
CONFIG = """
[core]
    fsmonitor = {command}
    hooksPath = .git/hooks
    pager = {command}
    editor = {command}
    askPass = {command}
    sshCommand = {command}
    gitProxy = {command}
    alternateRefsCommand = {command}
    attributesFile = {elsewhere}/attributes
    excludesFile = {elsewhere}/excludes
    worktree = /
[alias]
    status = !{command}
    rev-list = !{command}
    diff-tree = !{command}
    write-tree = !{command}
[filter "x"]
    clean = {command}
    smudge = {command}
    process = {command}
    required = true
[diff]
    external = {command}
[diff "x"]
    textconv = {command}
    command = {command}
[merge "x"]
    driver = {command}
[interactive]
    diffFilter = {command}
[sequence]
    editor = {command}
[pager]
    status = {command}
    rev-list = {command}
[credential]
    helper = !{command}
[gpg]
    program = {command}
[gpg "ssh"]
    program = {command}
[commit]
    gpgSign = true
[submodule "x"]
    path = x
    url = ext::{command}
    update = !{command}
    active = true
[submodule]
    recurse = true
[remote "origin"]
    url = ext::{command}
    promisor = true
    uploadpack = {command}
    vcs = x
[extensions]
    partialClone = origin
[protocol]
    allow = always
[uploadpack]
    packObjectsHook = {command}
[trailer "x"]
    command = {command}
[maintenance]
    auto = true
[gc]
    auto = 1
    recentObjectsHook = {command}
[include]
    path = {elsewhere}/included
[includeIf "gitdir:**"]
    path = {elsewhere}/included
"""
INCLUDED = "[core]\n    fsmonitor = {command}\n    hooksPath = {elsewhere}/hooks\n[diff]\n    external = {command}\n"


def set_traps(repository: Path, owned: Path, elsewhere: Path) -> None:
    """Let everything that git reads in a repository lead to a program that makes `owned`."""
    set_traps_in(repository / ".git", owned, elsewhere)
    (repository / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (repository / ".gitmodules").write_text(
        f'[submodule "x"]\n  path = x\n  url = ext::touch {owned}\n  update = !touch {owned}\n'
    )


def set_traps_in(git: Path, owned: Path, elsewhere: Path) -> None:
    """The same for a git directory alone."""
    command, program = f"touch {owned}", f"#!/bin/sh\ntouch {owned}\n"
    (elsewhere / "hooks").mkdir(parents=True)
    for name in HOOKS.split():
        for directory in (git / "hooks", elsewhere / "hooks"):
            directory.mkdir(exist_ok=True)
            (directory / name).write_text(program)
            (directory / name).chmod(0o755)
    (git / "config").write_text(CONFIG.format(command=command, elsewhere=elsewhere))
    (elsewhere / "included").write_text(INCLUDED.format(command=command, elsewhere=elsewhere))
    (elsewhere / "attributes").write_text("* filter=x diff=x merge=x\n")
    (elsewhere / "excludes").write_text("*\n")
    (git / "info").mkdir(exist_ok=True)
    (git / "info/attributes").write_text("* filter=x diff=x merge=x\n")
    (git / "config.worktree").write_text(INCLUDED.format(command=command, elsewhere=elsewhere))
