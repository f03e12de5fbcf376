"""The table of event kinds: code that folds, shows, indexes or thins an event reads only declared keys.

`tests/event_keys.py` checks the events that are appended.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from holdfast.core import event_text, retention
from holdfast.core.event_kinds import KINDS
from holdfast.core.fold import activity, run as fold
from holdfast.core.model import Draft
from tests.event_keys import undeclared

READ = re.compile(r"body\.get\(\"(\w+)\"|\"(\w+)\" in body")


class Asked(dict[str, Any]):
    """A body without keys, which notes those that it is asked for."""

    def __init__(self) -> None:
        self.keys_asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.keys_asked.add(key)
        return default


def keys_of(kinds: set[str]) -> set[str]:
    return {key for kind in kinds for key in KINDS[kind].keys} | {"imported"}


def test_all_kinds_that_are_folded_or_shown_are_declared() -> None:
    assert fold.HANDLERS.keys() | event_text.HEADLINES.keys() == KINDS.keys()


def test_a_handler_reads_only_keys_of_its_kinds() -> None:
    handlers: dict[str, Callable[..., object]] = {**fold.HANDLERS, **fold.TOLD}
    kinds: defaultdict[Callable[..., object], set[str]] = defaultdict(set)
    for kind, handler in handlers.items():
        kinds[handler].add(kind)
    for handler in kinds:
        read = {key for found in READ.findall(inspect.getsource(handler)) for key in found if key}
        assert read <= keys_of(kinds[handler]), handler


def test_a_session_is_folded_from_declared_keys() -> None:
    opened = READ.findall(inspect.getsource(fold._opened_session))
    assert {key for key, _ in opened} <= KINDS[fold.OPENED].keys.keys()
    measured = READ.findall(inspect.getsource(activity.measure_session))
    assert {key for key, _ in measured} <= keys_of({activity.MEASURED, activity.COUNTED})


def test_a_headline_reads_only_keys_of_its_kind() -> None:
    for kind, headline in event_text.HEADLINES.items():
        body = Asked()
        headline(body)
        assert body.keys_asked <= KINDS[kind].keys.keys(), kind


def test_indexed_and_thinned_keys_are_declared() -> None:
    for kind, keys in [*event_text.SEARCHED.items(), *retention.RAW.items()]:
        assert set(keys) <= KINDS[kind].keys.keys(), kind


def test_an_undeclared_key_is_known_when_it_is_seen() -> None:
    assert undeclared(Draft("note.added", {"text": "a", "imported": True})) == set()
    assert undeclared(Draft("note.added", {"text": "a", "mood": "b"})) == {"note.added: mood"}
    assert undeclared(Draft("note.waved", {"text": "a"})) == {"note.waved"}
    assert undeclared(Draft("call.late", {"mood": "b"})) == set()
