"""Search: single events by their words, the best first, with filters; no text is ever an error."""

from __future__ import annotations

import re
import subprocess
from datetime import timedelta
from pathlib import Path
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
    "text", ["z " * 500_000, '"' * 100_000, "\0" * 1000, "NEAR(qq rr)", "words:qq", "(", "a" * 1_000_000]
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
    assert "`holdfast search --all-projects xyz`" in said.err


# what was said


@pytest.mark.defect("Search found nothing that the agent had said")
def test_what_the_agent_answered_is_found_and_can_be_asked_for_alone(told: Workspace) -> None:
    run = holdfast.status(told).run
    assert run is not None
    with told.writing() as journal:
        journal.append(
            run.id,
            Draft("turn.ended", {"text": "The lemon tree needs lime in its soil"}),
            Draft("subagent.ended", {"text": "I measured the acid: 5 %", "type": "Explore"}),
        )
    assert [hit.text for hit in holdfast.search(told, "lemon", kind=("said",)).found] == [
        "The lemon tree needs lime in its soil"
    ]
    assert sorts(holdfast.search(told, "acid")) == ["said"]
    assert holdfast.runs(told, search="lime soil").runs[0].id == run.id


def test_an_answer_that_a_hook_kept_is_found(told: Workspace) -> None:
    call = b'{"session_id":"c1","hook_event_name":"Stop","last_assistant_message":"The pomelo is ripe"}'
    hook(told.root, "claude", "UserPromptSubmit", b'{"session_id":"c1","prompt":"Is it ripe?"}')
    hook(told.root, "claude", "Stop", call)
    assert sorts(holdfast.search(told, "pomelo ripe")) == ["said"]


# most of the words


def test_where_no_event_has_all_words_those_with_most_are_found_and_rare_words_first(told: Workspace) -> None:
    found = holdfast.search(told, "wash the unheard lemon")
    assert found.partial
    assert found.found[0].text == "Wash the lemon"
    assert [found.found[0].text[first:last] for first, last in found.found[0].marks] == ["Wash", "the", "lemon"]
    rare = holdfast.search(told, "yellow lemon knife").found
    assert {rare[0].text, rare[1].text} == {"The lemon is yellow", "Use a knife (because the lemon is hard)"}
    assert not holdfast.search(told, "the lemon").partial
    assert holdfast.search(told, "unheard unseen") == Searched("unheard unseen", [], True)


def test_a_word_that_is_nowhere_counts_as_the_beginning_of_others(told: Workspace) -> None:
    found = holdfast.search(told, "yell").found
    assert [hit.text for hit in found] == ["The lemon is yellow"]
    assert [found[0].text[first:last] for first, last in found[0].marks] == ["yellow"]


def test_filters_hold_for_events_with_most_of_the_words(told: Workspace) -> None:
    assert set(sorts(holdfast.search(told, "lemon nonsense", kind=("note",)))) == {"note"}
    assert holdfast.search(told, "lemon nonsense", agent="nobody").found == []
    assert holdfast.search(told, "lemon nonsense", newest=True).found[0].kind == "error"


def test_among_events_alike_the_newer_one_comes_first_and_an_older_decision_before_a_newer_call(
    project: Workspace, clock: TickingClock
) -> None:
    run = holdfast.start(project, "goal").run
    now = clock.now()
    with project.writing() as journal:
        for days, kind, body in (
            (90, "decision.made", {"entry": "d1", "decision": "Cache in Redis"}),
            (60, "note.added", {"text": "Cache in Redis"}),
            (1, "note.added", {"text": "Cache in Redis"}),
            (30, "note.added", {"text": "Cache in Redis"}),
            (0, "action.taken", {"text": "Cache in Redis"}),
        ):
            journal.append(run.id, Draft(kind, body, time=now - timedelta(days=days)))
    found = holdfast.search(project, "redis cache").found
    assert [(now - hit.time).days for hit in found if hit.kind == "note"] == [1, 30, 60]
    assert sorts(holdfast.search(project, "redis cache")).index("decision") < sorts(
        holdfast.search(project, "redis cache")
    ).index("action")


# misspelt


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lemno", "lemon"),
        ("knfe", "knife"),
        ("sqeeze lemon", "squeeze lemon"),
        ("Yelow", "yellow"),
        ("rolld away", "rolled away"),
        ("squezzer", "squeeze"),
        ("lemon", None),
        ("qqqqqq", None),
        ("knf*", None),
        ("", None),
    ],
)
def test_a_misspelt_word_is_suggested(told: Workspace, typed: str, meant: str | None) -> None:
    suggestion = holdfast.search(told, typed).suggestion
    assert holdfast.runs(told, search=typed).suggestion == suggestion
    assert suggestion == meant


def test_no_word_of_what_was_forgotten_is_suggested(told: Workspace) -> None:
    (hit,) = holdfast.search(told, "knife").found
    assert holdfast.search(told, "knfie").suggestion == "knife"
    holdfast.forget(told, str(hit.seq))
    assert holdfast.search(told, "knfie").suggestion is None


def test_the_suggestion_is_shown(told: Workspace) -> None:
    said = Command.run("search", "knfie", directory=told.root).ok()
    assert "Did you mean: knife" in said.err
    said = Command.run("runs", "--search", "knfie", directory=told.root).ok()
    assert "Did you mean: knife" in said.err


# runs and projects


def test_runs_are_listed_by_their_best_event_as_search_ranks_it(told: Workspace) -> None:
    for words in ("lemon", "lemon*", "fruit", "squeeze unheard"):
        order = list(dict.fromkeys(hit.run for hit in holdfast.search(told, words).found))
        assert [run.id for run in holdfast.runs(told, search=words).runs] == order


def test_hits_stand_below_their_run_with_the_date(told: Workspace) -> None:
    out = Command.run("search", "lemon", directory=told.root).ok().out.splitlines()
    heads = [line for line in out if line.startswith("run-")]
    assert [head.partition("  ")[2] for head in heads] == ["active  Squeeze the lemon"]
    assert re.fullmatch(r"  #\d+  goal  2026-01-01 \d\d:\d\d", out[1])
    assert out[2] == "    Squeeze the »lemon«"


def test_all_projects_are_searched_the_best_first(told: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    with holdfast.open(other, clock=clock) as workspace:
        holdfast.start(workspace, "Grow things")
        holdfast.note(workspace, "A lemon needs sun and a great many other things that nobody thinks of")
        holdfast.decide(workspace, "Lemon before lime")
    found = holdfast.search_everywhere(told, "lemon")
    assert (found.ranked, found.partial, found.passed_over) == (True, False, [])
    assert {each.project for each in found.found} == {str(told.root), str(other)}
    assert found.found[0].kind == "goal"
    alone = holdfast.search_everywhere(told, "lemon lime")
    assert [(each.directory, each.text) for each in alone.found] == [(str(other), "Lemon before lime")]
    assert holdfast.search_everywhere(told, "lemon lime fig").partial
    newest = holdfast.search_everywhere(told, "lemon", newest=True, limit=2)
    assert [each.project for each in newest.found] == [str(other), str(other)]
    assert holdfast.search_everywhere(told, "knfie").suggestion == "knife"
    said = Command.run("search", "--all-projects", "lemon", "lime", directory=told.root).ok()
    assert said.out.splitlines()[0].endswith(str(other))
    said = Command.run("search", "--all-projects", "figs", directory=told.root).ok()
    assert "No event of any project holds all of: figs" in said.err
