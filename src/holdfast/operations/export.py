"""Export of a run into one file: its events, state, checkpoints and transcripts."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

import holdfast
from holdfast.agents import jsonl
from holdfast.agents.protocol import Agent, setup_of
from holdfast.agents.registry import find_agent
from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError, Refused
from holdfast.core.fold import run as fold
from holdfast.core.fold.run import record_of
from holdfast.core.model import Body, Checkpoint, Event, Run, Session
from holdfast.core.text import path_text
from holdfast.ingest.import_conversations import worktree_of
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.runs import select, tombstones
from holdfast.project.transfer import bundle
from holdfast.project.transfer.bundle import Manifest, Outgoing
from holdfast.project.workspace import Workspace
from holdfast.redaction.redactor import Counts, Redactor
from holdfast.system.clock import micros
from holdfast.system.files import open_regular
from holdfast.system.safe_paths import real_path
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.portable import format_pack
from holdfast.worktree.packs.reachability import kinds, reached

MOST_TRANSCRIPT = 1 << 28
MOST_TRANSCRIPTS = 500
encode = msgspec.json.Encoder().encode

Clean = Callable[[Body], Body]


class RunExported(Struct):
    run: str
    path: str
    sha256: str  # of the file without its last 32 bytes, which are this digest
    events: int
    checkpoints: int  # whose code is in it
    left_out: int  # checkpoints left out on request
    transcripts: int
    skipped: list[str]  # transcripts that cannot be read
    raw: bool
    redacted: dict[str, int]  # kind of secret -> how many were removed


@verb(
    group=Group.CARE,
    example="holdfast export run-4x9k2m7pq3 login.holdfast",
    about="export a run into one portable file",
    common=True,
)
def export(
    workspace: Workspace,
    run: Annotated[str, argument(kind=Kind.RUN)],
    file: Annotated[str | os.PathLike[str], argument(metavar="FILE", kind=Kind.FILE)],
    *,
    raw: Annotated[bool, option(help="Redact nothing.")] = False,
    without_code: Annotated[bool, option(help="Leave checkpoints out: code cannot be redacted.")] = False,
    transcripts: Annotated[bool, option(help="The agent's own transcripts too.")] = False,
) -> RunExported:
    """Export a run into one portable file, without the secrets that are recognised.

    The code of its checkpoints is exported unchanged, uncommitted files too.
    """
    path = Path(file).absolute()
    with workspace.reading() as journal:
        found = select.find_by_name(workspace, journal, run)
        has_code = not without_code and any(journal.list_checkpoints(run=found.id, limit=1))
    with shadow_of(workspace) if has_code else nullcontext() as shadow, workspace.reading() as journal:
        found = journal.get_run(found.id)
        last = tombstones.Exported(found.seq, _last_event(journal, found), found.id)
        made = list(journal.list_checkpoints(run=found.id))[::-1]
        cleaner = _Cleaner(workspace.redactor, raw)
        result = RunExported(found.id, path_text(path), "", found.seq, 0, len(made), 0, [], raw, {})
        with bundle.written(path) as parts:
            parts.add("events", lambda: _event_lines(workspace, journal, found, cleaner.restart()))
            parts.add("state", lambda: [encode(cleaner.without_counting(msgspec.to_builtins(found)))])
            form = None
            if shadow is not None and made:
                form = shadow.git.form.name
                _add_code(workspace, parts, shadow, made, cleaner)
                result.checkpoints, result.left_out = len(made), 0
            if transcripts:
                _add_transcripts(workspace, parts, journal.list_sessions(found.id), cleaner, result)
            result.redacted = dict(cleaner.counts)
            manifest = Manifest(
                found.id, workspace.clock.now(), f"holdfast {holdfast.__version__}", found.seq, fold.VERSION,
                not raw, result.redacted, form, result.checkpoints,
            )  # fmt: skip
            result.sha256 = parts.seal(manifest)
    if not result.redacted and not result.left_out:  # else the file is incomplete
        tombstones.note_exported(workspace.here, last)
    return result


def _last_event(journal: Journal, run: Run) -> str:
    return "".join(row.id.hex() for row in journal.view.events(run.id, newest=1))


class _Cleaner:
    """Redaction of one value after another, with a count of the secrets."""

    def __init__(self, redactor: Redactor, raw: bool) -> None:
        self.redactor = redactor
        self.raw = raw
        self.counts: Counts = Counter()

    def restart(self) -> Clean:
        """Reset the counts: the same events are written once more."""
        self.counts.clear()
        return self.clean

    def clean(self, value: Body) -> Body:
        if self.raw:
            return value
        clean: Body
        clean, counts = self.redactor.clean(value)  # safeguard: hide-export
        self.counts += counts
        return clean

    def without_counting(self, value: Body) -> Body:
        """Redact a value that repeats what was counted before."""
        clean: Body = value if self.raw else self.redactor.clean(value)[0]
        return clean


def _event_lines(workspace: Workspace, journal: Journal, run: Run, clean: Clean) -> Iterator[bytes]:
    forgotten = set(run.forgotten)
    for event in journal.events(run.id, until=run.seq):
        body = {} if event.seq in forgotten else clean(event.body)
        yield encode(_record(event, body)) + b"\n"
        if event.seq % 1000 == 0 or event.seq == run.seq:
            workspace.progress("exporting events", event.seq, run.seq)


def _record(event: Event, body: Body) -> Body:
    return {
        "seq": event.seq,
        "id": event.id,
        "kind": event.kind,
        "time": micros(event.time),
        "session": event.session,
        "agent": event.agent,
        "body": body,
    }


def _add_code(workspace: Workspace, parts: Outgoing, shadow: Shadow, made: list[Checkpoint], cleaner: _Cleaner) -> None:
    parts.add("checkpoints", lambda: (encode(cleaner.clean(record_of(one))) + b"\n" for one in made))
    roots = {id for one in made for id in (one.tree, one.beside, one.staged) if id}
    there = kinds(shadow, roots)
    if roots - there.keys():
        raise _lost(min(roots - there.keys()))
    named = list(dict.fromkeys(reached(shadow, there)))
    kind_of = kinds(shadow, named)
    parts.add_plain("objects", format_pack(_objects(workspace, shadow, named, kind_of), len(named), shadow.git.form))


def _objects(
    workspace: Workspace, shadow: Shadow, named: list[str], kind_of: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    for number, (id, data) in enumerate(zip(named, shadow.reader.read_many(named), strict=True), 1):
        if data is None or id not in kind_of:
            raise _lost(id)
        yield kind_of[id], data
        if number % 1000 == 0 or number == len(named):
            workspace.progress("exporting code", number, len(named))


def _lost(id: str) -> Damaged:
    return Damaged(
        "An object of a checkpoint is missing",
        [("object", id)],
        ["`holdfast verify --deep` names the checkpoints", "`holdfast export --without-code` leaves them out"],
    )


def _add_transcripts(
    workspace: Workspace, parts: Outgoing, sessions: Iterable[Session], cleaner: _Cleaner, result: RunExported
) -> None:
    """Add the agents' own transcripts of the run's conversations."""
    setup = setup_of(workspace)
    for session in {session.agent_session or session.transcript: session for session in sessions}.values():
        agent = find_agent(session.agent)
        for name, place in agent.transcripts_of(setup, session):
            path = Path(real_path(place))
            part = f"transcripts/{ids.file_name(name)}{jsonl.ENDING}"
            try:
                if result.transcripts == MOST_TRANSCRIPTS or any(part == known.name for known in parts.parts):
                    raise Refused("There are too many transcripts, or two of one name", [("path", path_text(path))])
                _check_transcript(workspace, agent, path)
                parts.add(part, functools.partial(jsonl.copied, path, cleaner.clean))
                result.transcripts += 1
            except HoldfastError:
                result.skipped.append(path_text(place))


def _check_transcript(workspace: Workspace, agent: Agent, path: Path) -> None:
    if not agent.owns_transcript(setup_of(workspace), path):  # safeguard: foreign-transcript
        raise Refused("This file is not the agent's own", [("path", path_text(path))])
    head = agent.read_head(path)
    # safeguard: foreign-conversation
    if head is None or worktree_of(workspace, head.directory, is_named=False) is None:
        raise Refused("This is not a conversation of this project", [("path", path_text(path))])
    with open_regular(path) as file:
        if os.fstat(file).st_size > MOST_TRANSCRIPT:
            raise Refused("This transcript is too large", [("path", path_text(path))])
