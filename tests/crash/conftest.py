"""What every crash test needs: a Holdfast that is compiled, for it is started thousands of times."""

from __future__ import annotations

import compileall
from pathlib import Path

import pytest

import holdfast


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    """The programs under test may write no bytecode of their own: that would be one more call to fail at."""
    compileall.compile_dir(Path(holdfast.__file__).parent, quiet=2)
