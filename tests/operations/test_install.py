"""Putting our calls into an agent's settings, and giving those back."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.agents import install
from holdfast.agents.claude import hooks as hooking
from holdfast.agents.claude.installed import SCOPES
from holdfast.agents.claude.settings_file import called
from holdfast.agents.protocol import setup_of
from holdfast.core.errors import Busy, NotFound, Refused, WrongUsage
from holdfast.project.workspace import Workspace
from holdfast.system import shared_files
from tests.file_trees import tree_of
from tests.sessions import with_environ
from tests.tools import ENTRY, Command
from tests.worktrees import git

EVENTS = set(hooking.EVENTS)
THEIRS: dict[str, Any] = {
    "model": "opus",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "PreToolUse": []},
    "permissions": {"allow": ["Bash(ls:*)"]},
}


def local(workspace: Workspace) -> Path:
    return workspace.root / ".claude" / "settings.local.json"


def settings(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes().decode("utf-8-sig"))
    return found


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_every_event_is_called_by_this_python(project: Workspace) -> None:
    done = holdfast.init(project, agent="claude")
    assert (done.file, done.events) == (str(local(project)), dict.fromkeys(EVENTS, "added"))
    found = called(settings(local(project)))
    assert found.keys() == EVENTS
    python = sys.executable
    keeps, answers = (
        f"test -x '{python}' && test -r '{script}' || exit 0; exec '{python}' {options} '{script}' claude"
        for script, options in ((ENTRY, "-I -S"), (ENTRY.with_name("answer.py"), "-I"))
    )
    assert found["Stop"] == [{"type": "command", "command": f"{keeps} Stop", "timeout": 10}]
    assert found["SessionStart"] == [{"type": "command", "command": f"{answers} SessionStart", "timeout": 30}]


def test_a_second_time_changes_nothing(project: Workspace) -> None:
    holdfast.init(project, agent="claude")
    before = tree_of(project.root / ".claude")
    assert holdfast.init(project, agent="claude").events == {}
    assert tree_of(project.root / ".claude") == before


def test_without_an_agent_only_the_store_is_made_and_a_hint_given(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        done = holdfast.init(workspace)
        assert (done.created, done.agent, done.file) == (True, None, None)
        assert "--agent claude" in done.hints[0]
    assert os.listdir(repository) == [".git"]


def test_naming_a_scope_is_enough_to_install(project: Workspace) -> None:
    assert holdfast.init(project, scope="local").file == str(local(project))


def test_an_agent_that_is_there_is_installed_for_without_being_named(repository: Path, home: Path) -> None:
    with holdfast.open(repository) as workspace:
        (home / ".claude").mkdir()
        assert holdfast.init(workspace, agent="none").file is None
        assert holdfast.init(workspace).file == str(local(workspace))


@pytest.mark.parametrize(
    ("scope", "umask", "mode"),
    [("project", 0o022, 0o644), ("project", 0o002, 0o664), ("project", 0o077, 0o600), ("local", 0o022, 0o600)],
)
def test_file_that_is_meant_to_be_committed_is_not_the_users_alone(
    project: Workspace, scope: str, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        done = holdfast.init(project, agent="claude", scope=scope)
    finally:
        assert os.umask(before) == umask, "the umask is not what it was"
    assert stat.S_IMODE(os.stat(done.file or "").st_mode) == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_file_that_was_there_keeps_its_mode(project: Workspace, mode: int) -> None:
    path = put(project.root / ".claude" / "settings.json", "{}")
    path.chmod(mode)
    holdfast.init(project, agent="claude", scope="project")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    holdfast.uninit(project)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("scope", SCOPES)
def test_each_scope_has_its_file(project: Workspace, home: Path, scope: str) -> None:
    where = {"local": local(project), "project": project.root / ".claude/settings.json"}
    done = holdfast.init(project, agent="claude", scope=scope)
    path = where.get(scope, home / ".claude" / "settings.json")
    assert done.file == str(path)
    assert called(settings(path)).keys() == EVENTS
    assert [changed.file for changed in holdfast.uninit(project, scope=scope).files] == [str(path)]
    assert not path.parent.exists()


def test_the_agents_own_variable_says_where_the_users_settings_are(project: Workspace, tmp_path: Path) -> None:
    with with_environ(project, CLAUDE_CONFIG_DIR=str(tmp_path / "else")) as workspace:
        holdfast.init(workspace, agent="claude", scope="user")
    assert called(settings(tmp_path / "else" / "settings.json")).keys() == EVENTS


def test_a_committed_call_names_no_place_of_one_machine_and_is_silent_where_we_are_not(project: Workspace) -> None:
    holdfast.init(project, agent="claude", scope="project")
    path = project.root / ".claude" / "settings.json"
    assert str(Path(sys.executable).parent) not in path.read_text()
    assert str(ENTRY) not in path.read_text()
    command = called(settings(path))["SessionStart"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", command], env={"PATH": "/nonexistent"}, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_printing_writes_nothing(repository: Path, home: Path) -> None:
    before = tree_of(repository, home)
    with holdfast.open(repository) as workspace:
        done = holdfast.init(workspace, scope="user", dry_run=True)
    assert set(done.block["hooks"]) == EVENTS
    assert tree_of(repository, home) == before


# What is there already


FORMS: list[Callable[[], bytes]] = [
    lambda: json.dumps(THEIRS, indent=2).encode() + b"\n",
    lambda: json.dumps(THEIRS, indent=4).encode(),
    lambda: json.dumps(THEIRS, indent="\t").replace("\n", "\r\n").encode() + b"\r\n\r\n",
    lambda: b"\xef\xbb\xbf" + json.dumps(THEIRS).encode(),
    lambda: json.dumps(THEIRS, separators=(",", ":")).encode(),
    lambda: b"{}",
    lambda: b"{ \n }\n",
    lambda: b"",
    lambda: b"\n",
    lambda: b'{"hooks": {}, "hooks": {"Stop": []}}',
    lambda: b'{"hooks": {\n}}',
]


@pytest.mark.promise(28)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: ascii(form()[:20]))
def test_what_was_there_stays_and_comes_back_byte_for_byte(project: Workspace, form: Callable[[], bytes]) -> None:
    path = put(local(project), form())
    path.chmod(0o640)
    before = tree_of(project.root, without=project.place)
    theirs = settings(path) if path.read_bytes().strip() else {}
    holdfast.init(project, agent="claude")
    now = settings(path)
    assert called(now).keys() == EVENTS
    assert {key: value for key, value in now.items() if key != "hooks"} == {
        key: value for key, value in theirs.items() if key != "hooks"
    }
    assert now["hooks"]["Stop"][:-1] == theirs.get("hooks", {}).get("Stop", [])
    assert list(now)[: len(theirs)] == list(theirs)
    done = holdfast.uninit(project)
    assert done.files[0].exact
    assert tree_of(project.root, without=project.place) == before


@pytest.mark.promise(28)
def test_file_and_directory_that_we_made_go_again(project: Workspace) -> None:
    before = tree_of(project.root, without=project.place)
    holdfast.init(project, agent="claude")
    assert holdfast.uninit(project).files[0].gone
    assert tree_of(project.root, without=project.place) == before


def test_directory_that_somebody_uses_meanwhile_stays(project: Workspace) -> None:
    holdfast.init(project, agent="claude")
    put(project.root / ".claude" / "agents.md", "mine")
    holdfast.uninit(project)
    assert os.listdir(project.root / ".claude") == ["agents.md"]


@pytest.mark.promise(28)
@pytest.mark.parametrize("form", FORMS[:5], ids=lambda form: ascii(form()[:20]))
def test_what_somebody_changed_meanwhile_stays_and_only_our_calls_go(
    project: Workspace, form: Callable[[], bytes]
) -> None:
    path = put(local(project), form())
    holdfast.init(project, agent="claude")
    changed = path.read_bytes().replace(b"opus", b"haiku")
    path.write_bytes(changed)
    done = holdfast.uninit(project)
    assert not done.files[0].exact
    assert path.read_bytes() == form().replace(b"opus", b"haiku")


def test_file_that_we_made_stays_once_somebody_wrote_into_it(project: Workspace) -> None:
    holdfast.init(project, agent="claude")
    path = local(project)
    path.write_text(path.read_text().replace("{\n", '{\n  "model": "opus",\n', 1))
    holdfast.uninit(project)
    assert settings(path) == {"model": "opus"}


def test_without_our_record_our_calls_are_still_known(project: Workspace) -> None:
    path = put(local(project), FORMS[0]())
    holdfast.init(project, agent="claude")
    for record in (project.user_directory("state") / "installed").glob("*.json"):
        record.unlink()
    holdfast.uninit(project)
    assert settings(path) == {**THEIRS, "hooks": {"Stop": THEIRS["hooks"]["Stop"]}}


OLDER: list[dict[str, Any]] = [
    {"type": "command", "command": "/old/python", "args": ["-I", "-S", "/old/holdfast/inbox.py", "claude", "Stop"]},
    {"type": "command", "command": "/old/python -I -S /old/holdfast/inbox.py claude Stop"},
    {"type": "command", "command": "/old/python -I -m holdfast hook claude Stop"},
    {"type": "command", "command": "holdfast-hook claude Stop", "timeout": 5},
]


@pytest.mark.parametrize("older", OLDER, ids=lambda older: str(older["command"])[:30])
def test_an_older_form_of_ours_is_replaced(project: Workspace, older: dict[str, Any]) -> None:
    theirs = {"type": "command", "command": "say done"}
    hooks = {"Stop": [{"matcher": "*", "hooks": [theirs, older]}], "PostToolUse": [{"hooks": [older]}]}
    path = put(local(project), json.dumps({"hooks": hooks}, indent=2))
    done = holdfast.init(project, agent="claude")
    assert (done.events["Stop"], done.events["PostToolUse"], done.events["PreToolUse"]) == (
        "replaced", "removed", "added",
    )  # fmt: skip
    now = settings(path)["hooks"]
    assert now["Stop"][0] == {"matcher": "*", "hooks": [theirs]}
    assert [len(calls) for calls in called(settings(path)).values()] == [1] * len(EVENTS)
    assert "PostToolUse" not in now
    assert holdfast.init(project, agent="claude").events == {}
    holdfast.uninit(project)
    assert settings(path) == {"hooks": {"Stop": [{"matcher": "*", "hooks": [theirs]}]}}


LOOKALIKES = [
    {"type": "command", "command": "/opt/my-holdfast-hooks/run.sh"},
    {"type": "command", "command": "echo holdfast-hooks"},
    {"type": "command", "command": "cat", "args": ["/srv/notholdfast/inbox.py"]},
    {"type": "prompt", "prompt": "run holdfast-hook"},
]


@pytest.mark.parametrize("theirs", LOOKALIKES, ids=lambda theirs: str(theirs)[-30:])
def test_what_only_looks_like_ours_is_left_alone(project: Workspace, theirs: dict[str, Any]) -> None:
    path = put(local(project), json.dumps({"hooks": {"Stop": [{"hooks": [theirs]}]}}))
    assert holdfast.init(project, agent="claude").events["Stop"] == "added"
    assert settings(path)["hooks"]["Stop"][0] == {"hooks": [theirs]}


@pytest.mark.parametrize("name", ["\\ud800", "\\u001b[31m", "\\u0000", "x" * 5_000])
def test_strange_names_in_settings_are_no_reason_to_fail(
    repository: Path, cli: Callable[..., Command], name: str
) -> None:
    call = json.dumps({"type": "command", "command": "/x", "args": ["/x/holdfast/inbox.py"]})
    call = call.replace("/x", f"/{name}")
    put(repository / ".claude" / "settings.json", f'{{"hooks": {{"{name}": [{{"hooks": [{call}]}}]}}}}')
    for arguments in (("init", "--scope", "project"), ("doctor",), ("uninit",)):
        assert cli(*arguments).code in (0, 1)
        assert isinstance(cli(*arguments, "--json").json, dict)
    assert settings(repository / ".claude" / "settings.json") == {}


@pytest.mark.promise(28)
def test_an_update_of_ours_still_gives_the_first_bytes_back(project: Workspace) -> None:
    path = put(local(project), FORMS[1]())
    setup = setup_of(project)._replace(python="/old/python", script="/old/holdfast/inbox.py")
    install.install(hooking.plan_install(setup, "local"))
    assert set(holdfast.init(project, agent="claude").events.values()) == {"replaced"}
    assert holdfast.uninit(project).files[0].exact
    assert path.read_bytes() == FORMS[1]()


def test_the_file_is_backed_up(project: Workspace) -> None:
    put(local(project), FORMS[0]())
    holdfast.init(project, agent="claude")
    kept = [path for path in (project.user_directory("state") / "generations").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in kept] == [FORMS[0]()]
    assert stat.S_IMODE(kept[0].stat().st_mode) == 0o600


def test_nothing_is_taken_out_where_nothing_is_ours(project: Workspace) -> None:
    path = put(local(project), FORMS[0]())
    assert holdfast.uninit(project).files == []
    assert path.read_bytes() == FORMS[0]()


@pytest.mark.promise(28)
def test_whoever_writes_the_settings_at_the_same_time_loses_nothing(project: Workspace) -> None:
    path = put(local(project), "{}")
    last, stop = [b"{}"], threading.Event()

    def write() -> None:
        for number in itertools.count():
            last[0] = b'{"number": %d}' % number
            (project.root / "new").write_bytes(last[0])
            os.replace(project.root / "new", path)
            if stop.is_set():
                return

    stranger = threading.Thread(target=write)
    stranger.start()
    for _ in range(3):
        for verb in (holdfast.init, holdfast.uninit):
            with contextlib.suppress(Busy):
                verb(project, scope="local")
    stop.set()
    stranger.join()
    holdfast.uninit(project)
    assert path.read_bytes() == last[0]
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.promise(13, 28)
def test_what_the_client_wrote_while_we_were_killed_is_found_and_kept(project: Workspace) -> None:
    """It lay beside its settings under our temporary name: `init` and `uninit` said that all was well."""
    path = put(local(project), "{}")
    holdfast.init(project, scope="local")
    marks = shared_files._mark(b"{}") + shared_files._mark(path.read_bytes())
    path.with_name(f".{path.name}.{marks}00000000").write_bytes(b'{"permissions": {"allow": ["Bash"]}}')
    holdfast.init(project, scope="local")
    assert json.loads(path.read_bytes())["permissions"] == {"allow": ["Bash"]}
    holdfast.uninit(project)
    assert json.loads(path.read_bytes()) == {"permissions": {"allow": ["Bash"]}}
    assert os.listdir(path.parent) == [path.name]


CLIENT_SAVES_AND_WE_DIE = """
import os, signal, sys
from pathlib import Path
import holdfast

path = Path(sys.argv[1], ".claude", "settings.local.json")
rename = os.rename


def disturbed(one, other):
    if str(one) == str(path):
        path.write_bytes(b'{"model": "theirs"}')
        rename(one, other)
        os.kill(os.getpid(), signal.SIGKILL)
    rename(one, other)


os.rename = disturbed
with holdfast.open(sys.argv[1]) as workspace:
    holdfast.uninit(workspace)
"""


@pytest.mark.promise(13, 28)
@pytest.mark.parametrize("verb", [holdfast.uninit, holdfast.init])
def test_what_the_client_saved_while_a_file_of_ours_went_is_found_and_kept(
    project: Workspace, verb: Callable[..., object]
) -> None:
    """`init` had made the file, so `uninit` takes it away, and is killed right after the client saved it."""
    holdfast.init(project, scope="local")
    done = subprocess.run([sys.executable, "-c", CLIENT_SAVES_AND_WE_DIE, str(project.root)], check=False)
    assert done.returncode == -signal.SIGKILL
    verb(project)
    path = local(project)
    assert json.loads(path.read_bytes())["model"] == "theirs"
    assert os.listdir(path.parent) == [path.name]


# What is refused


@pytest.mark.parametrize(
    "content",
    [b"{", b'{"hooks": []}', b'{"hooks": null}', b'{"hooks": {"Stop": {}}}', b"[]", b"\xff\xfe{}", b"// a\n{}", b"1"],
)
@pytest.mark.parametrize("verb", [holdfast.init, holdfast.uninit])
def test_settings_that_cannot_be_understood_are_left_alone(
    project: Workspace, home: Path, content: bytes, verb: Callable[..., object]
) -> None:
    path = put(local(project), content)
    (home / ".claude").mkdir()
    with pytest.raises(Refused, match="left unchanged"):
        verb(project)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_link_out_of_the_project_is_refused(project: Workspace, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside.json", "{}")
    local(project).parent.mkdir()
    local(project).symlink_to(outside)
    with pytest.raises(Refused, match="leads out of the project"):
        holdfast.init(project, agent="claude")
    assert outside.read_text() == "{}"


def test_directory_that_is_a_link_out_of_the_project_is_refused(project: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (project.root / ".claude").symlink_to(tmp_path / "outside")
    with pytest.raises(Refused, match="leads out of the project"):
        holdfast.init(project, agent="claude")
    assert os.listdir(tmp_path / "outside") == []


def test_link_within_the_project_is_followed_and_stays(project: Workspace) -> None:
    real = put(project.root / "real.json", "{}")
    local(project).parent.mkdir()
    local(project).symlink_to("../real.json")
    holdfast.init(project, agent="claude")
    assert called(settings(real)).keys() == EVENTS
    holdfast.uninit(project)
    assert (real.read_text(), local(project).is_symlink()) == ("{}", True)


def test_directory_in_the_place_of_the_file_is_refused(project: Workspace) -> None:
    local(project).mkdir(parents=True)
    with pytest.raises(Refused, match="not a regular file"):
        holdfast.init(project, agent="claude")


def test_unknown_agents_and_scopes_are_refused(project: Workspace) -> None:
    with pytest.raises(WrongUsage, match="no agent"):
        holdfast.init(project, agent="robot")
    for verb in (holdfast.init, holdfast.uninit):
        with pytest.raises(WrongUsage, match="no scope"):
            verb(project, scope="world")


# What git shows


def test_where_git_would_show_our_file_a_hint_says_so(project: Workspace) -> None:
    assert "git shows .claude/settings.local.json" in holdfast.init(project, agent="claude").hints[0]


@pytest.mark.parametrize("list_", [".gitignore", ".git/info/exclude", "home"])
def test_where_git_ignores_our_file_there_is_no_hint(project: Workspace, home: Path, list_: str) -> None:
    path = home / ".config" / "git" / "ignore" if list_ == "home" else project.root / list_
    put(path, "**/.claude/settings.local.json\n")
    assert holdfast.init(project, agent="claude").hints == []


# Purging


@pytest.mark.promise(28)
def test_purging_leaves_the_repository_as_it_was(repository: Path, home: Path) -> None:
    put(repository / "a.txt", "one\n")
    git(repository, "add", "a.txt")
    git(repository, "commit", "-qm", "first")
    before = tree_of(repository)
    with holdfast.open(repository) as workspace:
        holdfast.init(workspace, agent="claude")
        put(repository / "a.txt", "two\n")
        holdfast.checkpoint(workspace)
        put(repository / "a.txt", "one\n")
        done = holdfast.uninit(workspace, purge=True)
    assert (done.purged, done.packs) == (str(repository / ".git" / "holdfast"), 0)
    assert tree_of(repository) == before
    assert list((home / ".local/state/holdfast/stores").iterdir()) == []


def test_what_a_commit_rests_on_stays_when_all_else_is_purged(repository: Path) -> None:
    put(repository / "a.txt", "kept by a checkpoint first\n")
    with holdfast.open(repository) as workspace:
        holdfast.init(workspace)
        holdfast.checkpoint(workspace)
        git(repository, "add", "a.txt")
        git(repository, "commit", "-qm", "first")
        holdfast.uninit(workspace, purge=True)
    git(repository, "fsck", "--full")
    assert git(repository, "for-each-ref", "refs/holdfast") == ""
    assert list((repository / ".git/objects/pack").glob("*.keep")) == []


def test_there_must_be_a_store_to_purge_and_it_must_be_ours(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        with pytest.raises(NotFound):
            holdfast.uninit(workspace, purge=True)
        workspace.place.mkdir(mode=0o700)
        (workspace.place / "id").write_text("store-0000000000\n")
        with pytest.raises(Refused, match="not made here"):
            holdfast.uninit(workspace, purge=True)
        assert (workspace.place / "id").exists()


def test_purging_asks_first(repository: Path, cli: Callable[..., Command]) -> None:
    cli("init").ok()
    done = cli("uninit", "--purge")
    assert (done.code, "--yes" in done.err) == (1, True)
    assert (repository / ".git" / "holdfast" / "id").exists()
    cli("uninit", "--purge", "--yes").ok()
    assert not (repository / ".git" / "holdfast").exists()


# In words


@pytest.mark.parametrize("there", [True, False], ids=["there", "not there"])
def test_claude_code_is_asked_to_call_where_it_is_installed(
    repository: Path, cli: Callable[..., Command], tmp_path: Path, there: bool
) -> None:
    program = tmp_path / "bin" / "claude"
    put(program, "#!/bin/sh\n")
    program.chmod(0o755 if there else 0o644)
    done = cli("init", env={"PATH": f"{program.parent}:/usr/bin:/bin"}).ok()
    assert (repository / ".claude/settings.local.json").exists() == there
    assert ("`holdfast init --agent claude`" in done.err) == (not there)


def test_the_command_says_what_it_changed(repository: Path, cli: Callable[..., Command]) -> None:
    put(repository / ".claude" / "settings.local.json", '{"model": "opus"}')
    done = cli("init").ok()
    assert "settings.local.json, added: UserPromptSubmit, PreToolUse" in done.err
    assert json.loads(cli("init", "--print").ok().out)["hooks"].keys() == EVENTS
    assert "is what it was before" in cli("uninit").ok().err
    assert "No settings here" in cli("uninit").ok().err
    holdfast_json = cli("init", "--scope", "user", "--agent", "claude", "--json").ok().json
    assert (holdfast_json["scope"], len(holdfast_json["events"])) == ("user", len(EVENTS))
    assert "`holdfast uninit --scope user`" in cli("uninit").ok().err
