"""The journal: the events of all runs in order, folded into states. It is the layer between verbs and a store.

A `Journal` exists for one transaction. It numbers events, refuses those of a session that is fenced off, folds each
event into the state of its run and session, and writes the states once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import cast

import msgspec
from msgspec import structs

from holdfast.core import ids
from holdfast.core.errors import Damaged, Fenced, NotFound
from holdfast.core.event_text import searchable
from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Rules, RulesOf
from holdfast.core.model import Body, Checkpoint, Draft, Ending, Event, Run, Session
from holdfast.core.retention import RAW
from holdfast.core.text import sound, sound_text
from holdfast.journal import codec
from holdfast.journal.store import LEDGER, EventRow, Page, Reader, RunQuery, RunRow, Snapshot, Writer
from holdfast.system.clock import Clock, micros

MILESTONE = 256  # events between two snapshots

PLACED, PLACES = ("run.", "session.", "checkpoint."), ("worktree", "directory", "transcript")
LEDGER_PREFIX = "ledger-"  # of the id of a run that records the events of a worktree itself


class Journal:
    def __init__(self, view: Reader, clock: Clock, clean: Callable[[Body], Body], rules_of: RulesOf) -> None:
        self.view = view
        self.clock = clock
        self._clean = clean
        self._rules_of = rules_of
        self.session: str | None = None
        self._runs: dict[str, Run] = {}
        self._sessions: dict[str, Session] = {}
        self._outdated: set[str] = set()  # runs that were stored by another version of the fold, as were their sessions
        self._conversations: dict[str, list[Session]] = {}  # a cache, valid until a session opens or ends

    # folding

    def rules_of(self, run: Run) -> Rules:
        return self._rules_of(run.layout)

    def fold(self, run: str, until: int | None = None) -> Run:
        """The state of a run, folded from its first event."""
        return fold.fold(run, self.events(run, until=until), rules_of=self._rules_of)

    def apply(self, run: Run, event: Event) -> None:
        fold.apply(run, event, self._rules_of)

    # reading

    def find_run(self, id: str) -> Run | None:
        if id not in self._runs:
            row = self.view.find_run(sound_text(id)) if id else None
            if row is None:
                return None
            self._runs[id] = self._run_of(row)
            if row.fold != fold.VERSION:
                self._outdated.add(id)
        return self._runs[id]

    def get_run(self, id: str) -> Run:
        if run := self.find_run(id):
            return run
        raise NotFound(f"There is no run {id}", [], ["`holdfast runs` lists them"])

    def list_runs(self, query: RunQuery) -> tuple[list[Run], Page]:
        page = self.view.list_runs(query)
        return [self._runs.get(row.id) or self._run_of(row) for row in page.rows], page

    def run_at(self, id: str, seq: int) -> Run:
        """The state of a run after its event `seq`, without events that were forgotten since."""
        forgotten = self.get_run(id).forgotten
        good = [found for found in self.view.snapshots(id, until=seq) if found.fold == fold.VERSION]
        start = good[-1] if good else None
        later = list(self.events(id, after=start.seq if start else 0, until=seq))
        if start is None or forgotten or any(event.kind in fold.REFOLDED for event in later):
            return fold.fold(id, self.events(id, until=seq), forgotten, self._rules_of)
        run = codec.decode_run(start.state)
        for event in later:
            self.apply(run, event)
        return run

    def events(
        self,
        run: str,
        *,
        after: int = 0,
        until: int | None = None,
        newest: int | None = None,
        kinds: Collection[str] = (),
    ) -> Iterator[Event]:
        for row in self.view.events(run, after=after, until=until, newest=newest, kinds=kinds):
            yield codec.event_of(row, self.view.blob)

    def has_event(self, id: str) -> bool:
        return self.view.has_event(bytes.fromhex(id))

    def find_session(self, id: str) -> Session | None:
        if id not in self._sessions:
            row = self.view.find_session(sound_text(id)) if id else None
            if row is None:
                return None
            self._sessions[id] = codec.session_of(row)
        return self._sessions[id]

    def list_sessions(
        self, run: str | None = None, *, only_open: bool = False, with_process: bool = False, limit: int | None = None
    ) -> list[Session]:
        found = self.view.list_sessions(run, only_open=only_open, with_process=with_process, limit=limit)
        return [self._sessions.get(row.id) or codec.session_of(row) for row in found]

    def sessions_of(self, conversation: str) -> list[Session]:
        """The sessions of an agent's conversation, newest first."""
        if conversation not in self._conversations:
            found = self.view.sessions_of(sound_text(conversation))
            self._conversations[conversation] = [codec.session_of(row) for row in found]
        return [self._sessions.get(session.id, session) for session in self._conversations[conversation]]

    def find_checkpoint(self, id: str) -> Checkpoint | None:
        row = self.view.find_checkpoint(sound_text(id))
        return codec.checkpoint_of(row) if row else None

    def list_checkpoints(
        self, worktree: str | None = None, *, run: str | None = None, limit: int | None = None
    ) -> Iterator[Checkpoint]:
        return map(codec.checkpoint_of, self.view.list_checkpoints(worktree, run=run, limit=limit))

    def fold_checkpoints(self, run: str) -> dict[str, Checkpoint]:
        """The checkpoints of a worktree, folded from its ledger."""
        found: dict[str, Checkpoint] = {}
        for event in self.events(run):
            if event.kind.startswith("checkpoint."):
                id = str(event.body.get("id", ""))
                after = fold.apply_checkpoint(found.pop(id, None), event)
                if after is not None and event.kind != "checkpoint.dropped":
                    found[id] = after
        return found

    def ledger_of(self, worktree: str) -> Run | None:
        """The ledger of a worktree; None before its first event."""
        return self.find_run(LEDGER_PREFIX + ids.file_name(worktree))

    def ledger(self, worktree: str) -> Run:
        """The run that records the events of a worktree itself; lists omit it."""
        found = self.ledger_of(worktree)
        if found is None:
            body = {"goal": f"Checkpoints of {worktree}", "layout": LEDGER, "worktree": worktree}
            first = Draft("run.started", body, time=self.clock.now())
            found = self.start(LEDGER_PREFIX + ids.file_name(worktree), first)
        return found

    # writing

    def start(self, id: str, draft: Draft) -> Run:
        run = Run(id=id, created=draft.time, updated=draft.time)
        self._runs[id] = run
        self._put_run(run)
        self.append(id, draft)
        self._put_run(run)  # again, with layout and worktree: lists before the commit need them
        return run

    def append(self, run_id: str, *drafts: Draft) -> list[Event]:
        """Append events to a run. Events whose ids exist are skipped."""
        added = []
        for draft in drafts:
            run = self.get_run(run_id)
            event = self._event_from(run, draft)
            if event.kind != fold.ENDED:
                self._check_fence(run, event.session)
            if self._add(event):
                self._fold(event)
                added.append(event)
        return added

    def replay(self, run_id: str, events: Iterable[Event]) -> int:
        """Append events that another store has numbered, redacted. No session is fenced off: they have happened."""
        added = 0
        for event in events:
            agent = self._name_without_secrets(event.agent or "") or None
            # safeguard: hide-imported-event
            event = structs.replace(event, agent=agent, body=self._without_secrets(event.kind, event.body))
            if event.seq == 1:
                self._runs[run_id] = Run(id=run_id, created=event.time, updated=event.time)
                self._put_run(self._runs[run_id])
            if event.seq != self.get_run(run_id).seq + 1 or not self._add(event):
                raise Damaged("An event of this run does not fit", [("event", event.seq), ("id", event.id)])
            self._fold(event)
            added += 1
        return added

    def end_session(self, id: str, reason: str | None) -> bool:
        """End a session normally; False if it has ended already."""
        session = self.find_session(id)
        if session is None or not session.is_open:
            return False
        body = {"how": Ending.ENDED, "reason": reason}
        self.append(session.run, Draft(fold.ENDED, body, session=id, agent=session.agent))
        return True

    def point(self, worktree: str, run: str | None) -> None:
        """Set the current run of a worktree."""
        self._writer.point(worktree, run)

    def delete(self, run: str) -> None:
        self._runs.pop(run, None)
        self._sessions = {id: session for id, session in self._sessions.items() if session.run != run}
        self._conversations.clear()
        self._writer.delete_run(run)

    def replace_bodies(self, run: str, bodies: dict[int, bytes]) -> None:
        """Replace bodies of events by thinned ones, which fold to the same state, and release unused large values."""
        for seq, body in bodies.items():
            self._writer.replace_body(run, seq, body)
        used = set[bytes]().union(*(codec.blobs_in(row.body) for row in self.view.events(run)))
        self._writer.drop_blob_uses(run, self.view.blob_uses(run) - used)
        self._writer.note_thinned(run)

    def flush(self) -> None:
        """Write all states. Called once, before the commit."""
        for id in self._outdated & self._runs.keys():
            self._sessions.update(self.fold_sessions(id))
        for run in self._runs.values():
            self._put_run(run)
        for session in self._sessions.values():
            self._writer.put_session(codec.row_of_session(session))

    # inside

    @property
    def _writer(self) -> Writer:
        return cast(Writer, self.view)

    def _event_from(self, run: Run, draft: Draft) -> Event:
        time = draft.time or self.clock.now()
        session = self.find_session(self.session) if self.session else None
        # the current session, unless it has ended normally or belongs to another run
        is_ours = session and session.run == run.id and (session.is_open or session.fenced)
        own = session.id if session and is_ours else None
        return Event(
            run=run.id,
            seq=run.seq + 1,
            id=draft.id or ids.make_event(micros(time)),
            kind=draft.kind,
            time=time,
            session=sound_text(draft.session or own or "") or None,
            agent=self._name_without_secrets(sound_text(draft.agent or "")) or None,
            # safeguard: hide-stored-event
            body=self._without_secrets(draft.kind, cast(Body, sound(msgspec.to_builtins(draft.body)))),
        )

    def _without_secrets(self, kind: str, body: Body) -> Body:
        """Redact a body: all bodies pass here before they are stored. Paths stay, because runs are found by them."""
        places = {key: body[key] for key in PLACES if key in body} if kind.startswith(PLACED) else {}
        return {**self._clean(body), **places}

    def _name_without_secrets(self, agent: str) -> str:
        """Redact the name of an agent, which may be any text and is shown in lists and exports."""
        return str(self._clean({"agent": agent})["agent"])  # safeguard: hide-agent-name

    def _check_fence(self, run: Run, session_id: str | None) -> None:
        session = self.find_session(session_id) if session_id else None
        if session is None or session.run != run.id or not _is_fenced(session, run):
            return
        facts = [("session", session.id), ("run", run.id), ("because", session.reason or "the run was taken over")]
        hints = [f"`holdfast join {run.id}` begins a new session on it"]
        raise Fenced("This session may no longer write to its run", facts, hints)

    def _add(self, event: Event) -> bool:
        body, blobs = codec.pack(event.body)
        id, time = bytes.fromhex(event.id), micros(event.time)
        row = EventRow(event.run, event.seq, id, event.kind, time, event.session, event.agent, body)
        if not self._writer.add_event(row, searchable(event)):
            return False
        like = None if event.kind in RAW else event.kind  # raw calls do not resemble each other
        for digest, data in blobs.items():
            self._writer.put_blob(event.run, digest, data, like)
        return True

    def _fold(self, event: Event) -> None:
        if event.kind in fold.REFOLDED:  # it changes earlier events
            if event.kind == fold.FORGOTTEN:
                self._writer.forget_words(event.run, event.body.get("seq", 0))
            self._runs[event.run] = self.fold(event.run)
            self._sessions.update(self.fold_sessions(event.run))
        else:
            self.apply(self._runs[event.run], event)
            if event.session:
                self._fold_session(event.session, event)
        if event.kind.startswith("checkpoint."):
            self._fold_checkpoint(event)
        if event.seq % MILESTONE == 0:
            state = codec.encode(self._runs[event.run])
            self._writer.put_snapshot(event.run, Snapshot(event.seq, fold.VERSION, state))

    def _fold_session(self, id: str, event: Event) -> None:
        session = self.find_session(id)
        if session is not None and session.run != event.run:
            return
        after = fold.apply_session(session, event)
        if after is not None:
            self._sessions[id] = after
            if event.kind in (fold.OPENED, fold.TOLD_OF, fold.ENDED):
                # lists before the commit need the current state
                self._conversations.clear()
                self._writer.put_session(codec.row_of_session(after))

    def _fold_checkpoint(self, event: Event) -> None:
        id = str(event.body.get("id", ""))
        if event.kind == "checkpoint.dropped":
            self._writer.delete_checkpoint(id)
            return
        after = fold.apply_checkpoint(self.find_checkpoint(id), event)
        if after is not None:
            self._writer.put_checkpoint(codec.row_of_checkpoint(after))

    def fold_sessions(self, run: str) -> dict[str, Session]:
        """The sessions of a run, folded from its events."""
        forgotten = set(self.get_run(run).forgotten)
        sessions: dict[str, Session] = {}
        for event in fold.without(self.events(run), forgotten):
            if event.session:
                after = fold.apply_session(sessions.get(event.session), event)
                if after is not None:
                    sessions[event.session] = after
        return sessions

    def _put_run(self, run: Run) -> None:
        self._writer.put_run(codec.row_of_run(run, self.clock.now()))

    def _run_of(self, row: RunRow) -> Run:
        if row.fold != fold.VERSION:
            return self.fold(row.id)
        return codec.decode_run(row.state, row.id)


def is_ledger(id: str) -> bool:
    """True for the id of a worktree's ledger, which lists omit and no verb accepts as a run."""
    return id.startswith(LEDGER_PREFIX)


def _is_fenced(session: Session, run: Run) -> bool:
    return session.fenced or (session.is_open and session.epoch < run.epoch)  # safeguard: fence-off-session
