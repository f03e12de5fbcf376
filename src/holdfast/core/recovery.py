"""The ways to go on with a run that was interrupted, what each would lose, and which is recommended.

What is lost is counted from the journal, never guessed. Nothing here looks at a disk or a clock.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from holdfast.core.fold.team import last_kept, since_kept
from holdfast.core.model import Kept, Run, Status
from holdfast.core.text import count, stamp

CHECKPOINT, LIVE, FRESH = "checkpoint", "live_state", "fresh_start"
NAMES = {CHECKPOINT: "checkpoint", LIVE: "live", FRESH: "fresh"}  # as `--from` takes them
TIMEOUT, CRASH, DISCONNECT, ERROR = "timeout", "crash", "disconnect", "error"
NOTHING = "none"
UNKNOWN = "unknown: the live state is older than the checkpoint"
UNSAVED = "~30 seconds of work, or more: another program wrote this session, and only its last save is known"
FILES_SAY, REGISTRY_SAYS = "its files say", "its registry says so"
UNHEARD = "it was active, and nothing was saved since"
ELSEWHERE = ("another machine", "another container", "silent", "files say timeout")
DESCRIBED = {
    CHECKPOINT: "Resume from last checkpoint (safe)",
    LIVE: "Resume from last auto-save (experimental)",
    FRESH: "Start fresh from step 1",
}


class Option(Struct, frozen=True):
    """One way to go on."""

    type: str
    target: str | None
    description: str
    data_loss: str
    actions: int | None = 0  # that would be lost; null: nobody knows
    seconds: int | None = 0  # of work
    recommended: bool = False
    files: int = 0  # of the worktree that would change

    @property
    def start_from(self) -> str:
        return NAMES[self.type]


def told_silent(id: str, since: datetime) -> str:
    """The warning about a run without a sign of life."""
    return f"{id} is potentially interrupted: no sign of life since {stamp(since)}"


def reason_of(run: Run) -> str | None:
    """Why a run does not go on, in one of the document's four words; None where somebody put it to rest."""
    if run.status is Status.INTERRUPTED:
        evidence = run.evidence or ""
        if evidence.startswith(f"{DISCONNECT}:"):
            return DISCONNECT
        if told := next((word for word in (DISCONNECT, ERROR) if f"{FILES_SAY} {word}" in evidence), None):
            return told
        return TIMEOUT if any(word in evidence for word in ELSEWHERE) else CRASH
    if run.status is Status.PAUSED and DISCONNECT in (run.status_reason or ""):  # as earlier versions recorded it
        return DISCONNECT
    if any(step.status == "failed" for step in run.steps):
        return ERROR
    return None


def options(run: Run) -> list[Option]:
    """The ways to go on, with the recommended one marked.

    With the journal the live state has everything that was ever told, so it is recommended. Where a file that others
    wrote is older than its own checkpoint, nobody knows what it lacks, and the checkpoint is.
    """
    kept, stale = last_kept(run), is_stale(run)
    found = [_from_checkpoint(run, kept, stale)] if kept is not None else []
    found += [_live(run, stale), _fresh(run)]
    preferred = CHECKPOINT if stale else LIVE
    return [Option(*_fields(option), recommended=option.type == preferred) for option in found]


def is_stale(run: Run) -> bool:
    """Whether what is known of a run's last action is older than its own checkpoint, and comes from a file."""
    kept = last_kept(run)
    return bool(kept and kept.checkpoint is None and run.actions and run.actions[-1].time < kept.time)


def is_foreign(run: Run) -> bool:
    """Whether another program worked on a run up to now, so that the journal knows only what its files say."""
    if run.standing.recovered is not None:
        return False
    kept, why = last_kept(run), run.evidence or run.status_reason or ""
    return (
        run.standing.saved is not None
        or why.startswith((FILES_SAY, REGISTRY_SAYS, UNHEARD))
        or (kept is not None and kept.checkpoint is None)
    )


def interrupted_at(run: Run) -> datetime | None:
    """When a run stopped: as its files say, else with its last action; a dead process is only found later."""
    if run.status is not Status.INTERRUPTED:
        return run.updated if run.status.is_open and run.status is not Status.PAUSED else run.status_since
    return run.actions[-1].time if run.actions and not is_foreign(run) else run.status_since


def recommended(found: list[Option]) -> Option:
    return next(option for option in found if option.recommended)


def _fields(option: Option) -> tuple[str, str | None, str, str, int | None, int | None]:
    return option.type, option.target, option.description, option.data_loss, option.actions, option.seconds


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
