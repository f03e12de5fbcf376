"""Search as a person asks some weeks later: the event that answers is among the first found."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import holdfast
from holdfast.core.event_text import SORT_OF
from holdfast.core.model import Body, Draft
from holdfast.operations.search import Searched
from holdfast.project.workspace import Workspace
from tests.operations.searched_texts import ASKED, DECIDED, DID, QUESTIONS, SAID, WORK, Question, Told

FIRST = datetime(2026, 9, 1, 9, tzinfo=UTC)
FILLERS = 30  # calls between two events that somebody would look for
VERBS = ("Ran", "Read", "Edited", "Looked at", "Listed")
THINGS = (
    "src/pay",
    "tests/cart",
    "web/theme",
    "docs",
    "src/auth",
    "settings.py",
    "the",
    "a",
    "month",
    "each",
    "release",
)


def body_of(told: Told) -> Body:
    if told.kind == DECIDED:
        return {"entry": "d1", "decision": told.text, "because": told.because}
    return {"text": told.text}


@pytest.fixture
def worked(project: Workspace) -> Workspace:
    """A project with some weeks of work, most of it calls and small talk that nobody looks for."""
    chance = random.Random(25)
    for goal, told in WORK.items():
        run = holdfast.start(project, goal).run
        with project.writing() as journal:
            for number, each in enumerate(told):
                time = FIRST + timedelta(days=each.day, minutes=number)
                drafts = [Draft(each.kind, body_of(each), time=time)]
                for _ in range(FILLERS):
                    words = " ".join([chance.choice(VERBS), *chance.sample(THINGS, 3)])
                    drafts.append(Draft(chance.choice([DID, DID, DID, SAID, ASKED]), {"text": words}, time=time))
                journal.append(run.id, *drafts)
        holdfast.complete(project)
    return project


def place_of(found: Searched, question: Question) -> int:
    """The place of the answer among what was found, from 1; 0 if it is not there."""
    kind = SORT_OF[question.kind]
    places = [at for at, hit in enumerate(found.found, 1) if hit.kind == kind and question.answer in hit.text]
    return places[0] if places else 0


def test_what_was_said_asked_and_decided_is_found_by_the_words_of_a_question(worked: Workspace, figure: Any) -> None:
    places = {question.typed: place_of(holdfast.search(worked, question.typed), question) for question in QUESTIONS}
    assert {typed: place for typed, place in places.items() if not 1 <= place <= 3} == {}
    first = sum(place == 1 for place in places.values())
    assert first >= 26
    figure("questions", len(places))


def test_a_run_is_found_by_the_same_questions(worked: Workspace) -> None:
    goals = {told.text: goal for goal, each in WORK.items() for told in each}
    wrong = []
    for question in QUESTIONS:
        goal = next(goal for text, goal in goals.items() if question.answer in text)
        if holdfast.runs(worked, search=question.typed).runs[0].goal != goal:
            wrong.append(question.typed)
    assert wrong == []
