"""Coverage of the crash tests: they break every verb that changes state, or a table gives the reason why not."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from tests.crash import test_backups, test_faber, test_go_team, test_orchestrator, test_transfer
from tests.crash.cases import CASES, Verb
from tests.crash.checkpoint_cases import VERBS
from tests.crash.more_cases import MORE
from tests.surfaces.commands import leaves

# They ingest first, as all verbs do, which the case "take in" breaks; beyond that they change nothing.
ONLY_LOOK = {
    "status", "brief", "runs", "search", "sessions", "log", "history", "task list", "step list", "agent list",
    "diff", "doctor", "config list", "config get", "completion", "help", "verify", "scan",
}  # fmt: skip
THE_SAME_AS = {
    "rewind": "restore",
    "load": "session-load",
    "prime-context": "session-load",
    "session-end": "session-save",
}


def lines_that_are_broken() -> Iterator[tuple[str, ...]]:
    """The words of every command that a crash test breaks; the verb's name for a case that needs more than words."""
    cases = [*CASES, *MORE, *test_go_team.CASES, *test_orchestrator.CASES]
    named = [(case.name, case.command) for case in cases]
    for name, command in [*named, *((case.name, case.command) for case in test_faber.cases())]:
        yield command.words if isinstance(command, Verb) else tuple(name.split())
    yield from VERBS.values()
    yield from (words for _, words in test_transfer.SCENES.values())
    yield from ((name,) for name in test_backups.NAMES)


@functools.cache
def commands() -> frozenset[str]:
    return frozenset(leaves())


def command_of(words: tuple[str, ...]) -> str:
    return next((" ".join(words[:size]) for size in (2, 1) if " ".join(words[:size]) in commands()), words[0])


def are_broken() -> set[str]:
    return {command_of(words) for words in lines_that_are_broken()}


def test_every_command_that_changes_something_has_a_crash_case() -> None:
    without = commands() - ONLY_LOOK - THE_SAME_AS.keys() - are_broken()
    assert without == set(), "give it a case in tests/crash/more_cases.py, or say here why it needs none"


def test_the_tables_name_commands_that_are_there_and_need_to_be_there() -> None:
    assert {*ONLY_LOOK, *THE_SAME_AS} <= commands()
    assert ONLY_LOOK & are_broken() == set()
    assert set(THE_SAME_AS.values()) <= are_broken()
