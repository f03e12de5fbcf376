"""The orchestrator's sessions as people, scripts and agents meet them: the words are those of its document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from holdfast.layouts.orchestrator import HISTORY, SESSION
from tests.orchestrator_files import schema_1_0, teleport
from tests.surfaces.terminal import Terminal, on_a_terminal
from tests.tools import Command, unfenced

Say = Callable[..., Command]
ID = r"[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9a-z]{6}"
BANNER = """\
## 🔄 RESUMING SESSION

**Session ID**: 2025-12-27-abc123
**Goal**: Add sensitivity analysis to RMediation::medci()
**Started**: [0-9]+ days ago
**Progress**: 80% complete

### Completed Work
- ✅ Architecture design (3 methods proposed)

### In Progress
- 🔄 code-1: Implement primary method (60%)

### Pending
1. Complete code-1 implementation
2. Add unit tests
3. Update documentation

### Decisions
- Use bootstrap for confidence intervals (Best balance of accuracy and performance)

### Context Budget
- Tokens used: ~25,000 (20%)
- Last compression: Never

**Resuming from code-1...**
"""


@pytest.fixture
def begun(repository: Path, say: Say) -> Path:
    """A project with the session of the document."""
    say("init").ok()
    (repository / SESSION).parent.mkdir(exist_ok=True)
    (repository / SESSION).write_text(json.dumps(schema_1_0(), indent=2))
    return repository


@pytest.fixture
def damaged(begun: Path, say: Say) -> Path:
    """The same, after its file was damaged."""
    say("status").ok()
    (begun / SESSION).write_text((begun / SESSION).read_text()[:-20])
    return begun


def test_an_agent_gets_the_banner_of_the_document(begun: Path, say: Say) -> None:
    done = say("continue").ok()
    pattern = re.escape(BANNER).replace(re.escape("[0-9]+ days ago"), "[0-9,]+ days ago")
    assert re.fullmatch(pattern, unfenced(done.out) + "\n"), done.out
    assert done.err == ""


def test_a_person_gets_the_same_as_a_table(begun: Path, home: Path) -> None:
    program = home / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho begun in $HOLDFAST_RUN\n")
    program.chmod(0o755)
    code, text = on_a_terminal("continue", directory=begun, env={"PATH": f"{program.parent}:/usr/bin:/bin"})
    lines = [line.rstrip() for line in text.splitlines()]
    assert code == 0, text
    assert "RESUMING SESSION" in lines[0]
    for line in (
        "  Session ID     2025-12-27-abc123",
        "  Progress       80% complete",
        "  In progress    code-1: Implement primary method (60%)",
        "  Pending        Complete code-1 implementation",
        "                 Add unit tests",
        "  Resuming from  code-1",
    ):
        assert line in lines, text
    assert not any(line.startswith("##") for line in lines)
    assert lines[-1] == "begun in 2025-12-27-abc123"


def test_without_a_session_there_is_none_to_resume(begun: Path, say: Say) -> None:
    say("abort").ok()
    done = say("continue")
    assert (done.code, done.out) == (10, "")
    assert done.err.startswith("holdfast: No session to resume\n")
    assert "`holdfast history`" in done.err


def test_a_damaged_file_gives_the_menu_of_the_document(damaged: Path, say: Say) -> None:
    before = (damaged / SESSION).read_bytes()
    done = say("continue")
    assert done.code == 1
    assert done.out.startswith("## ⚠️ SESSION RECOVERY\n\nThe previous session file appears corrupted.\n")
    assert [line.partition(":")[0] for line in done.out.splitlines() if line[:1].isdigit()] == [
        "1. **Last good copy**",
        "2. **Start fresh**",
        "3. **View history**",
        "4. **Manual recovery**",
    ]
    assert done.out.endswith("\nWhich would you prefer?\n")
    assert list(say("continue", "--json").json["choices"]) == ["copy", "fresh", "history", "manual"]
    assert (damaged / SESSION).read_bytes() == before


@pytest.mark.parametrize("choice", ["copy", "manual"])
def test_a_way_out_is_chosen_without_a_terminal_and_the_session_goes_on(damaged: Path, say: Say, choice: str) -> None:
    before = (damaged / SESSION).read_bytes()
    done = say("continue", "--choose", choice).ok()
    assert unfenced(done.out).startswith("## 🔄 RESUMING SESSION\n")
    assert "code-1: Implement primary method (60%)" in done.out
    (aside,) = (damaged / SESSION).parent.glob("*.corrupt-*")
    assert aside.read_bytes() == before
    assert json.loads((damaged / SESSION).read_bytes())["goal"] == schema_1_0()["goal"]


def test_to_start_fresh_archives_what_is_known_and_names_the_next_command(damaged: Path, say: Say) -> None:
    done = say("continue", "--choose", "fresh").ok()
    assert re.search(r"The damaged file is kept as \.claude/orchestrator-session\.json\.corrupt-[0-9-]+\n", done.out)
    assert '`holdfast start "GOAL" --layout orchestrator`' in done.out
    assert not (damaged / SESSION).exists()
    assert say("history").ok().out.count("2025-12-27-abc123") == 1


@pytest.mark.defect("`continue --choose history` named another command instead of printing the history")
def test_to_view_the_history_prints_its_list_and_changes_nothing(damaged: Path, say: Say) -> None:
    before = (damaged / SESSION).read_bytes()
    put_archived(damaged, status="aborted")
    shown = say("continue", "--choose", "history").ok().out
    assert shown == say("history").ok().out
    assert "2025-12-20-old111" in shown
    assert (damaged / SESSION).read_bytes() == before


@pytest.mark.defect("to view an empty history in the recovery menu proposed to resume one of its sessions")
def test_an_empty_history_proposes_no_session(damaged: Path, say: Say) -> None:
    done = say("continue", "--choose", "history").ok()
    assert "No run has ended yet" in done.err
    assert "holdfast resume" not in done.err
    assert f"The damaged file is still {SESSION}" in done.err


def put_archived(directory: Path, **members: str) -> None:
    """A session that another program has archived."""
    place = directory / HISTORY / "2025-12-20-old111.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    old = {**schema_1_0(), "session_id": "2025-12-20-old111", "created": "2025-12-20T10:30:00Z", **members}
    place.write_text(json.dumps(old))


@pytest.mark.parametrize("status", ["complete", "in_progress", "paused", "aborted", "abandoned", "completed", "error"])
@pytest.mark.defect(
    "`history` showed no creation date, and sessions of the orchestrator in other words than their file"
)
def test_the_history_shows_the_creation_date_and_the_words_of_the_file(begun: Path, say: Say, status: str) -> None:
    put_archived(begun, status=status)
    head, row = say("history").ok().out.splitlines()
    created = datetime.fromisoformat("2025-12-20T10:30:00Z").astimezone()
    assert head.split() == ["#", "run", "status", "created", "ended", "goal"]
    assert row.split()[:5] == ["1", "2025-12-20-old111", status, *f"{created:%Y-%m-%d %H:%M}".split()]


def test_a_file_of_the_history_without_a_word_has_that_of_the_document(begun: Path, say: Say) -> None:
    put_archived(begun, status="\x1b[31m")
    assert "\x1b" not in say("history").ok().out
    put_archived(begun, status=" ")
    assert say("history").ok().out.splitlines()[1].split()[2] == "in_progress"


@pytest.mark.defect("Sessions in files of another program had ended, and were worked on last, when they were imported")
def test_the_times_of_an_imported_session_are_those_of_its_file(begun: Path, say: Say) -> None:
    put_archived(begun, status="complete")
    (found,) = say("history", "--json").ok().json["runs"]
    assert (found["status_since"], found["updated"]) == ("2025-12-27T11:45:00Z", "2025-12-27T11:45:00Z")
    assert "just now" not in say("history").ok().out
    assert "just now" not in say("runs", "--status", "archived").out


def test_the_times_of_a_session_file_that_is_taken_in_are_its_own(repository: Path, say: Say) -> None:
    path = repository / SESSION
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(schema_1_0()))
    say("init", "--agent", "none").ok()
    (found,) = say("runs", "--json").ok().json["runs"]
    assert (found["created"], found["updated"]) == ("2025-12-27T10:30:00Z", "2025-12-27T11:45:00Z")
    assert "just now" not in say("runs").ok().out
    assert json.loads(path.read_text())["updated"] == "2025-12-27T11:45:00Z"


def test_the_history_keeps_our_own_words_for_our_own_runs(repository: Path, say: Say) -> None:
    run = say("start", "Fix it").ok().out.strip()
    say("complete").ok()
    assert say("history").ok().out.splitlines()[1].split()[:3] == ["1", run, "completed"]


def test_a_person_is_asked_which_way_out_is_preferred(damaged: Path) -> None:
    with Terminal("continue", "--print", directory=damaged) as terminal:
        terminal.wait_for("Which would you prefer? ")
        assert "The previous session file appears corrupted." in terminal.text
        terminal.type("copy\n")
        assert terminal.finish() == 0, terminal.text
    assert json.loads((damaged / SESSION).read_bytes())["session_id"] == "2025-12-27-abc123"


@pytest.mark.defect("the recovery menu refused its own numbers, and asked its question twice")
def test_the_recovery_menu_accepts_its_numbers_and_asks_once(damaged: Path) -> None:
    with Terminal("continue", "--print", directory=damaged) as terminal:
        terminal.wait_for("Which would you prefer? ")
        terminal.type("1\n")
        assert terminal.finish() == 0, terminal.text
    assert terminal.text.count("Which would you prefer") == 1
    assert terminal.text.count("SESSION RECOVERY") == 1
    assert "`holdfast continue` offers" not in terminal.text
    assert json.loads((damaged / SESSION).read_bytes())["session_id"] == "2025-12-27-abc123"


def test_a_way_out_is_chosen_by_its_number_without_a_terminal(damaged: Path, say: Say) -> None:
    done = say("continue", "--choose", "2").ok()
    assert "The damaged file is kept as" in done.out
    assert not (damaged / SESSION).exists()


def test_a_number_that_the_menu_does_not_have_is_refused(damaged: Path, say: Say) -> None:
    assert say("continue", "--choose", "5").code == 2


def test_another_version_is_told_and_left_alone(repository: Path, say: Say) -> None:
    say("init").ok()
    (repository / SESSION).parent.mkdir(exist_ok=True)
    (repository / SESSION).write_text('{"schema_version": "2.0", "session_id": "x", "goal": "y"}')
    done = say("status").ok()
    assert "is of another version and is left alone: schema_version 2.0 is not 1.0" in done.err
    assert (repository / SESSION).read_text() == '{"schema_version": "2.0", "session_id": "x", "goal": "y"}'


def test_a_session_from_start_to_archive(repository: Path, say: Say) -> None:
    id = say("start", "Add retries", "--layout", "orchestrator", "--mode", "optimize").ok().out.strip()
    assert re.fullmatch(ID, id)
    refused = say("complete")
    assert (refused.code, "it has not begun: `holdfast resume` begins it" in refused.err) == (1, True)
    assert say("agent", "start", "code", "Implement it").ok().out == "code-1\n"
    say("agent", "progress", "code-1", "60").ok()
    assert "Agents: 60% complete\n  code-1: Implement it (60%)\n" in say("status").ok().out
    assert "mode optimize: 4 agents at once, compress at 60 %\n" in say("budget", "--used", "80000").ok().out
    assert "mode optimize compresses at 60 %: save, then compress" in say("budget").ok().err
    say("pause").ok()
    assert "it is paused: `holdfast resume` goes on with it first" in say("complete").err
    say("continue").ok()
    say("complete").ok()
    assert say("history").ok().out.splitlines()[1].split()[1:3] == [id, "complete"]
    assert say("history", "1").ok().out.splitlines()[0] == "Add retries"


def test_what_an_agent_wrote_into_the_file_cannot_act_on_a_terminal(begun: Path, say: Say) -> None:
    file = teleport()
    evil = "x\x1b[2J\u202e\n# evil"
    file["goal"] = file["agents"][0]["id"] = file["agents"][1]["output_summary"] = file["pending_tasks"][0] = evil
    file["decisions_made"][0]["chosen"] = evil
    (begun / SESSION).write_text(json.dumps(file))
    for words in (("status",), ("show",), ("continue",), ("agent", "list"), ("log",), ("budget",), ("brief",)):
        done = say(*words).ok()
        assert not {"\x1b", "\u202e"} & set(done.out + done.err), words
        assert "\n# evil" not in done.out, words


def test_a_mode_that_is_none_and_a_mode_without_an_orchestrator_are_wrong_usage(repository: Path, say: Say) -> None:
    assert say("start", "x", "--layout", "orchestrator", "--mode", "nonsense").code == 2
    assert say("start", "x", "--mode", "debug").code == 2
