"""Two long-lived orchestrators on one session, and a crowd of processes that tell of their agents all at once."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import holdfast
from holdfast.core.errors import Busy, HoldfastError
from holdfast.project.workspace import Workspace
from tests.orchestrator_project import agree, orchestrate, session_of, session_path
from tests.sessions import a_process, as_session, events_of, kill, run_of


def test_the_second_orchestrator_is_told_who_has_the_session(project: Workspace) -> None:
    with a_process() as first:
        run = orchestrate(project, pid=first.pid)
        with pytest.raises(Busy, match="Another session is working on this run") as error:
            holdfast.resume(project)
        ((_, who),) = error.value.facts
        assert re.fullmatch(rf"process {first.pid} on \S+ since 2026-01-01 12:00", who)
        assert "--take-over" not in " ".join(error.value.hints)
        with pytest.raises(Busy) as error:
            holdfast.resume(project, run.id)
        assert f"`holdfast resume {run.id} --take-over`" in " ".join(error.value.hints)


def test_who_takes_over_writes_and_who_was_taken_over_cannot_any_more(project: Workspace) -> None:
    with a_process() as one, a_process() as two:
        started = holdfast.start(project, "Add retries", layout="orchestrator", pid=one.pid)
        assert started.session is not None
        first = as_session(project, started.session.id)
        with first:
            holdfast.start_agent(first, "code", "of the first")
            taken = holdfast.resume(project, take_over=True).taken_from
            assert [session.id for session in taken] == [started.session.id]
            joined = holdfast.join(project, pid=two.pid)
            before = session_path(project).read_bytes()
            for write in (
                lambda: holdfast.start_agent(first, "code", "too late"),
                lambda: holdfast.progress_agent(first, "code-1", 50),
                lambda: holdfast.decide(first, "too late"),
                lambda: holdfast.complete(first),
            ):
                with pytest.raises(HoldfastError, match="may no longer write to its run"):
                    write()
            assert session_path(project).read_bytes() == before
        with as_session(project, joined.session.id) as second:
            holdfast.progress_agent(second, "code-1", 70)
        assert [(one.id, one.progress) for one in agree(project).workers] == [("code-1", 70)]


def test_once_the_first_is_dead_nobody_has_to_take_over(project: Workspace) -> None:
    with a_process() as first:
        orchestrate(project, pid=first.pid)
        kill(first)
    assert holdfast.resume(project).run.status == "active"


def test_plain_commands_refuse_nobody(project: Workspace) -> None:
    with a_process() as first:
        orchestrate(project, pid=first.pid)
        holdfast.start_agent(project, "code", "of a plain command")
        assert [worker.id for worker in agree(project).workers] == ["code-1"]


PROCESSES, EACH = 20, 5
CROWD = f"""
import sys, holdfast
print("ready", flush=True)
sys.stdin.readline()
with holdfast.open(sys.argv[1]) as project:
    for number in range({EACH}):
        id = holdfast.start_agent(project, "code", f"{{sys.argv[2]}}.{{number}}").agent.id
        holdfast.progress_agent(project, id, 10 + number)
        holdfast.complete_agent(project, id, result=f"{{sys.argv[2]}}.{{number}} is done", tokens=number)
"""


def test_a_hundred_agents_of_twenty_processes_are_all_there_in_order(project: Workspace) -> None:
    run = orchestrate(project)
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", CROWD, str(project.root), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    try:
        for child in crowd:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        said = [child.communicate("\n", timeout=300)[1] for child in crowd]
    finally:
        for child in crowd:
            child.kill()
            child.wait()
    assert [(child.returncode, text) for child, text in zip(crowd, said, strict=True)] == [(0, "")] * PROCESSES
    workers = agree(project, run.id).workers
    assert [worker.id for worker in workers] == [f"code-{number}" for number in range(1, PROCESSES * EACH + 1)]
    assert {worker.task for worker in workers} == {f"{one}.{n}" for one in range(PROCESSES) for n in range(EACH)}
    assert all(worker.result == f"{worker.task} is done" for worker in workers)
    told = [event for event in events_of(project, run.id) if event.kind.startswith("agent.")]
    assert len(told) == 3 * PROCESSES * EACH
    for worker in workers:
        kinds = [event.kind for event in told if event.body["entry"] == worker.id]
        assert kinds == ["agent.started", "agent.progressed", "agent.completed"]
    assert [one["id"] for one in session_of(project)["agents"]] == [worker.id for worker in run_of(project).workers]


def test_start_says_which_session_it_archived_and_offers_it_no_more(project: Workspace) -> None:
    first = holdfast.start(project, "first", layout="orchestrator").run.id
    found = holdfast.start(project, "second", layout="orchestrator")
    assert (found.archived, [run.id for run in found.resumable]) == ([first], [])


def test_the_session_file_that_we_write_is_no_disagreement(project: Workspace) -> None:
    holdfast.start(project, "goal", layout="orchestrator")
    holdfast.checkpoint(project)
    holdfast.decide(project, "Use bootstrap")
    assert "do not agree" not in holdfast.brief(project).text
    (project.root / "other.txt").write_text("by somebody")
    told = holdfast.brief(project).text
    assert "1 file changed since the last checkpoint" in told
    assert "other.txt" in told
