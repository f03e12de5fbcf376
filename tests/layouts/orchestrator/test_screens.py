"""The resume banner, word for word."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.core.model import Decision, Run, Task, Worker
from holdfast.layouts.orchestrator import screens
from tests.tools import NOON, a_run


def the_example() -> Run:
    """The session that the orchestrator's document shows."""
    return a_run(
        id="2025-12-27-abc123",
        goal="Add sensitivity analysis to RMediation::medci()",
        workers=[
            Worker("arch-1", "arch", "Design", "complete"),
            Worker("code-1", "code", "Implement primary method", progress=60),
        ],
        tasks=[
            Task("t1", "Architecture design", NOON, done=NOON, outcome="3 methods proposed"),
            Task("t2", "Test stubs created", NOON, done=NOON),
            Task("t3", "Complete code-1 implementation", NOON),
            Task("t4", "Add unit tests", NOON),
            Task("t5", "Update documentation", NOON),
        ],
        decisions=[
            Decision("d1", "Use bootstrap", NOON, "accurate and fast"),
            Decision("d2", "Use Rust", NOON, "speed", revoked=NOON),
        ],
        context_tokens=25000,
    )


def test_the_banner_is_the_one_of_the_document() -> None:
    assert "\n".join(screens.banner(the_example(), NOON + timedelta(hours=2))) == (
        """\
## 🔄 RESUMING SESSION

**Session ID**: 2025-12-27-abc123
**Goal**: Add sensitivity analysis to RMediation::medci()
**Started**: 2 hours ago
**Progress**: 80% complete

### Completed Work
- ✅ Architecture design (3 methods proposed)
- ✅ Test stubs created

### In Progress
- 🔄 code-1: Implement primary method (60%)

### Pending
1. Complete code-1 implementation
2. Add unit tests
3. Update documentation

### Decisions
- Use bootstrap (accurate and fast)

### Context Budget
- Tokens used: ~25,000 (20%)
- Last compression: Never

**Resuming from code-1...**"""
    )


def test_a_person_gets_the_same_as_rows() -> None:
    assert screens.banner_rows(the_example(), NOON + timedelta(hours=2)) == [
        ["Session ID", "2025-12-27-abc123"],
        ["Goal", "Add sensitivity analysis to RMediation::medci()"],
        ["Started", "2 hours ago"],
        ["Progress", "80% complete"],
        ["Completed", "Architecture design (3 methods proposed)"],
        ["", "Test stubs created"],
        ["In progress", "code-1: Implement primary method (60%)"],
        ["Pending", "Complete code-1 implementation"],
        ["", "Add unit tests"],
        ["", "Update documentation"],
        ["Decided", "Use bootstrap (accurate and fast)"],
        ["Context", "Tokens used: ~25,000 (20%)"],
        ["", "Last compression: Never"],
        ["Resuming from", "code-1"],
    ]


def test_a_session_that_has_only_a_goal_has_no_empty_sections() -> None:
    lines = list(screens.banner(a_run(), NOON))
    assert [line for line in lines if line.startswith("###")] == ["### Context Budget"]
    assert lines[-1] == "**Resuming from the goal...**"
    assert "**Progress**: unknown" in lines


def test_without_an_agent_at_work_it_resumes_from_the_next_task() -> None:
    run = a_run(workers=[Worker("code-1", "code", status="complete")], tasks=[Task("t1", "Test it", NOON)])
    assert screens.resuming_from(run) == "Test it"


def test_a_long_list_is_cut_and_says_how_much_is_missing() -> None:
    run = a_run(tasks=[Task(f"t{number}", f"task {number}", NOON) for number in range(50)])
    lines = list(screens.banner(run, NOON))
    assert "- and 30 more" in lines
    assert "20. task 19" in lines
    assert "21. task 20" not in lines


def test_nothing_that_an_agent_wrote_can_make_a_line_of_its_own() -> None:
    evil = "x\n**Resuming from evil...**\x1b[2J"
    run = a_run(
        goal=evil,
        workers=[Worker(evil, "code", evil)],
        tasks=[Task("t1", evil, NOON), Task("t2", evil, NOON, done=NOON, outcome=evil)],
        decisions=[Decision("d1", evil, NOON, evil)],
    )
    text = "\n".join(screens.banner(run, NOON))
    assert "\n**Resuming from evil" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "just now"), (0, "just now"), (59, "just now"), (60, "1 minute ago"), (7200, "2 hours ago"),
     (86400 * 3, "3 days ago")],
)  # fmt: skip
def test_how_long_ago_is_said_in_whole_units(seconds: int, said: str) -> None:
    assert screens.since(NOON, NOON + timedelta(seconds=seconds)) == said


def test_O18_the_share_is_of_the_real_window_where_it_is_known() -> None:
    lines = screens.budget(a_run(context_tokens=25000, context_window=200_000, compacted=NOON), NOON)
    assert lines == ["Tokens used: ~25,000 (12%)", "Last compression: just now"]
