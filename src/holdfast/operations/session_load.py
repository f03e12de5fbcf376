"""A session's two ends, by the names that FABER gave them: load what it needs, save what it did.

In a FABER run they are what its documents say. For a run of our own, loading is the brief and saving is `save`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from holdfast.core.brief import Brief
from holdfast.core.errors import Ambiguous, NotFound, WorkflowError, WrongUsage
from holdfast.core.model import Run
from holdfast.core.text import one_line
from holdfast.layouts.faber import NAME as LAYOUT, schema
from holdfast.layouts.faber.files import own_client
from holdfast.layouts.faber.find_run import ENDED, faber_id
from holdfast.layouts.faber.reconcile import HOME, journal_id
from holdfast.layouts.faber.screens import Reloaded, SessionSaved
from holdfast.layouts.faber.session_load import Request, load_context
from holdfast.layouts.faber.session_save import save_session
from holdfast.operations.brief import brief
from holdfast.operations.verb import verb
from holdfast.project.checkpoints.save import Saved, save_run
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

TRIGGER = re.compile(r"session_start|manual|phase_start|phase_transition:[a-z_-]+->[a-z_-]+|compaction_detected")
REASONS = ("compaction", "normal", "manual")


@verb
def session_load(
    workspace: Workspace,
    *,
    run: str | None = None,
    trigger: str = "manual",
    artifacts: tuple[str, ...] = (),
    force: bool = False,
    dry_run: bool = False,
    budget: int | None = None,
) -> Brief | Reloaded:
    """What a session needs to go on with a run."""
    if not TRIGGER.fullmatch(trigger):
        facts = [("trigger", one_line(trigger, 80))]
        raise WrongUsage("There is no such trigger", facts, ["`--trigger phase_transition:architect->build`"])
    found = _find_faber(workspace, run)
    if found is None and _has_own(workspace, run):
        return brief(workspace, run=run, budget=budget)
    most = budget or workspace.settings.whole("load.budget")
    asked = Request(_named(workspace, found, run), trigger, artifacts, force, dry_run, most)
    with _usable_hints(workspace):
        return load_context(workspace, asked, own_client(workspace))


@verb
def session_save(workspace: Workspace, *, run: str | None = None, reason: str = "manual") -> Saved | SessionSaved:
    """Keep what a session did."""
    if reason not in REASONS:
        raise WrongUsage(
            "There is no such reason", [("reason", one_line(reason, 80))], [f"one of {', '.join(REASONS)}"]
        )
    found = _find_faber(workspace, run)
    if found is None and _has_own(workspace, run):
        return save_run(workspace, run)
    with _usable_hints(workspace):
        return save_session(workspace, own_client(workspace), run=_named(workspace, found, run), reason=reason)


@contextlib.contextmanager
def _usable_hints(workspace: Workspace) -> Iterator[None]:
    """Where there is no run to list, no error advises to list them: that command would fail."""
    try:
        yield
    except WorkflowError as error:
        if not workspace.exists and not schema.list_states(workspace.root):
            error.hints = [hint for hint in error.hints if "`holdfast runs" not in hint]
        raise


def _find_faber(workspace: Workspace, run: str | None) -> str | None:
    """The FABER run that is meant, if it is clear that one is."""
    named = workspace.environ.get("HOLDFAST_RUN") or None if run is None else run
    if named is None:
        active = schema.find_active(workspace.root).run
        return None if active is not None and _gives_way(workspace, active) else active
    if _is_state(workspace, named):
        return named
    meant = _known(workspace, named)
    return faber_id(workspace, meant) if meant and meant.layout == LAYOUT else None


def _named(workspace: Workspace, found: str | None, run: str | None) -> str | None:
    """The run that somebody named. The active file's is left to be found there, with what is wrong with that file."""
    named = run if run is not None else workspace.environ.get("HOLDFAST_RUN") or None
    return found or named if named is not None else None


def _is_state(workspace: Workspace, run: str) -> bool:
    try:
        return schema.find_state(workspace.root, run) is not None
    except WorkflowError:
        return False


def _gives_way(workspace: Workspace, active: str) -> bool:
    """Whether an active-run file means a run that has ended, while one of our own is open here."""
    if not workspace.exists:
        return False
    with workspace.reading() as journal:
        known = journal.find_run(journal_id(active))
    current = _known(workspace, None)
    is_over = known is not None and known.owned is not None and known.owned.status in ENDED
    return is_over and current is not None and current.layout != LAYOUT and current.status.is_open


def _known(workspace: Workspace, run: str | None) -> Run | None:
    """The run of the journal that is meant, if there is one."""
    if not workspace.exists:
        return None
    with workspace.reading() as journal:
        try:
            return select.get_run(workspace, journal, run)
        except (NotFound, Ambiguous):
            return None


def _has_own(workspace: Workspace, run: str | None) -> bool:
    """Whether a run of our own is meant; a project without FABER has no other."""
    meant = _known(workspace, run)
    if meant is None:
        return run is not None and not (workspace.root / HOME).is_dir()
    return meant.layout != LAYOUT
