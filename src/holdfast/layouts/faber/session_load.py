"""Loading a FABER run's context: open or go on with a session, choose artifacts, load them, write down what was loaded.

The state file is written last. Whatever fails before leaves it as it was, and a state that was changed meanwhile is
read once more, so that nobody's change is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from holdfast.core.model import Draft
from holdfast.core.text import one_line, path_text
from holdfast.layouts.faber import artifact_rules
from holdfast.layouts.faber.artifact_loader import Fetching
from holdfast.layouts.faber.artifact_rules import Asked, Choice
from holdfast.layouts.faber.files import ATTEMPTS, Client, make_opening, put_state, read_again, turned_back
from holdfast.layouts.faber.find_run import Target, find_for_load, lost_records, shown
from holdfast.layouts.faber.screens import LOADED, ArtifactReport, Reloaded
from holdfast.layouts.faber.session_records import Book, Entered, Opening, State
from holdfast.layouts.faber.workflows import find_workflow, plugin_root
from holdfast.layouts.json_file import Changed
from holdfast.layouts.session_reports import SessionReport
from holdfast.project.briefs import without_secrets
from holdfast.project.workspace import Workspace


class Request(Struct, frozen=True):
    """What a load is asked for."""

    run: str | None = None
    trigger: str = "manual"
    artifacts: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False
    budget: int = 400_000  # bytes of all artifacts
    each: int = 0  # bytes that one costs beside its text
    runs: bool = True  # whether commands are run that the user has allowed


def load_context(workspace: Workspace, request: Request, client: Client) -> Reloaded:
    """Load what a session of a FABER run needs."""
    target = find_for_load(workspace, request.run)
    warnings = list(target.warnings)
    opening = make_opening(workspace, target, request.trigger, client)
    asked = Asked(request.trigger, request.artifacts, request.force, target.told.phase)
    choices, definitions = _choose(workspace, target, asked, opening, warnings)
    fetching = Fetching(workspace, target, warnings, request.each, definitions, request.runs)
    fetch = fetching.look if request.dry_run else fetching.load
    reports = _fetch_all(fetch, choices, request.budget)
    written = None if request.dry_run else _write(workspace, target, opening, reports, client, warnings)
    # safeguard: hide-workflow-artifacts
    told = [without_secrets(workspace, report) for report in reports]  # a workflow names them as it likes
    return _result(target, request, opening, told, written, workspace.hide(warnings))


def _fetch_all(
    fetch: Callable[[Choice, int], ArtifactReport], choices: list[Choice], budget: int
) -> list[ArtifactReport]:
    """All of them in their order; room is given to those first that are required."""
    reports = {
        choice.artifact.id: fetch(choice, budget)
        for choice in sorted(choices, key=lambda choice: not choice.artifact.required)
    }
    return [reports[choice.artifact.id] for choice in choices]


def _choose(
    workspace: Workspace, target: Target, asked: Asked, opening: Opening, warnings: list[str]
) -> tuple[list[Choice], tuple[Path, ...]]:
    """Which artifacts are loaded, and the files of the workflow that declares them."""
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
    """That a workflow says nothing about artifacts, with the files that were looked for: those of a place on a line."""
    home = path_text(workspace.root) + "/"
    said = f"The workflow {name} declares no critical artifacts; the defaults are used"
    inside = [path.removeprefix(home) for path in tried if path.startswith(home)]
    outside = [path for path in tried if not path.startswith(home)]
    return said + "".join(f"\nLooked for: {', '.join(paths)}" for paths in (inside, outside) if paths)


class Written(Struct):
    """What a load wrote into the state file."""

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
    """Write what was loaded; None where the state file must stay as it is."""
    loaded: list[State] = [
        {"id": report.id, "source": report.resolved, "size": report.size}
        for report in reports
        if report.outcome == LOADED
    ]
    if why := _why_not_written(workspace, target):
        warnings.append(why)
        return None
    for attempt in range(ATTEMPTS):
        book = Book(target.state)
        entered = book.enter(opening)
        book.loaded(loaded, opening)
        try:
            body = {"record": entered.id, "trigger": opening.trigger, "artifacts": [found["id"] for found in loaded]}
            warnings += put_state(workspace, target, book, opening, client, Draft("context.loaded", body))
            return Written(book, entered)
        except Changed:
            if attempt == ATTEMPTS - 1:
                raise
            target = read_again(workspace, target, warnings)
    raise AssertionError("a loop that ends by itself")


def _why_not_written(workspace: Workspace, target: Target) -> str:
    if lost := lost_records(workspace, target):
        return turned_back(workspace, target, lost)
    if target.face.flaws:
        return f"{shown(workspace, target.face.path)} is not written: {'; '.join(target.face.flaws)}"
    return ""


def _result(
    target: Target,
    request: Request,
    opening: Opening,
    reports: list[ArtifactReport],
    written: Written | None,
    warnings: list[str],
) -> Reloaded:
    book = written.book if written else Book(target.state)
    entered = written.entered if written else None
    last = book.context.get("last_artifact_reload")
    current = one_line(book.current_id or "", 200) if request.dry_run else ""
    session = SessionReport(
        entered.id if entered else current or None,
        len(book.history),
        entered.is_new if entered else False,
        entered.closed if entered else None,
        entered.closed_because if entered else None,
        opening.environment["hostname"],
        opening.environment["platform"],
    )
    return Reloaded(
        run=target.run,
        workflow=target.told.workflow or "",
        status=target.told.word or "",
        path=str(target.face.path),
        dry_run=request.dry_run,
        trigger=request.trigger,
        artifacts=reports,
        session=session,
        last_reload=one_line(last, 60) if isinstance(last, str) else None,
        reloads=book.reloads,
        written=written is not None,
        warnings=warnings,
    )
