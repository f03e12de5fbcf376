"""What an agent that asks is told: the brief when a conversation begins, what is new when one is resumed, what
must survive when one is compacted.

The call that asks was kept before anything else happens here, so whatever goes wrong, nothing of it is lost.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from msgspec import structs

from holdfast.agents.protocol import Agent, Moment, Reading
from holdfast.core.brief import Brief, Since, plan_brief
from holdfast.core.errors import HoldfastError
from holdfast.core.fold.run import BRIEFED
from holdfast.core.model import Beginning, Draft, Ending, Reason, Run, Session, Status
from holdfast.core.text import one_line
from holdfast.core.untrusted_text import enclose
from holdfast.ingest.catch_up import catch_up
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.registry import find_layout, present
from holdfast.project.briefs import make_brief, without_secrets
from holdfast.project.checkpoints.create import Turn, keep_or_note
from holdfast.project.inbox import Call
from holdfast.project.runs import select
from holdfast.project.sessions import find_dead, live_sessions, who
from holdfast.project.workspace import Workspace
from holdfast.surfaces.hooks import due_brief

SURVIVING = 4_000  # characters for whoever writes the summary
PATIENCE = 3.0  # seconds for taking in what waits; the rest is taken in by whoever comes next
NAMED = 5
CHANGED = (
    "The user typed `{}` into the client, which changed what this conversation works on. What follows holds instead of "
    "what was told before."
)
LEAST = 1_000  # characters of a brief, whatever else is told
BEHIND = "Holdfast is still taking in what happened: `holdfast brief`"


class Answer(NamedTuple):
    """The text for the agent, and a notice that the client shows to the user; None where there is nothing to say."""

    text: str | None
    notice: str | None = None


class Asking(NamedTuple):
    """A call that waits for an answer."""

    call: Call
    reading: Reading
    agent: Agent

    @property
    def compacts(self) -> bool:
        return self.reading.moment is Moment.COMPACTING


def answer(workspace: Workspace, asking: Asking) -> Answer:
    catch_up(workspace, until=time.monotonic() + PATIENCE, hurry=True)
    owned = _of_other_systems(workspace, asking)
    if asking.reading.moment is Moment.END:
        return Answer(None)
    if asking.reading.moment is Moment.START:
        due_brief.clear(workspace, asking.reading.conversation or "")
    own, notice = _own(workspace, asking, len(owned) + 2 if owned else 0)
    return Answer("\n\n".join(filter(None, [owned, own, notice])) or None, notice)


def answer_prompt(workspace: Workspace, asking: Asking) -> Answer:
    """The brief with a prompt, where a command that was typed before it has changed what the conversation works on."""
    typed = due_brief.find(workspace, asking.reading.conversation or "")
    if typed is None:
        return Answer(None)
    catch_up(workspace, until=time.monotonic() + PATIENCE, hurry=True)
    changed = CHANGED.format(typed.replace("`", "'"))
    own, _ = _own(workspace, asking, len(changed) + 2)
    return Answer(f"{changed}\n\n{own}" if own else None)


def _of_other_systems(workspace: Workspace, asking: Asking) -> str:
    """The text of a system that keeps its runs in files of the project, once it has loaded or saved."""
    if asking.reading.moment is not Moment.START:
        for layout in present(workspace):
            layout.end_session(workspace, asking.call, asking.reading)
        return ""
    told = (layout.begin_session(workspace, asking.call, asking.reading) for layout in present(workspace))
    return "\n\n".join(filter(None, told))


def _own(workspace: Workspace, asking: Asking, used: int) -> Answer:
    """The brief of the conversation's run, in the room that is left."""
    with workspace.reading() as journal:
        session, run, last = _place(journal, asking.reading)
    if asking.compacts:
        turn = Turn(run.id, session.id) if run and session else None
        keep_or_note(workspace, Reason.BEFORE_COMPACTION, turn)
    with workspace.reading() as journal:
        if run is None:
            others = _others(workspace, journal)
            return Answer(enclose(others, workspace.chance) if others else None)
        mine = journal.sessions_of(session.agent_session or "") if session else []
    notice = _recovery(workspace, run) if asking.reading.moment is Moment.START else None
    used += len(notice) + 2 if notice else 0
    is_resumed = asking.reading.begins is Beginning.RESUME  # its context still has what it was told, and what it did
    since = _since(mine[1:]) if is_resumed else None
    made = make_brief(workspace, run, last, max(LEAST, _budget(workspace, asking) - used), since=since)
    if asking.compacts or session is None:
        return Answer(made.text, notice)
    if is_resumed and (not made.text or made.digest in {found.brief for found in mine}):
        same = f"Run {run.id} stands where this conversation left it: nothing has changed since."
        return Answer(enclose(same, workspace.chance), notice)
    _note(workspace, session, made)
    return Answer(made.text, notice)


def _since(earlier: list[Session]) -> Since | None:
    """The last activity of a conversation in its earlier sessions, and the beginning of the newest of these."""
    heard = [session.last_active or session.ended or session.opened for session in earlier]
    return Since(max(heard), earlier[0].opened) if earlier else None


def _recovery(workspace: Workspace, run: Run) -> str | None:
    """The ways to go on with an interrupted run, for the user and the agent; None where there is no choice."""
    if run.status is not Status.INTERRUPTED:
        return None
    layout = find_layout(run.layout)
    return "\n".join(layout.offer_screen(run, layout.list_ways(workspace, run))) or None


def answer_shortly(workspace: Workspace, asking: Asking) -> Answer:
    """The same from what is stored already: nothing is taken in, and nobody is waited for."""
    with workspace.reading() as journal:
        _, run, last = _place(journal, asking.reading)
        if run is None and (run := select.current_run(journal, workspace.worktree)):
            last = next(iter(journal.list_sessions(run.id, limit=1)), None)
    if run is None:
        return Answer(f"{BEHIND} tells where the work stands.")
    budget = _budget(workspace, asking) // 2
    told = last and without_secrets(workspace, _as_it_is(last))  # safeguard: hide-short-brief-session
    text = plan_brief(
        # safeguard: hide-short-brief-run
        without_secrets(workspace, run),
        told,
        workspace.clock.now(),
        budget,
        chance=workspace.chance,
    ).text
    return Answer(f"{text}\n\nThis is short. {BEHIND} tells more.")


def _as_it_is(session: Session) -> Session:
    """A session with what nobody has written down yet: that its process is gone."""
    for dead, evidence in find_dead([session] if session.is_open else []):
        return structs.replace(dead, how=Ending.DIED, reason=evidence, ended=dead.last_active)
    return session


def _budget(workspace: Workspace, asking: Asking) -> int:
    return SURVIVING if asking.compacts else min(asking.agent.BRIEF_LIMIT, workspace.settings.whole("brief.budget"))


def _place(journal: Journal, reading: Reading) -> tuple[Session | None, Run | None, Session | None]:
    """Return the session of a call, its run, and the session before, whose last action the brief names."""
    found = journal.sessions_of(reading.conversation or "")
    session = found[0] if found else None
    run = journal.find_run(session.run) if session else None
    if run is None:
        return session, None, None
    earlier = [known for known in journal.list_sessions(run.id, limit=2) if session is None or known.id != session.id]
    return session, run, earlier[0] if earlier else session


def _note(workspace: Workspace, session: Session, made: Brief) -> None:
    body = {"digest": made.digest, "characters": len(made.text), "left_out": made.left_out}
    try:
        with workspace.writing(for_session=False) as journal:
            journal.append(session.run, Draft(BRIEFED, body, session=session.id, agent=session.agent))
    except HoldfastError:  # then the same may be told once more
        return


def _others(workspace: Workspace, journal: Journal) -> str | None:
    """The open runs that a new conversation could join, in a line each."""
    query = RunQuery(worktree=workspace.worktree, statuses=select.OPEN_STATUSES, limit=NAMED)
    runs, _ = journal.list_runs(query)
    if not runs:
        return None
    lines = [_other(journal, without_secrets(workspace, run)) for run in runs]  # safeguard: hide-joinable-runs
    return "\n".join(["Holdfast keeps these open runs of this worktree; none was joined by itself:", *lines])


def _other(journal: Journal, run: Run) -> str:
    """A run that could be joined, and who has it."""
    line = f"- {run.id} {run.status}: {one_line(run.title, 100)} (`holdfast join {run.id}`)"
    alive = live_sessions(journal, run.id)
    return f"{line}; {who(alive[0])} works on it" if alive else line
