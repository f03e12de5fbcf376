"""Options for continuing an interrupted run: what each would lose, and which one is recommended.

The loss is counted from the journal, never guessed.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, structs

from holdfast.core.fold.team import last_kept, since_kept
from holdfast.core.model import Cause, Kept, Run, Status
from holdfast.core.text import count, stamp

CHECKPOINT, LIVE, FRESH = "checkpoint", "live_state", "fresh_start"
NAMES = {CHECKPOINT: "checkpoint", LIVE: "live", FRESH: "fresh"}  # values of `--from`
NOTHING = "none"
UNKNOWN = "unknown: the live state is older than the checkpoint"
UNSAVED = "~30 seconds of work, or more: another program wrote this session, and only its last save is known"
DESCRIBED = {
    CHECKPOINT: "Resume from last checkpoint (safe)",
    LIVE: "Resume from last auto-save (experimental)",
    FRESH: "Start fresh from step 1",
}


class Option(Struct, frozen=True):
    """A way to continue a run."""

    type: str
    target: str | None
    description: str
    data_loss: str
    actions: int | None = 0  # lost; null: unknown
    seconds: int | None = 0  # of work lost
    recommended: bool = False
    files: int = 0  # of the worktree that would change

    @property
    def start_from(self) -> str:
        return NAMES[self.type]


def told_silent(id: str, since: datetime) -> str:
    """Return the warning about a run without a sign of life."""
    return f"{id} is potentially interrupted: no sign of life since {stamp(since)}"


def cause_of(run: Run) -> Cause | None:
    """Return why a run stopped, as one of the document's four words; None if it was paused on purpose."""
    if run.status is Status.INTERRUPTED:
        return run.cause or Cause.CRASH
    return Cause.ERROR if any(step.status == "failed" for step in run.steps) else None


def options(run: Run) -> list[Option]:
    """Return the ways to continue, with the recommended one marked.

    With the journal, the live state is complete and recommended. If another program's file is older than its own
    checkpoint, its loss is unknown, and the checkpoint is recommended.
    """
    kept, stale = last_kept(run), is_stale(run)
    found = [_from_checkpoint(run, kept, stale)] if kept is not None else []
    found += [_live(run, stale), _fresh(run)]
    preferred = CHECKPOINT if stale else LIVE
    return [structs.replace(option, recommended=option.type == preferred) for option in found]


def is_stale(run: Run) -> bool:
    """Return True if the last known action comes from a file and is older than the run's checkpoint."""
    kept = last_kept(run)
    return bool(kept and kept.checkpoint is None and run.actions and run.actions[-1].time < kept.time)


def is_foreign(run: Run) -> bool:
    """Return True if another program did the last work, so that the journal knows only its files."""
    if run.standing.recovered is not None:
        return False
    kept = last_kept(run)
    return run.standing.saved is not None or (kept is not None and kept.checkpoint is None)


def interrupted_at(run: Run) -> datetime | None:
    """Return when a run stopped: by its files, else its last sign of work, since a dead process is detected later."""
    if run.status is not Status.INTERRUPTED:
        return run.updated if run.status.is_open and run.status is not Status.PAUSED else run.status_since
    work = [*(action.time for action in run.actions[-1:]), *(prompt.time for prompt in run.prompts[-1:])]
    if not work or is_foreign(run):
        return run.status_since
    kept = last_kept(run)
    return max([*work, kept.time] if kept else work)


def recommended(found: list[Option]) -> Option:
    return next(option for option in found if option.recommended)


def _from_checkpoint(run: Run, kept: Kept, stale: bool) -> Option:
    if stale:
        return Option(CHECKPOINT, kept.id, DESCRIBED[CHECKPOINT], f"{NOTHING} that is known of", 0, 0)
    actions = since_kept(run)
    last = run.actions[-1].time if run.actions and actions else kept.time
    seconds = max(0, int((last - kept.time).total_seconds()))
    loss = f"{count(actions, 'action')} since checkpoint" if actions else NOTHING
    return Option(CHECKPOINT, kept.id, DESCRIBED[CHECKPOINT], loss, actions, seconds)


def _live(run: Run, is_stale: bool) -> Option:
    loss = UNKNOWN if is_stale else UNSAVED if is_foreign(run) else NOTHING
    lost = None if loss != NOTHING else 0
    return Option(LIVE, "state.json", DESCRIBED[LIVE], loss, lost, lost)


def _fresh(run: Run) -> Option:
    begun, last = run.created, run.updated
    seconds = max(0, int((last - begun).total_seconds())) if begun and last else 0
    return Option(FRESH, None, DESCRIBED[FRESH], "All progress", run.standing.actions, seconds)
