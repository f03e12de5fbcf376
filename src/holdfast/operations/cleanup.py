"""Take away the files of Go Team runs that are over: by age and by number, and never those of an open one."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.question import Choose, confirmation
from holdfast.core.text import count
from holdfast.layouts.registry import present
from holdfast.operations.parameters import YES, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.workspace import Workspace

DAYS, KEPT = 30, 5


class Cleaned(Struct):
    runs: list[str]  # whose files went, or would go
    topics: list[str]
    kept: int  # how many of those that are over stay
    dry_run: bool


def _ask_whether(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    if given.get("yes") or given.get("dry_run"):
        return None
    days, keep = given.get("days", DAYS), given.get("keep", KEPT)
    planned = cleanup(workspace, days=days, keep=keep, dry_run=True)
    prompt = f"Take away the files of {count(len(planned.runs), 'run')}?"
    command = f"holdfast cleanup --older-than {days} --keep {keep}"
    return confirmation(prompt, command, about=planned) if planned.runs else None


@verb(
    group=Group.GO_TEAM,
    example="holdfast cleanup --older-than 30 --keep 5",
    about="take the files of old Go Team runs away",
    asks=_ask_whether,
    options=(YES,),
)
def cleanup(
    workspace: Workspace,
    *,
    days: Annotated[int, option("--older-than", least=0, most=36_500, metavar="DAYS", help="Days; else 30.")] = DAYS,
    keep: Annotated[int, option(least=0, most=100_000, metavar="N", help="How many stay; else 5.")] = KEPT,
    dry_run: Annotated[bool, option(help="Only say what would go.")] = False,
) -> Cleaned:
    """Take away the files of completed and abandoned Go Team runs. The journal keeps what they knew.

    Checkpoints stay, and so does a run with a pinned one.
    """
    found = [layout.clean_up(workspace, days, keep, dry_run=dry_run) for layout in present(workspace)]
    gone = [run for runs, _ in found for run in runs]
    return Cleaned([run.id for run in gone], [run.title for run in gone], sum(kept for _, kept in found), dry_run)
