"""The schema of FABER's state files, and the places of these files and of the active-run file.

FABER's documents and its real files contradict each other, so every form that was ever in use is read, and every value
is accepted. Nothing here writes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core.errors import Refused, WorkflowError
from holdfast.core.model import Status
from holdfast.core.text import one_line, path_text, visible
from holdfast.layouts.faber import SIGN
from holdfast.layouts.json_file import object_of
from holdfast.project.trust import PLACEHOLDER
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.safe_paths import real_path

RUNS = ".fractary/faber/runs"
OLDER_RUNS = (".fractary/runs", ".fractary/plugins/faber/runs")
ACTIVE_FILES = (".fractary/faber/runs/.active-run-id", ".fractary/faber/.active-run-id")  # the newer place first
SPLIT = "-run-"  # between a plan and the suffix of a run
STATE, STATE_OF = "state.json", re.compile(r"state-(.+)\.json\Z")
STATE_FILE = re.compile(r"state(-.+(?<!\.backup))?\.json\Z")
MARK = "\ufeff"
DEPTH, ENTRIES = 5, 10_000  # of a walk through the runs
ID_BYTES, NAME_BYTES = 1024, 200
ACTIVE_BYTES = 64 * 1024
WIDTH, GOAL_WIDTH, PHASES = 200, 200, 50

STATUSES = {
    "pending": Status.CREATED,
    "in_progress": Status.ACTIVE,
    "running": Status.ACTIVE,
    "paused": Status.PAUSED,
    "awaiting_feedback": Status.PAUSED,
    "completed": Status.COMPLETED,
    "failed": Status.FAILED,
    "cancelled": Status.ABORTED,
}
TELLING = (
    *("status", "current_phase", "current_step", "current_step_id", "phases", "phase_states"),
    *("workflow_id", "workflow_name", "target", "work_id", "work_items"),
)
PHASE_NAMES = ("phase_name", "name", "phase", "id")
PARTIAL = re.compile(r"\s*\(partial\)\s*\Z", re.IGNORECASE)


def is_used(workspace: Workspace) -> bool:
    return (workspace.root / SIGN).is_dir()


def list_files(workspace: Workspace) -> list[str]:
    return [SIGN.rstrip("/")] if is_used(workspace) else []


def check_run_id(text: str) -> str:
    """Strip a run id and check that it is safe in a path below the runs."""
    run_id = text.strip().strip(MARK).strip()
    if why := _why_no_id(run_id):
        raise WorkflowError(
            "Invalid run ID",
            [("Run ID", one_line(text, 120)), ("Error", why)],
            ["List the runs: `holdfast runs --layout faber`"],
        )
    return run_id


def _why_no_id(run_id: str) -> str | None:
    if not run_id:
        return "it is empty"
    if "\\" in run_id or not run_id.isprintable() or visible(run_id) != run_id:
        return "it holds a backslash or a control character"
    parts = run_id.split("/")
    if not all(parts):
        return "it is an absolute path, or a part of it is empty"
    if {".", ".."} & set(parts):
        return "it leads out of the runs directory"
    if len(run_id.encode()) > ID_BYTES or any(len(part.encode()) > NAME_BYTES for part in parts):
        return "it is too long"
    return None


def split_run_id(run_id: str) -> tuple[str, str] | None:
    """Split a run id into plan and suffix; None if it has no separator."""
    for between in (SPLIT, "/"):
        plan, found, suffix = run_id.rpartition(between)
        if found and plan and suffix and "/" not in suffix:
            return plan, suffix
    return None


def state_candidates(root: Path, run_id: str) -> list[Path]:
    """List the possible places of a run's state, the likeliest first."""
    runs = root / RUNS
    found = [runs / run_id / STATE]
    if split := split_run_id(run_id):
        plan, suffix = split
        found += [runs / plan / suffix / STATE, runs / plan / f"state-{suffix}.json"]
    found += [root / older / run_id / STATE for older in OLDER_RUNS]
    return list(dict.fromkeys(found))


def find_state(root: Path, run_id: str) -> Path | None:
    """Find the state file of a run. No link may lead out of the runs or the project."""
    candidates = state_candidates(root, check_run_id(run_id))
    # safeguard: linked-faber-state
    return next((path for path in candidates if _is_file(path) and _is_inside(path, _runs_of(root, path), root)), None)


def find_any(root: Path, run_id: object) -> Path | None:
    """Find the state file of an id as another program or a user wrote it, which may be none."""
    try:
        return find_state(root, run_id) if isinstance(run_id, str) else None
    except WorkflowError:
        return None


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _is_inside(path: Path, *directories: Path) -> bool:
    real = real_path(path)
    return all(real.startswith(real_path(directory) + os.sep) for directory in directories)


def _runs_of(root: Path, path: Path) -> Path:
    return next(root / runs for runs in (RUNS, *OLDER_RUNS) if (root / runs) in path.parents)


class Active(Struct):
    """The run that the active-run file names, and the problems of that file."""

    run: str | None = None
    file: Path | None = None
    warnings: list[str] = []


def find_active(root: Path) -> Active:
    """Find the active run by either file; the newer place counts if its run exists."""
    warnings: list[str] = []
    named = [(root / name, run) for name in ACTIVE_FILES if (run := _named_in(root, name, warnings))]
    if not named:
        return Active(None, None, warnings)
    existing = (found for found in named if find_state(root, found[1]))
    file, run = next(existing, named[0])
    if len({found for _, found in named}) > 1:
        said = " and ".join(f"{path.relative_to(root)} names {one_line(found, 120)}" for path, found in named)
        warnings.append(f"The active-run files disagree: {said}; taken is {one_line(run, 120)}")
    return Active(run, file, warnings)


def _named_in(root: Path, name: str, warnings: list[str]) -> str | None:
    path = root / name
    try:
        data = files.read(path, ACTIVE_BYTES, root)  # safeguard: linked-active-file
        lines = [line for line in (data or b"").decode().lstrip(MARK).split("\n") if line.strip()]
        run = check_run_id(lines[0]) if lines else None
    except (Refused, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, Refused) else "It is not UTF-8"
        warnings.append(f"{name} is ignored: {why}")
        return None
    if len(lines) > 1:
        warnings.append(f"{name} has several lines; the first one counts")
    return run


def list_states(root: Path) -> list[tuple[str, Path]]:
    """List every run of every directory scheme with its state file, by paths alone."""
    found: dict[str, Path] = {}
    budget = iter(range(ENTRIES))
    for runs in (RUNS, *OLDER_RUNS):
        base = root / runs
        if _is_inside(base, root):
            for path in _walk(base, DEPTH, budget):
                if run_id := _id_of(root, base, path):
                    found.setdefault(run_id, path)
    return list(found.items())


def _walk(directory: Path, depth: int, budget: Iterator[int]) -> Iterator[Path]:
    """Yield the state files below a directory, without following links."""
    try:
        with os.scandir(directory) as entries:
            inside = sorted((entry for entry, _ in zip(entries, budget, strict=False)), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            if depth > 1 and entry.name != "backups":
                yield from _walk(directory / entry.name, depth - 1, budget)
        elif entry.is_file(follow_symlinks=False) and STATE_FILE.match(entry.name):
            yield directory / entry.name


def _id_of(root: Path, base: Path, path: Path) -> str | None:
    """The id by which `find_state` finds a state file; the usual one of several."""
    directory = path.parent.relative_to(base).as_posix()
    if named := STATE_OF.match(path.name):
        forms = [f"{directory}{SPLIT}{named[1]}", f"{directory}/{named[1]}"]
    else:
        plan, _, suffix = directory.rpartition("/")
        is_run = not plan or "/" in plan or SPLIT in suffix
        forms = [directory] if is_run else [f"{plan}{SPLIT}{suffix}", directory]
    for run_id in filter(lambda form: _why_no_id(form) is None, forms):
        if found := next(filter(_is_file, state_candidates(root, run_id)), None):
            return run_id if found == path else None  # else the run has another state file, which takes precedence
    return None


class Told(Struct):
    """The content of a state file as safe text; None for unknown values."""

    word: str | None  # FABER's own status
    status: Status | None
    phase: str | None
    step: str | None
    phases: list[tuple[str, str]]
    goal: str
    workflow: str | None


def telling(state: dict[str, Any]) -> dict[str, Any]:
    """The members that `tell` reads: most of a long state are steps and events."""
    return {name: state[name] for name in TELLING if name in state}


def tell(state: dict[str, Any], run_id: str) -> Told:
    word = _text(state.get("status"), 60)
    phase = _text(state.get("current_phase"))
    return Told(
        word=word,
        status=STATUSES.get((word or "").lower()),
        phase=None if phase in (None, "none") else PARTIAL.sub("", phase) or None,
        step=_text(state.get("current_step")) or _text(state.get("current_step_id")),
        phases=_phases(state),
        goal=_goal(state) or one_line(run_id, GOAL_WIDTH),
        workflow=_text(state.get("workflow_id")) or _text(state.get("workflow_name")),
    )


def _text(value: object, width: int = WIDTH) -> str | None:
    """A text or a number on one line; None for another value, or an empty text."""
    plain = _plain(value)
    return (one_line(plain[: width * 10], width) or None) if plain else None


def _plain(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else None
    return value if isinstance(value, str) else None


def _phases(state: dict[str, Any]) -> list[tuple[str, str]]:
    phases = state.get("phases") or state.get("phase_states")
    if isinstance(phases, dict):
        rows = [(name, phase) for name, phase in list(phases.items())[:PHASES]]
    elif isinstance(phases, list):
        rows = [(_phase_name(phase), phase) for phase in phases[:PHASES]]
    else:
        rows = []
    named = [
        (PARTIAL.sub("", _text(name) or ""), _text(object_of(phase).get("status"), 60) or "") for name, phase in rows
    ]
    return [(name, status) for name, status in named if name]


def _phase_name(phase: object) -> object:
    if isinstance(phase, dict):
        return next((phase[key] for key in PHASE_NAMES if _text(phase.get(key))), None)
    return phase


def _goal(state: dict[str, Any]) -> str | None:
    candidates = (
        at(state, "work_items.0.issue.title"),
        at(state, "work_items.0.title"),
        state.get("target"),
        at(state, "work_items.0.target"),
        state.get("work_id"),
    )
    return next((text for value in candidates if (text := _text(value, GOAL_WIDTH))), None)


def at(state: object, path: str) -> object | None:
    """The value at a dotted path, or None."""
    return value_at(state, path.split("."))


def value_at(value: object, steps: Iterable[str]) -> object | None:
    """The value behind these keys of objects and indexes of arrays, or None."""
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 10:
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def placeholders(state: dict[str, Any], run_id: str, root: Path) -> dict[str, str]:
    """The placeholders that have a value."""
    plan, suffix = split_run_id(run_id) or (None, None)
    named = _plain(state.get("plan_id"))
    if named and run_id.startswith(named + SPLIT):
        suffix = run_id.removeprefix(named + SPLIT)
    values = {
        "plan_id": named or plan,
        "work_id": _plain(state.get("work_id")) or _plain(at(state, "work_items.0.work_id")),
        "run_suffix": suffix,
        "run_id": run_id,
        "project_root": path_text(root),
    }
    return {name: value for name, value in values.items() if value}


def fill(text: str, values: dict[str, str]) -> str | None:
    """Fill in the placeholders of a text; None if one of them has no value."""
    return None if unfilled(text, values) else PLACEHOLDER.sub(lambda found: values[found[1]], text)


def unfilled(text: str, values: dict[str, str]) -> list[str]:
    return list(dict.fromkeys(name for name in PLACEHOLDER.findall(text) if name not in values))
