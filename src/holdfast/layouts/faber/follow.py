"""Session hooks for FABER: load when a conversation begins, save before it is compacted and when it ends.

They apply to the run of the active-run file while it is open: a state that was committed long ago must not be loaded
into every conversation. Beside FABER's own hooks they do nothing: two writers would close each other's records. No
failure reaches the agent.
"""

from __future__ import annotations

from datetime import datetime

from holdfast.agents.protocol import Moment, Reading, setup_of
from holdfast.core.errors import HoldfastError, WorkflowError
from holdfast.core.text import one_line, visible
from holdfast.core.untrusted_text import enclose
from holdfast.layouts.faber import schema, screens
from holdfast.layouts.faber.client_hooks import find_client_hooks, told as told_of_hooks
from holdfast.layouts.faber.files import ENDED, Client
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.layouts.faber.sessions import close_session, load_context
from holdfast.layouts.results import LoadRequest
from holdfast.project import inbox_writer
from holdfast.project.inbox import Call
from holdfast.project.sessions import live_sessions
from holdfast.project.workspace import Workspace

PATIENCE = 2.0  # seconds to lock the state file
ROOM = 8_500  # characters of the reply
ARTIFACTS = 6_500  # bytes of artifacts in it, with their fences: every loaded one must fit
FENCE = screens.TITLE + 20


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
        return enclose(
            workspace.hide("\n".join(screens.told_error(error))), workspace.chance
        )  # safeguard: hide-workflow-error
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


def _told(found: screens.Reloaded, now: datetime) -> str:
    """The screens.report and the artifacts, cut to the length of a hook's reply."""
    text = visible(
        "\n".join([*screens.report(found), *(["", *screens.told_warnings(found.warnings)] if found.warnings else [])])
    )
    text = text[: ROOM - ARTIFACTS]
    for artifact in sorted(screens.told_artifacts(found), key=lambda artifact: artifact.outcome != screens.LOADED):
        fence = f"\n\n{screens.fenced(artifact, now)}"
        if artifact.outcome == screens.LOADED or len(text) + len(fence) <= ROOM:
            text += fence
    if any(artifact.outcome == screens.LEFT_OUT for artifact in found.artifacts):
        text += "\n\nNot everything had room here: `holdfast session-load --force` prints all."
    return text


def _client(call: Call, reading: Reading) -> Client:
    return Client(
        one_line(reading.conversation or "", 200) or None, reading.begins, call.directory, PATIENCE, by_hook=True
    )
