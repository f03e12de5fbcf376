"""The brief of a session: the state of the run, the drift of the worktree, and the declared artifacts."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from holdfast.core.brief import Brief, Since, plan_brief
from holdfast.core.model import Event, Run, Session, text_of
from holdfast.core.turns import Turn
from holdfast.journal.journal import Journal
from holdfast.project.artifacts.declared import read_artifacts
from holdfast.project.drift import find_drift
from holdfast.project.sessions import find_leftovers
from holdfast.project.workspace import Workspace

T = TypeVar("T", bound=Struct)
READ = 500_000  # characters of prompts and answers that are read for a brief
PROMPTED = "prompt.given"
PATIENCE = 1.0  # seconds to wait for another scan of the worktree


def without_secrets(workspace: Workspace, record: T) -> T:
    """Redact a record, before its texts are truncated."""
    return msgspec.convert(workspace.hide(msgspec.to_builtins(record)), type(record))


def read_turns(workspace: Workspace, journal: Journal, run: Run) -> list[Turn]:
    """Read the newest turns of a run, redacted, as many as the brief may need."""
    events: list[Event] = []
    room = READ
    for seq in reversed(run.talk):
        for event in journal.events(run.id, after=seq - 1, until=seq):
            room -= len(text_of(event.body.get("text")))
            events.append(event)
        if room < 0:
            break
    turns: list[Turn] = []
    current: dict[str | None, Turn] = {}  # by session: several may work on a run
    for event in sorted(events, key=lambda found: (found.time, found.seq)):
        text = workspace.hide(text_of(event.body.get("text")))  # safeguard: hide-brief-turns
        if event.kind == PROMPTED or event.session not in current:
            current[event.session] = Turn("", event.time)
            turns.append(current[event.session])
        if event.kind == PROMPTED:
            current[event.session].prompt = text
        else:
            current[event.session].said.append(text)
    return turns


def make_brief(
    workspace: Workspace,
    run: Run,
    last: Session | None,
    budget: int,
    *,
    runs: bool = False,
    since: Since | None = None,
) -> Brief:
    """Make the brief of a session that follows `last`. It is redacted, since an older store may hold secrets.

    Trusted commands of artifacts are executed only with `runs`. With `since` the text tells only what is newer, and is
    empty if nothing is; the digest is that of the whole brief.
    """
    bearings = find_drift(workspace, run, PATIENCE) if run.worktree == workspace.worktree else None
    with workspace.reading() as journal:
        left_over = find_leftovers(workspace, journal, run)
        turns = read_turns(workspace, journal, run)
        newest = next(iter(journal.list_checkpoints(run=run.id, limit=1)), None)
    artifacts, missing = read_artifacts(workspace, runs=runs)
    workspace.warnings += [f"a critical artifact cannot be read: {why}" for why in missing]
    # safeguard: hide-brief-artifacts
    artifacts = [structs.replace(found, text=workspace.hide(found.text)) for found in artifacts]
    plan = partial(
        plan_brief,
        without_secrets(workspace, run),  # safeguard: hide-brief-run
        last and without_secrets(workspace, last),  # safeguard: hide-brief-session
        workspace.clock.now(),
        budget,
        bearings,
        artifacts,
        [f"process {left.pid}: {left.command} ({left.session})" for left in left_over],
        turns,
        newest.id if newest else None,
        chance=workspace.chance,
    )
    whole = plan()
    return structs.replace(plan(since=since), digest=whole.digest) if since else whole
