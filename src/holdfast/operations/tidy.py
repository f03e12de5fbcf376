"""Keep the store small: thin out what is old, and give its space back."""

from __future__ import annotations

from datetime import timedelta

from holdfast.maintenance.prune.checkpoints import Tidied as Tidied
from holdfast.maintenance.prune.quota import checkpoint_rules, tidy_up
from holdfast.operations.verb import verb
from holdfast.project.quota import MEGABYTE
from holdfast.project.workspace import Workspace


@verb
def tidy(
    workspace: Workspace,
    *,
    days: int | None = None,
    most: int | None = None,
    megabytes: int | None = None,
    dry_run: bool = False,
) -> Tidied:
    """Let go what the settings say is too old or too much: tool output of ended runs, runs that were exported, and
    checkpoints of this worktree and of those that were removed. What is open, named, pinned or in use stays.

    `days`, `most` and `megabytes` are about checkpoints, instead of the settings.
    """
    rules = checkpoint_rules(workspace)
    if days is not None:
        rules.oldest = timedelta(days=days)
    rules.most = rules.most if most is None else most
    rules.bytes = None if megabytes is None else megabytes * MEGABYTE
    return tidy_up(workspace, rules, dry_run=dry_run)
