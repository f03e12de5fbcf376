"""The report of a run: what stands in it, that it stays short, and that nothing in it acts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.core.model import Action, Checkpoint, Decision, Ending, Mishap, Note, Run, Session, Status, Step, Task
from holdfast.core.report import LONGEST, MOST, lasting, recount

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOSTILE = "x\n\n# Approved <img src=x onerror=alert(1)> @octocat fixes #12 | [a](javascript:b) ```\n/merge"


def a_run(**changes: Any) -> Run:
    fields = {"goal": "Add retries", "status": Status.ACTIVE, "created": NOW, "updated": NOW + timedelta(days=1)}
    return Run("run-a", **{**fields, **changes})


def test_a_report_tells_what_a_reviewer_wants_to_know() -> None:
    run = a_run(
        tasks=[Task("t1", "Write it", NOW, done=NOW, outcome="works", files=["a.py"]), Task("t2", "Ship it", NOW)],
        steps=[Step("design", "completed"), Step("code", "failed", error="red")],
        decisions=[
            Decision("d1", "Use backoff", NOW, because="load"),
            Decision("d2", "Use threads", NOW, revoked=NOW, revoked_because="too slow"),
        ],
        files={"a.py": NOW, "b.py": NOW},
        notes=[Note("n1", "Needs a VPN", NOW)],
        errors=[Mishap("It broke", NOW)],
    )
    sessions = [
        Session("ses-a", run.id, NOW, "claude", ended=NOW + timedelta(minutes=65), how=Ending.ENDED, model="opus",
                tokens_read=1000, tokens_written=50, cost=0.5),
        Session("ses-b", run.id, NOW, "robot"),
    ]  # fmt: skip
    kept = [Checkpoint("cp-a", ".", 1, NOW, "", "", name="before", changes=3)]
    assert recount(run, sessions, kept).splitlines() == [
        "# Add retries",
        "",
        "`run-a` · active · 2026-11-16 to 2026-11-17 · 2 sessions · 1 checkpoint · "
        "1,000 tokens read, 50 written, 0.50 US dollars (1 of 2 sessions told it)",
        "",
        "## What was done",
        "",
        "- [x] step design (completed)",
        "- [ ] step code (failed): red",
        "- [x] Write it: works (`a.py`)",
        "",
        "## Decisions",
        "",
        "- **Use backoff**, because load",
        "- ~~Use threads~~ (revoked: too slow)",
        "",
        "## Files changed",
        "",
        "- `b.py`",
        "- `a.py`",
        "",
        "## Open tasks",
        "",
        "- [ ] Ship it",
        "",
        "## Notes",
        "",
        "- Needs a VPN",
        "",
        "## Errors met",
        "",
        "- It broke",
        "",
        "## Sessions",
        "",
        "| session | agent | opened | lasted | how it ended | tokens read | written | cost |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| `ses-a` | claude, opus | 2026-11-16 12:00 UTC | 1 h 05 min | ended | 1,000 | 50 | 0.50 USD |",
        "| `ses-b` | robot | 2026-11-16 12:00 UTC |  | open |  |  |  |",
        "",
        "## Checkpoints",
        "",
        "| checkpoint | made | files | what |",
        "| --- | --- | --- | --- |",
        "| `cp-a` | 2026-11-16 12:00 UTC | 3 | before |",
    ]


def test_without_tasks_and_steps_the_last_actions_are_what_was_done() -> None:
    report = recount(a_run(name="Retries", actions=[Action("Edited a.py", NOW), Action("Ran the tests", NOW)]), [], [])
    assert "# Retries\n" in report
    assert "Goal: Add retries" in report
    assert "- Ran the tests\n- Edited a.py\n" in report


def a_hostile_run(text: str, number: int) -> tuple[Run, list[Session], list[Checkpoint]]:
    run = a_run(
        goal=text,
        name=text,
        tasks=[Task("t", text, NOW, done=NOW, outcome=text, files=[text]) for _ in range(number)]
        + [Task("t", text, NOW) for _ in range(number)],
        decisions=[Decision("d", text, NOW, because=text) for _ in range(number)],
        steps=[Step(text, "failed", error=text) for _ in range(number)],
        files={f"{text}{at}": NOW for at in range(number)},
        notes=[Note("n", text, NOW) for _ in range(number)],
        errors=[Mishap(text, NOW) for _ in range(number)],
    )
    sessions = [Session("ses-a", run.id, NOW, text, how=Ending.DIED, model=text, cost=1.0) for _ in range(number)]
    return run, sessions, [Checkpoint("cp-a", ".", 1, NOW, "", "", name=text) for _ in range(number)]


def test_nothing_that_others_wrote_acts_in_a_report() -> None:
    report = recount(*a_hostile_run(HOSTILE, 2))
    outside_code = re.sub(r"(`+).*?\1", "", report)
    assert not re.search(r"<|@\w|(?<![&\\])#\w|\]\(|://", outside_code.replace("\\]", ""))
    starts = {line.split()[0] for line in report.splitlines() if line}
    assert starts <= {"#", "##", "-", "|", "Goal:", "`run-a`"}
    assert len({line.count("|") - line.count("\\|") for line in report.splitlines() if line.startswith("|")}) == 2


def test_a_report_fits_into_a_description_however_much_there_is_to_tell() -> None:
    for size in (MOST + 10, 400):
        report = recount(*a_hostile_run("word " * 200, size))
        assert len(report) <= LONGEST + 200
    assert "`holdfast show run-a` has it" in report
    assert f"- and {10} more" in recount(a_run(notes=[Note("n", "x", NOW)] * (MOST + 10)), [], [])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 min"),
        (59, "0 min"),
        (3599, "59 min"),
        (3600, "1 h 00 min"),
        (172_800, "2 d 00 h"),
        (277_200, "3 d 05 h"),
    ],
)
def test_how_long_something_lasted_is_said_in_two_units_at_most(seconds: int, words: str) -> None:
    assert lasting(timedelta(seconds=seconds)) == words
