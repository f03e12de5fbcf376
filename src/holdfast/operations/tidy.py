"""Keep the store small: thin out what is old, and give its space back."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from holdfast.maintenance.prune import Tidied as Tidied, checkpoint_rules, tidy_up
from holdfast.operations.parameters import option
from holdfast.operations.verb import Group, verb
from holdfast.project.quota import MEGABYTE
from holdfast.project.workspace import Workspace


@verb(group=Group.CARE, example="holdfast tidy --dry-run", about="thin out what is old, and give space back")
def tidy(
    workspace: Workspace,
    *,
    days: Annotated[int | None, option(least=0, most=36_500, metavar="N", help="Drop what is older.")] = None,
    most: Annotated[int | None, option(least=1, most=10**9, metavar="N", help="Keep at most N of a worktree.")] = None,
    megabytes: Annotated[
        int | None, option("--bytes", least=0, most=10**8, metavar="MB", help="Keep at most so much.")
    ] = None,
    dry_run: Annotated[bool, option(help="Only say what would go.")] = False,
) -> Tidied:
    """Thin out old checkpoints and tool output, and give space back. What is open, named or pinned stays."""
    rules = checkpoint_rules(workspace)
    if days is not None:
        rules.oldest = timedelta(days=days)
    rules.most = rules.most if most is None else most
    rules.bytes = None if megabytes is None else megabytes * MEGABYTE
    return tidy_up(workspace, rules, dry_run=dry_run)
