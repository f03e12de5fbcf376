"""Promise 20: what a repository brings runs nothing, reaches nobody, and decides nothing that matters."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.agents.claude import hooks
from holdfast.project import settings
from holdfast.project.artifacts import git_info as source
from holdfast.project.artifacts.protocol import Unloadable, Wanted
from holdfast.system.git.command import find_git
from holdfast.system.git.repository import KEEP
from tests.faber_states import RUN, RUNS, a_state, put
from tests.file_trees import tree_of
from tests.hostile.git_traps import set_traps
from tests.surfaces.commands import CASES, Known, with_checkpoints
from tests.surfaces.in_process import call
from tests.tools import ENTRY, hook
from tests.worktrees import commit, git

DEFAULTS = {setting.key: setting.default for setting in settings.SETTINGS.values()}

TOML = {
    "unknown keys": b'run = "touch owned"\n[hooks]\nstart = "touch owned"\n[trust]\nall = true\n[store]\ndsn = "x"\n',
    "user's keys": b"store.deadline = 0.1\n",
    "wrong types": b'brief.budget = "much"\nlist.limit = [1]\n',
    "out of bounds": b"brief.budget = 1\nlist.limit = 99999999\n",
    "NUL": b'[go_team]\nroot = "a\\u0000b"\n',
    "infinite": b"brief.budget = inf\nlist.limit = nan\n",
    "huge number": b"brief.budget = 0x" + b"f" * 5000 + b"\n",
    "long number": b"brief.budget = " + b"9" * 5000 + b"\n",
    "not TOML": b"\x00\xff\xfe[[[",
    "1 MB of comment and nonsense": b"# x\n" * 250_000 + b"a = \n",
    "2 MB": b"# x\n" * 500_000,
    "1 MB of one key": b"a." * 500_000 + b"b = 1\n",
    "deep array": b"a = " + b"[" * 100_000,
    "deep table": b"a = " + b"{b = " * 100_000,
}


@pytest.mark.promise(19, 20)
@pytest.mark.parametrize("content", TOML)
def test_a_hostile_settings_file_changes_nothing_but_a_warning(
    content: str, target: Path, begin: Callable[[], None]
) -> None:
    (target / ".holdfast.toml").write_bytes(TOML[content])
    begin()
    nothing_changed(target)


@pytest.mark.promise(19)
@pytest.mark.parametrize("verb", ["start goal --layout go-team", "doctor", "repair", "runs"])
def test_a_place_that_no_file_can_have_is_passed_over(verb: str, target: Path) -> None:
    (target / ".holdfast.toml").write_bytes(TOML["NUL"])
    done = call(*verb.split(), directory=target).ok()
    assert "The setting go_team.root takes a text without NUL; it is ignored" in done.err
    assert (target / "checkpoints").is_dir() == verb.startswith("start")


def nothing_changed(directory: Path) -> None:
    done = call("config", "list", "--json", directory=directory).ok()
    assert {value["key"]: value["value"] for value in done.json["settings"]} == DEFAULTS
    assert {value["origin"] for value in done.json["settings"]} == {"default"}
    assert done.json["warnings"]
    status = call("status", directory=directory).ok()
    assert status.out.startswith("goal\n")
    assert all(re.fullmatch(r"holdfast: .*it is ignored", line) for line in status.err.splitlines()), status.err
    assert status.err
    assert len(status.err) < 2000


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("kind", ["link", "link to the user's own", "pipe", "directory", "socket", "nowhere"])
def test_a_settings_file_that_is_no_file_changes_nothing_but_a_warning(
    kind: str, target: Path, home: Path, begin: Callable[[], None]
) -> None:
    path = target / ".holdfast.toml"
    if kind.startswith("link") or kind == "nowhere":
        good = home / "good.toml"
        good.write_text("[brief]\nbudget = 700\n")
        path.symlink_to({"link": Path("/etc/passwd"), "nowhere": home / "nothing"}.get(kind, good))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        os.mknod(path, 0o140600)
    begin()
    nothing_changed(target)


def test_a_harmless_setting_of_a_project_does_count(target: Path) -> None:
    (target / ".holdfast.toml").write_text("[brief]\nbudget = 700\n")
    done = call("config", "get", "brief.budget", "--json", directory=target).ok()
    assert (done.json["value"], done.json["origin"]) == (700, str(target / ".holdfast.toml"))


TRAP = "#!/bin/sh\ntouch {owned}\n"
PROGRAMS = "git sh bash python python3 uname less ps stty tput ldconfig gcc hostname"
MODULES = "click msgspec apsw rich tomllib platformdirs json sitecustomize usercustomize"


@pytest.fixture
def trapped(repository: Path, tmp_path: Path) -> tuple[Path, Known, Path]:
    """A repository with everything in it that has ever made a tool run something; `owned` exists if anything did."""
    owned = tmp_path / "owned"
    with holdfast.open(repository) as workspace:
        earlier = holdfast.start(workspace, "Fix the flaky test").run
        run = holdfast.start(workspace, "Add retries").run
        session = holdfast.join(workspace, agent="robot").session
        holdfast.add_task(workspace, "one")
        holdfast.add_task(workspace, "two")
        holdfast.decide(workspace, "this")
        holdfast.note(workspace, "that")
    command = f"touch {owned}"
    set_traps(repository, owned, tmp_path / "elsewhere")
    for name in PROGRAMS.split():
        _program(repository / name, owned)
    for name in MODULES.split():
        (repository / f"{name}.py").write_text(f"import os\nos.close(os.open({str(owned)!r}, os.O_CREAT))\n")
    (repository / ".env").write_text(f"HOLDFAST_STATE_DIR=/tmp/elsewhere\nPYTHONSTARTUP={repository}/json.py\n")
    (repository / ".envrc").write_text(f"{command}\n")
    (repository / ".claude").mkdir()
    for name in (".mcp.json", "state.json", ".claude/settings.json"):
        (repository / name).write_text(json.dumps(_settings(command)))
    (repository / ".holdfast.toml").write_bytes(TOML["unknown keys"])
    _faber(repository, owned)
    _hooks(repository, owned)
    with holdfast.open(repository) as workspace:
        holdfast.config_set(workspace, "checkpoint.filtered", "keep")
    with holdfast.open(repository) as workspace:
        known = with_checkpoints(workspace, Known(run.id, earlier.id, session.id))
    return repository, known, owned


def _settings(command: str) -> dict[str, object]:
    """What other tools would take for hooks and servers of theirs."""
    hook = {"hooks": [{"type": "command", "command": command}]}
    server = {"command": "sh", "args": ["-c", command]}
    return {"command": command, "hooks": {"Stop": [hook]}, "mcpServers": {"x": server}}


def _faber(repository: Path, owned: Path) -> None:
    """A FABER run whose workflow names commands of every kind, and grants for them that the repository brings."""
    _program(repository / "evil.sh", owned)
    commands = ["./evil.sh", f"touch {owned}", f"sh -c 'touch {owned}'", "{project_root}/evil.sh", "git x", "sh"]
    artifacts = [
        {"id": f"{kind}-{number}", "type": kind, "command": command}
        for number, command in enumerate(commands)
        for kind in ("skill", "work_plugin", "git_info")
    ]
    block = {"critical_artifacts": {"always_load": artifacts}, "trusted": True, "commands": commands}
    put(repository, ".fractary/faber/workflows/default.json", block)
    put(repository, ".fractary/trust/all.json", {"trust": {"all": True}})
    put(repository, f"{RUNS}/{RUN}/state.json", a_state(workflow_id="default", work_id="$(touch owned)"))


def _hooks(repository: Path, owned: Path) -> None:
    """Settings whose calls look like ours, and run something else that lies outside of the worktree."""
    program = owned.with_name("outside")
    _program(program, owned)
    calls = {name: {**call, "command": str(program)} for name, call in hooks.block("local", "x", str(ENTRY)).items()}
    (repository / ".claude/settings.local.json").write_text(json.dumps(hooks.as_settings(calls)))


def _program(path: Path, owned: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(TRAP.format(owned=owned))
    path.chmod(0o755)


TOLD_WHAT_TO_RUN = ("run", "guard", "bisect")
ALL = """
import json, sys
from holdfast.surfaces.cli import app
codes = [app.run(arguments) for arguments in json.load(open(sys.argv[1]))]
json.dump(codes, open(sys.argv[2], "w"))
"""


def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("NOT TESTED: strace is not installed")
    works = subprocess.run([found, "-o", os.devnull, "true"], capture_output=True, check=False)
    if works.returncode:
        pytest.skip(f"NOT TESTED: strace may not trace here: {works.stderr.decode(errors='replace')[:200]}")
    return found


def traced(command: list[str], directory: Path, record: Path, stdin: bytes = b"") -> list[str]:
    """Every program that was started and every connection that was tried, except the start of the command itself."""
    env = {**os.environ, "PATH": f".:{directory}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    calls = "trace=execve,execveat,connect,sendto,sendmsg"
    tool = [strace(), "-f", "-qq", "-e", calls, "-e", "signal=none", "-o", str(record)]
    done = subprocess.run([*tool, *command], cwd=directory, env=env, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    lines = record.read_text(errors="replace").splitlines()
    first, *rest = [line for line in lines if "(" in line and "???(" not in line]  # killed before it called anything
    assert "execve(" in first
    assert command[0] in first
    return rest


def ours(repository: Path) -> set[str]:
    """What checkpoints leave in git's directory: one ref, and packs with a mark of ours."""
    packs = repository / ".git/objects/pack"
    kept = {path.stem for path in packs.glob("*.keep") if path.read_bytes() == KEEP}
    return {str(repository / ".git/refs/holdfast/main"), *(str(p) for p in packs.iterdir() if p.stem in kept)}


@pytest.mark.promise(20, 23)
def test_no_verb_runs_or_reaches_anything_in_a_hostile_repository(
    trapped: tuple[Path, Known, Path], tmp_path: Path, home: Path
) -> None:
    repository, known, owned = trapped
    before, allowed = tree_of(repository / ".git", without=repository / ".git/holdfast"), ours(repository)
    program, lines, codes = (tmp_path / name for name in ("all.py", "lines.json", "codes.json"))
    program.write_text(ALL)
    asked = [case for case in CASES if case.words not in TOLD_WHAT_TO_RUN]
    ordered = sorted(asked, key=lambda case: case.words in ("off", "delete"))
    faber = ["session-load", "--run-id", RUN, "--force"]
    loads = [faber, [*faber, "--dry-run"], ["trust", "--yes"], ["trust", "--list"]]
    commands = [*loads, *(case.line(known) for case in ordered)]
    again = [[*line, "--json"] for line in commands if line[0] != "delete"]
    lines.write_text(json.dumps([*commands, ["on"], *again, ["--help"], ["stauts"]]))
    seen = traced([sys.executable, str(program), str(lines), str(codes)], repository, tmp_path / "record")
    git = find_git(os.environ["PATH"], str(repository))
    inner = subprocess.run([git, "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    allowed_programs = (f'execve("{git}"', f'execve("{inner}/git"', "resumed")  # git calls parts of itself
    assert [line for line in seen if not any(program in line for program in allowed_programs)] == []
    assert not owned.exists()
    found = json.loads(codes.read_text())
    # A run that was completed cannot fail, be aborted or be abandoned after that: those are refused. And nobody has
    # made the backup that is put back. An agent that is complete cannot fail.
    over = (["agent", "fail", "code-1", "--error", "Red"], 2)
    odd = [pair for pair in zip(commands, found, strict=False) if pair[1] not in (0, 1, 10) and pair != over]
    assert odd == []
    assert found.count(0) > len(found) / 3
    after = tree_of(repository / ".git", without=repository / ".git/holdfast")
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed <= allowed | ours(repository)


@pytest.mark.promise(20)
def test_the_hook_runs_and_reaches_nothing_in_a_hostile_repository(
    trapped: tuple[Path, Known, Path], tmp_path: Path
) -> None:
    repository, _, owned = trapped
    command = [sys.executable, "-I", "-S", str(ENTRY), "robot", "Did"]
    assert traced(command, repository, tmp_path / "record", b'{"command": "touch owned"}') == []
    assert not owned.exists()
    assert "robot Did" in call("log", directory=repository).ok().out


@pytest.mark.promise(20)
def test_the_tracing_would_see_what_is_run_and_reached(tmp_path: Path) -> None:
    script = "import socket, subprocess; subprocess.run(['true']); socket.socket().connect_ex(('127.0.0.1', 9))"
    seen = traced([sys.executable, "-c", script], tmp_path, tmp_path / "record")
    assert any("execve(" in line and "true" in line for line in seen)
    assert any("connect(" in line for line in seen)


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    "way", [[str(Path(sys.executable).with_name("holdfast"))], ["-m", "holdfast"]], ids=["script", "-m"]
)
def test_the_command_imports_nothing_from_the_directory_it_is_called_in(
    way: list[str], trapped: tuple[Path, Known, Path]
) -> None:
    repository, _, owned = trapped
    done = subprocess.run([sys.executable, *way, "status"], cwd=repository, capture_output=True, check=False)
    assert not owned.exists()
    assert done.returncode == 0, done.stderr


# A `.git` that leads elsewhere


def git_file(directory: Path, leads_to: str) -> None:
    directory.mkdir(parents=True)
    (directory / ".git").write_text(f"gitdir: {leads_to}\n")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A directory that is nobody's repository."""
    directory = tmp_path / "victim"
    (directory / "sub").mkdir(parents=True)
    (directory / "file").write_text("precious\n")
    (directory / "commondir").write_text("sub\n")
    return directory


# All of them stay below the test's own directory: where the promise is broken, nothing else may suffer from it.
LEADS = ["{victim}", "../victim", "{victim}/sub", "{victim}/sub/..", "{victim}/file", "{victim}/nothing", "..", "", "."]


@pytest.mark.promise(21, 23)
@pytest.mark.parametrize("leads_to", LEADS)
def test_a_git_file_that_leads_to_no_repository_changes_nothing_there(
    leads_to: str, victim: Path, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    git_file(hostile, leads_to.format(victim=victim))
    before = tree_of(tmp_path, without=hostile)
    for arguments in (("status",), ("start", "goal"), ("init",), ("note", "text"), ("off",), ("runs",), ("brief",)):
        done = call(*arguments, directory=hostile)
        assert done.code in (0, 1, 10), done.err
    hook(hostile)
    assert tree_of(tmp_path, without=hostile) == before


@pytest.mark.promise(23)
def test_a_commondir_that_leads_to_no_repository_changes_nothing_there(victim: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    git_file(hostile, "inner")
    (hostile / "inner").mkdir()
    (hostile / "inner/HEAD").write_text("ref: refs/heads/main\n")
    (hostile / "inner/commondir").write_text(f"{victim}\n")
    before = tree_of(victim)
    assert call("start", "goal", directory=hostile).code in (0, 1)
    assert tree_of(victim) == before


def a_link(hostile: Path, victim: Path) -> None:
    hostile.mkdir()
    (hostile / ".git").symlink_to(victim / ".git")


def a_link_to_a_directory_of_links(hostile: Path, victim: Path) -> None:
    hostile.mkdir()
    (hostile / "around").symlink_to(victim)
    (hostile / "more").symlink_to("around/.git")
    (hostile / ".git").symlink_to("more")


def a_file_that_names_a_link(hostile: Path, victim: Path) -> None:
    git_file(hostile, "inner")
    (hostile / "inner").symlink_to(victim / ".git")


def a_link_to_a_file(hostile: Path, victim: Path) -> None:
    git_file(hostile / "inner", str(victim / ".git"))
    (hostile / ".git").symlink_to("inner/.git")


def a_file(hostile: Path, victim: Path) -> None:
    git_file(hostile, str(victim / ".git"))


def removed_worktree(victim: Path) -> Path:
    """Where git still keeps a worktree whose directory somebody removed by hand."""
    commit(victim, "first")
    git(victim, "worktree", "add", "-q", "--detach", "../gone")
    shutil.rmtree(victim.with_name("gone"))
    return victim / ".git/worktrees/gone"


def a_file_that_names_a_worktree_that_is_gone(hostile: Path, victim: Path) -> None:
    git_file(hostile, str(removed_worktree(victim)))


def a_link_to_a_worktree_that_is_gone(hostile: Path, victim: Path) -> None:
    hostile.mkdir()
    (hostile / ".git").symlink_to(removed_worktree(victim))


def a_file_that_names_a_directory_elsewhere(hostile: Path, victim: Path) -> None:
    git(victim, "init", "-q", "--separate-git-dir=../elsewhere")
    git_file(hostile, str(victim.with_name("elsewhere")))


def a_link_to_a_directory_elsewhere(hostile: Path, victim: Path) -> None:
    git(victim, "init", "-q", "--separate-git-dir=../elsewhere")
    hostile.mkdir()
    (hostile / ".git").symlink_to("../elsewhere")


@pytest.mark.promise(20, 22, 24)
@pytest.mark.parametrize(
    "make",
    [
        a_file, a_link, a_link_to_a_directory_of_links, a_file_that_names_a_link, a_link_to_a_file,
        a_file_that_names_a_worktree_that_is_gone, a_link_to_a_worktree_that_is_gone,
        a_file_that_names_a_directory_elsewhere, a_link_to_a_directory_elsewhere,
    ],
)  # fmt: skip
def test_a_git_file_that_leads_to_another_project_is_told_nothing_of_it(
    make: Callable[[Path, Path], None], target: Path, tmp_path: Path
) -> None:
    """An archive can bring one; whoever opens it must not get another project's brief, nor write into its run."""
    hostile = tmp_path / "hostile"
    make(hostile, target)
    events = call("log", directory=target).ok().out
    before = tree_of(tmp_path, without=hostile)
    for arguments in (("brief",), ("status",), ("show",), ("log",), ("runs",), ("note", "planted"), ("checkpoint",)):
        done = call(*arguments, directory=hostile)
        assert done.code in (0, 1, 10)
        assert "run-qqqqqqqqqq" not in done.out, arguments
    if "worktree" in make.__name__:
        assert "knows it elsewhere" in call("status", directory=hostile).err
    assert tree_of(tmp_path, without=hostile) == before
    hook(hostile, event="Planted")
    assert call("log", directory=target).ok().out == events


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("name", [b"cafe", b"caf\xe9"], ids=["a text", "no text"])
def test_a_project_keeps_its_store_whatever_it_is_called(name: bytes, tmp_path: Path) -> None:
    """By its name as text nobody was found at home there, and a copy of its `.git` file got the store."""
    owner = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    git(tmp_path, "init", "-q", f"--separate-git-dir={tmp_path}/data", "--", os.fspath(owner))
    call("start", "goal", directory=owner).ok()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/.git").write_bytes((owner / ".git").read_bytes())
    assert "is another project's" in call("status", directory=tmp_path / "foreign").err
    assert call("status", directory=owner).ok().out.startswith("goal")


@pytest.mark.promise(20, 22)
def test_nothing_is_made_in_a_repository_that_knows_a_worktree_elsewhere(repository: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    a_file_that_names_a_worktree_that_is_gone(hostile, repository)
    before = tree_of(tmp_path, without=hostile)
    for arguments in (("init",), ("start", "goal"), ("init", "--adopt")):
        assert call(*arguments, directory=hostile).code == 1, arguments
    assert tree_of(tmp_path, without=hostile) == before


@pytest.mark.promise(20, 22)
@pytest.mark.parametrize("make", [a_file_that_names_a_worktree_that_is_gone, a_file_that_names_a_directory_elsewhere])
def test_git_tells_nothing_of_a_repository_that_does_not_know_the_worktree(
    make: Callable[[Path, Path], None], repository: Path, tmp_path: Path
) -> None:
    (repository / "a.txt").write_text("of another project\n")
    commit(repository, "of another project")
    make(tmp_path / "hostile", repository)
    for command in ("git log -p", "git status", "git diff --cached"):
        with pytest.raises(Unloadable) as caught:
            source.load(Wanted("commits", "git_info", tmp_path / "hostile", command=command))
        assert "does not name this worktree" in caught.value.why


@pytest.mark.promise(19)
@pytest.mark.parametrize("kind", ["pipe", "loop", "device", "NUL", "long", "many", "unreadable bytes"])
def test_a_git_that_is_no_git_is_passed_over(kind: str, tmp_path: Path, begin: Callable[[], None]) -> None:
    directory = tmp_path / "odd"
    directory.mkdir()
    path = directory / ".git"
    content = {
        "NUL": b"gitdir: a\0b\n",
        "long": b"gitdir: " + b"a/" * 50_000,
        "many": b"gitdir: x\n" * 1000,
        "unreadable bytes": b"gitdir: \xff\xfe\n",
    }
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(".git")
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(content[kind])
    begin()
    assert call("status", directory=directory).ok().out.startswith("No run here yet.")
    hook(directory)
    assert call("note", "x", "--json", directory=directory).code == 10
    assert os.listdir(directory) == [".git"]


@pytest.mark.promise(19)
@pytest.mark.parametrize("name", [b"caf\xe9", b"new\nline", b"esc\x1b[2J", b"-rf", b"a b'c\"d", b"x" * 200])
def test_a_project_may_be_called_anything(name: bytes, tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    subprocess.run(["git", "init", "-q", "--", os.fspath(directory)], check=True)
    for line in ("init", "start goal", "status", "show", "note x -v", "sweep", "off", "on", "delete nowhere --yes"):
        for more in ([], ["--json"]):
            done = call(*line.split(), *more, directory=directory)
            assert done.code in (0, 10), f"{line}: {done.out}{done.err}"
    hook(directory, event="Seen")
    assert "robot Seen" in call("log", directory=directory).ok().out
    with holdfast.open(directory) as workspace:
        assert holdfast.verify(workspace).problems == []


@pytest.mark.promise(19)
@pytest.mark.parametrize("name", [b"caf\xe9", b"new\nline", b"-rf"])
def test_a_store_can_be_looked_after_whatever_its_project_is_called(name: bytes, tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    subprocess.run(["git", "init", "-q", "--", os.fspath(directory)], check=True)
    (directory / "a.txt").write_text("a")
    for line in (
        "start goal", "rename name", "checkpoint one", "diff one", "restore one", "undo", "backup kept.tar.gz",
        "restore-backup kept.tar.gz --yes", "verify --deep", "repair", "tidy", "export name run.holdfast",
        "delete name --purge --yes", "import run.holdfast", "brief", "resume --print", "verify --deep",
    ):  # fmt: skip
        done = call(*line.split(), directory=directory)
        assert done.code in (0, 10), f"{line}: {done.out}{done.err}"
