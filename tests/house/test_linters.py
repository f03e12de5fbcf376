"""Linters and type checker, run on the whole project."""

from __future__ import annotations

import subprocess
import sys

from .tree import ROOT


def complaints(*command: str) -> str:
    """The output of a tool; empty if it succeeds."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_ruff_finds_nothing() -> None:
    assert complaints("ruff", "check", "--output-format=concise") == ""


def test_ruff_would_format_nothing() -> None:
    assert complaints("ruff", "format", "--check") == ""


def test_mypy_finds_nothing() -> None:
    assert complaints("mypy") == ""
