"""Promise 21: hostile ids, through every door an id can come in by."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core import ids
from tests.file_trees import tree_of
from tests.hostile.conftest import RUN, SESSION
from tests.hostile.words import hostile_ids, possible_in_arguments
from tests.promises import Figure
from tests.surfaces.in_process import call
from tests.tools import Command, hook

pytestmark = pytest.mark.promise(21)

IDS = possible_in_arguments(hostile_ids(RUN))
ACTING = ("Cc", "Cf", "Cs")  # control and format characters, surrogates
CLEAR = {0, 1, 2, 10}  # done, refused, wrong usage, not found: answers, and not accidents

DOORS: dict[str, Callable[[str], list[str]]] = {
    "--run": lambda word: ["action", "text", f"--run={word}"],
    "--run in JSON": lambda word: ["status", f"--run={word}", "--json"],
    "switch": lambda word: ["switch", "--", word],
    "show": lambda word: ["show", "--", word],
    "show in JSON": lambda word: ["show", "--json", "--", word],
    "show --at": lambda word: ["show", f"--at={word}"],
    "join": lambda word: ["join", "--", word],
    "delete": lambda word: ["delete", "--yes", "--", word],
    "leave": lambda word: ["leave", "--", word],
    "pin": lambda word: ["pin", "--", word],
    "done": lambda word: ["done", "--", word],
    "forget": lambda word: ["forget", "--yes", "--", word],
}


def test_there_are_enough_of_them(figure: Figure) -> None:
    assert len(IDS) >= 500
    figure("hostile ids", len(IDS))


@pytest.mark.parametrize("door", DOORS)
def test_a_hostile_id_gets_a_clear_answer_and_changes_nothing_outside_the_store(
    door: str, target: Path, home: Path, figure: Figure
) -> None:
    before = tree_of(target, home, without=target / ".git/holdfast")
    for id in IDS:
        check(call(*DOORS[door](id), directory=target), id)
    assert tree_of(target, home, without=target / ".git/holdfast") == before
    assert call("show", RUN, "--json", directory=target).ok().json["run"]["status"] == "active"
    figure("clear answers", len(IDS))


@pytest.mark.parametrize(
    ("door", "commands"),
    [
        ("HOLDFAST_RUN", [("action", "text"), ("status", "--json")]),
        ("HOLDFAST_SESSION", [("action", "text"), ("leave",)]),
    ],
)
def test_a_hostile_environment_gets_a_clear_answer_and_changes_nothing_outside_the_store(
    door: str, commands: list[tuple[str, ...]], target: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree_of(target, home, without=target / ".git/holdfast")
    for id in possible_in_an_environment(IDS):
        monkeypatch.setenv(door, id)
        for arguments in commands:
            check(call(*arguments, directory=target), id)
    monkeypatch.delenv(door)
    assert tree_of(target, home, without=target / ".git/holdfast") == before


def check(done: Command, id: str) -> None:
    """A clear answer: a documented code, a sentence or data, and nothing of the id that acts."""
    told = f"{done.arguments!r:.200}: exit {done.code}\n{done.out[:300]}{done.err[:300]}"
    assert done.code in CLEAR, told
    assert done.out or done.err, told
    assert len(done.err) < 2000, told
    assert not any(unicodedata.category(letter) in ACTING for letter in (done.out + done.err).replace("\n", "")), told
    if done.code and "--json" not in done.arguments:
        assert done.out == "", told
        assert done.err.startswith("holdfast: "), told


def possible_in_an_environment(words: list[str]) -> Iterator[str]:
    for word in words:
        try:
            if "\0" not in word and len(os.fsencode(word)) < 131_000:
                yield word
        except UnicodeEncodeError:
            continue


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_a_hook_called_with_hostile_words_keeps_the_call_inside_the_store(start: int, target: Path, home: Path) -> None:
    before = tree_of(target, home, without=target / ".git/holdfast")
    words = list(possible_in_an_environment(IDS))[start :: len(IDS) // 20]
    known = len(call("log", "--run", RUN, "--json", directory=target).ok().json["events"])
    for word in words:
        hook(target, agent=word, event=word, HOLDFAST_SESSION=word, HOLDFAST_RUN=word)
    check(call("log", "--run", RUN, directory=target), "")
    assert len(call("log", "--run", RUN, "--json", directory=target).ok().json["events"]) == known + len(words)
    assert tree_of(target, home, without=target / ".git/holdfast") == before


def test_distinct_ids_never_share_a_file() -> None:
    names = {id: ids.file_name(id) for id in IDS}
    assert len({name.casefold() for name in names.values()}) == len(IDS)
    for id, name in names.items():
        assert "/" not in name, id
        assert not name.startswith("."), id
        assert len(name.encode()) <= 128, id
        assert name == unicodedata.normalize("NFC", name) == unicodedata.normalize("NFD", name)


def test_what_is_called_safe_is_safe() -> None:
    for id in IDS:
        if ids.is_safe(id):
            assert id.isascii()
            assert id[0] not in "-."
            assert not set(id) & set("/\\%~ \n\t\0\"'`$;&|<>*?[]{}()!#")


def test_the_real_ids_still_work(target: Path) -> None:
    assert call("show", RUN, directory=target).ok()
    assert call("leave", SESSION, directory=target).ok()
    with holdfast.open(target) as workspace:
        assert isinstance(holdfast.show(workspace, RUN[:8]).run, holdfast.Run)
