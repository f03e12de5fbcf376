"""Loading and saving a session of a FABER run, by a command or by a hook.

The state file is written last, so that a failure leaves it unchanged. If it was changed meanwhile, it is read again.

A hook acts for the run of the active-run file while it is open: a state that was committed long ago must not be loaded
into every conversation. Beside FABER's own hooks it does nothing: two writers would close each other's records. No
failure reaches the agent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

from holdfast.agents.protocol import Moment, Reading, setup_of
from holdfast.core.errors import Ambiguous, HoldfastError, NotFound, WorkflowError
from holdfast.core.model import Draft, Run
from holdfast.core.text import one_line, path_text, visible
from holdfast.core.untrusted_text import enclose
from holdfast.layouts.faber import NAME, artifact_rules, files, schema, screens
from holdfast.layouts.faber.artifact_loader import Loader
from holdfast.layouts.faber.artifact_rules import Asked, Choice
from holdfast.layouts.faber.client_hooks import find_client_hooks, told as told_of_hooks
from holdfast.layouts.faber.files import ENDED, Client, Target, find_active, own_id, turned_back, until_written
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.layouts.faber.screens import LOADED, ArtifactReport, Reloaded, SessionSaved
from holdfast.layouts.faber.session_records import Book, Entered, Left, State
from holdfast.layouts.faber.workflows import find_workflow, plugin_of
from holdfast.layouts.memory import relative
from holdfast.layouts.results import LoadRequest, SessionReport, told_error, told_warnings
from holdfast.project import inbox_writer
from holdfast.project.briefs import without_secrets
from holdfast.project.inbox import Call
from holdfast.project.runs import select
from holdfast.project.sessions import live_sessions
from holdfast.project.workspace import Workspace

IN_PROGRESS = "in_progress"
PATIENCE = 2.0  # seconds to lock the state file
ROOM = 8_500  # characters of the reply
ARTIFACTS = 6_500  # bytes of artifacts in it, with their fences: every loaded one must fit
FENCE = screens.TITLE + 20


def find_session_run(workspace: Workspace, name: str | None) -> tuple[bool, str | None]:
    """Return whether a FABER run is meant, or none of our own; and its name, if one is given."""
    named = workspace.environ.get("HOLDFAST_RUN") or None if name is None else name
    found = _find_faber(workspace, named)
    meant = _known(workspace, name) if found is None else None
    has_own = meant.layout != NAME if meant else name is not None and not schema.is_used(workspace)
    # The active run stays unnamed, so that its file's problems are reported when it is read.
    return found is not None or not has_own, found or named if named is not None else None


def load_session(workspace: Workspace, request: LoadRequest) -> Reloaded:
    with _usable_hints(workspace):
        return load_context(workspace, request, files.own_client(workspace))


def save_session(workspace: Workspace, run: str | None, reason: str) -> SessionSaved:
    with _usable_hints(workspace):
        return close_session(workspace, files.own_client(workspace), run=run, reason=reason)


@contextlib.contextmanager
def _usable_hints(workspace: Workspace) -> Iterator[None]:
    """Drop the hint to list the runs where there are none: that command would fail."""
    try:
        yield
    except WorkflowError as error:
        if not workspace.exists and not schema.list_states(workspace.root):
            error.hints = [hint for hint in error.hints if "`holdfast runs" not in hint]
        raise


def _find_faber(workspace: Workspace, named: str | None) -> str | None:
    if named is None:
        active = find_active(workspace)
        return None if active is not None and _gives_way(workspace, active) else active
    if schema.find_any(workspace.root, named):
        return named
    meant = _known(workspace, named)
    return own_id(workspace, meant) if meant and meant.layout == NAME else None


def _gives_way(workspace: Workspace, active: str) -> bool:
    if not workspace.exists:
        return False
    with workspace.reading() as journal:
        known = journal.find_run(journal_id(active))
    current = _known(workspace, None)
    is_over = known is not None and known.owned is not None and known.owned.status in ENDED
    return is_over and current is not None and current.layout != NAME and current.status.is_open


def _known(workspace: Workspace, run: str | None) -> Run | None:
    if not workspace.exists:
        return None
    with workspace.reading() as journal:
        try:
            return select.get_run(workspace, journal, run)
        except (NotFound, Ambiguous):
            return None


def load_context(workspace: Workspace, request: LoadRequest, client: Client) -> Reloaded:
    return _Load(workspace, request, client).reload()


class Written(Struct):
    book: Book
    entered: Entered


class _Load:
    """The load of a run's context, with the warnings so far."""

    def __init__(self, workspace: Workspace, request: LoadRequest, client: Client) -> None:
        self.workspace, self.request, self.client = workspace, request, client
        self.target = files.find_for_load(workspace, request.run)
        self.warnings = list(self.target.warnings)
        self.opening = files.make_opening(workspace, self.target, request.trigger, client)

    def reload(self) -> Reloaded:
        choices, definitions = self._choose()
        loader = Loader(self.workspace, self.target, self.warnings, self.request, definitions)
        fetch = loader.look if self.request.dry_run else loader.load
        # Required artifacts take their share of the budget first.
        found = {id(each): fetch(each) for each in sorted(choices, key=lambda each: not each.artifact.required)}
        reports = [found[id(each)] for each in choices]
        written = None if self.request.dry_run else self._write(reports)
        # safeguard: hide-workflow-artifacts
        told = [without_secrets(self.workspace, report) for report in reports]  # a workflow names them as it likes
        return self._result(told, written)

    def _choose(self) -> tuple[list[Choice], tuple[Path, ...]]:
        request, target, name = self.request, self.target, self.target.told.workflow or ""
        workflow = find_workflow(self.workspace.root, plugin_of(self.workspace), name)
        self.warnings += workflow.warnings
        if workflow.artifacts is None:
            self.warnings.append(_defaults_used(self.workspace, name, workflow.tried))
        declared = artifact_rules.read_declared(workflow.artifacts or artifact_rules.DEFAULTS, self.warnings)
        book, now = Book(target.state), self.opening.now
        book.enter(self.opening)
        asked = Asked(request.trigger, request.artifacts, request.force, target.told.phase)
        return artifact_rules.choose(
            declared, target.state, asked, book.fresh_since, now, self.warnings
        ), workflow.files

    def _write(self, reports: list[ArtifactReport]) -> Written | None:
        """Record the loaded artifacts; None if the state file cannot be written."""
        loaded: list[State] = [
            {"id": report.id, "source": report.resolved, "size": report.size}
            for report in reports
            if report.outcome == LOADED
        ]
        if why := _why_not_written(self.workspace, self.target):
            self.warnings.append(why)
            return None

        def write(target: Target) -> Written:
            book = Book(target.state)
            entered = book.enter(self.opening)
            book.loaded(loaded, self.opening)
            ids = [found["id"] for found in loaded]
            body = {"record": entered.id, "trigger": self.opening.trigger, "artifacts": ids}
            done = Draft("context.loaded", body)
            self.warnings += files.put_state(self.workspace, target, book, self.opening, self.client, done)
            return Written(book, entered)

        return until_written(self.workspace, self.target, self.warnings, write)

    def _result(self, reports: list[ArtifactReport], written: Written | None) -> Reloaded:
        target, is_dry, environment = self.target, self.request.dry_run, self.opening.environment
        book = written.book if written else Book(target.state)
        current = one_line(book.current_id or "", 200) if is_dry else ""
        entered = written.entered if written else Entered(current, is_new=False)
        last = book.context.get("last_artifact_reload")
        session = SessionReport(
            **{**structs.asdict(entered), "id": entered.id or None},
            total=len(book.history),
            host=environment["hostname"],
            platform=environment["platform"],
        )
        return Reloaded(
            run=target.run,
            workflow=target.told.workflow or "",
            status=target.told.word or "",
            path=str(target.file.path),
            dry_run=is_dry,
            trigger=self.request.trigger,
            artifacts=reports,
            session=session,
            last_reload=one_line(last, 60) if isinstance(last, str) else None,
            reloads=book.reloads,
            written=written is not None,
            warnings=self.workspace.hide(self.warnings),
        )


def _defaults_used(workspace: Workspace, name: str, tried: list[str]) -> str:
    home = path_text(workspace.root) + "/"
    said = f"The workflow {name} declares no critical artifacts; the defaults are used"
    inside = [path.removeprefix(home) for path in tried if path.startswith(home)]
    outside = [path for path in tried if not path.startswith(home)]
    return said + "".join(f"\nLooked for: {', '.join(paths)}" for paths in (inside, outside) if paths)


def _why_not_written(workspace: Workspace, target: Target) -> str:
    if found := turned_back(workspace, target):
        return f"{found[0]}\n{'; '.join(found[1])}"
    if target.file.flaws:
        return f"{relative(workspace, target.file.path)} is not written: {'; '.join(target.file.flaws)}"
    return ""


def close_session(
    workspace: Workspace, client: Client, *, run: str | None = None, reason: str = "manual", raw: str | None = None
) -> SessionSaved:
    """Close the open session of a FABER run; one of another host or worktree is closed as interrupted."""
    target = files.find_for_save(workspace, run, client.id)
    if target is None:
        return SessionSaved(None, changed=False, why="no workflow", reason=reason)
    warnings = list(target.warnings)

    def write(target: Target) -> tuple[Target, Left]:
        opening = files.make_opening(workspace, target, "save", client)
        book = Book(target.state)
        left = book.leave(opening, reason, raw)
        if left.reason is not None:
            if found := turned_back(workspace, target):
                raise WorkflowError(found[0], [("Run ID", target.run)], found[1])
            done = Draft("context.saved", {"record": left.id, "reason": left.reason, "raw": raw})
            warnings.extend(files.put_state(workspace, target, book, opening, client, done))
        return target, left

    target, left = until_written(workspace, target, warnings, write)
    return SessionSaved(
        run=target.run,
        changed=left.reason is not None,
        why=left.why,
        session=left.id,
        reason=left.reason or reason,
        origin=left.origin,
        seconds=left.seconds,
        ended=left.ended_text,
        phases=left.phases,
        in_progress=[name for name, status in target.told.phases if status == IN_PROGRESS] if not left.why else [],
        artifacts=left.artifacts,
        path=str(target.file.path),
        warnings=warnings,
    )


def begin_session(workspace: Workspace, call: Call, reading: Reading) -> str | None:
    """Load the context of the active run for a conversation that begins."""
    run = _active(workspace)
    if run is None:
        return None
    if others := find_client_hooks(setup_of(workspace)):
        by_hand = "`holdfast session-load` loads the run's context by hand"
        return enclose(workspace.hide(f"{told_of_hooks(others)}. {by_hand}."), workspace.chance)
    client = _client(call, reading)
    if other := _other(workspace, run, client):
        told = f"FABER's run {run} is active here, and {other} works on it: its context was not loaded."
        return enclose(told, workspace.chance)
    try:
        asked = LoadRequest(run, "session_start", budget=ARTIFACTS, each=FENCE, runs=False)
        found = load_context(workspace, asked, client)
    except HoldfastError as error:
        _note_failure(workspace, call, "session-load", error)
        return enclose(workspace.hide("\n".join(told_error(error))), workspace.chance)  # safeguard: hide-workflow-error
    return enclose(_told(found, workspace.clock.now()), workspace.chance)


def end_session(workspace: Workspace, call: Call, reading: Reading) -> None:
    """Save the session before its conversation is compacted, and when it ends."""
    run = schema.find_active(workspace.root).run
    if run is None or schema.find_state(workspace.root, run) is None or find_client_hooks(setup_of(workspace)):
        return
    raw = one_line(reading.ends, 60) if reading.ends else None
    reason = "normal" if reading.moment is Moment.END else "compaction"
    try:
        close_session(workspace, _client(call, reading), run=run, reason=reason, raw=raw)
    except HoldfastError as error:
        _note_failure(workspace, call, "session-save", error)


def _note_failure(workspace: Workspace, call: Call, verb: str, error: HoldfastError) -> None:
    """Leave a line for `holdfast status`: the user may not see the reply to the model."""
    thing = f": {one_line(str(error.facts[0][1]), 60)}" if error.facts else ""
    why = WorkflowError(workspace.hide(error.message + thing))
    inbox_writer.note_trouble(str(workspace.place), call.agent, verb, why)


def _active(workspace: Workspace) -> str | None:
    run = schema.find_active(workspace.root).run
    if run is None:
        return None
    with workspace.reading() as journal:
        known = journal.find_run(journal_id(run))
    return None if known is not None and known.owned is not None and known.owned.status in ENDED else run


def _other(workspace: Workspace, run: str, client: Client) -> str | None:
    with workspace.reading() as journal:
        others = [found for found in live_sessions(journal, journal_id(run)) if found.agent_session != client.id]
    if not others:
        return None
    process = others[0].process
    return f"another session ({others[0].id}{f', process {process.pid}' if process else ''})"


def _told(found: Reloaded, now: datetime) -> str:
    """The report and the artifacts, cut to the length of a hook's reply."""
    warnings = ["", *told_warnings(found.warnings)] if found.warnings else []
    text = visible("\n".join([*screens.report(found), *warnings]))[: ROOM - ARTIFACTS]
    for artifact in sorted(screens.told_artifacts(found), key=lambda artifact: artifact.outcome != LOADED):
        fence = f"\n\n{screens.fenced(artifact, now)}"
        if artifact.outcome == LOADED or len(text) + len(fence) <= ROOM:
            text += fence
    if any(artifact.outcome == screens.LEFT_OUT for artifact in found.artifacts):
        text += "\n\nNot everything had room here: `holdfast session-load --force` prints all."
    return text


def _client(call: Call, reading: Reading) -> Client:
    return Client(
        one_line(reading.conversation or "", 200) or None, reading.begins, call.directory, PATIENCE, by_hook=True
    )
