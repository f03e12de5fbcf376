"""Conversations that were there before: each becomes a run, once, with what its transcript tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import NotFound
from holdfast.core.model import Run, Session, Status
from holdfast.ingest.import_conversations import IMPORTED
from holdfast.operations import import_claude
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree, kinds_of
from tests.tools import Command, hook
from tests.transcripts import BEGUN, MODEL, Transcript, folder


@pytest.fixture
def told(project: Workspace) -> Transcript:
    """A conversation with a prompt, a tool and an answer."""
    found = Transcript(str(project.root))
    found.prompt("Fix the login bug")
    found.call("t1", "Edit", file_path=f"{project.root}/src/login.py", old_string="a", new_string="b")
    found.result("t1", "The file was updated")
    found.say("It is fixed", tokens=30_000, output=0)
    return found


@pytest.fixture
def keep(project: Workspace, home: Path) -> Callable[[Transcript], Path]:
    """Write a transcript where the client would."""
    return lambda told: told.write(folder(home, Path(told.directory)) / f"{told.conversation}.jsonl")


def runs(project: Workspace) -> list[Run]:
    return holdfast.runs(project).runs


def the_session(project: Workspace) -> Session:
    (session,) = holdfast.sessions(project, every=True).sessions
    return session


def test_conversation_becomes_a_run(project: Workspace, told: Transcript, keep: Any) -> None:
    keep(told)
    found = holdfast.import_claude(project)
    (run,) = runs(project)
    assert (found.runs, found.conversations, found.prompts, found.actions) == ([run.id], 1, 1, 1)
    assert (run.goal, run.status, run.status_reason) == ("Fix the login bug", Status.PAUSED, IMPORTED)
    assert [prompt.text for prompt in run.prompts] == ["Fix the login bug"]
    assert [(action.text, action.files) for action in run.actions] == [("Edit: src/login.py", ["src/login.py"])]
    assert (run.reply, list(run.files), run.agents) == ("It is fixed", ["src/login.py"], ["claude"])
    assert run.created == BEGUN + timedelta(seconds=1)


def test_session_is_what_the_transcript_says_of_it(project: Workspace, told: Transcript, keep: Any) -> None:
    told.cost(0.25)
    path = keep(told)
    holdfast.import_claude(project)
    session = the_session(project)
    assert (session.agent_session, session.transcript) == ("c1", str(path))
    assert (session.how, session.reason, session.ended) == ("ended", IMPORTED, BEGUN + timedelta(seconds=4))
    assert (session.context_tokens, session.context_window, session.model) == (30_000, 200_000, MODEL)
    assert (session.tokens_read, session.tokens_written, session.cost) == (31_000, 20, 0.25)


def test_cost_of_older_versions_stands_in_the_answers(project: Workspace, told: Transcript, keep: Any) -> None:
    told.say("one", costUSD=0.5)
    told.say("two", costUSD=0.25)
    keep(told)
    holdfast.import_claude(project)
    assert the_session(project).cost == 0.75


def test_answer_in_several_lines_is_counted_once(project: Workspace, told: Transcript, keep: Any) -> None:
    told.lines.append({**told.say("last", tokens=5), "uuid": "again"})
    keep(told)
    holdfast.import_claude(project)
    assert the_session(project).tokens_read == 31_005


def test_second_import_adds_only_what_is_new(project: Workspace, told: Transcript, keep: Any) -> None:
    keep(told)
    holdfast.import_claude(project)
    before = kinds_of(project, runs(project)[0].id)
    again = holdfast.import_claude(project)
    assert (again.runs, again.joined, again.prompts) == ([], [], 0)
    assert kinds_of(project, runs(project)[0].id) == before
    told.prompt("And the logout")
    keep(told)
    more = holdfast.import_claude(project)
    (run,) = runs(project)
    assert (more.runs, more.joined, more.prompts) == ([], [run.id], 1)
    assert ([prompt.text for prompt in run.prompts][1:], run.status) == (["And the logout"], Status.PAUSED)


def test_import_that_was_killed_half_way_is_finished_by_the_next(
    project: Workspace, told: Transcript, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast.ingest import import_conversations

    keep(told)
    with monkeypatch.context() as patched:
        patched.setattr(import_conversations, "BATCH", 1)
        patched.setattr(import_conversations.Destination, "finish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            holdfast.import_claude(project)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert (run.status, len(run.prompts), len(run.actions)) == (Status.PAUSED, 1, 1)
    assert the_session(project).how == "ended"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("<command-name>/clear</command-name>", {}),
        ("<local-command-stdout>x</local-command-stdout>", {}),
        ("Caveat: The messages below were generated", {}),
        ("<task-notification><summary>done</summary></task-notification>", {}),
        ("[Request interrupted by user for tool use]", {}),
        ("a remark of the client", {"isMeta": True}),
        ("what a subagent was asked", {"isSidechain": True}),
        ("This session is being continued", {"isCompactSummary": True}),
        ("   ", {}),
    ],
)
def test_goal_is_the_first_real_prompt(project: Workspace, keep: Any, text: str, fields: dict[str, Any]) -> None:
    told = Transcript(str(project.root))
    told.prompt(text, **fields)
    told.prompt("Fix it")
    keep(told)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert (run.goal, [prompt.text for prompt in run.prompts]) == ("Fix it", ["Fix it"])


def test_prompt_of_several_parts_is_one(project: Workspace, keep: Any) -> None:
    told = Transcript(str(project.root))
    parts = [{"type": "text", "text": "Fix"}, {"type": "image", "source": {}}, {"type": "text", "text": "this"}]
    told.prompt("", message={"role": "user", "content": parts})
    keep(told)
    holdfast.import_claude(project)
    assert runs(project)[0].goal == "Fix\nthis"


def test_failed_tool_and_one_without_a_result_are_told(project: Workspace, told: Transcript, keep: Any) -> None:
    told.call("t2", "Bash", command="make")
    told.result("t2", "exit 2", is_error=True)
    told.call("t3", "Bash", command="make again")
    keep(told)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert (run.actions[-1].text, run.actions[-1].error) == ("Bash: make", "exit 2")
    assert {key: action.text for key, action in run.doing.items()} == {"t3": "Bash: make again"}


def test_command_that_printed_a_refusal_was_carried_out(project: Workspace, told: Transcript, keep: Any) -> None:
    printed = "<tool_use_error>nope</tool_use_error>"
    told.call("t2", "Bash", command="cat log")
    told.result("t2", printed)
    told.call("t3", "Bash", command="cat other")
    told.result("t3", printed, is_error=True)
    keep(told)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert [(action.text, action.error) for action in run.actions[-2:]] == [
        ("Bash: cat log", None),
        ("Bash: cat other", "nope"),
    ]


def test_compaction_is_told_with_its_summary(project: Workspace, told: Transcript, keep: Any) -> None:
    told.compact()
    keep(told)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert (run.compactions, run.summary, len(run.prompts)) == (1, "We did it.", 1)


def test_subagents_file_belongs_to_its_parent(project: Workspace, told: Transcript, keep: Any) -> None:
    path = keep(told)
    sub = Transcript(str(project.root))
    sub.prompt("look around", isSidechain=True)
    sub.call("s1", "Bash", command="ls").update(isSidechain=True, agentId="a1")
    sub.result("s1").update(isSidechain=True)
    sub.write(path.with_suffix("") / "subagents" / "agent-a1.jsonl")
    found = holdfast.import_claude(project)
    (run,) = runs(project)
    assert (found.conversations, found.actions) == (1, 2)
    assert sorted(action.text for action in run.actions) == ["Bash: ls", "Edit: src/login.py"]
    assert len(run.prompts) == 1
    assert the_session(project).context_tokens == 30_000


def test_one_conversation_in_several_files_is_one_run(project: Workspace, told: Transcript, keep: Any) -> None:
    path = keep(told)
    told.prompt("Go on")
    told.write(path.with_name("later.jsonl"))
    found = holdfast.import_claude(project)
    assert (found.conversations, found.prompts, len(runs(project))) == (1, 2, 1)


def test_fork_joins_the_run_of_its_parent_and_doubles_nothing(project: Workspace, told: Transcript, keep: Any) -> None:
    path = keep(told)
    os.utime(path, (1, 1))
    fork = Transcript(str(project.root), "c2", BEGUN + timedelta(hours=1))
    fork.lines = [{**line, "sessionId": "c2", "promptId": "p2"} for line in told.lines if isinstance(line, dict)]
    fork.prompt("Go aside", promptId="p2")
    keep(fork)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert [prompt.text for prompt in run.prompts] == ["Fix the login bug", "Go aside"]
    assert {session.agent_session for session in holdfast.sessions(project, every=True).sessions} == {"c1", "c2"}
    holdfast.import_claude(project)
    assert len(runs(project)[0].prompts) == 2


def call(project: Workspace, told: Transcript, event: str, **payload: Any) -> None:
    known = {"session_id": told.conversation, "hook_event_name": event, "cwd": told.directory}
    hook(project.root, "claude", event, json.dumps({**known, **payload}).encode(), CLAUDE_PID=str(os.getpid()))


def test_what_hooks_have_recorded_is_not_doubled(repository: Path, told: Transcript, keep: Any) -> None:
    with holdfast.open(repository) as project:  # with a clock that agrees with that of the hooks
        check_that_nothing_is_doubled(project, told, keep)


def check_that_nothing_is_doubled(project: Workspace, told: Transcript, keep: Any) -> None:
    call(project, told, "UserPromptSubmit", prompt="Fix the login bug", prompt_id="p1")
    call(project, told, "PostToolUse", tool_name="Edit", tool_input={"file_path": "src/login.py"}, tool_use_id="t1")
    call(project, told, "Stop", last_assistant_message="It is fixed")
    (run,) = runs(project)
    when = holdfast.log(project, run=run.id).events[-3].time
    for line in told.lines:
        assert isinstance(line, dict)
        line["timestamp"] = when.isoformat()
    keep(told)
    before = kinds_of(project, run.id)
    found = holdfast.import_claude(project)
    assert (found.runs, found.prompts, found.actions) == ([], 0, 0)
    assert [kind for kind in kinds_of(project, run.id) if kind != "usage.counted"] == before
    assert the_session(project).is_open


def test_what_a_recorded_conversation_was_before_is_put_before_it(
    project: Workspace, told: Transcript, keep: Any
) -> None:
    call(project, told, "UserPromptSubmit", prompt="And now this", prompt_id="p9")
    keep(told)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert [prompt.text for prompt in run.prompts] == ["Fix the login bug", "And now this"]
    assert (run.status, run.goal) == (Status.ACTIVE, "And now this")


def test_conversation_goes_on_in_its_imported_run(project: Workspace, told: Transcript, keep: Any) -> None:
    keep(told)
    holdfast.import_claude(project)
    call(project, told, "UserPromptSubmit", prompt="And the logout", prompt_id="p2")
    (run,) = runs(project)
    assert ([prompt.text for prompt in run.prompts], run.status) == (
        ["Fix the login bug", "And the logout"],
        Status.ACTIVE,
    )


def test_transcript_of_another_project_is_skipped(
    project: Workspace, told: Transcript, home: Path, tmp_path: Path
) -> None:
    other = tmp_path / "project-other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    for directory in (str(other), "/gone/elsewhere"):
        strange = Transcript(directory, directory)
        strange.prompt("Somebody else's")
        strange.write(folder(home, project.root) / f"{directory.replace('/', '-')}.jsonl")
    found = holdfast.import_claude(project)
    assert (found.conversations, runs(project)) == (0, [])
    assert sorted(each.reason for each in found.skipped) == [
        "it belongs to another project: /gone/elsewhere",
        f"it belongs to another project: {other}",
    ]


def test_project_that_was_moved_is_imported_by_naming_its_files(project: Workspace, tmp_path: Path) -> None:
    told = Transcript("/gone/elsewhere")
    told.prompt("Fix it")
    path = told.write(tmp_path / "old" / "c1.jsonl")
    assert holdfast.import_claude(project, str(path.parent)).prompts == 1
    assert runs(project)[0].worktree == project.worktree


def test_worktrees_and_directories_below_are_found(
    project: Workspace, told: Transcript, keep: Any, clock: TickingClock, tmp_path: Path
) -> None:
    below = project.root / "inner"
    below.mkdir()
    with a_worktree(project, tmp_path / "other", clock) as other:
        for number, directory in enumerate((project.root, below, other.root)):
            each = Transcript(str(directory), f"c{number}")
            each.prompt(f"prompt {number}")
            keep(each)
        holdfast.import_claude(other)
        assert {run.goal: run.worktree for run in runs(project)} == {
            "prompt 0": project.worktree,
            "prompt 1": project.worktree,
            "prompt 2": other.worktree,
        }


def test_config_directory_can_lie_elsewhere(repository: Path, told: Transcript, tmp_path: Path) -> None:
    told.write(tmp_path / "conf" / "projects" / folder(tmp_path, repository).name / "c1.jsonl")
    with holdfast.open(repository, environ={**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "conf")}) as workspace:
        assert holdfast.import_claude(workspace).prompts == 1


def test_only_the_newest_are_taken_unless_all_are_wanted(
    project: Workspace, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_claude, "MOST", 2)
    for number in range(3):
        told = Transcript(str(project.root), f"c{number}")
        told.prompt(f"prompt {number}")
        os.utime(keep(told), (number + 1, number + 1))
    found = holdfast.import_claude(project)
    assert ({run.goal for run in runs(project)}, found.left) == ({"prompt 1", "prompt 2"}, 1)
    assert holdfast.import_claude(project, every=True).left == 0
    assert len(runs(project)) == 3


def test_what_is_no_transcript_is_skipped_and_said(project: Workspace, told: Transcript, keep: Any) -> None:
    path = keep(told)
    os.mkfifo(path.with_name("pipe.jsonl"))
    path.with_name("link.jsonl").symlink_to(path)
    path.with_name("empty.jsonl").write_bytes(b"")
    path.with_name("summary.jsonl").write_bytes(b'{"type":"summary","summary":"x","leafUuid":"y"}\n')
    path.with_name("directory.jsonl").mkdir()
    silent = Transcript(str(project.root), "silent")
    silent.say("nobody asked")
    keep(silent)
    found = holdfast.import_claude(project)
    assert found.conversations == 1
    assert {os.path.basename(each.file): each.reason for each in found.skipped} == {
        "pipe.jsonl": "This is not a regular file",
        "link.jsonl": "This is a link or a socket, not a regular file",
        "directory.jsonl": "This is not a regular file",
        "empty.jsonl": "it holds no conversation",
        "summary.jsonl": "it holds no conversation",
        "silent.jsonl": "it holds no prompt",
    }


HOSTILE: list[dict[str, Any]] = [
    {"uuid": 7, "timestamp": []},
    {"timestamp": "9999-12-31T23:59:59Z"},
    {"timestamp": "2026-01-01T00:00:00"},
    {"message": []},
    {"message": {"content": [7, None, {"type": "tool_result", "tool_use_id": {}}, {"type": "text", "text": 5}]}},
    {"cwd": 9, "isSidechain": "yes"},
    {"message": {"content": "\x1b]0;x\x07 \u202e \x00"}},
]


@pytest.mark.parametrize("fields", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("kind", ["user", "assistant", "system", "cost-state"])
def test_whatever_stands_in_a_line_the_rest_is_taken(
    project: Workspace, told: Transcript, keep: Any, kind: str, fields: dict[str, Any]
) -> None:
    told.add(kind, **fields)
    told.prompt("The last one")
    keep(told)
    holdfast.import_claude(project)
    (run,) = runs(project)
    assert run.prompts[-1].text == "The last one"
    assert run.updated is not None
    assert run.updated <= project.clock.now()


@pytest.mark.promise(6)
def test_lines_that_cannot_be_read_are_counted_and_said(
    project: Workspace, told: Transcript, keep: Any, cli: Callable[..., Command]
) -> None:
    told.lines += [b'{"type":"user","message":{"ro', b"\x00" * 300]
    told.prompt("after it")
    keep(told)
    found = holdfast.import_claude(project)
    assert (found.damaged, len(found.runs)) == (2, 1)
    assert "2 lines could not be read; what stood there is not taken in" in cli("import", "--claude").ok().err


def test_file_that_is_named_must_be_there(project: Workspace) -> None:
    with pytest.raises(NotFound):
        holdfast.import_claude(project, ["/nowhere/c1.jsonl"])


def test_import_makes_the_store_and_fills_the_lists(
    repository: Path, told: Transcript, keep: Any, cli: Callable[..., Command]
) -> None:
    keep(told)
    done = cli("import", "--claude").ok()
    assert done.err == "Imported 1 run of 1 conversation: 1 prompt, 1 action\n"
    assert "Fix the login bug" in cli("runs").ok().out
    shown = cli("show", done.out.strip()).ok().out
    assert "prompt     Fix the login bug\naction     Edit: src/login.py\n" in shown
    assert "file       src/login.py\n" in shown


@pytest.mark.parametrize("there", ["nothing", "another project's", "no prompt"])
@pytest.mark.defect("`import --claude` made a store where there was nothing to import, and did not say why")
def test_import_of_nothing_makes_no_store_and_says_why(
    repository: Path, home: Path, cli: Callable[..., Command], there: str
) -> None:
    elsewhere = repository.parent / "elsewhere"
    elsewhere.mkdir()
    told = Transcript(str(elsewhere if there == "another project's" else repository))
    if there != "no prompt":
        told.prompt("Fix it")
    told.say("Hello", tokens=1, output=0)
    if there != "nothing":
        told.write(folder(home, repository) / "c1.jsonl")
    done = cli("import", "--claude").ok()
    why = f"there is no transcript of this project in {home}/.claude/projects"
    if there != "nothing":
        why = "no conversation of this project is in 1 transcript"
    assert (done.out, done.err.splitlines()[0]) == ("", f"Nothing to import: {why}")
    assert cli("import", "--claude", "--json").json["reason"] == why
    assert not (repository / ".git" / "holdfast").exists()


def test_import_needs_to_know_what(cli: Callable[..., Command]) -> None:
    refused = cli("import")
    assert (refused.code, "`holdfast import --claude`" in refused.err) == (2, True)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="NOT PROVED HERE: there is no /proc")
def test_a_huge_transcript_does_not_have_to_fit_into_memory(repository: Path, home: Path) -> None:
    """With 200 MB of it, and less than that to live in."""
    told = Transcript(str(repository))
    told.prompt("Fix it")
    path = told.write(folder(home, repository) / "c1.jsonl")
    other = json.dumps({"type": "api-request-blob", "text": "x" * 1_000_000}).encode() + b"\n"
    with open(path, "ab") as file:
        for _ in range(200):
            file.write(other)
    script = (
        "import holdfast\n"
        "with holdfast.open() as project: print(holdfast.import_claude(project).prompts)\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=repository, capture_output=True, text=True, timeout=60, check=True
    )
    prompts, peak = done.stdout.split()
    assert prompts == "1"
    assert int(peak) * 1024 < 100_000_000
