"""The schemas of the Go Team's files, rendered from a run: registry, manifest, live state, recovery, checkpoints."""

from __future__ import annotations

import re
from datetime import datetime

import msgspec
from msgspec import Struct

from holdfast.core.fold import team
from holdfast.core.ids import hexdigest
from holdfast.core.model import Body, Kept, Rollback, Run, Status
from holdfast.core.recovery_options import Option, cause_of, interrupted_at, recommended
from holdfast.core.text import one_line, sound

REGISTRY, MANIFEST, STATE, RECOVERY, ROLLBACKS = (
    "sessions.json", "manifest.json", "state.json", "recovery.json", "rollback-history.json",
)  # fmt: skip
IN_MANIFEST = 10  # rollbacks
NOT_RESUMABLE = ("completed", "failed", "abandoned")
WORDS = {
    Status.CREATED: "active",
    Status.ACTIVE: "active",
    Status.PAUSED: "paused",
    Status.INTERRUPTED: "interrupted",
    Status.COMPLETED: "completed",
    Status.FAILED: "failed",
    Status.ABORTED: "abandoned",
    Status.ABANDONED: "abandoned",
}
IS_TEST = re.compile(r"(^|/)(tests?/|test_[^/]*$)|[._-]test\.[^/]*$|_test\.[^/]*$")
TOUCHED = ("code_files", "test_files")
UNMEASURED = {"build_pass": False, "test_coverage": 0, "lint_clean": False, "race_free": False}


class Around(Struct, frozen=True):
    now: datetime
    branch: str | None = None
    commit: str | None = None
    uncommitted: bool = False
    heard: datetime | None = None  # last sign of life of a process that works on it; null: none does
    interval: float = 30.0
    auto_resume: bool = False
    trigger: str | None = None  # of this save, if it is not the last event's


def stamp(moment: datetime | None) -> str | None:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else None


def checksum(document: Body) -> str:
    """Hash a document without its checksum: sorted keys, no white space, UTF-8."""
    rest = sound({name: value for name, value in document.items() if name != "checksum"}, small=True)
    return f"sha256:{hexdigest('sha256', msgspec.json.encode(rest, order='sorted'))}"


def word_of(run: Run) -> str:
    return WORDS[run.status]


def current_number(run: Run) -> int | str:
    step = team.current(run)
    return team.plain_number(team.number_of(run, step.name)) if step else 1


def progress(run: Run) -> Body:
    done, total = team.completed(run), len(team.planned(run))
    return {"steps_completed": done, "total_steps": total, "percentage": 100 * done // total if total else 0}


def entry(run: Run, around: Around) -> Body:
    """The registry's entry of a run."""
    word, last = word_of(run), team.last_kept(run)
    body: Body = {
        "id": run.id,
        "topic": run.title,
        "status": word,
        "created_at": stamp(run.created),
        "updated_at": stamp(max(filter(None, (run.updated, around.heard)), default=None)),
        "current_step": current_number(run),
        "current_checkpoint": last.id if last else None,
        "progress": progress(run),
        "git_branch": around.branch,
        "resumable": word not in NOT_RESUMABLE and not (word == "active" and around.heard is not None),
    }
    if word == "completed":
        body["completed_at"] = stamp(run.status_since)
    if run.standing.recovered:
        body["recovery_type"] = "experimental" if run.standing.recovered == "live_state" else run.standing.recovered
    return body


def manifest(run: Run) -> Body:
    last = team.last_kept(run)
    return {
        "session_id": run.id,
        "topic": run.title,
        "created_at": stamp(run.created),
        "updated_at": stamp(run.updated),
        "checkpoints": [_listed(kept) for kept in run.standing.kept],
        "current_checkpoint": last.id if last else None,
        "current_step": current_number(run),
        "rollback_history": [_record(found) for found in run.standing.rollbacks[-IN_MANIFEST:]],
    }


def _listed(kept: Kept) -> Body:
    body: Body = {
        "id": kept.id,
        "step": team.plain_number(kept.number),
        "step_name": kept.step,
        "timestamp": stamp(kept.time),
        "valid": kept.is_valid,
    }
    if kept.invalidated_by:
        body["invalidated_by"] = kept.invalidated_by
    if kept.checkpoint:
        body["holdfast_checkpoint"] = kept.checkpoint
    return body


def rollback_history(run: Run) -> Body:
    return {"session_id": run.id, "history": [_record(found) for found in run.standing.rollbacks]}


def _record(found: Rollback) -> Body:
    return {
        "id": found.id,
        "timestamp": stamp(found.time),
        "from_checkpoint": found.from_checkpoint,
        "from_step": team.plain_number(found.from_step) if found.from_step else None,
        "to_checkpoint": found.to_checkpoint,
        "to_step": team.plain_number(found.to_step) if found.to_step else None,
        "reason": found.reason,
    }


def state_of(run: Run) -> Body:
    """The part that the live state and a checkpoint share."""
    step, standing = team.current(run), run.standing
    return {
        "topic": run.title,
        "date": f"{run.created:%Y-%m-%d}" if run.created else None,
        "phase": step.name if step else None,
        "current_agent": standing.agent or "orchestrator",
        "current_step": current_number(run),
        "iteration_count": standing.iterations,
        "max_iterations": standing.most_iterations,
        "breakpoint_active": standing.is_waiting,
        "metrics": {**UNMEASURED, **standing.metrics},
    }


def outputs_of(run: Run) -> Body:
    """The outputs; code and test files are those that were listed, then those that were touched."""
    touched = list(run.files)
    tests = [file for file in touched if IS_TEST.search(file)]
    filled: Body = {
        "spec": None,
        "architecture": None,
        "code_files": [file for file in touched if file not in tests],
        "test_files": tests,
        "review_comments": [],
        "optimizations": [],
        "release_config": None,
    }
    given: Body = dict(run.standing.outputs)
    for key in TOUCHED:
        if isinstance(listed := given.get(key), list):
            given[key] = [*listed, *(file for file in filled[key] if file not in listed)]
    return {**filled, **given}


def live(run: Run, around: Around) -> Body:
    last, since, standing = team.last_kept(run), team.since_kept(run), run.standing
    doing = [action.text for action in run.doing.values()]
    return {
        "session_id": run.id,
        "saved_at": stamp(standing.saved or around.now),
        "save_trigger": around.trigger or standing.trigger,
        "state": {**state_of(run), "session": _session(run, since, around)},
        "context": {
            "last_action": last_action(run),
            "pending_tasks": [task.text for task in run.open_tasks],
            "current_file": standing.file,
            "current_line": standing.line,
        },
        "outputs": {"partial_output": None, **outputs_of(run), **({"partial_output": doing[-1]} if doing else {})},
        "recovery_point": {
            "checkpoint": last.id if last else None,
            "actions_since_checkpoint": since,
            "can_resume_from_action": True,
        },
        "holdfast_event": run.seq,
    }


def last_action(run: Run) -> str | None:
    return one_line(run.actions[-1].text, 300) if run.actions else None


def _session(run: Run, since: int, around: Around) -> Body:
    last = team.last_kept(run)
    return {
        "id": run.id,
        "status": word_of(run),
        "created_at": stamp(run.created),
        "auto_save": {
            "enabled": run.status.is_open,
            "interval": round(around.interval, 3),
            "last_save": stamp(run.standing.saved or around.now),
        },
        "recovery": {
            "enabled": run.status.is_open,
            "last_checkpoint": last.id if last else None,
            "actions_since_checkpoint": since,
        },
    }


def recovery(run: Run, found: list[Option], around: Around) -> Body:
    step = team.current(run)
    return {
        "session_id": run.id,
        "interrupted_at": stamp(interrupted_at(run)),
        "interrupt_reason": cause_of(run),
        "last_known_state": {
            "step": current_number(run),
            "step_name": step.name if step else None,
            "agent": run.standing.agent or "orchestrator",
            "action": next((action.text for action in reversed(run.doing.values())), None) or last_action(run),
            "error": next((found.error for found in run.steps if found.error), None),
            "evidence": run.evidence or run.status_reason,
        },
        "recovery_options": [_option(number, option) for number, option in enumerate(found, 1)],
        "recommended": recommended(found).type,
        "auto_resume_enabled": around.auto_resume,
        "git_state": {
            "branch": around.branch,
            "last_commit": around.commit,
            "uncommitted_changes": around.uncommitted,
        },
    }


def _option(number: int, option: Option) -> Body:
    members = ("target", "description", "data_loss", "recommended")
    return {"type": option.type, "id": number, **{name: getattr(option, name) for name in members}}


def point(kept: Kept, then: Run) -> Body:
    """A checkpoint's file: the run at the moment of the checkpoint. It never changes."""
    body: Body = {
        "id": kept.id,
        "session_id": then.id,
        "step_number": team.plain_number(kept.number),
        "step_name": kept.step,
        "created_at": stamp(kept.time),
        "state": {**state_of(then), "phase": kept.step, "current_step": team.plain_number(kept.number)},
        "outputs": outputs_of(then),
        "files": {"created": kept.created, "modified": kept.modified, "deleted": kept.deleted},
        "git": {
            "enabled": kept.commit is not None or kept.branch is not None,
            "branch": kept.branch,
            "commit_hash": kept.commit,
        },
        "holdfast_checkpoint": kept.checkpoint,
    }
    return {**body, "checksum": checksum(body)}
