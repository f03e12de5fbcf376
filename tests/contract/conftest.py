"""Fixtures: an empty, open store of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast.journal.store import Store
from tests.contract.makers import MAKERS

Opener = Callable[..., Store]


@pytest.fixture(params=sorted(MAKERS))
def kind(request: pytest.FixtureRequest) -> str:
    """The name of a kind of store; a test that uses it runs once for each kind."""
    name: str = request.param
    return name


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def open_store(kind: str, place: Path) -> Iterator[Opener]:
    """A function that opens the same store any number of times, with a separate connection each time."""
    place.mkdir(exist_ok=True)
    with ExitStack() as opened:

        def open(deadline: float = 10.0) -> Store:
            store = MAKERS[kind](place, deadline)
            opened.callback(store.close)
            return store

        yield open


@pytest.fixture
def store(open_store: Opener) -> Iterator[Store]:
    """An empty store, which is verified after the test."""
    store = open_store()
    yield store
    with store.reading() as reader:
        assert reader.problems() == []
