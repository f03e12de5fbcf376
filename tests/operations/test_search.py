"""Search: single events by their words, the best first, with filters; no text is ever an error."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.model import Draft
from holdfast.operations.search import Searched
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.hostile.words import ACTING
from tests.tools import Command, hook


def sorts(found: Searched) -> list[str]:
    return [hit.kind for hit in found.found]


@pytest.fixture
def told(project: Workspace) -> Workspace:
    """A completed run about lemons, and an open one that says the same word in every sort of event."""
    holdfast.start(project, "Buy lemons")
    holdfast.tag(project, ("fruit",))
    holdfast.complete(project)
    holdfast.start(project, "Squeeze the lemon")
    holdfast.join(project, agent="robot")
    holdfast.prompt(project, "Please squeeze that lemon")
    holdfast.decide(project, "Use a knife", because="the lemon is hard")
    holdfast.note(project, "The lemon is yellow")
    holdfast.add_task(project, "Wash the lemon")
    holdfast.action(project, "Cut it in two", files=("src/lemon.py",))
    holdfast.error(project, "The lemon has rolled away")
    return project


def test_every_sort_of_event_is_found_and_what_matters_more_comes_first(told: Workspace) -> None:
    found = holdfast.search(told, "lemon")
    assert found.ranked
    assert set(sorts(found)) == {"goal", "prompt", "decision", "note", "task", "action", "error"}
    assert sorts(found)[0] == "goal"
    assert sorts(found).index("decision") < sorts(found).index("action")
    assert sorts(found).index("note") < sorts(found).index("prompt")


@pytest.mark.defect("Search results ran a decision and its reason together, and JSON called `--kind` sort")
def test_a_hit_says_where_it_stands_and_shows_the_words(told: Workspace) -> None:
    (hit,) = holdfast.search(told, "knife lemon").found
    run = holdfast.status(told).run
    assert run is not None
    assert (hit.run, hit.title, hit.status, hit.kind) == (run.id, "Squeeze the lemon", "active", "decision")
    assert hit.text == "Use a knife (because the lemon is hard)"
    assert [hit.text[first:last] for first, last in hit.marks] == ["knife", "lemon"]
    (event,) = holdfast.log(told, after=hit.seq - 1, newest=None).events[:1]
    assert (event.kind, event.seq, event.time) == ("decision.made", hit.seq, hit.time)


def test_the_texts_of_a_hit_are_apart_and_json_names_the_kind_as_the_option_does(told: Workspace) -> None:
    (hit,) = Command.run("search", "src/lemon.py", "--kind", "action", "--json", directory=told.root).ok().json["found"]
    assert (hit["kind"], hit["text"]) == ("action", "Cut it in two · src/lemon.py")


FILTERS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("lemon*", {"status": ("completed",)}, ["goal"]),
    ("lemon*", {"tag": "fruit"}, ["goal"]),
    ("fruit", {}, ["goal"]),
    ("lemon", {"status": ("open",), "kind": ("note", "task")}, ["task", "note"]),
    ("lemon", {"agent": "nobody"}, []),
    ("lemon", {"layout": ("faber",)}, []),
    ("lem*", {"kind": ("decision",)}, ["decision"]),
    ('"the lemon is"', {}, ["note", "decision"]),
    ("src/lemon.py", {}, ["action"]),
    ("lemon", {"limit": 1}, ["error"]),
    ("rolled", {"kind": ("error",)}, ["error"]),
    ("", {}, []),
    ("***", {}, []),
]


def test_a_search_obeys_its_filters_and_the_newest_can_come_first(told: Workspace) -> None:
    for text, filters, expected in FILTERS:
        assert sorts(holdfast.search(told, text, newest=True, **filters)) == expected, (text, filters)
    assert not holdfast.search(told, "lemon", newest=True).ranked


def test_a_search_is_bounded_by_time_and_by_run(told: Workspace) -> None:
    everything = holdfast.search(told, "lemon", newest=True).found
    middle = everything[2].time
    assert holdfast.search(told, "lemon", newest=True, since=middle).found == everything[:3]
    assert holdfast.search(told, "lemon", newest=True, until=middle).found == everything[3:]
    earlier = holdfast.search(told, "lemons").found[0].run
    assert {hit.run for hit in holdfast.search(told, "lem*", run=earlier).found} == {earlier}
    with pytest.raises(NotFound):
        holdfast.search(told, "lemon", run="nowhere")


def test_between_equals_the_newest_comes_first(project: Workspace) -> None:
    holdfast.start(project, "goal")
    for _ in range(3):
        holdfast.note(project, "the same words")
    seqs = [hit.seq for hit in holdfast.search(project, "same words").found]
    assert seqs == sorted(seqs, reverse=True)


def test_a_word_that_is_everywhere_is_listed_by_age(project: Workspace, clock: TickingClock) -> None:
    run = holdfast.start(project, "goal").run
    with project.writing() as journal:
        journal.append(run.id, *(Draft("note.added", {"text": f"common {number}"}) for number in range(5_001)))
    found = holdfast.search(project, "common", limit=3)
    assert not found.ranked
    assert [hit.text for hit in found.found] == ["common 5000", "common 4999", "common 4998"]
    assert holdfast.search(project, "common 7", limit=3).ranked


def test_what_was_forgotten_is_not_found(told: Workspace) -> None:
    (hit,) = holdfast.search(told, "knife").found
    holdfast.forget(told, str(hit.seq))
    assert holdfast.search(told, "knife").found == []


def test_a_failed_action_is_found_by_its_error(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    with project.writing() as journal:
        journal.append(run.id, Draft("action.taken", {"text": "Ran it", "error": "segmentation fault"}))
    assert sorts(holdfast.search(project, '"segmentation fault"')) == ["action"]


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "text", ["z " * 500_000, '"' * 100_000, "\0" * 1000, "NEAR(a b)", "words:a", "(", "a" * 1_000_000]
)
def test_no_text_is_an_error_of_the_database(told: Workspace, text: str) -> None:
    assert holdfast.search(told, text).found == []
    assert holdfast.runs(told, search=text).runs == []


@pytest.mark.promise(24)
def test_nothing_hostile_is_found_in_a_form_that_acts(project: Workspace) -> None:
    holdfast.start(project, "goal")
    for text in ACTING:
        holdfast.note(project, f"needle {text}")
    found = holdfast.search(project, "needle", limit=1000).found
    assert len(found) == len(ACTING)
    assert all(hit.text.isprintable() and "\x1b" not in hit.text for hit in found)


def test_a_sort_that_is_not_there_is_refused(told: Workspace) -> None:
    with pytest.raises(WrongUsage, match='no kind of event "fruit"'):
        holdfast.search(told, "lemon", kind=("fruit",))


def test_a_search_sees_what_hooks_have_kept(told: Workspace) -> None:
    call = b'{"session_id":"c1","prompt":"Peel the grapefruit","hook_event_name":"UserPromptSubmit"}'
    hook(told.root, "claude", "UserPromptSubmit", call)
    assert "prompt" in sorts(holdfast.search(told, "grapefruit"))


def test_a_search_that_finds_nothing_says_what_it_looked_for_and_one_way_on(project: Workspace) -> None:
    holdfast.start(project, "Add retries")
    said = Command.run("search", "exponential", "\x1b[31mbackoff", directory=project.root).ok()
    assert said.out == ""
    assert "No event of this project that was asked about holds all of: exponential" in said.err
    assert "`holdfast search 'expo*'` finds every word that begins so" in said.err
    assert "\x1b[31m" not in said.err
    said = Command.run("search", "xyz", directory=project.root).ok()
    assert "`holdfast runs --all-projects`" in said.err
