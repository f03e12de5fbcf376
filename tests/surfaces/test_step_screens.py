"""Steps, rollback, the archive and observer commands, as people and scripts meet them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import holdfast
from tests.surfaces.commands import Known
from tests.tools import Command

Say = Callable[..., Command]


def test_steps_are_planned_shown_and_completed(repository: Path, say: Say) -> None:
    run = say("start", "Ship it", "--steps", "design, code,,test").ok().out.strip()
    say("step", "start", "design", "--agent", "architect").ok()
    say("step", "fail", "code", "--error", "red\x1b[2J").ok()
    stands = [line.removeprefix("Steps: ") for line in say("status").ok().out.splitlines() if line[:6] == "Steps:"]
    assert stands == ["0 of 3 steps completed", "active: design (architect)", "failed: code: red[2J", "next: test"]
    assert "step       active     design (architect)\nstep       failed     code: red[2J\n" in say("show").ok().out
    rows = [line.split()[1:3] for line in say("step", "list").ok().out.splitlines()[1:]]
    assert rows == [["active", "design"], ["failed", "code"], ["pending", "test"]]
    for name in ("design", "code"):
        say("step", "complete", name).ok()
    last = say("step", "complete", "test").ok()
    assert (last.out, last.err) == (
        "test\n",
        f"Step test of {run} is completed\nIt was the last one: {run} is completed\n",
    )
    again = say("step", "complete", "test").ok()
    assert again.err == f"Step test of {run} was completed already\n"
    assert "completed" in say("history").ok().out


def test_a_failed_step_needs_its_error(worked: Known, say: Say) -> None:
    assert say("step", "fail", "code").code == 2


def test_history_is_a_table_of_what_has_ended(worked: Known, say: Say) -> None:
    for run, word in ((worked.earlier, "abandon"), (worked.run, "complete")):
        say(word, "--run", run).ok()
    lines = say("history").ok().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["#", "run", "status"],
        ["1", worked.run, "completed"],
        ["2", worked.earlier, "abandoned"],
    ]
    short = say("history", "--limit", "1").ok()
    assert (len(short.out.splitlines()), short.err) == (2, "There are more: `holdfast history --limit 10`\n")
    one = say("history", "2").ok()
    assert one.out.splitlines()[:2] == ["Fix the flaky test", f"{worked.earlier}  abandoned"]
    assert say("history", "3").code == 10
    assert say("history", "0").code == 2
    assert say("history", "many").code == 2


def test_rollback_asks_and_where_nobody_answers_names_the_way(repository: Path, worked: Known, say: Say) -> None:
    (repository / "a.txt").write_text("one")
    made = say("checkpoint").ok().out.strip()
    (repository / "a.txt").write_text("two")
    refused = say("rollback", "1")
    assert (refused.code, refused.out) == (1, "")
    assert f"try: `holdfast rollback {made} --yes`" in refused.err
    assert (repository / "a.txt").read_text() == "two"
    dry = say("rollback", "1", "--dry-run").ok()
    assert dry.out == "write   a.txt\n"
    say("rollback", "1", "--yes").ok()
    assert (repository / "a.txt").read_text() == "one"
    undone = say("undo").ok()
    assert f"Undoing: rollback to {made}" in undone.err
    assert (repository / "a.txt").read_text() == "two"


def test_rollback_with_nothing_to_do_does_not_ask(worked: Known, say: Say) -> None:
    made = say("save").ok().out.strip()
    done = say("rollback", made).ok()
    assert "Nothing to do" in done.err


def test_saving_twice_says_that_nothing_changed(worked: Known, say: Say) -> None:
    first, again = say("save").ok(), say("save").ok()
    assert first.out == again.out
    assert again.err.startswith("Nothing changed since ")


def test_an_unknown_observer_command_is_wrong_usage_with_those_known(worked: Known, say: Say) -> None:
    done = say("command", "*nothing")
    assert (done.code, done.out) == (2, "")
    assert "*rollback:N|cp-ID" in done.err
    assert say("command", "no star").code == 2


def test_an_observer_command_that_fails_has_the_exit_code_of_its_verb(worked: Known, say: Say) -> None:
    assert say("command", "*cp-show:7").code == 10
    assert say("command", "*abandon").code == 2
    assert say("command", "*resume:run").code == 1


def test_the_same_verbs_are_there_from_python(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "Ship it", steps=["one"])
        assert holdfast.command(workspace, "*status").text.startswith("Ship it\n")
        assert holdfast.complete_step(workspace, "one").completed
