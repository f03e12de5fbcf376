"""What it costs to load a FABER run's context, beside reading the same files plainly in one process."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import holdfast
from bench import calls
from bench.ground import command, ground, python
from bench.report import Report, ratio, times
from bench.timing import Failed, process, take_turns

RUN = "webshop-7-add-a-login-run-2026-01-07T15-57-54Z"
HOME = Path(".fractary/faber")
STATE = HOME / "runs" / RUN / "state.json"
ARTIFACTS = 200
ARTIFACT_BYTES = 5 * 1024
STATE_BYTES = 1024 * 1024
LIMIT = 6
ALL = ("session-load", "--json", "--force", "--budget", "100000000")
PLAINLY = f"""
import glob, json
json.load(open({str(STATE)!r}))
for name in glob.glob("specs/*.md"):
    open(name).read()
"""


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    with ground() as directory:
        project = directory / "project"
        say(f"making a run with {ARTIFACTS} artifacts")
        _make(project)
        with contextlib.chdir(project):
            _check()
            found = take_turns(
                {
                    "plainly": lambda: process(python("-c", PLAINLY)),
                    "load": lambda: process(command(*ALL)),
                    "dry": lambda: process(command(*ALL, "--dry-run")),
                },
                10 if quick else 60,
            )
    what = f"a run with {ARTIFACTS} artifacts and a state of 1 MB"
    beside = "beside `json.load` of its state and reading its files, by one `python -c`"
    return Report(
        [
            ratio(f"`holdfast session-load` of {what}, {beside}", found["load"], found["plainly"], LIMIT),
            ratio("… with `--dry-run`", found["dry"], found["plainly"]),
        ],
        [
            times(f"`python -c` that reads {what}", found["plainly"]),
            times("`holdfast session-load --force`, which also writes the state", found["load"]),
            times("… `--dry-run`", found["dry"]),
        ],
    )


def _make(project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    for place in (project / STATE, project / HOME / "workflows/default.json", project / "specs/first.md"):
        place.parent.mkdir(parents=True)
    (project / HOME / "runs/.active-run-id").write_text(RUN)
    (project / HOME / "workflows/default.json").write_text(json.dumps(_workflow(), indent=2))
    (project / STATE).write_text(json.dumps(_state(), indent=2))
    line = "What is settled, and why it is so and not otherwise.\n"
    for number in range(ARTIFACTS):
        text = f"# Specification {number}\n" + line * (ARTIFACT_BYTES // len(line))
        (project / f"specs/{number}.md").write_text(text)
    with holdfast.open(project) as workspace:
        holdfast.init(workspace, agent="none")


def _workflow() -> dict[str, object]:
    declared = [
        {"id": f"spec-{number}", "type": "markdown", "path": f"specs/{number}.md", "required": True}
        for number in range(ARTIFACTS)
    ]
    return {"id": "default", "critical_artifacts": {"always_load": declared}}


def _state() -> dict[str, object]:
    """A run that has come far: most of its state is what its steps have said."""
    steps: list[dict[str, object]] = []
    chance, size = random.Random(5), 0
    while size < STATE_BYTES:
        step = {
            "step_id": f"step-{len(steps)}",
            "phase": "build",
            "status": "success",
            "message": calls.sentence(chance, 20),
            "completed_at": "2026-01-07T16:00:45.000Z",
            "event_id": len(steps),
        }
        steps.append(step)
        size += len(json.dumps(step, indent=2))
    phases = [{"name": name, "status": "completed"} for name in ("frame", "architect")]
    return {
        "run_id": RUN,
        "workflow_id": "default",
        "status": "in_progress",
        "current_phase": "build",
        "phases": [*phases, {"name": "build", "status": "in_progress"}],
        "steps": steps,
        "started_at": "2026-01-07T15:57:54Z",
        "updated_at": "2026-01-07T16:06:30Z",
    }


def _check() -> None:
    """What is measured must do its work: everything is loaded, and the state says so."""
    done = subprocess.run(command(*ALL), capture_output=True, check=False)
    if done.returncode:
        raise Failed(f"session-load: exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
    loaded = [found for found in json.loads(done.stdout)["artifacts"] if found["outcome"] == "loaded"]
    if len(loaded) != ARTIFACTS or json.loads(STATE.read_bytes())["context_metadata"]["reload_count"] != 1:
        raise Failed(f"{len(loaded)} artifacts of {ARTIFACTS} were loaded")
