"""Loading and saving a session of a FABER run: which run is meant, and what its documents ask for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from holdfast.core.errors import Ambiguous, NotFound, WorkflowError
from holdfast.core.model import Run
from holdfast.layouts.faber import NAME, schema, session_save
from holdfast.layouts.faber.files import own_client
from holdfast.layouts.faber.find_run import ENDED, find_active, own_id
from holdfast.layouts.faber.presence import is_present
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.layouts.faber.screens import Reloaded, SessionSaved
from holdfast.layouts.faber.session_load import Request, load_context
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace


def find_session_run(workspace: Workspace, name: str | None) -> tuple[bool, str | None]:
    """Whether a run of FABER's is meant, or none of our own is; and its name, where one is named."""
    found = _find_faber(workspace, name)
    return found is not None or not _has_own(workspace, name), _named(workspace, found, name)


def load_session(
    workspace: Workspace,
    run: str | None,
    *,
    trigger: str,
    artifacts: tuple[str, ...],
    force: bool,
    dry_run: bool,
    budget: int,
) -> Reloaded:
    asked = Request(run, trigger, artifacts, force, dry_run, budget)
    with _usable_hints(workspace):
        return load_context(workspace, asked, own_client(workspace))


def save_session(workspace: Workspace, run: str | None, reason: str) -> SessionSaved:
    with _usable_hints(workspace):
        return session_save.save_session(workspace, own_client(workspace), run=run, reason=reason)


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
        active = find_active(workspace)
        return None if active is not None and _gives_way(workspace, active) else active
    if _is_state(workspace, named):
        return named
    meant = _known(workspace, named)
    return own_id(workspace, meant) if meant and meant.layout == NAME else None


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
    return is_over and current is not None and current.layout != NAME and current.status.is_open


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
        return run is not None and not is_present(workspace)
    return meant.layout != NAME
