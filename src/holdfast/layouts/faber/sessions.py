"""Loading and saving a session of a FABER run.

The state file is written last, so that a failure leaves it unchanged. If it was changed meanwhile, it is read again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import Ambiguous, NotFound, WorkflowError
from holdfast.core.model import Draft, Run
from holdfast.core.text import one_line, path_text
from holdfast.layouts.faber import NAME, artifact_rules, files, schema
from holdfast.layouts.faber.artifact_loader import Loader
from holdfast.layouts.faber.artifact_rules import Asked, Choice
from holdfast.layouts.faber.files import ENDED, Client, Target, find_active, own_id, turned_back, until_written
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.layouts.faber.screens import LOADED, ArtifactReport, Reloaded, SessionSaved
from holdfast.layouts.faber.session_records import Book, Entered, Left, Opening, State
from holdfast.layouts.faber.workflows import find_workflow, plugin_root
from holdfast.layouts.memory import relative
from holdfast.layouts.results import LoadRequest, SessionReport
from holdfast.project.briefs import without_secrets
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

IN_PROGRESS = "in_progress"


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
    target = files.find_for_load(workspace, request.run)
    warnings = list(target.warnings)
    opening = files.make_opening(workspace, target, request.trigger, client)
    asked = Asked(request.trigger, request.artifacts, request.force, target.told.phase)
    choices, definitions = _choose(workspace, target, asked, opening, warnings)
    loader = Loader(workspace, target, warnings, request.each, definitions, request.runs)
    fetch = loader.look if request.dry_run else loader.load
    reports = _fetch_all(fetch, choices, request.budget)
    written = None if request.dry_run else _write(workspace, target, opening, reports, client, warnings)
    # safeguard: hide-workflow-artifacts
    told = [without_secrets(workspace, report) for report in reports]  # a workflow names them as it likes
    return _result(target, request, opening, told, written, workspace.hide(warnings))


def _fetch_all(
    fetch: Callable[[Choice, int], ArtifactReport], choices: list[Choice], budget: int
) -> list[ArtifactReport]:
    """Load all of them; required ones take their share of the budget first."""
    reports = {
        choice.artifact.id: fetch(choice, budget)
        for choice in sorted(choices, key=lambda choice: not choice.artifact.required)
    }
    return [reports[choice.artifact.id] for choice in choices]


def _choose(
    workspace: Workspace, target: Target, asked: Asked, opening: Opening, warnings: list[str]
) -> tuple[list[Choice], tuple[Path, ...]]:
    plugin = plugin_root(workspace.environ, str(workspace.settings.values["faber.plugin_root"].value))
    workflow = find_workflow(workspace.root, plugin, target.told.workflow or "")
    warnings += workflow.warnings
    if workflow.artifacts is None:
        warnings.append(_defaults_used(workspace, target.told.workflow or "", workflow.tried))
    declared = artifact_rules.read_declared(workflow.artifacts or artifact_rules.DEFAULTS, warnings)
    book = Book(target.state)
    book.enter(opening)
    choices = artifact_rules.choose(declared, target.state, asked, book.fresh_since, opening.now, warnings)
    return choices, workflow.files


def _defaults_used(workspace: Workspace, name: str, tried: list[str]) -> str:
    home = path_text(workspace.root) + "/"
    said = f"The workflow {name} declares no critical artifacts; the defaults are used"
    inside = [path.removeprefix(home) for path in tried if path.startswith(home)]
    outside = [path for path in tried if not path.startswith(home)]
    return said + "".join(f"\nLooked for: {', '.join(paths)}" for paths in (inside, outside) if paths)


class Written(Struct):
    book: Book
    entered: Entered


def _write(
    workspace: Workspace,
    target: Target,
    opening: Opening,
    reports: list[ArtifactReport],
    client: Client,
    warnings: list[str],
) -> Written | None:
    """Record the loaded artifacts; None if the state file cannot be written."""
    loaded: list[State] = [
        {"id": report.id, "source": report.resolved, "size": report.size}
        for report in reports
        if report.outcome == LOADED
    ]
    if why := _why_not_written(workspace, target):
        warnings.append(why)
        return None

    def write(target: Target) -> Written:
        book = Book(target.state)
        entered = book.enter(opening)
        book.loaded(loaded, opening)
        body = {"record": entered.id, "trigger": opening.trigger, "artifacts": [found["id"] for found in loaded]}
        warnings.extend(files.put_state(workspace, target, book, opening, client, Draft("context.loaded", body)))
        return Written(book, entered)

    return until_written(workspace, target, warnings, write)


def _why_not_written(workspace: Workspace, target: Target) -> str:
    if found := turned_back(workspace, target):
        return f"{found[0]}\n{'; '.join(found[1])}"
    if target.file.flaws:
        return f"{relative(workspace, target.file.path)} is not written: {'; '.join(target.file.flaws)}"
    return ""


def _result(
    target: Target,
    request: LoadRequest,
    opening: Opening,
    reports: list[ArtifactReport],
    written: Written | None,
    warnings: list[str],
) -> Reloaded:
    book = written.book if written else Book(target.state)
    current = one_line(book.current_id or "", 200) if request.dry_run else ""
    entered = written.entered if written else Entered(current, is_new=False)
    last = book.context.get("last_artifact_reload")
    session = SessionReport(
        entered.id or None,
        len(book.history),
        entered.is_new,
        entered.closed,
        entered.closed_because,
        opening.environment["hostname"],
        opening.environment["platform"],
    )
    return Reloaded(
        run=target.run,
        workflow=target.told.workflow or "",
        status=target.told.word or "",
        path=str(target.file.path),
        dry_run=request.dry_run,
        trigger=request.trigger,
        artifacts=reports,
        session=session,
        last_reload=one_line(last, 60) if isinstance(last, str) else None,
        reloads=book.reloads,
        written=written is not None,
        warnings=warnings,
    )


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
