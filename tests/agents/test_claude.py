"""What the real Claude Code calls, in which order, and that Holdfast keeps it; however a session goes on or ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from holdfast.system import process
from tests.agents.conftest import Gate, Project
from tests.agents.interactive import CONTROL_C, ESCAPE
from tests.agents.model import SUMMARY

TURN = ["UserPromptSubmit", "Stop"]
COMPACTION = ["SubagentStop", "SessionStart(compact)"]


def tool(name: str, **given: str) -> str:
    """A script that calls one tool and is content."""
    return f"@@tool {name} {json.dumps(given)} @@say done"


def bash(command: str) -> str:
    return tool("Bash", command=command, description="a command")


def test_one_turn_with_one_tool_is_called_in_this_order(project: Project) -> None:
    done = project.claude("make it " + bash("echo two > made.txt"))
    assert done.text == "done"
    assert project.witness.names == [
        "SessionStart(startup)", "UserPromptSubmit", "PreToolUse(Bash)", "PostToolUse(Bash)", "PostToolBatch", "Stop",
        "SessionEnd(other)",
    ]  # fmt: skip
    assert (project.directory / "made.txt").read_text() == "two\n"
    assert {seen.session for seen in project.witness.seen} == {done.session}


def test_every_call_names_the_client_and_the_project(project: Project) -> None:
    project.claude("say it @@say done")
    for seen in project.witness.seen:
        assert seen.environment["CLAUDECODE"] == "1"
        assert seen.environment["CLAUDE_CODE_SESSION_ID"] == seen.session
        assert seen.environment["CLAUDE_PROJECT_DIR"] == seen.payload["cwd"] == str(project.directory)


def test_session_in_a_directory_of_the_project_is_recorded_there_too(project: Project) -> None:
    inner = project.directory / "inner"
    inner.mkdir()
    project.claude("say it @@say done", directory=inner)
    assert {seen.environment["CLAUDE_PROJECT_DIR"] for seen in project.witness.seen} == {str(inner)}
    assert [run.goal for run in project.runs()] == ["say it @@say done"]


def test_calls_are_kept_with_the_client_that_made_them_while_it_works(project: Project, gate: Gate) -> None:
    client = project.start("-p", "wait " + bash(gate.command))
    gate.wait()
    (session,) = project.sessions()
    assert session.process is not None
    assert (session.process.pid, process.judge(session.process).alive) == (client.pid, True)
    assert session.agent_session == project.witness.seen[0].session
    (run,) = project.runs()
    assert [prompt.text.split(" @@")[0] for prompt in run.prompts] == ["wait"]
    assert [action.text for action in run.doing.values()] == [f"Bash: {gate.command}"]
    gate.open()
    assert project.finish(client).code == 0


def test_processes_of_tools_that_outlive_a_killed_client_are_named(project: Project, gate: Gate) -> None:
    client = project.start("-p", "wait " + bash(f"({gate.command})"))
    gate.wait()
    assert "Still running" not in project.holdfast("status").out
    client.kill()
    client.communicate()
    (session,) = project.sessions()
    said = [line for line in project.holdfast("status").out.splitlines() if line.startswith("Still running")]
    assert any(line.startswith(f"Still running, started by {session.id}: process ") for line in said)
    assert said[-1].endswith("  cat")
    assert "## Still running, started by a session that died" in project.holdfast("brief").out
    gate.open()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (bash("echo two > readme.txt"), "Bash: echo two > readme.txt"),
        (tool("Write", file_path="DIRECTORY/readme.txt", content="two\n"), "Write: readme.txt"),
        ("@@tool Read {\"file_path\": \"DIRECTORY/readme.txt\"} "
         + tool("Edit", file_path="DIRECTORY/readme.txt", old_string="one", new_string="two"), "Edit: readme.txt"),
    ],
    ids=["Bash", "Write", "Edit"],
)  # fmt: skip
def test_what_a_tool_did_is_an_action_of_the_run(project: Project, script: str, told: str) -> None:
    done = project.claude("change it " + script.replace("DIRECTORY", str(project.directory)))
    assert done.text == "done"
    assert (project.directory / "readme.txt").read_text() == "two\n"
    (run,) = project.runs()
    assert run.goal.startswith("change it")
    assert run.actions[-1].text == told
    assert run.reply == "done"


REFUSED = [
    (tool("Nonsense", a="b"), (), "Nonsense", "Error: No such tool available: Nonsense"),
    (bash("echo two > readme.txt"), ("--disallowedTools", "Bash"), "Bash: echo two", "Bash is disabled"),
    (bash("echo two > readme.txt"), ("--disallowedTools", "Bash(echo:*)"), "Bash: echo two", "has been denied"),
    (tool("Edit", file_path="DIRECTORY/readme.txt", old_string="zzz", new_string="two"), (), "Edit: readme.txt",
     "String to replace not found"),
]  # fmt: skip


@pytest.mark.defect("Tool calls that the client had refused counted as done and stood in the brief's last actions.")
@pytest.mark.parametrize(("script", "options", "told", "error"), REFUSED, ids=["unknown", "off", "denied", "edit"])
def test_tool_call_that_the_client_refused_is_an_error_and_no_action(
    project: Project, script: str, options: tuple[str, ...], told: str, error: str
) -> None:
    project.claude("change it " + script.replace("DIRECTORY", str(project.directory)), *options)
    assert (project.directory / "readme.txt").read_text() == "one\n"
    (run,) = project.runs()
    (action,) = run.actions
    assert action.text.startswith(told)
    assert error in (action.error or "")
    assert (run.standing.actions, run.files, run.doing) == (0, {}, {})
    (line,) = [line for line in project.holdfast("log").out.splitlines() if f"  {told}" in line]
    assert " refused: " in line
    brief = project.holdfast("brief").out
    assert "## Last actions" not in brief
    assert f"- {action.text}: " in brief


@pytest.mark.parametrize(
    "printed",
    [
        "<tool_use_error>nope</tool_use_error>",
        "Permission to use Bash with command x has been denied.",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
    ],
)
def test_command_that_prints_a_refusal_was_carried_out(project: Project, printed: str) -> None:
    (project.directory / "log.txt").write_text(printed)
    project.claude("look " + bash("cat log.txt"))
    (run,) = project.runs()
    assert [(action.text, action.error) for action in run.actions] == [("Bash: cat log.txt", None)]
    assert (run.standing.actions, run.errors) == (1, [])
    assert " refused: " not in project.holdfast("log").out


@pytest.mark.defect("A failed Bash stood in the log twice, once as if it had been done.")
def test_failed_command_is_told_once_and_as_failed(project: Project) -> None:
    project.claude("try it " + bash("echo out; exit 3"))
    (run,) = project.runs()
    taken = [event for event in project.log(run.id) if event.kind == "action.taken"]
    assert [event.body["error"] for event in taken] == ["Exit code 3\nout"]
    said = project.holdfast("log").out.splitlines()
    assert [line.split("  ")[-1] for line in said if "exit 3 failed" in line] == [
        "Bash: echo out; exit 3 failed: Exit code 3 out"
    ]
    assert run.standing.actions == 1


@pytest.mark.defect("The action of a TaskCreate showed the description of the task instead of its subject.")
def test_new_task_is_told_with_its_subject(project: Project) -> None:
    script = tool("TaskCreate", subject="Cover the client", description="with tests of every kind")
    project.more["CLAUDE_CODE_ENABLE_TODO_TOOLS"] = "1"
    project.claude("plan it " + script)
    (run,) = project.runs()
    assert [action.text for action in run.actions] == ["TaskCreate: Cover the client"]
    assert [task.text for task in run.tasks] == ["Cover the client"]


def test_journal_holds_the_turn_once_and_in_order(project: Project) -> None:
    done = project.claude("make it " + bash("echo two > made.txt"))
    (run,) = project.runs()
    kinds = [event.kind for event in project.log(run.id)]
    for kind in ("prompt.given", "action.begun", "turn.ended", "session.ended"):
        assert kinds.count(kind) == 1
    wanted = ["session.opened", "prompt.given", "action.begun", "action.taken", "turn.ended", "session.ended"]
    assert sorted(wanted, key=kinds.index) == wanted
    (session,) = project.sessions()
    assert (session.agent, session.agent_session, session.reason) == ("claude", done.session, "other")
    assert session.process is not None
    assert session.process.pid == project.witness.seen[0].pid


@pytest.mark.parametrize("way", ["--resume", "--continue"])
def test_resumed_conversation_keeps_its_id_and_its_run(project: Project, way: str) -> None:
    first = project.claude("begin here @@say begun")
    again = project.claude("go on @@say gone on", way, *([first.session] if way == "--resume" else []))
    assert again.session == first.session
    assert project.witness.names[4:] == ["SessionStart(resume)", *TURN, "SessionEnd(other)"]
    (run,) = project.runs()
    assert [prompt.text.split(" @@")[0] for prompt in run.prompts] == ["begin here", "go on"]
    assert [session.agent_session for session in project.sessions()] == [first.session, first.session]


def test_forked_conversation_has_a_new_id_and_the_same_run(project: Project) -> None:
    first = project.claude("begin here @@say begun")
    fork = project.claude("go aside @@say gone", "--resume", first.session, "--fork-session")
    assert fork.session != first.session
    assert project.witness.of(fork.session) == ["SessionStart(fork)", *TURN, "SessionEnd(other)"]
    assert [session.run for session in project.sessions()] == [project.runs()[0].id] * 2


def test_manual_compaction_keeps_the_id_and_tells_its_start_before_its_summary(project: Project) -> None:
    first = project.claude("begin here @@say begun")
    project.claude("/compact", "--resume", first.session)
    compaction = ["PreCompact(manual)", *COMPACTION, "PostCompact(manual)", "SessionEnd(other)"]
    assert project.witness.of(first.session)[5:] == compaction
    assert SUMMARY in str(project.witness.wait_for("PostCompact(manual)").payload["compact_summary"])
    (run,) = project.runs()
    assert (run.compactions, run.summary) == (1, SUMMARY)


def test_automatic_compaction_comes_in_the_middle_of_a_turn(project: Project) -> None:
    done = project.claude(f"fill it @@usage 990000 {bash('echo two')}")
    names = project.witness.of(done.session)
    assert names[5:-2] == ["PreCompact(auto)", *COMPACTION, "PostCompact(auto)"]
    assert names[-2:] == ["Stop", "SessionEnd(other)"]
    assert [request.is_summary for request in done.requests].count(True) == 1


def test_cleared_conversation_has_a_new_id_in_the_same_process_and_the_same_run(project: Project) -> None:
    with project.interactive() as claude:
        claude.type("begin here @@say begun")
        project.witness.wait_for("Stop")
        claude.type("/clear")
        began = project.witness.wait_for("SessionStart(clear)")
        claude.type("go on @@say gone on")
        project.witness.wait_for("Stop", 2)
        claude.type("/exit")
        assert claude.finish() == 0
    ended = project.witness.wait_for("SessionEnd(clear)")
    assert (ended.pid, ended.session == began.session) == (began.pid, False)
    (run,) = project.runs()
    assert {session.agent_session for session in project.sessions()} == {began.session, ended.session}
    assert run.goal.startswith("begin here")


def test_session_killed_in_a_tool_says_nothing_and_is_found_interrupted(project: Project, gate: Gate) -> None:
    client = project.start("-p", "wait " + bash(gate.command))
    gate.wait()
    client.kill()
    project.finish(client)
    assert project.witness.names == ["SessionStart(startup)", "UserPromptSubmit", "PreToolUse(Bash)"]
    (run,) = project.runs()
    assert run.status == "interrupted"
    assert [action.text for action in run.doing.values()] == [f"Bash: {gate.command}"]
    (session,) = project.sessions()
    assert (session.how, session.fenced) == ("died", True)


LONG = [pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGINT, signal.SIGHUP)]


@pytest.mark.parametrize("number", [signal.SIGTERM, *LONG])
def test_session_told_to_stop_in_a_tool_says_that_it_ended(
    project: Project, gate: Gate, number: signal.Signals
) -> None:
    client = project.start("-p", "wait " + bash(gate.command))
    gate.wait()
    client.send_signal(number)
    project.finish(client)
    calls = ["SessionStart(startup)", "UserPromptSubmit", "PreToolUse(Bash)", "SessionEnd(other)"]
    assert project.witness.names == calls
    (session,) = project.sessions()
    assert (session.how, session.reason) == ("ended", "other")


def test_escape_in_a_tool_says_nothing_and_the_session_goes_on(project: Project, gate: Gate) -> None:
    with project.interactive() as claude:
        claude.type("wait " + bash(gate.command))
        gate.wait()
        claude.press(ESCAPE)
        claude.wait_for("Interrupted")
        claude.type("go on @@say gone on")
        project.witness.wait_for("Stop")
        claude.type("/exit")
        assert claude.finish() == 0
    assert project.witness.names == [
        "SessionStart(startup)", "UserPromptSubmit", "PreToolUse(Bash)", *TURN, "SessionEnd(prompt_input_exit)",
    ]  # fmt: skip
    (run,) = project.runs()
    assert run.doing == {}


def test_escape_in_a_reply_says_nothing_either(project: Project) -> None:
    with project.interactive() as claude:
        claude.type("begin here @@hang")
        project.model.wait_for(lambda request: request.is_turn)
        before = len(claude.screen)
        claude.press(ESCAPE)
        claude.wait_for("begin here @@hang", before)  # nothing was said yet, so the prompt is given back
    assert project.witness.names == ["SessionStart(startup)", "UserPromptSubmit"]
    (run,) = project.runs()
    assert (run.goal, run.status, run.reply) == ("begin here @@hang", "interrupted", None)


@pytest.mark.parametrize("way", ["/exit", "Ctrl-C twice"])
def test_session_left_by_a_person_says_so(project: Project, way: str) -> None:
    with project.interactive() as claude:
        claude.type("begin here @@say begun")
        project.witness.wait_for("Stop")
        if way == "/exit":
            claude.type("/exit")
        else:
            claude.wait_until_idle()
            claude.press(CONTROL_C)
            claude.wait_for("again to exit")
            claude.press(CONTROL_C)
        assert claude.finish() == 0
    assert project.witness.names == ["SessionStart(startup)", *TURN, "SessionEnd(prompt_input_exit)"]
    (session,) = project.sessions()
    assert (session.how, session.reason) == ("ended", "prompt_input_exit")


def test_two_sessions_in_two_worktrees_of_one_repository_do_not_mix(project: Project, gate: Gate) -> None:
    other = project.add_worktree("other")
    here = project.start("-p", "wait here " + bash(gate.command))
    gate.wait()
    there = project.claude("work there " + bash("pwd > where.txt"), directory=other)
    gate.open()
    first = project.finish(here)
    assert (other / "where.txt").read_text() == f"{other}\n"
    goals = {run.worktree: run.goal.split(" @@")[0] for run in project.runs()}
    assert goals == {".": "wait here", "other": "work there"}
    ids = {run.id: run.worktree for run in project.runs()}
    told = {session.agent_session: ids[session.run] for session in project.sessions()}
    assert told == {first.session: ".", there.session: "other"}


def test_five_sessions_at_once_are_five_runs_and_nothing_is_lost(project: Project, gate: Gate) -> None:
    started = [project.start("-p", f"job {number} " + bash(gate.command)) for number in range(5)]
    gate.wait(5)
    assert sorted(run.goal.split(" @@")[0] for run in project.runs()) == [f"job {number}" for number in range(5)]
    gate.open()
    ids = {project.finish(client).session for client in started}
    assert len(ids) == 5
    for id in ids:
        names = project.witness.of(id)
        assert (names[0], names[-1], len(names)) == ("SessionStart(startup)", "SessionEnd(other)", 7)
    assert [len(run.prompts) for run in project.runs()] == [1] * 5
    assert {session.agent_session for session in project.sessions()} == ids


def test_project_that_is_not_trusted_runs_no_hook_on_a_terminal(project: Project) -> None:
    state = json.loads((project.home / ".claude.json").read_text())
    (project.home / ".claude.json").write_text(json.dumps({**state, "projects": {}}))
    with project.interactive(trusted=False) as claude:
        claude.wait_for("trust")
    assert project.witness.names == []
    assert os.listdir(project.directory / ".git" / "holdfast" / "inbox") == []


def test_folder_that_has_no_store_is_left_alone(project: Project, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / ".claude").mkdir()
    (bare / ".claude" / "settings.local.json").write_bytes(
        (project.directory / ".claude" / "settings.local.json").read_bytes()
    )
    done = project.claude("say it @@say done", directory=bare)
    assert (done.text, done.err) == ("done", "")
    assert sorted(os.listdir(bare)) == [".claude"]
