"""Rewriting of the assertions in the modules that hold the rulings."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.layouts.faber.rulings_on_files", "tests.layouts.faber.rulings_on_sessions")
