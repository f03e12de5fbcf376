"""What many short commands leave behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.journal.sqlite.store import LOG_PAGES
from tests.tools import Command

PAGE = 4096


def test_one_command_after_the_other_leaves_no_log_that_grows_for_ever(
    repository: Path, say: Callable[..., Command]
) -> None:
    """Each command opens the store alone, so nobody but itself can write the log back and begin it anew."""
    say("start", "goal").ok()
    log = repository / ".git/holdfast/journal.db-wal"
    for _ in range(3 * LOG_PAGES // 10):
        say("action", "text").ok()
    assert log.stat().st_size < 2 * LOG_PAGES * PAGE
    say("verify").ok()
