"""Trust: what a repository brings runs only after somebody has seen it and allowed it, and only as it was seen."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused
from holdfast.project import settings
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.trust import shown
from tests.conftest import TickingClock
from tests.faber_project import WORKFLOWS, Faber, artifact, outcomes
from tests.faber_states import ACTIVE, RUNS, a_state, put
from tests.promises import Figure
from tests.tools import Command

pytestmark = pytest.mark.promise(20)

SCRIPT = "#!/bin/sh\necho issue $1 >> ran; echo the issue $1\n"
COMMAND = "tools/issue.sh {work_id}"


@pytest.fixture
def faber(project: Workspace, clock: TickingClock) -> Faber:
    """A FABER run whose workflow names a command, which runs a script of the project."""
    made = Faber(project, clock)
    made.put(work_id="7")
    script(made, SCRIPT)
    made.workflow(order())
    return made


def order(command: str = COMMAND, id: str = "issue", kind: str = "skill") -> dict[str, Any]:
    return {"id": id, "type": kind, "command": command}


def script(faber: Faber, text: str, name: str = "tools/issue.sh") -> Path:
    path = faber.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def definition(faber: Faber, name: str = "default") -> Path:
    return faber.root / WORKFLOWS / f"{name}.json"


def allow(faber: Faber, path: str | None = None) -> None:
    """What somebody does who looks and says yes."""
    for brought in holdfast.trust(faber.workspace, path).files:
        holdfast.trust(faber.workspace, path, seen=brought.digest)


def runs_of(faber: Faber) -> int:
    ran = faber.root / "ran"
    return len(ran.read_text().splitlines()) if ran.exists() else 0


def load(faber: Faber) -> dict[str, str]:
    return outcomes(faber.load(force=True))


def state(faber: Faber) -> str:
    return holdfast.trust(faber.workspace).files[0].state


def test_nothing_runs_before_it_was_allowed_and_all_else_works(faber: Faber) -> None:
    found = faber.load()
    assert outcomes(found) == {"issue": "not run"}
    assert artifact(found, "issue").why == "a command of a project runs only if you trust it"
    assert "`holdfast trust` shows it and asks" in (artifact(found, "issue").content or "")
    holdfast.checkpoint(faber.workspace)
    assert faber.save().changed
    assert holdfast.status(faber.workspace).untrusted == [str(definition(faber))]
    (check,) = [check for check in holdfast.doctor(faber.workspace).checks if check.name == "commands"]
    assert (check.state, check.hints) == ("warning", ["`holdfast trust` shows them and asks"])
    assert runs_of(faber) == 0


def test_what_was_allowed_runs_and_its_words_are_loaded(faber: Faber) -> None:
    allow(faber)
    found = faber.load()
    assert outcomes(found) == {"issue": "loaded"}
    assert artifact(found, "issue").content == "the issue 7\n"
    assert holdfast.status(faber.workspace).untrusted == []
    assert "commands" not in [check.name for check in holdfast.doctor(faber.workspace).checks]


def test_looking_allows_nothing_and_shows_everything(faber: Faber) -> None:
    (found,) = holdfast.trust(faber.workspace).files
    assert [(order.artifact, order.command, order.why_not) for order in found.orders] == [("issue", COMMAND, None)]
    assert [(file.path, file.text, file.cut) for file in found.files] == [("tools/issue.sh", SCRIPT, False)]
    assert (found.state, load(faber)) == ("waiting", {"issue": "not run"})


def test_only_what_was_seen_is_allowed(faber: Faber) -> None:
    (seen,) = holdfast.trust(faber.workspace).files
    script(faber, SCRIPT + "echo more\n")
    with pytest.raises(Refused, match="has changed since it was shown"):
        holdfast.trust(faber.workspace, seen=seen.digest)
    assert load(faber) == {"issue": "not run"}


def test_one_changed_byte_revokes_it_a_hundred_times(faber: Faber, figure: Figure) -> None:
    """Anywhere in the workflow or the script; put back, it is what was allowed again."""
    allow(faber)
    chance = random.Random(20)
    places_ = [definition(faber), faber.root / "tools/issue.sh"]
    for number in range(100):
        path = places_[number % 2]
        good = path.read_bytes()
        at, bit = chance.randrange(len(good)), 1 << chance.randrange(8)
        path.write_bytes(good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :])
        found = outcomes(faber.load(force=True)) if number % 10 == 0 else {}
        assert found.get("issue") != "loaded", f"byte {at} of {path.name}"
        brought = holdfast.trust(faber.workspace).files
        assert [each.state for each in brought] in (["changed"], []), f"byte {at} of {path.name}"
        path.write_bytes(good)
        figure("changed bytes refused", 1)
    assert runs_of(faber) == 0
    assert load(faber) == {"issue": "loaded"}


CHANGES: dict[str, Callable[[Faber], object]] = {
    "a byte more": lambda faber: definition(faber).write_bytes(definition(faber).read_bytes() + b" "),
    "another command": lambda faber: faber.workflow(order("tools/issue.sh {work_id} more")),
    "a command more": lambda faber: faber.workflow(order(), order("tools/issue.sh", "other")),
    "another script": lambda faber: script(faber, "#!/bin/sh\necho evil >> ran\n"),
    "a link to another": lambda faber: _linked(faber, faber.root / "tools/evil.sh"),
    "a link out": lambda faber: _linked(faber, faber.root.parent / "evil.sh"),
    "no script": lambda faber: (faber.root / "tools/issue.sh").unlink(),
}


def _linked(faber: Faber, target: Path) -> None:
    shutil.copy(faber.root / "tools/issue.sh", target)
    target.write_text("#!/bin/sh\necho evil >> ran\n")
    (faber.root / "tools/issue.sh").unlink()
    (faber.root / "tools/issue.sh").symlink_to(target)


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_revokes_it(change: str, faber: Faber) -> None:
    allow(faber)
    CHANGES[change](faber)
    assert "loaded" not in load(faber).values()
    assert runs_of(faber) == 0


def test_trust_stays_behind_where_the_project_is_copied_or_moved(faber: Faber, tmp_path: Path) -> None:
    allow(faber)
    shutil.copytree(faber.root, tmp_path / "copy", symlinks=True, ignore=shutil.ignore_patterns(".git"))
    with holdfast.open(tmp_path / "copy") as workspace:
        assert [brought.state for brought in holdfast.trust(workspace).files] == ["waiting"]


@pytest.mark.parametrize("value", ["-rf", "7; touch ran", "../../x", "$(touch ran)", "7 8", "tools/issue.sh", "a\nb"])
def test_what_a_state_says_becomes_no_option_no_path_and_no_second_word(value: str, faber: Faber) -> None:
    allow(faber)
    faber.put(work_id=value)
    assert load(faber)["issue"] != "loaded"
    assert runs_of(faber) == 0


def test_a_file_that_a_filled_word_names_must_have_been_seen_too(faber: Faber) -> None:
    faber.workflow(order("sh {work_id}"))
    faber.put(work_id="later.sh")
    allow(faber)
    script(faber, "echo evil >> ran\n", "later.sh")
    found = faber.load(force=True)
    assert artifact(found, "issue").why == "it would use later.sh, which you have not seen"
    assert runs_of(faber) == 0


NAMING = [
    "tools/issue.sh 7",
    "./tools/../tools/issue.sh 7",
    "{project_root}/tools/issue.sh 7",
    "sh -c './tools/issue.sh 7'",
    "sh -c 'true;tools/issue.sh 7'",
    "env X=tools/issue.sh sh ./tools/issue.sh 7",
    "sh -c '. ./tools/issue.sh > /dev/stdout'",
    """sh -c "'{project_root}/tools/issue.sh' 7" """,
    """sh -c "./tools/is''sue.sh 7" """,
    "sh -c './tools/is\\sue.sh 7'",
    "sh -c 'tools/alias.sh 7'",
    "sed -n -f tools/sed.txt /dev/null",
    "sed -n --file=tools/sed.txt /dev/null",
    "sed -n '--file=tools/my sed.txt' /dev/null",
]


@pytest.mark.parametrize("command", NAMING)
def test_a_script_that_is_a_word_of_the_command_is_bound_to_the_grant(command: str, faber: Faber) -> None:
    name = next((each for each in ("tools/sed.txt", "tools/my sed.txt") if each in command), "tools/issue.sh")
    for each in ("tools/sed.txt", "tools/my sed.txt"):
        script(faber, "p\n", each)
    (faber.root / "tools/alias.sh").symlink_to("issue.sh")
    faber.workflow(order(command))
    assert [file.path for file in holdfast.trust(faber.workspace).files[0].files] == [name]
    allow(faber)
    assert load(faber) == {"issue": "loaded"}
    script(faber, "#!/bin/sh\necho evil\n", name)
    assert load(faber) == {"issue": "not run"}


def test_a_file_that_a_command_does_not_name_as_a_word_is_not_bound_and_the_question_says_so(faber: Faber) -> None:
    faber.workflow(order("sh -c 'cd tools && ./issue.sh 7'"))
    (found,) = holdfast.trust(faber.workspace).files
    assert found.files == []
    assert any("what else they read or run is not" in str(line) for line in shown(found))


COMPILE = """
import importlib.util, sys
from py_compile import PycInvalidationMode, compile
cached = importlib.util.cache_from_source(sys.argv[2])
compile(sys.argv[1], cached, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
"""


def test_what_was_compiled_beside_an_allowed_program_does_not_run_instead(faber: Faber, tmp_path: Path) -> None:
    """Python prefers a compiled file that says that nobody need look at what it was made of."""
    program = script(faber, "print('good')\n", "tools/x.py")
    faber.workflow(order("sh -c 'PYTHONPATH=tools python3 -c \"import x\"; : tools/x.py'"))
    allow(faber)
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(faber.root / 'ran')!r}, 'a').write('evil\\n')\n")
    subprocess.run(["python3", "-c", COMPILE, evil, program], check=True)
    assert load(faber) == {"issue": "loaded"}
    assert runs_of(faber) == 0


def test_a_directory_that_a_filled_word_names_must_be_a_word_of_the_command(faber: Faber) -> None:
    script(faber, "open('ran', 'w').write('evil\\n')\n", "pk/__main__.py")
    faber.workflow(order("python3 {work_id}"))
    allow(faber)
    faber.put(work_id="pk")
    assert artifact(faber.load(force=True), "issue").why == "it would use pk, which you have not seen"
    assert runs_of(faber) == 0


def test_a_project_may_lie_in_a_directory_that_is_called_like_one_of_its_own(
    clock: TickingClock, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "src/tools").mkdir(parents=True)
    with holdfast.open(tmp_path / "src/tools") as workspace:
        workspace.create()
        faber = Faber(workspace, clock)
        faber.put(work_id="7")
        for name in ("src/__init__.py", "src/issue.sh", "issue.sh", "tools/issue.sh"):
            script(faber, SCRIPT, name)
        faber.workflow(order("{project_root}/issue.sh {work_id}"))
        allow(faber)
        assert load(faber) == {"issue": "loaded"}


def test_a_script_is_found_also_where_names_have_blanks(clock: TickingClock, tmp_path: Path, home: Path) -> None:
    (tmp_path / "my project").mkdir()
    with holdfast.open(tmp_path / "my project") as workspace:
        workspace.create()
        faber = Faber(workspace, clock)
        faber.put(work_id="7")
        script(faber, SCRIPT, "tools/my issue.sh")
        for command in ("sh -c './tools/my\\ issue.sh 7'", """sh -c "'{project_root}/tools/my issue.sh' 7" """):
            faber.workflow(order(command))
            (found,) = holdfast.trust(workspace).files
            assert [file.path for file in found.files] == ["tools/my issue.sh"]
            allow(faber)
            assert load(faber) == {"issue": "loaded"}


@pytest.mark.parametrize("part", ["[", "[:", "{,", ",", "a=b; ", "*a", "-a", "-m", "\\\\a", '"a ', "a[b"])
def test_a_long_command_is_looked_through_in_no_time(part: str, faber: Faber) -> None:
    for command in (f"echo '{part * (4_000 // len(part))}'", f"echo '-{part[0] * 4_000}'"):
        faber.workflow(order(command))
        before = time.process_time()
        assert [each.state for each in holdfast.trust(faber.workspace).files] == ["waiting"], command
        assert time.process_time() - before < 2, command


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/fractary-work:issue-fetch {work_id}", "slash command of the client"),
        ("/clear", "slash command of the client"),
        ("tools/issue.sh 'x", "quote that is not closed"),
        ("sh ../outside.sh", "leads out of the project"),
        ("cat .git/config", "leads out of the project"),
        ("x" * 5_000, "too long"),
    ],
)
def test_what_cannot_run_waits_for_nobody_and_says_why(command: str, why: str, faber: Faber) -> None:
    (faber.root.parent / "outside.sh").write_text("echo evil\n")
    faber.workflow(order(command))
    assert holdfast.trust(faber.workspace).files == []
    assert holdfast.status(faber.workspace).untrusted == []
    assert why in artifact(faber.load(), "issue").why


UNSTEADY = [
    "/proc/self/cwd/tools/x.sh",
    "//proc/./self/cwd/tools/x.sh",
    "sh -c 'exec /proc/$$/cwd/tools/x.sh'",
    "env X=/proc/self/cwd/tools/x.sh sh -c '$X'",
    "cwd/tools/x.sh",
    "sh -c 'cd link; exec ./tools/x.sh'",
    "{project_root}/link/tools/x.sh",
    "sh /dev/fd/3/tools/x.sh",
]


@pytest.mark.parametrize("command", UNSTEADY)
def test_a_script_that_each_process_finds_elsewhere_never_runs(
    command: str, faber: Faber, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the question would show the one that lies where the user stands, and that of the project would run."""
    script(faber, "#!/bin/sh\necho good\n", "sub/tools/x.sh")
    script(faber, "#!/bin/sh\necho evil\n", "tools/x.sh")
    (faber.root / "cwd").symlink_to("/proc/self/cwd")
    (faber.root / "link").symlink_to("cwd")
    monkeypatch.chdir(faber.root / "sub")
    faber.workflow(order(command))
    assert holdfast.trust(faber.workspace).files == []
    assert "which is another file for each process" in artifact(faber.load(), "issue").why


def test_a_script_may_write_to_standard_output(faber: Faber) -> None:
    faber.workflow(order("sh -c 'tools/issue.sh {work_id} > /dev/stdout'"))
    allow(faber)
    assert load(faber) == {"issue": "loaded"}


def test_what_is_said_never_to_run_does_not_run_with_values_filled_in_either(faber: Faber) -> None:
    """`x{work_id}` leads out of the project, and `x7` leads nowhere."""
    (faber.root / "x{work_id}").symlink_to("/etc/passwd")
    faber.workflow(order(), order("sh -c 'echo evil' x{work_id}", "evil"))
    (found,) = holdfast.trust(faber.workspace).files
    assert found.orders[1].why_not == "names x{work_id}, which leads out of the project"
    allow(faber)
    assert load(faber) == {"issue": "loaded", "evil": "not run"}


def _links(faber: Faber) -> None:
    for number in range(41):
        (faber.root / f"link{number}").symlink_to("tools/issue.sh")


def _no_links(faber: Faber) -> None:
    for number in range(41):
        (faber.root / f"link{number}").unlink()


NEVER: dict[str, tuple[str, Callable[[Faber], object], Callable[[Faber], object]]] = {
    "a link out": (
        "harmless",
        lambda faber: (faber.root / "harmless").symlink_to("/etc/passwd"),
        lambda faber: (faber.root / "harmless").unlink(),
    ),
    "links": (" ".join(f"link{number}" for number in range(41)), _links, _no_links),
}


@pytest.mark.parametrize("name", NEVER)
def test_what_was_said_never_to_run_does_not_run_after_a_change_in_the_worktree(name: str, faber: Faber) -> None:
    words, make, change = NEVER[name]
    make(faber)
    faber.workflow(order(), order(f"sh -c 'echo evil' {words}", "evil"))
    assert holdfast.trust(faber.workspace).files[0].orders[1].why_not
    allow(faber)
    assert load(faber) == {"issue": "loaded", "evil": "not run"}
    change(faber)
    assert [grant.state for grant in holdfast.list_trusted(faber.workspace).grants] == ["changed"]
    assert load(faber) == {"issue": "not run", "evil": "not run"}


@pytest.mark.parametrize("name", NEVER)
def test_what_is_said_never_to_run_is_not_allowed_after_a_change_while_somebody_reads(name: str, faber: Faber) -> None:
    words, make, change = NEVER[name]
    make(faber)
    faber.workflow(order(), order(f"sh -c 'echo evil' {words}", "evil"))
    (seen,) = holdfast.trust(faber.workspace).files
    change(faber)
    with pytest.raises(Refused, match="has changed since it was shown"):
        holdfast.trust(faber.workspace, seen=seen.digest)
    assert load(faber) == {"issue": "not run", "evil": "not run"}


def test_a_grant_is_for_the_commands_that_it_holds(faber: Faber) -> None:
    allow(faber)
    (grant,) = Path(holdfast.list_trusted(faber.workspace).directory).iterdir()
    grant.write_text(json.dumps({**json.loads(grant.read_text()), "commands": ["another one"]}))
    assert [held.state for held in holdfast.list_trusted(faber.workspace).grants] == ["changed"]
    assert (state(faber), load(faber)) == ("changed", {"issue": "not run"})


def test_a_program_of_the_project_is_not_found_by_its_name_alone(faber: Faber, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f".:{faber.root}/tools:{os.environ['PATH']}")
    faber.workflow(order("issue.sh 7"))
    allow(faber)
    assert load(faber) == {"issue": "missing"}
    assert runs_of(faber) == 0


def test_a_program_of_the_project_is_not_found_by_what_runs_either(
    faber: Faber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{faber.root}/tools:{os.environ['PATH']}")
    faber.workflow(order("env issue.sh 7"))
    allow(faber)
    assert load(faber)["issue"] != "loaded"
    assert runs_of(faber) == 0


def test_a_workflow_that_is_extended_is_allowed_by_itself(faber: Faber) -> None:
    faber.workflow(order(), name="base")
    definition(faber).write_text(json.dumps({"extends": "base"}))
    assert load(faber) == {"issue": "not run"}
    allow(faber, str(definition(faber, "base")))
    assert load(faber) == {"issue": "loaded"}


def test_a_workflow_of_the_plugin_is_allowed_for_this_project_alone(faber: Faber, home: Path) -> None:
    plugin = home / ".claude/plugins/marketplaces/fractary-faber/plugins/faber/config/workflows/base.json"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(json.dumps({"critical_artifacts": {"always_load": [order()]}}))
    definition(faber).write_text(json.dumps({"extends": "base"}))
    assert f"`holdfast trust {plugin}`" in (artifact(faber.load(), "issue").content or "")
    allow(faber, str(plugin))
    assert load(faber) == {"issue": "loaded"}


def test_a_path_that_brings_nothing_is_not_found(faber: Faber) -> None:
    for path in ("tools", "nothing", "/etc/passwd"):
        with pytest.raises(NotFound, match="Nothing there could run"):
            holdfast.trust(faber.workspace, str(faber.root / path))


def test_trust_is_taken_back(faber: Faber) -> None:
    allow(faber)
    assert holdfast.untrust(faber.workspace).paths == [str(definition(faber))]
    assert load(faber) == {"issue": "not run"}
    assert holdfast.untrust(faber.workspace).paths == []


def test_the_list_says_what_still_holds(faber: Faber) -> None:
    allow(faber)
    assert [grant.state for grant in holdfast.list_trusted(faber.workspace).grants] == ["trusted"]
    script(faber, "echo\n")
    assert [grant.state for grant in holdfast.list_trusted(faber.workspace).grants] == ["changed"]
    definition(faber).unlink()
    (grant,) = holdfast.list_trusted(faber.workspace).grants
    assert (grant.state, grant.commands, grant.root) == ("gone", [COMMAND], str(faber.root))


# Nobody but the user gives it


def test_grants_are_the_users_alone_and_lie_outside_of_the_project(faber: Faber, home: Path) -> None:
    os.umask(0)
    allow(faber)
    directory = Path(holdfast.list_trusted(faber.workspace).directory)
    assert directory == home / ".local/share/holdfast/trust"
    (grant,) = directory.iterdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (directory, grant)]
    assert modes == [0o700, 0o600]
    os.umask(0o022)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o606])
def test_a_grant_that_others_could_have_written_or_read_is_worth_nothing(mode: int, faber: Faber) -> None:
    allow(faber)
    (grant,) = Path(holdfast.list_trusted(faber.workspace).directory).iterdir()
    grant.chmod(mode)
    assert (state(faber), load(faber)) == ("waiting", {"issue": "not run"})


def test_a_grant_that_is_a_link_or_nonsense_is_worth_nothing(faber: Faber) -> None:
    allow(faber)
    (grant,) = Path(holdfast.list_trusted(faber.workspace).directory).iterdir()
    os.rename(grant, faber.root / "grant")
    grant.symlink_to(faber.root / "grant")
    assert state(faber) == "waiting"
    grant.unlink()
    for content in (b"", b"{", b"[1]", b'{"root": 1}', b"\xff"):
        grant.write_bytes(content)
        grant.chmod(0o600)
        assert state(faber) == "waiting"


def test_a_grant_that_was_copied_for_another_file_is_worth_nothing(faber: Faber) -> None:
    """The name of a grant says for which file it is, and so does the grant itself."""
    allow(faber)
    (grant,) = (directory := Path(holdfast.list_trusted(faber.workspace).directory)).iterdir()
    faber.workflow(order("tools/issue.sh evil"), name="other")
    allow(faber, str(definition(faber, "other")))
    (other,) = set(directory.iterdir()) - {grant}
    other.write_bytes(grant.read_bytes())
    found = {Path(brought.path).stem: brought.state for brought in holdfast.trust(faber.workspace).files}
    assert found == {"default": "trusted", "other": "waiting"}


@pytest.mark.parametrize("name", ["HOLDFAST_STATE_DIR", "HOLDFAST_CONFIG_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME"])
def test_no_variable_moves_trust_to_where_a_repository_keeps_it(
    name: str, faber: Faber, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings.own_directory()
    monkeypatch.setenv(name, str(faber.root / "planted"))
    assert settings.own_directory() == before


@pytest.mark.parametrize("inside", ["", ".git", ".git/holdfast", "sub/dir"])
def test_grants_that_a_repository_brings_are_worth_nothing(
    inside: str, faber: Faber, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(faber)
    planted = faber.root / inside / "home"
    shutil.copytree(home / ".local", planted / ".local")
    monkeypatch.setenv("HOME", str(planted))
    assert state(faber) == "waiting"
    with pytest.raises(Refused, match="cannot be stored inside the project"):
        allow(faber)


@pytest.mark.parametrize("text", ["[trust]\nall = true\n", "trust = true\n", "[command]\ndeadline = 1\n"])
def test_no_settings_of_a_project_give_trust(text: str, faber: Faber) -> None:
    (faber.root / ".holdfast.toml").write_text(text)
    assert load(faber) == {"issue": "not run"}


@pytest.mark.promise(24)
def test_no_word_of_a_project_stands_as_it_is_in_a_command_that_can_be_pasted(
    faber: Faber, cli: Callable[..., Command]
) -> None:
    faber.workflow(order(id="a; touch ran"))
    allow(faber)
    put(faber.root, ACTIVE, "b; touch ran")
    put(faber.root, f"{RUNS}/b; touch ran/state.json", a_state(run_id="b; touch ran", work_id="7"))
    given = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}).encode()
    done = cli("hook", "claude", "SessionStart", stdin=given).ok()
    assert "`holdfast session-load --artifacts 'a; touch ran'` runs it" in done.out
    (faber.root / RUNS / "b; touch ran/state.json").write_text("{")
    assert "`holdfast repair 'b; touch ran'`" in cli("session-load").err


def test_a_hook_runs_no_command_and_says_how_it_runs(faber: Faber, cli: Callable[..., Command]) -> None:
    allow(faber)
    given = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}).encode()
    done = cli("hook", "claude", "SessionStart", stdin=given).ok()
    assert "`holdfast session-load --artifacts issue` runs it" in done.json["hookSpecificOutput"]["additionalContext"]
    assert runs_of(faber) == 0
