"""What several tests of verbs start from."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.operations.rulings_on_files", "tests.operations.rulings_on_sessions")

from holdfast.project.workspace import Workspace  # noqa: E402
from tests.conftest import TickingClock  # noqa: E402
from tests.operations.fabers import Faber  # noqa: E402


@pytest.fixture
def faber(project: Workspace, clock: TickingClock) -> Faber:
    """A project whose active-run file names a FABER run that has no state file yet."""
    return Faber(project, clock)
