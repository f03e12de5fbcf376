"""Import conversations from transcripts that agents wrote before Holdfast was installed.

A conversation that is recorded already stays with its run, and events from its hooks are not imported again.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct, structs

from holdfast.agents.protocol import Agent, Head, Retelling
from holdfast.core import ids
from holdfast.core.fold import run as fold
from holdfast.core.fold.activity import COUNTED, MEASURED, remaining_usage
from holdfast.core.lifecycle import Move
from holdfast.core.model import Beginning, Draft, Environment, Run, Session, Status
from holdfast.core.text import path_text
from holdfast.ingest.context_usage import counted, window_in
from holdfast.journal.journal import Journal
from holdfast.project import context_windows
from holdfast.project.sessions import open_session
from holdfast.project.workspace import Workspace
from holdfast.system import locate, process
from holdfast.system.safe_paths import real_path

IMPORTED = "imported; it is unknown how it ended"  # the reason of a session's end, for people
BATCH = 2_000  # events in one commit
NEAR = 10.0  # seconds between a hook's event and the transcript's line about the same prompt
OF_RECORDED = ("prompt.given", "action.taken")  # kinds that are added to a conversation recorded by hooks


class Taken(Struct):
    """The result of importing a conversation."""

    run: str
    started: bool
    prompts: int = 0
    actions: int = 0
    events: int = 0
    damaged: int = 0  # lines that cannot be read

    def lose(self) -> None:
        self.damaged += 1


def worktree_of(workspace: Workspace, directory: str, *, is_named: bool) -> str | None:
    """The worktree of this project that contains a directory; for a removed one, only if the file was named."""
    if os.path.isdir(directory):
        root, place = locate.locate_store(real_path(directory))
        return path_text(locate.worktree_name(root)) if place == str(workspace.place) else None
    is_inside = f"{os.path.normpath(directory)}/".startswith(f"{workspace.root}/")
    return workspace.worktree if is_inside or is_named else None


class Importer:
    """Imports conversations one by one. A fork is recognised by its first prompt, which it shares."""

    def __init__(self, workspace: Workspace, agent: Agent) -> None:
        self.workspace = workspace
        self.agent = agent
        self._owners: dict[str, str] = {}  # the first prompt's line -> its run

    def take(self, heads: list[Head], worktree: str) -> Taken | None:
        """Import one conversation from its files; None if it has no prompt."""
        paths = [head.path for head in heads]
        # safeguard: hide-imported-goal
        first, goal = self.agent.opening_of(paths, self.workspace.hide)
        if goal is None and not self.workspace.exists:
            return None
        self.workspace.create()
        with self.workspace.reading() as journal:
            known = journal.sessions_of(heads[0].conversation)
        if goal is None and not known:
            return None
        run = known[-1].run if known else self._owners.get(first)
        taken = Taken(run or ids.make("run"), started=run is None)
        if first:
            self._owners.setdefault(first, taken.run)
        destination = Destination(self.workspace, self.agent.NAME, heads[0], worktree, goal or "", taken, known)
        # safeguard: hide-imported-conversation
        retelling = self.agent.retell(paths, self.workspace.clean, taken.lose, self.workspace.clock.now())
        drafts = retelling.drafts()
        while batch := list(itertools.islice(drafts, BATCH)):
            destination.add(batch, retelling)
        destination.finish(retelling)
        return taken


class Destination:
    """The run and the session to which the lines of a conversation are added."""

    def __init__(
        self, workspace: Workspace, agent: str, head: Head, worktree: str, goal: str, taken: Taken, known: list[Session]
    ) -> None:
        self.workspace, self.agent, self.head = workspace, agent, head
        self.worktree, self.goal, self.taken = worktree, goal, taken
        self.is_recorded = any(session.begun is not Beginning.IMPORTED for session in known)
        self.session = next((session.id for session in reversed(known) if not session.fenced), None)
        self._has_session = bool(known)
        self._prompts: dict[str, list[datetime]] = {}
        self._actions: set[str] = set()
        with workspace.reading() as journal:
            before = None if taken.started else journal.get_run(taken.run)
            self.before = before and before.status
            for event in journal.events(taken.run) if self.is_recorded else ():  # those that hooks have recorded
                if event.kind == "prompt.given":
                    self._prompts.setdefault(str(event.body.get("text")), []).append(event.time)
                elif event.kind == "action.taken":
                    self._actions.add(str(event.body.get("key")))

    def add(self, drafts: list[Draft], retelling: Retelling) -> None:
        if new := [draft for draft in drafts if self._is_new(draft)]:
            with self.workspace.writing(for_session=False) as journal:
                self._open(journal, retelling)
                self._append(journal, new)

    def finish(self, retelling: Retelling) -> None:
        """Add the totals, end the session, and give the run its previous status."""
        with self.workspace.writing(for_session=False) as journal:
            self._open(journal, retelling)
            self._append(journal, list(self._totals(journal, retelling)))
            run = journal.get_run(self.taken.run)
            if self.taken.events and run.status is Status.ACTIVE and (step := self._rest(journal, run)):
                rested = fold.status_draft(step, IMPORTED if step is Move.PAUSE else None)
                journal.append(run.id, structs.replace(rested, time=retelling.time))

    def _rest(self, journal: Journal, run: Run) -> Move | None:
        if journal.list_sessions(run.id, only_open=True, limit=1):
            return None
        if self.before in (Status.INTERRUPTED, Status.PAUSED):
            return Move.INTERRUPT if self.before is Status.INTERRUPTED else Move.PAUSE
        return None if self.is_recorded else Move.PAUSE

    def _is_new(self, draft: Draft) -> bool:
        if not self.is_recorded:
            return True
        body = draft.body
        if draft.kind == "prompt.given":
            times = self._prompts.get(str(body.get("text")), [])
            return all(abs((time - (draft.time or time)).total_seconds()) > NEAR for time in times)
        return draft.kind in OF_RECORDED and str(body.get("key")) not in self._actions

    def _open(self, journal: Journal, retelling: Retelling) -> None:
        """Start the run and the session if they do not exist."""
        time = retelling.begun or retelling.time
        if journal.find_run(self.taken.run) is None:
            body = {"goal": self.goal, "layout": "native", "worktree": self.worktree, "directory": self.head.directory}
            journal.start(self.taken.run, Draft("run.started", {**body, "unasked": True}, time=time))
            self.taken.events += 1
        if self._has_session:
            return
        opened = open_session(
            journal,
            journal.get_run(self.taken.run),
            Draft(fold.OPENED, time=time, agent=self.agent),
            Environment(process.here().host, "", path_text(self.head.directory)),
            conversation=self.head.conversation,
            transcript=path_text(self.head.path),
            begun=Beginning.IMPORTED,
        )
        self.session, self._has_session = opened.id, True
        self.taken.events += 1

    def _totals(self, journal: Journal, retelling: Retelling) -> Iterator[Draft]:
        session = journal.find_session(self.session or "")
        usage, conversation = retelling.usage, self.head.conversation
        if session is None:
            return
        others = [other for other in journal.sessions_of(conversation) if other.id != session.id]
        used = remaining_usage(retelling.spent, others)
        if usage is not None and not self.is_recorded:
            reported = context_windows.find(self.workspace.here, conversation)
            window = window_in(self.workspace, usage, reported, [session])
            body = {"tokens": usage.tokens, "window": window, "model": usage.model}
            yield Draft(MEASURED, body, self._id(retelling, MEASURED), retelling.time)
        if body := counted(session, used):
            yield Draft(COUNTED, body, time=retelling.time)
        if not self.is_recorded:
            body = {"how": "ended", "reason": IMPORTED}
            yield Draft(fold.ENDED, body, self._id(retelling, fold.ENDED), retelling.time)

    def _id(self, retelling: Retelling, kind: str) -> str:
        return ids.event_of_call(f"{self.agent} import {self.head.conversation} {retelling.last} {kind}")

    def _append(self, journal: Journal, drafts: list[Draft]) -> None:
        signed = (Draft(draft.kind, draft.body, draft.id, draft.time, self.session, self.agent) for draft in drafts)
        for event in journal.append(self.taken.run, *signed):
            self.taken.events += 1
            self.taken.prompts += event.kind == "prompt.given"
            self.taken.actions += event.kind == "action.taken"
