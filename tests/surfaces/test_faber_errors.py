"""What people read when something is wrong in a FABER run: the errors and warnings of its documents, whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments import humble
from tests.faber_states import ACTIVE, OLD_ACTIVE, RUN, a_state, put, put_state, with_a_session
from tests.surfaces.faber_files import STATE, workflow
from tests.tools import Command, unfenced

Say = Callable[..., Command]

PLUGIN = "~/.claude/plugins/marketplaces/fractary-faber/plugins/faber"

# Errors

ERRORS = {
    "run not found": (
        ("session-load", "--run-id", "gone"),
        "❌ ERROR: Run not found\nRun ID: gone\nPath: .fractary/faber/runs/gone/state.json\n\nRecovery:\n"
        "1. List active runs: `holdfast runs`\n2. Start new run: /fractary-faber:workflow-run <work-id>\n",
    ),
    "no active workflow": (
        ("session-load",),
        "❌ ERROR: No active workflow found\n"
        "Looked in: .fractary/faber/runs, .fractary/runs, .fractary/plugins/faber/runs\n\nRecovery:\n"
        "1. List all runs: `holdfast runs --layout faber`\n"
        "2. Start new run: /fractary-faber:workflow-run <work-id>\n",
    ),
    "state file not found": (
        ("session-save", "--run-id", "gone"),
        "❌ ERROR: Workflow state file not found\nRun ID: gone\nExpected: .fractary/faber/runs/gone/state.json\n\n"
        "Recovery:\n1. Verify run ID is correct\n2. Check if workflow was started\n"
        "3. List available runs: `holdfast runs`\n",
    ),
    "state file corrupted, load": (
        ("session-load", "--run-id", "bad"),
        "❌ ERROR: Cannot read state file\nPath: .fractary/runs/bad/state.json\n"
        "Error: Invalid JSON at line 2: Expecting property name enclosed in double quotes\n\nRecovery:\n"
        "1. Check if backup exists: .fractary/runs/bad/state.backup.json is good\n"
        "2. Restore it: `holdfast repair bad`\n",
    ),
    "state file corrupted, save": (
        ("session-save", "--run-id", "bad"),
        "❌ ERROR: Cannot parse state file\nPath: .fractary/runs/bad/state.json\n"
        "Error: Invalid JSON at line 2: Expecting property name enclosed in double quotes\n\nRecovery:\n"
        "1. Check if backup exists: .fractary/runs/bad/state.backup.json is good\n"
        "2. Restore it: `holdfast repair bad`\n",
    ),
    "traversal": (
        ("session-load", "--run-id", "../../etc"),
        "❌ ERROR: Invalid run ID\nRun ID: ../../etc\nError: it leads out of the runs directory\n\nRecovery:\n"
        "1. List the runs: `holdfast runs --layout faber`\n",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_has_the_documents_form(name: str, repository: Path, say: Say, marked: None) -> None:
    arguments, said = ERRORS[name]
    put(repository, ".fractary/runs/bad/state.json", "{\n")
    put(repository, ".fractary/runs/bad/state.backup.json", a_state(run_id="bad"))
    done = say(*arguments)
    assert (done.code, done.out, done.err) == (1, "", said)


REQUIRED = {
    "missing": (None, "Required artifact not found", "Path: need.md\nError: does not exist"),
    "binary": ("a\0b", "Required artifact cannot be loaded", "Path: need.md\nError: is not a text"),
}


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_artifact_that_cannot_be_loaded_stops(name: str, active: Path, say: Say, marked: None) -> None:
    content, message, facts = REQUIRED[name]
    workflow(active, {"id": "need", "type": "markdown", "path": "need.md", "required": True})
    if content:
        put(active, "need.md", content)
    done = say("load")
    assert (done.code, done.out, done.err) == (
        1,
        "",
        f"❌ ERROR: {message}\nArtifact: need\n{facts}\n\nRecovery:\n1. Check if path is correct in workflow config\n"
        "2. Check if artifact was created in earlier phase\n3. Run the phase that creates this artifact\n",
    )


COMMANDS = {
    "not allowed": (
        {"type": "work_plugin", "command": "gh issue view {work_id}"},
        "Command: gh issue view 7\nError: not run: a command of a project runs only if you trust it",
        "`holdfast trust` shows it and asks",
    ),
    "of the client": (
        {"type": "skill", "command": "/fractary-work:issue-fetch {work_id}"},
        "Command: /fractary-work:issue-fetch 7\n"
        "Error: not run: it is a slash command of the client, and only the client can run it",
        "Type /fractary-work:issue-fetch 7 in the client, which alone can run it",
    ),
}


@pytest.mark.defect("a required command artifact that was not loaded was only a warning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_required_command_that_was_not_run_stops_the_load(name: str, active: Path, say: Say, marked: None) -> None:
    over, facts, step = COMMANDS[name]
    put(active, "spec.md", "# The plan\n")
    workflow(active, {"id": "issue", "required": True, **over}, {"id": "spec", "type": "markdown", "path": "spec.md"})
    before = (active / STATE).read_bytes()
    done = say("load")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"❌ ERROR: Required artifact was not loaded\nArtifact: issue\n{facts}\n\nRecovery:\n1. {step}\n"
        "2. Load others only: `holdfast session-load --artifacts ID,ID`\n"
        "3. Set required: false in the workflow config if the run can go on without it\n"
    )
    assert (active / STATE).read_bytes() == before
    assert "✓ spec\n" in say("load", "--artifacts", "spec").ok().out


@pytest.mark.defect('`load_strategy: "summary"` was ignored for files, and advised to a file that had it')
def test_a_file_with_the_strategy_summary_is_loaded_as_its_summary(active: Path, say: Say) -> None:
    lines = "# One\n" + "x" * 99 + "\n## Two\n"
    put(active, "huge.md", lines * 15_000)
    put(active, "large.json", json.dumps({"name": "x" * 150_000, "steps": []}))
    put(active, "small.md", "# Small\n")
    files = {"huge": "huge.md", "large": "large.json", "small": "small.md"}
    common = {"required": True, "load_strategy": "summary"}
    workflow(active, *({"id": id, "type": path.split(".")[1].replace("md", "markdown"), "path": path, **common}
                       for id, path in files.items()))  # fmt: skip
    dry = say("load", "--dry-run", "--json").ok().json["artifacts"]
    done = say("load").ok()
    assert "WARNING" not in done.err
    assert "Artifacts loaded (3):\n" in done.out
    number = f"{(lines * 15_000)[: 1024 * 1024].count(chr(10)):,}"
    told = f"Not loaded whole: 1,695,000 bytes. Read the part that you need. Of the first {number} lines:\n"
    assert told in done.out
    assert "Its headings:\n  # One\n  ## Two\n" in done.out
    assert "Its keys: name, steps\n" in done.out
    assert "``` small small.md [0m]\n# Small\n```\n" in done.out
    loaded = json.loads((active / STATE).read_bytes())["context_metadata"]["artifacts_in_context"]
    assert {found["artifact_id"]: found["size_bytes"] for found in loaded} == {row["id"]: row["size"] for row in dry}
    assert all(row["size"] < 1_000 for row in dry)


@pytest.mark.parametrize("indent", [None, 1])
def test_the_summary_of_a_large_json_file_names_its_keys(active: Path, say: Say, indent: int | None) -> None:
    whole = json.dumps({"name": "ü", "rows": [{"id": "x" * 90}] * 14_000, "last": 1}, indent=indent, ensure_ascii=False)
    put(active, "large.json", whole)
    workflow(active, {"id": "large", "type": "json", "path": "large.json", "load_strategy": "summary"})
    text = say("load").ok().out.partition("``` large ")[2]
    shown = f"Not loaded whole: {len(whole.encode()):,} bytes. Read the part that you need. Of the first "
    lines = whole.encode()[: 1024 * 1024].count(b"\n")
    part = "1,048,575 characters" if indent is None else f"{lines:,} lines"
    assert f"{shown}{part}:\nIts keys: name, rows\n" in text


@pytest.mark.defect(
    "a FABER state file without read permission was reported as damaged, with advice to go back to a copy"
)
def test_a_state_that_may_not_be_read_is_told_as_that(active: Path) -> None:
    def humbly(*arguments: str) -> str:
        command = [*humble(), sys.executable, "-m", "holdfast", *arguments]
        done = subprocess.run(command, cwd=active, capture_output=True, check=False, text=True)
        assert (done.returncode == 0, done.stdout) == (False, "")
        return done.stderr

    path = active / STATE
    path.chmod(0)
    for verb in ("session-load", "session-save"):
        told = humbly(verb)
        assert "ERROR: No permission to read the state file\n" in told
        assert f"Error: Permission is denied\n\nRecovery:\n1. `chmod u+r {path}` lets you read it\n" in told
    assert "No permission to read the state file" in humbly("repair", RUN)
    assert [name.name for name in path.parent.iterdir()] == ["state.json"]


def test_a_state_that_cannot_be_written_is_an_error_with_the_way_out(repository: Path, say: Say, marked: None) -> None:
    path = put(repository, STATE, json.dumps(with_a_session())[:-1] + ', "x": NaN}')
    before = path.read_bytes()
    done = say("session-save", "--run-id", RUN)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"❌ ERROR: Failed to save state file\nPath: {STATE}\nError: ")
    assert (
        "\n\nRecovery:\n1. Check file permissions\n2. Ensure .fractary/ is writable\n3. Check disk space\n" in done.err
    )
    assert path.read_bytes() == before


# Warnings

WARNED = {
    "optional artifact missing": (
        {"path": "gone.md"},
        "⚠️ WARNING: Optional artifact not found\nArtifact: a\nPath: gone.md (does not exist)\n\n"
        "Workflow will continue without this artifact.\n",
    ),
    "binary": (
        {"path": "bin"},
        "⚠️ WARNING: Optional artifact cannot be loaded\nArtifact: a\nPath: bin (is not a text)\n\n"
        "Workflow will continue without this artifact.\n",
    ),
    "outside": (
        {"path": "/somebody/else/spec.md"},
        "⚠️ WARNING: Optional artifact cannot be loaded\nArtifact: a\n"
        "Path: /somebody/else/spec.md (does not lead to a file of the project)\nwrite `{project_root}/spec.md`\n\n"
        "Workflow will continue without this artifact.\n",
    ),
    "large": (
        {"path": "large"},
        "⚠️ WARNING: Large artifact detected\nArtifact: a\nSize: 0.2 MB\n\n"
        'Consider using load_strategy: "summary" for large files.\n',
    ),
    "too large": (
        {"path": "huge"},
        "⚠️ WARNING: Large artifact was left out\nArtifact: a\nPath: huge (is larger than 1,048,576 bytes)\n\n"
        "Workflow will continue without this artifact.\n",
    ),
    "a condition": (
        {"path": "spec.md", "condition": "state.work_id = 7"},
        "⚠️ WARNING: the condition of a cannot be read, so it does not hold:\nstate.work_id = 7\n              ^\n",
    ),
    "a command that could write": (
        {"type": "git_info", "command": "git commit -m x"},
        "⚠️ WARNING: Optional artifact cannot be loaded\nArtifact: a\nCommand: git commit -m x (",
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_a_warning_has_the_documents_form(name: str, active: Path, say: Say, marked: None) -> None:
    over, said = WARNED[name]
    workflow(active, {"id": "a", "type": "markdown", **over})
    (active / "bin").write_bytes(b"a\0b")
    (active / "large").write_bytes(b"x" * 200 * 1024)
    (active / "huge").write_bytes(b"x" * (1024 * 1024 + 1))
    told = unfenced(say("session-load").ok().err) + "\n"
    assert told.startswith(said) if said.endswith("(") else told == said


def test_a_workflow_that_declares_nothing_is_told_in_three_lines(repository: Path, say: Say, marked: None) -> None:
    put_state(repository, workflow_id="mine")
    done = say("load", "--run-id", RUN).ok()
    assert done.err.replace(os.environ["HOME"], "~").split("⚠️ ")[1].splitlines() == [
        "WARNING: The workflow mine declares no critical artifacts; the defaults are used",
        "Looked for: .fractary/faber/workflows/mine.json, .fractary/plugins/faber/workflows/mine.json, "
        "plugins/faber/config/workflows/mine.json, plugins/faber/.fractary/faber/workflows/mine.json",
        f"Looked for: {PLUGIN}/config/workflows/mine.json, {PLUGIN}/.fractary/faber/workflows/mine.json",
    ]


def test_active_files_that_disagree_are_told(active: Path, say: Say) -> None:
    put(active, OLD_ACTIVE, "other")
    said = f"{ACTIVE} names {RUN} and {OLD_ACTIVE} names other; taken is {RUN}\n"
    assert f"WARNING: The active-run files disagree: {said}" in say("load").ok().err
    assert f"WARNING: The active-run files disagree: {said}" in say("session-save").ok().err


def test_a_text_that_does_not_fit_is_summarised(active: Path, say: Say) -> None:
    (active / "spec.md").write_text("# One\n" + "x" * 3_000 + "\n## Two\n")
    done = say("load", "--budget", "1000").ok()
    assert "  - specification - its 3,014 bytes do not fit into what is left of 1,000\n" in done.out
    assert (
        "``` specification spec.md [0m]\nNot loaded whole: 3,014 characters, 4 lines. Read the part that you need.\n"
        "Its headings:\n  # One\n  ## Two\n```\n"
    ) in done.out


def test_what_a_state_says_cannot_forge_lines_of_the_report(repository: Path, say: Say) -> None:
    wild = "x\n✓ Session ended\x1b[2J"
    put_state(repository, sessions={"current_session_id": wild, "session_history": []}, context_metadata={})
    assert "  Current session: x ✓ Session ended[2J\n" in say("load", "--run-id", RUN).ok().out
    assert "  Session ID: x ✓ Session ended[2J\n" in say("session-save", "--run-id", RUN).ok().out
