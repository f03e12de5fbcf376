"""Artifact of a git command: an allow-list of read-only commands, run in a private git directory, without a shell.

The command can come with the repository. So only reading sub-commands are allowed, and only the options listed here,
unabbreviated: git accepts any abbreviation, and each version has new options. The private directory has an empty
configuration, so that no hook, filter, pager or diff program is started.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.core.errors import HoldfastError
from holdfast.core.text import path_text, visible
from holdfast.project.artifacts.protocol import Found, Loaded, Unloadable, Wanted, said, too_large
from holdfast.system import files, safe_paths
from holdfast.system.git.repository import Repository

if TYPE_CHECKING:
    from holdfast.system.git.command import Git

DEADLINE = 10.0
LONGEST = 4096  # characters of a command


class Allowed(NamedTuple):
    """Allowed arguments of a sub-command: long options without `=VALUE`, and a pattern of short ones."""

    long: frozenset[str]
    short: str
    always: tuple[str, ...] = ()
    words: bool = True  # revisions and paths


def _options(*names: str) -> frozenset[str]:
    return frozenset(f"--{name}" for line in names for name in line.split())


COMMITS = _options(
    "all branches tags remotes glob exclude not max-count skip since after until before author committer grep",
    "all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp merges no-merges min-parents",
    "max-parents first-parent full-history simplify-merges ancestry-path left-right cherry cherry-mark cherry-pick",
    "left-only right-only boundary topo-order date-order author-date-order reverse",
    "oneline format pretty abbrev-commit no-abbrev-commit abbrev date relative-date parents children graph",
)
CHANGES = _options(
    "patch no-patch stat shortstat numstat summary name-only name-status patch-with-stat compact-summary raw unified",
    "word-diff minimal patience histogram diff-algorithm find-renames no-renames diff-filter full-index text",
    "ignore-all-space ignore-space-change ignore-space-at-eol ignore-cr-at-eol ignore-blank-lines function-context",
    "inter-hunk-context no-prefix no-color no-ext-diff no-textconv pickaxe-all pickaxe-regex",
)
NOTHING_RUNS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")
LOG = Allowed(
    COMMITS | CHANGES | _options("follow full-diff decorate no-decorate decorate-refs decorate-refs-exclude source cc"),
    r"-(\d+|n\d*|U\d+|M\d*%?|[SGL].*|[puswbmWiEFPt])",
    NOTHING_RUNS,
)
ALLOWED = {
    "log": LOG,
    "show": LOG,
    "diff": Allowed(CHANGES | _options("cached staged merge-base"), r"-(U\d+|M\d*%?|[SG].*|[puswbWR])", NOTHING_RUNS),
    "status": Allowed(
        _options("short branch porcelain long untracked-files ignored no-renames renames no-ahead-behind"),
        r"-([sb]|sb|bs|u(no|normal|all))",
        ("--ignore-submodules=all",),
    ),
    "shortlog": Allowed(COMMITS | _options("numbered summary email"), r"-([sne]+|\d+|n\d+)"),
    "describe": Allowed(
        _options("tags all always long abbrev match exclude first-parent candidates exact-match"), r"(?!)"
    ),
    "rev-parse": Allowed(
        _options("short abbrev-ref verify quiet symbolic symbolic-full-name show-toplevel is-inside-work-tree")
        | _options("all branches tags remotes revs-only no-revs"),
        r"-q",
    ),
    "rev-list": Allowed(COMMITS | _options("count"), r"-(\d+|n\d*|[iEFP])"),
    "branch": Allowed(_options("show-current list all remotes"), r"-(a|r|v|vv)", ("--no-color",), words=False),
}
WITHOUT_COMMIT = ("status", "branch", "diff")
FROM_INDEX = ("status", "diff")
SHELL = r"\d*[|;&<>].*|.*[;&]|.*(?:\$\(|`).*"
SIGNATURE = r"%[-+ ]?G"  # in a format: git would start a program to verify it


def look(wanted: Wanted) -> Found:
    try:
        plan_command(wanted.command)
        _open(wanted.root)
    except Unloadable as error:
        return Found(False, None, said(wanted.command), error.why)
    return Found(True, None, said(wanted.command))


def load(wanted: Wanted) -> Loaded:
    arguments = plan_command(wanted.command)
    repository = _open(wanted.root)
    try:
        data = _ask(repository, arguments, wanted.limit)
        return Loaded(safe_paths.decode(data), len(data), said(wanted.command))
    except HoldfastError as error:
        told = dict(error.facts).get("said") or dict(error.facts).get("deadline")
        raise Unloadable(f"{error.message}: {told}" if told else error.message) from error
    except OSError as error:
        raise Unloadable(f"cannot be run: {error.strerror or error}") from error
    except ValueError as error:
        raise Unloadable(str(error)) from error


def plan_command(command: str | None) -> list[str]:
    """Validate a command before anything is started, and return git's arguments."""
    words = _split(command)
    program, name, rest = words[0], words[1] if len(words) > 1 else "", words[2:]
    if program != "git":
        raise Unloadable("is not a git command", hint="a git_info artifact begins with `git`")
    if name.startswith("-"):
        raise Unloadable(f"has {said(name)} before the sub-command, which is not allowed")
    allowed = ALLOWED.get(name)
    if allowed is None:
        raise Unloadable(
            f"names the sub-command {said(name)}, which is not on the list" if name else "names no sub-command",
            hint=f"these read only: {', '.join(ALLOWED)}",
        )
    for word in rest:
        _check(name, word, allowed)
    if name == "shortlog" and not _names_commits(rest):
        rest = ["HEAD", *rest]  # otherwise it reads a log from standard input
    return [name, *allowed.always, *rest]


def _split(command: str | None) -> list[str]:
    if not command or not command.strip():
        raise Unloadable("names no command")
    if len(command) > LONGEST or visible(command) != command:
        raise Unloadable("is too long, or contains invisible characters")
    try:
        return shlex.split(command)
    except ValueError as error:
        raise Unloadable(f"cannot be parsed: {str(error).lower()}") from error


def _check(name: str, word: str, allowed: Allowed) -> None:
    """Refuse a word that could do more than read this repository. A word after `--` is checked like any other, since
    git may parse that `--` as the value of an option."""
    if word == "--" and allowed.words:
        return
    if re.search(SIGNATURE, word):
        raise Unloadable(f"has {said(word)}: to verify a signature, git would start another program")
    if word.startswith("-"):
        if word.partition("=")[0] not in allowed.long and not re.fullmatch(allowed.short, word, re.DOTALL):
            raise Unloadable(f"has the option {said(word)}, which is not on the list for `git {name}`")
    elif re.fullmatch(SHELL, word, re.DOTALL):
        raise Unloadable(f"has {said(word)}, but there is no shell", hint="name one git command and nothing else")
    elif word.startswith("/") or ".." in re.split("[/:]", word):
        raise Unloadable(f"has the path {said(word)}, which may lead out of the project")
    elif not allowed.words:
        raise Unloadable(f"has {said(word)}, which is not allowed for `git {name}`")


def _names_commits(words: list[str]) -> bool:
    before = words[: words.index("--")] if "--" in words else words
    several = ("--all", "--branches", "--tags", "--remotes", "--glob")
    return any(not word.startswith("-") or word.partition("=")[0] in several for word in before)


def _open(root: Path) -> Repository:
    repository = Repository(root)
    if not repository.exists:
        raise Unloadable("needs a git repository, and the project has none", missing=True)
    if repository.uses_reftable():
        raise Unloadable("needs refs in files, and this repository stores them in a reftable")
    try:
        _refuse_foreign_repository(repository)
    except OSError as error:
        raise Unloadable(f"cannot be run: {error.strerror or error}") from error
    return repository


def _refuse_foreign_repository(repository: Repository) -> None:
    """Refuse a directory that leads into another repository, since the output is shown to a model."""
    if not repository.is_sure:  # safeguard: git-info-without-worktree
        raise Unloadable(
            "is not run: `.git` leads to a repository that does not name this worktree",
            hint="if it is yours, `git worktree repair` or `git config core.worktree PATH` makes it name it",
        )
    if link := repository.find_link():  # safeguard: linked-git-info
        raise Unloadable(f"is not run: {said(path_text(link))} is a link, and may lead into another repository")
    if borrows := repository.borrows:  # safeguard: borrowed-objects
        raise Unloadable(
            f"is not run: {said(path_text(borrows))} borrows objects, which may be of another repository",
            hint="`git repack -a -d` copies them; then remove that file",
        )


def _ask(repository: Repository, arguments: list[str], limit: int) -> bytes:
    import tempfile  # slow to import, and rarely needed

    from holdfast.system.git.command import TooMuch

    with tempfile.TemporaryDirectory(prefix="holdfast-") as place:
        git = _prepare(repository, Path(place), arguments[0])
        try:
            return git.start(*arguments).finish(deadline=DEADLINE, most=limit)
        except TooMuch:
            raise too_large(limit + 1, limit) from None


def _prepare(repository: Repository, place: Path, name: str) -> Git:
    """Create a private git directory with the user's commits, refs and index, and without the settings."""
    from holdfast.system.git.command import Git
    from holdfast.worktree.user_index import Staging

    assert repository.objects is not None
    assert repository.common is not None
    if repository.head().commit is None and name not in WITHOUT_COMMIT:
        raise Unloadable("needs a commit, and the repository has none yet", missing=True)
    there = place / "git"
    git = Git(there, repository.root, repository.objects, there / "index", repository.format(), whole=True)
    git.prepare()
    _put_refs(repository.refs(), git.directory)
    for copied in ("shallow", "info/exclude"):
        if data := files.read(repository.common / copied):
            (git.directory / copied).write_bytes(data)
    staging = Staging(git, repository, git.directory)
    if staging.copy(git.index) is None and staging.is_damaged and name in FROM_INDEX:
        raise Unloadable("needs the repository's index, which is damaged or leads elsewhere", hint=staging.way_out())
    return git


def _put_refs(refs: dict[str, str], directory: Path) -> None:
    """Write refs: those of commits packed; HEAD and symbolic refs can only be files."""
    packed = []
    for ref, says in sorted(refs.items()):
        if ref == "HEAD" or says.startswith("ref: "):
            (directory / ref).parent.mkdir(parents=True, exist_ok=True)
            (directory / ref).write_bytes(_line(says))
        else:
            packed.append(_line(f"{says} {ref}"))
    (directory / "packed-refs").write_bytes(b"".join(packed))


def _line(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape") + b"\n"
