"""Reports of a run: Markdown, a picture, what a session changed, what sessions have used."""

from __future__ import annotations

import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, Trouble, WrongUsage
from holdfast.core.model import Run
from holdfast.operations.show import SessionShown
from holdfast.project.workspace import Workspace
from tests.ingest.test_context_usage import Client
from tests.sessions import store_raw
from tests.tools import Command


@pytest.fixture
def run(project: Workspace) -> Run:
    return holdfast.start(project, "Add retries").run


def test_a_report_is_made_of_the_run_its_sessions_and_its_checkpoints(project: Workspace, run: Run) -> None:
    session = holdfast.join(project, agent="robot").session
    holdfast.decide(project, "Use backoff", because="load")
    made = holdfast.checkpoint(project, "before").checkpoint
    found = holdfast.report(project)
    assert found.run == run.id
    for text in ("# Add retries", "**Use backoff**, because load", f"`{session.id}` | robot", f"`{made.id}`"):
        assert text in found.markdown


@pytest.mark.defect("`show` and the report of a run listed failed and refused tool calls among those that were done")
def test_a_tool_call_that_failed_is_told_as_failed(project: Workspace, run: Run) -> None:
    for text, error in (("Bash: ls", None), ("Bash: make", "Exit code 2")):
        store_raw(project, run.id, "action.taken", {"text": text, "error": error})
    done, failed = holdfast.report(project).markdown.split("## Errors met")
    assert ("Bash: ls" in done, "Bash: make" in done, "Bash: make: Exit code 2" in failed) == (True, False, True)
    told = Command.run("show", directory=project.root).ok().out.splitlines()
    assert [line for line in told if line.startswith("action")] == [
        "action     Bash: ls",
        "action     Bash: make failed: Exit code 2",
    ]
    assert "Last action: Bash: make failed: Exit code 2" in str(holdfast.command(project, "*session-info"))


def test_a_report_can_be_about_any_run(project: Workspace, run: Run) -> None:
    holdfast.start(project, "Another goal")
    assert "# Add retries" in holdfast.report(project, run.id).markdown
    with pytest.raises(NotFound):
        holdfast.report(project, "nowhere")


def test_a_picture_is_written_into_the_file_that_is_named(project: Workspace, run: Run, tmp_path: Path) -> None:
    holdfast.join(project, agent="robot")
    file = tmp_path / "run.svg"
    found = holdfast.picture(project, file=str(file))
    assert (found.run, found.path) == (run.id, str(file))
    assert file.read_text() == found.svg
    assert tree.fromstring(found.svg).tag.endswith("svg")
    assert file.stat().st_mode & 0o777 == 0o644
    assert holdfast.picture(project).path is None


def test_a_picture_does_not_follow_a_link_and_says_what_is_in_the_way(
    project: Workspace, run: Run, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    link = tmp_path / "link.svg"
    link.symlink_to(precious)
    for place in (link, tmp_path):
        with pytest.raises(Refused, match="something other than a file"):
            holdfast.picture(project, file=str(place))
    with pytest.raises(Trouble):
        holdfast.picture(project, file=str(tmp_path / "no" / "such" / "place.svg"))
    assert precious.read_text() == "keep me"


def test_a_picture_replaces_an_earlier_one_and_nothing_else(project: Workspace, run: Run, tmp_path: Path) -> None:
    drawn, empty = tmp_path / "run.svg", tmp_path / "empty.svg"
    holdfast.picture(project, file=str(drawn))
    holdfast.decide(project, "Use backoff")
    empty.touch()
    for place in (drawn, empty):
        before = place.read_text()
        assert before != holdfast.picture(project, file=str(place)).svg == place.read_text()
    for text in ("price = 1\n", '<svg xmlns="http://www.w3.org/2000/svg"><desc>Timeline of a logo</desc></svg>\n'):
        precious = tmp_path / "precious"
        precious.write_text(text)
        with pytest.raises(Refused, match="something other than a timeline"):
            holdfast.picture(project, file=str(precious))
        assert precious.read_text() == text


def test_a_directory_that_is_not_there_is_told_by_the_name_that_was_asked_for(
    project: Workspace, run: Run, tmp_path: Path
) -> None:
    path = str(tmp_path / "nowhere" / "x.svg")
    for write in (lambda: holdfast.picture(project, run.id, path), lambda: holdfast.export(project, run.id, path)):
        with pytest.raises(Trouble) as caught:
            write()
        assert caught.value.facts[0] == ("path", path)


def test_a_forgotten_event_is_in_no_picture(project: Workspace, run: Run) -> None:
    holdfast.decide(project, "a secret decision")
    seq = holdfast.log(project).events[-1].seq
    holdfast.forget(project, str(seq))
    assert "secret" not in holdfast.picture(project).svg
    assert "secret" not in holdfast.report(project).markdown


# what a session changed


def shown(project: Workspace, session: str) -> SessionShown:
    found = holdfast.show(project, session, diff=True)
    assert isinstance(found, SessionShown)
    return found


def test_a_session_changed_what_lies_between_the_checkpoints_around_it(project: Workspace, run: Run) -> None:
    file = project.root / "a.txt"
    file.write_text("before\n")
    first = holdfast.checkpoint(project).checkpoint
    session = holdfast.join(project).session
    file.write_text("half\n")
    holdfast.checkpoint(project)
    file.write_text("after\n")
    holdfast.leave(project, session.id)
    last = holdfast.checkpoint(project).checkpoint
    file.write_text("much later\n")
    holdfast.checkpoint(project)
    found = shown(project, session.id)
    assert (found.before, found.after) == (first.id, last.id)
    assert found.code is not None
    assert found.code.splitlines()[-2:] == ["-before", "+after"]


def test_while_a_session_is_open_its_last_checkpoint_counts(project: Workspace, run: Run) -> None:
    file = project.root / "a.txt"
    file.write_text("before\n")
    holdfast.checkpoint(project)
    session = holdfast.join(project).session
    file.write_text("half\n")
    inside = holdfast.checkpoint(project).checkpoint
    found = shown(project, session.id)
    assert found.after == inside.id
    assert (found.code or "").endswith("-before\n+half\n")


def test_where_no_two_checkpoints_lie_around_a_session_nothing_is_guessed(project: Workspace, run: Run) -> None:
    session = holdfast.join(project).session
    for _ in range(2):
        with pytest.raises(NotFound, match="changes of this session are unknown"):
            holdfast.show(project, session.id, diff=True)
        (project.root / "a.txt").write_text("x")
        holdfast.leave(project, session.id)
        holdfast.checkpoint(project)
    with pytest.raises(WrongUsage, match="a checkpoint or a session"):
        holdfast.show(project, run.id, diff=True)


# what sessions have used


@pytest.fixture
def client(project: Workspace, tmp_path: Path) -> Client:
    return Client(project, tmp_path)


def test_a_session_that_ends_tells_what_it_has_used(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 1000)
    client.turn("Again", 2000)
    client.told.add("cost-state", totalCostUSD=0.25)
    client.call("SessionEnd", reason="other")
    (session,) = holdfast.sessions(project, every=True).sessions
    assert (session.tokens_read, session.tokens_written, session.cost) == (3000, 0, 0.25)
    report = holdfast.report(project, session.run)
    assert (report.spent.tokens_read, report.spent.cost, report.spent.told) == (3000, 0.25, 1)
    assert "3,000 tokens read, 0 written, 0.25 US dollars" in report.markdown


def test_a_conversation_that_goes_on_is_not_counted_twice(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 1000)
    client.call("SessionEnd", reason="other")
    holdfast.sweep(project)  # or nobody could tell which part of the transcript was whose
    client.call("SessionStart", source="resume")
    client.turn("Go on", 500)
    client.call("SessionEnd", reason="other")
    sessions = holdfast.sessions(project, every=True).sessions
    assert sorted(session.tokens_read for session in sessions) == [500, 1000]
    holdfast.import_claude(project, str(client.path))
    again = holdfast.sessions(project, every=True).sessions
    assert sum(session.tokens_read for session in again) == 1500


def test_a_transcript_that_is_gone_costs_nothing_but_the_count(project: Workspace, client: Client) -> None:
    client.turn("Fix it", 1000)
    client.call("SessionEnd", reason="other")
    client.path.unlink()
    (session,) = holdfast.sessions(project, every=True).sessions
    assert (session.tokens_read, session.ended is not None) == (0, True)
