"""The soak: `python -m pytest -m hours tests/crash/test_soak.py -s` (about half an hour on two cores)."""

from __future__ import annotations

import os
import sys

import pytest

from tests.crash.soak import soak
from tests.promises import Figure

pytestmark = pytest.mark.promise(1, 7, 8, 11)


def aloud(line: str) -> None:
    sys.stderr.write(line + "\n")


def test_a_short_life_with_kills_exports_tidyings_and_an_upgrade_ends_whole(figure: Figure) -> None:
    life = soak(events=100, checkpoints=3, seed=5, cap=1, calls=25, every=(2, 3, 4, 3, 4))
    assert life.given == 100
    figure("events of a life with kills", life.given)


@pytest.mark.hours
def test_a_long_life_ends_whole_and_under_its_cap(figure: Figure) -> None:
    events = int(os.environ.get("SOAK_EVENTS", "100000"))
    seed = int(os.environ.get("SOAK_SEED", "1"))
    aloud(f"seed {seed}")
    life = soak(events, events // 100, seed, cap=4 + events // 800, say=aloud)
    assert life.kills > life.commands // 20
    figure("events of a life with kills", life.given)
    figure("seed", seed)
