"""What git tells about a project: the user's own answers, and nothing that a repository brings is ever run."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from holdfast.project.artifacts import git_info as source
from holdfast.project.artifacts.protocol import Unloadable, Wanted
from tests.system.git.test_command import program

WHO = ("-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "commit.gpgsign=false")


def git(directory: Path, *arguments: str) -> str:
    """What the user's own git says."""
    done = subprocess.run(["git", "-C", directory, *WHO, *arguments], capture_output=True, check=True)
    return done.stdout.decode()


def commit(directory: Path, message: str, **contents: str) -> None:
    for name, text in contents.items():
        (directory / name).write_text(text)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def root(repository: Path) -> Path:
    """Two commits on `main`, a third on `work`, a tag, and changes that are staged and not."""
    git(repository, "symbolic-ref", "HEAD", "refs/heads/main")
    commit(repository, "The first", a="one\n", b="x\n")
    commit(repository, "The second", a="two\n")
    git(repository, "tag", "-a", "v1", "-m", "Version 1")
    git(repository, "checkout", "-q", "-b", "work")
    commit(repository, "The third", c="three\n")
    (repository / "a").write_text("changed\n")
    (repository / "b").write_text("staged\n")
    git(repository, "add", "b")
    (repository / "new").touch()
    return repository


def wanted(root: Path, command: str, limit: int = 1_000_000) -> Wanted:
    return Wanted("commits", "git_info", root, command=command, limit=limit)


def ask(root: Path, command: str) -> str:
    assert source.look(wanted(root, command)).exists
    return source.load(wanted(root, command)).text


def refusal(root: Path, command: str) -> Unloadable:
    with pytest.raises(Unloadable) as caught:
        source.load(wanted(root, command))
    return caught.value


def content(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(directory.rglob("*"))
    }


COMMANDS = [
    "git log",
    "git log --oneline -10",
    "git log --oneline main..HEAD",
    "git log --format='%h|%s; %an' --stat --since='10 years ago' -- a c",
    "git log -p -n 2 --no-merges",
    "git log -Stwo --oneline",
    "git log -L1,1:a --oneline",
    "git log --all --graph --decorate --oneline",
    "git show",
    "git show --stat v1",
    "git show HEAD:a",
    "git show HEAD~1 --name-only",
    "git diff",
    "git diff --stat",
    "git diff --cached",
    "git diff main...HEAD --name-status",
    "git diff -U1 HEAD -- a",
    "git status",
    "git status --short --branch",
    "git status -sb -uno",
    "git status --porcelain=v2",
    "git shortlog -sn HEAD",
    "git describe --tags --always",
    "git rev-parse --short HEAD",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse --show-toplevel",
    "git rev-list --count main..work",
    "git branch",
    "git branch --show-current",
    "git branch -a -vv",
    "git branch --list",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_answer_is_that_of_the_users_git_and_nothing_changes(root: Path, command: str) -> None:
    before = content(root)
    answer = ask(root, command)
    assert content(root) == before
    assert answer == git(root, *shlex.split(command)[1:])
    assert answer


def test_a_short_log_needs_no_commit_to_be_named(root: Path) -> None:
    assert ask(root, "git shortlog -sn") == git(root, "shortlog", "-sn", "HEAD")
    assert ask(root, "git shortlog -s -- c") == git(root, "shortlog", "-s", "HEAD", "--", "c")
    assert ask(root, "git shortlog --all") == git(root, "shortlog", "--all")


# How a repository can look.


def test_a_detached_head_is_followed(root: Path) -> None:
    git(root, "stash")
    git(root, "checkout", "-q", "v1")
    assert ask(root, "git log --oneline") == git(root, "log", "--oneline")
    assert ask(root, "git status -sb") == git(root, "status", "-sb")
    assert ask(root, "git branch --show-current") == ""


def test_packed_refs_and_those_that_name_others_are_known(root: Path, tmp_path: Path) -> None:
    git(root, "pack-refs", "--all")
    git(tmp_path, "clone", "-q", str(root), "clone")
    clone = tmp_path / "clone"
    assert ask(root, "git log --oneline main..HEAD").count("\n") == 1
    assert ask(clone, "git rev-parse origin/HEAD") == git(clone, "rev-parse", "origin/HEAD")
    assert ask(clone, "git log --oneline --all --decorate") == git(clone, "log", "--oneline", "--all", "--decorate")


def test_a_linked_worktree_has_its_own_head_and_index(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "beside", str(tmp_path / "beside"), "main")
    beside = tmp_path / "beside"
    (beside / "a").write_text("changed beside\n")
    before = content(root), content(beside)
    answers = {
        name: ask(beside, f"git {name}") for name in ("log --oneline", "status", "diff", "branch --show-current")
    }
    assert ask(beside, "git log --oneline beside..work").count("\n") == 1
    assert (content(root), content(beside)) == before
    assert answers == {name: git(beside, *name.split()) for name in answers}


def test_objects_that_lie_elsewhere_are_told_once_they_were_copied(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(root), "borrower")
    borrower = tmp_path / "borrower"
    error = refusal(borrower, "git log -p")
    assert "borrows objects" in error.why
    assert error.hint == "`git repack -a -d` copies them; then remove that file"
    git(borrower, "repack", "-a", "-d")
    (borrower / ".git/objects/info/alternates").unlink()
    assert ask(borrower, "git log -p") == git(root, "log", "-p")


def test_a_shallow_clone_ends_where_it_ends(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", "shallow")
    assert ask(tmp_path / "shallow", "git log --oneline") == git(tmp_path / "shallow", "log", "--oneline")


def test_a_split_index_is_read(root: Path) -> None:
    git(root, "update-index", "--split-index")
    before = content(root)
    answer = ask(root, "git status")
    assert content(root) == before
    assert answer == git(root, "status")


def test_names_of_sixty_four_digits_are_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "wide")
    commit(tmp_path / "wide", "The first", a="one\n")
    assert ask(tmp_path / "wide", "git log -p --no-abbrev-commit") == git(tmp_path / "wide", "log", "-p")


def test_what_the_repository_ignores_is_not_shown(root: Path) -> None:
    (root / ".git/info/exclude").write_text("new\n")
    assert "new" not in ask(root, "git status --short")


def test_our_own_refs_are_not_shown(root: Path) -> None:
    git(root, "update-ref", "refs/holdfast/worktrees/x", "HEAD~1")
    assert refusal(root, "git show refs/holdfast/worktrees/x").why.startswith("git show failed: ")


def test_refs_that_are_no_refs_are_passed_over(root: Path) -> None:
    refs = root / ".git/refs/heads"
    os.mkfifo(refs / "pipe")
    os.symlink("/etc/passwd", refs / "link")
    (refs / "words").write_text("not an object\n")
    (refs / "new\nline").write_text(git(root, "rev-parse", "HEAD"))
    (refs / "away").write_text("ref: ../../../outside\n")
    assert ask(root, "git branch") == "  main\n* work\n"


@pytest.mark.parametrize("name", ["index", "HEAD", "packed-refs", "shallow"])
def test_a_pipe_in_place_of_a_file_of_git_is_not_waited_for(root: Path, name: str) -> None:
    (root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(root / ".git" / name)
    assert refusal(root, "git status").why


def test_without_a_repository_or_a_commit_that_is_said(tmp_path: Path, repository: Path) -> None:
    error = refusal(tmp_path, "git log")
    assert error.missing
    assert error.why == "needs a git repository, and the project has none"
    assert not source.look(wanted(tmp_path, "git log")).exists
    error = refusal(repository, "git log")
    assert error.missing
    assert error.why == "needs a commit, and the repository has none yet"
    assert "No commits yet" in ask(repository, "git status")
    (repository / ".git/reftable").mkdir()
    assert "reftable" in refusal(repository, "git status").why


def test_what_git_complains_about_is_told_on_one_line(root: Path) -> None:
    why = refusal(root, "git log no-such-branch").why
    assert why.startswith("git log failed: fatal: ambiguous argument 'no-such-branch'")
    assert "\n" not in why


def test_a_picture_is_no_text(root: Path) -> None:
    (root / "picture").write_bytes(b"\0\1\2")
    git(root, "add", "picture")
    assert refusal(root, "git show :picture").why == "is not a text"


def test_more_than_the_limit_is_not_waited_for(root: Path) -> None:
    with pytest.raises(Unloadable, match="larger than 10 bytes") as caught:
        source.load(wanted(root, "git log -p", limit=10))
    assert caught.value.size == 11


def test_what_takes_too_long_is_ended(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / ".git/objects/info/commit-graph")  # which git waits for, and nobody writes
    monkeypatch.setattr(source, "DEADLINE", 0.2)
    assert refusal(root, "git log").why == "git log did not finish: 0.2 s"


def test_nothing_is_left_behind(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    ask(root, "git log")
    refusal(root, "git log no-such-branch")
    assert os.listdir(tmp_path / "scratch") == []


# What a repository brings must not run.


@pytest.fixture
def trap(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that appears once anything that the repository or its submodule configures was run."""
    fell, script = tmp_path / "fell", tmp_path / "script"
    program(script, f"#!/bin/sh\necho run >> {fell}\ncat\n")
    inner = root / "inner"
    git(root, "init", "-q", "inner")
    commit(inner, "Inside", f="1\n")
    (root / ".gitattributes").write_text("* diff=evil filter=evil merge=evil\n")
    (inner / ".gitattributes").write_text("* diff=evil filter=evil\n")
    (root / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n')
    commit(root, "A submodule")
    for directory in (root, inner):
        for key in ("core.fsmonitor", "core.pager", "diff.external", "gpg.program", "core.sshCommand", "core.editor"):
            git(directory, "config", key, str(script))
        for key in ("diff.evil.textconv", "diff.evil.command", "filter.evil.clean", "filter.evil.smudge"):
            git(directory, "config", key, str(script))
        for key in ("alias.log", "alias.evil", "pager.log", "pager.status"):
            git(directory, "config", key, f"!{script}")
        for hook in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction"):
            program(directory / ".git/hooks" / hook, script.read_text())
    for name in ("GIT_PAGER", "PAGER", "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_EDITOR"):
        monkeypatch.setenv(name, str(script))
    (root / "a").write_text("changed again\n")
    (inner / "f").write_text("2\n")
    fell.unlink(missing_ok=True)
    return fell


def test_the_trap_works(root: Path, trap: Path) -> None:
    git(root, "status")
    assert trap.exists()
    trap.unlink()
    git(root, "diff")
    assert trap.exists()


SPRUNG = [
    "git status", "git status --short", "git diff", "git diff HEAD", "git diff --cached", "git log -p", "git show HEAD",
    "git show HEAD:a", "git log --stat --all", "git describe --always", "git shortlog", "git branch -a",
    "git log -L1,1:a",
]  # fmt: skip


@pytest.mark.parametrize("command", SPRUNG)
def test_no_hook_filter_pager_or_diff_program_of_a_repository_runs(root: Path, trap: Path, command: str) -> None:
    before = content(root)
    ask(root, command)
    assert not trap.exists()
    assert content(root) == before


REFUSED = [
    # before the sub-command
    "git -c core.pager=x log", "git -C .. log", "git --git-dir=x log", "git --git-dir x log", "git --work-tree=/ log",
    "git --exec-path=. log", "git -p log", "git --paginate log", "git --no-pager log", "git --bare log",
    "git --config-env=a=b log", "git --namespace=x log", "git --", "git -h", "git --version", "git",
    # other programs, other sub-commands
    "ls", "/usr/bin/git log", "./git log", "gitk", "GIT_DIR=x git log", "sudo git log", "git fetch", "git push",
    "git commit -m x", "git checkout main", "git gc", "git config -l", "git grep x", "git blame a", "git archive HEAD",
    "git cat-file --textconv HEAD:a", "git diff-files", "git stash", "git evil", "git help log", "git remote -v",
    # options that run, write or read something else, and every abbreviation that git would take
    "git log --ext-diff -p", "git log --ext-di -p", "git log --ext -p", "git show --textconv", "git show --textc",
    "git log --output=x", "git log --output x", "git log --outpu=x", "git diff --out=x", "git diff --no-index a b",
    "git diff --no-ind a b", "git log -Ox", "git log -O x", "git log -pOx", "git log --orderfile=x", "git log --stdin",
    "git log --std", "git rev-list --stdin", "git rev-list --use-bitmap-index", "git log --remerge-diff",
    "git log --diff-merges=remerge", "git log --diff-merges=r", "git log --show-signature", "git log --show-sig",
    "git log --format=%G?", "git log --pretty=format:%GS", "git log --pretty tformat:%GK", "git log --format=%+GS",
    "git log '--format=% GG'", "git log --format=%-G?", "git log --submodule=diff",
    "git diff --submodule", "git diff --ignore-submodules=none", "git diff --ignore-sub=none", "git status -v",
    "git status --ignore-submodules=none", "git status --recurse-submodules", "git status --pathspec-from-file=x",
    "git diff -O/etc/passwd", "git diff --exit-code", "git diff --contents x", "git log -c", "git log -C", "git log -g",
    "git describe --dirty", "git describe --broken", "git describe --dir", "git rev-parse --parseopt",
    "git rev-parse --sq-quote x", "git rev-parse --git-dir", "git rev-parse --resolve-git-dir x", "git log --color",
    "git log --end-of-options --output=x", "git log -S -- --output=x", "git log -- --output=x", "git log -",
    "git show --color=always", "git log --no-walk=x --outp=y", "git shortlog --output=x", "git log --relative=..",
    # branches are listed and nothing else
    "git branch new", "git branch -d work", "git branch -D work", "git branch -m work other", "git branch -f main HEAD",
    "git branch --edit-description", "git branch --set-upstream-to=main", "git branch --unset-upstream",
    "git branch --list x", "git branch -- new", "git branch -c new", "git branch -va", "git branch --contains HEAD",
    # paths that lead out
    "git diff a /etc/passwd", "git diff /dev/null a", "git diff ../secret.txt a", "git log -- ../x",
    "git diff x/../../y", "git show HEAD:../x", "git log -- ..", "git diff a ..", "git diff -- a /etc/passwd",
    "git log -- 'a/..'",
    # there is no shell
    "git log | head", "git log |head", "git log ; touch x", "git log; touch x", "git log && touch x", "git log & ",
    "git log > x", "git log >x", "git log 2>&1", "git log 2>/dev/null", "git log < x", "git log || touch x",
    "git log $(touch x)", "git log `touch x`", "git log HEAD; touch x", "git log 'unclosed", "git log \\",
    "git log \x00", "git log \x1b", "git log \udcff", "git log \u202e", "git log " + "a" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("command", REFUSED)
def test_what_could_do_more_than_read_is_refused_before_git_is_started(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # where there is no git: a command that passes would say so
    before = content(root)
    error = refusal(root, command)
    assert "not installed" not in error.why
    assert "failed" not in error.why
    assert not source.look(wanted(root, command)).exists
    assert content(root) == before


def test_an_allowed_command_would_not_have_been_refused_there(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(root, "git log").why == "git is not installed"


@pytest.mark.parametrize(
    ("command", "why", "hint"),
    [
        ("git fetch", "names the sub-command fetch, which is not on the list", "these read only: log, show, diff"),
        ("git log --output=x", "has the option --output=x, which is not on the list for `git log`", None),
        ("git log | head", "has |, but there is no shell", "name one git command and nothing else"),
        ("git -c a=b log", "has -c before the sub-command, which is not allowed", None),
        ("make", "is not a git command", "a git_info artifact begins with `git`"),
        ("git diff a /x", "has the path /x, which may lead out of the project", None),
    ],
)
def test_a_refusal_names_the_word(root: Path, command: str, why: str, hint: str | None) -> None:
    error = refusal(root, command)
    assert error.why == why
    assert (error.hint or "").startswith(hint or "")
