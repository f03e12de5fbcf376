"""Names of a run that is purged, in what is remembered for the next command."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import holdfast
from holdfast.core.errors import NotFound
from holdfast.project import context_windows
from holdfast.project.context_windows import Gauge
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from tests.canaries import hits
from tests.ingest.test_routing import a_client, prompt, sessions
from tests.sessions import run_of, with_environ
from tests.worktrees import put

pytestmark = pytest.mark.promise(27)

CONVERSATION = "conversation-of-" + "somebody-" * 8  # longer than a list keeps of it


def test_nothing_that_is_remembered_for_the_next_command_names_a_purged_run(project: Workspace) -> None:
    """The gauge of the status line kept its conversation, and the last list its id."""
    with a_client() as client:
        prompt(project, CONVERSATION, client, "do it")
    run = run_of(project, sessions(project, CONVERSATION)[0].run)
    other = holdfast.start(project, "another").run.id
    put(project.root, {"a.txt": "one\n"})
    made = holdfast.checkpoint(project, run=run.id).checkpoint
    context_windows.keep(project.place, CONVERSATION, Gauge(200_000, 500))
    context_windows.keep(project.place, "another", Gauge(200_000, 600))
    with with_environ(project, CLAUDE_CODE_SESSION_ID=CONVERSATION) as inside:
        holdfast.runs(inside)
    with holdfast.open(project.root) as before:
        shown = [found.id for found in holdfast.runs(before).runs]
        (session,) = (found.id for found in holdfast.sessions(before, run=run.id).sessions)
        holdfast.checkpoints(before)
    names = (run.id, made.id, session, CONVERSATION[:60])
    assert all(hits(project.place, name) for name in names)
    holdfast.delete(project, run.id, purge=True)
    assert remembered(project, made.id) == [], "the ledger keeps its name and number"
    assert [found for name in (run.id, session, CONVERSATION[:60]) for found in hits(project.place, name)] == []
    assert context_windows.find(project.place, "another").tokens == 600
    with holdfast.open(project.root) as after, after.reading() as journal:
        row = str(shown.index(other) + 1)
        assert select.find_by_name(after, journal, row).id == other, "the other row means what it meant"
        with pytest.raises(NotFound):
            select.find_by_name(after, journal, str(shown.index(run.id) + 1))


def remembered(project: Workspace, name: str) -> list[str]:
    return [found for found in hits(project.place, name) if found.startswith((context_windows.NAME, select.LISTED))]


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: b"\0" + data], ids=["torn", "no JSON"])
def test_what_cannot_be_read_is_not_left_with_the_names_in_it(
    project: Workspace, spoil: Callable[[bytes], bytes]
) -> None:
    run = holdfast.start(project, "goal").run.id
    for name, value in ((context_windows.NAME, {run: {}}), (select.LISTED, {"1 run": [run]})):
        (project.place / name).write_bytes(spoil(json.dumps(value).encode()))
    holdfast.delete(project, run, purge=True)
    assert remembered(project, run) == []
